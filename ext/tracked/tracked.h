/* tracked/tracked.h - SQL on a table of the user whose columns are counted.
 *
 *     ctr_tracked  the table, its columns and their counters; whether it is replicated
 *     ctr_writing  statements that write one of its rows, which it may refuse
 *     ctr_apart_row  how a row is listed that does not show what was merged
 *     ctr_showing  writes the values of counters and regular columns into it
 *     ctr_later    the rows that a merge has to show, at its end
 *     ctr_reports  what its triggers report to its counter table
 */
#ifndef CTR_TRACKED_TRACKED_H
#define CTR_TRACKED_TRACKED_H

#include <stdbool.h>
#include <stdint.h>

#include "counter/counter.h"

/* An ordinary table as SQLite describes it: its columns, and the terms of its UNIQUE indexes and of
 * its PRIMARY KEY. */

typedef struct ctr_described {
    char *name, *type, *value; /* owned; the value is that of DEFAULT, NULL: it has none */
    bool not_null, generated;
    bool local; /* of a replicated table: it stays in this file */
    int key;    /* the position in the PRIMARY KEY, or -1 */
} ctr_described;

/* A term of an index. */
typedef struct ctr_term {
    char *index, *name, *collation; /* owned; of the column; no name: an expression */
    int number;                     /* within the index, from 0 */
    bool is_primary, is_partial;    /* the index */
} ctr_term;

/* Zero it; close it. */
typedef struct ctr_ordinary {
    ctr_described *columns; /* owned */
    size_t n, room;
    ctr_term *terms; /* owned; after ctr_ordinary_read_terms */
    size_t n_terms, room_terms;
    bool has_terms;
} ctr_ordinary;

/* The ordinary table whose columns a counter table counts.
 *
 *     products            the application's: products(sku TEXT PRIMARY KEY, stock INTEGER, ...)
 *     products_counters   a counter table with the same key, and a counter for each tracked column
 *
 * If products is a replicated table, products_counters also has row cells and the names of the
 * regular columns (table/table.h).
 *
 * Triggers on products (tracked/triggers.c) pass each change to products_counters
 * (tracked/reconcile.c). tracked/showing.c writes all other changes of the counters into products.
 *
 * The trigger on INSERT names the tracked table and columns: SQLite rewrites it when a table or a
 * column is renamed. */

/* The value that a column shows, or is to show. Integers of counters stay unboxed. */
typedef struct ctr_shown {
    bool none;    /* there is no such column */
    bool odd;     /* it is no integer: written while the triggers did not run */
    bool adopted; /* see ctr_tracked_column */
    bool null;
    bool number; /* a regular column has n for a while: ctr_later_clear */
    int64_t n;
    sqlite3_value *value; /* of a regular column, which has nothing else; NULL: none is known, or
                             the column is left alone, unless it is to be `null` */
} ctr_shown;

/* Returns whether a regular column is to be written. */
static inline bool ctr_tracked_is_given(const ctr_shown *regular)
{
    return regular->value || regular->null || regular->number;
}

/* A column of the key, a counter or, of a replicated table, a regular column (table/table.h). */
typedef struct ctr_tracked_column {
    int number;      /* in the key, among the counters, or of the regular column */
    char *birth;     /* owned; by which files match it: of a key or counter that of the shape */
    char *name;      /* owned; in the table; NULL: the table has no such column now */
    char *lost;      /* owned; the name that it had last, if the table lacks that; perhaps it was
                        renamed */
    bool given;      /* ctr_tracked_adopt has given it to its counter */
    bool adopted;    /* of a running counter_track: given, and its counter existed before */
    ctr_shown blank; /* of a counter: what it shows while nothing was counted: NULL, unless that is
                        not allowed or, in a replicated table, the DEFAULT is 0 */
    bool not_null;
} ctr_tracked_column;

typedef struct ctr_tracked {
    ctr_conn *conn;
    char *schema, *counters, *table; /* owned; the counter table and the tracked table */
    ctr_shape *shape;                /* owned; of the counter table */
    ctr_tracked_column *columns;     /* owned: the key, the counters, then n_regular by number */
    int n_regular;
    size_t room;
    ctr_ordinary ordinary; /* the tracked table */
    bool replaces;         /* some constraint of it says ON CONFLICT REPLACE */
    bool resolves;         /* a merge writes it with OR ABORT: tracked.c, look_at_table */
    bool fails;            /* some trigger may say FAIL, which keeps half of a refused row */
    const char *rowid;     /* the first name of its row id that no column has, or NULL */
    int n_local;           /* columns of it that stay in this file */
    char *lost_local;      /* owned; such a column that it lacks, perhaps renamed; or NULL */

    /* Of one that its ctr_tab keeps. */
    int holders;
    unsigned as_of;  /* ctr_file.schemas when it was read; 0: it is read again */
    bool whole;      /* its triggers are those that counter_track makes: tracked/triggers.c */
    ctr_slots lists; /* owned: for statements on the tracked table: tracked/writing.c */
} ctr_tracked;

/* The foreign keys of a file, where a tracked table is child or parent.
 *
 * Showing merged rows lets no foreign key act on replicated rows: a merged deletion waits while a
 * row of a replicated table refers to the row, whatever the key's action, and whether SQLite
 * enforces foreign keys or not. Otherwise a cascade would delete, in every file, children that were
 * moved or inserted elsewhere, depending on which change came first. Children in tables that are
 * not replicated do as their key says.
 *
 * SQLite reports only that some foreign key of the connection is broken, or, for a deferred one,
 * nothing before the COMMIT. So ctr_foreign looks for children before a row is deleted. */

/* A foreign key. The tables may be any of the file. */
typedef struct ctr_foreign_key {
    char *child, *parent; /* owned: the tables */
    struct ctr_foreign_pair {
        char *from, *to; /* owned: columns of the child and of the parent */
    } * pairs;           /* owned; none if the parent lacks a column, which SQLite refuses */
    int n;
    size_t room;
    bool travels; /* the child is replicated; else its rows stay here */
    bool forbids; /* ON DELETE NO ACTION or RESTRICT */
    bool fixes;   /* ON UPDATE NO ACTION or RESTRICT */
} ctr_foreign_key;

