/*
 * items: inodes and descriptors, and their owners.
 *
 * Invariants
 * - The owner word of an item is authoritative: it names the only user of the item. It leaves 0 by a compare-and-swap
 *   to a thread id. So recovery finds by that id the items that an exited thread was creating or freeing.
 * - The owner word becomes 0 outside of any journal. No lock guards a free item, so a journal that is applied again
 *   would undo the changes of the next owner.
 * - A journal adds chunks, one at a time and under `tables`. Chunks are never removed.
 */
#include "internal.h"

#define WORDS_IN_LINE 16u
#define QUOTA_TRIES 64u
#define CREDIT_OF_CLAIM 16u
#define MOST_CREDIT 1024u

/* ---- chunks ---- */

static struct plait_inode *inode_at(plait_ref_t chunk, uint32_t index) {
  return (struct plait_inode *)plait_at(chunk + PLAIT_FS_CHUNK_ITEMS * 4) + index;
}

static plait_ref_t chunk_of(struct plait_fs_items *items, uint32_t number) {
  uint32_t chunk = number / PLAIT_FS_CHUNK_ITEMS;
  plait_ref_t table = plait_load(&items->chunk_tables[chunk / PLAIT_FS_CHUNK_TABLE_SIZE]);
  return plait_load((plait_word_t *)plait_at(table) + chunk % PLAIT_FS_CHUNK_TABLE_SIZE);
}

plait_word_t *plait__fs_owner(struct plait_fs_items *items, uint32_t number) {
  return (plait_word_t *)plait_at(chunk_of(items, number)) + number % PLAIT_FS_CHUNK_ITEMS;
}

void *plait__fs_item(struct plait_fs_items *items, uint32_t size, uint32_t number) {
  return (uint8_t *)plait_at(chunk_of(items, number) + PLAIT_FS_CHUNK_ITEMS * 4) + number % PLAIT_FS_CHUNK_ITEMS * size;
}

uint32_t plait__fs_find_owned(struct plait_fs_items *items, plait_thread_t thread, uint32_t number) {
  uint32_t end = plait_load(&items->count) * PLAIT_FS_CHUNK_ITEMS;
  while (number < end) {
    const plait_word_t *owners = plait_at(chunk_of(items, number));
    do { /* relaxed: a million items may belong to others */
      if (plait_get(&owners[number % PLAIT_FS_CHUNK_ITEMS]) == thread) return number;
    } while (++number % PLAIT_FS_CHUNK_ITEMS != 0);
  }
  return UINT32_MAX;
}

struct plait_inode *plait__fs_root_inode(void) {
  return plait__fs_item(&plait_fs()->inodes, sizeof(struct plait_inode), 0);
}

/* Numbers the inodes of a new chunk. Inode 0 becomes the root directory. */
static void lay_out_inodes(plait_ref_t chunk, uint32_t number) {
  for (uint32_t i = 0; i < PLAIT_FS_CHUNK_ITEMS; i++) {
    plait_put(&inode_at(chunk, i)->number, number + i);
    plait_put(&inode_at(chunk, i)->generation_kind, 4);
  }
  if (number != 0) return;
  struct plait_inode *root = inode_at(chunk, 0);
  plait_put(&root->generation_kind, 4 | PLAIT_FS_DIRECTORY);
  plait_put(&root->links, 2);
  plait_put(&root->mode, 0755);
  plait_put(&root->parent, plait_ref(root));
  plait_put((plait_word_t *)plait_at(chunk), PLAIT__FS_IN_USE);
}

