/*
 * single step: executes an operation store by store, or instruction by instruction. x86-64 Linux only.
 *
 * - step_record() runs an operation over a write-protected space. Each store faults, is let through alone by the
 *   processor's trap flag, and is logged. If a thread exits at any instruction, its stores so far are a prefix of the
 *   log. A copy or fill, by the C library or by one instruction, may be ten thousand stores into one OS page. The log
 *   has the first two and the last of them, because the others only add more of the same bytes.
 * - step_save() saves an image of the space, step_apply() adds a logged store to the image, and step_restore() restores
 *   the space from it. The image is a memory file that the space maps privately, so untouched pages cost nothing.
 * - step_interleave() runs an operation up to an instruction, then another thread's operation, then the rest.
 */
#ifndef PLAIT_TEST_SINGLE_STEP_H
#define PLAIT_TEST_SINGLE_STEP_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "harness.h"

#if defined(__x86_64__) && defined(__linux__)
#define SINGLE_STEP 1
#include <ucontext.h>

#define STEP_LIMIT 40000u
#define STEP_PAGE 4096u
#define STEP_TRAP 0x100ll

struct step {
  uint32_t page;
  uint8_t bytes[STEP_PAGE];
};
struct step_log {
  struct step *steps;
  uint32_t count;
};

static size_t step_size; /* of the space, in bytes */
static struct step_log *step_recording;
/* how many logged stores at the end belong to one copy into one OS page, and the number of that page */
static uint32_t step_copies, step_copied;
static int step_repeats;                /* the instruction of the store in progress makes several stores */
static uint8_t *step_first, *step_last; /* pages of the store in progress */
static long long step_at;               /* its instruction */
static int step_file = -1;

static uint32_t step_stop, step_count; /* the instruction to interleave after, and the number executed */
static long long step_before;          /* the previous instruction */
static void (*step_other)(void);

static void step_protect(int flags) {
  if (mprotect(plait_platform_base, step_size, flags) != 0) _exit(4);
}

/* Protects only the pages of the store in progress: the space may have thousands of others. */
static void step_protect_store(int flags) {
  if (mprotect(step_first, (size_t)(step_last - step_first) + STEP_PAGE, flags) != 0) _exit(4);
}

static void step_on_fault(int number, siginfo_t *info, void *context) {
  (void)number;
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  uint8_t *at = info->si_addr;
  if (step_recording == NULL || at < plait_platform_base || at >= plait_platform_base + step_size) {
    signal(SIGSEGV, SIG_DFL);
    dprintf(2, "fault at %p (%p of %p) by %p outside of a recording; %s\n", (void *)at,
        (void *)(at - plait_platform_base), (void *)step_size, (void *)registers[REG_RIP], test_context);
    return;
  }
  int goes_on = (registers[REG_EFL] & STEP_TRAP) != 0; /* `rep stos` and the like have come to another page */
  if (!goes_on) step_first = (uint8_t *)((uintptr_t)at & ~(uintptr_t)(STEP_PAGE - 1));
  /* a wide store may reach over the edge */
  step_last = (uint8_t *)((uintptr_t)(at + 63) & ~(uintptr_t)(STEP_PAGE - 1));
  if (step_last >= plait_platform_base + step_size) step_last -= STEP_PAGE;
  step_at = registers[REG_RIP];
  step_protect_store(PROT_READ | PROT_WRITE);
  registers[REG_EFL] |= STEP_TRAP;
}

/* Whether the instruction lies in a shared library. A static library's instructions count as the program's. */
static int step_is_library(long long instruction) {
  extern const char __executable_start, etext;
  return instruction < (long long)(uintptr_t)&__executable_start || instruction >= (long long)(uintptr_t)&etext;
}

static void step_log_page(const uint8_t *page_bytes) {
  uint32_t page = (uint32_t)((size_t)(page_bytes - plait_platform_base) / STEP_PAGE);
  if (!step_repeats && !step_is_library(step_at)) step_copies = 0;
  else if (step_copies == 0 || step_copied != page) step_copies = 1, step_copied = page;
  else if (++step_copies > 3) step_recording->count--; /* the previous store was not the copy's last */
  if (step_recording->count == STEP_LIMIT) _exit(5);
  struct step *step = &step_recording->steps[step_recording->count++];
  step->page = page;
  memcpy(step->bytes, page_bytes, STEP_PAGE);
}

