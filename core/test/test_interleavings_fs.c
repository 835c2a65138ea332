/*
 * interleavings of fs: one thread stops after an instruction of an operation, another thread executes an operation, and
 * the first continues (see single_step.h). Each operation returns a result that a sequential order of the two allows.
 * While the first thread holds a lock, the other could only wait. Such an interleaving is skipped.
 *
 * Default: some of the instructions, other ones each time (PLAIT_SEED repeats them). PLAIT_ROUNDS: all of them.
 */
#include "fs_world.h"
#include "single_step.h"

#ifdef SINGLE_STEP

static plait_thread_t main_id, other, victim, heir;
static int descriptor, claimed, result, then_result, forced;
static uint32_t uses;
static uint32_t taken;

static void as(plait_thread_t thread) { plait_slot_enter(thread, 1); }

static void world(void) {
  step_begin(400);
  CHECK(plait_posix_map(60, 400) == 0 && plait_abi_init(400) == 0);
  plait_thread_t *ids[] = {&main_id, &victim, &actor, &other};
  for (int i = 0; i < 4; i++) {
    CHECK((*ids[i] = plait_slot_claim(0)) != 0);
    as(*ids[i]);
    fs_mine();
  }
  as(main_id);
  heir = 0, claimed = -1, forced = 0, then_result = 0;
  CHECK(fs_mkdir("/d") == 0 && fs_mkdir("/e") == 0 && fs_mkdir("/d/sub") == 0 && fs_mkdir("/e/empty") == 0);
  CHECK(fs_write("/d/sub/x", 100, 1) == 0 && fs_symlink("sub", "/d/soft") == 0 && fs_write("/e/g", 3000, 2) == 0);
  CHECK(fs_mkdir("/a") == 0 && fs_mkdir("/a/b") == 0);
}

/* ---- the state before, and the operations of the two threads ---- */

static void make_nothing(void) {}
static void make_open(void) { CHECK((descriptor = fs_open("/e/g", PLAIT_FS_RDWR)) >= 0); }
static void make_open_read(void) { CHECK((descriptor = fs_open("/e/g", 0)) >= 0); }
static void make_open_as(void) { make_open(), uses = plait_fs_uses(descriptor); }
static void make_open_of_exited(void) {
  as(victim), make_open_as();
  CHECK(plait_thread_note_exit(victim));
}
static void make_exited(void) { CHECK(plait_thread_note_exit(victim)); }

static void make_mounts(void) {
  CHECK(fs_mount("/a/b", "here") > 0 && fs_mount("/e/empty", "there") > 0);
  host_mkdir("here/inner"), host_mkdir("here/other"), host_write("here/inner/f", "right"),
      host_write("here/f", "wrong");
  unlink(host_path("here/other/f"));
}

static void do_walk_link(void) { result = fs_stat("/d/soft/x"); }
static void do_readlink(void) { result = plait_fs_readlink(fs_first("/d/soft")); }
static void do_truncate(void) { result = fs_truncate("/e/g", 10); }
static void do_walk_up(void) { result = fs_stat("/a/b/../mark"); }
static void do_close(void) { result = plait_fs_close(descriptor); }
static void do_close_as(void) { result = plait_fs_close_as(descriptor, uses); }
static void do_write_as(void) {
  result = plait_fs_write_as(descriptor, uses, plait_get(&fs_mine()->scratch), 500, -1, NOW);
}
static void do_extend(void) { result = plait_fs_extend_as(descriptor, uses, 4000, NOW); }
static void do_recover(void) { result = plait_fs_recover(victim); }
static void do_lock(void) { result = plait_fs_lock(descriptor, 2, 0, 10, 0); }
static void do_recover_journals(void) {
  plait_thread_t unrecovered;
  result = plait__fs_recover_journals(&unrecovered);
}
static void do_read(void) {
  memset(plait_at(plait_get(&fs_mine()->scratch)), 0, 3000);
  result = plait_fs_read(descriptor, plait_get(&fs_mine()->scratch), 3000, 0);
}
static void do_create(void) { result = fs_write("/e/empty/new", 50, 3); }
static void do_cross(void) { result = fs_rename("/d/sub", "/e/empty/sub"); }

/* The way to the second name leads through the mount that the other removes. */
static void do_rename_through(void) { result = fs_rename("/a/b/inner/f", "/e/empty/../../a/b/other/f"); }

