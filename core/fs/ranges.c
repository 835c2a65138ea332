/*
 * ranges: advisory locks on ranges of a file's bytes, for programs that agree on them.
 *
 * Invariants
 * - The list of an inode changes under the inode's lock, each time by a journal. If two locks of one family overlap,
 *   both are shared and belong to different descriptors. Locks of one descriptor and family never overlap.
 * - Locks end with their descriptor: a close removes them first, and recovery closes the descriptors of a thread that
 *   has exited.
 */
#include "internal.h"

PLAIT_COLD_BEGIN

#define SLICE_MS 10
#define ALL UINT32_MAX /* families */

static struct plait_fs_range *range_at(plait_ref_t ref) {
  return ref == 0 ? NULL : plait_at(ref);
}

void plait__fs_ranges_signal(struct plait_inode *inode) {
  atomic_fetch_add_explicit(&inode->signal, 1, memory_order_release);
  plait_platform_notify(&inode->signal, UINT32_MAX);
}

static uint32_t family_of(int kind) {
  return (uint32_t)kind & PLAIT_FS_FLOCK;
}

static uint32_t is_exclusive(int kind) {
  return (kind & 3) == 2;
}

/* The lock of another descriptor that excludes this one, with the lowest start; NULL if there is none. */
static struct plait_fs_range *find_conflict(
    struct plait_inode *inode, uint32_t fd, int kind, uint64_t start, uint64_t end) {
  struct plait_fs_range *first = NULL;
  for (struct plait_fs_range *at = range_at(plait_get(&inode->ranges)); at != NULL;
      at = range_at(plait_get(&at->next))) {
    if (plait_get(&at->fd) == fd || plait_get64(&at->start) >= end || plait_get64(&at->end) <= start) continue;
    if (plait_get(&at->family) != family_of(kind) || (!is_exclusive(kind) && !plait_get(&at->exclusive))) continue;
    if (first == NULL || plait_get64(&at->start) < plait_get64(&first->start)) first = at;
  }
  return first;
}

static void add_range(struct plait_fs_thread *mine, struct plait_inode *inode, plait_ref_t block, uint32_t fd,
    uint32_t exclusive, uint32_t family, uint64_t start, uint64_t end) {
  struct plait_fs_range *range = plait_at(block);
  plait_put(&range->next, plait__fs_tx_staged(mine, &inode->ranges));
  plait_put(&range->fd, fd);
  plait_put(&range->exclusive, exclusive);
  plait_put(&range->family, family);
  plait_put64(&range->start, start);
  plait_put64(&range->end, end);
  plait__fs_tx_stage(mine, &inode->ranges, block);
}

/*
 * Unlocks `start` to `end` for the descriptor, in one family or in ALL of them. `spare`: a reserved block for the part
 * after a hole.
 */
static int carve_ranges(struct plait_fs_thread *mine, struct plait_inode *inode, uint32_t fd, uint32_t family,
    uint64_t start, uint64_t end, plait_ref_t spare, uint32_t keep) {
  int freed = 0;
  plait_word_t *link = &inode->ranges;
  for (plait_ref_t ref; (ref = plait_get(link)) != 0;) {
    struct plait_fs_range *range = plait_at(ref);
    uint64_t from = plait_get64(&range->start), to = plait_get64(&range->end);
    int is_other = plait_get(&range->fd) != fd || (family != ALL && plait_get(&range->family) != family);
    if (is_other || from >= end || to <= start) {
      link = &range->next;
      continue;
    }
    plait__fs_tx_begin(mine);
    plait__fs_tx_target(mine, inode);
    freed = 1;
    if (from >= start && to <= end) {
      plait__fs_tx_stage(mine, link, plait_get(&range->next));
      plait__fs_tx_defer_free(mine, ref, 0, 0, 1);
      plait__fs_tx_commit(mine, plait_get(&mine->reserved_count));
      continue;
    }
    int split = from < start && to > end;
    if (split) add_range(mine, inode, spare, fd, plait_get(&range->exclusive), family, end, to);
    if (from < start) plait__fs_tx_stage64(mine, &range->end, start);
    else plait__fs_tx_stage64(mine, &range->start, end);
    plait__fs_tx_commit(mine, split ? keep : plait_get(&mine->reserved_count));
    if (split) break; /* locks of one descriptor do not overlap, so there is no other one */
    link = &range->next;
  }
  return freed;
}

int plait__fs_ranges_release(struct plait_fs_thread *mine, struct plait_inode *inode, uint32_t fd) {
  return plait_get(&inode->ranges) != 0 && carve_ranges(mine, inode, fd, ALL, 0, UINT64_MAX, 0, 0);
}

