#include "faults.h"

#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>

#include "countdown.h"

typedef struct faulty_file {
    sqlite3_file base;
    sqlite3_file *real;
} faulty_file;

static sqlite3_vfs *real_vfs;
static sqlite3_vfs faulty_vfs;
static bool counts, counts_writes; /* no calls, where the faults are of another kind */

static bool fails(bool is_write)
{
    return (counts || (counts_writes && is_write)) && countdown_ends();
}

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((faulty_file *)file)->real;
}

static int file_close(sqlite3_file *file)
{
    sqlite3_file *real = real_of(file);
    return real->pMethods ? real->pMethods->xClose(real) : SQLITE_OK;
}

static int file_read(sqlite3_file *file, void *bytes, int n, sqlite3_int64 from)
{
    sqlite3_file *real = real_of(file);
    if (fails(false)) return SQLITE_IOERR_READ;
    return real->pMethods->xRead(real, bytes, n, from);
}

static int file_write(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 to)
{
    sqlite3_file *real = real_of(file);
    if (!fails(true)) return real->pMethods->xWrite(real, bytes, n, to);
    real->pMethods->xWrite(real, bytes, n / 2, to);
    return counts ? SQLITE_IOERR_WRITE : SQLITE_FULL;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    sqlite3_file *real = real_of(file);
    if (fails(false)) return SQLITE_IOERR_TRUNCATE;
    return real->pMethods->xTruncate(real, size);
}

/* Nothing is lost here but by the faults, so nothing waits for a disk. */
static int file_sync(sqlite3_file *file, int flags)
{
    (void)file, (void)flags;
    return fails(false) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    sqlite3_file *real = real_of(file);
    if (fails(false)) return SQLITE_IOERR_FSTAT;
    return real->pMethods->xFileSize(real, size);
}

static int file_lock(sqlite3_file *file, int level)
{
    sqlite3_file *real = real_of(file);
    if (fails(false)) return SQLITE_IOERR_LOCK;
    return real->pMethods->xLock(real, level);
}

/* An unlock that fails is told, and done: SQLite goes on as if it were, as with a real one. */
static int file_unlock(sqlite3_file *file, int level)
{
    sqlite3_file *real = real_of(file);
    int rc = real->pMethods->xUnlock(real, level);
    return fails(false) ? SQLITE_IOERR_UNLOCK : rc;
}

static int file_check_lock(sqlite3_file *file, int *out)
{
    sqlite3_file *real = real_of(file);
    if (fails(false)) return SQLITE_IOERR_CHECKRESERVEDLOCK;
    return real->pMethods->xCheckReservedLock(real, out);
}

static int file_control(sqlite3_file *file, int op, void *argument)
{
    sqlite3_file *real = real_of(file);
    return real->pMethods->xFileControl(real, op, argument);
}

static int file_sector(sqlite3_file *file)
{
    sqlite3_file *real = real_of(file);
    return real->pMethods->xSectorSize(real);
}

static int file_kind(sqlite3_file *file)
{
    sqlite3_file *real = real_of(file);
    return real->pMethods->xDeviceCharacteristics(real);
}

static int file_map(sqlite3_file *file, int region, int size, int extend, void volatile **memory)
{
    sqlite3_file *real = real_of(file);
    if (fails(false)) return SQLITE_IOERR_SHMMAP;
    return real->pMethods->xShmMap(real, region, size, extend, memory);
}

static int file_shared_lock(sqlite3_file *file, int offset, int n, int flags)
{
    sqlite3_file *real = real_of(file);
    bool locks = (flags & SQLITE_SHM_LOCK) != 0;
    if (locks && fails(false)) return SQLITE_IOERR_SHMLOCK;
    return real->pMethods->xShmLock(real, offset, n, flags);
}

static void file_barrier(sqlite3_file *file)
{
    sqlite3_file *real = real_of(file);
    real->pMethods->xShmBarrier(real);
}

static int file_unmap(sqlite3_file *file, int deletes)
{
    sqlite3_file *real = real_of(file);
    return real->pMethods->xShmUnmap(real, deletes);
}

/* Version 2: no memory mapping, so that every read is seen. */
static const sqlite3_io_methods methods = {
    2,         file_close, file_read,        file_write,      file_truncate, file_sync,
    file_size, file_lock,  file_unlock,      file_check_lock, file_control,  file_sector,
    file_kind, file_map,   file_shared_lock, file_barrier,    file_unmap,    NULL,
    NULL};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    (void)vfs;
    faulty_file *f = (faulty_file *)file;
    f->base.pMethods = NULL;
    f->real = (sqlite3_file *)(f + 1);
    if (fails(false)) return SQLITE_CANTOPEN;
    int rc = real_vfs->xOpen(real_vfs, name, f->real, flags, out);
    if (rc == SQLITE_OK) f->base.pMethods = &methods;
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
    real_vfs = sqlite3_vfs_find(NULL);
    if (!real_vfs) abort();
    faulty_vfs = *real_vfs;
    faulty_vfs.pNext = NULL;
    faulty_vfs.zName = "faulty";
    faulty_vfs.szOsFile += (int)sizeof(faulty_file);
    faulty_vfs.xOpen = vfs_open;
    faulty_vfs.xDelete = vfs_delete;
    faulty_vfs.xAccess = vfs_access;
    if (sqlite3_vfs_register(&faulty_vfs, 1) != SQLITE_OK) abort();
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

const fault_kind disk_faults = {"disk", count_calls, countdown_arm, countdown_disarm,
                                is_of_the_disk};
const fault_kind room_faults = {"room", count_writes, countdown_arm, countdown_disarm, is_full};
