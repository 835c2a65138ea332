/*
 * ends of pools, of threads and of users of a pool. A test simulates an exit: it acts as a thread, and then notes that
 * thread's exit. Invariant: every task ends once, with the reason, and the last user of a pool frees it.
 */
#include "task_world.h"

static void test_ends(void) {
  static const struct {
    uint32_t state, status;
  } ends[] = {{PLAIT_POOL_CLOSED, PLAIT_STATUS_POOL_CLOSED}, {PLAIT_POOL_FAILED, PLAIT_STATUS_POOL_FAILED}};
  open_pool();
  for (int i = 0; i < 2; i++) {
    plait_thread_t worker = new_worker();
    for (uint32_t n = 0; n < 100; n++) submit(client, n);
    as(worker);
    uint32_t task = plait_task_next(0, 0);
    uint32_t asleep = atomic_load(&pool_record()->signal);
    as(main_id);
    CHECK(plait_pool_end(pool, 0) == -PLAIT_EINVAL && plait_pool_end(pool, 5) == -PLAIT_EINVAL);
    if (i == 1) plait_pool_set_failure(pool, plait_heap_alloc(100), 100);
    CHECK(plait_pool_end(pool, ends[i].state) == 0 && plait_pool_end(pool, ends[i].state) == -PLAIT_EINVAL);
    CHECK(plait_pool_end(pool, PLAIT_POOL_CLOSING) == -PLAIT_EINVAL);
    CHECK(atomic_load(&pool_record()->signal) != asleep);
    plait_ref_t late = build(client, 1);
    CHECK(plait_task_submit(late) == -PLAIT_EPIPE && atomic_load(&record(late)->state) == PLAIT_TASK_BUILDING);
    plait_task_discard(late);
    CHECK(drain(client, ends[i].status, NULL) == 99);
    CHECK(plait_pool_destroy(pool) == -PLAIT_EAGAIN); /* a worker is in it */
    as(worker);
    CHECK(plait_worker_park_begin() == 0 && finish_and_next(task) == PLAIT_NEXT_STOP);
    end_worker(worker);
    CHECK(drain(client, PLAIT_STATUS_FULFILLED, NULL) == 1);
    nothing_left(0);
    CHECK((pool = plait_pool_create()) != 0 && (client = plait_client_create(pool)) != 0);
  }
  plait_thread_t worker = new_worker();
  submit(client, 1);
  CHECK(plait_pool_end(pool, PLAIT_POOL_CLOSING) == 0);
  as(worker);
  uint32_t task = plait_task_next(0, 0);
  CHECK(task > PLAIT_NEXT_RETRY && finish_and_next(task) == PLAIT_NEXT_STOP && plait_worker_park_begin() == 0);
  end_worker(worker);
  CHECK(plait_pool_end(pool, PLAIT_POOL_CLOSED) == 0 && drain(client, PLAIT_STATUS_FULFILLED, NULL) == 1);
  nothing_left(0);
}

static void test_full_table(void) {
  main_id = test_space(512);
  plait_ref_t pools[PLAIT_POOL_LIMIT];
  for (uint32_t i = 0; i < PLAIT_POOL_LIMIT; i++) CHECK((pools[i] = plait_pool_create()) != 0);
  CHECK(plait_pool_create() == 0 && test_live_blocks() == 2 * PLAIT_POOL_LIMIT);
  CHECK(plait_pool_destroy(pools[77]) == 0 && (pools[77] = plait_pool_create()) != 0);
  for (uint32_t i = 0; i < PLAIT_POOL_LIMIT; i++) CHECK(plait_pool_destroy(pools[i]) == 0);
  CHECK(plait_pool_destroy(0) == -PLAIT_EINVAL && test_live_blocks() == 0 && plait_abi_check(1) == 0);
}

