/*
 * heap block by block: wrong frees, deferred frees, joining, adopted slices, and the places of growing blocks.
 * Invariant: a refused call changes nothing.
 */
#include "heap_unit.h"

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
    if (any != small && any != medium && any != large)
      CHECK(plait_heap_free(any) == -PLAIT_EINVAL && plait_heap_size(any) == 0);
  }
  for (uint32_t i = 0; i < 50000; i++) { /* formerly valid headers, which now lie inside blocks */
    plait_ref_t odd = plait_heap_alloc(600 + test_random(&random) % 9000),
                at = odd + (test_random(&random) % 600 & ~15u);
    if (at != odd) CHECK(plait_heap_free(at) == -PLAIT_EINVAL);
    CHECK(plait_heap_free(odd) == 0);
  }
  CHECK(plait_heap_alloc_aligned(8, 0) == 0 && plait_heap_alloc_aligned(8, 48) == 0);
  uint32_t edges[] = {
      0, 15, 16, 4096, UINT32_MAX, UINT32_MAX & ~15u, plait_ref(plait_heap()), plait_platform_pages() * 65536u};
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) CHECK(plait_heap_free(edges[i]) == -PLAIT_EINVAL);
  for (int k = 0; k < 3; k++) {
    CHECK(plait_heap_free(blocks[k]) == 0 && plait_heap_free(blocks[k]) == -PLAIT_EINVAL);
    CHECK(plait_heap_realloc(blocks[k], 100) == 0 && plait_heap_size(blocks[k]) == 0);
  }
  CHECK(test_live_blocks() == 0 && plait_heap_check(1) == 0);
}

/*
 * A page that is not in use, or is being initialized, has no block, whatever its struct contains and whichever entry of
 * the page map names it.
 */
static void test_page_without_owner(void) {
  test_space(64);
  take_first();
  for (uint32_t size = 16; size <= PLAIT_HEAP_SMALL_LIMIT; size *= 2) {
    plait_ref_t block = plait_heap_alloc(size);
    struct plait_slice *slice = plait__slice(block / PLAIT_SLICE_SIZE);
    struct plait_page *page = plait__page_around(slice, plait_get(&slice->tag), block);
    uint32_t owner = plait_get(&page->owner);
    CHECK(kind_at(block) == PLAIT__PAGES && plait_heap_size(block) == size);
    plait_put(&page->owner, 0);
    CHECK(plait_heap_free(block) == -PLAIT_EINVAL && plait_heap_size(block) == 0 &&
        plait_heap_place(block) == PLAIT_PLACE_UNUSED);
    plait_put(&page->owner, owner);
    CHECK(plait_heap_size(block) == size && plait_heap_free(block) == 0 && plait_heap_check(1) == 0);
  }
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
    plait_ref_t all = plait_heap_alloc(40 * PLAIT_SLICE_SIZE); /* of 58 slices: the regions' slices are free again */
    CHECK(all != 0 && plait_heap_free(all) == 0 && plait_heap_check(1) == 0);
  }
}

