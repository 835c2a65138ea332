/**
 * Two copies of Plait in one thread, as from two bundles: they share the thread's files, classes and last path.
 */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { after, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { commonSpace } from 'plait';
import * as one from 'plait/fs';

const folder = mkdtempSync(`${tmpdir()}/plait-fs-copies-`);
after(() => rmSync(folder, { recursive: true }));

test('copies of plait/fs share the state of a thread', async () => {
  cpSync(fileURLToPath(new URL('..', import.meta.resolve('plait/fs'))), `${folder}/dist`, { recursive: true });
  cpSync(fileURLToPath(new URL('../../package.json', import.meta.resolve('plait/fs'))), `${folder}/package.json`);
  const two = (await import(pathToFileURL(`${folder}/dist/fs/index.js`).href)) as typeof one;
  assert.notEqual(two.createFs, one.createFs, 'the second is no copy: this test tests nothing');
  assert.equal(two.Stats, one.Stats);
  assert.equal(two.FsWatcher, one.FsWatcher);

  // A path that one has just put into the record is not taken for the other's.
  const other = two.createFs(commonSpace);
  one.mkdirSync('/copies', { recursive: true });
  one.writeFileSync('/copies/a', 'A');
  one.writeFileSync('/copies/b', 'B');
  for (let i = 0; i < 4; i++) {
    assert.equal(one.readFileSync('/copies/a', 'utf8'), 'A');
    assert.equal(other.readFileSync('/copies/b', 'utf8'), 'B');
  }

  assert.ok(two.statSync('/copies/a') instanceof one.Stats);
  const handle = await two.promises.open('/copies/a');
  assert.ok(handle instanceof one.FileHandle);
  assert.equal(await one.promises.readFile(handle as never, 'utf8'), 'A');
  await handle.close();
  await assert.rejects(
    other.promises.open('/copies/none'),
    (error: Error & { code?: string }) => error.code === 'ENOENT',
  );
  one.rmSync('/copies', { recursive: true });
});
