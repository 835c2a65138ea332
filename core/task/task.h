/*
 * task: queues of calls that workers pull from, and the way of their results back.
 *
 *     client (a thread that submits) --submit--> its lanes --next--> worker --next/finish--> client's inbox
 *                                          or a seat's lane
 *
 * A task is the record below, and behind it `capacity` bytes that hold a small input and, if it fits, later the output.
 * A large input lies in a block of its own, which the worker frees when it has run the task: a client that is slow to
 * drain keeps small records, not megabytes. A task has one owner at any time, named by its state, and only the owner
 * writes it (but for `control`, which its client and the coordinator write too):
 *
 *     BUILDING  the client's thread    (slot.building names it)
 *     QUEUED    a lane                 (under the pool's lock)
 *     RUNNING   the worker             (slot.running names it, or slot.holding's list), or who delivers it
 *                                      for a dead one (slot.adopted)
 *     DONE      the client's inbox, then the client, which frees it (client.taken and .drained name it until then)
 *
 * A worker runs one task at a time (slot.running). One whose promise is pending may be put aside (slot.holding), so
 * that the worker takes another meanwhile. Word of a running task (progress), and what a worker writes (output), is a
 * record of its own, which goes from BUILDING to DONE at once. A client has at most PLAIT_PROGRESS_LIMIT bytes of it
 * undelivered.
 *
 * What is taken next: the most urgent priority first; within it, the clients in turn, one task each; within a client,
 * first in, first out. A task may be for one seat only: a seat is a worker's place in the pool, one worker after the
 * other sits on it; its lane is first in, first out whatever the priorities, and competes with the rest by its first
 * task's priority.
 *
 * Invariants, all under the pool's lock
 * - A lane is ring[head .. tail), FIFO. A cell in between may be 0, a hole, but neither the first nor the last one. So
 *   "the next head" is the position of the next task. A queued task says at which position it lies.
 * - Taking is `slot.running = task`, then the next head, the commit. Submitting is the write of the ring's cell, then
 *   tail + 1, the commit, then `slot.building = 0`. Putting back a dead worker's task is the write of the cell before
 *   the head, then head - 1, the commit, then `slot.adopted = 0`.
 * - Finishing is the store of the inbox's head, the commit, then `slot.running = 0`. Returning a queued task, when the
 *   pool ends, is the store of the inbox's head, then the next head. Taking back an aborted one is the store of the
 *   inbox's head, the commit, then 0 to its cell; then head and tail move over the holes.
 * - A task is named by one intent record; while a recoverer adopts it, by its own and by dead threads' ones.
 * - `mask` and `queued`, and what queued tasks say of themselves, follow from the lanes; repair makes them anew. A bit
 *   of pool.mask may be set for no lane, never the other way round.
 * - Of what is freed piece by piece, each piece is unlinked and then freed, so a death loses one block. Only the holder
 *   of the recovery lock frees a pool.
 * - So after a death in between, the words tell which side of the commit it was on; plait__pool_repair() puts the
 *   intent record right before the lock's next owner does anything else.
 *
 * A wake-up is only ever a hint: workers sleep after having looked at the queue with `sleepers` raised, clients after
 * having looked at the inbox, and everybody looks again after waking. Workers sleep on one of two words. Who sleeps on
 * `signal` does nothing else: once woken, it looks or it dies, and its recovery wakes all. Who sleeps on `parking` has
 * an event loop that turns, and may be in somebody's timer for hours when its wake-up comes. So for a task the first
 * are woken rather than the second; and where none of the first was there, the coordinator is told (`alert`), which
 * looks a little later and, if tasks still wait while workers sleep, wakes all of them.
 *
 * Before it sleeps, an idle worker looks at the queue for a moment without a pause. One of those says so (`looking`):
 * for a task that is the only one in the queue nobody is woken then. It takes its name away either under the lock,
 * before it takes a task; or before it raises `sleepers` and looks once more: so either it sees the task, or who queued
 * it sees no name (see plait__worker_wake in task.c). If it dies with its name there, or cannot have the lock, all who
 * sleep are woken, and the coordinator is told.
 */
#ifndef PLAIT_TASK_TASK_H
#define PLAIT_TASK_TASK_H

#include "../heap/heap.h"

