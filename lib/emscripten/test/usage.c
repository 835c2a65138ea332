/* usage: the counters of plait_heap.h, which show that the heap is Plait's. */
#include <plait_heap.h>

#include "expect.h"

static void *volatile block; /* otherwise the compiler removes both calls */

int main(void) {
  struct plait_heap_usage before, after;
  plait_heap_usage(&before);
  block = malloc(1000000);
  plait_heap_usage(&after);
  EXPECT(after.live_blocks == before.live_blocks + 1 && after.used_bytes >= before.used_bytes + 900000);
  free(block);
  EXPECT(plait_heap_is_whole());
  return expected("usage");
}
