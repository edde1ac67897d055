/* gzip.c - lines to and from a server. Where the program was built without zlib, each function fails
 * with a sentence. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gzip.h"

#if defined(COUNTER_HAS_ZLIB)

#include <zlib.h>

enum {
    PART = 1 << 16,
    LINE_BYTES_MOST = 1 << 26,
    DECOMPRESSED_MOST = 1 << 30 /* as it was before it was compressed */
};

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
    *lines = (cli_lines){.c = c, .path = path};
    if (c->failed) return;
    lines->gz = gzopen(path, "wbe");
    if (!lines->gz) fail_writing(lines);
}

void cli_lines_put(cli_lines *lines, const char *line)
{
    size_t size = strlen(line);
    if (lines->c->failed) return;
    bool written = size < UINT_MAX && gzwrite(lines->gz, line, (unsigned)size) == (int)size &&
                   gzputc(lines->gz, '\n') == '\n';
    if (!written) fail_writing(lines);
}

void cli_lines_finish(cli_lines *lines)
{
    int rc = lines->gz ? gzclose(lines->gz) : Z_OK;
    lines->gz = NULL;
    if (rc != Z_OK) fail_writing(lines);
}

/* ---- reading --------------------------------------------------------------------------------- */

void cli_lines_open(cli_lines *lines, cli *c, const char *path, const char *url)
{
    *lines = (cli_lines){.c = c, .path = url, .left = DECOMPRESSED_MOST};
    if (c->failed) return;
    lines->gz = gzopen(path, "rbe");
    if (!lines->gz) cli_fail(c, "%s: no answer came", url);
}

static void fail_line(cli_lines *lines, const char *what)
{
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

/* Reads on to the end of a line, which the last one may lack. Returns false at the end. */
static bool read_line(cli_lines *lines, size_t *size)
{
    const char *wrong = NULL;
    *size = 0;
    while (!lines->c->failed && widen(lines, *size)) {
        char *part = lines->line + *size;
        z_off_t before = gztell(lines->gz);
        if (!gzgets(lines->gz, part, PART)) return *size > 0;
        size_t more = strlen(part);
        *size += more;
        lines->left -= (int64_t)more;
        bool ends = more > 0 && part[more - 1] == '\n';
        if (gztell(lines->gz) - before != (z_off_t)more) wrong = "it has a zero byte";
        if (!wrong && *size > LINE_BYTES_MOST) wrong = "it is too long";
        if (!wrong && lines->left < 0) wrong = "the answer is too long";
        if (wrong) fail_line(lines, wrong);
        if (ends && !wrong) lines->line[--*size] = '\0';
        if (ends) return !wrong;
    }
    return false;
}

/* Returns false and an error if the answer cannot be read on, or is cut short. */
static bool check_reading(cli_lines *lines)
{
    int rc = Z_OK;
    gzerror(lines->gz, &rc);
    if (rc == Z_ERRNO) cli_fail(lines->c, "%s: cannot be read: %s", lines->path, strerror(errno));
    if (rc != Z_OK)
        cli_fail(lines->c, "%s: it is cut short or damaged, and nothing of it was taken",
                 lines->path);
    return rc == Z_OK;
}

bool cli_lines_next(cli_lines *lines, size_t *size)
{
    if (lines->c->failed) return false;
    bool is_line = read_line(lines, size);
    if (lines->c->failed || !check_reading(lines)) return false;
    lines->n += is_line;
    return is_line;
}

char *cli_lines_text(cli *c, const char *path)
{
    char text[CLI_TEXT_MAX];
    gzFile gz = c->failed ? NULL : gzopen(path, "rbe");
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
    *lines = (cli_lines){.c = c, .path = path};
    cli_fail(c, "%s: this sqlite-counter was built without zlib, which servers need", path);
}

void cli_lines_create(cli_lines *lines, cli *c, const char *path)
{
    fail_without_zlib(lines, c, path);
}

void cli_lines_open(cli_lines *lines, cli *c, const char *path, const char *url)
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
    (void)lines, (void)line;
}

void cli_lines_finish(cli_lines *lines)
{
    (void)lines;
}

bool cli_lines_next(cli_lines *lines, size_t *size)
{
    (void)lines, (void)size;
    return false;
}

void cli_lines_close(cli_lines *lines)
{
    (void)lines;
}

#endif
