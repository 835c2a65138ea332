/*
 * module: the Lua module plait.message.core: schemas and types. lua/plait/message.lua and lua/protobuf.lua build their
 * APIs on it.
 */
#include "message.h"

static struct options default_options(void) {
  return (struct options){.int64 = LUA_INTEGERS ? INT64_NUMBER : INT64_EXACT, .unknown = 1, .depth = PLAIT_DEPTH_USUAL};
}

/* ---- schemas ---- */

static int schema_gc(lua_State *L) {
  struct schema_box *box = lua_touserdata(L, 1);
  if (box->image != NULL) {
    uint32_t messages = box->image->message_count;
    if (box->names != NULL) lua_allocate(box, box->names, (box->name_mask + 1) * sizeof *box->names, 0);
    if (box->hints != NULL) lua_allocate(box, box->hints, messages + 1u, 0);
    if (box->guesses != NULL) lua_allocate(box, box->guesses, guesses_size(box->image), 0);
    if (box->owned) lua_allocate(box, box->image, box->image->size, 0);
  }
  box->names = NULL;
  box->hints = NULL;
  box->guesses = NULL;
  box->image = NULL;
  return 0;
}

static struct schema_box *new_box(lua_State *L) {
  struct schema_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  memset(box, 0, sizeof *box);
  box->alloc = lua_getallocf(L, &box->alloc_context);
  luaL_getmetatable(L, SCHEMA_METATABLE);
  lua_setmetatable(L, -2);
  return box;
}

/* Completes the box on top, whose image is set, and pushes the keys. */
static int finish_box(lua_State *L, struct schema_box *box) {
  const struct plait_schema *schema = box->image;
  uint32_t slots = 4;
  while (slots < schema->field_count * 2u + 2) slots *= 2;
  box->names = lua_allocate(box, NULL, 0, slots * sizeof *box->names);
  if (box->names == NULL) return 0;
  memset(box->names, 0, slots * sizeof *box->names);
  box->name_mask = slots - 1;
  box->hints = lua_allocate(box, NULL, 0, schema->message_count + 1u);
  if (box->hints == NULL) return 0;
  box->guesses = lua_allocate(box, NULL, 0, guesses_size(schema));
  if (box->guesses == NULL) return 0;
  clear_guesses(box);
  for (uint32_t i = 0; i < schema->message_count; i++) {
    uint32_t count = plait_schema_message(schema, i)->field_count;
    box->hints[i] = (uint8_t)(count > 8 ? 8 : count);
  }
  lua_createtable(L, (int)(schema->field_count + schema->value_count), 1);
  fill_keys(L, box);
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, "schema"); /* the keys keep the schema alive */
  return 1;
}

/* Pushes a schema's userdata and its keys. Otherwise fills the error and returns 0. */
static int push_schema(
    lua_State *L, const uint8_t *bytes, size_t size, uint32_t flags, struct plait_message_error *error) {
  struct schema_box *box = new_box(L);
  struct plait_allocator allocator = {lua_allocate, box};
  if (plait_schema_build(bytes, size, flags, &allocator, &box->image, error) != 0) {
    box->image = NULL;
    return 0;
  }
  box->owned = 1;
  if (finish_box(L, box)) return 1;
  error->status = PLAIT_MESSAGE_MEMORY;
  return 0;
}

static int schema_failure(lua_State *L, const struct plait_message_error *error) {
  lua_pushnil(L);
  if (error->length != 0) lua_pushstring(L, error->text);
  else
    lua_pushfstring(L, "%s (byte %d of the descriptors)", plait_message_status_text(error->status), (int)error->offset);
  lua_pushstring(L, plait_message_status_name(error->status));
  return 3;
}

/* Whether the bytes end at the end of a field, so that further fields may follow. */
static int is_whole(const uint8_t *at, const uint8_t *end) {
  uint32_t tag;
  int status;
  while (at != NULL && at < end) {
    at = plait_wire_tag(at, end, &tag);
    if (at != NULL) at = plait_wire_skip(at, end, tag, PLAIT_DEPTH_USUAL, &status);
  }
  return at != NULL;
}

/*
 * core.schema(bytes, first_wins, more) -> schema, keys | nil, message, code. more: the bytes of another set behind
 * them.
 */
