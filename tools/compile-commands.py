#!/usr/bin/env python3
"""Makes compile_commands.json, for clangd, of what `make --dry-run` prints: one entry for each C file.

Of several commands for a file the last one counts: the native build's, rather than the Wasm build's.
"""
import json
import os
import re
import shlex
import sys

COMPILERS = re.compile(r"(gcc|cc|clang)(-\d+)?$")


def main():
    entries = {}
    for line in sys.stdin.read().replace("\\\n", " ").splitlines():
        if " -MMD " not in line:
            continue
        words = shlex.split(re.sub(r"\$\(echo (\w+) \| tr a-z A-Z\)", lambda name: name[1].upper(), line))
        for file in (word for word in words if word.endswith(".c")):
            entries[file] = {"directory": os.getcwd(), "file": file, "arguments": words}
    json.dump(list(entries.values()), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
