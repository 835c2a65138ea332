/* heap, memory overhead: blocks fill their pages, and no thread keeps many full pages whose blocks others free. */
#include "heap_unit.h"

enum { BLOCKS = 4096 };
static plait_ref_t blocks[BLOCKS];

static struct plait_page_list *list_for(uint32_t size) { return &plait__mine()->classes[plait__class_of(size)]; }

/* If a page holds few blocks, or its blocks are small, they fill it: less than a fiftieth is left at its end. */
static void test_full_pages(void) {
  struct plait_heap_details details;
  test_space(64);
  plait_heap_details(&details);
  uint32_t found = 0;
  for (uint32_t class = 0; class < PLAIT_HEAP_CLASS_COUNT; class++) {
    uint32_t size = details.classes[class].size, page = 1u << plait__class_shift(class);
    snprintf(test_context, sizeof test_context, "%u bytes in a page of %u", size, page);
    uint32_t count = page / size < PLAIT__MOST_BLOCKS ? page / size : PLAIT__MOST_BLOCKS;
    if (size > 128 && (size <= 1024 || size > 2048)) continue;
    CHECK(page - count * size < page / 50 && (size <= 128 || size % 32 == 0));
    found++;
  }
  CHECK(found == 8 + 8);
}

enum { IN_PAGE = 170 }; /* blocks of 48 bytes */

/*
 * If pages soon run out, the next block comes from the page into which a block was freed last, unless the current page
 * has more free blocks.
 */
static void test_page_with_more(void) {
  test_space(64);
  take_first();
  plait_put(&plait__mine()->prefer_emptier, PLAIT__PREFER_EMPTIER);
  for (uint32_t i = 0; i < 2 * IN_PAGE; i++) CHECK((blocks[i] = plait_heap_alloc(48)) != 0);
  plait_ref_t *second = blocks + IN_PAGE;
  for (uint32_t i = 0; i < 2; i++) CHECK(plait_heap_free(blocks[i]) == 0);
  for (uint32_t i = 0; i < 3; i++) CHECK(plait_heap_free(second[i]) == 0);
  CHECK(plait_heap_alloc(48) == second[2]);                                    /* three are more than two */
  CHECK(plait_heap_free(blocks[2]) == 0 && plait_heap_alloc(48) == blocks[2]); /* and than two others */
  CHECK(plait_heap_alloc(48) == blocks[1] && plait_heap_free(blocks[3]) == 0); /* two are not more than two */
  CHECK(plait_heap_alloc(48) == blocks[3] && plait_heap_free(second[2]) == 0 && plait_heap_alloc(48) == second[2]);
  CHECK(plait_heap_check(1) == 0);
}

/* Frees one block of each of four pages in turn and allocates as many: each time pages run out. */
static void end_pages(uint32_t size, uint32_t in_page) {
  for (uint32_t i = 0; i < 4 * in_page; i++) CHECK((blocks[i] = plait_heap_alloc(size)) != 0);
  for (uint32_t round = 0; round < 200; round++) {
    for (uint32_t i = 0; i < 4 * in_page; i += in_page) CHECK(plait_heap_free(blocks[i]) == 0);
    for (uint32_t i = 0; i < 4 * in_page; i += in_page) CHECK((blocks[i] = plait_heap_alloc(size)) != 0);
  }
  CHECK(plait_heap_check(1) == 0); /* it checks that all pages agree with their owner */
}

/* Each free chooses the page of the next block while most pages that run out have few blocks. */
static void test_prefer_emptier(void) {
  test_space(256);
  take_first();
  end_pages(48, IN_PAGE);
  CHECK(plait_get(&plait__mine()->prefer_emptier) == 0);
  end_pages(1500, 10);
  CHECK(plait_get(&plait__mine()->prefer_emptier) == PLAIT__PREFER_EMPTIER);
  end_pages(48, IN_PAGE);
  CHECK(plait_get(&plait__mine()->prefer_emptier) == 0);
}

/*
 * Of the pages with few blocks one is kept without a block in use. So allocating and freeing in turn does not make a
 * page each time.
 */
static void test_empty_page(void) {
  test_space(64);
  take_first();
  plait_ref_t block = plait_heap_alloc(5000);
  uint32_t used = plait_get(&plait_heap()->used);
  for (uint32_t i = 0; i < 100; i++) {
    CHECK(plait_heap_free(block) == 0 && plait_get(&list_for(5000)->count) == 1);
    CHECK(plait_heap_alloc(5000) == block);
  }
  CHECK(plait_heap_free(block) == 0 && (block = plait_heap_alloc(9000)) != 0 && plait_heap_free(block) == 0);
  CHECK(plait_get(&list_for(5000)->count) == 0 && plait_get(&list_for(9000)->count) == 1);
  CHECK(plait_get(&plait_heap()->used) == used && plait_heap_check(1) == 0);
}

/* The same for pages of small blocks, when one block more than a page holds comes and goes. */
static void test_one_more_than_a_page(void) {
  test_space(64);
  take_first();
  for (uint32_t i = 0; i < IN_PAGE; i++) CHECK((blocks[i] = plait_heap_alloc(48)) != 0);
  plait_ref_t block = plait_heap_alloc(48);
  for (uint32_t i = 0; i < 100; i++) {
    CHECK(plait_heap_free(block) == 0 && plait_get(&list_for(48)->count) == 2);
    CHECK(plait_heap_alloc(48) == block);
  }
  CHECK(plait_heap_check(1) == 0);
}

