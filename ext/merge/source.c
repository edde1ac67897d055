/* merge/source.c - opens the source of a pull, and holds its snapshot. */
#include "merge/merge.h"

#include <string.h>

/* =================================================================================================
 * durable - syncs through SQLite's file handles, or by path. */

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

/* =================================================================================================
 * source */

/* The VFS through which the host has opened a schema; NULL for the default. */
static const char *vfs_name(sqlite3 *host, const char *schema)
{
    sqlite3_vfs *vfs = NULL;
    sqlite3_file_control(host, schema, SQLITE_FCNTL_VFS_POINTER, &vfs);
    return vfs ? vfs->zName : NULL;
}

/* The VFS memdb reports a name that looks like that of a file. */
static bool is_file(sqlite3 *host, const char *schema)
{
    const char *path = sqlite3_db_filename(host, schema), *vfs = vfs_name(host, schema);
    return path && *path && !(vfs && strcmp(vfs, "memdb") == 0);
}

enum { LOOKS = 10 }; /* at most, a millisecond apart */

/* Reads the schema. If a writer deletes its journal while SQLite checks it, SQLite takes it for a
 * hot journal, which a read-only connection cannot roll back. So this tries again. */
static void read_objects(ctr_source *source, ctr_problem *problem)
{
    for (int looks = 1; source->file; looks++) {
        source->objects = ctr_file_objects(source->file, problem);
        if ((problem->rc & 0xff) != SQLITE_READONLY || looks == LOOKS) return;
        ctr_problem_close(problem);
        sqlite3_sleep(1);
    }
}

/* Replaces SQLite's message, which speaks of a write although the user only reads. */
static void explain_journal(ctr_source *source, ctr_problem *problem)
{
    if ((problem->rc & 0xff) != SQLITE_READONLY) return;
    if (sqlite3_extended_errcode(source->db) != SQLITE_READONLY_ROLLBACK) return;
    ctr_problem_close(problem);
    ctr_problem_set(
        problem, SQLITE_READONLY,
        "its last transaction was cut off, and its journal must be rolled back first, "
        "which a pull by path cannot do, because it only reads: read the file once with "
        "SQLite and write access, or ATTACH it and pull from that name");
}

/* ---- may it be opened? ----------------------------------------------------------------------- */

static bool is_attach_allowed(sqlite3 *host, const char *path, ctr_problem *problem)
{
    bool calls = false;
    ctr_problem refused = {SQLITE_OK, NULL};
    char *quoted = sqlite3_mprintf("%Q", path);
    if (!quoted) ctr_problem_nomem(&refused);
    ctr_run run = ctr_run_on(host, NULL, NULL, &refused);
    run.slots.value = quoted;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SYNC_EXPLAIN_ATTACH);
    while (ctr_run_row(&run, row)) {
        const char *opcode = ctr_text_column(row, 1, &refused);
        calls = calls || (opcode && strstr(opcode, "Func"));
    }
    sqlite3_finalize(row);
    sqlite3_free(quoted);
    if ((refused.rc & 0xff) == SQLITE_AUTH)
        ctr_problem_close(&refused);
    else if (refused.rc != SQLITE_OK)
        *problem = refused;
    return calls;
}

static int count_attached(sqlite3 *host, ctr_problem *problem)
{
    int n = 0;
#if SQLITE_VERSION_NUMBER >= 3039000
    if (sqlite3_libversion_number() >= 3039000) {
        while (sqlite3_db_name(host, n + 2)) n++;
        return n;
    }
#endif
    ctr_run run = ctr_run_on(host, NULL, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_DATABASES);
    while (ctr_run_row(&run, row)) n += sqlite3_column_int(row, 0) > 1;
    sqlite3_finalize(row);
    return n;
}

/* Refuses a path that the host could not ATTACH, because of its authorizer or its limit. */
static int ask_host(sqlite3 *host, const char *path, ctr_problem *problem)
{
    int most = sqlite3_limit(host, SQLITE_LIMIT_ATTACHED, -1), n;
    if (problem->rc == SQLITE_OK && !is_attach_allowed(host, path, problem))
        ctr_problem_set(problem, SQLITE_AUTH,
                        "the authorizer of this connection does not allow to ATTACH '%s'", path);
    n = count_attached(host, problem);
    if (n >= most)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "'%s' cannot be opened: this connection allows %d attached databases and "
                        "has %d",
                        path, most, n);
    return problem->rc;
}

