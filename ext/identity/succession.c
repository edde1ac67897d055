/* identity/succession.c - creates and replaces identities: new ids, pending files, promotions. */
#include "identity/succession.h"

#include <string.h>

#include "identity/names.h"
#include "identity/os.h"
#include "identity/replica.h"
#include "identity/uuid.h"
#include "sqlite/schema.h"

static ctr_run run_of(const ctr_replica *replica, ctr_problem *problem)
{
    return ctr_run_on(replica->conn->db, replica->schema, NULL, problem);
}

int64_t ctr_succession_random(void)
{
    uint8_t bytes[CTR_ID_SIZE];
    int64_t number;
    ctr_uuid_random(bytes);
    memcpy(&number, bytes, sizeof number);
    return number ? number : 1;
}

/* ---- a changed lineage ----------------------------------------------------------------------- */

/* Gives a file without an attribute one that is older than any content. If it can be read, the new
 * identity records that attributes work here, so that a backup of this very content, restored into
 * the file after the attribute was lost, is noticed. Not for a restored file: it must still lack
 * its attribute after a rollback. */
static void arm(ctr_replica *replica, ctr_problem *problem)
{
    if (replica->attribute.state != CTR_ATTRIBUTE_MISSING || problem->rc != SQLITE_OK) return;
    const ctr_pair oldest = {0, ctr_succession_random()};
    ctr_storage_write(&replica->storage, replica->conn->db, replica->schema, &replica->seen,
                      &oldest);
    ctr_replica_look(replica, problem);
}

/* Records the present fingerprint, and a witness number beyond all earlier ones. */
static void adopt_fingerprint(ctr_replica *replica, ctr_problem *problem)
{
    ctr_lineage *lineage = &replica->identity.lineage;
    int64_t number = ctr_lineage_leap(lineage->pair.number, &replica->attribute);
    if (number > CTR_PAIR_MAX / 2)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "the witness of %s has reached its maximum, so it was forged: remove the "
                        "attribute " CTR_OS_ATTRIBUTE " of the file, then "
                        "SELECT counter_fork('%s')",
                        replica->schema, replica->schema);
    lineage->witnessed = replica->attribute.state == CTR_ATTRIBUTE_READ;
    if (!lineage->witnessed) lineage->trusts_witness = false;
    lineage->fingerprint = replica->seen;
    lineage->pair = (ctr_pair){number, ctr_succession_random()};
    ctr_replica_uncheck(replica);
    replica->after = CTR_AFTER_READ;
}

/* It also voids the marks of other files for this id. */
void ctr_succession_refuse(ctr_replica *replica, const char *why, ctr_problem *problem)
{
    ctr_identity *identity = &replica->identity;
    adopt_fingerprint(replica, problem);
    identity->twist = ctr_succession_random();
    sqlite3_snprintf(sizeof identity->refuses, identity->refuses, "%s", why);
    ctr_run run = run_of(replica, problem);
    ctr_identity_refuse(&run, identity);
    replica->conn->above.tables->void_marks(replica, problem);
}

void ctr_succession_follow(ctr_replica *replica, ctr_verdict verdict, ctr_problem *problem)
{
    replica->conn->stats.changes++;
    if (*replica->identity.name) {
        ctr_succession_refuse(replica, ctr_lineage_why(verdict.why), problem);
        return;
    }
    ctr_identity *identity = &replica->identity;
    ctr_run run = run_of(replica, problem);
    int64_t now = ctr_os_now();
    replica->conn->above.tables->fold(replica, problem);
    if (verdict.why == CTR_WHY_COPY) arm(replica, problem);
    adopt_fingerprint(replica, problem);
    ctr_identity_retire(&run, now);
    ctr_uuid_random(identity->id);
    if (verdict.why == CTR_WHY_COPY) ctr_uuid_random(identity->holder);
    identity->name[0] = identity->refuses[0] = '\0';
    identity->turn = CTR_TURN_NONE;
    identity->epoch = identity->twist = 0;
    ctr_identity_write(&run, identity, verdict.why, verdict.alone, now);
}

