/* crash_world.c - the replicas: files, connections, what was promised and what is there. */
#include "crash_world.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "counter.h"

#include "crash.h"

enum { NONE = -1 };

const world_mode world_modes[WORLD_MODES] = {
    {"DELETE NORMAL", "DELETE", "NORMAL", 1, true},
    {"DELETE FULL", "DELETE", "FULL", 1, false},
    {"DELETE EXTRA", "DELETE", "EXTRA", 0, false},
    {"TRUNCATE NORMAL", "TRUNCATE", "NORMAL", 1, true},
    {"TRUNCATE FULL", "TRUNCATE", "FULL", 0, false},
    {"PERSIST NORMAL", "PERSIST", "NORMAL", 0, true},
    {"PERSIST FULL", "PERSIST", "FULL", 0, false},
    {"WAL NORMAL", "WAL", "NORMAL", NONE, false},
    {"WAL FULL", "WAL", "FULL", 0, false},
};

static sqlite3 *connections[MODEL_FILES];

/* ---- small things ---------------------------------------------------------------------------- */

int world_roll(world *w, int n)
{
    return (int)(crash_random(&w->chance) % (uint64_t)n);
}

model_state *world_last(world_file *file)
{
    return &file->history[file->n - 1];
}

sqlite3 *world_db(int file)
{
    return connections[file];
}

void world_folders(const world *w, const char *folders[MODEL_FILES + 1])
{
    for (int i = 0; i < MODEL_FILES; i++) folders[i] = w->files[i].folder;
    folders[MODEL_FILES] = NULL;
}

void world_fail(world *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("seed %llu, modes", (unsigned long long)w->seed);
    for (int i = 0; i < MODEL_FILES; i++) printf(" %s,", world_modes[w->files[i].mode].name);
    putchar(' ');
    vprintf(format, arguments);
    putchar('\n');
    fflush(stdout);
    va_end(arguments);
    w->failed = true;
}

/* ---- statements ------------------------------------------------------------------------------ */

bool world_try(world *w, int file, const char *sql, bool *locked)
{
    char *message = NULL;
    int rc = sqlite3_exec(connections[file], sql, NULL, NULL, &message);
    if (locked) *locked = rc != SQLITE_OK && message && strstr(message, "locked");
    bool expected = rc == SQLITE_OK || crash_is_dead() || (locked && *locked);
    if (!expected) world_fail(w, "file %d: %s\n%s", file, message, sql);
    sqlite3_free(message);
    return rc == SQLITE_OK && !crash_is_dead();
}

bool world_run(world *w, int file, const char *sql)
{
    return world_try(w, file, sql, NULL);
}

static int append(void *data, int n, char **values, char **names)
{
    (void)names;
    char *text = data;
    size_t size = strlen(text);
    for (int i = 0; i < n; i++)
        size += (size_t)snprintf(text + size, MODEL_TEXT - size, "%s%c",
                                 values[i] ? values[i] : "NULL", i + 1 < n ? '|' : '\n');
    return size >= MODEL_TEXT;
}

/* The rows as lines. */
static bool ask(world *w, int file, const char *sql, char text[MODEL_TEXT])
{
    char *message = NULL;
    *text = '\0';
    int rc = sqlite3_exec(connections[file], sql, append, text, &message);
    if (rc != SQLITE_OK && !crash_is_dead()) world_fail(w, "file %d: %s\n%s", file, message, sql);
    sqlite3_free(message);
    return rc == SQLITE_OK && !crash_is_dead();
}

/* ---- states ---------------------------------------------------------------------------------- */

bool world_enter(world *w, int file, const model_state *next)
{
    world_file *of = &w->files[file];
    if (model_same(next, world_last(of))) return false;
    if (of->n == WORLD_HISTORY) abort(); /* world_is_full() was not asked */
    of->history[of->n] = *next;
    atomic_signal_fence(memory_order_seq_cst); /* a process that is killed has entered it or not */
    of->n = of->n + 1;
    w->in_flight = true;
    return true;
}

