/* base/values.c - texts, the arguments of SQL functions, integers of any type, messages. */
#include "base/base.h"

#include <stdarg.h>
#include <string.h>

/* =================================================================================================
 * text - texts in UTF-8. */

const char *ctr_text_column(ctr_conn *conn, sqlite3_stmt *row, int column)
{
    if (sqlite3_column_type(row, column) == SQLITE_NULL) return NULL;
    const char *text = (const char *)sqlite3_column_text(row, column);
    if (!text) ctr_problem_nomem(conn);
    return text;
}

const char *ctr_text_value(ctr_conn *conn, sqlite3_value *value)
{
    if (sqlite3_value_type(value) != SQLITE_TEXT) return NULL;
    const char *text = (const char *)sqlite3_value_text(value);
    if (!text) ctr_problem_nomem(conn);
    return text;
}

/* sqlite3_value_bytes converts a text to UTF-8; a size of 0 may mean that there was no memory for
 * it. */
int ctr_text_bind_value(sqlite3_stmt *statement, int i, sqlite3_value *value)
{
    bool is_text = sqlite3_value_type(value) == SQLITE_TEXT;
    if (is_text && sqlite3_value_bytes(value) == 0 && !sqlite3_value_text(value))
        return SQLITE_NOMEM;
    return sqlite3_bind_value(statement, i, value);
}

bool ctr_text_alike(sqlite3_value *a, sqlite3_value *b)
{
    int type = sqlite3_value_type(a);
    if (type != sqlite3_value_type(b) || type == SQLITE_FLOAT) return false;
    if (type == SQLITE_INTEGER) return sqlite3_value_int64(a) == sqlite3_value_int64(b);
    bool text = type == SQLITE_TEXT; /* may be converted: read before its size */
    const void *x = text ? (const void *)sqlite3_value_text(a) : sqlite3_value_blob(a),
               *y = text ? (const void *)sqlite3_value_text(b) : sqlite3_value_blob(b);
    int size = sqlite3_value_bytes(a);
    if (size != sqlite3_value_bytes(b)) return false;
    return (x && y && memcmp(x, y, (size_t)size) == 0) || (size == 0 && !text);
}

bool ctr_text_same(sqlite3_value *a, sqlite3_value *b)
{
    if (sqlite3_value_type(a) != SQLITE_FLOAT || sqlite3_value_type(b) != SQLITE_FLOAT)
        return ctr_text_alike(a, b);
    double x = sqlite3_value_double(a), y = sqlite3_value_double(b);
    return memcmp(&x, &y, sizeof x) == 0;
}

const char *ctr_text_separator(sqlite3_str *list, const char *word)
{
    return sqlite3_str_length(list) > 0 ? word : "";
}

void ctr_text_append_hex(sqlite3_str *out, const void *bytes, int size)
{
    const unsigned char *at = bytes;
    for (int i = 0; i < size; i++) sqlite3_str_appendf(out, "%02x", at[i]);
}

char *ctr_text_copy(ctr_conn *conn, const char *text)
{
    return ctr_text_of(conn, (ctr_span){text, strlen(text)});
}

char *ctr_text_of(ctr_conn *conn, ctr_span span)
{
    char *copy = sqlite3_mprintf("%.*s", (int)span.size, span.text);
    if (!copy) ctr_problem_nomem(conn);
    return copy;
}

char *ctr_text_unquoted(ctr_conn *conn, ctr_span name)
{
    char *text = sqlite3_malloc64(name.size + 1);
    if (text)
        ctr_word_unquote(name, text);
    else
        ctr_problem_nomem(conn);
    return text;
}

struct ctr_text {
    ctr_text *before;
    char *text; /* owned */
};

static const char *keep_text(ctr_conn *conn, char *text)
{
    ctr_text *kept = text ? sqlite3_malloc64(sizeof *kept) : NULL;
    if (!kept) {
        sqlite3_free(text);
        ctr_problem_nomem(conn);
        return "";
    }
    *kept = (ctr_text){conn->texts, text};
    conn->texts = kept;
    return text;
}

const char *ctr_text_print(ctr_conn *conn, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = sqlite3_vmprintf(format, args);
    va_end(args);
    return keep_text(conn, text);
}

