/*
 * fs: files for every thread of a space: inodes, directories, symbolic links, descriptors. No thread owns any of them.
 *
 * Reading: a seqlock. Readers take no lock and write nothing. The `sequence` of an inode is odd while a writer changes
 * it. A reader compares it before and after, and reads again if it differs. A reader that is overtaken again and again
 * takes the lock. Memory that was freed meanwhile is still readable, and the reader discards the bytes. Inodes and
 * descriptors are never freed or used for anything else. So lookups allocate nothing, readers never exclude each other,
 * and a reader that exits leaves nothing to repair.
 *
 * Writing: a writer holds the inode's robust lock (lock.h); it takes several locks in the order of their addresses. A
 * change that other threads can see is a transaction: a list of stores in the thread's journal (struct
 * plait_fs_thread). One store to `state` commits it. After a thread has exited, the next thread that takes one of its
 * locks, or recovers it, completes a committed transaction. It frees the reserved blocks of one that was not committed.
 * Each operation happens wholly or not at all. Exception: a write over existing bytes may stop in the middle, as in
 * POSIX.
 *
 * Blocks are allocated before a lock is taken, so the memory never grows under a lock. Lock order: see lock.h.
 *
 * Conventions. Functions return zero or a count, or a negative error number, which is Linux's. Any thread that has
 * entered may call any of them. The caller puts paths, as bytes, into `first` and `second` of its thread record. `now`
 * is in milliseconds since 1970. A path starts at the root, with or without a leading slash; without one, it starts at
 * the mounted directory in `from`, if there is one. Paths may lead into mounts, whose files a backend holds (backend.h):
 * each function does there what it does in memory, or returns the backend's error.
 */
#ifndef PLAIT_FS_FS_H
#define PLAIT_FS_FS_H

#include "../heap/heap.h"
#include "at.h"

#define PLAIT_FS_PATH_MAX 4096u
#define PLAIT_FS_NAME_MAX 255u
#define PLAIT_FS_LINK_DEPTH 40u
#define PLAIT_FS_SCRATCH 65536u
#define PLAIT_FS_POSITION_BITS 54u
#define PLAIT_FS_MOUNT_MAX 20480u
#define PLAIT_FS_CHUNK_ITEMS 64u
#define PLAIT_FS_CHUNK_TABLE_SIZE 1024u
#define PLAIT_FS_CHUNK_TABLE_LIMIT 64u
#define PLAIT_FS_STORE_LIMIT 64u
#define PLAIT_FS_RESERVED_LIMIT 8u
#define PLAIT_FS_DEFERRED_LIMIT 8u
#define PLAIT_FS_TARGET_LIMIT 4u

/* What an inode is: the low two bits of its `generation_kind`. */
enum plait_fs_kind {
  PLAIT_FS_NONE = 0,       /* free */
  PLAIT_FS_FILE = 1,       /* a regular file */
  PLAIT_FS_DIRECTORY = 2,  /* a directory */
  PLAIT_FS_SYMLINK = 3,    /* a symbolic link */
  PLAIT_FS_FIFO = 4,       /* what only mounts have: a pipe with a name */
  PLAIT_FS_SOCKET = 5,     /* a socket with a name */
  PLAIT_FS_CHARACTERS = 6, /* a device for characters */
  PLAIT_FS_BLOCKS = 7,     /* a device for blocks */
};

/* Flags of plait_fs_open(): Linux's numbers. */
enum plait_fs_flag {
  PLAIT_FS_WRONLY = 1,        /* for writing */
  PLAIT_FS_RDWR = 2,          /* for both */
  PLAIT_FS_CREAT = 64,        /* made if it is not there */
  PLAIT_FS_EXCL = 128,        /* with CREAT: it must not be there */
  PLAIT_FS_TRUNC = 512,       /* emptied */
  PLAIT_FS_APPEND = 1024,     /* each write goes to the end */
  PLAIT_FS_MUST_DIR = 65536,  /* O_DIRECTORY: it must be a directory */
  PLAIT_FS_NOFOLLOW = 131072, /* it must not be a symbolic link */
  PLAIT_FS_HOLD = 2097152,    /* O_PATH: only a place for paths to start at; for mounted directories */
};

