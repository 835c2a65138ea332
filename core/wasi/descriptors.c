/*
 * descriptors: the table of a program's numbers. See wasi.h for its invariant.
 */
#include "wasi.h"

static uint32_t limit_of(struct plait_wasi_program *program) {
  uint32_t limit = plait_load(&program->limit);
  return limit == 0 || limit > PLAIT_WASI_NUMBER_LIMIT ? PLAIT_WASI_NUMBER_LIMIT : limit;
}

/* The entry of a number, NULL if there is no chunk for it. */
static struct plait_wasi_entry *table_entry(struct plait_wasi_program *program, uint32_t number) {
  if (number >= PLAIT_WASI_NUMBER_LIMIT) return NULL;
  plait_ref_t chunk = plait_load(&program->chunks[number / PLAIT_WASI_CHUNK_ENTRIES]);
  return chunk == 0 ? NULL : (struct plait_wasi_entry *)plait_at(chunk) + number % PLAIT_WASI_CHUNK_ENTRIES;
}

static uint64_t opening_of(const struct plait_wasi_entry *entry) {
  return atomic_load_explicit(&entry->opening, memory_order_acquire);
}

static uint64_t pack(int fd, uint32_t uses) {
  return (uint64_t)uses << 32 | (uint32_t)fd;
}

/* 0, or -PLAIT_ETIMEDOUT. Whoever takes it over from a thread that has exited finds nothing to repair but the hint. */
static int lock_table(struct plait_wasi_program *program) {
  int rc = plait_lock_acquire(&program->lock);
  if (rc < 0) return rc;
  if (PLAIT_EXITS_NOTICED && rc == PLAIT_LOCK_TAKEN_OVER) plait_put(&program->lowest, 0);
  return 0;
}

/* The opening, or 0. Waits for another thread that replaces it right now (plait_wasi_renumber()). */
static PLAIT_COLD uint64_t opening_under_lock(const struct plait_wasi_entry *entry) {
  struct plait_wasi_program *program = plait_wasi_program();
  if (lock_table(program) != 0) return 0;
  uint64_t opening = opening_of(entry);
  plait_lock_release(&program->lock);
  return opening;
}

static struct plait_wasi_descriptor read_words(uint32_t number, struct plait_wasi_entry *entry, uint64_t opening) {
  return (struct plait_wasi_descriptor){number, (int)(uint32_t)opening, (uint32_t)(opening >> 32),
      plait_load(&entry->kind), plait_load(&entry->flags), atomic_load_explicit(&entry->rights, memory_order_acquire),
      atomic_load_explicit(&entry->inheriting, memory_order_acquire)};
}

int plait_wasi_find(uint32_t number, struct plait_wasi_descriptor *found) {
  struct plait_wasi_entry *entry = table_entry(plait_wasi_program(), number);
  if (entry == NULL) return -PLAIT_EBADF;
  for (;;) {
    uint64_t turn = atomic_load_explicit(&entry->turn, memory_order_acquire), opening = opening_of(entry);
    if (opening == 0 && (opening = opening_under_lock(entry)) == 0) return -PLAIT_EBADF;
    *found = read_words(number, entry, opening);
    /* Within a turn no words change, and no second opening gets the number. */
    if (atomic_load_explicit(&entry->turn, memory_order_acquire) == turn) return 0;
  }
}

/* ---- changes, under the lock ---- */

/* Makes the chunk of a number. pre: no lock is held, because the memory may grow. */
static int make_chunk(struct plait_wasi_program *program, uint32_t number) {
  plait_word_t *place = &program->chunks[number / PLAIT_WASI_CHUNK_ENTRIES];
  uint32_t none = 0;
  plait_ref_t chunk = plait_heap_alloc_zeroed(PLAIT_WASI_CHUNK_ENTRIES * sizeof(struct plait_wasi_entry));
  if (chunk == 0) return -PLAIT_ENOMEM;
  /* release: a thread that finds the chunk sees its zeros. */
  if (!atomic_compare_exchange_strong_explicit(place, &none, chunk, memory_order_acq_rel, memory_order_relaxed))
    plait_heap_free(chunk);
  return 0;
}

