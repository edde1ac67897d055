/* file/identity.h - the identity of a database file: its replica id, kept in the file.
 *
 *     counter_replica      row 1: the current id, its reason and date, the fingerprint of the file
 *                          that wrote it, and its witness; see core/lineage.h. The other rows: the
 *                          ids that the file had before
 *
 * `format` is the format of everything we store in the file; we refuse any other. `name` is NULL
 * for a random id. A named id is the type-3 UUID of "dc:rack" in the DNS namespace, so that
 * `uuidgen --md5 --namespace @dns --name dc1:rack1` gives the same, as in ScyllaDB.
 *
 * This module reads and writes the rows; file/file.h checks whether they are still true.
 */
#ifndef CTR_FILE_IDENTITY_H
#define CTR_FILE_IDENTITY_H

#include "core/id.h"
#include "core/lineage.h"
#include "base/schema.h"

enum {
    CTR_FILE_FORMAT = 3,
    CTR_NAME_MAX = 255,            /* bytes of a replica's name */
    CTR_REFUSAL_MAX = 31,          /* bytes of the stored reason not to count */
    CTR_EPOCH_MAX = (1 << 30) - 1, /* so that no clock exceeds CTR_CLOCK_MAX */
    CTR_RENEWAL = 10               /* milliseconds between two renewals of the witness */
};

/* Reasons not to count that other modules test. */
#define CTR_REFUSES_RETIRED "retired"
#define CTR_REFUSES_REPLACED "replaced"

/* The progress of a file that takes over a name. */
typedef enum ctr_turn {
    CTR_TURN_NONE,  /* it holds its name, or has none */
    CTR_TURN_WAITS, /* it must not count yet */
    CTR_TURN_COUNTS /* under the negated id */
} ctr_turn;

typedef struct ctr_identity {
    bool present;
    uint8_t id[CTR_ID_SIZE];
    char name[CTR_NAME_MAX + 1]; /* "" for a random id */
    ctr_lineage lineage;
    int64_t renewed, renewal;          /* milliseconds: time and duration of a renewal */
    char refuses[CTR_REFUSAL_MAX + 1]; /* why it does not count; "" if it does */
    int64_t twist;  /* new if the lineage changes without the id, or two files may share the id */
    int64_t next;   /* above all numbers of the file that others have read */
    int64_t floors; /* new whenever a floor rises; 0: the file has no floors */

    /* Of a name; see file/succession.h. */
    int64_t epoch; /* how often the name has been replaced; 0 ... CTR_EPOCH_MAX */
    ctr_turn turn;
    int64_t names;               /* equal in files that know the same epochs; 0: none */
    uint8_t holder[CTR_ID_SIZE]; /* stays when the id changes, unless this is a copy */
} ctr_identity;

/* Reads the identity of an attached schema. Fails if it is damaged or newer, not if absent. */
int ctr_identity_read(ctr_identity *identity, sqlite3 *db, const char *schema,
                      ctr_problem *problem);

/* The same from CTR_SQL_IDENTITY_READ, prepared on the schema; resets the statement. */
int ctr_identity_take(ctr_identity *identity, sqlite3_stmt *rows, ctr_problem *problem);

/* Returns the lowest clock to write under the id. It wins over all shards of a predecessor,
 * wherever they come from. */
static inline int64_t ctr_identity_least_clock(const ctr_identity *identity)
{
    return identity->epoch > 0 ? identity->epoch << 32 : 1;
}

/* Returns the first clock of a successor under the name. */
static inline int64_t ctr_identity_beyond(const ctr_identity *identity)
{
    return *identity->name ? (identity->epoch + 1) << 32 : INT64_MAX;
}

/* Fails if the identity has another name than `name`. NULL accepts any name. */
int ctr_identity_check_name(const ctr_identity *identity, const char *schema, const char *name,
                            ctr_problem *problem);

/* Creates the tables for a first identity, and those of sync: users can always read conflicts, and
 * the first pull changes no schema. */
int ctr_identity_create(ctr_run *run);

/* Writes or replaces the row: id, name, lineage. The id is valid since `now`. */
int ctr_identity_write(ctr_run *run, const ctr_identity *identity, ctr_why why, bool alone,
                       int64_t now);

/* Records that the file does not count: the reason, the lineage and the twist. */
int ctr_identity_refuse(ctr_run *run, const ctr_identity *identity);

/* Records the current id, if there is one, as a former id. */
int ctr_identity_retire(ctr_run *run, int64_t now);

/* Adds a hint to the problem if counter_fork() would repair a damaged identity. */
void ctr_identity_offer_fork(sqlite3 *db, const char *schema, ctr_problem *problem);

/* Sets the problem "no replica id: run SELECT counter_init() ...". */
int ctr_identity_missing(const char *schema, ctr_problem *problem);

#endif
