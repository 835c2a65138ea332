/*
 * task internals: functions and invariants that the files of core/task share.
 *
 * Invariants, all under the pool's lock
 * - A queue is ring[head .. tail), first in, first out. A cell in between may be 0, a hole, but the first and the last
 *   cell are not. So "the next head" is the position of the next task. A queued task stores its position.
 * - Taking stores `slot.running = task`, then the next head, the commit point.
 * - Submitting writes the ring's cell, then tail + 1, the commit point, then `slot.building = 0`.
 * - Putting back the task of an exited worker writes the cell before the head, then head - 1, the commit point, then
 *   `slot.adopted = 0`.
 * - Finishing stores the inbox's head, the commit point, then `slot.running = 0`.
 * - Returning a queued task, when the pool ends, stores the inbox's head, then the next head.
 * - Withdrawing an aborted task stores the inbox's head, the commit point, then 0 to its cell; then head and tail move
 *   over the holes.
 * - One intent record names a task. While a recoverer adopts it, its own record and those of exited threads name it.
 * - `mask`, `queued` and the positions in queued tasks are derived from the queues; repair computes them again. A bit
 *   of pool.mask may be set without a queued task, but never clear with one.
 * - What is freed piece by piece is unlinked first, so an exit in between loses one block. Only the holder of the
 *   recovery lock frees a pool.
 * - So after an exit in between, the words show whether the commit point was reached. plait__pool_lock() repairs the
 *   intent record before the lock's next owner does anything else.
 */
#ifndef PLAIT_TASK_INTERNAL_H
#define PLAIT_TASK_INTERNAL_H

#include "task.h"

static inline void plait__word_clear(plait_word_t *word) {
  atomic_store_explicit(word, 0, memory_order_release);
}

/* Clears an intent that names `ref`, unless its slot now belongs to another thread. */
static inline void plait__word_clear_if(plait_word_t *word, plait_ref_t ref) {
  atomic_compare_exchange_strong_explicit(word, &ref, 0, memory_order_acq_rel, memory_order_relaxed);
}

/* ---- registry.c ---- */

/* Registers a pool and returns its index; PLAIT_POOL_LIMIT: the registry is full. */
uint32_t plait__pool_register(plait_ref_t pool);

/* The pool's index in the registry; PLAIT_POOL_LIMIT: it is not there, or 0. */
uint32_t plait__pool_index(plait_ref_t pool);

/* ---- wake.c ---- */

/*
 * Wakes a worker for a task that the caller has queued, unless one is about to take it. `all`: wakes all workers, which
 * a task with affinity needs, because no one can see which sleeper is its worker. Signals the coordinator unless it
 * woke a worker that is sure to come.
 */
void plait__worker_wake(struct plait_pool *pool, int all);

/* Wakes a client whose inbox is no longer empty. */
void plait__client_wake(struct plait_client *client);

/* ---- task_record.c ---- */

/* Frees a block that a word of a task names. It clears the word first: see recover.c. */
void plait__task_free_block(plait_word_t *word);

/*
 * Frees the blocks of a task. The caller frees the task afterwards, once nothing names it: so an exit loses one block.
 */
void plait__task_strip(plait_ref_t task);

/* Frees all tasks that a client has received. pre: holds the pool's lock, or is alone with the client. */
void plait__client_empty(struct plait_client *client);

/*
 * Puts a task, which `*intent` names, into its client's inbox, or frees it if the client has exited. Then stores
 * `after` to the intent. Returns the client to wake after the lock is released, or NULL. `counts`: it is the end of a
 * task. pre: holds the lock.
 */
struct plait_client *plait__task_deliver(
    struct plait_pool *pool, plait_ref_t task, plait_word_t *intent, uint32_t after, int counts);

/* ---- queue.c ---- */

/* The state of a walk over all queues of a pool; zero to begin. */
struct plait_queue_walk {
  plait_ref_t client; /* the client whose queues are visited; 0: the worker queues are */
  uint32_t index;     /* priority, or worker index, of the next queue */
  uint32_t places;    /* 1: all client queues have been visited */
};

/* The next queue of the walk, or NULL after the last. pre: holds the lock. */
struct plait_queue *plait__pool_queue(struct plait_pool *pool, struct plait_queue_walk *walk);

/* The ring's cell for a position. */
static inline plait_word_t *plait__queue_cell(const struct plait_queue *queue, uint32_t position) {
  struct plait_ring *ring = plait_at(plait_load(&queue->ring));
  return &ring->cells[position & (plait_load(&ring->capacity) - 1)];
}

/* The first task of a queue, or 0. pre: holds the lock. */
static inline plait_ref_t plait__queue_first(const struct plait_queue *queue) {
  uint32_t head = plait_get(&queue->head);
  return head == plait_get(&queue->tail) ? 0 : plait_get(plait__queue_cell(queue, head));
}

/* The position of the task after `position`, or the tail. pre: holds the lock. */
uint32_t plait__queue_after(const struct plait_queue *queue, uint32_t position);

/* Moves head and tail over holes. pre: holds the lock. */
void plait__queue_trim(struct plait_queue *queue);

/*
 * After an exit: clears cells whose tasks have been delivered, and moves head and tail over holes. pre: holds the lock.
 */
void plait__queue_repair(struct plait_queue *queue);

/* Computes the derived state again: `mask`, `queued`, state and position of queued tasks. pre: holds the lock. */
void plait__pool_recount(struct plait_pool *pool);

/* ---- pool_lock.c ---- */

/* Takes the pool's lock, and repairs the pool if its owner has exited: 0 or -PLAIT_ETIMEDOUT. */
int plait__pool_lock(struct plait_pool *pool);

/*
 * Whether `ref` names a task of the pool. If the task is freed meanwhile, the result may be either. pre: holds the
 * lock.
 */
int plait__pool_has_task(struct plait_pool *pool, plait_ref_t ref);

/* Returns all queued tasks of an ended pool to their clients, which the caller wakes. pre: holds the lock. */
void plait__pool_return_queued(struct plait_pool *pool);

/*
 * Returns queued tasks to their clients, which the caller wakes, with that status: all but those of the pool's own
 * workers. Returns how many. pre: holds the lock.
 */
uint32_t plait__pool_cancel_queued(struct plait_pool *pool, uint32_t status);

/* ---- scheduler.c ---- */

/*
 * Puts a BUILDING task at the end of its queue, or an adopted one at its front: as plait_task_submit() and _requeue().
 */
int plait__queue_put(struct plait_pool *pool, plait_ref_t task);
int plait__queue_put_back(struct plait_pool *pool, plait_ref_t task);

/*
 * Takes the next task for the calling worker, whose slot is `self`: of any client, or only of `only` and of its worker
 * queue. 0: none. pre: holds the lock; the worker runs nothing.
 */
plait_ref_t plait__queue_take(struct plait_pool *pool, struct plait_slot *self, struct plait_client *only);

/*
 * Takes a queued task out of its queue, at any position, and delivers it as STOPPED. Returns 1, and `wake` as
 * plait__task_deliver() returns it, or 0: it is in no queue. pre: holds the lock; the task's client has an owner.
 */
int plait__queue_withdraw(struct plait_pool *pool, plait_ref_t task, struct plait_client **wake);

/* ---- worker.c ---- */

/* ---- destroy.c ---- */

/* Clears a task from the intent records of all exited threads. pre: the caller holds the recovery lock. */
void plait__intents_clear(plait_ref_t task);

/* Frees a pool that no live thread uses: its owner and clients have exited. pre: the caller holds the recovery lock. */
void plait__pool_destroy_orphan(plait_ref_t pool);

#endif
