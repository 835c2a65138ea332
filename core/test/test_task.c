/*
 * task: queues, wake-ups, the ends of pools, and dead threads that tests stage by noting the death of a thread that
 * they play themselves.
 */
#include "harness.h"

static plait_thread_t main_id;
static plait_ref_t pool, client;

static struct plait_task *record(plait_ref_t task) {
  return plait_at(task);
}

static struct plait_pool *pool_record(void) {
  return plait_at(pool);
}

static void as(plait_thread_t thread) {
  plait_slot_enter(thread, 1);
}

static plait_thread_t new_worker(void) {
  plait_thread_t worker = plait_slot_claim(0);
  CHECK(worker != 0);
  as(worker);
  plait_worker_enter(pool);
  as(main_id);
  return worker;
}

static void open_pool(void) {
  main_id = test_space(2048);
  CHECK((pool = plait_pool_create()) != 0 && (client = plait_client_create(pool)) != 0);
}

static plait_ref_t build(plait_ref_t of, uint32_t ticket) {
  plait_ref_t task = plait_task_create(of, 0);
  CHECK(task != 0);
  atomic_store(&record(task)->ticket, ticket);
  return task;
}

static void submit(plait_ref_t of, uint32_t ticket) {
  CHECK(plait_task_submit(build(of, ticket)) == 0);
}

/* Drains `of`: how many came; each with `status` (0: any). The sum of their tickets in `sum`. */
static uint32_t drain(plait_ref_t of, uint32_t status, uint64_t *sum) {
  uint32_t count = 0;
  for (plait_ref_t task = plait_client_drain(of), next; task != 0; task = next, count++) {
    next = atomic_load(&record(task)->next);
    CHECK(atomic_load(&record(task)->state) == PLAIT_TASK_DONE);
    if (status != 0) CHECK(atomic_load(&record(task)->output_status) == status);
    if (sum != NULL) *sum += atomic_load(&record(task)->ticket);
    plait_task_free(task);
  }
  return count;
}

static uint32_t finish_and_next(uint32_t task) {
  if (task > PLAIT_NEXT_RETRY) atomic_store(&record(task)->output_status, PLAIT_STATUS_FULFILLED);
  return plait_task_next(task > PLAIT_NEXT_RETRY ? task : 0, 1);
}

static void nothing_left(uint32_t blocks) {
  plait_abi_sweep();
  CHECK(plait_pool_destroy(pool) == 0 && plait_pool_destroy(pool) == -PLAIT_EINVAL);
  plait_abi_sweep(); /* workers are nobody's now */
  CHECK(test_live_blocks() == blocks && plait_abi_check(1) == 0);
}

static void end_worker(plait_thread_t worker) {
  as(worker);
  plait_abi_detach();
  as(main_id);
}

/* ---- one thread ---- */

static void test_order(void) {
  open_pool();
  plait_thread_t worker = new_worker();
  uint32_t submitted = 0, taken = 0;
  uint64_t random = test_seed;
  for (int round = 0; round < 30; round++) { /* rings grow while their cells are wrapped round */
    for (uint32_t n = test_random(&random) % 300; n > 0; n--) submit(client, submitted++);
    as(worker);
    uint32_t task = 0;
    for (uint32_t n = test_random(&random) % 250; n > 0; n--) {
      task = finish_and_next(task);
      if (task == PLAIT_NEXT_NONE) break;
      CHECK(atomic_load(&record(task)->ticket) == taken++ && atomic_load(&record(task)->worker) == worker);
    }
    if (task != 0) {
      CHECK(plait_worker_park_begin() == 0 || taken == submitted);
      if (taken == submitted) plait_worker_park_end();
      atomic_store(&record(task)->output_status, PLAIT_STATUS_FULFILLED);
      atomic_store(&plait_self()->condemned, 1); /* deliver, and take none */
      CHECK(plait_task_next(task, 1) == PLAIT_NEXT_STOP);
      atomic_store(&plait_self()->condemned, 0);
    }
    as(main_id);
    CHECK(plait_abi_check(1) == 0);
  }
  plait_ref_t task = plait_client_drain(client), next; /* in the order of finishing */
  for (uint32_t ticket = 0; task != 0; ticket++, task = next) {
    CHECK(atomic_load(&record(task)->ticket) == ticket);
    next = atomic_load(&record(task)->next);
    plait_task_free(task);
  }
  end_worker(worker);
  nothing_left(0);
}

