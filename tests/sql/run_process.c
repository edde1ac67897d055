/* run_process.c - runs the scripts of this folder in process: run_process [-c case] file.sql ...
 *
 *     -- # name            starts a case: an empty working directory, a new main.db, the extension
 *     SELECT 1, NULL;      a statement; it ends with the line on which sqlite3_complete() says so
 *     --= 1|NULL           a row that it gives, in order
 *     --~ [0-9]|N*         a row that matches this GLOB pattern
 *     --! message          the error that it ends with
 *     --!~ glob            an error that matches this GLOB pattern
 *     --@ directive        reopen, readonly, connection NAME, defensive on|off, trusted-schema
 * on|off; directly under the name: shell-only, process-only
 *     -- anything else     a comment
 *
 * A statement gives exactly the rows and the error that are written below it. After each case all
 * of its connections must close with SQLITE_OK, and SQLite must use as much memory as before.
 */
#define _XOPEN_SOURCE 700

#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sanitizer/common_interface_defs.h>
#include <sqlite3.h>
#include "counter.h"

enum { CONNECTIONS = 8 };

typedef struct connection {
    char name[32];
    sqlite3 *db;
} connection;

/* What the last statement gave and no line has asked for yet. */
typedef struct outcome {
    char *rows;  /* lines, from open_memstream; NULL if there was no statement */
    char *next;  /* the first line that is left; NULL if none is */
    char *error; /* NULL if none */
    int line;
} outcome;

static const char *file;
static int line;
static char case_name[200];
static bool in_case, skipped, failed;
static int cases_passed, cases_failed;

static connection connections[CONNECTIONS];
static connection *current;
static outcome last;

static FILE *statement; /* the statement being read; NULL between statements */
static char *statement_text;
static size_t statement_size;
static int statement_line;

static char folder[32]; /* of the case */
static int home;        /* descriptor of the working directory at the start */
static sqlite3_int64 memory_before;

static void fail(int at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("%s:%d: %s: ", file, at, case_name);
    vprintf(format, args);
    printf("\n");
    va_end(args);
    failed = true;
}

static void say_where(void)
{
    fprintf(stderr, "%s:%d: died in %s\n", file, line, case_name);
}

/* ---- connections ---- */

static void open_database(int flags)
{
    int rc = sqlite3_open_v2("main.db", &current->db, flags, NULL);
    if (rc == SQLITE_OK) {
        char *message = NULL;
        rc = sqlite3_counter_init(current->db, &message, NULL);
        if (rc != SQLITE_OK)
            fail(line, "the extension: %s", message ? message : sqlite3_errstr(rc));
        sqlite3_free(message);
    } else {
        fail(line, "main.db: %s", sqlite3_errmsg(current->db));
    }
}

static void close_database(connection *c)
{
    if (sqlite3_close(c->db) != SQLITE_OK) {
        fail(line, "close: %s", sqlite3_errmsg(c->db));
        sqlite3_stmt *left;
        while ((left = sqlite3_next_stmt(c->db, NULL)) != NULL) {
            fail(line, "a statement was left: %s", sqlite3_sql(left));
            sqlite3_finalize(left);
        }
        sqlite3_close_v2(c->db);
    }
    c->db = NULL;
}

static void use_connection(const char *name)
{
    for (current = connections; current < connections + CONNECTIONS; current++) {
        if (current->db && strcmp(current->name, name) == 0) return;
        if (current->db) continue;
        snprintf(current->name, sizeof current->name, "%s", name);
        open_database(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
        return;
    }
    fprintf(stderr, "%s:%d: too many connections\n", file, line);
    exit(2);
}

/* ---- statements and what they give ---- */

/* Takes the next of the rows that are left; lent until the next statement. */
static const char *next_row(void)
{
    char *row = last.next;
    char *end = strchr(row, '\n');
    *end = 0;
    last.next = end[1] ? end + 1 : NULL;
    return row;
}

static void check_nothing_left(void)
{
    while (last.next) fail(last.line, "unexpected row '%s'", next_row());
    if (last.error) fail(last.line, "unexpected error '%s'", last.error);
    free(last.rows);
    free(last.error);
    last = (outcome){0};
}

static void write_row(FILE *out, sqlite3_stmt *stmt)
{
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
        const char *text = (const char *)sqlite3_column_text(stmt, i);
        fprintf(out, "%s%s", i ? "|" : "", text ? text : "NULL");
    }
    fputc('\n', out);
}

static void run_statement(const char *sql)
{
    sqlite3 *db = current->db;
    size_t size;
    FILE *out = open_memstream(&last.rows, &size);
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && *sql) {
        sqlite3_stmt *stmt;
        rc = sqlite3_prepare_v2(db, sql, -1, &stmt, &sql);
        if (rc != SQLITE_OK || !stmt) break;
        while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) write_row(out, stmt);
        if (rc == SQLITE_DONE) rc = SQLITE_OK;
        if (rc != SQLITE_OK) last.error = strdup(sqlite3_errmsg(db));
        sqlite3_finalize(stmt);
    }
    if (rc != SQLITE_OK && !last.error) last.error = strdup(sqlite3_errmsg(db));
    fclose(out);
    last.next = size ? last.rows : NULL;
    last.line = statement_line;
}

static void add_to_statement(const char *text)
{
    if (!statement) {
        check_nothing_left();
        statement = open_memstream(&statement_text, &statement_size);
        statement_line = line;
    }
    fprintf(statement, "%s\n", text);
    fflush(statement);
    size_t n = strlen(text);
    if (n == 0 || text[n - 1] != ';' || !sqlite3_complete(statement_text)) return;

    fclose(statement);
    statement = NULL;
    run_statement(statement_text);
    free(statement_text);
}

