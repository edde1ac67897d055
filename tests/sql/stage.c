/* stage.c - a folder, its connections, and what they must leave behind. */
#define _XOPEN_SOURCE 700

#include "stage.h"

#include <assert.h>
#include <stdarg.h>

#include "counter.h"
#include "system.h"

enum { CONNECTIONS = 8, BEGINNINGS = 2 };

typedef struct connection {
    char name[32];
    sqlite3 *db;
} connection;

static const char *file, *case_name;
static bool failed;
static const char *beginnings[BEGINNINGS];
static int n_beginnings;
static connection connections[CONNECTIONS];
static connection *current;
static char folder[512], home[4096]; /* of a case; the working directory at the start */
static sqlite3_int64 memory_before;

void stage_fail(int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("%s:%d: %s: ", file, line, case_name);
    vprintf(format, args);
    printf("\n");
    va_end(args);
    failed = true;
}

void stage_begin_with(const char *sql)
{
    assert(n_beginnings < BEGINNINGS);
    beginnings[n_beginnings++] = sql;
}

bool stage_failed(void)
{
    return failed;
}

/* ---- connections ---- */

static void open_database(int line, int flags)
{
    int rc = sqlite3_open_v2("main.db", &current->db, flags, NULL);
    if (rc == SQLITE_OK) {
        char *message = NULL;
        rc = sqlite3_counter_init(current->db, &message, NULL);
        if (rc != SQLITE_OK)
            stage_fail(line, "the extension: %s", message ? message : sqlite3_errstr(rc));
        sqlite3_free(message);
    } else {
        stage_fail(line, "main.db: %s", sqlite3_errmsg(current->db));
    }
}

static void close_database(connection *c)
{
    if (sqlite3_close(c->db) != SQLITE_OK) {
        stage_fail(0, "close: %s", sqlite3_errmsg(c->db));
        sqlite3_stmt *left;
        while ((left = sqlite3_next_stmt(c->db, NULL)) != NULL) {
            stage_fail(0, "a statement was left: %s", sqlite3_sql(left));
            sqlite3_finalize(left);
        }
        sqlite3_close_v2(c->db);
    }
    c->db = NULL;
}

static void use_connection(int line, const char *name)
{
    for (current = connections; current < connections + CONNECTIONS; current++) {
        if (current->db && strcmp(current->name, name) == 0) return;
        if (current->db) continue;
        snprintf(current->name, sizeof current->name, "%s", name);
        open_database(line, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
        for (int i = 0; i < n_beginnings; i++)
            sqlite3_exec(current->db, beginnings[i], NULL, NULL, NULL);
        return;
    }
    fprintf(stderr, "%s:%d: too many connections\n", file, line);
    exit(2);
}

sqlite3 *stage_db(void)
{
    return current->db;
}

sqlite3 *stage_nth_db(int n)
{
    return n < CONNECTIONS ? connections[n].db : NULL;
}

void stage_close_connections(void)
{
    for (int i = 0; i < CONNECTIONS; i++) {
        if (connections[i].db) close_database(&connections[i]);
    }
}

/* ---- a case ---- */

void stage_warm_up(void)
{
    sqlite3 *db;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK) exit(2);
    sqlite3_close(db);
}

void stage_open(const char *script, const char *name)
{
    if (!*home && !getcwd(home, sizeof home)) exit(2);
    file = script;
    case_name = name;
    failed = false;
    if (!system_make_folder(folder) || chdir(folder) != 0) {
        perror(folder);
        exit(2);
    }
    memory_before = sqlite3_memory_used();
    use_connection(0, "main");
}

void stage_close(void)
{
    stage_close_connections();
    if (chdir(home) != 0 || system_remove_folder(folder) != 0) perror(folder);
    sqlite3_int64 lost = sqlite3_memory_used() - memory_before;
    if (lost != 0) stage_fail(0, "%lld bytes of memory are still in use", (long long)lost);
}

/* The word behind the first one of a directive. */
static const char *argument(const char *directive, const char *word)
{
    size_t n = strlen(word);
    return strncmp(directive, word, n) == 0 && directive[n] == ' ' ? directive + n + 1 : NULL;
}

