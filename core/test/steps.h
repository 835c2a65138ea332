/*
 * steps: what an operation does, store by store and instruction by instruction. x86-64 Linux only.
 *
 * - step_record() runs an operation over a write-protected space: each store faults, is let through alone (by the
 *   processor's trap flag) and logged. What a thread has done when it vanishes at any instruction is a prefix of that log.
 * - step_save() keeps the space as it is, step_apply() adds a logged store to what is kept, step_restore() lays it out. The
 *   image is a file in memory that the space becomes a private mapping of: laying it out costs nothing for untouched pages.
 * - step_turn() runs an operation up to an instruction, then another thread's in its middle, then the rest.
 */
#ifndef PLAIT_TEST_STEPS_H
#define PLAIT_TEST_STEPS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "harness.h"

#if defined(__x86_64__) && defined(__linux__)
#define STEPS 1
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

static size_t step_size;               /* of the space, in bytes */
static struct step_log *step_recording;
static uint8_t *step_first, *step_last; /* pages of the store in progress */
static long long step_at;              /* its instruction */
static int step_file = -1;

static uint32_t step_stop, step_count;  /* a turn: the instruction to stop at, and how many there were */
static long long step_before;           /* the one before */
static void (*step_other)(void);

static void step_protect(int flags) {
  if (mprotect(plait_platform_base, step_size, flags) != 0) _exit(4);
}

static void step_on_fault(int number, siginfo_t *info, void *context) {
  (void)number;
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  uint8_t *at = info->si_addr;
  if (step_recording == NULL || at < plait_platform_base || at >= plait_platform_base + step_size) {
    signal(SIGSEGV, SIG_DFL);
    dprintf(2, "fault at %p (%p of %p) by %p outside of a recording; %s\n", (void *)at, (void *)(at - plait_platform_base), (void *)step_size, (void *)registers[REG_RIP], test_context);
    return;
  }
  step_first = (uint8_t *)((uintptr_t)at & ~(uintptr_t)(STEP_PAGE - 1));
  step_last = (uint8_t *)((uintptr_t)(at + 63) & ~(uintptr_t)(STEP_PAGE - 1)); /* a wide store may reach over the edge */
  if (step_last >= plait_platform_base + step_size) step_last = step_first;
  step_at = registers[REG_RIP];
  step_protect(PROT_READ | PROT_WRITE);
  registers[REG_EFL] |= STEP_TRAP;
}

static void step_log_page(const uint8_t *page) {
  if (step_recording->count == STEP_LIMIT) _exit(5);
  struct step *step = &step_recording->steps[step_recording->count++];
  step->page = (uint32_t)((size_t)(page - plait_platform_base) / STEP_PAGE);
  memcpy(step->bytes, page, STEP_PAGE);
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
    return;
  }
  if (step_recording == NULL) {
    registers[REG_EFL] &= ~STEP_TRAP;
    return;
  }
  if (registers[REG_RIP] == step_at) { /* `rep stos` and the like: one store, however long */
    step_last = (uint8_t *)((uintptr_t)registers[REG_RDI] & ~(uintptr_t)(STEP_PAGE - 1));
    return;
  }
  registers[REG_EFL] &= ~STEP_TRAP;
  for (; step_first <= step_last; step_first += STEP_PAGE) step_log_page(step_first);
  step_protect(PROT_READ);
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
  log->count = 0;
  step_recording = log;
  step_protect(PROT_READ);
  operation();
  step_recording = NULL;
  step_protect(PROT_READ | PROT_WRITE);
}

/* Runs `operation`, and `other` after `stop` instructions of it: 0 if it has not so many. */
static inline int step_turn(void (*operation)(void), uint32_t stop, void (*other)(void)) {
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

/* Adds the store to what is kept; what was there is swapped into the log, so that the same again takes it back. */
static inline void step_apply(struct step *step) {
  uint8_t old[STEP_PAGE];
  off_t at = (off_t)step->page * STEP_PAGE;
  CHECK(pread(step_file, old, STEP_PAGE, at) == STEP_PAGE && pwrite(step_file, step->bytes, STEP_PAGE, at) == STEP_PAGE);
  memcpy(step->bytes, old, STEP_PAGE);
}

/*
 * Runs scenario `i` of `count`, each in a process of its own, so that one that fails does not hide the others. PLAIT_SCENARIO:
 * the name of the only one.
 */
static inline void step_run_each(size_t count, const char *(*name)(size_t i), void (*run)(size_t i, uint32_t every), uint32_t every) {
  uint32_t failed = 0;
  const char *only = getenv("PLAIT_SCENARIO");
  alarm(0); /* each has its own */
  for (size_t i = 0; i < count; i++) {
    if (only != NULL && strcmp(only, name(i)) != 0) continue;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
      alarm(getenv("PLAIT_ROUNDS") == NULL ? TEST_DEADLINE : TEST_DEADLINE * 60);
      run(i, every);
      fflush(NULL);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) printf("# %s: failed, status %x\n", name(i), (unsigned)status);
    failed += status != 0;
  }
  CHECK(failed == 0);
}

#endif
#endif
