/** A block that grows again and again, as a text does that is built up: can it grow where it lies? */

import { workload } from './questions/workload.js';

export default workload('realloc');
