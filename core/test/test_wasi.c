/*
 * wasi: a program's table of numbers, and preview1 over it. The test is the program's host, too: its memory is the
 * space.
 */
#include "fs_world.h"
#include "../wasi/preview1.h"

static struct plait_wasi_program *program;
static uint8_t written[4096];
static uint32_t written_bytes, polls;
static plait_ref_t at; /* a block for what calls take and return */

struct plait_wasi_program *plait_wasi_program(void) { return program; }
struct plait_fs_thread *plait_wasi_enter(void) { return fs_mine(); }
double plait_wasi_now(void) { return NOW; }
int plait_wasi_stream_of(plait_ref_t inode) { return (void)inode, -1; }
uint32_t plait_wasi_host_is_terminal(uint32_t stream) { return stream == 1; }

uint32_t plait_wasi_host_read(uint32_t stream, plait_guest_t iovs, uint32_t count, plait_guest_t read) {
  (void)iovs, (void)count;
  CHECK(stream == 0);
  guest_store(read, 0);
  return 0;
}

uint32_t plait_wasi_host_write(uint32_t stream, plait_guest_t iovs, uint32_t count, plait_guest_t out) {
  CHECK(stream == 1 || stream == 2);
  written_bytes = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t length = guest_load(iovs + 8 * i + 4);
    guest_get(written + written_bytes, guest_load(iovs + 8 * i), length);
    written_bytes += length;
  }
  guest_store(out, written_bytes);
  return 0;
}

uint32_t plait_wasi_host_poll(plait_guest_t in, plait_guest_t out, uint32_t count, plait_guest_t events) {
  (void)in, (void)out;
  polls++;
  guest_store(events, count);
  return 0;
}

static void start(uint32_t beneath) {
  test_space(1000);
  fs_mine();
  static struct plait_wasi_program mine;
  mine = (struct plait_wasi_program){0};
  plait_put(&mine.beneath, beneath);
  program = &mine;
  CHECK(plait_preview1_start(fs_open("/", 0), "/") == 0);
  at = plait_heap_alloc(65536);
}

/* ---- calls with C strings ---- */

static plait_guest_t text(const char *words, uint32_t offset) {
  guest_put(at + offset, words, (uint32_t)strlen(words));
  return at + offset;
}

#define PATH 8192u
#define SECOND 16384u

static int open_file(uint32_t fd, const char *path, uint32_t oflags, uint64_t rights) {
  uint32_t error = plait_preview1_path_open(
      fd, LOOKUP_FOLLOW, text(path, PATH), (uint32_t)strlen(path), oflags, rights, ~0ull, 0, at);
  return error == 0 ? (int)guest_load(at) : -(int)error;
}

#define READS (RIGHT(RIGHT_FD_READ) | RIGHT(RIGHT_FD_SEEK) | RIGHT(RIGHT_FD_TELL) | RIGHT(RIGHT_POLL_FD_READWRITE))
#define BOTH                                                                                     \
  (READS | RIGHT(RIGHT_FD_WRITE) | RIGHT(RIGHT_FD_FDSTAT_SET_FLAGS) | RIGHT(RIGHT_FD_ALLOCATE) | \
      RIGHT(RIGHT_FD_FILESTAT_GET))

/* Writes the text: the bytes written, or the negative error. */
static int write_text(uint32_t fd, const char *words) {
  guest_store(at, text(words, 512));
  guest_store(at + 4, (uint32_t)strlen(words));
  uint32_t error = plait_preview1_fd_write(fd, at, 1, at + 8);
  return error == 0 ? (int)guest_load(at + 8) : -(int)error;
}

/* Reads `length` bytes into two vectors, and compares. */
static int reads(uint32_t fd, const char *expected, uint32_t length) {
  guest_store(at, at + 512), guest_store(at + 4, length / 2);
  guest_store(at + 8, at + 512 + length / 2), guest_store(at + 12, length - length / 2);
  CHECK(plait_preview1_fd_read(fd, at, 2, at + 16) == 0);
  return guest_load(at + 16) == strlen(expected) && memcmp(plait_at(at + 512), expected, strlen(expected)) == 0;
}

static uint64_t size_of(uint32_t fd) {
  CHECK(plait_preview1_fd_filestat_get(fd, at) == 0);
  return guest_load64(at + 32);
}