/* What plait_fs_set() is to change: bits of its mask. */
enum plait_fs_set_bit {
  PLAIT_FS_SET_MODE = 1,   /* permission bits */
  PLAIT_FS_SET_UID = 2,    /* owner */
  PLAIT_FS_SET_GID = 4,    /* group */
  PLAIT_FS_SET_ATIME = 8,  /* time of the last access */
  PLAIT_FS_SET_MTIME = 16, /* time of the last change of the contents */
};

/*
 * A file, a directory or a symbolic link. `generation_kind`, `sequence` and `lock` are always valid. The other fields
 * are valid only as long as `generation_kind` does not change.
 */
struct plait_inode {
  plait_word_t generation_kind; /* generation << 2 | enum plait_fs_kind */
  plait_word_t sequence;        /* seqlock: odd during a change; increases by two with each change */
  struct plait_lock lock;       /* held by the thread that changes the inode */
  plait_word_t links;           /* its names; for a directory also "." and one ".." for each directory in it */
  plait_word_t opens;           /* descriptors that are open on it */
  plait_word_t mode;            /* permission bits */
  plait_word_t uid;             /* owner */
  plait_word_t gid;             /* group */
  plait_word_t pins;            /* mappings of its first extent */
  plait_word_t block;           /* file: first extent, from byte 0 on; symlink: target; directory: table; 0 none */
  plait_word_t length;          /* file: bytes that `block` has room for */
  plait_word_t map;             /* file: further extents, 0 none */
  plait_word_t parent;          /* directory: the directory that contains it */
  plait_word_t live;            /* directory: number of names in it */
  plait_word_t ranges;          /* first of the locks on byte ranges, 0 none */
  plait_word_t signal;          /* increases when a range is unlocked; waiting threads sleep on it */
  plait_word_t number;          /* number of the inode; 0 is the root directory */
  plait_word64_t cookie;        /* directory: cookie of the name that was created last */
  plait_word64_t size;          /* bytes; directory: total bytes of its names */
  plait_word64_t atime;         /* nanoseconds since 1970, when created or set; reading does not change it */
  plait_word64_t mtime;         /* when the contents last changed */
  plait_word64_t ctime;         /* when anything last changed */
  plait_word64_t birthtime;     /* when it was created */
  plait_word_t mount;           /* directory: number of the mount that covers it, 0 none */
  plait_word_t unused;          /* zero */
};
_Static_assert(sizeof(struct plait_inode) == 128, "two cache lines");

/* Bytes of a file that lie in one block. Bytes that no extent covers are zero. */
struct plait_fs_extent {
  plait_word64_t offset; /* of its first byte in the file */
  plait_word_t length;   /* bytes */
  plait_word_t block;    /* the block that holds them */
};

/* The extents of a file after its first, in the order of their offsets. They do not overlap. */
struct plait_fs_map {
  plait_word_t capacity;            /* extents that fit */
  plait_word_t count;               /* extents in use */
  plait_word64_t unused;            /* zero */
  struct plait_fs_extent extents[]; /* the extents */
};

/* One name in a directory. Directory records are authoritative; the index behind them is derived from them. */
struct plait_fs_directory_record {
  plait_word_t entry;    /* block of the directory entry, 0: removed */
  plait_word_t hash;     /* of the name */
  plait_word64_t cookie; /* number of the name, in order of creation within the directory */
};

/* A directory's names in order of creation, followed by an index with at least 2 * capacity cells. */
struct plait_fs_table {
  plait_word_t capacity;                      /* directory records that fit */
  plait_word_t count;                         /* directory records in use, including removed ones */
  plait_word_t mask;                          /* number of index cells minus one; a power of two minus one */
  plait_word_t unused;                        /* zero */
  struct plait_fs_directory_record records[]; /* then the cells: 0, or 1 + the index of a directory record */
};

/* A directory entry: a name and the inode that it names. */
struct plait_fs_entry {
  plait_word_t inode;           /* the inode that it names */
  plait_word_t generation_kind; /* the inode's, when it was named: later generations are other files */
  plait_word_t length;          /* bytes of the name */
  plait_word_t name[];          /* the bytes, padded with zeros to a whole word */
};