/* ---- connections of our own ------------------------------------------------------------------ */

enum { HOST_EVERY = 50000 }; /* instructions of SQLite between two calls of run_host */

/* Runs a short statement of the host, which fails after an interrupt and calls its progress
 * handler. */
static int run_host(void *host)
{
    ctr_problem problem = {SQLITE_OK, NULL};
    ctr_run run = ctr_run_on(host, NULL, NULL, &problem);
    ctr_run_do(&run, CTR_SQL_SYNC_WORK, NULL);
    bool is = (problem.rc & 0xff) == SQLITE_INTERRUPT;
    ctr_problem_close(&problem);
    return is;
}

/* SQLite passes no such function to extensions if it was compiled without progress handlers. */
static void set_progress_handler(sqlite3 *db, sqlite3 *host)
{
#ifndef SQLITE_CORE
    if (!sqlite3_progress_handler) return;
#endif
    sqlite3_progress_handler(db, HOST_EVERY, run_host, host);
}

/* Waits for a lock as long as the host would. Reads its busy timeout only if there is a lock. */
static int wait_as_host(void *host, int n)
{
    enum { PAUSE = 5 /* milliseconds */ };
    ctr_problem problem = {SQLITE_OK, NULL};
    bool waits = n < ctr_run_busy_timeout(host, &problem) / PAUSE && problem.rc == SQLITE_OK;
    ctr_problem_close(&problem);
    if (waits) sqlite3_sleep(PAUSE);
    return waits;
}

/* Trusts the schema of the file if the host would trust that of an attached one: else rows would be
 * refused, or not, by the way they come. Of a source nothing runs that could be trusted; but SQLite
 * does not even read a schema with an index on json_extract() that it must not trust.
 *
 * The file is not mapped into memory, because a file that shrinks while it is mapped kills the
 * process. Only a source is opened in defensive mode, which forbids writing stored tables. */
