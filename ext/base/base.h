/* base/base.h - talking to SQLite.
 *
 *     ctr_conn     a connection of the host: its files, its transaction, its running sync
 *     ctr_problem  an error; the one at hand stands in the connection
 *     ctr_run      statements in sequence, from sql/
 *     ctr_objects  the names of a schema
 *
 * and values: texts, arguments of SQL functions, arrays.
 */
#ifndef CTR_BASE_BASE_H
#define CTR_BASE_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/sqlite.h"
#include "core/core.h"
#include "counter_cell.h"

/* An error. The first one is kept, and later ones are dropped. The text names the place and the
 * fault; the doors put the name of the SQL function or table in front.
 *
 * The error at hand stands in the connection, and nobody hands it down:
 *
 *     int rc = ctr_rc(conn);         SQLITE_OK: none; else a function does nothing
 *
 * An entry point is a function that SQLite calls. Entry points nest: a trigger may call one while
 * another runs. So each begins without an error, and passes its own to SQLite when it returns. A
 * try collects the errors of some steps in a problem of its own:
 *
 *     ctr_problem problem;
 *     ctr_problem_try(conn, &problem);      what fails now stands here
 *     ...
 *     ctr_problem_close(&problem);          the one before is at hand again, this one is freed */
typedef struct ctr_problem {
    int rc;                    /* SQLITE_OK: none */
    char *text;                /* owned; NULL: what SQLite says of rc */
    struct ctr_problem *outer; /* the one that was at hand before */
    struct ctr_errors *of;     /* where it is at hand; NULL: it is not */
    struct ctr_conn *enters;   /* of an entry point: whose texts its end releases; of a try: NULL */
    struct ctr_text *texts;    /* the mark when it began */
} ctr_problem;

/* The errors of a connection; those that the library opens for itself share their host's. */
typedef struct ctr_errors {
    ctr_problem *now; /* the error at hand */
    ctr_problem none; /* the one outside of all entry points */
} ctr_errors;

/* Every statement that we run, by name, with its identifiers filled in.
 *
 * The texts are in sql/ and are embedded at build time; each line of the generated list makes the
 * enum and the text, so that they always agree. A placeholder is in double quotes: "{table}_cells"
 * takes a name, quoted as SQL wants it; "{columns}" takes a list that is SQL already, without the
 * quotes. All are filled in one pass, so that a name with braces is only a name.
 */
typedef enum ctr_sql {
#define CTR_STATEMENT(name, text) CTR_SQL_##name,
#include "statements.h"
#undef CTR_STATEMENT
    CTR_SQL_COUNT
} ctr_sql;

/* The values of placeholders; borrowed. The slots that a statement names must not be NULL. */
typedef struct ctr_slots {
    const char *schema, *table, *name; /* names */
    /* SQL */
    const char *columns, *keys, *definition, *constraint, *values, *changes, *order, *value,
        *conflict;
} ctr_slots;

/* Statements in sequence: after a failure, the rest do nothing.
 *
 *     ctr_run run = ctr_run_on(conn, schema, table);
 *     ctr_run_do(&run, CTR_SQL_SCHEMA_CREATE_CELLS, NULL);
 *     sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_CATALOG_BORN);
 *     ctr_run_bind_text(&run, row, ":name", name);
 *     while (ctr_run_row(&run, row)) ...
 *     sqlite3_finalize(row); */
typedef struct ctr_run {
    struct ctr_conn *conn;
    sqlite3 *db; /* of the connection; or another one, set by the owner */
    ctr_slots slots;
    int64_t tab; /* the number of the table; 0: it is looked up when a statement names it */
} ctr_run;

/* Figures of the work of a connection. Work that was rolled back counts, too. */
typedef struct ctr_stats {
    int64_t increments;     /* of one counter by one statement; +0 is one */
    int64_t cells_created;  /* increments that found no cell */
    int64_t shards_written; /* one for each increment; changed shards in a merge */
    int64_t merges;         /* of a cell with one of another file */
    int64_t cells_changed;  /* merges that changed the cell */
    int64_t conflicts;      /* rows that were written to counter_conflicts */
    int64_t refused;        /* shards of its own ids that a file did not take from a device */
    int64_t renewals;       /* of the witness of an identity */
    int64_t tracked;        /* rows in which counter_track found counts */
    int64_t changes;        /* new ids, and decisions to stop counting */
    int64_t writes;         /* rows of INSERT, UPDATE and DELETE */
    int64_t finds;          /* look-ups before such a write */
    int64_t reads;          /* scans */
} ctr_stats;

