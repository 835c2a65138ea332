/*
 * abi: what a binding may call, beside the functions that the rooms export themselves (heap.h, task.h: those marked
 * PLAIT_EXPORT at their definition). core/abi.txt is the golden list of all exports.
 *
 * Functions here join rooms: laying a space out, attaching and recovering threads, checking everything.
 */
#ifndef PLAIT_ABI_H
#define PLAIT_ABI_H

#include "fs/fs.h"
#include "task/task.h"

#define PLAIT_STACK_SIZE 65536u

/* Where the host finds what it reads directly. */
plait_ref_t plait_abi_space(void);
plait_ref_t plait_abi_fs(void);

/* As plait_heap_details() and plait_heap_fault(), to where the caller has room for the structure. */
void plait_abi_heap_details(plait_ref_t out);
void plait_abi_heap_fault(plait_ref_t out);
plait_ref_t plait_abi_task_root(void);

/* Lays out a fresh space that may grow to `maximum_pages`. pre: once, alone. 0 or -PLAIT_ENOMEM. */
int plait_abi_init(uint32_t maximum_pages);

/*
 * Claims a slot for the calling thread, with the words that others need to recover it: the thread may exit while it
 * attaches. Returns the thread's id, 0 if all slots are taken. The thread has no stack yet, so this uses none, and no
 * thread-local word (tools/stackless.js checks that).
 */
plait_thread_t plait_abi_claim(uint32_t host_id, uint32_t starter, plait_ref_t pool, uint32_t role);

/*
 * Attaches the calling thread, which has claimed its slot, with its C stack on the slot's boot stack. Returns the
 * top of a stack of PLAIT_STACK_SIZE bytes to go on with, 0: no memory, or the layout is another version's. The host
 * then sweeps, on that stack: the boot stack is small.
 */
plait_ref_t plait_abi_attach(plait_thread_t thread, int may_block);

/* The calling thread will make no further call: notes its own death. Its slot is recovered by whoever sweeps next. */
void plait_abi_detach(void);

/*
 * Notes that `thread` is gone for certain and recovers it, after all others that are due. Returns a task that it ran,
 * which the calling thread has adopted and must finish or requeue, or 0. It may have had more than one: call again
 * until the answer is 0. Stale ids are ignored. If a lock's owner is stuck, the slot stays DEAD, and the task comes
 * back as WORKER_DIED from a later call of this or of sweep. pre: what the caller has adopted before is finished; else
 * it is now, as it is.
 */
plait_ref_t plait_abi_recover(plait_thread_t thread);

/*
 * Puts an adopted task back into its queue if it may be run again and was not told to stop, or delivers it as it is. 0,
 * or what plait_task_finish() answers.
 */
int plait_abi_settle(plait_ref_t task);

/*
 * Recovers threads that detached, or whose recovery was cut short. Their tasks, if any, are settled: run again, or they
 * come back as WORKER_DIED. Not the workers of a pool whose owner lives: its coordinator hears of their end, knows more
 * about it, and recovers them. Any thread.
 */
void plait_abi_sweep(void);

/* Checks every room: 0, -PLAIT_EILSEQ or -PLAIT_ETIMEDOUT. `quiescent`: no other thread is inside the space. */
int plait_abi_check(int quiescent);

/* Native programs: claims a slot and enters. The thread's id, 0 if every slot is taken. */
plait_thread_t plait_abi_enter(void);

#endif
