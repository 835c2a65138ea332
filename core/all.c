/*
 * all: the one translation unit. Rooms in the order of their dependencies; static names differ across files.
 */
#include "platform/posix.c"
#include "platform/wasm.c"
#include "sync/lock.c"
#include "sync/space.c"
#include "heap/slices.c"
#include "heap/pages.c"
#include "heap/regions.c"
#include "heap/records.c"
#ifdef PLAIT_HEAP_DEBUG
#include "heap/debug.h"
#endif
#include "heap/heap.c"
#include "heap/debug.c"
#include "heap/stats.c"
#include "heap/check.c"
#include "task/pool.c"
#include "task/lane.c"
#include "task/task.c"
#include "task/worker.c"
#include "task/recover.c"
#include "task/destroy.c"
#include "task/check.c"
#include "abi.c"
