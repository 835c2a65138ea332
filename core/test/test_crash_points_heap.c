/*
 * crash points of the heap: a thread exits after every single store of the heap's operations (see single_step.h, also
 * for long copies). The recovering thread exits after every store of the recovery. Afterwards, all structures are valid
 * and nothing hangs. Every block of the other threads holds its bytes, zeroed blocks are zero, and no block is
 * allocated twice. At most one block is lost for each exit.
 *
 * Default: every crash point of each operation, and of recoveries after some of them. PLAIT_ROUNDS: all of them.
 */
#include "heap_world.h"

#ifdef SINGLE_STEP

/* The heap does not zero a block of never used memory. Stores of an exited thread must not show in it. */
static void check_fresh_is_zero(void) {
  plait_ref_t block = plait_heap_alloc_zeroed(12 * PLAIT_SLICE_SIZE);
  if (block != 0) CHECK(all_are(block, 12 * PLAIT_SLICE_SIZE, 0) && plait_heap_free(block) == 0);
}

/* The lost memory is as large as a block, not as large as the span that it was split from. */
static void check_lost_is_no_larger(uint32_t slices) {
  struct plait_heap_details details;
  plait_heap_details(&details);
  CHECK(details.large_slices <= slices);
}

/* No block is freed a second time, whatever state its page is in, except those in flight: one for each exit. */
static void check_second_frees(uint32_t exits) {
  uint32_t freed = 0;
  plait__thread_heap =
      plait_at(plait_get(&plait_heap()->thread_heaps[plait_thread_index(main_id)])); /* binding would repair */
  for (uint32_t i = 0; i < dropped_count; i++) {
    int known = 0;
    for (uint32_t place = 0; place < PLACES && !known; place++) known = atomic_load(&note(place)->at) == dropped[i];
    if (!known && plait_heap_free(dropped[i]) == 0) freed++;
  }
  CHECK(freed <= exits);
}

static void do_large_aligned(void);
static void (*operation_under_test)(void);

/* The caller recovers `last` explicitly. The other exited threads are noted. */
static void aftermath(plait_thread_t last, uint32_t exits, uint32_t variant) {
  int others_first = variant & 1;
  as(main_id);
  if (!others_first) check_second_frees(exits);
  if (others_first) check_fresh_is_zero();
  if (others_first) { /* other threads meet the lock, the pages and the regions before recovery does */
    use(0);
    as(other);
    use(50);
    as(main_id);
  }
  plait_abi_recover(last);
  CHECK(plait_heap_check(1) == 0);
  if (!others_first) check_fresh_is_zero();
  check_notes();
  plait_abi_recover(recoverer), plait_abi_recover(victim);
  use(100);
  as(other);
  use(150);
  CHECK(plait_heap_check(1) == 0);
  check_notes();
  for (uint32_t place = 0; place < PLACES; place++) {
    plait_ref_t block = atomic_exchange(&note(place)->at, 0);
    as(place % 3 == 0 ? main_id : other);
    if (block != 0) CHECK(plait_heap_free(block) == 0 || atomic_load(&note(place)->moving) != 0);
  }
  as(main_id), use(200);
  as(other), use(250);
  CHECK(plait_heap_check(1) == 0);
  CHECK(atomic_load(&plait_space()->recovery.word) == 0 && atomic_load(&plait_heap()->lock.word) == 0);
  uint32_t live = test_live_blocks() - 1; /* the notes */
  if (live > exits) snprintf(test_context + strlen(test_context), 40, " (%u blocks lost)", live);
  CHECK(live <= exits);
  if (operation_under_test == do_large_aligned) check_lost_is_no_larger(2 * exits);
  check_nothing_left(exits);
}

/* ---- scenarios: the state before, and the operation whose thread exits ---- */

static void recover_actor(void) { plait_abi_recover(actor); }
static void recover_victim(void) { plait_abi_recover(victim); }

static void make_nothing(void) { as(actor), fill(0, 20), drop(0); }

static void make_unbound(void) { as(main_id), fill(0, 20); }
static void do_small(void) { get(300, 100), drop(300); }
static void make_left(void) { make_nothing(), fill_places(0, 30, 300), fill_medium(40, 9000), plait_heap_leave(); }

