/* base/run.c - runs statements in sequence and keeps the first error. */
#include "base/base.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

/* ---- statements by name ---------------------------------------------------------------------- */

static const char *const STATEMENTS[] = {
#define CTR_STATEMENT(name, text) text,
#include "statements.h"
#undef CTR_STATEMENT
};

static const struct slot {
    const char *name;
    size_t offset;
    bool list;
} SLOTS[] = {
    {"{schema}", offsetof(ctr_slots, schema), false},
    {"{table}", offsetof(ctr_slots, table), false},
    {"{name}", offsetof(ctr_slots, name), false},
    {"{columns}", offsetof(ctr_slots, columns), true},
    {"{keys}", offsetof(ctr_slots, keys), true},
    {"{definition}", offsetof(ctr_slots, definition), true},
    {"{constraint}", offsetof(ctr_slots, constraint), true},
    {"{values}", offsetof(ctr_slots, values), true},
    {"{changes}", offsetof(ctr_slots, changes), true},
    {"{conflict}", offsetof(ctr_slots, conflict), true},
    {"{order}", offsetof(ctr_slots, order), true},
    {"{value}", offsetof(ctr_slots, value), true},
};

static const struct slot *slot_at(const char *text)
{
    for (size_t i = 0; i < sizeof SLOTS / sizeof *SLOTS; i++)
        if (strncmp(text, SLOTS[i].name, strlen(SLOTS[i].name)) == 0) return &SLOTS[i];
    return NULL;
}

static const char *slot_text(const struct slot *slot, const ctr_slots *slots)
{
    const char *text;
    memcpy(&text, (const char *)slots + slot->offset, sizeof text);
    assert(text);
    return text;
}

char *ctr_run_sql(ctr_sql which, const ctr_slots *slots)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    const char *at = STATEMENTS[which];
    while (*at) {
        const struct slot *list = *at == '"' ? slot_at(at + 1) : NULL;
        const struct slot *name = *at == '{' ? slot_at(at) : NULL;
        if (list && list->list) {
            sqlite3_str_appendall(out, slot_text(list, slots));
            at += strlen(list->name) + 2;
        } else if (name) {
            sqlite3_str_appendf(out, "%w", slot_text(name, slots));
            at += strlen(name->name);
        } else {
            size_t size = 1 + strcspn(at + 1, "\"{");
            sqlite3_str_append(out, at, (int)size);
            at += size;
        }
    }
    return sqlite3_str_finish(out);
}

/* ---- running them ---------------------------------------------------------------------------- */

ctr_run ctr_run_on(ctr_conn *conn, const char *schema, const char *table)
{
    return (ctr_run){.conn = conn, .db = conn->db, .slots = {.schema = schema, .table = table}};
}

bool ctr_run_has_schema(sqlite3 *db, const char *schema)
{
    return sqlite3_db_readonly(db, schema) >= 0 || sqlite3_stricmp(schema, "temp") == 0;
}

int ctr_run_ask_file(sqlite3 *db, const char *schema, int what, void *answer)
{
    return sqlite3_file_control(db, strcmp(schema, "main") == 0 ? NULL : schema, what, answer);
}

unsigned ctr_run_data_version(sqlite3 *db, const char *schema)
{
    unsigned version = 0;
    ctr_run_ask_file(db, schema, SQLITE_FCNTL_DATA_VERSION, &version);
    return version;
}

int ctr_run_transaction(sqlite3 *db, const char *schema)
{
#if SQLITE_VERSION_NUMBER >= 3034000
    if (sqlite3_libversion_number() >= 3034000) return sqlite3_txn_state(db, schema);
#endif
    (void)schema;
    return sqlite3_get_autocommit(db) ? CTR_TXN_NONE : CTR_TXN_WRITE;
}

bool ctr_run_is_utf16(ctr_conn *conn)
{
    ctr_run run = ctr_run_on(conn, NULL, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_ENCODING);
    const char *encoding =
        ctr_run_row(&run, row) ? (const char *)sqlite3_column_text(row, 0) : "UTF-8";
    bool is = encoding && sqlite3_stricmp(encoding, "UTF-8") != 0;
    if (!encoding) ctr_problem_nomem(conn);
    sqlite3_finalize(row);
    return is;
}

int ctr_run_busy_timeout(ctr_conn *conn)
{
    ctr_run run = ctr_run_on(conn, NULL, NULL);
    return (int)ctr_run_number(&run, CTR_SQL_SYNC_BUSY_TIMEOUT);
}

/* A run without a connection, that of no table, comes after an error only. */
static bool is_over(const ctr_run *run)
{
    return !run->conn || ctr_rc(run->conn) != SQLITE_OK;
}

/* If an authorizer answers IGNORE, SQLite makes a program that does nothing of an INSERT. */
static bool ignores_insert(const char *text, sqlite3_stmt *statement)
{
    static const char INSERT[] = "INSERT";
    return strncmp(text, INSERT, sizeof INSERT - 1) == 0 && sqlite3_stmt_readonly(statement);
}

