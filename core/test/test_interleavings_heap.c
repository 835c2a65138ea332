/*
 * interleavings of the heap: one thread stops after an instruction of an operation, another thread executes an
 * operation, and the first continues (see single_step.h). Afterwards everything is checked as in
 * test_crash_points_heap.c, and no block may be lost. While the first thread holds the lock, the other could only wait.
 * Such an interleaving is skipped, unless the other operation needs no lock.
 *
 * Default: some of the instructions, other ones each time (PLAIT_SEED repeats them). PLAIT_ROUNDS: all of them.
 */
#include "heap_world.h"

#ifdef SINGLE_STEP

#define DENSE 61u /* tests one instruction in 61, for operations where few instructions matter */

static const struct interleaving *now;
static uint32_t taken; /* interleavings that were not skipped */

/* ---- the state before, and the operations of the two threads ---- */

static void make_full_pages(void) { as(actor), fill_places(0, 60, 500), as(other), fill_places(60, 120, 500); }
static void do_pages(void) {
  for (uint32_t i = 200; i < 210; i++) get(i, 500);
}
static void do_drop_0(void) { drop_places(0, 40); }
static void do_drop_few(void) { drop(41), drop(43), drop(59); }
static void do_drop_60(void) { drop_places(60, 100); }

/* Blocks of 2000 bytes: eight in a page. */
static void make_abandoned(void) {
  as(main_id), mark_remotely_freed(), fill_places(0, 350, 2000), as(actor), fill(390, 2000), as(other), fill(391, 2000);
  CHECK(count_pages(PLAIT__ABANDONED) >= 34);
}
/* By a thread that has no thread heap, and holds a lock, so that it gets none. */
static void make_abandoned_by_main(void) {
  as(main_id), mark_remotely_freed(), fill_places(0, 120, 2000), as(other), fill(391, 2000);
}
static void do_free_with_lock(void) {
  struct plait_slot *self = plait_self(); /* as with a pool's lock; the other thread does not need it */
  plait_put(&self->held_count, 1);
  drop(8), drop_places(16, 20), drop(40);
  plait_put(&self->held_count, 0);
}
static void do_free_too(void) { drop_places(9, 16), drop_places(20, 24), drop_places(41, 45); }
static void do_even(void) {
  for (uint32_t i = 128; i < 152; i += 2) drop(i);
}
static void do_odd(void) {
  for (uint32_t i = 129; i < 152; i += 2) drop(i);
}
static void do_one(void) { drop(132); }
static void make_one_left(void) { /* of each page, two blocks are left; most pages are shared */
  make_abandoned();
  as(main_id);
  for (uint32_t i = 64; i < 350; i++)
    if (i % 8 != 3 && i % 8 != 6) drop(i);
  CHECK(count_pages(PLAIT__SHARED) >= 20);
}
static void do_last_a(void) {
  for (uint32_t i = 3 + 8 * 30; i < 350; i += 8) drop(i);
}
static void do_last_b(void) {
  for (uint32_t i = 6 + 8 * 30; i < 350; i += 8) drop(i);
}
static void do_take_shared(void) {
  for (uint32_t i = 350; i < 385; i++) get(i, 2000);
}
/* The caller abandons its full pages of the class, as if it had too many. */
static void abandon_full(uint32_t size) {
  struct plait_thread_heap *theap = plait__bind();
  struct plait_page_list *list = &theap->classes[plait__class_of(size)];
  plait_put(&theap->current[plait__class_of(size)], plait_ref(&plait_heap()->empty));
  for (plait_ref_t at = plait_get(&list->link.next), next; at != plait_ref(list); at = next) {
    struct plait_page *page = plait_at(at);
    next = plait_get(&page->link.next);
    if (plait__used(plait_get(&page->free_state)) < plait_get8(&page->count)) continue;
    plait__link_take(&page->link);
    plait_put(&list->count, plait_get(&list->count) - 1);
    plait_put(&page->owner, PLAIT__ABANDONED);
  }
}
/*
 * The same with blocks of 208 bytes: 78 in a page, whose bits fill one word and a part of the next. One block is left
 * in each word. By a thread without a thread heap.
 */