static void test_free_order(void) {
  open_pool();
  plait_thread_t worker = new_worker();
  plait_ref_t tasks[60];
  for (uint32_t i = 0; i < 60; i++) submit(client, i);
  as(worker);
  for (uint32_t task = 0; (task = finish_and_next(task)) != 0;) CHECK(plait_task_output(task, 1000) != 0);
  as(main_id);
  plait_ref_t task = plait_client_drain(client);
  for (uint32_t i = 0; i < 60; i++, task = atomic_load(&record(task)->next)) tasks[i] = task;
  for (uint32_t i = 0; i < 58; i++) plait_task_free(tasks[i * 7 % 60]); /* in any order, and two not at all */
  CHECK(test_live_blocks() == 4 + 2 * 2);                               /* each with its output's block */
  submit(client, 1);
  plait_ref_t building = build(client, 2);
  plait_task_free(building); /* not drained: ignored */
  plait_task_discard(building);
  end_worker(worker);
  nothing_left(0);
}

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
    CHECK(plait_pool_destroy(pool) == -PLAIT_EAGAIN); /* a worker is inside */
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

static void test_no_memory(void) {
  main_id = test_space(16);
  CHECK((pool = plait_pool_create()) != 0 && (client = plait_client_create(pool)) != 0);
  CHECK(plait_name_create(UINT32_MAX) == 0 && plait_name_create(UINT32_MAX - 8) == 0);
  CHECK(plait_task_create(client, UINT32_MAX) == 0);
  uint32_t count = 0;
  for (plait_ref_t task; (task = plait_task_create(client, 2000)) != 0; count++) {
    int rc = plait_task_submit(task);
    if (rc == 0) continue;
    CHECK(rc == -PLAIT_ENOMEM);
    plait_task_discard(task);
    break;
  }
  CHECK(count > 60 && plait_pool_end(pool, PLAIT_POOL_CLOSED) == 0);
  CHECK(drain(client, PLAIT_STATUS_POOL_CLOSED, NULL) == count);
  nothing_left(0);
}

/* ---- deaths ---- */

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
  CHECK(atomic_load(&pool_record()->dropped) == 7 && test_live_blocks() == 6); /* two clients with a ring */
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
  plait_abi_recover(owner); /* the pool closes, and stays: a worker and a client are in it */
  CHECK(atomic_load(&pool_record()->state) == PLAIT_POOL_CLOSED && plait_abi_check(1) == 0);
  as(user);
  CHECK(drain(users, PLAIT_STATUS_POOL_CLOSED, NULL) == 1);
  as(main_id);
  CHECK(plait_abi_recover(worker) == task && plait_task_finish(task) == 0);
  as(user);
  CHECK(drain(users, PLAIT_STATUS_WORKER_DIED, NULL) == 1); /* the client's thread lives: its pool is still there */
  as(main_id);
  plait_abi_recover(user);
  CHECK(test_live_blocks() == 3);
  pool = own;
  nothing_left(0);
}

static void test_dead_worker(void) {
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
  CHECK(plait_abi_recover(second) == other); /* without having finished the first: it is finished now */
  CHECK(plait_task_finish(task) == -PLAIT_EINVAL && plait_task_finish(other) == 0);
  CHECK(plait_task_finish(other) == -PLAIT_EINVAL && drain(client, PLAIT_STATUS_WORKER_DIED, NULL) == 2);
  worker = new_worker();
  submit(client, 3);
  as(worker);
  CHECK((task = plait_task_next(0, 0)) != 0);
  as(main_id);
  plait_thread_note_death(worker);
  CHECK(plait_pool_destroy(pool) == 0); /* before the worker is recovered: its task goes with the pool */
  CHECK(plait_abi_recover(worker) == 0 && test_live_blocks() == 0 && plait_abi_check(1) == 0);
}

/* A pool's lock is held by a thread that lives and does not move: recovery puts off what it cannot do. */
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
  CHECK((atomic_load(&plait_slot_of(worker)->life) & 255u) == PLAIT_SLOT_DEAD);
  plait_ref_t third = build(client, 3);
  CHECK(plait_task_submit(third) == -PLAIT_ETIMEDOUT && plait_client_drain(client) == 0);
  as(stuck);
  plait_lock_release(&pool_record()->lock);
  as(main_id);
  plait_abi_sweep(); /* leaves it to whoever coordinates the pool */
  CHECK((atomic_load(&plait_slot_of(worker)->life) & 255u) == PLAIT_SLOT_DEAD);
  CHECK(plait_abi_recover(worker) == task && plait_task_finish(task) == 0);
  plait_task_discard(third);
  CHECK((atomic_load(&plait_slot_of(worker)->life) & 255u) == PLAIT_SLOT_FREE);
  uint64_t sum = 0;
  CHECK(drain(client, PLAIT_STATUS_WORKER_DIED, &sum) == 1 && sum == 1 && task != 0);
  nothing_left(0);
}

static void test_retire(void) {
  open_pool();
  plait_thread_t worker = new_worker();
  submit(client, 1), submit(client, 2), submit(client, 3);
  as(worker);
  uint32_t task = finish_and_next(plait_task_next(0, 0));
  as(main_id);
  uint32_t asleep = atomic_load(&pool_record()->signal);
  CHECK(plait_worker_retire(worker) == 1 && atomic_load(&pool_record()->signal) != asleep);
  as(worker);
  CHECK(finish_and_next(task) == PLAIT_NEXT_STOP && plait_task_next(0, 0) == PLAIT_NEXT_STOP);
  CHECK(plait_worker_park_begin() == 0);
  as(main_id);
  CHECK(plait_abi_recover(worker) == 0 && plait_worker_retire(worker) == 0);
  CHECK(drain(client, PLAIT_STATUS_FULFILLED, NULL) == 2);
  worker = new_worker(); /* the same slot */
  as(worker);
  CHECK(plait_task_next(0, 0) > PLAIT_NEXT_RETRY);
  end_worker(worker);
  nothing_left(0);
}

