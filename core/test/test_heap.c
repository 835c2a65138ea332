/*
 * heap: a model in ordinary memory says what must hold; threads, wrong frees and the limit try to break it.
 */
#include "harness.h"

#include "../heap/internal.h"

struct held {
  plait_ref_t at;
  uint32_t size;
  uint8_t byte;
};

static uint32_t random_size(uint64_t *random) {
  uint32_t kind = test_random(random) % 100;
  if (kind == 0) return 0;
  if (kind < 50) return test_random(random) % 600;
  if (kind < 75) return test_random(random) % 2500;
  if (kind < 85) return test_random(random) % 16500;
  if (kind < 97) return test_random(random) % 70000;
  return test_random(random) % 400000;
}

static int holds_up_to(const struct held *block, uint32_t size) {
  const uint8_t *bytes = plait_at(block->at);
  for (uint32_t i = 0; i < size; i++)
    if (bytes[i] != block->byte) return 0;
  return 1;
}

static int holds(const struct held *block) {
  return holds_up_to(block, block->size);
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

/* One thread acts as several, which live and die: what crosses threads happens in an order that a seed repeats. */
enum { ACTORS = 5, LIMIT = 2000 };
static plait_thread_t actors[ACTORS];

static void be_anyone(uint64_t *random, int deaths) {
  uint32_t actor = test_random(random) % ACTORS;
  if (deaths && test_random(random) % 300 == 0) {
    plait_slot_enter(actors[(actor + 1) % ACTORS], 1);
    plait_abi_recover(actors[actor]);
    plait_thread_t next = plait_slot_claim(0), other = plait_slot_claim(0);
    CHECK(next != 0 && other != 0);
    if (test_random(random) % 2 == 0) actors[actor] = other, other = next; /* its slot's record stays nobody's */
    else actors[actor] = next;
    plait_abi_recover(other);
  }
  plait_slot_enter(actors[actor], 1);
}

/* A random way to get a block; it holds `block->byte` afterwards. */
static void obtain(struct held *block, uint64_t *random) {
  uint32_t kind = test_random(random) % 10, alignment = 16;
  if (kind == 0) {
    alignment = 1u << test_random(random) % 18;
    block->at = plait_heap_alloc_aligned(block->size, alignment);
  } else if (kind == 1) {
    struct held zero = {.at = block->at = plait_heap_alloc_zeroed(block->size), .size = block->size};
    CHECK(zero.at == 0 || holds(&zero));
  } else {
    block->at = plait_heap_alloc(block->size);
  }
  if (block->at == 0) return;
  CHECK(block->at % (alignment < 16 ? 16 : alignment) == 0 && plait_heap_size(block->at) >= block->size);
  CHECK((uint64_t)block->at + block->size <= (uint64_t)plait_platform_pages() * PLAIT_PAGE_SIZE);
  memset(plait_at(block->at), block->byte, block->size);
}

static void resize(struct held *block, uint64_t *random) {
  uint32_t size = test_random(random) % 3 == 0 ? random_size(random) : block->size + block->size / 2 + 8;
  plait_ref_t at = plait_heap_realloc(block->at, size);
  if (at == 0) {
    CHECK(holds(block));
    return;
  }
  block->at = at;
  CHECK(holds_up_to(block, size < block->size ? size : block->size) && plait_heap_size(at) >= size);
  block->size = size;
  memset(plait_at(at), block->byte, size);
}

static void run_model(uint32_t pages, int deaths) {
  test_space(pages);
  static struct held blocks[LIMIT];
  uint32_t count = 0, rounds = test_work(test_rounds(200000)), refused = 0;
  uint64_t random = test_seed;
  for (int i = 0; i < ACTORS; i++) CHECK((actors[i] = plait_slot_claim(0)) != 0);
  for (uint32_t round = 0; round < rounds; round++) {
    snprintf(test_context, sizeof test_context, "round %u", round);
    be_anyone(&random, deaths);
    uint32_t chance = test_random(&random) % 100;
    if (count < LIMIT && chance < (round / 20000 % 2 == 0 ? 50 : 35)) {
      struct held block = {.size = random_size(&random), .byte = (uint8_t)round};
      obtain(&block, &random);
      if (block.at != 0) blocks[count++] = block;
      else refused++;
    } else if (count > 0 && chance < 60) {
      resize(&blocks[test_random(&random) % count], &random);
    } else if (count > 0) {
      uint32_t victim = test_random(&random) % count;
      CHECK(holds(&blocks[victim]));
      CHECK(plait_heap_free(blocks[victim].at) == 0);
      CHECK(plait_heap_free(blocks[victim].at) == -PLAIT_EINVAL);
      blocks[victim] = blocks[--count];
    }
    if (round % 64 == 0) CHECK(test_live_blocks() == count);
    if (round % 5000 != 0) continue;
    CHECK(plait_heap_check(1) == 0);
    check_overlap(blocks, count);
  }
  check_overlap(blocks, count);
  printf("# %u blocks, %u refused\n", count, refused);
  while (count > 0) {
    be_anyone(&random, 0);
    count--;
    CHECK(holds(&blocks[count]) && plait_heap_free(blocks[count].at) == 0);
  }
  CHECK(test_live_blocks() == 0 && plait_heap_check(1) == 0);
}

static void test_model(void) {
  run_model(2048, 0);
}

static void test_model_of_deaths(void) {
  run_model(2048, 1);
}

static void test_model_at_limit(void) {
  run_model(300, 1);
}

static void test_wrong_frees(void) {
  test_space(64);
  uint64_t random = test_seed;
  plait_ref_t small = plait_heap_alloc(500), medium = plait_heap_alloc(50000), large = plait_heap_alloc(500000);
  plait_ref_t blocks[] = {small, medium, large};
  uint32_t sizes[] = {500, 50000, 500000};
  for (int k = 0; k < 3; k++) {
    memset(plait_at(blocks[k]), 0xA5, sizes[k]);
    for (uint32_t i = 1; i < sizes[k]; i++) CHECK(plait_heap_free(blocks[k] + i) == -PLAIT_EINVAL);
  }
  for (uint32_t i = 0; i < 100000; i++) {
    plait_ref_t any = test_random(&random);
    if (any != small && any != medium && any != large) CHECK(plait_heap_free(any) == -PLAIT_EINVAL && plait_heap_size(any) == 0);
  }
  for (uint32_t i = 0; i < 50000; i++) { /* headers that were real once, and are inside of blocks now */
    plait_ref_t odd = plait_heap_alloc(600 + test_random(&random) % 9000), at = odd + (test_random(&random) % 600 & ~15u);
    if (at != odd) CHECK(plait_heap_free(at) == -PLAIT_EINVAL);
    CHECK(plait_heap_free(odd) == 0);
  }
  CHECK(plait_heap_alloc_aligned(8, 0) == 0 && plait_heap_alloc_aligned(8, 48) == 0);
  uint32_t edges[] = {0, 15, 16, 4096, UINT32_MAX, UINT32_MAX & ~15u, plait_abi_heap(), plait_platform_pages() * 65536u};
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) CHECK(plait_heap_free(edges[i]) == -PLAIT_EINVAL);
  for (int k = 0; k < 3; k++) {
    CHECK(plait_heap_free(blocks[k]) == 0 && plait_heap_free(blocks[k]) == -PLAIT_EINVAL);
    CHECK(plait_heap_realloc(blocks[k], 100) == 0 && plait_heap_size(blocks[k]) == 0);
  }
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
  static plait_ref_t blocks[200000];
  CHECK(plait_heap_alloc(UINT32_MAX) == 0 && plait_heap_alloc(UINT32_MAX - 15) == 0);
  CHECK(plait_heap_alloc(64 * PLAIT_PAGE_SIZE) == 0 && plait_heap_alloc(1u << 31) == 0);
  CHECK(plait_platform_pages() < 16); /* what cannot be had costs no growth */
  for (uint32_t size = 20; size < 300000; size *= 7) {
    uint32_t count = fill(blocks, 200000, size);
    CHECK(plait_platform_pages() == 64 && plait_heap_check(1) == 0);
    CHECK(plait_heap_alloc(size) == 0);
    for (uint32_t i = 0; i < count; i += count / 97 + 1) /* whichever page has room */
      CHECK(plait_heap_free(blocks[i]) == 0 && (blocks[i] = plait_heap_alloc(size)) != 0);
    CHECK(plait_heap_realloc(blocks[0], 2000000) == 0 && plait_heap_size(blocks[0]) >= size);
    for (uint32_t i = 0; i < count; i++) CHECK(plait_heap_free(blocks[i]) == 0);
    CHECK(test_live_blocks() == 0 && plait_heap_check(1) == 0);
    struct plait_heap_stats stats;
    plait_heap_stats(&stats);
    CHECK(stats.failed > 0 && stats.peak_bytes >= stats.used_bytes && stats.reserved_bytes >= stats.peak_bytes);
  }
}

