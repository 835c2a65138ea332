/*
 * fs: files for every thread of a space. Inodes, directories, symbolic links, descriptors; no thread owns any of them.
 *
 * Readers take no lock and write nothing. Each inode has a version, odd while the inode is being changed: who reads
 * looks at it before and after, and reads again if it moved (a reader that is overtaken again and again takes the
 * lock). What has been freed meanwhile is still memory, and what was read there is thrown away; inodes and descriptors
 * never become anything else. So lookups allocate nothing, readers never exclude each other, and a reader that vanishes
 * leaves nothing.
 *
 * Writers hold the inode's lock (lock.h: it outlives its owner), several of them in the order of their addresses. A
 * change that another can see is a list of stores in the thread's journal (struct plait_fs_thread), committed by one
 * store to `state`; after a death whoever meets one of the locks, or recovers the thread, finishes a list that was
 * committed and gives back the blocks of one that was not. Each operation has happened wholly or not at all; only the
 * bytes of a write over existing ones may stop in the middle, as in POSIX.
 *
 * Blocks are allocated before a lock is taken, so the memory never grows under one. Lock order: see lock.h.
 *
 * Functions answer zero or a count, or a negative error number, which is Linux's. All may be called on any thread that
 * has entered; paths are bytes that the caller puts into its record's `first` and `second`; `now` is in milliseconds
 * since
 * 1970. A path starts at the root whether or not it has a slash in front. -PLAIT_EREMOTE: the path leads into a mount,
 *       or
 * the descriptor is a mount's; nothing is done, `result` says where it leads, and the binding goes on from there
 * (mounts.c).
 */
#ifndef PLAIT_FS_FS_H
#define PLAIT_FS_FS_H

#include "../heap/heap.h"

#define PLAIT_FS_PATH_MAX 4096u
#define PLAIT_FS_NAME_MAX 255u
#define PLAIT_FS_LINK_DEPTH 40u
#define PLAIT_FS_SCRATCH 65536u
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
 * A file, a directory or a symbolic link. All but `generation_kind`, `sequence` and `lock` means what it says only
 * while `generation_kind` stays.
 */
struct plait_inode {
  plait_word_t generation_kind; /* generation << 2 | enum plait_fs_kind */
  plait_word_t sequence;        /* odd while it is being changed; up by two with each change */
  struct plait_lock lock;       /* held by who changes it */
  plait_word_t links;           /* names that it has; directory: and "." and one ".." for each directory in it */
  plait_word_t opens;           /* descriptors that it is open under */
  plait_word_t mode;            /* permission bits */
  plait_word_t uid;             /* owner */
  plait_word_t gid;             /* group */
  plait_word_t pins;            /* mappings of its first extent */
  plait_word_t block;           /* file: first extent, from byte 0 on; symlink: target; directory: table; 0 none */
  plait_word_t length;          /* file: bytes that `block` has room for */
  plait_word_t map;             /* file: further extents, 0 none */
  plait_word_t parent;          /* directory: the directory it is in */
  plait_word_t live;            /* directory: how many names are in it */
  plait_word_t ranges;          /* first of the locks on byte ranges, 0 none */
  plait_word_t signal;          /* goes up when such a lock is given back: what others sleep on */
  plait_word_t number;          /* which inode it is: 0 the root directory */
  plait_word64_t cookie;        /* directory: that of the name that was made last */
  plait_word64_t size;          /* bytes; directory: bytes of its names */
  plait_word64_t atime;         /* nanoseconds since 1970: created or set; reading does not change it */
  plait_word64_t mtime;         /* contents changed */
  plait_word64_t ctime;         /* anything changed */
  plait_word64_t birthtime;     /* created */
  plait_word_t mount;           /* directory: number of the mount that covers it, 0 none */
  plait_word_t unused;          /* zero */
};
_Static_assert(sizeof(struct plait_inode) == 128, "two cache lines");

/* Bytes of a file that lie in one block. Where there are none the file is zero. */
struct plait_fs_extent {
  plait_word64_t offset; /* of its first byte in the file */
  plait_word_t length;   /* bytes */
  plait_word_t block;    /* where they are */
};

/* The extents of a file behind its first, in the order of their offsets; they do not overlap. */
struct plait_fs_map {
  plait_word_t capacity;            /* how many there is room for */
  plait_word_t count;               /* how many there are */
  plait_word64_t unused;            /* zero */
  struct plait_fs_extent extents[]; /* the extents */
};

/* One name in a directory: the truth. The index behind the records is made from them. */
struct plait_fs_directory_record {
  plait_word_t entry;    /* block with the name, 0: removed */
  plait_word_t hash;     /* of the name */
  plait_word64_t cookie; /* numbers the names of the directory in the order in which they were made */
};

