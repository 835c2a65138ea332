/*
 * task: queues of calls that workers pull from, and the way of their results back.
 *
 *     client (a thread that submits) --submit--> its queues --next--> worker --next/finish--> client's inbox
 *                                          or a worker place's queue
 *
 * A task is a record (struct plait_task), and behind it `capacity` bytes that hold a small input and, if it fits, later
 * the output. A large input lies in a block of its own, which the worker frees when it has run the task: a client that
 * is slow to drain keeps small records, not megabytes. A task has one owner at any time, named by its state, and only
 * the owner writes it (but for `control`, which its client and the coordinator write too):
 *
 *     BUILDING  the client's thread    (slot.building names it)
 *     QUEUED    a queue                 (under the pool's lock)
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
 * first in, first out. A task may be for one worker place only: a worker place is a worker's place in the pool, one worker after the
 * other sits on it; its queue is first in, first out whatever the priorities, and competes with the rest by its first
 * task's priority.
 */
#ifndef PLAIT_TASK_TASK_H
#define PLAIT_TASK_TASK_H

#include "layout.h"

/* ---- pool.c ---- */

/* A new, open pool owned by the calling thread; 0 if memory or the table of pools is full. Any thread. */
plait_ref_t plait_pool_create(void);

/*
 * The worker place of that index, made if it is not there; 0: no memory, or the lock's owner is stuck. pre: index < the limit.
 */
plait_ref_t plait_pool_place(plait_ref_t pool, uint32_t index);

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
 * that makes another name, a worker place or a task queued.
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

/* ---- task_record.c ---- */

/*
 * A task with room for `size` bytes of input, BUILDING; its words input_low and input_high say where and how many.
 * 0: no memory. pre: the calling thread has none in building.
 */
plait_ref_t plait_task_create(plait_ref_t client, uint32_t size);

/* Frees a BUILDING task that will not be submitted. */
void plait_task_discard(plait_ref_t task);

/* Where to write `size` bytes of output: behind the record, or a block that the task owns; 0: no memory. */
plait_ref_t plait_task_output(plait_ref_t task, uint32_t size);

/* Frees a drained task; quickest in the order of draining. Anything else is ignored. For the client's owner. */
void plait_task_free(plait_ref_t task);

/* ---- task.c ---- */

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
 * Puts the task that the calling thread has adopted back to the front of its queue, with one retry less. 0,
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
 * For a worker whose task waits for tasks of `client`, its own: takes the next of these, or of its worker place. A task or
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

/*
 * Takes all that lies in the inbox, the oldest first, linked by `next`; 0: nothing, or the lock's owner is stuck. For
 * the client's owner.
 */
plait_ref_t plait_client_drain(plait_ref_t client);

/* ---- detach.c ---- */

/*
 * Settles one of the tasks that a condemned worker runs or holds, though it goes on: the stand-in, which the calling
 * thread has adopted and finishes (plait_task_finish); its `control` and `timeout_ms` are the task's. PLAIT_NEXT_NONE:
 * there is none (any more). PLAIT_NEXT_RETRY: no memory, or a lock's owner is stuck. pre: the calling thread has
 * adopted nothing and builds nothing.
 */
plait_ref_t plait_task_detach(plait_thread_t worker);

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
 * worker, so that it takes no further task, when one did not stop in its grace. enum plait_poll or -PLAIT_ETIMEDOUT.
 * Under the pool's lock, so no innocent task can be started on it afterwards, and under the recovery lock, so the pool
 * stays. `now_ms`: the host's clock.
 */
int plait_worker_poll(plait_thread_t worker, uint32_t now_ms);

/*
 * A live worker takes no further task: it ends when it has done what it has, and helps that meanwhile. 1, 0 (it is
 * gone), -PLAIT_ETIMEDOUT.
 */
int plait_worker_drain(plait_thread_t worker);

/* The calling worker takes its place. pre: no live worker sits there. */
void plait_worker_take_place(plait_ref_t place);

/* ---- wake.c ---- */

/* Has the coordinator look at the pool. Any thread. */
void plait_pool_signal_coordinator(plait_ref_t pool);

/* Wakes every worker of the pool. Any thread. */
void plait_pool_wake_workers(plait_ref_t pool);

/* Wakes every worker of the pool, and every client that has something in its inbox. Any thread. */
void plait_pool_wake(struct plait_pool *pool);

/* ---- destroy.c ---- */

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
 * Progress and output for the client are refused from now on, as if it were gone: after the next drain there is none.
 * 0 or -PLAIT_ETIMEDOUT. pre: the client is the calling thread's.
 */
int plait_client_close(plait_ref_t client);

/*
 * The calling thread uses its client no more: what it has got is dropped, and what is still to come. 0 or
 * -PLAIT_ETIMEDOUT. pre: the client is the thread's own, which also says that its pool is there.
 */
int plait_client_release(plait_ref_t client);

/* ---- recover.c, check.c ---- */

/*
 * Puts right what a dead thread left in this room. pre: the caller holds the recovery lock and has adopted nothing; the
 * slot is DEAD. `running`: a task that it ran, which the calling thread has now adopted (plait_task_finish it), or 0.
 * 0; 1: it held further tasks, so call again once this one is finished; or -PLAIT_ETIMEDOUT: a pool's lock is stuck. In
 * both cases some of it is left to do, and the slot must stay DEAD.
 */
int plait_task_recover(struct plait_slot *dead, plait_ref_t *running);

/* Walks every pool: 0, -PLAIT_EILSEQ or -PLAIT_ETIMEDOUT. Any thread. */
int plait_task_check(void);

#endif
