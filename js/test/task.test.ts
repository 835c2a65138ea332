/** The pool's contract, in Node. */
import { test } from 'node:test';
import { runCase } from './cases/pool-setup.ts';
import { taskCases } from './cases/task-cases.ts';

const fixtures = new URL('../../js/test/fixtures/', import.meta.url);
for (const { name, run, skip } of taskCases((file) => new URL(file, fixtures).href)) {
  test(name, { skip: skip ?? false, timeout: 60000 }, () => runCase(run));
}
