# libplait_fs: the heap and the files for programs of others: targets for the top Makefile to include, after lib.mk.

.PHONY: fs-library

fs-library: $(BUILD)/libplait_fs.a $(BUILD)/libplait_fs_single.a

# ---- tests of the library: programs for WASI, by zig cc ----

LIB_TEST := $(BUILD)/lib-test
# The heap's functions must come before those of zig's C library.
FILES := -Wl,--whole-archive $(BUILD)/libplait_fs_single.a -Wl,--no-whole-archive

.PHONY: fs-library-test

fs-library-test: $(BUILD)/dist.stamp $(LIB_TEST)/notes.wasm $(LIB_TEST)/copy.wasm $(LIB_TEST)/damaged.wasm $(LIB_TEST)/print.wasm $(LIB_TEST)/print-alone.wasm $(LIB_TEST)/two-heaps.wasm
	$(NODE) --no-warnings lib/examples/notes.mjs $(LIB_TEST)/notes.wasm
	$(NODE) --no-warnings $(TEST_FLAGS) lib/fs/test/*.test.js

$(LIB_TEST)/assets.tar:
	@mkdir -p $(LIB_TEST)/tree/assets
	@printf 'one\n' >$(LIB_TEST)/tree/assets/one.txt
	@printf 'two\n' >$(LIB_TEST)/tree/assets/two.txt
	tar -c --sort=name --format=ustar -f $@ -C $(LIB_TEST)/tree assets

$(LIB_TEST)/copy.wasm: lib/fs/test/copy.c lib/fs/plait_fs.h $(LIB_TEST)/assets.tar $(BUILD)/libplait_fs_single.a
	$(ZIG) cc --target=wasm32-wasi -O2 -s -Wall -Wextra -Werror -Wno-c23-extensions --embed-dir=$(LIB_TEST) \
		-Wl,--export=plait_fs_call $< $(FILES) -o $@

# The same with a wrong byte in the second header's name.
$(LIB_TEST)/damaged/assets.tar: $(LIB_TEST)/assets.tar
	@mkdir -p $(@D)
	@cp $< $@
	@printf '!' | dd of=$@ bs=1 seek=512 conv=notrunc status=none

$(LIB_TEST)/damaged.wasm: lib/fs/test/copy.c lib/fs/plait_fs.h $(LIB_TEST)/damaged/assets.tar $(BUILD)/libplait_fs_single.a
	$(ZIG) cc --target=wasm32-wasi -O2 -s -Wall -Wextra -Werror -Wno-c23-extensions --embed-dir=$(LIB_TEST)/damaged \
		-Wl,--export=plait_fs_call $< $(FILES) -o $@

$(LIB_TEST)/print.wasm: lib/fs/test/print.c $(BUILD)/libplait_fs_single.a
	@mkdir -p $(LIB_TEST)
	$(ZIG) cc --target=wasm32-wasi -O2 -s -Wall -Wextra -Werror $< $(FILES) -o $@

$(LIB_TEST)/print-alone.wasm: lib/fs/test/print.c $(VENV)/.installed
	@mkdir -p $(LIB_TEST)
	$(ZIG) cc --target=wasm32-wasi -O2 -s -Wall -Wextra -Werror $< -o $@

$(LIB_TEST)/notes.wasm: lib/examples/notes.c $(BUILD)/libplait_fs_single.a
	@mkdir -p $(LIB_TEST)
	$(ZIG) cc --target=wasm32-wasi -O2 -s -Wall -Wextra -Werror -Wl,--export=plait_fs_call $< $(FILES) -o $@

# Not linked whole: the program keeps zig's malloc.
$(LIB_TEST)/two-heaps.wasm: lib/fs/test/two-heaps.c $(BUILD)/libplait_fs_single.a
	@mkdir -p $(LIB_TEST)
	$(ZIG) cc --target=wasm32-wasi -O2 -s -Wall -Wextra -Werror $< $(BUILD)/libplait_fs_single.a -o $@