static void do_mount(void) { result = fs_mount("/a/b", "text"); }
static void do_move(void) { result = fs_rename("/a", "/z"); }
static void do_move_away(void) { result = fs_rename("/a", "/e/z"); }
static void do_remove(void) { result = fs_rmdir("/a/b"); }
static void do_write(void) { result = plait_fs_write(descriptor, plait_get(&fs_mine()->scratch), 500, 9000, NOW); }

static void do_write_on(void) { result = plait_fs_write(descriptor, plait_get(&fs_mine()->scratch), 500, -1, NOW); }
static void do_read_on(void) { result = plait_fs_read(descriptor, plait_get(&fs_mine()->scratch), 500, -1); }

/* Whether the mount table has `count` mounts, and the mount's path leads to it. */
static int mounted(uint32_t count) {
  return plait_get(&plait_fs()->mount_count) == count && fs_stat("/a/b") == 0 &&
      plait_get(&fs_mine()->result.mount) == count;
}

static void then_replace_link(void) { CHECK(fs_symlink("sub", "/d/t") == 0 && fs_rename("/d/t", "/d/soft") == 0); }
static void then_replace_file(void) { CHECK(fs_write("/e/t", 50, 4) == 0 && fs_rename("/e/t", "/e/g") == 0); }
static void then_reuse_parent(void) {
  CHECK(fs_rename("/a/b", "/c") == 0 && fs_rmdir("/a") == 0 && fs_mkdir("/z") == 0 && fs_write("/z/mark", 1, 1) == 0);
}
static void then_close_and_claim(void) { /* the claim stands for a third thread that is about to open a file */
  if (plait_fs_close(descriptor) != 0) return;
  claimed = plait__fs_claim(fs_mine(), &plait_fs()->opens, sizeof(struct plait_fs_open), &fs_mine()->opens);
  CHECK(claimed == descriptor);
}
static void then_close_and_open(void) {
  if (plait_fs_close(descriptor) != 0) return;
  CHECK((claimed = fs_open("/d/sub/x", PLAIT_FS_RDWR)) == descriptor);
}
static void then_close_and_open_again(void) {
  if (plait_fs_close_as(descriptor, uses) != 0) return;
  CHECK((claimed = fs_open("/e/g", 0)) == descriptor);
}
static void then_share(void) { then_result = plait_fs_share(descriptor, uses) == 0; }
static void then_append(void) {
  CHECK(plait_fs_write(descriptor, plait_get(&fs_mine()->scratch), 100, 9000, NOW) == 100);
  then_result = 1;
}
static void then_lock(void) { plait_fs_lock(descriptor, 2, 0, 10, 0); }
static void then_close(void) { plait_fs_close(descriptor); }
static void then_recover(void) { /* then a new thread claims the victim's slot, and reserves a block */
  plait_abi_recover(victim);
  CHECK((heir = plait_slot_claim(0)) != 0);
  as(heir);
  fs_mine();
  CHECK(plait_fs_tx_reserve(100) != 0);
}
static void then_reuse_bytes(void) {
  CHECK(fs_truncate("/e/g", 0) == 0);
  for (int i = 0; i < 3; i++) {
    char name[] = "/e/secret0";
    name[9] = (char)('0' + i);
    CHECK(fs_write(name, 3000, 77) == 0);
  }
}
static void then_rmdir(void) {
  int rc = fs_rmdir("/e/empty");
  CHECK(rc == 0 || rc == -PLAIT_ENOTEMPTY);
}
static void then_cross(void) { fs_rename("/e/empty", "/d/sub/empty"); }

static void then_move(void) { CHECK(fs_rename("/a", "/z") == 0 || mounted(1)); }
static void then_move_away(void) { CHECK(fs_rename("/a", "/d/z") == 0 || mounted(1)); }
static void then_remove(void) { CHECK(fs_rmdir("/a/b") == 0 || mounted(1)); }
static void then_link(void) { /* the name is then a link, no mount point */
  CHECK((fs_rename("/a", "/z") == 0 && fs_symlink("z", "/a") == 0) || mounted(1));
}
static void then_mount(void) { then_result = fs_mount("/a/b", "text"); }
static void then_unmount(void) { fs_unmount("/e/empty"); }
static void then_write(void) { /* takes the capacity that the first write has planned with */
  CHECK(plait_fs_write(descriptor, plait_get(&fs_mine()->scratch), 6000, 3000, NOW) == 6000);
  CHECK(plait_fs_write(descriptor, plait_get(&fs_mine()->scratch), 400, 50000, NOW) == 400);
}

