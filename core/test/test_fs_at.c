/*
 * fs: paths that start at a directory, and may not leave it; descriptors of programs; names by cookie.
 */
#include "fs_tsan.h"
#include "fs_world.h"

static struct plait_fs_at start(int fd, const char *path, int beneath) {
  struct plait_fs_at at = plait_fs_path(fs_first(path));
  at.beneath = (uint32_t)beneath;
  CHECK(plait_fs_start_at(&at, fd, 0) == 0);
  return at;
}

static int stat_from(int fd, const char *path, int beneath) {
  struct plait_fs_at at = start(fd, path, beneath);
  return plait_fs_stat_at(&at, 1);
}

static int mkdir_from(int fd, const char *path) {
  struct plait_fs_at at = start(fd, path, 1);
  return plait_fs_mkdir_at(&at, 0777, NOW);
}

static int open_from(int fd, const char *path, uint32_t flags) {
  struct plait_fs_at at = start(fd, path, 1);
  return plait_fs_open_at(&at, flags, 0666, NOW);
}

static int remove_from(int fd, const char *path, int is_rmdir) {
  struct plait_fs_at at = start(fd, path, 1);
  return plait_fs_remove_at(&at, is_rmdir, NOW);
}

static void test_start(void) {
  test_space(400);
  CHECK(fs_mkdir("/a") == 0 && fs_mkdir("/a/b") == 0 && fs_write("/a/b/f", 10, 1) == 0 && fs_write("/g", 20, 2) == 0);
  int a = fs_open("/a", 0), b = fs_open("/a/b", 0), g = fs_open("/g", 0);
  CHECK(stat_from(a, "b/f", 0) == 0 && stat_from(b, "f", 0) == 0 && stat_from(b, "../b/f", 0) == 0);
  CHECK(stat_from(a, "../g", 0) == 0 && stat_from(a, "/g", 0) == 0 && stat_from(a, "g", 0) == -PLAIT_ENOENT);
  CHECK(stat_from(a, ".", 0) == 0 && stat_from(b, "..", 0) == 0 && stat_from(a, "", 0) == -PLAIT_ENOENT);
  CHECK(stat_from(a, "b/../b/./f", 1) == 0 && stat_from(a, "b/..", 1) == 0 && stat_from(a, ".", 1) == 0);
  CHECK(stat_from(a, "..", 1) == -PLAIT_ENOTCAPABLE && stat_from(a, "b/../../a", 1) == -PLAIT_ENOTCAPABLE);
  CHECK(stat_from(a, "/a/b", 1) == -PLAIT_ENOTCAPABLE && stat_from(a, "/", 1) == -PLAIT_ENOTCAPABLE);
  /* Links are part of the path: those that stay inside are followed. */
  CHECK(fs_symlink("b/f", "/a/in") == 0 && fs_symlink("../in", "/a/b/up") == 0 && fs_symlink("../g", "/a/out") == 0);
  CHECK(fs_symlink("/a/b/f", "/a/absolute") == 0 && fs_symlink("../../g", "/a/b/out") == 0);
  CHECK(stat_from(a, "in", 1) == 0 && stat_from(a, "b/up", 1) == 0 && stat_from(b, "up", 1) == -PLAIT_ENOTCAPABLE);
  CHECK(stat_from(a, "out", 1) == -PLAIT_ENOTCAPABLE && stat_from(a, "out", 0) == 0);
  CHECK(stat_from(a, "absolute", 1) == -PLAIT_ENOTCAPABLE && stat_from(a, "b/out", 1) == -PLAIT_ENOTCAPABLE);
  struct plait_fs_at at = plait_fs_path(1);
  CHECK(plait_fs_start_at(&at, g, 0) == -PLAIT_ENOTDIR && plait_fs_start_at(&at, 999, 0) == -PLAIT_EBADF);
  CHECK(plait_fs_start_at(&at, a, plait_fs_uses(a) + 2) == -PLAIT_EBADF);
  CHECK(fs_check_all(0) == 0);
}

