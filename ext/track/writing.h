/* track/writing.h - statements on one row of a tracked table, and what the table makes of them.
 *
 * To write the table fires its triggers, so the replica knows the row at work: it is not counted
 * again. A constraint, a trigger or a foreign key of the table may refuse the row: that is no
 * problem, and nothing has changed then.
 */
#ifndef CTR_TRACK_WRITING_H
#define CTR_TRACK_WRITING_H

#include "identity/replica.h"
#include "track/foreign.h"

/* To be closed; it must not be moved while a statement is at work. */
typedef struct ctr_writing {
    const ctr_tracked *tracked; /* borrowed */
    ctr_replica *replica;       /* borrowed */

    /* The row at work: its number among the cells, 0 if it has none; its key; what it is to show,
     * by counter, NULL: it is to be deleted. All borrowed. */
    int64_t rowid;
    sqlite3_value **keys;
    const ctr_shown *want;

    sqlite3_stmt *update, *insert, *remove, *look;
    ctr_foreign foreign;
    bool strict; /* a constraint of the table removes other rows, or rolls back: it must not */
} ctr_writing;

ctr_writing ctr_writing_on(const ctr_tracked *tracked, ctr_replica *replica, ctr_problem *problem);
void ctr_writing_close(ctr_writing *writing);

/* The row shows `to` where it showed `from`; it is there with `to`; it is gone. False: the table
 * does not take it, or there is a problem. */
bool ctr_writing_update(ctr_writing *writing, const ctr_shown *from, const ctr_shown *to,
                        ctr_problem *problem);
bool ctr_writing_insert(ctr_writing *writing, const ctr_shown *to, ctr_problem *problem);
bool ctr_writing_delete(ctr_writing *writing, ctr_problem *problem);

/* Looks for the row with this key; false: it is not there. Unless they are NULL: what its columns
 * show, by counter; and are these values that can be counted? */
bool ctr_writing_look(ctr_writing *writing, sqlite3_value **keys, ctr_shown *shown,
                      bool *is_integer, ctr_problem *problem);

/* Is a row of the schema at work? Is it the one with this key, to the byte, or with this number,
 * and with these values (NULL: deleted)? */
bool ctr_writing_is_at_work(const ctr_replica *replica);
bool ctr_writing_is_rowid(const ctr_replica *replica, const char *counters, int64_t rowid,
                          const ctr_shown *shown);
bool ctr_writing_is_row(const ctr_replica *replica, const char *counters, sqlite3_value **keys,
                        const ctr_shown *shown);

#endif
