import path from 'node:path';
import { nodeResolve } from '@rollup/plugin-node-resolve';

const here = (name) => path.join(import.meta.dirname, name);
const shared = { plugins: [nodeResolve()] };

export default [
  // The task module is an entry of its own, beside the program.
  { ...shared, input: [here('main.js'), here('work.js')], output: { dir: here('dist/node'), format: 'es' } },
  // In a page: Plait's own script beside it, too.
  {
    ...shared,
    input: { page: here('page.js'), work: here('work.js'), 'plait-thread': 'plait/thread' },
    output: { dir: here('dist/page'), format: 'es' },
  },
];