/* Where memory ends, no thread is refused for what it keeps itself without a block in use, nor for want of a whole page. */
static void test_kept_at_limit(void) {
  static plait_ref_t blocks[200000];
  static const uint32_t wanted[] = {100, 2000, 9000, 40000, 100000};
  for (uint32_t size = 300; size <= 60000; size = size < 30000 ? size * 5 : size * 2) {
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
      snprintf(test_context, sizeof test_context, "%u after %u", wanted[i], size);
      test_space(64);
      uint32_t count = fill(blocks, 200000, size), from = count, cut = 3 * PLAIT_SLICE_SIZE / size + 1;
      while (cut-- > 0 && from > 0) CHECK(plait_heap_free(blocks[--from]) == 0);
      while (from > 0 && blocks[from - 1] % PLAIT_SLICE_SIZE != 0 && count - from < 2000) CHECK(plait_heap_free(blocks[--from]) == 0);
      plait_ref_t block = plait_heap_alloc(wanted[i]);
      CHECK(block != 0 && plait_heap_free(block) == 0 && plait_heap_check(1) == 0);
      for (uint32_t k = 0; k < from; k++) CHECK(plait_heap_free(blocks[k]) == 0);
      CHECK(test_live_blocks() == 0 && plait_heap_check(1) == 0);
      plait_posix_unmap();
    }
  }
  test_space(64);
  uint32_t count = fill(blocks, 2000, 60000);
  CHECK(plait_heap_free(blocks[count / 2]) == 0);
  plait_ref_t block = plait_heap_alloc_aligned(4000, 4096); /* there is no page for it, but room in a region */
  CHECK(block != 0 && block % 4096 == 0 && plait_heap_free(block) == 0 && plait_heap_check(1) == 0);
}

