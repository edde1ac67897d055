/* table/stream.h - the rows of one stored table that a plan asks for, in its order.
 *
 *     ctr_stream_start(stream, plan, argv, true, problem);
 *     while (ctr_stream_step(stream, problem)) ... stream->statement stands on a row
 *     ctr_stream_close(stream);
 *
 * The columns of a row are _id and then the declared columns. Statements are given back to the
 * table, which keeps the newest few for the next cursor.
 *
 * A plan is a text: for each argument an operator and a key position, a full stop, then the order:
 * for each column its direction and its key position.
 *
 *     "=0=1."        path = ? AND hour = ?                  the whole key
 *     "=0G1L1.+1"    path = ? AND hour >= ? AND hour <= ?   ORDER BY hour
 *     ".-0-1"        everything                             ORDER BY path DESC, hour DESC
 *
 *     ".#"              everything, but the key columns read NULL, for nobody asks for them
 *
 * Operators are = > G(>=) < L(<=). Key positions are written as the character '0' + position, so a
 * plan serves the first CTR_STREAM_KEYS columns of a key.
 */
#ifndef CTR_TABLE_STREAM_H
#define CTR_TABLE_STREAM_H

#include <stdint.h>

#include "table/shape.h"

/* Columns of a row: behind these come those of the shape. */
enum { CTR_STREAM_ID, CTR_STREAM_COLUMNS };
enum { CTR_STREAM_KEYS = 64, CTR_STREAMS_KEPT = 8 };
#define CTR_STREAM_KEYLESS "#"

/* The scans of one stored table that no cursor uses now, each with the plan it was prepared for. */
typedef struct ctr_streams {
    sqlite3 *db;
    const char *schema, *table; /* borrowed */
    const ctr_shape *shape;     /* borrowed; its columns, in its order */
    int out;                    /* statements that cursors have */
    struct ctr_kept_scan {
        char *plan;
        sqlite3_stmt *statement;
    } kept[CTR_STREAMS_KEPT];
} ctr_streams;

void ctr_stream_release(ctr_streams *streams);

/* Zeroed at first, but for `of`. */
typedef struct ctr_stream {
    ctr_streams *of;         /* borrowed */
    sqlite3_stmt *statement; /* NULL before the first start */
    char *plan;              /* what it was prepared for; owned */
    int64_t exact;           /* the row that came first, which a second scan leaves out */
    bool has_exact;
} ctr_stream;

/* Returns whether the comparisons of the plan with these arguments mean the same on the stored
 * columns. They may not: a column of TEXT may compare a number with texts. */
bool ctr_stream_is_exact(const ctr_shape *shape, const char *plan, sqlite3_value **argv);

/* Starts a scan; `all`: by all arguments, else by those that are exact, without the row that came
 * first if one did. */
void ctr_stream_start(ctr_stream *stream, const char *plan, sqlite3_value **argv, bool all,
                      ctr_problem *problem);

/* The next row. */
bool ctr_stream_step(ctr_stream *stream, ctr_problem *problem);

/* Ends the scan; it may be started again. */
void ctr_stream_close(ctr_stream *stream);

/* Returns whether the plan begins with an operator and its key position. */
bool ctr_stream_plan_has_argument(const char *plan);

#endif
