/*
 * regions: medium blocks. A region is a run of slices that belongs to a record, cut into blocks, each behind a header:
 *
 *     | header | payload | header | payload | ... | END |      a header: struct plait_block, 16 bytes
 *
 * Invariants
 * - Walking from the region's first header by each tag's size meets the END header in the region's last 16 bytes. Each
 *   change that a walk can see is one store to one tag. (A region that was made longer or shorter by a thread that died
 *   meanwhile has its END early: then the rest is free.)
 * - Only the owner of the region allocates, joins and splits. Others turn a block's tag from LIVE into REMOTE, in one
 *   exchange that only one thread wins, and then push it onto the stack of the region's owner.
 * - `before`, the bins and the counters are derived from the tags.
 * - A header that is joined with the block before it loses its mark, so that no pointer to it is ever taken for a block.
 */
#include "internal.h"

#define LEAST 256u        /* no smaller block is cut for a request */
#define LEAST_LISTED 2048u /* no smaller free block is on a bin: requests are larger */
#define LEAST_REST 64u    /* what is cut off a block must be worth a header */
#define BLOCKS_LOOKED_AT 2      /* how many blocks of a bin are looked at before the next bin is taken */
#define TRIM_SLICES 8u    /* free slices at a region's end that are given back, together with an eighth of all */

PLAIT_TINY uint32_t size_of(uint32_t tag) {
  return tag & ~15u;
}

PLAIT_TINY uint32_t state_of(uint32_t tag) {
  return tag & 15u;
}

PLAIT_TINY uint32_t tag_at(plait_ref_t header) {
  return plait_get(&plait__block(header)->tag);
}

PLAIT_TINY void set_tag_at(plait_ref_t header, uint32_t tag) {
  plait_put(&plait__block(header)->tag, tag);
}

/* ---- bins: eight for each power of two from 2 Ki to 64 Ki, then one ---- */

#define NO_BIN PLAIT_HEAP_BIN_COUNT

static inline uint32_t bin_of(uint32_t size) {
  if (size < LEAST_LISTED) return NO_BIN;
  uint32_t log = 31u - (uint32_t)__builtin_clz(size);
  if (log < 16) return (log - 11) * 8 + (size >> (log - 3) & 7);
  return log < 23 ? 40 + log - 16 : 47;
}

static PLAIT_ONCE void link_to(struct plait_record *record, plait_ref_t header, uint32_t bin) {
  struct plait_block *block = plait__block(header);
  plait_put(&block->mark, 0);
  if (bin == NO_BIN) return;
  uint32_t head = plait_get(&record->bins[bin]);
  plait_put(&block->next, head);
  if (head != 0) plait_put(&plait__block(head)->mark, header);
  plait_put(&record->bins[bin], header);
  plait_put64(&record->bin_mask, plait_get64(&record->bin_mask) | 1ull << bin);
}

static PLAIT_ONCE void unlink_from(struct plait_record *record, plait_ref_t header, uint32_t bin) {
  if (bin == NO_BIN) return;
  struct plait_block *block = plait__block(header);
  uint32_t next = plait_get(&block->next), prev = plait_get(&block->mark);
  if (next != 0) plait_put(&plait__block(next)->mark, prev);
  if (prev != 0) plait_put(&plait__block(prev)->next, next);
  else plait_put(&record->bins[bin], next);
  if (prev == 0 && next == 0) plait_put64(&record->bin_mask, plait_get64(&record->bin_mask) & ~(1ull << bin));
}

PLAIT_COLD void plait__bin_link(struct plait_record *record, plait_ref_t header, uint32_t size) {
  link_to(record, header, bin_of(size));
}

static PLAIT_COLD void bin_unlink(struct plait_record *record, plait_ref_t header, uint32_t size) {
  unlink_from(record, header, bin_of(size));
}

/* A free block changes its size and keeps its place: `size` is the commit. Most often it stays on its bin, too. */
static PLAIT_ONCE void resize_free(struct plait_record *record, plait_ref_t header, uint32_t old, uint32_t size) {
  uint32_t from = bin_of(old), to = bin_of(size);
  if (from != to) {
    unlink_from(record, header, from);
    link_to(record, header, to);
  }
  set_tag_at(header, size | PLAIT__BLOCK_FREE);
}

