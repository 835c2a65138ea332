/*
 * decode: bytes into Lua tables.
 *
 * One loop over the fields of a message, which expects the field after the last one. While a repeated field goes on, its
 * list stays on the stack above the table, with the number of its elements beside. Which fields were seen is kept in 64
 * bits; a field beyond them counts as seen, and then the table is asked.
 *
 * Decoding into a table that is not fresh gives what decoding into a fresh one would: what is there is reused, then
 * what was not seen is taken out. Two occurrences of one message are merged, as the format wants it.
 */
#include "message.h"

#define DECODE_SLOTS 10 /* of Lua's stack for each level */

struct frame {
  const struct plait_message *message;
  const struct plait_field *fields;
  int table;          /* stack index */
  int fresh;          /* the table had nothing before this occurrence */
  int reuse;          /* it had, and what is not seen now must go */
  uint64_t seen;
  uint32_t count;     /* keys put in, for the next table's size */
  uint32_t depth;
  /* the repeated field that goes on; its list is at table + 1 */
  const struct plait_field *list;
  int length, old_length;
  void *unknown;      /* the buffer that it has put into the table, or NULL */
};

struct unknown {
  size_t used, room;
  uint8_t bytes[];
};

int decode_fail(struct call *call, int status, const uint8_t *at) {
  if (call->error.status == 0) {
    call->error.status = -status;
    call->error.offset = (uint32_t)(at - call->bytes);
  }
  return status;
}

void path_field(struct call *call, const struct plait_field *field) {
  plait__error_add_before(&call->error, plait_schema_name(call->schema, field->name), field->name_length);
  plait__error_add_before(&call->error, ".", 1);
}

static int field_fail(struct call *call, int status, const uint8_t *at, const struct plait_field *field, int index) {
  decode_fail(call, status, at);
  if (index > 0) plait__error_add_index(&call->error, (uint64_t)index);
  path_field(call, field);
  return status;
}

static inline void push_key(struct call *call, const struct plait_field *field) {
  lua_rawgeti(call->L, call->keys, (int)(1 + plait_schema_field_index(call->schema, field)));
}

/* Whether the field was seen before; it is from now on. */
static inline int see(struct frame *frame, const struct plait_field *field) {
  size_t position = (size_t)(field - frame->fields);
  if (position >= 64) return 1;
  uint64_t bit = 1ull << position;
  int before = (frame->seen & bit) != 0;
  frame->seen |= bit;
  frame->count += !before;
  return before;
}

/* ---- unknown fields ---- */

static PLAIT_COLD void unknown_add(struct call *call, struct frame *frame, const uint8_t *bytes, size_t length) {
  lua_State *L = call->L;
  if (!call->options.unknown) return;
  lua_rawgeti(L, call->keys, 0);
  lua_rawget(L, frame->table);
  /* Another one is there if the user's tables hold each other, or if a finalizer has been at it. */
  struct unknown *buffer = frame->unknown != NULL && lua_touserdata(L, -1) == frame->unknown ? frame->unknown : NULL;
  size_t used = 0;
  const void *old = NULL;
  if (buffer != NULL) {
    used = buffer->used;
    old = buffer->bytes;
  } else if (!frame->reuse && lua_type(L, -1) == LUA_TSTRING) {
    old = lua_tolstring(L, -1, &used); /* from an earlier occurrence of this message */
  }
  if (buffer == NULL || buffer->room - used < length) {
    size_t room = (used + length) * 2 + 32;
    buffer = lua_newuserdatauv(L, sizeof *buffer + room, 0);
    buffer->room = room;
    if (used != 0) memcpy(buffer->bytes, old, used);
    lua_rawgeti(L, call->keys, 0);
    lua_pushvalue(L, -2);
    lua_rawset(L, frame->table);
    lua_pop(L, 1);
    frame->unknown = buffer;
  }
  memcpy(buffer->bytes + used, bytes, length);
  buffer->used = used + length;
  lua_pop(L, 1);
}

