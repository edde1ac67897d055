/* file/succession.c - creates and replaces identities: new ids, pending files, promotions. */
#include "file/file.h"

#include <string.h>

#include "file/uuid.h"

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
static void arm(ctr_file *file, ctr_problem *problem)
{
    if (file->attribute.state != CTR_ATTRIBUTE_MISSING || problem->rc != SQLITE_OK) return;
    const ctr_pair oldest = {0, ctr_succession_random()};
    ctr_storage_write(&file->storage, file->conn->db, file->schema, &file->seen, &oldest);
    ctr_file_look(file, problem);
}

/* Records the present fingerprint, and a witness number beyond all earlier ones. */
static void adopt_fingerprint(ctr_file *file, ctr_problem *problem)
{
    ctr_lineage *lineage = &file->identity.lineage;
    int64_t number = ctr_lineage_leap(lineage->pair.number, &file->attribute);
    if (number > CTR_PAIR_MAX / 2)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "the witness of %s has reached its maximum, so it was forged: remove the "
                        "attribute " CTR_OS_ATTRIBUTE " of the file, then "
                        "SELECT counter_fork('%s')",
                        file->schema, file->schema);
    lineage->witnessed = file->attribute.state == CTR_ATTRIBUTE_READ;
    if (!lineage->witnessed) lineage->trusts_witness = false;
    lineage->fingerprint = file->seen;
    lineage->pair = (ctr_pair){number, ctr_succession_random()};
    ctr_file_uncheck(file);
    file->after = CTR_AFTER_READ;
}

/* It also voids the marks of other files for this id. */
void ctr_succession_refuse(ctr_file *file, const char *why, ctr_problem *problem)
{
    ctr_identity *identity = &file->identity;
    adopt_fingerprint(file, problem);
    identity->twist = ctr_succession_random();
    sqlite3_snprintf(sizeof identity->refuses, identity->refuses, "%s", why);
    ctr_run run = ctr_file_run(file, problem);
    ctr_identity_refuse(&run, identity);
    file->conn->above.tables->void_marks(file, problem);
}

