/* table/events.c - commits, rollbacks and savepoints of all files of a connection. */
#include "table/table.h"

static ctr_conn *transaction_of(sqlite3_vtab *base)
{
    return ((ctr_joined *)base)->conn;
}

/* SQLite does not fetch the message of a SAVEPOINT that failed, and would show it for a later
 * error; so it is freed here. */
static void free_message(ctr_joined *joined)
{
    sqlite3_free(joined->base.zErrMsg);
    joined->base.zErrMsg = NULL;
}

/* `told` holds for this transaction alone. SQLite calls the tables that are told at savepoints and
 * at the end. */
static void set_told(ctr_joined *joined, bool told)
{
    ctr_conn *conn = joined->conn;
    free_message(joined);
    if (told == joined->told) return;
    if (conn->told == 0) { /* no table saw savepoints end meanwhile */
        for (ctr_file *file = conn->files; file; file = file->next)
            ctr_batch_end_savepoint(file, 0);
        conn->depth = 0;
    }
    conn->told += told ? 1 : -1;
    if (conn->told < 0) conn->told = 0; /* the first table called at the end cleared it */
    joined->told = told;
}

/* SQLite makes each call to all tables that have joined, one after the other and always in the same
 * order: one round. Returns whether the call begins a round. Only this first one has work to do. */
static bool begins_round(ctr_joined *joined, ctr_call call, int level)
{
    ctr_conn *conn = joined->conn;
    bool goes_on = conn->round.call == call && conn->round.level == level &&
                   joined->round != conn->round.number;
    if (!goes_on) conn->round.number++;
    conn->round.call = call;
    conn->round.level = level;
    joined->round = conn->round.number;
    return !goes_on;
}

int ctr_events_begin(sqlite3_vtab *base)
{
    ctr_joined *joined = (ctr_joined *)base;
    set_told(joined, true);
    joined->round = 0;
    ctr_conn_end_round(joined->conn);
    return SQLITE_OK;
}

/* ---- what runs ------------------------------------------------------------------------------- */

static bool is_any_writing(sqlite3 *db, sqlite3_stmt *statement, int looks)
{
    while (statement) {
        if (sqlite3_stmt_busy(statement) && !sqlite3_stmt_readonly(statement)) return true;
        if (--looks == 0) break;
        statement = sqlite3_next_stmt(db, statement);
    }
    return false;
}

/* Returns whether a writing statement is running. Then a savepoint belongs to that statement,
 * because SQLite refuses a SAVEPOINT meanwhile. The statement was usually prepared just before the
 * first of those that are kept, as the last time. Else it is the newest one, or was prepared
 * shortly before another that is kept; among other statements, the search stops after LOOKS. */
static bool is_writing(ctr_conn *conn)
{
    enum { SOME = 4, LOOKS = 32 };
    sqlite3 *db = conn->db;
    ctr_kept *last = conn->kept;
    if (last && is_any_writing(db, sqlite3_next_stmt(db, last->statement), 1)) return true;
    sqlite3_stmt *newest = sqlite3_next_stmt(db, NULL);
    if (is_any_writing(db, newest, 1)) return true;
    for (ctr_kept *kept = last; kept; kept = kept->next) {
        if (!is_any_writing(db, sqlite3_next_stmt(db, kept->statement), SOME)) continue;
        ctr_conn_list_first(conn, kept);
        return true;
    }
    return is_any_writing(db, newest, LOOKS);
}

/* ---- the end of a transaction ---------------------------------------------------------------- */

/* A damaged identity has no pair to write. If the identity cannot be read, the transaction fails:
 * SQLite may have rolled everything back because of the error, and a commit would report success
 * for nothing. SQLite rolls nothing back when a read is interrupted, so an interrupt is ignored. */
static void read_pair(ctr_file *file)
{
    ctr_problem trouble;
    if (ctr_rc(file->conn) != SQLITE_OK) return;
    ctr_problem_try(file->conn, &trouble);
    file->identity.present = false;
    if (ctr_run_has_schema(file->conn->db, file->schema)) ctr_file_read(file);
    int code = trouble.rc & 0xff;
    ctr_problem_raise_if(file->conn, &trouble,
                         code != SQLITE_CORRUPT && code != SQLITE_ERROR &&
                             code != SQLITE_INTERRUPT);
    if (code != SQLITE_OK) { /* it is not that of the file */
        file->identity.present = false;
        ctr_file_uncheck(file);
    }
    file->pair = file->identity.lineage.pair;
    file->after = file->identity.present ? CTR_AFTER_WRITE : CTR_AFTER_NOTHING;
}

void ctr_events_write_ahead(ctr_conn *conn)
{
    for (ctr_file *file = conn->files; file; file = file->next) {
        ctr_batch_flush_all(file);
        ctr_fold_grown(file);
        if (conn->told == 0) ctr_file_uncheck(file);
    }
    if (ctr_rc(conn) == SQLITE_OK) conn->noted = false;
}

