/*
 * task layout: what a pool and its tasks are in shared memory. tools/layout.py carries it to TypeScript.
 */
#ifndef PLAIT_TASK_LAYOUT_H
#define PLAIT_TASK_LAYOUT_H

#include "../heap/heap.h"

#define PLAIT_POOL_LIMIT 128u
#define PLAIT_PRIORITY_COUNT 7u /* priorities; queue 0 is the most urgent */
#define PLAIT_PLACE_LIMIT 256u
#define PLAIT_BUCKET_COUNT 128u           /* of a histogram: four for each doubling, from 1 microsecond */
#define PLAIT_TASK_INLINE 64u             /* the least capacity: most results fit without a block of their own */
#define PLAIT_MESSAGES_CLOSED 4294967295u /* progress and output are refused */
#define PLAIT_PROGRESS_LIMIT 8388608u  /* bytes of progress and output that lie undelivered for one client, at most */
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
  PLAIT_STATUS_DISCARDED = 9,   /* not the end: a stand-in was that; only to be freed (see detach.c) */
  PLAIT_STATUS_OUTPUT = 10,     /* not the end: what a worker writes; `ticket` is the descriptor, 1 or 2 */
};

/* Why a task is to stop; bits of plait_task.control. */
enum plait_stop {
  PLAIT_STOP_ABORT = 1,    /* its client wants no result any more */
  PLAIT_STOP_TIMEOUT = 2,  /* it has run for longer than it may */
  PLAIT_STOP_DETACHED = 4, /* its client has been told its end; whatever it does is of no interest */
};

/* What plait_worker_poll() saw. */
enum plait_poll {
  PLAIT_POLL_NONE = 0,           /* no task of the worker has a deadline or is to stop */
  PLAIT_POLL_AGAIN = 1,          /* some task has: look again */
  PLAIT_POLL_STOP_REQUESTED = 2, /* likewise, and one has just been told to stop */
  /* one was told and has not stopped in its grace: the worker takes no more, and is to be ended */
  PLAIT_POLL_OVERDUE = 3,
};

/* Whether a worker goes on (plait_slot.condemned); under its pool's lock, and never less than before. */
enum plait_stop_state {
  PLAIT_WORKER_RUNNING = 0,
  PLAIT_WORKER_DRAINING = 1, /* it takes nothing but what the tasks wait for that it has, and ends after them */
  PLAIT_WORKER_STOPPING = 2, /* it takes nothing: it is about to be stopped */
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
  plait_word_t input_block;       /* block that holds a large input, else 0; the task's, freed when it has been run */
  plait_word_t priority;          /* its priority: index of the queue, 0 the most urgent */
  plait_word_t place;             /* worker place whose worker alone may run it; 0: any may */
  plait_word_t control;           /* bits of enum plait_stop; 0: go on */
  plait_word_t timeout_ms;        /* how long it may run; 0: as long as it likes */
  plait_word_t started_ms;        /* RUNNING: when it was started, by the host's clock (wraps; never 0); 0 before */
  plait_word_t stop_requested_ms; /* RUNNING: when `control` was first seen not to be 0 (wraps; never 0); 0 before */
  /* how often it may still be run again after a worker's death; its input is kept for that */
  plait_word_t retries;
  plait_word64_t submitted; /* when it was submitted: a double, the host's clock in milliseconds */
  /* block with a name that the pool does not keep, else 0; the task's, freed when it has been run */
  plait_word_t name_block;
  plait_word_t position; /* QUEUED: where in its queue */
};
_Static_assert(sizeof(struct plait_task) == 112, "the bytes behind the record are aligned to 16");

struct plait_ring {
  plait_word_t capacity; /* cells, a power of two */
  plait_word_t previous; /* while another ring takes over: the one before; else 0 */
  plait_word_t cells[];  /* tasks; 0: a hole */
};

struct plait_queue {
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
  plait_word_t mask;    /* a bit for each queue that is not empty */
  /* bytes of progress and output in the inbox, or PLAIT_MESSAGES_CLOSED: what a worker sleeps on that waits for room */
  plait_word_t message_bytes;
  struct plait_queue queues[PLAIT_PRIORITY_COUNT]; /* queued tasks that any worker may run, by priority */
};