static int try_range(struct plait_fs_thread *mine, struct plait__fs_node node, struct plait_fs_open *open, uint32_t fd,
    uint32_t uses, int kind, uint64_t start, uint64_t end) {
  struct plait_inode *inode = node.inode;
  uint32_t keep = plait_get(&mine->reserved_count);
  /* The second is for the part after a hole. */
  plait_ref_t lock = plait__fs_tx_reserve(mine, sizeof(struct plait_fs_range)),
              spare = plait__fs_tx_reserve(mine, sizeof(struct plait_fs_range));
  int rc = lock == 0 || spare == 0 ? -PLAIT_ENOLCK : plait__fs_lock(&inode, 1), freed = 0;
  if (rc == 0) {
    if (!plait__fs_is_still_open(open, node, uses)) rc = -PLAIT_EBADF;
    else if ((kind & 3) != 0 && find_conflict(inode, fd, kind, start, end) != NULL) rc = -PLAIT_EAGAIN;
    if (rc == 0) {
      freed = carve_ranges(mine, inode, fd, family_of(kind), start, end, spare, keep + 1);
      /* frees the spare if it was not needed: a reserved block is named exactly once at every instant */
      plait__fs_tx_abort(mine, keep + 1);
      if ((kind & 3) != 0) {
        plait__fs_tx_begin(mine);
        plait__fs_tx_target(mine, inode);
        add_range(mine, inode, lock, fd, is_exclusive(kind), family_of(kind), start, end);
        plait__fs_tx_commit(mine, keep);
      }
    }
    plait__fs_unlock(&inode, 1);
  }
  plait__fs_tx_abort(mine, keep);
  if (freed) plait__fs_ranges_signal(inode);
  return rc;
}

/* Makes whole numbers of a range of bytes: 0, -PLAIT_EINVAL. */
static int whole_range(double start, double end, uint64_t *first, uint64_t *last) {
  if (!(start >= 0) || start > 9007199254740992.0 || !(end > start)) return -PLAIT_EINVAL;
  *first = (uint64_t)start;
  *last = end >= 9007199254740992.0 ? UINT64_MAX : (uint64_t)end;
  return *last > *first ? 0 : -PLAIT_EINVAL; /* less than one byte: such a lock could never be removed */
}

/* The error for a descriptor without locks: backends have none, because Node cannot lock the host's files. */
static int not_lockable(int fd, uint32_t uses) {
  struct plait__fs_place place;
  return plait__fs_find_mounted(fd, uses, &place) < 0 ? -PLAIT_EBADF : -PLAIT_ENOLCK;
}

int plait_fs_lock_as(int fd, uint32_t uses, int kind, double start, double end, double timeout_ms) {
  struct plait_fs_thread *mine = plait__fs_mine();
  struct plait__fs_node node;
  struct plait_fs_open *open = plait__fs_open_as(fd, uses, &node);
  uint64_t first, last;
  if (open == NULL || plait_load(&open->state) != PLAIT_FS_OPEN) return not_lockable(fd, uses);
  if (uses == 0) uses = plait_load(&open->uses);
  if ((kind & ~PLAIT_FS_FLOCK) < 0 || (kind & ~PLAIT_FS_FLOCK) > 2 || whole_range(start, end, &first, &last) != 0)
    return -PLAIT_EINVAL;
  for (double waited = 0;;) {
    uint32_t signal = plait_load(&node.inode->signal);
    int rc = try_range(mine, node, open, (uint32_t)fd, uses, kind, first, last);
    if (rc != -PLAIT_EAGAIN || (timeout_ms >= 0 && waited >= timeout_ms) || !plait_self_may_block()) return rc;
    if (plait_platform_wait(&node.inode->signal, signal, SLICE_MS * 1000000) == PLAIT_WAIT_TIMED_OUT)
      waited += SLICE_MS;
  }
}

PLAIT_EXPORT int plait_fs_lock(int fd, int kind, double start, double end, double timeout_ms) {
  return plait_fs_lock_as(fd, 0, kind, start, end, timeout_ms);
}

int plait_fs_may_lock(int fd, uint32_t uses, int kind, double start, double end) {
  struct plait__fs_node node;
  struct plait_fs_open *open = plait__fs_open_as(fd, uses, &node);
  uint64_t first, last;
  if (open == NULL) return not_lockable(fd, uses);
  if (whole_range(start, end, &first, &last) != 0) return -PLAIT_EINVAL;
  struct plait_inode *inode = node.inode;
  int rc = plait__fs_lock(&inode, 1);
  if (rc != 0) return rc;
  struct plait_fs_range *conflict = NULL;
  if (!plait__fs_is_still_open(open, node, uses)) rc = -PLAIT_EBADF;
  else if ((conflict = find_conflict(inode, (uint32_t)fd, kind, first, last)) != NULL) rc = -PLAIT_EAGAIN;
  if (conflict != NULL) {
    struct plait_fs_result *result = &plait__fs_mine()->result;
    plait_put(&result->kind, plait_get(&conflict->exclusive) ? 2 : 1);
    plait_put64(&result->size, plait_get64(&conflict->start));
    plait_put64(&result->held, plait_get64(&conflict->end));
  }
  plait__fs_unlock(&inode, 1);
  return rc;
}

PLAIT_COLD_END
