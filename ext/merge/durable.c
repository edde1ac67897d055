/* merge/durable.c - syncs through SQLite's file handles, or by path. */
#include "merge/merge.h"

#include <string.h>

/* A file that SQLite has not opened has no methods, and needs no sync. */
static void sync_handle(const ctr_source *source, int which, const char *path, const char *suffix,
                        ctr_problem *problem)
{
    sqlite3_file *file = NULL;
    int rc = sqlite3_file_control(source->db, source->schema, which, &file);
    if (rc == SQLITE_OK && file && file->pMethods)
        rc = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
    if (rc == SQLITE_OK) return;
    char *whole = sqlite3_mprintf("%s%s", path, suffix);
    if (!whole)
        ctr_problem_nomem(problem);
    else if (ctr_os_sync_read(whole) != 0)
        ctr_problem_set(problem, rc, "the source cannot be synced to disk");
    sqlite3_free(whole);
}

static void sync_journal(const char *path, ctr_problem *problem)
{
    char *tab = sqlite3_mprintf("%s-journal", path);
    if (!tab) {
        ctr_problem_nomem(problem);
        return;
    }
    int error = ctr_os_sync_file(tab);
    if (!error) error = ctr_os_sync_folder_of(path);
    if (error)
        ctr_problem_set(problem, SQLITE_IOERR_DIR_FSYNC, "the folder of %s cannot be synced: %s",
                        path, strerror(error));
    sqlite3_free(tab);
}

/* A read-only connection with a snapshot may have opened a WAL, but never a rollback journal. A
 * connection of the host that has not read since another one changed the mode would report the old
 * mode, so it reads first. */
int ctr_durable_source(const ctr_source *source, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return problem->rc;
    const char *path = sqlite3_db_filename(source->db, source->schema);
    if (!path || !*path) return SQLITE_OK;
    sqlite3_file *log = NULL;
    bool is_wal = false;
    ctr_run run = ctr_run_on(source->db, source->schema, NULL, problem);
    if (source->own) {
        int rc = sqlite3_file_control(source->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
        is_wal = rc == SQLITE_OK && log && log->pMethods;
    } else {
        ctr_run_do(&run, CTR_SQL_SYNC_TOUCH, NULL);
        is_wal = ctr_run_gives(&run, CTR_SQL_SYNC_JOURNAL_MODE, "wal");
    }
    if (is_wal) {
        sync_handle(source, SQLITE_FCNTL_JOURNAL_POINTER, path, "-wal", problem);
    } else {
        sync_handle(source, SQLITE_FCNTL_FILE_POINTER, path, "", problem);
        if (ctr_storage_is_file(source->db, source->schema, problem)) sync_journal(path, problem);
    }
    return problem->rc;
}

/* ---- settings of SQLite ---------------------------------------------------------------------- */

enum { SYNC_OFF, SYNC_NORMAL, SYNC_FULL, SYNC_EXTRA, MODE_SIZE = 16 };

static void read_mode(sqlite3 *db, const char *schema, char mode[MODE_SIZE], ctr_problem *problem)
{
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SYNC_JOURNAL_MODE);
    const char *text = ctr_run_row(&run, row) ? ctr_text_column(row, 0, problem) : NULL;
    sqlite3_snprintf(MODE_SIZE, mode, "%s", text ? text : "");
    sqlite3_finalize(row);
}

static int read_synchronous(sqlite3 *db, const char *schema, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    return (int)ctr_run_number(&run, CTR_SQL_DURABLE_SYNCHRONOUS);
}

static bool is_one_of(const char *mode, const char *const *modes)
{
    while (*modes && strcmp(mode, *modes) != 0) modes++;
    return *modes != NULL;
}

static bool is_of_a_file(sqlite3 *db, const char *schema)
{
    const char *path = sqlite3_db_filename(db, schema);
    return path && *path;
}

ctr_commit ctr_durable_commit(sqlite3 *db, const char *schema, ctr_problem *problem)
{
    static const char *const EARLY[] = {"wal", "off", NULL};
    char mode[MODE_SIZE];
    if (!is_of_a_file(db, schema)) return CTR_COMMIT_LATE;
    read_mode(db, schema, mode, problem);
    return is_one_of(mode, EARLY) ? CTR_COMMIT_EARLY : CTR_COMMIT_LATE;
}

bool ctr_durable_has_journal(sqlite3 *db, const char *schema, ctr_problem *problem)
{
    static const char *const JOURNALS[] = {"delete", "truncate", "persist", NULL};
    char mode[MODE_SIZE];
    if (!is_of_a_file(db, schema)) return false;
    read_mode(db, schema, mode, problem);
    return is_one_of(mode, JOURNALS) && read_synchronous(db, schema, problem) > SYNC_OFF;
}

/* A deleted journal may reappear unless its folder is synced, which only EXTRA does. */
int ctr_durable_check_leader(sqlite3 *db, const char *schema, bool as_one, ctr_problem *problem)
{
    char mode[MODE_SIZE];
    if (!is_of_a_file(db, schema)) return problem->rc;
    read_mode(db, schema, mode, problem);
    bool deletes = strcmp(mode, "delete") == 0, wal = strcmp(mode, "wal") == 0;
    int needed = wal ? SYNC_FULL : as_one ? SYNC_NORMAL : deletes ? SYNC_EXTRA : SYNC_FULL;
    int now = read_synchronous(db, schema, problem);
    if (problem->rc != SQLITE_OK || now >= needed) return problem->rc;
    static const char *const MODES[] = {"OFF", "NORMAL", "FULL", "EXTRA"};
    return ctr_problem_set(problem, SQLITE_ERROR,
                           "%s is the leader, and a power cut must not undo its commits: "
                           "journal_mode=%s needs PRAGMA %s.synchronous=%s, not %s",
                           schema, mode, schema, MODES[needed],
                           MODES[now >= SYNC_OFF && now <= SYNC_EXTRA ? now : 0]);
}
