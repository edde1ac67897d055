/* file/file.c - the files of a connection: checks whether an identity still describes its file,
 * renews its witness, and keeps changed pages in memory. */
#include "file/file.h"

#include <limits.h>
#include <string.h>

static void free_file(ctr_file *file)
{
    for (int i = 0; i < CTR_FILE_STATEMENTS; i++) ctr_conn_close_kept(&file->statements[i]);
    ctr_schema_objects_close(&file->objects);
    ctr_storage_close(&file->storage);
    if (file->tabs) file->conn->above.tables->close(file);
    if (file->foreign) file->free_foreign(file);
    sqlite3_free(file->schema);
    sqlite3_free(file);
}

void ctr_file_close_all(ctr_conn *conn)
{
    while (conn->files) {
        ctr_file *file = conn->files;
        conn->files = file->next;
        free_file(file);
    }
}

/* A new one frees detached files: an application may attach thousands of files, one after the
 * other, each under its own name. */
ctr_file *ctr_file_of(ctr_conn *conn, const char *schema)
{
    for (ctr_file *file = conn->files; file; file = file->next)
        if (sqlite3_stricmp(file->schema, schema) == 0) return file;

    for (ctr_file **at = &conn->files; *at;) {
        ctr_file *file = *at;
        if (file->holders > 0 || ctr_run_has_schema(conn->db, file->schema)) {
            at = &file->next;
        } else {
            *at = file->next;
            free_file(file);
        }
    }

    ctr_file *file = sqlite3_malloc64(sizeof *file);
    char *name = sqlite3_mprintf("%s", schema);
    if (!file || !name) {
        sqlite3_free(file);
        sqlite3_free(name);
        return NULL;
    }
    *file = (ctr_file){.conn = conn, .schema = name, .version = 1, .next = conn->files};
    conn->files = file;
    return file;
}

ctr_file *ctr_file_hold(ctr_conn *conn, const char *schema)
{
    ctr_file *file = ctr_file_of(conn, schema);
    if (file) file->holders++;
    return file;
}

void ctr_file_release(ctr_file *file)
{
    if (file) file->holders--;
}

ctr_run ctr_file_run(const ctr_file *file)
{
    return ctr_run_on(file->conn, file->schema, NULL);
}

sqlite3_stmt *ctr_file_take(ctr_file *file, ctr_file_sql which)
{
    static const ctr_sql TEXTS[CTR_FILE_STATEMENTS] = {
        [CTR_FILE_READ] = CTR_SQL_IDENTITY_READ,
        [CTR_FILE_RENEW] = CTR_SQL_IDENTITY_RENEW,
        [CTR_FILE_PROBE] = CTR_SQL_IDENTITY_PROBE,
        [CTR_FILE_SCHEMA] = CTR_SQL_TRANSACTION_SCHEMA,
        [CTR_FILE_LIST] = CTR_SQL_CATALOG_LIST,
        [CTR_FILE_MARK] = CTR_SQL_MARKS_READ,
        [CTR_FILE_SET_MARK] = CTR_SQL_MARKS_WRITE,
        [CTR_FILE_SOURCE] = CTR_SQL_KNOWN_READ,
        [CTR_FILE_SET_SOURCE] = CTR_SQL_KNOWN_WRITE,
        [CTR_FILE_NUMBER] = CTR_SQL_CATALOG_NUMBER,
        [CTR_FILE_JOURNAL] = CTR_SQL_JOURNAL_READ,
        [CTR_FILE_APPEND] = CTR_SQL_JOURNAL_APPEND,
        [CTR_FILE_CHANGE] = CTR_SQL_JOURNAL_CHANGE,
        [CTR_FILE_COUNT] = CTR_SQL_JOURNAL_COUNT,
        [CTR_FILE_COUNTERS] = CTR_SQL_COLUMNS_ALL,
        [CTR_FILE_FLOORS] = CTR_SQL_FLOORS_READ,
        [CTR_FILE_REQUEST] = CTR_SQL_REQUESTS_FIND,
        [CTR_FILE_SET_REQUEST] = CTR_SQL_REQUESTS_INSERT,
        [CTR_FILE_APART] = CTR_SQL_APART_OF_ROW,
        [CTR_FILE_APART_ANY] = CTR_SQL_APART_ANY,
        [CTR_FILE_APART_ADD] = CTR_SQL_APART_ADD,
        [CTR_FILE_APART_REMOVE] = CTR_SQL_APART_REMOVE,
        [CTR_FILE_APART_COUNT] = CTR_SQL_APART_COUNT,
        [CTR_FILE_HOME] = CTR_SQL_HOME_HOLDS,
        [CTR_FILE_MASKS] = CTR_SQL_JOURNAL_MASKS,
        [CTR_FILE_NEWEST] = CTR_SQL_SYNC_NEWEST,
        [CTR_FILE_SPREAD] = CTR_SQL_SPREAD_READ,
        [CTR_FILE_SEQUENCE] = CTR_SQL_SPREAD_SEQUENCE};
    ctr_run run = ctr_file_run(file);
    return ctr_conn_take(file->conn, &file->statements[which], &run, TEXTS[which]);
}