static uint32_t wake_ups(void) {
  return atomic_load(&pool_record()->signal) + atomic_load(&pool_record()->parking);
}

/* Where a worker looks at the queue without a pause, nobody is woken for a single task; where it has died there, all are. */
static void test_looking(void) {
  open_pool();
  plait_thread_t sleeper = new_worker(), looker = new_worker();
  as(sleeper);
  CHECK(plait_worker_park_begin() != 0);
  as(main_id);
  uint32_t before = wake_ups();
  submit(client, 1);
  CHECK(wake_ups() != before);
  as(looker);
  uint32_t task = plait_task_next(0, 0);
  atomic_store(&pool_record()->looking, looker); /* as in the midst of plait_worker_wait() */
  as(main_id);
  before = wake_ups();
  submit(client, 2);
  CHECK(wake_ups() == before);
  submit(client, 3); /* it cannot take both at once */
  CHECK(wake_ups() != before);
  as(looker);
  plait_worker_wait(20000, 1); /* another's name stays, and there is work */
  CHECK(atomic_load(&pool_record()->looking) == looker);
  while ((task = finish_and_next(task)) != PLAIT_NEXT_NONE) CHECK(task > PLAIT_NEXT_RETRY);
  as(main_id);
  before = wake_ups();
  CHECK(plait_worker_retire(looker) == 1 && wake_ups() != before);
  before = wake_ups();
  submit(client, 4);
  CHECK(wake_ups() == before);
  as(looker);
  CHECK(plait_task_next(0, 0) == PLAIT_NEXT_STOP && wake_ups() != before); /* it is not to end with that task */
  as(main_id);
  before = wake_ups();
  CHECK(plait_abi_recover(looker) == 0);
  CHECK(wake_ups() != before && atomic_load(&pool_record()->looking) == 0);
  as(sleeper);
  plait_worker_park_end();
  plait_worker_wait(20000, 1);
  CHECK(atomic_load(&pool_record()->looking) == 0 && atomic_load(&pool_record()->sleepers) == 0);
  CHECK((task = plait_task_next(0, 0)) > PLAIT_NEXT_RETRY && finish_and_next(task) == PLAIT_NEXT_NONE);
  end_worker(sleeper);
  CHECK(drain(client, PLAIT_STATUS_FULFILLED, NULL) == 4);
  nothing_left(0);
}

static void test_look(void) {
  open_pool();
  plait_thread_t worker = new_worker();
  atomic_store(&pool_record()->grace_ms, 100);
  CHECK(plait_worker_look(worker, 5) == PLAIT_LOOK_CALM);
  submit(client, 1), submit(client, 2), submit(client, 3);
  as(worker);
  plait_ref_t first = plait_task_next(0, 0);
  atomic_store(&record(first)->started_ms, UINT32_MAX - 9); /* the clock wraps while it runs */
  as(main_id);
  CHECK(plait_worker_look(worker, UINT32_MAX) == PLAIT_LOOK_CALM);
  atomic_store(&record(first)->timeout_ms, 50);
  CHECK(plait_worker_look(worker, 39) == PLAIT_LOOK_WATCH && atomic_load(&record(first)->control) == 0);
  CHECK(plait_worker_look(worker, 40) == PLAIT_LOOK_TOLD && atomic_load(&record(first)->control) == PLAIT_STOP_TIMEOUT);
  CHECK(plait_worker_look(worker, 139) == PLAIT_LOOK_WATCH);
  as(worker);
  CHECK(plait_task_hold() == 0); /* a task that is held is looked at as well */
  plait_ref_t second = plait_task_next(0, 0);
  atomic_store(&record(second)->started_ms, 100);
  as(main_id);
  CHECK(plait_worker_look(worker, 139) == PLAIT_LOOK_WATCH && atomic_load(&plait_slot_of(worker)->condemned) == 0);
  CHECK(plait_worker_look(worker, 140) == PLAIT_LOOK_OVERDUE);
  as(worker);
  CHECK(finish_and_next(second) == PLAIT_NEXT_STOP);
  as(main_id);
  atomic_store(&record(first)->output_status, PLAIT_STATUS_FULFILLED); /* a recoverer's to overwrite */
  CHECK(plait_abi_recover(worker) == first && plait_task_finish(first) == 0 && plait_abi_recover(worker) == 0);
  CHECK(plait_worker_look(worker, 141) == PLAIT_LOOK_CALM);
  CHECK(drain(client, 0, NULL) == 2);
  nothing_left(0);
}

