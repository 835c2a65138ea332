# Programs of Emscripten's, in a change-root with Debian sid's Emscripten 6. Not part of `make test`: it needs root, and
# the change-root needs some minutes and 3 GiB, once. EMSCRIPTEN_ROOT names another folder for it.

.PHONY: emscripten-root emscripten-test graphs

emscripten-root:
	@tools/emscripten-root.sh

emscripten-test: emscripten-root $(BUILD)/node-26/.installed
	PLAIT_NODES='$(CURDIR)/$(BUILD)/node-26/node_modules/node/bin/node' $(NODE) $(TEST_FLAGS) --test-timeout=900000 lib/emscripten/test/*.test.js

# The graphs: measures, stores bench/results/graphs.json, and draws bench/results/graphs/*.svg.
graphs: build emscripten-root
	$(NODE) bench/run.js graphs
	$(NODE) bench/charts.js
