/* peers.c - counting beside others: sqlite-sync, Redis and RocksDB, where tools/peers could fetch
 * them.
 *
 *     build/bench/peers [folder [text]]      with a text only lines whose name contains it
 *
 * sqlite-sync merges rows of ordinary tables: of two values the last writer's wins, so what two
 * files have counted apart is not added up, and its sums are wrong. Its figures tell what a
 * merge of rows costs. Redis is one server, with one client, on a UNIX socket, its log synced
 * once a second. RocksDB is in the same process; its merge operator adds without reading, its log
 * is not synced, and a get adds up what waits. What its threads do after a turn is not measured.
 *
 * Ours are INSERT and UPDATE on a counter table, as in bench.c, and on a replicated table of five
 * columns: 100,000 keys, WAL, synchronous=NORMAL, 1,000 to a transaction, other keys and a new
 * connection in each turn.
 */
#define _POSIX_C_SOURCE 200809L

#include "common.h"
#include "redis.h"
#include "rocks.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 100000, HOT = 100, MANY = 300000, SOME = 50000, AN_ORDER = 777767 };

#define SYNC_LIBRARY "build/peers/package/cloudsync"
#define SYNC_FILE SYNC_LIBRARY ".so"

#define ENCODE                                                                               \
    "SELECT cloudsync_payload_encode(tbl, pk, col_name, col_value, col_version, db_version," \
    " site_id, cl, seq) FROM cloudsync_changes WHERE site_id = cloudsync_siteid()"
#define APPLY "SELECT cloudsync_payload_apply(?1)"

#define WHOLE                                                                       \
    "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER, name TEXT DEFAULT 'a'," \
    " price REAL DEFAULT 1.5, note TEXT); "

/* By side: COUNTER is ours, PLAIN a table that sqlite-sync merges. */
static const char *const counted[] = {
    "CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)",
    "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER); SELECT cloudsync_init('t')",
};
static const char *const whole[] = {
    WHOLE "SELECT counter_replicate('t', 'n')",
    WHOLE "SELECT cloudsync_init('t')",
};
static const char *const add = "INSERT INTO t(k, n) VALUES (?1, ?2)";
static const char *const look_up = "SELECT n FROM t WHERE k = ?1";

static texts keys;

static void load_peer(sqlite3 *db, side which)
{
    char *error = NULL;
    if (which == COUNTER) return;
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    must(db, sqlite3_load_extension(db, SYNC_LIBRARY, NULL, &error));
}

static sqlite3 *create_empty(const char *name, side which, const char *const *declarations)
{
    sqlite3 *db = open_new(name, which, NULL);
    load_peer(db, which);
    run(db, declarations[which]);
    return db;
}

static sqlite3 *create(const char *name, side which, const char *const *declarations)
{
    sqlite3 *db = create_empty(name, which, declarations);
    uint32_t *order = order_once(ROWS, AN_ORDER);
    task_run(db, &(task){add, &keys, order, ROWS, ROWS, NULL});
    checkpoint(db);
    free(order);
    return db;
}

static void leave(sqlite3 *db, side which)
{
    if (which == PLAIN) run(db, "SELECT cloudsync_terminate()");
    close_db(db);
}

static void measure_inserts(const char *name, const char *const *declarations)
{
    result found = {name, RATE, {{0}}, 0};
    if (!table_wants(name)) return;
    for (int turn = 0; turn < TURNS; turn++) {
        uint32_t *order = order_shuffled(ROWS, new_seed());
        for (side s = COUNTER; s <= PLAIN; s++) {
            sqlite3 *db = create_empty("one", s, declarations);
            found.value[s][turn] = task_run(db, &(task){add, &keys, order, SOME, 1000, NULL});
            leave(db, s);
        }
        free(order);
    }
    table_line(&found);
}

