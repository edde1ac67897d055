/* functions/track.c - counter_track, counter_replicate and counter_untrack: columns of ordinary
 * tables that count, and tables whose rows travel whole.
 *
 *     SELECT counter_track('products', 'stock');             tracks stock: rows counted
 *     SELECT counter_track('products', 'sold');              tracks sold, too
 *     SELECT counter_track('orders', 'n', 'keys=assigned');  tracks a table with an option
 *     SELECT counter_replicate('products', 'stock');         stock counts, the rest is regular
 *     SELECT counter_untrack('products', 'sold');            stops, in all files: columns
 *     SELECT counter_untrack('products');                    untracks the table: columns
 *
 * counter_replicate tracks the named columns, of which there may be none, and replicates all others
 * that can be written (functions/replicating.c). A tracked table becomes a replicated one by it.
 *
 * `table` is a table of temp, main or an attached database, searched in this order, or
 * 'schema.table'. The present values are counted under an opening (table/openings.h). If triggers
 * are missing or have not run, another call of counter_track counts the differences between the
 * rows and their counters, and creates the triggers again, as does counter_untrack of a column.
 * After a rename it notes the names, so that a table that is rebuilt later is recognized.
 *
 * An argument of the first two with an '=' is an option, not a column:
 *
 *     keys=assigned   SQLite may give out the key: rows are made in one file, or the application
 *                     assigns keys. A table that is tracked already need not repeat it.
 *     opening=same    the present values are those of a copy: as counter_opening(table, 'same'),
 *                     also with openings of other files that stand in its counters already
 *     opening=add     they add up with such openings
 *     values=again    the present values count although counter_untrack ended the counter in this
 *                     file, and files that have merged it may hold them as counts already
 *     values=newest   of counter_replicate: the values that the rows had when this file began to
 *                     replicate them win over those that they had then in other files; in a table
 *                     that was rebuilt all values are the newest, as if each row was inserted now
 *     values=oldest   of counter_replicate: they yield to those of other files
 *     missing=restored, missing=deleted
 *                     rows that have counters, and that the table lacks though no DELETE was seen,
 *                     as in a table that was made anew: they come back, or are deleted in all files
 *
 * counter_untrack takes the last two alone.
 *
 * Errors: SQLITE_ERROR names a column that cannot be tracked; SQLITE_MISMATCH shows a value that is
 * no integer, with its row. They change nothing.
 */
#include <string.h>

#include "functions/functions.h"

static const char COUNTER_TRACK[] = "counter_track", COUNTER_REPLICATE[] = "counter_replicate",
                  COUNTER_UNTRACK[] = "counter_untrack";

/* ---- finding the table ----------------------------------------------------------------------- */

static bool look_for_table(void *with, const char *schema, const char *table, ctr_problem *problem)
{
    ctr_tracking *call = with;
    ctr_run run = ctr_run_on(call->db, schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_TABLE);
    ctr_run_bind_text(&run, row, ":name", table);
    const char *name = ctr_run_row(&run, row) ? ctr_text_column(row, 0, problem) : NULL;
    if (name) {
        call->schema = ctr_text_copy(schema, problem);
        call->table = ctr_text_copy(name, problem);
    }
    sqlite3_finalize(row);
    return name != NULL;
}

/* ---- the functions --------------------------------------------------------------------------- */

/* Sets the schema and the name of the table. */
static void find_ordinary(ctr_tracking *call, const char *table, ctr_problem *problem)
{
    ctr_object object = CTR_OBJECT_NONE;
    if (!ctr_schema_find(call->db, table, look_for_table, call, problem))
        ctr_problem_set(problem, SQLITE_ERROR, "there is no table '%s'", table);
    if (problem->rc == SQLITE_OK)
        object = ctr_schema_object(call->db, call->schema, call->table, problem);
    if (object != CTR_OBJECT_TABLE)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s is %s: only an ordinary table has columns that can be tracked",
                        call->table, ctr_schema_object_text(object));
}

static int64_t in_session(ctr_tracking *call, const char *table,
                          int64_t (*work)(ctr_tracking *, ctr_problem *), ctr_problem *problem)
{
    int64_t result = 0, inserted = sqlite3_last_insert_rowid(call->db);
    ctr_session session;
    if (ctr_session_begin(&session, call->db, call->conn, problem) == SQLITE_OK) {
        find_ordinary(call, table, problem);
        if (problem->rc == SQLITE_OK) ctr_events_append(call->conn, problem);
        call->file = problem->rc == SQLITE_OK ? ctr_file_of(call->conn, call->schema) : NULL;
        if (!call->file) ctr_problem_nomem(problem);
        if (call->file) call->counters = ctr_triggers_counters(call->file, call->table, problem);
        if (problem->rc == SQLITE_OK) result = work(call, problem);
        ctr_events_write_ahead(call->conn, problem);
    }
    ctr_session_end(&session, problem);
    sqlite3_set_last_insert_rowid(call->db, inserted);
    return result;
}

/* Returns false, and sets the error, if an answer was given `before` that is not this one. */
static bool agrees(sqlite3_context *ctx, const char *function, const char *option, int before,
                   int answer)
{
    if (before == 0 || before == answer) return true;
    ctr_arg_error(ctx, "%s: '%s' contradicts the option before it", function, option);
    return false;
}

