/** The heap's contract, in Node. */
import { test } from 'node:test';
import { heap } from 'plait/heap';
import { heapCases } from './cases/heap-cases.ts';

const seed = Number(process.env.PLAIT_SEED ?? Date.now() % 2 ** 31);
for (const { name, run } of heapCases(heap, seed)) test(name, run);
