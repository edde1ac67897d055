/* powercut.c - a VFS for the tests that remembers what a power cut would leave.
 *
 * A loadable extension. "powercut" passes everything on to the default VFS and to real files, and
 * keeps beside each main database, rollback journal and WAL
 *
 *     <path>.durable    its content as of its last xSync; none if it was never synced
 *
 * tests/property/powercut.py opens databases with it and puts these contents back. The model is
 * a harsh one: of what was written since the last sync nothing survives, a name that was removed
 * comes back unless its folder was synced.
 *
 *     sync of a file         makes durable its content and its own name; the first one of a new
 *                            journal or WAL syncs the folder as well, as SQLite does there
 *     deletion               leaves the side file: after a cut the journal is back, and hot; with
 *                            syncDir it syncs the folder
 *     sync of a folder       makes every deletion in it durable: the side files of files that are
 *                            not there go
 *     new journal or WAL     keeps the side file of a deleted one of its name until its own first
 *                            sync, for so long the folder may still have the old one
 *     new database           SQLite never deletes databases, so it has nothing to do with an older
 *                            one of its name: the side files of all three go, and it is empty
 *                            (the one side file that is there before a sync)
 *     database without a     was not made here: it is durable as it stands, with its journal and
 *     side file              its WAL
 *
 * So whoever changes a database by other ways (a copy over it, an open without this VFS) has to
 * remove its side files. Extended attributes, super-journals and temporary files are not looked at:
 * they are as durable as they stand. There is no memory mapping. xSync copies the whole file.
 *
 * fsync without SQLite, of a folder, a journal or a WAL, is seen only by a process that was started
 * with this library as LD_PRELOAD.
 *
 * Files are read through the descriptor that SQLite has: another one of the database, once closed,
 * would drop SQLite's locks. An exclusive flock of the folder keeps the processes apart from one
 * another while one of them copies.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#define EXPORT __attribute__((visibility("default")))

enum { KEPT = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL, CHUNK = 65536 };

typedef struct shim_file {
    sqlite3_file base;
    sqlite3_file *real;
    const char *path;  /* SQLite's, as long as the file is open */
    bool syncs_folder; /* with the next sync */
} shim_file;

static sqlite3_vfs *real_vfs;

/* ---- side files ------------------------------------------------------------------------------ */

typedef struct name {
    char text[PATH_MAX];
} name;

static name joined(const char *path, const char *more)
{
    name out;
    int size = snprintf(out.text, sizeof out.text, "%s%s", path, more);
    if (size < 0 || size >= (int)sizeof out.text) out.text[0] = '\0'; /* opens nothing */
    return out;
}

static name side_of(const char *path)
{
    return joined(path, ".durable");
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static void forget(const char *path)
{
    unlink(side_of(path).text);
}

/* Where a file is read from: SQLite's handle or, if that is NULL, a descriptor. */
typedef struct source {
    sqlite3_file *file;
    int fd;
} source;

/* Up to `size` bytes; fewer at the end of the file, -1 if it cannot be read. */
static long read_at(source from, char *bytes, long size, sqlite3_int64 at)
{
    if (!from.file) return pread(from.fd, bytes, (size_t)size, at);
    sqlite3_int64 end;
    if (from.file->pMethods->xFileSize(from.file, &end) != SQLITE_OK) return -1;
    if (end - at < size) size = end > at ? (long)(end - at) : 0;
    if (size == 0) return 0;
    int rc = from.file->pMethods->xRead(from.file, bytes, (int)size, at);
    return rc == SQLITE_OK || rc == SQLITE_IOERR_SHORT_READ ? size : -1;
}

static bool copy(source from, int to)
{
    char bytes[CHUNK];
    for (sqlite3_int64 at = 0;;) {
        long size = read_at(from, bytes, sizeof bytes, at);
        if (size <= 0) return size == 0;
        if (write(to, bytes, (size_t)size) != size) return false;
        at += size;
    }
}

/* Whoever is killed here leaves the old side file. */
static bool remember(const char *path, source from)
{
    name side = side_of(path), fresh = joined(side.text, ".new");
    int to = open(fresh.text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (to < 0) return false;
    bool copied = copy(from, to);
    return close(to) == 0 && copied && rename(fresh.text, side.text) == 0;
}

/* Of a journal or a WAL, which have no locks that a descriptor could drop. */
static bool remember_closed(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        bool missing = errno == ENOENT;
        forget(path);
        return missing;
    }
    bool remembered = remember(path, (source){NULL, fd});
    close(fd);
    return remembered;
}

/* ---- folders --------------------------------------------------------------------------------- */

/* Is a sync under way in this thread, which knows itself what it makes durable? */
static _Thread_local bool inside;

static name folder_of(const char *path)
{
    name folder = joined(path, "");
    char *slash = strrchr(folder.text, '/');
    if (!slash) return joined(".", "");
    slash[slash == folder.text] = '\0';
    return folder;
}

static int hold(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd >= 0 && flock(fd, LOCK_EX) != 0 && errno == EINTR) continue;
    inside = true;
    return fd;
}