static PLAIT_COLD void unknown_finish(struct call *call, struct frame *frame) {
  lua_State *L = call->L;
  lua_rawgeti(L, call->keys, 0);
  lua_pushvalue(L, -1);
  lua_rawget(L, frame->table);
  if (lua_touserdata(L, -1) != frame->unknown) {
    lua_pop(L, 2);
    return;
  }
  const struct unknown *buffer = frame->unknown;
  lua_pushlstring(L, (const char *)buffer->bytes, buffer->used);
  lua_remove(L, -2);
  lua_rawset(L, frame->table);
}

/* A number that a closed enum does not name, in the form of an unknown field of its own. */
static PLAIT_COLD void unknown_enum(struct call *call, struct frame *frame, const struct plait_field *field, uint64_t bits) {
  uint8_t space[16];
  struct plait_writer writer = {.start = space, .at = space + sizeof space, .end = space + sizeof space};
  plait_write_varint(&writer, bits);
  plait_write_varint(&writer, field->tag & ~7u);
  unknown_add(call, frame, writer.at, plait_written(&writer));
}

static inline int is_closed_out(struct call *call, const struct plait_field *field, uint64_t bits) {
  return field->flags & PLAIT_FIELD_CLOSED &&
         plait_enum_find_number(call->schema, plait_schema_enum(call->schema, field->type), (int32_t)bits) == NULL;
}

/* ---- lists ---- */

/* While no list goes on, the table is the stack's top. */
static void leave_list(struct call *call, struct frame *frame) {
  for (int i = frame->length + 1; i <= frame->old_length; i++) {
    lua_pushnil(call->L);
    lua_rawseti(call->L, frame->table + 1, i);
  }
  frame->list = NULL;
  frame->old_length = 0;
  lua_settop(call->L, frame->table);
}

