/** What the quick look asks, in the form that a measuring process takes. */

import { measure } from '../questions/workload.js';

export default { measure };
