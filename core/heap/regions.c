/*
 * regions: medium blocks. A region is a span that belongs to a thread heap. It is divided into blocks, each behind a
 * header:
 *
 *     | header | payload | header | payload | ... | END |      a header: struct plait_block, 16 bytes
 *
 * Invariants
 * - A walk starts at the region's first header and goes on by each tag's size. It meets the END header in the region's
 *   last 16 bytes. Each change that a walk can see is one store to one tag. (If a thread exits while it makes a region
 *   longer or shorter, END comes early: then the rest is free.)
 * - Only the owner of the region allocates, joins and splits. Other threads change a block's tag from LIVE to REMOTE,
 *   in one exchange that only one thread wins. Then they push the block onto the remote free list of the region's
 *   owner.
 * - A free block is on a bin, or is the top, or is too short for either. A block that is too short has itself as its
 *   list's neighbor. The top lies behind the block that was split off or has grown last. Other blocks are taken from it
 *   if the bins have none. So a block that keeps growing moves no links.
 * - The thread heap's `grower` is the block in front of the top, and `grower_end` is where the top ends; or `grower` is
 *   0. So a block that keeps growing is known by its reference, and the end does not change.
 * - `before`, the bins, the top, the grower and the counters are derived from the tags.
 * - A header that is joined with the block in front loses its mark, so that no reference to it is ever taken for a
 *   block.
 *
 * Every change of a region consists of three steps: block_take() (a free block leaves its bin), plait__block_put()
 * (bytes become a free block on its bin) and lay() (bytes become a live block and the top). Each step first writes what
 * a walk does not see, and a tag last.
 */
#include "internal.h"

#define LEAST_SIZE (PLAIT__LEAST - PLAIT__HEADER)
#define LEAST_LISTED 2048u /* no smaller free block is on a bin, because requests are larger */
/* how many blocks of a bin are tried before the next bin; all of them if nothing else has room */
#define BLOCK_PROBES 2u
#define LEAST_SLICES 2u /* of a new region, if they are free: a block of the largest size fits */
/* a region's free end is given back if it has so many slices, plus an eighth of the thread heap's slices */
#define TRIM_SLICES 8u

PLAIT_TINY uint32_t size_of(uint32_t tag) {
  return tag & ~15u;
}

PLAIT_TINY int is_free_tag(uint32_t tag) {
  return (tag & 15u) == PLAIT__BLOCK_FREE;
}

PLAIT_TINY uint32_t tag_at(plait_ref_t header) {
  return plait_get(&plait__block(header)->tag);
}

PLAIT_TINY void set_tag_at(plait_ref_t header, uint32_t tag) {
  plait_put(&plait__block(header)->tag, tag);
}

PLAIT_TINY void set_before(plait_ref_t header, uint32_t before) {
  plait_put(&plait__block(header)->before, before);
}

PLAIT_TINY void count_live(struct plait_thread_heap *theap, uint32_t more) {
  plait_put(&theap->medium_live, plait_get(&theap->medium_live) + more);
}

/* Bytes from one header to the next for a block of `size` bytes. */
static PLAIT_COLD uint32_t total_for(uint32_t size) {
  return plait__total_of(size < LEAST_SIZE ? LEAST_SIZE : size);
}

/* ---- free blocks: on a bin, off a bin, search; other changes consist of these ---- */

/* Eight bins for each power of two from 2 KiB on; the last bin holds all longer blocks. */
PLAIT_TINY uint32_t bin_of(uint32_t size) {
  uint32_t log = 31u - (uint32_t)__builtin_clz(size), bin = log * 8 + (size >> (log - 3)) - 96;
  return bin < PLAIT_HEAP_BIN_COUNT ? bin : PLAIT_HEAP_BIN_COUNT - 1;
}

PLAIT_ONCE void plait__block_put(struct plait_thread_heap *theap, plait_ref_t header, uint32_t size) {
  struct plait_link *link = plait__link(header);
  set_before(header + size, size);
  if (size < LEAST_LISTED) {
    plait__list_clear(link);
  } else {
    uint32_t bin = bin_of(size);
    uint64_t mask = plait_get64(&theap->bin_mask), bit = 1ull << bin;
    if ((mask & bit) == 0) {
      plait_put64(&theap->bin_mask, mask | bit);
      plait__list_clear(&theap->bins[bin]);
    }
    plait__list_put(&theap->bins[bin], link);
  }
  set_tag_at(header, size | PLAIT__BLOCK_FREE);
}

