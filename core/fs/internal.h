/*
 * fs internals: what the files of the room call of each other. For core/fs only.
 *
 * Names starting with plait__fs_ are internal. "Under its lock": the inode's lock is held by the caller.
 */
#ifndef PLAIT_FS_INTERNAL_H
#define PLAIT_FS_INTERNAL_H

#include "fs.h"

#define PLAIT__FS_IN_USE 1u          /* whose-word of an inode in use: thread ids are larger */
#define PLAIT__FS_FIRST_OPEN 3u      /* programs take 0 to 2 for the terminal's: they are nobody's, and never open */
#define PLAIT__FS_DEEPEST (1u << 20) /* directories one in another that are gone through upwards */
#define PLAIT__FS_READS 64u          /* how often a reader is overtaken before it takes the lock */

static inline enum plait_fs_kind plait__fs_kind(uint32_t generation_kind) {
  return (enum plait_fs_kind)(generation_kind & 3u);
}

/* One life of an inode: what a name, or an open descriptor, means. */
struct plait__fs_node {
  struct plait_inode *inode;
  uint32_t generation_kind;
};

/* ---- journal.c ---- */

/* The calling thread's record. pre: plait_fs_enter() has been called. */
static inline struct plait_fs_thread *plait__fs_mine(void) {
  return plait_at(plait_get(&plait_fs()->threads[plait_thread_index(plait_self_id())]));
}

/* Starts a change. Blocks in hand stay in hand. */
void plait__fs_tx_begin(struct plait_fs_thread *mine);
/*
 * A block for the change that is about to be made; 0 without memory. No lock is held. It is for files, or for what
 * `use` says.
 */
plait_ref_t plait__fs_tx_reserve(struct plait_fs_thread *mine, uint32_t size);
plait_ref_t plait__fs_tx_reserve_for(struct plait_fs_thread *mine, enum plait_heap_use use, uint32_t size);
/* Adds a store to the change. */
void plait__fs_tx_stage(struct plait_fs_thread *mine, plait_word_t *at, uint32_t value);
void plait__fs_tx_stage64(struct plait_fs_thread *mine, plait_word64_t *at, uint64_t value);
/* What the word will be after the change as it stands. */
uint32_t plait__fs_tx_staged(struct plait_fs_thread *mine, const plait_word_t *at);
uint64_t plait__fs_tx_staged64(struct plait_fs_thread *mine, const plait_word64_t *at);
/* The inode is among what changes. Under its lock. */
void plait__fs_tx_target(struct plait_fs_thread *mine, struct plait_inode *inode);
/* Its version is odd from here on: bytes that readers can see are about to change. */
void plait__fs_write_begin(struct plait_fs_thread *mine, struct plait_inode *inode);
/* The block, or the extents of the map in it from `from` to `to`, become free with the change. */
void plait__fs_tx_defer_free(struct plait_fs_thread *mine, plait_ref_t block, uint32_t from, uint32_t to, int whole);
/* Somebody may be watching. */
void plait__fs_notify_watchers(void);
/* Makes the change: the commit. The first `keep` blocks in hand stay there. */
void plait__fs_tx_commit(struct plait_fs_thread *mine, uint32_t keep);
/* Forgets the change, and gives back the blocks in hand but the first `keep`. */
void plait__fs_tx_abort(struct plait_fs_thread *mine, uint32_t keep);
/*
 * After a lock was taken over: finishes what the dead have left in their journals. 0; -PLAIT_ETIMEDOUT: `unrecovered`
 * is one whose journal another thread is at, and does not end.
 */
int plait__fs_recover_journals(plait_thread_t *unrecovered);
/* The same for one record, if it is still the dead thread's. 0, -PLAIT_ETIMEDOUT. */
int plait__fs_recover_journal(struct plait_fs_thread *record, plait_thread_t exited);

