/**
 * How a thread gets its space: it opens a new one, or attaches to the one that it inherits.
 *
 * Invariant: a thread runs core code only on a stack of its own. Its first stack is the small boot stack of the slot
 * that it has claimed. (Claiming needs none: tools/stackless.js checks the compiled code.) Attaching gives it a full
 * stack.
 */

import { PlaitError } from './errors.ts';
import { host } from './host.ts';
import { mustBeSupported, wasmRefused } from './host-support.ts';
import {
  BOOT_SIZE,
  Errno,
  LAYOUT_VERSION,
  PAGE_SIZE,
  Space as S,
  SLOT_LIMIT,
  Slot,
  SlotState,
} from './layout.generated.ts';
import { noteSpace } from './memory.ts';
import { NO_PROGRAM, type ProgramImports } from './program-imports.ts';
import { type Backends, type Core, outOfMemory, type SharedMemory, Space, type SpaceHandle } from './space.ts';
import { threadWide } from './thread-wide.ts';
import { WASM_BASE64 } from './wasm.generated.ts';

/** What a thread uses its slot for; for inspecting a space. */
export const Role = { main: 1, coordinator: 2, worker: 3, other: 4 } as const;

/** Options of {@link openSpace}. */
export interface SpaceOptions {
  /**
   * The maximum size of the space in bytes: 1 MiB to 4 GiB, rounded up to 64 KiB. Address space is reserved for all of
   * it at once, memory is committed only as it is used.
   */
  readonly maximum?: number | undefined;
}

const GIB = 2 ** 30;
const MINIMUM = 2 ** 20;
const INITIAL_PAGES = 8;

let compiled: WebAssembly.Module | undefined;

function compile(): WebAssembly.Module {
  if (compiled !== undefined) return compiled;
  try {
    compiled = new WebAssembly.Module(host.fromBase64(WASM_BASE64));
  } catch (cause) {
    throw wasmRefused(cause);
  }
  return compiled;
}

/** An instance of the core for this thread. */
interface Instance {
  readonly core: Core;
  readonly backends: Backends;
}

/** The imports that are steps of backends call what plait/fs registers; before that, nothing is mounted here. */
function stepsOf(module: WebAssembly.Module, backends: Backends): Record<string, (...args: number[]) => number> {
  return Object.fromEntries(
    WebAssembly.Module.imports(module)
      .filter((one) => one.module === 'backend')
      .map(({ name }) => [name, (...args) => backends.steps?.[name]?.(...args) ?? -Errno.ENODEV]),
  );
}

function instantiate(handle: SpaceHandle, program: ProgramImports = NO_PROGRAM): Instance {
  const module = handle.module as WebAssembly.Module;
  const backends: Backends = { steps: undefined };
  const memory = handle.memory as unknown as WebAssembly.Memory;
  try {
    const imports = {
      env: { memory },
      backend: stepsOf(module, backends),
      ...program,
    } as unknown as WebAssembly.Imports;
    const { exports } = new WebAssembly.Instance(module, imports);
    return { core: exports as unknown as Core, backends };
  } catch (cause) {
    throw wasmRefused(cause);
  }
}

/** Attaches the calling thread, which has this instance of the core. */
function enter(handle: SpaceHandle, { core, backends }: Instance, role: number, pool = 0): Space {
  const ref = core.plait_abi_space() >>> 0;
  const thread = core.plait_abi_claim(host.hostId, host.starterId, pool, role);
  if (thread === 0) {
    throw new PlaitError('ERR_PLAIT_TOO_MANY_THREADS', `a space has room for ${SLOT_LIMIT} threads, and all are taken`);
  }
  const boot = ref + S.boots + (thread & 255) * BOOT_SIZE;
  core.__stack_pointer.value = boot + BOOT_SIZE;
  core.__wasm_init_tls(boot);
  const stack = core.plait_abi_attach(thread, host.mayBlock ? 1 : 0) >>> 0;
  if (stack === 0) {
    core.plait_abi_detach();
    throw outOfMemory(PAGE_SIZE);
  }
  core.__stack_pointer.value = stack;
  core.plait_abi_sweep(); // recovers the slots of threads that ended by themselves
  const space = new Space(handle, core, thread, backends);
  if (attached.length === 0) host.onThreadEnd(detachAll, recoverHostEverywhere);
  attached.push(new WeakRef(space));
  if (role === Role.worker) recovered = space;
  noteSpace(space);
  return space;
}