/* A lock on a range of a file's bytes. It belongs to a descriptor. Only locks of one family exclude each other. */
struct plait_fs_range {
  plait_word_t next;      /* next lock on the same inode */
  plait_word_t fd;        /* descriptor */
  plait_word_t exclusive; /* 1: exclusive; 0: shared */
  plait_word_t family;    /* PLAIT_FS_FLOCK: of flock(); 0: of a range */
  plait_word64_t start;   /* first byte */
  plait_word64_t end;     /* first byte after the range */
};

/* State of a descriptor. */
enum plait_fs_open_state {
  PLAIT_FS_CLOSED = 0,  /* not open */
  PLAIT_FS_OPEN = 1,    /* open */
  PLAIT_FS_MAPPED = 2,  /* a mapping */
  PLAIT_FS_MOUNTED = 3, /* open on a mounted file: a backend performs its operations */
};

/* An open file. */
struct plait_fs_open {
  plait_word_t state;           /* enum plait_fs_open_state */
  plait_word_t inode;           /* the open inode; 0 for a mounted file */
  plait_word_t generation_kind; /* the inode's, when it was opened */
  plait_word_t flags;           /* enum plait_fs_flag */
  /*
   * the low PLAIT_FS_POSITION_BITS: the file position, where the next read or write without a position starts; above
   * them the low bits of `uses`, so that a compare-and-swap never moves the position of another opening
   */
  plait_word64_t position;
  plait_word_t uses;     /* increases each time the descriptor is opened or closed */
  plait_word_t mount;    /* mounted file: number of the mount */
  plait_word64_t device; /* mounted file: with `file`, identifies it in the backend */
  plait_word64_t file;   /* mounted file: see `device` */
  plait_word_t host;     /* mounted file: the backend's descriptor in the opening thread */
  plait_word_t sharers;  /* how many more numbers a WASI program has for this opening */
  plait_word_t place;    /* mounted directory: block with its path without links, 0 none */
  plait_word_t length;   /* mounted directory: bytes of that path */
};
_Static_assert(sizeof(struct plait_fs_open) == 64, "one cache line");

/*
 * Inodes, or descriptors, in chunks of 64, which chunk tables lead to. Chunks are never freed. A chunk starts with one
 * owner word for each item: 0 free; 1 an inode in use; else the id of the thread that creates or frees the inode, or
 * that opened the descriptor. A program's descriptors have its id, which is that of a slot without a thread.
 */
struct plait_fs_items {
  plait_word_t count;                                    /* number of chunks */
  plait_word_t chunk_tables[PLAIT_FS_CHUNK_TABLE_LIMIT]; /* tables of the references of 1024 chunks each */
};

/* Where a thread searches for a free inode or descriptor: see plait__fs_claim(). */
struct plait_fs_search {
  plait_word_t at;     /* number of the item to check first; then the rest of its chunk */
  plait_word_t next;   /* the chunk to search after that */
  plait_word_t credit; /* how many items of other chunks may be checked before a chunk is added */
};

/* One store of a transaction. */
struct plait_fs_store {
  plait_word_t at;      /* the word to store to */
  plait_word_t wide;    /* 1: eight bytes; 0: four */
  plait_word64_t value; /* the value to store */
};

/* A deferred free: what is freed after the transaction has been applied. */
struct plait_fs_deferred_free {
  plait_word_t block; /* the block */
  plait_word_t from;  /* map of extents: index of the first extent to free */
  plait_word_t to;    /* map of extents: index after the last one to free */
  plait_word_t whole; /* 1: the block itself is freed after that */
};

/*
 * A mount: a directory whose contents a backend serves. The core knows its path, not its contents: see mounts.c. Mounts
 * form a list, newest first, that changes under `rename`.
 */
struct plait_fs_mount {
  plait_word_t next;      /* the next older mount, 0 none */
  plait_word_t number;    /* number of the mount, from 1; never reused */
  plait_word_t inode;     /* the directory that it covers; 0 if that is in another mount */
  plait_word_t above;     /* number of the mount that contains the covered directory, 0 none */
  plait_word_t read_only; /* 1: nothing in it can be changed */
  plait_word_t place;     /* bytes of its path in `text`; the path stays valid: no directory above it can be moved */
  plait_word_t length;    /* bytes of `text`: the path, then the binding's description of the backend */
  plait_word_t text[];    /* the bytes */
};

