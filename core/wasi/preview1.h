/*
 * preview1: WASI's first ABI, wasi_snapshot_preview1 (github.com/WebAssembly/WASI, tag snapshot-01, docs.md). The
 * functions are named and called as there; addresses are in the program's memory. Each returns an error of preview1.
 *
 * In a linked program the clocks, random numbers, arguments, environment and its end are the host's.
 */
#ifndef PLAIT_WASI_PREVIEW1_H
#define PLAIT_WASI_PREVIEW1_H

#include "guest.h"

/* Every call starts with this. After plait_program_leave() calls have no effect: their program may be gone. */
#ifdef PLAIT_WASI_HOSTED
int plait_wasi_is_over(void);
#define PREVIEW1_ENTER \
  if (plait_wasi_is_over()) return PREVIEW1_EBADF
#else
#define PREVIEW1_ENTER (void)0
#endif

/* `errno`. Columns: the core's name, preview1's number. */
#define PLAIT_PREVIEW1_ERRNO_MAP(XX) \
  XX(EPERM, 63)                      \
  XX(ENOENT, 44)                     \
  XX(EIO, 29)                        \
  XX(ENXIO, 60)                      \
  XX(EBADF, 8)                       \
  XX(EAGAIN, 6)                      \
  XX(ENOMEM, 48)                     \
  XX(EACCES, 2)                      \
  XX(EBUSY, 10)                      \
  XX(EEXIST, 20)                     \
  XX(EXDEV, 75)                      \
  XX(ENODEV, 43)                     \
  XX(ENOTDIR, 54)                    \
  XX(EISDIR, 31)                     \
  XX(EINVAL, 28)                     \
  XX(ENFILE, 41)                     \
  XX(EMFILE, 33)                     \
  XX(ETXTBSY, 74)                    \
  XX(EFBIG, 22)                      \
  XX(ENOSPC, 51)                     \
  XX(EROFS, 69)                      \
  XX(EMLINK, 34)                     \
  XX(EPIPE, 64)                      \
  XX(ENAMETOOLONG, 37)               \
  XX(ENOLCK, 46)                     \
  XX(ENOTEMPTY, 55)                  \
  XX(ELOOP, 32)                      \
  XX(ENOTCAPABLE, 76)                \
  XX(EILSEQ, 25)                     \
  XX(ENOTSUP, 58)                    \
  XX(ETIMEDOUT, 73)                  \
  XX(ESTALE, 72)                     \
  XX(EDQUOT, 19)

enum {
#define XX(name, number) PREVIEW1_##name = number,
  PLAIT_PREVIEW1_ERRNO_MAP(XX)
#undef XX
      PREVIEW1_FAULT = 21,
  PREVIEW1_SPIPE = 70,
  PREVIEW1_NOTSOCK = 57,
};

