/* content.h - what a file says, read once for each volume.
 *
 * Everything that the library stores in a file and reads again, except what nothing here depends
 * on:
 *
 *     counter_conflicts, former ids        history, for people
 *     counter_replica.since, why, until    the same; names, epoch, turn, trust, ...: not set
 *     counter_sources.pulled, holds, ...   for files that take over a name
 *     counter_state.rows, bytes            for counter_purge()
 *     counter_state, any other kind        there are only floors
 */
#ifndef MODEL_CONTENT_H
#define MODEL_CONTENT_H

#include <sqlite3.h>

#include "core/core.h"
#include "disk.h"

enum { MOST_KEYS = 2, MOST_SHARDS = 12, MOST_ENTRIES = 24, MOST_MARKS = 24, MOST_KNOWN = 12 };

typedef struct id {
    uint8_t bytes[CTR_ID_SIZE];
} id;

typedef struct pair {
    int64_t number, random;
} pair;

typedef struct content {
    id who, holder, token;
    int64_t inode, birth; /* where the identity was written, birth in milliseconds */
    pair witness;
    bool witnessed, knows_floors;
    bool floor;
    int64_t floor_sequence;
    struct content_row {
        bool present, shown;
        int64_t id, value;
        uint32_t life; /* of the complete cell, as the shards */
        int n;
        struct content_shard {
            id who;
            int64_t clock, value;
        } shards[MOST_SHARDS];
    } rows[MOST_KEYS];
    int n_entries, n_marks, n_known;
    struct content_entry {
        int64_t at, number, row, n; /* of the row of the journal; of the change */
        int ticks;
        int8_t level, kind;
    } entries[MOST_ENTRIES];
    struct content_mark {
        id who, theirs;
        int64_t mark;
    } marks[MOST_MARKS];
    struct content_known {
        id holder, who;
        pair witness;
    } known[MOST_KNOWN];
} content;

/* The statements that read one file. */
typedef struct content_reader {
    sqlite3 *db;
    sqlite3_stmt *identity, *token, *floor, *cells, *shown, *journal, *marks, *known, *check;
} content_reader;

void content_open(content_reader *reader, sqlite3 *db);
void content_close(content_reader *reader);

/* Reads the file; NULL, or a sentence about what is wrong with it: the integrity check, or a
 * cell. */
const char *content_read(content_reader *reader, int keys, content *to);

#endif
