/*
 * task internals: what the files of the room call of each other. For core/task only.
 *
 * Invariants, all under the pool's lock
 * - A queue is ring[head .. tail), FIFO. A cell in between may be 0, a hole, but neither the first nor the last one. So
 *   "the next head" is the position of the next task. A queued task says at which position it lies.
 * - Taking is `slot.running = task`, then the next head, the commit. Submitting is the write of the ring's cell, then
 *   tail + 1, the commit, then `slot.building = 0`. Putting back a dead worker's task is the write of the cell before
 *   the head, then head - 1, the commit, then `slot.adopted = 0`.
 * - Finishing is the store of the inbox's head, the commit, then `slot.running = 0`. Returning a queued task, when the
 *   pool ends, is the store of the inbox's head, then the next head. Taking back an aborted one is the store of the
 *   inbox's head, the commit, then 0 to its cell; then head and tail move over the holes.
 * - A task is named by one intent record; while a recoverer adopts it, by its own and by dead threads' ones.
 * - `mask` and `queued`, and what queued tasks say of themselves, follow from the queues; repair makes them anew. A bit
 *   of pool.mask may be set for no queue, never the other way round.
 * - Of what is freed piece by piece, each piece is unlinked and then freed, so a death loses one block. Only the holder
 *   of the recovery lock frees a pool.
 * - So after a death in between, the words tell which side of the commit it was on; plait__pool_lock() puts the
 *   intent record right before the lock's next owner does anything else.
 */
#ifndef PLAIT_TASK_INTERNAL_H
#define PLAIT_TASK_INTERNAL_H

#include "task.h"

static inline void plait__word_clear(plait_word_t *word) {
  atomic_store_explicit(word, 0, memory_order_release);
}

/* Clears an intent that names `ref`, unless its slot has been given to another thread meanwhile. */
static inline void plait__word_clear_if(plait_word_t *word, plait_ref_t ref) {
  atomic_compare_exchange_strong_explicit(word, &ref, 0, memory_order_acq_rel, memory_order_relaxed);
}

/* ---- registry.c ---- */

/* Puts a pool into the registry: its place; PLAIT_POOL_LIMIT: all are taken. */
uint32_t plait__pool_register(plait_ref_t pool);

/* The pool's place in the registry; PLAIT_POOL_LIMIT: it is in none, or 0. */
uint32_t plait__pool_index(plait_ref_t pool);

/* ---- wake.c ---- */

/*
 * Wakes a worker for a task that the caller has queued, unless one is about to come for it; `all`: every worker (a task
 * for one worker place: whose that is cannot be seen). The coordinator hears of it unless a worker was woken that is sure to
 * come.
 */
void plait__worker_wake(struct plait_pool *pool, int all);

/* Wakes a client that has got something. */
void plait__client_wake(struct plait_client *client);

/* ---- task_record.c ---- */

/* Frees a block that a task's word names. The word goes first: see recover.c. */
void plait__task_free_block(plait_word_t *word);

/* Frees what a task owns. The task comes after it, once nothing names it any more: so a death loses one block. */
void plait__task_strip(plait_ref_t task);

/* Frees all tasks that a client has got. pre: holds the pool's lock, or is alone with the client. */
void plait__client_empty(struct plait_client *client);

/*
 * Puts a task, of which `*intent` says that somebody holds it, into its client's inbox, or frees it if the client is
 * dead; then stores `after` to the intent. Returns the client to wake after the lock is given back, or NULL. pre: holds
 * the lock. `counts`: it is the end of a task.
 */
struct plait_client *plait__task_deliver(
    struct plait_pool *pool, plait_ref_t task, plait_word_t *intent, uint32_t after, int counts);

/* ---- queue.c ---- */

/* Where a walk over all queues of a pool is; zero to begin. */
struct plait_queue_walk {
  plait_ref_t client; /* the client whose queues are walked; 0: the worker places' */
  uint32_t index;     /* of the next queue, or worker place */
  uint32_t places;    /* 1: the clients are done */
};

/* The i-th queue of the pool, with the client or worker place that has it; NULL behind the last. pre: holds the lock. */
struct plait_queue *plait__pool_queue(struct plait_pool *pool, struct plait_queue_walk *walk);

/* The ring's cell for a position. */
static inline plait_word_t *plait__queue_cell(const struct plait_queue *queue, uint32_t position) {
  struct plait_ring *ring = plait_at(plait_load(&queue->ring));
  return &ring->cells[position & (plait_load(&ring->capacity) - 1)];
}

/* The first task of a queue, 0: none. pre: holds the lock. */
static inline plait_ref_t plait__queue_first(const struct plait_queue *queue) {
  uint32_t head = plait_get(&queue->head);
  return head == plait_get(&queue->tail) ? 0 : plait_get(plait__queue_cell(queue, head));
}

/* The position of the next task behind one; the tail: there is none. pre: holds the lock. */
uint32_t plait__queue_after(const struct plait_queue *queue, uint32_t position);

/* Moves head and tail over holes. pre: holds the lock. */
void plait__queue_trim(struct plait_queue *queue);

/*
 * After a death: frees cells whose tasks have been delivered, and moves head and tail over holes. pre: holds the lock.
 */
void plait__queue_repair(struct plait_queue *queue);

/* Makes what follows from the queues anew: `mask`, `queued`, state and position of queued tasks. pre: holds the lock. */
void plait__pool_recount(struct plait_pool *pool);

/* ---- pool_lock.c ---- */

/* Takes the pool's lock, repairing if its owner died: 0 or -PLAIT_ETIMEDOUT. */
int plait__pool_lock(struct plait_pool *pool);

/*
 * Whether `ref` names a task of the pool; if it is freed meanwhile, the answer may be either. pre: holds the pool's
 * lock.
 */
int plait__pool_has_task(struct plait_pool *pool, plait_ref_t ref);

/* Sends every queued task of an ended pool back to its client; the caller wakes. pre: holds the lock. */
void plait__pool_return_queued(struct plait_pool *pool);

/* ---- scheduler.c ---- */

/* Puts a BUILDING task, or in front an adopted one, into its queue: as plait_task_submit() and _requeue(). */
int plait__queue_put(struct plait_pool *pool, plait_ref_t task);
int plait__queue_put_back(struct plait_pool *pool, plait_ref_t task);

/*
 * Takes the next task for the worker whose slot is the caller's: of any client, or of `only` and its own worker place. 0: none.
 * pre: holds the lock; the worker runs nothing.
 */
plait_ref_t plait__queue_take(struct plait_pool *pool, struct plait_slot *self, struct plait_client *only);

/*
 * Takes a queued task out of its queue, wherever it lies there, and delivers it as STOPPED: 1, and `wake` as
 * plait__task_deliver() gives it; 0: it is in no queue. pre: holds the lock; the task's client has an owner.
 */
int plait__queue_withdraw(struct plait_pool *pool, plait_ref_t task, struct plait_client **wake);

/* ---- worker.c ---- */

/* ---- destroy.c ---- */

/* Takes a task from every dead thread whose intent record names it. pre: the caller holds the recovery lock. */
void plait__intents_clear(plait_ref_t task);

/* Frees a pool that no live thread uses: its owner and clients are dead. pre: the caller holds the recovery lock. */
void plait__pool_destroy_orphan(plait_ref_t pool);

#endif
