/*
 * plain: the fast path for patterns whose names are all single numbers and strings of the message itself, like most
 * patterns. Values are copied directly between Lua's stack and the bytes. In any other case, the functions of flat.c
 * start from the beginning, and return the same as without this attempt. Such cases are a wrong type, a number that
 * does not fit, fields in another order, unknown fields, and malformed bytes.
 */
#include "message.h"

int pattern_is_plain(const struct plait_pattern *pattern) {
  const struct plait_pattern_node *node = plait_pattern_nodes(pattern);
  if (pattern->node_count != 1 || pattern->copy_count != 0 || pattern->slot_count > PLAIN_LIMIT || node->oneofs ||
      node->set)
    return 0;
  for (uint32_t i = 0; i < node->step_count; i++) {
    const struct plait_pattern_step *step = plait_pattern_steps(pattern) + i;
    if (step->flags & (PLAIT_FIELD_REPEATED | PLAIT_FIELD_CLOSED) || plait_kind_is_message(step->kind)) return 0;
  }
  return 1;
}

/* Writes the arguments from `first` on; none is missing. Returns 1, or 0 if the writer must start again. */
int pack_plain(struct call *call, const struct plait_pattern *pattern, int first) {
  struct plait_writer *writer = &call->writer;
  lua_State *L = call->L;
  const struct plait_pattern_step *steps = plait_pattern_steps(pattern);
  for (uint32_t i = pattern->slot_count; i-- > 0;) {
    const struct plait_pattern_step *step = &steps[i];
    int index = first + step->slot, type = lua_type(L, index);
    if (type == LUA_TNIL) continue;
    if (step->wire == PLAIT_WIRE_BYTES) {
      size_t length;
      if (type != LUA_TSTRING) return 0;
      const char *text = lua_tolstring(L, index, &length);
      if (step->flags & PLAIT_FIELD_IMPLICIT && length == 0) continue;
      if (length > BUFFER_SIZE || (step->flags & PLAIT_FIELD_UTF8 && !plait_utf8_valid((const uint8_t *)text, length)))
        return 0;
      if (plait_write_raw(writer, text, length) < 0 || plait_write_varint(writer, length) < 0) return 0;
    } else {
      uint64_t bits;
      if (to_bits(call, plait_schema_field(call->schema, step->field), index, type, &bits) < 0) return 0;
      if (step->flags & PLAIT_FIELD_IMPLICIT && bits == 0) continue;
      if (plait_write_number(writer, step->kind, bits) < 0) return 0;
    }
    if (plait_write_varint(writer, step->tag) < 0) return 0;
  }
  return 1;
}

/* Pushes a value for each name and returns their number. Returns -1 if it has pushed nothing. */
int unpack_plain(struct call *call, const struct plait_pattern *pattern, const uint8_t *at, size_t size) {
  struct plait_value values[PLAIN_LIMIT];
  lua_State *L = call->L;
  const struct plait_pattern_step *steps = plait_pattern_steps(pattern), *step = steps,
                                  *last = steps + pattern->slot_count;
  if (size > PLAIT_WIRE_LENGTH_LIMIT) return -1;
  const uint8_t *end = at + size;
  int absent = 0;
  for (; at < end; step++) {
    uint32_t tag;
    at = plait_wire_tag(at, end, &tag);
    if (at == NULL) return -1;
    for (; step < last && step->tag != tag; step++) values[step->slot].present = 0, absent = 1;
    if (step == last) return -1;
    struct plait_value *value = &values[step->slot];
    value->present = 1;
    if (step->wire == PLAIT_WIRE_BYTES) {
      uint32_t length;
      at = plait_wire_length(at, end, &length);
      if (at == NULL || (step->flags & PLAIT_FIELD_UTF8 && !plait_utf8_valid(at, length))) return -1;
      value->data = at;
      value->length = length;
      at += length;
    } else {
      at = plait_wire_number(at, end, step->kind, &value->bits);
      if (at == NULL) return -1;
    }
  }
  for (; step < last; step++) values[step->slot].present = 0, absent = 1;
  if (absent && call->options.pbc) return -1; /* pbc returns defaults */
  int count = pattern->slot_count;
  for (int i = 0; i < count; i++) {
    const struct plait_value *value = &values[i];
    if (!value->present) {
      lua_pushnil(L);
      continue;
    }
    const struct plait_field *field = plait_schema_field(call->schema, plait_pattern_field(pattern, (uint32_t)i));
    if (field->wire == PLAIT_WIRE_BYTES) lua_pushlstring(L, (const char *)value->data, value->length);
    else push_number(call, field, value->bits);
  }
  return count;
}
