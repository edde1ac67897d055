/* disk.c - a VFS over three buffers, and the operating system as the library sees it. */
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>

#include <sqlite3.h>
#include <uuid/uuid.h>

#include "grow.h"

enum { MOST_PAGES = 128, CHANGE_COUNTER = 24, VERSION_VALID_FOR = 92, CHANGES = 16 };

typedef struct file {
    uint8_t bytes[MOST_PAGES * PAGE_SIZE];
    uint32_t n_pages, volume;
    bool kept; /* it is `volume` still */
} file;

/* Volumes are lists of pages, one behind the other in `numbers`. */
typedef struct volume {
    uint32_t first, n_pages;
} volume;

static file files[FILES];
static struct {
    uint8_t *pages;
    uint32_t *numbers;
    volume *volumes;
    disk_place *places;
    size_t n_pages, n_numbers, n_volumes, n_places;
    lookup page_lookup, volume_lookup, place_lookup;
} kept;
static uint32_t changes; /* rises faster than SQLite raises the change counter by itself */

int64_t disk_now;
disk_place disk_places[FILES];

/* ---- volumes --------------------------------------------------------------------------------- */

static bool same_page(const void *at, uint32_t page)
{
    return memcmp(kept.pages + (size_t)page * PAGE_SIZE, at, PAGE_SIZE) == 0;
}

static uint32_t keep_page(const uint8_t *bytes)
{
    bool is_new;
    uint32_t page = lookup_find(&kept.page_lookup, hash_bytes(bytes, PAGE_SIZE), same_page, bytes,
                                (uint32_t)kept.n_pages, &is_new);
    if (!is_new) return page;
    uint8_t *to = grow(&kept.pages, &kept.n_pages, PAGE_SIZE);
    memcpy(to, bytes, PAGE_SIZE);
    return page;
}

typedef struct page_list {
    uint32_t n;
    uint32_t pages[MOST_PAGES];
} page_list;

static bool same_volume(const void *at, uint32_t number)
{
    const page_list *list = at;
    const volume *one = &kept.volumes[number];
    return one->n_pages == list->n &&
           memcmp(kept.numbers + one->first, list->pages, list->n * sizeof *list->pages) == 0;
}

static void write_change_counter(file *one, uint32_t to)
{
    uint8_t bytes[4] = {(uint8_t)(to >> 24), (uint8_t)(to >> 16), (uint8_t)(to >> 8), (uint8_t)to};
    memcpy(one->bytes + CHANGE_COUNTER, bytes, sizeof bytes);
    memcpy(one->bytes + VERSION_VALID_FOR, bytes, sizeof bytes);
}

/* No connection has seen this one before. */
static void renew_change_counter(file *one)
{
    changes += CHANGES;
    write_change_counter(one, changes);
}

uint32_t disk_keep(int number, bool *is_new)
{
    file *one = &files[number];
    *is_new = false;
    if (one->kept) return one->volume;
    page_list list = {.n = one->n_pages};
    write_change_counter(one, 0);
    for (uint32_t i = 0; i < list.n; i++) list.pages[i] = keep_page(one->bytes + i * PAGE_SIZE);
    renew_change_counter(one);
    uint64_t hash = hash_bytes(list.pages, list.n * sizeof *list.pages);
    one->volume = lookup_find(&kept.volume_lookup, hash, same_volume, &list,
                              (uint32_t)kept.n_volumes, is_new);
    one->kept = true;
    if (!*is_new) return one->volume;
    volume *to = grow(&kept.volumes, &kept.n_volumes, sizeof *to);
    *to = (volume){(uint32_t)kept.n_numbers, list.n};
    for (uint32_t i = 0; i < list.n; i++)
        *(uint32_t *)grow(&kept.numbers, &kept.n_numbers, sizeof *kept.numbers) = list.pages[i];
    return one->volume;
}

void disk_put(int number, uint32_t wanted)
{
    file *one = &files[number];
    if (one->kept && one->volume == wanted) return;
    const volume *from = &kept.volumes[wanted];
    for (uint32_t i = 0; i < from->n_pages; i++)
        memcpy(one->bytes + i * PAGE_SIZE,
               kept.pages + (size_t)kept.numbers[from->first + i] * PAGE_SIZE, PAGE_SIZE);
    one->n_pages = from->n_pages;
    one->volume = wanted;
    one->kept = true;
    renew_change_counter(one);
}

static bool same_place(const void *at, uint32_t place)
{
    return memcmp(&kept.places[place], at, sizeof(disk_place)) == 0;
}

