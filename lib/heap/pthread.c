/*
 * pthread: a thread that ends leaves the heap. A pthread key's destructor does it, so programs need no call.
 *
 * For wasm32 this is an object of its own, because a program without a C library has no such keys. Emscripten's build
 * and the native one include it.
 */
#ifdef __wasm__
/* As in musl, of which the C libraries for wasm32 are made. */
typedef unsigned pthread_key_t;
int pthread_key_create(pthread_key_t *key, void (*destructor)(void *value));
int pthread_setspecific(pthread_key_t key, const void *value);
#else
#include <pthread.h>
#endif

int plait_heap_key_create(void);
void plait_heap_key_set(void);
void plait_heap_thread_ends(void *value);

static pthread_key_t key;

int plait_heap_key_create(void) {
  return pthread_key_create(&key, plait_heap_thread_ends) == 0 ? 0 : -1;
}

void plait_heap_key_set(void) {
  pthread_setspecific(key, &key);
}
