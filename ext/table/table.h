/* table/table.h - one counter table in one file.
 *
 *     ctr_shape     its columns: the keys and the counters
 *     ctr_catalog   the counter tables of a file, by present name and birth name
 *     ctr_tab       the table: its names, its statements, what memory holds of it
 *     ctr_row      the row at hand: found, staged, written
 *     ctr_stream    the rows that match a plan, in its order
 *     ctr_floors    limits of key columns; rows below them are gone for good
 *     ctr_openings  the values that a table held when tracking began
 *
 * Its journal holds what the cells lack; memory is a cache of both; a fold moves amounts from the
 * journal into the cells. Nothing but this folder writes <table>_cells.
 */
#ifndef CTR_TABLE_TABLE_H
#define CTR_TABLE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sqlite.h"
#include "counter_cell.h"
#include "file/file.h"

/* The keys and the counters of a counter table.
 *
 * The columns of the UNIQUE constraint of the stored table are the key, in its order; the other
 * columns are counters (table/stored.c). */

typedef struct ctr_column {
    char *name, *type, *collation; /* owned; type "" and collation "BINARY" if none was declared */
    ctr_affinity affinity;
    int key;              /* position in the key, or -1 */
    int counter;          /* number among the counters, or -1 */
    const ctr_kind *kind; /* of a counter; else NULL */

    /* Of a counter: see table/columns.c. */
    int64_t generation;
    bool listed;  /* counter_state lists it */
    bool bounded; /* it never goes below 0: table/rights.c */
} ctr_column;

/* A counter that was dropped, in this file or in another. */
typedef struct ctr_gone {
    char *name; /* owned */
    int64_t generation;
} ctr_gone;

/* Columns in declared order; `keys` and `counters` are positions among them. There may be no
 * counter, if two files have each dropped the counter that the other kept. */
typedef struct ctr_shape {
    ctr_column *columns;
    int *keys, *counters;
    int n_columns, n_keys, n_counters, room;
    ctr_gone *gone; /* owned; sorted by name, ignoring case */
    int n_gone;
    bool replicated; /* the rows have row cells: table/columns.c */
    bool keyed;      /* the key is the row id of the cells: table/stored.c */
    bool linked;     /* the row ids of the cells are those of a tracked table: table/home.c */
    bool bounded;    /* some counter is */
} ctr_shape;

/* What ctr_shape_list lists. */
typedef enum ctr_part { CTR_KEYS, CTR_COUNTERS, CTR_KEYS_FIRST, CTR_AS_DECLARED } ctr_part;

/* Turns SQLite values into packed keys (core/key.c) and back.
 *
 * A folded key stands for all keys that its columns compare as equal. Digests and buckets use
 * folded keys, because two files may spell one key in two ways. NOCASE and RTRIM are folded, and
 * INTEGER and REAL of one value are the same; under collations of the application the spelling
 * counts. */

/* Places: the cells of a tracked table are at the row ids of its rows, so that an INSERT writes no
 * index here: the table's own index finds the key.
 *
 *     CREATE TABLE products_counters_cells(
 *       _id INTEGER PRIMARY KEY, _away INTEGER, sku TEXT ..., stock BLOB)
 *     CREATE UNIQUE INDEX products_counters_cells_away ON products_counters_cells(sku) WHERE _away
 *
 * The index has the rows that are away: they were deleted, wait to be shown, had another key or row
 * id, or their row id was taken. A row id of the cells never changes, and a row may stay away for
 * ever. A row that is at home, _away NULL, has its row in the tracked table, at its row id and with
 * its key: triggers BEFORE a change say that a row leaves. The stored key is compared whenever a
 * row is found by its row id.
 *
 * SQLite may number the rows of the tracked table anew, as .dump does; triggers may be dropped and
 * made again. So counter_state has for which schema and file the places hold (ctr_home_holds). If a
 * row is missed where they may not hold, all rows that are not at home are marked or, by a reader,
 * all are read. A connection that switches triggers off, deletes a row and inserts its key again
 * makes two rows of one key, until counter_track, which joins them.
 *
 * A table with an INTEGER PRIMARY KEY (`keyed`), one WITHOUT ROWID, and a counter table have none
 * of this, but an index over all keys. */

/* The counter tables of a file: present names and birth names.
 *
 *     counter_tables(name, birth, token)
 *
 * ALTER TABLE RENAME is local to a file, so tables of two files belong together if their birth
 * names are the same. Matching by the present name loses counts. */

typedef struct ctr_catalog_entry {
    char *name, *birth; /* owned */
    uint8_t token[CTR_ID_SIZE];
} ctr_catalog_entry;

/* All tables, in order of birth name. */
typedef struct ctr_catalog {
    ctr_catalog_entry *entries;
    int n;
    size_t room;
} ctr_catalog;

/* What is known of one table in memory: the amounts of its journal, and rows.
 *
 * Nothing here runs SQL. */

typedef struct ctr_amount {
    int64_t row;
    int64_t n, ticks; /* added to value and clock; 0 ticks: nothing */
    uint32_t counter;
    uint32_t batch; /* perhaps its entry in the batch; see table/journal.c */
} ctr_amount;

typedef struct ctr_amounts {
    ctr_amount *slots; /* owned */
    int n_columns;     /* regular columns may have stamps up to this number */
    size_t n_slots;    /* a power of two, or 0; a quarter of them stay unused */
    size_t n;
} ctr_amounts;

typedef struct ctr_known_row {
    int64_t id;
    struct ctr_known_row *next[2]; /* by id, by key */
    uint8_t *key;                  /* after the states */
    size_t key_size;
    uint64_t hash;        /* of the key */
    bool used;            /* since the clock hand last passed */
    bool live;            /* of a replicated table, by its row cell; false: look */
    ctr_summary states[]; /* by counter, with the shard of the file's id */
} ctr_known_row;

typedef struct ctr_cache {
    int n_counters;
    ctr_known_row **by_id, **by_key;
    size_t slots; /* of each; a power of two, or 0; twice as many as rows, or more */
    size_t n, bytes;
    size_t hand;         /* the clock hand: a slot of by_id */
    ctr_known_row *last; /* the row that was found or added last, or NULL */

    /* For reading ahead: the number of missed look-ups, and the id of the last row read. */
    size_t missed;
    int64_t ahead;
} ctr_cache;

/* A counter table of a file, one object for each table of each file of a connection.
 *
 * Everybody who works on the table shares it: its virtual table, merges, folds. It lives as long as
 * its file (file/file.h), which may be the snapshot that is the source of a pull. */

/* Statements on the stored tables of a table, each prepared at its first use and kept. */
typedef enum ctr_tab_sql {
    CTR_TAB_FIND_KEY,
    CTR_TAB_FIND_ROWID,
    CTR_TAB_WALK,
    CTR_TAB_FOLLOW,
    CTR_TAB_AHEAD, /* the same, while the other stands on a row */
    CTR_TAB_INSERT,
    CTR_TAB_INSERT_NEW, /* unless there is such a row */
    CTR_TAB_UPDATE,
    CTR_TAB_SPELL,     /* an UPDATE of cells and keys */
    CTR_TAB_MERGE_KEY, /* see table/stream.c; and the two that follow */
    CTR_TAB_WINDOW,
    CTR_TAB_MERGE_BEHIND,
    CTR_TAB_KEY,
    CTR_TAB_KEY_IS,
    CTR_TAB_ROW,     /* the row cell */
    CTR_TAB_SET_ROW, /* that alone */
    CTR_TAB_BELOW,
    CTR_TAB_FLOORS,   /* the floors; then their number, the rows and bytes removed so far */
    CTR_TAB_SCAN_KEY, /* to CTR_TAB_HIGHEST: of a linked table, see table/home.c */
    CTR_TAB_FIND_AWAY,
    CTR_TAB_FIND_AT, /* by the key and a row id */
    CTR_TAB_ANY_AWAY,
    CTR_TAB_LEAVE,
    CTR_TAB_COME_HOME,
    CTR_TAB_OCCUPIED,
    CTR_TAB_LOWEST,
    CTR_TAB_HIGHEST,
    CTR_TAB_GREATEST, /* key of a keyed table */
    CTR_TAB_SHOW,     /* to CTR_TAB_FIND_SHOWN: on the tracked table */
    CTR_TAB_SHOW_NEW,
    CTR_TAB_SHOW_DELETED,
    CTR_TAB_SHOWN,
    CTR_TAB_FIND_SHOWN,
    CTR_TAB_STATEMENTS
} ctr_tab_sql;

/* A statement that is taken until it is given back. */
typedef struct ctr_slot {
    ctr_kept kept;
    bool temporary;
    bool checked; /* set by those who look: no authorizer hides a column, no trigger is fired */
} ctr_slot;

/* The length of a batch when a savepoint began, and ctr_tab.writes then. */
typedef struct ctr_journal_mark {
    size_t n, appended;
    uint64_t writes; /* 0: unknown */
} ctr_journal_mark;

/* How a statement finds a row t of the tracked table, and its cells c: table/home.c. SQL, owned;
 * NULL: the table is not known, or none of the names of its row id is left. */
typedef struct ctr_home {
    char *table;       /* its name */
    char *from;        /* "main"."products" AS t */
    char *bound;       /* t."sku" = ?1 */
    char *same;        /* c."sku" = t."sku" */
    char *keys;        /* t."sku" */
    const char *rowid; /* _rowid_; static */
    int64_t schema;    /* its version in the file */
    bool hides;        /* OR REPLACE may remove a row with the key that no trigger tells of */
    unsigned as_of;    /* ctr_file.schemas for which they hold; 0: none */
} ctr_home;

/* A row that a running merge has written at a row id that the tracked table is to give it when it
 * is shown: the only ones that are neither at home nor marked. */
typedef struct ctr_stray {
    int64_t rowid;
    uint64_t hash; /* of the folded key */
    size_t next;   /* the number + 1 of the next one in its chain; 0: none */
} ctr_stray;

typedef struct ctr_strays {
    bool taken;      /* a merge is running that ends them */
    ctr_stray *rows; /* owned; by row id, ascending */
    size_t n, room;
    size_t *chains; /* owned; a power of two of them, at least as many as rows */
    size_t n_chains;
    ctr_packed key;
} ctr_strays;

/* Bounded counters: in all files together they never go below 0, whoever is offline.
 *
 * Each unit of a bounded counter is a right to take it away, which exactly one id holds: the
 * bounded counter of Balegas and others (include/counter_cell.h). A file takes only what it holds:
 *
 *     right = the value of its own shard - what it granted + what was granted to it
 *             + what is held by openings that it made
 *
 * Its own shard is exact, and grants of others only grow: so what a file believes to hold is never
 * too much, whatever it has not heard of yet. It may be too little, and for a while below 0.
 *
 *     a decrement           needs that much right; so does an assignment downwards
 *     the end of a life     needs that nobody else is known to hold any: a DELETE, NULL, a row that
 *                           REPLACE removes. 'reset' ends it all the same
 *     a merge, a recount    is never refused: what it shows below 0 is a debt
 *
 * A bound belongs to a generation of a counter, is never taken back, and merges to all files.
 *
 * Of openings each file that made one says that it holds its rights (CTR_HELD), unless the values
 * were declared to be those of another one before: then nobody does, for each of several copies
 * would have them all. */

typedef struct ctr_held {
    uint8_t opening[CTR_ID_SIZE], holder[CTR_ID_SIZE];
} ctr_held;

/* A cache of what the file says of openings. */
typedef struct ctr_holders {
    ctr_held *list; /* owned: n */
    size_t n, room;
    bool looked;
    unsigned version, schemas; /* of the tab and of the file then */
} ctr_holders;

/* Who may take how much of one counter of one row: by id, ascending. Zero it; close it. */
typedef struct ctr_right {
    uint8_t id[CTR_ID_SIZE];
    ctr_sum n; /* below 0: a debt */
} ctr_right;

typedef struct ctr_rights {
    ctr_right *list; /* owned: n */
    size_t n, room;
} ctr_rights;

