/*
 * workers of a pool: waking, spinning, polling, running, holding and helping. Invariant: a task has one worker at a
 * time, and a draining worker takes no further tasks.
 */
#include "task_world.h"

static uint32_t wake_ups(void) { return atomic_load(&pool_record()->signal) + atomic_load(&pool_record()->parking); }

/* While a spinner is registered, a single task wakes no worker. When the spinner has exited, all workers are woken. */
static void test_spinner(void) {
  open_pool();
  plait_thread_t sleeper = new_worker(), spinner = new_worker();
  as(sleeper);
  CHECK(plait_worker_park_begin() != 0);
  as(main_id);
  uint32_t before = wake_ups();
  submit(client, 1);
  CHECK(wake_ups() != before);
  as(spinner);
  uint32_t task = plait_task_next(0, 0);
  atomic_store(&pool_record()->spinner, spinner); /* as in the midst of plait_worker_wait() */
  as(main_id);
  before = wake_ups();
  submit(client, 2);
  CHECK(wake_ups() == before);
  submit(client, 3); /* it cannot take both at once */
  CHECK(wake_ups() != before);
  as(spinner);
  CHECK(plait_worker_wait(20000, 1) == 1); /* another worker stays registered */
  CHECK(atomic_load(&pool_record()->spinner) == spinner);
  while ((task = finish_and_next(task)) != PLAIT_NEXT_NONE) CHECK(task > PLAIT_NEXT_RETRY);
  CHECK(atomic_load(&pool_record()->spinner) == 0); /* it unregistered with the first of them */
  atomic_store(&pool_record()->spinner, spinner);
  as(main_id);
  before = wake_ups();
  CHECK(plait_worker_drain(spinner) == 1 && wake_ups() != before);
  before = wake_ups();
  submit(client, 4);
  CHECK(wake_ups() == before);
  as(spinner);
  CHECK(plait_task_next(0, 0) == PLAIT_NEXT_STOP && wake_ups() != before); /* it must not end with that task */
  atomic_store(&pool_record()->spinner, spinner);
  as(main_id);
  before = wake_ups();
  CHECK(plait_abi_recover(spinner) == 0);
  CHECK(wake_ups() != before && atomic_load(&pool_record()->spinner) == 0);
  as(sleeper);
  plait_worker_park_end();
  CHECK(plait_worker_wait(20000, 1) == 1);
  CHECK(atomic_load(&pool_record()->sleepers) == 0);
  CHECK((task = plait_task_next(0, 0)) > PLAIT_NEXT_RETRY && finish_and_next(task) == PLAIT_NEXT_NONE);
  CHECK(atomic_load(&pool_record()->spinner) == 0);
  CHECK(plait_worker_wait(0, 3) == 0); /* it has spun in vain */
  atomic_store(&pool_record()->unread, 1000);
  CHECK(plait_worker_wait(0, 3) == 1); /* it has not: it has napped for its client */
  end_worker(sleeper);
  CHECK(drain(client, PLAIT_STATUS_FULFILLED, NULL) == 4);
  nothing_left(0);
}

/*
 * A spinner that has found a task stays registered until it takes the task. If it cannot get the lock, it wakes all
 * workers instead.
 */
static void test_found(void) {
  open_pool();
  plait_thread_t spinner = new_worker(), stuck = plait_slot_claim(0);
  submit(client, 1);
  as(spinner);
  CHECK(plait_worker_wait(20000, 1) == 1 && atomic_load(&pool_record()->spinner) == spinner);
  CHECK(plait_worker_wait(20000, 1) == 1 && atomic_load(&pool_record()->spinner) == spinner);
  as(stuck);
  CHECK(plait_lock_acquire(&pool_record()->lock) == 0);
  as(spinner);
  uint32_t before = wake_ups(), signalled = atomic_load(&pool_record()->coordinator_signal);
  CHECK(plait_task_next(0, 0) == PLAIT_NEXT_RETRY);
  CHECK(wake_ups() != before && atomic_load(&pool_record()->coordinator_signal) != signalled &&
      atomic_load(&pool_record()->spinner) == 0);
  before = wake_ups();
  CHECK(plait_task_next(0, 0) == PLAIT_NEXT_RETRY && wake_ups() == before); /* no task relied on it */
  as(stuck);
  plait_lock_release(&pool_record()->lock);
  as(spinner);
  CHECK(plait_worker_wait(20000, 1) == 1 && atomic_load(&pool_record()->spinner) == spinner);
  uint32_t task = plait_task_next(0, 0);
  CHECK(task > PLAIT_NEXT_RETRY && atomic_load(&pool_record()->spinner) == 0);
  CHECK(finish_and_next(task) == PLAIT_NEXT_NONE);
  end_worker(stuck);
  end_worker(spinner);
  CHECK(drain(client, PLAIT_STATUS_FULFILLED, NULL) == 1);
  nothing_left(0);
}

