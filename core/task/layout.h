/* task layout: pools and tasks in shared memory. tools/layout.py carries it to TypeScript. */
#ifndef PLAIT_TASK_LAYOUT_H
#define PLAIT_TASK_LAYOUT_H

#include "../heap/heap.h"

#define PLAIT_POOL_LIMIT 128u
#define PLAIT_PRIORITY_COUNT 7u           /* 0 is the most urgent */
#define PLAIT_PLACE_LIMIT 256u            /* worker indices of a pool */
#define PLAIT_BUCKET_COUNT 128u           /* of a histogram: four for each doubling, from 1 microsecond */
#define PLAIT_TASK_INLINE 64u             /* the least capacity: most results fit without a block of their own */
#define PLAIT_MESSAGES_CLOSED 4294967295u /* of client.message_bytes: progress and output are refused */
#define PLAIT_PROGRESS_LIMIT 8388608u     /* most bytes of undelivered progress and output for one client */
#define PLAIT_POOL_NAMES 256u             /* most names that a pool keeps; a task with another name carries it */
#define PLAIT_POOL_NAME_BYTES 1048576u    /* most bytes of text in those names */
#define PLAIT_TASK_INPUT_INLINE 1024u     /* a larger input has a block of its own, freed before the result is */

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
  PLAIT_STATUS_NO_MEMORY = 3,   /* there was no memory for the output */
  PLAIT_STATUS_WORKER_DIED = 4, /* the worker exited, and there was no memory for an error */
  PLAIT_STATUS_POOL_CLOSED = 5, /* still queued when the pool was closed by force */
  PLAIT_STATUS_POOL_FAILED = 6, /* no worker could load the module: pool.failure says why */
  PLAIT_STATUS_STOPPED = 7,     /* a stop was requested before it ran: it was not run */
  PLAIT_STATUS_PROGRESS = 8,    /* not an end: a progress value of a running task */
  PLAIT_STATUS_DISCARDED = 9,   /* not an end: a surrogate completed the task; free the record (see detach.c) */
  PLAIT_STATUS_OUTPUT = 10,     /* not an end: output of a worker; `ticket` is the descriptor, 1 or 2 */
};

/* Why a task should stop: bits of plait_task.control. */
enum plait_stop {
  PLAIT_STOP_ABORT = 1,    /* its client no longer wants the result */
  PLAIT_STOP_TIMEOUT = 2,  /* it has exceeded its timeout */
  PLAIT_STOP_DETACHED = 4, /* a surrogate has completed it; its own outcome is ignored */
};

/* What plait_worker_poll() found. */
enum plait_poll {
  PLAIT_POLL_NONE = 0,           /* no task of the worker has a timeout or a stop request */
  PLAIT_POLL_AGAIN = 1,          /* a task has one: poll again */
  PLAIT_POLL_STOP_REQUESTED = 2, /* as AGAIN, and the stop request of a task was seen for the first time */
  /* a task ran on for the whole grace period: the worker takes no more tasks and must be stopped */
  PLAIT_POLL_OVERDUE = 3,
};

/* Whether a worker takes tasks (plait_slot.stop_state). It changes under the pool's lock and never decreases. */
enum plait_stop_state {
  PLAIT_WORKER_RUNNING = 0,
  PLAIT_WORKER_DRAINING = 1, /* it takes only tasks that its own tasks await, and ends after them */
  PLAIT_WORKER_STOPPING = 2, /* it takes no tasks: it is about to be terminated */
};

/*
 * Which newly queued tasks signal the coordinator. The signal resets this to NONE; the coordinator sets it again after
 * it has polled.
 */
enum plait_alert {
  PLAIT_ALERT_NONE = 0,   /* none: it is about to poll */
  PLAIT_ALERT_PARKED = 1, /* tasks for which only parked workers could be woken */
  PLAIT_ALERT_ANY = 2,    /* also tasks for which no worker sleeps */
};

/* Why a worker ended: indices of plait_pool.ended. */
enum plait_ended {
  PLAIT_ENDED_IDLE = 0,     /* it was idle for too long */
  PLAIT_ENDED_RECYCLED = 1, /* it had run its number of tasks, or its heap was too large */
  PLAIT_ENDED_STOPPED = 2,  /* its task did not stop when requested */
  PLAIT_ENDED_CRASHED = 3,  /* an uncaught error */
  PLAIT_ENDED_MEMORY = 4,   /* it reached its memory limit */
  PLAIT_ENDED_EXIT = 5,     /* it exited by itself */
  PLAIT_ENDED_CLOSED = 6,   /* the pool was closed */
};

enum plait_pool_state {
  PLAIT_POOL_OPEN = 1,
  PLAIT_POOL_CLOSING = 2, /* takes no more tasks; workers end when the queue is empty */
  PLAIT_POOL_CLOSED = 3,  /* workers end after the tasks that they run */
  PLAIT_POOL_FAILED = 4,  /* as CLOSED; no worker could load the module */
};

