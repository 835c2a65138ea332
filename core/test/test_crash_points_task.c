/*
 * crash points of the task module: a thread exits after every single store of an operation (see single_step.h). The
 * recovering thread exits after every store of the recovery. Afterwards every task has come back exactly once, at most
 * one block is lost for each exit, all structures are valid, and nothing hangs.
 *
 * Default: every crash point of each operation, and of recoveries after some of them. PLAIT_ROUNDS: all of them.
 */
#include "single_step.h"

#ifdef SINGLE_STEP

#define PAGES 40u
#define TASKS 200u

/* ---- the world that operations run in ---- */

static plait_thread_t main_id, worker, victim;
static plait_ref_t pool, client, other_client, actor_client, actor_pool, actor_task, actor_place, some_block;
static uint32_t tickets;    /* tasks of the main thread's client */
static int victim_is_stuck; /* the victim has not exited, but is a detached worker */
static uint32_t held;       /* blocks that only the operation holds: an exit loses them, too */

static void as(plait_thread_t thread) { plait_slot_enter(thread, 1); }

static plait_ref_t make_task(plait_ref_t of, uint32_t ticket) {
  plait_ref_t task = plait_task_create(of, 2000);
  CHECK(task != 0);
  atomic_store(&((struct plait_task *)plait_at(task))->ticket, ticket);
  return task;
}

static void submit(plait_ref_t of, uint32_t ticket) { CHECK(plait_task_submit(make_task(of, ticket)) == 0); }

#define MESSAGE (TASKS - 1) /* the ticket of progress messages, which complete no task */

static void submit_to_place(plait_ref_t place) {
  as(main_id);
  plait_ref_t task = make_task(client, tickets++);
  atomic_store(&((struct plait_task *)plait_at(task))->place, place);
  CHECK(plait_task_submit(task) == 0);
}

static void submit_main(uint32_t count) {
  as(main_id);
  while (count-- > 0) submit(client, tickets++);
}

static void give_output(plait_ref_t task, uint32_t size) {
  plait_ref_t at = plait_task_output(task, size);
  CHECK(at != 0);
  memset(plait_at(at), 7, size);
  atomic_store(&((struct plait_task *)plait_at(task))->output_status, PLAIT_STATUS_FULFILLED);
}

static void world(void) {
  step_begin(PAGES);
  CHECK(plait_posix_map(1, PAGES) == 0 && plait_abi_init(PAGES) == 0);
  /* Pages of all sizes that the module needs: test_crash_points_heap tests how the heap makes them. */
  static const uint32_t sizes[] = {8, 18, 28, 32, 64, 128, 164, 200, 264, 300, 400, 520, 700, 1100};
  plait_thread_t *ids[] = {&main_id, &actor, &recoverer, &worker, &victim};
  for (int i = 0; i < 5; i++) CHECK((*ids[i] = plait_slot_claim(0)) != 0);
  for (int i = 0; i < 5; i++) {
    as(*ids[i]);
    plait_ref_t blocks[sizeof sizes / sizeof *sizes];
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) CHECK((blocks[k] = plait_heap_alloc(sizes[k])) != 0);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) CHECK(plait_heap_free(blocks[k]) == 0);
  }
  tickets = 0, other_client = 0, actor_client = 0, actor_pool = 0, actor_task = 0, held = 0, victim_is_stuck = 0;
  as(main_id);
  CHECK((pool = plait_pool_create()) != 0);
  CHECK((client = plait_client_create(pool)) != 0);
  as(worker);
  plait_worker_enter(pool);
}

/* Lets the surviving worker empty the queue. */
static void work(void) {
  as(worker);
  plait_ref_t places = atomic_load(&((struct plait_pool *)plait_at(pool))->places); /* its worker has exited */
  plait_ref_t place = atomic_load((plait_word_t *)plait_at(places));
  if (place != 0) plait_worker_take_place(place);
  uint32_t task = atomic_load(&plait_self()->running);
  if (task != 0) give_output(task, 8);
  while ((task = plait_task_next(task, 1)) > PLAIT_NEXT_RETRY) give_output(task, task % 64 == 0 ? 300 : 8);
  CHECK(task != PLAIT_NEXT_RETRY);
}

