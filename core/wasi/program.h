/*
 * program: a program that runs over the core: what all its threads share.
 *
 * A program is one block of the heap, and a slot of its own, whose thread id owns what its threads open (role 5). It is
 * created and destroyed by its host. Each of its threads has an instance of the core and a slot, which it enters by
 * plait_program_enter(). If one of them is stopped, its slot is recovered as that of any thread; what it has opened
 * stays the program's.
 *
 * The end. `end` leaves 0 once, by one compare-and-swap: with the status of the first thread that called proc_exit, or
 * trapped, or that the host has stopped. All that wait for it are woken. Only the host can stop the other threads.
 *
 * Threads. plait_preview1_thread_spawn() puts a thread id and an argument into the ring, under `spawning`. An idle
 * thread takes both in plait_program_take(). If there are more in the ring than idle threads, `wanted` changes, and the
 * host starts others. `count` counts threads from spawn until whoever ran them is idle again. It never exceeds
 * `limit`, and so the host never has to start more threads than that.
 */
#ifndef PLAIT_WASI_PROGRAM_H
#define PLAIT_WASI_PROGRAM_H

#include "wasi.h"

#define PLAIT_PROGRAM_ENDED 0x80000000u   /* in `end`: the program has ended; the status is in the low 30 bits */
#define PLAIT_PROGRAM_TRAPPED 0x40000000u /* in `end`: by a trap, or by the host */
#define PLAIT_PROGRAM_RING 256u           /* spawned threads that no thread has taken yet */

enum plait_stream_kind {
  PLAIT_STREAM_NONE = 0, /* reading: the end; what is written is dropped */
  PLAIT_STREAM_HOST = 1, /* a file descriptor of the host */
  PLAIT_STREAM_PIPE = 2, /* a pipe in the space (wasi/pipe.h) */
};

/* A thread that was spawned. */
struct plait_program_spawn {
  plait_word_t id;       /* what thread-spawn has returned */
  plait_word_t argument; /* what it was called with */
};

struct plait_program_stream {
  plait_word_t kind;  /* enum plait_stream_kind */
  plait_word_t value; /* descriptor of the host, or reference of the pipe */
};

/* Strings, each with a zero behind it. */
struct plait_program_strings {
  plait_word_t block; /* reference of the bytes, 0 none */
  plait_word_t count; /* how many strings */
  plait_word_t bytes; /* length of the block */
};

struct plait_program {
  struct plait_wasi_program table;                     /* its descriptors */
  plait_word_t owner;                                  /* thread id of its slot */
  plait_word_t end;                                    /* 0 while it runs; else PLAIT_PROGRAM_ENDED and the status */
  struct plait_program_strings arguments;              /* its arguments */
  struct plait_program_strings environment;            /* its environment, NAME=VALUE */
  struct plait_program_stream streams[3];              /* standard input, output and error */
  struct plait_lock spawning;                          /* held while the ring changes */
  plait_word_t head;                                   /* threads ever taken from the ring (wraps) */
  plait_word_t tail;                                   /* threads ever put into it (wraps) */
  plait_word_t signal;                                 /* changes with `tail`; idle threads sleep on it */
  plait_word_t idle;                                   /* threads that wait for one to run */
  plait_word_t arrived;                                /* threads that have ever begun to wait for one */
  plait_word_t wanted;                                 /* changes when the ring has more threads than are idle */
  plait_word_t count;                                  /* threads that were spawned and are not finished */
  plait_word_t limit;                                  /* most that `count` may be */
  plait_word_t next_id;                                /* of the last thread that was spawned */
  struct plait_program_spawn ring[PLAIT_PROGRAM_RING]; /* from `head` to `tail` */
};

/*
 * Creates a program without descriptors, and claims its slot; `host_id` and `starter` are those of the thread that
 * creates it. Returns its reference; 0 without memory or a free slot. Any thread.
 */
plait_ref_t plait_program_create(uint32_t host_id, uint32_t starter, uint32_t thread_limit);

/*
 * Frees the program's blocks, and notes the exit of its slot, which plait_abi_recover() then recovers: that closes what
 * it has opened. pre: its threads have exited and are recovered.
 */
void plait_program_destroy(plait_ref_t program);

/*
 * Makes the calling thread (its instance) one of the program, until plait_program_leave(). 0, -PLAIT_ENOMEM. pre: the
 * thread has attached.
 */
int plait_program_enter(plait_ref_t program);
void plait_program_leave(void);

/* The program that the calling thread has entered, NULL if there is none. */
struct plait_program *plait_program_current(void);
void plait_program_set_current(struct plait_program *program);

/* The calling thread's block of PLAIT_FS_SCRATCH bytes, through which bytes reach the host. */
plait_ref_t plait_program_scratch(void);

/* The time of a clock of preview1 in nanoseconds; 0: there is no such clock. */
uint64_t plait_program_clock(uint32_t id);

/* Gives the program its arguments (0) or environment (1): the block moves to it. pre: it has none yet. */
void plait_program_set_strings(plait_ref_t program, uint32_t which, plait_ref_t block, uint32_t count, uint32_t bytes);

/* Sets standard stream `index`. A pipe moves to the program. pre: no thread of the program runs. */
void plait_program_set_stream(plait_ref_t program, uint32_t index, uint32_t kind, uint32_t value);

/* Gives the program the numbers 0 to 2. 0, or an error. pre: the caller has entered it. */
int plait_program_open_streams(void);

/*
 * Preopens the directory whose path is in `first` (`length` bytes), as the name in the block, which moves to the
 * program. Returns its number. After an error the block is still the caller's. pre: the caller has entered.
 */
int plait_program_preopen(uint32_t length, plait_ref_t name, uint32_t name_length, int is_read_only);

/*
 * Ends the program, if it has not ended yet: 1, or 0. Wakes all that wait for `end`, `signal` or `wanted`. Any thread.
 */
int plait_program_end(plait_ref_t program, uint32_t status, int trapped);

/*
 * Waits for a thread to run: 1, with its id and argument in `out`; 0 when the program has ended. A later call says that
 * the thread has run. `is_first`: the caller's first call. pre: the caller has entered, and may block.
 */
int plait_program_take(plait_ref_t out, int is_first);

/*
 * How many threads the host is to start: those in the ring, without those that are idle, or of the `started` ones that
 * have not arrived yet. Any thread.
 */
uint32_t plait_program_lacking(plait_ref_t program, uint32_t started);

#endif
