/*
 * threads of a pool: real threads submit, work, sleep and wake while the pool ends. Invariant: every accepted task
 * comes back once. A lost wake-up runs into the deadline.
 */
#include "task_world.h"

static uint32_t each;  /* tasks of one submitter */
static uint32_t spins; /* polls of an idle worker before it sleeps */

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

static uint32_t window; /* most outstanding tasks of a submitter */

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
  CHECK(atomic_load(&pool_record()->sleepers) == 0 && atomic_load(&pool_record()->spinner) == 0);
  nothing_left(0);
}

static void test_flood(void) {
  each = test_work(67000), window = each;
  run(3, 3);
}

static void test_small_queues(void) { /* mostly asleep: every step is a wake-up */
  static const uint32_t spin_counts[] = {0, 1, 300};
  for (int i = 0; i < 3; i++) {
    spins = spin_counts[i];
    each = test_work(10000), window = 1;
    run(1, 1);
    run(1, 3);
    each = test_work(5000), window = 2;
    run(3, 4);
  }
}

/* Pools end while threads submit and take: every accepted task comes back. */
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
    {"threads flood the queue", test_flood},
    {"threads sleep and wake", test_small_queues},
    {"pools end under load", test_closing_race},
};
TEST_MAIN(tests)
