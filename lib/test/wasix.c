/*
 * wasix: what WASIX's C library imports beside the calls of wasi-libc, for hosts that know only WASI and wasi-threads.
 * Signals never come.
 */
#include <stdint.h>

#define IMPORTED(name) __imported_wasix_32v1_##name

_Noreturn void __wasi_proc_exit(uint32_t code);

struct timeout {
  uint8_t is_given;
  uint64_t nanoseconds;
};

int32_t IMPORTED(futex_wait)(int32_t *futex, int32_t expected, const struct timeout *timeout, uint8_t *woken) {
  int64_t limit = timeout->is_given ? (int64_t)timeout->nanoseconds : -1;
  *woken = __builtin_wasm_memory_atomic_wait32(futex, expected, limit) != 2;
  return 0;
}

int32_t IMPORTED(futex_wake)(int32_t *futex, uint8_t *woken) {
  *woken = __builtin_wasm_memory_atomic_notify(futex, 1) != 0;
  return 0;
}

int32_t IMPORTED(futex_wake_all)(int32_t *futex, uint8_t *woken) {
  *woken = __builtin_wasm_memory_atomic_notify(futex, UINT32_MAX) != 0;
  return 0;
}

int32_t IMPORTED(thread_signal)(int32_t thread, int32_t signal) {
  (void)thread, (void)signal;
  return 0;
}

void IMPORTED(callback_signal)(int32_t name, int32_t length) {
  (void)name, (void)length;
}

int32_t IMPORTED(proc_signals_sizes_get)(uint32_t *count) {
  *count = 0;
  return 0;
}

int32_t IMPORTED(proc_signals_get)(uint8_t *to) {
  (void)to;
  return 0;
}

void IMPORTED(proc_exit2)(int32_t code) {
  __wasi_proc_exit((uint32_t)code);
}
