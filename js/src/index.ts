/**
 * Plait: multithreading in shared memory.
 *
 * Importing this module attaches the calling thread to the common space of the process, if it can; Workers that are
 * started from here on find it by importing, too. It never throws: where Plait cannot run, the first use says why.
 */

export { attach, commonSpace, isSupported, openSpace, type SpaceOptions } from './core/boot.ts';
export { ERROR_CODES } from './core/errors.ts';
export type { SharedMemory, Space, SpaceHandle } from './core/space.ts';
export * from './heap/index.ts';
export * from './task/index.ts';