typedef struct ctr_tab {
    ctr_file *file;     /* borrowed */
    ctr_conn *conn;     /* of the file */
    const char *schema; /* of the file */
    char *table;        /* owned */
    ctr_shape shape;    /* owned: the columns that the statements name */
    unsigned schemas;   /* file->schemas when somebody asked for the table last */
    unsigned read_at;   /* file->schemas when the text of the stored table had this shape; or 0 */
    unsigned shapes;    /* how often the number of counters changed */
    struct ctr_tab *next;

    /* The ordinary table that it counts, or NULL. */
    struct ctr_tracked *tracked;
    void (*release_tracked)(struct ctr_tracked *);

    ctr_home home; /* owned; of a linked table */
    ctr_strays strays;
    bool displaces; /* the last new row found cells at its home: the next one looks first */
    struct {
        bool looked, any;          /* some row of a linked table may be away */
        unsigned version, schemas; /* tab->version and file->schemas then */
    } away;
    struct {
        bool is;                   /* the places hold, as for a row that is new */
        unsigned version, schemas; /* as above */
    } holds;
    unsigned relinked; /* the transaction that has marked rows, which may be rolled back; 0: none */

    bool writing; /* a row of it is being written */
    ctr_slot slots[CTR_TAB_STATEMENTS];
    bool keeps; /* it is one of the file's keepers */

    /* Memory. */
    ctr_amounts amounts; /* amounts that the cells lack, with those of the batch */
    ctr_cache cache;
    bool known;          /* memory is valid */
    uint64_t writes;     /* how often it may have changed in this transaction, or was dropped */
    bool untriggered;    /* the stored tables have no triggers */
    unsigned ready_at;   /* the file's version for which all is checked: ctr_tab_is_ready */
    const int64_t *only; /* the only row to be read, or NULL */
    int looks;           /* look-ups of one row while memory was not known */
    bool doubtful;       /* the file may be another one */
    unsigned version;    /* the data version of the file for which memory is valid */
    int64_t number;      /* of the table in those of the file, 0: not read yet; ctr_tab_number */
    unsigned numbered;   /* file->schemas when it was read */
    int64_t last;        /* the highest number in the journal, 0: it is empty */
    int64_t n_rows, n_entries; /* rows that have a group of it; its amounts and other changes */
    uint8_t id[CTR_ID_SIZE];   /* the id of the shards to which amounts belong */
    int64_t least;             /* the lowest clock under that id */

    struct ctr_registry *registry; /* owned; of a replicated table: table/columns.c */
    ctr_holders holders;           /* owned; of a table with a bounded counter */
    struct {
        bool looked, any;          /* some row of the tracked table may be apart */
        unsigned version, schemas; /* tab->version and file->schemas then */
    } apart;

    /* Of the current transaction: table/journal.c. */
    bool is_touched; /* it is in the list of such journals */
    struct ctr_tab *next_touched;
    ctr_entry *batch;
    size_t n, room;
    size_t n_appended;       /* the first entries of the batch that are in the file */
    ctr_journal_mark *marks; /* by the level of the savepoint */
    size_t n_marks, room_for_marks;
    bool appended;      /* this transaction appended to the file */
    bool folded;        /* what stands before what it carries over is to be removed */
    int64_t carried_at; /* the row that has what it carries over, 0: not appended yet */
} ctr_tab;

/* The changed rows of a table, read from its journal, each whole or by the parts that changed.
 *
 *     ctr_changes changes = {.parts = false};
 *     ctr_changes_read(&changes, tab, since);
 *     ctr_changes_latest(conn, &changes);      by row and part, each once, with its highest number
 *     sqlite3_free(changes.rows); */

/* Columns of statements on the journal; those on segments have the level in place of the mask. */
enum { CTR_JOURNAL_NUMBER, CTR_JOURNAL_TABS, CTR_JOURNAL_ENTRIES };
enum { CTR_SEGMENT_LEVEL = CTR_JOURNAL_TABS };

/* What a table has in the journal. */
typedef struct ctr_groups {
    ctr_tab *tab;
    int64_t number;   /* of the row */
    ctr_entries walk; /* the entries of the group */

    /* Private. */
    sqlite3_stmt *row;
    ctr_entries of_row;
    const struct ctr_index *index; /* or NULL: read from the file */
    size_t at, end;
    bool backwards;
} ctr_groups;

typedef struct ctr_changes {
    ctr_change_of_row *rows; /* owned: sqlite3_free */
    size_t n, room;
    bool parts;            /* set by the owner: parts are listed, not rows */
    const ctr_fed *except; /* set by the owner, borrowed: without what came by a line of this
                            * source up to this number or a lower one; NULL: all */
    const struct ctr_changes *only; /* private: the rows that are read, sorted; NULL: all */
} ctr_changes;

/* The journal of a file: for each table amounts that the cells lack, and the list of changed rows.
 *
 *     counter_journal(_seq INTEGER PRIMARY KEY, tabs INTEGER, entries BLOB)        core/entries.c
 *     counter_segments(tab, number, level, entries)
 *
 * A transaction appends one row, with a group for each table that it changed. Each table reads its
 * own groups alone.
 *
 * The state of a counter is its cell plus the amount of the journal, which belongs to the shard of
 * the file's id. An increment is noted in a batch in memory (table/journal.c), which is appended to
 * the journal. A fold moves amounts into the cells (table/changes.c). The state of a row is its row
 * cell with the stamps of the journal in the same way.
 *
 * Memory is only a cache of the file and of the batch. After a rollback it is dropped and read
 * again (ctr_journal_refresh), after one to a savepoint only if something was written since.
 *
 * Memory is valid while the data version of the file is the same. After commits of other
 * connections, their rows of the journal are read: amounts are added, rows whose cells were written
 * are forgotten, and after a fold all memory is dropped. If the last row that was read is gone, all
 * are read again.
 *
 * Numbers rise across all tables of a file. They follow the time in milliseconds times 4096, so
 * that they usually rise even after a file was restored. */

/* Numbers of journals are lower than this. */
#define CTR_JOURNAL_NUMBERS (INT64_MAX / 2)

/* The regular columns of a replicated table, and the row cells of its rows.
 *
 * A regular column is one of the tracked table that is neither key nor counter; the last write wins
 * (core/row_cell.c). <table>_cells has the row cell of each row in the column _row. counter_state
 * has, by kind:
 *
 *     'column'    a regular column: its number in row; the name by which files match their columns
 *                 in name; its present name in value, NULL if it is replicated no longer; its
 *                 generation in seq. Key and counters have the number -1
 *     'writer'    the number that row cells have in place of a replica id: the id in name, the
 *                 number in value. It holds for all tables of the file, and never changes
 *
 * Memory of both is a cache, dropped with that of the journal: that of writers may lack some that
 * other tables or connections have numbered since.
 *
 * The generation of a regular column is that of the counter of its name which had been dropped when
 * the column became a regular one; 0: there was none. Its stamps begin with it (core/core.h). */

/* A column by its number. */
typedef struct ctr_regular {
    char *name;  /* owned; between files */
    char *noted; /* owned; as last noted in the tracked table; NULL: it is replicated no longer */
    int64_t generation;
} ctr_regular;

typedef struct ctr_registry {
    ctr_regular *columns; /* owned: n, by number; a missing number has no names */
    int n;
    uint8_t (*writers)[CTR_ID_SIZE]; /* owned: the ids numbered 1, 2, ... */
    size_t n_writers, room_writers;
    size_t room;
    unsigned schemas; /* ctr_file.schemas when it was read */
    bool stale;       /* memory was dropped, and somebody may still use this: it is read again */
} ctr_registry;

/* The row at hand of one stored table, one after the other.
 *
 *     ctr_row_find_key(row, keys);                  row->found, row->states
 *     ctr_row_change(row, counter, &n, leader);     stages a change
 *     ctr_row_write(row, keys);                     writes what is staged
 *
 * Statements, triggers, merges and quorums end in ctr_row_write. Some functions read a row of the
 * table beside the one at hand.
 *
 * A merge needs the cells themselves, complete with the journal's amounts: `whole`. */

/* A staged change of a counter. */
typedef struct ctr_staged {
    enum { CTR_STAGED_NOTHING, CTR_STAGED_AMOUNT, CTR_STAGED_CELL } kind;
    int64_t n;           /* of an amount */
    size_t offset, size; /* of a cell; 0: it is emptied */
} ctr_staged;

/* What a join with the row of another file has made of a row. */
typedef struct ctr_join {
    bool was_live;               /* before */
    bool begins;                 /* it lives, in another life than this file knew */
    bool noted;                  /* `before` is that of the row at hand */
    ctr_summary *before, *after; /* owned: room, by counter */

    bool *taken;   /* owned; by regular column: its value is that of the other file */
    bool *apart;   /* owned; by regular column: both files had it when they began to replicate */
    bool asks;     /* some column is apart: its values are to be compared */
    bool replaces; /* a row of a later life has replaced the row, with its counters */
} ctr_join;

/* What a merge has changed in a counter of a row: the row whole, or the shards of a writer. */
typedef struct ctr_changed_cell {
    int counter, part;
} ctr_changed_cell;

typedef struct ctr_row {
    ctr_conn *conn;
    const ctr_shape *shape; /* borrowed */
    ctr_tab *tab;           /* borrowed */
    ctr_tab *sql;           /* whose statements are used: see ctr_row_reorder */
    bool whole;             /* set by the owner: finds whole cells, else only states */
    bool arrives;           /* set by the owner: new rows are to be shown in the tracked table */
    bool shows;             /* set by the owner: new rows are shown in the same statement, whose
                               triggers look for them in the cache */
    ctr_origin origin;      /* set by the owner: of what is written; at first CTR_MADE_HERE */
    const ctr_fed *fed;     /* set by the owner: by what it came with a feed; NULL: unknown */

    /* The row found last. */
    bool found;
    int64_t rowid;       /* of that row, or of a row just inserted */
    bool has_home;       /* of a linked table: the row was found in the tracked table */
    int64_t home;        /* at this row id */
    ctr_summary *states; /* by counter; untouched if nothing was found */
    ctr_cell *cells;     /* by counter, if `whole` */
    bool also_here;      /* a part of the staged change is made here, whatever `origin` says */
    bool packed;         /* `key` is its key, as in the cache */
    bool exact;          /* a row found by `key` has stored exactly this key */
    uint64_t hash;       /* of `key` */
    ctr_packed key;
    sqlite3_value **spelling; /* staged: new key values, equal to the old ones; NULL: none */
    const bool *stamped;      /* staged: a mask of regular columns; NULL: none */
    int n_stamped;
    ctr_row_cell stamps; /* of a replicated table: see ctr_row_stamps */
    bool has_stamps;
    bool live;     /* its row cell is live, as it was found; false: look */
    ctr_join join; /* of a tracked table: see ctr_row_open_joins */

    /* Private: statements, copies of the cells found, new cells by counter. */
    unsigned shapes; /* shape number of the journal when these were opened */
    bool writing;
    ctr_packed old, fresh, advanced;
    ctr_staged *staged, staged_stamps;
    int room_stamps;         /* for columns of `stamps` */
    sqlite3_value **values;  /* by counter: of the row being taken */
    ctr_changed_cell *parts; /* n_parts of the staged cells, if they come from elsewhere */
    size_t n_parts, room_parts;
} ctr_row;

/* SQLite's calls to the tables that have joined a transaction.
 *
 * SQLite makes each call to all of them, one after the other; the first does the work for all files
 * of the connection. The batches of journals are appended before a SAVEPOINT and before the commit,
 * and the attributes of the files are written after it. */

/* A table whose struct begins with this can use the functions below as methods of its module. */
typedef struct ctr_joined {
    sqlite3_vtab base;
    ctr_conn *conn; /* of the connection; borrowed from the module */
    bool told;      /* SQLite has begun this transaction with the table */
    unsigned round; /* the last one with the table; 0: none in this transaction */
} ctr_joined;

/* The rows of one stored table that match a plan, in its order.
 *
 *     ctr_stream_start(stream, plan, argv, true);
 *     while (ctr_stream_step(stream)) ... stream->statement stands on a row
 *     ctr_stream_close(stream);
 *
 * The columns of a row are its id and then the declared columns. Closing a stream returns its
 * statement to the table, which keeps the newest few for the next cursor.
 *
 * A plan is a text: for each argument an operator and a key position, a full stop, then the order:
 * for each column its direction and its key position.
 *
 *     "=0=1."        path = ? AND hour = ?                  the whole key
 *     "=0G1L1.+1"    path = ? AND hour >= ? AND hour <= ?   ORDER BY hour
 *     ".-0-1"        everything                             ORDER BY path DESC, hour DESC
 *
 *     ".#"              everything, but the unused key columns read NULL
 *
 * Operators are = > G(>=) < L(<=). Key positions are written as the character '0' + position, so a
 * plan serves the first CTR_STREAM_KEYS columns of a key. */

/* Columns of a row; those of the shape follow. */
enum { CTR_STREAM_ID, CTR_STREAM_COLUMNS };
enum { CTR_STREAM_KEYS = 64, CTR_STREAMS_KEPT = 8 };
#define CTR_STREAM_KEYLESS "#"

