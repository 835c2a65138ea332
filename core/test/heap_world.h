/*
 * heap world: for the tests that single-step the heap's operations. The threads' blocks are noted inside the space, so
 * that restoring an image of the space restores the notes, too. Also: the checks afterwards.
 */
#ifndef PLAIT_TEST_HEAP_WORLD_H
#define PLAIT_TEST_HEAP_WORLD_H

#include "single_step.h"
#include "../heap/internal.h"

#ifdef SINGLE_STEP

#define PLACES 600u

static plait_thread_t main_id, other, victim;

/*
 * Where the blocks are noted, in the space. An operation notes the block that it got, and removes the note before it
 * frees the block. `moving`: the operation resizes the block; its thread may have exited after the old block was freed.
 */
struct note {
  plait_word_t at, size, moving;
};
static plait_ref_t notes_at;

static struct note *note(uint32_t place) { return (struct note *)plait_at(notes_at) + place; }

static void as(plait_thread_t thread) { plait_slot_enter(thread, 1); }

static uint8_t byte_of(uint32_t place) { return (uint8_t)(place * 7 + 1); }

/* ---- the parts of operations: each leaves at most one block in flight ---- */

static void keep(uint32_t place, plait_ref_t block, uint32_t size) {
  if (block == 0) return;
  memset(plait_at(block), byte_of(place), size < 64 ? size : 64); /* each store of it counts as a crash point */
  atomic_store(&note(place)->size, size < 64 ? size : 64);
  atomic_store(&note(place)->at, block);
}

static void get(uint32_t place, uint32_t size) { keep(place, plait_heap_alloc(size), size); }

/* The same in a region, where blocks of this size otherwise only come by growing. */
static void get_medium(uint32_t place, uint32_t size) { keep(place, plait__medium_alloc(plait__bind(), size), size); }

static void note_filled(uint32_t place, plait_ref_t block, uint32_t size) {
  CHECK(block != 0);
  memset(plait_at(block), byte_of(place), size);
  atomic_store(&note(place)->size, size);
  atomic_store(&note(place)->at, block);
}

/* As get and get_medium, with the whole block filled. For preparations. */
static void fill(uint32_t place, uint32_t size) { note_filled(place, plait_heap_alloc(size), size); }
static void fill_medium(uint32_t place, uint32_t size) {
  note_filled(place, plait__medium_alloc(plait__bind(), size), size);
}

/*
 * Where blocks were whose notes have been removed, in this scenario. Not in the space, so that restoring an image keeps
 * them.
 */
static plait_ref_t dropped[2000];
static uint32_t dropped_count;

static void drop(uint32_t place) {
  plait_ref_t block = atomic_exchange(&note(place)->at, 0);
  if (block == 0) return;
  if (dropped_count < sizeof dropped / sizeof *dropped) dropped[dropped_count++] = block;
  if (plait_heap_free(block) != 0) _exit(7);
}

static void resize(uint32_t place, uint32_t size) {
  struct note *it = note(place);
  if (size < atomic_load(&it->size)) atomic_store(&it->size, size);
  atomic_store(&it->moving, 1);
  plait_ref_t block = plait_heap_realloc(atomic_load(&it->at), size);
  if (block != 0) atomic_store(&it->at, block);
  atomic_store(&it->moving, 0);
}

/* ---- the world and the aftermath ---- */

static void world(uint32_t start, uint32_t most) {
  step_begin(most);
  CHECK(plait_posix_map(start, most) == 0 && plait_abi_init(most) == 0);
  plait_thread_t *ids[] = {&main_id, &actor, &recoverer, &other, &victim};
  for (int i = 0; i < 5; i++) CHECK((*ids[i] = plait_slot_claim(0)) != 0);
  as(main_id);
  CHECK((notes_at = plait_heap_alloc(PLACES * sizeof(struct note))) != 0);
  memset(plait_at(notes_at), 0, PLACES * sizeof(struct note));
}

