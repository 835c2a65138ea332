# make demo   run the main job on 4096 files and show what it gains
# make test   everything that must hold
# make bench  compare with the peers
# Each installs what it needs into this folder; the second time it is quick. More: docs/internals/building.md

CC      ?= cc
PYTHON  ?= python3
NODE    ?= node
NPM     ?= npm
BUILD   := build

# The compiler writes down which files it included; the end of this file reads all these notes. What is compiled depends
# on the makefile with its flags, too.
DEPENDENCIES = -MMD -MP -MT $@ -MF $@.d

# The Wasm toolchain: zig from PyPI, pinned in tools/requirements.txt. Any clang and wasm-ld take the same flags.
VENV    := .venv
ZIG     := $(VENV)/bin/python -m ziglang
CLANG_FORMAT := $(VENV)/bin/clang-format
WASM_CC ?= $(ZIG) cc --target=wasm32-freestanding -mcpu=generic+atomics+bulk_memory+mutable_globals+sign_ext+nontrapping_fptoint
WASM_LD ?= $(ZIG) wasm-ld

WASM_CFLAGS  := -std=c17 -O2 -Wall -Wextra -Werror -ffreestanding -fvisibility=hidden -nostdlib
WASM_LDFLAGS := --no-entry --export-dynamic --import-memory --shared-memory \
	--initial-memory=393216 --max-memory=4294967296 -z stack-size=4096 --strip-all \
	--export=__stack_pointer --export=__wasm_init_tls --export=__tls_size --export=__tls_align --export=__heap_base

TS      := $(filter-out %/wasm.generated.ts %/thread.generated.ts,$(wildcard js/src/*.ts js/src/*/*.ts js/src/*/*/*.ts))
TESTS   := $(wildcard js/test/*.ts js/test/*/*.ts)
WASM    := $(BUILD)/plait.wasm
WASM_TS := js/src/core/wasm.generated.ts
THREAD_TS := js/src/task/thread.generated.ts
MODULES := node_modules/.package-lock.json

.PHONY: all build demo test list-test-parts test-random bench check lint format layout native-test native-asan \
	native-tsan native-torture js-test node-test runtime-test heap-debug debug-test lib heap-library browser-test \
	bundlers-test runners-test fs-programs-test torture clean

all: build

build: $(BUILD)/dist.stamp

demo: build
	@$(NODE) demo/terminal/demo.js

# Each part is run, whatever became of those before it; in the end comes a table.
TEST_PARTS := check native-test native-asan native-tsan js-test node-test-26 debug-test malloc-plain malloc-asan malloc-tsan \
	heap-examples fs-library-test lib-programs-test heap-preload-short lua-test browser-test bundlers-test runners-test fs-programs-test

test:
	@$(NODE) tools/test-parts.js "$(MAKE)" $(TEST_PARTS)

# As JSON, for .github/workflows/test.yml.
list-test-parts:
	@$(NODE) -p 'JSON.stringify(process.argv.slice(1))' $(TEST_PARTS)

# Random tests follow from a seed, which is the same every time unless PLAIT_SEED says otherwise.
RANDOM_SEED = $${PLAIT_SEED:-$$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}

test-random:
	@seed=$(RANDOM_SEED); echo "PLAIT_SEED=$$seed"; PLAIT_SEED=$$seed $(MAKE) test

bench: build
	$(NODE) bench/run.js

