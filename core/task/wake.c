/*
 * wake: telling workers, clients and the coordinator that there is something for them.
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
 * it sees no name (see plait__worker_wake). If it dies with its name there, or cannot have the lock, all who
 * sleep are woken, and the coordinator is told.
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
 * seq_cst: pairs with begin_sleep in worker.c. Either this load sees the sleeper, or the sleeper's look at the queues
 * comes later and sees the task. Likewise with look() there, for a worker that has found nothing: it looks once more
 * after it has taken its name away.
 *
 * Nobody is woken where nothing is queued any more, or where one task is and then a name is seen. Whose name is seen
 * after that count has yet to come for a task, or to look once more: it takes the name away before what it takes is
 * counted out. With the two loads the other way round it might have come for another task in between, and left this
 * one.
 */
void plait__worker_wake(struct plait_pool *pool, int all) {
  uint32_t wanted = PLAIT_ALERT_ANY, queued = atomic_load_explicit(&pool->queued, memory_order_seq_cst);
  if (queued == 0 || (!all && queued == 1 && atomic_load_explicit(&pool->spinner, memory_order_seq_cst) != 0)) return;
  if (atomic_load_explicit(&pool->sleepers, memory_order_seq_cst) != 0) {
    uint32_t count = all ? UINT32_MAX : 1;
    atomic_fetch_add_explicit(&pool->signal, 2, memory_order_seq_cst);
    if (plait_platform_notify(&pool->signal, count) != 0 && !all) return;
    atomic_fetch_add_explicit(&pool->parking, 2, memory_order_seq_cst);
    /* 0: somebody is on its way already, for another task perhaps. */
    if (plait_platform_notify(&pool->parking, count) != 0) wanted = PLAIT_ALERT_PARKED;
  }
  if (plait_get(&pool->alert) >= wanted &&
      atomic_exchange_explicit(&pool->alert, PLAIT_ALERT_NONE, memory_order_seq_cst) != PLAIT_ALERT_NONE)
    plait_pool_signal_coordinator(plait_ref(pool));
}