/* With any number of unread results, "none" means that nothing is queued for the worker. */
static void test_none(void) {
  open_pool();
  plait_thread_t workers[] = {new_worker(), new_worker()};
  for (uint32_t i = 0; i < 2; i++) {
    plait_ref_t place = plait_pool_place(pool, i);
    CHECK(place != 0);
    as(workers[i]);
    plait_worker_take_place(place);
  }
  as(main_id);
  for (uint32_t i = 0; i < 12; i++) submit(client, i);
  atomic_store(&pool_record()->unread, 1000);
  as(workers[1]);
  uint32_t task = plait_task_next(0, 0);
  for (uint32_t left = 11; left > 0; left--) {
    CHECK(task > PLAIT_NEXT_RETRY && atomic_load(&pool_record()->queued) == left);
    task = finish_and_next(task);
  }
  CHECK(finish_and_next(task) == PLAIT_NEXT_NONE && atomic_load(&pool_record()->queued) == 0);
  end_worker(workers[0]);
  end_worker(workers[1]);
  CHECK(drain(client, PLAIT_STATUS_FULFILLED, NULL) == 12);
  nothing_left(0);
}

static void test_poll(void) {
  open_pool();
  plait_thread_t worker = new_worker();
  atomic_store(&pool_record()->grace_ms, 100);
  CHECK(plait_worker_poll(worker, 5) == PLAIT_POLL_NONE);
  submit(client, 1), submit(client, 2), submit(client, 3);
  as(worker);
  plait_ref_t first = plait_task_next(0, 0);
  atomic_store(&record(first)->started_ms, UINT32_MAX - 9); /* the clock wraps while it runs */
  as(main_id);
  CHECK(plait_worker_poll(worker, UINT32_MAX) == PLAIT_POLL_NONE);
  atomic_store(&record(first)->timeout_ms, 50);
  CHECK(plait_worker_poll(worker, 39) == PLAIT_POLL_AGAIN && atomic_load(&record(first)->control) == 0);
  CHECK(plait_worker_poll(worker, 40) == PLAIT_POLL_STOP_REQUESTED &&
      atomic_load(&record(first)->control) == PLAIT_STOP_TIMEOUT);
  CHECK(plait_worker_poll(worker, 139) == PLAIT_POLL_AGAIN);
  as(worker);
  CHECK(plait_task_hold() == 0); /* a held task is polled too */
  plait_ref_t second = plait_task_next(0, 0);
  atomic_store(&record(second)->started_ms, 100);
  as(main_id);
  CHECK(plait_worker_poll(worker, 139) == PLAIT_POLL_AGAIN && atomic_load(&plait_slot_of(worker)->stop_state) == 0);
  CHECK(plait_worker_poll(worker, 140) == PLAIT_POLL_OVERDUE);
  as(worker);
  CHECK(finish_and_next(second) == PLAIT_NEXT_STOP);
  as(main_id);
  atomic_store(&record(first)->output_status, PLAIT_STATUS_FULFILLED); /* a recoverer's to overwrite */
  CHECK(plait_abi_recover(worker) == first && plait_task_finish(first) == 0 && plait_abi_recover(worker) == 0);
  CHECK(plait_worker_poll(worker, 141) == PLAIT_POLL_NONE);
  CHECK(drain(client, 0, NULL) == 2);
  nothing_left(0);
}