void ctr_succession_follow(ctr_file *file, ctr_verdict verdict, ctr_problem *problem)
{
    file->conn->stats.changes++;
    if (*file->identity.name) {
        ctr_succession_refuse(file, ctr_lineage_why(verdict.why), problem);
        return;
    }
    ctr_identity *identity = &file->identity;
    ctr_run run = ctr_file_run(file, problem);
    int64_t now = ctr_os_now();
    file->conn->above.tables->fold(file, problem);
    if (verdict.why == CTR_WHY_COPY) arm(file, problem);
    adopt_fingerprint(file, problem);
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

static int create_identity(ctr_file *file, const char *name, bool pending, ctr_problem *problem)
{
    ctr_identity *identity = &file->identity;
    sqlite3 *db = file->conn->db;
    if (ctr_identity_read(identity, db, file->schema, problem)) return problem->rc;
    if (identity->present) return ctr_identity_check_name(identity, file->schema, name, problem);
    if (ctr_file_look(file, problem)) return problem->rc;
    bool used = file->attribute.state == CTR_ATTRIBUTE_READ && file->attribute.pair.number > 0;
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
    arm(file, problem);
    identity->lineage.witnessed = file->attribute.state == CTR_ATTRIBUTE_READ;
    identity->lineage.fingerprint = file->seen;
    identity->lineage.pair =
        (ctr_pair){used ? ctr_lineage_leap(0, &file->attribute) : 1, ctr_succession_random()};
    identity->renewal = CTR_RENEWAL;
    ctr_run run = ctr_run_on(db, file->schema, NULL, problem);
    ctr_identity_create(&run);
    ctr_identity_write(&run, identity, CTR_WHY_CREATED, false, now);
    ctr_file_uncheck(file);
    file->after = CTR_AFTER_READ;
    return problem->rc;
}

int ctr_succession_create(ctr_file *file, const char *name, ctr_problem *problem)
{
    if (!ctr_conn_enter(file->conn, problem)) return problem->rc;
    create_identity(file, name, false, problem);
    return ctr_conn_leave(file->conn, problem);
}

/* ---- changes on request ---------------------------------------------------------------------- */

/* If it returns SQLITE_OK and the identity is absent, there is nothing to change. */
static int look(ctr_file *file, ctr_problem *problem)
{
    if (ctr_file_read(file, problem) || !file->identity.present) return problem->rc;
    return ctr_file_look(file, problem);
}

int ctr_succession_lineage_changed(ctr_file *file, ctr_why why, ctr_problem *problem)
{
    if (!ctr_conn_enter(file->conn, problem)) return problem->rc;
    if (look(file, problem) == SQLITE_OK && file->identity.present)
        ctr_succession_follow(file, (ctr_verdict){why, false}, problem);
    return ctr_conn_leave(file->conn, problem);
}

/* Writes a new identity in place of a damaged one. The amounts of the journals belong to the
 * damaged id, if it can still be read; otherwise they go to a new shard. */
static void repair_identity(ctr_file *file, ctr_problem *problem)
{
    const ctr_identity damaged = file->identity;
    ctr_identity mended = {.lineage.pair.number = 1, .floors = ctr_succession_random()};
    mended.renewal = CTR_RENEWAL;
    ctr_uuid_random(mended.holder);
    ctr_uuid_random(mended.id);
    if (damaged.present) memcpy(mended.id, damaged.id, CTR_ID_SIZE);
    file->identity = mended;
    ctr_run run = ctr_file_run(file, problem);
    ctr_run_do(&run, CTR_SQL_IDENTITY_CLEAR, NULL);
    ctr_identity_write(&run, &mended, CTR_WHY_FORK, false, ctr_os_now());
}

/* Repairs only damage: an identity of a newer format must not be overwritten. */
int ctr_succession_fork(ctr_file *file, ctr_problem *problem)
{
    if (!ctr_conn_enter(file->conn, problem)) return problem->rc;
    ctr_problem damage = {SQLITE_OK, NULL};
    ctr_file_read(file, &damage);
    if (damage.rc == SQLITE_CORRUPT_VTAB) {
        ctr_problem_close(&damage);
        repair_identity(file, problem);
    } else {
        *problem = damage;
        if (problem->rc == SQLITE_OK && !file->identity.present)
            ctr_identity_missing(file->schema, problem);
    }
    if (ctr_file_look(file, problem) == SQLITE_OK) {
        file->identity.name[0] = '\0';
        file->identity.lineage.trusts_witness = false;
        ctr_succession_follow(file, (ctr_verdict){CTR_WHY_FORK, false}, problem);
    }
    return ctr_conn_leave(file->conn, problem);
}

/* It lifts a refusal to count only if inode numbers were the reason. */
static int trust_witness(ctr_file *file, ctr_problem *problem)
{
    ctr_identity *identity = &file->identity;
    if (look(file, problem)) return problem->rc;
    if (!identity->present) return ctr_identity_missing(file->schema, problem);
    if (*identity->refuses && strcmp(identity->refuses, CTR_REFUSES_NUMBERS) != 0)
        return ctr_problem_set(
            problem, SQLITE_ERROR,
            "%s does not count for another reason (%s), which trusting the witness does not solve: "
            "SELECT counter_fork('%s') gives it a new random id",
            file->schema, identity->refuses, file->schema);
    if (*identity->name && !ctr_lineage_same_place(&identity->lineage.fingerprint, &file->seen))
        return ctr_problem_set(
            problem, SQLITE_ERROR,
            "%s is '%s' and looks like a copy of the file that counts under that "
            "name: SELECT counter_fork('%s') gives it a new random id",
            file->schema, identity->name, file->schema);
    identity->lineage.trusts_witness = true;
    if (file->storage.kind != CTR_STORAGE_FILE || file->attribute.state != CTR_ATTRIBUTE_READ)
        return ctr_problem_set(
            problem, SQLITE_ERROR,
            "there is no witness to trust: the file has no extended attribute " CTR_OS_ATTRIBUTE
            " of this library; it gets one when it counts, if the file system supports them");
    if (ctr_lineage_judge(&identity->lineage, &file->seen, &file->attribute).why != CTR_WHY_NONE)
        return ctr_problem_set(problem, SQLITE_ERROR,
                               "the witness shows that this is older content: SELECT "
                               "counter_fork('%s') takes a new id",
                               file->schema);
    ctr_run run = ctr_file_run(file, problem);
    ctr_run_do(&run, CTR_SQL_IDENTITY_TRUST, NULL);
    ctr_file_uncheck(file);
    return problem->rc;
}

int ctr_succession_trust_witness(ctr_file *file, ctr_problem *problem)
{
    if (!ctr_conn_enter(file->conn, problem)) return problem->rc;
    trust_witness(file, problem);
    return ctr_conn_leave(file->conn, problem);
}

/* ---- floors ---------------------------------------------------------------------------------- */

int ctr_succession_floors_rose(ctr_file *file, ctr_problem *problem)
{
    if (!ctr_file_identity(file, problem)) return problem->rc;
    int64_t floors = ctr_succession_random();
    ctr_run run = ctr_file_run(file, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_IDENTITY_FLOORS);
    ctr_run_bind_int(&run, row, ":floors", floors);
    ctr_run_once(&run, row);
    file->identity.floors = floors;
    return problem->rc;
}

/* ---- epochs ---------------------------------------------------------------------------------- */

static void write_names(ctr_file *file, ctr_run *run)
{
    file->identity.names = ctr_names_known(run);
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_IDENTITY_NAMES);
    ctr_run_bind_int(run, row, ":names", file->identity.names);
    ctr_run_once(run, row);
}

