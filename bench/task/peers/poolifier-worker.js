/** The worker script that poolifier wants: the functions of work.js. */

import { ThreadWorker } from 'poolifier';
import { echo, echoBytes, hash, meet, sleep, spin } from './work.js';

export default new ThreadWorker({ echo, echoBytes, hash, meet, sleep, spin });
