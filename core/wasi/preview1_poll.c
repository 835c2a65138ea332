/*
 * preview1_poll: poll_oneoff. A file is always ready. The host waits for clocks and for its streams.
 */
#include "preview1.h"

#define SUBSCRIPTION_LIMIT 65536u
/* Offsets in a subscription, and in an event. */
enum { S_USERDATA = 0, S_TAG = 8, S_FD = 16 };
enum { E_USERDATA = 0, E_ERROR = 8, E_TYPE = 10, E_BYTES = 16, E_FLAGS = 24 };

PLAIT_COLD_BEGIN

/* Bytes that a reader of the file would get. */
static uint64_t bytes_to_read(const struct plait_wasi_descriptor *found) {
  struct plait_fs_at at = {.fd = found->fd, .uses = found->uses};
  double position = plait_fs_seek_as(found->fd, found->uses, 0, 1);
  if (position < 0 || plait_fs_stat_at(&at, 1) != 0) return 0;
  uint64_t size = plait_get64(&plait_wasi_enter()->result.size);
  return size > (uint64_t)position ? size - (uint64_t)position : 0;
}

static void put_event(plait_guest_t to, plait_guest_t subscription, uint32_t tag, uint32_t error, uint64_t bytes) {
  guest_store64(to + E_USERDATA, guest_load64(subscription + S_USERDATA));
  guest_store64(to + E_ERROR, error | tag << 16);
  guest_store64(to + E_BYTES, bytes);
  guest_store64(to + E_FLAGS, 0);
}

/*
 * Puts an event for each subscription to what is no stream of the host, and counts them. `renamed`: whether a stream
 * has another number here than at the host.
 */
static uint32_t put_ready(plait_guest_t in, plait_guest_t out, uint32_t count, int *renamed) {
  uint32_t ready = 0;
  for (uint32_t i = 0; i < count; i++) {
    plait_guest_t subscription = in + i * SUBSCRIPTION_SIZE;
    uint32_t tag = guest_load(subscription + S_TAG) & 255u;
    if (tag != PREVIEW1_TAG_READ && tag != PREVIEW1_TAG_WRITE) continue;
    struct plait_wasi_descriptor found;
    uint32_t fd = guest_load(subscription + S_FD);
    uint32_t error = plait_preview1_find(fd, RIGHT(RIGHT_POLL_FD_READWRITE), &found);
    if (error == 0 && found.kind == PLAIT_WASI_STREAM) {
      if ((uint32_t)found.fd != fd) *renamed = 1;
      continue;
    }
    uint64_t bytes =
        error == 0 && tag == PREVIEW1_TAG_READ && found.kind == PLAIT_WASI_FILE ? bytes_to_read(&found) : 0;
    put_event(out + ready++ * EVENT_SIZE, subscription, tag, error, bytes);
  }
  return ready;
}

#ifdef PLAIT_WASI_HOSTED
#define poll_renamed plait_wasi_host_poll /* it looks the numbers up itself */
#else
/* Passes the subscriptions on, with the host's numbers in a copy. */
static uint32_t poll_renamed(plait_guest_t in, plait_guest_t out, uint32_t count, plait_guest_t events) {
  plait_ref_t copy = plait_heap_alloc(count * SUBSCRIPTION_SIZE);
  if (copy == 0) return PREVIEW1_ENOMEM;
  guest_get(plait_at(copy), in, count * SUBSCRIPTION_SIZE);
  for (uint32_t i = 0; i < count; i++) {
    uint8_t *subscription = (uint8_t *)plait_at(copy) + i * SUBSCRIPTION_SIZE;
    struct plait_wasi_descriptor found;
    uint32_t fd;
    __builtin_memcpy(&fd, subscription + S_FD, sizeof fd);
    if (subscription[S_TAG] == PREVIEW1_TAG_CLOCK || plait_wasi_find(fd, &found) != 0) continue;
    __builtin_memcpy(subscription + S_FD, &found.fd, sizeof found.fd);
  }
  uint32_t error = plait_wasi_host_poll(copy, out, count, events);
  plait_heap_free(copy);
  return error;
}
#endif

PLAIT_EXPORT uint32_t plait_preview1_poll_oneoff(
    plait_guest_t in, plait_guest_t out, uint32_t count, plait_guest_t events) {
  PREVIEW1_ENTER;
  if (count == 0 || count > SUBSCRIPTION_LIMIT) return PREVIEW1_EINVAL;
  if (!guest_reaches(in, (uint64_t)count * SUBSCRIPTION_SIZE) || !guest_reaches(out, (uint64_t)count * EVENT_SIZE) ||
      !guest_reaches(events, 4))
    return PREVIEW1_FAULT;
  int renamed = 0;
  uint32_t ready = put_ready(in, out, count, &renamed);
  if (ready != 0) {
    guest_store(events, ready);
    return 0;
  }
  return renamed ? poll_renamed(in, out, count, events) : plait_wasi_host_poll(in, out, count, events);
}

PLAIT_COLD_END