int ctr_succession_meet(ctr_file *file, sqlite3 *db, const char *schema, const ctr_identity *other,
                        ctr_problem *problem)
{
    const ctr_identity *identity = ctr_file_identity(file, problem);
    if (!identity || identity->names == other->names || other->names == 0) return problem->rc;
    ctr_run run = ctr_file_run(file, problem), from = ctr_run_on(db, schema, NULL, problem);
    if (!ctr_conn_enter(file->conn, problem)) return problem->rc;
    ctr_schema_refuse_generated(db, schema, "counter_sources", problem);
    ctr_names_take_names(&run, &from);
    write_names(file, &run);
    /* Another file has taken over its name, or is about to. A file that waits to take it over will
     * count under the next epoch. */
    bool counts = *identity->name && identity->turn != CTR_TURN_WAITS && !*identity->refuses;
    if (counts && ctr_names_named_epoch(&run, identity->name) > identity->epoch)
        ctr_succession_refuse(file, CTR_REFUSES_REPLACED, problem);
    return ctr_conn_leave(file->conn, problem);
}

/* ---- pending --------------------------------------------------------------------------------- */

/* Sets the epoch after all known epochs of other files. */
static void draw_epoch(ctr_file *file, ctr_run *run, ctr_turn turn)
{
    ctr_identity *identity = &file->identity;
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
    file->version++;
}

static void begin_to_count(ctr_file *file, ctr_run *run)
{
    draw_epoch(file, run, CTR_TURN_COUNTS);
    ctr_names_raise(run, file->identity.name, file->identity.epoch);
    write_names(file, run);
}

int ctr_succession_start(ctr_file *file, ctr_problem *problem)
{
    ctr_run run = ctr_file_run(file, problem);
    char *missing = ctr_names_missing_to_count(&run, &file->identity);
    if (missing && *missing)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s is to take over '%s' and does not count yet: %s; or, if a replica is "
                        "lost for good, SELECT counter_lost(id)",
                        file->schema, file->identity.name, missing);
    sqlite3_free(missing);
    if (problem->rc == SQLITE_OK) begin_to_count(file, &run);
    return problem->rc;
}

int ctr_succession_note(ctr_file *file, ctr_problem *problem)
{
    ctr_run run = ctr_file_run(file, problem);
    if (file->identity.turn != CTR_TURN_WAITS) return problem->rc;
    char *missing = ctr_names_missing_to_count(&run, &file->identity);
    if (missing && !*missing)
        begin_to_count(file, &run);
    else if (file->identity.epoch == 0)
        draw_epoch(file, &run, CTR_TURN_WAITS);
    sqlite3_free(missing);
    return problem->rc;
}

