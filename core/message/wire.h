/*
 * wire: the bytes of a message, forwards for reading and backwards for writing.
 *
 * Reading: functions take the current address and the end. They return the address after what they read, or NULL. Each
 * item needs one check of the bounds. No byte at or behind `end` is read, and no address behind it is computed.
 *
 * Writing starts at the end of a buffer and moves down. A message's contents are written before its length and tag, so
 * nothing is measured beforehand and nothing is moved. Positions are distances from the end, which a growing buffer
 * keeps.
 */
#ifndef PLAIT_MESSAGE_WIRE_H
#define PLAIT_MESSAGE_WIRE_H

#include "schema.h"

#define PLAIT_WIRE_LENGTH_LIMIT 0x7FFFFFFFu

/* Reads a varint that has more than one byte, or that is missing. */
const uint8_t *plait__wire_varint_long(const uint8_t *at, const uint8_t *end, uint64_t *value);

static inline const uint8_t *plait_wire_varint(const uint8_t *at, const uint8_t *end, uint64_t *value) {
  if (at < end && *at < 0x80) {
    *value = *at;
    return at + 1;
  }
  return plait__wire_varint_long(at, end, value);
}

/* The status after plait_wire_varint() has returned NULL. */
static inline int plait_wire_varint_status(const uint8_t *at, const uint8_t *end) {
  return end - at >= 10 ? -PLAIT_MESSAGE_VARINT : -PLAIT_MESSAGE_TRUNCATED;
}

const uint8_t *plait__wire_tag_long(const uint8_t *at, const uint8_t *end, uint32_t *tag);

/*
 * Reads a tag. NULL: too long, or truncated. Only plait_wire_skip() checks whether its number and wire type are valid.
 * pre: at < end
 */
static inline const uint8_t *plait_wire_tag(const uint8_t *at, const uint8_t *end, uint32_t *tag) {
  if (*at < 0x80) {
    *tag = *at;
    return at + 1;
  }
  if (end - at >= 2 && at[1] < 0x80) {
    *tag = (uint32_t)(at[0] & 0x7F) | (uint32_t)at[1] << 7;
    return at + 2;
  }
  return plait__wire_tag_long(at, end, tag);
}

/* Reads a length, and checks that *length bytes follow. NULL: see plait_wire_length_status(). */
static inline const uint8_t *plait_wire_length(const uint8_t *at, const uint8_t *end, uint32_t *length) {
  uint64_t value;
  at = plait_wire_varint(at, end, &value);
  if (at == NULL || value > (uint64_t)(end - at) || value > PLAIT_WIRE_LENGTH_LIMIT) return NULL;
  *length = (uint32_t)value;
  return at;
}

int plait_wire_length_status(const uint8_t *at, const uint8_t *end);

static inline uint32_t plait_wire_load32(const uint8_t *at) {
  uint32_t value;
  __builtin_memcpy(&value, at, 4);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  value = __builtin_bswap32(value);
#endif
  return value;
}

