/* merge/source.h - the source of a pull: a snapshot of its committed content.
 *
 * We read it through a read-only connection of its own, and so never publish pending content of the
 * host's connection. Under WAL a transaction over several files commits file by file, and a crash
 * in between would make a file reuse clocks that another has seen.
 *
 * Some content is visible to no other connection: a memory or temp database, a file that needs a
 * key or a private VFS, or that is locked exclusively. We read it through the host's connection;
 * such a file only while it has nothing pending, except rows that a sync has just taken and that go
 * back to their origin.
 *
 * A source is untrusted. We read only ordinary tables of the expected shape, and never run its
 * views, triggers and functions.
 */
#ifndef CTR_MERGE_SOURCE_H
#define CTR_MERGE_SOURCE_H

#include <stdbool.h>

#include "file/file.h"
#include "table/catalog.h"

/* The newest numbers of a table. */
typedef struct ctr_newest {
    int64_t last, floors, answers; /* the last numbers of its rows, of its floors, and of answers
                                    * about openings; 0: it has none */
    bool has_columns;              /* it has generations of counters */
} ctr_newest;

typedef struct ctr_source {
    sqlite3 *db; /* its own, or the host's */
    bool own;
    ctr_conn *conn;             /* of the own one, owned; else NULL */
    ctr_file *file;             /* lent; NULL: it could not be opened */
    const char *schema;         /* of the file */
    const char *path;           /* the path that opened it, borrowed; or NULL */
    const char *called;         /* its name in messages, borrowed; set by the owner */
    const ctr_objects *objects; /* of the snapshot, lent by the file */
    ctr_catalog catalog;        /* after ctr_source_read */
    ctr_newest *newest;         /* owned; of the tables in the catalog, after ctr_source_read */
} ctr_source;

/* Opens `schema`, attached to the host. The caller closes the source, also after a failure. */
int ctr_source_open(ctr_source *source, ctr_conn *host, const char *schema, ctr_problem *problem);

/* Opens a file by its path, which is borrowed; ctr_source_hold fails if it is no database. The
 * caller refuses the file of main (ctr_source_is_file_of). */
int ctr_source_open_path(ctr_source *source, ctr_conn *host, const char *path,
                         ctr_problem *problem);

/* Reads the objects, the tables, and the identity of the source, with the next number, for the
 * marks. Fails if one of our tables is no ordinary table, or has generated columns, because reading
 * them runs a stranger's expressions. The caller calls this before it reads anything else of the
 * source, and before the transaction writes anything, because marks must describe committed
 * content. */
int ctr_source_read(ctr_source *source, ctr_identity *giver, ctr_problem *problem);

/* Reads the newest numbers of a table with ordinary stored tables. */
int ctr_source_look(const ctr_source *source, const char *table, ctr_newest *newest,
                    ctr_problem *problem);

/* Begins the snapshot. The caller first locks the files that it will write: with a rollback journal
 * no other connection could commit to this file while the caller waits for those locks. */
int ctr_source_hold(ctr_source *source, ctr_problem *problem);

/* Opens a writing connection to an existing database file by its path. It enforces foreign keys,
 * and trusts the schema, if `host` does. The caller closes it, also after a failure. */
int ctr_source_open_to_write(sqlite3 **db, sqlite3 *host, const char *path, ctr_problem *problem);

/* Appends the pending batches of a source that is read through the host's connection. Fails if it
 * has uncommitted counts, because a file that takes them may commit although this one is rolled
 * back. */
int ctr_source_append(const ctr_source *source, ctr_problem *problem);

/* Returns whether two attached schemas are one file. */
bool ctr_source_same_file(sqlite3 *host, const char *schema, const char *other);

/* Returns whether `db`, a connection of its own, has the file of an attached schema. `db` may be
 * NULL. */
bool ctr_source_is_file_of(sqlite3 *db, sqlite3 *host, const char *schema);

/* Ends the snapshot; a second call does nothing. The caller calls this before it writes and commits
 * to the same file, which would wait for the snapshot. */
void ctr_source_close(ctr_source *source);

#endif