static void drain_into(uint32_t *seen) {
  as(main_id);
  for (plait_ref_t task = plait_client_drain(client), next; task != 0; task = next) {
    struct plait_task *record = plait_at(task);
    next = atomic_load(&record->next);
    CHECK(atomic_load(&record->state) == PLAIT_TASK_DONE && atomic_load(&record->client) == client);
    uint32_t ticket = atomic_load(&record->ticket), status = atomic_load(&record->output_status);
    CHECK(ticket < TASKS && status != PLAIT_STATUS_NONE);
    if (status != PLAIT_STATUS_DISCARDED) seen[ticket]++;
    plait_task_free(task);
  }
}

/* The detached worker completes its task late, or exits. */
static void end_stuck(int exits) {
  if (exits) {
    as(main_id);
    for (plait_ref_t task; (task = plait_abi_recover(victim)) != 0;) CHECK(plait_task_finish(task) == 0);
    return;
  }
  as(victim);
  plait_ref_t task = atomic_load(&plait_self()->running);
  give_output(task, 8);
  CHECK(plait_task_next(task, 1) == PLAIT_NEXT_STOP);
  while ((task = atomic_load(&plait_self()->holding)) != 0) give_output(task, 8), plait_task_finish(task);
  plait_abi_detach();
}

/* The exits have been noted. `last` is the exited thread to recover explicitly. */
static void aftermath(plait_thread_t last, uint32_t exits, uint32_t variant) {
  int others_first = variant & 1;
  uint32_t seen[TASKS] = {0};
  if (victim_is_stuck && exits == 2) end_stuck(others_first); /* before any recovery; else after it */
  as(main_id);
  if (others_first) { /* another thread takes the lock before recovery does */
    CHECK(plait_task_check() == 0);
    work();
    drain_into(seen);
    as(main_id);
  }
  plait_thread_t exited[] = {last, actor, recoverer, victim};
  for (int i = 0; i < 4; i++) {
    if ((atomic_load(&plait_slot_of(exited[i])->generation_state) & 255u) != PLAIT_SLOT_EXITED) continue;
    for (plait_ref_t task; (task = plait_abi_recover(exited[i])) != 0;) CHECK(plait_task_finish(task) == 0);
  }
  CHECK(plait_task_check() == 0);
  CHECK(plait_heap_check(1) == 0);
  if (victim_is_stuck && exits == 1) end_stuck(others_first);
  struct plait_pool *record = plait_at(pool); /* what an exited thread has begun to end is ended */
  if (atomic_load(&record->state) > PLAIT_POOL_CLOSING) CHECK(atomic_load(&record->queued) == 0);
  work();
  CHECK(atomic_load(&((struct plait_pool *)plait_at(pool))->sleepers) <= exits);
  CHECK(atomic_load(&((struct plait_pool *)plait_at(pool))->spinner) == 0);
  drain_into(seen);
  for (uint32_t i = 0; i < tickets; i++) CHECK(seen[i] == 1);
  as(worker);
  plait_abi_detach();
  as(main_id);
  plait_abi_sweep();
  CHECK(plait_pool_destroy(pool) == 0);
  plait_abi_sweep();
  plait_abi_recover(recoverer), plait_abi_recover(victim);
  if (other_client != 0) CHECK(plait_client_release(other_client) == 0); /* in the actor's pool */
  for (uint32_t i = 0; i < PLAIT_POOL_LIMIT; i++) CHECK(atomic_load(&plait_task_root()->pools[i]) == 0);
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++)
    CHECK(i == (main_id & 255u) || (atomic_load(&plait_space()->slots[i].generation_state) & 255u) == PLAIT_SLOT_FREE);
  CHECK(atomic_load(&plait_space()->recovery.word) == 0 && atomic_load(&plait_heap()->lock.word) == 0);
  uint32_t live = test_live_blocks();
  if (live > exits + held) snprintf(test_context + strlen(test_context), 40, " (%u blocks lost)", live);
  CHECK(live <= exits + held);
  for (uint32_t size = 8; size < 9000; size = size * 3) {
    plait_ref_t block = plait_heap_alloc(size);
    CHECK(block != 0 && plait_heap_free(block) == 0);
  }
  CHECK(plait_abi_check(1) == 0);
}

/* ---- scenarios: the state before, and the operation whose thread exits ---- */

static void recover_actor(void) {
  for (plait_ref_t task; (task = plait_abi_recover(actor)) != 0;) plait_task_finish(task);
}

