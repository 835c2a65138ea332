/*
 * crash points of fs: a thread exits after every single store of an operation (see single_step.h). The recovering
 * thread exits after every store of the recovery. Afterwards the whole tree, with contents and times, is as it was
 * before the operation or as it is after it. All structures are valid, at most one block is lost for each exit, and all
 * operations still work.
 *
 * Default: every crash point of each operation, and of recoveries after some of them. PLAIT_ROUNDS: all of them.
 */
#include "fs_world.h"
#include "single_step.h"

#ifdef SINGLE_STEP

static plait_thread_t main_id, other;
static int descriptor, second_descriptor;
static plait_thread_t program; /* for which the actor opens files in some scenarios; recovered before it */
static uint32_t uses;

static void as(plait_thread_t thread) { plait_slot_enter(thread, 1); }

static void world(void) {
  step_begin(400);
  CHECK(plait_posix_map(60, 400) == 0 && plait_abi_init(400) == 0);
  plait_thread_t *ids[] = {&main_id, &program, &actor, &recoverer, &other};
  for (int i = 0; i < 5; i++) {
    CHECK((*ids[i] = plait_slot_claim(0)) != 0);
    if (ids[i] == &program) continue;
    as(*ids[i]);
    fs_mine();
  }
  as(main_id);
  CHECK(fs_mkdir("/d") == 0 && fs_mkdir("/e") == 0 && fs_mkdir("/d/sub") == 0 && fs_mkdir("/e/empty") == 0);
  CHECK(fs_write("/d/f", 100, 1) == 0 && fs_write("/e/g", 3000, 2) == 0 && fs_link("/d/f", "/d/hard") == 0);
  CHECK(fs_symlink("../e/g", "/d/soft") == 0);
}

/* Ordinary operations: all must work. */
static void use(void) {
  CHECK(fs_mkdir("/use") == 0 && fs_write("/use/a", 200, 5) == 0 && fs_rename("/use/a", "/e/use") == 0);
  CHECK(fs_holds("/e/use", 200, 5) && fs_write("/e/use", 9000, 6) == 0 && fs_holds("/e/use", 9000, 6));
  CHECK(fs_link("/e/use", "/use/b") == 0 && fs_unlink("/e/use") == 0 && fs_unlink("/use/b") == 0);
  int mount = fs_mount("/use", "used"), fd = fs_open("/use", 0);
  CHECK(mount > 0 && fd >= 0 && fs_stat("/use/x") == -PLAIT_ENOENT && fs_unmount("/use") == -PLAIT_EBUSY);
  CHECK(plait_fs_close(fd) == 0 && plait_fs_close(fd) == -PLAIT_EBADF);
  CHECK(fs_unmount("/use") == 0 && fs_rmdir("/use") == 0);
}

/* ---- scenarios ---- */

static void make_nothing(void) {}
static void make_own_file(void) { as(actor), descriptor = fs_open("/d/f", PLAIT_FS_RDWR); }
static void make_large(void) {
  make_own_file();
  for (uint32_t i = 0; i < 12; i++) {
    fs_fill(plait_get(&fs_mine()->scratch), 9000, 0);
    CHECK(plait_fs_write(descriptor, plait_get(&fs_mine()->scratch), 9000, i * 9000, NOW) == 9000);
  }
}
static void make_sparse(void) {
  make_own_file();
  for (uint32_t i = 1; i < 6; i++)
    CHECK(plait_fs_write(descriptor, plait_get(&fs_mine()->scratch), 64, i * 50000, NOW) == 64);
}
static void make_shared_append(void) { as(other), descriptor = fs_open("/d/f", PLAIT_FS_RDWR | PLAIT_FS_APPEND); }
static void make_full_table(void) {
  char name[20];
  for (int i = 0; i < 4; i++) {
    snprintf(name, sizeof name, "/d/more%d", i);
    CHECK(fs_write(name, 0, 0) == 0);
  }
}
static void make_unlinked_open(void) {
  as(actor), descriptor = fs_open("/e/g", PLAIT_FS_RDWR);
  CHECK(fs_unlink("/e/g") == 0);
}
static void make_mapped(void) { make_large(), second_descriptor = plait_fs_map(descriptor); }
static void make_ranges(void) {
  make_own_file();
  CHECK(plait_fs_lock(descriptor, 2, 0, 100, 0) == 0 && plait_fs_lock(descriptor, 1, 200, 300, 0) == 0);
}
static void make_program(void) {
  plait_put(&plait_slot_of(program)->role, PLAIT_ROLE_PROGRAM);
  as(actor);
  plait_put(&fs_mine()->owner, program);
}
static void make_file_of_program(void) {
  make_program();
  CHECK((descriptor = fs_open("/d/f", PLAIT_FS_RDWR)) >= 0);
  uses = plait_fs_uses(descriptor);
}
static void make_shared(void) {
  make_own_file(), uses = plait_fs_uses(descriptor);
  CHECK(plait_fs_share(descriptor, uses) == 0);
}
static void make_many_opens(void) {
  as(actor);
  for (uint32_t i = PLAIT__FS_FIRST_OPEN; i < PLAIT_FS_CHUNK_ITEMS; i++) CHECK(fs_open("/d/f", 0) >= 0);
}

