/** Blocks that mostly other threads free than those that allocated them, in no order: how long? */

import { workload } from './questions/workload.js';

export default workload('larson');
