import { defineConfig } from 'vite';

// Shared memory needs these two headers, from the server that serves the page, too.
const headers = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

export default defineConfig(({ isSsrBuild }) => ({
  root: import.meta.dirname,
  server: { headers },
  preview: { headers },
  // For Node (`vite build --ssr`) the task module is an entry of its own, beside the program.
  ...(isSsrBuild && {
    ssr: { noExternal: true },
    build: { outDir: 'dist/node', rolldownOptions: { input: ['server.ts', 'work.ts'] } },
  }),
  ...(!isSsrBuild && { build: { outDir: 'dist/page' } }),
}));
