/* merge/durable.h - makes content that a peer has seen outlive a power cut.
 *
 * A power cut may undo the last commits under WAL with synchronous=NORMAL. With a rollback journal
 * it may undo the end of a commit, the deletion or truncation of the journal. So the source is made
 * durable after its snapshot begins and before the taking file commits.
 */
#ifndef CTR_MERGE_DURABLE_H
#define CTR_MERGE_DURABLE_H

#include "merge/source.h"

/* Syncs the files of the snapshot: the WAL; or the file, its journal and its folder. Does nothing
 * for a memory database. */
int ctr_durable_source(const ctr_source *source, ctr_problem *problem);

/* The order of commits in a transaction over several databases. EARLY: under WAL or without any
 * journal. LATE: with a rollback journal on disk or in memory, or if it is no file; SQLite can roll
 * it back until all early ones have committed. */
typedef enum ctr_commit { CTR_COMMIT_EARLY, CTR_COMMIT_LATE } ctr_commit;
ctr_commit ctr_durable_commit(sqlite3 *db, const char *schema, ctr_problem *problem);

/* Returns whether the schema has a rollback journal on disk that SQLite syncs. */
bool ctr_durable_has_journal(sqlite3 *db, const char *schema, ctr_problem *problem);

/* Fails, naming the pragma, if a power cut could undo the commit of the schema in this transaction.
 * `as_one`: it commits together with other files, which SQLite makes durable. */
int ctr_durable_check_leader(sqlite3 *db, const char *schema, bool as_one, ctr_problem *problem);

#endif
