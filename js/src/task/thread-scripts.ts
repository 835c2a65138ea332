/**
 * What Plait's own threads run: both kinds the same, here. The bundle for Node has less for each in the place of this
 * module (tools/thread.js).
 */

import type { ThreadScript } from '../core/host.ts';
import { THREAD_SCRIPT } from './thread.generated.ts';

export const COORDINATOR_SCRIPT: ThreadScript = { main: THREAD_SCRIPT, part: '' };
export const WORKER_SCRIPT: ThreadScript = COORDINATOR_SCRIPT;
