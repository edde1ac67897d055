/* rocks.c - counting in RocksDB: a database of 64-bit sums, which its merge operator adds up.
 *
 * Compiled with WITH_ROCKSDB where the library is there, see tools/peers; else rocks_open returns
 * NULL. A value is 8 bytes, in the order of the machine, and so is what is merged into it.
 */
#define _POSIX_C_SOURCE 200809L

#include "rocks.h"

#ifndef WITH_ROCKSDB

rocks *rocks_open(const char *folder)
{
    (void)folder;
    return NULL;
}

void rocks_close(rocks *db)
{
    (void)db;
}

void rocks_add(rocks *db, const texts *keys, const uint32_t *order, uint32_t n, uint32_t batch)
{
    (void)db;
    (void)keys;
    (void)order;
    (void)n;
    (void)batch;
}

void rocks_rest(rocks *db)
{
    (void)db;
}

int64_t rocks_sum(rocks *db, const texts *keys, const uint32_t *order, uint32_t n)
{
    (void)db;
    (void)keys;
    (void)order;
    (void)n;
    return 0;
}

#else

#include <rocksdb/c.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct rocks {
    char path[600];
    rocksdb_t *db;
    rocksdb_options_t *options;
    rocksdb_writeoptions_t *write;
    rocksdb_readoptions_t *read;
};

/* Ends the program if there is an error. */
static void must_rocks(const char *error)
{
    if (!error) return;
    fprintf(stderr, "rocksdb: %s\n", error);
    exit(1);
}

/* ---- the merge operator: a sum ---- */

static char *add_all(const char *const *numbers, const size_t *sizes, int n, int64_t sum,
                     unsigned char *success, size_t *size)
{
    char *made = malloc(sizeof sum);
    *success = made != NULL;
    if (!made) return NULL;
    for (int i = 0; i < n; i++) {
        int64_t number;
        if (sizes[i] != sizeof number) *success = 0;
        if (sizes[i] == sizeof number)
            sum += *(const int64_t *)memcpy(&number, numbers[i], sizes[i]);
    }
    *size = sizeof sum;
    return memcpy(made, &sum, sizeof sum);
}

static char *merge_all(void *state, const char *key, size_t key_size, const char *value,
                       size_t value_size, const char *const *numbers, const size_t *sizes, int n,
                       unsigned char *success, size_t *size)
{
    (void)state;
    (void)key;
    (void)key_size;
    int64_t before = 0;
    if (value && value_size == sizeof before) memcpy(&before, value, sizeof before);
    return add_all(numbers, sizes, n, before, success, size);
}

static char *merge_some(void *state, const char *key, size_t key_size, const char *const *numbers,
                        const size_t *sizes, int n, unsigned char *success, size_t *size)
{
    (void)state;
    (void)key;
    (void)key_size;
    return add_all(numbers, sizes, n, 0, success, size);
}

static void destroy_nothing(void *state)
{
    (void)state;
}

static const char *name_of_sum(void *state)
{
    (void)state;
    return "sum";
}

/* ---- the database ---- */

rocks *rocks_open(const char *folder)
{
    char *error = NULL;
    rocks *made = calloc(1, sizeof *made);
    if (!made) must_rocks("out of memory");
    snprintf(made->path, sizeof made->path, "%s/rocks", folder);
    made->options = rocksdb_options_create();
    made->write = rocksdb_writeoptions_create();
    made->read = rocksdb_readoptions_create();
    rocksdb_options_set_create_if_missing(made->options, 1);
    rocksdb_options_set_merge_operator(
        made->options, rocksdb_mergeoperator_create(NULL, destroy_nothing, merge_all, merge_some,
                                                    NULL, name_of_sum));
    made->db = rocksdb_open(made->options, made->path, &error);
    must_rocks(error);
    return made;
}

void rocks_close(rocks *db)
{
    char *error = NULL;
    rocksdb_close(db->db);
    rocksdb_destroy_db(db->options, db->path, &error);
    must_rocks(error);
    rocksdb_options_destroy(db->options);
    rocksdb_writeoptions_destroy(db->write);
    rocksdb_readoptions_destroy(db->read);
    free(db);
}

void rocks_add(rocks *db, const texts *keys, const uint32_t *order, uint32_t n, uint32_t batch)
{
    rocksdb_writebatch_t *waiting = rocksdb_writebatch_create();
    for (uint32_t i = 0; i < n; i++) {
        char *error = NULL;
        uint32_t key = order ? order[i] : i % keys->n;
        int64_t number = i % 100 + 1;
        rocksdb_writebatch_merge(waiting, keys->at[key], (size_t)keys->size[key],
                                 (const char *)&number, sizeof number);
        if ((i + 1) % batch != 0 && i + 1 < n) continue;
        rocksdb_write(db->db, db->write, waiting, &error);
        must_rocks(error);
        rocksdb_writebatch_clear(waiting);
    }
    rocksdb_writebatch_destroy(waiting);
}

void rocks_rest(rocks *db)
{
    static const char *const busy[] = {
        "rocksdb.num-running-flushes", "rocksdb.mem-table-flush-pending",
        "rocksdb.num-running-compactions", "rocksdb.compaction-pending"};
    for (size_t i = 0; i < sizeof busy / sizeof *busy;) {
        uint64_t number = 0;
        rocksdb_property_int(db->db, busy[i], &number);
        i = number ? 0 : i + 1;
        if (number) nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
}

int64_t rocks_sum(rocks *db, const texts *keys, const uint32_t *order, uint32_t n)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        char *error = NULL;
        size_t size = 0;
        int64_t number = 0;
        uint32_t key = order ? order[i] : i % keys->n;
        rocksdb_pinnableslice_t *slice =
            rocksdb_get_pinned(db->db, db->read, keys->at[key], (size_t)keys->size[key], &error);
        must_rocks(error);
        const char *value = slice ? rocksdb_pinnableslice_value(slice, &size) : NULL;
        if (value && size == sizeof number) memcpy(&number, value, sizeof number);
        sum += number;
        rocksdb_pinnableslice_destroy(slice);
    }
    return sum;
}

#endif
