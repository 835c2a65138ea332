/* expect: what the test programs check. The last line of a good program is `NAME: good`. */
#ifndef EXPECT_H
#define EXPECT_H

#include <errno.h>
#include <stdio.h>

static int failures;

/* The compiler takes malloc for a function that leaves errno as it is. So errno is read out of its sight. */
static inline __attribute__((noinline)) int last_error(void) {
  return errno;
}

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