static int core_schema(lua_State *L) {
  size_t size;
  struct plait_message_error error;
  luaL_checktype(L, 1, LUA_TSTRING);
  const uint8_t *bytes = check_bytes(L, 1, &size);
  if (lua_type(L, 3) == LUA_TSTRING && is_whole(bytes, bytes + size)) {
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 3);
    lua_concat(L, 2);
    bytes = check_bytes(L, -1, &size);
  }
  uint32_t flags = lua_toboolean(L, 2) ? PLAIT_SCHEMA_FIRST_WINS : 0;
  return push_schema(L, bytes, size, flags, &error) ? 2 : schema_failure(L, &error);
}

/*
 * core.image(bytes | lightuserdata, length) -> schema, keys. Copies a string. Uses memory at an address in place.
 */
static int core_image(lua_State *L) {
  size_t size;
  const uint8_t *bytes = check_bytes(L, 1, &size);
  struct plait_message_error error = {.status = PLAIT_MESSAGE_SCHEMA};
  plait__error_add(&error, "these bytes are no image of a schema", 36);
  int borrowed = lua_islightuserdata(L, 1);
  if (size < sizeof(struct plait_schema) || (borrowed && (uintptr_t)bytes % 8 != 0)) return schema_failure(L, &error);
  struct schema_box *box = new_box(L);
  struct plait_schema *image = (struct plait_schema *)(uintptr_t)bytes;
  if (!borrowed) {
    image = lua_allocate(box, NULL, 0, size);
    if (image == NULL) return luaL_error(L, "not enough memory");
    memcpy(image, bytes, size);
  }
  if (plait_schema_check(image, size) != 0) {
    if (!borrowed) lua_allocate(box, image, size, 0);
    return schema_failure(L, &error);
  }
  box->image = image;
  box->owned = !borrowed;
  if (!finish_box(L, box)) return luaL_error(L, "not enough memory");
  return 2;
}

/* core.freeze(schema) -> the image's bytes, its address, its size */
static int core_freeze(lua_State *L) {
  struct schema_box *box = check_schema(L, 1);
  lua_pushlstring(L, (const char *)box->image, box->image->size);
  lua_pushlightuserdata(L, box->image);
  lua_pushinteger(L, (lua_Integer)box->image->size);
  return 3;
}

/* core.types(schema) -> { [name] = "message" | "enum" } */
static int core_types(lua_State *L) {
  struct schema_box *box = check_schema(L, 1);
  const struct plait_schema *schema = box->image;
  lua_createtable(L, 0, (int)(schema->message_count + schema->enum_count));
  for (uint32_t i = 0; i < schema->message_count; i++) {
    const struct plait_message *message = plait_schema_message(schema, i);
    lua_pushlstring(L, plait_schema_name(schema, message->name), message->name_length);
    lua_pushliteral(L, "message");
    lua_rawset(L, -3);
  }
  for (uint32_t i = 0; i < schema->enum_count; i++) {
    const struct plait_enum *type = plait_schema_enum(schema, i);
    lua_pushlstring(L, plait_schema_name(schema, type->name), type->name_length);
    lua_pushliteral(L, "enum");
    lua_rawset(L, -3);
  }
  return 1;
}

/* core.enum(schema, type name) -> { [name] = number } | nil */
static int core_enum(lua_State *L) {
  struct schema_box *box = check_schema(L, 1);
  size_t length;
  const char *name = luaL_checklstring(L, 2, &length);
  uint32_t index = plait_schema_find_enum(box->image, name, length);
  if (index == PLAIT_SCHEMA_NONE) return 0;
  const struct plait_enum *type = plait_schema_enum(box->image, index);
  lua_createtable(L, 0, (int)type->value_count);
  for (uint32_t i = 0; i < type->value_count; i++) {
    const struct plait_enum_value *value = plait_schema_value(box->image, type->first_value + i);
    lua_pushlstring(L, plait_schema_name(box->image, value->name), value->name_length);
    lua_pushinteger(L, value->number);
    lua_rawset(L, -3);
  }
  return 1;
}

static const char *const kind_names[] = {"", "double", "float", "int64", "uint64", "int32", "fixed64", "fixed32",
    "bool", "string", "group", "message", "bytes", "uint32", "enum", "sfixed32", "sfixed64", "sint32", "sint64"};

static void set_text(lua_State *L, const char *key, const char *text, size_t length) {
  lua_pushlstring(L, text, length);
  lua_setfield(L, -2, key);
}

