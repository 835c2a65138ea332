/*
 * wasi: what a WASI program sees: descriptors, directories that it may open files in, and the calls of preview1 over
 * fs.
 *
 * A program is the unit that descriptors belong to. All its threads share one table. Preview1 itself is only the outer
 * layer (preview1.h): the table, and everything that acts on the core's own memory, knows nothing of its numbers.
 *
 * The table. An entry refers to one opening of fs, by descriptor and `uses`, or to a stream of the host. One store to
 * `opening` makes an entry valid or free. Looking a number up takes no lock. A thread that looks up what another one
 * closes gets the old opening, which fs then refuses, or the new one; it never gets a mixture. Entries are taken and
 * released under `lock`, the lowest number first. If a thread exits in between, at worst an opening stays open that no
 * number refers to. It is closed with the program.
 *
 * Several numbers may share one opening (dup), and with it the file position: `sharers` of struct plait_fs_open counts
 * all but the first.
 */
#ifndef PLAIT_WASI_WASI_H
#define PLAIT_WASI_WASI_H

#include "../fs/fs.h"

#define PLAIT_WASI_CHUNK_ENTRIES 64u
#define PLAIT_WASI_CHUNK_LIMIT 256u
#define PLAIT_WASI_NUMBER_LIMIT (PLAIT_WASI_CHUNK_ENTRIES * PLAIT_WASI_CHUNK_LIMIT) /* numbers of one program */
#define PLAIT_WASI_STREAMS 3u               /* standard input, output and error; fs never uses their numbers */
#define PLAIT_WASI_FIRST_DEVICE 0x7fffff00u /* streams from here on are devices, which are not the host's; nor fs's */

enum plait_wasi_kind {
  PLAIT_WASI_STREAM = 1,    /* a stream of the host */
  PLAIT_WASI_FILE = 2,      /* a file */
  PLAIT_WASI_DIRECTORY = 3, /* a directory */
};

/* An entry of the table. All but `opening` changes only while it is free, or under the table's lock. */
struct plait_wasi_entry {
  plait_word64_t opening;    /* `uses` << 32 | descriptor of fs, or number of the stream; 0: free */
  plait_word64_t rights;     /* preview1: what it may be used for */
  plait_word64_t inheriting; /* preview1: what may be done with files that are opened from it */
  plait_word_t kind;         /* enum plait_wasi_kind */
  plait_word_t flags;        /* preview1's fdflags that fs does not keep */
  plait_word_t name;         /* block with the path that it is preopened as, 0 none */
  plait_word_t name_length;  /* bytes of the name */
  plait_word64_t turn;       /* increases before the other words change, while `opening` is 0 */
};
_Static_assert(sizeof(struct plait_wasi_entry) == 48, "no padding");

struct plait_wasi_program {
  struct plait_lock lock;                      /* held while entries are taken, released or renumbered */
  plait_word_t lowest;                         /* no number below it is free; a hint after an exit */
  plait_word_t limit;                          /* numbers from here on are refused; 0: PLAIT_WASI_NUMBER_LIMIT */
  plait_word_t beneath;                        /* 1: paths may not leave the directory that they start at */
  plait_word_t chunks[PLAIT_WASI_CHUNK_LIMIT]; /* each a block of PLAIT_WASI_CHUNK_ENTRIES entries, 0 none yet */
};

/* The calling thread's fs record, which is made at its first call; NULL without memory. */
struct plait_fs_thread *plait_wasi_enter(void);

/* The calling thread's program. */
struct plait_wasi_program *plait_wasi_program(void);

/* What a number refers to: a copy of its entry, taken at one instant. */
struct plait_wasi_descriptor {
  uint32_t number;
  int fd;        /* descriptor of fs; STREAM: number of the stream */
  uint32_t uses; /* which opening */
  uint32_t kind, flags;
  uint64_t rights, inheriting;
};

/* Looks a number up. 0, -PLAIT_EBADF. Any thread of the program. */
int plait_wasi_find(uint32_t number, struct plait_wasi_descriptor *found);

/*
 * Gives the opening the lowest free number that is not below `least`, and returns it. `name`: a block that moves to the
 * table, 0 none. -PLAIT_EMFILE, -PLAIT_ENOMEM: the opening is still the caller's.
 */
int plait_wasi_add(const struct plait_wasi_descriptor *opening, uint32_t least, plait_ref_t name, uint32_t name_length);

/* The stream that a program gets when it opens this inode, which is that of a device; -1: it is a file. The host's. */
int plait_wasi_stream_of(plait_ref_t inode);

/*
 * Describes a new opening of fs: a file, a directory, or the stream of a device, for which the opening is closed. No
 * rights and no flags. 0, or an error after it was closed.
 */
int plait_wasi_describe(int fd, struct plait_wasi_descriptor *opened);

/* Gives what was described the lowest free number. If there is none, it is closed: -PLAIT_EMFILE, -PLAIT_ENOMEM. */
int plait_wasi_number(const struct plait_wasi_descriptor *opened);

/* Releases a number, and closes the opening if no other number shares it. 0, -PLAIT_EBADF. */
int plait_wasi_close(uint32_t number);

/* Another number for the same opening, as plait_wasi_add(). `flags`, as fdflags: see plait_wasi_set_flags(). */
int plait_wasi_share(uint32_t number, uint32_t least);

/*
 * `to` now refers to what `from` refers to. What it referred to before is closed. `moves`: `from` is released then.
 * `to` may be free, unless it moves. 0, -PLAIT_EBADF, -PLAIT_EMFILE, -PLAIT_ENOMEM.
 */
int plait_wasi_renumber(uint32_t from, uint32_t to, int moves);

/* Replaces rights or flags of a number. 0, -PLAIT_EBADF. */
int plait_wasi_set_rights(uint32_t number, uint64_t rights, uint64_t inheriting);
int plait_wasi_set_flags(uint32_t number, uint32_t flags);

/* Copies the name that a number is preopened as, if it has at most `size` bytes. Returns its length, -PLAIT_EBADF. */
int plait_wasi_name(uint32_t number, uint8_t *to, uint32_t size);

#endif
