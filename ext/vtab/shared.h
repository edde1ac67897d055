/* vtab/shared.h - the objects that the modules and functions of one connection share. */
#ifndef CTR_VTAB_SHARED_H
#define CTR_VTAB_SHARED_H

#include "identity/replica.h"
#include "sync/session.h"

/* How an SQL function may be used. PURE: its result depends on its arguments alone. READS: it looks
 * at the identity. ADMIN: it changes the file, so it may stand in no trigger and no view. */
enum {
    CTR_PURE = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
    CTR_READS = SQLITE_UTF8,
    CTR_ADMIN = SQLITE_UTF8 | SQLITE_DIRECTONLY
};

/* What modules and functions that work with files share: the transaction of the connection, and
 * the sync that is running. */
typedef struct ctr_shared ctr_shared;

/* Registers all of this on another connection, which lends what it shares. */
typedef int ctr_register_all(sqlite3 *db, ctr_shared **shared);

struct ctr_shared {
    sqlite3 *db;
    ctr_register_all *register_all;
    ctr_transaction *transaction;
    ctr_sessions sessions;
    void *fronts; /* of tables in front of others, owned; NULL: there are none */
    void (*close_fronts)(void *fronts);
    int holders;
};

/* The caller holds it; NULL if there is no memory. Each module and each function holds it as its
 * user data. */
ctr_shared *ctr_shared_new(sqlite3 *db, ctr_register_all *register_all);
ctr_shared *ctr_shared_hold(ctr_shared *shared);

/* Drops a holder; the last one frees it. */
void ctr_shared_drop(void *shared);

/* An SQL function, with so many arguments; -1: any number of them. */
typedef struct ctr_function {
    const char *name;
    int least, most, flags;
    void (*call)(sqlite3_context *ctx, int argc, sqlite3_value **argv);
} ctr_function;

/* Registers n functions. Their user data is what is shared, or NULL. */
int ctr_shared_functions(sqlite3 *db, ctr_shared *shared, const ctr_function *functions, size_t n);

/* The modules of this folder. */
int ctr_table_register(sqlite3 *db, ctr_shared *shared);    /* USING counter(...) */
int ctr_changes_register(sqlite3 *db, ctr_shared *shared);  /* counter_changes */
int ctr_internal_register(sqlite3 *db, ctr_shared *shared); /* counter_guard, counter_witness */

/* Tells whether the library is in this connection already. Two would not know of each other's
 * transactions, so a second load does nothing. Returns a code of SQLite's. */
int ctr_internal_is_registered(sqlite3 *db, bool *is);

/* Registers one more counter_witness, for a new schema of main. */
int ctr_internal_renew_witness(void *shared, int number);

#endif
