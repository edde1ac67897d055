/* store/succession.h - identities that begin, end, or stop. */
#ifndef CTR_STORE_SUCCESSION_H
#define CTR_STORE_SUCCESSION_H

#include "store/guard.h"

/* Makes the identity where there is none: random, or of `name`; else checks the name. */
int ctr_succession_create(ctr_post *post, const char *name, ctr_problem *problem);

/* The same for a new file that will write under the negated id of a name; see
 * store/replacement.h. */
int ctr_succession_create_pending(ctr_post *post, const char *name, ctr_problem *problem);

/* This file's lineage has changed: it has forgotten shards of its own, or has a twin. A random id
 * makes way for a new one; a named file refuses to count from now on. */
int ctr_succession_lineage_changed(ctr_post *post, ctr_why why, ctr_problem *problem);

/* A new random id, whatever the old one was; a damaged one too. */
int ctr_succession_fork(ctr_post *post, ctr_problem *problem);

/* From now on the witness alone is asked; refused where there is none. */
int ctr_succession_trust_witness(ctr_post *post, ctr_problem *problem);

/* Some floor of a table in this file has risen. */
int ctr_succession_floors_rose(ctr_post *post, ctr_problem *problem);

#endif
