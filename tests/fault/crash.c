/* crash.c - the VFS: real files, and the disk told of all that is done to them. */
#include "crash.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sqlite3.h>

#include "crash_disk.h"

enum {
    KEPT = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL |
           SQLITE_OPEN_WAL,
    PATH_SIZE = 4096
};

typedef struct shim_file {
    sqlite3_file base;
    sqlite3_file *real;
    disk_file *disk;
    const char *path;  /* SQLite's, as long as the file is open */
    bool syncs_folder; /* with the next sync */
} shim_file;

static sqlite3_vfs *real_vfs;
static sqlite3_vfs crash_vfs;
static long countdown; /* to the call at which the power goes out; 0: it stays on */
static bool dead;
static long calls;

uint64_t crash_random(uint64_t *state)
{
    uint64_t mixed = *state += UINT64_C(0x9E3779B97F4A7C15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ (mixed >> 31);
}

/* ---- power ----------------------------------------------------------------------------------- */

void crash_arm(long n)
{
    countdown = n;
}

void crash_disarm(void)
{
    countdown = 0;
}

void crash_now(void)
{
    dead = true;
}

bool crash_is_dead(void)
{
    return dead;
}

long crash_calls(void)
{
    return calls;
}

/* Before a call that changes the disk: is the power out now? The disk may yet get what the call
 * at which it went out would have done. */
typedef enum moment { ON, OUT_NOW, OUT } moment;

static moment look(void)
{
    if (dead) return OUT;
    calls++;
    if (countdown == 0 || --countdown > 0) return ON;
    dead = true;
    return OUT_NOW;
}

void crash_begin(uint64_t seed)
{
    dead = false;
    countdown = 0;
    disk_begin(seed);
}

/* Shared memory is gone, the disk is not. */
static void remove_shared_memory(const char *folder)
{
    DIR *entries = opendir(folder);
    if (!entries) return;
    for (struct dirent *entry; (entry = readdir(entries));) {
        char path[PATH_SIZE];
        size_t size = strlen(entry->d_name);
        if (size < 4 || strcmp(entry->d_name + size - 4, "-shm") != 0) continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path)
            unlink(path);
    }
    closedir(entries);
}

void crash_power_on(const char *const *folders)
{
    countdown = 0;
    disk_lose();
    for (; *folders; folders++) remove_shared_memory(*folders);
    dead = false;
}

void crash_order_journal(const char *database, bool ordered)
{
    char path[PATH_SIZE];
    if (snprintf(path, sizeof path, "%s-journal", database) < (int)sizeof path)
        disk_order(path, ordered);
}

/* ---- fsync and setxattr, by path ------------------------------------------------------------- */

static void note_sync(int fd)
{
    char link[64], path[PATH_SIZE];
    struct stat status;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long size = readlink(link, path, sizeof path - 1);
    if (size < 0 || fstat(fd, &status) != 0) return;
    path[size] = '\0';
    if (S_ISDIR(status.st_mode)) {
        disk_sync_folder(path);
        return;
    }
    disk_file *file = disk_at(path);
    if (file) disk_sync(file);
}

int fsync(int fd)
{
    if (look() != ON) {
        errno = EIO;
        return -1;
    }
    note_sync(fd);
    return 0;
}

int setxattr(const char *path, const char *name, const void *value, size_t size, int flags)
{
    moment when = look();
    if (when == OUT_NOW) disk_set_attribute(path, name, value, size);
    if (when != ON) {
        errno = EIO;
        return -1;
    }
    long rc = syscall(SYS_setxattr, path, name, value, size, flags);
    if (rc == 0) disk_set_attribute(path, name, value, size);
    return (int)rc;
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

static disk_file *disk_of(sqlite3_file *file)
{
    return ((shim_file *)file)->disk;
}

static int file_close(sqlite3_file *file)
{
    return methods_of(file)->xClose(real_of(file));
}

static int file_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 at)
{
    return dead ? SQLITE_IOERR_READ : methods_of(file)->xRead(real_of(file), bytes, size, at);
}

static int file_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 at)
{
    moment when = look();
    if (when == OUT) return SQLITE_IOERR_WRITE;
    int rc =
        when == ON ? methods_of(file)->xWrite(real_of(file), bytes, size, at) : SQLITE_IOERR_WRITE;
    if (rc == SQLITE_OK || when == OUT_NOW) disk_write(disk_of(file), bytes, (size_t)size, at);
    return rc;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    moment when = look();
    if (when == OUT) return SQLITE_IOERR_TRUNCATE;
    int rc = when == ON ? methods_of(file)->xTruncate(real_of(file), size) : SQLITE_IOERR_TRUNCATE;
    if (rc == SQLITE_OK || when == OUT_NOW) disk_truncate(disk_of(file), size);
    return rc;
}

