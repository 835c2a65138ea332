/*
 * task check: walks all pools, each under its lock. Queues and inboxes name live tasks in the right state, and each
 * list ends.
 */
#include "internal.h"

/* No space holds more tasks: a longer list is circular. */
#define MOST_TASKS (UINT32_MAX / (uint32_t)sizeof(struct plait_task))

static int check_task(plait_ref_t ref, uint32_t state, plait_ref_t pool) {
  if (plait_heap_size(ref) < sizeof(struct plait_task)) return 0;
  struct plait_task *task = plait_at(ref);
  struct plait_client *client = plait_at(plait_load(&task->client));
  return plait_load(&task->state) == state && plait_load(&client->pool) == pool;
}

static int check_queue(struct plait_queue *queue, plait_ref_t pool, int has_affinity) {
  uint32_t head = plait_load(&queue->head), tail = plait_load(&queue->tail);
  if (plait_load(&queue->ring) == 0) return head == tail;
  struct plait_ring *ring = plait_at(plait_load(&queue->ring));
  uint32_t capacity = plait_load(&ring->capacity);
  if (capacity == 0 || (capacity & (capacity - 1)) != 0 || tail - head > capacity || plait_load(&ring->previous) != 0)
    return 0;
  for (uint32_t i = head; i != tail; i++) {
    plait_ref_t task = plait_load(&ring->cells[i & (capacity - 1)]);
    if (task == 0 && i != head && i != tail - 1) continue;
    if (!check_task(task, PLAIT_TASK_QUEUED, pool) || plait_load(&((struct plait_task *)plait_at(task))->position) != i)
      return 0;
    if ((plait_load(&((struct plait_task *)plait_at(task))->place) != 0) != has_affinity) return 0;
  }
  return 1;
}

static int check_pool(plait_ref_t ref) {
  struct plait_pool *pool = plait_at(ref);
  if (plait_load(&pool->places) == 0) return 0; /* not open yet, or being freed */
  if (((plait_load(&pool->signal) & plait_load(&pool->parking)) & 1) == 0) return -PLAIT_EILSEQ;
  uint32_t mask = plait_load(&pool->mask), queued = plait_load(&pool->queued);
  struct plait_queue_walk walk = {0};
  for (struct plait_queue *queue; (queue = plait__pool_queue(pool, &walk)) != NULL;)
    if (!check_queue(queue, ref, (int)walk.places)) return -PLAIT_EILSEQ;
  plait__pool_recount(pool);
  uint32_t all = plait_load(&pool->mask);
  if (plait_load(&pool->state) <= PLAIT_POOL_CLOSING && ((mask & all) != all || queued != plait_load(&pool->queued)))
    return -PLAIT_EILSEQ;
  for (plait_ref_t at = plait_load(&pool->clients); at != 0;
      at = plait_load(&((struct plait_client *)plait_at(at))->next)) {
    struct plait_client *client = plait_at(at);
    uint32_t listed = 0;
    /* Otherwise a worker could wait forever, because no drain lowers the count. */
    uint32_t message_bytes = plait_load(&client->message_bytes);
    if (plait_load(&client->owner) != 0 && plait_load(&client->inbox) == 0 && message_bytes != 0 &&
        message_bytes != PLAIT_MESSAGES_CLOSED)
      return -PLAIT_EILSEQ;
    for (plait_ref_t task = plait_load(&client->inbox); task != 0;
        task = plait_load(&((struct plait_task *)plait_at(task))->next))
      if (++listed > MOST_TASKS || !check_task(task, PLAIT_TASK_DONE, ref)) return -PLAIT_EILSEQ;
  }
  return 0;
}

static int check_pools(void) {
  for (uint32_t i = 0; i < PLAIT_POOL_LIMIT; i++) {
    plait_ref_t ref = plait_load(&plait_task_root()->pools[i]);
    if (ref == 0) continue;
    struct plait_pool *pool = plait_at(ref);
    int rc = plait__pool_lock(pool);
    if (rc != 0) return rc;
    rc = check_pool(ref);
    plait_lock_release(&pool->lock);
    if (rc != 0) return rc;
  }
  return 0;
}

int plait_task_check(void) {
  /* Pools are freed only under the recovery lock. */
  int rc = plait_lock_acquire(&plait_space()->recovery);
  if (rc < 0) return rc;
  rc = check_pools();
  plait_lock_release(&plait_space()->recovery);
  return rc;
}
