/*
 * worker: entering a pool, sleeping until there is work, being stopped.
 *
 * `sleepers` may be too high after an exit (a needless wake-up), never too low (a lost one). It is raised before the
 * slot's `sleeping` word is set and lowered after that word is cleared. Recovery lowers it only for a slot whose word
 * is set.
 */
#include "internal.h"

/* From this many unread results on, their client is busy with something else. */
#define UNREAD_WHEN_BUSY 8
/* How many times longer the registered spinner spins than the others. */
#define OTHERS_SPIN_LESS 16
/* How long a worker naps at a time, and in total. */
#define NAP_NS 50000
#define NAPPING_NS 2000000

static struct plait_pool *own_pool(void) {
  return plait_at(atomic_load_explicit(&plait_self()->pool, memory_order_relaxed));
}

void plait_worker_enter(plait_ref_t pool) {
  atomic_store_explicit(&plait_self()->pool, pool, memory_order_release);
}

PLAIT_EXPORT void plait_worker_take_place(plait_ref_t place) {
  plait_put(&((struct plait_worker_place *)plait_at(place))->thread, plait_self_id());
  plait_put(&plait_self()->place, place);
}

/* Whether this worker's own queue has a task. */
static int has_own_work(struct plait_slot *self) {
  plait_ref_t place = plait_get(&self->place);
  if (place == 0) return 0;
  struct plait_queue *queue = &((struct plait_worker_place *)plait_at(place))->queue;
  return atomic_load_explicit(&queue->head, memory_order_seq_cst) !=
      atomic_load_explicit(&queue->tail, memory_order_seq_cst);
}

/*
 * Whether a worker may find a task. Without the lock it is a hint, but never false while there is one (see internal.h).
 */
static int has_work(struct plait_pool *pool, struct plait_slot *self) {
  return atomic_load_explicit(&pool->mask, memory_order_seq_cst) != 0 || has_own_work(self);
}

static void end_sleep(struct plait_pool *pool, struct plait_slot *self) {
  atomic_store_explicit(&self->sleeping, 0, memory_order_release);
  atomic_fetch_sub_explicit(&pool->sleepers, 1, memory_order_seq_cst);
}

/*
 * Returns the value of a pool's `word` to sleep on, or 0 if there is something to do. After a value other than 0,
 * end_sleep() must follow.
 */
static uint32_t begin_sleep(struct plait_pool *pool, struct plait_slot *self, plait_word_t *word) {
  atomic_fetch_add_explicit(&pool->sleepers, 1, memory_order_seq_cst);
  atomic_store_explicit(&self->sleeping, plait_ref(pool), memory_order_release);
  uint32_t value = atomic_load_explicit(word, memory_order_seq_cst);
  /* seq_cst: pairs with plait__worker_wake in wake.c; see there. */
  int idle = !has_work(pool, self) && atomic_load_explicit(&pool->state, memory_order_seq_cst) == PLAIT_POOL_OPEN &&
      atomic_load_explicit(&self->stop_state, memory_order_seq_cst) == PLAIT_WORKER_RUNNING;
  if (idle) return value;
  end_sleep(pool, self);
  return 0;
}

PLAIT_EXPORT uint32_t plait_worker_park_begin(void) {
  struct plait_pool *pool = own_pool();
  return begin_sleep(pool, plait_self(), &pool->parking);
}

PLAIT_EXPORT void plait_worker_park_end(void) {
  end_sleep(own_pool(), plait_self());
}

/*
 * Naps while unread results pile up. A spinning worker would take the processor from their client, and a sleeping one
 * must be woken by that client for each task. A napping worker waits on its own `sleeping` word with a timeout, and so
 * needs no wake-up.
 */
static void nap_while_unread(struct plait_pool *pool, struct plait_slot *self) {
  for (int64_t left = NAPPING_NS; left > 0; left -= NAP_NS) {
    if (plait_get(&pool->unread) < UNREAD_WHEN_BUSY || has_work(pool, self)) return;
    plait_platform_wait(&self->sleeping, 0, NAP_NS);
  }
}

/*
 * Polls for work `times` times. One worker at a time registers as spinner meanwhile. If it finds work it stays
 * registered until plait_task_next(): otherwise the submitter would see no spinner and wake another worker. The others
 * spin for a shorter time: two spinners would alternate on tasks that one could run, and keep two processors busy.
 * seq_cst: see plait__worker_wake in wake.c.
 */
static int spin(struct plait_pool *pool, struct plait_slot *self, uint32_t times) {
  uint32_t name = plait_self_id(), previous = 0, found = 0;
  int registered = atomic_compare_exchange_strong_explicit(
      &pool->spinner, &previous, name, memory_order_seq_cst, memory_order_relaxed);
  if (previous == name) registered = 1; /* it has found a task and not taken it yet */
  if (!registered) times = (times + OTHERS_SPIN_LESS - 1) / OTHERS_SPIN_LESS;
  for (uint32_t i = 0; i < times && !found; i++) {
    found = (uint32_t)has_work(pool, self);
    if (!found) plait_platform_pause();
  }
  if (registered && !found) atomic_store_explicit(&pool->spinner, 0, memory_order_seq_cst);
  return (int)found;
}