static void make_open_victim(void) { as(actor), descriptor = fs_open("/e/g", PLAIT_FS_RDWR); }
static void make_large_victim(void) {
  make_open_victim();
  for (uint32_t i = 0; i < 12; i++)
    CHECK(plait_fs_write(descriptor, plait_get(&fs_mine()->scratch), 9000, i * 9000, NOW) == 9000);
  CHECK(plait_fs_close(descriptor) == 0);
}
static void make_mapped_victim(void) {
  make_large_victim(), make_open_victim(), second_descriptor = plait_fs_map(descriptor);
}
static void make_full_inodes(void) {
  char name[20];
  as(actor);
  for (int i = 0; plait_get(&plait_fs()->inodes.count) == 1; i++) {
    uint32_t used = 0;
    for (uint32_t k = 0; k < PLAIT_FS_CHUNK_ITEMS; k++) used += plait_get(plait__fs_owner(&plait_fs()->inodes, k)) != 0;
    if (used == PLAIT_FS_CHUNK_ITEMS) break;
    snprintf(name, sizeof name, "/many%d", i);
    CHECK(fs_write(name, 0, 0) == 0);
  }
}

static int mount;
static void make_mount(void) {
  CHECK((mount = fs_mount("/d/sub", "one")) > 0);
  host_mkdir("one/inner"), host_write("one/f", "text");
}
static void make_mounts(void) {
  make_mount();
  CHECK(fs_mount("/d/sub/inner", "two") > 0 && fs_mount("/e/empty", "three") > 0);
}
static void make_mounted(void) {
  make_mount(), as(actor);
  CHECK((descriptor = fs_open("/d/sub/f", PLAIT_FS_RDWR)) >= 0);
}
static void make_mounted_of_other(void) {
  make_mount(), as(other);
  CHECK((descriptor = fs_open("/d/sub/f", PLAIT_FS_RDWR)) >= 0);
}
static void make_many_mounted(void) {
  make_mount(), as(actor);
  for (uint32_t i = PLAIT__FS_FIRST_OPEN; i < PLAIT_FS_CHUNK_ITEMS; i++) CHECK(fs_open("/d/sub/f", 0) >= 0);
}

static void do_create(void) { fs_write("/d/new", 300, 7); }
static void do_create_empty(void) { fs_open("/d/new", PLAIT_FS_RDWR | PLAIT_FS_CREAT); }
static void do_mkdir(void) { fs_mkdir("/d/sub/new"); }
static void do_symlink(void) { fs_symlink("a/b", "/d/new"); }
static void do_link(void) { fs_link("/d/f", "/e/new"); }
static void do_unlink(void) { fs_unlink("/e/g"); }
static void do_unlink_one(void) { fs_unlink("/d/hard"); }
static void do_rmdir(void) { fs_rmdir("/e/empty"); }
static void do_rename_here(void) { fs_rename("/d/f", "/d/other"); }
static void do_rename_over(void) { fs_rename("/d/f", "/e/g"); }
static void do_rename_directory(void) { fs_rename("/d", "/e/empty"); }
static void do_rename_away(void) { fs_rename("/d/sub", "/e/moved"); }
static void do_append(void) { plait_fs_write(descriptor, plait_get(&fs_mine()->scratch), 5000, 100, NOW + 5); }
static void do_append_shared(void) { plait_fs_write(descriptor, plait_get(&fs_mine()->scratch), 900, -1, NOW + 5); }
static void do_write_far(void) { plait_fs_write(descriptor, plait_get(&fs_mine()->scratch), 100, 70000, NOW + 5); }
static void do_truncate(void) { plait_fs_truncate(descriptor, 20000, NOW + 5); }
static void do_empty(void) { plait_fs_truncate(descriptor, 0, NOW + 5); }
static void do_extend(void) { plait_fs_truncate(descriptor, 4000, NOW + 5); }
static void do_replace(void) { fs_write("/e/g", 20000, 9); }
static void do_open_truncate(void) { fs_open("/e/g", PLAIT_FS_RDWR | PLAIT_FS_TRUNC); }
static void do_open(void) { fs_open("/e/g", 0); }
static void do_close(void) { plait_fs_close(descriptor); }
static void do_close_as(void) { plait_fs_close_as(descriptor, uses); }
static void do_share(void) { plait_fs_share(descriptor, uses); }
static void do_set_flags(void) { plait_fs_set_flags(descriptor, uses, PLAIT_FS_APPEND); }
static void do_extend_as(void) { plait_fs_extend_as(descriptor, uses, 9000, NOW + 5); }
static void do_map(void) { plait_fs_map(descriptor); }
static void do_unmap(void) { plait_fs_unmap(second_descriptor); }
static void do_set(void) { plait_fs_set(PLAIT_FS_PATH(fs_first("/e/g")), 1, 31, 0600, 5, 6, 1, 2, 3, 4, NOW + 5); }
static void do_ranges(void) {
  plait_fs_lock(descriptor, 0, 40, 50, 0), plait_fs_lock(descriptor, 2, 90, 250, 0),
      plait_fs_lock(descriptor, 0, 0, 1e300, 0);
}

