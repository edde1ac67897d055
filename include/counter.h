/* counter.h - sqlite-counter: counter columns that merge, for SQLite.
 *
 * As a loadable extension there is nothing to include: `.load build/counter`, or SELECT
 * load_extension(). In a program that links build/libcounter.a and its own SQLite (3.31 or later)
 * and libuuid, either
 *
 *     sqlite3_counter_init(db, &message, NULL);                          one connection, or
 *     sqlite3_auto_extension((void (*)(void))sqlite3_counter_init);    every connection from now on
 *
 * Loading registers functions and virtual tables on the connection. It creates no table, installs
 * no hook, and needs no call at the end: sqlite3_close() cleans up.
 */
#ifndef COUNTER_H
#define COUNTER_H

#include <sqlite3.h>

#define COUNTER_VERSION "2.0.0"

#ifdef __cplusplus
extern "C" {
#endif

/* SQLITE_OK, or an error code and, where there is memory for it, a message in *message that the
 * caller frees with sqlite3_free. `api` is used by the loadable build alone. */
int sqlite3_counter_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

#ifdef __cplusplus
}
#endif

#endif
