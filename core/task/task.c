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

PLAIT_EXPORT plait_ref_t plait_task_create(plait_ref_t client, uint32_t size) {
  int apart = size > PLAIT_TASK_INPUT_INLINE;
  uint32_t capacity = apart || size < PLAIT_TASK_INLINE ? PLAIT_TASK_INLINE : size;
  plait_ref_t ref = plait_heap_alloc_for(PLAIT_FOR_TASKS, (uint32_t)sizeof(struct plait_task) + capacity);
  if (ref == 0) return 0;
  struct plait_task *task = task_at(ref);
  plait_put(&task->state, PLAIT_TASK_BUILDING);
  plait_put(&task->next, 0);
  plait_put(&task->client, client);
  plait_put(&task->worker, 0);
  plait_put(&task->capacity, capacity);
  plait_put(&task->input_low, ref + (plait_ref_t)sizeof *task);
  plait_put(&task->input_high, size);
  plait_put(&task->output_status, PLAIT_STATUS_NONE);
  plait_put(&task->output_block, 0);
  plait_put(&task->input_block, 0);
  plait_put(&task->name_block, 0);
  plait_put(&task->link, 0);
  plait_put(&task->lane, PLAIT_LANE_COUNT / 2);
  plait_put(&task->seat, 0);
  plait_put(&task->control, 0);
  plait_put(&task->timeout_ms, 0);
  plait_put(&task->started_ms, 0);
  plait_put(&task->told_ms, 0);
  plait_put(&task->retries, 0);
  plait_put(&plait_self()->building, ref);
  if (!apart) return ref;
  plait_ref_t block = plait_heap_alloc_for(PLAIT_FOR_TASKS, size);
  if (block == 0) {
    plait_task_discard(ref);
    return 0;
  }
  plait_put(&task->input_low, block);
  plait_put(&task->input_block, block);
  return ref;
}

/* Frees a block that a task's word names. The word goes first: see recover.c. */
static void free_block(plait_word_t *word) {
  plait_ref_t block = plait_get(word);
  if (block == 0) return;
  plait_put(word, 0);
  plait_heap_free(block);
}

void plait__task_strip(plait_ref_t ref) {
  free_block(&task_at(ref)->input_block);
  free_block(&task_at(ref)->output_block);
  free_block(&task_at(ref)->name_block);
}

PLAIT_EXPORT void plait_task_discard(plait_ref_t ref) {
  plait__task_strip(ref);
  plait_put(&plait_self()->building, 0);
  plait_heap_free(ref);
}

PLAIT_EXPORT void plait_task_free(plait_ref_t ref) {
  struct plait_client *client = plait_at(plait_get(&task_at(ref)->client));
  plait_word_t *link = &client->drained;
  plait_ref_t at;
  while ((at = plait_get(link)) != ref) {
    if (at == 0) return;
    link = &task_at(at)->link;
  }
  plait__task_strip(ref);
  plait_put(link, plait_get(&task_at(ref)->link));
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
    atomic_store_explicit(
        &client->taken, atomic_load_explicit(&task_at(both)->next, memory_order_relaxed), memory_order_release);
  empty_list(&client->inbox, 0);
  empty_list(&client->taken, 0);
  empty_list(&client->drained, 1);
}

/*
 * seq_cst: pairs with begin_sleep in worker.c. Either this load sees the sleeper, or the sleeper's look at the lanes
 * comes later and sees the task. Likewise with look() there, for a worker that has found nothing: it looks once more
 * after it has taken its name away.
 *
 * Nobody is woken where nothing is queued any more, or where one task is and then a name is seen. Whose name is seen
 * after that count has yet to come for a task, or to look once more: it takes the name away before what it takes is
 * counted out. With the two loads the other way round it might have come for another task in between, and left this
 * one.
 */
void plait__worker_wake(struct plait_pool *pool, int all) {
  uint32_t wanted = PLAIT_ALERT_ANY, queued = atomic_load_explicit(&pool->queued, memory_order_seq_cst);
  if (queued == 0 || (!all && queued == 1 && atomic_load_explicit(&pool->looking, memory_order_seq_cst) != 0)) return;
  if (atomic_load_explicit(&pool->sleepers, memory_order_seq_cst) != 0) {
    uint32_t count = all ? UINT32_MAX : 1;
    atomic_fetch_add_explicit(&pool->signal, 2, memory_order_seq_cst);
    if (plait_platform_notify(&pool->signal, count) != 0 && !all) return;
    atomic_fetch_add_explicit(&pool->parking, 2, memory_order_seq_cst);
    /* 0: somebody is on its way already, for another task perhaps. */
    if (plait_platform_notify(&pool->parking, count) != 0) wanted = PLAIT_ALERT_PARKED;
  }
  if (plait_get(&pool->alert) >= wanted &&
      atomic_exchange_explicit(&pool->alert, PLAIT_ALERT_NONE, memory_order_seq_cst) != PLAIT_ALERT_NONE)
    plait_pool_attend(plait_ref(pool));
}

