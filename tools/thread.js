/**
 * Makes the scripts of Plait's own threads out of js/src/task/worker.ts and coordinator.ts and all that they import.
 *
 *     node tools/thread.js            js/src/task/thread.generated.ts: both as one string, for the package's modules
 *     node tools/thread.js FOLDER     FOLDER/plait-thread.js: the same as a file, readable, for browsers and bundlers
 *
 * The bundle for Node (tools/bundle.js) has a string for each instead, and one for the codec of values: a thread of
 * Node's spends a millisecond on 30 KB of them before it begins, whether it needs them or not.
 *
 * A thread is given the core by the one that started it, and so are the scripts for threads of its own. So the
 * generated modules, and the file that names the script for bundlers, are left empty in them.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const task = `${root}js/src/task`;

const EMPTY = {
  'wasm.generated.ts': "export const WASM_BASE64 = '';",
  'thread.generated.ts': "export const THREAD_SCRIPT = '';",
  'host-web-file.ts': 'export const startFromFile = undefined;',
};
const NODE_EMPTY = { ...EMPTY, 'host-web.ts': 'export const createWebHost = undefined;' };
/** A worker starts no threads: pools of the user's module come with a copy of Plait that is whole. */
const WORKER_EMPTY = {
  ...NODE_EMPTY,
  'host-node-threads.ts': `
    export const startThread = undefined;
    export const lendThread = undefined;
    export const adoptThread = undefined;`,
};
const HEAD = "/* Plait's own threads: made of js/src/task by tools/thread.js. */\n";

const OPTIONS = {
  absWorkingDir: root,
  bundle: true,
  write: false,
  target: 'es2022',
  charset: 'ascii',
  legalComments: 'none',
  tsconfigRaw: {},
};

/** Replaces files by a text, by name, and codec.ts by codec-later.ts. */
function replaced(texts, codecLater) {
  return {
    name: 'replaced',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /\.ts$/ }, ({ path }) => {
        const name = path.split('/').at(-1);
        if (codecLater && name === 'codec.ts') return { path: `${task}/codec-later.ts` };
        return Object.hasOwn(texts, name) ? { path, namespace: 'replaced' } : undefined;
      });
      onLoad({ filter: /./, namespace: 'replaced' }, ({ path }) => ({ contents: texts[path.split('/').at(-1)] }));
    },
  };
}

function checked(script) {
  new Script(script); // throws if it imports or exports something
  return script;
}

/** A thread's script. Names stay, for stack traces; comments for bundlers stay in one that is to be read. */
async function scriptOf(entry, { readable = false, texts = EMPTY, codecLater = false } = {}) {
  const { outputFiles } = await build({
    ...OPTIONS,
    ...entry,
    // Without imports, exports and awaits of its own it is a script and a module at once: bundlers want the one or the
    // other.
    format: 'esm',
    banner: { js: `${HEAD}(async () => {` },
    // What goes wrong must reach the starter; of a rejection nobody hears in browsers, nor everywhere in Node.
    footer: { js: '})().catch((error) => queueMicrotask(() => { throw error; }));' },
    minifySyntax: !readable,
    minifyWhitespace: !readable,
    plugins: [replaced(texts, codecLater)],
  });
  return checked(outputFiles[0].text);
}

/** A script that calls a function of js/src/task with the thread's first message. */
function scriptFor(module, name, texts) {
  const contents = `
    import { host } from '../core/host.ts';
    import { ${name} } from './${module}.ts';
    await ${name}(await host.firstMessage());`;
  return scriptOf({ stdin: { contents, resolveDir: task, loader: 'ts' } }, { texts, codecLater: true });
}

/** A script whose value is the codec's functions. */
async function codecScript() {
  const { outputFiles } = await build({
    ...OPTIONS,
    entryPoints: [`${task}/codec.ts`],
    format: 'iife',
    globalName: 'codec',
    banner: { js: '(() => {' },
    footer: { js: 'return codec; })();' },
    minifySyntax: true,
    minifyWhitespace: true,
    plugins: [replaced(NODE_EMPTY, false)],
  });
  return checked(outputFiles[0].text);
}

/** What takes the place of js/src/task/thread-scripts.ts in the bundle for Node. */
export async function nodeScripts() {
  const [coordinator, worker, codec] = await Promise.all([
    scriptFor('coordinator', 'coordinate', NODE_EMPTY),
    scriptFor('worker', 'serve', WORKER_EMPTY),
    codecScript(),
  ]);
  return `
const CODEC = ${JSON.stringify(codec)};
export const COORDINATOR_SCRIPT = { main: ${JSON.stringify(coordinator)}, part: CODEC };
export const WORKER_SCRIPT = { main: ${JSON.stringify(worker)}, part: CODEC };
`;
}

const BOTH = { entryPoints: [`${task}/thread.ts`] };

async function writeFile(folder) {
  writeFileSync(`${folder}/plait-thread.js`, await scriptOf(BOTH, { readable: true }));
}

async function writeString() {
  const text = JSON.stringify(`${await scriptOf(BOTH)}//# sourceURL=plait-thread.js\n`);
  const target = `${task}/thread.generated.ts`;
  const module = `// Generated by tools/thread.js from js/src/: do not edit.\n\n/** What Plait's own threads run. */\nexport const THREAD_SCRIPT: string =\n  ${text};\n`;
  let old = '';
  try {
    old = readFileSync(target, 'utf8');
  } catch {
    // The first time.
  }
  if (old !== module) writeFileSync(target, module);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.argv[2];
  await (folder === undefined ? writeString() : writeFile(folder));
}
