/*
 * heap: see heap.h for the layout and the invariants. This first heap is made to be right and small; its run list is
 * searched from a rover and its small blocks stay in their class.
 */
#include "internal.h"

#define HEADER ((uint32_t)sizeof(struct plait_block))
#define CHUNK_GRANULES 16u /* 64 KiB */
#define GROW_GRANULES 256u /* 1 MiB: the least that the memory grows by, unless it has less left */

/* Sizes from one block to the next: 16 bytes apart, then about an eighth; above the last, a block is a run. */
static const uint16_t class_sizes[] = {32,  48,  64,  80,  96,  112, 128,  144,  160,  192,  224,  256,  320, 384,
                                       448, 512, 640, 768, 896, 1024, 1280, 1536, 1792, 2048, 2560, 3072, 4080, 5104};
#define CLASS_COUNT (sizeof class_sizes / sizeof *class_sizes)
_Static_assert(CLASS_COUNT <= PLAIT_HEAP_CLASS_LIMIT, "classes fit the heap's root");

static struct plait_block *run_at(uint32_t granule) {
  return plait_at(granule * PLAIT_HEAP_GRANULE);
}

/* Writes a header; the tag last, as a release, because it may be what makes the block visible to a walk or a free. */
static void set_header(plait_ref_t header, uint32_t tag, uint32_t size) {
  struct plait_block *block = plait__heap_header(header);
  atomic_store_explicit(&block->next, 0, memory_order_relaxed);
  atomic_store_explicit(&block->size, size, memory_order_relaxed);
  atomic_store_explicit(&block->guard, plait__heap_guard(header), memory_order_relaxed);
  atomic_store_explicit(&block->tag, tag, memory_order_release);
}

static uint32_t tag_at(plait_ref_t header) {
  return atomic_load_explicit(&plait__heap_header(header)->tag, memory_order_acquire); /* pairs with set_header and free */
}

static uint32_t relaxed(plait_word_t *word) {
  return atomic_load_explicit(word, memory_order_relaxed);
}

static void add(plait_word_t *word, uint32_t amount) {
  atomic_fetch_add_explicit(word, amount, memory_order_relaxed);
}

static void note_peak(struct plait_heap *heap) {
  uint32_t used = relaxed(&heap->live_granules) + relaxed(&heap->chunks) * CHUNK_GRANULES;
  uint32_t peak = relaxed(&heap->peak_granules);
  while (used > peak && !atomic_compare_exchange_weak_explicit(&heap->peak_granules, &peak, used, memory_order_relaxed,
                                                               memory_order_relaxed))
    ;
}

/* ---- runs; all of this section holds the run lock, but for free_run and grow ---- */

/* No repair is owed after a takeover: whatever the dead owner did ended with a single store, or is invisible. */
static int lock_runs(struct plait_heap *heap) {
  int rc = plait_lock_acquire(&heap->runs);
  return rc < 0 ? rc : 0;
}

/* Covers what the memory has gained since the last look with a free run. */
static void extend(struct plait_heap *heap) {
  uint32_t pages = plait_platform_pages();
  uint32_t to = pages * (PLAIT_PAGE_SIZE / PLAIT_HEAP_GRANULE);
  uint32_t limit = relaxed(&heap->limit);
  uint32_t end = relaxed(&heap->end);
  if (to > limit) to = limit;
  if (to <= end) return;
  set_header(end * PLAIT_HEAP_GRANULE, plait__heap_tag(PLAIT__RUN_FREE, to - end), 0);
  atomic_store_explicit(&heap->end, to, memory_order_release);
}

/* Joins the free run at `granule` with the free runs behind it; returns its length. */
static uint32_t join(struct plait_heap *heap, uint32_t granule) {
  uint32_t length = plait__heap_rest_of(tag_at(granule * PLAIT_HEAP_GRANULE));
  uint32_t end = relaxed(&heap->end);
  uint32_t joined = length;
  while (granule + joined < end) {
    uint32_t tag = tag_at((granule + joined) * PLAIT_HEAP_GRANULE);
    if (plait__heap_kind_of(tag) != PLAIT__RUN_FREE) break;
    joined += plait__heap_rest_of(tag);
  }
  if (joined != length) {
    /* The rover leaves the runs that are about to vanish before they do. */
    uint32_t rover = relaxed(&heap->rover);
    if (rover > granule && rover < granule + joined) atomic_store_explicit(&heap->rover, granule, memory_order_relaxed);
    atomic_store_explicit(&run_at(granule)->tag, plait__heap_tag(PLAIT__RUN_FREE, joined), memory_order_release);
  }
  return joined;
}

