/* merge/source.c - opens the source of a pull, holds its snapshot, and makes it durable. */
#include "merge/merge.h"

#include <string.h>

/* =================================================================================================
 * durable - syncs through SQLite's file handles, or by path. */

/* A file that SQLite has not opened has no methods, and needs no sync. */
static void sync_handle(const ctr_source *source, int which, const char *path, const char *suffix)
{
    sqlite3_file *file = NULL;
    int rc = sqlite3_file_control(source->conn->db, source->schema, which, &file);
    if (rc == SQLITE_OK && file && file->pMethods)
        rc = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
    if (rc == SQLITE_OK) return;
    const char *whole = ctr_text_print(source->conn, "%s%s", path, suffix);
    if (ctr_rc(source->conn) == SQLITE_OK && ctr_os_sync_read(whole) != 0)
        ctr_problem_set(source->conn, rc, "the source cannot be synced to disk");
}

static void sync_journal(ctr_conn *conn, const char *path)
{
    const char *journal = ctr_text_print(conn, "%s-journal", path);
    if (ctr_rc(conn) != SQLITE_OK) return;
    int error = ctr_os_sync_file(journal);
    if (!error) error = ctr_os_sync_folder_of(path);
    if (error)
        ctr_problem_set(conn, SQLITE_IOERR_DIR_FSYNC, "the folder of %s cannot be synced: %s", path,
                        strerror(error));
}

/* Returns whether all that the connection of the host reads now was synced before. While it reads,
 * nothing newer is read: so the version is that of what is read. Notes that it is being synced. */
static bool was_synced(const ctr_source *source)
{
    ctr_file *file = source->file;
    unsigned version = ctr_run_data_version(source->conn->db, source->schema);
    if (!file || strcmp(source->schema, "main") != 0 || /* another file may have the name now */
        ctr_run_transaction(source->conn->db, source->schema) != CTR_TXN_READ)
        return false;
    bool is = file->synced && file->synced_version == version;
    file->synced = true;
    file->synced_version = version;
    return is;
}

/* A read-only connection with a snapshot may have opened a WAL, but never a rollback journal. A
 * connection of the host that has not read since another one changed the mode would report the old
 * mode, so it reads first. */
