/* table/tab.h - a counter table of a file, one object for each table of each file of a connection.
 *
 * Everybody who works on the table shares it: its virtual table, merges, folds. It lives as long as
 * its file (file/file.h), which may be the snapshot that is the source of a pull.
 */
#ifndef CTR_TABLE_TAB_H
#define CTR_TABLE_TAB_H

#include "core/entries.h"
#include "file/file.h"
#include "base/schema.h"
#include "table/cache.h"
#include "table/pack.h"
#include "table/shape.h"

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
    CTR_TAB_MERGE_KEY, /* see table/update.h */
    CTR_TAB_MERGE_BEHIND,
    CTR_TAB_KEY,
    CTR_TAB_KEY_IS,
    CTR_TAB_ROW,     /* the row cell */
    CTR_TAB_SET_ROW, /* that alone */
    CTR_TAB_LISTED,  /* merged values of a row that its table does not show: table/regular.h */
    CTR_TAB_LIST,    /* such a value */
    CTR_TAB_UNLIST,
    CTR_TAB_BELOW,
    CTR_TAB_FLOORS, /* the key columns, _seq, rows and bytes removed so far; a row at most */
    CTR_TAB_AMOUNTS,
    CTR_TAB_COUNTERS, /* that were added or dropped */
    CTR_TAB_REQUEST,  /* counter/request.c */
    CTR_TAB_SET_REQUEST,
    CTR_TAB_APART, /* rows of the tracked table that are apart: tracked/apart.h */
    CTR_TAB_SET_APART,
    CTR_TAB_NOT_APART,
    CTR_TAB_COUNT_APART,
    CTR_TAB_SHOW, /* to CTR_TAB_FIND_SHOWN: on the tracked table, see tracked/writing.h */
    CTR_TAB_SHOW_STRICTLY,
    CTR_TAB_SHOW_NEW,
    CTR_TAB_SHOW_NEW_STRICTLY,
    CTR_TAB_SHOW_DELETED,
    CTR_TAB_SHOWN,
    CTR_TAB_FIND_SHOWN,
    CTR_TAB_APPEND, /* this and the next: kept by all tables */
    CTR_TAB_EXTEND,
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

typedef struct ctr_tab {
    ctr_file *file;     /* borrowed */
    sqlite3 *db;        /* of the file */
    const char *schema; /* of the file */
    char *table;        /* owned */
    ctr_shape shape;    /* owned: the columns that the statements name */
    unsigned schemas;   /* file->schemas when somebody asked for the table last */
    unsigned shapes;    /* how often the number of counters changed */
    struct ctr_tab *next;

    /* The ordinary table that it counts, or NULL: tracked/tracked.h. */
    struct ctr_tracked *tracked;
    void (*release_tracked)(struct ctr_tracked *);

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
    int64_t last;        /* the highest number in the journal, 0: it is empty */
    int64_t n_rows, n_entries; /* rows of transactions; their amounts and other changes */
    uint8_t id[CTR_ID_SIZE];   /* the id of the shards to which amounts belong */
    int64_t least;             /* the lowest clock under that id */

    struct ctr_registry *registry; /* owned; of a replicated table: table/regular.h */

    /* Of the current transaction: table/batch.h. */
    bool is_touched; /* it is in the list of such journals */
    struct ctr_tab *next_touched;
    ctr_entry *batch;
    size_t n, room;
    size_t n_appended;       /* the first entries of the batch that are in the file */
    ctr_journal_mark *marks; /* by the level of the savepoint */
    size_t n_marks, room_for_marks;
    bool appended;       /* this transaction appended to the file */
    int64_t number;      /* that the entries not yet appended will have, or 0: not drawn yet */
    int64_t open_number; /* the row appended last, if it can grow, or 0 */
    ctr_packed open;     /* its bytes */
    int64_t open_row;    /* the row of its last entry */
} ctr_tab;

/* Returns the table of a file with this shape, lent as long as the file, or NULL and a problem
 * without memory. It keeps its memory, unless the schema has changed since the last call. */
ctr_tab *ctr_tab_of(ctr_file *file, const char *table, const ctr_shape *shape,
                    ctr_problem *problem);

/* Returns the table of this name if there is one already, or NULL. */
ctr_tab *ctr_tab_known(ctr_file *file, const char *table);

/* Reads the shape of a table with its generations; the caller closes it, also after a failure. */
int ctr_tab_read_shape(ctr_file *file, const char *table, ctr_shape *shape, ctr_problem *problem);

/* Returns one that has only statements, with the columns in another order, or NULL and a problem
 * without memory. The caller frees it with ctr_tab_free. */
ctr_tab *ctr_tab_reordered(const ctr_tab *tab, const ctr_shape *shape, ctr_problem *problem);
void ctr_tab_free(ctr_tab *tab);

/* Frees the tables of a file. */
void ctr_tab_close_all(ctr_file *file);

/* Returns a run of statements on the table. NULL: none, after a problem. */
ctr_run ctr_tab_run(const ctr_tab *tab, ctr_problem *problem);

/* Takes a statement, which nobody else uses until it is given back; NULL on error. If it is taken
 * already, because the collation of a key runs SQL of the host, another one is prepared. */
ctr_slot *ctr_tab_take(ctr_tab *tab, ctr_tab_sql which, ctr_problem *problem);

/* The same for one on the tracked table, with its lists. Only the table that the ctr_tab knows has
 * kept ones. */
ctr_slot *ctr_tab_take_shown(ctr_tab *tab, ctr_tab_sql which, const struct ctr_tracked *tracked,
                             const ctr_slots *lists, ctr_problem *problem);

/* Takes what the table tracks now; releases the former. */
void ctr_tab_track(ctr_tab *tab, struct ctr_tracked *tracked, void (*drop)(struct ctr_tracked *));

/* Gives a statement back: resets it and clears its bindings; NULL is harmless. After a problem it
 * is finalized, for it may hide columns, as an authorizer wanted it. */
void ctr_tab_give_back(ctr_tab *tab, ctr_slot *slot, const ctr_problem *problem);
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

#endif
