#!/usr/bin/env python3
"""Makes compile_commands.json, for clangd, of what `make --dry-run` prints: one entry for each C file.

If a file has several commands, the last one counts.
"""
import json
import os
import shlex
import sys


def main():
    entries = {}
    for line in sys.stdin.read().replace("\\\n", " ").splitlines():
        if " -MMD " not in line:
            continue
        words = shlex.split(line)
        for file in (word for word in words if word.endswith(".c")):
            entries[file] = {"directory": os.getcwd(), "file": file, "arguments": words}
    json.dump(list(entries.values()), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
