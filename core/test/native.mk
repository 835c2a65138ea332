# native tests of the core: targets for the top Makefile to include. Every core file is compiled by itself here (not
# all.c), so that a missing include shows.

CC ?= gcc
BUILD ?= build
PLAIT_NATIVE_SOURCES := $(wildcard core/platform/*.c core/sync/*.c core/heap/*.c core/fs/*.c core/task/*.c core/message/*.c) core/abi.c
PLAIT_NATIVE_TESTS := test_sync test_heap_blocks test_heap_limit test_heap_model test_heap_sparing test_heap_threads test_fs test_fs_at test_fs_many test_fs_threads test_wasi test_wasi_table test_program \
	test_task_queue test_task_workers test_task_ends test_task_abort test_task_threads test_message test_message_growth test_crash_points_task test_crash_points_heap test_crash_points_fs \
	test_interleavings_heap test_interleavings_fs test_interleavings_task test_kill
PLAIT_NATIVE_FLAGS := -std=c17 -Wall -Wextra -Werror -g -pthread

native_flags_plain := -O2
native_flags_asan := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
native_flags_tsan := -O1 -fsanitize=thread

.PHONY: native-test native-asan native-tsan native-torture
.SECONDARY:

# native_rules(variant): how the variant's objects and tests are made.
define native_rules
$(BUILD)/native/$(1)/%.o: %.c core/test/native.mk
	@mkdir -p $$(dir $$@)
	@$(CC) $(PLAIT_NATIVE_FLAGS) $(native_flags_$(1)) $$(DEPENDENCIES) -c $$< -o $$@

# A program's host is who links core/wasi: here its test.
$(BUILD)/native/$(1)/test_wasi: $(patsubst %,$(BUILD)/native/$(1)/core/wasi/%.o,descriptors preview1_error preview1_files preview1_paths preview1_poll)

# The whole core in one translation unit, as in the Wasm module.
$(BUILD)/native/$(1)/test_program: $(BUILD)/native/$(1)/core/test/test_program.o $(BUILD)/native/$(1)/core/fs/backend_posix.o
	@$(CC) $(PLAIT_NATIVE_FLAGS) $(native_flags_$(1)) $$^ -o $$@

$(BUILD)/native/$(1)/test_wasi_table: $(BUILD)/native/$(1)/core/wasi/descriptors.o

$(BUILD)/native/$(1)/test_%: $(BUILD)/native/$(1)/core/test/test_%.o $(PLAIT_NATIVE_SOURCES:%.c=$(BUILD)/native/$(1)/%.o)
	@$(CC) $(PLAIT_NATIVE_FLAGS) $(native_flags_$(1)) $$^ -o $$@
endef
$(eval $(call native_rules,plain))
$(eval $(call native_rules,asan))
$(eval $(call native_rules,tsan))

# Runs each of the words in $(1), with the environment in $(2); fails in the end if one failed.
native_run = failed=0; for test in $(1); do echo "== $$test"; $(2) $$test || failed=1; done; exit $$failed

native-test: $(PLAIT_NATIVE_TESTS:%=$(BUILD)/native/plain/%)
	@$(call native_run,$^,)

# Not those that single-step: a sanitizer turns one instruction into many.
native-asan: $(patsubst %,$(BUILD)/native/asan/%,$(filter-out test_fs_many test_crash_points_heap test_crash_points_fs test_wasi_table test_interleavings_%,$(PLAIT_NATIVE_TESTS)))
	@$(call native_run,$^,)

# Threads only: ThreadSanitizer does not see the accesses of another process.
native-tsan: $(BUILD)/native/tsan/test_sync $(BUILD)/native/tsan/test_heap_threads $(BUILD)/native/tsan/test_fs_threads $(BUILD)/native/tsan/test_program \
	$(BUILD)/native/tsan/test_task_threads $(BUILD)/native/tsan/test_message
	@$(call native_run,$^,PLAIT_SCALE=20)

# Runs for hours on request: PLAIT_ROUNDS=1000000 make native-torture
native-torture: $(PLAIT_NATIVE_TESTS:%=$(BUILD)/native/plain/%)
	@seed=$(RANDOM_SEED); $(call native_run,$^,PLAIT_SEED=$$seed PLAIT_ROUNDS=$${PLAIT_ROUNDS:-10000})
