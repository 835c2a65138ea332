/**
 * The package as it would be published, in the node_modules of another project: a copy of the files in it, not a link
 * to here.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/** Puts it there. */
export async function installPacked(project: string): Promise<void> {
  const plait = join(project, 'node_modules', 'plait');
  rmSync(plait, { recursive: true, force: true });
  mkdirSync(plait, { recursive: true });
  const packed = await run('npm', ['pack', '--json', '--loglevel=error', '--pack-destination', plait], { cwd: root });
  const [{ filename }] = JSON.parse(packed.stdout);
  await run('tar', ['-xzf', filename, '--strip-components=1'], { cwd: plait });
}
