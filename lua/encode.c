/*
 * encode: Lua tables into bytes, backwards.
 *
 * A table's keys are walked once. Each key is found by its address among the schema's names, and stays on the stack
 * with its value. Then the values are written from the highest field number to the lowest. So the bytes are in the
 * order of the numbers, whatever the order of the table. From a table with many keys, one field after the other is read
 * instead.
 *
 * No Lua function that could call back (a metamethod) is used. There are two exceptions: the conversion of the FFI's
 * integers and, for pbc, the copy of a table before it is walked (proxies.c). An error leaves nothing behind: see
 * message.h.
 */
#include "encode.h"

#include <stdlib.h>

#define KEYS_ON_STACK 24 /* keys that may stay on the stack with their values */

/*
 * A field of the walked table, and its value: on the stack at `index`, or, if index is 0, the bits or bytes to write.
 */
struct item {
  const struct plait_field *field;
  union {
    uint64_t bits;
    const char *text;
  };
  size_t length;
  int index;
};

/* Continues the buffer in a userdata, which the stack holds. It may raise an error, and then nothing is lost. */
static int writer_grow(struct plait_writer *writer, size_t need) {
  struct call *call = writer->context;
  size_t used = plait_written(writer), size = (size_t)(writer->end - writer->start);
  if (need > PLAIT_WIRE_LENGTH_LIMIT || used + need > PLAIT_WIRE_LENGTH_LIMIT) return -PLAIT_MESSAGE_MEMORY;
  if (!lua_checkstack(call->L, 2)) return -PLAIT_MESSAGE_MEMORY;
  do size *= 2;
  while (size < used + need);
  uint8_t *block = lua_newuserdatauv(call->L, size, 0);
  memcpy(block + size - used, writer->at, used);
  writer->start = block;
  writer->end = block + size;
  writer->at = writer->end - used;
  if (call->buffer == 0) call->buffer = lua_gettop(call->L);
  else lua_replace(call->L, call->buffer);
  return 0;
}

void start_writer(struct call *call, int buffer) {
  uint8_t *end = call->space + sizeof call->space;
  call->writer =
      (struct plait_writer){.start = call->space, .at = end, .end = end, .grow = writer_grow, .context = call};
  call->buffer = buffer;
}

int encoded_bytes(lua_State *L, int index, const uint8_t **data, size_t *length) {
  index = lua_absindex(L, index);
  if (lua_type(L, index) == LUA_TSTRING) {
    *data = (const uint8_t *)lua_tolstring(L, index, length);
    return 1;
  }
  if (!lua_istable(L, index)) return 0;
  lua_rawgeti(L, index, 1);
  lua_rawgeti(L, index, 2);
  int found = lua_islightuserdata(L, -2) && lua_type(L, -1) == LUA_TNUMBER;
  if (found) {
    lua_Number size = lua_tonumber(L, -1);
    *data = lua_touserdata(L, -2);
    *length = size >= 0 && size <= PLAIT_WIRE_LENGTH_LIMIT ? (size_t)size : 0;
    if (*data == NULL) *length = 0;
  }
  lua_pop(L, 2);
  return found;
}

/* pbc: a message that was received but never touched still consists of its bytes. */
static int lazy_bytes(
    struct call *call, const struct plait_field *field, int index, const uint8_t **data, size_t *length) {
  lua_State *L = call->L;
  if (!lua_istable(L, index) || !lua_getmetatable(L, index)) return 0;
  push_pbc_metatable(call, field->type, 1);
  int lazy = lua_rawequal(L, -1, -2);
  lua_pop(L, 1);
  if (!lazy) lazy = is_lazy_metatable(L); /* from before the last registration */
  lua_pop(L, 1);
  if (!lazy) return 0;
  lua_rawgeti(L, index, 2);
  if (lua_type(L, -1) != LUA_TSTRING) {
    lua_pop(L, 1);
    return 0;
  }
  *data = (const uint8_t *)lua_tolstring(L, -1, length);
  lua_replace(L, index); /* replaces its table, which a finalizer may decode while a buffer grows */
  return 1;
}

