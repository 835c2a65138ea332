/*
 * many files: the cost of an operation must not grow with the number of files, and an inode that was freed must be
 * reused.
 *
 * The cost is counted in instructions (see single_step.h), so no clock decides.
 */
#include "fs_world.h"
#if defined(__x86_64__) && defined(__linux__)
#include "single_step.h"
#endif

#define MOST_PAGES 4000u

/* The number of inode chunks. */
static uint32_t chunks(void) { return plait_get(&plait_fs()->inodes.count); }

static char path[40];

static uint32_t in_use(void) {
  CHECK(plait_fs_usage() == 0);
  return plait_get(&fs_mine()->result.number);
}

static plait_thread_t thread(void) {
  plait_thread_t self = plait_slot_claim(0);
  CHECK(self != 0);
  plait_slot_enter(self, 1);
  fs_mine();
  return self;
}

static int create(const char *path) {
  int fd = fs_open(path, PLAIT_FS_WRONLY | PLAIT_FS_CREAT | PLAIT_FS_EXCL);
  return fd < 0 ? fd : plait_fs_close(fd);
}

#ifdef SINGLE_STEP

#define FEW 2100u
#define MANY 20000u /* fills the directory's table to the same part, so that neither count includes a larger table */

static uint32_t count;

static void name(uint32_t i) { snprintf(path, sizeof path, "/f%u", i); }

static void do_create(void) { CHECK(create(path) == 0); }
static void do_unlink(void) { CHECK(fs_unlink(path) == 0 && create(path) == 0); }

static void make_another(void) {
  name(count++);
  do_create();
}

/* The next file is the first of a new chunk. */
static void make_till_full(void) {
  while (in_use() < chunks() * PLAIT_FS_CHUNK_ITEMS) make_another();
  name(count++);
}
static void make_name(void) { name(count / 2); }

static const struct {
  const char *name;
  void (*prepare)(void);
  void (*run)(void);
} operations[] = {
    {"create in a new chunk", make_till_full, do_create},
    {"unlink", make_name, do_unlink},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static void nothing(void) {}

static void count_all(uint32_t files, uint32_t *counts) {
  while (count < files) make_another();
  for (int i = 0; i < OPERATIONS; i++) {
    operations[i].prepare();
    CHECK(!step_interleave(operations[i].run, UINT32_MAX, nothing));
    counts[i] = step_count;
  }
}

static void test_instructions(void) {
  uint32_t few[OPERATIONS], many[OPERATIONS];
  test_space(MOST_PAGES);
  fs_mine();
  step_begin(MOST_PAGES);
  count_all(FEW, few);
  count_all(MANY, many);
  for (int i = 0; i < OPERATIONS; i++) {
    snprintf(test_context, sizeof test_context, "%s: %u instructions among %u files, %u among %u", operations[i].name,
        few[i], FEW, many[i], MANY);
    printf("# %s\n", test_context);
    CHECK(many[i] <= few[i] * 1.5);
  }
}

#endif

/* Files are removed by the hundred, anywhere, and others created. The scattered free inodes are reused first. */
static void test_freed_are_found(void) {
  enum { FILES = 10000, BATCH = 100 };
  static uint32_t names[FILES];
  uint32_t next = 0;
  uint64_t random = test_seed;
  test_space(MOST_PAGES);
  for (uint32_t i = 0; i < FILES; i++) {
    snprintf(path, sizeof path, "/f%u", names[i] = next++);
    CHECK(create(path) == 0);
  }
  uint32_t needed = chunks();
  for (uint32_t rounds = test_work(2000); rounds > 0; rounds--) {
    uint32_t removed[BATCH];
    for (uint32_t k = 0; k < BATCH; k++) {
      do removed[k] = test_random(&random) % FILES;
      while (names[removed[k]] == UINT32_MAX);
      snprintf(path, sizeof path, "/f%u", names[removed[k]]);
      CHECK(fs_unlink(path) == 0);
      names[removed[k]] = UINT32_MAX;
    }
    for (uint32_t k = 0; k < BATCH; k++) {
      snprintf(path, sizeof path, "/f%u", names[removed[k]] = next++);
      CHECK(create(path) == 0);
    }
  }
  snprintf(test_context, sizeof test_context, "%u chunks, then %u", needed, chunks());
  CHECK(in_use() == FILES + 1 && chunks() <= needed + needed / 16);
  CHECK(fs_check_all(0) == 0);
}

/* A thread that creates one file and exits leaves no chunk of its own behind. */
static void test_threads_that_come_and_go(void) {
  plait_thread_t self = test_space(MOST_PAGES);
  for (uint32_t i = 0; i < 5000; i++) {
    snprintf(path, sizeof path, "/f%u", i);
    CHECK(create(path) == 0);
  }
  uint32_t needed = chunks();
  for (uint32_t i = 0; i < 300; i++) {
    plait_thread_t other = thread();
    snprintf(path, sizeof path, "/g%u", i % 50);
    CHECK(i < 50 || fs_unlink(path) == 0);
    CHECK(create(path) == 0);
    plait_slot_leave();
    plait_slot_enter(self, 1);
    CHECK(plait_thread_note_exit(other));
    plait_abi_sweep();
  }
  snprintf(test_context, sizeof test_context, "%u chunks, then %u", needed, chunks());
  CHECK(chunks() <= needed + 2 && fs_check_all(0) == 0);
}

/* If memory for another chunk is lacking, the last free inode is found, wherever it is. */
static void test_last_free(void) {
  plait_thread_t self = test_space(200), other;
  plait_ref_t for_the_check = plait_heap_alloc(2u << 20);
  fs_mine();
  other = thread();
  uint32_t files = 0;
  for (int rc = 0; rc == 0; files++) {
    snprintf(path, sizeof path, "/f%u", files);
    if ((rc = create(path)) != 0) CHECK(rc == -PLAIT_ENOSPC && files > 10 * PLAIT_FS_CHUNK_ITEMS);
  }
  CHECK(in_use() == chunks() * PLAIT_FS_CHUNK_ITEMS);
  for (uint32_t i = 5; i < files - 1; i += 997) {
    snprintf(path, sizeof path, "/f%u", i);
    plait_slot_enter(other, 1);
    CHECK(fs_unlink(path) == 0);
    plait_slot_enter(self, 1);
    CHECK(create(path) == 0);
  }
  plait_heap_free(for_the_check);
  CHECK(fs_check_all(0) == 0);
}

static const struct test tests[] = {
#ifdef SINGLE_STEP
    {"an operation takes no longer among many files", test_instructions},
#endif
    {"inodes that were freed are found", test_freed_are_found},
    {"threads that come and go add no inodes", test_threads_that_come_and_go},
    {"the last free inode is found", test_last_free},
};
TEST_MAIN(tests)
