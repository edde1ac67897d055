/* file/browser.c - reads facts about files from the VFS of a browser. */
#include "file/file.h"

#ifdef __EMSCRIPTEN__

#include <errno.h>
#include <string.h>

#include "base/sqlite.h"

static const ctr_browser_files *files(void)
{
    const sqlite3_vfs *vfs = sqlite3_vfs_find(CTR_BROWSER_VFS);
    return vfs ? vfs->pAppData : NULL;
}

int64_t ctr_system_now(void)
{
    static const sqlite3_int64 UNIX_EPOCH = INT64_C(210866760000000);
    sqlite3_int64 now = 0;
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    vfs->xCurrentTimeInt64(vfs, &now);
    return now - UNIX_EPOCH;
}

/* The number serves as inode and birth time. */
int ctr_system_stat(const char *path, ctr_fingerprint *fingerprint)
{
    uint8_t number[16];
    const ctr_browser_files *ask = files();
    int error = ask ? ask->number(path, number) : ENOSYS;
    if (error) return error;
    *fingerprint = (ctr_fingerprint){.place = CTR_PLACE_FILE,
                                     .inode = ctr_bytes_get_signed(number),
                                     .has_birth = true,
                                     .birth = ctr_bytes_get_signed(number + 8)};
    return 0;
}

bool ctr_system_is_same(const char *one, const char *two)
{
    return strcmp(one, two) == 0;
}

long ctr_system_get(const char *path, uint8_t *value, size_t size)
{
    const ctr_browser_files *ask = files();
    errno = ENOSYS;
    return ask ? ask->get(path, value, size) : -1;
}

void ctr_system_set(const char *path, const uint8_t *value, size_t size)
{
    const ctr_browser_files *ask = files();
    if (ask) ask->set(path, value, size);
}

/* The VFS syncs what it writes. */
int ctr_system_sync(const char *path)
{
    (void)path;
    return 0;
}

#endif
