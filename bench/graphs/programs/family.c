/* family: calls the whole malloc family once; its module's size, less that of one without a malloc, is the code's. */
#include <malloc.h>
#include <stdlib.h>

static void *volatile kept;

int main(void) {
  void *block;
  if (posix_memalign(&block, 64, 10) != 0) return 1;
  kept = block;
  free(kept);
  kept = aligned_alloc(64, 64);
  kept = realloc(kept, malloc_usable_size(kept) + 100);
  free(kept);
  kept = calloc(3, 5);
  free(kept);
  kept = malloc(10);
  free(kept);
  return 0;
}
