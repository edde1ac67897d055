/* functions/warnings.c - what the user of a file should hear of.
 *
 *     SELECT * FROM counter_warnings;            of main
 *     SELECT * FROM counter_warnings('phone');   of an attached database
 *     SELECT counter_warnings_reset();           forgets what merges have brought; NULL
 *
 * One row for each warning, with the same sentence that the note of a pull has:
 *
 *     table_name   the present name of the table
 *     kind         'column'        a column of a replicated table does not travel
 *                  'foreign key'   one of a replicated table refers to a table whose rows do not
 *                                  travel, or to keys that SQLite gives out
 *                  'deleted'       merges deleted a tenth of the table, and at least ten rows
 *                  'conflicts'     they recorded conflicts
 *                  'clock'         they brought a stamp more than a day ahead of this machine
 *     warning      the sentence
 *
 * The last three are of main alone: of all merges of this connection, by a pull or a feed, that
 * were committed since it was opened or counter_warnings_reset() was called.
 */
#include <string.h>

#include "functions/functions.h"

/* ---- the list -------------------------------------------------------------------------------- */

static void add_warning(ctr_warnings *list, const char *kind, char *owned, ctr_problem *problem)
{
    if (!owned) ctr_problem_nomem(problem);
    struct ctr_warning *items =
        ctr_array_room(list->items, &list->room, (size_t)list->n + 1, sizeof *items, problem);
    if (items) {
        list->items = items;
        items[list->n++] = (struct ctr_warning){kind, owned};
    } else {
        sqlite3_free(owned);
    }
}

void ctr_warnings_close(ctr_warnings *list)
{
    for (int i = 0; i < list->n; i++) sqlite3_free(list->items[i].sentence);
    sqlite3_free(list->items);
    *list = (ctr_warnings){0};
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Returns whether a column could travel and does not. One that counter_untrack has ended stays at
 * home. */
static bool stays_at_home(const ctr_tracked *tracked, const ctr_registry *registry,
                          const ctr_described *column)
{
    const char *name = column->name;
    if (!name || column->key >= 0 || column->generated || ctr_tracked_counter(tracked, name) >= 0)
        return false;
    for (int i = 0; i < tracked->n_regular; i++)
        if (tracked->regular[i].column && sqlite3_stricmp(tracked->regular[i].column, name) == 0)
            return false;
    for (int i = 0; i < registry->n; i++) {
        const ctr_regular *ended = &registry->columns[i];
        if (ended->name && !ended->noted && sqlite3_stricmp(ended->name, name) == 0) return false;
    }
    return true;
}

/* Only the stored shape has the counters that were dropped. */
static bool was_counter(const ctr_tab *tab, const char *name, ctr_problem *problem)
{
    const char *spelling;
    ctr_shape shape = {0};
    ctr_tab_read_shape(tab->file, tab->table, &shape, problem);
    bool was = problem->rc == SQLITE_OK && ctr_shape_generation(&shape, name, &spelling) > 0;
    ctr_shape_close(&shape);
    return was;
}

static void warn_of_columns(ctr_warnings *list, const ctr_tracked *tracked, ctr_tab *tab,
                            ctr_problem *problem)
{
    int n = 0;
    const ctr_registry *registry = ctr_regular_of(tab, problem);
    sqlite3_str *names = sqlite3_str_new(NULL);
    for (size_t i = 0; registry && i < tracked->ordinary.n; i++) {
        const ctr_described *column = &tracked->ordinary.columns[i];
        if (!stays_at_home(tracked, registry, column) || was_counter(tab, column->name, problem))
            continue;
        sqlite3_str_appendf(names, "%s%s", n++ > 0 ? ", " : "", column->name);
    }
    char *text = ctr_text_finish(names, problem);
    if (n > 0 && problem->rc == SQLITE_OK)
        add_warning(list, "column",
                    sqlite3_mprintf("column%s %s do%s not travel yet: call counter_replicate(%Q)",
                                    n == 1 ? "" : "s", text, n == 1 ? "es" : "", tracked->table),
                    problem);
    sqlite3_free(text);
}

/* ---- foreign keys ---------------------------------------------------------------------------- */

static bool travels_whole(ctr_file *file, const char *table, ctr_problem *problem)
{
    ctr_shape shape = {0};
    char *counters = ctr_triggers_counters(file, table, problem);
    bool is = counters && ctr_tab_read_shape(file, counters, &shape, problem) == SQLITE_OK &&
              shape.replicated;
    ctr_shape_close(&shape);
    sqlite3_free(counters);
    return is;
}

/* Returns whether the column of the table, NULL: its key, is numbered by SQLite. */
static bool is_numbered(const ctr_tracked *child, const char *table, const char *column,
                        ctr_problem *problem)
{
    ctr_ordinary parent = {0};
    ctr_ordinary_read(&parent, child->db, child->schema, table, problem);
    ctr_ordinary_read_terms(&parent, child->db, child->schema, table, problem);
    bool is = ctr_constraints_numbers_keys(&parent);
    const ctr_described *named = column ? ctr_ordinary_column(&parent, column) : NULL;
    if (column) is = is && named && named->key >= 0;
    ctr_ordinary_close(&parent);
    return is && problem->rc == SQLITE_OK;
}

static void warn_of_foreign_key(ctr_warnings *list, const ctr_tracked *child, ctr_file *file,
                                sqlite3_stmt *row, ctr_problem *problem)
{
    const char *parent = ctr_text_column(row, 2, problem), *from = ctr_text_column(row, 3, problem),
               *to = ctr_text_column(row, 4, problem);
    if (!parent || !from || sqlite3_stricmp(parent, child->table) == 0) return;
    if (!travels_whole(file, parent, problem))
        add_warning(list, "foreign key",
                    sqlite3_mprintf("column %s refers to %s, which is not replicated: rows of "
                                    "other files may have no parent here: replicate it, too",
                                    from, parent),
                    problem);
    else if (is_numbered(child, parent, to, problem))
        add_warning(list, "foreign key",
                    sqlite3_mprintf("column %s refers to %s, whose keys SQLite gives out: where "
                                    "two files gave one number, its rows have another parent",
                                    from, parent),
                    problem);
}

/* Of a foreign key with several columns the first one is named. */
static void warn_of_foreign_keys(ctr_warnings *list, const ctr_tracked *tracked, ctr_file *file,
                                 ctr_problem *problem)
{
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, NULL, problem);
    run.slots.name = tracked->table;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_FOREIGN_KEYS);
    while (ctr_run_row(&run, row))
        if (sqlite3_column_int(row, 1) == 0) warn_of_foreign_key(list, tracked, file, row, problem);
    sqlite3_finalize(row);
}

