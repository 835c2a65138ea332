/*
 * heap: a model in ordinary memory says what must hold; threads, wrong frees and the limit try to break it.
 */
#include "harness.h"

struct held {
  plait_ref_t at;
  uint32_t size;
  uint8_t byte;
};

static uint32_t random_size(uint64_t *random) {
  uint32_t kind = test_random(random) % 100;
  if (kind < 60) return test_random(random) % 200;
  if (kind < 90) return test_random(random) % 5200;
  if (kind < 98) return test_random(random) % 40000;
  return test_random(random) % 400000;
}

static int holds(const struct held *block) {
  const uint8_t *bytes = plait_at(block->at);
  for (uint32_t i = 0; i < block->size; i++)
    if (bytes[i] != block->byte) return 0;
  return 1;
}

static int by_place(const void *a, const void *b) {
  plait_ref_t x = ((const struct held *)a)->at, y = ((const struct held *)b)->at;
  return x < y ? -1 : x > y;
}

static void check_overlap(const struct held *blocks, uint32_t count) {
  struct held *sorted = malloc(count * sizeof *sorted);
  memcpy(sorted, blocks, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, by_place);
  for (uint32_t i = 0; i + 1 < count; i++) CHECK((uint64_t)sorted[i].at + sorted[i].size <= sorted[i + 1].at);
  free(sorted);
}

static void test_model(void) {
  test_space(512);
  enum { LIMIT = 2000 };
  static struct held blocks[LIMIT];
  uint32_t count = 0, rounds = test_work(test_rounds(200000));
  uint64_t random = test_seed;
  for (uint32_t round = 0; round < rounds; round++) {
    snprintf(test_context, sizeof test_context, "round %u", round);
    if (count < LIMIT && test_random(&random) % 100 < 52) {
      struct held block = {.size = random_size(&random), .byte = (uint8_t)round};
      if ((block.at = plait_heap_alloc(block.size)) == 0) continue;
      CHECK(block.at % 16 == 0 && plait_heap_size(block.at) == block.size);
      CHECK((uint64_t)block.at + block.size <= (uint64_t)plait_platform_pages() * PLAIT_PAGE_SIZE);
      memset(plait_at(block.at), block.byte, block.size);
      blocks[count++] = block;
    } else if (count > 0) {
      uint32_t victim = test_random(&random) % count;
      CHECK(holds(&blocks[victim]));
      CHECK(plait_heap_free(blocks[victim].at) == 0);
      CHECK(plait_heap_free(blocks[victim].at) == -PLAIT_EINVAL);
      blocks[victim] = blocks[--count];
    }
    CHECK(test_live_blocks() == count);
    if (round % 20000 != 0) continue;
    CHECK(plait_heap_check(1) == 0);
    check_overlap(blocks, count);
  }
  check_overlap(blocks, count);
  while (count > 0) CHECK(holds(&blocks[count - 1]) && plait_heap_free(blocks[--count].at) == 0);
  CHECK(test_live_blocks() == 0 && plait_heap_check(1) == 0);
}

static void test_wrong_frees(void) {
  test_space(64);
  uint64_t random = test_seed;
  plait_ref_t small = plait_heap_alloc(500), large = plait_heap_alloc(50000);
  memset(plait_at(small), 0xA5, 500), memset(plait_at(large), 0xA5, 50000);
  for (uint32_t i = 1; i < 50000; i++) CHECK(plait_heap_free(large + i) == -PLAIT_EINVAL);
  for (uint32_t i = 1; i < 500; i++) CHECK(plait_heap_free(small + i) == -PLAIT_EINVAL);
  for (uint32_t i = 0; i < 100000; i++) {
    plait_ref_t any = test_random(&random);
    if (any != small && any != large) CHECK(plait_heap_free(any) == -PLAIT_EINVAL && plait_heap_size(any) < 0);
  }
  uint32_t edges[] = {0, 15, 16, 4096, UINT32_MAX, UINT32_MAX & ~15u, plait_abi_heap(), plait_platform_pages() * 65536u};
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) CHECK(plait_heap_free(edges[i]) == -PLAIT_EINVAL);
  CHECK(plait_heap_free(small) == 0 && plait_heap_free(large) == 0);
  CHECK(plait_heap_free(small) == -PLAIT_EINVAL && plait_heap_free(large) == -PLAIT_EINVAL);
  CHECK(test_live_blocks() == 0 && plait_heap_check(1) == 0);
}

static uint32_t fill(plait_ref_t *blocks, uint32_t limit, uint32_t size) {
  uint32_t count = 0;
  while (count < limit && (blocks[count] = plait_heap_alloc(size)) != 0) count++;
  CHECK(count < limit);
  return count;
}