static void make_pages(void) { as(actor), fill_places(0, 130, 500), drop_places(10, 16); }
static void do_pages(void) {
  for (uint32_t i = 200; i < 275; i++) get(i, 500);
}
static void do_empty_pages(void) { plait__bind(), drop_places(0, 130); }

/* Blocks in the actor's pages that other threads have freed. */
static void make_freed(void) { make_pages(), as(other), drop_places(20, 50), drop_places(90, 120), as(actor); }
static void do_collect(void) {
  for (uint32_t i = 200; i < 290; i++) get(i, 500);
}

/* Blocks of 2000 bytes: eight in a page. */
static void make_abandoned(void) {
  as(main_id), mark_remotely_freed(), fill_places(0, 385, 2000), as(actor), fill(390, 2000);
  CHECK(count_pages(PLAIT__ABANDONED) >= 38);
}
static void do_claim(void) {
  for (uint32_t i = 66; i < 384; i += 33) drop(i);
}
static void do_claim_all(void) { drop_places(60, 130); }

/* By a thread that has no thread heap, and holds a lock, so that it gets none. */
static void make_abandoned_by_main(void) { as(main_id), mark_remotely_freed(), fill_places(0, 100, 2000), as(actor); }
static void do_free_with_lock(void) {
  struct plait_lock *lock = &plait_space()->recovery;
  if (plait_lock_acquire(lock) != PLAIT_LOCK_TAKEN) _exit(8);
  drop_places(8, 16), drop(30);
  plait_lock_release(lock);
}

static void make_shared(void) { /* with several free blocks, of which the next owner knows one */
  make_abandoned(), as(other), mark_remotely_freed();
  for (uint32_t i = 64; i < 384; i++)
    if (i % 8 < 3) drop(i);
  CHECK(count_pages(PLAIT__SHARED) >= 20);
}
static void do_take_shared(void) {
  for (uint32_t i = 64; i < 152; i++)
    if (i % 8 < 3) get(i, 2000);
}
static void make_nearly_empty_shared(void) {
  make_abandoned(), as(other), mark_remotely_freed();
  for (uint32_t i = 64; i < 384; i++)
    if (i % 8 != 5) drop(i);
  as(actor);
  CHECK(count_pages(PLAIT__SHARED) >= 20);
}
static void do_empty_shared(void) {
  for (uint32_t i = 69; i < 384; i += 8) drop(i);
}

/* Pages of whole slices, with few blocks each: 18 blocks lie in 3 pages. One page has free blocks, and one is full. */
static void make_slices(void) {
  as(other), fill(50, 9000), as(actor), fill_places(0, 18, 9000), drop(0), drop(8), drop(9);
}
static void do_slices(void) {
  for (uint32_t i = 20; i < 26; i++) get(i, 9000);
}
static void do_empty_slices(void) { plait__bind(), drop_places(1, 18), get(20, 16000); }
static void do_grow_up(void) { resize(10, 9300), resize(11, 9400), resize(12, 30000); }

/* A block that grows out of a page into a region, and on there. */
static void make_growing(void) { as(actor), fill(0, 30), fill(1, 100), fill_medium(2, 20000); }
static void do_grow_out(void) {
  resize(0, 60), resize(0, 120), resize(0, 700), resize(0, 9000), resize(1, 3000), resize(0, 50000);
}

static void make_medium(void) { as(actor), fill_medium_places(0, 10, 3000), drop(4), drop(7); }
static void do_medium(void) { get_medium(20, 2500), drop(5), get_medium(21, 2990), drop(1), drop(20), drop(8); }
static void do_aligned(void) {
  keep(20, plait_heap_alloc_aligned(700, 1024), 700), drop(20);
  keep(21, plait_heap_alloc_aligned(100, 32), 100), keep(22, plait_heap_alloc_aligned(4000, 64), 4000);
  keep(23, plait_heap_alloc_aligned(30000, 32768), 30000);
}
static void do_resize(void) {
  resize(3, 5000), resize(3, 900), resize(6, 3040), resize(5, 1000), resize(9, 20000), resize(9, 900);
}
static void do_move(void) { resize(0, 4000), resize(1, 100), resize(1, 2000), resize(2, 80000); }
static void do_regions(void) {
  for (uint32_t i = 30; i < 37; i++) get(i, 50000);
}
static void make_blocked(void) { make_medium(), as(other), fill(40, 40000), fill(41, 70000), as(actor); }
static void make_regions(void) {
  make_blocked(), do_regions(), as(other), fill(42, 60000), as(actor), fill_places(43, 50, 50000);
}
static void do_release_regions(void) { plait__bind(), drop_places(0, 10), drop_places(30, 37), drop_places(43, 50); }
static void make_long(void) { as(actor), fill_places(0, 24, 60000); }
static void do_trim(void) { plait__bind(), drop_places(0, 24); }
static void do_resize_at_end(void) { resize(23, 64000), resize(23, 120000), resize(23, 600); }

