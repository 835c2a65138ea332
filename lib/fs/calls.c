/*
 * calls: the calls that the program's C library makes. Each is a function plait_linked_NAME, which acts as preview1's
 * NAME. For wasi-libc it also has the names by which that imports it: wasi-libc declares each as
 * __imported_wasi_snapshot_preview1_NAME. Zig's own C library declares some as NAME in that module, which its compiler
 * calls "NAME|wasi_snapshot_preview1". What is defined in the program is not imported any more.
 */
#define ADDRESS(at) ((plait_guest_t)(uintptr_t)(at))
#ifdef __EMSCRIPTEN__
#define NAMES(name, parameters)
#else
#define NAMES(name, parameters)                                                                                      \
  PUBLIC uint32_t __imported_wasi_snapshot_preview1_##name parameters __attribute__((alias("plait_linked_" #name))); \
  PUBLIC uint32_t zig_##name parameters __asm__(#name "|wasi_snapshot_preview1")                                     \
      __attribute__((alias("plait_linked_" #name)));
#endif
#define DEFINE(name, parameters, arguments)        \
  static uint32_t plait_linked_##name parameters { \
    IN_FILES(plait_preview1_##name arguments);     \
  }                                                \
  NAMES(name, parameters)

/* ---- with or without files ---- */

static uint32_t plait_linked_fd_close(uint32_t fd) {
  const struct file_calls *files = calls_of_files();
  if (files != NULL) return files->close(fd);
  if (fd >= PLAIT_WASI_STREAMS || plait_load(&closed_streams) & 1u << fd) return PREVIEW1_EBADF;
  near_fetch_or(&closed_streams, 1u << fd, memory_order_relaxed);
  return 0;
}
NAMES(fd_close, (uint32_t fd))

/* Whether the number is an open stream of the host, in a program that has not used files. */
static int is_open_stream(uint32_t fd) {
  return fd < PLAIT_WASI_STREAMS && !(plait_load(&closed_streams) & 1u << fd);
}

static uint32_t plait_linked_fd_fdstat_get(uint32_t fd, plait_guest_t to) {
  const struct file_calls *files = calls_of_files();
  if (files != NULL) return files->fdstat_get(fd, to);
  return is_open_stream(fd) ? host_fd_fdstat_get(fd, plait_at(to)) : PREVIEW1_EBADF;
}
NAMES(fd_fdstat_get, (uint32_t fd, plait_guest_t to))

static uint32_t plait_linked_fd_read(uint32_t fd, plait_guest_t iovs, uint32_t count, plait_guest_t read) {
  const struct file_calls *files = calls_of_files();
  if (files != NULL) return files->read(fd, iovs, count, read);
  return fd == 0 && is_open_stream(fd) ? host_fd_read(fd, iovs, count, read) : PREVIEW1_EBADF;
}
NAMES(fd_read, (uint32_t fd, plait_guest_t iovs, uint32_t count, plait_guest_t read))

static uint32_t plait_linked_fd_seek(uint32_t fd, uint64_t offset, uint32_t whence, plait_guest_t to) {
  const struct file_calls *files = calls_of_files();
  if (files != NULL) return files->seek(fd, offset, whence, to);
  return is_open_stream(fd) ? PREVIEW1_SPIPE : PREVIEW1_EBADF;
}
NAMES(fd_seek, (uint32_t fd, uint64_t offset, uint32_t whence, plait_guest_t to))

static uint32_t plait_linked_fd_write(uint32_t fd, plait_guest_t iovs, uint32_t count, plait_guest_t written) {
  const struct file_calls *files = calls_of_files();
  if (files != NULL) return files->write(fd, iovs, count, written);
  return fd != 0 && is_open_stream(fd) ? host_fd_write(fd, iovs, count, written) : PREVIEW1_EBADF;
}
NAMES(fd_write, (uint32_t fd, plait_guest_t iovs, uint32_t count, plait_guest_t written))

/* ---- with files ---- */

DEFINE(fd_advise, (uint32_t fd, uint64_t offset, uint64_t length, uint32_t advice), (fd, offset, length, advice))
DEFINE(fd_allocate, (uint32_t fd, uint64_t offset, uint64_t length), (fd, offset, length))
DEFINE(fd_datasync, (uint32_t fd), (fd))
DEFINE(fd_fdstat_set_flags, (uint32_t fd, uint32_t flags), (fd, flags))
DEFINE(fd_fdstat_set_rights, (uint32_t fd, uint64_t base, uint64_t inheriting), (fd, base, inheriting))
DEFINE(fd_filestat_get, (uint32_t fd, plait_guest_t to), (fd, to))
DEFINE(fd_filestat_set_size, (uint32_t fd, uint64_t size), (fd, size))
DEFINE(fd_filestat_set_times, (uint32_t fd, uint64_t atime, uint64_t mtime, uint32_t flags), (fd, atime, mtime, flags))
DEFINE(fd_pread, (uint32_t fd, plait_guest_t iovs, uint32_t count, uint64_t offset, plait_guest_t read),
    (fd, iovs, count, offset, read))
DEFINE(fd_prestat_dir_name, (uint32_t fd, plait_guest_t to, uint32_t length), (fd, to, length))
DEFINE(fd_prestat_get, (uint32_t fd, plait_guest_t to), (fd, to))
DEFINE(fd_pwrite, (uint32_t fd, plait_guest_t iovs, uint32_t count, uint64_t offset, plait_guest_t written),
    (fd, iovs, count, offset, written))
DEFINE(fd_readdir, (uint32_t fd, plait_guest_t to, uint32_t length, uint64_t cookie, plait_guest_t used),
    (fd, to, length, cookie, used))
DEFINE(fd_renumber, (uint32_t from, uint32_t to), (from, to))
DEFINE(fd_sync, (uint32_t fd), (fd))
DEFINE(fd_tell, (uint32_t fd, plait_guest_t to), (fd, to))
#ifndef __EMSCRIPTEN__
DEFINE(path_create_directory, (uint32_t fd, plait_guest_t path, uint32_t length), (fd, path, length))
DEFINE(path_filestat_get, (uint32_t fd, uint32_t lookup, plait_guest_t path, uint32_t length, plait_guest_t to),
    (fd, lookup, path, length, to))
DEFINE(path_filestat_set_times,
    (uint32_t fd, uint32_t lookup, plait_guest_t path, uint32_t length, uint64_t atime, uint64_t mtime, uint32_t flags),
    (fd, lookup, path, length, atime, mtime, flags))
DEFINE(path_link,
    (uint32_t fd, uint32_t lookup, plait_guest_t path, uint32_t length, uint32_t new_fd, plait_guest_t new_path,
        uint32_t new_length),
    (fd, lookup, path, length, new_fd, new_path, new_length))
DEFINE(path_open,
    (uint32_t fd, uint32_t lookup, plait_guest_t path, uint32_t length, uint32_t oflags, uint64_t base,
        uint64_t inheriting, uint32_t flags, plait_guest_t to),
    (fd, lookup, path, length, oflags, base, inheriting, flags, to))
DEFINE(path_readlink,
    (uint32_t fd, plait_guest_t path, uint32_t length, plait_guest_t to, uint32_t size, plait_guest_t used),
    (fd, path, length, to, size, used))
DEFINE(path_remove_directory, (uint32_t fd, plait_guest_t path, uint32_t length), (fd, path, length))
DEFINE(path_rename,
    (uint32_t fd, plait_guest_t path, uint32_t length, uint32_t new_fd, plait_guest_t new_path, uint32_t new_length),
    (fd, path, length, new_fd, new_path, new_length))
DEFINE(path_symlink, (plait_guest_t text, uint32_t text_length, uint32_t fd, plait_guest_t path, uint32_t length),
    (text, text_length, fd, path, length))
DEFINE(path_unlink_file, (uint32_t fd, plait_guest_t path, uint32_t length), (fd, path, length))

/* A thread that only sleeps needs no slot. */
static uint32_t plait_linked_poll_oneoff(plait_guest_t in, plait_guest_t out, uint32_t count, plait_guest_t events) {
  uint32_t clocks = 0;
  while (clocks < count && (guest_load(in + clocks * SUBSCRIPTION_SIZE + 8) & 255u) == 0) clocks++;
  if (clocks == count) return host_poll_oneoff(in, out, count, events);
  IN_FILES(plait_preview1_poll_oneoff(in, out, count, events));
}
NAMES(poll_oneoff, (plait_guest_t in, plait_guest_t out, uint32_t count, plait_guest_t events))
#endif
