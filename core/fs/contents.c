/*
 * contents: the bytes of files.
 *
 * Invariants
 * - The first extent, if there is one, starts at byte 0. The extents in the map follow it, in order and without
 *   overlap. Bytes that no extent covers are zero. Bytes of extents after the file's size have no meaning: a thread
 *   that makes the file longer zeroes them.
 * - A write adds extents before it counts the bytes in the size. So a write that does not finish leaves no visible
 *   byte, except within the earlier contents.
 * - Appending never copies existing bytes. It adds an extent as long as all before it together, but at most GROWTH.
 * - While an inode is pinned, its first extent keeps its place and length, and no extent is inserted in front of it.
 */
#include "internal.h"
#include "outside.h"

#define GROWTH (1u << 20)
#define HOLE_UNIT 4096u
#define LEAST_PIECE 65536u
#define WASTE 4096u
#define LARGEST_FILE (1ull << 53)

/* Copies bytes that a writer may be changing. The caller checks the sequence afterwards. */
#ifdef __SANITIZE_THREAD__
__attribute__((no_sanitize("thread"))) static void peek_bytes(uint8_t *to, const uint8_t *from, uint32_t length) {
  for (uint32_t i = 0; i < length; i++) to[i] = ((const volatile uint8_t *)from)[i];
}
static void reads_done(void) {
}
#else
static inline void peek_bytes(uint8_t *to, const uint8_t *from, uint32_t length) {
  plait_copy(to, from, length);
}
static inline void reads_done(void) {
  atomic_thread_fence(memory_order_acquire);
}
#endif

/* Where a read puts its bytes: `outside` is a constant at every call. */
PLAIT_TINY void emit_bytes(int outside, plait_ref_t to, const uint8_t *from, uint32_t length) {
#ifdef PLAIT_WASI_HOSTED
  if (outside) {
    plait_platform_reach(from + length - 1);
    plait_outside_put(to, from, length);
    return;
  }
#endif
  (void)outside;
  peek_bytes(plait_at(to), from, length);
}

PLAIT_TINY void emit_zeros(int outside, plait_ref_t to, uint32_t length) {
#ifdef PLAIT_WASI_HOSTED
  if (outside) {
    plait_outside_zero(to, length);
    return;
  }
#endif
  (void)outside;
  plait_zero(plait_at(to), length);
}

static struct plait_fs_map *map_of(struct plait_inode *inode) {
  plait_ref_t ref = plait_get(&inode->map);
  return ref == 0 ? NULL : plait_at(ref);
}