/*
 * A free block loses its first `by` bytes to the block of `total` bytes before it, which is about to say so. A long one
 * most often stays on its bin, and takes its own place there.
 */
PLAIT_TINY void shift_free(struct plait_record *record, plait_ref_t header, uint32_t size, uint32_t by, uint32_t total) {
  uint32_t rest = size - by;
  plait_ref_t to = header + by;
  if (rest >= 1u << 16 && (size ^ rest) <= rest) { /* the same number of digits: the same bin */
    uint32_t next = plait_get(&plait__block(header)->next), prev = plait_get(&plait__block(header)->mark);
    plait_put(&plait__block(to)->next, next);
    plait_put(&plait__block(to)->mark, prev);
    if (next != 0) plait_put(&plait__block(next)->mark, to);
    if (prev != 0) plait_put(&plait__block(prev)->next, to);
    else plait_put(&record->bins[bin_of(rest)], to);
  } else {
    bin_unlink(record, header, size);
    plait__bin_link(record, to, rest);
  }
  set_tag_at(to, rest | PLAIT__BLOCK_FREE);
  plait_put(&plait__block(to)->before, total);
  plait_put(&plait__block(to + rest)->before, rest);
}

/* A free block of at least `size` bytes; 0 none on the bins. */
static PLAIT_ONCE plait_ref_t find(struct plait_record *record, uint32_t size) {
  uint32_t bin = bin_of(size);
  plait_ref_t header = plait_get(&record->bins[bin]);
  for (int i = 0; header != 0 && i < BLOCKS_LOOKED_AT; i++, header = plait_get(&plait__block(header)->next))
    if (size_of(tag_at(header)) >= size) return header;
  uint64_t mask = plait_get64(&record->bin_mask) >> bin >> 1;
  return mask == 0 ? 0 : plait_get(&record->bins[bin + 1 + (uint32_t)__builtin_ctzll(mask)]);
}

/* ---- splitting and joining; the region's owner only ---- */

/* Writes a free header that nobody can see yet, and tells the header behind it. */
static PLAIT_COLD void lay_free(struct plait_record *record, plait_ref_t header, uint32_t size, uint32_t before) {
  set_tag_at(header, size | PLAIT__BLOCK_FREE);
  plait_put(&plait__block(header)->before, before);
  plait_put(&plait__block(header + size)->before, size);
  plait__bin_link(record, header, size);
}

/* Makes a header that nobody can see yet that of a live block; it gets its mark when it has become one. */
PLAIT_TINY void lay_live(plait_ref_t header, uint32_t total, uint32_t before) {
  struct plait_block *block = plait__block(header);
  plait_put(&block->before, before);
  plait_put(&block->next, 0);
  plait_put(&block->mark, 0);
  set_tag_at(header, total | PLAIT__BLOCK_LIVE);
}

PLAIT_TINY void count_live(struct plait_record *record, uint32_t more) {
  plait_put(&record->medium_live, plait_get(&record->medium_live) + more);
}

/*
 * Takes `total` bytes out of the free block at `at`, from `front` on: the block that is live then. From its end most often; from
 * elsewhere for alignment, and with `front` 0 for a block that is going to grow.
 */
static PLAIT_ONCE plait_ref_t carve(struct plait_record *record, plait_ref_t at, uint32_t front, uint32_t total) {
  uint32_t have = size_of(tag_at(at)), rest = have - front - total;
  plait_ref_t header = at + front;
  if (rest < LEAST_REST) {
    total += rest;
    plait_put(&plait__block(at + have)->before, total);
  } else {
    lay_free(record, header + total, rest, total);
  }
  if (front != 0) {
    lay_live(header, total, front);
    resize_free(record, at, have, front);
    plait_put(&plait__block(header)->mark, plait__mark(header));
  } else {
    bin_unlink(record, header, have);
    plait_put(&plait__block(header)->next, 0);
    plait_put(&plait__block(header)->mark, plait__mark(header));
    set_tag_at(header, total | PLAIT__BLOCK_LIVE);
  }
  count_live(record, 1);
  return header + PLAIT__HEADER;
}

static PLAIT_COLD uint32_t region_of(plait_ref_t header) {
  uint32_t index = header / PLAIT_SLICE_SIZE, tag = plait_load_near(&plait__slice(index)->tag);
  return plait__kind(tag) == PLAIT__PART ? index - plait__rest(tag) : index;
}

