/* functions/lines.c - gives changes as lines of JSON, which any transport carries: docs/batches.md.
 *
 *     SELECT line FROM counter_lines(since [, own [, scope [, of, mine]]])
 *
 * A line is a batch: {"format":1,"source":"...","since":0,"upto":9,"changes":[...]}. A change has
 * "table", "key_columns", the key as JSON for people and as hexadecimal digits, "packed", the
 * change as hexadecimal digits, and "seq". Of a row it has only the parts that have changed.
 *
 * `of` and `mine`: the source that asks, and the mark of it that it believes main to have. If that
 * is so, what it has brought itself is left out: merge/merge.h. */
#include "functions/functions.h"

#include <string.h>

enum { LINE_CHANGES_MOST = 1000, LINE_BYTES_MOST = 1 << 20 };

/* Columns of CTR_SQL_LINES_CHANGES. */
enum { OF_PLACE, OF_TABLE, OF_COLUMNS, OF_KEY, OF_CHANGE, OF_SEQ, OF_SOURCE, OF_UPTO };

typedef struct lines_cursor {
    sqlite3_vtab_cursor base;
    sqlite3_stmt
        *rows;  /* owned; stands on the first change of the next line; NULL: there is none */
    char *line; /* owned; NULL: the end */
    char *rest; /* owned: the first n_rest changes of the next line; NULL: none is made yet */
    int64_t n_rest;
    int64_t row, since, upto, n;
    int64_t end; /* of all changes, when the lines began */
} lines_cursor;

static ctr_conn *conn_of_lines(const lines_cursor *cursor)
{
    return ((ctr_joined *)cursor->base.pVtab)->conn;
}

static int lines_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                         sqlite3_vtab **base, char **message)
{
    (void)argc;
    (void)argv;
    (void)message;
    int rc = sqlite3_declare_vtab(db, "CREATE TABLE x(line TEXT, since INTEGER, upto INTEGER, "
                                      "changes INTEGER, \"from\" HIDDEN, own HIDDEN, scope HIDDEN, "
                                      "of HIDDEN, mine HIDDEN)");
    if (rc != SQLITE_OK) return rc;
    sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    ctr_joined *table = sqlite3_malloc64(sizeof *table);
    if (!table) return SQLITE_NOMEM;
    *table = (ctr_joined){.conn = aux};
    *base = &table->base;
    return SQLITE_OK;
}

static int lines_disconnect(sqlite3_vtab *base)
{
    sqlite3_free(base->zErrMsg);
    sqlite3_free(base);
    return SQLITE_OK;
}

/* Arguments, from this column on. */
enum { LINES_FROM = 4 };
enum { ARG_SINCE, ARG_OWN, ARG_SCOPE, ARG_OF, ARG_MINE, LINES_ARGS };

static int lines_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    (void)base;
    int at[LINES_ARGS], n = 0;
    for (int i = 0; i < LINES_ARGS; i++) at[i] = -1;
    for (int i = 0; i < info->nConstraint; i++) {
        int arg = info->aConstraint[i].iColumn - LINES_FROM;
        if (arg < 0 || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
        if (!info->aConstraint[i].usable) return SQLITE_CONSTRAINT;
        at[arg] = i;
    }
    for (int i = 0; i < LINES_ARGS; i++) {
        if (at[i] < 0) continue;
        info->idxNum |= 1 << i;
        info->aConstraintUsage[at[i]].argvIndex = ++n;
        info->aConstraintUsage[at[i]].omit = 1;
    }
    info->estimatedCost = at[0] < 0 ? 1e99 : 1e6;
    return SQLITE_OK;
}

static int lines_open(sqlite3_vtab *base, sqlite3_vtab_cursor **cursor)
{
    (void)base;
    lines_cursor *made = sqlite3_malloc64(sizeof *made);
    if (!made) return SQLITE_NOMEM;
    memset(made, 0, sizeof *made);
    *cursor = &made->base;
    return SQLITE_OK;
}

static void end_lines(lines_cursor *cursor)
{
    sqlite3_finalize(cursor->rows);
    sqlite3_free(cursor->line);
    sqlite3_free(cursor->rest);
    cursor->rows = NULL;
    cursor->line = cursor->rest = NULL;
    cursor->n_rest = 0;
}

static int lines_close(sqlite3_vtab_cursor *base)
{
    end_lines((lines_cursor *)base);
    sqlite3_free(base);
    return SQLITE_OK;
}

void ctr_lines_append_text(sqlite3_str *out, const char *text)
{
    const ctr_key_value value = {
        .type = CTR_KEY_TEXT, .bytes = (const uint8_t *)text, .size = strlen(text)};
    ctr_key_json_append(out, &value);
}

