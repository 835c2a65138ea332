/*
 * repeated: encodes lists and maps from tables.
 */
#include "encode.h"

#include <stdlib.h>

/* ---- maps ---- */

/* Writes the entry whose key and value are on top of the stack. */
static int encode_entry(struct call *call, const struct plait_field *field, int top, uint32_t depth) {
  struct plait_writer *writer = &call->writer;
  const struct plait_field *key = plait_message_fields(call->schema, plait_schema_message(call->schema, field->type)),
                           *value = key + 1;
  size_t before = plait_written(writer);
  int status;
  if ((status = encode_value(call, value, top, top, depth)) < 0) return value_fail(call, status, value, 0);
  if ((status = plait_write_varint(writer, value->tag)) < 0) return status;
  if ((status = encode_value(call, key, top - 1, top, depth)) < 0) return value_fail(call, status, key, 0);
  if ((status = plait_write_varint(writer, key->tag)) < 0) return status;
  size_t length = plait_written(writer) - before;
  if (length > PLAIT_WIRE_LENGTH_LIMIT) return -PLAIT_MESSAGE_SIZE;
  if ((status = plait_write_varint(writer, length)) < 0) return status;
  return plait_write_varint(writer, field->tag);
}

/* A key for sorting. Strings are compared by their bytes. */
struct map_key {
  uint64_t bits;
  const char *text;
  size_t length;
  int place;
  int is_signed;
};

static int compare_keys(const void *left, const void *right) {
  const struct map_key *a = left, *b = right;
  if (a->text != NULL) {
    int order = memcmp(a->text, b->text, a->length < b->length ? a->length : b->length);
    return order != 0 ? order : a->length < b->length ? -1 : a->length > b->length;
  }
  if (a->is_signed) return (int64_t)a->bits<(int64_t)b->bits ? -1 : (int64_t)a->bits>(int64_t) b->bits;
  return a->bits < b->bits ? -1 : a->bits > b->bits;
}

static int encode_sorted(struct call *call, const struct plait_field *field, int table, int top, uint32_t depth) {
  lua_State *L = call->L;
  const struct plait_field *key = plait_message_fields(call->schema, plait_schema_message(call->schema, field->type));
  int count = 0, status = 0;
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) count++;
  lua_createtable(L, count, 0); /* the keys by place: top + 1 */
  struct map_key *keys = lua_newuserdatauv(L, (size_t)count * sizeof *keys + 1, 0);
  int at = 0;
  for (lua_pushnil(L); at < count && lua_next(L, table) != 0; at++) {
    lua_pop(L, 1);
    keys[at] = (struct map_key){
        .place = at + 1, .is_signed = key->kind != PLAIT_KIND_UINT64 && key->kind != PLAIT_KIND_FIXED64};
    if (key->kind == PLAIT_KIND_STRING) {
      if (lua_type(L, -1) != LUA_TSTRING) return value_fail(call, -PLAIT_MESSAGE_TYPE, key, 0);
      keys[at].text = lua_tolstring(L, -1, &keys[at].length);
    } else if ((status = to_bits(call, key, top + 3, lua_type(L, top + 3), &keys[at].bits)) < 0) {
      return value_fail(call, status, key, 0);
    }
    lua_pushvalue(L, -1);
    lua_rawseti(L, top + 1, at + 1);
  }
  lua_settop(L, top + 2);
  count = at; /* fewer, if a finalizer has been at the table */
  qsort(keys, (size_t)count, sizeof *keys, compare_keys);
  for (at = count; status == 0 && at-- > 0;) {
    lua_rawgeti(L, top + 1, keys[at].place);
    lua_pushvalue(L, -1);
    lua_rawget(L, table);
    status = encode_entry(call, field, top + 4, depth);
    lua_settop(L, top + 2);
  }
  lua_settop(L, top);
  return status;
}

static int encode_map(struct call *call, const struct plait_field *field, int table, int top, uint32_t depth) {
  lua_State *L = call->L;
  if (ensure_stack(call, top, ENCODE_SLOTS) < 0) return -PLAIT_MESSAGE_MEMORY;
  if (call->options.deterministic) return encode_sorted(call, field, table, top, depth - 1);
  lua_pushnil(L);
  while (lua_next(L, table) != 0) {
    int status = encode_entry(call, field, top + 2, depth - 1);
    if (status < 0) return status;
    lua_settop(L, top + 1);
  }
  return 0;
}

/* ---- lists ---- */

static int check_list(struct call *call, int table, int count, int top) {
  lua_State *L = call->L;
  int keys = 0;
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_settop(L, top + 1)) keys++;
  /* with an equal number of keys, another key stands in for a missing element */
  return keys == count ? 0 : check_keys(call, table, count, top);
}

