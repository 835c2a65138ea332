/*
 * task world: a pool with a client for the tests of the task module. One thread acts as several, so that everything
 * happens in one order.
 *
 * Invariant: the calling thread acts as `main_id` until as() changes that. new_worker(), takes() and end_worker()
 * return to it.
 */
#ifndef PLAIT_TEST_TASK_WORLD_H
#define PLAIT_TEST_TASK_WORLD_H

#include "harness.h"

static plait_thread_t main_id;
static plait_ref_t pool, client;

static inline struct plait_task *record(plait_ref_t task) { return plait_at(task); }

static inline struct plait_pool *pool_record(void) { return plait_at(pool); }

static inline void as(plait_thread_t thread) { plait_slot_enter(thread, 1); }

static inline plait_thread_t new_worker(void) {
  plait_thread_t worker = plait_slot_claim(0);
  CHECK(worker != 0);
  as(worker);
  plait_worker_enter(pool);
  as(main_id);
  return worker;
}

static inline void open_pool(void) {
  main_id = test_space(2048);
  CHECK((pool = plait_pool_create()) != 0 && (client = plait_client_create(pool)) != 0);
}

static inline plait_ref_t build(plait_ref_t of, uint32_t ticket) {
  plait_ref_t task = plait_task_create(of, 0);
  CHECK(task != 0);
  atomic_store(&record(task)->ticket, ticket);
  return task;
}

static inline void submit(plait_ref_t of, uint32_t ticket) { CHECK(plait_task_submit(build(of, ticket)) == 0); }

static inline plait_ref_t submit_as(plait_ref_t of, uint32_t ticket, uint32_t priority, plait_ref_t place) {
  plait_ref_t task = build(of, ticket);
  atomic_store(&record(task)->priority, priority), atomic_store(&record(task)->place, place);
  CHECK(plait_task_submit(task) == 0);
  return task;
}

/* Drains `of` and returns how many tasks came, each with `status` (0: any). Adds up their tickets in `sum`. */
static inline uint32_t drain(plait_ref_t of, uint32_t status, uint64_t *sum) {
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

static inline uint32_t finish_and_next(uint32_t task) {
  if (task > PLAIT_NEXT_RETRY) atomic_store(&record(task)->output_status, PLAIT_STATUS_FULFILLED);
  return plait_task_next(task > PLAIT_NEXT_RETRY ? task : 0, 1);
}

/* Checks the order in which the worker takes all that is queued in the pool. */
static inline void takes(plait_thread_t worker, const uint32_t *tickets, uint32_t count) {
  as(worker);
  uint32_t task = 0;
  for (uint32_t i = 0; i < count; i++) {
    task = finish_and_next(task);
    CHECK(task > PLAIT_NEXT_RETRY);
    if (atomic_load(&record(task)->ticket) != tickets[i])
      fprintf(stderr, "%u: %u\n", i, atomic_load(&record(task)->ticket));
    CHECK(atomic_load(&record(task)->ticket) == tickets[i]);
  }
  CHECK(finish_and_next(task) == PLAIT_NEXT_NONE && atomic_load(&pool_record()->queued) == 0);
  as(main_id);
}

static inline void nothing_left(uint32_t blocks) {
  plait_abi_sweep();
  CHECK(plait_pool_destroy(pool) == 0 && plait_pool_destroy(pool) == -PLAIT_EINVAL);
  plait_abi_sweep(); /* the workers have no coordinator now */
  CHECK(test_live_blocks() == blocks && plait_abi_check(1) == 0);
}

static inline void end_worker(plait_thread_t worker) {
  as(worker);
  plait_abi_detach();
  as(main_id);
}

#endif
