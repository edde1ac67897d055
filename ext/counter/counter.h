/* counter/counter.h - SQL on a counter table: the module `counter`.
 *
 *     ctr_table    the virtual table, over a ctr_tab
 *     ctr_front    what a table in front of several files does in place of that
 *     ctr_tracker  what the counter table of a tracked table does beyond that
 */
#ifndef CTR_COUNTER_COUNTER_H
#define CTR_COUNTER_COUNTER_H

#include "table/table.h"

/* The counter table, a virtual table over a stored one.
 *
 *     table.c         its life: declaration, create, connect, rename, drop; registration
 *     plan.c          chooses the constraints and the order that the key can serve
 *     scan.c          cursors: rows and values; the elements of an IN
 *     write.c         INSERT, UPDATE and DELETE: requests that count once, the current row
 *     commands.c      commands: INSERT INTO t(t, ...) VALUES ('reset', ...); the check
 *
 * Columns as SQLite sees them, for page_views(path, hour, hits, bytes):
 *
 *     0  page_views    hidden   the command
 *     1  path ... 4  bytes
 *     5  request_id    hidden
 *
 * The counter table of a tracked table has more hidden columns, into which only its triggers and
 * counter_track insert:
 *
 *     6  _event                    what happened to a row: tracked/reconcile.c
 *     7  _marks                    '102': the second counter has no column, the third was adopted;
 *                                  or which regular columns have changed: tracked/triggers.c
 *     8  _was_hits  9  _was_bytes  old values */

enum { CTR_COLUMN_COMMAND = 0 };

/* The value that a statement gives for a counter; n is 0 if it gives none. */
typedef struct ctr_given {
    bool is;
    int64_t n;
} ctr_given;

typedef struct ctr_table {
    ctr_joined joined;
    char *schema, *name; /* owned */
    ctr_shape shape;
    sqlite3_value **keys;          /* room for the key of the row being written, in key order */
    ctr_given *given;              /* room for the values of an INSERT, by counter */
    bool has_at;                   /* the row of `keys` is, or was, in the tracked table */
    int64_t at;                    /* at this row id */
    bool at_new;                   /* it was inserted just now */
    bool holds_keys;               /* `keys` are copies, which ctr_table_end_row frees */
    const struct ctr_front *front; /* borrowed; NULL for the table of one file */

    /* The rows and the file of the current row; a front sets them. */
    ctr_row *row;
    ctr_file *file;
    ctr_file *held; /* the file of its own schema; see file/file.h */

    bool read;                /* the stored tables were read; see ctr_table_read */
    struct scan_cursor *idle; /* the cursor that was closed last; owned */

    /* For a table of one file. */
    ctr_row own_rows;
    ctr_floors floors;
    ctr_streams streams;

    /* A counter was added or dropped: SQLite makes a new object of the table for the next
     * statement. */
    bool altered;
    bool unchecked; /* the change at hand comes from a merge or a recount: no right is asked for */

    /* Not NULL: the table holds the counters of a tracked table, and counts only what the triggers
     * insert. */
    const struct ctr_tracker *tracker; /* borrowed */
    struct ctr_reports *reports;       /* owned: what the triggers have reported; the tracker's */
    bool handed; /* a trigger made the current INSERT: messages name the tracked table */

    int updated; /* rows that UPDATE has changed since the last scan began */

    /* For the current statement, if it has a request id. */
    sqlite3_value *request;
    char *asks;    /* the text of the request; owned */
    bool repeated; /* it was taken before */
} ctr_table;

/* The methods of a table that stands in front of others. Its statements, plans and refusals are
 * those of a counter table; these methods read and write its rows. A table of one file has none. */
typedef struct ctr_front {
    /* The current row, as in counter/write.c for one file. After `find`, table->rows holds it. */
    int (*find)(ctr_table *table);
    int (*find_rowid)(ctr_table *table, int64_t rowid);
    /* Fails if the cursor has read the row in other files than those that `find` found. */
    void (*require_as_read)(const ctr_table *table);
    bool (*found)(const ctr_table *table);
    bool (*is_below)(const ctr_table *table); /* a floor */
    bool (*key_is)(ctr_table *table, int64_t rowid);
    void (*spell)(ctr_table *table); /* the next `write` stores table->keys as they are spelled */
    int (*write)(ctr_table *table);
    int (*raise)(ctr_table *table);                 /* raises floors to table->keys */
    int64_t (*rowid)(const ctr_table *table);       /* as xRowid would */
    ctr_row *(*stored_row)(const ctr_table *table); /* of a file; NULL: none */

    /* A cursor: `open` returns the `reading` of the other methods; `close` frees it. */
    struct ctr_reading *(*open)(ctr_table *table);
    void (*close)(struct ctr_reading *reading);
    void (*start)(struct ctr_reading *reading, ctr_table *table, bool unique, const char *plan,
                  int argc, sqlite3_value **argv);
    bool (*step)(struct ctr_reading *reading);
    sqlite3_stmt *(*row)(const struct ctr_reading *reading);
    void (*sum)(const struct ctr_reading *reading, int counter, ctr_summary *state);
    int64_t (*name_row)(const struct ctr_reading *reading, int64_t id); /* for xRowid */
    ctr_row *(*rows)(const struct ctr_reading *reading); /* of the file of the current row */

    /* Runs a command, as ctr_commands_run. Returns false if it runs as in one file. */
    bool (*command)(ctr_table *table, sqlite3_value **columns, const char *command);
    const char *commands;        /* the commands that it takes, as a message lists them */
    const char *refuses_request; /* the message: why it takes no request_id */

    /* Returns the name of the tables behind it. */
    const char *(*birth)(const ctr_table *table);
} ctr_front;

