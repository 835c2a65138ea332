# Programs of Emscripten's, in a change-root with Debian sid's Emscripten 6. Not part of `make test`: it needs root, and
# the change-root needs some minutes and 3 GiB, once. EMSCRIPTEN_ROOT names another folder for it.

.PHONY: emscripten-root

emscripten-root:
	@tools/emscripten-root.sh