uint32_t disk_keep_place(int number)
{
    bool is_new;
    const disk_place *place = &disk_places[number];
    uint32_t at = lookup_find(&kept.place_lookup, hash_bytes(place, sizeof *place), same_place,
                              place, (uint32_t)kept.n_places, &is_new);
    if (is_new) memcpy(grow(&kept.places, &kept.n_places, sizeof *place), place, sizeof *place);
    return at;
}

void disk_put_place(int number, uint32_t place)
{
    memcpy(&disk_places[number], &kept.places[place], sizeof(disk_place));
}

const disk_place *disk_kept_place(uint32_t place)
{
    return &kept.places[place];
}

uint32_t disk_volumes(void)
{
    return (uint32_t)kept.n_volumes;
}

uint32_t disk_pages(void)
{
    return (uint32_t)kept.n_pages;
}

/* ---- the VFS --------------------------------------------------------------------------------- */

typedef struct handle {
    sqlite3_file base;
    file *of;
} handle;

/* The number of a file, or -1: a journal, or none of ours. */
static int number_of(const char *path)
{
    size_t folder = strlen(DISK_FOLDER);
    if (!path || strncmp(path, DISK_FOLDER, folder) != 0 || strlen(path) != folder + 1) return -1;
    return path[folder] >= 'a' && path[folder] < 'a' + FILES ? path[folder] - 'a' : -1;
}

static int file_close(sqlite3_file *base)
{
    (void)base;
    return SQLITE_OK;
}

static int file_read(sqlite3_file *base, void *to, int n, sqlite3_int64 at)
{
    const file *one = ((handle *)base)->of;
    int64_t size = (int64_t)one->n_pages * PAGE_SIZE, there = size - at < n ? size - at : n;
    if (there < 0) there = 0;
    memcpy(to, one->bytes + at, (size_t)there);
    memset((uint8_t *)to + there, 0, (size_t)(n - there));
    return there == n ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *base, const void *from, int n, sqlite3_int64 at)
{
    file *one = ((handle *)base)->of;
    if (at + n > (int64_t)sizeof one->bytes) return SQLITE_FULL;
    memcpy(one->bytes + at, from, (size_t)n);
    uint32_t pages = (uint32_t)((at + n + PAGE_SIZE - 1) / PAGE_SIZE);
    if (pages > one->n_pages) one->n_pages = pages;
    one->kept = false;
    return SQLITE_OK;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    file *one = ((handle *)base)->of;
    one->n_pages = (uint32_t)(size / PAGE_SIZE);
    one->kept = false;
    return SQLITE_OK;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size)
{
    *size = (sqlite3_int64)((handle *)base)->of->n_pages * PAGE_SIZE;
    return SQLITE_OK;
}

/* One process, and one statement at a time: nobody is in the way. */
static int file_nothing(sqlite3_file *base, int what)
{
    (void)base;
    (void)what;
    return SQLITE_OK;
}

static int file_reserved(sqlite3_file *base, int *is)
{
    (void)base;
    *is = 0;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *base, int what, void *argument)
{
    (void)base;
    if (what != SQLITE_FCNTL_VFSNAME) return SQLITE_NOTFOUND;
    *(char **)argument = sqlite3_mprintf("unix-model");
    return SQLITE_OK;
}

static int file_sector(sqlite3_file *base)
{
    (void)base;
    return PAGE_SIZE;
}

static int file_traits(sqlite3_file *base)
{
    (void)base;
    return 0;
}

static const sqlite3_io_methods METHODS = {
    1,           file_close,   file_read,    file_write,    file_truncate, file_nothing,
    file_size,   file_nothing, file_nothing, file_reserved, file_control,  file_sector,
    file_traits, NULL,         NULL,         NULL,          NULL,          NULL,
    NULL};

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *out)
{
    (void)vfs;
    int number = number_of(path);
    base->pMethods = NULL;
    if (number < 0) return SQLITE_CANTOPEN;
    ((handle *)base)->of = &files[number];
    base->pMethods = &METHODS;
    if (out) *out = flags;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync)
{
    (void)vfs;
    (void)path;
    (void)sync;
    return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *is)
{
    (void)vfs;
    (void)flags;
    *is = number_of(path) >= 0;
    return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *path, int size, char *to)
{
    (void)vfs;
    sqlite3_snprintf(size, to, "%s", path);
    return SQLITE_OK;
}

static int vfs_time(sqlite3_vfs *vfs, double *days)
{
    (void)vfs;
    *days = 2440587.5 + (double)disk_now / 86400000.0;
    return SQLITE_OK;
}