/** The spaces that this thread is attached to. A private one may be garbage-collected. */
let attached: WeakRef<Space>[] = [];

/**
 * The space in which this thread is a pool's worker. The coordinator is notified of its exit, and receives its output
 * until then.
 */
let recovered: Space | undefined;

function detachAll(): void {
  for (const ref of attached) {
    const space = ref.deref();
    if (space !== recovered) space?.core.plait_abi_detach();
  }
}

function recoverHostEverywhere(hostId: number): void {
  attached = attached.filter((ref) => ref.deref() !== undefined);
  for (const ref of attached) recoverHost(ref.deref() as Space, hostId);
}

/**
 * Recovers every slot of an exited thread, and those of the threads that it had started, which ended with it. Tasks
 * that they ran return WORKER_DIED.
 */
export function recoverHost(space: Space, hostId: number): void {
  for (const thread of threadsOfHost(space, hostId)) recoverThread(space, thread);
  recoverStartedBy(space, hostId);
}

/** Recovers the threads that an exited thread had started: no other thread is notified of their exit. */
export function recoverStartedBy(space: Space, hostId: number): void {
  if (hostId === 0) return;
  for (const thread of threadsWhere(space, Slot.starter, hostId)) {
    const started = space.load(slotOf(space, thread) + Slot.hostId);
    if (started !== hostId) recoverHost(space, started);
  }
}

/** Marks a thread as exited, so that no thread waits for its locks. pre: the caller then recovers it. */
export function noteExit(space: Space, hostId: number): void {
  for (const thread of threadsOfHost(space, hostId)) noteExitOf(space, thread);
}

function noteExitOf(space: Space, thread: number): void {
  const generation = thread & ~255;
  const generationState = (slotOf(space, thread) + Slot.generationState) >>> 2;
  Atomics.compareExchange(space.i32, generationState, generation | SlotState.LIVE, generation | SlotState.EXITED);
}

/** Ends the use of a slot by its id, and recovers it. pre: nothing runs on it any more. */
export function endThread(space: Space, thread: number): void {
  noteExitOf(space, thread);
  recoverThread(space, thread);
}

/**
 * Recovers a thread that has certainly exited. The tasks that it ran are retried, if that is allowed, or return
 * WORKER_DIED.
 */
export function recoverThread(space: Space, thread: number): void {
  for (let task = space.core.plait_abi_recover(thread); task !== 0; task = space.core.plait_abi_recover(thread)) {
    if (space.core.plait_abi_settle(task) !== 0) return; // its pool's lock is stuck; a later sweep continues
  }
}

/** The ids of the threads with this host id, including exited ones that are not recovered yet. */
export function threadsOfHost(space: Space, hostId: number): number[] {
  return threadsWhere(space, Slot.hostId, hostId >>> 0);
}

/** The ids of the threads that are workers of a pool. */
export function threadsOfPool(space: Space, pool: number): number[] {
  return threadsWhere(space, Slot.pool, pool);
}

function threadsWhere(space: Space, word: number, value: number): number[] {
  const found: number[] = [];
  const slots = (space.core.plait_abi_space() >>> 0) + S.slots;
  for (let index = 0; index < SLOT_LIMIT; index++) {
    const slot = slots + index * Slot.BYTES;
    const generationState = space.load(slot + Slot.generationState);
    if ((generationState & 255) === SlotState.FREE || space.load(slot + word) !== value) continue;
    found.push((((generationState >>> 8) << 8) | index) >>> 0);
  }
  return found;
}

/** The reference of a thread's slot. */
export function slotOf(space: Space, thread: number): number {
  return (space.core.plait_abi_space() >>> 0) + S.slots + (thread & 255) * Slot.BYTES;
}

function sharedMemory(maximum: number | undefined): { memory: SharedMemory; pages: number } {
  // A host with little address space (a container's limit, a phone) refuses large sizes.
  const attempts = maximum === undefined ? [4 * GIB, 2 * GIB, GIB, GIB / 4] : [maximum];
  let cause: unknown;
  for (const bytes of attempts) {
    const pages = Math.ceil(bytes / PAGE_SIZE);
    try {
      const memory = new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum: pages, shared: true });
      return { memory: memory as unknown as SharedMemory, pages };
    } catch (error) {
      cause = error;
    }
  }
  const message = `the host refuses a shared memory of ${attempts.at(-1)} bytes`;
  throw new PlaitError('ERR_PLAIT_OUT_OF_MEMORY', message, { cause });
}

