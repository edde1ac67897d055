/* system.h - what the runner of scripts needs of POSIX, and where that is missing instead. */
#ifndef TESTS_SQL_SYSTEM_H
#define TESTS_SQL_SYSTEM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A new folder, its path into `path`; 0 if there is none. */
int system_make_folder(char path[512]);

/* Removes it with all that is in it, from outside; 0 or an error that perror tells. */
int system_remove_folder(const char *path);

#ifdef _WIN32
/* As in POSIX; a stream of open_memstream is closed by system_close_memstream. */
long system_getline(char **line, size_t *room, FILE *file);
FILE *system_open_memstream(char **text, size_t *size);
int system_close_memstream(FILE *file);
#define getline system_getline
#define open_memstream system_open_memstream
#define fclose system_close_memstream
#endif

#endif