typedef struct ctr_foreign_keys {
    ctr_foreign_key *keys; /* owned */
    int n;
    size_t room;
    unsigned as_of; /* ctr_file.schemas when they were read */
    int holders;
} ctr_foreign_keys;

/* Looks for the children of rows of one tracked table. Begin with {.tracked = ..., .file = ...};
 * the caller closes it. */
typedef struct ctr_foreign {
    const ctr_tracked *tracked; /* borrowed, as is the next */
    ctr_file *file;
    sqlite3_stmt *children; /* owned */
    bool childless;         /* nothing can keep a row of the table */
    bool all;               /* set by the owner: each child keeps a row, whatever its key says */
} ctr_foreign;

/* Where a row of a tracked table probably is: a look there saves the search of an index. Most rows
 * are as far from the ids of their cells as the row before, because both were stored in the same
 * order. */

typedef struct ctr_likely {
    bool steady;      /* the last two rows were equally far */
    int64_t distance; /* from the id of the last row's cells to its rowid */
} ctr_likely;

/* Statements that write one row of a tracked table, which may refuse them.
 *
 * A constraint, a trigger, an expression or a foreign key of the table may refuse the row: that is
 * no error, and changes nothing. The triggers ask tracked/reconcile.c about the row being
 * written. */

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

    /* On a row with values of regular columns. */
    struct ctr_whole_statement {
        sqlite3_stmt *statement; /* owned */
        bool *given;             /* owned: the regular columns that it writes */
        bool begins;             /* as below, of an UPDATE */
    } whole[3];                  /* an UPDATE, an INSERT, one without counters */
    bool begins;                 /* set by the owner: the row begins another life, and shows its
                                    DEFAULT in the columns that stay in this file */
    bool without_counters;       /* an INSERT leaves them to their DEFAULT */

    ctr_foreign foreign;
    char *why;     /* owned: the error by which the table refused the row first; NULL: none did */
    int level;     /* of the statement: triggers may write rows again, by a command */
    bool reported; /* our trigger has seen the values to show */
    bool aside;    /* the row is apart: a trigger changed it, or the table took no counters */
    bool ended;    /* a trigger deleted the row, and with it the life of its counters */
    bool left;     /* the row has left its place */
    bool undone;   /* a savepoint was rolled back: no statement may go on from where it stands */
    bool together; /* with rows that refer to it: the caller undoes it if a foreign key is broken */
    bool unsaved;  /* no savepoint can undo the statement: see is_being_shown */
    bool commanded; /* by a command in this file: what is written was not merged */
} ctr_writing;

/* Rows of a tracked table that do not show what was merged, in <counters>_state.
 *
 *     it waits         the row lives, and the table has no such row
 *     it differs       a column shows a value other than the merged one
 *     it has ended     it was deleted by a merge, and the replicated table still has it
 *     it is withheld   its counters have openings without an answer (table/table.h)
 *
 * A row that waits has one entry, without a column. A row that differs has one entry for each
 * column that shows another value: for a counter with what the column shows, which is its base
 * (tracked/reconcile.c); for a regular column with the merged value, which stands nowhere else. A
 * row that has ended has these for all counters, and one more, as does one that is withheld.
 * Another entry has the error by which the table refused the row. One more, beside that of its
 * column, has the stamp of a value that lines did not carry, until the row has it or a later one.
 *
 * Rows below a floor have no cells. One entry stands for all of them that the table keeps, because
 * others refer to them. */

/* What an entry says, as it is stored; sql/track.sql has some of these numbers. */
typedef enum ctr_apart_what {
    CTR_APART_WAITS,
    CTR_APART_SHOWS,   /* a counter: the value that its column shows */
    CTR_APART_REFUSED, /* a regular column: its merged value, which the table refuses */
    CTR_APART_CHANGED, /* the same, which a trigger of the application has changed */
    CTR_APART_ENDED,
    CTR_APART_WITHHELD,
    CTR_APART_KEPT,
    CTR_APART_WHY,
    CTR_APART_TOO_LARGE /* a regular column: the stamp of a value that lines did not carry */
} ctr_apart_what;

/* Sets of these, each a bit. */
enum {
    CTR_APART_OF_SHOWN = 1 << CTR_APART_REFUSED | 1 << CTR_APART_CHANGED | 1 << CTR_APART_WHY,
    CTR_APART_OF_REGULAR = CTR_APART_OF_SHOWN | 1 << CTR_APART_TOO_LARGE,
    CTR_APART_OF_COUNTERS = 1 << CTR_APART_WAITS | 1 << CTR_APART_SHOWS | 1 << CTR_APART_ENDED |
                            1 << CTR_APART_WITHHELD | 1 << CTR_APART_WHY
};

/* A value of a regular column that lines did not carry (docs/batches.md). Only a pull brings it. */
typedef struct ctr_too_large {
    uint32_t life; /* of its row */
    ctr_stamp stamp;
    int64_t size; /* in bytes; 0: there is none */
} ctr_too_large;

/* A row, listed or not. */
typedef struct ctr_apart_row {
    bool waits, ended, withheld;
    bool differs; /* some counter shows another value */
    bool refused; /* the table refuses a value of a regular column */
    bool lists;   /* some regular column has a merged value */
    char *why;    /* owned; NULL: it is not known */

    /* Owned: n, by the columns that travel: of a counter what its column shows, of a regular column
     * what was merged. */
    ctr_shown *shown;
    bool *is_in;              /* an entry names the column */
    ctr_too_large *too_large; /* owned, by the columns that travel; NULL: none is */
    int n;
} ctr_apart_row;

/* Reads the merged values of the regular columns of a row.
 *
 * They stand in the tracked table alone, or are listed where the table shows another value
 * (ctr_apart_row). The columns are read by their names, so that no CHECK, DEFAULT,
 * index expression or generated column of the file runs; the collations of keys are built in. */

typedef struct ctr_row_values {
    ctr_tab *tab;         /* borrowed */
    ctr_tracked *tracked; /* held */

    /* Owned: the regular columns in their order, and the rowid or NULL, by the key; the same by key
     * and rowid, NULL if the table has no rowids. */
    sqlite3_stmt *by_key, *by_rowid;
    ctr_likely likely;

    int n;                 /* regular columns, by number */
    sqlite3_value **given; /* owned, by number: the values; NULL: there is none */
    ctr_apart_row listed;  /* owned: has those that are listed */
} ctr_row_values;