static void make_one_left_in_each_word(void) {
  as(main_id), mark_remotely_freed(), fill_places(340, 350, 208), fill_places(0, 340, 208), abandon_full(208),
      as(actor), fill(390, 208), as(other);
  plait_put(&plait_self()->held_count, 1);
  for (uint32_t i = 0; i < 340; i++)
    if (i % 78 != 3 && i % 78 != 70) drop(i);
  plait_put(&plait_self()->held_count, 0);
  CHECK(count_pages(PLAIT__SHARED) >= 3);
}
static void do_first_word(void) {
  for (uint32_t i = 3; i < 312; i += 78) drop(i);
}
static void do_second_word(void) {
  for (uint32_t i = 70; i < 312; i += 78) drop(i);
}

/* One thread allocates, and abandons pages as they fill. The other frees one block in each of its pages meanwhile. */
static void make_abandoning(void) {
  as(other), fill(390, 2000), as(actor), mark_remotely_freed(), fill_places(0, 72, 2000);
}
static void do_abandon(void) {
  for (uint32_t i = 72; i < 120; i++) get(i, 2000);
}
static void do_one_of_each(void) {
  for (uint32_t i = 3; i < 120; i += 8) drop(i);
}

static void make_medium(void) {
  as(main_id), fill_medium_places(0, 20, 3000), as(actor), fill_medium_places(20, 40, 3000), as(other),
      fill_medium_places(40, 60, 3000);
}
static void do_foreign(void) { drop(1), drop(2), drop(41); }
static void do_own(void) { get_medium(100, 4000), drop(25), get_medium(101, 2500), drop(100); }
static void do_main_own(void) { get_medium(110, 4000), drop(0), drop(3), get_medium(111, 9000), drop(5); }
static void do_foreign_actor(void) { drop(22), drop(24), drop(26), drop(28); }
static void do_resize(void) { resize(24, 2100), resize(29, 9000), resize(29, 3000), resize(39, 60000); }
static void do_foreign_between(void) { drop(23), drop(30), drop(38); }

static void make_orphan(void) {
  as(actor), fill(95, 500), as(other), fill_places(90, 94, 500), as(main_id), fill(96, 500);
  as(victim), fill_places(0, 12, 60000), fill_places(20, 40, 300), fill_places(60, 75, 500), fill_medium(76, 3000);
  as(main_id), fill(77, 60000), as(victim), fill_places(80, 84, 60000), plait_heap_leave();
  as(main_id), drop(1), drop(5), drop(82), drop(25), drop(76), as(actor);
  CHECK(plait_get(&plait_heap()->orphans) == 1);
}
static void do_adopt(void) { get_medium(100, 9000); }
static void do_orphan_free(void) { drop(0), drop(6), drop(83), drop(80), drop(26), drop(61); }
static void do_orphan_one(void) { drop(6); }
static void make_exited(void) {
  make_orphan(), as(victim), fill_medium(120, 3000), fill(121, 60000), as(actor), plait_thread_note_exit(victim);
}
static void do_recover(void) { plait_abi_recover(victim); }
static void do_recover_all(void) { plait_thread_note_exit(victim), plait_abi_recover(victim); }