/* ---- the results that are valid afterwards ---- */

static void is_zero(void) { CHECK(result == 0); }
static void is_text(void) { CHECK(result == 3); }
static void is_missing(void) { CHECK(result == -PLAIT_ENOENT); }
static void is_claimed(void) {
  if (claimed < 0) return;
  CHECK(plait_get(plait__fs_owner(&plait_fs()->opens, (uint32_t)claimed)) == other);
  atomic_store(plait__fs_owner(&plait_fs()->opens, (uint32_t)claimed), 0);
}
/* The whole operation used either the file that had the descriptor before (3000 bytes), or the new one (100 bytes). */
static void is_with_one(void) {
  CHECK(result == 500 || result == 100 || result == -PLAIT_EBADF);
  if (claimed < 0) return;
  CHECK(plait_fs_stat(claimed, 0) == 0);
  int with_new = result == 100 || plait_get64(&fs_mine()->result.size) == 500;
  CHECK(plait_fs_seek(claimed, 0, 1) == (with_new ? result : 0));
  as(other);
  CHECK(plait_fs_close(claimed) == 0);
}
/* What was opened meanwhile is another opening, of the same file: its position did not move. */
static void is_with_its_own(void) {
  CHECK(result == 500 || result == -PLAIT_EBADF);
  if (claimed < 0) return;
  CHECK(plait_fs_seek(claimed, 0, 1) == 0);
  as(other);
  CHECK(plait_fs_close(claimed) == 0);
}
static void is_shared_or_closed(void) {
  CHECK(result == 0 && (plait_fs_uses(descriptor) == uses) == then_result);
  if (then_result) CHECK(plait_fs_close_as(descriptor, uses) == 0 && plait_fs_uses(descriptor) == 0);
}
static void is_long(void) {
  CHECK(result == 0 && fs_stat("/e/g") == 0);
  CHECK(plait_get64(&fs_mine()->result.size) == (then_result ? 9100 : 4000));
}
static void is_open_by_other(void) {
  CHECK(result == 0);
  if (claimed < 0) return;
  CHECK(plait_fs_uses(claimed) != 0 && plait_get(plait__fs_owner(&plait_fs()->opens, (uint32_t)claimed)) == other);
  as(other);
  CHECK(plait_fs_close(claimed) == 0);
}
static void is_any(void) {}
static void is_held(void) {
  CHECK(result == 0 || result == -PLAIT_ETIMEDOUT);
  if (heir == 0) return;
  as(heir);
  CHECK(plait_get(&fs_mine()->reserved_count) == 1);
  plait_fs_tx_unreserve();
}
static void is_whole(void) {
  as(actor);
  const uint8_t *bytes = plait_at(plait_get(&fs_mine()->scratch));
  CHECK(result == 3000 || result == 0);
  for (int i = 0; i < result; i++) CHECK(bytes[i] == (uint8_t)(2 + i * 7 + (i >> 8)));
}
static void is_created_or_missing(void) {
  CHECK(result == 0 || result == -PLAIT_ENOENT);
  CHECK((fs_stat("/e/empty/new") == 0) == (result == 0));
}
/* The mount's path leads to it, and no operation has moved or removed it. */
static void is_mounted_or_missing(void) {
  CHECK(result == 1 ? mounted(1) && fs_unmount("/a/b") == 0
                    : (result == -PLAIT_ENOENT || result == -PLAIT_ELOOP) && plait_get(&plait_fs()->mounts) == 0);
}
static void is_mounted_or_moved(void) {
  if (then_result == 0) return; /* the interleaving was skipped */
  if (then_result > 0) CHECK(result == -PLAIT_EBUSY && mounted(1) && fs_unmount("/a/b") == 0);
  else CHECK(then_result == -PLAIT_ENOENT && result == 0 && plait_get(&plait_fs()->mounts) == 0);
}
static void is_renamed(void) {
  CHECK(result == 0 && host_holds("here/other/f", "right"));
  CHECK(rename(host_path("here/other/f"), host_path("here/inner/f")) == 0);
}
static void is_written(void) { CHECK(result == 500); }
static void is_no_ring(void) { CHECK((fs_stat("/d/sub") == 0) != (fs_stat("/e/empty") == 0)); }

