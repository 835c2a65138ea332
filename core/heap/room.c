/*
 * room: the out-of-memory sequence, for every kind of block.
 *
 * A thread that finds no free block repeats these steps until it has one, or nothing is left to try:
 *
 *     1. drain        the remote free list: its own blocks that other threads have freed; without the lock
 *     2. lock         the heap
 *     3. adopt        the thread heap of a thread that has exited
 *     4. take         free memory. The caller does this, because it differs: a shared or a new page, a region, a span
 *     5. unlock       the heap
 *     6. grow         the memory
 *     7. relinquish   pages and regions that the thread heap keeps without a block in use
 *
 * plait__room_enter() is 1 to 3, plait__room_more() 5 to 7. The order: adopting comes before taking, so that the pages
 * and regions of an exited thread are used before new ones are made beside them. So a thread that has adopted first
 * searches its own blocks again. It adopts one thread heap at a time: adopting takes up to milliseconds, and all other
 * threads may need the lock. Growth comes after both, because memory is never returned to the system. Relinquishing
 * comes last, because it gives away what makes the next allocations fast.
 *
 * A step that succeeds leads back to the first one, because another thread may be faster to take what it has found. The
 * sequence ends: memory, orphaned thread heaps and what one thread keeps are finite.
 */
#include "internal.h"

PLAIT_COLD_BEGIN

int plait__room_enter(struct plait_thread_heap *theap) {
  if (theap != NULL && plait_get64(&theap->remote) != 0) plait__remote_drain(theap);
  int rc = plait__heap_lock();
  return rc == 0 && theap != NULL ? plait__adopt(theap) : rc;
}

int plait__room_more(struct plait_thread_heap *theap, uint32_t slices) {
  plait__heap_unlock();
  return plait__grow(slices) == 0 || plait__relinquish(theap);
}

int plait__relinquish(struct plait_thread_heap *theap) {
  if (plait__heap_lock() != 0) return 0;
  int given = (theap != NULL && plait__pages_release_empty(theap)) | plait__sweep(theap);
  plait__heap_unlock();
  return given;
}

PLAIT_COLD_END
