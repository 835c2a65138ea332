/*
 * errors: the error numbers of the core, defined once for every language.
 *
 * A function that can fail returns zero or a count on success, and otherwise a negative number from this list. A
 * function that returns a reference returns 0 instead; its contract names the reason (nearly always out of memory). The
 * numbers are Linux's, so that -ENOENT means ENOENT in C, JavaScript and Lua. ENOTCAPABLE, which Linux does not have,
 * is FreeBSD's.
 * Columns: name, number, its meaning here. tools/layout.py carries the list over to TypeScript.
 */
#ifndef PLAIT_PLATFORM_ERRORS_H
#define PLAIT_PLATFORM_ERRORS_H

#define PLAIT_ERRNO_MAP(XX)                                                             \
  XX(EPERM, 1, "the operation is not permitted on such a thing")                        \
  XX(ENOENT, 2, "there is no such name")                                                \
  XX(EIO, 5, "a backend has failed for an unknown reason")                              \
  XX(ENXIO, 6, "a mounted FIFO, socket or device cannot be opened")                     \
  XX(EBADF, 9, "the descriptor is not open for this")                                   \
  XX(EAGAIN, 11, "nothing is available now")                                            \
  XX(ENOMEM, 12, "the space has reached its maximum")                                   \
  XX(EACCES, 13, "the permission bits forbid it")                                       \
  XX(EBUSY, 16, "it is in use")                                                         \
  XX(EEXIST, 17, "the name is taken")                                                   \
  XX(EXDEV, 18, "two mounts: a name cannot move between them")                          \
  XX(ENODEV, 19, "the backend does not support it")                                     \
  XX(ENOTDIR, 20, "a name in the path is no directory")                                 \
  XX(EISDIR, 21, "it is a directory")                                                   \
  XX(EINVAL, 22, "an argument is outside its range or names nothing live")              \
  XX(ENFILE, 23, "a table of the space is full")                                        \
  XX(EMFILE, 24, "the host has no descriptors left")                                    \
  XX(ETXTBSY, 26, "the host runs the file")                                             \
  XX(EFBIG, 27, "a file would exceed the maximum size")                                 \
  XX(ENOSPC, 28, "no memory is left for files")                                         \
  XX(EROFS, 30, "mounted for reading only")                                             \
  XX(EMLINK, 31, "the host allows no further link")                                     \
  XX(EPIPE, 32, "the pool takes no more tasks")                                         \
  XX(ENAMETOOLONG, 36, "a name or a path is too long")                                  \
  XX(ENOLCK, 37, "no memory is left for locks")                                         \
  XX(ENOTEMPTY, 39, "the directory is not empty")                                       \
  XX(ELOOP, 40, "too many symbolic links, or one where none may be")                    \
  XX(EREMOTE, 66, "the directory is in a mount, where names are removed one at a time") \
  XX(EPROTO, 71, "the memory was laid out by another version")                          \
  XX(EILSEQ, 84, "a structure breaks its invariant")                                    \
  XX(ENOTCAPABLE, 93, "the path leaves the directory that it may not leave")            \
  XX(ENOTSUP, 95, "the backend does not support it")                                    \
  XX(ETIMEDOUT, 110, "a lock's owner neither releases it nor is known to have exited")  \
  XX(ESTALE, 116, "the mounted directory no longer exists")                             \
  XX(EDQUOT, 122, "the host's quota is used up")

enum {
#define XX(name, number, text) PLAIT_##name = number,
  PLAIT_ERRNO_MAP(XX)
#undef XX
};

#endif
