/* gzip.h - files of batches: lines, compressed by zlib, and a last one with their digest; and the
 * lines of a server's answer, compressed or not, without such a last one. */
#ifndef CLI_GZIP_H
#define CLI_GZIP_H

#include "cli/cli.h"
#include "core/core.h"

typedef struct cli_lines {
    cli *c;
    const char *path; /* lent */
    int64_t n;        /* lines put, or read */
    uint8_t digest[CTR_ID_SIZE];
    char *line; /* the last one that was read; owned */
    size_t room;
    struct gzFile_s *gz; /* owned */
    int fd;
    int64_t left;   /* bytes that an answer may still have */
    bool is_answer; /* of a server, which calls it by its URL, `path` */
    bool whole;     /* the last line was read, and is right */
    bool damaged;   /* it is not as a writer has left it */
    bool is_gone;   /* there is no such file, which is no failure */
} cli_lines;

/* Opens what `path` names in an open folder, its last word there; AT_FDCWD: the path as it is.
 * Never through a link, never waiting, and only a regular file: a folder that others write may
 * have a pipe or a device under any name. Returns -1 with errno, EINVAL for what is none. */
int cli_lines_find(int folder, const char *path);

/* Writes a file: create it, put lines, finish it with its last line, which also puts it onto the
 * disk; one for a server has none. `folder` as above. */
void cli_lines_create(cli_lines *lines, cli *c, int folder, const char *path);
void cli_lines_put(cli_lines *lines, const char *line);
void cli_lines_finish(cli_lines *lines, bool with_last);

/* Reads a file: fails at its end unless that is whole, so the caller takes nothing back before.
 * Fails at a line that is too long. */
void cli_lines_open(cli_lines *lines, cli *c, int folder, const char *path);
void cli_lines_open_answer(cli_lines *lines, cli *c, const char *path, const char *url);
bool cli_lines_next(cli_lines *lines, size_t *size);
void cli_lines_close(cli_lines *lines);

/* The first bytes of an answer as a text, to be freed; NULL if there are none, or on an error. */
enum { CLI_TEXT_MAX = 4096 };
char *cli_lines_text(cli *c, const char *path);

#endif