static void test_orphans(void) {
  open_pool();
  plait_thread_t worker = new_worker(), other = plait_slot_claim(0);
  as(other);
  plait_ref_t lost = plait_client_create(pool);
  for (uint32_t i = 0; i < 10; i++) submit(lost, i);
  submit(client, 1);
  as(worker);
  uint32_t task = 0;
  for (int i = 0; i < 5; i++) CHECK(plait_task_output(task = finish_and_next(task), 500) != 0);
  as(main_id);
  CHECK(plait_abi_recover(other) == 0 && atomic_load(&((struct plait_client *)plait_at(lost))->inbox) == 0);
  as(worker);
  while ((task = finish_and_next(task)) != 0) continue;
  end_worker(worker);
  CHECK(drain(client, PLAIT_STATUS_FULFILLED, NULL) == 1);
  CHECK(atomic_load(&pool_record()->discarded) == 7 && test_live_blocks() == 6); /* two clients with a ring */
  nothing_left(0);
}

static void test_orphan_pool(void) {
  open_pool();
  plait_ref_t own = pool;
  plait_thread_t owner = plait_slot_claim(0), worker, user = plait_slot_claim(0);
  as(owner);
  CHECK((pool = plait_pool_create()) != 0);
  worker = new_worker();
  as(user);
  plait_ref_t users = plait_client_create(pool);
  submit(users, 1), submit(users, 2);
  as(worker);
  uint32_t task = plait_task_next(0, 0);
  CHECK(task != 0);
  as(main_id);
  plait_abi_recover(owner); /* the pool closes and stays: it has a worker and a client */
  CHECK(atomic_load(&pool_record()->state) == PLAIT_POOL_CLOSED && plait_abi_check(1) == 0);
  as(user);
  CHECK(drain(users, PLAIT_STATUS_POOL_CLOSED, NULL) == 1);
  as(main_id);
  CHECK(plait_abi_recover(worker) == task && plait_task_finish(task) == 0);
  as(user);
  CHECK(drain(users, PLAIT_STATUS_WORKER_DIED, NULL) == 1); /* the client's thread is alive, so its pool still exists */
  as(main_id);
  plait_abi_recover(user);
  CHECK(test_live_blocks() == 3);
  pool = own;
  nothing_left(0);
}

static void test_exited_worker(void) {
  open_pool();
  plait_thread_t worker = new_worker(), second = new_worker();
  submit(client, 1), submit(client, 2);
  as(worker);
  uint32_t task = plait_task_next(0, 0);
  as(second);
  uint32_t other = plait_task_next(0, 0);
  as(main_id);
  CHECK(plait_abi_recover(worker) == task);
  CHECK(plait_pool_destroy(pool) == -PLAIT_EAGAIN);
  CHECK(plait_abi_recover(second) == other); /* without having finished the first, which is finished now */
  CHECK(plait_task_finish(task) == -PLAIT_EINVAL && plait_task_finish(other) == 0);
  CHECK(plait_task_finish(other) == -PLAIT_EINVAL && drain(client, PLAIT_STATUS_WORKER_DIED, NULL) == 2);
  worker = new_worker();
  submit(client, 3);
  as(worker);
  CHECK((task = plait_task_next(0, 0)) != 0);
  as(main_id);
  plait_thread_note_exit(worker);
  CHECK(plait_pool_destroy(pool) == 0); /* before the worker is recovered: its task goes with the pool */
  CHECK(plait_abi_recover(worker) == 0 && test_live_blocks() == 0 && plait_abi_check(1) == 0);
}