/* A directory's names, in the order in which they were made, and an index of 2 * capacity cells or more behind them. */
struct plait_fs_table {
  plait_word_t capacity;                      /* records there is room for */
  plait_word_t count;                         /* records in use, removed ones included */
  plait_word_t mask;                          /* cells of the index, less one: a power of two less one */
  plait_word_t unused;                        /* zero */
  struct plait_fs_directory_record records[]; /* the records, then the cells: 0, or the number of a record, from 1 */
};

/* A name and what it names. */
struct plait_fs_entry {
  plait_word_t inode;           /* what it names */
  plait_word_t generation_kind; /* which life of it */
  plait_word_t length;          /* bytes of the name */
  plait_word_t name[];          /* the bytes, and zeros up to a whole word */
};

/* A lock on a range of a file's bytes. Belongs to a descriptor, as those of flock() do. */
struct plait_fs_range {
  plait_word_t next;      /* next lock on the same inode */
  plait_word_t fd;        /* descriptor */
  plait_word_t exclusive; /* 1: nobody else may have it; 0: others may share it */
  plait_word_t unused;    /* zero */
  plait_word64_t start;   /* first byte */
  plait_word64_t end;     /* byte behind the last */
};

/* What a descriptor is. */
enum plait_fs_open_state {
  PLAIT_FS_CLOSED = 0,  /* not open */
  PLAIT_FS_OPEN = 1,    /* open */
  PLAIT_FS_MAPPED = 2,  /* a mapping */
  PLAIT_FS_MOUNTED = 3, /* open behind a mount: a binding does what is done with it */
};

/* An open file. */
struct plait_fs_open {
  plait_word_t state;           /* enum plait_fs_open_state */
  plait_word_t inode;           /* what is open; 0 if it is a mount's */
  plait_word_t generation_kind; /* which life of it */
  plait_word_t flags;           /* enum plait_fs_flag */
  plait_word64_t position;      /* where the next read or write without a place goes */
  plait_word_t uses;            /* goes up each time the descriptor is opened or closed */
  plait_word_t mount;           /* a mount's: its number */
  plait_word64_t device;        /* a mount's: with `file`, what is open, in the backend's numbers */
  plait_word64_t file;          /* a mount's: see `device` */
  plait_word_t host;            /* a mount's: the opener's own descriptor, in the backend's numbers */
  plait_word_t unused[3];       /* zero */
};
_Static_assert(sizeof(struct plait_fs_open) == 64, "one cache line");

/*
 * Inodes, or descriptors: chunks of 64, found through leaves. Chunks are never freed. In front of a chunk's items, a
 * word for each says whose it is: 0 nobody's; 1 an inode in use; else the thread that is making or freeing it, or that
 * opened it.
 */
struct plait_fs_items {
  plait_word_t count;                                    /* chunks there are */
  plait_word_t chunk_tables[PLAIT_FS_CHUNK_TABLE_LIMIT]; /* where the references of each 1024 chunks lie */
};

/* How a thread finds a free inode, or descriptor. See plait__fs_claim(). */
struct plait_fs_search {
  plait_word_t at;     /* number of the item to look at first; then come the others of its chunk */
  plait_word_t next;   /* the chunk to look through after that one */
  plait_word_t credit; /* how many items may be looked at in other chunks before one is added */
};

/* One store of a change. */
struct plait_fs_store {
  plait_word_t at;      /* where */
  plait_word_t wide;    /* 1: eight bytes; 0: four */
  plait_word64_t value; /* what */
};

/* What is freed when a change has been made. */
struct plait_fs_deferred_free {
  plait_word_t block; /* the block */
  plait_word_t from;  /* if it is a map: the extents from here */
  plait_word_t to;    /* up to here are freed first */
  plait_word_t whole; /* 1: then the block itself */
};

/*
 * A mount: a directory stands for what a binding's backend has. The core knows where, not what: see mounts.c. In a
 * list, newest first, that changes under `rename`.
 */
struct plait_fs_mount {
  plait_word_t next;   /* the mount before it, 0 none */
  plait_word_t number; /* which mount it is, from 1; never used again */
  plait_word_t inode;  /* the directory that it covers; 0 if that lies in another mount */
  plait_word_t above;  /* number of the mount that the place lies in, 0 none */
  plait_word_t place;  /* bytes of `text` that are its path, which stays true: no directory above it can be moved */
  plait_word_t length; /* bytes of `text`: the path, then what the binding says of the backend */
  plait_word_t text[]; /* the bytes */
};

