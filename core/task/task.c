/* task: submitting, taking, finishing and draining. Correctness rests on the order of the stores; see internal.h. */
#include "internal.h"

static struct plait_task *task_at(plait_ref_t ref) {
  return plait_at(ref);
}

static struct plait_pool *pool_of_client(plait_ref_t client) {
  return plait_at(atomic_load_explicit(&((struct plait_client *)plait_at(client))->pool, memory_order_relaxed));
}

PLAIT_EXPORT int plait_task_submit(plait_ref_t ref) {
  struct plait_pool *pool = pool_of_client(plait_get(&task_at(ref)->client));
  int has_affinity = plait_get(&task_at(ref)->place) != 0;
  int rc = plait__queue_put(pool, ref);
  if (rc == 0) plait__worker_wake(pool, has_affinity || plait_get(&pool->wake_all) != 0);
  return rc;
}

PLAIT_EXPORT int plait_task_abort(plait_ref_t ref) {
  struct plait_pool *pool = pool_of_client(plait_get(&task_at(ref)->client));
  atomic_fetch_or_explicit(&task_at(ref)->control, PLAIT_STOP_ABORT, memory_order_seq_cst);
  int rc = plait__pool_lock(pool);
  if (rc != 0) return rc;
  struct plait_client *wake = NULL;
  rc = plait__queue_withdraw(pool, ref, &wake);
  plait_lock_release(&pool->lock);
  if (rc == 1) plait__task_free_block(&task_at(ref)->input_block); /* the caller may drain slowly */
  if (wake != NULL) plait__client_wake(wake);
  return rc;
}

PLAIT_EXPORT int plait_task_requeue(plait_ref_t ref) {
  if (ref == 0 || plait_get(&plait_self()->adopted) != ref || plait_get(&task_at(ref)->retries) == 0)
    return -PLAIT_EINVAL;
  struct plait_pool *pool = pool_of_client(plait_get(&task_at(ref)->client));
  int rc = plait__queue_put_back(pool, ref);
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
  uint32_t message_bytes = plait_get(&client->message_bytes),
           size = plait_heap_size(ref) + (apart == 0 ? 0 : plait_heap_size(apart));
  if (plait_get(&client->owner) == 0 || message_bytes == PLAIT_MESSAGES_CLOSED) rc = -PLAIT_EPIPE;
  else if (of != 0 && (plait_load(&task_at(of)->control) & PLAIT_STOP_DETACHED) != 0) rc = -PLAIT_EPIPE;
  else if (message_bytes != 0 && size > PLAIT_PROGRESS_LIMIT - message_bytes)
    rc = -PLAIT_EAGAIN; /* a single message may be larger */
  else {
    plait_put(&task_at(ref)->link, 0);
    wake = plait__task_deliver(pool, ref, &plait_self()->building, 0, 0);
    /* Last: counted bytes are in the inbox, so that draining it makes room again. */
    plait_put(&client->message_bytes,
        size > PLAIT_PROGRESS_LIMIT - message_bytes ? PLAIT_PROGRESS_LIMIT : message_bytes + size);
  }
  plait_lock_release(&pool->lock);
  if (wake != NULL) plait__client_wake(wake);
  return rc;
}

/* Takes the next task for the calling worker. pre: holds the lock. */
static uint32_t take(struct plait_pool *pool, struct plait_slot *self) {
  if (plait_load(&self->stop_state) != PLAIT_WORKER_RUNNING) return PLAIT_NEXT_STOP;
  plait_ref_t ref = plait__queue_take(pool, self, NULL);
  if (ref != 0) return ref;
  return plait_get(&pool->state) == PLAIT_POOL_OPEN ? PLAIT_NEXT_NONE : PLAIT_NEXT_STOP;
}

/* Unregisters the calling worker as spinner (see spin() in worker.c). Returns whether it was registered. */
static int unregister_spinner(struct plait_pool *pool) {
  if (plait_get(&pool->spinner) != plait_self_id()) return 0;
  atomic_store_explicit(&pool->spinner, 0, memory_order_seq_cst);
  return 1;
}

/* Frees what a finished task no longer needs. The input of a task that may be run again is kept. */
static void free_input(plait_ref_t ref) {
  if (plait_get(&task_at(ref)->retries) != 0) return;
  plait__task_free_block(&task_at(ref)->input_block);
  plait__task_free_block(&task_at(ref)->name_block);
}

