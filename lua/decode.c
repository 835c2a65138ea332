/*
 * decode: bytes into Lua tables.
 *
 * One loop reads the fields of a message, and expects the field after the last one. While a repeated field continues,
 * its list stays on the stack above the table, with the number of its elements beside. 64 bits record the fields seen.
 * A field beyond them counts as seen, and then the table is checked.
 *
 * Decoding into a used table gives the same result as into a fresh one. It reuses the table's values, and then removes
 * those that were not seen. Two occurrences of one message are merged, as the format requires.
 */
#include "decode.h"

/* Marks the field as seen. Returns whether it was seen before. */
static inline int see(struct frame *frame, const struct plait_field *field) {
  size_t position = (size_t)(field - frame->fields);
  if (position >= 64) return 1;
  uint64_t bit = 1ull << position;
  int before = (frame->seen & bit) != 0;
  frame->seen |= bit;
  frame->count += !before;
  return before;
}

/* ---- lists ---- */

/* If no list is open, the table is the stack's top. */
static void leave_list(struct call *call, struct frame *frame) {
  for (int i = frame->length + 1; i <= frame->old_length; i++) {
    lua_pushnil(call->L);
    lua_rawseti(call->L, frame->table + 1, i);
  }
  frame->list = NULL;
  frame->old_length = 0;
  lua_settop(call->L, frame->table);
}

/* Opens the field's list or map at table + 1. expected: the number of elements known to come. */
static void enter_list(struct call *call, struct frame *frame, const struct plait_field *field, uint32_t expected) {
  lua_State *L = call->L;
  if (frame->list != NULL) leave_list(call, frame);
  int before = see(frame, field), map = field->flags & PLAIT_FIELD_MAP;
  frame->length = 0;
  frame->list = field;
  if (before || !frame->fresh) {
    push_field_key(call, field);
    lua_rawget(L, frame->table);
    if (lua_istable(L, -1)) {
      int old = (int)lua_rawlen(L, -1);
      if (before || !frame->reuse) {
        frame->length = old;
      } else if (!map) {
        frame->old_length = old;
      } else {
        for (lua_pushnil(L); lua_next(L, -2) != 0;) {
          lua_pop(L, 1);
          lua_pushvalue(L, -1);
          lua_pushnil(L);
          lua_rawset(L, -4);
        }
      }
      return;
    }
    lua_pop(L, 1);
  }
  lua_createtable(L, map ? 0 : (int)expected, 0);
  push_field_key(call, field);
  lua_pushvalue(L, -2);
  lua_rawset(L, frame->table);
}

/* ---- messages ---- */

/*
 * Decodes a message, from after its length or tag, into the value of a singular field or the next element of a list.
 * The stack holds nothing above the frame's table, or that list. *next is the address after the message. Returns 0, or
 * a negated status.
 */
static int decode_value(struct call *call, struct frame *frame, const struct plait_field *field, const uint8_t *at,
    const uint8_t *end, int group, const uint8_t **next) {
  lua_State *L = call->L;
  int top = frame->table + 1, status = 0; /* of the list, or the key */
  enum occurrence occurrence = FRESH;
  if (field->flags & PLAIT_FIELD_REPEATED) {
    occurrence = ELEMENT;
    if (frame->old_length > frame->length) {
      lua_rawgeti(L, top, frame->length + 1);
      if (lua_istable(L, -1)) occurrence = REUSED_ELEMENT;
      else lua_pop(L, 1);
    }
  } else {
    int before = see(frame, field);
    push_field_key(call, field);
    if (before || !frame->fresh) {
      lua_pushvalue(L, -1);
      lua_rawget(L, frame->table);
      if (lua_istable(L, -1)) occurrence = frame->reuse && !before ? REUSED : ANOTHER;
      else lua_pop(L, 1);
    }
  }
  int found = occurrence == REUSED_ELEMENT || occurrence == REUSED || occurrence == ANOTHER;
  if (call->options.pbc) {
    const uint8_t *content_end = end;
    *next = end;
    if (group && (*next = plait_wire_group(at, end, field->tag >> 3, frame->depth - 1, &content_end, &status)) == NULL)
      return decode_fail(call, status, at);
    if (found) lazy_append(call, at, (size_t)(content_end - at));
    else push_lazy(call, field, at, (size_t)(content_end - at));
  } else {
    if (!found) push_table_for(call, field->type);
    status = decode_occurrence(
        call, field->type, at, end, group ? field->tag >> 3 : 0, top + 1, occurrence, frame->depth - 1, next);
    if (status < 0) return status;
  }
  if (field->flags & PLAIT_FIELD_REPEATED) lua_rawseti(L, top, ++frame->length);
  else lua_rawset(L, frame->table);
  return 0;
}