/* A directory that was removed while it is open: nothing is found in it or above it, and nothing can be made in it. */
static void test_removed_start(void) {
  test_space(400);
  CHECK(fs_mkdir("/a") == 0 && fs_mkdir("/a/b") == 0);
  int b = fs_open("/a/b", 0);
  CHECK(fs_rmdir("/a/b") == 0 && fs_rmdir("/a") == 0);
  CHECK(stat_from(b, ".", 0) == 0 && plait_get(&fs_mine()->result.links) == 0);
  CHECK(stat_from(b, "..", 0) == -PLAIT_ENOENT && stat_from(b, "x", 0) == -PLAIT_ENOENT);
  CHECK(mkdir_from(b, "x") == -PLAIT_ENOENT && open_from(b, "x", PLAIT_FS_CREAT | PLAIT_FS_RDWR) == -PLAIT_ENOENT);
  /* Its parent's inode is something else now. */
  for (int i = 0; i < 100; i++) {
    char name[16];
    snprintf(name, sizeof name, "/n%d", i);
    CHECK(fs_mkdir(name) == 0);
  }
  CHECK(stat_from(b, "../n1", 0) == -PLAIT_ENOENT && stat_from(b, "..", 1) == -PLAIT_ENOTCAPABLE);
  struct plait_fs_at at = start(b, "x", 0);
  CHECK(plait_fs_close(b) == 0 && plait_fs_stat_at(&at, 1) == -PLAIT_ENOENT);
  CHECK(fs_check_all(0) == 0);
}

/* A tree that no path can name: made, walked up and removed step by step. */
static void test_deep(void) {
  enum { DEPTH = 3000 };
  test_space(1000);
  CHECK(fs_mkdir("/t") == 0);
  static int fds[DEPTH + 1];
  fds[0] = fs_open("/t", 0);
  for (int i = 0; i < DEPTH; i++) {
    CHECK(mkdir_from(fds[i], "deep") == 0);
    CHECK((fds[i + 1] = open_from(fds[i], "deep", PLAIT_FS_MUST_DIR)) >= 0);
  }
  CHECK(open_from(fds[DEPTH], "f", PLAIT_FS_CREAT | PLAIT_FS_WRONLY) >= 0 && stat_from(fds[DEPTH], "f", 1) == 0);
  CHECK(fs_stat("/t/deep/deep/deep") == 0);
  /* One path of 800 names goes down; 800 names up again are more than the walk remembers, 100 are not. */
  static char path[PLAIT_FS_PATH_MAX];
  path[0] = 0;
  for (int i = 0; i < 800; i++) strcat(path, "deep/");
  CHECK(stat_from(fds[0], path, 1) == 0 && stat_from(fds[DEPTH - 801], path, 1) == 0);
  size_t down = strlen(path);
  path[down] = 0;
  for (int i = 0; i < 25; i++) strcat(path, "../");
  CHECK(stat_from(fds[0], path, 1) == 0);
  path[250 * 5] = 0;
  for (int i = 0; i < 250; i++) strcat(path, "../");
  CHECK(stat_from(fds[0], path, 1) == -PLAIT_ENAMETOOLONG && stat_from(fds[0], path, 0) == 0);
  path[100 * 5] = 0;
  for (int i = 0; i < 100; i++) strcat(path, "../");
  CHECK(stat_from(fds[0], path, 1) == 0);
  strcat(path, "../");
  CHECK(stat_from(fds[0], path, 1) == -PLAIT_ENOTCAPABLE);
  CHECK(remove_from(fds[DEPTH], "f", 0) == 0);
  for (int i = DEPTH; i > 0; i--) CHECK(plait_fs_close(fds[i]) == 0 && remove_from(fds[i - 1], "deep", 1) == 0);
  CHECK(plait_fs_close(fds[0]) == 0 && fs_rmdir("/t") == 0);
}

/* Two names: each starts at a directory of its own. */
static void test_two_starts(void) {
  test_space(400);
  CHECK(fs_mkdir("/a") == 0 && fs_mkdir("/b") == 0 && fs_write("/a/f", 10, 1) == 0);
  int a = fs_open("/a", 0), b = fs_open("/b", 0);
  struct plait_fs_at from = start(a, "f", 1), to = plait_fs_second_path(fs_second("g"));
  to.beneath = 1;
  CHECK(plait_fs_start_at(&to, b, 0) == 0 && plait_fs_rename_at(&from, &to, NOW) == 0 && fs_holds("/b/g", 10, 1));
  from = start(b, "g", 1);
  to.length = fs_second("../a/g");
  CHECK(plait_fs_rename_at(&from, &to, NOW) == -PLAIT_ENOTCAPABLE && fs_holds("/b/g", 10, 1));
  from = start(b, "g", 1);
  CHECK(plait_fs_link_at(&from, 0, &to, NOW) == -PLAIT_ENOTCAPABLE);
  to.length = fs_second("h");
  CHECK(plait_fs_link_at(&from, 0, &to, NOW) == 0 && fs_holds("/b/h", 10, 1));
  fs_first("text");
  to.length = fs_second("l");
  CHECK(plait_fs_symlink_at(4, &to, NOW) == 0);
  from = start(b, "l", 1);
  CHECK(plait_fs_readlink_at(&from) == 4 && memcmp(plait_at(plait_get(&fs_mine()->scratch)), "text", 4) == 0);
  CHECK(plait_fs_link_at(&from, 1, &to, NOW) == -PLAIT_ENOENT && fs_check_all(0) == 0);
  /* An open file without a name gets no other one. */
  from = (struct plait_fs_at){.fd = fs_open("/b/h", PLAIT_FS_RDWR)};
  to.length = fs_second("again");
  CHECK(plait_fs_link_at(&from, 0, &to, NOW) == 0 && fs_unlink("/b/h") == 0 && fs_unlink("/b/g") == 0);
  CHECK(fs_unlink("/b/again") == 0 && plait_fs_link_at(&from, 0, &to, NOW) == -PLAIT_ENOENT);
}