/**
 * Opens a new, private space and attaches the calling thread to it. Most programs never call this: `import 'plait'`
 * gives the process its common space. A private space serves tests, isolation, and a limit of its own.
 *
 * @throws {RangeError} for a maximum below 1 MiB or above 4 GiB
 * @throws {PlaitError} ERR_PLAIT_OUT_OF_MEMORY, ERR_PLAIT_NOT_ISOLATED, ERR_PLAIT_UNSUPPORTED
 */
export function openSpace(options: SpaceOptions = {}): Space {
  const { maximum } = options;
  if (maximum !== undefined && !(Number.isInteger(maximum) && maximum >= MINIMUM && maximum <= 4 * GIB)) {
    throw new RangeError(`options.maximum must be a whole number from ${MINIMUM} to ${4 * GIB}, not ${maximum}`);
  }
  mustBeSupported();
  const module = compile();
  const { memory, pages } = sharedMemory(maximum);
  const handle: SpaceHandle = { memory, module, layoutVersion: LAYOUT_VERSION };
  const instance = instantiate(handle);
  if (instance.core.plait_abi_init(pages) !== 0) throw outOfMemory(MINIMUM);
  return enter(handle, instance, host.isMainThread ? Role.main : Role.other);
}

/**
 * Attaches the calling thread to a space that another thread opened, by the handle that it sent (`space.handle`).
 * In Node, threads find the common space by themselves; in browsers, Workers of your own call this.
 *
 * @throws {PlaitError} ERR_PLAIT_VERSION_MISMATCH, ERR_PLAIT_TOO_MANY_THREADS, ERR_PLAIT_OUT_OF_MEMORY
 */
export function attach(handle: SpaceHandle, role: number = Role.other, pool = 0): Space {
  mustMatch(handle);
  return enter(handle, instantiate(handle), role, pool);
}

/**
 * The same for a thread of a WASI program: with an instance of the core of its own, which has these imports, on a slot
 * of its own. A thread may be attached in the ordinary way, too.
 */
export function attachProgram(handle: SpaceHandle, imports: ProgramImports): Space {
  mustMatch(handle);
  return enter(handle, instantiate(handle, imports), Role.other);
}

function mustMatch(handle: SpaceHandle): void {
  if (handle.layoutVersion !== LAYOUT_VERSION) {
    throw new PlaitError(
      'ERR_PLAIT_VERSION_MISMATCH',
      `the space has layout ${handle.layoutVersion}, this copy of Plait needs ${LAYOUT_VERSION}: install one version`,
    );
  }
}

/**
 * Marks the context that has opened the common space. Another context of node:vm in this thread (test runners create
 * one for each file) is a separate program, and gets its own space. Other threads inherit the handle without the mark.
 */
const OPENED_IN = Symbol.for('plait opened in');

function openCommon(): Space {
  const space = openSpace();
  Object.defineProperty(space.handle, OPENED_IN, { value: globalThis });
  return space;
}

function inheritedSpace(): SpaceHandle | undefined {
  const handle = host.inheritedSpace() as (SpaceHandle & { [OPENED_IN]?: unknown }) | undefined;
  return (handle?.[OPENED_IN] ?? globalThis) === globalThis ? handle : undefined;
}

const common = threadWide('common space', (): { space?: Space } => ({}));

/**
 * The common space of the process or page, as this thread sees it. Threads started from here on inherit it.
 * A thread attaches when it first asks.
 *
 * @throws {PlaitError} why there is none here: ERR_PLAIT_NOT_ISOLATED, ERR_PLAIT_UNSUPPORTED, ERR_PLAIT_OUT_OF_MEMORY,
 *   ERR_PLAIT_TOO_MANY_THREADS, ERR_PLAIT_VERSION_MISMATCH. A later call tries again.
 */
export function commonSpace(role?: number, pool?: number): Space {
  if (common.space === undefined) {
    const handle = inheritedSpace();
    common.space = handle === undefined ? openCommon() : attach(handle, role, pool);
    host.bequeathSpace(common.space.handle);
    const port = host.watchPort();
    port?.post(common.space.thread);
  }
  return common.space;
}

/**
 * Whether pools, files and the heap work here. Importing Plait never throws: where this is false, their first use does,
 * and so does `commonSpace()`; the error's code and message say what is missing.
 */
export function isSupported(): boolean {
  try {
    commonSpace();
    return true;
  } catch {
    return false;
  }
}