PLAIT_EXPORT void plait_pool_attend(plait_ref_t ref) {
  struct plait_pool *pool = plait_at(ref);
  atomic_fetch_add_explicit(&pool->attention, 1, memory_order_seq_cst);
  plait_platform_notify(&pool->attention, UINT32_MAX);
}

PLAIT_EXPORT int plait_task_submit(plait_ref_t ref) {
  struct plait_pool *pool = pool_of_client(plait_get(&task_at(ref)->client));
  int seated = plait_get(&task_at(ref)->seat) != 0;
  int rc = plait__lane_put(pool, ref);
  if (rc == 0) plait__worker_wake(pool, seated || plait_get(&pool->wake_all) != 0);
  return rc;
}

PLAIT_EXPORT int plait_task_abort(plait_ref_t ref) {
  struct plait_pool *pool = pool_of_client(plait_get(&task_at(ref)->client));
  atomic_fetch_or_explicit(&task_at(ref)->control, PLAIT_STOP_ABORT, memory_order_seq_cst);
  int rc = plait__pool_lock(pool);
  if (rc != 0) return rc;
  struct plait_client *wake = NULL;
  rc = plait__lane_withdraw(pool, ref, &wake);
  plait_lock_release(&pool->lock);
  if (rc == 1) free_block(&task_at(ref)->input_block); /* the caller may be slow to drain */
  if (wake != NULL) plait__client_wake(wake);
  return rc;
}

PLAIT_EXPORT int plait_task_requeue(plait_ref_t ref) {
  if (ref == 0 || plait_get(&plait_self()->adopted) != ref || plait_get(&task_at(ref)->retries) == 0)
    return -PLAIT_EINVAL;
  struct plait_pool *pool = pool_of_client(plait_get(&task_at(ref)->client));
  int rc = plait__lane_put_back(pool, ref);
  if (rc == 0) plait__worker_wake(pool, 1);
  return rc;
}

PLAIT_EXPORT int plait_task_emit(plait_ref_t ref) {
  struct plait_pool *pool = pool_of_client(plait_get(&task_at(ref)->client));
  int rc = plait__pool_lock(pool);
  if (rc != 0) return rc;
  struct plait_client *wake = NULL, *client = plait_at(plait_get(&task_at(ref)->client));
  plait_ref_t of = plait_get(&task_at(ref)->link);
  plait_ref_t apart = plait_get(&task_at(ref)->input_block);
  uint32_t words = plait_get(&client->words), size = plait_heap_size(ref) + (apart == 0 ? 0 : plait_heap_size(apart));
  if (plait_get(&client->owner) == 0 || words == PLAIT_WORDS_CLOSED) rc = -PLAIT_EPIPE;
  else if (of != 0 && (plait_load(&task_at(of)->control) & PLAIT_STOP_GIVEN_UP) != 0) rc = -PLAIT_EPIPE;
  else if (words != 0 && size > PLAIT_PROGRESS_LIMIT - words) rc = -PLAIT_EAGAIN; /* a single one may be larger */
  else {
    plait_put(&task_at(ref)->link, 0);
    wake = plait__task_deliver(pool, ref, &plait_self()->building, 0, 0);
    /* Last: what is counted is there, so that draining it makes room again. */
    plait_put(&client->words, size > PLAIT_PROGRESS_LIMIT - words ? PLAIT_PROGRESS_LIMIT : words + size);
  }
  plait_lock_release(&pool->lock);
  if (wake != NULL) plait__client_wake(wake);
  return rc;
}