int encode_sub(struct call *call, const struct plait_field *field, int index, int top, uint32_t depth) {
  struct plait_writer *writer = &call->writer;
  lua_State *L = call->L;
  const uint8_t *data = NULL;
  size_t size = 0;
  int status = 0, type = lua_type(L, index), encoded = type == LUA_TSTRING;
  if (depth == 0) return -PLAIT_MESSAGE_DEPTH;
  if (ensure_stack(call, top, ENCODE_SLOTS) < 0) return -PLAIT_MESSAGE_MEMORY;
  if (field->kind == PLAIT_KIND_GROUP && (status = plait_write_varint(writer, (field->tag & ~7u) | PLAIT_WIRE_END)) < 0)
    return status;
  size_t before = plait_written(writer);
  if (encoded) data = (const uint8_t *)lua_tolstring(L, index, &size);
  else if (type != LUA_TTABLE) return -PLAIT_MESSAGE_TYPE;
  else if (call->options.pbc)
    encoded = lazy_bytes(call, field, index, &data, &size) || encoded_bytes(L, index, &data, &size);
  if (!encoded) {
    if (call->options.pbc && (status = replace_proxy(call, index, SHAPE_MESSAGE)) < 0) return status;
    status = encode_message(call, field->type, index, top, depth - 1);
    lua_settop(L, top);
  } else if (size > PLAIT_WIRE_LENGTH_LIMIT) {
    status = -PLAIT_MESSAGE_SIZE;
  } else {
    status = plait_write_raw(writer, data, size);
  }
  if (status < 0) return status;
  size_t length = plait_written(writer) - before;
  if (length > PLAIT_WIRE_LENGTH_LIMIT) return -PLAIT_MESSAGE_SIZE;
  return field->kind == PLAIT_KIND_GROUP ? 0 : plait_write_varint(writer, length);
}

static int encode_text(struct call *call, const struct plait_field *field, const char *text, size_t length) {
  if (length > PLAIT_WIRE_LENGTH_LIMIT) return -PLAIT_MESSAGE_SIZE;
  if (field->flags & PLAIT_FIELD_UTF8 && !plait_utf8_valid((const uint8_t *)text, length)) return -PLAIT_MESSAGE_UTF8;
  int status = plait_write_raw(&call->writer, text, length);
  return status < 0 ? status : plait_write_varint(&call->writer, length);
}

int encode_bytes(struct call *call, const struct plait_field *field, int index) {
  lua_State *L = call->L;
  size_t length;
  int type = lua_type(L, index);
  if (type == LUA_TSTRING) {
    const char *text = lua_tolstring(L, index, &length);
    return encode_text(call, field, text, length);
  }
  if (type != LUA_TNUMBER || !call->options.pbc) return -PLAIT_MESSAGE_TYPE;
  lua_pushvalue(L, index); /* lua_tolstring() would change the number in place */
  const char *text = lua_tolstring(L, -1, &length);
  int status = encode_text(call, field, text, length);
  lua_pop(L, 1);
  return status;
}

/* ---- fields ---- */

static PLAIT_COLD int missing(struct call *call, const struct plait_message *message, int table) {
  lua_State *L = call->L;
  for (uint32_t i = 0; i < message->field_count; i++) {
    const struct plait_field *field = plait_message_fields(call->schema, message) + i;
    if (!(field->flags & PLAIT_FIELD_REQUIRED)) continue;
    push_field_key(call, field);
    lua_rawget(L, table);
    int absent = lua_isnil(L, -1);
    lua_pop(L, 1);
    if (absent) return value_fail(call, -PLAIT_MESSAGE_REQUIRED, field, 0);
  }
  return 0;
}

