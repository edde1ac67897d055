/* http.h - syncs a file with a server: docs/batches.md. */
#ifndef CLI_HTTP_H
#define CLI_HTTP_H

#include "cli/cli.h"

/* Sends what the file has counted, takes what the server has, and adds what moved to `rows`. The
 * token stands in a file, or, if that is NULL, in SQLITE_COUNTER_TOKEN. Runs curl. */
void cli_http_sync(cli_file *file, const char *url, const char *token_file, const char *scope,
                   cli_rows *rows);

#endif