/* ---- order ---- */

static plait_ref_t submit_as(plait_ref_t of, uint32_t ticket, uint32_t lane, plait_ref_t seat) {
  plait_ref_t task = build(of, ticket);
  atomic_store(&record(task)->lane, lane), atomic_store(&record(task)->seat, seat);
  CHECK(plait_task_submit(task) == 0);
  return task;
}

/* The order in which the calling worker takes what there is. */
static void takes(plait_thread_t worker, const uint32_t *tickets, uint32_t count) {
  as(worker);
  uint32_t task = 0;
  for (uint32_t i = 0; i < count; i++) {
    task = finish_and_next(task);
    CHECK(task > PLAIT_NEXT_RETRY);
    if (atomic_load(&record(task)->ticket) != tickets[i]) fprintf(stderr, "%u: %u\n", i, atomic_load(&record(task)->ticket));
    CHECK(atomic_load(&record(task)->ticket) == tickets[i]);
  }
  CHECK(finish_and_next(task) == PLAIT_NEXT_NONE && atomic_load(&pool_record()->queued) == 0);
  as(main_id);
}

static void test_priorities(void) {
  open_pool();
  plait_thread_t worker = new_worker();
  for (uint32_t i = 0; i < 6; i++) submit_as(client, i, i % 2 == 0 ? 3 : 6, 0);
  submit_as(client, 6, 0, 0), submit_as(client, 7, 2, 0), submit_as(client, 8, 2, 0);
  takes(worker, (const uint32_t[]){6, 7, 8, 0, 2, 4, 1, 3, 5}, 9);
  drain(client, 0, NULL);
  /* A client that floods the pool does not keep the others waiting. */
  plait_ref_t other = plait_client_create(pool), third = plait_client_create(pool);
  for (uint32_t i = 0; i < 6; i++) submit_as(client, i, 3, 0);
  submit_as(other, 20, 3, 0), submit_as(other, 21, 3, 0), submit_as(third, 30, 3, 0), submit_as(third, 31, 4, 0);
  CHECK(plait_abi_check(1) == 0);
  as(worker);
  uint32_t task = 0, at[40] = {0};
  for (uint32_t i = 1; (task = finish_and_next(task)) != PLAIT_NEXT_NONE; i++) at[atomic_load(&record(task)->ticket)] = i;
  as(main_id);
  CHECK(at[20] <= 3 && at[30] <= 3 && at[21] <= 6 && at[31] == 10);
  for (uint32_t i = 1; i < 6; i++) CHECK(at[i] > at[i - 1]);
  CHECK(drain(client, 0, NULL) == 6 && drain(other, 0, NULL) == 2 && drain(third, 0, NULL) == 2);
  end_worker(worker);
  nothing_left(0);
}

static void test_seats(void) {
  open_pool();
  plait_thread_t worker = new_worker(), second = new_worker();
  plait_ref_t seat = plait_pool_seat(pool, 0), free_seat = plait_pool_seat(pool, 255);
  CHECK(seat != 0 && free_seat != 0 && plait_pool_seat(pool, 0) == seat);
  as(worker);
  plait_worker_sit(seat);
  CHECK(plait_worker_park_begin() != 0);
  plait_worker_park_end();
  as(second);
  plait_worker_sit(free_seat);
  as(main_id);
  submit_as(client, 1, 4, 0), submit_as(client, 2, 3, seat), submit_as(client, 3, 0, seat), submit_as(client, 4, 2, 0);
  submit_as(client, 5, 3, free_seat);
  as(worker);
  CHECK(plait_worker_park_begin() == 0);
  as(main_id);
  for (uint32_t i = 10; i < 210; i++) submit_as(client, i, 6, seat); /* its ring grows */
  CHECK(plait_abi_check(1) == 0);
  as(worker);
  static const uint32_t order[] = {4, 2, 3, 1};
  uint32_t task = 0;
  for (int i = 0; i < 4; i++) CHECK(atomic_load(&record(task = finish_and_next(task))->ticket) == order[i]);
  for (uint32_t i = 10; i < 210; i++) CHECK(atomic_load(&record(task = finish_and_next(task))->ticket) == i);
  CHECK(finish_and_next(task) == PLAIT_NEXT_NONE);
  as(main_id);
  takes(second, (const uint32_t[]){5}, 1);
  CHECK(drain(client, 0, NULL) == 205);
  submit_as(client, 6, 3, seat); /* goes with the pool */
  end_worker(worker), end_worker(second);
  CHECK(plait_pool_end(pool, PLAIT_POOL_CLOSED) == 0 && drain(client, PLAIT_STATUS_POOL_CLOSED, NULL) == 1);
  nothing_left(0);
}

