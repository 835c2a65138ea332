/*
 * task abort: tasks that leave the queue because their client no longer wants the result. The queue is compared with a
 * list; test_crash_points_task tests exits.
 */
#include "task_world.h"

/* An aborted task leaves the queue at once, at any position, and makes room. */
static void test_abort(void) {
  open_pool();
  atomic_store(&pool_record()->queue_limit, 4);
  plait_thread_t worker = new_worker();
  plait_ref_t tasks[4], place = plait_pool_place(pool, 0);
  as(worker), plait_worker_take_place(place), as(main_id);
  for (uint32_t i = 0; i < 4; i++) tasks[i] = submit_as(client, i, 3, i == 3 ? place : 0);
  plait_ref_t late = build(client, 4);
  CHECK(plait_task_submit(late) == -PLAIT_EAGAIN);
  CHECK(plait_task_abort(tasks[1]) == 1 && plait_task_abort(tasks[1]) == 0 && plait_task_abort(tasks[3]) == 1);
  CHECK(atomic_load(&pool_record()->queued) == 2 && plait_abi_check(1) == 0);
  CHECK(plait_task_submit(late) == 0);
  uint64_t sum = 0;
  CHECK(drain(client, PLAIT_STATUS_STOPPED, &sum) == 2 && sum == 1 + 3);
  takes(worker, (uint32_t[]){0, 2, 4}, 3);
  as(worker); /* a running task stays where it is */
  CHECK(plait_task_next(0, 0) == PLAIT_NEXT_NONE);
  as(main_id), tasks[0] = submit_as(client, 5, 0, 0);
  as(worker);
  uint32_t task = plait_task_next(0, 0);
  as(main_id);
  CHECK(task == tasks[0] && plait_task_abort(task) == 0 && atomic_load(&record(task)->control) == PLAIT_STOP_ABORT);
  as(worker);
  CHECK(finish_and_next(task) == PLAIT_NEXT_NONE);
  as(main_id);
  CHECK(plait_task_abort(task) == 0); /* nor a task in the inbox */
  CHECK(drain(client, PLAIT_STATUS_FULFILLED, NULL) == 4 && atomic_load(&pool_record()->finished) == 6);
  end_worker(worker);
  nothing_left(0);
}

/* All queued tasks return to their clients, but those that a worker of the pool has submitted. */
static void test_cancel_queued(void) {
  open_pool();
  plait_thread_t worker = new_worker();
  plait_ref_t place = plait_pool_place(pool, 0), inner;
  as(worker), plait_worker_take_place(place), inner = plait_client_create(pool);
  submit(inner, 7), submit_as(inner, 8, 3, place);
  as(main_id);
  CHECK(plait_pool_cancel_queued(pool) == 0);
  for (uint32_t i = 0; i < 5; i++) submit_as(client, i, i, i == 4 ? place : 0);
  CHECK(plait_pool_cancel_queued(pool) == 5 && atomic_load(&pool_record()->queued) == 2 && plait_abi_check(1) == 0);
  CHECK(drain(client, PLAIT_STATUS_STOPPED, NULL) == 5 && atomic_load(&pool_record()->aborted) == 5);
  submit(client, 9);
  CHECK(plait_pool_end(pool, PLAIT_POOL_CLOSING) == 0 && plait_pool_cancel_queued(pool) == 1);
  CHECK(drain(client, PLAIT_STATUS_POOL_CLOSED, NULL) == 1);
  as(worker);
  uint32_t task = finish_and_next(0);
  CHECK(atomic_load(&record(task)->ticket) == 8); /* its worker queue's comes first */
  task = finish_and_next(task);
  CHECK(atomic_load(&record(task)->ticket) == 7 && finish_and_next(task) == PLAIT_NEXT_STOP);
  CHECK(drain(inner, PLAIT_STATUS_FULFILLED, NULL) == 2);
  as(main_id);
  end_worker(worker);
  nothing_left(0);
}

/* A task that is aborted between its worker's exit and its second run does not return to the queue. */
static void test_abort_before_requeue(void) {
  open_pool();
  plait_thread_t worker = new_worker();
  plait_ref_t task = build(client, 1);
  atomic_store(&record(task)->retries, 1);
  CHECK(plait_task_submit(task) == 0);
  as(worker);
  CHECK(plait_task_next(0, 0) == task);
  plait_thread_note_exit(worker), as(main_id);
  CHECK(plait_abi_recover(worker) == task && plait_task_abort(task) == 0);
  CHECK(plait_task_requeue(task) == -PLAIT_EINVAL && atomic_load(&pool_record()->queued) == 0);
  CHECK(plait_task_finish(task) == 0 && drain(client, PLAIT_STATUS_WORKER_DIED, NULL) == 1);
  nothing_left(0);
}

