/*
 * heap internals: how a header is read. For heap.c and check.c only.
 *
 * The tag's low four bits say what the block is; the rest is its length in granules (runs) or its class (small blocks).
 */
#ifndef PLAIT_HEAP_INTERNAL_H
#define PLAIT_HEAP_INTERNAL_H

#include "heap.h"

enum plait__heap_kind {
  PLAIT__RUN_FREE = 1,   /* granules */
  PLAIT__RUN_LARGE = 2,  /* granules; one live block */
  PLAIT__RUN_CHUNK = 3,  /* granules; cut into small blocks */
  PLAIT__SMALL_FREE = 4, /* class */
  PLAIT__SMALL_LIVE = 5, /* class */
};

static inline enum plait__heap_kind plait__heap_kind_of(uint32_t tag) {
  return (enum plait__heap_kind)(tag & 15u);
}

static inline uint32_t plait__heap_rest_of(uint32_t tag) {
  return tag >> 4;
}

static inline uint32_t plait__heap_tag(enum plait__heap_kind kind, uint32_t rest) {
  return rest << 4 | kind;
}

/* What a header's guard word must be: other bytes hardly ever look like a header of this very place. */
static inline uint32_t plait__heap_guard(plait_ref_t header) {
  return (header ^ 0x5EED5EEDu) * 0x9E3779B1u;
}

static inline struct plait_block *plait__heap_header(plait_ref_t header) {
  return plait_at(header);
}

#endif