void ctr_file_give_back(ctr_file *file, ctr_file_sql which, sqlite3_stmt *statement)
{
    ctr_conn_give_back(file->conn, &file->statements[which], statement);
}

unsigned ctr_file_data_version(ctr_file *file)
{
    return file->checked || file->held ? file->data_version
                                       : ctr_run_data_version(file->conn->db, file->schema);
}

void ctr_file_uncheck(ctr_file *file)
{
    file->checked = file->renewed = file->follows = false;
    file->version++;
}

void ctr_file_forget(ctr_file *file)
{
    ctr_file_uncheck(file);
    file->after = CTR_AFTER_NOTHING;
}

void ctr_file_removed(ctr_file *file)
{
    ctr_file_forget(file);
    file->known = file->numbered = false;
    file->identity = (ctr_identity){0};
}

enum { DAY_LIMIT = 2 }; /* the limit of new ids in a day because of the fingerprint alone */

/* ---- the schema ------------------------------------------------------------------------------ */

static bool is_same_schema(ctr_file *file)
{
    ctr_run run = ctr_file_run(file);
    sqlite3_stmt *look = ctr_file_take(file, CTR_FILE_SCHEMA);
    if (!look) return false;
    bool is_new = sqlite3_stmt_status(look, SQLITE_STMTSTATUS_RUN, 0) == 0;
    ctr_run_row(&run, look);
    bool again = sqlite3_stmt_status(look, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    ctr_file_give_back(file, CTR_FILE_SCHEMA, look);
    return ctr_rc(file->conn) == SQLITE_OK && !is_new && !again;
}

ctr_objects *ctr_file_objects(ctr_file *file)
{
    ctr_objects *objects = &file->objects;
    if (ctr_rc(file->conn) != SQLITE_OK) return NULL;
    if (is_same_schema(file) && file->has_objects) return objects;
    ctr_schema_objects_close(objects);
    ctr_schema_objects_read(objects, file->conn, file->schema);
    file->schemas++;
    file->has_objects = ctr_rc(file->conn) == SQLITE_OK;
    return file->has_objects ? objects : NULL;
}

ctr_objects *ctr_file_objects_read_on(ctr_file *file)
{
    if (!file->has_objects) return ctr_file_objects(file);
    if (ctr_schema_objects_read_on(&file->objects)) return NULL;
    is_same_schema(file); /* it is from now on */
    return &file->objects;
}

static bool is_table_among(const ctr_objects *objects, const char *name)
{
    return objects && ctr_schema_objects_is_table(objects, name);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A statement that finds no row is not kept: it may hide columns, as an authorizer wanted that may
 * be gone the next time. */
static void read_row(ctr_file *file, ctr_identity *identity)
{
    sqlite3_stmt *rows = ctr_file_take(file, CTR_FILE_READ);
    if (rows) ctr_identity_take(file->conn, identity, rows);
    if (!identity->present) file->statements[CTR_FILE_READ].expired = true;
    ctr_file_give_back(file, CTR_FILE_READ, rows);
}

/* Its table may be missing to a kept statement, because its creation was rolled back to a
 * savepoint. */
int ctr_file_peek(ctr_file *file, ctr_identity *identity)
{
    *identity = (ctr_identity){0};
    if (ctr_rc(file->conn) != SQLITE_OK) return ctr_rc(file->conn);
    if (file->statements[CTR_FILE_READ].statement) {
        ctr_problem trouble;
        ctr_problem_try(file->conn, &trouble);
        read_row(file, identity);
        bool is_read = trouble.rc != SQLITE_ERROR;
        ctr_problem_raise_if(file->conn, &trouble, is_read);
        if (is_read) return ctr_rc(file->conn);
    }
    bool there = file->has_objects
                     ? is_table_among(ctr_file_objects(file), "counter_replica")
                     : ctr_schema_is_table(file->conn, file->schema, "counter_replica");
    if (there) {
        read_row(file, identity);
        ctr_identity_refuse_unreleased(file->conn);
    }
    return ctr_rc(file->conn);
}

int ctr_file_read(ctr_file *file)
{
    file->version++;
    return ctr_file_peek(file, &file->identity);
}

/* DETACH expires every statement, and the next file's object may have the same address. So if the
 * statement was prepared again, nothing is known about the file. */
int ctr_file_look(ctr_file *file)
{
    sqlite3_stmt *read = file->statements[CTR_FILE_READ].statement;
    bool anew = read && sqlite3_stmt_status(read, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    file->looked = ctr_os_now();
    return ctr_storage_see(&file->storage, file->conn, file->schema, anew, &file->seen,
                           &file->attribute);
}

/* Returns whether the witness must be renewed. The times may have any value: another program may
 * have written the file. */
static bool is_due(const ctr_identity *identity, int64_t now)
{
    uint64_t a = (uint64_t)now, b = (uint64_t)identity->renewed;
    uint64_t passed = now > identity->renewed ? a - b : b - a;
    bool passes = identity->renewal <= 0 || passed >= (uint64_t)identity->renewal;
    return passes && identity->lineage.pair.number < CTR_PAIR_MAX;
}

/* Returns whether it is still the file that was just checked. No other connection has committed
 * since, so only the file at the path may have changed. The attribute takes longer to read, and is
 * read again when the witness must be renewed. */
static bool is_still_there(ctr_file *file)
{
    ctr_fingerprint now;
    int64_t passed = ctr_os_now() - file->looked;
    if (passed < 0 || passed >= file->identity.renewal) return false;
    if (is_due(&file->identity, ctr_os_now())) return false;
    if (file->attribute.state != CTR_ATTRIBUTE_READ) return false;
    ctr_storage_see(&file->storage, file->conn, file->schema, false, &now, NULL);
    return ctr_rc(file->conn) == SQLITE_OK && ctr_lineage_same_place(&now, &file->seen);
}

/* ---- the check ------------------------------------------------------------------------------- */

static void judge(ctr_file *file)
{
    const ctr_lineage *lineage = &file->identity.lineage;
    ctr_verdict verdict = ctr_lineage_judge(lineage, &file->seen, &file->attribute);
    int64_t today = 0;
    if (verdict.why != CTR_WHY_NONE && verdict.alone) {
        ctr_run run = ctr_file_run(file);
        sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_IDENTITY_ALONE);
        ctr_run_bind_int(&run, row, ":now", ctr_os_now());
        if (ctr_run_row(&run, row)) today = sqlite3_column_int64(row, 0);
        sqlite3_finalize(row);
    }
    if (today >= DAY_LIMIT)
        ctr_succession_refuse(file, CTR_REFUSES_NUMBERS);
    else if (verdict.why != CTR_WHY_NONE && ctr_rc(file->conn) == SQLITE_OK)
        ctr_succession_follow(file, verdict);
    else if (ctr_lineage_outdates(&lineage->pair, &file->attribute))
        file->after = CTR_AFTER_READ;
}

/* Returns whether the identity in memory is that of the file. The data version may be that of
 * another file attached under the same name; but then the statement was prepared again. This also
 * happens if this transaction has changed the schema, which the first statement in autocommit
 * cannot have done. */
static bool is_known(ctr_file *file)
{
    if (!file->known || file->known_data_version != file->data_version) return false;
    if (sqlite3_get_autocommit(file->conn->db) && ctr_storage_stays(&file->storage, file->schema))
        return true;
    sqlite3_stmt *probe = ctr_file_take(file, CTR_FILE_PROBE);
    bool is_new = probe && sqlite3_stmt_status(probe, SQLITE_STMTSTATUS_RUN, 0) == 0;
    if (!probe) return false;
    ctr_problem trouble;
    ctr_problem_try(file->conn, &trouble);
    ctr_run run = ctr_file_run(file);
    ctr_run_row(&run, probe);
    bool anew = sqlite3_stmt_status(probe, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    bool known = trouble.rc == SQLITE_OK && !is_new && !anew;
    ctr_file_give_back(file, CTR_FILE_PROBE, probe);
    ctr_problem_close(&trouble);
    return known;
}

static void check_file(ctr_file *file)
{
    file->data_version = ctr_run_data_version(file->conn->db, file->schema);
    bool stays = ctr_storage_stays(&file->storage, file->schema), known = is_known(file);
    file->known = false;
    if (!known) file->numbered = false; /* it may be another file under the same name */
    if (!known && ctr_file_read(file)) {
        ctr_identity_offer_fork(file->conn, file->schema);
        return;
    }
    if (!file->identity.present) {
        ctr_identity_missing(file->conn, file->schema);
        return;
    }
    bool still = known && stays && is_still_there(file);
    if (ctr_rc(file->conn) != SQLITE_OK) return;
    if (!still && ctr_file_look(file)) return;
    if (known && stays && !ctr_storage_stays(&file->storage, file->schema)) {
        check_file(file); /* sqlite3_deserialize has replaced main */
        return;
    }
    if (!still) judge(file);
    file->checked = ctr_rc(file->conn) == SQLITE_OK;
    file->renewed = false;
}

const ctr_identity *ctr_file_identity(ctr_file *file)
{
    if (ctr_rc(file->conn) != SQLITE_OK) return NULL;
    if (!file->checked && ctr_conn_enter(file->conn)) {
        check_file(file);
        ctr_conn_leave(file->conn);
    }
    return ctr_rc(file->conn) == SQLITE_OK ? &file->identity : NULL;
}

/* ---- renewal --------------------------------------------------------------------------------- */

static void renew(ctr_file *file)
{
    ctr_identity *identity = &file->identity;
    int64_t now = ctr_os_now();
    if (!is_due(identity, now)) return;
    identity->lineage.pair.number++;
    identity->lineage.pair.random = ctr_succession_random();
    identity->renewed = now;
    file->after = CTR_AFTER_READ;
    file->conn->stats.renewals++;

    ctr_run run = ctr_file_run(file);
    sqlite3_stmt *row = ctr_file_take(file, CTR_FILE_RENEW);
    bool witnessed = file->attribute.state == CTR_ATTRIBUTE_READ || identity->lineage.witnessed;
    ctr_run_bind_int(&run, row, ":number", identity->lineage.pair.number);
    ctr_run_bind_int(&run, row, ":random", identity->lineage.pair.random);
    ctr_run_bind_int(&run, row, ":renewed", identity->renewed);
    ctr_run_bind_int(&run, row, ":witnessed", witnessed);
    ctr_run_row(&run, row);
    ctr_file_give_back(file, CTR_FILE_RENEW, row);
}

static int renew_once(ctr_file *file)
{
    if (ctr_rc(file->conn) != SQLITE_OK || file->renewed) return ctr_rc(file->conn);
    if (ctr_conn_enter(file->conn)) {
        renew(file);
        ctr_conn_leave(file->conn);
    }
    file->renewed = ctr_rc(file->conn) == SQLITE_OK;
    return ctr_rc(file->conn);
}

/* ---- counting -------------------------------------------------------------------------------- */

bool ctr_file_prepare_to_count(ctr_file *file)
{
    if (!ctr_file_identity(file)) return false;
    if (*file->identity.refuses) {
        ctr_identity_say_refusal(file->conn, &file->identity, file->schema);
        return false;
    }
    if (file->identity.turn == CTR_TURN_WAITS && ctr_conn_enter(file->conn)) {
        ctr_succession_start(file);
        ctr_conn_leave(file->conn);
    }
    return ctr_rc(file->conn) == SQLITE_OK && renew_once(file) == SQLITE_OK;
}

const ctr_leader *ctr_file_leader(ctr_file *file)
{
    if (ctr_rc(file->conn) == SQLITE_OK && file->leads_at == file->version) return &file->leader;
    if (!ctr_file_prepare_to_count(file)) return NULL;
    file->counted = true;
    memcpy(file->leader.id, file->identity.id, CTR_ID_SIZE);
    file->leader.least = ctr_identity_least_clock(&file->identity);
    file->leads_at = file->version;
    return &file->leader;
}

bool ctr_file_has_counted(const ctr_file *file)
{
    return file->counted;
}

bool ctr_file_is_new(const ctr_file *file)
{
    return file->follows;
}

void ctr_file_note_taken(ctr_file *file, const ctr_file *giver)
{
    const ctr_file *from = giver->counted ? giver : giver->taken_from;
    if (from && from != file) file->taken_from = from;
}

const char *ctr_file_taken_from(const ctr_file *file)
{
    return file->taken_from ? file->taken_from->schema : NULL;
}

bool ctr_file_is_pending(const ctr_file *file)
{
    return file->counted || file->taken_from;
}

const uint8_t *ctr_file_known_id(const ctr_file *file)
{
    bool counts = file->checked && file->renewed && !*file->identity.refuses &&
                  file->identity.turn != CTR_TURN_WAITS;
    return counts ? file->identity.id : NULL;
}

int ctr_file_before_write(ctr_file *file)
{
    if (file->checked && file->renewed) return ctr_rc(file->conn);
    return ctr_file_identity(file) ? renew_once(file) : ctr_rc(file->conn);
}

/* =================================================================================================
 * spill - keeps the changed pages of a file in memory. */

/* SQLite takes the lock PENDING on its way to EXCLUSIVE, and keeps it if readers are there. Under
 * WAL the lock stays SHARED. */
static int lock_of(ctr_file *file)
{
    int lock = SQLITE_LOCK_NONE;
    ctr_run_ask_file(file->conn->db, file->schema, SQLITE_FCNTL_LOCKSTATE, &lock);
    return lock;
}

/* If it fails, as after an interrupt, the next call tries again. */
static void keep_pages(ctr_file *file)
{
    if (file->spill > 0) return;
    ctr_problem none;
    ctr_problem_try(file->conn, &none);
    ctr_run run = ctr_run_on(file->conn, file->schema, NULL);
    int spill = (int)ctr_run_number(&run, CTR_SQL_SYNC_SPILL);
    if (spill > 0 && spill < INT_MAX) ctr_run_set(&run, CTR_SQL_SYNC_SET_SPILL, INT_MAX);
    if (spill > 0 && spill < INT_MAX && none.rc == SQLITE_OK) file->spill = spill;
    file->spills_safely = none.rc == SQLITE_OK;
    ctr_problem_close(&none);
}

void ctr_spill_check(ctr_file *file)
{
    if (file->spills_safely) return;
    int lock = lock_of(file);
    if (lock == SQLITE_LOCK_PENDING)
        keep_pages(file);
    else if (lock != SQLITE_LOCK_RESERVED)
        file->spills_safely = lock == SQLITE_LOCK_EXCLUSIVE ||
                              ctr_run_transaction(file->conn->db, file->schema) == CTR_TXN_WRITE;
}

/* A lock that is free now is taken, as SQLite itself is about to do. */
int ctr_spill_before_commit(ctr_file *file, bool waited)
{
    sqlite3_file *handle = NULL;
    if (file->spills_safely && file->spill == 0) return SQLITE_OK;
    int lock = lock_of(file);
    if (lock == SQLITE_LOCK_RESERVED && file->conn->noted) keep_pages(file);
    if (lock != SQLITE_LOCK_PENDING) return SQLITE_OK;
    keep_pages(file);
    if (!waited) return SQLITE_OK;
    ctr_run_ask_file(file->conn->db, file->schema, SQLITE_FCNTL_FILE_POINTER, &handle);
    if (!handle || !handle->pMethods) return SQLITE_OK;
    int rc = handle->pMethods->xLock(handle, SQLITE_LOCK_EXCLUSIVE);
    return rc == SQLITE_BUSY ? SQLITE_BUSY : SQLITE_OK;
}

void ctr_spill_restore(ctr_file *file)
{
    ctr_problem none;
    ctr_problem_try(file->conn, &none);
    ctr_run run = ctr_run_on(file->conn, file->schema, NULL);
    file->spills_safely = false;
    if (file->spill > 0) ctr_run_set(&run, CTR_SQL_SYNC_SET_SPILL, file->spill);
    if (none.rc == SQLITE_OK) file->spill = 0;
    ctr_problem_close(&none);
}