static void test_limit(void) {
  test_space(64);
  static plait_ref_t blocks[100000];
  CHECK(plait_heap_alloc(UINT32_MAX) == 0 && plait_heap_alloc(UINT32_MAX - 15) == 0);
  CHECK(plait_heap_alloc(64 * PLAIT_PAGE_SIZE) == 0 && plait_heap_alloc(1u << 31) == 0);
  CHECK(plait_platform_pages() < 32); /* what cannot be had costs no growth */
  for (uint32_t size = 20; size < 300000; size *= 7) {
    uint32_t count = fill(blocks, 100000, size);
    CHECK(plait_platform_pages() == 64 && plait_heap_check(1) == 0);
    CHECK(plait_heap_alloc(size) == 0);
    CHECK(plait_heap_free(blocks[0]) == 0 && (blocks[0] = plait_heap_alloc(size)) != 0);
    for (uint32_t i = 0; i < count; i++) CHECK(plait_heap_free(blocks[i]) == 0);
    CHECK(test_live_blocks() == 0 && plait_heap_check(1) == 0);
    struct plait_heap_stats stats;
    plait_heap_stats(&stats);
    CHECK(stats.failed > 0 && stats.peak_bytes >= stats.used_bytes && stats.reserved_bytes >= stats.peak_bytes);
    plait_posix_unmap(); /* chunks stay in their class */
    test_space(64);
  }
}

static void test_joining(void) {
  test_space(64);
  static plait_ref_t blocks[2000];
  uint64_t random = test_seed;
  for (int round = 0; round < 20; round++) {
    uint32_t count = fill(blocks, 2000, 5200 + test_random(&random) % 30000);
    for (uint32_t i = count; i > 1; i--) { /* free in any order */
      uint32_t other = test_random(&random) % i;
      plait_ref_t swap = blocks[i - 1];
      blocks[i - 1] = blocks[other], blocks[other] = swap;
    }
    for (uint32_t i = 0; i < count; i++) CHECK(plait_heap_free(blocks[i]) == 0);
    uint32_t free_bytes = (atomic_load(&plait_heap()->end) - atomic_load(&plait_heap()->first)) * PLAIT_HEAP_GRANULE;
    plait_ref_t all = plait_heap_alloc(free_bytes - 16);
    CHECK(all != 0 && plait_heap_free(all) == 0 && plait_heap_check(1) == 0);
  }
}

static void test_end_of_references(void) { /* the last granule below 4 GiB */
  CHECK(plait_posix_map(65536, 65536) == 0 && plait_abi_init(UINT32_MAX) == 0 && plait_abi_enter() != 0);
  plait_ref_t first = plait_heap_alloc(3u << 30), second = plait_heap_alloc(900u << 20);
  CHECK(first != 0 && second != 0 && plait_heap_check(1) == 0);
  uint32_t size = 1u << 26, last_size = 0;
  plait_ref_t last = 0;
  while (size > 4096) {
    plait_ref_t block = plait_heap_alloc(size - 16 - 4096);
    if (block == 0) size /= 2;
    else if (block > last) last = block, last_size = size - 16 - 4096;
  }
  CHECK(last + (uint64_t)last_size + 4096 >= 1ull << 32 && plait_heap_check(1) == 0);
  memset(plait_at(last), 1, last_size);
  CHECK(plait_heap_free(last) == 0 && plait_heap_alloc(last_size) == last && plait_heap_check(1) == 0);
}

/* ---- threads ---- */

enum { SHELF = 512 };
static plait_word_t shelf[SHELF]; /* blocks that any thread may take and free: most frees cross threads */

static void *churn(void *argument) {
  CHECK(plait_abi_enter() != 0);
  uint64_t random = test_seed + (uintptr_t)argument;
  for (uint32_t i = 0, rounds = test_work(100000); i < rounds; i++) {
    uint32_t size = test_random(&random) % 64 == 0 ? test_random(&random) % 60000 : 16 + test_random(&random) % 600;
    plait_ref_t block = plait_heap_alloc(size);
    if (block != 0) {
      CHECK(plait_heap_size(block) == size);
      memset(plait_at(block), (uint8_t)size, size);
    }
    block = atomic_exchange(&shelf[test_random(&random) % SHELF], block);
    if (block == 0) continue;
    int64_t old = plait_heap_size(block);
    const uint8_t *bytes = plait_at(block);
    for (int64_t k = 0; k < old; k++) CHECK(bytes[k] == (uint8_t)old);
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

/* Everybody grows at once; whoever is late to the last growth still gets of it: no room is left over. */
static void test_growing(void) {
  for (uint32_t round = 0; round < test_work(40); round++) {
    test_space(96);
    atomic_store(&got, 0);
    CHECK(pthread_barrier_init(&barrier, NULL, 6) == 0);
    run_threads(take_all, 6);
    uint32_t granules = atomic_load(&plait_heap()->limit) - atomic_load(&plait_heap()->first);
    CHECK(atomic_load(&got) == granules / 25 && test_live_blocks() == atomic_load(&got)); /* 25 granules each */
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

/* Six ask at once, and memory can grow once: nobody is refused while there is room for all. */
static void test_last_growth(void) {
  for (uint32_t round = 0; round < test_work(600); round++) {
    test_space(12);
    CHECK(pthread_barrier_init(&barrier, NULL, 6) == 0);
    run_threads(take_one_at_limit, 6);
    CHECK(atomic_load(&small_failures) == 0);
    plait_posix_unmap();
  }
}

static const struct test tests[] = {
    {"random blocks behave as the model", test_model},
    {"wrong frees are refused", test_wrong_frees},
    {"the limit is met and left again", test_limit},
    {"free runs join", test_joining},
    {"the end of references", test_end_of_references},
    {"threads free each other's blocks", test_churn},
    {"threads grow at once", test_growing},
    {"nobody is refused at the last growth", test_last_growth},
};
TEST_MAIN(tests)