struct plait_client *plait__task_deliver(
    struct plait_pool *pool, plait_ref_t ref, plait_word_t *intent, uint32_t after, int counts) {
  struct plait_task *task = task_at(ref);
  struct plait_client *client = plait_at(plait_get(&task->client));
  if ((plait_load(&task->control) & PLAIT_STOP_GIVEN_UP) != 0) {
    counts = 0;
    plait_put(&task->output_status, PLAIT_STATUS_DROPPED);
  }
  if (counts) plait_put(&pool->finished, plait_get(&pool->finished) + 1);
  if (plait_get(&client->owner) == 0) {
    if (counts) plait_put(&pool->dropped, plait_get(&pool->dropped) + 1);
    plait__task_strip(ref);
    plait_put(intent, after);
    plait_heap_free(ref);
    return NULL;
  }
  uint32_t inbox = plait_get(&client->inbox);
  plait_put(&task->next, inbox);
  plait_put(&task->state, PLAIT_TASK_DONE);
  plait_put(&pool->unread, plait_get(&pool->unread) + 1);
  atomic_store_explicit(&client->inbox, ref, memory_order_seq_cst); /* the commit */
  plait_put(intent, after);
  return inbox == 0 ? client : NULL;
}

void plait__client_wake(struct plait_client *client) {
  atomic_fetch_add_explicit(&client->signal, 1, memory_order_seq_cst);
  plait_platform_notify(&client->signal, UINT32_MAX);
}

/* Takes the next task for the calling worker. pre: holds the lock. */
static uint32_t take(struct plait_pool *pool, struct plait_slot *self) {
  if (plait_load(&self->condemned) != PLAIT_CONDEMNED_NOT) return PLAIT_NEXT_STOP;
  plait_ref_t ref = plait__lane_take(pool, self, NULL);
  if (ref != 0) return ref;
  return plait_get(&pool->state) == PLAIT_POOL_OPEN ? PLAIT_NEXT_NONE : PLAIT_NEXT_STOP;
}

/* Takes the name away that the calling worker has put up while it looked (see look() in worker.c): whether it had. */
static int take_name_away(struct plait_pool *pool) {
  if (plait_get(&pool->looking) != plait_self_id()) return 0;
  atomic_store_explicit(&pool->looking, 0, memory_order_seq_cst);
  return 1;
}

/* What a finished task needs no more. What may be run again is kept. */
static void free_input(plait_ref_t ref) {
  if (plait_get(&task_at(ref)->retries) != 0) return;
  free_block(&task_at(ref)->input_block);
  free_block(&task_at(ref)->name_block);
}

PLAIT_EXPORT uint32_t plait_task_next(plait_ref_t finished, uint32_t busy_us) {
  struct plait_slot *self = plait_self();
  struct plait_pool *pool = plait_at(plait_get(&self->pool));
  struct plait_client *wake = NULL;
  int deliver = finished != 0 && plait_get(&self->running) == finished;
  if (deliver) free_input(finished);
  if (plait__pool_lock(pool) != 0) {
    if (take_name_away(pool)) { /* for the tasks that relied on it: the caller may be away for long */
      plait_pool_rouse(plait_ref(pool));
      plait_pool_attend(plait_ref(pool));
    }
    return PLAIT_NEXT_RETRY;
  }
  take_name_away(pool); /* before the next task is counted out: see plait__worker_wake */
  if (deliver) {
    wake = plait__task_deliver(pool, finished, &self->running, 0, 1);
    plait_put(&self->tasks_done, plait_get(&self->tasks_done) + 1);
    plait_put64(&self->busy_us, plait_get64(&self->busy_us) + busy_us);
  }
  uint32_t next = take(pool, self);
  plait_lock_release(&pool->lock);
  if (wake != NULL) plait__client_wake(wake);
  /* it was woken, or looked, for a task that others must take now */
  if (next == PLAIT_NEXT_STOP) plait_pool_wake(pool);
  return next;
}

PLAIT_EXPORT uint32_t plait_task_help(plait_ref_t client) {
  struct plait_slot *self = plait_self();
  struct plait_pool *pool = plait_at(plait_get(&self->pool));
  if (plait__pool_lock(pool) != 0) return PLAIT_NEXT_RETRY;
  uint32_t next = PLAIT_NEXT_NONE;
  if (plait_load(&self->condemned) != PLAIT_CONDEMNED_STOPPED) next = plait__lane_take(pool, self, plait_at(client));
  plait_lock_release(&pool->lock);
  return next;
}

PLAIT_EXPORT int plait_task_hold(void) {
  struct plait_slot *self = plait_self();
  plait_ref_t ref = plait_get(&self->running);
  if (ref == 0) return -PLAIT_EINVAL;
  struct plait_pool *pool = plait_at(plait_get(&self->pool));
  int rc = plait__pool_lock(pool);
  if (rc != 0) return rc;
  plait_put(&task_at(ref)->link, plait_get(&self->holding));
  plait_put(&self->holding, ref); /* the commit; repair clears `running` if it does not come to the next store */
  plait_put(&self->running, 0);
  plait_lock_release(&pool->lock);
  return 0;
}