/* `version` is the data version that our own commit makes. SQLite calls xCommit when the locks are
 * gone: another connection of a shared cache may have committed by then, and the version at that
 * time would stand for its changes, too. */
static void sync_files(ctr_conn *conn)
{
    bool waited = is_writing(conn); /* else a COMMIT runs, which may wait once */
    for (ctr_file *file = conn->files; file; file = file->next)
        if (ctr_spill_before_commit(file, waited) != SQLITE_OK)
            ctr_problem_set(conn, SQLITE_BUSY, "%s", sqlite3_errstr(SQLITE_BUSY));
    if (!conn->spoiled) ctr_events_write_ahead(conn); /* else a fold may find half a statement */
    if (conn->spoiled)
        ctr_problem_set(conn, SQLITE_ABORT,
                        "a statement of this transaction failed half-way and could not be undone: "
                        "the transaction is rolled back");
    for (ctr_file *file = conn->files; file; file = file->next) {
        if (file->after == CTR_AFTER_READ) read_pair(file);
        sqlite3 *db = conn->db;
        file->data_version = ctr_run_data_version(db, file->schema) +
                             (ctr_run_transaction(db, file->schema) == CTR_TXN_WRITE);
        ctr_spill_restore(file);
    }
}

/* A table of another module may have counted since the first call. */
int ctr_events_sync(sqlite3_vtab *base)
{
    ctr_conn *conn = transaction_of(base);
    ctr_problem problem;
    ctr_problem_begin(conn, &problem);
    if (begins_round((ctr_joined *)base, CTR_CALL_SYNC, 0) || conn->noted) sync_files(conn);
    return ctr_arg_table_problem(base, "COMMIT", &problem);
}

static void end_transaction(ctr_conn *conn, bool committed)
{
    if (conn->brought) conn->end_brought(conn->brought, committed);
    for (ctr_file *file = conn->files; file; file = file->next) {
        ctr_file_forget(file);
        ctr_spill_restore(file);
        file->counted = false;
        file->taken_from = NULL;
    }
    conn->spoiled = conn->noted = false;
    conn->told = 0;
    conn->depth = 0;
    ctr_conn_end_round(conn);
    conn->ended++;
}

/* Returns whether no other table that was told has noted the end. */
static bool is_first_at_end(ctr_joined *joined)
{
    bool is = !joined->told || joined->conn->told > 0;
    free_message(joined);
    joined->told = false;
    return is;
}

int ctr_events_commit(sqlite3_vtab *base)
{
    if (!is_first_at_end((ctr_joined *)base)) return SQLITE_OK;
    ctr_conn *conn = transaction_of(base);
    for (ctr_file *file = conn->files; file; file = file->next) {
        ctr_batch_committed(file);
        if (file->checked) file->known_data_version = file->data_version;
        file->known = (file->checked || file->known) && file->identity.present; /* see read_pair */
        if (file->after != CTR_AFTER_WRITE) continue;
        ctr_storage_write(&file->storage, conn, file->schema, &file->seen, &file->pair);
    }
    end_transaction(conn, true);
    return SQLITE_OK;
}

int ctr_events_rollback(sqlite3_vtab *base)
{
    if (!is_first_at_end((ctr_joined *)base)) return SQLITE_OK;
    ctr_conn *conn = transaction_of(base);
    for (ctr_file *file = conn->files; file; file = file->next) {
        ctr_batch_rolled_back(file);
        file->known = false;
    }
    end_transaction(conn, false);
    return SQLITE_OK;
}

/* ---- savepoints ------------------------------------------------------------------------------ */

void ctr_events_append(ctr_conn *conn)
{
    for (ctr_file *file = conn->files; file; file = file->next) ctr_batch_flush_all(file);
}

static bool is_any_pending(ctr_conn *conn)
{
    const ctr_file *file = conn->noted ? conn->files : NULL;
    while (file && !ctr_batch_any_pending(file)) file = file->next;
    conn->noted = file != NULL;
    return conn->noted;
}

/* Batches are appended before a SAVEPOINT, within which tables may be created and dropped. For the
 * savepoint of a statement this would cost too much; a rollback to it cuts the batch. If a batch
 * cannot be appended or marked, a rollback would drop its entries, so the transaction must not
 * commit. */
static void begin_savepoint(ctr_conn *conn, int level)
{
    unsigned nth = conn->ended;
    if (is_any_pending(conn) && !is_writing(conn)) ctr_events_append(conn);
    for (ctr_file *file = conn->files; file; file = file->next)
        ctr_batch_begin_savepoint(file, level);
    if (ctr_rc(conn) == SQLITE_OK)
        conn->depth = level + 1;
    else
        ctr_conn_spoil(conn, nth);
}