static void test_drain(void) {
  open_pool();
  plait_thread_t worker = new_worker();
  submit(client, 1), submit(client, 2), submit(client, 3);
  as(worker);
  uint32_t task = finish_and_next(plait_task_next(0, 0));
  as(main_id);
  uint32_t asleep = atomic_load(&pool_record()->signal);
  CHECK(plait_worker_drain(worker) == 1 && atomic_load(&pool_record()->signal) != asleep);
  as(worker);
  CHECK(finish_and_next(task) == PLAIT_NEXT_STOP && plait_task_next(0, 0) == PLAIT_NEXT_STOP);
  CHECK(plait_worker_park_begin() == 0);
  as(main_id);
  CHECK(plait_abi_recover(worker) == 0 && plait_worker_drain(worker) == 0);
  CHECK(drain(client, PLAIT_STATUS_FULFILLED, NULL) == 2);
  worker = new_worker(); /* the same slot */
  as(worker);
  CHECK(plait_task_next(0, 0) > PLAIT_NEXT_RETRY);
  end_worker(worker);
  nothing_left(0);
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
  CHECK(plait_task_finish(tasks[2]) == 0 && plait_task_finish(tasks[0]) == 0 &&
      plait_task_finish(tasks[0]) == -PLAIT_EINVAL);
  as(main_id);
  CHECK(drain(client, 0, NULL) == 3);
  CHECK(plait_pool_destroy(pool) == -PLAIT_EAGAIN);
  plait_ref_t left = plait_abi_recover(worker);
  CHECK((left == tasks[3] || left == tasks[1]) && plait_task_finish(left) == 0);
  CHECK((atomic_load(&plait_slot_of(worker)->generation_state) & 255u) == PLAIT_SLOT_EXITED);
  left = plait_abi_recover(worker);
  CHECK(left != 0 && plait_task_finish(left) == 0 && plait_abi_recover(worker) == 0);
  CHECK((atomic_load(&plait_slot_of(worker)->generation_state) & 255u) == PLAIT_SLOT_FREE);
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
  plait_ref_t parent = plait_task_next(0, 0), own = plait_client_create(pool), place = plait_pool_place(pool, 3);
  plait_worker_take_place(place);
  submit(own, 10), submit_as(own, 11, 0, 0), submit_as(own, 12, 3, place);
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

/* A draining worker still takes the tasks that its own task awaits; a stopping worker does not. */
static void test_draining_help(void) {
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
      CHECK(plait_worker_poll(worker, 1000) == PLAIT_POLL_STOP_REQUESTED &&
          plait_worker_poll(worker, 1010) == PLAIT_POLL_OVERDUE);
    }
    CHECK(plait_worker_drain(worker) == 1); /* does not lower the stop state */
    CHECK(plait_pool_end(pool, PLAIT_POOL_CLOSING) == 0);
    plait_ref_t late = build(client, 3);
    CHECK(plait_task_submit(late) == -PLAIT_EPIPE);
    plait_task_discard(late);
    as(worker);
    submit(own, 2); /* the task may go on, and so it may do that */
    CHECK(plait_task_next(0, 0) == PLAIT_NEXT_STOP);
    for (uint32_t i = 1; i < 3; i++) {
      plait_ref_t inner = plait_task_help(own);
      CHECK(is_late ? inner == PLAIT_NEXT_NONE
                    : atomic_load(&record(inner)->ticket) == i && plait_task_finish(inner) == 0);
    }
    CHECK(plait_task_finish(outer) == 0 && drain(own, 0, NULL) == (is_late ? 0 : 2));
    as(main_id);
    end_worker(worker);
    CHECK(drain(client, 0, NULL) == 1);
    nothing_left(0);
  }
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
  for (int attempt = 0; attempt < 3; attempt++) {
    as(worker);
    CHECK(plait_task_next(0, 0) == task); /* in front again */
    plait_ref_t message = plait_task_create(client, 10);
    atomic_store(&record(message)->ticket, 7), atomic_store(&record(message)->output_status, PLAIT_STATUS_PROGRESS);
    CHECK(plait_task_emit(message) == 0 && atomic_load(&plait_self()->building) == 0);
    plait_ref_t at = plait_task_output(task, 8);
    CHECK((at != task + sizeof(struct plait_task)) == (attempt < 2)); /* the input is kept while it may be needed */
    as(main_id);
    CHECK(plait_abi_recover(worker) == task);
    for (int i = 0; i < 3000; i++) CHECK(((uint8_t *)plait_at(input))[i] == 9);
    if (attempt < 2) CHECK(plait_task_requeue(task) == 0 && plait_abi_check(1) == 0);
    else CHECK(plait_task_requeue(task) == -PLAIT_EINVAL && plait_task_finish(task) == 0);
    if (attempt < 2) worker = new_worker();
  }
  CHECK(atomic_load(&pool_record()->finished) == 1);
  plait_ref_t next;
  uint32_t messages = 0;
  for (plait_ref_t done = plait_client_drain(client); done != 0; done = next) {
    next = atomic_load(&record(done)->next);
    CHECK(atomic_load(&record(done)->ticket) == 7);
    if (atomic_load(&record(done)->output_status) == PLAIT_STATUS_PROGRESS) messages++;
    else CHECK(next == 0 && messages == 3);
    plait_task_free(done);
  }
  worker = new_worker();
  takes(worker, (const uint32_t[]){8}, 1);
  end_worker(worker);
  drain(client, 0, NULL);
  nothing_left(0);
}

static const struct test tests[] = {
    {"draining workers take no more", test_drain},
    {"a spinner need not be woken", test_spinner},
    {"a worker that has found a task", test_found},
    {"none means that nothing is queued", test_none},
    {"late tasks get a stop request, then count as overdue", test_poll},
    {"a worker holds several tasks", test_hold},
    {"a worker helps with its own tasks", test_help},
    {"progress comes before the end; retries keep the input", test_progress_and_retries},
    {"a draining worker helps its own tasks", test_draining_help},
};
TEST_MAIN(tests)
