/* file/session.h - all or nothing: the savepoint around a sync.
 *
 * A sync is a part of the caller's transaction, or else a transaction of its own. SQLite opens no
 * savepoint inside a statement that writes, so a sync fails there.
 *
 * After sqlite3_interrupt() even ROLLBACK TO is interrupted, and half the work would stay in an
 * open transaction. SQLite guarantees that an interrupted write rolls the transaction back. So we
 * prepare a write that changes nothing beforehand, and the statements that end the savepoint,
 * because there may be no memory later. CREATE VIRTUAL TABLE expires all prepared statements just
 * before it calls xCreate, so xCreate prepares them again. An interrupt there interrupts the
 * CREATE, too, which is a write.
 */
#ifndef CTR_FILE_SESSION_H
#define CTR_FILE_SESSION_H

#include <stdbool.h>

#include "file/file.h"

typedef struct ctr_session {
    sqlite3 *db;
    ctr_conn *conn; /* borrowed; NULL: it creates no virtual table */
    sqlite3_stmt *write_nothing, *release, *roll_back;
    bool open, alone; /* alone: in no transaction of the caller */
    bool locks;       /* its writes lock main */
    int spill;        /* cache_spill of main, to restore; 0: nothing */
} ctr_session;

/* Begins a session on `db`, the connection of `conn`. NULL `conn`: it creates no virtual table. */
int ctr_session_begin(ctr_session *session, sqlite3 *db, ctr_conn *conn, ctr_problem *problem);

/* Takes the write lock of a schema that has counter tables. The caller calls this before it reads
 * the schema: SQLite does not wait for a lock once it reads. */
int ctr_session_lock(ctr_session *session, const char *schema, ctr_problem *problem);

/* Keeps the changed pages of main in memory while a snapshot of the same file is open. If SQLite
 * wrote them early, it would wait for the snapshot each time, as long as the busy timeout. */
int ctr_session_keep_pages(ctr_session *session, ctr_problem *problem);

/* Raises the cache of a file from SQLite's 2 MB to 32 MB, because a pull that writes many rows in
 * any order would read most of them from the disk. Returns false if the size stays, for example
 * because the host has set one. ctr_session_lower_cache restores SQLite's size; it returns false
 * after an interrupt, which stops every PRAGMA, and then the next pull restores it. */
bool ctr_session_raise_cache(const ctr_file *file);
bool ctr_session_lower_cache(const ctr_file *file);

/* Prepares the statements again. xCreate of a virtual table calls this. */
int ctr_session_renew(ctr_conn *conn, ctr_problem *problem);

/* Commits the work if there is no problem, else rolls it back. A failed commit becomes the
 * problem. */
int ctr_session_end(ctr_session *session, ctr_problem *problem);

#endif
