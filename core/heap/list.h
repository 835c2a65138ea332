/*
 * list: doubly linked rings. The heap's lists of pages, slices and free blocks are all of this kind.
 *
 * Invariants
 * - A list is a link that starts and ends the ring: `next` is its first member, `prev` its last. An empty list is its
 *   own neighbor. So insertion and removal never test whether there is a neighbor.
 * - A link is the first member of the struct that it links: a reference to one is a reference to the other.
 * - Lists are derived from authoritative words (heap.h), and rebuilt after a thread has exited. So no store here is a
 *   commit.
 */
#ifndef PLAIT_HEAP_LIST_H
#define PLAIT_HEAP_LIST_H

#include "../platform/platform.h"

struct plait_link {
  plait_word_t next; /* reference of the next link; at the end, of the list itself */
  plait_word_t prev; /* reference of the previous link; at the start, of the list itself */
};

PLAIT_TINY struct plait_link *plait__link(plait_ref_t ref) {
  return (struct plait_link *)plait_at(ref);
}

PLAIT_TINY void plait__list_clear(struct plait_link *list) {
  plait_put(&list->next, plait_ref(list));
  plait_put(&list->prev, plait_ref(list));
}

PLAIT_TINY int plait__list_is_empty(struct plait_link *list) {
  return plait_get(&list->next) == plait_ref(list);
}

/*
 * Inserts `link` after `before`, which is a member or the list itself. After the list itself, it is the first member.
 */
PLAIT_TINY void plait__list_put(struct plait_link *before, struct plait_link *link) {
  plait_ref_t ref = plait_ref(link), next = plait_get(&before->next);
  plait_put(&link->next, next);
  plait_put(&link->prev, plait_ref(before));
  plait_put(&plait__link(next)->prev, ref);
  plait_put(&before->next, ref);
}

/* Removes `link` from its list: whether it was the only member. */
PLAIT_TINY int plait__list_take(struct plait_link *link) {
  plait_ref_t next = plait_get(&link->next), prev = plait_get(&link->prev);
  plait_put(&plait__link(next)->prev, prev);
  plait_put(&plait__link(prev)->next, next);
  return next == prev;
}

#endif
