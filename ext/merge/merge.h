/* merge/merge.h - merges rows of another file into a counter table, from a pull or a feed.
 *
 *     ctr_merge_find(merge, keys, problem)                  false: the row is below a floor
 *     ctr_merge_row(merge, &row, map, giver, problem)       of a replicated table: its row cell
 *     ctr_merge_cell(merge, counter, &cell, problem)        for each cell of the row
 *     ctr_merge_write(merge, problem)                       one write; true if the row changed
 *
 * A feed gives the counters of a replicated row one by one, behind the row: then
 * ctr_merge_counters stands in place of ctr_merge_row.
 *
 * Conflicts between cells go to counter_conflicts first (merge/conflicts.h).
 */
#ifndef CTR_MERGE_MERGE_H
#define CTR_MERGE_MERGE_H

#include "merge/brought.h"
#include "merge/conflicts.h"
#include "table/catalog.h"
#include "table/floors.h"
#include "table/openings.h"
#include "table/stage.h"
#include "tracked/later.h"

/* Rows of a tracked table that would show the sum of two openings without an answer. */
typedef struct ctr_unanswered {
    int64_t rows;
    char *key; /* owned; of the first row, as a message shows it */
    uint8_t ids[2][CTR_ID_SIZE];
    int64_t values[2];
    bool is_here[2]; /* it was in the cell before the merge */
} ctr_unanswered;

/* Rows that two files began to replicate apart, and that differ (merge/drift.h). */
typedef struct ctr_drift {
    int64_t rows;
    char *key, *column; /* owned; of the first row, as a message shows it */
    char *values[2];    /* owned: mine and the other one */
} ctr_drift;

typedef struct ctr_merge {
    ctr_catalog_entry entry; /* owned; the table by its names */
    ctr_shape shape;
    ctr_rows rows;
    ctr_floors floors;
    ctr_conflicts *conflicts; /* borrowed */
    sqlite3_value **keys;     /* of the row found last; borrowed */
    bool within, deferred;    /* in an UPDATE, which cannot record conflicts; one was found */
    ctr_stats stats;          /* before the UPDATE */
    ctr_brought brought;      /* by all rows that were written */
    int64_t tomorrow;         /* as of the opening of the merge (merge/brought.h) */
    ctr_stamp newest;         /* of the row at hand in the other file; number 0: none is taken */
    bool ends;                /* the merge ends a life of the row at hand */

    ctr_openings openings;     /* lent by ctr_merge_openings */
    unsigned openings_read_at; /* the number of answers recorded by then, plus 1; 0: not read */
    int64_t number;            /* that of the answers which came last */
    ctr_packed reduced;        /* room for a cell */
    ctr_unanswered unanswered; /* until ctr_answers_refuse_missing */
    bool row_unanswered;       /* the row at hand is one of them */

    /* Of a replicated table, for the row at hand: set by ctr_merge_row or ctr_merge_counters. */
    bool *taken;     /* owned; by regular column: its value is that of the other file */
    bool *apart;     /* owned; by regular column: both files had it when they began to replicate */
    bool asks;       /* some column is; its values are to be compared (merge/drift.h) */
    bool was_live;   /* before the merge */
    bool begins;     /* it lives, in another life than this file knew */
    int64_t giver;   /* its id among the cells of the source; 0: it comes with a feed */
    ctr_drift drift; /* until ctr_drift_refuse */
    ctr_row_values mine; /* private: reads my values; not open unless it has a tab */

    /* Of a tracked table. */
    bool tracked;
    ctr_showing showing;
    ctr_later *later;          /* borrowed; notes rows to show later; NULL: show at once */
    ctr_summary *before, *now; /* owned: room, by counter */
} ctr_merge;

/* Open the table with the birth name `birth`, or `entry`; refuse triggers on it. Return false,
 * without a problem, if there is none. The caller closes the merge, also after a failure, and does
 * not move it while it is open. */
bool ctr_merge_open(ctr_merge *merge, ctr_file *file, const char *birth, ctr_conflicts *conflicts,
                    ctr_problem *problem);
bool ctr_merge_open_table(ctr_merge *merge, ctr_file *file, const ctr_catalog_entry *entry,
                          ctr_conflicts *conflicts, ctr_problem *problem);
void ctr_merge_close(ctr_merge *merge);

/* Refuses a birth name that something else has in the schema, which messages call `called`: a
 * counter table that was created under another name, an ordinary table, or anything else. */
int ctr_merge_refuse_name(ctr_file *file, const char *called, const char *birth, bool replicated,
                          ctr_problem *problem);

/* Refuses a key with a character that UTF-16 cannot keep, if the files of `db` are in UTF-16. */
int ctr_merge_refuse_key(sqlite3 *db, ctr_problem *problem);

/* Refuses a key that this file cannot keep. ctr_merge_find does this. */
int ctr_merge_check_key(ctr_merge *merge, sqlite3_value **keys, ctr_problem *problem);

/* Refuses a cell with a clock beyond CTR_CLOCK_MAX: the file that has that id could not count on.
 * ctr_merge_cell does this. */
int ctr_merge_check_clocks(const ctr_cell *theirs, ctr_problem *problem);

bool ctr_merge_find(ctr_merge *merge, sqlite3_value **keys, ctr_problem *problem);
int ctr_merge_cell(ctr_merge *merge, int counter, const ctr_cell *theirs, ctr_problem *problem);
bool ctr_merge_write(ctr_merge *merge, ctr_problem *problem);

/* The same, with the values of regular columns that came with the row: in the order of
 * tracked->regular, NULL: none. A pull reads them later, from the table of the source. */
bool ctr_merge_write_values(ctr_merge *merge, sqlite3_value **values, ctr_problem *problem);

/* The second half of ctr_merge_find, for a row that was not found. */
bool ctr_merge_is_wanted(ctr_merge *merge, sqlite3_value **keys, ctr_problem *problem);

/* Begin and end a merge within an UPDATE, which writes the staged cells (table/update.h). The end
 * returns false if there is something to record: then nothing was merged, and the caller merges
 * by ctr_merge_find, ctr_merge_cell and ctr_merge_write. */
void ctr_merge_begin(ctr_merge *merge);
bool ctr_merge_end(ctr_merge *merge, ctr_problem *problem);

/* Returns the answers about openings of the table, lent; NULL on a problem. They are read when they
 * are first needed, and again when this connection has recorded others. */
ctr_openings *ctr_merge_openings(ctr_merge *merge, ctr_problem *problem);

/* Joins the row cell of a row of a replicated table that was found, or is missing, with that of
 * another file, which has the regular column map[i] for my column i, or -1. Call it before the
 * cells are merged; if it returns CTR_ROW_STAYS, also on a problem, they are not. Fails with
 * SQLITE_ERROR on a stamp beyond CTR_STAMP_MAX. */
ctr_row_outcome ctr_merge_row(ctr_merge *merge, const ctr_row_cell *theirs, const int *map,
                              int64_t giver, ctr_problem *problem);

/* Begins with cells of a row of a replicated table that was found, whose row cell does not
 * change. */
void ctr_merge_counters(ctr_merge *merge, ctr_problem *problem);

/* Raises each counter of `table` to its generation in `from`, the shape at the source. A pull takes
 * all generations before the rows, whatever the marks say, because rows are merged by generation.
 * Returns the number of emptied cells. */
int64_t ctr_merge_generations(ctr_file *file, const char *table, const ctr_shape *from,
                              ctr_problem *problem);

/* Raises floors; returns the number of rows removed. */
int64_t ctr_merge_floors(ctr_merge *merge, sqlite3_value **values, ctr_problem *problem);

#endif
