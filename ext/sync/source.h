/* sync/source.h - the file that gives: a snapshot of what it has committed.
 *
 * It is read through an own read-only connection, so that nothing which this connection has pending
 * is ever published: under WAL a transaction over several files commits file by file, and a crash
 * in between would make a file reuse clocks that another has seen.
 *
 * Where no other connection can see the content (a memory or temp database, a file that needs a
 * key or a private VFS, or that is locked exclusively) it is read through the connection at hand;
 * such a file only while nothing is pending in it but what a sync has just taken, which goes back
 * to where it came from.
 *
 * A source is untrusted: of its schema only ordinary tables of the expected shape are read, and its
 * views, triggers and functions are never run.
 */
#ifndef CTR_SYNC_SOURCE_H
#define CTR_SYNC_SOURCE_H

#include <stdbool.h>

#include "identity/replica.h"
#include "table/catalog.h"

/* What a table has besides its cells. */
typedef struct ctr_news {
    int64_t last, floors; /* the last number of its rows, and of its floors; 0: it has none */
    bool has_columns;     /* it has generations of counters */
} ctr_news;

typedef struct ctr_source {
    sqlite3 *db;  /* own, or the one at hand */
    char *schema; /* owned */
    bool own;
    const char *path;    /* by which it was opened; borrowed; or NULL */
    ctr_objects objects; /* of the snapshot */
    ctr_catalog catalog; /* once it is checked */
    ctr_news *news;      /* owned; of the tables in the catalog, once it was asked for all */
} ctr_source;

/* `schema` is attached to `host`. To be closed whatever is returned. */
int ctr_source_open(ctr_source *source, sqlite3 *host, const char *schema, ctr_problem *problem);

/* Opens a database file by its path, which is borrowed; what it is shows when it is held. The
 * caller refuses that of main (ctr_source_is_file_of). */
int ctr_source_open_path(ctr_source *source, sqlite3 *host, const char *path, ctr_problem *problem);

/* Reads what it has by name, and refuses it if something of ours is no ordinary table, or has
 * generated columns: to read these is to run a stranger's expressions. To be called before anything
 * else of it is read. */
int ctr_source_check(ctr_source *source, ctr_problem *problem);

/* Looks what a table, whose stored tables are ordinary ones, has besides its cells. */
int ctr_source_look(const ctr_source *source, const char *table, ctr_news *news,
                    ctr_problem *problem);

/* The same of all tables, and the number that follows the last of them all; of a table with a
 * stored table that is no ordinary one nothing is known. */
int64_t ctr_source_look_at_all(ctr_source *source, ctr_problem *problem);

/* Begins the snapshot. Call it after the locks of the files that will be written: with a rollback
 * journal nobody else could commit to this one while the caller waits for them. */
int ctr_source_hold(ctr_source *source, ctr_problem *problem);

/* Opens a connection that writes a database file by its path, which must be there, and enforces
 * foreign keys if `host` does. To be closed by the caller, whatever is returned. */
int ctr_source_open_to_write(sqlite3 **db, sqlite3 *host, const char *path, ctr_problem *problem);

/* Of a source that is read through the connection at hand: what waits is written down where it will
 * be read. A problem if it has counts that are not committed, for another file that takes them may
 * commit where this one is taken back. */
int ctr_source_append(const ctr_source *source, ctr_transaction *transaction, ctr_problem *problem);

/* Are two attached schemas one file? */
bool ctr_source_same_file(sqlite3 *host, const char *schema, const char *other);

/* Is the file of a connection of its own that of an attached schema? `db` may be NULL. */
bool ctr_source_is_file_of(sqlite3 *db, sqlite3 *host, const char *schema);

/* Ends the snapshot; twice is harmless. To be called before the same file is written and committed,
 * which would wait for it. */
void ctr_source_close(ctr_source *source);

#endif
