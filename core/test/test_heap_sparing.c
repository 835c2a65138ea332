/*
 * heap, what it needs: blocks fill their pages, and full pages wait for nobody in particular.
 */
#include "heap_unit.h"

enum { BLOCKS = 4096 };
static plait_ref_t blocks[BLOCKS];

static struct plait_page_list *list_for(uint32_t size) {
  return &plait__mine()->classes[plait__class_of(size)];
}

/* Where a page holds few blocks, they fill it: what is left at its end is less than a fiftieth. */
static void test_full_pages(void) {
  struct plait_heap_details details;
  test_space(64);
  plait_heap_details(&details);
  uint32_t found = 0;
  for (uint32_t class = 0; class < PLAIT_HEAP_CLASS_COUNT; class++) {
    uint32_t size = details.classes[class].size, page = 1u << plait__class_shift(class);
    snprintf(test_context, sizeof test_context, "%u bytes in a page of %u", size, page);
    if (size <= 1024 || size > 2048) continue;
    CHECK(page % size < page / 50 && size % 32 == 0);
    found++;
  }
  CHECK(found == 8);
}

/* Where pages do not last, the next block comes from where one was freed last, unless the page that blocks come from has more. */
static void test_page_with_more(void) {
  test_space(64);
  for (uint32_t i = 0; i < 256; i++) CHECK((blocks[i] = plait_heap_alloc(64)) != 0); /* the first 128 are a page */
  plait_put(&plait__mine()->limit, UINT32_MAX);
  for (uint32_t i = 0; i < 2; i++) CHECK(plait_heap_free(blocks[i]) == 0);
  for (uint32_t i = 128; i < 131; i++) CHECK(plait_heap_free(blocks[i]) == 0);
  CHECK(plait_heap_alloc(64) == blocks[130]); /* three are more than two */
  CHECK(plait_heap_free(blocks[2]) == 0 && plait_heap_alloc(64) == blocks[2]); /* and than two others */
  CHECK(plait_heap_alloc(64) == blocks[1] && plait_heap_free(blocks[3]) == 0); /* two are not more than two */
  CHECK(plait_heap_alloc(64) == blocks[3] && plait_heap_free(blocks[130]) == 0 && plait_heap_alloc(64) == blocks[130]);
  CHECK(plait_heap_check(1) == 0);
}

/* Frees `count` blocks of each page in turn and allocates as many, so that pages last that long. */
static void last_for(uint32_t pages, uint32_t in_page, uint32_t count, uint32_t size) {
  for (uint32_t round = 0; round < 200; round++) {
    uint32_t first = round % pages * in_page;
    for (uint32_t i = 0; i < count; i++) CHECK(plait_heap_free(blocks[first + i]) == 0);
    for (uint32_t i = 0; i < count; i++) CHECK((blocks[first + i] = plait_heap_alloc(size)) != 0);
  }
}

/* Freeing looks where the next block is to come from when pages have not lasted for some time, and no longer than that. */
static void test_runs(void) {
  test_space(64);
  for (uint32_t i = 0; i < 512; i++) CHECK((blocks[i] = plait_heap_alloc(64)) != 0);
  struct plait_record *record = plait__mine();
  last_for(4, 128, 20, 64);
  CHECK(plait_get(&record->limit) == 256);
  last_for(4, 128, 3, 64);
  CHECK(plait_get(&record->limit) == UINT32_MAX && plait_get(&record->runs) > 1000);
  plait_put(&record->runs, 1); /* it has been so for long */
  plait_put(&record->spots[plait__class_of(64)], plait_ref(&plait_heap()->empty));
  CHECK(plait_heap_free(blocks[0]) == 0 && plait_heap_alloc(64) != 0);
  plait_put(&record->spots[plait__class_of(64)], plait_ref(&plait_heap()->empty));
  plait_heap_alloc(64);
  CHECK(plait_get(&record->limit) == 256 && plait_heap_check(1) == 0);
}

/* A thread whose blocks others free keeps one page of their class: full ones are nobody's at once. */
static void test_full_page_of_shared_class(void) {
  test_space(256);
  plait_thread_t owner = plait_slot_claim(0), other = plait_slot_claim(0);
  be(owner);
  for (uint32_t i = 0; i < 1024; i++) CHECK((blocks[i] = plait_heap_alloc(256)) != 0);
  CHECK(plait_get(&list_for(256)->count) == 1024 / 64); /* as long as nobody else frees them */
  be(other);
  for (uint32_t i = 0; i < 1024; i += 8) CHECK(plait_heap_free(blocks[i]) == 0);
  be(owner);
  for (uint32_t i = 1024; i < BLOCKS; i++) {
    CHECK((blocks[i] = plait_heap_alloc(256)) != 0);
    if (i > 1500) CHECK(plait_get(&list_for(256)->count) == 1);
  }
  CHECK(plait_heap_check(1) == 0);
}

/* Blocks that grow once, and live: what is between them serves others. */
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
    {"blocks come from the page that has more", test_page_with_more},
    {"what freeing looks at depends on how long pages last", test_runs},
    {"no full page is kept whose blocks others free", test_full_page_of_shared_class},
};
TEST_MAIN(tests)
