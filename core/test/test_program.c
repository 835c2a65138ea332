/*
 * program: hosted programs. The whole core is one translation unit here, as in the Wasm module (core/all.c), and the
 * test is the bridge and the host: a program's memory is an array beside the space, so a pointer that is used for the
 * wrong one of the two shows.
 */
#define _GNU_SOURCE
#include "../all.c"

#include "fs_world.h"

#define GUEST_PAGES 4u
static uint8_t guest[GUEST_PAGES * PLAIT_PAGE_SIZE];
static _Atomic uint32_t visible_pages = GUEST_PAGES, observed; /* what pages() and observe() tell */
static uint8_t output[1 << 20];
static uint32_t output_bytes, input_bytes;
static double host_time = NOW;

/* Races on a program's memory are the program's. The test's threads use different parts of it. */
static uint8_t *guest_at(plait_guest_t at, uint32_t length) {
  CHECK((uint64_t)at + length <= sizeof guest);
  return guest + at;
}
uint32_t plait_guest_pages(void) { return visible_pages; }
uint32_t plait_guest_observe(void) { return (void)observed++, GUEST_PAGES; }
uint32_t plait_guest_load(plait_guest_t at) {
  uint32_t value;
  memcpy(&value, guest_at(at, 4), 4);
  return value;
}
void plait_guest_store(plait_guest_t at, uint32_t value) { memcpy(guest_at(at, 4), &value, 4); }
void plait_guest_store64(plait_guest_t at, uint64_t value) { memcpy(guest_at(at, 8), &value, 8); }
void plait_guest_get(void *to, plait_guest_t at, uint32_t length) { memcpy(to, guest_at(at, length), length); }
/* The bytes of a file may be changing: the caller reads again then. */
__attribute__((no_sanitize("thread"))) void plait_outside_put(plait_guest_t at, const void *from, uint32_t length) {
  uint8_t *to = guest_at(at, length);
  for (uint32_t i = 0; i < length; i++) to[i] = ((const volatile uint8_t *)from)[i];
}
void plait_outside_zero(plait_guest_t at, uint32_t length) { memset(guest_at(at, length), 0, length); }

double plait_host_clock(uint32_t id) { return id == 0 ? host_time : id == 1 ? (double)test_now_ms() + 1 : -1; }
void plait_host_random(void *to, uint32_t length) { memset(to, 0x5a, length); }
int plait_host_read(uint32_t descriptor, void *to, uint32_t length) {
  if (descriptor != 7) return -PLAIT_EIO;
  uint32_t count = length < input_bytes ? length : input_bytes;
  memset(to, 'i', count);
  input_bytes -= count;
  return (int)count;
}
int plait_host_write(uint32_t descriptor, const void *from, uint32_t length) {
  if (descriptor != 8) return -PLAIT_EPIPE;
  CHECK(output_bytes + length <= sizeof output);
  memcpy(output + output_bytes, from, length);
  output_bytes += length;
  return (int)length;
}
int plait_host_terminal(uint32_t descriptor) { return descriptor == 8; }

/* ---- a program ---- */

#define AT 1024u    /* where calls put their results */
#define PATH 8192u  /* paths */
#define DATA 65536u /* bytes to read and write */
#define EVERYTHING (~0ull)

static plait_ref_t program;

static struct plait_program *the_program(void) { return plait_at(program); }

static plait_ref_t block_of(const char *text, uint32_t length) {
  plait_ref_t block = plait_heap_alloc(length);
  memcpy(plait_at(block), text, length);
  return block;
}

static void start(uint32_t threads) {
  if (plait_platform_base == NULL) test_space(1000);
  fs_mine();
  CHECK(fs_mkdir("/d") == 0 && fs_mkdir("/read") == 0);
  CHECK((program = plait_program_create(0, 0, threads)) != 0 && plait_program_enter(program) == 0);
  CHECK(plait_program_open_streams() == 0);
  CHECK(plait_program_preopen(fs_first("/d"), block_of("/", 1), 1, 0) == 3);
  CHECK(plait_program_preopen(fs_first("/read"), block_of("read", 4), 4, 1) == 4);
  plait_program_set_strings(program, 0, block_of("prog\0-x\0", 8), 2, 8);
  plait_program_set_strings(program, 1, block_of("A=1\0", 4), 1, 4);
}

