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

/* The next block comes from where one was freed last, unless the word that blocks come from has more. */
static void test_word_with_more(void) {
  test_space(64);
  for (uint32_t i = 0; i < 256; i++) CHECK((blocks[i] = plait_heap_alloc(64)) != 0); /* the first 128 are a page: two words */
  for (uint32_t i = 0; i < 3; i++) CHECK(plait_heap_free(blocks[i]) == 0);
  for (uint32_t i = 64; i < 66; i++) {
    CHECK(plait_heap_free(blocks[i]) == 0 && plait_heap_alloc(64) == blocks[i - 64]); /* three are more than none, two than one */
  }
  CHECK(plait_heap_free(blocks[66]) == 0 && plait_heap_alloc(64) == blocks[64]); /* one is not more than two */
  CHECK(plait_heap_alloc(64) == blocks[65] && plait_heap_alloc(64) == blocks[66] && plait_heap_alloc(64) == blocks[2]);
  CHECK(plait_heap_check(1) == 0);
}

/* Where blocks are large, the word where one was freed counts for a bit more for each KiB of one: so the other page gets empty. */
static void test_word_of_large_blocks(void) {
  test_space(64);
  for (uint32_t size = 1024; size <= 4096; size *= 2) {
    uint32_t more = size / 1024, in_page = (1u << plait__class_shift(plait__class_of(size))) / size;
    for (uint32_t i = 0; i < 2 * in_page; i++) CHECK((blocks[i] = plait_heap_alloc(size)) != 0);
    for (uint32_t i = 0; i < more; i++) CHECK(plait_heap_free(blocks[i]) == 0);
    CHECK(plait_heap_free(blocks[in_page]) == 0 && plait_heap_alloc(size) == blocks[in_page]); /* as many are not more */
    CHECK(plait_heap_free(blocks[more]) == 0 && plait_heap_alloc(size) == blocks[0]);
    CHECK(plait_heap_free(blocks[0]) == 0); /* the first page has one more than counts */
    CHECK(plait_heap_free(blocks[in_page]) == 0 && plait_heap_alloc(size) == blocks[0]);
  }
  CHECK(plait_heap_check(1) == 0);
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
    {"blocks come from the word that has more", test_word_with_more},
    {"a word of large blocks counts for more", test_word_of_large_blocks},
    {"no full page is kept whose blocks others free", test_full_page_of_shared_class},
};
TEST_MAIN(tests)
