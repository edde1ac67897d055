/* identity/replica.c - the files of a connection: checks whether an identity still describes its
 * file, and renews its witness. */
#include "identity/replica.h"

#include <string.h>

#include "identity/os.h"
#include "identity/succession.h"
#include "sqlite/run.h"

static void free_replica(ctr_replica *replica)
{
    ctr_conn_close_kept(&replica->read);
    ctr_conn_close_kept(&replica->renew);
    ctr_conn_close_kept(&replica->probe);
    ctr_conn_close_kept(&replica->schema_look);
    ctr_schema_objects_close(&replica->objects);
    ctr_storage_close(&replica->storage);
    if (replica->tabs) replica->conn->above.tables->close(replica);
    sqlite3_free(replica->schema);
    sqlite3_free(replica);
}

void ctr_replica_close_all(ctr_conn *conn)
{
    while (conn->replicas) {
        ctr_replica *replica = conn->replicas;
        conn->replicas = replica->next;
        free_replica(replica);
    }
}

/* A new one frees detached files: an application may attach thousands of files, one after the
 * other, each under its own name. */
ctr_replica *ctr_replica_of(ctr_conn *conn, const char *schema)
{
    for (ctr_replica *replica = conn->replicas; replica; replica = replica->next)
        if (sqlite3_stricmp(replica->schema, schema) == 0) return replica;

    for (ctr_replica **at = &conn->replicas; *at;) {
        ctr_replica *replica = *at;
        if (replica->holders > 0 || ctr_run_has_schema(conn->db, replica->schema)) {
            at = &replica->next;
        } else {
            *at = replica->next;
            free_replica(replica);
        }
    }

    ctr_replica *replica = sqlite3_malloc64(sizeof *replica);
    char *name = sqlite3_mprintf("%s", schema);
    if (!replica || !name) {
        sqlite3_free(replica);
        sqlite3_free(name);
        return NULL;
    }
    *replica = (ctr_replica){.conn = conn, .schema = name, .version = 1, .next = conn->replicas};
    conn->replicas = replica;
    return replica;
}

ctr_replica *ctr_replica_hold(ctr_conn *conn, const char *schema)
{
    ctr_replica *replica = ctr_replica_of(conn, schema);
    if (replica) replica->holders++;
    return replica;
}

void ctr_replica_release(ctr_replica *replica)
{
    if (replica) replica->holders--;
}

unsigned ctr_replica_version(ctr_replica *replica)
{
    return replica->checked ? replica->data_version
                            : ctr_run_data_version(replica->conn->db, replica->schema);
}

void ctr_replica_uncheck(ctr_replica *replica)
{
    replica->checked = replica->renewed = false;
    replica->version++;
}

void ctr_replica_forget(ctr_replica *replica)
{
    ctr_replica_uncheck(replica);
    replica->after = CTR_AFTER_NOTHING;
}

void ctr_replica_removed(ctr_replica *replica)
{
    ctr_replica_forget(replica);
    replica->known = replica->numbered = false;
    replica->identity = (ctr_identity){0};
}

enum { DAY_LIMIT = 2 }; /* the limit of new ids in a day because of the fingerprint alone */

/* ---- the schema ------------------------------------------------------------------------------ */