static void make_large(void) {
  as(actor), fill_places(0, 6, 150000), as(other), fill_places(6, 12, 150000), as(victim), fill_medium(20, 3000);
}
static void make_large_bound(void) { make_large(), as(other), plait__bind(), as(actor), plait__bind(); }
static void do_large(void) { drop(1), drop(7), get(30, 100000), resize(2, 70000), drop(3); }
static void do_large_one(void) { drop(1); }
static void do_other_large(void) { drop(4), get(31, 140000), drop(31), drop(8), get(32, 400000); }
/* Needs no lock: the thread is bound to its thread heap (see between()), and has no deferred free to complete. */
static void do_defer(void) { drop(7); }
static void do_repair(void) {
  if (plait__heap_lock() != 0) _exit(8);
  plait__repair();
  plait__heap_unlock();
}
static void do_check(void) {
  if (plait_heap_check(0) != 0) _exit(8);
}
static void do_relinquish(void) { plait__relinquish(plait__bind()); }
static void do_resize_large(void) { resize(2, 70000), resize(2, 130000), resize(5, 400000), drop(4), get(30, 100000); }
/* One thread resizes the block that another frees. Either may win, but a freed block stays free. */
static plait_ref_t shared;
static int shared_freed;
static void resize_shared(uint32_t size) {
  struct note *it = note(2);
  plait_ref_t block = atomic_exchange(&it->at, 0);
  atomic_store(&it->size, 70000);
  shared = block, shared_freed = 0;
  plait_ref_t now_at = block == 0 ? 0 : plait_heap_realloc(block, size);
  shared = 0;
  if (now_at != 0 && (now_at != block || !shared_freed)) atomic_store(&it->at, now_at);
  else if (!shared_freed) _exit(9);
}
static void do_resize_shared(void) { resize_shared(70000); }
static void do_grow_shared(void) { drop(3), resize_shared(250000); }
static void do_free_shared(void) {
  if (shared != 0) shared_freed = plait_heap_free(shared) == 0;
}
static void do_leave(void) { plait_heap_leave(); }
static void make_leave(void) { make_medium(), as(actor), fill_places(200, 230, 400); }
static void do_free_left(void) { drop(21), drop(22), drop(201), drop_places(210, 230), get(100, 30000); }
static void make_unbound(void) { as(main_id), fill_places(0, 40, 500), fill_medium(50, 3000); }
static void do_bind(void) { drop(3), get_medium(60, 2500), get(61, 20); }
static void do_bind_too(void) { drop(4), get_medium(62, 2500), get(63, 20); }

/* A thread frees a free block. Meanwhile the owner of its empty page reuses the page for fewer, larger blocks. */
static plait_ref_t stale;
static void make_stale(void) {
  as(actor), fill(390, 20), as(main_id), fill_places(0, 28, 2300), stale = atomic_load(&note(20)->at),
                                                                   drop_places(0, 28);
}
static void do_free_stale(void) { plait_heap_free(stale); }
/* Takes the hot path, which computes the block's number before. */
static void do_free_stale_bound(void) { plait__bind(), plait_heap_free(stale); }
static void do_reuse(void) { get(300, 16000); }

/* A thread frees a free block while the page's owner collects it. It stays free: the owner takes another one. */
static int stale_rc;
static void make_freed(void) {
  as(actor), plait__bind(), as(main_id), fill_places(0, 8, 2000), as(other), stale = atomic_load(&note(3)->at), drop(3),
                                                                             drop(5), drop(6);
}
static void do_free_again(void) { stale_rc = plait_heap_free(stale); }
static void do_free_again_bound(void) { plait__bind(), stale_rc = plait_heap_free(stale); }
static void do_size_again(void) { stale_rc = plait_heap_size(stale) == 0 ? -1 : 0; }
static void do_count_again(void) {
  uint32_t before = 1 + 5; /* the notes, and the rest of the page; the other thread has one more */
  stale_rc = test_live_blocks() - before <= 1 ? -1 : 0;
}
static void do_collect(void) { get(300, 2000); }

/* The page that the block at the place lies in. */
static struct plait_page *page_of(uint32_t place) {
  plait_ref_t block = atomic_load(&note(place)->at);
  return plait__mapped_page(plait_get(&plait__page_map_entry(plait__chunk(block / PLAIT_SLICE_SIZE), block)->page));
}

/*
 * A page is released, and reused for smaller blocks. A thread frees an address behind the page's last old block, whose
 * number it has computed before the reuse. No block has ever been there.
 */
static struct plait_page *tailed;
static void make_tail(void) {
  /* two pages of 170 blocks; the first block may lie in a region */
  as(other), plait__bind(), as(actor), fill_places(0, 341, 48);
  struct plait_page *pages[2] = {page_of(10), page_of(300)};
  drop_places(0, 341);
  for (int i = 0; i < 2; i++)
    if (plait_get(&pages[i]->owner) == 0) tailed = pages[i];
  CHECK(tailed != NULL && plait_get16(&tailed->step) == 48);
}
static void do_smaller(void) {
  get(300, 32), get(301, 32);
  if (plait_get16(&tailed->step) != 32) _exit(8);
}
static void do_free_tail(void) { CHECK(plait__small_free_remote(tailed, 170) == 0); }