/* Whether the region's first block is free and all there is. */
static PLAIT_COLD int is_whole(uint32_t index, uint32_t slices) {
  return tag_at(index * PLAIT_SLICE_SIZE) == ((slices * PLAIT_SLICE_SIZE - PLAIT__HEADER) | PLAIT__BLOCK_FREE);
}

static PLAIT_COLD void wipe_parts(uint32_t from, uint32_t to) {
  for (; from < to; from++) plait_put(&plait__slice(from)->tag, PLAIT__NONE);
}

/* Gives a region that is one free block back. Under the lock. */
static PLAIT_COLD void region_give(struct plait_record *record, uint32_t index, uint32_t slices) {
  bin_unlink(record, index * PLAIT_SLICE_SIZE, slices * PLAIT_SLICE_SIZE - PLAIT__HEADER);
  if (plait_get(&record->last) == index) plait_put(&record->last, 0);
  plait_put(&record->slices, plait_get(&record->slices) - slices);
  wipe_parts(index + 1, index + slices);
  plait__run_give(index, slices);
}

/* The same, if the lock is to be had at once. */
static PLAIT_COLD void region_release(struct plait_record *record, uint32_t index, uint32_t slices) {
  if (plait__runs_try() != 0) return; /* it stays, and serves on */
  region_give(record, index, slices);
  plait__runs_unlock();
}

PLAIT_COLD int plait__sweep(struct plait_record *record) {
  uint32_t end = plait_get(&plait_heap()->end);
  int given = 0;
  for (uint32_t index = plait_get(&plait_heap()->first), length; index < end; index += length) {
    struct plait_slice *slice = plait__slice(index);
    uint32_t tag = plait_load_near(&slice->tag), kind = plait__kind(tag), slices = plait__rest(tag);
    length = kind == PLAIT__PAGES ? 1 : slices;
    if (length == 0) break; /* somebody wrote over the table */
    int whole = kind == PLAIT__REGION && record != NULL && plait_get(&slice->owner) == plait_ref(record) && is_whole(index, slices);
    if (kind != PLAIT__FREED && !whole) continue;
    uint32_t next = index + length < end ? plait_load_near(&plait__slice(index + length)->tag) : 0;
    if (plait__kind(next) == PLAIT__FREE) length += plait__rest(next); /* it is going to be joined */
    if (whole) region_give(record, index, slices);
    else plait__run_give(index, slices);
    given = 1;
  }
  return given;
}

/* Gives the slices at the region's end back that its last block, free, does not need. */
static PLAIT_COLD void region_trim(struct plait_record *record, uint32_t index, uint32_t slices, plait_ref_t header, uint32_t size) {
  uint32_t cut = size / PLAIT_SLICE_SIZE - 2, keep = slices - cut, left = size - cut * PLAIT_SLICE_SIZE;
  plait_ref_t end = (index + keep) * PLAIT_SLICE_SIZE - PLAIT__HEADER;
  if (plait__runs_try() != 0) return;
  bin_unlink(record, header, size);
  plait_put(&plait__block(end)->before, left);
  plait_put(&plait__block(end)->mark, 0);
  set_tag_at(end, PLAIT__BLOCK_END);
  set_tag_at(header, left | PLAIT__BLOCK_FREE);
  plait__bin_link(record, header, left);
  wipe_parts(index + keep + 1, index + slices);
  plait_put(&plait__slice(index + keep)->tag, plait__tag(PLAIT__FREED, cut));
  plait_put(&plait__slice(index)->tag, plait__tag(PLAIT__REGION, keep));
  plait_put(&record->slices, plait_get(&record->slices) - cut);
  plait__run_give(index + keep, cut);
  plait__runs_unlock();
}

/* Whether the record keeps a region that is one free block: its index, or 0. */
static PLAIT_COLD uint32_t spare_of(struct plait_record *record) {
  uint32_t index = plait_get(&record->spare), tag = index == 0 ? 0 : plait_load_near(&plait__slice(index)->tag);
  int own = plait__kind(tag) == PLAIT__REGION && plait_get(&plait__slice(index)->owner) == plait_ref(record);
  return own && is_whole(index, plait__rest(tag)) ? index : 0;
}