/* Handles a key that names no field. If it is the key of unknown fields, writes them and returns 0. */
static PLAIT_COLD int other_key(struct call *call, int key, int value) {
  lua_State *L = call->L;
  lua_rawgeti(L, call->keys, 0);
  int unknown = lua_rawequal(L, -1, key) && lua_type(L, value) == LUA_TSTRING;
  lua_pop(L, 1);
  if (unknown) {
    size_t length;
    const char *bytes = lua_tolstring(L, value, &length);
    return length > PLAIT_WIRE_LENGTH_LIMIT ? -PLAIT_MESSAGE_SIZE : plait_write_raw(&call->writer, bytes, length);
  }
  encode_fail(call, -PLAIT_MESSAGE_NAME);
  size_t length;
  lua_pushvalue(L, key);
  const char *name =
      lua_type(L, -1) == LUA_TSTRING || lua_type(L, -1) == LUA_TNUMBER ? lua_tolstring(L, -1, &length) : NULL;
  if (name == NULL) name = lua_typename(L, lua_type(L, -1)), length = strlen(name);
  plait__error_add_before(&call->error, name, length > 100 ? 100 : length);
  plait__error_add_before(&call->error, ".", 1);
  lua_pop(L, 1);
  return -PLAIT_MESSAGE_NAME;
}

/* Notes the error for a second member of a oneof. */
static PLAIT_COLD int two_members(struct call *call, const struct plait_field *field) {
  return value_fail(call, -PLAIT_MESSAGE_ONEOF, field, 0);
}

/*
 * Takes the value at index, which stays on the stack. For a single number or string, it notes the bits or bytes to
 * write; it leaves any other value to encode_field(). It allocates nothing, so no finalizer runs while a table is
 * walked. Exception: integers of the FFI.
 */
static inline int take_value(
    struct call *call, lua_State *L, const struct plait_field *field, int index, struct item *item) {
  int type = lua_type(L, index);
  item->field = field;
  item->index = 0;
  if (field->flags & PLAIT_FIELD_REPEATED || type == LUA_TCDATA) {
    item->index = index;
  } else if (field->wire != PLAIT_WIRE_BYTES && field->wire != PLAIT_WIRE_START) {
#if LUA_INTEGERS
    /* what to_bits() would do */
    if (type == LUA_TNUMBER && (field->kind == PLAIT_KIND_INT32 || field->kind == PLAIT_KIND_INT64)) {
      int is_integer;
      lua_Integer value = lua_tointegerx(L, index, &is_integer);
      item->bits = (uint64_t)value;
      if (is_integer && (field->kind == PLAIT_KIND_INT64 || value == (int32_t)value)) return 0;
    }
#endif
    return to_bits(call, field, index, type, &item->bits);
  } else if (type == LUA_TSTRING && !plait_kind_is_message(field->kind)) {
    item->text = lua_tolstring(L, index, &item->length);
  } else {
    item->index = index;
  }
  return 0;
}

/* Writes a value that take_value() has noted, of any length. */
static PLAIT_ONCE int write_value(struct call *call, const struct item *item) {
  const struct plait_field *field = item->field;
  int status = field->wire == PLAIT_WIRE_BYTES ? encode_text(call, field, item->text, item->length)
                                               : plait_write_number(&call->writer, field->kind, item->bits);
  if (status == 0) status = plait_write_varint(&call->writer, field->tag);
  return status == 0 ? 0 : value_fail(call, status, field, 0);
}