/* ---- the first identity ---------------------------------------------------------------------- */

static void name_identity(ctr_identity *identity, const char *name, bool pending)
{
    uint8_t id[CTR_ID_SIZE];
    ctr_uuid_of_name(name, id);
    if (pending)
        ctr_id_negate(id, identity->id);
    else
        memcpy(identity->id, id, CTR_ID_SIZE);
    identity->turn = pending ? CTR_TURN_WAITS : CTR_TURN_NONE;
    if (pending) identity->twist = ctr_succession_random(); /* an earlier file may have waited */
    sqlite3_snprintf(sizeof identity->name, identity->name, "%s", name);
}

static int create_identity(ctr_replica *replica, const char *name, bool pending,
                           ctr_problem *problem)
{
    ctr_identity *identity = &replica->identity;
    sqlite3 *db = replica->conn->db;
    if (ctr_identity_read(identity, db, replica->schema, problem)) return problem->rc;
    if (identity->present) return ctr_identity_check_name(identity, replica->schema, name, problem);
    if (ctr_replica_look(replica, problem)) return problem->rc;
    bool used =
        replica->attribute.state == CTR_ATTRIBUTE_READ && replica->attribute.pair.number > 0;
    if (used && name)
        return ctr_problem_set(problem, SQLITE_ERROR,
                               "this file has counted under an identity that it has lost, perhaps "
                               "'%s': SELECT counter_init() without a name gives it a random id",
                               name);

    if (name)
        name_identity(identity, name, pending);
    else
        ctr_uuid_random(identity->id);
    int64_t now = ctr_os_now();
    ctr_uuid_random(identity->holder);
    arm(replica, problem);
    identity->lineage.witnessed = replica->attribute.state == CTR_ATTRIBUTE_READ;
    identity->lineage.fingerprint = replica->seen;
    identity->lineage.pair =
        (ctr_pair){used ? ctr_lineage_leap(0, &replica->attribute) : 1, ctr_succession_random()};
    identity->renewal = CTR_RENEWAL;
    ctr_run run = ctr_run_on(db, replica->schema, NULL, problem);
    ctr_identity_create(&run);
    ctr_identity_write(&run, identity, CTR_WHY_CREATED, false, now);
    ctr_replica_uncheck(replica);
    replica->after = CTR_AFTER_READ;
    return problem->rc;
}

int ctr_succession_create(ctr_replica *replica, const char *name, ctr_problem *problem)
{
    if (!ctr_conn_enter(replica->conn, problem)) return problem->rc;
    create_identity(replica, name, false, problem);
    return ctr_conn_leave(replica->conn, problem);
}

/* ---- changes on request ---------------------------------------------------------------------- */

/* If it returns SQLITE_OK and the identity is absent, there is nothing to change. */
static int look(ctr_replica *replica, ctr_problem *problem)
{
    if (ctr_replica_read(replica, problem) || !replica->identity.present) return problem->rc;
    return ctr_replica_look(replica, problem);
}

int ctr_succession_lineage_changed(ctr_replica *replica, ctr_why why, ctr_problem *problem)
{
    if (!ctr_conn_enter(replica->conn, problem)) return problem->rc;
    if (look(replica, problem) == SQLITE_OK && replica->identity.present)
        ctr_succession_follow(replica, (ctr_verdict){why, false}, problem);
    return ctr_conn_leave(replica->conn, problem);
}

/* Writes a new identity in place of a damaged one. The amounts of the journals belong to the
 * damaged id, if it can still be read; otherwise they go to a new shard. */
static void repair_identity(ctr_replica *replica, ctr_problem *problem)
{
    const ctr_identity damaged = replica->identity;
    ctr_identity mended = {.lineage.pair.number = 1, .floors = ctr_succession_random()};
    mended.renewal = CTR_RENEWAL;
    ctr_uuid_random(mended.holder);
    ctr_uuid_random(mended.id);
    if (damaged.present) memcpy(mended.id, damaged.id, CTR_ID_SIZE);
    replica->identity = mended;
    ctr_run run = run_of(replica, problem);
    ctr_run_do(&run, CTR_SQL_IDENTITY_CLEAR, NULL);
    ctr_identity_write(&run, &mended, CTR_WHY_FORK, false, ctr_os_now());
}