const char *ctr_text_built(ctr_conn *conn, sqlite3_str *out)
{
    bool is_empty = sqlite3_str_errcode(out) == SQLITE_OK && sqlite3_str_length(out) == 0;
    char *text = sqlite3_str_finish(out);
    if (!is_empty) return keep_text(conn, text);
    sqlite3_free(text); /* room for nothing, after an empty text was appended */
    return "";
}

void ctr_text_release(ctr_conn *conn, ctr_text *mark)
{
    while (conn->texts != mark) {
        ctr_text *last = conn->texts;
        conn->texts = last->before;
        sqlite3_free(last->text);
        sqlite3_free(last);
    }
}

char *ctr_text_finish(ctr_conn *conn, sqlite3_str *list)
{
    bool whole = sqlite3_str_errcode(list) == SQLITE_OK;
    char *text = sqlite3_str_finish(list);
    if (whole && !text) text = sqlite3_mprintf("");
    if (whole && text) return text;
    ctr_problem_nomem(conn);
    sqlite3_free(text);
    return NULL;
}

bool ctr_text_has_noncharacter(const void *utf8, size_t size)
{
    const unsigned char *at = utf8;
    for (size_t i = 0; i + 2 < size; i++)
        if (at[i] == 0xef && at[i + 1] == 0xbf && (at[i + 2] == 0xbe || at[i + 2] == 0xbf))
            return true;
    return false;
}

/* =================================================================================================
 * args - reads arguments and sets messages. */

void ctr_arg_error(sqlite3_context *ctx, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = sqlite3_vmprintf(format, args);
    va_end(args);
    if (text)
        sqlite3_result_error(ctx, text, -1);
    else
        sqlite3_result_error_nomem(ctx);
    sqlite3_free(text);
}

bool ctr_arg_refuse(sqlite3_context *ctx, const char *function, const char *name,
                    const char *wanted, sqlite3_value *value)
{
    ctr_problem problem;
    ctr_problem_begin(sqlite3_user_data(ctx), &problem);
    if (ctr_problem_mismatch(sqlite3_user_data(ctx), name, wanted, value) == SQLITE_MISMATCH)
        problem.rc = SQLITE_ERROR;
    return ctr_arg_problem(ctx, function, &problem);
}

const char *ctr_arg_text(sqlite3_context *ctx, const char *function, const char *name,
                         sqlite3_value *value)
{
    ctr_problem problem;
    ctr_problem_begin(sqlite3_user_data(ctx), &problem);
    const char *text = ctr_text_value(sqlite3_user_data(ctx), value);
    if (!ctr_arg_problem(ctx, function, &problem)) return NULL;
    if (!text) ctr_arg_refuse(ctx, function, name, "TEXT", value);
    return text;
}

bool ctr_arg_integer(sqlite3_context *ctx, const char *function, const char *name,
                     sqlite3_value *value, int64_t least, int64_t most, int64_t *n)
{
    ctr_conn *conn = sqlite3_user_data(ctx);
    ctr_problem problem;
    ctr_problem_begin(conn, &problem);
    bool is_integer = ctr_arg_take_integer(conn, value, n);
    if (!is_integer && problem.rc == SQLITE_OK) {
        char *refusal = ctr_arg_integer_refusal(value);
        if (!refusal) ctr_problem_nomem(conn);
        ctr_problem_set(conn, SQLITE_ERROR, "%s must be %s", name, refusal);
        sqlite3_free(refusal);
    }
    if (!ctr_arg_problem(ctx, function, &problem)) return false;
    if (*n >= least && *n <= most) return true;
    ctr_arg_error(ctx, "%s: %s must be %lld ... %lld, not %lld", function, name, (long long)least,
                  (long long)most, (long long)*n);
    return false;
}

bool ctr_arg_id(sqlite3_context *ctx, const char *function, const char *name, sqlite3_value *value,
                uint8_t id[CTR_ID_SIZE])
{
    int type = sqlite3_value_type(value);
    if (type == SQLITE_BLOB && sqlite3_value_bytes(value) == CTR_ID_SIZE) {
        const void *bytes = sqlite3_value_blob(value);
        if (bytes)
            memcpy(id, bytes, CTR_ID_SIZE);
        else
            sqlite3_result_error_nomem(ctx);
        return bytes != NULL;
    }
    if (type == SQLITE_TEXT) {
        const char *text = ctr_arg_text(ctx, function, name, value);
        if (!text) return false;
        if (ctr_id_from_text(text, (size_t)sqlite3_value_bytes(value), id)) return true;
    }
    return ctr_arg_refuse(ctx, function, name, "a UUID (text, or a BLOB of 16 bytes)", value);
}

