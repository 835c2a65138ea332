/*
 * two-heaps: a program that keeps its C library's malloc, because the archive is not linked whole. Both heaps grow one
 * memory, by turns. No byte of the program may change, and none of its files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 200u

static unsigned char *blocks[BLOCKS];
static size_t sizes[BLOCKS];

static int is_intact(unsigned i) {
  for (size_t k = 0; k < sizes[i]; k++)
    if (blocks[i][k] != (unsigned char)(i + k)) return 0;
  return 1;
}

static int allocate(unsigned i) {
  sizes[i] = 1000u + i * 997u % 200000u;
  blocks[i] = malloc(sizes[i]);
  if (blocks[i] == NULL) return 0;
  for (size_t k = 0; k < sizes[i]; k++) blocks[i][k] = (unsigned char)(i + k);
  return 1;
}

static int file_of(unsigned i, const char *mode) {
  static char bytes[150000];
  char path[32];
  size_t size = 500u + i * 7919u % sizeof bytes;
  snprintf(path, sizeof path, "/f%u", i);
  FILE *file = fopen(path, mode);
  if (file == NULL) return 0;
  int good = 1;
  if (*mode == 'w') {
    memset(bytes, (int)i, size);
    good = fwrite(bytes, 1, size, file) == size;
  } else {
    good = fread(bytes, 1, sizeof bytes, file) == size;
    for (size_t k = 0; good && k < size; k++) good = bytes[k] == (char)i;
  }
  return fclose(file) == 0 && good;
}

int main(void) {
  for (unsigned i = 0; i < BLOCKS / 2; i++) /* before the first file */
    if (!allocate(i)) return 1;
  for (unsigned i = 0; i < BLOCKS / 2; i++) {
    if (!file_of(i, "w") || !allocate(BLOCKS / 2 + i)) return 2;
    if (i % 3 == 0) {
      free(blocks[i]);
      if (!allocate(i)) return 3;
    }
  }
  for (unsigned i = 0; i < BLOCKS; i++)
    if (!is_intact(i)) return 4;
  for (unsigned i = 0; i < BLOCKS / 2; i++)
    if (!file_of(i, "r")) return 5;
  return 0;
}
