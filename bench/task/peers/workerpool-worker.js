/** The worker script that workerpool wants: the functions of work.js. */

import workerpool from 'workerpool';
import { echo, echoBytes, exit, hash, meet, sleep, spin } from './work.js';

workerpool.worker({ echo, echoBytes, exit, hash, meet, sleep, spin });