torture: native-torture heap-preload $(BUILD)/test.stamp
	seed=$(RANDOM_SEED); echo "PLAIT_SEED=$$seed"; PLAIT_SEED=$$seed PLAIT_ROUNDS=50 $(NODE) --test $(BUILD)/test/*.test.js

# ---- what is installed here, once ----

$(VENV)/.installed: tools/requirements.txt
	@tools/need.sh $(PYTHON) python3 "$(PYTHON) -c 'import ensurepip'" python3-venv
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r tools/requirements.txt
	@touch $@

$(MODULES): package-lock.json
	@tools/need.sh $(NPM) npm
	$(NPM) ci --no-audit --no-fund --loglevel=error
	@touch $@

# ---- the core as Wasm, the package ----

$(BUILD)/plait.o: core/all.c Makefile $(VENV)/.installed
	@mkdir -p $(BUILD)
	$(WASM_CC) $(WASM_CFLAGS) $(DEPENDENCIES) -c $< -o $@

$(WASM): $(BUILD)/plait.o
	$(WASM_LD) $(WASM_LDFLAGS) $< -o $@

# ---- the heap for programs of others ----

# What is to be inline says so (inline, PLAIT_TINY). A compiler that adds to it makes 5 % more code, which is no faster.
# The same with addresses that loops count up beside each other: 93 bytes more without -disable-lsr.
LIBRARY_CC := $(ZIG) cc -std=c17 -O2 -finline-hint-functions -mllvm -disable-lsr -fno-unroll-loops -g0 -Wall -Wextra -Werror -fvisibility=hidden -nostdlib
LIBRARY_CPU := generic+bulk_memory+bulk_memory_opt+mutable_globals+sign_ext+nontrapping_fptoint

# Without threads, and with them.
ARCHIVES := $(BUILD)/libplait_heap_single.a $(BUILD)/libplait_heap.a $(BUILD)/libplait_fs_single.a $(BUILD)/libplait_fs.a

lib: $(ARCHIVES) $(BUILD)/libplait_heap_pthread.a $(BUILD)/libplait_heap.so

heap-library: $(BUILD)/libplait_heap.a $(BUILD)/libplait_heap_pthread.a $(BUILD)/libplait_heap_single.a $(BUILD)/libplait_heap.so

# An archive has two builds of one source: see lib/heap/names.c.
LIBRARY_OBJECTS := $(foreach archive,$(ARCHIVES),$(archive:$(BUILD)/lib%.a=$(BUILD)/%.o) $(archive:$(BUILD)/lib%.a=$(BUILD)/%_strong.o))
# Those of a single source: members of several archives, or an archive of their own.
OTHER_OBJECTS := $(BUILD)/plait_info.o $(BUILD)/plait_info_single.o $(BUILD)/plait_heap_pthread.o

$(filter-out %_single.o %_single_strong.o,$(LIBRARY_OBJECTS) $(OTHER_OBJECTS)): LIBRARY_CPU := $(LIBRARY_CPU)+atomics
$(filter %_strong.o,$(LIBRARY_OBJECTS)): LIBRARY_NAMES := -DPLAIT_STRONG=1
$(filter $(BUILD)/plait_heap%,$(LIBRARY_OBJECTS)): LIBRARY_SOURCE := lib/heap/malloc.c
$(filter $(BUILD)/plait_fs%,$(LIBRARY_OBJECTS)): LIBRARY_SOURCE := lib/fs/plait_fs.c
$(BUILD)/plait_heap_pthread.o: LIBRARY_SOURCE := lib/heap/pthread.c
$(filter $(BUILD)/plait_info%,$(OTHER_OBJECTS)): LIBRARY_SOURCE := lib/heap/info.c
$(LIBRARY_OBJECTS) $(OTHER_OBJECTS): lib/heap/malloc.c lib/heap/pthread.c lib/heap/info.c lib/fs/plait_fs.c Makefile $(VENV)/.installed
	@mkdir -p $(BUILD)
	$(LIBRARY_CC) --target=wasm32-freestanding -mcpu=$(LIBRARY_CPU) $(LIBRARY_NAMES) $(DEPENDENCIES) -c $(LIBRARY_SOURCE) -o $@

$(ARCHIVES): $(BUILD)/lib%.a: $(BUILD)/%.o $(BUILD)/%_strong.o
$(filter %_single.a,$(ARCHIVES)): $(BUILD)/plait_info_single.o
$(filter-out %_single.a,$(ARCHIVES)): $(BUILD)/plait_info.o
$(BUILD)/libplait_heap_pthread.a: $(BUILD)/plait_heap_pthread.o
$(ARCHIVES) $(BUILD)/libplait_heap_pthread.a:
	@rm -f $@
	$(ZIG) ar rcs $@ $^

$(BUILD)/libplait_heap.so: lib/heap/malloc.c Makefile
	@mkdir -p $(BUILD)
	$(CC) -std=c17 -O2 -g -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden -ftls-model=initial-exec -fno-builtin-malloc \
		$(DEPENDENCIES) -o $@ $< -pthread

$(WASM_TS): $(WASM) tools/embed.py
	@$(PYTHON) tools/embed.py $(WASM) $@
	@touch $@

$(THREAD_TS): $(TS) tools/thread.js $(MODULES)
	@$(NODE) tools/thread.js
	@touch $@

$(BUILD)/dist.stamp: $(TS) $(WASM_TS) $(THREAD_TS) js/tsconfig.base.json js/src/tsconfig.json tools/bundle.js tools/thread.js tools/types.js package.json $(MODULES) $(ARCHIVES) $(BUILD)/libplait_heap_pthread.a
	@mkdir -p $(BUILD)
	$(PYTHON) tools/layout.py --check
	node_modules/.bin/tsc -b js/src
	@$(NODE) tools/types.js
	@$(NODE) tools/thread.js dist/core
	@$(NODE) tools/bundle.js
	@chmod +x dist/node/cli.js
	@mkdir -p dist/lib && cp $(ARCHIVES) $(BUILD)/libplait_heap_pthread.a dist/lib
	@touch $@

layout:
	$(PYTHON) tools/layout.py

include docs/api/api.mk

# ---- the debug build: a package in build/debug whose heap finds more of its users' mistakes (core/heap/debug.c) ----

DEBUG := $(BUILD)/debug

heap-debug: $(DEBUG)/.built

$(DEBUG)/.built: $(BUILD)/test.stamp tools/embed.py tools/bundle.js
	@rm -rf $(DEBUG)
	@mkdir -p $(DEBUG)/build $(DEBUG)/js/test
	$(WASM_CC) $(WASM_CFLAGS) $(DEPENDENCIES) -DPLAIT_HEAP_DEBUG=1 -c core/all.c -o $(DEBUG)/plait.o
	$(WASM_LD) $(WASM_LDFLAGS) $(DEBUG)/plait.o -o $(DEBUG)/plait.wasm
	$(NODE) tools/stackless.js $(DEBUG)/plait.wasm plait_abi_space plait_abi_claim
	@cp -R package.json dist $(DEBUG)
	@cp -R $(BUILD)/test $(DEBUG)/build
	@cp -R js/test/fixtures $(DEBUG)/js/test
	@$(PYTHON) tools/embed.py $(DEBUG)/plait.wasm $(DEBUG)/dist/core/wasm.generated.js
	@$(NODE) tools/bundle.js $(DEBUG)/dist
	@touch $@

# The same tests as js-test, and those of what only this build does.
debug-test: $(DEBUG)/.built
	$(NODE) $(TEST_FLAGS) $(foreach name,heap heap-debug heap-threads task pool,$(DEBUG)/build/test/$(name).test.js)

# ---- what must hold ----

check: build lint $(BUILD)/lib-test/print.wasm $(BUILD)/lib-test/notes.wasm
	$(PYTHON) tools/arrows.py
	$(NODE) tools/abi.js --check
	$(NODE) tools/waits.js $(WASM)
	$(NODE) tools/stackless.js $(WASM) plait_abi_space plait_abi_claim
	$(NODE) tools/size.js --check
	$(NODE) bench/figures.js --check
	$(NODE) tools/package.js

lint: $(MODULES) $(VENV)/.installed
	@tools/need.sh luacheck lua-check
	node_modules/.bin/biome check --error-on-warnings .
	git ls-files -z '*.c' '*.h' | xargs -0 $(CLANG_FORMAT) --dry-run --Werror
	$(NODE) tools/lua-format.js --check
	git ls-files -z '*.lua' '*.rockspec' | xargs -0 luacheck --quiet

# Lays out all C, TypeScript, JavaScript and Lua.
format: $(MODULES) $(VENV)/.installed
	git ls-files -z '*.c' '*.h' | xargs -0 $(CLANG_FORMAT) -i
	node_modules/.bin/biome check --write .
	$(NODE) tools/lua-format.js

$(BUILD)/test.stamp: $(BUILD)/dist.stamp $(TESTS) js/test/tsconfig.json
	node_modules/.bin/tsc -b js/test
	@touch $@

# The types, as users compile them: with those of Node, of browsers, and of both; `oracle` has node:fs in the place of plait/fs.
TYPES := oracle node web both

$(BUILD)/types.stamp: $(BUILD)/test.stamp $(wildcard js/test/types/*)
	$(foreach host,$(TYPES),node_modules/.bin/tsc -p js/test/types/tsconfig.$(host).json &&) touch $@

TEST_FLAGS := --test --test-timeout=300000 --test-reporter=spec

js-test: $(BUILD)/test.stamp $(BUILD)/types.stamp
	$(NODE) $(TEST_FLAGS) $(BUILD)/test/*.test.js

# The same on other versions of Node, from npm's package `node`: make node-test-24, or node-test for all of them.
NODE_VERSIONS ?= 22 24 26

node-test: $(addprefix node-test-,$(NODE_VERSIONS))

node-test-%: $(BUILD)/node-%/.installed $(BUILD)/test.stamp
	$(BUILD)/node-$*/node_modules/node/bin/node $(TEST_FLAGS) $(BUILD)/test/*.test.js

.PRECIOUS: $(BUILD)/node-%/.installed
$(BUILD)/node-%/.installed:
	@tools/need.sh $(NPM) npm
	@mkdir -p $(@D)
	$(NPM) install --prefix $(@D) --no-audit --no-fund --loglevel=error node@$*
	@touch $@

# The package as npm would publish it, on each runtime that has threads of Node's kind: a smoke test.
RUNTIMES := js/test/runtimes/packages/node_modules/.package-lock.json
RUNTIME_NODES := 20 22 24 26

$(RUNTIMES): js/test/runtimes/packages/package-lock.json
	@tools/need.sh $(NPM) npm
	cd js/test/runtimes/packages && $(NPM) ci --no-audit --no-fund --loglevel=error
	@touch $@

runtime-test: $(BUILD)/dist.stamp $(RUNTIMES) $(RUNTIME_NODES:%=$(BUILD)/node-%/.installed)
	$(NODE) js/test/runtimes/run.js \
		$(RUNTIME_NODES:%='$(CURDIR)/$(BUILD)/node-%/node_modules/node/bin/node') \
		'$(CURDIR)/$(dir $(RUNTIMES)).bin/bun' '$(CURDIR)/$(dir $(RUNTIMES)).bin/deno run -A'

browser-test: $(BUILD)/test.stamp
	@tools/need.sh "$${CHROMIUM:-chromium}" chromium
	$(NODE) $(TEST_FLAGS) $(BUILD)/test/browser/*.test.js

BUNDLERS := examples/bundlers/node_modules/.package-lock.json

$(BUNDLERS): examples/bundlers/package-lock.json
	@tools/need.sh $(NPM) npm
	cd examples/bundlers && $(NPM) ci --no-audit --no-fund --loglevel=error
	@touch $@

bundlers-test: $(BUILD)/test.stamp $(BUNDLERS)
	@tools/need.sh "$${CHROMIUM:-chromium}" chromium
	$(NODE) $(TEST_FLAGS) $(BUILD)/test/bundlers/*.test.js

# Under runners of others, Jest and Vitest, and through their compilers.
RUNNERS := examples/runners/node_modules/.package-lock.json

$(RUNNERS): examples/runners/package-lock.json
	@tools/need.sh $(NPM) npm
	cd examples/runners && $(NPM) ci --no-audit --no-fund --loglevel=error
	@touch $@

runners-test: $(BUILD)/test.stamp $(RUNNERS)
	$(NODE) $(TEST_FLAGS) $(BUILD)/test/runners/*.test.js

# Programs of others, on our files.
PROGRAMS := js/test/programs/packages/node_modules/.package-lock.json

$(PROGRAMS): js/test/programs/packages/package-lock.json
	@tools/need.sh $(NPM) npm
	cd js/test/programs/packages && $(NPM) ci --no-audit --no-fund --loglevel=error
	@touch $@

fs-programs-test: $(BUILD)/test.stamp $(PROGRAMS)
	@tools/need.sh git git
	$(NODE) $(TEST_FLAGS) $(BUILD)/test/programs/*.test.js

include core/test/native.mk lib/heap/test/malloc.mk core/test/preload.mk lua/lua.mk core/test/fuzz.mk lib/lib.mk lib/fs/fs.mk \
	lib/emscripten/emscripten.mk lib/test/programs.mk

# For clangd: the command that compiles each file.
EDITED := $(addprefix $(FUZZ)/,$(FUZZ_TARGETS) decode fs) $(BUILD)/plait.o $(BUILD)/libplait_heap.so \
	$(addprefix $(BUILD)/native/plain/,$(PLAIT_NATIVE_TESTS) test_malloc) $(addprefix $(BUILD)/lua/5.4/,memory threads)

.PHONY: compile_commands.json
compile_commands.json:
	@$(MAKE) --no-print-directory -nB $(EDITED) | $(PYTHON) tools/compile-commands.py >$@

-include $(shell find $(BUILD) \( -name node_modules -o -path $(BUILD)/emscripten \) -prune -o -name '*.d' -print 2>/dev/null)

clean:
	rm -rf $(BUILD) dist $(WASM_TS) $(THREAD_TS)
