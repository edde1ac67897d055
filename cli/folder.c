/* folder.c - the command folder, and a directory as what a file syncs with. The library reads and
 * writes it; here its rows are printed, and it is watched. */
#define _POSIX_C_SOURCE 200809L

#include "cli/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "counter.h"

/* ---- folder ---------------------------------------------------------------------------------- */

/* The marker is empty: it says that the directory is there, and meant. */
void cli_folder(cli *c, const cli_arguments *given)
{
    enum { FLAGS = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC };
    const char *directory = given->word[0];
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        cli_fail(c, "%s: cannot be made: %s", directory, strerror(errno));
    int in = c->failed ? -1 : open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int made = in >= 0 ? openat(in, COUNTER_FOLDER_MARKER, FLAGS, 0666) : -1;
    if (made < 0) cli_fail(c, "%s: cannot be written: %s", directory, strerror(errno));
    if (made >= 0 && (fsync(made) != 0 || (fsync(in) != 0 && errno != EINVAL)))
        cli_fail(c, "%s: cannot be written: %s", directory, strerror(errno));
    if (made >= 0) close(made);
    if (in >= 0) close(in);
}

/* ---- sync ------------------------------------------------------------------------------------ */

/* Watches a directory, and those of all devices in it. */
static void watch_all(cli *c, cli_watch *watch, const char *directory)
{
    DIR *open = opendir(directory);
    for (struct dirent *entry; open && (entry = readdir(open));) {
        char *path = sqlite3_mprintf("%s/%s", directory, entry->d_name);
        if (!path) cli_fail(c, "out of memory");
        bool is_below = entry->d_name[0] != '.' || entry->d_name[1] == '\0';
        if (path && is_below) cli_watch_add(watch, path);
        sqlite3_free(path);
    }
    if (open) closedir(open);
}

/* Columns of CLI_SQL_PUSH_INTO and CLI_SQL_PULL_FROM. */
enum { OF_SOURCE, OF_CHANGES, OF_UPTO, OF_NOTE };

/* Takes a row as one to print. Its note is an error, which keeps no other row from being taken, or
 * a warning if nothing was to be given. */
static void take_row(cli_file *file, sqlite3_stmt *row, bool gives, cli_rows *rows, bool *failed)
{
    const char *note = (const char *)sqlite3_column_text(row, OF_NOTE);
    if (sqlite3_column_int64(row, OF_CHANGES) > 0 || !note)
        cli_rows_moved(rows, gives ? "gave" : "took",
                       (const char *)sqlite3_column_text(row, OF_SOURCE),
                       sqlite3_column_int64(row, OF_CHANGES), sqlite3_column_int64(row, OF_UPTO));
    if (note && gives) cli_warn(file->c, "%s", note);
    if (note && !gives) cli_fail(file->c, "%s", note);
    *failed = *failed || file->c->failed;
    file->c->failed = false;
}

/* Gives or takes. Goes on after an error. */
static void move(cli_file *file, const char *directory, const char *scope, bool gives,
                 cli_rows *rows, bool *failed)
{
    cli_begin(file); /* which waits for others */
    sqlite3_stmt *row =
        cli_prepare_text(file, gives ? CLI_SQL_PUSH_INTO : CLI_SQL_PULL_FROM, directory);
    if (row && !gives) sqlite3_bind_text(row, 2, scope, -1, SQLITE_STATIC);
    while (cli_step(file, row)) take_row(file, row, gives, rows, failed);
    sqlite3_finalize(row);
    cli_end(file);
    *failed = *failed || file->c->failed;
    file->c->failed = false;
}

void cli_folder_check(cli_file *file, const char *directory)
{
    sqlite3_stmt *row = cli_prepare_text(file, CLI_SQL_FOLDER, directory);
    cli_step(file, row);
    sqlite3_finalize(row);
}

/* What cannot be taken keeps nobody from giving. */
void cli_folder_sync(cli_file *file, const char *directory, const char *scope, cli_watch *watch,
                     cli_rows *rows)
{
    bool failed = false;
    if (file->c->failed) return;
    cli_progress_rows(file);
    if (watch) watch_all(file->c, watch, directory);
    cli_run(file, "SELECT counter_settle()"); /* before its directory is named */
    if (file->c->failed) return;
    move(file, directory, scope, false, rows, &failed);
    move(file, directory, NULL, true, rows, &failed);
    file->c->failed = failed;
    cli_progress_erase(file->c);
}

/* ---- status ---------------------------------------------------------------------------------- */

void cli_folder_tell(cli_file *file, const char *directory, cli_rows *rows)
{
    enum { PATH, SOURCE, WRITTEN, UPTO, MARK };
    sqlite3_stmt *row = cli_prepare_text(file, CLI_SQL_FOLDER, directory);
    while (cli_step(file, row)) {
        bool is_device = sqlite3_column_type(row, SOURCE) != SQLITE_NULL;
        cli_rows_text(rows, is_device ? "other" : "strange");
        if (is_device)
            cli_rows_columns(rows, row, SOURCE, MARK + 1);
        else
            cli_rows_columns(rows, row, PATH, SOURCE);
        cli_rows_end(rows);
    }
    sqlite3_finalize(row);
}
