/* wrapped: the same by the linker: -Wl,--wrap=malloc -Wl,--wrap=free. */
#include <stdlib.h>

#include "expect.h"

void *__real_malloc(size_t size);
void __real_free(void *block);

static int allocated, freed;

void *__wrap_malloc(size_t size) {
  allocated++;
  return __real_malloc(size);
}

void __wrap_free(void *block) {
  freed++;
  __real_free(block);
}

static void *volatile kept; /* otherwise the compiler removes both calls */

int main(void) {
  kept = malloc(100);
  free(kept);
  EXPECT(allocated == 1 && freed == 1);
  return expected("wrapped");
}
