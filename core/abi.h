/*
 * abi: the functions that a binding may call. The modules export further functions, marked PLAIT_EXPORT at their
 * definition. core/abi.txt is the golden list of all exports.
 *
 * The functions here combine modules: they lay a space out, attach and recover threads, and check everything.
 */
#ifndef PLAIT_ABI_H
#define PLAIT_ABI_H

#include "fs/fs.h"
#include "task/task.h"
#include "wasi/pipe.h"
#include "wasi/program.h"

#define PLAIT_STACK_SIZE 65536u

/* The root structures, which the host reads directly. */
plait_ref_t plait_abi_space(void);
plait_ref_t plait_abi_fs(void);

/* As plait_heap_details() and plait_heap_fault(). `out` refers to the structure to fill. */
void plait_abi_heap_details(plait_ref_t out);
void plait_abi_heap_fault(plait_ref_t out);
plait_ref_t plait_abi_task_root(void);

/* Lays out a fresh space that may grow to `maximum_pages`. Returns 0 or -PLAIT_ENOMEM. pre: called once, alone. */
int plait_abi_init(uint32_t maximum_pages);

/*
 * Claims a slot for the calling thread, and writes the words that other threads need to recover it, because the thread
 * may exit while it attaches. Returns the thread's id, 0 if all slots are taken. The thread has no stack yet, so the
 * function uses neither a stack nor a thread-local word (tools/stackless.js checks that).
 */
plait_thread_t plait_abi_claim(uint32_t host_id, uint32_t starter, plait_ref_t pool, uint32_t role);

/*
 * Attaches the calling thread, which has claimed its slot and runs on the slot's boot stack. Returns the top of a new
 * stack of PLAIT_STACK_SIZE bytes. Returns 0 without memory, or if another version has laid the space out. The host
 * then switches to the new stack and sweeps, for which the boot stack is too small.
 */
plait_ref_t plait_abi_attach(plait_thread_t thread, int may_block);

/*
 * Sets the stack pointer: to the top of the stack where the calling thread runs no other function of this instance, else
 * to what it was when that function called the host. A JavaScript engine that runs out of its own stack inside a function
 * throws, and leaves the function's frame on this one.
 */
void plait_abi_unwind(plait_ref_t top);

/* Notes the calling thread's own exit. The next sweep recovers its slot. pre: the thread makes no further call. */
void plait_abi_detach(void);

/*
 * Notes that `thread` has certainly exited. Recovers it, after all other exited threads. Returns a task that the thread
 * ran, or 0. The calling thread has adopted the task and must finish or requeue it. The thread may have had more than
 * one task, so call again until the result is 0. Stale ids are ignored.
 *
 * If a lock's owner makes no progress, the slot stays EXITED. A later call of this function or of plait_abi_sweep()
 * then delivers the task as WORKER_DIED. If the caller has not finished the task that it adopted last, that one is
 * settled first.
 */
plait_ref_t plait_abi_recover(plait_thread_t thread);

/*
 * Requeues an adopted task if it has a retry left and no stop was requested. Otherwise delivers it as it is. Returns 0,
 * or the error of plait_task_finish().
 */
int plait_abi_settle(plait_ref_t task);

/*
 * Recovers threads that have detached, or whose recovery was interrupted, and settles their tasks. Skips the workers of
 * a pool whose owner is alive: the pool's coordinator is notified of their exit, knows its reason, and recovers them.
 * Any thread.
 */
void plait_abi_sweep(void);

/* Checks all modules: 0, -PLAIT_EILSEQ or -PLAIT_ETIMEDOUT. `quiescent`: no other thread uses the space. */
int plait_abi_check(int quiescent);

/* For native programs: claims a slot and enters. Returns the thread's id, 0 if all slots are taken. */
plait_thread_t plait_abi_enter(void);

#endif
