/* store/tracked.h - the ordinary table whose columns a counter table counts.
 *
 *     products            the application's: products(sku TEXT PRIMARY KEY, stock INTEGER, ...)
 *     products_counters   a counter table with the same key, and a counter for each tracked column
 *
 * Triggers on products hand each change to products_counters (surface/handed.c). Whatever else
 * changes the counters is shown in products by store/showing.h.
 *
 * Which table and which columns are tracked, the triggers themselves say: SQLite rewrites them when
 * a table or a column is renamed. They must be what would be written now, to the letter.
 */
#ifndef CTR_STORE_TRACKED_H
#define CTR_STORE_TRACKED_H

#include "store/shape.h"

/* What the column of a counter shows. */
typedef struct ctr_shown {
    bool none;    /* there is no such column */
    bool adopted; /* see ctr_tracked_column */
    bool null;
    int64_t n;
} ctr_shown;

typedef struct ctr_tracked_column {
    char *name;      /* owned; in the table; NULL: the counter has no column here */
    bool adopted;    /* it is tracked from now on, and its counter has been here before */
    ctr_shown blank; /* what it shows where its counter has no value */
} ctr_tracked_column;

typedef struct ctr_tracked {
    sqlite3 *db;
    char *schema, *counters, *table; /* owned: the schema, the counter table, the tracked one */
    const ctr_shape *shape;          /* of the counter table; borrowed */
    ctr_tracked_column *columns;     /* owned; by column of the shape */
} ctr_tracked;

/* Is `counters` the counter table of a tracked one? */
bool ctr_tracked_is(sqlite3 *db, const char *schema, const char *counters, ctr_problem *problem);

/* The same, and are there rows in which the two are apart (store/showing.h)? */
bool ctr_tracked_has_apart(sqlite3 *db, const char *schema, const char *counters,
                           ctr_problem *problem);

/* Reads which table it is. SQLITE_ERROR, and a sentence that says what to call, if the triggers are
 * not whole. To be closed whatever is returned. */
int ctr_tracked_open(ctr_tracked *tracked, sqlite3 *db, const char *schema, const char *counters,
                     const ctr_shape *shape, ctr_problem *problem);

/* The same whatever the triggers are: what they do not say is NULL. */
int ctr_tracked_look(ctr_tracked *tracked, sqlite3 *db, const char *schema, const char *counters,
                     const ctr_shape *shape, ctr_problem *problem);

/* The same of a `table` whose triggers are about to be made: as they are, or where there are none
 * each counter has the column of its own name. Columns that the table does not have have none. */
int ctr_tracked_begin(ctr_tracked *tracked, sqlite3 *db, const char *schema, const char *counters,
                      const char *table, const ctr_shape *shape, ctr_problem *problem);
void ctr_tracked_close(ctr_tracked *tracked);

/* Refuses a tracked table whose triggers are not whole, for what was counted meanwhile is unknown;
 * a counter table is no problem. */
int ctr_tracked_check(sqlite3 *db, const char *schema, const char *counters, const ctr_shape *shape,
                      ctr_problem *problem);

/* The table on which triggers of `counters` stand, to be freed with sqlite3_free; NULL: none. */
char *ctr_tracked_table(sqlite3 *db, const char *schema, const char *counters,
                        ctr_problem *problem);

/* The name that the table had when it was last seen with its triggers, to be freed; NULL: it is not
 * known. To note it costs a write only where it is another one. */
char *ctr_tracked_noted(sqlite3 *db, const char *schema, const char *counters,
                        ctr_problem *problem);
void ctr_tracked_note(sqlite3 *db, const char *schema, const char *counters, ctr_problem *problem);

/* Does the declaration of the table have a word, as ON CONFLICT has? */
bool ctr_tracked_says(const ctr_tracked *tracked, const char *word, ctr_problem *problem);

/* Gives a counter the column of its own name. */
void ctr_tracked_adopt(ctr_tracked *tracked, int counter, const char *column, ctr_problem *problem);

/* Makes the triggers, in place of those that are there; drops them. */
void ctr_tracked_create_triggers(const ctr_tracked *tracked, ctr_problem *problem);
void ctr_tracked_drop_triggers(sqlite3 *db, const char *schema, const char *counters,
                               ctr_problem *problem);

/* For statements on both: the key and the counters as the counter table names them; the same
 * columns as the table names them, NULL where it has none, with marks for those that are adopted;
 * c.key = t.key. To be freed with
 * sqlite3_free; NULL: no memory. */
char *ctr_tracked_counter_list(const ctr_tracked *tracked);
char *ctr_tracked_column_list(const ctr_tracked *tracked);
char *ctr_tracked_key_match(const ctr_tracked *tracked);

/* Counters have come or gone by a merge: makes the triggers anew, for the columns that are tracked
 * already. */
int ctr_tracked_follow(sqlite3 *db, const char *schema, const char *counters,
                       const ctr_shape *shape, ctr_problem *problem);

/* The column of a counter; NULL: it has none. */
const ctr_tracked_column *ctr_tracked_column_of(const ctr_tracked *tracked, int counter);

#endif
