# The heap in programs of others: targets for the top Makefile to include. heap-examples is quick and needs no network
# once the toolchain is here; heap-example-sqlite fetches SQLite's source (through cargo) into build/.

EXAMPLES := $(BUILD)/examples
SQLITE := $(EXAMPLES)/vendor/libsqlite3-sys/sqlite3
SQLITE_CRATE := libsqlite3-sys = { version = "=0.30.1", features = ["bundled"] }
# zig cc names its libc before what it is told to link, and of weak names the first wins: see lib/heap/names.c.
SINGLE := -Wl,--whole-archive $(BUILD)/libplait_heap_single.a -Wl,--no-whole-archive
THREADS_CPU := generic+atomics+bulk_memory+mutable_globals+sign_ext+nontrapping_fptoint

WASI_RUN = $(NODE) --no-warnings lib/examples/wasi.js

# clang with Debian's wasi-libc
WASI_CLANG ?= clang-19 --target=wasm32-wasi --sysroot=/usr
WASI_SYSROOT := /usr/lib/wasm32-wasi/libc.a

# Debian's Rust, which has the standard library for both targets
RUSTC ?= /usr/bin/rustc
RUST_FLAGS := --edition 2021 -O -D warnings
RUST_LIBRARIES := /usr/lib/rustlib/wasm32-wasi/lib /usr/lib/rustlib/wasm32-unknown-unknown/lib

.PHONY: heap-examples heap-example-sqlite heap-toolchains heap-rust

# Programs that name nothing of Plait's, by zig and clang.
heap-toolchains: $(foreach name,family grow own info,$(EXAMPLES)/$(name).wasm $(EXAMPLES)/$(name)-clang.wasm)
	@for program in $^; do echo "== $$program"; $(NODE) lib/heap/test/run.js $$program || exit 1; done

$(EXAMPLES)/family.wasm $(EXAMPLES)/grow.wasm $(EXAMPLES)/info.wasm: $(EXAMPLES)/%.wasm: lib/heap/test/%.c $(BUILD)/libplait_heap_single.a
	@mkdir -p $(EXAMPLES)
	$(ZIG) cc --target=wasm32-wasi -O2 -fno-builtin -Wall -Wextra -Werror $< $(SINGLE) -o $@

$(EXAMPLES)/info: lib/heap/test/info.c
	@mkdir -p $(EXAMPLES)
	$(CC) -O2 -fno-builtin -Wall -Wextra -Werror $< -o $@

# Not whole: the program has strong names of its own.
$(EXAMPLES)/own.wasm: lib/heap/test/own.c $(BUILD)/libplait_heap_single.a
	@mkdir -p $(EXAMPLES)
	$(ZIG) cc --target=wasm32-wasi -O2 -fno-builtin -Wall -Wextra -Werror $^ -o $@

$(WASI_SYSROOT):
	@tools/need.sh clang-19 clang-19 "test -e $@" wasi-libc
	@tools/need.sh wasm-ld-19 lld-19 "ls /usr/lib/llvm-19/lib/clang/19/lib/wasi" libclang-rt-19-dev-wasm32

$(EXAMPLES)/%-clang.wasm: lib/heap/test/%.c $(BUILD)/libplait_heap_single.a | $(WASI_SYSROOT)
	@mkdir -p $(EXAMPLES)
	$(WASI_CLANG) -O2 -fno-builtin -Wall -Wextra -Werror $^ -o $@

# As the build script does: it links the archive into the crate.
heap-rust: $(EXAMPLES)/wasm32-wasi/vectors.wasm $(EXAMPLES)/wasm32-unknown-unknown/vectors.wasm
	@for program in $^; do echo "== $$program"; $(NODE) lib/heap/test/run.js $$program || exit 1; done

$(RUST_LIBRARIES):
	@tools/need.sh $(RUSTC) rustc "test -e $@" libstd-rust-dev-wasm32
	@tools/need.sh wasm-ld-14 lld-14

$(EXAMPLES)/%/libplait_alloc.rlib: lib/rust/plait-alloc/src/lib.rs $(BUILD)/libplait_heap_single.a | $(RUST_LIBRARIES)
	@mkdir -p $(@D)
	$(RUSTC) $(RUST_FLAGS) --target $* --crate-type rlib --crate-name plait_alloc -L $(BUILD) -l static=plait_heap_single $< -o $@

$(EXAMPLES)/%/vectors.wasm: lib/examples/vectors.rs $(EXAMPLES)/%/libplait_alloc.rlib
	$(RUSTC) $(RUST_FLAGS) --target $* -C linker=wasm-ld-14 --extern plait_alloc=$(@D)/libplait_alloc.rlib $< -o $@

.PRECIOUS: $(EXAMPLES)/%/libplait_alloc.rlib

$(EXAMPLES)/lists.wasm: lib/examples/lists.zig lib/zig/plait.zig $(BUILD)/libplait_heap_single.a
	@mkdir -p $(EXAMPLES)
	$(ZIG) build-exe -target wasm32-wasi -O ReleaseSmall --dep plait -Mroot=$< -Mplait=lib/zig/plait.zig \
		$(BUILD)/libplait_heap_single.a -femit-bin=$@

