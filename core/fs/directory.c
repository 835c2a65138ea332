/*
 * directory: names in directories. See struct plait_fs_table.
 *
 * Invariants
 * - Directory records are authoritative, in the order of their cookies. An `entry` of 0 is a removed name. A record is
 *   used once in a table. So a cursor, which is a cookie, stays valid while names come and go, also when a new table
 *   replaces this one.
 * - The index has more cells than there are directory records, so a search ends at an empty cell. Cells of removed
 *   records stay.
 * - Records from `count` on are unused; a new one is written before `count` increases.
 */
#include "internal.h"

#define FIRST_CAPACITY 8u
#define NEXT_CAPACITY 32u /* larger, so that tables are rebuilt less often where names come and go */

uint32_t plait__fs_hash(const uint8_t *bytes, uint32_t length) {
  uint32_t hash = length * 0x9E3779B1u;
  for (; length >= 4; bytes += 4, length -= 4) {
    uint32_t word;
    __builtin_memcpy(&word, bytes, 4);
    hash = (hash ^ word) * 0x85EBCA6Bu;
    hash ^= hash >> 15;
  }
  for (; length > 0; bytes++, length--) hash = (hash ^ *bytes) * 0xC2B2AE35u;
  hash ^= hash >> 16;
  return hash * 0x9E3779B1u >> 3;
}

/* Whether the entry has this name. The bytes may be torn: the caller checks the sequence afterwards. */
static int has_name(const struct plait_fs_entry *entry, struct plait__fs_name name) {
  if (plait_load(&entry->length) != name.length) return 0;
  uint32_t word = 0, i = 0;
  for (; i + 4 <= name.length; i += 4) {
    __builtin_memcpy(&word, name.bytes + i, 4);
    if (plait_load(&entry->name[i / 4]) != word) return 0;
  }
  if (i == name.length) return 1;
  word = 0;
  __builtin_memcpy(&word, name.bytes + i, name.length - i);
  return plait_load(&entry->name[i / 4]) == word;
}

int plait__fs_lookup(struct plait__fs_node directory, struct plait__fs_name name, struct plait__fs_node *found,
    struct plait_fs_directory_record **at) {
  struct plait_inode *inode = directory.inode;
  struct plait__fs_read read = {.inode = inode};
  int rc;
  do {
    rc = -PLAIT_ENOENT;
    if (!plait__fs_read_begin(&read)) return -PLAIT_ETIMEDOUT;
    if (plait_load(&inode->generation_kind) != directory.generation_kind) continue;
    if (plait__fs_kind(directory.generation_kind) != PLAIT_FS_DIRECTORY) {
      rc = -PLAIT_ENOTDIR;
      continue;
    }
    plait_ref_t ref = plait_load(&inode->block);
    if (ref == 0 || !plait__fs_read_valid(&read)) continue;
    struct plait_fs_table *table = plait_at(ref);
    uint32_t capacity = plait_load(&table->capacity), mask = plait_load(&table->mask);
    if (!plait__fs_read_valid(&read)) continue; /* from here on both values belong to one table */
    plait_word_t *cells = plait__fs_cells(table, capacity);
    for (uint32_t i = name.hash & mask, probes = 0; probes <= mask; i = (i + 1) & mask, probes++) {
      uint32_t cell = plait_load(&cells[i]);
      if (cell == 0 || cell > capacity) break;
      struct plait_fs_directory_record *record = &table->records[cell - 1];
      if (plait_load(&record->hash) != name.hash) continue;
      plait_ref_t entry_ref = plait_load(&record->entry);
      if (entry_ref == 0) continue;
      if (!plait__fs_read_valid(&read)) break;
      struct plait_fs_entry *entry = plait_at(entry_ref);
      if (!has_name(entry, name)) continue;
      plait_ref_t node = plait_load(&entry->inode);
      found->generation_kind = plait_load(&entry->generation_kind);
      found->inode = plait_at(node);
      if (at != NULL) *at = record;
      rc = 0;
      break;
    }
  } while (plait__fs_read_retry(&read));
  return rc;
}

/* ---- tables ---- */