static void make_foreign(void) { make_medium(), as(main_id), fill_medium_places(50, 70, 3000), as(actor); }
static void do_foreign_free(void) { drop_places(50, 54); }
static void make_remote(void) {
  make_medium(), fill_places(10, 20, 60000), as(other);
  drop(0), drop(2), drop(3), drop(12), drop(13), drop(19), as(actor);
}
static void do_drain(void) { get_medium(100, 2100), get_medium(101, 8000); }

static void make_large(void) {
  as(other), fill_places(0, 6, 150000), drop(1), drop(4), as(actor), fill_places(10, 12, 70000);
}
static void do_large(void) { get(20, 100000), drop(2), get(21, 300000), drop(5), drop(20), drop(21); }
static void do_large_resize(void) {
  resize(0, 200000), resize(0, 400000), resize(0, 90000), resize(3, 66000), resize(3, 160000), resize(2, 30000);
}
/* The last block of the memory grows with it. Metadata for that lies in the hole behind the first block. */
static void make_last(void) {
  as(other), fill(10, 16), as(actor), fill(0, 100000), fill(1, 300000), fill(2, 150000), drop(1);
}
static void do_grow_last(void) { resize(2, 800000), resize(2, 140 * PLAIT_SLICE_SIZE); }
/*
 * Two large blocks that other threads have freed lie behind one of the actor's. Another one lies behind a region of the
 * actor's.
 */
static void make_deferred(void) {
  as(main_id), fill(10, 16), as(other), fill(11, 16), as(victim), fill(12, 16), as(actor), fill(13, 16);
  fill(0, 150000), fill(1, 150000), fill(2, 150000), fill(3, 60000), fill(4, 150000);
  as(main_id), get(14, 100), drop(1), as(other), get(15, 100), drop(2), as(victim), get(16, 100), drop(4);
  as(actor), get(17, 100);
}
/* The block behind the actor's region was freed without the lock, by the thread that takes the lock next. */
static void make_deferred_behind(void) {
  as(other), fill(11, 16), as(main_id), fill(10, 16), as(actor), fill(13, 16), fill(3, 60000), fill(4, 150000);
  as(main_id), plait__bind(), drop(4), as(actor);
}
static void do_extend_over(void) { plait__bind(), resize(3, 120000); }
static void do_grow_over(void) { resize(0, 500000), resize(3, 120000), get(20, 70000); }
static void do_large_aligned(void) { keep(20, plait_heap_alloc_aligned(100000, 1u << 18), 100000), drop(20); }
static void do_zeroed(void) { keep(20, plait_heap_alloc(300000), 300000), drop(20), get(21, 60000), get(22, 60000); }
/* On the first slices that were never used: nothing of it may show in them. */
static void do_region(void) { get(20, 60000), get(21, 60000); }
static void do_grow(void) { get(20, 3000000), get(21, 60000), get(22, 500); }
static void do_grow_far(void) { get(20, 40 * PLAIT_SLICE_SIZE), drop(20), get(21, 500); }

static void do_grow_very_far(void) { get(20, 520 * PLAIT_SLICE_SIZE), drop(20), get(21, 500); }

