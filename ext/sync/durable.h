/* sync/durable.h - what a peer has seen must outlive a power cut.
 *
 * Under WAL with synchronous=NORMAL the last commits may be taken back; with a rollback journal the
 * end of a commit, the deleted or emptied journal, may be. So the file that gives is made durable
 * after its snapshot is taken and before the file that takes commits.
 */
#ifndef CTR_SYNC_DURABLE_H
#define CTR_SYNC_DURABLE_H

#include "sync/source.h"

/* Syncs what the snapshot rests on: the WAL; or the file, its journal and its folder. Nothing for a
 * memory database. */
int ctr_durable_source(const ctr_source *source, ctr_problem *problem);

/* When a database commits, in a transaction over several: EARLY, under WAL or without any journal;
 * LATE, with a rollback journal on disk or in memory, or if it is no file: until all that commit
 * early have, SQLite can take it back. */
typedef enum ctr_commit { CTR_COMMIT_EARLY, CTR_COMMIT_LATE } ctr_commit;
ctr_commit ctr_durable_commit(sqlite3 *db, const char *schema, ctr_problem *problem);

/* Has the schema a rollback journal on disk, which is synced? */
bool ctr_durable_has_journal(sqlite3 *db, const char *schema, ctr_problem *problem);

/* Refuses, naming the pragma, where a power cut could take back what the schema commits in this
 * transaction; `as_one`: together with other files, which SQLite makes durable by itself. */
int ctr_durable_check_leader(sqlite3 *db, const char *schema, bool as_one, ctr_problem *problem);

#endif
