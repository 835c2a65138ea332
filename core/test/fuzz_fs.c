/*
 * fuzz_fs: libFuzzer over fs (make fuzz-fs; see fuzz.mk). The bytes are a program of operations, with paths, flags,
 * positions and lengths of any kind. Every call returns a count or an error number, and all structures stay valid. When
 * everything is removed, no block is left.
 *
 * A byte below 16 within a path stands for a part of a path, so that paths often name the same file.
 */
#include "fs_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const uint8_t *at, *end;

static uint32_t take_byte(void) { return at < end ? *at++ : 0; }
static uint32_t take_word(void) { return take_byte() | take_byte() << 8 | take_byte() << 16 | take_byte() << 24; }

static double take_number(void) {
  static const double special[] = {0, 1, -1, 4095, 4096, 65536, 100000, 1e6, 4294967295.0, 4294967296.0,
      9007199254740991.0, 9007199254740992.0, 9.3e18, 1e300, -1e300, 0.5};
  uint32_t kind = take_byte();
  return kind < 128 ? kind * 37.0 : kind < 192 ? take_word() : special[kind % 16];
}

/* Writes the bytes of a path to `to`, and returns their number. */
static uint32_t take_path(uint8_t *to) {
  static const char *const pieces[] = {
      "/", "/a", "/b", "/a/b", "/..", "/.", "//", "a", "b/", "/l1", "/a/link", "..", ".", "/c", "/l2", "/a/b/c/d"};
  uint32_t count = take_byte() % 24, length = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t byte = take_byte();
    if (byte < 16) {
      uint32_t more = (uint32_t)strlen(pieces[byte]);
      memcpy(to + length, pieces[byte], more);
      length += more;
    } else if (byte == 255) { /* a long name, or too long a path */
      uint32_t more = take_byte() * 17;
      if (length + more > PLAIT_FS_PATH_MAX - 200) more = PLAIT_FS_PATH_MAX - 200 - length;
      memset(to + length, 'n', more);
      length += more;
    } else {
      to[length++] = (uint8_t)byte;
    }
    if (length > PLAIT_FS_PATH_MAX - 250) break;
  }
  /* the binding's error for a path that is too long */
  return take_byte() == 250 ? PLAIT_FS_PATH_MAX + take_byte() : length;
}

static int take_target(struct plait_fs_thread *mine) {
  return take_byte() & 1 ? (int)(take_byte() % 12) : PLAIT_FS_PATH(take_path(mine->first));
}

static void check_answer(double answer) {
  if (answer < 0 && (answer < -200 || answer != (int)answer)) abort();
}

static void run_one(struct plait_fs_thread *mine) {
  plait_ref_t scratch = plait_get(&mine->scratch);
  uint32_t operation = take_byte() % 29, from, to;
  int fd = (int)(take_byte() % 12), target;
  double first, second;
  switch (operation) {
    case 0:
    case 1:
      from = take_path(mine->first);
      check_answer(plait_fs_open(from, take_word() & 0x3ffff, take_word(), NOW));
      break;
    case 2:
      check_answer(take_byte() & 1 ? plait_fs_unmap(fd) : plait_fs_close(take_byte() == 255 ? (int)take_word() : fd));
      break;
    case 3:
      first = take_number();
      check_answer(plait_fs_read(fd, scratch, take_word() % (PLAIT_FS_SCRATCH + 1), first));
      break;
    case 4:
    case 5:
      first = take_number();
      check_answer(plait_fs_write(fd, scratch, take_word() % (PLAIT_FS_SCRATCH + 1), first, NOW));
      break;
    case 6:
      target = take_target(mine);
      check_answer(plait_fs_read_file(target, scratch, take_word() % (PLAIT_FS_SCRATCH + 1)));
      break;
    case 7:
    case 8:
      from = take_path(mine->first), to = take_word();
      check_answer(
          plait_fs_write_file(from, to & 0x3ffff, take_word(), scratch, take_word() % (PLAIT_FS_SCRATCH + 1), 0, NOW));
      break;
    case 9:
      first = take_number();
      check_answer(plait_fs_seek(fd, first, (int)(take_byte() % 5) - 1));
      break;
    case 10:
      target = take_target(mine);
      check_answer(plait_fs_stat(target, (int)take_byte() & 1));
      break;
    case 11:
      from = take_path(mine->first);
      check_answer(plait_fs_access(from, take_byte() & 7));
      break;
    case 12:
      from = take_path(mine->first);
      check_answer(plait_fs_mkdir(from, take_word(), NOW));
      break;
    case 13:
      from = take_path(mine->first);
      check_answer(plait_fs_rmdir(from, NOW));
      break;
    case 14:
      from = take_path(mine->first);
      check_answer(plait_fs_unlink(from, NOW));
      break;
    case 15:
    case 16:
      from = take_path(mine->first), to = take_path(mine->second);
      check_answer(plait_fs_rename(from, to, NOW));
      break;
    case 17:
      from = take_path(mine->first), to = take_path(mine->second);
      check_answer(plait_fs_link(from, to, NOW));
      break;
    case 18:
      from = take_path(mine->first), to = take_path(mine->second);
      check_answer(plait_fs_symlink(from, to, NOW));
      break;
    case 19:
      from = take_path(mine->first);
      check_answer(plait_fs_readlink(from));
      break;
    case 20:
      target = take_target(mine), first = take_number();
      check_answer(plait_fs_truncate(target, first, NOW));
      break;
    case 21:
      target = take_target(mine), first = take_number(), second = take_number();
      check_answer(plait_fs_set(
          target, (int)take_byte() & 1, take_byte(), take_word(), take_word(), take_word(), first, 0, second, 0, NOW));
      break;
    case 22:
      first = take_number(), second = take_number();
      check_answer(plait_fs_lock(fd, (int)(take_byte() % 5) - 1, first, second, 0));
      break;
    case 23: /* a directory of the host that is made for this, so that no input can name another */
      from = take_path(mine->first), to = take_byte();
      memcpy(plait_at(plait_get(&mine->scratch)), host_root, strlen(host_root));
      check_answer(plait_fs_mount(from, (uint32_t)strlen(host_root), to & 1));
      break;
    case 24:
      from = take_path(mine->first);
      check_answer(plait_fs_unmount(from));
      break;
    case 25:
      from = take_path(mine->first), to = take_byte();
      check_answer(to & 1 ? plait_fs_hold(from, to & 2) : plait_fs_real(from, to & 2));
      break;
    case 27: /* at times a limit, at times none */
      first = take_byte() * 500.0, from = take_byte();
      plait_fs_limit(from & 1 ? first : 0, from & 2 ? from : 0);
      break;
    case 26: check_answer((plait_fs_mounted(fd), 0)); break;
    default:
      target = take_target(mine);
      if (take_byte() & 1) check_answer(plait_fs_map(target));
      else check_answer(plait_fs_list(target, take_word()));
  }
}

