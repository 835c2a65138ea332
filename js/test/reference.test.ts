/** The pages of docs/reference name all that there is: no error code and no option of the command line is missing. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

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
