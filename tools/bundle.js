/**
 * Bundles the built package for Node: dist/node, which package.json names under the condition "node".
 *
 *     node tools/bundle.js [FOLDER]      FOLDER: where the built modules lie, dist if it is not given
 *
 * Importing costs Node most of a millisecond for each file, and the package has some fifty. So there are few:
 *
 *     index.js            plait; plait/task and plait/heap are parts of it, and name what they show
 *     fs.js               plait/fs
 *     wasi.js             plait/wasi
 *     linked.js           plait/linked
 *     chunk-*.js          what they share
 *     plait.cjs           all of it for programs that require it; index.cjs, fs.cjs, … are the entries, and run what
 *     they need
 *
 * A program may import the one and require the other. Both are one library then, as copies of Plait are everywhere:
 * what a thread may have only once lies in js/src/core/thread-wide.ts.
 *
 * Invariant: each module of the package is in one of the ES modules only, and in plait.cjs once, so entries share its
 * state. Nothing refers to a file by its URL: programs that are bundled with this copy lose nothing.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { nodeThreadModule } from './thread.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const modules = resolve(root, process.argv[2] ?? 'dist');
const target = `${modules}/node`;

/** Entries that index.js has in it. */
const PARTS = ['task', 'heap'];
/** Every entry, and its module. */
const ENTRIES = {
  index: 'index.js',
  fs: 'fs/index.js',
  heap: 'heap/index.js',
  task: 'task/index.js',
  linked: 'linked/index.js',
  wasi: 'wasi/index.js',
};

/** Node has no use for the file that browsers start threads from. */
const withoutFile = {
  name: 'without file',
  setup({ onLoad }) {
    onLoad({ filter: /\/host-web-file\.js$/ }, () => ({ contents: 'export const startFromFile = undefined;' }));
  },
};

/** Node's threads have less to read than those of browsers. */
const nodeThreads = {
  name: 'node threads',
  setup({ onLoad }) {
    onLoad({ filter: /\/thread\.generated\.js$/ }, async () => ({ contents: await nodeThreadModule(), loader: 'ts' }));
  },
};

/** The command line imports the library's bundle, and has no second copy of it. */
const library = {
  name: 'library',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.\/task\/pool\.js$/ }, () => ({ path: './index.js', external: true }));
    onResolve({ filter: /^\.\.\/(fs|wasi)\/index\.js$/ }, ({ path }) => ({
      path: `./${path.split('/')[1]}.js`,
      external: true,
    }));
  },
};

function bundle(entryPoints, plugins, options = { splitting: true, format: 'esm' }) {
  return build({
    absWorkingDir: root,
    entryPoints,
    outdir: target,
    bundle: true,
    ...options,
    platform: 'node',
    target: 'es2022',
    // A file with characters beyond Latin-1 takes twice the memory, and longer to read.
    charset: 'ascii',
    legalComments: 'none',
    metafile: true,
    plugins,
  });
}

rmSync(target, { recursive: true, force: true });
const together = { index: `${modules}/index.js`, fs: `${modules}/fs/index.js`, wasi: `${modules}/wasi/index.js` };
await bundle(together, [withoutFile, nodeThreads]);
await bundle({ cli: `${modules}/cli/main.js` }, [library]);
// It shares nothing that has state.
await bundle({ linked: `${modules}/linked/index.js` }, []);

// Required by its entries, it runs no module that they do not need.
const lazily = Object.entries(ENTRIES).map(([name, file]) => `exports.${name} = () => require('${modules}/${file}');`);
await bundle(undefined, [withoutFile, nodeThreads], {
  stdin: { contents: lazily.join('\n'), resolveDir: root },
  outdir: undefined,
  outfile: `${target}/plait.cjs`,
  format: 'cjs',
});

const whole = await import(pathToFileURL(`${target}/index.js`).href);
for (const part of PARTS) {
  const names = Object.keys(await import(pathToFileURL(`${modules}/${part}/index.js`).href));
  const missing = names.filter((name) => !(name in whole));
  if (missing.length > 0) throw new Error(`plait/${part} exports what plait does not: ${missing.join(', ')}`);
  writeFileSync(`${target}/${part}.js`, `export { ${names.join(', ')} } from './index.js';\n`);
}

// Name by name: tools that only read them see what there is, and tests may put something in a function's place.
for (const entry of Object.keys(ENTRIES)) {
  const names = Object.keys(await import(pathToFileURL(`${target}/${entry}.js`).href));
  const lines = [
    "'use strict';",
    "Object.defineProperty(exports, '__esModule', { value: true });",
    `const ${entry} = require('./plait.cjs').${entry}();`,
    ...names.map((name) => `exports.${name} = ${entry}.${name};`),
  ];
  writeFileSync(`${target}/${entry}.cjs`, `${lines.join('\n')}\n`);
}