/* If a thread has exited, the thread that adopts its pages also gets the unused pages of its slices. */
static void test_inheritance(void) {
  test_space(64);
  plait_thread_t self = plait_self_id(), exited = plait_slot_claim(0);
  CHECK(exited != 0);
  take_first();
  plait_slot_enter(exited, 1);
  take_first();
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

static void test_end_of_references(void) { /* the last slice whose end fits 32 bits */
  CHECK(plait_posix_map(65536, 65536) == 0 && plait_abi_init(UINT32_MAX) == 0 && plait_abi_enter() != 0);
  plait_ref_t first = plait_heap_alloc(3u << 30), second = plait_heap_alloc(900u << 20);
  CHECK(first != 0 && second != 0 && plait_heap_check(1) == 0);
  plait_ref_t last = 0, block;
  while ((block = plait_heap_alloc(70000)) != 0) last = block > last ? block : last;
  CHECK(last / PLAIT_SLICE_SIZE == 65533u || last / PLAIT_SLICE_SIZE == 65532u);
  memset(plait_at(last), 1, plait_heap_size(last));
  CHECK(plait_heap_free(last) == 0 && plait_heap_alloc(70000) == last && plait_heap_check(1) == 0);
}

/*
 * A large block is freed without the lock. Every thread sees it as free at once. Its slices become free when its thread
 * has the lock next, when another thread finds that memory ends, or when the thread leaves. An outdated `freed` does no
 * harm.
 */
static void test_deferred_free(void) {
  test_space(64);
  plait_thread_t mine = plait_self_id(), other = plait_slot_claim(0);
  struct plait_heap_stats before, after;
  plait_ref_t bound = plait_heap_alloc(16); /* a thread without a thread heap takes the lock */
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
  CHECK(plait_heap_free(block) == 0); /* the place that `freed` names, or another one */
  for (uint32_t i = 1; i < count; i++) CHECK(plait_heap_free(all[i]) == 0);
  CHECK((block = plait_heap_alloc(65537)) != 0 && plait_heap_free(block) == 0 && plait_heap_free(small) == 0);
  plait_heap_leave();
  CHECK(kind_at(block) != PLAIT__FREED);
  plait_slot_enter(mine, 1);
  CHECK(plait_heap_free(bound) == 0 && plait_heap_check(1) == 0 && test_live_blocks() == 0);
}

/*
 * A block that grows step by step moves once while it is small, and then stays in place. If many grow in turn, each
 * keeps its bytes and wastes little.
 */
static void test_growing_block(void) {
  test_space(256);
  plait_ref_t many[200] = {0};
  for (uint32_t i = 0; i < 5; i++) CHECK((many[i] = plait_heap_alloc(60000)) != 0);
  for (uint32_t i = 0; i < 5; i++) CHECK(plait_heap_free(many[i]) == 0); /* a region with much room behind a block */
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
    /* the second begins in a page, because the block freed last had shrunk */
    CHECK(moves == (round != 0) && plait_heap_check(1) == 0);
    CHECK((block = plait_heap_realloc(block, 40)) != 0 && plait_heap_size(block) <= 256 && plait_heap_free(block) == 0);
  }
  for (uint32_t size = 40; size < 3000; size += size / 3)
    for (uint32_t i = 0, wasted = 0; i < 200; i++) {
      plait_ref_t next = plait_heap_realloc(many[i], size);
      CHECK(next != 0 && plait_heap_size(next) >= size);
      /* the first few are expected to grow on, and then none until they do */
      CHECK((wasted += plait_heap_size(next) > 2 * size) <= 8);
      if (many[i] != 0) CHECK(*(uint8_t *)plait_at(next) == (uint8_t)i);
      many[i] = next;
      *(uint8_t *)plait_at(next) = (uint8_t)i;
    }
  for (uint32_t i = 0; i < 200; i++) CHECK(plait_heap_free(many[i]) == 0);
  CHECK(plait_heap_check(1) == 0 && test_live_blocks() == 0);
}

/*
 * A block grows to about the end of the free space behind it. It leaves a rest that is worth a header, one that is not,
 * or none, or it would need more.
 */
static void test_growing_to_the_end_of_the_top(void) {
  test_space(256);
  for (uint32_t left = 0; left <= 12 * PLAIT__LEAST_REST; left += 8) {
    plait_ref_t block = plait_heap_realloc(plait_heap_alloc(32), 48);
    uint32_t all = plait_get(&plait__mine()->grower_end) - block; /* up to the next header */
    CHECK(plait_get(&plait__mine()->grower) == block - PLAIT__HEADER);
    uint32_t size = all + 4 * PLAIT__LEAST_REST - left, room;
    memset(plait_at(block), 7, 48);
    CHECK((block = plait_heap_realloc(block, size)) != 0 && (room = plait_heap_size(block)) >= size &&
        room - size < PLAIT_SLICE_SIZE);
    CHECK(*(uint8_t *)plait_at(block) == 7 && *(uint8_t *)plait_at(block + 47) == 7);
    memset(plait_at(block), 8, room);
    CHECK(plait_heap_check(1) == 0 && plait_heap_free(block) == 0 && plait_heap_check(1) == 0);
  }
  CHECK(test_live_blocks() == 0);
}

/*
 * A block in front of free space grows into it, or is long enough already. A size that no block can have is refused,
 * and so is a reference to no live block.
 */
