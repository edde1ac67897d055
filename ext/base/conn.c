/* base/conn.c - the error at hand; a connection: its transaction and its kept statements;
 * registration of functions. */
#include "base/base.h"

#include <stdarg.h>
#include <string.h>

/* =================================================================================================
 * problem - the error at hand, its text, and values in the text. */

int ctr_problem_set(ctr_conn *conn, int rc, const char *format, ...)
{
    ctr_problem *problem = conn->errors->now;
    if (problem->rc != SQLITE_OK) return problem->rc;
    va_list args;
    va_start(args, format);
    problem->text = sqlite3_vmprintf(format, args);
    va_end(args);
    problem->rc = problem->text ? rc : SQLITE_NOMEM;
    return problem->rc;
}

int ctr_problem_of(ctr_conn *conn, sqlite3 *db, int rc)
{
    if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE) return ctr_rc(conn);
    if (rc == SQLITE_NOMEM) return ctr_problem_nomem(conn);
    return ctr_problem_set(conn, rc, "%s", sqlite3_errmsg(db));
}

int ctr_problem_sqlite(ctr_conn *conn, int rc)
{
    return ctr_problem_of(conn, conn->db, rc);
}

int ctr_problem_nomem(ctr_conn *conn)
{
    ctr_problem *problem = conn->errors->now;
    if (problem->rc == SQLITE_OK) problem->rc = SQLITE_NOMEM;
    return problem->rc;
}

void ctr_problem_prefix(ctr_problem *problem, const char *where)
{
    if (problem->rc == SQLITE_OK || problem->rc == SQLITE_NOMEM) return;
    const char *what = ctr_problem_text(problem);
    size_t n = where ? strlen(where) : 0;
    if (where && strncmp(what, where, n) == 0 && what[n] == ':') return; /* as in a trigger */
    char *text = where ? sqlite3_mprintf("%s: %s", where, what) : NULL;
    sqlite3_free(problem->text);
    problem->text = text;
    if (!text) problem->rc = SQLITE_NOMEM;
}

void ctr_problem_leave_out(ctr_conn *conn, const char *where)
{
    char *text = conn->errors->now->text;
    size_t n = strlen(where);
    if (!text || strncmp(text, where, n) != 0 || text[n] != ':' || text[n + 1] != ' ') return;
    memmove(text, text + n + 2, strlen(text + n + 2) + 1);
}

void ctr_problem_where(ctr_conn *conn, const char *format, ...)
{
    if (ctr_rc(conn) == SQLITE_OK) return;
    va_list args;
    va_start(args, format);
    char *where = sqlite3_vmprintf(format, args);
    va_end(args);
    ctr_problem_prefix(conn->errors->now, where);
    sqlite3_free(where);
}

void ctr_problem_try(ctr_conn *conn, ctr_problem *problem)
{
    *problem = (ctr_problem){.outer = conn->errors->now, .of = conn->errors};
    conn->errors->now = problem;
}

void ctr_problem_begin(ctr_conn *conn, ctr_problem *problem)
{
    ctr_problem_try(conn, problem);
    problem->enters = conn;
    problem->texts = ctr_text_mark(conn);
}

void ctr_problem_end(ctr_problem *problem)
{
    if (problem->of) problem->of->now = problem->outer;
    if (problem->enters) ctr_text_release(problem->enters, problem->texts);
    problem->of = NULL;
    problem->enters = NULL;
}

ctr_problem ctr_problem_take(ctr_conn *conn)
{
    ctr_problem *now = conn->errors->now;
    ctr_problem taken = {.rc = now->rc, .text = now->text};
    now->rc = SQLITE_OK;
    now->text = NULL;
    return taken;
}

void ctr_problem_clear(ctr_conn *conn)
{
    sqlite3_free(ctr_problem_take(conn).text);
}

void ctr_problem_raise(ctr_conn *conn, ctr_problem *problem)
{
    ctr_problem_end(problem);
    ctr_problem *now = conn->errors->now;
    if (now->rc == SQLITE_OK) {
        now->rc = problem->rc;
        now->text = problem->text;
        problem->text = NULL;
    }
    ctr_problem_close(problem);
}

void ctr_problem_raise_if(ctr_conn *conn, ctr_problem *problem, bool raises)
{
    if (raises)
        ctr_problem_raise(conn, problem);
    else
        ctr_problem_close(problem);
}

bool ctr_problem_rolls_back(int rc)
{
    rc &= 0xff;
    return rc == SQLITE_NOMEM || rc == SQLITE_IOERR || rc == SQLITE_FULL || rc == SQLITE_INTERRUPT;
}

