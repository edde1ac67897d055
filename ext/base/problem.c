/* base/problem.c - the first error of a sequence, its text, and values in the text. */
#include "base/base.h"

#include <stdarg.h>
#include <string.h>

int ctr_problem_set(ctr_problem *problem, int rc, const char *format, ...)
{
    if (problem->rc != SQLITE_OK) return problem->rc;
    va_list args;
    va_start(args, format);
    problem->text = sqlite3_vmprintf(format, args);
    va_end(args);
    problem->rc = problem->text ? rc : SQLITE_NOMEM;
    return problem->rc;
}

int ctr_problem_sqlite(ctr_problem *problem, sqlite3 *db, int rc)
{
    if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE) return problem->rc;
    if (rc == SQLITE_NOMEM) return ctr_problem_nomem(problem);
    return ctr_problem_set(problem, rc, "%s", sqlite3_errmsg(db));
}

int ctr_problem_nomem(ctr_problem *problem)
{
    if (problem->rc == SQLITE_OK) problem->rc = SQLITE_NOMEM;
    return problem->rc;
}

void ctr_problem_where(ctr_problem *problem, const char *format, ...)
{
    if (problem->rc == SQLITE_OK || problem->rc == SQLITE_NOMEM) return;
    va_list args;
    va_start(args, format);
    char *where = sqlite3_vmprintf(format, args);
    va_end(args);
    const char *what = ctr_problem_text(problem);
    size_t n = where ? strlen(where) : 0;
    bool is_said = where && strncmp(what, where, n) == 0 && what[n] == ':'; /* as in a trigger */
    char *text = where && !is_said ? sqlite3_mprintf("%s: %s", where, what) : NULL;
    sqlite3_free(where);
    if (is_said) return;
    sqlite3_free(problem->text);
    problem->text = text;
    if (!text) problem->rc = SQLITE_NOMEM;
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
    sqlite3_free(problem->text);
    *problem = (ctr_problem){SQLITE_OK, NULL};
}

/* ---- values ---------------------------------------------------------------------------------- */

enum { SHOWN_MAX = 40 };

/* The longest beginning of at most SHOWN_MAX bytes that does not cut a UTF-8 character. */
static int shown_length(const char *text, int size)
{
    if (size <= SHOWN_MAX) return size;
    int n = SHOWN_MAX;
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) n--;
    return n;
}

/* These return false if there is no memory to read the value. */
static bool append_text(sqlite3_str *out, sqlite3_value *value)
{
    const char *text = (const char *)sqlite3_value_text(value);
    int size = sqlite3_value_bytes(value);
    if (!text) return false;
    int shown = shown_length(text, size);
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

/* Copies the values, because those of a row must not be converted in place. */
char *ctr_problem_describe_key(sqlite3_value **values, int n)
{
    bool is_whole = true;
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendchar(out, 1, '(');
    for (int i = 0; i < n; i++) {
        sqlite3_value *value = sqlite3_value_dup(values[i]);
        if (i) sqlite3_str_appendall(out, ", ");
        is_whole = is_whole && value && append_literal(out, value);
        sqlite3_value_free(value);
    }
    sqlite3_str_appendchar(out, 1, ')');
    return finish_description(out, is_whole);
}

int ctr_problem_mismatch(ctr_problem *problem, const char *what, const char *wanted,
                         sqlite3_value *value)
{
    char *shown = ctr_problem_describe_value(value);
    if (!shown) return ctr_problem_nomem(problem);
    ctr_problem_set(problem, SQLITE_MISMATCH, "%s must be %s, not %s", what, wanted, shown);
    sqlite3_free(shown);
    return problem->rc;
}
