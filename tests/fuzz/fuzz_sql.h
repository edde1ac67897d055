/* fuzz_sql.h - what the targets share that run SQL. */
#ifndef TESTS_FUZZ_FUZZ_SQL_H
#define TESTS_FUZZ_FUZZ_SQL_H

#include <sqlite3.h>

#include "counter.h"
#include "fuzz.h"

enum { DIGEST = 80 };

static inline void prepare(sqlite3 *in, const char *sql, sqlite3_stmt **statement)
{
    fuzz_assert(sqlite3_prepare_v3(in, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL) ==
                SQLITE_OK);
}

static inline void run_all(sqlite3 *in, const char *sql)
{
    fuzz_assert(sqlite3_exec(in, sql, NULL, NULL, NULL) == SQLITE_OK);
}

static inline sqlite3 *open_memory(void)
{
    sqlite3 *opened;
    fuzz_assert(sqlite3_open(":memory:", &opened) == SQLITE_OK);
    fuzz_assert(sqlite3_counter_init(opened, NULL, NULL) == SQLITE_OK);
    return opened;
}

static inline int run(sqlite3_stmt *statement)
{
    while (sqlite3_step(statement) == SQLITE_ROW) {
    }
    return sqlite3_reset(statement);
}

static inline void read_text(sqlite3_stmt *of, char *out, size_t size)
{
    *out = 0;
    if (sqlite3_step(of) == SQLITE_ROW)
        snprintf(out, size, "%s", (const char *)sqlite3_column_text(of, 0));
    fuzz_assert(sqlite3_reset(of) == SQLITE_OK);
}

static inline void read_digest(sqlite3_stmt *of, char out[DIGEST])
{
    read_text(of, out, DIGEST);
}

#endif