/* What a function has to say beside its result. */
struct plait_fs_result {
  plait_word_t kind;   /* enum plait_fs_kind */
  plait_word_t mode;   /* permission bits */
  plait_word_t links;  /* names */
  plait_word_t uid;    /* owner */
  plait_word_t gid;    /* group */
  plait_word_t number; /* of the inode */
  /* bytes; plait_fs_list: number of the name that was made last: a cursor for those made later */
  plait_word64_t size;
  plait_word64_t held;      /* bytes of memory for the contents */
  plait_word64_t atime;     /* see struct plait_inode */
  plait_word64_t mtime;     /* see struct plait_inode */
  plait_word64_t ctime;     /* see struct plait_inode */
  plait_word64_t birthtime; /* see struct plait_inode */
  plait_word64_t cursor;    /* plait_fs_list: where to go on; 0 at the end */
  plait_word_t ascii;       /* plait_fs_list: 1 if every name is ASCII */
  /* plait_fs_list: bytes of names; plait_fs_stat: the inode's version; -PLAIT_EREMOTE: bytes of the rest of the path */
  plait_word_t bytes;
  /*
   * plait_fs_map: where the bytes are; plait_fs_stat, plait_fs_list: where the inode is; -PLAIT_EREMOTE: where the rest
   * of the path is
   */
  plait_word_t block;
  plait_word_t mount; /* plait_fs_stat: 0; -PLAIT_EREMOTE: number of the mount that the path leads into */
};

/* What each slot's thread works with. Stays when the thread goes; the next one in the slot takes it over. */
struct plait_fs_thread {
  plait_word_t thread;    /* id of the thread whose journal it is; 0 none */
  struct plait_lock lock; /* held by who settles the journal of a dead thread; its own thread needs none */
  /*
   * 0: `reserved_blocks` is nobody else's; 1: committed, the stores are to be made; 2: they are, `deferred_frees` is to
   * be freed
   */
  plait_word_t state;
  plait_word_t target_count;                             /* how many of `targets` are in use */
  plait_word_t store_count;                              /* of `stores` */
  plait_word_t reserved_count;                           /* of `reserved_blocks` */
  plait_word_t deferred_count;                           /* of `deferred_frees` */
  plait_word_t targets[PLAIT_FS_TARGET_LIMIT];           /* inodes that change */
  plait_word_t reserved_blocks[PLAIT_FS_RESERVED_LIMIT]; /* blocks allocated for a change that is not committed yet */
  struct plait_fs_deferred_free deferred_frees[PLAIT_FS_DEFERRED_LIMIT]; /* what becomes free by the change */
  struct plait_fs_store stores[PLAIT_FS_STORE_LIMIT];                    /* the change */
  /* bytes of file contents, added less freed by this slot's threads: the sum over all is what is held */
  plait_word64_t held;
  plait_word64_t quota_bytes;        /* bytes that are set aside for a change that will count them in `held` */
  plait_word_t files;                /* inodes, counted in the same way (wraps) */
  plait_word_t quota_files;          /* inodes that are set aside */
  plait_word_t watching;             /* how often the slot's thread is among `watchers` of struct plait_fs */
  struct plait_fs_search inodes;     /* for a free inode */
  struct plait_fs_search opens;      /* for a free descriptor */
  plait_word_t scratch;              /* block of PLAIT_FS_SCRATCH bytes for what is read, written or listed */
  plait_word_t released_owner;       /* whose-word of an inode or descriptor that was given up and is not free yet */
  plait_word_t keep;                 /* how many of `reserved_blocks`, from the first, are for a later transaction */
  struct plait_fs_result result;     /* of the last call */
  uint8_t first[PLAIT_FS_PATH_MAX];  /* the path of a call; of two, the first */
  uint8_t second[PLAIT_FS_PATH_MAX]; /* the second path of a call */
  uint8_t links[8192];               /* paths with links put in, two by turns */
  uint8_t names[512];                /* last names of both paths */
};

/* The root of the room. */
struct plait_fs {
  struct plait_lock tables; /* held by who makes a chunk of inodes or descriptors */
  /* held while a directory moves into another one (see `moves`), or a mount or a watcher comes or goes */
  struct plait_lock rename;
  plait_word_t limit_files;               /* most inodes there may be, 0 no limit */
  plait_word_t changes;                   /* goes up with each change while somebody watches */
  plait_word_t watchers;                  /* how many do */
  plait_word_t mounts;                    /* the mount that was made last, 0 none */
  plait_word_t mount_count;               /* number of the mount that was made last, also of those that are gone */
  plait_word_t mount_changes;             /* goes up when a mount or a watcher comes or goes */
  plait_word_t mounted_closes;            /* goes up when a mount's descriptor is closed */
  plait_word_t moves;                     /* 1: directories are moved under `rename` only, since there was a mount */
  plait_word64_t limit_bytes;             /* most bytes that contents may hold, 0 no limit */
  struct plait_fs_items inodes;           /* all inodes */
  struct plait_fs_items opens;            /* all descriptors */
  plait_word_t threads[PLAIT_SLOT_LIMIT]; /* each slot's struct plait_fs_thread, 0 none yet */
};