bool ctr_arg_status(sqlite3_context *ctx, const char *function, ctr_status status)
{
    switch (status) {
    case CTR_OK: return true;
    case CTR_DELETED:
        ctr_arg_error(ctx, "%s: the counter was deleted; counter_reset starts its next life",
                      function);
        return false;
    case CTR_OVERFLOW: ctr_arg_error(ctx, "%s: integer overflow", function); return false;
    default:
        ctr_arg_error(ctx, "%s: the counter %s", function, ctr_status_text(status));
        return false;
    }
}

bool ctr_arg_problem(sqlite3_context *ctx, const char *function, ctr_problem *problem)
{
    ctr_problem_end(problem);
    ctr_problem_prefix(problem, function);
    int rc = problem->rc;
    if (rc == SQLITE_OK) return true;
    if (rc == SQLITE_NOMEM) {
        sqlite3_result_error_nomem(ctx);
    } else {
        ctr_arg_error(ctx, "%s", ctr_problem_text(problem));
        sqlite3_result_error_code(ctx, rc);
    }
    ctr_problem_close(problem);
    return false;
}

int ctr_arg_table_problem(sqlite3_vtab *table, const char *name, ctr_problem *problem)
{
    ctr_problem_end(problem);
    if (problem->rc == SQLITE_OK) return SQLITE_OK;
    ctr_problem_prefix(problem, name);
    int rc = problem->rc;
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = NULL;
    if (rc != SQLITE_NOMEM) {
        table->zErrMsg = sqlite3_mprintf("%s", ctr_problem_text(problem));
        if (!table->zErrMsg) rc = SQLITE_NOMEM;
    }
    ctr_problem_close(problem);
    return rc;
}

const char *ctr_arg_schema(sqlite3_context *ctx, const char *function, sqlite3_value *value)
{
    const char *schema = value ? (const char *)sqlite3_value_text(value) : "main";
    if (!schema && sqlite3_value_type(value) == SQLITE_NULL)
        ctr_arg_error(ctx, "%s: the name of a database must be TEXT, not NULL", function);
    else if (!schema)
        sqlite3_result_error_nomem(ctx);
    if (!schema) return NULL;
    if (ctr_run_has_schema(sqlite3_context_db_handle(ctx), schema)) return schema;
    ctr_arg_error(ctx, "%s: no attached database has the name '%s'", function, schema);
    return NULL;
}

