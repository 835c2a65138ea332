/*
 * task: queues of function calls, the workers that take them, and the way of the results back.
 *
 *     client (a thread that submits) --submit--> its client queues --next--> worker --next/finish--> client's inbox
 *                                          or a worker queue
 *
 * A task is a task record (struct plait_task) followed by `capacity` bytes. These hold a small input and, if it fits,
 * later the output. A large input is in a block of its own, which the worker frees when it has run the task. So a
 * client that drains slowly keeps small records, not megabytes.
 *
 * A task has one owner at any time, named by its state. Only the owner writes it, except `control`, which its client
 * and the coordinator write too:
 *
 *     BUILDING  the client's thread    (slot.building names it)
 *     QUEUED    a queue                (under the pool's lock)
 *     RUNNING   the worker             (slot.running names it, or slot.holding's list), or the thread that delivers it
 *                                      after the worker has exited (slot.adopted)
 *     DONE      the client's inbox, then the client, which frees it (client.taken and .drained name it until then)
 *
 * A worker runs one task at a time (slot.running). A task whose promise is pending may be put aside (slot.holding), so
 * that the worker can take another one. Progress of a running task and output of a worker are messages: separate task
 * records, which go from BUILDING to DONE at once. A client has at most PLAIT_PROGRESS_LIMIT bytes of undelivered
 * messages.
 *
 * The scheduler takes the most urgent priority first. Within a priority it takes one task of each client in turn. A
 * client queue is first in, first out.
 *
 * A task may be for one worker index only. Its worker place keeps these tasks in a worker queue, first in, first out,
 * whatever their priorities. The worker queue competes with the client queues by the priority of its first task. When a
 * worker exits, the worker that replaces it takes over its place.
 */
#ifndef PLAIT_TASK_TASK_H
#define PLAIT_TASK_TASK_H

#include "layout.h"

/* ---- pool.c ---- */

/* Creates an open pool owned by the calling thread. Returns 0 if memory or the table of pools is full. Any thread. */
plait_ref_t plait_pool_create(void);

/*
 * Returns the worker place of an index and makes it if needed. Returns 0 without memory, or if the lock's owner makes
 * no progress. pre: index < PLAIT_PLACE_LIMIT.
 */
plait_ref_t plait_pool_place(plait_ref_t pool, uint32_t index);

/*
 * Returns a client of the pool that the calling thread owns: a new one, or one that has no owner any more. It is freed
 * with the pool, which exists as long as a live thread owns a client of it. Returns 0 without memory or such a pool, or
 * if a lock's owner makes no progress.
 */
plait_ref_t plait_client_create(plait_ref_t pool);

/*
 * Moves an open pool to CLOSING, CLOSED or FAILED, or a closing one to CLOSED or FAILED, and wakes all threads. Beyond
 * CLOSING, queued tasks are returned as POOL_CLOSED or POOL_FAILED. Returns 0, -PLAIT_EINVAL or -PLAIT_ETIMEDOUT. Any
 * thread.
 */
int plait_pool_end(plait_ref_t pool, uint32_t state);

/*
 * Returns all queued tasks to their clients as STOPPED, or as POOL_CLOSED if the pool is closing; but not those that
 * running tasks have submitted to their own pool, which may await them. Returns how many, or -PLAIT_ETIMEDOUT. Any
 * thread.
 */
int plait_pool_cancel_queued(plait_ref_t pool);

/* Gives a pool the block that says why it failed; the pool frees it. pre: before plait_pool_end(FAILED), once. */
void plait_pool_set_failure(plait_ref_t pool, plait_ref_t block, uint32_t size);

/* ---- name.c ---- */

/*
 * Creates a name of `size` bytes; 0: no memory. The caller writes the text and passes the name to plait_pool_intern()
 * before it creates another name, a worker place or a queued task.
 */
plait_ref_t plait_name_create(uint32_t size);

/*
 * Returns the pool's name with the same text, which lives as long as the pool. The given name is kept or freed. Returns
 * 0, and frees it, if the pool may keep no more names, or if the lock's owner makes no progress. pre: the caller has
 * just created the name.
 */
plait_ref_t plait_pool_intern(plait_ref_t pool, plait_ref_t name);

/*
 * Gives a BUILDING task a name of its own with `size` bytes of text, which the caller writes. The task owns the block.
 * Returns 0 without memory.
 */
plait_ref_t plait_task_name(plait_ref_t task, uint32_t size);

