/*
 * devices: what programs expect to find beside their own files: /tmp, and /dev with null, zero, random, urandom, stdin,
 * stdout and stderr.
 *
 * A device is an empty file, known by the number of its inode. A program that opens one gets a stream in its place.
 * Invariant: `device_inodes` does not change after the start. A device that the program removes loses its inode, so the
 * file's generation is compared, too.
 */
#define DEVICES 7u

static const char *const device_names[DEVICES] = {
    "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"};
enum { DEVICE_NULL = 3, DEVICE_ZERO = 4 };

static struct {
  uint32_t inode, generation_kind;
} device_inodes[DEVICES];

static uint32_t put_name(struct plait_fs_thread *mine, const char *name) {
  uint32_t length = 0;
  for (; name[length] != 0; length++) mine->first[length] = (uint8_t)name[length];
  return length;
}

/* Makes them. What is there already stays. */
static PLAIT_COLD void make_devices(struct plait_fs_thread *mine, double now) {
  static const char *const directories[] = {
      "/tmp",
      "/dev",
#ifdef __EMSCRIPTEN__ /* its $HOME */
      "/home",
      "/home/web_user",
#endif
  };
  for (uint32_t i = 0; i < sizeof directories / sizeof *directories; i++)
    plait_fs_mkdir(put_name(mine, directories[i]), i == 0 ? 01777 : 0755, now);
  for (uint32_t i = 0; i < DEVICES; i++) {
    int fd = plait_fs_open(put_name(mine, device_names[i]), PLAIT_FS_CREAT | PLAIT_FS_EXCL, 0666, now);
    struct plait__fs_node node;
    if (fd < 0) continue;
    plait__fs_open_at(fd, &node);
    device_inodes[i].inode = plait_ref(node.inode);
    device_inodes[i].generation_kind = node.generation_kind;
    plait_fs_close(fd);
  }
}

int plait_wasi_stream_of(plait_ref_t inode) {
  for (uint32_t i = 0; i < DEVICES; i++) {
    if (device_inodes[i].inode != inode) continue;
    uint32_t now = plait_load(&((struct plait_inode *)plait_at(inode))->generation_kind);
    if (now == device_inodes[i].generation_kind) return (int)(i < PLAIT_WASI_STREAMS ? i : PLAIT_WASI_FIRST_DEVICE + i);
  }
  return -1;
}

/* ---- reading and writing ---- */

HOST(random_get) uint32_t host_random_get(void *to, uint32_t length);

static uint32_t read_device(uint32_t device, plait_guest_t iovs, uint32_t count, plait_guest_t read) {
  uint32_t total = 0;
  for (uint32_t i = 0; i < count && device != DEVICE_NULL; i++) {
    void *to = plait_at(guest_load(iovs + IOVEC_SIZE * i));
    uint32_t length = guest_load(iovs + IOVEC_SIZE * i + 4), error = 0;
    if (device == DEVICE_ZERO) plait_zero(to, length);
    else error = host_random_get(to, length);
    if (error != 0) return error;
    total += length;
  }
  guest_store(read, total);
  return 0;
}

static uint32_t write_device(plait_guest_t iovs, uint32_t count, plait_guest_t written) {
  uint32_t total = 0;
  for (uint32_t i = 0; i < count; i++) total += guest_load(iovs + IOVEC_SIZE * i + 4);
  guest_store(written, total);
  return 0;
}

uint32_t plait_wasi_host_read(uint32_t stream, plait_guest_t iovs, uint32_t count, plait_guest_t read) {
  if (stream >= PLAIT_WASI_FIRST_DEVICE) return read_device(stream - PLAIT_WASI_FIRST_DEVICE, iovs, count, read);
  return host_fd_read(stream, iovs, count, read);
}

uint32_t plait_wasi_host_write(uint32_t stream, plait_guest_t iovs, uint32_t count, plait_guest_t written) {
  if (stream >= PLAIT_WASI_FIRST_DEVICE) return write_device(iovs, count, written);
  return host_fd_write(stream, iovs, count, written);
}

uint32_t plait_wasi_host_is_terminal(uint32_t stream) {
  uint64_t stat[FDSTAT_SIZE / 8] = {0};
  if (stream >= PLAIT_WASI_FIRST_DEVICE) return 0;
  return host_fd_fdstat_get(stream, stat) == 0 && (stat[0] & 255u) == FILETYPE_CHARACTERS;
}
