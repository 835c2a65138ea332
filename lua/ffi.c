/*
 * ffi: what lua/plait/ffi.lua calls through LuaJIT's FFI: patterns over an array of values in which every number is a
 * double. No function here touches Lua, so none can raise an error; what is not plain is answered with -1, and the caller
 * asks the functions of flat.c.
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

/* An integer that the field holds; every kind's range lies within what a double holds exactly, or is cut to that. */
static int ffi_integer(uint32_t kind, double number, uint64_t *bits) {
  double low = -EXACT_INTEGER, high = EXACT_INTEGER;
  switch (kind) {
    case PLAIT_KIND_INT32: case PLAIT_KIND_SINT32: case PLAIT_KIND_SFIXED32: case PLAIT_KIND_ENUM: low = INT32_MIN, high = INT32_MAX; break;
    case PLAIT_KIND_UINT32: case PLAIT_KIND_FIXED32: low = 0, high = UINT32_MAX; break;
    case PLAIT_KIND_UINT64: case PLAIT_KIND_FIXED64: low = 0; break;
    case PLAIT_KIND_BOOL: low = 0, high = 1; break;
    default: break;
  }
  if (!(number >= low && number <= high)) return 0;
  int64_t value = (int64_t)number;
  *bits = (uint64_t)value;
  return (double)value == number;
}

/* The length of the message, which ends at the buffer's end; or -1. */
static int ffi_pack(const struct pattern_box *box, const struct ffi_value *from, uint8_t *buffer, int size) {
  struct plait_value values[FFI_VALUES];
  struct plait_message_error error;
  struct plait_writer writer = {.start = buffer, .at = buffer + size, .end = buffer + size, .grow = ffi_full};
  const struct plait_schema *schema = box->schema->image;
  if (box->pattern == NULL || schema == NULL) return -1; /* see check_alive() */
  for (uint32_t i = 0; i < box->pattern->slot_count; i++) {
    uint32_t kind = plait_schema_field(schema, plait_pattern_field(box->pattern, i))->kind;
    values[i].present = from[i].present;
    if (!from[i].present) continue;
    if (kind == PLAIT_KIND_STRING || kind == PLAIT_KIND_BYTES) {
      values[i].data = (const uint8_t *)from[i].data;
      values[i].length = from[i].length;
    } else if (kind == PLAIT_KIND_DOUBLE || kind == PLAIT_KIND_FLOAT) {
      values[i].number = from[i].number;
    } else if (!ffi_integer(kind, from[i].number, &values[i].bits)) {
      return -1;
    }
  }
  if (plait_pattern_pack(schema, box->pattern, values, NULL, &writer, &error) != 0) return -1;
  return (int)plait_written(&writer);
}

/*
 * A NaN of strangers as the one NaN of LuaJIT: it reads the others from memory as what they look like to it, which is objects
 * at any address they like.
 */
static uint64_t ffi_plain_nan(uint64_t bits) {
  return (bits & 0x7FFFFFFFFFFFFFFFu) > 0x7FF0000000000000u ? 0xFFF8000000000000u : bits;
}

/* 0, or -1. */
static int ffi_unpack(const struct pattern_box *box, const uint8_t *bytes, size_t size, struct ffi_value *to) {
  struct plait_value values[FFI_VALUES];
  struct plait_message_error error;
  const struct plait_schema *schema = box->schema->image;
  if (box->pattern == NULL || schema == NULL) return -1;
  if (plait_pattern_unpack(schema, box->pattern, bytes, size, box->options.depth + 1u, values, NULL, &error) != 0) return -1;
  for (uint32_t i = 0; i < box->pattern->slot_count; i++) {
    const struct plait_field *field = plait_schema_field(schema, plait_pattern_field(box->pattern, i));
    to[i].present = values[i].present;
    if (!values[i].present) continue;
    switch (field->kind) {
      case PLAIT_KIND_STRING: case PLAIT_KIND_BYTES:
        to[i].data = (const char *)values[i].data;
        to[i].length = values[i].length;
        break;
      case PLAIT_KIND_DOUBLE: case PLAIT_KIND_FLOAT: to[i].bits = ffi_plain_nan(values[i].bits); break;
      case PLAIT_KIND_INT64: case PLAIT_KIND_SFIXED64: case PLAIT_KIND_SINT64:
        if (values[i].integer > (int64_t)EXACT_INTEGER || values[i].integer < -(int64_t)EXACT_INTEGER) return -1;
        to[i].number = (double)values[i].integer;
        break;
      case PLAIT_KIND_UINT64: case PLAIT_KIND_FIXED64:
        if (values[i].bits > (uint64_t)EXACT_INTEGER) return -1;
        to[i].number = (double)values[i].bits;
        break;
      default: to[i].number = (double)values[i].integer;
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
    int large = field->kind == PLAIT_KIND_INT64 || field->kind == PLAIT_KIND_UINT64 || field->kind == PLAIT_KIND_FIXED64 ||
                field->kind == PLAIT_KIND_SFIXED64 || field->kind == PLAIT_KIND_SINT64;
    if (field->flags & PLAIT_FIELD_REPEATED || plait_kind_is_message(field->kind) || field->kind == PLAIT_KIND_ENUM ||
        (large && box->options.int64 != INT64_EXACT && box->options.int64 != INT64_NUMBER))
      return 0;
    kinds[i] = field->kind == PLAIT_KIND_STRING || field->kind == PLAIT_KIND_BYTES ? 's' : field->kind == PLAIT_KIND_BOOL ? 'b' : 'n';
  }
  lua_pushlstring(L, kinds, box->pattern->slot_count);
  return 1;
}

static const luaL_Reg ffi_functions[] = {{"ffi", core_ffi}, {"ffi_kinds", core_ffi_kinds}, {NULL, NULL}};

/* With the module's table on top. */
void open_ffi(lua_State *L) { luaL_setfuncs(L, ffi_functions, 0); }
