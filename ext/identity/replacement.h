/* identity/replacement.h - a file replaces another one under its name.
 *
 * A disk dies, a machine is replaced. The new file continues under the name of the old one, so that
 * a cell has two ids for each name at most, however often that happens. For some time neither file
 * knows all that was counted under the name. So the new one begins under the negated id, as in
 * ScyllaDB:
 *
 *     pending      it has not pulled yet. It must not count: another file may have shards of the
 *                  negated id from an earlier replacement
 *     counting     it has pulled from every replica that is known and not lost, and goes on from
 *                  the merged shards of the negated id. The old holder may count too
 *     promoted     it has pulled from the retired old holder; or the old holder is lost, and it has
 *                  pulled from every replica since. Every replica has its shards of the negated
 *                  id. It goes on from the merged shards of the name
 *
 * A name has an epoch. Each replacement raises it, and every contact passes it on. Clocks begin at
 * epoch times 2^32, so nothing that an earlier holder has written can win, whenever its disk comes
 * back. A file that meets a higher epoch of its own name stops counting.
 */
#ifndef CTR_IDENTITY_REPLACEMENT_H
#define CTR_IDENTITY_REPLACEMENT_H

#include "identity/replica.h"

/* Takes over the epochs that another file knows, and stops counting if one of them is a higher one
 * of its own name. The identity was checked in this transaction. `other` was read from `schema` of
 * `db`. */
int ctr_replacement_meet(ctr_replica *replica, sqlite3 *db, const char *schema,
                         const ctr_identity *other, ctr_problem *problem);

/* Notes that a waiting file has pulled, or was told of a loss. The first call gives it the next
 * epoch, so that a file that learns later of the loss of this one has a higher epoch. If nothing is
 * missing any more, the file may count, and others learn of it. */
int ctr_replacement_note(ctr_replica *replica, ctr_problem *problem);

/* Lets a pending file count from now on. Fails, naming the missing steps, if it lacks some. The
 * caller has entered the transaction. */
int ctr_replacement_start(ctr_replica *replica, ctr_problem *problem);

/* Creates the identity of a new file that is to take over a name. */
int ctr_replacement_create(ctr_replica *replica, const char *name, ctr_problem *problem);

/* Takes over the name. `holds` is a digest of the file's shards under the negated id. */
int ctr_replacement_promote(ctr_replica *replica, const uint8_t holds[CTR_ID_SIZE],
                            ctr_problem *problem);

/* Notes that another file has counted under the name, or its negated id, in a higher epoch. */
int ctr_replacement_yield(ctr_replica *replica, ctr_problem *problem);

/* Stops the file from counting. */
int ctr_replacement_retire(ctr_replica *replica, ctr_problem *problem);

/* Declares a replica lost; no file waits for it any more. */
int ctr_replacement_lose(ctr_replica *replica, const uint8_t id[CTR_ID_SIZE], ctr_problem *problem);

#endif