/* Results of a function other than its return value. */
struct plait_fs_result {
  plait_word_t kind;   /* enum plait_fs_kind */
  plait_word_t mode;   /* permission bits */
  plait_word_t links;  /* names */
  plait_word_t uid;    /* owner */
  plait_word_t gid;    /* group */
  plait_word_t number; /* number of the inode */
  /* bytes; plait_fs_list: cookie of the newest name, a cursor for names that are created later */
  plait_word64_t size;
  plait_word64_t held;      /* bytes of memory, or of the backend's store, that hold the contents */
  plait_word64_t atime;     /* see struct plait_inode */
  plait_word64_t mtime;     /* see struct plait_inode */
  plait_word64_t ctime;     /* see struct plait_inode */
  plait_word64_t birthtime; /* see struct plait_inode */
  plait_word64_t cursor;    /* plait_fs_list: where the next call continues; 0 at the end */
  plait_word_t ascii;       /* plait_fs_list: 1 if every name is ASCII */
  /* plait_fs_list: bytes of names; plait_fs_stat: the inode's sequence; plait_fs_real, plait_fs_hold: bytes of a path */
  plait_word_t bytes;
  /* reference. plait_fs_map: the bytes; plait_fs_stat, plait_fs_list: the inode, 0 in a mount */
  plait_word_t block;
  plait_word_t mount;      /* plait_fs_stat: number of the mount that contains the file, 0 memory */
  plait_word_t block_size; /* plait_fs_stat in a mount: best size of a read or write */
  plait_word64_t device;   /* plait_fs_stat in a mount: with `file`, identifies the file in the backend */
  plait_word64_t file;     /* plait_fs_stat in a mount: see `device` */
  plait_word64_t special;  /* plait_fs_stat in a mount: number of the device, if the file is one */
};

/*
 * The thread record of fs: journal, counters and buffers of one slot. It stays when the thread exits, and the next
 * thread in the slot uses it.
 */
struct plait_fs_thread {
  plait_word_t thread;    /* id of the thread that owns the record; 0 none */
  struct plait_lock lock; /* held by a thread that recovers the journal of an exited thread; the owner needs no lock */
  /*
   * 0: not committed, and nothing else refers to `reserved_blocks`; 1: committed, the stores must be applied; 2: they
   * are applied, and `deferred_frees` must be freed
   */
  plait_word_t state;
  plait_word_t target_count;                                             /* number of `targets` */
  plait_word_t store_count;                                              /* number of `stores` */
  plait_word_t reserved_count;                                           /* number of `reserved_blocks` */
  plait_word_t deferred_count;                                           /* number of `deferred_frees` */
  plait_word_t targets[PLAIT_FS_TARGET_LIMIT];                           /* inodes that the transaction changes */
  plait_word_t reserved_blocks[PLAIT_FS_RESERVED_LIMIT];                 /* allocated for an uncommitted transaction */
  struct plait_fs_deferred_free deferred_frees[PLAIT_FS_DEFERRED_LIMIT]; /* freed after the transaction */
  struct plait_fs_store stores[PLAIT_FS_STORE_LIMIT];                    /* the transaction */
  /* bytes of file contents that threads of this slot added, minus those they freed; the sum over all slots is in use */
  plait_word64_t held;
  plait_word64_t quota_bytes;       /* bytes reserved against `limit_bytes`, which a transaction will count in `held` */
  plait_word_t files;               /* inodes, counted like `held` (wraps) */
  plait_word_t quota_files;         /* inodes reserved against `limit_files` */
  plait_word_t watching;            /* how often the thread is counted in `watchers` of struct plait_fs */
  struct plait_fs_search inodes;    /* search for a free inode */
  struct plait_fs_search opens;     /* search for a free descriptor */
  plait_word_t scratch;             /* block of PLAIT_FS_SCRATCH bytes: buffer for reading, writing and listing */
  plait_word_t released_owner;      /* owner word of an inode that was freed and cannot be claimed yet */
  plait_word_t keep;                /* how many of `reserved_blocks`, from the first, are for a later transaction */
  plait_word_t owner;               /* owner of what the thread opens: a program's thread id; 0: the thread itself */
  struct plait_fs_result result;    /* results of the last call */
  uint8_t first[PLAIT_FS_PATH_MAX]; /* the path of a call, or the first of two */
  uint8_t second[PLAIT_FS_PATH_MAX]; /* the second path of a call */
  uint8_t links[8192];               /* two paths with links substituted, used alternately */
  uint8_t names[512];                /* last names of both paths */
  uint8_t where[PLAIT_FS_PATH_MAX];  /* in mounts, and in plait_fs_real(): the path without links of where a walk is */
  plait_word_t crossed;              /* plait_fs_real(): whether the walk was in a mount */
  plait_word_t reached;              /* plait_fs_real(): bytes in `second` */
  plait_word_t in_link;              /* plait_fs_real(): whether it ended in the text of a link */
  plait_word_t winds;                /* plait_fs_real(): whether `by_text` might make a difference */
  plait_word_t from;                 /* mounted directory where `first` starts if it has no leading slash, 0 none */
  plait_word_t from_uses;            /* its `uses` */
  plait_word_t second_from;          /* the same for `second` */
  plait_word_t second_from_uses;     /* its `uses` */
};

