/* counter/request.c - request ids: INSERT INTO t(k, n, request_id) VALUES ('a', 1, 'x') counts
 * once, however often it is repeated.
 *
 * The text of a request is stored in full, so that another request with the same id is refused. It
 * names no counters without a value, because counters may be added or dropped before a repetition:
 *
 *     '/', 12: hits 1                          an INSERT
 *     replace of '/', 12: hits 1               a REPLACE
 *     reset hits of '/', 12: hits 5            the command
 *
 * An application that does not know whether an increment was counted repeats it with the same
 * request id. <table>_state records the requests that were taken. Ids belong to one file: no merge
 * copies them.
 *
 * A repeated request writes no row, so last_insert_rowid() is 0 after it; rows have ids from 1 on.
 *
 * A statement first looks up the request, then stores it, then writes the row. If the second write
 * fails, the transaction is spoiled (base/conn.h). A request whose row OR IGNORE skips is
 * stored, too.
 */
#include <string.h>

#include "counter/counter.h"

enum { REQUEST_MAX = 255 /* bytes of an id */ };

/* ---- the text of a request ------------------------------------------------------------------- */

static void append_blob_exactly(sqlite3_str *out, sqlite3_value *value)
{
    const uint8_t *bytes = sqlite3_value_blob(value);
    int size = sqlite3_value_bytes(value);
    sqlite3_str_appendall(out, "x'");
    if (bytes) ctr_text_append_hex(out, bytes, size);
    sqlite3_str_appendall(out, "'");
}

static void append_exactly(sqlite3_str *out, sqlite3_value *value, ctr_problem *problem)
{
    const char *text;
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        sqlite3_str_appendf(out, "%lld", (long long)sqlite3_value_int64(value));
        break;
    case SQLITE_FLOAT: sqlite3_str_appendf(out, "%!.17g", sqlite3_value_double(value)); break;
    case SQLITE_TEXT:
        text = ctr_text_value(value, problem);
        if (text && strlen(text) == (size_t)sqlite3_value_bytes(value)) {
            sqlite3_str_appendf(out, "%Q", text);
            break;
        }
        sqlite3_str_appendall(out, "CAST("); /* no format of SQLite shows a text beyond a NUL */
        append_blob_exactly(out, value);
        sqlite3_str_appendall(out, " AS TEXT)");
        break;
    case SQLITE_BLOB: append_blob_exactly(out, value); break;
    default: sqlite3_str_appendall(out, "NULL"); break;
    }
}

