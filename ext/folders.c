/* folders.c - build/counter-folders.so: gives a connection the right to use directories, for hosts
 * that can load a library but cannot name its entry point.
 *
 *     db.loadExtension("build/counter"); db.loadExtension("build/counter-folders");
 *
 * SQL cannot make a pointer, so only C can call counter_folders(). */
#include "base/sqlite.h"

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

EXPORTED int sqlite3_extension_init(sqlite3 *db, char **message,
                                    const struct sqlite3_api_routines *api);

EXPORTED int sqlite3_extension_init(sqlite3 *db, char **message,
                                    const struct sqlite3_api_routines *api)
{
    static char right[] = "";
    sqlite3_stmt *row = NULL;
    int rc = api->prepare_v2(db, "SELECT counter_folders(?1)", -1, &row, NULL);
    if (rc == SQLITE_OK) rc = api->bind_pointer(row, 1, right, "sqlite-counter folders", NULL);
    if (rc == SQLITE_OK) rc = api->step(row) == SQLITE_ROW ? SQLITE_OK : SQLITE_ERROR;
    int ended = api->finalize(row);
    if (ended != SQLITE_OK) rc = ended;
    if (rc != SQLITE_OK && message)
        *message =
            api->mprintf("sqlite-counter: load the library before this one: %s", api->errmsg(db));
    return rc;
}