/* The root structure of the module fs. */
struct plait_fs {
  struct plait_lock tables; /* held while a chunk of inodes or descriptors is added */
  /* held while a directory moves into another one (see `moves`), or a mount or a watcher is added or removed */
  struct plait_lock rename;
  plait_word_t limit_files;               /* maximum number of inodes, 0 no limit */
  plait_word_t changes;                   /* increases with each change while there are watchers */
  plait_word_t watchers;                  /* number of watchers */
  plait_word_t mounts;                    /* the newest mount, 0 none */
  plait_word_t mount_count;               /* number of the newest mount, removed ones included */
  plait_word_t mount_changes;             /* increases when a mount is added or removed */
  plait_word_t mounted_closes;            /* increases when a descriptor of a mounted file is closed */
  plait_word_t moves;                     /* 1: directories move only under `rename`, because there has been a mount */
  plait_word64_t limit_bytes;             /* maximum bytes of file contents, 0 no limit */
  struct plait_fs_items inodes;           /* all inodes */
  struct plait_fs_items opens;            /* all descriptors */
  plait_word_t threads[PLAIT_SLOT_LIMIT]; /* each slot's struct plait_fs_thread, 0 none yet */
};

/* Faults that a check finds. */
enum plait_fs_fault_kind {
  PLAIT_FS_FAULT_NONE = 0,        /* nothing */
  PLAIT_FS_FAULT_INODE = 1,       /* an inode is inconsistent */
  PLAIT_FS_FAULT_LINKS = 2,       /* an inode's count of names is wrong */
  PLAIT_FS_FAULT_OPENS = 3,       /* an inode's count of descriptors is wrong */
  PLAIT_FS_FAULT_TABLE = 4,       /* a directory's table is wrong */
  PLAIT_FS_FAULT_ENTRY = 5,       /* a name does not name a live inode, or is not found */
  PLAIT_FS_FAULT_EXTENT = 6,      /* an extent is no live block, or overlaps another */
  PLAIT_FS_FAULT_LOST = 7,        /* an inode has no name and is not open, or its owner has exited */
  PLAIT_FS_FAULT_HELD = 8,        /* the count of bytes or of inodes is wrong */
  PLAIT_FS_FAULT_JOURNAL = 9,     /* a journal without an owner is not empty */
  PLAIT_FS_FAULT_DESCRIPTOR = 10, /* a descriptor names no live inode, or its owner has exited */
  PLAIT_FS_FAULT_RANGE = 11,      /* a lock belongs to a descriptor that is not open on the file */
  PLAIT_FS_FAULT_MOUNT = 12,      /* a mount covers no live directory, or is not in the list */
};