/* A table that joins is told of the last savepoint, even if other tables were told before. After
 * its first savepoint, a table is also called for older ones. */
int ctr_events_savepoint(sqlite3_vtab *base, int level)
{
    ctr_joined *joined = (ctr_joined *)base;
    ctr_problem problem;
    ctr_problem_begin(joined->conn, &problem);
    set_told(joined, true);
    bool is_known = joined->round == 0 && level < joined->conn->depth;
    if (!is_known && begins_round(joined, CTR_CALL_SAVEPOINT, level))
        begin_savepoint(joined->conn, level);
    return ctr_arg_table_problem(base, "SAVEPOINT", &problem);
}

int ctr_events_release(sqlite3_vtab *base, int level)
{
    ctr_conn *conn = transaction_of(base);
    if (!begins_round((ctr_joined *)base, CTR_CALL_RELEASE, level)) return SQLITE_OK;
    conn->depth = level;
    for (ctr_file *file = conn->files; file; file = file->next)
        ctr_batch_end_savepoint(file, level);
    if (conn->spoiled_depth > level) conn->spoiled_depth = level;
    return SQLITE_OK;
}

int ctr_events_rollback_to(sqlite3_vtab *base, int level)
{
    ctr_conn *conn = transaction_of(base);
    if (!begins_round((ctr_joined *)base, CTR_CALL_ROLLBACK_TO, level)) return SQLITE_OK;
    for (ctr_file *file = conn->files; file; file = file->next) {
        ctr_file_uncheck(file);
        file->known = false;
        ctr_batch_roll_back_to(file, level);
        if (file->after == CTR_AFTER_WRITE) file->after = CTR_AFTER_READ;
    }
    conn->noted = true; /* appended entries may be pending again */
    conn->unsettled++;
    if (level < conn->spoiled_depth) conn->spoiled = false;
    conn->depth = level + 1;
    return SQLITE_OK;
}

/* ---- a table that is created or dropped within a transaction --------------------------------- */

void ctr_events_witness(ctr_joined *joined)
{
    ctr_conn_require_join(joined->conn);
    ctr_problem_where(joined->conn,
                      "counting in a table that this transaction has created, without a "
                      "SAVEPOINT in between, locks main until the COMMIT");
}

void ctr_events_pass_on(ctr_joined *joined)
{
    if (ctr_rc(joined->conn) != SQLITE_OK || joined->conn->told > joined->told) return;
    ctr_conn_require_join(joined->conn);
}

/* The next round may begin with another table. */
void ctr_events_leave(ctr_joined *joined)
{
    set_told(joined, false);
    ctr_conn_end_round(joined->conn);
}

/* ---- hooks for a change of identity ---------------------------------------------------------- */

/* Draws new tokens, which void the marks of other files for these tables. */
static void catalog_redraw(ctr_conn *conn, const char *schema)
{
    if (!ctr_schema_is_table(conn, schema, "counter_tables")) return;
    ctr_run run = ctr_run_on(conn, schema, NULL);
    ctr_run_do(&run, CTR_SQL_CATALOG_REDRAW, NULL);
}

static void void_marks(ctr_file *file)
{
    catalog_redraw(file->conn, file->schema);
}

/* Folds all tables of the file. Call it before the id changes: amounts belong to the shards of the
 * old id. */
static int fold_file(ctr_file *file)
{
    ctr_catalog catalog = {0};
    ctr_batch_flush_all(file); /* what one carries over stands behind the entries of all others */
    ctr_catalog_read(&catalog, file);
    for (int i = 0; i < catalog.n && ctr_rc(file->conn) == SQLITE_OK; i++) {
        ctr_shape shape = {0};
        const char *name = catalog.entries[i].name;
        ctr_stored_read(&shape, file->conn, file->schema, name);
        ctr_tab *tab = ctr_tab_of(file, name, &shape);
        if (tab) ctr_fold_begin(tab);
        ctr_problem_where(file->conn, "%s", name);
        ctr_shape_close(&shape);
    }
    ctr_catalog_close(&catalog);
    ctr_fold_finish(file);
    for (ctr_tab *tab = file->tabs; tab; tab = tab->next) ctr_journal_drop(tab);
    file->conn->unsettled++; /* another id has another place */
    return ctr_rc(file->conn);
}

/* Frees the tables of a file. */
static void tab_close_all(ctr_file *file)
{
    file->touched = NULL;
    ctr_index_free(file);
    sqlite3_free(file->open.bytes);
    ctr_batch_forget_fed(file);
    file->open = (ctr_packed){0};
    while (file->tabs) {
        ctr_tab *tab = file->tabs;
        file->tabs = tab->next;
        ctr_tab_free(tab);
    }
}

const ctr_file_tables *ctr_events_tables(void)
{
    static const ctr_file_tables TABLES = {fold_file, void_marks, tab_close_all};
    return &TABLES;
}
