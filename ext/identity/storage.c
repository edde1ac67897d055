/* identity/storage.c - reads and writes facts about files and memory databases. */
#include "identity/storage.h"

#include <errno.h>
#include <string.h>

#include "identity/browser.h"
#include "identity/os.h"
#include "sqlite/run.h"

/* The prefix of the names of VFSs whose files are those of the operating system. */
#if defined(_WIN32)
#define OF_SYSTEM "win32"
#elif defined(__EMSCRIPTEN__)
#define OF_SYSTEM CTR_BROWSER_VFS
#else
#define OF_SYSTEM "unix"
#endif

/* If a VFS returns SQLITE_OK without a name, there was no memory for it; a VFS that does not
 * support the call returns SQLITE_NOTFOUND. */
bool ctr_storage_is_file(sqlite3 *db, const char *schema, ctr_problem *problem)
{
    char *name = NULL;
    if (sqlite3_file_control(db, schema, SQLITE_FCNTL_VFSNAME, &name) == SQLITE_OK && !name)
        ctr_problem_nomem(problem);
    const char *slash = name ? strrchr(name, '/') : NULL, *bottom = slash ? slash + 1 : name;
    bool is = bottom && strncmp(bottom, OF_SYSTEM, strlen(OF_SYSTEM)) == 0;
    sqlite3_free(name);
    return is;
}

/* A memory database has no path, but that of the VFS memdb has a name that looks like one. */
static ctr_storage_kind kind_of(sqlite3 *db, const char *schema, const sqlite3_vfs *vfs,
                                ctr_problem *problem)
{
    const char *path = sqlite3_db_filename(db, schema);
    if (!path || !*path || (vfs && strcmp(vfs->zName, "memdb") == 0)) return CTR_STORAGE_MEMORY;
    return ctr_storage_is_file(db, schema, problem) ? CTR_STORAGE_FILE : CTR_STORAGE_OTHER;
}

static void open_instance(ctr_storage *storage, sqlite3 *db, const char *schema, const char *path,
                          ctr_problem *problem)
{
    ctr_instance_open(&storage->instance, storage->file, path, problem);
    ctr_instance_mark(&storage->instance, db, schema, problem);
}

/* A memory database of the VFS memdb is shared if its name begins with a slash. */
static void open_storage(ctr_storage *storage, sqlite3 *db, const char *schema,
                         ctr_problem *problem)
{
    const char *path = sqlite3_db_filename(db, schema);
    ctr_storage_kind kind = kind_of(db, schema, storage->vfs, problem);
    ctr_instance_close(&storage->instance);
    storage->inode = 0;
    storage->kind = CTR_STORAGE_UNASKED;
    if (kind == CTR_STORAGE_MEMORY)
        open_instance(storage, db, schema, path && *path == '/' ? path : NULL, problem);
    if (problem->rc == SQLITE_OK) storage->kind = kind;
    storage->path = path;
}

bool ctr_storage_stays(const ctr_storage *storage, const char *schema)
{
    return storage->kind == CTR_STORAGE_FILE && strcmp(schema, "main") == 0;
}

static void find_storage(ctr_storage *storage, sqlite3 *db, const char *schema, bool anew,
                         ctr_problem *problem)
{
    void *file = NULL;
    sqlite3_vfs *vfs = NULL;
    ctr_run_ask_file(db, schema, SQLITE_FCNTL_VFS_POINTER, &vfs);
    if (vfs == storage->vfs && !anew && ctr_storage_stays(storage, schema)) return;
    ctr_run_ask_file(db, schema, SQLITE_FCNTL_FILE_POINTER, &file);
    bool same =
        storage->kind != CTR_STORAGE_UNASKED && file == storage->file && vfs == storage->vfs;
    if (same && !anew) return;
    if (same && storage->kind == CTR_STORAGE_MEMORY &&
        kind_of(db, schema, vfs, problem) == storage->kind &&
        ctr_instance_is_marked(&storage->instance, db, schema, problem))
        return;
    storage->file = file;
    storage->vfs = vfs;
    open_storage(storage, db, schema, problem);
}

static int refuse_moved(ctr_problem *problem, const char *path)
{
    return ctr_problem_set(problem, SQLITE_IOERR_VNODE,
                           "the file %s was moved or replaced while it was open, and increments "
                           "would be lost: close it and open it again",
                           path);
}

static int see_file(ctr_storage *storage, sqlite3 *db, const char *schema, ctr_fingerprint *seen,
                    ctr_attribute *attribute, ctr_problem *problem)
{
    bool stays = ctr_storage_stays(storage, schema);
    const char *path = stays ? storage->path : sqlite3_db_filename(db, schema);
    int error = ctr_os_stat(path, seen);
    if (error == ENOENT || error == ENOTDIR) return refuse_moved(problem, path);
    if (error)
        return ctr_problem_set(problem, SQLITE_IOERR_VNODE, "the file %s cannot be examined: %s",
                               path, strerror(error));
    if (seen->inode != storage->inode) {
        int moved = 0;
        sqlite3_file_control(db, schema, SQLITE_FCNTL_HAS_MOVED, &moved);
        if (moved) return refuse_moved(problem, path);
        storage->inode = seen->inode;
    }
    if (attribute) storage->error = ctr_os_attribute(path, attribute);
    return problem->rc;
}

int ctr_storage_see(ctr_storage *storage, sqlite3 *db, const char *schema, bool anew,
                    ctr_fingerprint *seen, ctr_attribute *attribute, ctr_problem *problem)
{
    *seen = (ctr_fingerprint){.place = CTR_PLACE_UNKNOWN};
    if (attribute) *attribute = (ctr_attribute){.state = CTR_ATTRIBUTE_UNARMED};
    if (problem->rc != SQLITE_OK) return problem->rc;
    find_storage(storage, db, schema, anew, problem);
    if (problem->rc == SQLITE_OK && storage->kind == CTR_STORAGE_FILE)
        return see_file(storage, db, schema, seen, attribute, problem);
    if (problem->rc == SQLITE_OK && storage->kind == CTR_STORAGE_MEMORY) {
        seen->place = CTR_PLACE_MEMORY;
        memcpy(seen->instance, storage->instance.id, CTR_ID_SIZE);
        if (attribute) ctr_instance_read(&storage->instance, attribute, problem);
    }
    return problem->rc;
}

static void write_attribute(const char *path, const ctr_fingerprint *seen, const ctr_pair *pair)
{
    ctr_fingerprint now;
    ctr_attribute attribute;
    if (!path || ctr_os_stat(path, &now) || !ctr_lineage_same_place(&now, seen)) return;
    ctr_os_attribute(path, &attribute);
    if (ctr_lineage_outdates(pair, &attribute)) ctr_os_set_attribute(path, pair);
}

void ctr_storage_write(ctr_storage *storage, sqlite3 *db, const char *schema,
                       const ctr_fingerprint *seen, const ctr_pair *pair)
{
    if (storage->kind == CTR_STORAGE_MEMORY) ctr_instance_write(&storage->instance, pair);
    if (storage->kind == CTR_STORAGE_FILE)
        write_attribute(sqlite3_db_filename(db, schema), seen, pair);
}

void ctr_storage_close(ctr_storage *storage)
{
    ctr_instance_close(&storage->instance);
    *storage = (ctr_storage){.kind = CTR_STORAGE_UNASKED};
}
