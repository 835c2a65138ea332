/*
 * status: names and texts of the outcomes, and how an error's text grows. See status.h.
 */
#include "status.h"

PLAIT_COLD_BEGIN

const char *plait_message_status_name(int status) {
  switch (status) {
#define XX(name, number, text) \
  case number: return #name;
    PLAIT_MESSAGE_STATUS_MAP(XX)
#undef XX
    default: return "NONE";
  }
}

const char *plait_message_status_text(int status) {
  switch (status) {
#define XX(name, number, text) \
  case number: return text;
    PLAIT_MESSAGE_STATUS_MAP(XX)
#undef XX
    default: return "nothing is wrong";
  }
}

void plait__error_add(struct plait_message_error *error, const char *text, size_t length) {
  size_t room = sizeof error->text - 1 - error->length;
  if (length > room) length = room;
  for (size_t i = 0; i < length; i++) error->text[error->length + i] = text[i];
  error->length += (uint32_t)length;
  error->text[error->length] = 0;
}

void plait__error_add_before(struct plait_message_error *error, const char *text, size_t length) {
  size_t room = sizeof error->text - 1 - error->length;
  if (length > room) return; /* the inner end of a path is more useful than a part of its outer end */
  for (size_t i = error->length + 1; i > 0; i--) error->text[i - 1 + length] = error->text[i - 1];
  for (size_t i = 0; i < length; i++) error->text[i] = text[i];
  error->length += (uint32_t)length;
}

void plait__error_add_index(struct plait_message_error *error, uint64_t index) {
  char digits[24];
  size_t at = sizeof digits;
  digits[--at] = ']';
  do digits[--at] = (char)('0' + index % 10);
  while ((index /= 10) != 0);
  digits[--at] = '[';
  plait__error_add_before(error, digits + at, sizeof digits - at);
}

PLAIT_COLD_END