static void test_numbers(void) {
  start(1);
  CHECK(open_file(3, "f", OFLAG_CREAT, BOTH) == 4 && open_file(3, "f", 0, READS) == 5);
  CHECK(open_file(3, "f", 0, READS) == 6 && plait_preview1_fd_close(5) == 0 && open_file(3, "f", 0, READS) == 5);
  CHECK(plait_preview1_fd_close(0) == 0 && open_file(3, "f", 0, READS) == 0 && plait_preview1_fd_close(0) == 0);
  CHECK(plait_preview1_fd_close(0) == PREVIEW1_EBADF && plait_preview1_fd_close(70000) == PREVIEW1_EBADF);
  /* More than one chunk, and the limit. */
  for (uint32_t i = 7; i < 200; i++) CHECK(open_file(3, "f", 0, READS) == (int)(i == 7 ? 0 : i - 1));
  plait_put(&program->limit, 210);
  for (uint32_t i = 199; i < 210; i++) CHECK(open_file(3, "f", 0, READS) == (int)i);
  CHECK(open_file(3, "f", 0, READS) == -PREVIEW1_EMFILE && plait_wasi_share(4, 0) == -PLAIT_EMFILE);
  for (uint32_t i = 4; i < 210; i++) CHECK(plait_preview1_fd_close(i) == 0);
  CHECK(open_file(3, "f", 0, READS) == 4 && fs_check_all(3) <= 12);
}

/* Numbers that share an opening share its position, and the last one closes it. */
static void test_share(void) {
  start(1);
  int fd = open_file(3, "f", OFLAG_CREAT, BOTH);
  CHECK(write_text((uint32_t)fd, "hello, world") == 12 && plait_wasi_share((uint32_t)fd, 0) == 5);
  CHECK(plait_wasi_share((uint32_t)fd, 10) == 10 && plait_wasi_share((uint32_t)fd, 10) == 11);
  CHECK(plait_preview1_fd_seek(5, 0, 0, at) == 0 && reads(10, "hello", 5) && reads((uint32_t)fd, ", wor", 5));
  CHECK(plait_preview1_fd_close((uint32_t)fd) == 0 && reads(11, "ld", 5) && plait_preview1_fd_close(5) == 0);
  CHECK(plait_wasi_renumber(10, 20, 0) == 0 && plait_preview1_fd_close(10) == 0 && plait_preview1_fd_close(11) == 0);
  CHECK(plait_preview1_fd_seek(20, 7, 0, at) == 0 && reads(20, "world", 9));
  struct plait_wasi_descriptor found;
  CHECK(plait_wasi_find(20, &found) == 0 && plait_fs_uses(found.fd) == found.uses);
  CHECK(plait_preview1_fd_close(20) == 0 && plait_fs_uses(found.fd) == 0 && plait_wasi_find(20, &found) != 0);
  /* Onto a stream, as dup2() does: what is written to it goes to the file. */
  fd = open_file(3, "out", OFLAG_CREAT, BOTH);
  CHECK(plait_wasi_renumber((uint32_t)fd, 1, 0) == 0 && write_text(1, "to a file") == 9 && size_of((uint32_t)fd) == 9);
  CHECK(plait_wasi_renumber(2, 1, 0) == 0 && write_text(1, "again") == 5 && written_bytes == 5);
  CHECK(size_of((uint32_t)fd) == 9 && plait_wasi_renumber(50, 1, 0) == -PLAIT_EBADF);
  CHECK(plait_wasi_renumber(1, 100000, 0) == -PLAIT_EMFILE && plait_wasi_renumber(1, 1, 0) == 0);
}

static void test_renumber(void) {
  start(1);
  int a = open_file(3, "a", OFLAG_CREAT, BOTH), b = open_file(3, "b", OFLAG_CREAT, BOTH);
  CHECK(write_text((uint32_t)a, "a") == 1 && write_text((uint32_t)b, "bb") == 2);
  CHECK(plait_preview1_fd_renumber((uint32_t)a, (uint32_t)b) == 0 && size_of((uint32_t)b) == 1);
  CHECK(plait_preview1_fd_close((uint32_t)a) == PREVIEW1_EBADF);
  CHECK(plait_preview1_fd_renumber((uint32_t)b, 99) == PREVIEW1_EBADF && size_of((uint32_t)b) == 1);
  CHECK(plait_preview1_fd_renumber(99, (uint32_t)b) == PREVIEW1_EBADF);
  /* A preopened directory takes its name along. */
  CHECK(plait_preview1_fd_renumber(3, (uint32_t)b) == 0 && plait_preview1_fd_prestat_get(3, at) == PREVIEW1_EBADF);
  CHECK(plait_preview1_fd_prestat_get((uint32_t)b, at) == 0 && guest_load(at + 4) == 1);
  CHECK(plait_preview1_fd_prestat_dir_name((uint32_t)b, at, 0) == PREVIEW1_ENAMETOOLONG);
  CHECK(plait_preview1_fd_prestat_dir_name((uint32_t)b, at, 1) == 0 && *(char *)plait_at(at) == '/');
  CHECK(open_file((uint32_t)b, "a", 0, READS) == 3 && plait_preview1_fd_close((uint32_t)b) == 0);
}

