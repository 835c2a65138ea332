/* fs: the heap and the files for Emscripten's programs, as one translation unit. Compiled by plait.py. */
#include "../fs/plait_fs.c"
