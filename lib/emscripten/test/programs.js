/**
 * The programs, each with the flags that it is built with beside --use-port. None but usage.c names a symbol of Plait.
 *
 *     source, flags
 *     side      the source of a side module that it loads
 *     aborts    what the program prints when it ends itself
 *     refused   what emcc prints in place of building it
 */

const GROWS = '-sALLOW_MEMORY_GROWTH';
/** Main may start four threads without returning to its event loop. */
const POOL = '-pthread -sPTHREAD_POOL_SIZE=5';
const JS = '-sEXPORTED_FUNCTIONS=_main,_malloc';
const FOR_SIDE = '-sEXPORTED_FUNCTIONS=_main,_malloc,_free,_memcpy,_strlen';

export const PROGRAMS = [
  { source: 'family.c', flags: `-O2 ${GROWS}` },
  { source: 'family.c', flags: `-O0 -g ${GROWS}` },
  { source: 'family.c', flags: `-Oz ${GROWS}` },
  { source: 'family.c', flags: `-O2 -pthread ${GROWS}` },
  { source: 'family.c', flags: `-O2 -pthread -sPROXY_TO_PTHREAD -sEXIT_RUNTIME ${GROWS}` },
  { source: 'family.c', flags: `-O1 -sSAFE_HEAP ${GROWS}` },
  { source: 'family.c', flags: `-O1 -sSAFE_HEAP -pthread ${GROWS}` },
  { source: 'family.c', flags: `-O1 -sASSERTIONS=2 -sSTACK_OVERFLOW_CHECK=2 ${GROWS}` },
  { source: 'family.c', flags: `-O2 -sMAIN_MODULE=1 ${GROWS}` },
  { source: 'family.c', flags: `-O2 -sWASMFS ${GROWS}` },
  { source: 'family.c', flags: `-O2 -sMAXIMUM_MEMORY=4GB ${GROWS}` },
  { source: 'family.c', flags: `-O1 -fsanitize=address -DABORTING ${GROWS}` },
  { source: 'family.c', flags: `-O1 -fsanitize=leak -DABORTING ${GROWS}` },
  { source: 'family.c', flags: '-O2 -sINITIAL_MEMORY=64MB -DABORTING' },
  { source: 'views.c', flags: `-O2 ${GROWS} ${JS}` },
  { source: 'views.c', flags: `-O2 ${GROWS} ${JS} -pthread` },
  { source: 'threads.c', flags: `-O2 ${POOL}` },
  { source: 'threads.c', flags: `-O2 ${POOL} ${GROWS}` },
  { source: 'threads.c', flags: `-O1 ${POOL} ${GROWS} -sSAFE_HEAP` },
  { source: 'language.cc', flags: `-O2 ${GROWS}` },
  { source: 'language.cc', flags: `-O2 -fwasm-exceptions -DTHROWS ${GROWS}` },
  { source: 'cxx-threads.cc', flags: `-O2 ${POOL} ${GROWS}` },
  { source: 'sbrk.c', flags: `-O2 ${GROWS}` },
  { source: 'sbrk.c', flags: `-O2 -pthread ${GROWS}` },
  { source: 'sbrk.c', flags: `-O1 -sSAFE_HEAP ${GROWS}` },
  { source: 'wrapper.c', flags: '-O2' },
  { source: 'wrapper.c', flags: '-O2 -pthread' },
  { source: 'wrapped.c', flags: '-O2 -Wl,--wrap=malloc -Wl,--wrap=free' },
  { source: 'exhausted.c', flags: '-O2 -sABORTING_MALLOC=0' },
  { source: 'exhausted.c', flags: '-O2 -sABORTING_MALLOC=0 -pthread' },
  { source: 'exhausted.c', flags: `-O2 -sMAXIMUM_MEMORY=64MB ${GROWS}` },
  { source: 'exhausted.c', flags: '-O2', aborts: 'OOM' },
  { source: 'exhausted.c', flags: '-O2 -pthread', aborts: 'OOM' },
  { source: 'exhausted.c', flags: `-O2 -sABORTING_MALLOC=1 -sMAXIMUM_MEMORY=64MB ${GROWS}`, aborts: 'OOM' },
  { source: 'wasm-workers.c', flags: '-O2 -sWASM_WORKERS' },
  { source: 'main-module.c', flags: `-O2 -sMAIN_MODULE=1 ${GROWS}`, side: 'side-module.c' },
  { source: 'main-module.c', flags: `-O2 -sMAIN_MODULE=2 ${GROWS} ${FOR_SIDE}`, side: 'side-module.c' },
  { source: '../../heap/test/info.c', flags: `-O2 ${GROWS}` },
  { source: '../../heap/test/info.c', flags: `-O2 -pthread ${GROWS}` },
  { source: 'usage.c', flags: '-O2' },
  { source: 'usage.c', flags: '-O2 -pthread' },
  { source: 'family.c', flags: '-sMEMORY64', refused: 'cannot be linked with -sMEMORY64' },
  { source: 'family.c', flags: '-sMALLOC=mimalloc', refused: 'cannot be linked with -sMALLOC=mimalloc' },
];
