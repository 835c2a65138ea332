/*
 * harness: native tests. Each test is a function that runs in its own process, with a deadline, over a space that it
 * maps itself. A failed CHECK ends that process; the others continue.
 *
 * Environment: PLAIT_SEED (determines every random choice; printed), PLAIT_ROUNDS (repetitions of random parts),
 * PLAIT_SCALE (divides the work of the other parts), PLAIT_TEST (only tests whose name contains it). The last line is
 * "N passed, N failed".
 */
#ifndef PLAIT_TEST_HARNESS_H
#define PLAIT_TEST_HARNESS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../abi.h"
#include "../platform/posix.h"

#define TEST_DEADLINE 240 /* seconds of processor time, or without any to speak of */

static uint64_t test_seed;
static char test_context[200]; /* added to failure reports; set by tests that run many cases */

#define CHECK(condition)                                                                          \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      fprintf(stderr, "%s:%d: CHECK(%s) failed; seed %llu; %s\n", __FILE__, __LINE__, #condition, \
          (unsigned long long)test_seed, test_context);                                           \
      _exit(1);                                                                                   \
    }                                                                                             \
  } while (0)

/* splitmix64 over the caller's state. */
static inline uint32_t test_random(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  return (uint32_t)((z ^ z >> 27) * 0x94D049BB133111EBu >> 32);
}

static inline uint64_t test_now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Returns PLAIT_ROUNDS, or `usual` by default. */
static inline uint32_t test_rounds(uint32_t usual) {
  const char *rounds = getenv("PLAIT_ROUNDS");
  return rounds == NULL ? usual : (uint32_t)strtoul(rounds, NULL, 10);
}

/* Returns the amount of one test's work, divided by PLAIT_SCALE for slow builds. */
static inline uint32_t test_work(uint32_t usual) {
  const char *scale = getenv("PLAIT_SCALE");
  return scale == NULL ? usual : usual / (uint32_t)strtoul(scale, NULL, 10);
}

/* Maps a space and enters it: the thread's id. */
static inline plait_thread_t test_space(uint32_t maximum_pages) {
  CHECK(plait_posix_map(1, maximum_pages) == 0);
  CHECK(plait_abi_init(maximum_pages) == 0);
  plait_thread_t thread = plait_abi_enter();
  CHECK(thread != 0);
  return thread;
}

static inline uint32_t test_live_blocks(void) {
  struct plait_heap_stats stats;
  plait_heap_stats(&stats);
  return stats.live_blocks;
}

static unsigned test_deadline(void) { return getenv("PLAIT_ROUNDS") == NULL ? TEST_DEADLINE : TEST_DEADLINE * 60; }

/*
 * On a busy machine a test gets little processor time. A test that has used some time since the last alarm, but less
 * than its share, continues.
 */
static void test_on_alarm(int number) {
  (void)number;
  static time_t before;
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  if (used.tv_sec < (time_t)test_deadline() && used.tv_sec > before + TEST_DEADLINE / 24) {
    before = used.tv_sec;
    alarm(test_deadline());
    return;
  }
  static const char text[] = "deadline: ";
  if (write(2, text, sizeof text - 1) < 0 || write(2, test_context, strlen(test_context)) < 0) _exit(3);
  _exit(2);
}

struct test {
  const char *name;
  void (*run)(void);
};

static inline int test_main(const struct test *tests, size_t count) {
  const char *seed = getenv("PLAIT_SEED"), *only = getenv("PLAIT_TEST");
  test_seed = seed != NULL ? strtoull(seed, NULL, 10) : 1;
  printf("# seed %llu\n", (unsigned long long)test_seed);
  unsigned passed = 0, failed = 0;
  for (size_t i = 0; i < count; i++) {
    if (only != NULL && strstr(tests[i].name, only) == NULL) continue;
    fflush(NULL);
    uint64_t start = test_now_ms();
    pid_t child = fork();
    if (child == 0) {
      setpgid(0, 0);
      signal(SIGALRM, test_on_alarm);
      alarm(test_deadline());
      tests[i].run();
      fflush(NULL);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    kill(-child, SIGKILL); /* children that a failed test has left behind */
    int good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    printf("%s %s (%llu ms)", good ? "ok" : "not ok", tests[i].name, (unsigned long long)(test_now_ms() - start));
    if (WIFSIGNALED(status)) printf(" signal %d", WTERMSIG(status));
    printf("\n");
    if (good) passed++;
    else failed++;
  }
  printf("%u passed, %u failed\n", passed, failed);
  return failed != 0;
}

#define TEST_MAIN(tests) \
  int main(void) { return test_main(tests, sizeof(tests) / sizeof *(tests)); }

#endif