#define PLAIT_POOL_LIMIT 128u
#define PLAIT_LANE_COUNT 7u /* priorities; lane 0 is the most urgent */
#define PLAIT_SEAT_LIMIT 256u
#define PLAIT_BUCKET_COUNT 128u        /* of a histogram: four for each doubling, from 1 microsecond */
#define PLAIT_TASK_INLINE 64u          /* the least capacity: most results fit without a block of their own */
#define PLAIT_PROGRESS_LIMIT 8388608u  /* bytes of progress and output that lie undelivered for one client, at most */
#define PLAIT_WORDS_CLOSED 4294967295u /* progress and output are refused */
#define PLAIT_POOL_NAMES 256u          /* names that a pool keeps, at most; tasks with further ones bring them along */
#define PLAIT_POOL_NAME_BYTES 1048576u /* bytes of text that those have, at most */
#define PLAIT_TASK_INPUT_INLINE 1024u  /* a larger input gets a block of its own, which need not wait for the result */

enum plait_task_state {
  PLAIT_TASK_BUILDING = 1,
  PLAIT_TASK_QUEUED = 2,
  PLAIT_TASK_RUNNING = 3,
  PLAIT_TASK_DONE = 4,
};

enum plait_task_status {
  PLAIT_STATUS_NONE = 0,        /* not finished */
  PLAIT_STATUS_FULFILLED = 1,   /* the output is the function's result */
  PLAIT_STATUS_REJECTED = 2,    /* the output is an error */
  PLAIT_STATUS_NO_MEMORY = 3,   /* there was no room for the output */
  PLAIT_STATUS_WORKER_DIED = 4, /* the worker vanished, and there was no room to say more */
  PLAIT_STATUS_POOL_CLOSED = 5, /* still queued when the pool was closed by force */
  PLAIT_STATUS_POOL_FAILED = 6, /* no worker could load the module: pool.failure says why */
  PLAIT_STATUS_STOPPED = 7,     /* taken when its `control` said stop already: not run */
  PLAIT_STATUS_PROGRESS = 8,    /* not the end: what the running task tells meanwhile */
  PLAIT_STATUS_DROPPED = 9,     /* not the end: a stand-in was that; only to be freed (see give_up.c) */
  PLAIT_STATUS_OUTPUT = 10,     /* not the end: what a worker writes; `ticket` is the descriptor, 1 or 2 */
};

/* Why a task is to stop; bits of plait_task.control. */
enum plait_stop {
  PLAIT_STOP_ABORT = 1,    /* its client wants no result any more */
  PLAIT_STOP_TIMEOUT = 2,  /* it has run for longer than it may */
  PLAIT_STOP_GIVEN_UP = 4, /* its client has been told its end; whatever it does is of no interest */
};

/* What plait_worker_look() saw. */
enum plait_look {
  PLAIT_LOOK_CALM = 0,  /* no task of the worker has a deadline or is to stop */
  PLAIT_LOOK_WATCH = 1, /* some task has: look again */
  PLAIT_LOOK_TOLD = 2,  /* likewise, and one has just been told to stop */
  /* one was told and has not stopped in its grace: the worker takes no more, and is to be ended */
  PLAIT_LOOK_OVERDUE = 3,
};

/* Whether a worker goes on (plait_slot.condemned); under its pool's lock, and never less than before. */
enum plait_condemned {
  PLAIT_CONDEMNED_NOT = 0,
  PLAIT_CONDEMNED_RETIRED = 1, /* it takes nothing but what the tasks wait for that it has, and ends after them */
  PLAIT_CONDEMNED_STOPPED = 2, /* it takes nothing: it is about to be stopped */
};

/* Of which tasks the coordinator wants to hear. It hears of one, and says so anew when it has looked. */
enum plait_alert {
  PLAIT_ALERT_NONE = 0,   /* of none: it is going to look */
  PLAIT_ALERT_PARKED = 1, /* of one for which nobody but parked workers could be woken */
  PLAIT_ALERT_ANY = 2,    /* and of one for which nobody sleeps at all */
};