static void test_limit(void) {
  open_pool();
  atomic_store(&pool_record()->queue_limit, 3);
  for (uint32_t i = 0; i < 3; i++) submit(client, i);
  plait_ref_t late = build(client, 3);
  CHECK(plait_task_submit(late) == -PLAIT_EAGAIN && atomic_load(&record(late)->state) == PLAIT_TASK_BUILDING);
  plait_thread_t worker = new_worker();
  as(worker);
  uint32_t task = plait_task_next(0, 0);
  as(main_id);
  CHECK(plait_task_submit(late) == 0 && atomic_load(&pool_record()->queued) == 3);
  as(worker); /* it may wait for tasks of its own: they are taken, however many wait */
  plait_ref_t own = plait_client_create(pool);
  submit(own, 4), submit(own, 5);
  CHECK(atomic_load(&pool_record()->queued) == 5);
  as(main_id);
  late = build(client, 6);
  CHECK(plait_task_submit(late) == -PLAIT_EAGAIN);
  plait_task_discard(late);
  plait_abi_recover(worker), plait_task_finish(task);
  CHECK(plait_pool_end(pool, PLAIT_POOL_CLOSED) == 0 && drain(client, 0, NULL) == 4);
  nothing_left(0);
}

/* ---- several tasks at once, nested ones, progress, retries ---- */

/* What a task waits for is taken by its worker as long as that is not about to be stopped. */
static void test_condemned_help(void) {
  for (int is_late = 0; is_late < 2; is_late++) {
    open_pool();
    plait_thread_t worker = new_worker();
    submit(client, 0);
    as(worker);
    plait_ref_t own = plait_client_create(pool), outer = plait_task_next(0, 0);
    CHECK(plait_task_hold() == 0);
    submit(own, 1);
    as(main_id);
    if (is_late) {
      atomic_store(&pool_record()->grace_ms, 5);
      atomic_fetch_or(&record(outer)->control, PLAIT_STOP_ABORT);
      CHECK(plait_worker_look(worker, 1000) == PLAIT_LOOK_TOLD && plait_worker_look(worker, 1010) == PLAIT_LOOK_OVERDUE);
    }
    CHECK(plait_worker_retire(worker) == 1); /* makes no late one better */
    CHECK(plait_pool_end(pool, PLAIT_POOL_CLOSING) == 0);
    plait_ref_t late = build(client, 3);
    CHECK(plait_task_submit(late) == -PLAIT_EPIPE);
    plait_task_discard(late);
    as(worker);
    submit(own, 2); /* the task may go on, and so it may do that */
    CHECK(plait_task_next(0, 0) == PLAIT_NEXT_STOP);
    for (uint32_t i = 1; i < 3; i++) {
      plait_ref_t inner = plait_task_help(own);
      CHECK(is_late ? inner == PLAIT_NEXT_NONE : atomic_load(&record(inner)->ticket) == i && plait_task_finish(inner) == 0);
    }
    CHECK(plait_task_finish(outer) == 0 && drain(own, 0, NULL) == (is_late ? 0 : 2));
    as(main_id);
    end_worker(worker);
    CHECK(drain(client, 0, NULL) == 1);
    nothing_left(0);
  }
}

static void test_hold(void) {
  open_pool();
  plait_thread_t worker = new_worker();
  for (uint32_t i = 0; i < 5; i++) submit(client, i);
  as(worker);
  plait_ref_t tasks[5];
  CHECK(plait_task_hold() == -PLAIT_EINVAL);
  for (uint32_t i = 0; i < 5; i++) {
    tasks[i] = plait_task_next(0, 0);
    CHECK(atomic_load(&record(tasks[i])->ticket) == i);
    if (i < 4) CHECK(plait_task_hold() == 0);
  }
  CHECK(plait_task_finish(tasks[2]) == -PLAIT_EINVAL); /* it runs another */
  CHECK(finish_and_next(tasks[4]) == PLAIT_NEXT_NONE);
  CHECK(plait_task_finish(tasks[2]) == 0 && plait_task_finish(tasks[0]) == 0 && plait_task_finish(tasks[0]) == -PLAIT_EINVAL);
  as(main_id);
  CHECK(drain(client, 0, NULL) == 3);
  CHECK(plait_pool_destroy(pool) == -PLAIT_EAGAIN);
  plait_ref_t left = plait_abi_recover(worker);
  CHECK((left == tasks[3] || left == tasks[1]) && plait_task_finish(left) == 0);
  CHECK((atomic_load(&plait_slot_of(worker)->life) & 255u) == PLAIT_SLOT_DEAD);
  left = plait_abi_recover(worker);
  CHECK(left != 0 && plait_task_finish(left) == 0 && plait_abi_recover(worker) == 0);
  CHECK((atomic_load(&plait_slot_of(worker)->life) & 255u) == PLAIT_SLOT_FREE);
  CHECK(drain(client, PLAIT_STATUS_WORKER_DIED, NULL) == 2);
  worker = new_worker();
  submit(client, 1), submit(client, 2);
  as(worker), plait_task_next(0, 0), plait_task_hold(), plait_task_next(0, 0), plait_task_hold();
  plait_abi_detach();
  as(main_id);
  plait_abi_sweep();
  CHECK(drain(client, 0, NULL) == 0); /* a coordinator's to recover */
  for (plait_ref_t task; (task = plait_abi_recover(worker)) != 0;) CHECK(plait_abi_settle(task) == 0);
  CHECK(drain(client, PLAIT_STATUS_WORKER_DIED, NULL) == 2);
  nothing_left(0);
}

