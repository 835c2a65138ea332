/* lua: Lua's interpreter and its io library, on four threads: one state each. */
#include "../workers.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

#ifdef __wasi__ /* which has no tmpfile: programs.js gives Lua this one */
FILE *no_tmpfile(void) {
  return NULL;
}
#endif

static const char script[] =
    "local here = 'lua-' .. me .. '-'\n"
    "local file = assert(io.open(here .. 'lines', 'w'))\n"
    "for i = 1, 5000 do file:write(i, ' ', i * i % 977, ' ', ('x'):rep(i % 60), '\\n') end\n"
    "tell(file:seek('cur'), file:seek('set', 10), file:seek('end'))\n"
    "file:close()\n"
    "local count, sum = 0, 0\n"
    "for line in io.lines(here .. 'lines') do count = count + 1; sum = (sum * 31 + #line) % 1000003 end\n"
    "tell(count, sum)\n"
    "for a, b in io.lines(here .. 'lines', 'n', 'n') do sum = (sum + a * b) % 1000003; "
    "if a == 100 then break end end\n"
    "tell(sum)\n"
    "file = io.open(here .. 'lines', 'r+')\n"
    "file:seek('set', 100); file:write('CHANGED'); file:seek('set', 95); tell(file:read(20)); file:close()\n"
    "file = io.open(here .. 'lines', 'a+'); file:write('at the end\\n'); file:seek('set', 0); "
    "tell(#file:read('a')); file:close()\n"
    "local function message(_, text) return text end\n" /* errno's number is the system's */
    "tell(message(io.open(here .. 'none')))\n"
    "tell(message(io.open(here .. 'none/x', 'w')))\n"
    "tell(os.rename(here .. 'lines', here .. 'renamed'), message(os.rename(here .. 'lines', 'x')))\n"
    "tell(message(os.remove(here .. 'none')))\n"
    "for i = 1, 200 do local f = io.open(here .. i, 'wb'); f:setvbuf('full', i); "
    "f:write(('%5d'):rep(i):format(table.unpack((function() local t = {}; "
    "for k = 1, i do t[k] = k * i end; return t end)()))); f:close() end\n"
    "local bytes = 0\n"
    "for i = 1, 200 do local f = io.open(here .. i, 'rb'); bytes = bytes + #f:read('a'); f:close(); "
    "if i % 2 == 0 then os.remove(here .. i) end end\n"
    "tell(bytes)\n"
    "local words = {}\n"
    "for line in io.lines(here .. 'renamed', 'L') do for word in line:gmatch('%d+') do words[word] = "
    "(words[word] or 0) + 1 end end\n"
    "local sorted = {}\n"
    "for word, n in pairs(words) do sorted[#sorted + 1] = ('%06d %s'):format(n, word) end\n"
    "table.sort(sorted)\n"
    "file = io.open(here .. 'words', 'w'); file:write(table.concat(sorted, '\\n')); file:close()\n"
    "tell(#sorted, sorted[#sorted])\n"
    "file = io.open(here .. 'code.lua', 'w'); file:write('return ...  + 1, \"loaded\"'); file:close()\n"
    "tell(loadfile(here .. 'code.lua')(41))\n";

static int tell_values(lua_State *state) {
  lua_getfield(state, LUA_REGISTRYINDEX, "worker");
  struct worker *worker = lua_touserdata(state, -1);
  lua_pop(state, 1);
  for (int i = 1; i <= lua_gettop(state); i++) {
    tell(worker, "%s%s", i > 1 ? ", " : "", luaL_tolstring(state, i, NULL));
    lua_pop(state, 1);
  }
  tell(worker, "\n");
  return 0;
}

static void *interpret(void *argument) {
  struct worker *worker = argument;
  lua_State *state = luaL_newstate();
  luaL_openlibs(state);
  lua_pushlightuserdata(state, worker);
  lua_setfield(state, LUA_REGISTRYINDEX, "worker");
  lua_pushinteger(state, worker->number);
  lua_setglobal(state, "me");
  lua_register(state, "tell", tell_values);
  if (luaL_dostring(state, script) != 0) tell(worker, "%s\n", lua_tostring(state, -1));
  lua_close(state);
  char name[40];
  snprintf(name, sizeof name, "lua-%d-renamed", worker->number);
  tell_file(worker, name);
  snprintf(name, sizeof name, "lua-%d-words", worker->number);
  tell_file(worker, name);
  return NULL;
}

int main(void) {
  fresh();
  printf("%s\n", LUA_RELEASE);
  work(interpret);
  show_tree();
  return 0;
}
