/* sync/session.h - all or nothing: the savepoint around a sync.
 *
 * Inside a transaction of the caller it is a part of it, else a transaction of its own. SQLite opens no
 * savepoint inside a statement that writes, so a sync is refused there.
 *
 * After sqlite3_interrupt() even ROLLBACK TO is interrupted, and half the work would stay in an open
 * transaction. What SQLite does guarantee is that an interrupted write rolls the transaction back: such a
 * write, which would change nothing, is prepared beforehand.
 */
#ifndef CTR_SYNC_SESSION_H
#define CTR_SYNC_SESSION_H

#include <stdbool.h>

#include "store/problem.h"

typedef struct ctr_session {
    sqlite3 *db;
    sqlite3_stmt *write_nothing;
    bool open, alone; /* alone: in no transaction of the caller */
} ctr_session;

/* `target` is the schema that will be written first. */
int ctr_session_begin(ctr_session *session, sqlite3 *db, const char *target, ctr_problem *problem);

/* Keeps the work if there is no problem, else takes it back; a failed commit becomes the problem. */
int ctr_session_end(ctr_session *session, ctr_problem *problem);

#endif
