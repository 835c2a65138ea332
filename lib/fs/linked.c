/*
 * linked: the program that Plait is linked into: its table of descriptors, its start, and what each call does first.
 *
 * A program that only prints contains none of fs. The calls that such a program makes (calls.c) reach files
 * through `file_calls`. Nothing refers to the functions behind it but the start of the files, and only calls that need
 * files refer to that. So the linker leaves out what is not used.
 *
 * Invariant: `file_calls` is null until the table has its first numbers. After that it never changes.
 */
#include "plait_fs.h"

#define HOST(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name)))
HOST(clock_time_get) uint32_t host_clock_time_get(uint32_t id, uint64_t precision, uint64_t *to);
#ifndef __EMSCRIPTEN__ /* see lib/emscripten/input.c */
HOST(fd_read) uint32_t host_fd_read(uint32_t fd, plait_guest_t iovs, uint32_t count, plait_guest_t read);
#endif
HOST(fd_write) uint32_t host_fd_write(uint32_t fd, plait_guest_t iovs, uint32_t count, plait_guest_t written);
HOST(fd_fdstat_get) uint32_t host_fd_fdstat_get(uint32_t fd, void *to);
#ifndef __EMSCRIPTEN__ /* its poll() is a system call */
HOST(poll_oneoff) uint32_t host_poll_oneoff(plait_guest_t in, plait_guest_t out, uint32_t count, plait_guest_t events);
#endif

#define CLOCK_PRECISION 1000000u /* nanoseconds: a file's times are no finer */

double plait_wasi_now(void) {
  uint64_t now = 0;
  host_clock_time_get(0, CLOCK_PRECISION, &now);
  return (double)now / 1e6;
}

#ifndef __EMSCRIPTEN__
uint32_t plait_wasi_host_poll(plait_guest_t in, plait_guest_t out, uint32_t count, plait_guest_t events) {
  return host_poll_oneoff(in, out, count, events);
}
#endif

#include "devices.c"

/* ---- the program ---- */

static struct plait_wasi_program the_program;

struct plait_wasi_program *plait_wasi_program(void) {
  return &the_program;
}

/* pre: the thread has a slot, or the shared one: ready(). */
struct plait_fs_thread *plait_wasi_enter(void) {
  plait_ref_t ref = plait_get(&plait_fs()->threads[plait_thread_index(plait_self_id())]);
  struct plait_fs_thread *mine = plait_at(ref);
  if (ref != 0 && plait_get(&mine->thread) == plait_self_id()) return mine;
  ref = plait_fs_enter();
  return ref == 0 ? NULL : plait_at(ref);
}

/* The calls that a program makes without files, too. */
struct file_calls {
  uint32_t (*close)(uint32_t fd);
  uint32_t (*fdstat_get)(uint32_t fd, plait_guest_t to);
  uint32_t (*read)(uint32_t fd, plait_guest_t iovs, uint32_t count, plait_guest_t read);
  uint32_t (*seek)(uint32_t fd, uint64_t offset, uint32_t whence, plait_guest_t to);
  uint32_t (*write)(uint32_t fd, plait_guest_t iovs, uint32_t count, plait_guest_t written);
};

static const struct file_calls *file_calls;
static plait_word_t files_started;
static int table_started; /* guarded by `starting` */
static struct plait_lock starting;
static plait_word64_t given_time;   /* bits of a double: the time in place of the host's, before it has started */
static plait_word_t closed_streams; /* bit n: the program closed stream n before it used a file */

static const struct file_calls *calls_of_files(void) {
  return __atomic_load_n(&file_calls, __ATOMIC_ACQUIRE);
}

/* An archive that the program was linked with; see PLAIT_PRELOAD. */
extern const struct plait_preload plait_preload __attribute__((weak));

