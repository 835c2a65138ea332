/*
 * journal: transactions, which change several words by one store, and the locks that guard them.
 *
 * Invariants
 * - While `state` is 1, the owner holds the locks of everything that `stores` names, or the words belong to the owner
 *   alone. So no other thread has changed them, and the stores can be applied again from the start.
 * - A thread that takes a lock over from an exited thread first recovers all journals. So the guarded data is
 *   consistent before anyone reads it. Several threads may take over locks of one exited thread. The lock of its thread
 *   record lets one of them recover, and the others wait.
 * - `reserved_blocks` names a block until the transaction that publishes it is committed, or until the block is freed.
 *   `reserved_count` decreases before `state` becomes 0, so recovery never frees a published block.
 * - While `state` is 2, all stores are applied and other threads may hold the locks. What remains is to free
 *   `deferred_frees`, which no other thread can reach any more. This shortens the time that locks are held.
 * - A word that names a block is cleared before the block is freed. An exit in between loses one block, and never frees
 *   a block twice.
 * - No transaction frees a block that it also writes to.
 */
#include "internal.h"

#define CHECKS 16000u
#define LONGEST_TURN 1024u
#define ODD_CHECKS 4000u

#ifdef __SANITIZE_THREAD__ /* knows no fences */
static void full_fence(void) {
  static _Atomic uint32_t word;
  atomic_fetch_add(&word, 1);
}
#else
static inline void full_fence(void) {
  atomic_thread_fence(memory_order_seq_cst);
}
#endif

#ifdef __wasm__
_Alignas(64) struct plait_fs plait__fs_root;
#endif

static void run_deferred_frees(struct plait_fs_thread *thread_record);

void plait__fs_tx_begin(struct plait_fs_thread *mine) {
  if (plait_get(&mine->state) == 2) run_deferred_frees(mine); /* the second transaction under one lock */
  plait_put(&mine->store_count, 0);
}

plait_ref_t plait__fs_tx_reserve(struct plait_fs_thread *mine, uint32_t size) {
  return plait__fs_tx_reserve_for(mine, PLAIT_FOR_FILES, size);
}

plait_ref_t plait__fs_tx_reserve_for(struct plait_fs_thread *mine, enum plait_heap_use use, uint32_t size) {
  uint32_t count = plait_get(&mine->reserved_count);
  plait_ref_t block = plait_heap_alloc_for(use, size);
  if (block == 0) return 0;
  plait_put(&mine->reserved_blocks[count], block);
  plait_put(&mine->reserved_count, count + 1);
  return block;
}

/* The last staged store to `at`, or null. */
static struct plait_fs_store *find_store(struct plait_fs_thread *mine, plait_ref_t at) {
  for (uint32_t i = plait_get(&mine->store_count); i-- > 0;)
    if (plait_get(&mine->stores[i].at) == at) return &mine->stores[i];
  return NULL;
}

static void stage_store(struct plait_fs_thread *mine, plait_ref_t at, uint32_t wide, uint64_t value) {
  uint32_t count = plait_get(&mine->store_count);
  struct plait_fs_store *store = &mine->stores[count];
  plait_put(&store->at, at);
  plait_put(&store->wide, wide);
  plait_put64(&store->value, value);
  plait_put(&mine->store_count, count + 1);
}

void plait__fs_tx_stage(struct plait_fs_thread *mine, plait_word_t *at, uint32_t value) {
  stage_store(mine, plait_ref(at), 0, value);
}

void plait__fs_tx_stage64(struct plait_fs_thread *mine, plait_word64_t *at, uint64_t value) {
  stage_store(mine, plait_ref(at), 1, value);
}

uint32_t plait__fs_tx_staged(struct plait_fs_thread *mine, const plait_word_t *at) {
  struct plait_fs_store *store = find_store(mine, plait_ref(at));
  return store == NULL ? plait_get(at) : (uint32_t)plait_get64(&store->value);
}

uint64_t plait__fs_tx_staged64(struct plait_fs_thread *mine, const plait_word64_t *at) {
  struct plait_fs_store *store = find_store(mine, plait_ref(at));
  return store == NULL ? plait_get64(at) : plait_get64(&store->value);
}

void plait__fs_tx_target(struct plait_fs_thread *mine, struct plait_inode *inode) {
  uint32_t count = plait_get(&mine->target_count);
  for (uint32_t i = 0; i < count; i++)
    if (plait_get(&mine->targets[i]) == plait_ref(inode)) return;
  plait_put(&mine->targets[count], plait_ref(inode));
  plait_put(&mine->target_count, count + 1);
}

static void make_odd(struct plait_inode *inode) {
  plait_put(&inode->sequence, plait_get(&inode->sequence) | 1);
}

/* release: pairs with the acquire in plait__fs_read_begin. */
static void make_even(struct plait_inode *inode) {
  uint32_t sequence = plait_get(&inode->sequence);
  if (sequence & 1) atomic_store_explicit(&inode->sequence, sequence + 1, memory_order_release);
}