/* What a thread that is gone has left of its slices serves who takes over its pages. */
static void test_inheritance(void) {
  test_space(64);
  plait_thread_t self = plait_self_id(), gone = plait_slot_claim(0);
  CHECK(gone != 0 && plait_heap_alloc(16) != 0);
  plait_slot_enter(gone, 1);
  plait_ref_t block = plait_heap_alloc(1000), found = 0; /* one of four pages of a slice */
  CHECK(block != 0);
  plait_heap_leave();
  plait_slot_enter(self, 1);
  for (uint32_t i = 0; i < 60; i++) { /* four pages' worth of another class with pages of this size */
    plait_ref_t next = plait_heap_alloc(1100);
    CHECK(next != 0);
    found += next / PLAIT_SLICE_SIZE == block / PLAIT_SLICE_SIZE;
  }
  CHECK(found >= 3 * 14 && plait_heap_check(1) == 0);
}

static void test_joining(void) {
  test_space(64);
  static plait_ref_t blocks[2000];
  uint64_t random = test_seed;
  for (int round = 0; round < 20; round++) {
    uint32_t count = fill(blocks, 2000, 17000 + test_random(&random) % 40000);
    for (uint32_t i = count; i > 1; i--) { /* free in any order */
      uint32_t other = test_random(&random) % i;
      plait_ref_t swap = blocks[i - 1];
      blocks[i - 1] = blocks[other], blocks[other] = swap;
    }
    for (uint32_t i = 0; i < count; i++) CHECK(plait_heap_free(blocks[i]) == 0);
    CHECK(test_live_blocks() == 0 && plait_heap_check(1) == 0);
    plait_ref_t all = plait_heap_alloc(40 * PLAIT_SLICE_SIZE); /* of 58 slices: what the regions were is free again */
    CHECK(all != 0 && plait_heap_free(all) == 0 && plait_heap_check(1) == 0);
  }
}