static void end(void) {
  plait_thread_t owner = plait_get(&the_program()->owner);
  plait_program_leave();
  plait_program_destroy(program);
  CHECK(plait_abi_recover(owner) == 0 && plait_abi_check(1) == 0);
}

static int open_at(uint32_t fd, const char *path, uint32_t oflags, uint64_t rights) {
  uint32_t length = (uint32_t)strlen(path);
  memcpy(guest + PATH, path, length);
  uint32_t error = plait_preview1_path_open(fd, LOOKUP_FOLLOW, PATH, length, oflags, rights, 0, 0, AT);
  return error == 0 ? (int)guest_load(AT) : -(int)error;
}

#define READ_WRITE (RIGHT(RIGHT_FD_READ) | RIGHT(RIGHT_FD_WRITE) | RIGHT(RIGHT_FD_SEEK) | RIGHT(RIGHT_FD_TELL))

static uint32_t vector(plait_guest_t at, plait_guest_t bytes, uint32_t length) {
  guest_store(at, bytes);
  guest_store(at + 4, length);
  return at;
}

static int write_bytes(uint32_t fd, plait_guest_t bytes, uint32_t length) {
  uint32_t error = plait_preview1_fd_write(fd, vector(AT, bytes, length), 1, AT + 8);
  return error == 0 ? (int)guest_load(AT + 8) : -(int)error;
}

static int read_bytes(uint32_t fd, plait_guest_t bytes, uint32_t length, uint64_t position) {
  uint32_t error = plait_preview1_fd_pread(fd, vector(AT, bytes, length), 1, position, AT + 8);
  return error == 0 ? (int)guest_load(AT + 8) : -(int)error;
}

static void test_files(void) {
  start(0);
  int fd = open_at(3, "f", OFLAG_CREAT, READ_WRITE);
  CHECK(fd == 5);
  for (uint32_t i = 0; i < 100000; i++) guest[DATA + i] = (uint8_t)(i * 7);
  CHECK(write_bytes(5, DATA, 10) == 10 && write_bytes(5, DATA + 10, 99990) == 99990); /* more than a scratch block */
  memset(guest + DATA, 0, 100000);
  CHECK(read_bytes(5, DATA, 100000, 0) == 100000);
  for (uint32_t i = 0; i < 100000; i++) CHECK(guest[DATA + i] == (uint8_t)(i * 7));
  /* A hole reads as zeros, not as what was in the program's memory. */
  CHECK(plait_preview1_fd_seek(5, 300000, 0, AT) == 0 && write_bytes(5, DATA, 1) == 1);
  memset(guest + DATA, 1, 70000);
  CHECK(read_bytes(5, DATA, 70000, 150000) == 70000);
  for (uint32_t i = 0; i < 70000; i++) CHECK(guest[DATA + i] == 0);
  CHECK(fs_stat("/d/f") == 0 && plait_get64(&fs_mine()->result.size) == 300001);
  /* Nothing leads out of a preopened directory. */
  CHECK(open_at(3, "../read", 0, 0) == -PREVIEW1_ENOTCAPABLE && open_at(3, "/d/f", 0, 0) == -PREVIEW1_ENOTCAPABLE);
  CHECK(open_at(4, "g", OFLAG_CREAT, READ_WRITE) == -PREVIEW1_ENOTCAPABLE && open_at(4, ".", 0, 0) == 6);
  CHECK(plait_preview1_fd_prestat_get(4, AT) == 0 && guest_load(AT + 4) == 4);
  end();
  CHECK(fs_stat("/d/f") == 0);
  struct plait_inode *inode = plait_at(plait_get(&fs_mine()->result.block));
  CHECK(plait_get(&inode->opens) == 0);
}