/* `rights` */
#define RIGHT(bit) (1ull << (bit))
enum {
  RIGHT_FD_DATASYNC = 0,
  RIGHT_FD_READ = 1,
  RIGHT_FD_SEEK = 2,
  RIGHT_FD_FDSTAT_SET_FLAGS = 3,
  RIGHT_FD_SYNC = 4,
  RIGHT_FD_TELL = 5,
  RIGHT_FD_WRITE = 6,
  RIGHT_FD_ADVISE = 7,
  RIGHT_FD_ALLOCATE = 8,
  RIGHT_PATH_CREATE_DIRECTORY = 9,
  RIGHT_PATH_CREATE_FILE = 10,
  RIGHT_PATH_LINK_SOURCE = 11,
  RIGHT_PATH_LINK_TARGET = 12,
  RIGHT_PATH_OPEN = 13,
  RIGHT_FD_READDIR = 14,
  RIGHT_PATH_READLINK = 15,
  RIGHT_PATH_RENAME_SOURCE = 16,
  RIGHT_PATH_RENAME_TARGET = 17,
  RIGHT_PATH_FILESTAT_GET = 18,
  RIGHT_PATH_FILESTAT_SET_SIZE = 19,
  RIGHT_PATH_FILESTAT_SET_TIMES = 20,
  RIGHT_FD_FILESTAT_GET = 21,
  RIGHT_FD_FILESTAT_SET_SIZE = 22,
  RIGHT_FD_FILESTAT_SET_TIMES = 23,
  RIGHT_PATH_SYMLINK = 24,
  RIGHT_PATH_REMOVE_DIRECTORY = 25,
  RIGHT_PATH_UNLINK_FILE = 26,
  RIGHT_POLL_FD_READWRITE = 27,
};
#define RIGHTS_ANY (RIGHT(RIGHT_FD_FDSTAT_SET_FLAGS) | RIGHT(RIGHT_FD_FILESTAT_GET) | RIGHT(RIGHT_POLL_FD_READWRITE))
#define RIGHTS_STREAM (RIGHTS_ANY | RIGHT(RIGHT_FD_READ) | RIGHT(RIGHT_FD_WRITE))
#define RIGHTS_FILE                                                                                                \
  (RIGHTS_STREAM | RIGHT(RIGHT_FD_DATASYNC) | RIGHT(RIGHT_FD_SEEK) | RIGHT(RIGHT_FD_SYNC) | RIGHT(RIGHT_FD_TELL) | \
      RIGHT(RIGHT_FD_ADVISE) | RIGHT(RIGHT_FD_ALLOCATE) | RIGHT(RIGHT_FD_FILESTAT_SET_SIZE) |                      \
      RIGHT(RIGHT_FD_FILESTAT_SET_TIMES))
#define RIGHTS_PATHS (RIGHT(RIGHT_PATH_FILESTAT_SET_TIMES + 1) - RIGHT(RIGHT_PATH_CREATE_DIRECTORY))
#define RIGHTS_DIRECTORY                                                                                              \
  (RIGHTS_ANY | RIGHTS_PATHS | RIGHT(RIGHT_FD_DATASYNC) | RIGHT(RIGHT_FD_SYNC) | RIGHT(RIGHT_FD_FILESTAT_SET_TIMES) | \
      RIGHT(RIGHT_PATH_SYMLINK) | RIGHT(RIGHT_PATH_REMOVE_DIRECTORY) | RIGHT(RIGHT_PATH_UNLINK_FILE))
/* What changes a file, a directory or its attributes. */
#define RIGHTS_CHANGING                                                                                               \
  (RIGHT(RIGHT_FD_WRITE) | RIGHT(RIGHT_FD_ALLOCATE) | RIGHT(RIGHT_PATH_CREATE_DIRECTORY) |                            \
      RIGHT(RIGHT_PATH_CREATE_FILE) | RIGHT(RIGHT_PATH_LINK_SOURCE) | RIGHT(RIGHT_PATH_LINK_TARGET) |                 \
      RIGHT(RIGHT_PATH_RENAME_SOURCE) | RIGHT(RIGHT_PATH_RENAME_TARGET) | RIGHT(RIGHT_PATH_FILESTAT_SET_SIZE) |       \
      RIGHT(RIGHT_PATH_FILESTAT_SET_TIMES) | RIGHT(RIGHT_FD_FILESTAT_SET_SIZE) | RIGHT(RIGHT_FD_FILESTAT_SET_TIMES) | \
      RIGHT(RIGHT_PATH_SYMLINK) | RIGHT(RIGHT_PATH_REMOVE_DIRECTORY) | RIGHT(RIGHT_PATH_UNLINK_FILE))

enum { FDFLAG_APPEND = 1, FDFLAG_DSYNC = 2, FDFLAG_NONBLOCK = 4, FDFLAG_RSYNC = 8, FDFLAG_SYNC = 16, FDFLAGS = 31 };
enum { OFLAG_CREAT = 1, OFLAG_DIRECTORY = 2, OFLAG_EXCL = 4, OFLAG_TRUNC = 8, OFLAGS = 15 };
enum { FSTFLAG_ATIM = 1, FSTFLAG_ATIM_NOW = 2, FSTFLAG_MTIM = 4, FSTFLAG_MTIM_NOW = 8, FSTFLAGS = 15 };
enum { LOOKUP_FOLLOW = 1 };
enum { FILETYPE_UNKNOWN = 0, FILETYPE_CHARACTERS = 2, FILETYPE_DIRECTORY = 3, FILETYPE_FILE = 4, FILETYPE_SYMLINK = 7 };
enum { PREVIEW1_TAG_CLOCK = 0, PREVIEW1_TAG_READ = 1, PREVIEW1_TAG_WRITE = 2 }; /* `eventtype` */
#define FDSTAT_SIZE 24u
#define FILESTAT_SIZE 64u
#define DIRENT_SIZE 24u
#define IOVEC_SIZE 8u
#define SUBSCRIPTION_SIZE 48u
#define EVENT_SIZE 32u

