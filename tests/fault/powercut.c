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
 * with this library as LD_PRELOAD. With POWERCUT_AT=n in its environment a process ends before its
 * nth sync: between two syncs all moments are alike.
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
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include "shim.h"

#define EXPORT __attribute__((visibility("default")))

enum { KEPT = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL, CHUNK = 65536 };

typedef struct kept_file {
    shim_file shim;
    const char *path;  /* SQLite's, as long as the file is open */
    bool syncs_folder; /* with the next sync */
} kept_file;

static sqlite3_vfs *real_vfs;
static sqlite3_vfs powercut;
static sqlite3_io_methods methods;

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

/* ---- the cut --------------------------------------------------------------------------------- */

/* Ends the process before the sync that POWERCUT_AT numbers, from 1 on. */
static void stop_before_sync(void)
{
    static long n;
    const char *at = getenv("POWERCUT_AT");
    if (at && ++n == atol(at)) _exit(1);
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
    if (!inside) stop_before_sync();
    if (syscall(SYS_fsync, fd) != 0) return -1;
    int error = errno;
    if (!inside) note_sync(fd);
    errno = error;
    return 0;
}

/* ---- methods of a file ----------------------------------------------------------------------- */

static int file_sync(sqlite3_file *file, int flags)
{
    kept_file *kept = (kept_file *)file;
    stop_before_sync();
    name folder = folder_of(kept->path);
    int held = hold(folder.text);
    int rc = shim_sync(file, flags);
    if (rc == SQLITE_OK && !remember(kept->path, (source){file, -1})) rc = SQLITE_IOERR_FSYNC;
    if (rc == SQLITE_OK && kept->syncs_folder) {
        forget_deleted(folder.text);
        kept->syncs_folder = false;
    }
    release(held);
    return rc;
}

static int file_control(sqlite3_file *file, int op, void *argument)
{
    int rc = shim_control(file, op, argument);
    if (op != SQLITE_FCNTL_VFSNAME || rc != SQLITE_OK) return rc;
    char **text = argument;
    *text = sqlite3_mprintf("powercut/%z", *text);
    return *text ? SQLITE_OK : SQLITE_NOMEM;
}

/* ---- methods of the VFS ---------------------------------------------------------------------- */

/* A database that has just been opened. */
static bool meet(const char *path, sqlite3_file *database, bool is_new)
{
    name wal = joined(path, "-wal"), journal = joined(path, "-journal");
    if (is_new) {
        forget(wal.text);
        forget(journal.text);
        return remember(path, (source){database, -1});
    }
    if (exists(side_of(path).text)) return true;
    return remember_closed(wal.text) && remember_closed(journal.text) &&
           remember(path, (source){database, -1});
}

static int open_database(const char *path, sqlite3_file *real, int flags, int *out)
{
    int held = hold(folder_of(path).text);
    bool is_new = !exists(path);
    int rc = real_vfs->xOpen(real_vfs, path, real, flags, out);
    if (rc == SQLITE_OK && !meet(path, real, is_new)) {
        real->pMethods->xClose(real);
        rc = SQLITE_CANTOPEN;
    }
    release(held);
    return rc;
}

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *out)
{
    (void)vfs;
    if (!path || !(flags & KEPT)) return real_vfs->xOpen(real_vfs, path, file, flags, out);

    kept_file *kept = (kept_file *)file;
    *kept = (kept_file){.shim.real = (sqlite3_file *)(kept + 1), .path = path};
    bool is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    int rc = is_database ? open_database(path, kept->shim.real, flags, out)
                         : real_vfs->xOpen(real_vfs, path, kept->shim.real, flags, out);
    if (rc != SQLITE_OK) return rc;
    kept->syncs_folder = !is_database && (flags & SQLITE_OPEN_CREATE);
    file->pMethods = &methods;
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

EXPORT int sqlite3_powercut_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
    (void)db;
    (void)message;
    SQLITE_EXTENSION_INIT2(api);
    if (sqlite3_vfs_find("powercut")) return SQLITE_OK_LOAD_PERMANENTLY;
    methods = shim_methods;
    methods.xSync = file_sync;
    methods.xFileControl = file_control;
    real_vfs = sqlite3_vfs_find(NULL);
    powercut = shim_vfs_over(real_vfs, "powercut", sizeof(kept_file));
    powercut.xOpen = vfs_open;
    powercut.xDelete = vfs_delete;
    int rc = sqlite3_vfs_register(&powercut, 0);
    return rc == SQLITE_OK ? SQLITE_OK_LOAD_PERMANENTLY : rc;
}
