/** The blocks of 1 to 2 KB of heap/article, in a program of Emscripten's: how long? */

import { allocate } from './questions/allocate.js';

export default allocate('article');
