/* vtab/table.h - the counter table, a virtual table over a stored one.
 *
 *     table.c         its life: create, connect, rename, drop; registration
 *     front.h         what a table does instead that stands in front of others
 *     declare.c       the clauses of USING counter(...): to a shape, or to a sentence that refuses
 *     plan.c          which constraints and orders the key can serve
 *     elements.c      the elements of an IN, and one search for each
 *     scan.c          cursors: rows and values
 *     write.c         INSERT, UPDATE and DELETE: what they count
 *     trigger_rows.c  what the triggers of a tracked table hand on
 *     request.c       requests that count once, however often they come
 *     access.c        the row at hand: of one file, or that of the front
 *     commands.c      INSERT INTO t(t, ...) VALUES ('reset', ...) and its like
 *     alter.c         those that add and drop a counter
 *
 * Columns as SQLite sees them, for page_views(path, hour, hits, bytes):
 *
 *     0  page_views    hidden   the command
 *     1  path ... 4  bytes
 *     5  request_id    hidden
 *
 * and behind them, in the counter table of a tracked one, for what its triggers hand on:
 *
 *     6  _was_hits  7  _was_bytes      hidden
 */
#ifndef CTR_VTAB_TABLE_H
#define CTR_VTAB_TABLE_H

#include "sync/session.h"
#include "table/columns.h"
#include "table/floors.h"
#include "table/requests.h"
#include "table/rows.h"
#include "table/stream.h"
#include "vtab/joined.h"

enum { CTR_COLUMN_COMMAND = 0 };

/* The number of column i of the shape; request_id has that of a column behind the last. */
static inline int ctr_table_column(int i)
{
    return 1 + i;
}

/* The number of the column with the old value of a counter, in the table of a tracked one. */
static inline int ctr_table_was(const ctr_shape *shape, int counter)
{
    return ctr_table_column(shape->n_columns) + 1 + counter;
}

/* Returns whether a value was given for a column. */
static inline bool ctr_table_given(sqlite3_value *value)
{
    return sqlite3_value_type(value) != SQLITE_NULL;
}

/* The value that a statement gives for a counter; n is 0 if none. */
typedef struct ctr_given {
    bool is;
    int64_t n;
} ctr_given;

/* A row of a tracked table that a statement may replace. */
typedef struct ctr_may_go {
    int64_t rowid;
    bool at_work; /* noted while another row was shown after a merge */
} ctr_may_go;

typedef struct ctr_table {
    ctr_joined joined;
    sqlite3 *db;
    char *schema, *name; /* owned */
    ctr_shape shape;
    ctr_sessions *sessions;        /* of the connection; borrowed */
    sqlite3_value **keys;          /* room for the key of a row that is written, in key order */
    ctr_given *given;              /* room for what an INSERT gives, by counter */
    bool holds_keys;               /* `keys` are copies, to be freed */
    const struct ctr_front *front; /* borrowed; NULL for the table of one file: vtab/front.h */

    /* Where the row at hand is found and written; with a front it says where. */
    ctr_rows *rows;
    ctr_replica *replica;
    ctr_replica *held; /* that of its own schema; see identity/replica.h */

    bool read;                /* the stored tables; see ctr_table_read */
    struct scan_cursor *idle; /* the cursor that was closed last; owned */

    /* Of one file. */
    ctr_rows own_rows;
    ctr_floors floors;
    ctr_streams streams;
    ctr_requests requests;

    /* A counter was added or dropped: SQLite makes another object of the table for the next
     * statement. */
    bool altered;

    /* Of a tracked table: what its triggers hand over is counted, and nothing else. */
    bool tracked;
    bool noted;        /* by which names it is tracked */
    unsigned noted_in; /* the last transaction in which they were written, counted from 1 */
    bool handed;       /* a trigger has handed over what is at work: messages name its table */
    struct ctr_showing *looks; /* owned: the table itself, to look at; NULL: it is not known */
    bool looked;               /* for which table it is */
    ctr_may_go *may_go;        /* owned; rows that a statement may replace */
    int n_may_go;
    size_t room_may_go;
    unsigned may_go_in;   /* the transaction in which they were noted */
    unsigned disorder_in; /* the last in which a trigger ran before ours; see vtab/trigger_rows.c */

    int updated; /* rows that an UPDATE has changed since a scan has begun */

    /* Of the statement at work, if it has a request id. */
    sqlite3_value *request;
    char *asks; /* what it asks for; owned */
} ctr_table;