/* Calls that SQLite makes to each table that has joined the transaction. */
typedef enum ctr_call {
    CTR_CALL_NONE,
    CTR_CALL_SYNC,
    CTR_CALL_SAVEPOINT,
    CTR_CALL_RELEASE,
    CTR_CALL_ROLLBACK_TO
} ctr_call;

/* A kept statement; {0}: none. */
typedef struct ctr_kept {
    sqlite3_stmt *statement;
    struct ctr_kept *next, **link; /* the list of the connection */
    bool taken;                    /* it may be running: nobody but its owner closes it */
    bool expired;                  /* its owner closes it as soon as it is not taken */
} ctr_kept;

/* A buffer that grows. Zero it first, reuse it, and free `bytes`. */
typedef struct ctr_packed {
    uint8_t *bytes;
    size_t size, room;
} ctr_packed;

typedef struct ctr_conn ctr_conn;
struct ctr_tab;
struct ctr_home;

/* What the upper floors do for a connection. */
typedef struct ctr_conn_above {
    /* Registers the library on another connection, and lends that connection's object. */
    int (*register_all)(sqlite3 *db, ctr_conn **conn);
    /* Registers one more counter_witness. */
    int (*renew_witness)(ctr_conn *conn, const char *name);
    void (*close_files)(ctr_conn *conn);
    const struct ctr_file_tables *tables; /* hooks of the counter tables: file/file.h */
    const struct ctr_tracker *tracker;    /* of the tables that track */
    /* Finds the tracked table of a counter table, and how its rows are found: table/home.c. */
    void (*find_home)(struct ctr_tab *tab, struct ctr_home *home);
} ctr_conn_above;

/* A connection of the host: its files, its transaction, its running sync. All modules and functions
 * that are registered on it hold it as their user data.
 *
 * It must forget everything that is rolled back. So a virtual table that has joined the transaction
 * passes on SQLite's calls (table/events.c): each counter table, counter_changes, and the internal
 * table counter_witness, for counter_inc on ordinary tables and if a transaction creates or drops a
 * table.
 *
 * The internal table counter_statements keeps statements. SQLite closes it before it checks whether
 * the connection has open statements. */
struct ctr_conn {
    sqlite3 *db;
    ctr_errors *errors, own_errors; /* the error at hand: its own, or those of its host */
    struct ctr_text *texts;         /* owned: its arena, the last one first */
    ctr_conn_above above;
    int holders;
    struct ctr_file *files;      /* the files of the connection: file/file.h */
    struct ctr_session *session; /* the running one, or NULL: file/session.c */
    int spill;                   /* cache_spill of main that a session could not restore, or 0 */
    void *fronts;                /* the tables in front of others, owned; NULL: none */
    void (*close_fronts)(void *fronts);
    void *brought; /* by merges into main, owned; or NULL */
    void (*close_brought)(void *brought);
    void (*end_brought)(void *brought, bool committed); /* the transaction has ended */

    ctr_kept *kept, schema, join;
    int witnesses;        /* the number of the last counter_witness */
    bool is_memory;       /* main used the VFS "memdb" when the last transaction was joined */
    bool witness_used;    /* a statement was prepared on it, and may be finalized since */
    bool has_statements;  /* counter_statements exists */
    bool joined;          /* counter_witness is in a transaction */
    int told;             /* the number of tables that SQLite calls in this transaction */
    bool busy;            /* with an identity; a trigger on its table must not use it again */
    bool may_use_folders; /* a right, which its program has given it */

    struct ctr_opening *opening; /* of the running counter_track: table/openings.c; or NULL */
    bool row_cells;    /* counter_replicate is making a counter table: its rows have row cells */
    bool keyed;        /* the table that is about to be tracked has an INTEGER PRIMARY KEY */
    bool linked;       /* its cells are to be at its rows: table/home.c */
    unsigned answered; /* the number of answers about openings that were recorded */
    int merging;       /* so many statements are writing merged rows of tracked tables */

    /* The rows that a running counter_track has found missing: the key of the first is owned. */
    struct {
        int64_t n;
        char *key;
    } missing;

    /* Open savepoints, as far as SQLite reported them; and their number when a statement failed
     * half-way. */
    int depth;
    bool spoiled;
    int spoiled_depth;

