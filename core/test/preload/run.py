#!/usr/bin/env python3
"""Runs programs that are installed here with LD_PRELOAD=build/libplait_heap.so and without, and compares.

    run.py [--short] [NAME ...]

Prints for each program whether it wrote the same and ended the same, and the ratios of wall time, of CPU time and of peak
memory (preloaded over plain, one run each; on a busy machine CPU time says more). What is not installed is named with the package that would bring it, and left out.
Ends with 1 if a program differs.

The peak is the largest resident set of any one process of the program. A child of this script counts this script's own
until it execs, so that peaks below some 16 MiB are not told apart.
"""
import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
LIBRARY = os.path.join(ROOT, "build", "libplait_heap.so")
THREADS = os.path.join(ROOT, "build", "preload_threads")
LIMIT_S = 900
PYTHON = sys.executable


@functools.cache
def preloadable():
    """The library by a path without spaces and colons: LD_PRELOAD is a list that both separate."""
    if not any(character in LIBRARY for character in " :"):
        return LIBRARY
    folder = tempfile.mkdtemp(prefix="plait-preload-")
    atexit.register(shutil.rmtree, folder, True)
    path = os.path.join(folder, "libplait_heap.so")
    os.symlink(LIBRARY, path)
    return path


# CPython's own tests that allocate a lot, start threads or fork.
PYTHON_TESTS = (
    "test_json test_re test_dict test_list test_set test_bytes test_array test_pickle test_zlib test_gc test_queue test_thread "
    "test_threading test_threading_local test_subprocess test_fork1 test_sqlite3 test_decimal test_itertools test_weakref"
)

SQL = """
CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, n INTEGER);
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ROWS)
  INSERT INTO t SELECT i, printf('row %d', (i * 7919) % 100003), i % 1000 FROM c;
CREATE INDEX by_name ON t (name);
SELECT n, count(*), min(name), max(name) FROM t GROUP BY n ORDER BY 2 DESC, n LIMIT 50;
SELECT length(group_concat(name)) FROM (SELECT name FROM t ORDER BY name);
DELETE FROM t WHERE id % 3 = 0;
REINDEX;
PRAGMA integrity_check;
SELECT count(*), sum(length(name)) FROM t;
"""

LINES = "awk 'BEGIN { srand(1); for (i = 0; i < COUNT; i++) printf \"%d line %d\\n\", rand() * 1e9, i }' >lines"

GIT = """set -e
export GIT_CONFIG_NOSYSTEM=1 HOME=$PWD GIT_AUTHOR_DATE='2020-01-01 00:00 +0000' GIT_COMMITTER_DATE='2020-01-01 00:00 +0000'
git init -q -b main scratch && cd scratch
git config user.name nobody && git config user.email nobody@example.org && git config gc.auto 0
for i in $(seq 1 COMMITS); do
  for j in 1 2 3; do seq $i $((i + 2000 * j)) >file$j; done
  git add . && git commit -q -m "change $i"
done
git log --stat --format='%H %s' | sha256sum
git gc -q --aggressive --prune=now && git fsck --strict 2>/dev/null
git log -p --format=%H | sha256sum
git diff --stat HEAD~5
"""


def programs(short):
    """Yields (name, commands it needs with their packages, shell script). What the script writes is compared."""
    def size(small, large):
        return str(small if short else large)

    python = f"PYTHONMALLOC=malloc '{PYTHON}'"
    yield "python", {}, f"{python} '{HERE}/program.py' {size(1, 6)}"
    yield "sqlite3", {"sqlite3": "sqlite3"}, "sqlite3 :memory: <<'END'" + SQL.replace("ROWS", size(20000, 200000)) + "END\n"
    sort = LINES.replace("COUNT", size(100000, 1500000))
    yield "sort", {"awk": "mawk"}, f"{sort}; sort --parallel=4 -S 200M -k2,2 -k1,1n lines | sha256sum"
    yield "c++ threads", {"g++": "g++"}, f"'{THREADS}' {size(4, 60)}"
    yield "node", {"node": "nodejs"}, f"node '{HERE}/workers.js' {size(2, 8)}"
    if short:
        return
    yield "gcc", {"gcc": "gcc"}, (
        f"gcc -std=c17 -O2 -pthread -c '{ROOT}/core/all.c' -o all.o && sha256sum all.o"
    )
    yield "git", {"git": "git"}, GIT.replace("COMMITS", "150")
    yield "redis", {"redis-server": "redis-server", "redis-benchmark": "redis-tools"}, f"sh '{HERE}/redis.sh'"
    # Its words tell times; which tests failed is what counts. Tests that fail without us may.
    yield "python -m test", {f"{PYTHON} -m test.regrtest": "libpython3-testsuite"}, (
        f"{python} -m test -j0 --timeout 300 {PYTHON_TESTS} >log 2>&1; echo $?; "
        "sed -n '/tests* failed:/,/^$/p; /^Result:/p; /env changed:/,/^$/p' log"
    )


def missing(command):
    if " -m " in command:
        return subprocess.call([PYTHON, "-c", "import test.regrtest, test.test_json"], stderr=subprocess.DEVNULL) != 0
    return shutil.which(command) is None


def run(script, preload):
    """Returns (what to compare, its measures, what it wrote to stderr); measures: wall s, CPU s, peak MiB."""
    environment = dict(os.environ, LC_ALL="C", **({"LD_PRELOAD": preloadable()} if preload else {}))
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        child = subprocess.Popen(
            ["timeout", str(LIMIT_S), "sh", "-c", script],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        measures = time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
        out.seek(0)
        err.seek(0)
        return (child.returncode, out.read()), measures, err.read().decode(errors="replace")


def compare(name, script):
    plain, plain_measures, plain_said = run(script, False)
    ours, our_measures, said = run(script, True)
    loaded = "cannot be preloaded" not in said
    same = plain == ours and loaded and plain[0] == 0
    verdict = "same" if same else "fails without us" if plain[0] != 0 else "DIFFERENT" if loaded else "NOT PRELOADED"
    columns = (
        f"{word} {mine:7.2f} / {theirs:7.2f} = {mine / theirs:4.2f}"
        for word, mine, theirs in zip(("wall s", "CPU s", "peak MiB"), our_measures, plain_measures)
    )
    print(f"{name:16} {verdict:10} {'   '.join(columns)}", flush=True)
    if not same:
        for (code, text), words, who in ((plain, plain_said, "plain"), (ours, said, "preloaded")):
            print(f"--- {who}: ended with {code}\n{text.decode(errors='replace')[-2000:]}{words[-2000:]}")
    return same


def prepare():
    """Makes the program in C++, and makes sure that preloading does what it says."""
    if shutil.which("g++"):
        source = os.path.join(HERE, "threads.cpp")
        subprocess.run(["g++", "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", source, "-o", THREADS], check=True)
    (_, maps), _, _ = run("cat /proc/self/maps", True)
    if b"libplait_heap.so" not in maps:
        sys.exit(f"{LIBRARY} is not preloaded")


def main():
    prepare()
    short = "--short" in sys.argv
    wanted = [word for word in sys.argv[1:] if word != "--short"]
    bad = seen = 0
    for name, needs, script in programs(short):
        if wanted and name not in wanted:
            continue
        lacks = [package for command, package in needs.items() if missing(command)]
        if lacks:
            print(f"{name:16} left out: missing {' '.join(lacks)}")
            continue
        seen += 1
        bad += not compare(name, script)
    if bad or not seen:
        sys.exit(f"{bad} of {seen} programs differ")


if __name__ == "__main__":
    main()
