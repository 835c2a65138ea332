/**
 * Builds each program of programs.js with the port, and runs it on each Node.
 *
 * Invariant: a program is good only if it ends with 0 and its last line says so; it checks all that it does itself.
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { folderOf, inside, NODES, ROOT, run } from './emscripten.js';
import { PROGRAMS } from './programs.js';

const PORT = join(ROOT, 'lib/emscripten/plait.py');
const pathOf = (source) => join(ROOT, 'lib/emscripten/test', source);

for (const [index, { source, flags, side, aborts, refused }] of PROGRAMS.entries()) {
  test(`${source} ${flags}`, async (t) => {
    const folder = folderOf(String(index));
    const compiler = source.endsWith('.cc') ? 'em++' : 'emcc';
    const command = [compiler, pathOf(source), ...flags.split(' '), `--use-port=${PORT}`, '-o', 'program.js'];
    const built = await inside(command, folder);
    if (refused !== undefined) {
      assert.notEqual(built.code, 0);
      assert.ok(built.text.includes(refused), built.text);
      return;
    }
    assert.equal(built.code, 0, built.text);
    if (side !== undefined) {
      const made = await inside(['emcc', pathOf(side), '-O2', '-sSIDE_MODULE', '-o', 'side-module.wasm'], folder);
      assert.equal(made.code, 0, made.text);
    }
    for (const node of NODES) {
      await t.test(node, async () => {
        const { text, stdout, code } = await run(node, ['program.js'], folder);
        if (aborts !== undefined) {
          assert.notEqual(code, 0, text);
          assert.ok(text.includes(aborts), text);
        } else {
          assert.ok(/: good\s*$/.test(stdout), text);
          assert.equal(code, 0, text);
        }
      });
    }
  });
}
