/* sync/scope.c - takes scopes. */
#include "sync/scope.h"

#include <string.h>

#include "sqlite/args.h"
#include "sqlite/run.h"
#include "sqlite/text.h"
#include "table/key_json.h"

/* Makes the values of a checked key. */
static void make_values(ctr_scope *scope, sqlite3 *db, const ctr_packed *key, ctr_problem *problem)
{
    sqlite3_value *lent[CTR_STREAM_KEYS];
    sqlite3_str *list = sqlite3_str_new(NULL);
    for (int i = 1; i <= scope->n; i++) sqlite3_str_appendf(list, "%s?%d", i > 1 ? ", " : "", i);
    char *values = ctr_text_finish(list, problem);
    ctr_run run = ctr_run_on(db, "main", NULL, problem);
    run.slots.values = values;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_ROWS_OF_PARAMETERS);
    if (row) ctr_problem_sqlite(problem, db, ctr_pack_bind(row, key->bytes, key->size));
    if (ctr_run_row(&run, row)) {
        for (int i = 0; i < scope->n; i++) lent[i] = sqlite3_column_value(row, i);
        scope->values = ctr_arg_copies(lent, scope->n, problem);
    }
    sqlite3_finalize(row);
    sqlite3_free(values);
}

/* Reads the key that was given, in either way. Returns false if it is none, or on a problem. */
static bool read_given(ctr_scope *scope, sqlite3 *db, sqlite3_value *given, ctr_packed *key,
                        ctr_problem *problem)
{
    if (sqlite3_value_type(given) == SQLITE_BLOB) {
        const uint8_t *bytes = sqlite3_value_blob(given);
        size_t size = bytes ? (size_t)sqlite3_value_bytes(given) : 0;
        uint8_t *out = ctr_pack_room(key, size + 1, problem);
        if (!out || !bytes || ctr_key_check(bytes, size, false, &scope->n) != CTR_OK) return false;
        memcpy(out, bytes, size);
        key->size = size;
        return true;
    }
    const char *json = ctr_text_value(given, problem);
    return json && ctr_key_json_read(key, &scope->n, db, json, problem);
}

int ctr_scope_open(ctr_scope *scope, sqlite3 *db, sqlite3_value *given, ctr_problem *problem)
{
    ctr_packed key = {NULL, 0, 0};
    *scope = (ctr_scope){0};
    if (problem->rc != SQLITE_OK) return problem->rc;
    bool is_key = read_given(scope, db, given, &key, problem) && scope->n <= CTR_STREAM_KEYS;
    if (!is_key && problem->rc == SQLITE_OK)
        ctr_problem_mismatch(problem, "scope",
                             "a JSON array of the first values of a key, such as '[\"store 7\"]'",
                             given);
    if (is_key) make_values(scope, db, &key, problem);
    if (is_key) scope->text = ctr_key_json_write(key.bytes, key.size);
    if (is_key && !scope->text) ctr_problem_nomem(problem);
    sqlite3_free(key.bytes);
    return problem->rc;
}

void ctr_scope_close(ctr_scope *scope)
{
    if (scope->values) ctr_arg_free(scope->values, scope->n);
    sqlite3_free(scope->text);
    *scope = (ctr_scope){0};
}
