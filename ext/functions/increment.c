/* functions/increment.c - SQL functions that count under a replica id, or return it.
 *
 *     counter_inc(cell [, n=1 [, replica]])   cell with n added to the shard of main, or `replica`
 *     counter_dec(cell [, n=1 [, replica]])   the same with -n
 *     counter_id([schema])                    the id as text; NULL if there is none
 *
 * `replica` may be the id of main or of an attached database: then the function counts for that
 * file, as it does for main without a third argument. For another id, it is not known whether a
 * name was replaced, so clocks just rise by one.
 */
#include <stdint.h>
#include <string.h>

#include "core/id.h"
#include "functions/register.h"
#include "identity/replica.h"
#include "identity/identity.h"
#include "identity/succession.h"
#include "sqlite/args.h"
#include "sqlite/run.h"
#include "sqlite/text.h"
#include "sync/session.h"

/* The id to count under. */
typedef struct leader {
    uint8_t id[CTR_ID_SIZE];
    int64_t least; /* clock */
} leader;

static void take_leader(leader *file, const ctr_replica *replica, const uint8_t id[CTR_ID_SIZE])
{
    memcpy(file->id, id, CTR_ID_SIZE);
    file->least = ctr_replica_least_clock(replica);
}

/* In a transaction, or in a writing statement, the first call checks the identity of the file, once
 * for all calls. A SELECT alone gets its own transaction, because the check writes. */
static bool lead_file(ctr_transaction *transaction, sqlite3 *db, const char *schema, leader *file,
                      ctr_problem *problem)
{
    ctr_replica *replica = ctr_replica_of(transaction, schema);
    if (!replica) return ctr_problem_nomem(problem) == SQLITE_OK;
    const uint8_t *mine = ctr_replica_known_id(replica);
    if (!mine && ctr_transaction_join(transaction, problem))
        mine = ctr_replica_id(replica, problem);
    if (mine) take_leader(file, replica, mine);
    if (mine || problem->rc != SQLITE_OK) return mine != NULL;

    ctr_session session;
    ctr_session_begin(&session, db, NULL, problem);
    if (ctr_transaction_join(transaction, problem)) mine = ctr_replica_id(replica, problem);
    if (mine) take_leader(file, replica, mine);
    if (!mine)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "a table in main has the name counter_witness, which is reserved");
    return ctr_session_end(&session, problem) == SQLITE_OK && mine;
}

/* Returns the database of the connection with this id; the caller frees it with sqlite3_free. NULL:
 * there is none, or a problem. A damaged database has no id. */
static char *schema_with_id(sqlite3 *db, const uint8_t id[CTR_ID_SIZE], ctr_problem *problem)
{
    char *found = NULL;
    ctr_run run = ctr_run_on(db, NULL, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_DATABASES);
    while (!found && ctr_run_row(&run, row)) {
        ctr_identity identity;
        ctr_problem damage = {SQLITE_OK, NULL};
        const char *schema = ctr_text_column(row, 1, problem);
        if (!schema) continue;
        int rc = ctr_identity_read(&identity, db, schema, &damage);
        bool has = rc == SQLITE_OK && identity.present && memcmp(identity.id, id, CTR_ID_SIZE) == 0;
        if (ctr_problem_rolls_back(rc))
            ctr_problem_set(problem, rc, "%s", ctr_problem_text(&damage));
        ctr_problem_close(&damage);
        if (!has) continue;
        found = sqlite3_mprintf("%s", schema);
        if (!found) ctr_problem_nomem(problem);
    }
    sqlite3_finalize(row);
    return found;
}

/* Finds the id of the third argument, or that of main. To count for an attached file, its
 * transaction must be joined; otherwise its witness would not be renewed, and clocks could be
 * reused after a restore. */
static bool find_leader(sqlite3_context *ctx, const char *function, int argc, sqlite3_value **argv,
                        leader *found)
{
    ctr_shared *shared = sqlite3_user_data(ctx);
    sqlite3 *db = sqlite3_context_db_handle(ctx);
    ctr_problem problem = {SQLITE_OK, NULL};
    uint8_t given[CTR_ID_SIZE];
    char *schema = NULL;
    bool led = true;
    if (argc > 2 && !ctr_arg_id(ctx, function, "replica", argv[2], given)) return false;
    if (argc > 2) schema = schema_with_id(db, given, &problem);
    if (argc > 2) memcpy(found->id, given, CTR_ID_SIZE);
    found->least = 1;
    if (argc <= 2 || schema)
        led = lead_file(shared->transaction, db, schema ? schema : "main", found, &problem);
    if (schema && led && memcmp(found->id, given, CTR_ID_SIZE) != 0)
        ctr_problem_set(
            &problem, SQLITE_ERROR,
            "replica is the former id of %s, which has just taken another one: counter_id('%s')",
            schema, schema);
    if (schema) ctr_problem_where(&problem, "under the id of %s", schema);
    sqlite3_free(schema);
    return ctr_arg_problem(ctx, function, &problem) && led;
}

static void increment(sqlite3_context *ctx, const char *function, int argc, sqlite3_value **argv,
                      int sign)
{
    ctr_cell cell;
    int64_t n = 1;
    leader found;
    if (!ctr_arg_cell(ctx, function, argv[0], &cell)) return;
    int64_t least = sign < 0 ? -INT64_MAX : INT64_MIN; /* -2^63 cannot be negated */
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
        ctr_transaction_count(shared->transaction, cell.size == 0);
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

/* An application may use the id by hand, in an ordinary table of the file. So if this transaction
 * writes that file, its identity is checked. */
static void check_if_writing(ctr_transaction *transaction, sqlite3 *db, const char *schema,
                             ctr_problem *problem)
{
#if SQLITE_VERSION_NUMBER >= 3034000
    if (sqlite3_libversion_number() < 3034000) return;
    if (sqlite3_txn_state(db, schema) != SQLITE_TXN_WRITE) return;
    ctr_replica *replica = ctr_replica_of(transaction, schema);
    if (!replica) ctr_problem_nomem(problem);
    if (problem->rc != SQLITE_OK || ctr_replica_known_id(replica)) return;
    if (ctr_transaction_join(transaction, problem)) ctr_replica_id(replica, problem);
#else
    (void)transaction, (void)db, (void)schema, (void)problem;
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
    if (identity.present) check_if_writing(shared->transaction, db, schema, &problem);
    if (problem.rc == SQLITE_OK) ctr_identity_read(&identity, db, schema, &problem);
    if (ctr_arg_problem(ctx, "counter_id", &problem) && identity.present)
        ctr_arg_result_id(ctx, identity.id);
}

int ctr_increment_register(sqlite3 *db, ctr_shared *shared)
{
    /* With three arguments, an increment depends on its arguments alone. */
    static const ctr_function FUNCTIONS[] = {
        {"counter_inc", 1, 2, CTR_READS, fn_inc}, {"counter_inc", 3, 3, CTR_PURE, fn_inc},
        {"counter_dec", 1, 2, CTR_READS, fn_dec}, {"counter_dec", 3, 3, CTR_PURE, fn_dec},
        {"counter_id", 0, 1, CTR_READS, fn_id},
    };
    return ctr_shared_functions(db, shared, FUNCTIONS, sizeof FUNCTIONS / sizeof *FUNCTIONS);
}
