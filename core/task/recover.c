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

static struct plait_client *client_at(plait_ref_t ref) {
  return plait_at(ref);
}

/*
 * Whether `task`, which a dead thread was taking, putting or delivering, is still in a lane, or already in its inbox.
 * It may be another pool's, and freed while we look: so it is compared and not followed.
 */
static int is_elsewhere(struct plait_pool *pool, plait_ref_t task) {
  struct plait_lane_walk walk = {0};
  for (struct plait_lane *lane; (lane = plait__pool_lane(pool, &walk)) != NULL;)
    if (plait__lane_first(lane) == task) return 1;
  for (plait_ref_t at = plait_load(&pool->clients); at != 0; at = plait_load(&client_at(at)->next))
    if (plait_load(&client_at(at)->inbox) == task) return 1;
  return 0;
}

/* Likewise of a task or a record of progress that it was building. */
static int is_submitted(struct plait_pool *pool, plait_ref_t task) {
  struct plait_lane_walk walk = {0};
  for (struct plait_lane *lane; (lane = plait__pool_lane(pool, &walk)) != NULL;) {
    uint32_t tail = plait_get(&lane->tail);
    if (tail != plait_get(&lane->head) && plait_get(plait__lane_cell(lane, tail - 1)) == task) return 1;
  }
  for (plait_ref_t at = plait_load(&pool->clients); at != 0; at = plait_load(&client_at(at)->next))
    if (plait_load(&client_at(at)->inbox) == task) return 1;
  return 0;
}

/* Clears an intent that names `ref`, unless its slot has been given to another thread meanwhile. */
static void clear_if(plait_word_t *word, plait_ref_t ref) {
  atomic_compare_exchange_strong_explicit(word, &ref, 0, memory_order_acq_rel, memory_order_relaxed);
}

/* A block that was to be published in the pool: not ours any more if it was. */
static void repair_scratch(struct plait_pool *pool, struct plait_slot *slot) {
  plait_ref_t scratch = plait_load(&slot->scratch);
  if (scratch == 0) return;
  struct plait_lane_walk walk = {0};
  for (struct plait_lane *lane; (lane = plait__pool_lane(pool, &walk)) != NULL;)
    if (plait_load(&lane->ring) == scratch)
      atomic_store_explicit(
          &slot->scratch, plait_load(&((struct plait_ring *)plait_at(scratch))->previous), memory_order_release);
  plait_word_t *seats = plait_at(plait_load(&pool->seats));
  for (uint32_t i = 0; i < PLAIT_SEAT_LIMIT; i++)
    if (plait_load(&seats[i]) == scratch) clear(&slot->scratch);
  if (plait_load(&pool->names) == scratch) clear(&slot->scratch); /* the last that was linked, under the lock */
}

/* A task that was on its way between `running` and the list of those held: on the list it stays. */
static void repair_holding(struct plait_slot *slot) {
  plait_ref_t running = plait_load(&slot->running);
  for (plait_ref_t at = plait_load(&slot->holding); at != 0 && running != 0;) {
    if (at == running) clear(&slot->running);
    at = plait_load(&((struct plait_task *)plait_at(at))->link);
  }
}

static void repair_slot(struct plait_pool *pool, struct plait_slot *slot) {
  if (plait_load(&slot->pool) == plait_ref(pool)) repair_holding(slot);
  plait__stand_in_repair(pool, slot);
  plait_word_t *intents[] = {&slot->running, &slot->adopted};
  for (int k = 0; k < 2; k++) {
    plait_ref_t task = plait_load(intents[k]);
    if (task != 0 && is_elsewhere(pool, task)) clear_if(intents[k], task);
  }
  plait_ref_t building = plait_load(&slot->building);
  if (building != 0 && is_submitted(pool, building)) clear_if(&slot->building, building);
  repair_scratch(pool, slot);
}

void plait__pool_repair(struct plait_pool *pool) {
  if (plait_load(&pool->seats) == 0) return; /* not open yet, or as good as freed */
  struct plait_lane_walk walk = {0};
  for (struct plait_lane *lane; (lane = plait__pool_lane(pool, &walk)) != NULL;) plait__lane_repair(lane);
  for (plait_ref_t at = plait_load(&pool->clients); at != 0; at = plait_load(&client_at(at)->next)) {
    struct plait_client *client = client_at(at); /* died while it drained: see plait_client_drain */
    if (plait_load(&client->taken) == plait_load(&client->inbox)) clear(&client->taken);
  }
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    struct plait_slot *slot = &plait_space()->slots[i];
    if ((plait_load(&slot->life) & 255u) == PLAIT_SLOT_DEAD) repair_slot(pool, slot);
  }
  walk = (struct plait_lane_walk){0};
  for (struct plait_lane *lane; (lane = plait__pool_lane(pool, &walk)) != NULL;)
    if (plait_load(&lane->ring) != 0) clear(&((struct plait_ring *)plait_at(plait_load(&lane->ring)))->previous);
  plait__pool_recount(pool);
  if (plait_load(&pool->state) > PLAIT_POOL_CLOSING) plait__pool_return_queued(pool);
}

