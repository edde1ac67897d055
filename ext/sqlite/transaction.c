/* sqlite/transaction.c - joins transactions and keeps statements of a connection. */
#include "sqlite/transaction.h"

#include <string.h>

#include "sqlite/run.h"

/* ---- statements that are kept ---------------------------------------------------------------- */

static void link_kept(ctr_transaction *transaction, ctr_kept *kept)
{
    kept->next = transaction->kept;
    kept->link = &transaction->kept;
    if (kept->next) kept->next->link = &kept->next;
    transaction->kept = kept;
}

void ctr_transaction_close_kept(ctr_kept *kept)
{
    sqlite3_finalize(kept->statement);
    if (kept->link) *kept->link = kept->next;
    if (kept->link && kept->next) kept->next->link = kept->link;
    *kept = (ctr_kept){0};
}

void ctr_transaction_release_kept(ctr_transaction *transaction)
{
    while (transaction->kept) ctr_transaction_close_kept(transaction->kept);
}

/* Preparing a statement creates counter_statements, and locks nothing. */
static void create_statements(ctr_transaction *transaction, ctr_run *run)
{
    if (!transaction->has_statements)
        sqlite3_finalize(ctr_run_prepare(run, CTR_SQL_TRANSACTION_KEEP));
}

sqlite3_stmt *ctr_transaction_keep(ctr_transaction *transaction, ctr_kept *kept, ctr_run *run,
                                   ctr_sql which)
{
    if (run->problem->rc != SQLITE_OK) return NULL;
    if (kept->statement) return kept->statement;
    create_statements(transaction, run);
    kept->statement = ctr_run_prepare(run, which);
    if (kept->statement) link_kept(transaction, kept);
    return kept->statement;
}

void ctr_transaction_keep_no_more(ctr_transaction *transaction)
{
    if (!transaction->has_statements) ctr_transaction_release_kept(transaction);
}

void ctr_transaction_prepare(ctr_transaction *transaction, ctr_problem *problem)
{
    ctr_problem trouble = {SQLITE_OK, NULL};
    ctr_run run = ctr_run_on(transaction->db, NULL, NULL, &trouble);
    create_statements(transaction, &run);
    if (ctr_problem_rolls_back(trouble.rc)) /* including the schema change that follows */
        ctr_problem_set(problem, trouble.rc, "%s", ctr_problem_text(&trouble));
    ctr_problem_close(&trouble);
}

void ctr_transaction_set_statements(ctr_transaction *transaction, bool there)
{
    transaction->has_statements = there;
    if (!there) ctr_transaction_release_kept(transaction);
}

/* ---- life ------------------------------------------------------------------------------------ */

ctr_transaction *ctr_transaction_open(sqlite3 *db, int (*renew_witness)(void *arg, int number),
                                      void *arg)
{
    ctr_transaction *transaction = sqlite3_malloc64(sizeof *transaction);
    if (transaction)
        *transaction = (ctr_transaction){.db = db, .renew_witness = renew_witness, .arg = arg};
    return transaction;
}

void ctr_transaction_close(ctr_transaction *transaction)
{
    if (transaction) ctr_transaction_release_kept(transaction);
    sqlite3_free(transaction);
}

/* ---- joining --------------------------------------------------------------------------------- */

/* Registers a new witness table for a deserialized database: sqlite3_deserialize() frees the schema
 * of main without disconnecting eponymous tables, and preparing a write to one again would crash.
 * From then on main uses the VFS "memdb", where each new schema may be that of another file.
 *
 * It needs a new name: when a module is replaced, SQLite frees its table and with it all prepared
 * statements, including the running one. A module stays as long as the connection: about 800 bytes
 * for each schema of such a file. */
static void renew_witness(ctr_transaction *transaction, ctr_problem *problem)
{
    bool is_new = !transaction->is_memory;
    sqlite3_vfs *vfs = NULL;
    ctr_run_ask_file(transaction->db, "main", SQLITE_FCNTL_VFS_POINTER, &vfs);
    transaction->is_memory = vfs && strcmp(vfs->zName, "memdb") == 0;
    if (!transaction->is_memory || problem->rc != SQLITE_OK) return;
    bool had = transaction->schema.statement != NULL;
    ctr_run run = ctr_run_on(transaction->db, "main", NULL, problem);
    sqlite3_stmt *schema =
        ctr_transaction_keep(transaction, &transaction->schema, &run, CTR_SQL_TRANSACTION_SCHEMA);
    if (!schema) return;
    ctr_problem_sqlite(problem, transaction->db, sqlite3_step(schema));
    sqlite3_reset(schema);
    if (!had || sqlite3_stmt_status(schema, SQLITE_STMTSTATUS_REPREPARE, 1) > 0) is_new = true;
    if (!transaction->witness_used || !is_new) return;
    ctr_transaction_close_kept(&transaction->join);
    ctr_problem_sqlite(problem, transaction->db,
                       transaction->renew_witness(transaction->arg, ++transaction->witnesses));
}

const char *ctr_transaction_witness_name(int number, char name[CTR_WITNESS_NAME_SIZE])
{
    if (number == 0)
        sqlite3_snprintf(CTR_WITNESS_NAME_SIZE, name, "counter_witness");
    else
        sqlite3_snprintf(CTR_WITNESS_NAME_SIZE, name, "counter_witness_%d", number);
    return name;
}

bool ctr_transaction_enter(ctr_transaction *transaction, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return false;
    ctr_transaction_end_round(transaction);
    if (transaction->busy)
        ctr_problem_set(problem, SQLITE_ERROR, "a trigger on counter_replica tries to count");
    else
        transaction->busy = true;
    return problem->rc == SQLITE_OK;
}

int ctr_transaction_leave(ctr_transaction *transaction, ctr_problem *problem)
{
    transaction->busy = false;
    return problem->rc;
}

bool ctr_transaction_join(ctr_transaction *transaction, ctr_problem *problem)
{
    if (!ctr_transaction_enter(transaction, problem)) return false;
    char name[CTR_WITNESS_NAME_SIZE];
    renew_witness(transaction, problem);
    transaction->witness_used = true;
    ctr_transaction_witness_name(transaction->witnesses, name);
    ctr_run run = ctr_run_on(transaction->db, "main", name, problem);
    sqlite3_stmt *join =
        ctr_transaction_keep(transaction, &transaction->join, &run, CTR_SQL_TRANSACTION_JOIN);
    if (join) {
        ctr_problem_sqlite(problem, transaction->db, sqlite3_step(join));
        sqlite3_reset(join);
    }
    ctr_transaction_keep_no_more(transaction);
    return ctr_transaction_leave(transaction, problem) == SQLITE_OK && transaction->joined;
}

void ctr_transaction_set_joined(ctr_transaction *transaction, bool joined)
{
    transaction->joined = joined;
}

/* ---- failures half-way ----------------------------------------------------------------------- */

void ctr_transaction_spoil(ctr_transaction *transaction, unsigned nth)
{
    if (transaction->ended != nth) return;
    if (!transaction->spoiled) transaction->spoiled_depth = transaction->depth;
    transaction->spoiled = true;
}
