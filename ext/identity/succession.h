/* identity/succession.h - identities that begin, end, or stop. */
#ifndef CTR_IDENTITY_SUCCESSION_H
#define CTR_IDENTITY_SUCCESSION_H

#include "identity/replica.h"

/* Makes the identity where there is none: random, or of `name`; else checks the name. */
int ctr_succession_create(ctr_replica *replica, const char *name, ctr_problem *problem);

/* The same for a new file that will write under the negated id of a name; see
 * identity/replacement.h. */
int ctr_succession_create_pending(ctr_replica *replica, const char *name, ctr_problem *problem);

/* This file's lineage has changed: it has forgotten shards of its own, or has a twin. A random id
 * makes way for a new one; a named file refuses to count from now on. */
int ctr_succession_lineage_changed(ctr_replica *replica, ctr_why why, ctr_problem *problem);

/* A new random id, whatever the old one was; a damaged one too. */
int ctr_succession_fork(ctr_replica *replica, ctr_problem *problem);

/* From now on the witness alone is asked; refused where there is none. */
int ctr_succession_trust_witness(ctr_replica *replica, ctr_problem *problem);

/* Some floor of a table in this file has risen. */
int ctr_succession_floors_rose(ctr_replica *replica, ctr_problem *problem);

/* The one place where a lineage changes; replica->identity is the new one. */
void ctr_succession_follow(ctr_replica *replica, ctr_verdict verdict, ctr_problem *problem);

/* The file stops to count, and keeps its id. */
#define CTR_REFUSES_NUMBERS "inode numbers"
void ctr_succession_refuse(ctr_replica *replica, const char *why, ctr_problem *problem);

/* A random number that is not 0. */
int64_t ctr_succession_random(void);

#endif
