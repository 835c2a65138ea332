/**
 * The peers: how each gives a program synchronous files. An adapter answers with { fs, root }; all but `proxied` give
 * the thread that asks files of its own or of its process.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { proxied } from './proxied.js';

export const PEERS = {
  async plait() {
    const { fs } = await import('plait/fs');
    fs.mkdirSync('/bench', { recursive: true });
    return { fs, root: '/bench' };
  },
  async node() {
    const { default: fs } = await import('node:fs');
    const root = mkdtempSync('/dev/shm/plait-bench-');
    process.on('exit', () => rmSync(root, { recursive: true, force: true }));
    return { fs, root };
  },
  async memfs() {
    const { fs } = await import('memfs');
    fs.mkdirSync('/bench');
    return { fs, root: '/bench' };
  },
  async zenfs() {
    const { fs } = await import('@zenfs/core');
    fs.mkdirSync('/bench');
    return { fs, root: '/bench' };
  },
  proxied,
};
