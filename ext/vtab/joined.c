/* vtab/joined.c - passes on SQLite's calls to a table that has joined a transaction. */
#include "vtab/joined.h"

#include "sqlite/args.h"

static ctr_transaction *transaction_of(sqlite3_vtab *base)
{
    return ((ctr_joined *)base)->transaction;
}

/* `told` holds for this transaction alone. SQLite does not fetch the message of a SAVEPOINT that
 * failed, and would show it for a later error; so it is freed here. */
static void set_told(ctr_joined *joined, bool told)
{
    sqlite3_free(joined->base.zErrMsg);
    joined->base.zErrMsg = NULL;
    if (told != joined->told) ctr_events_tell(joined->transaction, told ? 1 : -1);
    joined->told = told;
}

int ctr_joined_begin(sqlite3_vtab *base)
{
    set_told((ctr_joined *)base, true);
    return SQLITE_OK;
}

int ctr_joined_sync(sqlite3_vtab *base)
{
    ctr_problem problem = {SQLITE_OK, NULL};
    ctr_events_sync(transaction_of(base), &problem);
    return ctr_arg_table_problem(base, "COMMIT", &problem);
}

int ctr_joined_commit(sqlite3_vtab *base)
{
    set_told((ctr_joined *)base, false);
    ctr_events_commit(transaction_of(base));
    return SQLITE_OK;
}

int ctr_joined_rollback(sqlite3_vtab *base)
{
    set_told((ctr_joined *)base, false);
    ctr_events_rollback(transaction_of(base));
    return SQLITE_OK;
}

/* After its first savepoint, a table is also called for older ones. */
int ctr_joined_savepoint(sqlite3_vtab *base, int level)
{
    set_told((ctr_joined *)base, true);
    ctr_problem problem = {SQLITE_OK, NULL};
    ctr_events_savepoint(transaction_of(base), level, &problem);
    return ctr_arg_table_problem(base, "SAVEPOINT", &problem);
}

int ctr_joined_release(sqlite3_vtab *base, int level)
{
    ctr_events_release(transaction_of(base), level);
    return SQLITE_OK;
}

int ctr_joined_rollback_to(sqlite3_vtab *base, int level)
{
    ctr_events_rollback_to(transaction_of(base), level);
    return SQLITE_OK;
}

/* ---- a table that is created or dropped within a transaction --------------------------------- */

static int tell_main(ctr_joined *joined, ctr_problem *problem)
{
    if (!ctr_transaction_join(joined->transaction, problem))
        ctr_problem_set(problem, SQLITE_ERROR,
                        "a table in main has the name counter_witness, which is reserved");
    return problem->rc;
}

int ctr_joined_be_told(ctr_joined *joined, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK || joined->transaction->told > 0) return problem->rc;
    tell_main(joined, problem);
    ctr_problem_where(problem, "counting in a table that this transaction has created, without a "
                               "SAVEPOINT in between, locks main until the COMMIT");
    return problem->rc;
}

int ctr_joined_pass_on(ctr_joined *joined, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK || joined->transaction->told > joined->told) return problem->rc;
    return tell_main(joined, problem);
}

void ctr_joined_leave(ctr_joined *joined)
{
    set_told(joined, false);
}
