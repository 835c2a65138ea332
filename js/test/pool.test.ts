/** What a pool's calls promise, in Node. */
import { test } from 'node:test';
import { poolCases } from './cases/pool-cases.ts';

const fixtures = new URL('../../js/test/fixtures/', import.meta.url);
for (const { name, run, skip } of poolCases((file) => new URL(file, fixtures).href)) {
  test(name, { skip: skip ?? false, timeout: 60000 }, run);
}