/* Why a worker has ended; indices of plait_pool.ended. */
enum plait_ended {
  PLAIT_ENDED_IDLE = 0,     /* there was nothing to do for it */
  PLAIT_ENDED_RECYCLED = 1, /* it had run its share of tasks, or held too much memory */
  PLAIT_ENDED_STOPPED = 2,  /* its task did not stop when it was told to */
  PLAIT_ENDED_CRASHED = 3,  /* an error that nothing caught */
  PLAIT_ENDED_MEMORY = 4,   /* it reached its memory limit */
  PLAIT_ENDED_EXIT = 5,     /* it ended itself */
  PLAIT_ENDED_CLOSED = 6,   /* the pool was closed */
};

enum plait_pool_state {
  PLAIT_POOL_OPEN = 1,
  PLAIT_POOL_CLOSING = 2, /* takes no more tasks; workers stop when the queue is empty */
  PLAIT_POOL_CLOSED = 3,  /* workers stop after what they run */
  PLAIT_POOL_FAILED = 4,  /* likewise; its module cannot be loaded */
};

/* What plait_task_next(), _help() and _give_up() return when they return no task; references are multiples of 16. */
enum plait_next {
  PLAIT_NEXT_NONE = 0,  /* there is none */
  PLAIT_NEXT_STOP = 1,  /* this worker should end */
  PLAIT_NEXT_RETRY = 2, /* the lock's owner does not move: nothing was done, not even finishing; call again */
};

struct plait_task {
  plait_word_t state;         /* enum plait_task_state */
  plait_word_t next;          /* DONE: next task in the inbox, 0 at the end */
  plait_word_t client;        /* client that submitted it */
  plait_word_t ticket;        /* the client's own number for it */
  plait_word_t name;          /* block with the function's name: the pool's (see plait_pool_intern), or name_block */
  plait_word_t worker;        /* RUNNING, DONE: thread that took it */
  plait_word_t capacity;      /* bytes behind the record */
  plait_word_t input_kind;    /* what the input words mean; the binding's, 0 to 255 */
  plait_word_t input_low;     /* an immediate value's low half, or the reference of the bytes */
  plait_word_t input_high;    /* an immediate value's high half, or the number of bytes */
  plait_word_t output_status; /* enum plait_task_status */
  plait_word_t output_kind;   /* what the output words mean; the binding's, 0 to 255 */
  plait_word_t output_low;    /* an immediate value's low half, or the reference of the bytes */
  plait_word_t output_high;   /* an immediate value's high half, or the number of bytes */
  plait_word_t output_block;  /* block that holds the output if it did not fit behind the record, else 0; the task's */
  /* next one that the worker holds, or in client.drained; of a stand-in and of unsent progress: the task */
  plait_word_t link;
  plait_word_t input_block; /* block that holds a large input, else 0; the task's, freed when it has been run */
  plait_word_t lane;        /* its priority: index of the lane, 0 the most urgent */
  plait_word_t seat;        /* seat whose worker alone may run it; 0: any may */
  plait_word_t control;     /* bits of enum plait_stop; 0: go on */
  plait_word_t timeout_ms;  /* how long it may run; 0: as long as it likes */
  plait_word_t started_ms;  /* RUNNING: when it was started, by the host's clock (wraps; never 0); 0 before */
  plait_word_t told_ms;     /* RUNNING: when `control` was first seen not to be 0 (wraps; never 0); 0 before */
  /* how often it may still be run again after a worker's death; its input is kept for that */
  plait_word_t retries;
  plait_word64_t submitted; /* when it was submitted: a double, the host's clock in milliseconds */
  /* block with a name that the pool does not keep, else 0; the task's, freed when it has been run */
  plait_word_t name_block;
  plait_word_t position; /* QUEUED: where in its lane */
};
_Static_assert(sizeof(struct plait_task) == 112, "the bytes behind the record are aligned to 16");

struct plait_ring {
  plait_word_t capacity; /* cells, a power of two */
  plait_word_t previous; /* while another ring takes over: the one before; else 0 */
  plait_word_t cells[];  /* tasks; 0: a hole */
};

struct plait_lane {
  plait_word_t ring;   /* the cells; 0 before the first task */
  plait_word_t head;   /* tasks ever taken (wraps): where the next is taken */
  plait_word_t tail;   /* tasks ever submitted (wraps): where the next is put */
  plait_word_t unused; /* zero */
};

