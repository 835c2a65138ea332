/*
 * private: makes all that the archives do not offer private to its translation unit. So an archive can hold two builds
 * of the same source (see names.c), and its internal names are never another library's.
 *
 * PRIVATE_FUNCTIONS_BEGIN is for files that declare a variable of the linker's; all others are between PRIVATE_BEGIN and
 * PRIVATE_END. In Emscripten there is one build, for which hidden names do; headers of its C library are included there.
 */
#if defined(__wasm__) && !defined(__EMSCRIPTEN__)
#pragma clang diagnostic ignored "-Wunused-function" /* of the core's functions the heap needs some */
#define PRIVATE_FUNCTIONS_BEGIN _Pragma("clang attribute push(__attribute__((internal_linkage)), apply_to = function)")
#define PRIVATE_BEGIN \
  _Pragma("clang attribute push(__attribute__((internal_linkage)), apply_to = any(function, variable(is_global)))")
#define PRIVATE_END _Pragma("clang attribute pop")
#else
#define PRIVATE_FUNCTIONS_BEGIN
#define PRIVATE_BEGIN
#define PRIVATE_END
#endif
