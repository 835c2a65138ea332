/* large: blocks with a span of their own. See heap.h for the whole, and slices.c for the meaning of the tags. */
#include "internal.h"

PLAIT_COLD_BEGIN

#define MOST_PUT_OFF 16u /* the most slices of a block that is freed without the lock */
#define ENDS_APART 4096u /* bytes between two places where a large block may end */

PLAIT_TINY uint32_t slices_for(uint32_t size) {
  return (size - 1) / PLAIT_SLICE_SIZE + 1; /* size is not 0 */
}

/*
 * How far behind its span's start a block begins, if there is room. It ends in one of 16 lines of its last slice; its
 * size says in which. It begins in one of the first 64 lines of its first slice. So blocks begin and end in lines where
 * earlier blocks have, and which a cache still has. If all began at multiples of 64 KiB, they would end in any of 1024
 * lines, which are in no cache. And their first lines would share a few sets of every cache.
 */
PLAIT_TINY uint32_t start_of(uint32_t behind, uint32_t size, uint32_t room) {
  uint32_t offset = ((behind * 0x9E3779B1u >> 26) * 64 - size) & (ENDS_APART - 64);
  return offset <= room - size ? offset : 0;
}

PLAIT_ONCE plait_ref_t plait__large_alloc(uint32_t size, uint32_t alignment) {
  uint32_t slices = slices_for(size), apart = (alignment - 1) / PLAIT_SLICE_SIZE, need = slices + apart, index;
  struct plait_thread_heap *mine = plait__mine();
  if (mine == NULL && (mine = plait__bind()) == NULL) return 0;
  for (;;) { /* the out-of-memory sequence: see room.c */
    int adopted = plait__room_enter(mine);
    if (adopted < 0) return 0;
    index = plait__span_find(need);
    if (index != 0) break;
    if (adopted) plait__heap_unlock();
    else if (!plait__room_more(mine, need)) return 0;
  }
  uint32_t skip = (0u - index) & apart, at = index + skip; /* `apart` is one less than a power of two */
  uint32_t offset = alignment > 64 ? 0 : start_of(at + slices, size, slices * PLAIT_SLICE_SIZE);
  plait__fresh = at >= plait_get(&plait_heap()->touched);
  plait_put(&plait__slice_inline(at)->used, offset);
  plait__span_take(index, skip + slices, plait__tag(skip != 0 ? PLAIT__FREED : PLAIT__LARGE, skip + slices));
  if (skip != 0) { /* the part in front of the block is freed again; the second tag is the commit */
    plait__tag_set(at, plait__tag(PLAIT__LARGE, slices));
    plait__tag_set(index, plait__tag(PLAIT__FREED, skip));
    plait__span_free(index, skip);
  }
  plait__heap_unlock();
  return at * PLAIT_SLICE_SIZE + offset;
}

/*
 * If several threads free one block, one of them wins the exchange. FREED is authoritative; which thread makes the span
 * free is open.
 */
PLAIT_ONCE int plait__large_free(struct plait_slice *slice, plait_ref_t block) {
  uint32_t index = block / PLAIT_SLICE_SIZE;
  struct plait_thread_heap *mine = plait__mine();
  uint32_t tag = plait_get(&slice->tag), slices = plait__rest(tag), freed = plait__tag(PLAIT__FREED, slices);
  if (plait__kind(tag) != PLAIT__LARGE || block % PLAIT_SLICE_SIZE != plait_get(&slice->used)) return 0;
  if (!atomic_compare_exchange_strong_explicit(&slice->tag, &tag, freed, memory_order_acq_rel, memory_order_relaxed))
    return 0;
  if (mine != NULL && slices <= MOST_PUT_OFF && plait_get(&mine->freed) == 0) {
    plait_put(&mine->freed, index); /* freed when the thread has the lock next */
    return 1;
  }
  if (plait__heap_lock() != 0) return 1; /* the next repair makes it free */
  if (plait_load_near(&slice->tag) == freed) plait__span_free(index, slices);
  plait__heap_unlock();
  return 1;
}

int plait__large_resize(plait_ref_t block, uint32_t size) {
  uint32_t index = block / PLAIT_SLICE_SIZE, offset = block % PLAIT_SLICE_SIZE, want, tag, part, slices;
  int fits;
  if (size > UINT32_MAX - PLAIT_SLICE_SIZE) return 0;
  do {
    if (plait__heap_lock() != 0) return 0;
    want = slices_for(size + offset), tag = plait__tag_of(index);
    uint32_t have = plait__rest(tag), stay = want < have ? want : have;
    part = index + stay, slices = want + have - 2 * stay; /* the slices that are added or removed */
    fits = plait__kind(tag) == PLAIT__LARGE && plait_get(&plait__slice(index)->used) == offset;
    if (fits && want > have) fits = plait__make_free(part, slices);
    if (fits < 0 && !plait__room_more(NULL, slices)) return 0;
  } while (fits < 0);
  if (fits && slices != 0) {
    int longer = part != index + want;
    if (longer) plait__span_take(part, slices, plait__tag(PLAIT__FREED, slices)); /* no block owns them yet */
    else plait__tag_set(part, plait__tag(PLAIT__FREED, slices));
    /* The commit: an exchange, because another thread may free the block now. acq_rel, as there. */
    fits = near_compare_exchange(
        &plait__slice(index)->tag, &tag, plait__tag(PLAIT__LARGE, want), memory_order_acq_rel, memory_order_relaxed);
    if (fits != longer) plait__span_free(part, slices);
    else plait__tag_set(part, PLAIT__NONE);
  }
  plait__heap_unlock();
  return fits;
}

PLAIT_COLD_END
