/*
 * reads THREADS: for a fixed time each thread reads one file a byte at a time, through a descriptor of its own. Prints
 * nanoseconds of a read on each thread as JSON. All bytes are checked.
 */
#include "program.h"

#include <fcntl.h>
#include <unistd.h>

enum { BYTES = 1 << 20, CHUNK = 1000 };

#define WARM_NS 1e8
#define WORK_NS 4e8

static _Atomic uint64_t reads;

/* How many bytes were read. */
static uint64_t read_for(int fd, double ns) {
  uint64_t count = 0, sum = 0;
  CHECK(lseek(fd, 0, SEEK_SET) == 0);
  for (double end = now_ns() + ns; now_ns() < end; count += CHUNK) {
    if (count % BYTES + CHUNK > BYTES - CHUNK) CHECK(lseek(fd, 0, SEEK_SET) == 0);
    for (int i = 0; i < CHUNK; i++) {
      unsigned char byte;
      if (read(fd, &byte, 1) != 1) fail("a read failed");
      sum += byte;
    }
  }
  CHECK(sum == 7 * count);
  return count;
}

static void *work(void *argument) {
  struct part *part = argument;
  int fd = open("/bytes", O_RDONLY);
  CHECK(fd >= 0);
  read_for(fd, WARM_NS);
  start_together(part);
  reads += read_for(fd, WORK_NS);
  part->end = now_ns();
  close(fd);
  return NULL;
}

int main(int count, char **words) {
  CHECK(count == 2);
  char *bytes = malloc(BYTES);
  memset(bytes, 7, BYTES);
  int fd = open("/bytes", O_WRONLY | O_CREAT, 0666);
  CHECK(write(fd, bytes, BYTES) == BYTES && close(fd) == 0);
  uint32_t threads = (uint32_t)atoi(words[1]);
  double ns = on_threads(threads, work);
  printf("{\"ns\": %.1f}\n", ns * threads / (double)reads);
  return 0;
}
