# fuzz: libFuzzer over everything of the message room that reads bytes, and over the files' operations, under ASan and UBSan:
# make fuzz FUZZ_SECONDS=600

FUZZ_CC ?= clang-19
FUZZ_SECONDS ?= 60
FUZZ_FLAGS := -std=gnu17 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
FUZZ_TARGETS := descriptor pattern unpack image
FUZZ := $(BUILD)/fuzz

$(FUZZ)/%: core/test/fuzz_message.c core/test/message_schema.h $(wildcard core/message/*.[ch]) tools/need.sh
	@tools/need.sh $(FUZZ_CC) $(FUZZ_CC) "echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | $(FUZZ_CC) -fsanitize=fuzzer -x c - -o /dev/null" \
		$(FUZZ_CC:clang-%=libclang-rt-%-dev)
	@mkdir -p $(FUZZ)/corpus/$*
	@$(FUZZ_CC) $(FUZZ_FLAGS) -DFUZZ_$$(echo $* | tr a-z A-Z) core/test/fuzz_message.c core/message/*.c -o $@

$(FUZZ)/decode: lua/test/fuzz_decode.c $(LUA_SOURCES) $(BUILD)/lua/5.4/.built $(LUA_DESCRIPTORS)/all.pb
	@mkdir -p $(FUZZ)/corpus/decode
	@$(FUZZ_CC) $(FUZZ_FLAGS) -I$(call lua_headers,5.4) lua/test/fuzz_decode.c lua/all.c -o $@ -llua5.4 -lm

$(FUZZ)/fs: core/test/fuzz_fs.c core/test/fs_world.h core/test/harness.h $(CORE) tools/need.sh
	@tools/need.sh $(FUZZ_CC) $(FUZZ_CC) "echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | $(FUZZ_CC) -fsanitize=fuzzer -x c - -o /dev/null" \
		$(FUZZ_CC:clang-%=libclang-rt-%-dev)
	@mkdir -p $(FUZZ)/corpus/fs
	@$(FUZZ_CC) $(FUZZ_FLAGS) -pthread -Wno-unused-function core/test/fuzz_fs.c $(PLAIT_NATIVE_SOURCES) -o $@

.PHONY: fuzz $(FUZZ_TARGETS:%=fuzz-%) fuzz-decode fuzz-fs
fuzz-fs: $(FUZZ)/fs
	@$< $(FUZZ)/corpus/fs -max_total_time=$(FUZZ_SECONDS) -max_len=600 -len_control=0 -print_final_stats=1 -artifact_prefix=$(FUZZ)/fs- 2>$(FUZZ)/fs.log \
		|| { tail -n 40 $(FUZZ)/fs.log; exit 1; }
	@echo "ok fs: $$(sed -n 's/^stat::number_of_executed_units: *//p' $(FUZZ)/fs.log) inputs"

$(FUZZ_TARGETS:%=fuzz-%) fuzz-decode: fuzz-%: $(FUZZ)/% $(LUA_DESCRIPTORS)/all.pb
	@cp $(LUA_DESCRIPTORS)/all.pb $(FUZZ)/corpus/descriptor/all.pb 2>/dev/null || true
	@printf 't.Person name id email home.city home.next.next.code by_number by_place.city old.x scores t.good' >$(FUZZ)/corpus/$*/seed
	@FUZZ_PATH='lua/?.lua' FUZZ_DESCRIPTORS=$(LUA_DESCRIPTORS)/all.pb $< $(FUZZ)/corpus/$* -max_total_time=$(FUZZ_SECONDS) -max_len=2000 \
		-print_final_stats=1 -artifact_prefix=$(FUZZ)/$*- 2>$(FUZZ)/$*.log || { tail -n 40 $(FUZZ)/$*.log; exit 1; }
	@echo "ok $*: $$(sed -n 's/^stat::number_of_executed_units: *//p' $(FUZZ)/$*.log) inputs"

fuzz: $(FUZZ_TARGETS:%=fuzz-%) fuzz-decode fuzz-fs
