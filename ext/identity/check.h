/* identity/check.h - checks whether a file is still the one that its identity says.
 *
 * The first call in a transaction holds the identity against the file; later calls find it checked.
 * Where it does not fit, the file takes a new id in the same transaction, or refuses to count
 * (identity/succession.h). The first write of a transaction renews the witness.
 */
#ifndef CTR_IDENTITY_CHECK_H
#define CTR_IDENTITY_CHECK_H

#include "identity/replica.h"

/* Reads the row into replica->identity; absent is no problem. */
int ctr_check_read(ctr_replica *replica, ctr_problem *problem);

/* What is seen of the file now, into replica->seen and replica->attribute. */
int ctr_check_look(ctr_replica *replica, ctr_problem *problem);

/* The id, if this transaction has checked that the file may count; else NULL. No more than a look
 * at memory. */
const uint8_t *ctr_check_known_id(const ctr_replica *replica);

/* The id to count under, in this transaction; lent until it ends. NULL and a problem if there is
 * none or the file must not count. */
const uint8_t *ctr_check_id(ctr_replica *replica, ctr_problem *problem);

/* The lowest clock to write under that id. */
int64_t ctr_check_least_clock(const ctr_replica *replica);

/* The same without the word that it has: to choose who is to count. */
bool ctr_check_may_count(ctr_replica *replica, ctr_problem *problem);

/* Has the file counted under its id in this transaction, as far as is known? */
bool ctr_check_has_counted(const ctr_replica *replica);

/* The file takes what `giver` has counted in this transaction, or has taken of one that did, if
 * there is such; of several the last, which commits last. Its schema; NULL: there is none. */
void ctr_check_note_taken(ctr_replica *replica, const ctr_replica *giver);
const char *ctr_check_taken_from(const ctr_replica *replica);

/* Has the file counts that are not committed, its own or others'? */
bool ctr_check_is_pending(const ctr_replica *replica);

/* The identity, checked in this transaction, before a merge into the file, which is allowed where
 * counting is refused. Lent like the id. */
const ctr_identity *ctr_check_identity(ctr_replica *replica, ctr_problem *problem);

/* Before a row is written, whoever has counted in it: the first write of a transaction renews the
 * witness. */
int ctr_check_before_write(ctr_replica *replica, ctr_problem *problem);

#endif
