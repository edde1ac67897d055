/* functions/bound.c - counter_bound: a counter that never goes below 0, in all files together.
 *
 *     SELECT counter_bound('seats', 'free');
 *
 * Each unit is a right to take it away, which one file holds (table/rights.c). The bound is 0 and
 * nothing else. It is never taken back, and merges carry it to all files. In the call that sets it,
 * this file grants what it can to others that it knows to have taken more than they hold. The
 * result is the number of rows in which somebody still owes, or in which nobody holds what an
 * opening has: counter_rights shows them. The same call again changes nothing, and counts again.
 *
 * `table` is a tracked table or a counter table, in temp, main or an attached database, or
 * 'schema.table'; `column` a counter of it. */
#include "functions/functions.h"

#include <string.h>

static const char COUNTER_BOUND[] = "counter_bound";

/* One call. */
typedef struct bounding {
    ctr_conn *conn;
    char *schema, *counters, *table; /* owned; the last as the call names it */
    ctr_file *file;                  /* borrowed */
    ctr_shape shape;                 /* of the counters */
    int counter;
} bounding;

/* ---- what is refused ------------------------------------------------------------------------- */

/* Sets call->counter. */
static void find_column(bounding *call, const char *name)
{
    ctr_conn *conn = call->conn;
    ctr_tracked tracked = {.conn = conn};
    const ctr_objects *objects = ctr_file_objects(call->file);
    const char *table = objects ? ctr_triggers_table(objects, call->counters) : NULL;
    if (ctr_tab_read_shape(call->file, call->counters, &call->shape)) return;
    if (table) ctr_tracked_begin(&tracked, objects, call->counters, table, &call->shape);
    if (ctr_rc(conn) == SQLITE_OK)
        call->counter = table ? ctr_tracked_counter(&tracked, name)
                              : ctr_shape_counter_like(&call->shape, name);
    if (ctr_rc(conn) == SQLITE_OK && call->counter < 0)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "%s: '%s' is no counter: only a counter can have a bound", call->table,
                        name);
    ctr_tracked_close(&tracked);
}

/* ---- debts ----------------------------------------------------------------------------------- */

/* Lists the rows in which somebody else owes in `due`, unless that is NULL. Returns the number of
 * those in which somebody owes, or nobody holds what is there. */
static int64_t look_at_rights(bounding *call, ctr_row *row, ctr_changes *due)
{
    int64_t n = 0;
    ctr_rights_walk walk;
    ctr_rights_walk_open(&walk, row);
    while (ctr_rights_walk_next(&walk)) {
        bool owes = false, lost = false;
        if (walk.counter != call->counter) continue;
        for (size_t i = 0; i < walk.rights.n; i++) {
            const ctr_right *right = &walk.rights.list[i];
            owes = owes || ctr_sum_is_negative(&right->n);
            lost = lost || (ctr_rights_is_lost(right->id) && ctr_sum_is_positive(&right->n));
        }
        n += owes || lost;
        const int64_t id = sqlite3_column_int64(walk.rows.row, CTR_WALK_ID);
        if (owes && due) ctr_changes_add(call->conn, due, &(ctr_change_of_row){.row = id});
    }
    ctr_rights_walk_close(&walk);
    return n;
}

/* Grants others what they owe in a row, as far as this file has it. */
static void cover(bounding *call, ctr_row *row, int64_t rowid, const ctr_leader *leader)
{
    ctr_rights rights = {.list = NULL};
    if (ctr_row_find_rowid(row, rowid) || !row->found) return;
    ctr_rights_read(&rights, row->tab, &row->cells[call->counter]);
    ctr_sum mine = ctr_rights_find(&rights, leader->id);
    for (size_t i = 0; i < rights.n && ctr_rc(call->conn) == SQLITE_OK; i++) {
        ctr_right *right = &rights.list[i];
        ctr_sum owed = {0, 0};
        ctr_sum_subtract_sum(&owed, &right->n);
        int64_t n = ctr_sum_clamp(&owed), have = ctr_sum_clamp(&mine);
        if (n > have) n = have;
        if (!ctr_sum_is_negative(&right->n) || n < 1 || ctr_id_is_opening(right->id)) continue;
        if (ctr_row_grant(row, call->counter, right->id, n, leader) == CTR_OK)
            ctr_sum_subtract(&mine, n);
    }
    ctr_rights_close_list(&rights);
    if (ctr_rc(call->conn) == SQLITE_OK && ctr_row_is_staged(row)) ctr_row_write(row, NULL);
}

