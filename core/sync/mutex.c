/*
 * mutex: lock.h for the heap as a library, in programs where no thread learns that another has exited. The word is 0
 * free, 1 taken. No owner is recorded, so nothing is taken over, and a wait has no bound. But each single sleep has
 * one, so no wake-up is needed and none can be lost. Without threads the functions do nothing.
 *
 * Invariant: such a program has the heap's lock, and that of its start and its shared place (malloc.c); with files, that
 * of their start, that of the descriptors, and one for each inode. A thread that holds one calls nothing that asks which locks it holds, so that is not recorded. plait_lock_try() refuses a
 * caller that holds the lock, because the word says that it is taken.
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

#ifdef __wasm__
#define MAY_SLEEP plait_self_may_block()
#else
#define MAY_SLEEP 1 /* all threads may; one that only frees has never entered */
#endif
#define SPINS 256
#define SPINS_BETWEEN 8u /* two sleeps: hundreds of threads may wait */
#define FIRST_SLEEP_NS 50000
#define LAST_SLEEP_NS 1600000 /* the longest delay until a sleeper finds a free lock */

/* Reads before it tries: an exchange that fails would take the cache line from the lock's owner. */
inline int plait_lock_try(struct plait_lock *lock) {
  uint32_t seen = plait_get(&lock->word);
  /* acquire: pairs with the release in plait_lock_release. */
  return seen == 0 && near_compare_exchange(&lock->word, &seen, 1, memory_order_acquire, memory_order_relaxed)
      ? PLAIT_LOCK_TAKEN
      : -PLAIT_EAGAIN;
}

/*
 * Called through a volatile variable, because plait_platform_wait() must not be inlined (see platform.h), and a later
 * optimizer (wasm-opt) inlines a function with one caller.
 */
static enum plait_wait_result (*const volatile sleep_on)(plait_word_t *, uint32_t, int64_t) = plait_platform_wait;

/*
 * A waiting thread polls for about a microsecond, as long as the lock is usually held. Then it sleeps, each time twice
 * as long, and polls only a few times between two sleeps. No thread wakes it: a wake-up would cost the owner a call of
 * the host, and with more threads than processors the woken thread mostly finds the lock taken again. While it sleeps,
 * the other threads keep the guarded cache lines for many turns.
 */
PLAIT_COLD void plait__lock_wait_for(struct plait_lock *lock) {
  for (uint32_t polls = SPINS, sleep = FIRST_SLEEP_NS; plait_lock_try(lock) != PLAIT_LOCK_TAKEN;) {
    plait_platform_pause();
    if (--polls != 0 || !MAY_SLEEP) continue;
    sleep_on(&lock->word, 1, sleep);
    polls = SPINS_BETWEEN;
    if (sleep < LAST_SLEEP_NS) sleep *= 2;
  }
}

inline int plait_lock_acquire(struct plait_lock *lock) {
  if (plait_lock_try(lock) != PLAIT_LOCK_TAKEN) plait__lock_wait_for(lock);
  return PLAIT_LOCK_TAKEN;
}

inline void plait_lock_release(struct plait_lock *lock) {
  near_store(&lock->word, 0, memory_order_release);
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
