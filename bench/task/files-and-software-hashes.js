/**
 * The same job on a processor without instructions for SHA-256, as many machines are: hashing then outweighs reading
 * and copying, and the limit is about the work and not about the memory. OpenSSL is told not to use them (x86 only).
 */

import { filesAndHashes } from './questions/files-and-hashes.js';

export default filesAndHashes({
  about: ', without the processor\u2019s SHA instructions',
  env: { OPENSSL_ia32cap: ':~0x20000000' },
});