static uint64_t least64(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}
static uint64_t most64(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

/* Index of the first extent of the map that ends after `position`. */
static uint32_t find_extent(struct plait_fs_map *map, uint32_t count, uint64_t position) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    struct plait_fs_extent *extent = &map->extents[middle];
    if (plait_get64(&extent->offset) + plait_get(&extent->length) <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}

uint64_t plait__fs_contents_held(struct plait_inode *inode) {
  uint64_t held = plait_get(&inode->length);
  struct plait_fs_map *map = map_of(inode);
  for (uint32_t i = 0, count = map == NULL ? 0 : plait_get(&map->count); i < count; i++)
    held += plait_get(&map->extents[i].length);
  return held;
}

/* ---- reading ---- */

/* Copies bytes from `position` on, and zeros for holes. Stops when the sequence has changed. */
PLAIT_TINY void copy_out(struct plait__fs_read *read, uint64_t position, plait_ref_t to, uint32_t length, int outside) {
  struct plait_inode *inode = read->inode;
  plait_ref_t first = plait_load(&inode->block), ref = plait_load(&inode->map);
  uint32_t first_length = plait_load(&inode->length), done = 0;
  if (!plait__fs_read_valid(read)) return;
  if (first != 0 && position < first_length) {
    done = (uint32_t)least64(length, first_length - position);
    emit_bytes(outside, to, plait_at(first + (uint32_t)position), done);
  }
  if (done == length) return;
  struct plait_fs_map *map = plait_at(ref);
  uint32_t count = ref == 0 ? 0 : plait_load(&map->count);
  if (!plait__fs_read_valid(read)) return;
  uint32_t i = find_extent(map, count, position + done);
  while (done < length) {
    uint64_t at = position + done, next = at + (length - done);
    if (i < count) {
      struct plait_fs_extent *extent = &map->extents[i];
      uint64_t offset = atomic_load_explicit(&extent->offset, memory_order_acquire);
      uint32_t size = plait_load(&extent->length);
      plait_ref_t block = plait_load(&extent->block);
      if (!plait__fs_read_valid(read)) return;
      if (offset <= at) {
        uint32_t skip = (uint32_t)(at - offset), part = (uint32_t)least64(length - done, size - skip);
        emit_bytes(outside, to + done, plait_at(block + skip), part);
        done += part;
        i++;
        continue;
      }
      next = least64(next, offset);
    }
    emit_zeros(outside, to + done, (uint32_t)(next - at));
    done += (uint32_t)(next - at);
  }
}

PLAIT_TINY int64_t read_contents(
    struct plait__fs_node node, uint64_t position, plait_ref_t to, uint32_t length, uint64_t *size, int outside) {
  struct plait__fs_read read = {.inode = node.inode};
  int64_t count;
  do {
    if (!plait__fs_read_begin(&read)) return -PLAIT_ETIMEDOUT;
    count = -PLAIT_EBADF;
    uint64_t now = atomic_load_explicit(&node.inode->size, memory_order_acquire);
    if (plait_load(&node.inode->generation_kind) != node.generation_kind || !plait__fs_read_valid(&read)) continue;
    *size = now;
    count = position >= now ? 0 : (int64_t)least64(length, now - position);
    if (count > 0) copy_out(&read, position, to, (uint32_t)count, outside);
    reads_done();
  } while (plait__fs_read_retry(&read));
  return count;
}

int64_t plait__fs_contents_read(
    struct plait__fs_node node, uint64_t position, plait_ref_t to, uint32_t length, uint64_t *size) {
  return read_contents(node, position, to, length, size, 0);
}

#ifdef PLAIT_WASI_HOSTED
int64_t plait__fs_contents_read_outside(
    struct plait__fs_node node, uint64_t position, uint32_t to, uint32_t length, uint64_t *size) {
  return read_contents(node, position, to, length, size, 1);
}
#endif

/* ---- gaps and bytes, under the lock ---- */

struct gap {
  uint64_t start, end; /* bytes that no extent covers */
  uint64_t before;     /* end of the extent before the gap */
  uint64_t limit;      /* start of the next extent */
  uint32_t next;       /* index of that extent in the map */
};

/* Finds the first gap in `from` to `to`: 1, or 0 if there is none. */
static int find_gap(struct plait_inode *inode, uint64_t from, uint64_t to, struct gap *gap) {
  struct plait_fs_map *map = map_of(inode);
  uint32_t count = map == NULL ? 0 : plait_get(&map->count);
  uint64_t at = most64(from, plait_get(&inode->length));
  uint32_t i = map == NULL ? 0 : find_extent(map, count, at);
  while (at < to) {
    uint64_t offset = i < count ? plait_get64(&map->extents[i].offset) : UINT64_MAX;
    if (offset > at) {
      struct plait_fs_extent *last = i > 0 ? &map->extents[i - 1] : NULL;
      gap->before = last != NULL ? plait_get64(&last->offset) + plait_get(&last->length) : plait_get(&inode->length);
      gap->start = at, gap->end = least64(to, offset), gap->limit = offset, gap->next = i;
      return 1;
    }
    at = offset + plait_get(&map->extents[i].length);
    i++;
  }
  return 0;
}

/* Fills the covered bytes from `from` to `to` with `bytes`, or with zeros if it is null. */
static void put_bytes(struct plait_inode *inode, uint64_t from, uint64_t to, const uint8_t *bytes) {
  uint32_t first = plait_get(&inode->length);
  uint64_t at = from;
  if (at < first && at < to) {
    uint32_t part = (uint32_t)(least64(to, first) - at);
    uint8_t *place = plait_at(plait_get(&inode->block) + (uint32_t)at);
    if (bytes != NULL) plait_copy(place, bytes, part);
    else plait_zero(place, part);
    at += part;
  }
  struct plait_fs_map *map = map_of(inode);
  uint32_t count = map == NULL ? 0 : plait_get(&map->count);
  for (uint32_t i = map == NULL ? 0 : find_extent(map, count, at); i < count && at < to; i++) {
    struct plait_fs_extent *extent = &map->extents[i];
    uint64_t offset = plait_get64(&extent->offset);
    at = most64(at, offset);
    if (at >= to) break;
    uint32_t skip = (uint32_t)(at - offset), part = (uint32_t)least64(to - at, plait_get(&extent->length) - skip);
    uint8_t *place = plait_at(plait_get(&extent->block) + skip);
    if (bytes != NULL) plait_copy(place, bytes + (at - from), part);
    else plait_zero(place, part);
    at += part;
  }
}

static void stage_held(struct plait_fs_thread *mine, int64_t more) {
  plait__fs_tx_stage64(mine, &mine->held, plait__fs_tx_staged64(mine, &mine->held) + (uint64_t)more);
}

static int usable_node(struct plait__fs_node node) {
  return plait_get(&node.inode->generation_kind) == node.generation_kind;
}

/* ---- adding extents ---- */

struct shape { /* a planned extent, and the state that the plan depends on */
  struct gap gap;
  uint32_t size;     /* bytes to allocate */
  uint32_t capacity; /* of a new map; 0: no new map is needed */
  plait_ref_t map;
  int first; /* whether it becomes the first extent */
};

static void plan_extent(struct plait_inode *inode, uint64_t to, struct shape *shape) {
  struct gap *gap = &shape->gap;
  struct plait_fs_map *map = map_of(inode);
  uint32_t count = map == NULL ? 0 : plait_get(&map->count);
  uint64_t end = gap->end;
  if (gap->start == gap->before && gap->next == count) {
    end = most64(end, gap->start + least64(gap->before, GROWTH)); /* the file grows at its end */
  } else {
    gap->start = most64(gap->before, gap->start & ~(uint64_t)(HOLE_UNIT - 1));
    end = most64(end, least64(gap->limit, (to + HOLE_UNIT - 1) & ~(uint64_t)(HOLE_UNIT - 1)));
  }
  end = least64(end, gap->limit);
  shape->size = (uint32_t)least64(end - gap->start, 1u << 30);
  shape->first = gap->start == 0;
  shape->map = plait_get(&inode->map);
  shape->capacity = 0;
  if (shape->first) return;
  if (map == NULL || gap->next != count || count == plait_get(&map->capacity))
    shape->capacity = count < 4 ? 6 : count * 2;
}

/* Inserts the extent, in one transaction. Under the lock; the plan was checked under the same lock. */
static void insert_extent(struct plait_fs_thread *mine, struct plait_inode *inode, const struct shape *shape,
    plait_ref_t block, plait_ref_t new_map, uint32_t keep) {
  uint32_t length = (uint32_t)least64(plait_heap_size(block), shape->gap.limit - shape->gap.start);
  if (shape->gap.start < plait_get64(&inode->size)) plait_zero(plait_at(block), length);
  plait__fs_tx_target(mine, inode);
  stage_held(mine, length);
  if (shape->first) {
    plait__fs_tx_stage(mine, &inode->block, block);
    plait__fs_tx_stage(mine, &inode->length, length);
  } else {
    struct plait_fs_map *from = map_of(inode), *to = shape->capacity != 0 ? plait_at(new_map) : from;
    uint32_t count = from == NULL ? 0 : plait_get(&from->count), next = shape->gap.next;
    if (to != from) {
      plait_put(&to->capacity, shape->capacity);
      plait_put64(&to->unused, 0);
      for (uint32_t i = 0; i < count; i++) {
        struct plait_fs_extent *old = &from->extents[i], *new = &to->extents[i < next ? i : i + 1];
        plait_put64(&new->offset, plait_get64(&old->offset));
        plait_put(&new->length, plait_get(&old->length));
        plait_put(&new->block, plait_get(&old->block));
      }
      plait_put(&to->count, count + 1);
      if (from != NULL) plait__fs_tx_defer_free(mine, shape->map, 0, 0, 1);
      plait__fs_tx_stage(mine, &inode->map, new_map);
    } else {
      plait__fs_tx_stage(mine, &to->count, count + 1);
    }
    plait_put64(&to->extents[next].offset, shape->gap.start);
    plait_put(&to->extents[next].length, length);
    plait_put(&to->extents[next].block, block);
  }
  plait__fs_tx_commit(mine, keep);
}

static int same_shape(struct plait_inode *inode, const struct shape *a, const struct shape *b) {
  return plait_get(&inode->map) == a->map && a->gap.start == b->gap.start && a->gap.next == b->gap.next &&
      a->gap.limit == b->gap.limit && a->capacity == b->capacity && a->first == b->first;
}

/* Reserves one block: of the wanted size, or the largest available one down to LEAST_PIECE. */
static plait_ref_t take_piece(struct plait_fs_thread *mine, uint32_t size) {
  for (;; size /= 2) {
    plait_ref_t block = plait__fs_quota_reserve(mine, size, 0) ? plait__fs_tx_reserve(mine, size) : 0;
    if (block != 0 || size <= LEAST_PIECE) return block;
  }
}

enum where { AT = 0, AT_END = 1, AT_POSITION = 2 };

static uint64_t resolve_position(
    struct plait_inode *inode, enum where where, uint64_t position, struct plait_fs_open *open) {
  if (where == AT_END) return plait_get64(&inode->size);
  return where == AT_POSITION && open != NULL ? plait__fs_position(plait_get64(&open->position)) : position;
}

/* Locks the inode when extents cover all bytes to be written. 0, and `position` is the resolved one. */
static int lock_covered(struct plait_fs_thread *mine, struct plait__fs_node node, enum where where, uint64_t *position,
    uint32_t length, struct plait_fs_open *open, uint32_t uses) {
  struct plait_inode *inode = node.inode;
  uint32_t keep = plait_get(&mine->reserved_count);
  struct shape shape, again;
  uint64_t at = *position;
  for (;;) {
    int rc = plait__fs_lock(&inode, 1);
    if (rc != 0) return rc;
    rc = usable_node(node) && (open == NULL || plait__fs_is_still_open(open, node, uses)) ? 0 : -PLAIT_EBADF;
    *position = resolve_position(inode, where, at, open);
    if (rc == 0 && *position > LARGEST_FILE - length) rc = -PLAIT_EFBIG;
    if (rc == 0 && !find_gap(inode, *position, *position + length, &shape.gap)) return 0;
    if (rc == 0) plan_extent(inode, *position + length, &shape);
    plait__fs_unlock(&inode, 1);
    if (rc != 0) return rc;
    plait__fs_tx_begin(mine);
    plait_ref_t block = take_piece(mine, shape.size), map = 0;
    if (block != 0 && shape.capacity != 0)
      map = plait__fs_tx_reserve(mine, sizeof(struct plait_fs_map) + shape.capacity * sizeof(struct plait_fs_extent));
    if (block == 0 || (shape.capacity != 0 && map == 0)) rc = -PLAIT_ENOSPC;
    if (rc == 0) rc = plait__fs_lock(&inode, 1);
    if (rc == 0) {
      uint64_t now = resolve_position(inode, where, at, open);
      if (usable_node(node) && find_gap(inode, now, now + length, &again.gap)) {
        plan_extent(inode, now + length, &again);
        if (same_shape(inode, &shape, &again)) insert_extent(mine, inode, &shape, block, map, keep);
      }
      plait__fs_unlock(&inode, 1);
    }
    plait__fs_tx_abort(mine, keep);
    plait__fs_quota_release(mine);
    if (rc != 0) return rc;
  }
}

/* Frees memory after the file's end. */
static void trim_contents(struct plait_fs_thread *mine, struct plait__fs_node node);

int64_t plait__fs_contents_write(struct plait_fs_thread *mine, struct plait__fs_node node, uint64_t position,
    plait_ref_t from, uint32_t length, struct plait_fs_open *open, uint32_t uses, double now) {
  struct plait_inode *inode = node.inode;
  enum where where = position == UINT64_MAX ? AT_END : position == UINT64_MAX - 1 ? AT_POSITION : AT;
  if (length == 0) return 0;
  int rc = lock_covered(mine, node, where, &position, length, open, uses);
  if (rc != 0) {
    if (rc == -PLAIT_ENOSPC) trim_contents(mine, node);
    return rc;
  }
  uint64_t size = plait_get64(&inode->size), end = position + length;
  plait__fs_tx_begin(mine);
  if (position < size) plait__fs_write_begin(mine, inode);
  else put_bytes(inode, size, position, NULL);
  plait__fs_tx_target(mine, inode);
  put_bytes(inode, position, end, plait_at(from));
  if (end > size) plait__fs_tx_stage64(mine, &inode->size, end);
  plait__fs_stage_times(mine, inode, now, 1);
  if (open != NULL && where != AT)
    plait__fs_tx_stage64(mine, &open->position, plait__fs_tag_position(plait_get(&open->uses), end));
  plait__fs_tx_commit(mine, plait_get(&mine->reserved_count));
  plait__fs_unlock(&inode, 1);
  return (int64_t)length;
}

/* ---- shorter, longer, other contents ---- */

void plait__fs_stage_empty(struct plait_fs_thread *mine, struct plait_inode *inode) {
  struct plait_fs_map *map = map_of(inode);
  plait_ref_t block = plait_get(&inode->block);
  stage_held(mine, -(int64_t)plait__fs_contents_held(inode));
  plait__fs_tx_stage(mine, &inode->block, 0);
  plait__fs_tx_stage(mine, &inode->length, 0);
  plait__fs_tx_stage(mine, &inode->map, 0);
  plait__fs_tx_stage64(mine, &inode->size, 0);
  if (block != 0) plait__fs_tx_defer_free(mine, block, 0, 0, 1);
  if (map != NULL) plait__fs_tx_defer_free(mine, plait_ref(map), 0, plait_get(&map->count), 1);
}

void plait__fs_stage_counts(struct plait_fs_thread *mine, struct plait_inode *inode, uint32_t links, uint32_t opens) {
  plait__fs_tx_stage(mine, &inode->links, links);
  plait__fs_tx_stage(mine, &inode->opens, opens);
  if (links != 0 || opens != 0) return;
  uint32_t generation_kind = plait_get(&inode->generation_kind);
  if (plait__fs_kind(generation_kind) == PLAIT_FS_FILE) plait__fs_stage_empty(mine, inode);
  else if (plait_get(&inode->block) != 0) plait__fs_tx_defer_free(mine, plait_get(&inode->block), 0, 0, 1);
  plait__fs_tx_stage(mine, &inode->generation_kind, (generation_kind & ~3u) + 4);
  plait_word_t *owner = plait__fs_owner(&plait_fs()->inodes, plait_get(&inode->number));
  plait__fs_tx_stage(mine, owner, plait_self_id());
  plait__fs_tx_stage(mine, &mine->files, plait__fs_tx_staged(mine, &mine->files) - 1);
  plait_put(&mine->released_owner, plait_ref(owner));
}

/* Stages the removal of the extents of the map that start at or after `size`. Under the lock. */
static void stage_cut(struct plait_fs_thread *mine, struct plait_inode *inode, uint64_t size) {
  struct plait_fs_map *map = map_of(inode);
  uint32_t count = map == NULL ? 0 : plait_get(&map->count), kept = count;
  uint64_t freed = 0;
  while (kept > 0 && plait_get64(&map->extents[kept - 1].offset) >= size)
    freed += plait_get(&map->extents[--kept].length);
  if (kept != count) {
    plait__fs_tx_defer_free(mine, plait_ref(map), kept, count, kept == 0);
    if (kept == 0) plait__fs_tx_stage(mine, &inode->map, 0);
    else plait__fs_tx_stage(mine, &map->count, kept);
  }
  if (size == 0 && plait_get(&inode->block) != 0 && plait_get(&inode->pins) == 0) {
    plait__fs_tx_defer_free(mine, plait_get(&inode->block), 0, 0, 1);
    freed += plait_get(&inode->length);
    plait__fs_tx_stage(mine, &inode->block, 0);
    plait__fs_tx_stage(mine, &inode->length, 0);
  }
  if (freed != 0) stage_held(mine, -(int64_t)freed);
}

static void trim_contents(struct plait_fs_thread *mine, struct plait__fs_node node) {
  struct plait_inode *inode = node.inode;
  uint32_t keep = plait_get(&mine->reserved_count), used = 0, length = 0;
  plait_word_t *block = NULL, *room = NULL;
  plait_ref_t smaller = 0;
  for (int turn = 0; turn < 2; turn++) { /* the first turn finds the size, the second copies */
    if (plait__fs_lock(&inode, 1) != 0) break;
    plait__fs_tx_begin(mine);
    uint64_t size = plait_get64(&inode->size);
    int changed = 0;
    if (usable_node(node)) {
      stage_cut(mine, inode, size);
      changed = plait_get(&mine->store_count) != 0;
    }
    if (changed) {
      plait__fs_tx_target(mine, inode);
      plait__fs_tx_commit(mine, plait_get(&mine->reserved_count));
      plait__fs_tx_begin(mine);
    }
    struct plait_fs_map *map = map_of(inode);
    struct plait_fs_extent *last =
        map == NULL || plait_get(&map->count) == 0 ? NULL : &map->extents[plait_get(&map->count) - 1];
    uint64_t offset = last == NULL ? 0 : plait_get64(&last->offset);
    block = last == NULL ? &inode->block : &last->block;
    room = last == NULL ? &inode->length : &last->length;
    length = plait_get(room);
    uint32_t need = size > offset ? (uint32_t)least64(size - offset, length) : 0;
    int wasteful = usable_node(node) && length - need > most64(need, WASTE) && need > 0 &&
        (last != NULL || plait_get(&inode->pins) == 0);
    if (turn == 1 && wasteful && need == used) {
      plait_copy(plait_at(smaller), plait_at(plait_get(block)), need);
      uint32_t has = (uint32_t)least64(plait_heap_size(smaller), length);
      plait__fs_tx_target(mine, inode);
      plait__fs_tx_defer_free(mine, plait_get(block), 0, 0, 1);
      plait__fs_tx_stage(mine, block, smaller);
      plait__fs_tx_stage(mine, room, has);
      stage_held(mine, (int64_t)has - length);
      plait__fs_tx_commit(mine, keep);
    }
    plait__fs_unlock(&inode, 1);
    used = need;
    if (turn == 1 || !wasteful || (smaller = plait__fs_tx_reserve(mine, need)) == 0) break;
  }
  plait__fs_tx_abort(mine, keep);
}

int plait__fs_contents_resize(
    struct plait_fs_thread *mine, struct plait__fs_node node, uint64_t size, int extends, double now) {
  struct plait_inode *inode = node.inode;
  if (size > LARGEST_FILE) return -PLAIT_EFBIG;
  int rc = plait__fs_lock(&inode, 1);
  if (rc != 0) return rc;
  if (!usable_node(node)) {
    plait__fs_unlock(&inode, 1);
    return -PLAIT_EBADF;
  }
  uint64_t old = plait_get64(&inode->size);
  if (extends && size <= old) {
    plait__fs_unlock(&inode, 1);
    return 0;
  }
  plait__fs_tx_begin(mine);
  if (size < old) {
    if (plait_get(&inode->pins) != 0) { /* mappings see zeros from here on */
      plait__fs_write_begin(mine, inode);
      put_bytes(inode, size, least64(old, plait_get(&inode->length)), NULL);
    }
    stage_cut(mine, inode, size);
  } else {
    put_bytes(inode, old, size, NULL);
  }
  plait__fs_tx_target(mine, inode);
  plait__fs_tx_stage64(mine, &inode->size, size);
  plait__fs_stage_times(mine, inode, now, 1);
  plait__fs_tx_commit(mine, plait_get(&mine->reserved_count));
  plait__fs_unlock(&inode, 1);
  if (size < old) trim_contents(mine, node);
  return 0;
}

int plait__fs_contents_replace(struct plait_fs_thread *mine, struct plait__fs_node node, plait_ref_t from,
    uint32_t length, int given, double now) {
  struct plait_inode *inode = node.inode;
  plait_ref_t block = 0;
  if (length != 0) { /* in a new block: after an exit before the commit, the old contents are whole */
    if (!plait__fs_quota_reserve(mine, length, 0)) return -PLAIT_ENOSPC;
    block = given ? from : plait__fs_tx_reserve(mine, length);
    if (block == 0) return -PLAIT_ENOSPC;
    if (!given) plait_copy(plait_at(block), plait_at(from), length);
  }
  int rc = plait__fs_lock(&inode, 1);
  if (rc != 0) return rc;
  if (!usable_node(node)) rc = -PLAIT_EBADF;
  else if (plait_get(&inode->pins) != 0) rc = -PLAIT_EAGAIN;
  if (rc == 0) {
    plait__fs_tx_begin(mine);
    plait__fs_tx_target(mine, inode);
    plait__fs_stage_empty(mine, inode);
    if (length != 0) {
      uint32_t has = plait_heap_size(block);
      plait__fs_tx_stage(mine, &inode->block, block);
      plait__fs_tx_stage(mine, &inode->length, has);
      plait__fs_tx_stage64(mine, &inode->size, length);
      stage_held(mine, has);
    }
    plait__fs_stage_times(mine, inode, now, 1);
    plait__fs_tx_commit(mine, 0);
  }
  plait__fs_unlock(&inode, 1);
  return rc;
}

/* Frees the blocks and the quota that are still reserved. Returns `rc`. */
static int pin_over(struct plait_fs_thread *mine, int rc) {
  plait__fs_tx_abort(mine, 0);
  plait__fs_quota_release(mine);
  return rc;
}

int plait__fs_contents_pin(struct plait_fs_thread *mine, struct plait__fs_node node, uint32_t fd) {
  struct plait_inode *inode = node.inode;
  plait_ref_t block = 0;
  uint64_t have = 0;
  for (;;) {
    int rc = plait__fs_lock(&inode, 1);
    if (rc != 0) return pin_over(mine, rc);
    uint64_t size = plait_get64(&inode->size);
    int whole = plait_get(&inode->length) >= size;
    if (!usable_node(node)) rc = -PLAIT_EBADF;
    else if (!whole && plait_get(&inode->pins) != 0) rc = -PLAIT_EBUSY; /* it has grown since it was mapped */
    else if (size > UINT32_MAX) rc = -PLAIT_ENOSPC;
    else if (whole || have >= size) {
      plait__fs_tx_begin(mine);
      plait__fs_tx_target(mine, inode);
      if (!whole) {
        struct plait__fs_read read = {.inode = inode, .sequence = plait_get(&inode->sequence)};
        copy_out(&read, 0, block, (uint32_t)size, 0);
        plait__fs_stage_empty(mine, inode);
        plait__fs_tx_stage(mine, &inode->block, block);
        plait__fs_tx_stage(mine, &inode->length, plait_heap_size(block));
        plait__fs_tx_stage64(mine, &inode->size, size);
        stage_held(mine, plait_heap_size(block));
      }
      plait__fs_tx_stage(mine, &inode->pins, plait_get(&inode->pins) + 1);
      plait__fs_tx_stage(mine, &inode->opens, plait_get(&inode->opens) + 1);
      plait__fs_stage_open(mine, fd, 2, node, 0);
      plait_put(&mine->result.block, whole ? plait_get(&inode->block) : block);
      plait_put64(&mine->result.size, size);
      uint32_t reserved = plait_get(&mine->reserved_count);
      plait__fs_tx_commit(mine, whole ? reserved : 0);
      plait__fs_unlock(&inode, 1);
      return pin_over(mine, 0);
    }
    plait__fs_unlock(&inode, 1);
    if (pin_over(mine, rc) != 0) return rc;
    block = plait__fs_quota_reserve(mine, size, 0) ? plait__fs_tx_reserve(mine, (uint32_t)size) : 0;
    if (block == 0) return pin_over(mine, -PLAIT_ENOSPC);
    have = size;
  }
}
