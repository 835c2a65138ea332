/*
 * destroy: freeing a pool. The caller holds the recovery lock, so that recovery, check, poll, drain and detach are not
 * in it.
 *
 * Invariant: everything is unlinked before it is freed, and the registry's entry is cleared last. So an exit in between
 * loses one block. The owner's next call goes on from there, or recovery does, once the owner has exited too.
 */
#include "internal.h"

/*
 * Whether a live thread other than `except` works in the pool or is to finish a task of it. pre: holds the pool's lock.
 */
static int is_used(struct plait_pool *pool, struct plait_slot *except) {
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    struct plait_slot *slot = &plait_space()->slots[i];
    if ((plait_load(&slot->generation_state) & 255u) != PLAIT_SLOT_LIVE) continue;
    int inside = plait_load(&slot->pool) == plait_ref(pool) &&
        (slot != except || plait_load(&slot->running) != 0 || plait_load(&slot->holding) != 0);
    if (inside || plait__pool_has_task(pool, plait_load(&slot->adopted))) return 1;
  }
  return 0;
}

static int has_live_client(struct plait_pool *pool) {
  plait_ref_t at = plait_load(&pool->clients);
  for (; at != 0; at = plait_load(&((struct plait_client *)plait_at(at))->next)) {
    plait_thread_t owner = plait_load(&((struct plait_client *)plait_at(at))->owner);
    if (owner != 0 && plait_thread_alive(owner)) return 1;
  }
  return 0;
}

void plait__intents_clear(plait_ref_t task) {
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    struct plait_slot *slot = &plait_space()->slots[i];
    if ((plait_load(&slot->generation_state) & 255u) != PLAIT_SLOT_EXITED) continue;
    plait__word_clear_if(&slot->running, task);
    plait__word_clear_if(&slot->adopted, task);
    if (plait_load(&slot->holding) == task)
      atomic_store_explicit(
          &slot->holding, plait_load(&((struct plait_task *)plait_at(task))->link), memory_order_release);
  }
}

/*
 * Removes the pool and its tasks from the intent records of exited threads, which are recovered later. pre: holds both
 * locks.
 */
static void forget(struct plait_pool *pool) {
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    struct plait_slot *slot = &plait_space()->slots[i];
    if ((plait_load(&slot->generation_state) & 255u) != PLAIT_SLOT_EXITED && slot != plait_self()) continue;
    plait_word_t *intents[] = {&slot->running, &slot->adopted};
    for (int k = 0; k < 2; k++) {
      plait_ref_t task = plait_load(intents[k]);
      if (!plait__pool_has_task(pool, task)) continue;
      plait__task_strip(task);
      plait__intents_clear(task);
      plait_heap_free(task);
    }
    if (plait_load(&slot->pool) == plait_ref(pool)) {
      for (plait_ref_t task; (task = plait_load(&slot->holding)) != 0;) {
        plait__task_strip(task);
        atomic_store_explicit(
            &slot->holding, plait_load(&((struct plait_task *)plait_at(task))->link), memory_order_release);
        plait_heap_free(task);
      }
    }
    if (plait_load(&slot->pool) == plait_ref(pool)) atomic_store_explicit(&slot->pool, 0, memory_order_release);
  }
}

/* Stores `next` to a word, then frees the block that the word named. */
static void free_linked(plait_word_t *word, plait_ref_t next) {
  plait_ref_t block = plait_load(word);
  atomic_store_explicit(word, next, memory_order_release);
  if (block != 0) plait_heap_free(block);
}

static void free_queue(struct plait_queue *queue) {
  for (plait_ref_t task; (task = plait__queue_first(queue)) != 0;) {
    plait__task_strip(task);
    plait_put(&queue->head, plait__queue_after(queue, plait_get(&queue->head)));
    plait_heap_free(task);
  }
  free_linked(&queue->ring, 0);
}

