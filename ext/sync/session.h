/* sync/session.h - all or nothing: the savepoint around a sync.
 *
 * Inside a transaction of the caller it is a part of it, else a transaction of its own. SQLite
 * opens no savepoint inside a statement that writes, so a sync is refused there.
 *
 * After sqlite3_interrupt() even ROLLBACK TO is interrupted, and half the work would stay in an
 * open transaction. What SQLite does guarantee is that an interrupted write rolls the transaction
 * back: such a write, which would change nothing, is prepared beforehand; so is what ends the
 * savepoint, for there may be no memory then. CREATE VIRTUAL TABLE
 * makes all prepared statements expire just before it calls xCreate, so that call prepares it
 * again: if this is interrupted too, the CREATE is, which is a write.
 */
#ifndef CTR_SYNC_SESSION_H
#define CTR_SYNC_SESSION_H

#include <stdbool.h>

#include "sqlite/problem.h"

typedef struct ctr_session {
    sqlite3 *db;
    struct ctr_sessions *sessions; /* borrowed */
    sqlite3_stmt *write_nothing, *release, *roll_back;
    bool open, alone; /* alone: in no transaction of the caller */
    bool locks;       /* what is written locks main */
    int spill;        /* of main, to be set back; 0: nothing to set */
} ctr_session;

/* What the modules of one connection share: the session that is running, or NULL. */
typedef struct ctr_sessions {
    ctr_session *running;
} ctr_sessions;

/* NULL `sessions`: no virtual table will be created. */
int ctr_session_begin(ctr_session *session, sqlite3 *db, ctr_sessions *sessions,
                      ctr_problem *problem);

/* Takes the write lock of a schema that has counter tables. To be called before it is read: SQLite
 * does not wait for a lock once it reads. */
int ctr_session_lock(ctr_session *session, const char *schema, ctr_problem *problem);

/* Keeps the changed pages of main in memory while a snapshot of the same file is open: to write
 * them early SQLite would wait for the snapshot, as long as the busy timeout, each time. */
int ctr_session_keep_pages(ctr_session *session, ctr_problem *problem);

/* To be called where a virtual table is created. */
int ctr_session_renew(ctr_sessions *sessions, ctr_problem *problem);

/* Keeps the work if there is no problem, else takes it back; a failed commit becomes
 * the problem. */
int ctr_session_end(ctr_session *session, ctr_problem *problem);

#endif
