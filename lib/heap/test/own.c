/*
 * own: a program for WASI with a malloc of its own, which never frees. It links the heap's archive all the same, and
 * gets its own functions, also from the C library.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(16) char arena[1 << 20];
static size_t used;
static int calls;

void *malloc(size_t size) {
  calls++;
  if (size > sizeof arena - used) return NULL;
  void *block = arena + used;
  used += (size + 15) & ~(size_t)15;
  return block;
}

void free(void *block) { (void)block; }

void *calloc(size_t count, size_t size) { return malloc(count * size); }

void *realloc(void *block, size_t size) {
  void *moved = malloc(size);
  if (moved != NULL && block != NULL) memmove(moved, block, size);
  return moved;
}

int main(void) {
  char *text = strdup("text");
  int good = calls == 1 && text >= arena && text < arena + sizeof arena;
  puts(good ? "the program's own malloc" : "wrong: another malloc");
  return !good;
}
