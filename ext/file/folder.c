/* file/folder.c - directories that several machines see: lists, makes and reads files in them, and
 * follows no link.
 *
 * Whoever may write in such a directory may put a link, a pipe or a device in place of anything at
 * any time. So a directory is opened once, and what is in it is found through what was opened.
 * Windows opens none, but a link cannot be made there without a right of its own. */
#if !defined(_WIN32) && !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700
#endif

#include "file/file.h"

#if defined(COUNTER_HAS_ZLIB)

#include <errno.h>
#include <string.h>

#include "base/sqlite.h"

#if !defined(_WIN32)

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h> /* renameat */
#include <sys/stat.h>
#include <unistd.h>

static int open_at(int at, const char *name, const char *path, int flags, ctr_folder *opened)
{
    *opened = (ctr_folder){.fd = -1};
    opened->path = sqlite3_mprintf("%s", path);
    if (!opened->path) return ENOMEM;
    opened->fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    return opened->fd >= 0 ? 0 : errno;
}

int ctr_folder_open(ctr_folder *opened, const char *path)
{
    return open_at(AT_FDCWD, path, path, 0, opened);
}

int ctr_folder_open_in(ctr_folder *opened, const ctr_folder *in, const char *name)
{
    char *path = sqlite3_mprintf("%s/%s", in->path, name);
    *opened = (ctr_folder){.fd = -1};
    if (!path) return ENOMEM;
    int error = open_at(in->fd, name, path, O_NOFOLLOW, opened);
    sqlite3_free(path);
    return error;
}

void ctr_folder_close(ctr_folder *opened)
{
    if (opened->path && opened->fd >= 0) close(opened->fd);
    sqlite3_free(opened->path);
    opened->path = NULL;
    opened->fd = -1;
}

int ctr_folder_look(const ctr_folder *in, const char *name, ctr_folder_entry *seen)
{
    struct stat is;
    *seen = (ctr_folder_entry){.name = name, .kind = CTR_FOLDER_OTHER};
    if (fstatat(in->fd, name, &is, AT_SYMLINK_NOFOLLOW) != 0) return seen->error = errno;
    if (S_ISREG(is.st_mode)) seen->kind = CTR_FOLDER_FILE;
    if (S_ISDIR(is.st_mode)) seen->kind = CTR_FOLDER_FOLDER;
    if (S_ISLNK(is.st_mode)) seen->kind = CTR_FOLDER_LINK;
    seen->size = is.st_size;
    seen->written = is.st_mtime;
    return 0;
}

