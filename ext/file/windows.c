/* file/windows.c - reads facts about files from Windows. */
#include "file/file.h"

#ifdef _WIN32

#define WIN32_LEAN_AND_MEAN
#include <errno.h>
#include <string.h>
#include <windows.h>

#include "base/sqlite.h"

/* Returns the error as ENOENT, ENOSYS or EACCES. */
static int error_of_windows(void)
{
    switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND: return ENOENT;
    case ERROR_INVALID_NAME:
    case ERROR_NOT_SUPPORTED: return ENOSYS;
    default: return EACCES;
    }
}

/* Opens the file, or a stream of it. Fails with INVALID_HANDLE_VALUE and sets an errno. */
static HANDLE open_by_name(const char *path, const char *stream, DWORD access, DWORD how,
                           int *error)
{
    size_t size = strlen(path) + strlen(stream) + 1;
    HANDLE opened = INVALID_HANDLE_VALUE;
    char *name = sqlite3_malloc64(size);
    wchar_t *wide = sqlite3_malloc64(size * sizeof *wide);
    *error = ENOMEM;
    if (name && wide) {
        strcpy(name, path);
        strcat(name, stream);
        if (MultiByteToWideChar(CP_UTF8, 0, name, -1, wide, (int)size) > 0)
            opened =
                CreateFileW(wide, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                            NULL, how, FILE_FLAG_BACKUP_SEMANTICS, NULL);
        *error = opened == INVALID_HANDLE_VALUE ? error_of_windows() : 0;
    }
    sqlite3_free(name);
    sqlite3_free(wide);
    return opened;
}

/* `flags` are those of the volume. */
static int ask_windows(const char *path, BY_HANDLE_FILE_INFORMATION *info, DWORD *flags)
{
    int error;
    HANDLE file = open_by_name(path, "", FILE_READ_ATTRIBUTES, OPEN_EXISTING, &error);
    *flags = 0;
    if (file == INVALID_HANDLE_VALUE) return error;
    if (!GetFileInformationByHandle(file, info)) error = error_of_windows();
    if (!GetVolumeInformationByHandleW(file, NULL, 0, NULL, NULL, flags, NULL, 0)) *flags = 0;
    CloseHandle(file);
    return error;
}

static int64_t index_of(const BY_HANDLE_FILE_INFORMATION *info)
{
    return (int64_t)((uint64_t)info->nFileIndexHigh << 32 | info->nFileIndexLow);
}

/* Returns nanoseconds since 1970; Windows counts tenths of microseconds since 1601. */
static int64_t since_1970(const FILETIME *time)
{
    static const int64_t FROM_1601 = INT64_C(116444736000000000);
    int64_t tenths = (int64_t)((uint64_t)time->dwHighDateTime << 32 | time->dwLowDateTime);
    return (tenths - FROM_1601) * 100;
}

int64_t ctr_system_now(void)
{
    FILETIME now;
    GetSystemTimeAsFileTime(&now);
    return since_1970(&now) / 1000000;
}

int ctr_system_stat(const char *path, ctr_fingerprint *fingerprint)
{
    DWORD flags;
    BY_HANDLE_FILE_INFORMATION now;
    int error = ask_windows(path, &now, &flags);
    if (error) return error;
    *fingerprint = (ctr_fingerprint){.place = CTR_PLACE_FILE, .inode = index_of(&now)};
    fingerprint->has_birth = (flags & FILE_NAMED_STREAMS) != 0;
    if (fingerprint->has_birth)
        fingerprint->birth = since_1970(&now.ftCreationTime);
    else
        fingerprint->device = (int64_t)now.dwVolumeSerialNumber;
    return 0;
}

bool ctr_system_is_same(const char *one, const char *two)
{
    DWORD flags;
    BY_HANDLE_FILE_INFORMATION a, b;
    return ask_windows(one, &a, &flags) == 0 && ask_windows(two, &b, &flags) == 0 &&
           a.dwVolumeSerialNumber == b.dwVolumeSerialNumber && index_of(&a) == index_of(&b);
}

/* ---- streams --------------------------------------------------------------------------------- */

#define STREAM ":" CTR_OS_ATTRIBUTE

/* A file system without streams may treat the colon as a part of the name. */
static bool has_streams(const char *path)
{
    DWORD flags;
    BY_HANDLE_FILE_INFORMATION info;
    return ask_windows(path, &info, &flags) == 0 && (flags & FILE_NAMED_STREAMS) != 0;
}

long ctr_system_get(const char *path, uint8_t *value, size_t size)
{
    DWORD n = 0;
    errno = ENOSYS;
    if (!has_streams(path)) return -1;
    HANDLE stream = open_by_name(path, STREAM, GENERIC_READ, OPEN_EXISTING, &errno);
    if (stream == INVALID_HANDLE_VALUE) return -1;
    LARGE_INTEGER all;
    bool is_read = GetFileSizeEx(stream, &all) && ReadFile(stream, value, (DWORD)size, &n, NULL);
    if (!is_read)
        errno = error_of_windows();
    else if (all.QuadPart > (LONGLONG)size)
        errno = ERANGE;
    CloseHandle(stream);
    return is_read && all.QuadPart <= (LONGLONG)size ? (long)n : -1;
}

void ctr_system_set(const char *path, const uint8_t *value, size_t size)
{
    DWORD n;
    int error;
    if (!has_streams(path)) return;
    HANDLE stream = open_by_name(path, STREAM, GENERIC_WRITE, OPEN_ALWAYS, &error);
    if (stream == INVALID_HANDLE_VALUE) return;
    if (WriteFile(stream, value, (DWORD)size, &n, NULL)) SetEndOfFile(stream);
    CloseHandle(stream);
}

int ctr_system_sync(const char *path)
{
    int error;
    HANDLE file = open_by_name(path, "", GENERIC_WRITE, OPEN_EXISTING, &error);
    if (file == INVALID_HANDLE_VALUE) return error == ENOENT ? 0 : error;
    if (!FlushFileBuffers(file)) error = error_of_windows();
    CloseHandle(file);
    return error;
}

#endif
