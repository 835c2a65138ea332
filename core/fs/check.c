/*
 * fs check: walks every inode, name, extent and descriptor, and reports the first fault.
 */
#include "internal.h"

PLAIT_COLD_BEGIN

static _Thread_local uint32_t fault_kind, fault_at;

static int fs_wrong(enum plait_fs_fault_kind kind, const void *at) {
  fault_kind = kind;
  fault_at = plait_ref(at);
  return -PLAIT_EILSEQ;
}

PLAIT_EXPORT uint32_t plait_fs_fault(uint32_t *at) {
  uint32_t kind = fault_kind;
  *at = fault_at;
  fault_kind = PLAIT_FS_FAULT_NONE;
  return kind;
}

/* The counts of the check for each inode. */
struct item_counts {
  uint32_t names, folders, opens, pins;
};

struct census {
  struct item_counts *item_counts;
  uint32_t inodes, files, blocks;
  uint64_t held;
};

static int is_block(plait_ref_t ref, uint64_t size) {
  return ref != 0 && plait_heap_size(ref) >= size;
}

static struct plait_inode *inode_of(uint32_t number) {
  return plait__fs_item(&plait_fs()->inodes, sizeof(struct plait_inode), number);
}

/* Whether `ref` is an inode in use, in this generation. */
static int is_inode(struct census *census, plait_ref_t ref, uint32_t generation_kind) {
  struct plait_inode *inode = plait_at(ref);
  uint32_t number = plait_get(&inode->number);
  return ref != 0 && number < census->inodes && inode_of(number) == inode &&
      plait_get(plait__fs_owner(&plait_fs()->inodes, number)) == PLAIT__FS_IN_USE &&
      plait_get(&inode->generation_kind) == generation_kind;
}

static int check_name(
    struct census *census, struct plait_inode *directory, struct plait_fs_directory_record *record, uint64_t *bytes) {
  plait_ref_t ref = plait_get(&record->entry);
  struct plait_fs_entry *entry = plait_at(ref);
  uint32_t length = is_block(ref, sizeof *entry) ? plait_get(&entry->length) : 0;
  if (length == 0 || length > PLAIT_FS_NAME_MAX || !is_block(ref, sizeof *entry + length))
    return fs_wrong(PLAIT_FS_FAULT_ENTRY, record);
  if (!is_inode(census, plait_get(&entry->inode), plait_get(&entry->generation_kind)))
    return fs_wrong(PLAIT_FS_FAULT_ENTRY, entry);
  struct plait__fs_name name = {
      (const uint8_t *)entry->name, length, plait__fs_hash((const uint8_t *)entry->name, length)};
  struct plait__fs_node found;
  struct plait_fs_directory_record *at;
  if (plait__fs_lookup((struct plait__fs_node){directory, plait_get(&directory->generation_kind)}, name, &found, &at) !=
          0 ||
      at != record)
    return fs_wrong(PLAIT_FS_FAULT_ENTRY, entry);
  struct item_counts *counts = &census->item_counts[plait_get(&found.inode->number)];
  counts->names++;
  if (plait__fs_kind(found.generation_kind) == PLAIT_FS_DIRECTORY) {
    census->item_counts[plait_get(&directory->number)].folders++;
    if (plait_get(&found.inode->parent) != plait_ref(directory)) return fs_wrong(PLAIT_FS_FAULT_INODE, found.inode);
  }
  *bytes += length;
  census->blocks++;
  return 0;
}

