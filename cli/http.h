/* http.h - syncs a file with a server: docs/batches.md. */
#ifndef CLI_HTTP_H
#define CLI_HTTP_H

#include "cli/cli.h"

/* Sends what the file has counted to the server of word[1], takes what that has, and adds what moved
 * to `rows`. The token stands in a file, or, if none is given, in SQLITE_COUNTER_TOKEN. Runs curl. */
void cli_http_sync(cli_file *file, const cli_arguments *given, cli_rows *rows);

#endif