static const struct interleaving {
  const char *name;
  void (*prepare)(void);
  void (*operation)(void);
  void (*between)(void);
  void (*judge)(void);
} interleavings[] = {
    {"walk through a link, another replaces it", make_nothing, do_walk_link, then_replace_link, is_zero},
    {"read a link, another replaces it", make_nothing, do_readlink, then_replace_link, is_text},
    {"truncate, another replaces the file", make_nothing, do_truncate, then_replace_file, is_zero},
    {"walk up, the directory above becomes another", make_nothing, do_walk_up, then_reuse_parent, is_missing},
    {"close, another closes and a third opens", make_open, do_close, then_close_and_claim, is_claimed},
    {"close, another locks bytes", make_open, do_close, then_lock, is_any},
    {"lock bytes, another closes", make_open, do_lock, then_close, is_any},
    {"settle, another recovers", make_exited, do_recover_journals, then_recover, is_held},
    {"read, another truncates and the memory is reused", make_open, do_read, then_reuse_bytes, is_whole},
    {"create, another removes the directory", make_nothing, do_create, then_rmdir, is_created_or_missing},
    {"mount, another moves the directory above", make_nothing, do_mount, then_move, is_mounted_or_missing},
    {"mount, another moves it into another directory", make_nothing, do_mount, then_move_away, is_mounted_or_missing},
    {"mount, another puts a link above", make_nothing, do_mount, then_link, is_mounted_or_missing},
    {"mount, another removes the directory", make_nothing, do_mount, then_remove, is_mounted_or_missing},
    {"move, another mounts inside", make_nothing, do_move, then_mount, is_mounted_or_moved},
    {"move into another directory, another mounts inside", make_nothing, do_move_away, then_mount, is_mounted_or_moved},
    {"remove, another mounts over it", make_nothing, do_remove, then_mount, is_mounted_or_moved},
    {"write behind the end, another writes there", make_open, do_write, then_write, is_written},
    {"write at the position, another closes and opens", make_open, do_write_on, then_close_and_open, is_with_one},
    {"read at the position, another closes and opens", make_open, do_read_on, then_close_and_open, is_with_one},
    {"read at the position of a read-only file, another closes and opens", make_open_read, do_read_on,
        then_close_and_open, is_with_one},
    {"write at the position by uses, another opens the same file again", make_open_as, do_write_as,
        then_close_and_open_again, is_with_its_own},
    {"close by uses, another shares", make_open_as, do_close_as, then_share, is_shared_or_closed},
    {"extend, another writes behind", make_open_as, do_extend, then_append, is_long},
    {"recover, another closes and opens again", make_open_of_exited, do_recover, then_close_and_open_again,
        is_open_by_other},
    {"rename in a mount, another removes the mount on the way", make_mounts, do_rename_through, then_unmount,
        is_renamed},
    {"rename into each other", make_nothing, do_cross, then_cross, is_no_ring},
};

static const struct interleaving *now;

static void between(void) {
  /* Only a thread's journal lock may be held during recovery, where the other's wait times out. Three times suffice. */
  struct plait_fs_thread *record = plait_at(plait_get(&plait_fs()->threads[plait_thread_index(victim)]));
  int recovering = plait_lock_owner(&record->lock) == actor;
  if (plait_get(&plait_self()->held_count) != 0 && !(recovering && forced++ < 3)) return;
  void *saved = plait__thread_heap;
  as(other);
  plait__thread_heap = NULL;
  now->between();
  as(actor);
  plait__thread_heap = saved;
  taken++;
}

static void aftermath(void) {
  as(main_id);
  now->judge();
  as(main_id);
  plait_abi_sweep();
  snprintf(test_context + strlen(test_context), 30, ", result %d", result);
  CHECK(fs_check_all(0) == 0);
  fs_digest("/", 1, 1);
}

static void run_interleaving(const struct interleaving *it, uint32_t every) {
  now = it, taken = 0;
  world();
  it->prepare();
  step_save();
  uint32_t at = (uint32_t)test_seed % every;
  for (int reached = 1; reached; at += every) {
    snprintf(test_context, sizeof test_context, "%s, after instruction %u", it->name, at);
    heir = 0, claimed = -1, then_result = 0;
    step_restore();
    as(actor);
    reached = step_interleave(it->operation, at, between);
    aftermath();
  }
  printf("# %s: %u instructions, %u interleavings\n", it->name, at, taken);
  plait_posix_unmap();
}

static uint64_t run_one(size_t i, uint32_t every) {
  run_interleaving(&interleavings[i], every);
  return taken;
}

STEP_INTERLEAVINGS_MAIN(getenv("PLAIT_ROUNDS") != NULL ? 1 : 307)

#endif
