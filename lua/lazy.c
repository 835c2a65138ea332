/*
 * lazy: the metatables of pbc's messages. Decoded messages have one that provides defaults. Other messages have one
 * that decodes them at the first access.
 */
#include "message.h"

const struct options pbc_options = {.int64 = INT64_NUMBER, .pbc = 1, .depth = PLAIT_DEPTH_USUAL};

struct type_box *new_type(lua_State *L, struct schema_box *box, uint32_t message) {
  struct type_box *type = lua_newuserdatauv(L, sizeof *type, 0);
  *type = (struct type_box){box, message, pbc_options};
  return type;
}

/* __index of a decoded message: returns a default. The table keeps new lists and messages. */
static int default_index(lua_State *L) {
  const struct type_box *type = lua_touserdata(L, lua_upvalueindex(UP_TYPE));
  check_alive(L, type->schema);
  struct name_guess *guess = names_begin(type->schema, type->message);
  const struct plait_field *field = names_find(type->schema, type->message, L, 2, &guess);
  struct call call;
  luaL_checktype(L, 1, LUA_TTABLE); /* a program can get the metatable, and call its functions with any value */
  if (field == NULL) {
    lua_settop(L, 2);
    return lua_error(L);
  }
  start_call(&call, L, type->schema, &type->options, lua_upvalueindex(UP_KEYS));
  if (!(field->flags & PLAIT_FIELD_REPEATED) && !plait_kind_is_message(field->kind)) {
    push_default(&call, field);
    return 1;
  }
  lua_pushvalue(L, 2);
  lua_newtable(L);
  if (!(field->flags & PLAIT_FIELD_REPEATED)) {
    push_pbc_metatable(&call, field->type, 0);
    lua_setmetatable(L, -2);
  }
  lua_pushvalue(L, -1);
  lua_insert(L, -3);
  lua_rawset(L, 1);
  return 1;
}

/*
 * Decodes argument 1 in place, if it still is {type name, bytes}. All or nothing: the fields move to the table after
 * all are decoded.
 */
static void expand(lua_State *L, const struct type_box *type) {
  struct call call;
  size_t size;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_rawgeti(L, 1, 2);
  const char *bytes = lua_tolstring(L, -1, &size);
  if (bytes == NULL) luaL_error(L, "this message was changed before it was decoded");
  start_call(&call, L, type->schema, &type->options, lua_upvalueindex(UP_KEYS));
  call.bytes = (const uint8_t *)bytes;
  call.source = lua_gettop(L);
  lua_createtable(L, 0, type->schema->hints[type->message]);
  int table = lua_gettop(L);
  const struct plait_message *message = plait_schema_message(call.schema, type->message);
  if (decode_message(&call, type->message, call.bytes, call.bytes + size, table, 1) < 0) {
    push_error_text(&call, plait_schema_name(call.schema, message->name));
    lua_error(L);
  }
  push_pbc_metatable(&call, type->message, 0);
  for (lua_pushnil(L); lua_next(L, table) != 0;) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, 1);
  }
  for (int i = 1; i <= 2; i++) {
    lua_pushnil(L);
    lua_rawseti(L, 1, i);
  }
  lua_setmetatable(L, 1);
}

static int lazy_index(lua_State *L) {
  lua_settop(L, 2);
  expand(L, lua_touserdata(L, lua_upvalueindex(UP_TYPE)));
  lua_settop(L, 2);
  if (lua_isnil(L, 2)) return 0; /* only touched */
  lua_gettable(L, 1);
  return 1;
}

static int lazy_newindex(lua_State *L) {
  lua_settop(L, 3);
  expand(L, lua_touserdata(L, lua_upvalueindex(UP_TYPE)));
  lua_settop(L, 3);
  lua_rawset(L, 1);
  return 0;
}

static int lazy_pairs(lua_State *L) {
  lua_settop(L, 1);
  expand(L, lua_touserdata(L, lua_upvalueindex(UP_TYPE)));
  lua_settop(L, 1);
  lua_getglobal(L, "next");
  lua_insert(L, 1);
  lua_pushnil(L);
  return 3;
}

static void set_closure(struct call *call, const char *name, lua_CFunction function) {
  lua_State *L = call->L; /* ... type, metatable */
  lua_getfield(L, call->keys, "schema");
  lua_pushvalue(L, call->keys);
  lua_pushvalue(L, -4);
  lua_pushcclosure(L, function, 3);
  lua_setfield(L, -2, name);
}

void push_pbc_metatable(struct call *call, uint32_t message, int lazy) {
  lua_State *L = call->L;
  int key = -1 - 2 * (int)message - lazy;
  lua_rawgeti(L, call->keys, key);
  if (!lua_isnil(L, -1)) return;
  lua_pop(L, 1);
  luaL_checkstack(L, 10, "metatable");
  new_type(L, call->box, message);
  lua_createtable(L, 0, 4);
  set_closure(call, "__index", lazy ? lazy_index : default_index);
  if (lazy) {
    set_closure(call, "__newindex", lazy_newindex);
    set_closure(call, "__pairs", lazy_pairs);
  }
  lua_remove(L, -2);
  lua_pushvalue(L, -1);
  lua_rawseti(L, call->keys, key);
}

int is_lazy_metatable(lua_State *L) {
  luaL_checkstack(L, 1, "metatable");
  lua_pushliteral(L, "__index");
  lua_rawget(L, -2);
  int lazy = lua_tocfunction(L, -1) == lazy_index;
  lua_pop(L, 1);
  return lazy;
}
