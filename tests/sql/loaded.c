/* loaded.c - loads the extension into the SQLite that this program is linked with, counts and
 * merges in memory, and prints the version of that SQLite: loaded build/counter */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static const char *const STATEMENTS[] = {
    "ATTACH ':memory:' AS phone",
    "CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER)",
    "INSERT INTO v VALUES ('x', 1)",
    "SELECT * FROM counter_push('phone')",
    "INSERT INTO v VALUES ('x', 10)",
    "UPDATE phone.v SET n = n + 100",
    "SELECT * FROM counter_sync('phone')",
};

static int take(void *answer, int n, char **values, char **names)
{
    (void)n, (void)names;
    snprintf(answer, 32, "%s", values[0]);
    return 0;
}

static int give_up(sqlite3 *db, const char *where)
{
    fprintf(stderr, "SQLite %s: %s: %s\n", sqlite3_libversion(), where, sqlite3_errmsg(db));
    sqlite3_close(db);
    return 1;
}

int main(int argc, char **argv)
{
    sqlite3 *db;
    if (argc != 2 || sqlite3_open(":memory:", &db) != SQLITE_OK) return 2;
    sqlite3_enable_load_extension(db, 1);
    if (sqlite3_load_extension(db, argv[1], NULL, NULL) != SQLITE_OK) return give_up(db, argv[1]);
    char answer[32] = "";
    for (size_t i = 0; i < sizeof STATEMENTS / sizeof *STATEMENTS; i++)
        if (sqlite3_exec(db, STATEMENTS[i], take, answer, NULL) != SQLITE_OK)
            return give_up(db, STATEMENTS[i]);
    if (sqlite3_exec(db, "SELECT (SELECT n FROM v) + (SELECT n FROM phone.v)", take, answer,
                     NULL) ||
        strcmp(answer, "222") != 0)
        return give_up(db, answer);
    if (sqlite3_close(db) != SQLITE_OK) return 1;
    printf("%s\n", sqlite3_libversion());
    return 0;
}