/* The fs root of this process's space: in wasm32 a static of the module, natively at `fs` of struct plait_space. */
#ifdef __wasm__
extern struct plait_fs plait__fs_root;
static inline struct plait_fs *plait_fs(void) {
  return &plait__fs_root;
}
#else
static inline struct plait_fs *plait_fs(void) {
  return plait_at(plait_get(&plait_space()->fs));
}
#endif

/*
 * Returns the calling thread's fs record and creates it at the first call; 0 without memory. Every other function
 * requires it.
 */
plait_ref_t plait_fs_enter(void);

/*
 * The functions whose names end in `_at` act on a struct plait_fs_at. Each has a short form without it, which starts at
 * the root. There `target` is a descriptor, or -1 - n for the path of n bytes in `first`. `follow`: a symbolic link at
 * the end of the path is followed.
 */
#define PLAIT_FS_PATH(length) (-1 - (int)(length))

/* Lets the path start at an open directory. 0, -PLAIT_EBADF, -PLAIT_ENOTDIR. */
int plait_fs_start_at(struct plait_fs_at *at, int fd, uint32_t uses);

/* Opens the path of `length` bytes in `first`. `mode`: permission bits of a new file. Returns a descriptor. */
int plait_fs_open(uint32_t length, uint32_t flags, uint32_t mode, double now);
int plait_fs_open_at(const struct plait_fs_at *at, uint32_t flags, uint32_t mode, double now);
/* -PLAIT_EBADF also for a mapping, so that a stale descriptor number cannot close one. */
int plait_fs_close(int fd);

/* The `uses` of an opening, 0 if the descriptor is not open. */
uint32_t plait_fs_uses(int fd);

/* As plait_fs_close(), of the opening with these `uses`. If others share it, there is one sharer less instead. */
int plait_fs_close_as(int fd, uint32_t uses);

/* One more number refers to the opening, until plait_fs_close_as(). 0, -PLAIT_EBADF. */
int plait_fs_share(int fd, uint32_t uses);

/* The flags of an opening, and setting those that can change (PLAIT_FS_APPEND). -PLAIT_EBADF. */
int plait_fs_flags(int fd, uint32_t uses);
int plait_fs_set_flags(int fd, uint32_t uses, uint32_t flags);

/*
 * Reads up to `length` bytes to `to`, from `position`, or from the file position if `position` is negative. Returns the
 * count. All bytes are those of one instant.
 */
int plait_fs_read(int fd, plait_ref_t to, uint32_t length, double position);
int plait_fs_read_as(int fd, uint32_t uses, plait_ref_t to, uint32_t length, double position);

/* Writes, with `position` as in plait_fs_read(). All or nothing. */
int plait_fs_write(int fd, plait_ref_t from, uint32_t length, double position, double now);
int plait_fs_write_as(int fd, uint32_t uses, plait_ref_t from, uint32_t length, double position, double now);

/* Returns the file's size, and copies up to `length` bytes of its contents to `to`, at one instant. */
double plait_fs_read_file(int target, plait_ref_t to, uint32_t length);

/*
 * Opens, writes and closes. `given`: `from` is a block from plait_fs_tx_reserve(), whose ownership moves to fs even if
 * the call fails. -PLAIT_EBADF: the flags do not include writing.
 */
int plait_fs_write_file(
    uint32_t path, uint32_t flags, uint32_t mode, plait_ref_t from, uint32_t length, int given, double now);

/*
 * Reserves a block for the caller to fill. If the thread exits before it passes the block on or unreserves it, recovery
 * frees the block. 0: no memory, or one is reserved already.
 */
plait_ref_t plait_fs_tx_reserve(uint32_t size);
void plait_fs_tx_unreserve(void);

/* Sets the file position and returns it. `whence`: 0 from the start, 1 from the position, 2 from the end. */
double plait_fs_seek(int fd, double offset, int whence);
double plait_fs_seek_as(int fd, uint32_t uses, double offset, int whence);

/* Describes the target in `result`. */
int plait_fs_stat(int target, int follow);
int plait_fs_stat_at(const struct plait_fs_at *at, int follow);

