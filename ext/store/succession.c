/* store/succession.c - identities that begin, end, or stop. */
#include "store/succession.h"

#include <string.h>

#include "store/catalog.h"
#include "store/fold.h"
#include "store/place.h"
#include "store/post.h"
#include "store/uuid.h"

int64_t ctr_succession_random(void)
{
    uint8_t bytes[CTR_ID_SIZE];
    int64_t number;
    ctr_uuid_random(bytes);
    memcpy(&number, bytes, sizeof number);
    return number ? number : 1;
}

/* ---- what follows ---------------------------------------------------------------------------- */

/* From now on this is the place, and nothing older is it. */
static void settle(ctr_post *post, ctr_problem *problem)
{
    ctr_lineage *lineage = &post->identity.lineage;
    int64_t number = ctr_lineage_leap(lineage->pair.number, &post->attribute);
    if (number > CTR_PAIR_MAX / 2)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "the witness of %s is at its end, somebody must have forged it: remove the "
                        "attribute " CTR_PLACE_ATTRIBUTE " of the file, then "
                        "SELECT counter_fork('%s')",
                        post->schema, post->schema);
    if (post->attribute.state != CTR_ATTRIBUTE_READ) lineage->trusts_witness = false;
    lineage->fingerprint = post->seen;
    lineage->pair = (ctr_pair){number, ctr_succession_random()};
    post->checked = false;
    post->after = CTR_AFTER_READ;
}

/* Marks that others have left for this id are void from now on. */
void ctr_succession_refuse(ctr_post *post, const char *why, ctr_problem *problem)
{
    ctr_identity *identity = &post->identity;
    settle(post, problem);
    identity->twist = ctr_succession_random();
    sqlite3_snprintf(sizeof identity->refuses, identity->refuses, "%s", why);
    ctr_run run = ctr_run_on(post->guard->db, post->schema, NULL, problem);
    ctr_identity_refuse(&run, identity);
    ctr_catalog_redraw(post->guard->db, post->schema, problem);
}

static void take_new_id(ctr_post *post, ctr_verdict verdict, ctr_problem *problem)
{
    ctr_identity *identity = &post->identity;
    ctr_run run = ctr_run_on(post->guard->db, post->schema, NULL, problem);
    int64_t now = ctr_place_now();
    ctr_fold_file(post, problem);
    settle(post, problem);
    ctr_identity_retire(&run, now);
    ctr_run_do(&run, CTR_SQL_IDENTITY_CLEAR, NULL);
    ctr_uuid_random(identity->id);
    if (verdict.why == CTR_WHY_COPY) ctr_uuid_random(identity->holder);
    identity->name[0] = identity->refuses[0] = '\0';
    identity->turn = CTR_TURN_NONE;
    identity->epoch = identity->twist = 0;
    ctr_identity_write(&run, identity, verdict.why, verdict.alone, now);
}

void ctr_succession_follow(ctr_post *post, ctr_verdict verdict, ctr_problem *problem)
{
    post->guard->stats.changes++;
    if (*post->identity.name)
        ctr_succession_refuse(post, ctr_lineage_why(verdict.why), problem);
    else
        take_new_id(post, verdict, problem);
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
    if (pending) identity->twist = ctr_succession_random(); /* another may have waited before */
    sqlite3_snprintf(sizeof identity->name, identity->name, "%s", name);
}

static int create_identity(ctr_post *post, const char *name, bool pending, ctr_problem *problem)
{
    ctr_identity *identity = &post->identity;
    sqlite3 *db = post->guard->db;
    if (ctr_identity_read(identity, db, post->schema, problem)) return problem->rc;
    if (identity->present) return ctr_identity_check_name(identity, post->schema, name, problem);
    if (ctr_watch_see(post, problem)) return problem->rc;
    bool used = post->attribute.state == CTR_ATTRIBUTE_READ;
    if (used && name)
        return ctr_problem_set(problem, SQLITE_ERROR,
                               "this file has counted under an identity that it has lost, perhaps "
                               "'%s': SELECT counter_init() without a name gives it a random id",
                               name);

    if (name)
        name_identity(identity, name, pending);
    else
        ctr_uuid_random(identity->id);
    int64_t now = ctr_place_now();
    ctr_uuid_random(identity->holder);
    identity->lineage.fingerprint = post->seen;
    identity->lineage.pair =
        (ctr_pair){used ? ctr_lineage_leap(0, &post->attribute) : 1, ctr_succession_random()};
    identity->renewal = CTR_RENEWAL;
    ctr_run run = ctr_run_on(db, post->schema, NULL, problem);
    ctr_identity_create(&run);
    ctr_identity_write(&run, identity, CTR_WHY_CREATED, false, now);
    post->checked = false;
    post->after = CTR_AFTER_READ;
    return problem->rc;
}

int ctr_succession_create(ctr_post *post, const char *name, ctr_problem *problem)
{
    if (!ctr_guard_enter(post, problem)) return problem->rc;
    create_identity(post, name, false, problem);
    return ctr_guard_leave(post, problem);
}

int ctr_succession_create_pending(ctr_post *post, const char *name, ctr_problem *problem)
{
    if (!ctr_guard_enter(post, problem)) return problem->rc;
    create_identity(post, name, true, problem);
    return ctr_guard_leave(post, problem);
}

/* ---- changes that somebody else has found, or wants ------------------------------------------ */

