import { build } from 'esbuild';

const shared = { absWorkingDir: import.meta.dirname, bundle: true, minify: true };

// The task module is an entry of its own, beside the program.
await build({ ...shared, entryPoints: ['main.ts', 'work.ts'], outdir: 'dist/node', platform: 'node', format: 'esm' });
await build({
  ...shared,
  entryPoints: ['main-common.ts', 'work.ts'],
  outdir: 'dist/common',
  outExtension: { '.js': '.cjs' },
  platform: 'node',
  format: 'cjs',
});
// In a page: Plait's own script beside it, too.
await build({
  ...shared,
  entryPoints: { page: 'page.ts', work: 'work.ts', 'plait-thread': 'plait/thread' },
  outdir: 'dist/page',
  format: 'esm',
});