/* The error of preview1 for a negative result of the core; 0 for any other. */
uint32_t plait_preview1_error(int rc);

/* preview1's `filetype` for an enum plait_fs_kind. */
uint32_t plait_preview1_filetype(uint32_t kind);

/* Puts what plait_fs_stat_at() has found into a `filestat`. */
void plait_preview1_put_filestat(plait_guest_t to);

/* Sets times, as fd_filestat_set_times does. */
uint32_t plait_preview1_set_times(
    const struct plait_fs_at *at, int follow, uint64_t atime, uint64_t mtime, uint32_t flags);

/* Looks a number up that must have these rights. `rights`: bits of RIGHT(). 0, or an error of preview1. */
uint32_t plait_preview1_find(uint32_t fd, uint64_t rights, struct plait_wasi_descriptor *found);

/*
 * Puts the attributes of a directory, or of its parent, into the thread's `result`, as `.` and `..` list them. The
 * root's parent is the root, and so is that of a directory which paths cannot leave. -PLAIT_ENOENT: it was removed.
 */
int plait_preview1_stat_dots(const struct plait_wasi_descriptor *found, int is_parent);

/* Gives a program the host's streams as its first three numbers. 0, or the error of plait_wasi_add(). */
int plait_preview1_add_streams(void);

/*
 * Preopens a directory (a descriptor of fs) as the name, whose block moves to the table. Returns its number, or the
 * error of plait_wasi_add(): then both are still the caller's. `is_read_only`: without the rights to change anything.
 */
int plait_preview1_preopen(int directory, plait_ref_t name, uint32_t length, int is_read_only);

/* Gives a program its first numbers: the host's streams, and `directory` (a descriptor of fs) under the name. */
int plait_preview1_start(int directory, const char *name);

uint32_t plait_preview1_fd_advise(uint32_t fd, uint64_t offset, uint64_t length, uint32_t advice);
uint32_t plait_preview1_fd_allocate(uint32_t fd, uint64_t offset, uint64_t length);
uint32_t plait_preview1_fd_close(uint32_t fd);
uint32_t plait_preview1_fd_datasync(uint32_t fd);
uint32_t plait_preview1_fd_fdstat_get(uint32_t fd, plait_guest_t to);
uint32_t plait_preview1_fd_fdstat_set_flags(uint32_t fd, uint32_t flags);
uint32_t plait_preview1_fd_fdstat_set_rights(uint32_t fd, uint64_t base, uint64_t inheriting);
uint32_t plait_preview1_fd_filestat_get(uint32_t fd, plait_guest_t to);
uint32_t plait_preview1_fd_filestat_set_size(uint32_t fd, uint64_t size);
uint32_t plait_preview1_fd_filestat_set_times(uint32_t fd, uint64_t atime, uint64_t mtime, uint32_t flags);
uint32_t plait_preview1_fd_pread(uint32_t fd, plait_guest_t iovs, uint32_t count, uint64_t offset, plait_guest_t read);
uint32_t plait_preview1_fd_prestat_dir_name(uint32_t fd, plait_guest_t to, uint32_t length);
uint32_t plait_preview1_fd_prestat_get(uint32_t fd, plait_guest_t to);
uint32_t plait_preview1_fd_pwrite(
    uint32_t fd, plait_guest_t iovs, uint32_t count, uint64_t offset, plait_guest_t written);
