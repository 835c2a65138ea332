/*
 * tar: unpacks an archive into the root directory. The format: POSIX.1-2017, pax, "ustar Interchange Format" and "pax
 * Header Block"; GNU tar's manual, "Basic Tar Format", for long names (L, K) and binary numbers.
 *
 * Invariants: nothing outside of the archive is read, whatever it says. The whole archive is read once before the first
 * file is made, so a damaged one changes nothing. A file that is replaced exists until its successor is complete.
 */
#include "../../core/fs/internal.h"
#include "plait_fs.h"

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
  const uint8_t *contents;
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

/* Where a walk over the archive is. `at`: the next header. */
struct reader {
  const uint8_t *bytes;
  size_t length, at;
  struct extension extension;
  struct plait_fs_fault fault;
  uint8_t path[256]; /* room for a prefix and a name */
};

/* The archive is wrong in this way, at this byte. */
static int fault_at(struct reader *reader, const uint8_t *at, const char *what) {
  reader->fault = (struct plait_fs_fault){what, (size_t)(at - reader->bytes)};
  return -PLAIT_EINVAL;
}

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
static int read_pax(struct reader *reader, const uint8_t *at, uint64_t size) {
  static const char bad[] = "a record of the extended header is damaged";
  struct extension *extension = &reader->extension;
  while (size > 0 && *at != 0) {
    uint64_t length = 0;
    uint32_t digits = 0;
    while (digits < size && digits < 10 && at[digits] >= '0' && at[digits] <= '9')
      length = length * 10 + (at[digits++] - '0');
    if (digits == 0 || length > size || length < digits + 3 || at[digits] != ' ' || at[length - 1] != '\n')
      return fault_at(reader, at, bad);
    struct words key = {at + digits + 1, 0};
    uint32_t rest = (uint32_t)length - digits - 2; /* without the space and the end of the line */
    while (key.length < rest && key.bytes[key.length] != '=') key.length++;
    if (key.length == rest) return fault_at(reader, at, bad);
    struct words value = {key.bytes + key.length + 1, rest - key.length - 1};
    if (is_key(key, "path")) extension->path = value;
    if (is_key(key, "linkpath")) extension->link = value;
    if (is_key(key, "size") && (extension->size = decimal(value)) > LARGEST_SIZE) return fault_at(reader, at, bad);
    at += length, size -= length;
  }
  return 0;
}

/* ---- members ---- */

/* What is wrong with a path; NULL if nothing is. `is_text`: it is a symbolic link's text, which may go up. */
static const char *fault_of_path(struct words path, int is_text) {
  if (path.length >= PLAIT_FS_PATH_MAX) return "a path is too long";
  for (uint32_t i = 0, from = 0; i <= path.length; i++) {
    if (i < path.length && path.bytes[i] == 0) return "a path contains a zero byte"; /* which no program could name */
    if (is_text || (i < path.length && path.bytes[i] != '/')) continue;
    if (i - from > PLAIT_FS_NAME_MAX) return "a name is too long";
    if (i - from == 2 && path.bytes[from] == '.' && path.bytes[from + 1] == '.') return "a path contains ..";
    from = i + 1;
  }
  return NULL;
}

/* The member that the header describes. 0, or -PLAIT_EINVAL. */
static int read_header(struct reader *reader, const uint8_t *header, struct member *member) {
  uint64_t mode = number(header + MODE, 8), mtime = number(header + MTIME, 12);
  member->size = number(header + SIZE, 12);
  member->type = header[TYPE] == 0 || header[TYPE] == '7' ? '0' : header[TYPE];
  member->mode = mode == UINT64_MAX ? 0644 : (uint32_t)(mode & 07777);
  member->mtime = mtime > LATEST ? 0 : (int64_t)mtime;
  if (!has_checksum(header)) return fault_at(reader, header, "the checksum of a header is wrong");
  if (member->size > LARGEST_SIZE) return fault_at(reader, header, "the size in a header is no number");
  struct words name = field(header + NAME, 100), prefix = field(header + PREFIX, 155);
  int has_prefix = __builtin_memcmp(header + MAGIC, "ustar\0", 6) == 0 && prefix.length != 0;
  member->link = field(header + LINK, 100);
  member->path = name;
  if (!has_prefix) return 0;
  uint8_t *path = reader->path;
  plait_copy_near(path, prefix.bytes, prefix.length);
  path[prefix.length] = '/';
  plait_copy_near(path + prefix.length + 1, name.bytes, name.length);
  member->path = (struct words){path, prefix.length + 1 + name.length};
  return 0;
}

static int is_zero(const uint8_t *block) {
  uint32_t i = 0;
  while (i < BLOCK && block[i] == 0) i++;
  return i == BLOCK;
}

