/*
 * lane: the rings that a pool's queue is made of: walking over them, counting, and what a death leaves in them.
 *
 * What a lane holds is said by its ring, head and tail alone. `mask` and `queued` of pool and clients only repeat it,
 * for whoever must not look at every lane; a death may leave them behind, so repair counts anew.
 */
#include "internal.h"

static plait_word_t *seat_table(struct plait_pool *pool) {
  plait_ref_t table = plait_load(&pool->seats);
  return table == 0 ? NULL : plait_at(table);
}

struct plait_lane *plait__pool_lane(struct plait_pool *pool, struct plait_lane_walk *walk) {
  if (walk->seats == 0 && walk->index == 0 && walk->client == 0) walk->client = plait_load(&pool->clients);
  if (walk->seats == 0 && walk->index == PLAIT_LANE_COUNT) {
    walk->client = plait_load(&((struct plait_client *)plait_at(walk->client))->next);
    walk->index = 0;
  }
  if (walk->client != 0) return &((struct plait_client *)plait_at(walk->client))->lanes[walk->index++];
  if (walk->seats == 0) walk->seats = 1, walk->index = 0;
  plait_word_t *table = seat_table(pool);
  while (table != NULL && walk->index < PLAIT_SEAT_LIMIT) {
    plait_ref_t seat = plait_load(&table[walk->index++]);
    if (seat != 0) return &((struct plait_seat *)plait_at(seat))->lane;
  }
  return NULL;
}

void plait__pool_recount(struct plait_pool *pool) {
  uint32_t all = 0, queued = 0;
  for (plait_ref_t at = plait_load(&pool->clients); at != 0;) {
    struct plait_client *client = plait_at(at);
    uint32_t mask = 0;
    for (uint32_t i = 0; i < PLAIT_LANE_COUNT; i++)
      if (plait_get(&client->lanes[i].head) != plait_get(&client->lanes[i].tail)) mask |= 1u << i;
    plait_put(&client->mask, mask);
    all |= mask;
    at = plait_load(&client->next);
  }
  struct plait_lane_walk walk = {0};
  for (struct plait_lane *lane; (lane = plait__pool_lane(pool, &walk)) != NULL;) {
    uint32_t tail = plait_get(&lane->tail);
    for (uint32_t i = plait_get(&lane->head); i != tail; i = plait__lane_after(lane, i), queued++) {
      struct plait_task *task = plait_at(plait_get(plait__lane_cell(lane, i)));
      plait_put(&task->state, PLAIT_TASK_QUEUED);
      plait_put(&task->position, i);
    }
  }
  atomic_store_explicit(&pool->mask, all, memory_order_seq_cst);
  atomic_store_explicit(&pool->queued, queued, memory_order_seq_cst);
}

uint32_t plait__lane_after(const struct plait_lane *lane, uint32_t position) {
  uint32_t tail = plait_get(&lane->tail);
  do position++;
  while (position != tail && plait_get(plait__lane_cell(lane, position)) == 0);
  return position;
}

void plait__lane_trim(struct plait_lane *lane) {
  uint32_t head = plait__lane_after(lane, plait_get(&lane->head) - 1), tail = plait_get(&lane->tail);
  plait_put(&lane->head, head);
  while (tail != head && plait_get(plait__lane_cell(lane, tail - 1)) == 0) tail--;
  plait_put(&lane->tail, tail);
}

void plait__lane_repair(struct plait_lane *lane) {
  uint32_t tail = plait_get(&lane->tail);
  for (uint32_t i = plait_get(&lane->head); i != tail; i++) {
    plait_word_t *cell = plait__lane_cell(lane, i);
    plait_ref_t ref = plait_get(cell);
    if (ref == 0) continue;
    struct plait_client *client = plait_at(plait_load(&((struct plait_task *)plait_at(ref))->client));
    if (plait_load(&client->inbox) == ref) plait_put(cell, 0);
  }
  plait__lane_trim(lane);
}
