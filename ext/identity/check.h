/* identity/check.h - checks whether an identity still describes its file.
 *
 * The first call in a transaction compares the identity with the file; later calls rely on that.
 * If they differ, the file takes a new id in the same transaction, or refuses to count
 * (identity/succession.h). The first write of a transaction renews the witness.
 */
#ifndef CTR_IDENTITY_CHECK_H
#define CTR_IDENTITY_CHECK_H

#include "identity/replica.h"

/* Reads the row into replica->identity. An absent row is not an error. */
int ctr_check_read(ctr_replica *replica, ctr_problem *problem);

/* Reads the present fingerprint and attribute into replica->seen and replica->attribute. */
int ctr_check_look(ctr_replica *replica, ctr_problem *problem);

/* Returns the id if this transaction has checked that the file may count, else NULL. Reads memory
 * only. */
const uint8_t *ctr_check_known_id(const ctr_replica *replica);

/* Returns the id to count under in this transaction; it is valid until the transaction ends. Fails,
 * with NULL, if there is no id or the file must not count. */
const uint8_t *ctr_check_id(ctr_replica *replica, ctr_problem *problem);

/* Returns the lowest clock to write under that id. */
int64_t ctr_check_least_clock(const ctr_replica *replica);

/* Returns whether the file may count, without noting that it has: to choose a file to count in. */
bool ctr_check_may_count(ctr_replica *replica, ctr_problem *problem);

/* Returns whether the file is known to have counted under its id in this transaction. */
bool ctr_check_has_counted(const ctr_replica *replica);

/* Notes that the file takes counts from `giver` that this transaction made, there or in a file that
 * `giver` took them from. ctr_check_taken_from returns the schema of the last such giver, which
 * commits last; NULL if there is none. */
void ctr_check_note_taken(ctr_replica *replica, const ctr_replica *giver);
const char *ctr_check_taken_from(const ctr_replica *replica);

/* Returns whether the file has uncommitted counts, its own or those of others. */
bool ctr_check_is_pending(const ctr_replica *replica);

/* Returns the identity, checked in this transaction, before a merge into the file. A file that
 * refuses to count may still merge. Lent like the id. */
const ctr_identity *ctr_check_identity(ctr_replica *replica, ctr_problem *problem);

/* The caller calls this before it writes a row, whichever replica counted in it. The first call in
 * a transaction renews the witness. */
int ctr_check_before_write(ctr_replica *replica, ctr_problem *problem);

#endif
