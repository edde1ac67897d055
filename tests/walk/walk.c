/* tests/walk/walk.c - walks through statements of users: which functions of the library are called.
 *
 * The library is compiled with -finstrument-functions, so each of its functions reports itself. For
 * each walk this prints a line for each function, its address and how often it was called:
 *
 *     walk <TAB> statements that the library begins <TAB> statements that it prepares
 *     <TAB> address <TAB> calls
 *
 * tests/walk/walk names the functions and their files. With WALK_SQL in the environment, the
 * statements go to stderr.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

int sqlite3_counter_init(sqlite3 *db, char **message, const sqlite3_api_routines *api);

#define UNSEEN __attribute__((no_instrument_function))

enum { SLOTS = 1 << 14 };
static struct {
    uintptr_t function;
    long calls;
} slots[SLOTS];
static bool walking;
static sqlite3 *main_db;
static long begun, prepared;

void UNSEEN __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    if (!walking) return;
    uintptr_t address = (uintptr_t)function, i = address / 16 % SLOTS;
    while (slots[i].function && slots[i].function != address) i = (i + 1) % SLOTS;
    slots[i].function = address;
    slots[i].calls++;
}

void UNSEEN __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function;
    (void)caller;
}

int __real_sqlite3_prepare_v2(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
int __wrap_sqlite3_prepare_v2(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);

int UNSEEN __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int size, sqlite3_stmt **out,
                                     const char **tail)
{
    prepared++;
    return __real_sqlite3_prepare_v2(db, sql, size, out, tail);
}

int __real_sqlite3_step(sqlite3_stmt *);
int __wrap_sqlite3_step(sqlite3_stmt *);

int UNSEEN __wrap_sqlite3_step(sqlite3_stmt *statement)
{
    if (!sqlite3_stmt_busy(statement)) {
        begun++;
        if (walking && getenv("WALK_SQL")) fprintf(stderr, "%s\n", sqlite3_sql(statement));
    }
    return __real_sqlite3_step(statement);
}

static void UNSEEN fail(sqlite3 *db, const char *sql)
{
    fprintf(stderr, "walk: %s: %s\n", sql, sqlite3_errmsg(db));
    exit(1);
}

static void UNSEEN run(const char *sql)
{
    if (sqlite3_exec(main_db, sql, NULL, NULL, NULL) != SQLITE_OK) fail(main_db, sql);
}

/* Prepares the statement before the walk begins, as an application does. The witness of the file is
 * due in each walk, so that a walk is as long as the last time. */
static void UNSEEN walk(const char *name, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(main_db, sql, -1, &statement, NULL) != SQLITE_OK) fail(main_db, sql);
    sqlite3_sleep(50);
    memset(slots, 0, sizeof slots);
    begun = prepared = 0;
    walking = true;
    int rc;
    do rc = __real_sqlite3_step(statement);
    while (rc == SQLITE_ROW);
    sqlite3_reset(statement);
    walking = false;
    if (rc != SQLITE_DONE) fail(main_db, sql);
    sqlite3_finalize(statement);
    printf("%s\t%ld\t%ld\n", name, begun, prepared);
    for (int i = 0; i < SLOTS; i++)
        if (slots[i].function)
            printf("\t%" PRIxPTR "\t%ld\n", slots[i].function, slots[i].calls);
}

/* Opens two files of our own; a pull passes over all tables of a file. */
static void UNSEEN open_files(const char *folder, const char *what)
{
    char *sql = sqlite3_mprintf("ATTACH '%q/%s-office.db' AS office", folder, what);
    char *path = sqlite3_mprintf("%s/%s-till.db", folder, what);
    sqlite3_auto_extension((void (*)(void))sqlite3_counter_init);
    if (sqlite3_open(path, &main_db) != SQLITE_OK) fail(main_db, path);
    run("PRAGMA journal_mode = WAL");
    run(sql);
    run("PRAGMA office.journal_mode = WAL");
    sqlite3_free(sql);
    sqlite3_free(path);
}