/* Whether all bytes are `byte`: compares each byte with the next one, many at a time. */
static int all_are(plait_ref_t block, uint32_t size, uint8_t byte) {
  const uint8_t *bytes = plait_at(block);
  return size == 0 || (bytes[0] == byte && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static void check_notes(void) {
  for (uint32_t place = 0; place < PLACES; place++) {
    plait_ref_t block = atomic_load(&note(place)->at);
    if (block == 0 || atomic_load(&note(place)->moving) != 0) continue;
    uint32_t size = atomic_load(&note(place)->size);
    CHECK(plait_heap_size(block) >= size && all_are(block, size, byte_of(place)));
  }
}

/* Ordinary use of the heap: it must work, and must change no other block. */
static void use(uint32_t salt) {
  static const uint32_t sizes[] = {
      16, 16, 40, 40, 100, 300, 512, 600, 600, 1000, 2000, 5000, 5000, 9000, 30000, 60000, 70000, 200000};
  enum { COUNT = sizeof sizes / sizeof *sizes };
  plait_ref_t blocks[COUNT];
  for (uint32_t i = 0; i < COUNT; i++) {
    blocks[i] = (i & 1) == 0 ? plait_heap_alloc_zeroed(sizes[i]) : plait_heap_alloc(sizes[i]);
    CHECK(blocks[i] != 0);
    CHECK((i & 1) != 0 || all_are(blocks[i], sizes[i], 0));
    memset(plait_at(blocks[i]), (int)(salt + i), sizes[i]);
  }
  check_notes();
  for (uint32_t i = 0; i < COUNT; i++) {
    CHECK(all_are(blocks[i], sizes[i], (uint8_t)(salt + i)) && plait_heap_free(blocks[i]) == 0);
  }
}

/* If blocks lie on the remote free list of a thread heap without a thread, some thread will search for them. */
static void check_nothing_stranded(void) {
  struct plait_heap *heap = plait_heap();
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    plait_ref_t ref = plait_get(&heap->thread_heaps[i]);
    struct plait_thread_heap *theap = ref == 0 ? NULL : plait_at(ref);
    if (theap != NULL && plait_get(&theap->thread) == 0)
      CHECK(plait_get64(&theap->remote) == 0 || plait_get(&heap->orphans) != 0);
  }
}

/* No page without an owner is wholly free, except one for each exit. */
static void check_nothing_left(uint32_t exits) {
  struct plait_heap *heap = plait_heap();
  uint32_t left = 0;
  for (uint32_t index = plait_get(&heap->first); index < plait_get(&heap->end); index++) {
    struct plait_slice *slice = plait__slice(index);
    uint32_t tag = plait_get(&slice->tag);
    if (plait__kind(tag) != PLAIT__PAGES) continue;
    for (uint32_t i = 0; i < PLAIT_SLICE_SIZE >> plait__rest(tag); i++) {
      struct plait_page *page = (struct plait_page *)plait_at(plait_get(&slice->pages)) + i;
      uint32_t owner = plait_get(&page->owner), free = 0;
      if (owner != PLAIT__ABANDONED && owner != PLAIT__SHARED) continue;
      for (uint32_t n = 0; n < plait_get8(&page->count); n++) free += (uint32_t)plait__is_free(page, n);
      left += free == plait_get8(&page->count);
    }
  }
  CHECK(left <= exits);
  check_nothing_stranded();
}

/* How many pages are ABANDONED or SHARED, to check that preparations have made them. */
static uint32_t count_pages(uint32_t owner) {
  struct plait_heap *heap = plait_heap();
  uint32_t pages = 0;
  for (uint32_t index = plait_get(&heap->first); index < plait_get(&heap->end); index++) {
    struct plait_slice *slice = plait__slice(index);
    uint32_t tag = plait_get(&slice->tag);
    if (plait__kind(tag) != PLAIT__PAGES) continue;
    for (uint32_t i = 0; i < PLAIT_SLICE_SIZE >> plait__rest(tag); i++)
      pages += plait_get(&((struct plait_page *)plait_at(plait_get(&slice->pages)) + i)->owner) == owner;
  }
  return pages;
}

/*
 * From now on the thread abandons its full pages at once, and adopts hardly any, as if other threads had freed into its
 * pages.
 */
static void mark_remotely_freed(void) {
  for (uint32_t class = 0; class < PLAIT_HEAP_CLASS_COUNT; class ++)
    plait_put(&plait__bind()->classes[class].remotely_freed, 1);
}

/* Several at once. */
static void fill_places(uint32_t from, uint32_t to, uint32_t size) {
  for (; from < to; from++) fill(from, size);
}
static void fill_medium_places(uint32_t from, uint32_t to, uint32_t size) {
  for (; from < to; from++) fill_medium(from, size);
}
static void drop_places(uint32_t from, uint32_t to) {
  for (; from < to; from++) drop(from);
}

#endif
#endif