static int file_sync(sqlite3_file *file, int flags)
{
    (void)flags;
    shim_file *shim = (shim_file *)file;
    if (look() != ON) return SQLITE_IOERR_FSYNC;
    disk_sync(shim->disk);
    if (!shim->syncs_folder) return SQLITE_OK;
    shim->syncs_folder = false;
    if (look() != ON) return SQLITE_IOERR_DIR_FSYNC;
    disk_sync_folder_of(shim->path);
    return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return dead ? SQLITE_IOERR_FSTAT : methods_of(file)->xFileSize(real_of(file), size);
}

static int file_lock(sqlite3_file *file, int level)
{
    return dead ? SQLITE_IOERR_LOCK : methods_of(file)->xLock(real_of(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
    return methods_of(file)->xUnlock(real_of(file), level);
}

static int file_check_reserved_lock(sqlite3_file *file, int *out)
{
    if (dead) return SQLITE_IOERR_CHECKRESERVEDLOCK;
    return methods_of(file)->xCheckReservedLock(real_of(file), out);
}

/* A hint of the size to come would change files behind our back. */
static int file_control(sqlite3_file *file, int op, void *argument)
{
    if (op == SQLITE_FCNTL_SIZE_HINT) return SQLITE_OK;
    int rc = methods_of(file)->xFileControl(real_of(file), op, argument);
    if (op != SQLITE_FCNTL_VFSNAME || rc != SQLITE_OK) return rc;
    char **text = argument;
    *text = sqlite3_mprintf("crash/%z", *text);
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
    if (dead) return SQLITE_IOERR_SHMMAP;
    return methods_of(file)->xShmMap(real_of(file), page, size, extend, out);
}

static int file_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
    if (dead && !(flags & SQLITE_SHM_UNLOCK)) return SQLITE_IOERR_SHMLOCK;
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

static int open_kept(shim_file *shim, int flags, int *out)
{
    bool is_new = access(shim->path, F_OK) != 0;
    if (is_new && (flags & SQLITE_OPEN_CREATE)) {
        moment when = look();
        if (when == OUT_NOW) disk_create(shim->path);
        if (when != ON) return SQLITE_CANTOPEN;
    }
    int rc = real_vfs->xOpen(real_vfs, shim->path, shim->real, flags, out);
    if (rc != SQLITE_OK) return rc;
    shim->disk = is_new ? disk_create(shim->path) : disk_at(shim->path);
    if (!shim->disk) { /* made behind our back: nothing could be said of it */
        fprintf(stderr, "crash: %s is not known\n", shim->path);
        abort();
    }
    return SQLITE_OK;
}

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *out)
{
    (void)vfs;
    file->pMethods = NULL;
    if (dead) return SQLITE_CANTOPEN;
    if (!path || !(flags & KEPT)) return real_vfs->xOpen(real_vfs, path, file, flags, out);

    shim_file *shim = (shim_file *)file;
    *shim = (shim_file){.real = (sqlite3_file *)(shim + 1), .path = path};
    int rc = open_kept(shim, flags, out);
    if (rc != SQLITE_OK) return rc;
    shim->syncs_folder = !(flags & SQLITE_OPEN_MAIN_DB) && (flags & SQLITE_OPEN_CREATE);
    shim->base.pMethods = &file_methods;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync_folder)
{
    (void)vfs;
    moment when = look();
    if (when == OUT) return SQLITE_IOERR_DELETE;
    int rc = when == ON ? real_vfs->xDelete(real_vfs, path, 0) : SQLITE_IOERR_DELETE;
    if (rc == SQLITE_OK || when == OUT_NOW) disk_delete(path);
    if (rc != SQLITE_OK || !sync_folder) return rc;
    if (look() != ON) return SQLITE_IOERR_DIR_FSYNC;
    disk_sync_folder_of(path);
    return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *out)
{
    (void)vfs;
    return dead ? SQLITE_IOERR_ACCESS : real_vfs->xAccess(real_vfs, path, flags, out);
}

void crash_install(void)
{
    real_vfs = sqlite3_vfs_find(NULL);
    crash_vfs = *real_vfs; /* what is not about files is the same */
    crash_vfs.zName = "crash";
    crash_vfs.szOsFile = (int)sizeof(shim_file) + real_vfs->szOsFile;
    crash_vfs.xOpen = vfs_open;
    crash_vfs.xDelete = vfs_delete;
    crash_vfs.xAccess = vfs_access;
    sqlite3_vfs_register(&crash_vfs, 1);
}