PLAIT_COLD int plait__relinquish(struct plait_record *record) {
  if (plait__runs_lock() != 0) return 0;
  int given = plait__pages_release_empty(record) | plait__sweep(record);
  plait__runs_unlock();
  return given;
}

/* Looks at a free block of more than a slice: is there something to give back? */
static PLAIT_COLD void give_back(struct plait_record *record, plait_ref_t header, uint32_t size) {
  uint32_t index = region_of(header), slices = plait__rest(plait_load_near(&plait__slice(index)->tag));
  if (header == index * PLAIT_SLICE_SIZE && size == slices * PLAIT_SLICE_SIZE - PLAIT__HEADER && slices < 2 * TRIM_SLICES) {
    /* One region that is wholly free is kept: the longer one. */
    uint32_t spare = spare_of(record), has = spare == 0 ? 0 : plait__rest(plait_load_near(&plait__slice(spare)->tag));
    int keep = spare == index || has < slices;
    if (keep) plait_put(&record->spare, index);
    if (spare != index && spare != 0) region_release(record, keep ? spare : index, keep ? has : slices);
    return;
  }
  uint32_t least = (TRIM_SLICES + plait_get(&record->slices) / 8) * PLAIT_SLICE_SIZE;
  if (size >= least && header + size == (index + slices) * PLAIT_SLICE_SIZE - PLAIT__HEADER)
    region_trim(record, index, slices, header, size);
}

PLAIT_ONCE void plait__medium_release(struct plait_record *record, plait_ref_t header) {
  uint32_t size = size_of(tag_at(header)), before = plait_get(&plait__block(header)->before);
  plait_ref_t start = header, behind = header + size;
  uint32_t next = tag_at(behind);
  if (state_of(next) == PLAIT__BLOCK_FREE) {
    bin_unlink(record, behind, size_of(next));
    size += size_of(next);
  }
  if (before != 0 && state_of(tag_at(header - before)) == PLAIT__BLOCK_FREE) {
    start = header - before;
    size += before;
    plait_put(&plait__block(start + size)->before, size);
    plait_put(&plait__block(header)->mark, 0); /* before the commit: it is no header any more then */
    resize_free(record, start, before, size);
  } else {
    set_tag_at(header, size | PLAIT__BLOCK_FREE);
    plait_put(&plait__block(header + size)->before, size);
    plait__bin_link(record, header, size);
  }
  count_live(record, UINT32_MAX);
  if (size >= PLAIT_SLICE_SIZE - PLAIT__HEADER) give_back(record, start, size);
}

/* ---- regions; under the lock ---- */

/* The slices index+from .. index+to of a region say whose and what they are. */
static PLAIT_COLD void mark_parts(struct plait_record *record, uint32_t index, uint32_t from, uint32_t to) {
  for (; from < to; from++) {
    struct plait_slice *slice = plait__slice(index + from);
    plait_put(&slice->owner, plait_ref(record));
    if (from != 0) plait_put(&slice->tag, plait__tag(PLAIT__PART, from));
  }
}

static PLAIT_COLD void lay_end(plait_ref_t end, uint32_t before) {
  plait_put(&plait__block(end)->before, before);
  plait_put(&plait__block(end)->next, 0);
  plait_put(&plait__block(end)->mark, 0);
  set_tag_at(end, PLAIT__BLOCK_END);
}

static PLAIT_COLD int region_create(struct plait_record *record, uint32_t slices) {
  uint32_t index = plait__run_find(slices);
  if (index == 0) return 0;
  plait_ref_t base = index * PLAIT_SLICE_SIZE;
  uint32_t size = slices * PLAIT_SLICE_SIZE - PLAIT__HEADER;
  plait__touch(index + slices);
  set_tag_at(base, size | PLAIT__BLOCK_FREE);
  plait_put(&plait__block(base)->before, 0);
  lay_end(base + size, size);
  plait_put(&plait__slice(index)->owner, plait_ref(record));
  plait__run_take(index, slices, plait__tag(PLAIT__REGION, slices));
  mark_parts(record, index, 1, slices);
  plait__bin_link(record, base, size);
  plait_put(&record->last, index);
  plait_put(&record->slices, plait_get(&record->slices) + slices);
  return 1;
}

