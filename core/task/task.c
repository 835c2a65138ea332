/*
 * task: making, submitting, taking, finishing and draining. The order of the stores is the proof; see task.h.
 */
#include "task.h"

static struct plait_task *task_at(plait_ref_t ref) {
  return plait_at(ref);
}

static struct plait_pool *pool_of_client(plait_ref_t client) {
  return plait_at(atomic_load_explicit(&((struct plait_client *)plait_at(client))->pool, memory_order_relaxed));
}

static struct plait_ring *ring_of(struct plait_pool *pool) {
  return plait_at(atomic_load_explicit(&pool->ring, memory_order_relaxed));
}

static plait_word_t *cell_of(struct plait_ring *ring, uint32_t position) {
  return &ring->cells[position & (atomic_load_explicit(&ring->capacity, memory_order_relaxed) - 1)];
}

PLAIT_EXPORT plait_ref_t plait_task_create(plait_ref_t client, uint32_t size) {
  int apart = size > PLAIT_TASK_INPUT_INLINE;
  uint32_t capacity = apart || size < PLAIT_TASK_INLINE ? PLAIT_TASK_INLINE : size;
  plait_ref_t ref = plait_heap_alloc((uint32_t)sizeof(struct plait_task) + capacity);
  if (ref == 0) return 0;
  struct plait_task *task = task_at(ref);
  atomic_store_explicit(&task->state, PLAIT_TASK_BUILDING, memory_order_relaxed);
  atomic_store_explicit(&task->next, 0, memory_order_relaxed);
  atomic_store_explicit(&task->client, client, memory_order_relaxed);
  atomic_store_explicit(&task->worker, 0, memory_order_relaxed);
  atomic_store_explicit(&task->capacity, capacity, memory_order_relaxed);
  atomic_store_explicit(&task->input_low, ref + (plait_ref_t)sizeof *task, memory_order_relaxed);
  atomic_store_explicit(&task->input_high, size, memory_order_relaxed);
  atomic_store_explicit(&task->output_status, PLAIT_STATUS_NONE, memory_order_relaxed);
  atomic_store_explicit(&task->output_block, 0, memory_order_relaxed);
  atomic_store_explicit(&task->input_block, 0, memory_order_relaxed);
  atomic_store_explicit(&task->link, 0, memory_order_relaxed);
  atomic_store_explicit(&plait_self()->building, ref, memory_order_release);
  if (!apart) return ref;
  plait_ref_t block = plait_heap_alloc(size);
  if (block == 0) {
    plait_task_discard(ref);
    return 0;
  }
  atomic_store_explicit(&task->input_low, block, memory_order_relaxed);
  atomic_store_explicit(&task->input_block, block, memory_order_release);
  return ref;
}

/* Frees a block that a task's word names. The word goes first: see recover.c. */
static void free_block(plait_word_t *word) {
  plait_ref_t block = atomic_load_explicit(word, memory_order_relaxed);
  if (block == 0) return;
  atomic_store_explicit(word, 0, memory_order_release);
  plait_heap_free(block);
}

void plait__task_strip(plait_ref_t ref) {
  free_block(&task_at(ref)->input_block);
  free_block(&task_at(ref)->output_block);
}

PLAIT_EXPORT void plait_task_discard(plait_ref_t ref) {
  plait__task_strip(ref);
  atomic_store_explicit(&plait_self()->building, 0, memory_order_release);
  plait_heap_free(ref);
}

PLAIT_EXPORT void plait_task_free(plait_ref_t ref) {
  struct plait_client *client = plait_at(atomic_load_explicit(&task_at(ref)->client, memory_order_relaxed));
  plait_word_t *link = &client->drained;
  plait_ref_t at;
  while ((at = atomic_load_explicit(link, memory_order_relaxed)) != ref) {
    if (at == 0) return;
    link = &task_at(at)->link;
  }
  plait__task_strip(ref);
  atomic_store_explicit(link, atomic_load_explicit(&task_at(ref)->link, memory_order_relaxed), memory_order_release);
  plait_heap_free(ref);
}

static void empty_list(plait_word_t *first, int drained) {
  plait_ref_t ref;
  while ((ref = atomic_load_explicit(first, memory_order_acquire)) != 0) {
    plait_word_t *next = drained ? &task_at(ref)->link : &task_at(ref)->next;
    plait__task_strip(ref);
    atomic_store_explicit(first, atomic_load_explicit(next, memory_order_relaxed), memory_order_release);
    plait_heap_free(ref);
  }
}

void plait__client_empty(struct plait_client *client) {
  plait_ref_t both = atomic_load_explicit(&client->taken, memory_order_acquire); /* see plait_client_drain */
  if (both != 0 && both == atomic_load_explicit(&client->drained, memory_order_relaxed))
    atomic_store_explicit(&client->taken, atomic_load_explicit(&task_at(both)->next, memory_order_relaxed),
                          memory_order_release);
  empty_list(&client->inbox, 0);
  empty_list(&client->taken, 0);
  empty_list(&client->drained, 1);
}

