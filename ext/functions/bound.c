/* functions/bound.c - counter_bound: a counter that never goes below 0, in all files together;
 * counter_dismiss: what this file may take after a device has made it take another id.
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

/* =================================================================================================
 * dismiss - counter_dismiss: what devices sent under an id of this file is not true.
 *
 *     SELECT counter_dismiss([schema]);
 *
 * A file that receives counts under its own id which it lacks takes another id: it may have been
 * restored (merge/merge.c). What it may take of bounded counters stays with the former id, for a
 * file that is behind what it has counted would take twice. Only its owner knows whether the device
 * told the truth. This call says that it did not: the former id grants all that it holds to the
 * present one, with a clock above the one that was sent, and counter_conflicts forgets it. The
 * result is the number of counters of rows in which it held something.
 *
 * Of several ids that were given up so, one after the other, the present one gets what all held.
 * Where an id was given up for any other reason, as a copy does, the former one may be in use. */

static const char COUNTER_DISMISS[] = "counter_dismiss";

/* One call. */
typedef struct dismissing {
    ctr_conn *conn;
    ctr_file *file;       /* borrowed */
    ctr_own_ids given_up; /* owned */
    int64_t moved;
} dismissing;

static void find_given_up(dismissing *call)
{
    enum { FORMER, SENT, WHY_NEXT };
    ctr_own_ids *given_up = &call->given_up;
    ctr_run run = ctr_file_run(call->file);
    ctr_run_do(&run, CTR_SQL_CONFLICTS_CREATE, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_CONFLICTS_GIVEN_UP);
    while (ctr_run_row(&run, row)) {
        const void *id = sqlite3_column_blob(row, FORMER);
        const char *why = ctr_text_column(call->conn, row, WHY_NEXT);
        if (!id || sqlite3_column_bytes(row, FORMER) != CTR_ID_SIZE || !why ||
            strcmp(why, ctr_lineage_why(CTR_WHY_CONFLICT)) != 0 || !sqlite3_column_int(row, SENT))
            break;
        uint8_t *ids = ctr_array_room(call->conn, given_up->ids, &given_up->room, given_up->n + 1,
                                      CTR_ID_SIZE);
        if (!ids) break;
        given_up->ids = ids;
        memcpy(ids + given_up->n++ * CTR_ID_SIZE, id, CTR_ID_SIZE);
    }
    sqlite3_finalize(row);
    if (given_up->n == 0 && ctr_rc(call->conn) == SQLITE_OK)
        ctr_problem_set(call->conn, SQLITE_ERROR,
                        "there is nothing to dismiss: the present id was not taken because of what "
                        "a device sent, or counter_conflicts lists that no more");
}

/* Returns the highest clock that is listed under an id for a counter of a row; key NULL: for any
 * counter of any row of the table. 0: none is listed. */
static int64_t clock_sent(const dismissing *call, const uint8_t *id, const char *birth,
                          const char *key, const char *name)
{
    int64_t clock = 0;
    ctr_run run = ctr_file_run(call->file);
    sqlite3_stmt *sent = ctr_run_prepare(&run, CTR_SQL_CONFLICTS_CLOCK);
    ctr_run_bind_text(&run, sent, ":table", birth);
    if (key) ctr_run_bind_text(&run, sent, ":key", key);
    if (key) ctr_run_bind_text(&run, sent, ":column", name);
    ctr_run_bind_id(&run, sent, ":id", id);
    if (ctr_run_row(&run, sent)) clock = sqlite3_column_int64(sent, 0);
    sqlite3_finalize(sent);
    return clock;
}

/* Grants the file what one id holds of a counter of the row that was found. Where it holds nothing,
 * what was sent under it is overruled all the same: another file may have believed it. */
static void take_over(dismissing *call, ctr_row *row, int counter, const char *birth,
                      const char *key, const ctr_right *held)
{
    const char *name = ctr_shape_counter_name(row->shape, counter);
    const bool holds = ctr_sum_is_positive(&held->n);
    const int64_t sent = clock_sent(call, held->id, birth, key, name);
    const ctr_cell *cell = &row->cells[counter];
    if (ctr_rc(call->conn) != SQLITE_OK) return;
    if (!holds && (sent == 0 || cell->size == 0 || ctr_cell_is_deleted(cell))) return;

    ctr_leader former = {.least = sent + 1};
    memcpy(former.id, held->id, CTR_ID_SIZE);
    ctr_status status = CTR_OVERFLOW;
    if (former.least <= CTR_CLOCK_MAX)
        status = holds ? ctr_row_grant(row, counter, row->tab->id, ctr_sum_clamp(&held->n), &former)
                       : ctr_row_change_cell(row, counter, 0, &former);
    if (status != CTR_OK) {
        ctr_problem_set(call->conn, SQLITE_ERROR,
                        "a device has sent the last clock that there is: 'reset %s' ends the "
                        "rights of all",
                        name);
        ctr_row_problem_at(row, row->rowid, counter);
    }
    call->moved += holds;
}

/* Writes the row as a merge does, which shows it: what is overruled may have been NULL here. */
static void take_over_row(dismissing *call, ctr_merge *merge, int64_t rowid)
{
    ctr_row *row = &merge->row;
    const char *birth = merge->entry.birth;
    ctr_rights rights = {.list = NULL};
    if (ctr_row_find_rowid(row, rowid) || !row->found) return;
    char *key = ctr_row_key_text(row, rowid);
    if (key) ctr_merge_counters(merge);
    for (int i = 0; key && i < row->shape->n_counters; i++) {
        if (!row->shape->columns[row->shape->counters[i]].bounded ||
            ctr_rights_read(&rights, row->tab, &row->cells[i]))
            continue;
        for (size_t k = 0; k < call->given_up.n && ctr_rc(call->conn) == SQLITE_OK; k++) {
            ctr_right held;
            memcpy(held.id, call->given_up.ids + k * CTR_ID_SIZE, CTR_ID_SIZE);
            held.n = ctr_rights_find(&rights, held.id);
            take_over(call, row, i, birth, key, &held);
        }
    }
    sqlite3_free(key);
    ctr_rights_close_list(&rights);
    ctr_merge_write(merge);
}

