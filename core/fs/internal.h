/*
 * fs internals: functions and types that the files of core/fs share. For core/fs only.
 *
 * Names starting with plait__fs_ are internal. "Under its lock" is a precondition: the caller holds the inode's lock.
 */
#ifndef PLAIT_FS_INTERNAL_H
#define PLAIT_FS_INTERNAL_H

#include "fs.h"

#ifndef PLAIT_FS_MOUNTS
#define PLAIT_FS_MOUNTS 1 /* 0: a program that links fs has no mounts (no_mounts.c) */
#endif

#define PLAIT__FS_IN_USE 1u          /* owner word of an inode in use: thread ids are larger */
#define PLAIT__FS_FIRST_OPEN 3u      /* 0 to 2 are never open: programs take them for the terminal */
#define PLAIT__FS_DEEPEST (1u << 20) /* most ancestors that a walk to the root follows */
#define PLAIT__FS_READS 64u          /* how often a reader retries before it takes the lock */

static inline enum plait_fs_kind plait__fs_kind(uint32_t generation_kind) {
  return (enum plait_fs_kind)(generation_kind & 3u);
}

/* An inode in one generation, to which a name or an open descriptor refers. */
struct plait__fs_node {
  struct plait_inode *inode;
  uint32_t generation_kind;
};

/* ---- journal.c ---- */

/* The calling thread's fs record. pre: plait_fs_enter() has been called. */
static inline struct plait_fs_thread *plait__fs_mine(void) {
  return plait_at(plait_get(&plait_fs()->threads[plait_thread_index(plait_self_id())]));
}

/* Starts a transaction. Reserved blocks stay reserved. */
void plait__fs_tx_begin(struct plait_fs_thread *mine);
/*
 * Reserves a block for the next transaction; 0 without memory. pre: no lock is held. The heap accounts it to files, or
 * to `use`.
 */
plait_ref_t plait__fs_tx_reserve(struct plait_fs_thread *mine, uint32_t size);
plait_ref_t plait__fs_tx_reserve_for(struct plait_fs_thread *mine, enum plait_heap_use use, uint32_t size);
/* Adds a store to the transaction. */
void plait__fs_tx_stage(struct plait_fs_thread *mine, plait_word_t *at, uint32_t value);
void plait__fs_tx_stage64(struct plait_fs_thread *mine, plait_word64_t *at, uint64_t value);
/* The value that the word will have after the stores staged so far. */
uint32_t plait__fs_tx_staged(struct plait_fs_thread *mine, const plait_word_t *at);
uint64_t plait__fs_tx_staged64(struct plait_fs_thread *mine, const plait_word64_t *at);
/* Adds an inode to those that the transaction changes. Under its lock. */
void plait__fs_tx_target(struct plait_fs_thread *mine, struct plait_inode *inode);
/* Makes the sequence odd at once, because bytes that readers can see change before the commit. Under its lock. */
void plait__fs_write_begin(struct plait_fs_thread *mine, struct plait_inode *inode);
/*
 * Defers frees to the end of the transaction: the extents `from` to `to` of the map in the block, and with `whole` the
 * block itself.
 */
void plait__fs_tx_defer_free(struct plait_fs_thread *mine, plait_ref_t block, uint32_t from, uint32_t to, int whole);
/* Increases `changes` and wakes the watchers, if there are any. */
void plait__fs_notify_watchers(void);
/* Commits the transaction and applies it. The first `keep` reserved blocks stay reserved. */
void plait__fs_tx_commit(struct plait_fs_thread *mine, uint32_t keep);
/* Discards the transaction, and frees the reserved blocks except the first `keep`. */
void plait__fs_tx_abort(struct plait_fs_thread *mine, uint32_t keep);
/*
 * Recovers the journals of all threads that have exited, after a lock was taken over. 0. -PLAIT_ETIMEDOUT: another
 * thread holds the journal of `unrecovered` and makes no progress.
 */
