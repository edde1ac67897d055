/* merge/scope.c - takes scopes. */
#include "merge/merge.h"

#include <string.h>

/* Returns a statement that makes a row of n parameters. */
static sqlite3_stmt *prepare_values(sqlite3 *db, int n, ctr_problem *problem)
{
    sqlite3_str *list = sqlite3_str_new(NULL);
    for (int i = 1; i <= n; i++) sqlite3_str_appendf(list, "%s?%d", i > 1 ? ", " : "", i);
    char *values = ctr_text_finish(list, problem);
    ctr_run run = ctr_run_on(db, "main", NULL, problem);
    run.slots.values = values;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_ROWS_OF_PARAMETERS);
    sqlite3_free(values);
    return row;
}

/* Steps to the row. Sets `lent` to its n values. */
static bool step_to_values(sqlite3 *db, sqlite3_stmt *row, sqlite3_value **lent, int n,
                           ctr_problem *problem)
{
    ctr_run run = ctr_run_on(db, "main", NULL, problem);
    bool found = ctr_run_row(&run, row);
    for (int i = 0; found && i < n; i++) lent[i] = sqlite3_column_value(row, i);
    return found;
}

/* Makes the values of a checked key. */
static void make_values(ctr_scope *scope, sqlite3 *db, const ctr_packed *key, ctr_problem *problem)
{
    sqlite3_value *lent[CTR_STREAM_KEYS];
    sqlite3_stmt *row = prepare_values(db, scope->n, problem);
    if (row) ctr_problem_sqlite(problem, db, ctr_pack_bind(row, key->bytes, key->size));
    if (step_to_values(db, row, lent, scope->n, problem))
        scope->values = ctr_arg_copies(lent, scope->n, problem);
    sqlite3_finalize(row);
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
    sqlite3_free(scope->key.bytes);
    sqlite3_free(scope->folded.bytes);
    *scope = (ctr_scope){0};
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Binds a value as the affinity of the column would make it. */
static void bind_as(sqlite3_stmt *row, int i, const ctr_column *column, sqlite3_value *value,
                    ctr_problem *problem)
{
    sqlite3 *db = sqlite3_db_handle(row);
    ctr_number number = {.type = SQLITE_NULL};
    if (column->affinity == CTR_AFFINITY_TEXT) {
        bool is_blob = sqlite3_value_type(value) == SQLITE_BLOB;
        const char *text = is_blob ? NULL : (const char *)sqlite3_value_text(value);
        if (!is_blob && !text) ctr_problem_nomem(problem);
        int size = sqlite3_value_bytes(value);
        ctr_problem_sqlite(problem, db,
                           is_blob ? sqlite3_bind_value(row, i, value)
                                   : sqlite3_bind_text(row, i, text, size, SQLITE_TRANSIENT));
        return;
    }
    if (column->affinity != CTR_AFFINITY_BLOB) number = ctr_arg_number(db, value, problem);
    int rc = number.type == SQLITE_INTEGER ? sqlite3_bind_int64(row, i, number.integer)
             : number.type == SQLITE_FLOAT ? sqlite3_bind_double(row, i, number.real)
                                           : ctr_text_bind_value(row, i, value);
    ctr_problem_sqlite(problem, db, rc);
}

/* Packs the first n keys, folded. */
static void fold_leading(ctr_packed *folded, const ctr_shape *shape, sqlite3_value **keys, int n,
                         ctr_problem *problem)
{
    ctr_shape leading = *shape; /* borrowed */
    leading.n_keys = n;
    ctr_pack_folded(folded, &leading, keys, problem);
}

/* What a collation of the application calls equal only SQLite can tell. */
static void refuse_collation(const ctr_column *column, ctr_problem *problem)
{
    static const char *const BUILT_IN[] = {"BINARY", "NOCASE", "RTRIM"};
    for (size_t i = 0; i < sizeof BUILT_IN / sizeof *BUILT_IN; i++)
        if (sqlite3_stricmp(column->collation, BUILT_IN[i]) == 0) return;
    ctr_problem_set(
        problem, SQLITE_ERROR,
        "a scope needs the collations BINARY, NOCASE and RTRIM, and key column %s has %s",
        column->name, column->collation);
}

void ctr_scope_enter(ctr_scope *scope, sqlite3 *db, const ctr_shape *shape, ctr_problem *problem)
{
    sqlite3_value *lent[CTR_STREAM_KEYS];
    for (int i = 0; i < scope->n && i < shape->n_keys; i++)
        refuse_collation(&shape->columns[shape->keys[i]], problem);
    if (scope->n > shape->n_keys || problem->rc != SQLITE_OK) return;
    sqlite3_stmt *row = prepare_values(db, scope->n, problem);
    for (int i = 0; row && i < scope->n; i++)
        bind_as(row, i + 1, &shape->columns[shape->keys[i]], scope->values[i], problem);
    if (step_to_values(db, row, lent, scope->n, problem))
        fold_leading(&scope->folded, shape, lent, scope->n, problem);
    sqlite3_finalize(row);
}

bool ctr_scope_has(ctr_scope *scope, const ctr_shape *shape, sqlite3_value **keys,
                   ctr_problem *problem)
{
    if (scope->n > shape->n_keys) return false;
    fold_leading(&scope->key, shape, keys, scope->n, problem);
    return problem->rc == SQLITE_OK && scope->key.size == scope->folded.size &&
           memcmp(scope->key.bytes, scope->folded.bytes, scope->key.size) == 0;
}
