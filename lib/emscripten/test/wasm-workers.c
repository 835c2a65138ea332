/* wasm-workers: two Wasm workers allocate and free at the same time as main. */
#include <emscripten.h>
#include <emscripten/wasm_worker.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"

static _Atomic int done;
static void *_Atomic passed[2][1000];
static _Alignas(16) char stacks[2][65536];

static void work(int index) {
  for (int i = 0; i < 1000; i++) {
    char *block = malloc(16 + i);
    memset(block, index + 1, 16 + i);
    passed[index][i] = block;
    free(malloc(100 + i));
  }
  done++;
}

static void check(void *unused) {
  (void)unused;
  if (done < 2) {
    emscripten_async_call(check, NULL, 10);
    return;
  }
  for (int index = 0; index < 2; index++)
    for (int i = 0; i < 1000; i++) {
      char *block = passed[index][i];
      EXPECT(block[0] == index + 1 && block[15 + i] == index + 1);
      free(block);
    }
  emscripten_terminate_all_wasm_workers(); /* otherwise Node goes on */
  emscripten_force_exit(expected("wasm-workers"));
}

int main(void) {
  for (int i = 0; i < 2; i++)
    emscripten_wasm_worker_post_function_vi(emscripten_create_wasm_worker(stacks[i], sizeof stacks[i]), work, i);
  for (int i = 0; i < 1000; i++) free(malloc(1 + i));
  check(NULL);
  emscripten_exit_with_live_runtime();
}
