/**
 * What an instance of the core imports besides the memory: the bridge to the memory of a WASI program, and the host of
 * that program (core/wasi/guest.h and hosted.c).
 *
 * Invariant: none of them throws, because an exception through C would leave its stack behind.
 */

/** The bridge. Addresses named `at` are the program's; `to` of get and `from` of put are the core's. */
export interface GuestImports {
  /** The size of the program's memory in pages, as this thread has observed it. */
  readonly pages: () => number;
  /** The same, after asking the engine whether another thread has made it larger. */
  readonly observe: () => number;
  readonly load: (at: number) => number;
  readonly store: (at: number, value: number) => void;
  readonly store64: (at: number, value: bigint) => void;
  readonly get: (to: number, at: number, length: number) => void;
  readonly put: (at: number, from: number, length: number) => void;
  readonly zero: (at: number, length: number) => void;
}

/** The host. Addresses are the core's. Results that may fail are a negative errno then. */
export interface HostImports {
  /** Milliseconds of a clock of preview1; negative: there is none. */
  readonly clock: (id: number) => number;
  readonly random: (to: number, length: number) => void;
  readonly read: (descriptor: number, to: number, length: number) => number;
  readonly write: (descriptor: number, from: number, length: number) => number;
  readonly terminal: (descriptor: number) => number;
}

export interface ProgramImports {
  readonly guest: GuestImports;
  readonly host: HostImports;
}

const nothing = (): never => {
  throw new Error('this instance of the core serves no program');
};

/** For instances that serve no program, and never call them. */
export const NO_PROGRAM: ProgramImports = {
  guest: {
    pages: nothing,
    observe: nothing,
    load: nothing,
    store: nothing,
    store64: nothing,
    get: nothing,
    put: nothing,
    zero: nothing,
  },
  host: { clock: nothing, random: nothing, read: nothing, write: nothing, terminal: nothing },
};