static void test_end_of_references(void) { /* the last slice whose end is a number of 32 bits */
  CHECK(plait_posix_map(65536, 65536) == 0 && plait_abi_init(UINT32_MAX) == 0 && plait_abi_enter() != 0);
  plait_ref_t first = plait_heap_alloc(3u << 30), second = plait_heap_alloc(900u << 20);
  CHECK(first != 0 && second != 0 && plait_heap_check(1) == 0);
  plait_ref_t last = 0, block;
  while ((block = plait_heap_alloc(70000)) != 0) last = block > last ? block : last;
  CHECK(last / PLAIT_SLICE_SIZE == 65533u || last / PLAIT_SLICE_SIZE == 65532u);
  memset(plait_at(last), 1, plait_heap_size(last));
  CHECK(plait_heap_free(last) == 0 && plait_heap_alloc(70000) == last && plait_heap_check(1) == 0);
}

static uint32_t kind_at(plait_ref_t block) {
  return plait__kind(plait_get(&plait__slice(block / PLAIT_SLICE_SIZE)->tag));
}

/*
 * A large block is freed without the lock: at once to everybody who looks, and made free by its thread's next lock, by
 * whoever finds that memory ends, or when its thread leaves. A hint that is out of date harms nobody.
 */
static void test_put_off(void) {
  test_space(64);
  plait_thread_t mine = plait_self_id(), other = plait_slot_claim(0);
  struct plait_heap_stats before, after;
  plait_ref_t bound = plait_heap_alloc(16); /* a thread without a record takes the lock */
  plait_ref_t first = plait_heap_alloc(500000), second = plait_heap_alloc(500000), block;
  plait_heap_stats(&before);
  CHECK(plait_heap_free(first) == 0 && kind_at(first) == PLAIT__FREED && plait_heap_free(first) == -PLAIT_EINVAL);
  plait_heap_stats(&after);
  CHECK(test_live_blocks() == 2 && before.used_bytes - after.used_bytes == 8 * PLAIT_SLICE_SIZE);
  CHECK(plait_heap_size(first) == 0 && plait_heap_place(first) == PLAIT_PLACE_FREE);
  CHECK(plait_heap_free(second) == 0 && kind_at(first) != PLAIT__FREED && kind_at(second) != PLAIT__FREED);
  CHECK((block = plait_heap_alloc(100000)) != 0 && plait_heap_free(block) == 0 && kind_at(block) == PLAIT__FREED);
  CHECK(plait_heap_check(1) == 0 && kind_at(block) != PLAIT__FREED);

  CHECK((block = plait_heap_alloc(300000)) != 0 && plait_heap_free(block) == 0 && kind_at(block) == PLAIT__FREED);
  plait_slot_enter(other, 1);
  plait_ref_t all[64], small = plait_heap_alloc(16);
  uint32_t count = 0;
  while (count < 64 && (all[count] = plait_heap_alloc(65537)) != 0) count++;
  CHECK(small != 0 && count >= 25 && kind_at(block) != PLAIT__FREED);
  CHECK(plait_heap_free(all[0]) == 0 && kind_at(all[0]) == PLAIT__FREED);
  plait_slot_enter(mine, 1);
  CHECK((block = plait_heap_alloc(65537)) != 0 && plait_heap_check(1) == 0);
  plait_slot_enter(other, 1);
  CHECK(plait_heap_free(block) == 0); /* the place that the hint names, or another one */
  for (uint32_t i = 1; i < count; i++) CHECK(plait_heap_free(all[i]) == 0);
  CHECK((block = plait_heap_alloc(65537)) != 0 && plait_heap_free(block) == 0 && plait_heap_free(small) == 0);
  plait_heap_leave();
  CHECK(kind_at(block) != PLAIT__FREED);
  plait_slot_enter(mine, 1);
  CHECK(plait_heap_free(bound) == 0 && plait_heap_check(1) == 0 && test_live_blocks() == 0);
}

static void be(plait_thread_t thread) {
  plait_slot_enter(thread, 1);
  CHECK(plait__bind() != NULL);
}

/*
 * Where memory ends, what other threads have freed without the lock serves who has no record yet, a large block that grows
 * over it, and a region that becomes longer for a block in it.
 */
