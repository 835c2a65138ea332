/*
 * the table of a program's numbers, store by store and instruction by instruction (see single_step.h): a thread exits
 * after every store of a change, and two other threads' changes come between the instructions of a lookup.
 */
#include "fs_world.h"
#include "../wasi/wasi.h"
#include "single_step.h"

#ifdef SINGLE_STEP

static struct plait_wasi_program *program;
static plait_thread_t main_id, other, owner;
static struct plait_wasi_descriptor found;
static int result;

struct plait_wasi_program *plait_wasi_program(void) { return program; }
struct plait_fs_thread *plait_wasi_enter(void) { return fs_mine(); }
int plait_wasi_stream_of(plait_ref_t inode) { return (void)inode, -1; }

static void as(plait_thread_t thread) { plait_slot_enter(thread, 1); }

/* Opens a file for the program, and gives it the number. */
static void add(uint32_t number, const char *path, const char *name) {
  int fd = fs_open(path, PLAIT_FS_RDWR | PLAIT_FS_CREAT);
  uint32_t length = name == NULL ? 0 : (uint32_t)strlen(name);
  plait_ref_t block = name == NULL ? 0 : plait_heap_alloc(length);
  if (block != 0) memcpy(plait_at(block), name, length);
  struct plait_wasi_descriptor opening = {
      .fd = fd, .uses = plait_fs_uses(fd), .kind = PLAIT_WASI_FILE, .rights = number};
  CHECK(fd >= 0 && plait_wasi_add(&opening, number, block, length) == (int)number);
}

/* 4 and 6 share a file, 5 and 7 have their own, and 5 and 7 have names. */
static void world(void) {
  step_begin(400);
  CHECK(plait_posix_map(60, 400) == 0 && plait_abi_init(400) == 0);
  plait_thread_t *ids[] = {&main_id, &owner, &actor, &recoverer, &other};
  for (int i = 0; i < 5; i++) {
    CHECK((*ids[i] = plait_slot_claim(0)) != 0);
    if (ids[i] == &owner) continue;
    as(*ids[i]);
    fs_mine();
  }
  plait_put(&plait_slot_of(owner)->role, PLAIT_ROLE_PROGRAM);
  as(actor);
  plait_put(&fs_mine()->owner, owner);
  program = plait_at(plait_heap_alloc_zeroed(sizeof *program));
  add(4, "/f", NULL), add(5, "/g", "five"), add(7, "/h", "seven");
  CHECK(plait_wasi_share(4, 6) == 6);
}

static struct plait_wasi_entry *entry_of(uint32_t number) {
  return (struct plait_wasi_entry *)plait_at(plait_get(&program->chunks[0])) + number;
}

/* ---- exits ---- */

static void do_add(void) {
  struct plait_wasi_descriptor opening = {.fd = 2, .uses = 1, .kind = PLAIT_WASI_STREAM};
  plait_wasi_add(&opening, 0, 0, 0);
}
static void do_add_far(void) {
  struct plait_wasi_descriptor opening = {.fd = 2, .uses = 1, .kind = PLAIT_WASI_STREAM};
  plait_wasi_add(&opening, 500, 0, 0);
}
static void do_share(void) { plait_wasi_share(4, 0); }
static void do_close(void) { plait_wasi_close(5); }
static void do_close_shared(void) { plait_wasi_close(4); }
static void do_move(void) { plait_wasi_renumber(5, 7, 1); }
static void do_move_shared(void) { plait_wasi_renumber(4, 6, 1); }
static void do_copy(void) { plait_wasi_renumber(5, 7, 0); }
static void do_copy_new(void) { plait_wasi_renumber(5, 20, 0); }
static void do_rights(void) { plait_wasi_set_rights(4, 1, 1); }

static const struct scenario {
  const char *name;
  void (*operation)(void);
} scenarios[] = {
    {"add", do_add},
    {"add in a new chunk", do_add_far},
    {"share", do_share},
    {"close", do_close},
    {"close a shared one", do_close_shared},
    {"move", do_move},
    {"move onto a sharer", do_move_shared},
    {"copy", do_copy},
    {"copy to a free number", do_copy_new},
    {"set rights", do_rights},
};