static void test_growing_into_the_top(void) {
  static const uint32_t too_much[] = {
      0x40000000, 0x80000000, 0xAAAAAAAA, 0xAAAAAAAB, 0xC0000000, 0xFFFEFFFF, 0xFFFFFFE0, 0xFFFFFFFF};
  test_space(256);
  plait_ref_t block = plait_heap_realloc(plait_heap_alloc(32), 48), header = block - PLAIT__HEADER;
  plait_put(&plait__mine()->released, PLAIT__LEAST); /* so that the next one is not expected to grow */
  plait_ref_t small = plait_heap_alloc(32);
  plait_word_t *top = &plait__mine()->top;
  CHECK(plait_heap_size(block) == PLAIT__LEAST - PLAIT__HEADER && plait_get(top) == header + PLAIT__LEAST);
  for (uint32_t i = 0; i < sizeof too_much / sizeof *too_much; i++) {
    CHECK(plait_heap_realloc(block, too_much[i]) == 0 && plait_heap_realloc(small, too_much[i]) == 0);
    CHECK(plait_heap_size(block) == PLAIT__LEAST - PLAIT__HEADER && plait_heap_size(small) == 32);
  }
  /* the previous one has not grown long */
  CHECK((small = plait_heap_realloc(small, 48)) != 0 && plait_heap_size(small) < 100);
  CHECK(plait_heap_realloc(block, 2100) == block && plait_heap_size(block) == 2112 && plait_get(top) == header + 2128);
  CHECK(plait_heap_realloc(block + 16, 3000) == 0 && plait_heap_realloc(header, 3000) == 0 &&
      plait_heap_realloc(plait_get(top), 3000) == 0);
  plait_ref_t next = plait_heap_realloc(small, 100); /* now it has */
  CHECK(next == header + 2128 + PLAIT__HEADER && plait_heap_check(1) == 0);
  CHECK(
      plait_heap_realloc(block, 2112) == block && plait_heap_free(block) == 0 && plait_heap_realloc(block, 2200) == 0);
  CHECK(plait_get(top) == next - PLAIT__HEADER + PLAIT__LEAST && plait_heap_free(next) == 0 &&
      plait_heap_realloc(next, 200) == 0);
  CHECK(plait_get(top) == header && plait_heap_check(1) == 0); /* a block that is joined with the top is the top */
  CHECK(test_live_blocks() == 0);
  plait_thread_t mine = plait_self_id();
  CHECK((block = plait_heap_realloc(plait_heap_alloc(32), 1000)) + 1008 == plait_get(top));
  plait_slot_enter(plait_slot_claim(0), 1);
  CHECK(plait_heap_free(block) == 0);
  be(mine);
  /* it is free, although its bytes are as they were */
  CHECK(plait_heap_realloc(block, 1100) == 0 && plait_heap_check(1) == 0);
}

/*
 * Of wholly free regions the longest is kept. A block that once outgrew the other region fits there at once.
 */
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

/* A growing block stays in place while nothing lies behind it. Freed space is reused. */
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
    for (uint32_t size = 5000000; size > 100000; size -= 90000)
      CHECK((block = plait_heap_realloc(block, size)) == start);
    CHECK(plait_heap_size(block) < 200000 && plait_heap_check(1) == 0);
    CHECK((block = plait_heap_realloc(block, 30)) != 0 && plait_heap_size(block) <= 256);
    CHECK(plait_heap_free(block) == 0 && test_live_blocks() == 0);
    struct plait_heap_stats stats;
    plait_heap_stats(&stats);
    CHECK(stats.used_bytes <= 16 * PLAIT_SLICE_SIZE);
  }
}

static const struct test tests[] = {
    {"wrong frees are refused", test_wrong_frees},
    {"a page without an owner has no blocks", test_page_without_owner},
    {"a slice's unused pages are inherited", test_inheritance},
    {"free spans join", test_joining},
    {"the end of references", test_end_of_references},
    {"blocks grow and shrink in place", test_resizing},
    {"large blocks are freed without the lock", test_deferred_free},
    {"a growing block soon stays", test_growing_block},
    {"a block grows into the top", test_growing_into_the_top},
    {"a block grows to the end of the top", test_growing_to_the_end_of_the_top},
    {"the longest free region is kept", test_longest_is_kept},
};
TEST_MAIN(tests)
