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

#endif
