/* counter/scan.c - cursors of a counter table.
 *
 * Rows. A row is shown while one of its counters is live and touched. Its untouched counters read
 * 0; a counter that was deleted alone reads NULL.
 *
 * Numbers and text. SQLite checks each row again by its own rules; our search must return every row
 * that SQLite would keep. `path = 12` on a TEXT key arrives as the number 12, whether SQLite will
 * compare it with '12' only (a literal) or also with '012' (a column of integers). So such an
 * argument is used only for a whole key: the row with the number's exact text comes first, because
 * a one-pass UPDATE looks at one row, and then all others.
 *
 * One row. A whole key names one row at most. It is found as an INSERT finds it, in memory if it is
 * cached (table/journal.c), and the cursor keeps copies of its key and counters.
 *
 * IN. If SQLite passes all elements of an IN at once, there is one scan for each of them, one after
 * the other.
 *
 * Front. If the table stands in front of others, its front reads the rows (counter/counter.h).
 */
#include <string.h>

#include "counter/counter.h"

/* ---- the elements of an IN ------------------------------------------------------------------- */

/* SQLite passes the elements of an IN one by one, each as the argument of an `=`, and checks each
 * row by that `=` again. On a column of TEXT affinity or none, this differs from the IN. Since 3.38
 * SQLite passes all elements at once on request, and checks a row by the IN itself. In a plan, such
 * an argument has the operator I, one at most:
 *
 *     "=0I1."        path = ? AND referrer IN (...)
 *
 * Streams never see it: they get one plan for each element, with = in place of I. If some element
 * may match more than its exact value, they get a single plan without that condition.
 */

/* The searches of a plan. */
typedef struct in_searches {
    char *plan;           /* of one search; owned */
    sqlite3_value **args; /* of the current search; owned */
    int argc;

    int place;                /* the argument that is an element, or -1 */
    sqlite3_value **elements; /* owned copies; NULL if there is a single search without them */
    int n, next;
    size_t room;
} in_searches;

/* Returns the number of the argument that is an IN, or -1. */
static int place_in_plan(const char *plan)
{
    for (int i = 0; *plan != '.'; plan += 2, i++)
        if (*plan == 'I') return i;
    return -1;
}

static void forget_elements(in_searches *elements)
{
    if (elements->args && elements->place >= 0) elements->args[elements->place] = NULL; /* lent */
    ctr_arg_free(elements->elements, elements->n);
    elements->elements = NULL;
    elements->n = 0;
    elements->room = 0;
}

/* Frees everything; a second call does nothing. */
static void close_searches(in_searches *elements)
{
    forget_elements(elements);
    ctr_arg_free(elements->args, elements->argc);
    sqlite3_free(elements->plan);
    *elements = (in_searches){.place = -1};
}

static void *owned(ctr_conn *conn, void *memory)
{
    if (!memory) ctr_problem_nomem(conn);
    return memory;
}

/* Removes the IN from the plan: a single search follows. */
static void leave_out(in_searches *elements)
{
    forget_elements(elements);
    size_t place = (size_t)elements->place, behind = (size_t)elements->argc - place - 1;
    char *pair = elements->plan + 2 * place;
    memmove(pair, pair + 2, strlen(pair + 2) + 1);
    memmove(elements->args + place, elements->args + place + 1, behind * sizeof *elements->args);
    elements->argc--;
    elements->place = -1;
}

static int walk_list(sqlite3_value *list, bool first, sqlite3_value **value)
{
#if SQLITE_VERSION_NUMBER >= 3038000
    return first ? sqlite3_vtab_in_first(list, value) : sqlite3_vtab_in_next(list, value);
#else
    (void)list, (void)first, (void)value;
    return SQLITE_DONE;
#endif
}

