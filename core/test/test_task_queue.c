/*
 * task queue: the order in which tasks are taken, and the limits of a queue, an inbox and the memory. Invariant: each
 * task that is taken comes back once, and a full limit is reported.
 */
#include "task_world.h"

static void test_order(void) {
  open_pool();
  plait_thread_t worker = new_worker();
  uint32_t submitted = 0, taken = 0;
  uint64_t random = test_seed;
  for (int round = 0; round < 30; round++) { /* rings grow while their cells wrap */
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
      atomic_store(&plait_self()->stop_state, 1); /* deliver, and take none */
      CHECK(plait_task_next(task, 1) == PLAIT_NEXT_STOP);
      atomic_store(&plait_self()->stop_state, 0);
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
  for (uint32_t i = 1; (task = finish_and_next(task)) != PLAIT_NEXT_NONE; i++)
    at[atomic_load(&record(task)->ticket)] = i;
  as(main_id);
  CHECK(at[20] <= 3 && at[30] <= 3 && at[21] <= 6 && at[31] == 10);
  for (uint32_t i = 1; i < 6; i++) CHECK(at[i] > at[i - 1]);
  CHECK(drain(client, 0, NULL) == 6 && drain(other, 0, NULL) == 2 && drain(third, 0, NULL) == 2);
  end_worker(worker);
  nothing_left(0);
}

static void test_worker_queues(void) {
  open_pool();
  plait_thread_t worker = new_worker(), second = new_worker();
  plait_ref_t place = plait_pool_place(pool, 0), free_place = plait_pool_place(pool, 255);
  CHECK(place != 0 && free_place != 0 && plait_pool_place(pool, 0) == place);
  as(worker);
  plait_worker_take_place(place);
  CHECK(plait_worker_park_begin() != 0);
  plait_worker_park_end();
  as(second);
  plait_worker_take_place(free_place);
  as(main_id);
  submit_as(client, 1, 4, 0), submit_as(client, 2, 3, place), submit_as(client, 3, 0, place),
      submit_as(client, 4, 2, 0);
  submit_as(client, 5, 3, free_place);
  as(worker);
  CHECK(plait_worker_park_begin() == 0);
  as(main_id);
  for (uint32_t i = 10; i < 210; i++) submit_as(client, i, 6, place); /* its ring grows */
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
  submit_as(client, 6, 3, place); /* goes with the pool */
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
  as(worker); /* it may await tasks of its own: they are taken, however many are queued */
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

/* Undrained progress is refused when it becomes too much; a single message may have any size. */
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
    CHECK(
        sent > PLAIT_PROGRESS_LIMIT / (sizes[round] * 2 + 1000) && sent < PLAIT_PROGRESS_LIMIT / (sizes[round] + 100));
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

static plait_ref_t output_for(plait_ref_t of) {
  plait_ref_t piece = plait_task_create(of, 10);
  CHECK(piece != 0);
  atomic_store(&((struct plait_task *)plait_at(piece))->output_status, PLAIT_STATUS_OUTPUT);
  return piece;
}

/* Output to a closed client is refused, not discarded, so that the worker can write it elsewhere. */
static void test_output_refused(void) {
  open_pool();
  plait_thread_t worker = new_worker(), other = plait_slot_claim(0);
  as(other);
  plait_ref_t its = plait_client_create(pool);
  as(worker);
  CHECK(plait_task_emit(output_for(its)) == 0);
  as(other);
  CHECK(plait_client_close(its) == 0);
  as(worker);
  plait_ref_t unread = output_for(its);
  CHECK(plait_task_emit(unread) == -PLAIT_EPIPE);
  as(other);
  CHECK(drain(its, PLAIT_STATUS_OUTPUT, NULL) == 1);
  as(worker);
  CHECK(plait_task_emit(unread) == -PLAIT_EPIPE);
  as(other);
  CHECK(plait_client_release(its) == 0);
  as(worker);
  CHECK(plait_task_emit(unread) == -PLAIT_EPIPE);
  plait_task_discard(unread);
  as(main_id);
  plait_abi_recover(other);
  end_worker(worker);
  nothing_left(0);
}

static const struct test tests[] = {
    {"first in, first out, through growing rings", test_order},
    {"drained tasks are freed in any order", test_free_order},
    {"memory is full", test_no_memory},
    {"the urgent first, clients in turn", test_priorities},
    {"a worker index has a queue of its own", test_worker_queues},
    {"a queue has a limit", test_limit},
    {"undelivered progress is bounded", test_progress_limit},
    {"output to a closed client is refused", test_output_refused},
};
TEST_MAIN(tests)