void ctr_arg_result_id(sqlite3_context *ctx, const uint8_t id[CTR_ID_SIZE])
{
    char text[CTR_ID_TEXT_SIZE];
    ctr_id_to_text(id, text);
    sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

void ctr_arg_free(sqlite3_value **values, int n)
{
    for (int i = 0; values && i < n; i++) sqlite3_value_free(values[i]);
    sqlite3_free(values);
}

sqlite3_value **ctr_arg_copies(ctr_conn *conn, sqlite3_value **values, int n)
{
    sqlite3_value **copies = sqlite3_malloc64(((size_t)n + 1) * sizeof *copies);
    if (!copies) ctr_problem_nomem(conn);
    for (int i = 0; copies && i < n; i++) {
        copies[i] = sqlite3_value_dup(values[i]);
        if (!copies[i]) ctr_problem_nomem(conn);
    }
    return copies;
}

/* ---- integers -------------------------------------------------------------------------------- */

enum { PLAIN_DIGITS = 18 }; /* fewer than the greatest integer has */

static bool integer_of_real(double real, bool is_exact, int64_t *n)
{
    const double most = (double)CTR_NUMBER_REAL_MAX;
    bool fits = is_exact ? real >= -most && real <= most : real > -most && real < most;
    if (!fits) return false;
    *n = (int64_t)real;
    return (double)*n == real;
}

static ctr_number number_of(sqlite3_value *value, int type)
{
    ctr_number number = {.type = type};
    if (type == SQLITE_INTEGER) number.integer = sqlite3_value_int64(value);
    if (type == SQLITE_FLOAT) number.real = sqlite3_value_double(value);
    return number;
}

int64_t ctr_arg_between(ctr_conn *conn, const char *what, const char *wanted, sqlite3_value *value,
                        int64_t least, int64_t most)
{
    int64_t n = 0;
    if (ctr_rc(conn) != SQLITE_OK) return 0;
    if (ctr_arg_take_integer(conn, value, &n) && n >= least && n <= most) return n;
    ctr_problem_mismatch(conn, what, wanted, value);
    return 0;
}

void ctr_arg_change(ctr_conn *conn, ctr_change_view *change, const uint8_t *bytes, size_t size)
{
    ctr_status status = ctr_change_open(change, bytes, size);
    const ctr_told_column *column = &change->column;
    if (status == CTR_OK) return;
    if (column->name_size == 0)
        ctr_problem_set(conn, SQLITE_ERROR, "the change %s", change->wrong);
    else
        ctr_problem_set(conn, SQLITE_ERROR, "the change: column %.*s %s",
                        ctr_utf8_cut((ctr_span){(const char *)column->name, column->name_size}, 60),
                        column->name, change->wrong);
}

/* SQLite converts a value in place, and it may be a constant of the statement. A duplicate would
 * belong to no connection, and newer versions convert no such value. So a statement makes the
 * copy. */
ctr_number ctr_arg_number(ctr_conn *conn, sqlite3_value *value)
{
    ctr_number number = number_of(value, sqlite3_value_type(value));
    if (number.type != SQLITE_TEXT || ctr_rc(conn) != SQLITE_OK) return number;
    ctr_run run = ctr_run_on(conn, "main", NULL);
    run.slots.values = "?1";
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_ROWS_OF_PARAMETERS);
    if (row) ctr_problem_sqlite(conn, ctr_text_bind_value(row, 1, value));
    if (ctr_run_row(&run, row)) {
        sqlite3_value *copy = sqlite3_column_value(row, 0);
        number = number_of(copy, sqlite3_value_numeric_type(copy));
    }
    sqlite3_finalize(row);
    return number;
}

/* Most texts are digits and perhaps a sign. */
static bool is_plain(const char *text, size_t size, int64_t *n)
{
    size_t sign = size > 0 && (*text == '-' || *text == '+');
    int64_t sum = 0;
    if (size <= sign || size - sign > PLAIN_DIGITS) return false;
    for (size_t i = sign; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        sum = 10 * sum + (text[i] - '0');
    }
    *n = *text == '-' ? -sum : sum;
    return true;
}

static bool integer_of_text(ctr_conn *conn, sqlite3_value *value, int64_t *n)
{
    const char *text = ctr_text_value(conn, value);
    if (!text) return false;
    if (is_plain(text, (size_t)sqlite3_value_bytes(value), n)) return true;
    ctr_number number = ctr_arg_number(conn, value);
    *n = number.integer;
    return number.type == SQLITE_INTEGER ||
           (number.type == SQLITE_FLOAT && integer_of_real(number.real, false, n));
}

bool ctr_arg_take_integer(ctr_conn *conn, sqlite3_value *value, int64_t *n)
{
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER: *n = sqlite3_value_int64(value); return true;
    case SQLITE_FLOAT: return integer_of_real(sqlite3_value_double(value), true, n);
    case SQLITE_TEXT: return integer_of_text(conn, value, n);
    default: return false;
    }
}

char *ctr_arg_integer_refusal(sqlite3_value *value)
{
    char *shown = ctr_problem_describe_value(value);
    if (!shown) return NULL;
    const double most = (double)CTR_NUMBER_REAL_MAX;
    double real = sqlite3_value_type(value) == SQLITE_FLOAT ? sqlite3_value_double(value) : 0;
    const double beyond = 9223372036854775808.0; /* SQLite's result for a sum that is too large */
    const char *why = "";
    if (real < -most || real > most) why = ": a REAL is exact only up to 9007199254740992";
    if (real <= -beyond || real >= beyond) why = ": integer overflow";
    char *text = sqlite3_mprintf("an INTEGER, not %s%s", shown, why);
    sqlite3_free(shown);
    return text;
}
