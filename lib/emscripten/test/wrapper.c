/* wrapper: a program that defines malloc and free itself, to count, over Emscripten's names for the real ones. */
#include <emscripten/heap.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"

static _Atomic int allocated, freed;

void *malloc(size_t size) {
  allocated++;
  return emscripten_builtin_malloc(size);
}

void free(void *block) {
  if (block != NULL) freed++;
  emscripten_builtin_free(block);
}

int main(void) {
  int allocated_before = allocated, freed_before = freed; /* by Emscripten's start */
  char *text = strdup("counted");
  EXPECT(allocated == allocated_before + 1);
  free(text);
  EXPECT(freed == freed_before + 1);
  void *zeroed = calloc(10, 10);
  free(zeroed);
  EXPECT(freed == freed_before + 2);
  return expected("wrapper");
}
