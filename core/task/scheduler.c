/*
 * scheduler: putting tasks into a pool's queues, and choosing the next one.
 *
 * An aborted task leaves a hole in the middle of its queue, so that nothing has to move. The head or the tail passes
 * each hole once, and a full ring is compacted when it is copied. So a ring has at most FIRST_RING cells, or four times
 * as many as it ever held tasks at a time. The number of aborted tasks does not matter.
 */
#include "internal.h"

#define FIRST_RING 64u

static struct plait_task *queued_task(plait_ref_t ref) {
  return plait_at(ref);
}

/* Whether there is a free cell after the last one in use. */
static int has_room(const struct plait_queue *queue) {
  plait_ref_t ring = plait_get(&queue->ring);
  return ring != 0 &&
      plait_get(&queue->tail) - plait_get(&queue->head) < plait_get(&((struct plait_ring *)plait_at(ring))->capacity);
}

/*
 * Copies the tasks of a queue's ring to the end of `bigger`, an empty ring with at least as many cells. The cells
 * before them are holes until plait__queue_trim().
 */
static void copy_ring(const struct plait_queue *queue, struct plait_ring *bigger) {
  uint32_t mask = plait_get(&bigger->capacity) - 1, head = plait_get(&queue->head), to = plait_get(&queue->tail);
  for (uint32_t i = to; i != head;) {
    plait_ref_t ref = plait_get(plait__queue_cell(queue, --i));
    if (ref == 0) continue;
    plait_put(&bigger->cells[--to & mask], ref);
    plait_put(&queued_task(ref)->position, to);
  }
  while (to != head) plait_put(&bigger->cells[--to & mask], 0);
}

/*
 * How many cells a full queue's ring should have: twice as many, or as many as now if half of those in use are holes.
 */
static uint32_t wanted_capacity(const struct plait_queue *queue, uint32_t full) {
  uint32_t held = 0, tail = plait_get(&queue->tail);
  if (full == 0) return FIRST_RING;
  for (uint32_t i = plait_get(&queue->head); i != tail; i = plait__queue_after(queue, i)) held++;
  return held > full / 2 ? full * 2 : full;
}

/* Gives a full queue a larger ring. Takes and releases the lock itself, because no lock is held while allocating. */
static int grow_queue(struct plait_pool *pool, struct plait_queue *queue) {
  struct plait_slot *self = plait_self();
  int rc = plait__pool_lock(pool);
  if (rc != 0) return rc;
  plait_ref_t full_ref = plait_get(&queue->ring);
  uint32_t full = full_ref == 0 ? 0 : plait_get(&((struct plait_ring *)plait_at(full_ref))->capacity);
  uint32_t capacity = wanted_capacity(queue, full);
  plait_lock_release(&pool->lock);
  plait_ref_t bigger_ref = plait_heap_alloc_for(PLAIT_FOR_TASKS, (uint32_t)sizeof(struct plait_ring) + capacity * 4);
  if (bigger_ref == 0) return -PLAIT_ENOMEM;
  plait_put(&self->scratch, bigger_ref);
  struct plait_ring *bigger = plait_at(bigger_ref);
  rc = plait__pool_lock(pool);
  if (rc == 0) {
    plait_ref_t old_ref = plait_get(&queue->ring);
    struct plait_ring *old = old_ref == 0 ? NULL : plait_at(old_ref);
    /* Another submitter may have been faster; then the new ring is freed below. */
    if ((old == NULL ? 0 : plait_get(&old->capacity)) == full) {
      plait_put(&bigger->capacity, capacity);
      plait_put(&bigger->previous, old_ref);
      copy_ring(queue, bigger);
      plait_put(&queue->ring, bigger_ref); /* the commit; repair does the rest */
      plait_put(&self->scratch, old_ref);
      plait_put(&bigger->previous, 0);
      plait__queue_trim(queue);
    }
    plait_lock_release(&pool->lock);
  }
  plait_ref_t spare = plait_get(&self->scratch);
  plait_put(&self->scratch, 0);
  if (spare != 0) plait_heap_free(spare);
  return rc;
}

static struct plait_queue *queue_of(struct plait_task *task) {
  plait_ref_t place = plait_get(&task->place);
  if (place != 0) return &((struct plait_worker_place *)plait_at(place))->queue;
  return &((struct plait_client *)plait_at(plait_get(&task->client)))->queues[plait_get(&task->priority)];
}