struct plait_client {
  plait_word_t next;    /* next client of the pool */
  plait_word_t pool;    /* the pool */
  plait_word_t owner;   /* thread that submits and drains; 0 once it is dead: results are dropped */
  plait_word_t inbox;   /* finished tasks, the last first; under the pool's lock */
  plait_word_t signal;  /* goes up when the inbox stops being empty: what the owner sleeps on */
  plait_word_t taken;   /* tasks out of the inbox that drain has still to turn round, the last first */
  plait_word_t drained; /* tasks that the owner was given and has not freed, linked by `link` */
  plait_word_t mask;    /* a bit for each lane that is not empty */
  /* bytes of progress and output in the inbox, or PLAIT_WORDS_CLOSED: what a worker sleeps on that waits for room */
  plait_word_t words;
  struct plait_lane lanes[PLAIT_LANE_COUNT]; /* queued tasks that any worker may run, by priority */
};

/* A worker's place. The words behind the lane are statistics, written by the worker that sits there. */
struct plait_seat {
  plait_word_t thread;     /* the worker that sits there, until the coordinator has seen its end; else 0 */
  plait_word_t failed;     /* tasks that ended in an error (wraps) */
  struct plait_lane lane;  /* queued tasks that only this seat's worker may run */
  plait_word_t wait_max;   /* the longest that a task has waited, in microseconds */
  plait_word_t run_max;    /* the longest that one has run, in microseconds */
  plait_word64_t born;     /* when the worker was born: a double, the host's clock in milliseconds */
  plait_word64_t active;   /* milliseconds that its event loop was active: a double */
  plait_word64_t looked;   /* when that was noted: a double, the host's clock in milliseconds */
  plait_word_t memory_kib; /* its JavaScript heap, when last noted */
  plait_word_t completed;  /* tasks that ended well (wraps) */
  plait_word64_t busy;     /* milliseconds that it spent in tasks: a double */
  plait_word_t holding;    /* tasks that it has put aside */
  plait_word_t unused;     /* zero */
  plait_word_t waits[PLAIT_BUCKET_COUNT]; /* how many tasks waited how long */
  plait_word_t runs[PLAIT_BUCKET_COUNT];  /* how many tasks ran how long */
};

struct plait_name {
  plait_word_t next; /* next name of the pool */
  plait_word_t size; /* bytes of text */
  uint8_t text[];    /* UTF-8: an export's name, or a function's source after a byte 0xff */
};

struct plait_pool {
  struct plait_lock lock; /* guards lanes and inboxes */
  plait_word_t state;     /* enum plait_pool_state */
  plait_word_t owner;     /* thread that made the pool; its death closes it; 0: it has let go of it */
  plait_word_t mask;      /* a bit for each priority at which some client may have a task queued */
  plait_word_t queued;    /* tasks in all lanes */
  /* always odd; goes up by 2 to wake workers: what those sleep on that wait for nothing else */
  plait_word_t signal;
  plait_word_t sleepers;         /* workers that sleep or are about to; may be too high after a death, never too low */
  plait_word_t clients;          /* first client */
  plait_word_t turn;             /* client that is asked first for the next task; 0: the first one */
  plait_word_t seats;            /* block with a word for each of PLAIT_SEAT_LIMIT seats; 0 before the pool is open */
  plait_word_t names;            /* first interned name */
  plait_word_t failure;          /* FAILED: block with the encoded error, else 0 */
  plait_word_t failure_size;     /* its bytes */
  plait_word_t finished;         /* tasks ever finished (wraps); statistics: a death may count one twice */
  plait_word_t dropped;          /* tasks ever dropped because their client had died (wraps); likewise */
  plait_word_t queue_limit;      /* most tasks that may be queued */
  plait_word_t grace_ms;         /* how long a task that was told to stop may take */
  plait_word_t attention;        /* goes up when the coordinator should look: what it sleeps on */
  plait_word_t alert;            /* enum plait_alert: of which tasks the coordinator wants to hear */
  plait_word_t timeout_ms;       /* the shortest timeout of any task so far; 0: there was none */
  plait_word_t min_threads;      /* fewest workers */
  plait_word_t max_threads;      /* most workers */
  plait_word_t threads;          /* workers now: starting or at work */
  plait_word_t born;             /* workers ever started (wraps) */
  plait_word_t wake_all;         /* 1: a new task wakes all sleepers, because some of them may be busy with others */
  plait_word_t ended[7];         /* workers ever ended, by enum plait_ended (wrap) */
  plait_word_t usual_timeout_ms; /* timeout of a task that says none; 0: it has none */
  plait_word_t lost;             /* tasks that ended with their worker (wraps) */
  plait_word_t unread;   /* results delivered since a client last emptied its inbox; a hint: a death may miscount */
  plait_word_t attended; /* value of `attention` that the coordinator has seen: it is alive if this follows */
  /* always odd; goes up by 2 to wake parked workers: what those sleep on whose event loops turn */
  plait_word_t parking;
  /* the worker that looks at the queue without a pause, or has found a task and comes for it; 0: none */
  plait_word_t looking;
  plait_word_t usual_retries; /* retries of a task that says none */
};
_Static_assert(sizeof(struct plait_pool) == 160, "no padding");

