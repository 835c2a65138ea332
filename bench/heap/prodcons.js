/** Blocks that one thread allocates and another one frees, as with messages: how long? */

import { workload } from './questions/workload.js';

export default workload('prodcons');
