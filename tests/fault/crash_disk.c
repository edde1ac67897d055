/* crash_disk.c - names, files, changes, and what a power cut leaves of them. */
#include "crash_disk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "crash.h"

enum { BLOCK = 8, PAIR_MAX = 64 };

/* A write, or a truncation to `at` if there are no bytes. */
typedef struct change {
    int64_t at;
    size_t size;
    uint8_t *bytes;
} change;

struct disk_file {
    disk_file *next;
    uint8_t *durable;
    int64_t size;
    change *changes;
    size_t n, room;
};

typedef struct attribute {
    char name[PAIR_MAX];
    uint8_t bytes[PAIR_MAX];
    size_t size; /* 0: there was none */
} attribute;

typedef struct name {
    struct name *next;
    char *path;
    disk_file **versions; /* since the last sync of the folder; NULL: none. The last is now */
    size_t n;
    bool ordered;
    attribute attributes[CRASH_ATTRIBUTES];
    size_t attribute_count;
} name;

static name *names;
static disk_file *files;
static uint64_t chance;

/* ---- memory ---------------------------------------------------------------------------------- */

static void *must(void *memory)
{
    if (memory) return memory;
    fputs("crash_disk: out of memory\n", stderr);
    abort();
}

static void forget_changes(disk_file *file)
{
    for (size_t i = 0; i < file->n; i++) free(file->changes[i].bytes);
    file->n = 0;
}

static void free_file(disk_file *file)
{
    forget_changes(file);
    free(file->changes);
    free(file->durable);
    free(file);
}

void disk_begin(uint64_t seed)
{
    chance = seed;
    while (names) {
        name *gone = names;
        names = gone->next;
        free(gone->versions);
        free(gone->path);
        free(gone);
    }
    while (files) {
        disk_file *gone = files;
        files = gone->next;
        free_file(gone);
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

static name *find(const char *path)
{
    name *one = names;
    while (one && strcmp(one->path, path) != 0) one = one->next;
    return one;
}

static void turn_to(name *one, disk_file *file)
{
    one->versions = must(realloc(one->versions, (one->n + 1) * sizeof(disk_file *)));
    one->versions[one->n++] = file;
}

static name *meet(const char *path)
{
    name *one = find(path);
    if (one) return one;
    one = must(calloc(1, sizeof *one));
    one->path = must(strdup(path));
    one->next = names;
    names = one;
    turn_to(one, NULL);
    return one;
}

static disk_file *now(const name *one)
{
    return one->versions[one->n - 1];
}

disk_file *disk_at(const char *path)
{
    name *one = find(path);
    return one ? now(one) : NULL;
}

disk_file *disk_create(const char *path)
{
    name *one = meet(path);
    disk_file *file = must(calloc(1, sizeof *file));
    file->next = files;
    files = file;
    turn_to(one, file);
    one->attribute_count = 0;
    return file;
}

void disk_delete(const char *path)
{
    name *one = find(path);
    if (one && now(one)) turn_to(one, NULL);
}

static bool is_in(const char *path, const char *folder, size_t size)
{
    return strncmp(path, folder, size) == 0 && path[size] == '/' && !strchr(path + size + 1, '/');
}

static void sync_names(const char *folder, size_t size)
{
    for (name *one = names; one; one = one->next) {
        if (!is_in(one->path, folder, size)) continue;
        one->versions[0] = now(one);
        one->n = 1;
    }
}

void disk_sync_folder(const char *folder)
{
    sync_names(folder, strlen(folder));
}

void disk_sync_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash) sync_names(path, (size_t)(slash - path));
}