/* The statements of one stored table that no cursor uses now, each with its plan. */
typedef struct ctr_streams {
    ctr_conn *conn;
    const char *schema, *table; /* borrowed */
    const ctr_shape *shape;     /* borrowed; columns come in its order */
    int out;                    /* statements that cursors use */
    struct ctr_kept_scan {
        char *plan;
        sqlite3_stmt *statement;
    } kept[CTR_STREAMS_KEPT];
} ctr_streams;

/* Zero it first, except for `of`. */
typedef struct ctr_stream {
    ctr_streams *of;         /* borrowed */
    sqlite3_stmt *statement; /* NULL before the first start */
    char *plan;              /* its plan; owned */
    int64_t exact;           /* the row that came first; a second scan skips it */
    bool has_exact;
    bool looked, hides; /* its columns were checked; an authorizer hides some */
} ctr_stream;

/* Columns of a row; those of the shape follow, and the row cell of a replicated table. */
enum { CTR_WALK_ID, CTR_WALK_COLUMNS };

typedef enum ctr_walk_kind {
    CTR_WALK_ALL,
    CTR_WALK_FROM,         /* those with this row id or a higher one */
    CTR_WALK_ALL_NUMBERED, /* all, with their numbers */
    CTR_WALK_SINCE         /* rows changed with this number or a higher one, with numbers */
} ctr_walk_kind;

/* What is asked for of the changes of a table. */
typedef struct ctr_asked {
    int64_t since;
    bool parts;            /* which parts have changed */
    const ctr_fed *except; /* as that of ctr_changes */
    sqlite3_value **scope; /* borrowed: only rows whose first n_scope key columns are these */
    int n_scope;           /* 0: all */
} ctr_asked;

typedef struct ctr_walk {
    sqlite3_stmt *row;             /* its current row; lent by the slot */
    int64_t number;                /* of its last change; 0 if unknown */
    int64_t oldest;                /* of the part whose last change is the oldest; 0 if unknown */
    int origins;                   /* of its changes, a sum of ctr_origin; 0 if unknown */
    const ctr_change_of_row *told; /* n_told, by part: what has changed; NULL: unknown */
    size_t n_told;
    ctr_tab *of; /* borrowed */
    ctr_slot *slot;
    ctr_run run;
    ctr_walk_kind kind;
    int skips; /* rows of which all changes have this origin; set by the owner, at first 0 */
    ctr_changes changes;
    size_t at;
} ctr_walk;

/* An UPDATE that merges into rows of a stored table while SQLite writes them.
 *
 *     UPDATE t_cells SET n = coalesce(counter_joining(?2, 0), n)
 *      WHERE k = ?1 AND counter_joining(?2, _rowid_, k, n)
 *
 * Finding a row by one statement and writing it by another costs two searches and two statements.
 * Here the condition merges: it takes the row, calls `merge` to stage its new cells,
 * and is true if any is staged; then the assignments fetch the staged cells. One
 * statement merges many rows in the order of storage: it passes each to `merge`, until `merge`
 * returns false.
 *
 * The function fails in any other statement. ctr_update_open returns false if the host
 * forbids the function, or if the table has too many columns for it; then the caller finds and
 * writes rows one by one. */

/* Stages the new cells of the current row. `keys` is its key, in key order, if the statement passes
 * rows in the order of storage, else NULL. Returns false if the row is not the expected one: then
 * the statement does not write it and passes no other row. */
typedef bool ctr_update_merge(void *with, sqlite3_value **keys);

typedef struct ctr_update {
    ctr_row *row; /* borrowed; whole */
    ctr_update_merge *merge;
    void *with;
    ctr_slot *by_key, *behind;
    sqlite3_value **keys;   /* owned: room */
    bool in_order, stopped; /* the statement passes rows in order; it passes no more of them */
    bool pending;           /* a row is staged and not written yet */
    bool called;            /* false if an authorizer makes SQLite use NULL instead of a call */
    int n_written, n_fetched;
} ctr_update;

/* Counters that come and go.
 *
 * A name may be dropped and added again, here and elsewhere at once. So each counter of a table has
 * a generation, and generations of one name merge as the maximum:
 *
 *     0           no file has ever had it
 *     1, 3, 5 …   it is there; 1 is that of the declaration
 *     2, 4, 6 …   it was dropped
 *
 * The higher generation wins as a whole: counts of a lower one are gone, whichever file brings
 * them, and never mix with counts of a later one. In the same odd generation cells merge.
 * (Cassandra reserves the name of a dropped counter for ever instead, because its shards do not
 * distinguish the two: CASSANDRA-10063 and others.)
 *
 * counter_state lists the counters that were added or dropped by themselves, with their
 * generations. The stored column of a dropped counter is renamed to _dropped_<name> and emptied. */

/* A request to raise a counter to a generation, to bound it in that generation, or to note that
 * kinds have changed. */
typedef struct ctr_wanted {
    const char *name;   /* NULL: kinds */
    int64_t generation; /* of one to be bounded: the present one */
    bool bounded;
    int64_t emptied; /* the number of emptied cells, set when it is done */
} ctr_wanted;

/* Returns the request of such an INSERT, by its command; NULL for another command. */
#define CTR_WANTED "counter column"
static inline ctr_wanted *ctr_columns_wanted(sqlite3_value *command)
{
    return sqlite3_value_pointer(command, CTR_WANTED);
}

/* The floors of one counter table: rows below them are gone for good.
 *
 * A tombstone must stay, however old: a file may still bring the counter that it deleted. A floor
 * replaces all tombstones below it, because it refuses every row there. It is a value of one key
 * column, mostly of a time. It only rises. Floors merge as the maximum, in the order of the
 * column's affinity and collation. counter_state has those of a table as one packed key. */

typedef struct ctr_floors {
    ctr_tab *tab;           /* borrowed */
    const ctr_shape *shape; /* borrowed */
    bool only_reads;        /* set by the owner: asks for no identity */
    int64_t as_of;          /* identity.floors when `any` was read */
    bool any;
    bool looked; /* if `only_reads`: `any` is known; cleared when floors may have risen */
} ctr_floors;

/* Openings: the values that a table held when tracking began.
 *
 * counter_track counts these values under an id of its own, an opening: a UUID of version 8, made
 * for the call. So a cell tells which of its shards are openings. An opening never counts again.
 *
 * If two files track copies of one table, their openings are the same values twice. Nobody but the
 * user knows, so a tracked table does not show the sum of two openings until an answer says what
 * they are:
 *
 *     same    one stock, of which both files had a copy: in each cell only the greatest counts
 *     add     two stocks, which add up
 *
 * Answers are a set that only grows: edges between openings. They belong to pairs, not to tables,
 * for {a, b} and {c, d} may be two stocks. Openings that are joined by edges 'same' are a group;
 * within a group 'add' has no effect, and 'add' between two openings holds for their groups. After
 * each merge, in each group all openings of a cell but the greatest, by value and then by id,
 * become (clock 2, value 0). So the result does not depend on when an answer comes, and an answer
 * repairs values that were added up by mistake.
 *
 * An answer is stored, and travels, as 34 bytes:
 *
 *     byte 0    0xB1: an answer (high half) of format 1 (low half)
 *     byte 1    1: same, 2: add
 *     a, b      the two openings, 16 bytes each, the lower first
 *
 * or, in a table with a bounded counter (table/rights.c), who holds the rights of an opening:
 *
 *     byte 1    3
 *     a, b      the opening, and the id of the file that made it; 0: nobody
 *
 * An opening can also be joined with the name under which its table was born: with an id that every
 * file computes from that name, and no cell has.
 *
 * A row whose merged deletion is not shown begins its next life when the application writes it. Its
 * counters go on with what they show: under an opening that every file computes from table, key
 * and life, so that two files which revive one row do not add it up. Of two values under it the
 * greater one wins, by the rule for equal clocks. */

typedef enum ctr_answer_to { CTR_UNANSWERED, CTR_SAME, CTR_ADD, CTR_HELD } ctr_answer_to;

enum { CTR_ANSWER_SIZE = 2 + 2 * CTR_ID_SIZE };

/* The answers of one table. */
typedef struct ctr_openings {
    uint8_t *answers; /* owned: n of CTR_ANSWER_SIZE bytes each */
    size_t n, room;
    uint8_t *own;    /* owned: the ids of the openings that this file made */
    uint8_t *makers; /* owned: for each of them the id that the file had then */
    size_t n_own, room_own, n_makers, room_makers;

    /* Private: how many answers, from the first, are in order and grouped; the openings in those,
     * ascending by id, each with its group; and for the cell at hand its openings that count. */
    size_t n_grouped;
    struct opening_node *nodes;
    size_t n_nodes;
    ctr_shard *live;
    size_t n_live, room_live;
    ctr_packed decided; /* the ids of a cell whose openings are all answered */
} ctr_openings;

/* What a call of counter_replicate says of the values of regular columns: nothing; they win over
 * those that other files had when they began to replicate the table; they yield to those; or all
 * are written now, for a migration has changed them while the triggers did not run. */
typedef enum ctr_values_say {
    CTR_VALUES_NOTHING,
    CTR_VALUES_NEWEST,
    CTR_VALUES_OLDEST,
    CTR_VALUES_WRITTEN
} ctr_values_say;

/* The opening of a running call, in ctr_conn; its counter table takes values under it. */
typedef struct ctr_opening {
    const char *schema, *counters; /* borrowed */
    uint8_t id[CTR_ID_SIZE];
    const bool *opens; /* borrowed; by counter: its values are opening values */
    bool stamps;       /* of counter_replicate: rows without stamps get some */
    bool adds;         /* columns of a table that was replicated; then `values` is about these */
    ctr_values_say values;
    const bool *ended;    /* borrowed; by regular column: this file ended its counter */
    int n_ended;          /* of them are known */
    ctr_answer_to answer; /* about openings of other files that stand in the cells already */
    bool carries;         /* rows that have counts already need no opening: the key has changed */
    int64_t n;            /* values that were counted under the id */
    uint8_t *met;         /* owned: the ids of those openings */
    size_t n_met, room_met;
} ctr_opening;

/* ==== shape.c ================================================================================= */

/* Returns a list of SQL with an item for each column of a part of the shape: the keys in key order,
 * the counters, first these and then those, or all in declared order. In `item`, @ stands for
 * the quoted name of the column and # for its parameter: ?first, ?first+1, ... As all texts
 * here, it is one of ctr_text_print. */
const char *ctr_shape_list(ctr_conn *conn, const ctr_shape *shape, ctr_part part, const char *item,
                           const char *separator, int first);

/* Makes room for n columns. */
int ctr_shape_open(ctr_conn *conn, ctr_shape *shape, int n);

/* Appends a copied column; `key` is its position in the key, or -1 for a counter. Fails with
 * SQLITE_SCHEMA if there is no room, because the table has grown meanwhile; SQLite then tries
 * again. */
int ctr_shape_add(ctr_conn *conn, ctr_shape *shape, const char *name, const char *type,
                  const char *collation, int key);

/* Appends a dropped counter; copies the name. */
void ctr_shape_add_gone(ctr_conn *conn, ctr_shape *shape, const char *name, int64_t generation);

/* Copies the columns of a shape as if they were read for the first time: without generations. The
 * caller closes the copy, also after a failure. */
int ctr_shape_copy_columns(ctr_conn *conn, ctr_shape *shape, const ctr_shape *of);

/* Copies a shape, with its dropped counters. The caller closes the copy, also after a failure. */
int ctr_shape_copy(ctr_conn *conn, ctr_shape *shape, const ctr_shape *of);

/* Returns whether the two have the same columns, also those that are ours, and row ids of one kind.
 * Does not compare generations. */
bool ctr_shape_same_columns(const ctr_shape *a, const ctr_shape *b);

/* Return the counter of this name, or -1. The second ignores case. */
int ctr_shape_counter(const ctr_shape *shape, const char *name);
int ctr_shape_counter_like(const ctr_shape *shape, const char *name);

/* Returns the name of a counter by its number. */
const char *ctr_shape_counter_name(const ctr_shape *shape, int counter);

/* Lists present and then dropped counters: returns the name of number `i` and sets its generation;
 * NULL after the last. */
const char *ctr_shape_ever(const ctr_shape *shape, int i, int64_t *generation);

/* Returns the generation of a counter of this name, ignoring case, and sets its spelling here; 0
 * and NULL if there never was one. */
int64_t ctr_shape_generation(const ctr_shape *shape, const char *name, const char **spelling);

/* Returns the key in words, "path TEXT BINARY, hour INTEGER BINARY": names, affinities and
 * collations must agree between two files. */
