/**
 * The program that runs Plait, as host-types.ts has it.
 *
 * Invariant: the files host*.ts are the only ones that know which host it is (tools/arrows.py looks). Node's modules
 * are reached through `process.getBuiltinModule`, so that no bundler for browsers has to know about them.
 */

import { createNodeHost } from './host-node.ts';
import type { Host } from './host-types.ts';
import { createWebHost } from './host-web.ts';

export const host: Host = createNodeHost() ?? createWebHost();
