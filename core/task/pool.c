/*
 * pool: making and ending pools (destroy.c frees them). The registry names every pool in one word, so that recovery and
 * check can walk them; a pool is registered as soon as its own block is there, so that a death cannot lose the rest.
 */
#include "task.h"

#define FIRST_RING 64u

#ifdef __wasm__
_Alignas(64) struct plait_task_root plait__task_root;
#endif

static plait_ref_t ring_create(uint32_t capacity) {
  plait_ref_t ref = plait_heap_alloc((uint32_t)sizeof(struct plait_ring) + capacity * 4);
  if (ref == 0) return 0;
  struct plait_ring *ring = plait_at(ref);
  atomic_store_explicit(&ring->capacity, capacity, memory_order_relaxed);
  atomic_store_explicit(&ring->previous, 0, memory_order_relaxed);
  return ref;
}

static void clear_words(plait_ref_t block, size_t bytes) {
  plait_word_t *words = plait_at(block);
  for (size_t i = 0; i < bytes / 4; i++) atomic_store_explicit(&words[i], 0, memory_order_relaxed);
}

/* The pool's place in the registry; PLAIT_POOL_LIMIT: all are taken. */
static uint32_t register_pool(plait_ref_t ref) {
  for (uint32_t i = 0; i < PLAIT_POOL_LIMIT; i++) {
    uint32_t none = 0;
    /* release: pairs with the acquire loads of recovery and check, which read the pool behind the reference. */
    if (atomic_compare_exchange_strong_explicit(&plait_task_root()->pools[i], &none, ref, memory_order_release,
                                                memory_order_relaxed))
      return i;
  }
  return PLAIT_POOL_LIMIT;
}

PLAIT_EXPORT plait_ref_t plait_pool_create(void) {
  plait_ref_t ref = plait_heap_alloc(sizeof(struct plait_pool));
  if (ref == 0) return 0;
  struct plait_pool *pool = plait_at(ref);
  clear_words(ref, sizeof *pool);
  atomic_store_explicit(&pool->state, PLAIT_POOL_OPEN, memory_order_relaxed);
  atomic_store_explicit(&pool->owner, plait_self_id(), memory_order_relaxed);
  atomic_store_explicit(&pool->signal, 1, memory_order_relaxed);
  /* From here on a death leaves an orphan for recovery, so the ring comes after. Nobody else knows the pool yet. */
  uint32_t index = register_pool(ref);
  plait_ref_t ring = index == PLAIT_POOL_LIMIT ? 0 : ring_create(FIRST_RING);
  if (ring != 0) {
    atomic_store_explicit(&pool->ring, ring, memory_order_release);
    return ref;
  }
  if (index != PLAIT_POOL_LIMIT) plait_pool_destroy(ref);
  else plait_heap_free(ref);
  return 0;
}

PLAIT_EXPORT plait_ref_t plait_client_create(plait_ref_t pool_ref) {
  struct plait_pool *pool = plait_at(pool_ref);
  plait_ref_t ref = plait_heap_alloc(sizeof(struct plait_client));
  if (ref == 0) return 0;
  clear_words(ref, sizeof(struct plait_client));
  struct plait_client *client = plait_at(ref);
  atomic_store_explicit(&client->pool, pool_ref, memory_order_relaxed);
  atomic_store_explicit(&client->owner, plait_self_id(), memory_order_relaxed);
  if (plait__pool_lock(pool) != 0) {
    plait_heap_free(ref);
    return 0;
  }
  atomic_store_explicit(&client->next, atomic_load_explicit(&pool->clients, memory_order_relaxed),
                        memory_order_relaxed);
  atomic_store_explicit(&pool->clients, ref, memory_order_release);
  plait_lock_release(&pool->lock);
  return ref;
}

PLAIT_EXPORT plait_ref_t plait_pool_intern(plait_ref_t pool_ref, uint32_t size) {
  if (size > UINT32_MAX - PLAIT_PAGE_SIZE) return 0;
  struct plait_pool *pool = plait_at(pool_ref);
  plait_ref_t ref = plait_heap_alloc((uint32_t)sizeof(struct plait_name) + size);
  if (ref == 0) return 0;
  struct plait_name *name = plait_at(ref);
  atomic_store_explicit(&name->size, size, memory_order_relaxed);
  uint32_t first = atomic_load_explicit(&pool->names, memory_order_relaxed);
  do {
    atomic_store_explicit(&name->next, first, memory_order_relaxed);
    /* release: pairs with nothing but destroy, which runs alone; kept for a walk by check. */
  } while (!atomic_compare_exchange_weak_explicit(&pool->names, &first, ref, memory_order_release,
                                                  memory_order_relaxed));
  return ref;
}

PLAIT_EXPORT void plait_pool_set_failure(plait_ref_t pool_ref, plait_ref_t block, uint32_t size) {
  struct plait_pool *pool = plait_at(pool_ref);
  atomic_store_explicit(&pool->failure_size, size, memory_order_relaxed);
  atomic_store_explicit(&pool->failure, block, memory_order_release); /* pairs with the reader's look at the state */
}

int plait__pool_lock(struct plait_pool *pool) {
  int rc = plait_lock_acquire(&pool->lock);
  if (rc == PLAIT_LOCK_TAKEN_OVER) plait__pool_repair(pool);
  return rc < 0 ? rc : 0;
}

void plait__pool_return_queued(struct plait_pool *pool) {
  uint32_t state = atomic_load_explicit(&pool->state, memory_order_relaxed);
  uint32_t status = state == PLAIT_POOL_FAILED ? PLAIT_STATUS_POOL_FAILED : PLAIT_STATUS_POOL_CLOSED;
  uint32_t head = atomic_load_explicit(&pool->head, memory_order_relaxed);
  if (head == atomic_load_explicit(&pool->tail, memory_order_relaxed)) return; /* there may be no ring any more */
  struct plait_ring *ring = plait_at(atomic_load_explicit(&pool->ring, memory_order_relaxed));
  uint32_t mask = atomic_load_explicit(&ring->capacity, memory_order_relaxed) - 1;
  while (head != atomic_load_explicit(&pool->tail, memory_order_relaxed)) {
    plait_ref_t ref = atomic_load_explicit(&ring->cells[head & mask], memory_order_relaxed);
    atomic_store_explicit(&((struct plait_task *)plait_at(ref))->output_status, status, memory_order_relaxed);
    /* The head is the intent record: if the task there lies in its inbox too, repair moves the head on. */
    plait__task_deliver(pool, ref, &pool->head, ++head);
  }
}

PLAIT_EXPORT int plait_pool_end(plait_ref_t pool_ref, uint32_t state) {
  struct plait_pool *pool = plait_at(pool_ref);
  if (state < PLAIT_POOL_CLOSING || state > PLAIT_POOL_FAILED) return -PLAIT_EINVAL;
  int rc = plait__pool_lock(pool);
  if (rc != 0) return rc;
  uint32_t now = atomic_load_explicit(&pool->state, memory_order_relaxed);
  int allowed = now == PLAIT_POOL_OPEN || (now == PLAIT_POOL_CLOSING && state != PLAIT_POOL_CLOSING);
  if (allowed) {
    atomic_store_explicit(&pool->state, state, memory_order_release);
    if (state != PLAIT_POOL_CLOSING) plait__pool_return_queued(pool);
  }
  plait_lock_release(&pool->lock);
  plait_pool_wake(pool);
  return allowed ? 0 : -PLAIT_EINVAL;
}
