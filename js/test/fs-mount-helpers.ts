/** What the tests of mounts share: error codes, open files of the host, and Workers that execute requests. */
import { once } from 'node:events';
import * as nodeFs from 'node:fs';
import type { TestContext } from 'node:test';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { type Space, workerOptions } from 'plait';

export const DEADLINE_MS = 30000;
const fixture = new URL('../../js/test/fixtures/fs-mount.js', import.meta.url);

/** The code of the error that the action throws. */
export const code = (action: () => unknown): string => {
  try {
    action();
    return 'nothing thrown';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
};

/** Open files and directories of this process in a directory, on the host. */
export function openBelow(directory: string): string[] {
  const targets = nodeFs.readdirSync('/proc/self/fd').map((fd) => {
    try {
      return nodeFs.readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  });
  return targets.filter((target) => target.startsWith(`${directory}/`));
}

type Asked = (action: string, options?: object) => Promise<unknown>;

/** A Worker on the space that executes requests (fixtures/fs-mount.js). It ends with the test, whatever its outcome. */
export async function start(t: TestContext, space: Space): Promise<{ worker: Worker; ask: Asked }> {
  const worker = new Worker(fixture, workerOptions({ workerData: space.handle }) as WorkerOptions);
  t.after(() => worker.terminate());
  await once(worker, 'message');
  const ask: Asked = async (action, options) => {
    worker.postMessage({ action, ...options });
    const [{ value, code, message }] = (await once(worker, 'message')) as [
      { value: unknown; code?: string; message?: string },
    ];
    if (message !== undefined) throw Object.assign(new Error(message), { code });
    return value;
  };
  return { worker, ask };
}
