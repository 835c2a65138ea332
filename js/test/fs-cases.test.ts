/** The cases of plait/fs that browsers run, too, in Node. */
import { test } from 'node:test';
import { fs } from 'plait/fs';
import { fsCases } from './cases/fs-cases.ts';
import { runCase } from './cases/pool-setup.ts';

const module = (file: string): string => new URL(`../../js/test/fixtures/${file}`, import.meta.url).href;
for (const { name, run } of fsCases(fs, module)) test(name, { timeout: 60000 }, () => runCase(run));
