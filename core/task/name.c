/*
 * name: names of functions. A pool keeps the first names that it gets, so that a task only refers to one and a worker
 * looks a function up once. A task with another name carries it. So new names cost no more memory than their tasks.
 *
 * Invariant: a name in the pool's list has its whole text, and it is neither changed nor freed before the pool is.
 * Linking is one store under the pool's lock. Until then `scratch` names the block; repair clears `scratch` if the link
 * was stored.
 */
#include "internal.h"

static struct plait_name *name_at(plait_ref_t ref) {
  return plait_at(ref);
}

static plait_ref_t new_name(uint32_t size) {
  if (size > UINT32_MAX - PLAIT_PAGE_SIZE) return 0;
  plait_ref_t ref = plait_heap_alloc_for(PLAIT_FOR_TASKS, (uint32_t)sizeof(struct plait_name) + size);
  if (ref == 0) return 0;
  plait_put(&name_at(ref)->next, 0);
  plait_put(&name_at(ref)->size, size);
  return ref;
}

PLAIT_EXPORT plait_ref_t plait_name_create(uint32_t size) {
  plait_ref_t ref = new_name(size);
  if (ref != 0) plait_put(&plait_self()->scratch, ref);
  return ref;
}

static int is_same(const struct plait_name *a, const struct plait_name *b) {
  uint32_t size = plait_get(&a->size);
  if (plait_get(&b->size) != size) return 0;
  for (uint32_t i = 0; i < size; i++)
    if (a->text[i] != b->text[i]) return 0;
  return 1;
}

/* Returns the pool's name with the same text, or links `ref` as one; 0: the pool keeps no more. pre: holds the lock. */
static plait_ref_t find_or_link(struct plait_pool *pool, plait_ref_t ref) {
  struct plait_name *name = name_at(ref);
  uint32_t count = 0, bytes = 0, size = plait_get(&name->size);
  for (plait_ref_t at = plait_load(&pool->names); at != 0; at = plait_get(&name_at(at)->next)) {
    if (is_same(name_at(at), name)) return at;
    count++;
    bytes += plait_get(&name_at(at)->size);
  }
  if (count >= PLAIT_POOL_NAMES || size > PLAIT_POOL_NAME_BYTES - bytes) return 0;
  plait_put(&name->next, plait_load(&pool->names));
  /* release: pairs with the acquire loads here and in repair. The text is whole: see plait_name_create. */
  atomic_store_explicit(&pool->names, ref, memory_order_release);
  plait_put(&plait_self()->scratch, 0);
  return ref;
}

PLAIT_EXPORT plait_ref_t plait_pool_intern(plait_ref_t pool_ref, plait_ref_t ref) {
  struct plait_pool *pool = plait_at(pool_ref);
  plait_ref_t found = 0;
  if (plait__pool_lock(pool) == 0) {
    found = find_or_link(pool, ref);
    plait_lock_release(&pool->lock);
  }
  if (found == ref) return ref;
  plait_put(&plait_self()->scratch, 0);
  plait_heap_free(ref);
  return found;
}

PLAIT_EXPORT plait_ref_t plait_task_name(plait_ref_t task_ref, uint32_t size) {
  struct plait_task *task = plait_at(task_ref);
  plait_ref_t ref = new_name(size);
  plait_put(&task->name_block, ref);
  plait_put(&task->name, ref);
  return ref;
}
