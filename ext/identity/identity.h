/* identity/identity.h - who a database file is: its replica id, kept in the file.
 *
 *     counter_replica      one row: the current id, why and since when, where it was written (its
 *                          fingerprint), how far it had come (its witness); see core/lineage.h
 *     counter_former       the ids that the file had before
 *
 * `format` is that of everything we store in the file; another one than ours is refused. `name` is
 * NULL for a random id; a named id is the type-3 UUID of "dc:rack" in the DNS namespace, so that
 * `uuidgen --md5 --namespace @dns --name dc1:rack1` gives the same, as in ScyllaDB.
 *
 * Here are rows only; identity/check.h looks whether they are still true.
 */
#ifndef CTR_IDENTITY_IDENTITY_H
#define CTR_IDENTITY_IDENTITY_H

#include "core/id.h"
#include "core/lineage.h"
#include "sqlite/objects.h"

enum {
    CTR_FILE_FORMAT = 2,
    CTR_NAME_MAX = 255,   /* bytes of a replica's name */
    CTR_REFUSAL_MAX = 31, /* bytes of the stored reason not to count */
    CTR_EPOCH_MAX = INT32_MAX,
    CTR_RENEWAL = 10 /* milliseconds between two renewals of the witness */
};

/* Reasons not to count that others look at. */
#define CTR_REFUSES_RETIRED "retired"
#define CTR_REFUSES_REPLACED "replaced"

/* How far a file is that takes over a name. */
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
    int64_t renewed, renewal;          /* milliseconds: when, and how long that lasts */
    char refuses[CTR_REFUSAL_MAX + 1]; /* why it does not count; "" if it does */
    int64_t
        twist; /* drawn anew where the lineage changes and the id does not, or two may share it */
    int64_t next;   /* the number behind all that the file has given, where somebody has read it */
    int64_t floors; /* drawn anew whenever a floor rises; 0: there is none in the file */

    /* Of a name; see identity/replacement.h. */
    int64_t epoch; /* how often the name has been replaced; 0 ... CTR_EPOCH_MAX */
    ctr_turn turn;
    int64_t names;               /* the same in files that know the same epochs; 0: none */
    uint8_t holder[CTR_ID_SIZE]; /* stays when the id changes, unless this is a copy */
} ctr_identity;

/* Reads the identity of an attached schema; absent is no problem, damaged or newer is. */
int ctr_identity_read(ctr_identity *identity, sqlite3 *db, const char *schema,
                      ctr_problem *problem);

/* The same where it is known what the schema has. */
int ctr_identity_read_among(ctr_identity *identity, sqlite3 *db, const char *schema,
                            const ctr_objects *objects, ctr_problem *problem);

/* The same from CTR_SQL_IDENTITY_READ, prepared on the schema; leaves it reset. */
int ctr_identity_take(ctr_identity *identity, sqlite3_stmt *rows, ctr_problem *problem);

/* The lowest clock to write under the id, so that nothing which a predecessor has written, wherever
 * it comes from, can win over it. */
static inline int64_t ctr_identity_least_clock(const ctr_identity *identity)
{
    return identity->epoch > 0 ? identity->epoch << 32 : 1;
}

/* Clocks from there on are those of a successor under the name. */
static inline int64_t ctr_identity_beyond(const ctr_identity *identity)
{
    bool last = !*identity->name || identity->epoch == CTR_EPOCH_MAX;
    return last ? INT64_MAX : (identity->epoch + 1) << 32;
}

/* Fails where the identity has another name than `name`; NULL asks for none. */
int ctr_identity_check_name(const ctr_identity *identity, const char *schema, const char *name,
                            ctr_problem *problem);

/* Makes the tables, for a first identity; those of sync too: conflicts can always be read, and the
 * first pull changes no schema. */
int ctr_identity_create(ctr_run *run);

/* Writes the row, in place of one that is there: id, name, lineage; `now` is since when. */
int ctr_identity_write(ctr_run *run, const ctr_identity *identity, ctr_why why, bool alone,
                       int64_t now);

/* Writes that the file does not count: the reason, the lineage and the twist. */
int ctr_identity_refuse(ctr_run *run, const ctr_identity *identity);

/* Enters the current id, if there is one, as a former one. */
int ctr_identity_retire(ctr_run *run, int64_t now);

/* Where an identity is damaged and counter_fork() would mend it, adds that to the problem. */
void ctr_identity_offer_fork(sqlite3 *db, const char *schema, ctr_problem *problem);

/* "no replica id: run SELECT counter_init() ..." */
int ctr_identity_missing(const char *schema, ctr_problem *problem);

#endif
