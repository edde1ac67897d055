/* fuzz_heard.c - any first line of a server's answer: counter_heard.
 *
 *     byte 0     odd: own changes were sent, up to 9; with the bit 2: of a scope
 *                the rest is the line
 *
 * What is refused changes nothing. What is taken says the same when it comes again, believes the
 * server to have no more than was sent, and gives a next request.
 */
#include "fuzz_sql.h"

static sqlite3 *db;
static sqlite3_stmt *heard, *request, *mine;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    db = open_memory();
    run_all(db, "CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);"
                "INSERT INTO v VALUES('a', 1)");
    prepare(db, "SELECT * FROM counter_heard('http://s', ?1, ?2, ?3)", &heard);
    prepare(db,
            "SELECT coalesce(upload, '') || coalesce(query, '') || coalesce(source, '')"
            " FROM counter_request('http://s', ?1)",
            &request);
    prepare(db,
            "SELECT 1 FROM counter_request('http://s', ?1)"
            " WHERE mine NOT BETWEEN 0 AND coalesce(?2, counter_changes_end())",
            &mine);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { ASKED = 1000 };
    static char before[ASKED], once[ASKED], twice[ASKED];
    if (size == 0) return 0;
    run_all(db, "BEGIN");
    const char *scope = data[0] & 2 ? "[\"a\"]" : NULL;
    sqlite3_bind_text(request, 1, scope, -1, SQLITE_STATIC);
    sqlite3_bind_text(mine, 1, scope, -1, SQLITE_STATIC);
    sqlite3_bind_text(heard, 1, size > 1 ? (const char *)data + 1 : "", (int)size - 1,
                      SQLITE_STATIC);
    sqlite3_bind_text(heard, 3, scope, -1, SQLITE_STATIC);
    if (data[0] & 1) sqlite3_bind_int64(heard, 2, 9);
    if (data[0] & 1) sqlite3_bind_int64(mine, 2, 9);
    read_text(request, before, ASKED);
    int rc = run(heard);
    read_text(request, once, ASKED);
    fuzz_assert(rc != SQLITE_NOMEM && rc != SQLITE_CORRUPT);
    fuzz_assert(rc == SQLITE_OK || strcmp(before, once) == 0);
    fuzz_assert(run(heard) == rc);
    read_text(request, twice, ASKED);
    fuzz_assert(strcmp(once, twice) == 0);
    fuzz_assert(sqlite3_step(mine) == SQLITE_DONE);
    sqlite3_reset(mine);
    run_all(db, "ROLLBACK");
    sqlite3_clear_bindings(heard);
    sqlite3_clear_bindings(mine);
    return 0;
}
