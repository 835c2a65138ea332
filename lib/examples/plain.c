/*
 * plain: a C program for WASI that names nothing of Plait's; only its link command does. tools/heap-archives.js looks
 * into the module: Plait's functions must be in it, and they are only if malloc is theirs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  char *text = strdup("plain");
  size_t length = text == NULL ? 0 : strlen(text);
  char *grown = realloc(text, 100000);
  int good = grown != NULL && strcmp(grown, "plain") == 0 && length == 5;
  free(grown);
  puts(good ? "a program that knows nothing of Plait" : "no memory");
  return good ? 0 : 1;
}
