/*
 * fuzz_decode: a libFuzzer target that decodes bytes as messages of several types, through both APIs of the Lua module.
 * Decoded messages are encoded and decoded again. Use: FUZZ_PATH is Lua's package.path, FUZZ_DESCRIPTORS a descriptor
 * set (see core/test/fuzz.mk).
 */
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>

#include "../compat.h"
#include <lualib.h>

int luaopen_plait_message_core(lua_State *L);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char script[] =
    "local message, protobuf = require 'plait.message', require 'protobuf'\n"
    "local schema = assert(message.load(os.getenv 'FUZZ_DESCRIPTORS'))\n"
    "protobuf.register_file(os.getenv 'FUZZ_DESCRIPTORS')\n"
    "local types = {}\n"
    "for _, name in ipairs { 'kinds.Three', 'kinds.Two', 'tutorial.Person' } do "
    "types[#types + 1] = assert(schema.type(name)) end\n"
    "local flat = assert(schema.pattern 'kinds.Three f_int32 f_string f_message.f_double f_message.f_message.f_string "
    "r_int64 m_message c_text r_message')\n"
    "local two = assert(schema.pattern 'kinds.Two set.kinds.Item.item.number set.kinds.Item.item.more "
    "pair.left pair item inner.pair')\n"
    "local quick = assert(schema.pattern 'kinds.Two number text data rate far')\n"
    "local function extract(value) return protobuf.extract(value) end\n"
    "return function(bytes)\n"
    "  for i = 1, #types do\n"
    "    local Type = types[i]\n"
    "    local value = Type.decode(bytes)\n"
    "    if value then\n"
    "      local again = assert(Type.encode(value, { deterministic = true }))\n"
    "      local twice = assert(Type.encode(assert(Type.decode(again)), { deterministic = true }))\n"
    "      assert(Type.encode(assert(Type.decode(twice)), { deterministic = true }) == twice)\n"
    "      Type.decode(bytes, nil, value)\n"
    "    end\n"
    "    local lazy = protobuf.decode(Type.name, bytes)\n"
    "    if lazy then pcall(extract, lazy) end\n"
    "  end\n"
    "  local view, other = types[1].view(bytes), types[2].view(bytes)\n"
    "  pcall(function() return view.f_message.r_message, view.m_string, view.c_message.f_string end)\n"
    "  pcall(function() return other.set['kinds.Item.item'].more['kinds.Item.item'].number, other.pair.left end)\n"
    "  flat.unpack(bytes)\n"
    "  two.unpack(bytes)\n"
    "  protobuf.unpack('kinds.Two pair three set number', bytes)\n"
    "  quick.unpack(bytes)\n"
    "  local values = { quick.unpack(bytes) }\n"
    "  if values[1] ~= nil or values[2] ~= nil then "
    "assert(quick.pack(values[1], values[2], values[3], values[4], values[5])) end\n"
    "end\n";

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static lua_State *L;
  if (L == NULL) {
    L = luaL_newstate();
    luaL_openlibs(L);
    lua_getglobal(L, "package");
    lua_pushstring(L, getenv("FUZZ_PATH"));
    lua_setfield(L, -2, "path");
    lua_getfield(L, -1, "preload");
    lua_pushcfunction(L, luaopen_plait_message_core);
    lua_setfield(L, -2, "plait.message.core");
    lua_settop(L, 0);
    if (luaL_loadstring(L, script) != 0 || lua_pcall(L, 0, 1, 0) != 0) {
      fprintf(stderr, "%s\n", lua_tostring(L, -1));
      exit(2);
    }
  }
  lua_pushvalue(L, 1);
  lua_pushlstring(L, (const char *)bytes, size);
  if (lua_pcall(L, 1, 0, 0) != 0) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    abort();
  }
  return 0;
}