/* SQLITE_OK and an identity that is absent: there is nothing to change. */
static int look(ctr_post *post, ctr_problem *problem)
{
    if (ctr_watch_read(post, problem) || !post->identity.present) return problem->rc;
    return ctr_watch_see(post, problem);
}

int ctr_succession_lineage_changed(ctr_post *post, ctr_why why, ctr_problem *problem)
{
    if (!ctr_guard_enter(post, problem)) return problem->rc;
    if (look(post, problem) == SQLITE_OK && post->identity.present)
        ctr_succession_follow(post, (ctr_verdict){why, false}, problem);
    return ctr_guard_leave(post, problem);
}

/* An identity in the place of one that is damaged. What the journals have was counted under its id,
 * if that can still be read, and goes to a shard of its own otherwise. */
static void mend_identity(ctr_post *post, ctr_problem *problem)
{
    const ctr_identity damaged = post->identity;
    ctr_identity mended = {.lineage.pair.number = 1, .floors = ctr_succession_random()};
    mended.renewal = CTR_RENEWAL;
    ctr_uuid_random(mended.holder);
    ctr_uuid_random(mended.id);
    if (damaged.present) memcpy(mended.id, damaged.id, CTR_ID_SIZE);
    post->identity = mended;
    ctr_run run = ctr_run_on(post->guard->db, post->schema, NULL, problem);
    ctr_run_do(&run, CTR_SQL_IDENTITY_CLEAR, NULL);
    ctr_identity_write(&run, &mended, CTR_WHY_FORK, false, ctr_place_now());
}

/* Only damage is mended: a newer format is not ours to overwrite. */
static void read_for_fork(ctr_post *post, ctr_problem *problem)
{
    ctr_problem damage = {SQLITE_OK, NULL};
    ctr_watch_read(post, &damage);
    if (damage.rc != SQLITE_CORRUPT_VTAB) {
        *problem = damage;
        if (problem->rc == SQLITE_OK && !post->identity.present)
            ctr_identity_missing(post->schema, problem);
        return;
    }
    ctr_problem_close(&damage);
    mend_identity(post, problem);
}

static void fork_identity(ctr_post *post, ctr_problem *problem)
{
    read_for_fork(post, problem);
    if (ctr_watch_see(post, problem)) return;
    ctr_identity *identity = &post->identity;
    identity->name[0] = '\0';
    identity->lineage.trusts_witness = false;
    ctr_succession_follow(post, (ctr_verdict){CTR_WHY_FORK, false}, problem);
}

int ctr_succession_fork(ctr_post *post, ctr_problem *problem)
{
    if (!ctr_guard_enter(post, problem)) return problem->rc;
    fork_identity(post, problem);
    return ctr_guard_leave(post, problem);
}

/* It takes back no other refusal than that of the inode numbers. */
static int trust_witness(ctr_post *post, ctr_problem *problem)
{
    ctr_identity *identity = &post->identity;
    if (look(post, problem)) return problem->rc;
    if (!identity->present) return ctr_identity_missing(post->schema, problem);
    if (*identity->refuses && strcmp(identity->refuses, CTR_REFUSES_NUMBERS) != 0)
        return ctr_problem_set(
            problem, SQLITE_ERROR,
            "%s does not count for another reason (%s), which a witness does not "
            "mend: SELECT counter_fork('%s') gives it a new random id",
            post->schema, identity->refuses, post->schema);
    if (*identity->name && !ctr_lineage_same_place(&identity->lineage.fingerprint, &post->seen))
        return ctr_problem_set(
            problem, SQLITE_ERROR,
            "%s is '%s' and looks like a copy of the file that counts under that "
            "name: SELECT counter_fork('%s') gives it a new random id",
            post->schema, identity->name, post->schema);
    identity->lineage.trusts_witness = true;
    if (post->medium.kind != CTR_MEDIUM_FILE || post->attribute.state != CTR_ATTRIBUTE_READ)
        return ctr_problem_set(
            problem, SQLITE_ERROR,
            "there is no witness to trust: the file has no extended attribute " CTR_PLACE_ATTRIBUTE
            " of ours; it gets one when it counts, where the file system has them");
    if (ctr_lineage_judge(&identity->lineage, &post->seen, &post->attribute).why != CTR_WHY_NONE)
        return ctr_problem_set(problem, SQLITE_ERROR,
                               "the witness says that this is older content: SELECT "
                               "counter_fork('%s') takes a new id",
                               post->schema);
    ctr_run run = ctr_run_on(post->guard->db, post->schema, NULL, problem);
    ctr_run_do(&run, CTR_SQL_IDENTITY_TRUST, NULL);
    post->checked = false;
    return problem->rc;
}

int ctr_succession_trust_witness(ctr_post *post, ctr_problem *problem)
{
    if (!ctr_guard_enter(post, problem)) return problem->rc;
    trust_witness(post, problem);
    return ctr_guard_leave(post, problem);
}

/* ---- floors ---------------------------------------------------------------------------------- */

int ctr_succession_floors_rose(ctr_post *post, ctr_problem *problem)
{
    if (!ctr_watch_merge(post, problem)) return problem->rc;
    int64_t floors = ctr_succession_random();
    ctr_run run = ctr_run_on(post->guard->db, post->schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_IDENTITY_FLOORS);
    if (row) sqlite3_bind_int64(row, 1, floors);
    ctr_run_row(&run, row);
    sqlite3_finalize(row);
    post->identity.floors = floors;
    return problem->rc;
}