void world_promise(world *w, int file, int n)
{
    world_file *of = &w->files[file];
    if (n - 1 > of->floor) of->floor = n - 1;
}

void world_acknowledge(world *w, int file)
{
    world_file *of = &w->files[file];
    int promise = w->kills ? 0 : world_modes[of->mode].promise;
    of->acknowledged = of->n - 1;
    if (promise != NONE && of->n - 1 - promise > of->floor) of->floor = of->n - 1 - promise;
    w->in_flight = false;
}

void world_withdraw(world *w, int file)
{
    w->files[file].n = w->files[file].n - 1;
    w->in_flight = false;
}

bool world_is_full(const world *w)
{
    bool is = w->ops > MODEL_OPS - 64;
    for (int i = 0; i < MODEL_FILES; i++) is = is || w->files[i].n > WORLD_HISTORY - 8;
    return is;
}

/* It is the only one that it may have. */
static void restart_history(world_file *file, int n)
{
    file->history[0] = file->history[n];
    file->n = 1;
    file->floor = file->acknowledged = 0;
}

/* ---- connections ----------------------------------------------------------------------------- */

static bool open_file(world *w, int file)
{
    char *message = NULL, sql[512];
    const world_mode *mode = &world_modes[w->files[file].mode];
    if (sqlite3_open(w->files[file].path, &connections[file]) != SQLITE_OK) {
        if (!crash_is_dead()) world_fail(w, "file %d cannot be opened", file);
        return false;
    }
    if (sqlite3_counter_init(connections[file], &message, NULL) != SQLITE_OK) {
        if (!crash_is_dead()) world_fail(w, "file %d: %s", file, message);
        sqlite3_free(message);
        return false;
    }
    snprintf(sql, sizeof sql,
             "PRAGMA page_size = %d; PRAGMA journal_mode = %s; PRAGMA synchronous = %s;"
             "PRAGMA cache_size = %d; PRAGMA wal_autocheckpoint = %d",
             w->page_size, mode->journal, mode->synchronous, w->cache, w->checkpoint);
    return world_run(w, file, sql);
}

static void close_file(world *w, int file)
{
    int rc = sqlite3_close(connections[file]);
    if (rc != SQLITE_OK) world_fail(w, "file %d: close gives %d", file, rc);
    connections[file] = NULL;
}

bool world_reopen(world *w, int file)
{
    close_file(w, file);
    return open_file(w, file);
}

bool world_open(world *w)
{
    for (int i = 0; i < MODEL_FILES; i++)
        if (!open_file(w, i)) return false;
    return true;
}

static bool create(world *w, int file)
{
    char sql[640];
    model_state fresh;
    model_begin(&fresh);
    fresh.known[file] = w->ops;
    snprintf(
        sql, sizeof sql,
        "BEGIN; CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, a COUNTER, b COUNTER);"
        "CREATE TABLE r(k TEXT PRIMARY KEY NOT NULL, name, price, n INTEGER NOT NULL DEFAULT 0);"
        "SELECT counter_replicate('r', 'n');"
        "CREATE TABLE pad(x); UPDATE counter_replica SET renewal = %d; COMMIT",
        w->renewal);
    world_enter(w, file, &fresh);
    if (!world_run(w, file, sql)) return false;
    world_acknowledge(w, file);
    return true;
}

bool world_create(world *w)
{
    for (int i = 0; i < MODEL_FILES; i++)
        if (!world_last(&w->files[i])->exists && !create(w, i)) return false;
    return true;
}