/* What plait_task_next(), _help() and _detach() return instead of a task. References are multiples of 16. */
enum plait_next {
  PLAIT_NEXT_NONE = 0,  /* there is none */
  PLAIT_NEXT_STOP = 1,  /* this worker should end */
  PLAIT_NEXT_RETRY = 2, /* the lock's owner makes no progress: nothing was done, not even finishing; call again */
};

struct plait_task {
  plait_word_t state;         /* enum plait_task_state */
  plait_word_t next;          /* DONE: next task in the inbox, 0 at the end */
  plait_word_t client;        /* client that submitted it */
  plait_word_t ticket;        /* the client's number for the task */
  plait_word_t name;          /* block with the function's name: the pool's (see plait_pool_intern), or name_block */
  plait_word_t worker;        /* RUNNING, DONE: thread that took it */
  plait_word_t capacity;      /* bytes behind the task record */
  plait_word_t input_kind;    /* what the input words mean; the binding's, 0 to 255 */
  plait_word_t input_low;     /* an immediate value's low half, or the reference of the bytes */
  plait_word_t input_high;    /* an immediate value's high half, or the number of bytes */
  plait_word_t output_status; /* enum plait_task_status */
  plait_word_t output_kind;   /* what the output words mean; the binding's, 0 to 255 */
  plait_word_t output_low;    /* an immediate value's low half, or the reference of the bytes */
  plait_word_t output_high;   /* an immediate value's high half, or the number of bytes */
  plait_word_t output_block;  /* block with an output that did not fit behind the record, else 0; owned by the task */
  /* next task in slot.holding or client.drained; of a surrogate or of unsent progress: the task that it belongs to */
  plait_word_t link;
  plait_word_t input_block;       /* block with a large input, else 0; owned by the task, freed after the run */
  plait_word_t priority;          /* 0 is the most urgent */
  plait_word_t place;             /* worker place whose worker must run it (affinity); 0: any worker may */
  plait_word_t control;           /* bits of enum plait_stop; 0: go on */
  plait_word_t timeout_ms;        /* how long it may run; 0: no limit */
  plait_word_t started_ms;        /* RUNNING: when it was started, by the host's clock (wraps; never 0); 0 before */
  plait_word_t stop_requested_ms; /* RUNNING: when a stop request was first seen (wraps; never 0); 0 before */
  /* how often it may still be run again after its worker exits; its input is kept for that */
  plait_word_t retries;
  plait_word64_t submitted; /* when it was submitted: a double, the host's clock in milliseconds */
  /* block with a name that the pool does not keep, else 0; owned by the task, freed after the run */
  plait_word_t name_block;
  plait_word_t position; /* QUEUED: its position in the queue */
};
_Static_assert(sizeof(struct plait_task) == 112, "the bytes behind the record are aligned to 16");

struct plait_ring {
  plait_word_t capacity; /* cells, a power of two */
  plait_word_t previous; /* while this ring replaces another: the old one; else 0 */
  plait_word_t cells[];  /* tasks; 0: a hole */
};

struct plait_queue {
  plait_word_t ring;   /* the cells; 0 before the first task */
  plait_word_t head;   /* position of the first task (wraps) */
  plait_word_t tail;   /* position for the next task (wraps) */
  plait_word_t unused; /* zero */
};

struct plait_client {
  plait_word_t next;    /* next client of the pool */
  plait_word_t pool;    /* the pool */
  plait_word_t owner;   /* thread that submits and drains; 0 after it has exited: results are discarded */
  plait_word_t inbox;   /* finished tasks, newest first; under the pool's lock */
  plait_word_t signal;  /* increases when the inbox is no longer empty; the owner sleeps on it */
  plait_word_t taken;   /* tasks from the inbox that drain has yet to reverse, newest first */
  plait_word_t drained; /* tasks that the owner has received and not freed, linked by `link` */
  plait_word_t mask;    /* a bit for each priority whose queue is not empty */
  /* bytes of progress and output in the inbox, or PLAIT_MESSAGES_CLOSED; workers that wait for room sleep on it */
  plait_word_t message_bytes;
  struct plait_queue queues[PLAIT_PRIORITY_COUNT]; /* client queues, by priority: tasks that any worker may run */
};

/*
 * What belongs to one worker index. All words but `thread` and `queue` are statistics, written by the present worker.
 */