static bool matches(const char *expected, bool is_glob, const char *got)
{
    return is_glob ? sqlite3_strglob(expected, got) == 0 : strcmp(expected, got) == 0;
}

static void expect_row(const char *expected, bool is_glob)
{
    if (!last.next) {
        fail(line, "expected row '%s', got no row", expected);
        return;
    }
    const char *got = next_row();
    if (!matches(expected, is_glob, got)) fail(line, "expected row '%s', got '%s'", expected, got);
}

static void expect_error(const char *expected, bool is_glob)
{
    if (!last.error)
        fail(line, "expected error '%s', got none", expected);
    else if (!matches(expected, is_glob, last.error))
        fail(line, "expected error '%s', got '%s'", expected, last.error);
    free(last.error);
    last.error = NULL;
}

/* ---- cases ---- */

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(path);
}

static void leave_folder(void)
{
    for (int i = 0; i < CONNECTIONS; i++) {
        if (connections[i].db) close_database(&connections[i]);
    }
    if (fchdir(home) != 0 || nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
        perror(folder);
}

static void case_end(void)
{
    if (statement) {
        fail(statement_line, "statement without an end");
        fclose(statement);
        free(statement_text);
        statement = NULL;
    }
    if (!in_case || skipped) return;

    check_nothing_left();
    leave_folder();
    sqlite3_int64 lost = sqlite3_memory_used() - memory_before;
    if (lost != 0) fail(line, "%lld bytes of memory are still in use", (long long)lost);
    if (failed)
        cases_failed++;
    else
        cases_passed++;
}

static void case_start(const char *name, const char *wanted)
{
    case_end();
    snprintf(case_name, sizeof case_name, "%s", name);
    in_case = true;
    failed = false;
    skipped = wanted && strcmp(wanted, name) != 0;
    if (skipped) return;

    strcpy(folder, "/tmp/counter-XXXXXX");
    if (!mkdtemp(folder) || chdir(folder) != 0) {
        perror(folder);
        exit(2);
    }
    memory_before = sqlite3_memory_used();
    use_connection("main");
}

/* The text behind `prefix` and one space, NULL if the line does not begin so. */
static char *after(char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    if (strncmp(text, prefix, n) != 0) return NULL;
    if (text[n] == 0) return text + n;
    return text[n] == ' ' ? text + n + 1 : NULL;
}

static void run_directive(char *text)
{
    char *value;
    if ((value = after(text, "connection"))) {
        use_connection(value);
    } else if ((value = after(text, "defensive"))) {
        sqlite3_db_config(current->db, SQLITE_DBCONFIG_DEFENSIVE, strcmp(value, "on") == 0, NULL);
    } else if ((value = after(text, "trusted-schema"))) {
        sqlite3_db_config(current->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, strcmp(value, "on") == 0,
                          NULL);
    } else if (strcmp(text, "reopen") == 0) {
        close_database(current);
        open_database(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    } else if (strcmp(text, "readonly") == 0) {
        close_database(current);
        open_database(SQLITE_OPEN_READONLY);
    } else if (strcmp(text, "process-only") != 0) {
        fail(line, "unknown directive '%s'", text);
    }
}

static bool skip_for_shell(const char *text)
{
    if (strcmp(text, "--@ shell-only") != 0) return false;
    leave_folder();
    skipped = true;
    return true;
}

static void run_line(char *text, const char *wanted)
{
    char *rest;
    if ((rest = after(text, "-- #"))) {
        case_start(rest, wanted);
    } else if (skipped || (!statement && (*text == 0 || after(text, "--")))) {
        return;
    } else if (!in_case) {
        fail(line, "a line outside of any case");
        cases_failed++;
        skipped = true;
    } else if (strncmp(text, "--=", 3) && strncmp(text, "--~", 3) && strncmp(text, "--!", 3) &&
               strncmp(text, "--@", 3)) {
        add_to_statement(text);
    } else if (statement) {
        fail(line, "the statement before has no end");
    } else if (text[2] == '@') {
        check_nothing_left();
        rest = after(text, "--@");
        if (!skip_for_shell(text)) run_directive(rest ? rest : text);
    } else if (!last.rows) {
        fail(line, "no statement before");
    } else if ((rest = after(text, "--=")) || (rest = after(text, "--~"))) {
        expect_row(rest, text[2] == '~');
    } else if ((rest = after(text, "--!")) || (rest = after(text, "--!~"))) {
        expect_error(rest, text[3] == '~');
    } else {
        fail(line, "not understood: %s", text);
    }
}

static void run_file(const char *path, const char *wanted)
{
    FILE *in = fopen(path, "r");
    if (!in) {
        perror(path);
        exit(2);
    }
    file = path;
    line = 0;
    in_case = skipped = false;
    *case_name = 0;
    char *text = NULL;
    size_t room = 0;
    ssize_t n;
    while ((n = getline(&text, &room, in)) >= 0) {
        line++;
        if (n > 0 && text[n - 1] == '\n') text[n - 1] = 0;
        run_line(text, wanted);
    }
    case_end();
    free(text);
    fclose(in);
}

/* What SQLite allocates once for the whole process must not count as lost by the first case. */
static void warm_up(void)
{
    sqlite3 *db;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK) exit(2);
    sqlite3_close(db);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    __sanitizer_set_death_callback(say_where);
    warm_up();
    const char *wanted = NULL;
    home = open(".", O_RDONLY);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-c") == 0 && i + 1 < argc)
            wanted = argv[++i];
        else
            run_file(argv[i], wanted);
    }
    printf("%d passed, %d failed\n", cases_passed, cases_failed);
    return cases_failed > 0 || cases_passed == 0;
}