/* Takes `granules` from the free run at `granule`, whose length is `length`, as a large block. */
static void split(struct plait_heap *heap, uint32_t granule, uint32_t length, uint32_t granules, uint32_t size) {
  if (length > granules) set_header((granule + granules) * PLAIT_HEAP_GRANULE, plait__heap_tag(PLAIT__RUN_FREE, length - granules), 0);
  atomic_store_explicit(&heap->rover, granule, memory_order_relaxed);
  set_header(granule * PLAIT_HEAP_GRANULE, plait__heap_tag(PLAIT__RUN_LARGE, granules), size);
}

/*
 * Looks at every run once, from the rover round; the granule of a free run of at least `granules`, with its length in
 * `length`; or 0, with the length of the free run that ends the heap.
 */
static uint32_t find(struct plait_heap *heap, uint32_t granules, uint32_t *length) {
  uint32_t first = relaxed(&heap->first), rover = relaxed(&heap->rover), end = relaxed(&heap->end);
  for (int round = 0; round < 2; round++) {
    uint32_t granule = round == 0 ? rover : first;
    uint32_t stop = round == 0 ? end : rover;
    while (granule < stop) {
      uint32_t tag = tag_at(granule * PLAIT_HEAP_GRANULE);
      uint32_t run = plait__heap_rest_of(tag);
      if (run == 0) return 0; /* somebody wrote over a header: no memory from here, rather than no end */
      if (plait__heap_kind_of(tag) == PLAIT__RUN_FREE) {
        run = join(heap, granule);
        if (run >= granules) {
          *length = run;
          return granule;
        }
        if (granule + run == end) *length = run;
      }
      granule += run;
    }
  }
  return 0;
}

/*
 * Makes the memory larger by at least `granules` beyond `end`, where the heap ended for whoever found no room, and
 * nothing if the limit is too near for that. Called without the lock. 0 also when another thread was quicker.
 */
static int grow(struct plait_heap *heap, uint32_t end, uint32_t granules) {
  uint32_t per_page = PLAIT_PAGE_SIZE / PLAIT_HEAP_GRANULE;
  uint32_t limit = relaxed(&heap->limit), size = plait_platform_pages() * per_page;
  if (end >= limit || granules > limit - end) return -PLAIT_ENOMEM;
  if (size > end) return 0;
  uint32_t want = end / 8; /* an eighth more each time: growth costs little in the long run */
  if (want < GROW_GRANULES) want = GROW_GRANULES;
  if (want < granules) want = granules;
  if (want > limit - end) want = limit - end;
  if (plait_platform_grow((want + per_page - 1) / per_page) == 0) return 0;
  if (want > granules && plait_platform_grow((granules + per_page - 1) / per_page) == 0) return 0;
  return plait_platform_pages() * per_page > end ? 0 : -PLAIT_ENOMEM;
}

/* A large block of `granules`: its header, or 0 if there is no room. Without the lock before and after. */
static plait_ref_t alloc_run(uint32_t granules, uint32_t size) {
  struct plait_heap *heap = plait_heap();
  for (;;) {
    if (lock_runs(heap) != 0) return 0;
    uint32_t length = 0;
    extend(heap);
    uint32_t end = relaxed(&heap->end);
    uint32_t granule = find(heap, granules, &length);
    if (granule != 0) split(heap, granule, length, granules, size);
    plait_lock_release(&heap->runs);
    if (granule != 0) {
      add(&heap->live_runs, 1);
      add(&heap->live_granules, granules);
      note_peak(heap);
      return granule * PLAIT_HEAP_GRANULE;
    }
    if (grow(heap, end, granules - length) != 0) return 0;
  }
}

/* ---- small blocks ---- */

static uint32_t class_for(uint32_t size) {
  uint32_t need = size + HEADER;
  uint32_t low = 0, high = CLASS_COUNT - 1;
  if (need <= 144) return need <= 32 ? 0 : (need - 17) / 16;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (class_sizes[middle] >= need) high = middle;
    else low = middle + 1;
  }
  return low;
}

/* Puts the chain first..last, linked already, in front of the class's list, in one exchange. */
static void push_chain(struct plait_heap_class *class, plait_ref_t first, plait_ref_t last) {
  uint64_t head = atomic_load_explicit(&class->head, memory_order_relaxed);
  uint64_t next;
  do {
    atomic_store_explicit(&plait__heap_header(last)->next, (uint32_t)head, memory_order_relaxed);
    next = ((head >> 32) + 1) << 32 | first;
    /* release: pairs with the acquire in pop, so that the links are seen with the head. */
  } while (!atomic_compare_exchange_weak_explicit(&class->head, &head, next, memory_order_release,
                                                  memory_order_relaxed));
}