int plait__fs_recover_journals(plait_thread_t *unrecovered);
/* The same for one journal, if it still belongs to the exited thread. 0, -PLAIT_ETIMEDOUT. */
int plait__fs_recover_journal(struct plait_fs_thread *record, plait_thread_t exited);

/* Takes a lock of fs; recovers all journals if its owner had exited. 0, -PLAIT_ETIMEDOUT. */
int plait__fs_acquire(struct plait_lock *lock);
/* Takes the locks of up to four inodes in lock order; null ones are skipped. 0; -PLAIT_ETIMEDOUT: none is held. */
int plait__fs_lock(struct plait_inode **set, uint32_t count);
/* Releases them, and runs the deferred frees of the transaction. */
void plait__fs_unlock(struct plait_inode **set, uint32_t count);

/* ---- items.c ---- */

/* The owner word of item `number`, and the item. pre: `number` is below the count of chunks times 64. */
plait_word_t *plait__fs_owner(struct plait_fs_items *items, uint32_t number);
void *plait__fs_item(struct plait_fs_items *items, uint32_t size, uint32_t number);
/*
 * The first item from `number` on that the thread owns; UINT32_MAX: none. If the thread is alive, the result may be
 * outdated at once.
 */
uint32_t plait__fs_find_owned(struct plait_fs_items *items, plait_thread_t thread, uint32_t number);
/* Claims a free item for the calling thread: its number, or -PLAIT_ENOSPC. No lock is held. */
int plait__fs_claim(
    struct plait_fs_thread *mine, struct plait_fs_items *items, uint32_t size, struct plait_fs_search *search);
/* Claims an inode for the caller and resets it, except for generation, links and times. NULL: none is free. */
struct plait_inode *plait__fs_new_inode(
    struct plait_fs_thread *mine, enum plait_fs_kind kind, uint32_t mode, double now, int *error);
/* Releases an inode that was claimed and not published, or that was freed. */
void plait__fs_release_inode(struct plait_inode *inode);
/* Stages the publication of a claimed inode: from the commit on it is in use. */
void plait__fs_stage_born(struct plait_fs_thread *mine, struct plait_inode *inode);
/* After the commit: other threads may claim the inode that it freed. */
void plait__fs_release_owner(struct plait_fs_thread *mine);
/* The root directory. pre: some thread has entered fs. */
struct plait_inode *plait__fs_root_inode(void);
/* Whether `above` is `node` or an ancestor of it. pre: `rename` is held, or no directory between them can move. */
int plait__fs_is_above(struct plait_inode *above, struct plait_inode *node);
/*
 * Whether another `bytes` and `files` are within the limits. If so, they are reserved for the calling thread. The
 * caller calls plait__fs_quota_release() when a transaction has counted them, or when there will be none.
 */
int plait__fs_quota_reserve(struct plait_fs_thread *mine, uint64_t bytes, uint32_t files);
/* Ends the reservation. release: a thread that sees it ended also sees the counts of the transaction. */
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
/* Whether everything that was read so far is consistent. Call it before following a reference that was read. */
static inline int plait__fs_read_valid(const struct plait__fs_read *read) {
  return plait_load(&read->inode->sequence) == read->sequence;
}

/* ---- open_file.c ---- */

struct plait_fs_open *plait__fs_descriptor(uint32_t fd);
/* The open descriptor; NULL if it is not open or is a mounted file's. `node`: the open inode. */
struct plait_fs_open *plait__fs_open_at(int fd, struct plait__fs_node *node);
/* The same, if it is the opening with these `uses` (0: any). */
struct plait_fs_open *plait__fs_open_as(int fd, uint32_t uses, struct plait__fs_node *node);
/* The `position` word of the opening with these `uses`, and the position in it. */
static inline uint64_t plait__fs_tag_position(uint32_t uses, uint64_t position) {
  return (uint64_t)uses << PLAIT_FS_POSITION_BITS | position;
}
static inline uint64_t plait__fs_position(uint64_t word) {
  return word & ((1ull << PLAIT_FS_POSITION_BITS) - 1);
}
/* Whether the descriptor is still open on the node, since it had these `uses`. Under the inode's lock. */
int plait__fs_is_still_open(struct plait_fs_open *open, struct plait__fs_node node, uint32_t uses);
/* Claims a free descriptor for the caller, and releases it. -PLAIT_ENFILE. */
int plait__fs_claim_descriptor(struct plait_fs_thread *mine);
void plait__fs_free_descriptor(uint32_t fd);
/*
 * Gives a descriptor that the thread has opened to its program, if it has one. After the transaction: until then, a
 * journal that is applied again would change what the program's recovery has closed.
 */
