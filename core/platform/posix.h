/*
 * platform for a native process: how a process creates the space of platform.h. Not for code above platform/: only
 * native programs call it (tests, and later shared objects).
 */
#ifndef PLAIT_PLATFORM_POSIX_H
#define PLAIT_PLATFORM_POSIX_H

#include "platform.h"

/*
 * Maps a new space of `initial` pages that may grow to `maximum` (at most 65536), and makes it this process's space.
 * Processes that are forked from this one share it. 0, -PLAIT_EINVAL or -PLAIT_ENOMEM. Before any other call.
 */
int plait_posix_map(uint32_t initial, uint32_t maximum);

/* As plait_posix_map(), but a process that is forked from this one gets a copy of the space. */
int plait_posix_map_private(uint32_t initial, uint32_t maximum);

/* Unmaps it. pre: no thread of this process uses the space any more. */
void plait_posix_unmap(void);

#endif