static void test_put_off_at_limit(void) {
  static plait_ref_t blocks[200];
  enum { BINDS, LARGE_GROWS, REGION_GROWS, CASES };
  for (int what = 0; what < CASES; what++) {
    snprintf(test_context, sizeof test_context, "case %d", what);
    test_space(64);
    plait_thread_t ids[] = {plait_self_id(), plait_slot_claim(0), plait_slot_claim(0), plait_slot_claim(0)};
    for (int i = 2; i >= 0; i--) be(ids[i]);
    plait_ref_t block = plait_heap_alloc(what == REGION_GROWS ? 60000 : 100000);
    plait_ref_t behind = plait_heap_alloc(100000), after = plait_heap_alloc(120000), more;
    CHECK(after / PLAIT_SLICE_SIZE == behind / PLAIT_SLICE_SIZE + 2);
    uint32_t count = fill(blocks, 200, 65537), size = what == REGION_GROWS ? 120000 : 300000;
    while ((more = plait_heap_alloc(65536)) != 0) blocks[count++] = more;
    CHECK(plait_heap_realloc(block, size) == 0);
    struct plait_heap *heap = plait_heap(); /* no room for another record */
    while (what == BINDS && (0u - plait_get(&heap->meta)) % PLAIT_SLICE_SIZE >= PLAIT_HEAP_GRANULE) be(plait_slot_claim(0));
    be(ids[1]);
    CHECK(plait_heap_free(behind) == 0 && kind_at(behind) == PLAIT__FREED);
    be(ids[2]);
    CHECK(what == BINDS || (plait_heap_free(after) == 0 && kind_at(after) == PLAIT__FREED));
    be(ids[what == BINDS ? 3 : 0]);
    if (what == BINDS) CHECK(plait_heap_alloc(16) != 0);
    else CHECK(plait_heap_realloc(block, size) == block && plait_heap_size(block) >= size);
    CHECK(plait_heap_check(1) == 0);
    plait_posix_unmap();
  }
}

/* A thread that gets no record where memory ends empties pages that are nobody's: they serve again. */
static void test_emptied_without_record(void) {
  test_space(64);
  static plait_ref_t blocks[20000];
  plait_thread_t mine = plait_self_id(), other = plait_slot_claim(0);
  be(mine);
  uint32_t count = fill(blocks, 20000, 2000);
  struct plait_heap *heap = plait_heap();
  while ((0u - plait_get(&heap->meta)) % PLAIT_SLICE_SIZE >= PLAIT_HEAP_GRANULE) be(plait_slot_claim(0));
  plait_slot_enter(other, 1);
  CHECK(plait__bind() == NULL);
  for (uint32_t i = 0; i < count; i++) CHECK(plait_heap_free(blocks[i]) == 0);
  CHECK(test_live_blocks() == 0 && plait_heap_check(1) == 0);
  be(mine);
  uint32_t large = 0;
  while (plait_heap_alloc(100000) != 0) large++;
  snprintf(test_context, sizeof test_context, "%u large blocks after %u small ones", large, count);
  CHECK(large >= 20);
}

/* A thread that has filled pages of whole slices, and does nothing any more, keeps no more than 32 of a class from the others. */
static void test_idle_owner(void) {
  test_space(257);
  static plait_ref_t blocks[20000];
  static const uint32_t sizes[] = {2300, 3200, 4600, 16000};
  plait_thread_t idle = plait_self_id(), other = plait_slot_claim(0);
  be(other);
  be(idle);
  uint32_t count = 0, large = 0;
  for (int i = 0; i < 4; i++)
    for (uint32_t bytes = 0; bytes < 3800000; bytes += sizes[i]) CHECK((blocks[count++] = plait_heap_alloc(sizes[i])) != 0);
  be(other);
  for (uint32_t i = 0; i < count; i++) CHECK(plait_heap_free(blocks[i]) == 0);
  CHECK(test_live_blocks() == 0 && plait_heap_check(1) == 0);
  while (plait_heap_alloc(100000) != 0) large++;
  snprintf(test_context, sizeof test_context, "%u large blocks of two slices", large);
  CHECK(large >= 50);
}