/* Writes the values of counters and merged regular columns into their tracked table.
 *
 *     ctr_showing_open(&showing, tab);
 *     ctr_showing_row(&showing, rowid, keys, NULL, before, now);
 *
 * If a constraint of the table refuses a value, the row is apart, and <counters>_state lists it
 * (tracked/showing.c). A row of a replicated table is written whole, in one statement; if the table
 * refuses it, without its counters. Merged values that the table refuses, or that its triggers
 * change, are listed, too.
 *
 * A row that neither shows its counters nor is listed there was changed while the triggers did not
 * run. Overwriting it would lose counts, so it is refused. */

/* A row of a replicated table that was merged: whether it lived and lives, and the values to show
 * of its regular columns, in their order; NULL: the table shows it. A row that begins another life
 * shows its DEFAULT in each column without a value. */
typedef struct ctr_merged_row {
    bool was_live, is_live, begins;
    const ctr_row_cell *cell; /* borrowed */
    sqlite3_value **values;
} ctr_merged_row;

typedef struct ctr_showing {
    ctr_conn *conn;
    ctr_tracked *tracked; /* held */
    ctr_tab *tab;         /* borrowed; has the statements */
    ctr_writing writing;
    const ctr_merged_row *merged; /* borrowed; the row at hand. NULL: the table is not replicated */
    bool withheld;                /* its counters are not to be shown: they await an answer */
    bool leaves_refused;          /* set by the owner: rows that the table refused are not tried */
    ctr_apart_row listed;         /* owned: how the row is listed, if it has regular columns */
    bool reads_back;              /* triggers of the application may change what is written */
    ctr_row_values shown;         /* owned: reads the row before and after it is written */
    sqlite3_value **before;       /* owned: its values before, by regular column */
    sqlite3_value **defaults;     /* behind them: of columns that begin anew */

    /* Owned: room for the row, by the columns that travel: what the table is known to show, what it
     * is to show, what it was found to show, its counters with new values of other columns. */
    ctr_shown *from, *to, *found, *alone;
    bool has_values; /* some regular column is to show a value */
} ctr_showing;

/* Shows merged rows of a tracked table at the end of a pull, tries rows that are apart again, and
 * clears rows below floors.
 *
 * The triggers of the table may read other rows. So nothing is shown while rows are being merged;
 * when everything is merged, all rows are shown in the order of storage. */

/* Zero it; close it. */
typedef struct ctr_later {
    uint8_t *rows; /* owned: n, with room for more, of `size` bytes each */
    size_t n, room, size;

    /* Of a replicated table: reads the values of the source, which has the regular column map[i]
     * for our number i, or -1. Owned. */
    ctr_row_values values;
    int *map;
    int n_map;
} ctr_later;

/* A row of a tracked table that a statement may replace. */
typedef struct ctr_may_go {
    int64_t rowid;
    bool at_work; /* noted while the library wrote a merged row */
} ctr_may_go;

/* Where a spread table takes its numbers: tracked/spread.c. */
enum { CTR_SPREAD_BITS = 53, CTR_SPREAD_BITS_MOST = 63 /* JavaScript reads the fewer exactly */ };

typedef struct ctr_spread {
    bool is;             /* the table is spread */
    int64_t least, most; /* the first number that has a birth; the highest number */
    bool has_place;
    int64_t place, jumps;
    bool taken;              /* some key at or above the place is not of this file */
    uint8_t id[CTR_ID_SIZE]; /* of the file, for which the place holds */

    /* Of the transaction number `in`, counted from 1: the last number that was given out; whether
     * it has jumped, and the sequence before. */
    unsigned in, unsettled; /* conn->unsettled when it was read */
    int64_t last, before;
    bool jumped;
} ctr_spread;

/* What the triggers have reported to a counter table, and its view of the tracked table. */
typedef struct ctr_reports {
    bool noted;         /* the names of the tracked columns are written */
    unsigned noted_in;  /* the last transaction in which they were written, counted from 1 */
    ctr_showing *looks; /* owned: reads the tracked table; NULL: it is not known */
    bool looked;        /* `looks` was set */
    unsigned looked_in; /* ctr_file.schemas when it was set */
    ctr_may_go *may_go; /* owned; rows that a statement may replace, as noted by triggers */
    int n_may_go;
    size_t room_may_go;
    unsigned may_go_in;   /* the transaction in which they were noted */
    unsigned disorder_in; /* the last transaction in which one ran before ours, from 1 */
    unsigned left_in;     /* the last one in which a row left its place */
    ctr_spread spread;
} ctr_reports;

/* ==== tracked.c =============================================================================== */

/* Read the columns, and the terms unless they were read; the second call comes before their use.
 * They use PRAGMAs instead of their table-valued functions: SQLite frees the schema of those
 * functions when the host calls sqlite3_deserialize(), and uses it afterwards. */
void ctr_ordinary_read(ctr_ordinary *ordinary, ctr_conn *conn, const char *schema,
                       const char *table);
int ctr_ordinary_read_terms(ctr_ordinary *ordinary, ctr_conn *conn, const char *schema,
                            const char *table);
void ctr_ordinary_close(ctr_ordinary *ordinary);

/* Returns the column of this name, in letters of either case, or NULL. */
const ctr_described *ctr_ordinary_column(const ctr_ordinary *ordinary, const char *name);

/* Returns the name of the column with this position in the PRIMARY KEY, from 0, or NULL. A foreign
 * key that names no column of its parent refers to these. */
const char *ctr_ordinary_key(const ctr_ordinary *ordinary, int position);

/* Returns the first name of the row id of a table that no column of it has: "_rowid_", "oid" or
 * "rowid". NULL: there is none, or the table is WITHOUT ROWID, a view, or missing. */
const char *ctr_ordinary_rowid(const ctr_ordinary *ordinary, ctr_conn *conn, const char *schema,
                               const char *table);

/* Returns whether `counters` is the counter table of a tracked table. */
bool ctr_tracked_is_among(const ctr_objects *objects, const char *counters);

/* Opens `tracked` for a `table` whose triggers are about to be made. Without triggers, each counter
 * has the column of its own name, or none if the table has no such column. The caller closes it,
 * even if this fails. */
