/*
 * clocks: those of a hosted program. All its threads see the same time.
 */
#include "host.h"
#include "preview1.h"
#include "program.h"

PLAIT_COLD_BEGIN

/* A double of milliseconds is exact to a quarter of a microsecond. */
uint64_t plait_program_clock(uint32_t id) {
  double time = plait_host_clock(id);
  if (!(time > 0)) return 0;
  uint64_t whole = (uint64_t)time;
  return whole * 1000000 + (uint64_t)((time - (double)whole) * 1e6);
}

PLAIT_EXPORT uint32_t plait_preview1_clock_time_get(uint32_t id, uint64_t precision, plait_guest_t to) {
  PREVIEW1_ENTER;
  (void)precision;
  if (!guest_reaches(to, 8)) return PREVIEW1_FAULT;
  uint64_t time = id < CLOCK_IDS ? plait_program_clock(id) : 0;
  if (time == 0) return PREVIEW1_EINVAL;
  guest_store64(to, time);
  return 0;
}

PLAIT_EXPORT uint32_t plait_preview1_clock_res_get(uint32_t id, plait_guest_t to) {
  PREVIEW1_ENTER;
  if (!guest_reaches(to, 8)) return PREVIEW1_FAULT;
  if (id >= CLOCK_IDS || plait_host_clock(id) < 0) return PREVIEW1_EINVAL;
  guest_store64(to, id == CLOCK_REALTIME_ID ? 1000000 : 1000);
  return 0;
}

PLAIT_COLD_END
