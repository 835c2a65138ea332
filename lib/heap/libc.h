/*
 * libc: what the heap takes from a C library, and how it does without one.
 *
 * - PUBLIC: a name of the library's; weak or strong, see names.c
 * - errno and its numbers
 * - HAS_KEYS: whether there are pthread keys, see pthread.c; KEYS_APART: whether that file is an object of its own
 */
#ifndef PLAIT_LIBC_H
#define PLAIT_LIBC_H

#if defined(__wasm__) && !defined(PLAIT_STRONG)
#define PUBLIC __attribute__((visibility("default"), weak))
#else
#define PUBLIC __attribute__((visibility("default")))
#endif

#if !defined(__wasm__)

#include <errno.h>
#include <pthread.h>
#define HAS_KEYS 1
#define KEYS_APART 0

#elif defined(__EMSCRIPTEN__)

#include <emscripten/heap.h>
#include <errno.h>
#ifdef __EMSCRIPTEN_PTHREADS__
#define HAS_KEYS 1
#define KEYS_APART 0
#else /* the end of a wasm worker cannot be noticed */
#define HAS_KEYS 0
#define KEYS_APART 1
#endif

#else /* wasi-libc, another C library or none */

/*
 * If the program has a C library's errno, the linker takes that one. Both belong to a thread if the memory is shared.
 * The numbers are those of WASI.
 */
extern _Thread_local int errno;
__attribute__((weak)) _Thread_local int errno;
#define EINVAL 28
#define ENOMEM 48

#ifdef __wasm_atomics__
#define HAS_KEYS (plait_heap_key_create != NULL)
#else
#define HAS_KEYS 0
#endif
#define KEYS_APART 1

#endif

#if KEYS_APART
#define IF_LINKED __attribute__((weak))
#else
#define IF_LINKED
#endif

/* Once, before a thread has a slot. 0, or negative. */
IF_LINKED int plait_heap_key_create(void);
/* By each thread that gets a slot. */
IF_LINKED void plait_heap_key_set(void);

void plait_heap_thread_ends(void *value);

#endif