static void append_text_json(ctr_conn *conn, sqlite3_str *out, sqlite3_stmt *row, int column)
{
    const char *text = ctr_text_column(conn, row, column);
    const ctr_key_value value = {.type = CTR_KEY_TEXT,
                                 .bytes = (const uint8_t *)(text ? text : ""),
                                 .size = text ? (size_t)sqlite3_column_bytes(row, column) : 0};
    ctr_key_json_append(out, &value);
}

static void append_hex_json(sqlite3_str *out, const char *name, sqlite3_stmt *row, int column)
{
    const void *bytes = sqlite3_column_blob(row, column);
    sqlite3_str_appendf(out, ",\"%s\":\"", name);
    ctr_text_append_hex(out, bytes, sqlite3_column_bytes(row, column));
    sqlite3_str_appendchar(out, 1, '"');
}

/* Appends the change on which the statement stands. */
static void append_change_json(ctr_conn *conn, sqlite3_str *out, sqlite3_stmt *row)
{
    const void *key = sqlite3_column_blob(row, OF_KEY);
    size_t size = (size_t)sqlite3_column_bytes(row, OF_KEY);
    char *shown = size > 0 && key ? ctr_key_json_write(key, size) : NULL;
    if (size > 0 && !shown) ctr_problem_nomem(conn);
    sqlite3_str_appendall(out, "{\"table\":");
    append_text_json(conn, out, row, OF_TABLE);
    sqlite3_str_appendall(out, ",\"key_columns\":");
    append_text_json(conn, out, row, OF_COLUMNS);
    sqlite3_str_appendf(out, ",\"key\":%s", shown ? shown : "null");
    append_hex_json(out, "packed", row, OF_KEY);
    append_hex_json(out, "change", row, OF_CHANGE);
    sqlite3_str_appendf(out, ",\"seq\":%lld}", (long long)sqlite3_column_int64(row, OF_SEQ));
    sqlite3_free(shown);
}

/* Puts the head before the changes, and makes both the line. */
static void finish_line(lines_cursor *cursor, ctr_conn *conn, const char *source,
                        const char *changes)
{
    sqlite3_str *out = sqlite3_str_new(conn->db);
    sqlite3_str_appendf(out, "{\"format\":%d,\"source\":", CTR_LINES_FORMAT);
    ctr_lines_append_text(out, source);
    sqlite3_str_appendf(out, ",\"since\":%lld,\"upto\":%lld,\"changes\":[",
                        (long long)cursor->since, (long long)cursor->upto);
    sqlite3_str_appendall(out, changes);
    sqlite3_str_appendall(out, "]}");
    cursor->line = ctr_text_finish(conn, out);
}

/* Gathers the changes of a line, behind those that are left of the line before. Returns whether
 * more follow; sets how many of them, and of their bytes, are of numbers before the last one. */
static bool gather(lines_cursor *cursor, ctr_conn *conn, sqlite3_str *changes, int64_t *n_before,
                   int *size_before)
{
    bool more = true;
    ctr_run run = ctr_run_on(conn, "main", NULL);
    int64_t number = cursor->rest ? sqlite3_column_int64(cursor->rows, OF_PLACE) : -1;
    if (cursor->rest) sqlite3_str_appendall(changes, cursor->rest);
    cursor->n = cursor->n_rest;
    while (more && cursor->n < LINE_CHANGES_MOST && ctr_rc(conn) == SQLITE_OK &&
           sqlite3_str_length(changes) < LINE_BYTES_MOST) {
        if (sqlite3_column_int64(cursor->rows, OF_PLACE) != number) {
            number = sqlite3_column_int64(cursor->rows, OF_PLACE);
            *n_before = cursor->n;
            *size_before = sqlite3_str_length(changes);
        }
        if (cursor->n++ > 0) sqlite3_str_appendchar(changes, 1, ',');
        append_change_json(conn, changes, cursor->rows);
        more = ctr_run_row(&run, cursor->rows);
    }
    if (more && sqlite3_column_int64(cursor->rows, OF_PLACE) != number) *n_before = 0;
    return more;
}

/* Leaves the changes of the last number to the next line, if more of them follow there: so a mark
 * rises past whole numbers, and nothing is given twice. Those of one number may need several lines:
 * only the last of them raises the mark past it. */