/* Reads a singular message or one element of a list, from after its tag. Returns the address after it, or NULL. */
static const uint8_t *decode_sub(
    struct call *call, struct frame *frame, const struct plait_field *field, const uint8_t *at, const uint8_t *end) {
  int group = field->kind == PLAIT_KIND_GROUP, status = 0;
  const uint8_t *content = at, *next = end;
  if (!group) {
    uint32_t length;
    content = plait_wire_length(at, end, &length);
    if (content == NULL) status = plait_wire_length_status(at, end), content = at;
    else next = content + length;
  }
  if (status == 0) status = decode_value(call, frame, field, content, next, group, &next);
  if (status == 0) return next;
  field_fail(call, status, content, field, field->flags & PLAIT_FIELD_REPEATED ? frame->length + 1 : 0);
  return NULL;
}

/* ---- the loop ---- */

static const uint8_t *decode_packed(
    struct call *call, struct frame *frame, const struct plait_field *field, const uint8_t *at, const uint8_t *end) {
  uint32_t length;
  const uint8_t *next = plait_wire_length(at, end, &length);
  if (next == NULL) {
    field_fail(call, plait_wire_length_status(at, end), at, field, 0);
    return NULL;
  }
  at = next;
  end = at + length;
  if (frame->list != field) {
    uint32_t count = field->wire == PLAIT_WIRE_VARINT ? plait_wire_count_varints(at, end)
                                                      : length / (field->wire == PLAIT_WIRE_64 ? 8 : 4);
    enter_list(call, frame, field, count);
  }
  while (at < end) {
    uint64_t bits;
    next = plait_wire_number(at, end, field->kind, &bits);
    if (next == NULL) {
      field_fail(call, plait_wire_number_status(at, end, field->wire), at, field, frame->length + 1);
      return NULL;
    }
    at = next;
    if (is_closed_out(call, field, bits)) {
      unknown_enum(call, frame, field, bits);
      continue;
    }
    push_number(call, field, bits);
    lua_rawseti(call->L, frame->table + 1, ++frame->length);
  }
  return end;
}

static const uint8_t *decode_map(struct call *call, struct frame *frame, const struct plait_field *field,
    const uint8_t *start, const uint8_t *at, const uint8_t *end) {
  uint32_t length;
  int known;
  const uint8_t *next = plait_wire_length(at, end, &length);
  if (next == NULL) {
    field_fail(call, plait_wire_length_status(at, end), at, field, 0);
    return NULL;
  }
  if (frame->list != field) enter_list(call, frame, field, 0);
  int status = add_entry(call, field, next, next + length, frame->table + 1, frame->depth - 1, &known);
  if (status < 0) {
    path_field(call, field);
    return NULL;
  }
  if (!known) unknown_add(call, frame, start, (size_t)(next + length - start));
  return next + length;
}

static int is_unseen(const struct frame *frame, size_t position) {
  return position >= 64 || !(frame->seen >> position & 1);
}

static void clear_field(struct call *call, const struct frame *frame, const struct plait_field *field) {
  push_field_key(call, field);
  lua_pushnil(call->L);
  lua_rawset(call->L, frame->table);
}

/*
 * Removes the fields of a reused table that did not come: fields from 64 on at the beginning, the others at the end. If
 * the message has many fields, only those in the table are visited.
 */
static void clear_unseen(struct call *call, struct frame *frame, int beginning) {
  lua_State *L = call->L;
  uint32_t count = frame->message->field_count,
           index = (uint32_t)(frame->message - plait_schema_message(call->schema, 0));
  if (count <= 64) {
    for (uint32_t i = 0; i < count; i++)
      if (is_unseen(frame, i)) clear_field(call, frame, &frame->fields[i]);
  } else {
    struct name_guess *guess = names_begin(call->box, index);
    for (lua_pushnil(L); lua_next(L, frame->table) != 0; lua_pop(L, 1)) {
      const struct plait_field *field = names_find(call->box, index, L, frame->table + 1, &guess);
      size_t position = field == NULL ? 0 : (size_t)(field - frame->fields);
      if (field != NULL && (position >= 64) == beginning && is_unseen(frame, position)) clear_field(call, frame, field);
    }
  }
  if (beginning || frame->unknown) return;
  lua_rawgeti(L, call->keys, 0);
  lua_pushnil(L);
  lua_rawset(L, frame->table);
}