/* What the counter table of a tracked table does beyond others; the conn has it
 * (ctr_conn_above). */
typedef struct ctr_tracker {
    void (*open)(ctr_table *table); /* makes table->reports */
    void (*close)(ctr_table *table);
    /* Returns the tracked table, lent by the objects of the file; NULL: there is none. */
    const char *(*tracked_table)(const ctr_table *table);
    /* The table has joined the transaction; a savepoint, perhaps that of a statement, begins; the
     * transaction is to commit. */
    void (*begin)(ctr_table *table);
    void (*savepoint)(ctr_table *table);
    void (*sync)(ctr_table *table);
    /* Takes a row that a trigger of the tracked table inserts. Returns false if the INSERT is
     * another one. */
    bool (*take)(ctr_table *table, sqlite3_value **columns);
    /* Does as ctr_table_write and writes the counters into the tracked table. */
    int (*write)(ctr_table *table);
    /* Does as ctr_table_raise and clears the values of the rows that the floor purges. */
    void (*purge)(ctr_table *table);
} ctr_tracker;

/* ==== table.c ================================================================================= */

/* The number of column i of the shape. The number of request_id is ctr_table_column(n_columns). */
static inline int ctr_table_column(int i)
{
    return 1 + i;
}

/* The numbers of the columns for triggers, in the counter table of a tracked table. */
static inline int ctr_table_event(const ctr_shape *shape)
{
    return ctr_table_column(shape->n_columns) + 1;
}

static inline int ctr_table_marks(const ctr_shape *shape)
{
    return ctr_table_event(shape) + 1;
}

/* The row id of the row in the tracked table. */
static inline int ctr_table_at(const ctr_shape *shape)
{
    return ctr_table_marks(shape) + 1;
}

static inline int ctr_table_was(const ctr_shape *shape, int counter)
{
    return ctr_table_at(shape) + 1 + counter;
}

/* Returns whether a value was given for a column. */
static inline bool ctr_table_given(sqlite3_value *value)
{
    return sqlite3_value_type(value) != SQLITE_NULL;
}

int ctr_table_register(sqlite3 *db, ctr_conn *conn); /* USING counter(...) */

/* Makes the problem the table's message, "<table>: <text>", closes it, and returns its code. */
int ctr_table_fail(ctr_table *table, ctr_problem *problem);

/* Refuses a name that is reserved or equals the name of a column. */
void ctr_table_check_name(ctr_conn *conn, const ctr_shape *shape, const char *name);

/* Declares the columns to SQLite. */
void ctr_table_declare(ctr_table *table);

/* Makes the problem the message of xCreate or xConnect, closes it, and returns its code. */
int ctr_table_report(ctr_problem *problem, char **message);

/* ==== plan.c ================================================================================== */

/* xBestIndex. The number of the plan is CTR_PLAN_UNIQUE if it finds one row at most. */
enum { CTR_PLAN_UNIQUE = 1 };
int ctr_plan_best_index(sqlite3_vtab *base, sqlite3_index_info *info);

/* ==== scan.c ================================================================================== */

/* The methods of cursors. */
int ctr_scan_open(sqlite3_vtab *base, sqlite3_vtab_cursor **cursor);
int ctr_scan_close(sqlite3_vtab_cursor *base);
void ctr_scan_release(ctr_table *table); /* frees the cursor that was kept for the next scan */
int ctr_scan_filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
                    sqlite3_value **argv);
int ctr_scan_next(sqlite3_vtab_cursor *base);
int ctr_scan_eof(sqlite3_vtab_cursor *base);
int ctr_scan_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column);
int ctr_scan_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid);

/* ==== write.c ================================================================================= */

/* xUpdate. */
int ctr_write_update(sqlite3_vtab *base, int argc, sqlite3_value **argv, sqlite3_int64 *rowid);

/* Collects the key of an INSERT into table->keys. Fails with SQLITE_MISMATCH on a NULL. */
int ctr_write_collect_key(ctr_table *table, sqlite3_value **columns);

/* Begins the next life of a counter of the row that was found, at the given number or at 0. */
int ctr_write_next_life(ctr_table *table, int counter, const ctr_given *given);

/* Each changes a counter of the row that was found: adds n, sets it to n, adds `to` minus `from`.
 * ctr_write_assign and ctr_write_change write nothing if the value stays. */
