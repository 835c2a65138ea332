/*
 * malloc: the heap for programs of others, as one translation unit: libplait_heap.a (wasm32, with and without threads)
 * and libplait_heap.so (Linux, for LD_PRELOAD). See plait_heap.h for the face.
 *
 * A thread enters at its first call. There are PLAIT_SLOT_LIMIT places; one of them is kept for those threads that find
 * no place: they take turns in it, under a lock of their own.
 *
 * Invariant: `state` is READY before any thread has a place; a process has one space, which is never unmapped.
 */
#define PLAIT_HEAP_LIBRARY 1
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "platform/posix.c"
#include "platform/wasm.c"
#include "sync/lock.c"
#include "sync/space.c"
#include "heap/slices.c"
#include "heap/pages.c"
#include "heap/regions.c"
#include "heap/records.c"
#include "heap/heap.c"
#include "heap/check.c"
#include "plait_heap.h"

#define LARGEST (UINT32_MAX - PLAIT_SLICE_SIZE)

#ifdef __wasm__
#define PUBLIC __attribute__((visibility("default")))
#define THREADS (PLAIT_SLOT_LIMIT > 1)
#else
#include <pthread.h>
#define PUBLIC __attribute__((visibility("default")))
#define THREADS 1
#endif

enum { NONE, STARTING, READY, FAILED };
static plait_word_t state;        /* one of the above */
static plait_word_t shared_busy;  /* 1 while a thread without a place is in `shared_place`, 2 if others may wait */
static plait_thread_t shared_place;

static void start_process(void);
static void started_thread(void);

/* ---- entering ---- */

static int start(void) {
  uint32_t seen = NONE;
  if (atomic_compare_exchange_strong(&state, &seen, STARTING)) {
    int rc = 0;
#ifndef __wasm__
    rc = plait_posix_map_private(1, 65536);
#endif
    if (rc == 0) rc = plait_space_init();
    if (rc == 0) rc = plait_heap_init(plait_ref(plait_heap()) + (plait_ref_t)sizeof(struct plait_heap), 65536);
    if (rc == 0 && THREADS) shared_place = plait_slot_claim(0);
    atomic_store(&state, rc == 0 ? READY : FAILED);
    plait_platform_notify(&state, UINT32_MAX);
    if (rc == 0) start_process();
  }
  while (atomic_load(&state) == STARTING) plait_platform_wait(&state, STARTING, 1000000);
  return atomic_load(&state) == READY;
}

/* Gives the calling thread a place: 1, or 0 if there is none or no memory. */
static int enter(void) {
  if (!start()) return 0;
  plait_thread_t self = plait_slot_claim(0);
  if (self == 0) return 0;
  plait_slot_enter(self, 1);
  if (plait__bind() == NULL) {
    plait_slot_leave();
    plait_slot_release(plait_slot_of(self));
    return 0;
  }
  started_thread();
  return 1;
}

/* Before a call into the heap: 1 in a place of its own, 2 in the shared one (leave it afterwards), 0 if there is no heap. */
static inline int ready(void) {
  if (plait_self_room != NULL) return 1;
  if (enter()) return 1;
  if (!THREADS || atomic_load(&state) != READY || shared_place == 0) return 0;
  uint32_t seen = 0;
  while (!atomic_compare_exchange_strong(&shared_busy, &seen, seen == 0 ? 1 : 2)) {
    if (seen != 0) plait_platform_wait(&shared_busy, seen, 1000000);
    seen = 0;
  }
  plait_slot_enter(shared_place, 1);
  return 2;
}

static inline void done(int how) {
  if (how != 2) return;
  plait_slot_leave();
  atomic_store(&shared_busy, 0);
  plait_platform_notify(&shared_busy, 1);
}

void plait_heap_thread_done(void) {
  plait_thread_t self = plait_self_id();
  if (self == 0) return;
  plait_heap_leave();
  plait_slot_leave();
  plait_slot_release(plait_slot_of(self));
}

#ifdef __wasm__

static void start_process(void) {}
static void started_thread(void) {}

#else

static pthread_key_t at_exit_of_thread;

static void thread_exits(void *value) {
  (void)value;
  plait_heap_thread_done();
}

static void started_thread(void) {
  pthread_setspecific(at_exit_of_thread, &at_exit_of_thread);
}