static void measure_updates(const char *name, const char *const *declarations, const char *update)
{
    result found = {name, RATE, {{0}}, 0};
    if (!table_wants(name)) return;
    for (side s = COUNTER; s <= PLAIN; s++) leave(create("one", s, declarations), s);
    for (int turn = 0; turn < TURNS; turn++) {
        uint32_t *order = order_uniform(MANY, ROWS, new_seed());
        for (side s = COUNTER; s <= PLAIN; s++) {
            uint32_t n = s == COUNTER ? MANY : SOME;
            sqlite3 *db = open_again("one", s);
            load_peer(db, s);
            found.value[s][turn] = task_run(db, &(task){update, &keys, order, n, 1000, NULL});
            leave(db, s);
        }
        free(order);
    }
    table_line(&found);
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
static void measure_merges(const char *name, const char *const *declarations)
{
    result found = {name, RATE, {{0}}, 0};
    if (!table_wants(name)) return;
    sqlite3 *source[2] = {create("one", COUNTER, declarations), create("one", PLAIN, declarations)};
    for (int turn = 0; turn < TURNS; turn++) {
        for (side s = COUNTER; s <= PLAIN; s++) {
            sqlite3 *target = create("two", s, declarations);
            double time =
                s == COUNTER ? merge_ours(source[s], target) : merge_theirs(source[s], target);
            found.value[s][turn] = time * 1e9 / ROWS;
            leave(target, s);
        }
    }
    table_line(&found);
    for (side s = COUNTER; s <= PLAIN; s++) leave(source[s], s);
}

/* Ours, in a new connection to the file "one". */
static double time_ours(const char *sql, const uint32_t *order, uint32_t n, uint32_t batch)
{
    sqlite3 *db = open_again("one", COUNTER);
    double time = task_run(db, &(task){sql, &keys, order, n, batch, NULL});
    close_db(db);
    return time;
}

/* Redis answers each increment before the next is sent, or 1,000 at once. */
static void measure_redis(redis *server, const char *name, uint32_t among, uint32_t at_once)
{
    result found = {name, RATE, {{0}}, 0};
    uint32_t n = at_once == 1 ? ROWS / 5 : ROWS;
    if (!table_wants(name)) return;
    close_db(create("one", COUNTER, counted));
    for (int turn = 0; turn < TURNS; turn++) {
        uint32_t *order = order_uniform(MANY, among, new_seed());
        order_shift(order, MANY, new_seed(), ROWS);
        found.value[COUNTER][turn] = time_ours(add, order, MANY, 1000);
        double began = now();
        redis_add(server, &keys, order, n, at_once);
        found.value[PLAIN][turn] = (now() - began) * 1e9 / n;
        free(order);
    }
    table_line(&found);
}

static void measure_all_of_redis(void)
{
    redis *server = redis_start(folder_name());
    if (!server) {
        fprintf(stderr, "peers: there is no redis-server\n");
        return;
    }
    redis_add(server, &keys, NULL, ROWS, 1000);
    measure_redis(server, "INSERT, uniform, against INCRBY one by one", ROWS, 1);
    measure_redis(server, "INSERT, uniform, against INCRBY 1,000 pipelined", ROWS, 1000);
    measure_redis(server, "INSERT, 100 hot keys, against INCRBY one by one", HOT, 1);
    measure_redis(server, "INSERT, 100 hot keys, against INCRBY 1,000 pipelined", HOT, 1000);
    redis_stop(server);
}

/* The sums of both, who have counted the same. */
static void compare_sums(rocks *peer)
{
    sqlite3 *db = open_again("one", COUNTER);
    bool same = number_of(db, "SELECT sum(n) FROM t") == rocks_sum(peer, &keys, NULL, ROWS);
    close_db(db);
    if (same) return;
    fprintf(stderr, "peers: RocksDB's sum is another one\n");
    exit(1);
}

/* Increments of random keys, as many to a transaction as to a batch of RocksDB, and after them
 * look-ups of all keys: by the connection that has counted, and behind the merges that wait. */
static void measure_rocks(rocks *peer, const char *adds, const char *reads, uint32_t batch)
{
    result added = {adds, RATE, {{0}}, 0}, read = {reads, RATE, {{0}}, 0};
    if (!table_wants(adds) && !table_wants(reads)) return;
    close_db(create("one", COUNTER, counted));
    rocks_add(peer, &keys, NULL, ROWS, batch);
    for (int turn = 0; turn < TURNS; turn++) {
        uint32_t *order = order_uniform(MANY, ROWS, new_seed());
        uint32_t *all = order_shuffled(ROWS, new_seed());
        sqlite3 *db = open_again("one", COUNTER);
        added.value[COUNTER][turn] = task_run(db, &(task){add, &keys, order, MANY, batch, NULL});
        read.value[COUNTER][turn] = task_run(db, &(task){look_up, &keys, all, ROWS, 1000, NULL});
        close_db(db);
        double began = now();
        rocks_add(peer, &keys, order, MANY, batch);
        double added_at = now();
        rocks_sum(peer, &keys, all, ROWS);
        added.value[PLAIN][turn] = (added_at - began) * 1e9 / MANY;
        read.value[PLAIN][turn] = (now() - added_at) * 1e9 / ROWS;
        rocks_rest(peer);
        free(order);
        free(all);
    }
    compare_sums(peer);
    table_line(&added);
    table_line(&read);
}

static void measure_all_of_rocks(void)
{
    static const struct {
        const char *adds, *reads;
        uint32_t batch;
    } lines[] = {{"INSERT, uniform, against RocksDB's merge, 1,000 at once",
                  "SELECT by key after that, against RocksDB's get", 1000},
                 {"INSERT, uniform, against RocksDB's merge, 10,000 at once",
                  "SELECT by key after these, against RocksDB's get", 10000}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        rocks *peer = rocks_open(folder_name());
        if (!peer) {
            fprintf(stderr, "peers: there is no RocksDB\n");
            return;
        }
        measure_rocks(peer, lines[i].adds, lines[i].reads, lines[i].batch);
        rocks_close(peer);
    }
}

int main(int argc, char **argv)
{
    folder_make(argc > 1 ? argv[1] : "build/bench");
    keys = keys_new(ROWS);
    table_begin("peer", NULL, argc > 2 ? argv[2] : NULL);
    if (access(SYNC_FILE, R_OK) == 0) {
        measure_updates("UPDATE SET n = n + 1, against sqlite-sync", counted,
                        "UPDATE t SET n = n + 1 WHERE k = ?1");
        measure_merges("merge of 100,000 rows, against sqlite-sync", counted);
        measure_inserts("INSERT, replicated, against sqlite-sync", whole);
        measure_updates("UPDATE SET n = n + 1, replicated, against sqlite-sync", whole,
                        "UPDATE t SET n = n + 1 WHERE k = ?1");
        measure_updates("UPDATE SET price, replicated, against sqlite-sync", whole,
                        "UPDATE t SET price = price + 1 WHERE k = ?1");
        measure_merges("merge of 100,000 replicated rows, against sqlite-sync", whole);
    } else {
        fprintf(stderr, "peers: there is no sqlite-sync in " SYNC_FILE "\n");
    }
    measure_all_of_redis();
    measure_all_of_rocks();
    table_end();
    texts_free(&keys);
    folder_remove();
    return 0;
}
