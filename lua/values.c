/*
 * values: numbers between Lua and the wire, without loss or with an error.
 *
 * If Lua's numbers are doubles, 64-bit integers are numbers as far as these are exact, and decimal strings beyond,
 * unless the option int64 says otherwise. Since Lua 5.3 they are integers. A uint64 beyond 2^63 - 1 becomes negative
 * there, and is encoded back to the same value.
 */
#include "message.h"

#include <stdio.h>

#include "../core/message/number.h"

#define EXACT 9007199254740992u /* 2^53: up to it a double holds every integer */

/* Registry keys of functions that lua/plait/ffi.lua sets: (bits as 8 bytes, unsigned) -> cdata, and back. */
static const char to_cdata[] = "plait.to_cdata", from_cdata[] = "plait.from_cdata";

static void push_text64(lua_State *L, uint64_t bits, int is_unsigned) {
  char text[24];
  int length = is_unsigned ? snprintf(text, sizeof text, "%llu", (unsigned long long)bits)
                           : snprintf(text, sizeof text, "%lld", (long long)bits);
  lua_pushlstring(L, text, (size_t)length);
}

static PLAIT_COLD void push_cdata(lua_State *L, uint64_t bits, int is_unsigned) {
  luaL_checkstack(L, 4, "64-bit integer");
  lua_getfield(L, LUA_REGISTRYINDEX, to_cdata);
  if (lua_isnil(L, -1)) luaL_error(L, "int64 = 'cdata' needs LuaJIT's FFI");
  lua_pushlstring(L, (const char *)&bits, 8);
  lua_pushboolean(L, is_unsigned);
  lua_call(L, 2, 1);
}

static void push_64(struct call *call, uint64_t bits, int is_unsigned) {
  lua_State *L = call->L;
  switch (call->options.int64) {
    case INT64_STRING: push_text64(L, bits, is_unsigned); return;
    case INT64_CDATA: push_cdata(L, bits, is_unsigned); return;
    default: break;
  }
#if LUA_INTEGERS
  if (call->options.int64 == INT64_EXACT && is_unsigned && bits >> 63) push_text64(L, bits, 1);
  else lua_pushinteger(L, (lua_Integer)bits);
#else
  /* compares the integer, because its double might be rounded */
  uint64_t size = !is_unsigned && bits >> 63 ? 0 - bits : bits;
  if (call->options.int64 == INT64_EXACT && size > EXACT) push_text64(L, bits, is_unsigned);
  else lua_pushnumber(L, is_unsigned ? (double)bits : (double)(int64_t)bits);
#endif
}

static void push_double(lua_State *L, uint64_t bits) {
  double value;
  memcpy(&value, &bits, 8);
  lua_pushnumber(L, value);
}

void push_number(struct call *call, const struct plait_field *field, uint64_t bits) {
  lua_State *L = call->L;
  switch (field->kind) {
    case PLAIT_KIND_DOUBLE:
    case PLAIT_KIND_FLOAT: push_double(L, bits); return;
    case PLAIT_KIND_BOOL: lua_pushboolean(L, bits != 0); return;
    case PLAIT_KIND_INT64:
    case PLAIT_KIND_SFIXED64:
    case PLAIT_KIND_SINT64: push_64(call, bits, 0); return;
    case PLAIT_KIND_UINT64:
    case PLAIT_KIND_FIXED64: push_64(call, bits, 1); return;
    case PLAIT_KIND_ENUM:
      if (!call->options.enums_numbers) {
        const struct plait_enum *type = plait_schema_enum(call->schema, field->type);
        const struct plait_enum_value *value = plait_enum_find_number(call->schema, type, (int32_t)bits);
        if (value != NULL) {
          uint32_t index = (uint32_t)(value - plait_schema_value(call->schema, 0));
          lua_rawgeti(L, call->keys, (int)(1 + call->schema->field_count + index));
          return;
        }
      }
      break;
    default: break;
  }
#if LUA_INTEGERS
  lua_pushinteger(L, (lua_Integer)(int64_t)bits);
#else
  lua_pushnumber(L, (lua_Number)(int64_t)bits); /* lua_Integer may have 32 bits there, and a uint32 has more */
#endif
}

void push_default(struct call *call, const struct plait_field *field) {
  if (field->wire != PLAIT_WIRE_BYTES) push_number(call, field, field->default_bits);
  else if (field->default_length == 0) lua_pushliteral(call->L, "");
  else lua_pushlstring(call->L, plait_schema_name(call->schema, (uint32_t)field->default_bits), field->default_length);
}

/* Checks an integer, given as bits and sign, for a field of `kind`. */
static int fit(uint32_t kind, uint64_t bits, int negative) {
  int64_t value = (int64_t)bits;
  int large = !negative && value < 0; /* 2^63 and more */
  switch (kind) {
    case PLAIT_KIND_INT32:
    case PLAIT_KIND_SINT32:
    case PLAIT_KIND_SFIXED32:
    case PLAIT_KIND_ENUM: return large || value != (int32_t)value ? -PLAIT_MESSAGE_RANGE : 0;
    case PLAIT_KIND_UINT32:
    case PLAIT_KIND_FIXED32: return negative || bits > UINT32_MAX ? -PLAIT_MESSAGE_RANGE : 0;
    case PLAIT_KIND_UINT64:
    case PLAIT_KIND_FIXED64: return negative ? -PLAIT_MESSAGE_RANGE : 0;
    default: return large ? -PLAIT_MESSAGE_RANGE : 0;
  }
}