void ctr_tracked_begin(ctr_tracked *tracked, const ctr_objects *objects, const char *counters,
                       const char *table, const ctr_shape *shape);
void ctr_tracked_close(ctr_tracked *tracked);
void ctr_tracked_free_lists(ctr_slots *lists);

/* Returns what a counter table tracks, or NULL on error. The table keeps it until the schema
 * changes; the caller releases it. */
ctr_tracked *ctr_tracked_hold(ctr_tab *tab);

/* Returns whether some constraint of the table says ON CONFLICT REPLACE, as the table is known. */
static inline bool ctr_tracked_replaces(const ctr_tab *tab)
{
    return tab->tracked && tab->tracked->replaces;
}

/* Returns the conflict clause of a statement by which a merge writes a row. OR ABORT overrides
 * those of the table's constraints, and those of the statements in its triggers with them: without
 * it, a trigger does what it does for a statement of the application. It is there where a
 * constraint says ON CONFLICT, or a trigger OR ROLLBACK or OR FAIL. */
static inline const char *ctr_tracked_conflict(const ctr_tracked *tracked)
{
    return tracked->resolves ? "OR ABORT" : "";
}

/* Returns whether the cells can be at the rows of the table: table/home.c. */
static inline bool ctr_tracked_has_homes(const ctr_tracked *tracked)
{
    return tracked->shape->linked && tracked->rowid;
}

/* Finds how the rows of the tracked table are found, for ctr_conn_above. */
void ctr_tracked_find_home(ctr_tab *tab, ctr_home *home);
void ctr_tracked_release(ctr_tracked *tracked); /* NULL is harmless */

/* Notes the names in the triggers, if the notes differ. Returns whether it wrote. The second
 * function returns whether they are noted. */
bool ctr_tracked_note(ctr_file *file, const char *counters, const ctr_shape *shape);
bool ctr_tracked_is_noted(ctr_file *file, const char *counters, const ctr_shape *shape);

/* Gives a counter the column of its own name. */
void ctr_tracked_adopt(ctr_tracked *tracked, int counter, const char *column);

/* Return the column of the key, of a counter, and the regular column with this place among them;
 * the second returns NULL if the table has no such column. */
static inline const ctr_tracked_column *ctr_tracked_key(const ctr_tracked *tracked, int key)
{
    return &tracked->columns[key];
}

const ctr_tracked_column *ctr_tracked_column_of(const ctr_tracked *tracked, int counter);

static inline const ctr_tracked_column *ctr_tracked_regular(const ctr_tracked *tracked, int i)
{
    return &tracked->columns[tracked->shape->n_columns + i];
}

/* Return the number of columns that travel, which are the counters and then the regular columns;
 * and one of them. */
static inline int ctr_tracked_travel(const ctr_tracked *tracked)
{
    return tracked->shape->n_counters + tracked->n_regular;
}

static inline const ctr_tracked_column *ctr_tracked_travelling(const ctr_tracked *tracked, int i)
{
    return &tracked->columns[tracked->shape->n_keys + i];
}

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

/* Returns the place of the regular column with this number among those that travel, or -1. */
int ctr_tracked_numbered(const ctr_tracked *tracked, int64_t number);

/* Return the column with this name in the table: its place in tracked->columns and among the
 * counters, or -1; the regular column, or NULL. Upper and lower case are the same. */
int ctr_tracked_named(const ctr_tracked *tracked, const char *name);
int ctr_tracked_counter(const ctr_tracked *tracked, const char *name);
const ctr_tracked_column *ctr_tracked_regular_named(const ctr_tracked *tracked, const char *name);

/* Returns the call that replicates all columns of the table, for messages: counter_replicate('p').
 * It names `column`, unless that is NULL, and each column that counts in other files alone, for a
 * call that makes such a one a regular column is refused. */
const char *ctr_tracked_call(const ctr_tracked *tracked, const char *column);

/* The same without a column, for a file that follows another one to a regular column of this
 * generation, whose values it takes. */
const char *ctr_tracked_call_to_follow(const ctr_tracked *tracked, int64_t generation);

/* Binds ?1, ?2, ... to a key, as the columns of the counter table store it. */
int ctr_tracked_bind_key(const ctr_tracked *tracked, sqlite3_stmt *statement, sqlite3_value **keys);

/* Lists of the columns of a tracked table, for statements on it and on its counter table. */

/* Returns c.key = t.key, for a statement on both tables. */
const char *ctr_list_key_match(const ctr_tracked *tracked);

/* The same for the cells c of a row t, wherever they are (table/home.c). */
const char *ctr_list_cells_match(const ctr_tracked *tracked);

/* The others append to `out`. A prefix such as "NEW." stands before each name of the tracked table.
 *
 * "sku" = ?1 AND ..., for a key that ctr_tracked_bind_key binds. */
void ctr_list_bound_key(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix);

/* The key and, if wanted, the counters, by their names in the counter table. If some counter has no
 * column or an adopted one, the marks tell which (counter/counter.h): _marks is behind the
 * counters.
 */
void ctr_list_own_names(const ctr_tracked *tracked, sqlite3_str *out, bool counters);

/* By their names in the tracked table: the key; behind another list, the counters, NULL for one
 * without a column; both, and the marks if there are any. */
void ctr_list_keys(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix);
void ctr_list_values(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix);
void ctr_list_row(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix);

/* ==== constraints.c =========================================================================== */

/* What the constraints of an ordinary table mean for its counters: which columns can be tracked,
 * and which rows OR REPLACE removes. Foreign keys: tracked/foreign.c. */

/* ---- columns --------------------------------------------------------------------------------- */

/* Reads the shape of the counter table of a table: counters for the n named columns and for those
 * of `tracked`, which may be closed. Returns SQLITE_ERROR, and names the column, if it cannot be
 * tracked. The caller closes the shape, even if this fails.
 *
 * The key is the PRIMARY KEY. Its types are plain, and it compares as its columns do; otherwise two
 * rows of the table could have one key in the counter table. A tracked column has no type that
 * turns integers into texts or reals, and is not generated; a new one is no foreign key, and no
 * BOOLEAN. */
void ctr_constraints_read_shape(ctr_shape *shape, ctr_conn *conn, const char *schema,
                                const char *table, const char *const *names, int n,
                                const ctr_tracked *tracked);