/* Skips NULL: a key is never NULL. */
static void take_elements(ctr_conn *conn, in_searches *elements, const ctr_shape *shape,
                          sqlite3_value *list)
{
    const char pair[] = {'=', elements->plan[2 * elements->place + 1], '\0'};
    sqlite3_value *value = NULL;
    int rc = walk_list(list, true, &value);
    for (; rc == SQLITE_OK && ctr_rc(conn) == SQLITE_OK; rc = walk_list(list, false, &value)) {
        if (sqlite3_value_type(value) == SQLITE_NULL) continue;
        if (!ctr_stream_is_exact(shape, pair, &value)) {
            leave_out(elements);
            return;
        }
        sqlite3_value **more = ctr_array_room(conn, elements->elements, &elements->room,
                                              (size_t)elements->n + 1, sizeof *more);
        if (!more) return;
        elements->elements = more;
        more[elements->n] = owned(conn, sqlite3_value_dup(value));
        if (more[elements->n]) elements->n++;
    }
    if (rc != SQLITE_OK && rc != SQLITE_DONE)
        ctr_problem_set(conn, rc, "the list of an IN: %s", sqlite3_errstr(rc));
}

/* Copies the elements and the other arguments. */
static void open_searches(ctr_conn *conn, in_searches *elements, const ctr_shape *shape,
                          const char *plan, int argc, sqlite3_value **argv)
{
    size_t size = (size_t)argc * sizeof *elements->args;
    elements->plan = ctr_text_copy(conn, plan);
    elements->args = owned(conn, sqlite3_malloc64(size));
    if (!elements->plan || !elements->args) return;
    elements->place = place_in_plan(plan);
    elements->plan[2 * elements->place] = '=';
    for (int i = 0; i < argc; i++) {
        bool is_list = i == elements->place;
        elements->args[i] = is_list ? NULL : owned(conn, sqlite3_value_dup(argv[i]));
        elements->argc++;
    }
    if (ctr_rc(conn) == SQLITE_OK) take_elements(conn, elements, shape, argv[elements->place]);
}

/* Moves to the next search; returns false if there is none. */
static bool next_search(in_searches *elements)
{
    if (!elements->plan || elements->next >= (elements->place < 0 ? 1 : elements->n)) return false;
    int i = elements->next++;
    if (elements->place >= 0) elements->args[elements->place] = elements->elements[i];
    return true;
}

/* ---- cursors --------------------------------------------------------------------------------- */

/* One counter of the row under the cursor. */
typedef struct seen_counter {
    ctr_summary state;
    int64_t opened; /* the row for which `state` was summed up */
} seen_counter;

typedef struct scan_cursor {
    sqlite3_vtab_cursor base;
    void *reading;        /* of a front */
    ctr_stream stream;    /* of one file */
    in_searches elements; /* of an IN, if the plan has one */
    bool started;         /* xFilter began a scan to be stepped, and did not find one row */
    sqlite3_value **rest; /* owned copies of all arguments if a second scan follows, else NULL */
    int n_rest;
    char *rest_plan;  /* its plan; owned */
    bool eof, unique; /* unique: there is one row at most */
    bool single;      /* that row was found, with this id and key; there is no scan */
    int64_t rowid;
    ctr_packed key;
    int64_t row; /* rows seen */
    seen_counter counters[];
} scan_cursor;

static ctr_table *table_of(const scan_cursor *cursor)
{
    return (ctr_table *)cursor->base.pVtab;
}

/* ---- opening and filtering ------------------------------------------------------------------- */

static void free_cursor(scan_cursor *cursor)
{
    if (cursor) sqlite3_free(cursor->key.bytes);
    sqlite3_free(cursor);
}

void ctr_scan_release(ctr_table *table)
{
    free_cursor(table->idle);
    table->idle = NULL;
}

/* The cursor that was closed last is used again, with its memory for a key. */
int ctr_scan_open(sqlite3_vtab *base, sqlite3_vtab_cursor **cursor)
{
    ctr_table *table = (ctr_table *)base;
    size_t counters = (size_t)table->shape.n_counters * sizeof(seen_counter);
    scan_cursor *made = table->idle;
    if (!made) {
        made = sqlite3_malloc64(sizeof *made + counters);
        if (!made) return SQLITE_NOMEM;
        memset(made, 0, sizeof *made + counters);
    }
    table->idle = NULL;
    ctr_problem problem;
    ctr_problem_begin(table->joined.conn, &problem);
    *made = (scan_cursor){.stream.of = &table->streams, .key = made->key, .row = made->row};
    if (table->front) made->reading = table->front->open(table);
    *cursor = &made->base;
    if (problem.rc != SQLITE_OK) free_cursor(made);
    return ctr_table_fail(table, &problem);
}