    bool noted; /* some batch may have pending entries */

    /* Rises when the last number that SQLite gave to a row may be elsewhere. */
    unsigned unsettled;

    /* The round of calls that is going on: table/events.c. Work in between ends it. */
    struct {
        ctr_call call;
        int level;
        unsigned number;
    } round;

    unsigned ended;  /* the number of transactions that have ended */
    ctr_stats stats; /* of the connection */
};

/* How an SQL function may be used. PURE: its result depends on its arguments alone. STATE: it tells
 * what the connection is doing, to triggers, too. READS: it reads the identity. ADMIN: it changes
 * the file, so no trigger or view may call it. */
enum {
    CTR_PURE = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
    CTR_STATE = SQLITE_UTF8 | SQLITE_INNOCUOUS,
    CTR_READS = SQLITE_UTF8,
    CTR_ADMIN = SQLITE_UTF8 | SQLITE_DIRECTONLY
};

/* An SQL function, with `least` to `most` arguments; -1: any number. */
typedef struct ctr_function {
    const char *name;
    int least, most, flags;
    void (*call)(sqlite3_context *ctx, int argc, sqlite3_value **argv);
} ctr_function;

/* A value after NUMERIC affinity: its type, SQLITE_INTEGER, ..., and the number if it is one. */
typedef struct ctr_number {
    int type;
    int64_t integer;
    double real;
} ctr_number;

/* What a name in a schema stands for. */
typedef enum ctr_object {
    CTR_OBJECT_NONE,
    CTR_OBJECT_TABLE,
    CTR_OBJECT_VIRTUAL_TABLE,
    CTR_OBJECT_VIEW,
    CTR_OBJECT_INDEX,
    CTR_OBJECT_NAMELESS /* in a damaged schema */
} ctr_object;

/* Returns whether the table is in this schema. */
typedef bool ctr_schema_look(void *with, const char *schema, const char *table);

typedef struct ctr_named {
    char *name;           /* owned; its allocation has all texts */
    const char *on, *sql; /* the table of a trigger; sql NULL: it has none */
    ctr_object object;
    bool temp;     /* a trigger in temp */
    int64_t rowid; /* in sqlite_master: the higher, the newer */
} ctr_named;

/* Sorted by name, in letters of either case. The caller zeroes it first and closes it. */
typedef struct ctr_objects {
    ctr_conn *conn;
    const char *schema; /* borrowed */
    ctr_named *named;   /* owned */
    size_t n, room;
    ctr_named *triggers; /* owned */
    size_t n_triggers, room_triggers;
    int64_t last;     /* the highest rowid in sqlite_master */
    bool any_fail;    /* some trigger may say FAIL: OR FAIL or RAISE(FAIL) */
    bool any_or_fail; /* ... OR FAIL, or OR ROLLBACK */
} ctr_objects;

/* ==== conn.c ================================================================================== */

/* Returns the code of the error at hand; SQLITE_OK: there is none. */
static inline int ctr_rc(const ctr_conn *conn)
{
    return conn->errors->now->rc;
}

/* Returns whether an entry point is running. */
static inline bool ctr_conn_is_entered(const ctr_conn *conn)
{
    return conn->errors->now != &conn->errors->none;
}

/* Makes this the error at hand, unless there is one. Returns the code of the error at hand:
 * SQLITE_NOMEM if there was no memory for the text. */
int ctr_problem_set(ctr_conn *conn, int rc, const char *format, ...);

/* The same with SQLite's message, of this connection or of another database. Do nothing for rc
 * SQLITE_OK, ROW and DONE. */
int ctr_problem_sqlite(ctr_conn *conn, int rc);
int ctr_problem_of(ctr_conn *conn, sqlite3 *db, int rc);

/* The same with SQLITE_NOMEM, without a text. */
int ctr_problem_nomem(ctr_conn *conn);

/* Puts "<format>: " in front of the text, unless the text begins with it. Does nothing without an
 * error, and for want of memory. */
void ctr_problem_where(ctr_conn *conn, const char *format, ...);

/* Takes "<where>: " off the beginning of the text, if it is there. */
void ctr_problem_leave_out(ctr_conn *conn, const char *where);

/* Begin an entry point, or a try: from now on `problem` is at hand, with no error. Its end makes
 * the one before the error at hand again, and releases the texts of an entry point; a second end
 * does nothing. They nest: the one begun last ends first. What has ended keeps its error, and is
 * closed or raised later. */
