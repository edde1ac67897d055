/* vtab/shared.c - registers functions; refuses names of modules under another schema. */
#include "vtab/shared.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "sqlite/run.h"
#include "sqlite/text.h"
#include "vtab/joined.h"

int ctr_shared_functions(sqlite3 *db, ctr_conn *conn, const ctr_function *functions, size_t n)
{
    int rc = SQLITE_OK;
    for (const ctr_function *made = functions; made < functions + n; made++)
        for (int argc = made->least; argc <= made->most && rc == SQLITE_OK; argc++)
            rc = sqlite3_create_function_v2(db, made->name, argc, made->flags,
                                            conn ? ctr_conn_hold(conn) : NULL, made->call, NULL,
                                            NULL, conn ? ctr_conn_drop : NULL);
    return rc;
}

/* ---- names with another schema --------------------------------------------------------------- */

/* A word of SQL: a name, quoted or not, or one character of something else. */
typedef struct word {
    const char *text;
    size_t size;
    bool is_name;
} word;

static bool is_name_character(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static const char *next_word(const char *at, word *next)
{
    at = ctr_text_behind_blanks(at);
    const char *from = at;
    if (*at == '"' || *at == '`' || *at == '[' || *at == '\'') {
        at = ctr_text_behind(at);
        *next = (word){from + 1, (size_t)(at - from), true};
        next->size = next->size >= 2 ? next->size - 2 : 0;
    } else if (is_name_character(*at)) {
        while (is_name_character(*at)) at++;
        *next = (word){from, (size_t)(at - from), true};
    } else {
        if (*at) at++;
        *next = (word){from, (size_t)(at - from), false};
    }
    return at;
}

static bool says(const word *candidate, const char *text)
{
    size_t size = strlen(text);
    return candidate->size == size && sqlite3_strnicmp(candidate->text, text, (int)size) == 0;
}

/* Returns whether `sql` names `name` in another schema than main, and sets that schema. */
static bool names_other_schema(sqlite3 *db, const char *sql, const char *name, word *schema,
                               ctr_problem *problem)
{
    word words[3] = {{0}};
    while (*sql) {
        words[0] = words[1];
        words[1] = words[2];
        sql = next_word(sql, &words[2]);
        if (!words[0].is_name || !says(&words[1], ".") || !words[2].is_name) continue;
        if (!says(&words[2], name) || says(&words[0], "main")) continue;
        char *text = sqlite3_mprintf("%.*s", (int)words[0].size, words[0].text);
        if (!text) ctr_problem_nomem(problem);
        bool is_schema = text && ctr_run_has_schema(db, text); /* else it may be a table */
        sqlite3_free(text);
        if (!is_schema) continue;
        *schema = words[0];
        return true;
    }
    return false;
}

int ctr_shared_check_name(sqlite3 *db, const char *name, ctr_problem *problem)
{
    sqlite3_stmt *statement = NULL;
    while ((statement = sqlite3_next_stmt(db, statement))) {
        const char *sql = sqlite3_stmt_busy(statement) ? sqlite3_sql(statement) : NULL;
        word schema;
        if (sql && names_other_schema(db, sql, name, &schema, problem))
            ctr_problem_set(problem, SQLITE_ERROR,
                            "it belongs to main and cannot be named under the schema %.*s: open "
                            "that file as main",
                            (int)schema.size, schema.text);
    }
    return problem->rc;
}