static void test_rights(void) {
  start(1);
  int fd = open_file(3, "f", OFLAG_CREAT, READS);
  CHECK(write_text((uint32_t)fd, "x") == -PREVIEW1_ENOTCAPABLE);
  CHECK(plait_preview1_fd_fdstat_get((uint32_t)fd, at) == 0 && guest_load64(at + 8) == READS);
  CHECK(plait_preview1_fd_fdstat_set_rights((uint32_t)fd, BOTH, 0) == PREVIEW1_ENOTCAPABLE);
  CHECK(plait_preview1_fd_fdstat_set_rights((uint32_t)fd, READS & ~RIGHT(RIGHT_FD_SEEK), 0) == 0);
  CHECK(plait_preview1_fd_seek((uint32_t)fd, 1, 0, at) == PREVIEW1_ENOTCAPABLE);
  CHECK(plait_preview1_fd_tell((uint32_t)fd, at) == 0 && guest_load64(at) == 0);
  CHECK(plait_preview1_fd_fdstat_set_rights(3, RIGHT(RIGHT_PATH_OPEN), READS) == 0);
  CHECK(open_file(3, "g", OFLAG_CREAT, READS) == -PREVIEW1_ENOTCAPABLE && open_file(3, "f", 0, READS) > 0);
  CHECK(open_file(3, "f", OFLAG_TRUNC, READS) == -PREVIEW1_ENOTCAPABLE);
  CHECK(open_file(3, "f", 0, BOTH) == -PREVIEW1_ENOTCAPABLE);
  CHECK(plait_preview1_path_unlink_file(3, text("f", PATH), 1) == PREVIEW1_ENOTCAPABLE);
}

