/*
 * lock: see lock.h for the word and the guarantees.
 *
 * If a thread exits at any instruction of acquire, the word is free or names that thread, and the next one takes over.
 * If it exits in release between the exchange and the wake-up, the wake-up is lost: sleepers check every SLICE_NS.
 */
#include "lock.h"
#include "space.h"

PLAIT_COLD_BEGIN

#define SLEEPERS 0x80000000u
#define SPINS 200
#define SLICE_NS 10000000 /* 10 ms: the longest delay until a sleeper notices an owner that exited without a wake-up */
#define SLICES 100        /* 100 slices are the one second of the contract */
/* A thread that may not sleep has no clock here: 2^28 polls take about one second. */
#define SPINS_WITHOUT_SLEEP (1u << 28)

static void held_push(struct plait_lock *lock) {
  struct plait_slot *self = plait_self();
  uint32_t depth = plait_get(&self->held_count);
  plait_put(&self->held[depth], plait_ref(lock));
  plait_put(&self->held_count, depth + 1);
}

static void held_pop(void) {
  struct plait_slot *self = plait_self();
  uint32_t depth = plait_get(&self->held_count) - 1;
  plait_put(&self->held_count, depth);
  plait_put(&self->held[depth], 0);
}

/* One attempt: takes the lock if it is free or its owner has exited. `sleepers`: the bit to leave in the word. */
static int try_take(struct plait_lock *lock, uint32_t sleepers, uint32_t *seen) {
  /* acquire: pairs with the release in plait_lock_release, and with plait_thread_note_exit() at a takeover. */
  uint32_t word = atomic_load_explicit(&lock->word, memory_order_acquire);
  *seen = word;
  uint32_t owner = word & ~SLEEPERS;
  if (owner != 0 && plait_thread_alive(owner)) return -PLAIT_EAGAIN;
  uint32_t mine = plait_self_id() | sleepers | (word & SLEEPERS);
  if (!atomic_compare_exchange_strong_explicit(&lock->word, &word, mine, memory_order_acq_rel, memory_order_relaxed))
    return -PLAIT_EAGAIN;
  return owner == 0 ? PLAIT_LOCK_TAKEN : PLAIT_LOCK_TAKEN_OVER;
}

int plait_self_holds(void) {
  return plait_get(&plait_self()->held_count) != 0;
}

int plait_lock_acquire(struct plait_lock *lock) {
  uint32_t word;
  held_push(lock);
  uint32_t spins = plait_self_may_block() ? SPINS : SPINS_WITHOUT_SLEEP;
  for (uint32_t i = 0; i < spins; i++) {
    int taken = try_take(lock, 0, &word);
    if (taken >= 0) return taken;
    if (i == 0) atomic_fetch_add_explicit(&lock->contests, 1, memory_order_relaxed);
    plait_platform_pause();
  }
  for (uint32_t slices = 0; plait_self_may_block() && slices < SLICES;) {
    /* A thread that has slept leaves the bit set when it takes the lock: others may still sleep. */
    int taken = try_take(lock, SLEEPERS, &word);
    if (taken >= 0) return taken;
    if (word == 0 || !plait_thread_alive(word & ~SLEEPERS)) continue; /* the owner changed meanwhile */
    if (!(word & SLEEPERS) &&
        !atomic_compare_exchange_strong_explicit(
            &lock->word, &word, word | SLEEPERS, memory_order_relaxed, memory_order_relaxed))
      continue;
    if (plait_platform_wait(&lock->word, word | SLEEPERS, SLICE_NS) == PLAIT_WAIT_TIMED_OUT) slices++;
  }
  held_pop();
  return -PLAIT_ETIMEDOUT;
}

int plait_lock_try(struct plait_lock *lock) {
  uint32_t word;
  struct plait_slot *self = plait_self();
  for (uint32_t i = 0, count = plait_get(&self->held_count); i < count; i++)
    if (plait_get(&self->held[i]) == plait_ref(lock)) return -PLAIT_EAGAIN;
  held_push(lock);
  int taken = try_take(lock, 0, &word);
  if (taken < 0) held_pop();
  return taken;
}

void plait_lock_leave(struct plait_lock *lock, uint32_t exited) {
  /* release: pairs with the acquire in try_take. */
  uint32_t word = atomic_exchange_explicit(&lock->word, exited, memory_order_acq_rel);
  if (word & SLEEPERS) plait_platform_notify(&lock->word, 1);
  held_pop();
}

void plait_lock_release(struct plait_lock *lock) {
  plait_lock_leave(lock, 0);
}

uint32_t plait_lock_owner(const struct plait_lock *lock) {
  return atomic_load_explicit(&lock->word, memory_order_acquire) & ~SLEEPERS;
}

void plait_lock_wake(struct plait_lock *lock) {
  plait_platform_notify(&lock->word, UINT32_MAX);
}

PLAIT_COLD_END
