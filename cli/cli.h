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
#include <stddef.h>
#include <stdint.h>

/* The statements of cli/statements.sql. */
#define CTR_STATEMENT(name, text) extern const char CLI_SQL_##name[];
#include "cli_statements.h"
#undef CTR_STATEMENT

/* What a command was called with. */
typedef struct cli_arguments {
    char **word; /* behind the options */
    int n;
    /* Options; NULL or false: not given. */
    const char *since, *scope, *token_file, *ca;
    bool own, create_tables, watch, dry_run, json;
    const char *output, *options, *to, *column;
    bool copies, unrelated, base_is_fork, conflict_table, driver, install, as_text;
    char **asks; /* owned: of options that may be repeated, such as "leave=logs" */
    int n_asks;
} cli_arguments;

/* The work of a command, as a terminal shows it on standard error until it is done. */
typedef struct cli_progress {
    const char *command, *file;
    const char *unit; /* of what is counted, or NULL */
    int64_t count;
    sqlite3 *writer;        /* whose written rows are counted instead, or NULL */
    double began, shown_at; /* seconds; shown_at is 0 until something is shown */
} cli_progress;

typedef struct cli {
    const char *command;
    bool failed;
    bool silent; /* it looks, and says nothing */
    int status;  /* what the program exits with; 0: 0, or 1 if it failed */
    cli_progress progress;
} cli;

/* A file that is open. */
typedef struct cli_file {
    cli *c;
    const char *path; /* as the user wrote it; lent */
    sqlite3 *db;
    double asked_at; /* when the last statement began, in seconds */
} cli_file;

/* ---- errors ---------------------------------------------------------------------------------- */

/* Prints "sqlite-counter: <sentence>" unless another error came first. */
void cli_fail(cli *c, const char *format, ...);

/* Prints such a sentence, which is no error; does nothing after an error. */
void cli_warn(cli *c, const char *format, ...);

/* The error that the connection is in, with the name of its file in front; `where` goes between
 * them, such as "line 3: ", or is "". */
void cli_fail_file(cli_file *file, const char *where);

/* The message of a connection without the name of the SQL function in front; lent like
 * sqlite3_errmsg. */
const char *cli_message(sqlite3 *db);

/* The bytes of the control character that `at` begins with, in ASCII, UTF-8 or Latin-1; 0 if there
 * is none. A terminal obeys these. `at` is where a letter begins. */
int cli_control_size(const char *at);

/* The bytes of the letter that `at` begins with, in UTF-8; 1 if it is none. */
int cli_letter_size(const char *at);

/* Prints that letter on standard error, or a question mark for a control character. Returns the
 * bytes of it. */
int cli_print_letter(const char *at);

/* ---- files ----------------------------------------------------------------------------------- */

enum { CLI_BUSY_SECONDS = 5 }; /* how long a connection waits for a lock */

/* Whether there is a regular file; else fails, and calls it by its name. */
bool cli_is_there(cli *c, const char *path, const char *name);

/* Opens a file that is there, with the extension. To be closed whatever happens. */
void cli_open(cli_file *file, cli *c, const char *path);
void cli_close(cli_file *file);

/* The path as SQLite takes it: never a URI, ":memory:" or the name of a schema. The caller frees
 * it; NULL without memory. */
char *cli_path(const char *path);

/* The connection becomes one to a temporary copy of the file, which can be written. */
void cli_copy(cli_file *file);

/* Fails if the file cannot be written. */
void cli_need_write(cli_file *file);

/* The number of counter tables; 0 where nobody ever made one. */
int64_t cli_count_tables(cli_file *file);
void cli_need_tables(cli_file *file);

/* Tries rows that are apart again, and warns if tables still do not show all that was merged; warns
 * of what else counter_warnings tells. */
void cli_warn_of_tables(cli_file *file);

/* One statement without parameters and rows. */
void cli_run(cli_file *file, const char *sql);

/* A transaction that waits for its lock, and its end: COMMIT, or ROLLBACK after an error. */
void cli_begin(cli_file *file);
void cli_end(cli_file *file);
void cli_rollback(cli_file *file); /* after an error, too */

/* NULL after an error. The caller finalizes it. */
sqlite3_stmt *cli_prepare(cli_file *file, const char *sql);