const char *ctr_shape_key_text(ctr_conn *conn, const ctr_shape *shape);
const char *ctr_shape_affinity_name(ctr_affinity affinity);

/* Returns the clauses of a declaration with this shape. A table without counters cannot be
 * declared, so it gets a dropped one. */
const char *ctr_shape_declaration(ctr_conn *conn, const ctr_shape *shape);

/* Return lists of quoted names: the key columns in key order; the counters, or the word NULL if
 * there is none; all columns in declared order. */
const char *ctr_shape_key_list(ctr_conn *conn, const ctr_shape *shape);
const char *ctr_shape_counter_list(ctr_conn *conn, const ctr_shape *shape);
const char *ctr_shape_column_list(ctr_conn *conn, const ctr_shape *shape);

/* ---- lists for sql/rows.sql ------------------------------------------------------------------ */

/* Appends the row cell of a replicated table to a list: its name or, unless that is 0, its
 * parameter. */
const char *ctr_shape_with_row_cell(ctr_conn *conn, const ctr_shape *shape, const char *list,
                                    int parameter);

/* Returns how many columns of <table>_cells have states: the counters and the row cell. */
static inline int ctr_shape_states(const ctr_shape *shape)
{
    return shape->n_counters + shape->replicated;
}

const char *ctr_shape_key_match(ctr_conn *conn, const ctr_shape *shape);
const char *ctr_shape_update_changes(ctr_conn *conn, const ctr_shape *shape);

/* Frees everything; a second call does nothing. */
void ctr_shape_close(ctr_shape *shape);

/* Compares the keys and the counters of two tables.
 *
 * Keys must agree in name, order, affinity and collation. Otherwise two keys here could be one key
 * there, and a merge would mix their shards. Counters may be added and dropped (table/columns.c),
 * but a name must be spelled the same everywhere.
 */

/* Fails unless the keys agree, as a merge requires. `a` and `b` are the names of the two files in
 * messages. */
int ctr_shape_check_keys(ctr_conn *conn, const ctr_shape *one, const char *a, const ctr_shape *two,
                         const char *b);

/* The same; fails also unless both sides have each counter, in the same generation. */
int ctr_shape_check_same(ctr_conn *conn, const ctr_shape *one, const char *a, const ctr_shape *two,
                         const char *b);

/* Returns whether `shape` has a counter in this generation, and without a bound. */
bool ctr_shape_lacks_bound(const ctr_shape *shape, const char *name, int64_t generation);

/* Returns whether some counter of `from` has a higher generation than in `shape`, or a bound that
 * it lacks there. */
bool ctr_shape_is_behind(const ctr_shape *shape, const ctr_shape *from);

/* Returns the counter of this name and this generation, or -1. */
int ctr_shape_counter_of(const ctr_shape *shape, const char *name, int64_t generation);

/* Makes room for `size` more bytes after the present ones and returns it; NULL if there is no
 * memory. */
uint8_t *ctr_pack_room(ctr_conn *conn, ctr_packed *packed, size_t size);

/* The texts and blobs of a key together have at most so many bytes: a line has them twice, as JSON
 * up to six times as long (docs/batches.md). */
enum { CTR_KEY_BYTES_MOST = 1 << 18 };

/* Fails if a key, or floors, have more: this file could give nothing more by lines. */
int ctr_pack_refuse_large(ctr_conn *conn, sqlite3_value **values, int n);

/* Packs n values in place of the present bytes; a NULL becomes CTR_KEY_NOTHING. They may belong to
 * a statement's current row. */
int ctr_pack_values(ctr_conn *conn, ctr_packed *packed, sqlite3_value **values, int n);

/* Append a packed key: begin it, and add a value; NULL is nothing. */
void ctr_pack_begin(ctr_conn *conn, ctr_packed *packed);
void ctr_pack_append(ctr_conn *conn, ctr_packed *packed, sqlite3_value *value);

/* Returns whether SQLite has the collation by itself, so that keys under it can be folded. */
bool ctr_pack_folds(const char *collation);

/* Packs the key columns of a row, or floors, folded, in place of the present bytes. */
int ctr_pack_folded(ctr_conn *conn, ctr_packed *packed, const ctr_shape *shape,
                    sqlite3_value **keys);

/* Binds a value as a column would store it; the second borrows the bytes of a text until the
 * bindings are cleared. SQLite converts an integer to REAL when it stores it, not when it compares
 * it. */
int ctr_pack_bind_stored(ctr_conn *conn, sqlite3_stmt *statement, int i, const ctr_column *column,
                         sqlite3_value *value);
int ctr_pack_lend_stored(ctr_conn *conn, sqlite3_stmt *statement, int i, const ctr_column *column,
                         sqlite3_value *value);

/* Binds the key columns of a row, beginning at the parameter `first`. Returns an SQLite code. */
int ctr_pack_bind_keys(ctr_conn *conn, sqlite3_stmt *statement, int first, const ctr_shape *shape,
                       sqlite3_value **keys);

/* Binds the values of a checked key to the parameters of a statement, from the first on. */
int ctr_pack_bind(sqlite3_stmt *statement, const uint8_t *bytes, size_t size);
int ctr_pack_bind_value(sqlite3_stmt *statement, int i, const ctr_key_value *value); /* one */

/* Packed keys as JSON, for people and for scopes.
 *
 *     ["/",12]    a BLOB is {"hex":"00ff"}, a TEXT that is not valid UTF-8 {"text":"61ff"}, a
 *                 missing floor null, infinity 9e999 */

/* Appends a value as JSON; `exactly`: a REAL beyond 10^100 or below 10^-100 as its bytes,
 * {"real":"7fefffffffffffff"}, which ctr_key_json_take reads, too. */
void ctr_key_json_append(sqlite3_str *out, const ctr_key_value *value);
void ctr_key_json_append_exactly(sqlite3_str *out, const ctr_key_value *value);

/* Returns a checked packed key as JSON; NULL: no memory. The caller frees it with sqlite3_free. */
char *ctr_key_json_write(const uint8_t *key, size_t size);

/* Appends a checked value of JSON. Returns false if it is none of a key, or on error. */
bool ctr_key_json_take(ctr_packed *key, ctr_conn *conn, ctr_span value);

/* Packs the values of a JSON array in place of the present bytes, and sets their number. Returns
 * false if it is no array of values of a key, or on error. */
bool ctr_key_json_read(ctr_packed *key, int *n, ctr_conn *conn, const char *json);

/* ==== stored.c ================================================================================ */

/* Adds a new table with its birth name: its own name or that of its tracked table. Fails while
 * another table has this birth name. */
void ctr_catalog_add(ctr_conn *conn, const char *schema, const char *table, const char *birth);

void ctr_catalog_remove(ctr_conn *conn, const char *schema, const char *table);
void ctr_catalog_rename(ctr_conn *conn, const char *schema, const char *table, const char *to);

/* Look for the table with the birth name `birth`, or the present name `table`. Return false if
 * there is none, or on error. The caller closes the entry, also after a failure. */
bool ctr_catalog_born(ctr_catalog_entry *entry, ctr_conn *conn, const char *schema,
                      const char *birth);
bool ctr_catalog_named(ctr_catalog_entry *entry, ctr_conn *conn, const char *schema,
                       const char *table);

int ctr_catalog_copy(ctr_conn *conn, ctr_catalog_entry *entry, const ctr_catalog_entry *of);
void ctr_catalog_close_entry(ctr_catalog_entry *entry);

/* Reads the catalog in place of the present content. A file without one has no tables. The caller
 * zeroes it first, and closes it, also after a failure. */
void ctr_catalog_read(ctr_catalog *catalog, ctr_file *file);
void ctr_catalog_close(ctr_catalog *catalog);

/* Adds the table with this birth name, which was created since. */
void ctr_catalog_list_born(ctr_catalog *catalog, ctr_file *file, const char *birth);

/* Returns the table with this birth name, or NULL. */
const ctr_catalog_entry *ctr_catalog_find(const ctr_catalog *catalog, const char *birth);

/* Refuses stored tables on which a trigger or an authorizer of the user would act.
 *
 * A trigger on a stored table is foreign code that our writes would fire. An authorizer of the
 * connection may answer IGNORE: SQLite then reads NULL instead of a column, and leaves a column out
 * of an UPDATE. Counts would be lost without an error, so these functions fail before that. */

/* Refuse triggers on the stored tables of `table`; the second, for which that may be NULL, with
 * `of_file` also those on the ones of the file. */
void ctr_refuse_triggers(ctr_conn *conn, const char *schema, const char *table);
int ctr_refuse_triggers_among(const ctr_objects *objects, const char *table, bool of_file);

/* Fails because an authorizer hides columns of counter_state. */
int ctr_refuse_hidden_state(ctr_conn *conn);

/* The stored tables of a counter table.
 *
 * They say which keys and counters it has, not the text of CREATE VIRTUAL TABLE:
 *
 *     CREATE TABLE page_views_cells(
 *       _id INTEGER PRIMARY KEY,
 *       path TEXT COLLATE "BINARY" NOT NULL, hour INTEGER COLLATE "BINARY" NOT NULL,
 *       hits BLOB, bytes BLOB,
 *       UNIQUE(path, hour))
 *
 * Where a tracked table has an INTEGER PRIMARY KEY, its rows are found by that alone, and so are
 * the cells: the key is their row id, and there is no _id.
 *
 *     CREATE TABLE products_counters_cells("id" INTEGER PRIMARY KEY, "stock" BLOB)
 *
 * What else they know stands in tables of the file, with the number of the table in tab:
 *
 *     counter_state(tab, kind, row, name, value, seq, rows, bytes)           sql/schema.sql
 *     counter_requests(number, tab, id, at, text)                            sql/requests.sql
 *     counter_journal, counter_segments                                      the journal
 *
 * The columns of the UNIQUE constraint are the key, in its order; the other columns are counters,
 * each a cell or NULL. Names that begin with an underscore are ours. A stored table of any other
 * shape is damaged, and we refuse it before we use it. */

/* The stored tables of a counter table by their suffixes: "cells"; NULL at the end. */
const char *const *ctr_stored_suffixes(void);

/* Those of a file; of these, the ones in which each counter table has rows; NULL at the end. */
const char *const *ctr_stored_of_file(void);
const char *const *ctr_stored_shared(void);

/* Returns whether the latter are ordinary tables, without generated columns. */
bool ctr_stored_shares(const ctr_objects *objects);

/* Creates, drops and renames the stored tables. What a table has in those of the file is removed by
 * ctr_stored_forget, and by ctr_fold_drop what is in the journal. */
void ctr_stored_create(const ctr_shape *shape, ctr_conn *conn, const char *schema,
                       const char *table);
void ctr_stored_drop(ctr_conn *conn, const char *schema, const char *table);
void ctr_stored_rename(ctr_conn *conn, const char *schema, const char *table, const char *to);
void ctr_stored_forget(ctr_tab *tab);

/* The first returns whether a linked table lacks its index, because somebody has dropped it; the
 * second makes it then. */
bool ctr_stored_lacks_index(ctr_file *file, const char *table);
void ctr_stored_mend_index(ctr_file *file, const char *table);
void ctr_stored_refuse_no_index(ctr_tab *tab); /* fails because it is missing */

/* Fails with "the stored table counter_state is damaged: " and the two texts. */
int ctr_stored_damaged(ctr_conn *conn, const char *what, const char *name);

/* Reads the shape from the stored tables of `table`. Fails with SQLITE_CORRUPT_VTAB if they are
 * missing or damaged. The caller closes it, also after a failure. */
int ctr_stored_read(ctr_shape *shape, ctr_conn *conn, const char *schema, const char *table);

/* The same in two steps, for ctr_tab_read_shape: the columns, from the text of CREATE TABLE alone,
 * if that is the text we write (else returns false); the generations, from CTR_SQL_COLUMNS_ALL. */
bool ctr_stored_read_text(ctr_shape *shape, const ctr_objects *objects, const char *table);
void ctr_stored_read_generations(ctr_shape *shape, ctr_run *run, sqlite3_stmt *row);

/* Returns the name of the tracked table, as it was noted last, or NULL if there is none. The caller
 * frees it with sqlite3_free. */
char *ctr_stored_tracked(ctr_conn *conn, const char *schema, const char *counters);

/* Learns the columns by preparing a SELECT, which keeps no lock, for xConnect. The key columns are
 * those of `declared`. Copies `declared` if no stored table fits. ctr_stored_read checks the rest
 * and reads the generations. The caller closes the shape, also after a failure. */
