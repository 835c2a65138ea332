/*
 * remote frees: medium blocks that other threads have freed. Each thread heap has a remote free list, a stack.
 *
 * Invariants
 * - A block on a remote free list, or on a `draining` list, is REMOTE. The thread that takes it off frees it, or pushes
 *   it onto the list of the region's present owner.
 * - Blocks are pushed by compare-and-swap, and the list is taken as a whole. Before its owner takes it, it stores the
 *   first block in `draining`. If the thread exits between the two, the blocks are on both lists, and settle() in
 *   thread_heaps.c frees them once.
 */
#include "internal.h"

PLAIT_COLD_BEGIN

static void push(struct plait_thread_heap *theap, plait_ref_t header) {
  uint64_t head = atomic_load_explicit(&theap->remote, memory_order_relaxed), next;
  do {
    plait_put(plait__remote_next(header), (uint32_t)head);
    next = ((head >> 32) + 1) << 32 | header;
    /* release: pairs with the acquire in drain. Sequentially consistent: see below. */
  } while (
      !atomic_compare_exchange_weak_explicit(&theap->remote, &head, next, memory_order_seq_cst, memory_order_relaxed));
}

/*
 * The owner may have no thread, and the region may be adopted at this time. So this function reads the owner again
 * after the push, and adopting reads the remote free list after it has changed the owner.
 */
void plait__remote_push(plait_ref_t header) {
  plait_word_t *owner = &plait__slice(header / PLAIT_SLICE_SIZE)->owner;
  uint32_t seen = plait_get(owner);
  push(plait_at(seen), header);
  if (atomic_load_explicit(owner, memory_order_seq_cst) != seen) plait__stranded();
}

void plait__remote_drain(struct plait_thread_heap *theap) {
  uint64_t head = near_load(&theap->remote, memory_order_relaxed);
  do {
    plait_put(&theap->draining, (uint32_t)head);
  } while (!near_compare_exchange(&theap->remote, &head, 0, memory_order_acquire, memory_order_relaxed));
  plait__remote_settle(theap);
}

void plait__remote_settle(struct plait_thread_heap *theap) {
  plait_ref_t header = plait_get(&theap->draining);
  while (header != 0) {
    plait_ref_t next = plait_get(plait__remote_next(header));
    uint32_t owner = plait_get(&plait__slice(header / PLAIT_SLICE_SIZE)->owner);
    plait_put(&theap->draining, next);
    if (owner == plait_ref(theap)) plait__medium_release(theap, header);
    else plait__remote_push(header);
    header = next;
  }
}

PLAIT_COLD_END