int ctr_succession_create_pending(ctr_file *file, const char *name, ctr_problem *problem)
{
    uint8_t id[CTR_ID_SIZE];
    ctr_uuid_of_name(name, id);
    ctr_run run = ctr_file_run(file, problem);
    if (!ctr_conn_enter(file->conn, problem)) return problem->rc;
    create_identity(file, name, true, problem);
    ctr_conn_leave(file->conn, problem);
    ctr_names_report_holder(&run, id, name);
    return problem->rc;
}

/* ---- promotion ------------------------------------------------------------------------------- */

int ctr_succession_promote(ctr_file *file, const uint8_t holds[CTR_ID_SIZE], ctr_problem *problem)
{
    if (!ctr_file_identity(file, problem)) return problem->rc;
    ctr_identity *identity = &file->identity;
    if (identity->turn == CTR_TURN_NONE)
        return ctr_problem_set(
            problem, SQLITE_ERROR,
            "%s is not a pending file: SELECT counter_init('dc:rack', 'pending') makes "
            "a new file one",
            file->schema);
    if (!ctr_file_leader(file, problem) || !ctr_conn_enter(file->conn, problem)) return problem->rc;

    uint8_t holder[CTR_ID_SIZE];
    ctr_uuid_of_name(identity->name, holder);
    ctr_run run = ctr_file_run(file, problem);
    char *missing = ctr_names_missing_to_promote(&run, identity, holder, holds);
    if (missing && *missing)
        ctr_problem_set(problem, SQLITE_ERROR, "%s cannot take over '%s' yet: %s", file->schema,
                        identity->name, missing);
    sqlite3_free(missing);

    int64_t now = ctr_os_now();
    if (file->conn->above.tables->fold(file, problem) == SQLITE_OK) {
        ctr_identity_retire(&run, now);
        memcpy(identity->id, holder, CTR_ID_SIZE);
        identity->turn = CTR_TURN_NONE;
        identity->twist = ctr_succession_random(); /* voids marks of the feed for the holder */
        ctr_identity_write(&run, identity, CTR_WHY_PROMOTED, false, now);
        ctr_file_uncheck(file);
        file->after = CTR_AFTER_READ;
    }
    return ctr_conn_leave(file->conn, problem);
}

/* ---- stopping -------------------------------------------------------------------------------- */

int ctr_succession_yield(ctr_file *file, ctr_problem *problem)
{
    const ctr_identity *identity = ctr_file_identity(file, problem);
    if (!identity || *identity->refuses || !ctr_conn_enter(file->conn, problem)) return problem->rc;
    ctr_succession_refuse(file, CTR_REFUSES_REPLACED, problem);
    return ctr_conn_leave(file->conn, problem);
}

int ctr_succession_retire(ctr_file *file, ctr_problem *problem)
{
    if (!ctr_conn_enter(file->conn, problem)) return problem->rc;
    if (ctr_file_read(file, problem) == SQLITE_OK && !file->identity.present)
        ctr_identity_missing(file->schema, problem);
    if (problem->rc == SQLITE_OK && ctr_file_look(file, problem) == SQLITE_OK)
        ctr_succession_refuse(file, CTR_REFUSES_RETIRED, problem);
    return ctr_conn_leave(file->conn, problem);
}

int ctr_succession_lose(ctr_file *file, const uint8_t id[CTR_ID_SIZE], ctr_problem *problem)
{
    const ctr_identity *identity = ctr_file_identity(file, problem);
    if (!identity) return problem->rc;
    if (memcmp(identity->holder, id, CTR_ID_SIZE) == 0 ||
        (memcmp(identity->id, id, CTR_ID_SIZE) == 0 && identity->turn == CTR_TURN_NONE))
        return ctr_problem_set(problem, SQLITE_ERROR, "%s itself has this id", file->schema);
    ctr_run run = ctr_file_run(file, problem);
    ctr_names_lose(&run, id, identity);
    return ctr_succession_note(file, problem);
}