/* Reads the key alone, as the columns of `ordinary` say, also one that the table is yet to get. */
void ctr_constraints_read_key(ctr_shape *shape, ctr_conn *conn, const char *schema,
                              const char *table, const ctr_ordinary *ordinary);

/* Fails if SQLite itself gives out the key of a row that is inserted without one: the key is the
 * row id. Such a PRIMARY KEY alone has no index. The shape is that of the table. */
void ctr_constraints_refuse_own_keys(const ctr_shape *shape, ctr_conn *conn, const char *schema,
                                     const char *table);

/* Returns whether SQLite numbers the keys of a table whose terms were read, which has a key. */
bool ctr_constraints_numbers_keys(const ctr_ordinary *ordinary);

/* Fails if a key column has a collation that is not built in: a pull looks for rows by their keys
 * in the other file, and no code of the application may decide which rows are one there. */
void ctr_constraints_refuse_collations(ctr_conn *conn, const ctr_shape *shape, const char *table);

/* Returns "price" IS NOT 0: that the column of a row shows something else than its DEFAULT. The
 * text is lent as those of ctr_text_print. */
const char *ctr_constraints_unlike_default(ctr_conn *conn, const ctr_described *column);

/* ==== foreign.c =============================================================================== */

/* Returns the foreign keys that tables of the file declare, lent until the schema changes; NULL on
 * error. */
const ctr_foreign_keys *ctr_foreign_keys_of(ctr_file *file);

/* The same for one who writes rows meanwhile: where the transaction has changed the schema, SQLite
 * reads it anew once a row is undone. Release them; NULL is released, too. */
ctr_foreign_keys *ctr_foreign_hold(ctr_file *file);
void ctr_foreign_release(ctr_foreign_keys *foreign);

/* Return whether the table has a foreign key; is the parent of one; refers to itself, perhaps
 * through other tables. */
bool ctr_foreign_is_child(const ctr_foreign_keys *foreign, const char *table);
bool ctr_foreign_is_parent(const ctr_foreign_keys *foreign, const char *table);
bool ctr_foreign_is_in_circle(ctr_conn *conn, const ctr_foreign_keys *foreign, const char *table);

/* Sets `order` to the numbers of n tables, parents before their children; tables that refer to each
 * other are in the given order. A table may be NULL. */
void ctr_foreign_sort(ctr_conn *conn, const ctr_foreign_keys *foreign, const char *const *tables,
                      int n, int *order);

/* Returns whether a row of the child keeps a row of `parent` from being deleted. */
bool ctr_foreign_keeps(const ctr_foreign_key *key, const ctr_tracked *parent);

/* Appends FROM parent AS p, child AS c WHERE ..., for the children of the row with the key ?1, ?2,
 * ... but itself. */
void ctr_foreign_list_children(const ctr_foreign_key *key, const ctr_tracked *parent,
                               sqlite3_str *out);

/* Returns whether the key refers to the PRIMARY KEY of the parent. */
bool ctr_foreign_is_to_key(const ctr_foreign_key *key, const ctr_tracked *parent);

/* Returns whether a column of `child` belongs to a foreign key with that parent. */
bool ctr_foreign_refers(const ctr_foreign_keys *foreign, const char *child, const char *column,
                        const char *parent);

/* Return whether SQLite enforces foreign keys, and whether a deferred one is broken, which must be
 * repaired before the COMMIT. While one is broken, the third fails: `table` cannot be written,
 * because a second broken key could not be noticed. */
bool ctr_foreign_enforced(sqlite3 *db);
bool ctr_foreign_broken(sqlite3 *db);
void ctr_foreign_refuse_broken(ctr_conn *conn, const char *table);

/* ==== triggers.c ============================================================================== */

/* The triggers of a tracked table, which insert its changes into its counter table.
 *
 * Their texts must be exactly those that would be written now. Otherwise changes may not have been
 * counted, and nothing is merged until counter_track is called again. */

/* Checks the triggers of any counter table; does nothing unless it holds the counters of a tracked
 * table. */
int ctr_triggers_check(ctr_file *file, const char *counters);

/* Returns whether the triggers are those that would be made now; false on error. */
bool ctr_triggers_are_whole(ctr_file *file, const char *counters);

/* Returns a trigger of the application that has the name of one of ours; NULL if none has. */
const ctr_named *ctr_triggers_taken(const ctr_objects *objects, const char *counters);

/* Create the triggers in place of existing ones, and drop them. The first fails if the application
 * has one of such a name, which the second keeps. */
void ctr_triggers_create(ctr_tracked *tracked, ctr_file *file);
void ctr_triggers_drop(ctr_file *file, const char *counters);

/* Call it after a merge has added or dropped the counters `raised`: creates the triggers again, for
 * the columns that are tracked already. A counter that another file dropped and added again has no
 * column here, as if both changes had arrived one by one. */
void ctr_triggers_follow(ctr_file *file, const char *counters, const ctr_shape *shape,
                         const char *const *raised, int n_raised);

/* Returns the table that has triggers of `counters`, lent by the objects. NULL: none. */
const char *ctr_triggers_table(const ctr_objects *objects, const char *counters);

/* Returns whether this table has some trigger of `counters`. */
bool ctr_triggers_stand_on(const ctr_objects *objects, const char *counters, const char *table);

/* Returns the counter table of a table, found by its triggers or, if there are none, by the noted
 * name; the caller frees it with sqlite3_free. NULL: it has none. */
char *ctr_triggers_counters(ctr_file *file, const char *table);

/* ==== writing.c =============================================================================== */

/* Opens a reader of the table that `tab` counts; if the names of that table are not known, it has
 * only listed values. The caller closes it, even if this fails. */
int ctr_row_values_open(ctr_row_values *values, ctr_tab *tab);
void ctr_row_values_close(ctr_row_values *values);

/* Reads the values of the row with this key, number `rowid` among the cells, into values->given:
 * listed ones, else those of the table; NULL for a column without one, and for all if there is no
 * such row. Lent until the next call, those of the table also until the reset. */
int ctr_row_values_read(ctr_row_values *values, int64_t rowid, sqlite3_value **keys);

/* Returns the value of a regular column that lines did not carry, for the row that was read last;
 * NULL: none is listed. */