int plait__fs_has_room(struct plait_inode *directory) {
  plait_ref_t ref = plait_get(&directory->block);
  if (ref == 0) return 0;
  struct plait_fs_table *table = plait_at(ref);
  return plait_get(&table->count) < plait_get(&table->capacity);
}

static void put_cell(plait_word_t *cells, uint32_t mask, uint32_t hash, uint32_t number) {
  uint32_t i = hash & mask;
  while (plait_get(&cells[i]) != 0) i = (i + 1) & mask;
  plait_put(&cells[i], number + 1);
}

static uint32_t cells_for(uint32_t capacity) {
  uint32_t cells = 16;
  while (cells < capacity * 2) cells *= 2;
  return cells;
}

/* Copies the live directory records to a new table that is not yet published. Under the directory's lock. */
static void fill_table(struct plait_fs_table *to, uint32_t capacity, struct plait_inode *directory) {
  uint32_t cells = cells_for(capacity), count = 0;
  plait_zero(to, sizeof *to + capacity * sizeof(struct plait_fs_directory_record) + cells * 4);
  plait_put(&to->capacity, capacity);
  plait_put(&to->mask, cells - 1);
  plait_ref_t ref = plait_get(&directory->block);
  struct plait_fs_table *from = plait_at(ref);
  for (uint32_t i = 0, old = ref == 0 ? 0 : plait_get(&from->count); i < old; i++) {
    struct plait_fs_directory_record *record = &from->records[i];
    if (plait_get(&record->entry) == 0) continue;
    plait_put(&to->records[count].entry, plait_get(&record->entry));
    plait_put(&to->records[count].hash, plait_get(&record->hash));
    plait_put64(&to->records[count].cookie, plait_get64(&record->cookie));
    put_cell(plait__fs_cells(to, capacity), cells - 1, plait_get(&record->hash), count++);
  }
  plait_put(&to->count, count);
}

int plait__fs_make_room(struct plait_fs_thread *mine, struct plait__fs_node directory) {
  struct plait_inode *inode = directory.inode;
  uint32_t keep = plait_get(&mine->reserved_count);
  for (;;) {
    uint32_t capacity = plait_load(&inode->block) == 0 ? FIRST_CAPACITY : NEXT_CAPACITY,
             live = plait_load(&inode->live);
    while (capacity < live * 2) capacity *= 2;
    plait__fs_tx_begin(mine);
    uint32_t size =
        sizeof(struct plait_fs_table) + capacity * sizeof(struct plait_fs_directory_record) + cells_for(capacity) * 4;
    plait_ref_t block = plait__fs_tx_reserve(mine, size);
    if (block == 0) return -PLAIT_ENOSPC;
    int rc = plait__fs_lock(&inode, 1), done = 1;
    if (rc == 0) {
      if (plait_get(&inode->generation_kind) != directory.generation_kind || plait_get(&inode->links) == 0) {
        rc = -PLAIT_ENOENT;
      } else if (plait__fs_has_room(inode)) {
        /* Another thread has replaced the table. */
      } else if (capacity < plait_get(&inode->live) + 1) {
        done = 0;
      } else {
        fill_table(plait_at(block), capacity, inode);
        if (plait_get(&inode->block) != 0) plait__fs_tx_defer_free(mine, plait_get(&inode->block), 0, 0, 1);
        plait__fs_tx_target(mine, inode);
        plait__fs_tx_stage(mine, &inode->block, block);
        plait__fs_tx_commit(mine, keep);
      }
      plait__fs_unlock(&inode, 1);
    }
    plait__fs_tx_abort(mine, keep);
    if (rc != 0 || done) return rc;
  }
}

/* ---- changes ---- */

plait_ref_t plait__fs_new_entry(struct plait_fs_thread *mine, struct plait__fs_name name) {
  plait_ref_t ref = plait__fs_tx_reserve(mine, sizeof(struct plait_fs_entry) + ((name.length + 3) & ~3u));
  if (ref == 0) return 0;
  struct plait_fs_entry *entry = plait_at(ref);
  plait_put(&entry->length, name.length);
  for (uint32_t i = 0; i < name.length; i += 4) {
    uint32_t word = 0;
    __builtin_memcpy(&word, name.bytes + i, name.length - i < 4 ? name.length - i : 4);
    plait_put(&entry->name[i / 4], word);
  }
  return ref;
}

