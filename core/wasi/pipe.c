/*
 * pipe: see pipe.h.
 */
#include "pipe.h"
#include "../heap/heap.h"

#define MASK (PLAIT_PIPE_SIZE - 1)

PLAIT_COLD_BEGIN

PLAIT_EXPORT plait_ref_t plait_pipe_create(void) {
  plait_ref_t ref = plait_heap_alloc(sizeof(struct plait_pipe) + PLAIT_PIPE_SIZE);
  if (ref != 0) plait_zero(plait_at(ref), sizeof(struct plait_pipe));
  return ref;
}

static uint32_t bytes_in(struct plait_pipe *pipe) {
  return plait_load(&pipe->written) - plait_load(&pipe->read);
}

static void pipe_event(plait_word_t *word) {
  atomic_fetch_add_explicit(word, 1, memory_order_seq_cst);
  plait_platform_notify(word, UINT32_MAX);
}

PLAIT_EXPORT void plait_pipe_end(plait_ref_t ref) {
  struct plait_pipe *pipe = plait_at(ref);
  atomic_store_explicit(&pipe->ended, 1, memory_order_release);
  pipe_event(&pipe->readable);
}

PLAIT_EXPORT void plait_pipe_break(plait_ref_t ref) {
  struct plait_pipe *pipe = plait_at(ref);
  atomic_store_explicit(&pipe->broken, 1, memory_order_release);
  pipe_event(&pipe->writable);
}

uint32_t plait_pipe_bytes(plait_ref_t ref) {
  struct plait_pipe *pipe = plait_at(ref);
  uint32_t ended = plait_load(&pipe->ended), bytes = bytes_in(pipe);
  return bytes != 0 ? bytes : ended;
}

uint32_t plait_pipe_room(plait_ref_t ref) {
  struct plait_pipe *pipe = plait_at(ref);
  return plait_load(&pipe->broken) ? 1 : PLAIT_PIPE_SIZE - bytes_in(pipe);
}

static uint32_t smaller(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

/* The bytes from `position` on, in two parts if they pass the ring's end. */
static void copy_bytes_of_ring(
    struct plait_pipe *pipe, uint32_t position, uint8_t *with, uint32_t length, int is_read) {
  uint8_t *ring = (uint8_t *)(pipe + 1);
  for (uint32_t done = 0, part; done < length; done += part) {
    uint32_t at = (position + done) & MASK;
    part = smaller(length - done, PLAIT_PIPE_SIZE - at);
    if (is_read) plait_copy(with + done, ring + at, part);
    else plait_copy(ring + at, with + done, part);
  }
}

/* 0: nothing can be taken or added now. */
static int read_some(struct plait_pipe *pipe, uint8_t *to, uint32_t length) {
  int rc = plait_lock_acquire(&pipe->reading);
  if (rc < 0) return rc;
  uint32_t at = plait_get(&pipe->read), count = smaller(length, plait_load(&pipe->written) - at);
  copy_bytes_of_ring(pipe, at, to, count, 1);
  /* release: a writer that sees the room also sees the bytes copied. */
  if (count != 0) atomic_store_explicit(&pipe->read, at + count, memory_order_release);
  plait_lock_release(&pipe->reading);
  if (count != 0) pipe_event(&pipe->writable);
  return (int)count;
}

static int write_some(struct plait_pipe *pipe, uint8_t *from, uint32_t length) {
  int rc = plait_lock_acquire(&pipe->writing);
  if (rc < 0) return rc;
  uint32_t at = plait_get(&pipe->written), room = PLAIT_PIPE_SIZE - (at - plait_load(&pipe->read));
  uint32_t count = smaller(length, room);
  copy_bytes_of_ring(pipe, at, from, count, 0);
  if (count != 0) atomic_store_explicit(&pipe->written, at + count, memory_order_release);
  plait_lock_release(&pipe->writing);
  if (count != 0) pipe_event(&pipe->readable);
  return (int)count;
}

PLAIT_EXPORT int plait_pipe_read(plait_ref_t ref, plait_ref_t to, uint32_t length, int waits) {
  struct plait_pipe *pipe = plait_at(ref);
  if (length == 0) return 0;
  for (;;) {
    uint32_t seen = atomic_load(&pipe->readable), ended = plait_load(&pipe->ended);
    int count = read_some(pipe, plait_at(to), length);
    if (count != 0 || ended) return count;
    atomic_store_explicit(&pipe->wanted, 1, memory_order_seq_cst);
    pipe_event(&pipe->writable);
    if (!waits || !plait_self_may_block()) return -PLAIT_EAGAIN;
    plait_platform_wait(&pipe->readable, seen, -1);
  }
}

PLAIT_EXPORT int plait_pipe_write(plait_ref_t ref, plait_ref_t from, uint32_t length, int waits) {
  struct plait_pipe *pipe = plait_at(ref);
  if (length == 0) return 0;
  for (;;) {
    uint32_t seen = atomic_load(&pipe->writable);
    if (plait_load(&pipe->broken)) return -PLAIT_EPIPE;
    int count = write_some(pipe, plait_at(from), length);
    if (count != 0) return count;
    if (!waits || !plait_self_may_block()) return -PLAIT_EAGAIN;
    plait_platform_wait(&pipe->writable, seen, -1);
  }
}

PLAIT_COLD_END