struct plait_task_root {
  plait_word_t pools[PLAIT_POOL_LIMIT]; /* every pool of the space, 0 where there is none */
};

/* The root of this room. */
#ifdef __wasm__
extern struct plait_task_root plait__task_root;
static inline struct plait_task_root *plait_task_root(void) {
  return &plait__task_root;
}
#else
static inline struct plait_task_root *plait_task_root(void) {
  return plait_at(plait_platform_first() + (plait_ref_t)(sizeof(struct plait_space) + sizeof(struct plait_heap)));
}
#endif

/* Where a walk over all lanes of a pool is; zero to begin. */
struct plait_lane_walk {
  plait_ref_t client; /* the client whose lanes are walked; 0: the seats' */
  uint32_t index;     /* of the next lane, or seat */
  uint32_t seats;     /* 1: the clients are done */
};

/* ---- pool.c ---- */

/* A new, open pool owned by the calling thread; 0 if memory or the table of pools is full. Any thread. */
plait_ref_t plait_pool_create(void);

/*
 * Frees a pool and all it holds, tasks included, also those that dead threads ran. 0, -PLAIT_EINVAL (no such pool), or
 * nothing was done: -PLAIT_EAGAIN (another live worker is inside, or a thread has yet to finish a task that it adopted)
 * or -PLAIT_ETIMEDOUT. pre: nobody submits to it, drains or waits any more.
 */
int plait_pool_destroy(plait_ref_t pool);

/*
 * The calling thread, which owns the pool (it has ended), does so no longer. Whoever is the last to let go of it, or of
 * a client of it, frees it. 0, -PLAIT_EINVAL (no such pool, or not its owner) or -PLAIT_ETIMEDOUT.
 */
int plait_pool_release(plait_ref_t pool);

/*
 * Progress and output for the client are refused from now on, as if it were gone: after the next drain there is none. 0
 * or -PLAIT_ETIMEDOUT. pre: the client is the calling thread's.
 */
int plait_client_close(plait_ref_t client);

/*
 * The calling thread uses its client no more: what it has got is dropped, and what is still to come. 0 or
 * -PLAIT_ETIMEDOUT. pre: the client is the thread's own, which also says that its pool is there.
 */
int plait_client_release(plait_ref_t client);

/*
 * The seat of that index, made if it is not there; 0: no memory, or the lock's owner is stuck. pre: index < the limit.
 */
plait_ref_t plait_pool_seat(plait_ref_t pool, uint32_t index);

/*
 * A client of the pool, owned by the calling thread, or one that nobody owns any more, taken over. It is freed with the
 * pool, which is there as long as a live thread owns a client of it. 0: no memory, no such pool, or a lock's owner is
 * stuck.
 */
plait_ref_t plait_client_create(plait_ref_t pool);

/*
 * Moves an open pool to CLOSING, CLOSED or FAILED (or a closing one to CLOSED) and wakes everybody. Beyond CLOSING,
 * tasks still queued come back as POOL_CLOSED or POOL_FAILED. 0, -PLAIT_EINVAL or -PLAIT_ETIMEDOUT. Any thread.
 */
int plait_pool_end(plait_ref_t pool, uint32_t state);

/* Gives a pool the block that says why it fails; the pool frees it. pre: before plait_pool_end(FAILED), once. */
void plait_pool_set_failure(plait_ref_t pool, plait_ref_t block, uint32_t size);