static PLAIT_ONCE void block_take(struct plait_thread_heap *theap, plait_ref_t header) {
  if (plait_get(&theap->top) == header) {
    plait_put(&theap->top, 0);
    plait_put(&theap->grower, 0);
  } else {
    plait__list_take(plait__link(header));
  }
}

/*
 * A free block of at least `size` bytes; 0 if none is found. In a bin whose blocks may be too short, at most `probes`
 * are tried.
 */
static PLAIT_COLD plait_ref_t find(struct plait_thread_heap *theap, uint32_t size, uint32_t probes) {
  for (uint64_t mask = plait_get64(&theap->bin_mask) & ~0ull << bin_of(size); mask != 0; mask &= mask - 1) {
    struct plait_link *list = &theap->bins[__builtin_ctzll(mask)];
    plait_ref_t header = plait_get(&list->next);
    if (header == plait_ref(list)) plait_put64(&theap->bin_mask, plait_get64(&theap->bin_mask) & ~(mask & -mask));
    for (uint32_t i = 0; header != plait_ref(list) && i < probes; i++, header = plait_get(&plait__link(header)->next))
      if (tag_at(header) >= size) return header;
  }
  plait_ref_t top = plait_get(&theap->top);
  return top != 0 && tag_at(top) >= size ? top : 0;
}

/* ---- splitting and joining; only for the region's owner ---- */

/*
 * The `all` bytes from `header` on become a live block of `total` bytes. A walk sees no more than the first header of
 * these bytes. If the rest is worth a header, it becomes the top, and the block may grow into it. This is the commit,
 * unless the walk does not see `header` either.
 */
static PLAIT_ONCE void lay(struct plait_thread_heap *theap, plait_ref_t header, uint32_t all, uint32_t total) {
  plait_ref_t top = plait_get(&theap->top);
  if (all - total >= PLAIT__LEAST_REST) {
    if (top != 0) plait__block_put(theap, top, size_of(tag_at(top)));
    plait__lay_with_top(theap, header, all, total);
    plait_put(&theap->grower, header);
    plait_put(&theap->grower_end, header + all);
  } else {
    set_before(header + all, all);
    set_tag_at(header, all | PLAIT__BLOCK_LIVE);
  }
}

/*
 * Takes `total` bytes out of the free block at `at`, from `front` on, and returns the live block. Mostly they are its
 * end. For alignment they lie elsewhere; `front` is 0 for a block that is going to grow.
 */
static PLAIT_ONCE plait_ref_t split_off(
    struct plait_thread_heap *theap, plait_ref_t at, uint32_t front, uint32_t total) {
  plait_ref_t header = at + front;
  uint32_t have = size_of(tag_at(at));
  block_take(theap, at);
  lay(theap, header, have - front, total);
  if (front != 0) plait__block_put(theap, at, front); /* the commit */
  plait_put(plait__mark_of(header), plait__mark(header));
  count_live(theap, 1);
  return header + PLAIT__HEADER;
}

static PLAIT_COLD uint32_t region_of(plait_ref_t header) {
  uint32_t index = header / PLAIT_SLICE_SIZE, tag = plait_load_near(&plait__slice(index)->tag);
  return plait__kind(tag) == PLAIT__PART ? index - plait__rest(tag) : index;
}

static PLAIT_COLD uint32_t slices_of(uint32_t index) {
  return plait__rest(plait_load_near(&plait__slice(index)->tag));
}

/* Where the END header lies of a region that ends before slice `behind`. */
PLAIT_TINY plait_ref_t end_before(uint32_t behind) {
  return behind * PLAIT_SLICE_SIZE - PLAIT__HEADER;
}

/* Whether the whole region is one free block. */
static PLAIT_COLD int is_whole(uint32_t index) {
  return tag_at(index * PLAIT_SLICE_SIZE) ==
      ((slices_of(index) * PLAIT_SLICE_SIZE - PLAIT__HEADER) | PLAIT__BLOCK_FREE);
}

/* ---- regions; under the lock ---- */