void plait__fs_hand_over(struct plait_fs_thread *mine, uint32_t fd);
/* Stages the opening of a descriptor on the node. */
void plait__fs_stage_open(
    struct plait_fs_thread *mine, uint32_t fd, uint32_t state, struct plait__fs_node node, uint32_t flags);

/* ---- directory.c ---- */

struct plait__fs_name {
  const uint8_t *bytes;
  uint32_t length, hash;
};

uint32_t plait__fs_hash(const uint8_t *bytes, uint32_t length);
/*
 * Finds the inode of a name, and its directory record if `record` is not null. 0, -PLAIT_ENOENT, -PLAIT_ENOTDIR,
 * -PLAIT_ETIMEDOUT.
 */
int plait__fs_lookup(struct plait__fs_node directory, struct plait__fs_name name, struct plait__fs_node *found,
    struct plait_fs_directory_record **record);
/*
 * Replaces a full directory table by a larger one. pre: no lock is held. 0, -PLAIT_ENOENT, -PLAIT_ENOSPC,
 * -PLAIT_ETIMEDOUT.
 */
int plait__fs_make_room(struct plait_fs_thread *mine, struct plait__fs_node directory);
int plait__fs_has_room(struct plait_inode *directory);
/* Reserves a directory entry; 0 without memory. */
plait_ref_t plait__fs_new_entry(struct plait_fs_thread *mine, struct plait__fs_name name);
/* Makes the directory entry refer to `node`. */
void plait__fs_fill_entry(plait_ref_t entry, struct plait__fs_node node);
/*
 * Stages one change of a directory: insert a directory entry, remove a directory record, or replace its entry. Under
 * the directory's lock; the directory is a target of the transaction.
 */
void plait__fs_stage_insert(
    struct plait_fs_thread *mine, struct plait_inode *directory, struct plait__fs_name name, plait_ref_t entry);
void plait__fs_stage_remove(
    struct plait_fs_thread *mine, struct plait_inode *directory, struct plait_fs_directory_record *record);
void plait__fs_stage_replace(struct plait_fs_thread *mine, struct plait_fs_directory_record *record, plait_ref_t entry);
void plait__fs_stage_times(struct plait_fs_thread *mine, struct plait_inode *inode, double now, int contents);
/*
 * Lists names after the cursor into the thread's scratch block. Returns their number, or an error of plait_fs_list().
 * Call it between plait__fs_read_begin() and plait__fs_read_retry().
 */
int plait__fs_list_into(
    struct plait_fs_thread *mine, struct plait__fs_read *read, struct plait__fs_node node, uint64_t cursor);
/* Puts the name after the cookie into `result` and the scratch block: as plait_fs_next_at(), and called as above. */
int plait__fs_next_into(
    struct plait_fs_thread *mine, struct plait__fs_read *read, struct plait__fs_node node, uint64_t cookie);
static inline plait_word_t *plait__fs_cells(struct plait_fs_table *table, uint32_t capacity) {
  return (plait_word_t *)&table->records[capacity];
}

/* ---- path.c ---- */

