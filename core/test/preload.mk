# The heap under other programs: targets for the top Makefile to include.

PRELOAD_FILES := $(wildcard core/test/preload/*)

.PHONY: heap-preload heap-preload-short

heap-preload: $(BUILD)/libplait_heap.so $(PRELOAD_FILES)
	$(PYTHON) core/test/preload/run.py

heap-preload-short: $(BUILD)/libplait_heap.so $(PRELOAD_FILES)
	$(PYTHON) core/test/preload/run.py --short
