/* vtab/front.h - the methods of a table that stands in front of others.
 *
 * Its statements, plans and refusals are those of a counter table; these methods read and write its
 * rows. A table of one file has none of them.
 */
#ifndef CTR_VTAB_FRONT_H
#define CTR_VTAB_FRONT_H

#include "table/floors.h"
#include "table/rows.h"

struct ctr_table;
struct ctr_reading;

struct ctr_front {
    /* The current row, as in vtab/access.c for one file. After `find`, table->rows holds it. */
    int (*find)(struct ctr_table *table, ctr_problem *problem);
    int (*find_rowid)(struct ctr_table *table, int64_t rowid, ctr_problem *problem);
    bool (*found)(const struct ctr_table *table);
    bool (*is_below)(const struct ctr_table *table); /* a floor */
    bool (*key_is)(struct ctr_table *table, int64_t rowid, ctr_problem *problem);
    int (*write)(struct ctr_table *table, ctr_problem *problem);
    int (*raise)(struct ctr_table *table, ctr_problem *problem); /* raises floors to table->keys */
    int64_t (*rowid)(const struct ctr_table *table);             /* as xRowid would */
    ctr_rows *(*stored_row)(const struct ctr_table *table);      /* of a file; NULL: none */

    /* A cursor: `open` returns the `reading` of the other methods; `close` frees it. */
    struct ctr_reading *(*open)(struct ctr_table *table, ctr_problem *problem);
    void (*close)(struct ctr_reading *reading);
    void (*start)(struct ctr_reading *reading, struct ctr_table *table, bool unique,
                  const char *plan, int argc, sqlite3_value **argv, ctr_problem *problem);
    bool (*step)(struct ctr_reading *reading, ctr_problem *problem);
    sqlite3_stmt *(*row)(const struct ctr_reading *reading);
    void (*sum)(const struct ctr_reading *reading, int counter, ctr_summary *state);
    int64_t (*name_row)(const struct ctr_reading *reading, int64_t id); /* for xRowid */
    ctr_rows *(*rows)(const struct ctr_reading *reading); /* of the file of the current row */

    /* Runs a command, as ctr_commands_run. Returns false if it runs as in one file. */
    bool (*command)(struct ctr_table *table, sqlite3_value **columns, const char *command,
                    ctr_problem *problem);
    const char *commands;        /* the commands that it takes, as a message lists them */
    const char *refuses_request; /* the message: why it takes no request_id */

    /* Returns the name of the tables behind it. */
    const char *(*birth)(const struct ctr_table *table);
};
typedef struct ctr_front ctr_front;

#endif
