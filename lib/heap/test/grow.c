/*
 * grow: a program for WASI that makes one block larger and larger, and names nothing of Plait's. The memory grows with
 * the block; it does not hold a copy of the block, or holes of its former sizes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, FIRST = 64, LAST = 1640 };

int main(void) {
  size_t size = (size_t)FIRST * MIB;
  char *block = malloc(size);
  for (size_t next; block != NULL && size < (size_t)LAST * MIB; size = next) {
    next = size / 2 * 3 < (size_t)LAST * MIB ? size / 2 * 3 : (size_t)LAST * MIB;
    block[0] = block[size - 1] = 'x';
    char *grown = realloc(block, next);
    if (grown == NULL || grown[0] != 'x' || grown[size - 1] != 'x') {
      printf("wrong: a block of %zu MiB\n", next / MIB);
      return 1;
    }
    block = grown;
    free(strdup("small blocks lie in between"));
  }
  size_t memory = __builtin_wasm_memory_size(0) / 16;
  printf("%zu MiB of memory for a block of %zu\n", memory, size / MIB);
  free(block);
  return memory > LAST * 11 / 10;
}
