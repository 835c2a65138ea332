/*
 * abi: see abi.h. Recovery follows the lock order: recovery lock, then fs, pools, and the heap.
 */
#include "abi.h"

PLAIT_EXPORT plait_ref_t plait_abi_space(void) {
  return plait_ref(plait_space());
}

PLAIT_EXPORT void plait_abi_heap_details(plait_ref_t out) {
  plait_heap_details(plait_at(out));
}

PLAIT_EXPORT void plait_abi_heap_fault(plait_ref_t out) {
  plait_heap_fault(plait_at(out));
}

PLAIT_EXPORT plait_ref_t plait_abi_task_root(void) {
  return plait_ref(plait_task_root());
}

PLAIT_EXPORT plait_ref_t plait_abi_fs(void) {
  return plait_ref(plait_fs());
}

PLAIT_EXPORT int plait_abi_init(uint32_t maximum_pages) {
  int rc = plait_space_init();
  if (rc != 0) return rc;
#ifdef __wasm__
  plait_ref_t behind_roots = plait_platform_first();
#else
  plait_ref_t behind_roots = (plait_ref(plait_task_root() + 1) + 63u) & ~63u;
  plait_put(&plait_space()->fs, behind_roots);
  behind_roots += (plait_ref_t)sizeof(struct plait_fs);
#endif
  rc = plait_heap_init(behind_roots, maximum_pages);
  if (rc != 0) return rc;
  /* release: a thread that sees the magic also sees the space laid out. */
  atomic_store_explicit(&plait_space()->magic, PLAIT_SPACE_MAGIC, memory_order_release);
  return 0;
}

PLAIT_EXPORT plait_thread_t plait_abi_claim(uint32_t host_id, uint32_t starter, plait_ref_t pool, uint32_t role) {
  plait_thread_t thread = plait_slot_claim(host_id);
  if (thread == 0) return 0;
  struct plait_slot *slot = plait_slot_of(thread);
  plait_put(&slot->starter, starter);
  plait_put(&slot->pool, pool);
  plait_put(&slot->role, role);
  return thread;
}

PLAIT_EXPORT plait_ref_t plait_abi_attach(plait_thread_t thread, int may_block) {
  plait_slot_enter(thread, may_block);
  if (atomic_load_explicit(&plait_space()->magic, memory_order_acquire) != PLAIT_SPACE_MAGIC) return 0;
  if (plait_get(&plait_self()->role) != PLAIT_ROLE_COORDINATOR) plait__use = PLAIT_FOR_THREADS;
  plait_ref_t stack = plait_heap_alloc(PLAIT_STACK_SIZE);
  if (stack == 0) return 0;
  atomic_store_explicit(&plait_self()->stack, stack, memory_order_release);
  plait_heap_use(PLAIT_FOR_BLOCKS);
  return stack + PLAIT_STACK_SIZE;
}

#ifdef __wasm__
__asm__(".globaltype __stack_pointer, i32");

PLAIT_EXPORT void plait_abi_unwind(plait_ref_t top) {
  __asm__ volatile("local.get %0\n\tglobal.set __stack_pointer" : : "r"(top));
}
#endif

PLAIT_EXPORT void plait_abi_detach(void) {
  plait_thread_note_exit(plait_self_id());
}

/* pre: holds the recovery lock; the slot is EXITED. */
static plait_ref_t recover_slot(struct plait_slot *slot) {
  plait_thread_t id = (atomic_load(&slot->generation_state) & ~255u) | (uint32_t)(slot - plait_space()->slots);
  plait_ref_t task;
  if (plait_fs_recover(id) != 0) return 0;               /* stays EXITED: for a later sweep */
  if (plait_task_recover(slot, &task) != 0) return task; /* stays EXITED: for the next call, or a later sweep */
  plait_heap_recover(id);
  plait_ref_t stack = atomic_exchange_explicit(&slot->stack, 0, memory_order_acq_rel);
  if (stack != 0) plait_heap_free(stack);
  atomic_fetch_add_explicit(&plait_space()->exits, 1, memory_order_relaxed);
  plait_slot_release(slot);
  return task;
}

/* Whether a coordinator will be notified of the thread's exit, and of its reason. pre: holds the recovery lock. */
static int is_coordinated(struct plait_slot *slot) {
  plait_ref_t pool = atomic_load_explicit(&slot->pool, memory_order_acquire);
  return pool != 0 && plait_thread_alive(plait_load(&((struct plait_pool *)plait_at(pool))->owner));
}

/* Recovers `thread` if it has exited. Does nothing while the caller has an adopted task, which would be lost. */
static plait_ref_t recover_exited(plait_thread_t thread, int swept) {
  plait_ref_t task = 0;
  if (atomic_load_explicit(&plait_self()->adopted, memory_order_relaxed) != 0) return 0;
  if (plait_lock_acquire(&plait_space()->recovery) < 0) return 0;
  struct plait_slot *slot = plait_slot_of(thread);
  if (atomic_load_explicit(&slot->generation_state, memory_order_acquire) == ((thread & ~255u) | PLAIT_SLOT_EXITED) &&
      !(swept && is_coordinated(slot)))
    task = recover_slot(slot);
  plait_lock_release(&plait_space()->recovery);
  return task;
}

PLAIT_EXPORT int plait_abi_settle(plait_ref_t task) {
  int stopped = plait_load(&((struct plait_task *)plait_at(task))->control) != 0;
  return !stopped && plait_task_requeue(task) == 0 ? 0 : plait_task_finish(task);
}

/* Recovers all exited threads but `except`. */
static void sweep_except(plait_thread_t except) {
  /* A task that was adopted earlier, when the owner of its pool's lock made no progress. */
  plait_ref_t left = atomic_load_explicit(&plait_self()->adopted, memory_order_relaxed);
  if (left != 0) plait_abi_settle(left);
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    struct plait_slot *slot = &plait_space()->slots[i];
    uint32_t generation_state = atomic_load_explicit(&slot->generation_state, memory_order_acquire);
    plait_thread_t thread = (generation_state & ~255u) | i;
    if ((generation_state & 255u) != PLAIT_SLOT_EXITED || thread == except) continue;
    for (plait_ref_t task; (task = recover_exited(thread, 1)) != 0;)
      if (plait_abi_settle(task) != 0) break;
  }
}

PLAIT_EXPORT void plait_abi_sweep(void) {
  sweep_except(0);
}

PLAIT_EXPORT plait_ref_t plait_abi_recover(plait_thread_t thread) {
  plait_thread_note_exit(thread);
  sweep_except(thread); /* `thread` may itself have been recovering others when it exited */
  return recover_exited(thread, 0);
}

PLAIT_EXPORT int plait_abi_check(int quiescent) {
  int rc = plait_heap_check(quiescent);
  if (rc == 0) rc = plait_fs_check(quiescent);
  return rc != 0 ? rc : plait_task_check();
}

plait_thread_t plait_abi_enter(void) {
  plait_thread_t thread = plait_slot_claim(0);
  if (thread != 0) plait_slot_enter(thread, 1);
  return thread;
}
