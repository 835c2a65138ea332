/*
 * kill: processes share a space and are killed at random instants while they work: workers, submitters, users of the
 * heap and of a lock, and helping recoverers. The test's own process survives, submits, and recovers. It checks that
 * every task of a live client comes back exactly once, that no process hangs, and that an exit loses at most one block.
 */
#include "harness.h"

#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { CHILDREN = 8, HELD = 64, TICKETS = 1 << 22, DEADLINE_MS = 15000 };

/* Data that the processes share beside the space. */
struct child {
  _Atomic uint32_t blocks[HELD]; /* a heap user's blocks: entered after an allocation, cleared before a free */
  _Atomic uint32_t steps;
};
struct page {
  struct child children[CHILDREN];
  _Atomic uint32_t stop, errors;
  struct plait_lock lock;
  _Atomic uint32_t inside; /* the thread that holds the lock */
};
static struct page *page;
static plait_ref_t pool, client, lock_block;

static struct plait_lock *lock(void) { return plait_at(lock_block); }

static struct plait_task *record(plait_ref_t task) { return plait_at(task); }

static void fail(const char *what) {
  struct plait_heap_stats stats;
  plait_heap_stats(&stats);
  fprintf(stderr, "%llu of %llu KiB used; %u blocks; %u tasks; ", (unsigned long long)stats.used_bytes >> 10,
      (unsigned long long)stats.reserved_bytes >> 10, stats.live_blocks, page->children[2].steps);
  fprintf(stderr, "%s; seed %llu; %s\n", what, (unsigned long long)test_seed, test_context);
  atomic_fetch_add(&page->errors, 1);
  _exit(1);
}

/* ---- the children ---- */

static void use_lock(struct child *self) {
  while (!atomic_load(&page->stop)) {
    int rc = plait_lock_acquire(lock());
    if (rc < 0) fail("the lock timed out");
    plait_thread_t before = atomic_exchange(&page->inside, plait_self_id());
    if (before != 0 && rc != PLAIT_LOCK_TAKEN_OVER) fail("two threads are inside the lock");
    atomic_store(&page->inside, 0);
    plait_lock_release(lock());
    atomic_fetch_add(&self->steps, 1);
  }
}

/* The byte that fills a block with a usable size of `size` bytes. */
static void check_bytes(plait_ref_t block, uint32_t size) {
  const uint8_t *bytes = plait_at(block);
  for (uint32_t i = 0; i < size; i++)
    if (bytes[i] != (uint8_t)(size >> 4)) fail("a block's bytes have changed");
}

/* Most blocks are freed by a process other than the allocating one. Each process holds at most one unrecorded block. */
static void use_heap(struct child *self, uint64_t random) {
  while (!atomic_load(&page->stop)) {
    _Atomic uint32_t *place = &page->children[test_random(&random) % CHILDREN].blocks[test_random(&random) % HELD];
    plait_ref_t block = atomic_exchange(place, 0);
    uint32_t kind = test_random(&random) % 32;
    uint32_t size = test_random(&random) % (kind == 0 ? 200000 : kind < 8 ? 9000 : 300);
    if (block != 0) {
      uint32_t had = plait_heap_size(block);
      if (had == 0) fail("a live block is unknown");
      check_bytes(block, had);
      if (kind % 4 == 0) {
        plait_ref_t moved = plait_heap_realloc(block, size);
        if (moved == 0) fail("no memory");
        block = moved;
      } else {
        if (plait_heap_free(block) != 0) fail("a live block cannot be freed");
        block = 0;
      }
    }
    if (block == 0) block = kind % 5 == 1 ? plait_heap_alloc_aligned(size, 16u << kind % 9) : plait_heap_alloc(size);
    if (block == 0) fail("no memory");
    uint32_t has = plait_heap_size(block);
    memset(plait_at(block), (uint8_t)(has >> 4), has);
    uint32_t none = 0;
    if (!atomic_compare_exchange_strong(place, &none, block) && plait_heap_free(block) != 0)
      fail("a live block cannot be freed");
    atomic_fetch_add(&self->steps, 1);
  }
}

