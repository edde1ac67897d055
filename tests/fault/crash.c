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
#include "shim.h"

enum {
    KEPT = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL |
           SQLITE_OPEN_WAL,
    PATH_SIZE = 4096
};

typedef struct crash_file {
    shim_file shim;
    disk_file *disk;
    const char *path;  /* SQLite's, as long as the file is open */
    bool syncs_folder; /* with the next sync */
} crash_file;

static sqlite3_vfs *real_vfs;
static sqlite3_vfs crash_vfs;
static sqlite3_io_methods crash_methods;
static long countdown; /* to the call at which the power goes out; 0: it stays on */
static bool dead;

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

/* Before a call that changes the disk: is the power out now? The disk may yet get what the call
 * at which it went out would have done. */
typedef enum moment { ON, OUT_NOW, OUT } moment;

static moment look(void)
{
    if (dead) return OUT;
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

static disk_file *disk_of(sqlite3_file *file)
{
    return ((crash_file *)file)->disk;
}

static int file_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 at)
{
    return dead ? SQLITE_IOERR_READ : shim_read(file, bytes, size, at);
}

static int file_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 at)
{
    moment when = look();
    if (when == OUT) return SQLITE_IOERR_WRITE;
    int rc = when == ON ? shim_write(file, bytes, size, at) : SQLITE_IOERR_WRITE;
    if (rc == SQLITE_OK || when == OUT_NOW) disk_write(disk_of(file), bytes, (size_t)size, at);
    return rc;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    moment when = look();
    if (when == OUT) return SQLITE_IOERR_TRUNCATE;
    int rc = when == ON ? shim_truncate(file, size) : SQLITE_IOERR_TRUNCATE;
    if (rc == SQLITE_OK || when == OUT_NOW) disk_truncate(disk_of(file), size);
    return rc;
}

static int file_sync(sqlite3_file *file, int flags)
{
    (void)flags;
    crash_file *one = (crash_file *)file;
    if (look() != ON) return SQLITE_IOERR_FSYNC;
    disk_sync(one->disk);
    if (!one->syncs_folder) return SQLITE_OK;
    one->syncs_folder = false;
    if (look() != ON) return SQLITE_IOERR_DIR_FSYNC;
    disk_sync_folder_of(one->path);
    return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return dead ? SQLITE_IOERR_FSTAT : shim_size(file, size);
}

static int file_lock(sqlite3_file *file, int level)
{
    return dead ? SQLITE_IOERR_LOCK : shim_lock(file, level);
}

static int file_check_reserved_lock(sqlite3_file *file, int *out)
{
    return dead ? SQLITE_IOERR_CHECKRESERVEDLOCK : shim_check_reserved_lock(file, out);
}

/* A hint of the size to come would change files behind our back. */
static int file_control(sqlite3_file *file, int op, void *argument)
{
    if (op == SQLITE_FCNTL_SIZE_HINT) return SQLITE_OK;
    int rc = shim_control(file, op, argument);
    if (op != SQLITE_FCNTL_VFSNAME || rc != SQLITE_OK) return rc;
    char **text = argument;
    *text = sqlite3_mprintf("crash/%z", *text);
    return *text ? SQLITE_OK : SQLITE_NOMEM;
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
    return dead ? SQLITE_IOERR_SHMMAP : shim_shm_map(file, page, size, extend, out);
}

static int file_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
    if (dead && !(flags & SQLITE_SHM_UNLOCK)) return SQLITE_IOERR_SHMLOCK;
    return shim_shm_lock(file, offset, n, flags);
}

/* ---- methods of the VFS ---------------------------------------------------------------------- */

static int open_kept(crash_file *one, int flags, int *out)
{
    bool is_new = access(one->path, F_OK) != 0;
    if (is_new && (flags & SQLITE_OPEN_CREATE)) {
        moment when = look();
        if (when == OUT_NOW) disk_create(one->path);
        if (when != ON) return SQLITE_CANTOPEN;
    }
    int rc = real_vfs->xOpen(real_vfs, one->path, one->shim.real, flags, out);
    if (rc != SQLITE_OK) return rc;
    one->disk = is_new ? disk_create(one->path) : disk_at(one->path);
    if (!one->disk) { /* made behind our back: nothing could be said of it */
        fprintf(stderr, "crash: %s is not known\n", one->path);
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

    crash_file *one = (crash_file *)file;
    *one = (crash_file){.shim.real = (sqlite3_file *)(one + 1), .path = path};
    int rc = open_kept(one, flags, out);
    if (rc != SQLITE_OK) return rc;
    one->syncs_folder = !(flags & SQLITE_OPEN_MAIN_DB) && (flags & SQLITE_OPEN_CREATE);
    file->pMethods = &crash_methods;
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
    crash_methods = shim_methods;
    crash_methods.xRead = file_read;
    crash_methods.xWrite = file_write;
    crash_methods.xTruncate = file_truncate;
    crash_methods.xSync = file_sync;
    crash_methods.xFileSize = file_size;
    crash_methods.xLock = file_lock;
    crash_methods.xCheckReservedLock = file_check_reserved_lock;
    crash_methods.xFileControl = file_control;
    crash_methods.xShmMap = file_shm_map;
    crash_methods.xShmLock = file_shm_lock;

    real_vfs = sqlite3_vfs_find(NULL);
    crash_vfs = shim_vfs_over(real_vfs, "crash", sizeof(crash_file));
    crash_vfs.xOpen = vfs_open;
    crash_vfs.xDelete = vfs_delete;
    crash_vfs.xAccess = vfs_access;
    sqlite3_vfs_register(&crash_vfs, 1);
}