/* Repairs only damage: an identity of a newer format must not be overwritten. */
int ctr_succession_fork(ctr_replica *replica, ctr_problem *problem)
{
    if (!ctr_conn_enter(replica->conn, problem)) return problem->rc;
    ctr_problem damage = {SQLITE_OK, NULL};
    ctr_replica_read(replica, &damage);
    if (damage.rc == SQLITE_CORRUPT_VTAB) {
        ctr_problem_close(&damage);
        repair_identity(replica, problem);
    } else {
        *problem = damage;
        if (problem->rc == SQLITE_OK && !replica->identity.present)
            ctr_identity_missing(replica->schema, problem);
    }
    if (ctr_replica_look(replica, problem) == SQLITE_OK) {
        replica->identity.name[0] = '\0';
        replica->identity.lineage.trusts_witness = false;
        ctr_succession_follow(replica, (ctr_verdict){CTR_WHY_FORK, false}, problem);
    }
    return ctr_conn_leave(replica->conn, problem);
}

/* It lifts a refusal to count only if inode numbers were the reason. */
static int trust_witness(ctr_replica *replica, ctr_problem *problem)
{
    ctr_identity *identity = &replica->identity;
    if (look(replica, problem)) return problem->rc;
    if (!identity->present) return ctr_identity_missing(replica->schema, problem);
    if (*identity->refuses && strcmp(identity->refuses, CTR_REFUSES_NUMBERS) != 0)
        return ctr_problem_set(
            problem, SQLITE_ERROR,
            "%s does not count for another reason (%s), which trusting the witness does not solve: "
            "SELECT counter_fork('%s') gives it a new random id",
            replica->schema, identity->refuses, replica->schema);
    if (*identity->name && !ctr_lineage_same_place(&identity->lineage.fingerprint, &replica->seen))
        return ctr_problem_set(
            problem, SQLITE_ERROR,
            "%s is '%s' and looks like a copy of the file that counts under that "
            "name: SELECT counter_fork('%s') gives it a new random id",
            replica->schema, identity->name, replica->schema);
    identity->lineage.trusts_witness = true;
    if (replica->storage.kind != CTR_STORAGE_FILE || replica->attribute.state != CTR_ATTRIBUTE_READ)
        return ctr_problem_set(
            problem, SQLITE_ERROR,
            "there is no witness to trust: the file has no extended attribute " CTR_OS_ATTRIBUTE
            " of this library; it gets one when it counts, if the file system supports them");
    if (ctr_lineage_judge(&identity->lineage, &replica->seen, &replica->attribute).why !=
        CTR_WHY_NONE)
        return ctr_problem_set(problem, SQLITE_ERROR,
                               "the witness shows that this is older content: SELECT "
                               "counter_fork('%s') takes a new id",
                               replica->schema);
    ctr_run run = run_of(replica, problem);
    ctr_run_do(&run, CTR_SQL_IDENTITY_TRUST, NULL);
    ctr_replica_uncheck(replica);
    return problem->rc;
}

int ctr_succession_trust_witness(ctr_replica *replica, ctr_problem *problem)
{
    if (!ctr_conn_enter(replica->conn, problem)) return problem->rc;
    trust_witness(replica, problem);
    return ctr_conn_leave(replica->conn, problem);
}

/* ---- floors ---------------------------------------------------------------------------------- */

int ctr_succession_floors_rose(ctr_replica *replica, ctr_problem *problem)
{
    if (!ctr_replica_identity(replica, problem)) return problem->rc;
    int64_t floors = ctr_succession_random();
    ctr_run run = run_of(replica, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_IDENTITY_FLOORS);
    ctr_run_bind_int(&run, row, ":floors", floors);
    ctr_run_once(&run, row);
    replica->identity.floors = floors;
    return problem->rc;
}

