/* sync/pull.h - merges all counter tables of one file into another.
 *
 * Tables belong together by the name they were created with, and must agree in their columns
 * (table/shape.h). A table that only the source has is created.
 *
 * A later pull of a table reads only the rows that the source has changed since (sync/marks.h).
 */
#ifndef CTR_SYNC_PULL_H
#define CTR_SYNC_PULL_H

#include <stdint.h>

#include "identity/replica.h"
#include "sync/source.h"

/* Which side is main, for the names in the report. */
typedef enum ctr_side { CTR_MAIN_TAKES, CTR_MAIN_GIVES } ctr_side;

/* The work done, by table; sums if several pulls share a report. */
typedef struct ctr_report {
    struct ctr_report_row {
        char *birth, *name; /* the name it was created with, and the one it has in main */
        int64_t read, changed, conflicts;
        bool created, in_empty; /* the pull created the table; the taking file was empty */
        ctr_side created_by;
    } * rows;
    int n;
    size_t room;
} ctr_report;

void ctr_pull_report_close(ctr_report *report);

/* Reads the identity of the source, with the next number, for the marks. The caller calls this
 * before the transaction writes anything, because marks must describe committed content. */
int ctr_pull_open(ctr_source *source, ctr_identity *giver, ctr_problem *problem);

/* Merges the changes in `source`, or with `whole` everything, into the schema `target` of the
 * connection. Messages call the target `called`. Checks the identity of the target first, and makes
 * the source durable if it takes anything. The caller makes the pull all or nothing, and has
 * appended the batches of the source. */
int ctr_pull_all(const ctr_source *source, const ctr_identity *giver, sqlite3 *db,
                 ctr_transaction *transaction, const char *target, const char *called,
                 ctr_side side, bool whole, ctr_report *report, ctr_problem *problem);

#endif
