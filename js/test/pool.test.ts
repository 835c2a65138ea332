/** The cases of a pool that browsers run, too, in Node. */
import { test } from 'node:test';
import { poolCallCases } from './cases/pool-call-cases.ts';
import { poolCases } from './cases/pool-cases.ts';
import { poolEndingCases } from './cases/pool-ending-cases.ts';
import { poolEventCases } from './cases/pool-event-cases.ts';
import { poolModuleCases } from './cases/pool-module-cases.ts';
import { poolOptionCases } from './cases/pool-option-cases.ts';
import { poolOrderCases } from './cases/pool-order-cases.ts';
import { runCase } from './cases/pool-setup.ts';

const fixtures = new URL('../../js/test/fixtures/', import.meta.url);
const fixture = (file: string): string => new URL(file, fixtures).href;
const all = [
  poolOrderCases,
  poolCallCases,
  poolCases,
  poolOptionCases,
  poolModuleCases,
  poolEventCases,
  poolEndingCases,
];
for (const { name, run, skip } of all.flatMap((cases) => cases(fixture))) {
  test(name, { skip: skip ?? false, timeout: 60000 }, () => runCase(run));
}
