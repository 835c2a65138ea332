/*
 * space: the structure at the start of every space, and the slots of threads.
 *
 * Layout of a space: struct plait_space and the roots of the other modules (heap, fs, task), then the heap's slices up
 * to the end of the memory. docs/internals/memory-layout.md is generated from the comments here.
 *
 * Threads and slots. A thread id is generation << 8 | slot index. The generation increases each time the slot is
 * claimed, so an id is not reused within 2^23 threads on one slot. A stale id is never mistaken for the slot's new
 * owner. `generation_state` holds generation and state in one word, so one store changes the state.
 *
 *     FREE(g) --claim: CAS--> LIVE(g+1) --detach or exit: CAS--> EXITED(g+1) --recovery done: store--> FREE(g+1)
 *
 * Invariant: only the owner writes the words of a LIVE slot; only the holder of the recovery lock writes those of an
 * EXITED slot. `running`, `holding`, `adopted`, `building`, `scratch` and `sleeping` are the thread's intent record.
 * Each names, by one store, what would be lost if the thread exited at the next instruction.
 */
#ifndef PLAIT_SYNC_SPACE_H
#define PLAIT_SYNC_SPACE_H

#include "lock.h"

#define PLAIT_SPACE_MAGIC 0x54494C50u /* "PLIT", little-endian */
#define PLAIT_LAYOUT_VERSION 6u
#if defined(__wasm__) && !defined(__wasm_atomics__)
# define PLAIT_SLOT_LIMIT 1u /* a program without threads */
#else
#define PLAIT_SLOT_LIMIT 256u
#endif
#define PLAIT_BOOT_SIZE 1024u
#define PLAIT_TLS_SIZE 64u

typedef uint32_t plait_thread_t; /* a thread id; 0 is no thread */

#define PLAIT_ROLE_COORDINATOR 2u /* see `role` */
#define PLAIT_ROLE_PROGRAM 5u

enum plait_slot_state {
  PLAIT_SLOT_FREE = 0,   /* no thread has it */
  PLAIT_SLOT_LIVE = 1,   /* its thread is not known to have exited */
  PLAIT_SLOT_EXITED = 2, /* its thread has certainly exited; recovery has not finished */
};

struct plait_slot {
  plait_word_t generation_state; /* generation << 8 | state (0 free, 1 live, 2 exited) */
  plait_word_t host_id;          /* the host's name for the thread: Node's threadId, 0 where there is none */
#ifndef PLAIT_HEAP_LIBRARY       /* the rest serves tasks and recovery */
  /*
   * what the host uses the thread for: 1 main, 2 coordinator, 3 worker, 4 other; 0 native; 5: no thread, but a program,
   * which owns what its threads open
   */
  plait_word_t role;
  plait_word_t stack;       /* block that holds the thread's C stack (wasm32); freed by recovery */
  plait_word_t pool;        /* pool whose tasks this thread runs, 0 if it is no worker */
  plait_word_t running;     /* intent: task that this thread has taken and not finished */
  plait_word_t adopted;     /* intent: task that this thread delivers in another's place */
  plait_word_t building;    /* intent: task that this thread has made and not submitted */
  plait_word_t scratch;     /* intent: block that this thread has allocated and not published */
  plait_word_t sleeping;    /* intent: pool in whose `sleepers` this thread is counted */
  plait_word_t tasks_taken; /* tasks that this thread has ever taken; identifies the current run */
  plait_word_t stop_state;  /* enum plait_stop_state: whether the worker takes tasks (task/layout.h) */
  plait_word_t held[10];    /* locks that this thread holds or is about to take, outermost first; 0 none */
  plait_word_t held_count;  /* how many of `held` are in use */
  plait_word_t tasks_done;  /* tasks finished by this thread (wraps) */
  plait_word64_t busy_us;   /* microseconds that this thread has spent inside tasks */
  plait_word_t holding;     /* tasks that this thread has put aside and not finished, the last first */
  plait_word_t place;       /* worker place that this worker occupies; 0: none */
  /* the host's name for the thread that started this one, which it does not outlive; 0 unknown */
  plait_word_t starter;
  plait_word_t unused[3]; /* zero; pads the slot to two cache lines */
#endif
};
#ifndef PLAIT_HEAP_LIBRARY
_Static_assert(sizeof(struct plait_slot) == 128, "a slot is two cache lines");
#endif

/*
 * Boot stack: a wasm32 thread runs here until attaching has allocated its own stack, which itself needs a stack. The
 * TLS block stays here as long as the thread exists. Unused natively.
 */
struct plait_boot {
  uint8_t tls[PLAIT_TLS_SIZE];                     /* the instance's thread-local block */
  uint8_t stack[PLAIT_BOOT_SIZE - PLAIT_TLS_SIZE]; /* stack while attaching, growing down */
};
_Static_assert(sizeof(struct plait_boot) == PLAIT_BOOT_SIZE, "boots are addressed by index");