/* Takes a lock of the room; settles if it was a dead thread's. 0, -PLAIT_ETIMEDOUT. */
int plait__fs_acquire(struct plait_lock *lock);
/* Takes the locks of up to four inodes, null ones left out, in the one order. 0, -PLAIT_ETIMEDOUT: none is held. */
int plait__fs_lock(struct plait_inode **set, uint32_t count);
/* Gives them back, and frees what a change under them has made free. */
void plait__fs_unlock(struct plait_inode **set, uint32_t count);

/* ---- items.c ---- */

/* Whose-word of item `number`, and the item. pre: it is below the count of chunks times 64. */
plait_word_t *plait__fs_owner(struct plait_fs_items *items, uint32_t number);
void *plait__fs_item(struct plait_fs_items *items, uint32_t size, uint32_t number);
/*
 * The first item from `number` on that is the thread's; UINT32_MAX: there is none. What is a living thread's may change
 * meanwhile.
 */
uint32_t plait__fs_find_owned(struct plait_fs_items *items, plait_thread_t thread, uint32_t number);
/* Claims a free item for the calling thread: its number, or -PLAIT_ENOSPC. No lock is held. */
int plait__fs_claim(
    struct plait_fs_thread *mine, struct plait_fs_items *items, uint32_t size, struct plait_fs_search *search);
/* A free inode, made the caller's: blank but for life, links and times. NULL: none. */
struct plait_inode *plait__fs_new_inode(
    struct plait_fs_thread *mine, enum plait_fs_kind kind, uint32_t mode, double now, int *error);
/* Gives back an inode that was claimed and not published, or freed. */
void plait__fs_release_inode(struct plait_inode *inode);
/* The commit makes the inode used: publishes it. */
void plait__fs_stage_born(struct plait_fs_thread *mine, struct plait_inode *inode);
/* After the commit: what was freed by it may be claimed. */
void plait__fs_release_owner(struct plait_fs_thread *mine);
/* The root directory. NULL before the first record was made. */
struct plait_inode *plait__fs_root_inode(void);
/* Whether `above` is `node` or lies above it. Under `rename`, or where no directory in between can move. */
int plait__fs_is_above(struct plait_inode *above, struct plait_inode *node);
/*
 * Whether another `bytes` and `files` are within the limits; then they are set aside for the calling thread, until
 * plait__fs_quota_release(), which who asks calls when a change has counted them, or when there is none.
 */
int plait__fs_quota_reserve(struct plait_fs_thread *mine, uint64_t bytes, uint32_t files);
/* Nothing is set aside any more. release: who sees that sees what a change has counted. */
static inline void plait__fs_quota_release(struct plait_fs_thread *record) {
  if (plait_get64(&record->quota_bytes) != 0) atomic_store_explicit(&record->quota_bytes, 0, memory_order_release);
  if (plait_get(&record->quota_files) != 0) atomic_store_explicit(&record->quota_files, 0, memory_order_release);
}
static inline uint64_t plait__fs_time(double now) {
  return (uint64_t)(int64_t)(now * 1e6);
}

/* ---- reading without a lock ---- */

struct plait__fs_read {
  struct plait_inode *inode;
  uint32_t sequence, tries;
  int locked;
};

/*
 * do { if (!plait__fs_read_begin(&r)) return -PLAIT_ETIMEDOUT; ... } while (plait__fs_read_retry(&r));
 * After that, everything that was read is consistent. As in Linux: retry returns 1 to read again.
 */
int plait__fs_read_begin(struct plait__fs_read *read);
int plait__fs_read_retry(struct plait__fs_read *read);
/* Whether what was read so far may be believed: asked before a reference is followed. */
static inline int plait__fs_read_valid(const struct plait__fs_read *read) {
  return plait_load(&read->inode->sequence) == read->sequence;
}

/* ---- open_file.c ---- */