void ctr_durable_source(const ctr_source *source)
{
    if (ctr_rc(source->conn) != SQLITE_OK) return;
    const char *path = sqlite3_db_filename(source->conn->db, source->schema);
    if (!path || !*path) return;
    sqlite3_file *log = NULL;
    bool is_wal = false;
    ctr_run run = ctr_run_on(source->conn, source->schema, NULL);
    if (source->own) {
        int rc = sqlite3_file_control(source->conn->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
        is_wal = rc == SQLITE_OK && log && log->pMethods;
    } else {
        ctr_run_do(&run, CTR_SQL_SYNC_TOUCH, NULL);
        if (was_synced(source)) return;
        is_wal = ctr_run_gives(&run, CTR_SQL_SYNC_JOURNAL_MODE, "wal");
    }
    if (is_wal) {
        sync_handle(source, SQLITE_FCNTL_JOURNAL_POINTER, path, "-wal");
    } else {
        sync_handle(source, SQLITE_FCNTL_FILE_POINTER, path, "");
        if (ctr_storage_is_file(source->conn, source->schema)) sync_journal(source->conn, path);
    }
    if (ctr_rc(source->conn) != SQLITE_OK && source->file) source->file->synced = false;
}

/* ---- settings of SQLite ---------------------------------------------------------------------- */

enum { SYNC_OFF, SYNC_NORMAL, SYNC_FULL, SYNC_EXTRA, MODE_SIZE = 16 };

static void read_mode(ctr_conn *conn, const char *schema, char mode[MODE_SIZE])
{
    ctr_run run = ctr_run_on(conn, schema, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SYNC_JOURNAL_MODE);
    const char *text = ctr_run_row(&run, row) ? ctr_text_column(conn, row, 0) : NULL;
    sqlite3_snprintf(MODE_SIZE, mode, "%s", text ? text : "");
    sqlite3_finalize(row);
}

static int read_synchronous(ctr_conn *conn, const char *schema)
{
    ctr_run run = ctr_run_on(conn, schema, NULL);
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

ctr_commit ctr_durable_commit(ctr_conn *conn, const char *schema)
{
    static const char *const EARLY[] = {"wal", "off", NULL};
    char mode[MODE_SIZE];
    if (!is_of_a_file(conn->db, schema)) return CTR_COMMIT_LATE;
    read_mode(conn, schema, mode);
    return is_one_of(mode, EARLY) ? CTR_COMMIT_EARLY : CTR_COMMIT_LATE;
}

bool ctr_durable_has_journal(ctr_conn *conn, const char *schema)
{
    static const char *const JOURNALS[] = {"delete", "truncate", "persist", NULL};
    char mode[MODE_SIZE];
    if (!is_of_a_file(conn->db, schema)) return false;
    read_mode(conn, schema, mode);
    return is_one_of(mode, JOURNALS) && read_synchronous(conn, schema) > SYNC_OFF;
}

/* A deleted journal may reappear unless its folder is synced, which only EXTRA does. */
void ctr_durable_check_leader(ctr_conn *conn, const char *schema, bool as_one)
{
    char mode[MODE_SIZE];
    if (!is_of_a_file(conn->db, schema)) return;
    read_mode(conn, schema, mode);
    bool deletes = strcmp(mode, "delete") == 0, wal = strcmp(mode, "wal") == 0;
    int needed = wal ? SYNC_FULL : as_one ? SYNC_NORMAL : deletes ? SYNC_EXTRA : SYNC_FULL;
    int now = read_synchronous(conn, schema);
    if (ctr_rc(conn) != SQLITE_OK || now >= needed) return;
    static const char *const MODES[] = {"OFF", "NORMAL", "FULL", "EXTRA"};
    ctr_problem_set(conn, SQLITE_ERROR,
                    "%s is the leader, and a power cut must not undo its commits: "
                    "journal_mode=%s needs PRAGMA %s.synchronous=%s, not %s",
                    schema, mode, schema, MODES[needed],
                    MODES[now >= SYNC_OFF && now <= SYNC_EXTRA ? now : 0]);
}

/* =================================================================================================
 * source - opens a file, begins its snapshot, reads its tables. */

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
static void read_objects(ctr_source *source)
{
    for (int looks = 1; source->file; looks++) {
        source->objects = ctr_file_objects(source->file);
        if ((ctr_rc(source->conn) & 0xff) != SQLITE_READONLY || looks == LOOKS) return;
        ctr_problem_clear(source->conn);
        sqlite3_sleep(1);
    }
}

/* Replaces SQLite's message, which speaks of a write although the user only reads. */
static void explain_journal(ctr_source *source)
{
    if ((ctr_rc(source->conn) & 0xff) != SQLITE_READONLY) return;
    if (sqlite3_extended_errcode(source->conn->db) != SQLITE_READONLY_ROLLBACK) return;
    ctr_problem_clear(source->conn);
    ctr_problem_set(
        source->conn, SQLITE_READONLY,
        "its last transaction was cut off, and its journal must be rolled back first, "
        "which a pull by path cannot do, because it only reads: read the file once with "
        "SQLite and write access, or ATTACH it and pull from that name");
}

/* ---- may it be opened? ----------------------------------------------------------------------- */

static bool is_attach_allowed(ctr_conn *conn, const char *path)
{
    bool calls = false;
    ctr_problem refused;
    ctr_problem_try(conn, &refused);
    const char *quoted = ctr_text_print(conn, "%Q", path);
    ctr_run run = ctr_run_on(conn, NULL, NULL);
    run.slots.value = quoted;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SYNC_EXPLAIN_ATTACH);
    while (ctr_run_row(&run, row)) {
        const char *opcode = ctr_text_column(conn, row, 1);
        calls = calls || (opcode && strstr(opcode, "Func"));
    }
    sqlite3_finalize(row);
    ctr_problem_raise_if(conn, &refused, (refused.rc & 0xff) != SQLITE_AUTH);
    return calls;
}

static int count_attached(ctr_conn *conn)
{
    int n = 0;
#if SQLITE_VERSION_NUMBER >= 3039000
    if (sqlite3_libversion_number() >= 3039000) {
        while (sqlite3_db_name(conn->db, n + 2)) n++;
        return n;
    }
#endif
    ctr_run run = ctr_run_on(conn, NULL, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_DATABASES);
    while (ctr_run_row(&run, row)) n += sqlite3_column_int(row, 0) > 1;
    sqlite3_finalize(row);
    return n;
}

void ctr_source_check_allowed(ctr_conn *conn, const char *path)
{
    if (ctr_rc(conn) == SQLITE_OK && !is_attach_allowed(conn, path))
        ctr_problem_set(conn, SQLITE_AUTH,
                        "the authorizer of this connection does not allow to ATTACH '%s'", path);
}

/* Refuses a path that the host could not ATTACH, because of its authorizer or its limit. */
static int ask_host(ctr_conn *conn, const char *path)
{
    ctr_source_check_allowed(conn, path);
    int most = sqlite3_limit(conn->db, SQLITE_LIMIT_ATTACHED, -1), n = count_attached(conn);
    if (n >= most)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "'%s' cannot be opened: this connection allows %d attached databases and "
                        "has %d",
                        path, most, n);
    return ctr_rc(conn);
}