static void forget_rest(scan_cursor *cursor)
{
    ctr_arg_free(cursor->rest, cursor->n_rest);
    sqlite3_free(cursor->rest_plan);
    cursor->rest = NULL;
    cursor->rest_plan = NULL;
    cursor->n_rest = 0;
}

int ctr_scan_close(sqlite3_vtab_cursor *base)
{
    scan_cursor *cursor = (scan_cursor *)base;
    if (cursor->reading) table_of(cursor)->front->close(cursor->reading);
    ctr_stream_close(&cursor->stream);
    forget_rest(cursor);
    close_searches(&cursor->elements);
    free_cursor(table_of(cursor)->idle);
    table_of(cursor)->idle = cursor;
    return SQLITE_OK;
}

static void start_stream(ctr_conn *conn, scan_cursor *cursor, bool unique, const char *plan,
                         int argc, sqlite3_value **argv)
{
    bool exact = ctr_stream_is_exact(&table_of(cursor)->shape, plan, argv);
    forget_rest(cursor);
    cursor->stream.has_exact = false;
    if (unique && !exact) {
        cursor->rest_plan = ctr_text_copy(conn, plan);
        cursor->rest = ctr_arg_copies(conn, argv, argc);
        cursor->n_rest = argc;
    }
    ctr_stream_start(&cursor->stream, plan, argv, exact || unique);
}

/* Returns whether the plan has the whole key, with values that mean the same on the stored
 * columns. */
static bool names_one_row(const ctr_table *table, const char *plan, sqlite3_value **argv)
{
    const char *at = plan;
    for (int i = 0; i < table->shape.n_keys; i++, at += 2)
        if (*at != '=') return false;
    return *at == '.' && ctr_stream_is_exact(&table->shape, plan, argv);
}

static void find_single(ctr_conn *conn, scan_cursor *cursor, sqlite3_value **argv)
{
    ctr_row *row = table_of(cursor)->row;
    if (ctr_row_find_key(row, argv) || !row->found) return;
    cursor->key.size = 0;
    uint8_t *key = ctr_pack_room(conn, &cursor->key, row->key.size);
    if (!key) return;
    memcpy(key, row->key.bytes, row->key.size);
    cursor->key.size = row->key.size;
    cursor->rowid = row->rowid;
    for (int i = 0; i < row->shape->n_counters; i++)
        cursor->counters[i] = (seen_counter){row->states[i], cursor->row};
    cursor->single = true;
}

