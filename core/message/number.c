/*
 * number: see number.h. A double is rounded by exact arithmetic: digits * 10^e is a fraction of two large integers, and
 * long division gives its first 64 bits and whether anything is left.
 */
#include "number.h"

PLAIT_COLD_BEGIN

int plait_number_integer(const char *text, size_t length, uint64_t *bits, int *negative) {
  size_t at = 0;
  uint64_t sum = 0, base = 10;
  *negative = length > 0 && text[0] == '-';
  if (length > 0 && (text[0] == '-' || text[0] == '+')) at = 1;
  if (length > at + 2 && text[at] == '0' && (text[at + 1] | 32) == 'x') at += 2, base = 16;
  if (at == length) return -PLAIT_MESSAGE_TYPE;
  int over = 0;
  for (; at < length; at++) {
    char c = text[at], lower = (char)(c | 32);
    uint64_t digit;
    if (c >= '0' && c <= '9') digit = (uint64_t)(c - '0');
    else if (base == 16 && lower >= 'a' && lower <= 'f') digit = (uint64_t)(lower - 'a' + 10);
    else return -PLAIT_MESSAGE_TYPE;
    if (sum > (UINT64_MAX - digit) / base) over = 1;
    sum = sum * base + digit;
  }
  if (over || (*negative && sum > 1ull << 63)) return -PLAIT_MESSAGE_RANGE;
  *bits = *negative ? 0 - sum : sum;
  return 0;
}

#define WORDS 100  /* 3200 bits: 10^340 times 10^400 and the shift of the division fit */
#define DIGITS 400 /* further digits only say that something is left */

struct large {
  uint32_t words[WORDS];
  uint32_t count;
};

static void large_multiply_add(struct large *number, uint32_t factor, uint32_t addend) {
  uint64_t carry = addend;
  for (uint32_t i = 0; i < number->count; i++) {
    carry += (uint64_t)number->words[i] * factor;
    number->words[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry != 0) number->words[number->count++] = (uint32_t)carry;
}

static int large_compare(const struct large *a, const struct large *b) {
  if (a->count != b->count) return a->count < b->count ? -1 : 1;
  for (uint32_t i = a->count; i > 0; i--)
    if (a->words[i - 1] != b->words[i - 1]) return a->words[i - 1] < b->words[i - 1] ? -1 : 1;
  return 0;
}

static void large_subtract(struct large *a, const struct large *b) {
  int64_t borrow = 0;
  for (uint32_t i = 0; i < a->count; i++) {
    borrow += (int64_t)a->words[i] - (i < b->count ? b->words[i] : 0);
    a->words[i] = (uint32_t)borrow;
    borrow >>= 32;
  }
  while (a->count > 0 && a->words[a->count - 1] == 0) a->count--;
}

/* top / bottom, both above 0, rounded. */
static double divide(struct large *top, struct large *bottom) {
  /* Double one of them until 1 <= top / bottom < 2. */
  int exponent = 0;
  while (large_compare(top, bottom) >= 0) large_multiply_add(bottom, 2, 0), exponent++;
  while (large_compare(top, bottom) < 0) large_multiply_add(top, 2, 0), exponent--;
  if (exponent > 1023) return __builtin_inf();
  /* 53 bits, fewer below the normal range, and one more to round by. */
  int bits = exponent < -1022 ? 53 + exponent + 1022 : 53;
  if (bits < 0) return 0;
  uint64_t mantissa = 0;
  for (int i = 0; i <= bits; i++) {
    mantissa <<= 1;
    if (large_compare(top, bottom) >= 0) large_subtract(top, bottom), mantissa |= 1;
    large_multiply_add(top, 2, 0);
  }
  uint64_t half = mantissa & 1, odd = mantissa >> 1 & 1;
  mantissa = (mantissa >> 1) + (half && (top->count != 0 || odd));
  uint64_t image = exponent < -1022 ? mantissa : ((uint64_t)(exponent + 1023) << 52) + (mantissa - (1ull << 52));
  double value;
  __builtin_memcpy(&value, &image, 8); /* a carry out of the mantissa has raised the exponent, up to infinity */
  return value;
}

static int same_text(const char *text, size_t length, const char *word) {
  size_t i = 0;
  for (; i < length && word[i] != 0; i++)
    if ((text[i] | 32) != word[i]) return 0;
  return i == length && word[i] == 0;
}

int plait_number_double(const char *text, size_t length, double *value) {
  int negative = length > 0 && text[0] == '-';
  size_t at = length > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  if (same_text(text + at, length - at, "inf") || same_text(text + at, length - at, "infinity")) {
    *value = negative ? -__builtin_inf() : __builtin_inf();
    return 0;
  }
  if (same_text(text + at, length - at, "nan")) {
    *value = __builtin_nan("");
    return 0;
  }
  struct large top = {.count = 0}, bottom = {.words = {1}, .count = 1};
  int64_t exponent = 0;
  uint32_t digits = 0, seen = 0, point = 0, rest = 0;
  for (; at < length; at++) {
    char c = text[at];
    if (c == '.' && !point) {
      point = 1;
      continue;
    }
    if (c < '0' || c > '9') break;
    seen = 1;
    if (digits < DIGITS) {
      large_multiply_add(&top, 10, (uint32_t)(c - '0'));
      if (top.count != 0) digits++;
      exponent -= point;
    } else {
      rest |= c != '0';
      exponent += !point;
    }
  }
  if (!seen) return -PLAIT_MESSAGE_TYPE;
  if (at < length && (text[at] | 32) == 'e') {
    at++;
    int minus = at < length && text[at] == '-';
    if (at < length && (text[at] == '-' || text[at] == '+')) at++;
    if (at == length) return -PLAIT_MESSAGE_TYPE;
    int64_t sum = 0;
    for (; at < length && text[at] >= '0' && text[at] <= '9'; at++)
      if (sum < 100000000) sum = sum * 10 + (text[at] - '0');
    exponent += minus ? -sum : sum;
  }
  if (at < length && (text[at] | 32) == 'f') at++; /* as C would write a float */
  if (at != length) return -PLAIT_MESSAGE_TYPE;
  double size = 0;
  if (top.count != 0) {
    if (rest) large_multiply_add(&top, 10, 1), exponent--; /* so that no tie is taken for exact */
    if (exponent + digits > 320) size = __builtin_inf();
    else if (exponent + digits > -340) {
      for (; exponent > 0; exponent--) large_multiply_add(&top, 10, 0);
      for (; exponent < 0; exponent++) large_multiply_add(&bottom, 10, 0);
      size = divide(&top, &bottom);
    }
  }
  *value = negative ? -size : size;
  return 0;
}

PLAIT_COLD_END