/* ---- name.c ---- */

/*
 * A name of `size` bytes; 0: no memory. The caller writes the text and hands it to plait_pool_intern(), before anything
 * that makes another name, a seat or a task queued.
 */
plait_ref_t plait_name_create(uint32_t size);

/*
 * The pool's name with the same text, for as long as there is the pool; the given one is kept or freed. 0, and it is
 * freed: the pool keeps as many as it may, or the lock's owner is stuck. pre: the caller has just made it.
 */
plait_ref_t plait_pool_intern(plait_ref_t pool, plait_ref_t name);

/*
 * Makes a block of `size` bytes of text the name of a BUILDING task, which owns it; 0: no memory. The caller writes it.
 */
plait_ref_t plait_task_name(plait_ref_t task, uint32_t size);

/* ---- task.c ---- */

/*
 * A task with room for `size` bytes of input, BUILDING; its words input_low and input_high say where and how many.
 * 0: no memory. pre: the calling thread has none in building.
 */
plait_ref_t plait_task_create(plait_ref_t client, uint32_t size);

/* Frees a BUILDING task that will not be submitted. */
void plait_task_discard(plait_ref_t task);

/*
 * Queues a BUILDING task and wakes a worker. 0, -PLAIT_EPIPE (the pool is not open; its workers may until it is
 * CLOSED), -PLAIT_EAGAIN (its queue is full, and the calling thread is none of its workers), -PLAIT_ENOMEM or
 * -PLAIT_ETIMEDOUT; after an error the task is still BUILDING.
 */
int plait_task_submit(plait_ref_t task);

/*
 * Tells a task to stop, for its client wants no result any more. One that is still queued leaves the queue, and lies in
 * the client's inbox as STOPPED. 1, or, with `control` set: 0 (it was not queued any more) or -PLAIT_ETIMEDOUT (it
 * stays where it is). pre: the calling thread owns the client, has submitted the task, and has not drained it.
 */
int plait_task_abort(plait_ref_t task);

/*
 * Puts the task that the calling thread has adopted back to the front of its lane, with one retry less. 0,
 * -PLAIT_EINVAL (it has none left, is to stop, or none is adopted), -PLAIT_EPIPE (the pool takes no more),
 * -PLAIT_ENOMEM or -PLAIT_ETIMEDOUT; after an error it is still adopted.
 */
int plait_task_requeue(plait_ref_t task);

/*
 * Sends a BUILDING record straight to its client's inbox: word of a task that the caller runs, or output. The client
 * and ticket of word are that task's, and its `link` names the task; the `link` of output is 0. 0, or it is still
 * BUILDING: -PLAIT_EAGAIN (too much lies there undelivered), -PLAIT_EPIPE (the client is gone, or the task was given
 * up) or -PLAIT_ETIMEDOUT. Whoever waits for room sleeps on `client.words`, and looks by itself from time to time.
 */
int plait_task_emit(plait_ref_t record);

/*
 * For a worker: delivers `finished` (0: none), which it has run, and takes the next task. A task, or enum plait_next. A
 * `finished` that is not the task that the worker runs is not touched. `busy_us`: time that the finished task took.
 */
uint32_t plait_task_next(plait_ref_t finished, uint32_t busy_us);

/*
 * For a worker whose task waits for tasks of `client`, its own: takes the next of these, or of its seat. A task or
 * PLAIT_NEXT_NONE, or PLAIT_NEXT_RETRY. pre: the worker runs nothing (it holds the task that waits).
 */
uint32_t plait_task_help(plait_ref_t client);

/* For a worker: puts the task that it runs aside, to take others. 0, -PLAIT_EINVAL or -PLAIT_ETIMEDOUT. */
int plait_task_hold(void);

/*
 * Delivers a task that the calling thread has adopted, holds or runs. 0, -PLAIT_EINVAL or -PLAIT_ETIMEDOUT (nothing was
 * done).
 */
int plait_task_finish(plait_ref_t task);

/* Where to write `size` bytes of output: behind the record, or a block that the task owns; 0: no memory. */
plait_ref_t plait_task_output(plait_ref_t task, uint32_t size);