static void work(struct child *self, uint64_t random) {
  plait_worker_enter(pool);
  plait_ref_t held[3];
  uint32_t holds = 0;
  for (uint32_t task = 0, finished = 0;; finished = 0) {
    /* nothing runs: one that was put aside ends, any of them */
    if (holds > 0 && (task == PLAIT_NEXT_NONE || holds == 3)) {
      uint32_t which = test_random(&random) % holds;
      if (task > PLAIT_NEXT_RETRY) {
        atomic_store(&record(task)->output_status, PLAIT_STATUS_FULFILLED);
        if (plait_task_finish(task) != 0) fail("a task that runs cannot be finished");
      }
      atomic_store(&record(held[which])->output_status, PLAIT_STATUS_FULFILLED);
      if (plait_task_finish(held[which]) != 0) fail("a task that is held cannot be finished");
      held[which] = held[--holds];
      task = PLAIT_NEXT_NONE;
    } else if (task > PLAIT_NEXT_RETRY && test_random(&random) % 4 == 0) {
      if (plait_task_hold() != 0) fail("a task cannot be held");
      held[holds++] = task;
    } else if (task > PLAIT_NEXT_RETRY) {
      if (test_random(&random) % 8 == 0)
        usleep(test_random(&random) % 1000); /* so that many are killed inside a task */
      uint32_t size = test_random(&random) % 16 == 0 ? 500 : 8;
      plait_ref_t at = plait_task_output(task, size);
      if (at != 0) memset(plait_at(at), 1, size);
      atomic_store(&record(task)->output_status, at == 0 ? PLAIT_STATUS_NO_MEMORY : PLAIT_STATUS_FULFILLED);
      finished = task;
    }
    task = plait_task_next(finished, 1);
    if (task == PLAIT_NEXT_RETRY) fail("the lock of a pool timed out");
    if (task == PLAIT_NEXT_STOP) return;
    /* A lost wake-up shows as a late task. A worker that still holds tasks has something to do. */
    if (task == PLAIT_NEXT_NONE && holds == 0) plait_worker_wait(DEADLINE_MS, 30);
    atomic_fetch_add(&self->steps, 1);
  }
}

/* Drains one of the caller's clients: every ticket below `sent` once. Returns the number of tasks. */
static uint32_t drain(plait_ref_t of, uint8_t *seen, uint32_t sent, uint32_t *exited) {
  uint32_t count = 0;
  for (plait_ref_t task = plait_client_drain(of), next; task != 0; task = next, count++) {
    next = atomic_load(&record(task)->next);
    uint32_t ticket = atomic_load(&record(task)->ticket), status = atomic_load(&record(task)->output_status);
    if (ticket >= sent || seen[ticket]++ != 0) fail("a task came back twice");
    if (status != PLAIT_STATUS_FULFILLED && status != PLAIT_STATUS_WORKER_DIED) fail("a task has a wrong status");
    if (status == PLAIT_STATUS_WORKER_DIED) ++*exited;
    plait_task_free(task);
  }
  return count;
}

static int submit(plait_ref_t of, uint32_t ticket) {
  plait_ref_t task = plait_task_create(of, ticket % 4 * 700);
  if (task == 0) return 0;
  atomic_store(&record(task)->ticket, ticket);
  atomic_store(&record(task)->priority, ticket % PLAIT_PRIORITY_COUNT);
  atomic_store(&record(task)->retries, ticket % 5 == 0);
  if (plait_task_submit(task) == 0) return 1;
  plait_task_discard(task);
  return 0;
}

/* Waits until the inbox is not empty. A lost wake-up or task becomes a failure. */
static void await(plait_ref_t of) {
  struct plait_client *it = plait_at(of);
  uint64_t start = test_now_ms();
  for (;;) {
    uint32_t signal = atomic_load(&it->signal);
    if (atomic_load(&it->inbox) != 0) return;
    if (test_now_ms() - start > DEADLINE_MS / 2) fail("no task comes back");
    plait_platform_wait(&it->signal, signal, (int64_t)DEADLINE_MS * 500000);
  }
}

static void submit_and_drain(struct child *self, uint64_t random) {
  uint8_t *seen = calloc(TICKETS, 1);
  plait_ref_t own = plait_client_create(pool);
  if (seen == NULL || own == 0) _exit(0);
  uint32_t sent = 0, back = 0, exited = 0;
  while (!atomic_load(&page->stop) && sent < TICKETS - 200) {
    uint32_t more = test_random(&random) % 8 == 0 ? test_random(&random) % 150 : 1;
    if (sent - back > 1000) more = 0; /* the others are slow */
    for (; more > 0; more--) sent += submit(own, sent);
    if (sent != back) await(own);
    back += drain(own, seen, sent, &exited);
    atomic_fetch_add(&self->steps, 1);
  }
  for (; back < sent; back += drain(own, seen, sent, &exited)) await(own);
}

static void help(plait_thread_t victim) {
  for (plait_ref_t task; (task = plait_abi_recover(victim)) != 0;)
    if (plait_abi_settle(task) != 0) return;
}

