/* file/succession.h - creates and replaces identities, stops files from counting, and lets one
 * replace another under its name.
 *
 * A disk dies, a machine is replaced. The new file continues under the name of the old one, so that
 * a cell has two ids for each name at most, however often that happens. For some time, neither file
 * has all counts under the name. So the new one begins under the negated id, as in ScyllaDB:
 *
 *     pending      it has not pulled yet. It must not count: another file may have shards of the
 *                  negated id from an earlier replacement
 *     counting     it has pulled from every replica that is known and not lost, and continues from
 *                  the merged shards of the negated id. The old holder may count too
 *     promoted     it has pulled from the retired old holder; or the old holder is lost, and it has
 *                  pulled from every replica since. Every replica has its shards of the negated
 *                  id. It goes on from the merged shards of the name
 *
 * A name has an epoch. Each replacement raises it, and every contact passes it on. Clocks begin at
 * epoch times 2^32, so no shard of an earlier holder can win, even if its disk comes back. A file
 * that meets a higher epoch of its own name stops counting.
 */
#ifndef CTR_FILE_SUCCESSION_H
#define CTR_FILE_SUCCESSION_H

#include "file/file.h"

/* Creates a missing identity, random or with `name`; checks the name of an existing one. */
int ctr_succession_create(ctr_file *file, const char *name, ctr_problem *problem);

/* Reacts to a changed lineage: the file forgot its own shards, or has a twin. A new id replaces a
 * random one; a named file refuses to count from now on. */
int ctr_succession_lineage_changed(ctr_file *file, ctr_why why, ctr_problem *problem);

/* Gives the file a new random id, whatever the old identity was, even if it is damaged. */
int ctr_succession_fork(ctr_file *file, ctr_problem *problem);

/* Makes the witness alone decide from now on. Fails if there is none. */
int ctr_succession_trust_witness(ctr_file *file, ctr_problem *problem);

/* Records that a floor of a table in this file has risen. */
int ctr_succession_floors_rose(ctr_file *file, ctr_problem *problem);

/* The only function that changes a lineage. replica->identity becomes the new one. */
void ctr_succession_follow(ctr_file *file, ctr_verdict verdict, ctr_problem *problem);

/* Stops the file from counting; it keeps its id. */
#define CTR_REFUSES_NUMBERS "inode numbers"
void ctr_succession_refuse(ctr_file *file, const char *why, ctr_problem *problem);

/* Returns a random number other than 0. */
int64_t ctr_succession_random(void);

/* ---- a name that another file takes over ---- */

/* Copies the epochs that another file knows, and stops counting if its own name has a higher one.
 * The identity was checked in this transaction. `other` was read from `schema` of `db`. */
int ctr_succession_meet(ctr_file *file, sqlite3 *db, const char *schema, const ctr_identity *other,
                        ctr_problem *problem);

/* Notes that a waiting file has pulled, or that a replica was declared lost. The first call gives
 * it the next epoch, so that if this file is lost, its successor has a higher one. If no step is
 * missing, the file may count from now on, and its epoch is passed on. */
int ctr_succession_note(ctr_file *file, ctr_problem *problem);

/* Lets a pending file count from now on. Fails, naming the missing steps, if it lacks some. The
 * caller has entered the transaction. */
int ctr_succession_start(ctr_file *file, ctr_problem *problem);

/* Creates the identity of a new file that is to take over a name. */
int ctr_succession_create_pending(ctr_file *file, const char *name, ctr_problem *problem);

/* Takes over the name. `holds` is a digest of the file's shards under the negated id. */
int ctr_succession_promote(ctr_file *file, const uint8_t holds[CTR_ID_SIZE], ctr_problem *problem);

/* Notes that another file has counted under the name, or its negated id, in a higher epoch. */
int ctr_succession_yield(ctr_file *file, ctr_problem *problem);

/* Stops the file from counting. */
int ctr_succession_retire(ctr_file *file, ctr_problem *problem);

/* Declares a replica lost; no file waits for it any more. */
int ctr_succession_lose(ctr_file *file, const uint8_t id[CTR_ID_SIZE], ctr_problem *problem);

#endif
