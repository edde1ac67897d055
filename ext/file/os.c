/* file/os.c - reads facts about files from the operating system. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* statx, name_to_handle_at */
#endif
#if defined(__APPLE__) && !defined(_DARWIN_C_SOURCE)
#define _DARWIN_C_SOURCE /* birth times */
#endif
#if !defined(_WIN32) && !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700
#endif

#include "file/file.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#ifndef CTR_OWN_SYSTEM
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif
#if defined(__linux__) || defined(__APPLE__)
#include <sys/xattr.h>
#endif
#if defined(__linux__) || defined(__APPLE__) || defined(CTR_OWN_SYSTEM)
#define HAS_ATTRIBUTES 1
#endif
#ifdef __linux__
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#endif

enum { ATTRIBUTE_FORMAT = 0xC1, ATTRIBUTE_SIZE = 17 };

int64_t ctr_os_now(void)
{
#ifdef CTR_OWN_SYSTEM
    return ctr_system_now();
#else
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
#endif
}

#if defined(__linux__)

/* A C library without statx, such as musl: the kernel's call and its struct. */
#ifndef STATX_BTIME

enum { STATX_INO = 0x100, STATX_BTIME = 0x800 };

struct statx_time {
    int64_t tv_sec;
    uint32_t tv_nsec;
    int32_t reserved;
};

struct statx {
    uint32_t stx_mask, before_inode[7];
    uint64_t stx_ino, behind_inode[3];
    struct statx_time stx_atime, stx_btime, stx_ctime, stx_mtime;
    uint32_t rdev_major, rdev_minor, stx_dev_major, stx_dev_minor;
    uint64_t behind_device[14];
};

_Static_assert(sizeof(struct statx) == 256 && offsetof(struct statx, stx_btime) == 80,
               "the kernel's struct statx");

static int statx(int folder, const char *path, int flags, unsigned mask, struct statx *out)
{
    return (int)syscall(SYS_statx, folder, path, flags, mask, out);
}

#endif

/* Takes a handle that has the inode and another number, its generation. Otherwise the handle
 * belongs to the mount, as in many file systems in user space. */
static void take_handle(const char *path, ctr_fingerprint *fingerprint)
{
    (void)path, (void)fingerprint;
#ifndef __ANDROID__ /* bionic has no handles */
    union {
        struct file_handle head;
        uint8_t room[sizeof(struct file_handle) + CTR_HANDLE_MAX];
    } handle = {.head = {.handle_bytes = CTR_HANDLE_MAX}};
    int mount;
    if (name_to_handle_at(AT_FDCWD, path, &handle.head, &mount, AT_SYMLINK_FOLLOW) != 0) return;
    size_t size = handle.head.handle_bytes;
    if (size > CTR_HANDLE_MAX) return;
    const uint8_t *bytes = handle.room + offsetof(struct file_handle, f_handle);
    uint64_t inode = (uint64_t)fingerprint->inode;
    bool has_inode = false, has_more = false;
    for (size_t i = 0; i + sizeof(uint32_t) <= size; i += sizeof(uint32_t)) {
        uint32_t word;
        memcpy(&word, bytes + i, sizeof word);
        if (!has_inode && word == (uint32_t)inode)
            has_inode = true;
        else if (word != 0 && word != (uint32_t)(inode >> 32))
            has_more = true;
    }
    if (!has_inode || !has_more) return;
    fingerprint->handle_size = (int)size;
    memcpy(fingerprint->handle, bytes, size);
#endif
}

/* Devices without a major number get a new number at each mount. */
int ctr_os_stat(const char *path, ctr_fingerprint *fingerprint)
{
    struct statx now;
    if (statx(AT_FDCWD, path, 0, STATX_INO | STATX_BTIME, &now) != 0) return errno;
    *fingerprint = (ctr_fingerprint){.place = CTR_PLACE_FILE, .inode = (int64_t)now.stx_ino};
    fingerprint->has_birth = (now.stx_mask & STATX_BTIME) != 0 &&
                             (now.stx_btime.tv_sec != 0 || now.stx_btime.tv_nsec != 0);
    if (fingerprint->has_birth)
        fingerprint->birth = now.stx_btime.tv_sec * INT64_C(1000000000) + now.stx_btime.tv_nsec;
    else if (now.stx_dev_major != 0)
        fingerprint->device = (int64_t)makedev(now.stx_dev_major, now.stx_dev_minor);
    if (!fingerprint->has_birth) take_handle(path, fingerprint);
    return 0;
}

#elif !defined(CTR_OWN_SYSTEM)

int ctr_os_stat(const char *path, ctr_fingerprint *fingerprint)
{
    struct stat now;
    if (stat(path, &now) != 0) return errno;
    *fingerprint = (ctr_fingerprint){.place = CTR_PLACE_FILE, .inode = (int64_t)now.st_ino};
#ifdef __APPLE__
    fingerprint->has_birth = true;
    fingerprint->birth =
        (int64_t)now.st_birthtimespec.tv_sec * INT64_C(1000000000) + now.st_birthtimespec.tv_nsec;
#else
    fingerprint->device = (int64_t)now.st_dev;
#endif
    return 0;
}