static void do_link_full(void) { fs_link("/e/g", "/d/new"); }
static void do_rename_full(void) { fs_rename("/e/g", "/d/new"); }
static void do_unlink_mapped(void) { fs_unlink("/e/g"); }
static void write_reserved(const char *path) { /* without filling the block, which would be a store for each byte */
  plait_ref_t block = plait_fs_tx_reserve(100000);
  plait_fs_write_file(fs_first(path), PLAIT_FS_WRONLY | PLAIT_FS_CREAT | PLAIT_FS_TRUNC, 0666, block, 100000, 1, NOW);
}
static void do_create_large(void) { write_reserved("/d/new"); }
static void do_replace_large(void) { write_reserved("/e/g"); }
static void do_reserve(void) { plait_fs_tx_reserve(70000), plait_fs_tx_unreserve(); }
static void do_close_ranges(void) { plait_fs_close(descriptor); }

static void do_mount(void) { fs_mount("/d/sub", "one"); }
static void do_rename_away_mounted(void) { fs_rename("/e/empty", "/d/moved"); }
static void do_mount_beside(void) { fs_mount("/e/empty", "two"); }
static void do_mount_inside(void) { fs_mount("/d/sub/inner", "two"); }
static void do_unmount(void) { fs_unmount("/d/sub"); }
static void do_unmount_inside(void) { fs_unmount("/d/sub/inner"); }
static void do_unmount_last(void) { fs_unmount("/e/empty"); }
static void do_mounted_open(void) { fs_open("/d/sub/f", PLAIT_FS_RDWR); }
static void make_limits(void) { plait_fs_limit(1e6, 100); }
static void make_limits_append(void) { make_limits(), make_own_file(); }
static void make_watch(void) { as(other), plait_fs_watch(1), as(actor), plait_fs_watch(1); }
static void do_watch(void) { plait_fs_watch(1); }
static void do_unwatch(void) { plait_fs_watch(-1); }
static void do_mounted_close(void) { plait_fs_close(descriptor); }

