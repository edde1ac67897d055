/* store/identity.h - who a database file is: its replica id, kept in the file.
 *
 *     counter_replica(one, format, id, name)      one row
 *
 * `format` is that of everything we store in the file; a newer one than ours is refused. `name` is
 * NULL for a random id; a named id is the type-3 UUID of "dc:rack" in the DNS namespace, so that
 * `uuidgen --md5 --namespace @dns --name dc1:rack1` gives the same, as in ScyllaDB.
 *
 * Nothing is cached: whoever needs the id reads it in the transaction that uses it.
 */
#ifndef CTR_STORE_IDENTITY_H
#define CTR_STORE_IDENTITY_H

#include "core/id.h"
#include "store/problem.h"

enum {
    CTR_FILE_FORMAT = 1,
    CTR_NAME_MAX = 255 /* bytes of a replica's name */
};

typedef struct ctr_identity {
    bool present;
    uint8_t id[CTR_ID_SIZE];
    char name[CTR_NAME_MAX + 1]; /* "" for a random id */
} ctr_identity;

/* Reads the identity of an attached schema; absent is no problem, damaged or newer is. */
int ctr_identity_read(ctr_identity *identity, sqlite3 *db, const char *schema,
                      ctr_problem *problem);

/* The same, and where there is none makes one: random, or of `name`, which is "dc:rack" or NULL.
 * Where there is one it must have that name, or any if `name` is NULL. Two writes: the caller makes
 * them one. */
int ctr_identity_ensure(ctr_identity *identity, sqlite3 *db, const char *schema, const char *name,
                        ctr_problem *problem);

/* Checks a row's format and id; `format` and `id_size` as stored. */
int ctr_identity_check(int64_t format, int id_size, ctr_problem *problem);

/* "no replica id: run SELECT counter_init() ..." */
int ctr_identity_missing(const char *schema, ctr_problem *problem);

#endif