/* 0 if the path exists and permits `mode` (4 read, 2 write, 1 execute). */
int plait_fs_access(uint32_t length, uint32_t mode);
int plait_fs_access_at(const struct plait_fs_at *at, uint32_t mode);

int plait_fs_mkdir(uint32_t length, uint32_t mode, double now);
int plait_fs_mkdir_at(const struct plait_fs_at *at, uint32_t mode, double now);
int plait_fs_rmdir(uint32_t length, double now);
int plait_fs_unlink(uint32_t length, double now);
/* Either of them. */
int plait_fs_remove_at(const struct plait_fs_at *at, int is_rmdir, double now);
/*
 * Removes all that is in the directory, however deep; the directory itself stays. -PLAIT_EBUSY: a mount covers a
 * directory in it. -PLAIT_ENOTDIR: also for a link. -PLAIT_EREMOTE: it is in a mount, where names are removed one by one.
 */
int plait_fs_empty(uint32_t length, double now);
int plait_fs_rename(uint32_t from, uint32_t to, double now);
int plait_fs_rename_at(const struct plait_fs_at *from, const struct plait_fs_at *to, double now);
int plait_fs_link(uint32_t from, uint32_t to, double now);
/* `follow`: a symbolic link at the end of `from` is followed. */
int plait_fs_link_at(const struct plait_fs_at *from, int follow, const struct plait_fs_at *to, double now);

/* Creates a link at the path in `second`, with the text in `first`. */
int plait_fs_symlink(uint32_t target, uint32_t path, double now);
int plait_fs_symlink_at(uint32_t target, const struct plait_fs_at *path, double now);

/* Copies the link's text to the scratch block and returns its length. `result`: `mount`, 0 for memory. */
int plait_fs_readlink(uint32_t length);
int plait_fs_readlink_at(const struct plait_fs_at *at);

int plait_fs_truncate(int target, double size, double now);
int plait_fs_truncate_at(const struct plait_fs_at *at, double size, double now);

/* Makes an open file at least `size` bytes long; the new ones are zeros. -PLAIT_EBADF: also if not open for writing. */
int plait_fs_extend_as(int fd, uint32_t uses, double size, double now);

/* Changes the attributes in `mask`. Times are seconds, and nanoseconds within the second. */
int plait_fs_set(int target, int follow, uint32_t mask, uint32_t mode, uint32_t uid, uint32_t gid, double atime,
    double atime_ns, double mtime, double mtime_ns, double now);

int plait_fs_set_at(const struct plait_fs_at *at, int follow, const struct plait_fs_attributes *new, double now);

/*
 * Lists names of the directory after `cursor` (0: from the start). Names go to the start of the scratch block,
 * separated by slashes; their kinds go to its end, one byte each, downwards. Returns the number of names;
 * `result.cursor` is where the next call continues. A name that exists throughout is listed exactly once, whatever
 * happens to other names.
 */
int plait_fs_list(int target, double cursor);

/*
 * The name after `cookie` (0: the first) of a directory: 1, or 0 at the end. `result`: `kind`, `number` of the inode,
 * `cursor` its cookie, `bytes` of the name, which is in the scratch block. Cookies stay valid as in plait_fs_list().
 */
int plait_fs_next_at(const struct plait_fs_at *at, uint64_t cookie);

/* Puts bytes and inodes in use into `result` (`held`, `number`), and their limits (`size`, `links`). */
int plait_fs_usage(void);
void plait_fs_limit(double bytes, uint32_t files);

/* With `kind` of plait_fs_lock(): a lock of flock(), which is apart from those of fcntl(). */
#define PLAIT_FS_FLOCK 4

/*
 * Locks bytes `start` to `end` of an open file for the descriptor, and replaces its earlier locks there. `kind`: 0
 * unlock, 1 shared, 2 exclusive; with PLAIT_FS_FLOCK in a family of its own. Waits for up to `timeout_ms` (negative:
 * forever). -PLAIT_EAGAIN: another descriptor still has a conflicting lock of that family.
 */