int ctr_stored_describe(ctr_shape *shape, ctr_conn *conn, const char *schema, const char *table,
                        const ctr_shape *declared);

/* ==== tab.c =================================================================================== */

/* Returns the table of a file with this shape, lent as long as the file lives. Fails, with NULL,
 * without memory. It keeps its memory, unless the schema has changed since the last call. */
ctr_tab *ctr_tab_of(ctr_file *file, const char *table, const ctr_shape *shape);

/* Returns the table of this name if there is one already, or NULL. */
ctr_tab *ctr_tab_known(ctr_file *file, const char *table);

/* Reads the columns of a table, without generations, from the text of CREATE TABLE; a second time,
 * as long as the schema is the same, from memory. Returns false if only SQLite can read the text,
 * or on error; else the caller closes the shape. */
bool ctr_tab_read_columns(ctr_file *file, const char *table, ctr_shape *shape);

/* Reads the shape of a table with its generations; the caller closes it, also after a failure. */
int ctr_tab_read_shape(ctr_file *file, const char *table, ctr_shape *shape);

/* Returns the table with the shape that it has now, as ctr_tab_of does; NULL on error. */
ctr_tab *ctr_tab_read(ctr_file *file, const char *table);

/* Returns the number of the table in the stored tables of its file; 0 on error. */
int64_t ctr_tab_number(ctr_tab *tab);

/* Returns a run of statements on the table. `tab` may be NULL after an error. */
ctr_run ctr_tab_run(const ctr_tab *tab);

/* Takes a statement, which nobody else uses until it is given back. If it is taken already, because
 * the collation of a key runs SQL of the host, another one is prepared. NULL on error; `tab` may
 * then be NULL. */
ctr_slot *ctr_tab_take(ctr_tab *tab, ctr_tab_sql which);

/* The same for one on the tracked table, with its lists. Only the table that the ctr_tab knows has
 * kept ones. */
ctr_slot *ctr_tab_take_shown(ctr_tab *tab, ctr_tab_sql which, const struct ctr_tracked *tracked,
                             const ctr_slots *lists);

/* Takes what the table tracks now; releases the former. */
void ctr_tab_track(ctr_tab *tab, struct ctr_tracked *tracked, void (*drop)(struct ctr_tracked *));

/* Takes a statement of the file, with the table's number bound to :tab; ctr_file_give_back takes it
 * back. NULL on error; `tab` may then be NULL. */
sqlite3_stmt *ctr_tab_take_of(ctr_tab *tab, ctr_file_sql which);

/* Does so, binds as ctr_run_bind does, steps it once, and gives it back. */
void ctr_tab_do(ctr_tab *tab, ctr_file_sql which, const char *format, ...);

/* Gives a statement back: resets it and clears its bindings; NULL is harmless. After an error it is
 * finalized, for it may hide columns, as an authorizer wanted it. */
void ctr_tab_give_back(ctr_tab *tab, ctr_slot *slot);
void ctr_tab_drop(ctr_slot *slot); /* the same, and finalizes it */

/* Finalizes the statements that nobody has taken. */
void ctr_tab_release(ctr_tab *tab);

/* Returns whether the table is ready to be written: the identity of its file was checked, memory is
 * valid, and nobody else has triggers on the stored tables. It stays so as long as the write lock
 * is held and the version of the file is the same. Triggers that are made meanwhile are noticed
 * because SQLite prepares the statements that write again. */
static inline bool ctr_tab_is_ready(const ctr_tab *tab)
{
    return tab->ready_at == tab->file->version;
}

/* Call it for a table that was dropped or created, or is another one now: drops its statements,
 * and its memory unless it has a batch. */
void ctr_tab_forget(ctr_file *file, const char *table);

/* ==== home.c ================================================================================== */

/* Reads, once for a schema, how rows of the tracked table are found. Returns false if that table is
 * not known, or on error: then rows of the cells are found by reading all of them. */
bool ctr_home_is_known(ctr_tab *tab);
void ctr_home_forget(ctr_tab *tab); /* the schema may have changed */
void ctr_home_close(ctr_home *home);

/* Fills in what a statement of a linked table says of that, and sets another one to find a key. */
void ctr_home_slots(ctr_tab *tab, ctr_tab_sql which, ctr_slots *slots, ctr_sql *sql);

/* Returns whether a row may be away. */
bool ctr_home_any_away(ctr_tab *tab);
void ctr_home_note_away(ctr_tab *tab); /* some row is, from now on */

/* Fails if an authorizer hides the key of the tracked table. */
void ctr_home_refuse_hidden(ctr_tab *tab);

/* What is at a row id. */
typedef enum ctr_occupied { CTR_OCCUPIED_NOT, CTR_OCCUPIED_AWAY, CTR_OCCUPIED_HOME } ctr_occupied;
ctr_occupied ctr_home_occupied(ctr_tab *tab, int64_t rowid);

/* Returns a row id that no cells have; `in_table`: one above all of the cells and of the tracked
 * table, unless the highest is taken. */
int64_t ctr_home_free(ctr_tab *tab, bool in_table);

/* Returns whether all rows that are not away are at home, as ctr_home_relink has left them: with
 * this schema, so that no trigger was missing since; `numbers`: and in this file, whose rows SQLite
 * has not numbered anew. Then a row that was not found is not there. */
bool ctr_home_holds(ctr_tab *tab, bool numbers);

/* A merge that shows its rows at its end takes strays before it writes, and ends them when all are
 * shown: those that the table did not take are marked. Not for keys that the application
 * compares. */
void ctr_home_take_strays(ctr_tab *tab);
void ctr_home_end_strays(ctr_tab *tab);
void ctr_home_close_strays(ctr_tab *tab);

/* Adds a row; finds the row id of one with this key, behind number *at, or returns false. */
void ctr_home_add_stray(ctr_tab *tab, int64_t rowid, sqlite3_value **keys);
bool ctr_home_next_stray(ctr_tab *tab, sqlite3_value **keys, size_t *at, int64_t *rowid);

void ctr_home_remove(ctr_tab *tab, int64_t rowid); /* the cells at this row id */

/* Fails with SQLITE_CORRUPT_VTAB if two rows have one key, or one is not at home though all are
 * said to be. */
void ctr_home_check(ctr_row *row);

/* Marks all rows that are not at home, and joins rows of one key. */
void ctr_home_relink(ctr_tab *tab);

/* ==== row.c =================================================================================== */

/* The row found last leaves its place in the tracked table; it was inserted there, at this row id,
 * and is there still, if that is `sure`: other cells that are there are of no row. */
void ctr_row_leave(ctr_row *row);
void ctr_row_come_home(ctr_row *row, int64_t home, bool sure);

/* Looks for a row by reading all of them, if it was not found. */
int ctr_row_scan_key(ctr_row *row, sqlite3_value **keys);

/* Borrows the shape. The caller closes `row`, also after a failure. */
int ctr_row_open(ctr_row *row, ctr_file *file, const char *table, const ctr_shape *shape);
void ctr_row_close(ctr_row *row);

/* Call it after the columns of the shape were put into another order: from now on statements with
 * this order are used. */
void ctr_row_reorder(ctr_row *row);

/* Looks for the row with these key values, in key order. They may have any type: the columns'
 * affinity applies. Fails on a malformed cell, and names column and key. */
int ctr_row_find_key(ctr_row *row, sqlite3_value **keys);

/* The same for a key that the tracked table has, or just had, at this row id; `is_new`: its row was
 * inserted just now. */
int ctr_row_find_at(ctr_row *row, sqlite3_value **keys, int64_t home, bool is_new);

int ctr_row_find_rowid(ctr_row *row, int64_t rowid);

/* Looks for the row in memory alone, and returns whether it may still be written as a new one: it
 * is not there, and its key is stored as it is. `home`: its row id in the tracked table, or
 * NULL. */
bool ctr_row_may_be_new(ctr_row *row, sqlite3_value **keys, const int64_t *home);

/* Returns whether the table has no row. */
bool ctr_row_is_none_stored(ctr_row *row);

/* Acts as if no row was found. */
int ctr_row_find_none(ctr_row *row);

/* Takes the current row of a statement on the same table, its id, the columns of the shape and
 * perhaps the row cell, as if it were found. */
int ctr_row_take(ctr_row *row, sqlite3_stmt *stands);

/* ---- the row found last ---------------------------------------------------------------------- */

/* Returns the state of a counter of the row found last. */
ctr_summary ctr_row_state(const ctr_row *row, int counter);

/* Returns the row cell of the row found last, read at the first call; life 0 if none was found or
 * it has none. NULL on error, and if the table is not replicated. */
ctr_row_cell *ctr_row_stamps(ctr_row *row);

/* Returns whether that row lives: by its row cell, which is read only if nothing else says so; in a
 * table that is not replicated if one of its counters is live. */
bool ctr_row_is_live(ctr_row *row);

/* The values of a stored row: its cells with the amounts of the journal, its key.
 *
 * `row` lends the table and its journal. The row is any row of the table, not the one found last.
 */

/* Opens the cell in column i of a statement's current row, whose id is in column 0, with the
 * journal's amount added. It lives until the next one is opened. Fails on a malformed cell, and
 * names counter and key. */
int ctr_row_open_cell(ctr_row *row, sqlite3_stmt *stands, int i, int counter, ctr_cell *cell);

/* The same, but returns only life and sum, without any shard. */
int ctr_row_sum_cell(ctr_row *row, sqlite3_stmt *stands, int i, int counter, ctr_summary *summary);

/* Returns whether a statement's current row, whose columns begin at `first`, has the cells of the
 * row that `other` has found, whole. */
bool ctr_row_same_cells(ctr_row *row, sqlite3_stmt *stands, int first, const ctr_row *other);

/* Adds an amount of the journal to the cell of a counter, `size` bytes, 0: untouched. Writes the
 * result into `room`, after its bytes, and returns it: it lives until `room` is used again. *status
 * tells why it is impossible; then the result is a view of `bytes`. So it is without memory, with
 * CTR_OK and without the amount: ask ctr_rc. */
ctr_cell ctr_row_advance(ctr_tab *tab, const ctr_column *counter, const ctr_amount *amount,
                         const uint8_t *bytes, size_t size, ctr_packed *room, ctr_status *status);

/* Returns whether the row has exactly these key values; NULL matches any. */
bool ctr_row_has_key(ctr_row *row, int64_t rowid, sqlite3_value **keys);

/* Copies the key values of a row; the caller frees them with sqlite3_value_free, also after a
 * failure. Returns false if there is no such row, or on error. */
bool ctr_row_key_of(ctr_row *row, int64_t rowid, sqlite3_value **keys);

/* Returns the key of a row as a message shows it, ('/', 12); the caller frees it with sqlite3_free.
 * Returns NULL without memory, or if an error of reading the row made SQLite roll back; that error
 * is then the one at hand. */
char *ctr_row_key_text(ctr_row *row, int64_t rowid);

/* Adds "column hits of ('/', 12)" to the error at hand. */
void ctr_row_problem_at(ctr_row *row, int64_t rowid, int counter);

/* Changes of the counters of a found or missing row: staged, then written.
 *
 *     ctr_row_find_key(row, keys);
 *     ctr_row_change(row, counter, &n, leader); for each counter that changes
 *     ctr_row_write(row, keys);
 *
 * An increment and a write of regular columns of an existing row go to the journal
 * (table/journal.c), every other change to the cells, in one INSERT or UPDATE. Every refusal comes
 * before the write: inside a transaction, SQLite does not roll back half of the writes of a virtual
 * table. */

/* Changes what a counter shows by a difference, in the shard of the leader. Stages nothing and
 * returns CTR_DELETED or CTR_OVERFLOW if that is impossible. */
ctr_status ctr_row_change(ctr_row *row, int counter, const ctr_sum *difference,
                          const ctr_leader *leader);

/* Adds n to the cell itself: the leader is an opening (table/openings.c). */
ctr_status ctr_row_change_cell(ctr_row *row, int counter, int64_t n, const ctr_leader *opening);

/* Grants n of the right of this file to an id. Fails, or returns CTR_OVERFLOW, as
 * ctr_cell_grant. */
ctr_status ctr_row_grant(ctr_row *row, int counter, const uint8_t to[CTR_ID_SIZE], int64_t n,
                         const ctr_leader *leader);

/* Returns the cell of a counter of the row found last, read if need be, with what is staged for it:
 * that becomes a cell, too. It lives until something is staged, or another row is found. */
ctr_cell ctr_row_whole_cell(ctr_row *row, int counter);

/* Begins the next life of a counter, with n unless `leader` is NULL; deletes it. Both may return
 * CTR_LAST_LIFE. */
