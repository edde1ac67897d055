/* table/stream.h - the rows of one stored table that match a plan, in its order.
 *
 *     ctr_stream_start(stream, plan, argv, true, problem);
 *     while (ctr_stream_step(stream, problem)) ... stream->statement stands on a row
 *     ctr_stream_close(stream);
 *
 * The columns of a row are _id and then the declared columns. Closing a stream returns its
 * statement to the table, which keeps the newest few for the next cursor.
 *
 * A plan is a text: for each argument an operator and a key position, a full stop, then the order:
 * for each column its direction and its key position.
 *
 *     "=0=1."        path = ? AND hour = ?                  the whole key
 *     "=0G1L1.+1"    path = ? AND hour >= ? AND hour <= ?   ORDER BY hour
 *     ".-0-1"        everything                             ORDER BY path DESC, hour DESC
 *
 *     ".#"              everything, but the unused key columns read NULL
 *
 * Operators are = > G(>=) < L(<=). Key positions are written as the character '0' + position, so a
 * plan serves the first CTR_STREAM_KEYS columns of a key.
 */
#ifndef CTR_TABLE_STREAM_H
#define CTR_TABLE_STREAM_H

#include <stdint.h>

#include "table/changes.h"
#include "table/rows.h"

/* Columns of a row; those of the shape follow. */
enum { CTR_STREAM_ID, CTR_STREAM_COLUMNS };
enum { CTR_STREAM_KEYS = 64, CTR_STREAMS_KEPT = 8 };
#define CTR_STREAM_KEYLESS "#"

/* The statements of one stored table that no cursor uses now, each with its plan. */
typedef struct ctr_streams {
    sqlite3 *db;
    const char *schema, *table; /* borrowed */
    const ctr_shape *shape;     /* borrowed; columns come in its order */
    int out;                    /* statements that cursors use */
    struct ctr_kept_scan {
        char *plan;
        sqlite3_stmt *statement;
    } kept[CTR_STREAMS_KEPT];
} ctr_streams;

void ctr_stream_release(ctr_streams *streams);

/* Zero it first, except for `of`. */
typedef struct ctr_stream {
    ctr_streams *of;         /* borrowed */
    sqlite3_stmt *statement; /* NULL before the first start */
    char *plan;              /* its plan; owned */
    int64_t exact;           /* the row that came first; a second scan skips it */
    bool has_exact;
    bool looked, hides; /* its columns were checked; an authorizer hides some */
} ctr_stream;

/* Returns whether the comparisons of the plan with these arguments mean the same on the stored
 * columns as in the statement. They may differ: a TEXT column may compare a number with texts. */
bool ctr_stream_is_exact(const ctr_shape *shape, const char *plan, sqlite3_value **argv);

/* Starts a scan. If `all`, it uses all arguments, else only the exact ones, and skips the row that
 * came first, if there was one. */
void ctr_stream_start(ctr_stream *stream, const char *plan, sqlite3_value **argv, bool all,
                      ctr_problem *problem);

/* Steps to the next row. Returns false at the end, or on a problem. */
bool ctr_stream_step(ctr_stream *stream, ctr_problem *problem);

/* Ends the scan. The stream may be started again. */
void ctr_stream_close(ctr_stream *stream);

/* Returns whether the plan begins with an operator and its key position. */
bool ctr_stream_plan_has_argument(const char *plan);

/* ---- all rows, or those that have changed ---------------------------------------------------- */

/* The rows of a stored table: all, or those changed since a number.
 *
 *     ctr_stream_walk_open(&walk, rows, CTR_WALK_SINCE, since, problem);
 *     while (ctr_stream_walk_next(&walk, problem))
 *         value = sqlite3_column_value(walk.row, CTR_WALK_COLUMNS + i);
 *     ctr_stream_walk_close(&walk);
 *
 * Rows come in the order of storage, because no collation of another file is trusted. The journal
 * of the table lists the changed rows and their numbers. A cell is complete only after
 * ctr_values_open_cell (table/values.h).
 */

/* Columns of a row; those of the shape follow. */
enum { CTR_WALK_ID, CTR_WALK_COLUMNS };

typedef enum ctr_walk_kind {
    CTR_WALK_ALL,
    CTR_WALK_ALL_NUMBERED, /* all, with their numbers */
    CTR_WALK_SINCE         /* rows changed with this number or a higher one, with numbers */
} ctr_walk_kind;

typedef struct ctr_walk {
    sqlite3_stmt *row; /* its current row; lent by the slot */
    int64_t number;    /* of its last change; 0 if unknown */
    int origins;       /* of its changes, a sum of ctr_origin; 0 if unknown */
    ctr_tab *of;       /* borrowed */
    ctr_slot *slot;
    ctr_run run;
    ctr_walk_kind kind;
    int skips; /* rows of which all changes have this origin; set by the owner, at first 0 */
    ctr_changes changes;
    size_t at;
} ctr_walk;

/* The caller closes the walk, also after a failure, before the rows. */
int ctr_stream_walk_open(ctr_walk *walk, ctr_rows *rows, ctr_walk_kind kind, int64_t since,
                         ctr_problem *problem);

/* The same for the rows whose first n key columns have these values: all of them if `since` is 0,
 * else those that have changed; with numbers. Key columns are compared as SQLite compares them. */
int ctr_stream_walk_open_scope(ctr_walk *walk, ctr_rows *rows, int64_t since,
                               sqlite3_value **values, int n, ctr_problem *problem);

bool ctr_stream_walk_next(ctr_walk *walk, ctr_problem *problem);
void ctr_stream_walk_close(ctr_walk *walk);

#endif