/* Doubles the ring of a full queue. Takes and gives back the lock itself: no lock is held while memory is asked for. */
static int grow_ring(struct plait_pool *pool, uint32_t full_capacity) {
  struct plait_slot *self = plait_self();
  plait_ref_t bigger_ref = plait_heap_alloc((uint32_t)sizeof(struct plait_ring) + full_capacity * 2 * 4);
  if (bigger_ref == 0) return -PLAIT_ENOMEM;
  atomic_store_explicit(&self->scratch, bigger_ref, memory_order_release);
  struct plait_ring *bigger = plait_at(bigger_ref);
  int rc = plait__pool_lock(pool);
  if (rc == 0) {
    plait_ref_t old_ref = atomic_load_explicit(&pool->ring, memory_order_relaxed);
    struct plait_ring *old = plait_at(old_ref);
    /* Another submitter may have been quicker; then the new ring is what is freed below. */
    if (atomic_load_explicit(&old->capacity, memory_order_relaxed) == full_capacity) {
      atomic_store_explicit(&bigger->capacity, full_capacity * 2, memory_order_relaxed);
      atomic_store_explicit(&bigger->previous, old_ref, memory_order_relaxed);
      uint32_t tail = atomic_load_explicit(&pool->tail, memory_order_relaxed);
      for (uint32_t i = atomic_load_explicit(&pool->head, memory_order_relaxed); i != tail; i++)
        atomic_store_explicit(cell_of(bigger, i), atomic_load_explicit(cell_of(old, i), memory_order_relaxed),
                              memory_order_relaxed);
      atomic_store_explicit(&pool->ring, bigger_ref, memory_order_release); /* the commit; repair knows the rest */
      atomic_store_explicit(&self->scratch, old_ref, memory_order_release);
      atomic_store_explicit(&bigger->previous, 0, memory_order_relaxed);
    }
    plait_lock_release(&pool->lock);
  }
  plait_ref_t spare = atomic_load_explicit(&self->scratch, memory_order_relaxed);
  atomic_store_explicit(&self->scratch, 0, memory_order_release);
  plait_heap_free(spare);
  return rc;
}

PLAIT_EXPORT int plait_task_submit(plait_ref_t ref) {
  struct plait_task *task = task_at(ref);
  struct plait_pool *pool = pool_of_client(atomic_load_explicit(&task->client, memory_order_relaxed));
  for (;;) {
    int rc = plait__pool_lock(pool);
    if (rc != 0) return rc;
    if (atomic_load_explicit(&pool->state, memory_order_relaxed) != PLAIT_POOL_OPEN) {
      plait_lock_release(&pool->lock);
      return -PLAIT_EPIPE;
    }
    struct plait_ring *ring = ring_of(pool);
    uint32_t tail = atomic_load_explicit(&pool->tail, memory_order_relaxed);
    uint32_t capacity = atomic_load_explicit(&ring->capacity, memory_order_relaxed);
    if (tail - atomic_load_explicit(&pool->head, memory_order_relaxed) < capacity) {
      atomic_store_explicit(&task->state, PLAIT_TASK_QUEUED, memory_order_relaxed);
      atomic_store_explicit(cell_of(ring, tail), ref, memory_order_relaxed);
      atomic_store_explicit(&pool->tail, tail + 1, memory_order_seq_cst); /* the commit */
      atomic_store_explicit(&plait_self()->building, 0, memory_order_release);
      plait_lock_release(&pool->lock);
      break;
    }
    plait_lock_release(&pool->lock);
    rc = grow_ring(pool, capacity);
    if (rc != 0) return rc;
  }
  /*
   * seq_cst: pairs with plait_worker_sleep_begin. Either this load sees the sleeper, or the sleeper's look at the
   * queue comes later and sees the task.
   */
  if (atomic_load_explicit(&pool->sleepers, memory_order_seq_cst) != 0) {
    atomic_fetch_add_explicit(&pool->signal, 2, memory_order_seq_cst);
    plait_platform_notify(&pool->signal, 1);
  }
  return 0;
}

struct plait_client *plait__task_deliver(struct plait_pool *pool, plait_ref_t ref, plait_word_t *intent,
                                         uint32_t after) {
  struct plait_task *task = task_at(ref);
  struct plait_client *client = plait_at(atomic_load_explicit(&task->client, memory_order_relaxed));
  atomic_fetch_add_explicit(&pool->finished, 1, memory_order_relaxed);
  if (atomic_load_explicit(&client->owner, memory_order_relaxed) == 0) {
    atomic_fetch_add_explicit(&pool->dropped, 1, memory_order_relaxed);
    plait__task_strip(ref);
    atomic_store_explicit(intent, after, memory_order_release);
    plait_heap_free(ref);
    return NULL;
  }
  uint32_t inbox = atomic_load_explicit(&client->inbox, memory_order_relaxed);
  atomic_store_explicit(&task->next, inbox, memory_order_relaxed);
  atomic_store_explicit(&task->state, PLAIT_TASK_DONE, memory_order_relaxed);
  atomic_store_explicit(&client->inbox, ref, memory_order_seq_cst); /* the commit */
  atomic_store_explicit(intent, after, memory_order_release);
  return inbox == 0 ? client : NULL;
}