void stage_direct(const script_step *directive)
{
    const char *text = directive->text, *value;
    if ((value = argument(text, "connection"))) {
        use_connection(directive->line, value);
    } else if ((value = argument(text, "defensive"))) {
        sqlite3_db_config(current->db, SQLITE_DBCONFIG_DEFENSIVE, strcmp(value, "on") == 0, NULL);
    } else if ((value = argument(text, "trusted-schema"))) {
        sqlite3_db_config(current->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, strcmp(value, "on") == 0,
                          NULL);
    } else if ((value = argument(text, "columns"))) {
        sqlite3_limit(current->db, SQLITE_LIMIT_COLUMN, atoi(value));
    } else if ((value = argument(text, "directory"))) {
        if (!system_make_directory(value, COUNTER_FOLDER_MARKER) ||
            sqlite3_counter_folders_init(current->db, NULL, NULL) != SQLITE_OK)
            stage_fail(directive->line, "%s cannot be made", value);
    } else if (strcmp(text, "reopen") == 0) {
        close_database(current);
        open_database(directive->line, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    } else if (strcmp(text, "readonly") == 0) {
        close_database(current);
        open_database(directive->line, SQLITE_OPEN_READONLY);
    } else {
        stage_fail(directive->line, "unknown directive '%s'", text);
    }
}

/* ---- statements and what they give ---- */

/* Integers are not made texts by SQLite, which needs memory for that: a fault then would be
 * ours. */
static void write_value(system_text *out, sqlite3_stmt *stmt, int i)
{
    char number[32];
    if (sqlite3_column_type(stmt, i) == SQLITE_INTEGER) {
        snprintf(number, sizeof number, "%lld", (long long)sqlite3_column_int64(stmt, i));
        system_append(out, number);
        return;
    }
    const char *text = (const char *)sqlite3_column_text(stmt, i);
    system_append(out, text ? text : "NULL");
}

static void write_row(system_text *out, sqlite3_stmt *stmt)
{
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
        if (i) system_append(out, "|");
        write_value(out, stmt, i);
    }
    system_append(out, "\n");
}

void stage_run(const char *sql, stage_outcome *outcome)
{
    sqlite3 *db = current->db;
    system_text out = {0};
    *outcome = (stage_outcome){0};
    system_append(&out, "");
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && *sql) {
        sqlite3_stmt *stmt;
        rc = sqlite3_prepare_v2(db, sql, -1, &stmt, &sql);
        if (rc != SQLITE_OK || !stmt) break;
        while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) write_row(&out, stmt);
        rc = sqlite3_finalize(stmt);
        sql += strspn(sql, " \n");
    }
    if (rc != SQLITE_OK) {
        outcome->error = strdup(sqlite3_errmsg(db));
        outcome->rc = sqlite3_extended_errcode(db);
    }
    outcome->rows = out.bytes;
}

void stage_forget(stage_outcome *outcome)
{
    free(outcome->rows);
    free(outcome->error);
    *outcome = (stage_outcome){0};
}

static bool matches(const script_answer *expected, const char *got)
{
    return expected->is_glob ? sqlite3_strglob(expected->text, got) == 0
                             : strcmp(expected->text, got) == 0;
}

/* Cuts the first line off; NULL if there is none. */
static char *cut_line(char **rows)
{
    char *row = *rows;
    if (!*row) return NULL;
    char *end = strchr(row, '\n');
    *end = 0;
    *rows = end + 1;
    return row;
}

/* Does one answer hold? `row` and `error` are what is left of the outcome. */
static bool check_answer(const script_answer *expected, char **rows, const char **error, bool says)
{
    const char *kind = expected->is_error ? "error" : "row";
    const char *got = expected->is_error ? *error : cut_line(rows);
    if (expected->is_error) *error = NULL;
    if (got && matches(expected, got)) return true;
    if (says && got)
        stage_fail(expected->line, "expected %s '%s', got '%s'", kind, expected->text, got);
    else if (says)
        stage_fail(expected->line, "expected %s '%s', got none", kind, expected->text);
    return false;
}

bool stage_check(const script_step *step, const stage_outcome *outcome, bool says)
{
    char *all = strdup(outcome->rows), *rows = all, *row;
    const char *error = outcome->error;
    bool holds = true;
    for (size_t i = 0; i < step->n; i++)
        holds &= check_answer(&step->answers[i], &rows, &error, says);
    while ((row = cut_line(&rows))) {
        if (says) stage_fail(step->line, "unexpected row '%s'", row);
        holds = false;
    }
    if (error && says) stage_fail(step->line, "unexpected error '%s'", error);
    free(all);
    return holds && !error;
}
