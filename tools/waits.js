/**
 * Checks where modules wait: node tools/waits.js MODULE... The baseline compiler of V8 11.3 (Node 20) destroys a local
 * that is live across memory.atomic.wait32 or wait64; a call in its place saves all of them. So one function waits
 * (plait_platform_wait), and ends with the wait: nothing is live behind it. The linker's __wasm_init_memory waits, too,
 * and is let off because it reads no local.
 */

import { readFileSync } from 'node:fs';
import { END, functions, LOCAL_GET, WAIT32, WAIT64 } from './wasm.js';

/** Of each wait in a function that reads locals: whether it is the last instruction. */
function waits(body) {
  if (!body.some(({ code }) => code === LOCAL_GET)) return [];
  const last = body.findLastIndex(({ code }) => code !== END);
  return body.flatMap(({ code }, at) => (code === WAIT32 || code === WAIT64 ? [at === last] : []));
}

for (const file of process.argv.slice(2)) {
  const all = functions(readFileSync(file)).flatMap(waits);
  if (all.length === 1 && all[0]) continue;
  console.error(
    `${file}: ${all.length} waits, ${all.filter((last) => !last).length} of them not at the end of a function`,
  );
  process.exitCode = 1;
}