int plait_fs_lock(int fd, int kind, double start, double end, double timeout_ms);
int plait_fs_lock_as(int fd, uint32_t uses, int kind, double start, double end, double timeout_ms);
/*
 * Whether that lock could be taken, which changes nothing: 0, -PLAIT_EAGAIN. `kind`: 1 or 2. The first lock that is in
 * the way is in `result`: `kind`, `size` its start, `held` its end (UINT64_MAX: the end of the file).
 */
int plait_fs_may_lock(int fd, uint32_t uses, int kind, double start, double end);

/* Maps the file's bytes in one block: `result.block`, `result.size`. Returns a descriptor for plait_fs_unmap(). */
int plait_fs_map(int fd);
int plait_fs_unmap(int fd);

/*
 * Mounts a backend over the directory at the path and returns the mount's number. The first `text` bytes of the scratch
 * block describe the backend; only the binding interprets them. The path must be normalized: no dots, no extra slashes.
 * -PLAIT_EBUSY: the path is a mount already. -PLAIT_ELOOP: the path contains a link.
 */
int plait_fs_mount(uint32_t length, uint32_t text, uint32_t read_only);

/*
 * Removes the mount at the path. -PLAIT_EINVAL: there is none. -PLAIT_EBUSY: the mount contains open descriptors or
 * other mounts.
 */
int plait_fs_unmount(uint32_t length);

/*
 * Allocates a block of PLAIT_FS_MOUNT_MAX bytes for plait_fs_mount_text(), which the caller frees; 0 without memory. It
 * comes from the reserve for threads, because even readers need it in a full space.
 */
plait_ref_t plait_fs_mount_buffer(void);

/*
 * Copies the text of the `index`th mount to a block of PLAIT_FS_MOUNT_MAX bytes. Returns the mount's number, or
 * -PLAIT_ENOENT. `result.links`: the mount above; `result.bytes`: length of the path; `result.size`: length of the
 * text.
 */
int plait_fs_mount_text(uint32_t index, plait_ref_t to);

/* Number of the mount that the path leads into, or would; 0: memory. */
int plait_fs_locate(uint32_t length);

/*
 * The real path of an existing file, as the kernel resolves it: in `where`, `result.bytes` long. `result.mount`: its
 * mount, 0 memory. `by_text`: `x/..` in the text of a mount's link is skipped. Words of the thread's record tell more,
 * after an error, too: `crossed`, `in_link`, `winds`; and if the walk was in a mount, `second` has the last name of the
 * path itself that was reached, `reached` bytes long.
 */
int plait_fs_real(uint32_t length, int by_text);

/*
 * Opens a mounted directory, or the directory of a mounted file, as a place for `from`: the descriptor, or 0 if the path
 * leads into memory. `follow`: as for plait_fs_stat(). `result.kind`: of the file; `where`: its path without links,
 * `result.bytes` long. plait_fs_close() ends it.
 */
int plait_fs_hold(uint32_t length, int follow);

/* fsync(), or with `data_only` fdatasync(), of a mounted file; in memory there is nothing to do. */
int plait_fs_sync(int fd, int data_only);
int plait_fs_sync_as(int fd, uint32_t uses, int data_only);

/* The struct plait_fs_open of a mounted file's descriptor, 0 for any other descriptor. */
plait_ref_t plait_fs_mounted(int fd);

/*
 * Adds (1) or removes (-1) a watcher of the calling thread: see `changes` of struct plait_fs. Recovery removes those of
 * an exited thread. 0, -PLAIT_ETIMEDOUT.
 */
int plait_fs_watch(int change);

/*
 * Recovers what an exited thread held in fs. pre: the recovery lock is held, and the thread's slot is EXITED. 0, or
 * -PLAIT_ETIMEDOUT.
 */
int plait_fs_recover(plait_thread_t exited);

/*
 * Checks all structures: 0, or -PLAIT_EILSEQ. `quiescent`: no other thread uses the space; without it, nothing is
 * checked.
 */
int plait_fs_check(int quiescent);

/*
 * The same, quiescent, and counts the heap blocks that fs uses. Any other live block belongs to another module, or is
 * lost.
 */
int plait_fs_census(uint32_t *blocks);

/* The fault that the last check found (enum plait_fs_fault_kind); `at`: where. */
uint32_t plait_fs_fault(uint32_t *at);

#endif