/* Of regions that are wholly free one is kept, and those for which another thread had the lock; none where memory ends. */
static void test_free_regions_at_limit(void) {
  test_space(64);
  plait_thread_t mine = plait_self_id(), other = plait_slot_claim(0);
  struct plait_record *record = plait__bind();
  plait_ref_t kept[20];
  for (uint32_t i = 0; i < 12; i += 2) {
    CHECK((kept[i] = plait_heap_alloc(60000)) != 0 && (kept[i + 1] = plait_heap_alloc(60000)) != 0);
    CHECK(plait_heap_alloc(70000) != 0); /* nothing to join with behind */
  }
  plait_slot_enter(other, 1);
  CHECK(plait__runs_lock() == 0);
  plait_slot_enter(mine, 1);
  plait_self_room = record; /* binding takes the lock */
  for (uint32_t i = 0; i < 12; i++) CHECK(plait_heap_free(kept[i]) == 0);
  plait_slot_enter(other, 1);
  plait__runs_unlock();
  be(mine);
  struct plait_heap_details details;
  plait_heap_details(&details);
  CHECK(details.region_slices == 12);
  while (plait_heap_alloc(70000) != 0) {}
  plait_heap_details(&details);
  CHECK(details.region_slices == 0 && plait_heap_check(1) == 0);
}

/* A free run that is long enough serves, however many shorter ones lie on the same list in front of it. */
static void test_run_behind_shorter_ones(void) {
  test_space(1000);
  static plait_ref_t shorter[60];
  plait_ref_t longer = plait_heap_alloc(30 * PLAIT_SLICE_SIZE);
  CHECK(longer != 0 && plait_heap_alloc(70000) != 0);
  for (int i = 0; i < 40; i++)
    CHECK((shorter[i] = plait_heap_alloc(17 * PLAIT_SLICE_SIZE)) != 0 && plait_heap_alloc(70000) != 0); /* nothing to join with behind */
  while (plait_heap_alloc(70000) != 0) {}
  CHECK(plait_heap_free(longer) == 0);
  for (int i = 0; i < 40; i++) CHECK(plait_heap_free(shorter[i]) == 0);
  CHECK(plait_heap_alloc(30 * PLAIT_SLICE_SIZE) == longer && plait_heap_check(1) == 0);
}

/* Of free blocks that are hardly long enough, or not, two are looked at where there is a longer one; where memory ends, all. */
static void test_medium_behind_shorter_ones(void) {
  for (uint32_t i = 0; i < 6; i++) {
    snprintf(test_context, sizeof test_context, "case %u", i);
    test_space(64);
    plait_ref_t blocks[8], small = plait_heap_alloc(16000), got;
    for (uint32_t k = 0; k < 8; k++) CHECK((blocks[k] = plait_heap_alloc(k == 1 ? 18000 : k == 7 ? 40000 : 17000)) != 0);
    for (uint32_t size = 65536; i >= 3 && size > 16384; size -= 500)
      while (plait_heap_alloc(size) != 0) {}
    for (uint32_t k = 1; k < 6; k += 2) CHECK(plait_heap_free(blocks[k]) == 0); /* the longest is the last of its bin then */
    if (i % 3 == 0) got = plait_heap_alloc(17500);
    else got = i % 3 == 1 ? plait_heap_alloc_aligned(17500, 32) : plait_heap_realloc(small, 17500);
    CHECK(got != 0 && (got - blocks[1] < 18000) == (i >= 3) && plait_heap_check(1) == 0);
    plait_posix_unmap();
  }
}

/*
 * A block that grows step by step moves once while it is small, and then stays where it is; when many grow in turn, each
 * keeps its bytes and wastes little.
 */
static void test_growing_block(void) {
  test_space(256);
  plait_ref_t many[200] = {0};
  for (uint32_t i = 0; i < 5; i++) CHECK((many[i] = plait_heap_alloc(60000)) != 0);
  for (uint32_t i = 0; i < 5; i++) CHECK(plait_heap_free(many[i]) == 0); /* a region with much behind a block */
  memset(many, 0, sizeof many);
  for (int round = 0; round < 3; round++) {
    plait_ref_t block = plait_heap_alloc(32);
    uint32_t moves = 0, had = 32;
    memset(plait_at(block), round + 1, had);
    for (uint32_t size = 48; size < 60000; size += size / 2) {
      plait_ref_t next = plait_heap_realloc(block, size);
      CHECK(next != 0 && plait_heap_size(next) >= size);
      moves += next != block, block = next;
      for (uint32_t i = 0; i < had; i++) CHECK(((uint8_t *)plait_at(block))[i] == round + 1);
      memset(plait_at(block), round + 1, had = size);
      CHECK(plait_heap_check(1) == 0);
    }
    CHECK(moves == 1 && plait_heap_check(1) == 0);
    CHECK((block = plait_heap_realloc(block, 40)) != 0 && plait_heap_size(block) <= 256 && plait_heap_free(block) == 0);
  }
  for (uint32_t size = 40; size < 3000; size += size / 3)
    for (uint32_t i = 0, wasted = 0; i < 200; i++) {
      plait_ref_t next = plait_heap_realloc(many[i], size);
      CHECK(next != 0 && plait_heap_size(next) >= size);
      CHECK((wasted += plait_heap_size(next) > 2 * size) <= 1); /* one is thought to grow on, and then none until it does */
      if (many[i] != 0) CHECK(*(uint8_t *)plait_at(next) == (uint8_t)i);
      many[i] = next;
      *(uint8_t *)plait_at(next) = (uint8_t)i;
    }
  for (uint32_t i = 0; i < 200; i++) CHECK(plait_heap_free(many[i]) == 0);
  CHECK(plait_heap_check(1) == 0 && test_live_blocks() == 0);
}

