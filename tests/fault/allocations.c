#include "faults.h"

#include <stdlib.h>
#include <sqlite3.h>

static sqlite3_mem_methods real;
static long countdown; /* to the allocation that fails; 0: none does */
static bool for_ever, armed;
static bool has_failed;

static bool fails(void)
{
    if (!armed || countdown == 0) return false;
    if (countdown > 1) {
        countdown--;
        return false;
    }
    if (!for_ever) countdown = 0;
    has_failed = true;
    return true;
}

static void *allocate(int size)
{
    return fails() ? NULL : real.xMalloc(size);
}

static void *reallocate(void *memory, int size)
{
    return fails() ? NULL : real.xRealloc(memory, size);
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

static void arm(long n, bool ever)
{
    countdown = n;
    for_ever = ever;
    has_failed = false;
    armed = true;
}

static bool disarm(void)
{
    armed = false;
    return has_failed;
}

static bool is_out_of_memory(int rc)
{
    return (rc & 0xff) == SQLITE_NOMEM || rc == SQLITE_IOERR_NOMEM;
}

const fault_kind allocation_faults = {"allocation", install, arm, disarm, is_out_of_memory};