struct plait_fs_open *plait__fs_descriptor(uint32_t fd);
/* The open descriptor; NULL if there is none. `node`: what is open. */
struct plait_fs_open *plait__fs_open_at(int fd, struct plait__fs_node *node);
/* Whether the descriptor has been open on the node ever since it had these `uses`. Under the inode's lock. */
int plait__fs_is_still_open(struct plait_fs_open *open, struct plait__fs_node node, uint32_t uses);
/* Why there is none: -EBADF, or -EREMOTE for a mount's. */
int plait__fs_not_open(int fd);
/* A free descriptor, made the caller's; and back. -ENFILE. */
int plait__fs_claim_descriptor(struct plait_fs_thread *mine);
void plait__fs_free_descriptor(uint32_t fd);
/* A descriptor for the node: becomes open with the change. */
void plait__fs_stage_open(
    struct plait_fs_thread *mine, uint32_t fd, uint32_t state, struct plait__fs_node node, uint32_t flags);

/* ---- directory.c ---- */

struct plait__fs_name {
  const uint8_t *bytes;
  uint32_t length, hash;
};

uint32_t plait__fs_hash(const uint8_t *bytes, uint32_t length);
/* What the name names; `record`, if not null: where. 0, -ENOENT, -ENOTDIR, -ETIMEDOUT. */
int plait__fs_lookup(struct plait__fs_node directory, struct plait__fs_name name, struct plait__fs_node *found,
    struct plait_fs_directory_record **record);
/* Makes room for another name. No lock is held. 0, -ENOENT, -ENOSPC, -ETIMEDOUT. */
int plait__fs_make_room(struct plait_fs_thread *mine, struct plait__fs_node directory);
int plait__fs_has_room(struct plait_inode *directory);
/* An entry in hand; 0 without memory. */
plait_ref_t plait__fs_new_entry(struct plait_fs_thread *mine, struct plait__fs_name name);
/* The entry is to name `node`. */
void plait__fs_fill_entry(plait_ref_t entry, struct plait__fs_node node);
/*
 * Adds the entry to the directory, or puts it in place of another's record, or removes it. Under its lock; it is a
 * target.
 */
void plait__fs_stage_insert(
    struct plait_fs_thread *mine, struct plait_inode *directory, struct plait__fs_name name, plait_ref_t entry);
void plait__fs_stage_remove(
    struct plait_fs_thread *mine, struct plait_inode *directory, struct plait_fs_directory_record *record);
void plait__fs_stage_replace(struct plait_fs_thread *mine, struct plait_fs_directory_record *record, plait_ref_t entry);
void plait__fs_stage_times(struct plait_fs_thread *mine, struct plait_inode *inode, double now, int contents);
/*
 * Lists names from the cursor on into the thread's scratch: how many, or what plait_fs_list() fails with. Between
 * plait__fs_read_begin() and plait__fs_read_retry().
 */
int plait__fs_list_into(
    struct plait_fs_thread *mine, struct plait__fs_read *read, struct plait__fs_node node, uint64_t cursor);
static inline plait_word_t *plait__fs_cells(struct plait_fs_table *table, uint32_t capacity) {
  return (plait_word_t *)&table->records[capacity];
}

/* ---- path.c ---- */

/* Where a path leads. */
struct plait__fs_place {
  /* the directory of the last name; its inode is null if the path ends in . or .., or is the root */
  struct plait__fs_node parent;
  struct plait__fs_name name; /* the last name */
  struct plait__fs_node node; /* what is there; null inode if nothing is */
  int slash;                  /* the path ends in a slash: it must be a directory */
  int dots;                   /* 1: it ends in ".", 2: in "..", 3: it is the root */
};

enum plait__fs_walk {
  PLAIT__FS_FOLLOW = 1, /* a symbolic link at the end is followed */
  PLAIT__FS_SECOND = 2, /* the path is in `second` */
  PLAIT__FS_NAME = 4,   /* what matters is the last name itself: it is never followed, whatever it is, slash or not */
  /* at the end of the path a directory is meant itself, not what is mounted over it; NAME means that, too */
  PLAIT__FS_COVER = 16,
  PLAIT__FS_PLAIN = 32, /* a symbolic link on the way, or at the end with FOLLOW, is -ELOOP */
  /* for a file that may be made: -EISDIR for a last name with a slash behind it, in the path or in a link */
  PLAIT__FS_MAKE = 8,
};

