/* identity/instance.c - the memory database that gives a memory database its id. */
#include "identity/instance.h"

#include <string.h>

#include "identity/uuid.h"
#include "sqlite/run.h"

/* A path may have any characters, so it is written in hex. */
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

/* Columns of CTR_SQL_INSTANCE_READ. */
enum { READ_INSTANCE_ID, READ_INSTANCE_NUMBER, READ_INSTANCE_RANDOM };

static void take_id(ctr_instance *instance, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(instance->db, "main", NULL, problem);
    ctr_run_do(&run, CTR_SQL_INSTANCE_CREATE, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_INSTANCE_INSERT);
    ctr_uuid_random(instance->id);
    if (row) sqlite3_bind_blob(row, 1, instance->id, CTR_ID_SIZE, SQLITE_STATIC);
    ctr_run_row(&run, row);
    sqlite3_finalize(row);
    instance->read = ctr_run_prepare(&run, CTR_SQL_INSTANCE_READ);
    instance->write = ctr_run_prepare(&run, CTR_SQL_INSTANCE_WITNESS);
    if (ctr_run_row(&run, instance->read) &&
        sqlite3_column_bytes(instance->read, READ_INSTANCE_ID) == CTR_ID_SIZE)
        memcpy(instance->id, sqlite3_column_blob(instance->read, READ_INSTANCE_ID), CTR_ID_SIZE);
    sqlite3_reset(instance->read);
}

/* 56 bits of the id: a limit that no application sets. */
static int64_t mark_of(const ctr_instance *instance)
{
    int64_t mark = 0;
    for (int i = 0; i < 7; i++) mark = mark << 8 | instance->id[i];
    return mark;
}

void ctr_instance_mark(const ctr_instance *instance, sqlite3 *db, const char *schema,
                       ctr_problem *problem)
{
    char *mark = sqlite3_mprintf("%lld", (long long)mark_of(instance));
    if (!mark) ctr_problem_nomem(problem);
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    run.slots.value = mark;
    ctr_run_do(&run, CTR_SQL_INSTANCE_SET_MARK, NULL);
    sqlite3_free(mark);
}

bool ctr_instance_is_marked(const ctr_instance *instance, sqlite3 *db, const char *schema,
                            ctr_problem *problem)
{
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_INSTANCE_MARK);
    bool is = ctr_run_row(&run, row) && sqlite3_column_int64(row, 0) == mark_of(instance);
    sqlite3_finalize(row);
    return is;
}

int ctr_instance_read(ctr_instance *instance, ctr_attribute *witness, ctr_problem *problem)
{
    *witness = (ctr_attribute){.state = CTR_ATTRIBUTE_MISSING};
    int rc = sqlite3_step(instance->read);
    if (rc == SQLITE_ROW &&
        sqlite3_column_type(instance->read, READ_INSTANCE_NUMBER) != SQLITE_NULL) {
        witness->state = CTR_ATTRIBUTE_READ;
        witness->pair = (ctr_pair){sqlite3_column_int64(instance->read, READ_INSTANCE_NUMBER),
                                   sqlite3_column_int64(instance->read, READ_INSTANCE_RANDOM)};
    }
    if ((rc & 0xff) != SQLITE_LOCKED) ctr_problem_sqlite(problem, instance->db, rc);
    sqlite3_reset(instance->read);
    return problem->rc;
}

void ctr_instance_write(ctr_instance *instance, const ctr_pair *pair)
{
    sqlite3_bind_int64(instance->write, 1, pair->number);
    sqlite3_bind_int64(instance->write, 2, pair->random);
    sqlite3_step(instance->write);
    sqlite3_reset(instance->write);
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
    sqlite3_finalize(instance->read);
    sqlite3_finalize(instance->write);
    sqlite3_close(instance->db);
    *instance = (ctr_instance){0};
}
