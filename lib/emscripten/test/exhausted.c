/* exhausted: a program that uses up its memory. It gets NULL, or -sABORTING_MALLOC ends it. */
#include <stdlib.h>
#include <string.h>

#include "expect.h"

enum { MOST = 4096, BYTES = 100000 };

static void *blocks[MOST];

int main(void) {
  int count = 0;
  errno = 0;
  while (count < MOST && (blocks[count] = malloc(BYTES)) != NULL) memset(blocks[count++], count, BYTES);
  EXPECT(count > 50 && count < MOST && last_error() == ENOMEM);
  for (int i = 0; i < count; i++) free(blocks[i]);
  for (int i = 0; i < count; i++) EXPECT((blocks[i] = malloc(BYTES)) != NULL);
  return expected("exhausted");
}