/* Free blocks are found behind any number of full pages, before a page is made. */
static void test_behind_full_pages(void) {
  test_space(64);
  take_first();
  uint64_t random = test_seed;
  enum { STAY = 10 * IN_PAGE, ALL = STAY + 2000 };
  for (uint32_t i = 0; i < ALL; i++) CHECK((blocks[i] = plait_heap_alloc(48)) != 0);
  for (uint32_t i = 0; i < 100000; i++) {
    uint32_t n = STAY + test_random(&random) % (ALL - STAY);
    CHECK(plait_heap_free(blocks[n]) == 0 && (blocks[n] = plait_heap_alloc(48)) != 0);
  }
  CHECK(plait_get(&list_for(48)->count) <= ALL / IN_PAGE + 4 && plait_heap_check(1) == 0);
}

/*
 * A few small blocks lie in a region, and nothing else is used. When blocks come and go, only a few of those that stay
 * lie there.
 */
static void test_few_blocks(void) {
  struct plait_heap_details details;
  test_space(64);
  for (uint32_t i = 0; i < 3; i++) CHECK(plait_heap_alloc(100 * i) != 0);
  plait_heap_details(&details);
  CHECK(details.page_slices == 0 && details.region_slices == 2);
  for (uint32_t i = 0; i < BLOCKS; i++) {
    plait_ref_t passing = plait_heap_alloc(20000);
    CHECK(passing != 0 && plait_heap_alloc(16) != 0 && plait_heap_free(passing) == 0);
  }
  plait_heap_details(&details);
  CHECK(details.threads[0].blocks < 16 && details.region_slices == 2 && plait_heap_check(1) == 0);
}

/*
 * A small block that grows lies in a region from the start, if the previous one has grown long. Blocks that stay small
 * lie in pages.
 */
static void test_small_blocks_that_grow(void) {
  test_space(64);
  for (uint32_t round = 0; round < 20; round++) {
    plait_ref_t block = plait_heap_alloc(32), grown = block;
    for (uint32_t size = 48; size <= PLAIT_HEAP_MEDIUM_LIMIT; size += size / 2)
      CHECK((grown = plait_heap_realloc(grown, size)) == block);
    CHECK(plait_heap_free(block) == 0);
  }
  struct plait_heap_details details;
  plait_heap_details(&details);
  CHECK(details.page_slices == 0 && details.region_slices == 2);
  for (uint32_t i = 0; i < BLOCKS; i++) CHECK((blocks[i] = plait_heap_alloc(32)) != 0);
  plait_heap_details(&details);
  CHECK(details.threads[0].blocks == 8 && details.classes[plait__class_of(32)].used == BLOCKS - 8);
  for (uint32_t i = 0; i < BLOCKS; i++) CHECK(plait_heap_free(blocks[i]) == 0);
  for (uint32_t i = 0; i < BLOCKS; i++) CHECK((blocks[i] = plait_heap_alloc(32 + i % 2 * 64)) != 0);
  plait_heap_details(&details);
  CHECK(details.threads[0].blocks == 0 && plait_heap_check(1) == 0); /* none has grown */
}

/* A thread keeps few pages of a class whose blocks other threads free. It abandons its other full pages at once. */
static void test_full_page_of_shared_class(void) {
  test_space(256);
  plait_thread_t owner = plait_slot_claim(0), other = plait_slot_claim(0);
  be(owner);
  for (uint32_t i = 0; i < 1024; i++) CHECK((blocks[i] = plait_heap_alloc(256)) != 0);
  CHECK(plait_get(&list_for(256)->count) == 1024 / 64); /* as long as no other thread frees them */
  be(other);
  for (uint32_t i = 0; i < 1024; i += 8) CHECK(plait_heap_free(blocks[i]) == 0);
  be(owner);
  for (uint32_t i = 1024; i < BLOCKS; i++) {
    CHECK((blocks[i] = plait_heap_alloc(256)) != 0);
    if (i > 2500) CHECK(plait_get(&list_for(256)->count) <= 9);
  }
  CHECK(plait_heap_check(1) == 0);
}

/* Blocks that grow once, and stay. Other blocks use the space between them. */
static void test_grown_once(void) {
  test_space(4096);
  uint64_t wanted = 0, random = test_seed;
  static uint32_t sizes[BLOCKS];
  for (uint32_t i = 0; i < BLOCKS; i++) blocks[i] = 0, sizes[i] = 0;
  for (uint32_t i = 0; i < 20 * BLOCKS; i++) {
    uint32_t n = test_random(&random) % BLOCKS;
    if (blocks[n] != 0) CHECK(plait_heap_free(blocks[n]) == 0);
    wanted -= sizes[n];
    sizes[n] = 260 + test_random(&random) % 140;
    wanted += sizes[n];
    CHECK((blocks[n] = plait_heap_alloc(150 + test_random(&random) % 100)) != 0);
    CHECK((blocks[n] = plait_heap_realloc(blocks[n], sizes[n])) != 0);
  }
  CHECK((uint64_t)plait_get(&plait_heap()->used) * PLAIT_SLICE_SIZE < wanted * 23 / 10 && plait_heap_check(1) == 0);
}

static const struct test tests[] = {
    {"blocks of 1 to 2 KiB fill their pages", test_full_pages},
    {"blocks that grow once leave no holes", test_grown_once},
    {"blocks come from the page with more free blocks", test_page_with_more},
    {"frees choose the next page while exhausted pages have few blocks", test_prefer_emptier},
    {"one empty page of the larger ones is kept", test_empty_page},
    {"one empty page of the smaller ones is kept", test_one_more_than_a_page},
    {"free blocks are found behind full pages", test_behind_full_pages},
    {"a few small blocks need no page", test_few_blocks},
    {"small blocks that grow lie in a region", test_small_blocks_that_grow},
    {"few full pages are kept if others free their blocks", test_full_page_of_shared_class},
};
TEST_MAIN(tests)