/* Updates the derived state after a task was queued. pre: holds the lock. */
static void note_queued(struct plait_pool *pool, struct plait_task *task) {
  if (plait_get(&task->place) == 0) {
    struct plait_client *client = plait_at(plait_get(&task->client));
    uint32_t bit = 1u << plait_get(&task->priority);
    plait_put(&client->mask, plait_get(&client->mask) | bit);
    if ((plait_get(&pool->mask) & bit) == 0)
      atomic_store_explicit(&pool->mask, plait_get(&pool->mask) | bit, memory_order_seq_cst);
  }
  atomic_store_explicit(&pool->queued, plait_get(&pool->queued) + 1, memory_order_seq_cst);
}

/* Updates the derived state after a task has left its queue. pre: holds the lock. */
static void note_left(struct plait_pool *pool, struct plait_task *task, struct plait_queue *queue) {
  if (plait_get(&task->place) == 0 && plait_get(&queue->head) == plait_get(&queue->tail)) {
    struct plait_client *client = plait_at(plait_get(&task->client));
    plait_put(&client->mask, plait_get(&client->mask) & ~(1u << plait_get(&task->priority)));
  }
  /* see plait__worker_wake in wake.c */
  atomic_store_explicit(&pool->queued, plait_get(&pool->queued) - 1, memory_order_release);
}

/*
 * Whether the pool takes a task of the calling thread: 0, -PLAIT_EPIPE or -PLAIT_EAGAIN. It takes tasks of its own
 * workers also when its queue is full, and while it closes. A running task may await them: they must not wait for older
 * tasks, which wait for its worker. A task that may still end needs its subtasks.
 */
static int refusal(struct plait_pool *pool) {
  int is_inner = atomic_load_explicit(&plait_self()->pool, memory_order_relaxed) == plait_ref(pool);
  uint32_t state = plait_get(&pool->state);
  if (state != PLAIT_POOL_OPEN && !(is_inner && state == PLAIT_POOL_CLOSING)) return -PLAIT_EPIPE;
  return !is_inner && plait_get(&pool->queued) >= plait_get(&pool->queue_limit) ? -PLAIT_EAGAIN : 0;
}

int plait__queue_put(struct plait_pool *pool, plait_ref_t ref) {
  struct plait_task *task = queued_task(ref);
  struct plait_queue *queue = queue_of(task);
  for (;;) {
    int rc = plait__pool_lock(pool);
    if (rc != 0) return rc;
    rc = refusal(pool);
    if (rc == 0 && has_room(queue)) {
      uint32_t tail = plait_get(&queue->tail);
      plait_put(&task->state, PLAIT_TASK_QUEUED);
      plait_put(&task->position, tail);
      plait_put(plait__queue_cell(queue, tail), ref);
      plait_put(&queue->tail, tail + 1); /* the commit */
      plait_put(&plait_self()->building, 0);
      note_queued(pool, task);
      plait_lock_release(&pool->lock);
      return 0;
    }
    plait_lock_release(&pool->lock);
    if (rc == 0) rc = grow_queue(pool, queue);
    if (rc != 0) return rc;
  }
}

int plait__queue_put_back(struct plait_pool *pool, plait_ref_t ref) {
  struct plait_task *task = queued_task(ref);
  struct plait_queue *queue = queue_of(task);
  for (;;) {
    int rc = plait__pool_lock(pool);
    if (rc != 0) return rc;
    uint32_t state = plait_get(&pool->state);
    if (state != PLAIT_POOL_OPEN && state != PLAIT_POOL_CLOSING) rc = -PLAIT_EPIPE;
    /* Under the lock: a thread that aborts it from here on finds it in the queue. */
    else if (plait_load(&task->control) != 0) rc = -PLAIT_EINVAL;
    if (rc == 0 && has_room(queue)) {
      uint32_t head = plait_get(&queue->head);
      plait_put(&task->retries, plait_get(&task->retries) - 1);
      plait_put(&task->output_status, PLAIT_STATUS_NONE);
      plait_put(&task->started_ms, 0);
      plait_put(&task->stop_requested_ms, 0);
      plait_put(&task->state, PLAIT_TASK_QUEUED);
      plait_put(&task->position, head - 1);
      plait_put(plait__queue_cell(queue, head - 1), ref);
      plait_put(&queue->head, head - 1); /* the commit */
      plait_put(&plait_self()->adopted, 0);
      note_queued(pool, task);
      plait_lock_release(&pool->lock);
      return 0;
    }
    plait_lock_release(&pool->lock);
    if (rc == 0) rc = grow_queue(pool, queue);
    if (rc != 0) return rc;
  }
}