struct plait_space {
  plait_word_t magic;                        /* PLAIT_SPACE_MAGIC once the space is laid out, 0 before */
  plait_word_t layout_version;               /* PLAIT_LAYOUT_VERSION of the module that laid it out */
  struct plait_lock recovery;                /* held while an exited thread is recovered; outermost in the lock order */
  plait_word_t exits;                        /* threads recovered so far (wraps) */
  plait_word_t fs;                           /* natively, where the root of fs lies; unused in wasm32 */
  plait_word_t unused[10];                   /* zero */
  struct plait_slot slots[PLAIT_SLOT_LIMIT]; /* one slot for each thread */
#ifndef PLAIT_HEAP_LIBRARY                   /* threads of other programs have their own */
  struct plait_boot boots[PLAIT_SLOT_LIMIT]; /* one boot stack for each slot */
#endif
};

/*
 * This process's space. Any thread. In wasm32 the roots of the modules are statics, at addresses that the linker knows.
 * Natively they are one after the other at the start of the mapping.
 */
#ifdef __wasm__
extern struct plait_space plait__space_root;
static inline struct plait_space *plait_space(void) {
  return &plait__space_root;
}
#else
static inline struct plait_space *plait_space(void) {
  return plait_at(plait_platform_first());
}
#endif

static inline uint32_t plait_thread_index(plait_thread_t thread) {
  return thread & 255u;
}

static inline struct plait_slot *plait_slot_of(plait_thread_t thread) {
  return &plait_space()->slots[plait_thread_index(thread)];
}

/* Lays out an empty space. pre: no other thread uses it yet. 0, or -PLAIT_ENOMEM without the first pages. */
int plait_space_init(void);

/* Claims a free slot and returns the new thread's id, 0 if all are taken. Any thread. */
plait_thread_t plait_slot_claim(uint32_t host_id);

/*
 * Makes the calling (native or wasm) thread the one with the id `thread`. pre: the caller has claimed it. `may_block`:
 * see lock.h.
 */
void plait_slot_enter(plait_thread_t thread, int may_block);

/* Clears the calling thread's identity. Its slot does not change. */
void plait_slot_leave(void);

/* The calling thread's slot and id. pre: it has entered. */
struct plait_slot *plait_self(void);
plait_thread_t plait_self_id(void);

/*
 * Declares a thread-local word: plait__get_NAME() and plait__set_NAME(). In Wasm with threads, an instance is a thread
 * and the word is a global of the instance. That saves one load compared with a thread-local block. And a thread that
 * the host runs in an instance after another one that has not left, continues as that one. Accessed by assembly: clang
 * (22) can declare such variables with address_space(1), but turns their loads into loads from memory if only a byte is
 * used or 64 bits are needed.
 */
#ifdef __wasm_atomics__
#define PLAIT_OF_THREAD(type, name)                                                \
  PLAIT_TINY type plait__get_##name(void) {                                        \
    type value;                                                                    \
    __asm__ volatile("global.get plait__" #name "\n\tlocal.set %0" : "=r"(value)); \
    return value;                                                                  \
  }                                                                                \
  PLAIT_TINY void plait__set_##name(type value) {                                  \
    __asm__ volatile("local.get %0\n\tglobal.set plait__" #name : : "r"(value));   \
  }
#else
#define PLAIT_OF_THREAD(type, name)               \
  extern _Thread_local type plait__##name;        \
  PLAIT_TINY type plait__get_##name(void) {       \
    return plait__##name;                         \
  }                                               \
  PLAIT_TINY void plait__set_##name(type value) { \
    plait__##name = value;                        \
  }
#endif

/* The calling thread's heap: struct plait_thread_heap of the module heap. Null after entering. */
PLAIT_OF_THREAD(void *, thread_heap)

/* Whether the calling thread's slot names a lock that it holds. */
#ifdef PLAIT_HEAP_LIBRARY
#define plait_self_holds() 0 /* never called with a lock held: see mutex.c */
#else
int plait_self_holds(void);
#endif

/*
 * Names a block that the calling thread has allocated and not published, 0 none (`scratch`). In a library nobody would
 * free it: no exit is noticed.
 */
#ifdef PLAIT_HEAP_LIBRARY
static inline void plait_self_intend(plait_ref_t block) {
  (void)block;
}
#else
static inline void plait_self_intend(plait_ref_t block) {
  plait_put(&plait_self()->scratch, block);
}
#endif

/* Whether the calling thread may wait on a word (a browser's main thread may not). */
int plait_self_may_block(void);

/* Whether `thread` still has its slot and is not known to have exited. Any thread. */
static inline int plait_thread_alive(plait_thread_t thread) {
  uint32_t generation_state = near_load(&plait_slot_of(thread)->generation_state, memory_order_acquire);
  return generation_state == ((thread & ~255u) | PLAIT_SLOT_LIVE);
}

/*
 * Notes that `thread` has certainly exited. 1: its slot is EXITED now. 0: the id is stale, or its exit was already
 * noted. Any thread.
 */
int plait_thread_note_exit(plait_thread_t thread);

/* Frees an EXITED slot. pre: the caller holds the recovery lock, and nothing of the thread is left. */
void plait_slot_release(struct plait_slot *slot);

#endif
