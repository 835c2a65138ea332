/*
 * ffi: the functions that lua/plait/ffi.lua calls through LuaJIT's FFI: patterns over an array of values in which every
 * number is a double. They use no function of Lua, so they raise no error. For a value or bytes that are not plain they
 * return -1, and the caller calls the functions of flat.c.
 */
#include "message.h"

struct ffi_value {
  union {
    double number;
    uint64_t bits;
    const char *data;
  };
  uint32_t length, present;
};

#define FFI_VALUES 50
#define EXACT_INTEGER 9007199254740992.0 /* 2^53 */

static int ffi_full(struct plait_writer *writer, size_t need) {
  (void)writer;
  (void)need;
  return -PLAIT_MESSAGE_MEMORY;
}

/* Whether the field can hold the integer. The ranges are limited to integers that a double holds exactly. */
static int ffi_integer(uint32_t kind, double number, uint64_t *bits) {
  double low = -EXACT_INTEGER, high = EXACT_INTEGER;
  switch (kind) {
    case PLAIT_KIND_INT32:
    case PLAIT_KIND_SINT32:
    case PLAIT_KIND_SFIXED32:
    case PLAIT_KIND_ENUM: low = INT32_MIN, high = INT32_MAX; break;
    case PLAIT_KIND_UINT32:
    case PLAIT_KIND_FIXED32: low = 0, high = UINT32_MAX; break;
    case PLAIT_KIND_UINT64:
    case PLAIT_KIND_FIXED64: low = 0; break;
    case PLAIT_KIND_BOOL: low = 0, high = 1; break;
    default: break;
  }
  if (!(number >= low && number <= high)) return 0;
  int64_t value = (int64_t)number;
  *bits = (uint64_t)value;
  return (double)value == number;
}

/* The bits of a number for a field of `kind`: 1, or 0 if it does not fit. */
static inline int ffi_bits(uint32_t kind, const struct ffi_value *from, uint64_t *bits) {
  if (kind != PLAIT_KIND_DOUBLE && kind != PLAIT_KIND_FLOAT) return ffi_integer(kind, from->number, bits);
  *bits = from->bits;
  return 1;
}

/* The same as pack_plain(). */
static int ffi_pack_plain(
    const struct plait_pattern *pattern, const struct ffi_value *from, struct plait_writer *writer) {
  const struct plait_pattern_step *steps = plait_pattern_steps(pattern);
  for (uint32_t i = pattern->slot_count; i-- > 0;) {
    const struct plait_pattern_step *step = &steps[i];
    const struct ffi_value *value = &from[step->slot];
    if (!value->present) continue;
    if (step->wire == PLAIT_WIRE_BYTES) {
      if (step->flags & PLAIT_FIELD_IMPLICIT && value->length == 0) continue;
      if (step->flags & PLAIT_FIELD_UTF8 && !plait_utf8_valid((const uint8_t *)value->data, value->length)) return -1;
      if (plait_write_raw(writer, value->data, value->length) < 0 || plait_write_varint(writer, value->length) < 0)
        return -1;
    } else {
      uint64_t bits;
      if (!ffi_bits(step->kind, value, &bits)) return -1;
      if (step->flags & PLAIT_FIELD_IMPLICIT && bits == 0) continue;
      if (plait_write_number(writer, step->kind, bits) < 0) return -1;
    }
    if (plait_write_varint(writer, step->tag) < 0) return -1;
  }
  return (int)plait_written(writer);
}

/* Returns the length of the message, which ends at the buffer's end, or -1. */
static int ffi_pack(const struct pattern_box *box, const struct ffi_value *from, uint8_t *buffer, int size) {
  struct plait_value values[FFI_VALUES];
  struct plait_message_error error;
  struct plait_writer writer = {.start = buffer, .at = buffer + size, .end = buffer + size, .grow = ffi_full};
  const struct plait_schema *schema = box->schema->image;
  if (box->pattern == NULL || schema == NULL) return -1; /* see check_alive() */
  if (box->plain) return ffi_pack_plain(box->pattern, from, &writer);
  for (uint32_t i = 0; i < box->pattern->slot_count; i++) {
    uint32_t kind = plait_schema_field(schema, plait_pattern_field(box->pattern, i))->kind;
    values[i].present = from[i].present;
    if (!from[i].present) continue;
    if (kind == PLAIT_KIND_STRING || kind == PLAIT_KIND_BYTES) {
      values[i].data = (const uint8_t *)from[i].data;
      values[i].length = from[i].length;
    } else if (!ffi_bits(kind, &from[i], &values[i].bits)) {
      return -1;
    }
  }
  if (plait_pattern_pack(schema, box->pattern, values, NULL, &writer, &error) != 0) return -1;
  return (int)plait_written(&writer);
}

/*
 * Replaces any NaN by the canonical NaN of LuaJIT. LuaJIT would take the bits of another NaN, read from memory, for an
 * object at an address that the bits contain.
 */
static uint64_t ffi_plain_nan(uint64_t bits) {
  return (bits & 0x7FFFFFFFFFFFFFFFu) > 0x7FF0000000000000u ? 0xFFF8000000000000u : bits;
}