void world_fall(world *w)
{
    for (int i = 0; i < MODEL_FILES; i++) close_file(w, i);
    if (sqlite3_memory_used() != 0) world_fail(w, "memory is left behind the close");
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void place(world *w, int i)
{
    world_file *file = &w->files[i];
    snprintf(file->folder, WORLD_PATH, "%.400s/%d", w->folder, i);
    snprintf(file->path, WORLD_PATH, "%.400s/%d/replica.db", w->folder, i);
    file->n = 1; /* no table */
    if (mkdir(file->folder, 0755) != 0) world_fail(w, "no folder");
    if (!w->kills) crash_order_journal(file->path, world_modes[file->mode].in_order);
}

void world_begin(world *w, uint64_t seed, int mode, bool kills)
{
    static const int PAGES[] = {512, 1024, 4096}, CACHES[] = {5, 20, WORLD_NO_SPILL},
                     CHECKPOINTS[] = {1, 10, 50, 1000}, RENEWALS[] = {0, 10};
    memset(w, 0, sizeof *w);
    *w = (world){.seed = seed,
                 .chance = seed,
                 .ids = ~seed,
                 .clock = 1700000000000,
                 .kills = kills,
                 .asked = NONE};
    w->page_size = PAGES[world_roll(w, 3)];
    w->cache = CACHES[world_roll(w, 3)];
    w->checkpoint = CHECKPOINTS[world_roll(w, 4)];
    w->renewal = RENEWALS[world_roll(w, 2)];
    bool mixed = world_roll(w, 2);
    const char *parent = getenv("TMPDIR");
    char folder[512], real[4096];
    snprintf(folder, sizeof folder, "%.400s/counter-crash-XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(folder) || !realpath(folder, real)) world_fail(w, "no folder");
    snprintf(w->folder, sizeof w->folder, "%.400s", real);
    for (int i = 0; i < MODEL_FILES; i++) {
        w->files[i].mode = i > 0 && mixed ? world_roll(w, WORLD_MODES) : mode;
        place(w, i);
    }
}

void world_end(world *w)
{
    static const char *const ENDINGS[] = {"", "-journal", "-wal", "-shm"};
    for (int i = 0; i < MODEL_FILES; i++) {
        for (int j = 0; j < 4; j++) {
            char path[WORLD_PATH + 16];
            snprintf(path, sizeof path, "%s%s", w->files[i].path, ENDINGS[j]);
            unlink(path);
        }
        rmdir(w->files[i].folder);
    }
    rmdir(w->folder);
}

/* ---- is what is there what may be there? ----------------------------------------------------- */

static const char SEEN[] =
    "SELECT k, ifnull(max(iif(column_name = 'a', said, NULL)), '-'),"
    " ifnull(max(iif(column_name = 'b', said, NULL)), '-') FROM t_cells LEFT JOIN"
    " (SELECT key, column_name, json_extract(counter_json(cell), '$.life') || ':' ||"
    "  ifnull(counter_value(cell), '') AS said FROM counter_cells('t')) ON key = json_array(k)"
    " GROUP BY k ORDER BY k; SELECT k, a, b FROM t ORDER BY k;"
    "SELECT CAST(substr(f.key, 4) AS TEXT), c.life FROM counter_changes(0) AS f,"
    " counter_change(f.change) AS c WHERE f.table_name = 'r' AND c.kind = 'row' ORDER BY 1;"
    "SELECT k, name, price, n FROM r ORDER BY k";

static bool see(world *w, int file, char text[MODEL_TEXT])
{
    char there[MODEL_TEXT];
    if (!ask(w, file, "SELECT count(*) FROM sqlite_master WHERE name = 't'", there)) return false;
    if (strcmp(there, "0\n") != 0) return ask(w, file, SEEN, text);
    strcpy(text, "no table\n");
    return true;
}

static void check_sound(world *w, int file)
{
    char text[MODEL_TEXT];
    if (ask(w, file, "PRAGMA integrity_check", text) && strcmp(text, "ok\n") != 0)
        world_fail(w, "file %d: integrity_check says %s", file, text);
}

static void check_counters(world *w, int file)
{
    char text[MODEL_TEXT];
    if (!world_run(w, file,
                   "INSERT INTO t(t) VALUES('integrity-check');"
                   "INSERT INTO r_counters(r_counters) VALUES('integrity-check')"))
        return;
    if (ask(w, file, "SELECT * FROM counter_tracked WHERE row_key IS NOT NULL", text) && *text)
        world_fail(w, "file %d does not show %s", file, text);
    if (ask(w, file, "SELECT count(*) FROM counter_conflicts", text) && strcmp(text, "0\n") != 0)
        world_fail(w, "file %d has conflicts: %s", file, text);
}

/* The latest state that looks like that; none: -1. */
static int recall(const world_file *file, const char *seen)
{
    char text[MODEL_TEXT];
    for (int i = file->n - 1; i >= 0; i--) {
        model_text(&file->history[i], text);
        if (strcmp(text, seen) == 0) return i;
    }
    return NONE;
}

static void check_file(world *w, int i)
{
    char seen[MODEL_TEXT], last[MODEL_TEXT];
    world_file *file = &w->files[i];
    check_sound(w, i);
    if (w->failed || !see(w, i, seen)) return;
    int now = recall(file, seen);
    if (now < file->floor) {
        model_text(world_last(file), last);
        world_fail(
            w,
            "file %d is in state %d; promised is %d, acknowledged %d, the last is %d:\n%sseen:\n%s",
            i, now, file->floor, file->acknowledged, file->n - 1, last, seen);
        return;
    }
    w->lost[i] = now < file->acknowledged;
    restart_history(file, now);
    if (world_last(file)->exists) check_counters(w, i);
}

/* What one knows of another, that one has. */
static void check_knowledge(world *w)
{
    for (int of = 0; of < MODEL_FILES; of++)
        for (int by = 0; by < MODEL_FILES; by++)
            if (world_last(&w->files[by])->known[of] > world_last(&w->files[of])->known[of])
                world_fail(w, "file %d has forgotten what file %d knows of it", of, by);
}

/* What the power cut has interrupted counts once. */
static void repeat_request(world *w)
{
    world_file *file = &w->files[w->asked];
    model_state next = *world_last(file);
    if (!next.exists) return;
    model_row *row = &next.rows[w->asked_row];
    bool there = next.known[w->asked] > w->asked_op;
    if (!there) {
        if (!model_lives(row)) model_reset(row);
        model_add(row, w->asked_op);
        next.known[w->asked] = w->asked_op + 1;
        world_enter(w, w->asked, &next);
    }
    if (!world_run(w, w->asked, w->request)) return;
    world_acknowledge(w, w->asked);
    w->repeated = true;
}

static void check_states(world *w)
{
    char seen[MODEL_TEXT], text[MODEL_TEXT];
    for (int i = 0; i < MODEL_FILES && !w->failed; i++) {
        model_text(world_last(&w->files[i]), text);
        if (see(w, i, seen) && strcmp(seen, text) != 0)
            world_fail(w, "file %d has\n%sinstead of\n%s", i, seen, text);
    }
}

void world_check(world *w)
{
    w->repeated = w->in_flight = false;
    for (int i = 0; i < MODEL_FILES && !w->failed; i++) check_file(w, i);
    if (!w->failed) check_knowledge(w);
    if (!w->failed && w->asked >= 0) repeat_request(w);
    w->asked = NONE;
    if (!w->failed) check_states(w);
}

/* ---- in the end ------------------------------------------------------------------------------ */

static bool pull(world *w, int to, int from)
{
    char sql[WORLD_PATH + 64];
    model_state next = *world_last(&w->files[to]);
    model_merge(&next, world_last(&w->files[from]));
    bool changes = world_enter(w, to, &next);
    snprintf(sql, sizeof sql, "SELECT * FROM counter_pull('%s')", w->files[from].path);
    if (!world_run(w, to, sql)) return false;
    if (changes) world_acknowledge(w, to);
    if (changes) world_promise(w, from, w->files[from].n);
    return true;
}

void world_converge(world *w)
{
    char digests[MODEL_FILES][MODEL_TEXT];
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < MODEL_FILES; i++)
            if (!pull(w, i, (i + 1) % MODEL_FILES)) return;
    check_states(w);
    for (int i = 0; i < MODEL_FILES && !w->failed; i++) {
        check_counters(w, i);
        ask(w, i, "SELECT counter_table_digest('t'), counter_table_digest('r_counters')",
            digests[i]);
        if (!w->failed && strcmp(digests[i], digests[0]) != 0)
            world_fail(w, "files %d and 0 have other digests", i);
    }
}