/* The same, with a fast path for short values of fields with small numbers. */
static inline int write_item(struct call *call, const struct item *item) {
  struct plait_writer *writer = &call->writer;
  const struct plait_field *field = item->field;
  uint8_t *at = writer->at;
  size_t room = (size_t)(at - writer->start);
  if (field->wire == PLAIT_WIRE_BYTES) {
    size_t length = item->length;
    if (field->flags & PLAIT_FIELD_IMPLICIT && length == 0) return 0;
    if ((length | field->tag) >= 0x80 || room < length + 2 || field->flags & PLAIT_FIELD_UTF8)
      return write_value(call, item);
    at -= length + 2;
    at[1] = (uint8_t)length;
    memcpy(at + 2, item->text, length);
  } else {
    uint64_t bits = item->bits;
    if (field->flags & PLAIT_FIELD_IMPLICIT && bits == 0) return 0;
    if ((bits | field->tag) >= 0x80 || room < 2 || field->wire != PLAIT_WIRE_VARINT || field->kind >= PLAIT_KIND_SINT32)
      return write_value(call, item);
    at -= 2;
    at[1] = (uint8_t)bits;
  }
  at[0] = (uint8_t)field->tag;
  writer->at = at;
  return 0;
}

/* Writes a field with its tag, whose value at index take_value() has not noted. */
static int encode_field(struct call *call, const struct plait_message *message, const struct plait_field *field,
    int index, int top, uint32_t depth) {
  struct plait_writer *writer = &call->writer;
  size_t before = plait_written(writer);
  int status;
  if (field->flags & PLAIT_FIELD_REPEATED) {
    status = encode_repeated(call, field, index, top, depth);
  } else if (plait_field_is_set_item(message, field)) {
    status = plait_write_set_item_end(writer);
    if (status == 0) status = encode_sub(call, field, index, top, depth);
    if (status == 0) status = plait_write_set_item_begin(writer, field->tag >> 3);
  } else if (field->wire != PLAIT_WIRE_BYTES && field->wire != PLAIT_WIRE_START) {
    struct item item = {.field = field};
    status = to_bits(call, field, index, lua_type(call->L, index), &item.bits);
    if (status == 0) return write_item(call, &item);
  } else {
    status = encode_value(call, field, index, top, depth);
    if (status == 0 && field->flags & PLAIT_FIELD_IMPLICIT && plait_written(writer) == before + 1) {
      writer->at++; /* the length of an empty string */
      return 0;
    }
    if (status == 0) status = plait_write_varint(writer, field->tag);
  }
  return status == 0 ? 0 : value_fail(call, status, field, 0);
}

/* A field that a table has, for sorting. */
struct given {
  uint32_t oneof, field;
};

static int compare_oneofs(const void *left, const void *right) {
  const struct given *a = left, *b = right;
  if (a->oneof != b->oneof) return a->oneof < b->oneof ? -1 : 1;
  return a->field < b->field ? -1 : a->field > b->field;
}

static int compare_fields(const void *left, const void *right) {
  const struct given *a = left, *b = right;
  return a->field < b->field ? -1 : a->field > b->field;
}

/*
 * Encodes a table with more keys than may lie on the stack. The first walk counts the keys and checks that they are
 * known, and the second notes their fields. Then the fields are written one by one. The cost depends on the number of
 * keys, not on the number of fields of the message type.
 */
