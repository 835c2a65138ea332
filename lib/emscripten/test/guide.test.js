/** The commands of docs/guide/emscripten.md, as a reader pastes them: emcc in the change-root, node on this machine. */

import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folderOf, inside, ROOT, run } from './emscripten.js';

const page = readFileSync(join(ROOT, 'docs/guide/emscripten.md'), 'utf8');
/** A block whose first line is a comment with a name is that file; the others are commands. */
const blocks = [...page.matchAll(/^```(?:cpp|text)\n([\s\S]*?)^```$/gm)].map(([, text]) => ({
  text,
  file: text.match(/^\/\/ (\S+)\n/)?.[1],
}));

test('the guide', async () => {
  const folder = folderOf('guide');
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  for (const link of ['plait', 'node_modules/plait'])
    if (!existsSync(join(folder, link))) symlinkSync(ROOT, join(folder, link));
  writeFileSync(join(folder, 'program.c'), '#include <stdlib.h>\nint main(void) { free(malloc(1)); }\n');
  copyFileSync(join(ROOT, 'lib/examples/notes.c'), join(folder, 'notes.c'));
  for (const { text, file } of blocks.filter(({ file }) => file)) writeFileSync(join(folder, file), text);
  const printed = [];
  const commands = blocks
    .filter(({ file }) => !file)
    .flatMap(({ text }) =>
      text
        .replace(/\\\n */g, '')
        .trim()
        .split('\n'),
    );
  commands.push('node read.mjs');
  for (const command of commands) {
    const [program, ...parameters] = command.split(' ');
    const { text, code } =
      program === 'node'
        ? await run(process.execPath, parameters, folder)
        : await inside([program, ...parameters], folder);
    assert.equal(code, 0, `${command}\n${text}`);
    if (program === 'node') printed.push(text);
  }
  const names = '1.txt\n2.txt\n3.txt\n';
  assert.deepEqual(printed, ['100\n', names, `${names}note 2\n\n`]);
});
