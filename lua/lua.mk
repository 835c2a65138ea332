# lua: the Lua module for every Lua that is here: targets for the top Makefile to include.
#
# Each version's module lies in build/lua/<version>, laid out as Lua looks for it.

LUA_VERSIONS := 5.1 5.2 5.3 5.4 jit
LUA_MODULES := lua/protobuf.lua lua/plait/message.lua lua/plait/ffi.lua lua/plait/message/descriptor.lua
# -O3 inlines more than -O2, which is quicker by some hundredths; the rest of it only makes the code larger, and so slower.
LUA_OPTIMIZE := -O3 -fno-plt -fno-ipa-cp-clone -fno-tree-vectorize -fno-unswitch-loops -fno-peel-loops -fno-split-loops
LUA_TEST_FLAGS := -std=gnu17 -O1 -g -fno-omit-frame-pointer -fPIC
LUA_ASAN := -fsanitize=address,undefined -fno-sanitize-recover=all
LUA_TSAN := -fsanitize=thread
LUA_FLAGS := -std=gnu17 $(LUA_OPTIMIZE) -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden

lua_headers = $(if $(filter jit,$(1)),/usr/include/luajit-2.1,/usr/include/lua$(1))
lua_program = $(if $(filter jit,$(1)),luajit,lua$(1))
lua_package = $(if $(filter jit,$(1)),libluajit-5.1-dev,$(if $(filter 5.1,$(1)),liblua5.1-0-dev,liblua$(1)-dev))

.PHONY: lua lua-test

# lua_rules(version): how its module is made.
define lua_rules
$(BUILD)/lua/$(1)/plait/message/core.so: lua/all.c lua/lua.mk tools/need.sh
	@tools/need.sh $(call lua_program,$(1)) $(call lua_program,$(1)) "test -f $(call lua_headers,$(1))/lua.h" $(call lua_package,$(1))
	@mkdir -p $$(@D)
	$(CC) $(LUA_FLAGS) $$(DEPENDENCIES) -I$(call lua_headers,$(1)) $$< -o $$@

$(BUILD)/lua/$(1)/.built: $(BUILD)/lua/$(1)/plait/message/core.so $(LUA_MODULES)
	@cp lua/protobuf.lua $(BUILD)/lua/$(1)/
	@cp lua/plait/message.lua $(BUILD)/lua/$(1)/plait/
	@cp lua/plait/ffi.lua lua/plait/message/descriptor.lua $(BUILD)/lua/$(1)/plait/message/
	@touch $$@

# The module and the programs of tests, under sanitizers.
$(BUILD)/lua/$(1)/asan/%.o: lua/%.c $(BUILD)/lua/$(1)/.built
	@mkdir -p $$(@D)
	@$(CC) $(LUA_TEST_FLAGS) $(LUA_ASAN) $$(DEPENDENCIES) -I$(call lua_headers,$(1)) -c $$< -o $$@

$(BUILD)/lua/$(1)/tsan/%.o: lua/%.c $(BUILD)/lua/$(1)/.built
	@mkdir -p $$(@D)
	@$(CC) $(LUA_TEST_FLAGS) $(LUA_TSAN) $$(DEPENDENCIES) -I$(call lua_headers,$(1)) -c $$< -o $$@
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
$(BUILD)/lua/%/memory: $(BUILD)/lua/%/asan/test/memory.o $(BUILD)/lua/%/asan/all.o
	@$(CC) $(LUA_ASAN) $^ -o $@ -llua$* -lm

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
$(BUILD)/lua/5.4/asan/plait/message/core.so: $(BUILD)/lua/5.4/asan/all.o
	@mkdir -p $(@D)
	@$(CC) $(LUA_ASAN) -shared $< -o $@

lua-asan: $(BUILD)/lua/5.4/asan/plait/message/core.so $(LUA_DESCRIPTORS)/all.pb
	@failed=0; for test in message lists pbc descriptor flat quick hostile abuse growth oneofs; do echo "== lua 5.4 under ASan $$test"; \
		LUA_PATH="$(BUILD)/lua/5.4/?.lua;lua/test/?.lua" LUA_CPATH="$(BUILD)/lua/5.4/asan/?.so" PLAIT_ROUNDS=$${PLAIT_ROUNDS:-300} \
		LD_PRELOAD="$$($(CC) -print-file-name=libasan.so):$$($(CC) -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
		lua5.4 lua/test/$${test}_test.lua 5.4-asan $(LUA_DESCRIPTORS) || failed=1; done; exit $$failed

# One image, several threads and states, under ThreadSanitizer (which does not see into Lua itself, but each thread has its own).
$(BUILD)/lua/%/threads: $(BUILD)/lua/%/tsan/test/threads.o $(BUILD)/lua/%/tsan/all.o
	@$(CC) $(LUA_TSAN) $^ -o $@ -llua$* -lm -pthread

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