/* A block in front of free room grows into it, is long enough, or is refused what no block can have; one that is no live block is refused, too. */
static void test_growing_into_the_top(void) {
  static const uint32_t too_much[] = {0x40000000, 0x80000000, 0xAAAAAAAA, 0xAAAAAAAB, 0xC0000000, 0xFFFEFFFF, 0xFFFFFFE0, 0xFFFFFFFF};
  test_space(256);
  plait_ref_t block = plait_heap_realloc(plait_heap_alloc(32), 48), small = plait_heap_alloc(32), header = block - PLAIT__HEADER;
  plait_word_t *top = &plait__mine()->top;
  CHECK(plait_heap_size(block) == PLAIT__LEAST - PLAIT__HEADER && plait_get(top) == header + PLAIT__LEAST);
  for (uint32_t i = 0; i < sizeof too_much / sizeof *too_much; i++) {
    CHECK(plait_heap_realloc(block, too_much[i]) == 0 && plait_heap_realloc(small, too_much[i]) == 0);
    CHECK(plait_heap_size(block) == PLAIT__LEAST - PLAIT__HEADER && plait_heap_size(small) == 32);
  }
  CHECK((small = plait_heap_realloc(small, 48)) != 0 && plait_heap_size(small) < 100); /* the one before has not grown long */
  CHECK(plait_heap_realloc(block, 2100) == block && plait_heap_size(block) == 2112 && plait_get(top) == header + 2128);
  CHECK(plait_heap_realloc(block + 16, 3000) == 0 && plait_heap_realloc(header, 3000) == 0 && plait_heap_realloc(plait_get(top), 3000) == 0);
  plait_ref_t next = plait_heap_realloc(small, 100); /* now it has */
  CHECK(next == header + 2128 + PLAIT__HEADER && plait_heap_check(1) == 0);
  CHECK(plait_heap_realloc(block, 2112) == block && plait_heap_free(block) == 0 && plait_heap_realloc(block, 2200) == 0);
  CHECK(plait_get(top) == next - PLAIT__HEADER + PLAIT__LEAST && plait_heap_free(next) == 0 && plait_heap_realloc(next, 200) == 0);
  CHECK(plait_get(top) == header && plait_heap_check(1) == 0); /* what is joined with the top is the top */
  CHECK(test_live_blocks() == 0);
  plait_thread_t mine = plait_self_id();
  CHECK((block = plait_heap_realloc(plait_heap_alloc(32), 1000)) + 1008 == plait_get(top));
  plait_slot_enter(plait_slot_claim(0), 1);
  CHECK(plait_heap_free(block) == 0);
  be(mine);
  CHECK(plait_heap_realloc(block, 1100) == 0 && plait_heap_check(1) == 0); /* freed, though it lies there as it was */
}

/* Of regions that are wholly free the longest is kept: what has once grown beyond the other finds room there at once. */
static void test_longest_is_kept(void) {
  test_space(256);
  plait_ref_t first = plait_heap_alloc(60000), behind = plait_heap_alloc(70000);
  CHECK(first != 0 && behind != 0 && plait_heap_free(first) == 0);
  for (uint32_t round = 0; round < 4; round++) {
    plait_ref_t block = plait_heap_alloc(32);
    uint32_t moves = 0;
    for (uint32_t size = 32; size < 65536;) {
      size = size + size / 2 < 65536 ? size + size / 2 : 65536;
      plait_ref_t next = plait_heap_realloc(block, size);
      CHECK(next != 0);
      moves += next != block, block = next;
    }
    CHECK(moves <= (round == 0 ? 3 : 2) && plait_heap_free(block) == 0 && plait_heap_check(1) == 0);
  }
  CHECK(plait_heap_free(behind) == 0 && test_live_blocks() == 0);
}

