/*
 * malloc: the heap's API for other programs, natively. If possible, the whole test process allocates with it, C library
 * included. Under a sanitizer, which has a malloc of its own, the family has other names. See malloc.mk.
 */
#define PLAIT_HEAP_LIBRARY 1 /* the layout that malloc.c is built with */
#include "../../../core/test/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <sys/syscall.h>

#include "../../../core/heap/internal.h"
#include "../../plait_heap.h"

static uint32_t live(void) {
  struct plait_heap_usage usage;
  plait_heap_usage(&usage);
  return usage.live_blocks;
}

static uint64_t used(void) {
  struct plait_heap_usage usage;
  plait_heap_usage(&usage);
  return usage.used_bytes;
}

/* How many slots are taken; one is the shared one. */
static uint32_t places(void) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++)
    count += (atomic_load(&plait_space()->slots[i].generation_state) & 255u) != PLAIT_SLOT_FREE;
  return count;
}

static int is_filled(const void *block, int byte, size_t size) {
  const unsigned char *bytes = block;
  for (size_t i = 0; i < size; i++)
    if (bytes[i] != (unsigned char)byte) return 0;
  return 1;
}

static void *filled(size_t size, int byte) {
  void *block = malloc(size);
  CHECK(block != NULL);
  return memset(block, byte, size);
}

static volatile size_t huge = SIZE_MAX; /* volatile, because the compiler warns about a constant of this size */

/* ---- one thread ---- */

static void test_sizes(void) {
  uint32_t before = live();
  for (size_t size = 0; size < 200000; size += size < 1200 ? 1 : size / 23) {
    char *block = malloc(size), *next = malloc(size);
    CHECK(block != NULL && next != NULL && block != next);
    CHECK((uintptr_t)block % 16 == 0 && (uintptr_t)next % 16 == 0);
    size_t room = malloc_usable_size(block);
    CHECK(room >= size && malloc_usable_size(next) >= size);
    memset(next, 2, malloc_usable_size(next));
    memset(block, 1, room); /* all of it belongs to the program */
    CHECK(is_filled(next, 2, malloc_usable_size(next)));
    free(next);
    CHECK(is_filled(block, 1, room));
    free(block);
  }
  CHECK(malloc_usable_size(NULL) == 0);
  free(NULL);
  CHECK(live() == before && plait_heap_is_whole());
}

static void test_alignment(void) {
  uint32_t before = live();
  for (uint32_t shift = 0; shift <= 30; shift++) {
    size_t alignment = (size_t)1 << shift;
    static const size_t sizes[] = {0, 1, 15, 16, 100, 512, 513, 4096, 5000, 65536, 65537, 300000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      snprintf(test_context, sizeof test_context, "alignment %zu size %zu", alignment, sizes[i]);
      void *aligned = aligned_alloc(alignment, sizes[i]), *posix = NULL;
      CHECK(aligned != NULL && (uintptr_t)aligned % alignment == 0);
      CHECK(malloc_usable_size(aligned) >= sizes[i]);
      memset(aligned, 7, malloc_usable_size(aligned));
      int rc = posix_memalign(&posix, alignment, sizes[i]);
      CHECK(rc == (alignment < sizeof(void *) ? EINVAL : 0));
      CHECK(rc != 0 || (posix != NULL && (uintptr_t)posix % alignment == 0));
      if (posix != NULL) memset(posix, 8, sizes[i]);
      CHECK(is_filled(aligned, 7, malloc_usable_size(aligned)));
      aligned = realloc(aligned, sizes[i] + 100); /* its alignment may be lost, its bytes are kept */
      CHECK(aligned != NULL && is_filled(aligned, 7, sizes[i]));
      free(aligned);
      free(posix);
    }
  }
  void *none = &none;
  CHECK(posix_memalign(&none, 24, 8) == EINVAL && none == &none);
  CHECK(posix_memalign(&none, 0, 8) == EINVAL && posix_memalign(&none, 64, huge) == ENOMEM && none == &none);
  errno = 0;
  CHECK(aligned_alloc(48, 48) == NULL && errno == EINVAL);
  CHECK((uintptr_t)memalign(256, 1) % 256 == 0 && (uintptr_t)valloc(1) % 4096 == 0);
  void *page = pvalloc(1);
  CHECK((uintptr_t)page % 4096 == 0 && malloc_usable_size(page) >= 4096);
  CHECK(live() == before + 3 && plait_heap_is_whole());
}

