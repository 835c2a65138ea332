/*
 * heap and threads: real threads free each other's blocks, grow the memory at once, start and exit. Invariant: no block
 * is lost or allocated twice, and other threads can use freed memory.
 */
#include "heap_unit.h"

enum { SHELF = 512 };
static plait_word_t shelf[SHELF]; /* blocks that any thread may take and free: most frees cross threads */

static void *churn(void *argument) {
  CHECK(plait_abi_enter() != 0);
  uint64_t random = test_seed + (uintptr_t)argument;
  for (uint32_t i = 0, rounds = test_work(100000); i < rounds; i++) {
    uint32_t size = test_random(&random) % 64 == 0 ? test_random(&random) % 60000 : 16 + test_random(&random) % 600;
    plait_ref_t block = plait_heap_alloc(size);
    if (block != 0) {
      uint32_t has = plait_heap_size(block);
      CHECK(has >= size);
      memset(plait_at(block), (uint8_t)(has >> 4), has);
    }
    block = atomic_exchange(&shelf[test_random(&random) % SHELF], block);
    if (block == 0) continue;
    uint32_t old = plait_heap_size(block);
    const uint8_t *bytes = plait_at(block);
    for (uint32_t k = 0; k < old; k++) CHECK(bytes[k] == (uint8_t)(old >> 4));
    CHECK(plait_heap_free(block) == 0);
  }
  plait_abi_detach();
  return NULL;
}

static void run_threads(void *(*run)(void *), uintptr_t count) {
  pthread_t threads[16];
  for (uintptr_t i = 0; i < count; i++) CHECK(pthread_create(&threads[i], NULL, run, (void *)i) == 0);
  for (uintptr_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

static void test_churn(void) {
  test_space(256);
  run_threads(churn, 4);
  for (int i = 0; i < SHELF; i++)
    if (shelf[i] != 0) CHECK(plait_heap_free(shelf[i]) == 0);
  plait_abi_sweep();
  CHECK(test_live_blocks() == 0);
  CHECK(plait_heap_check(1) == 0);
}

static pthread_barrier_t barrier;
static _Atomic uint32_t got;

static void *take_all(void *argument) {
  (void)argument;
  CHECK(plait_abi_enter() != 0);
  pthread_barrier_wait(&barrier);
  while (plait_heap_alloc(100000) != 0) atomic_fetch_add(&got, 1);
  return NULL;
}

/*
 * All threads grow the memory at once. A thread that is too late for the last growth still gets its share, and no
 * memory is left over.
 */
static void test_growing(void) {
  for (uint32_t round = 0; round < test_work(40); round++) {
    test_space(96);
    atomic_store(&got, 0);
    CHECK(pthread_barrier_init(&barrier, NULL, 6) == 0);
    run_threads(take_all, 6);
    /* one for metadata */
    uint32_t slices = atomic_load(&plait_heap()->limit) - atomic_load(&plait_heap()->first) - 1;
    CHECK(atomic_load(&got) == slices / 2 && test_live_blocks() == atomic_load(&got));
    CHECK(plait_heap_check(1) == 0);
    plait_posix_unmap();
  }
}

static _Atomic uint32_t small_failures;

static void *take_one_at_limit(void *argument) {
  (void)argument;
  CHECK(plait_abi_enter() != 0);
  pthread_barrier_wait(&barrier);
  if (plait_heap_alloc(6000) == 0) atomic_fetch_add(&small_failures, 1);
  return NULL;
}

/* Six threads allocate at once while memory can grow little. No request fails while there is memory for all. */
static void test_last_growth(void) {
  for (uint32_t round = 0; round < test_work(600); round++) {
    test_space(14);
    CHECK(pthread_barrier_init(&barrier, NULL, 6) == 0);
    run_threads(take_one_at_limit, 6);
    CHECK(atomic_load(&small_failures) == 0);
    plait_posix_unmap();
  }
}

static void *short_life(void *argument) {
  (void)argument;
  CHECK(plait_abi_enter() != 0);
  plait_ref_t blocks[24];
  for (uint32_t i = 0; i < 24; i++) CHECK((blocks[i] = plait_heap_alloc(plait__class_size(i))) != 0);
  plait_ref_t medium = plait_heap_alloc(60000);
  CHECK(medium != 0 && plait_heap_free(medium) == 0);
  for (uint32_t i = 0; i < 24; i++) CHECK(plait_heap_free(blocks[i]) == 0);
  plait_heap_leave();
  plait_thread_t self = plait_self_id();
  plait_slot_leave();
  plait_slot_release(plait_slot_of(self));
  return NULL;
}

/* A long-lived thread adopts the memory of short-lived threads, and must not keep all of it forever. */
static void test_growth_by_adoption(void) {
  test_space(16384);
  static plait_ref_t blocks[3000];
  struct plait_heap_stats stats;
  for (int round = 0; round < 1000; round++) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, short_life, NULL) == 0);
    pthread_join(thread, NULL);
    for (int i = 0; i < 3000; i++) CHECK((blocks[i] = plait_heap_alloc(16)) != 0);
    for (int i = 0; i < 3000; i++) CHECK(plait_heap_free(blocks[i]) == 0);
    plait_heap_stats(&stats);
    if (round % 100 == 0)
      printf(
          "# round %d: %llu KiB used, %u live\n", round, (unsigned long long)stats.used_bytes >> 10, stats.live_blocks);
  }
  fflush(stdout);
  CHECK(stats.used_bytes < 8u << 20);
}

