/* surface/exchange.c - counter_pull, counter_push and counter_sync: merging with another file.
 *
 *     SELECT * FROM counter_pull('phone');       phone -> main; a path of a file will do too
 *     SELECT * FROM counter_push('phone');       main -> phone
 *     SELECT * FROM counter_sync('phone');       both ways
 *     SELECT * FROM counter_pull('phone', 'full');    everything, not only what is new
 *
 * One row for each counter table: table_name, rows_read, rows_changed, conflicts. The work is done
 * whole before the first row is returned, or an error is and nothing has changed.
 */
#include <string.h>

#include "store/run.h"
#include "surface/answer.h"
#include "sync/pull.h"
#include "sync/session.h"

/* What a table's name stands for. */
typedef struct exchange_way {
    const char *function;
    bool takes, gives; /* main takes, main gives */
} exchange_way;

static const exchange_way DIRECTIONS[] = {
    {"counter_pull", true, false}, {"counter_push", false, true}, {"counter_sync", true, true}};

/* ---- the work -------------------------------------------------------------------------------- */

static int refuse_main(ctr_problem *problem)
{
    return ctr_problem_set(problem, SQLITE_ERROR, "main cannot be merged with itself");
}

/* What the call reads: the peer, unless it only takes; main, if it gives. */
static int open_sources(sqlite3 *db, const exchange_way *way, const char *peer, ctr_source *theirs,
                        ctr_source *ours, ctr_problem *problem)
{
    bool attached = ctr_run_has_schema(db, peer);
    if (sqlite3_stricmp(peer, "main") == 0) return refuse_main(problem);
    if (attached && ctr_source_same_file(db, peer, "main")) return refuse_main(problem);
    if (!attached && way->gives)
        return ctr_problem_set(problem, SQLITE_ERROR,
                               "no attached database has the name '%s', ATTACH it first", peer);
    if (!attached) ctr_source_open_path(theirs, db, peer, problem);
    if (attached && way->takes) ctr_source_open(theirs, db, peer, problem);
    if (way->gives) ctr_source_open(ours, db, "main", problem);
    if (problem->rc == SQLITE_OK && ctr_source_is_file_of(theirs, db, "main")) refuse_main(problem);
    return problem->rc;
}

/* All locks before the first read, main before the peer. */
static int lock_targets(ctr_session *session, const exchange_way *way, const char *peer,
                        ctr_problem *problem)
{
    if (way->takes) ctr_session_lock(session, "main", problem);
    if (way->gives) ctr_session_lock(session, peer, problem);
    if (way->takes && way->gives) ctr_session_keep_pages(session, problem);
    return problem->rc;
}

static int refuse_empty(const exchange_way *way, const char *peer, ctr_problem *problem)
{
    if (way->takes && way->gives)
        return ctr_problem_set(problem, SQLITE_ERROR, "neither %s nor main has counter tables",
                               peer);
    return ctr_problem_set(problem, SQLITE_ERROR, "%s has no counter tables",
                           way->takes ? peer : "main");
}

/* A call that stands alone can wait for the lock if it begins with it; inside a transaction the
 * lock may be the transaction's own, which no waiting opens. */
static void say_locked(bool alone, ctr_problem *problem)
{
    ctr_problem_close(problem);
    ctr_problem_set(problem, SQLITE_BUSY, "database is locked: %s",
                    alone ? "wrap the call in BEGIN IMMEDIATE, which waits"
                          : "by another connection, or by this transaction: commit it first");
}

/* Snapshots of those that give, the savepoint, the locks, the merges, the end. A snapshot of a file
 * closes before the file is written, but for that of main in a sync, and all before the commit,
 * which would wait for them. */
static int exchange(ctr_shared *shared, const exchange_way *way, const char *peer, bool whole,
                    ctr_report *report, ctr_problem *problem)
{
    sqlite3 *db = shared->db;
    ctr_guard *guard = shared->guard;
    ctr_source theirs = {0}, ours = {0};
    ctr_session session = {0};
    ctr_identity they = {0}, we = {0};
    open_sources(db, way, peer, &theirs, &ours, problem);
    if (way->takes && problem->rc == SQLITE_OK) ctr_pull_open(&theirs, &they, problem);
    if (way->gives && problem->rc == SQLITE_OK) ctr_pull_open(&ours, &we, problem);
    if (problem->rc == SQLITE_OK) ctr_session_begin(&session, db, &shared->sessions, problem);
    lock_targets(&session, way, peer, problem);

    if (way->takes && problem->rc == SQLITE_OK)
        ctr_pull_all(&theirs, &they, db, guard, "main", CTR_MAIN_TAKES, whole, report, problem);
    ctr_source_close(&theirs);
    if (way->gives && problem->rc == SQLITE_OK)
        ctr_pull_all(&ours, &we, db, guard, peer, CTR_MAIN_GIVES, whole, report, problem);
    if (report->n == 0) refuse_empty(way, peer, problem);

    ctr_source_close(&ours);
    ctr_guard_settle(guard, problem);
    ctr_session_end(&session, problem);
    if ((problem->rc & 0xff) == SQLITE_BUSY) say_locked(sqlite3_get_autocommit(db), problem);
    return problem->rc;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static const exchange_way *direction_of(const char *function)
{
    const exchange_way *way = DIRECTIONS;
    while (strcmp(way->function, function) != 0) way++;
    return way;
}

static bool is_whole(sqlite3_value *value, ctr_problem *problem)
{
    const char *how = ctr_answer_arg(value, "the second argument", "", problem);
    bool whole = how && sqlite3_stricmp(how, "full") == 0;
    if (how && *how && !whole)
        ctr_problem_set(problem, SQLITE_ERROR, "the second argument can only be 'full', not '%s'",
                        how);
    return whole;
}

static void report_exchange(ctr_answer *answer, sqlite3_value **args, ctr_problem *problem)
{
    ctr_report report = {0};
    const exchange_way *way = direction_of(ctr_answer_kind_of(answer)->name);
    const char *peer = ctr_answer_arg(args[0], "the argument", NULL, problem);
    bool whole = is_whole(args[1], problem);
    if (problem->rc == SQLITE_OK)
        exchange(ctr_answer_shared(answer), way, peer, whole, &report, problem);
    for (int i = 0; i < report.n; i++) {
        ctr_answer_text(answer, report.rows[i].name, problem);
        ctr_answer_integer(answer, report.rows[i].read, problem);
        ctr_answer_integer(answer, report.rows[i].changed, problem);
        ctr_answer_integer(answer, report.rows[i].conflicts, problem);
    }
    ctr_pull_report_close(&report);
}

#define EXCHANGE(function, peer)                                                                  \
    {                                                                                             \
        .name = function, .n_columns = 4, .n_args = 2, .n_needed = 1, .works = true,              \
        .columns = "table_name TEXT, rows_read INTEGER, rows_changed INTEGER, conflicts INTEGER", \
        .args = "peer HIDDEN, how HIDDEN", .usage = "one argument is needed, " peer,              \
        .fill = report_exchange                                                                   \
    }

int ctr_exchange_register(sqlite3 *db, ctr_shared *shared)
{
    static const ctr_answer_kind KINDS[] = {
        EXCHANGE("counter_pull", "an attached database or a file"),
        EXCHANGE("counter_push", "the name of an attached database"),
        EXCHANGE("counter_sync", "the name of an attached database"),
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS && rc == SQLITE_OK; i++)
        rc = ctr_answer_register(db, shared, &KINDS[i]);
    return rc;
}
