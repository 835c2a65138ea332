/**
 * A WASI program, as the thread that runs it sees it: an instance of the core on a slot of its own, whose exports are
 * the program's imports. The program calls them directly, and no JavaScript is in between.
 *
 * Invariant: the program and the slot are released once: by `end`, or after the garbage collector has taken the instance
 * of the core. Whoever calls an import later gets EBADF, because the instance has left the program then.
 */

import { attachProgram, endThread } from '../core/boot.ts';
import { PlaitError } from '../core/errors.ts';
import { host } from '../core/host.ts';
import { Program as P, StreamKind } from '../core/layout.generated.ts';
import { type Core, outOfMemory, type Space } from '../core/space.ts';
import { fsError } from '../fs/errors.ts';
import { encode } from '../fs/values.ts';
import { Volume } from '../fs/volume.ts';
import { Bridge } from './bridge.ts';
import { hostCalls } from './host-calls.ts';

/** What the core's exports for programs are. */
interface ProgramCore extends Core {
  plait_program_create(hostId: number, starter: number, threadLimit: number): number;
  plait_program_destroy(program: number): void;
  plait_program_enter(program: number): number;
  plait_program_set_strings(program: number, which: number, block: number, count: number, bytes: number): void;
  plait_program_set_stream(program: number, index: number, kind: number, value: number): void;
  plait_program_open_streams(): number;
  plait_program_preopen(length: number, name: number, nameLength: number, isReadOnly: number): number;
  plait_program_leave(): void;
}

/** In `end`: the program has ended; what lies below these bits is its status. */
const ENDED = 0x80000000;
const STATUS = 0x3fffffff;
const ARGUMENTS = 0;
const ENVIRONMENT = 1;
const PREFIX = 'plait_preview1_';
/** Not of preview1, but of wasi-threads: nothing starts threads here. */
const SPAWN = 'plait_preview1_thread_spawn';

export interface ProgramOptions {
  readonly args: readonly string[];
  /** NAME=VALUE. */
  readonly env: readonly string[];
  /** Pairs of the name that the program knows, and the directory in the space. */
  readonly preopens: readonly (readonly [name: string, directory: string])[];
  /** Descriptors of the host: standard input, output and error. */
  readonly streams: readonly number[];
}

/** What is released when the bridge is gone. */
interface Remains {
  readonly space: Space;
  readonly program: number;
  readonly thread: number;
}

function release({ space, program, thread }: Remains): void {
  const core = space.core as ProgramCore;
  endThread(space, thread);
  const owner = space.load(program + P.owner);
  core.plait_program_destroy(program);
  endThread(space, owner);
}

const bridges = new FinalizationRegistry(release);

export class Program {
  /** The functions of preview1. */
  readonly imports: Record<string, (...args: never[]) => unknown> = {};
  readonly #bridge = new Bridge();
  readonly #core: ProgramCore;
  readonly #space: Space;
  readonly #program: number;
  readonly #remains: Remains;

  /** @param space the space whose files the program sees */
  constructor(space: Space, options: ProgramOptions) {
    const bridge = this.#bridge;
    const own = attachProgram(space.handle, {
      guest: bridge.imports,
      host: hostCalls(() => bridge.space as Space),
    });
    bridge.space = own;
    this.#space = own;
    this.#core = own.core as ProgramCore;
    const volume = new Volume(own); // with it come the steps of mounts
    this.#program = this.#core.plait_program_create(host.hostId, host.starterId, 0) >>> 0;
    if (this.#program === 0) {
      endThread(space, own.thread);
      throw new PlaitError('ERR_PLAIT_TOO_MANY_THREADS', 'the space has no free slot, or no memory, for a program');
    }
    this.#remains = { space, program: this.#program, thread: own.thread };
    bridges.register(bridge, this.#remains, bridge);
    try {
      this.#enter(options, volume);
    } catch (error) {
      this.end();
      throw error;
    }
    for (const [name, call] of Object.entries(own.core as unknown as Record<string, unknown>)) {
      if (name.startsWith(PREFIX) && name !== SPAWN) this.imports[name.slice(PREFIX.length)] = call as () => unknown;
    }
  }

  #enter({ args, env, preopens, streams }: ProgramOptions, volume: Volume): void {
    const core = this.#core;
    if (core.plait_program_enter(this.#program) !== 0) throw outOfMemory(P.BYTES);
    this.#setStrings(ARGUMENTS, args);
    this.#setStrings(ENVIRONMENT, env);
    streams.forEach((descriptor, index) => {
      core.plait_program_set_stream(this.#program, index, StreamKind.HOST, descriptor);
    });
    const rc = core.plait_program_open_streams();
    if (rc < 0) throw outOfMemory(P.BYTES);
    for (const [name, directory] of preopens) {
      const bytes = encode(name);
      const block = this.#block(bytes);
      const number = core.plait_program_preopen(volume.first(directory), block, bytes.length, 0);
      if (number >= 0) continue;
      core.plait_heap_free(block);
      throw fsError(number, 'open', directory);
    }
  }

  #block(bytes: Uint8Array): number {
    const block = this.#core.plait_heap_alloc(Math.max(1, bytes.length)) >>> 0;
    if (block === 0) throw outOfMemory(bytes.length);
    this.#space.bytes(block, bytes.length).set(bytes);
    return block;
  }

  #setStrings(which: number, strings: readonly string[]): void {
    const bytes = encode(strings.map((text) => `${text}\0`).join(''));
    this.#core.plait_program_set_strings(this.#program, which, this.#block(bytes), strings.length, bytes.length);
  }

  /** The program's memory, from its instance. */
  set memory(memory: WebAssembly.Memory) {
    this.#bridge.memory = memory;
  }

  /** The status with which the program has called proc_exit; undefined: it has not. */
  get status(): number | undefined {
    const end = this.#space.load(this.#program + P.end);
    return end & ENDED ? end & STATUS : undefined;
  }

  /** The program is over: what it has opened is closed, and all else released. Calls fail from now on. */
  end(): void {
    if (!bridges.unregister(this.#bridge)) return;
    this.#core.plait_abi_unwind(this.#space.stackTop); // proc_exit and traps leave frames behind
    this.#core.plait_program_leave();
    release(this.#remains);
  }
}
