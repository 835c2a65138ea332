/*
 * fs_recover: recovers what an exited thread held in fs: its journal, its descriptors, its watchers, and the inodes
 * that it was creating or freeing. The slot of a program holds descriptors only.
 */
#include "internal.h"

/* Closes the descriptors that the thread or the program owns. 0, -PLAIT_ETIMEDOUT. */
static int close_owned(plait_thread_t exited) {
  struct plait_fs_items *opens = &plait_fs()->opens;
  for (uint32_t i = 0; (i = plait__fs_find_owned(opens, exited, i)) != UINT32_MAX; i++) {
    plait_word_t *owner = plait__fs_owner(opens, i);
    uint32_t whose = exited, uses = plait_load(&plait__fs_descriptor(i)->uses);
    /* Another thread may have closed it, and a third opened it again. */
    if (plait_load(owner) != exited) continue;
    int rc = plait__fs_close_number(plait__fs_mine(), i, 0, uses);
    if (rc == -PLAIT_ETIMEDOUT) return rc;
    /* Claimed and not opened, or closed and not released: the exited thread still owns it. */
    if (rc != 0) atomic_compare_exchange_strong_explicit(owner, &whose, 0, memory_order_acq_rel, memory_order_relaxed);
  }
  return 0;
}

int plait_fs_recover(plait_thread_t exited) {
  plait_ref_t ref = plait_load(&plait_fs()->threads[plait_thread_index(exited)]);
  struct plait_slot *slot = plait_slot_of(exited);
  if (ref != 0 && plait_load(&slot->scratch) == ref) plait_put(&slot->scratch, 0); /* see plait_fs_enter */
  struct plait_fs_thread *thread_record = plait_at(ref);
  int has_record = ref != 0 && plait_load(&thread_record->thread) == exited, rc;
  if (!has_record && plait_get(&slot->role) != PLAIT_ROLE_PROGRAM) return 0;
  if (has_record && (rc = plait__fs_recover_journal(thread_record, exited)) != 0) return rc;
  if (plait_fs_enter() == 0) return -PLAIT_ETIMEDOUT; /* no memory for this thread's fs record: retry later */
  if ((rc = close_owned(exited)) != 0 || !has_record) return rc;
  /* What the thread has opened for a program that was recovered before. */
  plait_thread_t program = plait_get(&thread_record->owner);
  if (program != 0 && !plait_thread_alive(program) && (rc = close_owned(program)) != 0) return rc;
  struct plait_fs_items *inodes = &plait_fs()->inodes;
  for (uint32_t i = 0; (i = plait__fs_find_owned(inodes, exited, i)) != UINT32_MAX; i++)
    plait__fs_release_inode(plait__fs_item(inodes, sizeof(struct plait_inode), i));
  if ((rc = plait__fs_unwatch(thread_record)) != 0) return rc;
  /* Another thread may still be recovering the journal. The lock makes the release of the fs record wait for it. */
  if ((rc = plait_lock_acquire(&thread_record->lock)) < 0) return rc;
  plait_put(&thread_record->released_owner, 0);
  plait_put(&thread_record->owner, 0);
  plait_put(&thread_record->thread, 0);
  plait_lock_release(&thread_record->lock);
  return 0;
}