static plait_ref_t pop(struct plait_heap_class *class) {
  uint64_t head = atomic_load_explicit(&class->head, memory_order_acquire);
  for (;;) {
    plait_ref_t block = (plait_ref_t)head;
    if (block == 0) return 0;
    /* Another thread may pop the block right here and hand it out: `next` is then stale, and the exchange fails. */
    uint32_t next = atomic_load_explicit(&plait__heap_header(block)->next, memory_order_relaxed);
    uint64_t after = ((head >> 32) + 1) << 32 | next;
    if (atomic_compare_exchange_weak_explicit(&class->head, &head, after, memory_order_acquire, memory_order_acquire))
      return block;
  }
}

/*
 * Cuts a fresh chunk into blocks of the class; keeps one for the caller and lists the others. 0: no memory.
 * Until it is wholly cut it is a large block that the thread's intent record names, so a death gives it back.
 */
static plait_ref_t cut_chunk(uint32_t index) {
  struct plait_heap *heap = plait_heap();
  struct plait_heap_class *class = &heap->classes[index];
  struct plait_slot *self = plait_self();
  plait_ref_t chunk = alloc_run(CHUNK_GRANULES, 0);
  if (chunk == 0) return 0;
  atomic_store_explicit(&self->scratch, chunk + HEADER, memory_order_release);
  uint32_t size = class_sizes[index];
  uint32_t count = (CHUNK_GRANULES * PLAIT_HEAP_GRANULE - HEADER) / size;
  plait_ref_t first = chunk + HEADER;
  for (uint32_t i = 0; i < count; i++) {
    plait_ref_t block = first + i * size;
    set_header(block, plait__heap_tag(PLAIT__SMALL_FREE, index), 0);
    if (i + 1 < count) atomic_store_explicit(&plait__heap_header(block)->next, block + size, memory_order_relaxed);
  }
  atomic_store_explicit(&plait__heap_header(chunk)->tag, plait__heap_tag(PLAIT__RUN_CHUNK, CHUNK_GRANULES),
                        memory_order_release);
  add(&class->total, count); /* before the blocks are listed: check relies on total >= listed after a death here */
  if (count > 1) push_chain(class, first + size, first + (count - 1) * size);
  atomic_store_explicit(&self->scratch, 0, memory_order_release);
  add(&heap->chunks, 1);
  add(&heap->live_runs, -1u);
  add(&heap->live_granules, -CHUNK_GRANULES);
  return first;
}

/* ---- the face ---- */

int plait_heap_init(plait_ref_t first, uint32_t maximum_pages) {
  struct plait_heap *heap = plait_heap();
  uint32_t granule = (first + PLAIT_HEAP_GRANULE - 1) / PLAIT_HEAP_GRANULE;
  uint32_t per_page = PLAIT_PAGE_SIZE / PLAIT_HEAP_GRANULE;
  uint32_t pages = granule / per_page + 1;
  uint32_t now = plait_platform_pages();
  if (maximum_pages > 65536) maximum_pages = 65536; /* 4 GiB: where references end */
  if (pages > now && plait_platform_grow(pages - now) != 0) return -PLAIT_ENOMEM;
  atomic_store_explicit(&heap->first, granule, memory_order_relaxed);
  atomic_store_explicit(&heap->end, granule, memory_order_relaxed);
  atomic_store_explicit(&heap->rover, granule, memory_order_relaxed);
  atomic_store_explicit(&heap->limit, maximum_pages * per_page, memory_order_relaxed);
  for (uint32_t i = 0; i < CLASS_COUNT; i++)
    atomic_store_explicit(&heap->classes[i].size, class_sizes[i], memory_order_relaxed);
  return 0;
}

static plait_ref_t alloc_large(uint32_t size) {
  uint64_t bytes = (uint64_t)size + HEADER;
  return alloc_run((uint32_t)((bytes + PLAIT_HEAP_GRANULE - 1) / PLAIT_HEAP_GRANULE), size);
}

static plait_ref_t alloc_small(uint32_t size) {
  uint32_t index = class_for(size);
  struct plait_heap_class *class = &plait_heap()->classes[index];
  plait_ref_t block = pop(class);
  if (block == 0) block = cut_chunk(index);
  if (block == 0) return 0;
  struct plait_block *header = plait__heap_header(block);
  atomic_store_explicit(&header->size, size, memory_order_relaxed);
  atomic_store_explicit(&header->tag, plait__heap_tag(PLAIT__SMALL_LIVE, index), memory_order_release);
  add(&class->live, 1);
  return block;
}