/* The caller frees the text with sqlite3_free, also after a failure. */
static char *describe_request(const ctr_table *table, sqlite3_value **columns, ctr_problem *problem)
{
    const ctr_shape *shape = &table->shape;
    sqlite3_value *command = columns[CTR_COLUMN_COMMAND];
    sqlite3_str *out = sqlite3_str_new(NULL);
    if (ctr_table_given(command))
        sqlite3_str_appendf(out, "%s of ", ctr_text_value(command, problem));
    else if (sqlite3_vtab_on_conflict(table->db) == SQLITE_REPLACE)
        sqlite3_str_appendall(out, "replace of ");
    for (int i = 0; i < shape->n_keys; i++) {
        if (i > 0) sqlite3_str_appendall(out, ", ");
        append_exactly(out, columns[ctr_table_column(shape->keys[i])], problem);
    }
    for (int i = 0, n = 0; i < shape->n_counters; i++) {
        int column = shape->counters[i];
        sqlite3_value *value = columns[ctr_table_column(column)];
        if (sqlite3_value_type(value) == SQLITE_NULL) continue;
        sqlite3_str_appendf(out, "%s%s ", n++ ? ", " : ": ", shape->columns[column].name);
        int64_t number; /* 5, 5.0 and '5' are the same request */
        if (ctr_arg_take_integer(table->db, value, &number, problem))
            sqlite3_str_appendf(out, "%lld", (long long)number);
        else
            append_exactly(out, value, problem);
    }
    char *text = sqlite3_str_finish(out);
    if (!text) ctr_problem_nomem(problem);
    return text;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static void check_id(sqlite3_value *id, ctr_problem *problem)
{
    int type = sqlite3_value_type(id), size = sqlite3_value_bytes(id);
    if ((type == SQLITE_TEXT || type == SQLITE_BLOB) && size >= 1 && size <= REQUEST_MAX) return;
    char bytes[32] = "", *shown = ctr_problem_describe_value(id);
    if (!shown) ctr_problem_nomem(problem);
    if (type == SQLITE_TEXT || type == SQLITE_BLOB)
        sqlite3_snprintf(sizeof bytes, bytes, " of %d bytes", size);
    ctr_problem_set(problem, SQLITE_MISMATCH,
                    "a request_id must be TEXT or a BLOB of 1 to %d bytes, not %s%s", REQUEST_MAX,
                    shown ? shown : "", bytes);
    sqlite3_free(shown);
}

static void check_command(sqlite3_value *command, ctr_problem *problem)
{
    if (!ctr_table_given(command)) return;
    const char *text = ctr_text_value(command, problem);
    if (text && sqlite3_strnicmp(text, "reset", 5) == 0) return;
    char *shown = text ? sqlite3_mprintf("'%s'", text) : ctr_problem_describe_value(command);
    if (!shown) ctr_problem_nomem(problem);
    ctr_problem_set(problem, SQLITE_ERROR,
                    "a request_id goes with an INSERT of a row, or with 'reset'; %s counts "
                    "nothing",
                    shown);
    sqlite3_free(shown);
}

void ctr_request_refuse(const ctr_table *table, ctr_problem *problem)
{
    if (table->front)
        ctr_problem_set(problem, SQLITE_ERROR, "%s", table->front->refuses_request);
    else
        ctr_problem_set(problem, SQLITE_ERROR,
                        "an UPDATE takes no request_id: INSERT adds, and counts a request once");
}

/* ---- one statement --------------------------------------------------------------------------- */

/* Fails if the text of a request that was taken before was another one: with the code of a UNIQUE
 * constraint, except under OR IGNORE, which would skip the row without a word. */
bool ctr_request_begin(ctr_table *table, sqlite3_value **columns, ctr_problem *problem)
{
    sqlite3_value *id = columns[ctr_table_column(table->shape.n_columns)];
    check_id(id, problem);
    check_command(columns[CTR_COLUMN_COMMAND], problem);
    if (problem->rc != SQLITE_OK) return false;
    table->request = id;
    table->asks = describe_request(table, columns, problem);
    if (problem->rc != SQLITE_OK) return false;

    ctr_run run = ctr_tab_run(table->rows->tab, problem);
    ctr_slot *slot = ctr_tab_take(table->rows->tab, CTR_TAB_REQUEST, problem);
    if (!slot) return false;
    sqlite3_stmt *row = slot->kept.statement;
    ctr_run_bind_value(&run, row, ":request", id);
    bool done = ctr_run_row(&run, row);
    const char *before = done ? ctr_text_column(row, 0, problem) : NULL;
    if (before && strcmp(before, table->asks) != 0) {
        char *shown = ctr_problem_describe_value(id);
        if (!shown) ctr_problem_nomem(problem);
        bool hides = sqlite3_vtab_on_conflict(table->db) == SQLITE_IGNORE;
        ctr_problem_set(problem, hides ? SQLITE_ERROR : SQLITE_CONSTRAINT_UNIQUE,
                        "the request %s was taken before for %s, not for %s", shown, before,
                        table->asks);
        sqlite3_free(shown);
    }
    ctr_tab_give_back(table->rows->tab, slot, problem);
    table->repeated = done && problem->rc == SQLITE_OK;
    return table->repeated;
}

int ctr_request_remember(ctr_table *table, ctr_problem *problem)
{
    ctr_run run = ctr_tab_run(table->rows->tab, problem);
    ctr_slot *slot = ctr_tab_take(table->rows->tab, CTR_TAB_SET_REQUEST, problem);
    if (!slot) return problem->rc;
    sqlite3_stmt *row = slot->kept.statement;
    ctr_run_bind_value(&run, row, ":request", table->request);
    ctr_run_bind_text(&run, row, ":text", table->asks);
    ctr_run_bind_int(&run, row, ":now", ctr_os_now());
    sqlite3_int64 inserted = sqlite3_last_insert_rowid(table->db);
    ctr_run_row(&run, row);
    sqlite3_set_last_insert_rowid(table->db, inserted); /* SQLite sets it, unless OR IGNORE skips */
    ctr_tab_give_back(table->rows->tab, slot, problem);
    return problem->rc;
}

void ctr_request_end(ctr_table *table)
{
    sqlite3_free(table->asks);
    table->asks = NULL;
    table->request = NULL;
}
