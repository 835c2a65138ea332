/** Blocks of 16 to 128 B in a program of Emscripten's: how long? */

import { allocate } from './questions/allocate.js';

export default allocate('small');
