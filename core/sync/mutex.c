/*
 * mutex: lock.h for the heap as a library, in programs where nobody learns of a thread that vanished. The word is 0
 * free, 1 taken, 2 taken and somebody may sleep. There is no owner to be dead, so nothing is ever taken over, and a wait
 * has no bound. Without threads there is nothing to do at all.
 *
 * Invariant: such a program has two locks, the heap's and that of its start and its shared place (malloc.c), and whoever has one
 * calls nothing that looks for what it holds. So `held` stays empty; plait_lock_try() refuses a caller that has the lock because
 * the word says that it is taken.
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

/* Looks before it tries: an exchange that fails would take the line from whoever has the lock. */
inline int plait_lock_try(struct plait_lock *lock) {
  uint32_t seen = plait_get(&lock->word);
  /* acquire: pairs with the release in plait_lock_release. */
  return seen == 0 && near_compare_exchange(&lock->word, &seen, 1, memory_order_acquire, memory_order_relaxed)
             ? PLAIT_LOCK_TAKEN : -PLAIT_EAGAIN;
}

PLAIT_COLD void plait__lock_wait_for(struct plait_lock *lock) {
  for (uint32_t i = 0; i < SPINS || !plait_self_may_block(); i++) {
    plait_platform_pause();
    if (plait_lock_try(lock) == PLAIT_LOCK_TAKEN) return;
  }
  while (near_exchange(&lock->word, 2, memory_order_acquire) != 0)
    plait_platform_wait(&lock->word, 2, SLICE_NS);
}

inline int plait_lock_acquire(struct plait_lock *lock) {
  if (plait_lock_try(lock) != PLAIT_LOCK_TAKEN) plait__lock_wait_for(lock);
  return PLAIT_LOCK_TAKEN;
}

inline void plait_lock_release(struct plait_lock *lock) {
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
