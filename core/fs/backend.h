/*
 * backend: the steps of the backends that hold the files of mounts. In wasm32 they are imports, which the binding
 * provides for the calling thread; natively backend_posix.c has them.
 *
 * A step acts on one name in one directory. It follows no symbolic link, and leads nowhere else: names have no slash
 * and are neither "." nor "..". A name of no bytes is the directory itself. The walk (mount_walk.c) is what makes a path
 * of steps. Steps return zero or a count, or a negative error number, and never throw: an exception through C would
 * leave its stack behind. No lock is held across a step. A step in a mount that was removed returns -PLAIT_ESTALE. Where
 * a step would have to wait and the thread may not (a page's main thread), it returns -PLAIT_EAGAIN.
 *
 * Directories are numbers, from 1 in the order in which the thread entered them; 0 is the mount's root. They belong to
 * the thread, and plait_backend_leave() ends them: every operation does so, on every way out. Open files are numbers of
 * the backend, too, which it keeps for a descriptor of the space and its `uses`. If another thread has opened the
 * descriptor, the backend opens the file again for this one, by the words of struct plait_fs_open.
 *
 * Attributes go to `result` of the thread's record: all of plait_fs_stat() with `block` 0, and `block_size`, `device`,
 * `file`, `special`. The core sets `mount`.
 */
#ifndef PLAIT_FS_BACKEND_H
#define PLAIT_FS_BACKEND_H

#include "fs.h"

#ifdef __wasm__
#define PLAIT_STEP(name) __attribute__((import_module("backend"), import_name(#name)))
#else
#define PLAIT_STEP(name)
#endif

/* One name in one directory of a mount. */
#define PLAIT_STEP_NAME uint32_t mount, uint32_t directory, const uint8_t *name, uint32_t length

/* Enters a directory and returns its number. -PLAIT_ENOTDIR: it is anything else, a link included. */
PLAIT_STEP(enter) int plait_backend_enter(PLAIT_STEP_NAME);
/* Enters the directory that the descriptor is open on. */
PLAIT_STEP(start) int plait_backend_start(int fd, uint32_t uses);
/* Leaves the directories from this number on. */
PLAIT_STEP(leave) void plait_backend_leave(uint32_t directory);

PLAIT_STEP(stat) int plait_backend_stat(PLAIT_STEP_NAME);
PLAIT_STEP(access) int plait_backend_access(PLAIT_STEP_NAME, uint32_t mode);
/* Copies the text of a link, less than PLAIT_FS_PATH_MAX bytes, and returns its length. -PLAIT_EINVAL: it is no link. */
PLAIT_STEP(readlink) int plait_backend_readlink(PLAIT_STEP_NAME, uint8_t *to);
PLAIT_STEP(mkdir) int plait_backend_mkdir(PLAIT_STEP_NAME, uint32_t mode);
PLAIT_STEP(remove) int plait_backend_remove(PLAIT_STEP_NAME, int is_directory);
PLAIT_STEP(symlink) int plait_backend_symlink(PLAIT_STEP_NAME, const uint8_t *text, uint32_t text_length);
PLAIT_STEP(link) int plait_backend_link(PLAIT_STEP_NAME, uint32_t to, const uint8_t *to_name, uint32_t to_length);
PLAIT_STEP(rename) int plait_backend_rename(PLAIT_STEP_NAME, uint32_t to, const uint8_t *to_name, uint32_t to_length);
PLAIT_STEP(set) int plait_backend_set(PLAIT_STEP_NAME, const struct plait_fs_attributes *new);
/* As plait_fs_list(); -PLAIT_ENOTDIR also for a link. */
PLAIT_STEP(list) int plait_backend_list(PLAIT_STEP_NAME, double cursor);

/*
 * Opens a file or a directory for the descriptor, and returns the backend's number of it. `result`: its attributes.
 * -PLAIT_ELOOP: it is a symbolic link; -PLAIT_ENXIO: it is neither a file nor a directory.
 */
PLAIT_STEP(open)
int plait_backend_open(PLAIT_STEP_NAME, uint32_t flags, uint32_t mode, int fd, uint32_t uses);
/* Closes what this thread has open for the descriptor. */
PLAIT_STEP(close) void plait_backend_close(int fd, uint32_t uses);
/* `position`: never negative in a read; in a write -1 is the end at that instant. */
PLAIT_STEP(read) int plait_backend_read(int fd, uint32_t uses, plait_ref_t to, uint32_t length, double position);
PLAIT_STEP(write) int plait_backend_write(int fd, uint32_t uses, plait_ref_t from, uint32_t length, double position);
PLAIT_STEP(truncate) int plait_backend_truncate(int fd, uint32_t uses, double size);
PLAIT_STEP(sync) int plait_backend_sync(int fd, uint32_t uses, int data_only);
PLAIT_STEP(fstat) int plait_backend_fstat(int fd, uint32_t uses);
PLAIT_STEP(fset) int plait_backend_fset(int fd, uint32_t uses, const struct plait_fs_attributes *new);
PLAIT_STEP(flist) int plait_backend_flist(int fd, uint32_t uses, double cursor);
/* As plait_fs_next_at(); `result.number` is 0 where the backend does not know it. */
PLAIT_STEP(fnext) int plait_backend_fnext(int fd, uint32_t uses, double cookie);

#endif