/* The next member that is a file, a directory or a link: 1. 0 at the end mark, -PLAIT_EINVAL if something is wrong. */
static int next_member(struct reader *reader, struct member *member) {
  struct extension *extension = &reader->extension;
  for (;;) {
    const uint8_t *header = reader->bytes + reader->at;
    size_t left = reader->length - reader->at;
    if (left < BLOCK) return fault_at(reader, header, "the archive is cut off: it has no end mark");
    if (is_zero(header)) return 0;
    int rc = read_header(reader, header, member);
    if (rc != 0) return rc;
    left -= BLOCK;
    uint8_t type = member->type;
    int extends = type == 'x' || type == 'g' || type == 'L' || type == 'K';
    if (!extends && extension->size != UINT64_MAX) member->size = extension->size;
    if (member->size > left) return fault_at(reader, header, "a member ends behind the end of the archive");
    uint64_t padded = (member->size + BLOCK - 1) & ~(uint64_t)(BLOCK - 1);
    member->contents = header + BLOCK;
    reader->at += BLOCK + (padded < left ? (size_t)padded : left);
    if (type == 'x' && (rc = read_pax(reader, member->contents, member->size)) != 0) return rc;
    if (type == 'L') extension->path = field(member->contents, (uint32_t)member->size);
    if (type == 'K') extension->link = field(member->contents, (uint32_t)member->size);
    if (extends) continue;
    if (extension->path.bytes != NULL) member->path = extension->path;
    if (extension->link.bytes != NULL) member->link = extension->link;
    *extension = (struct extension){.size = UINT64_MAX};
    if (type != '0' && type != '1' && type != '2' && type != '5') continue; /* devices and the like are left out */
    const char *fault = fault_of_path(member->path, 0);
    if (fault == NULL && (type == '1' || type == '2')) fault = fault_of_path(member->link, type == '2');
    return fault == NULL ? 1 : fault_at(reader, header, fault);
  }
}

static struct reader reader_of(const void *tar, size_t length) {
  return (struct reader){.bytes = tar, .length = length, .extension = {.size = UINT64_MAX}};
}

/* See plait_fs_check_tar(). */
static int plait__tar_check(const void *tar, size_t length, struct plait_fs_fault *fault) {
  struct reader reader = reader_of(tar, length);
  struct member member;
  int rc;
  while ((rc = next_member(&reader, &member)) > 0);
  *fault = reader.fault;
  return rc;
}

/* ---- unpacking ---- */

static uint32_t put_path(uint8_t *to, struct words path) {
  plait_copy_near(to, path.bytes, path.length);
  return path.length;
}

/* A path that no other thread uses. */
static uint32_t put_temporary(uint8_t *to) {
  static const char name[] = "/.unpack-";
  uint32_t length = sizeof name - 1;
  plait_copy_near(to, name, length);
  for (uint32_t id = plait_self_id(); id != 0; id >>= 4) to[length++] = (uint8_t)('a' + (id & 15));
  return length;
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

static int set_time(uint32_t length, const struct member *member, double now) {
  uint64_t time = (uint64_t)(member->mtime * 1000000000);
  struct plait_fs_attributes attributes = {
      .mask = PLAIT_FS_SET_MTIME | PLAIT_FS_SET_ATIME, .mtime = time, .atime = time};
  struct plait_fs_at at = plait_fs_path(length);
  return plait_fs_set_at(&at, 0, &attributes, now);
}

/* Makes the file or the link, under a temporary name. */
static int make_temporary(struct plait_fs_thread *mine, const struct member *member, double now) {
  uint32_t length;
  if (member->type == '2') {
    length = put_temporary(mine->second);
    return plait_fs_symlink(put_path(mine->first, member->link), length, now);
  }
  if (member->type == '1') {
    struct plait_fs_at to = plait_fs_second_path(put_temporary(mine->second));
    struct plait_fs_at from = plait_fs_path(put_path(mine->first, member->link));
    return plait_fs_link_at(&from, 0, &to, now);
  }
  length = put_temporary(mine->first);
  int rc = plait_fs_write_file(length, PLAIT_FS_WRONLY | PLAIT_FS_CREAT | PLAIT_FS_TRUNC, member->mode,
      plait_ref(member->contents), (uint32_t)member->size, 0, now);
  return rc != 0 ? rc : set_time(length, member, now);
}

static int unpack_member(const struct member *member, double now) {
  struct plait_fs_thread *mine = plait__fs_mine();
  struct words path = member->path;
  while (path.length > 0 && path.bytes[path.length - 1] == '/') path.length--;
  if (path.length == 0) return 0; /* the root directory */
  int rc = make_parents(mine, put_path(mine->first, path), now);
  if (rc != 0) return rc;
  if (member->type == '5' || (member->type == '0' && path.length != member->path.length)) {
    rc = plait_fs_mkdir(path.length, member->mode, now);
    return rc != 0 && rc != -PLAIT_EEXIST ? rc : set_time(path.length, member, now);
  }
  rc = make_temporary(mine, member, now);
  uint32_t length = put_temporary(mine->first);
  if (rc == 0) rc = plait_fs_rename(length, put_path(mine->second, path), now);
  plait_fs_unlink(length, now); /* if something failed; or it is a link to what has its name already */
  return rc;
}

/* See plait_fs_unpack(). pre: the thread has entered fs. */
static int plait__tar_unpack(const void *tar, size_t length, double now) {
  struct plait_fs_fault fault;
  struct reader reader = reader_of(tar, length);
  struct member member;
  int rc = plait__tar_check(tar, length, &fault);
  while (rc == 0 && (rc = next_member(&reader, &member)) > 0) rc = unpack_member(&member, now);
  return rc;
}