const ctr_too_large *ctr_row_values_too_large(const ctr_row_values *values, int number);

/* Reads what the table shows in this row, whatever is listed; lent as above. */
int ctr_row_values_show(ctr_row_values *values, int64_t rowid, sqlite3_value **keys);

/* Lets go of the row of the table that was read last. */
void ctr_row_values_reset(ctr_row_values *values);

/* ==== showing.c =============================================================================== */

/* Reads how the row is listed. The caller closes it, even if this fails; a zeroed one is closed. */
int ctr_apart_read(const ctr_tracked *tracked, ctr_tab *tab, int64_t rowid, ctr_apart_row *row);
void ctr_apart_close_row(ctr_apart_row *row);

/* Notes why the table refuses a row that is listed; NULL: nothing is noted. */
void ctr_apart_explain(ctr_tab *tab, int64_t rowid, const char *why);

/* Returns the value of the regular column with this number that is listed; NULL: none is. */
const ctr_too_large *ctr_apart_too_large(const ctr_apart_row *row, const ctr_tracked *tracked,
                                         int number);

/* Return whether a row lacks such a value; whether it is later than the one that is listed, if any
 * is. */
bool ctr_too_large_is_missing(const ctr_too_large *value, const ctr_row_cell *cell, int number);
bool ctr_too_large_is_news(const ctr_tracked *tracked, const ctr_apart_row *row, int number,
                           const ctr_too_large *value);

/* Lists a value that lines did not carry; takes it off the list. */
void ctr_apart_list_too_large(ctr_tab *tab, int64_t rowid, int number, const ctr_too_large *value);
void ctr_apart_remove_too_large(ctr_tab *tab, int64_t rowid, int number);

/* Returns the number of entries. */
int64_t ctr_apart_count(ctr_file *file, const char *counters);

/* Sets the numbers of rows that wait, and of those that differ. */
void ctr_apart_count_rows(ctr_file *file, const char *counters, int64_t *wait, int64_t *differ);

/* Opens as ctr_triggers_hold does. The caller closes it, even if this fails, and does not move it
 * while it is open. */
int ctr_showing_open(ctr_showing *showing, ctr_tab *tab);
void ctr_showing_close(ctr_showing *showing);

/* Sets *shown to the value that a counter in this state shows. Returns false if its sum does not
 * fit in 64 bits. */
bool ctr_showing_value(const ctr_showing *showing, int counter, const ctr_summary *state,
                       ctr_shown *shown);

/* Shows a row, number `rowid` of the cells, whose counters were `before` and are `now`. The table
 * shows `from`, or the values of `before` if `from` is NULL. */
int ctr_showing_row(ctr_showing *showing, int64_t rowid, sqlite3_value **keys,
                    const ctr_shown *from, const ctr_summary *before, const ctr_summary *now);

/* Lists such a row, to be shown later by ctr_showing_again: one of a feed that a foreign key may
 * touch. SQLite opens no savepoint within the INSERT, so what the key does could not be undone. */
void ctr_showing_list(ctr_showing *showing, int64_t rowid, sqlite3_value **keys,
                      const ctr_summary *before, const ctr_summary *now);

/* Returns whether a foreign key may touch what shows a row of the table: whether it lives now says
 * if it is written or deleted. */
bool ctr_showing_touches(ctr_showing *showing, const ctr_summary *now);

/* ==== writing.c =============================================================================== */

/* Returns whether an error is that of the row in this table: of a constraint, an expression, or a
 * trigger. Others, such as a full disk, are those of the merge. */
bool ctr_writing_is_refusal(int rc);

/* Opens a savepoint for what the table may refuse. Returns false within a statement that writes,
 * where SQLite opens none, and after an error: then SQLite may have rolled back everything, and
 * what is written would be committed alone. */
bool ctr_writing_savepoint(ctr_conn *conn);

/* Sets the error for a statement on the table that has ended the transaction. */
void ctr_writing_tell_rollback(const ctr_tracked *tracked);

/* ==== blockers.c ============================================================================== */

/* Returns why the table refused the row with this key, which is apart and was found in `row`: the
 * error, and the row that stands in its way now, if that can be named: "UNIQUE constraint failed:
 * p.code: the row ('jam') has code '4711'". Lent as a text of ctr_text_print, or by `apart`; NULL:
 * it is not known. */
const char *ctr_blockers_explain(ctr_showing *showing, ctr_row *row, sqlite3_value **keys,
                                 const ctr_apart_row *apart);

/* Gives the key of each row that has what the row with this key is to have in a UNIQUE
 * index; it is lent until `give` returns. */
void ctr_blockers_holders(ctr_showing *showing, sqlite3_value **keys, const ctr_apart_row *apart,
                          void (*give)(void *to, sqlite3_stmt *key), void *to);

/* ==== later.c ================================================================================= */

/* What a row does with a regular column for a while: it keeps the value, has NULL if it may, or
 * else a number that no other row has. */
typedef enum ctr_lets_go { CTR_KEEPS, CTR_HAS_NULL, CTR_HAS_NUMBER } ctr_lets_go;

typedef enum ctr_later_what {
    CTR_LATER_ROWS,
    CTR_LATER_DELETIONS,
    CTR_LATER_LIST_DELETIONS /* lists them as apart, for a later part of the pull */
} ctr_later_what;

/* Add notes the row at hand, which was merged; `giver` is its id among the cells of the source.
 * Show shows all rows that were noted; those of a replicated table that have ended it deletes, or
 * lists, in a second call. */
void ctr_later_add(ctr_later *later, const ctr_showing *showing, const ctr_row *row, int64_t giver);
void ctr_later_show(ctr_later *later, ctr_showing *showing, ctr_row *row, ctr_later_what what);
void ctr_later_close(ctr_later *later);

/* Tries again to show the rows that are listed as apart, in the order of storage or backwards:
 * parents are inserted before their children, and deleted after them. When a row no longer shows a
 * value, the rows that want it are tried at once, wherever they are stored: a UNIQUE index may have
 * refused it. Rows of a replicated table that have ended are tried with `deletions` only. Returns
 * how many values are listed now. */
int64_t ctr_later_show_apart(ctr_showing *showing, ctr_row *row, bool backwards, bool deletions);