static void start_scan(ctr_conn *conn, scan_cursor *cursor, const char *plan, int argc,
                       sqlite3_value **argv)
{
    ctr_table *table = table_of(cursor);
    cursor->started = table->front || !names_one_row(table, plan, argv);
    cursor->single = false;
    if (table->front)
        table->front->start(cursor->reading, table, cursor->unique, plan, argc, argv);
    else if (!cursor->started)
        find_single(conn, cursor, argv);
    else if (ctr_journal_refresh(table->row->tab) == SQLITE_OK)
        start_stream(conn, cursor, cursor->unique, plan, argc, argv);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The stored row under the cursor. */
static sqlite3_stmt *row_of(const scan_cursor *cursor)
{
    return cursor->reading ? table_of(cursor)->front->row(cursor->reading)
                           : cursor->stream.statement;
}

static int64_t rowid_of(const scan_cursor *cursor)
{
    return cursor->single ? cursor->rowid : sqlite3_column_int64(row_of(cursor), CTR_STREAM_ID);
}

/* Returns a counter of this row, which is summed up once. */
static const ctr_summary *sum_counter(scan_cursor *cursor, int counter)
{
    ctr_table *table = table_of(cursor);
    seen_counter *one = &cursor->counters[counter];
    if (one->opened == cursor->row) return &one->state;
    one->opened = cursor->row;
    int i = CTR_STREAM_COLUMNS + table->shape.counters[counter];
    if (table->front)
        table->front->sum(cursor->reading, counter, &one->state);
    else
        ctr_row_sum_cell(table->row, cursor->stream.statement, i, counter, &one->state);
    return &one->state;
}

/* A fold may move amounts of the journal into the cell before SQLite reads the next column, and the
 * running statement would not see them. So all counters of a row with amounts are summed up at
 * once. */
static bool has_amounts(const scan_cursor *cursor)
{
    bool any = false;
    const ctr_table *table = table_of(cursor);
    if (table->front || cursor->single || table->row->tab->amounts.n == 0) return false;
    int64_t id = sqlite3_column_int64(cursor->stream.statement, CTR_STREAM_ID);
    for (int i = 0; i < table->shape.n_counters && !any; i++)
        any = ctr_journal_amount(table->row->tab, id, i) != NULL;
    return any;
}

/* A rollback since the last row dropped the journal's memory, which is then read again. A row found
 * by its key does not need it. */
static bool is_visible(ctr_conn *conn, scan_cursor *cursor)
{
    const ctr_table *table = table_of(cursor);
    ctr_tab *tab = table->front ? NULL : table->row->tab;
    bool looks = tab && !cursor->single && !tab->known;
    if (looks && ctr_journal_refresh(tab)) return false;
    bool visible = false, all = has_amounts(cursor);
    int n = table->shape.n_counters;
    for (int i = 0; i < n && (all || !visible); i++) {
        const ctr_summary *state = sum_counter(cursor, i);
        if (ctr_rc(conn) != SQLITE_OK) return false;
        visible = visible || ctr_summary_is_live(state);
    }
    return visible;
}

/* Steps to the next stored row of the current scan: of its first stream or of the second one. */
static bool step_scan(ctr_conn *conn, scan_cursor *cursor)
{
    ctr_stream *stream = &cursor->stream;
    if (!cursor->started) return false;
    if (cursor->reading) return table_of(cursor)->front->step(cursor->reading);
    if (!stream->statement) return false;
    bool row = ctr_stream_step(stream);
    if (row && cursor->rest) {
        stream->exact = sqlite3_column_int64(stream->statement, CTR_STREAM_ID);
        stream->has_exact = true;
    }
    if (row || !cursor->rest || ctr_rc(conn) != SQLITE_OK) return row;
    ctr_stream_start(stream, cursor->rest_plan, cursor->rest, false);
    forget_rest(cursor);
    return ctr_stream_step(stream);
}

/* Steps to the first row, if the scan has just begun, or to the next one. */
static bool step(ctr_conn *conn, scan_cursor *cursor, bool begins)
{
    in_searches *elements = &cursor->elements;
    bool row = begins && cursor->single;
    if (!begins) cursor->row++;
    if (!row) row = step_scan(conn, cursor);
    while (!row && ctr_rc(conn) == SQLITE_OK && next_search(elements)) {
        cursor->row++;
        start_scan(conn, cursor, elements->plan, elements->argc, elements->args);
        row = ctr_rc(conn) == SQLITE_OK && (cursor->single || step_scan(conn, cursor));
    }
    return row;
}

static int go_on(scan_cursor *cursor, bool begins)
{
    ctr_conn *conn = table_of(cursor)->joined.conn;
    ctr_problem problem;
    ctr_problem_begin(conn, &problem);
    cursor->eof = true;
    bool row = step(conn, cursor, begins);
    while (row && !is_visible(conn, cursor) && problem.rc == SQLITE_OK)
        row = step(conn, cursor, false);
    ctr_problem_end(&problem);
    if (problem.rc != SQLITE_OK) return ctr_table_fail(table_of(cursor), &problem);
    cursor->eof = !row;
    if (!row && cursor->stream.statement) sqlite3_reset(cursor->stream.statement);
    return SQLITE_OK;
}

int ctr_scan_filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
                    sqlite3_value **argv)
{
    scan_cursor *cursor = (scan_cursor *)base;
    ctr_conn *conn = table_of(cursor)->joined.conn;
    ctr_problem problem;
    ctr_problem_begin(conn, &problem);
    cursor->unique = number & CTR_PLAN_UNIQUE;
    cursor->started = cursor->single = false;
    cursor->row++;
    cursor->eof = true;                /* until there is a row; also after an error */
    close_searches(&cursor->elements); /* the terms of an OR share a cursor */
    table_of(cursor)->updated = 0;
    conn->stats.reads++;
    ctr_table_read(table_of(cursor));
    if (place_in_plan(plan) >= 0)
        open_searches(conn, &cursor->elements, &table_of(cursor)->shape, plan, argc, argv);
    else
        start_scan(conn, cursor, plan, argc, argv);
    ctr_problem_end(&problem);
    if (problem.rc != SQLITE_OK) return ctr_table_fail(table_of(cursor), &problem);
    return go_on(cursor, true);
}