static void free_parts(struct plait_pool *pool) {
  plait_word_t *places = plait_at(plait_load(&pool->places));
  for (uint32_t i = 0; plait_load(&pool->places) != 0 && i < PLAIT_PLACE_LIMIT; i++) {
    if (plait_load(&places[i]) == 0) continue;
    free_queue(&((struct plait_worker_place *)plait_at(plait_load(&places[i])))->queue);
    free_linked(&places[i], 0);
  }
  for (plait_ref_t at; (at = plait_load(&pool->clients)) != 0;) {
    struct plait_client *client = plait_at(at);
    for (uint32_t i = 0; i < PLAIT_PRIORITY_COUNT; i++) free_queue(&client->queues[i]);
    plait__client_empty(client);
    free_linked(&pool->clients, plait_load(&client->next));
  }
  for (plait_ref_t at; (at = plait_load(&pool->names)) != 0;)
    free_linked(&pool->names, plait_load(&((struct plait_name *)plait_at(at))->next));
  free_linked(&pool->failure, 0);
  free_linked(&pool->places, 0);
}

/* pre: holds the recovery lock. `orphan`: destroy only if no live thread is a client either. */
static int destroy(plait_ref_t ref, int orphan) {
  struct plait_pool *pool = plait_at(ref);
  uint32_t index = plait__pool_index(ref);
  if (index == PLAIT_POOL_LIMIT) return -PLAIT_EINVAL;
  int rc = plait__pool_lock(pool);
  if (rc != 0) return rc;
  /* An idle worker may destroy its own pool. A recoverer must not free the pool in which it works. */
  int used = is_used(pool, orphan ? NULL : plait_self()) || (orphan && has_live_client(pool));
  if (!used) {
    atomic_store_explicit(&pool->state, PLAIT_POOL_CLOSED, memory_order_release);
    forget(pool);
  }
  plait_lock_release(&pool->lock);
  if (used) return -PLAIT_EAGAIN;
  free_parts(pool);
  free_linked(&plait_task_root()->pools[index], 0);
  return 0;
}

PLAIT_EXPORT int plait_pool_destroy(plait_ref_t pool) {
  int rc = plait_lock_acquire(&plait_space()->recovery);
  if (rc < 0) return rc;
  rc = destroy(pool, 0);
  plait_lock_release(&plait_space()->recovery);
  return rc;
}

/* pre: holds the recovery lock. */
static int let_go(plait_ref_t ref) {
  if (plait__pool_index(ref) == PLAIT_POOL_LIMIT) return -PLAIT_EINVAL;
  struct plait_pool *pool = plait_at(ref);
  int rc = plait__pool_lock(pool);
  if (rc != 0) return rc;
  int is_owner = plait_load(&pool->owner) == plait_self_id();
  if (is_owner) atomic_store_explicit(&pool->owner, 0, memory_order_release);
  plait_lock_release(&pool->lock);
  if (!is_owner) return -PLAIT_EINVAL;
  destroy(ref, 1);
  return 0;
}

/* pre: holds the recovery lock; the calling thread owns the client, so the pool exists. */
static int let_client_go(plait_ref_t ref) {
  struct plait_client *client = plait_at(ref);
  plait_ref_t pool_ref = plait_load(&client->pool);
  struct plait_pool *pool = plait_at(pool_ref);
  int rc = plait__pool_lock(pool);
  if (rc != 0) return rc;
  plait__client_empty(client);
  atomic_store_explicit(&client->owner, 0, memory_order_release); /* last: until then recovery finds it owned */
  plait_thread_t owner = plait_load(&pool->owner);
  plait_lock_release(&pool->lock);
  if (owner == 0 || !plait_thread_alive(owner)) destroy(pool_ref, 1);
  return 0;
}

PLAIT_EXPORT int plait_client_release(plait_ref_t client) {
  int rc = plait_lock_acquire(&plait_space()->recovery);
  if (rc < 0) return rc;
  rc = let_client_go(client);
  plait_lock_release(&plait_space()->recovery);
  return rc;
}

PLAIT_EXPORT int plait_pool_release(plait_ref_t pool) {
  int rc = plait_lock_acquire(&plait_space()->recovery);
  if (rc < 0) return rc;
  rc = let_go(pool);
  plait_lock_release(&plait_space()->recovery);
  return rc;
}

void plait__pool_destroy_orphan(plait_ref_t pool) {
  destroy(pool, 1);
}
