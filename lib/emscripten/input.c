/*
 * input: standard input in Emscripten's programs. Emscripten's own is part of JavaScript's files, which these programs
 * do not have. Node reads descriptor 0. Elsewhere `Module.stdin` is asked byte by byte, as Emscripten documents it.
 * Without one the input is empty.
 */
#include <emscripten.h>

/* The bytes read, 0 at the end, or -1. clang-format would take the JavaScript for C. */
/* clang-format off */
EM_JS(int, plait_read_input, (uint8_t *to, uint32_t length), {
  if (Module['stdin']) {
    var done = 0;
    while (done < length) {
      var byte = Module['stdin']();
      if (byte === null || byte === undefined) break;
      HEAPU8[to + done++] = byte;
      if (byte === 10) break;
    }
    return done;
  }
  if (typeof process != 'object' || typeof require != 'function') return 0;
  var fs = require('fs');
  var bytes = Buffer.alloc(Math.min(length, 65536));
  for (;;) {
    try {
      var count = fs.readSync(0, bytes, 0, bytes.length, null);
      HEAPU8.set(bytes.subarray(0, count), to);
      return count;
    } catch (error) {
      if (error.code === 'EOF') return 0;
      if (error.code !== 'EAGAIN') return -1;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10); // a terminal that does not block
    }
  }
})
/* clang-format on */

static uint32_t host_fd_read(uint32_t fd, plait_guest_t iovs, uint32_t count, plait_guest_t read) {
  uint32_t total = 0;
  for (uint32_t i = 0; fd == 0 && i < count; i++) {
    uint32_t length = guest_load(iovs + IOVEC_SIZE * i + 4);
    if (length == 0) continue;
    int got = plait_read_input(plait_at(guest_load(iovs + IOVEC_SIZE * i)), length);
    if (got < 0 && total == 0) return PREVIEW1_EIO;
    total += got > 0 ? (uint32_t)got : 0;
    if (got < (int)length) break;
  }
  guest_store(read, total);
  return 0;
}
