/* surface/replica.c - SQL functions that write under a replica id, or make and show one.
 *
 *     counter_inc(cell [, n=1 [, replica]])   cell with n added to the shard of main, or `replica`
 *     counter_dec(cell [, n=1 [, replica]])   the same with -n
 *     counter_init([name])                    makes the identity of main; returns its id
 *     counter_id([schema])                    the id as text; NULL if there is none
 *     counter_fork([schema])                  takes a new random id now; returns it
 *     counter_trust_witness([schema])         the fingerprint means nothing here; returns the id
 */
#include <stdint.h>
#include <string.h>

#include "core/id.h"
#include "store/describe.h"
#include "store/identity.h"
#include "store/run.h"
#include "store/succession.h"
#include "store/watch.h"
#include "surface/args.h"
#include "surface/register.h"
#include "sync/session.h"

/* In a transaction, or in a statement that writes, the first call checks main's identity and the
 * others find it checked. A SELECT alone gets a transaction of its own, for the check writes. */
static bool lead_main(ctr_guard *guard, sqlite3 *db, uint8_t id[CTR_ID_SIZE], ctr_problem *problem)
{
    ctr_post *post = ctr_guard_post(guard, "main");
    if (!post) return ctr_problem_nomem(problem) == SQLITE_OK;
    const uint8_t *mine = ctr_watch_checked(post);
    if (!mine && ctr_guard_join(guard, problem)) mine = ctr_watch_count(post, problem);
    if (mine) memcpy(id, mine, CTR_ID_SIZE);
    if (mine || problem->rc != SQLITE_OK) return mine != NULL;

    ctr_session session;
    ctr_session_begin(&session, db, NULL, problem);
    if (ctr_guard_join(guard, problem)) mine = ctr_watch_count(post, problem);
    if (mine) memcpy(id, mine, CTR_ID_SIZE);
    if (!mine)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "a table in main has the name counter_witness, which is reserved");
    return ctr_session_end(&session, problem) == SQLITE_OK && mine;
}

