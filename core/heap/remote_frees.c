/*
 * returns: medium blocks that other threads have freed, on their way back. Each record has a stack of them.
 *
 * Invariants
 * - A block on a stack, or on a `draining` list, is REMOTE; whoever takes it off frees it, or passes it on to the owner
 *   that its region has by now.
 * - The stack is pushed by compare-and-swap, and taken whole. Its owner names what it takes in `draining` before: a
 *   thread that dies between the two has it on both, and settle() in thread_heaps.c frees it once.
 */
#include "internal.h"

PLAIT_COLD_BEGIN

static void push(struct plait_thread_heap *theap, plait_ref_t header) {
  uint64_t head = atomic_load_explicit(&theap->remote, memory_order_relaxed), next;
  do {
    plait_put(plait__remote_next(header), (uint32_t)head);
    next = ((head >> 32) + 1) << 32 | header;
    /* release: pairs with the acquire in drain; sequentially consistent: see below. */
  } while (
      !atomic_compare_exchange_weak_explicit(&theap->remote, &head, next, memory_order_seq_cst, memory_order_relaxed));
}

/*
 * The owner may be nobody, and be taken over meanwhile: this looks at it after the push, and taking over looks at the
 * stack after it has changed the owner.
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