/* What a check has found. */
enum plait_fs_fault_kind {
  PLAIT_FS_FAULT_NONE = 0,        /* nothing */
  PLAIT_FS_FAULT_INODE = 1,       /* an inode cannot be what it says */
  PLAIT_FS_FAULT_LINKS = 2,       /* an inode's count of names is wrong */
  PLAIT_FS_FAULT_OPENS = 3,       /* an inode's count of descriptors is wrong */
  PLAIT_FS_FAULT_TABLE = 4,       /* a directory's table is wrong */
  PLAIT_FS_FAULT_ENTRY = 5,       /* a name does not name a live inode, or is not found */
  PLAIT_FS_FAULT_EXTENT = 6,      /* an extent is no live block, or overlaps another */
  PLAIT_FS_FAULT_LOST = 7,        /* an inode has no name and is not open, or belongs to no living thread */
  PLAIT_FS_FAULT_HELD = 8,        /* the count of bytes or of inodes is wrong */
  PLAIT_FS_FAULT_JOURNAL = 9,     /* a journal of nobody is not empty */
  PLAIT_FS_FAULT_DESCRIPTOR = 10, /* a descriptor names no live inode, or belongs to no living thread */
  PLAIT_FS_FAULT_RANGE = 11,      /* a lock belongs to a descriptor that is not open on the file */
  PLAIT_FS_FAULT_MOUNT = 12,      /* a mount covers no live directory, or is not in the list */
};

/* The files of this process's space: in wasm32 one of the module's statics, natively where the space says. */
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

/* The calling thread's record, made at the first call; 0 without memory for it. The other functions need it. */
plait_ref_t plait_fs_enter(void);

/*
 * `target` names what a function works on: a descriptor, or, as -1 - n, the path of n bytes in `first`. `follow`: also
 * where the last name of the path is a symbolic link, what it points to is meant.
 */
#define PLAIT_FS_PATH(length) (-1 - (int)(length))

/* Opens the path of `length` bytes in `first`: a descriptor. `mode`: the permission bits of a file that is made. */
int plait_fs_open(uint32_t length, uint32_t flags, uint32_t mode, double now);
/* -PLAIT_EBADF also for a mapping: nobody closes one by a number that went astray. */
int plait_fs_close(int fd);

/*
 * Reads up to `length` bytes to `to`, from `position`, or where the descriptor stands if it is negative: how many. All
 * at one instant.
 */
int plait_fs_read(int fd, plait_ref_t to, uint32_t length, double position);

/* Writes, in the same way; all or nothing. */
int plait_fs_write(int fd, plait_ref_t from, uint32_t length, double position, double now);

/* The file's size, and as much of its contents as `length` at `to`, at one instant. */
double plait_fs_read_file(int target, plait_ref_t to, uint32_t length);

/*
 * Opens, writes and closes. `given`: `from` is a block of the heap that becomes the file's, whatever happens; it was
 * noted with plait_fs_tx_reserve(). -PLAIT_EBADF: the flags do not say that it is for writing.
 */
int plait_fs_write_file(
    uint32_t path, uint32_t flags, uint32_t mode, plait_ref_t from, uint32_t length, int given, double now);

/*
 * A block for the caller to fill, which is freed if the thread vanishes before it passes it on or drops it. 0: no
 * memory.
 */
plait_ref_t plait_fs_tx_reserve(uint32_t size);
void plait_fs_tx_unreserve(void);

/* Moves where a descriptor stands. */
double plait_fs_seek(int fd, double offset, int whence);

/* What the target is, into `result`. */
int plait_fs_stat(int target, int follow);

/* 0 if the target is there and may be used in the way of `mode` (4 read, 2 write, 1 run). */
int plait_fs_access(uint32_t length, uint32_t mode);

int plait_fs_mkdir(uint32_t length, uint32_t mode, double now);
int plait_fs_rmdir(uint32_t length, double now);
int plait_fs_unlink(uint32_t length, double now);
int plait_fs_rename(uint32_t from, uint32_t to, double now);
int plait_fs_link(uint32_t from, uint32_t to, double now);

