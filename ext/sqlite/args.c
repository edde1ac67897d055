/* sqlite/args.c - reads arguments and sets messages. */
#include "sqlite/args.h"

#include <stdarg.h>
#include <string.h>

#include "core/id.h"
#include "sqlite/problem.h"
#include "sqlite/number.h"
#include "sqlite/run.h"
#include "sqlite/text.h"

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
    char *shown = ctr_problem_describe_value(value);
    if (shown)
        ctr_arg_error(ctx, "%s: %s must be %s, not %s", function, name, wanted, shown);
    else
        sqlite3_result_error_nomem(ctx);
    sqlite3_free(shown);
    return false;
}

const char *ctr_arg_text(sqlite3_context *ctx, const char *function, const char *name,
                         sqlite3_value *value)
{
    ctr_problem problem = {SQLITE_OK, NULL};
    const char *text = ctr_text_value(value, &problem);
    if (!ctr_arg_problem(ctx, function, &problem)) return NULL;
    if (!text) ctr_arg_refuse(ctx, function, name, "TEXT", value);
    return text;
}

bool ctr_arg_cell(sqlite3_context *ctx, const char *function, sqlite3_value *value, ctr_cell *cell)
{
    *cell = ctr_cell_untouched();
    if (sqlite3_value_type(value) == SQLITE_NULL) return true;
    if (sqlite3_value_type(value) != SQLITE_BLOB)
        return ctr_arg_refuse(ctx, function, "the cell", "a BLOB or NULL", value);
    const uint8_t *bytes = sqlite3_value_blob(value);
    size_t size = (size_t)sqlite3_value_bytes(value);
    if (!bytes && size > 0) {
        sqlite3_result_error_nomem(ctx);
        return false;
    }
    ctr_status status = ctr_cell_open(cell, bytes, size);
    if (status == CTR_OK) return true;

    char *shown = ctr_problem_describe_value(value);
    if (shown)
        ctr_arg_error(ctx, "%s: the cell %s: %s", function, ctr_status_text(status), shown);
    else
        sqlite3_result_error_nomem(ctx);
    sqlite3_free(shown);
    return false;
}

bool ctr_arg_integer(sqlite3_context *ctx, const char *function, const char *name,
                     sqlite3_value *value, int64_t least, int64_t most, int64_t *n)
{
    ctr_problem problem = {SQLITE_OK, NULL};
    bool is_integer = ctr_number_take(sqlite3_context_db_handle(ctx), value, n, &problem);
    if (!ctr_arg_problem(ctx, function, &problem)) return false;
    if (!is_integer) {
        char *refusal = ctr_number_refusal(value);
        if (refusal)
            ctr_arg_error(ctx, "%s: %s must be %s", function, name, refusal);
        else
            sqlite3_result_error_nomem(ctx);
        sqlite3_free(refusal);
        return false;
    }
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
    int rc = problem->rc;
    if (rc == SQLITE_OK) return true;
    if (rc == SQLITE_NOMEM) {
        sqlite3_result_error_nomem(ctx);
    } else {
        ctr_arg_error(ctx, "%s: %s", function, ctr_problem_text(problem));
        sqlite3_result_error_code(ctx, rc);
    }
    ctr_problem_close(problem);
    return false;
}

int ctr_arg_table_problem(sqlite3_vtab *table, const char *name, ctr_problem *problem)
{
    int rc = problem->rc;
    if (rc == SQLITE_OK) return SQLITE_OK;
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = NULL;
    if (rc != SQLITE_NOMEM) {
        table->zErrMsg = sqlite3_mprintf("%s: %s", name, ctr_problem_text(problem));
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
