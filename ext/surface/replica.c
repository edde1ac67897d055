/* surface/replica.c - SQL functions that write under a replica id, or make and show one.
 *
 *     counter_inc(cell [, n=1 [, replica]])   cell with n added to the shard of main, or `replica`
 *     counter_dec(cell [, n=1 [, replica]])   the same with -n
 *     counter_init([name])                    makes the identity of main; returns its id
 *     counter_id([schema])                    the id as text; NULL if there is none
 */
#include <stdint.h>
#include <string.h>

#include "core/id.h"
#include "store/describe.h"
#include "store/identity.h"
#include "store/run.h"
#include "surface/args.h"
#include "surface/register.h"
#include "sync/session.h"

/* The third argument, which must then be an id, or the id of main. */
static bool leader(sqlite3_context *ctx, const char *function, int argc, sqlite3_value **argv,
                   uint8_t id[CTR_ID_SIZE])
{
    if (argc > 2) return ctr_arg_id(ctx, function, "replica", argv[2], id);
    ctr_identity identity;
    ctr_problem problem = {SQLITE_OK, NULL};
    ctr_identity_read(&identity, sqlite3_context_db_handle(ctx), "main", &problem);
    if (problem.rc == SQLITE_OK && !identity.present) ctr_identity_missing("main", &problem);
    if (!ctr_arg_problem(ctx, function, &problem)) return false;
    memcpy(id, identity.id, CTR_ID_SIZE);
    return true;
}

static void increment(sqlite3_context *ctx, const char *function, int argc, sqlite3_value **argv,
                      int sign)
{
    ctr_cell cell;
    int64_t n = 1;
    uint8_t id[CTR_ID_SIZE];
    if (!ctr_arg_cell(ctx, function, argv[0], &cell)) return;
    int64_t least = sign < 0 ? -INT64_MAX : INT64_MIN; /* -2^63 has no negative */
    if (argc > 1 && !ctr_arg_integer(ctx, function, "n", argv[1], least, INT64_MAX, &n)) return;
    if (!leader(ctx, function, argc, argv, id)) return;

    uint8_t *out = sqlite3_malloc64(cell.size + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX);
    size_t size;
    if (!out) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    if (ctr_arg_status(ctx, function, ctr_cell_increment(&cell, id, sign * n, out, &size)))
        sqlite3_result_blob64(ctx, out, size, sqlite3_free);
    else
        sqlite3_free(out);
}

static void fn_inc(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    increment(ctx, "counter_inc", argc, argv, 1);
}

static void fn_dec(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    increment(ctx, "counter_dec", argc, argv, -1);
}

static void result_id(sqlite3_context *ctx, const uint8_t id[CTR_ID_SIZE])
{
    char text[CTR_ID_TEXT_SIZE];
    ctr_id_to_text(id, text);
    sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

/* A name as text, or a refusal that shows it. */
static const char *replica_name(sqlite3_context *ctx, sqlite3_value *value)
{
    if (sqlite3_value_type(value) == SQLITE_TEXT) {
        const char *name = (const char *)sqlite3_value_text(value);
        int size = sqlite3_value_bytes(value);
        if (name && size <= CTR_NAME_MAX && ctr_id_is_name(name, (size_t)size)) return name;
    }
    char *shown = ctr_describe_value(value);
    if (shown)
        ctr_arg_error(
            ctx,
            "counter_init: the name must be dc:rack, both non-empty and %d bytes at most, "
            "not %s",
            CTR_NAME_MAX, shown);
    else
        sqlite3_result_error_nomem(ctx);
    sqlite3_free(shown);
    return NULL;
}

/* Table and row come together or not at all. */
static void make_identity(sqlite3 *db, const char *name, ctr_identity *identity,
                          ctr_problem *problem)
{
    ctr_session session;
    if (ctr_session_begin(&session, db, NULL, problem) == SQLITE_OK)
        ctr_identity_ensure(identity, db, "main", name, problem);
    ctr_session_end(&session, problem);
}

/* A file that has its identity is only read. */
static void fn_init(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    const char *name = argc > 0 ? replica_name(ctx, argv[0]) : NULL;
    if (argc > 0 && !name) return;

    ctr_identity identity;
    ctr_problem problem = {SQLITE_OK, NULL};
    sqlite3 *db = sqlite3_context_db_handle(ctx);
    ctr_identity_read(&identity, db, "main", &problem);
    if (problem.rc == SQLITE_OK && identity.present)
        ctr_identity_ensure(&identity, db, "main", name, &problem);
    else if (problem.rc == SQLITE_OK)
        make_identity(db, name, &identity, &problem);
    if (ctr_arg_problem(ctx, "counter_init", &problem)) result_id(ctx, identity.id);
}

static void fn_id(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    ctr_identity identity;
    ctr_problem problem = {SQLITE_OK, NULL};
    sqlite3 *db = sqlite3_context_db_handle(ctx);
    const char *schema = argc > 0 ? (const char *)sqlite3_value_text(argv[0]) : "main";
    if (!schema) {
        ctr_arg_error(ctx, "counter_id: the name of a database must be TEXT, not NULL");
        return;
    }
    if (!ctr_run_has_schema(db, schema)) {
        ctr_arg_error(ctx, "counter_id: no attached database has the name '%s'", schema);
        return;
    }
    ctr_identity_read(&identity, db, schema, &problem);
    if (ctr_arg_problem(ctx, "counter_id", &problem) && identity.present)
        result_id(ctx, identity.id);
}

int ctr_replica_register(sqlite3 *db)
{
    /* With the id given, an increment depends on its arguments alone. */
    static const struct {
        const char *name;
        int argc, flags;
        void (*call)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {
        {"counter_inc", 1, CTR_READS, fn_inc},   {"counter_inc", 2, CTR_READS, fn_inc},
        {"counter_inc", 3, CTR_PURE, fn_inc},    {"counter_dec", 1, CTR_READS, fn_dec},
        {"counter_dec", 2, CTR_READS, fn_dec},   {"counter_dec", 3, CTR_PURE, fn_dec},
        {"counter_init", 0, CTR_ADMIN, fn_init}, {"counter_init", 1, CTR_ADMIN, fn_init},
        {"counter_id", 0, CTR_READS, fn_id},     {"counter_id", 1, CTR_READS, fn_id},
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; i < sizeof functions / sizeof *functions && rc == SQLITE_OK; i++)
        rc =
            sqlite3_create_function_v2(db, functions[i].name, functions[i].argc, functions[i].flags,
                                       NULL, functions[i].call, NULL, NULL, NULL);
    return rc;
}
