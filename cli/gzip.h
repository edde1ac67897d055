/* gzip.h - files of batches: lines, compressed by zlib, and a last one with their digest. */
#ifndef CLI_GZIP_H
#define CLI_GZIP_H

#include "cli/cli.h"
#include "core/id.h"

typedef struct cli_lines {
    cli *c;
    const char *path; /* lent */
    int64_t n;        /* lines put, or read */
    uint8_t digest[CTR_ID_SIZE];
    char *line; /* the last one that was read; owned */
    size_t room;
    struct gzFile_s *gz; /* owned */
    int fd;
    bool whole;   /* the last line was read, and is right */
    bool damaged; /* it is not as a writer has left it */
    bool is_gone; /* there is no such file, which is no failure */
} cli_lines;

/* Writes a file: create it, put lines, finish it with its last line, which also puts it onto the
 * disk; one for a server has none. */
void cli_lines_create(cli_lines *lines, cli *c, const char *path);
void cli_lines_put(cli_lines *lines, const char *line);
void cli_lines_finish(cli_lines *lines, bool with_last);

/* Reads a file: fails at its end unless that is whole, so the caller takes nothing back before. */
void cli_lines_open(cli_lines *lines, cli *c, const char *path);
bool cli_lines_next(cli_lines *lines, size_t *size);
void cli_lines_close(cli_lines *lines);

#endif