/*
 * Takes all that lies in the inbox, the oldest first, linked by `next`; 0: nothing, or the lock's owner is stuck. For
 * the client's owner.
 */
plait_ref_t plait_client_drain(plait_ref_t client);

/* Frees a drained task; quickest in the order of draining. Anything else is ignored. For the client's owner. */
void plait_task_free(plait_ref_t task);

/* ---- give_up.c ---- */

/*
 * Settles one of the tasks that a condemned worker runs or holds, though it goes on: the stand-in, which the calling
 * thread has adopted and finishes (plait_task_finish); its `control` and `timeout_ms` are the task's. PLAIT_NEXT_NONE:
 * there is none (any more). PLAIT_NEXT_RETRY: no memory, or a lock's owner is stuck. pre: the calling thread has
 * adopted nothing and builds nothing.
 */
plait_ref_t plait_task_give_up(plait_thread_t worker);

/* What a thread left that died in there. pre: holds the pool's lock, which the dead thread may have held. */
void plait__stand_in_repair(struct plait_pool *pool, struct plait_slot *dead);

/* ---- worker.c ---- */

/*
 * The calling thread becomes a worker of `pool`. For native programs; a wasm host writes the word when it claims the
 * slot.
 */
void plait_worker_enter(plait_ref_t pool);

/*
 * About to park: the value of pool.parking to sleep on, or 0 if there is something to do instead. After a value other
 * than 0, plait_worker_park_end() must follow, sleep or not.
 */
uint32_t plait_worker_park_begin(void);
void plait_worker_park_end(void);

/*
 * Looks at the queue `spins` times, then sleeps until there may be something to do, `timeout_ms` at most. 0: it has
 * looked so often in vain; else 1. The caller goes on with plait_task_next() and nothing else: others may rely on it to
 * come for a task. pre: the thread may block.
 */
uint32_t plait_worker_wait(uint32_t timeout_ms, uint32_t spins);

/*
 * Looks at the tasks that a live worker runs and holds: tells those to stop whose time is over, and condemns the
 * worker, so that it takes no further task, when one did not stop in its grace. enum plait_look or -PLAIT_ETIMEDOUT.
 * Under the pool's lock, so no innocent task can be started on it afterwards, and under the recovery lock, so the pool
 * stays. `now_ms`: the host's clock.
 */
int plait_worker_look(plait_thread_t worker, uint32_t now_ms);

/*
 * A live worker takes no further task: it ends when it has done what it has, and helps that meanwhile. 1, 0 (it is
 * gone), -PLAIT_ETIMEDOUT.
 */
int plait_worker_retire(plait_thread_t worker);

/* The calling worker takes its place. pre: no live worker sits there. */
void plait_worker_sit(plait_ref_t seat);

/* Has the coordinator look at the pool. Any thread. */
void plait_pool_attend(plait_ref_t pool);

/* Wakes every worker of the pool. Any thread. */
void plait_pool_rouse(plait_ref_t pool);

/* Wakes every worker of the pool, and every client that has something in its inbox. Any thread. */
void plait_pool_wake(struct plait_pool *pool);

/* ---- recover.c, destroy.c, check.c ---- */

/*
 * Puts right what a dead thread left in this room. pre: the caller holds the recovery lock and has adopted nothing; the
 * slot is DEAD. `running`: a task that it ran, which the calling thread has now adopted (plait_task_finish it), or 0.
 * 0; 1: it held further tasks, so call again once this one is finished; or -PLAIT_ETIMEDOUT: a pool's lock is stuck. In
 * both cases some of it is left to do, and the slot must stay DEAD.
 */
int plait_task_recover(struct plait_slot *dead, plait_ref_t *running);

/*
 * Whether `ref` names a task of the pool; if it is freed meanwhile, the answer may be either. pre: holds the pool's
 * lock.
 */
int plait__pool_has_task(struct plait_pool *pool, plait_ref_t ref);

/* Takes a task from every dead thread whose intent record names it. pre: the caller holds the recovery lock. */
void plait__intents_clear(plait_ref_t task);

/* Frees a pool that no live thread uses: its owner and clients are dead. pre: the caller holds the recovery lock. */
void plait__pool_destroy_orphan(plait_ref_t pool);

