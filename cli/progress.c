/* progress.c - one line on a terminal that says what long work has done so far. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

enum {
    STEPS_BETWEEN = 20000, /* instructions of SQLite from one look at the clock to the next */
    USUAL_WIDTH = 80       /* of a terminal that does not tell its own */
};

double cli_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A line that reaches the last column may begin the next one. */
static int terminal_width(void)
{
    struct winsize size;
    bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return (is_known ? size.ws_col : USUAL_WIDTH) - 1;
}

/* Prints as many characters as there is room for; returns the room that is left. */
static int print_within(const char *text, int room)
{
    while (*text && room > 0) {
        text += cli_print_letter(text);
        room--;
    }
    return room;
}

/* The name of the file makes room for what has been done. */
static void print_progress(const cli_progress *progress, double now)
{
    char done[100];
    int64_t count = progress->count;
    if (progress->writer) count += sqlite3_total_changes(progress->writer);
    size_t n = (size_t)snprintf(done, sizeof done, ": %.0f s", now - progress->began);
    if (progress->unit)
        snprintf(done + n, sizeof done - n, ", %lld %s", (long long)count, progress->unit);
    int width = terminal_width(), used = (int)strlen(done);
    fputc('\r', stderr);
    int room = print_within(progress->command, width - used);
    room = print_within(" ", room);
    room = print_within(progress->file, room);
    print_within(done, room + used);
    fputs("\033[K", stderr);
    fflush(stderr);
}

/* Short work shows nothing. */
void cli_progress_show(cli *c)
{
    cli_progress *progress = &c->progress;
    double now = cli_seconds();
    if (progress->began == 0 || now - progress->began < 0.4 || now - progress->shown_at < 0.2 ||
        !isatty(STDERR_FILENO))
        return;
    progress->shown_at = now;
    print_progress(progress, now);
}

static int show_while_working(void *c)
{
    cli_progress_show(c);
    return 0;
}

void cli_progress_follow(cli_file *file)
{
    if (isatty(STDERR_FILENO))
        sqlite3_progress_handler(file->db, STEPS_BETWEEN, show_while_working, file->c);
}

void cli_progress_begin(cli *c, const char *file, const char *unit)
{
    cli_progress_erase(c);
    c->progress =
        (cli_progress){.command = c->command, .file = file, .unit = unit, .began = cli_seconds()};
}

void cli_progress_rows(cli_file *to)
{
    cli_progress_begin(to->c, to->path, "rows written");
    to->c->progress.writer = to->db;
    to->c->progress.count = to->db ? -sqlite3_total_changes(to->db) : 0;
}

void cli_progress_add(cli *c, int64_t n)
{
    c->progress.count += n;
}

void cli_progress_erase(cli *c)
{
    if (c->progress.shown_at > 0) fputs("\r\033[K", stderr);
    c->progress = (cli_progress){0};
}