/* Each number's opening is open, and is counted for it. No two entries have one name. */
static void check_table(void) {
  for (uint32_t i = 0; i < PLAIT_WASI_CHUNK_ENTRIES; i++) {
    struct plait_wasi_descriptor one, two;
    plait_ref_t name = plait_get(&entry_of(i)->name);
    for (uint32_t k = i + 1; k < PLAIT_WASI_CHUNK_ENTRIES; k++)
      CHECK(name == 0 || plait_get(&entry_of(k)->name) != name);
    if (plait_wasi_find(i, &one) != 0 || one.kind == PLAIT_WASI_STREAM) continue;
    CHECK(plait_fs_uses(one.fd) == one.uses);
    uint32_t more = 0;
    for (uint32_t k = 0; k < PLAIT_WASI_CHUNK_ENTRIES; k++)
      more += k != i && plait_wasi_find(k, &two) == 0 && two.fd == one.fd;
    CHECK(plait_get(&plait__fs_descriptor((uint32_t)one.fd)->sharers) >= more);
  }
}

static void aftermath(plait_thread_t last, uint32_t exits, uint32_t variant) {
  (void)exits;
  as(main_id);
  if (variant & 1) check_table(); /* the lock is taken over first */
  plait_abi_recover(last), plait_abi_recover(actor), plait_abi_recover(recoverer);
  check_table();
  uint32_t number = 8;
  add(number, "/more", "more");
  CHECK(plait_wasi_share(number, 30) == 30 && plait_wasi_renumber(number, 30, 1) == 0);
  check_table();
  for (uint32_t i = 0; i < 600; i++) {
    int rc = plait_wasi_close(i);
    CHECK(rc == 0 || rc == -PLAIT_EBADF);
  }
  plait_thread_note_exit(owner);
  plait_abi_recover(owner);
  uint32_t kept = 1, lost = 0;
  for (uint32_t i = 0; i < PLAIT_WASI_CHUNK_LIMIT; i++) kept += plait_get(&program->chunks[i]) != 0;
  lost = fs_check_all(kept);
  CHECK(lost <= 2); /* the block in flight, and a name */
}

static void recover_actor(void) { plait_abi_sweep(); }

static uint64_t run_scenario(size_t i, uint32_t every) {
  static struct step_log log;
  world();
  step_save();
  step_record(&log, scenarios[i].operation);
  return step_crash_points(scenarios[i].name, &log, recover_actor, aftermath, every);
}

static const char *name_of(size_t i) { return scenarios[i].name; }
static void test_exits(void) { step_run_each(sizeof scenarios / sizeof *scenarios, name_of, run_scenario, 0); }

/* ---- between the instructions of a lookup ---- */

static uint32_t gap;

static void do_find(void) { result = plait_wasi_find(5, &found); }
static void exchange_back(void) {
  as(other);
  CHECK(plait_wasi_renumber(9, 5, 0) == 0);
  as(actor);
}
/* Number 5 has the opening of 7 for a while, and gets its own back after `gap` more instructions. */
static void exchange(void) {
  if (plait_get(&plait_self()->held_count) != 0) return;
  as(other);
  CHECK(plait_wasi_renumber(5, 9, 0) == 0 && plait_wasi_renumber(7, 5, 0) == 0);
  as(actor);
  step_other = exchange_back, step_stop = step_count + gap;
}

static void test_mixture(void) {
  world();
  struct plait_wasi_descriptor five, seven;
  CHECK(plait_wasi_find(5, &five) == 0 && plait_wasi_find(7, &seven) == 0);
  step_save();
  for (gap = 1; gap < 60; gap += 2) {
    uint32_t at = 0;
    for (int reached = 1; reached; at++) {
      snprintf(test_context, sizeof test_context, "after instruction %u, and %u more", at, gap);
      step_restore();
      as(actor);
      reached = step_interleave(do_find, at, exchange);
      const struct plait_wasi_descriptor *whole = found.fd == five.fd ? &five : &seven;
      CHECK(result == 0 || result == -PLAIT_EBADF);
      CHECK(result != 0 || (found.fd == whole->fd && found.uses == whole->uses && found.rights == whole->rights));
    }
  }
}

static const struct test tests[] = {
    {"exit after every store", test_exits},
    {"two changes during a lookup", test_mixture},
};
TEST_MAIN(tests)

#endif
