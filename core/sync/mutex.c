/*
 * mutex: lock.h for the heap as a library, in programs where nobody learns of a thread that vanished. The word is 0
 * free, 1 taken. There is no owner to be dead, so nothing is ever taken over, and a wait has no bound; but each of its
 * sleeps has, and no wake-up is needed, nor can one be lost. Without threads there is nothing to do at all.
 *
 * Invariant: such a program has two locks, the heap's and that of its start and its shared place (malloc.c), and
 * whoever has one calls nothing that looks for what it holds. So nothing notes that; plait_lock_try() refuses a caller
 * that has the lock because the word says that it is taken.
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
#define MAY_SLEEP 1 /* any may; a thread that only frees has never entered, and is not known to */
#endif
#define SPINS 256
#define SPINS_BETWEEN 8u /* two sleeps: there may be hundreds who wait */
#define FIRST_SLEEP_NS 50000
#define LAST_SLEEP_NS 1600000 /* how late a sleeper may find a lock that has become free */

/* Looks before it tries: an exchange that fails would take the line from whoever has the lock. */
inline int plait_lock_try(struct plait_lock *lock) {
  uint32_t seen = plait_get(&lock->word);
  /* acquire: pairs with the release in plait_lock_release. */
  return seen == 0 && near_compare_exchange(&lock->word, &seen, 1, memory_order_acquire, memory_order_relaxed)
      ? PLAIT_LOCK_TAKEN
      : -PLAIT_EAGAIN;
}

/*
 * Called through a variable that the compiler knows nothing of. A later optimiser (wasm-opt) inlines what is called
 * from one place, and this must not be: see platform.h.
 */
static enum plait_wait_result (*const volatile sleep_on)(plait_word_t *, uint32_t, int64_t) = plait_platform_wait;

/*
 * Who finds it taken looks for a microsecond, long enough for what is done under a lock, and then sleeps for a time,
 * and each time for twice as long. Nobody wakes it: the holder would pay for that in the host each time, and with more
 * threads than processors a woken thread mostly finds the lock taken again. While one sleeps the others have the lines
 * that the lock guards for themselves, for many turns. Between two sleeps it looks a few times only.
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