/* A live thread without progress holds a pool's lock: recovery defers the part that needs the lock. */
static void test_stuck_pool(void) {
  open_pool();
  plait_thread_t worker = new_worker(), stuck = plait_slot_claim(0);
  submit(client, 1), submit(client, 2);
  as(worker);
  uint32_t task = plait_task_next(0, 0);
  as(stuck);
  CHECK(plait_lock_acquire(&pool_record()->lock) == 0);
  as(main_id);
  CHECK(plait_abi_recover(worker) == 0);
  CHECK((atomic_load(&plait_slot_of(worker)->generation_state) & 255u) == PLAIT_SLOT_EXITED);
  plait_ref_t third = build(client, 3);
  CHECK(plait_task_submit(third) == -PLAIT_ETIMEDOUT && plait_client_drain(client) == 0);
  as(stuck);
  plait_lock_release(&pool_record()->lock);
  as(main_id);
  plait_abi_sweep(); /* leaves it to the pool's coordinator */
  CHECK((atomic_load(&plait_slot_of(worker)->generation_state) & 255u) == PLAIT_SLOT_EXITED);
  CHECK(plait_abi_recover(worker) == task && plait_task_finish(task) == 0);
  plait_task_discard(third);
  CHECK((atomic_load(&plait_slot_of(worker)->generation_state) & 255u) == PLAIT_SLOT_FREE);
  uint64_t sum = 0;
  CHECK(drain(client, PLAIT_STATUS_WORKER_DIED, &sum) == 1 && sum == 1 && task != 0);
  nothing_left(0);
}

/* Clients of exited threads are taken over, but not while a task of theirs is running. */
static void test_client_again(void) {
  open_pool();
  plait_thread_t worker = new_worker();
  plait_ref_t first = 0;
  for (int round = 0; round < 5; round++) {
    plait_thread_t user = plait_slot_claim(0);
    as(user);
    plait_ref_t its = plait_client_create(pool);
    if (round == 0) first = its;
    CHECK(its == first);
    submit(its, 1);
    as(worker);
    uint32_t task = plait_task_next(0, 0);
    as(main_id);
    plait_abi_recover(user);
    CHECK(plait_client_create(pool) != first);
    as(worker);
    CHECK(finish_and_next(task) == PLAIT_NEXT_NONE);
    as(main_id);
  }
  end_worker(worker);
  nothing_left(0);
}

/* Threads release a pool one by one, and the owner also a client of its own: the last one frees the pool. */
static void test_release(void) {
  for (int order = 0; order < 3; order++) {
    open_pool();
    plait_thread_t user = plait_slot_claim(0);
    plait_ref_t second = plait_client_create(pool);
    as(user);
    plait_ref_t its = plait_client_create(pool);
    submit(its, 1);
    CHECK(plait_pool_release(pool) == -PLAIT_EINVAL); /* not its owner */
    as(main_id);
    submit(client, 2), submit(second, 3);
    CHECK(plait_pool_end(pool, PLAIT_POOL_CLOSED) == 0 && plait_client_release(client) == 0);
    if (order == 0) {
      CHECK(plait_pool_release(pool) == 0 && plait_pool_release(pool) == -PLAIT_EINVAL);
      CHECK(drain(second, PLAIT_STATUS_POOL_CLOSED, NULL) == 1); /* it outlives the owner's release */
      plait_ref_t late = build(second, 4);
      CHECK(plait_task_submit(late) == -PLAIT_EPIPE);
      plait_task_discard(late);
      CHECK(plait_client_release(second) == 0);
    }
    as(user);
    CHECK(drain(its, PLAIT_STATUS_POOL_CLOSED, NULL) == 1 && plait_client_release(its) == 0);
    as(main_id);
    if (order > 0) CHECK(test_live_blocks() > 0);
    if (order == 1) CHECK(plait_pool_release(pool) == 0 && test_live_blocks() > 0 && plait_client_release(second) == 0);
    if (order == 2) {
      as(user), plait_abi_recover(main_id);
      CHECK(test_live_blocks() == 0);
      main_id = user;
    }
    CHECK(test_live_blocks() == 0 && plait_pool_release(pool) == -PLAIT_EINVAL && plait_abi_check(1) == 0);
    plait_posix_unmap();
  }
}

/* Drains. Returns the number of completed tasks, and counts discarded ones. */
static uint32_t ends(plait_ref_t of, uint32_t *discarded) {
  uint32_t count = 0;
  *discarded = 0;
  for (plait_ref_t task = plait_client_drain(of), next; task != 0; task = next) {
    next = atomic_load(&record(task)->next);
    if (atomic_load(&record(task)->output_status) == PLAIT_STATUS_DISCARDED) ++*discarded;
    else count++;
    plait_task_free(task);
  }
  return count;
}

