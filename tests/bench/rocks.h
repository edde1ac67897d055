/* rocks.h - counting in RocksDB: a database of 64-bit sums, which its merge operator adds up. */
#ifndef ROCKS_H
#define ROCKS_H

#include "common.h"

typedef struct rocks rocks;

/* A new database in `folder`, with RocksDB's defaults: a log that is written, not synced, at each
 * batch. NULL if the program was built without RocksDB. rocks_close removes it. */
rocks *rocks_open(const char *folder);
void rocks_close(rocks *db);

/* Adds to the keys of `order`, or to all in turn, `n` times, `batch` at once. */
void rocks_add(rocks *db, const texts *keys, const uint32_t *order, uint32_t n, uint32_t batch);

/* Waits until its threads have flushed and compacted what they want to. */
void rocks_rest(rocks *db);

/* Reads the keys of `order`, or all in turn, and returns the sum of all that was read. */
int64_t rocks_sum(rocks *db, const texts *keys, const uint32_t *order, uint32_t n);

#endif