PLAIT_EXPORT uint32_t plait_worker_wait(uint32_t timeout_ms, uint32_t spins) {
  struct plait_pool *pool = own_pool();
  struct plait_slot *self = plait_self();
  int naps = plait_get(&pool->unread) >= UNREAD_WHEN_BUSY;
  if (naps) {
    nap_while_unread(pool, self);
    spins = 1;
  }
  if (spins != 0 && spin(pool, self, spins)) return 1;
  uint32_t signal = begin_sleep(pool, self, &pool->signal);
  if (signal != 0) {
    plait_platform_wait(&pool->signal, signal, (int64_t)timeout_ms * 1000000);
    end_sleep(pool, self);
  }
  return (uint32_t)naps;
}

static uint32_t never_zero(uint32_t stamp) {
  return stamp == 0 ? 1 : stamp;
}

/* pre: holds the pool's lock, so that the task is neither delivered nor freed meanwhile. */
static int poll_task(struct plait_pool *pool, struct plait_task *task, uint32_t now) {
  uint32_t timeout = plait_load(&task->timeout_ms), started = plait_load(&task->started_ms);
  uint32_t requested = plait_load(&task->stop_requested_ms);
  if (plait_load(&task->control) == 0) {
    if (timeout == 0) return PLAIT_POLL_NONE;
    if (started == 0 || (int32_t)(now - started) < (int32_t)timeout) return PLAIT_POLL_AGAIN;
    atomic_fetch_or_explicit(&task->control, PLAIT_STOP_TIMEOUT, memory_order_seq_cst);
  }
  if (requested == 0) {
    plait_put(&task->stop_requested_ms, never_zero(now));
    return PLAIT_POLL_STOP_REQUESTED;
  }
  return (int32_t)(now - requested) >= (int32_t)plait_load(&pool->grace_ms) ? PLAIT_POLL_OVERDUE : PLAIT_POLL_AGAIN;
}

/* pre: holds the recovery lock, so that the pool is not freed. */
static int poll_worker(plait_thread_t worker, uint32_t now) {
  struct plait_slot *slot = plait_slot_of(worker);
  plait_ref_t ref = atomic_load_explicit(&slot->pool, memory_order_acquire);
  if (ref == 0 || !plait_thread_alive(worker)) return PLAIT_POLL_NONE;
  struct plait_pool *pool = plait_at(ref);
  int rc = plait__pool_lock(pool);
  if (rc != 0) return rc;
  int most = PLAIT_POLL_NONE;
  plait_ref_t running = plait_load(&slot->running);
  if (plait_thread_alive(worker)) {
    if (running != 0) most = poll_task(pool, plait_at(running), now);
    for (plait_ref_t at = plait_load(&slot->holding); at != 0;) {
      int seen = poll_task(pool, plait_at(at), now);
      if (seen > most) most = seen;
      at = plait_load(&((struct plait_task *)plait_at(at))->link);
    }
    if (most == PLAIT_POLL_OVERDUE)
      atomic_store_explicit(&slot->stop_state, PLAIT_WORKER_STOPPING, memory_order_seq_cst);
  }
  plait_lock_release(&pool->lock);
  return most;
}

PLAIT_EXPORT int plait_worker_poll(plait_thread_t worker, uint32_t now_ms) {
  int rc = plait_lock_acquire(&plait_space()->recovery);
  if (rc < 0) return rc;
  rc = poll_worker(worker, now_ms);
  plait_lock_release(&plait_space()->recovery);
  return rc;
}

/* pre: holds the recovery lock. */
static int drain_worker(plait_thread_t worker) {
  struct plait_slot *slot = plait_slot_of(worker);
  plait_ref_t ref = atomic_load_explicit(&slot->pool, memory_order_acquire);
  if (ref == 0 || !plait_thread_alive(worker)) return 0;
  struct plait_pool *pool = plait_at(ref);
  int rc = plait__pool_lock(pool);
  if (rc != 0) return rc;
  int alive = plait_thread_alive(worker);
  if (alive && plait_load(&slot->stop_state) == PLAIT_WORKER_RUNNING)
    atomic_store_explicit(&slot->stop_state, PLAIT_WORKER_DRAINING, memory_order_seq_cst);
  plait_lock_release(&pool->lock);
  plait_pool_wake(pool);
  return alive;
}

PLAIT_EXPORT int plait_worker_drain(plait_thread_t worker) {
  int rc = plait_lock_acquire(&plait_space()->recovery);
  if (rc < 0) return rc;
  rc = drain_worker(worker);
  plait_lock_release(&plait_space()->recovery);
  return rc;
}
