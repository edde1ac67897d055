/* redis.c - a Redis server for one client on a UNIX socket, and increments in it.
 *
 * A request is "*3 $6 INCRBY $<size> <key> $<size> <n>", an answer ":<value>", each part with CR
 * LF.
 */
#define _POSIX_C_SOURCE 200809L

#include "redis.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 128, TRIES = 200 };

struct redis {
    pid_t pid;
    int socket;
    char folder[96]; /* the address of a socket is no longer */
};

static void fail_redis(const char *what)
{
    perror(what);
    exit(1);
}

static void become_server(const char *folder)
{
    int nowhere = open("/dev/null", O_WRONLY);
    if (chdir(folder) || dup2(nowhere, STDOUT_FILENO) < 0) _exit(126);
    execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", "socket", "--save", "",
           "--appendonly", "yes", "--appendfsync", "everysec", (char *)NULL);
    _exit(127);
}

/* The socket appears when the server listens; false if the server has ended before. */
static bool connect_to(redis *server)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", server->folder);
    server->socket = socket(AF_UNIX, SOCK_STREAM, 0);
    for (int i = 0; i < TRIES; i++) {
        if (connect(server->socket, (struct sockaddr *)&address, sizeof address) == 0) return true;
        if (waitpid(server->pid, NULL, WNOHANG) == server->pid) return false;
        nanosleep(&(struct timespec){0, 25000000}, NULL);
    }
    kill(server->pid, SIGTERM);
    waitpid(server->pid, NULL, 0);
    return false;
}

redis *redis_start(const char *folder)
{
    redis *server = calloc(1, sizeof *server);
    if (!server) fail_redis("redis");
    snprintf(server->folder, sizeof server->folder, "%s/redisXXXXXX", folder);
    if (!mkdtemp(server->folder)) fail_redis(server->folder);
    if ((server->pid = fork()) < 0) fail_redis("redis");
    if (server->pid == 0) become_server(server->folder);
    if (connect_to(server)) return server;
    close(server->socket);
    rmdir(server->folder);
    free(server);
    return NULL;
}

void redis_stop(redis *server)
{
    char remove[128];
    close(server->socket);
    kill(server->pid, SIGTERM);
    waitpid(server->pid, NULL, 0);
    snprintf(remove, sizeof remove, "rm -r '%s'", server->folder);
    if (system(remove)) fail_redis(server->folder);
    free(server);
}

static void send_all(redis *server, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = write(server->socket, bytes, size);
        if (sent <= 0) fail_redis("redis");
        bytes += sent;
        size -= (size_t)sent;
    }
}

/* Reads `n` answers, which are lines. */
static void read_answers(redis *server, uint32_t n)
{
    char bytes[65536];
    while (n > 0) {
        ssize_t size = read(server->socket, bytes, sizeof bytes);
        if (size <= 0) fail_redis("redis");
        for (ssize_t i = 0; i < size; i++) {
            if (bytes[i] == '-') fail_redis("redis refuses an increment");
            n -= bytes[i] == '\n';
        }
    }
}

void redis_add(redis *server, const texts *keys, const uint32_t *order, uint32_t n,
               uint32_t at_once)
{
    char *requests = malloc((size_t)at_once * ROOM);
    if (!requests) fail_redis("redis");
    for (uint32_t i = 0; i < n;) {
        size_t size = 0;
        uint32_t sent = 0;
        for (; sent < at_once && i < n; sent++, i++) {
            uint32_t key = order ? order[i] : i % keys->n;
            char number[8];
            int digits = snprintf(number, sizeof number, "%u", (unsigned)(i % 100 + 1));
            size += (size_t)snprintf(
                requests + size, ROOM, "*3\r\n$6\r\nINCRBY\r\n$%d\r\n%.*s\r\n$%d\r\n%s\r\n",
                keys->size[key], keys->size[key], keys->at[key], digits, number);
        }
        send_all(server, requests, size);
        read_answers(server, sent);
    }
    free(requests);
}