/* core.fields(schema, keys, type name) -> list of { name, number, kind, type, ... } | nil */
static int core_fields(lua_State *L) {
  struct schema_box *box = check_schema(L, 1);
  size_t length;
  const char *name = luaL_checklstring(L, 3, &length);
  const struct plait_schema *schema = box->image;
  uint32_t index = plait_schema_find_message(schema, name, length);
  if (index == PLAIT_SCHEMA_NONE) return 0;
  const struct plait_message *message = plait_schema_message(schema, index);
  struct options options = default_options();
  struct call call;
  start_call(&call, L, box, &options, 2);
  lua_createtable(L, (int)message->field_count, 0);
  for (uint32_t i = 0; i < message->field_count; i++) {
    const struct plait_field *field = plait_message_fields(schema, message) + i;
    lua_createtable(L, 0, 8);
    set_text(L, "name", plait_schema_name(schema, field->name), field->name_length);
    set_text(L, "kind", kind_names[field->kind], strlen(kind_names[field->kind]));
    lua_pushinteger(L, field->tag >> 3);
    lua_setfield(L, -2, "number");
    if (plait_kind_is_message(field->kind)) {
      const struct plait_message *type = plait_schema_message(schema, field->type);
      set_text(L, "type", plait_schema_name(schema, type->name), type->name_length);
    } else if (field->kind == PLAIT_KIND_ENUM) {
      const struct plait_enum *type = plait_schema_enum(schema, field->type);
      set_text(L, "type", plait_schema_name(schema, type->name), type->name_length);
    }
    if (field->oneof != PLAIT_SCHEMA_NONE) {
      const struct plait_oneof *oneof = plait_schema_oneof(schema, field->oneof);
      set_text(L, "oneof", plait_schema_name(schema, oneof->name), oneof->name_length);
    }
    static const struct {
      const char *name;
      uint32_t flag;
    } flags[] = {{"repeated", PLAIT_FIELD_REPEATED}, {"packed", PLAIT_FIELD_PACKED}, {"map", PLAIT_FIELD_MAP},
        {"required", PLAIT_FIELD_REQUIRED}, {"implicit", PLAIT_FIELD_IMPLICIT}, {"extension", PLAIT_FIELD_EXTENSION}};
    for (size_t j = 0; j < sizeof flags / sizeof *flags; j++) {
      if (!(field->flags & flags[j].flag)) continue;
      lua_pushboolean(L, 1);
      lua_setfield(L, -2, flags[j].name);
    }
    if (!(field->flags & PLAIT_FIELD_REPEATED) && !plait_kind_is_message(field->kind)) {
      push_default(&call, field);
      lua_setfield(L, -2, "default");
    }
    lua_rawseti(L, -2, (int)(i + 1));
  }
  return 1;
}

/* ---- types ---- */

/*
 * The userdata that an object's functions belong to. Also raises the error for a call with a colon instead of a dot.
 */
static void check_dot(lua_State *L) {
  if (!lua_istable(L, 1)) return;
  lua_pushliteral(L, "is_plait");
  lua_rawget(L, 1);
  if (lua_toboolean(L, -1)) luaL_argerror(L, 1, "call this function with a dot, not a colon");
  lua_pop(L, 1);
}

static void push_type_name(struct call *call, const struct plait_message *message) {
  lua_pushlstring(call->L, plait_schema_name(call->schema, message->name), message->name_length);
}

/* type.encode(table, options) -> bytes | nil, message, code */
static int type_encode(lua_State *L) {
  struct type_box *type = lua_touserdata(L, lua_upvalueindex(UP_TYPE));
  struct call call;
  int top = lua_gettop(L);
  if (lua_type(L, 1) != LUA_TTABLE) return luaL_argerror(L, 1, "a table expected");
  start_call(&call, L, type->schema, &type->options, lua_upvalueindex(UP_KEYS));
  if (top > 1) {
    check_dot(L);
    check_options(L, 2, &call.options);
    lua_settop(L, 1);
  }
  lua_pushnil(L); /* 2: for a larger buffer */
  call.ensured = 1 + LUA_MINSTACK;
  start_writer(&call, 2);
  if (encode_message(&call, type->message, 1, 2, call.options.depth + 1u) == 0) {
    if (plait_written(&call.writer) <= PLAIT_WIRE_LENGTH_LIMIT) {
      lua_pushlstring(L, (const char *)call.writer.at, plait_written(&call.writer));
      return 1;
    }
    encode_fail(&call, -PLAIT_MESSAGE_SIZE);
  }
  lua_settop(L, 0);
  if (!lua_checkstack(L, 8)) return luaL_error(L, "stack overflow");
  push_type_name(&call, plait_schema_message(call.schema, type->message));
  return push_failure(&call, lua_tostring(L, 1));
}