/* A worker's place. The words behind the queue are statistics, written by the worker that sits there. */
struct plait_worker_place {
  plait_word_t thread;       /* the worker that sits there, until the coordinator has seen its end; else 0 */
  plait_word_t failed;       /* tasks that ended in an error (wraps) */
  struct plait_queue queue;  /* queued tasks that only this worker place's worker may run */
  plait_word_t wait_max;     /* the longest that a task has waited, in microseconds */
  plait_word_t run_max;      /* the longest that one has run, in microseconds */
  plait_word64_t ready_at;   /* when the worker was born: a double, the host's clock in milliseconds */
  plait_word64_t active;     /* milliseconds that its event loop was active: a double */
  plait_word64_t sampled_at; /* when that was noted: a double, the host's clock in milliseconds */
  plait_word_t memory_kib;   /* its JavaScript heap, when last noted */
  plait_word_t completed;    /* tasks that ended well (wraps) */
  plait_word64_t busy;       /* milliseconds that it spent in tasks: a double */
  plait_word_t holding;      /* tasks that it has put aside */
  plait_word_t unused;       /* zero */
  plait_word_t waits[PLAIT_BUCKET_COUNT]; /* how many tasks waited how long */
  plait_word_t runs[PLAIT_BUCKET_COUNT];  /* how many tasks ran how long */
};

struct plait_name {
  plait_word_t next; /* next name of the pool */
  plait_word_t size; /* bytes of text */
  uint8_t text[];    /* UTF-8: an export's name, or a function's source after a byte 0xff */
};

struct plait_pool {
  struct plait_lock lock; /* guards queues and inboxes */
  plait_word_t state;     /* enum plait_pool_state */
  plait_word_t owner;     /* thread that made the pool; its death closes it; 0: it has let go of it */
  plait_word_t mask;      /* a bit for each priority at which some client may have a task queued */
  plait_word_t queued;    /* tasks in all queues */
  /* always odd; goes up by 2 to wake workers: what those sleep on that wait for nothing else */
  plait_word_t signal;
  plait_word_t sleepers; /* workers that sleep or are about to; may be too high after a death, never too low */
  plait_word_t clients;  /* first client */
  plait_word_t turn;     /* client that is asked first for the next task; 0: the first one */
  plait_word_t places;   /* block with a word for each of PLAIT_PLACE_LIMIT worker places; 0 before the pool is open */
  plait_word_t names;    /* first interned name */
  plait_word_t failure;  /* FAILED: block with the encoded error, else 0 */
  plait_word_t failure_size;       /* its bytes */
  plait_word_t finished;           /* tasks ever finished (wraps); statistics: a death may count one twice */
  plait_word_t discarded;          /* tasks ever dropped because their client had died (wraps); likewise */
  plait_word_t queue_limit;        /* most tasks that may be queued */
  plait_word_t grace_ms;           /* how long a task that was told to stop may take */
  plait_word_t coordinator_signal; /* goes up when the coordinator should look: what it sleeps on */
  plait_word_t alert;              /* enum plait_alert: of which tasks the coordinator wants to hear */
  plait_word_t timeout_ms;         /* the shortest timeout of any task so far; 0: there was none */
  plait_word_t min_threads;        /* fewest workers */
  plait_word_t max_threads;        /* most workers */
  plait_word_t threads;            /* workers now: starting or at work */
  plait_word_t started;            /* workers ever started (wraps) */
  plait_word_t wake_all;           /* 1: a new task wakes all sleepers, because some of them may be busy with others */
  plait_word_t ended[7];           /* workers ever ended, by enum plait_ended (wrap) */
  plait_word_t usual_timeout_ms;   /* timeout of a task that says none; 0: it has none */
  plait_word_t lost;               /* tasks that ended with their worker (wraps) */
  plait_word_t unread;    /* results delivered since a client last emptied its inbox; a hint: a death may miscount */
  plait_word_t heartbeat; /* value of `attention` that the coordinator has seen: it is alive if this follows */
  /* always odd; goes up by 2 to wake parked workers: what those sleep on whose event loops turn */
  plait_word_t parking;
  /* the worker that looks at the queue without a pause, or has found a task and comes for it; 0: none */
  plait_word_t spinner;
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

#endif
