# lua: the Lua module for every Lua that is here: targets for the top Makefile to include.
#
# Each version's module lies in build/lua/<version>, laid out as Lua looks for it.

LUA_VERSIONS := 5.1 5.2 5.3 5.4 jit
LUA_SOURCES := $(wildcard lua/*.[ch] core/message/*.[ch]) core/platform/platform.h core/platform/errors.h
LUA_MODULES := lua/protobuf.lua lua/plait/message.lua lua/plait/ffi.lua lua/plait/message/descriptor.lua
# -O3 inlines more than -O2, which is quicker by some hundredths; the rest of it only makes the code larger, and so slower.
LUA_OPTIMIZE := -O3 -fno-plt -fno-ipa-cp-clone -fno-tree-vectorize -fno-unswitch-loops -fno-peel-loops -fno-split-loops
LUA_FLAGS := -std=gnu17 $(LUA_OPTIMIZE) -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden

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
	@cp lua/plait/ffi.lua lua/plait/message/descriptor.lua $(BUILD)/lua/$(1)/plait/message/
	@touch $$@
endef
$(foreach version,$(LUA_VERSIONS),$(eval $(call lua_rules,$(version))))

lua: $(LUA_VERSIONS:%=$(BUILD)/lua/%/.built)

# ---- tests: the same for every version; protoc is the oracle ----

LUA_DESCRIPTORS := $(BUILD)/lua/descriptors
LUA_TESTS := message integers lists readme cases pbc descriptor flat quick hostile abuse growth oneofs oracle
LUA_MEMORY := 5.1 5.2 5.3 5.4 # those that the programs of tests are linked with

$(LUA_DESCRIPTORS)/all.pb: $(wildcard conformance/protos/*.proto)
	@tools/need.sh protoc protobuf-compiler
	@mkdir -p $(LUA_DESCRIPTORS)
	@protoc --proto_path=conformance/protos --descriptor_set_out=$(LUA_DESCRIPTORS)/kinds2_alone.pb kinds2.proto
	@protoc --proto_path=conformance/protos --descriptor_set_out=$(LUA_DESCRIPTORS)/kinds3.pb kinds3.proto
	@protoc --proto_path=conformance/protos --descriptor_set_out=$(LUA_DESCRIPTORS)/person.pb person.proto
	@protoc --proto_path=conformance/protos --include_imports --descriptor_set_out=$@ kinds2.proto kinds3.proto person.proto

# The module and a Lua whose allocator fails, in one program under ASan and UBSan.
$(BUILD)/lua/%/memory: lua/test/memory.c $(BUILD)/lua/%/.built
	@$(CC) -std=gnu17 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -I$(call lua_headers,$*) lua/test/memory.c lua/all.c \
		-o $@ -llua$* -lm

# lua_run(version, test)
lua_run = LUA_PATH="$(BUILD)/lua/$(1)/?.lua;lua/test/?.lua" LUA_CPATH="$(BUILD)/lua/$(1)/?.so" \
	$(call lua_program,$(1)) lua/test/$(2)_test.lua $(1) $(LUA_DESCRIPTORS)

.PHONY: $(LUA_VERSIONS:%=lua-test-%)
$(LUA_VERSIONS:%=lua-test-%): lua-test-%: $(BUILD)/lua/%/.built $(LUA_DESCRIPTORS)/all.pb
	@failed=0; for test in $(LUA_TESTS); do echo "== lua $* $$test"; $(call lua_run,$*,$${test}) || failed=1; done; exit $$failed

.PHONY: $(LUA_MEMORY:%=lua-memory-%)
$(LUA_MEMORY:%=lua-memory-%): lua-memory-%: $(BUILD)/lua/%/memory $(LUA_DESCRIPTORS)/all.pb
	@echo "== lua $* memory"
	@$< lua/test/memory_script.lua 'lua/?.lua' $(LUA_DESCRIPTORS)

# All that reads bytes of strangers, once more under ASan and UBSan.
lua-asan: $(BUILD)/lua/5.4/.built $(LUA_DESCRIPTORS)/all.pb
	@mkdir -p $(BUILD)/lua/asan/plait/message
	@cp -R $(BUILD)/lua/5.4/. $(BUILD)/lua/asan
	@$(CC) -std=gnu17 -O1 -g -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=all -fPIC -shared \
		-I$(call lua_headers,5.4) lua/all.c -o $(BUILD)/lua/asan/plait/message/core.so
	@failed=0; for test in message lists pbc descriptor flat quick hostile abuse growth oneofs; do echo "== lua 5.4 under ASan $$test"; \
		LUA_PATH="$(BUILD)/lua/asan/?.lua;lua/test/?.lua" LUA_CPATH="$(BUILD)/lua/asan/?.so" PLAIT_ROUNDS=$${PLAIT_ROUNDS:-300} \
		LD_PRELOAD="$$($(CC) -print-file-name=libasan.so):$$($(CC) -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
		lua5.4 lua/test/$${test}_test.lua 5.4 $(LUA_DESCRIPTORS) || failed=1; done; exit $$failed

# One image, several threads and states, under ThreadSanitizer (which does not see into Lua itself, but each thread has its own).
$(BUILD)/lua/%/threads: lua/test/threads.c $(BUILD)/lua/%/.built
	@$(CC) -std=gnu17 -O1 -g -fsanitize=thread -I$(call lua_headers,$*) lua/test/threads.c lua/all.c -o $@ -llua$* -lm -pthread

.PHONY: $(LUA_MEMORY:%=lua-threads-%)
$(LUA_MEMORY:%=lua-threads-%): lua-threads-%: $(BUILD)/lua/%/threads $(LUA_DESCRIPTORS)/all.pb
	@echo "== lua $* threads"
	@TSAN_OPTIONS=halt_on_error=1 $< 'lua/?.lua' $(LUA_DESCRIPTORS)/all.pb

.PHONY: lua-asan
lua-test: $(LUA_VERSIONS:%=lua-test-%) $(LUA_MEMORY:%=lua-memory-%) $(LUA_MEMORY:%=lua-threads-%) lua-asan

# The official conformance suite; it fetches the runner, so it is no part of make test.
.PHONY: conformance
conformance: lua
	@for version in $(LUA_VERSIONS); do echo "== conformance, lua $$version"; conformance/run.sh $$version || exit 1; done
