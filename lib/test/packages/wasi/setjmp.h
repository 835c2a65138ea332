/* setjmp.h for Lua with wasi-libc, whose own refuses to be included. Lua does without its functions (programs.js). */
typedef int jmp_buf[1];
