/* sbrk: a program with an arena of its own from sbrk(), beside malloc. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "expect.h"

enum { PIECES = 20, BYTES = 100000 };

int main(void) {
  uint8_t *pieces[PIECES], *blocks[PIECES];
  EXPECT(sbrk(0) != (void *)-1);
  for (int i = 0; i < PIECES; i++) {
    pieces[i] = sbrk(BYTES);
    EXPECT(pieces[i] != (void *)-1 && (uintptr_t)pieces[i] % 16 == 0);
    memset(pieces[i], i + 1, BYTES);
    blocks[i] = malloc(BYTES);
    memset(blocks[i], i + 101, BYTES);
  }
  for (int i = 0; i < PIECES; i++)
    for (int at = 0; at < BYTES; at++) EXPECT(pieces[i][at] == i + 1 && blocks[i][at] == i + 101);
  return expected("sbrk");
}