/* ---- task_record.c ---- */

/*
 * Creates a BUILDING task with room for `size` bytes of input; input_low and input_high hold their position and number.
 * Returns 0 without memory. pre: the calling thread is building no other task.
 */
plait_ref_t plait_task_create(plait_ref_t client, uint32_t size);

/* Frees a BUILDING task that is not submitted. */
void plait_task_discard(plait_ref_t task);

/*
 * Returns where to write `size` bytes of output: behind the task record, or in a block that the task owns; 0: no
 * memory.
 */
plait_ref_t plait_task_output(plait_ref_t task, uint32_t size);

/* Frees a drained task; fastest in the order of draining. Ignores anything else. For the client's owner. */
void plait_task_free(plait_ref_t task);

/* ---- task.c ---- */

/*
 * Queues a BUILDING task and wakes a worker. After an error the task is still BUILDING. Returns 0 or
 *
 * - -PLAIT_EPIPE: the pool is not open. Its own workers may submit until it is CLOSED.
 * - -PLAIT_EAGAIN: the queue is full, and the calling thread is not a worker of the pool.
 * - -PLAIT_ENOMEM or -PLAIT_ETIMEDOUT.
 */
int plait_task_submit(plait_ref_t task);

/*
 * Requests that a task stop because its client no longer wants the result. A queued task leaves the queue and goes to
 * the client's inbox as STOPPED: returns 1. Otherwise `control` is set, and the result is 0 (the task is no longer
 * queued) or -PLAIT_ETIMEDOUT (it stays where it is). pre: the calling thread owns the client, has submitted the task
 * and has not drained it.
 */
int plait_task_abort(plait_ref_t task);

/*
 * Puts the task that the calling thread has adopted back to the front of its queue, with one retry less. After an error
 * it is still adopted. Returns 0, -PLAIT_EINVAL (no retry is left, a stop was requested, or none is adopted),
 * -PLAIT_EPIPE (the pool takes no more tasks), -PLAIT_ENOMEM or -PLAIT_ETIMEDOUT.
 */
int plait_task_requeue(plait_ref_t task);

/*
 * Sends a message, which is a BUILDING record, directly to its client's inbox. Progress has the client and ticket of
 * the task that the caller runs, and `link` names that task. Output has `link` 0. Returns 0, or the record is still
 * BUILDING: -PLAIT_EAGAIN (too many bytes are undelivered), -PLAIT_EPIPE (the client has exited or is closed, or the
 * task is detached) or -PLAIT_ETIMEDOUT. After -PLAIT_EAGAIN a thread sleeps on `client.message_bytes`, and also polls
 * from time to time.
 */
int plait_task_emit(plait_ref_t record);

/*
 * For a worker: delivers `finished` (0: none), which it has run, and takes the next task. Returns a task or enum
 * plait_next. Ignores a `finished` that is not the worker's running task. `busy_us`: how long the finished task took.
 */
uint32_t plait_task_next(plait_ref_t finished, uint32_t busy_us);

/*
 * For a worker whose task awaits tasks of `client`, its own client: takes the next task of that client or of its worker
 * queue. Returns a task, PLAIT_NEXT_NONE or PLAIT_NEXT_RETRY. pre: the worker runs nothing, because it holds the task
 * that waits.
 */
uint32_t plait_task_help(plait_ref_t client);

/* For a worker: puts its running task aside, so that it can take others. 0, -PLAIT_EINVAL or -PLAIT_ETIMEDOUT. */
int plait_task_hold(void);

/*
 * Delivers a task that the calling thread has adopted, holds or runs. 0, -PLAIT_EINVAL, or -PLAIT_ETIMEDOUT: nothing
 * was done.
 */
int plait_task_finish(plait_ref_t task);

/*
 * Empties the inbox and returns its tasks, oldest first, linked by `next`. Returns 0 if there are none, or if the
 * lock's owner makes no progress. For the client's owner.
 */
plait_ref_t plait_client_drain(plait_ref_t client);

/* ---- detach.c ---- */

/*
 * Settles one of the tasks that a draining or stopping worker runs or holds, although the worker goes on. `all`: also a
 * task that may be run again, which else waits for the worker's exit. Returns the surrogate, which the calling thread
 * has adopted and finishes with plait_task_finish(). Its `control` and `timeout_ms` are the task's. PLAIT_NEXT_NONE: no
 * such task is left. PLAIT_NEXT_RETRY: no memory, or a lock's owner makes no progress. pre: the calling thread has
 * adopted nothing and builds nothing.
 */