/* Reads an item of a MessageSet, from after its first tag. Returns the address after it, or NULL. */
static const uint8_t *decode_set_item(
    struct call *call, struct frame *frame, const uint8_t *start, const uint8_t *at, const uint8_t *end) {
  const uint8_t *content_end, *content;
  uint32_t number, length = 0;
  int status;
  const uint8_t *next = plait_wire_set_item(at, end, frame->depth - 1, &number, &content, &content_end, &status);
  if (next == NULL) {
    decode_fail(call, status, at);
    return NULL;
  }
  const struct plait_field *field =
      content == NULL ? NULL : plait_message_find_number(call->schema, frame->message, number);
  if (field == NULL || !plait_field_is_set_item(frame->message, field)) {
    unknown_add(call, frame, start, (size_t)(next - start));
    return next;
  }
  content = plait_wire_length(content, content_end, &length); /* plait_wire_set_item() has checked it */
  if (frame->list != NULL) leave_list(call, frame);
  status = decode_value(call, frame, field, content, content + length, 0, &content_end);
  if (status == 0) return next;
  field_fail(call, status, content, field, 0);
  return NULL;
}

/*
 * The fast path for most messages: single numbers and strings in the order of the fields. Reads up to the first other
 * field or malformed byte, and leaves the rest to decode_level(). Returns how many fields of the message it has read.
 */
static inline uint32_t decode_expected(
    struct call *call, const struct plait_message *message, const uint8_t **start, const uint8_t *end, int table) {
  lua_State *L = call->L;
  const struct plait_field *field = plait_message_fields(call->schema, message);
  const uint8_t *at = *start;
  uint32_t count = message->field_count < 64 ? message->field_count : 64, position = 0, length;
  uint64_t bits;
  for (; at < end && position < count && *at == field->tag && *at < 0x80; field++, position++) {
    const uint8_t *next = at + 1;
    int key = (int)(1 + message->first_field + position);
    if (field->flags & (PLAIT_FIELD_REPEATED | PLAIT_FIELD_CLOSED) || field->oneof != PLAIT_SCHEMA_NONE) break;
    if (field->wire == PLAIT_WIRE_BYTES) {
      if (field->kind == PLAIT_KIND_MESSAGE) break;
      next = plait_wire_length(next, end, &length);
      if (next == NULL || (field->flags & PLAIT_FIELD_UTF8 && !plait_utf8_valid(next, length))) break;
      lua_rawgeti(L, call->keys, key);
      lua_pushlstring(L, (const char *)next, length);
      next += length;
      /* what push_number() would do */
    } else if (LUA_INTEGERS && field->kind == PLAIT_KIND_INT32 && next < end && *next < 0x80) {
      lua_rawgeti(L, call->keys, key);
      lua_pushinteger(L, *next++);
    } else {
      if (field->wire == PLAIT_WIRE_START) break;
      next = plait_wire_number(next, end, field->kind, &bits);
      if (next == NULL) break;
      lua_rawgeti(L, call->keys, key);
      push_number(call, field, bits);
    }
    lua_rawset(L, table);
    at = next;
  }
  *start = at;
  return position;
}

static inline void note_count(struct call *call, uint32_t message, uint32_t count) {
  call->box->hints[message] = (uint8_t)(count > 255 ? 255 : count);
}

