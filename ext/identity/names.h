/* identity/names.h - the replicas and the epochs of names that a file knows of.
 *
 *     counter_sources    files it was pulled from: how far they had come; for one that is about to
 *                        replace another also those which others know, and what is left to be done
 *     counter_names      the highest epoch met of each name that was ever replaced
 *
 * Here are rows only; what follows from them is identity/replacement.h.
 */
#ifndef CTR_IDENTITY_NAMES_H
#define CTR_IDENTITY_NAMES_H

#include "identity/identity.h"

/* The witness of a replica, as of the last time; false if it was never pulled from. */
bool ctr_names_witness(ctr_run *run, const ctr_identity *source, ctr_pair *pair);
void ctr_names_write(ctr_run *run, const ctr_identity *source);

/* It was pulled from, whole; `holds` is a digest of the shards under my id that it has, NULL if it
 * has not all of them. */
void ctr_names_pulled(ctr_run *run, const ctr_identity *source, const uint8_t *holds);

/* Takes over what `from`, an untrusted file, knows of others. */
void ctr_names_take_over(ctr_run *run, ctr_run *from);

/* Whoever holds a name is known by hearsay. */
void ctr_names_hear_of_holder(ctr_run *run, const uint8_t id[CTR_ID_SIZE], const char *name);

/* Declares lost who has written under an id, but for this file itself; or one file, by what it
 * keeps (counter_sources.holder). Several files may have my own id, one after the other, so of
 * those it must be told which, unless none is known. One that was to take over the same name, and
 * that nobody has met, has had the epoch which would come next. */
void ctr_names_lose(ctr_run *run, const uint8_t id[CTR_ID_SIZE], const ctr_identity *mine);

/* The highest epoch that other files of my name have, as far as is known. */
int64_t ctr_names_epoch(ctr_run *run, const ctr_identity *mine);

/* The highest epoch of a name that is passed on. */
int64_t ctr_names_named_epoch(ctr_run *run, const char *name);

/* Raises the epoch of a name. */
void ctr_names_raise(ctr_run *run, const char *name, int64_t epoch);

/* Takes over the epochs that `from` knows, an untrusted file. */
void ctr_names_take_names(ctr_run *run, ctr_run *from);

/* A number that is the same where the same epochs are known; 0 where there are none. */
int64_t ctr_names_known(ctr_run *run);

/* What a pending file still lacks, as a list for a message, "pull from ...; ..."; "" if nothing.
 * To be freed with sqlite3_free; NULL: no memory, or a problem. */
char *ctr_names_missing_to_count(ctr_run *run, const ctr_identity *mine);
char *ctr_names_missing_to_promote(ctr_run *run, const ctr_identity *mine,
                                   const uint8_t holder[CTR_ID_SIZE],
                                   const uint8_t holds[CTR_ID_SIZE]);

#endif
