/* surface/replica.c - SQL functions that write under a replica id, or show one.
 *
 *     counter_inc(cell [, n=1 [, replica]])   cell with n added to the shard of main, or `replica`
 *     counter_dec(cell [, n=1 [, replica]])   the same with -n
 *     counter_id([schema])                    the id as text; NULL if there is none
 *
 * Of `replica` it is not known whether its name was ever replaced: its clocks go on one by one.
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

/* Under whose id is counted. */
typedef struct leader {
    uint8_t id[CTR_ID_SIZE];
    int64_t least; /* clock */
} leader;

static void take_leader(leader *main, const ctr_post *post, const uint8_t id[CTR_ID_SIZE])
{
    memcpy(main->id, id, CTR_ID_SIZE);
    main->least = ctr_watch_least_clock(post);
}

/* In a transaction, or in a statement that writes, the first call checks main's identity and the
 * others find it checked. A SELECT alone gets a transaction of its own, for the check writes. */
static bool lead_main(ctr_guard *guard, sqlite3 *db, leader *main, ctr_problem *problem)
{
    ctr_post *post = ctr_guard_post(guard, "main");
    if (!post) return ctr_problem_nomem(problem) == SQLITE_OK;
    const uint8_t *mine = ctr_watch_checked(post);
    if (!mine && ctr_guard_join(guard, problem)) mine = ctr_watch_count(post, problem);
    if (mine) take_leader(main, post, mine);
    if (mine || problem->rc != SQLITE_OK) return mine != NULL;

    ctr_session session;
    ctr_session_begin(&session, db, NULL, problem);
    if (ctr_guard_join(guard, problem)) mine = ctr_watch_count(post, problem);
    if (mine) take_leader(main, post, mine);
    if (!mine)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "a table in main has the name counter_witness, which is reserved");
    return ctr_session_end(&session, problem) == SQLITE_OK && mine;
}

/* The third argument, which must then be an id, or the id of main. */
static bool find_leader(sqlite3_context *ctx, const char *function, int argc, sqlite3_value **argv,
                        leader *found)
{
    found->least = 1;
    if (argc > 2) return ctr_arg_id(ctx, function, "replica", argv[2], found->id);
    ctr_problem problem = {SQLITE_OK, NULL};
    ctr_shared *shared = sqlite3_user_data(ctx);
    bool led = lead_main(shared->guard, sqlite3_context_db_handle(ctx), found, &problem);
    return ctr_arg_problem(ctx, function, &problem) && led;
}

static void increment(sqlite3_context *ctx, const char *function, int argc, sqlite3_value **argv,
                      int sign)
{
    ctr_cell cell;
    int64_t n = 1;
    leader found;
    if (!ctr_arg_cell(ctx, function, argv[0], &cell)) return;
    int64_t least = sign < 0 ? -INT64_MAX : INT64_MIN; /* -2^63 has no negative */
    if (argc > 1 && !ctr_arg_integer(ctx, function, "n", argv[1], least, INT64_MAX, &n)) return;
    if (!find_leader(ctx, function, argc, argv, &found)) return;

    uint8_t *out = sqlite3_malloc64(cell.size + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX);
    size_t size;
    if (!out) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    ctr_status status = ctr_cell_increment(&cell, found.id, sign * n, found.least, out, &size);
    if (ctr_arg_status(ctx, function, status)) {
        ctr_shared *shared = sqlite3_user_data(ctx);
        ctr_stats_increment(ctr_guard_stats(shared->guard), cell.size == 0);
        sqlite3_result_blob64(ctx, out, size, sqlite3_free);
    } else {
        sqlite3_free(out);
    }
}

static void fn_inc(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    increment(ctx, "counter_inc", argc, argv, 1);
}

static void fn_dec(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    increment(ctx, "counter_dec", argc, argv, -1);
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
        ctr_watch_may_count(post, problem); /* at each call, for nobody would be told of the end */
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
    const char *schema = ctr_arg_schema(ctx, "counter_id", argc > 0 ? argv[0] : NULL);
    if (!schema) return;
    ctr_identity_read(&identity, db, schema, &problem);
    if (identity.present) check_if_writing(shared->guard, db, schema, &problem);
    if (problem.rc == SQLITE_OK) ctr_identity_read(&identity, db, schema, &problem);
    if (ctr_arg_problem(ctx, "counter_id", &problem) && identity.present)
        ctr_arg_result_id(ctx, identity.id);
}

int ctr_replica_register(sqlite3 *db, ctr_shared *shared)
{
    /* With the id given, an increment depends on its arguments alone. */
    static const struct {
        const char *name;
        int argc, flags;
        void (*call)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {
        {"counter_inc", 1, CTR_READS, fn_inc}, {"counter_inc", 2, CTR_READS, fn_inc},
        {"counter_inc", 3, CTR_PURE, fn_inc},  {"counter_dec", 1, CTR_READS, fn_dec},
        {"counter_dec", 2, CTR_READS, fn_dec}, {"counter_dec", 3, CTR_PURE, fn_dec},
        {"counter_id", 0, CTR_READS, fn_id},   {"counter_id", 1, CTR_READS, fn_id},
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; i < sizeof functions / sizeof *functions && rc == SQLITE_OK; i++)
        rc = sqlite3_create_function_v2(db, functions[i].name, functions[i].argc,
                                        functions[i].flags, ctr_shared_hold(shared),
                                        functions[i].call, NULL, NULL, ctr_shared_drop);
    return rc;
}