/* The same with a text for its first parameter, lent until the statement is finalized. */
sqlite3_stmt *cli_prepare_text(cli_file *file, const char *sql, const char *text);

/* Steps to the next row; false at the end and after an error. */
bool cli_step(cli_file *file, sqlite3_stmt *statement);

/* Calls an SQL function with n texts, and returns its integer. */
int64_t cli_call(cli_file *file, const char *function, char *const *words, int n);

/* The integer of the first row of a statement without parameters; 0 if there is none. */
int64_t cli_integer(cli_file *file, const char *sql);

/* ---- progress -------------------------------------------------------------------------------- */

double cli_seconds(void); /* of a clock that only rises */

void cli_progress_begin(cli *c, const char *file, const char *unit);
void cli_progress_rows(cli_file *to);     /* the same for a file that takes rows */
void cli_progress_add(cli *c, int64_t n); /* more of the unit */
void cli_progress_show(cli *c);       /* from time to time, where standard error is a terminal */
void cli_progress_follow(cli_file *); /* shows it while SQLite works */
void cli_progress_erase(cli *c);

/* ---- rows to print --------------------------------------------------------------------------- */

/* Collects rows and prints them at the end: in columns under their titles on a terminal, else
 * separated by tabs without titles. */
typedef struct cli_rows {
    char **cell; /* owned; NULL ends a row */
    size_t n, room;
    bool lacks_memory;
} cli_rows;

void cli_rows_text(cli_rows *rows, const char *text); /* NULL is empty */
void cli_rows_integer(cli_rows *rows, int64_t n);
void cli_rows_columns(cli_rows *rows, sqlite3_stmt *row, int from, int to); /* [from, to) */
void cli_rows_end(cli_rows *rows);

/* A row of a sync: 'gave' or 'took', with whom, changes, the number up to which they go. */
void cli_rows_moved(cli_rows *rows, const char *what, const char *who, int64_t n, int64_t upto);

/* Takes back all cells but the first n. */
void cli_rows_cut(cli_rows *rows, size_t n);

/* Prints them, also after an error, and frees them. `titles`: separated by tabs, or NULL. */
void cli_rows_print(cli_rows *rows, cli *c, const char *titles);

/* ---- lines ----------------------------------------------------------------------------------- */

/* Takes lines: import.c.
 *
 *     cli_taking_begin(&taking, file, "the name of the lines", source);
 *     cli_taking_line(&taking, line, size);      for each, within a transaction
 *     cli_taking_end(&taking);                   after an error, too
 */
typedef struct cli_taking {
    cli_file *file;
    const char *from; /* what messages call the lines: "lines.gz: ", or "" */
    bool is_of_one;   /* all lines are of one source */
    sqlite3_stmt *take, *answered;
    int64_t line, empty; /* lines so far; those of one source that have no changes */
    int64_t changes;
    struct cli_received
        *received; /* owned: one for each source, in the order of their first lines */
    size_t n;
    size_t *slots, n_slots; /* owned: where a source stands in `received`, from 1 on; 0: free */
} cli_taking;

/* What came from one file. */
typedef struct cli_received {
    char *source; /* owned */
    int64_t changes, mark;
} cli_received;

/* `source`: lines of another one are refused; NULL: none are. It is lent until the end. */
void cli_taking_begin(cli_taking *in, cli_file *file, const char *from, const char *source);
void cli_taking_line(cli_taking *in, const char *line, size_t size);
void cli_taking_end(cli_taking *in);

/* Up to which number the file has the changes of a source. */
int64_t cli_mark(cli_file *file, const char *source);

/* ---- commands -------------------------------------------------------------------------------- */

void cli_sync(cli *c, const cli_arguments *given);
void cli_folder(cli *c, const cli_arguments *given);
void cli_status(cli *c, const cli_arguments *given);
void cli_track(cli *c, const cli_arguments *given);
void cli_replicate(cli *c, const cli_arguments *given);
void cli_opening(cli *c, const cli_arguments *given);
void cli_plan(cli *c, const cli_arguments *given);
void cli_adopt(cli *c, const cli_arguments *given);
void cli_merge(cli *c, const cli_arguments *given);
void cli_grant(cli *c, const cli_arguments *given);
void cli_check(cli *c, const cli_arguments *given);
void cli_export(cli *c, const cli_arguments *given);
void cli_import(cli *c, const cli_arguments *given);

#endif
