/*
 * mutex: lock.h for the heap as a library, in programs where nobody learns of a thread that vanished. The word is 0
 * free, 1 taken, 2 taken and somebody may sleep. There is no owner to be dead, so nothing is ever taken over, and a wait
 * has no bound. Without threads there is nothing to do at all.
 *
 * Invariant: `held` is 1 while the thread holds a lock. The heap's is the only lock of such a program, so whoever holds one
 * holds that one, and plait_lock_try() refuses what lock.h says. The slots name no locks: nobody would look.
 */
#ifdef PLAIT_HEAP_LIBRARY

#include "space.h"

#if defined(__wasm__) && !defined(__wasm_atomics__)

int plait_lock_acquire(struct plait_lock *lock) {
  (void)lock;
  return PLAIT_LOCK_TAKEN;
}

int plait_lock_try(struct plait_lock *lock) {
  (void)lock;
  return PLAIT_LOCK_TAKEN;
}

void plait_lock_release(struct plait_lock *lock) {
  (void)lock;
}

#else

#define SPINS 200
#define SLICE_NS 10000000 /* how late a sleeper looks again if a wake-up was lost */

static _Thread_local uint32_t held; /* 1 while the calling thread holds the lock */

PLAIT_TINY int try_take(struct plait_lock *lock) {
  uint32_t seen = 0;
  if (held) return -PLAIT_EAGAIN;
  if (!near_compare_exchange(&lock->word, &seen, 1, memory_order_acquire, memory_order_relaxed))
    return -PLAIT_EAGAIN;
  held = 1;
  return PLAIT_LOCK_TAKEN;
}

int plait_lock_try(struct plait_lock *lock) {
  return try_take(lock);
}

int plait_lock_acquire(struct plait_lock *lock) {
  for (uint32_t i = 0; i < SPINS || !plait_self_may_block(); i++) {
    if (plait_get(&lock->word) == 0 && try_take(lock) == PLAIT_LOCK_TAKEN) return PLAIT_LOCK_TAKEN;
    plait_platform_pause();
  }
  while (near_exchange(&lock->word, 2, memory_order_acquire) != 0)
    plait_platform_wait(&lock->word, 2, SLICE_NS);
  held = 1;
  return PLAIT_LOCK_TAKEN;
}

void plait_lock_release(struct plait_lock *lock) {
  held = 0;
  if (near_exchange(&lock->word, 0, memory_order_release) == 2) plait_platform_notify(&lock->word, 1);
}

#endif

uint32_t plait_lock_owner(const struct plait_lock *lock) {
  (void)lock;
  return 0;
}

void plait_lock_wake(struct plait_lock *lock) {
  (void)lock;
}

#endif