/* The third argument, which must then be an id, or the id of main. */
static bool leader(sqlite3_context *ctx, const char *function, int argc, sqlite3_value **argv,
                   uint8_t id[CTR_ID_SIZE])
{
    if (argc > 2) return ctr_arg_id(ctx, function, "replica", argv[2], id);
    ctr_problem problem = {SQLITE_OK, NULL};
    ctr_shared *shared = sqlite3_user_data(ctx);
    bool led = lead_main(shared->guard, sqlite3_context_db_handle(ctx), id, &problem);
    return ctr_arg_problem(ctx, function, &problem) && led;
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

/* Tables and row come together or not at all. */
static void make_identity(ctr_guard *guard, sqlite3 *db, const char *name, ctr_identity *identity,
                          ctr_problem *problem)
{
    ctr_session session;
    ctr_post *post = ctr_guard_post(guard, "main");
    if (!post) ctr_problem_nomem(problem);
    if (problem->rc != SQLITE_OK) return;
    if (ctr_session_begin(&session, db, NULL, problem) == SQLITE_OK) {
        ctr_guard_join(guard, problem);
        ctr_succession_create(post, name, problem);
        ctr_identity_read(identity, db, "main", problem);
    }
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
    ctr_shared *shared = sqlite3_user_data(ctx);
    ctr_identity_read(&identity, db, "main", &problem);
    if (identity.present)
        ctr_identity_check_name(&identity, "main", name, &problem);
    else
        make_identity(shared->guard, db, name, &identity, &problem);
    if (ctr_arg_problem(ctx, "counter_init", &problem)) result_id(ctx, identity.id);
}

/* The first argument, which must be the name of an attached database; main without one. */
static const char *schema_name(sqlite3_context *ctx, const char *function, int argc,
                               sqlite3_value **argv)
{
    const char *schema = argc > 0 ? (const char *)sqlite3_value_text(argv[0]) : "main";
    if (!schema) {
        ctr_arg_error(ctx, "%s: the name of a database must be TEXT, not NULL", function);
        return NULL;
    }
    if (ctr_run_has_schema(sqlite3_context_db_handle(ctx), schema)) return schema;
    ctr_arg_error(ctx, "%s: no attached database has the name '%s'", function, schema);
    return NULL;
}

/* Changes the identity of a schema in a transaction; main's is told how that ends. */
static void change(sqlite3_context *ctx, const char *function, int argc, sqlite3_value **argv,
                   int (*how)(ctr_post *, ctr_problem *))
{
    ctr_shared *shared = sqlite3_user_data(ctx);
    sqlite3 *db = sqlite3_context_db_handle(ctx);
    const char *schema = schema_name(ctx, function, argc, argv);
    if (!schema) return;
    ctr_identity identity = {0};
    ctr_problem problem = {SQLITE_OK, NULL};
    ctr_session session;
    ctr_post *post = ctr_guard_post(shared->guard, schema);
    if (!post) ctr_problem_nomem(&problem);
    if (post && ctr_session_begin(&session, db, NULL, &problem) == SQLITE_OK) {
        ctr_session_lock(&session, schema, &problem);
        if (sqlite3_stricmp(schema, "main") == 0) ctr_guard_join(shared->guard, &problem);
        if (problem.rc == SQLITE_OK) how(post, &problem);
        if (sqlite3_stricmp(schema, "main") != 0) ctr_guard_forget(post);
        ctr_identity_read(&identity, db, schema, &problem);
    }
    if (post) ctr_session_end(&session, &problem);
    if (ctr_arg_problem(ctx, function, &problem)) result_id(ctx, identity.id);
}

static void fn_fork(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    change(ctx, "counter_fork", argc, argv, ctr_succession_fork);
}

static void fn_trust_witness(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    change(ctx, "counter_trust_witness", argc, argv, ctr_succession_trust_witness);
}

/* The id of a file may be used by hand, for an ordinary table in it: where this transaction writes
 * that file, it is checked. */
static void check_if_writing(ctr_guard *guard, sqlite3 *db, const char *schema,
                             ctr_problem *problem)
{
#if SQLITE_VERSION_NUMBER >= 3034000
    if (sqlite3_libversion_number() < 3034000) return;
    if (sqlite3_txn_state(db, schema) != SQLITE_TXN_WRITE) return;
    ctr_post *post = ctr_guard_post(guard, schema);
    if (!post) ctr_problem_nomem(problem);
    if (problem->rc != SQLITE_OK || ctr_watch_checked(post)) return;
    if (sqlite3_stricmp(schema, "main") != 0) {
        ctr_watch_count(post, problem); /* at each call, for nobody would be told of the end */
        ctr_guard_forget(post);
    } else if (ctr_guard_join(guard, problem)) {
        ctr_watch_count(post, problem);
    }
#else
    (void)guard, (void)db, (void)schema, (void)problem;
#endif
}

static void fn_id(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    ctr_identity identity;
    ctr_problem problem = {SQLITE_OK, NULL};
    ctr_shared *shared = sqlite3_user_data(ctx);
    sqlite3 *db = sqlite3_context_db_handle(ctx);
    const char *schema = schema_name(ctx, "counter_id", argc, argv);
    if (!schema) return;
    ctr_identity_read(&identity, db, schema, &problem);
    if (identity.present) check_if_writing(shared->guard, db, schema, &problem);
    if (problem.rc == SQLITE_OK) ctr_identity_read(&identity, db, schema, &problem);
    if (ctr_arg_problem(ctx, "counter_id", &problem) && identity.present)
        result_id(ctx, identity.id);
}

int ctr_replica_register(sqlite3 *db, ctr_shared *shared)
{
    /* With the id given, an increment depends on its arguments alone. */
    static const struct {
        const char *name;
        int argc, flags;
        void (*call)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {
        {"counter_inc", 1, CTR_READS, fn_inc},
        {"counter_inc", 2, CTR_READS, fn_inc},
        {"counter_inc", 3, CTR_PURE, fn_inc},
        {"counter_dec", 1, CTR_READS, fn_dec},
        {"counter_dec", 2, CTR_READS, fn_dec},
        {"counter_dec", 3, CTR_PURE, fn_dec},
        {"counter_init", 0, CTR_ADMIN, fn_init},
        {"counter_init", 1, CTR_ADMIN, fn_init},
        {"counter_id", 0, CTR_READS, fn_id},
        {"counter_id", 1, CTR_READS, fn_id},
        {"counter_fork", 0, CTR_ADMIN, fn_fork},
        {"counter_fork", 1, CTR_ADMIN, fn_fork},
        {"counter_trust_witness", 0, CTR_ADMIN, fn_trust_witness},
        {"counter_trust_witness", 1, CTR_ADMIN, fn_trust_witness},
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; i < sizeof functions / sizeof *functions && rc == SQLITE_OK; i++)
        rc = sqlite3_create_function_v2(db, functions[i].name, functions[i].argc,
                                        functions[i].flags, ctr_shared_hold(shared),
                                        functions[i].call, NULL, NULL, ctr_shared_drop);
    return rc;
}