void ctr_problem_begin(ctr_conn *conn, ctr_problem *problem);
void ctr_problem_try(ctr_conn *conn, ctr_problem *problem);
void ctr_problem_end(ctr_problem *problem);

/* Ends it, and frees the text. */
void ctr_problem_close(ctr_problem *problem);

/* Ends it, and makes its error the one at hand, unless there is one before: then it is freed. */
void ctr_problem_raise(ctr_conn *conn, ctr_problem *problem);

/* The same if `raises`; else closes it. */
void ctr_problem_raise_if(ctr_conn *conn, ctr_problem *problem, bool raises);

/* Puts "<where>: " in front of the text of `problem`, unless it stands there. */
void ctr_problem_prefix(ctr_problem *problem, const char *where);

/* Changes the code of the error at hand. */
static inline void ctr_problem_become(ctr_conn *conn, int rc)
{
    conn->errors->now->rc = rc;
}

/* Returns the error at hand; then there is none. The caller closes it. */
ctr_problem ctr_problem_take(ctr_conn *conn);

/* Forgets the error at hand. */
void ctr_problem_clear(ctr_conn *conn);

/* Returns whether SQLite itself rolls back the statement, or the transaction, on this error. */
bool ctr_problem_rolls_back(int rc);

/* Returns the text of a problem, or SQLite's text for the code. Lent until the next change. */
const char *ctr_problem_text(const ctr_problem *problem);

/* ---- values as messages show them: 5, 1.5, 'five', x'01', NULL; long ones cut ---- */

/* Returns "TEXT 'five'", "REAL 1.5", "NULL"; NULL without memory. The caller frees it with
 * sqlite3_free. */
char *ctr_problem_describe_value(sqlite3_value *value);

/* The same for a key, ('/', 12). The values may be columns of a statement's row. */
char *ctr_problem_describe_key(sqlite3_value **values, int n);

/* Appends such a value, without its type. Returns false without memory. */
bool ctr_problem_append_value(sqlite3_str *out, sqlite3_value *value);

/* Sets SQLITE_MISMATCH: "<what> must be <wanted>, not TEXT 'five'". */
int ctr_problem_mismatch(ctr_conn *conn, const char *what, const char *wanted,
                         sqlite3_value *value);

/* Counts one increment, and with `created` a new cell. */
static inline void ctr_conn_count(ctr_conn *conn, bool created)
{
    conn->stats.increments++;
    conn->stats.cells_created += created;
    conn->stats.shards_written++;
}

/* The caller holds the result; NULL without memory. The last holder that drops it frees it. */
ctr_conn *ctr_conn_new(sqlite3 *db, ctr_conn_above above);
ctr_conn *ctr_conn_hold(ctr_conn *conn);
void ctr_conn_drop(void *conn);

/* Joins the transaction that is open or that the running statement has begun; takes the write lock
 * of main. Returns false, without an error, if there is none: SQLite would call no table at its
 * end. */
bool ctr_conn_join(ctr_conn *conn);

/* The same; fails if there is none, because a table of the user has the name counter_witness. */
bool ctr_conn_require_join(ctr_conn *conn);

/* Ends the round of calls, for what follows needs the next call even if it is the same again. */
static inline void ctr_conn_end_round(ctr_conn *conn)
{
    conn->round.call = CTR_CALL_NONE;
}

/* Enter and leave work on identities. Enter fails if a trigger on an identity tries to enter
 * again. */
bool ctr_conn_enter(ctr_conn *conn);
int ctr_conn_leave(ctr_conn *conn);

/* Spoils a transaction after a statement that did only one of two writes, which SQLite does not
 * roll back inside a transaction. It cannot commit unless it is rolled back to a savepoint before
 * the statement. `nth` is the value of `ended` before the first write; SQLite may have rolled back
 * the whole transaction by itself, as on a full disk. */
void ctr_conn_spoil(ctr_conn *conn, unsigned nth);

/* ---- statements that are kept ---------------------------------------------------------------- */

/* Returns the kept statement; prepares it if need be. */
sqlite3_stmt *ctr_conn_keep(ctr_conn *conn, ctr_kept *kept, ctr_run *run, ctr_sql which);

/* Takes the kept statement, which nobody else uses until it is given back: prepares it if need be,
 * or another one if it is taken. NULL on error. */