plait_ref_t plait_task_detach(plait_thread_t worker, uint32_t all);

/* ---- worker.c ---- */

/*
 * Makes the calling thread a worker of `pool`. For native programs; a Wasm host writes the word when it claims the
 * slot.
 */
void plait_worker_enter(plait_ref_t pool);

/*
 * Prepares to park. Returns the value of pool.parking to sleep on, or 0 if there is something to do. After another
 * value than 0 the caller must call plait_worker_park_end(), whether it slept or not.
 */
uint32_t plait_worker_park_begin(void);
void plait_worker_park_end(void);

/*
 * Polls the queue `spins` times, then sleeps until there may be something to do, for at most `timeout_ms`. Returns 0 if
 * all polls failed, else 1. The caller must call plait_task_next() next: other threads may rely on it to take a task.
 * pre: the thread may block.
 */
uint32_t plait_worker_wait(uint32_t timeout_ms, uint32_t spins);

/*
 * Polls the tasks that a live worker runs and holds. Requests a stop from those that have exceeded their timeout. If
 * one did not stop within the grace period, sets the worker to STOPPING, so that it takes no more tasks. Returns enum
 * plait_poll or -PLAIT_ETIMEDOUT.
 *
 * It holds the pool's lock, so that no other task can start on the worker afterwards, and the recovery lock, so that
 * the pool stays. `now_ms`: the host's clock.
 */
int plait_worker_poll(plait_thread_t worker, uint32_t now_ms);

/*
 * Sets a live worker to DRAINING: it takes only tasks that its own tasks await, and ends when these have ended. Returns
 * 1, 0 (the worker has exited) or -PLAIT_ETIMEDOUT.
 */
int plait_worker_drain(plait_thread_t worker);

/* Makes the calling worker the worker of a place. pre: no live worker occupies it. */
void plait_worker_take_place(plait_ref_t place);

/* ---- wake.c ---- */

/* Has the coordinator poll the pool. Any thread. */
void plait_pool_signal_coordinator(plait_ref_t pool);

/* Wakes all workers of the pool. Any thread. */
void plait_pool_wake_workers(plait_ref_t pool);

/* Wakes all workers of the pool, and all clients that have something in the inbox. Any thread. */
void plait_pool_wake(struct plait_pool *pool);

/* ---- destroy.c ---- */

/*
 * Frees a pool with all its tasks, including those that exited threads ran. Returns 0, -PLAIT_EINVAL (no such pool),
 * -PLAIT_EAGAIN or -PLAIT_ETIMEDOUT; in the last two cases nothing was done. -PLAIT_EAGAIN: another live worker is in
 * the pool, or a thread has yet to finish a task of it that it adopted. pre: no thread submits to it, drains or waits
 * any more.
 */
int plait_pool_destroy(plait_ref_t pool);

/*
 * Drops the caller's ownership of a pool that has ended. The last thread to release the pool or one of its clients
 * frees it. Returns 0, -PLAIT_EINVAL (no such pool, or the caller does not own it) or -PLAIT_ETIMEDOUT.
 */
int plait_pool_release(plait_ref_t pool);

/*
 * Refuses further messages (progress and output) for a client, as if it had exited: after the next drain there are
 * none. 0 or -PLAIT_ETIMEDOUT. pre: the calling thread owns the client.
 */
int plait_client_close(plait_ref_t client);

/*
 * Releases the caller's client: its results, and those still to come, are discarded. 0 or -PLAIT_ETIMEDOUT. pre: the
 * calling thread owns the client, which also means that its pool exists.
 */
int plait_client_release(plait_ref_t client);

/* ---- recover.c, check.c ---- */

/*
 * Repairs what an exited thread left in this module. pre: the caller holds the recovery lock and has adopted nothing;
 * the slot is EXITED. `running`: a task that the thread ran, which the caller has now adopted and must finish; or 0.
 *
 * Returns 0; 1 if the thread held further tasks, so that the caller calls again once this one is finished; or
 * -PLAIT_ETIMEDOUT if the owner of a pool's lock makes no progress. In the last two cases some work is left, and the
 * slot must stay EXITED.
 */
int plait_task_recover(struct plait_slot *exited, plait_ref_t *running);

/* Checks all pools: 0, -PLAIT_EILSEQ or -PLAIT_ETIMEDOUT. Any thread. */
int plait_task_check(void);

#endif
