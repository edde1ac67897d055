/* vtab/shared.h - the objects that the modules and functions of one connection share; the
 * registration of the modules table.c and changes.c. joined.h has that of the internal ones. */
#ifndef CTR_VTAB_SHARED_H
#define CTR_VTAB_SHARED_H

#include "identity/replica.h"
#include "sqlite/problem.h"
#include "sync/session.h"

/* How an SQL function may be used. PURE: its result depends on its arguments alone. READS: it reads
 * the identity. ADMIN: it changes the file, so no trigger or view may call it. */
enum {
    CTR_PURE = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
    CTR_READS = SQLITE_UTF8,
    CTR_ADMIN = SQLITE_UTF8 | SQLITE_DIRECTONLY
};

/* The objects that modules and functions share: the transaction of the connection, the running
 * sync, and the fronts. */
typedef struct ctr_shared ctr_shared;

/* Registers the library on another connection, and lends that connection's shared objects. */
typedef int ctr_register_all(sqlite3 *db, ctr_shared **shared);

struct ctr_shared {
    sqlite3 *db;
    ctr_register_all *register_all;
    ctr_transaction *transaction;
    ctr_sessions sessions;
    void *fronts; /* the tables in front of others, owned; NULL: none */
    void (*close_fronts)(void *fronts);
    int holders;
};

/* The caller holds the result; NULL if there is no memory. Each module and each function holds it
 * as its user data. */
ctr_shared *ctr_shared_new(sqlite3 *db, ctr_register_all *register_all);
ctr_shared *ctr_shared_hold(ctr_shared *shared);

/* Drops a holder; the last one frees it. */
void ctr_shared_drop(void *shared);

/* An SQL function, with `least` to `most` arguments; -1: any number. */
typedef struct ctr_function {
    const char *name;
    int least, most, flags;
    void (*call)(sqlite3_context *ctx, int argc, sqlite3_value **argv);
} ctr_function;

/* Registers n functions. Their user data is `shared`, which may be NULL. */
int ctr_shared_functions(sqlite3 *db, ctr_shared *shared, const ctr_function *functions, size_t n);

int ctr_table_register(sqlite3 *db, ctr_shared *shared);   /* USING counter(...) */
int ctr_changes_register(sqlite3 *db, ctr_shared *shared); /* counter_changes */

/* Fails if a running statement names the eponymous table `name` under another schema than main.
 *
 * SQLite finds a table without xCreate under every schema's name: phone.counter_changes is main's.
 * A user who writes this means another table, so it is refused. SQLite does not pass the schema to
 * the table, so this looks for it in the texts of the running statements. */
int ctr_shared_check_name(sqlite3 *db, const char *name, ctr_problem *problem);

#endif
