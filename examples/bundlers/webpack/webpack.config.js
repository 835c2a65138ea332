import path from 'node:path';

const shared = {
  mode: 'production',
  context: import.meta.dirname,
  entry: './main.js',
  performance: { hints: false },
  // new Pool(new URL(…)) is to be bundled like new Worker(new URL(…)).
  module: { parser: { javascript: { worker: ['Pool from plait', '...'] } } },
};
const folder = (name) => path.join(import.meta.dirname, 'dist', name);

export default [
  { ...shared, name: 'page', target: 'web', output: { path: folder('page'), filename: 'main.js' } },
  {
    ...shared,
    name: 'node',
    target: 'node20',
    output: { path: folder('node'), filename: '[name].cjs', chunkFilename: '[id].cjs' },
  },
  {
    ...shared,
    name: 'module',
    target: 'node20',
    experiments: { outputModule: true },
    output: { path: folder('module'), filename: '[name].mjs', module: true },
  },
];