static void make_worker(void) { submit_main(3), as(actor), plait_worker_enter(pool); }
static void do_take(void) { plait_task_next(0, 0); }

static void make_running(void) { make_worker(), as(actor), actor_task = plait_task_next(0, 0); }
static void do_output_and_next(void) {
  plait_ref_t at = plait_task_output(actor_task, 300);
  if (at != 0) atomic_store(&((struct plait_task *)plait_at(actor_task))->output_status, PLAIT_STATUS_FULFILLED);
  plait_task_next(actor_task, 1);
}
static void make_running_output(void) { make_running(), give_output(actor_task, 300); }
static void do_next(void) { plait_task_next(actor_task, 1); }

static void make_exited_client(void) { /* the actor runs a task of a client that is already recovered */
  as(victim), submit(plait_client_create(pool), 0);
  as(actor), plait_worker_enter(pool), actor_task = plait_task_next(0, 0), give_output(actor_task, 300);
  as(main_id), plait_abi_recover(victim);
  submit_main(2);
}

static void make_client(void) { submit_main(2), as(actor), actor_client = plait_client_create(pool); }
static void do_submit(void) {
  plait_ref_t task = plait_task_create(actor_client, 3000);
  if (task != 0) plait_task_submit(task);
}
static void make_client_sleeper(void) { make_client(), work(), as(worker), plait_worker_park_begin(); }
static void make_full(void) { make_client(), submit_main(62); }
static void do_discard(void) { plait_task_discard(plait_task_create(actor_client, 3000)); }

static void make_nothing(void) { submit_main(2); }
static void do_client_create(void) { plait_client_create(pool); }
/* A name of `size` times the same letter. */
static void intern(plait_ref_t of, uint32_t size, char letter) {
  plait_ref_t name = plait_name_create(size);
  if (name == 0) return;
  for (uint32_t i = 0; i < size; i++) ((struct plait_name *)plait_at(name))->text[i] = (uint8_t)letter;
  plait_pool_intern(of, name);
}
static void do_intern(void) { intern(pool, 10, 'a'), intern(pool, 10, 'b'), intern(pool, 10, 'a'); }
static void do_task_name(void) {
  plait_ref_t task = plait_task_create(actor_client, 8);
  if (task == 0) return;
  if (plait_task_name(task, 3000) != 0) plait_task_submit(task);
  else plait_task_discard(task);
}
static void do_pool(void) {
  plait_ref_t own = plait_pool_create();
  intern(own, 3, 'a');
  plait_pool_destroy(own);
}

static void make_inbox(void) {
  make_client();
  as(actor);
  for (int i = 0; i < 4; i++) submit(actor_client, 0);
  work();
}
static void do_drain_free(void) {
  plait_ref_t next;
  for (plait_ref_t task = plait_client_drain(actor_client); task != 0; task = next) {
    next = atomic_load(&((struct plait_task *)plait_at(task))->next);
    plait_task_free(task);
  }
}
static void make_drained(void) {
  make_inbox(), as(actor), plait_client_drain(actor_client);
  for (int i = 0; i < 3; i++) submit(actor_client, 0);
  work();
}

static void make_queue(void) { submit_main(4); }
static void do_close(void) { plait_pool_end(pool, PLAIT_POOL_CLOSED); }
static void do_fail(void) { plait_pool_end(pool, PLAIT_POOL_FAILED); }
static void do_closing(void) { plait_pool_end(pool, PLAIT_POOL_CLOSING); }

/* The actor's own pool, with queue, inbox, names, failure, and a task of an exited worker. */
static void make_own_pool(void) {
  submit_main(1);
  as(actor);
  actor_pool = plait_pool_create();
  actor_client = plait_client_create(actor_pool);
  intern(actor_pool, 20, 'a'), intern(actor_pool, 20, 'b');
  plait_pool_set_failure(actor_pool, plait_heap_alloc(10), 10);
  for (int i = 0; i < 6; i++) submit(actor_client, 0);
  as(victim), plait_worker_enter(actor_pool);
  uint32_t task = 0;
  for (int i = 0; i < 4; i++) {
    task = plait_task_next(task, 0);
    give_output(task, i == 2 ? 300 : 9);
  }
  as(actor);
  plait_client_drain(actor_client);
  as(victim), task = plait_task_next(task, 0);
  plait_thread_note_exit(victim);
  as(actor);
}
static void do_destroy(void) { plait_pool_destroy(actor_pool); }

