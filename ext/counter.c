/* counter.c - the entry point: checks the SQLite library and registers all functions and
 * modules. */
#include "counter.h"

#include <stdatomic.h>
#include <string.h>

#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include "functions/functions.h"

enum { OLDEST_SQLITE = 3031000 }; /* INNOCUOUS and DIRECTONLY came with 3.31 */

static int (*const SHARING[])(sqlite3 *, ctr_conn *) = {
    ctr_cells_register,    ctr_internal_register,    ctr_table_register,
    ctr_exchange_register, ctr_increment_register,   ctr_changes_register,
    ctr_contents_register, ctr_coordinator_register, ctr_status_register,
    ctr_admin_register,    ctr_track_register,       ctr_opening_register, ctr_bound_register,
    ctr_keys_register,     ctr_warnings_register,    ctr_aggregates_register,
    ctr_update_register,   ctr_change_register,      ctr_lines_register,
    ctr_take_register,     ctr_folder_register,      ctr_server_register,
    ctr_adoption_register,
};

static int register_all(sqlite3 *db, ctr_conn **lent)
{
    ctr_conn *conn =
        ctr_conn_new(db, (ctr_conn_above){register_all, ctr_internal_renew_witness,
                                          ctr_file_close_all, ctr_events_tables(),
                                          ctr_trigger_rows_tracker(), ctr_tracked_find_home});
    if (!conn) return SQLITE_NOMEM;
    int rc = SQLITE_OK;
    *lent = conn;
    for (size_t i = 0; i < sizeof SHARING / sizeof *SHARING && rc == SQLITE_OK; i++)
        rc = SHARING[i](db, conn);
    ctr_conn_drop(conn);
    return rc;
}

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

/* All calls of SQLite go through one table of routines: that of the SQLite library that loaded this
 * one first. Another SQLite library in the same process is refused: the routines of the first
 * cannot use its connections, and neither sees the other's locks on a file. The message is
 * allocated by the refused library. */
static bool is_ours(const struct sqlite3_api_routines *api, char **message)
{
#ifdef SQLITE_CORE
    (void)api;
    (void)message;
    return true;
#else
    static _Atomic(const struct sqlite3_api_routines *) first;
    const struct sqlite3_api_routines *expected = NULL;
    if (atomic_compare_exchange_strong(&first, &expected, api) || expected == api) return true;
    if (message)
        *message = api->mprintf(
            "sqlite-counter: another SQLite library of this process, version %s, has loaded it, "
            "and this one, version %s, cannot share it: use one SQLite library in a process, "
            "because two do not see each other's locks on a database file",
            expected->libversion(), api->libversion());
    return false;
#endif
}

/* An SQLite built without PRAGMA module_list always gives false. */
static int is_registered(sqlite3 *db, bool *is)
{
    *is = false;
    sqlite3_stmt *row = NULL;
    char *sql = ctr_run_sql(CTR_SQL_TRANSACTION_MODULES, &(ctr_slots){.schema = "main"});
    int rc = sql ? sqlite3_prepare_v2(db, sql, -1, &row, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    while (row && !*is && (rc = sqlite3_step(row)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(row, 0);
        if (!name) rc = SQLITE_NOMEM;
        if (!name) break;
        *is = strcmp(name, "counter_statements") == 0;
    }
    sqlite3_finalize(row);
    return ctr_problem_rolls_back(rc) ? rc : SQLITE_OK;
}

/* Not exported: with two versions in one process, each must call its own. */
static int start(sqlite3 *db, char **message, const struct sqlite3_api_routines *api)
{
    if (!is_ours(api, message)) return SQLITE_ERROR;
    SQLITE_EXTENSION_INIT2(api);
    if (sqlite3_libversion_number() < OLDEST_SQLITE) {
        if (message)
            *message = sqlite3_mprintf("sqlite-counter needs SQLite 3.31.0 or later, this is %s",
                                       sqlite3_libversion());
        return SQLITE_ERROR;
    }
    bool is_there;
    ctr_conn *conn;
    int rc = is_registered(db, &is_there);
    if (rc == SQLITE_OK && !is_there) rc = register_all(db, &conn);
    if (rc != SQLITE_OK && message)
        *message = sqlite3_mprintf("sqlite-counter: %s", sqlite3_errmsg(db));
    return rc;
}

/* SQL cannot make a pointer, so nobody else can call the function. */
static int give_folders(sqlite3 *db, char **message)
{
    static char right[] = "";
    sqlite3_stmt *row = NULL;
    char *sql = ctr_run_sql(CTR_SQL_FOLDERS_ALLOW, &(ctr_slots){.schema = "main"});
    int rc = sql ? sqlite3_prepare_v2(db, sql, -1, &row, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    if (rc == SQLITE_OK) rc = sqlite3_bind_pointer(row, 1, right, CTR_FOLDERS_RIGHT, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_step(row) == SQLITE_ROW ? SQLITE_OK : SQLITE_ERROR;
    int ended = sqlite3_finalize(row);
    if (ended != SQLITE_OK) rc = ended;
    if (rc != SQLITE_OK && message)
        *message = sqlite3_mprintf("sqlite-counter: %s", sqlite3_errmsg(db));
    return rc;
}

EXPORTED int sqlite3_counter_init(sqlite3 *db, char **message,
                                  const struct sqlite3_api_routines *api)
{
    return start(db, message, api);
}

EXPORTED int sqlite3_counter_folders_init(sqlite3 *db, char **message,
                                          const struct sqlite3_api_routines *api)
{
    int rc = start(db, message, api);
    return rc == SQLITE_OK ? give_folders(db, message) : rc;
}

#ifndef SQLITE_CORE
/* The name that SQLite looks for first, whatever the library's file is called. */
EXPORTED int sqlite3_extension_init(sqlite3 *db, char **message,
                                    const struct sqlite3_api_routines *api);

EXPORTED int sqlite3_extension_init(sqlite3 *db, char **message,
                                    const struct sqlite3_api_routines *api)
{
    return start(db, message, api);
}
#endif