const char *ctr_problem_text(const ctr_problem *problem)
{
    return problem->text ? problem->text : sqlite3_errstr(problem->rc);
}

void ctr_problem_close(ctr_problem *problem)
{
    ctr_problem_end(problem);
    sqlite3_free(problem->text);
    *problem = (ctr_problem){0};
}

/* ---- values ---------------------------------------------------------------------------------- */

enum { SHOWN_MAX = 40 };

/* These return false if there is no memory to read the value. */
static bool append_text(sqlite3_str *out, sqlite3_value *value)
{
    const char *text = (const char *)sqlite3_value_text(value);
    int size = sqlite3_value_bytes(value);
    if (!text) return false;
    int shown = ctr_utf8_cut((ctr_span){text, (size_t)size}, SHOWN_MAX);
    sqlite3_str_appendf(out, "'%.*q%s'", shown, text, shown < size ? "..." : "");
    return true;
}

static bool append_blob(sqlite3_str *out, sqlite3_value *value)
{
    const unsigned char *bytes = sqlite3_value_blob(value);
    int size = sqlite3_value_bytes(value);
    if (!bytes && size > 0) return false;
    sqlite3_str_appendall(out, "x'");
    ctr_text_append_hex(out, bytes, size < SHOWN_MAX / 2 ? size : SHOWN_MAX / 2);
    sqlite3_str_appendall(out, size > SHOWN_MAX / 2 ? "...'" : "'");
    return true;
}

/* Appends an SQL literal of about 40 characters at most. */
static bool append_literal(sqlite3_str *out, sqlite3_value *value)
{
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        sqlite3_str_appendf(out, "%lld", (long long)sqlite3_value_int64(value));
        return true;
    case SQLITE_FLOAT: sqlite3_str_appendf(out, "%!.15g", sqlite3_value_double(value)); return true;
    case SQLITE_TEXT: return append_text(out, value);
    case SQLITE_BLOB: return append_blob(out, value);
    default: sqlite3_str_appendall(out, "NULL"); return true;
    }
}

static char *finish_description(sqlite3_str *out, bool is_whole)
{
    char *text = sqlite3_str_finish(out);
    if (is_whole) return text;
    sqlite3_free(text);
    return NULL;
}

char *ctr_problem_describe_value(sqlite3_value *value)
{
    static const char *const TYPES[] = {"", "INTEGER ", "REAL ", "TEXT ", "BLOB ", ""};
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendall(out, TYPES[sqlite3_value_type(value)]);
    return finish_description(out, append_literal(out, value));
}

/* Copies the value, because that of a row must not be converted in place. */
bool ctr_problem_append_value(sqlite3_str *out, sqlite3_value *value)
{
    sqlite3_value *copy = sqlite3_value_dup(value);
    bool is_whole = copy && append_literal(out, copy);
    sqlite3_value_free(copy);
    return is_whole;
}

char *ctr_problem_describe_key(sqlite3_value **values, int n)
{
    bool is_whole = true;
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendchar(out, 1, '(');
    for (int i = 0; i < n; i++) {
        if (i) sqlite3_str_appendall(out, ", ");
        is_whole = is_whole && ctr_problem_append_value(out, values[i]);
    }
    sqlite3_str_appendchar(out, 1, ')');
    return finish_description(out, is_whole);
}

int ctr_problem_mismatch(ctr_conn *conn, const char *what, const char *wanted, sqlite3_value *value)
{
    char *shown = ctr_problem_describe_value(value);
    if (!shown) return ctr_problem_nomem(conn);
    ctr_problem_set(conn, SQLITE_MISMATCH, "%s must be %s, not %s", what, wanted, shown);
    sqlite3_free(shown);
    return ctr_rc(conn);
}

/* =================================================================================================
 * conn - joins transactions, spoils them, keeps statements. */

/* ---- statements that are kept ---------------------------------------------------------------- */

static void link_kept(ctr_conn *conn, ctr_kept *kept)
{
    kept->next = conn->kept;
    kept->link = &conn->kept;
    if (kept->next) kept->next->link = &kept->next;
    conn->kept = kept;
}

static void unlink_kept(const ctr_kept *kept)
{
    if (kept->link) *kept->link = kept->next;
    if (kept->link && kept->next) kept->next->link = kept->link;
}

void ctr_conn_list_first(ctr_conn *conn, ctr_kept *kept)
{
    unlink_kept(kept);
    link_kept(conn, kept);
}

/* With its last statement a virtual table is disconnected, which may close other statements. */
void ctr_conn_close_kept(ctr_kept *kept)
{
    sqlite3_stmt *statement = kept->statement;
    unlink_kept(kept);
    *kept = (ctr_kept){0};
    sqlite3_finalize(statement);
}

