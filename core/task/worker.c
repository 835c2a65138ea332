/*
 * worker: entering a pool, sleeping until there is work, being stopped.
 *
 * `sleepers` may be too high after a death (a needless wake-up), never too low (a lost one): it is raised before and
 * lowered after the slot's `sleeping` word says so, and recovery lowers it only for a slot whose word says so.
 */
#include "task.h"

static struct plait_pool *own_pool(void) {
  return plait_at(atomic_load_explicit(&plait_self()->pool, memory_order_relaxed));
}

void plait_worker_enter(plait_ref_t pool) {
  atomic_store_explicit(&plait_self()->pool, pool, memory_order_release);
}

PLAIT_EXPORT uint32_t plait_worker_sleep_begin(void) {
  struct plait_slot *self = plait_self();
  struct plait_pool *pool = own_pool();
  atomic_fetch_add_explicit(&pool->sleepers, 1, memory_order_seq_cst);
  atomic_store_explicit(&self->sleeping, plait_ref(pool), memory_order_release);
  uint32_t signal = atomic_load_explicit(&pool->signal, memory_order_seq_cst);
  /* seq_cst: pairs with plait_task_submit; see there. */
  int idle = atomic_load_explicit(&pool->head, memory_order_seq_cst) ==
                 atomic_load_explicit(&pool->tail, memory_order_seq_cst) &&
             atomic_load_explicit(&pool->state, memory_order_seq_cst) == PLAIT_POOL_OPEN &&
             atomic_load_explicit(&self->condemned, memory_order_seq_cst) == 0;
  if (idle) return signal;
  plait_worker_sleep_end();
  return 0;
}

PLAIT_EXPORT void plait_worker_sleep_end(void) {
  struct plait_slot *self = plait_self();
  atomic_store_explicit(&self->sleeping, 0, memory_order_release);
  atomic_fetch_sub_explicit(&own_pool()->sleepers, 1, memory_order_seq_cst);
}

PLAIT_EXPORT void plait_worker_wait(uint32_t timeout_ms, uint32_t spins) {
  struct plait_pool *pool = own_pool();
  for (uint32_t i = 0; i < spins; i++) {
    if (plait_load(&pool->head) != plait_load(&pool->tail)) return;
    plait_platform_pause();
  }
  uint32_t signal = plait_worker_sleep_begin();
  if (signal == 0) return;
  plait_platform_wait(&pool->signal, signal, (int64_t)timeout_ms * 1000000);
  plait_worker_sleep_end();
}

/* pre: holds the recovery lock, so that the pool is not freed. */
static int condemn(plait_thread_t worker, uint32_t takes) {
  struct plait_slot *slot = plait_slot_of(worker);
  plait_ref_t ref = atomic_load_explicit(&slot->pool, memory_order_acquire);
  if (ref == 0 || !plait_thread_alive(worker)) return 0;
  struct plait_pool *pool = plait_at(ref);
  int rc = plait__pool_lock(pool);
  if (rc != 0) return rc;
  int same = plait_thread_alive(worker) && atomic_load_explicit(&slot->takes, memory_order_relaxed) == takes &&
             atomic_load_explicit(&slot->running, memory_order_relaxed) != 0;
  if (same) atomic_store_explicit(&slot->condemned, 1, memory_order_seq_cst);
  plait_lock_release(&pool->lock);
  return same;
}

PLAIT_EXPORT int plait_worker_condemn(plait_thread_t worker, uint32_t takes) {
  int rc = plait_lock_acquire(&plait_space()->recovery);
  if (rc < 0) return rc;
  rc = condemn(worker, takes);
  plait_lock_release(&plait_space()->recovery);
  return rc;
}

void plait_pool_wake(struct plait_pool *pool) {
  atomic_fetch_add_explicit(&pool->signal, 2, memory_order_seq_cst);
  plait_platform_notify(&pool->signal, UINT32_MAX);
  for (plait_ref_t at = atomic_load_explicit(&pool->clients, memory_order_acquire); at != 0;) {
    struct plait_client *client = plait_at(at);
    if (atomic_load_explicit(&client->inbox, memory_order_seq_cst) != 0) plait__client_wake(client);
    at = atomic_load_explicit(&client->next, memory_order_acquire);
  }
}
