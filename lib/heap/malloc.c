/*
 * malloc: the heap for other programs, as one translation unit: libplait_heap.a (wasm32, with and without threads) and
 * libplait_heap.so (Linux, for LD_PRELOAD). See plait_heap.h for the API, and names.c for the names of the family.
 *
 * Programs may replace any of the family. So nothing here calls the functions by their public names.
 *
 * A thread enters at its first call, which claims one of PLAIT_SLOT_LIMIT slots. One slot is shared by threads that
 * find no free slot, and by threads that have released theirs because they end. They use it in turn, under a lock of
 * its own.
 *
 * Invariants: `state` is READY before any thread has a slot. A process has one space, which is never unmapped. Lock
 * order: `shared`, then the heap's lock.
 */
#ifdef __wasm64__
#error "Plait's heap needs wasm32: its references have 32 bits. Build without -sMEMORY64."
#endif
#define PLAIT_HEAP_LIBRARY 1
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "private.h"

PRIVATE_FUNCTIONS_BEGIN
#include "../../core/platform/posix.c"
#include "../../core/platform/wasm.c"
PRIVATE_END
PRIVATE_BEGIN
#include "../../core/sync/space.c"
#include "../../core/sync/mutex.c"
#include "../../core/heap/slices.c"
#include "../../core/heap/room.c"
#include "../../core/heap/large.c"
#include "../../core/heap/carve.c"
#include "../../core/heap/pages.c"
#include "../../core/heap/regions.c"
#include "../../core/heap/remote_frees.c"
#include "../../core/heap/thread_heaps.c"
#include "../../core/heap/heap.c"
#include "../../core/heap/stats.c"
#include "../../core/heap/check.c"
#include "../../core/heap/fast.h"
PRIVATE_END
#include "../plait_heap.h"
#include "libc.h"

#define LARGEST (UINT32_MAX - PLAIT_SLICE_SIZE)
#define MOST_PAGES 65536u
#define LEAST_PAGES 256u
#define SHARED_THREAD 256u /* thread id of slot 0, in its first generation */
#define FIRST_SLOT 1u

#ifdef __wasm__
#define THREADS (PLAIT_SLOT_LIMIT > 1)
#define FIRST (taken > plait_platform_first() ? (plait_ref_t)taken : plait_platform_first())
#define PAGE PLAIT_PAGE_SIZE
#else
#define THREADS 1
#define FIRST plait_ref(plait_heap() + 1)
#define PAGE ((size_t)getpagesize())
#endif

enum { NONE, READY, FAILED };
static plait_word_t state; /* one of the above */
/* held by the thread that starts the heap, and by a thread without a slot while it uses the shared one */
static struct plait_lock shared;

/* How often a thread without a slot has called: once in so many calls it tries to claim one. */
static _Thread_local uint32_t calls;
#define ASK_EACH 256u

/* ---- the end of a thread ---- */

static _Thread_local int ends; /* the thread has released its slot, and gets no other */

static PLAIT_COLD void leave_slot(void);

/*
 * Other keys' destructors, and the C library itself, may still free and allocate. They use the shared slot, because
 * another slot would never be released.
 */
PUBLIC void plait_heap_thread_ends(void *value) {
  (void)value;
  leave_slot();
  ends = 1;
}

/* In wasm32 the first thread that allocates is the program's, and may not be known to the C library yet. */
PLAIT_TINY void started_thread(uint32_t index) {
  if (HAS_KEYS && (PLAIT_EXITS_NOTICED || index > FIRST_SLOT)) plait_heap_key_set();
}

/* ---- the process ---- */

static void *own_malloc(size_t size);

#ifdef __wasm__

void *malloc(size_t size);

/*
 * What lies below belongs to others, if this is not 0: to start-up code (lib/emscripten/names.c), or to the program's
 * own malloc.
 */
static uintptr_t taken;

/*
 * The linker has reserved memory for the statics already. What lies behind them, up to the end of the memory that the
 * module starts with, is for its malloc. If that is another one, this heap starts where the memory ends now. Emscripten
 * has no other heap there (-sMALLOC=none): what lies over this one are wrappers of the program's own.
 */
static int start_memory(void) {
#ifndef __EMSCRIPTEN__
  if (malloc != own_malloc) taken = (uintptr_t)plait_platform_pages() * PAGE;
#endif
  return plait_heap_init(FIRST, MOST_PAGES);
}

static void started_process(void) {
}
#define has_space() 1

#else

static void before_fork(void);
static void after_fork(void);
static void after_fork_in_child(void);

/* If the whole size is refused (ulimit -v, strict overcommit), half of it may be granted. */
static int start_memory(void) {
  uint32_t pages = MOST_PAGES;
  int rc;
  while ((rc = plait_posix_map_private(1, pages)) != 0 && pages > LEAST_PAGES) pages /= 2;
  if (rc == 0) rc = plait_space_init();
  return rc != 0 ? rc : plait_heap_init(FIRST, pages);
}

