/* identity/succession.h - creates and replaces identities, and stops files from counting. */
#ifndef CTR_IDENTITY_SUCCESSION_H
#define CTR_IDENTITY_SUCCESSION_H

#include "identity/replica.h"

/* Creates a missing identity, random or with `name`; checks the name of an existing one. */
int ctr_succession_create(ctr_replica *replica, const char *name, ctr_problem *problem);

/* The same for a new file that will write under the negated id of a name; see
 * identity/replacement.h. */
int ctr_succession_create_pending(ctr_replica *replica, const char *name, ctr_problem *problem);

/* Reacts to a changed lineage: the file forgot its own shards, or has a twin. A new id replaces a
 * random one; a named file refuses to count from now on. */
int ctr_succession_lineage_changed(ctr_replica *replica, ctr_why why, ctr_problem *problem);

/* Gives the file a new random id, whatever the old identity was, even if it is damaged. */
int ctr_succession_fork(ctr_replica *replica, ctr_problem *problem);

/* Makes the witness alone decide from now on. Fails if there is none. */
int ctr_succession_trust_witness(ctr_replica *replica, ctr_problem *problem);

/* Records that a floor of a table in this file has risen. */
int ctr_succession_floors_rose(ctr_replica *replica, ctr_problem *problem);

/* The only function that changes a lineage. replica->identity becomes the new one. */
void ctr_succession_follow(ctr_replica *replica, ctr_verdict verdict, ctr_problem *problem);

/* Stops the file from counting; it keeps its id. */
#define CTR_REFUSES_NUMBERS "inode numbers"
void ctr_succession_refuse(ctr_replica *replica, const char *why, ctr_problem *problem);

/* Returns a random number other than 0. */
int64_t ctr_succession_random(void);

#endif