/* The result of a walk along a path, or a descriptor. */
struct plait__fs_place {
  /* directory of the last name; null inode: the path ends in . or .., or is the root */
  struct plait__fs_node parent;
  struct plait__fs_name name; /* the last name; in a mount without bytes: the directory itself */
  struct plait__fs_node node; /* the inode found; null inode: nothing has this name */
  int slash;                  /* the path ends in a slash, so it must be a directory */
  int dots;                   /* 1: the path ends in ".", 2: in "..", 3: it is the root, of space or mount */
  /* The rest is set in mounts only, where `parent` and `node` are not. */
  uint32_t mount;     /* number of the mount */
  uint32_t directory; /* the backend's directory */
  int fd;             /* the descriptor that the place is; -1: a path */
  uint32_t uses;      /* descriptor: its `uses` */
  int kind;       /* enum plait_fs_kind, and `result` has the attributes; NONE: nothing has this name; -1: not asked */
  int covers;     /* with NAME: 1: the name is a mount's path, 2: mounts are inside */
  int read_only;  /* nothing may be changed */
  uint32_t where; /* bytes of its path in `where` of the thread's record; with REAL in memory, too */
};

/* What a function returns for a place in a mount, so that memory pays for no further comparison. */
#define PLAIT__FS_IN_MOUNT 1
/* Whether it has: never in a program without mounts, so what follows is not compiled there. */
#define PLAIT__FS_IS_IN_MOUNT(rc) (PLAIT_FS_MOUNTS && (rc) > 0)

/* open_file.c: whether the descriptor is a mounted file's, with these `uses` (0: any): PLAIT__FS_IN_MOUNT, -PLAIT_EBADF. */
int plait__fs_find_mounted(int fd, uint32_t uses, struct plait__fs_place *place);

enum plait__fs_walk {
  PLAIT__FS_FOLLOW = 1, /* follow a symbolic link at the end */
  PLAIT__FS_NAME = 4,   /* the last name itself is meant: never follow it, with or without a slash */
  /* the directory at the end is meant, not a mount that covers it; NAME implies this */
  PLAIT__FS_COVER = 16,
  PLAIT__FS_PLAIN = 32, /* -PLAIT_ELOOP for a symbolic link on the way, or at the end with FOLLOW */
  /* a file may be created: -PLAIT_EISDIR for a last name with a slash after it, in the path or in a link */
  PLAIT__FS_MAKE = 8,
  PLAIT__FS_REAL = 64,     /* keeps the real path in `where`, and notes as plait_fs_real() */
  PLAIT__FS_BY_TEXT = 128, /* with REAL: see plait_fs_real() */
  PLAIT__FS_MEMORY = 256,  /* -PLAIT_EAGAIN if the path leads into a mount: `rename` is held */
};

/*
 * 0, even if nothing is at the end of the path; PLAIT__FS_IN_MOUNT: the same in a mount, where the caller leaves the
 * backend's directories (plait__fs_leave()); negative: the walk failed.
 */
int plait__fs_walk(struct plait_fs_thread *mine, const struct plait_fs_at *at, int how, struct plait__fs_place *place);
/* Finds the file of a descriptor or a path: as above, but -PLAIT_ENOENT in memory if there is none. */
int plait__fs_find(
    struct plait_fs_thread *mine, const struct plait_fs_at *at, int follow, struct plait__fs_place *place);

/* A path of the caller of a function that is exported, in `first` or `second`: it may start at a directory of its own. */
static inline struct plait_fs_at plait__fs_given(struct plait_fs_thread *mine, uint32_t length) {
  return (struct plait_fs_at){
      .fd = -1, .length = length, .start = plait_get(&mine->from), .start_uses = plait_get(&mine->from_uses)};
}
static inline struct plait_fs_at plait__fs_given_second(struct plait_fs_thread *mine, uint32_t length) {
  return (struct plait_fs_at){.fd = -1,
      .length = length,
      .second = 1,
      .start = plait_get(&mine->second_from),
      .start_uses = plait_get(&mine->second_from_uses)};
}
/* The same for a target: a descriptor, or -1 - n for the path of n bytes. */
static inline struct plait_fs_at plait__fs_given_target(struct plait_fs_thread *mine, int target) {
  return target >= 0 ? (struct plait_fs_at){.fd = target} : plait__fs_given(mine, (uint32_t)(-1 - target));
}

/* Leaves all directories of the backend, that walks have entered. Returns rc. */
int plait__fs_leave(int rc);

/* ---- contents.c ---- */