/* A link at the path in `second` that says what is in `first`. */
int plait_fs_symlink(uint32_t target, uint32_t path, double now);

/* What the link says, into the scratch block: how many bytes. */
int plait_fs_readlink(uint32_t length);

int plait_fs_truncate(int target, double size, double now);

/* Changes what `mask` names. Times are seconds and nanoseconds within the second. */
int plait_fs_set(int target, int follow, uint32_t mask, uint32_t mode, uint32_t uid, uint32_t gid, double atime,
    double atime_ns, double mtime, double mtime_ns, double now);

/*
 * Names in the directory behind `cursor` (0: from the start), with slashes between them, at the scratch block's start;
 * their kinds, one byte each, from its end down. How many; `result.cursor` says where to go on. A name that is there
 * all the while is listed once, whatever happens to others.
 */
int plait_fs_list(int target, double cursor);

/* Bytes and inodes in use, into `result`: held, number; size and links are the limits. */
int plait_fs_usage(void);
void plait_fs_limit(double bytes, uint32_t files);

/*
 * Locks bytes `start` to `end` of an open file for the descriptor, in place of what it has locked there. `kind`: 0
 * unlock, 1 shared, 2 exclusive. Waits for up to `timeout_ms` (negative: for ever). -EAGAIN: another descriptor has it.
 */
int plait_fs_lock(int fd, int kind, double start, double end, double timeout_ms);

/* The file's bytes in one piece: a descriptor for plait_fs_unmap(); `result.block` and `result.size` say where. */
int plait_fs_map(int fd);
int plait_fs_unmap(int fd);

/*
 * Mounts the first `text` bytes of the scratch block, whatever they mean to the binding, over the directory at the
 * path, which has no dots or slashes too many. `above`: the mount that the path leads into, where the binding has seen
 * to it that there is such a directory; 0: none. The mount's number; -PLAIT_EBUSY: there is one; -PLAIT_ELOOP: a link
 * is in the path.
 */
int plait_fs_mount(uint32_t length, uint32_t above, uint32_t text);

/*
 * Takes away what is mounted over the path. -PLAIT_EINVAL: nothing is. -PLAIT_EBUSY: descriptors or other mounts are in
 * it.
 */
int plait_fs_unmount(uint32_t length);

/*
 * A block of PLAIT_FS_MOUNT_MAX bytes for that, which the caller frees; 0 without memory. It is for threads: who reads
 * needs it.
 */
plait_ref_t plait_fs_mount_buffer(void);

/*
 * The `index`th mount's text to where there are PLAIT_FS_MOUNT_MAX bytes: its number, or -PLAIT_ENOENT. `result.links`:
 * the mount above; `result.bytes`, `result.size`: bytes of the place, and in all.
 */
int plait_fs_mount_text(uint32_t index, plait_ref_t to);

/*
 * Where the path in `first` (`second`: the other) leads: 0, into memory; -PLAIT_EREMOTE. `how`: see plait__fs_walk().
 */
int plait_fs_locate(uint32_t length, int how);

/*
 * A descriptor for what the backend of a mount has open as `host`. `result.block`: where its record lies;
 * `result.links`: its `uses`, as long as it is this one. -PLAIT_ENOENT: the mount is gone.
 */
int plait_fs_mounted_open(uint32_t mount, uint32_t host, uint32_t flags, double device, double file);

/* Closes a mount's descriptor: 0, -PLAIT_EBADF. What the backend has open stays, and is the binding's business. */
int plait_fs_mounted_close(int fd);

/* The struct plait_fs_open of a mount's descriptor, 0 if it is none. */
plait_ref_t plait_fs_mounted(int fd);

/*
 * The calling thread watches once more (1), or once less (-1): see plait_fs.changes. Ends with the thread. 0,
 * -PLAIT_ETIMEDOUT.
 */
int plait_fs_watch(int change);

/* Settles what a dead thread has left. pre: the recovery lock is held; its slot is DEAD. 0, or -PLAIT_ETIMEDOUT. */
int plait_fs_recover(plait_thread_t exited);

/* Walks everything: 0, or -PLAIT_EILSEQ. `quiescent`: no other thread is at it. */
int plait_fs_check(int quiescent);

/*
 * The same, quiescent, and how many blocks of the heap the room has in all: what is more in the heap is somebody
 * else's, or lost.
 */
int plait_fs_census(uint32_t *blocks);

/* What the last check found wrong: enum plait_fs_fault_kind, and where, in `at`. */
uint32_t plait_fs_fault(uint32_t *at);

#endif
