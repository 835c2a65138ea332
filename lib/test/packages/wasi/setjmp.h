/* setjmp.h for Lua with wasi-libc, whose own refuses to be included. Lua's macros (programs.js) do without its functions. */
typedef int jmp_buf[1];
