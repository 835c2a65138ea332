/** Main reads files in a blocking loop, workers hash them with the processor's SHA instructions. */

import { filesAndHashes } from './questions/files-and-hashes.js';

export default filesAndHashes({ about: '', env: {} });
