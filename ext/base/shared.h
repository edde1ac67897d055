/* base/shared.h - registers SQL functions; refuses names of modules under another schema. */
#ifndef CTR_BASE_SHARED_H
#define CTR_BASE_SHARED_H

#include "base/conn.h"

/* How an SQL function may be used. PURE: its result depends on its arguments alone. READS: it reads
 * the identity. ADMIN: it changes the file, so no trigger or view may call it. */
enum {
    CTR_PURE = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
    CTR_READS = SQLITE_UTF8,
    CTR_ADMIN = SQLITE_UTF8 | SQLITE_DIRECTONLY
};

/* An SQL function, with `least` to `most` arguments; -1: any number. */
typedef struct ctr_function {
    const char *name;
    int least, most, flags;
    void (*call)(sqlite3_context *ctx, int argc, sqlite3_value **argv);
} ctr_function;

/* Registers n functions. Their user data is `shared`, which may be NULL. */
int ctr_shared_functions(sqlite3 *db, ctr_conn *conn, const ctr_function *functions, size_t n);

/* Fails if a running statement names the eponymous table `name` under another schema than main.
 *
 * SQLite finds a table without xCreate under every schema's name: phone.counter_changes is main's.
 * A user who writes this means another table, so it is refused. SQLite does not pass the schema to
 * the table, so this looks for it in the texts of the running statements. */
int ctr_shared_check_name(sqlite3 *db, const char *name, ctr_problem *problem);

#endif
