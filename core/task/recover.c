/*
 * recover: what a death in this room leaves, and how it is put right.
 *
 * Every step can be run again: a recoverer may vanish too, and the next one starts over with the same words. Where a
 * word must be cleared and a block freed, the word goes first: a second death then loses the block, and never frees it
 * twice.
 */
#include "task.h"

static void clear(plait_word_t *word) {
  atomic_store_explicit(word, 0, memory_order_release);
}

static int is_of(struct plait_pool *pool, plait_ref_t task) {
  plait_ref_t client = plait_load(&((struct plait_task *)plait_at(task))->client);
  return plait_load(&((struct plait_client *)plait_at(client))->pool) == plait_ref(pool);
}

/* Whether `task`, which a dead thread was taking or delivering, is still in the queue or already in its inbox. */
static int is_elsewhere(struct plait_pool *pool, plait_ref_t task) {
  struct plait_ring *ring = plait_at(plait_load(&pool->ring));
  uint32_t mask = plait_load(&ring->capacity) - 1, head = plait_load(&pool->head);
  struct plait_client *client = plait_at(plait_load(&((struct plait_task *)plait_at(task))->client));
  if (head != plait_load(&pool->tail) && plait_load(&ring->cells[head & mask]) == task) return 1;
  return plait_load(&client->inbox) == task;
}

void plait__pool_repair(struct plait_pool *pool) {
  struct plait_ring *ring = plait_at(plait_load(&pool->ring));
  uint32_t mask = plait_load(&ring->capacity) - 1;
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    struct plait_slot *slot = &plait_space()->slots[i];
    if ((plait_load(&slot->life) & 255u) != PLAIT_SLOT_DEAD) continue;
    plait_word_t *intents[] = {&slot->running, &slot->adopted};
    for (int k = 0; k < 2; k++) {
      plait_ref_t task = plait_load(intents[k]);
      if (task != 0 && is_of(pool, task) && is_elsewhere(pool, task)) clear(intents[k]);
    }
    plait_ref_t building = plait_load(&slot->building);
    uint32_t tail = plait_load(&pool->tail);
    if (building != 0 && tail != plait_load(&pool->head) && plait_load(&ring->cells[(tail - 1) & mask]) == building)
      clear(&slot->building);
    if (plait_load(&slot->scratch) != 0 && plait_load(&slot->scratch) == plait_load(&pool->ring))
      atomic_store_explicit(&slot->scratch, plait_load(&ring->previous), memory_order_release);
  }
  clear(&ring->previous);
}

/* Results for a dead client are dropped, those that lie in its inbox and those to come. */
static void orphan_clients(struct plait_pool *pool, plait_thread_t dead) {
  for (plait_ref_t at = plait_load(&pool->clients); at != 0;) {
    struct plait_client *client = plait_at(at);
    if (plait_load(&client->owner) == dead) {
      clear(&client->owner);
      for (plait_ref_t task = plait_load(&client->inbox); task != 0;) {
        plait_ref_t next = plait_load(&((struct plait_task *)plait_at(task))->next);
        atomic_store_explicit(&client->inbox, next, memory_order_release);
        plait__task_destroy(task);
        task = next;
      }
    }
    at = plait_load(&client->next);
  }
}

static int has_workers(plait_ref_t pool) {
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    struct plait_slot *slot = &plait_space()->slots[i];
    if ((plait_load(&slot->life) & 255u) != PLAIT_SLOT_FREE && plait_load(&slot->pool) == pool) return 1;
  }
  return 0;
}

static void recover_in_pool(struct plait_slot *dead, plait_thread_t id, plait_ref_t ref) {
  struct plait_pool *pool = plait_at(ref);
  if (plait__pool_lock(pool) != 0) return; /* its owner is alive and stuck; it repairs nothing of ours */
  if (plait_load(&dead->sleeping) == ref) {
    clear(&dead->sleeping);
    atomic_fetch_sub_explicit(&pool->sleepers, 1, memory_order_seq_cst);
  }
  orphan_clients(pool, id);
  plait_lock_release(&pool->lock);
  if (plait_load(&pool->owner) == id) plait_pool_end(ref, PLAIT_POOL_CLOSED);
  plait_lock_wake(&pool->lock);
  plait_pool_wake(pool);
}

/* The task that a dead thread ran or delivered becomes the calling thread's to deliver. */
static plait_ref_t adopt(plait_word_t *from) {
  struct plait_slot *self = plait_self();
  plait_ref_t task = plait_load(from);
  if (task == 0) return 0;
  atomic_store_explicit(&self->adopted, task, memory_order_release);
  clear(from);
  return task;
}

plait_ref_t plait_task_recover(struct plait_slot *dead) {
  plait_thread_t id = (plait_load(&dead->life) & ~255u) | (uint32_t)(dead - plait_space()->slots);
  for (uint32_t i = 0; i < PLAIT_POOL_LIMIT; i++) {
    plait_ref_t pool = plait_load(&plait_task_root()->pools[i]);
    if (pool != 0) recover_in_pool(dead, id, pool);
  }
  plait_ref_t half_delivered = adopt(&dead->adopted);
  if (half_delivered != 0) {
    struct plait_task *task = plait_at(half_delivered);
    if (plait_load(&task->output_status) == PLAIT_STATUS_NONE)
      atomic_store_explicit(&task->output_status, PLAIT_STATUS_WORKER_DIED, memory_order_relaxed);
    plait_task_finish(half_delivered);
  }
  plait_ref_t building = plait_load(&dead->building);
  clear(&dead->building);
  if (building != 0) plait__task_destroy(building);
  plait_ref_t scratch = plait_load(&dead->scratch);
  clear(&dead->scratch);
  if (scratch != 0) plait_heap_free(scratch);
  plait_ref_t running = adopt(&dead->running);
  clear(&dead->pool);
  if (running != 0)
    atomic_store_explicit(&((struct plait_task *)plait_at(running))->output_status, PLAIT_STATUS_WORKER_DIED,
                          memory_order_relaxed);
  for (uint32_t i = 0; i < PLAIT_POOL_LIMIT; i++) {
    plait_ref_t ref = plait_load(&plait_task_root()->pools[i]);
    if (ref == 0) continue;
    plait_thread_t owner = plait_load(&((struct plait_pool *)plait_at(ref))->owner);
    /* Whoever recovers the last of an orphaned pool's threads clears the pool away. */
    if (!plait_thread_alive(owner) && !has_workers(ref) && running == 0) plait_pool_destroy(ref);
  }
  return running;
}
