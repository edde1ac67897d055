/* crash_steps.c - what replicas do: each step is written as SQL and done in the model at once. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "crash.h"
#include "crash_world.h"

enum { SQL_SIZE = 8192 };

typedef struct script {
    char text[SQL_SIZE];
    size_t size;
} script;

static void add(script *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(to->text + to->size, SQL_SIZE - to->size, format, arguments);
    va_end(arguments);
    if (size > 0) to->size += (size_t)size;
    if (to->size >= SQL_SIZE) to->size = SQL_SIZE - 1;
}

static int other_than(world *w, int file)
{
    return (file + 1 + world_roll(w, MODEL_FILES - 1)) % MODEL_FILES;
}

/* ---- statements of a transaction ------------------------------------------------------------- */

/* The next number of what `file` does by itself. */
static int number(world *w, int file, model_state *next)
{
    int op = w->ops++;
    next->known[file] = op + 1;
    return op;
}

/* ", 1, NULL": the amounts of an operation, where it has some. */
static void add_amounts(script *to, int op)
{
    for (int column = MODEL_A; column <= MODEL_B; column++) {
        if (model_columns(op) & column)
            add(to, ", %lld", (long long)model_amount(op, column));
        else
            add(to, ", NULL");
    }
}

/* A row that was deleted begins its next life. */
static void count_in(model_row *row, int op)
{
    if (!model_lives(row)) model_reset(row);
    model_add(row, op);
}

/* One or two rows; OR IGNORE skips those that are there. */
static void add_insert(world *w, int file, model_state *next, script *to)
{
    int rows = 1 + world_roll(w, 2);
    bool skips = world_roll(w, 4) == 0;
    add(to, "INSERT%s INTO t(k, a, b) VALUES", skips ? " OR IGNORE" : "");
    for (int i = 0; i < rows; i++) {
        int row = world_roll(w, MODEL_ROWS), op = number(w, file, next);
        add(to, "%s('k%d'", i ? ", " : " ", row);
        add_amounts(to, op);
        add(to, ")");
        if (!skips || !model_shows(&next->rows[row])) count_in(&next->rows[row], op);
    }
    add(to, ";");
}

/* All rows that are shown, from one on. */
static void add_update(world *w, int file, model_state *next, script *to)
{
    int first = world_roll(w, MODEL_ROWS), op = number(w, file, next), columns = model_columns(op);
    bool all = world_roll(w, 3) == 0;
    add(to, "UPDATE t SET ");
    if (columns & MODEL_A) add(to, "a = a + (%lld)", (long long)model_amount(op, MODEL_A));
    if (columns == (MODEL_A | MODEL_B)) add(to, ", ");
    if (columns & MODEL_B) add(to, "b = b + (%lld)", (long long)model_amount(op, MODEL_B));
    add(to, " WHERE k %s 'k%d';", all ? ">=" : "=", first);
    for (int row = first; row < (all ? MODEL_ROWS : first + 1); row++)
        if (model_shows(&next->rows[row])) model_add(&next->rows[row], op);
}

static void add_delete(world *w, int file, model_state *next, script *to)
{
    int row = world_roll(w, MODEL_ROWS);
    number(w, file, next);
    add(to, "DELETE FROM t WHERE k = 'k%d';", row);
    if (model_shows(&next->rows[row])) model_delete(&next->rows[row]);
}

static void add_reset(world *w, int file, model_state *next, script *to)
{
    int row = world_roll(w, MODEL_ROWS), op = number(w, file, next);
    add(to, "INSERT INTO t(t, k, a, b) VALUES('reset', 'k%d'", row);
    add_amounts(to, op);
    add(to, ");");
    model_reset(&next->rows[row]);
    model_add(&next->rows[row], op);
}

/* All that is there of a row of the replicated table, or some of it, or its end. Counts are added
 * in the statement that writes regular columns: what there is of one there is of the other. */
static void add_lasting(world *w, int file, model_state *next, script *to)
{
    int at = world_roll(w, MODEL_LASTING), op = number(w, file, next), what = world_roll(w, 8);
    long long amount = (long long)model_amount(op, MODEL_A);
    model_lasting *row = &next->lasting[at];
    bool lives = model_lives(&row->row);
    if (what == 0) {
        add(to, "DELETE FROM r WHERE k = 'r%d';", at);
        if (lives) model_end(row);
    } else if (what == 1) {
        add(to, "REPLACE INTO r SELECT 'r%d', %d, %d, ifnull((SELECT n FROM r WHERE k = 'r%d'), 0)",
            at, op, op, at);
        add(to, " + (%lld);", amount);
        model_write(row, op, 3, true);
    } else if (what < 5) {
        add(to, "INSERT INTO r VALUES('r%d', %d, %d, %lld) ON CONFLICT(k) DO UPDATE", at, op, op,
            amount);
        add(to, " SET name = excluded.name, n = n + excluded.n;");
        model_write(row, op, lives ? 1 : 3, true);
    } else {
        int columns = world_roll(w, 4);
        bool counts = columns == 0 || world_roll(w, 2);
        add(to, "UPDATE r SET k = k");
        if (counts) add(to, ", n = n + (%lld)", amount);
        if (columns & 1) add(to, ", name = %d", op);
        if (columns & 2) add(to, ", price = %d", op);
        add(to, " WHERE k = 'r%d';", at);
        if (lives) model_write(row, op, columns, counts);
    }
}

