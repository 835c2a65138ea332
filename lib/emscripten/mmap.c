/*
 * mmap: files in memory, as copies. A shared mapping is written back by msync() and munmap(), even if the descriptor
 * was closed before.
 *
 * Emscripten's mmap() calls these functions for files, and frees the copy after munmap().
 *
 * Invariant: each mapping of a file is in the list, under `mappings_lock`, and has an opening of fs of its own.
 */
#include "syscalls.h"

#define UNIT 65536u

struct mapping {
  struct mapping *next;
  void *bytes;
  int fd;
  uint32_t uses;
};

static struct mapping *mappings;
static struct plait_lock mappings_lock;

static int open_again(const struct plait_wasi_descriptor *found, int prot, int flags, struct mapping *mapping) {
  int mode = plait_fs_flags(found->fd, found->uses);
  if (mode < 0) return mode;
  int is_shared = (flags & MAP_TYPE) == MAP_SHARED || (flags & MAP_TYPE) == MAP_SHARED_VALIDATE;
  if (!is_shared && (flags & MAP_TYPE) != MAP_PRIVATE) return -PLAIT_EINVAL;
  if ((mode & O_ACCMODE) == O_WRONLY) return -PLAIT_EACCES;
  if (is_shared && (prot & PROT_WRITE) && (mode & O_ACCMODE) != O_RDWR) return -PLAIT_EACCES;
  if (found->kind == PLAIT_WASI_DIRECTORY) return -PLAIT_ENODEV;
  mapping->fd = found->fd;
  mapping->uses = found->uses;
  return plait_fs_share(found->fd, found->uses);
}

static int map_file(uint32_t fd, size_t length, int prot, int flags, off_t offset, void **to) {
  struct plait_wasi_descriptor found;
  int rc = plait_wasi_find(fd, &found);
  if (rc != 0) return rc;
  if (prot & PROT_EXEC) return -PLAIT_EPERM;
  if (length == 0 || offset < 0 || offset % 4096 != 0) return -PLAIT_EINVAL;
  if (found.kind == PLAIT_WASI_STREAM) return -PLAIT_ENODEV;
  struct mapping *mapping = malloc(sizeof *mapping);
  if (mapping == NULL) return -PLAIT_ENOMEM;
  rc = open_again(&found, prot, flags, mapping);
  if (rc == 0) {
    size_t whole = (length + UNIT - 1) & ~(size_t)(UNIT - 1); /* programs use the last page to its end */
    mapping->bytes = whole == 0 ? NULL : aligned_alloc(UNIT, whole);
    int got = mapping->bytes == NULL
        ? -PLAIT_ENOMEM
        : plait_fs_read_as(found.fd, found.uses, plait_ref(mapping->bytes), (uint32_t)length, (double)offset);
    if (got < 0) {
      free(mapping->bytes);
      plait_fs_close_as(mapping->fd, mapping->uses);
      rc = got;
    } else {
      plait_zero((uint8_t *)mapping->bytes + got, whole - (size_t)got);
    }
  }
  if (rc != 0) {
    free(mapping);
    return rc;
  }
  *to = mapping->bytes;
  plait_lock_acquire(&mappings_lock);
  mapping->next = mappings;
  mappings = mapping;
  plait_lock_release(&mappings_lock);
  return 0;
}

/* Writes back, but never beyond the end of the file. */
static int write_back(struct mapping *mapping, const void *from, size_t length, off_t offset) {
  struct plait_fs_at at = {.fd = mapping->fd, .uses = mapping->uses};
  int rc = plait_fs_stat_at(&at, 1);
  if (rc != 0) return rc;
  uint64_t size = plait_get64(&plait_wasi_enter()->result.size);
  if ((uint64_t)offset >= size) return 0;
  if (length > size - (uint64_t)offset) length = (size_t)(size - (uint64_t)offset);
  struct plait__fs_node node;
  if (plait__fs_open_as(mapping->fd, mapping->uses, &node) == NULL) return -PLAIT_EBADF;
  /* Not by the descriptor: if it appends, the bytes would go to the end. */
  int64_t put = plait__fs_contents_write(
      plait__fs_mine(), node, (uint64_t)offset, plait_ref(from), (uint32_t)length, NULL, 0, plait_wasi_now());
  return put < 0 ? (int)put : 0;
}

/* The link to the mapping that starts at the address, or null. Under the lock. */
static struct mapping **find_mapping(const void *bytes) {
  for (struct mapping **link = &mappings; *link != NULL; link = &(*link)->next)
    if ((*link)->bytes == bytes) return link;
  return NULL;
}

static int is_written_back(int prot, int flags) {
  return (flags & MAP_TYPE) != MAP_PRIVATE && (prot & PROT_WRITE) != 0;
}

static int sync_mapping(void *bytes, size_t length, int prot, int flags, off_t offset) {
  plait_lock_acquire(&mappings_lock);
  struct mapping **link = find_mapping(bytes);
  int rc = link == NULL ? -PLAIT_EINVAL : 0;
  if (rc == 0 && is_written_back(prot, flags)) rc = write_back(*link, bytes, length, offset);
  plait_lock_release(&mappings_lock);
  return rc;
}

static int unmap_file(void *bytes, size_t length, int prot, int flags, off_t offset) {
  int rc = sync_mapping(bytes, length, prot, flags, offset);
  plait_lock_acquire(&mappings_lock);
  struct mapping **link = find_mapping(bytes), *mapping = link == NULL ? NULL : *link;
  if (mapping != NULL) *link = mapping->next;
  plait_lock_release(&mappings_lock);
  if (mapping != NULL) {
    plait_fs_close_as(mapping->fd, mapping->uses);
    free(mapping);
  }
  return rc;
}

PUBLIC int _mmap_js(size_t length, int prot, int flags, int fd, off_t offset, int *allocated, void **to) {
  *allocated = 1;
  SYSCALL(map_file((uint32_t)fd, length, prot, flags, offset, to));
}

PUBLIC int _msync_js(void *bytes, size_t length, int prot, int flags, int fd, off_t offset) {
  (void)fd;
  SYSCALL(sync_mapping(bytes, length, prot, flags, offset));
}

PUBLIC int _munmap_js(void *bytes, size_t length, int prot, int flags, int fd, off_t offset) {
  (void)fd;
  SYSCALL(unmap_file(bytes, length, prot, flags, offset));
}
