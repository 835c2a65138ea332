/* expect: what the test programs check. The last line of a good program is `NAME: good`. */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdio.h>

static int failures;

#define EXPECT(what)                                              \
  do {                                                            \
    if (!(what)) {                                                \
      printf("%s:%d: expected: %s\n", __FILE__, __LINE__, #what); \
      __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);         \
    }                                                             \
  } while (0)

/* The program's exit code. */
static inline int expected(const char *name) {
  printf("%s: %s\n", name, failures == 0 ? "good" : "FAILED");
  return failures == 0 ? 0 : 1;
}

#endif
