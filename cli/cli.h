/* cli.h - what the commands of sqlite-counter share: a file and the first error, rows to print, and
 * progress.
 *
 * An error is sticky: the first one is printed, as one sentence on standard error, and everything
 * that is called after it does nothing. So commands are written without a ladder of ifs, and end
 * with whether `failed` is set.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* What a command was called with. */
typedef struct cli_arguments {
    char **word; /* behind the options */
    int n;
    const char *since; /* of export; NULL: not given */
} cli_arguments;

/* What is at work, shown on standard error while it lasts, if that is a terminal. */
typedef struct cli_progress {
    const char *command, *file;
    const char *unit; /* of what is counted, or NULL */
    int64_t count;
    double began, shown_at; /* seconds; shown_at is 0 until something is shown */
} cli_progress;

typedef struct cli {
    const char *command;
    bool failed;
    cli_progress progress;
} cli;

/* A file that is open. */
typedef struct cli_file {
    cli *c;
    const char *path; /* as the user wrote it; lent */
    sqlite3 *db;
} cli_file;

/* ---- errors ---------------------------------------------------------------------------------- */

/* Prints "sqlite-counter: <sentence>" unless another error came first. */
void cli_fail(cli *c, const char *format, ...);

/* The error that the connection is in, with the name of its file in front; `where` goes between
 * them, such as "line 3: ", or is "". */
void cli_fail_file(cli_file *file, const char *where);

/* ---- files ----------------------------------------------------------------------------------- */

/* Opens a file that is there, with the extension. To be closed whatever happens. */
void cli_open(cli_file *file, cli *c, const char *path);
void cli_close(cli_file *file);

/* Fails if the file cannot be written. */
void cli_need_write(cli_file *file);

/* The number of counter tables; 0 where nobody ever made one. */
int64_t cli_count_tables(cli_file *file);
void cli_need_tables(cli_file *file);

/* One statement without parameters and rows. */
void cli_run(cli_file *file, const char *sql);

/* A transaction that waits for its lock, and its end: COMMIT, or ROLLBACK after an error. */
void cli_begin(cli_file *file);
void cli_end(cli_file *file);

/* NULL after an error. The caller finalizes it. */
sqlite3_stmt *cli_prepare(cli_file *file, const char *sql);

/* Steps to the next row; false at the end and after an error. */
bool cli_step(cli_file *file, sqlite3_stmt *statement);

/* The integer of the first row of a statement without parameters; 0 if there is none. */
int64_t cli_integer(cli_file *file, const char *sql);

/* ---- progress -------------------------------------------------------------------------------- */

void cli_progress_begin(cli *c, const char *file, const char *unit);
void cli_progress_add(cli *c); /* one more of the unit */
void cli_progress_erase(cli *c);

/* ---- rows to print --------------------------------------------------------------------------- */

/* Collects rows and prints them at the end: in columns under their titles on a terminal, else
 * parted by tabs without titles. */
typedef struct cli_rows {
    char **cell; /* owned; NULL ends a row */
    size_t n, room;
    bool lacks_memory;
} cli_rows;

void cli_rows_text(cli_rows *rows, const char *text); /* NULL is empty */
void cli_rows_integer(cli_rows *rows, int64_t n);
void cli_rows_columns(cli_rows *rows, sqlite3_stmt *row, int from, int to); /* [from, to) */
void cli_rows_end(cli_rows *rows);

/* Takes back all cells but the first n. */
void cli_rows_cut(cli_rows *rows, size_t n);

/* Prints them, also after an error, and frees them. `titles`: parted by tabs, or NULL. */
void cli_rows_print(cli_rows *rows, cli *c, const char *titles);

/* ---- commands -------------------------------------------------------------------------------- */

void cli_sync(cli *c, const cli_arguments *given);
void cli_status(cli *c, const cli_arguments *given);
void cli_track(cli *c, const cli_arguments *given);
void cli_check(cli *c, const cli_arguments *given);
void cli_export(cli *c, const cli_arguments *given);
void cli_import(cli *c, const cli_arguments *given);

#endif
