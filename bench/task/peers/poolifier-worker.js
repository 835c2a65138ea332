/** The worker script that poolifier wants: the functions of work.js. */

import { ThreadWorker } from 'poolifier';
import { echo, echoBytes, exit, hash, meet, sleep, spin } from './work.js';

export default new ThreadWorker({ echo, echoBytes, exit, hash, meet, sleep, spin });
