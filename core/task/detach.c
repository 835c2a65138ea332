/*
 * detach: settling a task whose worker still runs it.
 *
 * Some workers cannot be terminated at once: only the thread that started them can do so, and it may be busy for
 * seconds. A surrogate settles such a worker's task. It is a task record with the same client and ticket, which the
 * caller adopts and finishes. The worker keeps the task itself, with all its blocks, until it ends the task or is
 * recovered. Then the task goes to its client as DISCARDED, which only says that the client may free the task record.
 *
 * Invariant: PLAIT_STOP_DETACHED is in a task's `control` exactly when its surrogate was adopted, delivered, or freed
 * with its client. Detaching and finishing both happen under the pool's lock, so a ticket is settled once. After an
 * exit in between, and at no other time, `adopted` and `building` name the same record. repair_surrogate() in
 * pool_lock.c then sets the bit for the exited thread, and recovery finishes what it had adopted.
 */
#include "internal.h"

static struct plait_task *detached_task(plait_ref_t ref) {
  return plait_at(ref);
}

/*
 * Whether the task is to be settled now. A task without a stop request that may be run again waits for its worker's
 * exit. With `ends`, when nothing is run again, all tasks are settled.
 */
static int is_wanted(plait_ref_t ref, int ends) {
  uint32_t control = plait_load(&detached_task(ref)->control);
  return (control & PLAIT_STOP_DETACHED) == 0 && (ends || control != 0 || plait_get(&detached_task(ref)->retries) == 0);
}

/* A task of a live worker that is to be settled, or 0. pre: holds the pool's lock. */
static plait_ref_t wanted_of(struct plait_pool *pool, struct plait_slot *slot, uint32_t all) {
  int ends = all != 0 || plait_load(&pool->state) > PLAIT_POOL_CLOSING;
  plait_ref_t running = plait_load(&slot->running);
  if (running != 0 && is_wanted(running, ends)) return running;
  plait_ref_t at = plait_load(&slot->holding);
  while (at != 0 && !is_wanted(at, ends)) at = plait_load(&detached_task(at)->link);
  return at;
}

/* pre: holds the pool's lock; the caller builds `surrogate`. */
static void make_surrogate(plait_ref_t ref, plait_ref_t surrogate) {
  struct plait_task *task = detached_task(ref), *record = detached_task(surrogate);
  plait_put(&record->client, plait_get(&task->client));
  plait_put(&record->ticket, plait_get(&task->ticket));
  plait_put(&record->control, plait_load(&task->control));
  plait_put(&record->timeout_ms, plait_get(&task->timeout_ms));
  plait_put(&record->state, PLAIT_TASK_RUNNING);
  plait_put(&record->output_status, PLAIT_STATUS_WORKER_DIED);
  plait_put(&record->link, ref);
  plait_put(&plait_self()->adopted, surrogate); /* the commit */
  atomic_fetch_or_explicit(&task->control, PLAIT_STOP_DETACHED, memory_order_seq_cst);
  plait_put(&plait_self()->building, 0);
}

/*
 * Returns `surrogate` or enum plait_next. pre: holds the recovery lock, so that the pool is not freed; the caller
 * builds `surrogate`.
 */
static plait_ref_t detach(plait_thread_t worker, uint32_t all, plait_ref_t surrogate) {
  struct plait_slot *slot = plait_slot_of(worker);
  plait_ref_t ref = atomic_load_explicit(&slot->pool, memory_order_acquire);
  if (ref == 0 || !plait_thread_alive(worker)) return PLAIT_NEXT_NONE;
  struct plait_pool *pool = plait_at(ref);
  if (plait__pool_lock(pool) != 0) return PLAIT_NEXT_RETRY;
  int is_ending = plait_load(&slot->stop_state) != PLAIT_WORKER_RUNNING;
  plait_ref_t task = plait_thread_alive(worker) && is_ending ? wanted_of(pool, slot, all) : 0;
  if (task != 0) make_surrogate(task, surrogate);
  plait_lock_release(&pool->lock);
  return task != 0 ? surrogate : PLAIT_NEXT_NONE;
}

PLAIT_EXPORT plait_ref_t plait_task_detach(plait_thread_t worker, uint32_t all) {
  plait_ref_t surrogate = plait_task_create(0, 0);
  if (surrogate == 0) return PLAIT_NEXT_RETRY;
  plait_ref_t detached = PLAIT_NEXT_RETRY;
  if (plait_lock_acquire(&plait_space()->recovery) >= 0) {
    detached = detach(worker, all, surrogate);
    plait_lock_release(&plait_space()->recovery);
  }
  if (detached != surrogate) plait_task_discard(surrogate);
  return detached;
}
