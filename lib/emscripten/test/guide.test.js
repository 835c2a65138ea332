/** The commands of docs/guide/emscripten.md, as a reader pastes them: emcc in the change-root, node on this machine. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folderOf, inside, ROOT, run } from './emscripten.js';

const page = readFileSync(join(ROOT, 'docs/guide/emscripten.md'), 'utf8');
const blocks = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language, text]) => ({ language, text }));

test('the guide', async () => {
  const folder = folderOf('guide');
  if (!existsSync(join(folder, 'plait'))) symlinkSync(ROOT, join(folder, 'plait'));
  writeFileSync(join(folder, 'program.c'), '#include <stdlib.h>\nint main(void) { free(malloc(1)); }\n');
  for (const { text } of blocks.filter(({ language }) => language === 'cpp')) {
    const [, file] = text.match(/^\/\/ (\S+)\n/);
    writeFileSync(join(folder, file), text);
  }
  const printed = [];
  const commands = blocks.filter(({ language }) => language === 'text').flatMap(({ text }) => text.trim().split('\n'));
  for (const command of commands) {
    const [program, ...parameters] = command.split(' ');
    const { text, code } =
      program === 'node'
        ? await run(process.execPath, parameters, folder)
        : await inside([program, ...parameters], folder);
    assert.equal(code, 0, `${command}\n${text}`);
    if (program === 'node') printed.push(text);
  }
  assert.deepEqual(printed, ['100\n']);
});