#if LUA_INTEGERS

#define BLOCK 64 /* numbers of a list that are read at once */

/* to_bits(), with the most common first. */
static inline int number_bits(struct call *call, const struct plait_field *field, int index, uint64_t *bits) {
  if ((field->kind == PLAIT_KIND_INT32 || field->kind == PLAIT_KIND_INT64) && lua_isinteger(call->L, index)) {
    lua_Integer value = lua_tointeger(call->L, index);
    *bits = (uint64_t)value;
    if (field->kind == PLAIT_KIND_INT64 || value == (int32_t)value) return 0;
  }
  return to_bits(call, field, index, lua_type(call->L, index), bits);
}

/* Whether lua_next() comes to this index. */
static inline int next_is(lua_State *L, int table, int top, int index) {
  return lua_next(L, table) && lua_isinteger(L, top + 1) && lua_tointeger(L, top + 1) == index;
}

/*
 * Writes numbers of a list, block by block from the last one. A block is read in one walk if lua_next() yields exactly
 * its elements in order, as in most lists. That also proves what check_list() checks. Returns the number of elements
 * left for the general functions, which also report errors, or a status.
 */
static int encode_numbers(struct call *call, const struct plait_field *field, int table, int count, int top) {
  lua_State *L = call->L;
  uint64_t bits[BLOCK];
  int packed = field->flags & PLAIT_FIELD_PACKED, first, status;
  for (int last = count; last > 0; last = first - 1) {
    first = last > BLOCK ? last - BLOCK + 1 : 1;
    lua_settop(L, top);
    lua_pushnil(L);
    if (first > 1) { /* lua_next() continues from an existing key */
      lua_rawgeti(L, table, first - 1);
      if (lua_isnil(L, -1)) return last;
      lua_settop(L, top);
      lua_pushinteger(L, first - 1);
    }
    for (int i = first; i <= last; i++) {
      if (!next_is(L, table, top, i) || number_bits(call, field, top + 2, &bits[i - first]) < 0) return last;
      lua_settop(L, top + 1);
    }
    if (last == count ? lua_next(L, table) : !next_is(L, table, top, last + 1)) return last;
    for (int i = last - first; i >= 0; i--) {
      if ((status = plait_write_number(&call->writer, field->kind, bits[i])) < 0) return status;
      if (!packed && (status = plait_write_varint(&call->writer, field->tag)) < 0) return status;
    }
  }
  return 0;
}

#endif

int encode_repeated(struct call *call, const struct plait_field *field, int table, int top, uint32_t depth) {
  lua_State *L = call->L;
  struct plait_writer *writer = &call->writer;
  int status = 0;
  if (!lua_istable(L, table)) return -PLAIT_MESSAGE_TYPE;
  if (depth == 0) return -PLAIT_MESSAGE_DEPTH;
  int map = field->flags & PLAIT_FIELD_MAP;
  if (call->options.pbc && (status = replace_proxy(call, table, map ? SHAPE_MAP : SHAPE_LIST)) < 0) return status;
  if (map) return encode_map(call, field, table, top, depth);
  size_t count = lua_rawlen(L, table), before = plait_written(writer);
  if (count > PLAIT_WIRE_LENGTH_LIMIT) return -PLAIT_MESSAGE_SIZE;
  int packed = field->flags & PLAIT_FIELD_PACKED, index = top + 1, left = (int)count;
#if LUA_INTEGERS
  if (field->wire != PLAIT_WIRE_BYTES && field->wire != PLAIT_WIRE_START) {
    left = encode_numbers(call, field, table, left, top);
    lua_settop(L, top);
    if (left < 0) return left;
  }
#endif
  if ((left != 0 || count == 0) && (status = check_list(call, table, (int)count, top)) < 0) return status;
  for (int i = left; i > 0; i--) {
    lua_rawgeti(L, table, i);
    status = encode_value(call, field, index, index, depth);
    if (status == 0 && !packed) status = plait_write_varint(writer, field->tag);
    if (status < 0) {
      if (status == -PLAIT_MESSAGE_TYPE && lua_isnil(L, index)) return list_hole(call, table);
      encode_fail(call, status);
      plait__error_add_index(&call->error, (uint64_t)i);
      return status;
    }
    lua_settop(L, top);
  }
  if (!packed || count == 0) return 0;
  size_t length = plait_written(writer) - before;
  if (length > PLAIT_WIRE_LENGTH_LIMIT) return -PLAIT_MESSAGE_SIZE;
  if ((status = plait_write_varint(writer, length)) < 0) return status;
  return plait_write_varint(writer, field->tag);
}
