/* table/stream.c - scans of a stored table by a plan; walks of all or the changed rows; the UPDATE
 * that merges. */
#include "table/table.h"

#include <string.h>

/* ---- the plan -------------------------------------------------------------------------------- */

bool ctr_stream_plan_has_argument(const char *plan)
{
    return *plan && strchr("=><GL", *plan);
}

static const char *constraint_list(ctr_conn *conn, const ctr_shape *shape, const char *plan)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    int argument = 1;
    for (; ctr_stream_plan_has_argument(plan); plan += 2) {
        const char letter[] = {plan[0], '\0'};
        const char *text = plan[0] == 'G' ? ">=" : plan[0] == 'L' ? "<=" : letter;
        sqlite3_str_appendf(out, "\"%w\" %s ?%d AND ",
                            shape->columns[shape->keys[plan[1] - '0']].name, text, argument++);
    }
    if (strchr(plan, 'x')) sqlite3_str_appendf(out, "_rowid_ <> ?%d AND ", argument);
    sqlite3_str_appendall(out, "1");
    return ctr_text_built(conn, out);
}

static const char *order_list(ctr_conn *conn, const ctr_shape *shape, const char *plan)
{
    while (ctr_stream_plan_has_argument(plan)) plan += 2;
    plan++; /* the full stop */
    if (*plan != '+' && *plan != '-') return "";
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (const char *comma = ""; *plan == '+' || *plan == '-'; plan += 2, comma = ", ")
        sqlite3_str_appendf(out, "%s\"%w\"%s", comma,
                            shape->columns[shape->keys[plan[1] - '0']].name,
                            *plan == '-' ? " DESC" : "");
    return ctr_text_built(conn, out);
}

/* Returns the columns of the shape; the key columns are NULL if the plan does not use them. */
static const char *column_list(ctr_conn *conn, const ctr_shape *shape, const char *plan)
{
    if (!strstr(plan, CTR_STREAM_KEYLESS)) return ctr_shape_column_list(conn, shape);
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_columns; i++) {
        const ctr_column *column = &shape->columns[i];
        if (i > 0) sqlite3_str_appendall(out, ", ");
        sqlite3_str_appendf(out, column->key >= 0 ? "NULL" : "\"%w\"", column->name);
    }
    return ctr_text_built(conn, out);
}

static void prepare_scan(ctr_stream *stream, const char *plan)
{
    const ctr_streams *of = stream->of;
    ctr_text *mark = ctr_text_mark(of->conn);
    ctr_run run = ctr_run_on(of->conn, of->schema, of->table);
    run.slots.columns = column_list(of->conn, of->shape, plan);
    run.slots.constraint = constraint_list(of->conn, of->shape, plan);
    run.slots.order = order_list(of->conn, of->shape, plan);
    stream->plan = ctr_text_copy(of->conn, plan);
    stream->statement =
        ctr_run_prepare(&run, *run.slots.order ? CTR_SQL_ROWS_SCAN_IN_ORDER : CTR_SQL_ROWS_SCAN);
    ctr_text_release(of->conn, mark);
}

/* ---- statements ------------------------------------------------------------------------------ */

static void drop_scan(struct ctr_kept_scan *kept)
{
    sqlite3_finalize(kept->statement);
    sqlite3_free(kept->plan);
    *kept = (struct ctr_kept_scan){NULL, NULL};
}

void ctr_stream_release(ctr_streams *streams)
{
    for (int i = 0; i < CTR_STREAMS_KEPT; i++) drop_scan(&streams->kept[i]);
}

/* The newest kept statement comes first; the oldest is finalized. */
void ctr_stream_close(ctr_stream *stream)
{
    if (stream->statement) {
        struct ctr_kept_scan *kept = stream->of->kept;
        sqlite3_reset(stream->statement);
        sqlite3_clear_bindings(stream->statement);
        drop_scan(&kept[CTR_STREAMS_KEPT - 1]);
        memmove(kept + 1, kept, (CTR_STREAMS_KEPT - 1) * sizeof *kept);
        *kept = (struct ctr_kept_scan){stream->plan, stream->statement};
        if (stream->hides) drop_scan(kept); /* it would hide them without that authorizer, too */
        stream->of->out--;
    } else {
        sqlite3_free(stream->plan);
    }
    stream->statement = NULL;
    stream->plan = NULL;
    stream->hides = false;
}