void plait__fs_write_begin(struct plait_fs_thread *mine, struct plait_inode *inode) {
  plait__fs_tx_target(mine, inode);
  make_odd(inode);
  full_fence(); /* pairs with the fence in contents.c: a reader that has seen a new byte sees the odd sequence */
}

void plait__fs_tx_defer_free(struct plait_fs_thread *mine, plait_ref_t block, uint32_t from, uint32_t to, int whole) {
  uint32_t count = plait_get(&mine->deferred_count);
  struct plait_fs_deferred_free *deferred = &mine->deferred_frees[count];
  plait_put(&deferred->block, block);
  plait_put(&deferred->from, from);
  plait_put(&deferred->to, to);
  plait_put(&deferred->whole, (uint32_t)whole);
  plait_put(&mine->deferred_count, count + 1);
}

/* Clears the word, then frees the block that it named. */
static void free_named(plait_word_t *word) {
  plait_ref_t block = plait_get(word);
  if (block == 0) return;
  plait_put(word, 0);
  plait_heap_free(block);
}

static void run_deferred_free(struct plait_fs_deferred_free *deferred) {
  plait_ref_t ref = plait_get(&deferred->block);
  if (ref == 0) return;
  struct plait_fs_map *map = plait_at(ref);
  for (uint32_t i = plait_get(&deferred->from), to = plait_get(&deferred->to); i < to; i++)
    free_named(&map->extents[i].block);
  if (plait_get(&deferred->whole)) free_named(&deferred->block);
}

/* Needs no lock. pre: state is 2. */
static void run_deferred_frees(struct plait_fs_thread *thread_record) {
  for (uint32_t i = 0, deferred_frees = plait_get(&thread_record->deferred_count); i < deferred_frees; i++)
    run_deferred_free(&thread_record->deferred_frees[i]);
  plait_put(&thread_record->deferred_count, 0);
  plait_put(&thread_record->state, 0);
}

/*
 * Whether no other thread can reach any deferred free. A map of which only extents are freed stays in use: after the
 * unlock another thread may change it.
 */
static int frees_only_whole(struct plait_fs_thread *thread_record) {
  for (uint32_t i = plait_get(&thread_record->deferred_count); i-- > 0;)
    if (!plait_get(&thread_record->deferred_frees[i].whole)) return 0;
  return 1;
}

/* Applies the transaction, for the first time or again. pre: state is 1. */
static void apply_journal(struct plait_fs_thread *thread_record) {
  uint32_t targets = plait_get(&thread_record->target_count), stores = plait_get(&thread_record->store_count);
  for (uint32_t i = 0; i < targets; i++) make_odd(plait_at(plait_get(&thread_record->targets[i])));
  if (targets != 0) full_fence();
  for (uint32_t i = 0; i < stores; i++) {
    struct plait_fs_store *store = &thread_record->stores[i];
    void *at = plait_at(plait_get(&store->at));
    if (plait_get(&store->wide)) plait_put64(at, plait_get64(&store->value));
    else plait_put(at, (uint32_t)plait_get64(&store->value));
  }
  for (uint32_t i = 0; i < targets; i++) make_even(plait_at(plait_get(&thread_record->targets[i])));
  uint32_t later = plait_get(&thread_record->deferred_count) != 0 && frees_only_whole(thread_record);
  if (!later) {
    for (uint32_t i = 0, deferred_frees = plait_get(&thread_record->deferred_count); i < deferred_frees; i++)
      run_deferred_free(&thread_record->deferred_frees[i]);
    plait_put(&thread_record->deferred_count, 0);
  }
  plait_put(&thread_record->reserved_count, plait_get(&thread_record->keep));
  plait_put(&thread_record->target_count, 0);
  plait_put(&thread_record->state, later ? 2 : 0);
}

/* Frees the reserved blocks from `keep` on; no store was applied. pre: state is 0. */
static void roll_back_journal(struct plait_fs_thread *thread_record, uint32_t keep) {
  for (uint32_t i = plait_get(&thread_record->target_count); i-- > 0;)
    make_even(plait_at(plait_get(&thread_record->targets[i])));
  plait_put(&thread_record->target_count, 0);
  plait_put(&thread_record->deferred_count, 0);
  for (uint32_t i = plait_get(&thread_record->reserved_count); i-- > keep;) {
    free_named(&thread_record->reserved_blocks[i]);
    plait_put(&thread_record->reserved_count, i);
  }
}

void plait__fs_notify_watchers(void) {
  struct plait_fs *fs = plait_fs();
  if (plait_get(&fs->watchers) == 0) return;
  atomic_fetch_add_explicit(&fs->changes, 1, memory_order_release);
  plait_platform_notify(&fs->changes, UINT32_MAX);
}

void plait__fs_tx_commit(struct plait_fs_thread *mine, uint32_t keep) {
  plait_put(&mine->keep, keep);
  plait_put(&mine->state, 1);
  apply_journal(mine);
  plait__fs_notify_watchers();
}

