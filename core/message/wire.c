/*
 * wire: the functions behind the inline part of wire.h, for encodings longer than usual.
 */
#include "wire.h"

const uint8_t *plait__wire_varint_long(const uint8_t *at, const uint8_t *end, uint64_t *value) {
  uint64_t sum = 0;
  uint32_t shift = 0;
  for (; at < end && shift < 70; shift += 7) {
    uint8_t byte = *at++;
    sum |= (uint64_t)(byte & 0x7F) << shift; /* the tenth byte's upper bits fall off, as they do everywhere */
    if (byte < 0x80) {
      *value = sum;
      return at;
    }
  }
  return NULL;
}

const uint8_t *plait__wire_tag_long(const uint8_t *at, const uint8_t *end, uint32_t *tag) {
  uint64_t sum = 0;
  for (uint32_t shift = 0; at < end && shift < 35; shift += 7) {
    uint8_t byte = *at++;
    sum |= (uint64_t)(byte & 0x7F) << shift;
    if (byte < 0x80) {
      if (sum > 0xFFFFFFFFu) return NULL;
      *tag = (uint32_t)sum;
      return at;
    }
  }
  return NULL;
}

int plait_wire_length_status(const uint8_t *at, const uint8_t *end) {
  uint64_t value;
  const uint8_t *next = plait_wire_varint(at, end, &value);
  return next == NULL ? plait_wire_varint_status(at, end) : -PLAIT_MESSAGE_LENGTH;
}

const uint8_t *plait_wire_group(
    const uint8_t *at, const uint8_t *end, uint32_t number, uint32_t depth, const uint8_t **content_end, int *status) {
  if (depth == 0) {
    *status = -PLAIT_MESSAGE_DEPTH;
    return NULL;
  }
  while (at < end) {
    uint32_t tag;
    const uint8_t *next = plait_wire_tag(at, end, &tag);
    *content_end = at;
    if (next == NULL) {
      *status = end - at >= 5 ? -PLAIT_MESSAGE_TAG : -PLAIT_MESSAGE_TRUNCATED;
      return NULL;
    }
    at = next;
    if ((tag & 7) == PLAIT_WIRE_END) {
      if (tag >> 3 == number) return at;
      *status = -PLAIT_MESSAGE_GROUP;
      return NULL;
    }
    at = plait_wire_skip(at, end, tag, depth - 1, status);
    if (at == NULL) return NULL;
  }
  *status = -PLAIT_MESSAGE_GROUP;
  return NULL;
}

const uint8_t *plait_wire_skip(const uint8_t *at, const uint8_t *end, uint32_t tag, uint32_t depth, int *status) {
  const uint8_t *content_end;
  uint64_t value;
  uint32_t length;
  *status = 0;
  if (tag >> 3 == 0) {
    *status = -PLAIT_MESSAGE_TAG;
    return NULL;
  }
  switch (tag & 7) {
    case PLAIT_WIRE_VARINT: {
      const uint8_t *next = plait_wire_varint(at, end, &value);
      if (next == NULL) *status = plait_wire_varint_status(at, end);
      return next;
    }
    case PLAIT_WIRE_64:
    case PLAIT_WIRE_32: {
      ptrdiff_t size = (tag & 7) == PLAIT_WIRE_64 ? 8 : 4;
      if (end - at >= size) return at + size;
      *status = -PLAIT_MESSAGE_TRUNCATED;
      return NULL;
    }
    case PLAIT_WIRE_BYTES: {
      const uint8_t *next = plait_wire_length(at, end, &length);
      if (next != NULL) return next + length;
      *status = plait_wire_length_status(at, end);
      return NULL;
    }
    case PLAIT_WIRE_START: return plait_wire_group(at, end, tag >> 3, depth, &content_end, status);
    case PLAIT_WIRE_END: *status = -PLAIT_MESSAGE_GROUP; return NULL;
    default: *status = -PLAIT_MESSAGE_TAG; return NULL;
  }
}

const uint8_t *plait_wire_set_item(const uint8_t *at, const uint8_t *end, uint32_t depth, uint32_t *number,
    const uint8_t **message, const uint8_t **content_end, int *status) {
  const uint8_t *next = plait_wire_group(at, end, 1, depth, content_end, status);
  uint64_t value = 0;
  *message = NULL;
  /* The bytes were walked before, so this walk cannot fail. The conditions only document that. */
  while (next != NULL && at != NULL && at < *content_end) {
    uint32_t tag;
    at = plait_wire_tag(at, *content_end, &tag);
    if (at == NULL) break;
    if (tag == (2 << 3 | PLAIT_WIRE_VARINT) && value == 0) plait_wire_varint(at, *content_end, &value);
    if (tag == (3 << 3 | PLAIT_WIRE_BYTES) && *message == NULL) *message = at;
    at = plait_wire_skip(at, *content_end, tag, depth, status);
  }
  if (value == 0 || value > PLAIT_FIELD_NUMBER_LIMIT) *message = NULL;
  *number = *message == NULL ? 0 : (uint32_t)value;
  return next;
}

uint32_t plait_wire_count_varints(const uint8_t *at, const uint8_t *end) {
  uint32_t count = 0;
  for (; end - at >= 8; at += 8)
    count += (uint32_t)(((~plait_wire_load64(at) & 0x8080808080808080u) >> 7) * 0x0101010101010101u >> 56);
  for (; at < end; at++) count += *at < 0x80;
  return count;
}

int plait__utf8_rest(const uint8_t *at, const uint8_t *end) {
  while (at < end) {
    uint8_t first = *at++;
    if (first < 0x80) continue;
    uint32_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    if (first < 0xC2 || first > 0xF4 || (size_t)(end - at) < more) return 0;
    /* The second byte's range excludes overlong forms, surrogates and what lies beyond U+10FFFF. */
    uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (*at < low || *at > high) return 0;
    for (uint32_t i = 1; i < more; i++)
      if ((at[i] & 0xC0) != 0x80) return 0;
    at += more;
  }
  return 1;
}

int plait__write_varint_long(struct plait_writer *writer, uint64_t value) {
  uint32_t size = (uint32_t)(63 - __builtin_clzll(value | 1)) / 7 + 1;
  uint8_t *at = plait_write_room(writer, size);
  if (at == NULL) return -PLAIT_MESSAGE_MEMORY;
  for (uint32_t i = 0; i + 1 < size; i++, value >>= 7) at[i] = (uint8_t)(value | 0x80);
  at[size - 1] = (uint8_t)value;
  return 0;
}

int plait_write_set_item_begin(struct plait_writer *writer, uint32_t number) {
  int status = plait_write_varint(writer, 3 << 3 | PLAIT_WIRE_BYTES);
  if (status == 0) status = plait_write_varint(writer, number);
  if (status == 0) status = plait_write_varint(writer, 2 << 3 | PLAIT_WIRE_VARINT);
  return status < 0 ? status : plait_write_varint(writer, PLAIT_SET_ITEM_BEGIN);
}
