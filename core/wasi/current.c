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