int ctr_scan_next(sqlite3_vtab_cursor *base)
{
    return go_on((scan_cursor *)base, false);
}

int ctr_scan_eof(sqlite3_vtab_cursor *base)
{
    return ((scan_cursor *)base)->eof;
}

int ctr_scan_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    const scan_cursor *cursor = (scan_cursor *)base;
    *rowid = rowid_of(cursor);
    if (cursor->reading) *rowid = table_of(cursor)->front->name_row(cursor->reading, *rowid);
    return SQLITE_OK;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* The result is NULL if the counter was deleted alone. */
static void result_counter(scan_cursor *cursor, sqlite3_context *ctx, int counter)
{
    ctr_table *table = table_of(cursor);
    ctr_problem problem;
    ctr_problem_begin(table->joined.conn, &problem);
    int64_t value = 0;
    const ctr_summary *state = sum_counter(cursor, counter);
    if (problem.rc == SQLITE_OK && ctr_summary_value(state, &value) != CTR_OK) {
        ctr_problem_set(table->joined.conn, SQLITE_ERROR,
                        "integer overflow: the counts of all files add up to more than 64 bits; "
                        "INSERT a number of the other sign");
        ctr_row *row = cursor->reading ? table->front->rows(cursor->reading) : table->row;
        ctr_row_problem_at(row, rowid_of(cursor), counter);
    }
    if (!ctr_arg_problem(ctx, table->name, &problem)) return;
    if (state->life % 2 == 1) sqlite3_result_int64(ctx, value);
}

/* Returns a key value of a row found by its key. */
static void result_key(const scan_cursor *cursor, sqlite3_context *ctx, int key)
{
    size_t at = 0;
    ctr_key_value value = {0};
    for (int i = 0; i <= key; i++)
        if (!ctr_key_next(cursor->key.bytes, cursor->key.size, &at, &value)) return;
    switch (value.type) {
    case CTR_KEY_INTEGER: sqlite3_result_int64(ctx, value.integer); break;
    case CTR_KEY_REAL: sqlite3_result_double(ctx, value.real); break;
    case CTR_KEY_TEXT:
        sqlite3_result_text64(ctx, (const char *)value.bytes, value.size, SQLITE_TRANSIENT,
                              SQLITE_UTF8);
        break;
    case CTR_KEY_BLOB:
        if (value.size == 0) sqlite3_result_zeroblob(ctx, 0);
        if (value.size > 0) sqlite3_result_blob64(ctx, value.bytes, value.size, SQLITE_TRANSIENT);
        break;
    default: break;
    }
}

/* Hidden columns read NULL. Columns that an UPDATE does not assign are not read. */
int ctr_scan_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
    scan_cursor *cursor = (scan_cursor *)base;
    const ctr_shape *shape = &table_of(cursor)->shape;
    int i = column - ctr_table_column(0);
    if (i < 0 || i >= shape->n_columns || sqlite3_vtab_nochange(ctx)) return SQLITE_OK;
    if (shape->columns[i].counter >= 0)
        result_counter(cursor, ctx, shape->columns[i].counter);
    else if (cursor->single)
        result_key(cursor, ctx, shape->columns[i].key);
    else
        sqlite3_result_value(ctx, sqlite3_column_value(row_of(cursor), CTR_STREAM_COLUMNS + i));
    return SQLITE_OK;
}