/* Starts the entry's next turn. pre: `opening` is 0. */
static void put_words(
    struct plait_wasi_entry *entry, const struct plait_wasi_descriptor *from, plait_ref_t name, uint32_t name_length) {
  atomic_fetch_add_explicit(&entry->turn, 1, memory_order_acq_rel); /* before the words */
  plait_put(&entry->kind, from->kind);
  plait_put(&entry->flags, from->flags);
  plait_put64(&entry->rights, from->rights);
  plait_put64(&entry->inheriting, from->inheriting);
  plait_put(&entry->name, name);
  plait_put(&entry->name_length, name_length);
}

/* The commit. release: a thread that sees the opening sees the entry's other words. */
static void put_opening(struct plait_wasi_entry *entry, uint64_t opening) {
  atomic_store_explicit(&entry->opening, opening, memory_order_release);
}

/* The lowest free number from `least` on; its chunk may be missing. Under the lock. */
static uint32_t find_free(struct plait_wasi_program *program, uint32_t least) {
  uint32_t lowest = plait_get(&program->lowest), number = least > lowest ? least : lowest;
  for (; number < PLAIT_WASI_NUMBER_LIMIT; number++) {
    struct plait_wasi_entry *entry = table_entry(program, number);
    if (entry == NULL || plait_get64(&entry->opening) == 0) break;
  }
  if (least <= lowest) plait_put(&program->lowest, number);
  return number;
}

int plait_wasi_add(
    const struct plait_wasi_descriptor *opening, uint32_t least, plait_ref_t name, uint32_t name_length) {
  struct plait_wasi_program *program = plait_wasi_program();
  for (;;) {
    int rc = lock_table(program);
    if (rc != 0) return rc;
    uint32_t number = find_free(program, least);
    struct plait_wasi_entry *entry = table_entry(program, number);
    int full = number >= limit_of(program);
    if (!full && entry != NULL) {
      put_words(entry, opening, name, name_length);
      put_opening(entry, pack(opening->fd, opening->uses));
    }
    plait_lock_release(&program->lock);
    if (full) return -PLAIT_EMFILE;
    if (entry != NULL) return (int)number;
    if ((rc = make_chunk(program, number)) != 0) return rc;
  }
}

/* Ends what a number meant, which is released already. No lock is held. */
static int end_opening(uint64_t opening) {
  int fd = (int)(uint32_t)opening;
  if ((uint32_t)fd < PLAIT_WASI_STREAMS || (uint32_t)fd >= PLAIT_WASI_FIRST_DEVICE) return 0;
  return plait_fs_close_as(fd, (uint32_t)(opening >> 32));
}

int plait_wasi_describe(int fd, struct plait_wasi_descriptor *opened) {
  *opened = (struct plait_wasi_descriptor){.fd = fd, .uses = plait_fs_uses(fd)};
  struct plait_fs_at at = {.fd = fd, .uses = opened->uses};
  int rc = plait_fs_stat_at(&at, 1);
  if (rc != 0) {
    plait_fs_close_as(fd, opened->uses);
    return rc;
  }
  struct plait_fs_result *result = &plait_wasi_enter()->result;
  int stream = plait_wasi_stream_of(plait_get(&result->block));
  opened->kind = plait_get(&result->kind) == PLAIT_FS_DIRECTORY ? PLAIT_WASI_DIRECTORY : PLAIT_WASI_FILE;
  if (stream < 0) return 0;
  plait_fs_close_as(fd, opened->uses);
  opened->fd = stream, opened->uses = 1, opened->kind = PLAIT_WASI_STREAM;
  return 0;
}

int plait_wasi_number(const struct plait_wasi_descriptor *opened) {
  int rc = plait_wasi_add(opened, 0, 0, 0);
  if (rc < 0) end_opening(pack(opened->fd, opened->uses));
  return rc;
}

int plait_wasi_close(uint32_t number) {
  struct plait_wasi_program *program = plait_wasi_program();
  int rc = lock_table(program);
  if (rc != 0) return rc;
  struct plait_wasi_entry *entry = table_entry(program, number);
  uint64_t opening = entry == NULL ? 0 : plait_get64(&entry->opening);
  plait_ref_t name = 0;
  if (opening != 0) {
    put_opening(entry, 0);
    name = plait_get(&entry->name);
    plait_put(&entry->name, 0);
    if (number < plait_get(&program->lowest)) plait_put(&program->lowest, number);
  }
  plait_lock_release(&program->lock);
  if (opening == 0) return -PLAIT_EBADF;
  if (name != 0) plait_heap_free(name);
  return end_opening(opening);
}

/* One more number is about to share the opening of `found`. */
static int begin_sharing(const struct plait_wasi_descriptor *found) {
  return found->kind == PLAIT_WASI_STREAM ? 0 : plait_fs_share(found->fd, found->uses);
}

