/* fail_call.c - loaded before the C library, lets calls fail that concern a directory that files sync
 * with: the nth behind fail_from(n, 0), and with fail_from(n, 1) each later one, too, until
 * fail_end(), which returns how many there were.
 *
 * SQLite opens its files by open(), so what openat() has opened is ours. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MOST = 1024 };

static long nth, calls;
static int later, armed;
static char ours[FILES_MOST];

void fail_from(long n, int all)
{
    nth = n;
    later = all;
    calls = 0;
    armed = 1;
}

long fail_end(void)
{
    armed = 0;
    return calls;
}

static int fails(void)
{
    if (!armed) return 0;
    calls++;
    if (calls != nth && !(later && calls > nth)) return 0;
    errno = EIO;
    return 1;
}

static int is_ours(int fd)
{
    return fd >= 0 && fd < FILES_MOST && ours[fd];
}

static int note(int fd, int is)
{
    if (fd >= 0 && fd < FILES_MOST) ours[fd] = (char)is;
    return fd;
}

#define NEXT(type, name, parameters)      \
    static type(*next) parameters = NULL; \
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, #name)

int openat(int in, const char *name, int flags, ...)
{
    NEXT(int, openat, (int, const char *, int, ...));
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return fails() ? -1 : note(next(in, name, flags, mode), 1);
}

int dup(int fd)
{
    NEXT(int, dup, (int));
    if (!is_ours(fd)) return next(fd);
    return fails() ? -1 : note(next(fd), 1);
}

/* A descriptor is closed even if that fails. */
int close(int fd)
{
    NEXT(int, close, (int));
    int fail = is_ours(fd) && fails();
    note(fd, 0);
    int result = next(fd);
    if (fail) errno = EIO;
    return fail ? -1 : result;
}

#define OF_FILE(type, name, parameters, arguments)           \
    type name parameters                                     \
    {                                                        \
        NEXT(type, name, parameters);                        \
        return is_ours(fd) && fails() ? -1 : next arguments; \
    }

OF_FILE(ssize_t, read, (int fd, void *bytes, size_t n), (fd, bytes, n))
OF_FILE(ssize_t, write, (int fd, const void *bytes, size_t n), (fd, bytes, n))
OF_FILE(int, fsync, (int fd), (fd))
OF_FILE(int, fstat, (int fd, struct stat *to), (fd, to))

#define OF_FOLDER(type, name, failure, parameters, arguments) \
    type name parameters                                      \
    {                                                         \
        NEXT(type, name, parameters);                         \
        return fails() ? failure : next arguments;            \
    }

OF_FOLDER(DIR *, fdopendir, NULL, (int fd), (fd))
OF_FOLDER(struct dirent *, readdir, NULL, (DIR * list), (list))
OF_FOLDER(int, fstatat, -1, (int in, const char *name, struct stat *to, int flags),
          (in, name, to, flags))
OF_FOLDER(int, mkdirat, -1, (int in, const char *name, mode_t mode), (in, name, mode))
OF_FOLDER(int, faccessat, -1, (int in, const char *name, int mode, int flags),
          (in, name, mode, flags))
OF_FOLDER(int, unlinkat, -1, (int in, const char *name, int flags), (in, name, flags))
OF_FOLDER(int, renameat, -1, (int one, const char *from, int other, const char *to),
          (one, from, other, to))
