/*
 * all: the one translation unit. Rooms in the order of their dependencies; static names differ across files.
 */
#include "platform/posix.c"
#include "platform/wasm.c"
#include "sync/lock.c"
#include "sync/space.c"
#include "heap/heap.c"
#include "heap/check.c"
#include "task/pool.c"
#include "task/task.c"
#include "task/worker.c"
#include "task/recover.c"
#include "task/destroy.c"
#include "task/check.c"
#include "abi.c"
