/*
 * maps: the entries of map fields. An entry is a message of a key and a value. Either may be absent, occur twice, or be
 * a message in several parts.
 */
#include "decode.h"

/* An integer of the FFI as a key could not be looked up: each is another object. */
static void push_map_key(struct call *call, const struct plait_field *key, uint64_t bits) {
  uint8_t int64 = call->options.int64;
  if (int64 == INT64_CDATA) call->options.int64 = INT64_EXACT;
  push_number(call, key, bits);
  call->options.int64 = int64;
}

int add_entry(struct call *call, const struct plait_field *field, const uint8_t *at, const uint8_t *end, int table,
    uint32_t depth, int *known) {
  lua_State *L = call->L;
  const struct plait_message *entry = plait_schema_message(call->schema, field->type);
  const struct plait_field *key = plait_message_fields(call->schema, entry), *value = key + 1;
  uint64_t key_bits = key->default_bits, value_bits = value->default_bits;
  const uint8_t *key_data = (const uint8_t *)"", *value_data = key_data;
  uint32_t key_length = 0, value_length = 0, merged = 0;
  int status;
  *known = 1;
  if (depth == 0) return decode_fail(call, -PLAIT_MESSAGE_DEPTH, at);
  int base = lua_gettop(L);
  if (ensure_stack(call, base, DECODE_SLOTS) < 0) return decode_fail(call, -PLAIT_MESSAGE_MEMORY, at);
  lua_pushnil(L); /* at base + 1: the table of a message that comes in parts */
  while (at < end) {
    uint32_t tag, length;
    const uint8_t *next = plait_wire_tag(at, end, &tag);
    if (next == NULL) return decode_fail(call, end - at >= 5 ? -PLAIT_MESSAGE_TAG : -PLAIT_MESSAGE_TRUNCATED, at);
    const struct plait_field *part = tag == key->tag ? key : tag == value->tag ? value : NULL;
    if (part == NULL) {
      at = plait_wire_skip(next, end, tag, depth, &status);
      if (at == NULL) return decode_fail(call, status, next);
      continue;
    }
    at = next;
    if (part->wire != PLAIT_WIRE_BYTES) {
      next = plait_wire_number(at, end, part->kind, part == key ? &key_bits : &value_bits);
      if (next == NULL) return decode_fail(call, plait_wire_number_status(at, end, part->wire), at);
      at = next;
      continue;
    }
    next = plait_wire_length(at, end, &length);
    if (next == NULL) return decode_fail(call, plait_wire_length_status(at, end), at);
    if (part->flags & PLAIT_FIELD_UTF8 && !plait_utf8_valid(next, length)) {
      path_field(call, part);
      return decode_fail(call, -PLAIT_MESSAGE_UTF8, next);
    }
    if (part->kind == PLAIT_KIND_MESSAGE) {
      if (call->options.pbc) {
        if (merged++ == 0) {
          push_lazy(call, part, next, length);
        } else {
          lua_pushvalue(L, base + 1);
          lazy_append(call, next, length);
        }
      } else {
        const uint8_t *stop;
        if (merged++ == 0) push_table_for(call, part->type);
        else lua_pushvalue(L, base + 1);
        status = decode_occurrence(
            call, part->type, next, next + length, 0, base + 2, merged == 1 ? FRESH : ANOTHER, depth - 1, &stop);
        if (status < 0) {
          path_field(call, part);
          return status;
        }
      }
      lua_replace(L, base + 1);
    } else if (part == key) {
      key_data = next;
      key_length = length;
    } else {
      value_data = next;
      value_length = length;
    }
    at = next + length;
  }
  if (is_closed_out(call, value, value_bits)) {
    *known = 0;
    lua_settop(L, base);
    return 0;
  }
  if (key->kind == PLAIT_KIND_STRING) lua_pushlstring(L, (const char *)key_data, key_length);
  else push_map_key(call, key, key_bits);
  if (value->kind == PLAIT_KIND_MESSAGE) {
    if (merged != 0) lua_pushvalue(L, base + 1);
    else if (call->options.pbc) push_lazy(call, value, end, 0);
    else lua_newtable(L);
  } else if (value->wire == PLAIT_WIRE_BYTES) {
    lua_pushlstring(L, (const char *)value_data, value_length);
  } else {
    push_number(call, value, value_bits);
  }
  lua_rawset(L, table);
  lua_settop(L, base);
  return 0;
}
