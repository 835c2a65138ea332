/*
 * lock: robust locks, a mutual exclusion that survives the exit of its owner.
 *
 * The word is 0 when free, else the owner's thread id; bit 31 is set while threads may sleep on it. If the lock's owner
 * has exited, the next thread takes the lock with one compare-and-swap, and the result says so. The guarded data may be
 * in the middle of a change, so the caller repairs it first. If the owner is not known to have exited, a thread waits
 * for one second in all. Then it gets -PLAIT_ETIMEDOUT; it never hangs.
 *
 * Lock order: recovery lock, then one pool's lock or those of fs, then the heap's lock. Those of fs: `rename`, up to
 * four inodes by their addresses (or `tables` alone), then the journal of one exited thread. Each may be skipped. No
 * lock is held while the memory grows or while the host runs.
 *
 * Invariant: `held` of a thread's slot names every lock that the thread holds or is about to take, before the word
 * does.
 */
#ifndef PLAIT_SYNC_LOCK_H
#define PLAIT_SYNC_LOCK_H

#include "../platform/platform.h"

struct plait_lock {
  plait_word_t word;     /* 0 free, else owner's thread id; bit 31: there may be sleepers */
  plait_word_t contests; /* number of times that a thread had to wait (wraps); a hint */
};

enum plait_lock_result {
  PLAIT_LOCK_TAKEN = 0,
  PLAIT_LOCK_TAKEN_OVER = 1, /* taken from an exited owner: repair the data before use */
};

/*
 * Acquires the lock: PLAIT_LOCK_TAKEN, PLAIT_LOCK_TAKEN_OVER, or -PLAIT_ETIMEDOUT after one second. A thread that may
 * not block spins instead of sleeping, with a bound of the same order. pre: the caller has entered and does not hold
 * it.
 */
int plait_lock_acquire(struct plait_lock *lock);

/* As acquire, but -PLAIT_EAGAIN at once if another thread holds the lock, or if the caller holds it already. */
int plait_lock_try(struct plait_lock *lock);

/* Releases the lock. pre: the caller holds it. */
void plait_lock_release(struct plait_lock *lock);

/*
 * Releases the lock with an exited thread as its owner, so that the next thread takes it over, too. For a thread that
 * took the lock over and could not repair the data. pre: the caller holds it; `exited` is known to have exited.
 */
void plait_lock_leave(struct plait_lock *lock, uint32_t exited);

/*
 * The thread that holds the lock, alive or exited; 0 if none. Any thread; only a hint, because it may change at once.
 */
uint32_t plait_lock_owner(const struct plait_lock *lock);

/* Wakes all sleepers, so that they check the owner again. Any thread; recovery calls it for an exited owner. */
void plait_lock_wake(struct plait_lock *lock);

#endif