void plait__fs_tx_abort(struct plait_fs_thread *mine, uint32_t keep) {
  if (plait_get(&mine->state) == 2) run_deferred_frees(mine);
  roll_back_journal(mine, keep);
}

/* ---- after an exit ---- */

#if PLAIT_EXITS_NOTICED

/* pre: the lock of the thread record is held, and the owner of the record has exited. */
static void recover_journal(struct plait_fs_thread *thread_record) {
  if (plait_load(&thread_record->state) == 1) apply_journal(thread_record);
  if (plait_get(&thread_record->state) == 2) run_deferred_frees(thread_record);
  roll_back_journal(thread_record, 0);
  plait__fs_quota_release(thread_record);
}

int plait__fs_recover_journal(struct plait_fs_thread *thread_record, plait_thread_t exited) {
  int rc = plait_lock_acquire(&thread_record->lock);
  if (rc < 0) return rc;
  if (plait_load(&thread_record->thread) == exited) recover_journal(thread_record);
  plait_lock_release(&thread_record->lock);
  return 0;
}

int plait__fs_recover_journals(plait_thread_t *unrecovered) {
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    plait_ref_t ref = plait_load(&plait_fs()->threads[i]);
    if (ref == 0) continue;
    struct plait_fs_thread *thread_record = plait_at(ref);
    plait_thread_t thread = plait_load(&thread_record->thread);
    if (thread == 0 || plait_thread_alive(thread)) continue;
    int rc = plait__fs_recover_journal(thread_record, thread);
    if (rc != 0) {
      *unrecovered = thread;
      return rc;
    }
  }
  return 0;
}

#endif

/* ---- locks ---- */

/* Waits without reading anything that other threads write. */
static void stand_back(uint32_t turns) {
  for (volatile uint32_t i = 0; i < turns; i++) plait_platform_pause();
}

int plait__fs_acquire(struct plait_lock *lock) {
  /*
   * A transaction takes less time than to sleep and wake up, so spin for longer than other locks do. But check rarely:
   * between the checks, everything that the owner changes next stays in its own cache.
   */
  for (uint32_t checks = 0, turns = 16; checks < CHECKS && plait_lock_owner(lock) != 0; checks += turns) {
    stand_back(turns);
    if (turns < LONGEST_TURN) turns *= 2;
  }
  int rc = plait_lock_acquire(lock);
#if PLAIT_EXITS_NOTICED
  if (rc != PLAIT_LOCK_TAKEN_OVER) return rc;
  /*
   * A thread may have exited during recovery, and its exit is not known yet. Then the lock keeps an exited owner, so
   * the next thread recovers.
   */
  plait_thread_t unrecovered = 0;
  rc = plait__fs_recover_journals(&unrecovered);
  if (rc != 0) plait_lock_leave(lock, unrecovered);
#endif
  return rc;
}

void plait__fs_unlock(struct plait_inode **set, uint32_t count) {
  while (count-- > 0)
    if (set[count] != NULL) plait_lock_release(&set[count]->lock);
  struct plait_fs_thread *mine = plait__fs_mine();
  if (plait_get(&mine->state) == 2) run_deferred_frees(mine);
}

int plait__fs_lock(struct plait_inode **set, uint32_t count) {
  for (uint32_t i = 1; i < count; i++) { /* sorts by address; of duplicates one stays */
    for (uint32_t k = i; k > 0 && (uintptr_t)set[k] < (uintptr_t)set[k - 1]; k--) {
      struct plait_inode *inode = set[k];
      set[k] = set[k - 1], set[k - 1] = inode;
    }
  }
  for (uint32_t i = 1; i < count; i++)
    for (uint32_t k = 0; k < i; k++)
      if (set[k] == set[i]) set[i] = NULL;
  for (uint32_t i = 0; i < count; i++) {
    int rc = set[i] == NULL ? 0 : plait__fs_acquire(&set[i]->lock);
    if (rc == 0) continue;
    plait__fs_unlock(set, i);
    return rc;
  }
  return 0;
}

/* ---- reading without a lock ---- */

int plait__fs_read_begin(struct plait__fs_read *read) {
  for (uint32_t spins = 0;; spins++) {
    /* acquire: pairs with the release in make_even. */
    read->sequence = plait_load(&read->inode->sequence);
    if (!(read->sequence & 1)) return 1;
    if (spins < ODD_CHECKS) {
      stand_back(8);
      spins += 8;
      continue;
    }
    /* The writer takes long, or has exited. */
    if (plait__fs_acquire(&read->inode->lock) != 0) return 0;
    read->locked = 1;
    read->sequence = plait_load(&read->inode->sequence);
    return 1;
  }
}

int plait__fs_read_retry(struct plait__fs_read *read) {
  if (read->locked) {
    plait_lock_release(&read->inode->lock);
    read->locked = 0;
    return 0;
  }
  if (plait__fs_read_valid(read)) return 0;
  if (++read->tries < PLAIT__FS_READS) return 1;
  if (plait__fs_acquire(&read->inode->lock) == 0) read->locked = 1;
  return 1;
}