void plait__fs_fill_entry(plait_ref_t ref, struct plait__fs_node node) {
  struct plait_fs_entry *entry = plait_at(ref);
  plait_put(&entry->inode, plait_ref(node.inode));
  plait_put(&entry->generation_kind, node.generation_kind);
}

static void stage_size(struct plait_fs_thread *mine, struct plait_inode *directory, int names, int bytes) {
  plait__fs_tx_stage(mine, &directory->live, plait__fs_tx_staged(mine, &directory->live) + (uint32_t)names);
  plait__fs_tx_stage64(
      mine, &directory->size, plait__fs_tx_staged64(mine, &directory->size) + (uint64_t)(int64_t)bytes);
}

void plait__fs_stage_insert(
    struct plait_fs_thread *mine, struct plait_inode *directory, struct plait__fs_name name, plait_ref_t entry) {
  struct plait_fs_table *table = plait_at(plait_get(&directory->block));
  uint32_t number = plait_get(&table->count), mask = plait_get(&table->mask), i = name.hash & mask;
  plait_word_t *cells = plait__fs_cells(table, plait_get(&table->capacity));
  uint64_t cookie = plait_get64(&directory->cookie) + 1;
  plait_put(&table->records[number].entry, entry);
  plait_put(&table->records[number].hash, name.hash);
  plait_put64(&table->records[number].cookie, cookie);
  while (plait_get(&cells[i]) != 0) i = (i + 1) & mask;
  plait__fs_tx_stage(mine, &cells[i], number + 1);
  plait__fs_tx_stage(mine, &table->count, number + 1);
  plait__fs_tx_stage64(mine, &directory->cookie, cookie);
  stage_size(mine, directory, 1, (int)name.length);
}

void plait__fs_stage_remove(
    struct plait_fs_thread *mine, struct plait_inode *directory, struct plait_fs_directory_record *record) {
  struct plait_fs_entry *entry = plait_at(plait_get(&record->entry));
  stage_size(mine, directory, -1, -(int)plait_get(&entry->length));
  plait__fs_tx_defer_free(mine, plait_get(&record->entry), 0, 0, 1);
  plait__fs_tx_stage(mine, &record->entry, 0);
}

void plait__fs_stage_replace(
    struct plait_fs_thread *mine, struct plait_fs_directory_record *record, plait_ref_t entry) {
  plait__fs_tx_defer_free(mine, plait_get(&record->entry), 0, 0, 1);
  plait__fs_tx_stage(mine, &record->entry, entry);
}

void plait__fs_stage_times(struct plait_fs_thread *mine, struct plait_inode *inode, double now, int contents) {
  if (contents) plait__fs_tx_stage64(mine, &inode->mtime, plait__fs_time(now));
  plait__fs_tx_stage64(mine, &inode->ctime, plait__fs_time(now));
}

/* ---- listing ---- */

/* Index of the first directory record with a cookie after `cursor`. */
static uint32_t find_cursor(struct plait_fs_table *table, uint32_t count, uint64_t cursor) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (atomic_load_explicit(&table->records[middle].cookie, memory_order_acquire) <= cursor) low = middle + 1;
    else high = middle;
  }
  return low;
}