void ctr_conn_release_kept(ctr_conn *conn)
{
    for (ctr_kept *kept = conn->kept; kept;) {
        bool taken = kept->expired = kept->taken;
        if (!taken) ctr_conn_close_kept(kept);
        kept = taken ? kept->next : conn->kept;
    }
}

/* Preparing a statement creates counter_statements, and locks nothing. */
static void create_statements(ctr_conn *conn, ctr_run *run)
{
    if (!conn->has_statements) sqlite3_finalize(ctr_run_prepare(run, CTR_SQL_TRANSACTION_KEEP));
}

sqlite3_stmt *ctr_conn_keep(ctr_conn *conn, ctr_kept *kept, ctr_run *run, ctr_sql which)
{
    if (ctr_rc(run->conn) != SQLITE_OK) return NULL;
    if (kept->statement) return kept->statement;
    create_statements(conn, run);
    kept->statement = ctr_run_prepare(run, which);
    if (kept->statement) link_kept(conn, kept);
    return kept->statement;
}

sqlite3_stmt *ctr_conn_take(ctr_conn *conn, ctr_kept *kept, ctr_run *run, ctr_sql which)
{
    if (kept->taken) return ctr_run_prepare(run, which);
    sqlite3_stmt *statement = ctr_conn_keep(conn, kept, run, which);
    kept->taken = statement != NULL;
    return statement;
}

void ctr_conn_give_back(ctr_conn *conn, ctr_kept *kept, sqlite3_stmt *statement)
{
    if (statement != kept->statement) { /* NULL, too */
        sqlite3_finalize(statement);
        return;
    }
    if (ctr_rc(conn) != SQLITE_OK || kept->expired || !conn->has_statements) {
        ctr_conn_close_kept(kept);
        return;
    }
    kept->taken = false;
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

void ctr_conn_prepare(ctr_conn *conn)
{
    ctr_problem trouble;
    ctr_problem_try(conn, &trouble);
    ctr_run run = ctr_run_on(conn, NULL, NULL);
    create_statements(conn, &run);
    /* Including the schema change that follows. */
    ctr_problem_raise_if(conn, &trouble, ctr_problem_rolls_back(trouble.rc));
}

/* ---- life ------------------------------------------------------------------------------------ */

ctr_conn *ctr_conn_new(sqlite3 *db, ctr_conn_above above)
{
    ctr_conn *conn = sqlite3_malloc64(sizeof *conn);
    if (!conn) return NULL;
    *conn = (ctr_conn){.db = db, .above = above, .holders = 1};
    conn->own_errors.now = &conn->own_errors.none;
    conn->errors = &conn->own_errors;
    return conn;
}

ctr_conn *ctr_conn_hold(ctr_conn *conn)
{
    conn->holders++;
    return conn;
}

void ctr_conn_drop(void *holder)
{
    ctr_conn *conn = holder;
    if (--conn->holders > 0) return;
    conn->above.close_files(conn);
    ctr_conn_release_kept(conn);
    if (conn->fronts) conn->close_fronts(conn->fronts);
    if (conn->brought) conn->close_brought(conn->brought);
    sqlite3_free(conn->missing.key);
    ctr_text_release(conn, NULL);
    sqlite3_free(conn);
}

/* ---- joining --------------------------------------------------------------------------------- */

enum { NAME_SIZE = 32 };

static const char *name_witness(const ctr_conn *conn, char name[NAME_SIZE])
{
    const char *format = conn->witnesses == 0 ? "counter_witness" : "counter_witness_%d";
    return sqlite3_snprintf(NAME_SIZE, name, format, conn->witnesses);
}

/* Registers a new witness table for a deserialized database: sqlite3_deserialize() frees the schema
 * of main without disconnecting eponymous tables, and preparing a write to one again would crash.
 * From then on main uses the VFS "memdb", where each new schema may be that of another file.
 *
 * It needs a new name: when a module is replaced, SQLite frees its table and with it all prepared
 * statements, including the running one. A module stays as long as the connection: about 800 bytes
 * for each schema of such a file. */
static void renew_witness(ctr_conn *conn)
{
    bool is_new = !conn->is_memory;
    sqlite3_vfs *vfs = NULL;
    ctr_run_ask_file(conn->db, "main", SQLITE_FCNTL_VFS_POINTER, &vfs);
    conn->is_memory = vfs && strcmp(vfs->zName, "memdb") == 0;
    if (!conn->is_memory || ctr_rc(conn) != SQLITE_OK) return;
    bool had = conn->schema.statement != NULL;
    ctr_run run = ctr_run_on(conn, "main", NULL);
    sqlite3_stmt *schema = ctr_conn_take(conn, &conn->schema, &run, CTR_SQL_TRANSACTION_SCHEMA);
    if (!schema) return;
    ctr_run_row(&run, schema);
    if (!had || sqlite3_stmt_status(schema, SQLITE_STMTSTATUS_REPREPARE, 1) > 0) is_new = true;
    ctr_conn_give_back(conn, &conn->schema, schema);
    if (!conn->witness_used || !is_new) return;
    ctr_conn_close_kept(&conn->join);
    char name[NAME_SIZE];
    conn->witnesses++;
    int rc = conn->above.renew_witness(conn, name_witness(conn, name));
    ctr_problem_sqlite(conn, rc);
}

bool ctr_conn_enter(ctr_conn *conn)
{
    if (ctr_rc(conn) != SQLITE_OK) return false;
    ctr_conn_end_round(conn);
    if (conn->busy)
        ctr_problem_set(conn, SQLITE_ERROR, "a trigger on counter_replica tries to count");
    else
        conn->busy = true;
    return ctr_rc(conn) == SQLITE_OK;
}

int ctr_conn_leave(ctr_conn *conn)
{
    conn->busy = false;
    return ctr_rc(conn);
}

bool ctr_conn_join(ctr_conn *conn)
{
    if (!ctr_conn_enter(conn)) return false;
    char name[NAME_SIZE];
    renew_witness(conn);
    conn->witness_used = true;
    ctr_run run = ctr_run_on(conn, "main", name_witness(conn, name));
    sqlite3_stmt *join = ctr_conn_take(conn, &conn->join, &run, CTR_SQL_TRANSACTION_JOIN);
    ctr_run_row(&run, join);
    ctr_conn_give_back(conn, &conn->join, join);
    return ctr_conn_leave(conn) == SQLITE_OK && conn->joined;
}

bool ctr_conn_require_join(ctr_conn *conn)
{
    bool joined = ctr_conn_join(conn);
    if (!joined)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "a table in main has the name counter_witness, which is reserved");
    return joined;
}