sqlite3_stmt *ctr_conn_take(ctr_conn *conn, ctr_kept *kept, ctr_run *run, ctr_sql which);

/* Gives a statement back: resets it and clears its bindings; NULL is harmless. After an error it is
 * finalized, for it may hide columns, as an authorizer wanted it; and if no statement can be kept,
 * because another object has the name counter_statements. */
void ctr_conn_give_back(ctr_conn *conn, ctr_kept *kept, sqlite3_stmt *statement);

/* Makes it the first in the list of those that are kept, in which they have no order. */
void ctr_conn_list_first(ctr_conn *conn, ctr_kept *kept);

/* Closes a kept statement, before its owner is freed; a second call does nothing. */
void ctr_conn_close_kept(ctr_kept *kept);

/* Closes all kept statements, those that are taken when they are given back; they are prepared
 * again when needed. */
void ctr_conn_release_kept(ctr_conn *conn);

/* Creates counter_statements while no connection locks main, so that counting in another file does
 * not need main later. Fails only on errors for which SQLite rolls back. */
void ctr_conn_prepare(ctr_conn *conn);

/* Registers n functions. Their user data is the connection. */
int ctr_shared_functions(sqlite3 *db, ctr_conn *conn, const ctr_function *functions, size_t n);

/* Fails if a running statement names the eponymous table `name` under another schema than main.
 *
 * SQLite finds a table without xCreate under every schema's name: phone.counter_changes is main's.
 * A user who writes this means another table, so it is refused. SQLite does not pass the schema to
 * the table, so this looks for it in the texts of the running statements. */
void ctr_shared_check_name(ctr_conn *conn, const char *name);

/* ==== run.c =================================================================================== */

/* Returns the statement; NULL without memory. The caller frees it with sqlite3_free. */
char *ctr_run_sql(ctr_sql which, const ctr_slots *slots);

/* Borrows `schema` and `table`; `table` may be NULL if no statement names one. */
ctr_run ctr_run_on(ctr_conn *conn, const char *schema, const char *table);

/* Returns whether the connection has a database of this name. It always has temp. */
bool ctr_run_has_schema(sqlite3 *db, const char *schema);

/* Calls sqlite3_file_control, in a way that needs no look-up of the name main. */
int ctr_run_ask_file(sqlite3 *db, const char *schema, int what, void *answer);

/* Returns a number that changes whenever the connection sees a change of the database, also its
 * own. The caller calls this while the connection reads the database. */
unsigned ctr_run_data_version(sqlite3 *db, const char *schema);

/* The state of the transaction on a schema; the values are those of sqlite3_txn_state(). SQLite
 * before 3.34 does not distinguish schemas: there, an open transaction counts as writing all of
 * them. */
enum { CTR_TXN_NONE = 0, CTR_TXN_READ = 1, CTR_TXN_WRITE = 2 };
int ctr_run_transaction(sqlite3 *db, const char *schema);

/* Returns whether the files of the connection store texts in UTF-16. */
bool ctr_run_is_utf16(ctr_conn *conn);

/* Returns the busy timeout in ms; 0, too, if a busy handler of the host decides. */
int ctr_run_busy_timeout(ctr_conn *conn);

/* Returns a statement that the caller finalizes; NULL on error. The parameter :tab of a run on a
 * table is bound to the number by which the stored tables of the file have its rows. */
sqlite3_stmt *ctr_run_prepare(ctr_run *run, ctr_sql which);

/* Bind a parameter by its name, as in ":epoch"; fail if the statement has none of that name. They
 * copy a text or an id, and borrow bytes until the statement is reset; before it is stepped again,
 * bytes are bound anew. NULL binds NULL. Numbered parameters are those of a row of the table at
 * hand: its rowid, its keys, its counters. */
void ctr_run_bind_int(ctr_run *run, sqlite3_stmt *statement, const char *parameter, int64_t n);
void ctr_run_bind_text(ctr_run *run, sqlite3_stmt *statement, const char *parameter,
                       const char *text);
void ctr_run_bind_blob(ctr_run *run, sqlite3_stmt *statement, const char *parameter,
                       const void *bytes, size_t size);
void ctr_run_bind_value(ctr_run *run, sqlite3_stmt *statement, const char *parameter,
                        sqlite3_value *value);
void ctr_run_bind_id(ctr_run *run, sqlite3_stmt *statement, const char *parameter,
                     const uint8_t *id);

