/*
 * heap and model: random blocks of one thread that acts as several, which start and exit. The heap is compared with a
 * model in ordinary memory: each block keeps its bytes, none overlaps another, and each is freed once.
 */
#include "heap_unit.h"

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

static int holds(const struct held *block) { return holds_up_to(block, block->size); }

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

/*
 * One thread acts as several, which start and exit. So operations across threads happen in an order that a seed
 * repeats.
 */
enum { ACTORS = 5, LIMIT = 2000 };
static plait_thread_t actors[ACTORS];

static void be_anyone(uint64_t *random, int exits) {
  uint32_t actor = test_random(random) % ACTORS;
  if (exits && test_random(random) % 300 == 0) {
    plait_slot_enter(actors[(actor + 1) % ACTORS], 1);
    plait_abi_recover(actors[actor]);
    plait_thread_t next = plait_slot_claim(0), other = plait_slot_claim(0);
    CHECK(next != 0 && other != 0);
    /* its slot's thread heap stays without a thread */
    if (test_random(random) % 2 == 0) actors[actor] = other, other = next;
    else actors[actor] = next;
    plait_abi_recover(other);
  }
  plait_slot_enter(actors[actor], 1);
  /* else it frees like a thread that has no thread heap, or has not bound it yet */
  if (test_random(random) % 8 != 0) plait__bind();
}

/* Allocates or resizes a block in a random way; it holds `block->byte` afterwards. */
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

static void run_model(uint32_t pages, int exits) {
  test_space(pages);
  static struct held blocks[LIMIT];
  uint32_t count = 0, rounds = test_work(test_rounds(200000)), refused = 0;
  uint64_t random = test_seed;
  for (int i = 0; i < ACTORS; i++) CHECK((actors[i] = plait_slot_claim(0)) != 0);
  for (uint32_t round = 0; round < rounds; round++) {
    snprintf(test_context, sizeof test_context, "round %u", round);
    be_anyone(&random, exits);
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

static void test_model(void) { run_model(2048, 0); }

static void test_model_of_exits(void) { run_model(2048, 1); }

static void test_model_at_limit(void) { run_model(300, 1); }

/*
 * Freeing any address frees a block if and only if a live block starts there. The model has a bit for each place where
 * a block may start. Every few thousand rounds the sizes change, and few earlier blocks are kept. So slices are carved
 * into other pages, by several threads, and addresses of former blocks occur again.
 */
enum { SPACE = 512, FORMER = 4096, SIZES = 3 };
static uint64_t live_at[SPACE * PLAIT_PAGE_SIZE / 16 / 64];

static int is_live(plait_ref_t at) {
  return at % 16 == 0 && at / PLAIT_PAGE_SIZE < SPACE && (live_at[at / 16 / 64] >> at / 16 % 64 & 1) != 0;
}

static void turn_live(plait_ref_t at) { live_at[at / 16 / 64] ^= 1ull << at / 16 % 64; }

static plait_ref_t any_address(const struct held *blocks, uint32_t count, const plait_ref_t *former, uint64_t *random) {
  uint32_t kind = test_random(random) % 6;
  plait_ref_t was = former[test_random(random) % FORMER],
              near = count == 0 ? was : blocks[test_random(random) % count].at;
  switch (kind) {
    case 0: return was;
    case 1: return was + 16 * (test_random(random) % 64) - 512;
    case 2: return near + 1 + test_random(random) % 4096;
    case 3: return (near & ~4095u) + 16 * (test_random(random) % 1024); /* what follows in its pages */
    case 4: return 16 * (test_random(random) % (plait_platform_pages() * (PLAIT_PAGE_SIZE / 16) + 4096));
    default: return test_random(random) % 4 == 0 ? 0u - 16 * (test_random(random) % 8192) : test_random(random);
  }
}

static void run_frees(int exits) {
  test_space(SPACE);
  static struct held blocks[LIMIT];
  static plait_ref_t former[FORMER];
  uint32_t count = 0, rounds = test_work(test_rounds(400000)), turn = 0, sizes[SIZES] = {0};
  uint64_t random = test_seed;
  for (int i = 0; i < ACTORS; i++) CHECK((actors[i] = plait_slot_claim(0)) != 0);
  for (uint32_t round = 0; round < rounds; round++) {
    snprintf(test_context, sizeof test_context, "round %u", round);
    be_anyone(&random, exits);
    if (round % 4096 == 0) { /* most sizes are small, like most pages */
      for (int i = 0; i < SIZES; i++) sizes[i] = 1 + test_random(&random) % (16u << test_random(&random) % 11);
      for (uint32_t keep = test_random(&random) % 4; count > keep; turn++) {
        plait_ref_t at = former[turn % FORMER] = blocks[--count].at;
        CHECK(plait_heap_free(at) == 0);
        turn_live(at);
        if (turn % 16 == 0) be_anyone(&random, 0);
      }
      CHECK(plait_heap_check(1) == 0 && test_live_blocks() == count);
    }
    uint32_t chance = test_random(&random) % 100;
    if (count < LIMIT && chance < 40) {
      struct held block = {.size = sizes[test_random(&random) % SIZES], .byte = (uint8_t)round};
      obtain(&block, &random);
      if (block.at == 0) continue;
      CHECK(!is_live(block.at));
      turn_live(block.at);
      blocks[count++] = block;
    } else if (count > 0 && chance < 60) {
      uint32_t victim = test_random(&random) % count;
      CHECK(holds(&blocks[victim]) && plait_heap_free(blocks[victim].at) == 0);
      turn_live(former[turn++ % FORMER] = blocks[victim].at);
      blocks[victim] = blocks[--count];
    } else {
      plait_ref_t any = any_address(blocks, count, former, &random);
      if (is_live(any)) CHECK(plait_heap_size(any) != 0 && plait_heap_place(any) == PLAIT_PLACE_LIVE);
      else
        CHECK(plait_heap_size(any) == 0 && plait_heap_place(any) != PLAIT_PLACE_LIVE &&
            plait_heap_free(any) == -PLAIT_EINVAL);
    }
    if (round % 1024 == 0) CHECK(plait_heap_check(1) == 0 && test_live_blocks() == count);
  }
  while (count > 0) CHECK(holds(&blocks[--count]) && plait_heap_free(blocks[count].at) == 0);
  CHECK(test_live_blocks() == 0 && plait_heap_check(1) == 0);
}

static void test_frees(void) { run_frees(0); }

static void test_frees_among_exits(void) { run_frees(1); }

static const struct test tests[] = {
    {"random blocks behave as the model", test_model},
    {"random blocks behave as the model while threads exit", test_model_of_exits},
    {"random blocks behave as the model at the end of memory", test_model_at_limit},
    {"exactly live blocks are freed", test_frees},
    {"exactly live blocks are freed while threads exit", test_frees_among_exits},
};
TEST_MAIN(tests)