static void release(int fd)
{
    inside = false;
    if (fd >= 0) close(fd);
}

/* The folder is synced: what has been deleted in it stays so. */
static void forget_deleted(const char *folder)
{
    DIR *entries = opendir(folder);
    if (!entries) return;
    for (struct dirent *entry; (entry = readdir(entries));) {
        name path = joined(joined(folder, "/").text, entry->d_name);
        size_t size = strlen(path.text), suffix = strlen(side_of("").text);
        if (size <= suffix || strcmp(path.text + size - suffix, side_of("").text) != 0) continue;
        path.text[size - suffix] = '\0';
        if (!exists(path.text)) forget(path.text);
    }
    closedir(entries);
}

/* ---- fsync, if preloaded --------------------------------------------------------------------- */

static bool ends_with(const char *path, const char *end)
{
    size_t size = strlen(path), more = strlen(end);
    return size > more && strcmp(path + size - more, end) == 0;
}

/* A journal or WAL of a database that is known here. */
static bool is_known(name path)
{
    if (!ends_with(path.text, "-wal") && !ends_with(path.text, "-journal")) return false;
    *strrchr(path.text, '-') = '\0';
    return exists(side_of(path.text).text);
}

static void note_sync(int fd)
{
    name link, path;
    snprintf(link.text, sizeof link.text, "/proc/self/fd/%d", fd);
    long size = readlink(link.text, path.text, sizeof path.text - 1);
    struct stat now;
    if (size < 0 || fstat(fd, &now) != 0) return;
    path.text[size] = '\0';
    bool is_folder = S_ISDIR(now.st_mode);
    if (!is_folder && !is_known(path)) return;
    int held = hold(is_folder ? path.text : folder_of(path.text).text);
    if (is_folder)
        forget_deleted(path.text);
    else
        remember_closed(path.text);
    release(held);
}

EXPORT int fsync(int fd)
{
    if (syscall(SYS_fsync, fd) != 0) return -1;
    int error = errno;
    if (!inside) note_sync(fd);
    errno = error;
    return 0;
}

/* ---- methods of a file ----------------------------------------------------------------------- */

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((shim_file *)file)->real;
}

static const sqlite3_io_methods *methods_of(sqlite3_file *file)
{
    return real_of(file)->pMethods;
}

static int file_close(sqlite3_file *file)
{
    return methods_of(file)->xClose(real_of(file));
}

static int file_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 at)
{
    return methods_of(file)->xRead(real_of(file), bytes, size, at);
}

static int file_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 at)
{
    return methods_of(file)->xWrite(real_of(file), bytes, size, at);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return methods_of(file)->xTruncate(real_of(file), size);
}

static int file_sync(sqlite3_file *file, int flags)
{
    shim_file *shim = (shim_file *)file;
    name folder = folder_of(shim->path);
    int held = hold(folder.text);
    int rc = shim->real->pMethods->xSync(shim->real, flags);
    if (rc == SQLITE_OK && !remember(shim->path, (source){shim->real, -1})) rc = SQLITE_IOERR_FSYNC;
    if (rc == SQLITE_OK && shim->syncs_folder) {
        forget_deleted(folder.text);
        shim->syncs_folder = false;
    }
    release(held);
    return rc;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return methods_of(file)->xFileSize(real_of(file), size);
}