/*
 * The actor has as many pages as it keeps of a class whose blocks other threads free. All pages are full but one, which
 * lies behind the current page, and is kept empty.
 */
static void make_kept_empty(void) {
  as(actor), fill_places(580, 590, 20), mark_remotely_freed(), fill_places(0, 9 * 64, 512);
  CHECK(plait_get(&plait__mine()->classes[plait__class_of(512)].count) == 9);
  struct plait_page *in_use = page_of(256), *next = page_of(192);
  drop_places(192, 256);
  CHECK(plait_get(&plait__mine()->empty_page) == plait_ref(next) && plait_get(&in_use->link.next) == plait_ref(next));
  plait_put(&plait__mine()->current[plait__class_of(512)], plait_ref(in_use));
}
static void do_one_more(void) { get(592, 512), get(593, 512); }
static void do_empty_it(void) { drop_places(256, 320); }

static const struct interleaving {
  const char *name;
  void (*prepare)(void);
  void (*operation)(void);
  void (*between)(void);
  plait_thread_t *thread; /* executes `between` */
} interleavings[] = {
    {"take blocks, another frees", make_full_pages, do_pages, do_drop_0, &other},
    {"take blocks, another frees some", make_full_pages, do_pages, do_drop_few, &other},
    {"free another's small blocks, the owner frees", make_full_pages, do_drop_60, do_drop_0, &other},
    {"two free into abandoned pages", make_abandoned, do_even, do_odd, &other},
    {"one frees into an abandoned page, two claim", make_abandoned, do_one, do_odd, &other},
    {"free into abandoned pages without a thread heap, another too", make_abandoned_by_main, do_free_with_lock,
        do_free_too, &other},
    {"two empty shared pages", make_one_left, do_last_a, do_last_b, &other},
    {"two empty shared pages of two words", make_one_left_in_each_word, do_first_word, do_second_word, &other},
    {"empty shared pages, another takes them", make_one_left, do_last_a, do_take_shared, &other},
    {"take shared pages, another empties them", make_one_left, do_take_shared, do_last_b, &other},
    {"abandon pages, another frees in each", make_abandoning, do_abandon, do_one_of_each, &other},
    {"free another's medium blocks, the owner drains", make_medium, do_foreign, do_main_own, &main_id},
    {"use medium blocks, another frees", make_medium, do_own, do_foreign_actor, &other},
    {"resize medium blocks, another frees", make_medium, do_resize, do_foreign_between, &other},
    {"free an orphan's block, another adopts", make_orphan, do_orphan_one, do_adopt, &other},
    {"free an orphan's blocks, another adopts", make_orphan, do_orphan_free, do_adopt, &other},
    {"adopt, another frees an orphan's blocks", make_orphan, do_adopt, do_orphan_free, &other},
    {"free an exited thread's blocks, another recovers", make_exited, do_orphan_free, do_recover, &other},
    {"free an exited thread's blocks, another recovers and adopts", make_exited, do_orphan_free, do_recover_all,
        &other},
    {"large blocks of two", make_large, do_large, do_other_large, &other},
    {"free a large block, another repairs", make_large, do_large_one, do_recover_all, &other},
    {"large blocks, another repairs", make_large, do_large, do_recover_all, &other},
    {"resize large blocks, another defers a free", make_large, do_resize_large, do_defer, &other},
    {"shrink a large block, another frees it", make_large_bound, do_resize_shared, do_free_shared, &other},
    {"grow a large block, another frees it", make_large_bound, do_grow_shared, do_free_shared, &other},
    {"repair, another defers a free", make_large, do_repair, do_defer, &other},
    {"check, another defers a free", make_large, do_check, do_defer, &other},
    {"relinquish at the end of memory, another defers a free", make_large, do_relinquish, do_defer, &other},
    {"leave, another frees", make_leave, do_leave, do_free_left, &other},
    {"free blocks, their owner leaves", make_leave, do_foreign, do_leave, &main_id},
    {"free a block again, its page changes its class", make_stale, do_free_stale, do_reuse, &main_id},
    {"free a block again with a thread heap, its page changes its class", make_stale, do_free_stale_bound, do_reuse,
        &main_id},
    {"free a block again, its page's owner collects", make_freed, do_free_again, do_collect, &main_id},
    {"free a block again with a thread heap, its page's owner collects", make_freed, do_free_again_bound, do_collect,
        &main_id},
    {"ask for the size of a free block, its page's owner collects", make_freed, do_size_again, do_collect, &main_id},
    {"count blocks, a page's owner collects", make_freed, do_count_again, do_collect, &main_id},
    {"reuse a page for smaller blocks, another frees behind its last block", make_tail, do_smaller, do_free_tail,
        &other},
    {"abandon a page that another empties, one more is kept", make_kept_empty, do_one_more, do_empty_it, &other},
    {"two bind", make_unbound, do_bind, do_bind_too, &other},
};