static void test_openings(void) {
  test_space(400);
  CHECK(fs_write("/f", 100, 1) == 0);
  int fd = fs_open("/f", PLAIT_FS_RDWR);
  uint32_t uses = plait_fs_uses(fd);
  plait_ref_t bytes = plait_heap_alloc(100);
  CHECK(uses != 0 && plait_fs_flags(fd, uses) == PLAIT_FS_RDWR);
  CHECK(plait_fs_set_flags(fd, uses, PLAIT_FS_APPEND | PLAIT_FS_TRUNC) == 0);
  CHECK(plait_fs_flags(fd, uses) == (PLAIT_FS_RDWR | PLAIT_FS_APPEND));
  CHECK(plait_fs_write_as(fd, uses, bytes, 10, -1, NOW) == 10 && fs_stat("/f") == 0);
  CHECK(plait_get64(&fs_mine()->result.size) == 110 && plait_fs_set_flags(fd, uses, 0) == 0);
  CHECK(plait_fs_seek_as(fd, uses, 0, 0) == 0 && plait_fs_write_as(fd, uses, bytes, 10, -1, NOW) == 10);
  CHECK(fs_stat("/f") == 0 && plait_get64(&fs_mine()->result.size) == 110);
  CHECK(plait_fs_share(fd, uses) == 0 && plait_fs_close_as(fd, uses) == 0 && plait_fs_uses(fd) == uses);
  /* Asking for a lock leaves those that the opening has. */
  int second = fs_open("/f", PLAIT_FS_RDWR);
  uint32_t seconds = plait_fs_uses(second);
  CHECK(plait_fs_lock_as(fd, uses, 2, 0, 100, 0) == 0 && plait_fs_may_lock(fd, uses, 2, 0, 10) == 0);
  CHECK(plait_fs_may_lock(second, seconds, 1, 5, 6) == -PLAIT_EAGAIN &&
      plait_fs_may_lock(second, seconds, 2, 100, 101) == 0);
  CHECK(plait_fs_lock_as(second, seconds + 2, 1, 200, 300, 0) == -PLAIT_EBADF && plait_fs_close(second) == 0);
  CHECK(plait_fs_close_as(fd, uses) == 0);
  /* The number is used again, for another file: the old opening is not it. */
  int again = fs_open("/f", PLAIT_FS_RDWR);
  struct plait_fs_at at = {.fd = again, .uses = uses};
  CHECK(again == fd && plait_fs_read_as(fd, uses, bytes, 10, -1) == -PLAIT_EBADF);
  CHECK(plait_fs_write_as(fd, uses, bytes, 10, 0, NOW) == -PLAIT_EBADF && plait_fs_stat_at(&at, 1) == -PLAIT_EBADF);
  CHECK(plait_fs_seek_as(fd, uses, 0, 0) == -PLAIT_EBADF && plait_fs_flags(fd, uses) == -PLAIT_EBADF);
  CHECK(plait_fs_set_flags(fd, uses, 0) == -PLAIT_EBADF && plait_fs_share(fd, uses) == -PLAIT_EBADF);
  CHECK(plait_fs_close_as(fd, uses) == -PLAIT_EBADF && plait_fs_close(again) == 0 && plait_fs_uses(fd) == 0);
}

/* ---- descriptors of a program ---- */

static int opened_by_thread;
static plait_thread_t opener;

static void *open_for_program(void *argument) {
  opener = plait_abi_enter();
  CHECK(opener != 0);
  plait_put(&fs_mine()->owner, (plait_thread_t)(uintptr_t)argument);
  opened_by_thread = fs_open("/f", PLAIT_FS_RDWR | PLAIT_FS_CREAT);
  plait_abi_detach();
  return NULL;
}

