/* file/names.h - the replicas and the epochs of names that a file knows: counter_sources.
 *
 * It has the files that this file pulled from, with their witnesses; in a file that is about to
 * replace another, also the files that others know, and the work that is left; and the highest
 * known epoch of each name that was ever replaced.
 *
 * This module reads and writes the rows; file/succession.h acts on them.
 */
#ifndef CTR_FILE_NAMES_H
#define CTR_FILE_NAMES_H

#include "file/file.h"

/* Reads the witness of a replica as of the last pull. Returns false if there was none. */
bool ctr_names_witness(ctr_file *file, const ctr_identity *source, ctr_pair *pair,
                       ctr_problem *problem);
void ctr_names_write(ctr_file *file, const ctr_identity *source, ctr_problem *problem);

/* Records a complete pull from a source. `holds` is a digest of the shards under my id that the
 * source has, NULL if it lacks some. */
void ctr_names_pulled(ctr_run *run, const ctr_identity *source, const uint8_t *holds);

/* Copies the sources that `from`, an untrusted file, knows. */
void ctr_names_take_over(ctr_run *run, ctr_run *from);

/* Records the holder of a name, which other files have reported. */
void ctr_names_report_holder(ctr_run *run, const uint8_t id[CTR_ID_SIZE], const char *name);

/* Declares lost every other file that has written under an id; or one file, given its holder
 * (counter_sources.holder). Several files may have had my own id, one after the other; of those the
 * caller must name one, unless none is known. A lost file that was to take over the same name, and
 * that no file has met, used the next epoch. */
void ctr_names_lose(ctr_run *run, const uint8_t id[CTR_ID_SIZE], const ctr_identity *mine);

/* Returns the highest known epoch of the other files of my name. */
int64_t ctr_names_epoch(ctr_run *run, const ctr_identity *mine);

/* Returns the highest known epoch of a name that was replaced. */
int64_t ctr_names_named_epoch(ctr_run *run, const char *name);

/* Raises the epoch of a name. */
void ctr_names_raise(ctr_run *run, const char *name, int64_t epoch);

/* Copies the epochs that `from`, an untrusted file, knows. */
void ctr_names_take_names(ctr_run *run, ctr_run *from);

/* Returns a number that is equal in files that know the same epochs; 0 if there are none. */
int64_t ctr_names_known(ctr_run *run);

/* Returns the steps that a pending file still lacks, as a list for a message, "pull from ...; ...";
 * "" if there are none; NULL on a problem or without memory. The caller frees it with
 * sqlite3_free. */
char *ctr_names_missing_to_count(ctr_run *run, const ctr_identity *mine);
char *ctr_names_missing_to_promote(ctr_run *run, const ctr_identity *mine,
                                   const uint8_t holder[CTR_ID_SIZE],
                                   const uint8_t holds[CTR_ID_SIZE]);

#endif