static const struct scenario {
  const char *name;
  void (*prepare)(void);
  void (*operation)(void);
} scenarios[] = {
    {"create and write", make_nothing, do_create},
    {"create", make_nothing, do_create_empty},
    {"create in a full table", make_full_table, do_create},
    {"mkdir", make_nothing, do_mkdir},
    {"symlink", make_nothing, do_symlink},
    {"link", make_nothing, do_link},
    {"unlink", make_nothing, do_unlink},
    {"unlink one of two names", make_nothing, do_unlink_one},
    {"rmdir", make_nothing, do_rmdir},
    {"rename in a directory", make_nothing, do_rename_here},
    {"rename over a file", make_nothing, do_rename_over},
    {"rename a directory over another", make_nothing, do_rename_directory},
    {"rename into another directory", make_nothing, do_rename_away},
    {"append", make_own_file, do_append},
    {"append to another's descriptor", make_shared_append, do_append_shared},
    {"write behind the end", make_own_file, do_write_far},
    {"write into a hole", make_sparse, do_write_far},
    {"truncate", make_large, do_truncate},
    {"truncate to nothing", make_large, do_empty},
    {"extend", make_own_file, do_extend},
    {"replace the contents", make_nothing, do_replace},
    {"open and truncate", make_nothing, do_open_truncate},
    {"open", make_nothing, do_open},
    {"open in a new chunk", make_many_opens, do_open},
    {"close", make_own_file, do_close},
    {"close an unlinked file", make_unlinked_open, do_close},
    {"map", make_large, do_map},
    {"unmap", make_mapped, do_unmap},
    {"change attributes", make_nothing, do_set},
    {"lock ranges", make_ranges, do_ranges},
    {"close a file with locks", make_ranges, do_close_ranges},
    {"link in a full table", make_full_table, do_link_full},
    {"rename into a full table", make_full_table, do_rename_full},
    {"rename over an open file", make_open_victim, do_rename_over},
    {"rename over a large file", make_large_victim, do_rename_over},
    {"rename over a mapped file", make_mapped_victim, do_rename_over},
    {"unlink a large file", make_large_victim, do_unlink},
    {"unlink a mapped file", make_mapped_victim, do_unlink_mapped},
    {"make a large file of a reserved block", make_nothing, do_create_large},
    {"replace a large file by a reserved block", make_large_victim, do_replace_large},
    {"reserve and unreserve", make_own_file, do_reserve},
    {"make a file in a new chunk", make_full_inodes, do_create},
    {"make a directory in a new chunk", make_full_inodes, do_mkdir},
    {"mount", make_nothing, do_mount},
    {"mount beside another", make_mount, do_mount_beside},
    {"mount in a mount", make_mount, do_mount_inside},
    {"unmount", make_mount, do_unmount},
    {"unmount inside a mount", make_mounts, do_unmount_inside},
    {"unmount the newest", make_mounts, do_unmount_last},
    {"rename a directory beside a mount", make_mount, do_rename_away_mounted},
    {"open behind a mount", make_mount, do_mounted_open},
    {"open behind a mount in a new chunk", make_many_mounted, do_mounted_open},
    {"create and write, with limits", make_limits, do_create},
    {"replace the contents, with limits", make_limits, do_replace},
    {"append, with limits", make_limits_append, do_append},
    {"watch", make_watch, do_watch},
    {"unwatch", make_watch, do_unwatch},
    {"create while threads watch", make_watch, do_create_empty},
    {"close behind a mount", make_mounted, do_mounted_close},
    {"close another's behind a mount", make_mounted_of_other, do_mounted_close},
    {"open for a program", make_program, do_open},
    {"create for a program", make_program, do_create_empty},
    {"share and close", make_shared, do_close_as},
    {"close a program's file", make_file_of_program, do_close_as},
    {"share a program's file", make_file_of_program, do_share},
    {"set flags", make_file_of_program, do_set_flags},
    {"extend an open file", make_file_of_program, do_extend_as},
};

static uint64_t before, after; /* digests of the tree before and after the operation */

/* A digest of everything except the actor's open files, which its exit closes. */
static uint64_t whole(void) {
  struct plait_fs_thread *record = plait_at(plait_get(&plait_fs()->threads[plait_thread_index(actor)]));
  uint64_t watchers = plait_get(&plait_fs()->watchers) - plait_get(&record->watching);
  return fs_mix(fs_mix(fs_digest("/", 1, 0), fs_digest_mounts(actor)), watchers);
}

/* Recovery comes to the program's slot before the actor's. */
static void end_program(void) {
  as(main_id);
  plait_thread_note_exit(program);
  plait_abi_sweep();
}

static void aftermath(plait_thread_t last, uint32_t exits, uint32_t variant) {
  /* only the next recoverer completes what an exited recoverer has left */
  int others_first = variant & 1, actor_first = variant & 2;
  if (!others_first) end_program();
  if (others_first) { /* another thread meets every lock before recovery does */
    as(other);
    fs_digest("/", 1, 1);
    use();
  }
  as(main_id);
  if (!actor_first) plait_abi_recover(last);
  plait_abi_recover(actor), plait_abi_recover(recoverer);
  if (others_first) end_program();
  uint32_t lost = fs_check_all(0);
  if (lost > exits) snprintf(test_context + strlen(test_context), 40, " (%u blocks lost)", lost);
  CHECK(lost <= exits);
  if (!others_first) {
    uint64_t digest = whole();
    CHECK(digest == before || digest == after);
    as(other);
    fs_digest("/", 1, 1);
  }
  use();
  CHECK(fs_check_all(0) <= exits);
}

static uint64_t state_digest(void) {
  as(main_id);
  uint64_t digest = whole();
  as(actor);
  return digest;
}

static void recover_actor(void) { plait_abi_sweep(); }

static uint64_t run_scenario(size_t i, uint32_t every) {
  static struct step_log log;
  world();
  scenarios[i].prepare();
  before = state_digest();
  step_save();
  step_record(&log, scenarios[i].operation);
  after = state_digest();
  return step_crash_points(scenarios[i].name, &log, recover_actor, aftermath, every);
}

STEP_CRASH_POINTS_MAIN

#endif