static void make_exited_worker(void) { /* an exited worker with a task, which the actor recovers */
  submit_main(3);
  as(victim), plait_worker_enter(pool), give_output(plait_task_next(0, 0), 300);
  plait_thread_note_exit(victim);
}
static void do_recover(void) {
  plait_ref_t task = plait_abi_recover(victim);
  if (task != 0) plait_task_finish(task);
}
static void make_exited_worker_owner(void) { make_own_pool(), as(main_id); }

static void make_block(void) { submit_main(1), as(actor), some_block = plait_heap_alloc(200), held = 2; }
static void do_alloc_free(void) {
  plait_ref_t block = plait_heap_alloc(200);
  plait_heap_free(some_block), plait_heap_free(block);
}
static void do_large(void) {
  plait_ref_t a = plait_heap_alloc(9000), b = plait_heap_alloc(9000);
  plait_heap_free(a), plait_heap_free(b), plait_heap_free(some_block);
  a = plait_heap_alloc(17000), plait_heap_free(a);
}
static void do_split(void) { plait_heap_free(plait_heap_alloc(4500)), plait_heap_free(some_block); }
static void do_grow(void) { plait_heap_free(plait_heap_alloc(600000)), plait_heap_free(some_block); }

static void make_holder(void) { /* the actor holds two tasks and runs one */
  make_worker(), as(actor);
  for (int i = 0; i < 2; i++) actor_task = plait_task_next(0, 0), plait_task_hold();
  plait_task_next(0, 0);
}
static void do_hold(void) { plait_task_hold(); }
static void make_all_held(void) { make_holder(), as(actor), plait_task_hold(), submit_main(1); }
static void do_finish_held(void) {
  plait_ref_t newest = atomic_load(&plait_self()->holding);
  plait_ref_t at = plait_task_output(newest, 300);
  if (at != 0) atomic_store(&((struct plait_task *)plait_at(newest))->output_status, PLAIT_STATUS_FULFILLED);
  atomic_store(&((struct plait_task *)plait_at(actor_task))->output_status, PLAIT_STATUS_FULFILLED);
  plait_task_finish(actor_task); /* from the middle of the list */
  plait_task_finish(newest);     /* its head */
}
static void make_helper(void) {
  make_client(), as(actor), plait_worker_enter(pool), plait_task_next(0, 0), plait_task_hold();
  submit(actor_client, 0), submit(actor_client, 0);
}
static void do_help(void) {
  plait_ref_t task = plait_task_help(actor_client);
  if (task > PLAIT_NEXT_RETRY) plait_task_finish(task);
}
static void do_emit(void) { /* to the main thread's client */
  plait_ref_t message = plait_task_create(client, 10);
  if (message == 0) return;
  atomic_store(&((struct plait_task *)plait_at(message))->ticket, MESSAGE);
  atomic_store(&((struct plait_task *)plait_at(message))->output_status, PLAIT_STATUS_PROGRESS);
  plait_task_emit(message);
}
static void do_place(void) { plait_pool_place(pool, 5); }
static void make_place(void) { make_client(), as(actor), actor_place = plait_pool_place(pool, 0); }
static void do_submit_to_place(void) {
  plait_worker_take_place(actor_place);
  plait_ref_t task = plait_task_create(actor_client, 10);
  if (task == 0) return;
  atomic_store(&((struct plait_task *)plait_at(task))->place, actor_place);
  plait_task_submit(task);
}
static void make_affinity(void) {
  submit_main(2), as(actor), plait_worker_enter(pool), plait_worker_take_place(plait_pool_place(pool, 0));
  as(main_id), submit_to_place(atomic_load(&plait_slot_of(actor)->place));
}
static void make_exited_worker_retry(
    void) { /* an exited worker with a task that may be retried, which the actor requeues */
  submit_main(3);
  as(victim), plait_worker_enter(pool);
  plait_ref_t task = plait_task_next(0, 0);
  give_output(task, 300), atomic_store(&((struct plait_task *)plait_at(task))->retries, 1);
  plait_thread_note_exit(victim);
}
static void do_requeue(void) {
  plait_ref_t task = plait_abi_recover(victim);
  if (task != 0) plait_task_requeue(task);
}
/* Tasks of the main thread that the actor aborts here, so that their ends are counted. */
static plait_ref_t queue[8];
static void submit_queue(uint32_t count) {
  as(main_id);
  for (uint32_t i = 0; i < count; i++) {
    queue[i] = make_task(client, tickets++);
    CHECK(plait_task_submit(queue[i]) == 0);
  }
}
static void make_abort(void) { submit_queue(5); }
static void do_abort_first(void) { plait_task_abort(queue[0]); }
static void do_abort_inner(void) { plait_task_abort(queue[2]), plait_task_abort(queue[1]), plait_task_abort(queue[0]); }
static void do_abort_last(void) { plait_task_abort(queue[3]), plait_task_abort(queue[4]); }
static void do_abort_all(void) {
  for (uint32_t i = 0; i < 5; i++) plait_task_abort(queue[i]);
}
static void do_cancel_queued(void) { plait_pool_cancel_queued(pool); }
static void make_abort_affinity(void) {
  submit_main(1);
  plait_ref_t place = plait_pool_place(pool, 0);
  for (uint32_t i = 0; i < 3; i++) {
    queue[i] = make_task(client, tickets++);
    atomic_store(&((struct plait_task *)plait_at(queue[i]))->place, place);
    CHECK(plait_task_submit(queue[i]) == 0);
  }
}
static void do_abort_affinity(void) { plait_task_abort(queue[1]), plait_task_abort(queue[0]); }
static void make_hole(void) { /* after the first of five queued tasks */
  make_abort();
  for (uint32_t i = 1; i < 3; i++) CHECK(plait_task_abort(queue[i]) == 1);
  as(actor), plait_worker_enter(pool);
}
/* The ring of the actor's client is full, but its tasks would fit into a new ring of the same size. */
static void make_full_of_holes(void) {
  make_client();
  plait_ref_t tasks[64];
  for (uint32_t i = 0; i < 64; i++) CHECK(plait_task_submit(tasks[i] = plait_task_create(actor_client, 8)) == 0);
  for (uint32_t i = 1; i < 60; i++) CHECK(plait_task_abort(tasks[i]) == 1);
  for (plait_ref_t task = plait_client_drain(actor_client), next; task != 0; task = next) {
    next = atomic_load(&((struct plait_task *)plait_at(task))->next);
    plait_task_free(task);
  }
}
static void make_full_with_holes(void) { /* the same, but the tasks need a larger ring */
  make_client();
  plait_ref_t tasks[64];
  for (uint32_t i = 0; i < 64; i++) CHECK(plait_task_submit(tasks[i] = plait_task_create(actor_client, 8)) == 0);
  for (uint32_t i = 1; i < 40; i += 2) CHECK(plait_task_abort(tasks[i]) == 1);
  for (plait_ref_t task = plait_client_drain(actor_client), next; task != 0; task = next) {
    next = atomic_load(&((struct plait_task *)plait_at(task))->next);
    plait_task_free(task);
  }
}
/* The holes are in the queue of a client whose thread has exited. The main thread awaits a task queued before. */
static void make_left_holes(void) {
  submit_queue(4);
  for (uint32_t i = 1; i < 3; i++) CHECK(plait_task_abort(queue[i]) == 1);
  as(victim);
  plait_ref_t exited_client = plait_client_create(pool), tasks[5];
  for (uint32_t i = 0; i < 5; i++) CHECK(plait_task_submit(tasks[i] = make_task(exited_client, 0)) == 0);
  for (uint32_t i = 1; i < 4; i++) CHECK(plait_task_abort(tasks[i]) == 1);
  plait_thread_note_exit(victim);
  as(main_id), plait_abi_recover(victim);
}
static void make_own_pool_with_holes(void) {
  submit_main(1);
  as(actor), actor_pool = plait_pool_create(), actor_client = plait_client_create(actor_pool);
  plait_ref_t tasks[5];
  for (uint32_t i = 0; i < 5; i++) CHECK(plait_task_submit(tasks[i] = make_task(actor_client, 0)) == 0);
  for (uint32_t i = 1; i < 4; i++) CHECK(plait_task_abort(tasks[i]) == 1);
}
/* An exited worker has the first of six tasks, which may be retried. Holes follow it. */
static void make_exited_worker_before_holes(void) {
  submit_queue(6);
  as(victim), plait_worker_enter(pool);
  plait_ref_t task = plait_task_next(0, 0);
  give_output(task, 300), atomic_store(&((struct plait_task *)plait_at(task))->retries, 1);
  plait_thread_note_exit(victim);
  as(main_id);
  CHECK(plait_task_abort(queue[1]) == 1 && plait_task_abort(queue[3]) == 1);
}
static void do_requeue_and_abort(void) {
  do_requeue();
  plait_task_abort(queue[2]), plait_task_abort(queue[0]);
}
static void make_exited_worker_holder(void) {
  submit_main(3);
  as(victim), plait_worker_enter(pool);
  for (int i = 0; i < 2; i++) plait_task_next(0, 0), plait_task_hold();
  plait_task_next(0, 0);
  plait_thread_note_exit(victim);
}
static void do_recover_all(void) {
  for (plait_ref_t task; (task = plait_abi_recover(victim)) != 0;) plait_task_finish(task);
}
/* The actor owns a pool in which the main thread has a client. */
static void make_others_pool(void) {
  submit_main(1);
  as(actor), actor_pool = plait_pool_create(), actor_client = plait_client_create(actor_pool);
  submit(actor_client, 0);
  as(main_id), other_client = plait_client_create(actor_pool);
  as(actor), plait_pool_end(actor_pool, PLAIT_POOL_CLOSED);
}
static void make_left_pool(void) {
  make_others_pool(), as(main_id), plait_client_release(other_client), other_client = 0, as(actor);
}
static void do_release_client(void) { plait_client_release(actor_client); }
static void do_release_both(void) { plait_client_release(actor_client), plait_pool_release(actor_pool); }
static void make_client_with_all(void) { /* queued, running, done and drained tasks of the actor's second client */
  make_drained();
  as(actor), submit(actor_client, 0), submit(actor_client, 0);
  as(worker), plait_task_next(0, 0);
}
static void make_stuck(void) { /* a worker runs an overdue task and holds another; the actor settles both instead */
  submit_main(3);
  as(victim), plait_worker_enter(pool), plait_task_next(0, 0), plait_task_hold();
  plait_ref_t task = plait_task_next(0, 0);
  atomic_store(&((struct plait_task *)plait_at(task))->control, PLAIT_STOP_TIMEOUT);
  as(main_id), plait_worker_drain(victim);
  victim_is_stuck = 1;
}
static void do_detach(void) {
  for (plait_ref_t surrogate; (surrogate = plait_task_detach(victim, 0)) > PLAIT_NEXT_RETRY;) {
    plait_ref_t at = plait_task_output(surrogate, 300);
    if (at != 0) atomic_store(&((struct plait_task *)plait_at(surrogate))->output_status, PLAIT_STATUS_REJECTED);
    plait_task_finish(surrogate);
  }
}
static void make_detached(void) { /* the actor is a detached worker that continues after its tasks have been settled */
  make_holder();
  as(main_id), plait_worker_drain(actor);
  for (plait_ref_t surrogate; (surrogate = plait_task_detach(actor, 0)) > PLAIT_NEXT_RETRY;)
    plait_task_finish(surrogate);
}
static void do_settle(void) {
  plait_ref_t task = plait_abi_recover(victim);
  if (task != 0) plait_abi_settle(task);
}
static void do_release(void) { plait_pool_release(actor_pool); }
static void make_exited_user(void) {
  submit_main(2), as(victim), plait_client_create(pool), as(main_id), plait_abi_recover(victim);
}
static void make_overdue(void) {
  submit_main(1), as(worker);
  plait_ref_t task = plait_task_next(0, 0);
  atomic_store(&((struct plait_task *)plait_at(task))->timeout_ms, 5);
  atomic_store(&((struct plait_task *)plait_at(task))->started_ms, 1);
}
static void do_poll(void) { plait_worker_poll(worker, 10), plait_worker_poll(worker, 20); }