/* Reads at one instant. Returns the number of bytes, and the file's size in `size`. */
int64_t plait__fs_contents_read(
    struct plait__fs_node node, uint64_t position, plait_ref_t to, uint32_t length, uint64_t *size);
int64_t plait__fs_contents_read_outside(
    struct plait__fs_node node, uint64_t position, uint32_t to, uint32_t length, uint64_t *size);
/*
 * Writes, and locks the inode meanwhile. `open`: the descriptor whose file position moves, or null; `uses`: which
 * opening. `position`: UINT64_MAX is the end of the file, UINT64_MAX - 1 the file position.
 */
int64_t plait__fs_contents_write(struct plait_fs_thread *mine, struct plait__fs_node node, uint64_t position,
    plait_ref_t from, uint32_t length, struct plait_fs_open *open, uint32_t uses, double now);
/* `extends`: a file that is long enough stays as it is. */
int plait__fs_contents_resize(
    struct plait_fs_thread *mine, struct plait__fs_node node, uint64_t size, int extends, double now);
/* Replaces the whole contents. -PLAIT_EAGAIN: the file is mapped; truncate and write instead. */
int plait__fs_contents_replace(
    struct plait_fs_thread *mine, struct plait__fs_node node, plait_ref_t from, uint32_t length, int given, double now);
/* Stages the removal of all contents. Under the inode's lock; it is a target. */
void plait__fs_stage_empty(struct plait_fs_thread *mine, struct plait_inode *inode);
/*
 * Stages new counts of names and descriptors. If both are 0, the transaction frees the inode and its contents. Under
 * its lock.
 */
void plait__fs_stage_counts(struct plait_fs_thread *mine, struct plait_inode *inode, uint32_t links, uint32_t opens);
/* Pins the file for a mapping: one extent holds all bytes, and stays in place. pre: no lock is held. */
int plait__fs_contents_pin(struct plait_fs_thread *mine, struct plait__fs_node node, uint32_t fd);
uint64_t plait__fs_contents_held(struct plait_inode *inode);

/* ---- ranges.c ---- */

/*
 * Releases all range locks of the descriptor. 1 if there were any: then the caller calls plait__fs_ranges_signal().
 * Under the inode's lock.
 */
int plait__fs_ranges_release(struct plait_fs_thread *mine, struct plait_inode *inode, uint32_t fd);
/* Wakes the threads that wait for a range lock. */
void plait__fs_ranges_signal(struct plait_inode *inode);

/* ---- mount_list.c ---- */

/* The mount with that number, NULL if there is none. Under `rename`, or while no thread changes mounts. */
struct plait_fs_mount *plait__fs_mount_of(uint32_t number);
/* Whether a mount covers the directory or is inside it. Under `rename`. */
int plait__fs_has_mount(struct plait_inode *directory);

/* What a walk has to know of a mount. */
struct plait__fs_view {
  uint32_t number;
  uint32_t length; /* bytes of its path; 0: the root */
  int read_only;
  int inner; /* whether other mounts are inside it */
};

/* Puts the mount's path into `where`. 0; -PLAIT_ESTALE: it was removed; -PLAIT_ETIMEDOUT. */
int plait__fs_view(struct plait_fs_thread *mine, uint32_t number, struct plait__fs_view *view);
/*
 * Number of the mount at the path of `length` bytes in `where`, 0 none; with `inside`, of any mount there or below.
 * -PLAIT_ETIMEDOUT.
 */
int plait__fs_mount_there(struct plait_fs_thread *mine, uint32_t length, int inside);

/* ---- mounted_files.c ---- */

