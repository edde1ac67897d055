/* stop_at.c - loaded before the C library, ends the process at the call that changes files which
 * STOP_AT numbers, as kill -9 does, or with STOP_BY=full lets writing fail from then on, as a full disk
 * does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static long left = -1;
static int is_full;

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("STOP_AT"), *by = getenv("STOP_BY");
    left = at ? atol(at) : -1;
    is_full = by && strcmp(by, "full") == 0;
}

/* Whether the disk is full by now; ends the process where it is to end. */
static int stops(int needs_room)
{
    if (left > 1 || (left > 0 && !is_full)) left--;
    if (left == 0 && !is_full) kill(getpid(), SIGKILL);
    if (left != 1 || !is_full || !needs_room) return 0;
    errno = ENOSPC;
    return 1;
}

#define CALL(type, name, needs_room, failure, parameters, arguments) \
    type name parameters                                             \
    {                                                                \
        static type(*next) parameters;                               \
        if (!next) *(void **)&next = dlsym(RTLD_NEXT, #name);        \
        return stops(needs_room) ? failure : next arguments;         \
    }

static int is_file(int fd)
{
    return fd > 2;
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    static ssize_t (*next)(int, const void *, size_t);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "write");
    return is_file(fd) && stops(1) ? -1 : next(fd, bytes, n);
}

CALL(ssize_t, pwrite, 1, -1, (int fd, const void *bytes, size_t n, off_t at), (fd, bytes, n, at))
CALL(ssize_t, pwrite64, 1, -1, (int fd, const void *bytes, size_t n, off_t at), (fd, bytes, n, at))
CALL(int, fdatasync, 0, -1, (int fd), (fd))
CALL(int, fsync, 0, -1, (int fd), (fd))
CALL(int, ftruncate, 0, -1, (int fd, off_t size), (fd, size))
CALL(int, ftruncate64, 0, -1, (int fd, off_t size), (fd, size))
CALL(int, rename, 0, -1, (const char *from, const char *to), (from, to))
CALL(int, unlink, 0, -1, (const char *path), (path))