static void leave_rest(lines_cursor *cursor, ctr_conn *conn, char *changes, int64_t n_before,
                       int size_before)
{
    sqlite3_free(cursor->rest);
    cursor->rest = NULL;
    cursor->n_rest = 0;
    if (!changes || n_before == 0 || ctr_rc(conn) != SQLITE_OK) return;
    cursor->rest = ctr_text_copy(conn, changes + size_before + 1);
    cursor->n_rest = cursor->n - n_before;
    cursor->n = n_before;
    changes[size_before] = '\0';
}

/* Makes the next line, which ends at the number of the change behind it, or at the end of all. */
static void make_line(lines_cursor *cursor)
{
    ctr_conn *conn = conn_of_lines(cursor);
    int64_t n_before = 0;
    int size_before = 0;
    sqlite3_free(cursor->line);
    cursor->line = NULL;
    cursor->since = cursor->upto;
    cursor->n = 0;
    if (!cursor->rows || ctr_rc(conn) != SQLITE_OK) return;
    const char *source = ctr_text_print(conn, "%s", ctr_text_column(conn, cursor->rows, OF_SOURCE));
    sqlite3_str *changes = sqlite3_str_new(conn->db);
    int64_t end = sqlite3_column_int64(cursor->rows, OF_UPTO);
    bool more = gather(cursor, conn, changes, &n_before, &size_before);
    if (more) end = sqlite3_column_int64(cursor->rows, OF_PLACE);
    if (end > cursor->upto) cursor->upto = end;
    char *text = ctr_text_finish(conn, changes);
    leave_rest(cursor, conn, text, more ? n_before : 0, size_before);
    if (text && ctr_rc(conn) == SQLITE_OK) finish_line(cursor, conn, source, text);
    sqlite3_free(text);
    if (!more) sqlite3_finalize(cursor->rows);
    if (!more) cursor->rows = NULL;
}

/* Makes a line without changes, which raises the mark past those that are not given. */
static void make_empty_line(lines_cursor *cursor, bool own, sqlite3_value *scope)
{
    ctr_conn *conn = conn_of_lines(cursor);
    if (ctr_rc(conn) != SQLITE_OK || cursor->upto >= cursor->end) return;
    char *source = ctr_exchange_source(conn, own, scope);
    cursor->upto = cursor->end;
    if (source) finish_line(cursor, conn, source, "");
    sqlite3_free(source);
}

/* The changes come from a table of our own, whose name a user of this one has not written. */
static int lines_problem(lines_cursor *cursor, ctr_problem *problem)
{
    ctr_problem_leave_out(conn_of_lines(cursor), "counter_changes");
    return ctr_arg_table_problem(cursor->base.pVtab, "counter_lines", problem);
}

/* Sets the arguments that were given; NULL: not given. */
static void take_line_arguments(int plan, sqlite3_value **argv, sqlite3_value *given[LINES_ARGS])
{
    for (int i = 0; i < LINES_ARGS; i++) {
        given[i] = plan >> i & 1 ? *argv++ : NULL;
        if (given[i] && i >= ARG_SCOPE && sqlite3_value_type(given[i]) == SQLITE_NULL)
            given[i] = NULL;
    }
}

/* ---- where all changes end ------------------------------------------------------------------- */

/* Returns the file if the connection reads its changes itself, in a snapshot: else NULL. */
static ctr_file *reads_itself(ctr_conn *conn)
{
    ctr_run run = ctr_run_on(conn, "main", NULL);
    if (ctr_run_transaction(conn->db, "main") != CTR_TXN_READ ||
        ctr_run_number(&run, CTR_SQL_SYNC_QUERY_ONLY) == 0)
        return NULL;
    return ctr_file_of(conn, "main");
}

/* Returns whether it is known that no change follows: a server is asked for that most of all. */
static bool is_end(ctr_conn *conn, int64_t since)
{
    const ctr_file *file = reads_itself(conn);
    return file && file->ends && file->end == since &&
           file->ends_version == ctr_run_data_version(conn->db, "main");
}

static void note_end(ctr_conn *conn, int64_t end)
{
    ctr_file *file = ctr_rc(conn) == SQLITE_OK ? reads_itself(conn) : NULL;
    if (!file) return;
    file->ends = true;
    file->ends_version = ctr_run_data_version(conn->db, "main");
    file->end = end;
}

