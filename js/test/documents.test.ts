/**
 * The code of the README, the guide, the reference and the explanation, as a reader pastes it.
 *
 * Every block tagged js, ts, sh, lua, c or zig is run or compiled; a fragment is tagged `text`. The rules:
 *
 * - A block whose first line is a comment with a file's name, `// main.mjs`, is that file in a folder for the page.
 *   Other languages (html, proto, json) may name a file, too. Blocks of js and ts must.
 * - A file of js or ts that no other block of the page names is a program: it is run. Its output must equal the
 *   comments behind its `console.log(…)`. TypeScript is compiled; if it prints something, a Node that strips types
 *   runs it.
 * - A block of sh runs in the page's folder. If a `text` block follows at once, its output must equal that block.
 * - `page.mjs` and `page-….mjs` are for browsers: they are bundled, so what they import must be there.
 * - A file named examples/… or lib/examples/… is an excerpt: its lines are in that file, in this order; the file's own suite runs it.
 *   That is how pages show bundlers, test runners, C and Zig.
 * - Lua is run by lua/test/readme_test.lua, in every Lua: pages of lua and docs/reference/lua*.md have it.
 *
 * Pages are for a project as `npm init` makes it, so modules are called `.mjs`.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);
const TESTED = ['js', 'ts', 'sh', 'lua', 'c', 'zig'];
const STRIPS_TYPES = Boolean(Reflect.get(process.features, 'typescript'));
const LUA_PAGES = /^(lua\/README|docs\/reference\/lua.*)\.md$/;

interface Block {
  readonly language: string;
  /** The name that its first line says; empty: none. */
  readonly file: string;
  readonly text: string;
  /** The block's successor, with nothing but blank lines between. */
  readonly next: Block | undefined;
}

function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  const matches = [...page.matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)];
  for (const match of matches.reverse()) {
    const [all, indent = '', language = '', code = ''] = match;
    const text = code.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    const [first = ''] = text.split('\n', 1);
    const file = /^(?:\/\/|--|#|<!--) ([\w./-]+\.\w+)(?::.*| -->)?$/.exec(first)?.[1] ?? '';
    const end = match.index + all.length;
    const isNext = blocks[0] !== undefined && /^\s*```/.test(page.slice(end));
    blocks.unshift({ language, file, text, next: isNext ? blocks[0] : undefined });
  }
  return blocks;
}

const markdown = (folder: string): string[] =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder))
        .filter((name) => name.endsWith('.md'))
        .map((name) => `${folder}/${name}`)
    : [];
const pages = [
  'README.md',
  'lua/README.md',
  ...['docs/guide', 'docs/reference', 'docs/explanation'].flatMap((folder) => markdown(folder)),
];

// A project as `npm init` makes it, with the package installed; each page has a folder in it.
const project = mkdtempSync(join(tmpdir(), 'plait documents '));
const tools = join(project, 'node_modules', '.bin');
mkdirSync(tools, { recursive: true });
mkdirSync(join(project, 'node_modules', '@types'));
symlinkSync(root, join(project, 'node_modules', 'plait'));
symlinkSync(join(root, 'node_modules', '@types', 'node'), join(project, 'node_modules', '@types', 'node'));
writeFileSync(join(project, 'package.json'), '{ "type": "commonjs" }');
command('node', `exec "${process.execPath}" "$@"`);
command('plait', `exec "${process.execPath}" "${root}dist/node/cli.js" "$@"`);
command('esbuild', `exec "${root}node_modules/.bin/esbuild" "$@"`);
command('npm', '[ "$1" = install ]'); // it is installed
command('npx', 'exec "$@"');
after(() => rmSync(project, { recursive: true }));

function command(name: string, script: string): void {
  writeFileSync(join(tools, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(tools, name), 0o755);
}

/** Whether a file is a module of JavaScript or TypeScript. */
const isModule = (file: string): boolean => /\.[cm]?[jt]s$/.test(file);
const isTyped = (file: string): boolean => /\.[cm]?ts$/.test(file);
const isExcerpt = (file: string): boolean => /^(lib\/)?examples\//.test(file);
const isForPages = (file: string): boolean => /^page(-\w+)?\.\w+$/.test(file);

/** What a program says that it prints. */
function expectedOf(code: string): string[] {
  return [...code.matchAll(/console\.log\(.*\);? +\/\/ (.*)$/gm)].map(([, comment = '']) => comment);
}

const folderOf = (page: string): string => join(project, page.replaceAll('/', '-'));

function writeFiles(page: string, blocks: readonly Block[]): void {
  mkdirSync(folderOf(page));
  for (const { file, text } of blocks) {
    if (file === '' || isExcerpt(file)) continue;
    const path = join(folderOf(page), file);
    assert.ok(!existsSync(path), `${page} has ${file} twice`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}

/** The lines of an excerpt are in its file, in this order. */
function checkExcerpt({ file, text }: Block): void {
  const lines = readFileSync(join(root, file), 'utf8').split('\n');
  const [, ...wanted] = text.trimEnd().split('\n');
  let from = 0;
  for (const line of wanted) {
    const at = lines.findIndex((own, index) => index >= from && own.trim() === line.trim());
    assert.ok(at >= 0, `${file} has no such line there: ${line}`);
    from = at + 1;
  }
}

async function runProgram(folder: string, { file, text }: Block): Promise<void> {
  if (isForPages(file)) {
    const options = { bundle: true, write: false, format: 'esm', platform: 'browser', logLevel: 'silent' } as const;
    const { warnings } = await build({ ...options, entryPoints: [join(folder, file)], absWorkingDir: folder });
    assert.deepEqual(warnings, []);
    return;
  }
  if (isTyped(file) && (!STRIPS_TYPES || expectedOf(text).length === 0)) return;
  const { stdout } = await run(process.execPath, ['--no-warnings', file], { cwd: folder, timeout: 20_000 });
  assert.deepEqual(stdout === '' ? [] : stdout.trimEnd().split('\n'), expectedOf(text), file);
}

async function runShell(folder: string, { text, next }: Block): Promise<void> {
  const env = { ...process.env, PATH: `${tools}:${process.env.PATH}`, NODE_NO_WARNINGS: '1' };
  const { stdout } = await run('sh', ['-e', '-c', text], { cwd: folder, env, timeout: 20_000 });
  if (next?.language === 'text') assert.equal(stdout, next.text);
}

const all = new Map(pages.map((page) => [page, blocksOf(readFileSync(join(root, page), 'utf8'))]));
for (const [page, blocks] of all) writeFiles(page, blocks);

test('every block is of a kind that is tested', () => {
  for (const [page, blocks] of all) {
    for (const { language, file, text } of blocks.filter((block) => TESTED.includes(block.language))) {
      const where = `${page}: ${text}`;
      if (language === 'js' || language === 'ts') assert.ok(file !== '', `a file's name, or the tag text: ${where}`);
      if (language === 'lua') assert.match(page, LUA_PAGES, where);
      if (language === 'c' || language === 'zig') assert.ok(isExcerpt(file), `an excerpt of examples: ${where}`);
    }
  }
});

