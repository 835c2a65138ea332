/*
 * flat: patterns for Lua. Packing writes the arguments as bytes, and unpacking returns the values as results. Up to
 * VALUES_ON_STACK values, only the result is allocated.
 */
#include "decode.h"

#define VALUES_ON_STACK 32

static int pattern_gc(lua_State *L) {
  struct pattern_box *box = lua_touserdata(L, 1);
  struct plait_pattern *pattern = box->pattern;
  box->pattern = NULL;
  if (pattern != NULL) {
    void *context;
    lua_Alloc alloc = lua_getallocf(L, &context);
    alloc(context, pattern, pattern->size, 0);
  }
  return 0;
}

struct pattern_box *new_pattern(lua_State *L, struct schema_box *schema, const struct options *options,
    const char *text, size_t length, struct plait_message_error *error) {
  struct pattern_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (struct pattern_box){.schema = schema, .options = *options};
  if (luaL_newmetatable(L, PATTERN_METATABLE)) {
    lua_pushcfunction(L, pattern_gc);
    lua_setfield(L, -2, "__gc");
    lua_pushliteral(L, "plait");
    lua_setfield(L, -2, "__metatable");
  }
  lua_setmetatable(L, -2);
  struct plait_allocator allocator = {lua_allocate, schema};
  if (plait_pattern_build(schema->image, text, length, &allocator, &box->pattern, error) != 0) {
    box->pattern = NULL;
    return NULL;
  }
  for (uint32_t i = 0; i < box->pattern->slot_count; i++) {
    const struct plait_field *field = plait_schema_field(schema->image, plait_pattern_field(box->pattern, i));
    box->lists |= field->flags & PLAIT_FIELD_REPEATED || plait_kind_is_message(field->kind);
  }
  box->plain = pattern_is_plain(box->pattern);
  return box;
}

/* ---- packing ---- */

struct giving {
  struct call *call;
  int first, top;
};

static int give(void *context, uint32_t slot, const struct plait_field *field, struct plait_writer *writer) {
  struct giving *giving = context;
  (void)writer; /* the call's */
  return encode_repeated(giving->call, field, giving->first + (int)slot, giving->top, giving->call->options.depth + 1u);
}

static PLAIT_COLD int argument_fail(struct call *call, int status, const struct plait_field *field) {
  encode_fail(call, status);
  path_field(call, field);
  return status;
}

static int to_value(struct call *call, const struct plait_field *field, int index, struct plait_value *value) {
  lua_State *L = call->L;
  int type = lua_type(L, index), status;
  value->present = type > LUA_TNIL;
  value->length = 0;
  if (type <= LUA_TNIL || field->flags & PLAIT_FIELD_REPEATED) return 0;
  if (field->wire == PLAIT_WIRE_BYTES || field->wire == PLAIT_WIRE_START) {
    size_t length;
    if (type == LUA_TSTRING || (type == LUA_TNUMBER && call->options.pbc && !plait_kind_is_message(field->kind)))
      value->data = (const uint8_t *)lua_tolstring(L, index, &length); /* an argument may be changed in place */
    else if (!call->options.pbc || !plait_kind_is_message(field->kind) ||
        !encoded_bytes(L, index, &value->data, &length))
      return argument_fail(call, -PLAIT_MESSAGE_TYPE, field);
    if (length > PLAIT_WIRE_LENGTH_LIMIT) return argument_fail(call, -PLAIT_MESSAGE_SIZE, field);
    value->length = (uint32_t)length;
    return 0;
  }
  status = to_bits(call, field, index, type, &value->bits);
  return status < 0 ? argument_fail(call, status, field) : 0;
}

/* Packs the arguments from `first` on; the writer then has the bytes. */
int pack_arguments(struct call *call, const struct pattern_box *box, int first, int top) {
  const struct plait_pattern *pattern = box->pattern;
  lua_State *L = call->L;
  struct plait_value few[VALUES_ON_STACK], *values = few;
  struct giving giving = {.call = call, .first = first};
  const struct plait_pattern_elements elements = {.give = give, .context = &giving, .all_members = call->options.pbc};
  uint32_t count = pattern->slot_count;
  if (top - first + 1 < (int)count) {
    luaL_checkstack(L, (int)count, "pattern");
    lua_settop(L, first + (int)count - 1);
  }
  for (uint32_t i = 0; i < count; i++) {
    if (i == VALUES_ON_STACK) {
      luaL_checkstack(L, 2, "pattern");
      values = lua_newuserdatauv(L, count * sizeof *values, 0);
      memcpy(values, few, sizeof few);
    }
    const struct plait_field *field = plait_schema_field(call->schema, plait_pattern_field(pattern, i));
    int status = to_value(call, field, first + (int)i, &values[i]);
    if (status < 0) return status;
  }
  start_writer(call, 0);
  if (box->lists) {
    luaL_checkstack(L, 1, "pattern");
    lua_pushnil(L);
    giving.top = call->buffer = lua_gettop(L);
  }
  return plait_pattern_pack(call->schema, pattern, values, &elements, &call->writer, &call->error);
}

