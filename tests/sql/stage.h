/* stage.h - where a case of a script is played: an empty working directory with databases, and up
 * to eight connections that have the extension.
 *
 *     stage_open(file, name);
 *     for each step: stage_direct(step), or stage_run(step->text, &outcome) and stage_check(…)
 *     stage_close();
 *
 * One case at a time. What goes wrong is printed with file, line and case, and kept:
 * stage_failed().
 */
#ifndef TESTS_SQL_STAGE_H
#define TESTS_SQL_STAGE_H

#include "script.h"

#include <sqlite3.h>

/* What a statement gave. */
typedef struct stage_outcome {
    int rc;      /* extended; SQLITE_OK if it ended well */
    char *rows;  /* lines; "" if none */
    char *error; /* NULL if none */
} stage_outcome;

/* What SQLite allocates once for the whole process must not count as lost by the first case. */
void stage_warm_up(void);

/* From now on a connection to main.db begins with this SQL, too, a PRAGMA; two at most. */
void stage_begin_with(const char *sql);

/* Opens main.db in a new folder; both are lent until stage_close(). */
void stage_open(const char *file, const char *case_name);

/* All connections must close with SQLITE_OK, and SQLite must use as much memory as before. */
void stage_close(void);

/* The connection at hand. */
sqlite3 *stage_db(void);

/* Every one that is open, by numbers from 0; NULL behind the last. */
sqlite3 *stage_nth_db(int n);

/* Closes them; the folder stays. */
void stage_close_connections(void);

void stage_direct(const script_step *directive);

/* Runs one or several statements up to the first error. */
void stage_run(const char *sql, stage_outcome *outcome);
void stage_forget(stage_outcome *outcome);

/* Did a statement give what is written below it? If not, that is said and kept if `says`. */
bool stage_check(const script_step *step, const stage_outcome *outcome, bool says);

void stage_fail(int line, const char *format, ...);
bool stage_failed(void);

#endif
