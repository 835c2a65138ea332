/*
 * platform: what the core needs from its platform, with the same API for wasm32 and for a native process.
 *
 * A space is one range of bytes that every thread sees. In wasm32 it is the imported shared memory. Natively it is a
 * mapping that threads or processes share. References name everything in it: byte offsets from the start of the range.
 * A reference means the same to every thread and process; 0 means none.
 *
 * Invariant: the range only grows, and never moves while a thread is attached to it.
 *
 * wasm.c and posix.c implement this header. Nothing above it depends on which of them it runs on.
 */
#ifndef PLAIT_PLATFORM_PLATFORM_H
#define PLAIT_PLATFORM_PLATFORM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "errors.h"

/* For a few instructions: a call would need more code than they do, and hide them from the optimizer. */
#define PLAIT_TINY static inline __attribute__((always_inline))

/* For a fast function with several callers, of which only one copy should exist. */
#define PLAIT_ONCE __attribute__((noinline))

/* Off the hot path, small code is better than fast code: for one function, or for all between BEGIN and END. */
#ifdef __clang__
#define PLAIT_COLD __attribute__((minsize, noinline))
#define PLAIT_COLD_BEGIN _Pragma("clang attribute push(__attribute__((minsize)), apply_to = function)")
#define PLAIT_COLD_END _Pragma("clang attribute pop")
#else
#define PLAIT_COLD __attribute__((cold, noinline))
#define PLAIT_COLD_BEGIN
#define PLAIT_COLD_END
#endif

/* The unit in which a space grows: one Wasm page. */
#define PLAIT_PAGE_SIZE 65536u

/* A byte offset from the start of the space; 0 means none. */
typedef uint32_t plait_ref_t;

/* A word, or part of one, that several threads read and write. Naturally aligned. */
typedef _Atomic uint32_t plait_word_t;
typedef _Atomic uint64_t plait_word64_t;
typedef _Atomic uint16_t plait_half_t;
typedef _Atomic uint8_t plait_byte_t;

#if defined(__wasm__) && !defined(PLAIT_HEAP_LIBRARY)
/* Exported to the host; the golden file core/abi.txt lists every one. */
#define PLAIT_EXPORT __attribute__((visibility("default")))
#else
#define PLAIT_EXPORT
#endif
#ifndef __wasm__
extern uint8_t *plait_platform_base; /* start of this process's mapping; set before a thread attaches */
#endif

#ifdef __wasm_atomics__
/*
 * Growth trap. After one thread grows the memory, other threads may not observe the new size for some time. V8 (tested:
 * Node 20 and 24) checks the bounds of some instructions against a size that a thread updates only at the entry of a
 * function or at a loop's back edge. These are atomic instructions, including waits and notifications, memory.copy and
 * memory.fill; plain loads and stores are not checked this way. So a thread that is suspended inside a function, and
 * then follows a reference into new memory, would trap. Before such an instruction, the thread checks whether the last
 * byte is within the size that it knows, which is what memory.size returns. If not, it makes the engine update the
 * size. An address that is really outside the memory still traps after that.
 */
void plait_platform_observe_growth(uintptr_t address);

static inline const volatile void *plait_platform_reach(const volatile void *last) {
  uintptr_t address = (uintptr_t)last;
  if (__builtin_expect(address / PLAIT_PAGE_SIZE >= __builtin_wasm_memory_size(0), 0))
    plait_platform_observe_growth(address);
  return last;
}

