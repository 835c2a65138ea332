/** Main reads files in a blocking loop, workers hash them, as quick as the processor can: how near to the limit? */

import { filesAndHashes } from './questions/files-and-hashes.js';

export default filesAndHashes({ about: '', env: {} });
