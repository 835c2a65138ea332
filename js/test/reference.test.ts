/**
 * The pages of docs/reference are complete: no error code and no option of the command line is missing. The pages for
 * contributors name only existing files.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { HELP } from '../../dist/cli/args.js';
import { ERROR_CODES } from '../../dist/core/errors.js';

const page = (name: string): Promise<string> =>
  readFile(new URL(`../../docs/reference/${name}`, import.meta.url), 'utf8');

test('errors.md has a row for each code, and none for others', async () => {
  const rows = [...(await page('errors.md')).matchAll(/^\| `(ERR_PLAIT_\w+)` \|/gm)].map(([, code]) => code);
  assert.deepEqual(rows.toSorted(), Object.keys(ERROR_CODES).toSorted());
});

test('cli.md has each option of --help', async () => {
  const text = await page('cli.md');
  const options = [...HELP.matchAll(/^ {2}(--[a-z]+)/gm)].map(([, option]) => option as string);
  assert.ok(options.length > 7);
  for (const option of options) assert.ok(text.includes(`\`${option}`), option);
});

test('the files and functions that the internals and explanations name are there', () => {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const known = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0');
  const made = ['plait-thread.js', 'thread.generated.ts', 'wasm.generated.ts'];
  const files = new Set([...known.map((path) => basename(path)), ...made]);
  const sources = known.filter((path) => /^(core|lua|js\/src)\/.*\.(c|h|ts|lua)$/.test(path));
  const names = new Set(sources.flatMap((path) => readFileSync(root + path, 'utf8').match(/\bplait_\w+/gi) ?? []));
  const missing = ['docs/internals/', 'docs/explanation/'].flatMap((folder) =>
    readdirSync(root + folder).flatMap((page) => {
      const text = readFileSync(root + folder + page, 'utf8');
      const named = [...text.matchAll(/`([\w./-]+\.(?:c|h|ts|js|py|mk|lua|md))`/g)].map(([, path]) => path as string);
      const functions = [...text.matchAll(/`(plait_\w+?)(?:\(\))?`/gi)].map(([, name]) => name as string);
      return [
        ...named.filter((path) => !files.has(basename(path))),
        ...functions.filter((name) => !names.has(name)),
      ].map((name) => `${page}: ${name}`);
    }),
  );
  assert.deepEqual(missing, []);
});