/* The tasks of a worker that cannot be terminated are settled without it. They come back again only to be freed. */
static void test_detach(void) {
  for (int how = 0; how < 3; how++) { /* it ends its tasks after all; it exits; it exits after its client */
    open_pool();
    plait_thread_t worker = new_worker();
    submit(client, 0), submit(client, 1), submit_as(client, 2, 3, 0), submit(client, 3);
    as(worker);
    for (uint32_t i = 0; i < 3; i++) {
      plait_ref_t task = plait_task_next(0, 0);
      if (i == 1) atomic_store(&record(task)->retries, 1);
      if (i < 2) CHECK(plait_task_hold() == 0);
    }
    plait_ref_t running = atomic_load(&plait_self()->running);
    atomic_fetch_or(&record(running)->control, PLAIT_STOP_TIMEOUT);
    as(main_id);
    CHECK(plait_task_detach(worker, 0) == PLAIT_NEXT_NONE); /* it may take another meanwhile */
    CHECK(plait_worker_drain(worker) == 1);
    if (how == 0) { /* a stuck lock hides its tasks */
      atomic_store(&pool_record()->lock.word, worker);
      CHECK(plait_task_detach(worker, 0) == PLAIT_NEXT_RETRY && atomic_load(&plait_self()->building) == 0);
      atomic_store(&pool_record()->lock.word, 0);
    }
    static const uint32_t order[] = {2, 0}; /* 1 has no stop request, and may be run again */
    for (int i = 0; i < 2; i++) {
      plait_ref_t surrogate = plait_task_detach(worker, 0);
      CHECK(surrogate > PLAIT_NEXT_RETRY && atomic_load(&record(surrogate)->ticket) == order[i] &&
          plait_abi_check(1) == 0);
      CHECK((atomic_load(&record(surrogate)->control) == PLAIT_STOP_TIMEOUT) == (i == 0));
      CHECK(plait_task_finish(surrogate) == 0);
    }
    CHECK(plait_task_detach(worker, 0) == PLAIT_NEXT_NONE && atomic_load(&pool_record()->finished) == 2);
    as(worker); /* its progress for them is refused */
    plait_ref_t word = plait_task_create(client, 10);
    atomic_store(&record(word)->link, running);
    CHECK(plait_task_emit(word) == -PLAIT_EPIPE);
    plait_task_discard(word);
    uint32_t discarded;
    as(main_id);
    if (how == 2) CHECK(plait_client_release(client) == 0);
    else CHECK(ends(client, &discarded) == 2 && discarded == 0);
    if (how == 0) {
      as(worker);
      CHECK(finish_and_next(running) == PLAIT_NEXT_STOP);
      while (atomic_load(&plait_self()->holding) != 0)
        CHECK(plait_task_finish(atomic_load(&plait_self()->holding)) == 0);
      plait_abi_detach();
      as(main_id);
      CHECK(ends(client, &discarded) == 1 && discarded == 2);
    } else {
      for (plait_ref_t task; (task = plait_abi_recover(worker)) != 0;) CHECK(plait_abi_settle(task) == 0);
      if (how == 1) CHECK(ends(client, &discarded) == 0 && discarded == 2);
    }
    uint32_t ran = how == 0 ? 1 : 2; /* the one that may be run again, and the one that was not taken */
    CHECK(atomic_load(&pool_record()->queued) == ran);
    nothing_left(0);
    plait_posix_unmap();
  }
}

static const struct test tests[] = {
    {"pools end", test_ends},
    {"the table of pools is full", test_full_table},
    {"results for exited clients are discarded", test_orphans},
    {"an orphaned pool goes with its last user", test_orphan_pool},
    {"tasks of exited workers come back", test_exited_worker},
    {"recovery defers a pool whose lock's owner makes no progress", test_stuck_pool},
    {"clients of exited threads are taken over", test_client_again},
    {"the last user frees a pool", test_release},
    {"tasks of a detached worker are settled without it", test_detach},
};
TEST_MAIN(tests)