static void test_files(void) {
  start(1);
  uint32_t fd = (uint32_t)open_file(3, "f", OFLAG_CREAT | OFLAG_EXCL, BOTH);
  CHECK(open_file(3, "f", OFLAG_CREAT | OFLAG_EXCL, BOTH) == -PREVIEW1_EEXIST);
  CHECK(open_file(3, "d", OFLAG_DIRECTORY, READS) == -PREVIEW1_ENOENT);
  CHECK(write_text(fd, "0123456789") == 10 && plait_preview1_fd_seek(fd, (uint64_t)-4, 2, at) == 0);
  CHECK(guest_load64(at) == 6 && reads(fd, "6789", 100) && reads(fd, "", 100));
  CHECK(plait_preview1_fd_seek(fd, (uint64_t)-11, 2, at) == PREVIEW1_EINVAL);
  CHECK(plait_preview1_fd_seek(fd, 0, 7, at) == PREVIEW1_EINVAL);
  uint64_t farthest = 1ull << 53; /* from there on a double does not hold each number */
  CHECK(plait_preview1_fd_seek(fd, farthest + 1, 0, at) == PREVIEW1_EINVAL);
  CHECK(plait_preview1_fd_seek(fd, farthest, 0, at) == 0 && plait_preview1_fd_seek(fd, 1, 1, at) == PREVIEW1_EINVAL);
  CHECK(plait_preview1_fd_seek(fd, 0 - farthest - 1, 1, at) == PREVIEW1_EINVAL);
  CHECK(plait_preview1_fd_seek(fd, 0 - farthest, 1, at) == 0 && guest_load64(at) == 0);
  CHECK(plait_preview1_fd_fdstat_set_flags(fd, FDFLAG_APPEND) == 0 && plait_preview1_fd_seek(fd, 0, 0, at) == 0);
  CHECK(write_text(fd, "ab") == 2 && size_of(fd) == 12 && plait_preview1_fd_fdstat_set_flags(fd, 0) == 0);
  CHECK(plait_preview1_fd_fdstat_get(fd, at) == 0 && (guest_load(at) & 255) == FILETYPE_FILE);
  CHECK(plait_preview1_fd_fdstat_set_flags(fd, FDFLAG_SYNC) == PREVIEW1_EINVAL);
  CHECK(
      plait_preview1_fd_allocate(fd, 100, 100) == 0 && size_of(fd) == 200 && plait_preview1_fd_allocate(fd, 0, 1) == 0);
  CHECK(size_of(fd) == 200 && plait_preview1_fd_allocate(fd, 0, 0) == PREVIEW1_EINVAL);
  CHECK(plait_preview1_fd_filestat_set_size(fd, 5) == PREVIEW1_ENOTCAPABLE);
  CHECK(plait_preview1_fd_advise(fd, 0, 0, 9) == PREVIEW1_EINVAL && plait_preview1_fd_sync(fd) == 0);
  CHECK(plait_preview1_fd_filestat_get(1, at) == 0 && guest_load64(at + 16) == FILETYPE_CHARACTERS);
  CHECK(plait_preview1_fd_seek(1, 0, 0, at) == PREVIEW1_SPIPE && plait_preview1_fd_seek(3, 0, 0, at) == PREVIEW1_EBADF);
  CHECK(reads(0, "", 10) && write_text(3, "x") == -PREVIEW1_EBADF);
  CHECK(open_file(3, "../f", 0, READS) == -PREVIEW1_ENOTCAPABLE && open_file(fd, "f", 0, READS) == -PREVIEW1_ENOTDIR);
  CHECK(open_file(3, "", 0, READS) == -PREVIEW1_ENOENT);
  guest_put(at + PATH, "f\0g", 3);
  CHECK(plait_preview1_path_unlink_file(3, at + PATH, 3) == PREVIEW1_EINVAL);
  CHECK(plait_preview1_path_symlink(text("/abs", PATH), 4, 3, text("l", SECOND), 1) == PREVIEW1_ENOTCAPABLE);
  CHECK(plait_preview1_path_symlink(text("f", PATH), 1, 3, text("l", SECOND), 1) == 0);
  CHECK(plait_preview1_path_readlink(3, text("l", PATH), 1, at, 9, at + 16) == 0 && guest_load(at + 16) == 1);
  CHECK(
      plait_preview1_path_filestat_get(3, 0, text("l", PATH), 1, at) == 0 && guest_load64(at + 16) == FILETYPE_SYMLINK);
  CHECK(plait_preview1_path_filestat_get(3, 1, text("l", PATH), 1, at) == 0 && guest_load64(at + 32) == 200);
  CHECK(plait_preview1_path_link(3, 0, text("f", PATH), 1, 3, text("h", SECOND), 1) == 0);
  CHECK(plait_preview1_path_rename(3, text("h", PATH), 1, 3, text("i", SECOND), 1) == 0);
  CHECK(plait_preview1_path_create_directory(3, text("d", PATH), 1) == 0);
  CHECK(plait_preview1_path_remove_directory(3, text("f", PATH), 1) == PREVIEW1_ENOTDIR);
  CHECK(plait_preview1_path_unlink_file(3, text("d", PATH), 1) == PREVIEW1_EISDIR);
  CHECK(plait_preview1_path_remove_directory(3, text("d", PATH), 1) == 0);
}

/* Linked into the program: paths are those of POSIX. */
static void test_linked(void) {
  start(0);
  CHECK(open_file(3, "f", OFLAG_CREAT, BOTH) == 4 && open_file(3, "../f", 0, READS) == 5);
  CHECK(open_file(3, "/f", 0, READS) == 6 && plait_preview1_path_create_directory(3, text("d", PATH), 1) == 0);
  CHECK(open_file(3, "d", OFLAG_DIRECTORY, READS | RIGHT(RIGHT_PATH_OPEN)) == 7 && open_file(7, "../f", 0, READS) == 8);
  CHECK(plait_preview1_path_symlink(text("/f", PATH), 2, 3, text("l", SECOND), 1) == 0);
  CHECK(open_file(3, "l", 0, READS) == 9);
  CHECK(plait_preview1_path_link(3, 1, text("l", PATH), 1, 3, text("h", SECOND), 1) == 0);
  CHECK(plait_preview1_path_filestat_get(3, 0, text("h", PATH), 1, at) == 0 && guest_load64(at + 24) == 2);
}

