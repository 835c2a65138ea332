/**
 * The golden sizes of what users load: tools/size.json. `--check` fails when one has grown by more than 2 % and 64
 * bytes (or shrunk by as much: then lower the mark); without it the file is written anew, so that growth shows in a
 * review.
 *
 * By hand, because size-limit needs a newer Node than we support, and its limits do not say when a size has shrunk.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const golden = new URL('./size.json', import.meta.url);

/** All modules that an entry loads, itself first. */
function closure(entry) {
  const seen = new Set([entry.href]);
  for (const href of seen) {
    for (const [, specifier] of readFileSync(new URL(href), 'utf8').matchAll(
      /(?:from|import|require\()\s*["'](\.[^"']+)["']/g,
    )) {
      seen.add(new URL(specifier, href).href);
    }
  }
  return [...seen].map((href) => readFileSync(new URL(href)));
}

const bytesOf = (name) => readFileSync(new URL(`../build/${name}`, import.meta.url)).length;
const sizes = {
  'plait.wasm': bytesOf('plait.wasm'),
  'a program that prints, with libplait_fs': bytesOf('lib-test/print.wasm'),
  'a program with files, with libplait_fs': bytesOf('lib-test/notes.wasm'),
};
const { exports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
for (const [name, target] of Object.entries(exports)) {
  const { node, default: page } = target.default ?? {};
  for (const [file, words] of [
    [page ?? target.default, '(gzip)'],
    [node, 'for Node (gzip)'],
    [target.require?.default, 'required (gzip)'],
  ]) {
    if (typeof file !== 'string') continue;
    const files = closure(new URL(`../${file}`, import.meta.url));
    sizes[`plait${name.slice(1)} ${words}`] = gzipSync(Buffer.concat(files), { level: 9 }).length;
  }
}

if (!process.argv.includes('--check')) {
  writeFileSync(golden, `${JSON.stringify(sizes, null, 2)}\n`);
} else {
  const marks = JSON.parse(readFileSync(golden, 'utf8'));
  const off = Object.keys({ ...marks, ...sizes }).filter(
    (name) => !(Math.abs((marks[name] ?? 0) - (sizes[name] ?? 0)) <= Math.max(64, (marks[name] ?? 0) * 0.02)),
  );
  for (const name of off) console.error(`${name}: ${marks[name] ?? 'none'} -> ${sizes[name] ?? 'none'} bytes`);
  if (off.length > 0) {
    console.error('sizes differ from tools/size.json; if the change is meant, run `node tools/size.js`');
    process.exit(1);
  }
}
