/*
 * pool: creating and ending pools; destroy.c frees them. A pool is registered as soon as its own block exists, so that
 * an exit cannot lose the rest.
 */
#include "internal.h"

PLAIT_EXPORT plait_ref_t plait_pool_create(void) {
  plait_ref_t ref = plait_heap_zeroed_for(PLAIT_FOR_THREADS, sizeof(struct plait_pool));
  if (ref == 0) return 0;
  struct plait_pool *pool = plait_at(ref);
  plait_put(&pool->state, PLAIT_POOL_OPEN);
  plait_put(&pool->owner, plait_self_id());
  plait_put(&pool->signal, 1);
  plait_put(&pool->parking, 1);
  plait_put(&pool->queue_limit, UINT32_MAX);
  /*
   * From here on an exit leaves an orphan for recovery, so the places come later. No other thread knows the pool yet.
   */
  uint32_t index = plait__pool_register(ref);
  plait_ref_t places = index == PLAIT_POOL_LIMIT ? 0 : plait_heap_zeroed_for(PLAIT_FOR_THREADS, PLAIT_PLACE_LIMIT * 4);
  if (places != 0) {
    atomic_store_explicit(&pool->places, places, memory_order_release);
    return ref;
  }
  if (index != PLAIT_POOL_LIMIT) plait_pool_destroy(ref);
  else plait_heap_free(ref);
  return 0;
}

/* `scratch` names the worker place until it is published, which is one store under the lock. */
PLAIT_EXPORT plait_ref_t plait_pool_place(plait_ref_t pool_ref, uint32_t index) {
  struct plait_pool *pool = plait_at(pool_ref);
  plait_word_t *word = (plait_word_t *)plait_at(plait_load(&pool->places)) + index;
  plait_ref_t there = plait_load(word);
  if (there != 0) return there;
  plait_ref_t ref = plait_heap_zeroed_for(PLAIT_FOR_THREADS, sizeof(struct plait_worker_place));
  if (ref == 0) return 0;
  plait_put(&plait_self()->scratch, ref);
  int rc = plait__pool_lock(pool);
  if (rc == 0) {
    there = plait_load(word);
    if (there == 0) {
      /*
       * release: pairs with the acquire loads above and in walks; repair clears `scratch` if the next store does not
       * come.
       */
      atomic_store_explicit(word, ref, memory_order_release);
      plait_put(&plait_self()->scratch, 0);
    }
    plait_lock_release(&pool->lock);
    if (there == 0) return ref;
  }
  plait_put(&plait_self()->scratch, 0);
  plait_heap_free(ref);
  return there;
}

static int queues_are_empty(struct plait_client *client) {
  for (uint32_t i = 0; i < PLAIT_PRIORITY_COUNT; i++)
    if (plait_get(&client->queues[i].head) != plait_get(&client->queues[i].tail)) return 0;
  return 1;
}

/*
 * Whether a worker runs or holds a task of the client, or may. A task in a worker queue counts as "may". pre: holds the
 * lock.
 */
static int is_awaited(struct plait_pool *pool, plait_ref_t client) {
  plait_word_t *table = plait_at(plait_load(&pool->places));
  for (uint32_t i = 0; i < PLAIT_PLACE_LIMIT; i++) {
    plait_ref_t place = plait_load(&table[i]);
    if (place != 0 && plait__queue_first(&((struct plait_worker_place *)plait_at(place))->queue) != 0) return 1;
  }
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    struct plait_slot *slot = &plait_space()->slots[i];
    uint32_t state = plait_load(&slot->generation_state) & 255u;
    if (state == PLAIT_SLOT_FREE) continue;
    if (state == PLAIT_SLOT_EXITED || plait_load(&slot->adopted) != 0) return 1; /* its words are its recoverer's */
    if (plait_load(&slot->pool) != plait_ref(pool)) continue;
    plait_ref_t running = plait_load(&slot->running);
    if (running != 0 && plait_load(&((struct plait_task *)plait_at(running))->client) == client) return 1;
    for (plait_ref_t at = plait_load(&slot->holding); at != 0;
        at = plait_load(&((struct plait_task *)plait_at(at))->link))
      if (plait_load(&((struct plait_task *)plait_at(at))->client) == client) return 1;
  }
  return 0;
}

