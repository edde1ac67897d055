/* surface/joined.c - passes on how transactions go. */
#include "surface/joined.h"

#include "surface/args.h"

static ctr_guard *guard_of(sqlite3_vtab *base)
{
    return ((ctr_joined *)base)->guard;
}

int ctr_joined_begin(sqlite3_vtab *base)
{
    (void)base;
    return SQLITE_OK;
}

int ctr_joined_sync(sqlite3_vtab *base)
{
    ctr_problem problem = {SQLITE_OK, NULL};
    ctr_guard_sync(guard_of(base), &problem);
    return ctr_arg_table_problem(base, "COMMIT", &problem);
}

int ctr_joined_commit(sqlite3_vtab *base)
{
    ctr_guard_commit(guard_of(base));
    return SQLITE_OK;
}

int ctr_joined_rollback(sqlite3_vtab *base)
{
    ctr_guard_rollback(guard_of(base));
    return SQLITE_OK;
}

int ctr_joined_savepoint(sqlite3_vtab *base, int level)
{
    ctr_problem problem = {SQLITE_OK, NULL};
    ctr_guard_savepoint(guard_of(base), level, &problem);
    return ctr_arg_table_problem(base, "SAVEPOINT", &problem);
}

int ctr_joined_release(sqlite3_vtab *base, int level)
{
    ctr_guard_release(guard_of(base), level);
    return SQLITE_OK;
}

int ctr_joined_rollback_to(sqlite3_vtab *base, int level)
{
    ctr_guard_rollback_to(guard_of(base), level);
    return SQLITE_OK;
}
