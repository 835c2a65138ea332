/*
 * current: which program the calling thread has entered. The functions of wasi.h and preview1.h act on that one.
 */
#include "program.h"
#include "../fs/internal.h"

/* NULL: none. */
#ifdef __wasm_atomics__
__asm__(".globaltype plait__program, i32\nplait__program:\n");
#else
_Thread_local struct plait_program *plait__program;
#endif
PLAIT_OF_THREAD(struct plait_program *, program)

struct plait_program *plait_program_current(void) {
  return plait__get_program();
}

void plait_program_set_current(struct plait_program *program) {
  plait__set_program(program);
}

#define LEAST_STACK 24576u /* bytes; the deepest call takes less */

int plait_wasi_is_over(void) {
  if (plait__get_program() == NULL) return 1;
#ifdef __wasm__
  /* Where the engine's own stack has ended in calls of a program that goes on, their frames are still here: see
   * plait_abi_unwind(). Before this stack ends, too, the program does. */
  volatile char here = 0;
  if ((plait_ref_t)(uintptr_t)&here < plait_get(&plait_self()->stack) + LEAST_STACK) __builtin_trap();
#endif
  return 0;
}

plait_ref_t plait_program_scratch(void) {
  return plait_get(&plait__fs_mine()->scratch);
}

struct plait_wasi_program *plait_wasi_program(void) {
  return &plait__get_program()->table;
}

struct plait_fs_thread *plait_wasi_enter(void) {
  return plait__fs_mine();
}

int plait_wasi_stream_of(plait_ref_t inode) {
  return (void)inode, -1;
}
