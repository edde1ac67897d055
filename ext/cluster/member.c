/* cluster/member.c - opens, looks at and locks one replica. */
#include "cluster/cluster.h"

#include <string.h>

/* Columns of CTR_SQL_CLUSTER_LOOK. */
enum { LOOK_TABLE, LOOK_TOKEN, LOOK_ID, LOOK_NAME, LOOK_REFUSES };

/* ---- life ------------------------------------------------------------------------------------ */

int ctr_member_open(ctr_member *member, sqlite3 *db, ctr_conn *conn, const char *schema,
                    const bool *within, ctr_problem *problem)
{
    *member = (ctr_member){
        .db = db, .conn = conn, .within = within, .schema = ctr_text_copy(schema, problem)};
    return problem->rc;
}

void ctr_member_forget(ctr_member *member)
{
    if (!member->open) return;
    ctr_stream_release(&member->streams);
    ctr_merge_close(&member->merge);
    sqlite3_finalize(member->schema_look);
    sqlite3_finalize(member->look);
    sqlite3_finalize(member->lock);
    member->schema_look = member->look = member->lock = NULL;
    ctr_file_release(member->file);
    member->file = NULL;
    member->open = member->stale = false;
}

void ctr_member_close(ctr_member *member)
{
    ctr_member_forget(member);
    ctr_stream_release(&member->streams);
    ctr_problem_close(&member->trouble);
    ctr_problem_close(&member->unlocked);
    sqlite3_free(member->schema);
    *member = (ctr_member){0};
}

void ctr_member_end(ctr_member *member)
{
    member->locked = member->left_out = false;
    ctr_problem_close(&member->unlocked);
}

/* SQLITE_IOERR_VNODE is the library's own code: the file was moved, and SQLite rolls nothing
 * back. */
bool ctr_member_ends_statement(int rc)
{
    if (rc == SQLITE_IOERR_VNODE) return false;
    int code = rc & 0xff;
    return ctr_problem_rolls_back(rc) || code == SQLITE_SCHEMA || code == SQLITE_ABORT;
}

void ctr_member_fail(ctr_member *member, ctr_problem *problem)
{
    bool gone = *member->within && sqlite3_get_autocommit(member->db);
    if (problem->rc == SQLITE_OK || gone || ctr_member_ends_statement(problem->rc)) return;
    ctr_problem_close(&member->trouble);
    member->trouble = *problem;
    *problem = (ctr_problem){SQLITE_OK, NULL};
}

void ctr_member_blame(ctr_member *member, ctr_problem *trouble, ctr_problem *problem)
{
    ctr_member_fail(member, trouble);
    if (trouble->rc == SQLITE_OK) return;
    ctr_problem_where(trouble, "replica %s", member->schema);
    if (problem->rc == SQLITE_OK)
        *problem = *trouble;
    else
        ctr_problem_close(trouble);
}

/* If there is no memory for the text, this is a problem of the statement, not the replica's
 * trouble. */
static void copy_problem(ctr_problem *to, const ctr_problem *from, ctr_problem *problem)
{
    ctr_problem_close(to);
    if (from->rc == SQLITE_OK) return;
    ctr_problem_set(to, from->rc, "%s", ctr_problem_text(from));
    if (to->rc == SQLITE_NOMEM) ctr_problem_nomem(problem);
    to->rc = from->rc; /* without the text, then */
}

void ctr_member_bar(ctr_member *member, ctr_problem *problem)
{
    if (member->trouble.rc == SQLITE_OK) return;
    member->locked = false;
    copy_problem(&member->unlocked, &member->trouble, problem);
}

/* ---- looking --------------------------------------------------------------------------------- */

static bool take_bytes(sqlite3_stmt *row, int column, uint8_t bytes[CTR_ID_SIZE])
{
    const void *found = sqlite3_column_blob(row, column);
    if (!found || sqlite3_column_bytes(row, column) != CTR_ID_SIZE) return false;
    memcpy(bytes, found, CTR_ID_SIZE);
    return true;
}

/* Returns whether name, token and id can be read as before. The id may have changed, and with it
 * the token of the table. If some schema has changed, SQLite has prepared the statement again; this
 * is checked before anything is read, because a column may be an expression now. */