PLAIT_EXPORT uint32_t plait_task_next(plait_ref_t finished, uint32_t busy_us) {
  struct plait_slot *self = plait_self();
  struct plait_pool *pool = plait_at(plait_get(&self->pool));
  struct plait_client *wake = NULL;
  int deliver = finished != 0 && plait_get(&self->running) == finished;
  if (deliver) free_input(finished);
  if (plait__pool_lock(pool) != 0) {
    if (unregister_spinner(pool)) { /* for the tasks that relied on it: the caller may be away for long */
      plait_pool_wake_workers(plait_ref(pool));
      plait_pool_signal_coordinator(plait_ref(pool));
    }
    return PLAIT_NEXT_RETRY;
  }
  unregister_spinner(pool); /* before the next task leaves `queued`: see plait__worker_wake */
  if (deliver) {
    wake = plait__task_deliver(pool, finished, &self->running, 0, 1);
    plait_put(&self->tasks_done, plait_get(&self->tasks_done) + 1);
    plait_put64(&self->busy_us, plait_get64(&self->busy_us) + busy_us);
  }
  uint32_t next = take(pool, self);
  plait_lock_release(&pool->lock);
  if (wake != NULL) plait__client_wake(wake);
  /* it was woken, or spun, for a task that others must take now */
  if (next == PLAIT_NEXT_STOP) plait_pool_wake(pool);
  return next;
}

PLAIT_EXPORT uint32_t plait_task_help(plait_ref_t client) {
  struct plait_slot *self = plait_self();
  struct plait_pool *pool = plait_at(plait_get(&self->pool));
  if (plait__pool_lock(pool) != 0) return PLAIT_NEXT_RETRY;
  uint32_t next = PLAIT_NEXT_NONE;
  if (plait_load(&self->stop_state) != PLAIT_WORKER_STOPPING) next = plait__queue_take(pool, self, plait_at(client));
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
  plait_put(&self->holding, ref); /* the commit; repair clears `running` if the next store is missing */
  plait_put(&self->running, 0);
  plait_lock_release(&pool->lock);
  return 0;
}

/* The word that names `ref` in the caller's list of held tasks; NULL: none does. */
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
  int is_end = (plait_load(&task_at(ref)->control) & PLAIT_STOP_DETACHED) == 0;
  struct plait_client *wake = plait__task_deliver(pool, ref, adopted ? &self->adopted : &self->running, 0, 1);
  if (adopted && is_end) plait_put(&pool->lost, plait_get(&pool->lost) + 1);
  if (!adopted) plait_put(&self->tasks_done, plait_get(&self->tasks_done) + 1);
  plait_lock_release(&pool->lock);
  if (wake != NULL) plait__client_wake(wake);
  return 0;
}

PLAIT_EXPORT int plait_client_close(plait_ref_t client) {
  struct plait_pool *pool = pool_of_client(client);
  int rc = plait__pool_lock(pool);
  if (rc != 0) return rc;
  plait_put(&((struct plait_client *)plait_at(client))->message_bytes, PLAIT_MESSAGES_CLOSED);
  plait_lock_release(&pool->lock);
  return 0;
}

PLAIT_EXPORT plait_ref_t plait_client_drain(plait_ref_t client_ref) {
  struct plait_client *client = plait_at(client_ref);
  struct plait_pool *pool = pool_of_client(client_ref);
  if (atomic_load_explicit(&client->inbox, memory_order_seq_cst) == 0) return 0;
  if (plait__pool_lock(pool) != 0) return 0;
  /* Between the two stores both words name the tasks; after an exit there, repair undoes the first. */
  plait_ref_t task = atomic_load_explicit(&client->inbox, memory_order_relaxed);
  uint32_t message_bytes = plait_get(&client->message_bytes);
  plait_put(&client->taken, task);
  if (message_bytes != PLAIT_MESSAGES_CLOSED) plait_put(&client->message_bytes, 0);
  atomic_store_explicit(&client->inbox, 0, memory_order_release);
  plait_put(&pool->unread, 0);
  plait_lock_release(&pool->lock);
  /* a hint: threads that wait for capacity also poll */
  if (message_bytes != 0) plait_platform_notify(&client->message_bytes, UINT32_MAX);
  plait_ref_t oldest = 0;
  while (task != 0) { /* moved one by one: in between a task is the first of both lists */
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
