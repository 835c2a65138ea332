/*
 * mutex: lock.h for the heap as a library, in programs where nobody learns of a thread that vanished. The word is 0
 * free, 1 taken, 2 taken and somebody may sleep. There is no owner to be dead, so nothing is ever taken over, and a wait
 * has no bound. Without threads there is nothing to do at all.
 *
 * Invariant: `held_count` of the caller's slot is not 0 while it holds a lock, as lock.h promises. The heap's is the only lock
 * of such a program, so whoever holds one holds that one, and plait_lock_try() refuses what lock.h says.
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

static void hold(uint32_t count) {
  plait_put(&plait_self()->held_count, count);
}

int plait_lock_try(struct plait_lock *lock) {
  uint32_t seen = 0;
  if (plait_get(&plait_self()->held_count) != 0) return -PLAIT_EAGAIN;
  if (!atomic_compare_exchange_strong_explicit(&lock->word, &seen, 1, memory_order_acquire, memory_order_relaxed))
    return -PLAIT_EAGAIN;
  hold(1);
  return PLAIT_LOCK_TAKEN;
}

int plait_lock_acquire(struct plait_lock *lock) {
  for (uint32_t i = 0; i < SPINS || !plait_self_may_block(); i++) {
    if (plait_get(&lock->word) == 0 && plait_lock_try(lock) == PLAIT_LOCK_TAKEN) return PLAIT_LOCK_TAKEN;
    plait_platform_pause();
  }
  while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire) != 0)
    plait_platform_wait(&lock->word, 2, SLICE_NS);
  hold(1);
  return PLAIT_LOCK_TAKEN;
}

void plait_lock_release(struct plait_lock *lock) {
  hold(0);
  if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) == 2) plait_platform_notify(&lock->word, 1);
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
