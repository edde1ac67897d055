/* errors.c - sentences on standard error. */
#define _POSIX_C_SOURCE 200809L

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

int cli_control_size(const char *at)
{
    unsigned char first = (unsigned char)at[0];
    if (first == 0xc2 && (unsigned char)at[1] >= 0x80 && (unsigned char)at[1] < 0xa0) return 2;
    return (first > 0 && first < ' ') || first == 0x7f || (first >= 0x80 && first < 0xa0);
}

int cli_letter_size(const char *at)
{
    unsigned char first = (unsigned char)at[0];
    int size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
    for (int i = 1; i < size; i++)
        if (((unsigned char)at[i] & 0xc0) != 0x80) return 1;
    return size;
}

int cli_print_letter(const char *at)
{
    int control = cli_control_size(at), letter = cli_letter_size(at);
    if (control > 0)
        fputc('?', stderr);
    else
        fwrite(at, 1, (size_t)letter, stderr);
    return control > 0 ? control : letter;
}

/* A name or a value may hold anything; a sentence is one line. */
static void print_sentence(cli *c, const char *format, va_list values)
{
    char *sentence = sqlite3_vmprintf(format, values);
    cli_progress_erase(c);
    fputs("sqlite-counter: ", stderr);
    for (const char *at = sentence ? sentence : "out of memory"; *at;) at += cli_print_letter(at);
    fputc('\n', stderr);
    sqlite3_free(sentence);
}

void cli_fail(cli *c, const char *format, ...)
{
    if (c->failed) return;
    c->failed = true;
    if (c->silent) return;
    va_list values;
    va_start(values, format);
    print_sentence(c, format, values);
    va_end(values);
}

void cli_warn(cli *c, const char *format, ...)
{
    if (c->failed) return;
    va_list values;
    va_start(values, format);
    print_sentence(c, format, values);
    va_end(values);
}

const char *cli_message(sqlite3 *db)
{
    const char *message = sqlite3_errmsg(db);
    size_t size = strspn(message, "abcdefghijklmnopqrstuvwxyz_");
    bool has_name = strncmp(message, "counter_", 8) == 0 && strncmp(message + size, ": ", 2) == 0;
    return message + (has_name ? size + 2 : 0);
}

/* SQLite reports that it cannot write what it keeps beside a file in WAL mode, or not make it. */
static bool lacks_wal(cli_file *file, int rc)
{
    return (rc == SQLITE_READONLY_DIRECTORY || (rc & 0xff) == SQLITE_CANTOPEN) &&
           sqlite3_db_readonly(file->db, "main") == 1;
}

void cli_fail_file(cli_file *file, const char *where)
{
    int rc = sqlite3_extended_errcode(file->db), error = sqlite3_system_errno(file->db);
    double waited = cli_seconds() - file->asked_at;
    const char *message = cli_message(file->db);
    if ((rc & 0xff) == SQLITE_BUSY && waited >= 1)
        cli_fail(file->c, "%s: %sbusy for %.0f seconds: %s", file->path, where, waited, message);
    else if ((rc & 0xff) == SQLITE_BUSY)
        cli_fail(file->c, "%s: %sbusy: %s", file->path, where, message);
    else if (lacks_wal(file, rc))
        cli_fail(file->c,
                 "%s: %sthe file and its folder are read-only: SQLite cannot read a file in WAL "
                 "mode there",
                 file->path, where);
    else if (rc == SQLITE_READONLY_DIRECTORY)
        cli_fail(file->c, "%s: %sSQLite cannot make its journal: the folder is read-only",
                 file->path, where);
    else if (rc == SQLITE_READONLY_ROLLBACK)
        cli_fail(file->c,
                 "%s: %sits last transaction was cut off, and the file is read-only: open it once "
                 "where it can be written",
                 file->path, where);
    else if ((rc & 0xff) == SQLITE_CANTOPEN && error != 0)
        cli_fail(file->c, "%s: %s%s: %s", file->path, where, message, strerror(error));
    else
        cli_fail(file->c, "%s: %s%s", file->path, where, message);
}