static void between(void) {
  int locked = plait_lock_owner(&plait_heap()->lock) == actor || plait_lock_owner(&plait_space()->recovery) == actor;
  if (locked && now->between != do_defer && now->between != do_free_shared) return;
  void *saved = plait__thread_heap;
  plait_ref_t theap = plait_get(&plait_heap()->thread_heaps[plait_thread_index(*now->thread)]);
  as(*now->thread);
  /* The thread is bound already, because binding would wait for the lock. */
  if (now->between == do_defer || now->between == do_free_shared) plait__thread_heap = plait_at(theap);
  now->between();
  as(actor);
  plait__thread_heap = saved;
  taken++;
}

/* A page without an owner has no free block: the thread that freed into it, or abandoned it, has handled that. */
static void check_nothing_unseen(void) {
  struct plait_heap *heap = plait_heap();
  for (uint32_t index = plait_get(&heap->first); index < plait_get(&heap->end); index++) {
    struct plait_slice *slice = plait__slice(index);
    if (plait__kind(plait_get(&slice->tag)) != PLAIT__PAGES) continue;
    for (uint32_t i = 0; i < PLAIT_SLICE_SIZE >> plait__rest(plait_get(&slice->tag)); i++) {
      struct plait_page *page = (struct plait_page *)plait_at(plait_get(&slice->pages)) + i;
      CHECK(plait_get(&page->owner) != PLAIT__ABANDONED || plait__page_remote(page) == 0);
    }
  }
}

static void aftermath(void) {
  if (now->prepare == make_freed) CHECK(stale_rc != 0);
  check_nothing_unseen();
  check_nothing_stranded();
  if (plait_thread_alive(victim)) as(main_id), plait_abi_recover(victim);
  as(main_id);
  CHECK(plait_heap_check(1) == 0);
  /* the blocks of the page, and more */
  for (uint32_t i = 301; i < 309 && now->prepare == make_stale; i++) get(i, 16000);
  check_notes();
  static const plait_thread_t *threads[] = {&main_id, &other, &actor};
  for (int i = 0; i < 3; i++) as(*threads[i]), use((uint32_t)i * 50);
  for (uint32_t place = 0; place < PLACES; place++) {
    plait_ref_t block = atomic_exchange(&note(place)->at, 0);
    as(*threads[place % 3]);
    if (block != 0) CHECK(plait_heap_free(block) == 0);
  }
  for (int i = 0; i < 3; i++) as(*threads[i]), use((uint32_t)i * 50 + 7);
  CHECK(plait_heap_check(1) == 0);
  CHECK(atomic_load(&plait_space()->recovery.word) == 0 && atomic_load(&plait_heap()->lock.word) == 0);
  CHECK(test_live_blocks() == 1); /* the notes */
  check_nothing_left(0);
}

static void run_interleaving(const struct interleaving *it, uint32_t every) {
  now = it, taken = 0;
  world(4, 80);
  it->prepare();
  step_save();
  if (it->operation == do_abandon && every > DENSE) every = DENSE;
  if (it->operation == do_count_again) every = every > DENSE ? DENSE : every; /* it reads everything */
  else if (it->prepare == make_stale || it->prepare == make_freed || it->prepare == make_tail) every = 1;
  uint32_t at = (uint32_t)test_seed % every;
  for (int reached = 1; reached; at += every) {
    snprintf(test_context, sizeof test_context, "%s, after instruction %u", it->name, at);
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
