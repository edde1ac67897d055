/* base/shared.c - registers functions; refuses names of modules under another schema. */
#include "base/base.h"

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

/* Returns the schema other than main under which `sql` names `name`, or NULL; the caller frees it
 * with sqlite3_free. */
static char *other_schema(sqlite3 *db, const char *sql, const char *name, ctr_problem *problem)
{
    ctr_words words = {.at = sql};
    for (ctr_word_next(&words); words.kind != CTR_WORD_END;) {
        const ctr_words first = words;
        ctr_word_next(&words);
        if (!ctr_word_at_name(&first) || !ctr_word_at_mark(&words, '.')) continue;
        ctr_word_next(&words);
        if (!ctr_word_at_name(&words) || !ctr_word_names(words.word, name)) continue;
        char *schema = ctr_text_unquoted(first.word, problem);
        bool is_other = schema && sqlite3_stricmp(schema, "main") != 0 &&
                        ctr_run_has_schema(db, schema); /* else it may be a table */
        if (is_other) return schema;
        sqlite3_free(schema);
    }
    return NULL;
}

int ctr_shared_check_name(sqlite3 *db, const char *name, ctr_problem *problem)
{
    sqlite3_stmt *statement = NULL;
    while ((statement = sqlite3_next_stmt(db, statement))) {
        const char *sql = sqlite3_stmt_busy(statement) ? sqlite3_sql(statement) : NULL;
        char *schema = sql ? other_schema(db, sql, name, problem) : NULL;
        if (schema)
            ctr_problem_set(problem, SQLITE_ERROR,
                            "it belongs to main and cannot be named under the schema %s: open "
                            "that file as main",
                            schema);
        sqlite3_free(schema);
    }
    return problem->rc;
}