/* Adds a chunk, unless another thread has: `count` is the expected number. 0, -PLAIT_ENOSPC, -PLAIT_ETIMEDOUT. */
static int add_chunk(struct plait_fs_thread *mine, struct plait_fs_items *items, uint32_t size, uint32_t count) {
  uint32_t keep = plait_get(&mine->reserved_count), bytes = PLAIT_FS_CHUNK_ITEMS * (4 + size);
  if (count == PLAIT_FS_CHUNK_TABLE_LIMIT * PLAIT_FS_CHUNK_TABLE_SIZE) return -PLAIT_ENOSPC;
  plait__fs_tx_begin(mine);
  int is_inodes = size == sizeof(struct plait_inode);
  /* The first chunk, with the root directory, and descriptors come from reserves: reading must work in a full space. */
  enum plait_heap_use use = count == 0 ? PLAIT_FOR_THREADS : is_inodes ? PLAIT_FOR_FILES : PLAIT_FOR_TASKS;
  enum plait_heap_use before = plait_heap_use(use);
  plait_ref_t chunk = plait_heap_alloc_aligned(bytes, 64),
              table = plait_get(&items->chunk_tables[count / PLAIT_FS_CHUNK_TABLE_SIZE]);
  plait_heap_use(before);
  if (chunk == 0) return -PLAIT_ENOSPC;
  plait_put(&mine->reserved_blocks[keep], chunk);
  plait_put(&mine->reserved_count, keep + 1);
  plait_zero(plait_at(chunk), bytes);
  if (is_inodes) lay_out_inodes(chunk, count * PLAIT_FS_CHUNK_ITEMS);
  else if (count == 0)
    for (uint32_t i = 0; i < PLAIT__FS_FIRST_OPEN; i++)
      plait_put((plait_word_t *)plait_at(chunk) + i, PLAIT__FS_IN_USE);
  int rc = -PLAIT_ENOSPC;
  plait_ref_t new_table = table == 0 ? plait__fs_tx_reserve_for(mine, use, PLAIT_FS_CHUNK_TABLE_SIZE * 4) : 0;
  if ((table != 0 || new_table != 0) && (rc = plait__fs_acquire(&plait_fs()->tables)) == 0) {
    if (plait_get(&items->count) == count) {
      if (table == 0) {
        plait_zero(plait_at(new_table), PLAIT_FS_CHUNK_TABLE_SIZE * 4);
        plait__fs_tx_stage(mine, &items->chunk_tables[count / PLAIT_FS_CHUNK_TABLE_SIZE], table = new_table);
      }
      plait__fs_tx_stage(mine, (plait_word_t *)plait_at(table) + count % PLAIT_FS_CHUNK_TABLE_SIZE, chunk);
      plait__fs_tx_stage(mine, &items->count, count + 1);
      if (is_inodes && count == 0) plait__fs_tx_stage(mine, &mine->files, plait_get(&mine->files) + 1); /* the root */
      plait__fs_tx_commit(mine, keep);
    }
    plait_lock_release(&plait_fs()->tables);
  }
  plait__fs_tx_abort(mine, keep); /* no effect after a commit */
  return rc;
}

/*
 * Each thread starts its search at a different place of a chunk. Otherwise threads would write to owner words in the
 * same cache line.
 */
static uint32_t own_place(uint32_t chunk) {
  return chunk * PLAIT_FS_CHUNK_ITEMS + plait_thread_index(plait_self_id()) * WORDS_IN_LINE % PLAIT_FS_CHUNK_ITEMS;
}

/* Starts in the newest chunk, because older ones are probably full. `next` may keep the value of an earlier thread. */
static void start_search(struct plait_fs_items *items, struct plait_fs_search *search) {
  uint32_t count = plait_load(&items->count);
  plait_put(&search->at, own_place(count == 0 ? 0 : count - 1));
  plait_put(&search->credit, MOST_CREDIT);
}

static plait_ref_t enter(void) {
  plait_thread_t self = plait_self_id();
  plait_word_t *place = &plait_fs()->threads[plait_thread_index(self)];
  plait_ref_t ref = plait_get(place);
  struct plait_fs_thread *mine = plait_at(ref);
  if (ref != 0 && plait_get(&mine->thread) == self && plait_load(&plait_fs()->inodes.count) != 0) return ref;
  if (ref == 0) {
    if ((ref = plait_heap_alloc_zeroed(sizeof(struct plait_fs_thread))) == 0) return 0;
    mine = plait_at(ref);
    plait_self_intend(ref); /* recovery frees it, unless it is published: plait_fs_recover() */
    atomic_store_explicit(place, ref, memory_order_release);
    plait_self_intend(0);
  }
  /* If the former owner exited, its journal was recovered before its slot was reused. */
  if (plait_get(&mine->scratch) == 0) {
    plait_ref_t scratch = plait_heap_alloc(PLAIT_FS_SCRATCH);
    if (scratch == 0) return 0;
    plait_put(&mine->scratch, scratch);
  }
  plait_put(&mine->store_count, 0);
  plait_put(&mine->owner, 0);
  start_search(&plait_fs()->inodes, &mine->inodes);
  start_search(&plait_fs()->opens, &mine->opens);
  atomic_store_explicit(&mine->thread, self, memory_order_release);
  while (plait_load(&plait_fs()->inodes.count) == 0) /* the first chunk contains the root directory */
    if (add_chunk(mine, &plait_fs()->inodes, sizeof(struct plait_inode), 0) != 0) return 0;
  return ref;
}

/*
 * The thread record of fs and its scratch block come from the reserve for threads. So a thread can enter, and recover
 * another one, when files have filled the space.
 */
