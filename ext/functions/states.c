/* functions/states.c - counter_tracked: lists tracked columns, and values that a table does not
 * show.
 *
 *     SELECT * FROM counter_tracked;               of main
 *     SELECT * FROM counter_tracked('phone');      of an attached database
 *
 * One row for each tracked column, and one for each value that the table refuses:
 *
 *     table_name   the present name of the table
 *     column_name  the name of its column
 *     state        'tracked'   its changes are counted
 *                  'broken'    a trigger is missing or changed: call counter_track again
 *                  'waits'     the table refuses a row with this key; the counter waits for one
 *                  'differs'   the table refuses the value, by a constraint or a foreign key
 *     row_key      of a row that waits or differs, ('tea')
 *     shown        the value of the column, if it differs
 *     merged       the value of its counter; NULL: deleted, or its sum exceeds 64 bits
 */
#include <string.h>

#include "functions/answer.h"
#include "sqlite/text.h"
#include "table/catalog.h"
#include "table/rows.h"
#include "table/stored.h"
#include "track/showing.h"

static void show_state(ctr_answer *answer, const char *table, const char *column, const char *state,
                       ctr_problem *problem)
{
    ctr_answer_text(answer, table, problem);
    ctr_answer_text(answer, column, problem);
    ctr_answer_text(answer, state, problem);
    for (int i = 0; i < 3; i++) ctr_answer_text(answer, NULL, problem);
}

static void show_number(ctr_answer *answer, const ctr_shown *shown, ctr_problem *problem)
{
    if (shown->null)
        ctr_answer_text(answer, NULL, problem);
    else
        ctr_answer_integer(answer, shown->n, problem);
}

/* Shows a counter of the row that was found in `rows`. */
static void show_apart_value(ctr_answer *answer, ctr_showing *showing, ctr_rows *rows, int counter,
                             const ctr_apart_row *apart, ctr_problem *problem)
{
    ctr_shown merged, none = {.null = true};
    ctr_summary state = ctr_rows_state(rows, counter);
    const ctr_tracked_column *column = ctr_tracked_column_of(&showing->tracked, counter);
    if (!column || (!apart->waits && !apart->differs_in[counter])) return;
    bool counts = ctr_summary_counts(&state);
    bool is = ctr_showing_value(showing, counter, &state, &merged);
    char *key = ctr_rows_key_text(rows, rows->rowid, problem);
    ctr_answer_text(answer, showing->tracked.table, problem);
    ctr_answer_text(answer, column->name, problem);
    ctr_answer_text(answer, apart->waits ? "waits" : "differs", problem);
    ctr_answer_text(answer, key, problem);
    show_number(answer, apart->waits ? &none : &apart->shown[counter], problem);
    show_number(answer, is && counts ? &merged : &none, problem);
    sqlite3_free(key);
}

static void show_apart_rows(ctr_answer *answer, ctr_showing *showing, ctr_rows *rows,
                            ctr_problem *problem)
{
    const ctr_tracked *tracked = &showing->tracked;
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_APART_ROWS);
    while (ctr_run_row(&run, row)) {
        ctr_apart_row apart;
        int64_t rowid = sqlite3_column_int64(row, 0);
        ctr_apart_read(&showing->apart, rowid, &apart, problem);
        if (problem->rc == SQLITE_OK) ctr_rows_find_rowid(rows, rowid, problem);
        for (int i = 0; i < tracked->shape->n_counters && problem->rc == SQLITE_OK; i++)
            if (rows->found) show_apart_value(answer, showing, rows, i, &apart, problem);
        ctr_apart_close_row(&apart);
    }
    sqlite3_finalize(row);
}

static void show_whole(ctr_answer *answer, ctr_showing *showing, ctr_problem *problem)
{
    ctr_rows rows = {0};
    const ctr_tracked *tracked = &showing->tracked;
    for (int i = 0; i < tracked->shape->n_counters; i++)
        if (ctr_tracked_column_of(tracked, i))
            show_state(answer, tracked->table, ctr_tracked_column_of(tracked, i)->name, "tracked",
                       problem);
    if (problem->rc == SQLITE_OK)
        ctr_rows_open(&rows, tracked->db, tracked->schema, tracked->counters, tracked->shape, NULL,
                      problem);
    if (problem->rc == SQLITE_OK) show_apart_rows(answer, showing, &rows, problem);
    ctr_rows_close(&rows);
}

static void show_broken(ctr_answer *answer, const char *birth, const ctr_showing *showing,
                        const ctr_shape *shape, ctr_problem *problem)
{
    const char *table = showing->tracked.table ? showing->tracked.table : birth;
    for (int i = 0; i < shape->n_counters; i++)
        show_state(answer, table, ctr_shape_counter_name(shape, i), "broken", problem);
}

static void show_tracked(ctr_answer *answer, const char *schema, const ctr_catalog_entry *entry,
                         ctr_problem *problem)
{
    sqlite3 *db = ctr_answer_db(answer);
    ctr_shape shape = {0};
    ctr_showing showing = {0};
    ctr_problem broken = {SQLITE_OK, NULL};
    if (!ctr_tracked_is(db, schema, entry->name, problem)) return;
    if (ctr_stored_read(&shape, db, schema, entry->name, problem) == SQLITE_OK)
        ctr_showing_open(&showing, db, schema, entry->name, &shape, NULL, &broken);
    if (problem->rc == SQLITE_OK && broken.rc == SQLITE_OK)
        show_whole(answer, &showing, problem);
    else if (problem->rc == SQLITE_OK && broken.rc == SQLITE_ERROR)
        show_broken(answer, entry->birth, &showing, &shape, problem);
    else if (problem->rc == SQLITE_OK)
        ctr_problem_set(problem, broken.rc, "%s", ctr_problem_text(&broken));
    ctr_problem_close(&broken);
    ctr_showing_close(&showing);
    ctr_shape_close(&shape);
}

static void show_all_tracked(ctr_answer *answer, sqlite3_value **args, ctr_problem *problem)
{
    sqlite3 *db = ctr_answer_db(answer);
    ctr_catalog catalog = {0};
    const char *schema = ctr_answer_schema(answer, args[0], problem);
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    sqlite3_stmt *snapshot = schema ? ctr_run_hold(&run) : NULL;
    if (problem->rc == SQLITE_OK) ctr_catalog_read(&catalog, db, schema, problem);
    for (int i = 0; i < catalog.n && problem->rc == SQLITE_OK; i++)
        show_tracked(answer, schema, &catalog.entries[i], problem);
    ctr_catalog_close(&catalog);
    sqlite3_finalize(snapshot);
}

int ctr_states_register(sqlite3 *db, ctr_shared *shared)
{
    static const ctr_answer_kind KIND = {
        .name = "counter_tracked",
        .columns = "table_name TEXT, column_name TEXT, state TEXT, row_key TEXT, shown INTEGER, "
                   "merged INTEGER",
        .args = "schema HIDDEN",
        .n_columns = 6,
        .n_args = 1,
        .fill = show_all_tracked};
    return ctr_answer_register(db, shared, &KIND, 1);
}
