/* identity/storage.h - what can be seen of the thing that a schema is stored in.
 *
 *     a file on a unix VFS    by its path: fingerprint and attribute, see identity/os.h
 *     a memory database       its instance as fingerprint, and the witness kept there as attribute,
 *                             see identity/instance.h
 *     anything else           nothing can be seen: CTR_PLACE_UNKNOWN, CTR_ATTRIBUTE_UNARMED
 *
 * A file that is open here but no longer at its path is a problem: what is written into it would be
 * lost, and SQLite goes on writing under WAL.
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

/* Zeroed at first. */
typedef struct ctr_storage {
    ctr_storage_kind kind;
    int error; /* why the attribute could not be read: an errno, or 0 */

    /* Private: of the file that is open, until `file` is another one. */
    void *file;
    sqlite3_vfs *vfs;
    const char *path; /* of one in main; lent by SQLite */
    int64_t inode;    /* 0: not known yet */
    ctr_instance instance;
} ctr_storage;

/* Looks at the schema's storage; `anew` if the schema may be another file since the last look,
 * though it stands where the last one stood. NULL `attribute`: at the file alone. */
int ctr_storage_see(ctr_storage *storage, sqlite3 *db, const char *schema, bool anew,
                    ctr_fingerprint *seen, ctr_attribute *attribute, ctr_problem *problem);

/* Is it a file that the schema keeps as long as its VFS is the same? Others can be detached, and
 * sqlite3_deserialize, which can replace main, leaves it in the VFS "memdb". */
bool ctr_storage_stays(const ctr_storage *storage, const char *schema);

/* Writes the attribute of what was seen last, unless it is as new already or the path has become
 * another file. Whether it could be written is told by the next look. */
void ctr_storage_write(ctr_storage *storage, sqlite3 *db, const char *schema,
                       const ctr_fingerprint *seen, const ctr_pair *pair);

/* Is the VFS at the bottom of the schema's stack of VFSes one of the operating system's, so that
 * its path is a path? A problem if there is no memory to ask. */
bool ctr_storage_is_file(sqlite3 *db, const char *schema, ctr_problem *problem);

/* Twice is harmless. */
void ctr_storage_close(ctr_storage *storage);

#endif