static void step_on_trap(int number, siginfo_t *info, void *context) {
  (void)number, (void)info;
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  if (step_other != NULL) {
    int repeats = registers[REG_RIP] == step_before; /* `rep movs` and the like: one instruction, however long */
    step_before = registers[REG_RIP];
    if (repeats || step_count++ != step_stop) return;
    void (*other)(void) = step_other;
    step_other = NULL;
    registers[REG_EFL] &= ~STEP_TRAP;
    other();
    if (step_other != NULL) registers[REG_EFL] |= STEP_TRAP; /* it has chosen a second instruction to stop after */
    return;
  }
  if (step_recording == NULL) {
    registers[REG_EFL] &= ~STEP_TRAP;
    return;
  }
  int repeats = registers[REG_RIP] == step_at; /* `rep stos` and the like: the trap comes after each of its stores */
  step_repeats |= repeats;
  uint8_t *from = step_first, *to = step_last;
  if (step_repeats) from = to = (uint8_t *)((uintptr_t)(registers[REG_RDI] - 1) & ~(uintptr_t)(STEP_PAGE - 1));
  for (; from <= to; from += STEP_PAGE) step_log_page(from);
  if (repeats) return;
  registers[REG_EFL] &= ~STEP_TRAP;
  step_repeats = 0;
  step_protect_store(PROT_READ);
}

static inline void step_begin(uint32_t pages) {
  struct sigaction fault = {.sa_sigaction = step_on_fault, .sa_flags = SA_SIGINFO};
  struct sigaction trap = {.sa_sigaction = step_on_trap, .sa_flags = SA_SIGINFO};
  CHECK(sigaction(SIGSEGV, &fault, NULL) == 0 && sigaction(SIGTRAP, &trap, NULL) == 0);
  step_size = (size_t)pages * PLAIT_PAGE_SIZE;
  if (step_file < 0) CHECK((step_file = memfd_create("space", 0)) >= 0);
}

static inline void step_record(struct step_log *log, void (*operation)(void)) {
  if (log->steps == NULL) log->steps = malloc(STEP_LIMIT * sizeof *log->steps);
  log->count = step_copies = 0;
  step_recording = log;
  step_protect(PROT_READ);
  operation();
  step_recording = NULL;
  step_protect(PROT_READ | PROT_WRITE);
}

/* Runs `operation`, and `other` after `stop` instructions of it. Returns 0 if `operation` has fewer instructions. */
static inline int step_interleave(void (*operation)(void), uint32_t stop, void (*other)(void)) {
  step_count = 0, step_stop = stop, step_other = other;
  __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
  operation();
  __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
  int reached = step_other == NULL;
  step_other = NULL;
  return reached;
}

static inline void step_save(void) {
  static const uint8_t zero[STEP_PAGE];
  CHECK(ftruncate(step_file, 0) == 0 && ftruncate(step_file, (off_t)step_size) == 0);
  for (size_t at = 0; at < step_size; at += STEP_PAGE)
    if (memcmp(plait_platform_base + at, zero, STEP_PAGE) != 0)
      CHECK(pwrite(step_file, plait_platform_base + at, STEP_PAGE, (off_t)at) == STEP_PAGE);
}

static inline void step_restore(void) {
  CHECK(mmap(plait_platform_base, step_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, step_file,
            0) == plait_platform_base);
}

/* Swaps the stored page with the image's. A second call undoes the first. */
static inline void step_apply(struct step *step) {
  uint8_t old[STEP_PAGE];
  off_t at = (off_t)step->page * STEP_PAGE;
  CHECK(
      pread(step_file, old, STEP_PAGE, at) == STEP_PAGE && pwrite(step_file, step->bytes, STEP_PAGE, at) == STEP_PAGE);
  memcpy(step->bytes, old, STEP_PAGE);
}

/* ---- crash points ---- */

/* The actor exits during an operation, the recoverer during the recovery of the actor. */
static plait_thread_t actor, recoverer;

/*
 * Restores the state at each crash point in `log`, recorded from an operation since step_save(), and calls `aftermath`:
 * `last` is the exited thread to recover explicitly, `variant` numbers the ways to continue. If `every` is 0, the actor
 * exits after every store, with two variants each. Otherwise the actor exits after one store in `every`, and the
 * recoverer, which runs `recovery`, after each of its own stores. Returns the number of states.
 */