/* Every pointer of every call, at the edge of the memory and behind it. */
static void test_pointers(void) {
  start(0);
  CHECK(open_at(3, "f", OFLAG_CREAT, READ_WRITE | RIGHT(RIGHT_FD_FILESTAT_GET)) == 5);
  uint32_t size = sizeof guest;
  static const uint32_t ends[] = {0, 1, 0x7fffffff, 0xffffffff};
  for (uint32_t i = 0; i < 4; i++) {
    uint32_t bad = size + ends[i] < size ? ends[i] : size + ends[i] - (i == 0);
    CHECK(plait_preview1_fd_filestat_get(5, bad) == PREVIEW1_FAULT);
    CHECK(plait_preview1_fd_fdstat_get(5, bad) == PREVIEW1_FAULT);
    CHECK(plait_preview1_fd_seek(5, 0, 1, bad) == PREVIEW1_FAULT);
    CHECK(plait_preview1_fd_read(5, bad, 1, AT) == PREVIEW1_FAULT && plait_preview1_fd_read(5, AT, 1, bad) != 0);
    CHECK(plait_preview1_fd_write(5, bad, 1, AT) == PREVIEW1_FAULT);
    CHECK(plait_preview1_fd_write(1, bad, 1, AT) == PREVIEW1_FAULT);
    CHECK(write_bytes(5, bad, 2) == -PREVIEW1_FAULT && read_bytes(5, bad, 2, 0) == -PREVIEW1_FAULT);
    CHECK(write_bytes(1, bad, 2) == -PREVIEW1_FAULT);
    CHECK(plait_preview1_fd_readdir(3, bad, 64, 0, AT) == PREVIEW1_FAULT);
    CHECK(plait_preview1_fd_prestat_get(3, bad) == PREVIEW1_FAULT);
    CHECK(plait_preview1_fd_prestat_dir_name(4, bad, 8) == PREVIEW1_FAULT);
    CHECK(plait_preview1_args_get(bad, AT) == PREVIEW1_FAULT && plait_preview1_args_get(AT, bad) == PREVIEW1_FAULT);
    CHECK(plait_preview1_environ_sizes_get(bad, AT) == PREVIEW1_FAULT);
    CHECK(plait_preview1_clock_time_get(0, 0, bad) == PREVIEW1_FAULT);
    CHECK(plait_preview1_clock_res_get(0, bad) == PREVIEW1_FAULT);
    CHECK(plait_preview1_random_get(bad, 2) == PREVIEW1_FAULT && plait_preview1_random_get(16, size) != 0);
    CHECK(plait_preview1_path_open(3, 0, bad, 2, 0, 0, 0, 0, AT) == PREVIEW1_FAULT);
    CHECK(plait_preview1_path_open(3, 0, PATH, 1, 0, 0, 0, 0, bad) == PREVIEW1_FAULT);
    CHECK(plait_preview1_path_filestat_get(3, 0, PATH, 1, bad) == PREVIEW1_FAULT);
    CHECK(plait_preview1_path_readlink(3, PATH, 1, bad, 8, AT) == PREVIEW1_FAULT);
    CHECK(plait_preview1_path_symlink(bad, 2, 3, PATH, 1) == PREVIEW1_FAULT);
    CHECK(plait_preview1_poll_oneoff(bad, AT, 1, AT) == PREVIEW1_FAULT);
    CHECK(plait_preview1_poll_oneoff(AT, bad, 1, AT) == PREVIEW1_FAULT);
  }
  CHECK(plait_preview1_fd_read(5, AT, 0x20000000, AT) == PREVIEW1_FAULT); /* count * 8 is more than 32 bits */
  /* Memory that another thread has added a moment ago. */
  visible_pages = 1;
  uint32_t before = observed;
  CHECK(read_bytes(5, DATA, 1, 0) == 0 && observed > before);
  visible_pages = GUEST_PAGES;
  end();
}