static int double_bits(struct call *call, uint32_t kind, double value, uint64_t *bits) {
  if (!(value >= -9223372036854775808.0 && value < 18446744073709551616.0)) return -PLAIT_MESSAGE_RANGE;
  double whole = value < 0 ? (double)(int64_t)value : (double)(uint64_t)value;
  if (whole != value && !call->options.pbc) return -PLAIT_MESSAGE_RANGE; /* pbc cuts fractions off */
  *bits = value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
  return fit(kind, *bits, value < 0 && *bits != 0);
}

static PLAIT_COLD int cdata_bits(struct call *call, uint32_t kind, int index, uint64_t *bits) {
  lua_State *L = call->L;
  size_t length;
  int negative;
  index = lua_absindex(L, index);
  luaL_checkstack(L, 4, "64-bit integer");
  lua_getfield(L, LUA_REGISTRYINDEX, from_cdata);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    return -PLAIT_MESSAGE_TYPE;
  }
  lua_pushvalue(L, index);
  lua_call(L, 1, 2); /* 8 bytes or nil, negative */
  const char *bytes = lua_tolstring(L, -2, &length);
  negative = lua_toboolean(L, -1);
  if (bytes != NULL && length == 8) memcpy(bits, bytes, 8);
  else bytes = NULL;
  lua_pop(L, 2);
  if (bytes == NULL) return -PLAIT_MESSAGE_TYPE;
  if (kind != PLAIT_KIND_DOUBLE && kind != PLAIT_KIND_FLOAT) return fit(kind, *bits, negative);
  double value = negative ? (double)(int64_t)*bits : (double)*bits;
  memcpy(bits, &value, 8);
  return 0;
}

static int enum_bits(struct call *call, const struct plait_field *field, int index, uint64_t *bits) {
  size_t length;
  const char *name = lua_tolstring(call->L, index, &length);
  uint32_t value = plait_schema_find_value(call->schema, field->type, name, length);
  if (value == PLAIT_SCHEMA_NONE) return -PLAIT_MESSAGE_NAME;
  *bits = (uint64_t)(int64_t)plait_schema_value(call->schema, value)->number;
  return 0;
}

static int text_bits(struct call *call, const struct plait_field *field, int index, uint64_t *bits) {
  size_t length;
  int negative;
  const char *text = lua_tolstring(call->L, index, &length);
  if (field->kind == PLAIT_KIND_DOUBLE || field->kind == PLAIT_KIND_FLOAT) {
    double value;
    int status = plait_number_double(text, length, &value);
    memcpy(bits, &value, 8);
    return status;
  }
  int status = plait_number_integer(text, length, bits, &negative);
  return status < 0 ? status : fit(field->kind, *bits, negative && *bits != 0);
}

int to_bits(struct call *call, const struct plait_field *field, int index, int type, uint64_t *bits) {
  lua_State *L = call->L;
  uint32_t kind = field->kind;
  int status = 0;
  if (kind == PLAIT_KIND_BOOL) {
    if (type != LUA_TBOOLEAN && !call->options.pbc) return -PLAIT_MESSAGE_TYPE;
    *bits = (uint64_t)lua_toboolean(L, index);
    return 0;
  }
  switch (type) {
    case LUA_TNUMBER:
      if (kind == PLAIT_KIND_DOUBLE || kind == PLAIT_KIND_FLOAT) {
        double value = lua_tonumber(L, index);
        memcpy(bits, &value, 8);
        return 0;
      }
#if LUA_INTEGERS
      {
        int is_integer; /* or a float that is equal to one */
        lua_Integer value = lua_tointegerx(L, index, &is_integer);
        *bits = (uint64_t)value;
        if (is_integer) {
          status = kind == PLAIT_KIND_UINT64 || kind == PLAIT_KIND_FIXED64
              ? (value < 0 && !lua_isinteger(L, index) ? -PLAIT_MESSAGE_RANGE : 0)
              : fit(kind, *bits, value < 0);
          break;
        }
      }
#endif
      status = double_bits(call, kind, lua_tonumber(L, index), bits);
      break;
    case LUA_TSTRING:
      if (kind == PLAIT_KIND_ENUM) return enum_bits(call, field, index, bits);
      if (call->options.pbc && !LUA_INTEGERS && (kind == PLAIT_KIND_FIXED64 || kind == PLAIT_KIND_SFIXED64) &&
          lua_rawlen(L, index) == 8 && text_bits(call, field, index, bits) < 0) {
        memcpy(bits, lua_tolstring(L, index, NULL), 8); /* pbc had these as eight bytes where integers are doubles */
        return 0;
      }
      return text_bits(call, field, index, bits);
    case LUA_TLIGHTUSERDATA: /* ... and fixed32 as an address */
      if (!call->options.pbc || kind != PLAIT_KIND_FIXED32) return -PLAIT_MESSAGE_TYPE;
      *bits = (uint32_t)(uintptr_t)lua_touserdata(L, index);
      return 0;
    case LUA_TCDATA: status = cdata_bits(call, kind, index, bits); break;
    default: return -PLAIT_MESSAGE_TYPE;
  }
  if (status == 0 && field->flags & PLAIT_FIELD_CLOSED &&
      plait_enum_find_number(call->schema, plait_schema_enum(call->schema, field->type), (int32_t)*bits) == NULL)
    return -PLAIT_MESSAGE_RANGE;
  return status;
}