int plait__fs_next_into(
    struct plait_fs_thread *mine, struct plait__fs_read *read, struct plait__fs_node node, uint64_t cookie) {
  struct plait_inode *directory = node.inode;
  struct plait_fs_result *result = &mine->result;
  plait_ref_t ref = plait_load(&directory->block);
  if (plait_load(&directory->generation_kind) != node.generation_kind) return -PLAIT_ENOENT;
  if (plait__fs_kind(node.generation_kind) != PLAIT_FS_DIRECTORY) return -PLAIT_ENOTDIR;
  if (ref == 0 || plait_load(&directory->links) == 0 || !plait__fs_read_valid(read)) return 0;
  struct plait_fs_table *table = plait_at(ref);
  uint32_t capacity = plait_load(&table->capacity), count = plait_load(&table->count);
  if (!plait__fs_read_valid(read) || count > capacity) return 0;
  for (uint32_t i = find_cursor(table, count, cookie); i < count; i++) {
    plait_ref_t entry_ref = plait_load(&table->records[i].entry);
    uint64_t found = atomic_load_explicit(&table->records[i].cookie, memory_order_acquire);
    if (!plait__fs_read_valid(read)) return 0;
    if (entry_ref == 0) continue;
    struct plait_fs_entry *entry = plait_at(entry_ref);
    uint32_t length = plait_load(&entry->length), generation_kind = plait_load(&entry->generation_kind);
    plait_ref_t inode = plait_load(&entry->inode);
    if (!plait__fs_read_valid(read) || length > PLAIT_FS_NAME_MAX) return 0;
    uint8_t *name = plait_at(plait_get(&mine->scratch));
    for (uint32_t k = 0; k < length; k += 4) {
      uint32_t word = plait_load(&entry->name[k / 4]);
      __builtin_memcpy(name + k, &word, 4);
    }
    plait_put(&result->kind, plait__fs_kind(generation_kind));
    plait_put(&result->number, plait_load(&((struct plait_inode *)plait_at(inode))->number) + 1);
    plait_put(&result->bytes, length);
    plait_put64(&result->cursor, found);
    return 1;
  }
  return 0;
}

int plait__fs_list_into(
    struct plait_fs_thread *mine, struct plait__fs_read *read, struct plait__fs_node node, uint64_t cursor) {
  struct plait_inode *directory = node.inode;
  uint8_t *first = plait_at(plait_get(&mine->scratch)), *names = first, *kinds = first + PLAIT_FS_SCRATCH;
  uint64_t last = 0;
  uint32_t many = 0, listed = 0;
  plait_ref_t ref = plait_load(&directory->block);
  if (plait_load(&directory->generation_kind) != node.generation_kind || plait_load(&directory->links) == 0)
    return -PLAIT_ENOENT;
  if (plait__fs_kind(node.generation_kind) != PLAIT_FS_DIRECTORY) return -PLAIT_ENOTDIR;
  if (ref != 0 && plait__fs_read_valid(read)) {
    struct plait_fs_table *table = plait_at(ref);
    uint32_t capacity = plait_load(&table->capacity), count = plait_load(&table->count);
    if (!plait__fs_read_valid(read) || count > capacity) return 0;
    uint32_t i = find_cursor(table, count, cursor);
    for (; i < count; i++) {
      plait_ref_t entry_ref = plait_load(&table->records[i].entry);
      uint64_t cookie = atomic_load_explicit(&table->records[i].cookie, memory_order_acquire);
      if (!plait__fs_read_valid(read)) return 0;
      if (entry_ref == 0) continue;
      struct plait_fs_entry *entry = plait_at(entry_ref);
      uint32_t length = plait_load(&entry->length), generation_kind = plait_load(&entry->generation_kind);
      if (length > PLAIT_FS_NAME_MAX || (uint32_t)(kinds - names) < length + 8) break;
      for (uint32_t k = 0; k < length; k += 4) {
        uint32_t word = plait_load(&entry->name[k / 4]);
        __builtin_memcpy(names + k, &word, 4); /* writes up to three zeros too many; the next name overwrites them */
        many |= word & 0x80808080u;
      }
      names += length;
      *names++ = '/';
      *--kinds = (uint8_t)plait__fs_kind(generation_kind);
      last = cookie;
      listed++;
    }
    if (i < count && last != 0) plait_put64(&mine->result.cursor, last);
  }
  plait_put(&mine->result.block, plait_ref(directory));
  plait_put64(&mine->result.size, atomic_load_explicit(&directory->cookie, memory_order_acquire));
  plait_put(&mine->result.ascii, many == 0);
  plait_put(&mine->result.bytes, listed == 0 ? 0 : (uint32_t)(names - first) - 1);
  return (int)listed;
}
