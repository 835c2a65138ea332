/*
 * sqlite: SQLite for WASI, with Plait's malloc: 100,000 rows in memory, an index, joins and sorting. SQLite's own count
 * of its memory is printed beside the heap's.
 */
#include "../plait_heap.h"
#include "sqlite3.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const STATEMENTS[] = {
    "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, city INTEGER)",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) "
    "INSERT INTO person SELECT i, printf('person %d', (i * 7919) % 100003), i % 100 FROM n",
    "CREATE INDEX by_name ON person (name)",
    "SELECT count(*), count(DISTINCT city), min(name), max(name) FROM person",
    "SELECT a.name, length(group_concat(b.name)) FROM person a JOIN person b ON b.city = a.city WHERE a.id < 4 "
    "GROUP BY a.id",
    "DELETE FROM person WHERE id % 3 = 0",
    "VACUUM",
    "SELECT name FROM person ORDER BY name DESC LIMIT 2",
};

static int print_row(void *unused, int count, char **values, char **names) {
  (void)unused, (void)names;
  for (int i = 0; i < count; i++) printf("%s%s", i == 0 ? "" : " | ", values[i] != NULL ? values[i] : "NULL");
  puts("");
  return 0;
}

static uint32_t print_usage(const char *when) {
  struct plait_heap_usage usage;
  plait_heap_usage(&usage);
  printf("heap, %s: %" PRIu32 " live blocks, %" PRIu64 " KiB in use, %" PRIu64 " at peak; SQLite says %lld KiB\n", when,
      usage.live_blocks, usage.used_bytes / 1024, usage.peak_bytes / 1024, (long long)sqlite3_memory_used() / 1024);
  return usage.live_blocks;
}

int main(void) {
  sqlite3 *base;
  char *error = NULL;
  printf("SQLite %s\n", sqlite3_libversion());
  uint32_t before = print_usage("before");
  if (sqlite3_open(":memory:", &base) != SQLITE_OK) return 1;
  for (size_t i = 0; i < sizeof STATEMENTS / sizeof *STATEMENTS; i++) {
    if (sqlite3_exec(base, STATEMENTS[i], print_row, NULL, &error) == SQLITE_OK) continue;
    printf("%s: %s\n", STATEMENTS[i], error);
    return 1;
  }
  uint32_t during = print_usage("with the base");
  sqlite3_close(base);
  sqlite3_shutdown();
  uint32_t after = print_usage("after");
  int good = during > before + 100 && after == before && plait_heap_is_whole();
  puts(good ? "every block was Plait's" : "the heap's numbers are wrong");
  return good ? 0 : 1;
}