/* Makes the field's list (or map) the one at table + 1. expected: how many elements are known to come. */
static void enter_list(struct call *call, struct frame *frame, const struct plait_field *field, uint32_t expected) {
  lua_State *L = call->L;
  if (frame->list != NULL) leave_list(call, frame);
  int before = see(frame, field), map = field->flags & PLAIT_FIELD_MAP;
  frame->length = 0;
  frame->list = field;
  if (before || !frame->fresh) {
    push_key(call, field);
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
  push_key(call, field);
  lua_createtable(L, map ? 0 : (int)expected, 0);
  lua_pushvalue(L, -1);
  lua_insert(L, -3); /* list, key, list */
  lua_rawset(L, frame->table);
}

/* ---- messages ---- */

static int decode_level(struct call *call, struct frame *frame, const uint8_t *at, const uint8_t *end, uint32_t group,
                        const uint8_t **stop);

static int new_frame(struct call *call, struct frame *frame, uint32_t message, int table, int fresh, uint32_t depth) {
  *frame = (struct frame){.message = plait_schema_message(call->schema, message), .table = table, .fresh = fresh, .depth = depth};
  frame->fields = plait_message_fields(call->schema, frame->message);
  if (depth == 0) return -PLAIT_MESSAGE_DEPTH;
  return lua_checkstack(call->L, DECODE_SLOTS) ? 0 : -PLAIT_MESSAGE_MEMORY;
}

/* pbc: {type name, bytes} with a metatable that decodes at the first touch. */
static void push_lazy(struct call *call, const struct plait_field *field, const uint8_t *at, size_t length) {
  lua_State *L = call->L;
  const struct plait_message *message = plait_schema_message(call->schema, field->type);
  lua_createtable(L, 2, 0);
  lua_pushlstring(L, plait_schema_name(call->schema, message->name), message->name_length);
  lua_rawseti(L, -2, 1);
  lua_pushlstring(L, (const char *)at, length);
  lua_rawseti(L, -2, 2);
  push_pbc_metatable(call, field->type, 1);
  lua_setmetatable(L, -2);
}

/* Bytes of the message on top, whose second occurrence has come, and the new ones behind. */
static void lazy_append(struct call *call, const uint8_t *at, size_t length) {
  lua_State *L = call->L;
  lua_rawgeti(L, -1, 2);
  lua_pushlstring(L, (const char *)at, length);
  lua_concat(L, 2);
  lua_rawseti(L, -2, 2);
}

/*
 * Decodes a message into the table on top of the stack, from behind its tag or length. *next is the place behind it.
 * reuse: the table is an old one.
 */
static int decode_into_top(struct call *call, const struct plait_field *field, const uint8_t *at, const uint8_t *end, int group,
                           int fresh, int reuse, uint32_t depth, const uint8_t **next) {
  struct frame inner;
  int status = new_frame(call, &inner, field->type, lua_gettop(call->L), fresh, depth);
  inner.reuse = reuse;
  *next = end;
  if (status < 0) return decode_fail(call, status, at);
  return decode_level(call, &inner, at, end, group ? field->tag >> 3 : 0, next);
}

static void push_table_for(struct call *call, uint32_t message) {
  lua_createtable(call->L, 0, call->box->hints[message]);
}

int push_message(struct call *call, const struct plait_field *field, const uint8_t *at, uint32_t length, uint32_t depth) {
  const uint8_t *next;
  if (call->options.pbc) {
    push_lazy(call, field, at, length);
    return 0;
  }
  push_table_for(call, field->type);
  return decode_into_top(call, field, at, at + length, 0, 1, 0, depth, &next);
}

/* A singular message or one element of a list, from behind its tag. Returns the place behind it, or NULL. */
static const uint8_t *decode_sub(struct call *call, struct frame *frame, const struct plait_field *field, const uint8_t *at,
                                 const uint8_t *end) {
  lua_State *L = call->L;
  int group = field->kind == PLAIT_KIND_GROUP, repeated = field->flags & PLAIT_FIELD_REPEATED, status;
  const uint8_t *content = at, *next = end;
  if (!group) {
    uint32_t length;
    content = plait_wire_length(at, end, &length);
    if (content == NULL) {
      field_fail(call, plait_wire_length_status(at, end), at, field, repeated ? frame->length + 1 : 0);
      return NULL;
    }
    next = content + length;
  }
  int before = 0, fresh = 1, reuse = 0, found = 0;
  if (repeated) {
    if (frame->old_length > frame->length) {
      lua_rawgeti(L, frame->table + 1, frame->length + 1);
      found = 1;
      reuse = 1;
    }
  } else {
    before = see(frame, field);
    push_key(call, field);
    if (before || !frame->fresh) {
      lua_pushvalue(L, -1);
      lua_rawget(L, frame->table);
      found = 1;
      reuse = frame->reuse && !before;
    }
  }
  if (found && !lua_istable(L, -1)) {
    lua_pop(L, 1);
    found = reuse = 0;
  }
  fresh = !found;
  if (call->options.pbc) {
    const uint8_t *content_end = next;
    if (group && (next = plait_wire_group(content, end, field->tag >> 3, frame->depth - 1, &content_end, &status)) == NULL) {
      field_fail(call, status, content, field, repeated ? frame->length + 1 : 0);
      return NULL;
    }
    if (found) lazy_append(call, content, (size_t)(content_end - content));
    else push_lazy(call, field, content, (size_t)(content_end - content));
  } else {
    if (!found) push_table_for(call, field->type);
    status = decode_into_top(call, field, content, next, group, fresh, reuse, frame->depth - 1, &next);
    if (status < 0) {
      field_fail(call, status, content, field, repeated ? frame->length + 1 : 0);
      return NULL;
    }
  }
  if (repeated) lua_rawseti(L, frame->table + 1, ++frame->length);
  else lua_rawset(L, frame->table);
  return next;
}

/* An integer of the FFI is a key that nobody finds again. */
static void push_map_key(struct call *call, const struct plait_field *key, uint64_t bits) {
  uint8_t int64 = call->options.int64;
  if (int64 == INT64_CDATA) call->options.int64 = INT64_EXACT;
  push_number(call, key, bits);
  call->options.int64 = int64;
}

int add_entry(struct call *call, const struct plait_field *field, const uint8_t *at, const uint8_t *end, int table, uint32_t depth,
              int *known) {
  lua_State *L = call->L;
  const struct plait_message *entry = plait_schema_message(call->schema, field->type);
  const struct plait_field *key = plait_message_fields(call->schema, entry), *value = key + 1;
  uint64_t key_bits = key->default_bits, value_bits = value->default_bits;
  const uint8_t *key_data = (const uint8_t *)"", *value_data = key_data;
  uint32_t key_length = 0, value_length = 0, merged = 0;
  int status;
  *known = 1;
  if (depth == 0) return decode_fail(call, -PLAIT_MESSAGE_DEPTH, at);
  if (!lua_checkstack(L, DECODE_SLOTS)) return decode_fail(call, -PLAIT_MESSAGE_MEMORY, at);
  int base = lua_gettop(L);
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
      if (merged++ == 0) push_message(call, part, next, 0, depth);
      else lua_pushvalue(L, base + 1);
      if (call->options.pbc) {
        lazy_append(call, next, length);
      } else {
        const uint8_t *stop;
        status = decode_into_top(call, part, next, next + length, 0, merged == 1, 0, depth - 1, &stop);
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
    if (merged == 0) push_message(call, value, end, 0, depth);
    else lua_pushvalue(L, base + 1);
  } else if (value->wire == PLAIT_WIRE_BYTES) {
    lua_pushlstring(L, (const char *)value_data, value_length);
  } else {
    push_number(call, value, value_bits);
  }
  lua_rawset(L, table);
  lua_settop(L, base);
  return 0;
}

/* ---- the loop ---- */

static const uint8_t *decode_packed(struct call *call, struct frame *frame, const struct plait_field *field, const uint8_t *at,
                                    const uint8_t *end) {
  uint32_t length;
  const uint8_t *next = plait_wire_length(at, end, &length);
  if (next == NULL) {
    field_fail(call, plait_wire_length_status(at, end), at, field, 0);
    return NULL;
  }
  at = next;
  end = at + length;
  if (frame->list != field) {
    uint32_t count = field->wire == PLAIT_WIRE_VARINT ? plait_wire_count_varints(at, end) : length / (field->wire == PLAIT_WIRE_64 ? 8 : 4);
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

static const uint8_t *decode_map(struct call *call, struct frame *frame, const struct plait_field *field, const uint8_t *start,
                                 const uint8_t *at, const uint8_t *end) {
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

static PLAIT_COLD void clear_others(struct call *call, struct frame *frame, const struct plait_field *field) {
  const struct plait_oneof *oneof = plait_schema_oneof(call->schema, field->oneof);
  for (uint32_t i = 0; i < oneof->member_count; i++) {
    const struct plait_field *other = plait_schema_field(call->schema, plait_schema_member(call->schema, oneof->first_member + i));
    size_t position = (size_t)(other - frame->fields);
    if (other == field || (position < 64 && frame->fresh && !(frame->seen >> position & 1))) continue;
    push_key(call, other);
    lua_pushnil(call->L);
    lua_rawset(call->L, frame->table);
    if (position < 64) frame->seen &= ~(1ull << position);
  }
}

/* Of a table that is reused: takes out what was there and did not come. From 64 on: at the beginning, the others at the end. */
static void clear_unseen(struct call *call, struct frame *frame, uint32_t first) {
  uint32_t count = frame->message->field_count;
  for (uint32_t i = first; i < (first == 0 && count > 64 ? 64 : count); i++) {
    if (i < 64 && frame->seen >> i & 1) continue;
    push_key(call, &frame->fields[i]);
    lua_pushnil(call->L);
    lua_rawset(call->L, frame->table);
  }
  if (first != 0 || frame->unknown != NULL) return;
  lua_rawgeti(call->L, call->keys, 0);
  lua_pushnil(call->L);
  lua_rawset(call->L, frame->table);
}

/* MessageSet: group 1 { 2: number of the extension; 3: its bytes }. */
static const uint8_t *decode_set_item(struct call *call, struct frame *frame, const uint8_t *start, const uint8_t *at,
                                      const uint8_t *end) {
  lua_State *L = call->L;
  const uint8_t *content_end, *next, *data = NULL;
  uint64_t number = 0;
  uint32_t tag, length = 0, parts = 0;
  int status;
  next = plait_wire_group(at, end, 1, frame->depth - 1, &content_end, &status);
  if (next == NULL) {
    decode_fail(call, status, at);
    return NULL;
  }
  /* The group has been walked once, so nothing in it can fail any more. */
  while (at < content_end) {
    at = plait_wire_tag(at, content_end, &tag);
    if (at == NULL) break;
    if (tag == (2 << 3 | PLAIT_WIRE_VARINT) && number == 0) plait_wire_varint(at, content_end, &number);
    if (tag == (3 << 3 | PLAIT_WIRE_BYTES) && parts++ == 0) data = plait_wire_length(at, content_end, &length);
    at = plait_wire_skip(at, content_end, tag, frame->depth, &status);
    if (at == NULL) break;
  }
  const struct plait_field *field =
      number <= PLAIT_FIELD_NUMBER_LIMIT ? plait_message_find_number(call->schema, frame->message, (uint32_t)number) : NULL;
  if (field == NULL || field->kind != PLAIT_KIND_MESSAGE || field->flags & PLAIT_FIELD_REPEATED || data == NULL) {
    unknown_add(call, frame, start, (size_t)(next - start));
    return next;
  }
  if (frame->list != NULL) leave_list(call, frame);
  int before = see(frame, field);
  push_key(call, field);
  if (before || !frame->fresh) {
    lua_pushvalue(L, -1);
    lua_rawget(L, frame->table);
  }
  int found = (before || !frame->fresh) && lua_istable(L, -1);
  if ((before || !frame->fresh) && !found) lua_pop(L, 1);
  if (call->options.pbc) {
    if (found) lazy_append(call, data, length);
    else push_lazy(call, field, data, length);
  } else {
    const uint8_t *stop;
    if (!found) push_table_for(call, field->type);
    status = decode_into_top(call, field, data, data + length, 0, !found, found && !before && frame->reuse, frame->depth - 1, &stop);
    if (status < 0) {
      path_field(call, field);
      return NULL;
    }
  }
  lua_rawset(L, frame->table);
  return next;
}

static int decode_level(struct call *call, struct frame *frame, const uint8_t *at, const uint8_t *end, uint32_t group,
                        const uint8_t **stop) {
  lua_State *L = call->L;
  const struct plait_message *message = frame->message;
  const struct plait_field *hint = frame->fields, *last = frame->fields + message->field_count;
  if (frame->reuse && message->field_count > 64) clear_unseen(call, frame, 64);
  while (at < end) {
    uint32_t tag, length;
    uint64_t bits;
    const uint8_t *start = at;
    at = plait_wire_tag(at, end, &tag);
    if (at == NULL) return decode_fail(call, end - start >= 5 ? -PLAIT_MESSAGE_TAG : -PLAIT_MESSAGE_TRUNCATED, start);
    const struct plait_field *field = hint;
    if (hint == last || hint->tag != tag) {
      field = plait_message_find_number(call->schema, message, tag >> 3);
      if (field == NULL || ((tag & 7) != field->wire && !((tag & 7) == PLAIT_WIRE_BYTES && field->flags & PLAIT_FIELD_PACKABLE))) {
        int status;
        if ((tag & 7) == PLAIT_WIRE_END && group != 0 && tag >> 3 == group) {
          *stop = at;
          goto done;
        }
        if (message->flags & PLAIT_TYPE_MESSAGE_SET && tag == (1 << 3 | PLAIT_WIRE_START)) {
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
        if (field->oneof != PLAIT_SCHEMA_NONE) clear_others(call, frame, field);
        continue;
      }
    }
    const uint8_t *next;
    if (field->wire == PLAIT_WIRE_BYTES) {
      next = plait_wire_length(at, end, &length);
      if (next == NULL)
        return field_fail(call, plait_wire_length_status(at, end), at, field, field->flags & PLAIT_FIELD_REPEATED ? frame->length + 1 : 0);
      if (field->flags & PLAIT_FIELD_UTF8 && !plait_utf8_valid(next, length))
        return field_fail(call, -PLAIT_MESSAGE_UTF8, next, field, field->flags & PLAIT_FIELD_REPEATED ? frame->length + 1 : 0);
      if (!(field->flags & PLAIT_FIELD_REPEATED)) push_key(call, field);
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
      if (!(field->flags & PLAIT_FIELD_REPEATED)) push_key(call, field);
      push_number(call, field, bits);
    }
    at = next;
    if (field->flags & PLAIT_FIELD_REPEATED) {
      lua_rawseti(L, frame->table + 1, ++frame->length);
    } else {
      see(frame, field);
      lua_rawset(L, frame->table);
      if (field->oneof != PLAIT_SCHEMA_NONE) clear_others(call, frame, field);
    }
  }
  if (group != 0) return decode_fail(call, -PLAIT_MESSAGE_GROUP, at);
done:
  if (frame->list != NULL) leave_list(call, frame);
  if (frame->reuse) clear_unseen(call, frame, 0);
  if (frame->unknown != NULL) unknown_finish(call, frame);
  call->box->hints[message - plait_schema_message(call->schema, 0)] = (uint8_t)(frame->count > 255 ? 255 : frame->count);
  return 0;
}

int decode_message(struct call *call, const struct plait_message *message, const uint8_t *at, const uint8_t *end, int table, int fresh) {
  struct frame frame;
  const uint8_t *stop;
  lua_settop(call->L, table);
  int status = new_frame(call, &frame, (uint32_t)(message - plait_schema_message(call->schema, 0)), table, fresh, call->options.depth + 1u);
  frame.reuse = !fresh;
  if (status < 0) return decode_fail(call, status, at);
  return decode_level(call, &frame, at, end, 0, &stop);
}

/* ---- required fields ---- */

int check_required(struct call *call, const struct plait_message *message, int table, uint32_t depth) {
  lua_State *L = call->L;
  int status = 0;
  /* The user's tables may hold each other, or be one for two fields. */
  if (depth == 0) return decode_fail(call, -PLAIT_MESSAGE_DEPTH, call->bytes);
  if (!lua_istable(L, table)) return decode_fail(call, -PLAIT_MESSAGE_TYPE, call->bytes);
  if (!lua_checkstack(L, DECODE_SLOTS)) return decode_fail(call, -PLAIT_MESSAGE_MEMORY, call->bytes);
  int top = lua_gettop(L);
  for (uint32_t i = 0; i < message->field_count && status == 0; i++) {
    const struct plait_field *field = plait_message_fields(call->schema, message) + i;
    if (!(field->flags & PLAIT_FIELD_REQUIRED) && !plait_kind_is_message(field->kind)) continue;
    push_key(call, field);
    lua_rawget(L, table);
    if (lua_isnil(L, -1)) {
      if (field->flags & PLAIT_FIELD_REQUIRED) status = field_fail(call, -PLAIT_MESSAGE_REQUIRED, call->bytes, field, 0);
    } else if (field->flags & PLAIT_FIELD_REPEATED && !lua_istable(L, -1)) {
      status = field_fail(call, -PLAIT_MESSAGE_TYPE, call->bytes, field, 0);
    } else if (field->flags & PLAIT_FIELD_MAP) {
      const struct plait_field *value = plait_message_fields(call->schema, plait_schema_message(call->schema, field->type)) + 1;
      if (value->kind == PLAIT_KIND_MESSAGE) {
        for (lua_pushnil(L); status == 0 && lua_next(L, -2) != 0; lua_pop(L, 1))
          status = check_required(call, plait_schema_message(call->schema, value->type), lua_gettop(L), depth - 1);
        if (status < 0) path_field(call, field);
      }
    } else if (field->flags & PLAIT_FIELD_REPEATED) {
      int count = (int)lua_rawlen(L, -1);
      for (int j = 1; j <= count && status == 0; j++) {
        lua_rawgeti(L, -1, j);
        status = check_required(call, plait_schema_message(call->schema, field->type), lua_gettop(L), depth - 1);
        if (status < 0) field_fail(call, status, call->bytes, field, j);
        lua_pop(L, 1);
      }
    } else if (plait_kind_is_message(field->kind)) {
      status = check_required(call, plait_schema_message(call->schema, field->type), lua_gettop(L), depth - 1);
      if (status < 0) path_field(call, field);
    }
    lua_settop(L, top);
  }
  return status;
}
