/* gzip.c - files of lines, compressed by zlib, whole or not there.
 *
 * The last line of a file says how many lines came before it, and their digest: docs/batches.md.
 * Where the program was built without zlib, each function fails with a sentence.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/gzip.h"
#include "file/uuid.h"

static const char *name_in(int folder, const char *path)
{
    const char *slash = strrchr(path, '/');
    return folder == AT_FDCWD || !slash ? path : slash + 1;
}

int cli_lines_find(int folder, const char *path)
{
    struct stat seen;
    int fd = openat(folder, name_in(folder, path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool is = fd >= 0 && fstat(fd, &seen) == 0 && S_ISREG(seen.st_mode);
    bool is_other = fd >= 0 ? !is : errno == ELOOP || errno == ENXIO; /* a link, a socket */
    if (fd >= 0 && !is) close(fd);
    if (is_other) errno = EINVAL;
    return is ? fd : -1;
}

#if defined(COUNTER_HAS_ZLIB)

#include <zlib.h>

enum {
    LAST_LINE_MAX = 96,
    PART = 1 << 16,
    MOST_OF_LINE = 1 << 28,
    MOST_OF_ANSWER_LINE = 1 << 26,
    MOST_OF_ANSWER = 1 << 30 /* as it was before it was compressed */
};

/* Chains the digest: that of a line is a UUID in the name space of the one before. */
static void add_line(cli_lines *lines, const char *line, size_t size)
{
    uint8_t space[CTR_ID_SIZE];
    memcpy(space, lines->digest, CTR_ID_SIZE);
    ctr_uuid_in(space, (const uint8_t *)line, size, lines->digest);
    lines->n++;
}