void ctr_warnings_of_table(ctr_warnings *list, ctr_file *file, const char *counters,
                           bool foreign_keys, ctr_problem *problem)
{
    ctr_shape shape = {0};
    const ctr_objects *objects = ctr_file_objects(file, problem);
    if (!objects || !ctr_tracked_is_among(objects, counters)) return;
    ctr_tab *tab = ctr_tab_known(file, counters);
    if (!tab && ctr_tab_read_shape(file, counters, &shape, problem) == SQLITE_OK)
        tab = ctr_tab_of(file, counters, &shape, problem);
    ctr_tracked *tracked = tab && tab->shape.replicated ? ctr_tracked_hold(tab, problem) : NULL;
    if (tracked && ctr_tracked_is_known(tracked)) {
        warn_of_columns(list, tracked, tab, problem);
        if (foreign_keys) warn_of_foreign_keys(list, tracked, file, problem);
    }
    ctr_tracked_release(tracked);
    ctr_shape_close(&shape);
}

/* ---- merges ---------------------------------------------------------------------------------- */

/* Reads no more rows than it takes to see that they are few. */
static void warn_of_deletions(ctr_warnings *list, ctr_file *file, const char *table,
                              int64_t deleted, ctr_problem *problem)
{
    enum { LEAST = 10, SHARE = 10 };
    if (deleted < LEAST) return;
    ctr_run run = ctr_run_on(file->conn->db, file->schema, NULL, problem);
    run.slots.name = table;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_COUNT_UP_TO);
    ctr_run_bind_int(&run, row, ":most", (SHARE - 1) * deleted + 1);
    int64_t left = ctr_run_row(&run, row) ? sqlite3_column_int64(row, 0) : 0;
    sqlite3_finalize(row);
    if (left > (SHARE - 1) * deleted || problem->rc != SQLITE_OK) return;
    add_warning(list, "deleted",
                sqlite3_mprintf("this merge deleted %lld of %lld rows", (long long)deleted,
                                (long long)(deleted + left)),
                problem);
}

