/* merge/brought.h - what merges have brought into a table that its user should hear of.
 *
 * A pull keeps it in its report; for all merges into main the connection keeps it, until
 * counter_warnings_reset(). functions/warnings.c makes sentences of it.
 */
#ifndef CTR_MERGE_BROUGHT_H
#define CTR_MERGE_BROUGHT_H

#include "core/row_cell.h"
#include "base/conn.h"

typedef struct ctr_brought {
    int64_t deleted;   /* rows that lived before */
    int64_t conflicts; /* rows of counter_conflicts */
    ctr_stamp ahead;   /* the highest one more than a day ahead of this machine; number 0: none */
} ctr_brought;

/* The same by table. Zero it; close it. */
typedef struct ctr_brought_list {
    struct ctr_brought_table {
        char *birth; /* owned */
        ctr_brought brought;
    } * tables; /* owned: n, in the order in which they came */
    size_t n, room;
} ctr_brought_list;

/* Returns whether it has anything. */
bool ctr_brought_any(const ctr_brought *brought);

/* Returns the number beyond which stamps are more than a day ahead of this machine now. */
int64_t ctr_brought_tomorrow(void);

/* Notes a stamp if it is beyond that number. */
void ctr_brought_stamp(ctr_brought *to, const ctr_stamp *stamp, int64_t tomorrow);

void ctr_brought_add(ctr_brought *to, const ctr_brought *more);

/* Adds to the table that was born with this name. */
void ctr_brought_list_add(ctr_brought_list *list, const char *birth, const ctr_brought *more,
                          ctr_problem *problem);
void ctr_brought_list_close(ctr_brought_list *list);

/* Returns the list of the connection, NULL without memory. The connection frees it. */
ctr_brought_list *ctr_brought_of(ctr_conn *conn);

#endif
