/**
 * The package as Node sees it: a bundle of the same modules in fewer files. The tests check for bundling errors:
 * missing names, and two copies of a module that must exist once.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const modules = new URL('../../dist/', import.meta.url).href;
const entries: Record<string, string> = { plait: '', 'plait/fs': 'fs/', 'plait/heap': 'heap/', 'plait/task': 'task/' };
const load = (specifier: string): Promise<Record<string, unknown>> => import(specifier);

test('each entry is in the bundle, and has the exports of its modules', async () => {
  for (const [entry, folder] of Object.entries(entries)) {
    assert.match(import.meta.resolve(entry), /\/dist\/node\/\w+\.js$/);
    const unbundled = await load(`${modules}${folder}index.js`);
    assert.deepEqual(Object.keys(await load(entry)), Object.keys(unbundled), entry);
  }
});

test('entries share their exports, and the class of errors', async () => {
  const plait = await load('plait');
  for (const entry of ['plait/heap', 'plait/task']) {
    for (const [name, value] of Object.entries(await load(entry)))
      assert.equal(value, plait[name], `${entry}: ${name}`);
  }
  const { fs, PlaitError } = (await load('plait/fs')) as typeof import('plait/fs');
  assert.equal(PlaitError, plait.PlaitError);
  const { commonSpace } = plait as unknown as typeof import('plait');
  const { fs: unbundled } = (await load(`${modules}fs/index.js`)) as typeof import('plait/fs');
  assert.equal(fs, unbundled, 'also a copy that is not in the bundle');
  commonSpace().check();
});

test('an entry is few files, which start no thread from another', () => {
  for (const [entry, most] of [
    ['index.js', 2],
    ['fs.js', 3], // one is shared with wasi.js, too
    ['wasi.js', 3],
  ] as const) {
    const files = new Set<string>([entry]);
    for (const file of files) {
      const text = readFileSync(new URL(`node/${file}`, modules), 'utf8');
      assert.doesNotMatch(text, /new Worker\(new URL/, file);
      for (const [, name] of text.matchAll(/^(?:import|export|}) ?[^;]*?from "\.\/([^"]+)";$/gm))
        files.add(name as string);
    }
    assert.equal(files.size, most, [...files].join());
  }
});