/* ---- connections of our own ------------------------------------------------------------------ */

enum { HOST_EVERY = 50000 }; /* instructions of SQLite between two calls of run_host */

/* Runs a short statement of the host, which fails after an interrupt and calls its progress
 * handler. */
static int run_host(void *host)
{
    ctr_problem problem;
    ctr_problem_begin(host, &problem);
    ctr_run run = ctr_run_on(host, NULL, NULL);
    ctr_run_do(&run, CTR_SQL_SYNC_WORK, NULL);
    bool is = (problem.rc & 0xff) == SQLITE_INTERRUPT;
    ctr_problem_close(&problem);
    return is;
}

/* SQLite passes no such function to extensions if it was compiled without progress handlers. */
static void set_progress_handler(sqlite3 *db, ctr_conn *host)
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
    ctr_problem problem;
    ctr_problem_begin(host, &problem);
    bool waits = n < ctr_run_busy_timeout(host) / PAUSE && problem.rc == SQLITE_OK;
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
static void open_connection(sqlite3 **db, ctr_conn *host, const char *path, const char *vfs,
                            int flags)
{
    if (ctr_rc(host) != SQLITE_OK) return;
    int rc = sqlite3_open_v2(path, db, flags, vfs);
    ctr_problem_of(host, *db, rc);
    if (ctr_rc(host) != SQLITE_OK) return;
    int trusted = 0;
    sqlite3_int64 mapped = 0;
    sqlite3_busy_handler(*db, wait_as_host, host);
    set_progress_handler(*db, host);
    sqlite3_file_control(*db, "main", SQLITE_FCNTL_MMAP_SIZE, &mapped);
    if (flags & SQLITE_OPEN_READONLY) sqlite3_db_config(*db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(host->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, -1, &trusted);
    sqlite3_db_config(*db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, trusted, NULL);
}

static int use_file(ctr_source *source, const char *schema)
{
    source->file = ctr_file_of(source->conn, schema);
    if (!source->file) return ctr_problem_nomem(source->conn);
    source->schema = source->file->schema;
    return ctr_rc(source->conn);
}

/* Without a mutex, because only one thread uses the connection. Its statements are kept until the
 * source is closed. The error at hand is that of the host. */
static void open_own(ctr_source *source, ctr_conn *host, const char *path, const char *vfs)
{
    source->own = true;
    open_connection(&source->db, host, path, vfs, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX);
    if (ctr_rc(host) != SQLITE_OK) return;
    ctr_conn *conn = ctr_conn_new(source->db, host->above);
    if (!conn) {
        ctr_problem_nomem(host);
        return;
    }
    source->conn = conn;
    conn->errors = host->errors;
    conn->has_statements = true;
    use_file(source, "main");
}

/* ---- reading --------------------------------------------------------------------------------- */

static void refuse_generated_in(const ctr_source *source, const ctr_named *named)
{
    if (named && named->object == CTR_OBJECT_TABLE && ctr_schema_may_generate(named))
        ctr_schema_refuse_generated(source->conn, source->schema, named->name);
}

static int check_source(ctr_source *source)
{
    ctr_catalog *catalog = &source->catalog;
    if (!source->own) read_objects(source);
    for (const char *const *of = ctr_stored_of_file(); *of && ctr_rc(source->conn) == SQLITE_OK;
         of++)
        refuse_generated_in(source, ctr_schema_objects_find(source->objects, *of));
    if (ctr_rc(source->conn) == SQLITE_OK) ctr_catalog_read(catalog, source->file);
    for (int i = 0; i < catalog->n && ctr_rc(source->conn) == SQLITE_OK; i++) {
        const ctr_catalog_entry *of = &catalog->entries[i];
        for (const char *const *suffix = ctr_stored_suffixes(); *suffix; suffix++)
            refuse_generated_in(source,
                                ctr_schema_objects_stored(source->objects, of->name, *suffix));
        ctr_problem_where(source->conn, "table %s", of->birth);
    }
    return ctr_rc(source->conn);
}

/* A value that is not an integer counts as higher than all numbers. */
static int64_t take_last_number(sqlite3_stmt *row, int column)
{
    int type = sqlite3_column_type(row, column);
    if (type == SQLITE_NULL) return 0;
    return type == SQLITE_INTEGER ? sqlite3_column_int64(row, column) : INT64_MAX;
}

/* Reads the last number of the journal for each bit of a table. */
static void read_last_numbers(const ctr_source *source, int64_t last[CTR_GROUP_BITS])
{
    ctr_run run = ctr_run_on(source->conn, source->schema, NULL);
    memset(last, 0, CTR_GROUP_BITS * sizeof *last);
    sqlite3_stmt *row = ctr_file_take(source->file, CTR_FILE_MASKS);
    while (ctr_run_row(&run, row)) {
        int64_t number = take_last_number(row, 0), tabs = sqlite3_column_int64(row, 1);
        for (int i = 0; i < CTR_GROUP_BITS; i++)
            if (tabs >> i & 1) last[i] = number;
    }
    ctr_file_give_back(source->file, CTR_FILE_MASKS, row);
}

static void look_up_newest(const ctr_source *source, const char *table, const int64_t *last,
                           ctr_newest *newest)
{
    ctr_run run = ctr_run_on(source->conn, source->schema, table);
    sqlite3_stmt *row = ctr_file_take(source->file, CTR_FILE_NEWEST);
    ctr_run_bind_text(&run, row, ":name", table);
    if (ctr_run_row(&run, row)) {
        int64_t number = sqlite3_column_int64(row, 1);
        *newest = (ctr_newest){take_last_number(row, 0), take_last_number(row, 2),
                               take_last_number(row, 3), sqlite3_column_int(row, 4)};
        int64_t in_journal = number > 0 ? last[number % CTR_GROUP_BITS] : 0;
        if (in_journal > newest->last) newest->last = in_journal;
    }
    ctr_file_give_back(source->file, CTR_FILE_NEWEST, row);
}

int ctr_source_look(const ctr_source *source, const char *table, ctr_newest *newest)
{
    int64_t last[CTR_GROUP_BITS];
    *newest = (ctr_newest){0};
    read_last_numbers(source, last);
    look_up_newest(source, table, last, newest);
    return ctr_rc(source->conn);
}

/* Reads the newest numbers of all tables, if the stored tables that they share are ordinary ones.
 * Returns the number after the highest of them. */
static int64_t look_at_all(ctr_source *source)
{
    int64_t next = 1, last[CTR_GROUP_BITS];
    const ctr_catalog *catalog = &source->catalog;
    bool is = catalog->n > 0 && ctr_stored_shares(source->objects);
    sqlite3_free(source->newest);
    source->newest = sqlite3_malloc64(((size_t)catalog->n + 1) * sizeof *source->newest);
    if (!source->newest) ctr_problem_nomem(source->conn);
    if (is) read_last_numbers(source, last);
    for (int i = 0; i < catalog->n && ctr_rc(source->conn) == SQLITE_OK; i++) {
        ctr_newest *newest = &source->newest[i];
        *newest = (ctr_newest){0};
        if (is) look_up_newest(source, catalog->entries[i].name, last, newest);
        if (newest->last >= next && newest->last < INT64_MAX) next = newest->last + 1;
    }
    return next;
}

int ctr_source_read(ctr_source *source, ctr_identity *giver)
{
    *giver = (ctr_identity){0};
    check_source(source);
    if (ctr_rc(source->conn) == SQLITE_OK && ctr_file_peek(source->file, giver))
        ctr_problem_where(source->conn, "the giving file");
    if (ctr_rc(source->conn) == SQLITE_OK) giver->next = look_at_all(source);
    return ctr_rc(source->conn);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int open_at_hand(ctr_source *source, ctr_conn *host, const char *schema)
{
    *source = (ctr_source){.db = host->db, .conn = host};
    return use_file(source, schema);
}

/* A connection that writes nothing may read a source itself: nobody counts through it meanwhile. So
 * a server opens no other one for each request. */
static bool only_reads(ctr_run *run)
{
    return ctr_run_number(run, CTR_SQL_SYNC_QUERY_ONLY) != 0 &&
           ctr_run_transaction(run->db, run->slots.schema) != CTR_TXN_WRITE;
}

int ctr_source_open(ctr_source *source, ctr_conn *host, const char *schema)
{
    *source = (ctr_source){.conn = host};
    if (ctr_rc(host) != SQLITE_OK) return ctr_rc(host);
    ctr_run run = ctr_run_on(host, schema, NULL);
    if (!is_file(host->db, schema) || only_reads(&run)) return open_at_hand(source, host, schema);

    bool exclusive = ctr_run_gives(&run, CTR_SQL_SYNC_LOCKING_MODE, "exclusive");
    if (ctr_rc(host) != SQLITE_OK) return ctr_rc(host);
    ctr_problem own;
    ctr_problem_try(host, &own);
    if (exclusive)
        own.rc = SQLITE_LOCKED;
    else
        open_own(source, host, sqlite3_db_filename(host->db, schema), vfs_name(host->db, schema));
    read_objects(source);
    explain_journal(source);
    ctr_problem_end(&own);
    if (own.rc == SQLITE_OK) return SQLITE_OK;
    int code = own.rc & 0xff;
    bool is_final = code == SQLITE_BUSY || code == SQLITE_LOCKED || code == SQLITE_NOMEM ||
                    code == SQLITE_INTERRUPT || code == SQLITE_IOERR;
    if (!exclusive && is_final) { /* the connection of the host would meet this error, too */
        ctr_problem_raise(host, &own);
        return ctr_rc(host);
    }
    ctr_source_close(source);
    source->conn = host;
    int cause = own.rc;
    ctr_problem_close(&own);
    if (ctr_run_transaction(host->db, schema) == CTR_TXN_WRITE)
        return ctr_problem_set(
            host, cause,
            "only this connection can read the file of %s, and it has an open write "
            "transaction: commit first",
            schema);
    return open_at_hand(source, host, schema);
}

static int refuse_path(ctr_conn *conn, const char *path)
{
    ctr_problem_clear(conn);
    return ctr_problem_set(
        conn, SQLITE_CANTOPEN,
        "'%s' is neither an attached database, nor a database file that can be opened, nor a "
        "directory",
        path);
}

/* Refuses a path that is not a file, such as ":memory:". A folder can be opened, but not be
 * read. */
static int check_path(ctr_conn *conn, sqlite3 *db, const char *path)
{
    int code = ctr_rc(conn) & 0xff;
    bool is_folder = code == SQLITE_IOERR && sqlite3_extended_errcode(db) == SQLITE_IOERR_READ;
    if (code == SQLITE_CANTOPEN || is_folder || (ctr_rc(conn) == SQLITE_OK && !is_file(db, "main")))
        return refuse_path(conn, path);
    ctr_problem_where(conn, "%s", path);
    return ctr_rc(conn);
}

int ctr_source_open_path(ctr_source *source, ctr_conn *host, const char *path)
{
    *source = (ctr_source){.conn = host};
    if (!*path) return refuse_path(host, path);
    if (ask_host(host, path)) return ctr_rc(host);
    open_own(source, host, path, vfs_name(host->db, "main"));
    source->path = path;
    return check_path(host, source->db, path);
}

int ctr_source_hold(ctr_source *source)
{
    ctr_conn *conn = source->conn;
    if (!source->own || ctr_rc(conn) != SQLITE_OK) return ctr_rc(conn);
    ctr_run run = ctr_run_on(conn, "main", NULL);
    ctr_run_do(&run, CTR_SQL_SYNC_SNAPSHOT, NULL);
    source->file->held = true;
    read_objects(source);
    explain_journal(source);
    return source->path ? check_path(conn, source->db, source->path) : ctr_rc(conn);
}

int ctr_source_open_to_write(sqlite3 **db, ctr_conn *host, const char *path)
{
    *db = NULL;
    if (!*path) return refuse_path(host, path);
    if (ask_host(host, path)) return ctr_rc(host);
    open_connection(db, host, path, vfs_name(host->db, "main"), SQLITE_OPEN_READWRITE);
    ctr_run run = ctr_run_on(host, "main", NULL);
    run.db = *db;
    if (ctr_rc(host) == SQLITE_OK)
        sqlite3_db_config(*db, SQLITE_DBCONFIG_ENABLE_FKEY, (int)ctr_foreign_enforced(host->db),
                          NULL);
    if (ctr_rc(host) == SQLITE_OK) ctr_run_do(&run, CTR_SQL_SYNC_TOUCH, NULL);
    return check_path(host, *db, path);
}

int ctr_source_append(const ctr_source *source)
{
    if (source->own || ctr_rc(source->conn) != SQLITE_OK) return ctr_rc(source->conn);
    if (ctr_file_is_pending(source->file))
        return ctr_problem_set(source->conn, SQLITE_ERROR,
                               "%s has counted in this transaction, and only what is committed is "
                               "given to other files: COMMIT first",
                               source->schema);
    return ctr_batch_flush_all(source->file);
}

bool ctr_source_same_file(sqlite3 *host, const char *schema, const char *other)
{
    return is_file(host, schema) && is_file(host, other) &&
           ctr_os_is_same(sqlite3_db_filename(host, schema), sqlite3_db_filename(host, other));
}

bool ctr_source_is_file_of(sqlite3 *db, sqlite3 *host)
{
    if (!db || !is_file(host, "main")) return false;
    const char *path = sqlite3_db_filename(db, "main");
    return path && ctr_os_is_same(path, sqlite3_db_filename(host, "main"));
}

void ctr_source_close(ctr_source *source)
{
    ctr_catalog_close(&source->catalog);
    sqlite3_free(source->newest);
    if (source->own && source->conn && source->conn->db == source->db) ctr_conn_drop(source->conn);
    if (source->own) sqlite3_close(source->db);
    *source = (ctr_source){0};
}