PLAIT_EXPORT plait_ref_t plait_fs_enter(void) {
  enum plait_heap_use before = plait_heap_use(PLAIT_FOR_THREADS);
  plait_ref_t ref = enter();
  plait_heap_use(before);
  return ref;
}

/* Claims a free item of the chunk of `number`, starting there and wrapping around. Its number, or -1. */
static int claim_in_chunk(struct plait_fs_items *items, uint32_t number) {
  plait_word_t *owners = plait_at(chunk_of(items, number));
  for (uint32_t i = 0; i < PLAIT_FS_CHUNK_ITEMS; i++) {
    uint32_t at = (number + i) % PLAIT_FS_CHUNK_ITEMS, none = 0;
    if (plait_get(&owners[at]) != 0) continue;
    if (atomic_compare_exchange_strong_explicit(
            &owners[at], &none, plait_self_id(), memory_order_acq_rel, memory_order_relaxed))
      return (int)(number - number % PLAIT_FS_CHUNK_ITEMS + at);
  }
  return -1;
}

/* Claims an item from the next chunks, at most `most` of them. Its number, or -1. */
static int claim_further(struct plait_fs_items *items, struct plait_fs_search *search, uint32_t most) {
  int number = -1;
  for (uint32_t count = plait_load(&items->count); most > 0 && number < 0; most--) {
    uint32_t chunk = plait_get(&search->next);
    if (chunk >= count) chunk = 0;
    number = claim_in_chunk(items, chunk * PLAIT_FS_CHUNK_ITEMS);
    plait_put(&search->next, chunk + 1);
    plait_put(&search->credit, plait_get(&search->credit) - PLAIT_FS_CHUNK_ITEMS);
  }
  return number;
}

/*
 * The time of a claim must not depend on the number of items, but items that others have freed should be found. So each
 * claim earns credit for checking items of other chunks, in turn. A chunk is added when the credit is spent. If at
 * least one item in CREDIT_OF_CLAIM is free, the credit lasts.
 */
int plait__fs_claim(
    struct plait_fs_thread *mine, struct plait_fs_items *items, uint32_t size, struct plait_fs_search *search) {
  uint32_t credit = plait_get(&search->credit) + CREDIT_OF_CLAIM;
  plait_put(&search->credit, credit < MOST_CREDIT ? credit : MOST_CREDIT);
  for (;;) {
    uint32_t count = plait_load(&items->count), at = plait_get(&search->at);
    int number = at < count * PLAIT_FS_CHUNK_ITEMS ? claim_in_chunk(items, at) : -1, rc = 0;
    if (number < 0) {
      uint32_t chunks = plait_get(&search->credit) / PLAIT_FS_CHUNK_ITEMS;
      number = claim_further(items, search, chunks < count ? chunks : count);
    }
    if (number < 0 && (rc = add_chunk(mine, items, size, count)) == -PLAIT_ENOSPC) {
      number = claim_further(items, search, count); /* without memory it is worth checking every item */
      plait_put(&search->credit, 0);
    }
    if (number < 0 && rc != 0) return rc;
    plait_put(&search->at, number < 0 ? own_place(count) : (uint32_t)number);
    if (number >= 0) return number;
  }
}

/* ---- inodes ---- */

struct use {
  uint64_t bytes;
  uint32_t files;
};

/* The sum over all threads; `with_reserved`: including their reservations. */
static struct use in_use(int with_reserved) {
  struct use use = {0, 0};
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    plait_ref_t ref = plait_load(&plait_fs()->threads[i]);
    if (ref == 0) continue;
    struct plait_fs_thread *thread_record = plait_at(ref);
    /* Reservations are read first: one that has ended is already counted in `held` or `files`. */
    if (with_reserved) use.bytes += atomic_load_explicit(&thread_record->quota_bytes, memory_order_seq_cst);
    if (with_reserved) use.files += atomic_load_explicit(&thread_record->quota_files, memory_order_seq_cst);
    use.bytes += atomic_load_explicit(&thread_record->held, memory_order_acquire);
    use.files += plait_load(&thread_record->files);
  }
  return use;
}

/* `bytes`, `files`: whether to check that limit. */
static int is_within(struct use use, int bytes, int files) {
  return (!bytes || use.bytes <= plait_get64(&plait_fs()->limit_bytes)) &&
      (!files || use.files <= plait_get(&plait_fs()->limit_files));
}

