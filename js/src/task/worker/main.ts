/**
 * The entry of a worker thread: loads the user's module, makes the calls due before the first task, then runs tasks.
 */

import { commonSpace, Role } from '../../core/boot.ts';
import { clock } from '../../core/clock.ts';
import { host } from '../../core/host.ts';
import { clearTimeout, setTimeout } from '../../core/host-timers.ts';
import { WorkerPlace } from '../../core/layout.generated.ts';
import { outOfMemory } from '../../core/space.ts';
import { encodeError } from '../../value/encode-error.ts';
import { readValue } from '../../value/reader.ts';
import type { FromWorker, WorkerMessage, WorkerStart } from '../protocol.ts';
import { Worker } from './loop.ts';
import { loadError, loadModule, Modules } from './module.ts';
import { WorkerOutput } from './output.ts';

/** Calls the function and awaits its promise, but not for longer than so many milliseconds; 0: no limit. */
async function within(milliseconds: number, call: (input: unknown) => unknown): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    if (milliseconds !== 0) timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([call(undefined), late]);
  clearTimeout(timer);
}

/** Runs until this thread ends. */
export async function serve(start: WorkerStart): Promise<void> {
  const post = (message: FromWorker): void => host.postToStarter({ plait: message } satisfies WorkerMessage);
  host.bequeathSpace(start.space);
  host.nameProgram();
  // The module loads while this thread attaches, and cannot run before, because there is no await in between.
  const loading = loadModule(start.module);
  loading.catch(() => {}); // handled below
  // `import 'plait'` in the user's module gets this space too. From here on this thread belongs to the pool.
  const space = commonSpace(Role.worker, start.pool);
  const output = new WorkerOutput(space, start.client);
  host.divertOutput(output.take);
  const place = space.core.plait_pool_place(start.pool, start.index) >>> 0;
  let worker: Worker | undefined;
  let tearDown: ((input: unknown) => unknown) | undefined;
  try {
    if (place === 0) throw outOfMemory(WorkerPlace.BYTES);
    space.cover(place + WorkerPlace.BYTES);
    space.core.plait_worker_take_place(place);
    const modules = new Modules(start.module, await loading);
    space.f64[(place + WorkerPlace.readyAt) / 8] = clock();
    const loaded = new Worker(space, start, place, modules, () => post({ type: 'leaves' }));
    output.clientNow = () => loaded.clientNow;
    for (const { name, form, input } of start.first) await (await modules.load(name, form))(readValue(input));
    if (start.teardown !== undefined) tearDown = modules.find(start.teardown, 'export');
    worker = loaded;
  } catch (cause) {
    const error = loadError(start.module, cause);
    post({ type: 'failed', error: encodeError(error) });
  }
  if (worker === undefined) {
    // The message must be on its way before the thread exits.
    await host.turn();
    host.exitThread(1);
  } else {
    const { checkStops } = worker;
    host.listenToStarter(checkStops); // listening also keeps a parked worker alive
    post({ type: 'ready' });
    await worker.work();
    let code = 0;
    try {
      if (tearDown !== undefined) await within(start.teardownTimeout, tearDown);
    } catch (error) {
      post({ type: 'crashed', error: encodeError(error) });
      code = 1;
    }
    await host.turn();
    host.exitThread(code);
  }
}