ctr_status ctr_row_next_life(ctr_row *row, int counter, int64_t n, const ctr_leader *leader);
ctr_status ctr_row_end_counter(ctr_row *row, int counter);

/* Returns room for a new cell, valid until the next call; NULL if there is no memory. ctr_row_set
 * makes its first `size` bytes the new cell of a counter. */
uint8_t *ctr_row_room(ctr_row *row, size_t size);
void ctr_row_set(ctr_row *row, int counter, size_t size);

/* Stages the spelling of the key of the row that was found: `keys` are equal to its values, and
 * perhaps other letters, blanks at the end, or 1.0 for 1. NULL: the value stays. Borrows them until
 * the row is written. */
void ctr_row_spell(ctr_row *row, sqlite3_value **keys);

/* Empties the counters of a row of a replicated table, which ends or begins a life. */
void ctr_row_empty(ctr_row *row);

/* Makes row->stamps the new row cell; numbers new writers (table/columns.c). */
int ctr_row_set_stamps(ctr_row *row);

/* Returns whether a row cell is staged. */
static inline bool ctr_row_sets_stamps(const ctr_row *row)
{
    return row->staged_stamps.kind != CTR_STAGED_NOTHING;
}

/* Stages a write of the regular columns in a mask, a bool for each of n, which is borrowed until
 * the row is written. Returns false if the clock is beyond the last number (core/row_cell.c): then
 * the row cell must be written. */
bool ctr_row_stamp(ctr_row *row, const bool *mask, int n);

/* Returns the state of a counter of the row with the staged change. */
ctr_summary ctr_row_staged_state(const ctr_row *row, int counter);

/* If a new cell was staged for a counter, opens it; it lives until the next find. */
void ctr_row_staged_cell(const ctr_row *row, int counter, ctr_cell *cell);

/* ---- joins ---- */

/* Makes room for the joins of the rows of a tracked table. */
void ctr_row_open_joins(ctr_row *row);

/* Joins the row cell of the row that was found, or is missing, with that of another file, which has
 * the regular column map[i] for my column i, or -1, and stages it; the counters of a row that is
 * replaced are emptied. Sets row->join. Call it before the cells are joined; if it returns
 * CTR_ROW_STAYS, also on error, they are not. */
ctr_row_outcome ctr_row_join(ctr_row *row, const ctr_row_cell *theirs, const int *map);

/* Sets row->join for a row whose row cell stays. */
void ctr_row_join_counters(ctr_row *row);

/* Joins a cell of the row with that of another file. Returns the result, which stands where
 * ctr_row_room begins; ctr_row_set_joined stages it, if it is another one, and returns whether
 * it is. */
ctr_cell ctr_row_join_cell(ctr_row *row, int counter, const ctr_cell *theirs);
bool ctr_row_set_joined(ctr_row *row, int counter, const ctr_cell *joined);

/* Note in row->join the counters of the row of a tracked table as they were found, and as they are
 * staged. */
void ctr_row_before(ctr_row *row);
void ctr_row_after(ctr_row *row);

/* Returns whether there is anything to write. */
bool ctr_row_is_staged(const ctr_row *row);

/* Inserts the row with `keys` if none was found, or changes the row that was found; then keys may
 * be NULL. */
int ctr_row_write(ctr_row *row, sqlite3_value **keys);

/* The same for a row that was not looked for. Returns false if it exists; then nothing changed. */
bool ctr_row_write_new(ctr_row *row, sqlite3_value **keys);

/* Fails because a row is being written, and a collation of the host writes another one. */
int ctr_row_refuse_writing(ctr_conn *conn);

/* ==== journal.c =============================================================================== */

/* Returns the number of a new stamp, or of a row of a journal: the time, in the unit of
 * core/row_cell.c, at most CTR_STAMP_LAST; or above + 1 if that is higher. The caller refuses a
 * stamp beyond CTR_STAMP_MAX. */
int64_t ctr_batch_stamp_number(int64_t above);

/* A hash table by row and counter. A journal may have many amounts, and a fresh connection reads
 * them all. So they are in one array, without an allocation for each.
 *
 * It has the stamps of regular columns, too: CTR_AMOUNT_COLUMNS + c is column c, and its amount
 * the number of the stamp. */

/* Returns the amount of a counter of a row, or NULL. */
ctr_amount *ctr_cache_find_amount(const ctr_amounts *amounts, int64_t row, int counter);

/* Makes room for n more; the next n calls of ctr_cache_add_amount cannot fail. */
int ctr_cache_expect_amounts(ctr_conn *conn, ctr_amounts *amounts, size_t n);

/* Finds or creates an amount. It is lent until the next call of ctr_cache_expect_amounts. */
ctr_amount *ctr_cache_add_amount(ctr_amounts *amounts, int64_t row, int counter);

/* Drops an amount, because its cell was written with it. */
void ctr_cache_drop_amount(ctr_amounts *amounts, int64_t row, int counter);

/* Drops all amounts, and frees the memory. */
void ctr_cache_clear_amounts(ctr_amounts *amounts);

/* Returns the hash of a packed key. */
uint64_t ctr_cache_hash(const uint8_t *key, size_t size);

/* Brings memory up to date. Call it while a statement of the connection stands on a row of the
 * schema, or within a transaction that has read the schema, because SQLite then keeps one snapshot.
 * Fails with SQLITE_CORRUPT_VTAB if the journal is damaged. */
int ctr_journal_refresh(ctr_tab *tab);

/* Returns the amount of a counter of a row in the journal, or (CTR_AMOUNT_COLUMNS + c) the stamp of
 * regular column c; NULL: none. */
static inline const ctr_amount *ctr_journal_amount(const ctr_tab *tab, int64_t row, int counter)
{
    const ctr_amount *amount = ctr_cache_find_amount(&tab->amounts, row, counter);
    return amount && amount->ticks > 0 ? amount : NULL;
}

/* Lists the rows with amounts or stamps, in ascending order; numbers are 0. The second counts the
 * amounts and stamps. */
int ctr_journal_list_amounts(const ctr_tab *tab, ctr_changes *list);
size_t ctr_journal_count_amounts(const ctr_tab *tab);

/* Drops memory; the batch must have been appended. */
void ctr_journal_drop(ctr_tab *tab);

/* Appends the batch and drops memory, which is read again when needed. */
void ctr_journal_read_again(ctr_tab *tab);

/* Entries of a transaction for a journal, in memory until they are appended.
 *
 *     ctr_batch_expect     before rows are written: makes room, so that the next two cannot fail
 *     ctr_batch_add        an increment
 *     ctr_batch_stamp      a write of regular columns
 *     ctr_batch_note       another change
 *     ctr_batch_flush_all  appends the batches of all tables of the file, as one row
 *
 * It is appended before the commit, before a SAVEPOINT, and before other code reads the stored
 * tables. The batch is a list. A savepoint records its length and the number of appended entries.
 * Entries before that mark never change, and a rollback cuts the list at the mark:
 *
 *     appended   not yet       of the running statement
 *     e  e  e  | e  e  e  e  | e  e
 *                            mark
 *
 * After a rollback, the journal drops its memory and reads it again, unless nothing was written
 * after the savepoint: rows that a table refuses are undone one by one.
 *
 * The stamps of regular columns have the number of their row of the journal, a hybrid logical
 * clock: it is drawn with the first of them in any table, and higher than all stamps in the cells
 * of the file. So the stamps in the cells need not be looked at. After a merge in the same
 * transaction, whose stamps may be higher, a new row begins with a higher number. A row that was
 * appended takes no stamps. */

/* Refuses to write if the write would run triggers. */
int ctr_batch_refuse_triggers(ctr_tab *tab);

/* Makes room for `n` entries, and appends the batches if this one has grown long. */
int ctr_batch_expect(ctr_tab *tab, int n);

/* Returns the number that the entries which follow will have. The write lock is held. 0 on
 * error. */
int64_t ctr_batch_number(ctr_tab *tab);

/* Makes this and all other connections drop their memory of the table. The caller has folded the
 * journal: amounts that stand in it would be lost. Returns the number of the change, or 0 on
 * error. */
int64_t ctr_batch_mark_change(ctr_tab *tab);

/* ---- all tables of a file that this transaction has written to, or is about to ---- */

/* Appends all batches as one row, or several if they are long, which may grow until the transaction
 * ends. The host's last_insert_rowid() is restored. */
int ctr_batch_flush_all(ctr_file *file);

/* ==== changes.c =============================================================================== */

/* Appends a change; a list that has become long is first reduced by ctr_changes_latest. */
int ctr_changes_add(ctr_conn *conn, ctr_changes *changes, const ctr_change_of_row *change);

/* Reads all changes with `since` or a higher number, in no order. */
void ctr_changes_read(ctr_changes *changes, ctr_tab *tab, int64_t since);

/* Sorts by row and part, ascending, and keeps each once, with its highest number and all its
 * origins. */
int ctr_changes_latest(ctr_conn *conn, ctr_changes *changes);

/* Fails with "counter_journal is damaged: row 5 is truncated"; the second with
 * "counter_segments ...". */
int ctr_changes_damaged(ctr_conn *conn, int64_t number, const char *what);
int ctr_changes_segment_damaged(ctr_conn *conn, int64_t number, const char *what);

/* Begins a walk through the groups of a row of the journal. */
void ctr_changes_open(ctr_entries *groups, sqlite3_stmt *stands);

/* Moves amounts of a journal into the cells.
 *
 * A fold writes each row with amounts once, in the order of storage. It turns the table's groups in
 * the journal into a segment of level 1: a list of changed rows, with numbers. If the journal has
 * grown too long, a commit folds only the rows that lie densest, and carries the other amounts
 * over, added up, into one new row of the journal:
 *
 *     groups of transactions          segment, level 1        group of a transaction
 *     +1 row 5, +1 row 9, +1 row 5    5, 9: with numbers      all folded; +2 row 5
 *
 * Here row 9 was folded into its cell; a few rows that change often stay in the journal.
 *
 * A commit folds the tables that it wrote, and of each either that or its segments are compacted
 * (table/changes.c). If the journal is twice too long, a commit also carries over what other tables
 * have in its oldest rows, and adds it up, without touching their cells; a table that cannot be
 * read stays as it is. Rows without a group that is still needed are removed.
 *
 * A fold runs in the current transaction. If it fails half-way, with amounts both in the cells and
 * in the journal, it spoils the transaction (ctr_conn_spoil). */

/* Appends the batch and folds the whole journal. If this transaction has not checked the identity,
 * the id is read from the file. */
int ctr_fold_table(ctr_tab *tab);

/* The same, and compacts segments even if there is nothing to fold. */
int ctr_fold_optimize(ctr_tab *tab);

/* Folds the journal of several tables: each, then finish for the file. */
int ctr_fold_begin(ctr_tab *tab);
int ctr_fold_finish(ctr_file *file);

/* Removes what a table has in the journal, before it is dropped. */
void ctr_fold_drop(ctr_tab *tab);

/* ==== events.c ================================================================================ */

/* Only sync and savepoint can fail; SQLite rolls back if sync fails. Commit ignores a failed write
 * of an attribute, because a file may be ahead of its attribute. */
int ctr_events_begin(sqlite3_vtab *base);
int ctr_events_sync(sqlite3_vtab *base);
int ctr_events_commit(sqlite3_vtab *base);
int ctr_events_rollback(sqlite3_vtab *base);
int ctr_events_savepoint(sqlite3_vtab *base, int level);
int ctr_events_release(sqlite3_vtab *base, int level);
int ctr_events_rollback_to(sqlite3_vtab *base, int level);

/* Call it before a row is written while SQLite calls no table in this transaction: it adds a table
 * that the transaction creates to its list without xBegin, calls it at the end, but for savepoints
 * only after a new one has begun. counter_witness joins instead, which locks main. */
void ctr_events_witness(ctr_joined *joined);

/* Call it before the table is dropped, if the transaction has counted in it: if SQLite calls no
 * other table, counter_witness joins, as above. The table itself stays joined until the DROP is
 * done: while no table is joined, the state for savepoints is dropped. */
void ctr_events_pass_on(ctr_joined *joined);
void ctr_events_leave(ctr_joined *joined);

/* Writes ahead what the end of the transaction would write, so that it does not fail there: if a
 * RELEASE is interrupted, SQLite leaves the savepoint in a state that no statement can repair until
 * the interrupt ends. Appends the batches, and folds the tables whose journals have grown. If no
 * table has joined the transaction, the checks of identities are forgotten. */
void ctr_events_write_ahead(ctr_conn *conn);

