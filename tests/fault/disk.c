/* disk.c - a VFS over the default one whose calls fail: any, or writes that find no room. */
#include "faults.h"

#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>

#include "countdown.h"
#include "shim.h"

static sqlite3_vfs *real_vfs;
static sqlite3_vfs faulty_vfs;
static sqlite3_io_methods faulty_methods;
static bool counts, counts_writes; /* no calls, where the faults are of another kind */
static bool failed_open;

static bool fails(bool is_write)
{
    return (counts || (counts_writes && is_write)) && countdown_ends();
}

static int file_read(sqlite3_file *file, void *bytes, int n, sqlite3_int64 from)
{
    return fails(false) ? SQLITE_IOERR_READ : shim_read(file, bytes, n, from);
}

static int file_write(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 to)
{
    if (!fails(true)) return shim_write(file, bytes, n, to);
    shim_write(file, bytes, n / 2, to);
    return counts ? SQLITE_IOERR_WRITE : SQLITE_FULL;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return fails(false) ? SQLITE_IOERR_TRUNCATE : shim_truncate(file, size);
}

/* Nothing is lost here but by the faults, so nothing waits for a disk. */
static int file_sync(sqlite3_file *file, int flags)
{
    (void)file, (void)flags;
    return fails(false) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return fails(false) ? SQLITE_IOERR_FSTAT : shim_size(file, size);
}

static int file_lock(sqlite3_file *file, int level)
{
    return fails(false) ? SQLITE_IOERR_LOCK : shim_lock(file, level);
}

/* An unlock that fails is told, and done: SQLite goes on as if it were, as with a real one. */
static int file_unlock(sqlite3_file *file, int level)
{
    int rc = shim_unlock(file, level);
    return fails(false) ? SQLITE_IOERR_UNLOCK : rc;
}

static int file_check_lock(sqlite3_file *file, int *out)
{
    return fails(false) ? SQLITE_IOERR_CHECKRESERVEDLOCK : shim_check_reserved_lock(file, out);
}

static int file_map(sqlite3_file *file, int region, int size, int extend, void volatile **memory)
{
    return fails(false) ? SQLITE_IOERR_SHMMAP : shim_shm_map(file, region, size, extend, memory);
}

static int file_shared_lock(sqlite3_file *file, int offset, int n, int flags)
{
    bool locks = (flags & SQLITE_SHM_LOCK) != 0;
    return locks && fails(false) ? SQLITE_IOERR_SHMLOCK : shim_shm_lock(file, offset, n, flags);
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    (void)vfs;
    shim_file *shim = (shim_file *)file;
    *shim = (shim_file){.real = (sqlite3_file *)(shim + 1)};
    if (fails(false)) {
        failed_open = true;
        return SQLITE_CANTOPEN;
    }
    int rc = real_vfs->xOpen(real_vfs, name, shim->real, flags, out);
    if (rc == SQLITE_OK) file->pMethods = &faulty_methods;
    return rc;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int syncs_folder)
{
    (void)vfs, (void)syncs_folder;
    if (fails(false)) return SQLITE_IOERR_DELETE;
    return real_vfs->xDelete(real_vfs, name, 0);
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    (void)vfs;
    if (fails(false)) return SQLITE_IOERR_ACCESS;
    return real_vfs->xAccess(real_vfs, name, flags, out);
}

void faults_install_disk(void)
{
    faulty_methods = shim_methods;
    faulty_methods.xRead = file_read;
    faulty_methods.xWrite = file_write;
    faulty_methods.xTruncate = file_truncate;
    faulty_methods.xSync = file_sync;
    faulty_methods.xFileSize = file_size;
    faulty_methods.xLock = file_lock;
    faulty_methods.xUnlock = file_unlock;
    faulty_methods.xCheckReservedLock = file_check_lock;
    faulty_methods.xShmMap = file_map;
    faulty_methods.xShmLock = file_shared_lock;

    real_vfs = sqlite3_vfs_find(NULL);
    if (!real_vfs) abort();
    faulty_vfs = shim_vfs_over(real_vfs, "faulty", sizeof(shim_file));
    faulty_vfs.xOpen = vfs_open;
    faulty_vfs.xDelete = vfs_delete;
    faulty_vfs.xAccess = vfs_access;
    if (sqlite3_vfs_register(&faulty_vfs, 1) != SQLITE_OK) abort();
}

bool faults_failed_open(void)
{
    return failed_open;
}

static void arm(long n, bool ever, bool by_place)
{
    failed_open = false;
    countdown_arm(n, ever, by_place);
}

static void count_calls(void)
{
    counts = true;
}

static void count_writes(void)
{
    counts_writes = true;
}

/* A lock that cannot be asked for may as well be taken by somebody else. */
static bool is_of_the_disk(int rc)
{
    int primary = rc & 0xff;
    return primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN || primary == SQLITE_FULL ||
           primary == SQLITE_BUSY;
}

static bool is_full(int rc)
{
    return (rc & 0xff) == SQLITE_FULL;
}

const fault_kind disk_faults = {"disk", count_calls, arm, countdown_disarm, is_of_the_disk};
const fault_kind room_faults = {"room", count_writes, countdown_arm, countdown_disarm, is_full};