/* Gives back what lies behind the region's first `keep` slices. pre: no block is in use there. */
static PLAIT_COLD void region_trim(struct plait_thread_heap *theap, uint32_t index, uint32_t keep) {
  uint32_t slices = slices_of(index), from = index + keep, trimmed = slices - keep;
  plait_ref_t end = end_before(index + slices), last = end - plait_get(&plait__block(end)->before);
  block_take(theap, last);
  if (keep != 0) {
    end = end_before(from);
    set_tag_at(end, PLAIT__BLOCK_END);
    plait__block_put(theap, last, end - last);
  } else {
    if (plait_get(&theap->last) == index) plait_put(&theap->last, 0);
    if (plait_get(&theap->spare) == index) plait_put(&theap->spare, 0);
  }
  for (uint32_t i = from + 1; i < index + slices; i++) plait_put(&plait__slice(i)->tag, PLAIT__NONE);
  plait_put(&plait__slice(from)->tag, plait__tag(PLAIT__FREED, trimmed));
  if (keep != 0) plait_put(&plait__slice(index)->tag, plait__tag(PLAIT__REGION, keep));
  plait_put(&theap->slices, plait_get(&theap->slices) - trimmed);
  plait__span_free(from, trimmed);
}

/*
 * Gives the thread heap a free block of at least `total` bytes. It lies at the end of the region at `index`, which
 * becomes longer, or in a new region of `least` slices or more, if `index` is 0. Returns 0 if there is no room.
 */
static PLAIT_ONCE int region_cover(struct plait_thread_heap *theap, uint32_t index, uint32_t total, uint32_t least) {
  uint32_t slices = 0, have = 0, at;
  uint32_t more = plait_get(&theap->slices) / 16;
  plait_ref_t header = 0;
  if (index != 0) {
    slices = slices_of(index);
    header = end_before(index + slices);
    uint32_t before = plait_get(&plait__block(header)->before);
    have = is_free_tag(tag_at(header - before)) ? before : 0;
  } else {
    more += LEAST_SLICES;
    total += PLAIT__HEADER; /* an END must be made */
  }
  /* At least one slice: if the free end was long enough, but too far down its bin, the longer one is found. */
  uint32_t need = have < total ? (total - have + PLAIT_SLICE_SIZE - 1) / PLAIT_SLICE_SIZE : 1;
  if (need < least) need = least;
  if (more < need) more = need;
  while ((at = index != 0 ? index + slices : plait__span_find(more)) == 0 || plait__make_free(at, more) <= 0) {
    if (more == need) return 0;
    more = need;
  }
  plait__touch(at + more);
  plait_ref_t end = end_before(at + more);
  set_tag_at(end, PLAIT__BLOCK_END);
  if (index == 0) {
    index = at;
    header = at * PLAIT_SLICE_SIZE;
    set_before(header, 0);
    set_tag_at(header, (end - header) | PLAIT__BLOCK_FREE);
  } else if (have != 0) {
    header -= have;
    block_take(theap, header);
  }
  for (uint32_t i = at; i < at + more; i++) {
    plait_put(&plait__slice(i)->owner, plait_ref(theap));
    if (i != at) plait_put(&plait__slice(i)->tag, plait__tag(PLAIT__PART, i - index));
  }
  plait__span_take(at, more, plait__tag(PLAIT__FREED, more)); /* on no list any more, and not owned yet */
  plait_put(&plait__slice(index)->tag, plait__tag(PLAIT__REGION, slices + more));
  if (at != index) plait_put(&plait__slice(at)->tag, plait__tag(PLAIT__PART, slices));
  plait__block_put(theap, header, end - header);
  plait_put(&theap->last, index);
  plait_put(&theap->slices, plait_get(&theap->slices) + more);
  return 1;
}

PLAIT_COLD int plait__sweep(struct plait_thread_heap *theap) {
  uint32_t before = plait_get(&plait_heap()->first), index = before;
  int given = 0;
  while (index < plait_get(&plait_heap()->end)) {
    struct plait_slice *slice = plait__slice(index);
    uint32_t tag = plait_load_near(&slice->tag), kind = plait__kind(tag),
             length = kind == PLAIT__PAGES ? 1 : plait__rest(tag);
    if (length == 0) break; /* the table was overwritten */
    int whole =
        kind == PLAIT__REGION && theap != NULL && plait_get(&slice->owner) == plait_ref(theap) && is_whole(index);
    if (kind == PLAIT__FREED || whole) {
      if (whole) region_trim(theap, index, 0);
      else plait__span_free(index, length);
      index = before, length = 0; /* it has been joined with the free spans around it */
      given = 1;
    }
    before = index;
    index += length;
  }
  return given;
}

/*
 * Makes the region longer, for `total` bytes more behind its last block in use; or adopts, which may make room behind
 * the region. Whether the caller is to look again.
 */
