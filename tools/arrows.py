#!/usr/bin/env python3
"""Checks that dependencies point one way, in C and in TypeScript.

1. Between modules. From the lowest up: platform, sync, heap, {fs, task, message}, wasi (over fs), abi. A file may include or import its
   own module and lower ones. js/src/core is the lowest module of the bindings; cli and the index files lie on top.
2. Between files, in a module, too: there is no cycle but those in ALLOWED.
   TypeScript: imports, also those of types.
   C: uses of functions. A .c file depends on the .c files that define the functions which it calls or names. A header
   is the interface of its .c file, and depends on nothing: what its inline functions call does not count.

No maintained tool does this for C. For TypeScript, those that do either need the compiler's API, which TypeScript 7
does not have (dependency-cruiser, madge), or have no list of allowed cycles with reasons (Biome).
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# fs, task and message do not know each other.
C_RANK = {"platform": 0, "sync": 1, "heap": 2, "fs": 3, "task": 3, "message": 3, "wasi": 4, ".": 5}
TS_RANK = {"core": 0, "heap": 1, "fs": 2, "value": 2, "task": 3, "linked": 3, "wasi": 3, "cli": 4, ".": 5}

# Cycles that may be: the reason, the folder, its files. A cycle is allowed if all its files are in one entry. Files
# that are in no cycle must leave the list.
ALLOWED = [
    (
        "whoever takes the heap's lock repairs what an exited holder left: pages, regions and spans; where memory ends, "
        "each kind of block asks the others for what they keep",
        "core/heap",
        "carve.c pages.c regions.c remote_frees.c room.c slices.c thread_heaps.c",
    ),
    (
        "a path leads from memory into a mount, and on from there: one walk in two files",
        "core/fs",
        "mount_walk.c path.c",
    ),
    (
        "messages hold messages, in maps, too; those of pbc are decoded at their first touch, by their metatables",
        "lua",
        "decode.c lazy.c maps.c oneofs.c parts.c",
    ),
]
# These include other .c files as one translation unit. The units of lib/ lie outside what this tool reads.
UNITS = ("core/all.c", "lua/all.c")

INCLUDE = re.compile(r'^#include "(.+)"', re.M)
IMPORT = re.compile(r"""(?:from|import)\s*\(?\s*'(\.[^']+)'""")

