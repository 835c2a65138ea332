/*
 * platform: what the core needs from below, the same for wasm32 and for a native process.
 *
 * A space is one range of bytes that every thread sees. In wasm32 it is the imported shared memory; natively it is a
 * mapping that threads, or processes, share. Everything inside is named by a reference: the number of bytes from the
 * start of the range. A reference means the same to every thread and process; 0 names nothing.
 *
 * Invariant: the range only grows, and never moves while a thread is attached to it.
 *
 * wasm.c and posix.c implement this header; nothing above it knows which one it runs on.
 */
#ifndef PLAIT_PLATFORM_PLATFORM_H
#define PLAIT_PLATFORM_PLATFORM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "errors.h"

/* A handful of instructions: a call would take more room than they do, and hide from the compiler what they are. */
#define PLAIT_TINY static inline __attribute__((always_inline))

/* Called from several places: fast, but there only once. */
#define PLAIT_ONCE __attribute__((noinline))

/* Off the hot path small code is better than fast code: for one function, or for all between BEGIN and END. */
#ifdef __clang__
#define PLAIT_COLD __attribute__((minsize, noinline))
#define PLAIT_COLD_BEGIN _Pragma("clang attribute push(__attribute__((minsize)), apply_to = function)")
#define PLAIT_COLD_END _Pragma("clang attribute pop")
#else
#define PLAIT_COLD __attribute__((cold, noinline))
#define PLAIT_COLD_BEGIN
#define PLAIT_COLD_END
#endif

/* The unit in which a space grows: one page of WebAssembly. */
#define PLAIT_PAGE_SIZE 65536u

/* Bytes from the start of the space; 0 names nothing. */
typedef uint32_t plait_ref_t;

/* A word, or a part of one, that several threads read and write. Natural alignment. */
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
 * When one thread has grown the memory, an engine may tell the others late. V8 (tried: Node 20 and 24) checks the
 * bounds of atomic instructions, waits and notifications among them, and of memory.copy and memory.fill, against a size
 * that a thread renews only where it enters a function or goes round a loop; plain loads and stores it does not check.
 * A thread that is stopped inside a function, and then follows a reference to what is new, would trap. So whoever does
 * one of those asks first whether the last byte lies within the size that this thread knows (memory.size is that very
 * number), and has the engine look again if not. An address that is really outside traps after that, as it should.
 */
void plait_platform_look_again(uintptr_t address);

static inline const volatile void *plait_platform_reach(const volatile void *last) {
  uintptr_t address = (uintptr_t)last;
  if (__builtin_expect(address / PLAIT_PAGE_SIZE >= __builtin_wasm_memory_size(0), 0))
    plait_platform_look_again(address);
  return last;
}

/* The standard's names, so that no place can forget to ask. */
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
 * The same without asking, for words that this thread is known to reach: what it knows only ever grows, so that is a
 * static of the module (every instance starts with a memory that holds them), and what lies below something that it has
 * asked for.
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

/* Reads a word, and sees all that was written before whoever stored it with release. */
PLAIT_TINY uint32_t plait_load(const plait_word_t *word) {
  return atomic_load_explicit(word, memory_order_acquire);
}

PLAIT_TINY uint32_t plait_load_near(const plait_word_t *word) {
  return near_load(word, memory_order_acquire);
}

/*
 * Reads and writes a word that one thread writes at a time, in program order and without a fence: other threads learn
 * of it by other means (a lock, a later release, or because the writer is dead). In wasm32 every atomic store is a full
 * fence, ten times as dear as these; volatile keeps the order, which is what recovery after a death relies on.
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

/* The object at `ref`. Any thread. pre: ref lies inside the space. */
PLAIT_TINY void *plait_at(plait_ref_t ref) {
#ifdef __wasm__
  return (void *)(uintptr_t)ref;
#else
  return plait_platform_base + ref;
#endif
}

/* The reference of an object in the space. Any thread. pre: the object lies inside the space. */
PLAIT_TINY plait_ref_t plait_ref(const void *object) {
#ifdef __wasm__
  return (plait_ref_t)(uintptr_t)object;
#else
  return (plait_ref_t)((const uint8_t *)object - plait_platform_base);
#endif
}

enum plait_wait_result {
  PLAIT_WAIT_WOKEN = 0,     /* notified; or spuriously: look at the predicate again */
  PLAIT_WAIT_NOT_EQUAL = 1, /* the word was not `expected`: nothing was waited for */
  PLAIT_WAIT_TIMED_OUT = 2,
};

/* The first reference that the core may use; below it lie the module's own statics (wasm32) or the platform's words. */
plait_ref_t plait_platform_first(void);

/* How many pages the space has now. Any thread. */
uint32_t plait_platform_pages(void);

/*
 * Adds pages: the index of the first new one, or -PLAIT_ENOMEM. Any thread, several at once; never called with a lock
 * held where a thread may die (see PLAIT_DEATHS). New bytes are zero.
 */
int64_t plait_platform_grow(uint32_t pages);

/*
 * Whether all pages are the space's, whoever added them. If not, other code in the program grows the same memory, and
 * only what plait_platform_grow() returned to a caller is that caller's.
 */
#if defined(PLAIT_HEAP_LIBRARY) && defined(__wasm__)
# define PLAIT_PLATFORM_ALONE 0
#else
# define PLAIT_PLATFORM_ALONE 1
#endif

/* Whether anybody can ever learn that a thread has vanished. */
#if defined(PLAIT_HEAP_LIBRARY) && defined(__wasm__)
# define PLAIT_DEATHS 0
#else
# define PLAIT_DEATHS 1
#endif

/*
 * Sleeps while *word == expected, for `timeout_ns` at most (negative: no limit). pre: this thread may block. Never
 * inlined: the baseline compiler of V8 11.3 (Node 20) destroys a local that is live across the instruction that waits,
 * not one across a call. tools/waits.js checks it.
 */
PLAIT_ONCE enum plait_wait_result plait_platform_wait(plait_word_t *word, uint32_t expected, int64_t timeout_ns);

/* Wakes up to `count` sleepers on `word`; returns how many (0 also where the system does not say). Any thread. */
uint32_t plait_platform_notify(plait_word_t *word, uint32_t count);

/* Tells the processor that this thread spins. */
void plait_platform_pause(void);

/*
 * Copies and zeroes bytes: one instruction each in wasm32, where a call of memcpy() would want a C library. `near`:
 * where this thread is known to reach, as above.
 */
#ifdef __wasm__
#define plait_copy_bytes __builtin_memcpy
#else
/*
 * The C library's, under a name that compilers do not know: where they see a bound they put a loop by single bytes in
 * its place.
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
  if (!__builtin_constant_p(count)) { /* what is constant becomes loads and stores */
    plait_platform_reach((const uint8_t *)from + count - 1);
    plait_platform_reach((uint8_t *)to + count - 1);
  }
  plait_copy_near(to, from, count);
}

static inline void plait_zero(void *to, size_t count) {
  if (!__builtin_constant_p(count)) plait_platform_reach((uint8_t *)to + count - 1);
  plait_zero_near(to, count);
}

/* The compiler may emit calls to these. */
void *memcpy(void *restrict to, const void *restrict from, size_t count);
void *memset(void *to, int byte, size_t count);

#endif
