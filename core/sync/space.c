/*
 * space: laying out a space, and claiming slots. See space.h for the states of a slot and the invariant.
 */
#include "space.h"

PLAIT_COLD_BEGIN

#ifdef __wasm__
_Alignas(64) struct plait_space plait__space_root;
#endif

/* The thread-local words. In assembly a label of type .globaltype is a global; it starts as 0. */
#ifdef __wasm_atomics__
#define GLOBAL(name) ".globaltype plait__" #name ", i32\nplait__" #name ":\n"
__asm__(GLOBAL(thread_heap) GLOBAL(self_id) GLOBAL(may_block));
#else
_Thread_local void *plait__thread_heap;
_Thread_local plait_thread_t plait__self_id;
_Thread_local uint32_t plait__may_block;
#endif
PLAIT_OF_THREAD(plait_thread_t, self_id) /* 0 before the thread has entered */
PLAIT_OF_THREAD(uint32_t, may_block)     /* 1: the thread may wait on a word */

int plait_space_init(void) {
  uint64_t end = (uint64_t)plait_ref(plait_space()) + sizeof(struct plait_space);
  uint32_t pages = (uint32_t)((end + PLAIT_PAGE_SIZE - 1) / PLAIT_PAGE_SIZE);
  uint32_t now = plait_platform_pages();
  if (pages > now && plait_platform_grow(pages - now) < 0) return -PLAIT_ENOMEM;
  near_store(&plait_space()->layout_version, PLAIT_LAYOUT_VERSION, memory_order_relaxed);
  return 0;
}

plait_thread_t plait_slot_claim(uint32_t host_id) {
  for (uint32_t index = 0; index < PLAIT_SLOT_LIMIT; index++) {
    struct plait_slot *slot = &plait_space()->slots[index];
    uint32_t generation_state = near_load(&slot->generation_state, memory_order_relaxed);
    if ((generation_state & 255u) != PLAIT_SLOT_FREE) continue;
    uint32_t generation = (generation_state + 256u) & 0x7FFFFF00u;
    if (generation == 0) generation = 256; /* a thread id is never 0 */
    /* acquire: pairs with the release in plait_slot_release, so that the former owner's words are seen cleared. */
    if (!near_compare_exchange(&slot->generation_state, &generation_state, generation | PLAIT_SLOT_LIVE,
            memory_order_acq_rel, memory_order_relaxed))
      continue;
    near_store(&slot->host_id, host_id, memory_order_relaxed);
    return generation | index;
  }
  return 0;
}

void plait_slot_enter(plait_thread_t thread, int may_block) {
  plait__set_self_id(thread);
  plait__set_may_block(may_block != 0);
  plait__set_thread_heap(NULL);
}

void plait_slot_leave(void) {
  plait__set_self_id(0);
  plait__set_thread_heap(NULL);
}

struct plait_slot *plait_self(void) {
  return plait_slot_of(plait__get_self_id());
}

plait_thread_t plait_self_id(void) {
  return plait__get_self_id();
}

int plait_self_may_block(void) {
  return (int)plait__get_may_block();
}

int plait_thread_note_exit(plait_thread_t thread) {
  uint32_t live = (thread & ~255u) | PLAIT_SLOT_LIVE;
  return near_compare_exchange(&plait_slot_of(thread)->generation_state, &live, (thread & ~255u) | PLAIT_SLOT_EXITED,
      memory_order_acq_rel, memory_order_relaxed);
}

void plait_slot_release(struct plait_slot *slot) {
  /* All but `generation_state`, which is the first word. */
  for (plait_word_t *word = &slot->generation_state + 1; word < (plait_word_t *)(slot + 1); word++) plait_put(word, 0);
  uint32_t generation_state = near_load(&slot->generation_state, memory_order_relaxed);
  /* release: pairs with the acquire in plait_slot_claim. */
  near_store(&slot->generation_state, (generation_state & ~255u) | PLAIT_SLOT_FREE, memory_order_release);
}

PLAIT_COLD_END
