/*
 * streams: a hosted program's standard streams, and its writes to files.
 */
#include "host.h"
#include "pipe.h"
#include "preview1.h"
#include "program.h"

double plait_wasi_now(void) {
  return plait_host_clock(CLOCK_REALTIME_ID);
}

/* More than the scratch block holds is written from a block of its own, so that it is written at once. */
int guest_write(int fd, uint32_t uses, plait_guest_t from, uint32_t length, double position, double now) {
  plait_ref_t block = length <= PLAIT_FS_SCRATCH ? plait_program_scratch() : plait_heap_alloc(length);
  if (block == 0) { /* then in parts */
    block = plait_program_scratch();
    length = PLAIT_FS_SCRATCH;
  }
  guest_get(plait_at(block), from, length);
  int rc = plait_fs_write_as(fd, uses, block, length, position, now);
  if (block != plait_program_scratch()) plait_heap_free(block);
  return rc;
}

PLAIT_COLD_BEGIN

/* The first vector that has bytes: 1; 0: none has. */
static uint32_t first_vector(plait_guest_t iovs, uint32_t count, plait_guest_t *at, uint32_t *length) {
  for (uint32_t i = 0; i < count; i++) {
    *at = guest_load(iovs + IOVEC_SIZE * i);
    if ((*length = guest_load(iovs + IOVEC_SIZE * i + 4)) != 0) return 1;
  }
  return 0;
}

uint32_t plait_wasi_host_read(uint32_t index, plait_guest_t iovs, uint32_t count, plait_guest_t read) {
  struct plait_program_stream *stream = &plait_program_current()->streams[index];
  plait_guest_t to;
  uint32_t length, kind = plait_get(&stream->kind);
  plait_ref_t scratch = plait_program_scratch();
  int got = 0;
  if (first_vector(iovs, count, &to, &length)) {
    if (!guest_reaches(to, length)) return PREVIEW1_FAULT;
    if (length > PLAIT_FS_SCRATCH) length = PLAIT_FS_SCRATCH;
    if (kind == PLAIT_STREAM_PIPE) got = plait_pipe_read(plait_get(&stream->value), scratch, length, 1);
    if (kind == PLAIT_STREAM_HOST) got = plait_host_read(plait_get(&stream->value), plait_at(scratch), length);
    if (got < 0) return plait_preview1_error(got);
    guest_put(to, plait_at(scratch), (uint32_t)got);
  }
  guest_store(read, (uint32_t)got);
  return 0;
}

/* Copies as many bytes of the vectors as fit into the scratch block. */
static uint32_t gather_some(plait_guest_t iovs, uint32_t count, uint8_t *to, uint32_t *total) {
  *total = 0;
  for (uint32_t i = 0; i < count && *total < PLAIT_FS_SCRATCH; i++) {
    plait_guest_t from = guest_load(iovs + IOVEC_SIZE * i);
    uint32_t length = guest_load(iovs + IOVEC_SIZE * i + 4);
    if (!guest_reaches(from, length)) return *total == 0 ? PREVIEW1_FAULT : 0;
    if (length > PLAIT_FS_SCRATCH - *total) length = PLAIT_FS_SCRATCH - *total;
    guest_get(to + *total, from, length);
    *total += length;
  }
  return 0;
}

uint32_t plait_wasi_host_write(uint32_t index, plait_guest_t iovs, uint32_t count, plait_guest_t written) {
  struct plait_program_stream *stream = &plait_program_current()->streams[index];
  uint32_t length, kind = plait_get(&stream->kind);
  plait_ref_t scratch = plait_program_scratch();
  uint32_t error = gather_some(iovs, count, plait_at(scratch), &length);
  if (error != 0) return error;
  int put = (int)length;
  if (kind == PLAIT_STREAM_PIPE) put = plait_pipe_write(plait_get(&stream->value), scratch, length, 1);
  if (kind == PLAIT_STREAM_HOST) put = plait_host_write(plait_get(&stream->value), plait_at(scratch), length);
  if (put < 0) return plait_preview1_error(put);
  guest_store(written, (uint32_t)put);
  return 0;
}

uint32_t plait_wasi_host_is_terminal(uint32_t index) {
  struct plait_program_stream *stream = &plait_program_current()->streams[index];
  return plait_get(&stream->kind) == PLAIT_STREAM_HOST && plait_host_terminal(plait_get(&stream->value)) > 0;
}

PLAIT_COLD_END
