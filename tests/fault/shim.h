/* shim.h - files that pass everything on to those of another VFS, for one that changes some of it.
 *
 * Take shim_methods and shim_vfs_over(), put in what is to be different, and have it call the rest.
 * Memory is not mapped, so that every read is seen.
 */
#ifndef TESTS_FAULT_SHIM_H
#define TESTS_FAULT_SHIM_H

#include <stddef.h>

#include <sqlite3.h>

/* The first member of a file; the real one stands behind all of it. */
typedef struct shim_file {
    sqlite3_file base;
    sqlite3_file *real;
} shim_file;

static inline sqlite3_file *shim_real(sqlite3_file *file)
{
    return ((shim_file *)file)->real;
}

static inline int shim_close(sqlite3_file *file)
{
    return shim_real(file)->pMethods->xClose(shim_real(file));
}

static inline int shim_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 at)
{
    return shim_real(file)->pMethods->xRead(shim_real(file), bytes, size, at);
}

static inline int shim_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 at)
{
    return shim_real(file)->pMethods->xWrite(shim_real(file), bytes, size, at);
}

static inline int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return shim_real(file)->pMethods->xTruncate(shim_real(file), size);
}

static inline int shim_sync(sqlite3_file *file, int flags)
{
    return shim_real(file)->pMethods->xSync(shim_real(file), flags);
}

static inline int shim_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return shim_real(file)->pMethods->xFileSize(shim_real(file), size);
}

static inline int shim_lock(sqlite3_file *file, int level)
{
    return shim_real(file)->pMethods->xLock(shim_real(file), level);
}

static inline int shim_unlock(sqlite3_file *file, int level)
{
    return shim_real(file)->pMethods->xUnlock(shim_real(file), level);
}

static inline int shim_check_reserved_lock(sqlite3_file *file, int *out)
{
    return shim_real(file)->pMethods->xCheckReservedLock(shim_real(file), out);
}

static inline int shim_control(sqlite3_file *file, int op, void *argument)
{
    return shim_real(file)->pMethods->xFileControl(shim_real(file), op, argument);
}

static inline int shim_sector_size(sqlite3_file *file)
{
    return shim_real(file)->pMethods->xSectorSize(shim_real(file));
}

static inline int shim_characteristics(sqlite3_file *file)
{
    return shim_real(file)->pMethods->xDeviceCharacteristics(shim_real(file));
}

static inline int shim_shm_map(sqlite3_file *file, int page, int size, int extend,
                               void volatile **out)
{
    return shim_real(file)->pMethods->xShmMap(shim_real(file), page, size, extend, out);
}

static inline int shim_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
    return shim_real(file)->pMethods->xShmLock(shim_real(file), offset, n, flags);
}

static inline void shim_shm_barrier(sqlite3_file *file)
{
    shim_real(file)->pMethods->xShmBarrier(shim_real(file));
}

static inline int shim_shm_unmap(sqlite3_file *file, int deletes)
{
    return shim_real(file)->pMethods->xShmUnmap(shim_real(file), deletes);
}

static const sqlite3_io_methods shim_methods = {
    .iVersion = 2,
    .xClose = shim_close,
    .xRead = shim_read,
    .xWrite = shim_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_check_reserved_lock,
    .xFileControl = shim_control,
    .xSectorSize = shim_sector_size,
    .xDeviceCharacteristics = shim_characteristics,
    .xShmMap = shim_shm_map,
    .xShmLock = shim_shm_lock,
    .xShmBarrier = shim_shm_barrier,
    .xShmUnmap = shim_shm_unmap,
};

/* What is not about files is the same. `size`: of the file, with the shim_file. */
static inline sqlite3_vfs shim_vfs_over(const sqlite3_vfs *real, const char *name, size_t size)
{
    sqlite3_vfs vfs = *real;
    vfs.pNext = NULL;
    vfs.zName = name;
    vfs.szOsFile += (int)size;
    return vfs;
}

#endif
