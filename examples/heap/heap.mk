# The heap in programs of others: targets for the top Makefile to include. heap-examples is quick and needs no network
# once the toolchain is here; heap-example-sqlite fetches SQLite's source (through cargo) into build/.

EXAMPLES := $(BUILD)/examples
SQLITE := $(EXAMPLES)/vendor/libsqlite3-sys/sqlite3
SQLITE_CRATE := libsqlite3-sys = { version = "=0.30.1", features = ["bundled"] }
THREADS_CPU := generic+atomics+bulk_memory+mutable_globals+sign_ext+nontrapping_fptoint

.PHONY: heap-examples heap-example-sqlite

heap-examples: $(EXAMPLES)/words.wasm $(EXAMPLES)/words-zig.wasm $(EXAMPLES)/threads.wasm $(BUILD)/libplait_heap.so $(WASM)
	@echo "== words.c"; $(NODE) --no-warnings examples/heap/wasi.js $(EXAMPLES)/words.wasm
	@echo "== words.zig"; $(NODE) --no-warnings examples/heap/wasi.js $(EXAMPLES)/words-zig.wasm
	@echo "== threads.c"; $(NODE) examples/heap/threads.js $(EXAMPLES)/threads.wasm 4
	@WASM_LD="$(WASM_LD)" $(NODE) tools/heap-instance.js
	@$(NODE) tools/heap-archives.js
	@$(NODE) tools/waits.js $(BUILD)/plait_heap.o $(EXAMPLES)/instance.wasm

heap-example-sqlite: $(EXAMPLES)/sqlite.wasm
	@echo "== sqlite.c"; $(NODE) --no-warnings examples/heap/wasi.js $<

$(EXAMPLES)/words.wasm: examples/heap/words.c core/plait_heap.h $(BUILD)/libplait_heap_single.a
	@mkdir -p $(EXAMPLES)
	$(ZIG) cc --target=wasm32-wasi -O2 -s -Wall -Wextra -Werror $< $(BUILD)/libplait_heap_single.a -o $@

$(EXAMPLES)/words-zig.wasm: examples/heap/words.zig $(BUILD)/libplait_heap_single.a
	@mkdir -p $(EXAMPLES)
	$(ZIG) build-exe -target wasm32-wasi -lc -O ReleaseSmall $< $(BUILD)/libplait_heap_single.a -femit-bin=$@

$(EXAMPLES)/threads.wasm: examples/heap/threads.c core/plait_heap.h $(BUILD)/libplait_heap.a
	@mkdir -p $(EXAMPLES)
	$(ZIG) cc --target=wasm32-freestanding -mcpu=$(THREADS_CPU) -std=c17 -O2 -g0 -Wall -Wextra -Werror -ffreestanding \
		-fvisibility=hidden -nostdlib -c $< -o $(EXAMPLES)/threads.o
	$(WASM_LD) --no-entry --import-memory --shared-memory --max-memory=4294967296 -z stack-size=16384 --strip-all \
		--export=__stack_pointer --export=__wasm_init_tls --export=__tls_size $(EXAMPLES)/threads.o $(BUILD)/libplait_heap.a -o $@

$(SQLITE)/sqlite3.c:
	@tools/need.sh cargo cargo
	@rm -rf $(EXAMPLES)/fetch && mkdir -p $(EXAMPLES)/fetch
	@printf '[package]\nname = "fetch"\nversion = "0.0.0"\n[lib]\npath = "lib.rs"\n[dependencies]\n$(SQLITE_CRATE)\n' \
		>$(EXAMPLES)/fetch/Cargo.toml
	@touch $(EXAMPLES)/fetch/lib.rs
	cd $(EXAMPLES)/fetch && cargo vendor --quiet ../vendor >/dev/null
	@test -f $@ && touch $@

# The crate brings a file system for WASI, too.
$(EXAMPLES)/sqlite.wasm: examples/heap/sqlite.c $(SQLITE)/sqlite3.c core/plait_heap.h $(BUILD)/libplait_heap_single.a
	$(ZIG) cc --target=wasm32-wasi -O2 -s -w -DSQLITE_THREADSAFE=0 -DSQLITE_OS_OTHER=1 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_TEMP_STORE=3 \
		-D__wasi__ -I$(SQLITE) $< $(SQLITE)/sqlite3.c $(SQLITE)/wasm32-wasi-vfs.c $(BUILD)/libplait_heap_single.a -o $@
