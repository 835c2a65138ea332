/*
 * tar: unpacks an archive into the root directory. The format: POSIX.1-2017, pax, "ustar Interchange Format" and "pax
 * Header Block"; GNU tar's manual, "Basic Tar Format", for long names (L, K) and binary numbers.
 *
 * Invariant: nothing outside `bytes` is read, whatever the archive says. A path is put into the thread's `first`, where
 * fs limits it. `..` never leaves the root directory.
 */
#include "../../core/fs/internal.h"

#define BLOCK 512u
#define LARGEST_SIZE (1ull << 53)
#define LATEST 9200000000ull /* seconds: nanoseconds fit into 63 bits */

/* Offsets in a header. */
enum {
  NAME = 0,
  MODE = 100,
  SIZE = 124,
  MTIME = 136,
  CHECKSUM = 148,
  TYPE = 156,
  LINK = 157,
  MAGIC = 257,
  PREFIX = 345
};

struct words {
  const uint8_t *bytes;
  uint32_t length;
};

struct member {
  struct words path, link;
  uint64_t size;
  int64_t mtime; /* seconds */
  uint32_t mode;
  uint8_t type;
};

/* The next member's path, link and size, if an extended header gave them; null or UINT64_MAX otherwise. */
struct extension {
  struct words path, link;
  uint64_t size;
};

/* The field up to its first zero byte. */
static struct words field(const uint8_t *at, uint32_t size) {
  uint32_t length = 0;
  while (length < size && at[length] != 0) length++;
  return (struct words){at, length};
}

/* An octal number, or a binary one if the first bit is set. UINT64_MAX: neither. */
static uint64_t number(const uint8_t *at, uint32_t size) {
  uint64_t value = 0;
  if (at[0] & 0x80) {
    if (at[0] != 0x80) return UINT64_MAX; /* negative */
    for (uint32_t i = 1; i < size; i++) {
      if (value >> 56 != 0) return UINT64_MAX;
      value = value << 8 | at[i];
    }
    return value;
  }
  uint32_t i = 0;
  while (i < size && at[i] == ' ') i++;
  for (; i < size && at[i] >= '0' && at[i] <= '7'; i++) value = value << 3 | (at[i] - '0');
  return i == size || at[i] == ' ' || at[i] == 0 ? value : UINT64_MAX;
}

/* The sum of all bytes, with the checksum's own as spaces. */
static int has_checksum(const uint8_t *header) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < BLOCK; i++) sum += i >= CHECKSUM && i < CHECKSUM + 8 ? ' ' : header[i];
  return number(header + CHECKSUM, 8) == sum;
}

/* ---- extended headers ---- */

static int is_key(struct words key, const char *name) {
  uint32_t i = 0;
  while (i < key.length && name[i] != 0 && key.bytes[i] == (uint8_t)name[i]) i++;
  return i == key.length && name[i] == 0;
}

static uint64_t decimal(struct words text) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < text.length; i++) {
    if (text.bytes[i] < '0' || text.bytes[i] > '9' || value > LARGEST_SIZE) return UINT64_MAX;
    value = value * 10 + (text.bytes[i] - '0');
  }
  return value;
}

/* Records of the form "LENGTH KEY=VALUE\n". 0, or -PLAIT_EINVAL. */
static int read_pax(const uint8_t *at, uint64_t size, struct extension *extension) {
  while (size > 0 && *at != 0) {
    uint64_t length = 0;
    uint32_t digits = 0;
    while (digits < size && digits < 10 && at[digits] >= '0' && at[digits] <= '9')
      length = length * 10 + (at[digits++] - '0');
    if (digits == 0 || length > size || length < digits + 3 || at[digits] != ' ' || at[length - 1] != '\n')
      return -PLAIT_EINVAL;
    struct words key = {at + digits + 1, 0};
    uint32_t rest = (uint32_t)length - digits - 2; /* without the space and the end of the line */
    while (key.length < rest && key.bytes[key.length] != '=') key.length++;
    if (key.length == rest) return -PLAIT_EINVAL;
    struct words value = {key.bytes + key.length + 1, rest - key.length - 1};
    if (is_key(key, "path")) extension->path = value;
    if (is_key(key, "linkpath")) extension->link = value;
    if (is_key(key, "size") && (extension->size = decimal(value)) > LARGEST_SIZE) return -PLAIT_EINVAL;
    at += length, size -= length;
  }
  return 0;
}

/* ---- members ---- */

static int put_path(uint8_t *to, struct words path) {
  if (path.length >= PLAIT_FS_PATH_MAX) return -PLAIT_ENAMETOOLONG;
  for (uint32_t i = 0; i < path.length; i++) { /* a pax header may contain zeros, which no program could name */
    if (path.bytes[i] == 0) return -PLAIT_EINVAL;
    to[i] = path.bytes[i];
  }
  return 0;
}

/* Makes the directories above the last name of the path in `first`. */
static int make_parents(struct plait_fs_thread *mine, uint32_t length, double now) {
  for (uint32_t i = 1; i < length; i++) {
    if (mine->first[i] != '/' || mine->first[i - 1] == '/') continue;
    int rc = plait_fs_mkdir(i, 0777, now);
    if (rc != 0 && rc != -PLAIT_EEXIST) return rc;
  }
  return 0;
}