/* Results for a dead client are dropped, those that it has got and those to come. The owner goes last: see the head. */
void plait__clients_orphan(struct plait_pool *pool, plait_thread_t dead) {
  for (plait_ref_t at = plait_load(&pool->clients); at != 0; at = plait_load(&client_at(at)->next)) {
    if (plait_load(&client_at(at)->owner) != dead) continue;
    plait__client_empty(client_at(at));
    clear(&client_at(at)->owner);
  }
}

static int recover_in_pool(struct plait_slot *dead, plait_thread_t id, plait_ref_t ref) {
  struct plait_pool *pool = plait_at(ref);
  int rc = plait__pool_lock(pool);
  if (rc != 0) return rc; /* its owner is alive and stuck, perhaps in a repair of what we are to recover */
  if (plait_load(&dead->sleeping) == ref) {
    clear(&dead->sleeping);
    atomic_fetch_sub_explicit(&pool->sleepers, 1, memory_order_seq_cst);
  }
  clear_if(&pool->looking, id); /* for the tasks that relied on it all are woken, below */
  plait__clients_orphan(pool, id);
  plait_lock_release(&pool->lock);
  if (plait_load(&pool->owner) == id) rc = plait_pool_end(ref, PLAIT_POOL_CLOSED);
  plait_lock_wake(&pool->lock);
  plait_pool_wake(pool);
  plait_pool_attend(ref); /* it may have been about to: see plait__worker_wake in task.c */
  return rc == -PLAIT_ETIMEDOUT ? rc : 0;
}

void plait__intents_clear(plait_ref_t task) {
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    struct plait_slot *slot = &plait_space()->slots[i];
    if ((plait_load(&slot->life) & 255u) != PLAIT_SLOT_DEAD) continue;
    clear_if(&slot->running, task);
    clear_if(&slot->adopted, task);
    if (plait_load(&slot->holding) == task)
      atomic_store_explicit(
          &slot->holding, plait_load(&((struct plait_task *)plait_at(task))->link), memory_order_release);
  }
}

/*
 * The task that a dead thread ran or was to deliver becomes the calling thread's to deliver. If that thread had adopted
 * it itself and died in here, others name the task too: all forget it, before it can be delivered and freed.
 */
static plait_ref_t adopt(plait_word_t *from) {
  plait_ref_t ref = plait_load(from);
  if (ref == 0) return 0;
  atomic_store_explicit(&plait_self()->adopted, ref, memory_order_release);
  plait__intents_clear(ref);
  /* Whatever the dead thread has written of an output may be half of it. */
  struct plait_task *task = plait_at(ref);
  atomic_store_explicit(&task->output_status, PLAIT_STATUS_WORKER_DIED, memory_order_relaxed);
  return ref;
}

int plait_task_recover(struct plait_slot *dead, plait_ref_t *running) {
  plait_thread_t id = (plait_load(&dead->life) & ~255u) | (uint32_t)(dead - plait_space()->slots);
  int rc = 0;
  *running = 0;
  for (uint32_t i = 0; i < PLAIT_POOL_LIMIT; i++) {
    plait_ref_t pool = plait_load(&plait_task_root()->pools[i]);
    if (pool != 0 && recover_in_pool(dead, id, pool) != 0) rc = -PLAIT_ETIMEDOUT;
  }
  if (rc != 0) return rc;
  plait_ref_t adopted = adopt(&dead->adopted);
  if (adopted != 0 && (rc = plait_task_finish(adopted)) != 0) return rc;
  plait_ref_t building = plait_load(&dead->building);
  if (building != 0) plait__task_strip(building);
  clear(&dead->building);
  if (building != 0) plait_heap_free(building);
  plait_ref_t scratch = plait_load(&dead->scratch);
  clear(&dead->scratch);
  if (scratch != 0) plait_heap_free(scratch);
  *running = adopt(&dead->running);
  if (*running == 0) *running = adopt(&dead->holding);
  if (plait_load(&dead->holding) != 0) return 1;
  clear(&dead->pool);
  for (uint32_t i = 0; i < PLAIT_POOL_LIMIT; i++) {
    plait_ref_t ref = plait_load(&plait_task_root()->pools[i]);
    /* Whoever recovers the last of an orphaned pool's threads clears the pool away. */
    if (ref != 0 && !plait_thread_alive(plait_load(&((struct plait_pool *)plait_at(ref))->owner)))
      plait__pool_destroy_orphan(ref);
  }
  return 0;
}