static void test_refusals(void) {
  uint32_t before = live();
  const size_t too_many[][2] = {{huge, 2}, {2, huge}, {(size_t)1 << 32, (size_t)1 << 32}, {(size_t)1 << 63, 2},
      {huge / 2, huge}, {65536, 65537 * 2}, {huge, huge}};
  for (size_t i = 0; i < sizeof too_many / sizeof *too_many; i++) {
    errno = 0;
    CHECK(calloc(too_many[i][0], too_many[i][1]) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(reallocarray(NULL, too_many[i][0], too_many[i][1]) == NULL && errno == ENOMEM);
  }
  const size_t too_large[] = {huge, huge / 2, (size_t)1 << 32, ((size_t)1 << 32) + 16, UINT32_MAX, UINT32_MAX - 65536};
  for (size_t i = 0; i < sizeof too_large / sizeof *too_large; i++) {
    char *kept = filled(100, 9);
    errno = 0;
    CHECK(malloc(too_large[i]) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(realloc(kept, too_large[i]) == NULL && errno == ENOMEM && is_filled(kept, 9, 100));
    CHECK(aligned_alloc(64, too_large[i]) == NULL && pvalloc(too_large[i]) == NULL);
    free(kept);
  }
  void *none[] = {calloc(0, huge), calloc(huge, 0), calloc(0, 0), reallocarray(NULL, 0, huge), malloc(0)};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    CHECK(none[i] != NULL);
    free(none[i]);
  }
  CHECK(live() == before && plait_heap_is_whole());
}

static void test_realloc(void) {
  uint32_t before = live();
  char *block = realloc(NULL, 10);
  CHECK(block != NULL);
  memset(block, 3, 10);
  size_t has = 10;
  for (size_t size = 11; size < 3000000; has = size, size += size / 5 + 1) {
    block = realloc(block, size);
    CHECK(block != NULL && malloc_usable_size(block) >= size && is_filled(block, 3, has));
    memset(block, 3, size);
  }
  for (size_t size = has; size > 0; size -= size / 5 + 1) {
    block = realloc(block, size);
    CHECK(block != NULL && is_filled(block, 3, size));
  }
  block = realloc(block, 0);
  CHECK(block != NULL); /* not freed, as in C libraries other than GNU's */
  free(block);
  CHECK(live() == before && plait_heap_is_whole());
}

static void test_zeroed(void) {
  for (size_t size = 1; size < 4000000; size += size / 3 + 1) {
    void *dirty = filled(size, 0xFF);
    free(dirty);
    char *block = calloc(1, size);
    CHECK(block != NULL && is_filled(block, 0, size));
    memset(block, 0xEE, size);
    free(block);
    block = calloc(size, 3);
    CHECK(block != NULL && is_filled(block, 0, 3 * size));
    free(block);
  }
  CHECK(plait_heap_is_whole());
}

/* A pointer to no live block is neither freed nor resized. errno survives a free. */
static void test_strangers(void) {
  static char outside[64];
  uint32_t before = live();
  char *block = filled(1000, 5), *volatile freed = malloc(1000), *volatile inside = block + 16,
       *volatile stranger = outside;
  free(freed);
  errno = 77;
  free(freed);
  free(inside);
  free(stranger);
  free(block);
  CHECK(errno == 77 && live() == before);
  CHECK(realloc(stranger, 10) == NULL && errno == ENOMEM);
  CHECK(malloc_usable_size(stranger) == 0 && plait_heap_is_whole());
}

/* All of the space is allocated, and all of it freed. As much can be allocated again. */
static void test_exhaustion(void) {
  enum { MOST = 100 };
  static void *blocks[2][MOST];
  uint32_t counts[2] = {0, 0}, before = live();
  for (int round = 0; round < 2; round++) {
    while (counts[round] < MOST && (blocks[round][counts[round]] = malloc(64u << 20)) != NULL) counts[round]++;
    CHECK(errno == ENOMEM && counts[round] > 55 && counts[round] < 64);
    size_t step = 1u << 20;
    for (void *rest; step >= 16; step /= 2)
      while ((rest = malloc(step)) != NULL && step > 65536);
    for (uint32_t i = 0; i < counts[round]; i++) free(blocks[round][i]);
    CHECK(plait_heap_is_whole());
    if (round == 0) break; /* blocks that `rest` has named are lost on purpose, and fill the gaps */
  }
  while ((blocks[1][counts[1]] = malloc(64u << 20)) != NULL) counts[1]++;
  CHECK(counts[1] == counts[0]);
  for (uint32_t i = 0; i < counts[1]; i++) free(blocks[1][i]);
  CHECK(live() >= before && plait_heap_is_whole());
}

/* ---- a model ---- */

enum { HELD = 600 };
struct held {
  unsigned char *at;
  size_t size;
  unsigned char byte;
};

static size_t random_size(uint64_t *random) {
  uint32_t kind = test_random(random) % 100;
  if (kind < 60) return test_random(random) % 700;
  if (kind < 90) return test_random(random) % 20000;
  if (kind < 98) return test_random(random) % 200000;
  return test_random(random) % 3000000;
}

static void put(struct held *held, void *block, size_t size, uint64_t *random) {
  CHECK(block != NULL && malloc_usable_size(block) >= size);
  *held = (struct held){block, size, (unsigned char)test_random(random)};
  memset(block, held->byte, size);
}

static void step(struct held *held, uint64_t *random) {
  size_t size = random_size(random);
  if (held->at == NULL) {
    uint32_t how = test_random(random) % 8, shift = test_random(random) % 14;
    void *block = NULL;
    if (how == 0) {
      block = calloc(1, size);
      CHECK(block != NULL && is_filled(block, 0, size));
    } else if (how == 1) {
      block = aligned_alloc((size_t)1 << shift, size);
      CHECK((uintptr_t)block % ((size_t)1 << shift) == 0);
    } else {
      block = malloc(size);
    }
    put(held, block, size, random);
    return;
  }
  CHECK(is_filled(held->at, held->byte, held->size));
  if (test_random(random) % 3 != 0) {
    free(held->at);
    held->at = NULL;
    return;
  }
  void *moved = realloc(held->at, size);
  CHECK(moved != NULL && is_filled(moved, held->byte, size < held->size ? size : held->size));
  put(held, moved, size, random);
}

static void run_model(uint64_t seed, uint32_t steps) {
  uint64_t random = seed;
  struct held held[HELD] = {{0}};
  for (uint32_t i = 0; i < steps; i++) step(&held[test_random(&random) % HELD], &random);
  for (uint32_t i = 0; i < HELD; i++) free(held[i].at);
}

static void test_model(void) {
  for (uint32_t round = 0; round < test_rounds(2); round++) {
    snprintf(test_context, sizeof test_context, "round %u", round);
    uint32_t before = live();
    run_model(test_seed + round, test_work(60000));
    CHECK(live() == before && plait_heap_is_whole());
  }
}

/* ---- many threads ---- */

static pthread_barrier_t barrier;

static void *model_thread(void *seed) {
  run_model((uintptr_t)seed, test_work(4000));
  return NULL;
}

static void run_threads(uint32_t count, void *(*body)(void *)) {
  pthread_t *threads = malloc(count * sizeof *threads);
  CHECK(threads != NULL);
  for (uint32_t i = 0; i < count; i++) {
    int rc = pthread_create(&threads[i], NULL, body, (void *)(uintptr_t)(test_seed * 1000 + i));
    CHECK(rc == 0);
  }
  for (uint32_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
  free(threads);
}

static void *together_thread(void *unused) {
  (void)unused;
  pthread_barrier_wait(&barrier);
  free(malloc(1));
  return NULL;
}

static void test_threads(void) {
  pthread_barrier_init(&barrier, NULL, 8);
  run_threads(8, together_thread); /* the C library keeps some blocks for exited threads */
  uint32_t before = live();
  run_threads(8, model_thread);
  snprintf(test_context, sizeof test_context, "%u of %u live, %u places", live(), before, places());
  CHECK(live() == before && places() == 2 && plait_heap_is_whole());
}

/* More threads than slots, all alive at once. Each frees what its neighbor has allocated. */
enum { CROWD = 300 };
static void *crowd_blocks[CROWD][40];
static atomic_uint crowd_next;

static void *crowd_thread(void *unused) {
  (void)unused;
  uint32_t me = atomic_fetch_add(&crowd_next, 1), neighbour = (me + 1) % CROWD;
  uint64_t random = test_seed + me;
  for (int round = 0; round < 3; round++) {
    for (uint32_t i = 0; i < 40; i++)
      crowd_blocks[me][i] = filled(1 + test_random(&random) % (i % 8 == 0 ? 90000 : 1500), 0x5A);
    pthread_barrier_wait(&barrier);
    for (uint32_t i = 0; i < 40; i++) {
      CHECK(is_filled(crowd_blocks[neighbour][i], 0x5A, 1));
      free(crowd_blocks[neighbour][i]);
    }
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

static void test_crowd(void) {
  pthread_barrier_init(&barrier, NULL, CROWD);
  run_threads(CROWD, crowd_thread);
  uint32_t before = live();
  atomic_store(&crowd_next, 0);
  run_threads(CROWD, crowd_thread);
  CHECK(live() == before && places() == 2 && plait_heap_is_whole());
}

/* Threads come and go. Each frees and allocates in destructors of keys that were created after the heap's key. */
static pthread_key_t late_keys[4];

static void late(void *block) {
  free(block);
  char *more = filled(100, 1), *large = filled(70000, 2);
  free(large);
  free(more);
  CHECK(strerror(123456) != NULL); /* the C library frees the text after the thread has exited */
}

static void *late_thread(void *unused) {
  (void)unused;
  for (uint32_t i = 0; i < 4; i++) pthread_setspecific(late_keys[i], filled(60 + 1000 * i, 3));
  return strdup("for the joining thread");
}

/*
 * A thread that has never allocated has no slot, and sleeps while another has the heap's lock. It must not keep that
 * thread from a processor.
 */
static void *waited_for;
static _Atomic int freeing_thread, lock_is_held;

static void *free_only(void *argument) {
  atomic_store(&freeing_thread, (int)syscall(SYS_gettid));
  while (!atomic_load(&lock_is_held)) sched_yield();
  free(waited_for);
  return argument;
}

static int is_asleep(int thread) {
  char path[64], text[256];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  int file = open(path, O_RDONLY);
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  text[length > 0 ? length : 0] = 0;
  const char *name_end = strrchr(text, ')');
  return name_end != NULL && name_end[2] == 'S';
}

static void test_only_frees(void) {
  pthread_t thread;
  CHECK((waited_for = malloc(3 << 20)) != NULL && pthread_create(&thread, NULL, free_only, NULL) == 0);
  while (atomic_load(&freeing_thread) == 0) sched_yield();
  CHECK(plait__heap_lock() == 0); /* from here on nothing may allocate */
  atomic_store(&lock_is_held, 1);
  int asleep = 0;
  for (uint32_t i = 0; !asleep && i < 20000; i++) {
    asleep = is_asleep(atomic_load(&freeing_thread));
    usleep(100);
  }
  plait__heap_unlock();
  CHECK(pthread_join(thread, NULL) == 0 && asleep);
}

static void test_come_and_go(void) {
  uint64_t settled = 0;
  uint32_t before = 0, many = test_work(4000);
  for (uint32_t i = 0; i < 4; i++) pthread_key_create(&late_keys[i], late);
  for (uint32_t round = 0; round < many; round++) {
    pthread_t threads[3];
    void *results[3];
    for (int i = 0; i < 3; i++) CHECK(pthread_create(&threads[i], NULL, late_thread, NULL) == 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], &results[i]);
    for (int i = 0; i < 3; i++) free(results[i]);
    if (round == 20) before = live(), settled = used();
  }
  /* the shared slot, and that of this thread, if it has ever allocated */
  CHECK(live() == before && places() <= 2 && used() <= settled + 20 * 65536 && plait_heap_is_whole());
}

/* ---- fork; a sanitizer's own allocator does not survive a fork among threads ---- */

#if !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__
#define FORKS

static void *short_thread(void *seed) {
  run_model((uintptr_t)seed, 200);
  return NULL;
}

static atomic_int stop;

static void *busy_thread(void *seed) {
  for (uint64_t round = 0; !atomic_load(&stop); round++) run_model((uintptr_t)seed + round, 200);
  return NULL;
}

static void *idle_thread(void *unused) {
  void *block = malloc(10);
  while (!atomic_load(&stop)) usleep(1000);
  free(block);
  return unused;
}

/*
 * In the child the other threads have exited wherever they were. The heap must be intact there, and must serve new
 * threads.
 */
static void fork_once(void *small, void *medium, void *large) {
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(20);
    if (!plait_heap_is_whole() || places() > 2) _exit(1);
    free(small);
    free(medium);
    free(large);
    run_model(test_seed, 200);
    pthread_t thread;
    if (pthread_create(&thread, NULL, short_thread, NULL) != 0 || pthread_join(thread, NULL) != 0) _exit(2);
    _exit(plait_heap_is_whole() ? 0 : 3);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  snprintf(test_context, sizeof test_context, "status %x", status);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  test_context[0] = 0;
}

static void fork_among(uint32_t busy, uint32_t idle, uint32_t times) {
  pthread_t *threads = malloc((busy + idle) * sizeof *threads);
  void *small = malloc(50), *medium = malloc(5000), *large = malloc(500000);
  for (uint32_t i = 0; i < busy + idle; i++)
    CHECK(pthread_create(&threads[i], NULL, i < idle ? idle_thread : busy_thread, (void *)(uintptr_t)(test_seed + i)) ==
        0);
  for (uint32_t i = 0; i < times; i++) fork_once(small, medium, large);
  atomic_store(&stop, 1);
  for (uint32_t i = 0; i < busy + idle; i++) pthread_join(threads[i], NULL);
  CHECK(plait_heap_is_whole());
}

static void test_fork(void) { fork_among(4, 0, test_rounds(30)); }

/* The busy threads have no slot of their own. */
static void test_fork_in_crowd(void) { fork_among(4, 260, test_rounds(10)); }

#endif

static const struct test tests[] = {
    {"sizes", test_sizes},
    {"alignment", test_alignment},
    {"refusals", test_refusals},
    {"realloc", test_realloc},
    {"zeroed", test_zeroed},
    {"strangers", test_strangers},
    {"exhaustion", test_exhaustion},
    {"model", test_model},
    {"threads", test_threads},
    {"crowd", test_crowd},
    {"come and go", test_come_and_go},
    {"only frees", test_only_frees},
#ifdef FORKS
    {"fork", test_fork},
    {"fork in a crowd", test_fork_in_crowd},
#endif
};

TEST_MAIN(tests)
