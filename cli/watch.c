/* watch.c - waits by inotify where there is one, and else for a while. */
#define _GNU_SOURCE /* inotify, sigaction */

#include "cli/watch.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/inotify.h>
#endif

enum { BETWEEN = 500 /* milliseconds between looks at the file */ };

static volatile sig_atomic_t is_stopped;

static void stop(int signal)
{
    (void)signal;
    is_stopped = 1;
}

void cli_watch_open(cli_watch *watch)
{
    struct sigaction action = {.sa_handler = stop, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    watch->events = -1;
#if defined(__linux__)
    watch->events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
#endif
}

void cli_watch_close(cli_watch *watch)
{
    if (watch->events >= 0) close(watch->events);
}

void cli_watch_add(cli_watch *watch, const char *directory)
{
#if defined(__linux__)
    if (watch->events >= 0)
        inotify_add_watch(watch->events, directory,
                          IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR | IN_DONT_FOLLOW);
#else
    (void)watch;
    (void)directory;
#endif
}

/* Returns whether something happened in a directory. */
static bool wait_for_events(const cli_watch *watch)
{
    struct pollfd events = {.fd = watch->events, .events = POLLIN};
    char bytes[4096];
    bool any = poll(&events, watch->events >= 0, BETWEEN) > 0;
    while (any && read(watch->events, bytes, sizeof bytes) > 0) continue;
    return any;
}

void cli_watch_begin(cli_watch *watch, cli_file *file)
{
    watch->version = cli_integer(file, "PRAGMA data_version");
}

bool cli_watch_wait(cli_watch *watch, cli_file *file, int seconds)
{
    fflush(stdout);
    for (int i = 0; i < seconds * 1000 / BETWEEN && !is_stopped; i++)
        if (wait_for_events(watch) || cli_integer(file, "PRAGMA data_version") != watch->version)
            break;
    file->c->failed = false; /* the file was locked: the next round tries again */
    return !is_stopped;
}
