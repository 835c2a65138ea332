#!/usr/bin/env python3
"""Checks that dependencies point one way, in C and in TypeScript.

Rooms, from the lowest up: platform, sync, heap, {fs, task, message}, abi. A file may include or import its own room and
lower ones. js/src/core is the lowest room of the bindings; cli and the index files lie on top.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
C_RANK = {"platform": 0, "sync": 1, "heap": 2, "fs": 3, "task": 3, "message": 3, ".": 4}
TS_RANK = {"core": 0, "heap": 1, "fs": 2, "value": 2, "task": 3, "cli": 4, ".": 5}
C_REFERENCE = re.compile(r'^#include "(.+)"', re.M)
TS_REFERENCE = re.compile(r"""(?:from|import)\s*\(?\s*'(\.[^']+)'""")
# One rank may depend on itself across rooms nowhere: fs, task and message do not know each other.
# all.c is the translation unit, not a room; tests may reach everything.


def files(folder, endings):
    for path, folders, names in os.walk(os.path.join(ROOT, folder)):
        folders[:] = [name for name in folders if name != "test"]
        for name in names:
            if name.endswith(endings):
                yield os.path.join(path, name)


# Only these know which program runs Plait; what is theirs alone, and how others would find out.
HOST_FILES = re.compile(r"^js/src/(core/host[^/]*|cli/.*)\.ts$")
HOST_SIGNS = re.compile(
    r"globalThis\.(process|document|navigator|Buffer)|getBuiltinModule|\bdocument\.|\bnavigator\.|host\.kind|Buffer \} = globalThis"
)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def hosts():
    """Files that look for themselves which host they run in."""
    bad = []
    for path in files("js/src", (".ts",)):
        name = os.path.relpath(path, ROOT)
        if HOST_FILES.match(name) or name.endswith(".generated.ts"):
            continue
        with open(path, encoding="utf-8") as file:
            for sign in HOST_SIGNS.finditer(COMMENT.sub("", file.read())):
                bad.append(f"{name}: {sign.group()}: only the files js/src/core/host*.ts know which host it is")
    return bad


def check(folder, endings, pattern, rank):
    bad, seen = [], 0
    base = os.path.join(ROOT, folder)
    for path in files(folder, endings):
        if os.path.basename(path) == "all.c":
            continue
        room = os.path.relpath(path, base).split(os.sep)[0] if os.path.dirname(path) != base else "."
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for target in pattern.findall(text):
            full = os.path.normpath(os.path.join(os.path.dirname(path), target))
            if not full.startswith(base):
                bad.append(f"{os.path.relpath(path, ROOT)}: {target} lies outside {folder}")
                continue
            other = os.path.relpath(full, base).split(os.sep)[0] if os.path.dirname(full) != base else "."
            seen += 1
            if other not in rank:
                bad.append(f"{os.path.relpath(path, ROOT)}: {other} is no room that tools/arrows.py knows")
            elif other != room and rank[other] >= rank[room]:
                bad.append(f"{os.path.relpath(path, ROOT)}: {room} must not depend on {other} ({target})")
    if seen == 0:
        bad.append(f"{folder}: found no dependency at all; the check itself is broken")
    return bad


def main():
    bad = check("core", (".c", ".h"), C_REFERENCE, C_RANK)
    bad += check("js/src", (".ts",), TS_REFERENCE, TS_RANK) + hosts()
    if bad:
        sys.exit("\n".join(bad))


if __name__ == "__main__":
    main()
