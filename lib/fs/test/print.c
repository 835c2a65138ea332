/* print: a program without files. tools/size.json records its size. */
#include <stdio.h>

int main(void) {
  printf("%d words, the first: %s\n", 1, "print");
  return 0;
}