/* More pages than the cache has, so that the file is written before the commit. */
static void add_pad(world *w, script *to)
{
    if (world_roll(w, 3) == 0)
        add(to, "DELETE FROM pad WHERE rowid %% 2;");
    else
        add(to, "INSERT INTO pad SELECT randomblob(%d) FROM json_each('[1,2,3,4,5,6]');",
            100 + world_roll(w, 3000));
}

static void add_statement(world *w, int file, model_state *next, script *to)
{
    switch (world_roll(w, 16)) {
    case 0:
    case 1: add_update(w, file, next, to); break;
    case 2:
        if (world_roll(w, 2)) add_delete(w, file, next, to);
        break;
    case 3: add_reset(w, file, next, to); break;
    case 4:
    case 5: add_pad(w, to); break;
    case 6: add(to, "SELECT sum(a), sum(b) FROM t;"); break;
    case 7: add(to, "INSERT INTO t(t) VALUES('optimize');"); break;
    case 8: add(to, "INSERT INTO r_counters(r_counters) VALUES('optimize');"); break;
    case 9:
    case 10:
    case 11: add_lasting(w, file, next, to); break;
    default: add_insert(w, file, next, to);
    }
}

static void add_statements(world *w, int file, model_state *next, script *to)
{
    for (int i = world_roll(w, 4); i >= 0; i--) add_statement(w, file, next, to);
}

/* SQLite 3.40 can commit frames without checksums to a WAL, which the next recovery takes for the
 * end: where pages that were written early were changed again, then taken back by ROLLBACK TO, it
 * computes checksums from a frame on that is no longer there. 3.53 does not. */
static bool may_take_back(const world *w, int file)
{
    bool is_wal = strcmp(world_modes[w->files[file].mode].journal, "WAL") == 0;
    return !is_wal || w->cache >= WORLD_NO_SPILL || sqlite3_libversion_number() >= 3053000;
}

