/**
 * The examples of the README and of docs, as pasted: each block that begins with `// name.js` becomes that file in a
 * scratch folder, and what a program prints must be what its comments say it prints. The README's shell line is run
 * too, and its output compared with the block that follows. Blocks that are no whole program must be JavaScript or
 * TypeScript at least, and what they import of Plait, or call of it, must be there.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { transform } from 'esbuild';
import { fs } from '../../dist/fs/index.js';
import * as plait from '../../dist/index.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/** A page with its blocks, and a folder with its files. */
interface Page {
  readonly folder: string;
  readonly blocks: { language: string; text: string }[];
}
const pages = new Map<string, Page>();

async function open(name: string): Promise<Page> {
  const text = await readFile(join(root, name), 'utf8');
  const blocks = [...text.matchAll(/^ *```(\w+)\n([\s\S]*?)^ *```$/gm)].map(([, language = '', text = '']) => ({
    language,
    text,
  }));
  const folder = await mkdtemp(join(tmpdir(), 'plait page '));
  await mkdir(join(folder, 'node_modules'));
  await symlink(root, join(folder, 'node_modules', 'plait'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  for (const { language, text } of blocks) {
    const file = /^\/\/ (\S+\.js)\n/.exec(text)?.[1];
    if (language === 'js' && file !== undefined) await writeFile(join(folder, file), text);
  }
  return { folder, blocks };
}

before(async () => {
  for (const name of ['README.md', 'docs/fs.md', 'docs/heap.md', 'docs/task.md']) pages.set(name, await open(name));
});

after(async () => {
  for (const { folder } of pages.values()) await rm(folder, { recursive: true });
});

for (const [name, program] of [
  ['README.md', 'main.js'],
  ['docs/task.md', 'main.js'],
  ['docs/fs.md', 'main.js'],
  ['docs/heap.md', 'main.js'],
  ['docs/heap.md', 'bytes.js'],
] as const) {
  test(`${program} of ${name} prints what its comments say`, async () => {
    const { folder } = pages.get(name) as Page;
    const text = await readFile(join(folder, program), 'utf8');
    const expected = [...text.matchAll(/console\.log\(.*?\);? +\/\/ (.*)$/gm)].map(([, comment]) => comment);
    assert.ok(expected.length > 0, 'the program says what it prints');
    const { stdout } = await run(process.execPath, [program], { cwd: folder });
    assert.deepEqual(stdout.trim().split('\n'), expected);
  });
}

test('the shell line prints what stands below it', async () => {
  const { folder, blocks } = pages.get('README.md') as Page;
  const index = blocks.findIndex(({ language, text }) => language === 'sh' && text.includes('npx plait map'));
  const command = blocks[index]?.text.replaceAll('npx plait', `"${process.execPath}" "${root}dist/node/cli.js"`);
  const { stdout } = await run('sh', ['-c', command as string], { cwd: folder });
  assert.equal(stdout, blocks[index + 1]?.text);
});

/** What examples call by these names. */
const NAMES: Record<string, object> = {
  fs,
  'fs.promises': fs.promises,
  heap: plait.heap,
  task: plait.task,
  pool: plait.Pool.prototype,
};

test('every block of code is code, and what it takes of Plait is there', async () => {
  let blocks = 0;
  const names = [
    'README.md',
    ...(await readdir(join(root, 'docs'))).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`),
  ];
  for (const name of names) {
    const text = await readFile(join(root, name), 'utf8');
    for (const [, language, code = ''] of text.matchAll(/^ *```(js|ts)\n([\s\S]*?)^ *```$/gm)) {
      blocks++;
      const where = `${name}: ${code}`;
      await assert.doesNotReject(
        transform(code, { loader: language as 'js', format: 'esm', logLevel: 'silent' }),
        where,
      );
      for (const [, first = '', list = '', from = ''] of code.matchAll(
        /import (\w+)?(?:\{(.*?)\})? from '(plait[/\w]*)'/g,
      )) {
        const module = (await import(from)) as object;
        const taken = list.split(',').map((word) => word.trim().split(' as ')[0] as string);
        for (const word of [...taken, first && 'default'])
          assert.ok(word === '' || word in module, `${word} in ${where}`);
      }
      for (const [, holder = '', member = ''] of code.matchAll(/\b(fs\.promises|fs|heap|pool|task)\.(\w+)/g)) {
        assert.ok(member in (NAMES[holder] as object), `${holder}.${member} in ${where}`);
      }
    }
  }
  assert.ok(blocks > 15, `${blocks} blocks`);
});
