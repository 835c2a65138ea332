/*
 * pbc: the performance-critical part of pbc's API (lua/protobuf.lua): encode, decode, pack and unpack by name.
 *
 * All functions share one table of state: [1] the schema, [2] its keys, the caches types[name] and patterns[text], and
 * error. Registering replaces the schema and empties the caches. Messages that were decoded with the old schema keep
 * it.
 *
 * A finalizer may register, and so replace the schema, at any allocation. So an entry of a cache is created first, and
 * belongs to the schema that is current when it is stored.
 */
#include "encode.h"

enum { UP_STATE = 1, UP_TYPES = 2, UP_PATTERNS = 3 };

/* Pushes the current keys; the schema. */
static struct schema_box *push_keys(lua_State *L) {
  lua_rawgeti(L, lua_upvalueindex(UP_STATE), 1);
  struct schema_box *box = lua_touserdata(L, -1); /* which the state holds */
  lua_pop(L, 1);
  lua_rawgeti(L, lua_upvalueindex(UP_STATE), 2);
  return box;
}

/* Pushes the entry of the cache (an upvalue) for argument 1. If there is none, pushes nothing and returns NULL. */
static void *cached(lua_State *L, int cache) {
  lua_pushvalue(L, 1);
  lua_rawget(L, lua_upvalueindex(cache));
  void *found = lua_touserdata(L, -1);
  if (found == NULL) lua_pop(L, 1);
  return found;
}

static void remember(lua_State *L, int cache) {
  lua_pushvalue(L, 1);
  lua_pushvalue(L, -2);
  lua_rawset(L, lua_upvalueindex(cache));
}

/* Pushes the type that argument 1 names. If there is none, pushes an error text and returns NULL. */
static PLAIT_COLD struct type_box *type_by_name(lua_State *L) {
  size_t length;
  const char *name = luaL_checklstring(L, 1, &length);
  struct type_box *type = new_type(L, NULL, 0);
  struct schema_box *box = push_keys(L);
  lua_pop(L, 1);
  check_alive(L, box);
  uint32_t message = plait_schema_find_message(box->image, name, length);
  if (message == PLAIT_SCHEMA_NONE) {
    lua_pushfstring(L, "no message type has the name %s", name);
    return NULL;
  }
  type->schema = box;
  type->message = message;
  remember(L, UP_TYPES);
  return type;
}

/* Sets the state's error to the text on top, which stays. */
static void note_error(lua_State *L) {
  lua_pushvalue(L, -1);
  lua_setfield(L, lua_upvalueindex(UP_STATE), "error");
}

static PLAIT_COLD void push_type_failure(struct call *call, uint32_t message) {
  const struct plait_message *type = plait_schema_message(call->schema, message);
  luaL_checkstack(call->L, 8, "error");
  push_error_text(call, plait_schema_name(call->schema, type->name));
  note_error(call->L);
}

/* encode(type, table [, f, ...]) */
static int pbc_encode(lua_State *L) {
  struct type_box *type = cached(L, UP_TYPES);
  struct call call;
  int top = lua_gettop(L) - (type != NULL);
  if (type == NULL && (type = type_by_name(L)) == NULL) {
    note_error(L);
    return lua_error(L);
  }
  luaL_checktype(L, 2, LUA_TTABLE);
  push_keys(L);
  start_call(&call, L, type->schema, &type->options, lua_gettop(L));
  lua_pushnil(L);
  int buffer = lua_gettop(L);
  start_writer(&call, buffer);
  replace_proxy(&call, 2, SHAPE_MESSAGE);
  if (encode_message(&call, type->message, 2, buffer, call.options.depth + 1u) < 0) {
    push_type_failure(&call, type->message);
    if (call.error.status == PLAIT_MESSAGE_NAME && call.error.length > 1 && strchr(call.error.text + 1, '.') == NULL) {
      lua_pushlstring(L, call.error.text + 1, call.error.length - 1); /* an unknown key is the whole error in pbc */
    }
    return lua_error(L);
  }
  size_t size = plait_written(&call.writer);
  if (top < 3) {
    lua_pushlstring(L, (const char *)call.writer.at, size);
    return 1;
  }
  /* The bytes lie here, or in the userdata on the stack, until the function has returned. */
  luaL_checkstack(L, top, "too many arguments");
  lua_pushvalue(L, 3);
  lua_pushlightuserdata(L, call.writer.at);
  lua_pushinteger(L, (lua_Integer)size);
  for (int i = 4; i <= top; i++) lua_pushvalue(L, i);
  int base = lua_gettop(L) - (top - 3) - 3;
  lua_call(L, top - 1, LUA_MULTRET);
  return lua_gettop(L) - base;
}

/* decode(type, bytes | lightuserdata, length) -> table | false, message */
static int pbc_decode(lua_State *L) {
  struct type_box *type = cached(L, UP_TYPES);
  struct call call;
  size_t size;
  const uint8_t *bytes = check_bytes(L, 2, &size);
  if (type == NULL && (type = type_by_name(L)) == NULL) {
    note_error(L);
    lua_pushboolean(L, 0);
    lua_insert(L, -2);
    return 2;
  }
  push_keys(L);
  start_call(&call, L, type->schema, &type->options, lua_gettop(L));
  call.bytes = bytes;
  call.source = 2;
  lua_createtable(L, 0, type->schema->hints[type->message]);
  int table = lua_gettop(L), status = -PLAIT_MESSAGE_SIZE;
  if (size > PLAIT_WIRE_LENGTH_LIMIT) decode_fail(&call, status, bytes);
  else status = decode_message(&call, type->message, bytes, bytes + size, table, 1);
  if (status == 0) {
    push_pbc_metatable(&call, type->message, 0);
    lua_setmetatable(L, table);
    return 1;
  }
  lua_settop(L, table);
  lua_pushboolean(L, 0);
  push_type_failure(&call, type->message);
  return 2;
}