/* Binds the parameters that `format` names, ":row i :name t", each with a letter for its argument:
 * i an int64_t, t a text, v a value, d an id, b bytes and their size_t. ctr_run_with prepares a
 * statement, binds, steps once, and finalizes it. */
void ctr_run_bind(ctr_run *run, sqlite3_stmt *statement, const char *format, va_list args);
void ctr_run_with(ctr_run *run, ctr_sql which, const char *format, ...);

/* Steps; returns true while there is a row. ctr_run_once also finalizes the statement. */
bool ctr_run_row(ctr_run *run, sqlite3_stmt *statement);
bool ctr_run_once(ctr_run *run, sqlite3_stmt *statement);

/* Returns the integer in the first column of the first row; 0 if there is none. */
int64_t ctr_run_number(ctr_run *run, ctr_sql which);

/* Returns the number of the table of the run, by CTR_SQL_CATALOG_NUMBER; 0 on error. */
int64_t ctr_run_take_number(ctr_run *run, sqlite3_stmt *row);

/* Runs a PRAGMA that sets a number, "{value}". */
void ctr_run_set(ctr_run *run, ctr_sql which, int number);

/* Returns whether an authorizer makes a NULL of a result column that is declared with a type. False
 * where SQLite was built without sqlite3_column_decltype (SQLITE_OMIT_DECLTYPE). */
bool ctr_run_is_hidden(sqlite3_stmt *row, int column);

/* Fails if an authorizer hides one of the first n columns of `table`: then a row that was not found
 * may be there. */
void ctr_run_refuse_hidden(ctr_run *run, sqlite3_stmt *row, int n, const char *table);

/* Returns whether the first row of a statement is this text, in letters of either case. */
bool ctr_run_gives(ctr_run *run, ctr_sql which, const char *text);

/* Steps a statement that writes to its end. PRAGMA count_changes lets it return a row before. */
int ctr_run_to_end(sqlite3_stmt *statement);

/* Steps a statement that writes one row. Fails with SQLITE_CORRUPT_VTAB if no row was written, or
 * if a constraint failed: it is none of ours, and OR IGNORE must not hide the error. */
void ctr_run_write(ctr_run *run, sqlite3_stmt *statement);

/* Returns a statement that holds a snapshot of the schema until the caller finalizes it; NULL on
 * error. Without it, in autocommit, each statement sees the latest commits of others. */
sqlite3_stmt *ctr_run_hold(ctr_run *run);

/* Prepares a statement, runs it to the end, and finalizes it. With a `text` it must have just one
 * parameter, which takes it. */
void ctr_run_do(ctr_run *run, ctr_sql which, const char *text);

/* ==== values.c ================================================================================ */

/* Texts in UTF-8. Reading a text of a UTF-16 database needs memory.
 *
 * A function that reads a text returns NULL without an error if there is none, and fails, with
 * NULL, without memory. SQLite owns the bytes; they last as long as the row or the value. */

/* Returns the text of a column. NULL is no text. */
const char *ctr_text_column(ctr_conn *conn, sqlite3_stmt *row, int column);

/* Returns the text of a value. Only TEXT is text. */
const char *ctr_text_value(ctr_conn *conn, sqlite3_value *value);

/* Binds a foreign value, a text as UTF-8: a text in UTF-16 would lose a U+FEFF at its start, which
 * sqlite3_bind_value takes for a byte order mark. Returns SQLITE_OK or an error code of SQLite. */
int ctr_text_bind_value(sqlite3_stmt *statement, int i, sqlite3_value *value);

/* Returns whether two values have one type and the same bytes. A REAL is like no other value. */
bool ctr_text_alike(sqlite3_value *a, sqlite3_value *b);

/* The same, but a REAL is like another one with the same bits. */
bool ctr_text_same(sqlite3_value *a, sqlite3_value *b);

/* Returns whether it has U+FFFE or U+FFFF, which SQLite stores as U+FFFD in UTF-16. */
bool ctr_text_has_noncharacter(const void *utf8, size_t size);

/* Return a copy: of a text, which is not NULL, of a piece of one, of a name without its quotes.
 * Fail, with NULL, without memory. The caller frees it with sqlite3_free. */
char *ctr_text_copy(ctr_conn *conn, const char *text);
char *ctr_text_of(ctr_conn *conn, ctr_span span);
char *ctr_text_unquoted(ctr_conn *conn, ctr_span name);

