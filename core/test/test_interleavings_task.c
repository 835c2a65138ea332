/*
 * interleavings of the task module: one thread stops after an instruction of an operation, another thread executes an
 * operation, and the first continues (see single_step.h). Invariant, afterwards: a worker is woken or on the way for
 * each queued task, and none is woken for a task that has been taken. While the first thread holds the lock, the other
 * could only wait: such an interleaving is skipped, unless the second operation needs no lock.
 */
#include "single_step.h"

#ifdef SINGLE_STEP
#include "task_world.h"
#include "../task/internal.h"
#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/syscall.h>

static plait_thread_t other, sleeper;
static plait_ref_t first_task, other_client, other_task, spinner_task;
static uint32_t wake_ups_before, taken, needless;
static int interleaved;

/*
 * Replaces the C library's: there is only one thread, so none is waiting, and a real wait would be in vain. It reports
 * the wait instead.
 */
static uint32_t sleeps;
long syscall(long number, ...) {
  va_list arguments;
  va_start(arguments, number);
  uint32_t *word = va_arg(arguments, uint32_t *);
  int operation = va_arg(arguments, int);
  uint32_t expected = va_arg(arguments, uint32_t);
  va_end(arguments);
  CHECK(number == SYS_futex);
  if (operation == FUTEX_WAKE) return 0;
  CHECK(operation == FUTEX_WAIT);
  int equal = *(volatile uint32_t *)word == expected;
  sleeps += (uint32_t)equal;
  errno = equal ? ETIMEDOUT : EAGAIN;
  return -1;
}

static uint32_t wake_ups(void) { return atomic_load(&pool_record()->signal) + atomic_load(&pool_record()->parking); }

/* Beside the actor and the other thread, both busy workers, a worker sleeps. */
static void world(void) {
  step_begin(100);
  CHECK(plait_posix_map(40, 100) == 0 && plait_abi_init(100) == 0);
  CHECK((main_id = plait_slot_claim(0)) != 0);
  as(main_id);
  CHECK((pool = plait_pool_create()) != 0 && (client = plait_client_create(pool)) != 0);
  submit(client, 0); /* so that its queue has a ring */
  actor = new_worker(), other = new_worker(), sleeper = new_worker();
  as(other);
  CHECK((other_client = plait_client_create(pool)) != 0);
  takes(other, (uint32_t[]){0}, 1);
  CHECK(drain(client, 0, NULL) == 1);
  as(sleeper);
  CHECK(plait_worker_park_begin() != 0);
  as(main_id);
}

/* ---- the states before, and the two operations ---- */

/*
 * A worker that finds nothing unregisters as spinner: it is registered by hand, as in the midst of plait_worker_wait().
 */
static void put_up(plait_thread_t name) { atomic_store(&pool_record()->spinner, name); }

static void make_spinner(void) { as(main_id), first_task = build(client, 1), put_up(other); }
static void make_one_of_two(void) { as(main_id), submit(client, 1), first_task = build(client, 2), put_up(other); }
static void make_found(void) {
  as(main_id), submit(client, 1);
  as(other), other_task = build(other_client, 2);
  as(actor);
  CHECK(plait_worker_wait(0, 1) == 1 && atomic_load(&pool_record()->spinner) == actor);
}
static void make_found_and_put(void) { /* the submitter of the second task has yet to wake a worker */
  make_found();
  as(other);
  CHECK(plait__queue_put(plait_at(pool), other_task) == 0);
}
static void make_empty(void) { as(other), other_task = build(other_client, 2); }

static void do_submit(void) { CHECK(plait_task_submit(first_task) == 0); }
static void do_next(void) { spinner_task = plait_task_next(0, 0); }
static void do_spin(void) { plait_worker_wait(0, 3); }

static void then_spin_and_take(void) { plait_worker_wait(0, 1), spinner_task = plait_task_next(0, 0); }
static void then_take(void) { spinner_task = plait_task_next(0, 0); }
static void then_wake(void) { plait__worker_wake(plait_at(pool), 0); }
static void then_submit(void) { CHECK(plait_task_submit(other_task) == 0); }

/* ---- the states that are valid afterwards ---- */

static int is_woken(void) { return wake_ups() != wake_ups_before; }
/*
 * There was one task and one spinner. The spinner has the task, or the sleeper was woken for it; both only if it came
 * at the very moment.
 */
static void is_one_of_both(void) {
  int has_it = spinner_task > PLAIT_NEXT_RETRY;
  CHECK(!interleaved || (atomic_load(&pool_record()->spinner) == 0 && (has_it || is_woken())));
  CHECK(atomic_load(&pool_record()->queued) == !has_it);
  needless += interleaved && has_it && is_woken();
}
/* There were two tasks, of which one is taken. */
static void is_woken_for_the_other(void) {
  CHECK(!interleaved || (spinner_task > PLAIT_NEXT_RETRY && atomic_load(&pool_record()->queued) == 1 && is_woken()));
}
/* A task came while the worker spun: it has not slept, or the sleeper was woken. */
static void is_noticed(void) {
  CHECK(!interleaved || (atomic_load(&pool_record()->queued) == 1 && (is_woken() || sleeps == 0)));
}

static const struct interleaving {
  const char *name;
  void (*prepare)(void);
  void (*operation)(void);
  void (*between)(void);
  void (*judge)(void);
  int needs_no_lock; /* `between` */
} interleavings[] = {
    {"submit, the spinner takes it", make_spinner, do_submit, then_spin_and_take, is_one_of_both, 0},
    {"submit, the spinner takes another", make_one_of_two, do_submit, then_take, is_woken_for_the_other, 0},
    {"take a found task, another submits", make_found, do_next, then_submit, is_woken_for_the_other, 0},
    {"take a found task, another has submitted", make_found_and_put, do_next, then_wake, is_woken_for_the_other, 1},
    {"spin, another submits", make_empty, do_spin, then_submit, is_noticed, 0},
};

static const struct interleaving *now;

static void between(void) {
  if (!now->needs_no_lock && plait_get(&plait_self()->held_count) != 0) return;
  plait_thread_t first = plait_self_id();
  as(other);
  now->between();
  as(first);
  taken++, interleaved = 1;
}

static uint64_t run_one(size_t i, uint32_t every) {
  now = &interleavings[i], taken = needless = 0;
  world();
  now->prepare();
  wake_ups_before = wake_ups();
  step_save();
  uint32_t at = (uint32_t)test_seed % every;
  for (int reached = 1; reached; at += every) {
    snprintf(test_context, sizeof test_context, "%s, after instruction %u", now->name, at);
    interleaved = 0, spinner_task = 0, sleeps = 0;
    step_restore();
    as(now->operation == do_submit ? main_id : actor);
    reached = step_interleave(now->operation, at, between);
    now->judge();
    as(main_id);
    CHECK(plait_abi_check(1) == 0);
  }
  CHECK(taken > 20 && needless * 5 < taken);
  printf("# %s: %u instructions, %u interleavings\n", now->name, at, taken);
  plait_posix_unmap();
  return taken;
}

STEP_INTERLEAVINGS_MAIN(1)

#endif
