/*
 * heap at the end of memory. Invariant: an allocation succeeds if memory for it is free, even if another thread keeps
 * that memory. Otherwise it fails, and the failure does not grow the memory.
 */
#include "heap_unit.h"

static void test_limit(void) {
  test_space(64);
  static plait_ref_t blocks[200000];
  CHECK(plait_heap_alloc(UINT32_MAX) == 0 && plait_heap_alloc(UINT32_MAX - 15) == 0);
  CHECK(plait_heap_alloc(64 * PLAIT_PAGE_SIZE) == 0 && plait_heap_alloc(1u << 31) == 0);
  CHECK(plait_platform_pages() < 16); /* an impossible request does not grow the memory */
  for (uint32_t size = 20; size < 300000; size *= 7) {
    uint32_t count = fill(blocks, 200000, size);
    CHECK(plait_platform_pages() == 64 && plait_heap_check(1) == 0);
    CHECK(plait_heap_alloc(size) == 0);
    /* whichever page has room; the first few blocks lie in a region, where a small hole does not serve */
    for (uint32_t i = 8; i < count; i += count / 97 + 1)
      CHECK(plait_heap_free(blocks[i]) == 0 && (blocks[i] = plait_heap_alloc(size)) != 0);
    CHECK(plait_heap_realloc(blocks[0], 2000000) == 0 && plait_heap_size(blocks[0]) >= size);
    for (uint32_t i = 0; i < count; i++) CHECK(plait_heap_free(blocks[i]) == 0);
    CHECK(test_live_blocks() == 0 && plait_heap_check(1) == 0);
    struct plait_heap_stats stats;
    plait_heap_stats(&stats);
    CHECK(stats.failed > 0 && stats.peak_bytes >= stats.used_bytes && stats.reserved_bytes >= stats.peak_bytes);
  }
}

/*
 * Pairs of threads, one of which allocates and one frees, with other block sizes each time. The next pair uses the
 * freed memory.
 */
static void test_pairs(void) {
  enum { PAIRS = 8, BLOCKS = 500 };
  plait_thread_t threads[2 * PAIRS];
  plait_ref_t blocks[BLOCKS];
  uint64_t random = test_seed;
  test_space(640);
  for (uint32_t i = 0; i < 2 * PAIRS; i++) CHECK((threads[i] = plait_slot_claim(0)) != 0);
  for (uint32_t phase = 0; phase < 60; phase++) {
    uint32_t size = 2100 + test_random(&random) % 14200;
    for (uint32_t turn = 0; turn < 4 * PAIRS; turn++) {
      be(threads[turn / 4 * 2]);
      for (uint32_t i = 0; i < BLOCKS; i++) CHECK((blocks[i] = plait_heap_alloc(size)) != 0);
      be(threads[turn / 4 * 2 + 1]);
      for (uint32_t i = 0; i < BLOCKS; i++) CHECK(plait_heap_free(blocks[i]) == 0);
    }
    CHECK(plait_get(&plait_heap()->used) < 320 && plait_heap_check(1) == 0); /* with nothing in use */
  }
}

/* An impossible request does not grow the memory, whatever lies at the heap's end. */
static void test_too_much(void) {
  test_space(300);
  plait_ref_t block;
  uint32_t end;
  do {
    CHECK((block = plait_heap_alloc(3000)) != 0);
    end = plait_get(&plait_heap()->end);
  } while (end < 160 || plait__kind(plait_get(&plait__slice(end - 1)->tag)) != PLAIT__PAGES);
  CHECK(plait_heap_alloc(250 * PLAIT_SLICE_SIZE) == 0 && plait_platform_pages() == end && plait_heap_check(1) == 0);
}

/*
 * At the end of memory, no request fails because the thread itself keeps free memory, or because no whole page is free.
 */
