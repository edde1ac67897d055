/* system.h - what the runner of scripts needs of POSIX, and where that is missing instead. */
#ifndef TESTS_SQL_SYSTEM_H
#define TESTS_SQL_SYSTEM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A new folder in $TMPDIR, its path into `path`; 0 if there is none. */
int system_make_folder(char path[512]);

/* A folder at this path with an empty file, `marker`; 0 if it cannot be made. */
int system_make_directory(const char *path, const char *marker);

/* Removes it with all that is in it, from outside; 0 or an error that perror tells. */
int system_remove_folder(const char *path);

/* A text that grows; zero it before use, free its bytes. The program ends without memory. */
typedef struct system_text {
    char *bytes; /* with a 0 at the end; NULL before anything was appended */
    size_t size, room;
} system_text;

void system_append(system_text *text, const char *more);

/* As getline of POSIX. */
long system_getline(char **line, size_t *room, FILE *file);

#endif