/* The C library may allocate here. */
static void started_process(void) {
  pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

/* Whether there is a space. */
PLAIT_TINY int has_space(void) {
  return plait_platform_base != NULL;
}

#endif

static PLAIT_COLD void lock_shared(void) {
  plait_lock_acquire(&shared);
}

/*
 * Here the lock is held for microseconds, once. A thread that has no slot yet spins for it, because it may be the main
 * thread of a browser.
 */
static PLAIT_COLD int start(void) {
  if (plait_load_near(&state) == NONE) {
    int rc = -PLAIT_EAGAIN; /* another thread was faster */
    lock_shared();
    if (plait_load_near(&state) == NONE) {
      rc = HAS_KEYS ? plait_heap_key_create() : 0;
      if (rc == 0) rc = start_memory();
      if (rc == 0 && THREADS) plait_put(&plait_space()->slots[0].generation_state, SHARED_THREAD | PLAIT_SLOT_LIVE);
      near_store(&state, rc == 0 ? READY : FAILED, memory_order_seq_cst);
    }
    plait_lock_release(&shared);
    if (rc == 0) started_process();
  }
  return plait_load_near(&state) == READY;
}

/* ---- entering ---- */

/*
 * Whether a thread may sleep while it waits for another. Natively all threads may. In wasm32 the first thread that
 * allocates spins instead: it may be the main thread of a browser, where waiting throws.
 */
static int may_block(plait_thread_t thread) {
#ifdef __wasm__
  return plait_thread_index(thread) > FIRST_SLOT;
#else
  (void)thread;
  return 1;
#endif
}

/*
 * Before a call into the heap. 1: the thread is in a slot of its own; 2: in the shared one, which it must leave
 * afterwards; 0: there is no heap. A thread gets its thread heap when it allocates.
 */
static PLAIT_COLD int ready(void) {
  if (!start()) return 0;
  if (plait_self_id() != 0) return 1;
  plait_thread_t self = !ends && calls++ % ASK_EACH == 0 ? plait_slot_claim(0) : 0;
  if (self != 0) {
    plait_slot_enter(self, may_block(self));
    started_thread(plait_thread_index(self));
    return 1;
  }
  if (!THREADS) return 0;
  /* it may sleep: a browser's main thread has claimed a slot before so many others */
  plait_slot_enter(SHARED_THREAD, 1);
  lock_shared();
  return 2;
}

static PLAIT_COLD void done(int how) {
  if (!THREADS || how != 2) return;
  plait_slot_leave();
  plait_lock_release(&shared);
}

static PLAIT_COLD void leave_slot(void) {
  plait_thread_t self = plait_self_id();
  if (self == 0) return;
  plait_heap_leave();
  plait_slot_leave();
  plait_slot_release(plait_slot_of(self));
}

#ifndef __wasm__

/* ---- fork ---- */

/* While the process is copied, no thread changes the slice table or uses the shared slot. */
static void before_fork(void) {
  lock_shared();
  if (plait_self_id() == 0) plait_slot_enter(SHARED_THREAD, 1);
  plait__heap_lock();
}

static void after_fork(void) {
  plait__heap_unlock();
  if (plait_self_id() == SHARED_THREAD) plait_slot_leave();
  plait_lock_release(&shared);
}

/* The other threads are not in the copy. To the copy they have exited where they were. */
static void after_fork_in_child(void) {
  plait__heap_unlock();
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    struct plait_slot *slot = &plait_space()->slots[i];
    plait_thread_t thread = (atomic_load(&slot->generation_state) & ~255u) | i;
    if (thread == plait_self_id() || thread == SHARED_THREAD || !plait_thread_note_exit(thread)) continue;
    plait_heap_recover(thread);
    plait_slot_release(slot);
  }
  if (plait_self_id() == SHARED_THREAD) plait_slot_leave();
  near_store(&shared.word, 0, memory_order_seq_cst); /* the threads that waited for it are not in the copy */
}

#endif

/* ---- the family ---- */

static PLAIT_COLD void *no_memory(void) {
#ifdef __EMSCRIPTEN__
  emscripten_resize_heap(UINT32_MAX); /* fails, and ends the program if -sABORTING_MALLOC says so */
#endif
  errno = ENOMEM;
  return NULL;
}

PLAIT_TINY void *pointer(plait_ref_t block) {
  return block != 0 ? plait_at(block) : no_memory();
}

/* The reference of a program's pointer; 0 for a pointer that cannot be a block. */
PLAIT_TINY plait_ref_t reference(const void *block) {
#ifndef __wasm__
  if ((uintptr_t)block - (uintptr_t)plait_platform_base > UINT32_MAX) return 0;
#endif
  return plait_ref(block);
}