static uint32_t files_close(uint32_t fd);
static uint32_t files_fdstat_get(uint32_t fd, plait_guest_t to);
static uint32_t files_read(uint32_t fd, plait_guest_t iovs, uint32_t count, plait_guest_t read);
static uint32_t files_seek(uint32_t fd, uint64_t offset, uint32_t whence, plait_guest_t to);
static uint32_t files_write(uint32_t fd, plait_guest_t iovs, uint32_t count, plait_guest_t written);
static const struct file_calls all_calls = {files_close, files_fdstat_get, files_read, files_seek, files_write};

static double start_time(void) {
  uint64_t bits = plait_get64(&given_time);
  double now;
  __builtin_memcpy(&now, &bits, sizeof now);
  return now != 0 ? now : plait_wasi_now();
}

static PLAIT_COLD int start_table(void) {
  struct plait_fs_thread *mine = plait_wasi_enter();
  if (mine == NULL) return 0;
  mine->first[0] = '/';
  int root = plait_fs_open(1, PLAIT_FS_MUST_DIR, 0, 0);
  if (root < 0) return 0;
  if (plait_preview1_start(root, "/") != 0) {
    plait_fs_close(root);
    return 0;
  }
  for (uint32_t i = 0; i < PLAIT_WASI_STREAMS; i++)
    if (plait_get(&closed_streams) & 1u << i) plait_wasi_close(i);
  double now = start_time();
  make_devices(mine, now);
  return 1;
}

/* ---- the archive that the program starts with ---- */

static char *put_text(char *at, const char *text) {
  while (*text != 0) *at++ = *text++;
  return at;
}

static char *put_number(char *at, uint32_t number) {
  char digits[10];
  uint32_t count = 0;
  do digits[count++] = (char)('0' + number % 10);
  while ((number /= 10) != 0);
  while (count > 0) *at++ = digits[--count];
  return at;
}

#define FAULT_BYTES 128u

/* "WHAT, at byte N" into FAULT_BYTES bytes. Returns the length. */
static PLAIT_COLD uint32_t put_fault(char *to, const struct plait_fs_fault *fault) {
  return (uint32_t)(put_number(put_text(put_text(to, fault->what), ", at byte "), (uint32_t)fault->at) - to);
}

/* Whether the archive that the program starts with is damaged. */
static PLAIT_COLD int find_preload_fault(struct plait_fs_fault *fault) {
  return &plait_preload != NULL && plait__tar_check(plait_preload.bytes, plait_preload.length, fault) != 0;
}

/* The program cannot do without its files, and says why. */
static PLAIT_COLD _Noreturn void end_without_preload(int rc) {
  char text[64 + FAULT_BYTES], *at = put_text(text, "plait: the files that the program starts with: ");
  struct plait_fs_fault fault;
  if (find_preload_fault(&fault)) at += put_fault(at, &fault);
  else at = put_number(put_text(at, "they cannot be unpacked, error "), (uint32_t)-rc);
  *at++ = '\n';
  struct {
    plait_guest_t bytes;
    uint32_t length;
  } line = {(plait_guest_t)(uintptr_t)text, (uint32_t)(at - text)};
  uint32_t written;
  host_fd_write(2, (plait_guest_t)(uintptr_t)&line, 1, (plait_guest_t)(uintptr_t)&written);
  __builtin_trap();
}

static PLAIT_COLD int unpack_preload(int javascript) {
  int rc = &plait_preload == NULL ? 0 : plait__tar_unpack(plait_preload.bytes, plait_preload.length, start_time());
  if (rc != 0 && !javascript) end_without_preload(rc);
  return rc == 0;
}

/* ---- the start of the files ---- */

/*
 * `javascript`: the call is one of JavaScript's. It may come before the program can print, and gets an error of its own
 * (CALL_FAULT in javascript.c).
 */
