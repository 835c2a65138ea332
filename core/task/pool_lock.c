/*
 * pool_lock: taking a pool's lock, and repairing what an owner that exited left.
 *
 * Every step can be repeated: if the repairing thread exits too, the next one starts over with the same words.
 */
#include "internal.h"

static struct plait_client *client_at(plait_ref_t ref) {
  return plait_at(ref);
}

/*
 * Whether `task`, which an exited thread was taking, putting or delivering, is still in a queue or already in its
 * inbox. The task may belong to another pool, and be freed meanwhile: so it is compared, not followed.
 */
static int is_elsewhere(struct plait_pool *pool, plait_ref_t task) {
  struct plait_queue_walk walk = {0};
  for (struct plait_queue *queue; (queue = plait__pool_queue(pool, &walk)) != NULL;)
    if (plait__queue_first(queue) == task) return 1;
  for (plait_ref_t at = plait_load(&pool->clients); at != 0; at = plait_load(&client_at(at)->next))
    if (plait_load(&client_at(at)->inbox) == task) return 1;
  return 0;
}

/* The same for a task or a message that it was building. */
static int is_submitted(struct plait_pool *pool, plait_ref_t task) {
  struct plait_queue_walk walk = {0};
  for (struct plait_queue *queue; (queue = plait__pool_queue(pool, &walk)) != NULL;) {
    uint32_t tail = plait_get(&queue->tail);
    if (tail != plait_get(&queue->head) && plait_get(plait__queue_cell(queue, tail - 1)) == task) return 1;
  }
  for (plait_ref_t at = plait_load(&pool->clients); at != 0; at = plait_load(&client_at(at)->next))
    if (plait_load(&client_at(at)->inbox) == task) return 1;
  return 0;
}

/* A block to be published in the pool: if it was, `scratch` must not name it. */
static void repair_scratch(struct plait_pool *pool, struct plait_slot *slot) {
  plait_ref_t scratch = plait_load(&slot->scratch);
  if (scratch == 0) return;
  struct plait_queue_walk walk = {0};
  for (struct plait_queue *queue; (queue = plait__pool_queue(pool, &walk)) != NULL;)
    if (plait_load(&queue->ring) == scratch)
      atomic_store_explicit(
          &slot->scratch, plait_load(&((struct plait_ring *)plait_at(scratch))->previous), memory_order_release);
  plait_word_t *places = plait_at(plait_load(&pool->places));
  for (uint32_t i = 0; i < PLAIT_PLACE_LIMIT; i++)
    if (plait_load(&places[i]) == scratch) plait__word_clear(&slot->scratch);
  if (plait_load(&pool->names) == scratch) plait__word_clear(&slot->scratch); /* the one linked last, under the lock */
}

/* A task that was moving between `running` and the list of held tasks stays on the list. */
static void repair_holding(struct plait_slot *slot) {
  plait_ref_t running = plait_load(&slot->running);
  for (plait_ref_t at = plait_load(&slot->holding); at != 0 && running != 0;) {
    if (at == running) plait__word_clear(&slot->running);
    at = plait_load(&((struct plait_task *)plait_at(at))->link);
  }
}

/*
 * Whether a word of an intent record names a task of this pool. A task of another pool may be freed meanwhile, and its
 * bytes reused. So nothing behind it is followed.
 */
int plait__pool_has_task(struct plait_pool *pool, plait_ref_t ref) {
  if (ref == 0 || plait_heap_size(ref) < sizeof(struct plait_task)) return 0;
  plait_ref_t client = plait_load(&((struct plait_task *)plait_at(ref))->client);
  plait_ref_t at = plait_load(&pool->clients);
  while (at != 0 && at != client) at = plait_load(&((struct plait_client *)plait_at(at))->next);
  return at != 0;
}

/* A surrogate that the exited thread was about to adopt: see detach.c. pre: holds the lock. */
static void repair_surrogate(struct plait_pool *pool, struct plait_slot *exited) {
  plait_ref_t surrogate = plait_load(&exited->building);
  if (surrogate == 0 || plait_load(&exited->adopted) != surrogate || !plait__pool_has_task(pool, surrogate)) return;
  struct plait_task *task = plait_at(plait_load(&((struct plait_task *)plait_at(surrogate))->link));
  atomic_fetch_or_explicit(&task->control, PLAIT_STOP_DETACHED, memory_order_seq_cst);
  atomic_store_explicit(&exited->building, 0, memory_order_release);
}

