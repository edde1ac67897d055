/* folders.c - build/counter-folders.so: gives a connection the right to use directories, for hosts
 * that can load a library but cannot name its entry point.
 *
 *     db.loadExtension("build/counter"); db.loadExtension("build/counter-folders");
 *
 * SQL cannot make a pointer, so only C can call counter_folders(). */
#include <stddef.h>

#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

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
    SQLITE_EXTENSION_INIT2(api);
    int rc = sqlite3_prepare_v2(db, "SELECT counter_folders(?1)", -1, &row, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_bind_pointer(row, 1, right, "sqlite-counter folders", NULL);
    if (rc == SQLITE_OK) sqlite3_step(row);
    if (row) rc = sqlite3_finalize(row);
    if (rc != SQLITE_OK && message)
        *message = sqlite3_mprintf("sqlite-counter: load the library before this one: %s",
                                   sqlite3_errmsg(db));
    return rc;
}
