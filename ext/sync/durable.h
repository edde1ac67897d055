/* sync/durable.h - makes content that a peer has seen outlive a power cut.
 *
 * A power cut may take back the last commits under WAL with synchronous=NORMAL. With a rollback
 * journal it may take back the end of a commit, the deleted or emptied journal. So we make the file
 * that gives durable after its snapshot begins and before the file that takes commits.
 */
#ifndef CTR_SYNC_DURABLE_H
#define CTR_SYNC_DURABLE_H

#include "sync/source.h"

/* Syncs the files of the snapshot: the WAL; or the file, its journal and its folder. Does nothing
 * for a memory database. */
int ctr_durable_source(const ctr_source *source, ctr_problem *problem);

/* When a database commits, in a transaction over several. EARLY: under WAL or without any journal.
 * LATE: with a rollback journal on disk or in memory, or if it is no file; SQLite can take it back
 * until all early ones have committed. */
typedef enum ctr_commit { CTR_COMMIT_EARLY, CTR_COMMIT_LATE } ctr_commit;
ctr_commit ctr_durable_commit(sqlite3 *db, const char *schema, ctr_problem *problem);

/* Returns whether the schema has a rollback journal on disk that SQLite syncs. */
bool ctr_durable_has_journal(sqlite3 *db, const char *schema, ctr_problem *problem);

/* Fails, naming the pragma, if a power cut could take back the commit of the schema in this
 * transaction. `as_one`: it commits together with other files, which SQLite makes durable. */
int ctr_durable_check_leader(sqlite3 *db, const char *schema, bool as_one, ctr_problem *problem);

#endif
