/* allocations.c - allocations of SQLite that fail. */
#include "faults.h"

#include <stdlib.h>
#include <sqlite3.h>

#include "countdown.h"

static sqlite3_mem_methods real;
static void *allocate(int size)
{
    return countdown_ends() ? NULL : real.xMalloc(size);
}

static void *reallocate(void *memory, int size)
{
    return countdown_ends() ? NULL : real.xRealloc(memory, size);
}

static void install(void)
{
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real) != SQLITE_OK) abort();
    sqlite3_mem_methods faulty = real;
    faulty.xMalloc = allocate;
    faulty.xRealloc = reallocate;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &faulty) != SQLITE_OK) abort();
    if (sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) != SQLITE_OK) abort();
}

static bool is_out_of_memory(int rc)
{
    return (rc & 0xff) == SQLITE_NOMEM || rc == SQLITE_IOERR_NOMEM;
}

const fault_kind allocation_faults = {"allocation", install, countdown_arm, countdown_disarm,
                                      is_out_of_memory};