#else

int ctr_os_stat(const char *path, ctr_fingerprint *fingerprint)
{
    return ctr_system_stat(path, fingerprint);
}

#endif

/* Compares the devices, too: in a snapshot of a whole file system, files keep inode and birth
 * time. */
bool ctr_os_is_same(const char *one, const char *two)
{
    if (strcmp(one, two) == 0) return true;
#ifdef CTR_OWN_SYSTEM
    return ctr_system_is_same(one, two);
#else
    struct stat a, b;
    return stat(one, &a) == 0 && stat(two, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
#endif
}

/* ---- the attribute --------------------------------------------------------------------------- */

#ifdef HAS_ATTRIBUTES

static long get(const char *path, uint8_t *value, size_t size)
{
#if defined(CTR_OWN_SYSTEM)
    return ctr_system_get(path, value, size);
#elif defined(__APPLE__)
    return getxattr(path, CTR_OS_ATTRIBUTE, value, size, 0, 0);
#else
    return getxattr(path, CTR_OS_ATTRIBUTE, value, size);
#endif
}

static void set(const char *path, const uint8_t *value, size_t size)
{
#if defined(CTR_OWN_SYSTEM)
    ctr_system_set(path, value, size);
#elif defined(__APPLE__)
    setxattr(path, CTR_OS_ATTRIBUTE, value, size, 0, 0);
#else
    setxattr(path, CTR_OS_ATTRIBUTE, value, size, 0);
#endif
}

#if defined(__APPLE__)
enum { NO_ATTRIBUTE = ENOATTR };
#elif defined(CTR_OWN_SYSTEM)
enum { NO_ATTRIBUTE = ENOENT };
#else
enum { NO_ATTRIBUTE = ENODATA };
#endif

int ctr_os_attribute(const char *path, ctr_attribute *attribute)
{
    uint8_t bytes[ATTRIBUTE_SIZE];
    *attribute = (ctr_attribute){.state = CTR_ATTRIBUTE_UNARMED};
    long size = get(path, bytes, sizeof bytes);
    int error = size < 0 ? errno : 0;
    ctr_pair *pair = &attribute->pair;
    if (size == ATTRIBUTE_SIZE && bytes[0] == ATTRIBUTE_FORMAT)
        *pair = (ctr_pair){ctr_bytes_get_signed(bytes + 1), ctr_bytes_get_signed(bytes + 9)};
    if (pair->number >= 0 && pair->number <= CTR_PAIR_MAX && pair->random != 0)
        attribute->state = CTR_ATTRIBUTE_READ;
    else if (size >= 0 || error == ERANGE)
        attribute->state = CTR_ATTRIBUTE_FOREIGN;
    else if (error == NO_ATTRIBUTE)
        attribute->state = CTR_ATTRIBUTE_MISSING;
    return attribute->state == CTR_ATTRIBUTE_UNARMED ? error : 0;
}

void ctr_os_set_attribute(const char *path, const ctr_pair *pair)
{
    uint8_t bytes[ATTRIBUTE_SIZE] = {ATTRIBUTE_FORMAT};
    ctr_bytes_put(bytes + 1, (uint64_t)pair->number);
    ctr_bytes_put(bytes + 9, (uint64_t)pair->random);
    set(path, bytes, sizeof bytes);
}

#else

int ctr_os_attribute(const char *path, ctr_attribute *attribute)
{
    (void)path;
    *attribute = (ctr_attribute){.state = CTR_ATTRIBUTE_UNARMED};
    return ENOSYS;
}

void ctr_os_set_attribute(const char *path, const ctr_pair *pair)
{
    (void)path;
    (void)pair;
}

#endif

/* ---- durability ------------------------------------------------------------------------------ */

int ctr_os_sync_read(const char *path)
{
#ifdef _WIN32
    return ctr_system_sync(path);
#else
    (void)path;
    return ENOSYS;
#endif
}

#ifndef CTR_OWN_SYSTEM

static int sync_path(const char *path, int flags)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | flags);
    if (file < 0) return errno == ENOENT ? 0 : errno;
    int error = fsync(file) == 0 ? 0 : errno;
    close(file);
    return error;
}

int ctr_os_sync_file(const char *path)
{
    return sync_path(path, 0);
}

int ctr_os_sync_folder_of(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    size_t size = slash ? (size_t)(slash - path) + (slash == path) : 0;
    if (size >= sizeof folder) return ENAMETOOLONG;
    memcpy(folder, path, size);
    folder[size] = '\0';
    return sync_path(size ? folder : ".", O_DIRECTORY);
}

#else

int ctr_os_sync_file(const char *path)
{
    return ctr_system_sync(path);
}

/* There is nothing to do: Windows journals changes of a folder, and a browser has no folders. */
int ctr_os_sync_folder_of(const char *path)
{
    (void)path;
    return 0;
}

#endif
