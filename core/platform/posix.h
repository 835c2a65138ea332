/*
 * platform for a native process: how a process obtains the space that platform.h speaks of.
 * Not for code above platform/: only native programs (tests, and shared objects later) call it.
 */
#ifndef PLAIT_PLATFORM_POSIX_H
#define PLAIT_PLATFORM_POSIX_H

#include "platform.h"

/*
 * Maps a fresh space of `initial` pages that may grow to `maximum` (65536 at most), shared with every process forked
 * from this one, and makes it this process's space. 0, -PLAIT_EINVAL or -PLAIT_ENOMEM. Before any other call.
 */
int plait_posix_map(uint32_t initial, uint32_t maximum);

/* As plait_posix_map; a process that is forked from this one gets a copy of the space instead of sharing it. */
int plait_posix_map_private(uint32_t initial, uint32_t maximum);

/* Unmaps it. pre: no thread of this process uses the space any more. */
void plait_posix_unmap(void);

#endif