/* ---- epochs ---------------------------------------------------------------------------------- */

static void write_names(ctr_replica *replica, ctr_run *run)
{
    replica->identity.names = ctr_names_known(run);
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_IDENTITY_NAMES);
    ctr_run_bind_int(run, row, ":names", replica->identity.names);
    ctr_run_once(run, row);
}

int ctr_succession_meet(ctr_replica *replica, sqlite3 *db, const char *schema,
                        const ctr_identity *other, ctr_problem *problem)
{
    const ctr_identity *identity = ctr_replica_identity(replica, problem);
    if (!identity || identity->names == other->names || other->names == 0) return problem->rc;
    ctr_run run = run_of(replica, problem), from = ctr_run_on(db, schema, NULL, problem);
    if (!ctr_conn_enter(replica->conn, problem)) return problem->rc;
    ctr_schema_refuse_generated(db, schema, "counter_sources", problem);
    ctr_names_take_names(&run, &from);
    write_names(replica, &run);
    /* Another file has taken over its name, or is about to. A file that waits to take it over will
     * count under the next epoch. */
    bool counts = *identity->name && identity->turn != CTR_TURN_WAITS && !*identity->refuses;
    if (counts && ctr_names_named_epoch(&run, identity->name) > identity->epoch)
        ctr_succession_refuse(replica, CTR_REFUSES_REPLACED, problem);
    return ctr_conn_leave(replica->conn, problem);
}

/* ---- pending --------------------------------------------------------------------------------- */

/* Sets the epoch after all known epochs of other files. */
static void draw_epoch(ctr_replica *replica, ctr_run *run, ctr_turn turn)
{
    ctr_identity *identity = &replica->identity;
    int64_t epoch = ctr_names_epoch(run, identity) + 1;
    if (epoch < identity->epoch) epoch = identity->epoch;
    if (epoch > CTR_EPOCH_MAX)
        ctr_problem_set(run->problem, SQLITE_ERROR,
                        "'%s' has no epoch left: it was replaced %d times", identity->name,
                        CTR_EPOCH_MAX);
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_IDENTITY_EPOCH);
    ctr_run_bind_int(run, row, ":epoch", epoch);
    ctr_run_bind_int(run, row, ":turn", turn);
    ctr_run_once(run, row);
    if (run->problem->rc != SQLITE_OK) return;
    identity->epoch = epoch;
    identity->turn = turn;
    replica->version++;
}

static void begin_to_count(ctr_replica *replica, ctr_run *run)
{
    draw_epoch(replica, run, CTR_TURN_COUNTS);
    ctr_names_raise(run, replica->identity.name, replica->identity.epoch);
    write_names(replica, run);
}

int ctr_succession_start(ctr_replica *replica, ctr_problem *problem)
{
    ctr_run run = run_of(replica, problem);
    char *missing = ctr_names_missing_to_count(&run, &replica->identity);
    if (missing && *missing)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s is to take over '%s' and does not count yet: %s; or, if a replica is "
                        "lost for good, SELECT counter_lost(id)",
                        replica->schema, replica->identity.name, missing);
    sqlite3_free(missing);
    if (problem->rc == SQLITE_OK) begin_to_count(replica, &run);
    return problem->rc;
}

int ctr_succession_note(ctr_replica *replica, ctr_problem *problem)
{
    ctr_run run = run_of(replica, problem);
    if (replica->identity.turn != CTR_TURN_WAITS) return problem->rc;
    char *missing = ctr_names_missing_to_count(&run, &replica->identity);
    if (missing && !*missing)
        begin_to_count(replica, &run);
    else if (replica->identity.epoch == 0)
        draw_epoch(replica, &run, CTR_TURN_WAITS);
    sqlite3_free(missing);
    return problem->rc;
}

