/* folder.h - a directory through which files sync: docs/batches.md. */
#ifndef CLI_FOLDER_H
#define CLI_FOLDER_H

#include "cli/watch.h"

/* Fails if it is none that sqlite-counter folder has made. */
void cli_folder_check(cli_file *file, const char *directory);

/* Takes what others have, gives what the file has counted, and adds what moved to `rows`: 'gave' or
 * 'took', the id, changes, the number up to which they go. Goes on after an error with one of the
 * others. Watches what it reads, unless `watch` is NULL. */
void cli_folder_sync(cli_file *file, const char *directory, const char *scope, cli_watch *watch,
                     cli_rows *rows);

/* Adds a row for each file that has written: 'other', its id, when it last did, up to which number
 * its changes go, and up to which this file has them; and for what is none of their files:
 * 'strange' and its path. */
void cli_folder_tell(cli_file *file, const char *directory, cli_rows *rows);

#endif