static void test_start(void) {
  start(0);
  CHECK(plait_preview1_args_sizes_get(AT, AT + 4) == 0 && guest_load(AT) == 2 && guest_load(AT + 4) == 8);
  CHECK(plait_preview1_args_get(AT, PATH) == 0 && guest_load(AT) == PATH && guest_load(AT + 4) == PATH + 5);
  CHECK(strcmp((char *)guest + PATH + 5, "-x") == 0);
  CHECK(plait_preview1_environ_sizes_get(AT, AT + 4) == 0 && guest_load(AT) == 1);
  CHECK(plait_preview1_environ_get(AT, PATH) == 0 && strcmp((char *)guest + PATH, "A=1") == 0);
  host_time = 1700000000000.5;
  CHECK(plait_preview1_clock_time_get(0, 0, AT) == 0 && guest_load64(AT) == 1700000000000500000);
  CHECK(plait_preview1_clock_time_get(2, 0, AT) == PREVIEW1_EINVAL);
  CHECK(plait_preview1_clock_time_get(9, 0, AT) == PREVIEW1_EINVAL);
  CHECK(plait_preview1_random_get(DATA, 100000) == 0 && guest[DATA] == 0x5a && guest[DATA + 99999] == 0x5a);
  CHECK(guest[DATA + 100000] != 0x5a && plait_preview1_sock_shutdown(3, 0) == PREVIEW1_NOTSOCK);
  CHECK(plait_preview1_sock_accept(99, 0, AT) == PREVIEW1_EBADF && plait_preview1_sched_yield() == 0);
  plait_preview1_proc_exit(3);
  CHECK(plait_get(&the_program()->end) == (PLAIT_PROGRAM_ENDED | 3));
  CHECK(plait_program_end(program, 4, 1) == 0 && plait_get(&the_program()->end) == (PLAIT_PROGRAM_ENDED | 3));
  end();
}

static void test_streams(void) {
  start(0);
  /* None: the end, and what is written goes nowhere. */
  CHECK(plait_preview1_fd_read(0, vector(AT, DATA, 5), 1, AT + 8) == 0 && guest_load(AT + 8) == 0);
  CHECK(write_bytes(1, DATA, 5) == 5);
  plait_program_set_stream(program, 0, PLAIT_STREAM_HOST, 7);
  plait_program_set_stream(program, 1, PLAIT_STREAM_HOST, 8);
  plait_program_set_stream(program, 2, PLAIT_STREAM_HOST, 9);
  input_bytes = 70000;
  CHECK(plait_preview1_fd_read(0, vector(AT, DATA, 70000), 1, AT + 8) == 0 && guest_load(AT + 8) == 65536);
  CHECK(guest[DATA + 65535] == 'i' && write_bytes(1, DATA, 70000) == 65536 && output_bytes == 65536);
  CHECK(write_bytes(2, DATA, 1) == -PREVIEW1_EPIPE);
  CHECK(plait_preview1_fd_fdstat_get(1, AT) == 0 && guest[AT] == FILETYPE_CHARACTERS);
  CHECK(plait_preview1_fd_fdstat_get(0, AT) == 0 && guest[AT] == FILETYPE_UNKNOWN);
  plait_ref_t pipe = plait_pipe_create();
  plait_program_set_stream(program, 1, PLAIT_STREAM_PIPE, pipe);
  CHECK(write_bytes(1, DATA, 3) == 3 && plait_pipe_bytes(pipe) == 3);
  plait_pipe_break(pipe);
  CHECK(write_bytes(1, DATA, 3) == -PREVIEW1_EPIPE);
  end();
}

static void put_clock(plait_guest_t at, uint64_t userdata, uint32_t id, uint64_t timeout, uint32_t flags) {
  memset(guest + at, 0, SUBSCRIPTION_SIZE);
  guest_store64(at, userdata);
  guest_store(at + 16, id);
  guest_store64(at + 24, timeout);
  guest_store(at + 40, flags);
}

static void put_stream(plait_guest_t at, uint64_t userdata, uint32_t tag, uint32_t fd) {
  memset(guest + at, 0, SUBSCRIPTION_SIZE);
  guest_store64(at, userdata);
  guest_store(at + 8, tag);
  guest_store(at + 16, fd);
}

