/* store/medium.c - files, memory databases, and what is neither. */
#include "store/medium.h"

#include <errno.h>
#include <string.h>

#include "store/place.h"
#include "store/run.h"

/* A VFS that answers OK and tells no name has no memory for it; one that does not know the question
 * says SQLITE_NOTFOUND. */
bool ctr_medium_is_unix(sqlite3 *db, const char *schema, ctr_problem *problem)
{
    char *name = NULL;
    if (sqlite3_file_control(db, schema, SQLITE_FCNTL_VFSNAME, &name) == SQLITE_OK && !name)
        ctr_problem_nomem(problem);
    const char *slash = name ? strrchr(name, '/') : NULL, *bottom = slash ? slash + 1 : name;
    bool is = bottom && strncmp(bottom, "unix", 4) == 0;
    sqlite3_free(name);
    return is;
}

/* A memory database has no path; but one of the VFS memdb has a name that looks like one. */
static ctr_medium_kind kind_of(sqlite3 *db, const char *schema, const sqlite3_vfs *vfs,
                               ctr_problem *problem)
{
    const char *path = sqlite3_db_filename(db, schema);
    if (!path || !*path || (vfs && strcmp(vfs->zName, "memdb") == 0)) return CTR_MEDIUM_MEMORY;
    return ctr_medium_is_unix(db, schema, problem) ? CTR_MEDIUM_FILE : CTR_MEDIUM_OTHER;
}

static void open_instance(ctr_medium *medium, sqlite3 *db, const char *schema, const char *path,
                          ctr_problem *problem)
{
    ctr_instance_open(&medium->instance, medium->file, path, problem);
    ctr_instance_mark(&medium->instance, db, schema, problem);
}

/* Those of the VFS memdb are shared if their name begins with a slash. */
static void open_medium(ctr_medium *medium, sqlite3 *db, const char *schema, ctr_problem *problem)
{
    const char *path = sqlite3_db_filename(db, schema);
    ctr_medium_kind kind = kind_of(db, schema, medium->vfs, problem);
    ctr_instance_close(&medium->instance);
    medium->inode = 0;
    medium->kind = CTR_MEDIUM_UNASKED;
    if (kind == CTR_MEDIUM_MEMORY)
        open_instance(medium, db, schema, path && *path == '/' ? path : NULL, problem);
    if (problem->rc == SQLITE_OK) medium->kind = kind;
    medium->path = path;
}

bool ctr_medium_stays(const ctr_medium *medium, const char *schema)
{
    return medium->kind == CTR_MEDIUM_FILE && strcmp(schema, "main") == 0;
}

static void find_medium(ctr_medium *medium, sqlite3 *db, const char *schema, bool anew,
                        ctr_problem *problem)
{
    void *file = NULL;
    sqlite3_vfs *vfs = NULL;
    ctr_run_ask_file(db, schema, SQLITE_FCNTL_VFS_POINTER, &vfs);
    if (vfs == medium->vfs && !anew && ctr_medium_stays(medium, schema)) return;
    ctr_run_ask_file(db, schema, SQLITE_FCNTL_FILE_POINTER, &file);
    bool same = medium->kind != CTR_MEDIUM_UNASKED && file == medium->file && vfs == medium->vfs;
    if (same && !anew) return;
    if (same && medium->kind == CTR_MEDIUM_MEMORY &&
        kind_of(db, schema, vfs, problem) == medium->kind &&
        ctr_instance_is_marked(&medium->instance, db, schema, problem))
        return;
    medium->file = file;
    medium->vfs = vfs;
    open_medium(medium, db, schema, problem);
}

static int refuse_moved(ctr_problem *problem, const char *path)
{
    return ctr_problem_set(problem, SQLITE_IOERR_VNODE,
                           "the file %s was moved away or replaced while it is open, what is "
                           "counted would be lost: close it and open it again",
                           path);
}

static int see_file(ctr_medium *medium, sqlite3 *db, const char *schema, ctr_fingerprint *seen,
                    ctr_attribute *attribute, ctr_problem *problem)
{
    bool stays = ctr_medium_stays(medium, schema);
    const char *path = stays ? medium->path : sqlite3_db_filename(db, schema);
    int error = ctr_place_stat(path, seen);
    if (error == ENOENT || error == ENOTDIR) return refuse_moved(problem, path);
    if (error)
        return ctr_problem_set(problem, SQLITE_IOERR_VNODE, "the file %s cannot be looked at: %s",
                               path, strerror(error));
    if (seen->inode != medium->inode) {
        int moved = 0;
        sqlite3_file_control(db, schema, SQLITE_FCNTL_HAS_MOVED, &moved);
        if (moved) return refuse_moved(problem, path);
        medium->inode = seen->inode;
    }
    medium->error = ctr_place_attribute(path, attribute);
    return problem->rc;
}

int ctr_medium_see(ctr_medium *medium, sqlite3 *db, const char *schema, bool anew,
                   ctr_fingerprint *seen, ctr_attribute *attribute, ctr_problem *problem)
{
    *seen = (ctr_fingerprint){.place = CTR_PLACE_UNKNOWN};
    *attribute = (ctr_attribute){.state = CTR_ATTRIBUTE_UNARMED};
    if (problem->rc != SQLITE_OK) return problem->rc;
    find_medium(medium, db, schema, anew, problem);
    if (problem->rc == SQLITE_OK && medium->kind == CTR_MEDIUM_FILE)
        return see_file(medium, db, schema, seen, attribute, problem);
    if (problem->rc == SQLITE_OK && medium->kind == CTR_MEDIUM_MEMORY) {
        seen->place = CTR_PLACE_MEMORY;
        memcpy(seen->instance, medium->instance.id, CTR_ID_SIZE);
        ctr_instance_read(&medium->instance, attribute, problem);
    }
    return problem->rc;
}

static void write_attribute(const char *path, const ctr_fingerprint *seen, const ctr_pair *pair)
{
    ctr_fingerprint now;
    ctr_attribute attribute;
    if (!path || ctr_place_stat(path, &now) || !ctr_lineage_same_place(&now, seen)) return;
    ctr_place_attribute(path, &attribute);
    if (ctr_lineage_outdates(pair, &attribute)) ctr_place_set_attribute(path, pair);
}

void ctr_medium_write(ctr_medium *medium, sqlite3 *db, const char *schema,
                      const ctr_fingerprint *seen, const ctr_pair *pair)
{
    if (medium->kind == CTR_MEDIUM_MEMORY) ctr_instance_write(&medium->instance, pair);
    if (medium->kind == CTR_MEDIUM_FILE)
        write_attribute(sqlite3_db_filename(db, schema), seen, pair);
}

void ctr_medium_close(ctr_medium *medium)
{
    ctr_instance_close(&medium->instance);
    *medium = (ctr_medium){.kind = CTR_MEDIUM_UNASKED};
}
