/* tracked/tracked.h - the ordinary table whose columns a counter table counts.
 *
 *     products            the application's: products(sku TEXT PRIMARY KEY, stock INTEGER, ...)
 *     products_counters   a counter table with the same key, and a counter for each tracked column
 *
 * If products is a replicated table, products_counters also has row cells and the names of the
 * regular columns (table/regular.h).
 *
 * Triggers on products (tracked/triggers.h) pass each change to products_counters
 * (tracked/trigger_rows.c). tracked/showing.h writes all other changes of the counters into products.
 *
 * The trigger on INSERT names the tracked table and columns: SQLite rewrites it when a table or a
 * column is renamed.
 */
#ifndef CTR_TRACKED_TRACKED_H
#define CTR_TRACKED_TRACKED_H

#include "table/tab.h"
#include "tracked/ordinary.h"

/* The value that the column of a counter shows. */
typedef struct ctr_shown {
    bool none;    /* there is no such column */
    bool odd;     /* it is no integer: written while the triggers did not run */
    bool adopted; /* see ctr_tracked_column */
    bool null;
    int64_t n;
} ctr_shown;

typedef struct ctr_tracked_column {
    char *name;      /* owned; in the table; NULL: the counter has no column here */
    bool given;      /* ctr_tracked_adopt has given it to its counter */
    bool adopted;    /* of a running counter_track: given, and its counter existed before */
    bool lost;       /* the table has no such column now; perhaps it was renamed */
    ctr_shown blank; /* the value that it shows while its counter has none */
} ctr_tracked_column;

/* A regular column of a replicated table (table/regular.h). */
typedef struct ctr_tracked_regular {
    int number;
    char *name;   /* owned; between files */
    char *column; /* owned; in the table; NULL: the table has no such column now */
    char *lost;   /* owned; the name it had last, if the table lacks that; perhaps it was renamed */
} ctr_tracked_regular;

typedef struct ctr_tracked {
    sqlite3 *db;
    char *schema, *counters, *table; /* owned; the counter table and the tracked table */
    ctr_shape *shape;                /* owned; of the counter table */
    ctr_tracked_column *columns;     /* owned; by column of the shape */
    ctr_tracked_regular *regular;    /* owned: n_regular, by number */
    int n_regular;
    size_t room_regular;
    ctr_ordinary ordinary;     /* the tracked table */
    bool replaces, rolls_back; /* some constraint of it says ON CONFLICT REPLACE, ROLLBACK */

    /* Of one that its ctr_tab keeps. */
    int holders;
    unsigned as_of;  /* ctr_file.schemas when it was read; 0: it is read again */
    bool whole;      /* its triggers are those that counter_track makes: tracked/triggers.h */
    ctr_slots lists; /* owned: for statements on the tracked table: tracked/writing.h */
} ctr_tracked;

/* Returns whether `counters` is the counter table of a tracked table. */
bool ctr_tracked_is_among(const ctr_objects *objects, const char *counters);

/* Reads the names from the trigger on INSERT or, if that is missing, the noted ones; unknown names
 * are NULL. The caller closes it, even if this fails. */
int ctr_tracked_open(ctr_tracked *tracked, const ctr_objects *objects, const char *counters,
                     const ctr_shape *shape, ctr_problem *problem);

/* The same for a `table` whose triggers are about to be made. Without triggers, each counter has
 * the column of its own name, or none if the table has no such column. */
int ctr_tracked_begin(ctr_tracked *tracked, const ctr_objects *objects, const char *counters,
                      const char *table, const ctr_shape *shape, ctr_problem *problem);
void ctr_tracked_close(ctr_tracked *tracked);
void ctr_tracked_free_lists(ctr_slots *lists);

/* Returns what a counter table tracks, or NULL on a problem. The table keeps it until the schema
 * changes; the caller releases it. */
ctr_tracked *ctr_tracked_hold(ctr_tab *tab, ctr_problem *problem);
void ctr_tracked_release(ctr_tracked *tracked); /* NULL is harmless */

/* Notes the names in the triggers, if the notes differ. Returns whether it wrote. */
bool ctr_tracked_note(ctr_file *file, const char *counters, const ctr_shape *shape,
                      ctr_problem *problem);

/* Gives a counter the column of its own name. */
void ctr_tracked_adopt(ctr_tracked *tracked, int counter, const char *column, ctr_problem *problem);

/* Return the table's column for a key column, and for a counter; the second returns NULL if the
 * counter has none. */
const ctr_tracked_column *ctr_tracked_key(const ctr_tracked *tracked, int key);
const ctr_tracked_column *ctr_tracked_column_of(const ctr_tracked *tracked, int counter);

/* Returns whether the names of the table and of its key columns are known. */
bool ctr_tracked_is_known(const ctr_tracked *tracked);

/* Returns the column of the table for the regular column with this number, or NULL if there is
 * none. */
const ctr_described *ctr_tracked_regular_column(const ctr_tracked *tracked, int number);

/* Returns the name of the function that tracks the table, for messages. */
static inline const char *ctr_tracked_function(const ctr_tracked *tracked)
{
    return tracked->shape->replicated ? "counter_replicate" : "counter_track";
}

/* Returns the counter of a column, or -1; upper and lower case are the same. */
int ctr_tracked_counter(const ctr_tracked *tracked, const char *column);

/* Binds ?1, ?2, ... to a key, as the columns of the counter table store it. */
int ctr_tracked_bind_key(const ctr_tracked *tracked, sqlite3_stmt *statement, sqlite3_value **keys,
                         ctr_problem *problem);

/* Returns whether the table has rowids beside its key. A single INTEGER key is the rowid of most
 * tables. A column of the application may have the name rowid; a key column may only get it later,
 * by ALTER TABLE. */
bool ctr_tracked_has_rowids(const ctr_tracked *tracked);

bool ctr_tracked_same_shown(const ctr_shown *a, const ctr_shown *b);

/* Returns whether the values are equal for each counter that has a column. Both arrays are by
 * counter. */
bool ctr_tracked_same_row(const ctr_tracked *tracked, const ctr_shown *a, const ctr_shown *b);

#endif