/* Taken back, or not. */
static void add_savepoint(world *w, int file, model_state *next, script *to)
{
    model_state inner = *next;
    add(to, "SAVEPOINT s;");
    add_statements(w, file, &inner, to);
    bool stays = world_roll(w, 2) || !may_take_back(w, file);
    add(to, stays ? "RELEASE s;" : "ROLLBACK TO s; RELEASE s;");
    if (stays) *next = inner;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Of a statement that has changed `to`, with what it has learnt of `from`. */
static bool exchange(world *w, int actor, int to, int from, const char *sql, bool may_be_locked)
{
    bool locked = false;
    model_state next = *world_last(&w->files[to]);
    model_merge(&next, world_last(&w->files[from]));
    bool changes = world_enter(w, to, &next);
    bool done = world_try(w, actor, sql, may_be_locked ? &locked : NULL);
    if (locked && changes) world_withdraw(w, to);
    if (!done) return locked;
    if (changes) world_acknowledge(w, to);
    if (changes) world_promise(w, from, w->files[from].n);
    return true;
}

static bool pull(world *w, int to, int from, bool may_be_locked)
{
    char sql[WORLD_PATH + 64];
    snprintf(sql, sizeof sql, "SELECT * FROM counter_pull('%s')", w->files[from].path);
    return exchange(w, to, to, from, sql, may_be_locked);
}

static bool attach(world *w, int file, int peer)
{
    script sql = {"", 0};
    const world_mode *mode = &world_modes[w->files[peer].mode];
    add(&sql, "ATTACH '%s' AS peer; PRAGMA peer.journal_mode = %s; PRAGMA peer.synchronous = %s;",
        w->files[peer].path, mode->journal, mode->synchronous);
    add(&sql, "PRAGMA peer.cache_size = %d", w->cache);
    return world_run(w, file, sql.text);
}

/* What each has told the other is promised, not what it has learnt. */
static bool sync_both(world *w, int file, int peer)
{
    int told = w->files[file].n, heard = w->files[peer].n;
    model_state both = *world_last(&w->files[file]);
    model_merge(&both, world_last(&w->files[peer]));
    bool mine = world_enter(w, file, &both), theirs = world_enter(w, peer, &both);
    if (!world_run(w, file, "SELECT * FROM counter_sync('peer')")) return false;
    if (mine) world_acknowledge(w, file);
    if (theirs) world_acknowledge(w, peer);
    if (mine) world_promise(w, peer, heard);
    if (theirs) world_promise(w, file, told);
    return true;
}

static bool meet(world *w, int file)
{
    int peer = other_than(w, file), how = world_roll(w, 3);
    bool done;
    if (!attach(w, file, peer)) return false;
    if (how == 0)
        done = exchange(w, file, file, peer, "SELECT * FROM counter_pull('peer')", false);
    else if (how == 1)
        done = exchange(w, file, peer, file, "SELECT * FROM counter_push('peer')", false);
    else
        done = sync_both(w, file, peer);
    return done && world_run(w, file, "DETACH peer");
}

/* A commit or the end of a statement that commits. */
static bool commit(world *w, int file, const model_state *next, const char *sql)
{
    bool changes = world_enter(w, file, next);
    if (!world_run(w, file, sql)) return false;
    if (changes) world_acknowledge(w, file);
    return true;
}

/* Sometimes a pull is part of it, and sometimes another one pulls meanwhile. */
static bool transact(world *w, int file)
{
    script first = {"", 0}, second = {"", 0};
    model_state next = *world_last(&w->files[file]);
    int peer = other_than(w, file);
    bool pulls = world_roll(w, 4) == 0;
    add(&first, "BEGIN IMMEDIATE;");
    add_statements(w, file, &next, &first);
    if (world_roll(w, 3) == 0) add_savepoint(w, file, &next, &first);
    if (!world_run(w, file, first.text)) return false;
    if (world_roll(w, 6) == 0 && !pull(w, peer, file, true)) return false;
    if (pulls) {
        add(&second, "SELECT * FROM counter_pull('%s');", w->files[peer].path);
        model_state learnt = next;
        model_merge(&learnt, world_last(&w->files[peer]));
        pulls = !model_same(&learnt, &next); /* else the peer need not be synced */
        if (pulls) next = learnt;
    }
    add_statements(w, file, &next, &second);
    if (world_roll(w, 6) == 0) {
        add(&second, "ROLLBACK");
        return world_run(w, file, second.text);
    }
    add(&second, "COMMIT");
    if (!commit(w, file, &next, second.text)) return false;
    if (pulls) world_promise(w, peer, w->files[peer].n);
    return true;
}

static bool count_alone(world *w, int file)
{
    script sql = {"", 0};
    model_state next = *world_last(&w->files[file]);
    (world_roll(w, 2) ? add_insert : add_lasting)(w, file, &next, &sql);
    return commit(w, file, &next, sql.text);
}

/* If the power goes out, the request will be repeated. */
static bool request(world *w, int file)
{
    script sql = {"", 0};
    model_state next = *world_last(&w->files[file]);
    int row = world_roll(w, MODEL_ROWS);
    int op = number(w, file, &next);
    add(&sql, "INSERT INTO t(k, a, b, request_id) VALUES('k%d'", row);
    add_amounts(&sql, op);
    add(&sql, ", 'request %d')", op);
    count_in(&next.rows[row], op);
    memcpy(w->request, sql.text, sizeof w->request - 1); /* it is shorter */
    w->asked_op = op;
    w->asked_row = row;
    w->asked = file;
    if (!commit(w, file, &next, sql.text)) return false;
    w->asked = -1;
    return true;
}

static bool checkpoint(world *w, int file)
{
    static const char *const WAYS[] = {"PASSIVE", "FULL", "RESTART", "TRUNCATE"};
    char sql[64];
    sqlite3_stmt *row;
    snprintf(sql, sizeof sql, "PRAGMA wal_checkpoint(%s)", WAYS[world_roll(w, 4)]);
    if (sqlite3_prepare_v2(world_db(file), sql, -1, &row, NULL) != SQLITE_OK) {
        if (!crash_is_dead()) world_fail(w, "no checkpoint: %s", sqlite3_errmsg(world_db(file)));
        return false;
    }
    bool whole = sqlite3_step(row) == SQLITE_ROW && sqlite3_column_int(row, 0) == 0 &&
                 sqlite3_column_int(row, 1) >= 0 &&
                 sqlite3_column_int(row, 1) == sqlite3_column_int(row, 2);
    int rc = sqlite3_finalize(row);
    if (rc != SQLITE_OK && !crash_is_dead())
        world_fail(w, "no checkpoint: %s", sqlite3_errmsg(world_db(file)));
    whole = rc == SQLITE_OK && whole && !crash_is_dead();
    if (whole) world_promise(w, file, w->files[file].n);
    return !crash_is_dead();
}

/* Steps of all files have one clock, which runs. */
bool world_step(world *w)
{
    w->clock += 5;
    int file = world_roll(w, 2) ? 0 : world_roll(w, MODEL_FILES); /* mostly the first */
    switch (world_roll(w, 12)) {
    case 0:
    case 1:
    case 2: return count_alone(w, file);
    case 3: return request(w, file);
    case 4:
    case 5: return pull(w, file, other_than(w, file), false);
    case 6:
    case 7: return meet(w, file);
    case 8: return world_roll(w, 2) ? checkpoint(w, file) : world_reopen(w, file);
    default: return transact(w, file);
    }
}
