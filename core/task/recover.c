/*
 * recover: repairing what an exited thread left in this module.
 *
 * Every step can be repeated: if the recoverer exits too, the next one starts over with the same words. Where a word
 * must be cleared and a block freed, the word is cleared first. So a second exit loses the block and never frees it
 * twice.
 */
#include "internal.h"

/*
 * Discards the results of an exited client, both received and to come. The owner is cleared last, so that another
 * recoverer can start over.
 */
static void clients_orphan(struct plait_pool *pool, plait_thread_t exited) {
  for (plait_ref_t at = plait_load(&pool->clients); at != 0;) {
    struct plait_client *client = plait_at(at);
    at = plait_load(&client->next);
    if (plait_load(&client->owner) != exited) continue;
    plait__client_empty(client);
    plait__word_clear(&client->owner);
  }
}

static int recover_in_pool(struct plait_slot *exited, plait_thread_t id, plait_ref_t ref) {
  struct plait_pool *pool = plait_at(ref);
  int rc = plait__pool_lock(pool);
  if (rc != 0) return rc; /* the lock's owner is alive without progress, perhaps while it repairs the same pool */
  if (plait_load(&exited->sleeping) == ref) {
    plait__word_clear(&exited->sleeping);
    atomic_fetch_sub_explicit(&pool->sleepers, 1, memory_order_seq_cst);
  }
  plait__word_clear_if(&pool->spinner, id); /* all workers are woken below, for the tasks that relied on it */
  clients_orphan(pool, id);
  plait_lock_release(&pool->lock);
  if (plait_load(&pool->owner) == id) rc = plait_pool_end(ref, PLAIT_POOL_CLOSED);
  plait_lock_wake(&pool->lock);
  plait_pool_wake(pool);
  plait_pool_signal_coordinator(ref); /* it may have been about to signal: see plait__worker_wake in wake.c */
  return rc == -PLAIT_ETIMEDOUT ? rc : 0;
}

/*
 * The calling thread adopts the task that an exited thread ran or was to deliver. If that thread had adopted it and
 * exited in here, other intent records name the task, too. All of them are cleared before the task can be delivered and
 * freed.
 */
static plait_ref_t adopt(plait_word_t *from) {
  plait_ref_t ref = plait_load(from);
  if (ref == 0) return 0;
  atomic_store_explicit(&plait_self()->adopted, ref, memory_order_release);
  plait__intents_clear(ref);
  /* The exited thread may have written only half of an output. */
  struct plait_task *task = plait_at(ref);
  atomic_store_explicit(&task->output_status, PLAIT_STATUS_WORKER_DIED, memory_order_relaxed);
  return ref;
}

int plait_task_recover(struct plait_slot *exited, plait_ref_t *running) {
  plait_thread_t id = (plait_load(&exited->generation_state) & ~255u) | (uint32_t)(exited - plait_space()->slots);
  int rc = 0;
  *running = 0;
  for (uint32_t i = 0; i < PLAIT_POOL_LIMIT; i++) {
    plait_ref_t pool = plait_load(&plait_task_root()->pools[i]);
    if (pool != 0 && recover_in_pool(exited, id, pool) != 0) rc = -PLAIT_ETIMEDOUT;
  }
  if (rc != 0) return rc;
  plait_ref_t adopted = adopt(&exited->adopted);
  if (adopted != 0 && (rc = plait_task_finish(adopted)) != 0) return rc;
  plait_ref_t building = plait_load(&exited->building);
  if (building != 0) plait__task_strip(building);
  plait__word_clear(&exited->building);
  if (building != 0) plait_heap_free(building);
  plait_ref_t scratch = plait_load(&exited->scratch);
  plait__word_clear(&exited->scratch);
  if (scratch != 0) plait_heap_free(scratch);
  *running = adopt(&exited->running);
  if (*running == 0) *running = adopt(&exited->holding);
  if (plait_load(&exited->holding) != 0) return 1;
  plait__word_clear(&exited->pool);
  for (uint32_t i = 0; i < PLAIT_POOL_LIMIT; i++) {
    plait_ref_t ref = plait_load(&plait_task_root()->pools[i]);
    /* The thread that recovers the last thread of an orphaned pool destroys the pool. */
    if (ref != 0 && !plait_thread_alive(plait_load(&((struct plait_pool *)plait_at(ref))->owner)))
      plait__pool_destroy_orphan(ref);
  }
  return 0;
}
