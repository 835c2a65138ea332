/* task_record: creating and freeing task records, and delivering them to a client's inbox. */
#include "internal.h"

static struct plait_task *task_record(plait_ref_t ref) {
  return plait_at(ref);
}

void plait__task_free_block(plait_word_t *word) {
  plait_ref_t block = plait_get(word);
  if (block == 0) return;
  plait_put(word, 0);
  plait_heap_free(block);
}

void plait__task_strip(plait_ref_t ref) {
  plait__task_free_block(&task_record(ref)->input_block);
  plait__task_free_block(&task_record(ref)->output_block);
  plait__task_free_block(&task_record(ref)->name_block);
}

PLAIT_EXPORT void plait_task_discard(plait_ref_t ref) {
  plait__task_strip(ref);
  plait_put(&plait_self()->building, 0);
  plait_heap_free(ref);
}

PLAIT_EXPORT plait_ref_t plait_task_create(plait_ref_t client, uint32_t size) {
  int apart = size > PLAIT_TASK_INPUT_INLINE;
  uint32_t capacity = apart || size < PLAIT_TASK_INLINE ? PLAIT_TASK_INLINE : size;
  plait_ref_t ref = plait_heap_alloc_for(PLAIT_FOR_TASKS, (uint32_t)sizeof(struct plait_task) + capacity);
  if (ref == 0) return 0;
  struct plait_task *task = task_record(ref);
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
  plait_put(&task->priority, PLAIT_PRIORITY_COUNT / 2);
  plait_put(&task->place, 0);
  plait_put(&task->control, 0);
  plait_put(&task->timeout_ms, 0);
  plait_put(&task->started_ms, 0);
  plait_put(&task->stop_requested_ms, 0);
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

PLAIT_EXPORT plait_ref_t plait_task_output(plait_ref_t ref, uint32_t size) {
  struct plait_task *task = task_record(ref);
  plait__task_free_block(&task->output_block);
  /* The bytes behind the record may still be the input that another worker will read. */
  if (plait_get(&task->retries) == 0 && size <= plait_get(&task->capacity)) return ref + (plait_ref_t)sizeof *task;
  plait_ref_t block = plait_heap_alloc_for(PLAIT_FOR_TASKS, size);
  plait_put(&task->output_block, block);
  return block;
}

struct plait_client *plait__task_deliver(
    struct plait_pool *pool, plait_ref_t ref, plait_word_t *intent, uint32_t after, int counts) {
  struct plait_task *task = task_record(ref);
  struct plait_client *client = plait_at(plait_get(&task->client));
  if ((plait_load(&task->control) & PLAIT_STOP_DETACHED) != 0) {
    counts = 0;
    plait_put(&task->output_status, PLAIT_STATUS_DISCARDED);
  }
  uint32_t status = plait_get(&task->output_status);
  if (counts) plait_put(&pool->finished, plait_get(&pool->finished) + 1);
  if (counts && (status == PLAIT_STATUS_STOPPED || status == PLAIT_STATUS_POOL_CLOSED))
    plait_put(&pool->aborted, plait_get(&pool->aborted) + 1);
  if (plait_get(&client->owner) == 0) {
    if (counts) plait_put(&pool->discarded, plait_get(&pool->discarded) + 1);
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

PLAIT_EXPORT void plait_task_free(plait_ref_t ref) {
  struct plait_client *client = plait_at(plait_get(&task_record(ref)->client));
  plait_word_t *link = &client->drained;
  plait_ref_t at;
  while ((at = plait_get(link)) != ref) {
    if (at == 0) return;
    link = &task_record(at)->link;
  }
  plait__task_strip(ref);
  plait_put(link, plait_get(&task_record(ref)->link));
  plait_heap_free(ref);
}

static void empty_list(plait_word_t *first, int drained) {
  plait_ref_t ref;
  while ((ref = atomic_load_explicit(first, memory_order_acquire)) != 0) {
    plait_word_t *next = drained ? &task_record(ref)->link : &task_record(ref)->next;
    plait__task_strip(ref);
    atomic_store_explicit(first, atomic_load_explicit(next, memory_order_relaxed), memory_order_release);
    plait_heap_free(ref);
  }
}

void plait__client_empty(struct plait_client *client) {
  plait_ref_t both = atomic_load_explicit(&client->taken, memory_order_acquire); /* see plait_client_drain */
  if (both != 0 && both == atomic_load_explicit(&client->drained, memory_order_relaxed))
    atomic_store_explicit(
        &client->taken, atomic_load_explicit(&task_record(both)->next, memory_order_relaxed), memory_order_release);
  empty_list(&client->inbox, 0);
  empty_list(&client->taken, 0);
  empty_list(&client->drained, 1);
}
