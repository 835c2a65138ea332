/** Blocks of all sizes up to 32 KiB, most of them small: how long, and how much memory is lost between them? */

import { workload } from './questions/workload.js';

export default workload('mixed');
