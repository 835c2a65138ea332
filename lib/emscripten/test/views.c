/* views: JavaScript reads and writes the memory after the program has grown it, and grows it itself by _malloc. */
#include <emscripten.h>
#include <emscripten/heap.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"

EM_JS(int, sum_from_js, (const unsigned char *from, int count), {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += HEAPU8[from + i];
  return sum;
});

EM_JS(void, fill_from_js, (unsigned char *at, int count, int byte), {
  HEAPU8.fill(byte, at, at + count);
  HEAP32[at >> 2] = 0x01010101 * byte;
});

EM_JS(unsigned char *, grow_from_js, (int bytes), {
  const at = _malloc(bytes);
  HEAPU8.fill(9, at, at + bytes);
  return at;
});

#define MIB (1 << 20)

int main(void) {
  for (int i = 1; i <= 8; i++) {
    unsigned char *block = malloc(8 * MIB);
    memset(block, i, 8 * MIB);
    EXPECT(sum_from_js(block + 8 * MIB - 1000, 1000) == 1000 * i);
    fill_from_js(block, 8 * MIB, i + 1);
    EXPECT(block[0] == i + 1 && block[8 * MIB - 1] == i + 1);
    unsigned char *theirs = grow_from_js(8 * MIB);
    EXPECT(theirs[0] == 9 && theirs[8 * MIB - 1] == 9);
  }
  EXPECT(emscripten_get_heap_size() == (size_t)EM_ASM_PTR({ return HEAPU8.length; }));
  return expected("views");
}