/* Makes the problem the table's message, "<table>: <text>", closes it, and returns its code. */
int ctr_table_fail(ctr_table *table, ctr_problem *problem);

/* table.c: for tables of both kinds. */

/* Reads and checks the stored tables of one file, once. xConnect must not read them: it runs while
 * a statement is prepared, and SQLite does not wait for the lock of a file that the transaction
 * reads already. */
int ctr_table_read(ctr_table *table, ctr_problem *problem);

/* Refuses a name that is reserved, or that a column makes impossible. */
void ctr_table_check_name(const ctr_shape *shape, const char *name, ctr_problem *problem);

/* Tells SQLite the columns. */
void ctr_table_declare(ctr_table *table, ctr_problem *problem);

/* Makes the problem the message of xCreate or xConnect, closes it, and returns its code. */
int ctr_table_report(ctr_problem *problem, char **message);

/* declare.c */
int ctr_declare_shape(ctr_shape *shape, const char *table, int n, const char *const *clauses,
                      ctr_problem *problem);

/* The name in a clause that adds a counter, to be freed with sqlite3_free; NULL and a problem where
 * it is refused. */
char *ctr_declare_counter(const char *table, const char *clause, ctr_problem *problem);
char *ctr_declare_vtab(const ctr_shape *shape, const char *table, bool tracked);

/* If the last clause says so, the name of the tracked table, to be freed with sqlite3_free: it is
 * then no part of the declaration. NULL: it does not, or a problem. */
char *ctr_declare_tracked(int *n, const char *const *clauses, ctr_problem *problem);

/* plan.c: the plan is a text, see table/stream.h, and elements.h for an IN. */
enum { CTR_PLAN_UNIQUE = 1 };
int ctr_plan_best_index(sqlite3_vtab *base, sqlite3_index_info *info);

/* scan.c */
int ctr_scan_open(sqlite3_vtab *base, sqlite3_vtab_cursor **cursor);
int ctr_scan_close(sqlite3_vtab_cursor *base);
void ctr_scan_release(ctr_table *table); /* frees what is kept for the next cursor */
int ctr_scan_filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
                    sqlite3_value **argv);
int ctr_scan_next(sqlite3_vtab_cursor *base);
int ctr_scan_eof(sqlite3_vtab_cursor *base);
int ctr_scan_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column);
int ctr_scan_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid);

/* write.c */
int ctr_write_update(sqlite3_vtab *base, int argc, sqlite3_value **argv, sqlite3_int64 *rowid);

/* Collects the key of an INSERT into table->keys; SQLITE_MISMATCH for a NULL. */
int ctr_write_keys(ctr_table *table, sqlite3_value **columns, ctr_problem *problem);

/* Collects what an INSERT gives for the counters into table->given; SQLITE_MISMATCH for what is no
 * integer (sqlite/number.h). */
int ctr_write_numbers(ctr_table *table, sqlite3_value **columns, ctr_problem *problem);

/* Refuses a table without counters, where two files have each dropped what the other has kept. */
void ctr_write_refuse_no_counter(ctr_problem *problem);

/* Begins the next life of a counter of the row that was found, at the number given or at 0. */
int ctr_write_next_life(ctr_table *table, int counter, const ctr_given *given,
                        ctr_problem *problem);

/* Adds n to a counter of the row that was found; makes it n; adds what `to` is more than `from`. */
int ctr_write_add(ctr_table *table, int counter, int64_t n, ctr_problem *problem);
int ctr_write_assign(ctr_table *table, int counter, int64_t n, ctr_problem *problem);
int ctr_write_change(ctr_table *table, int counter, int64_t from, int64_t to, ctr_problem *problem);

