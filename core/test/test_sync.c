/*
 * sync: locks among threads and processes that are killed, and the states of slots.
 */
#include "harness.h"

static struct plait_lock *lock;

static void make_lock(void) {
  test_space(64);
  plait_ref_t block = plait_heap_alloc(sizeof *lock);
  lock = plait_at(block);
  memset(lock, 0, sizeof *lock);
}

/* ---- exclusion ---- */

static uint64_t counter; /* not atomic on purpose: the lock guards it */

static void *count(void *argument) {
  CHECK(plait_abi_enter() != 0);
  uint32_t times = *(uint32_t *)argument;
  for (uint32_t i = 0; i < times; i++) {
    CHECK(plait_lock_acquire(lock) == PLAIT_LOCK_TAKEN);
    counter++;
    plait_lock_release(lock);
  }
  plait_abi_detach();
  return NULL;
}

static void test_exclusion(void) {
  make_lock();
  pthread_t threads[6];
  uint32_t times = test_work(100000);
  for (int i = 0; i < 6; i++) CHECK(pthread_create(&threads[i], NULL, count, &times) == 0);
  for (int i = 0; i < 6; i++) pthread_join(threads[i], NULL);
  CHECK(counter == (uint64_t)times * 6 && plait_lock_owner(lock) == 0);
  CHECK(atomic_load(&plait_self()->held_count) == 0);
}

/* ---- exit of an owner ---- */

/* Starts a process that takes the lock and keeps it. */
static pid_t keep_lock(plait_thread_t thread) {
  pid_t child = fork();
  if (child == 0) {
    plait_slot_enter(thread, 1);
    if (plait_lock_acquire(lock) < 0) _exit(1);
    for (;;) pause();
  }
  while (plait_lock_owner(lock) != thread) usleep(100);
  return child;
}

static void test_takeover(void) {
  make_lock();
  plait_thread_t thread = plait_slot_claim(0);
  pid_t child = keep_lock(thread);
  kill(child, SIGKILL), waitpid(child, NULL, 0);
  CHECK(plait_thread_note_exit(thread) == 1 && plait_thread_note_exit(thread) == 0);
  CHECK(plait_lock_acquire(lock) == PLAIT_LOCK_TAKEN_OVER);
  plait_lock_release(lock);
  CHECK(plait_lock_acquire(lock) == PLAIT_LOCK_TAKEN);
  plait_lock_release(lock);
  CHECK(plait_abi_recover(thread) == 0 && !plait_thread_alive(thread));
}

static _Atomic int taken, taken_over;

static void *take_once(void *argument) {
  (void)argument;
  CHECK(plait_abi_enter() != 0);
  int rc = plait_lock_acquire(lock);
  CHECK(rc >= 0);
  atomic_fetch_add(rc == PLAIT_LOCK_TAKEN ? &taken : &taken_over, 1);
  plait_lock_release(lock);
  plait_abi_detach();
  return NULL;
}

static void test_waiters(void) {
  make_lock();
  plait_thread_t thread = plait_slot_claim(0);
  pid_t child = keep_lock(thread);
  pthread_t threads[5];
  for (int i = 0; i < 5; i++) CHECK(pthread_create(&threads[i], NULL, take_once, NULL) == 0);
  usleep(50000);
  kill(child, SIGKILL), waitpid(child, NULL, 0);
  uint64_t start = test_now_ms();
  plait_thread_note_exit(thread);
  for (int i = 0; i < 5; i++) pthread_join(threads[i], NULL);
  CHECK(test_now_ms() - start < 700);
  CHECK(atomic_load(&taken) == 4 && atomic_load(&taken_over) == 1);
}

/* ---- a live owner without progress ---- */

static void test_stuck(void) {
  make_lock();
  plait_thread_t self = plait_self_id(), other = plait_slot_claim(0);
  plait_slot_enter(other, 1);
  CHECK(plait_lock_acquire(lock) == 0);
  plait_slot_enter(self, 1);
  uint64_t start = test_now_ms();
  CHECK(plait_lock_acquire(lock) == -PLAIT_ETIMEDOUT);
  uint64_t took = test_now_ms() - start;
  CHECK(took >= 900 && took < 3000);
  CHECK(atomic_load(&plait_self()->held_count) == 0 && atomic_load(&plait_self()->held[0]) == 0);
  plait_slot_enter(other, 1);
  plait_lock_release(lock);
  plait_slot_enter(self, 0);
  CHECK(plait_lock_acquire(lock) == 0); /* one that may not block takes a free lock like any other */
  plait_lock_release(lock);
}

/* ---- slots ---- */

static void test_generations(void) {
  test_space(64);
  plait_thread_t old = plait_slot_claim(7);
  CHECK(plait_thread_alive(old) && atomic_load(&plait_slot_of(old)->host_id) == 7);
  plait_abi_recover(old);
  plait_thread_t young = plait_slot_claim(8);
  CHECK(young != old && plait_thread_index(young) == plait_thread_index(old));
  CHECK(!plait_thread_alive(old) && plait_thread_alive(young));
  CHECK(plait_thread_note_exit(old) == 0 && plait_abi_recover(old) == 0 && plait_thread_alive(young));
  CHECK(atomic_load(&plait_slot_of(young)->host_id) == 8 && !plait_thread_alive(0));
  struct plait_slot *slot = plait_slot_of(young); /* the generation wraps past 0, which is no id's */
  atomic_store(&slot->generation_state, 0x7FFFFFu << 8 | PLAIT_SLOT_FREE);
  plait_thread_t wrapped = plait_slot_claim(0);
  CHECK(plait_slot_of(wrapped) == slot && wrapped >> 8 == 1 && plait_thread_alive(wrapped));
}

static void test_exhausted(void) {
  test_space(64);
  plait_thread_t ids[PLAIT_SLOT_LIMIT];
  for (uint32_t i = 1; i < PLAIT_SLOT_LIMIT; i++) CHECK((ids[i] = plait_slot_claim(0)) != 0);
  CHECK(plait_slot_claim(0) == 0 && plait_abi_enter() == 0);
  plait_thread_note_exit(ids[9]), plait_thread_note_exit(ids[200]);
  CHECK(plait_slot_claim(0) == 0); /* exited, and not recovered yet */
  plait_abi_sweep();
  CHECK(plait_slot_claim(0) != 0 && plait_slot_claim(0) != 0 && plait_slot_claim(0) == 0);
  CHECK(atomic_load(&plait_space()->exits) == 2);
}

static const struct test tests[] = {
    {"one thread at a time is inside a lock", test_exclusion},
    {"the lock of an exited owner is taken over", test_takeover},
    {"waiters continue when the owner exits", test_waiters},
    {"a live owner's lock times out", test_stuck},
    {"stale ids name no thread", test_generations},
    {"slots run out and come back", test_exhausted},
};
TEST_MAIN(tests)