static inline uint64_t plait_wire_load64(const uint8_t *at) {
  uint64_t value;
  __builtin_memcpy(&value, at, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  value = __builtin_bswap64(value);
#endif
  return value;
}

/*
 * Skips the field whose tag was read before `at`. *status: 0, or the error if NULL is returned. depth: how many groups
 * may still be nested inside.
 */
const uint8_t *plait_wire_skip(const uint8_t *at, const uint8_t *end, uint32_t tag, uint32_t depth, int *status);

/* Skips a group, from after its start tag to after its end tag. *content_end is the start of the end tag. */
const uint8_t *plait_wire_group(
    const uint8_t *at, const uint8_t *end, uint32_t number, uint32_t depth, const uint8_t **content_end, int *status);

/*
 * Reads an item of a MessageSet, from after its start tag: group 1 { 2: number of the extension; 3: its message }.
 * *message is the address of the message's length, before *content_end. It is NULL if the number or the message is
 * missing. If one occurs twice, the first counts. Returns the address after the group, or NULL.
 */
const uint8_t *plait_wire_set_item(const uint8_t *at, const uint8_t *end, uint32_t depth, uint32_t *number,
    const uint8_t **message, const uint8_t **content_end, int *status);

#define PLAIT_SET_ITEM_BEGIN (1u << 3 | PLAIT_WIRE_START)

/* The number of elements of packed varints: the number of bytes that end one. */
uint32_t plait_wire_count_varints(const uint8_t *at, const uint8_t *end);

static inline int64_t plait_wire_unzigzag(uint64_t value) {
  return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}
static inline uint64_t plait_wire_zigzag(int64_t value) {
  return (uint64_t)value << 1 ^ (uint64_t)(value < 0 ? -1 : 0);
}

/*
 * Reads one value of a numeric field as 64 bits: integers sign-extended, FLOAT as the bits of a double.
 * NULL: see plait_wire_number_status(). `kind` is constant where this matters for speed.
 */
static inline const uint8_t *plait_wire_number(const uint8_t *at, const uint8_t *end, uint32_t kind, uint64_t *bits) {
  uint64_t value;
  switch (kind) {
    case PLAIT_KIND_DOUBLE:
    case PLAIT_KIND_FIXED64:
    case PLAIT_KIND_SFIXED64:
      if (end - at < 8) return NULL;
      *bits = plait_wire_load64(at);
      return at + 8;
    case PLAIT_KIND_FLOAT: {
      if (end - at < 4) return NULL;
      uint32_t word = plait_wire_load32(at);
      float narrow;
      __builtin_memcpy(&narrow, &word, 4);
      double wide = narrow;
      __builtin_memcpy(bits, &wide, 8);
      return at + 4;
    }
    case PLAIT_KIND_FIXED32:
      if (end - at < 4) return NULL;
      *bits = plait_wire_load32(at);
      return at + 4;
    case PLAIT_KIND_SFIXED32:
      if (end - at < 4) return NULL;
      *bits = (uint64_t)(int64_t)(int32_t)plait_wire_load32(at);
      return at + 4;
    default: break;
  }
  at = plait_wire_varint(at, end, &value);
  if (at == NULL) return NULL;
  switch (kind) {
    case PLAIT_KIND_INT32:
    case PLAIT_KIND_ENUM: value = (uint64_t)(int64_t)(int32_t)(uint32_t)value; break;
    case PLAIT_KIND_UINT32: value = (uint32_t)value; break;
    case PLAIT_KIND_BOOL: value = value != 0; break;
    case PLAIT_KIND_SINT32: value = (uint64_t)(int64_t)(int32_t)plait_wire_unzigzag((uint32_t)value); break;
    case PLAIT_KIND_SINT64: value = (uint64_t)plait_wire_unzigzag(value); break;
    default: break;
  }
  *bits = value;
  return at;
}

/*
 * Whether a singular field at this place counts as set: a number that a closed enum does not name is an unknown field.
 */
static inline int plait_wire_counts(
    const struct plait_schema *schema, const struct plait_field *field, const uint8_t *at, const uint8_t *end) {
  uint64_t bits;
  return !(field->flags & PLAIT_FIELD_CLOSED) ||
      (plait_wire_number(at, end, PLAIT_KIND_ENUM, &bits) != NULL &&
          plait_enum_find_number(schema, plait_schema_enum(schema, field->type), (int32_t)bits) != NULL);
}

static inline int plait_wire_number_status(const uint8_t *at, const uint8_t *end, uint32_t wire) {
  return wire == PLAIT_WIRE_VARINT ? plait_wire_varint_status(at, end) : -PLAIT_MESSAGE_TRUNCATED;
}

/* Whether the bytes are UTF-8 as protobuf wants it: no overlong forms, no surrogates, nothing beyond U+10FFFF. */
int plait__utf8_rest(const uint8_t *at, const uint8_t *end);

static inline int plait_utf8_valid(const uint8_t *at, size_t length) {
  const uint8_t *end = at + length;
  while (end - at >= 8) {
    if (plait_wire_load64(at) & 0x8080808080808080u) return plait__utf8_rest(at, end);
    at += 8;
  }
  for (; at < end; at++)
    if (*at >= 0x80) return plait__utf8_rest(at, end);
  return 1;
}

/* ---- writing ---- */

/* The written bytes are from `at` to `end`, and the free ones from `start` to `at`. None of the three is ever NULL. */
struct plait_writer {
  uint8_t *start, *at, *end;
  /*
   * Makes room for `need` more bytes in front, and moves the written bytes to the new end. Returns 0, or -MEMORY, and
   * then nothing has changed. It may also leave by a Lua error, so a writer holds nothing that must be released.
   */
  int (*grow)(struct plait_writer *writer, size_t need);
  void *context;
};

/* Moves `need` bytes down. NULL: no memory. */
static inline uint8_t *plait_write_room(struct plait_writer *writer, size_t need) {
  if ((size_t)(writer->at - writer->start) < need && writer->grow(writer, need) != 0) return NULL;
  return writer->at -= need;
}

static inline size_t plait_written(const struct plait_writer *writer) {
  return (size_t)(writer->end - writer->at);
}

int plait__write_varint_long(struct plait_writer *writer, uint64_t value);

static inline int plait_write_varint(struct plait_writer *writer, uint64_t value) {
  if (value >= 0x80) return plait__write_varint_long(writer, value);
  uint8_t *at = plait_write_room(writer, 1);
  if (at == NULL) return -PLAIT_MESSAGE_MEMORY;
  *at = (uint8_t)value;
  return 0;
}

static inline int plait_write_32(struct plait_writer *writer, uint32_t value) {
  uint8_t *at = plait_write_room(writer, 4);
  if (at == NULL) return -PLAIT_MESSAGE_MEMORY;
  value = plait_wire_load32((const uint8_t *)&value); /* swaps on a big-endian machine */
  __builtin_memcpy(at, &value, 4);
  return 0;
}

static inline int plait_write_64(struct plait_writer *writer, uint64_t value) {
  uint8_t *at = plait_write_room(writer, 8);
  if (at == NULL) return -PLAIT_MESSAGE_MEMORY;
  value = plait_wire_load64((const uint8_t *)&value);
  __builtin_memcpy(at, &value, 8);
  return 0;
}

static inline int plait_write_raw(struct plait_writer *writer, const void *bytes, size_t length) {
  if (length == 0) return 0;
  uint8_t *at = plait_write_room(writer, length);
  if (at == NULL) return -PLAIT_MESSAGE_MEMORY;
  __builtin_memcpy(at, bytes, length);
  return 0;
}

/* Writes an item of a MessageSet around its message with length: first the bytes after it, then those before it. */
static inline int plait_write_set_item_end(struct plait_writer *writer) {
  return plait_write_varint(writer, 1 << 3 | PLAIT_WIRE_END);
}
int plait_write_set_item_begin(struct plait_writer *writer, uint32_t number);

/* Writes a numeric value in the form of plait_wire_number(). */
static inline int plait_write_number(struct plait_writer *writer, uint32_t kind, uint64_t bits) {
  switch (kind) {
    case PLAIT_KIND_DOUBLE:
    case PLAIT_KIND_FIXED64:
    case PLAIT_KIND_SFIXED64: return plait_write_64(writer, bits);
    case PLAIT_KIND_FIXED32:
    case PLAIT_KIND_SFIXED32: return plait_write_32(writer, (uint32_t)bits);
    case PLAIT_KIND_FLOAT: {
      double wide;
      __builtin_memcpy(&wide, &bits, 8);
      float narrow = (float)wide;
      uint32_t word;
      __builtin_memcpy(&word, &narrow, 4);
      return plait_write_32(writer, word);
    }
    case PLAIT_KIND_SINT32:
    case PLAIT_KIND_SINT64: return plait_write_varint(writer, plait_wire_zigzag((int64_t)bits));
    default: return plait_write_varint(writer, bits);
  }
}

#endif
