/* vfs.c - SQLite's files, where there is no file system: the bytes are JavaScript's.
 *
 * storage.mjs holds the files and imports nothing of this; the functions named here are what it
 * gives to the module. Locks are among the connections of one module, which has a storage to itself
 * while it works: other tabs wait for their turn.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "file/file.h"
#include "sqlite3.h"

#define FROM_STORAGE(name) __attribute__((import_module("storage"), import_name(name)))

/* What opens returns is the number of the file, or an error of SQLite's below zero. */
extern int storage_open(const char *path, int flags) FROM_STORAGE("open");
extern int storage_close(int file) FROM_STORAGE("close");
extern int storage_read(int file, void *to, int n, double at) FROM_STORAGE("read");
extern int storage_write(int file, const void *from, int n, double at) FROM_STORAGE("write");
extern int storage_truncate(int file, double size) FROM_STORAGE("truncate");
extern double storage_size(int file) FROM_STORAGE("size");
extern int storage_sync(int file) FROM_STORAGE("sync");
extern int storage_remove(const char *path) FROM_STORAGE("remove");
extern int storage_exists(const char *path) FROM_STORAGE("exists");

/* See file/browser.c; storage_get answers how many bytes, or an errno below zero. */
extern int storage_number(const char *path, uint8_t *number) FROM_STORAGE("number");
extern int storage_get(const char *path, uint8_t *value, int size) FROM_STORAGE("get");
extern void storage_set(const char *path, const uint8_t *value, int size) FROM_STORAGE("set");

extern void storage_random(void *to, int n) FROM_STORAGE("random");
extern double storage_now(void) FROM_STORAGE("now");

/* ---- locks ----------------------------------------------------------------------------------- */

typedef struct opened opened;

/* The locks on one path, SQLite's five levels; writer holds RESERVED or more. */
typedef struct locks {
    struct locks *next;
    char *path;
    int n_open, n_shared;
    bool is_pending;
    opened *writer;
} locks;

struct opened {
    sqlite3_file base;
    int file, level;
    locks *locks; /* NULL: of a file that no other connection can open */
};

static locks *all_locks;

static locks *find_locks(const char *path)
{
    locks *found = all_locks;
    while (found && strcmp(found->path, path) != 0) found = found->next;
    if (!found) {
        size_t size = strlen(path) + 1;
        found = sqlite3_malloc64(sizeof *found + size);
        if (!found) return NULL;
        *found = (locks){.next = all_locks, .path = (char *)(found + 1)};
        memcpy(found->path, path, size);
        all_locks = found;
    }
    found->n_open++;
    return found;
}

static void leave_locks(locks *left)
{
    locks **at = &all_locks;
    if (--left->n_open > 0) return;
    while (*at != left) at = &(*at)->next;
    *at = left->next;
    sqlite3_free(left);
}

static int take_shared(opened *o)
{
    if (o->locks->is_pending ||
        (o->locks->writer && o->locks->writer->level > SQLITE_LOCK_RESERVED))
        return SQLITE_BUSY;
    o->locks->n_shared++;
    return SQLITE_OK;
}

static int take_writer(opened *o, int level)
{
    if (o->locks->writer && o->locks->writer != o) return SQLITE_BUSY;
    o->locks->writer = o;
    if (level < SQLITE_LOCK_EXCLUSIVE) return SQLITE_OK;
    o->locks->is_pending = true;
    if (o->locks->n_shared > 1) {
        o->level = SQLITE_LOCK_PENDING;
        return SQLITE_BUSY;
    }
    return SQLITE_OK;
}

static int vfs_lock(sqlite3_file *base, int level)
{
    opened *o = (opened *)base;
    if (o->level >= level) return SQLITE_OK;
    int rc = SQLITE_OK;
    if (o->locks) rc = level == SQLITE_LOCK_SHARED ? take_shared(o) : take_writer(o, level);
    if (rc == SQLITE_OK) o->level = level;
    return rc;
}

static int vfs_unlock(sqlite3_file *base, int level)
{
    opened *o = (opened *)base;
    if (o->level <= level) return SQLITE_OK;
    if (o->locks && o->locks->writer == o) {
        o->locks->writer = NULL;
        o->locks->is_pending = false;
    }
    if (o->locks && level == SQLITE_LOCK_NONE) o->locks->n_shared--;
    o->level = level;
    return SQLITE_OK;
}

static int vfs_check_reserved(sqlite3_file *base, int *is_reserved)
{
    const opened *o = (opened *)base;
    *is_reserved = o->locks && o->locks->writer;
    return SQLITE_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int vfs_close(sqlite3_file *base)
{
    opened *o = (opened *)base;
    vfs_unlock(base, SQLITE_LOCK_NONE);
    if (o->locks) leave_locks(o->locks);
    return storage_close(o->file);
}

static int vfs_read(sqlite3_file *base, void *to, int n, sqlite3_int64 at)
{
    int got = storage_read(((opened *)base)->file, to, n, (double)at);
    if (got < 0) return SQLITE_IOERR_READ;
    if (got == n) return SQLITE_OK;
    memset((char *)to + got, 0, (size_t)(n - got));
    return SQLITE_IOERR_SHORT_READ;
}

static int vfs_write(sqlite3_file *base, const void *from, int n, sqlite3_int64 at)
{
    return storage_write(((opened *)base)->file, from, n, (double)at);
}

static int vfs_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    return storage_truncate(((opened *)base)->file, (double)size);
}