/* ---- the surviving process ---- */

struct process {
  pid_t pid;
  plait_thread_t thread;
};
static struct process processes[CHILDREN];

static struct process start(uint32_t index, plait_thread_t victim, uint64_t random) {
  struct process child = {.thread = plait_slot_claim(0)};
  if (child.thread == 0) fail("no slot is free");
  fflush(NULL);
  if ((child.pid = fork()) != 0) return child;
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves no process behind */
#endif
  plait_slot_enter(child.thread, 1);
  struct child *self = &page->children[index % CHILDREN];
  if (victim != 0) help(victim);
  else if (index == 0) use_lock(self);
  else if (index == 1) use_heap(self, random);
  else if (index == 2) submit_and_drain(self, random);
  else if (index >= 6) use_heap(self, random);
  else work(self, random);
  _exit(0);
}

static void kill_process(struct process *process) {
  kill(process->pid, SIGKILL);
  if (waitpid(process->pid, NULL, 0) != process->pid) fail("waitpid");
}

static void free_held(void) {
  for (int i = 0; i < CHILDREN * HELD; i++) {
    plait_ref_t block = atomic_exchange(&page->children[i / HELD].blocks[i % HELD], 0);
    if (block != 0 && plait_heap_free(block) != 0) fail("an exited thread's block cannot be freed");
  }
}

static void test_kill(void) {
  page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  uint32_t rounds = test_rounds(400);
  /* an exit loses the block in flight, most often one that takes long to fill */
  test_space(1024 + rounds * 2);
  CHECK((pool = plait_pool_create()) != 0 && (client = plait_client_create(pool)) != 0);
  CHECK((lock_block = plait_heap_alloc(sizeof(struct plait_lock))) != 0);
  memset(lock(), 0, sizeof(struct plait_lock));
  uint8_t *seen = calloc(TICKETS, 1);
  uint64_t random = test_seed;
  uint32_t sent = 0, back = 0, exited = 0, kills = 0;
  for (uint32_t i = 0; i < CHILDREN; i++) processes[i] = start(i, 0, test_random(&random));
  for (uint32_t round = 0; round < rounds; round++) {
    snprintf(test_context, sizeof test_context, "round %u", round);
    for (uint32_t n = test_random(&random) % 20; n > 0 && sent < TICKETS; n--) sent += submit(client, sent);
    usleep(test_random(&random) % 3000);
    uint32_t index = test_random(&random) % CHILDREN;
    struct process *victim = &processes[index];
    kill_process(victim), kills++;
    if (test_random(&random) % 3 == 0) { /* another process recovers, and may be killed meanwhile */
      struct process helper = start(CHILDREN, victim->thread, 0);
      usleep(test_random(&random) % 700);
      kill_process(&helper), kills++;
      plait_thread_note_exit(victim->thread); /* the helper may not have got that far */
      help(helper.thread);
    }
    help(victim->thread);
    if (plait_abi_check(0) != 0) fail("a structure is broken");
    back += drain(client, seen, sent, &exited);
    processes[index] = start(index, 0, test_random(&random));
    if (round % 16 == 0)
      for (; back < sent; back += drain(client, seen, sent, &exited)) await(client);
    CHECK(atomic_load(&page->errors) == 0);
  }
  atomic_store(&page->stop, 1); /* all end normally, the submitter after its last task */
  for (; back < sent; back += drain(client, seen, sent, &exited)) await(client);
  for (int i = 0; i < CHILDREN; i++) {
    if (i == 3) CHECK(plait_pool_end(pool, PLAIT_POOL_CLOSING) == 0);
    int status = 0;
    waitpid(processes[i].pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    help(processes[i].thread);
  }
  CHECK(back == sent && drain(client, seen, sent, &exited) == 0);
  free_held();
  CHECK(plait_pool_destroy(pool) == 0 && plait_heap_free(lock_block) == 0);
  uint32_t live = test_live_blocks();
  printf("# %u kills, %u tasks of live clients (%u with an exited worker), %u blocks lost; steps", kills, sent, exited,
      live);
  for (int i = 0; i < CHILDREN; i++) printf(" %u", atomic_load(&page->children[i].steps));
  printf("\n");
  CHECK(live <= kills && plait_abi_check(1) == 0);
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++)
    CHECK(i == (plait_self_id() & 255u) ||
        (atomic_load(&plait_space()->slots[i].generation_state) & 255u) == PLAIT_SLOT_FREE);
}

static const struct test tests[] = {{"processes are killed anywhere", test_kill}};
TEST_MAIN(tests)