static void test_kept_at_limit(void) {
  static plait_ref_t blocks[200000];
  static const uint32_t wanted[] = {100, 2000, 9000, 40000, 100000};
  for (uint32_t size = 300; size <= 60000; size = size < 30000 ? size * 5 : size * 2) {
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
      snprintf(test_context, sizeof test_context, "%u after %u", wanted[i], size);
      test_space(64);
      /* the first block may lie in a region of two slices */
      uint32_t count = fill(blocks, 200000, size), from = count, cut = 5 * PLAIT_SLICE_SIZE / size + 1;
      while (cut-- > 0 && from > 0) CHECK(plait_heap_free(blocks[--from]) == 0);
      while (from > 0 && blocks[from - 1] % PLAIT_SLICE_SIZE != 0 && count - from < 2000)
        CHECK(plait_heap_free(blocks[--from]) == 0);
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

/*
 * At the end of memory, blocks that other threads have freed without the lock serve a thread without a thread heap, a
 * large block that grows over them, and a region that becomes longer.
 */
static void test_deferred_frees_at_limit(void) {
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
    struct plait_heap *heap = plait_heap(); /* no room for another thread heap */
    while (what == BINDS && (0u - plait_get(&heap->meta)) % PLAIT_SLICE_SIZE >= sizeof(struct plait_thread_heap))
      be(plait_slot_claim(0));
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

/* A thread that gets no thread heap at the end of memory empties pages without an owner. The pages are reused. */
static void test_emptied_without_thread_heap(void) {
  test_space(64);
  static plait_ref_t blocks[20000];
  plait_thread_t mine = plait_self_id(), other = plait_slot_claim(0);
  be(mine);
  uint32_t count = fill(blocks, 20000, 2000);
  struct plait_heap *heap = plait_heap();
  while ((0u - plait_get(&heap->meta)) % PLAIT_SLICE_SIZE >= sizeof(struct plait_thread_heap)) be(plait_slot_claim(0));
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

/* An idle thread that has filled pages of whole slices withholds at most 32 of a class from other threads. */
static void test_idle_owner(void) {
  test_space(257);
  static plait_ref_t blocks[20000];
  static const uint32_t sizes[] = {2300, 3200, 4600, 16000};
  plait_thread_t idle = plait_self_id(), other = plait_slot_claim(0);
  be(other);
  be(idle);
  uint32_t count = 0, large = 0;
  for (int i = 0; i < 4; i++)
    for (uint32_t bytes = 0; bytes < 3800000; bytes += sizes[i])
      CHECK((blocks[count++] = plait_heap_alloc(sizes[i])) != 0);
  be(other);
  for (uint32_t i = 0; i < count; i++) CHECK(plait_heap_free(blocks[i]) == 0);
  CHECK(test_live_blocks() == 0 && plait_heap_check(1) == 0);
  while (plait_heap_alloc(100000) != 0) large++;
  snprintf(test_context, sizeof test_context, "%u large blocks of two slices", large);
  CHECK(large >= 50);
}

/*
 * One wholly free region is kept, and those that were freed while another thread held the lock. At the end of memory
 * none is kept.
 */
static void test_free_regions_at_limit(void) {
  test_space(64);
  plait_thread_t mine = plait_self_id(), other = plait_slot_claim(0);
  struct plait_thread_heap *theap = plait__bind();
  plait_ref_t kept[20];
  for (uint32_t i = 0; i < 12; i += 2) {
    CHECK((kept[i] = plait_heap_alloc(60000)) != 0 && (kept[i + 1] = plait_heap_alloc(60000)) != 0);
    CHECK(plait_heap_alloc(70000) != 0); /* nothing to join with behind it */
  }
  plait_slot_enter(other, 1);
  CHECK(plait__heap_lock() == 0);
  plait_slot_enter(mine, 1);
  plait__thread_heap = theap; /* binding takes the lock */
  for (uint32_t i = 0; i < 12; i++) CHECK(plait_heap_free(kept[i]) == 0);
  plait_slot_enter(other, 1);
  plait__heap_unlock();
  be(mine);
  struct plait_heap_details details;
  plait_heap_details(&details);
  CHECK(details.region_slices == 12);
  while (plait_heap_alloc(70000) != 0) {}
  plait_heap_details(&details);
  CHECK(details.region_slices == 0 && plait_heap_check(1) == 0);
}

/* A free span that is long enough is found behind any number of shorter ones on the same list. */
static void test_span_behind_shorter_ones(void) {
  test_space(1000);
  static plait_ref_t shorter[60];
  plait_ref_t longer = plait_heap_alloc(30 * PLAIT_SLICE_SIZE);
  CHECK(longer != 0 && plait_heap_alloc(70000) != 0);
  for (int i = 0; i < 40; i++) /* nothing to join with behind it */
    CHECK((shorter[i] = plait_heap_alloc(17 * PLAIT_SLICE_SIZE)) != 0 && plait_heap_alloc(70000) != 0);
  while (plait_heap_alloc(70000) != 0) {}
  CHECK(plait_heap_free(longer) == 0);
  for (int i = 0; i < 40; i++) CHECK(plait_heap_free(shorter[i]) == 0);
  CHECK(plait_heap_alloc(30 * PLAIT_SLICE_SIZE) == longer && plait_heap_check(1) == 0);
}

/*
 * If free blocks are hardly long enough, or slightly too short, two are tried before a longer one is taken. At the end
 * of memory all are tried.
 */
static void test_medium_behind_shorter_ones(void) {
  for (uint32_t i = 0; i < 6; i++) {
    snprintf(test_context, sizeof test_context, "case %u", i);
    test_space(64);
    plait_ref_t blocks[8], small = plait_heap_alloc(16000), got;
    for (uint32_t k = 0; k < 8; k++)
      CHECK((blocks[k] = plait_heap_alloc(k == 1 ? 18000 : k == 7 ? 40000 : 17000)) != 0);
    for (uint32_t size = 65536; i >= 3 && size > 16384; size -= 500)
      while (plait_heap_alloc(size) != 0) {}
    /* the longest is the last of its bin then */
    for (uint32_t k = 1; k < 6; k += 2) CHECK(plait_heap_free(blocks[k]) == 0);
    if (i % 3 == 0) got = plait_heap_alloc(17500);
    else got = i % 3 == 1 ? plait_heap_alloc_aligned(17500, 32) : plait_heap_realloc(small, 17500);
    CHECK(got != 0 && (got - blocks[1] < 18000) == (i >= 3) && plait_heap_check(1) == 0);
    plait_posix_unmap();
  }
}

/*
 * An exited thread may leave blocks on its remote free list. A thread that adopts them at the end of memory can use
 * them at once. For each kind of request; freed before the thread left and after it.
 */
static void test_adopted_remote_frees(void) {
  static plait_ref_t blocks[200];
  for (uint32_t what = 0; what < 16; what++) {
    snprintf(test_context, sizeof test_context, "case %u", what);
    test_space(64);
    plait_thread_t exited = plait_self_id(), other = plait_slot_claim(0), mine = plait_slot_claim(0);
    be(mine);
    plait_ref_t block = plait_heap_alloc(100);
    be(other);
    be(exited);
    uint32_t count = fill(blocks, 200, 60000);
    if (what % 2 == 0) plait_heap_leave();
    be(other);
    for (uint32_t i = 0; i < count; i++) CHECK(plait_heap_free(blocks[i]) == 0);
    if (what % 2 == 1) be(exited), plait_heap_leave();
    be(mine);
    switch (what / 2) {
      case 0: block = plait_heap_alloc(60000); break;
      case 1: block = plait_heap_alloc_zeroed(60000); break;
      case 2: block = plait_heap_alloc_aligned(40000, 4096); break;
      case 3: block = plait_heap_realloc(block, 30000); break;
      case 4: block = plait_heap_alloc(100000); break;
      case 5: block = plait_heap_alloc_zeroed(100000); break;
      case 6: block = plait_heap_alloc_aligned(100000, 2 * PLAIT_SLICE_SIZE); break;
      default: block = plait_heap_alloc_zeroed(2000); break;
    }
    CHECK(block != 0 && plait_heap_check(1) == 0);
    plait_posix_unmap();
  }
}

/* A block grows in place over a region of an exited thread whose blocks another thread has freed. */
static void test_grows_over_orphan(void) {
  test_space(64);
  plait_thread_t mine = plait_self_id(), exited = plait_slot_claim(0);
  be(exited);
  be(mine);
  plait_ref_t block = plait_heap_alloc(60000), last, other, behind = 0;
  CHECK((last = plait_heap_alloc(60000)) != 0); /* it ends where the region does */
  while ((other = plait__large_alloc(60000, 64)) != 0)
    if (other / PLAIT_SLICE_SIZE == last / PLAIT_SLICE_SIZE + 1) behind = other;
  CHECK(block != 0 && plait_heap_free(behind) == 0);
  be(exited);
  CHECK((other = plait_heap_alloc(60000)) != 0 && other / PLAIT_SLICE_SIZE == behind / PLAIT_SLICE_SIZE);
  plait_heap_leave();
  be(mine);
  CHECK(plait_heap_free(other) == 0);
  CHECK(plait_heap_realloc(last, 120000) == last && plait_heap_check(1) == 0);
}

/*
 * What exited threads leave is adopted when it is needed, one thread heap at a time: the lock is held that long. Free
 * blocks in it are used before a new page or region is made.
 */
static void test_adopted_one_by_one(void) {
  test_space(640);
  struct plait_heap *heap = plait_heap();
  plait_thread_t mine = plait_self_id(), exited[4];
  be(mine);
  take_first();
  plait_ref_t large = plait_heap_alloc(100000);
  for (uint32_t i = 0; i < 4; i++) {
    be(exited[i] = plait_slot_claim(0));
    take_first();
    CHECK(plait_heap_alloc(400) != 0);
  }
  for (uint32_t i = 0; i < 4; i++) be(exited[i]), plait_heap_leave();
  be(mine);
  CHECK(plait_heap_free(large) == 0);
  uint32_t used = plait_get(&heap->used) - 2; /* without the slices of `large` */
  CHECK(plait_get(&heap->orphans) == 4);
  CHECK(plait_heap_alloc(400) != 0 && plait_get(&heap->orphans) == 3 && plait_get(&heap->used) == used);
  CHECK(plait_heap_alloc(100000) == large && plait_get(&heap->orphans) == 2);
  do {
    used = plait_get(&heap->used);
    CHECK(plait_heap_alloc(60000) != 0);
  } while (plait_get(&heap->orphans) == 2);
  CHECK(plait_get(&heap->orphans) == 1 && plait_get(&heap->used) == used);
  CHECK(plait_heap_check(1) == 0);
}

/*
 * The statics' slice can hold a thread heap before the heap has a slice. Either all structures that a thread heap needs
 * exist, or there is no thread heap.
 */
static void test_thread_heap_without_slices(void) {
  uint32_t worked = 0;
  for (uint32_t pages = 2; pages < 12; pages++) {
    CHECK(plait_posix_map(1, pages) == 0);
    struct plait_heap *heap = plait_heap();
    /* too few for the statics */
    if (plait_space_init() != 0 || plait_heap_init(plait_ref(heap + 1), pages) != 0) continue;
    worked++;
    plait_slot_enter(plait_slot_claim(0), 1);
    CHECK(plait_heap_alloc(4294901759u) == 0);
    int bound = plait__bind() != NULL;
    CHECK(!bound || plait_get(&heap->chunks[0]) != 0);
    for (uint32_t at = 0; at < pages * PLAIT_SLICE_SIZE; at += 16)
      CHECK(plait_heap_free(at) != 0 && plait_heap_size(at) == 0);
    CHECK(plait_heap_check(1) == 0);
  }
  CHECK(worked >= 5);
}

/* How many slices are unused. */
static uint32_t left(void) {
  struct plait_heap *heap = plait_heap();
  return plait_get(&heap->limit) - plait_get(&heap->first) - plait_get(&heap->used);
}

/*
 * A use that fills the space leaves one more part of it free than the next use in rank. It fills the space by new
 * blocks of every size, by blocks that grow in place, and by blocks that other threads have freed without the lock.
 * `size` 0: a block that grows.
 */
static void fill_for(enum plait_heap_use use, uint32_t size, uint32_t part) {
  static plait_ref_t blocks[200000];
  plait__use = use;
  plait_ref_t grows = size == 0 ? plait_heap_alloc(2 * PLAIT_SLICE_SIZE) : 0;
  if (grows != 0) {
    for (uint32_t bytes = 3 * PLAIT_SLICE_SIZE;; bytes += PLAIT_SLICE_SIZE) {
      plait_ref_t moved = plait_heap_realloc(grows, bytes);
      if (moved == 0) break;
      grows = moved;
    }
  } else if (size != 0) {
    fill(blocks, 200000, size);
  }
  snprintf(test_context, sizeof test_context, "use %u, size %u: %u slices left, a part is %u", use, size, left(), part);
  CHECK(left() >= use * part && left() < (use + 1) * part + size / PLAIT_SLICE_SIZE);
}

static void test_kept_for_others(void) {
  for (uint32_t size = 0; size < 300000; size = size == 0 ? 360 : size * 9) {
    test_space(640);
    CHECK(plait_heap_free(plait_heap_alloc(600 * PLAIT_SLICE_SIZE)) == 0); /* so that there is room behind a block */
    uint32_t part = 640 / 32 + 1;
    for (enum plait_heap_use use = PLAIT_FOR_FILES; use > PLAIT_FOR_COORDINATION; use--) fill_for(use, size, part);
    plait__use = PLAIT_FOR_COORDINATION;
    CHECK(plait_heap_alloc(3 * PLAIT_SLICE_SIZE) != 0);
    CHECK(plait_heap_check(1) == 0);
    plait_posix_unmap();
  }
}

/*
 * An attaching thread allocates its stack with the rank of threads, and a coordinator with that of coordinators. After
 * that both allocate blocks.
 */
static void test_attached(void) {
  static plait_ref_t blocks[2000];
  plait_thread_t main = test_space(640), other = plait_slot_claim(0), coordinator = plait_slot_claim(0);
  plait_put(&plait_slot_of(coordinator)->role, PLAIT_ROLE_COORDINATOR);
  plait__use = PLAIT_FOR_THREADS;
  fill(blocks, 2000, 2 * PLAIT_SLICE_SIZE);
  fill(blocks, 2000, PLAIT_SLICE_SIZE);
  plait__use = PLAIT_FOR_COORDINATION; /* as in every new instance */
  CHECK(plait_abi_attach(other, 1) == 0);
  plait__use = PLAIT_FOR_COORDINATION;
  CHECK(plait_abi_attach(coordinator, 1) != 0 && plait__use == PLAIT_FOR_COORDINATION);
  plait_slot_enter(main, 1);
  for (uint32_t i = 0; i < 20; i++) plait_heap_free(blocks[i]);
  CHECK(plait_abi_attach(other, 1) != 0 && plait__use == PLAIT_FOR_BLOCKS);
}

static const struct test tests[] = {
    {"a use that fills the space leaves memory for others", test_kept_for_others},
    {"a coordinator attaches to a space that is full for others", test_attached},
    {"a thread that has a thread heap can free anything", test_thread_heap_without_slices},
    {"the limit is reached and left again", test_limit},
    {"memory freed by pairs of threads is reused", test_pairs},
    {"an impossible request does not grow the memory", test_too_much},
    {"no request fails because of memory that its thread keeps", test_kept_at_limit},
    {"deferred frees are used at the limit", test_deferred_frees_at_limit},
    {"remote frees of an exited thread are used at the limit", test_adopted_remote_frees},
    {"a block grows over what an exited thread has left", test_grows_over_orphan},
    {"thread heaps are adopted one by one, and used before new memory", test_adopted_one_by_one},
    {"pages emptied by a thread without a thread heap are reused", test_emptied_without_thread_heap},
    {"an idle owner withholds few pages from the others", test_idle_owner},
    {"no free region is kept at the limit", test_free_regions_at_limit},
    {"a free span is found behind many shorter ones", test_span_behind_shorter_ones},
    {"a medium block is found behind shorter ones", test_medium_behind_shorter_ones},
};
TEST_MAIN(tests)
