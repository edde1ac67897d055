/* identity/replacement.h - a file takes the place of another one under its name.
 *
 * A disk dies, a machine is replaced; the new file is to go on under the name of the old one, so
 * that a cell has two ids for each name at most, however often that happens. Between the two files
 * lies a time in which neither knows all that was counted under the name. So the new one begins
 * under the negated id, as in ScyllaDB:
 *
 *     pending      it has pulled from nobody. It must not count: somebody may have shards of the
 *                  negated id from an earlier replacement
 *     counting     it has pulled from every replica that is known and not lost, and goes on from
 *                  the merged shards of the negated id. The old holder may count too
 *     promoted     the old holder was retired and pulled from after that, or was lost and everybody
 *                  pulled from since; and everybody has its shards of the negated id. It goes on
 *                  from the merged shards of the name
 *
 * A name has an epoch, raised by each replacement and passed on at every contact. Clocks begin at
 * epoch times 2^32, so nothing that a holder before has written can win, whenever its disk comes
 * back; and a file that meets a higher epoch of its own name does not count any more.
 */
#ifndef CTR_IDENTITY_REPLACEMENT_H
#define CTR_IDENTITY_REPLACEMENT_H

#include "identity/replica.h"

/* The identity of a file, checked in this transaction, meets another file: takes over the epochs it
 * knows and stops to count if one of them says so. `other` was read from `schema` of `db`. */
int ctr_replacement_meet(ctr_replica *replica, sqlite3 *db, const char *schema,
                         const ctr_identity *other, ctr_problem *problem);

/* A waiting file has pulled, or was told of a loss. At the first time its epoch becomes the next
 * one, so that it is below that of whoever is told later that this file was lost. If nothing is
 * missing any more it may count, and others will hear of it. */
int ctr_replacement_note(ctr_replica *replica, ctr_problem *problem);

/* Lets a pending file count from now on, or says what it lacks. The caller has entered
 * the transaction. */
int ctr_replacement_start(ctr_replica *replica, ctr_problem *problem);

/* A new file that is to take over a name. */
int ctr_replacement_create(ctr_replica *replica, const char *name, ctr_problem *problem);

/* It takes over the name. `holds` is a digest of its shards under the negated id. */
int ctr_replacement_promote(ctr_replica *replica, const uint8_t holds[CTR_ID_SIZE],
                            ctr_problem *problem);

/* Another file has counted under its name, or its negated id, in a higher epoch. */
int ctr_replacement_yield(ctr_replica *replica, ctr_problem *problem);

/* It does not count any more. */
int ctr_replacement_retire(ctr_replica *replica, ctr_problem *problem);

/* A replica is lost; it will not be waited for. */
int ctr_replacement_lose(ctr_replica *replica, const uint8_t id[CTR_ID_SIZE], ctr_problem *problem);

#endif