static void open_connection(sqlite3 **db, sqlite3 *host, const char *path, const char *vfs,
                            int flags, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return;
    ctr_problem_sqlite(problem, *db, sqlite3_open_v2(path, db, flags, vfs));
    if (problem->rc != SQLITE_OK) return;
    int trusted = 0;
    sqlite3_int64 mapped = 0;
    sqlite3_busy_handler(*db, wait_as_host, host);
    set_progress_handler(*db, host);
    sqlite3_file_control(*db, "main", SQLITE_FCNTL_MMAP_SIZE, &mapped);
    if (flags & SQLITE_OPEN_READONLY) sqlite3_db_config(*db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(host, SQLITE_DBCONFIG_TRUSTED_SCHEMA, -1, &trusted);
    sqlite3_db_config(*db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, trusted, NULL);
}

static int use_file(ctr_source *source, ctr_conn *conn, const char *schema, ctr_problem *problem)
{
    source->file = conn ? ctr_file_of(conn, schema) : NULL;
    if (!source->file) return ctr_problem_nomem(problem);
    source->schema = source->file->schema;
    return problem->rc;
}

/* Without a mutex, because only one thread uses the connection. Its statements are kept until the
 * source is closed. */
static void open_own(ctr_source *source, ctr_conn *host, const char *path, const char *vfs,
                     ctr_problem *problem)
{
    source->own = true;
    open_connection(&source->db, host->db, path, vfs, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                    problem);
    if (problem->rc != SQLITE_OK) return;
    source->conn = ctr_conn_new(source->db, host->above);
    if (source->conn) source->conn->has_statements = true;
    use_file(source, source->conn, "main", problem);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void refuse_generated_in(const ctr_source *source, const ctr_named *named,
                                ctr_problem *problem)
{
    if (named && named->object == CTR_OBJECT_TABLE && ctr_schema_may_generate(named))
        ctr_schema_refuse_generated(source->db, source->schema, named->name, problem);
}

static int check_source(ctr_source *source, ctr_problem *problem)
{
    ctr_catalog *catalog = &source->catalog;
    if (!source->own) read_objects(source, problem);
    for (const char *const *of = ctr_stored_of_file(); *of && problem->rc == SQLITE_OK; of++)
        refuse_generated_in(source, ctr_schema_objects_find(source->objects, *of), problem);
    if (problem->rc == SQLITE_OK) ctr_catalog_read(catalog, source->file, problem);
    for (int i = 0; i < catalog->n && problem->rc == SQLITE_OK; i++) {
        const ctr_catalog_entry *of = &catalog->entries[i];
        for (const char *const *suffix = ctr_stored_suffixes(); *suffix; suffix++)
            refuse_generated_in(
                source, ctr_schema_objects_stored(source->objects, of->name, *suffix, problem),
                problem);
        ctr_problem_where(problem, "table %s", of->birth);
    }
    return problem->rc;
}

/* A value that is not an integer counts as higher than all numbers. */
static int64_t take_last_number(sqlite3_stmt *row, int column)
{
    int type = sqlite3_column_type(row, column);
    if (type == SQLITE_NULL) return 0;
    return type == SQLITE_INTEGER ? sqlite3_column_int64(row, column) : INT64_MAX;
}

int ctr_source_look(const ctr_source *source, const char *table, ctr_newest *newest,
                    ctr_problem *problem)
{
    *newest = (ctr_newest){0};
    ctr_run run = ctr_run_on(source->db, source->schema, table, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SYNC_NEWEST);
    if (ctr_run_row(&run, row))
        *newest = (ctr_newest){take_last_number(row, 0), take_last_number(row, 1),
                               take_last_number(row, 2), sqlite3_column_int(row, 3)};
    sqlite3_finalize(row);
    return problem->rc;
}

/* Reads the newest numbers of all tables. Returns the number after the highest of them. Skips a
 * table with a stored table that is not an ordinary one. */
static int64_t look_at_all(ctr_source *source, ctr_problem *problem)
{
    int64_t next = 1;
    const ctr_catalog *catalog = &source->catalog;
    sqlite3_free(source->newest);
    source->newest = sqlite3_malloc64(((size_t)catalog->n + 1) * sizeof *source->newest);
    if (!source->newest) ctr_problem_nomem(problem);
    for (int i = 0; i < catalog->n && problem->rc == SQLITE_OK; i++) {
        ctr_newest *newest = &source->newest[i];
        *newest = (ctr_newest){0};
        const char *table = catalog->entries[i].name;
        const ctr_objects *of = source->objects;
        const ctr_named *tab = ctr_schema_objects_stored(of, table, "journal", problem),
                        *state = ctr_schema_objects_stored(of, table, "state", problem);
        if (tab && tab->object == CTR_OBJECT_TABLE && state && state->object == CTR_OBJECT_TABLE)
            ctr_source_look(source, table, newest, problem);
        if (newest->last >= next && newest->last < INT64_MAX) next = newest->last + 1;
    }
    return next;
}

int ctr_source_read(ctr_source *source, ctr_identity *giver, ctr_problem *problem)
{
    *giver = (ctr_identity){0};
    check_source(source, problem);
    if (problem->rc == SQLITE_OK && ctr_file_peek(source->file, giver, problem))
        ctr_problem_where(problem, "the giving file");
    if (problem->rc == SQLITE_OK) giver->next = look_at_all(source, problem);
    return problem->rc;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int open_at_hand(ctr_source *source, ctr_conn *host, const char *schema,
                        ctr_problem *problem)
{
    source->db = host->db;
    return use_file(source, host, schema, problem);
}

int ctr_source_open(ctr_source *source, ctr_conn *host, const char *schema, ctr_problem *problem)
{
    *source = (ctr_source){0};
    if (problem->rc != SQLITE_OK) return problem->rc;
    if (!is_file(host->db, schema)) return open_at_hand(source, host, schema, problem);

    ctr_problem own = {SQLITE_OK, NULL};
    ctr_run run = ctr_run_on(host->db, schema, NULL, problem);
    bool exclusive = ctr_run_gives(&run, CTR_SQL_SYNC_LOCKING_MODE, "exclusive");
    if (problem->rc != SQLITE_OK) return problem->rc;
    if (exclusive)
        own.rc = SQLITE_LOCKED;
    else
        open_own(source, host, sqlite3_db_filename(host->db, schema), vfs_name(host->db, schema),
                 &own);
    read_objects(source, &own);
    explain_journal(source, &own);
    if (own.rc == SQLITE_OK) return SQLITE_OK;
    int code = own.rc & 0xff;
    bool is_final = code == SQLITE_BUSY || code == SQLITE_LOCKED || code == SQLITE_NOMEM ||
                    code == SQLITE_INTERRUPT || code == SQLITE_IOERR;
    if (!exclusive && is_final) { /* the connection of the host would meet this error, too */
        *problem = own;
        return problem->rc;
    }
    ctr_source_close(source);
    int cause = own.rc;
    ctr_problem_close(&own);
    if (ctr_run_transaction(host->db, schema) == CTR_TXN_WRITE)
        return ctr_problem_set(
            problem, cause,
            "only this connection can read the file of %s, and it has an open write "
            "transaction: commit first",
            schema);
    return open_at_hand(source, host, schema, problem);
}

static int refuse_path(const char *path, ctr_problem *problem)
{
    ctr_problem_close(problem);
    return ctr_problem_set(
        problem, SQLITE_CANTOPEN,
        "'%s' is neither an attached database nor a database file that can be opened", path);
}

/* Refuses a path that is not a file, such as ":memory:". A folder can be opened, but not be
 * read. */
static int check_path(sqlite3 *db, const char *path, ctr_problem *problem)
{
    int code = problem->rc & 0xff;
    bool is_folder = code == SQLITE_IOERR && sqlite3_extended_errcode(db) == SQLITE_IOERR_READ;
    if (code == SQLITE_CANTOPEN || is_folder || (problem->rc == SQLITE_OK && !is_file(db, "main")))
        return refuse_path(path, problem);
    ctr_problem_where(problem, "%s", path);
    return problem->rc;
}

int ctr_source_open_path(ctr_source *source, ctr_conn *host, const char *path, ctr_problem *problem)
{
    *source = (ctr_source){0};
    if (!*path) return refuse_path(path, problem);
    if (ask_host(host->db, path, problem)) return problem->rc;
    open_own(source, host, path, vfs_name(host->db, "main"), problem);
    source->path = path;
    return check_path(source->db, path, problem);
}

int ctr_source_hold(ctr_source *source, ctr_problem *problem)
{
    if (!source->own || problem->rc != SQLITE_OK) return problem->rc;
    ctr_run run = ctr_run_on(source->db, "main", NULL, problem);
    ctr_run_do(&run, CTR_SQL_SYNC_SNAPSHOT, NULL);
    source->file->held = true;
    read_objects(source, problem);
    explain_journal(source, problem);
    return source->path ? check_path(source->db, source->path, problem) : problem->rc;
}

int ctr_source_open_to_write(sqlite3 **db, sqlite3 *host, const char *path, ctr_problem *problem)
{
    *db = NULL;
    if (!*path) return refuse_path(path, problem);
    if (ask_host(host, path, problem)) return problem->rc;
    open_connection(db, host, path, vfs_name(host, "main"), SQLITE_OPEN_READWRITE, problem);
    ctr_run run = ctr_run_on(*db, "main", NULL, problem);
    if (problem->rc == SQLITE_OK)
        sqlite3_db_config(*db, SQLITE_DBCONFIG_ENABLE_FKEY, (int)ctr_foreign_enforced(host), NULL);
    if (problem->rc == SQLITE_OK) ctr_run_do(&run, CTR_SQL_SYNC_TOUCH, NULL);
    return check_path(*db, path, problem);
}

int ctr_source_append(const ctr_source *source, ctr_problem *problem)
{
    if (source->own || problem->rc != SQLITE_OK) return problem->rc;
    if (ctr_file_is_pending(source->file))
        return ctr_problem_set(problem, SQLITE_ERROR,
                               "%s has counted in this transaction, and only what is committed is "
                               "given to other files: COMMIT first",
                               source->schema);
    return ctr_batch_flush_all(source->file, problem);
}

bool ctr_source_same_file(sqlite3 *host, const char *schema, const char *other)
{
    return is_file(host, schema) && is_file(host, other) &&
           ctr_os_is_same(sqlite3_db_filename(host, schema), sqlite3_db_filename(host, other));
}

bool ctr_source_is_file_of(sqlite3 *db, sqlite3 *host, const char *schema)
{
    if (!db || !is_file(host, schema)) return false;
    const char *path = sqlite3_db_filename(db, "main");
    return path && ctr_os_is_same(path, sqlite3_db_filename(host, schema));
}

void ctr_source_close(ctr_source *source)
{
    ctr_catalog_close(&source->catalog);
    sqlite3_free(source->newest);
    if (source->conn) ctr_conn_drop(source->conn);
    if (source->own) sqlite3_close(source->db);
    *source = (ctr_source){0};
}