uint32_t plait_preview1_fd_read(uint32_t fd, plait_guest_t iovs, uint32_t count, plait_guest_t read);
uint32_t plait_preview1_fd_readdir(uint32_t fd, plait_guest_t to, uint32_t length, uint64_t cookie, plait_guest_t used);
uint32_t plait_preview1_fd_renumber(uint32_t from, uint32_t to);
uint32_t plait_preview1_fd_seek(uint32_t fd, uint64_t offset, uint32_t whence, plait_guest_t to);
uint32_t plait_preview1_fd_sync(uint32_t fd);
uint32_t plait_preview1_fd_tell(uint32_t fd, plait_guest_t to);
uint32_t plait_preview1_fd_write(uint32_t fd, plait_guest_t iovs, uint32_t count, plait_guest_t written);
uint32_t plait_preview1_path_create_directory(uint32_t fd, plait_guest_t path, uint32_t length);
uint32_t plait_preview1_path_filestat_get(
    uint32_t fd, uint32_t lookup, plait_guest_t path, uint32_t length, plait_guest_t to);
uint32_t plait_preview1_path_filestat_set_times(
    uint32_t fd, uint32_t lookup, plait_guest_t path, uint32_t length, uint64_t atime, uint64_t mtime, uint32_t flags);
uint32_t plait_preview1_path_link(uint32_t fd, uint32_t lookup, plait_guest_t path, uint32_t length, uint32_t new_fd,
    plait_guest_t new_path, uint32_t new_length);
uint32_t plait_preview1_path_open(uint32_t fd, uint32_t lookup, plait_guest_t path, uint32_t length, uint32_t oflags,
    uint64_t base, uint64_t inheriting, uint32_t flags, plait_guest_t to);
uint32_t plait_preview1_path_readlink(
    uint32_t fd, plait_guest_t path, uint32_t length, plait_guest_t to, uint32_t size, plait_guest_t used);
uint32_t plait_preview1_path_remove_directory(uint32_t fd, plait_guest_t path, uint32_t length);
uint32_t plait_preview1_path_rename(
    uint32_t fd, plait_guest_t path, uint32_t length, uint32_t new_fd, plait_guest_t new_path, uint32_t new_length);
uint32_t plait_preview1_path_symlink(
    plait_guest_t text, uint32_t text_length, uint32_t fd, plait_guest_t path, uint32_t length);
uint32_t plait_preview1_path_unlink_file(uint32_t fd, plait_guest_t path, uint32_t length);
uint32_t plait_preview1_poll_oneoff(plait_guest_t in, plait_guest_t out, uint32_t count, plait_guest_t events);

#ifdef PLAIT_WASI_HOSTED
uint32_t plait_preview1_args_get(plait_guest_t table, plait_guest_t to);
uint32_t plait_preview1_args_sizes_get(plait_guest_t count, plait_guest_t bytes);
uint32_t plait_preview1_clock_res_get(uint32_t id, plait_guest_t to);
uint32_t plait_preview1_clock_time_get(uint32_t id, uint64_t precision, plait_guest_t to);
uint32_t plait_preview1_environ_get(plait_guest_t table, plait_guest_t to);
uint32_t plait_preview1_environ_sizes_get(plait_guest_t count, plait_guest_t bytes);
void plait_preview1_proc_exit(uint32_t status);
uint32_t plait_preview1_proc_raise(uint32_t signal);
uint32_t plait_preview1_random_get(plait_guest_t to, uint32_t length);
uint32_t plait_preview1_sched_yield(void);
uint32_t plait_preview1_sock_accept(uint32_t fd, uint32_t flags, plait_guest_t to);
uint32_t plait_preview1_sock_recv(
    uint32_t fd, plait_guest_t iovs, uint32_t count, uint32_t flags, plait_guest_t read, plait_guest_t out_flags);
uint32_t plait_preview1_sock_send(
    uint32_t fd, plait_guest_t iovs, uint32_t count, uint32_t flags, plait_guest_t written);
uint32_t plait_preview1_sock_shutdown(uint32_t fd, uint32_t how);
int plait_preview1_thread_spawn(uint32_t argument); /* wasi-threads: an id from 1 on, or a negative error */
#endif

#endif
