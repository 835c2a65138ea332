/*
 * compat: Lua 5.1 (and LuaJIT), 5.2, 5.3 and 5.4 behind one set of names.
 *
 * LUA_INTEGERS: whether numbers have an integer subtype; else integers are doubles and exact up to 2^53.
 */
#ifndef PLAIT_LUA_COMPAT_H
#define PLAIT_LUA_COMPAT_H

#include <lua.h>
#include <lauxlib.h>
#if __has_include(<luajit.h>)
#include <luajit.h>
#endif

#if LUA_VERSION_NUM >= 503
#define LUA_INTEGERS 1
#else
#define LUA_INTEGERS 0
#endif

#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
static inline int lua_absindex(lua_State *L, int index) {
  return index > 0 || index <= LUA_REGISTRYINDEX ? index : lua_gettop(L) + index + 1;
}
#define luaL_setfuncs(L, functions, upvalues) luaL_register(L, NULL, functions)
#endif

#if LUA_VERSION_NUM < 504
#define lua_newuserdatauv(L, size, values) lua_newuserdata(L, size)
#endif

_Static_assert(sizeof(lua_Number) == 8 && (!LUA_INTEGERS || sizeof(lua_Integer) == 8),
    "a Lua whose numbers are doubles and whose integers, if it has them, have 64 bits");

#define LUA_TCDATA 10 /* LuaJIT's type for values of its FFI */

#if defined(_WIN32)
#define PLAIT_LUA_EXPORT __declspec(dllexport)
#else
#define PLAIT_LUA_EXPORT __attribute__((visibility("default")))
#endif

#endif
