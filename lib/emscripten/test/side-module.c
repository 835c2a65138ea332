/* side-module: loaded by main-module.c. */
#include <stdlib.h>
#include <string.h>

/* Takes the text's ownership; the caller frees the result. */
char *twice(char *text) {
  size_t length = strlen(text);
  char *result = malloc(2 * length + 1);
  memcpy(result, text, length);
  memcpy(result + length, text, length + 1);
  free(text);
  return result;
}