/* Takes the option for missing rows that `deleted` tells; false, with the error, if the other one
 * was taken before. */
static bool take_missing(sqlite3_context *ctx, ctr_tracking *call, const char *function,
                         bool deleted)
{
    ctr_missing before = call->missing;
    call->missing = deleted ? CTR_MISSING_DELETED : CTR_MISSING_RESTORED;
    return agrees(ctx, function, deleted ? "missing=deleted" : "missing=restored", (int)before,
                  (int)call->missing);
}

/* Takes an argument of counter_track with an '='. Returns false, and sets the error, if there is no
 * such option, or one that contradicts it was taken before. */
static bool take_option(sqlite3_context *ctx, ctr_tracking *call, const char *function,
                        const char *option)
{
    bool assigned = sqlite3_stricmp(option, "keys=assigned") == 0,
         same = sqlite3_stricmp(option, "opening=same") == 0,
         add = sqlite3_stricmp(option, "opening=add") == 0,
         again = sqlite3_stricmp(option, "values=again") == 0,
         newest = call->replicates && sqlite3_stricmp(option, "values=newest") == 0,
         oldest = call->replicates && sqlite3_stricmp(option, "values=oldest") == 0;
    int answer = (int)call->opening.answer, values = (int)call->values;
    if (assigned) call->keys_assigned = true;
    if (same || add) call->opening.answer = same ? CTR_SAME : CTR_ADD;
    if (again) call->again = true;
    if (newest || oldest) call->values = newest ? CTR_VALUES_NEWEST : CTR_VALUES_OLDEST;
    if (assigned || again) return true;
    if (same || add) return agrees(ctx, function, option, answer, (int)call->opening.answer);
    if (newest || oldest) return agrees(ctx, function, option, values, (int)call->values);
    ctr_arg_error(ctx,
                  "%s: unknown option '%s'; the options are: 'keys=assigned', 'opening=same', "
                  "'opening=add', 'values=again', 'missing=restored', 'missing=deleted'%s",
                  function, option, call->replicates ? ", 'values=newest', 'values=oldest'" : "");
    return false;
}

static bool take_argument(sqlite3_context *ctx, ctr_tracking *call, const char *function,
                          sqlite3_value *value)
{
    const char *text = ctr_arg_text(ctx, function, "the name of a column", value);
    bool deleted = text && sqlite3_stricmp(text, "missing=deleted") == 0;
    if (deleted || (text && sqlite3_stricmp(text, "missing=restored") == 0))
        return take_missing(ctx, call, function, deleted);
    if (text && strcmp(function, COUNTER_UNTRACK) != 0 && strchr(text, '='))
        return take_option(ctx, call, function, text);
    if (text) call->names[call->n++] = text;
    return text != NULL;
}

static void run_tracking(sqlite3_context *ctx, const char *function, int argc, sqlite3_value **argv,
                         int64_t (*work)(ctr_tracking *, ctr_problem *))
{
    if (argc < 1) {
        ctr_arg_error(ctx, "%s: the arguments are a table and its columns", function);
        return;
    }
    ctr_tracking call = {.db = sqlite3_context_db_handle(ctx),
                         .conn = sqlite3_user_data(ctx),
                         .replicates = strcmp(function, COUNTER_REPLICATE) == 0};
    ctr_problem problem = {SQLITE_OK, NULL};
    const char *table = ctr_arg_text(ctx, function, "the table", argv[0]);
    call.names = table ? sqlite3_malloc64(((size_t)argc + 1) * sizeof *call.names) : NULL;
    if (table && !call.names) sqlite3_result_error_nomem(ctx);
    bool named = call.names != NULL;
    for (int i = 1; i < argc && named; i++) named = take_argument(ctx, &call, function, argv[i]);
    if (named) {
        int64_t n = in_session(&call, table, work, &problem);
        if (ctr_arg_problem(ctx, function, &problem)) sqlite3_result_int64(ctx, n);
    }
    if (call.tracked.db) ctr_tracked_close(&call.tracked);
    ctr_shape_close(&call.shape);
    sqlite3_free(call.schema);
    sqlite3_free(call.table);
    sqlite3_free(call.counters);
    for (int i = 0; i < call.n && call.births; i++) sqlite3_free(call.births[i]);
    sqlite3_free(call.births);
    sqlite3_free(call.names);
    sqlite3_free(call.opening.met);
}

static void fn_track(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    run_tracking(ctx, COUNTER_TRACK, argc, argv, ctr_tracking_track);
}

static void fn_replicate(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    run_tracking(ctx, COUNTER_REPLICATE, argc, argv, ctr_tracking_track);
}

static void fn_untrack(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    run_tracking(ctx, COUNTER_UNTRACK, argc, argv, ctr_tracking_untrack);
}

int ctr_track_register(sqlite3 *db, ctr_conn *conn)
{
    static const ctr_function FUNCTIONS[] = {
        {COUNTER_TRACK, -1, -1, CTR_ADMIN, fn_track},
        {COUNTER_REPLICATE, -1, -1, CTR_ADMIN, fn_replicate},
        {COUNTER_UNTRACK, -1, -1, CTR_ADMIN, fn_untrack},
    };
    return ctr_shared_functions(db, conn, FUNCTIONS, sizeof FUNCTIONS / sizeof *FUNCTIONS);
}
