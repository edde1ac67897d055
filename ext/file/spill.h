/* file/spill.h - one wait for a lock in one statement.
 *
 * With a rollback journal, SQLite writes changed pages early when its cache is full. First it waits
 * for the readers of the file, as long as the busy timeout. If they stay, it does not wait again in
 * the same statement. But each statement of ours within it begins to wait anew. So after a wait in
 * vain, changed pages stay in memory until the transaction ends.
 */
#ifndef CTR_FILE_SPILL_H
#define CTR_FILE_SPILL_H

#include "file/file.h"

/* Keeps changed pages in memory if SQLite has waited in vain. The caller calls this before a
 * statement of ours runs within one of the host; the write lock is held. Ignores problems. */
void ctr_spill_check_file(ctr_file *file);

static inline void ctr_spill_check(ctr_file *file)
{
    if (!file->spills_safely) ctr_spill_check_file(file);
}

/* Keeps changed pages in memory while the transaction ends; the commit waits by itself. Where
 * `waited` says that the running statement may have waited before, takes the exclusive lock at
 * once, and returns SQLITE_BUSY if a reader is still there. */
int ctr_spill_before_commit(ctr_file *file, bool waited);

/* Restores the setting of the file. Called when the transaction is about to end, and at its end. */
void ctr_spill_restore(ctr_file *file);

#endif