static void test_poll(void) {
  start(0);
  uint64_t before = test_now_ms();
  put_clock(DATA, 1, 1, 20000000, 0);
  put_clock(DATA + 48, 2, 1, 10ull * 3600 * 1000000000, 0);
  CHECK(plait_preview1_poll_oneoff(DATA, PATH, 2, AT) == 0 && guest_load(AT) == 1 && guest_load(PATH) == 1);
  CHECK(test_now_ms() - before >= 19);
  put_clock(DATA, 1, 1, 0, 1); /* a time that has passed */
  put_clock(DATA + 48, 2, 7, 0, 0);
  CHECK(plait_preview1_poll_oneoff(DATA, PATH, 2, AT) == 0 && guest_load(AT) == 2);
  CHECK((guest_load(PATH + 32 + 8) & 0xffff) == PREVIEW1_EINVAL);
  plait_ref_t pipe = plait_pipe_create();
  plait_program_set_stream(program, 0, PLAIT_STREAM_PIPE, pipe);
  put_stream(DATA, 1, 1, 0);
  put_clock(DATA + 48, 2, 1, 5000000, 0);
  CHECK(plait_preview1_poll_oneoff(DATA, PATH, 2, AT) == 0 && guest_load(AT) == 1 && guest_load(PATH) == 2);
  plait_ref_t scratch = plait_get(&fs_mine()->scratch);
  CHECK(plait_pipe_write(pipe, scratch, 9, 0) == 9);
  CHECK(plait_preview1_poll_oneoff(DATA, PATH, 1, AT) == 0 && guest_load(AT) == 1 && guest_load64(PATH + 16) == 9);
  put_stream(DATA, 3, 1, 77);
  CHECK(plait_preview1_poll_oneoff(DATA, PATH, 1, AT) == 0 && (guest_load(PATH + 8) & 0xffff) == PREVIEW1_EBADF);
  end();
}

/* ---- pipes ---- */

#define PIPED 3000000u

static void *write_pipe(void *argument) {
  CHECK(plait_abi_enter() != 0);
  plait_ref_t pipe = (plait_ref_t)(uintptr_t)argument, block = plait_heap_alloc(100000);
  uint64_t random = 1;
  uint32_t total = test_work(PIPED);
  for (uint32_t done = 0; done < total;) {
    uint32_t part = test_random(&random) % 100000 + 1;
    if (part > total - done) part = total - done;
    for (uint32_t i = 0; i < part; i++) ((uint8_t *)plait_at(block))[i] = (uint8_t)((done + i) % 251);
    int put = plait_pipe_write(pipe, block, part, 1);
    CHECK(put > 0);
    done += (uint32_t)put;
  }
  plait_pipe_end(pipe);
  plait_heap_free(block);
  plait_abi_detach();
  return NULL;
}

static void test_pipe(void) {
  test_space(1000);
  plait_ref_t pipe = plait_pipe_create(), block = plait_heap_alloc(70000);
  CHECK(plait_pipe_read(pipe, block, 10, 0) == -PLAIT_EAGAIN &&
      plait_get(&((struct plait_pipe *)plait_at(pipe))->wanted));
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, write_pipe, (void *)(uintptr_t)pipe) == 0);
  uint64_t random = 2;
  uint32_t done = 0;
  for (int got; (got = plait_pipe_read(pipe, block, test_random(&random) % 70000 + 1, 1)) != 0; done += (uint32_t)got) {
    CHECK(got > 0);
    for (uint32_t i = 0; i < (uint32_t)got; i++) CHECK(((uint8_t *)plait_at(block))[i] == (uint8_t)((done + i) % 251));
  }
  CHECK(done == test_work(PIPED) && plait_pipe_read(pipe, block, 1, 1) == 0);
  pthread_join(thread, NULL);
  plait_heap_free(pipe);
}

/* ---- threads ---- */

static _Atomic uint32_t ran[1024];
static _Atomic uint32_t started;

