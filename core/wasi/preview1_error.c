/*
 * preview1_error: the errors of preview1 for those of the core.
 */
#include "preview1.h"

static const uint8_t error_numbers[] = {
#define XX(name, number) [PLAIT_##name] = number,
    PLAIT_PREVIEW1_ERRNO_MAP(XX)
#undef XX
};

uint32_t plait_preview1_error(int rc) {
  if (rc >= 0) return 0;
  uint32_t number = (uint32_t)-rc < sizeof error_numbers ? error_numbers[-rc] : 0;
  return number != 0 ? number : PREVIEW1_EIO;
}
