/**
 * Checks the package as npm would publish it: publint on its form, arethetypeswrong on its types (for those who import
 * it and those who require it), that the tarball holds what it should and nothing else, that no file names a source map
 * (they would lead to sources that are not there), and that it has one version.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'plait-package-'));

function run(command, args) {
  return execFileSync(command, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

try {
  const [{ filename, files }] = JSON.parse(
    run('npm', ['pack', '--json', '--loglevel=error', '--pack-destination', folder]),
  );
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const { VERSION } = await import(new URL('../dist/core/version.js', import.meta.url));
  if (VERSION !== version) throw new Error(`js/src/core/version.ts says ${VERSION}, package.json ${version}`);
  const stray = files
    .map(({ path }) => path)
    .filter(
      (path) =>
        !/^((core|lib)\/.+\.[ch]|lib\/.+\.(md|py|rs|toml|zig)|dist\/lib\/.+\.a|dist\/(?!types\/).+\.c?js|dist\/types\/.+\.d\.m?ts|dist\/types\/package\.json|package\.json|README\.md|CHANGELOG\.md|LICENSE)$/.test(
          path,
        ),
    );
  if (stray.length > 0) throw new Error(`the package holds files that it should not: ${stray.join(', ')}`);
  const mapped = files.filter(({ path }) =>
    /^\s*\/[/*]# sourceMappingURL=/m.test(readFileSync(join(root, path), 'utf8')),
  );
  if (mapped.length > 0) throw new Error(`files name source maps: ${mapped.map(({ path }) => path).join(', ')}`);
  const tarball = join(folder, filename);
  const bin = (name) => join(root, 'node_modules', '.bin', name);
  console.log(run(bin('publint'), ['run', tarball, '--strict']).trim());
  console.log(
    run(bin('attw'), [
      tarball,
      // Nobody imports the script of Plait's threads; bundlers take it as an entry.
      '--exclude-entrypoints',
      './thread',
      '--no-emoji',
      '--no-color',
      '--format',
      'ascii',
    ]).trim(),
  );
} catch (error) {
  if (error.stdout) console.error(String(error.stdout));
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}
