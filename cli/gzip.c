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
#include <unistd.h>

#include "cli/gzip.h"
#include "identity/uuid.h"

#if defined(COUNTER_HAS_ZLIB)

#include <zlib.h>

enum { LAST_LINE_MAX = 96 };

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

void cli_lines_create(cli_lines *lines, cli *c, const char *path)
{
    *lines = (cli_lines){.c = c, .path = path, .fd = -1};
    if (c->failed) return;
    unlink(path);
    lines->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
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

void cli_lines_open(cli_lines *lines, cli *c, const char *path)
{
    *lines = (cli_lines){.c = c, .path = path, .fd = -1};
    if (c->failed) return;
    lines->gz = gzopen(path, "rb");
    lines->is_gone = !lines->gz && errno == ENOENT;
    if (!lines->gz && !lines->is_gone) cli_fail(c, "%s: cannot be read: %s", path, strerror(errno));
}

/* Reads on to the end of a line. Returns false at the end of the file, and if it is damaged. */
static bool read_line(cli_lines *lines, size_t *size)
{
    enum { LEAST = 1 << 16, MOST = 1 << 28 };
    *size = 0;
    for (;;) {
        if (*size > MOST) return false;
        if (lines->room - *size < LEAST) {
            char *line = realloc(lines->line, 2 * lines->room + LEAST);
            if (!line) cli_fail(lines->c, "out of memory");
            if (!line) return false;
            lines->line = line;
            lines->room = 2 * lines->room + LEAST;
        }
        if (!gzgets(lines->gz, lines->line + *size, LEAST)) return false;
        *size += strlen(lines->line + *size);
        if (*size > 0 && lines->line[*size - 1] == '\n') break;
    }
    lines->line[--*size] = '\0';
    return true;
}

bool cli_lines_next(cli_lines *lines, size_t *size)
{
    char text[LAST_LINE_MAX];
    if (lines->c->failed || lines->whole || lines->is_gone) return false;
    static const char LAST[] = "{\"lines\":";
    bool is_line = read_line(lines, size);
    int rc = Z_OK;
    if (!is_line) gzerror(lines->gz, &rc);
    if (rc == Z_ERRNO) cli_fail(lines->c, "%s: cannot be read: %s", lines->path, strerror(errno));
    if (is_line) last_line(lines, text);
    lines->whole = is_line && strcmp(lines->line, text) == 0;
    if (!is_line || (!lines->whole && strncmp(lines->line, LAST, sizeof LAST - 1) == 0)) {
        lines->damaged = !lines->c->failed;
        cli_fail(lines->c, "%s: it is cut short or damaged, and nothing of it was taken",
                 lines->path);
        return false;
    }
    if (!lines->whole) add_line(lines, lines->line, *size);
    return !lines->whole;
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

void cli_lines_create(cli_lines *lines, cli *c, const char *path)
{
    fail_without_zlib(lines, c, path);
}

void cli_lines_open(cli_lines *lines, cli *c, const char *path)
{
    fail_without_zlib(lines, c, path);
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