static PLAIT_COLD int extend(struct plait_thread_heap *theap, uint32_t index, uint32_t total) {
  int adopted = plait__room_enter(theap);
  if (adopted < 0) return 0;
  int done = region_cover(theap, index, total, 0) || adopted;
  plait__heap_unlock();
  return done;
}

/* ---- freeing; without the lock ---- */

/*
 * Shortens the region or gives it back, if the lock is free at once. If not, the region stays as it is, and remains
 * usable.
 */
static PLAIT_COLD void try_to_trim(struct plait_thread_heap *theap, uint32_t index, uint32_t keep) {
  if (plait__heap_try_lock() != 0) return;
  region_trim(theap, index, keep);
  plait__heap_unlock();
}

/* Checks whether a free block of about a slice or more has slices to give back. */
static PLAIT_COLD void give_back(struct plait_thread_heap *theap, plait_ref_t header, uint32_t size) {
  uint32_t index = region_of(header), slices = slices_of(index), spare = plait_get(&theap->spare);
  if (size >= (TRIM_SLICES + plait_get(&theap->slices) / 8) * PLAIT_SLICE_SIZE &&
      tag_at(header + size) == PLAIT__BLOCK_END)
    try_to_trim(theap, index, slices + 2 - size / PLAIT_SLICE_SIZE);
  if (!is_whole(index)) return;
  /* Of two regions that are wholly free, the longer one is kept. */
  plait_put(&theap->spare, index);
  if (spare == 0 || spare == index || !is_whole(spare)) return;
  if (slices_of(spare) > slices_of(index)) {
    plait_put(&theap->spare, spare);
    spare = index;
  }
  try_to_trim(theap, spare, 0);
}

PLAIT_ONCE void plait__medium_release(struct plait_thread_heap *theap, plait_ref_t header) {
  uint32_t size = size_of(tag_at(header)), next = tag_at(header + size),
           before = plait_get(&plait__block(header)->before);
  plait_ref_t top = plait_get(&theap->top);
  plait_put(&theap->released, size);
  if (is_free_tag(next)) {
    block_take(theap, header + size);
    size += size_of(next);
  }
  plait_put(plait__mark_of(header), 0); /* before the commit, because afterwards it may be no header any more */
  /* not for the first header: its `before` is 0, so it finds itself, and that is not free */
  if (is_free_tag(tag_at(header - before))) {
    header -= before;
    size += before;
    block_take(theap, header);
  }
  if (plait_get(&theap->top) != top) { /* a block that is joined with the top is the top */
    plait_put(&theap->top, header);
    set_before(header + size, size);
    set_tag_at(header, size | PLAIT__BLOCK_FREE);
  } else {
    plait__block_put(theap, header, size);
  }
  count_live(theap, UINT32_MAX);
  /* The kept region only gives back its end, so it needs a larger free block. */
  uint32_t least = header == plait_get(&theap->spare) * PLAIT_SLICE_SIZE ? TRIM_SLICES * PLAIT_SLICE_SIZE
                                                                         : PLAIT_SLICE_SIZE - PLAIT__HEADER;
  if (size >= least) give_back(theap, header, size);
}

/* ---- what the other files call ---- */

/*
 * A free block of at least `size` bytes, made if there is none; 0 without memory. The out-of-memory sequence: see
 * room.c.
 */
static PLAIT_COLD plait_ref_t find_or_make(struct plait_thread_heap *theap, uint32_t size) {
  if (size < LEAST_LISTED) size = LEAST_LISTED; /* a shorter block is on no bin, and would not be found */
  uint32_t need = (size + PLAIT__HEADER + PLAIT_SLICE_SIZE - 1) / PLAIT_SLICE_SIZE, want = need + 1;
  if (plait_get64(&theap->remote) != 0) plait__remote_drain(theap); /* spares the lock, if that is enough */
  for (;;) {
    plait_ref_t at = find(theap, size, BLOCK_PROBES);
    int adopted = at != 0 ? 0 : plait__room_enter(theap);
    if (at != 0 || adopted < 0) return at;
    uint32_t last = plait_get(&theap->last);
    if (adopted || (last != 0 && region_cover(theap, last, size, 0)) ||
        region_cover(theap, 0, size, size == LEAST_LISTED ? want : need)) { /* a small block will grow */
      plait__heap_unlock();
    } else if (!plait__room_more(theap, want)) {
      if (want == need) return find(theap, size, UINT32_MAX);
      want = need; /* the last attempt: a region that is just long enough */
    }
  }
}

