/* fixture.h - what groups of cmocka tests have in common. Include it behind cmocka.h.
 *
 * A folder of their own in $TMPDIR is the working directory. Who has made files in it removes them,
 * all, before it is left.
 */
#ifndef TESTS_FIXTURE_H
#define TESTS_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sqlite3.h>

static inline int fixture_enter_folder(void **state)
{
    static char name[512];
    const char *parent = getenv("TMPDIR");
    snprintf(name, sizeof name, "%.400s/counter-test-XXXXXX", parent ? parent : "/tmp");
    *state = mkdtemp(name);
    return *state ? chdir(name) : -1;
}

static inline int fixture_leave_folder(void **state)
{
    return chdir("/") || rmdir(*state);
}

/* The first value of the first row, which must be there. */
static inline int64_t fixture_number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *row;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(row, 0);
    assert_int_equal(sqlite3_finalize(row), SQLITE_OK);
    return n;
}

#endif
