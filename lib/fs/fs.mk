# libplait_fs: the heap and the files for programs of others: targets for the top Makefile to include, after lib.mk.

.PHONY: fs-library

fs-library: $(BUILD)/libplait_fs.a $(BUILD)/libplait_fs_single.a

$(BUILD)/plait_fs.o: LIBRARY_CPU := $(LIBRARY_CPU)+atomics
$(BUILD)/plait_fs.o $(BUILD)/plait_fs_single.o: lib/fs/plait_fs.c lib/fs/fs.mk Makefile $(VENV)/.installed
	@mkdir -p $(BUILD)
	$(LIBRARY_CC) --target=wasm32-freestanding -mcpu=$(LIBRARY_CPU) $(DEPENDENCIES) -c $< -o $@
