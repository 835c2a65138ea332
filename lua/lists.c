/*
 * lists: whether a table is a list. Its elements are 1 to its length. Any other key is an error, because it would be
 * lost silently.
 */
#include "encode.h"

int list_hole(struct call *call, int table) {
  lua_State *L = call->L;
  int index = 1;
  for (;; index++) {
    lua_rawgeti(L, table, index);
    int there = !lua_isnil(L, -1);
    lua_pop(L, 1);
    if (!there) break;
  }
  encode_fail(call, -PLAIT_MESSAGE_LIST);
  plait__error_add_index(&call->error, (uint64_t)index);
  return -PLAIT_MESSAGE_LIST;
}

/* Notes the error for the key at index, which does not belong to a list. May convert the key in place. */
static PLAIT_COLD int odd_key(struct call *call, int index) {
  lua_State *L = call->L;
  int type = lua_type(L, index);
  const char *name = type == LUA_TSTRING || type == LUA_TNUMBER ? lua_tostring(L, index) : lua_typename(L, type);
  size_t length = strlen(name);
  encode_fail(call, -PLAIT_MESSAGE_LIST);
  plait__error_add_before(&call->error, "]", 1);
  plait__error_add_before(&call->error, name, length > 100 ? 100 : length);
  plait__error_add_before(&call->error, "[", 1);
  return -PLAIT_MESSAGE_LIST;
}

/* The ipairs() of pbc ignores keys that are not numbers. table.pack() sets `n`, which shows trailing nils. */
PLAIT_COLD int check_keys(struct call *call, int table, int count, int top) {
  lua_State *L = call->L;
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_settop(L, top + 1)) {
    int type = lua_type(L, top + 1);
    if (type == LUA_TNUMBER) {
      lua_Number key = lua_tonumber(L, top + 1);
      int whole = key >= 1 && key < 9007199254740992.0 && key == (lua_Number)(int64_t)key;
      if (!whole) return odd_key(call, top + 1);
      if (key > count) return list_hole(call, table);
    } else if (!call->options.pbc) {
      if (type != LUA_TSTRING || strcmp(lua_tostring(L, top + 1), "n") != 0) return odd_key(call, top + 1);
      if (lua_tonumber(L, top + 2) > count) return list_hole(call, table);
    }
  }
  return 0;
}
