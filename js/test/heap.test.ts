/** The heap's contract, in Node. */
import { test } from 'node:test';
import { heap } from 'plait/heap';
import { heapCases } from './cases/heap-cases.ts';
import { runCase } from './cases/pool-setup.ts';
import { seed } from './seed.ts';

const module = (file: string): string => new URL(`../../js/test/fixtures/${file}`, import.meta.url).href;
for (const { name, run } of heapCases(heap, seed, module)) test(name, { timeout: 60000 }, () => runCase(run));
