/* counter/write.c - INSERT, UPDATE and DELETE of a counter table.
 *
 * After a statement the table shows the values that an ordinary table would show; the difference is
 * counted under the id of this file. An INSERT on an existing row adds instead, because SQLite has
 * no UPSERT on virtual tables.
 *
 *                          no row         live row                 deleted row
 *     INSERT               its values     values added             next life, its values
 *     INSERT OR IGNORE     its values     skipped                  next life, its values
 *     INSERT OR REPLACE    its values     set to its values        next life, its values
 *     UPDATE                              set to its values
 *     DELETE                              tombstones
 *
 * Each finds the row, checks and computes everything, and ends in one write of one stored row, or
 * in one entry of the journal: inside a transaction, SQLite does not roll back the first of two
 * writes.
 *
 * Read it from the end: ctr_write_update calls change_row, which calls take_insert, update_row or
 * delete_row. take_insert hands on the rows of triggers, requests and commands, the rest goes to
 * insert_row.
 *
 * They return SQLITE_CONSTRAINT only for a row that OR IGNORE may skip: an existing row, a row
 * below a floor, a request that was taken. OR IGNORE hides every error with this code, extended or
 * not. */
#include "counter/counter.h"

#include <string.h>

/* =================================================================================================
 * request - request ids: INSERT INTO t(k, n, request_id) VALUES ('a', 1, 'x') counts once, however
 * often it is repeated.
 *
 * The text of a request is stored in full, so that another request with the same id is refused. It
 * names no counters without a value, because counters may be added or dropped before a repetition:
 *
 *     '/', 12: hits 1                          an INSERT
 *     replace of '/', 12: hits 1               a REPLACE
 *     reset hits of '/', 12: hits 5            the command
 *
 * An application that does not know whether an increment was counted repeats it with the same
 * request id. counter_requests records the requests that were taken. Ids belong to one file: no
 * merge copies them.
 *
 * A repeated request writes no row, so last_insert_rowid() is 0 after it; rows have ids from 1 on.
 *
 * A statement first looks up the request, then stores it, then writes the row. If the second write
 * fails, the transaction is spoiled (base/conn.c). A request whose row OR IGNORE skips is stored,
 * too. */

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

