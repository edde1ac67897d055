/* track/tracked.h - the ordinary table whose columns a counter table counts.
 *
 *     products            the application's: products(sku TEXT PRIMARY KEY, stock INTEGER, ...)
 *     products_counters   a counter table with the same key, and a counter for each tracked column
 *
 * Triggers on products (track/triggers.h) hand each change to products_counters
 * (vtab/trigger_rows.c).
 * Whatever else changes the counters is shown in products by track/showing.h.
 *
 * Which table and which columns are tracked, the trigger on INSERT says: SQLite rewrites it when a
 * table or a column is renamed.
 */
#ifndef CTR_TRACK_TRACKED_H
#define CTR_TRACK_TRACKED_H

#include "sqlite/objects.h"
#include "table/shape.h"

/* What the column of a counter shows. */
typedef struct ctr_shown {
    bool none;    /* there is no such column */
    bool odd;     /* it showed no integer, which came while the triggers did not run */
    bool adopted; /* see ctr_tracked_column */
    bool null;
    int64_t n;
} ctr_shown;

typedef struct ctr_tracked_column {
    char *name;      /* owned; in the table; NULL: the counter has no column here */
    bool given;      /* it has been given to its counter by ctr_tracked_adopt */
    bool adopted;    /* it is tracked from now on, and its counter has been here before */
    bool lost;       /* it had a column, which is gone: perhaps that was renamed */
    ctr_shown blank; /* what it shows where its counter has no value */
} ctr_tracked_column;

typedef struct ctr_tracked {
    sqlite3 *db;
    char *schema, *counters, *table; /* owned: the schema, the counter table, the tracked one */
    const ctr_shape *shape;          /* of the counter table; borrowed */
    ctr_tracked_column *columns;     /* owned; by column of the shape */
} ctr_tracked;

/* A trigger of the file: the table it is on, and its text; both NULL if there is none. */
typedef struct ctr_stored_trigger {
    char *table, *text; /* owned */
} ctr_stored_trigger;

/* Does the declaration of a counter table, which may be NULL, say that it is of a tracked one? */
bool ctr_tracked_declares(const char *sql);

/* Is `counters` the counter table of a tracked one? */
bool ctr_tracked_is(sqlite3 *db, const char *schema, const char *counters, ctr_problem *problem);
bool ctr_tracked_is_among(const ctr_objects *objects, const char *counters);

/* Reads what the trigger on INSERT says, or where it is not there what was noted; what is not known
 * is NULL. To be closed whatever is returned. */
int ctr_tracked_look(ctr_tracked *tracked, sqlite3 *db, const char *schema, const char *counters,
                     const ctr_shape *shape, ctr_problem *problem);

/* The same of a `table` whose triggers are about to be made: as they are, or where there are none
 * each counter has the column of its own name. Columns that the table does not have have none. */
int ctr_tracked_begin(ctr_tracked *tracked, sqlite3 *db, const char *schema, const char *counters,
                      const char *table, const ctr_shape *shape, ctr_problem *problem);
void ctr_tracked_close(ctr_tracked *tracked);

/* Notes the names that the trigger on INSERT says; true if they were other ones. */
bool ctr_tracked_note(sqlite3 *db, const char *schema, const char *counters, const ctr_shape *shape,
                      ctr_problem *problem);

/* The name that the table had when it was last noted, to be freed; NULL: it is not known. */
char *ctr_tracked_noted(sqlite3 *db, const char *schema, const char *counters,
                        ctr_problem *problem);

/* Gives a counter the column of its own name. */
void ctr_tracked_adopt(ctr_tracked *tracked, int counter, const char *column, ctr_problem *problem);

/* Does some constraint of the table say ON CONFLICT `how`? */
bool ctr_tracked_resolves(const ctr_tracked *tracked, const char *how, ctr_problem *problem);

/* The column of a key column; that of a counter, NULL: it has none. */
const ctr_tracked_column *ctr_tracked_key(const ctr_tracked *tracked, int key);
const ctr_tracked_column *ctr_tracked_column_of(const ctr_tracked *tracked, int counter);

/* The counter of a column, whatever the letters, or -1. */
int ctr_tracked_counter(const ctr_tracked *tracked, const char *column);

/* Binds ?1, ?2, ... to a key, as the columns of the counter table store it. */
int ctr_tracked_bind_key(const ctr_tracked *tracked, sqlite3_stmt *statement, sqlite3_value **keys,
                         ctr_problem *problem);

bool ctr_tracked_same_shown(const ctr_shown *a, const ctr_shown *b);

/* Is it the same in each counter that has a column? Both are by counter. */
bool ctr_tracked_same_row(const ctr_tracked *tracked, const ctr_shown *a, const ctr_shown *b);

/* The trigger <counters>_<suffix>. */
ctr_stored_trigger ctr_tracked_read_trigger(ctr_run *run, const char *counters, const char *suffix);
void ctr_tracked_free_trigger(ctr_stored_trigger *stored);

/* For statements on both: the key and the counters as the counter table names them; the same
 * columns as the table names them, NULL where it has none, with marks for those that are adopted;
 * c.key = t.key. To be freed with sqlite3_free; NULL: no memory. */
char *ctr_tracked_counter_list(const ctr_tracked *tracked);
char *ctr_tracked_column_list(const ctr_tracked *tracked);
char *ctr_tracked_key_match(const ctr_tracked *tracked);

/* The parts of these lists, appended. As the counter table names them: the key, and the counters if
 * asked for. As the table names them, with a prefix such as NEW.: the key; a value for each
 * counter, NULL for one without a column. Last the marks: '102' if the second counter has no
 * column, and the third was adopted; nothing if each has one. */
void ctr_tracked_list_own_names(const ctr_tracked *tracked, sqlite3_str *out, bool counters);
void ctr_tracked_list_keys(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix);
void ctr_tracked_list_values(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix);
void ctr_tracked_list_lacking(const ctr_tracked *tracked, sqlite3_str *out);

#endif
