/** Blocks so large that few exist: how long does it take to find room for one? */

import { workload } from './questions/workload.js';

export default workload('large');
