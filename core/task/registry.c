/* registry: the list of pools, one word each, so that recovery and check can walk them. */
#include "internal.h"

#ifdef __wasm__
_Alignas(64) struct plait_task_root plait__task_root;
#endif

uint32_t plait__pool_register(plait_ref_t ref) {
  for (uint32_t i = 0; i < PLAIT_POOL_LIMIT; i++) {
    uint32_t none = 0;
    /* release: pairs with the acquire loads of recovery and check, which read the pool behind the reference. */
    if (atomic_compare_exchange_strong_explicit(
            &plait_task_root()->pools[i], &none, ref, memory_order_release, memory_order_relaxed))
      return i;
  }
  return PLAIT_POOL_LIMIT;
}

uint32_t plait__pool_index(plait_ref_t ref) {
  uint32_t index = 0;
  while (index < PLAIT_POOL_LIMIT && (ref == 0 || plait_load(&plait_task_root()->pools[index]) != ref)) index++;
  return index;
}
