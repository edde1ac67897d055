/* file/storage.c - reads and writes facts about files and memory databases. */
#include "file/file.h"

#include <errno.h>
#include <string.h>

#include "file/uuid.h"

/* ---- memory databases ------------------------------------------------------------------------ */

/* Columns of CTR_SQL_INSTANCE_READ. */
enum { READ_INSTANCE_ID, READ_INSTANCE_NUMBER, READ_INSTANCE_RANDOM };

/* 56 bits of the id: a limit that no application sets. */
static int64_t mark_of(const ctr_instance *instance)
{
    int64_t mark = 0;
    for (int i = 0; i < 7; i++) mark = mark << 8 | instance->id[i];
    return mark;
}

static bool is_marked(const ctr_instance *instance, ctr_conn *conn, const char *schema)
{
    ctr_run run = ctr_run_on(conn, schema, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_INSTANCE_MARK);
    bool is = ctr_run_row(&run, row) && sqlite3_column_int64(row, 0) == mark_of(instance);
    sqlite3_finalize(row);
    return is;
}

/* The witness replaces the attribute of a file; like that, it never falls. It counts as missing
 * while another thread writes it. */
static void read_instance(ctr_conn *conn, ctr_instance *instance, ctr_attribute *witness)
{
    *witness = (ctr_attribute){.state = CTR_ATTRIBUTE_MISSING};
    int rc = sqlite3_step(instance->read);
    if (rc == SQLITE_ROW &&
        sqlite3_column_type(instance->read, READ_INSTANCE_NUMBER) != SQLITE_NULL) {
        witness->state = CTR_ATTRIBUTE_READ;
        witness->pair = (ctr_pair){sqlite3_column_int64(instance->read, READ_INSTANCE_NUMBER),
                                   sqlite3_column_int64(instance->read, READ_INSTANCE_RANDOM)};
    }
    if ((rc & 0xff) != SQLITE_LOCKED) ctr_problem_of(conn, instance->db, rc);
    sqlite3_reset(instance->read);
}

/* Opens what connections share by a name, which it frees. */
static void open_shared(ctr_conn *conn, ctr_instance *instance, sqlite3_str *name)
{
    const char *text = ctr_text_built(conn, name);
    if (ctr_rc(conn) != SQLITE_OK) return; /* without a name it would be another database */
    int rc = sqlite3_open_v2(text, &instance->db,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, NULL);
    ctr_problem_of(conn, instance->db, rc);
}

/* Returns whether this SQLite was built without a shared cache. */
static bool omits_shared_cache(ctr_conn *conn, const ctr_instance *instance)
{
    bool omits = false;
    ctr_run run = ctr_run_on(conn, "main", NULL);
    run.db = instance->db;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_INSTANCE_OPTIONS);
    while (!omits && ctr_run_row(&run, row)) {
        const char *option = ctr_text_column(conn, row, 0);
        omits = option && strcmp(option, "OMIT_SHARED_CACHE") == 0;
    }
    sqlite3_finalize(row);
    return omits;
}

/* Opens the database of a name that the VFS memdb shares. A path may have any characters, so it is
 * written in hex. */
static void open_by_memdb(ctr_conn *conn, ctr_instance *instance, const char *path)
{
    sqlite3_str *name = sqlite3_str_new(NULL);
    sqlite3_str_appendall(name, "file:/sqlite-counter-");
    for (; *path; path++) sqlite3_str_appendf(name, "%02x", (unsigned char)*path);
    sqlite3_str_appendall(name, "?vfs=memdb");
    open_shared(conn, instance, name);
}

/* `file` is SQLite's object for the database, which connections of a shared cache share. Without
 * such a cache each would open a database of its own, so that the VFS memdb must share it, which
 * older versions of SQLite do not have. */
static void open_by_cache(ctr_conn *conn, ctr_instance *instance, const void *file)
{
    sqlite3_str *name = sqlite3_str_new(NULL);
    sqlite3_str_appendf(name, "file:sqlite-counter-%p?mode=memory&cache=shared", file);
    open_shared(conn, instance, name);
    if (ctr_rc(conn) != SQLITE_OK || !omits_shared_cache(conn, instance)) return;
    if (!sqlite3_vfs_find("memdb")) return;
    sqlite3_close(instance->db);
    instance->db = NULL;
    const char *path = ctr_text_print(conn, "%p", file);
    if (path) open_by_memdb(conn, instance, path);
}