static bool is_as_it_was(ctr_member *member, ctr_problem *problem)
{
    if (member->stale) return false;
    ctr_run run = ctr_run_on(member->db, member->schema, NULL, problem);
    ctr_run_row(&run, member->schema_look);
    sqlite3_reset(member->schema_look);
    bool changed = sqlite3_stmt_status(member->schema_look, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    if (changed || problem->rc != SQLITE_OK) return false;
    bool found = ctr_run_row(&run, member->look);
    const char *name = found ? ctr_text_column(member->look, LOOK_TABLE, problem) : NULL;
    bool same = name && strcmp(name, member->merge.entry.name) == 0 &&
                take_bytes(member->look, LOOK_TOKEN, member->merge.entry.token) &&
                take_bytes(member->look, LOOK_ID, member->id);
    if (same) {
        const char *of_file = ctr_text_column(member->look, LOOK_NAME, problem);
        const char *refuses = ctr_text_column(member->look, LOOK_REFUSES, problem);
        sqlite3_snprintf(sizeof member->name, member->name, "%s", of_file ? of_file : "");
        sqlite3_snprintf(sizeof member->refuses, member->refuses, "%s", refuses ? refuses : "");
        member->met = true;
    }
    sqlite3_reset(member->look);
    return same;
}

/* Makes sure first that no view and no expression of another file is run. */
static void read_identity(ctr_member *member, ctr_problem *problem)
{
    static const char *const TABLES[] = {"counter_replica", "counter_tables", "counter_sources"};
    int n = 0;
    for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES && problem->rc == SQLITE_OK; i++) {
        n += ctr_schema_is_table(member->db, member->schema, TABLES[i], problem);
        if (problem->rc == SQLITE_OK)
            ctr_schema_refuse_generated(member->db, member->schema, TABLES[i], problem);
    }
    if (problem->rc == SQLITE_OK && n == 2)
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                        "one of its own tables is missing: it is damaged");
    if (problem->rc != SQLITE_OK) return;

    ctr_identity identity;
    if (ctr_identity_read(&identity, member->db, member->schema, problem)) {
        ctr_identity_offer_fork(member->db, member->schema, problem);
        return;
    }
    if (!identity.present) {
        member->met = false; /* this is another file than the one with that name */
        ctr_problem_set(problem, SQLITE_ERROR, "it has no counter tables");
        return;
    }
    memcpy(member->id, identity.id, CTR_ID_SIZE);
    ctr_conflicts_set_mine(&member->conflicts, &identity);
    memcpy(member->name, identity.name, sizeof member->name);
    member->met = true;
}

/* Opens the table with the birth name. Refuses one that does not fit the cluster. */
static void open_merge(ctr_member *member, const char *birth, const ctr_shape *shape,
                       ctr_problem *problem)
{
    sqlite3 *db = member->db;
    const char *schema = member->schema;
    read_identity(member, problem);
    bool there = ctr_merge_open(&member->merge, member->file, birth, &member->conflicts, problem);
    if (!there) ctr_problem_set(problem, SQLITE_ERROR, "it has no counter table %s", birth);
    if (there && member->merge.tracked)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s is a tracked table there, and a cluster takes only counter tables; "
                        "counter_sync merges tracked ones",
                        birth);
    if (problem->rc != SQLITE_OK) return;
    for (const char *const *suffix = ctr_stored_suffixes(); *suffix; suffix++) {
        char *stored = sqlite3_mprintf("%s_%s", member->merge.entry.name, *suffix);
        if (!stored) ctr_problem_nomem(problem);
        if (problem->rc == SQLITE_OK) ctr_schema_refuse_generated(db, schema, stored, problem);
        sqlite3_free(stored);
    }
    ctr_shape *mine = &member->merge.shape; /* it takes the order of the cluster's columns */
    if (shape && !ctr_shape_check_same(shape, "the cluster", mine, schema, problem)) {
        ctr_shape_close(mine);
        ctr_shape_copy(mine, shape, problem);
        ctr_rows_reorder(&member->merge.rows, problem);
    }
}

static void open_tables(ctr_member *member, const char *birth, const ctr_shape *shape,
                        ctr_problem *problem)
{
    member->file = ctr_file_hold(member->conn, member->schema);
    if (!member->file) {
        ctr_problem_nomem(problem);
        return;
    }
    member->open = true;
    member->conflicts = (ctr_conflicts){.file = member->file};
    member->streams = (ctr_streams){.db = member->db};
    member->floors = (ctr_floors){0};
    open_merge(member, birth, shape, problem);
    if (problem->rc != SQLITE_OK) return;

    const ctr_shape *mine = &member->merge.shape;
    const char *table = member->merge.rows.tab->table;
    member->streams =
        (ctr_streams){.db = member->db, .schema = member->schema, .table = table, .shape = mine};
    member->floors = ctr_floors_on(member->merge.rows.tab, mine);
    member->floors.only_reads = true;
    ctr_run run = ctr_run_on(member->db, member->schema, NULL, problem);
    member->schema_look = ctr_run_prepare(&run, CTR_SQL_CLUSTER_SCHEMA);
    member->look = ctr_run_prepare(&run, CTR_SQL_CLUSTER_LOOK);
    ctr_run_bind_text(&run, member->look, ":birth", member->merge.entry.birth);
    member->lock = ctr_run_prepare(&run, CTR_SQL_SYNC_LOCK);
    if (problem->rc == SQLITE_OK) is_as_it_was(member, problem);
}

