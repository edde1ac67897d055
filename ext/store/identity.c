/* store/identity.c - reads and creates the identity of a file. */
#include "store/identity.h"

#include <string.h>

#include "store/run.h"
#include "store/shape.h"
#include "store/uuid.h"

int ctr_identity_check(int64_t format, int id_size, ctr_problem *problem)
{
    if (format > CTR_FILE_FORMAT)
        return ctr_problem_set(problem, SQLITE_ERROR,
                               "the file was written by a newer version: format %lld, this library "
                               "knows %d",
                               (long long)format, CTR_FILE_FORMAT);
    if (format < 1)
        return ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                               "counter_replica is damaged: format %lld", (long long)format);
    if (id_size != CTR_ID_SIZE)
        return ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                               "counter_replica is damaged: an id of %d bytes instead of %d",
                               id_size, CTR_ID_SIZE);
    return problem->rc;
}

int ctr_identity_missing(const char *schema, ctr_problem *problem)
{
    if (sqlite3_stricmp(schema, "main") == 0)
        return ctr_problem_set(problem, SQLITE_ERROR,
                               "main has no replica id: run SELECT counter_init() once");
    return ctr_problem_set(problem, SQLITE_ERROR,
                           "%s has no replica id: open that file as main and run "
                           "SELECT counter_init() once",
                           schema);
}

static void take_identity(ctr_identity *identity, sqlite3_stmt *row, ctr_problem *problem)
{
    const void *id = sqlite3_column_blob(row, 1);
    const char *name = (const char *)sqlite3_column_text(row, 2);
    if (ctr_identity_check(sqlite3_column_int64(row, 0), id ? sqlite3_column_bytes(row, 1) : 0,
                           problem))
        return;
    if (name && strlen(name) > CTR_NAME_MAX) {
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                        "counter_replica is damaged: a name of more than %d bytes", CTR_NAME_MAX);
        return;
    }
    memcpy(identity->id, id, CTR_ID_SIZE);
    if (name) memcpy(identity->name, name, strlen(name) + 1);
    identity->present = true;
}

int ctr_identity_read(ctr_identity *identity, sqlite3 *db, const char *schema, ctr_problem *problem)
{
    *identity = (ctr_identity){0};
    if (!ctr_shape_is_table(db, schema, "counter_replica", problem)) return problem->rc;
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_IDENTITY_READ);
    if (ctr_run_row(&run, row)) take_identity(identity, row, problem);
    sqlite3_finalize(row);
    return problem->rc;
}

static int insert(const ctr_identity *identity, const char *name, ctr_run *run)
{
    ctr_run_do(run, CTR_SQL_IDENTITY_CREATE, NULL);
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_IDENTITY_INSERT);
    if (row) {
        sqlite3_bind_int(row, 1, CTR_FILE_FORMAT);
        sqlite3_bind_blob(row, 2, identity->id, CTR_ID_SIZE, SQLITE_STATIC);
        if (name) sqlite3_bind_text(row, 3, name, -1, SQLITE_STATIC);
    }
    ctr_run_row(run, row);
    sqlite3_finalize(row);
    return run->problem->rc;
}

int ctr_identity_ensure(ctr_identity *identity, sqlite3 *db, const char *schema, const char *name,
                        ctr_problem *problem)
{
    if (ctr_identity_read(identity, db, schema, problem) != SQLITE_OK) return problem->rc;
    if (identity->present) {
        if (!name || strcmp(name, identity->name) == 0) return SQLITE_OK;
        if (!*identity->name)
            return ctr_problem_set(problem, SQLITE_ERROR,
                                   "%s has a random replica id already, it cannot become '%s'",
                                   schema, name);
        return ctr_problem_set(problem, SQLITE_ERROR, "%s is '%s' already, it cannot become '%s'",
                               schema, identity->name, name);
    }
    identity->present = true;
    if (name) {
        ctr_uuid_of_name(name, identity->id);
        memcpy(identity->name, name, strlen(name) + 1);
    } else {
        ctr_uuid_random(identity->id);
    }
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    return insert(identity, name, &run);
}