/* `path` is the name of a database that the VFS memdb shares, or NULL. The caller closes the
 * instance, also after a failure. */
static void open_instance(ctr_conn *conn, ctr_instance *instance, const void *file,
                          const char *path)
{
    *instance = (ctr_instance){0};
    if (ctr_rc(conn) != SQLITE_OK) return;
    if (path)
        open_by_memdb(conn, instance, path);
    else
        open_by_cache(conn, instance, file);
    if (ctr_rc(conn) != SQLITE_OK) return;

    ctr_run run = ctr_run_on(conn, "main", NULL);
    run.db = instance->db;
    ctr_run_do(&run, CTR_SQL_INSTANCE_CREATE, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_INSTANCE_INSERT);
    ctr_uuid_random(instance->id);
    ctr_run_bind_id(&run, row, ":id", instance->id);
    ctr_run_once(&run, row);
    instance->read = ctr_run_prepare(&run, CTR_SQL_INSTANCE_READ);
    instance->write = ctr_run_prepare(&run, CTR_SQL_INSTANCE_WITNESS);
    if (ctr_run_row(&run, instance->read) &&
        sqlite3_column_bytes(instance->read, READ_INSTANCE_ID) == CTR_ID_SIZE)
        memcpy(instance->id, sqlite3_column_blob(instance->read, READ_INSTANCE_ID), CTR_ID_SIZE);
    sqlite3_reset(instance->read);
}

static void close_instance(ctr_instance *instance)
{
    sqlite3_finalize(instance->read);
    sqlite3_finalize(instance->write);
    sqlite3_close(instance->db);
    *instance = (ctr_instance){0};
}

/* ---- files and memory databases -------------------------------------------------------------- */

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
bool ctr_storage_is_file(ctr_conn *conn, const char *schema)
{
    char *name = NULL;
    if (sqlite3_file_control(conn->db, schema, SQLITE_FCNTL_VFSNAME, &name) == SQLITE_OK && !name)
        ctr_problem_nomem(conn);
    const char *slash = name ? strrchr(name, '/') : NULL, *bottom = slash ? slash + 1 : name;
    bool is = bottom && strncmp(bottom, OF_SYSTEM, strlen(OF_SYSTEM)) == 0;
    sqlite3_free(name);
    return is;
}

/* A memory database has no path, but that of the VFS memdb has a name that looks like one. */
static ctr_storage_kind kind_of(const char *path, ctr_conn *conn, const char *schema,
                                const sqlite3_vfs *vfs)
{
    if (!path || !*path || (vfs && strcmp(vfs->zName, "memdb") == 0)) return CTR_STORAGE_MEMORY;
    return ctr_storage_is_file(conn, schema) ? CTR_STORAGE_FILE : CTR_STORAGE_OTHER;
}

bool ctr_storage_stays(const ctr_storage *storage, const char *schema)
{
    return storage->kind == CTR_STORAGE_FILE && strcmp(schema, "main") == 0;
}

/* Opens the storage, unless the schema still has the one that is open. A memory database of the VFS
 * memdb is shared if its name begins with a slash. */
static void find_storage(ctr_storage *storage, ctr_conn *conn, const char *schema, bool anew)
{
    void *file = NULL;
    sqlite3_vfs *vfs = NULL;
    ctr_run_ask_file(conn->db, schema, SQLITE_FCNTL_VFS_POINTER, &vfs);
    if (vfs == storage->vfs && !anew && ctr_storage_stays(storage, schema)) return;
    ctr_run_ask_file(conn->db, schema, SQLITE_FCNTL_FILE_POINTER, &file);
    bool same =
        storage->kind != CTR_STORAGE_UNASKED && file == storage->file && vfs == storage->vfs;
    if (same && !anew) return;
    const char *path = sqlite3_db_filename(conn->db, schema);
    ctr_storage_kind kind = kind_of(path, conn, schema, vfs);
    if (same && storage->kind == CTR_STORAGE_MEMORY && kind == CTR_STORAGE_MEMORY &&
        is_marked(&storage->instance, conn, schema))
        return;

    close_instance(&storage->instance);
    *storage = (ctr_storage){.kind = CTR_STORAGE_UNASKED,
                             .error = storage->error,
                             .file = file,
                             .vfs = vfs,
                             .path = path};
    if (kind == CTR_STORAGE_MEMORY) {
        open_instance(conn, &storage->instance, file, path && *path == '/' ? path : NULL);
        const char *mark = ctr_text_print(conn, "%lld", (long long)mark_of(&storage->instance));
        ctr_run run = ctr_run_on(conn, schema, NULL);
        run.slots.value = mark;
        ctr_run_do(&run, CTR_SQL_INSTANCE_SET_MARK, NULL);
    }
    if (ctr_rc(conn) == SQLITE_OK) storage->kind = kind;
}

