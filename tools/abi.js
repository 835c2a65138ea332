/**
 * The golden list of what the core exports and imports: core/abi.txt. `--check` fails on a difference; without it the
 * list is written anew. A change of the list is a change that bindings see: it belongs into a review.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const golden = new URL('../core/abi.txt', import.meta.url);
const module = new WebAssembly.Module(readFileSync(new URL('../build/plait.wasm', import.meta.url)));
const lines = [
  ...WebAssembly.Module.imports(module).map((entry) => `import ${entry.kind} ${entry.module}.${entry.name}`),
  ...WebAssembly.Module.exports(module).map((entry) => `export ${entry.kind} ${entry.name}`),
];
const text = `${lines.sort().join('\n')}\n`;

if (!process.argv.includes('--check')) {
  writeFileSync(golden, text);
} else if (readFileSync(golden, 'utf8') !== text) {
  console.error('core/abi.txt does not match the built module; if the change is meant, run `node tools/abi.js`');
  process.exit(1);
}
