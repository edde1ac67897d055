/* redis.h - a Redis server for one client on a UNIX socket, and increments in it. */
#ifndef REDIS_H
#define REDIS_H

#include "common.h"

typedef struct redis redis;

/* Starts the server with its files in `folder`, appendonly, appendfsync everysec; NULL if there is
 * none to start: redis-server of the PATH. redis_stop ends it and removes its files. */
redis *redis_start(const char *folder);
void redis_stop(redis *server);

/* Adds to the keys of `order`, or to all in turn, `n` times; sends `at_once` before
 * reading answers. */
void redis_add(redis *server, const texts *keys, const uint32_t *order, uint32_t n,
               uint32_t at_once);

#endif