/* Makes the region longer, so that its last free block has room for `total`. 0 if its neighbour is not free. */
static PLAIT_COLD int region_extend(struct plait_record *record, uint32_t index, uint32_t total) {
  uint32_t slices = plait__rest(plait_load_near(&plait__slice(index)->tag)), behind = index + slices;
  plait_ref_t end = behind * PLAIT_SLICE_SIZE - PLAIT__HEADER;
  uint32_t before = plait_get(&plait__block(end)->before), have = 0;
  if (state_of(tag_at(end - before)) == PLAIT__BLOCK_FREE) have = before;
  if (have >= total) { /* it was too far down its bin to be found */
    bin_unlink(record, end - before, have);
    plait__bin_link(record, end - before, have);
    return 1;
  }
  uint32_t need = (total - have + PLAIT_SLICE_SIZE - 1) / PLAIT_SLICE_SIZE, more = plait_get(&record->slices) / 16;
  if (more < need || !plait__make_free(behind, more)) more = need;
  if (!plait__make_free(behind, more)) return 0;
  uint32_t size = more * PLAIT_SLICE_SIZE;
  plait__touch(behind + more);
  lay_end(end + size, size);
  mark_parts(record, index, slices + 1, slices + more);
  plait_put(&plait__slice(behind)->owner, plait_ref(record));
  plait__run_take(behind, more, plait__tag(PLAIT__FREED, more)); /* not on a list any more, and nobody's yet */
  plait_put(&plait__slice(index)->tag, plait__tag(PLAIT__REGION, slices + more));
  mark_parts(record, index, slices, slices + 1);
  set_tag_at(end, size | PLAIT__BLOCK_FREE);
  plait_put(&record->slices, plait_get(&record->slices) + more);
  plait_put(&record->last, index);
  count_live(record, 1); /* release counts it off again */
  plait__medium_release(record, end);
  return 1;
}

/* Makes room for a block of `total` bytes, behind the region at `index` if that is not 0. 0, or -PLAIT_ENOMEM. */
static PLAIT_COLD int make_room(struct plait_record *record, uint32_t index, uint32_t total) {
  uint32_t need = (total + PLAIT__HEADER + PLAIT_SLICE_SIZE - 1) / PLAIT_SLICE_SIZE;
  for (;;) {
    if (plait__runs_lock() != 0) return -PLAIT_ENOMEM;
    int done = plait__adopt(record);
    uint32_t behind = index != 0 ? index : plait_get(&record->last), ample = plait_get(&record->slices) / 16;
    if (!done && behind != 0) done = region_extend(record, behind, total);
    if (!done && index == 0) done = region_create(record, ample > need ? ample : need) || region_create(record, need);
    plait__runs_unlock();
    if (done) return 0;
    if (index != 0 || (plait__grow(need) != 0 && !plait__relinquish(record))) return -PLAIT_ENOMEM;
  }
}

/* ---- what the rest of the room calls ---- */

PLAIT_TINY uint32_t total_for(uint32_t size) {
  uint32_t total = (size + PLAIT__HEADER + 15) & ~15u;
  return total < LEAST ? LEAST : total;
}

/* A free block of at least `size` bytes, made if there is none; 0 without memory. */
static PLAIT_COLD plait_ref_t find_or_make(struct plait_record *record, uint32_t size) {
  plait_ref_t at = 0;
  if (plait_get64(&record->remote) != 0) plait__medium_drain(record);
  while ((at = find(record, size)) == 0)
    if (make_room(record, 0, size) != 0) return 0;
  return at;
}

plait_ref_t plait__medium_alloc(struct plait_record *record, uint32_t size) {
  uint32_t total = total_for(size);
  plait_ref_t at = find(record, total);
  if (at == 0 && (at = find_or_make(record, total)) == 0) return 0;
  uint32_t have = size_of(tag_at(at)), rest = have - total;
  return rest < LEAST_REST ? carve(record, at, 0, have) : carve(record, at, rest, total);
}

PLAIT_COLD plait_ref_t plait__medium_alloc_at(struct plait_record *record, uint32_t size, uint32_t alignment, uint32_t roomy) {
  uint32_t total = total_for(size), need = alignment > 16 ? total + alignment + LEAST_REST : total;
  if (need < LEAST_LISTED) need = LEAST_LISTED;
  plait_ref_t at = roomy > need ? find(record, roomy) : 0;
  if (at == 0 && (at = find_or_make(record, need)) == 0) return 0;
  uint32_t front = (0u - (at + PLAIT__HEADER)) & (alignment - 1);
  if (front != 0 && front < LEAST_REST) front += (LEAST_REST + alignment - 1) & ~(alignment - 1);
  return carve(record, at, front, total);
}