/*
 * Removes the contents of a directory, whatever bytes its names have. Returns 1 if it was too deep and has moved to the
 * root, else 0.
 */
static int remove_all(struct plait_fs_thread *mine, uint32_t length) {
  static uint8_t names[PLAIT_FS_SCRATCH + 1];
  static uint32_t moved;
  if (length > PLAIT_FS_PATH_MAX - 300) {
    char place[30];
    int size = snprintf(place, sizeof place, "/moved%u", moved++);
    memcpy(mine->second, place, (size_t)size);
    if (plait_fs_rename(length, (uint32_t)size, NOW) != 0) abort();
    return 1;
  }
  for (;;) {
    int count = plait_fs_list(PLAIT_FS_PATH(length), 0);
    if (count < 0) abort();
    if (count == 0) return 0;
    uint32_t bytes = plait_get(&mine->result.bytes), size = 0;
    memcpy(names, plait_at(plait_get(&mine->scratch)), bytes);
    uint8_t kind = ((uint8_t *)plait_at(plait_get(&mine->scratch)))[PLAIT_FS_SCRATCH - 1];
    while (size < bytes && names[size] != '/') size++;
    mine->first[length] = '/';
    memcpy(mine->first + length + 1, names, size);
    uint32_t child = length + 1 + size;
    if (kind == PLAIT_FS_DIRECTORY) {
      if (remove_all(mine, child) == 0 && plait_fs_rmdir(child, NOW) != 0) abort();
    } else if (plait_fs_unlink(child, NOW) != 0) {
      abort();
    }
  }
}

/* Removes the newest mount first, because it contains no other. */
static void unmount_all(struct plait_fs_thread *mine) {
  plait_ref_t text = plait_get(&mine->scratch);
  for (;;) {
    int number = plait_fs_mount_text(0, text);
    uint32_t length = plait_get(&mine->result.bytes);
    if (number > 0) memcpy(mine->first, plait_at(text), length);
    if (number == -PLAIT_ENOENT) return;
    if (number < 0 || plait_fs_unmount(length) != 0) abort();
  }
}

/* As fs_check_all(), but reports the input. */
static void check_all(void) {
  uint32_t blocks;
  int rc = plait_fs_census(&blocks);
  if (rc == 0 && plait_heap_check(1) == 0 && test_live_blocks() == blocks) return;
  fprintf(stderr, "check: %d, %s, %u blocks of %u\n", rc, fs_fault_text(), test_live_blocks(), blocks);
  abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  at = bytes, end = bytes + size;
  test_space(take_byte() % 4 == 0 ? 60 : 400);
  struct plait_fs_thread *mine = fs_mine();
  for (int i = 0; i < 200 && at < end; i++) run_one(mine);
  check_all();
  for (uint32_t fd = 0; fd < plait_load(&plait_fs()->opens.count) * PLAIT_FS_CHUNK_ITEMS; fd++)
    plait_fs_close((int)fd), plait_fs_unmap((int)fd);
  unmount_all(mine);
  mine->first[0] = '/';
  remove_all(mine, 1);
  check_all();
  if (plait_fs_usage() != 0 || plait_get64(&mine->result.held) != 0) abort();
  plait_posix_unmap();
  host_end();
  if (mkdir(host_root, 0777) != 0) abort();
  return 0;
}