void disk_order(const char *path, bool ordered)
{
    meet(path)->ordered = ordered;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static attribute *next_attribute(name *one)
{
    if (one->attribute_count == CRASH_ATTRIBUTES) {
        memmove(one->attributes, one->attributes + 1,
                sizeof *one->attributes * --one->attribute_count);
    }
    return memset(one->attributes + one->attribute_count++, 0, sizeof(attribute));
}

bool disk_set_attribute(const char *path, const char *key, const void *bytes, size_t size)
{
    name *one = find(path);
    if (!one || strlen(key) >= PAIR_MAX || size > PAIR_MAX) return false;
    if (one->attribute_count == 0) strcpy(next_attribute(one)->name, key);
    attribute *set = next_attribute(one);
    strcpy(set->name, key);
    memcpy(set->bytes, bytes, size);
    set->size = size;
    return true;
}

/* Mostly the last one. */
static void lose_attributes(name *one)
{
    if (one->attribute_count == 0 || crash_random(&chance) % 2) return;
    size_t left = crash_random(&chance) % one->attribute_count;
    attribute *set = &one->attributes[left];
    if (set->size > 0)
        syscall(SYS_setxattr, one->path, set->name, set->bytes, set->size, 0);
    else
        syscall(SYS_removexattr, one->path, set->name);
    one->attribute_count = left + 1;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void add(disk_file *file, change more)
{
    if (file->n == file->room) {
        file->room = file->room ? 2 * file->room : 16;
        file->changes = must(realloc(file->changes, file->room * sizeof(change)));
    }
    file->changes[file->n++] = more;
}

void disk_write(disk_file *file, const void *bytes, size_t size, int64_t at)
{
    uint8_t *copy = must(malloc(size ? size : 1));
    memcpy(copy, bytes, size);
    add(file, (change){at, size, copy});
}

void disk_truncate(disk_file *file, int64_t size)
{
    add(file, (change){size, 0, NULL});
}

static int64_t size_behind(const change *one, int64_t size)
{
    int64_t end = one->at + (int64_t)one->size;
    return !one->bytes || end > size ? end : size;
}

static int64_t size_after(const disk_file *file, size_t n)
{
    int64_t size = file->size;
    for (size_t i = 0; i < n; i++) size = size_behind(&file->changes[i], size);
    return size;
}

static int64_t largest_size(const disk_file *file)
{
    int64_t size = file->size, largest = size;
    for (size_t i = 0; i < file->n; i++) {
        size = size_behind(&file->changes[i], size);
        if (size > largest) largest = size;
    }
    return largest;
}

/* ---- what is left ---------------------------------------------------------------------------- */

typedef struct loss {
    crash_manner manner;
    uint64_t salt;
    size_t n;        /* changes there are */
    size_t sized;    /* so many the size has seen; a truncation is done whole, or not at all */
    size_t upto;     /* of these so many are left, where order is kept */
    int64_t torn_at; /* and the next one up to this sector */
    bool garbage;
} loss;

/* How many changes a place has seen: often all or none. */
static size_t seen_by(const loss *drawn, uint64_t place)
{
    uint64_t state = drawn->salt ^ (place * UINT64_C(0x9E3779B97F4A7C15)),
             roll = crash_random(&state);
    if (roll % 8 < 2) return 0;
    return roll % 8 < 5 ? drawn->n : (size_t)(roll >> 8) % (drawn->n + 1);
}

static loss draw(const disk_file *file, crash_manner manner)
{
    loss drawn = {.manner = manner, .salt = crash_random(&chance), .n = file->n};
    drawn.garbage = crash_random(&chance) % 2;
    drawn.upto = manner == CRASH_NOTHING_IS_LEFT ? 0 : file->n;
    if (manner == CRASH_ORDERED) drawn.upto = crash_random(&chance) % (file->n + 1);
    drawn.sized = manner >= CRASH_BLOCKS_ARE_LEFT ? seen_by(&drawn, UINT64_MAX) : drawn.upto;
    if (drawn.upto == file->n || manner != CRASH_ORDERED) return drawn;
    const change *next = &file->changes[drawn.upto];
    int64_t sectors = (int64_t)(next->size / CRASH_SECTOR);
    drawn.torn_at = next->at / CRASH_SECTOR + (int64_t)(drawn.salt % (uint64_t)(sectors + 1));
    return drawn;
}

static size_t seen(const loss *drawn, int64_t sector)
{
    if (drawn->manner == CRASH_BLOCKS_ARE_LEFT) return seen_by(drawn, (uint64_t)sector / BLOCK);
    if (drawn->manner == CRASH_SECTORS_ARE_LEFT) return seen_by(drawn, (uint64_t)sector);
    return drawn->upto + (sector < drawn->torn_at);
}

static void change_sector(uint8_t *image, int64_t sector, const change *one)
{
    int64_t from = sector * CRASH_SECTOR, to = from + CRASH_SECTOR;
    if (from < one->at) from = one->at;
    if (!one->bytes) {
        if (from < to) memset(image + from, 0, (size_t)(to - from));
        return;
    }
    if (to > one->at + (int64_t)one->size) to = one->at + (int64_t)one->size;
    if (from < to) memcpy(image + from, one->bytes + (from - one->at), (size_t)(to - from));
}

static int64_t sectors_of(int64_t size)
{
    return (size + CRASH_SECTOR - 1) / CRASH_SECTOR;
}

/* Where the file has grown and no write has come, there may be anything. */
static void fill_with_garbage(const disk_file *file, const loss *drawn, uint8_t *image, int64_t end)
{
    uint64_t state = drawn->salt;
    if (!drawn->garbage || drawn->manner < CRASH_BLOCKS_ARE_LEFT) return;
    for (int64_t sector = sectors_of(file->size); sector < end; sector++)
        for (int i = 0; seen(drawn, sector) == 0 && i < CRASH_SECTOR; i++)
            image[sector * CRASH_SECTOR + i] = (uint8_t)crash_random(&state);
}

static uint8_t *image_of(const disk_file *file, const loss *drawn, int64_t end)
{
    uint8_t *image = must(calloc((size_t)end + 1, CRASH_SECTOR));
    if (file->size > 0) memcpy(image, file->durable, (size_t)file->size);
    fill_with_garbage(file, drawn, image, end);
    for (size_t i = 0; i < file->n; i++) {
        const change *one = &file->changes[i];
        int64_t last = one->bytes ? sectors_of(one->at + (int64_t)one->size) : end;
        for (int64_t sector = one->at / CRASH_SECTOR; sector < last; sector++)
            if (i < (one->bytes ? seen(drawn, sector) : drawn->sized))
                change_sector(image, sector, one);
    }
    return image;
}

/* Where order is kept, a write that is torn has made the file as large as what there is of it. */
static int64_t size_left(const disk_file *file, const loss *drawn)
{
    if (drawn->manner >= CRASH_BLOCKS_ARE_LEFT) return size_after(file, drawn->sized);
    int64_t size = size_after(file, drawn->upto), torn = drawn->torn_at * CRASH_SECTOR;
    bool is_torn = drawn->upto < file->n && file->changes[drawn->upto].bytes;
    return is_torn && torn > size && torn > file->changes[drawn->upto].at ? torn : size;
}

static void settle(disk_file *file, const loss *drawn)
{
    int64_t size = size_left(file, drawn);
    uint8_t *image = image_of(file, drawn, sectors_of(largest_size(file)));
    free(file->durable);
    file->durable = image;
    file->size = size;
    forget_changes(file);
}

void disk_sync(disk_file *file)
{
    loss none = {.manner = CRASH_ALL_IS_LEFT, .n = file->n, .sized = file->n, .upto = file->n};
    if (file->n > 0) settle(file, &none);
}

/* ---- the power cut --------------------------------------------------------------------------- */

static void put(const char *path, const disk_file *file)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    bool done = fd >= 0 && pwrite(fd, file->durable, (size_t)file->size, 0) == file->size &&
                ftruncate(fd, file->size) == 0;
    if (fd < 0 || close(fd) != 0 || !done) {
        perror(path);
        abort();
    }
}

/* Of a folder, by its own name: everything is left, nothing is that was not synced, or each file
 * for itself. */
static crash_manner manner_of(const char *path, uint64_t salt)
{
    uint64_t state = salt;
    for (const char *end = strrchr(path, '/'); end > path && end[-1] != '/'; end--)
        state = state * 31 + (unsigned char)end[-1];
    uint64_t roll = crash_random(&state) % 8;
    if (roll < 2) return CRASH_ALL_IS_LEFT;
    return roll == 2 ? CRASH_NOTHING_IS_LEFT : (crash_manner)(crash_random(&chance) % 5);
}

static size_t version_left(const name *one, crash_manner manner)
{
    if (manner == CRASH_ALL_IS_LEFT) return one->n - 1;
    if (manner == CRASH_NOTHING_IS_LEFT) return 0;
    uint64_t roll = crash_random(&chance);
    return roll % 4 == 0 ? 0 : roll % 4 == 1 ? one->n - 1 : (roll >> 8) % one->n;
}

static void lose(name *one, crash_manner manner)
{
    disk_file *left = one->versions[version_left(one, manner)];
    one->versions[0] = left;
    one->n = 1;
    if (!left) {
        unlink(one->path);
        return;
    }
    bool whole = manner == CRASH_ALL_IS_LEFT || manner == CRASH_NOTHING_IS_LEFT;
    loss drawn = draw(left, one->ordered && !whole ? CRASH_ORDERED : manner);
    settle(left, &drawn);
    put(one->path, left);
    lose_attributes(one);
}

/* Not one that stands for nothing any more. */
static bool is_named(const disk_file *file)
{
    for (const name *one = names; one; one = one->next)
        if (now(one) == file) return true;
    return false;
}

static void forget_unnamed(void)
{
    for (disk_file **at = &files; *at;) {
        disk_file *file = *at;
        if (is_named(file)) {
            at = &file->next;
            continue;
        }
        *at = file->next;
        free_file(file);
    }
}

void disk_lose(void)
{
    uint64_t salt = crash_random(&chance);
    for (name *one = names; one; one = one->next) lose(one, manner_of(one->path, salt));
    forget_unnamed();
}