int plait__queue_withdraw(struct plait_pool *pool, plait_ref_t ref, struct plait_client **wake) {
  struct plait_task *task = queued_task(ref);
  struct plait_queue *queue = queue_of(task);
  uint32_t position = plait_get(&task->position), head = plait_get(&queue->head);
  if (position - head >= plait_get(&queue->tail) - head) return 0;
  plait_word_t *cell = plait__queue_cell(queue, position);
  if (plait_get(cell) != ref) return 0; /* it was taken; the position is stale */
  plait_put(&task->output_status, PLAIT_STATUS_STOPPED);
  *wake = plait__task_deliver(pool, ref, cell, 0, 1);
  plait__queue_trim(queue);
  note_left(pool, task, queue);
  return 1;
}

/* The client whose turn it is, among those with a queued task of this priority; NULL: none has one. */
static struct plait_client *client_in_turn(struct plait_pool *pool, uint32_t bit) {
  plait_ref_t turn = plait_get(&pool->turn);
  for (plait_ref_t at = turn; at != 0;) {
    struct plait_client *client = plait_at(at);
    if (plait_get(&client->mask) & bit) return client;
    at = plait_get(&client->next);
  }
  for (plait_ref_t at = plait_get(&pool->clients); at != turn;) {
    struct plait_client *client = plait_at(at);
    if (plait_get(&client->mask) & bit) return client;
    at = plait_get(&client->next);
  }
  return NULL;
}

/* The queue whose first task is next for the worker of a place; NULL: there is none. */
static struct plait_queue *choose(struct plait_pool *pool, plait_ref_t place_ref) {
  struct plait_worker_place *place = place_ref == 0 ? NULL : plait_at(place_ref);
  plait_ref_t first = place == NULL ? 0 : plait__queue_first(&place->queue);
  uint32_t own = first == 0 ? PLAIT_PRIORITY_COUNT : plait_get(&queued_task(first)->priority);
  for (uint32_t mask = plait_get(&pool->mask); mask != 0; mask &= mask - 1) {
    uint32_t priority = (uint32_t)__builtin_ctz(mask);
    if (own <= priority) break;
    struct plait_client *client = client_in_turn(pool, 1u << priority);
    if (client != NULL) {
      plait_put(&pool->turn, plait_get(&client->next));
      return &client->queues[priority];
    }
    plait_put(&pool->mask, plait_get(&pool->mask) & ~(1u << priority));
  }
  return first == 0 ? NULL : &place->queue;
}

/* As choose(), for a worker that helps only one client. */
static struct plait_queue *choose_of(struct plait_client *client, plait_ref_t place_ref) {
  struct plait_worker_place *place = place_ref == 0 ? NULL : plait_at(place_ref);
  if (place != NULL && plait__queue_first(&place->queue) != 0) return &place->queue;
  uint32_t mask = plait_get(&client->mask);
  return mask == 0 ? NULL : &client->queues[__builtin_ctz(mask)];
}

plait_ref_t plait__queue_take(struct plait_pool *pool, struct plait_slot *self, struct plait_client *only) {
  plait_ref_t place = plait_get(&self->place);
  struct plait_queue *queue = only == NULL ? choose(pool, place) : choose_of(only, place);
  if (queue == NULL) return 0;
  uint32_t head = plait_get(&queue->head), after = plait__queue_after(queue, head);
  plait_ref_t ref = plait_get(plait__queue_cell(queue, head));
  struct plait_task *task = queued_task(ref);
  plait_put(&self->running, ref);
  plait_put(&queue->head, after); /* the commit */
  plait_put(&task->state, PLAIT_TASK_RUNNING);
  plait_put(&task->worker, plait_self_id());
  note_left(pool, task, queue);
  plait_put(&self->tasks_taken, plait_get(&self->tasks_taken) + 1);
  return ref;
}