static void append_exactly(ctr_conn *conn, sqlite3_str *out, sqlite3_value *value)
{
    const char *text;
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        sqlite3_str_appendf(out, "%lld", (long long)sqlite3_value_int64(value));
        break;
    case SQLITE_FLOAT: sqlite3_str_appendf(out, "%!.17g", sqlite3_value_double(value)); break;
    case SQLITE_TEXT:
        text = ctr_text_value(conn, value);
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
static char *describe_request(const ctr_table *table, sqlite3_value **columns)
{
    ctr_conn *conn = table->joined.conn;
    const ctr_shape *shape = &table->shape;
    sqlite3_value *command = columns[CTR_COLUMN_COMMAND];
    sqlite3_str *out = sqlite3_str_new(NULL);
    if (ctr_table_given(command))
        sqlite3_str_appendf(out, "%s of ", ctr_text_value(conn, command));
    else if (sqlite3_vtab_on_conflict(conn->db) == SQLITE_REPLACE)
        sqlite3_str_appendall(out, "replace of ");
    for (int i = 0; i < shape->n_keys; i++) {
        if (i > 0) sqlite3_str_appendall(out, ", ");
        append_exactly(conn, out, columns[ctr_table_column(shape->keys[i])]);
    }
    for (int i = 0, n = 0; i < shape->n_counters; i++) {
        int column = shape->counters[i];
        sqlite3_value *value = columns[ctr_table_column(column)];
        if (sqlite3_value_type(value) == SQLITE_NULL) continue;
        sqlite3_str_appendf(out, "%s%s ", n++ ? ", " : ": ", shape->columns[column].name);
        int64_t number; /* 5, 5.0 and '5' are the same request */
        if (ctr_arg_take_integer(conn, value, &number))
            sqlite3_str_appendf(out, "%lld", (long long)number);
        else
            append_exactly(conn, out, value);
    }
    char *text = sqlite3_str_finish(out);
    if (!text) ctr_problem_nomem(conn);
    return text;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static void check_id(ctr_conn *conn, sqlite3_value *id)
{
    int type = sqlite3_value_type(id), size = sqlite3_value_bytes(id);
    if ((type == SQLITE_TEXT || type == SQLITE_BLOB) && size >= 1 && size <= REQUEST_MAX) return;
    char bytes[32] = "", *shown = ctr_problem_describe_value(id);
    if (!shown) ctr_problem_nomem(conn);
    if (type == SQLITE_TEXT || type == SQLITE_BLOB)
        sqlite3_snprintf(sizeof bytes, bytes, " of %d bytes", size);
    ctr_problem_set(conn, SQLITE_MISMATCH,
                    "a request_id must be TEXT or a BLOB of 1 to %d bytes, not %s%s", REQUEST_MAX,
                    shown ? shown : "", bytes);
    sqlite3_free(shown);
}

static void check_command(ctr_conn *conn, sqlite3_value *command)
{
    if (!ctr_table_given(command)) return;
    const char *text = ctr_text_value(conn, command);
    if (text && sqlite3_strnicmp(text, "reset", 5) == 0) return;
    char *shown = text ? sqlite3_mprintf("'%s'", text) : ctr_problem_describe_value(command);
    if (!shown) ctr_problem_nomem(conn);
    ctr_problem_set(conn, SQLITE_ERROR,
                    "a request_id goes with an INSERT of a row, or with 'reset'; %s counts "
                    "nothing",
                    shown);
    sqlite3_free(shown);
}

/* Fails because a front, or an UPDATE, takes no request. */
static void request_refuse(const ctr_table *table)
{
    ctr_conn *conn = table->joined.conn;
    if (table->front)
        ctr_problem_set(conn, SQLITE_ERROR, "%s", table->front->refuses_request);
    else
        ctr_problem_set(conn, SQLITE_ERROR,
                        "an UPDATE takes no request_id: INSERT adds, and counts a request once");
}

/* ---- one statement --------------------------------------------------------------------------- */

/* Returns whether the request was taken before; if not, it becomes the current one. The caller ends
 * it, also after a failure.
 *
 * Fails if the text of a request that was taken before was another one: with the code of a UNIQUE
 * constraint, except under OR IGNORE, which would skip the row without a word. */
static bool request_begin(ctr_table *table, sqlite3_value **columns)
{
    ctr_conn *conn = table->joined.conn;
    sqlite3_value *id = columns[ctr_table_column(table->shape.n_columns)];
    check_id(conn, id);
    check_command(conn, columns[CTR_COLUMN_COMMAND]);
    if (ctr_rc(conn) != SQLITE_OK) return false;
    table->request = id;
    table->asks = describe_request(table, columns);
    if (ctr_rc(conn) != SQLITE_OK) return false;

    ctr_run run = ctr_tab_run(table->row->tab);
    sqlite3_stmt *row = ctr_tab_take_of(table->row->tab, CTR_FILE_REQUEST);
    if (!row) return false;
    ctr_run_bind_value(&run, row, ":request", id);
    bool done = ctr_run_row(&run, row);
    const char *before = done ? ctr_text_column(conn, row, 0) : NULL;
    if (before && strcmp(before, table->asks) != 0) {
        char *shown = ctr_problem_describe_value(id);
        if (!shown) ctr_problem_nomem(conn);
        bool hides = sqlite3_vtab_on_conflict(conn->db) == SQLITE_IGNORE;
        ctr_problem_set(conn, hides ? SQLITE_ERROR : SQLITE_CONSTRAINT_UNIQUE,
                        "the request %s was taken before for %s, not for %s", shown, before,
                        table->asks);
        sqlite3_free(shown);
    }
    ctr_file_give_back(table->row->tab->file, CTR_FILE_REQUEST, row);
    table->repeated = done && ctr_rc(conn) == SQLITE_OK;
    return table->repeated;
}

/* Records the current request; there must be one. */
static void request_remember(ctr_table *table)
{
    sqlite3 *db = table->joined.conn->db;
    sqlite3_int64 inserted = sqlite3_last_insert_rowid(db);
    ctr_tab_do(table->row->tab, CTR_FILE_SET_REQUEST, ":request v :text t :now i", table->request,
               table->asks, ctr_os_now());
    sqlite3_set_last_insert_rowid(db, inserted); /* SQLite sets it, unless OR IGNORE skips */
}

static void request_end(ctr_table *table)
{
    sqlite3_free(table->asks);
    table->asks = NULL;
    table->request = NULL;
}

/* =================================================================================================
 * access - the current row: of one file, or of the front of a table. */

/* This comes before the row is found, because a new id means another shard, and before any
 * write. */
static int make_ready(ctr_table *table)
{
    ctr_conn *conn = table->joined.conn;
    ctr_tab *tab = table->row->tab;
    if (ctr_rc(conn) != SQLITE_OK || ctr_tab_is_ready(tab)) return ctr_rc(conn);
    table->row->writing = true; /* a trigger on counter_replica must not use these rows */
    if (ctr_file_identity(table->file) && ctr_journal_refresh(tab) == SQLITE_OK &&
        ctr_batch_refuse_triggers(tab) == SQLITE_OK)
        tab->ready_at = table->file->version;
    table->row->writing = false;
    return ctr_rc(conn);
}

int ctr_table_find(ctr_table *table)
{
    ctr_conn *conn = table->joined.conn;
    conn->stats.finds++;
    if (table->front)
        table->front->find(table);
    else if (make_ready(table) == SQLITE_OK && table->has_at)
        ctr_row_find_at(table->row, table->keys, table->at, table->at_new);
    else if (ctr_rc(conn) == SQLITE_OK)
        ctr_row_find_key(table->row, table->keys);
    return ctr_rc(conn);
}

bool ctr_table_may_be_new(ctr_table *table)
{
    return !table->front && make_ready(table) == SQLITE_OK &&
           ctr_row_may_be_new(table->row, table->keys, table->has_at ? &table->at : NULL);
}

int ctr_table_find_rowid(ctr_table *table, int64_t rowid)
{
    ctr_conn *conn = table->joined.conn;
    if (table->front) return table->front->find_rowid(table, rowid);
    conn->stats.finds++;
    if (make_ready(table) == SQLITE_OK) ctr_row_find_rowid(table->row, rowid);
    return ctr_rc(conn);
}

void ctr_table_end_row(ctr_table *table)
{
    if (!table->holds_keys) return;
    for (int i = 0; i < table->shape.n_keys; i++) {
        sqlite3_value_free(table->keys[i]);
        table->keys[i] = NULL;
    }
    table->holds_keys = false;
}

/* Returns the row id of the row just written, as xRowid would. */
static int64_t access_rowid(const ctr_table *table)
{
    return table->front ? table->front->rowid(table) : table->row->rowid;
}

bool ctr_table_found(const ctr_table *table)
{
    return table->front ? table->front->found(table) : table->row->found;
}

/* Stages table->keys, as they are spelled, for the row that was found: ctr_row_spell. */
static void access_spell(ctr_table *table)
{
    if (table->front)
        table->front->spell(table);
    else
        ctr_row_spell(table->row, table->keys);
}

bool ctr_table_is_below(ctr_table *table)
{
    return table->front ? table->front->is_below(table)
                        : ctr_floors_is_below(&table->floors, table->keys);
}

/* Records the current request, if there is one, then writes the row. A trigger on the requests must
 * not use the current row. */
int ctr_table_write(ctr_table *table)
{
    ctr_conn *conn = table->joined.conn;
    unsigned nth = conn->ended;
    if (table->front) return table->front->write(table);
    table->row->writing = true;
    if (table->request) request_remember(table);
    table->row->writing = false;
    if (ctr_rc(table->joined.conn) != SQLITE_OK) return ctr_rc(table->joined.conn);
    ctr_row_write(table->row, table->keys);
    if (ctr_rc(table->joined.conn) != SQLITE_OK && table->request) ctr_conn_spoil(conn, nth);
    return ctr_rc(table->joined.conn);
}

int ctr_table_raise(ctr_table *table)
{
    if (table->front) return table->front->raise(table);
    table->row->writing = true; /* no trigger may use these rows */
    ctr_floors_raise(&table->floors, table->keys);
    table->row->writing = false;
    return ctr_rc(table->joined.conn);
}

/* Returns whether the row has the values of table->keys, apart from those that are NULL. */
static bool access_key_is(ctr_table *table, int64_t rowid)
{
    return table->front ? table->front->key_is(table, rowid)
                        : ctr_row_has_key(table->row, rowid, table->keys);
}

char *ctr_table_key_text(const ctr_table *table)
{
    ctr_conn *conn = table->joined.conn;
    char *key = ctr_problem_describe_key(table->keys, table->shape.n_keys);
    if (!key) {
        ctr_problem_clear(conn);
        ctr_problem_nomem(conn);
    }
    return key;
}

/* Returns the key of the row that was found as a message shows it. */
static char *found_key_text(ctr_table *table)
{
    ctr_row *row = table->front ? table->front->stored_row(table) : table->row;
    return row ? ctr_row_key_text(row, row->rowid) : ctr_table_key_text(table);
}

/* Adds "column hits of ('/', 12)" to the error at hand. */
static void access_problem_at(ctr_table *table, int counter)
{
    char *key = found_key_text(table);
    const char *name = table->shape.columns[table->shape.counters[counter]].name;
    if (key) ctr_problem_where(table->joined.conn, "column %s of %s", name, key);
    sqlite3_free(key);
}

/* =================================================================================================
 * write - changes of counters, and the statements that make them. */

/* ---- values ---------------------------------------------------------------------------------- */

static const char *column_name(const ctr_table *table, int column)
{
    return table->shape.columns[column].name;
}

static int take_given(const ctr_table *table, int counter, sqlite3_value *value, int64_t *n)
{
    ctr_conn *conn = table->joined.conn;
    if (ctr_rc(conn) != SQLITE_OK || ctr_arg_take_integer(conn, value, n)) return ctr_rc(conn);
    char *refusal = ctr_arg_integer_refusal(value);
    if (!refusal) return ctr_problem_nomem(conn);
    ctr_problem_set(conn, SQLITE_MISMATCH, "column %s: a counter takes %s",
                    ctr_shape_counter_name(&table->shape, counter), refusal);
    sqlite3_free(refusal);
    return ctr_rc(conn);
}

int ctr_write_collect_amounts(ctr_table *table, sqlite3_value **columns)
{
    for (int i = 0; i < table->shape.n_counters && ctr_rc(table->joined.conn) == SQLITE_OK; i++) {
        sqlite3_value *value = columns[ctr_table_column(table->shape.counters[i])];
        ctr_given *given = &table->given[i];
        *given = (ctr_given){.is = ctr_table_given(value)};
        if (given->is) take_given(table, i, value, &given->n);
    }
    return ctr_rc(table->joined.conn);
}

int ctr_write_collect_key(ctr_table *table, sqlite3_value **columns)
{
    ctr_conn *conn = table->joined.conn;
    for (int i = 0; i < table->shape.n_keys; i++) {
        int column = table->shape.keys[i];
        table->keys[i] = columns[ctr_table_column(column)];
        if (!ctr_table_given(table->keys[i]))
            ctr_problem_set(conn, SQLITE_MISMATCH, "key column %s must not be NULL",
                            column_name(table, column));
    }
    return ctr_rc(conn);
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* Returns under whom to count, before the row is changed. Fails, with NULL, if the file must not
 * count. A trigger on counter_replica must not use this row, so `writing` is set. */
static const ctr_leader *lead(ctr_table *table)
{
    table->row->writing = true;
    const ctr_leader *leader = ctr_file_leader(table->file);
    table->row->writing = false;
    return leader;
}

static const ctr_kind *kind_of_counter(const ctr_table *table, int counter)
{
    return table->shape.columns[table->shape.counters[counter]].kind;
}

static int refuse_overflow(ctr_table *table, int counter, int64_t n)
{
    return ctr_problem_set(table->joined.conn, SQLITE_ERROR,
                           "column %s: integer overflow: %lld cannot be added",
                           ctr_shape_counter_name(&table->shape, counter), (long long)n);
}

/* The count of this file would leave the range, not the sum. */
static int refuse_own_overflow(ctr_table *table, int counter, const ctr_sum *before,
                               const ctr_sum *difference)
{
    int64_t value = 0;
    ctr_sum after = *before;
    ctr_sum_add_sum(&after, difference);
    ctr_sum_value(&after, &value);
    return ctr_problem_set(table->joined.conn, SQLITE_ERROR,
                           "column %s: integer overflow: with the value %lld, the count of "
                           "this file would exceed 64 bits",
                           ctr_shape_counter_name(&table->shape, counter), (long long)value);
}

/* ---- rights ---------------------------------------------------------------------------------- */

/* A bounded counter is refused as by a CHECK, but nothing of the statement may stay. OR IGNORE and
 * OR FAIL keep what a trigger has made before, and a request that OR IGNORE skips counts as
 * taken. */
static int code_of_refusal(const ctr_table *table)
{
    int mode = sqlite3_vtab_on_conflict(table->joined.conn->db);
    if (mode == SQLITE_IGNORE)
        return table->tracker || table->request ? SQLITE_ERROR : SQLITE_CONSTRAINT;
    return mode == SQLITE_FAIL && table->tracker ? SQLITE_ERROR : SQLITE_CONSTRAINT_CHECK;
}

/* "1 more of the 12" with the word " more", "none of the 12" */
static const char *amount_of(ctr_conn *conn, int64_t n, const char *word, const ctr_sum *all)
{
    const long long of = ctr_sum_clamp(all);
    if (n <= 0) return ctr_text_print(conn, "none of the %lld", of);
    return ctr_text_print(conn, "%lld%s of the %lld", (long long)n, word, of);
}

/* A copy takes a new id when it writes, which goes with the statement that is refused. Of a tracked
 * table a row that is new may be another one whose key changes. */
static const char *how_to_get_rights(const ctr_table *table)
{
    const bool is_new = table->tracker && !ctr_row_is_live(table->row);
    return is_new ? "a row begins at 0 or more, also under another key; one that others have comes "
                    "by a sync"
           : ctr_file_is_new(table->file)
               ? "as a copy it has none of its own: SELECT counter_settle(), have a file grant "
                 "some, or sync with one"
               : "have a file grant some, or sync with one";
}

static void refuse_right(ctr_table *table, int counter, const char *verb, int64_t n,
                         const ctr_sum *all, const char *how)
{
    ctr_conn *conn = table->joined.conn;
    char *key = ctr_table_found(table) ? found_key_text(table) : ctr_table_key_text(table);
    ctr_problem_set(conn, code_of_refusal(table), "row %s: column %s: this file may %s %s: %s",
                    key ? key : "", ctr_shape_counter_name(&table->shape, counter), verb,
                    amount_of(conn, n, " more", all), how);
    sqlite3_free(key);
}

/* Returns what this file may take of a counter of the row at hand. */
static ctr_sum right_of(const ctr_table *table, int counter)
{
    ctr_sum right = {0, 0};
    const ctr_summary state = ctr_row_state(table->row, counter);
    ctr_sum_add(&right, state.value);
    ctr_sum_add(&right, state.beside);
    return right;
}

/* A decrement of a bounded counter needs rights; nobody has any to a row that is missing. What a
 * merge and a recount bring is not asked. */
static int check_taking(ctr_table *table, int counter, const ctr_sum *difference)
{
    ctr_conn *conn = table->joined.conn;
    ctr_sum left = right_of(table, counter), right = left;
    ctr_sum_add_sum(&left, difference);
    if (!ctr_sum_is_negative(difference) || !ctr_sum_is_negative(&left)) return ctr_rc(conn);
    const ctr_summary state = ctr_row_state(table->row, counter);
    refuse_right(table, counter, "take", ctr_sum_clamp(&right), &state.sum,
                 how_to_get_rights(table));
    return ctr_rc(conn);
}

static bool is_bounded(const ctr_table *table, int counter)
{
    return table->shape.columns[table->shape.counters[counter]].bounded && !table->unchecked;
}

int ctr_write_check_end(ctr_table *table, int counter)
{
    ctr_conn *conn = table->joined.conn;
    if (!is_bounded(table, counter) || ctr_rc(conn) != SQLITE_OK) return ctr_rc(conn);
    ctr_rights rights = {.list = NULL};
    const ctr_summary state = ctr_row_state(table->row, counter);
    const ctr_cell cell = ctr_row_whole_cell(table->row, counter);
    ctr_rights_read(&rights, table->row->tab, &cell);
    ctr_sum others = ctr_rights_of_others(&rights, table->row->tab->id);
    ctr_rights_close_list(&rights);
    if (ctr_rc(conn) != SQLITE_OK || !ctr_sum_is_positive(&others)) return ctr_rc(conn);
    char *key = found_key_text(table);
    ctr_problem_set(conn, code_of_refusal(table),
                    "row %s: column %s: others may take %s, and would go on: have them grant it to "
                    "this file, or count anew what is there by the command 'reset %s', which ends "
                    "their rights",
                    key ? key : "", ctr_shape_counter_name(&table->shape, counter),
                    amount_of(conn, ctr_sum_clamp(&others), "", &state.sum),
                    ctr_shape_counter_name(&table->shape, counter));
    sqlite3_free(key);
    return ctr_rc(conn);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* Stages what a value means for a counter. An INSERT counts even if it changes nothing. */
static int change_counter(ctr_table *table, int counter, ctr_meaning meaning, int64_t from,
                          int64_t n)
{
    ctr_conn *conn = table->joined.conn;
    ctr_sum difference;
    ctr_summary state = ctr_row_state(table->row, counter);
    ctr_status status =
        kind_of_counter(table, counter)->meant(meaning, &state.sum, from, n, &difference);
    if (status != CTR_OK && meaning == CTR_GIVEN) return refuse_overflow(table, counter, n);
    if (status != CTR_OK)
        return ctr_problem_set(conn, SQLITE_ERROR,
                               "column %s: integer overflow: the change from %lld to %lld cannot "
                               "be counted",
                               ctr_shape_counter_name(&table->shape, counter), (long long)from,
                               (long long)n);
    if (meaning != CTR_GIVEN && difference.high == 0 && difference.low == 0) return ctr_rc(conn);
    if (is_bounded(table, counter) && check_taking(table, counter, &difference))
        return ctr_rc(conn);
    const ctr_leader *leader = lead(table);
    if (!leader) return ctr_rc(conn);
    status = ctr_row_change(table->row, counter, &difference, leader);
    if (status != CTR_OK && meaning == CTR_GIVEN) return refuse_overflow(table, counter, n);
    if (status != CTR_OK) return refuse_own_overflow(table, counter, &state.sum, &difference);
    ctr_conn_count(conn, !state.touched);
    return ctr_rc(conn);
}

int ctr_write_add(ctr_table *table, int counter, int64_t n)
{
    return change_counter(table, counter, CTR_GIVEN, 0, n);
}

int ctr_write_assign(ctr_table *table, int counter, int64_t n)
{
    return change_counter(table, counter, CTR_ASSIGNED, 0, n);
}

int ctr_write_change(ctr_table *table, int counter, int64_t from, int64_t to)
{
    return change_counter(table, counter, CTR_REPORTED, from, to);
}

static int refuse_life(ctr_table *table, int counter, ctr_status status)
{
    ctr_conn *conn = table->joined.conn;
    if (status == CTR_OK) return ctr_rc(conn);
    ctr_problem_set(conn, SQLITE_ERROR, "the counter %s", ctr_status_text(status));
    access_problem_at(table, counter);
    return ctr_rc(conn);
}

/* Notes an opening of another file that stands in the cell; refuses it unless the call says what it
 * is. */
static void meet_opening(ctr_table *table, ctr_opening *opening, int counter, int64_t n,
                         const ctr_shard *theirs)
{
    ctr_conn *conn = table->joined.conn;
    ctr_openings_meet(conn, opening, theirs->id);
    if (opening->answer != CTR_UNANSWERED) return;
    ctr_problem_set(conn, SQLITE_ERROR,
                    "two files counted the values that they had when they began to track it: %lld "
                    "here, %lld in another file: if they were copies of one file, add "
                    "'opening=same', and only the greater value counts; if each had its own, "
                    "'opening=add'",
                    (long long)n, (long long)theirs->value);
    access_problem_at(table, counter);
}

int ctr_write_open(ctr_table *table, ctr_opening *opening, int counter, int64_t n)
{
    ctr_conn *conn = table->joined.conn;
    ctr_summary state = ctr_row_state(table->row, counter);
    ctr_sum difference;
    if (kind_of_counter(table, counter)->meant(CTR_GIVEN, &state.sum, 0, n, &difference) != CTR_OK)
        return refuse_overflow(table, counter, n);
    ctr_leader leader = {.least = 1};
    memcpy(leader.id, opening->id, CTR_ID_SIZE);
    ctr_status status = state.life % 2 == 0 ? ctr_row_next_life(table->row, counter, n, &leader)
                                            : ctr_row_change_cell(table->row, counter, n, &leader);
    if (ctr_rc(conn) != SQLITE_OK || refuse_life(table, counter, status)) return ctr_rc(conn);
    const ctr_cell *cell = &table->row->cells[counter];
    ctr_shard shard;
    for (size_t at = 0; state.life % 2 == 1 && ctr_openings_next(cell, &at, &shard);)
        meet_opening(table, opening, counter, n, &shard);
    opening->n++;
    ctr_conn_count(conn, !state.touched);
    return ctr_rc(conn);
}

int ctr_write_grant(ctr_table *table, int counter, const uint8_t to[CTR_ID_SIZE], int64_t n)
{
    ctr_conn *conn = table->joined.conn;
    ctr_sum right = right_of(table, counter), wanted = {0, 0};
    ctr_sum_add(&wanted, n);
    ctr_sum_subtract_sum(&wanted, &right);
    const ctr_summary state = ctr_row_state(table->row, counter);
    if (ctr_sum_is_positive(&wanted))
        refuse_right(table, counter, "grant", ctr_sum_clamp(&right), &state.sum,
                     how_to_get_rights(table));
    const ctr_leader *leader = ctr_rc(conn) == SQLITE_OK ? lead(table) : NULL;
    if (!leader) return ctr_rc(conn);
    return refuse_life(table, counter, ctr_row_grant(table->row, counter, to, n, leader));
}

void ctr_write_refuse_no_counter(ctr_conn *conn)
{
    ctr_problem_set(conn, SQLITE_ERROR,
                    "the table has no counter left: the command 'add column <counter>' adds one");
}

int ctr_write_next_life(ctr_table *table, int counter, const ctr_given *given)
{
    ctr_conn *conn = table->joined.conn;
    const ctr_sum nothing = {0, 0};
    if (given->is && given->n < 0 && is_bounded(table, counter)) /* a new life has no rights */
        refuse_right(table, counter, "take", 0, &nothing,
                     "what is counted anew begins at 0 or more");
    const ctr_leader *leader = given->is && ctr_rc(conn) == SQLITE_OK ? lead(table) : NULL;
    if (ctr_rc(conn) != SQLITE_OK) return ctr_rc(conn);
    ctr_status status = ctr_row_next_life(table->row, counter, given->n, leader);
    if (leader && status == CTR_OK) ctr_conn_count(conn, false);
    return refuse_life(table, counter, status);
}

int ctr_write_tombstone(ctr_table *table, int counter)
{
    if (ctr_write_check_end(table, counter)) return ctr_rc(table->joined.conn);
    return refuse_life(table, counter, ctr_row_end_counter(table->row, counter));
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef enum row_state { ROW_MISSING, ROW_LIVE, ROW_DELETED } row_state;

static bool is_deleted(const ctr_table *table, int counter)
{
    return ctr_row_state(table->row, counter).life % 2 == 0;
}

static row_state state_of(const ctr_table *table)
{
    row_state state = ROW_MISSING;
    for (int i = 0; i < table->shape.n_counters; i++) {
        ctr_summary counter = ctr_row_state(table->row, i);
        if (ctr_summary_is_live(&counter)) return ROW_LIVE;
        if (counter.life % 2 == 0) state = ROW_DELETED;
    }
    return state;
}

/* A row that does not exist may have been removed for good. */
int ctr_write_check_floors(ctr_table *table)
{
    ctr_conn *conn = table->joined.conn;
    if (ctr_rc(conn) != SQLITE_OK || ctr_table_found(table)) return ctr_rc(conn);
    if (!ctr_table_is_below(table)) return ctr_rc(conn);
    char *key = ctr_problem_describe_key(table->keys, table->shape.n_keys);
    if (!key) return ctr_problem_nomem(conn);
    ctr_problem_set(conn, SQLITE_CONSTRAINT,
                    "the key %s is below a floor of the table; see counter_floors('%s')", key,
                    table->front ? table->front->birth(table) : table->name);
    sqlite3_free(key);
    return ctr_rc(conn);
}

/* Writes the row once, if it has changed. Behind a front it is always written, because other files
 * may lack its contents. */
static void write_once(ctr_table *table)
{
    if (ctr_rc(table->joined.conn) != SQLITE_OK) return;
    bool changed = table->front || ctr_row_is_staged(table->row);
    if (changed)
        ctr_table_write(table);
    else if (table->request)
        request_remember(table);
}

/* ---- INSERT ---------------------------------------------------------------------------------- */

/* An INSERT of a key alone makes the row by adding 0. In a deleted row all counters begin their
 * next life; in a live row, a counter that was deleted alone does so if it is given a value. */
static void insert_row(ctr_table *table, sqlite3_value **columns)
{
    ctr_conn *conn = table->joined.conn;
    int mode = sqlite3_vtab_on_conflict(conn->db);
    if (table->shape.n_counters == 0) {
        ctr_write_refuse_no_counter(conn);
        return;
    }
    if (ctr_write_collect_amounts(table, columns) || ctr_write_collect_key(table, columns)) return;
    if (ctr_table_find(table)) return;
    row_state state = state_of(table);
    if (state == ROW_LIVE && mode == SQLITE_IGNORE) {
        ctr_problem_set(conn, SQLITE_CONSTRAINT, "the row exists already");
        return;
    }
    if (ctr_write_check_floors(table)) return;

    bool replaces = mode == SQLITE_REPLACE, key_alone = true;
    for (int i = 0; i < table->shape.n_counters && key_alone; i++) key_alone = !table->given[i].is;
    for (int i = 0; i < table->shape.n_counters && ctr_rc(conn) == SQLITE_OK; i++) {
        const ctr_given *given = &table->given[i];
        bool revives = given->is || replaces || state == ROW_DELETED;
        if (is_deleted(table, i) && revives)
            ctr_write_next_life(table, i, given);
        else if (state == ROW_LIVE && replaces)
            ctr_write_assign(table, i, given->n);
        else if (given->is || (key_alone && state == ROW_MISSING))
            ctr_write_add(table, i, given->n);
    }
    if (state != ROW_LIVE || replaces) access_spell(table);
    write_once(table);
}

/* ---- UPDATE ---------------------------------------------------------------------------------- */

/* A key may be assigned its present value: SQLite before 3.41 does this with every column in an
 * UPDATE ... FROM. */
static int check_key(ctr_table *table, int64_t rowid, sqlite3_value **columns)
{
    ctr_conn *conn = table->joined.conn;
    bool assigned = false;
    for (int i = 0; i < table->shape.n_keys; i++) {
        sqlite3_value *value = columns[ctr_table_column(table->shape.keys[i])];
        bool same = sqlite3_value_nochange(value);
        table->keys[i] = same ? NULL : value;
        assigned = assigned || !same;
        if (!same && !ctr_table_given(value))
            return ctr_problem_set(conn, SQLITE_MISMATCH, "key column %s must not be NULL",
                                   column_name(table, table->shape.keys[i]));
    }
    if (assigned && !access_key_is(table, rowid))
        ctr_problem_set(conn, SQLITE_ERROR, "the key of a row cannot be changed");
    return ctr_rc(conn);
}

/* NULL is refused, except for a counter that was deleted alone and so reads NULL: in an UPDATE ...
 * FROM, SQLite before 3.41 passes unassigned counters with the values that it read. */
static void update_row(ctr_table *table, sqlite3_value **argv)
{
    ctr_conn *conn = table->joined.conn;
    sqlite3_value **columns = argv + 2, *command = columns[CTR_COLUMN_COMMAND];
    int64_t rowid = sqlite3_value_int64(argv[0]);
    if (!sqlite3_value_nochange(argv[1]) && sqlite3_value_int64(argv[1]) != rowid)
        ctr_problem_set(conn, SQLITE_ERROR, "the row id cannot be changed");
    if (!sqlite3_value_nochange(command) && ctr_table_given(command))
        ctr_problem_set(conn, SQLITE_ERROR, "commands are given by INSERT, not by UPDATE");
    if (ctr_rc(conn) != SQLITE_OK || check_key(table, rowid, columns)) return;
    if (ctr_table_find_rowid(table, rowid)) return;
    if (table->front) table->front->require_as_read(table);
    if (!ctr_table_found(table)) return;

    for (int i = 0; i < table->shape.n_counters && ctr_rc(conn) == SQLITE_OK; i++) {
        sqlite3_value *value = columns[ctr_table_column(table->shape.counters[i])];
        ctr_given given = {.is = true};
        bool deleted = is_deleted(table, i);
        if (sqlite3_value_nochange(value) || (deleted && !ctr_table_given(value))) continue;
        if (take_given(table, i, value, &given.n)) return;
        if (deleted)
            ctr_write_next_life(table, i, &given);
        else
            ctr_write_assign(table, i, given.n);
    }
    access_spell(table);
    write_once(table);
}

/* ---- xUpdate --------------------------------------------------------------------------------- */

int ctr_write_check_altered(const ctr_table *table)
{
    ctr_conn *conn = table->joined.conn;
    if (!table->altered) return ctr_rc(conn);
    return ctr_problem_set(
        conn, SQLITE_ERROR,
        "this statement has added or dropped a column and cannot count any more");
}

/* With SQLITE_CONSTRAINT and OR IGNORE, SQLite skips the row and does not count it as changed. */
static bool is_ignored(const ctr_table *table)
{
    ctr_conn *conn = table->joined.conn;
    return ctr_rc(conn) == SQLITE_CONSTRAINT && !table->tracker &&
           sqlite3_vtab_on_conflict(conn->db) == SQLITE_IGNORE;
}

/* The counters of a tracked table change only with that table. */
static int refuse_by_hand(const ctr_table *table)
{
    ctr_conn *conn = table->joined.conn;
    if (!table->tracker) return ctr_rc(conn);
    return ctr_problem_set(
        conn, SQLITE_ERROR,
        "it holds the counters of a tracked table and cannot be written: write that table");
}

static void add_or_command(ctr_table *table, sqlite3_value **columns)
{
    ctr_wanted *wanted = ctr_columns_wanted(columns[CTR_COLUMN_COMMAND]);
    if (wanted)
        ctr_commands_take(table, wanted);
    else if (ctr_table_given(columns[CTR_COLUMN_COMMAND]))
        ctr_commands_run(table, columns);
    else if (refuse_by_hand(table))
        return;
    else if (ctr_write_check_altered(table) == SQLITE_OK)
        insert_row(table, columns);
}

static bool is_request_given(const ctr_table *table, sqlite3_value **columns)
{
    sqlite3_value *id = columns[ctr_table_column(table->shape.n_columns)];
    return !sqlite3_value_nochange(id) && ctr_table_given(id);
}

/* A request whose row OR IGNORE skips counts as taken. */
static void take_insert(ctr_table *table, sqlite3_value **argv)
{
    ctr_conn *conn = table->joined.conn;
    sqlite3_value **columns = argv + 2;
    if (ctr_table_given(argv[1])) {
        ctr_problem_set(table->joined.conn, SQLITE_ERROR,
                        "a row id cannot be given: the key identifies a row");
        return;
    }
    if (table->tracker && table->tracker->take(table, columns)) return;
    if (!is_request_given(table, columns)) {
        add_or_command(table, columns);
        return;
    }
    if (table->front) {
        request_refuse(table);
    } else if (request_begin(table, columns)) {
        if (sqlite3_vtab_on_conflict(table->joined.conn->db) == SQLITE_IGNORE)
            ctr_problem_set(table->joined.conn, SQLITE_CONSTRAINT, "the request was taken before");
    } else if (ctr_rc(table->joined.conn) == SQLITE_OK) {
        add_or_command(table, columns);
        if (is_ignored(table)) {
            ctr_problem skipped = ctr_problem_take(conn);
            request_remember(table);
            ctr_problem_raise(conn, &skipped);
        }
    }
    request_end(table);
}

static void delete_row(ctr_table *table, int64_t rowid)
{
    if (ctr_table_find_rowid(table, rowid) || state_of(table) != ROW_LIVE) return;
    for (int i = 0; i < table->shape.n_counters; i++)
        if (ctr_write_tombstone(table, i)) return;
    ctr_table_write(table);
}

static void change_row(ctr_table *table, int argc, sqlite3_value **argv, bool inserts)
{
    if (!inserts && refuse_by_hand(table)) return;
    if (argc == 1)
        delete_row(table, sqlite3_value_int64(argv[0]));
    else if (inserts)
        take_insert(table, argv);
    else if (is_request_given(table, argv + 2))
        request_refuse(table);
    else
        update_row(table, argv);
}

/* SQLite opens no savepoint for an UPDATE ... FROM of a virtual table, and keeps the rows before
 * the one that fails; so the transaction is marked as spoiled. For other statements it rolls back
 * to a savepoint, which clears the mark. */
int ctr_write_update(sqlite3_vtab *base, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    ctr_table *table = (ctr_table *)base;
    ctr_problem problem;
    ctr_problem_begin(table->joined.conn, &problem);
    bool inserts = argc > 1 && !ctr_table_given(argv[0]);
    unsigned nth = table->joined.conn->ended;
    table->joined.conn->stats.writes++;
    table->repeated = false;
    if (!table->read) ctr_table_read(table);
    if (problem.rc == SQLITE_OK && table->joined.conn->told == 0)
        ctr_events_witness(&table->joined);
    if (table->file) ctr_spill_check(table->file);
    if (problem.rc == SQLITE_OK) change_row(table, argc, argv, inserts);
    if (argc > 1 && !inserts && problem.rc == SQLITE_OK)
        table->updated++;
    else if (argc > 1 && !inserts && table->updated > 0)
        ctr_conn_spoil(table->joined.conn, nth);
    if (inserts) *rowid = table->repeated ? 0 : access_rowid(table);
    ctr_table_end_row(table);

    if (problem.rc == SQLITE_OK) {
        ctr_problem_end(&problem);
        table->handed = false;
        return SQLITE_OK;
    }
    bool skip = is_ignored(table);
    int rc = ctr_table_fail(table, &problem);
    if (skip) { /* SQLite reports a message even if OR IGNORE applies */
        sqlite3_free(base->zErrMsg);
        base->zErrMsg = NULL;
    }
    return rc;
}