PLAIT_EXPORT plait_ref_t plait_heap_alloc(uint32_t size) {
  uint32_t largest_small = class_sizes[CLASS_COUNT - 1] - HEADER;
  plait_ref_t block = size <= largest_small ? alloc_small(size) : alloc_large(size);
  if (block == 0) {
    add(&plait_heap()->failed, 1);
    return 0;
  }
  return block + HEADER;
}

/* The header of a live block whose payload starts at `payload`, or 0; its tag in `tag`. */
static plait_ref_t live_header(plait_ref_t payload, uint32_t *tag) {
  struct plait_heap *heap = plait_heap();
  if (payload % 16 != 0 || payload < HEADER) return 0;
  plait_ref_t header = payload - HEADER;
  uint32_t granule = header / PLAIT_HEAP_GRANULE;
  if (granule < relaxed(&heap->first) || granule >= atomic_load_explicit(&heap->end, memory_order_acquire)) return 0;
  *tag = tag_at(header);
  if (relaxed(&plait__heap_header(header)->guard) != plait__heap_guard(header)) return 0;
  enum plait__heap_kind kind = plait__heap_kind_of(*tag);
  if (kind == PLAIT__RUN_LARGE) return header % PLAIT_HEAP_GRANULE == 0 ? header : 0;
  return kind == PLAIT__SMALL_LIVE && plait__heap_rest_of(*tag) < CLASS_COUNT ? header : 0;
}

/* Of two threads that free one block, the exchange lets one pass. release: pairs with tag_at in join and pop's. */
static int mark_free(plait_ref_t header, uint32_t tag, enum plait__heap_kind kind) {
  return atomic_compare_exchange_strong_explicit(&plait__heap_header(header)->tag, &tag,
                                                 plait__heap_tag(kind, plait__heap_rest_of(tag)), memory_order_acq_rel,
                                                 memory_order_relaxed);
}

/*
 * If the run lock is to be had at once, the next search starts at the block that was freed last: its bytes are still in
 * some cache. Freeing itself does not need the lock.
 */
static int free_large(struct plait_heap *heap, plait_ref_t header, uint32_t tag) {
  int locked = plait_lock_try(&heap->runs) >= 0;
  int freed = mark_free(header, tag, PLAIT__RUN_FREE);
  if (freed && locked) atomic_store_explicit(&heap->rover, header / PLAIT_HEAP_GRANULE, memory_order_relaxed);
  if (locked) plait_lock_release(&heap->runs);
  if (!freed) return -PLAIT_EINVAL;
  add(&heap->live_runs, -1u);
  add(&heap->live_granules, -plait__heap_rest_of(tag));
  return 0;
}

PLAIT_EXPORT int plait_heap_free(plait_ref_t payload) {
  struct plait_heap *heap = plait_heap();
  uint32_t tag;
  plait_ref_t header = live_header(payload, &tag);
  if (header == 0) return -PLAIT_EINVAL;
  if (plait__heap_kind_of(tag) == PLAIT__RUN_LARGE) return free_large(heap, header, tag);
  if (!mark_free(header, tag, PLAIT__SMALL_FREE)) return -PLAIT_EINVAL;
  struct plait_heap_class *class = &heap->classes[plait__heap_rest_of(tag)];
  add(&class->live, -1u);
  push_chain(class, header, header);
  return 0;
}

int64_t plait_heap_size(plait_ref_t payload) {
  uint32_t tag;
  plait_ref_t header = live_header(payload, &tag);
  return header == 0 ? -PLAIT_EINVAL : (int64_t)relaxed(&plait__heap_header(header)->size);
}

void plait_heap_stats(struct plait_heap_stats *out) {
  struct plait_heap *heap = plait_heap();
  uint32_t live = relaxed(&heap->live_runs);
  for (uint32_t i = 0; i < CLASS_COUNT; i++) live += relaxed(&heap->classes[i].live);
  out->reserved_bytes = (uint64_t)(relaxed(&heap->end) - relaxed(&heap->first)) * PLAIT_HEAP_GRANULE;
  out->used_bytes =
      (uint64_t)(relaxed(&heap->live_granules) + relaxed(&heap->chunks) * CHUNK_GRANULES) * PLAIT_HEAP_GRANULE;
  out->peak_bytes = (uint64_t)relaxed(&heap->peak_granules) * PLAIT_HEAP_GRANULE;
  out->live_blocks = live;
  out->failed = relaxed(&heap->failed);
}

void plait_heap_recover(plait_thread_t dead) {
  struct plait_heap *heap = plait_heap();
  if (plait_lock_owner(&heap->runs) != dead) return;
  if (lock_runs(heap) == 0) plait_lock_release(&heap->runs);
  plait_lock_wake(&heap->runs);
}
