/**
 * The examples of the README and of docs/heap.md, as pasted: each block that begins with `// name.js` becomes that file in a
 * scratch folder, and what a program prints must be what its comments say it prints. The README's shell line is run too, and
 * its output compared with the block that follows.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

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
  const blocks = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => ({
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
  for (const name of ['README.md', 'docs/heap.md']) pages.set(name, await open(name));
});

after(async () => {
  for (const { folder } of pages.values()) await rm(folder, { recursive: true });
});

for (const [name, program] of [
  ['README.md', 'main.js'],
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