static void repair_slot(struct plait_pool *pool, struct plait_slot *slot) {
  if (plait_load(&slot->pool) == plait_ref(pool)) repair_holding(slot);
  repair_surrogate(pool, slot);
  plait_word_t *intents[] = {&slot->running, &slot->adopted};
  for (int k = 0; k < 2; k++) {
    plait_ref_t task = plait_load(intents[k]);
    if (task != 0 && is_elsewhere(pool, task)) plait__word_clear_if(intents[k], task);
  }
  plait_ref_t building = plait_load(&slot->building);
  if (building != 0 && is_submitted(pool, building)) plait__word_clear_if(&slot->building, building);
  repair_scratch(pool, slot);
}

void plait__pool_return_queued(struct plait_pool *pool) {
  uint32_t state = atomic_load_explicit(&pool->state, memory_order_relaxed);
  uint32_t status = state == PLAIT_POOL_FAILED ? PLAIT_STATUS_POOL_FAILED : PLAIT_STATUS_POOL_CLOSED;
  struct plait_queue_walk walk = {0};
  for (struct plait_queue *queue; (queue = plait__pool_queue(pool, &walk)) != NULL;) {
    for (plait_ref_t ref; (ref = plait__queue_first(queue)) != 0;) {
      plait_put(&((struct plait_task *)plait_at(ref))->output_status, status);
      /* The head is the intent record: if its task is in an inbox too, repair advances the head. */
      plait__task_deliver(pool, ref, &queue->head, plait__queue_after(queue, plait_get(&queue->head)), 1);
    }
  }
  plait__pool_recount(pool);
}

/* Whether a live worker of the pool owns the client: then its tasks are parts of running ones. */
static int is_inner(struct plait_pool *pool, struct plait_client *client) {
  plait_thread_t owner = plait_load(&client->owner);
  return owner != 0 && plait_thread_alive(owner) && plait_load(&plait_slot_of(owner)->pool) == plait_ref(pool);
}

uint32_t plait__pool_cancel_queued(struct plait_pool *pool, uint32_t status) {
  uint32_t count = 0;
  struct plait_queue_walk walk = {0};
  for (struct plait_queue *queue; (queue = plait__pool_queue(pool, &walk)) != NULL;) {
    uint32_t tail = plait_get(&queue->tail);
    for (uint32_t i = plait_get(&queue->head); i != tail; i = plait__queue_after(queue, i)) {
      plait_word_t *cell = plait__queue_cell(queue, i);
      struct plait_task *task = plait_at(plait_get(cell));
      if (is_inner(pool, plait_at(plait_get(&task->client)))) continue;
      plait_put(&task->output_status, status);
      plait__task_deliver(pool, plait_get(cell), cell, 0, 1); /* leaves a hole, as withdrawing does */
      count++;
    }
    if (plait_get(&queue->ring) != 0) plait__queue_trim(queue);
  }
  plait__pool_recount(pool);
  return count;
}

/* Repairs a pool whose lock was taken over. pre: holds the lock. */
static PLAIT_COLD void pool_repair(struct plait_pool *pool) {
  if (plait_load(&pool->places) == 0) return; /* not open yet, or almost freed */
  struct plait_queue_walk walk = {0};
  for (struct plait_queue *queue; (queue = plait__pool_queue(pool, &walk)) != NULL;) plait__queue_repair(queue);
  for (plait_ref_t at = plait_load(&pool->clients); at != 0; at = plait_load(&client_at(at)->next)) {
    struct plait_client *client = client_at(at); /* exited while it drained: see plait_client_drain */
    if (plait_load(&client->taken) == plait_load(&client->inbox)) plait__word_clear(&client->taken);
  }
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    struct plait_slot *slot = &plait_space()->slots[i];
    if ((plait_load(&slot->generation_state) & 255u) == PLAIT_SLOT_EXITED) repair_slot(pool, slot);
  }
  walk = (struct plait_queue_walk){0};
  for (struct plait_queue *queue; (queue = plait__pool_queue(pool, &walk)) != NULL;)
    if (plait_load(&queue->ring) != 0)
      plait__word_clear(&((struct plait_ring *)plait_at(plait_load(&queue->ring)))->previous);
  plait__pool_recount(pool);
  if (plait_load(&pool->state) > PLAIT_POOL_CLOSING) plait__pool_return_queued(pool);
}

int plait__pool_lock(struct plait_pool *pool) {
  int rc = plait_lock_acquire(&pool->lock);
  if (rc == PLAIT_LOCK_TAKEN_OVER) pool_repair(pool);
  return rc < 0 ? rc : 0;
}