static int check_directory(struct census *census, struct plait_inode *directory) {
  plait_ref_t ref = plait_get(&directory->block);
  struct plait_fs_table *table = plait_at(ref);
  uint64_t bytes = 0, cookie = 0;
  uint32_t live = 0, count = ref == 0 ? 0 : plait_get(&table->count),
           capacity = ref == 0 ? 0 : plait_get(&table->capacity);
  if (ref != 0) {
    census->blocks++;
    uint64_t size = sizeof *table + (uint64_t)capacity * sizeof(struct plait_fs_directory_record) +
        ((uint64_t)plait_get(&table->mask) + 1) * 4;
    if (!is_block(ref, size) || count > capacity || plait_get(&table->mask) < capacity)
      return fs_wrong(PLAIT_FS_FAULT_TABLE, table);
  }
  for (uint32_t i = 0; i < count; i++) {
    struct plait_fs_directory_record *record = &table->records[i];
    if (plait_get64(&record->cookie) <= cookie) return fs_wrong(PLAIT_FS_FAULT_TABLE, record);
    cookie = plait_get64(&record->cookie);
    if (plait_get(&record->entry) == 0) continue;
    live++;
    int rc = check_name(census, directory, record, &bytes);
    if (rc != 0) return rc;
  }
  int right = live == plait_get(&directory->live) && bytes == plait_get64(&directory->size) &&
      cookie <= plait_get64(&directory->cookie);
  return right ? 0 : fs_wrong(PLAIT_FS_FAULT_TABLE, directory);
}

static int check_file(struct census *census, struct plait_inode *inode) {
  uint64_t end = plait_get(&inode->length);
  plait_ref_t block = plait_get(&inode->block), ref = plait_get(&inode->map);
  if ((block == 0) != (end == 0) || (block != 0 && !is_block(block, end)))
    return fs_wrong(PLAIT_FS_FAULT_EXTENT, inode);
  census->blocks += (block != 0) + (ref != 0);
  census->held += end;
  if (ref == 0) return 0;
  struct plait_fs_map *map = plait_at(ref);
  uint32_t count = is_block(ref, sizeof *map) ? plait_get(&map->count) : UINT32_MAX,
           capacity = count == UINT32_MAX ? 0 : plait_get(&map->capacity);
  if (count == 0 || count > capacity || !is_block(ref, sizeof *map + (uint64_t)capacity * sizeof *map->extents))
    return fs_wrong(PLAIT_FS_FAULT_EXTENT, map);
  for (uint32_t i = 0; i < count; i++) {
    struct plait_fs_extent *extent = &map->extents[i];
    uint32_t length = plait_get(&extent->length);
    if (plait_get64(&extent->offset) < end || length == 0 || !is_block(plait_get(&extent->block), length))
      return fs_wrong(PLAIT_FS_FAULT_EXTENT, extent);
    end = plait_get64(&extent->offset) + length;
    census->held += length;
    census->blocks++;
  }
  return 0;
}

static int check_ranges(struct census *census, struct plait_inode *inode) {
  uint32_t limit = plait_load(&plait_fs()->opens.count) * PLAIT_FS_CHUNK_ITEMS;
  for (plait_ref_t ref = plait_get(&inode->ranges); ref != 0;
      ref = plait_get(&((struct plait_fs_range *)plait_at(ref))->next)) {
    struct plait_fs_range *range = plait_at(ref);
    census->blocks++;
    if (!is_block(ref, sizeof *range) || plait_get(&range->fd) >= limit) return fs_wrong(PLAIT_FS_FAULT_RANGE, range);
    struct plait_fs_open *open = plait__fs_descriptor(plait_get(&range->fd));
    if (plait_get(&open->state) != 1 || plait_get(&open->inode) != plait_ref(inode))
      return fs_wrong(PLAIT_FS_FAULT_RANGE, range);
  }
  return 0;
}

static int check_inode(struct census *census, struct plait_inode *inode) {
  census->files++;
  struct plait_fs_mount *mount = plait__fs_mount_of(plait_get(&inode->mount));
  if (plait_get(&inode->mount) != 0 && (mount == NULL || plait_get(&mount->inode) != plait_ref(inode)))
    return fs_wrong(PLAIT_FS_FAULT_MOUNT, inode);
  uint32_t holder = plait_lock_owner(&inode->lock); /* the lock of an exited thread counts as free */
  if ((plait_get(&inode->sequence) & 1) || (holder != 0 && plait_thread_alive(holder)))
    return fs_wrong(PLAIT_FS_FAULT_INODE, inode);
  int rc = check_ranges(census, inode);
  if (rc != 0) return rc;
  switch (plait__fs_kind(plait_get(&inode->generation_kind))) {
    case PLAIT_FS_DIRECTORY: return check_directory(census, inode);
    case PLAIT_FS_FILE: return check_file(census, inode);
    case PLAIT_FS_SYMLINK:
      census->blocks++;
      return is_block(plait_get(&inode->block), plait_get64(&inode->size)) ? 0 : fs_wrong(PLAIT_FS_FAULT_INODE, inode);
    default: return fs_wrong(PLAIT_FS_FAULT_INODE, inode);
  }
}