static void test_owner(void) {
  test_space(400);
  fs_mine();
  plait_thread_t program = plait_slot_claim(0);
  plait_put(&plait_slot_of(program)->role, PLAIT_ROLE_PROGRAM);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, open_for_program, (void *)(uintptr_t)program) == 0);
  pthread_join(thread, NULL);
  plait_abi_sweep();
  CHECK(!plait_thread_alive(opener) && opened_by_thread >= 0 && plait_fs_uses(opened_by_thread) != 0);
  CHECK(fs_check_all(0) == 0);
  /* The next thread in that slot does not open for the program. */
  CHECK(pthread_create(&thread, NULL, open_for_program, NULL) == 0);
  pthread_join(thread, NULL);
  int own = opened_by_thread;
  plait_abi_sweep();
  CHECK(plait_fs_uses(own) == 0 && fs_check_all(0) == 0);
  CHECK(plait_thread_note_exit(program));
  plait_abi_sweep();
  CHECK(fs_stat("/f") == 0 && fs_check_all(0) == 0);
}

/* ---- names by cookie ---- */

static void test_next(void) {
  test_space(400);
  CHECK(fs_mkdir("/d") == 0);
  for (int i = 0; i < 50; i++) {
    char name[16];
    snprintf(name, sizeof name, "/d/n%d", i);
    CHECK(fs_write(name, 1, 0) == 0);
  }
  int fd = fs_open("/d", 0);
  struct plait_fs_at at = {.fd = fd};
  struct plait_fs_result *result = &fs_mine()->result;
  uint64_t cookie = 0, tenth = 0;
  for (int i = 0; i < 50; i++) {
    char name[16], found[16] = {0};
    snprintf(name, sizeof name, "n%d", i);
    CHECK(plait_fs_next_at(&at, cookie) == 1 && plait_get(&result->kind) == PLAIT_FS_FILE);
    memcpy(found, plait_at(plait_get(&fs_mine()->scratch)), plait_get(&result->bytes));
    CHECK(strcmp(name, found) == 0);
    uint32_t number = plait_get(&result->number);
    uint64_t next = plait_get64(&result->cursor);
    CHECK(next > cookie);
    cookie = next;
    if (i == 10) tenth = cookie;
    char path[20];
    snprintf(path, sizeof path, "/d/%s", name);
    CHECK(fs_stat(path) == 0 && plait_get(&result->number) == number);
  }
  CHECK(plait_fs_next_at(&at, cookie) == 0);
  /* A cookie stays valid while names go, and while the table is replaced. */
  for (int i = 0; i < 50; i += 2) {
    char name[16];
    snprintf(name, sizeof name, "/d/n%d", i);
    CHECK(fs_unlink(name) == 0);
  }
  for (int i = 100; i < 200; i++) {
    char name[16];
    snprintf(name, sizeof name, "/d/n%d", i);
    CHECK(fs_write(name, 1, 0) == 0);
  }
  CHECK(plait_fs_next_at(&at, tenth) == 1);
  CHECK(memcmp(plait_at(plait_get(&fs_mine()->scratch)), "n11", 3) == 0);
  struct plait_fs_at file = plait_fs_path(fs_first("/d/n11"));
  CHECK(plait_fs_next_at(&file, 0) == -PLAIT_ENOTDIR);
}

/* ---- walks while directories move ---- */

/*
 * /jail/a/b/c and /outside/secret. Threads move b between the jail and the outside. Walks from /jail that go down and up
 * again must never find what only the outside has.
 */
static atomic_int stop;

static void *move_directories(void *argument) {
  CHECK(plait_abi_enter() != 0);
  fs_mine();
  const char *outside = argument;
  while (!atomic_load(&stop)) {
    int rc = fs_rename("/jail/a/b", outside);
    CHECK(rc == 0 || rc == -PLAIT_ENOENT);
    rc = fs_rename(outside, "/jail/a/b");
    CHECK(rc == 0 || rc == -PLAIT_ENOENT || rc == -PLAIT_ENOTEMPTY || rc == -PLAIT_EEXIST);
  }
  plait_abi_detach();
  return NULL;
}

