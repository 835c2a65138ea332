/*
 * fs, several threads. Appends are neither lost nor mixed. All threads create, rename and remove names in one
 * directory. A file is replaced by rename while others read it. Link counts and listings are correct. A read returns
 * the bytes of one writer, never of two. Processes are killed during all that.
 */
#include "fs_tsan.h"
#include "fs_world.h"

#define THREADS 4

static atomic_int stop;
static uint32_t work;

static void run_threads(void *(*body)(void *), uint32_t count) {
  pthread_t threads[16];
  atomic_store(&stop, 0);
  for (uint32_t i = 0; i < count; i++) CHECK(pthread_create(&threads[i], NULL, body, (void *)(uintptr_t)i) == 0);
  for (uint32_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

static void enter(void) {
  CHECK(plait_abi_enter() != 0);
  fs_mine();
}

static void leave(void) { plait_abi_detach(); }

/* ---- appends ---- */

static void *append(void *argument) {
  enter();
  uint32_t me = (uint32_t)(uintptr_t)argument;
  int fd = fs_open("/log", PLAIT_FS_WRONLY | PLAIT_FS_CREAT | PLAIT_FS_APPEND);
  CHECK(fd >= 0);
  plait_ref_t scratch = plait_get(&fs_mine()->scratch);
  for (uint32_t i = 0; i < work; i++) {
    uint32_t length = 8 + (i * 13 + me) % 90, words[2] = {me << 24 | i, length};
    memcpy(plait_at(scratch), words, 8);
    memset(plait_at(scratch + 8), (int)me, length - 8);
    CHECK(plait_fs_write(fd, scratch, length, -1, NOW) == (int)length);
  }
  CHECK(plait_fs_close(fd) == 0);
  leave();
  return NULL;
}

static void test_appends(void) {
  test_space(2000);
  fs_mine();
  work = test_work(40000);
  run_threads(append, THREADS);
  uint32_t next[THREADS] = {0}, at = 0;
  double size = plait_fs_read_file(PLAIT_FS_PATH(fs_first("/log")), 0, 0);
  plait_ref_t all = plait_heap_alloc((uint32_t)size);
  CHECK(plait_fs_read_file(PLAIT_FS_PATH(fs_first("/log")), all, (uint32_t)size) == size);
  const uint8_t *bytes = plait_at(all);
  while (at < size) {
    uint32_t words[2];
    memcpy(words, bytes + at, 8);
    uint32_t me = words[0] >> 24, length = words[1];
    CHECK(me < THREADS && (words[0] & 0xFFFFFF) == next[me] && at + length <= size);
    next[me]++;
    for (uint32_t i = 8; i < length; i++) CHECK(bytes[at + i] == me);
    at += length;
  }
  for (uint32_t i = 0; i < THREADS; i++) CHECK(next[i] == work);
  plait_heap_free(all);
  plait_abi_sweep();
  CHECK(fs_check_all(0) == 0);
}

/* ---- one descriptor ---- */

#define RECORD 8u

static int shared_fd;
static atomic_uint read_count, write_count;

/* All threads read or write at one file position. Each position belongs to one of them, as in a sequential order. */
static void *use_position(void *argument) {
  enter();
  uint32_t me = (uint32_t)(uintptr_t)argument;
  uint64_t random = test_seed + me;
  plait_ref_t scratch = plait_get(&fs_mine()->scratch);
  for (uint32_t i = 0; i < work; i++) {
    uint32_t words[2] = {me + 1, i};
    if (test_random(&random) % 2 == 0) {
      CHECK(plait_fs_read(shared_fd, scratch, RECORD, -1) == RECORD);
      memcpy(words, plait_at(scratch), RECORD);
      CHECK(words[0] == 0); /* written words come before the file position */
      atomic_fetch_add(&read_count, 1);
    } else {
      memcpy(plait_at(scratch), words, RECORD);
      CHECK(plait_fs_write(shared_fd, scratch, RECORD, -1, NOW) == RECORD);
      atomic_fetch_add(&write_count, 1);
    }
  }
  leave();
  return NULL;
}

static void test_positions(void) {
  test_space(2000);
  work = test_work(40000);
  uint32_t bytes = THREADS * work * RECORD, seen = 0;
  CHECK((shared_fd = fs_open("/f", PLAIT_FS_RDWR | PLAIT_FS_CREAT)) >= 0 && fs_truncate("/f", bytes) == 0);
  atomic_store(&read_count, 0), atomic_store(&write_count, 0);
  run_threads(use_position, THREADS);
  CHECK(plait_fs_seek(shared_fd, 0, 1) == bytes &&
      atomic_load(&read_count) + atomic_load(&write_count) == THREADS * work);
  plait_ref_t scratch = plait_get(&fs_mine()->scratch);
  for (uint32_t at = 0; at < bytes; at += RECORD) {
    uint32_t words[2];
    CHECK(plait_fs_read(shared_fd, scratch, RECORD, at) == RECORD);
    memcpy(words, plait_at(scratch), RECORD);
    seen += words[0] != 0;
  }
  CHECK(seen == atomic_load(&write_count) && plait_fs_close(shared_fd) == 0);
  plait_abi_sweep();
  CHECK(fs_check_all(0) == 0);
}

/* ---- limits ---- */

#define LIMIT_FILES 7u /* beside the root, of three for each thread */

static pthread_barrier_t together;
static uint32_t limit_bytes, limit_size, refused[THREADS];

/* All threads create files at once. The total stays within the limits. */
static void *fill_up(void *argument) {
  enter();
  uint32_t me = (uint32_t)(uintptr_t)argument;
  struct plait_fs_result *result = &fs_mine()->result;
  char name[30];
  for (uint32_t i = 0; i < work; i++) {
    pthread_barrier_wait(&together);
    for (uint32_t k = 0; k < 3; k++) {
      snprintf(name, sizeof name, "/limit%u_%u", me, k);
      int rc = fs_write(name, i % 2 == 0 ? limit_size : 0, i);
      CHECK(rc == 0 || rc == -PLAIT_ENOSPC);
      refused[me] += rc != 0;
    }
    pthread_barrier_wait(&together);
    if (me == 0)
      CHECK(plait_fs_usage() == 0 && plait_get(&result->number) <= LIMIT_FILES + 1 &&
          plait_get64(&result->held) <= limit_bytes);
    pthread_barrier_wait(&together);
    for (uint32_t k = 0; k < 3; k++) {
      snprintf(name, sizeof name, "/limit%u_%u", me, k);
      int rc = fs_unlink(name);
      CHECK(rc == 0 || rc == -PLAIT_ENOENT);
    }
  }
  leave();
  return NULL;
}

static void test_limits(void) {
  test_space(2000);
  fs_mine();
  work = test_work(5000);
  plait_ref_t block = plait_heap_alloc(20000);
  limit_size = plait_heap_size(block); /* blocks have sizes of their own, which count */
  limit_bytes = 5 * limit_size;
  plait_heap_free(block);
  plait_fs_limit(limit_bytes, LIMIT_FILES + 1);
  CHECK(pthread_barrier_init(&together, NULL, THREADS) == 0);
  run_threads(fill_up, THREADS);
  for (uint32_t i = 0; i < THREADS; i++) CHECK(refused[i] > 0);
  pthread_barrier_destroy(&together);
  plait_abi_sweep();
  CHECK(fs_check_all(0) == 0 && plait_fs_usage() == 0 && plait_get64(&fs_mine()->result.held) == 0);
  CHECK(fs_write("/all", 3 * limit_size, 1) == 0); /* no reservation is left */
}

/* ---- one directory ---- */

static void storm(uint64_t *random, uint32_t steps, uint32_t names) {
  char from[40], to[40];
  for (uint32_t i = 0; i < steps; i++) {
    uint32_t a = test_random(random) % names, b = test_random(random) % names, kind = test_random(random) % 12;
    snprintf(from, sizeof from, "/%c/n%u", "de"[a & 1], a / 2), snprintf(to, sizeof to, "/%c/n%u", "de"[b & 1], b / 2);
    int rc = 0;
    switch (kind) {
      case 0:
      case 1: rc = fs_write(from, test_random(random) % (kind * 3000 + 100), a); break;
      case 2: rc = fs_mkdir(from); break;
      case 3: rc = fs_rmdir(from); break;
      case 4: rc = fs_link(from, to); break;
      case 5:
      case 6: rc = fs_rename(from, to); break;
      case 7: rc = fs_unlink(from); break;
      case 8: rc = fs_symlink("../d/n1", to); break;
      case 9: rc = fs_stat(from); break;
      case 10: {
        int fd = fs_open(
            from, PLAIT_FS_RDWR | PLAIT_FS_CREAT | (test_random(random) % 2 ? PLAIT_FS_APPEND : PLAIT_FS_TRUNC));
        if (fd < 0) rc = fd;
        else {
          plait_fs_write(fd, plait_get(&fs_mine()->scratch), test_random(random) % 9000, -1, NOW);
          plait_fs_truncate(fd, test_random(random) % 5000, NOW);
          plait_fs_lock(fd, 2, 0, 10, 0);
          rc = plait_fs_close(fd);
        }
        break;
      }
      default: rc = plait_fs_list(PLAIT_FS_PATH(fs_first("/d")), 0);
    }
    if (rc < 0 && rc != -PLAIT_ENOENT && rc != -PLAIT_EEXIST && rc != -PLAIT_ENOTDIR && rc != -PLAIT_EISDIR &&
        rc != -PLAIT_ENOTEMPTY && rc != -PLAIT_EPERM && rc != -PLAIT_ELOOP && rc != -PLAIT_EINVAL &&
        rc != -PLAIT_ENOSPC)
      snprintf(test_context, sizeof test_context, "kind %u: %d", kind, rc);
    CHECK(test_context[0] == 0);
  }
}

static void *storm_thread(void *argument) {
  enter();
  uint64_t random = test_seed + (uintptr_t)argument;
  storm(&random, work, 24);
  leave();
  return NULL;
}

static void test_storm(void) {
  test_space(2000);
  CHECK(fs_mkdir("/d") == 0 && fs_mkdir("/e") == 0);
  work = test_work(100000);
  run_threads(storm_thread, THREADS);
  plait_abi_sweep();
  CHECK(fs_check_all(0) == 0);
}

/* ---- replaced while it is read ---- */

static void *replace(void *argument) {
  enter();
  char name[40];
  uint32_t me = (uint32_t)(uintptr_t)argument;
  plait_ref_t scratch = plait_get(&fs_mine()->scratch);
  snprintf(name, sizeof name, "/new%u", me);
  for (uint32_t i = 0; i < work; i++) {
    if (me < 2) { /* a new file in its place, or other bytes in it by one write */
      uint32_t size = 1000 + (i * 37) % 9000, salt = me * 2 + (i & 1);
      memset(plait_at(scratch), (int)salt + 1, size);
      memcpy(plait_at(scratch), &size, 4);
      if (me == 0) {
        CHECK(plait_fs_write_file(
                  fs_first(name), PLAIT_FS_CREAT | PLAIT_FS_TRUNC | PLAIT_FS_WRONLY, 0666, scratch, size, 0, NOW) == 0);
        CHECK(fs_rename(name, "/target") == 0);
      } else {
        CHECK(plait_fs_write_file(fs_first("/target"), PLAIT_FS_CREAT | PLAIT_FS_TRUNC | PLAIT_FS_WRONLY, 0666, scratch,
                  size, 0, NOW) == 0);
      }
      continue;
    }
    double size = plait_fs_read_file(PLAIT_FS_PATH(fs_first("/target")), scratch, PLAIT_FS_SCRATCH);
    uint32_t said;
    memcpy(&said, plait_at(scratch), 4);
    const uint8_t *bytes = plait_at(scratch);
    CHECK(size >= 1000 && said == (uint32_t)size);
    for (uint32_t k = 5; k < said; k++) CHECK(bytes[k] == bytes[4]);
  }
  leave();
  return NULL;
}

static void test_replaced(void) {
  test_space(1000);
  uint32_t size = 1000;
  plait_ref_t scratch = plait_get(&fs_mine()->scratch);
  memset(plait_at(scratch), 1, size);
  memcpy(plait_at(scratch), &size, 4);
  CHECK(plait_fs_write_file(fs_first("/target"), PLAIT_FS_WRONLY | PLAIT_FS_CREAT, 0666, scratch, size, 0, NOW) == 0);
  work = test_work(40000);
  run_threads(replace, THREADS);
  plait_abi_sweep();
  CHECK(fs_check_all(0) == 0);
}

/* ---- locks on ranges exclude ---- */

static int *inside;

static void *locked(void *argument) {
  (void)argument;
  enter();
  int fd = fs_open("/f", PLAIT_FS_RDWR | PLAIT_FS_CREAT);
  for (uint32_t i = 0; i < work; i++) {
    CHECK(plait_fs_lock(fd, 2, 5, 6, -1) == 0);
    CHECK(*inside == 0);
    *inside = 1;
    *inside = 0;
    CHECK(plait_fs_lock(fd, 0, 0, 100, -1) == 0);
  }
  CHECK(plait_fs_close(fd) == 0);
  leave();
  return NULL;
}

static void test_ranges_exclude(void) {
  test_space(400);
  fs_mine();
  static int count;
  inside = &count;
  work = test_work(4000);
  run_threads(locked, THREADS);
  plait_abi_sweep();
  CHECK(fs_check_all(0) == 0);
}

/* ---- processes that are killed ---- */

static void test_kills(void) {
#ifdef __SANITIZE_THREAD__ /* does not see the accesses of another process */
  return;
#endif
  test_space(4000);
  uint64_t random = test_seed;
  uint32_t exits = 0;
  enum { PROCESSES = 3 };
  pid_t children[PROCESSES] = {0};
  plait_thread_t ids[PROCESSES];
  CHECK(fs_mkdir("/d") == 0 && fs_mkdir("/e") == 0);
  for (uint32_t round = 0, rounds = test_rounds(300); round < rounds; round++) {
    for (uint32_t i = 0; i < PROCESSES; i++) {
      if (children[i] != 0) continue;
      CHECK((ids[i] = plait_slot_claim(0)) != 0);
      uint64_t seed = test_random(&random);
      if ((children[i] = fork()) == 0) {
        plait_slot_enter(ids[i], 1);
        if (plait_fs_enter() == 0) _exit(9);
        for (;;) storm(&seed, 1000, 24);
      }
    }
    struct timespec nap = {.tv_nsec = test_random(&random) % 3000000};
    nanosleep(&nap, NULL);
    uint32_t victim = test_random(&random) % PROCESSES;
    int status;
    kill(children[victim], SIGKILL);
    waitpid(children[victim], &status, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    children[victim] = 0;
    plait_thread_note_exit(ids[victim]);
    if (test_random(&random) % 2) storm(&random, 20, 24); /* other threads take over locks before recovery does */
    plait_abi_recover(ids[victim]);
    exits++;
    if (round % 20 != 19 && round + 1 != rounds) continue; /* the rest runs after all have exited */
    for (uint32_t i = 0; i < PROCESSES; i++) {
      if (children[i] == 0) continue;
      kill(children[i], SIGKILL);
      waitpid(children[i], &status, 0);
      CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
      children[i] = 0;
      plait_abi_recover(ids[i]);
      exits++;
    }
    snprintf(test_context, sizeof test_context, "round %u", round);
    uint32_t lost = fs_check_all(0);
    test_context[0] = 0;
    CHECK(lost <= exits);
  }
  printf("# %u exits, %u blocks lost\n", exits, fs_check_all(0));
}

static const struct test tests[] = {
    {"appends", test_appends},
    {"one descriptor", test_positions},
    {"limits", test_limits},
    {"one directory", test_storm},
    {"replaced while it is read", test_replaced},
    {"locks on ranges exclude", test_ranges_exclude},
    {"processes are killed", test_kills},
};
TEST_MAIN(tests)