static int file_lock(sqlite3_file *file, int level)
{
    return methods_of(file)->xLock(real_of(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
    return methods_of(file)->xUnlock(real_of(file), level);
}

static int file_check_reserved_lock(sqlite3_file *file, int *out)
{
    return methods_of(file)->xCheckReservedLock(real_of(file), out);
}

static int file_control(sqlite3_file *file, int op, void *argument)
{
    int rc = methods_of(file)->xFileControl(real_of(file), op, argument);
    if (op != SQLITE_FCNTL_VFSNAME || rc != SQLITE_OK) return rc;
    char **text = argument;
    *text = sqlite3_mprintf("powercut/%z", *text);
    return *text ? SQLITE_OK : SQLITE_NOMEM;
}

static int file_sector_size(sqlite3_file *file)
{
    return methods_of(file)->xSectorSize(real_of(file));
}

static int file_characteristics(sqlite3_file *file)
{
    return methods_of(file)->xDeviceCharacteristics(real_of(file));
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
    return methods_of(file)->xShmMap(real_of(file), page, size, extend, out);
}

static int file_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
    return methods_of(file)->xShmLock(real_of(file), offset, n, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
    methods_of(file)->xShmBarrier(real_of(file));
}

static int file_shm_unmap(sqlite3_file *file, int delete)
{
    return methods_of(file)->xShmUnmap(real_of(file), delete);
}

static const sqlite3_io_methods file_methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_reserved_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

/* ---- methods of the VFS ---------------------------------------------------------------------- */

/* A database that has just been opened. */
static bool meet(shim_file *database, bool is_new)
{
    const char *path = database->path;
    name wal = joined(path, "-wal"), journal = joined(path, "-journal");
    if (is_new) {
        forget(wal.text);
        forget(journal.text);
        return remember(path, (source){database->real, -1});
    }
    if (exists(side_of(path).text)) return true;
    return remember_closed(wal.text) && remember_closed(journal.text) &&
           remember(path, (source){database->real, -1});
}

static int open_database(shim_file *shim, int flags, int *out)
{
    int held = hold(folder_of(shim->path).text);
    bool is_new = !exists(shim->path);
    int rc = real_vfs->xOpen(real_vfs, shim->path, shim->real, flags, out);
    if (rc == SQLITE_OK && !meet(shim, is_new)) {
        shim->real->pMethods->xClose(shim->real);
        rc = SQLITE_CANTOPEN;
    }
    release(held);
    return rc;
}

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *out)
{
    (void)vfs;
    if (!path || !(flags & KEPT)) return real_vfs->xOpen(real_vfs, path, file, flags, out);

    shim_file *shim = (shim_file *)file;
    *shim = (shim_file){.real = (sqlite3_file *)(shim + 1), .path = path};
    bool is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    int rc = is_database ? open_database(shim, flags, out)
                         : real_vfs->xOpen(real_vfs, path, shim->real, flags, out);
    if (rc != SQLITE_OK) return rc;
    shim->syncs_folder = !is_database && (flags & SQLITE_OPEN_CREATE);
    shim->base.pMethods = &file_methods;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync_folder)
{
    (void)vfs;
    name folder = folder_of(path);
    int held = hold(folder.text);
    int rc = real_vfs->xDelete(real_vfs, path, sync_folder);
    if (rc == SQLITE_OK && sync_folder) forget_deleted(folder.text);
    release(held);
    return rc;
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *out)
{
    (void)vfs;
    return real_vfs->xAccess(real_vfs, path, flags, out);
}

static int vfs_full_pathname(sqlite3_vfs *vfs, const char *path, int size, char *out)
{
    (void)vfs;
    return real_vfs->xFullPathname(real_vfs, path, size, out);
}

static void *vfs_dl_open(sqlite3_vfs *vfs, const char *path)
{
    (void)vfs;
    return real_vfs->xDlOpen(real_vfs, path);
}

static void vfs_dl_error(sqlite3_vfs *vfs, int size, char *text)
{
    (void)vfs;
    real_vfs->xDlError(real_vfs, size, text);
}

static void (*vfs_dl_sym(sqlite3_vfs *vfs, void *library, const char *symbol))(void)
{
    (void)vfs;
    return real_vfs->xDlSym(real_vfs, library, symbol);
}

static void vfs_dl_close(sqlite3_vfs *vfs, void *library)
{
    (void)vfs;
    real_vfs->xDlClose(real_vfs, library);
}

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *out)
{
    (void)vfs;
    return real_vfs->xRandomness(real_vfs, size, out);
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds)
{
    (void)vfs;
    return real_vfs->xSleep(real_vfs, microseconds);
}

static int vfs_current_time(sqlite3_vfs *vfs, double *now)
{
    (void)vfs;
    return real_vfs->xCurrentTime(real_vfs, now);
}

static int vfs_get_last_error(sqlite3_vfs *vfs, int size, char *text)
{
    (void)vfs;
    return real_vfs->xGetLastError(real_vfs, size, text);
}

static int vfs_current_time_int64(sqlite3_vfs *vfs, sqlite3_int64 *now)
{
    (void)vfs;
    return real_vfs->xCurrentTimeInt64(real_vfs, now);
}

static sqlite3_vfs powercut = {
    .iVersion = 2,
    .zName = "powercut",
    .xOpen = vfs_open,
    .xDelete = vfs_delete,
    .xAccess = vfs_access,
    .xFullPathname = vfs_full_pathname,
    .xDlOpen = vfs_dl_open,
    .xDlError = vfs_dl_error,
    .xDlSym = vfs_dl_sym,
    .xDlClose = vfs_dl_close,
    .xRandomness = vfs_randomness,
    .xSleep = vfs_sleep,
    .xCurrentTime = vfs_current_time,
    .xGetLastError = vfs_get_last_error,
    .xCurrentTimeInt64 = vfs_current_time_int64,
};

EXPORT int sqlite3_powercut_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
    (void)db;
    (void)message;
    SQLITE_EXTENSION_INIT2(api);
    if (sqlite3_vfs_find(powercut.zName)) return SQLITE_OK_LOAD_PERMANENTLY;
    real_vfs = sqlite3_vfs_find(NULL);
    powercut.szOsFile = (int)sizeof(shim_file) + real_vfs->szOsFile;
    powercut.mxPathname = real_vfs->mxPathname;
    int rc = sqlite3_vfs_register(&powercut, 0);
    return rc == SQLITE_OK ? SQLITE_OK_LOAD_PERMANENTLY : rc;
}
