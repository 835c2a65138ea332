/*
 * list: doubly linked rings. The heap's lists of pages, slices and free blocks are all of this one kind.
 *
 * Invariants
 * - A list is a link that starts and ends the ring: `next` is its first, `prev` its last member; an empty list is its
 *   own neighbour. So putting in and taking out never ask whether there is a neighbour.
 * - A link is the first member of the struct that it links: a reference to one is a reference to the other.
 * - Lists are made from words that say what is true (heap.h), and made anew after a death: no store here is a commit.
 */
#ifndef PLAIT_HEAP_LIST_H
#define PLAIT_HEAP_LIST_H

#include "../platform/platform.h"

struct plait_link {
  plait_word_t next; /* reference of the next link; of the list itself at the end */
  plait_word_t prev; /* reference of the link before it; of the list itself at the start */
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

/* Puts `link` behind `before`, a member or the list itself: as its first then. */
PLAIT_TINY void plait__list_put(struct plait_link *before, struct plait_link *link) {
  plait_ref_t ref = plait_ref(link), next = plait_get(&before->next);
  plait_put(&link->next, next);
  plait_put(&link->prev, plait_ref(before));
  plait_put(&plait__link(next)->prev, ref);
  plait_put(&before->next, ref);
}

/* Takes `link` out of the list that it is on: whether it was the only member. */
PLAIT_TINY int plait__list_take(struct plait_link *link) {
  plait_ref_t next = plait_get(&link->next), prev = plait_get(&link->prev);
  plait_put(&plait__link(next)->prev, prev);
  plait_put(&plait__link(prev)->next, next);
  return next == prev;
}

#endif