struct plait_worker_place {
  plait_word_t thread;       /* the worker with this index, until the coordinator has handled its exit; else 0 */
  plait_word_t failed;       /* tasks that ended in an error (wraps) */
  struct plait_queue queue;  /* worker queue: tasks that only this worker may run */
  plait_word_t wait_max;     /* longest time that a task has waited, in microseconds */
  plait_word_t run_max;      /* longest time that a task has run, in microseconds */
  plait_word64_t ready_at;   /* when the worker was ready: a double, the host's clock in milliseconds */
  plait_word64_t active;     /* milliseconds that its event loop was active: a double */
  plait_word64_t sampled_at; /* when `active` was sampled: a double, the host's clock in milliseconds */
  plait_word_t memory_kib;   /* size of its JavaScript heap, when last sampled */
  plait_word_t completed;    /* tasks that succeeded (wraps) */
  plait_word64_t busy;       /* milliseconds spent in tasks: a double */
  plait_word_t holding;      /* tasks that the worker has put aside */
  plait_word_t times_epoch;  /* pool.times_epoch when the times below began; with another one they count for nothing */
  plait_word_t wait_min;     /* shortest time that a task has waited, in microseconds, plus 1; 0: none has */
  plait_word_t run_min;      /* shortest time that a task has run, in microseconds, plus 1; 0: none has */
  plait_word64_t wait_sum;   /* sum of the times that tasks waited, in milliseconds: a double */
  plait_word64_t wait_squares;            /* sum of their squares: a double */
  plait_word64_t run_sum;                 /* sum of the times that tasks ran, in milliseconds: a double */
  plait_word64_t run_squares;             /* sum of their squares: a double */
  plait_word_t waits[PLAIT_BUCKET_COUNT]; /* histogram of the times that tasks waited */
  plait_word_t runs[PLAIT_BUCKET_COUNT];  /* histogram of the times that tasks ran */
};

struct plait_name {
  plait_word_t next; /* next name of the pool */
  plait_word_t size; /* bytes of text */
  uint8_t text[];    /* UTF-8: an export's name; after a byte 0xfe, another module's; after 0xff, a function's source */
};

struct plait_pool {
  struct plait_lock lock; /* guards queues and inboxes */
  plait_word_t state;     /* enum plait_pool_state */
  plait_word_t owner;     /* thread that created the pool; its exit closes the pool; 0: it has released the pool */
  plait_word_t mask;      /* a bit for each priority at which a client may have a queued task */
  plait_word_t queued;    /* tasks in all queues */
  /* always odd; increases by 2 to wake sleeping workers, which block on it */
  plait_word_t signal;
  plait_word_t sleepers; /* workers that sleep or are about to; may be too high after an exit, never too low */
  plait_word_t clients;  /* first client */
  plait_word_t turn;     /* client to ask first for the next task; 0: the first client */
  plait_word_t places;  /* block with one word for each of PLAIT_PLACE_LIMIT worker places; 0 before the pool is open */
  plait_word_t names;   /* first interned name */
  plait_word_t failure; /* FAILED: block with the encoded error, else 0 */
  plait_word_t failure_size;       /* size of that block */
  plait_word_t finished;           /* tasks ever finished (wraps); statistics: an exit may count one twice */
  plait_word_t discarded;          /* results discarded because their client had exited (wraps); likewise */
  plait_word_t queue_limit;        /* most tasks that may be queued */
  plait_word_t grace_ms;           /* how long a task may run on after a stop request */
  plait_word_t coordinator_signal; /* increases when the coordinator should poll the pool; it sleeps on this word */
  plait_word_t alert;              /* enum plait_alert: which newly queued tasks signal the coordinator */
  plait_word_t timeout_ms;         /* shortest timeout of the tasks that may have to be timed; 0: none has one */
  plait_word_t min_threads;        /* fewest workers */
  plait_word_t max_threads;        /* most workers */
  plait_word_t threads;            /* workers now: starting or ready */
  plait_word_t started;            /* workers ever started (wraps) */
  plait_word_t wake_all;         /* 1: a new task wakes all sleepers, because a sleeper may be busy with other tasks */
  plait_word_t ended[7];         /* workers ever ended, by enum plait_ended (wrap) */
  plait_word_t usual_timeout_ms; /* default timeout of a task; 0: none */
  plait_word_t lost;             /* tasks that ended with their worker (wraps) */
  plait_word_t aborted;          /* tasks that left the queue without a run (wraps); statistics, as `finished` */
  plait_word_t times_epoch;      /* increases to reset the times of all worker places; see there */
  plait_word_t unread;    /* results delivered since a client last drained its inbox; a hint: an exit may miscount */
  plait_word_t heartbeat; /* value of `coordinator_signal` that the coordinator last saw: it is alive if this follows */
  /* always odd; increases by 2 to wake parked workers, whose event loops run */
  plait_word_t parking;
  /* the worker that spins on the queue, or has found a task there and will take it; 0: none */
  plait_word_t spinner;
  plait_word_t usual_retries; /* default retries of a task */
};
_Static_assert(sizeof(struct plait_pool) == 168, "no padding");

struct plait_task_root {
  plait_word_t pools[PLAIT_POOL_LIMIT]; /* the pools of the space; 0: an unused entry */
};

/* The root of this module. */
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