static int check_counts(struct plait_inode *inode, const struct item_counts *counts) {
  uint32_t links = plait_get(&inode->links), number = plait_get(&inode->number);
  int directory = plait__fs_kind(plait_get(&inode->generation_kind)) == PLAIT_FS_DIRECTORY;
  if (plait_get(&inode->opens) != counts->opens || plait_get(&inode->pins) != counts->pins)
    return fs_wrong(PLAIT_FS_FAULT_OPENS, inode);
  if (links == 0 && counts->opens == 0) return fs_wrong(PLAIT_FS_FAULT_LOST, inode);
  uint32_t names = directory ? (links == 0 || number == 0 ? 0 : 1) : links;
  if (counts->names != names) return fs_wrong(PLAIT_FS_FAULT_LINKS, inode);
  if (directory && links != 0 && links != 2 + counts->folders) return fs_wrong(PLAIT_FS_FAULT_LINKS, inode);
  return 0;
}

static int check_opens(struct census *census) {
  struct plait_fs_items *opens = &plait_fs()->opens;
  for (uint32_t i = PLAIT__FS_FIRST_OPEN, count = plait_load(&opens->count) * PLAIT_FS_CHUNK_ITEMS; i < count; i++) {
    struct plait_fs_open *open = plait__fs_descriptor(i);
    uint32_t owner = plait_get(plait__fs_owner(opens, i)), state = plait_get(&open->state);
    if ((owner == 0) != (state == 0) || (owner != 0 && !plait_thread_alive(owner)))
      return fs_wrong(PLAIT_FS_FAULT_DESCRIPTOR, open);
    if (state == PLAIT_FS_CLOSED) continue;
    if (state == PLAIT_FS_MOUNTED) {
      plait_ref_t place = plait_get(&open->place);
      if (plait__fs_mount_of(plait_get(&open->mount)) == NULL ||
          (place != 0 && !is_block(place, plait_get(&open->length))))
        return fs_wrong(PLAIT_FS_FAULT_DESCRIPTOR, open);
      census->blocks += place != 0;
      continue;
    }
    if (!is_inode(census, plait_get(&open->inode), plait_get(&open->generation_kind)))
      return fs_wrong(PLAIT_FS_FAULT_DESCRIPTOR, open);
    struct item_counts *counts =
        &census->item_counts[plait_get(&((struct plait_inode *)plait_at(plait_get(&open->inode)))->number)];
    counts->opens++;
    counts->pins += state == 2;
  }
  return 0;
}

static int check_mounts(struct census *census) {
  uint32_t below = plait_get(&plait_fs()->mount_count) + 1;
  for (plait_ref_t ref = plait_get(&plait_fs()->mounts); ref != 0;
      ref = plait_get(&((struct plait_fs_mount *)plait_at(ref))->next)) {
    struct plait_fs_mount *mount = plait_at(ref);
    census->blocks++;
    if (!is_block(ref, sizeof *mount) || !is_block(ref, sizeof *mount + plait_get(&mount->length)))
      return fs_wrong(PLAIT_FS_FAULT_MOUNT, plait_fs());
    uint32_t number = plait_get(&mount->number), above = plait_get(&mount->above);
    struct plait_inode *inode = plait_at(plait_get(&mount->inode));
    int covers = above != 0
        ? plait_get(&mount->inode) == 0 && plait__fs_mount_of(above) != NULL
        : is_inode(census, plait_ref(inode), plait_get(&inode->generation_kind)) && plait_get(&inode->mount) == number;
    if (number >= below || plait_get(&mount->place) > plait_get(&mount->length) || !covers)
      return fs_wrong(PLAIT_FS_FAULT_MOUNT, mount);
    below = number;
  }
  return 0;
}