/* A growing block stays where it is as long as nothing lies behind it; what is let go is used again. */
static void test_resizing(void) {
  test_space(256);
  for (int round = 0; round < 3; round++) {
    plait_ref_t block = plait_heap_alloc(2100), start;
    uint32_t moves = 0;
    for (uint32_t size = 2100; size < 60000; size += 500) {
      plait_ref_t next = plait_heap_realloc(block, size);
      CHECK(next != 0);
      moves += next != block, block = next;
    }
    CHECK(moves <= 2 && plait_heap_check(1) == 0);
    for (uint32_t size = 100000; size < 5000000; size += 70000) CHECK((block = plait_heap_realloc(block, size)) != 0);
    start = block;
    for (uint32_t size = 5000000; size > 100000; size -= 90000) CHECK((block = plait_heap_realloc(block, size)) == start);
    CHECK(plait_heap_size(block) < 200000 && plait_heap_check(1) == 0);
    CHECK((block = plait_heap_realloc(block, 30)) != 0 && plait_heap_size(block) == 32);
    CHECK(plait_heap_free(block) == 0 && test_live_blocks() == 0);
    struct plait_heap_stats stats;
    plait_heap_stats(&stats);
    CHECK(stats.used_bytes <= 16 * PLAIT_SLICE_SIZE);
  }
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

/* Everybody grows at once; whoever is late to the last growth still gets of it: no room is left over. */
static void test_growing(void) {
  for (uint32_t round = 0; round < test_work(40); round++) {
    test_space(96);
    atomic_store(&got, 0);
    CHECK(pthread_barrier_init(&barrier, NULL, 6) == 0);
    run_threads(take_all, 6);
    uint32_t slices = atomic_load(&plait_heap()->limit) - atomic_load(&plait_heap()->first) - 1; /* one for bookkeeping */
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

/* Six ask at once, and memory can grow little: nobody is refused while there is room for all. */
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

/* A thread that lives on takes over what each short-lived thread leaves, and never lets it go. */
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
    if (round % 100 == 0) printf("# round %d: %llu KiB used, %u live\n", round, (unsigned long long)stats.used_bytes >> 10, stats.live_blocks);
  }
  fflush(stdout);
  CHECK(stats.used_bytes < 8u << 20);
}

/* A thread that works on with small blocks alone never takes back its medium ones. */
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

static const struct test tests[] = {
    {"random blocks behave as the model", test_model},
    {"random blocks behave as the model while threads die", test_model_of_deaths},
    {"random blocks behave as the model where memory ends", test_model_at_limit},
    {"wrong frees are refused", test_wrong_frees},
    {"the limit is met and left again", test_limit},
    {"nobody is refused for what it keeps", test_kept_at_limit},
    {"a slice's unused pages are inherited", test_inheritance},
    {"free runs join", test_joining},
    {"the end of references", test_end_of_references},
    {"blocks grow and shrink in place", test_resizing},
    {"large blocks are freed without the lock", test_put_off},
    {"what others have put off serves at the limit", test_put_off_at_limit},
    {"pages emptied by who has no record serve again", test_emptied_without_record},
    {"an idle owner keeps few pages from the others", test_idle_owner},
    {"no free region is kept at the limit", test_free_regions_at_limit},
    {"a free run serves behind many shorter ones", test_run_behind_shorter_ones},
    {"a medium block serves behind shorter ones", test_medium_behind_shorter_ones},
    {"a growing block soon stays", test_growing_block},
    {"a block grows into the top", test_growing_into_the_top},
    {"the longest free region is kept", test_longest_is_kept},
    {"threads free each other's blocks", test_churn},
    {"threads grow at once", test_growing},
    {"nobody is refused at the last growth", test_last_growth},
    {"medium blocks come back to a thread that works with small ones", test_remote_never_drained},
    {"short-lived threads beside a long-lived one do not make the heap grow", test_growth_by_adoption},
};
TEST_MAIN(tests)
