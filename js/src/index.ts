/**
 * Plait: multithreading in shared memory.
 *
 * Importing this module attaches the calling thread to the common space of the process; Workers that are started from
 * here on find it by importing, too.
 */

export { attach, commonSpace, openSpace, type SpaceOptions } from './core/boot.ts';
export { ERROR_CODES } from './core/errors.ts';
export type { SharedMemory, Space, SpaceHandle } from './core/space.ts';
export * from './heap/index.ts';
export * from './task/index.ts';