int ctr_write_add(ctr_table *table, int counter, int64_t n);
int ctr_write_assign(ctr_table *table, int counter, int64_t n);
int ctr_write_change(ctr_table *table, int counter, int64_t from, int64_t to);

/* Counts n, 0 excepted, under the opening of the running counter_track. Fails if openings of other
 * files stand in the cell and the call does not say what they are. */
int ctr_write_open(ctr_table *table, ctr_opening *opening, int counter, int64_t n);

/* Deletes a counter of the row that was found. */
int ctr_write_tombstone(ctr_table *table, int counter);

/* Fails if a life of a bounded counter must not end, because others hold rights to it. */
int ctr_write_check_end(ctr_table *table, int counter);

/* Grants n, 1 or more, of a bounded counter of the row that was found to another id. */
int ctr_write_grant(ctr_table *table, int counter, const uint8_t to[CTR_ID_SIZE], int64_t n);

/* Fails with SQLITE_CONSTRAINT if the row was not found and table->keys is below a floor. */
int ctr_write_check_floors(ctr_table *table);

/* The current row: after ctr_table_find, table->rows holds it. */

/* Looks for the row with table->keys. */
int ctr_table_find(ctr_table *table);

/* Returns whether memory knows no row with table->keys, so that it may be written as a new one. */
bool ctr_table_may_be_new(ctr_table *table);

/* Looks for the row under a cursor, by the row id that xRowid returned. */
int ctr_table_find_rowid(ctr_table *table, int64_t rowid);

/* Returns whether the key of the row is below a floor, in any file. */
bool ctr_table_is_below(ctr_table *table);

/* Writes the row in table->rows. */
int ctr_table_write(ctr_table *table);

/* Raises floors to table->keys. */
int ctr_table_raise(ctr_table *table);

/* Returns table->keys as a message shows them; as ctr_row_key_text. */
char *ctr_table_key_text(const ctr_table *table);

/* Frees copies of the key after a statement. */
void ctr_table_end_row(ctr_table *table);

/* ==== commands.c ============================================================================== */

/* Fails if any column has a value. */
int ctr_commands_refuse_values(const ctr_table *table, sqlite3_value **columns,
                               const char *command);

/* If the command is `verb` and a name, returns the name, else NULL. */
const char *ctr_commands_name(const char *command, const char *verb);

/* =================================================================================================
 * Only files of this folder use what follows.
 */

/* ==== table.c ================================================================================= */

/* Reads and checks the stored tables of one file, once. xConnect must not read them: it runs while
 * a statement is prepared, and SQLite does not wait for a lock on a file that the transaction
 * already reads. */
void ctr_table_read(ctr_table *table);

/* Returns the name in a clause that adds a counter; the caller frees it with sqlite3_free. Fails,
 * with NULL, if the clause is refused. The second returns the columns as sqlite3_declare_vtab takes
 * them; NULL without memory. */
char *ctr_declare_counter(ctr_conn *conn, const char *table, const char *clause);
char *ctr_declare_vtab(const ctr_shape *shape, const char *table, bool tracked);

/* ==== write.c ================================================================================= */

/* Collects the counter values of an INSERT into table->given. Fails with SQLITE_MISMATCH on a value
 * that is no integer (base/values.c). */
int ctr_write_collect_amounts(ctr_table *table, sqlite3_value **columns);

/* Fails because the table has no counter: two files have each dropped the counter that the other
 * kept. */
void ctr_write_refuse_no_counter(ctr_conn *conn);

/* Fails if this statement has added or dropped a column: SQLite shows the new columns to the next
 * statement only. */
int ctr_write_check_altered(const ctr_table *table);

/* Returns whether the row was found, in any file. */
bool ctr_table_found(const ctr_table *table);

/* ==== commands.c ============================================================================== */

/* Runs the command of an INSERT; `columns` are its columns, by number. */
void ctr_commands_run(ctr_table *table, sqlite3_value **columns);

/* Adds or drops the counter that ctr_columns_ask() requests. */
void ctr_commands_take(ctr_table *table, ctr_wanted *wanted);

/* What asks for a check of the stored content: a command, or one of two PRAGMAs. */
typedef enum ctr_integrity_extent {
    CTR_INTEGRITY_ALONE, /* nothing else checks the pages */
    CTR_INTEGRITY_PRAGMA,
    CTR_INTEGRITY_QUICK
} ctr_integrity_extent;

void ctr_integrity_check(ctr_table *table, ctr_integrity_extent extent);

typedef struct ctr_integrity_module {
    sqlite3_module module;
#if SQLITE_VERSION_NUMBER < 3044000
    int (*xIntegrity)(sqlite3_vtab *, const char *, const char *, int, char **);
#define CTR_X_INTEGRITY xIntegrity
#else
#define CTR_X_INTEGRITY module.xIntegrity
#endif
} ctr_integrity_module;

enum { CTR_INTEGRITY_VERSION = 4 }; /* iVersion of a module with xIntegrity */

#endif