heap-examples: heap-toolchains heap-rust $(EXAMPLES)/info $(EXAMPLES)/lists.wasm $(EXAMPLES)/reach.wasm $(patsubst %,$(EXAMPLES)/%.wasm,words words-zig plain plain-zig plain-threads threads) $(BUILD)/libplait_heap.so $(WASM)
	@echo "== words.c"; $(WASI_RUN) $(EXAMPLES)/words.wasm
	@echo "== words.zig"; $(WASI_RUN) $(EXAMPLES)/words-zig.wasm
	@echo "== plain.c"; $(WASI_RUN) $(EXAMPLES)/plain.wasm
	@echo "== plain.zig"; $(WASI_RUN) $(EXAMPLES)/plain-zig.wasm
	@echo "== lists.zig"; $(WASI_RUN) $(EXAMPLES)/lists.wasm
	@echo "== threads.c"; $(NODE) lib/examples/threads.js $(EXAMPLES)/threads.wasm 4
	@echo "== reach.c"; $(NODE) lib/heap/test/reach.js $(EXAMPLES)/reach.wasm
	@echo "== info.c"; LD_PRELOAD=./$(BUILD)/libplait_heap.so $(EXAMPLES)/info
	@WASM_LD="$(WASM_LD)" $(NODE) tools/heap-instance.js
	@WASM_LD="$(WASM_LD)" $(NODE) tools/heap-archives.js
	@$(NODE) tools/waits.js $(BUILD)/plait_heap.o $(EXAMPLES)/instance.wasm

heap-example-sqlite: $(EXAMPLES)/sqlite.wasm
	@echo "== sqlite.c"; $(WASI_RUN) $<

$(EXAMPLES)/words.wasm: lib/examples/words.c lib/plait_heap.h $(BUILD)/libplait_heap_single.a
	@mkdir -p $(EXAMPLES)
	$(ZIG) cc --target=wasm32-wasi -O2 -s -Wall -Wextra -Werror $< $(SINGLE) -o $@

$(EXAMPLES)/words-zig.wasm: lib/examples/words.zig $(BUILD)/libplait_heap_single.a
	@mkdir -p $(EXAMPLES)
	$(ZIG) build-exe -target wasm32-wasi -lc -O ReleaseSmall $< $(BUILD)/libplait_heap_single.a -femit-bin=$@

# These keep their functions' names, for tools/heap-archives.js.
$(EXAMPLES)/plain.wasm: lib/examples/plain.c $(BUILD)/libplait_heap_single.a
	@mkdir -p $(EXAMPLES)
	$(ZIG) cc --target=wasm32-wasi -O2 -Wall -Wextra -Werror $< $(SINGLE) -o $@

$(EXAMPLES)/plain-zig.wasm: lib/examples/plain.zig $(BUILD)/libplait_heap_single.a
	@mkdir -p $(EXAMPLES)
	$(ZIG) build-exe -target wasm32-wasi -lc -O ReleaseSmall -fno-strip $< $(BUILD)/libplait_heap_single.a -femit-bin=$@

$(EXAMPLES)/plain-threads.wasm: lib/examples/plain.c $(BUILD)/libplait_heap.a
	@mkdir -p $(EXAMPLES)
	$(ZIG) cc --target=wasm32-wasi -mcpu=$(THREADS_CPU) -O2 -Wall -Wextra -Werror -Wl,--import-memory -Wl,--shared-memory \
		-Wl,--max-memory=4294901760 $< -Wl,--whole-archive $(BUILD)/libplait_heap.a -Wl,--no-whole-archive -o $@

$(EXAMPLES)/reach.wasm: lib/heap/test/reach.c $(BUILD)/libplait_heap.a
	@mkdir -p $(EXAMPLES)
	$(ZIG) cc --target=wasm32-freestanding -mcpu=$(THREADS_CPU) -std=c17 -O2 -g0 -Wall -Wextra -Werror -ffreestanding \
		-fvisibility=hidden -nostdlib -c $< -o $(EXAMPLES)/reach.o
	$(WASM_LD) --no-entry --import-memory --shared-memory --max-memory=4294967296 -z stack-size=16384 --strip-all \
		--export=__stack_pointer --export=__wasm_init_tls $(EXAMPLES)/reach.o $(BUILD)/libplait_heap.a -o $@

$(EXAMPLES)/threads.wasm: lib/examples/threads.c lib/plait_heap.h $(BUILD)/libplait_heap.a
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
$(EXAMPLES)/sqlite.wasm: lib/examples/sqlite.c $(SQLITE)/sqlite3.c lib/plait_heap.h $(BUILD)/libplait_heap_single.a
	$(ZIG) cc --target=wasm32-wasi -O2 -s -w -DSQLITE_THREADSAFE=0 -DSQLITE_OS_OTHER=1 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_TEMP_STORE=3 \
		-D__wasi__ -I$(SQLITE) $< $(SQLITE)/sqlite3.c $(SQLITE)/wasm32-wasi-vfs.c $(SINGLE) -o $@
