/*
 * workload: see workload.h.
 *
 * Invariant: the work is the same in every run: its total is fixed and divided by the threads, and the random numbers
 * come from a seed. Only the order between threads is open.
 */
#include "block.h"

#include <stdatomic.h>

enum {
  SMALL_SLOTS = 4096,
  ARTICLE_SLOTS = 1024,
  MIXED_SLOTS = 2048,
  LARGE_SLOTS = 16,
  SLOT_LIMIT = SMALL_SLOTS,
  COMMON_SLOTS = 16384, /* larson: about 4 MiB of blocks */
  RING_SLOTS = 1024,
  RING_BATCH = 32, /* blocks that are passed on at once */
  RING_SPINS = 100,
  CHUNK = 1024, /* operations between two looks at anything but the work; short, so that newly compiled code is taken */
  REALLOC_FIRST = 32,
  REALLOC_LAST = 65536,
};

/* One producer, one consumer: entries from `tail` to before `head` are full. */
struct ring {
  _Alignas(64) _Atomic uint32_t head;
  _Atomic uint32_t consumer_waits;
  _Alignas(64) _Atomic uint32_t tail;
  _Atomic uint32_t producer_waits;
  _Alignas(64) struct slot entries[RING_SLOTS];
};

struct mode {
  const char *name;
  void (*fill)(struct thread *thread);
  void (*chunk)(struct thread *thread, uint32_t operations);
  void (*finish)(struct thread *thread);
  uint32_t operations; /* of all threads */
  uint32_t pair;       /* 1: threads work in pairs, and both halves of an operation count as one */
};

static struct thread threads[BENCH_THREAD_LIMIT];
static struct slot own_slots[BENCH_THREAD_LIMIT][SLOT_LIMIT];
static _Atomic(uint32_t *) common_slots[COMMON_SLOTS];
static struct ring rings[BENCH_THREAD_LIMIT / 2];
static const struct mode *mode;
static uint32_t thread_count;
static _Atomic uint32_t arrived, meeting;

/* ---- small, mixed, large: a random slot gets a new block; one operation = one free and one malloc ---- */

typedef uint32_t size_picker(struct thread *thread);

static inline uint32_t small_size(struct thread *thread) {
  return pick(thread, 16, 113); /* 16 .. 128 */
}

/* 8 B .. 32 KiB: each of the twelve octaves as likely as any other. */
static inline uint32_t mixed_size(struct thread *thread) {
  uint32_t octave = 8u << pick(thread, 0, 12);
  return pick(thread, octave, octave + 1);
}

static inline uint32_t large_size(struct thread *thread) {
  return pick(thread, 65536, 1048576 - 65536 + 1);
}

static inline void fill_slots(struct thread *thread, uint32_t slots, size_picker *size) {
  for (uint32_t i = 0; i < slots; i++) thread->slots[i] = make(thread, size(thread));
}

static inline void replace_slots(struct thread *thread, uint32_t slots, size_picker *size, uint32_t operations) {
  for (uint32_t i = 0; i < operations; i++) {
    struct slot *slot = &thread->slots[pick(thread, 0, slots)];
    drop(*slot);
    *slot = make(thread, size(thread));
  }
}

static void drop_slots(struct thread *thread) {
  for (uint32_t i = 0; i < SLOT_LIMIT && thread->slots[i].block != NULL; i++) drop(thread->slots[i]);
}

#define REPLACING(name, slots)                                           \
  static void name##_fill(struct thread *thread) {                       \
    fill_slots(thread, slots, name##_size);                              \
  }                                                                      \
  static void name##_chunk(struct thread *thread, uint32_t operations) { \
    replace_slots(thread, slots, name##_size, operations);               \
  }
REPLACING(small, SMALL_SLOTS)
REPLACING(mixed, MIXED_SLOTS)
REPLACING(large, LARGE_SLOTS)

/* ---- article: the oldest of 1024 blocks is replaced; one operation = one free and one malloc ---- */

static inline uint32_t article_size(struct thread *thread) {
  return pick(thread, 1000, 1024);
}