int plait__fs_quota_reserve(struct plait_fs_thread *mine, uint64_t bytes, uint32_t files) {
  int counts_bytes = bytes != 0 && plait_get64(&plait_fs()->limit_bytes) != 0,
      counts_files = files != 0 && plait_get(&plait_fs()->limit_files) != 0;
  if (!counts_bytes && !counts_files) return 1;
  for (uint32_t turns = 0; turns < QUOTA_TRIES; turns++) {
    struct use use = in_use(0);
    if (!is_within((struct use){use.bytes + bytes, use.files + files}, counts_bytes, counts_files)) return 0;
    /* Each thread reserves first and reads then. So of two concurrent threads at least one sees the other. */
    if (counts_bytes) atomic_exchange_explicit(&mine->quota_bytes, bytes, memory_order_seq_cst);
    if (counts_files) atomic_exchange_explicit(&mine->quota_files, files, memory_order_seq_cst);
    if (is_within(in_use(1), counts_bytes, counts_files)) return 1;
    /*
     * The concurrent threads together exceed the limit. Withdraw, and try again after different delays. An earlier
     * reservation of the other kind stays.
     */
    if (counts_bytes) atomic_store_explicit(&mine->quota_bytes, 0, memory_order_release);
    if (counts_files) atomic_store_explicit(&mine->quota_files, 0, memory_order_release);
    for (uint32_t i = (plait_thread_index(plait_self_id()) * 7 + turns) % 64; i > 0; i--) plait_platform_pause();
  }
  return 0;
}

struct plait_inode *plait__fs_new_inode(
    struct plait_fs_thread *mine, enum plait_fs_kind kind, uint32_t mode, double now, int *error) {
  *error = -PLAIT_ENOSPC;
  if (!plait__fs_quota_reserve(mine, 0, 1)) return NULL;
  struct plait_fs_items *inodes = &plait_fs()->inodes;
  int number = plait__fs_claim(mine, inodes, sizeof(struct plait_inode), &mine->inodes);
  if (number < 0) {
    plait__fs_quota_release(mine);
    *error = number;
    return NULL;
  }
  struct plait_inode *inode = plait__fs_item(inodes, sizeof *inode, (uint32_t)number);
  uint64_t time = plait__fs_time(now);
  plait_put(&inode->links, kind == PLAIT_FS_DIRECTORY ? 2 : 1);
  plait_put(&inode->opens, 0);
  plait_put(&inode->mode, mode & 07777);
  plait_put(&inode->uid, 0);
  plait_put(&inode->gid, 0);
  plait_put(&inode->pins, 0);
  plait_put(&inode->block, 0);
  plait_put(&inode->length, 0);
  plait_put(&inode->map, 0);
  plait_put(&inode->parent, 0);
  plait_put(&inode->live, 0);
  plait_put(&inode->ranges, 0);
  plait_put64(&inode->cookie, 0);
  plait_put64(&inode->size, 0);
  plait_put64(&inode->atime, time);
  plait_put64(&inode->mtime, time);
  plait_put64(&inode->ctime, time);
  plait_put64(&inode->birthtime, time);
  plait_put(&inode->generation_kind, (plait_get(&inode->generation_kind) & ~3u) | kind);
  return inode;
}

void plait__fs_release_inode(struct plait_inode *inode) {
  uint32_t generation_kind = plait_get(&inode->generation_kind);
  if (plait__fs_kind(generation_kind) != PLAIT_FS_NONE) plait_put(&inode->generation_kind, (generation_kind & ~3u) + 4);
  /* release: pairs with the acquire of the next claim. */
  atomic_store_explicit(plait__fs_owner(&plait_fs()->inodes, plait_get(&inode->number)), 0, memory_order_release);
}

void plait__fs_stage_born(struct plait_fs_thread *mine, struct plait_inode *inode) {
  plait__fs_tx_stage(mine, plait__fs_owner(&plait_fs()->inodes, plait_get(&inode->number)), PLAIT__FS_IN_USE);
  plait__fs_tx_stage(mine, &mine->files, plait_get(&mine->files) + 1);
}

void plait__fs_release_owner(struct plait_fs_thread *mine) {
  plait_ref_t owner = plait_get(&mine->released_owner);
  if (owner == 0) return;
  plait_put(&mine->released_owner, 0);
  if (plait_get((plait_word_t *)plait_at(owner)) == plait_self_id())
    atomic_store_explicit((plait_word_t *)plait_at(owner), 0, memory_order_release);
}

int plait__fs_is_above(struct plait_inode *above, struct plait_inode *node) {
  struct plait_inode *root = plait__fs_root_inode();
  /* Another thread may have removed `node` and the directory above it. The caller sees that once it locks `node`. */
  for (uint32_t steps = 0; node != above; node = plait_at(plait_load(&node->parent)))
    if (node == root || plait_ref(node) == 0 || ++steps == PLAIT__FS_DEEPEST) return 0;
  return 1;
}