/* Try to show one row that is listed; to let one let go of values, by regular column, that others
 * wait for; to take one off the table that stands under its key (ctr_showing_take_off). */
void ctr_later_show_listed(ctr_showing *showing, ctr_row *row, int64_t rowid);
void ctr_later_clear(ctr_showing *showing, ctr_row *row, int64_t rowid, const ctr_lets_go *columns,
                     int64_t number);
bool ctr_later_take_off(ctr_showing *showing, ctr_row *row, int64_t rowid);

/* Call it after floors have risen: rows below them no longer show a value; in a replicated table
 * they are deleted. */
int ctr_later_show_purged(ctr_showing *showing, ctr_floors *floors);

/* ==== spread.c ================================================================================ */

/* Reads what the file says; `is` is false unless the table is spread. */
void ctr_spread_read(ctr_spread *spread, ctr_tab *tab);

/* Returns the greatest key of the cells and of the table, up to `most`; 0: there is none above. */
int64_t ctr_spread_greatest(const ctr_tracked *tracked, ctr_tab *tab, int64_t most);

/* Returns whether places for numbers of so many bits, 53 or 63, are left above the greatest key. */
bool ctr_spread_has_room(int64_t greatest, int bits);

/* Fails with SQLITE_ERROR unless SQLite gives out the keys of the table, and none twice. */
void ctr_spread_refuse(ctr_file *file, const char *table, const ctr_shape *shape);

/* Returns what is wrong with a table whose keys are spread, if a migration has built it anew
 * without AUTOINCREMENT: "its keys are spread, and ...". NULL: nothing, or an error. Static. */
const char *ctr_spread_lost(ctr_tab *tab, const char *table);

/* Makes the table a spread one, with numbers of so many bits, 53 or 63, from the next write on. */
void ctr_spread_set(const ctr_tracked *tracked, ctr_tab *tab, int bits);

/* Notes that a key at or above the place is not of this file: the next write jumps. The second sets
 * the sequence at once, for an INSERT within a merge; the third returns the number that this gets
 * then. */
void ctr_spread_take(ctr_tab *tab);
void ctr_spread_settle(const ctr_tracked *tracked, ctr_tab *tab);
int64_t ctr_spread_next(const ctr_tracked *tracked, ctr_tab *tab);

/* Lets a row keep its number that was to be inserted again under another one (merge/renumber.c). */
void ctr_spread_keep(ctr_tab *tab, int64_t number);

/* ==== reconcile.c ============================================================================= */

/* The methods of a counter table of a tracked table. */
const ctr_tracker *ctr_trigger_rows_tracker(void);

/* =================================================================================================
 * Only files of this folder use what follows.
 */

/* ==== tracked.c =============================================================================== */

/* Reads the names from the trigger on INSERT or, if that is missing, the noted ones; unknown names
 * are NULL. The caller closes it, even if this fails. */
void ctr_tracked_open(ctr_tracked *tracked, const ctr_objects *objects, const char *counters,
                      const ctr_shape *shape);

bool ctr_tracked_same_shown(const ctr_shown *a, const ctr_shown *b);

/* Returns whether the values are equal for each counter that has a column. Both arrays are by
 * counter. */
bool ctr_tracked_same_row(const ctr_tracked *tracked, const ctr_shown *a, const ctr_shown *b);

/* ==== constraints.c =========================================================================== */

/* Which rows OR REPLACE removes for a new row: a condition for each UNIQUE index of a table, except
 * for the PRIMARY KEY, and for a row id that is not the key, within a trigger on the table. */

typedef struct ctr_unique {
    sqlite3_str *match;      /* "code" = NEW."code" AND ..., for each index */
    const char *between;     /* what stands between the conditions of two indexes; borrowed */
    sqlite3_str *names;      /* of the columns in these indexes, and of the row id */
    const char *rowid_alone; /* a name of the row id, if there is no other condition; else NULL */
    bool any_column;         /* other columns count, too: in expressions or conditions */
    bool any_generated;      /* the table has generated columns */
    sqlite3_str *stored;     /* NEW."a" IS NULL OR ..., for what generated columns are made of */
} ctr_unique;

/* Appends to `match`, `names` and `stored`, which the caller makes and finishes. The terms of the
 * indexes were read. */
void ctr_constraints_list_unique(ctr_unique *rows, const ctr_tracked *tracked);

/* Returns the DEFAULT of a column as an expression, "NULL" if there is none. A name in it, as in
 * DEFAULT blue, means its text. The caller frees it with sqlite3_free; NULL on error. */
char *ctr_constraints_default(ctr_conn *conn, const ctr_described *column);

/* Returns whether OR REPLACE may put a DEFAULT that no trigger knows in place of a NULL. */
bool ctr_constraints_computes(const ctr_tracked *tracked, const char *name);

/* Appends NEW."name" for a BEFORE trigger; for a column with NOT NULL and DEFAULT, the value that
 * OR REPLACE stores in place of a NULL. A DEFAULT that calls a function, or has a name in quotes
 * among others, is left out. */
void ctr_constraints_append_new(sqlite3_str *out, const ctr_tracked *tracked, const char *name);

/* ==== foreign.c =============================================================================== */

/* The error of a broken foreign key, as SQLite says it. */
#define CTR_FOREIGN_KEY_FAILED "FOREIGN KEY constraint failed"
#define CTR_UNIQUE_FAILED "UNIQUE constraint failed: " /* followed by the columns */

void ctr_foreign_close(ctr_foreign *foreign);

/* Returns whether other rows refer to the row with this key, so that it must not be deleted. */
bool ctr_foreign_has_children(ctr_foreign *foreign, sqlite3_value **keys);

/* ==== triggers.c ============================================================================== */

/* The texts of the triggers that pass the changes of a tracked table on.
 *
 *     CREATE TRIGGER "products_counters_insert" AFTER INSERT ON "products" BEGIN
 *       INSERT INTO "products_counters"(_event, "sku", "stock")
 *       VALUES ('inserted', NEW."sku", NEW."stock");
 *     END
 *
 * tracked/reconcile.c takes what they insert. The templates are in sql/track.sql. */

enum { CTR_N_TRIGGERS = 11 };

/* The trigger on UPDATE of regular columns hands over a mask of those that have changed, made by
 * counter_differs: 5 is the columns number 0 and 2. One number has this many columns, because a
 * function has at most 100 arguments; more of them are a text, '5,0,1'. */