test('TypeScript code compiles', async () => {
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2024', 'esnext.disposable', 'dom'],
    module: 'nodenext',
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    types: ['node'],
  };
  const include = [...all]
    .flatMap(([page, blocks]) => blocks.map(({ file }) => ({ page, file })))
    .filter(({ file }) => isTyped(file) && !isExcerpt(file))
    .map(({ page, file }) => join(folderOf(page), file));
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }));
  const compiling = run(join(root, 'node_modules', '.bin', 'tsc'), ['-p', project]);
  await compiling.catch((error: { stdout?: string }) => assert.fail(error.stdout));
});

test('every page', { concurrency: 2 }, async (t) => {
  await Promise.all(
    [...all].map(([page, blocks]) =>
      t.test(page, async () => {
        const folder = folderOf(page);
        for (const block of blocks) {
          const { language, file } = block;
          if (!TESTED.includes(language)) continue;
          if (isExcerpt(file)) checkExcerpt(block);
          else if (language === 'sh' && file === '') await runShell(folder, block);
          else if (isModule(file)) {
            const isNamed = blocks.some((other) => other !== block && other.text.includes(basename(file)));
            if (!isNamed || isForPages(file)) await runProgram(folder, block);
          }
        }
      }),
    ),
  );
});

test('every link leads somewhere', () => {
  for (const page of pages) {
    const text = readFileSync(join(root, page), 'utf8').replaceAll(/^ *```[\s\S]*?^ *```$/gm, '');
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^\w+:/.test(target)) continue;
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? join(root, page) : join(root, dirname(page), path);
      assert.ok(existsSync(file), `${page}: ${target}`);
      if (anchor !== undefined) assert.ok(anchorsOf(file).has(anchor), `${page}: ${target}`);
    }
  }
});

/** The anchors that headings have, as GitHub makes them. */
function anchorsOf(file: string): Set<string> {
  const headings = readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm);
  const slug = (heading: string): string =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
  return new Set([...headings].map(([, heading = '']) => slug(heading)));
}
