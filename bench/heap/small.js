/** How long does it take to free and allocate small blocks, as a program full of small objects does? */

import { workload } from './questions/workload.js';

export default workload('small');