void plait__client_wake(struct plait_client *client) {
  atomic_fetch_add_explicit(&client->signal, 1, memory_order_seq_cst);
  plait_platform_notify(&client->signal, UINT32_MAX);
}

/* Takes the task at the head for the calling worker. pre: holds the lock. */
static uint32_t take(struct plait_pool *pool, struct plait_slot *self) {
  if (atomic_load_explicit(&self->condemned, memory_order_relaxed) != 0) return PLAIT_NEXT_STOP;
  uint32_t state = atomic_load_explicit(&pool->state, memory_order_relaxed);
  uint32_t head = atomic_load_explicit(&pool->head, memory_order_relaxed);
  if (head == atomic_load_explicit(&pool->tail, memory_order_relaxed))
    return state == PLAIT_POOL_OPEN ? PLAIT_NEXT_NONE : PLAIT_NEXT_STOP;
  plait_ref_t ref = atomic_load_explicit(cell_of(ring_of(pool), head), memory_order_relaxed);
  struct plait_task *task = task_at(ref);
  atomic_store_explicit(&self->running, ref, memory_order_release);
  atomic_store_explicit(&pool->head, head + 1, memory_order_release); /* the commit */
  atomic_store_explicit(&task->state, PLAIT_TASK_RUNNING, memory_order_relaxed);
  atomic_store_explicit(&task->worker, plait_self_id(), memory_order_relaxed);
  atomic_fetch_add_explicit(&self->takes, 1, memory_order_relaxed);
  return ref;
}

PLAIT_EXPORT uint32_t plait_task_next(plait_ref_t finished, uint32_t busy_us) {
  struct plait_slot *self = plait_self();
  struct plait_pool *pool = plait_at(atomic_load_explicit(&self->pool, memory_order_relaxed));
  struct plait_client *wake = NULL;
  int deliver = finished != 0 && atomic_load_explicit(&self->running, memory_order_relaxed) == finished;
  if (deliver) free_block(&task_at(finished)->input_block);
  if (plait__pool_lock(pool) != 0) return PLAIT_NEXT_RETRY;
  if (deliver) {
    wake = plait__task_deliver(pool, finished, &self->running, 0);
    atomic_fetch_add_explicit(&self->tasks_done, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&self->busy_us, busy_us, memory_order_relaxed);
  }
  uint32_t next = take(pool, self);
  plait_lock_release(&pool->lock);
  if (wake != NULL) plait__client_wake(wake);
  return next;
}

PLAIT_EXPORT int plait_task_finish(plait_ref_t ref) {
  struct plait_slot *self = plait_self();
  if (ref == 0 || atomic_load_explicit(&self->adopted, memory_order_relaxed) != ref) return -PLAIT_EINVAL;
  struct plait_pool *pool = pool_of_client(atomic_load_explicit(&task_at(ref)->client, memory_order_relaxed));
  int rc = plait__pool_lock(pool);
  if (rc != 0) return rc;
  struct plait_client *wake = plait__task_deliver(pool, ref, &self->adopted, 0);
  plait_lock_release(&pool->lock);
  if (wake != NULL) plait__client_wake(wake);
  return 0;
}

PLAIT_EXPORT plait_ref_t plait_task_output(plait_ref_t ref, uint32_t size) {
  struct plait_task *task = task_at(ref);
  free_block(&task->output_block);
  if (size <= atomic_load_explicit(&task->capacity, memory_order_relaxed)) return ref + (plait_ref_t)sizeof *task;
  plait_ref_t block = plait_heap_alloc(size);
  atomic_store_explicit(&task->output_block, block, memory_order_relaxed);
  return block;
}

PLAIT_EXPORT plait_ref_t plait_client_drain(plait_ref_t client_ref) {
  struct plait_client *client = plait_at(client_ref);
  struct plait_pool *pool = pool_of_client(client_ref);
  if (atomic_load_explicit(&client->inbox, memory_order_seq_cst) == 0) return 0;
  if (plait__pool_lock(pool) != 0) return 0;
  /* Between the two stores both words name the tasks; after a death there, repair undoes the first. */
  plait_ref_t task = atomic_load_explicit(&client->inbox, memory_order_relaxed);
  atomic_store_explicit(&client->taken, task, memory_order_release);
  atomic_store_explicit(&client->inbox, 0, memory_order_release);
  plait_lock_release(&pool->lock);
  plait_ref_t oldest = 0;
  while (task != 0) { /* from one list to the other, one by one: in between it is the first of both */
    plait_ref_t next = atomic_load_explicit(&task_at(task)->next, memory_order_relaxed);
    atomic_store_explicit(&task_at(task)->link, atomic_load_explicit(&client->drained, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(&client->drained, task, memory_order_release);
    atomic_store_explicit(&client->taken, next, memory_order_release);
    atomic_store_explicit(&task_at(task)->next, oldest, memory_order_release);
    oldest = task;
    task = next;
  }
  return oldest;
}