/* Appends all batches to the journals (table/journal.c), in all files. */
void ctr_events_append(ctr_conn *conn);

/* Returns the hooks of counter tables for a change of the identity of their file. */
const ctr_file_tables *ctr_events_tables(void);

/* ==== stream.c ================================================================================ */

/* Finalizes the kept statements. */
void ctr_stream_release(ctr_streams *streams);

/* Returns whether the comparisons of the plan with these arguments mean the same on the stored
 * columns as in the statement. They may differ: a TEXT column may compare a number with texts. */
bool ctr_stream_is_exact(const ctr_shape *shape, const char *plan, sqlite3_value **argv);

/* Starts a scan. If `all`, it uses all arguments, else only the exact ones, and skips the row that
 * came first, if there was one. */
void ctr_stream_start(ctr_stream *stream, const char *plan, sqlite3_value **argv, bool all);

/* Steps to the next row. Returns false at the end, or on error. */
bool ctr_stream_step(ctr_stream *stream);

/* Ends the scan. The stream may be started again. */
void ctr_stream_close(ctr_stream *stream);

/* Returns whether the plan begins with an operator and its key position. */
bool ctr_stream_plan_has_argument(const char *plan);

/* The rows of a stored table: all, or those changed since a number.
 *
 *     ctr_stream_walk_open(&walk, rows, CTR_WALK_SINCE, since);
 *     while (ctr_stream_walk_next(&walk))
 *         value = sqlite3_column_value(walk.row, CTR_WALK_COLUMNS + i);
 *     ctr_stream_walk_close(&walk);
 *
 * Rows come in the order of storage, because no collation of another file is trusted. The journal
 * of the table lists the changed rows and their numbers. A cell is complete only after
 * ctr_row_open_cell (table/row.c).
 */

/* The caller closes the walk, also after a failure, before the rows. */
void ctr_stream_walk_open(ctr_walk *walk, ctr_row *row, ctr_walk_kind kind, int64_t since);

/* The same for what is asked for: all rows if `since` is 0, else those that have changed; with
 * numbers. The columns of a scope are compared as SQLite compares them. */
void ctr_stream_walk_open_asked(ctr_walk *walk, ctr_row *row, const ctr_asked *asked);

bool ctr_stream_walk_next(ctr_walk *walk);
void ctr_stream_walk_close(ctr_walk *walk);

/* Registers the function counter_joining. */
int ctr_update_register(sqlite3 *db, ctr_conn *conn);

/* Returns false, without an error, if the function cannot be used. The caller closes the update,
 * also after a failure. */
bool ctr_update_open(ctr_update *update, ctr_row *row, ctr_update_merge *merge, void *with);
void ctr_update_close(ctr_update *update);

/* Merges into the row with this key. Returns whether it was written. row->found says whether the
 * row exists, if update->called. */
bool ctr_update_key(ctr_update *update, sqlite3_value **keys);

/* Merges into some of the rows behind `rowid`. Returns the number of written rows. row->rowid is
 * the last row that was passed to `merge`, if row->found. */
int ctr_update_behind(ctr_update *update, int64_t rowid);

/* ==== columns.c =============================================================================== */

/* Returns the columns and writers, lent until they are asked for again after memory was dropped.
 * Fails, with NULL, with SQLITE_CORRUPT_VTAB if they are damaged. Forget drops memory; close frees
 * it. */
const ctr_registry *ctr_regular_of(ctr_tab *tab);
void ctr_regular_forget(ctr_tab *tab);
void ctr_regular_close(ctr_tab *tab);

/* Returns whether a column ever had this name between files, also one that is replicated no longer,
 * and has not become a counter since, which has the higher generation `generation`; 0: none. */
bool ctr_regular_was_named(const ctr_registry *registry, const char *name, size_t size,
                           int64_t generation);

/* Returns the number of the column with this name, or -1; upper and lower case are the same. */
int ctr_regular_named(const ctr_registry *registry, const char *name, size_t size);

/* Notes a new column, its present name, or (NULL) that it is replicated no longer, and its
 * generation unless a higher one is noted. Drops memory. */
void ctr_regular_note(ctr_tab *tab, int number, const char *birth, const char *name,
                      int64_t generation);

/* Notes that a column has this generation, unless it has a higher one: what is written from now on
 * is of it. Drops memory. */
void ctr_regular_learn(ctr_tab *tab, int number, int64_t generation);

/* Makes room in `cell` for the columns of the table, and empties it. `room` counts the columns that
 * it has room for, 0 at first. The caller frees cell->columns with sqlite3_free. Returns false on
 * error, and if the table is not replicated: then its rows have no row cells. */
bool ctr_regular_room(ctr_tab *tab, ctr_row_cell *cell, int *room);

/* Reads the row cell of a row, with the stamps of the journal, into `cell`, as ctr_regular_room
 * leaves it; life 0: there is none. Fails with SQLITE_CORRUPT_VTAB if it is damaged. */
int ctr_regular_read(ctr_tab *tab, int64_t rowid, ctr_row_cell *cell);

/* The same for the current row of a statement that finds or walks rows. */
int ctr_regular_take(ctr_tab *tab, sqlite3_stmt *stands, ctr_row_cell *cell);

/* Raises the stamps of the columns in the mask, a bool for each, that the file has just written, to
 * their generations here; NULL: of all columns. */
void ctr_regular_raise(ctr_tab *tab, ctr_row_cell *cell, const bool *mask);

/* Returns how many columns a counter table can have: SQLite limits them, and parameters. */
int ctr_columns_most(ctr_conn *conn);

/* Fails if the table cannot have a counter of this name: it is the name of a key column or of the
 * table, differs only in case from the name of a counter that is or was here, or exceeds a limit of
 * SQLite. The caller has refused reserved names. */
int ctr_columns_check(const ctr_shape *shape, ctr_conn *conn, const char *table, const char *name);

/* Returns whether this file ended a counter itself, and has not made the column regular since. */
bool ctr_columns_has_ended(ctr_tab *tab, const char *name);

/* Lists the counters that `from` lists, in a new table with the same counters, so that its feed has
 * the same rows for them. */
void ctr_columns_list(ctr_file *file, const char *table, const ctr_shape *from);

/* Raises a counter to `generation`, which is higher than its generation in `shape`. The caller has
 * just read `shape` from the table, and has checked a new name. Afterwards the shape and statements
 * on the table are out of date. Returns the number of emptied cells.
 *
 * A failure after the first write spoils the transaction. */
int64_t ctr_columns_raise(ctr_file *file, const char *table, const ctr_shape *shape,
                          const char *name, int64_t generation);

/* Bounds a counter of `shape` (table/rights.c), in the same way: memory of all connections and the
 * schema change, so that each of them learns it. */
void ctr_columns_bind(ctr_file *file, const char *table, const ctr_shape *shape, const char *name);

/* Notes that a column or the table has become another kind: a reader refuses lines from before. */
void ctr_columns_change_kinds(ctr_file *file, const char *table, const ctr_shape *shape);

/* Raises a counter, or bounds it in that generation, as a command to the table: an INSERT passes it
 * as a pointer, which no SQL text can name. A pull needs it, because it is a statement that reads,
 * and an interrupt undoes everything only if the running statement writes. Return the number of
 * emptied cells. */
int64_t ctr_columns_ask(ctr_conn *conn, const char *schema, const char *table, const char *name,
                        int64_t generation);
void ctr_columns_ask_bound(ctr_conn *conn, const char *schema, const char *table, const char *name);
void ctr_columns_ask_kinds(ctr_conn *conn, const char *schema, const char *table);

/* ==== floors.c ================================================================================ */

ctr_floors ctr_floors_on(ctr_tab *tab, const ctr_shape *shape);

/* Returns whether a key with these values, in key order, is below a floor. Costs next to nothing if
 * the file has no floors. */
bool ctr_floors_is_below(ctr_floors *floors, sqlite3_value **keys);

/* Raises floors where `values`, in key order, are higher, and removes the rows below. NULL values
 * raise nothing. Refuses values of another kind than the column, because a text is above all
 * numbers and would remove all of them; and texts under BINARY in a file in UTF-16. Returns the
 * number of removed rows.
 *
 * Folds the journal first, because a removed row must have no amounts in it. A failure after the
 * first write spoils the transaction. */
int64_t ctr_floors_raise(ctr_floors *floors, sqlite3_value **values);

/* Returns the statement of CTR_TAB_FLOORS if the table has floors, at their row, else NULL. The
 * caller gives it back, and has read the shape, which checks that counter_state is an ordinary
 * table. Fails with SQLITE_CORRUPT_VTAB if they are damaged. */
ctr_slot *ctr_floors_read(ctr_tab *tab);

/* ==== openings.c ============================================================================== */

/* Makes a new opening, at random. */
void ctr_openings_new(uint8_t id[CTR_ID_SIZE]);

/* Writes the opening that all files compute from the name under which a table was born; the case of
 * ASCII letters does not matter. Fails with SQLITE_NOMEM. */
void ctr_openings_of_birth(ctr_conn *conn, const char *birth, uint8_t id[CTR_ID_SIZE]);

/* Writes the opening that all files compute for a life of a row, with its key packed and folded:
 * each file may spell it in its own way. */
void ctr_openings_of_life(ctr_conn *conn, const char *birth, const ctr_packed *key, uint32_t life,
                          uint8_t id[CTR_ID_SIZE]);

/* Writes an answer about two openings, which differ. */
void ctr_openings_write(uint8_t out[CTR_ANSWER_SIZE], const uint8_t *a, const uint8_t *b,
                        ctr_answer_to answer);

/* Writes who holds the rights of an opening, NULL: nobody; reads it, and returns false for another
 * answer. */
void ctr_openings_write_holder(uint8_t out[CTR_ANSWER_SIZE], const uint8_t *opening,
                               const uint8_t *holder);
bool ctr_openings_holder(const uint8_t answer[CTR_ANSWER_SIZE], uint8_t opening[CTR_ID_SIZE],
                         uint8_t holder[CTR_ID_SIZE]);

/* Return whether some answer says that the opening is the same as another one, and who holds it. */
bool ctr_openings_is_held(const ctr_openings *openings, const uint8_t id[CTR_ID_SIZE]);
bool ctr_openings_is_same(const ctr_openings *openings, const uint8_t id[CTR_ID_SIZE]);

/* Fails with SQLITE_CORRUPT_VTAB if the bytes are no answer. */
int ctr_openings_check(ctr_conn *conn, const void *bytes, size_t size);

/* Lists the answers of a table with the number `since` or a higher one, without any groups. The
 * caller closes it, also after a failure. */
void ctr_openings_list(ctr_openings *openings, const ctr_tab *tab, int64_t since);

/* Reads all answers of a table, and which openings this file made. The caller closes it, also after
 * a failure. */
void ctr_openings_read(ctr_openings *openings, const ctr_tab *tab);
void ctr_openings_close(ctr_openings *openings);

/* Adds an answer. Returns whether it is new. Groups are made when they are next needed, so that
 * many answers one after the other do not cost the square of their number. */
bool ctr_openings_add(ctr_conn *conn, ctr_openings *openings,
                      const uint8_t answer[CTR_ANSWER_SIZE]);

/* Returns whether this file made the opening. */
bool ctr_openings_is_own(const ctr_openings *openings, const uint8_t id[CTR_ID_SIZE]);

/* Walk and count the openings in the cell that count, as ctr_cell_next walks its shards. */
bool ctr_openings_next(const ctr_cell *cell, size_t *at, ctr_shard *shard);
size_t ctr_openings_count(const ctr_cell *cell);

/* Writes the cell reduced: in each group of openings only the greatest counts. Returns false if
 * that changes nothing, or on error. Needs cell->size bytes. */
bool ctr_openings_reduce(ctr_conn *conn, ctr_openings *openings, const ctr_cell *cell, uint8_t *out,
                         size_t *size);

/* Returns whether two openings of the cell that count are unanswered, and sets them. They point
 * into the cell. */
bool ctr_openings_unanswered(ctr_conn *conn, ctr_openings *openings, const ctr_cell *cell,
                             ctr_shard pair[2]);

/* Returns the call of counter_opening that gives an answer about an opening and, unless it is NULL,
 * a second one. The caller frees it with sqlite3_free; NULL: no memory. */
char *ctr_openings_call(const char *table, const char *answer, const uint8_t *other,
                        const uint8_t *second);

/* Records an opening that was made now, with the id of this file. */
void ctr_openings_record(ctr_run *run, const uint8_t id[CTR_ID_SIZE],
                         const uint8_t file[CTR_ID_SIZE]);

