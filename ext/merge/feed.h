/* merge/feed.h - gives the changes of main, cell by cell, for any transport to carry.
 *
 *     table      the name the table was created with
 *     key        packed (core/key.h)
 *     column     the counter; '' if the cell is the row of a replicated table with its regular
 *                columns (merge/row_feed.h), which comes before its counters. Without one, the row
 *                has the floors of the table: its key has a value for each key column with a floor
 *                and nothing for the others, and no cell follows
 *     generation the generation of the counter (table/columns.h), with the life of its row if the
 *                table is replicated; 0 for floors and rows
 *     number     the sequence number of the row
 *     key_text   the key columns in words, so that the taker can compare them with its own
 *
 * Counters that were added or dropped precede the rows, whatever the number and the bucket: with an
 * empty key, without a cell, and with the number 0. Then come answers about openings
 * (table/openings.h), whatever the bucket: with an empty key, without a column, and with the answer
 * as the cell.
 *
 * Its own changes alone are those that others cannot have from somebody else: of a row that was
 * changed here the shards of its own ids, present and former, and openings; all of a row that was
 * pulled, for a file uploads for those that it pulls; nothing of a row that came with a feed. Lives
 * and row cells have no owner and go whole.
 *
 * In a scope are rows whose leading key columns have given values, found by the index of the key;
 * counters that were added or dropped, answers and floors come with each scope.
 *
 * The feed has committed content only: it reads main like the source of a push, and syncs it to
 * disk before the first row. If main is no file, it is read through the connection of the host.
 * Then later rows include counts made since the start, and reading fails while there are
 * uncommitted counts.
 */
#ifndef CTR_MERGE_FEED_H
#define CTR_MERGE_FEED_H

#include "merge/digest.h"
#include "merge/marks.h"
#include "merge/merge.h"
#include "merge/row_feed.h"
#include "merge/scope.h"
#include "merge/source.h"
#include "table/catalog.h"
#include "table/rows.h"
#include "table/stream.h"

/* What is asked for. */
typedef struct ctr_feed_query {
    int64_t since;
    ctr_bucket bucket;
    bool own;             /* only its own changes */
    sqlite3_value *scope; /* merge/scope.h; NULL: everything. Borrowed by ctr_feed_open */
} ctr_feed_query;

typedef struct ctr_feed {
    /* The current row; lent until the next one. */
    bool eof;
    const char *table, *column; /* no column: floors */
    int64_t generation, number;
    ctr_packed key;
    bool has_cell;
    ctr_cell cell;
    char *key_text; /* of the table: ctr_shape_key_text */

    /* As of the snapshot. */
    ctr_identity giver;
    char *name; /* owned: that of the source in marks */

    /* Private: the query, and the current table. */
    ctr_feed_query query;
    ctr_scope scope; /* owned: query.scope */
    ctr_source source;
    int entry, named, counter;
    sqlite3_stmt *answers;
    uint8_t answer[CTR_ANSWER_SIZE];
    ctr_shape shape;
    ctr_rows rows;
    sqlite3_value **keys;
    ctr_walk walk;
    uint8_t *ids; /* owned: n_ids of its own */
    size_t n_ids, room_ids;
    ctr_packed own_cell, own_shards; /* owned: room for a cell, for its shards */
    ctr_row_giver row;               /* of a replicated table */
    bool gives_row;                  /* it is the next one */
} ctr_feed;

/* Opens the feed at its first row. The caller closes it, also after a failure, and does not move
 * it. */
int ctr_feed_open(ctr_feed *feed, ctr_conn *conn, const ctr_feed_query *query,
                  ctr_problem *problem);
int ctr_feed_next(ctr_feed *feed, ctr_problem *problem);
void ctr_feed_close(ctr_feed *feed);

#endif
