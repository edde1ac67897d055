/* counter.h - sqlite-counter: counter columns that merge, for SQLite.
 *
 * To load the extension you need no header: `.load build/counter`, or SELECT load_extension(). A
 * program that links build/libcounter.a, SQLite 3.31 or later and libuuid calls either of these:
 *
 *     sqlite3_counter_init(db, &message, NULL);                          this connection
 *     sqlite3_auto_extension((void (*)(void))sqlite3_counter_init);    every connection from now on
 *
 * Loading registers functions and virtual tables on the connection. It creates no table and
 * installs no hook. sqlite3_close() cleans up; no other call is needed.
 */
#ifndef COUNTER_H
#define COUNTER_H

#include <sqlite3.h>

#define COUNTER_VERSION "3.0.0"

/* The file without which a directory is refused: sqlite3_counter_folders_init. */
#define COUNTER_FOLDER_MARKER ".sqlite-counter"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns SQLITE_OK, or an error code with a message in *message if there is memory for it. The
 * caller frees the message with sqlite3_free. Only the loadable build uses `api`; otherwise pass
 * NULL. */
int sqlite3_counter_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

/* The same, and gives the connection the right to use directories: counter_sync, counter_pull and
 * counter_push with a directory, and counter_folder. SQL cannot give it: an injected SELECT could
 * call them where it cannot ATTACH. May be called after sqlite3_counter_init. A host that can only
 * load names it as the entry point:
 *
 *     SELECT load_extension('counter', 'sqlite3_counter_folders_init');
 *
 * Without zlib (-DCOUNTER_HAS_ZLIB -lz) these functions refuse directories. */
int sqlite3_counter_folders_init(sqlite3 *db, char **message,
                                 const struct sqlite3_api_routines *api);

#ifdef __cplusplus
}
#endif

#endif
