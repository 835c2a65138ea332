# Programs that know nothing of Plait, over libplait_fs: targets for the top Makefile to include, after lib.mk. The
# native build of each says what is right. lib/test/run.js says how they are built.
#
#   lib-programs-test    what is quick, by zig cc and by clang with Debian's wasi-libc, and hosted: part of make test
#   lib-test-long        SQLite, Lua, zstd and QuickJS from crates, too
#   lib-test-emscripten  all of them by Emscripten (after make emscripten-root)
#   lib-test-threads     those with threads by clang and WASIX's C library, which has pthreads; fetches it into build/

LIB_TEST := $(BUILD)/lib-test
LIB_TEST_PACKAGES := sqlite lua zstd quickjs
LIB_TEST_CRATES := $(SQLITE_CRATE)\nlua-src = "=551.1.0"\nzstd-sys = "=2.1.3"\nrquickjs-sys = "=0.14.0"
CLANG ?= clang-19

.PHONY: lib-programs-test lib-test-long lib-test-emscripten lib-test-threads lib-test-clang

# lib_test(toolchains, programs): runs them all, and fails in the end if one failed.
lib_test = failed=0; for toolchain in $(1); do CLANG=$(CLANG) $(NODE) lib/test/run.js $$toolchain $(2) || failed=1; \
	done; exit $$failed

lib-programs-test: $(ARCHIVES) lib-test-clang
	@$(call lib_test,zig clang hosted mounted,)
	@mkdir -p $(EXAMPLES)/hosted
	@$(ZIG) cc --target=wasm32-wasi -Wall -Wextra -Werror lib/examples/hello.c -o $(EXAMPLES)/hosted/hello.wasm
	@cd $(EXAMPLES)/hosted && test "$$($(NODE) "$(CURDIR)/lib/examples/hello.mjs")" = '0 hello, world'

lib-test-long: $(ARCHIVES) lib-test-clang $(LIB_TEST)/vendor/.fetched
	@$(call lib_test,zig clang,$(LIB_TEST_PACKAGES))

lib-test-emscripten: $(LIB_TEST)/vendor/.fetched
	@$(call lib_test,emscripten,)
	@$(call lib_test,emscripten,$(LIB_TEST_PACKAGES))

lib-test-threads: $(ARCHIVES) $(BUILD)/libplait_heap_pthread.a lib-test-clang $(LIB_TEST)/vendor/.fetched
	@tools/wasix-sysroot.sh
	@$(call lib_test,wasix,)
	@$(call lib_test,wasix,zstd)

lib-test-clang:
	@tools/need.sh $(CLANG) $(CLANG) "test -e /usr/lib/wasm32-wasi/libc.a" wasi-libc
	@tools/need.sh wasm-ld$(CLANG:clang%=%) lld$(CLANG:clang%=%) "ls $$($(CLANG) -print-resource-dir)/lib/wasi/*wasm32*" \
		libclang-rt$(CLANG:clang%=%)-dev-wasm32

$(LIB_TEST)/vendor/.fetched: lib/test/programs.mk
	@tools/need.sh cargo cargo
	@mkdir -p $(LIB_TEST)/fetch
	@printf '[package]\nname = "fetch"\nversion = "0.0.0"\n[lib]\npath = "lib.rs"\n[dependencies]\n$(LIB_TEST_CRATES)\n' \
		>$(LIB_TEST)/fetch/Cargo.toml
	@touch $(LIB_TEST)/fetch/lib.rs
	cd $(LIB_TEST)/fetch && cargo vendor --quiet ../vendor >/dev/null
	@touch $@