static void article_fill(struct thread *thread) {
  fill_slots(thread, ARTICLE_SLOTS, article_size);
}

static void article_chunk(struct thread *thread, uint32_t operations) {
  for (uint32_t i = 0; i < operations; i++) {
    struct slot *slot = &thread->slots[thread->cursor++ % ARTICLE_SLOTS];
    drop(*slot);
    *slot = make(thread, article_size(thread));
  }
}

/* ---- realloc: one block grows by half and half again, then the next; one operation = one realloc ---- */

static void realloc_fill(struct thread *thread) {
  thread->slots[0] = make(thread, REALLOC_FIRST);
}

static void realloc_chunk(struct thread *thread, uint32_t operations) {
  struct slot *slot = &thread->slots[0];
  for (uint32_t i = 0; i < operations; i++) {
    uint32_t before = size_of(slot->head);
    if (before == REALLOC_LAST) {
      drop(*slot);
      *slot = make(thread, REALLOC_FIRST);
      before = REALLOC_FIRST;
    }
    uint32_t size = before + before / 2 < REALLOC_LAST ? before + before / 2 : REALLOC_LAST;
    slot->block = realloc(slot->block, size);
    if (slot->block == NULL) bench_host_fail(BENCH_NO_MEMORY);
    check(slot->block, slot->head);
    next_random(thread);
    slot->head = new_head(thread, size);
    sign(slot->block, slot->head);
  }
}

/* ---- prodcons: even threads allocate, odd ones free; one operation = one block from malloc to free ---- */

/*
 * Waits until *word has another value; `waits` tells the other side to wake us. Both are sequentially consistent:
 * either the other side sees the flag, or the wait sees its new value.
 */
static uint32_t next_value(_Atomic uint32_t *word, uint32_t value, _Atomic uint32_t *waits) {
  for (uint32_t spin = 0; spin < RING_SPINS; spin++)
    if (atomic_load(word) != value) return atomic_load(word);
  atomic_store(waits, 1);
  while (atomic_load(word) == value) bench_host_wait(word, value);
  atomic_store(waits, 0);
  return atomic_load(word);
}

static void produce(struct thread *thread, struct ring *ring, uint32_t operations) {
  uint32_t head = atomic_load(&ring->head), tail = atomic_load(&ring->tail);
  for (uint32_t i = 1; i <= operations; i++) {
    if (head - tail == RING_SLOTS) tail = next_value(&ring->tail, tail, &ring->producer_waits);
    ring->entries[head++ % RING_SLOTS] = make(thread, pick(thread, 16, 256));
    if (i % RING_BATCH != 0 && i != operations && head - tail != RING_SLOTS) continue;
    atomic_store(&ring->head, head); /* publishes the entries; the consumer's load of head pairs with it */
    tail = atomic_load(&ring->tail);
    /* A sleeper is woken for half a ring, not for a batch: this is no measurement of waking threads. */
    if (atomic_load(&ring->consumer_waits) && (head - tail >= RING_SLOTS / 2 || i == operations))
      bench_host_wake(&ring->head);
  }
}

static void consume(struct ring *ring, uint32_t operations) {
  uint32_t head = atomic_load(&ring->head), tail = atomic_load(&ring->tail);
  for (uint32_t i = 1; i <= operations; i++) {
    if (tail == head) head = next_value(&ring->head, head, &ring->consumer_waits);
    drop(ring->entries[tail++ % RING_SLOTS]);
    if (i % RING_BATCH != 0 && i != operations && tail != head) continue;
    atomic_store(&ring->tail, tail); /* gives the entries back; the producer's load of tail pairs with it */
    if (atomic_load(&ring->producer_waits) && (atomic_load(&ring->head) - tail <= RING_SLOTS / 2 || tail == head))
      bench_host_wake(&ring->tail);
  }
}

static void prodcons_chunk(struct thread *thread, uint32_t operations) {
  struct ring *ring = &rings[thread->index / 2];
  if (thread->index % 2 == 0) produce(thread, ring, operations);
  else consume(ring, operations);
}

static void nothing(struct thread *thread) {
  (void)thread;
}