static void test_help(void) {
  open_pool();
  plait_thread_t worker = new_worker();
  submit(client, 1), submit(client, 2);
  as(worker);
  plait_ref_t parent = plait_task_next(0, 0), own = plait_client_create(pool), seat = plait_pool_seat(pool, 3);
  plait_worker_sit(seat);
  submit(own, 10), submit_as(own, 11, 0, 0), submit_as(own, 12, 3, seat);
  CHECK(plait_task_hold() == 0);
  static const uint32_t order[] = {12, 11, 10};
  for (int i = 0; i < 3; i++) {
    plait_ref_t task = plait_task_help(own);
    CHECK(task > PLAIT_NEXT_RETRY && atomic_load(&record(task)->ticket) == order[i] && plait_task_finish(task) == 0);
  }
  CHECK(plait_task_help(own) == PLAIT_NEXT_NONE && plait_abi_check(1) == 0); /* not the other client's */
  CHECK(drain(own, 0, NULL) == 3 && plait_task_finish(parent) == 0);
  end_worker(worker);
  CHECK(plait_abi_recover(worker) == 0 && plait_client_create(pool) == own);
  nothing_left(0);
}

static void test_progress_and_retries(void) {
  open_pool();
  plait_thread_t worker = new_worker();
  plait_ref_t task = plait_task_create(client, 3000);
  atomic_store(&record(task)->ticket, 7), atomic_store(&record(task)->retries, 2);
  plait_ref_t input = atomic_load(&record(task)->input_low);
  memset(plait_at(input), 9, 3000);
  CHECK(plait_task_requeue(task) == -PLAIT_EINVAL && plait_task_submit(task) == 0);
  submit(client, 8);
  for (int life = 0; life < 3; life++) {
    as(worker);
    CHECK(plait_task_next(0, 0) == task); /* in front again */
    plait_ref_t word = plait_task_create(client, 10);
    atomic_store(&record(word)->ticket, 7), atomic_store(&record(word)->output_status, PLAIT_STATUS_PROGRESS);
    CHECK(plait_task_emit(word) == 0 && atomic_load(&plait_self()->building) == 0);
    plait_ref_t at = plait_task_output(task, 8);
    CHECK((at != task + sizeof(struct plait_task)) == (life < 2)); /* the input is kept while it may be needed */
    as(main_id);
    CHECK(plait_abi_recover(worker) == task);
    for (int i = 0; i < 3000; i++) CHECK(((uint8_t *)plait_at(input))[i] == 9);
    if (life < 2) CHECK(plait_task_requeue(task) == 0 && plait_abi_check(1) == 0);
    else CHECK(plait_task_requeue(task) == -PLAIT_EINVAL && plait_task_finish(task) == 0);
    if (life < 2) worker = new_worker();
  }
  CHECK(atomic_load(&pool_record()->finished) == 1);
  plait_ref_t next;
  uint32_t words = 0;
  for (plait_ref_t done = plait_client_drain(client); done != 0; done = next) {
    next = atomic_load(&record(done)->next);
    CHECK(atomic_load(&record(done)->ticket) == 7);
    if (atomic_load(&record(done)->output_status) == PLAIT_STATUS_PROGRESS) words++;
    else CHECK(next == 0 && words == 3);
    plait_task_free(done);
  }
  worker = new_worker();
  takes(worker, (const uint32_t[]){8}, 1);
  end_worker(worker);
  drain(client, 0, NULL);
  nothing_left(0);
}

/* Clients of threads that are gone are taken over, but not while a task of theirs is under way. */
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

/* Threads let go of a pool one by one, a client that the owner has besides too: whoever is last frees it. */
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
      CHECK(drain(second, PLAIT_STATUS_POOL_CLOSED, NULL) == 1); /* it outlives what the owner has let go of */
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

/* Drains: how many ends, and of the rest how many were dropped. */
static uint32_t ends(plait_ref_t of, uint32_t *dropped) {
  uint32_t count = 0;
  *dropped = 0;
  for (plait_ref_t task = plait_client_drain(of), next; task != 0; task = next) {
    next = atomic_load(&record(task)->next);
    if (atomic_load(&record(task)->output_status) == PLAIT_STATUS_DROPPED) ++*dropped;
    else count++;
    plait_task_free(task);
  }
  return count;
}