static void make_idle(void) { submit_main(0), as(actor), plait_worker_enter(pool); }
static void make_found(void) { make_worker(), as(actor), plait_worker_wait(0, 1); }
static void do_sleep(void) { plait_worker_wait(0, 0); }
static void do_spin(void) { plait_worker_wait(0, 3); }
static void make_busy_worker(void) { submit_main(1), as(worker), plait_task_next(0, 0); }
static void do_drain_worker(void) { plait_worker_drain(worker); }
static void do_attach(void) { plait_abi_attach(actor, 1), plait_abi_detach(); }

static const struct scenario {
  const char *name;
  void (*prepare)(void);
  void (*operation)(void);
} scenarios[] = {
    {"take", make_worker, do_take},
    {"output and next", make_running, do_output_and_next},
    {"next with an output block", make_running_output, do_next},
    {"finish for an exited client", make_exited_client, do_next},
    {"submit", make_client, do_submit},
    {"submit to a sleeper", make_client_sleeper, do_submit},
    {"submit to a full ring", make_full, do_submit},
    {"discard", make_client, do_discard},
    {"client create", make_nothing, do_client_create},
    {"intern", make_nothing, do_intern},
    {"name a task", make_client, do_task_name},
    {"pool create and destroy", make_nothing, do_pool},
    {"drain and free", make_inbox, do_drain_free},
    {"drain again", make_drained, do_drain_free},
    {"close", make_queue, do_close},
    {"fail", make_queue, do_fail},
    {"closing", make_queue, do_closing},
    {"destroy", make_own_pool, do_destroy},
    {"recover a worker", make_exited_worker, do_recover},
    {"recover an owner's worker", make_exited_worker_owner, do_recover},
    {"small blocks", make_block, do_alloc_free},
    {"large blocks", make_block, do_large},
    {"split a chunk", make_block, do_split},
    {"grow", make_block, do_grow},
    {"sleep", make_idle, do_sleep},
    {"spin and sleep", make_idle, do_spin},
    {"spin and find", make_worker, do_spin},
    {"take a found task", make_found, do_next},
    {"hold", make_holder, do_hold},
    {"finish held tasks", make_all_held, do_finish_held},
    {"help", make_helper, do_help},
    {"progress", make_running, do_emit},
    {"worker place", make_nothing, do_place},
    {"submit with affinity", make_place, do_submit_to_place},
    {"take from a worker queue", make_affinity, do_next},
    {"requeue", make_exited_worker_retry, do_requeue},
    {"abort the first queued task", make_abort, do_abort_first},
    {"abort in the middle, then before it", make_abort, do_abort_inner},
    {"abort the last ones", make_abort, do_abort_last},
    {"abort all", make_abort, do_abort_all},
    {"abort in a worker queue", make_abort_affinity, do_abort_affinity},
    {"cancel all queued tasks", make_abort, do_cancel_queued},
    {"cancel tasks with a hole between them", make_hole, do_cancel_queued},
    {"cancel tasks in a worker queue", make_abort_affinity, do_cancel_queued},
    {"cancel tasks of an exited client", make_left_holes, do_cancel_queued},
    {"take before a hole", make_hole, do_take},
    {"close with a hole", make_hole, do_close},
    {"submit to a ring full of holes", make_full_of_holes, do_submit},
    {"submit to a full ring with some holes", make_full_with_holes, do_submit},
    {"close with holes of an exited client", make_left_holes, do_close},
    {"destroy with holes", make_own_pool_with_holes, do_destroy},
    {"requeue before holes and abort", make_exited_worker_before_holes, do_requeue_and_abort},
    {"settle a task that may be retried", make_exited_worker_retry, do_settle},
    {"recover a worker with held tasks", make_exited_worker_holder, do_recover_all},
    {"release a pool with a client", make_others_pool, do_release},
    {"release a pool", make_left_pool, do_release},
    {"release a client and its pool", make_left_pool, do_release_both},
    {"release a client", make_client_with_all, do_release_client},
    {"detach a worker", make_stuck, do_detach},
    {"finish tasks after detachment", make_detached, do_finish_held},
    {"take a client over", make_exited_user, do_client_create},
    {"poll", make_overdue, do_poll},
    {"drain a worker", make_busy_worker, do_drain_worker},
    {"attach", make_nothing, do_attach},
};

static uint64_t run_scenario(size_t i, uint32_t every) {
  static struct step_log log;
  world();
  scenarios[i].prepare();
  step_save();
  as(actor);
  step_record(&log, scenarios[i].operation);
  return step_crash_points(scenarios[i].name, &log, recover_actor, aftermath, every);
}

STEP_CRASH_POINTS_MAIN

#endif