/* ---- failures half-way ----------------------------------------------------------------------- */

void ctr_conn_spoil(ctr_conn *conn, unsigned nth)
{
    if (conn->ended != nth) return;
    if (!conn->spoiled) conn->spoiled_depth = conn->depth;
    conn->spoiled = true;
}

/* =================================================================================================
 * shared - registers functions; refuses names of modules under another schema. */

int ctr_shared_functions(sqlite3 *db, ctr_conn *conn, const ctr_function *functions, size_t n)
{
    int rc = SQLITE_OK;
    for (const ctr_function *made = functions; made < functions + n; made++)
        for (int argc = made->least; argc <= made->most && rc == SQLITE_OK; argc++)
            rc = sqlite3_create_function_v2(db, made->name, argc, made->flags, ctr_conn_hold(conn),
                                            made->call, NULL, NULL, ctr_conn_drop);
    return rc;
}

/* ---- names with another schema --------------------------------------------------------------- */

/* Returns the schema other than main under which `sql` names `name`, or NULL; the caller frees it
 * with sqlite3_free. */
static char *other_schema(ctr_conn *conn, const char *sql, const char *name)
{
    ctr_words words = {.at = sql};
    for (ctr_word_next(&words); words.kind != CTR_WORD_END;) {
        const ctr_words first = words;
        ctr_word_next(&words);
        if (!ctr_word_at_name(&first) || !ctr_word_at_mark(&words, '.')) continue;
        ctr_word_next(&words);
        if (!ctr_word_at_name(&words) || !ctr_word_names(words.word, name)) continue;
        char *schema = ctr_text_unquoted(conn, first.word);
        bool is_other = schema && sqlite3_stricmp(schema, "main") != 0 &&
                        ctr_run_has_schema(conn->db, schema); /* else it may be a table */
        if (is_other) return schema;
        sqlite3_free(schema);
    }
    return NULL;
}

void ctr_shared_check_name(ctr_conn *conn, const char *name)
{
    sqlite3_stmt *statement = NULL;
    while ((statement = sqlite3_next_stmt(conn->db, statement))) {
        const char *sql = sqlite3_stmt_busy(statement) ? sqlite3_sql(statement) : NULL;
        char *schema = sql ? other_schema(conn, sql, name) : NULL;
        if (schema)
            ctr_problem_set(conn, SQLITE_ERROR,
                            "it belongs to main and cannot be named under the schema %s: open "
                            "that file as main",
                            schema);
        sqlite3_free(schema);
    }
}
