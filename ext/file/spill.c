/* file/spill.c - keeps the changed pages of a file in memory. */
#include "file/file.h"

#include <limits.h>

/* SQLite takes the lock PENDING on its way to EXCLUSIVE, and keeps it if readers are there. Under
 * WAL the lock stays SHARED. */
static int lock_of(ctr_file *file)
{
    int lock = SQLITE_LOCK_NONE;
    ctr_run_ask_file(file->conn->db, file->schema, SQLITE_FCNTL_LOCKSTATE, &lock);
    return lock;
}

/* If it fails, as after an interrupt, the next call tries again. */
static void keep_pages(ctr_file *file)
{
    if (file->spill > 0) return;
    ctr_problem none = {SQLITE_OK, NULL};
    ctr_run run = ctr_run_on(file->conn->db, file->schema, NULL, &none);
    int spill = (int)ctr_run_number(&run, CTR_SQL_SYNC_SPILL);
    if (spill > 0 && spill < INT_MAX) ctr_run_set(&run, CTR_SQL_SYNC_SET_SPILL, INT_MAX);
    if (spill > 0 && spill < INT_MAX && none.rc == SQLITE_OK) file->spill = spill;
    file->spills_safely = none.rc == SQLITE_OK;
    ctr_problem_close(&none);
}

void ctr_spill_check_file(ctr_file *file)
{
    int lock = lock_of(file);
    if (lock == SQLITE_LOCK_PENDING)
        keep_pages(file);
    else if (lock != SQLITE_LOCK_RESERVED)
        file->spills_safely = lock == SQLITE_LOCK_EXCLUSIVE ||
                              ctr_run_transaction(file->conn->db, file->schema) == CTR_TXN_WRITE;
}

/* A lock that is free now is taken, as SQLite itself is about to do. */
int ctr_spill_before_commit(ctr_file *file, bool waited)
{
    sqlite3_file *handle = NULL;
    if (file->spills_safely && file->spill == 0) return SQLITE_OK;
    int lock = lock_of(file);
    if (lock == SQLITE_LOCK_RESERVED && file->conn->noted) keep_pages(file);
    if (lock != SQLITE_LOCK_PENDING) return SQLITE_OK;
    keep_pages(file);
    if (!waited) return SQLITE_OK;
    ctr_run_ask_file(file->conn->db, file->schema, SQLITE_FCNTL_FILE_POINTER, &handle);
    if (!handle || !handle->pMethods) return SQLITE_OK;
    int rc = handle->pMethods->xLock(handle, SQLITE_LOCK_EXCLUSIVE);
    return rc == SQLITE_BUSY ? SQLITE_BUSY : SQLITE_OK;
}

void ctr_spill_restore(ctr_file *file)
{
    ctr_problem none = {SQLITE_OK, NULL};
    ctr_run run = ctr_run_on(file->conn->db, file->schema, NULL, &none);
    file->spills_safely = false;
    if (file->spill > 0) ctr_run_set(&run, CTR_SQL_SYNC_SET_SPILL, file->spill);
    if (none.rc == SQLITE_OK) file->spill = 0;
    ctr_problem_close(&none);
}