static int vfs_sync(sqlite3_file *base, int flags)
{
    (void)flags;
    return storage_sync(((opened *)base)->file);
}

static int vfs_size(sqlite3_file *base, sqlite3_int64 *size)
{
    *size = (sqlite3_int64)storage_size(((opened *)base)->file);
    return SQLITE_OK;
}

static int vfs_control(sqlite3_file *base, int question, void *answer)
{
    (void)base;
    if (question != SQLITE_FCNTL_VFSNAME) return SQLITE_NOTFOUND;
    *(char **)answer = sqlite3_mprintf("%s", CTR_BROWSER_VFS);
    return SQLITE_OK;
}

static int vfs_sector_size(sqlite3_file *base)
{
    (void)base;
    return 4096;
}

static int vfs_device(sqlite3_file *base)
{
    (void)base;
    return SQLITE_IOCAP_UNDELETABLE_WHEN_OPEN;
}

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *got)
{
    static const sqlite3_io_methods METHODS = {
        .iVersion = 1,
        .xClose = vfs_close,
        .xRead = vfs_read,
        .xWrite = vfs_write,
        .xTruncate = vfs_truncate,
        .xSync = vfs_sync,
        .xFileSize = vfs_size,
        .xLock = vfs_lock,
        .xUnlock = vfs_unlock,
        .xCheckReservedLock = vfs_check_reserved,
        .xFileControl = vfs_control,
        .xSectorSize = vfs_sector_size,
        .xDeviceCharacteristics = vfs_device,
    };
    (void)vfs;
    opened *o = (opened *)base;
    *o = (opened){.level = SQLITE_LOCK_NONE};
    if (path && (flags & SQLITE_OPEN_MAIN_DB)) {
        o->locks = find_locks(path);
        if (!o->locks) return SQLITE_NOMEM;
    }
    o->file = storage_open(path, flags);
    if (o->file < 0) {
        if (o->locks) leave_locks(o->locks);
        return -o->file;
    }
    o->base.pMethods = &METHODS;
    if (got) *got = flags;
    return SQLITE_OK;
}

/* ---- the VFS --------------------------------------------------------------------------------- */

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int syncs)
{
    (void)vfs, (void)syncs;
    return storage_remove(path);
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int what, int *is)
{
    (void)vfs, (void)what;
    *is = storage_exists(path);
    return SQLITE_OK;
}

/* There are no folders. */
static int vfs_path(sqlite3_vfs *vfs, const char *path, int room, char *whole)
{
    (void)vfs;
    while (strncmp(path, "./", 2) == 0) path += 2;
    size_t size = strlen(path) + 1;
    if (size > (size_t)room) return SQLITE_CANTOPEN;
    memcpy(whole, path, size);
    return SQLITE_OK;
}

static int vfs_randomness(sqlite3_vfs *vfs, int n, char *to)
{
    (void)vfs;
    storage_random(to, n);
    return n;
}

/* A worker that waits cannot be woken by another tab: whoever is busy says so at once. */
static int vfs_sleep(sqlite3_vfs *vfs, int microseconds)
{
    (void)vfs;
    return microseconds;
}

static int vfs_time(sqlite3_vfs *vfs, sqlite3_int64 *now)
{
    static const sqlite3_int64 UNIX_EPOCH = 24405875 * (sqlite3_int64)8640000;
    (void)vfs;
    *now = UNIX_EPOCH + (sqlite3_int64)storage_now();
    return SQLITE_OK;
}

static int vfs_days(sqlite3_vfs *vfs, double *days)
{
    sqlite3_int64 now;
    vfs_time(vfs, &now);
    *days = (double)now / 86400000.0;
    return SQLITE_OK;
}

static int vfs_last_error(sqlite3_vfs *vfs, int room, char *text)
{
    (void)vfs, (void)room, (void)text;
    return 0;
}

static long get_attribute(const char *path, uint8_t *value, size_t size)
{
    int n = storage_get(path, value, (int)size);
    if (n < 0) errno = -n;
    return n < 0 ? -1 : n;
}

static void set_attribute(const char *path, const uint8_t *value, size_t size)
{
    storage_set(path, value, (int)size);
}

int sqlite3_os_init(void)
{
    static ctr_browser_files files = {storage_number, get_attribute, set_attribute};
    static sqlite3_vfs vfs = {
        .iVersion = 2,
        .szOsFile = sizeof(opened),
        .mxPathname = 1024,
        .zName = CTR_BROWSER_VFS,
        .pAppData = &files,
        .xOpen = vfs_open,
        .xDelete = vfs_delete,
        .xAccess = vfs_access,
        .xFullPathname = vfs_path,
        .xRandomness = vfs_randomness,
        .xSleep = vfs_sleep,
        .xCurrentTime = vfs_days,
        .xGetLastError = vfs_last_error,
        .xCurrentTimeInt64 = vfs_time,
    };
    return sqlite3_vfs_register(&vfs, 1);
}

int sqlite3_os_end(void)
{
    return SQLITE_OK;
}