/* A failure's path begins with the type's name. */
static int flat_failure(struct call *call, const struct plait_pattern *pattern) {
  const struct plait_message *message = plait_schema_message(call->schema, plait_pattern_nodes(pattern)->message);
  luaL_checkstack(call->L, 8, "error");
  lua_pushlstring(call->L, plait_schema_name(call->schema, message->name), message->name_length);
  return push_failure(call, lua_tostring(call->L, -1));
}

/* pattern.pack(...) -> bytes | nil, message, code */
static int pattern_pack(lua_State *L) {
  struct pattern_box *box = lua_touserdata(L, lua_upvalueindex(UP_TYPE));
  struct call call;
  check_pattern_alive(L, box);
  start_call(&call, L, box->schema, &box->options, lua_upvalueindex(UP_KEYS));
  int top = lua_gettop(L);
  start_writer(&call, 0);
  if (!(box->plain && top >= box->pattern->slot_count && pack_plain(&call, box->pattern, 1)) &&
      pack_arguments(&call, box, 1, top) < 0)
    return flat_failure(&call, box->pattern);
  lua_pushlstring(L, (const char *)call.writer.at, plait_written(&call.writer));
  return 1;
}

/* ---- unpacking ---- */

/* The list of slot i is at first + i. It is a table only after the first element. */
struct taking {
  struct call *call;
  int first;
};

/* pbc's form of an encoded message: its address, its length, and the string that keeps it alive. */
static void push_span(struct call *call, const uint8_t *data, size_t length) {
  lua_State *L = call->L;
  lua_createtable(L, call->anchor != 0 ? 3 : 2, 0);
  lua_pushlightuserdata(L, (void *)(uintptr_t)data);
  lua_rawseti(L, -2, 1);
  lua_pushinteger(L, (lua_Integer)length);
  lua_rawseti(L, -2, 2);
  if (call->anchor == 0 || data == NULL) return;
  lua_pushvalue(L, call->anchor);
  lua_rawseti(L, -2, 3);
}

static void push_value(struct call *call, const struct plait_field *field, const struct plait_value *value) {
  if (field->wire != PLAIT_WIRE_BYTES && field->wire != PLAIT_WIRE_START) push_number(call, field, value->bits);
  else if (call->options.pbc && plait_kind_is_message(field->kind)) push_span(call, value->data, value->length);
  else lua_pushlstring(call->L, (const char *)value->data, value->length);
}

static int take(void *context, uint32_t slot, const struct plait_field *field, const struct plait_value *value) {
  struct taking *taking = context;
  struct call *call = taking->call;
  lua_State *L = call->L;
  int index = taking->first + (int)slot, known;
  if (lua_isnil(L, index)) {
    lua_newtable(L);
    lua_replace(L, index);
  }
  if (field->flags & PLAIT_FIELD_MAP)
    return add_entry(call, field, value->data, value->data + value->length, index, call->options.depth, &known);
  push_value(call, field, value);
  lua_rawseti(L, index, (int)lua_rawlen(L, index) + 1);
  return 0;
}

/* The bytes of a message in several parts, collected in a userdata on the stack. */
struct joined {
  size_t room;
  uint8_t bytes[];
};

/* Concatenates the parts of a message, because the format defines merging that way. */
static int join(void *context, uint32_t slot, const struct plait_value *before, struct plait_value *value) {
  struct taking *taking = context;
  lua_State *L = taking->call->L;
  int index = taking->first + (int)slot;
  struct joined *joined = lua_touserdata(L, index);
  size_t length = (size_t)before->length + value->length;
  if ((uint64_t)before->length + value->length > PLAIT_WIRE_LENGTH_LIMIT) return -PLAIT_MESSAGE_SIZE;
  if (joined == NULL || before->data != joined->bytes || joined->room < length) {
    joined = lua_newuserdatauv(L, sizeof *joined + length + length / 2, 0);
    joined->room = length + length / 2;
    memcpy(joined->bytes, before->data, before->length);
    lua_replace(L, index);
  }
  memcpy(joined->bytes + before->length, value->data, value->length);
  value->data = joined->bytes;
  value->length = (uint32_t)length;
  return 0;
}

static int is_joined(lua_State *L, int index, const struct plait_value *value) {
  const struct joined *joined = lua_touserdata(L, index);
  return joined != NULL && value->data == joined->bytes;
}

/* Pushes a message that join() has concatenated. */
static void push_joined(struct call *call, const struct plait_value *value) {
  lua_State *L = call->L;
  int anchor = call->anchor;
  lua_pushlstring(L, (const char *)value->data, value->length);
  if (!call->options.pbc) return;
  call->anchor = lua_gettop(L);
  push_span(call, (const uint8_t *)lua_tolstring(L, -1, NULL), value->length);
  lua_remove(L, -2);
  call->anchor = anchor;
}