enum { CTR_MASK_COLUMNS = 50 };

/* Returns whether OR REPLACE may remove a row with the key of a new one that no trigger tells of:
 * another trigger has written it before, or the key is a DEFAULT that SQLite computes. */
bool ctr_triggers_hide_replaced(const ctr_tracked *tracked, const ctr_objects *objects);

/* Returns whether triggers say that a row leaves its row id, by the name that this has now. */
bool ctr_triggers_tell_leaving(const ctr_tracked *tracked, const ctr_objects *objects);

/* As ctr_tracked_hold. Fails with SQLITE_ERROR if a trigger is missing or has another text; the
 * message names the function to call. */
ctr_tracked *ctr_triggers_hold(ctr_tab *tab);

/* Returns whether triggers of the application stand on the tracked table. */
bool ctr_triggers_are_others(const ctr_tracked *tracked, ctr_file *file);

/* Returns whether, within an INSERT or UPDATE (`event`) of the application, triggers of its own
 * have still to run when ours do, and an UPDATE of the row would come before them: SQLite runs the
 * newest first. Only those count that write another table, such as an index of the words of the
 * row; there the old values of that UPDATE are not yet known. */
bool ctr_triggers_run_later(const ctr_tracked *tracked, ctr_file *file, const char *event);

/* ==== writing.c =============================================================================== */

ctr_writing ctr_writing_on(ctr_tracked *tracked, ctr_tab *tab);
void ctr_writing_close(ctr_writing *writing);

/* Forgets why a row was refused, before another one is written. */
void ctr_writing_forget_why(ctr_writing *writing);

/* Change the row from the values `from` to `to`; insert it with `to`; delete it. Return false if
 * the table refuses, or on error. */
bool ctr_writing_update(ctr_writing *writing, const ctr_shown *from, const ctr_shown *to);
bool ctr_writing_insert(ctr_writing *writing, const ctr_shown *to);
bool ctr_writing_delete(ctr_writing *writing);

/* Looks for the row with this key; returns false if there is none. Sets, unless they are NULL,
 * `shown` to the values of its columns, by counter, and `is_integer` if all are integers or
 * NULL. */
bool ctr_writing_look(ctr_writing *writing, sqlite3_value **keys, ctr_shown *shown,
                      bool *is_integer);

/* Returns the DEFAULT of a column, NULL if there is none. The caller frees it with
 * sqlite3_value_free. Returns no value if the expression fails, as it would in an INSERT. */
sqlite3_value *ctr_writing_default(ctr_writing *writing, const char *column);

/* Returns whether a column of the row with this key has another value than its DEFAULT. */
bool ctr_writing_is_unlike_default(ctr_writing *writing, sqlite3_value **keys, const char *column);

/* The same of a value; NULL: the value NULL. */
bool ctr_writing_is_unlike(ctr_writing *writing, sqlite3_value **keys, const char *column,
                           sqlite3_value *value);

/* ==== showing.c =============================================================================== */

/* Returns whether some row may be listed. */
bool ctr_apart_any(ctr_tab *tab);

/* Takes entries of a row off the list: those in a set of ctr_apart_what, about one column or, if
 * that is NULL, all. */
void ctr_apart_remove(ctr_tab *tab, int64_t rowid, unsigned whats, const char *column);

/* Lists that the table keeps rows below a floor. */
void ctr_apart_keep(ctr_tab *tab);
bool ctr_apart_keeps(ctr_tab *tab);

/* Opens as ctr_showing_open for a table that may lack some of its triggers, as while these run.
 * Returns false, mostly without an error, if the table is not known. */
bool ctr_showing_look(ctr_showing *showing, ctr_tab *tab);

/* Shows a row that is listed as apart, and has not been merged since. */
int ctr_showing_again(ctr_showing *showing, int64_t rowid, sqlite3_value **keys,
                      const ctr_summary *now);

/* Deletes a row that the table shows under the key of another one, which it refuses and which waits
 * from now on. Call it in a savepoint. Returns false if the table keeps it. */
bool ctr_showing_take_off(ctr_showing *showing, int64_t rowid, sqlite3_value **keys,
                          const ctr_summary *now);

/* Lists a row that shows `shown` for each counter with another value; NULL: the row waits. */
int ctr_showing_set_apart(ctr_showing *showing, int64_t rowid, const ctr_shown *shown,
                          const ctr_summary *now);

/* ==== spread.c ================================================================================ */

/* Sets the sequence of a spread table to where this file counts on: when a transaction begins, and
 * before a statement if it may be elsewhere since; is_unsettled says so. Fails if SQLite has given
 * out numbers from elsewhere; _end asks that before a COMMIT. */
void ctr_spread_begin(ctr_table *table);
void ctr_spread_end(ctr_table *table);
bool ctr_spread_is_unsettled(const ctr_table *table);

/* Returns whether a row that is new, with table->keys, has a birth. */
bool ctr_spread_bears(ctr_table *table);

/* Looks at the key of a row that was inserted: one of the application leads to the next jump. Fails
 * with SQLITE_CONSTRAINT if it lies above the highest number. */
void ctr_spread_check_key(ctr_table *table);

/* ==== reconcile.c ============================================================================= */

/* What an event reports of a row. */
typedef enum ctr_row_event {
    CTR_ROW_UPDATED,
    CTR_ROW_INSERTED,
    CTR_ROW_DELETED,
    CTR_ROW_FOUND, /* by counter_track, as the next */
    CTR_ROW_MISSING,
    CTR_ROW_MAY_GO,
    CTR_ROW_WRITTEN /* regular columns of it: `marks` */
} ctr_row_event;

/* The row of a tracked table with table->keys, as an event reports it. */
typedef struct ctr_tracked_row {
    ctr_table *table;
    ctr_row_event event;
    bool looks;                  /* CTR_ROW_FOUND: some row is apart; it may be this one */
    ctr_shown *now, *was;        /* by counter: what it shows, and showed before; see `event` */
    ctr_summary *before, *after; /* by counter: room */
    ctr_apart_row apart;         /* owned: how it is listed, if `is_apart` */
    bool is_apart;
    sqlite3_value *marks; /* as the trigger hands them over */
} ctr_tracked_row;

#endif