plait_ref_t plait__medium_alloc(struct plait_thread_heap *theap, uint32_t size) {
  uint32_t total = plait__total_of(size);
  plait_ref_t at = find(theap, total, BLOCK_PROBES);
  if (at == 0 && (at = find_or_make(theap, total)) == 0) return 0;
  uint32_t rest = size_of(tag_at(at)) - total;
  return split_off(theap, at, rest < PLAIT__LEAST_REST ? 0 : rest, total);
}

PLAIT_COLD plait_ref_t plait__medium_alloc_at(struct plait_thread_heap *theap, uint32_t size, uint32_t alignment) {
  uint32_t total = total_for(size), need = alignment > 16 ? total + alignment + PLAIT__LEAST_REST : total;
  plait_ref_t at = find_or_make(theap, need);
  if (at == 0) return 0;
  uint32_t front = (0u - (at + PLAIT__HEADER)) & (alignment - 1);
  if (front != 0 && front < PLAIT__LEAST_REST) front += (PLAIT__LEAST_REST + alignment - 1) & ~(alignment - 1);
  return split_off(theap, at, front, total);
}

plait_ref_t plait__medium_alloc_roomy(struct plait_thread_heap *theap, uint32_t size, int always) {
  uint32_t total = total_for(size);
  plait_ref_t at = plait_get(&theap->top);
  if (at != 0) {
    if (!always && size <= PLAIT_HEAP_FINE_LIMIT && !plait__has_grown(plait_get(&plait__block(at)->before))) return 0;
    if (tag_at(at) < 4 * total) at = 0;
  }
  if (at == 0) at = find(theap, 4 * total, BLOCK_PROBES);
  if (at == 0 && (at = find_or_make(theap, total)) == 0) return 0;
  return split_off(theap, at, 0, total);
}

PLAIT_COLD plait_ref_t plait__medium_header(struct plait_slice *slice, plait_ref_t block) {
  return plait__medium_header_inline(slice, block);
}

int plait__medium_free(plait_ref_t mine, struct plait_slice *slice, plait_ref_t block) {
  plait_ref_t header = plait__medium_header(slice, block);
  if (header == 0) return 0;
  if (plait_get(&slice->owner) == mine) {
    plait__medium_release(plait_at(mine), header);
    return 1;
  }
  uint32_t tag = tag_at(header);
  if ((tag & 15u) != PLAIT__BLOCK_LIVE ||
      !atomic_compare_exchange_strong_explicit(&plait__block(header)->tag, &tag, size_of(tag) | PLAIT__BLOCK_REMOTE,
          memory_order_acq_rel, memory_order_relaxed))
    return 0;
  plait__remote_push(header);
  return 1;
}

PLAIT_COLD enum plait_heap_place plait__medium_place(plait_ref_t block) {
  uint32_t index = region_of(block);
  plait_ref_t at = index * PLAIT_SLICE_SIZE;
  plait_ref_t end = at + plait__rest(plait_load(&plait__slice(index)->tag)) * PLAIT_SLICE_SIZE - PLAIT__HEADER;
  /* the owner may change the region now: each step is checked, and the result may be out of date */
  for (uint32_t size; at < end; at += size) {
    uint32_t tag = tag_at(at), live = (tag & 15u) == PLAIT__BLOCK_LIVE;
    size = size_of(tag);
    if (size == 0 || size > end - at) break;
    if (block - at >= size) continue;
    if (block - at == PLAIT__HEADER) return live ? PLAIT_PLACE_LIVE : PLAIT_PLACE_FREE;
    return live && block - at > PLAIT__HEADER ? PLAIT_PLACE_INSIDE : PLAIT_PLACE_UNUSED;
  }
  return PLAIT_PLACE_UNUSED;
}

PLAIT_COLD int plait__medium_resize(
    struct plait_thread_heap *mine, struct plait_slice *slice, plait_ref_t header, uint32_t size) {
  uint32_t total = total_for(size), have = size_of(tag_at(header));
  if (mine == NULL || plait_get(&slice->owner) != plait_ref(mine)) return total <= have;
  if (total <= have && have - total < have / 8) return 1;
  for (;;) {
    uint32_t next = tag_at(header + have), all = is_free_tag(next) ? have + size_of(next) : have;
    if (total <= all) {
      if (all != have) block_take(mine, header + have);
      lay(mine, header, all, total);
      return 1;
    }
    /* The end of the region: it may become longer. */
    if (tag_at(header + all) != PLAIT__BLOCK_END || !extend(mine, region_of(header), total - have)) return 0;
  }
}
