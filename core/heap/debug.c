/*
 * heap debug: with -DPLAIT_HEAP_DEBUG=1, this layer lies between the heap and its callers, and detects their errors.
 * The heap itself is the same, and does not know the layer.
 *
 * - A block gets a few bytes more than requested. Behind its end lie bytes of a pattern. At the end of its room stands
 *   its size, twice. Freeing checks them. If a thread has written beyond the end, the free fails, and the block stays
 *   allocated.
 * - A freed block is filled with a pattern and kept until its thread has freed some more blocks. A byte that has
 *   changed by then was written after the free. The thread's next allocation reports it, or a check.
 * - The first contents of a block are neither zero nor what was there before, and realloc() always moves.
 *
 * It works for the threads of one process.
 *
 * Invariant: `kept[n]` names the blocks that thread n keeps; only that thread writes there. They are live to the heap,
 * and free to everyone else. A thread that exits may lose one block more than without this layer. The next thread in
 * its slot frees what it kept.
 */
#ifdef PLAIT_HEAP_DEBUG
#undef plait_heap_alloc
#undef plait_heap_alloc_zeroed
#undef plait_heap_alloc_aligned
#undef plait_heap_realloc
#undef plait_heap_free
#undef plait_heap_size
#undef plait_heap_place
#include "internal.h"

#define FRESH 0xCD  /* the first contents of a block, in each byte */
#define BEHIND 0xFD /* what lies behind its end */
#define FREED 0xDD  /* its contents when it is free */
#define TRAILER 8u
#define KEPT 32u
#define KEPT_ROOM 16384u /* larger blocks are freed at once */

plait_ref_t plait__bare_alloc(uint32_t size);
plait_ref_t plait__bare_alloc_aligned(uint32_t size, uint32_t alignment);
int plait__bare_free(plait_ref_t block);
uint32_t plait__bare_size(plait_ref_t block);
enum plait_heap_place plait__bare_place(plait_ref_t block);

static plait_word_t kept[PLAIT_SLOT_LIMIT][KEPT]; /* blocks; `turn` points to the oldest; 0: none */
static plait_word_t turn[PLAIT_SLOT_LIMIT];

/* ---- the trailer: the end of a block's room ---- */

enum state { LIVE, GONE, BROKEN };

static uint32_t *trailer_of(plait_ref_t block, uint32_t room) {
  return plait_at(block + room - TRAILER);
}

static void set_trailer(plait_ref_t block, uint32_t room, uint32_t size, enum state state) {
  trailer_of(block, room)[0] = size;
  trailer_of(block, room)[1] = size ^ plait__mark(block) ^ state;
}

static enum state state_of_block(plait_ref_t block, uint32_t room) {
  uint32_t size = trailer_of(block, room)[0], check = trailer_of(block, room)[1] ^ size ^ plait__mark(block);
  return size <= room - TRAILER && check <= GONE ? (enum state)check : BROKEN;
}

/* The first byte between two references that is not `byte`; 0 if there is none. */
static plait_ref_t other_byte(plait_ref_t from, plait_ref_t to, uint8_t byte) {
  for (; from < to; from++)
    if (*(uint8_t *)plait_at(from) != byte) return from;
  return 0;
}

/* ---- freed blocks ---- */

/* The first byte of a kept block that was written after the free; 0 if there is none. */
static plait_ref_t written_since(plait_ref_t block) {
  plait_ref_t end = block + plait__bare_size(block) - TRAILER;
  plait_ref_t written = other_byte(block, end, FREED);
  return written != 0 || state_of_block(block, end + TRAILER - block) == GONE ? written : end;
}

/* Records the fault of a kept block: nonzero if there is one. */
static int is_damaged(plait_ref_t block) {
  plait_ref_t written = written_since(block);
  if (written != 0) plait__fault_set(PLAIT_FAULT_FREED, written, block);
  return written != 0;
}

/*
 * Frees the caller's oldest kept block, if the caller keeps the full number. A damaged block stays where it is; then
 * the result is 0.
 */
static int give_oldest_back(void) {
  uint32_t self = plait_thread_index(plait_self_id());
  plait_word_t *place = &kept[self][plait_get(&turn[self]) % KEPT];
  plait_ref_t block = plait_get(place);
  if (block == 0) return 1;
  if (is_damaged(block)) return 0;
  plait_put(place, 0);
  plait__bare_free(block);
  return 1;
}

