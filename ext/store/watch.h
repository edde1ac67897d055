/* store/watch.h - asks the post whether a file is still the one that its identity says.
 *
 * The first question of a transaction holds the identity against the file; the others find it
 * checked. Where it does not fit, the post takes a new id in the same transaction, or refuses to
 * count (store/succession.h). The witness is renewed by the first write of a
 * transaction.
 */
#ifndef CTR_STORE_WATCH_H
#define CTR_STORE_WATCH_H

#include "store/guard.h"

/* The id, if this transaction has checked that the file may count; else NULL. No more than a look
 * at memory. */
const uint8_t *ctr_watch_checked(const ctr_post *post);

/* The id to count under, in this transaction; lent until it ends. NULL and a problem if there is
 * none or the file must not count. */
const uint8_t *ctr_watch_count(ctr_post *post, ctr_problem *problem);

/* The lowest clock to write under that id. */
int64_t ctr_watch_least_clock(const ctr_post *post);

/* The same without the word that it has: to choose who is to count. */
bool ctr_watch_may_count(ctr_post *post, ctr_problem *problem);

/* Has the file counted under its id in this transaction, as far as is known? */
bool ctr_watch_has_counted(const ctr_post *post);

/* The file takes what `giver` has counted in this transaction, or has taken of one that did, if
 * there is such; of several the last, which commits last. Its schema; NULL: there is none. */
void ctr_watch_note_taken(ctr_post *post, const ctr_post *giver);
const char *ctr_watch_taken_from(const ctr_post *post);

/* Has the file counts that are not committed, its own or others'? */
bool ctr_watch_is_pending(const ctr_post *post);

/* The identity, checked in this transaction, before a merge into the file, which is allowed where
 * counting is refused. Lent like the id. */
const ctr_identity *ctr_watch_merge(ctr_post *post, ctr_problem *problem);

/* Before a row is written, whoever has counted in it: the first write of a transaction renews the
 * witness. */
int ctr_watch_write(ctr_post *post, ctr_problem *problem);

#endif
