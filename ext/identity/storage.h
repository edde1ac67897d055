/* identity/storage.h - the fingerprint and the attribute of the storage of a schema.
 *
 *     a file on a unix VFS    by its path: fingerprint and attribute, see identity/os.h
 *     a memory database       its instance as fingerprint, and the witness kept there as attribute,
 *                             see identity/instance.h
 *     anything else           neither: CTR_PLACE_UNKNOWN, CTR_ATTRIBUTE_UNARMED
 *
 * A file that is open here but no longer at its path is a problem: all writes to it would be lost,
 * and under WAL SQLite keeps writing.
 */
#ifndef CTR_IDENTITY_STORAGE_H
#define CTR_IDENTITY_STORAGE_H

#include "core/lineage.h"
#include "identity/instance.h"

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