/* Checks the caller's oldest kept block. If it is damaged, it is lost, and the result is 0. */
static int check_oldest(void) {
  uint32_t self = plait_thread_index(plait_self_id());
  plait_word_t *place = &kept[self][plait_get(&turn[self]) % KEPT];
  if (plait_get(place) == 0 || !is_damaged(plait_get(place))) return 1;
  plait_put(place, 0);
  return 0;
}

static void keep(plait_ref_t block) {
  uint32_t self = plait_thread_index(plait_self_id()), at = plait_get(&turn[self]);
  plait_put(&kept[self][at % KEPT], block);
  plait_put(&turn[self], at + 1);
}

uint32_t plait__debug_kept(void) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT * KEPT; i++) count += plait_get(&kept[i / KEPT][i % KEPT]) != 0;
  return count;
}

int plait__debug_check(void) {
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT * KEPT; i++) {
    plait_ref_t block = plait_get(&kept[i / KEPT][i % KEPT]);
    if (block != 0 && is_damaged(block)) return -PLAIT_EILSEQ;
  }
  return 0;
}

/* ---- the heap's functions ---- */

static plait_ref_t allocate(uint32_t size, uint32_t alignment, uint8_t byte) {
  if (size > UINT32_MAX - TRAILER || !check_oldest()) return 0;
  if (size == 0) size = 1; /* because plait_heap_size() returns 0 for what is no block */
  plait_ref_t block = plait__bare_alloc_aligned(size + TRAILER, alignment);
  for (uint32_t i = 0; block == 0 && i < KEPT; i++) {
    if (!give_oldest_back()) return 0;
    plait_word_t *at = &turn[plait_thread_index(plait_self_id())];
    plait_put(at, plait_get(at) + 1);
    block = plait__bare_alloc_aligned(size + TRAILER, alignment);
  }
  if (block == 0) return 0;
  uint32_t room = plait__bare_size(block);
  memset(plait_at(block), byte, size);
  memset(plait_at(block + size), BEHIND, room - TRAILER - size);
  set_trailer(block, room, size, LIVE);
  return block;
}

PLAIT_EXPORT plait_ref_t plait_heap_alloc(uint32_t size) {
  return allocate(size, 16, FRESH);
}

PLAIT_EXPORT plait_ref_t plait_heap_alloc_zeroed(uint32_t size) {
  return allocate(size, 16, 0);
}

PLAIT_EXPORT plait_ref_t plait_heap_alloc_aligned(uint32_t size, uint32_t alignment) {
  return allocate(size, alignment, FRESH);
}

PLAIT_EXPORT uint32_t plait_heap_size(plait_ref_t block) {
  uint32_t room = plait__bare_size(block);
  if (room == 0) return 0;
  enum state state = state_of_block(block, room);
  return state == LIVE ? trailer_of(block, room)[0] : state == GONE ? 0 : room;
}

PLAIT_EXPORT enum plait_heap_place plait_heap_place(plait_ref_t block) {
  enum plait_heap_place place = plait__bare_place(block);
  return place == PLAIT_PLACE_LIVE && plait_heap_size(block) == 0 ? PLAIT_PLACE_FREE : place;
}

/* 0 for an undamaged live block; else what plait_heap_free() returns. */
static int check_live(plait_ref_t block) {
  uint32_t room = plait__bare_size(block);
  enum state state = room == 0 ? GONE : state_of_block(block, room);
  if (state == GONE) return -PLAIT_EINVAL;
  plait_ref_t end = block + room - TRAILER;
  plait_ref_t written = state == BROKEN ? end : other_byte(block + trailer_of(block, room)[0], end, BEHIND);
  if (written == 0) return 0;
  plait__fault_set(PLAIT_FAULT_OVERRUN, written, block);
  return -PLAIT_EILSEQ;
}

PLAIT_EXPORT int plait_heap_free(plait_ref_t block) {
  int rc = check_live(block);
  if (rc != 0) return rc;
  uint32_t room = plait__bare_size(block), size = trailer_of(block, room)[0];
  int is_kept = room <= KEPT_ROOM && give_oldest_back();
  set_trailer(block, room, size, GONE);
  memset(plait_at(block), FREED, room - TRAILER);
  if (!is_kept) return plait__bare_free(block);
  keep(block);
  return 0;
}

PLAIT_EXPORT plait_ref_t plait_heap_realloc(plait_ref_t block, uint32_t size) {
  if (block == 0) return plait_heap_alloc(size);
  if (check_live(block) != 0) return 0;
  plait_ref_t moved = plait_heap_alloc(size);
  if (moved == 0) return 0;
  uint32_t had = plait_heap_size(block);
  memcpy(plait_at(moved), plait_at(block), size < had ? size : had);
  plait_heap_free(block);
  return moved;
}

#endif
