/*
 * queue: the rings of a pool's queues: walking over them, counting, and repair after an exit.
 *
 * Ring, head and tail alone define what a queue holds. `mask` and `queued` of pool and clients are derived state, for
 * threads that must not walk all queues. They may be stale after an exit, so repair counts again.
 */
#include "internal.h"

static plait_word_t *place_table(struct plait_pool *pool) {
  plait_ref_t table = plait_load(&pool->places);
  return table == 0 ? NULL : plait_at(table);
}

struct plait_queue *plait__pool_queue(struct plait_pool *pool, struct plait_queue_walk *walk) {
  if (walk->places == 0 && walk->index == 0 && walk->client == 0) walk->client = plait_load(&pool->clients);
  if (walk->places == 0 && walk->index == PLAIT_PRIORITY_COUNT) {
    walk->client = plait_load(&((struct plait_client *)plait_at(walk->client))->next);
    walk->index = 0;
  }
  if (walk->client != 0) return &((struct plait_client *)plait_at(walk->client))->queues[walk->index++];
  if (walk->places == 0) walk->places = 1, walk->index = 0;
  plait_word_t *table = place_table(pool);
  while (table != NULL && walk->index < PLAIT_PLACE_LIMIT) {
    plait_ref_t place = plait_load(&table[walk->index++]);
    if (place != 0) return &((struct plait_worker_place *)plait_at(place))->queue;
  }
  return NULL;
}

void plait__pool_recount(struct plait_pool *pool) {
  uint32_t all = 0, queued = 0;
  for (plait_ref_t at = plait_load(&pool->clients); at != 0;) {
    struct plait_client *client = plait_at(at);
    uint32_t mask = 0;
    for (uint32_t i = 0; i < PLAIT_PRIORITY_COUNT; i++)
      if (plait_get(&client->queues[i].head) != plait_get(&client->queues[i].tail)) mask |= 1u << i;
    plait_put(&client->mask, mask);
    all |= mask;
    at = plait_load(&client->next);
  }
  struct plait_queue_walk walk = {0};
  for (struct plait_queue *queue; (queue = plait__pool_queue(pool, &walk)) != NULL;) {
    uint32_t tail = plait_get(&queue->tail);
    for (uint32_t i = plait_get(&queue->head); i != tail; i = plait__queue_after(queue, i), queued++) {
      struct plait_task *task = plait_at(plait_get(plait__queue_cell(queue, i)));
      plait_put(&task->state, PLAIT_TASK_QUEUED);
      plait_put(&task->position, i);
    }
  }
  atomic_store_explicit(&pool->mask, all, memory_order_seq_cst);
  atomic_store_explicit(&pool->queued, queued, memory_order_seq_cst);
}

uint32_t plait__queue_after(const struct plait_queue *queue, uint32_t position) {
  uint32_t tail = plait_get(&queue->tail);
  do position++;
  while (position != tail && plait_get(plait__queue_cell(queue, position)) == 0);
  return position;
}

void plait__queue_trim(struct plait_queue *queue) {
  uint32_t head = plait__queue_after(queue, plait_get(&queue->head) - 1), tail = plait_get(&queue->tail);
  plait_put(&queue->head, head);
  while (tail != head && plait_get(plait__queue_cell(queue, tail - 1)) == 0) tail--;
  plait_put(&queue->tail, tail);
}

void plait__queue_repair(struct plait_queue *queue) {
  uint32_t tail = plait_get(&queue->tail);
  for (uint32_t i = plait_get(&queue->head); i != tail; i++) {
    plait_word_t *cell = plait__queue_cell(queue, i);
    plait_ref_t ref = plait_get(cell);
    if (ref == 0) continue;
    struct plait_client *client = plait_at(plait_load(&((struct plait_task *)plait_at(ref))->client));
    if (plait_load(&client->inbox) == ref) plait_put(cell, 0);
  }
  plait__queue_trim(queue);
}
