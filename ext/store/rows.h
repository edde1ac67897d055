/* store/rows.h - reads and writes the rows of one stored table, one row at a time.
 *
 * Find a row, make new cells in the room that is given, write:
 *
 *     ctr_rows_find_key(rows, keys, problem);                 rows->found, rows->cells
 *     uint8_t *out = ctr_rows_room(rows, bound, problem);
 *     ctr_rows_set(rows, counter, ctr_cell_...(&rows->cells[counter], ..., out));
 *     ctr_rows_write(rows, keys, problem);                    one INSERT or one UPDATE
 *
 * All that can be refused is refused before the write, which is a single statement: inside a
 * transaction SQLite does not take back half of what a virtual table has written.
 *
 * Kept statements belong to an object that SQLite closes before the connection: a virtual table, or
 * a sync that is running. Somebody's triggers on the stored table run with our writes. Such a write
 * is not kept, for a trigger that names the virtual table would hold it for ever; and it may not
 * write to the same table again while it runs.
 */
#ifndef CTR_STORE_ROWS_H
#define CTR_STORE_ROWS_H

#include "counter_cell.h"
#include "store/buffer.h"
#include "store/guard.h"
#include "store/news.h"
#include "store/pack.h"
#include "store/shape.h"

typedef struct ctr_rows ctr_rows;
struct ctr_rows {
    sqlite3 *db;
    char *schema, *table;   /* owned */
    const ctr_shape *shape; /* borrowed */
    ctr_post *post;         /* of the schema; borrowed */
    ctr_news *news;         /* of the table; borrowed */

    /* The row found last. */
    int64_t finds; /* how often one was looked for */
    bool found;
    int64_t number;  /* what it was stamped with */
    int64_t rowid;   /* of that row, or of the one just inserted */
    ctr_cell *cells; /* by counter; untouched ones if nothing was found */

    /* Rows that are written later; see store/deferred.h. */
    bool defers;      /* it may keep some; for the owner to set */
    bool keeps;       /* it stands among those of the post that do */
    ctr_rows *next;   /* of them */
    ctr_entry *entry; /* the row found last, if it is kept */
    ctr_buffer buffer;
    bool spelled;  /* `spelling` is that of the row found last */
    uint64_t hash; /* of `spelling` */

    /* Private: statements, copies of the cells found, new cells by counter. */
    sqlite3_stmt *find_key, *find_rowid, *insert, *update, *update_stamp;
    bool has_triggers; /* as of the last look */
    bool looked;       /* since the schema has changed */
    bool writing;
    bool settling;                  /* what was kept is being written, or is about to be */
    void (*abandoned)(void *owner); /* to be called with the owner when that is done; or NULL */
    void *owner;
    struct ctr_bytes {
        uint8_t *bytes;
        size_t size, capacity;
    } old, fresh;
    ctr_packed spelling; /* a key that was looked for, as it was given */
    struct ctr_new_cell {
        bool set;
        size_t offset, size;
    } * changes;
};

/* Copies the names. NULL `post`: they are only read. To be closed whatever is returned. */
int ctr_rows_open(ctr_rows *rows, sqlite3 *db, const char *schema, const char *table,
                  const ctr_shape *shape, ctr_post *post, ctr_problem *problem);
void ctr_rows_close(ctr_rows *rows);

/* Finalizes the kept statements; they are prepared again when they are needed. */
void ctr_rows_release(ctr_rows *rows);

/* Looks for the row with these key values, in key order, which may be of any type: they follow the
 * columns' affinity. Fails where a cell is malformed, naming column and key. */
int ctr_rows_find_key(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem);
int ctr_rows_find_rowid(ctr_rows *rows, int64_t rowid, ctr_problem *problem);

/* As if nothing was found. */
int ctr_rows_find_none(ctr_rows *rows, ctr_problem *problem);

/* Takes the row at which a scan of the same table stands (store/stream.h), as if it were found. */
int ctr_rows_take(ctr_rows *rows, sqlite3_stmt *row, ctr_problem *problem);

/* Room for a new cell, until the next call; NULL if there is no memory. */
uint8_t *ctr_rows_room(ctr_rows *rows, size_t size, ctr_problem *problem);

/* What stands in the room just given, `size` bytes, becomes the new cell of a counter. */
void ctr_rows_set(ctr_rows *rows, int counter, size_t size);

/* If a new cell was made for a counter, opens it; it lives until the next find. */
void ctr_rows_staged(const ctr_rows *rows, int counter, ctr_cell *cell);

/* Is there anything to write? */
bool ctr_rows_changed(const ctr_rows *rows);

/* Inserts the row that was not found, with `keys`, or updates the one that was; keys may be NULL
 * then. The row is stamped with the number of the file. */
int ctr_rows_write(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem);

/* For deferred.c: are there triggers on the stored table, as far as its statements have noticed, or
 * now; stands at a row that is there, of which nothing was read. */
bool ctr_rows_have_triggers(ctr_rows *rows, ctr_problem *problem);
bool ctr_rows_have_triggers_now(ctr_rows *rows, ctr_problem *problem);
void ctr_rows_stand_at(ctr_rows *rows, int64_t rowid, int64_t number);

/* Has the row exactly these values in the key columns that are not NULL here? */
bool ctr_rows_key_is(ctr_rows *rows, int64_t rowid, sqlite3_value **keys, ctr_problem *problem);

/* Copies of the values of a row's key, to be freed with sqlite3_value_free whatever is returned.
 * False: there is no such row, or a problem. */
bool ctr_rows_take_key(ctr_rows *rows, int64_t rowid, sqlite3_value **keys, ctr_problem *problem);

/* The key of a row as a message shows it, ('/', 12); to be freed with sqlite3_free. NULL: there is
 * no memory, or SQLite rolls back for what reading it has met; that is the problem from then on. */
char *ctr_rows_key_text(ctr_rows *rows, int64_t rowid, ctr_problem *problem);

/* Opens the cell in column i of a statement. On a malformed one sets a problem that names counter
 * and key. The row id is asked for in column 0 then, if it is CTR_ROWS_ID_IN_ROW. */
#define CTR_ROWS_ID_IN_ROW INT64_MIN
int ctr_rows_open_cell(ctr_rows *rows, sqlite3_stmt *row, int i, int64_t rowid, int counter,
                       ctr_cell *cell, ctr_problem *problem);

/* "column hits of ('/', 12)", as where a problem is. */
void ctr_rows_problem_at(ctr_rows *rows, int64_t rowid, int counter, ctr_problem *problem);

#endif
