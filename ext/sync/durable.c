/* sync/durable.c - syncs through SQLite's file handles, and by path what it has no handle for. */
#include "sync/durable.h"

#include <string.h>

#include "store/medium.h"
#include "store/place.h"
#include "store/run.h"

/* A connection that has not read since another one changed the mode would tell the old one. */
static bool is_wal(const ctr_source *source, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(source->db, source->schema, NULL, problem);
    ctr_run_do(&run, CTR_SQL_SYNC_TOUCH, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SYNC_JOURNAL_MODE);
    const char *mode = ctr_run_row(&run, row) ? (const char *)sqlite3_column_text(row, 0) : NULL;
    bool is = mode && strcmp(mode, "wal") == 0;
    sqlite3_finalize(row);
    return is;
}

/* A file that SQLite has not opened has no methods. */
static void sync_handle(const ctr_source *source, int which, ctr_problem *problem)
{
    sqlite3_file *file = NULL;
    int rc = sqlite3_file_control(source->db, source->schema, which, &file);
    if (rc == SQLITE_OK && file && file->pMethods)
        rc = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
    if (rc != SQLITE_OK) ctr_problem_set(problem, rc, "the file that gives cannot be synced");
}

static void sync_journal(const char *path, ctr_problem *problem)
{
    char *journal = sqlite3_mprintf("%s-journal", path);
    if (!journal) {
        ctr_problem_nomem(problem);
        return;
    }
    int error = ctr_place_sync_file(journal);
    if (!error) error = ctr_place_sync_folder_of(path);
    if (error)
        ctr_problem_set(problem, SQLITE_IOERR_DIR_FSYNC, "the folder of %s cannot be synced: %s",
                        path, strerror(error));
    sqlite3_free(journal);
}

int ctr_durable_source(const ctr_source *source, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return problem->rc;
    const char *path = sqlite3_db_filename(source->db, source->schema);
    if (!path || !*path) return SQLITE_OK;
    if (is_wal(source, problem)) {
        sync_handle(source, SQLITE_FCNTL_JOURNAL_POINTER, problem);
    } else {
        sync_handle(source, SQLITE_FCNTL_FILE_POINTER, problem);
        if (ctr_medium_is_unix(source->db, source->schema)) sync_journal(path, problem);
    }
    return problem->rc;
}