/*
 * Whether the size exceeds what the heap's numbers can express. Where a size has 32 bits, the heap itself refuses sizes
 * that are too large.
 */
PLAIT_TINY int beyond(size_t size) {
  return sizeof size != sizeof(plait_ref_t) && size > LARGEST;
}

static PLAIT_COLD void *malloc_cold(size_t size) {
  int how = ready();
  void *block = pointer(how != 0 && !beyond(size) ? plait__alloc_cold((uint32_t)size) : 0);
  done(how);
  return block;
}

static PLAIT_ONCE void *malloc_more(size_t size) {
  plait_ref_t block = beyond(size) ? 0 : plait__alloc_more((uint32_t)size);
  return block != 0 ? plait_at(block) : malloc_cold(size);
}

static PLAIT_ONCE void *own_malloc(size_t size) {
  plait_ref_t block = beyond(size) ? 0 : plait__alloc_small((uint32_t)size);
  return block != 0 ? plait_at(block) : malloc_more(size);
}

/* Needs no slot: a thread that only frees has none. */
static PLAIT_ONCE void own_free(void *block) {
  if (has_space()) plait__free(reference(block));
}

static PLAIT_COLD void *own_calloc(size_t count, size_t size) {
  uint64_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes) || bytes > LARGEST) bytes = UINT32_MAX; /* too large, too */
  void *block = own_malloc((size_t)bytes);
  if (block != NULL && !plait__is_zero((uint32_t)bytes)) plait_zero_near(block, (size_t)bytes);
  return block;
}

static void *own_realloc(void *block, size_t size);

static PLAIT_COLD void *realloc_cold(void *block, size_t size) {
  int how = ready();
  int good = how != 0 && !beyond(size) && plait__bind() != NULL;
  plait_ref_t got = 0;
  if (good) got = block == NULL ? plait__alloc_cold((uint32_t)size) : reference(own_realloc(block, size));
  done(how);
  return pointer(got);
}

static PLAIT_ONCE void *realloc_slow(struct plait_thread_heap *mine, void *block, size_t size) {
  if (mine == NULL || beyond(size)) return realloc_cold(block, size);
  return block == NULL ? malloc_cold(size) : pointer(plait__realloc(mine, reference(block), (uint32_t)size));
}

static PLAIT_ONCE void *own_realloc(void *block, size_t size) {
  struct plait_thread_heap *mine = plait__mine();
  if (mine != NULL && !beyond(size) && plait__medium_grow(mine, reference(block), (uint32_t)size)) return block;
  return realloc_slow(mine, block, size);
}

static PLAIT_COLD void *own_reallocarray(void *block, size_t count, size_t size) {
  return own_realloc(block, size != 0 && count > LARGEST / size ? UINT32_MAX : count * size);
}

static PLAIT_COLD void *own_aligned_alloc(size_t alignment, size_t size) {
  int how = ready(), good = how != 0 && !beyond(size | alignment);
  void *block = pointer(good ? plait_heap_alloc_aligned((uint32_t)size, (uint32_t)alignment) : 0);
  done(how);
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) errno = EINVAL;
  return block;
}

static PLAIT_COLD int own_posix_memalign(void **block, size_t alignment, size_t size) {
  if (alignment < sizeof(void *)) return EINVAL;
  void *got = own_aligned_alloc(alignment, size);
  if (got == NULL) return errno;
  *block = got;
  return 0;
}

static PLAIT_COLD void *own_valloc(size_t size) {
  return own_aligned_alloc(PAGE, size);
}

static PLAIT_COLD void *own_pvalloc(size_t size) {
  return size > LARGEST ? pointer(0) : own_aligned_alloc(PAGE, (size + PAGE - 1) & ~(PAGE - 1));
}

static PLAIT_COLD size_t own_malloc_usable_size(void *block) {
  return has_space() ? plait_heap_size(reference(block)) : 0;
}

/* ---- what only Plait has ---- */

PUBLIC void plait_heap_thread_done(void) {
  leave_slot();
}

PUBLIC void plait_heap_usage(struct plait_heap_usage *out) {
  struct plait_heap_stats stats = {0};
  if (start()) plait_heap_stats(&stats);
  *out = (struct plait_heap_usage){
      stats.reserved_bytes, stats.used_bytes, stats.peak_bytes, stats.live_blocks, stats.failed};
}

PUBLIC int plait_heap_is_whole(void) {
  int how = ready(), whole = how != 0 && plait_heap_check(1) == 0;
  done(how);
  return whole;
}

#include "totals.c"
#ifndef __wasm__
#include "info.c"
#endif
#include "names.c"
#if !KEYS_APART
#include "pthread.c"
#endif
