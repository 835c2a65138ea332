/*
 * sqlite: SQLite on its unix VFS, with each kind of journal, on four threads. First each thread has a database of its
 * own, then all share one. The database files must be those of the native build, byte for byte.
 */
#include "../workers.h"
#include "sqlite3.h"

#ifndef ROUNDS
#define ROUNDS 1
#endif

static int first_row(void *to, int columns, char **values, char **names) {
  (void)columns, (void)names;
  snprintf(to, 200, "%s", values[0] != NULL ? values[0] : "null");
  return 0;
}

static void query(struct worker *worker, sqlite3 *db, const char *sql, int is_told) {
  char *error = NULL, result[200] = "";
  int rc = sqlite3_exec(db, sql, first_row, result, &error);
  if (rc != SQLITE_OK) tell(worker, "%s: %d %s\n", sql, rc, error);
  if (rc == SQLITE_OK && is_told) tell(worker, "%s: %s\n", sql, result);
  sqlite3_free(error);
}

static sqlite3 *database(struct worker *worker, const char *name) {
  sqlite3 *db = NULL;
  if (sqlite3_open(name, &db) != SQLITE_OK) tell(worker, "%s: %s\n", name, sqlite3_errmsg(db));
  sqlite3_busy_timeout(db, 60000);
  return db;
}

static void *own_database(void *argument) {
  struct worker *worker = argument;
  static const char *const journals[] = {"delete", "truncate", "persist", "memory", "wal", "off"};
  for (int j = 0; j < COUNT(journals); j++) {
    char name[40], sql[300];
    snprintf(name, sizeof name, HERE "own-%d-%s.db", worker->number, journals[j]);
    sqlite3 *db = database(worker, name);
    snprintf(sql, sizeof sql, "pragma journal_mode = %s", journals[j]);
    query(worker, db, sql, 1);
    query(worker, db, "create table t (a integer primary key, b text, c blob)", 0);
    query(worker, db, "create index i on t (b)", 0);
    for (int k = 0; k < 20 * ROUNDS; k++) {
      snprintf(sql, sizeof sql,
          "begin; with recursive n(i) as (select 1 union all select i + 1 from n where i < 200) "
          "insert into t(b, c) select hex(i * 7919 + %d), zeroblob(i %% 50) from n; "
          "delete from t where a %% 17 = %d; %s",
          k + worker->number, k % 17, k % 5 == 4 ? "rollback" : "commit");
      query(worker, db, sql, 0);
    }
    query(worker, db,
        "begin; savepoint s; delete from t; rollback to s; "
        "update t set b = b || 'x' where a % 3 = 0; commit",
        0);
    query(worker, db, "pragma integrity_check", 1);
    query(worker, db, "select count(*) || ' ' || sum(length(b)) || ' ' || max(b) from t", 1);
    query(worker, db, "vacuum", 0);
    sqlite3_close(db);
    tell_file(worker, name);
    db = database(worker, name);
    query(worker, db, "select count(*) || ' ' || sum(length(b)) || ' ' || max(b) from t", 1);
    query(worker, db, "attach '" HERE "attached.db' as other", 0);
    sqlite3_close(db);
  }
  return NULL;
}

static void *one_database(void *argument) {
  struct worker *worker = argument;
  sqlite3 *db = database(worker, HERE "shared.db");
  char sql[200];
  for (int i = 0; i < 50 * ROUNDS; i++) {
    snprintf(sql, sizeof sql, "begin immediate; insert into t values (%d, %d); update total set n = n + 1; commit",
        worker->number, i);
    query(worker, db, sql, 0);
  }
  sqlite3_close(db);
  return NULL;
}

static void share(const char *journal) {
  struct worker *worker = &workers[0];
  char sql[100];
  unlink(HERE "shared.db");
  sqlite3 *db = database(worker, HERE "shared.db");
  snprintf(sql, sizeof sql,
      "pragma journal_mode = %s; create table t (a, b); create table total (n); insert into total values (0)", journal);
  query(worker, db, sql, 0);
  sqlite3_close(db);
  work(one_database);
  *worker = (struct worker){.number = 0};
  db = database(worker, HERE "shared.db");
  query(worker, db, "select n from total", 1);
  query(worker, db, "select count(*) || ' ' || count(distinct a * 100000 + b) || ' ' || sum(b) from t", 1);
  query(worker, db, "pragma integrity_check", 1);
  sqlite3_close(db);
  printf("shared, %s: %.*s", journal, (int)worker->length, worker->text);
}

int main(void) {
  fresh();
  printf("SQLite %s\n", sqlite3_libversion());
  work(own_database);
  share("delete");
  share("persist");
#if !WASI
  share("wal");
#endif
  show_tree();
  return 0;
}
