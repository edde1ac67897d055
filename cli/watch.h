/* watch.h - waits until a directory or a file has changed, or the user wants to stop. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "cli/cli.h"

typedef struct cli_watch {
    int events;      /* of inotify, -1: there is none */
    int64_t version; /* of the data of the file, before the round */
} cli_watch;

/* From now on an interrupt, or a request to end, only ends the wait. */
void cli_watch_open(cli_watch *watch);
void cli_watch_close(cli_watch *watch);

/* Watches a directory, from now on or still. */
void cli_watch_add(cli_watch *watch, const char *directory);

/* Begins a round: what others commit to the file from now on ends the wait. */
void cli_watch_begin(cli_watch *watch, cli_file *file);

/* Shows what was printed, and waits for a change in a directory or by another connection to the
 * file, at most for so many seconds. Returns false if the user wants to stop. */
bool cli_watch_wait(cli_watch *watch, cli_file *file, int seconds);

#endif
