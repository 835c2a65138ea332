// lib/examples/hello.c: zig cc --target=wasm32-wasi hello.c -o hello.wasm
#include <stdio.h>

int main(void) {
  char name[20] = "";
  FILE *file = fopen("/name", "r");
  if (file == NULL || fscanf(file, "%19s", name) != 1) return 1;
  fclose(file);
  file = fopen("/greeting", "w");
  if (file == NULL) return 1;
  fprintf(file, "hello, %s", name);
  return fclose(file);
}