int ctr_succession_create_pending(ctr_replica *replica, const char *name, ctr_problem *problem)
{
    uint8_t id[CTR_ID_SIZE];
    ctr_uuid_of_name(name, id);
    ctr_run run = run_of(replica, problem);
    if (!ctr_conn_enter(replica->conn, problem)) return problem->rc;
    create_identity(replica, name, true, problem);
    ctr_conn_leave(replica->conn, problem);
    ctr_names_report_holder(&run, id, name);
    return problem->rc;
}

/* ---- promotion ------------------------------------------------------------------------------- */

int ctr_succession_promote(ctr_replica *replica, const uint8_t holds[CTR_ID_SIZE],
                           ctr_problem *problem)
{
    if (!ctr_replica_identity(replica, problem)) return problem->rc;
    ctr_identity *identity = &replica->identity;
    if (identity->turn == CTR_TURN_NONE)
        return ctr_problem_set(
            problem, SQLITE_ERROR,
            "%s is not a pending file: SELECT counter_init('dc:rack', 'pending') makes "
            "a new file one",
            replica->schema);
    if (!ctr_replica_id(replica, problem) || !ctr_conn_enter(replica->conn, problem))
        return problem->rc;

    uint8_t holder[CTR_ID_SIZE];
    ctr_uuid_of_name(identity->name, holder);
    ctr_run run = run_of(replica, problem);
    char *missing = ctr_names_missing_to_promote(&run, identity, holder, holds);
    if (missing && *missing)
        ctr_problem_set(problem, SQLITE_ERROR, "%s cannot take over '%s' yet: %s", replica->schema,
                        identity->name, missing);
    sqlite3_free(missing);

    int64_t now = ctr_os_now();
    if (replica->conn->above.tables->fold(replica, problem) == SQLITE_OK) {
        ctr_identity_retire(&run, now);
        memcpy(identity->id, holder, CTR_ID_SIZE);
        identity->turn = CTR_TURN_NONE;
        identity->twist = ctr_succession_random(); /* voids marks of the feed for the holder */
        ctr_identity_write(&run, identity, CTR_WHY_PROMOTED, false, now);
        ctr_replica_uncheck(replica);
        replica->after = CTR_AFTER_READ;
    }
    return ctr_conn_leave(replica->conn, problem);
}

/* ---- stopping -------------------------------------------------------------------------------- */

int ctr_succession_yield(ctr_replica *replica, ctr_problem *problem)
{
    const ctr_identity *identity = ctr_replica_identity(replica, problem);
    if (!identity || *identity->refuses || !ctr_conn_enter(replica->conn, problem))
        return problem->rc;
    ctr_succession_refuse(replica, CTR_REFUSES_REPLACED, problem);
    return ctr_conn_leave(replica->conn, problem);
}

int ctr_succession_retire(ctr_replica *replica, ctr_problem *problem)
{
    if (!ctr_conn_enter(replica->conn, problem)) return problem->rc;
    if (ctr_replica_read(replica, problem) == SQLITE_OK && !replica->identity.present)
        ctr_identity_missing(replica->schema, problem);
    if (problem->rc == SQLITE_OK && ctr_replica_look(replica, problem) == SQLITE_OK)
        ctr_succession_refuse(replica, CTR_REFUSES_RETIRED, problem);
    return ctr_conn_leave(replica->conn, problem);
}

int ctr_succession_lose(ctr_replica *replica, const uint8_t id[CTR_ID_SIZE], ctr_problem *problem)
{
    const ctr_identity *identity = ctr_replica_identity(replica, problem);
    if (!identity) return problem->rc;
    if (memcmp(identity->holder, id, CTR_ID_SIZE) == 0 ||
        (memcmp(identity->id, id, CTR_ID_SIZE) == 0 && identity->turn == CTR_TURN_NONE))
        return ctr_problem_set(problem, SQLITE_ERROR, "%s itself has this id", replica->schema);
    ctr_run run = run_of(replica, problem);
    ctr_names_lose(&run, id, identity);
    return ctr_succession_note(replica, problem);
}