static int decode_level(struct call *call, struct frame *frame, const uint8_t *at, const uint8_t *end, uint32_t group,
    const uint8_t **stop) {
  lua_State *L = call->L;
  const struct plait_message *message = frame->message;
  const struct plait_field *hint = frame->fields + frame->count, *last = frame->fields + message->field_count;
  if (frame->reuse && message->field_count > 64) clear_unseen(call, frame, 1);
  while (at < end) {
    uint32_t tag, length;
    uint64_t bits;
    const uint8_t *start = at;
    at = plait_wire_tag(at, end, &tag);
    if (at == NULL) return decode_fail(call, end - start >= 5 ? -PLAIT_MESSAGE_TAG : -PLAIT_MESSAGE_TRUNCATED, start);
    const struct plait_field *field = hint;
    if (hint == last || hint->tag != tag) {
      field = plait_message_find_number(call->schema, message, tag >> 3);
      if (field == NULL ||
          ((tag & 7) != field->wire && !((tag & 7) == PLAIT_WIRE_BYTES && field->flags & PLAIT_FIELD_PACKABLE))) {
        int status;
        if ((tag & 7) == PLAIT_WIRE_END && group != 0 && tag >> 3 == group) {
          *stop = at;
          goto done;
        }
        if (message->flags & PLAIT_TYPE_MESSAGE_SET && tag == PLAIT_SET_ITEM_BEGIN) {
          at = decode_set_item(call, frame, start, at, end);
          if (at == NULL) return -call->error.status;
          continue;
        }
        at = plait_wire_skip(at, end, tag, frame->depth, &status);
        if (at == NULL) return decode_fail(call, status, start);
        unknown_add(call, frame, start, (size_t)(at - start));
        continue;
      }
    }
    if (field->flags & PLAIT_FIELD_REPEATED) {
      hint = field;
      if (field->flags & PLAIT_FIELD_MAP) {
        at = decode_map(call, frame, field, start, at, end);
        if (at == NULL) return -call->error.status;
        continue;
      }
      if ((tag & 7) != field->wire) {
        at = decode_packed(call, frame, field, at, end);
        if (at == NULL) return -call->error.status;
        continue;
      }
      if (frame->list != field) enter_list(call, frame, field, 1);
      if (plait_kind_is_message(field->kind)) {
        at = decode_sub(call, frame, field, at, end);
        if (at == NULL) return -call->error.status;
        continue;
      }
    } else {
      hint = field + 1;
      if (plait_kind_is_message(field->kind)) {
        if (frame->list != NULL) leave_list(call, frame);
        at = decode_sub(call, frame, field, at, end);
        if (at == NULL) return -call->error.status;
        if (field->oneof != PLAIT_SCHEMA_NONE) oneof_set(call, frame, field);
        continue;
      }
    }
    const uint8_t *next;
    if (field->wire == PLAIT_WIRE_BYTES) {
      next = plait_wire_length(at, end, &length);
      if (next == NULL)
        return field_fail(call, plait_wire_length_status(at, end), at, field,
            field->flags & PLAIT_FIELD_REPEATED ? frame->length + 1 : 0);
      if (field->flags & PLAIT_FIELD_UTF8 && !plait_utf8_valid(next, length))
        return field_fail(
            call, -PLAIT_MESSAGE_UTF8, next, field, field->flags & PLAIT_FIELD_REPEATED ? frame->length + 1 : 0);
      if (!(field->flags & PLAIT_FIELD_REPEATED)) push_field_key(call, field);
      lua_pushlstring(L, (const char *)next, length);
      next += length;
    } else {
      next = plait_wire_number(at, end, field->kind, &bits);
      if (next == NULL)
        return field_fail(call, plait_wire_number_status(at, end, field->wire), at, field,
            field->flags & PLAIT_FIELD_REPEATED ? frame->length + 1 : 0);
      if (is_closed_out(call, field, bits)) {
        unknown_enum(call, frame, field, bits);
        at = next;
        continue;
      }
      if (!(field->flags & PLAIT_FIELD_REPEATED)) push_field_key(call, field);
      push_number(call, field, bits);
    }
    at = next;
    if (field->flags & PLAIT_FIELD_REPEATED) {
      lua_rawseti(L, frame->table + 1, ++frame->length);
    } else {
      see(frame, field);
      lua_rawset(L, frame->table);
      if (field->oneof != PLAIT_SCHEMA_NONE) oneof_set(call, frame, field);
    }
  }
  if (group != 0) return decode_fail(call, -PLAIT_MESSAGE_GROUP, at);
done:
  if (frame->list != NULL) leave_list(call, frame);
  if (frame->reuse) clear_unseen(call, frame, 0);
  if (frame->unknown) unknown_finish(call, frame);
  if (frame->member != NULL && frame->known && !frame->whole) oneof_remember(call, frame);
  note_count(call, (uint32_t)(message - plait_schema_message(call->schema, 0)), frame->count);
  return 0;
}

int decode_occurrence(struct call *call, uint32_t index, const uint8_t *at, const uint8_t *end, uint32_t group,
    int table, enum occurrence occurrence, uint32_t depth, const uint8_t **next) {
  const struct plait_message *message = plait_schema_message(call->schema, index);
  int reuse = occurrence == REUSED || occurrence == REUSED_ELEMENT;
  *next = end;
  if (depth == 0) return decode_fail(call, -PLAIT_MESSAGE_DEPTH, at);
  if (ensure_stack(call, table, DECODE_SLOTS) < 0) return decode_fail(call, -PLAIT_MESSAGE_MEMORY, at);
  uint32_t count = decode_expected(call, message, &at, end, table);
  if (at == end && group == 0 && !reuse) {
    note_count(call, index, count);
    return 0;
  }
  struct frame frame = {
      .message = message,
      .fields = plait_message_fields(call->schema, message),
      .table = table,
      .fresh = occurrence == FRESH || occurrence == ELEMENT,
      .reuse = reuse,
      .whole = occurrence == ELEMENT || occurrence == REUSED_ELEMENT,
      .seen = count < 64 ? (1ull << count) - 1 : ~0ull,
      .count = count,
      .depth = depth,
  };
  return decode_level(call, &frame, at, end, group, next);
}

int decode_message(struct call *call, uint32_t message, const uint8_t *at, const uint8_t *end, int table, int fresh) {
  const uint8_t *stop;
  int status = decode_occurrence(
      call, message, at, end, 0, table, fresh ? ELEMENT : REUSED_ELEMENT, call->options.depth + 1u, &stop);
  if (call->has_parts) {
    lua_settop(call->L, table);
    finish_parts(call);
  }
  return status;
}
