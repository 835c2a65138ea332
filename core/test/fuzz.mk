# fuzz: libFuzzer over all functions of the module `message` that read bytes, and over the operations of fs, under ASan and UBSan:
# make fuzz FUZZ_SECONDS=600

FUZZ_CC ?= clang-19
FUZZ_SECONDS ?= 60
FUZZ_FLAGS := -std=gnu17 -O1 -g -pthread -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
FUZZ_TARGETS := descriptor pattern unpack image
FUZZ := $(BUILD)/fuzz

$(FUZZ)/.compiler: tools/need.sh core/test/fuzz.mk
	@tools/need.sh $(FUZZ_CC) $(FUZZ_CC) "echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | $(FUZZ_CC) -fsanitize=fuzzer -x c - -o /dev/null" \
		$(FUZZ_CC:clang-%=libclang-rt-%-dev)
	@mkdir -p $(@D)
	@touch $@

# fuzz_compile(more flags): the recipe of an object
define fuzz_compile
	@mkdir -p $(@D)
	@$(FUZZ_CC) $(FUZZ_FLAGS) $(1) $(DEPENDENCIES) -c $< -o $@
endef

$(FUZZ)/objects/%.o: %.c $(FUZZ)/.compiler
	$(fuzz_compile)

$(FUZZ)/objects/lua/%.o: lua/%.c $(FUZZ)/.compiler $(BUILD)/lua/5.4/.built
	$(call fuzz_compile,-I$(call lua_headers,5.4))

$(FUZZ_TARGETS:%=$(FUZZ)/objects/%.o): $(FUZZ)/objects/%.o: core/test/fuzz_message.c $(FUZZ)/.compiler
	$(call fuzz_compile,-DFUZZ_$(shell echo $* | tr a-z A-Z))

$(FUZZ_TARGETS:%=$(FUZZ)/%): $(FUZZ)/%: $(FUZZ)/objects/%.o $(patsubst %.c,$(FUZZ)/objects/%.o,$(wildcard core/message/*.c))
$(FUZZ)/decode: $(FUZZ)/objects/lua/test/fuzz_decode.o $(FUZZ)/objects/lua/all.o
$(FUZZ)/decode: FUZZ_LIBRARIES := -llua5.4 -lm
$(FUZZ)/fs: $(FUZZ)/objects/core/test/fuzz_fs.o $(PLAIT_NATIVE_SOURCES:%.c=$(FUZZ)/objects/%.o)

$(addprefix $(FUZZ)/,$(FUZZ_TARGETS) decode fs):
	@mkdir -p $(FUZZ)/corpus/$(@F)
	@$(FUZZ_CC) $(FUZZ_FLAGS) $^ -o $@ $(FUZZ_LIBRARIES)

.PHONY: fuzz $(FUZZ_TARGETS:%=fuzz-%) fuzz-decode fuzz-fs
fuzz-fs: $(FUZZ)/fs
	@$< $(FUZZ)/corpus/fs -max_total_time=$(FUZZ_SECONDS) -max_len=600 -len_control=0 -print_final_stats=1 -artifact_prefix=$(FUZZ)/fs- 2>$(FUZZ)/fs.log \
		|| { tail -n 40 $(FUZZ)/fs.log; exit 1; }
	@echo "ok fs: $$(sed -n 's/^stat::number_of_executed_units: *//p' $(FUZZ)/fs.log) inputs"

$(FUZZ_TARGETS:%=fuzz-%) fuzz-decode: fuzz-%: $(FUZZ)/% $(LUA_DESCRIPTORS)/all.pb
	@$(if $(filter descriptor,$*),cp $(LUA_DESCRIPTORS)/all.pb $(FUZZ)/corpus/$*/all.pb)
	@printf 't.Person name id email home.city home.next.next.code by_number by_place.city old.x scores t.good' >$(FUZZ)/corpus/$*/seed
	@FUZZ_PATH='lua/?.lua' FUZZ_DESCRIPTORS=$(LUA_DESCRIPTORS)/all.pb $< $(FUZZ)/corpus/$* -max_total_time=$(FUZZ_SECONDS) -max_len=2000 \
		-print_final_stats=1 -artifact_prefix=$(FUZZ)/$*- 2>$(FUZZ)/$*.log || { tail -n 40 $(FUZZ)/$*.log; exit 1; }
	@echo "ok $*: $$(sed -n 's/^stat::number_of_executed_units: *//p' $(FUZZ)/$*.log) inputs"

fuzz: $(FUZZ_TARGETS:%=fuzz-%) fuzz-decode fuzz-fs