static uint32_t ring_capacity(void) {
  struct plait_ring *ring = plait_at(atomic_load(&((struct plait_client *)plait_at(client))->queues[3].ring));
  return atomic_load(&ring->capacity);
}

/* However many tasks come and go behind a waiting one, a ring does not grow for holes. */
static void test_window(void) {
  enum { WINDOW = 20 };
  open_pool();
  submit_as(client, 0, 3, 0);
  plait_ref_t tasks[WINDOW] = {0};
  for (uint32_t i = 0; i < 5000; i++) {
    plait_ref_t oldest = tasks[i % WINDOW];
    tasks[i % WINDOW] = submit_as(client, i + 1, 3, 0);
    if (oldest != 0) CHECK(plait_task_abort(oldest) == 1);
    if (i % 100 == 0) drain(client, PLAIT_STATUS_STOPPED, NULL);
  }
  CHECK(ring_capacity() == 64 && plait_abi_check(1) == 0);
  for (uint32_t i = WINDOW; i-- > 0;) CHECK(plait_task_abort(tasks[i]) == 1);
  CHECK(atomic_load(&pool_record()->queued) == 1);
  plait_thread_t worker = new_worker();
  takes(worker, (uint32_t[]){0}, 1);
  drain(client, 0, NULL);
  end_worker(worker);
  nothing_left(0);
}

/* As if so many tasks had passed through the queue that its positions are about to wrap. */
static void age(struct plait_queue *queue) {
  atomic_store(&queue->head, UINT32_MAX - 1000), atomic_store(&queue->tail, UINT32_MAX - 1000);
}

/* Submitting, aborting, taking and putting back in any order, against a list. */
static void test_abort_at_random(void) {
  enum { MOST = 300 };
  open_pool();
  plait_thread_t worker = new_worker();
  plait_ref_t list[MOST], place = plait_pool_place(pool, 0);
  as(worker), plait_worker_take_place(place), as(main_id);
  age(&((struct plait_client *)plait_at(client))->queues[3]),
      age(&((struct plait_worker_place *)plait_at(place))->queue);
  uint64_t random = test_seed;
  uint32_t count = 0, ends = 0, sent = 0;
  for (uint32_t round = 0; round < test_work(200000); round++) {
    uint32_t what = (uint32_t)test_random(&random) % 16, phase = round / 1000 % 3; /* growing, steady, shrinking */
    if (what < (phase == 0 ? 9 : phase == 1 ? 7 : 5)) {
      if (count == MOST) continue;
      list[count++] = submit_as(client, sent++, 3, phase == 1 ? place : 0);
    } else if (count == 0) {
      continue;
    } else if (what < 14 || phase == 1) {
      /* half of the rounds leave the oldest in place, as if all workers were busy */
      uint32_t which = (uint32_t)test_random(&random) % count;
      if (which == 0 && count > 1 && round / 3000 % 2 == 0) which = 1;
      CHECK(plait_task_abort(list[which]) == 1);
      ends++;
      memmove(&list[which], &list[which + 1], (--count - which) * sizeof *list);
    } else {
      as(worker);
      plait_ref_t task = plait_task_next(0, 0);
      uint32_t which = 0;
      while (which < count && list[which] != task) which++;
      CHECK(which < count);
      for (uint32_t i = 0; i < which; i++) /* those before it wait on the other queue */
        CHECK((atomic_load(&record(list[i])->place) != 0) != (atomic_load(&record(task)->place) != 0));
      if (what == 15) {
        atomic_store(&record(task)->retries, 1);
        plait_thread_note_exit(worker), as(main_id);
        CHECK(plait_abi_recover(worker) == task && plait_task_requeue(task) == 0);
        worker = new_worker();
        as(worker), plait_worker_take_place(place);
      } else {
        CHECK(plait_task_finish(task) == 0);
        ends++;
        memmove(&list[which], &list[which + 1], (--count - which) * sizeof *list);
      }
      as(main_id);
    }
    CHECK(atomic_load(&pool_record()->queued) == count);
    if (round % 64 == 0) {
      CHECK(plait_abi_check(0) == 0);
      ends -= drain(client, 0, NULL);
      CHECK(ends == 0);
    }
  }
  CHECK(ring_capacity() <= 4 * MOST);
  CHECK(plait_pool_end(pool, PLAIT_POOL_CLOSED) == 0 && drain(client, 0, NULL) == count + ends);
  end_worker(worker);
  nothing_left(0);
}

static const struct test tests[] = {
    {"aborted tasks leave the queue", test_abort},
    {"an aborted task is not run again", test_abort_before_requeue},
    {"queued tasks are cancelled, but not those of running ones", test_cancel_queued},
    {"holes do not make a ring grow", test_window},
    {"tasks leave the queue in any order", test_abort_at_random},
};
TEST_MAIN(tests)