C_IGNORED = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""", re.S)
C_NO_FUNCTION = re.compile(r"\b(?:struct|enum|union)\s+\w+|(?:->|\.)\s*\w+")
C_FUNCTION = re.compile(r"^([A-Za-z_][\w *]*?)\b(\w+)\([^;{}]*\)\s*\{", re.M)
C_STATIC = re.compile(r"static\b|PLAIT_TINY\b")
C_CALL = re.compile(r"\b(\w+)\s*\(")
C_VALUE = re.compile(r"(?<=[(,=&?:{])\s*(\w+)\s*(?=[,;):}])")
C_VARIABLE = re.compile(r"(?:\b(?!return\b|else\b|case\b|goto\b)\w+[\s*]+(?=\w+\s*[=;,)\[])|,\s*(?=\w+\s*=))(\w+)")


def read_all(folder, endings):
    """{path below ROOT: text} of the files of a folder, without tests."""
    texts = {}
    for path, folders, names in os.walk(os.path.join(ROOT, folder)):
        folders[:] = [name for name in folders if name != "test"]
        for name in names:
            full = os.path.join(path, name)
            if name.endswith(endings) and os.path.relpath(full, ROOT) not in UNITS:
                with open(full, encoding="utf-8") as file:
                    texts[os.path.relpath(full, ROOT)] = file.read()
    return texts


# ---- which host it is ----

HOST_FILES = re.compile(r"^js/src/(core/host[^/]*|cli/.*|.*\.generated)\.ts$")
HOST_SIGNS = re.compile(
    r"globalThis\.(process|document|navigator|Buffer)|getBuiltinModule|\b(document|navigator)\.|Buffer \} = globalThis"
)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def wrong_hosts(texts):
    """Files that find out for themselves which host they run in: only js/src/core/host*.ts may."""
    bad = []
    for path, text in texts.items():
        signs = () if HOST_FILES.match(path) else HOST_SIGNS.finditer(COMMENT.sub("", text))
        bad += [f"{path}: {sign.group()}: that is for js/src/core/host*.ts" for sign in signs]
    return bad


# ---- between modules ----


def module_of(path, folder):
    below = os.path.relpath(path, folder).split(os.sep)
    return below[0] if len(below) > 1 else "."


def wrong_arrows(texts, folder, pattern, rank):
    bad, seen = [], 0
    for path, text in texts.items():
        module = module_of(path, folder)
        for target in pattern.findall(text):
            full = os.path.normpath(os.path.join(os.path.dirname(path), target))
            if not full.startswith(folder):
                bad.append(f"{path}: {target} lies outside {folder}")
                continue
            other = module_of(full, folder)
            seen += 1
            if other not in rank:
                bad.append(f"{path}: {other} is no module that tools/arrows.py knows")
            elif other != module and rank[other] >= rank[module]:
                bad.append(f"{path}: {module} must not depend on {other} ({target})")
    if seen == 0:
        bad.append(f"{folder}: found no dependency at all; the check itself is broken")
    return bad


# ---- between files ----


def imports(texts):
    """{file: {file that it imports: the names by which it does}}"""
    graph = {path: {} for path in texts}
    for path, text in texts.items():
        for target in IMPORT.findall(text):
            full = os.path.normpath(os.path.join(os.path.dirname(path), target))
            if full in graph and full != path:
                graph[path].setdefault(full, set()).add(target)
    return graph


def uses(texts):
    """{.c file: {.c file that defines functions which it uses: their names}}"""
    code = {path: C_IGNORED.sub(" ", text) for path, text in texts.items() if path.endswith(".c")}
    homes, own = {}, {}
    for path, text in code.items():
        functions = C_FUNCTION.findall(text)
        own[path] = {name for _, name in functions}
        for before, name in functions:
            if not C_STATIC.match(before):
                homes.setdefault(name, set()).add(path)
    graph = {path: {} for path in code}
    for path, text in code.items():
        text = C_NO_FUNCTION.sub(" ", text)
        used = set(C_CALL.findall(text)) | set(C_VALUE.findall(text)) - set(C_VARIABLE.findall(text))
        for name in (used & homes.keys()) - own[path]:
            for home in homes[name]:
                graph[path].setdefault(home, set()).add(name)
    return graph


def cycles(graph):
    """The sets of files that reach each other: the strongly connected components, as Tarjan finds them."""
    order, lowest, stack, found = {}, {}, [], []

    def visit(node):
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in order:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in stack:
                lowest[node] = min(lowest[node], order[other])
        if lowest[node] == order[node]:
            component = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


def wrong_cycles(graph, allowed):
    bad, in_cycles = [], set()
    for files in cycles(graph):
        in_cycles.update(files)
        if any(set(files) <= entry for entry in allowed):
            continue
        bad.append(f"a cycle of {len(files)} files:")
        for path in files:
            for other in files:
                if other in graph[path]:
                    bad.append(f"  {path} -> {other}: {', '.join(sorted(graph[path][other]))}")
    for entry in allowed:
        for path in sorted(entry & graph.keys() - in_cycles):
            bad.append(f"{path} is in no cycle any more: it must leave the list in tools/arrows.py")
    return bad


def check_itself():
    """Fails unless cycles that are made for it are found, and what is none is not."""
    made = {
        "a.c": "int a(void) {\n  return b();\n}\n",
        "b.c": "static int c(int d) {\n  return d;\n}\n\nint b(void) {\n  return c(0) + (int)sizeof(struct a);\n}\n",
        "c.c": "PLAIT_COLD_BEGIN\n\nint c(void) {\n  int a = 0; /* a() */\n  return visit(a) + b();\n}\n",
        "b.h": "static inline int inner(void) {\n  return a();\n}\n",
    }
    assert cycles(uses(made)) == [], "C: found a cycle where there is none"
    made["b.c"] = "int b(void) {\n  return visit(a);\n}\n"
    assert cycles(uses(made)) == [["a.c", "b.c"]], "C: missed a cycle"
    made = {"x/a.ts": "import { b } from '../y/b.ts';\n", "y/b.ts": "export const b = 1;\n"}
    assert cycles(imports(made)) == [], "TypeScript: found a cycle where there is none"
    made["y/b.ts"] = "import type { A } from '../x/a.ts';\n"
    assert cycles(imports(made)) == [["x/a.ts", "y/b.ts"]], "TypeScript: missed a cycle"
    graph = imports(made)
    assert wrong_cycles(graph, []) and not wrong_cycles(graph, [{"x/a.ts", "y/b.ts"}]), "the list is not minded"
    assert wrong_cycles({"x/a.ts": {}}, [{"x/a.ts"}]), "a file may stay in the list for ever"
    made = {"js/src/fs/a.ts": "// document.title\nglobalThis.process.pid\n", "js/src/core/host.ts": "document.title"}
    assert len(wrong_hosts(made)) == 1, "a file that knows its host was missed, or a host file found"
    made = {"core/fs/a.h": '#include "../task/b.h"\n'}
    assert wrong_arrows(made, "core", INCLUDE, C_RANK), "an include that runs up was missed"


def main():
    check_itself()
    core, lua, ts = read_all("core", (".c", ".h")), read_all("lua", (".c",)), read_all("js/src", (".ts",))
    allowed = [{f"{folder}/{name}" for name in names.split()} for _, folder, names in ALLOWED]
    bad = wrong_arrows(core, "core", INCLUDE, C_RANK) + wrong_arrows(ts, "js/src", IMPORT, TS_RANK)
    bad += wrong_hosts(ts)
    bad += wrong_cycles(uses(core | lua) | imports(ts), allowed)
    for path in sorted(set().union(*allowed) - (core.keys() | lua.keys() | ts.keys())):
        bad.append(f"{path} is not there: it must leave the list in tools/arrows.py")
    if bad:
        sys.exit("\n".join(bad))


if __name__ == "__main__":
    main()
