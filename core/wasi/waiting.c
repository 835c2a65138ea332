/*
 * waiting: how a hosted program waits for clocks and streams (poll_oneoff).
 */
#include "host.h"
#include "pipe.h"
#include "preview1.h"
#include "program.h"

PLAIT_COLD_BEGIN

/* A subscription (preview1.h has its offsets), copied. */
struct subscription {
  uint64_t userdata;
  uint32_t tag, name; /* clock or descriptor */
  uint64_t timeout;
  uint32_t is_absolute;
};
#define S_NAME 16u
#define S_TIMEOUT 24u
#define S_CLOCK_FLAGS 40u

static struct subscription get_subscription(plait_guest_t at) {
  struct subscription got = {.userdata = guest_load64(at),
      .tag = guest_load(at + 8) & 255u,
      .name = guest_load(at + S_NAME),
      .timeout = guest_load64(at + S_TIMEOUT),
      .is_absolute = guest_load(at + S_CLOCK_FLAGS) & 1u};
  return got;
}

static void put_poll_event(plait_guest_t to, const struct subscription *of, uint32_t error, uint64_t bytes) {
  guest_store64(to, of->userdata);
  guest_store64(to + 8, error | of->tag << 16);
  guest_store64(to + 16, bytes);
  guest_store64(to + 24, 0);
}

/* Nanoseconds until the clock's time has come, 0: it has. `since`: when the poll began. Other clocks: an error. */
static uint32_t clock_left(const struct subscription *of, uint64_t since, uint64_t *left) {
  if (of->name > CLOCK_MONOTONIC_ID) return PREVIEW1_EINVAL;
  uint64_t now = plait_program_clock(of->is_absolute ? of->name : CLOCK_MONOTONIC_ID), until = of->timeout;
  if (!of->is_absolute) until = until > UINT64_MAX - since ? UINT64_MAX : since + until;
  *left = until > now ? until - now : 0;
  return 0;
}

/* Bytes that can be read or written at once; 0: it would have to wait, on `word`. */
static uint32_t stream_ready(const struct subscription *of, plait_word_t **word, uint32_t *seen) {
  struct plait_wasi_descriptor found;
  if (plait_wasi_find(of->name, &found) != 0 || found.kind != PLAIT_WASI_STREAM) return 1;
  struct plait_program_stream *stream = &plait_program_current()->streams[found.fd];
  if (plait_get(&stream->kind) != PLAIT_STREAM_PIPE) return 1; /* as of a file: the host cannot tell */
  plait_ref_t ref = plait_get(&stream->value);
  struct plait_pipe *pipe = plait_at(ref);
  *word = of->tag == PREVIEW1_TAG_READ ? &pipe->readable : &pipe->writable;
  *seen = atomic_load(*word);
  return of->tag == PREVIEW1_TAG_READ ? plait_pipe_bytes(ref) : plait_pipe_room(ref);
}

#define SLEEP_OF_SEVERAL 5000000 /* ns: how long to wait for one of several words before all are looked at again */
#define LONGEST_SLEEP 1000000000000000000u

struct poll {
  uint64_t least;     /* nanoseconds until the first clock */
  plait_word_t *word; /* a word that changes when a stream is ready */
  uint32_t seen, words;
};

static uint32_t poll_once(plait_guest_t in, plait_guest_t out, uint32_t count, uint64_t since, struct poll *poll) {
  uint32_t ready = 0;
  *poll = (struct poll){.least = LONGEST_SLEEP};
  for (uint32_t i = 0; i < count; i++) {
    struct subscription of = get_subscription(in + i * SUBSCRIPTION_SIZE);
    uint64_t bytes = 0, left = 0;
    uint32_t error = 0, seen = 0;
    plait_word_t *word = NULL;
    if (of.tag == PREVIEW1_TAG_CLOCK) error = clock_left(&of, since, &left);
    else if (of.tag == PREVIEW1_TAG_READ || of.tag == PREVIEW1_TAG_WRITE) bytes = stream_ready(&of, &word, &seen);
    else error = PREVIEW1_EINVAL;
    if (error == 0 && (of.tag == PREVIEW1_TAG_CLOCK ? left != 0 : bytes == 0)) {
      if (word != NULL) poll->word = word, poll->seen = seen, poll->words++;
      else if (left < poll->least) poll->least = left;
      continue;
    }
    put_poll_event(out + ready++ * EVENT_SIZE, &of, error, bytes);
  }
  return ready;
}

/* Sleeps until something may be ready. The end of the program ends the sleep of threads that wait for clocks. */
static void poll_sleep(const struct poll *poll) {
  struct plait_program *program = plait_program_current();
  if (!plait_self_may_block()) return; /* a page's main thread spins */
  uint64_t longest = poll->words > 1 && poll->least > SLEEP_OF_SEVERAL ? SLEEP_OF_SEVERAL : poll->least;
  if (poll->word != NULL) plait_platform_wait(poll->word, poll->seen, (int64_t)longest);
  else plait_platform_wait(&program->end, plait_load(&program->end), (int64_t)longest);
}

uint32_t plait_wasi_host_poll(plait_guest_t in, plait_guest_t out, uint32_t count, plait_guest_t events) {
  uint64_t since = plait_program_clock(CLOCK_MONOTONIC_ID);
  struct poll poll;
  uint32_t ready;
  while ((ready = poll_once(in, out, count, since, &poll)) == 0) poll_sleep(&poll);
  guest_store(events, ready);
  return 0;
}

PLAIT_COLD_END