/* Redefines the standard's names, so that no call can omit the check. */
#define PLAIT_REACHED(word) ((__typeof__(word))plait_platform_reach(word))
#undef atomic_load
#undef atomic_load_explicit
#undef atomic_store
#undef atomic_store_explicit
#undef atomic_exchange
#undef atomic_exchange_explicit
#undef atomic_compare_exchange_strong
#undef atomic_compare_exchange_strong_explicit
#undef atomic_compare_exchange_weak
#undef atomic_compare_exchange_weak_explicit
#undef atomic_fetch_add
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub_explicit
#undef atomic_fetch_or_explicit
#undef atomic_fetch_and_explicit
#define atomic_load(word) __c11_atomic_load(PLAIT_REACHED(word), __ATOMIC_SEQ_CST)
#define atomic_load_explicit(word, order) __c11_atomic_load(PLAIT_REACHED(word), order)
#define atomic_store(word, value) __c11_atomic_store(PLAIT_REACHED(word), value, __ATOMIC_SEQ_CST)
#define atomic_store_explicit(word, value, order) __c11_atomic_store(PLAIT_REACHED(word), value, order)
#define atomic_exchange(word, value) __c11_atomic_exchange(PLAIT_REACHED(word), value, __ATOMIC_SEQ_CST)
#define atomic_exchange_explicit(word, value, order) __c11_atomic_exchange(PLAIT_REACHED(word), value, order)
#define atomic_compare_exchange_strong(word, seen, value) \
  __c11_atomic_compare_exchange_strong(PLAIT_REACHED(word), seen, value, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#define atomic_compare_exchange_strong_explicit(word, seen, value, order, failure) \
  __c11_atomic_compare_exchange_strong(PLAIT_REACHED(word), seen, value, order, failure)
#define atomic_compare_exchange_weak(word, seen, value) \
  __c11_atomic_compare_exchange_weak(PLAIT_REACHED(word), seen, value, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#define atomic_compare_exchange_weak_explicit(word, seen, value, order, failure) \
  __c11_atomic_compare_exchange_weak(PLAIT_REACHED(word), seen, value, order, failure)
#define atomic_fetch_add(word, value) __c11_atomic_fetch_add(PLAIT_REACHED(word), value, __ATOMIC_SEQ_CST)
#define atomic_fetch_add_explicit(word, value, order) __c11_atomic_fetch_add(PLAIT_REACHED(word), value, order)
#define atomic_fetch_sub_explicit(word, value, order) __c11_atomic_fetch_sub(PLAIT_REACHED(word), value, order)
#define atomic_fetch_or_explicit(word, value, order) __c11_atomic_fetch_or(PLAIT_REACHED(word), value, order)
#define atomic_fetch_and_explicit(word, value, order) __c11_atomic_fetch_and(PLAIT_REACHED(word), value, order)
#else
static inline const volatile void *plait_platform_reach(const volatile void *last) {
  return last;
}
#endif

/*
 * The same without the check, for words within the size that this thread is known to have observed. That size only
 * grows. So it includes the statics of the module, because every instance starts with a memory that holds them, and
 * everything below an address that the thread has checked.
 */
#ifdef __wasm_atomics__
#define near_load(word, order) __c11_atomic_load(word, order)
#define near_store(word, value, order) __c11_atomic_store(word, value, order)
#define near_exchange(word, value, order) __c11_atomic_exchange(word, value, order)
#define near_compare_exchange(word, seen, value, order, failure) \
  __c11_atomic_compare_exchange_strong(word, seen, value, order, failure)
#define near_fetch_add(word, value, order) __c11_atomic_fetch_add(word, value, order)
#define near_fetch_or(word, value, order) __c11_atomic_fetch_or(word, value, order)
#define near_fetch_and(word, value, order) __c11_atomic_fetch_and(word, value, order)
#else
#define near_load(word, order) atomic_load_explicit(word, order)
#define near_store(word, value, order) atomic_store_explicit(word, value, order)
#define near_exchange(word, value, order) atomic_exchange_explicit(word, value, order)
#define near_compare_exchange(word, seen, value, order, failure) \
  atomic_compare_exchange_strong_explicit(word, seen, value, order, failure)
#define near_fetch_add(word, value, order) atomic_fetch_add_explicit(word, value, order)
#define near_fetch_or(word, value, order) atomic_fetch_or_explicit(word, value, order)
#define near_fetch_and(word, value, order) atomic_fetch_and_explicit(word, value, order)
#endif

/* Reads a word with acquire: pairs with the release of the thread that stored it. */
PLAIT_TINY uint32_t plait_load(const plait_word_t *word) {
  return atomic_load_explicit(word, memory_order_acquire);
}

PLAIT_TINY uint32_t plait_load_near(const plait_word_t *word) {
  return near_load(word, memory_order_acquire);
}

/*
 * Reads and writes a word that only one thread writes at a time, in program order and without a fence. Other threads
 * are synchronized by other means: a lock, a later release, or because the writer has exited. In wasm32 every atomic
 * store is a full fence, ten times as expensive as these. `volatile` keeps the program order, on which recovery relies.
 */
#ifdef __wasm__
PLAIT_TINY uint32_t plait_get(const plait_word_t *word) {
  return *(const volatile uint32_t *)word;
}
PLAIT_TINY void plait_put(plait_word_t *word, uint32_t value) {
  *(volatile uint32_t *)word = value;
}
PLAIT_TINY uint64_t plait_get64(const plait_word64_t *word) {
  return *(const volatile uint64_t *)word;
}
PLAIT_TINY void plait_put64(plait_word64_t *word, uint64_t value) {
  *(volatile uint64_t *)word = value;
}
PLAIT_TINY uint32_t plait_get16(const plait_half_t *half) {
  return *(const volatile uint16_t *)half;
}
PLAIT_TINY void plait_put16(plait_half_t *half, uint32_t value) {
  *(volatile uint16_t *)half = (uint16_t)value;
}
PLAIT_TINY uint32_t plait_get8(const plait_byte_t *byte) {
  return *(const volatile uint8_t *)byte;
}
PLAIT_TINY void plait_put8(plait_byte_t *byte, uint32_t value) {
  *(volatile uint8_t *)byte = (uint8_t)value;
}
#else
PLAIT_TINY uint32_t plait_get(const plait_word_t *word) {
  return atomic_load_explicit((const volatile plait_word_t *)word, memory_order_relaxed);
}
PLAIT_TINY void plait_put(plait_word_t *word, uint32_t value) {
  atomic_store_explicit((volatile plait_word_t *)word, value, memory_order_relaxed);
}
PLAIT_TINY uint64_t plait_get64(const plait_word64_t *word) {
  return atomic_load_explicit((const volatile plait_word64_t *)word, memory_order_relaxed);
}
PLAIT_TINY void plait_put64(plait_word64_t *word, uint64_t value) {
  atomic_store_explicit((volatile plait_word64_t *)word, value, memory_order_relaxed);
}
PLAIT_TINY uint32_t plait_get16(const plait_half_t *half) {
  return atomic_load_explicit((const volatile plait_half_t *)half, memory_order_relaxed);
}
PLAIT_TINY void plait_put16(plait_half_t *half, uint32_t value) {
  atomic_store_explicit((volatile plait_half_t *)half, (uint16_t)value, memory_order_relaxed);
}
PLAIT_TINY uint32_t plait_get8(const plait_byte_t *byte) {
  return atomic_load_explicit((const volatile plait_byte_t *)byte, memory_order_relaxed);
}
PLAIT_TINY void plait_put8(plait_byte_t *byte, uint32_t value) {
  atomic_store_explicit((volatile plait_byte_t *)byte, (uint8_t)value, memory_order_relaxed);
}
#endif

/* The object at `ref`. Any thread. pre: `ref` is inside the space. */
PLAIT_TINY void *plait_at(plait_ref_t ref) {
#ifdef __wasm__
  return (void *)(uintptr_t)ref;
#else
  return plait_platform_base + ref;
#endif
}

/* The reference of an object. Any thread. pre: the object is inside the space. */
PLAIT_TINY plait_ref_t plait_ref(const void *object) {
#ifdef __wasm__
  return (plait_ref_t)(uintptr_t)object;
#else
  return (plait_ref_t)((const uint8_t *)object - plait_platform_base);
#endif
}

enum plait_wait_result {
  PLAIT_WAIT_WOKEN = 0,     /* notified, or spurious: check the predicate again */
  PLAIT_WAIT_NOT_EQUAL = 1, /* the word was not `expected`; the thread did not wait */
  PLAIT_WAIT_TIMED_OUT = 2,
};

/* The first reference that the core may use. Below it are the module's statics (wasm32) or the platform's words. */
plait_ref_t plait_platform_first(void);

/* The current number of pages of the space. Any thread. */
uint32_t plait_platform_pages(void);

/* How many pages belong to the space at its start. In a library other code may have added pages before that. */
uint32_t plait_platform_first_pages(void);

/*
 * Adds pages and returns the index of the first new one, or -PLAIT_ENOMEM. Any thread, also concurrently. pre: where
 * exits are noticed (PLAIT_EXITS_NOTICED), the caller holds no lock. New bytes are zero.
 */
int64_t plait_platform_grow(uint32_t pages);

/*
 * Whether all pages belong to the space. If not, other code of the program grows the same memory, too. Then only the
 * pages that plait_platform_grow() returned belong to its caller.
 */
#if defined(PLAIT_HEAP_LIBRARY) && defined(__wasm__)
# define PLAIT_PLATFORM_ALONE 0
#else
# define PLAIT_PLATFORM_ALONE 1
#endif

/* Whether the exit of a thread can ever become known. */
#if defined(PLAIT_HEAP_LIBRARY) && defined(__wasm__)
# define PLAIT_EXITS_NOTICED 0
#else
# define PLAIT_EXITS_NOTICED 1
#endif

/*
 * Sleeps while *word == expected, for at most `timeout_ns` (negative: no limit). pre: this thread may block. Never
 * inlined: the baseline compiler of V8 11.3 (Node 20) destroys a local that is live across the wait instruction, but
 * not one that is live across a call. tools/waits.js checks this.
 */
PLAIT_ONCE enum plait_wait_result plait_platform_wait(plait_word_t *word, uint32_t expected, int64_t timeout_ns);

/*
 * Wakes up to `count` sleepers on `word`. Returns their number, or 0 where the system does not report it. Any thread.
 */
uint32_t plait_platform_notify(plait_word_t *word, uint32_t count);

/* Tells the processor that this thread spins. */
void plait_platform_pause(void);

/*
 * Copies and zeroes bytes. In wasm32 each is one instruction; a call of memcpy() would need a C library. `near`:
 * without the check for the growth trap, as above.
 */
#ifdef __wasm__
#define plait_copy_bytes __builtin_memcpy
#else
/*
 * memcpy() of the C library, under a name that compilers do not know. If they know it and a bound of the count, they
 * replace it by a loop over single bytes.
 */
void *plait_copy_bytes(void *restrict to, const void *restrict from, size_t count) __asm__("memcpy");
#endif

PLAIT_TINY void plait_copy_near(void *restrict to, const void *restrict from, size_t count) {
  if (__builtin_constant_p(count)) __builtin_memcpy(to, from, count); /* becomes loads and stores */
  else plait_copy_bytes(to, from, count);
}

PLAIT_TINY void plait_zero_near(void *to, size_t count) {
  __builtin_memset(to, 0, count);
}

static inline void plait_copy(void *restrict to, const void *restrict from, size_t count) {
  if (!__builtin_constant_p(count)) { /* a constant count becomes plain loads and stores */
    plait_platform_reach((const uint8_t *)from + count - 1);
    plait_platform_reach((uint8_t *)to + count - 1);
  }
  plait_copy_near(to, from, count);
}

static inline void plait_zero(void *to, size_t count) {
  if (!__builtin_constant_p(count)) plait_platform_reach((uint8_t *)to + count - 1);
  plait_zero_near(to, count);
}

#ifndef PLAIT_HEAP_LIBRARY /* The compiler may emit calls to these. */
void *memcpy(void *restrict to, const void *restrict from, size_t count);
void *memset(void *to, int byte, size_t count);
#endif

#endif
