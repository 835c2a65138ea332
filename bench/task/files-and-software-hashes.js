/**
 * The same job on a processor without instructions for SHA-256, as in many machines. Hashing then takes longer than
 * reading and copying, so the reference depends on the processor and not on the memory. A setting of OpenSSL disables
 * the instructions (x86 only).
 */

import { filesAndHashes } from './questions/files-and-hashes.js';

export default filesAndHashes({
  about: ', without the processor\u2019s SHA instructions',
  env: { OPENSSL_ia32cap: ':~0x20000000' },
});
