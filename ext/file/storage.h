/* file/storage.h - the fingerprint and the attribute of the storage of a schema.
 *
 *     a file on a unix VFS    by its path: fingerprint and attribute, see file/os.h
 *     a memory database       its instance as fingerprint, and the witness kept there as attribute,
 *                             see below
 *     anything else           neither: CTR_PLACE_UNKNOWN, CTR_ATTRIBUTE_UNARMED
 *
 * A file has an inode; a memory database differs from a copy of its content only by its object in
 * this process. So the connections that share a memory database and count in it also share a second
 * one, named after the first. The first connection puts a random id into it. It lives until the
 * last of these connections closes. So several connections of one memory database are one replica.
 * Content that is loaded into another one, or after all of them have closed, is a copy.
 *
 * After DETACH the next memory database may have the same address. So we mark the open one by a
 * setting that is not part of its content: its journal_size_limit, which a memory database does
 * not use.
 *
 * A file that is open here but no longer at its path is a problem: all writes to it would be lost,
 * and under WAL SQLite keeps writing.
 */
#ifndef CTR_FILE_STORAGE_H
#define CTR_FILE_STORAGE_H

#include "core/id.h"
#include "core/lineage.h"
#include "base/problem.h"

/* A random id for the lifetime of a memory database. */
typedef struct ctr_instance {
    uint8_t id[CTR_ID_SIZE];

    sqlite3 *db; /* private, owned, as are the statements */
    sqlite3_stmt *read, *write;
} ctr_instance;

typedef enum ctr_storage_kind {
    CTR_STORAGE_UNASKED,
    CTR_STORAGE_FILE,
    CTR_STORAGE_MEMORY,
    CTR_STORAGE_OTHER
} ctr_storage_kind;

/* Zero it first. */
typedef struct ctr_storage {
    ctr_storage_kind kind;
    int error; /* why the attribute could not be read: an errno, or 0 */

    /* Private: about the open file, until `file` changes. */
    void *file;
    sqlite3_vfs *vfs;
    const char *path; /* of main; lent by SQLite */
    int64_t inode;    /* 0: not known yet */
    ctr_instance instance;
} ctr_storage;

/* Reads the fingerprint and the attribute of the schema's storage; with NULL `attribute`, only the
 * fingerprint. `anew`: the schema may be another file than at the last call, at the same
 * address. */
int ctr_storage_see(ctr_storage *storage, sqlite3 *db, const char *schema, bool anew,
                    ctr_fingerprint *seen, ctr_attribute *attribute, ctr_problem *problem);

/* Returns whether the schema keeps this file as long as its VFS is the same. Other schemas can be
 * detached; sqlite3_deserialize, which can replace main, leaves it in the VFS "memdb". */
bool ctr_storage_stays(const ctr_storage *storage, const char *schema);

/* Writes the attribute of the file seen last, unless it is at least as new already or the path
 * leads to another file. The next read shows whether that succeeded. */
void ctr_storage_write(ctr_storage *storage, sqlite3 *db, const char *schema,
                       const ctr_fingerprint *seen, const ctr_pair *pair);

/* Returns whether the bottom VFS of the schema's stack is one of the operating system's, so that
 * the name of the file is a path. Fails without memory. */
bool ctr_storage_is_file(sqlite3 *db, const char *schema, ctr_problem *problem);

/* A second call does nothing. */
void ctr_storage_close(ctr_storage *storage);

#endif