int64_t ctr_run_take_number(ctr_run *run, sqlite3_stmt *row)
{
    ctr_run_bind_text(run, row, ":name", run->slots.table);
    bool found = ctr_run_row(run, row);
    int64_t number = found ? sqlite3_column_int64(row, 0) : 0;
    ctr_run_refuse_hidden(run, row, 1, "counter_tables");
    if (is_over(run)) return 0;
    if (!found)
        ctr_problem_set(run->conn, SQLITE_CORRUPT_VTAB, "the table is missing in counter_tables");
    else if (number < 1 || number > CTR_GROUP_TABLES)
        ctr_problem_set(run->conn, SQLITE_CORRUPT_VTAB,
                        "counter_tables is damaged: %s has no number", run->slots.table);
    return is_over(run) ? 0 : number;
}

/* Binds :tab, if the statement has it. */
static void bind_number(ctr_run *run, sqlite3_stmt *statement)
{
    int i = run->slots.table ? sqlite3_bind_parameter_index(statement, ":tab") : 0;
    if (i == 0) return;
    if (run->tab == 0) {
        sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_CATALOG_NUMBER);
        run->tab = ctr_run_take_number(run, row);
        sqlite3_finalize(row);
    }
    ctr_problem_of(run->conn, run->db, sqlite3_bind_int64(statement, i, run->tab));
}

sqlite3_stmt *ctr_run_prepare(ctr_run *run, ctr_sql which)
{
    if (is_over(run)) return NULL;
    char *text = ctr_run_sql(which, &run->slots);
    if (!text) {
        ctr_problem_nomem(run->conn);
        return NULL;
    }
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(run->db, text, -1, &statement, NULL);
    ctr_problem_of(run->conn, run->db, rc);
    if (rc == SQLITE_OK && ignores_insert(text, statement)) {
        ctr_problem_set(run->conn, SQLITE_AUTH,
                        "an authorizer of this connection ignores an INSERT into a stored table: "
                        "its content would be lost");
    }
    sqlite3_free(text);
    if (rc == SQLITE_OK) bind_number(run, statement);
    if (!is_over(run)) return statement;
    sqlite3_finalize(statement);
    return NULL;
}

void ctr_run_bind_int(ctr_run *run, sqlite3_stmt *statement, const char *parameter, int64_t n)
{
    if (is_over(run)) return;
    int i = sqlite3_bind_parameter_index(statement, parameter);
    ctr_problem_of(run->conn, run->db, sqlite3_bind_int64(statement, i, n));
}

void ctr_run_bind_text(ctr_run *run, sqlite3_stmt *statement, const char *parameter,
                       const char *text)
{
    if (is_over(run)) return;
    int i = sqlite3_bind_parameter_index(statement, parameter);
    int rc = sqlite3_bind_text(statement, i, text, -1, SQLITE_TRANSIENT);
    ctr_problem_of(run->conn, run->db, rc);
}

void ctr_run_bind_id(ctr_run *run, sqlite3_stmt *statement, const char *parameter,
                     const uint8_t *id)
{
    if (is_over(run)) return;
    int i = sqlite3_bind_parameter_index(statement, parameter);
    int rc = sqlite3_bind_blob(statement, i, id, CTR_ID_SIZE, SQLITE_TRANSIENT);
    ctr_problem_of(run->conn, run->db, rc);
}

void ctr_run_bind_blob(ctr_run *run, sqlite3_stmt *statement, const char *parameter,
                       const void *bytes, size_t size)
{
    if (is_over(run)) return;
    int i = sqlite3_bind_parameter_index(statement, parameter);
    int rc = sqlite3_bind_blob64(statement, i, bytes, size, SQLITE_STATIC);
    ctr_problem_of(run->conn, run->db, rc);
}

void ctr_run_bind_value(ctr_run *run, sqlite3_stmt *statement, const char *parameter,
                        sqlite3_value *value)
{
    if (is_over(run)) return;
    int i = sqlite3_bind_parameter_index(statement, parameter);
    ctr_problem_of(run->conn, run->db, ctr_text_bind_value(statement, i, value));
}

void ctr_run_bind(ctr_run *run, sqlite3_stmt *statement, const char *format, va_list args)
{
    enum { PARAMETER_SIZE = 32 };
    char name[PARAMETER_SIZE];
    for (const char *at = format; *at;) {
        size_t size = strcspn(at, " ");
        assert(size < sizeof name && at[size] == ' ');
        memcpy(name, at, size);
        name[size] = '\0';
        at += size + 1;
        switch (*at++) {
        case 'i': ctr_run_bind_int(run, statement, name, va_arg(args, int64_t)); break;
        case 't': ctr_run_bind_text(run, statement, name, va_arg(args, const char *)); break;
        case 'v': ctr_run_bind_value(run, statement, name, va_arg(args, sqlite3_value *)); break;
        case 'd': ctr_run_bind_id(run, statement, name, va_arg(args, const uint8_t *)); break;
        default: {
            const void *bytes = va_arg(args, const void *);
            ctr_run_bind_blob(run, statement, name, bytes, va_arg(args, size_t));
        }
        }
        at += strspn(at, " ");
    }
}

