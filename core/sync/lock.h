/*
 * lock: mutual exclusion that outlives its owner.
 *
 * The word is 0 when free, else the owner's thread id, with bit 31 set when somebody may sleep on it. A thread that
 * meets an owner known to be dead takes the lock over in one compare-and-swap and is told so: what the lock guards may
 * be in the middle of a change, and the caller repairs it before anything else. An owner that is not known to be dead
 * is waited for, one second in all; then the caller gets -PLAIT_ETIMEDOUT, never a hang.
 *
 * Lock order: recovery lock, then one pool's lock or those of fs, then the heap's lock. Those of fs: `rename`, up to
 * four inodes by their addresses (or `tables` alone), then the journal of one dead thread. Each may be skipped; no lock
 * is held while the memory grows or while the host runs.
 *
 * Invariant: a thread's slot names every lock it holds or is about to take in `held`, before the word does.
 */
#ifndef PLAIT_SYNC_LOCK_H
#define PLAIT_SYNC_LOCK_H

#include "../platform/platform.h"

struct plait_lock {
  plait_word_t word;     /* 0 free, else owner's thread id; bit 31: there may be sleepers */
  plait_word_t contests; /* how often a thread had to wait (wraps); a hint */
};

enum plait_lock_result {
  PLAIT_LOCK_TAKEN = 0,
  PLAIT_LOCK_TAKEN_OVER = 1, /* taken from a dead owner: repair before use */
};

/*
 * Takes the lock: PLAIT_LOCK_TAKEN, PLAIT_LOCK_TAKEN_OVER, or -PLAIT_ETIMEDOUT after one second. A thread that may not
 * block spins instead of sleeping, with a bound of the same order. pre: the caller has entered and does not hold it.
 */
int plait_lock_acquire(struct plait_lock *lock);

/* As acquire, but -PLAIT_EAGAIN at once if another thread holds the lock, or if the caller holds it already. */
int plait_lock_try(struct plait_lock *lock);

/* Gives it back. pre: the caller holds it. */
void plait_lock_release(struct plait_lock *lock);

/*
 * Gives it back as it was found: held by `exited`, so that the next owner takes it over, too. For whoever took it over
 * and could not put right what it guards. pre: the caller holds it; `exited` is known dead.
 */
void plait_lock_leave(struct plait_lock *lock, uint32_t exited);

/* The thread that holds the lock now, dead or alive; 0 if none. Any thread; a hint by the time it is read. */
uint32_t plait_lock_owner(const struct plait_lock *lock);

/* Wakes all sleepers, so that they look at the owner again. Any thread: recovery calls it for a dead owner. */
void plait_lock_wake(struct plait_lock *lock);

#endif