/* A worker that cannot be ended: what it runs is settled without it, and comes back once more only to be freed. */
static void test_give_up(void) {
  for (int how = 0; how < 3; how++) { /* it ends its tasks after all; it dies; it dies after its client */
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
    CHECK(plait_task_give_up(worker) == PLAIT_NEXT_NONE); /* it may take another meanwhile */
    CHECK(plait_worker_retire(worker) == 1);
    if (how == 0) { /* a lock that does not move hides what there is */
      atomic_store(&pool_record()->lock.word, worker);
      CHECK(plait_task_give_up(worker) == PLAIT_NEXT_RETRY && atomic_load(&plait_self()->building) == 0);
      atomic_store(&pool_record()->lock.word, 0);
    }
    static const uint32_t order[] = {2, 0}; /* 1 was not told to stop, and may be run again */
    for (int i = 0; i < 2; i++) {
      plait_ref_t stand_in = plait_task_give_up(worker);
      CHECK(stand_in > PLAIT_NEXT_RETRY && atomic_load(&record(stand_in)->ticket) == order[i] && plait_abi_check(1) == 0);
      CHECK((atomic_load(&record(stand_in)->control) == PLAIT_STOP_TIMEOUT) == (i == 0));
      CHECK(plait_task_finish(stand_in) == 0);
    }
    CHECK(plait_task_give_up(worker) == PLAIT_NEXT_NONE && atomic_load(&pool_record()->finished) == 2);
    as(worker); /* what it says of them is not heard */
    plait_ref_t word = plait_task_create(client, 10);
    atomic_store(&record(word)->link, running);
    CHECK(plait_task_emit(word) == -PLAIT_EPIPE);
    plait_task_discard(word);
    uint32_t dropped;
    as(main_id);
    if (how == 2) CHECK(plait_client_release(client) == 0);
    else CHECK(ends(client, &dropped) == 2 && dropped == 0);
    if (how == 0) {
      as(worker);
      CHECK(finish_and_next(running) == PLAIT_NEXT_STOP);
      while (atomic_load(&plait_self()->holding) != 0) CHECK(plait_task_finish(atomic_load(&plait_self()->holding)) == 0);
      plait_abi_detach();
      as(main_id);
      CHECK(ends(client, &dropped) == 1 && dropped == 2);
    } else {
      for (plait_ref_t task; (task = plait_abi_recover(worker)) != 0;) CHECK(plait_abi_settle(task) == 0);
      if (how == 1) CHECK(ends(client, &dropped) == 0 && dropped == 2);
    }
    uint32_t ran = how == 0 ? 1 : 2; /* the one that may be run again, and the one that nobody had taken */
    CHECK(atomic_load(&pool_record()->queued) == ran);
    nothing_left(0);
    plait_posix_unmap();
  }
}

/* Progress that nobody drains is refused when it has become too much; a single word may be of any size. */
static void test_progress_limit(void) {
  open_pool();
  plait_thread_t worker = new_worker();
  for (int round = 0; round < 3; round++) {
    as(worker);
    static const uint32_t sizes[] = {0, 100, 100000};
    uint32_t sent = 0;
    for (int rc = 0; rc == 0; sent++) {
      plait_ref_t word = plait_task_create(client, sizes[round]);
      CHECK(word != 0);
      rc = plait_task_emit(word);
      if (rc == 0) continue;
      CHECK(rc == -PLAIT_EAGAIN);
      plait_task_discard(word), sent--;
    }
    CHECK(sent > PLAIT_PROGRESS_LIMIT / (sizes[round] * 2 + 1000) && sent < PLAIT_PROGRESS_LIMIT / (sizes[round] + 100));
    as(main_id);
    CHECK(drain(client, 0, NULL) == sent);
  }
  as(worker);
  plait_ref_t large = plait_task_create(client, PLAIT_PROGRESS_LIMIT + 1000);
  CHECK(large != 0 && plait_task_emit(large) == 0);
  plait_ref_t small = plait_task_create(client, 1);
  CHECK(plait_task_emit(small) == -PLAIT_EAGAIN);
  plait_task_discard(small);
  as(main_id);
  CHECK(drain(client, 0, NULL) == 1);
  end_worker(worker);
  nothing_left(0);
}

/* ---- threads ---- */

static uint32_t each;  /* tasks of one submitter */
static uint32_t spins; /* looks of an idle worker before it sleeps */

static void *work(void *argument) {
  uint32_t *ran = argument;
  CHECK(plait_abi_enter() != 0);
  plait_worker_enter(pool);
  uint32_t task = 0;
  while ((task = finish_and_next(task)) != PLAIT_NEXT_STOP) {
    if (task == PLAIT_NEXT_NONE) plait_worker_wait(20000, spins); /* a lost wake-up runs into the test's deadline */
    if (task > PLAIT_NEXT_RETRY) ++*ran;
  }
  plait_abi_detach();
  return NULL;
}

static uint32_t wait_drain(plait_ref_t of, uint64_t *sum) {
  struct plait_client *record_of = plait_at(of);
  for (;;) {
    uint32_t signal = atomic_load(&record_of->signal), count = drain(of, PLAIT_STATUS_FULFILLED, sum);
    if (count > 0) return count;
    if (atomic_load(&record_of->inbox) == 0) plait_platform_wait(&record_of->signal, signal, 20000000000);
  }
}