static void warn_of_clock(ctr_warnings *list, const ctr_stamp *ahead, ctr_problem *problem)
{
    char id[CTR_ID_TEXT_SIZE];
    const int64_t day = INT64_C(86400000) * CTR_STAMPS_IN_MS;
    int64_t days = (ahead->number - ctr_regular_number(0)) / day;
    if (ahead->number == 0) return;
    ctr_id_to_text(ahead->id, id);
    add_warning(
        list, "clock",
        sqlite3_mprintf("a value of %s has a stamp %lld day%s ahead of this machine's clock, "
                        "and wins over what others write until then: set the clock that is "
                        "wrong",
                        id, (long long)days, days == 1 ? "" : "s"),
        problem);
}

void ctr_warnings_of_merge(ctr_warnings *list, ctr_file *file, const char *table,
                           const ctr_brought *brought, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return;
    warn_of_deletions(list, file, table, brought->deleted, problem);
    if (brought->conflicts > 0)
        add_warning(list, "conflicts",
                    sqlite3_mprintf("%lld conflict%s: a file was restored, or two count under one "
                                    "id: see counter_conflicts",
                                    (long long)brought->conflicts,
                                    brought->conflicts == 1 ? "" : "s"),
                    problem);
    warn_of_clock(list, &brought->ahead, problem);
}

/* ---- counter_warnings ------------------------------------------------------------------------ */

static void answer_warnings(ctr_answer *answer, ctr_file *file, const ctr_catalog_entry *entry,
                            const ctr_brought_list *brought, ctr_problem *problem)
{
    ctr_warnings list = {0};
    const ctr_objects *objects = ctr_file_objects(file, problem);
    if (!objects) return;
    bool tracked = ctr_tracked_is_among(objects, entry->name);
    const char *table = tracked ? ctr_triggers_table(objects, entry->name, problem) : entry->name;
    if (!table) return; /* it has lost its triggers, which all merges refuse */
    ctr_warnings_of_table(&list, file, entry->name, true, problem);
    for (size_t i = 0; brought && i < brought->n; i++)
        if (sqlite3_stricmp(brought->tables[i].birth, entry->birth) == 0)
            ctr_warnings_of_merge(&list, file, table, &brought->tables[i].brought, problem);
    for (int i = 0; i < list.n && problem->rc == SQLITE_OK; i++) {
        ctr_answer_text(answer, table, problem);
        ctr_answer_text(answer, list.items[i].kind, problem);
        ctr_answer_text(answer, list.items[i].sentence, problem);
    }
    ctr_warnings_close(&list);
}

static void show_warnings(ctr_answer *answer, sqlite3_value **args, ctr_problem *problem)
{
    ctr_catalog catalog = {0};
    const char *schema = ctr_answer_schema(answer, args[0], problem);
    ctr_run run = ctr_run_on(answer->conn->db, schema, NULL, problem);
    sqlite3_stmt *snapshot = schema ? ctr_run_hold(&run) : NULL;
    ctr_file *file = schema ? ctr_file_of(answer->conn, schema) : NULL;
    if (!file) ctr_problem_nomem(problem);
    const ctr_brought_list *brought =
        schema && sqlite3_stricmp(schema, "main") == 0 ? answer->conn->brought : NULL;
    if (problem->rc == SQLITE_OK) ctr_catalog_read(&catalog, file, problem);
    for (int i = 0; i < catalog.n && problem->rc == SQLITE_OK; i++)
        answer_warnings(answer, file, &catalog.entries[i], brought, problem);
    ctr_catalog_close(&catalog);
    sqlite3_finalize(snapshot);
}

static void fn_warnings_reset(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    ctr_conn *conn = sqlite3_user_data(ctx);
    if (conn->brought) ctr_brought_list_close(conn->brought);
    sqlite3_result_null(ctx);
}

int ctr_warnings_register(sqlite3 *db, ctr_conn *conn)
{
    static const ctr_answer_kind KIND = {.name = "counter_warnings",
                                         .columns = "table_name TEXT, kind TEXT, warning TEXT",
                                         .args = "schema HIDDEN",
                                         .fill = show_warnings};
    static const ctr_function RESET = {"counter_warnings_reset", 0, 0, CTR_ADMIN,
                                       fn_warnings_reset};
    int rc = ctr_shared_functions(db, conn, &RESET, 1);
    if (rc != SQLITE_OK) return rc;
    return ctr_answer_register(db, conn, &KIND, 1);
}
