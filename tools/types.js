/**
 * Makes dist/types, the declarations that the package shows, out of those that the compiler has written beside the
 * modules.
 *
 *     node tools/types.js
 *
 * Programs import and require the same declarations, so a Pool is a Pool wherever it comes from, though the compiler
 * knows its private members by where they are declared. What an ES module may not require, both may import: so the
 * declarations lie in a folder that counts as CommonJS, and an .mts file for each entry, which is an ES module, shows
 * them to those that import.
 *
 * Invariant: only what an entry leads to is in there.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const from = join(root, 'dist');
const to = join(from, 'types');
const ENTRIES = [
  'index.d.ts',
  'fs/index.d.ts',
  'heap/index.d.ts',
  'task/index.d.ts',
  'linked/index.d.ts',
  'wasi/index.d.ts',
];

rmSync(to, { recursive: true, force: true });
const seen = new Set(ENTRIES);
for (const name of seen) {
  const text = readFileSync(join(from, name), 'utf8');
  const code = text.replace(/\/\*[\s\S]*?\*\//g, ''); // an example in a comment names other modules
  for (const [, specifier] of code.matchAll(/(?:from |import\()'(\.[^']+)'/g)) {
    seen.add(relative(from, join(from, dirname(name), specifier.replace(/\.[jt]s$/, '.d.ts'))));
  }
  mkdirSync(dirname(join(to, name)), { recursive: true });
  writeFileSync(join(to, name), text);
  if (!ENTRIES.includes(name)) continue;
  // A default export of CommonJS is another thing to an ES module: it is named.
  const isDefault = /^export default (\w+);$/m.exec(text)?.[1];
  const lines = [
    "export * from './index.js';",
    ...(isDefault ? [`export { ${isDefault} as default } from './index.js';`] : []),
  ];
  writeFileSync(join(to, name.replace(/\.ts$/, '.mts')), `${lines.join('\n')}\n`);
}
// The script of Plait's threads, which bundlers take as an entry of their own (docs/guide/bundlers.md).
writeFileSync(join(to, 'plait-thread.d.mts'), 'export {};\n');
writeFileSync(join(to, 'package.json'), '{ "type": "commonjs" }\n');