static int64_t cover_debts(bounding *call, bool covers)
{
    int64_t n = 0;
    ctr_row row;
    ctr_changes due = {0};
    if (ctr_rc(call->conn) != SQLITE_OK) return 0;
    ctr_row_open(&row, call->file, call->counters, &call->shape);
    row.whole = true;
    if (ctr_rc(call->conn) == SQLITE_OK) n = look_at_rights(call, &row, covers ? &due : NULL);
    const ctr_leader *leader = due.n > 0 ? ctr_file_leader(call->file) : NULL;
    for (size_t i = 0; leader && i < due.n && ctr_rc(call->conn) == SQLITE_OK; i++)
        cover(call, &row, due.rows[i].row, leader);
    if (leader && ctr_rc(call->conn) == SQLITE_OK) n = look_at_rights(call, &row, NULL);
    ctr_row_close(&row);
    sqlite3_free(due.rows);
    return n;
}

/* ---- the call -------------------------------------------------------------------------------- */

static bool look_for_bounded(void *with, const char *schema, const char *table)
{
    bounding *call = with;
    ctr_identity identity;
    ctr_catalog_entry entry = {0};
    if (ctr_identity_read(&identity, call->conn, schema)) return false;
    ctr_file *file = ctr_file_of(call->conn, schema);
    if (!file) ctr_problem_nomem(call->conn);
    char *counters = file ? ctr_triggers_counters(file, table) : NULL;
    bool found = ctr_catalog_named(&entry, call->conn, schema, counters ? counters : table);
    if (found) call->counters = ctr_text_copy(call->conn, entry.name);
    if (found) call->schema = ctr_text_copy(call->conn, schema);
    if (found) call->table = ctr_text_copy(call->conn, table);
    sqlite3_free(counters);
    ctr_catalog_close_entry(&entry);
    return found;
}

/* The file comes first: a copy takes its own id before it says what it holds. */
static void set_bound(bounding *call)
{
    const char *name = ctr_shape_counter_name(&call->shape, call->counter);
    if (ctr_rights_refuse_bound(call->file, name)) return;
    ctr_columns_ask_bound(call->conn, call->schema, call->counters, name);
    ctr_shape_close(&call->shape);
    ctr_tab_read_shape(call->file, call->counters, &call->shape);
    ctr_answers_declare_in(call->file, call->counters);
}

static int64_t bind_in_session(bounding *call, const char *table, const char *column)
{
    int64_t n = 0, inserted = sqlite3_last_insert_rowid(call->conn->db);
    ctr_session session;
    if (ctr_session_begin(&session, call->conn, true) == SQLITE_OK) {
        if (!ctr_schema_find(call->conn, table, look_for_bounded, call))
            ctr_problem_set(call->conn, SQLITE_ERROR, "there is no tracked table '%s'", table);
        if (ctr_rc(call->conn) == SQLITE_OK) ctr_events_append(call->conn);
        if (ctr_rc(call->conn) == SQLITE_OK) call->file = ctr_file_of(call->conn, call->schema);
        ctr_run run = ctr_run_on(call->conn, call->schema, call->counters);
        if (ctr_rc(call->conn) == SQLITE_OK) ctr_run_do(&run, CTR_SQL_SYNC_JOIN, NULL);
        if (ctr_rc(call->conn) == SQLITE_OK && ctr_file_identity(call->file))
            find_column(call, column);
        bool sets = ctr_rc(call->conn) == SQLITE_OK &&
                    !call->shape.columns[call->shape.counters[call->counter]].bounded;
        if (sets) set_bound(call);
        n = cover_debts(call, sets);
        ctr_events_write_ahead(call->conn);
    }
    ctr_session_end(&session);
    sqlite3_set_last_insert_rowid(call->conn->db, inserted);
    return n;
}

static void fn_bound(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    bounding call = {.conn = sqlite3_user_data(ctx)};
    const char *table = ctr_arg_text(ctx, COUNTER_BOUND, "the table", argv[0]);
    const char *column =
        table ? ctr_arg_text(ctx, COUNTER_BOUND, "the name of a counter", argv[1]) : NULL;
    if (!column) return;
    ctr_problem problem;
    ctr_problem_begin(call.conn, &problem);
    int64_t n = bind_in_session(&call, table, column);
    if (ctr_arg_problem(ctx, COUNTER_BOUND, &problem)) sqlite3_result_int64(ctx, n);
    ctr_shape_close(&call.shape);
    sqlite3_free(call.schema);
    sqlite3_free(call.counters);
    sqlite3_free(call.table);
}

int ctr_bound_register(sqlite3 *db, ctr_conn *conn)
{
    static const ctr_function FUNCTIONS[] = {{COUNTER_BOUND, 2, 2, CTR_ADMIN, fn_bound}};
    return ctr_shared_functions(db, conn, FUNCTIONS, sizeof FUNCTIONS / sizeof *FUNCTIONS);
}