static PLAIT_COLD int start_files(int javascript) {
  plait_lock_acquire(&starting); /* cannot fail: core/sync/mutex.c */
  if (!table_started) table_started = start_table();
  if (!plait_load(&files_started) && table_started && unpack_preload(javascript)) {
    __atomic_store_n(&file_calls, &all_calls, __ATOMIC_RELEASE);
    atomic_store_explicit(&files_started, 1, memory_order_release);
  }
  plait_lock_release(&starting);
  return plait_load(&files_started) != 0;
}

/*
 * Before a call into fs: as ready(), the files have started, and the thread has its fs record. Then done(). A thread
 * that waits may not be in between, because it may have the slot that many threads share.
 */
static int begin_as(int javascript) {
  int how = plait_self_id() != 0 ? 1 : ready();
  if (how == 0) return 0;
  if ((plait_load(&files_started) || start_files(javascript)) && plait_wasi_enter() != NULL) return how;
  done(how);
  return 0;
}

static int begin(void) {
  return begin_as(0);
}

/* What such a call is like. `expression`: its error. */
#define IN_FILES(expression)              \
  do {                                    \
    int how = begin();                    \
    if (how == 0) return PREVIEW1_ENOMEM; \
    uint32_t error = (expression);        \
    done(how);                            \
    return error;                         \
  } while (0)

static uint32_t files_close(uint32_t fd) {
  IN_FILES(plait_preview1_fd_close(fd));
}

static uint32_t files_fdstat_get(uint32_t fd, plait_guest_t to) {
  IN_FILES(plait_preview1_fd_fdstat_get(fd, to));
}

/* In Emscripten's C library a directory has a position, too: a cookie, for rewinddir() and seekdir(). */
static uint32_t seek_number(uint32_t fd, uint64_t offset, uint32_t whence, plait_guest_t to) {
#ifdef __EMSCRIPTEN__
  struct plait_wasi_descriptor found;
  if (plait_wasi_find(fd, &found) == 0 && found.kind == PLAIT_WASI_DIRECTORY) {
    double at = plait_fs_seek_as(found.fd, found.uses, (double)(int64_t)offset, (int)whence);
    if (at < 0) return plait_preview1_error((int)at);
    guest_store64(to, (uint64_t)at);
    return 0;
  }
#endif
  return plait_preview1_fd_seek(fd, offset, whence, to);
}

static uint32_t files_seek(uint32_t fd, uint64_t offset, uint32_t whence, plait_guest_t to) {
  IN_FILES(seek_number(fd, offset, whence, to));
}

/* Looking a number up needs no slot. */
static int is_stream(uint32_t fd, uint32_t right, struct plait_wasi_descriptor *found) {
  return plait_wasi_find(fd, found) == 0 && found->kind == PLAIT_WASI_STREAM && (found->rights & RIGHT(right)) != 0;
}

static uint32_t files_read(uint32_t fd, plait_guest_t iovs, uint32_t count, plait_guest_t read) {
  struct plait_wasi_descriptor found;
  if (is_stream(fd, RIGHT_FD_READ, &found)) return plait_wasi_host_read((uint32_t)found.fd, iovs, count, read);
  IN_FILES(plait_preview1_fd_read(fd, iovs, count, read));
}

static uint32_t files_write(uint32_t fd, plait_guest_t iovs, uint32_t count, plait_guest_t written) {
  struct plait_wasi_descriptor found;
  if (is_stream(fd, RIGHT_FD_WRITE, &found)) return plait_wasi_host_write((uint32_t)found.fd, iovs, count, written);
  IN_FILES(plait_preview1_fd_write(fd, iovs, count, written));
}

/* ---- what JavaScript, or the program's start, may call ---- */

PUBLIC int plait_fs_unpack(const void *tar, size_t length) {
  int how = begin();
  if (how == 0) return -PLAIT_ENOMEM;
  int rc = plait__tar_unpack(tar, length, plait_wasi_now());
  done(how);
  return rc;
}

PUBLIC int plait_fs_check_tar(const void *tar, size_t length, struct plait_fs_fault *fault) {
  return plait__tar_check(tar, length, fault);
}