/* a thread heap without a thread: pages, regions of many slices, blocks on its remote free list */
static void make_orphan(void) {
  as(actor), fill(90, 16); /* bound already, it has no reason to adopt yet */
  as(victim), fill_places(0, 12, 60000), fill_places(20, 60, 300), fill_places(60, 75, 500), fill_medium(76, 3000);
  as(other), fill(77, 60000);
  as(victim), fill_places(80, 86, 60000), plait_heap_leave();
  as(main_id), drop(1), drop(5), drop(6), drop(11), drop(82), drop(25), drop(76);
  CHECK(plait_get(&plait_heap()->orphans) == 1);
}
static void do_adopt(void) { get_medium(100, 9000), get(101, 300); }
static void make_exited_orphan(void) {
  make_orphan(), as(victim), fill(120, 700), fill(121, 60000), drop(120), as(actor), plait_thread_note_exit(victim);
}
static void do_recover_adopt(void) { recover_victim(), get_medium(100, 9000), get(101, 300); }
static void do_leave(void) { plait__bind(), plait_heap_leave(); }
static void make_leave(void) { make_remote(), fill_places(200, 230, 400); }

static const struct scenario {
  const char *name;
  void (*prepare)(void);
  void (*operation)(void);
  uint32_t start, most;
} scenarios[] = {
    {"bind", make_unbound, do_small, 4, 40},
    {"bind to an orphan", make_left, do_small, 4, 40},
    {"leave", make_leave, do_leave, 4, 60},
    {"pages", make_pages, do_pages, 4, 40},
    {"empty pages", make_pages, do_empty_pages, 4, 40},
    {"collect blocks that others have freed", make_freed, do_collect, 4, 40},
    {"claim abandoned pages", make_abandoned, do_claim, 4, 60},
    {"empty abandoned pages", make_abandoned, do_claim_all, 4, 60},
    {"empty abandoned pages without a thread heap", make_abandoned_by_main, do_free_with_lock, 4, 60},
    {"take shared pages", make_shared, do_take_shared, 4, 60},
    {"empty shared pages", make_nearly_empty_shared, do_empty_shared, 4, 60},
    {"pages of whole slices", make_slices, do_slices, 4, 40},
    {"empty pages of whole slices", make_slices, do_empty_slices, 4, 40},
    {"resize blocks in pages of whole slices", make_slices, do_grow_up, 4, 40},
    {"grow out of a page", make_growing, do_grow_out, 4, 40},
    {"medium blocks", make_medium, do_medium, 4, 40},
    {"aligned medium blocks", make_medium, do_aligned, 4, 40},
    {"resize medium blocks", make_medium, do_resize, 4, 40},
    {"move blocks", make_medium, do_move, 4, 40},
    {"make a region longer", make_medium, do_regions, 4, 40},
    {"make regions", make_blocked, do_regions, 4, 60},
    {"release regions", make_regions, do_release_regions, 4, 60},
    {"trim a region", make_long, do_trim, 4, 80},
    {"resize at the region's end", make_long, do_resize_at_end, 4, 80},
    {"free another's medium blocks", make_foreign, do_foreign_free, 4, 40},
    {"drain", make_remote, do_drain, 4, 60},
    {"large blocks", make_large, do_large, 4, 80},
    {"resize large blocks", make_large, do_large_resize, 4, 80},
    {"grow the last block", make_last, do_grow_last, 4, 200},
    {"grow over blocks whose free is deferred", make_deferred, do_grow_over, 4, 80},
    {"make a region longer over a block whose free is deferred", make_deferred_behind, do_extend_over, 4, 80},
    {"aligned large blocks", make_large, do_large_aligned, 4, 80},
    {"a region on fresh memory", make_nothing, do_region, 30, 80},
    {"large and medium on fresh memory", make_nothing, do_zeroed, 30, 80},
    {"resize a large block on fresh memory", make_large, do_large_resize, 60, 120},
    {"grow", make_nothing, do_grow, 4, 120},
    {"grow over the end of a metadata chunk", make_nothing, do_grow_far, 1020, 1100},
    {"grow over the ends of four metadata chunks", make_nothing, do_grow_very_far, 120, 700},
    {"adopt", make_orphan, do_adopt, 4, 80},
    {"recover and adopt", make_exited_orphan, do_recover_adopt, 4, 80},
};

static uint64_t run_scenario(size_t i, uint32_t every) {
  static struct step_log log;
  const struct scenario *scenario = &scenarios[i];
  world(scenario->start, scenario->most);
  scenario->prepare();
  operation_under_test = scenario->operation;
  step_save();
  as(actor);
  step_record(&log, scenario->operation);
  return step_crash_points(scenario->name, &log, recover_actor, aftermath, every);
}

STEP_CRASH_POINTS_MAIN

#endif