/* Takes a statement for the plan: the current one, a kept one, or a new one. */
static void take_scan(ctr_stream *stream, const char *plan)
{
    if (stream->statement && strcmp(stream->plan, plan) == 0) {
        sqlite3_reset(stream->statement);
        return;
    }
    ctr_stream_close(stream);
    struct ctr_kept_scan *kept = stream->of->kept;
    for (int i = 0; i < CTR_STREAMS_KEPT && kept[i].statement; i++) {
        if (strcmp(kept[i].plan, plan) != 0) continue;
        stream->plan = kept[i].plan;
        stream->statement = kept[i].statement;
        memmove(kept + i, kept + i + 1, (size_t)(CTR_STREAMS_KEPT - 1 - i) * sizeof *kept);
        kept[CTR_STREAMS_KEPT - 1] = (struct ctr_kept_scan){NULL, NULL};
        stream->of->out++;
        return;
    }
    prepare_scan(stream, plan);
    stream->of->out += stream->statement != NULL;
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Returns whether a comparison with this value means the same on the stored column. A column of
 * NUMERIC affinity converts both sides to numbers. Otherwise a number may be compared with texts,
 * and on a column without a type, a text with numbers. */
static bool argument_is_exact(const ctr_shape *shape, const char *plan, sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    switch (shape->columns[shape->keys[plan[1] - '0']].affinity) {
    case CTR_AFFINITY_TEXT: return type != SQLITE_INTEGER && type != SQLITE_FLOAT;
    case CTR_AFFINITY_BLOB: return type == SQLITE_BLOB || type == SQLITE_NULL;
    default: return true;
    }
}

bool ctr_stream_is_exact(const ctr_shape *shape, const char *plan, sqlite3_value **argv)
{
    for (int i = 0; ctr_stream_plan_has_argument(plan); plan += 2, i++)
        if (!argument_is_exact(shape, plan, argv[i])) return false;
    return true;
}

/* If only the exact arguments are used, the plan lacks the others. */
void ctr_stream_start(ctr_stream *stream, const char *plan, sqlite3_value **argv, bool all)
{
    ctr_conn *conn = stream->of->conn;
    int bound = 0;
    const char *rest = plan, *used = plan;
    const ctr_shape *shape = stream->of->shape;
    sqlite3_str *out = all ? NULL : sqlite3_str_new(NULL);
    for (int i = 0; !all && ctr_stream_plan_has_argument(rest); rest += 2, i++)
        if (argument_is_exact(shape, rest, argv[i])) sqlite3_str_append(out, rest, 2);
    if (!all) sqlite3_str_appendf(out, "%s%s", rest, stream->has_exact ? "x" : "");
    const char *reduced = all ? NULL : ctr_text_built(conn, out);
    if (!all) used = reduced;
    if (!used) ctr_problem_nomem(conn);
    if (ctr_rc(conn) == SQLITE_OK) take_scan(stream, used);
    stream->looked = false;
    for (int i = 0; ctr_stream_plan_has_argument(plan) && ctr_rc(conn) == SQLITE_OK; plan += 2, i++)
        if (all || argument_is_exact(shape, plan, argv[i]))
            ctr_problem_sqlite(conn, ctr_text_bind_value(stream->statement, ++bound, argv[i]));
    if (ctr_rc(conn) == SQLITE_OK && !all && stream->has_exact)
        sqlite3_bind_int64(stream->statement, bound + 1, stream->exact);
}

bool ctr_stream_step(ctr_stream *stream)
{
    if (ctr_rc(stream->of->conn) != SQLITE_OK) return false;
    int rc = sqlite3_step(stream->statement);
    ctr_problem_sqlite(stream->of->conn, rc);
    if (!stream->looked) {
        bool keys = !strstr(stream->plan, CTR_STREAM_KEYLESS);
        stream->looked = true;
        stream->hides = ctr_refuse_is_hiding(stream->of->shape, stream->statement, keys);
        if (stream->hides) ctr_refuse_hidden(stream->of->conn, stream->of->table);
    }
    return rc == SQLITE_ROW && ctr_rc(stream->of->conn) == SQLITE_OK;
}

/* ---- all rows, or those that have changed ---------------------------------------------------- */

void ctr_stream_walk_open(ctr_walk *walk, ctr_row *row, ctr_walk_kind kind, int64_t since)
{
    bool all = kind == CTR_WALK_ALL || kind == CTR_WALK_FROM;
    ctr_tab_sql which = kind == CTR_WALK_SINCE  ? CTR_TAB_FIND_ROWID
                        : kind == CTR_WALK_FROM ? CTR_TAB_FOLLOW
                                                : CTR_TAB_WALK;
    *walk = (ctr_walk){.of = row->sql, .run = ctr_tab_run(row->tab), .kind = kind};
    if (!all) ctr_changes_read(&walk->changes, row->tab, since);
    ctr_changes_latest(row->conn, &walk->changes);
    walk->slot = ctr_tab_take(walk->of, which);
    walk->row = walk->slot ? walk->slot->kept.statement : NULL;
    if (walk->row && kind == CTR_WALK_FROM) sqlite3_bind_int64(walk->row, 1, since);
}

/* Lists the rows of a scope, sorted. A table whose key is shorter has none. */
static void list_scope(ctr_changes *list, const ctr_row *row, sqlite3_value **values, int n)
{
    const ctr_tab *tab = row->sql;
    if (ctr_rc(row->conn) != SQLITE_OK) return; /* the rows may not be open */
    ctr_streams of = {
        .conn = tab->conn, .schema = tab->file->schema, .table = tab->table, .shape = &tab->shape};
    ctr_stream stream = {.of = &of};
    char plan[2 * CTR_STREAM_KEYS + 2], *at = plan;
    if (n > of.shape->n_keys) return;
    for (int i = 0; i < n; i++) {
        *at++ = '=';
        *at++ = (char)('0' + i);
    }
    memcpy(at, ".", 2);
    ctr_stream_start(&stream, plan, values, true);
    while (ctr_stream_step(&stream)) {
        int64_t id = sqlite3_column_int64(stream.statement, CTR_STREAM_ID);
        ctr_changes_add(row->conn, list, &(ctr_change_of_row){.row = id});
    }
    ctr_stream_close(&stream);
    ctr_stream_release(&of);
    ctr_changes_latest(row->conn, list);
}

void ctr_stream_walk_open_asked(ctr_walk *walk, ctr_row *row, const ctr_asked *asked)
{
    ctr_changes scope = {0};
    bool all = asked->n_scope == 0 && asked->since == 0;
    ctr_tab_sql which = all ? CTR_TAB_WALK : CTR_TAB_FIND_ROWID;
    *walk = (ctr_walk){.of = row->sql,
                       .run = ctr_tab_run(row->tab),
                       .kind = all ? CTR_WALK_ALL_NUMBERED : CTR_WALK_SINCE,
                       .changes = {.parts = asked->parts, .except = asked->except}};
    if (asked->n_scope > 0) {
        list_scope(&scope, row, asked->scope, asked->n_scope);
        ctr_changes_read_of(&walk->changes, row->tab, asked->since, &scope);
    } else {
        ctr_changes_read(&walk->changes, row->tab, asked->since);
    }
    ctr_changes_latest(row->conn, &walk->changes);
    sqlite3_free(scope.rows);
    walk->slot = ctr_tab_take(walk->of, which);
    walk->row = walk->slot ? walk->slot->kept.statement : NULL;
}

static bool step_walk(ctr_walk *walk)
{
    bool is_row = ctr_run_row(&walk->run, walk->row);
    bool again = walk->row && sqlite3_stmt_status(walk->row, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    if (is_row && (!walk->slot->checked || again)) ctr_refuse_hidden_by(walk->slot, walk->of);
    return is_row && ctr_rc(walk->of->conn) == SQLITE_OK;
}

/* Goes to the next row among the changes, with its parts. Returns false at the end. */
static bool next_changed(ctr_walk *walk)
{
    const ctr_changes *changes = &walk->changes;
    if (walk->at == changes->n) return false;
    walk->told = &changes->rows[walk->at];
    walk->number = walk->origins = 0;
    walk->oldest = walk->told->number;
    for (walk->n_told = 0; walk->at < changes->n; walk->at++, walk->n_told++) {
        const ctr_change_of_row *change = &changes->rows[walk->at];
        if (change->row != walk->told->row) break;
        if (change->number > walk->number) walk->number = change->number;
        if (change->number < walk->oldest) walk->oldest = change->number;
        walk->origins |= change->origins;
    }
    return true;
}

/* Finds the current row among the changes. */
static void number_row(ctr_walk *walk)
{
    const ctr_changes *changes = &walk->changes;
    int64_t id = sqlite3_column_int64(walk->row, CTR_WALK_ID);
    while (walk->at < changes->n && changes->rows[walk->at].row < id) walk->at++;
    if (walk->at < changes->n && changes->rows[walk->at].row == id && next_changed(walk)) return;
    walk->number = walk->oldest = 0;
    walk->origins = 0;
    walk->told = NULL;
    walk->n_told = 0;
}

/* Skips changed rows that no longer exist. */
bool ctr_stream_walk_next(ctr_walk *walk)
{
    if (walk->kind == CTR_WALK_SINCE) {
        while (ctr_rc(walk->of->conn) == SQLITE_OK && next_changed(walk)) {
            if (walk->skips && walk->origins == walk->skips) continue;
            sqlite3_reset(walk->row);
            sqlite3_bind_int64(walk->row, 1, walk->told->row);
            if (step_walk(walk)) return true;
        }
        return false;
    }
    do {
        if (!step_walk(walk)) return false;
        if (walk->kind == CTR_WALK_ALL || walk->kind == CTR_WALK_FROM) return true;
        number_row(walk);
    } while (walk->skips && walk->origins == walk->skips);
    return true;
}

void ctr_stream_walk_close(ctr_walk *walk)
{
    if (walk->slot && walk->slot->checked)
        ctr_tab_give_back(walk->of, walk->slot);
    else if (walk->slot)
        ctr_tab_drop(walk->slot);
    sqlite3_free(walk->changes.rows);
    *walk = (ctr_walk){0};
}

/* =================================================================================================
 * update - the function counter_joining, and the UPDATEs that call it. */

#define UPDATE_POINTER "counter update"

enum { UPDATE_ARG, ROW_ARG, COLUMN_ARGS };
enum { ROWS_AT_ONCE = 64 }; /* after an unexpected row the others were read in vain */

/* ---- the function ---------------------------------------------------------------------------- */

static bool merge_row_at_hand(ctr_update *update, sqlite3_value **argv)
{
    ctr_row *row = update->row;
    const ctr_shape *shape = row->shape;
    if (ctr_row_take_values(row, argv[ROW_ARG], argv + COLUMN_ARGS)) return false;
    for (int i = 0; update->in_order && i < shape->n_keys; i++)
        update->keys[i] = argv[COLUMN_ARGS + shape->keys[i]];
    if (!update->merge(update->with, update->in_order ? update->keys : NULL)) {
        update->stopped = true;
        return false;
    }
    return ctr_row_is_staged(row) && ctr_row_note(row) == SQLITE_OK;
}

/* With a counter, fetches its staged cell; with a row, merges it. SQLite writes each row right
 * after its condition was true. If it collects all rows first, this takes only one. */
static void fn_joining(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    ctr_update *update =
        argc > ROW_ARG ? sqlite3_value_pointer(argv[UPDATE_ARG], UPDATE_POINTER) : NULL;
    if (!update) {
        sqlite3_result_error(ctx, "counter_joining is for the library alone", -1);
        return;
    }
    if (argc == COLUMN_ARGS) {
        const ctr_row *row = update->row;
        const ctr_staged *staged = &row->staged[sqlite3_value_int(argv[ROW_ARG])];
        update->pending = false;
        update->n_fetched++;
        if (staged->kind == CTR_STAGED_CELL)
            sqlite3_result_blob64(ctx, row->fresh.bytes + staged->offset, staged->size,
                                  SQLITE_STATIC);
        return;
    }
    update->called = true;
    if (update->pending) update->stopped = true;
    bool writes = !update->stopped && merge_row_at_hand(update, argv);
    update->pending = update->pending || writes;
    update->n_written += writes;
    if (ctr_rc(update->row->conn) != SQLITE_OK) /* of the merge that runs the UPDATE */
        sqlite3_result_error_code(ctx, ctr_rc(update->row->conn));
    else
        sqlite3_result_int(ctx, writes);
}

int ctr_update_register(sqlite3 *db, ctr_conn *conn)
{
    (void)conn;
    return sqlite3_create_function_v2(db, "counter_joining", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                      NULL, fn_joining, NULL, NULL, NULL);
}

/* ---- the statements -------------------------------------------------------------------------- */

/* Takes a statement and passes it the pointer, its last parameter. */
static ctr_slot *take_update(ctr_update *update, ctr_tab_sql which)
{
    ctr_slot *slot = ctr_tab_take(update->row->sql, which);
    if (!slot) return NULL;
    sqlite3_stmt *statement = slot->kept.statement;
    int last = sqlite3_bind_parameter_count(statement);
    int rc = sqlite3_bind_pointer(statement, last, update, UPDATE_POINTER, NULL);
    ctr_problem_sqlite(update->row->conn, rc);
    return slot;
}

/* Finds no row, for it has no key yet. If SQLite prepares a kept statement again, then here. */
static void try_update(ctr_update *update)
{
    sqlite3_stmt *statement = update->by_key->kept.statement;
    ctr_problem_sqlite(update->row->conn, sqlite3_step(statement));
    sqlite3_reset(statement);
    if (sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_REPREPARE, 1) > 0)
        update->by_key->checked = false;
}

bool ctr_update_open(ctr_update *update, ctr_row *row, ctr_update_merge *merge, void *with)
{
    ctr_conn *conn = row->conn;
    ctr_problem refused;
    *update = (ctr_update){.row = row, .merge = merge, .with = with};
    if (ctr_rc(conn) != SQLITE_OK || row->shape->n_counters == 0) return false;
    ctr_problem_try(conn, &refused);
    int n_keys = row->shape->n_keys;
    update->keys = sqlite3_malloc64((size_t)n_keys * sizeof *update->keys);
    if (!update->keys) ctr_problem_nomem(conn);
    update->by_key = take_update(update, CTR_TAB_MERGE_KEY);
    if (refused.rc == SQLITE_OK && update->by_key->checked) try_update(update);
    bool is_refused = refused.rc == SQLITE_ERROR || refused.rc == SQLITE_AUTH;
    if (is_refused) {
        ctr_tab_give_back(row->sql, update->by_key);
        update->by_key = NULL;
    }
    ctr_problem_raise_if(conn, &refused, !is_refused);
    if (is_refused) return false;
    if (ctr_rc(conn) == SQLITE_OK && !update->by_key->checked)
        ctr_refuse_ignored_columns(row->tab, row->shape);
    if (update->by_key) update->by_key->checked = ctr_rc(conn) == SQLITE_OK;
    return ctr_rc(conn) == SQLITE_OK;
}

void ctr_update_close(ctr_update *update)
{
    if (update->by_key) ctr_tab_give_back(update->row->sql, update->by_key);
    if (update->behind) ctr_tab_give_back(update->row->sql, update->behind);
    sqlite3_free(update->keys);
    *update = (ctr_update){0};
}

/* The callers read the journal before, because anything within the statement is done for each
 * row. */
static int step_update(ctr_update *update, sqlite3_stmt *statement)
{
    ctr_conn *conn = update->row->conn;
    ctr_row *row = update->row;
    update->stopped = update->pending = false;
    update->n_written = update->n_fetched = 0;
    row->writing = true;
    ctr_spill_check(row->tab->file);
    int rc = ctr_run_to_end(statement);
    row->writing = false;
    if ((rc & 0xff) == SQLITE_CONSTRAINT && ctr_rc(conn) == SQLITE_OK)
        ctr_problem_set(conn, SQLITE_CORRUPT_VTAB, "the stored table refuses the row: %s",
                        sqlite3_errmsg(row->conn->db));
    if (rc == SQLITE_DONE && (sqlite3_changes(row->conn->db) != update->n_written ||
                              update->n_fetched != update->n_written * row->shape->n_counters))
        ctr_problem_set(conn, SQLITE_CORRUPT_VTAB, "the stored table did not take the row");
    ctr_problem_sqlite(row->conn, rc);
    sqlite3_reset(statement);
    return ctr_rc(conn);
}

bool ctr_update_key(ctr_update *update, sqlite3_value **keys)
{
    ctr_row *row = update->row;
    if (ctr_row_find_none(row) || ctr_journal_refresh(row->tab)) return false;
    sqlite3_stmt *statement = update->by_key->kept.statement;
    if (ctr_row_lend_keys(row, statement, keys)) return false;
    update->in_order = false;
    return step_update(update, statement) == SQLITE_OK && update->n_written > 0;
}

/* Keys may lie far apart. */
static int64_t end_of_window(const ctr_row *row, int64_t behind)
{
    if (!row->shape->keyed && !row->shape->linked)
        return behind > INT64_MAX - ROWS_AT_ONCE ? INT64_MAX : behind + ROWS_AT_ONCE;
    ctr_run run = ctr_tab_run(row->tab);
    ctr_slot *slot = ctr_tab_take(row->sql, CTR_TAB_WINDOW);
    sqlite3_stmt *last = slot ? slot->kept.statement : NULL;
    if (last) sqlite3_bind_int64(last, 1, behind);
    if (last) sqlite3_bind_int(last, 2, ROWS_AT_ONCE);
    int64_t end = ctr_run_row(&run, last) ? sqlite3_column_int64(last, 0) : INT64_MAX;
    ctr_tab_give_back(row->sql, slot);
    return end;
}

int ctr_update_behind(ctr_update *update, int64_t rowid)
{
    ctr_row *row = update->row;
    if (ctr_row_find_none(row) || ctr_journal_refresh(row->tab)) return 0;
    if (!update->behind) update->behind = take_update(update, CTR_TAB_MERGE_BEHIND);
    if (!update->behind) return 0;
    sqlite3_stmt *statement = update->behind->kept.statement;
    sqlite3_bind_int64(statement, 1, rowid);
    sqlite3_bind_int64(statement, 2, end_of_window(row, rowid));
    update->in_order = true;
    return step_update(update, statement) == SQLITE_OK ? update->n_written : 0;
}