/* Pushes the pattern whose text is argument 1, or raises an error. */
static PLAIT_COLD struct pattern_box *pattern_by_name(lua_State *L) {
  size_t length;
  struct plait_message_error error;
  const char *text = luaL_checklstring(L, 1, &length);
  for (;;) {
    struct schema_box *box = push_keys(L); /* the keys hold it */
    check_alive(L, box);
    struct pattern_box *pattern = new_pattern(L, box, &pbc_options, text, length, &error);
    if (pattern == NULL) {
      lua_pushstring(L, error.length != 0 ? error.text : plait_message_status_text(error.status));
      note_error(L);
      lua_error(L);
    }
    lua_remove(L, -2);
    int same = push_keys(L) == box;
    lua_pop(L, 1);
    if (same) {
      remember(L, UP_PATTERNS);
      return pattern;
    }
    lua_pop(L, 1);
  }
}

static PLAIT_COLD void push_pattern_failure(struct call *call, const struct plait_pattern *pattern) {
  push_type_failure(call, plait_pattern_nodes(pattern)->message);
}

/* pack(pattern, ...) */
static int pbc_pack(lua_State *L) {
  struct pattern_box *pattern = cached(L, UP_PATTERNS);
  struct call call;
  int top = lua_gettop(L) - (pattern != NULL);
  if (pattern == NULL) pattern = pattern_by_name(L);
  check_pattern_alive(L, pattern);
  if (top - 1 < pattern->pattern->slot_count) return luaL_error(L, "bad argument #%d (no value)", top + 1);
  push_keys(L);
  start_call(&call, L, pattern->schema, &pattern->options, lua_gettop(L));
  start_writer(&call, 0);
  if (!(pattern->plain && pack_plain(&call, pattern->pattern, 2)) && pack_arguments(&call, pattern, 2, top) < 0) {
    push_pattern_failure(&call, pattern->pattern);
    return lua_error(L);
  }
  lua_pushlstring(L, (const char *)call.writer.at, plait_written(&call.writer));
  return 1;
}

/* unpack(pattern, bytes | lightuserdata, length) -> values, or nothing */
static int pbc_unpack(lua_State *L) {
  struct pattern_box *pattern = cached(L, UP_PATTERNS);
  struct call call;
  size_t size;
  const uint8_t *bytes = check_bytes(L, 2, &size);
  if (pattern == NULL) pattern = pattern_by_name(L);
  check_pattern_alive(L, pattern);
  push_keys(L);
  start_call(&call, L, pattern->schema, &pattern->options, lua_gettop(L));
  call.options.enums_numbers = 1;
  call.anchor = lua_type(L, 2) == LUA_TSTRING ? 2 : 0;
  int count = pattern->plain ? unpack_plain(&call, pattern->pattern, bytes, size) : -1;
  if (count < 0) count = push_unpacked(&call, pattern, bytes, size);
  if (count >= 0) return count;
  push_pattern_failure(&call, pattern->pattern);
  return 0;
}

/* ---- metatables; see lazy.c ---- */

/* metatable(keys, schema, type name, lazy) -> the metatable | nil */
static int pbc_metatable(lua_State *L) {
  struct schema_box *box = check_schema(L, 2);
  size_t length;
  const char *name = luaL_checklstring(L, 3, &length);
  uint32_t message = plait_schema_find_message(box->image, name, length);
  struct call call;
  if (message == PLAIT_SCHEMA_NONE) return 0;
  start_call(&call, L, box, &pbc_options, 1);
  push_pbc_metatable(&call, message, lua_toboolean(L, 4));
  return 1;
}

/* touch(table): decodes the table if it is a message that is not decoded yet. */
static int pbc_touch(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  if (!lua_getmetatable(L, 1) || !is_lazy_metatable(L)) return 0;
  lua_getfield(L, -1, "__index");
  lua_pushvalue(L, 1);
  lua_pushnil(L);
  lua_call(L, 2, 0);
  return 0;
}

/* pbc(state, types, patterns) -> { encode, decode, pack, unpack } over that state, which has a schema */
static int pbc_bind(lua_State *L) {
  static const luaL_Reg bound[] = {
      {"encode", pbc_encode}, {"decode", pbc_decode}, {"pack", pbc_pack}, {"unpack", pbc_unpack}};
  for (int i = 1; i <= 3; i++) luaL_checktype(L, i, LUA_TTABLE);
  lua_rawgeti(L, 1, 1);
  check_schema(L, -1);
  lua_createtable(L, 0, 4);
  for (size_t i = 0; i < sizeof bound / sizeof *bound; i++) {
    for (int j = 1; j <= 3; j++) lua_pushvalue(L, j);
    lua_pushcclosure(L, bound[i].func, 3);
    lua_setfield(L, -2, bound[i].name);
  }
  return 1;
}

void open_pbc(lua_State *L) {
  lua_pushcfunction(L, pbc_bind);
  lua_setfield(L, -2, "pbc");
  lua_pushcfunction(L, pbc_metatable);
  lua_setfield(L, -2, "metatable");
  lua_pushcfunction(L, pbc_touch);
  lua_setfield(L, -2, "touch");
}