/* ---- larson: all threads replace the blocks of one common array; one operation = one free and one malloc ---- */

static inline uint32_t *common_make(struct thread *thread) {
  return (uint32_t *)(void *)make(thread, pick(thread, 16, 497)).block; /* 16 .. 512 */
}

/* Only the address travels, so the block vouches for itself; a head that was dropped once is never valid again. */
static inline void common_drop(uint32_t *block) {
  uint32_t head = *block;
  if (size_of(head) - 16 > 512 - 16) bench_host_fail(BENCH_DAMAGED);
  check((uint8_t *)block, head);
  *block = 0;
  free(block);
}

static void larson_fill(struct thread *thread) {
  for (uint32_t i = thread->index; i < COMMON_SLOTS; i += thread_count)
    atomic_store(&common_slots[i], common_make(thread));
}

static void larson_chunk(struct thread *thread, uint32_t operations) {
  for (uint32_t i = 0; i < operations; i++) {
    uint32_t *mine = common_make(thread);
    /* acq_rel: the new block's bytes go with its address, and those of the old one came with its own. */
    uint32_t *other = atomic_exchange(&common_slots[pick(thread, 0, COMMON_SLOTS)], mine);
    common_drop(other);
  }
}

static void larson_finish(struct thread *thread) {
  for (uint32_t i = thread->index; i < COMMON_SLOTS; i += thread_count) common_drop(atomic_load(&common_slots[i]));
}

/* ---- a run ---- */

static const struct mode modes[] = {
    {"small", small_fill, small_chunk, drop_slots, 3u << 20, 0},
    {"article", article_fill, article_chunk, drop_slots, 2u << 20, 0},
    {"mixed", mixed_fill, mixed_chunk, drop_slots, 1u << 20, 0},
    {"large", large_fill, large_chunk, drop_slots, 1u << 18, 0},
    {"realloc", realloc_fill, realloc_chunk, drop_slots, 1u << 20, 0},
    {"prodcons", nothing, prodcons_chunk, nothing, 1u << 20, 1},
    {"larson", larson_fill, larson_chunk, larson_finish, 3u << 19, 0},
};
#define MODE_COUNT (sizeof modes / sizeof *modes)

const char *bench_mode_name(uint32_t index) {
  return index < MODE_COUNT ? modes[index].name : NULL;
}

int bench_setup(uint32_t index, uint32_t count, uint32_t seed) {
  if (index >= MODE_COUNT || count == 0 || count > BENCH_THREAD_LIMIT) return 0;
  if (modes[index].pair && count % 2 != 0) return 0;
  mode = &modes[index];
  thread_count = count;
  for (uint32_t i = 0; i < count; i++)
    threads[i] = (struct thread){.random = (seed + i) * 2654435761u | 1, .index = i, .slots = own_slots[i]};
  return 1;
}

/* How many chunks make a thread's share of the work. */
static uint32_t share(void) {
  return mode->operations / (mode->pair ? thread_count / 2 : thread_count) / CHUNK;
}

uint32_t bench_operations(void) {
  return share() * CHUNK * (mode->pair ? thread_count / 2 : thread_count);
}

/* Returns when all threads are in it. */
static void meet(void) {
  uint32_t now = atomic_load(&meeting);
  if (atomic_fetch_add(&arrived, 1) + 1 == thread_count) {
    atomic_store(&arrived, 0);
    atomic_store(&meeting, now + 1);
    bench_host_wake(&meeting);
  }
  while (atomic_load(&meeting) == now) bench_host_wait(&meeting, now);
}

void bench_warm(uint32_t index) {
  struct thread *thread = &threads[index];
  meet();
  mode->fill(thread);
  meet();
  for (uint32_t i = share() / 2; i > 0; i--) mode->chunk(thread, CHUNK);
  meet();
}

void bench_work(uint32_t index) {
  struct thread *thread = &threads[index];
  for (uint32_t i = share(); i > 0; i--) mode->chunk(thread, CHUNK);
}

void bench_finish(uint32_t index) {
  meet();
  mode->finish(&threads[index]);
}