static inline uint64_t step_crash_points(const char *name, struct step_log *log, void (*recovery)(void),
    void (*aftermath)(plait_thread_t last, uint32_t exits, uint32_t variant), uint32_t every) {
  static struct step_log second;
  uint64_t states = 0;
  for (uint32_t k = 0; k <= log->count; k++) {
    if (k > 0) step_apply(&log->steps[k - 1]);
    for (uint32_t variant = 0; every == 0 && variant < 2; variant++, states++) {
      snprintf(
          test_context, sizeof test_context, "%s, exit after store %u of %u, variant %u", name, k, log->count, variant);
      step_restore();
      plait_thread_note_exit(actor);
      aftermath(actor, 1, variant);
    }
    if (every == 0 || (k + (uint32_t)test_seed) % every != 0) continue;
    step_restore();
    plait_thread_note_exit(actor);
    plait_slot_enter(recoverer, 1);
    step_record(&second, recovery);
    for (uint32_t j = 0; j <= second.count; j++, states++) {
      if (j > 0) step_apply(&second.steps[j - 1]);
      snprintf(test_context, sizeof test_context, "%s, exit after store %u of %u, recoverer's after %u of %u", name, k,
          log->count, j, second.count);
      step_restore();
      plait_thread_note_exit(actor), plait_thread_note_exit(recoverer);
      aftermath(recoverer, 2, j % 4);
    }
    for (uint32_t j = second.count; j > 0; j--) step_apply(&second.steps[j - 1]);
  }
  return states;
}

/* ---- running scenarios ---- */

#define STEP_SCENARIOS 96u

static struct step_child {
  pid_t id;
  size_t scenario;
} step_children[STEP_SCENARIOS];
static uint32_t step_running;

/* Waits until one of the children ends. Returns whether it failed. */
static inline int step_wait(const char *(*name)(size_t i)) {
  int status = 0;
  pid_t ended = waitpid(-1, &status, 0);
  CHECK(ended > 0);
  for (uint32_t i = 0; i < step_running; i++) {
    if (step_children[i].id != ended) continue;
    if (status != 0) printf("# %s: failed, status %x\n", name(step_children[i].scenario), (unsigned)status);
    step_children[i] = step_children[--step_running];
  }
  return status != 0;
}

/*
 * Runs each of `count` scenarios in its own process, so that a failed one does not hide the others. As many processes
 * run at a time as there are processors. `run` returns the number of states checked. PLAIT_SCENARIO selects one
 * scenario by its name.
 */
static inline void step_run_each(
    size_t count, const char *(*name)(size_t i), uint64_t (*run)(size_t i, uint32_t every), uint32_t every) {
  uint32_t failed = 0;
  const char *only = getenv("PLAIT_SCENARIO");
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  CHECK(count <= STEP_SCENARIOS);
  alarm(0); /* each child has its own */
  for (size_t i = 0; i < count; i++) {
    if (only != NULL && strcmp(only, name(i)) != 0) continue;
    if (step_running > 0 && step_running >= processors) failed += (uint32_t)step_wait(name);
    fflush(NULL);
    uint64_t start = test_now_ms();
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      alarm(test_deadline());
      uint64_t states = run(i, every);
      printf("# %s: %llu states in %llu ms\n", name(i), (unsigned long long)states,
          (unsigned long long)(test_now_ms() - start));
      fflush(NULL);
      _exit(0);
    }
    step_children[step_running++] = (struct step_child){child, i};
  }
  while (step_running > 0) failed += (uint32_t)step_wait(name);
  fflush(NULL);
  CHECK(failed == 0);
}

/*
 * The rest of a crash-point test, which defines `scenarios[]` with names, and run_scenario() for one of them. The first
 * test exits at every crash point of the operation. The second exits at some, and at every crash point of the recovery.
 */
#define STEP_CRASH_POINTS_MAIN                                                                           \
  static const char *name_of(size_t i) { return scenarios[i].name; }                                     \
  static void run_all(uint32_t every) {                                                                  \
    step_run_each(sizeof scenarios / sizeof *scenarios, name_of, run_scenario, every);                   \
  }                                                                                                      \
  static void test_crash_points(void) { run_all(0); }                                                    \
  static void test_crash_points_of_recovery(void) { run_all(getenv("PLAIT_ROUNDS") != NULL ? 1 : 397); } \
  static const struct test tests[] = {                                                                   \
      {"exit after every store", test_crash_points},                                                     \
      {"exit of the recoverer after every store", test_crash_points_of_recovery},                        \
  };                                                                                                     \
  TEST_MAIN(tests)

/*
 * The rest of a test of interleavings, which defines `interleavings[]` with names, and run_one() for one of them. The
 * other thread acts after one of `every` instructions.
 */
#define STEP_INTERLEAVINGS_MAIN(every)                                                                             \
  static const char *name_of(size_t i) { return interleavings[i].name; }                                           \
  static void test_interleavings(void) {                                                                           \
    step_run_each(sizeof interleavings / sizeof *interleavings, name_of, run_one, every);                          \
  }                                                                                                                \
  static const struct test tests[] = {{"another thread's operation after every instruction", test_interleavings}}; \
  TEST_MAIN(tests)

#else
int main(void) {
  printf("# skipped: needs x86-64 Linux, whose trap flag it uses\n0 passed, 0 failed\n");
  return 0;
}
#endif
#endif