static int unpack_member(const struct member *member, const uint8_t *contents, double now) {
  struct plait_fs_thread *mine = plait__fs_mine();
  uint32_t length = member->path.length;
  while (length > 0 && member->path.bytes[length - 1] == '/') length--;
  struct words path = {member->path.bytes, length};
  if (length == 0) return 0; /* the root directory */
  int rc = put_path(mine->first, path);
  if (rc != 0 || (rc = make_parents(mine, length, now)) != 0) return rc;
  int is_directory = member->type == '5' || (member->type == '0' && length != member->path.length);
  if (is_directory) {
    rc = plait_fs_mkdir(length, member->mode, now);
    if (rc == -PLAIT_EEXIST) rc = 0;
  } else if (member->type == '1' || member->type == '2') {
    plait_fs_unlink(length, now);
    rc = put_path(mine->second, member->type == '2' ? path : member->link);
    if (rc == 0) rc = put_path(mine->first, member->type == '2' ? member->link : path);
    if (rc != 0) return rc;
    if (member->type == '2') return plait_fs_symlink(member->link.length, length, now);
    struct plait_fs_at from = plait_fs_second_path(member->link.length), to = plait_fs_path(length);
    return plait_fs_link_at(&from, 0, &to, now);
  } else {
    if (member->size > UINT32_MAX) return -PLAIT_EFBIG;
    plait_fs_unlink(length, now); /* not through a link that has its name */
    rc = plait_fs_write_file(length, PLAIT_FS_WRONLY | PLAIT_FS_CREAT | PLAIT_FS_TRUNC, member->mode,
        plait_ref(contents), (uint32_t)member->size, 0, now);
  }
  if (rc != 0) return rc;
  uint64_t time = (uint64_t)(member->mtime * 1000000000);
  struct plait_fs_attributes attributes = {
      .mask = PLAIT_FS_SET_MTIME | PLAIT_FS_SET_ATIME, .mtime = time, .atime = time};
  struct plait_fs_at at = plait_fs_path(length);
  return plait_fs_set_at(&at, 0, &attributes, now);
}

/* The member that the header describes. 0, or -PLAIT_EINVAL. `path` has room for a prefix and a name. */
static int read_header(const uint8_t *header, uint8_t *path, struct member *member) {
  uint64_t mode = number(header + MODE, 8), mtime = number(header + MTIME, 12);
  member->size = number(header + SIZE, 12);
  member->type = header[TYPE] == 0 || header[TYPE] == '7' ? '0' : header[TYPE];
  member->mode = mode == UINT64_MAX ? 0644 : (uint32_t)(mode & 07777);
  member->mtime = mtime > LATEST ? 0 : (int64_t)mtime;
  if (member->size > LARGEST_SIZE || !has_checksum(header)) return -PLAIT_EINVAL;
  struct words name = field(header + NAME, 100), prefix = field(header + PREFIX, 155);
  int has_prefix = __builtin_memcmp(header + MAGIC, "ustar\0", 6) == 0 && prefix.length != 0;
  member->link = field(header + LINK, 100);
  member->path = name;
  if (!has_prefix) return 0;
  plait_copy_near(path, prefix.bytes, prefix.length);
  path[prefix.length] = '/';
  plait_copy_near(path + prefix.length + 1, name.bytes, name.length);
  member->path = (struct words){path, prefix.length + 1 + name.length};
  return 0;
}

/* See plait_fs_unpack(). pre: the thread has entered fs. */
static int plait__tar_unpack(const void *tar, size_t length, double now) {
  const uint8_t *bytes = tar;
  struct extension extension = {.size = UINT64_MAX};
  size_t at = 0;
  while (length - at >= BLOCK) {
    uint8_t path[256];
    struct member member;
    if (bytes[at] == 0 && number(bytes + at + CHECKSUM, 8) == 0) return 0; /* the end is marked by a block of zeros */
    int rc = read_header(bytes + at, path, &member);
    if (rc != 0) return rc;
    at += BLOCK;
    int extends = member.type == 'x' || member.type == 'g' || member.type == 'L' || member.type == 'K';
    if (!extends && extension.size != UINT64_MAX) member.size = extension.size;
    uint64_t padded = (member.size + BLOCK - 1) & ~(uint64_t)(BLOCK - 1);
    if (member.size > length - at) return -PLAIT_EINVAL;
    const uint8_t *contents = bytes + at;
    at += padded < length - at ? (size_t)padded : length - at;
    if (member.type == 'x') rc = read_pax(contents, member.size, &extension);
    if (member.type == 'L') extension.path = field(contents, (uint32_t)member.size);
    if (member.type == 'K') extension.link = field(contents, (uint32_t)member.size);
    if (!extends) {
      if (extension.path.bytes != NULL) member.path = extension.path;
      if (extension.link.bytes != NULL) member.link = extension.link;
      extension = (struct extension){.size = UINT64_MAX};
      int known = member.type == '0' || member.type == '1' || member.type == '2' || member.type == '5';
      if (known) rc = unpack_member(&member, contents, now); /* devices and the like are left out */
    }
    if (rc != 0) return rc;
  }
  return at == length ? 0 : -PLAIT_EINVAL; /* GNU tar accepts an archive without an end mark, too */
}