/* A thread that allocates only small blocks still drains remote frees of its medium blocks. */
static plait_ref_t passed[600];

static void *other_frees(void *argument) {
  (void)argument;
  CHECK(plait_abi_enter() != 0);
  for (int i = 0; i < 600; i++) CHECK(plait_heap_free(passed[i]) == 0);
  return NULL;
}

static void test_remote_never_drained(void) {
  test_space(4096);
  for (int i = 0; i < 600; i++) CHECK((passed[i] = plait_heap_alloc(60000)) != 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, other_frees, NULL) == 0);
  pthread_join(thread, NULL);
  plait_ref_t blocks[20000];
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < 20000; i++) CHECK((blocks[i] = plait_heap_alloc(100)) != 0);
    plait_ref_t large = plait_heap_alloc(1000000);
    CHECK(large != 0 && plait_heap_free(large) == 0);
    for (int i = 0; i < 20000; i++) CHECK(plait_heap_free(blocks[i]) == 0);
  }
  struct plait_heap_stats stats;
  plait_heap_stats(&stats);
  printf("# %llu KiB used with %u live blocks\n", (unsigned long long)stats.used_bytes >> 10, stats.live_blocks);
  fflush(stdout);
  CHECK(stats.used_bytes < 8u << 20);
}

enum { COMMON = 16384 };
static plait_word_t common[COMMON]; /* about 4 MiB of blocks */

static void *replace(void *argument) {
  CHECK(plait_abi_enter() != 0);
  uint64_t random = test_seed + (uintptr_t)argument;
  for (uint32_t i = 0, rounds = test_work(4000000); i < rounds; i++) {
    plait_ref_t block = plait_heap_alloc(16 + test_random(&random) % 497);
    CHECK(block != 0);
    block = atomic_exchange(&common[test_random(&random) % COMMON], block);
    if (block != 0) CHECK(plait_heap_free(block) == 0);
  }
  plait_abi_detach();
  return NULL;
}

/* Threads that replace each other's blocks, with the same total all the time, do not hoard free memory. */
static void test_hoarding(void) {
  test_space(2048);
  for (uint32_t i = 0; i < COMMON; i++) atomic_store(&common[i], 0);
  run_threads(replace, 2);
  struct plait_heap_stats stats;
  plait_heap_stats(&stats);
  printf("# %llu KiB at most\n", (unsigned long long)stats.peak_bytes >> 10);
  fflush(stdout);
  CHECK(stats.peak_bytes < 20u << 20 && plait_heap_check(1) == 0);
}

static const struct test tests[] = {
    {"threads that replace each other's blocks hoard no pages", test_hoarding},
    {"threads free each other's blocks", test_churn},
    {"threads grow at once", test_growing},
    {"no request fails at the last growth", test_last_growth},
    {"remote frees reach a thread that allocates only small blocks", test_remote_never_drained},
    {"short-lived threads beside a long-lived one do not make the heap grow", test_growth_by_adoption},
};
TEST_MAIN(tests)