int plait_wasi_share(uint32_t number, uint32_t least) {
  struct plait_wasi_descriptor found;
  int rc = plait_wasi_find(number, &found);
  if (rc != 0 || (rc = begin_sharing(&found)) != 0) return rc;
  rc = plait_wasi_add(&found, least, 0, 0);
  if (rc < 0) end_opening(pack(found.fd, found.uses));
  return rc;
}

int plait_wasi_renumber(uint32_t from, uint32_t to, int moves) {
  struct plait_wasi_program *program = plait_wasi_program();
  struct plait_wasi_descriptor found;
  int rc = plait_wasi_find(from, &found);
  if (rc != 0) return rc;
  if (to >= limit_of(program)) return moves ? -PLAIT_EBADF : -PLAIT_EMFILE;
  if (from == to) return 0;
  if (table_entry(program, to) == NULL) {
    if (moves) return -PLAIT_EBADF;
    if ((rc = make_chunk(program, to)) != 0) return rc;
  }
  if (!moves && (rc = begin_sharing(&found)) != 0) return rc;
  struct plait_wasi_entry *source = table_entry(program, from), *goal = table_entry(program, to);
  uint64_t opening = pack(found.fd, found.uses), before = 0;
  plait_ref_t old_name = 0;
  if ((rc = lock_table(program)) == 0) {
    before = plait_get64(&goal->opening);
    if (plait_get64(&source->opening) != opening || (moves && before == 0)) {
      rc = -PLAIT_EBADF; /* closed meanwhile */
    } else {
      plait_ref_t name = moves ? plait_get(&source->name) : 0;
      found = read_words(from, source, opening); /* its rights may have changed */
      old_name = plait_get(&goal->name);
      put_opening(goal, 0); /* its words change */
      /* If this thread exits, at no instant two numbers have the opening, or two entries the name. */
      if (moves) {
        put_opening(source, 0);
        plait_put(&source->name, 0);
        if (from < plait_get(&program->lowest)) plait_put(&program->lowest, from);
      }
      put_words(goal, &found, name, plait_get(&source->name_length));
      put_opening(goal, opening);
    }
    plait_lock_release(&program->lock);
  }
  if (rc != 0) {
    if (!moves) end_opening(opening);
    return rc;
  }
  if (old_name != 0) plait_heap_free(old_name);
  if (before != 0) end_opening(before); /* as with dup2(), its own errors are not reported */
  return 0;
}

int plait_wasi_set_rights(uint32_t number, uint64_t rights, uint64_t inheriting) {
  struct plait_wasi_program *program = plait_wasi_program();
  int rc = lock_table(program);
  if (rc != 0) return rc;
  struct plait_wasi_entry *entry = table_entry(program, number);
  if (entry == NULL || plait_get64(&entry->opening) == 0) {
    rc = -PLAIT_EBADF;
  } else { /* only ever fewer, so it does not matter which of the two another thread sees first */
    plait_put64(&entry->rights, rights & plait_get64(&entry->rights));
    plait_put64(&entry->inheriting, inheriting & plait_get64(&entry->inheriting));
  }
  plait_lock_release(&program->lock);
  return rc;
}

int plait_wasi_set_flags(uint32_t number, uint32_t flags) {
  struct plait_wasi_program *program = plait_wasi_program();
  int rc = lock_table(program);
  if (rc != 0) return rc;
  struct plait_wasi_entry *entry = table_entry(program, number);
  if (entry == NULL || plait_get64(&entry->opening) == 0) rc = -PLAIT_EBADF;
  else plait_put(&entry->flags, flags);
  plait_lock_release(&program->lock);
  return rc;
}

int plait_wasi_name(uint32_t number, uint8_t *to, uint32_t size) {
  struct plait_wasi_program *program = plait_wasi_program();
  int rc = lock_table(program);
  if (rc != 0) return rc;
  struct plait_wasi_entry *entry = table_entry(program, number);
  plait_ref_t name = entry == NULL || opening_of(entry) == 0 ? 0 : plait_get(&entry->name);
  rc = name == 0 ? -PLAIT_EBADF : (int)plait_get(&entry->name_length);
  if (rc > 0 && (uint32_t)rc <= size) plait_copy_near(to, plait_at(name), (uint32_t)rc);
  plait_lock_release(&program->lock);
  return rc;
}