int ctr_folder_list(const ctr_folder *of, bool (*visit)(void *with, const ctr_folder_entry *entry),
                    void *with)
{
    struct dirent *entry = NULL;
    int fd = openat(of->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    int error = list ? 0 : errno;
    bool goes_on = list != NULL;
    if (fd >= 0 && !list) close(fd);
    while (goes_on && (errno = 0, entry = readdir(list))) {
        ctr_folder_entry seen;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (ctr_folder_look(of, entry->d_name, &seen) != ENOENT) goes_on = visit(with, &seen);
    }
    if (list && !entry) error = errno;
    if (list) closedir(list);
    return error;
}

int ctr_folder_make(const ctr_folder *in, const char *name)
{
    return mkdirat(in->fd, name, 0777) == 0 || errno == EEXIST ? 0 : errno;
}

int ctr_folder_may_write(const ctr_folder *in)
{
    return faccessat(in->fd, ".", W_OK | X_OK, 0) == 0 ? 0 : errno;
}

int ctr_folder_create(const ctr_folder *in, const char *name, int *fd)
{
    *fd = openat(in->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    return *fd >= 0 ? 0 : errno;
}

int ctr_folder_read(const ctr_folder *in, const char *name, int *fd)
{
    struct stat is;
    *fd = openat(in->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int error = *fd >= 0 ? 0 : errno;
    if (error == 0 && (fstat(*fd, &is) != 0 || !S_ISREG(is.st_mode))) error = EINVAL;
    if (error == ELOOP || error == ENXIO) error = EINVAL; /* a link, a socket */
    if (error && *fd >= 0) close(*fd);
    return error;
}

int ctr_folder_finish(int fd)
{
    int error = fsync(fd) == 0 ? 0 : errno;
    return close(fd) == 0 || error ? error : errno;
}

int ctr_folder_rename(const ctr_folder *in, const char *from, const char *to)
{
    if (renameat(in->fd, from, in->fd, to) != 0) return errno;
    return fsync(in->fd) == 0 || errno == EINVAL ? 0 : errno; /* some file systems sync no folder */
}

void ctr_folder_remove(const ctr_folder *in, const char *name)
{
    unlinkat(in->fd, name, 0);
}

#else

#define WIN32_LEAN_AND_MEAN
#include <fcntl.h>
#include <io.h>
#include <stdint.h>
#include <windows.h>

static int error_of_folder(void)
{
    switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND: return ENOENT;
    case ERROR_DIRECTORY: return ENOTDIR;
    case ERROR_ALREADY_EXISTS:
    case ERROR_FILE_EXISTS: return EEXIST;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL: return ENOSPC;
    case ERROR_WRITE_PROTECT: return EROFS;
    default: return EACCES;
    }
}

/* Returns a path as Windows takes it, of a name in a folder if there is one; NULL without memory.
 * The caller frees it. */
static wchar_t *wide_path(const char *folder, const char *name)
{
    char *path = sqlite3_mprintf("%s%s%s", folder, *name ? "\\" : "", name);
    size_t size = path ? strlen(path) + 1 : 0;
    wchar_t *wide = path ? sqlite3_malloc64(size * sizeof *wide) : NULL;
    if (wide && MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, (int)size) == 0) {
        sqlite3_free(wide);
        wide = NULL;
    }
    sqlite3_free(path);
    return wide;
}

static ctr_folder_entry entry_of(DWORD attributes, DWORD size_high, DWORD size_low,
                                 FILETIME written)
{
    static const int64_t FROM_1601 = INT64_C(116444736000000000);
    int64_t tenths = (int64_t)((uint64_t)written.dwHighDateTime << 32 | written.dwLowDateTime);
    ctr_folder_entry seen = {.kind = CTR_FOLDER_FILE,
                             .size = (int64_t)((uint64_t)size_high << 32 | size_low),
                             .written = (tenths - FROM_1601) / 10000000};
    if (attributes & FILE_ATTRIBUTE_DIRECTORY) seen.kind = CTR_FOLDER_FOLDER;
    if (attributes & FILE_ATTRIBUTE_DEVICE) seen.kind = CTR_FOLDER_OTHER;
    if (attributes & FILE_ATTRIBUTE_REPARSE_POINT) seen.kind = CTR_FOLDER_LINK;
    return seen;
}

int ctr_folder_look(const ctr_folder *in, const char *name, ctr_folder_entry *seen)
{
    WIN32_FILE_ATTRIBUTE_DATA is;
    wchar_t *path = wide_path(in->path, name);
    *seen = (ctr_folder_entry){.name = name, .kind = CTR_FOLDER_OTHER};
    int error = path ? 0 : ENOMEM;
    if (path && !GetFileAttributesExW(path, GetFileExInfoStandard, &is)) error = error_of_folder();
    if (!error)
        *seen =
            entry_of(is.dwFileAttributes, is.nFileSizeHigh, is.nFileSizeLow, is.ftLastWriteTime);
    seen->name = name;
    seen->error = error;
    sqlite3_free(path);
    return error;
}

static int open_path(ctr_folder *opened, const char *path, bool follows)
{
    ctr_folder_entry seen;
    *opened = (ctr_folder){.fd = -1, .path = sqlite3_mprintf("%s", path)};
    if (!opened->path) return ENOMEM;
    int error = ctr_folder_look(opened, "", &seen);
    bool is = seen.kind == CTR_FOLDER_FOLDER || (follows && seen.kind == CTR_FOLDER_LINK);
    if (!error && !is) error = ENOTDIR;
    if (!error) opened->fd = 0;
    return error;
}

int ctr_folder_open(ctr_folder *opened, const char *path)
{
    return open_path(opened, path, true);
}

int ctr_folder_open_in(ctr_folder *opened, const ctr_folder *in, const char *name)
{
    char *path = sqlite3_mprintf("%s/%s", in->path, name);
    *opened = (ctr_folder){.fd = -1};
    int error = path ? open_path(opened, path, false) : ENOMEM;
    sqlite3_free(path);
    return error;
}

void ctr_folder_close(ctr_folder *opened)
{
    sqlite3_free(opened->path);
    opened->path = NULL;
    opened->fd = -1;
}

int ctr_folder_list(const ctr_folder *of, bool (*visit)(void *with, const ctr_folder_entry *entry),
                    void *with)
{
    WIN32_FIND_DATAW is;
    wchar_t *path = wide_path(of->path, "*");
    HANDLE list = path ? FindFirstFileW(path, &is) : INVALID_HANDLE_VALUE;
    int error = path && list == INVALID_HANDLE_VALUE ? error_of_folder() : path ? 0 : ENOMEM;
    bool goes_on = list != INVALID_HANDLE_VALUE;
    while (goes_on) {
        char name[4 * MAX_PATH] = "";
        ctr_folder_entry seen =
            entry_of(is.dwFileAttributes, is.nFileSizeHigh, is.nFileSizeLow, is.ftLastWriteTime);
        WideCharToMultiByte(CP_UTF8, 0, is.cFileName, -1, name, sizeof name, NULL, NULL);
        seen.name = name;
        if (*name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            goes_on = visit(with, &seen);
        if (goes_on && !FindNextFileW(list, &is)) {
            goes_on = false;
            if (GetLastError() != ERROR_NO_MORE_FILES) error = error_of_folder();
        }
    }
    if (list != INVALID_HANDLE_VALUE) FindClose(list);
    sqlite3_free(path);
    return error;
}

int ctr_folder_make(const ctr_folder *in, const char *name)
{
    wchar_t *path = wide_path(in->path, name);
    int error = path ? 0 : ENOMEM;
    if (path && !CreateDirectoryW(path, NULL)) error = error_of_folder();
    sqlite3_free(path);
    return error == EEXIST ? 0 : error;
}

int ctr_folder_may_write(const ctr_folder *in)
{
    (void)in;
    return 0; /* the first write tells */
}

static int open_file(const ctr_folder *in, const char *name, DWORD access, DWORD how, int flags,
                     int *fd)
{
    wchar_t *path = wide_path(in->path, name);
    HANDLE file = INVALID_HANDLE_VALUE;
    if (path)
        file = CreateFileW(path, access, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL, how,
                           FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    int error = !path ? ENOMEM : file == INVALID_HANDLE_VALUE ? error_of_folder() : 0;
    sqlite3_free(path);
    if (error) return error;
    *fd = _open_osfhandle((intptr_t)file, flags | _O_BINARY);
    if (*fd < 0) CloseHandle(file);
    return *fd >= 0 ? 0 : EMFILE;
}

int ctr_folder_create(const ctr_folder *in, const char *name, int *fd)
{
    return open_file(in, name, GENERIC_WRITE, CREATE_NEW, 0, fd);
}

int ctr_folder_read(const ctr_folder *in, const char *name, int *fd)
{
    ctr_folder_entry seen;
    int error = ctr_folder_look(in, name, &seen);
    if (!error && seen.kind != CTR_FOLDER_FILE) error = EINVAL;
    return error ? error : open_file(in, name, GENERIC_READ, OPEN_EXISTING, _O_RDONLY, fd);
}

int ctr_folder_finish(int fd)
{
    int error = _commit(fd) == 0 ? 0 : errno;
    return _close(fd) == 0 || error ? error : errno;
}

int ctr_folder_rename(const ctr_folder *in, const char *from, const char *to)
{
    wchar_t *one = wide_path(in->path, from), *two = wide_path(in->path, to);
    int error = one && two ? 0 : ENOMEM;
    if (!error && !MoveFileExW(one, two, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
        error = error_of_folder();
    sqlite3_free(one);
    sqlite3_free(two);
    return error;
}

void ctr_folder_remove(const ctr_folder *in, const char *name)
{
    wchar_t *path = wide_path(in->path, name);
    if (path) DeleteFileW(path);
    sqlite3_free(path);
}

#endif

#endif