static bool is_same_schema(ctr_replica *replica, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(replica->conn->db, replica->schema, NULL, problem);
    sqlite3_stmt *look =
        ctr_conn_keep(replica->conn, &replica->schema_look, &run, CTR_SQL_TRANSACTION_SCHEMA);
    if (!look) return false;
    bool is_new = sqlite3_stmt_status(look, SQLITE_STMTSTATUS_RUN, 0) == 0;
    ctr_run_row(&run, look);
    sqlite3_reset(look);
    bool again = sqlite3_stmt_status(look, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    ctr_conn_keep_no_more(replica->conn);
    return problem->rc == SQLITE_OK && !is_new && !again;
}

/* A large schema is not kept in memory. */
ctr_objects *ctr_replica_objects(ctr_replica *replica, ctr_problem *problem)
{
    enum { MOST = 4000 };
    ctr_objects *objects = &replica->objects;
    if (is_same_schema(replica, problem) && replica->has_objects) return objects;
    ctr_schema_objects_close(objects);
    ctr_schema_objects_read(objects, replica->conn->db, replica->schema, true, problem);
    replica->has_objects = problem->rc == SQLITE_OK && objects->n + objects->n_triggers <= MOST;
    return problem->rc == SQLITE_OK ? objects : NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Its table may be missing to a kept statement, because its creation was rolled back to a
 * savepoint. */
int ctr_replica_read(ctr_replica *replica, ctr_problem *problem)
{
    replica->identity = (ctr_identity){0};
    replica->version++;
    if (problem->rc != SQLITE_OK) return problem->rc;
    if (replica->read.statement) {
        ctr_problem trouble = {SQLITE_OK, NULL};
        ctr_identity_take(&replica->identity, replica->read.statement, &trouble);
        if (trouble.rc != SQLITE_ERROR) {
            *problem = trouble;
            return problem->rc;
        }
        ctr_problem_close(&trouble);
    }
    sqlite3 *db = replica->conn->db;
    if (ctr_identity_read(&replica->identity, db, replica->schema, problem)) return problem->rc;
    if (!replica->identity.present) return SQLITE_OK;
    ctr_run run = ctr_run_on(db, replica->schema, NULL, problem);
    sqlite3_stmt *rows = ctr_conn_keep(replica->conn, &replica->read, &run, CTR_SQL_IDENTITY_READ);
    if (rows) ctr_identity_take(&replica->identity, rows, problem);
    ctr_conn_keep_no_more(replica->conn);
    return problem->rc;
}

/* DETACH expires every statement, and the next file's object may have the same address. So if the
 * statement was prepared again, nothing is known about the file. */
int ctr_replica_look(ctr_replica *replica, ctr_problem *problem)
{
    bool anew = replica->read.statement &&
                sqlite3_stmt_status(replica->read.statement, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    replica->looked = ctr_os_now();
    return ctr_storage_see(&replica->storage, replica->conn->db, replica->schema, anew,
                           &replica->seen, &replica->attribute, problem);
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
static bool is_still_there(ctr_replica *replica, ctr_problem *problem)
{
    ctr_fingerprint now;
    int64_t passed = ctr_os_now() - replica->looked;
    if (passed < 0 || passed >= replica->identity.renewal) return false;
    if (is_due(&replica->identity, ctr_os_now())) return false;
    if (replica->attribute.state != CTR_ATTRIBUTE_READ) return false;
    ctr_storage_see(&replica->storage, replica->conn->db, replica->schema, false, &now, NULL,
                    problem);
    return problem->rc == SQLITE_OK && ctr_lineage_same_place(&now, &replica->seen);
}

/* ---- the check ------------------------------------------------------------------------------- */

static void judge(ctr_replica *replica, ctr_problem *problem)
{
    const ctr_lineage *lineage = &replica->identity.lineage;
    ctr_verdict verdict = ctr_lineage_judge(lineage, &replica->seen, &replica->attribute);
    int64_t today = 0;
    if (verdict.why != CTR_WHY_NONE && verdict.alone) {
        ctr_run run = ctr_run_on(replica->conn->db, replica->schema, NULL, problem);
        sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_IDENTITY_ALONE);
        ctr_run_bind_int(&run, row, ":now", ctr_os_now());
        if (ctr_run_row(&run, row)) today = sqlite3_column_int64(row, 0);
        sqlite3_finalize(row);
    }
    if (today >= DAY_LIMIT)
        ctr_succession_refuse(replica, CTR_REFUSES_NUMBERS, problem);
    else if (verdict.why != CTR_WHY_NONE && problem->rc == SQLITE_OK)
        ctr_succession_follow(replica, verdict, problem);
    else if (ctr_lineage_outdates(&lineage->pair, &replica->attribute))
        replica->after = CTR_AFTER_READ;
}

/* Returns whether the identity in memory is that of the file. The data version may be that of
 * another file attached under the same name; but then the statement was prepared again. This also
 * happens if this transaction has changed the schema, which the first statement in autocommit
 * cannot have done. */
static bool is_known(ctr_replica *replica, ctr_problem *problem)
{
    if (!replica->known || replica->known_data_version != replica->data_version) return false;
    if (sqlite3_get_autocommit(replica->conn->db) &&
        ctr_storage_stays(&replica->storage, replica->schema))
        return true;
    ctr_problem trouble = {SQLITE_OK, NULL};
    ctr_run run = ctr_run_on(replica->conn->db, replica->schema, NULL, problem);
    sqlite3_stmt *probe =
        ctr_conn_keep(replica->conn, &replica->probe, &run, CTR_SQL_IDENTITY_PROBE);
    bool is_new = probe && sqlite3_stmt_status(probe, SQLITE_STMTSTATUS_RUN, 0) == 0;
    if (!probe) return false;
    run.problem = &trouble;
    ctr_run_row(&run, probe);
    sqlite3_reset(probe);
    bool anew = sqlite3_stmt_status(probe, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    bool known = trouble.rc == SQLITE_OK && !is_new && !anew;
    ctr_problem_close(&trouble);
    ctr_conn_keep_no_more(replica->conn);
    return known;
}

static void check_replica(ctr_replica *replica, ctr_problem *problem)
{
    replica->data_version = ctr_run_data_version(replica->conn->db, replica->schema);
    bool stays = ctr_storage_stays(&replica->storage, replica->schema),
         known = is_known(replica, problem);
    replica->known = false;
    if (!known) replica->numbered = false; /* it may be another file under the same name */
    if (!known && ctr_replica_read(replica, problem)) {
        ctr_identity_offer_fork(replica->conn->db, replica->schema, problem);
        return;
    }
    if (!replica->identity.present) {
        ctr_identity_missing(replica->schema, problem);
        return;
    }
    bool still = known && stays && is_still_there(replica, problem);
    if (problem->rc != SQLITE_OK) return;
    if (!still && ctr_replica_look(replica, problem)) return;
    if (known && stays && !ctr_storage_stays(&replica->storage, replica->schema)) {
        check_replica(replica, problem); /* sqlite3_deserialize has replaced main */
        return;
    }
    if (!still) judge(replica, problem);
    replica->checked = problem->rc == SQLITE_OK;
    replica->renewed = false;
}

const ctr_identity *ctr_replica_identity(ctr_replica *replica, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return NULL;
    if (!replica->checked && ctr_conn_enter(replica->conn, problem)) {
        check_replica(replica, problem);
        ctr_conn_leave(replica->conn, problem);
    }
    return problem->rc == SQLITE_OK ? &replica->identity : NULL;
}

/* ---- renewal --------------------------------------------------------------------------------- */

static void renew(ctr_replica *replica, ctr_problem *problem)
{
    ctr_identity *identity = &replica->identity;
    int64_t now = ctr_os_now();
    if (!is_due(identity, now)) return;
    identity->lineage.pair.number++;
    identity->lineage.pair.random = ctr_succession_random();
    identity->renewed = now;
    replica->after = CTR_AFTER_READ;
    replica->conn->stats.renewals++;

    ctr_run run = ctr_run_on(replica->conn->db, replica->schema, NULL, problem);
    sqlite3_stmt *row = ctr_conn_keep(replica->conn, &replica->renew, &run, CTR_SQL_IDENTITY_RENEW);
    bool witnessed = replica->attribute.state == CTR_ATTRIBUTE_READ || identity->lineage.witnessed;
    ctr_run_bind_int(&run, row, ":number", identity->lineage.pair.number);
    ctr_run_bind_int(&run, row, ":random", identity->lineage.pair.random);
    ctr_run_bind_int(&run, row, ":renewed", identity->renewed);
    ctr_run_bind_int(&run, row, ":witnessed", witnessed);
    ctr_run_row(&run, row);
    sqlite3_reset(row);
    ctr_conn_keep_no_more(replica->conn);
}

static int renew_once(ctr_replica *replica, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK || replica->renewed) return problem->rc;
    if (ctr_conn_enter(replica->conn, problem)) {
        renew(replica, problem);
        ctr_conn_leave(replica->conn, problem);
    }
    replica->renewed = problem->rc == SQLITE_OK;
    return problem->rc;
}

/* ---- counting -------------------------------------------------------------------------------- */

static int say_refusal(const ctr_replica *replica, ctr_problem *problem)
{
    if (strcmp(replica->identity.refuses, CTR_REFUSES_RETIRED) == 0)
        return ctr_problem_set(problem, SQLITE_ERROR,
                               "%s was retired and does not count any more: SELECT "
                               "counter_fork('%s') gives it a new random id",
                               replica->schema, replica->schema);
    if (strcmp(replica->identity.refuses, CTR_REFUSES_REPLACED) == 0)
        return ctr_problem_set(
            problem, SQLITE_ERROR,
            "%s is '%s' and does not count any more, because another file has taken over that "
            "name: SELECT counter_fork('%s') gives it a new random id",
            replica->schema, replica->identity.name, replica->schema);
    if (strcmp(replica->identity.refuses, CTR_REFUSES_NUMBERS) == 0)
        return ctr_problem_set(
            problem, SQLITE_ERROR,
            "%s does not count: its file system changed the inode number of the file three times "
            "in a day, and each change costs a replica id; SELECT counter_trust_witness('%s') "
            "relies on the extended attribute alone, SELECT counter_fork('%s') takes a new id now",
            replica->schema, replica->schema, replica->schema);
    return ctr_problem_set(
        problem, SQLITE_ERROR,
        "%s is '%s' and does not count, because another file may count under that name (%s): "
        "SELECT counter_fork('%s') gives it a new random id",
        replica->schema, replica->identity.name, replica->identity.refuses, replica->schema);
}

bool ctr_replica_prepare_to_count(ctr_replica *replica, ctr_problem *problem)
{
    if (!ctr_replica_identity(replica, problem)) return false;
    if (*replica->identity.refuses) {
        say_refusal(replica, problem);
        return false;
    }
    if (replica->identity.turn == CTR_TURN_WAITS && ctr_conn_enter(replica->conn, problem)) {
        ctr_succession_start(replica, problem);
        ctr_conn_leave(replica->conn, problem);
    }
    return problem->rc == SQLITE_OK && renew_once(replica, problem) == SQLITE_OK;
}

const uint8_t *ctr_replica_id(ctr_replica *replica, ctr_problem *problem)
{
    if (problem->rc == SQLITE_OK && replica->counts_at == replica->version)
        return replica->identity.id;
    if (!ctr_replica_prepare_to_count(replica, problem)) return NULL;
    replica->counted = true;
    replica->counts_at = replica->version;
    return replica->identity.id;
}

int64_t ctr_replica_least_clock(const ctr_replica *replica)
{
    return ctr_identity_least_clock(&replica->identity);
}

bool ctr_replica_has_counted(const ctr_replica *replica)
{
    return replica->counted;
}

void ctr_replica_note_taken(ctr_replica *replica, const ctr_replica *giver)
{
    const ctr_replica *from = giver->counted ? giver : giver->taken_from;
    if (from && from != replica) replica->taken_from = from;
}

const char *ctr_replica_taken_from(const ctr_replica *replica)
{
    return replica->taken_from ? replica->taken_from->schema : NULL;
}

bool ctr_replica_is_pending(const ctr_replica *replica)
{
    return replica->counted || replica->taken_from;
}

const uint8_t *ctr_replica_known_id(const ctr_replica *replica)
{
    bool counts = replica->checked && replica->renewed && !*replica->identity.refuses &&
                  replica->identity.turn != CTR_TURN_WAITS;
    return counts ? replica->identity.id : NULL;
}

int ctr_replica_before_write(ctr_replica *replica, ctr_problem *problem)
{
    if (replica->checked && replica->renewed) return problem->rc;
    return ctr_replica_identity(replica, problem) ? renew_once(replica, problem) : problem->rc;
}