/* Deletes a counter of the row that was found. */
int ctr_write_tombstone(ctr_table *table, int counter, ctr_problem *problem);

/* SQLITE_CONSTRAINT if the row with table->keys, which was not found, is below a floor. */
int ctr_write_check_floors(ctr_table *table, ctr_problem *problem);

/* Refuses to go on where this statement has added or dropped a column: within it the table cannot
 * be seen anew. */
int ctr_write_check_altered(const ctr_table *table, ctr_problem *problem);

/* access.c: from ctr_access_find on, table->rows shows the row. */

/* Looks for the row with table->keys. */
int ctr_access_find(ctr_table *table, ctr_problem *problem);

/* Looks for the row under a cursor, as xRowid has named it. */
int ctr_access_find_rowid(ctr_table *table, int64_t rowid, ctr_problem *problem);

/* Returns xRowid's name for the row just written. */
int64_t ctr_access_rowid(const ctr_table *table);

/* Returns whether the row was found, in any file. */
bool ctr_access_found(const ctr_table *table);

/* Returns whether the key of the row is below a floor, in any file. */
bool ctr_access_is_below(ctr_table *table, ctr_problem *problem);

/* Writes the row in table->rows. */
int ctr_access_write(ctr_table *table, ctr_problem *problem);

/* Raises floors to table->keys. */
int ctr_access_raise(ctr_table *table, ctr_problem *problem);

/* Returns whether the row has exactly these values in the key columns that are not NULL here. */
bool ctr_access_key_is(ctr_table *table, int64_t rowid, ctr_problem *problem);

/* The key of the row that was found as a message shows it; as ctr_rows_key_text. */
char *ctr_access_key_text(ctr_table *table, ctr_problem *problem);

/* The same of table->keys. */
char *ctr_access_given_key_text(const ctr_table *table, ctr_problem *problem);

/* "column hits of ('/', 12)", as where a problem is. */
void ctr_access_problem_at(ctr_table *table, int counter, ctr_problem *problem);

/* Frees the leftovers of a statement. */
void ctr_access_end(ctr_table *table);

/* trigger_rows.c: of a tracked table; false if the INSERT is none of a trigger's. */
bool ctr_trigger_rows_take(ctr_table *table, sqlite3_value **columns, ctr_problem *problem);

/* As ctr_access_write; and a tracked table shows what was written, or what a floor has purged. */
int ctr_trigger_rows_write(ctr_table *table, ctr_problem *problem);
int ctr_trigger_rows_show_purged(ctr_table *table, ctr_problem *problem);

/* request.c: `columns` are those of the INSERT, by number. */

/* Sets the problem why a front, or an UPDATE, takes no request. */
void ctr_request_refuse(const ctr_table *table, ctr_problem *problem);

/* Returns whether the request was taken before; if not, it is the one at work. The caller ends it,
 * also after a failure. */
bool ctr_request_begin(ctr_table *table, sqlite3_value **columns, ctr_problem *problem);

/* Records the request at work; there must be one. */
int ctr_request_remember(ctr_table *table, ctr_problem *problem);
void ctr_request_end(ctr_table *table);

/* commands.c: `columns` are the columns of the INSERT, by number. */
int ctr_commands_run(ctr_table *table, sqlite3_value **columns, ctr_problem *problem);

/* Refuses values for any column. */
int ctr_commands_refuse_values(const ctr_table *table, sqlite3_value **columns, const char *command,
                               ctr_problem *problem);

/* Sets the problem that a command names no counter. */
void ctr_commands_refuse_name(const char *name, ctr_problem *problem);

/* If the command is `verb` and a name, returns the name. */
const char *ctr_commands_name(const char *command, const char *verb);

/* alter.c: false if the command is another one. */
bool ctr_alter_run(ctr_table *table, sqlite3_value **columns, const char *command,
                   ctr_problem *problem);

/* Does the work that ctr_columns_ask() asks for. */
void ctr_alter_take(ctr_table *table, ctr_wanted *wanted, ctr_problem *problem);

#endif