/* 0, also if nothing is at the end of the path; negative: no such way. */
int plait__fs_walk(struct plait_fs_thread *mine, uint32_t length, int how, struct plait__fs_place *place);
/* What `target` is: see PLAIT_FS_PATH. */
int plait__fs_find(struct plait_fs_thread *mine, int target, int follow, struct plait__fs_node *node);

/* ---- contents.c ---- */

/* Reads at one instant: how many bytes; also the file's size. */
int64_t plait__fs_contents_read(
    struct plait__fs_node node, uint64_t position, plait_ref_t to, uint32_t length, uint64_t *size);
/*
 * Writes; the inode of `node` is locked by it. `open`: whose position is moved, or null. position UINT64_MAX: the end.
 */
int64_t plait__fs_contents_write(struct plait_fs_thread *mine, struct plait__fs_node node, uint64_t position,
    plait_ref_t from, uint32_t length, struct plait_fs_open *open, double now);
int plait__fs_contents_resize(struct plait_fs_thread *mine, struct plait__fs_node node, uint64_t size, double now);
/* The whole contents become these bytes. 0: it is done; -EAGAIN: write it the long way. */
int plait__fs_contents_replace(
    struct plait_fs_thread *mine, struct plait__fs_node node, plait_ref_t from, uint32_t length, int given, double now);
/* All the contents go. Under the inode's lock; it is a target. */
void plait__fs_stage_empty(struct plait_fs_thread *mine, struct plait_inode *inode);
/*
 * The inode has `links` names and `opens` descriptors after the change; without either it is freed with all it holds.
 * Under its lock.
 */
void plait__fs_stage_counts(struct plait_fs_thread *mine, struct plait_inode *inode, uint32_t links, uint32_t opens);
/* One extent holds all, and more come never in its place: pinned. Under no lock. */
int plait__fs_contents_pin(struct plait_fs_thread *mine, struct plait__fs_node node, uint32_t fd);
uint64_t plait__fs_contents_held(struct plait_inode *inode);

/* ---- ranges.c ---- */

/*
 * Gives back all locks that the descriptor has: 1 if there were some, and then the signal is due. Under the inode's
 * lock.
 */
int plait__fs_ranges_release(struct plait_fs_thread *mine, struct plait_inode *inode, uint32_t fd);
/* Wakes who waits for a lock. */
void plait__fs_ranges_signal(struct plait_inode *inode);

/* ---- mounts.c ---- */

/* The mount with that number, NULL if there is none. Under `rename`, or while nothing changes. */
struct plait_fs_mount *plait__fs_mount_of(uint32_t number);
/* Whether a mount lies in the directory, or over it. Under `rename`. */
int plait__fs_has_mount(struct plait_inode *directory);
/* Closes a mount's descriptor, whoever's it is: 0, -EBADF, -ETIMEDOUT. */
int plait__fs_mounted_close(uint32_t fd);

/* ---- tree.c ---- */

/*
 * A name for what is new at the place, in one change; `fd`: opened under it as well, or UINT32_MAX. The inode is the
 * caller's.
 */
int plait__fs_publish(struct plait_fs_thread *mine, struct plait__fs_place *place, struct plait_inode *inode,
    uint32_t fd, uint32_t flags, double now);

/* ---- open.c ---- */

/* Closes whoever's descriptor. `state`: what it must be, 1 open or 2 a mapping; 0: either. */
int plait__fs_close_number(struct plait_fs_thread *mine, uint32_t fd, uint32_t state);
/* The thread of the record watches no longer. 0, -ETIMEDOUT. */
int plait__fs_unwatch(struct plait_fs_thread *record);

#endif