/* Records a new answer, with the number of the change that brings it. */
void ctr_openings_record_answer(ctr_run *run, const uint8_t answer[CTR_ANSWER_SIZE],
                                int64_t number);

/* ---- while counter_track counts -------------------------------------------------------------- */

/* Notes an opening that stands in a cell already. */
void ctr_openings_meet(ctr_conn *conn, ctr_opening *opening, const uint8_t id[CTR_ID_SIZE]);

/* ==== rights.c ================================================================================ */

/* Reads the rights to a cell, in place of those that `rights` has. */
int ctr_rights_read(ctr_rights *rights, ctr_tab *tab, const ctr_cell *cell);
void ctr_rights_close_list(ctr_rights *rights);

/* Returns the right of an id; 0 if it is not listed. */
ctr_sum ctr_rights_find(const ctr_rights *rights, const uint8_t id[CTR_ID_SIZE]);

/* Returns what all others than `mine` may take; debts are not set off. */
ctr_sum ctr_rights_of_others(const ctr_rights *rights, const uint8_t mine[CTR_ID_SIZE]);

/* Returns what the file may take of a cell beside the value of its own shard. */
int64_t ctr_rights_beside(ctr_tab *tab, const ctr_cell *cell);

/* Returns whether nobody can use what an id holds: it is 0, or an opening of unknown make. */
bool ctr_rights_is_lost(const uint8_t id[CTR_ID_SIZE]);

/* A walk over the bounded counters of a table, row by row. */
typedef struct ctr_rights_walk {
    ctr_row *row;      /* borrowed */
    ctr_walk rows;     /* stands on the row at hand */
    int counter;       /* the one at hand */
    ctr_rights rights; /* to it */
} ctr_rights_walk;

/* The caller closes the walk, also after a failure, before the rows. */
void ctr_rights_walk_open(ctr_rights_walk *walk, ctr_row *row);
bool ctr_rights_walk_next(ctr_rights_walk *walk);
void ctr_rights_walk_close(ctr_rights_walk *walk);

/* Fails if the counters of a file cannot have a bound: the successor of a file with a name would
 * take again what the lost file has taken. */
int ctr_rights_refuse_bound(ctr_file *file, const char *counter);

/* Fails if this file may take anything of a bounded counter of any of its tables: a drop would give
 * it another id, which holds nothing. Judges first who the file is. */
int ctr_rights_refuse_new_id(ctr_file *file);

/* Drop what memory has of openings; the second frees it. */
void ctr_rights_forget(ctr_tab *tab);
void ctr_rights_close(ctr_tab *tab);

/* =================================================================================================
 * Only files of this folder use what follows.
 */

/* ==== shape.c ================================================================================= */

/* Columns of a find: the row id, then those of the shape. */
enum { CTR_FIND_ROWID, CTR_FIND_COLUMNS };

/* Parameters of a write: the key of a new row, or the row id of an existing one; then the
 * counters, and the row cell of a replicated table. */
enum { CTR_INSERT_KEYS = 1, CTR_UPDATE_ROWID = 1, CTR_UPDATE_COUNTERS };

/* Returns the parameter of an INSERT for the row id of a linked table; the next is for _away. */
static inline int ctr_row_id_parameter(const ctr_shape *shape)
{
    return CTR_INSERT_KEYS + shape->n_columns + shape->replicated;
}

/* Returns whether a packed key has exactly these values; NULL: any. */
bool ctr_pack_has(ctr_conn *conn, const uint8_t *bytes, size_t size, sqlite3_value **keys, int n);

/* ==== stored.c ================================================================================ */

/* Fails because a column that is not NULL reads as NULL. */
int ctr_refuse_hidden(ctr_conn *conn, const char *table);

/* Returns whether an authorizer hides the row id, a counter, or with `keys` a key column from a
 * statement that reads the row id and the columns of the shape. */
bool ctr_refuse_is_hiding(const ctr_shape *shape, sqlite3_stmt *row, bool keys);

/* Checks a statement of the table that reads the row id and all columns, and notes that in its
 * slot. Fails if an authorizer hides one. */
void ctr_refuse_hidden_by(ctr_slot *slot, const ctr_tab *tab);

/* Fail if an authorizer of the host answers IGNORE, so that SQLite would leave out a column: those
 * of a journal row that is changed; a cell that is read or written. */
void ctr_refuse_ignored_entries(const ctr_file *file);
void ctr_refuse_ignored_columns(const ctr_tab *tab, const ctr_shape *shape);

/* ==== tab.c =================================================================================== */

/* Returns a table that has only statements, with the columns in another order. Fails, with NULL,
 * without memory. The caller frees it with ctr_tab_free. */
ctr_tab *ctr_tab_reordered(const ctr_tab *tab, const ctr_shape *shape);
void ctr_tab_free(ctr_tab *tab);

/* ==== row.c =================================================================================== */

/* Takes the arguments of the function in table/stream.c, the row id and the columns of the shape,
 * as if the row were found. The cells are whole. */
int ctr_row_take_values(ctr_row *row, sqlite3_value *rowid, sqlite3_value **columns);

/* ---- for table/stream.c ---------------------------------------------------------------------- */

/* Binds the values of a key, from the first parameter on. It borrows the caller's texts instead of
 * copying them. */
int ctr_row_lend_keys(ctr_row *row, sqlite3_stmt *statement, sqlite3_value **keys);

/* Notes the staged cells in the batch, before an UPDATE (table/stream.c) writes them. */
int ctr_row_note(ctr_row *row);

/* ==== journal.c =============================================================================== */

/* The counter of a slot that is not used. */
#define CTR_AMOUNT_UNUSED UINT32_MAX

enum { CTR_AMOUNT_COLUMNS = 1 << 20 };

/* Sets the stamp of a regular column of a row, which the caller has made room for; the highest
 * number stays. The second returns whether a row has stamps; the third drops them. */
ctr_amount *ctr_cache_set_stamp(ctr_amounts *amounts, int64_t row, int column, int64_t number);
bool ctr_cache_has_stamps(const ctr_amounts *amounts, int64_t row);
bool ctr_cache_drop_stamps(ctr_amounts *amounts, int64_t row);

/* Adds an amount to a state with the shard to which it belongs; `least` is the lowest clock of that
 * shard. Returns CTR_OUT_OF_RANGE if the amount cannot belong to this state. */
ctr_status ctr_cache_advance(ctr_summary *state, const ctr_amount *amount, int64_t least);

/* Rows of the table: the key, and the state of each counter, with the journal's amounts.
 *
 *     by id, by key    -> the same rows; a key as the row stores it
 *
 * A cached row can be read and counted in without a statement. Any row may be dropped at any time;
 * rows that were not used recently are dropped to stay within CTR_CACHE_BYTES. */

/* The most bytes for the rows of one table in one connection. */
#ifndef CTR_CACHE_BYTES
#define CTR_CACHE_BYTES (16 << 20)
#endif

/* After this number of missed look-ups, other rows are read ahead. */
#ifndef CTR_CACHE_MISSED
#define CTR_CACHE_MISSED 4096
#endif

/* Return the row, or NULL if there is none. */
ctr_known_row *ctr_cache_row(const ctr_cache *cache, int64_t id);
ctr_known_row *ctr_cache_key(ctr_cache *cache, uint64_t hash, const uint8_t *key, size_t size);

/* Adds a new row, with copies of its key and its states; may drop other rows. Returns it, or NULL
 * without memory or room. */
ctr_known_row *ctr_cache_add(ctr_cache *cache, int64_t id, uint64_t hash, const uint8_t *key,
                             size_t size, const ctr_summary *states);

/* Drops a row, if it is cached. */
void ctr_cache_forget(ctr_cache *cache, int64_t id);

/* Drops all rows, and frees their memory. */
void ctr_cache_clear(ctr_cache *cache);

/* The limits beyond which a commit shortens a journal: amounts and other changes of a table; rows.
 * */
#ifndef CTR_JOURNAL_AMOUNTS
#define CTR_JOURNAL_AMOUNTS 65536
#endif
#ifndef CTR_JOURNAL_ROWS
#define CTR_JOURNAL_ROWS 4096
#endif

/* Walks what a table has in the journal, from a number on, or backwards from the end. A fault is an
 * error. The caller closes it, also after a failure.
 *
 *     ctr_groups_open(&groups, tab, since, false);
 *     while (ctr_groups_next(&groups)) groups.number, groups.walk */
void ctr_groups_open(ctr_groups *groups, ctr_tab *tab, int64_t since, bool backwards);
bool ctr_groups_next(ctr_groups *groups);
void ctr_groups_close(ctr_groups *groups);

/* Frees the index of the journal of a file. */
void ctr_index_free(ctr_file *file);

/* Brings memory up to date for one row alone: memory then has only this row. So a fresh connection
 * answers its first look-up without a table of all amounts. */
int ctr_journal_refresh_row(ctr_tab *tab, int64_t row);

/* Returns the number of entries that are not in the file yet. */
static inline size_t ctr_batch_pending(const ctr_tab *tab)
{
    return tab->n - tab->n_appended;
}

/* Returns whether the current transaction has entries in the journal, or for it. Then no other
 * transaction has, because a transaction with entries in the file holds the write lock. */
static inline bool ctr_batch_is_ahead(const ctr_tab *tab)
{
    return ctr_batch_pending(tab) > 0 || tab->appended;
}

/* Does as ctr_batch_refuse_triggers for a statement that was just prepared, or prepared again:
 * there may be new triggers. */
int ctr_batch_refuse_triggers_anew(ctr_tab *tab);

/* Notes an increment of a counter of a row by n: one tick of its clock. */
void ctr_batch_add(ctr_tab *tab, int64_t row, int counter, int64_t n);

/* Notes a write of the regular columns in a mask, a bool for each of n, with that number. */
void ctr_batch_stamp(ctr_tab *tab, int64_t row, const bool *mask, int n);

/* Returns what brought changes, to be noted with them; it stays until the transaction ends. NULL
 * without memory. The second forgets all of them. */
const ctr_fed *ctr_batch_fed(ctr_file *file, const ctr_fed *fed);
void ctr_batch_forget_fed(ctr_file *file);

/* Notes that a row is new, or a part of it has changed; that the cell of a counter was written,
 * which drops the row from memory, or the row cell; or that all memory is out of date. */
void ctr_batch_note(ctr_tab *tab, const ctr_entry *entry);

/* After a fold: notes that all earlier amounts were folded, and the amounts that are carried over.
 * They are the first of a new row. */
void ctr_batch_carry(ctr_tab *tab);

/* Frees the memory of the batch, unless it is in use, and of the open row. */
void ctr_batch_free(ctr_tab *tab);

/* Drops the batch, down to the last savepoint, and all memory. */
void ctr_batch_abandon(ctr_tab *tab);

/* ---- all tables of a file that this transaction has written to, or is about to ---- */

/* Returns whether a batch is not appended yet. */
bool ctr_batch_any_pending(const ctr_file *file);
void ctr_batch_committed(ctr_file *file);
void ctr_batch_rolled_back(ctr_file *file);

/* The same for savepoints. */
void ctr_batch_begin_savepoint(ctr_file *file, int level);
void ctr_batch_end_savepoint(ctr_file *file, int level);
void ctr_batch_roll_back_to(ctr_file *file, int level);

/* ==== changes.c =============================================================================== */

/* Does as ctr_changes_read for some rows, each once and sorted: of these, all are listed if `since`
 * is 0. */
void ctr_changes_read_of(ctr_changes *changes, ctr_tab *tab, int64_t since,
                         const ctr_changes *rows);

/* The list of changes of a journal, kept short.
 *
 * A fold turns what a table has in the journal into one segment of level 1: changed rows and parts
 * of rows, with numbers. As in an LSM tree, eight segments of a level become one of the next, which
 * keeps the highest number of each part, up to 255 writers a row: older changes become one of the
 * whole row. All segments become one if together they are more than four times as long as the
 * longest, because the same rows may change again and again. So the list takes a few bytes for each
 * row of the table and each writer of late, and is kept without reading any row.
 *
 *     numbers rise -->
 *     [ level 2                  ] [ level 1 ] [ level 1 ]  row  row  row     of the journal
 */

/* Before a commit, which has appended its batches: shortens a journal beyond its limits. */
void ctr_fold_grown(ctr_file *file);

/* ==== columns.c =============================================================================== */

/* Encodes a cell into `out`, with room for ctr_row_cell_room(cell->n) bytes, and returns its size.
 * Numbers new writers. */
size_t ctr_regular_write(ctr_tab *tab, const ctr_row_cell *cell, uint8_t *out);

#endif