/* Repairs a pool whose lock was taken over. pre: the caller holds the pool's lock. */
void plait__pool_repair(struct plait_pool *pool);

/* The pool's place in the registry; PLAIT_POOL_LIMIT: it is in none, or 0. */
uint32_t plait__pool_index(plait_ref_t pool);

/* Takes the pool's lock, repairing if its owner died: 0 or -PLAIT_ETIMEDOUT. */
int plait__pool_lock(struct plait_pool *pool);

/*
 * Puts a task, of which `*intent` says that somebody holds it, into its client's inbox, or frees it if the client is
 * dead; then stores `after` to the intent. Returns the client to wake after the lock is given back, or NULL. pre: holds
 * the lock. `counts`: it is the end of a task.
 */
struct plait_client *plait__task_deliver(
    struct plait_pool *pool, plait_ref_t task, plait_word_t *intent, uint32_t after, int counts);

/*
 * Wakes a worker for a task that the caller has queued, unless one is about to come for it; `all`: every worker (a task
 * for one seat: whose that is cannot be seen). The coordinator hears of it unless a worker was woken that is sure to
 * come.
 */
void plait__worker_wake(struct plait_pool *pool, int all);

/* Wakes a client that has got something. */
void plait__client_wake(struct plait_client *client);

/* Frees what a task owns. The task comes after it, once nothing names it any more: so a death loses one block. */
void plait__task_strip(plait_ref_t task);

/* Frees all tasks that a client has got. pre: holds the pool's lock, or is alone with the client. */
void plait__client_empty(struct plait_client *client);

/* Drops what the clients of a thread have got, and what is still to come for them. pre: holds the pool's lock. */
void plait__clients_orphan(struct plait_pool *pool, plait_thread_t owner);

/* Sends every queued task of an ended pool back to its client; the caller wakes. pre: holds the lock. */
void plait__pool_return_queued(struct plait_pool *pool);

/* The i-th lane of the pool, with the client or seat that has it; NULL behind the last. pre: holds the lock. */
struct plait_lane *plait__pool_lane(struct plait_pool *pool, struct plait_lane_walk *walk);

/* The ring's cell for a position. */
static inline plait_word_t *plait__lane_cell(const struct plait_lane *lane, uint32_t position) {
  struct plait_ring *ring = plait_at(plait_load(&lane->ring));
  return &ring->cells[position & (plait_load(&ring->capacity) - 1)];
}

/* The first task of a lane, 0: none. pre: holds the lock. */
static inline plait_ref_t plait__lane_first(const struct plait_lane *lane) {
  uint32_t head = plait_get(&lane->head);
  return head == plait_get(&lane->tail) ? 0 : plait_get(plait__lane_cell(lane, head));
}

/* Puts a BUILDING task, or in front an adopted one, into its lane: as plait_task_submit() and _requeue(). */
int plait__lane_put(struct plait_pool *pool, plait_ref_t task);
int plait__lane_put_back(struct plait_pool *pool, plait_ref_t task);

/*
 * Takes the next task for the worker whose slot is the caller's: of any client, or of `only` and its own seat. 0: none.
 * pre: holds the lock; the worker runs nothing.
 */
plait_ref_t plait__lane_take(struct plait_pool *pool, struct plait_slot *self, struct plait_client *only);

/*
 * Takes a queued task out of its lane, wherever it lies there, and delivers it as STOPPED: 1, and `wake` as
 * plait__task_deliver() gives it; 0: it is in no lane. pre: holds the lock; the task's client has an owner.
 */
int plait__lane_withdraw(struct plait_pool *pool, plait_ref_t task, struct plait_client **wake);

/* The position of the next task behind one; the tail: there is none. pre: holds the lock. */
uint32_t plait__lane_after(const struct plait_lane *lane, uint32_t position);

/*
 * After a death: frees cells whose tasks have been delivered, and moves head and tail over holes. pre: holds the lock.
 */
void plait__lane_repair(struct plait_lane *lane);

/* Makes what follows from the lanes anew: `mask`, `queued`, state and position of queued tasks. pre: holds the lock. */
void plait__pool_recount(struct plait_pool *pool);

/* Walks every pool: 0, -PLAIT_EILSEQ or -PLAIT_ETIMEDOUT. Any thread. */
int plait_task_check(void);

#endif
