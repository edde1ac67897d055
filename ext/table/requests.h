/* table/requests.h - the requests that a counter table has taken: <table>_state.
 *
 * An application that does not know whether an increment was counted repeats it with the same
 * request id, and it counts once. The transaction of a request records its id and its content; the
 * same id with other content is an error. Ids belong to one file: no merge copies them.
 */
#ifndef CTR_TABLE_REQUESTS_H
#define CTR_TABLE_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "sqlite/problem.h"
#include "sqlite/sqlite.h"

enum { CTR_REQUEST_MAX = 255 /* bytes of an id */ };

typedef struct ctr_requests {
    sqlite3 *db;
    const char *schema, *table; /* borrowed */
    sqlite3_stmt *find, *insert;
} ctr_requests;

/* Finalizes the kept statements. */
void ctr_requests_release(ctr_requests *requests);

/* Returns whether this request was taken before. Fails if its content was not `what`. */
bool ctr_requests_is_done(ctr_requests *requests, sqlite3_value *id, const char *what,
                          ctr_problem *problem);

/* Records the request. */
int ctr_requests_add(ctr_requests *requests, sqlite3_value *id, const char *what,
                     ctr_problem *problem);

/* Deletes all but the newest `keep`. */
int ctr_requests_forget(ctr_requests *requests, int64_t keep, ctr_problem *problem);

#endif
