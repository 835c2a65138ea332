/*
 * number: converts decimal text to numbers, for defaults in descriptors and for 64-bit integers given as strings.
 */
#ifndef PLAIT_MESSAGE_NUMBER_H
#define PLAIT_MESSAGE_NUMBER_H

#include "status.h"

/*
 * Parses an integer in decimal or (0x) hexadecimal digits, with an optional sign. *bits is its two's complement, and
 * *negative its sign. Returns 0, -TYPE (not a number), or -RANGE: outside -2^63 .. 2^64 - 1.
 */
int plait_number_integer(const char *text, size_t length, uint64_t *bits, int *negative);

/* A floating-point number, rounded to nearest even; inf, -inf, nan too. 0 or -TYPE. */
int plait_number_double(const char *text, size_t length, double *value);

#endif
