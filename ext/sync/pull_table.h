/* sync/pull_table.h - one table of a pull (sync/pull.h). */
#ifndef CTR_SYNC_PULL_TABLE_H
#define CTR_SYNC_PULL_TABLE_H

#include "sync/merge.h"
#include "sync/pull.h"

/* Rows of a tracked table to show when all tables are merged. */
typedef struct ctr_pull_later {
    char *birth; /* owned */
    ctr_later rows;
} ctr_pull_later;

/* The state that all tables of one pull share. */
typedef struct ctr_pull {
    const ctr_source *source;
    ctr_objects mine; /* owned: the objects of the target */
    ctr_catalog here; /* owned: its tables */
    const ctr_identity *giver;
    sqlite3 *db;
    const char *target;   /* schema */
    const char *called;   /* the target's name in messages */
    ctr_replica *replica; /* the target's */
    ctr_conflicts conflicts;
    ctr_identity taker; /* the target's, before the pull */
    bool checked;       /* the target's identity, in this transaction */
    bool durable;       /* the source has been synced */
    bool whole;         /* reads everything, whatever the marks */
    bool asked, raised; /* for a larger cache of the target; it was raised */
    bool in_empty;      /* the target was empty before the pull */
    ctr_side side;
    ctr_report *report;
    ctr_pull_later *later; /* owned: the rows to show, by tracked table */
    int n_later;
    size_t room_later;
} ctr_pull;

/* Reads the objects of the target. The pull calls this when it begins, and after it has added
 * tables or columns. */
void ctr_pull_table_look(ctr_pull *pull, ctr_problem *problem);

/* Merges the changes of a table of the source, or all of it, and adds to the report. Creates the
 * table if the target lacks it. */
void ctr_pull_table_merge(ctr_pull *pull, const ctr_catalog_entry *theirs, ctr_problem *problem);

/* Makes a table of the target join the transaction, which checks the identity of the target. Only
 * the first call does anything. */
void ctr_pull_table_join(ctr_pull *pull, const char *table, ctr_problem *problem);

#endif