/* pbc: pushes the value of an absent field. */
static void push_absent(struct call *call, const struct plait_field *field) {
  if (!call->options.pbc) lua_pushnil(call->L);
  else if (field->flags & PLAIT_FIELD_REPEATED) lua_newtable(call->L);
  else if (plait_kind_is_message(field->kind)) push_span(call, NULL, 0);
  else push_default(call, field);
}

/* Pushes one value for each name, or returns a negated status. */
int push_unpacked(struct call *call, const struct pattern_box *box, const uint8_t *bytes, size_t size) {
  const struct plait_pattern *pattern = box->pattern;
  lua_State *L = call->L;
  struct plait_value few[VALUES_ON_STACK], *values = few;
  uint32_t count = pattern->slot_count;
  int lists = box->lists;
  if (lists || count > 4) luaL_checkstack(L, 2 * (int)count + 24, "pattern"); /* Lua keeps 20 places anyway */
  if (count > VALUES_ON_STACK) values = lua_newuserdatauv(L, count * sizeof *values, 0);
  struct taking taking = {call, 0};
  const struct plait_pattern_elements elements = {.take = take, .join = join, .context = &taking};
  if (lists) {
    call->source = lua_gettop(L) + 1; /* a place of its own: the argument may be the anchor of results */
    taking.first = call->source + 1;
    lua_settop(L, call->source + (int)count);
  }
  call->bytes = bytes;
  int status = plait_pattern_unpack(
      call->schema, pattern, bytes, size, call->options.depth + 1u, values, &elements, &call->error);
  if (call->has_parts) finish_parts(call);
  if (status < 0) return status;
  const uint16_t *copies = (const uint16_t *)((const uint8_t *)pattern + pattern->copies);
  for (uint32_t i = 0; i < count; i++) {
    const struct plait_field *field = plait_schema_field(call->schema, plait_pattern_field(pattern, i));
    uint32_t from = i;
    if (i > 8) luaL_checkstack(L, 10, "pattern"); /* once more: see ensure_stack() */
    if (lists)
      for (uint32_t j = 0; j < pattern->copy_count; j++)
        if (copies[2 * j + 1] == i) from = copies[2 * j];
    if (field->flags & PLAIT_FIELD_REPEATED) {
      if (lua_isnil(L, taking.first + (int)from)) push_absent(call, field);
      else lua_pushvalue(L, taking.first + (int)from);
    } else if (!values[i].present) {
      push_absent(call, field);
    } else if (plait_kind_is_message(field->kind) && is_joined(L, taking.first + (int)from, &values[i])) {
      push_joined(call, &values[i]);
    } else {
      push_value(call, field, &values[i]);
    }
  }
  return (int)count;
}

/* pattern.unpack(bytes) -> values | nil, message, code */
static int pattern_unpack(lua_State *L) {
  struct pattern_box *box = lua_touserdata(L, lua_upvalueindex(UP_TYPE));
  struct call call;
  size_t size;
  const uint8_t *bytes = check_bytes(L, 1, &size);
  check_pattern_alive(L, box);
  start_call(&call, L, box->schema, &box->options, lua_upvalueindex(UP_KEYS));
  int count = box->plain ? unpack_plain(&call, box->pattern, bytes, size) : -1;
  if (count < 0) count = push_unpacked(&call, box, bytes, size);
  return count < 0 ? flat_failure(&call, box->pattern) : count;
}

/* core.pattern(schema, keys, text, options) -> { pack, unpack, count, pattern, kinds } | nil, message, code */
int schema_pattern(lua_State *L) {
  struct schema_box *schema = check_schema(L, 1);
  size_t length;
  const char *text = luaL_checklstring(L, 3, &length);
  struct options options = {
      .int64 = LUA_INTEGERS ? INT64_NUMBER : INT64_EXACT, .unknown = 1, .depth = PLAIT_DEPTH_USUAL};
  struct plait_message_error error;
  check_options(L, 4, &options);
  struct pattern_box *box = new_pattern(L, schema, &options, text, length, &error);
  if (box == NULL) {
    lua_pushnil(L);
    lua_pushstring(L, error.length != 0 ? error.text : plait_message_status_text(error.status));
    lua_pushstring(L, plait_message_status_name(error.status));
    return 3;
  }
  int userdata = lua_gettop(L);
  lua_createtable(L, 0, 5);
  static const struct {
    const char *name;
    lua_CFunction function;
  } methods[] = {{"pack", pattern_pack}, {"unpack", pattern_unpack}};
  for (int i = 0; i < 2; i++) {
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, userdata);
    lua_pushcclosure(L, methods[i].function, 3);
    lua_setfield(L, -2, methods[i].name);
  }
  lua_pushboolean(L, 1);
  lua_setfield(L, -2, "is_plait");
  lua_pushvalue(L, userdata);
  return 2;
}