PLAIT_COLD plait_ref_t plait__medium_header(struct plait_slice *slice, plait_ref_t block) {
  return plait__medium_header_inline(slice, block);
}

int plait__medium_free_own(struct plait_record *record, struct plait_slice *slice, plait_ref_t block) {
  plait_ref_t header = plait__medium_header_inline(slice, block);
  if (header != 0) plait__medium_release(record, header);
  return header != 0;
}

PLAIT_COLD int plait__medium_free_remote(struct plait_slice *slice, plait_ref_t block) {
  plait_ref_t header = plait__medium_header(slice, block);
  if (header == 0) return -PLAIT_EINVAL;
  uint32_t tag = tag_at(header);
  if (state_of(tag) != PLAIT__BLOCK_LIVE ||
      !atomic_compare_exchange_strong_explicit(&plait__block(header)->tag, &tag, size_of(tag) | PLAIT__BLOCK_REMOTE,
                                               memory_order_acq_rel, memory_order_relaxed))
    return -PLAIT_EINVAL;
  plait__medium_deliver(header);
  return 0;
}

PLAIT_COLD enum plait_heap_place plait__medium_place(plait_ref_t block) {
  uint32_t index = region_of(block);
  plait_ref_t at = index * PLAIT_SLICE_SIZE;
  plait_ref_t end = at + plait__rest(plait_load(&plait__slice(index)->tag)) * PLAIT_SLICE_SIZE - PLAIT__HEADER;
  for (uint32_t size; at < end; at += size) { /* the owner may be changing it: each step is checked, the answer is a hint */
    uint32_t tag = tag_at(at), live = state_of(tag) == PLAIT__BLOCK_LIVE;
    size = size_of(tag);
    if (size == 0 || size > end - at) break;
    if (block - at >= size) continue;
    if (block - at == PLAIT__HEADER) return live ? PLAIT_PLACE_LIVE : PLAIT_PLACE_FREE;
    return live && block - at > PLAIT__HEADER ? PLAIT_PLACE_INSIDE : PLAIT_PLACE_UNUSED;
  }
  return PLAIT_PLACE_UNUSED;
}

int plait__medium_resize(struct plait_slice *slice, plait_ref_t header, uint32_t size) {
  struct plait_record *mine = plait__mine();
  uint32_t total = total_for(size), have = size_of(tag_at(header));
  if (mine == NULL || plait_get(&slice->owner) != plait_ref(mine)) return total <= have;
  if (total <= have) {
    uint32_t rest = have - total;
    if (rest < LEAST_REST || rest < have / 8) return 1;
    plait_ref_t tail = header + total;
    plait_put(&plait__block(tail)->before, total);
    plait_put(&plait__block(tail)->mark, 0);
    set_tag_at(tail, rest | PLAIT__BLOCK_FREE);
    plait_put(&plait__block(tail + rest)->before, rest);
    set_tag_at(header, total | PLAIT__BLOCK_LIVE);
    count_live(mine, 1); /* release counts it off again */
    plait__medium_release(mine, tail);
    return 1;
  }
  for (int attempt = 0; attempt < 2; attempt++) {
    plait_ref_t behind = header + have;
    uint32_t next = tag_at(behind), free = state_of(next) == PLAIT__BLOCK_FREE ? size_of(next) : 0;
    if (have + free >= total) {
      uint32_t rest = have + free - total;
      if (rest < LEAST_REST) {
        bin_unlink(mine, behind, free);
        total += rest;
        plait_put(&plait__block(header + total)->before, total);
      } else {
        shift_free(mine, behind, free, total - have, total);
      }
      set_tag_at(header, total | PLAIT__BLOCK_LIVE);
      return 1;
    }
    /* The region's end: it may become longer. */
    if (attempt == 1 || state_of(tag_at(behind + free)) != PLAIT__BLOCK_END) return 0;
    if (make_room(mine, region_of(header), total - have) != 0) return 0;
  }
  return 0;
}