static void test_storm(void) {
  test_space(1000);
  CHECK(fs_mkdir("/jail") == 0 && fs_mkdir("/jail/a") == 0 && fs_mkdir("/jail/a/b") == 0);
  CHECK(fs_mkdir("/jail/a/b/c") == 0 && fs_mkdir("/outside") == 0 && fs_write("/outside/secret", 10, 1) == 0);
  CHECK(fs_mkdir("/outside/deep") == 0 && fs_write("/outside/deep/secret", 10, 1) == 0);
  CHECK(fs_symlink("b/c/../../secret", "/jail/a/link") == 0);
  int jail = fs_open("/jail", 0);
  pthread_t threads[2];
  CHECK(pthread_create(&threads[0], NULL, move_directories, "/outside/x") == 0);
  CHECK(pthread_create(&threads[1], NULL, move_directories, "/outside/deep/x") == 0);
  static const char *const ways[] = {
      "a/b/../secret", "a/b/c/../../secret", "a/link", "a/b/c/../../../../outside/secret", "a/b/../deep/secret"};
  for (uint32_t i = 0, many = test_rounds(200000); i < many; i++) {
    int rc = stat_from(jail, ways[i % 5], 1);
    CHECK(rc == -PLAIT_ENOENT || rc == -PLAIT_ENOTCAPABLE);
    rc = stat_from(jail, "a/b/c", 1);
    CHECK(rc == 0 || rc == -PLAIT_ENOENT);
  }
  atomic_store(&stop, 1);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  CHECK(fs_check_all(0) == 0);
}

/* ---- emptying ---- */

static void *make_files(void *argument) {
  CHECK(plait_abi_enter() != 0);
  fs_mine();
  for (uint32_t i = 0; !atomic_load(&stop); i++) {
    char path[40];
    snprintf(path, sizeof path, "/t/%u", i % 50);
    if (i % 3 == 0) fs_mkdir(path);
    snprintf(path, sizeof path, "/t/%u/%u", i % 50, i % 7);
    fs_write(path, 100, i);
  }
  plait_abi_detach();
  return argument;
}

static void test_empty(void) {
  enum { DEPTH = 5000 };
  test_space(1000);
  CHECK(fs_mkdir("/t") == 0 && plait_fs_empty(fs_first("/t"), NOW) == 0);
  CHECK(plait_fs_empty(fs_first("/none"), NOW) == -PLAIT_ENOENT && fs_write("/f", 10, 1) == 0);
  CHECK(plait_fs_empty(fs_first("/f"), NOW) == -PLAIT_ENOTDIR && fs_symlink("t", "/l") == 0);
  CHECK(plait_fs_empty(fs_first("/l"), NOW) == -PLAIT_ENOTDIR);
  int fd = fs_open("/t", 0);
  for (int i = 0; i < DEPTH; i++) {
    CHECK(mkdir_from(fd, "deep") == 0);
    struct plait_fs_at wide = start(fd, i % 2 == 0 ? "a file" : "a directory", 1);
    if (i % 2 == 1) CHECK(plait_fs_mkdir_at(&wide, 0777, NOW) == 0);
    else CHECK(plait_fs_close(plait_fs_open_at(&wide, PLAIT_FS_CREAT | PLAIT_FS_WRONLY, 0666, NOW)) == 0);
    int next = open_from(fd, "deep", PLAIT_FS_MUST_DIR);
    CHECK(next >= 0 && plait_fs_close(fd) == 0);
    fd = next;
  }
  CHECK(plait_fs_close(fd) == 0 && plait_fs_empty(fs_first("/t"), NOW) == 0);
  CHECK(plait_fs_list(PLAIT_FS_PATH(fs_first("/t")), 0) == 0 && fs_check_all(0) == 0);
  CHECK(fs_mkdir("/t/m") == 0 && fs_mount("/t/m", "backend") > 0);
  CHECK(plait_fs_empty(fs_first("/t"), NOW) == -PLAIT_EBUSY && fs_unmount("/t/m") == 0);
  /* Beside a thread that fills it. */
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, make_files, NULL) == 0);
  for (uint32_t i = 0; i < test_rounds(300); i++) CHECK(plait_fs_empty(fs_first("/t"), NOW) == 0);
  atomic_store(&stop, 1);
  pthread_join(thread, NULL);
  CHECK(plait_fs_empty(fs_first("/t"), NOW) == 0 && fs_rmdir("/t") == 0 && fs_check_all(0) == 0);
}

static const struct test tests[] = {
    {"start", test_start},
    {"a start that was removed", test_removed_start},
    {"a deep tree", test_deep},
    {"two starts", test_two_starts},
    {"openings", test_openings},
    {"owner", test_owner},
    {"names by cookie", test_next},
    {"a storm of renames", test_storm},
    {"emptying a tree", test_empty},
};
TEST_MAIN(tests)
