/* tracked/writing.h - statements that write one row of a tracked table, which may refuse them.
 *
 * A constraint, a trigger, an expression or a foreign key of the table may refuse the row: this
 * sets no problem, and changes nothing. The triggers ask tracked/own_write.h about the row being
 * written.
 */
#ifndef CTR_TRACKED_WRITING_H
#define CTR_TRACKED_WRITING_H

#include "tracked/foreign.h"
#include "tracked/likely.h"

/* The caller closes it, and does not move it while a statement runs. */
typedef struct ctr_writing {
    ctr_tracked *tracked; /* borrowed, as are the next two */
    ctr_tab *tab;         /* has the statements */
    ctr_file *file;

    /* The row being written: its id among the cells, 0 if it has none; its key; the values to show,
     * by counter, or NULL to delete it. All borrowed. */
    int64_t rowid;
    sqlite3_value **keys;
    const ctr_shown *want;

    bool by_rowid; /* the table has rowids, and its key is not one: an UPDATE is by key and rowid */
    ctr_likely likely;

    /* Of a replicated table: the values of its regular columns, in the order of tracked->regular; a
     * column without one is left alone. Borrowed; NULL: no column has one. */
    sqlite3_value **regular;
    struct ctr_whole_statement {
        sqlite3_stmt *statement; /* owned */
        bool *given;             /* owned: the columns that it writes */
    } whole[3];                  /* an UPDATE, an INSERT, one without counters */
    bool without_counters;       /* an INSERT leaves them to their DEFAULT */

    ctr_foreign foreign;
    char *why;     /* owned: the error by which the table refused the row first; NULL: none did */
    int level;     /* of the statement: triggers may write rows again, by a command */
    bool reported; /* our trigger has seen the values to show */
    bool aside;    /* the row is apart: a trigger changed it, or the table took no counters */
    bool ended;    /* a trigger deleted the row, and with it the life of its counters */
    bool undone;   /* a savepoint was rolled back: no statement may go on from where it stands */
    bool strict;   /* overrides constraints that say REPLACE or ROLLBACK */
    bool together; /* with rows that refer to it: the caller undoes it if a foreign key is broken */
    bool unsaved;  /* no savepoint can undo the statement: see ctr_own_write_refuses */
} ctr_writing;

ctr_writing ctr_writing_on(ctr_tracked *tracked, ctr_tab *tab);
void ctr_writing_close(ctr_writing *writing);

/* Forgets why a row was refused, before another one is written. */
void ctr_writing_forget_why(ctr_writing *writing);

/* Change the row from the values `from` to `to`; insert it with `to`; delete it. Return false if
 * the table refuses, or on a problem. */
bool ctr_writing_update(ctr_writing *writing, const ctr_shown *from, const ctr_shown *to,
                        ctr_problem *problem);
bool ctr_writing_insert(ctr_writing *writing, const ctr_shown *to, ctr_problem *problem);
bool ctr_writing_delete(ctr_writing *writing, ctr_problem *problem);

/* Looks for the row with this key; returns false if there is none. Sets, unless they are NULL,
 * `shown` to the values of its columns, by counter, and `is_integer` if all are integers or
 * NULL. */
bool ctr_writing_look(ctr_writing *writing, sqlite3_value **keys, ctr_shown *shown,
                      bool *is_integer, ctr_problem *problem);

/* Returns the DEFAULT of a column, NULL if there is none. The caller frees it with
 * sqlite3_value_free. Returns no value if the expression fails, as it would in an INSERT. */
sqlite3_value *ctr_writing_default(ctr_writing *writing, const char *column, ctr_problem *problem);

/* Returns whether a column of the row with this key has another value than its DEFAULT. */
bool ctr_writing_is_unlike_default(ctr_writing *writing, sqlite3_value **keys, const char *column,
                                   ctr_problem *problem);

#endif