/* Opens the file at the place, which a walk has found: the descriptor. Leaves the backend's directories. */
int plait__fs_mounted_open(struct plait_fs_thread *mine, struct plait__fs_place *place, uint32_t flags, uint32_t mode);
/* Closes it, whichever thread opened it; with `shared`, one number less refers to it. 0, -PLAIT_EBADF, -PLAIT_ETIMEDOUT. */
int plait__fs_mounted_close(struct plait_fs_thread *mine, uint32_t fd, uint32_t uses, int shared);
int plait__fs_mounted_share(int fd, uint32_t uses);
int plait__fs_mounted_flags(int fd, uint32_t uses, uint32_t flags);
int plait__fs_mounted_extend(struct plait_fs_thread *mine, struct plait__fs_place *place, double size);
int plait__fs_mounted_read(struct plait__fs_place *place, plait_ref_t to, uint32_t length, double position);
int plait__fs_mounted_write(struct plait__fs_place *place, plait_ref_t from, uint32_t length, double position);
double plait__fs_mounted_seek(struct plait_fs_thread *mine, struct plait__fs_place *place, double offset, int whence);
double plait__fs_mounted_read_file(
    struct plait_fs_thread *mine, struct plait__fs_place *place, plait_ref_t to, uint32_t length);
int plait__fs_mounted_write_file(struct plait_fs_thread *mine, struct plait__fs_place *place, uint32_t flags,
    uint32_t mode, plait_ref_t from, uint32_t length);

/* ---- mounted.c: operations at a place in a mount, which leave the backend's directories ---- */

/* Asks what is at the place: 0, -PLAIT_ENOENT, -PLAIT_ENOTDIR for no directory behind a slash. Leaves nothing. */
int plait__fs_mounted_look(struct plait_fs_thread *mine, struct plait__fs_place *place);
int plait__fs_mounted_stat(struct plait_fs_thread *mine, struct plait__fs_place *place);
int plait__fs_mounted_access(struct plait_fs_thread *mine, struct plait__fs_place *place, uint32_t mode);
int plait__fs_mounted_set(
    struct plait_fs_thread *mine, struct plait__fs_place *place, const struct plait_fs_attributes *new);
int plait__fs_mounted_mkdir(struct plait_fs_thread *mine, struct plait__fs_place *place, uint32_t mode);
int plait__fs_mounted_remove(struct plait_fs_thread *mine, struct plait__fs_place *place, int is_rmdir);
int plait__fs_mounted_symlink(struct plait_fs_thread *mine, struct plait__fs_place *place, uint32_t target);
int plait__fs_mounted_readlink(struct plait_fs_thread *mine, struct plait__fs_place *place);
/* Both places, as the walks have found them; `from_rc` and `to_rc`: where, PLAIT__FS_IN_MOUNT or memory. */
int plait__fs_mounted_link(
    struct plait_fs_thread *mine, struct plait__fs_place *from, int from_rc, struct plait__fs_place *to, int to_rc);
int plait__fs_mounted_rename(
    struct plait_fs_thread *mine, struct plait__fs_place *from, int from_rc, struct plait__fs_place *to, int to_rc);
int plait__fs_mounted_list(struct plait_fs_thread *mine, struct plait__fs_place *place, double cursor);
int plait__fs_mounted_next(struct plait_fs_thread *mine, struct plait__fs_place *place, uint64_t cookie);
int plait__fs_mounted_truncate(struct plait_fs_thread *mine, struct plait__fs_place *place, double size);

/* ---- tree.c ---- */

/*
 * Publishes a new inode under the name of the place, in one transaction. `fd`: also opens it under this descriptor;
 * UINT32_MAX: none. pre: the caller has claimed the inode.
 */
int plait__fs_publish(struct plait_fs_thread *mine, struct plait__fs_place *place, struct plait_inode *inode,
    uint32_t fd, uint32_t flags, double now);

/* ---- open.c ---- */

/*
 * Closes a descriptor of any thread. `state`: the required state, 1 open or 2 a mapping; 0: any. `uses`: the opening
 * that is meant, 0 any. With state 1 and `uses`, one number less refers to it: see plait_fs_close_as().
 */
int plait__fs_close_number(struct plait_fs_thread *mine, uint32_t fd, uint32_t state, uint32_t uses);
/* Removes all watchers of the thread that owns the thread record. 0, -PLAIT_ETIMEDOUT. */
int plait__fs_unwatch(struct plait_fs_thread *record);

#endif