/* Returns an empty client of an exited thread, now owned by the caller; 0: there is none. pre: holds the lock. */
static plait_ref_t client_left(struct plait_pool *pool) {
  for (plait_ref_t at = plait_load(&pool->clients); at != 0;) {
    struct plait_client *client = plait_at(at);
    if (plait_load(&client->owner) == 0 && plait_load(&client->inbox) == 0 && plait_load(&client->taken) == 0 &&
        plait_load(&client->drained) == 0 && queues_are_empty(client) && !is_awaited(pool, at)) {
      plait_put(&client->message_bytes, 0);
      atomic_store_explicit(&client->owner, plait_self_id(), memory_order_release);
      return at;
    }
    at = plait_load(&client->next);
  }
  return 0;
}

/*
 * Returns the client of an exited thread, or links the new client `spare` and returns it. pre: holds the recovery lock,
 * so that the pool stays.
 */
static plait_ref_t client_of_caller(plait_ref_t pool_ref, plait_ref_t spare) {
  struct plait_pool *pool = plait_at(pool_ref);
  if (plait__pool_index(pool_ref) == PLAIT_POOL_LIMIT || plait__pool_lock(pool) != 0) return 0;
  plait_ref_t ref = client_left(pool);
  if (ref == 0) {
    ref = spare;
    plait_put(&((struct plait_client *)plait_at(ref))->next, plait_get(&pool->clients));
    atomic_store_explicit(&pool->clients, ref, memory_order_release);
  }
  plait_lock_release(&pool->lock);
  return ref;
}

PLAIT_EXPORT plait_ref_t plait_client_create(plait_ref_t pool) {
  /* no lock is held while allocating */
  plait_ref_t spare = plait_heap_zeroed_for(PLAIT_FOR_THREADS, sizeof(struct plait_client));
  if (spare == 0) return 0;
  plait_put(&((struct plait_client *)plait_at(spare))->pool, pool);
  plait_put(&((struct plait_client *)plait_at(spare))->owner, plait_self_id());
  plait_ref_t ref = 0;
  if (plait_lock_acquire(&plait_space()->recovery) >= 0) {
    ref = client_of_caller(pool, spare);
    plait_lock_release(&plait_space()->recovery);
  }
  if (ref != spare) plait_heap_free(spare);
  return ref;
}

PLAIT_EXPORT void plait_pool_set_failure(plait_ref_t pool_ref, plait_ref_t block, uint32_t size) {
  struct plait_pool *pool = plait_at(pool_ref);
  atomic_store_explicit(&pool->failure_size, size, memory_order_relaxed);
  atomic_store_explicit(&pool->failure, block, memory_order_release); /* pairs with the reader's load of the state */
}

PLAIT_EXPORT int plait_pool_cancel_queued(plait_ref_t pool_ref) {
  struct plait_pool *pool = plait_at(pool_ref);
  int rc = plait__pool_lock(pool);
  if (rc != 0) return rc;
  int is_open = atomic_load_explicit(&pool->state, memory_order_relaxed) == PLAIT_POOL_OPEN;
  rc = (int)plait__pool_cancel_queued(pool, is_open ? PLAIT_STATUS_STOPPED : PLAIT_STATUS_POOL_CLOSED);
  plait_lock_release(&pool->lock);
  plait_pool_wake(pool);
  return rc;
}

PLAIT_EXPORT int plait_pool_end(plait_ref_t pool_ref, uint32_t state) {
  struct plait_pool *pool = plait_at(pool_ref);
  if (state < PLAIT_POOL_CLOSING || state > PLAIT_POOL_FAILED) return -PLAIT_EINVAL;
  int rc = plait__pool_lock(pool);
  if (rc != 0) return rc;
  uint32_t now = atomic_load_explicit(&pool->state, memory_order_relaxed);
  int allowed = now == PLAIT_POOL_OPEN || (now == PLAIT_POOL_CLOSING && state != PLAIT_POOL_CLOSING);
  if (allowed) {
    atomic_store_explicit(&pool->state, state, memory_order_release);
    if (state != PLAIT_POOL_CLOSING) plait__pool_return_queued(pool);
  }
  plait_lock_release(&pool->lock);
  plait_pool_wake(pool);
  return allowed ? 0 : -PLAIT_EINVAL;
}