void ctr_run_with(ctr_run *run, ctr_sql which, const char *format, ...)
{
    va_list args;
    sqlite3_stmt *statement = ctr_run_prepare(run, which);
    va_start(args, format);
    ctr_run_bind(run, statement, format, args);
    va_end(args);
    ctr_run_once(run, statement);
}

bool ctr_run_row(ctr_run *run, sqlite3_stmt *statement)
{
    if (is_over(run)) return false;
    int rc = sqlite3_step(statement);
    ctr_problem_of(run->conn, run->db, rc);
    return rc == SQLITE_ROW;
}

bool ctr_run_once(ctr_run *run, sqlite3_stmt *statement)
{
    bool row = ctr_run_row(run, statement);
    sqlite3_finalize(statement);
    return row;
}

int64_t ctr_run_number(ctr_run *run, ctr_sql which)
{
    sqlite3_stmt *row = ctr_run_prepare(run, which);
    int64_t number = ctr_run_row(run, row) ? sqlite3_column_int64(row, 0) : 0;
    sqlite3_finalize(row);
    return number;
}

bool ctr_run_is_hidden(sqlite3_stmt *row, int column)
{
#ifdef SQLITE_OMIT_DECLTYPE
    (void)row;
    (void)column;
    return false;
#else
#ifndef SQLITE_CORE
    if (!sqlite3_api->column_decltype) return false;
#endif
    return !sqlite3_column_decltype(row, column);
#endif
}

void ctr_run_refuse_hidden(ctr_run *run, sqlite3_stmt *row, int n, const char *table)
{
    for (int i = 0; i < n && !is_over(run); i++) {
        const char *type = NULL;
        int rc = sqlite3_table_column_metadata(run->db, run->slots.schema, table,
                                               sqlite3_column_name(row, i), &type, NULL, NULL, NULL,
                                               NULL);
        if (rc == SQLITE_OK && type && *type && ctr_run_is_hidden(row, i))
            ctr_problem_set(run->conn, SQLITE_AUTH,
                            "an authorizer of this connection hides columns of %s", table);
    }
}

bool ctr_run_gives(ctr_run *run, ctr_sql which, const char *text)
{
    sqlite3_stmt *row = ctr_run_prepare(run, which);
    const char *given = ctr_run_row(run, row) ? ctr_text_column(run->conn, row, 0) : NULL;
    bool is = given && sqlite3_stricmp(given, text) == 0;
    sqlite3_finalize(row);
    return is;
}

int ctr_run_to_end(sqlite3_stmt *statement)
{
    int rc = sqlite3_step(statement);
    while (rc == SQLITE_ROW) rc = sqlite3_step(statement);
    return rc;
}

void ctr_run_write(ctr_run *run, sqlite3_stmt *statement)
{
    if (is_over(run)) return;
    int before = sqlite3_total_changes(run->db), rc = ctr_run_to_end(statement);
    if ((rc & 0xff) == SQLITE_CONSTRAINT) {
        ctr_problem_set(run->conn, SQLITE_CORRUPT_VTAB, "the stored table refuses the row: %s",
                        sqlite3_errmsg(run->db));
        return;
    }
    if (rc == SQLITE_DONE &&
        (sqlite3_changes(run->db) != 1 || sqlite3_total_changes(run->db) == before)) {
        ctr_problem_set(run->conn, SQLITE_CORRUPT_VTAB, "the stored table did not take the row");
        return;
    }
    ctr_problem_of(run->conn, run->db, rc);
}

sqlite3_stmt *ctr_run_hold(ctr_run *run)
{
    sqlite3_stmt *snapshot = ctr_run_prepare(run, CTR_SQL_SCHEMA_HOLD);
    ctr_run_row(run, snapshot);
    return snapshot;
}

void ctr_run_do(ctr_run *run, ctr_sql which, const char *text)
{
    sqlite3_stmt *statement = ctr_run_prepare(run, which);
    bool one = sqlite3_bind_parameter_count(statement) == 1; /* of several, text has no place */
    const char *parameter = one ? sqlite3_bind_parameter_name(statement, 1) : NULL;
    if (text) ctr_run_bind_text(run, statement, parameter, text);
    while (ctr_run_row(run, statement)) continue;
    sqlite3_finalize(statement);
}

void ctr_run_set(ctr_run *run, ctr_sql which, int number)
{
    if (is_over(run)) return;
    ctr_text *before = ctr_text_mark(run->conn); /* it may be the end of a transaction */
    run->slots.value = ctr_text_print(run->conn, "%d", number);
    ctr_run_do(run, which, NULL);
    run->slots.value = NULL;
    ctr_text_release(run->conn, before);
}
