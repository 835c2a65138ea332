/** A space with a mounted directory of the host, for the tests of mounts. */
import * as nodeFs from 'node:fs';
import { tmpdir } from 'node:os';
import { after } from 'node:test';
import { openSpace, type Space } from 'plait';
import { createFs, type Fs } from 'plait/fs';

export const scratch = nodeFs.mkdtempSync(`${tmpdir()}/plait-fs-mount-`);
after(() => nodeFs.rmSync(scratch, { recursive: true, force: true }));
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