static int encode_many(struct call *call, const struct plait_message *message, int table, int top, uint32_t depth) {
  lua_State *L = call->L;
  uint32_t index = (uint32_t)(message - plait_schema_message(call->schema, 0)), count = 0, limit = 0;
  struct name_guess *guess = names_begin(call->box, index);
  int status;
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1), limit++)
    if (names_find(call->box, index, L, top + 1, &guess) == NULL && (status = other_key(call, top + 1, top + 2)) < 0)
      return status;
  struct given *given = lua_newuserdatauv(L, limit * sizeof *given + 1, 0);
  top++;
  for (lua_pushnil(L); count < limit && lua_next(L, table) != 0; lua_pop(L, 1)) {
    const struct plait_field *field = names_find(call->box, index, L, top + 1, &guess);
    if (field != NULL) given[count++] = (struct given){field->oneof, plait_schema_field_index(call->schema, field)};
  }
  lua_settop(L, top);
  if (message->oneof_count != 0 && !call->options.pbc) {
    qsort(given, count, sizeof *given, compare_oneofs);
    for (uint32_t i = 1; i < count; i++)
      if (given[i].oneof != PLAIT_SCHEMA_NONE && given[i].oneof == given[i - 1].oneof)
        return two_members(call, plait_schema_field(call->schema, given[i].field));
  }
  qsort(given, count, sizeof *given, compare_fields);
  while (count-- > 0) {
    const struct plait_field *field = plait_schema_field(call->schema, given[count].field);
    push_field_key(call, field);
    lua_rawget(L, table);
    if (!lua_isnil(L, -1)) {
      struct item item;
      status = take_value(call, L, field, top + 1, &item);
      if (status < 0) return value_fail(call, status, field, 0);
      status = item.index == 0 ? write_item(call, &item) : encode_field(call, message, field, top + 1, top + 1, depth);
      if (status < 0) return status;
    }
    lua_settop(L, top);
  }
  return 0;
}

/* Whether two of the items are members of one oneof. If so, notes the error. */
static PLAIT_ONCE int check_members(struct call *call, const struct item *items, int count) {
  for (int i = 1; i < count; i++)
    for (int j = 0; j < i; j++)
      if (items[i].field->oneof != PLAIT_SCHEMA_NONE && items[i].field->oneof == items[j].field->oneof)
        return two_members(call, items[i].field > items[j].field ? items[i].field : items[j].field);
  return 0;
}

int encode_message(struct call *call, uint32_t index, int table, int top, uint32_t depth) {
  lua_State *L = call->L;
  const struct plait_message *message = plait_schema_message(call->schema, index);
  struct item items[KEYS_ON_STACK], *item = items;         /* in the order of the table */
  const struct item *order[KEYS_ON_STACK], **last = order; /* ... and in the order of their fields */
  struct name_guess *guess = names_begin(call->box, index);
  int bottom = top, status;
  size_t before = plait_written(&call->writer);
  if (depth == 0) return encode_fail(call, -PLAIT_MESSAGE_DEPTH);
  if (ensure_stack(call, top, ENCODE_SLOTS) < 0) return encode_fail(call, -PLAIT_MESSAGE_MEMORY);
  if (call->options.required && message->flags & PLAIT_TYPE_REQUIRED && (status = missing(call, message, table)) < 0)
    return status;
  lua_pushnil(L);
  while (lua_next(L, table) != 0) { /* ... key, value */
    const struct plait_field *field = names_find(call->box, index, L, top + 1, &guess);
    if (field == NULL) {
      status = other_key(call, top + 1, top + 2);
      if (status < 0) return status;
      lua_settop(L, top + 1);
      continue;
    }
    if (item == items + KEYS_ON_STACK) {
      lua_settop(L, bottom);
      call->writer.at = call->writer.end - before; /* unknown fields, which the second walk writes */
      return encode_many(call, message, table, bottom, depth);
    }
    top += 2;
    status = take_value(call, L, field, top, item);
    if (status < 0) return value_fail(call, status, field, 0);
    const struct item **at = last++;
    for (; at > order && at[-1]->field > field; at--) at[0] = at[-1];
    *at = item++;
    if ((top - bottom) % 8 == 0 && ensure_stack(call, top, ENCODE_SLOTS) < 0)
      return encode_fail(call, -PLAIT_MESSAGE_MEMORY);
    lua_pushvalue(L, top - 1); /* for the next step */
  }
  if (message->oneof_count != 0 && !call->options.pbc && (status = check_members(call, items, (int)(item - items))) < 0)
    return status;
  while (last > order) {
    const struct item *next = *--last;
    status =
        next->index == 0 ? write_item(call, next) : encode_field(call, message, next->field, next->index, top, depth);
    if (status < 0) return status;
  }
  return 0; /* keys and values are still on the stack: the caller pops them if it needs to */
}
