/*
 * wake: waking workers, clients and the coordinator.
 *
 * A wake-up is only a hint. Workers raise `sleepers`, check the queue and then sleep; clients check the inbox first;
 * and all check again after waking.
 *
 * Workers sleep on one of two words. A worker that sleeps on `signal` does nothing else: once woken it checks the
 * queue, or it exits and its recovery wakes all workers. A worker parked on `parking` has a running event loop, and may
 * be in a user's timer for hours when its wake-up comes. So a task wakes sleeping workers in preference to parked ones.
 * If no worker slept on `signal`, the task also signals the coordinator (`alert`). The coordinator polls a little
 * later. If tasks still wait while workers sleep, it wakes all of them.
 *
 * An idle worker spins on the queue for a moment before it sleeps. One of them is registered as `spinner`. A task that
 * is alone in the queue then wakes no worker. The spinner unregisters either under the lock, before it takes a task, or
 * before it raises `sleepers` and checks the queue once more. So either it sees the task, or the submitter sees no
 * spinner (see plait__worker_wake). If a registered spinner exits or cannot get the lock, all sleepers are woken and
 * the coordinator is signaled.
 */
#include "internal.h"

PLAIT_EXPORT void plait_pool_signal_coordinator(plait_ref_t ref) {
  struct plait_pool *pool = plait_at(ref);
  atomic_fetch_add_explicit(&pool->coordinator_signal, 1, memory_order_seq_cst);
  plait_platform_notify(&pool->coordinator_signal, UINT32_MAX);
}

void plait__client_wake(struct plait_client *client) {
  atomic_fetch_add_explicit(&client->signal, 1, memory_order_seq_cst);
  plait_platform_notify(&client->signal, UINT32_MAX);
}

PLAIT_EXPORT void plait_pool_wake_workers(plait_ref_t ref) {
  struct plait_pool *pool = plait_at(ref);
  plait_word_t *words[] = {&pool->signal, &pool->parking};
  for (int k = 0; k < 2; k++) {
    atomic_fetch_add_explicit(words[k], 2, memory_order_seq_cst);
    plait_platform_notify(words[k], UINT32_MAX);
  }
}

void plait_pool_wake(struct plait_pool *pool) {
  plait_pool_wake_workers(plait_ref(pool));
  for (plait_ref_t at = atomic_load_explicit(&pool->clients, memory_order_acquire); at != 0;) {
    struct plait_client *client = plait_at(at);
    if (atomic_load_explicit(&client->inbox, memory_order_seq_cst) != 0) plait__client_wake(client);
    at = atomic_load_explicit(&client->next, memory_order_acquire);
  }
}

/*
 * seq_cst: pairs with begin_sleep in worker.c. Either this load sees the sleeper, or the sleeper checks the queues
 * later and sees the task. The same holds for spin() there: a spinner that found nothing checks once more after it has
 * unregistered.
 *
 * Skip the wake-up if the queue is empty, or if it holds exactly one task and a spinner is registered. A spinner that
 * is seen after that count has yet to take a task, or to check once more: it unregisters before its task leaves
 * `queued`. If the two loads were swapped, it might have taken another task in between, and left this one.
 */
void plait__worker_wake(struct plait_pool *pool, int all) {
  uint32_t wanted = PLAIT_ALERT_ANY, queued = atomic_load_explicit(&pool->queued, memory_order_seq_cst);
  if (queued == 0 || (!all && queued == 1 && atomic_load_explicit(&pool->spinner, memory_order_seq_cst) != 0)) return;
  if (atomic_load_explicit(&pool->sleepers, memory_order_seq_cst) != 0) {
    uint32_t count = all ? UINT32_MAX : 1;
    atomic_fetch_add_explicit(&pool->signal, 2, memory_order_seq_cst);
    if (plait_platform_notify(&pool->signal, count) != 0 && !all) return;
    atomic_fetch_add_explicit(&pool->parking, 2, memory_order_seq_cst);
    /* 0: a worker is already on its way, perhaps for another task */
    if (plait_platform_notify(&pool->parking, count) != 0) wanted = PLAIT_ALERT_PARKED;
  }
  if (plait_get(&pool->alert) >= wanted &&
      atomic_exchange_explicit(&pool->alert, PLAIT_ALERT_NONE, memory_order_seq_cst) != PLAIT_ALERT_NONE)
    plait_pool_signal_coordinator(plait_ref(pool));
}
