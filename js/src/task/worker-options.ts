/** Workers of the user: their exit becomes known at once, even while the thread that started them is blocked. */

import { commonSpace } from '../core/boot.ts';
import { WATCH_PORT_KEY } from '../core/host-node.ts';
import { coordinatorOf } from './coordinator-client.ts';
import { wrongOption } from './option-names.ts';

/** The part of Node's Worker options that {@link workerOptions} reads and extends. */
export interface WorkerOptionsLike {
  readonly workerData?: unknown;
  readonly transferList?: readonly unknown[] | undefined;
}

/** The properties that {@link workerOptions} adds. */
export interface WatchedWorkerOptions {
  workerData: Record<string, unknown>;
  /** Of the type that the host's Worker takes: Node and browsers name transferable objects differently. */
  // biome-ignore lint/suspicious/noExplicitAny: no other element type fits both
  transferList: any[];
}

/**
 * Options for `new Worker(file, workerOptions({ … }))` of node:worker_threads. They add a port, as property `plaitPort`
 * of `workerData`, through which the coordinator notices the Worker's exit within milliseconds. Without it, the exit
 * becomes known when the event loop of the starting thread turns.
 *
 * Call it once for each Worker. The Worker itself only has to import 'plait'.
 *
 * @throws {TypeError} if `workerData` is given and is not a plain object, which could not carry the port
 */
export function workerOptions<Options extends WorkerOptionsLike>(
  options: Options = {} as Options,
): Options & WatchedWorkerOptions {
  if (typeof options !== 'object' || options === null) throw wrongOption('options', 'an object', options);
  const { workerData = {}, transferList = [] } = options;
  if (!Array.isArray(transferList)) throw wrongOption('options.transferList', 'an array', transferList);
  const prototype =
    typeof workerData === 'object' && workerData !== null ? Object.getPrototypeOf(workerData) : undefined;
  // The prototype of a plain object ends the chain, in any realm.
  if (prototype !== null && (prototype === undefined || Object.getPrototypeOf(prototype) !== null)) {
    throw new TypeError(
      'options.workerData must be a plain object: Plait adds a port to it, by which the Worker’s exit is noticed',
    );
  }
  const { port1, port2 } = new MessageChannel();
  coordinatorOf(commonSpace()).send({ type: 'watch', port: port1 }, [port1]);
  return {
    ...options,
    workerData: { ...(workerData as object), [WATCH_PORT_KEY]: port2 },
    transferList: [...transferList, port2],
  };
}
