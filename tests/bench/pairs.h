/* pairs.h - two files of the same rows, one with a counter table, one with a plain table, and the
 * statements that both sides run.
 */
#ifndef PAIRS_H
#define PAIRS_H

#include "common.h"

enum { TINY = 10000, SMALL = 100000, THIRD = 300000, BIG = 1000000, VAST = 10000000 };
enum { MANY = 300000, SOME = 150000, SINGLE = 30000 }; /* statements of a turn */
enum { AN_ORDER = 777767, ANOTHER = 555557 };          /* steps of order_once: two orders */

#define COUNTED "CREATE VIRTUAL TABLE counted USING counter(k TEXT PRIMARY KEY, n COUNTER)"
#define UNCOUNTED "CREATE TABLE plain(k TEXT PRIMARY KEY, n INTEGER)"

#define ADD "INSERT INTO counted(k, n) VALUES (?1, ?2)"
#define UPSERT \
    "INSERT INTO plain(k, n) VALUES (?1, ?2) ON CONFLICT(k) DO UPDATE SET n = n + excluded.n"
#define UPDATE(table) "UPDATE " table " SET n = n + ?2 WHERE k = ?1"
#define LOOK_UP(table) "SELECT n FROM " table " WHERE k = ?1"

#define PULL "SELECT * FROM counter_pull('source', 'full')"
#define MERGE                                                    \
    "INSERT INTO plain SELECT k, n FROM source.plain WHERE true" \
    " ON CONFLICT(k) DO UPDATE SET n = max(n, excluded.n)"

extern const char *const adds[2]; /* by side */
extern const char *const look_ups[2];

extern texts keys; /* BIG of them, or VAST; keys_new */

/* Two closed files. need() makes them, unless it has made them before. */
typedef struct pair {
    const char *name;
    uint32_t rows;
    bool made;
} pair;

void need(pair *files);

/* One of the two: a new file with a table of `rows` keys, in the order of `step`. */
sqlite3 *create(const char *name, side which, uint32_t rows, uint32_t step);

/* Runs a statement once for each key, in one transaction. */
void load(sqlite3 *db, const char *sql, uint32_t n, uint32_t step);

/* Runs a task in a new connection; nanoseconds for each statement. */
double run_task(const pair *files, side which, const task *of);

/* Attaches a file as `source`. */
void attach_source(sqlite3 *db, const char *name, side which);

/* Copies of the files `before` take what the files `third` have, again and again, plain ones by
 * `merge`: adds the nanoseconds for each of `rows` to the result, and prints it. */
void measure_pull(result *found, double rows, const char *merge);

#endif
