/* merge/pull.h - merges all counter tables of one file into another.
 *
 * Tables belong together by the name they were created with, and must agree in their columns
 * (table/shape.h). A table that only the source has is created.
 *
 * A later pull of a table reads only the rows that the source has changed since (merge/marks.h).
 */
#ifndef CTR_MERGE_PULL_H
#define CTR_MERGE_PULL_H

#include <stdint.h>

#include "merge/merge.h"
#include "merge/source.h"

/* Which side is main, for the names in the report. */
typedef enum ctr_side { CTR_MAIN_TAKES, CTR_MAIN_GIVES } ctr_side;

/* How a pull works; 0: it reads only changes, and creates only tables that the source does not
 * track. */
enum {
    CTR_PULL_WHOLE = 1,  /* reads everything, whatever the marks */
    CTR_PULL_CREATES = 2 /* a table that the source tracks becomes a counter table */
};

/* The work done, by table; sums if several pulls share a report. */
typedef struct ctr_report {
    struct ctr_report_row {
        char *birth, *name; /* owned: the name it was created with, and the one it has in main */
        char *counters[2];  /* owned: the counter table in main and in the peer; or NULL */
        int64_t read, changed, conflicts;
        bool created, in_empty; /* the pull created the table; the taking file was empty */
        ctr_side created_by;
        struct ctr_report_apart {
            int64_t wait, differ;
        } apart[2]; /* rows of the tracked table, by the side that took */
        ctr_brought brought[2];
    } * rows;
    int n;
    size_t room;
} ctr_report;

void ctr_pull_report_close(ctr_report *report);

/* A merge into a table. If it is a tracked one, the merge stays open until all tables are merged,
 * for then its rows are shown. */
typedef struct ctr_pull_merge {
    ctr_merge to;
    ctr_later later; /* the rows to show */
    struct ctr_pull_merge *next;
} ctr_pull_merge;

typedef struct ctr_pull {
    /* Set by the caller. */
    const ctr_source *source;
    const ctr_identity *giver; /* of the source; NULL: nothing is merged */
    ctr_file *file;            /* the target */
    const char *called;        /* its name in messages */
    int how;
    ctr_side side;
    ctr_report *report;

    /* The state that its tables share. */
    ctr_objects *mine; /* the objects of the target; borrowed from its ctr_file */
    ctr_catalog here;  /* owned: its tables */
    int *order;        /* owned: their numbers, parents before children, once all are merged */
    ctr_conflicts conflicts;
    ctr_identity taker; /* the target's, before the pull */
    bool checked;       /* the target's identity, in this transaction */
    bool durable;       /* the source has been synced */
    bool marked;        /* the first mark for a table was written */
    bool asked, raised; /* for a larger cache of the target; it was raised */
    bool in_empty;      /* the target was empty before the pull */
    bool deletions;     /* rows of replicated tables that have ended are deleted now */
    ctr_pull_merge *first,
        **last; /* owned: those of tracked tables, in order; where the next goes */
} ctr_pull;

/* Merges the changes in the source, as `how` says, into the target. Checks the identity of the
 * target first, and makes the source durable if it takes anything. The caller makes the pull all or
 * nothing, and has appended the batches of the source. */
int ctr_pull_all(ctr_pull *pull, ctr_problem *problem);

/* Tries again to show the rows of tracked tables that are apart, as a pull does. Rows of a feed
 * come one by one, and a table may refuse one until another is there. */
int ctr_pull_show_apart(ctr_file *file, ctr_problem *problem);

/* ---- one table, in merge/pull_table.c --------------------------------------------------------- */

/* NULL is harmless. */
void ctr_pull_close_merge(ctr_pull_merge *merge);

/* Reads the objects of the target. The pull calls this when it begins, and after it has added or
 * dropped columns. */
void ctr_pull_table_look(ctr_pull *pull, ctr_problem *problem);

/* Merges the changes of a table of the source, or all of it, and adds to the report. If the target
 * lacks the table, creates it, or refuses one that the source tracks. */
void ctr_pull_table_merge(ctr_pull *pull, const ctr_catalog_entry *theirs, ctr_problem *problem);

/* Makes a table of the target join the transaction, which checks the identity of the target. Only
 * the first call does anything. */
void ctr_pull_table_join(ctr_pull *pull, const char *table, ctr_problem *problem);

#endif
