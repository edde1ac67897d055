/* store/showing.h - shows in a tracked table what its counters say.
 *
 *     ctr_showing_open(&showing, db, schema, "products_counters", &shape, post, problem);
 *     ctr_showing_row(&showing, rowid, keys, NULL, before, now, problem);
 *
 * To write the table fires its triggers, so the row that is being shown is known to the post, and
 * is not counted again.
 *
 * Where the table does not take what the counters say, for a constraint of its own, the two are
 * apart, and <counters>_apart lists the row:
 *
 *     it waits      the counters are live, and the table has no such row
 *     it differs    a column shows another value than its counter has
 *
 * A row that is neither as its counters say nor listed there was changed while the triggers did not
 * run. To write over it would lose what was counted: it is refused.
 */
#ifndef CTR_STORE_SHOWING_H
#define CTR_STORE_SHOWING_H

#include "store/floors.h"
#include "store/pack.h"
#include "store/rows.h"
#include "store/tracked.h"

typedef struct ctr_showing {
    ctr_tracked tracked;
    ctr_post *post; /* borrowed */

    /* The row at work. */
    int64_t rowid;
    sqlite3_value **keys;  /* borrowed */
    const ctr_shown *want; /* by counter; NULL: it is to be deleted */

    ctr_shown *from, *to; /* owned: room, by counter */
    sqlite3_stmt *show, *insert, *remove, *look, *apart, *set_apart, *not_apart, *children;
    bool strict;    /* a constraint of the table says how to go on: it is not listened to */
    bool childless; /* no foreign key refers to the table */
} ctr_showing;

/* A row that is to be shown later, when everything is merged: what it showed before. */
typedef enum ctr_shown_before { CTR_SHOWN_NEW, CTR_SHOWN_LIVE, CTR_SHOWN_DELETED } ctr_shown_before;

typedef struct ctr_later_row {
    int64_t rowid;
    ctr_shown_before was;
    bool known;        /* the values, for their sums have 64 bits */
    ctr_shown shown[]; /* by counter */
} ctr_later_row;

/* Zero it; free `bytes` with sqlite3_free. */
typedef struct ctr_later {
    uint8_t *bytes;
    size_t size, used, room; /* of one row, of all */
} ctr_later;

/* A row that is listed. */
typedef struct ctr_apart {
    bool waits, differs;
    bool *is;         /* owned; by counter: does it differ? */
    ctr_shown *shown; /* owned; by counter: what the column shows */
} ctr_apart;

/* As ctr_tracked_open. To be closed whatever is returned; it must not be moved while it is open. */
int ctr_showing_open(ctr_showing *showing, sqlite3 *db, const char *schema, const char *counters,
                     const ctr_shape *shape, ctr_post *post, ctr_problem *problem);
void ctr_showing_close(ctr_showing *showing);

/* The same for a table that need not have all its triggers, as it is when these run: false, mostly
 * without a problem, if it is not known which table it is. */
bool ctr_showing_look(ctr_showing *showing, sqlite3 *db, const char *schema, const char *counters,
                      const ctr_shape *shape, ctr_post *post, ctr_problem *problem);

/* What a counter in this state shows; false: its sum is no integer of 64 bits. */
bool ctr_showing_value(const ctr_showing *showing, int counter, const ctr_summary *state,
                       ctr_shown *shown);

/* The counters of a row, number `rowid` of the cells, were `before` and are `now`. The table shows
 * `from`, or if that is NULL what they were before. */
int ctr_showing_row(ctr_showing *showing, int64_t rowid, sqlite3_value **keys,
                    const ctr_shown *from, const ctr_summary *before, const ctr_summary *now,
                    ctr_problem *problem);

/* The same later, of many rows: while rows are merged, nothing else should be written. Then all are
 * shown, in the order of storage. `rows` are those of the counter table. */
int ctr_showing_later(ctr_showing *showing, ctr_later *later, int64_t rowid,
                      const ctr_summary *before, ctr_problem *problem);
int ctr_showing_all(ctr_showing *showing, ctr_later *later, ctr_rows *rows, ctr_problem *problem);

/* Tries once more to show the rows that are listed; true if there are fewer of them now. */
bool ctr_showing_again(ctr_showing *showing, ctr_rows *rows, ctr_problem *problem);

/* Floors have risen: rows below show nothing any more. */
int ctr_showing_purged(ctr_showing *showing, ctr_floors *floors, ctr_problem *problem);

/* A foreign key is broken that is to be mended before the COMMIT: then nothing can be shown, for it
 * could not be told whether that breaks another one. */
bool ctr_showing_is_blocked(const ctr_showing *showing);
void ctr_showing_refuse_blocked(sqlite3 *db, const char *table, ctr_problem *problem);

/* What the row with this key shows now, by counter; false: it is not there. */
bool ctr_showing_values(ctr_showing *showing, sqlite3_value **keys, ctr_shown *shown,
                        ctr_problem *problem);

/* Has the table a row with this key? */
bool ctr_showing_has_row(ctr_showing *showing, sqlite3_value **keys, ctr_problem *problem);

/* Is the row listed? To be closed whatever is returned. */
int ctr_showing_apart(ctr_showing *showing, int64_t rowid, ctr_apart *apart, ctr_problem *problem);
void ctr_showing_close_apart(ctr_apart *apart);

/* Lists a row that shows `shown`, NULL: that waits, as far as its counters are not that. */
int ctr_showing_set_apart(ctr_showing *showing, int64_t rowid, const ctr_shown *shown,
                          const ctr_summary *now, ctr_problem *problem);
int ctr_showing_not_apart(ctr_showing *showing, int64_t rowid, ctr_problem *problem);

/* Is a row of the schema being shown now? Is it the one with this key, to the byte, or with this
 * number, and with these values (NULL: deleted)? */
bool ctr_showing_is_at_work(const ctr_post *post);
bool ctr_showing_is_rowid(const ctr_post *post, const char *counters, int64_t rowid,
                          const ctr_shown *shown);
bool ctr_showing_is_row(const ctr_post *post, const char *counters, sqlite3_value **keys,
                        const ctr_shown *shown);

#endif
