/**
 * The README's examples, as pasted: each block that begins with `// name.js` becomes that file in a scratch folder, the
 * last one runs, and what it prints must be what its comments say it prints. Shell lines are run too, and their output
 * compared with the block that follows.
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
let folder: string;
let blocks: { language: string; text: string }[];

before(async () => {
  const readme = await readFile(join(root, 'README.md'), 'utf8');
  blocks = [...readme.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => ({
    language,
    text,
  }));
  folder = await mkdtemp(join(tmpdir(), 'plait readme '));
  await mkdir(join(folder, 'node_modules'));
  await symlink(root, join(folder, 'node_modules', 'plait'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  for (const { language, text } of blocks) {
    const name = /^\/\/ (\S+\.js)\n/.exec(text)?.[1];
    if (language === 'js' && name !== undefined) await writeFile(join(folder, name), text);
  }
});

after(() => rm(folder, { recursive: true }));

test('the program prints what its comments say', async () => {
  const main = await readFile(join(folder, 'main.js'), 'utf8');
  const expected = [...main.matchAll(/console\.log\(.*?\);? +\/\/ (.*)$/gm)].map(([, comment]) => comment);
  assert.ok(expected.length > 0, 'the program says what it prints');
  const { stdout } = await run(process.execPath, ['main.js'], { cwd: folder });
  assert.deepEqual(stdout.trim().split('\n'), expected);
});

test('the shell line prints what stands below it', async () => {
  const index = blocks.findIndex(({ language, text }) => language === 'sh' && text.includes('npx plait map'));
  const command = blocks[index]?.text.replaceAll('npx plait', `"${process.execPath}" "${root}dist/cli/main.js"`);
  const { stdout } = await run('sh', ['-c', command as string], { cwd: folder });
  assert.equal(stdout, blocks[index + 1]?.text);
});