bool ctr_member_look(ctr_member *member, const char *birth, const ctr_shape *shape,
                     ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return false;
    ctr_problem_close(&member->trouble);
    ctr_problem trouble = {SQLITE_OK, NULL};
    if (!ctr_run_has_schema(member->db, member->schema)) {
        if (member->streams.out == 0) ctr_member_forget(member);
        ctr_problem_set(&trouble, SQLITE_ERROR, "it is not attached");
        ctr_member_blame(member, &trouble, problem);
        return false;
    }
    ctr_events_append(member->conn, &trouble);
    bool same = member->open && is_as_it_was(member, &trouble);
    member->stale = member->open && !same && trouble.rc == SQLITE_OK;
    if (!same && member->streams.out > 0)
        ctr_problem_set(&trouble, SQLITE_LOCKED, "it has changed while another statement reads it");
    if (!same && trouble.rc == SQLITE_OK) {
        ctr_member_forget(member);
        open_tables(member, birth, shape, &trouble);
    }
    if (trouble.rc != SQLITE_OK && member->streams.out == 0) ctr_member_forget(member);
    ctr_member_blame(member, &trouble, problem);
    member->floors.looked = false;
    return member->open && member->trouble.rc == SQLITE_OK && problem->rc == SQLITE_OK;
}

/* ---- taking part ----------------------------------------------------------------------------- */

/* Conflicts and syncs belong to one transaction. They are forgotten here, not at its end: SQLite
 * may roll a transaction back in the middle of a statement that then continues, and a read that
 * repairs may sync a file and then open no transaction. */
bool ctr_member_lock(ctr_member *member, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK || member->locked) return member->locked;
    member->durable = member->conflicts.own = member->conflicts.replaced = false;
    ctr_problem trouble = {SQLITE_OK, NULL};
    ctr_run run = ctr_run_on(member->db, member->schema, NULL, &trouble);
    if (sqlite3_db_readonly(member->db, member->schema) == 1)
        ctr_problem_set(&trouble, SQLITE_READONLY, "it is read-only");
    if (member->lock) {
        ctr_run_row(&run, member->lock);
        sqlite3_reset(member->lock);
    } else {
        ctr_run_do(&run, CTR_SQL_SYNC_LOCK, NULL);
    }
    member->locked = trouble.rc == SQLITE_OK;
    if (trouble.rc == SQLITE_ERROR) { /* there is no such table */
        ctr_problem_close(&trouble);
        ctr_problem_set(&trouble, SQLITE_ERROR, "it has no counter tables");
    }
    ctr_member_blame(member, &trouble, problem);
    if (!member->locked) copy_problem(&member->unlocked, &member->trouble, problem);
    return member->locked;
}

int ctr_member_look_to_write(ctr_member *member, const char *birth, const ctr_shape *shape,
                             ctr_problem *problem)
{
    member->left_out = false;
    if (!member->locked && member->unlocked.rc != SQLITE_OK) {
        copy_problem(&member->trouble, &member->unlocked, problem);
        return problem->rc;
    }
    ctr_member_look(member, birth, shape, problem);
    if (!member->locked && member->trouble.rc == SQLITE_OK && problem->rc == SQLITE_OK) {
        ctr_problem trouble = {SQLITE_OK, NULL}; /* it was attached after the locks were taken */
        ctr_problem_set(&trouble, SQLITE_ERROR,
                        "it was not available when the transaction took its locks: COMMIT first");
        ctr_member_blame(member, &trouble, problem);
    }
    return problem->rc;
}

bool ctr_member_takes_part(const ctr_member *member)
{
    return member->open && member->locked && !member->left_out && member->trouble.rc == SQLITE_OK;
}

int ctr_member_make_durable(ctr_member *member, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK || member->durable) return problem->rc;
    ctr_source source = {.db = member->db, .schema = member->schema};
    ctr_durable_source(&source, problem);
    member->durable = problem->rc == SQLITE_OK;
    return problem->rc;
}
