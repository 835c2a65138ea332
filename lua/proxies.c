/*
 * proxies: tables with metatables. pbc reads a message with pairs() and a list with ipairs(). So the contents of an
 * empty table with `__pairs` or `__index` are what these functions yield. Such a table is copied, and the copy is
 * encoded. So no metamethod runs while a table is walked.
 */
#include "encode.h"

/* Replaces the iterator, its state and its first key on top by a table with all that the iterator yields. */
static void collect(lua_State *L) {
  int iterator = lua_gettop(L) - 2;
  lua_newtable(L);
  for (;;) {
    for (int i = 0; i < 3; i++) lua_pushvalue(L, iterator + i);
    lua_call(L, 2, 2);
    if (lua_isnil(L, -2)) break;
    lua_pushvalue(L, -2);
    lua_replace(L, iterator + 2);
    lua_rawset(L, iterator + 3);
  }
  lua_settop(L, iterator + 3);
  lua_replace(L, iterator);
  lua_settop(L, iterator);
}

/* The result of __len for the table at index; -1: there is none. */
static lua_Number length_of(lua_State *L, int index) {
  if (!luaL_getmetafield(L, index, "__len")) return -1;
  lua_pushvalue(L, index);
  lua_call(L, 1, 1);
  lua_Number length = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return length >= 0 ? length : 0;
}

/*
 * Pushes a copy of a list that has __index: up to the first nil, as ipairs() reads it since Lua 5.3; in older versions,
 * as many elements as __len returns. A nil before that length is a hole.
 */
static int copy_elements(struct call *call, int index, lua_Number length) {
  lua_State *L = call->L;
  int count = 0;
  lua_newtable(L);
  int copy = lua_gettop(L);
  while (LUA_INTEGERS || count < length) {
    lua_pushinteger(L, count + 1);
    lua_gettable(L, index);
    if (lua_isnil(L, -1)) break;
    lua_rawseti(L, copy, ++count);
  }
  lua_settop(L, copy);
  if (count < length) return list_hole(call, copy);
  return check_keys(call, index, count, copy);
}

static PLAIT_COLD int replace(struct call *call, int index, enum shape shape) {
  lua_State *L = call->L;
  int status = 0, top = lua_gettop(L);
  lua_Number length = -1;
  luaL_checkstack(L, 12, "a table with a metatable");
  if ((shape == SHAPE_LIST && luaL_getmetafield(L, index, "__ipairs")) || luaL_getmetafield(L, index, "__pairs")) {
    lua_pushvalue(L, index);
    lua_call(L, 1, 3);
    collect(L);
  } else if (shape == SHAPE_LIST && luaL_getmetafield(L, index, "__index")) {
    length = length_of(L, index);
    lua_settop(L, top);
    if (!LUA_INTEGERS && length < 0) return 0;
    status = copy_elements(call, index, length);
  } else {
    return 0;
  }
  lua_replace(L, index);
  return status;
}

int replace_proxy(struct call *call, int index, enum shape shape) {
  if (!lua_getmetatable(call->L, index)) return 0;
  lua_pop(call->L, 1);
  return replace(call, index, shape);
}
