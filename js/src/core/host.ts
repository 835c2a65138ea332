/**
 * The host interface of the program that runs Plait; its types are in host-types.ts.
 *
 * Invariant: only the files host*.ts know which host it is (tools/arrows.py checks that). Node's modules are reached
 * through `process.getBuiltinModule`, so bundlers for browsers need not know them.
 */

import { createNodeHost } from './host-node.ts';
import type { Host } from './host-types.ts';
import { createWebHost } from './host-web.ts';

export const host: Host = createNodeHost() ?? createWebHost();