static void UNSEEN close_files(void)
{
    if (sqlite3_close(main_db) != SQLITE_OK) fail(main_db, "close");
}

static void UNSEEN walk_through_a_counter_table(void)
{
    run("CREATE VIRTUAL TABLE views USING counter(path TEXT PRIMARY KEY, hits COUNTER);"
        "INSERT INTO views VALUES ('/', 1)");
    static const char INSERT[] = "INSERT INTO views VALUES ('/', 1)";
    walk("INSERT", INSERT);
    run("BEGIN");
    walk("INSERT within BEGIN, the first", INSERT);
    walk("INSERT within BEGIN, the next", INSERT);
    walk("UPDATE within BEGIN", "UPDATE views SET hits = hits + 1 WHERE path = '/'");
    walk("COMMIT", "COMMIT");
    walk("SELECT by key", "SELECT hits FROM views WHERE path = '/'");
    walk("DELETE", "DELETE FROM views WHERE path = '/'");
}

static void UNSEEN walk_through_a_tracked_table(void)
{
    run("CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);"
        "CREATE TABLE office.products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0);"
        "SELECT counter_track('main.products', 'stock');"
        "SELECT counter_track('office.products', 'stock');"
        "INSERT INTO main.products VALUES ('tea', 5), ('jam', 6);"
        "SELECT * FROM counter_sync('office')");
    static const char UPDATE[] = "UPDATE main.products SET stock = stock - 1 WHERE sku = 'tea'",
                      PULL[] = "SELECT * FROM counter_pull('office')",
                      THERE[] = "UPDATE office.products SET stock = stock + 1 WHERE sku = 'tea'";
    run(UPDATE);
    walk("tracked UPDATE", UPDATE);
    run("BEGIN");
    run(UPDATE);
    walk("tracked UPDATE within BEGIN", UPDATE);
    run("COMMIT");
    walk("tracked INSERT", "INSERT INTO main.products VALUES ('rum', 3)");
    walk("tracked DELETE", "DELETE FROM main.products WHERE sku = 'rum'");
    run(THERE);
    walk("pull of one tracked row, the first", PULL);
    run(THERE);
    walk("pull of one tracked row, the next", PULL);
}

/* The pulls pass over the table above, which has not changed. */
static void UNSEEN walk_through_a_replicated_table(void)
{
    run("CREATE TABLE goods(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0, price INTEGER);"
        "CREATE TABLE office.goods(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0,"
        " price INTEGER);"
        "SELECT counter_replicate('main.goods', 'stock');"
        "SELECT counter_replicate('office.goods', 'stock');"
        "INSERT INTO main.goods VALUES ('tea', 5, 4), ('jam', 6, 3);"
        "SELECT * FROM counter_sync('office')");
    static const char COUNT[] = "UPDATE main.goods SET stock = stock - 1 WHERE sku = 'tea'",
                      PRICE[] = "UPDATE main.goods SET price = price + 1 WHERE sku = 'tea'",
                      PULL[] = "SELECT * FROM counter_pull('office')",
                      THERE[] = "UPDATE office.goods SET stock = stock + 1, price = price + 1"
                                " WHERE sku = 'tea'";
    run(COUNT);
    walk("replicated UPDATE, counter", COUNT);
    run(PRICE);
    walk("replicated UPDATE, other column", PRICE);
    run("BEGIN");
    run(COUNT);
    walk("replicated UPDATE within BEGIN, counter", COUNT);
    run(PRICE);
    walk("replicated UPDATE within BEGIN, other", PRICE);
    run("COMMIT");
    run(THERE);
    walk("pull of one replicated row, the first", PULL);
    run(THERE);
    walk("pull of one replicated row, the next", PULL);
}

int UNSEEN main(int argc, char **argv)
{
    if (argc != 2) return 2;
    open_files(argv[1], "counter");
    walk_through_a_counter_table();
    close_files();
    open_files(argv[1], "tracked");
    walk_through_a_tracked_table();
    close_files();
    open_files(argv[1], "replicated");
    walk_through_a_replicated_table();
    close_files();
    return 0;
}
