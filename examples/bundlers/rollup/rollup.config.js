import path from 'node:path';
import { nodeResolve } from '@rollup/plugin-node-resolve';

// The task module is an entry of its own, beside the program.
export default {
  input: ['main.js', 'work.js'].map((name) => path.join(import.meta.dirname, name)),
  output: { dir: path.join(import.meta.dirname, 'dist'), format: 'es' },
  plugins: [nodeResolve()],
};
