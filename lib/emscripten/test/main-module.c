/* main-module: a block that the main module allocates and a side module frees, and the other way round. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"

int main(void) {
  void *side = dlopen("side-module.wasm", RTLD_NOW);
  if (side == NULL) printf("%s\n", dlerror());
  EXPECT(side != NULL);
  char *(*twice)(char *) = side == NULL ? NULL : (char *(*)(char *))dlsym(side, "twice");
  EXPECT(twice != NULL);
  if (twice != NULL) {
    char *text = twice(strdup("again"));
    EXPECT(strcmp(text, "againagain") == 0);
    free(text);
  }
  return expected("main-module");
}