static int vfs_randomness(sqlite3_vfs *vfs, int n, char *to)
{
    (void)vfs;
    memset(to, 0, (size_t)n);
    return n;
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds)
{
    (void)vfs;
    return microseconds;
}

static int vfs_error(sqlite3_vfs *vfs, int size, char *to)
{
    (void)vfs;
    (void)size;
    (void)to;
    return 0;
}

static sqlite3_vfs the_vfs = {.iVersion = 1,
                              .szOsFile = sizeof(handle),
                              .mxPathname = 64,
                              .zName = "unix-model",
                              .xOpen = vfs_open,
                              .xDelete = vfs_delete,
                              .xAccess = vfs_access,
                              .xFullPathname = vfs_full_path,
                              .xRandomness = vfs_randomness,
                              .xSleep = vfs_sleep,
                              .xCurrentTime = vfs_time,
                              .xGetLastError = vfs_error};

void disk_open(void)
{
    sqlite3_vfs_register(&the_vfs, 0);
    memset(files, 0, sizeof files);
    memset(disk_places, 0, sizeof disk_places);
}

void disk_close(void)
{
    sqlite3_vfs_unregister(&the_vfs);
    lookup_close(&kept.page_lookup);
    lookup_close(&kept.volume_lookup);
    lookup_close(&kept.place_lookup);
    free(kept.places);
    free(kept.pages);
    free(kept.numbers);
    free(kept.volumes);
    memset(&kept, 0, sizeof kept);
}

/* ---- the operating system, as the linker gives it to the library ----------------------------- */

static struct {
    uint64_t seed, n;
} dice;

void disk_roll(int depth, int number)
{
    dice.seed = ((uint64_t)depth << 8 | (uint64_t)number) + 1;
    dice.n = 0;
}

int __wrap_statx(int folder, const char *path, int flags, unsigned mask, struct statx *out);
long __wrap_getxattr(const char *path, const char *name, void *value, size_t size);
int __wrap_setxattr(const char *path, const char *name, const void *value, size_t size, int flags);
int __wrap_timespec_get(struct timespec *to, int base);
void __wrap_uuid_generate_random(uuid_t id);

int __wrap_statx(int folder, const char *path, int flags, unsigned mask, struct statx *out)
{
    (void)folder;
    (void)flags;
    int number = number_of(path);
    if (number < 0) {
        errno = ENOENT;
        return -1;
    }
    const disk_place *place = &disk_places[number];
    memset(out, 0, sizeof *out);
    out->stx_mask = mask;
    out->stx_ino = (uint64_t)place->inode;
    out->stx_btime.tv_sec = place->birth / 1000;
    out->stx_btime.tv_nsec = (uint32_t)(place->birth % 1000) * 1000000;
    return 0;
}

long __wrap_getxattr(const char *path, const char *name, void *value, size_t size)
{
    (void)name;
    int number = number_of(path);
    const disk_place *place = number < 0 ? NULL : &disk_places[number];
    if (!place || !place->attribute_size || size < place->attribute_size) {
        errno = !place ? ENOENT : !place->attribute_size ? ENODATA : ERANGE;
        return -1;
    }
    memcpy(value, place->attribute, place->attribute_size);
    return place->attribute_size;
}

int __wrap_setxattr(const char *path, const char *name, const void *value, size_t size, int flags)
{
    (void)name;
    (void)flags;
    int number = number_of(path);
    if (number < 0 || size != ATTRIBUTE_SIZE) {
        errno = number < 0 ? ENOENT : ENOSPC;
        return -1;
    }
    memcpy(disk_places[number].attribute, value, size);
    disk_places[number].attribute_size = ATTRIBUTE_SIZE;
    return 0;
}

int __wrap_timespec_get(struct timespec *to, int base)
{
    *to = (struct timespec){.tv_sec = disk_now / 1000, .tv_nsec = disk_now % 1000 * 1000000};
    return base;
}

void __wrap_uuid_generate_random(uuid_t id)
{
    uint64_t from[3] = {dice.seed, dice.n++, 0}, halves[2];
    halves[0] = hash_bytes(from, sizeof from);
    from[2] = 1;
    halves[1] = hash_bytes(from, sizeof from);
    memcpy(id, halves, sizeof(uuid_t));
    id[6] = (uint8_t)((id[6] & 0x0f) | 0x40);
    id[8] = (uint8_t)((id[8] & 0x3f) | 0x80);
}