static void *serve(void *argument) {
  (void)argument;
  CHECK(plait_abi_enter() != 0 && plait_program_enter(program) == 0);
  plait_ref_t out = plait_heap_alloc(8);
  for (int first = 1; plait_program_take(out, first); first = 0) {
    uint32_t *words = plait_at(out);
    CHECK(words[0] != 0 && words[1] < 1024);
    ran[words[1]]++;
  }
  plait_heap_free(out);
  plait_abi_detach();
  return NULL;
}

/* What the host does: starts as many threads as are lacking. */
static void *coordinate(void *argument) {
  pthread_t *threads = argument;
  CHECK(plait_abi_enter() != 0);
  struct plait_program *mine = the_program();
  for (;;) {
    uint32_t seen = atomic_load(&mine->wanted);
    if (plait_load(&mine->end) != 0) break;
    for (uint32_t n = plait_program_lacking(program, started); n > 0; n--)
      CHECK(pthread_create(&threads[started++], NULL, serve, NULL) == 0);
    plait_platform_wait(&mine->wanted, seen, -1);
  }
  plait_abi_detach();
  return NULL;
}

static void test_spawn(void) {
  start(8);
  pthread_t coordinator, threads[200];
  CHECK(pthread_create(&coordinator, NULL, coordinate, threads) == 0);
  uint32_t work = test_work(20000), refused = 0;
  for (uint32_t i = 0; i < work; i++) {
    int id;
    while ((id = plait_preview1_thread_spawn(i % 1024)) < 0) {
      CHECK(id == -PREVIEW1_EAGAIN);
      refused++;
      sched_yield();
    }
    CHECK(id == (int)i + 1);
  }
  while (plait_load(&the_program()->count) != 0) sched_yield();
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 1024; i++) sum += ran[i];
  CHECK(sum == work && started >= 1 && started <= 8);
  CHECK(plait_program_end(program, 0, 0) == 1);
  pthread_join(coordinator, NULL);
  for (uint32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
  plait_abi_sweep();
  end();
}

/* A thread that is stopped: what it has opened is the program's, and closes with it. */
static void *open_and_vanish(void *argument) {
  (void)argument;
  CHECK(plait_abi_enter() != 0 && plait_program_enter(program) == 0);
  memcpy(guest + PATH, "mine", 4);
  CHECK(plait_preview1_path_open(3, 0, PATH, 4, OFLAG_CREAT, READ_WRITE, 0, 0, AT) == 0);
  plait_abi_detach();
  return NULL;
}

static void test_vanish(void) {
  start(1);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, open_and_vanish, NULL) == 0);
  pthread_join(thread, NULL);
  plait_abi_sweep();
  uint32_t fd = guest_load(AT);
  CHECK(fd == 5 && write_bytes(fd, DATA, 4) == 4);
  end();
  CHECK(fs_stat("/d/mine") == 0);
  struct plait_inode *inode = plait_at(plait_get(&fs_mine()->result.block));
  CHECK(plait_get(&inode->opens) == 0);
}

/* Nothing is left of a program. */
static void test_leaks(void) {
  for (uint32_t i = 0, live = 0; i < 5; i++) {
    if (i > 0) CHECK(fs_rmdir("/d") == 0 && fs_rmdir("/read") == 0);
    start(1);
    for (int k = 5; k < 100; k++) CHECK(open_at(3, ".", 0, 0) == k);
    plait_program_set_stream(program, 0, PLAIT_STREAM_PIPE, plait_pipe_create());
    end();
    if (i == 1) live = test_live_blocks();
    if (i > 1) CHECK(test_live_blocks() == live);
  }
}

static const struct test tests[] = {
    {"files", test_files},
    {"pointers", test_pointers},
    {"arguments, clocks, exit", test_start},
    {"streams", test_streams},
    {"polling", test_poll},
    {"a pipe between threads", test_pipe},
    {"spawned threads", test_spawn},
    {"a thread that vanishes", test_vanish},
    {"nothing leaks", test_leaks},
};
TEST_MAIN(tests)
