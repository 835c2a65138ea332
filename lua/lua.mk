# lua: the Lua module for every Lua that is here: targets for the top Makefile to include.
#
# Each version's module lies in build/lua/<version>, laid out as Lua looks for it.

LUA_VERSIONS := 5.1 5.2 5.3 5.4 jit
LUA_SOURCES := $(wildcard lua/*.[ch] core/message/*.[ch]) core/platform/platform.h core/platform/errors.h
LUA_MODULES := lua/protobuf.lua lua/plait/message.lua lua/plait/ffi.lua
LUA_FLAGS := -std=gnu17 -O2 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden

lua_headers = $(if $(filter jit,$(1)),/usr/include/luajit-2.1,/usr/include/lua$(1))
lua_program = $(if $(filter jit,$(1)),luajit,lua$(1))
lua_package = $(if $(filter jit,$(1)),libluajit-5.1-dev,$(if $(filter 5.1,$(1)),liblua5.1-0-dev,liblua$(1)-dev))

.PHONY: lua lua-test

# lua_rules(version): how its module is made.
define lua_rules
$(BUILD)/lua/$(1)/.built: $(LUA_SOURCES) $(LUA_MODULES) tools/need.sh
	@tools/need.sh $(call lua_program,$(1)) $(call lua_program,$(1)) "test -f $(call lua_headers,$(1))/lua.h" $(call lua_package,$(1))
	@mkdir -p $(BUILD)/lua/$(1)/plait/message
	$(CC) $(LUA_FLAGS) -I$(call lua_headers,$(1)) lua/all.c -o $(BUILD)/lua/$(1)/plait/message/core.so
	@cp lua/protobuf.lua $(BUILD)/lua/$(1)/
	@cp lua/plait/message.lua $(BUILD)/lua/$(1)/plait/
	@cp lua/plait/ffi.lua $(BUILD)/lua/$(1)/plait/message/
	@touch $$@
endef
$(foreach version,$(LUA_VERSIONS),$(eval $(call lua_rules,$(version))))

lua: $(LUA_VERSIONS:%=$(BUILD)/lua/%/.built)