/* The word that names `ref` in the list of what the caller holds; NULL: none does. */
static plait_word_t *held_link(struct plait_slot *self, plait_ref_t ref) {
  plait_word_t *link = &self->holding;
  for (plait_ref_t at; (at = plait_get(link)) != ref; link = &task_at(at)->link)
    if (at == 0) return NULL;
  return link;
}

PLAIT_EXPORT int plait_task_finish(plait_ref_t ref) {
  struct plait_slot *self = plait_self();
  if (ref == 0) return -PLAIT_EINVAL;
  int adopted = plait_get(&self->adopted) == ref, running = plait_get(&self->running) == ref;
  if (!adopted && !running && (plait_get(&self->running) != 0 || held_link(self, ref) == NULL)) return -PLAIT_EINVAL;
  struct plait_pool *pool = pool_of_client(plait_get(&task_at(ref)->client));
  if (!adopted) free_input(ref);
  int rc = plait__pool_lock(pool);
  if (rc != 0) return rc;
  if (!adopted && !running) {
    plait_word_t *link = held_link(self, ref);
    plait_put(&self->running, ref);
    plait_put(link, plait_get(&task_at(ref)->link));
  }
  int is_end = (plait_load(&task_at(ref)->control) & PLAIT_STOP_GIVEN_UP) == 0;
  struct plait_client *wake = plait__task_deliver(pool, ref, adopted ? &self->adopted : &self->running, 0, 1);
  if (adopted && is_end) plait_put(&pool->lost, plait_get(&pool->lost) + 1);
  if (!adopted) plait_put(&self->tasks_done, plait_get(&self->tasks_done) + 1);
  plait_lock_release(&pool->lock);
  if (wake != NULL) plait__client_wake(wake);
  return 0;
}

PLAIT_EXPORT plait_ref_t plait_task_output(plait_ref_t ref, uint32_t size) {
  struct plait_task *task = task_at(ref);
  free_block(&task->output_block);
  /* The bytes behind the record may still be the input that another worker is to read. */
  if (plait_get(&task->retries) == 0 && size <= plait_get(&task->capacity)) return ref + (plait_ref_t)sizeof *task;
  plait_ref_t block = plait_heap_alloc_for(PLAIT_FOR_TASKS, size);
  plait_put(&task->output_block, block);
  return block;
}

PLAIT_EXPORT int plait_client_close(plait_ref_t client) {
  struct plait_pool *pool = pool_of_client(client);
  int rc = plait__pool_lock(pool);
  if (rc != 0) return rc;
  plait_put(&((struct plait_client *)plait_at(client))->words, PLAIT_WORDS_CLOSED);
  plait_lock_release(&pool->lock);
  return 0;
}

PLAIT_EXPORT plait_ref_t plait_client_drain(plait_ref_t client_ref) {
  struct plait_client *client = plait_at(client_ref);
  struct plait_pool *pool = pool_of_client(client_ref);
  if (atomic_load_explicit(&client->inbox, memory_order_seq_cst) == 0) return 0;
  if (plait__pool_lock(pool) != 0) return 0;
  /* Between the two stores both words name the tasks; after a death there, repair undoes the first. */
  plait_ref_t task = atomic_load_explicit(&client->inbox, memory_order_relaxed);
  uint32_t words = plait_get(&client->words);
  plait_put(&client->taken, task);
  if (words != PLAIT_WORDS_CLOSED) plait_put(&client->words, 0);
  atomic_store_explicit(&client->inbox, 0, memory_order_release);
  plait_put(&pool->unread, 0);
  plait_lock_release(&pool->lock);
  /* a hint: who waits for room looks by itself, too */
  if (words != 0) plait_platform_notify(&client->words, UINT32_MAX);
  plait_ref_t oldest = 0;
  while (task != 0) { /* from one list to the other, one by one: in between it is the first of both */
    plait_ref_t next = plait_get(&task_at(task)->next);
    plait_put(&task_at(task)->link, plait_get(&client->drained));
    plait_put(&client->drained, task);
    plait_put(&client->taken, next);
    plait_put(&task_at(task)->next, oldest);
    oldest = task;
    task = next;
  }
  return oldest;
}
