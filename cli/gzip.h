/* gzip.h - lines to and from a server: bodies compressed by zlib, answers compressed or not. */
#ifndef CLI_GZIP_H
#define CLI_GZIP_H

#include "cli/cli.h"

typedef struct cli_lines {
    cli *c;
    const char *path; /* lent: of a body, or the URL that an answer came from */
    int64_t n;        /* lines read */
    char *line;       /* the last one that was read; owned */
    size_t room;
    struct gzFile_s *gz; /* owned */
    int64_t left;        /* bytes that an answer may still have */
} cli_lines;

/* Writes a body: create it in place of another one, put lines, finish it. */
void cli_lines_create(cli_lines *lines, cli *c, const char *path);
void cli_lines_put(cli_lines *lines, const char *line);
void cli_lines_finish(cli_lines *lines);

/* Reads an answer. Fails at a line, or an answer, that is too long. */
void cli_lines_open(cli_lines *lines, cli *c, const char *path, const char *url);
bool cli_lines_next(cli_lines *lines, size_t *size);
void cli_lines_close(cli_lines *lines);

/* The first bytes of an answer as a text, to be freed; NULL if there are none, or on an error. */
enum { CLI_TEXT_MAX = 4096 };
char *cli_lines_text(cli *c, const char *path);

#endif