static uint32_t window; /* tasks that a submitter has under way at most */

static void *submit_and_drain(void *argument) {
  (void)argument;
  CHECK(plait_abi_enter() != 0);
  plait_ref_t own = plait_client_create(pool);
  uint64_t sum = 0;
  uint32_t sent = 0, back = 0;
  while (back < each) {
    while (sent < each && sent - back < window) submit(own, sent++);
    back += wait_drain(own, &sum);
  }
  CHECK(back == each && sum == (uint64_t)each * (each - 1) / 2);
  plait_abi_detach();
  return NULL;
}

static void run(uint32_t submitters, uint32_t workers) {
  open_pool();
  pthread_t threads[16];
  uint32_t ran[16] = {0}, total = 0;
  for (uint32_t i = 0; i < workers; i++) CHECK(pthread_create(&threads[i], NULL, work, &ran[i]) == 0);
  for (uint32_t i = 0; i < submitters; i++)
    CHECK(pthread_create(&threads[workers + i], NULL, submit_and_drain, NULL) == 0);
  for (uint32_t i = 0; i < submitters; i++) pthread_join(threads[workers + i], NULL);
  CHECK(plait_pool_end(pool, PLAIT_POOL_CLOSING) == 0);
  for (uint32_t i = 0; i < workers; i++) pthread_join(threads[i], NULL), total += ran[i];
  CHECK(total == each * submitters && atomic_load(&pool_record()->finished) == total);
  CHECK(atomic_load(&pool_record()->sleepers) == 0 && atomic_load(&pool_record()->looking) == 0);
  nothing_left(0);
}

static void test_flood(void) {
  each = test_work(67000), window = each;
  run(3, 3);
}

static void test_small_queues(void) { /* mostly asleep: every step is a wake-up */
  static const uint32_t looks[] = {0, 1, 300};
  for (int i = 0; i < 3; i++) {
    spins = looks[i];
    each = test_work(10000), window = 1;
    run(1, 1);
    run(1, 3);
    each = test_work(5000), window = 2;
    run(3, 4);
  }
}

/* Pools end while threads submit and take: every task that was accepted comes back. */
static void *submit_until_closed(void *argument) {
  (void)argument;
  CHECK(plait_abi_enter() != 0);
  plait_ref_t own = plait_client_create(pool);
  uint32_t sent = 0, back = 0;
  for (;; sent++) {
    plait_ref_t task = build(own, sent);
    int rc = plait_task_submit(task);
    if (rc == 0) continue;
    CHECK(rc == -PLAIT_EPIPE);
    plait_task_discard(task);
    break;
  }
  for (uint64_t start = test_now_ms(); back < sent && test_now_ms() - start < 20000;) back += drain(own, 0, NULL);
  CHECK(back == sent);
  plait_abi_detach();
  return NULL;
}

static void test_closing_race(void) {
  for (uint32_t round = 0; round < test_work(60); round++) {
    open_pool();
    pthread_t threads[4];
    uint32_t ran[2] = {0};
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, work, &ran[i]) == 0);
    for (int i = 2; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, submit_until_closed, NULL) == 0);
    usleep(test_seed % 2000 + round * 20);
    CHECK(plait_pool_end(pool, PLAIT_POOL_CLOSING + round % 3) == 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    nothing_left(0);
    plait_posix_unmap();
  }
}

static const struct test tests[] = {
    {"first in, first out, through growing rings", test_order},
    {"drained tasks are freed in any order", test_free_order},
    {"pools end", test_ends},
    {"the table of pools is full", test_full_table},
    {"memory is full", test_no_memory},
    {"results for dead clients are dropped", test_orphans},
    {"an orphaned pool goes with its last user", test_orphan_pool},
    {"dead workers' tasks come back", test_dead_worker},
    {"recovery waits for a stuck pool", test_stuck_pool},
    {"retired workers take no more", test_retire},
    {"who looks need not be woken", test_looking},
    {"late tasks are told, then overdue", test_look},
    {"the urgent first, clients in turn", test_priorities},
    {"a seat has a queue of its own", test_seats},
    {"a queue has a limit", test_limit},
    {"a worker holds several tasks", test_hold},
    {"a worker helps with its own tasks", test_help},
    {"progress comes before the end; retries keep the input", test_progress_and_retries},
    {"clients of the dead are taken over", test_client_again},
    {"a pool is freed by the last who uses it", test_release},
    {"what a worker runs on is settled without it", test_give_up},
    {"a worker that is to end helps what it has", test_condemned_help},
    {"undelivered progress is bounded", test_progress_limit},
    {"threads flood the queue", test_flood},
    {"threads sleep and wake", test_small_queues},
    {"pools end under load", test_closing_race},
};
TEST_MAIN(tests)
