/*
 * growth: one block grows from 64 to 1640 MiB, by half and half again. Prints the memory's size at the end in MiB, as
 * JSON. Each step checks what the step before has written.
 */
#include <emscripten/heap.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST ((size_t)64 << 20)
#define LAST ((size_t)1641 << 20)
#define STRIDE 65536

int main(void) {
  uint8_t *block = malloc(FIRST);
  size_t size = 0;
  for (size_t next = FIRST; next <= LAST; next += next / 2) {
    block = realloc(block, next);
    if (block == NULL) {
      fprintf(stderr, "no memory for %zu MiB\n", next >> 20);
      return 1;
    }
    for (size_t at = 0; at < size; at += STRIDE)
      if (block[at] != (uint8_t)(at / STRIDE)) return 2;
    for (size_t at = size; at < next; at += STRIDE) block[at] = (uint8_t)(at / STRIDE);
    size = next;
  }
  printf("{\"mib\": %.1f, \"block\": %zu}\n", emscripten_get_heap_size() / 1048576.0, size >> 20);
  return 0;
}
