/*
 * pipe: bytes on their way between a thread of a program and one of its host, or between two programs.
 *
 * A ring in the heap. Any thread may write or read; each end is guarded by a robust lock. One store of a position
 * commits what was copied before it, so a thread that exits has written, or read, all of a call or nothing of it.
 *
 * Waiting: a reader sleeps on `readable` while the ring is empty, a writer on `writable` while it is full. Both words
 * count events, and are read before the ring is looked at. The host waits for them without blocking its thread.
 */
#ifndef PLAIT_WASI_PIPE_H
#define PLAIT_WASI_PIPE_H

#include "../sync/space.h"

#define PLAIT_PIPE_SIZE 65536u /* bytes that fit into one; a power of two */

struct plait_pipe {
  struct plait_lock reading; /* held while bytes are taken */
  struct plait_lock writing; /* held while bytes are added */
  plait_word_t read;         /* bytes ever read (wraps) */
  plait_word_t written;      /* bytes ever written (wraps) */
  plait_word_t ended;        /* 1: no bytes follow */
  plait_word_t broken;       /* 1: nobody reads any more */
  plait_word_t readable;     /* changes when there is something to read, or the end */
  plait_word_t writable;     /* changes when there is room, or no reader */
  plait_word_t wanted;       /* 1: a reader has found it empty; the host reads its own source only then */
  plait_word_t unused;       /* zero; pads to 8 bytes */
  /* the bytes follow */
};

/* A new pipe, a block; 0 without memory. plait_heap_free() frees it, when no thread uses it any more. */
plait_ref_t plait_pipe_create(void);

/*
 * Takes at most `length` bytes: their number, 0 at the end, -PLAIT_EAGAIN if there are none yet, -PLAIT_ETIMEDOUT.
 * `waits`: sleeps until there are some.
 */
int plait_pipe_read(plait_ref_t pipe, plait_ref_t to, uint32_t length, int waits);

/*
 * Adds at most `length` bytes: their number, -PLAIT_EPIPE, -PLAIT_EAGAIN if there is no room, -PLAIT_ETIMEDOUT.
 * `waits`: sleeps until there is some.
 */
int plait_pipe_write(plait_ref_t pipe, plait_ref_t from, uint32_t length, int waits);

/* No bytes follow; nobody reads any more. Wakes all that wait. */
void plait_pipe_end(plait_ref_t pipe);
void plait_pipe_break(plait_ref_t pipe);

/* Bytes that a reader would get; 1 at the end. Room that a writer has; 1 if nobody reads. 0: it would have to wait. */
uint32_t plait_pipe_bytes(plait_ref_t pipe);
uint32_t plait_pipe_room(plait_ref_t pipe);

#endif