/* Lists a directory through buffers of each size. */
static void test_readdir(void) {
  start(1);
  for (int i = 0; i < 20; i++) {
    char name[24];
    snprintf(name, sizeof name, "name-%d", i);
    CHECK(open_file(3, name, OFLAG_CREAT, BOTH) >= 0);
  }
  for (uint32_t size = DIRENT_SIZE + 8; size < 800; size += 13) {
    uint64_t cookie = 0;
    uint32_t names = 0;
    for (;;) {
      CHECK(plait_preview1_fd_readdir(3, at, size, cookie, at + 32768) == 0);
      uint32_t used = guest_load(at + 32768), place = 0;
      CHECK(used <= size);
      while (place + DIRENT_SIZE <= used) {
        uint32_t length = guest_load(at + place + 16), type = guest_load(at + place + 20);
        if (place + DIRENT_SIZE + length > used) break;
        const char *name = plait_at(at + place + DIRENT_SIZE);
        char expected[16];
        snprintf(expected, sizeof expected, names < 2 ? names == 0 ? "." : ".." : "name-%d", names - 2);
        CHECK(length == strlen(expected) && memcmp(name, expected, length) == 0);
        CHECK(type == (names < 2 ? FILETYPE_DIRECTORY : FILETYPE_FILE) && guest_load64(at + place + 8) != 0);
        cookie = guest_load64(at + place);
        place += DIRENT_SIZE + length;
        names++;
      }
      if (used < size) break;
    }
    CHECK(names == 22);
  }
  CHECK(plait_preview1_fd_readdir(4, at, 100, 0, at + 32768) == PREVIEW1_ENOTDIR);
  CHECK(plait_preview1_fd_readdir(1, at, 100, 0, at + 32768) == PREVIEW1_EBADF);
}

static void test_poll(void) {
  start(1);
  uint32_t fd = (uint32_t)open_file(3, "f", OFLAG_CREAT, BOTH);
  CHECK(write_text(fd, "12345") == 5 && plait_preview1_fd_seek(fd, 2, 0, at) == 0);
  plait_guest_t in = at + PATH, out = at + SECOND;
  memset(plait_at(in), 0, 3 * SUBSCRIPTION_SIZE);
  guest_store64(in, 77), guest_store(in + 8, 1), guest_store(in + 16, fd);
  guest_store64(in + SUBSCRIPTION_SIZE, 78); /* a clock */
  CHECK(plait_preview1_poll_oneoff(in, out, 2, at) == 0 && guest_load(at) == 1 && polls == 0);
  CHECK(guest_load64(out) == 77 && guest_load(out + 8) == 1u << 16 && guest_load64(out + 16) == 3);
  guest_store(in + 16, 99);
  CHECK(plait_preview1_poll_oneoff(in, out, 2, at) == 0 && (guest_load(out + 8) & 0xffff) == PREVIEW1_EBADF);
  guest_store(in + 16, 0);
  CHECK(plait_preview1_poll_oneoff(in, out, 2, at) == 0 && polls == 1 && guest_load(at) == 2);
  CHECK(plait_preview1_poll_oneoff(in, out, 0, at) == PREVIEW1_EINVAL);
}

static void test_errors(void) {
  CHECK(plait_preview1_error(0) == 0 && plait_preview1_error(5) == 0 && plait_preview1_error(-PLAIT_ENOENT) == 44);
  CHECK(plait_preview1_error(-PLAIT_EREMOTE) == PREVIEW1_EIO && plait_preview1_error(-100000) == PREVIEW1_EIO);
  CHECK(plait_preview1_error(-PLAIT_EDQUOT) == 19 && plait_preview1_error(-PLAIT_ENOTCAPABLE) == 76);
}

/* ---- threads open, share, renumber and close the same numbers ---- */