/* type.decode(bytes, options, into) -> table | nil, message, code. bytes: a string, or lightuserdata and a length. */
static int type_decode(lua_State *L) {
  struct type_box *type = lua_touserdata(L, lua_upvalueindex(UP_TYPE));
  struct call call;
  size_t size;
  int top = lua_gettop(L), fresh = 1;
  if (top > 1) check_dot(L);
  const uint8_t *bytes = check_bytes(L, 1, &size);
  start_call(&call, L, type->schema, &type->options, lua_upvalueindex(UP_KEYS));
  call.ensured = top + LUA_MINSTACK;
  call.bytes = bytes;
  call.source = 1;
  if (top > 1) {
    int next = lua_islightuserdata(L, 1) ? 3 : 2;
    if (top >= next) check_options(L, next, &call.options);
    if (!lua_isnoneornil(L, next + 1)) {
      luaL_checktype(L, next + 1, LUA_TTABLE);
      lua_settop(L, next + 1);
      top = next;
      fresh = 0;
    }
  }
  if (fresh) lua_createtable(L, 0, type->schema->hints[type->message]);
  int table = top + 1, status = -PLAIT_MESSAGE_SIZE;
  if (size > PLAIT_WIRE_LENGTH_LIMIT) decode_fail(&call, status, bytes);
  else status = decode_message(&call, type->message, bytes, bytes + size, table, fresh);
  const struct plait_message *message = plait_schema_message(call.schema, type->message);
  if (status == 0 && call.options.required) status = check_required(&call, message, table, call.options.depth + 1u);
  if (status == 0) return 1;
  lua_settop(L, table);
  if (!lua_checkstack(L, 8)) return luaL_error(L, "stack overflow");
  push_type_name(&call, message);
  return push_failure(&call, lua_tostring(L, -1));
}

static void push_method(lua_State *L, const char *name, lua_CFunction function) {
  /* schema, keys and box are below the table on top */
  lua_pushvalue(L, -4);
  lua_pushvalue(L, -4);
  lua_pushvalue(L, -4);
  lua_pushcclosure(L, function, 3);
  lua_setfield(L, -2, name);
}

/* core.type(schema, keys, name, options) -> { encode, decode, view, name } | nil, message, code */
static int core_type(lua_State *L) {
  struct schema_box *box = check_schema(L, 1);
  size_t length;
  const char *name = luaL_checklstring(L, 3, &length);
  struct options options = default_options();
  check_options(L, 4, &options);
  uint32_t index = plait_schema_find_message(box->image, name, length);
  if (index == PLAIT_SCHEMA_NONE) {
    lua_pushnil(L);
    lua_pushfstring(L, "no message type has the name %s", name);
    lua_pushliteral(L, "NAME");
    return 3;
  }
  lua_settop(L, 2);
  struct type_box *type = lua_newuserdatauv(L, sizeof *type, 0);
  *type = (struct type_box){box, index, options};
  lua_createtable(L, 0, 5);
  push_method(L, "encode", type_encode);
  push_method(L, "decode", type_decode);
  push_method(L, "view", type_view);
  const struct plait_message *message = plait_schema_message(box->image, index);
  set_text(L, "name", plait_schema_name(box->image, message->name), message->name_length);
  lua_pushboolean(L, 1);
  lua_setfield(L, -2, "is_plait");
  return 1;
}

static const luaL_Reg functions[] = {
    {"schema", core_schema},
    {"image", core_image},
    {"freeze", core_freeze},
    {"types", core_types},
    {"enum", core_enum},
    {"fields", core_fields},
    {"type", core_type},
    {"pattern", schema_pattern},
    {NULL, NULL},
};

PLAIT_LUA_EXPORT int luaopen_plait_message_core(lua_State *L);
int luaopen_plait_message_core(lua_State *L) {
  luaL_newmetatable(L, SCHEMA_METATABLE);
  lua_pushcfunction(L, schema_gc);
  lua_setfield(L, -2, "__gc");
  lua_pushliteral(L, "plait");
  lua_setfield(L, -2, "__metatable"); /* so that no program calls __gc */
  lua_pop(L, 1);
  lua_newtable(L);
  luaL_setfuncs(L, functions, 0);
  open_view(L);
  open_ffi(L);
  lua_pushliteral(L, UNKNOWN_KEY);
  lua_setfield(L, -2, "unknown");
  open_pbc(L);
  return 1;
}
