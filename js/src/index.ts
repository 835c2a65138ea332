/**
 * Plait: multithreading in shared memory.
 *
 * Importing this module attaches the calling thread to the common space of the process, if possible. Workers that are
 * started from now on find the space by importing, too. Importing never throws: where Plait cannot run, the first use
 * does, and its error says why.
 */

export { attach, commonSpace, isSupported, openSpace, type SpaceOptions } from './core/boot.ts';
export { ERROR_CODES } from './core/errors.ts';
export type { SharedMemory, Space, SpaceHandle } from './core/space.ts';
export * from './heap/index.ts';
export * from './task/index.ts';
