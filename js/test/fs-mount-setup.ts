/** A space with a mounted directory of the host, for the tests of mounts. */
import { once } from 'node:events';
import * as nodeFs from 'node:fs';
import { tmpdir } from 'node:os';
import { after } from 'node:test';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { openSpace, type Space, workerOptions } from 'plait';
import { createFs, type Fs } from 'plait/fs';

export const scratch = nodeFs.mkdtempSync(`${tmpdir()}/plait-fs-mount-`);
after(() => nodeFs.rmSync(scratch, { recursive: true, force: true }));
export const DEADLINE_MS = 30000;
const fixture = new URL('../../js/test/fixtures/fs-mount.js', import.meta.url);
let count = 0;

interface World {
  space: Space;
  fs: Fs;
  /** The mounted directory, on the host. */
  inside: string;
  /** A directory beside it, with a file that must not be reached through the mount. */
  outside: string;
}

export function world(readOnly = false): World {
  const space = openSpace({ maximum: 2 ** 27 });
  const fs = createFs(() => space);
  const top = `${scratch}/${count++}`;
  const [inside, outside] = [`${top}/inside`, `${top}/outside`];
  nodeFs.mkdirSync(inside, { recursive: true });
  nodeFs.mkdirSync(outside);
  nodeFs.writeFileSync(`${outside}/secret`, 'secret');
  nodeFs.writeFileSync(`${inside}/f`, 'f');
  fs.mount('/host', { type: 'host', directory: inside, readOnly });
  return { space, fs, inside, outside };
}

export const code = (action: () => unknown): string => {
  try {
    action();
    return 'nothing thrown';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
};

type Asked = (action: string, options?: object) => Promise<unknown>;

/** A Worker on the space that executes requests (fixtures/fs-mount.js). */
export async function start(space: Space): Promise<{ worker: Worker; ask: Asked }> {
  const worker = new Worker(fixture, workerOptions({ workerData: space.handle }) as WorkerOptions);
  await once(worker, 'message');
  const ask: Asked = async (action, options) => {
    worker.postMessage({ action, ...options });
    const [{ value, code, message }] = (await once(worker, 'message')) as [
      { value: unknown; code?: string; message: string },
    ];
    if (code !== undefined) throw Object.assign(new Error(message), { code });
    return value;
  };
  return { worker, ask };
}