/* Lists the rows to which an id that was given up holds rights, all if anything was sent under it
 * for the table, then changes them. */
static void take_over_rows(dismissing *call, ctr_merge *merge)
{
    ctr_changes due = {0};
    ctr_rights_walk walk;
    ctr_row *row = &merge->row;
    const ctr_catalog_entry *entry = &merge->entry;
    ctr_run run = ctr_run_on(call->conn, call->file->schema, entry->name);
    bool sent = false;
    ctr_run_do(&run, CTR_SQL_SYNC_JOIN, NULL); /* of its end */
    for (size_t k = 0; k < call->given_up.n; k++)
        sent = sent ||
               clock_sent(call, call->given_up.ids + k * CTR_ID_SIZE, entry->birth, NULL, NULL) > 0;
    ctr_rights_walk_open(&walk, row);
    while (ctr_rc(call->conn) == SQLITE_OK && ctr_rights_walk_next(&walk)) {
        bool any = sent;
        for (size_t k = 0; k < call->given_up.n; k++) {
            const ctr_sum held =
                ctr_rights_find(&walk.rights, call->given_up.ids + k * CTR_ID_SIZE);
            any = any || ctr_sum_is_positive(&held);
        }
        const int64_t id = sqlite3_column_int64(walk.rows.row, CTR_WALK_ID);
        if (any && (due.n == 0 || due.rows[due.n - 1].row != id))
            ctr_changes_add(call->conn, &due, &(ctr_change_of_row){.row = id});
    }
    ctr_rights_walk_close(&walk);
    size_t n_keys = (size_t)row->shape->n_keys;
    sqlite3_value **keys = sqlite3_malloc64(n_keys * sizeof *keys);
    if (!keys) ctr_problem_nomem(call->conn);
    for (size_t i = 0; keys && i < due.n && ctr_rc(call->conn) == SQLITE_OK; i++) {
        merge->keys = keys;
        if (ctr_row_key_of(row, due.rows[i].row, keys)) take_over_row(call, merge, due.rows[i].row);
        for (size_t k = 0; k < n_keys; k++) sqlite3_value_free(keys[k]);
    }
    sqlite3_free(keys);
    sqlite3_free(due.rows);
}

static void take_over_table(dismissing *call, const ctr_catalog_entry *entry)
{
    ctr_merge merge;
    ctr_conflicts conflicts = {.file = call->file};
    bool open = ctr_merge_open_table(&merge, call->file, entry, &conflicts);
    if (open && merge.shape.bounded) take_over_rows(call, &merge);
    ctr_merge_close(&merge);
}

static void dismiss(dismissing *call)
{
    ctr_catalog catalog = {0};
    if (!ctr_file_identity(call->file)) return; /* a copy takes its own id first */
    find_given_up(call);
    if (ctr_rc(call->conn) == SQLITE_OK) ctr_catalog_read(&catalog, call->file);
    for (int i = 0; i < catalog.n && ctr_rc(call->conn) == SQLITE_OK; i++)
        take_over_table(call, &catalog.entries[i]);
    ctr_catalog_close(&catalog);
    ctr_run run = ctr_file_run(call->file);
    for (size_t k = 0; k < call->given_up.n && ctr_rc(call->conn) == SQLITE_OK; k++)
        ctr_run_with(&run, CTR_SQL_CONFLICTS_DISMISS, ":id d",
                     call->given_up.ids + k * CTR_ID_SIZE);
    ctr_conflicts_close_own(&call->given_up);
}

static void fn_dismiss(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    dismissing call = {.conn = sqlite3_user_data(ctx)};
    const char *schema = ctr_arg_schema(ctx, COUNTER_DISMISS, argc > 0 ? argv[0] : NULL);
    if (!schema) return;
    int64_t inserted = sqlite3_last_insert_rowid(call.conn->db);
    ctr_problem problem;
    ctr_session session;
    ctr_problem_begin(call.conn, &problem);
    if (ctr_session_begin(&session, call.conn, true) == SQLITE_OK) {
        ctr_session_lock(&session, schema);
        if (ctr_rc(call.conn) == SQLITE_OK) ctr_events_append(call.conn);
        call.file = ctr_rc(call.conn) == SQLITE_OK ? ctr_file_of(call.conn, schema) : NULL;
        if (call.file) dismiss(&call);
        ctr_events_write_ahead(call.conn);
    }
    ctr_session_end(&session);
    sqlite3_set_last_insert_rowid(call.conn->db, inserted);
    if (ctr_arg_problem(ctx, COUNTER_DISMISS, &problem)) sqlite3_result_int64(ctx, call.moved);
}

int ctr_bound_register(sqlite3 *db, ctr_conn *conn)
{
    static const ctr_function FUNCTIONS[] = {{COUNTER_BOUND, 2, 2, CTR_ADMIN, fn_bound},
                                             {COUNTER_DISMISS, 0, 1, CTR_ADMIN, fn_dismiss}};
    return ctr_shared_functions(db, conn, FUNCTIONS, sizeof FUNCTIONS / sizeof *FUNCTIONS);
}