/* Texts of SQL, and others that are short-lived. ctr_text_print formats one, ctr_text_built
 * finishes `out`. Without memory they fail, and return "". The caller does not free them: a release
 * frees all texts that were made since its mark, and the end of an entry point those since its
 * begin. What prepares statements many times within an entry point, or outside of any, marks before
 * and releases after. */
typedef struct ctr_text ctr_text;
const char *ctr_text_print(ctr_conn *conn, const char *format, ...);
const char *ctr_text_built(ctr_conn *conn, sqlite3_str *out);
void ctr_text_release(ctr_conn *conn, ctr_text *mark);

static inline ctr_text *ctr_text_mark(const ctr_conn *conn)
{
    return conn->texts;
}

/* Appends bytes as hexadecimal digits. */
void ctr_text_append_hex(sqlite3_str *out, const void *bytes, int size);

/* Returns the separator before the next item of a list: the word, "" before the first. */
const char *ctr_text_separator(sqlite3_str *list, const char *word);

/* Returns the whole list, "" if it is empty. Fails, with NULL, without memory. The caller frees it
 * with sqlite3_free. */
char *ctr_text_finish(ctr_conn *conn, sqlite3_str *list);

/* Arguments of SQL functions. A function that returns false has set the error of the SQL function:
 * a sentence that starts with `function` and shows the value received.
 *
 * This one says "<function>: <name> must be <wanted>, not <the value>". */
bool ctr_arg_refuse(sqlite3_context *ctx, const char *function, const char *name,
                    const char *wanted, sqlite3_value *value);

/* Returns the TEXT. Fails, with NULL, if it is no TEXT, as ctr_arg_refuse, or without memory. */
const char *ctr_arg_text(sqlite3_context *ctx, const char *function, const char *name,
                         sqlite3_value *value);

/* Reads an integer between `least` and `most`. */
bool ctr_arg_integer(sqlite3_context *ctx, const char *function, const char *name,
                     sqlite3_value *value, int64_t least, int64_t most, int64_t *n);

/* Reads a replica id: a BLOB of 16 bytes or the text of a UUID. */
bool ctr_arg_id(sqlite3_context *ctx, const char *function, const char *name, sqlite3_value *value,
                uint8_t id[CTR_ID_SIZE]);

/* Returns the name of an attached database; main if `value` is NULL, without this argument. Fails,
 * with NULL, if no database has this name. */
const char *ctr_arg_schema(sqlite3_context *ctx, const char *function, sqlite3_value *value);

/* Sets the result to an id, as text. */
void ctr_arg_result_id(sqlite3_context *ctx, const uint8_t id[CTR_ID_SIZE]);

/* Returns whether the status is CTR_OK; else sets the error to the refusal of the core. */
bool ctr_arg_status(sqlite3_context *ctx, const char *function, ctr_status status);

/* Makes the problem the function's error and closes it. Returns true if there was none. */
bool ctr_arg_problem(sqlite3_context *ctx, const char *function, ctr_problem *problem);

/* Makes the problem the message of a virtual table, "<name>: <text>", closes it, and returns its
 * code. */
int ctr_arg_table_problem(sqlite3_vtab *table, const char *name, ctr_problem *problem);

/* Calls sqlite3_result_error with a formatted text. */
void ctr_arg_error(sqlite3_context *ctx, const char *format, ...);

/* Returns copies of n values. Fails without memory; the caller frees them all the same. */
sqlite3_value **ctr_arg_copies(ctr_conn *conn, sqlite3_value **values, int n);
void ctr_arg_free(sqlite3_value **values, int n);

/* ---- integers -------------------------------------------------------------------------------- */

/* Reads an integer. Returns false if the value is none, or on error. Never converts the value
 * itself. */
bool ctr_arg_take_integer(ctr_conn *conn, sqlite3_value *value, int64_t *n);

/* Returns an integer between `least` and `most`. Fails, with 0, if it is none: "<what> must be
 * <wanted>, not ...". */
int64_t ctr_arg_between(ctr_conn *conn, const char *what, const char *wanted, sqlite3_value *value,
                        int64_t least, int64_t most);

/* Opens the bytes of a change. Fails with what is wrong with it. */
void ctr_arg_change(ctr_conn *conn, ctr_change_view *change, const uint8_t *bytes, size_t size);