/* Converts a number of a field of `kind` to a double. Returns 0, or -1 if it is not a number. */
static inline int ffi_number(uint32_t kind, uint64_t bits, struct ffi_value *to) {
  switch (kind) {
    case PLAIT_KIND_DOUBLE:
    case PLAIT_KIND_FLOAT: to->bits = ffi_plain_nan(bits); return 0;
    case PLAIT_KIND_INT64:
    case PLAIT_KIND_SFIXED64:
    case PLAIT_KIND_SINT64:
      if ((int64_t)bits > (int64_t)EXACT_INTEGER || (int64_t)bits < -(int64_t)EXACT_INTEGER) return -1;
      break;
    case PLAIT_KIND_UINT64:
    case PLAIT_KIND_FIXED64:
      if (bits > (uint64_t)EXACT_INTEGER) return -1;
      break;
    default: break;
  }
  to->number = (double)(int64_t)bits;
  return 0;
}

/* The same as unpack_plain(). Returns 0, or -1 if the bytes need the general functions. */
static int ffi_unpack_plain(const struct plait_pattern *pattern, const uint8_t *at, size_t size, struct ffi_value *to) {
  const struct plait_pattern_step *step = plait_pattern_steps(pattern), *last = step + pattern->slot_count;
  const uint8_t *end = at + size;
  for (; at < end; step++) {
    uint32_t tag;
    at = plait_wire_tag(at, end, &tag);
    if (at == NULL) return -1;
    for (; step < last && step->tag != tag; step++) to[step->slot].present = 0;
    if (step == last) return -1;
    struct ffi_value *value = &to[step->slot];
    value->present = 1;
    if (step->wire == PLAIT_WIRE_BYTES) {
      at = plait_wire_length(at, end, &value->length);
      if (at == NULL || (step->flags & PLAIT_FIELD_UTF8 && !plait_utf8_valid(at, value->length))) return -1;
      value->data = (const char *)at;
      at += value->length;
    } else {
      uint64_t bits;
      at = plait_wire_number(at, end, step->kind, &bits);
      if (at == NULL || ffi_number(step->kind, bits, value) < 0) return -1;
    }
  }
  for (; step < last; step++) to[step->slot].present = 0;
  return 0;
}

/* 0, or -1. */
static int ffi_unpack(const struct pattern_box *box, const uint8_t *bytes, size_t size, struct ffi_value *to) {
  struct plait_value values[FFI_VALUES];
  struct plait_message_error error;
  const struct plait_schema *schema = box->schema->image;
  if (box->pattern == NULL || schema == NULL) return -1;
  if (box->plain && size <= PLAIT_WIRE_LENGTH_LIMIT && ffi_unpack_plain(box->pattern, bytes, size, to) == 0) return 0;
  if (plait_pattern_unpack(schema, box->pattern, bytes, size, box->options.depth + 1u, values, NULL, &error) != 0)
    return -1;
  for (uint32_t i = 0; i < box->pattern->slot_count; i++) {
    const struct plait_field *field = plait_schema_field(schema, plait_pattern_field(box->pattern, i));
    to[i].present = values[i].present;
    if (!values[i].present) continue;
    if (field->wire == PLAIT_WIRE_BYTES) {
      to[i].data = (const char *)values[i].data;
      to[i].length = values[i].length;
    } else if (ffi_number(field->kind, values[i].bits, &to[i]) < 0) {
      return -1;
    }
  }
  return 0;
}

/* core.ffi() -> the addresses of the two, as numbers: no address of a process is beyond 2^53. */
static int core_ffi(lua_State *L) {
  lua_pushnumber(L, (lua_Number)(uintptr_t)ffi_pack);
  lua_pushnumber(L, (lua_Number)(uintptr_t)ffi_unpack);
  return 2;
}

/* core.ffi_kinds(pattern) -> a letter for each value (n, b, s), or nil if the pattern has other fields. */
static int core_ffi_kinds(lua_State *L) {
  const struct pattern_box *box = luaL_checkudata(L, 1, PATTERN_METATABLE);
  char kinds[FFI_VALUES];
  if (box->pattern->slot_count > FFI_VALUES) return 0;
  for (uint32_t i = 0; i < box->pattern->slot_count; i++) {
    const struct plait_field *field = plait_schema_field(box->schema->image, plait_pattern_field(box->pattern, i));
    int large = field->kind == PLAIT_KIND_INT64 || field->kind == PLAIT_KIND_UINT64 ||
        field->kind == PLAIT_KIND_FIXED64 || field->kind == PLAIT_KIND_SFIXED64 || field->kind == PLAIT_KIND_SINT64;
    if (field->flags & PLAIT_FIELD_REPEATED || plait_kind_is_message(field->kind) || field->kind == PLAIT_KIND_ENUM ||
        (large && box->options.int64 != INT64_EXACT && box->options.int64 != INT64_NUMBER))
      return 0;
    kinds[i] = field->kind == PLAIT_KIND_STRING || field->kind == PLAIT_KIND_BYTES ? 's'
        : field->kind == PLAIT_KIND_BOOL                                           ? 'b'
                                                                                   : 'n';
  }
  lua_pushlstring(L, kinds, box->pattern->slot_count);
  return 1;
}

static const luaL_Reg ffi_functions[] = {{"ffi", core_ffi}, {"ffi_kinds", core_ffi_kinds}, {NULL, NULL}};

/* With the module's table on top. */
void open_ffi(lua_State *L) {
  luaL_setfuncs(L, ffi_functions, 0);
}