static void *storm(void *argument) {
  uint64_t state = test_seed * 977 + (uintptr_t)argument;
  CHECK(plait_abi_enter() != 0);
  fs_mine();
  for (uint32_t i = 0, many = test_work(40000); i < many; i++) {
    uint32_t number = 4 + test_random(&state) % 12, other = 4 + test_random(&state) % 12;
    struct plait_wasi_descriptor found;
    int rc = 0;
    switch (test_random(&state) % 5) {
      case 0: {
        int fd = fs_open("/f", PLAIT_FS_RDWR | PLAIT_FS_CREAT);
        struct plait_wasi_descriptor opening = {
            .fd = fd, .uses = plait_fs_uses(fd), .kind = PLAIT_WASI_FILE, .rights = (uint32_t)fd};
        rc = plait_wasi_add(&opening, number, 0, 0);
        if (rc < 0) CHECK(plait_fs_close(fd) == 0);
        break;
      }
      case 1: rc = plait_wasi_close(number); break;
      case 2: rc = plait_wasi_share(number, other); break;
      case 3: rc = plait_wasi_renumber(number, other, (int)(test_random(&state) % 2)); break;
      default:
        rc = plait_wasi_find(number, &found);
        /* one entry's words: the rights were made from the descriptor */
        if (rc == 0) CHECK(found.rights == (uint32_t)found.fd && found.kind == PLAIT_WASI_FILE);
    }
    CHECK(rc >= 0 || rc == -PLAIT_EBADF || rc == -PLAIT_EMFILE);
  }
  plait_abi_detach();
  return NULL;
}

/* Two vectors, as streams of C write: no other thread's bytes get in between. */
static void *append_pairs(void *argument) {
  uint64_t state = (uintptr_t)argument;
  CHECK(plait_abi_enter() != 0);
  plait_guest_t mine = plait_heap_alloc(64);
  uint8_t letter = (uint8_t)('a' + (uintptr_t)argument);
  memset(plait_at(mine + 32), letter, 16);
  for (uint32_t i = 0, many = test_work(100000); i < many; i++) {
    uint32_t first = test_random(&state) % 16;
    guest_store(mine, mine + 32), guest_store(mine + 4, first);
    guest_store(mine + 8, mine + 32), guest_store(mine + 12, 16 - first);
    CHECK(plait_preview1_fd_write(4, mine, 2, mine + 16) == 0 && guest_load(mine + 16) == 16);
  }
  plait_abi_detach();
  return NULL;
}

static void test_append(void) {
  start(1);
  CHECK(open_file(3, "f", OFLAG_CREAT, BOTH) == 4 && plait_preview1_fd_fdstat_set_flags(4, FDFLAG_APPEND) == 0);
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, append_pairs, (void *)(uintptr_t)i) == 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  uint64_t size = size_of(4);
  CHECK(size == 2 * 16 * (uint64_t)test_work(100000));
  for (uint64_t place = 0; place < size; place += 16) {
    guest_store(at, at + 64), guest_store(at + 4, 16);
    CHECK(plait_preview1_fd_pread(4, at, 1, place, at + 16) == 0 && guest_load(at + 16) == 16);
    for (uint32_t i = 1; i < 16; i++) CHECK(((uint8_t *)plait_at(at + 64))[i] == ((uint8_t *)plait_at(at + 64))[0]);
  }
}

/* More bytes than a count can hold: vectors may lie in the same memory. */
static void test_large_counts(void) {
  start(1);
  CHECK(open_file(3, "f", OFLAG_CREAT, BOTH) == 4 && plait_preview1_fd_allocate(4, 0, 1ull << 40) == 0);
  plait_guest_t many = plait_heap_alloc(8 * 1100);
  uint32_t length = 4u << 20;
  plait_guest_t bytes = plait_heap_alloc(length);
  for (uint32_t i = 0; i < 1100; i++) guest_store(many + 8 * i, bytes), guest_store(many + 8 * i + 4, length);
  CHECK(plait_preview1_fd_read(4, many, 1100, at) == 0 && guest_load(at) == 0x7ffff000u);
}

static void test_storm(void) {
  start(1);
  plait_put(&program->limit, 40);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, storm, (void *)(uintptr_t)i) == 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  for (uint32_t i = 4; i < 40; i++) plait_wasi_close(i);
  CHECK(fs_stat("/f") == 0 && plait_get(&fs_mine()->result.links) == 1);
  struct plait_inode *inode = plait_at(plait_get(&fs_mine()->result.block));
  CHECK(plait_get(&inode->opens) == 0);
}

static const struct test tests[] = {
    {"numbers", test_numbers},
    {"shared openings", test_share},
    {"renumbering", test_renumber},
    {"rights", test_rights},
    {"files and paths", test_files},
    {"a linked program", test_linked},
    {"reading a directory", test_readdir},
    {"polling", test_poll},
    {"errors", test_errors},
    {"threads that append", test_append},
    {"large counts", test_large_counts},
    {"threads with the same numbers", test_storm},
};
TEST_MAIN(tests)
