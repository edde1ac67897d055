/* identity/replacement.c - pending files, their promotion, and files that stop counting. */
#include "identity/replacement.h"

#include <string.h>

#include "identity/replica.h"
#include "identity/names.h"
#include "identity/os.h"
#include "identity/succession.h"
#include "identity/uuid.h"
#include "sqlite/schema.h"

static ctr_run run_of(const ctr_replica *replica, ctr_problem *problem)
{
    return ctr_run_on(replica->transaction->db, replica->schema, NULL, problem);
}

/* ---- epochs ---------------------------------------------------------------------------------- */

static void write_names(ctr_replica *replica, ctr_run *run)
{
    replica->identity.names = ctr_names_known(run);
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_IDENTITY_NAMES);
    if (row) sqlite3_bind_int64(row, 1, replica->identity.names);
    ctr_run_row(run, row);
    sqlite3_finalize(row);
}

/* Stops the file from counting if another file has taken over its name, or is about to. A file that
 * waits to take it over will count under the next epoch. */
static void check_epoch(ctr_replica *replica, ctr_run *run)
{
    const ctr_identity *identity = &replica->identity;
    if (!*identity->name || identity->turn == CTR_TURN_WAITS || *identity->refuses) return;
    if (ctr_names_named_epoch(run, identity->name) > identity->epoch)
        ctr_succession_refuse(replica, CTR_REFUSES_REPLACED, run->problem);
}

int ctr_replacement_meet(ctr_replica *replica, sqlite3 *db, const char *schema,
                         const ctr_identity *other, ctr_problem *problem)
{
    const ctr_identity *identity = ctr_replica_identity(replica, problem);
    if (!identity || identity->names == other->names || other->names == 0) return problem->rc;
    ctr_run run = run_of(replica, problem), from = ctr_run_on(db, schema, NULL, problem);
    if (!ctr_transaction_enter(replica->transaction, problem)) return problem->rc;
    ctr_schema_refuse_generated(db, schema, "counter_sources", problem);
    ctr_names_take_names(&run, &from);
    write_names(replica, &run);
    check_epoch(replica, &run);
    return ctr_transaction_leave(replica->transaction, problem);
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
    if (row) sqlite3_bind_int64(row, 1, epoch);
    if (row) sqlite3_bind_int(row, 2, (int)turn);
    ctr_run_row(run, row);
    sqlite3_finalize(row);
    if (run->problem->rc != SQLITE_OK) return;
    identity->epoch = epoch;
    identity->turn = turn;
}

static void begin_to_count(ctr_replica *replica, ctr_run *run)
{
    draw_epoch(replica, run, CTR_TURN_COUNTS);
    ctr_names_raise(run, replica->identity.name, replica->identity.epoch);
    write_names(replica, run);
}

int ctr_replacement_start(ctr_replica *replica, ctr_problem *problem)
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

int ctr_replacement_note(ctr_replica *replica, ctr_problem *problem)
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

int ctr_replacement_create(ctr_replica *replica, const char *name, ctr_problem *problem)
{
    uint8_t id[CTR_ID_SIZE];
    ctr_uuid_of_name(name, id);
    ctr_run run = run_of(replica, problem);
    ctr_succession_create_pending(replica, name, problem);
    ctr_names_report_holder(&run, id, name);
    return problem->rc;
}

/* ---- promotion ------------------------------------------------------------------------------- */

static int look_again(ctr_replica *replica, ctr_problem *problem)
{
    if (ctr_replica_read(replica, problem)) return problem->rc;
    if (!replica->identity.present) return ctr_identity_missing(replica->schema, problem);
    return ctr_replica_look(replica, problem);
}

static void check_promotion(ctr_replica *replica, const uint8_t holder[CTR_ID_SIZE],
                            const uint8_t holds[CTR_ID_SIZE], ctr_problem *problem)
{
    ctr_run run = run_of(replica, problem);
    char *missing = ctr_names_missing_to_promote(&run, &replica->identity, holder, holds);
    if (missing && *missing)
        ctr_problem_set(problem, SQLITE_ERROR, "%s cannot take over '%s' yet: %s", replica->schema,
                        replica->identity.name, missing);
    sqlite3_free(missing);
}

static void take_over_name(ctr_replica *replica, const uint8_t holder[CTR_ID_SIZE],
                           ctr_problem *problem)
{
    ctr_identity *identity = &replica->identity;
    ctr_run run = run_of(replica, problem);
    int64_t now = ctr_os_now();
    if (replica->transaction->tables->fold(replica, problem)) return;
    ctr_identity_retire(&run, now);
    memcpy(identity->id, holder, CTR_ID_SIZE);
    identity->turn = CTR_TURN_NONE;
    identity->twist = ctr_succession_random(); /* voids marks of the feed for the holder */
    ctr_identity_write(&run, identity, CTR_WHY_PROMOTED, false, now);
    replica->checked = false;
    replica->after = CTR_AFTER_READ;
}

int ctr_replacement_promote(ctr_replica *replica, const uint8_t holds[CTR_ID_SIZE],
                            ctr_problem *problem)
{
    uint8_t holder[CTR_ID_SIZE];
    const ctr_identity *identity = ctr_replica_identity(replica, problem);
    if (!identity) return problem->rc;
    if (identity->turn == CTR_TURN_NONE)
        return ctr_problem_set(
            problem, SQLITE_ERROR,
            "%s is not a pending file: SELECT counter_init('dc:rack', 'pending') makes "
            "a new file one",
            replica->schema);
    if (!ctr_replica_id(replica, problem) || !ctr_transaction_enter(replica->transaction, problem))
        return problem->rc;
    ctr_uuid_of_name(identity->name, holder);
    check_promotion(replica, holder, holds, problem);
    take_over_name(replica, holder, problem);
    return ctr_transaction_leave(replica->transaction, problem);
}

/* ---- stopping -------------------------------------------------------------------------------- */

int ctr_replacement_yield(ctr_replica *replica, ctr_problem *problem)
{
    const ctr_identity *identity = ctr_replica_identity(replica, problem);
    if (!identity || *identity->refuses || !ctr_transaction_enter(replica->transaction, problem))
        return problem->rc;
    ctr_succession_refuse(replica, CTR_REFUSES_REPLACED, problem);
    return ctr_transaction_leave(replica->transaction, problem);
}

int ctr_replacement_retire(ctr_replica *replica, ctr_problem *problem)
{
    if (!ctr_transaction_enter(replica->transaction, problem)) return problem->rc;
    if (look_again(replica, problem) == SQLITE_OK)
        ctr_succession_refuse(replica, CTR_REFUSES_RETIRED, problem);
    return ctr_transaction_leave(replica->transaction, problem);
}

int ctr_replacement_lose(ctr_replica *replica, const uint8_t id[CTR_ID_SIZE], ctr_problem *problem)
{
    const ctr_identity *identity = ctr_replica_identity(replica, problem);
    if (!identity) return problem->rc;
    if (memcmp(identity->holder, id, CTR_ID_SIZE) == 0 ||
        (memcmp(identity->id, id, CTR_ID_SIZE) == 0 && identity->turn == CTR_TURN_NONE))
        return ctr_problem_set(problem, SQLITE_ERROR, "%s itself has this id", replica->schema);
    ctr_run run = run_of(replica, problem);
    ctr_names_lose(&run, id, identity);
    return ctr_replacement_note(replica, problem);
}
