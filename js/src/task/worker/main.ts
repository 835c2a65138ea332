/**
 * The entry of a worker thread: loads the user's module, makes the calls that a new worker owes, then takes tasks.
 */

import { commonSpace, Role } from '../../core/boot.ts';
import { clock } from '../../core/clock.ts';
import { host } from '../../core/host.ts';
import { Seat } from '../../core/layout.generated.ts';
import { outOfMemory } from '../../core/space.ts';
import { encodeError } from '../../value/encode-error.ts';
import { readValue } from '../../value/reader.ts';
import type { FromWorker, WorkerStart, WorkerWord } from '../protocol.ts';
import { Worker } from './loop.ts';
import { findExport, loadError, loadModule } from './module.ts';
import { WorkerOutput } from './output.ts';

/** Runs until this thread ends. */
export async function serve(start: WorkerStart): Promise<void> {
  const tell = (message: FromWorker): void => host.postToStarter({ plait: message } satisfies WorkerWord);
  host.bequeathSpace(start.space);
  // The module is on its way while this thread attaches, and cannot run before: there is no await between.
  const loading = loadModule(start.module);
  loading.catch(() => {}); // heard below
  // The space that `import 'plait'` in the user's module gets, too; and from here on this thread is the pool's.
  const space = commonSpace(Role.worker, start.pool);
  const output = new WorkerOutput(space, start.client);
  host.divertOutput(output.take);
  const seat = space.core.plait_pool_seat(start.pool, start.seat) >>> 0;
  let worker: Worker | undefined;
  try {
    if (seat === 0) throw outOfMemory(Seat.BYTES);
    space.cover(seat + Seat.BYTES);
    space.core.plait_worker_sit(seat);
    const namespace = await loading;
    space.f64[(seat + Seat.born) / 8] = clock();
    const loaded = new Worker(space, start, seat, namespace, () => tell({ type: 'leaves' }));
    output.clientNow = () => loaded.clientNow;
    for (const { name, input } of start.first) await findExport(namespace, name, start.module)(readValue(input));
    worker = loaded;
  } catch (cause) {
    const error = loadError(start.module, cause);
    tell({ type: 'failed', error: encodeError(error) });
  }
  if (worker === undefined) {
    // The message must be on its way before the thread ends.
    await host.turn();
    host.exitThread(1);
  } else {
    const { look } = worker;
    host.listenToStarter(look); // listening also keeps a parked worker alive
    tell({ type: 'ready' });
    await worker.work();
    await host.turn();
    host.exitThread(0);
  }
}