/* Returns the value after NUMERIC affinity. */
ctr_number ctr_arg_number(ctr_conn *conn, sqlite3_value *value);

/* Returns "an INTEGER, not REAL 5.5" for a value that is no integer; NULL without memory. The
 * caller frees it with sqlite3_free. */
char *ctr_arg_integer_refusal(sqlite3_value *value);

/* Gives `items`, an array that grows and has room for *room items of `size` bytes, room for at
 * least n. Returns the array, which may have moved; NULL after an error or without memory: then the
 * array is unchanged. */
static inline void *ctr_array_room(ctr_conn *conn, void *items, size_t *room, size_t n, size_t size)
{
    if (ctr_rc(conn) != SQLITE_OK) return NULL;
    if (n <= *room && items) return items;
    size_t more = 2 * n + 14;
    void *longer = sqlite3_realloc64(items, more * size);
    if (longer)
        *room = more;
    else
        ctr_problem_nomem(conn);
    return longer;
}

/* ==== schema.c ================================================================================ */

/* Returns the kind of object with this name; CTR_OBJECT_NONE, too, on error. */
ctr_object ctr_schema_object(ctr_conn *conn, const char *schema, const char *name);

/* Returns "a view", "an index". */
const char *ctr_schema_object_text(ctr_object object);

/* Returns whether there is an ordinary table of this name. Fails if another object has the name. */
bool ctr_schema_is_table(ctr_conn *conn, const char *schema, const char *name);

/* Returns whether the declaration has AS: perhaps of generated columns. */
bool ctr_schema_may_generate(const ctr_named *table);

/* Refuses a table with generated columns, whose expressions would run on a read. */
int ctr_schema_refuse_generated(ctr_conn *conn, const char *schema, const char *stored);

/* Looks for a table by the name that a user gives. Returns false if no schema has it, or on error.
 *
 *     table           in the order of SQLite: in temp, main and the attached databases
 *     schema.table    in that schema, unless the whole is the name of a table
 */
bool ctr_schema_find(ctr_conn *conn, const char *name, ctr_schema_look *look_there, void *with);

/* ---- all objects, read once: a query for each takes time in proportion to the schema ---- */

/* Reads the objects, and the triggers in temp, which may be on tables of any schema. The name of
 * the schema must live as long. */
void ctr_schema_objects_read(ctr_objects *objects, ctr_conn *conn, const char *schema);
void ctr_schema_objects_close(ctr_objects *objects);

/* Adds the objects that were created since. If others may have been changed or dropped, the caller
 * closes and reads all. */
int ctr_schema_objects_read_on(ctr_objects *objects);

/* Return the object with this name, or with <table>_<suffix>, triggers aside; NULL if there is
 * none, or without memory. If a damaged schema has the name twice, return the object that is no
 * table. */
const ctr_named *ctr_schema_objects_find(const ctr_objects *objects, const char *name);
const ctr_named *ctr_schema_objects_stored(const ctr_objects *objects, const char *table,
                                           const char *suffix);

/* Returns the trigger of the schema with the name <table>_<suffix>, or NULL. */
const ctr_named *ctr_schema_objects_trigger(const ctr_objects *objects, const char *table,
                                            const char *suffix);

/* Like ctr_schema_is_table. */
bool ctr_schema_objects_is_table(const ctr_objects *objects, const char *name);

/* =================================================================================================
 * Only files of this folder use what follows.
 */

/* ==== values.c ================================================================================ */

/* ---- integers -------------------------------------------------------------------------------- */

/* Hosts bind numbers in their own ways: JavaScript binds 1 as REAL, Perl and Tcl bind it as TEXT. A
 * value that INTEGER affinity converts to an integer without loss counts as that integer:
 *
 *     INTEGER    itself
 *     REAL       5.0, 1e3, -0.0: a whole number, at most 2^53 = 9007199254740992 from 0, since
 *                a REAL beyond that stands for several integers
 *     TEXT       '5', ' 5 ', '-0': an integer literal of 64 bits; '5.0', '1e3': as a REAL, and
 *                less than 2^53 from 0, since '9007199254740993.0' is rounded to 2^53
 *
 * No other value is an integer: 5.5, 'five', '', '0x10', a BLOB, an infinite REAL. SQLite passes a
 * NaN as NULL.
 */
#define CTR_NUMBER_REAL_MAX INT64_C(9007199254740992)

#endif