static void last_line(const cli_lines *lines, char text[LAST_LINE_MAX])
{
    char digest[CTR_ID_TEXT_SIZE];
    ctr_id_to_text(lines->digest, digest);
    snprintf(text, LAST_LINE_MAX, "{\"lines\":%lld,\"digest\":\"%s\"}", (long long)lines->n,
             digest);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void fail_writing(cli_lines *lines)
{
    int rc = Z_OK;
    const char *why = lines->gz ? gzerror(lines->gz, &rc) : NULL;
    cli_fail(lines->c, "%s: cannot be written: %s", lines->path,
             rc == Z_OK || rc == Z_ERRNO || !why ? strerror(errno) : why);
}

void cli_lines_create(cli_lines *lines, cli *c, int folder, const char *path)
{
    enum { FLAGS = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC };
    *lines = (cli_lines){.c = c, .path = path, .fd = -1};
    if (c->failed) return;
    unlinkat(folder, name_in(folder, path), 0);
    lines->fd = openat(folder, name_in(folder, path), FLAGS, 0666);
    int copy = lines->fd >= 0 ? dup(lines->fd) : -1; /* gzclose closes one, the other is synced */
    lines->gz = copy >= 0 ? gzdopen(copy, "wb") : NULL;
    if (!lines->gz) fail_writing(lines);
    if (!lines->gz && copy >= 0) close(copy);
}

static void put_line(cli_lines *lines, const char *line, size_t size)
{
    if (lines->c->failed) return;
    bool written = size < UINT_MAX && gzwrite(lines->gz, line, (unsigned)size) == (int)size &&
                   gzputc(lines->gz, '\n') == '\n';
    if (!written) fail_writing(lines);
}

void cli_lines_put(cli_lines *lines, const char *line)
{
    size_t size = strlen(line);
    add_line(lines, line, size);
    put_line(lines, line, size);
}

void cli_lines_finish(cli_lines *lines, bool with_last)
{
    char text[LAST_LINE_MAX];
    last_line(lines, text);
    if (with_last) put_line(lines, text, strlen(text));
    if (lines->gz && gzclose(lines->gz) != Z_OK && !lines->c->failed) {
        lines->gz = NULL;
        fail_writing(lines);
    }
    lines->gz = NULL;
    if (with_last && lines->fd >= 0 && !lines->c->failed && fsync(lines->fd) != 0)
        fail_writing(lines);
    if (lines->fd >= 0) close(lines->fd);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void open_lines(cli_lines *lines, int fd)
{
    lines->gz = fd >= 0 ? gzdopen(fd, "rb") : NULL;
    lines->is_gone = fd < 0 && errno == ENOENT && !lines->is_answer;
    if (fd >= 0 && !lines->gz) cli_fail(lines->c, "out of memory");
    if (fd >= 0 && !lines->gz) close(fd);
}

void cli_lines_open(cli_lines *lines, cli *c, int folder, const char *path)
{
    *lines = (cli_lines){.c = c, .path = path, .fd = -1};
    if (c->failed) return;
    int fd = cli_lines_find(folder, path);
    open_lines(lines, fd);
    if (fd < 0 && !lines->is_gone)
        cli_fail(c, "%s: cannot be read: %s", path,
                 errno == EINVAL ? "it is not a regular file" : strerror(errno));
}

void cli_lines_open_answer(cli_lines *lines, cli *c, const char *path, const char *url)
{
    *lines = (cli_lines){.c = c, .path = url, .fd = -1, .is_answer = true, .left = MOST_OF_ANSWER};
    if (c->failed) return;
    open_lines(lines, open(path, O_RDONLY | O_CLOEXEC));
    if (!lines->gz) cli_fail(c, "%s: no answer came", url);
}

/* A file with such a line is none that a writer has left. */
static void fail_line(cli_lines *lines, const char *what)
{
    lines->damaged = !lines->is_answer;
    cli_fail(lines->c, "%s: line %lld: %s: nothing of it was taken", lines->path,
             (long long)lines->n + 1, what);
}

/* Makes room for one more part of a line. */
static bool widen(cli_lines *lines, size_t size)
{
    if (lines->room - size >= PART) return true;
    char *line = realloc(lines->line, 2 * lines->room + PART);
    if (!line) cli_fail(lines->c, "out of memory");
    if (!line) return false;
    lines->line = line;
    lines->room = 2 * lines->room + PART;
    return true;
}

/* Reads on to the end of a line. Returns false at the end of the file, and if it is damaged. Only
 * the last line of an answer may lack its end. */
static bool read_line(cli_lines *lines, size_t *size)
{
    const size_t most = lines->is_answer ? MOST_OF_ANSWER_LINE : MOST_OF_LINE;
    const char *wrong = NULL;
    *size = 0;
    while (!lines->c->failed && widen(lines, *size)) {
        char *part = lines->line + *size;
        z_off_t before = gztell(lines->gz);
        if (!gzgets(lines->gz, part, PART)) return lines->is_answer && *size > 0;
        size_t more = strlen(part);
        *size += more;
        lines->left -= (int64_t)more;
        bool ends = more > 0 && part[more - 1] == '\n';
        if (gztell(lines->gz) - before != (z_off_t)more) wrong = "it has a zero byte";
        if (!wrong && *size > most) wrong = "it is too long";
        if (!wrong && lines->is_answer && lines->left < 0) wrong = "the answer is too long";
        if (wrong) fail_line(lines, wrong);
        if (ends && !wrong) lines->line[--*size] = '\0';
        if (ends) return !wrong;
    }
    return false;
}

/* Returns false and an error if the file cannot be read on, or is cut short. */
static bool check_reading(cli_lines *lines)
{
    int rc = Z_OK;
    gzerror(lines->gz, &rc);
    if (rc == Z_ERRNO) cli_fail(lines->c, "%s: cannot be read: %s", lines->path, strerror(errno));
    if (rc == Z_OK && lines->is_answer) return true;
    lines->damaged = !lines->c->failed;
    cli_fail(lines->c, "%s: it is cut short or damaged, and nothing of it was taken", lines->path);
    return false;
}

bool cli_lines_next(cli_lines *lines, size_t *size)
{
    char text[LAST_LINE_MAX];
    if (lines->c->failed || lines->whole || lines->is_gone) return false;
    static const char LAST[] = "{\"lines\":";
    bool is_line = read_line(lines, size);
    if (lines->c->failed) return false;
    if (!is_line || lines->is_answer) {
        lines->n += is_line;
        return check_reading(lines) && is_line;
    }
    last_line(lines, text);
    lines->whole = strcmp(lines->line, text) == 0;
    if (!lines->whole && strncmp(lines->line, LAST, sizeof LAST - 1) == 0)
        return check_reading(lines);
    if (!lines->whole) add_line(lines, lines->line, *size);
    return !lines->whole;
}

char *cli_lines_text(cli *c, const char *path)
{
    char text[CLI_TEXT_MAX];
    gzFile gz = c->failed ? NULL : gzopen(path, "rb");
    int n = gz ? gzread(gz, text, CLI_TEXT_MAX - 1) : 0;
    if (gz) gzclose(gz);
    return n > 0 ? sqlite3_mprintf("%.*s", n, text) : NULL;
}

void cli_lines_close(cli_lines *lines)
{
    if (lines->gz) gzclose(lines->gz);
    free(lines->line);
}

#else

static void fail_without_zlib(cli_lines *lines, cli *c, const char *path)
{
    *lines = (cli_lines){.c = c, .path = path, .fd = -1};
    cli_fail(c, "%s: this sqlite-counter was built without zlib, which compressed files need",
             path);
}

void cli_lines_create(cli_lines *lines, cli *c, int folder, const char *path)
{
    (void)folder;
    fail_without_zlib(lines, c, path);
}

void cli_lines_open(cli_lines *lines, cli *c, int folder, const char *path)
{
    (void)folder;
    fail_without_zlib(lines, c, path);
}

void cli_lines_open_answer(cli_lines *lines, cli *c, const char *path, const char *url)
{
    (void)path;
    fail_without_zlib(lines, c, url);
}

char *cli_lines_text(cli *c, const char *path)
{
    cli_lines none;
    fail_without_zlib(&none, c, path);
    return NULL;
}

void cli_lines_put(cli_lines *lines, const char *line)
{
    (void)lines;
    (void)line;
}

void cli_lines_finish(cli_lines *lines, bool with_last)
{
    (void)with_last;
    (void)lines;
}

bool cli_lines_next(cli_lines *lines, size_t *size)
{
    (void)lines;
    (void)size;
    return false;
}

void cli_lines_close(cli_lines *lines)
{
    (void)lines;
}

#endif
