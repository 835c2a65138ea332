/** The blocks of 1 to 2 KB, first in first out, that showed how allocators slow each other down in Wasm: how long? */

import { workload } from './questions/workload.js';

export default workload('article');
