/* peers.c - counting beside others: sqlite-sync and Redis, where tools/peers could fetch them.
 *
 *     build/bench/peers [folder]
 *
 * sqlite-sync merges rows of ordinary tables: of two values the last writer's wins, so what two
 * files have counted apart is not added up, and its sums are wrong. Its figures tell what a
 * merge of rows costs. Redis is one server, with one client, on a UNIX socket, its log synced
 * once a second.
 *
 * Ours are INSERT and UPDATE on a counter table, as in bench.c: 100,000 keys, WAL,
 * synchronous=NORMAL, 1,000 to a transaction.
 */
#define _POSIX_C_SOURCE 200809L

#include "common.h"
#include "redis.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int sqlite3_counter_init(sqlite3 *db, char **error, const struct sqlite3_api_routines *api);

enum { ROWS = 100000, HOT = 100, AN_ORDER = 777767 };

#define SYNC_LIBRARY "build/peers/package/cloudsync"
#define SYNC_FILE SYNC_LIBRARY ".so"

#define ENCODE                                                                               \
    "SELECT cloudsync_payload_encode(tbl, pk, col_name, col_value, col_version, db_version," \
    " site_id, cl, seq) FROM cloudsync_changes WHERE site_id = cloudsync_siteid()"
#define APPLY "SELECT cloudsync_payload_apply(?1)"

/* What each side is: COUNTER a counter table, PLAIN one that sqlite-sync merges. */
static const char *const declarations[] = {
    "CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)",
    "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER); SELECT cloudsync_init('t')",
};
static const char *const add = "INSERT INTO t(k, n) VALUES (?1, ?2)";
static const char *const update = "UPDATE t SET n = n + 1 WHERE k = ?1";

static texts keys;

static void load_extension(sqlite3 *db, side which)
{
    char *error = NULL;
    if (which == COUNTER) {
        must(db, sqlite3_counter_init(db, &error, NULL));
        return;
    }
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    must(db, sqlite3_load_extension(db, SYNC_LIBRARY, NULL, &error));
}

static sqlite3 *create(const char *name, side which)
{
    sqlite3 *db = open_new(name, which, NULL);
    load_extension(db, which);
    run(db, declarations[which]);
    uint32_t *order = order_once(ROWS, AN_ORDER);
    task_run(db, &(task){add, &keys, order, ROWS, ROWS});
    checkpoint(db);
    free(order);
    return db;
}

static void leave(sqlite3 *db, side which)
{
    if (which == PLAIN) run(db, "SELECT cloudsync_terminate()");
    close_db(db);
}

static void measure_updates(void)
{
    result found = {"UPDATE SET n = n + 1, against sqlite-sync", PER_SECOND, 8, {{0}}, 0};
    sqlite3 *db[2] = {create("one", COUNTER), create("one", PLAIN)};
    for (int turn = 0; turn < TURNS; turn++) {
        uint32_t *order = order_uniform(ROWS / 2, ROWS, (uint64_t)turn + 1);
        for (side s = COUNTER; s <= PLAIN; s++) {
            checkpoint(db[s]);
            found.value[s][turn] = task_run(db[s], &(task){update, &keys, order, ROWS / 2, 1000});
        }
        free(order);
    }
    table_line(&found);
    for (side s = COUNTER; s <= PLAIN; s++) leave(db[s], s);
}

static double merge_ours(sqlite3 *source, sqlite3 *target)
{
    double began = now();
    run_with_path(target, "SELECT * FROM counter_pull(%Q)", sqlite3_db_filename(source, "main"));
    return now() - began;
}

static double merge_theirs(sqlite3 *source, sqlite3 *target)
{
    sqlite3_stmt *encode, *apply;
    double began = now();
    must(source, sqlite3_prepare_v2(source, ENCODE, -1, &encode, NULL));
    must(source, sqlite3_step(encode));
    must(target, sqlite3_prepare_v2(target, APPLY, -1, &apply, NULL));
    sqlite3_bind_blob(apply, 1, sqlite3_column_blob(encode, 0), sqlite3_column_bytes(encode, 0),
                      SQLITE_STATIC);
    must(target, sqlite3_step(apply));
    must(target, sqlite3_finalize(apply));
    must(source, sqlite3_finalize(encode));
    return now() - began;
}

/* Both files have all keys and have counted in each; the target is made anew for each turn. */
static void measure_merges(void)
{
    result found = {"merge of 100,000 rows, against sqlite-sync", PER_SECOND, 20, {{0}}, 0};
    sqlite3 *source[2] = {create("one", COUNTER), create("one", PLAIN)};
    for (int turn = 0; turn < TURNS; turn++) {
        for (side s = COUNTER; s <= PLAIN; s++) {
            sqlite3 *target = create("two", s);
            double time =
                s == COUNTER ? merge_ours(source[s], target) : merge_theirs(source[s], target);
            found.value[s][turn] = ROWS / time;
            leave(target, s);
        }
    }
    table_line(&found);
    for (side s = COUNTER; s <= PLAIN; s++) leave(source[s], s);
}

/* Redis answers each increment before the next is sent, or 1,000 at once. */
static void measure_redis(redis *server, const char *name, double bar, uint32_t among,
                          uint32_t at_once)
{
    result found = {name, PER_SECOND, bar, {{0}}, 0};
    uint32_t n = at_once == 1 ? ROWS / 5 : ROWS;
    sqlite3 *db = create("one", COUNTER);
    for (int turn = 0; turn < TURNS; turn++) {
        uint32_t *order = order_uniform(ROWS, among, (uint64_t)turn + 1);
        checkpoint(db);
        found.value[COUNTER][turn] = task_run(db, &(task){add, &keys, order, ROWS, 1000});
        double began = now();
        redis_add(server, &keys, order, n, at_once);
        found.value[PLAIN][turn] = n / (now() - began);
        free(order);
    }
    table_line(&found);
    close_db(db);
}

static void measure_all_of_redis(void)
{
    redis *server = redis_start(folder_name());
    if (!server) {
        fprintf(stderr, "peers: there is no redis-server\n");
        return;
    }
    redis_add(server, &keys, NULL, ROWS, 1000);
    measure_redis(server, "INSERT, uniform, against INCRBY one by one", 5, ROWS, 1);
    measure_redis(server, "INSERT, uniform, against INCRBY 1,000 pipelined", 0, ROWS, 1000);
    measure_redis(server, "INSERT, 100 hot keys, against INCRBY one by one", 5, HOT, 1);
    measure_redis(server, "INSERT, 100 hot keys, against INCRBY 1,000 pipelined", 0, HOT, 1000);
    redis_stop(server);
}

int main(int argc, char **argv)
{
    folder_make(argc > 1 ? argv[1] : "build/bench");
    keys = keys_new(ROWS);
    table_begin("counter", "peer", NULL);
    if (access(SYNC_FILE, R_OK) == 0) {
        measure_updates();
        measure_merges();
    } else {
        fprintf(stderr, "peers: there is no sqlite-sync in " SYNC_FILE "\n");
    }
    measure_all_of_redis();
    table_end();
    texts_free(&keys);
    folder_remove();
    return 0;
}