static int refuse_moved(ctr_conn *conn, const char *path)
{
    return ctr_problem_set(conn, SQLITE_IOERR_VNODE,
                           "the file %s was moved or replaced while it was open, and increments "
                           "would be lost: close it and open it again",
                           path);
}

int ctr_storage_see(ctr_storage *storage, ctr_conn *conn, const char *schema, bool anew,
                    ctr_fingerprint *seen, ctr_attribute *attribute)
{
    *seen = (ctr_fingerprint){.place = CTR_PLACE_UNKNOWN};
    if (attribute) *attribute = (ctr_attribute){.state = CTR_ATTRIBUTE_UNARMED};
    if (ctr_rc(conn) != SQLITE_OK) return ctr_rc(conn);
    find_storage(storage, conn, schema, anew);
    if (ctr_rc(conn) != SQLITE_OK) return ctr_rc(conn);
    if (storage->kind == CTR_STORAGE_MEMORY) {
        seen->place = CTR_PLACE_MEMORY;
        memcpy(seen->instance, storage->instance.id, CTR_ID_SIZE);
        if (attribute) read_instance(conn, &storage->instance, attribute);
    }
    if (storage->kind != CTR_STORAGE_FILE) return ctr_rc(conn);

    bool stays = ctr_storage_stays(storage, schema);
    const char *path = stays ? storage->path : sqlite3_db_filename(conn->db, schema);
    int error = ctr_os_stat(path, seen);
    if (error == ENOENT || error == ENOTDIR) return refuse_moved(conn, path);
    if (error)
        return ctr_problem_set(conn, SQLITE_IOERR_VNODE, "the file %s cannot be examined: %s", path,
                               strerror(error));
    if (seen->inode != storage->inode) {
        int moved = 0;
        sqlite3_file_control(conn->db, schema, SQLITE_FCNTL_HAS_MOVED, &moved);
        if (moved) return refuse_moved(conn, path);
        storage->inode = seen->inode;
    }
    if (attribute) storage->error = ctr_os_attribute(path, attribute);
    return SQLITE_OK;
}

void ctr_storage_write(ctr_storage *storage, ctr_conn *conn, const char *schema,
                       const ctr_fingerprint *seen, const ctr_pair *pair)
{
    if (storage->kind == CTR_STORAGE_MEMORY) {
        sqlite3_stmt *write = storage->instance.write;
        ctr_problem ignored;
        ctr_problem_try(conn, &ignored);
        ctr_run run = ctr_run_on(conn, "main", NULL);
        run.db = storage->instance.db;
        ctr_run_bind_int(&run, write, ":number", pair->number);
        ctr_run_bind_int(&run, write, ":random", pair->random);
        ctr_run_row(&run, write);
        sqlite3_reset(write);
        ctr_problem_close(&ignored);
    }
    if (storage->kind != CTR_STORAGE_FILE) return;
    ctr_fingerprint now;
    ctr_attribute attribute;
    const char *path = sqlite3_db_filename(conn->db, schema);
    if (!path || ctr_os_stat(path, &now) || !ctr_lineage_same_place(&now, seen)) return;
    ctr_os_attribute(path, &attribute);
    if (ctr_lineage_outdates(pair, &attribute)) ctr_os_set_attribute(path, pair);
}

void ctr_storage_close(ctr_storage *storage)
{
    close_instance(&storage->instance);
    *storage = (ctr_storage){.kind = CTR_STORAGE_UNASKED};
}