static int check_all(struct census *census) {
  struct plait_fs *fs = plait_fs();
  uint64_t held = 0;
  uint32_t files = 0, watchers = 0;
  int rc = 0;
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    plait_ref_t ref = plait_get(&fs->threads[i]);
    if (ref == 0) continue;
    struct plait_fs_thread *thread_record = plait_at(ref);
    census->blocks += 1 + (plait_get(&thread_record->scratch) != 0);
    held += plait_get64(&thread_record->held);
    files += plait_get(&thread_record->files);
    watchers += plait_get(&thread_record->watching);
    uint32_t busy = plait_get(&thread_record->state) | plait_get(&thread_record->reserved_count) |
        plait_get(&thread_record->target_count);
    int watches = plait_get(&thread_record->thread) == 0 && plait_get(&thread_record->watching) != 0;
    if (busy != 0 || watches || plait_get64(&thread_record->quota_bytes) != 0 ||
        plait_get(&thread_record->quota_files) != 0)
      return fs_wrong(PLAIT_FS_FAULT_JOURNAL, thread_record);
  }
  if (watchers != plait_get(&fs->watchers)) return fs_wrong(PLAIT_FS_FAULT_JOURNAL, fs);
  for (uint32_t i = 0; rc == 0 && i < census->inodes; i++) {
    uint32_t owner = plait_get(plait__fs_owner(&fs->inodes, i));
    struct plait_inode *inode = inode_of(i);
    if (plait_get(&inode->number) != i) return fs_wrong(PLAIT_FS_FAULT_INODE, inode);
    if (owner == PLAIT__FS_IN_USE) rc = check_inode(census, inode);
    else if (owner != 0) return fs_wrong(PLAIT_FS_FAULT_LOST, inode);
    else if (plait__fs_kind(plait_get(&inode->generation_kind)) != PLAIT_FS_NONE)
      return fs_wrong(PLAIT_FS_FAULT_INODE, inode);
  }
  if (rc == 0) rc = check_opens(census);
  if (rc == 0) rc = check_mounts(census);
  for (uint32_t i = 0; rc == 0 && i < census->inodes; i++)
    if (plait_get(plait__fs_owner(&fs->inodes, i)) == PLAIT__FS_IN_USE)
      rc = check_counts(inode_of(i), &census->item_counts[i]);
  if (rc == 0 && (held != census->held || files != census->files)) rc = fs_wrong(PLAIT_FS_FAULT_HELD, fs);
  struct plait_fs_items *items[] = {&fs->inodes, &fs->opens};
  for (int i = 0; i < 2; i++) {
    uint32_t chunks = plait_get(&items[i]->count);
    census->blocks += chunks + (chunks + PLAIT_FS_CHUNK_TABLE_SIZE - 1) / PLAIT_FS_CHUNK_TABLE_SIZE;
  }
  return rc;
}

int plait_fs_census(uint32_t *blocks) {
  struct census census = {.inodes = plait_load(&plait_fs()->inodes.count) * PLAIT_FS_CHUNK_ITEMS};
  *blocks = 0;
  if (census.inodes == 0) return 0;
  plait_ref_t item_counts =
      plait_heap_zeroed_for(PLAIT_FOR_THREADS, census.inodes * (uint32_t)sizeof *census.item_counts);
  if (item_counts == 0) return -PLAIT_ENOMEM;
  census.item_counts = plait_at(item_counts);
  int rc = check_all(&census);
  plait_heap_free(item_counts);
  *blocks = census.blocks;
  return rc;
}

PLAIT_EXPORT int plait_fs_check(int quiescent) {
  uint32_t blocks;
  return quiescent ? plait_fs_census(&blocks) : 0;
}

PLAIT_COLD_END