/* Nobody is in the middle of the slice table while the process is copied. */
static void before_fork(void) {
  if (ready() == 1) plait__runs_lock();
}

static void after_fork(void) {
  if (plait_self_room != NULL) plait__runs_unlock();
}

/* The other threads are not in the copy: to it, they have died where they were. */
static void after_fork_in_child(void) {
  after_fork();
  atomic_store(&shared_busy, 0);
  if (plait_self_room == NULL) return;
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    struct plait_slot *slot = &plait_space()->slots[i];
    plait_thread_t thread = (atomic_load(&slot->life) & ~255u) | i;
    if (thread == plait_self_id() || thread == shared_place || !plait_thread_note_death(thread)) continue;
    plait_heap_recover(thread);
    plait_slot_release(slot);
  }
}

static void start_process(void) {
  pthread_key_create(&at_exit_of_thread, thread_exits);
  pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

#endif

/* ---- the face ---- */

static void *pointer(plait_ref_t block) {
  if (block != 0) return plait_at(block);
#ifndef __wasm__
  errno = ENOMEM;
#endif
  return NULL;
}

/* The reference of what the program calls a block; 0 for what cannot be one. */
static plait_ref_t reference(const void *block) {
#ifndef __wasm__
  if ((uintptr_t)block - (uintptr_t)plait_platform_base > UINT32_MAX) return 0;
#endif
  return plait_ref(block);
}

PUBLIC void *malloc(size_t size) {
  int how = ready();
  void *block = pointer(how != 0 && size <= LARGEST ? plait_heap_alloc((uint32_t)size) : 0);
  done(how);
  return block;
}

PUBLIC void free(void *block) {
  if (block == NULL) return;
  int how = ready();
  if (how != 0) plait_heap_free(reference(block));
  done(how);
}

PUBLIC void *calloc(size_t count, size_t size) {
  uint64_t bytes = (uint64_t)count * size;
  if (size != 0 && (count > LARGEST || size > LARGEST || bytes > LARGEST)) return pointer(0);
  int how = ready();
  void *block = pointer(how != 0 ? plait_heap_alloc_zeroed((uint32_t)bytes) : 0);
  done(how);
  return block;
}

PUBLIC void *realloc(void *block, size_t size) {
  int how = ready();
  plait_ref_t ref = block == NULL ? 0 : reference(block);
  int good = how != 0 && size <= LARGEST && (block == NULL || ref != 0);
  block = pointer(good ? plait_heap_realloc(ref, (uint32_t)size) : 0);
  done(how);
  return block;
}

PUBLIC void *aligned_alloc(size_t alignment, size_t size) {
  int how = ready(), good = how != 0 && size <= LARGEST && alignment <= 1u << 31;
  void *block = pointer(good ? plait_heap_alloc_aligned((uint32_t)size, (uint32_t)alignment) : 0);
  done(how);
  return block;
}

PUBLIC int posix_memalign(void **block, size_t alignment, size_t size) {
  if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) return 22; /* EINVAL, everywhere */
  void *got = aligned_alloc(alignment, size);
  if (got == NULL) return 12; /* ENOMEM */
  *block = got;
  return 0;
}

PUBLIC size_t malloc_usable_size(void *block) {
  if (block == NULL || atomic_load(&state) != READY) return 0;
  return plait_heap_size(reference(block));
}

PUBLIC void plait_heap_usage(struct plait_heap_usage *out) {
  struct plait_heap_stats stats = {0};
  if (start()) plait_heap_stats(&stats);
  *out = (struct plait_heap_usage){stats.reserved_bytes, stats.used_bytes, stats.peak_bytes, stats.live_blocks,
                                   stats.failed};
}

PUBLIC int plait_heap_is_whole(void) {
  int how = ready(), whole = how != 0 && plait_heap_check(1) == 0;
  done(how);
  return whole;
}

#ifndef __wasm__

PUBLIC void *memalign(size_t alignment, size_t size) {
  return aligned_alloc(alignment, size);
}

PUBLIC void *valloc(size_t size) {
  return aligned_alloc(4096, size);
}

PUBLIC void *pvalloc(size_t size) {
  return aligned_alloc(4096, (size + 4095) & ~(size_t)4095);
}

PUBLIC void *reallocarray(void *block, size_t count, size_t size) {
  if (size != 0 && count > LARGEST / size) return pointer(0);
  return realloc(block, count * size);
}

#endif
