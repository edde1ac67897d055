/* store/instance.c - the memory database that gives a memory database its id. */
#include "store/instance.h"

#include <string.h>

#include "store/run.h"
#include "store/uuid.h"

/* Names are free text, so they are written in hex. */
static char *name_of(const void *file, const char *path)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    if (path) {
        sqlite3_str_appendall(out, "file:/sqlite-counter-");
        for (; *path; path++) sqlite3_str_appendf(out, "%02x", (unsigned char)*path);
        sqlite3_str_appendall(out, "?vfs=memdb");
    } else {
        sqlite3_str_appendf(out, "file:sqlite-counter-%p?mode=memory&cache=shared", file);
    }
    return sqlite3_str_finish(out);
}

static void take_id(ctr_instance *instance, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(instance->db, "main", NULL, problem);
    ctr_run_do(&run, CTR_SQL_INSTANCE_CREATE, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_INSTANCE_INSERT);
    ctr_uuid_random(instance->id);
    if (row) sqlite3_bind_blob(row, 1, instance->id, CTR_ID_SIZE, SQLITE_STATIC);
    ctr_run_row(&run, row);
    sqlite3_finalize(row);
    row = ctr_run_prepare(&run, CTR_SQL_INSTANCE_READ);
    if (ctr_run_row(&run, row) && sqlite3_column_bytes(row, 0) == CTR_ID_SIZE)
        memcpy(instance->id, sqlite3_column_blob(row, 0), CTR_ID_SIZE);
    sqlite3_finalize(row);
}

int ctr_instance_open(ctr_instance *instance, const void *file, const char *path,
                      ctr_problem *problem)
{
    *instance = (ctr_instance){0};
    if (problem->rc != SQLITE_OK) return problem->rc;
    char *name = name_of(file, path);
    if (!name) return ctr_problem_nomem(problem);
    int rc = sqlite3_open_v2(name, &instance->db,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, NULL);
    ctr_problem_sqlite(problem, instance->db, rc);
    take_id(instance, problem);
    sqlite3_free(name);
    return problem->rc;
}

void ctr_instance_close(ctr_instance *instance)
{
    sqlite3_close(instance->db);
    *instance = (ctr_instance){0};
}