/* Steps to the first change from cursor->upto on. */
static void step_to_rows(lines_cursor *cursor, int64_t own, sqlite3_value **given)
{
    ctr_run run = ctr_run_on(conn_of_lines(cursor), "main", NULL);
    cursor->rows = ctr_run_prepare(&run, given[ARG_SCOPE] ? CTR_SQL_LINES_CHANGES_IN_SCOPE
                                                          : CTR_SQL_LINES_CHANGES);
    ctr_run_bind_int(&run, cursor->rows, ":since", cursor->upto);
    ctr_run_bind_int(&run, cursor->rows, ":own", own);
    if (given[ARG_SCOPE]) ctr_run_bind_value(&run, cursor->rows, ":scope", given[ARG_SCOPE]);
    if (given[ARG_OF]) ctr_run_bind_value(&run, cursor->rows, ":of", given[ARG_OF]);
    if (given[ARG_MINE]) ctr_run_bind_value(&run, cursor->rows, ":mine", given[ARG_MINE]);
    if (ctr_run_row(&run, cursor->rows)) return;
    sqlite3_finalize(cursor->rows);
    cursor->rows = NULL;
}

/* The same; from 0 if `since` lies beyond the end, for it is a mark of what was there once. The end
 * is read before the changes are: what another connection commits in between has a higher number,
 * so that a line without changes never raises a mark past it. */
static void find_rows(lines_cursor *cursor, int64_t since, int64_t own, sqlite3_value **given)
{
    ctr_conn *conn = conn_of_lines(cursor);
    cursor->end = ctr_feed_end(conn);
    note_end(conn, cursor->end);
    if (ctr_rc(conn) != SQLITE_OK || (since == cursor->end && since > 0)) return;
    if (since > cursor->end) cursor->upto = 0;
    step_to_rows(cursor, own, given);
}

static int lines_filter(sqlite3_vtab_cursor *base, int plan, const char *plan_text, int argc,
                        sqlite3_value **argv)
{
    (void)plan_text;
    (void)argc;
    lines_cursor *cursor = (lines_cursor *)base;
    ctr_conn *conn = conn_of_lines(cursor);
    ctr_problem problem;
    ctr_problem_begin(conn, &problem);
    int64_t since = 0, own = 0;
    sqlite3_value *given[LINES_ARGS];
    take_line_arguments(plan, argv, given);
    end_lines(cursor);
    cursor->row = cursor->end = 0;
    if (!given[ARG_SINCE])
        ctr_problem_set(conn, SQLITE_ERROR,
                        "one argument is needed, the number to begin at: 0, or that of "
                        "counter_mark()");
    else
        since =
            ctr_arg_between(conn, "since", "an INTEGER, 0 or more", given[ARG_SINCE], 0, INT64_MAX);
    if (given[ARG_OWN]) own = ctr_arg_between(conn, "own", "0 or 1", given[ARG_OWN], 0, 1);
    cursor->upto = since;
    if (ctr_rc(conn) == SQLITE_OK && !is_end(conn, since)) find_rows(cursor, since, own, given);
    bool any = cursor->rows != NULL;
    make_line(cursor);
    if (!any) make_empty_line(cursor, own != 0, given[ARG_SCOPE]);
    return lines_problem(cursor, &problem);
}

static int lines_next(sqlite3_vtab_cursor *base)
{
    lines_cursor *cursor = (lines_cursor *)base;
    ctr_problem problem;
    ctr_problem_begin(conn_of_lines(cursor), &problem);
    make_line(cursor);
    cursor->row++;
    return lines_problem(cursor, &problem);
}

static int lines_eof(sqlite3_vtab_cursor *base)
{
    return ((lines_cursor *)base)->line == NULL;
}

static int lines_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
    const lines_cursor *cursor = (const lines_cursor *)base;
    switch (column) {
    case 0: sqlite3_result_text(ctx, cursor->line, -1, SQLITE_TRANSIENT); break;
    case 1: sqlite3_result_int64(ctx, cursor->since); break;
    case 2: sqlite3_result_int64(ctx, cursor->upto); break;
    case 3: sqlite3_result_int64(ctx, cursor->n); break;
    default: break;
    }
    return SQLITE_OK;
}

static int lines_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    *rowid = ((lines_cursor *)base)->row;
    return SQLITE_OK;
}

int ctr_lines_register(sqlite3 *db, ctr_conn *conn)
{
    static const sqlite3_module MODULE = {.iVersion = 1,
                                          .xConnect = lines_connect,
                                          .xBestIndex = lines_best_index,
                                          .xDisconnect = lines_disconnect,
                                          .xOpen = lines_open,
                                          .xClose = lines_close,
                                          .xFilter = lines_filter,
                                          .xNext = lines_next,
                                          .xEof = lines_eof,
                                          .xColumn = lines_column,
                                          .xRowid = lines_rowid};
    return sqlite3_create_module_v2(db, "counter_lines", &MODULE, ctr_conn_hold(conn),
                                    ctr_conn_drop);
}
