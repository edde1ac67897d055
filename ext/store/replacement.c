/* store/replacement.c - pending files, their promotion, and those that make way. */
#include "store/replacement.h"

#include <string.h>

#include "store/fold.h"
#include "store/known.h"
#include "store/place.h"
#include "store/post.h"
#include "store/shape.h"
#include "store/uuid.h"

static ctr_run run_of(const ctr_post *post, ctr_problem *problem)
{
    return ctr_run_on(post->guard->db, post->schema, NULL, problem);
}

/* ---- epochs ---------------------------------------------------------------------------------- */

static void store_number(ctr_run *run, ctr_sql which, int64_t n)
{
    sqlite3_stmt *row = ctr_run_prepare(run, which);
    if (row) sqlite3_bind_int64(row, 1, n);
    ctr_run_row(run, row);
    sqlite3_finalize(row);
}

static void write_names(ctr_post *post, ctr_run *run)
{
    post->identity.names = ctr_known_names(run);
    store_number(run, CTR_SQL_IDENTITY_NAMES, post->identity.names);
}

/* Has somebody else taken over the name, or is about to? A file that is itself about to, and has
 * not counted yet, will count under the next epoch. */
static void heed_epoch(ctr_post *post, ctr_run *run)
{
    const ctr_identity *identity = &post->identity;
    if (!*identity->name || identity->turn == CTR_TURN_WAITS || *identity->refuses) return;
    if (ctr_known_named_epoch(run, identity->name) > identity->epoch)
        ctr_succession_refuse(post, CTR_REFUSES_REPLACED, run->problem);
}

int ctr_replacement_meet(ctr_post *post, sqlite3 *db, const char *schema, const ctr_identity *other,
                         ctr_problem *problem)
{
    const ctr_identity *identity = ctr_watch_merge(post, problem);
    if (!identity || identity->names == other->names || other->names == 0) return problem->rc;
    ctr_run run = run_of(post, problem), from = ctr_run_on(db, schema, NULL, problem);
    if (!ctr_guard_enter(post, problem)) return problem->rc;
    ctr_shape_refuse_generated(db, schema, "counter_names", problem);
    ctr_known_take_names(&run, &from);
    write_names(post, &run);
    heed_epoch(post, &run);
    return ctr_guard_leave(post, problem);
}

/* ---- pending --------------------------------------------------------------------------------- */

static int refuse_to_start(const ctr_post *post, const char *missing, ctr_problem *problem)
{
    return ctr_problem_set(
        problem, SQLITE_ERROR,
        "%s is to take over '%s' and does not count yet: %s; or, if a replica is "
        "lost for good, SELECT counter_lost(id)",
        post->schema, post->identity.name, missing);
}

/* The one behind those of all others that are known. */
static void draw_epoch(ctr_post *post, ctr_run *run, ctr_turn turn)
{
    ctr_identity *identity = &post->identity;
    int64_t epoch = ctr_known_epoch(run, identity) + 1;
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

static void begin_to_count(ctr_post *post, ctr_run *run)
{
    draw_epoch(post, run, CTR_TURN_COUNTS);
    ctr_known_raise(run, post->identity.name, post->identity.epoch);
    write_names(post, run);
}

int ctr_replacement_start(ctr_post *post, ctr_problem *problem)
{
    ctr_run run = run_of(post, problem);
    char *missing = ctr_known_missing_to_count(&run, &post->identity);
    if (missing && *missing) refuse_to_start(post, missing, problem);
    sqlite3_free(missing);
    if (problem->rc == SQLITE_OK) begin_to_count(post, &run);
    return problem->rc;
}

int ctr_replacement_note(ctr_post *post, ctr_problem *problem)
{
    ctr_run run = run_of(post, problem);
    if (post->identity.turn != CTR_TURN_WAITS) return problem->rc;
    char *missing = ctr_known_missing_to_count(&run, &post->identity);
    if (missing && !*missing)
        begin_to_count(post, &run);
    else if (post->identity.epoch == 0)
        draw_epoch(post, &run, CTR_TURN_WAITS);
    sqlite3_free(missing);
    return problem->rc;
}

int ctr_replacement_create(ctr_post *post, const char *name, ctr_problem *problem)
{
    uint8_t id[CTR_ID_SIZE];
    ctr_uuid_of_name(name, id);
    ctr_run run = run_of(post, problem);
    ctr_succession_create_pending(post, name, problem);
    ctr_known_hear_of_holder(&run, id, name);
    return problem->rc;
}

/* ---- promotion ------------------------------------------------------------------------------- */

static int look_again(ctr_post *post, ctr_problem *problem)
{
    if (ctr_watch_read(post, problem)) return problem->rc;
    if (!post->identity.present) return ctr_identity_missing(post->schema, problem);
    return ctr_watch_see(post, problem);
}

static void check_promotion(ctr_post *post, const uint8_t holder[CTR_ID_SIZE],
                            const uint8_t holds[CTR_ID_SIZE], ctr_problem *problem)
{
    ctr_run run = run_of(post, problem);
    char *missing = ctr_known_missing_to_promote(&run, &post->identity, holder, holds);
    if (missing && *missing)
        ctr_problem_set(problem, SQLITE_ERROR, "%s cannot take over '%s' yet: %s", post->schema,
                        post->identity.name, missing);
    sqlite3_free(missing);
}

static void take_over_name(ctr_post *post, const uint8_t holder[CTR_ID_SIZE], ctr_problem *problem)
{
    ctr_identity *identity = &post->identity;
    ctr_run run = run_of(post, problem);
    int64_t now = ctr_place_now();
    if (ctr_fold_file(post, problem)) return;
    ctr_identity_retire(&run, now);
    memcpy(identity->id, holder, CTR_ID_SIZE);
    identity->turn = CTR_TURN_NONE;
    identity->twist = ctr_succession_random(); /* marks of the feed that were left for the holder */
    ctr_identity_write(&run, identity, CTR_WHY_PROMOTED, false, now);
    post->checked = false;
    post->after = CTR_AFTER_READ;
}

static void promote_pending(ctr_post *post, const uint8_t holds[CTR_ID_SIZE], ctr_problem *problem)
{
    uint8_t holder[CTR_ID_SIZE];
    const ctr_identity *identity = ctr_watch_merge(post, problem);
    if (!identity) return;
    if (identity->turn == CTR_TURN_NONE) {
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s is not about to take over a name: SELECT counter_init('dc:rack', "
                        "'pending') in a new file begins that",
                        post->schema);
        return;
    }
    if (!ctr_watch_count(post, problem) || !ctr_guard_enter(post, problem)) return;
    ctr_uuid_of_name(identity->name, holder);
    check_promotion(post, holder, holds, problem);
    take_over_name(post, holder, problem);
    ctr_guard_leave(post, problem);
}

int ctr_replacement_promote(ctr_post *post, const uint8_t holds[CTR_ID_SIZE], ctr_problem *problem)
{
    promote_pending(post, holds, problem);
    return problem->rc;
}

/* ---- making way ------------------------------------------------------------------------------ */

int ctr_replacement_yield(ctr_post *post, ctr_problem *problem)
{
    const ctr_identity *identity = ctr_watch_merge(post, problem);
    if (!identity || *identity->refuses || !ctr_guard_enter(post, problem)) return problem->rc;
    ctr_succession_refuse(post, CTR_REFUSES_REPLACED, problem);
    return ctr_guard_leave(post, problem);
}

int ctr_replacement_retire(ctr_post *post, ctr_problem *problem)
{
    if (!ctr_guard_enter(post, problem)) return problem->rc;
    if (look_again(post, problem) == SQLITE_OK)
        ctr_succession_refuse(post, CTR_REFUSES_RETIRED, problem);
    return ctr_guard_leave(post, problem);
}

int ctr_replacement_lose(ctr_post *post, const uint8_t id[CTR_ID_SIZE], ctr_problem *problem)
{
    const ctr_identity *identity = ctr_watch_merge(post, problem);
    if (!identity) return problem->rc;
    if (memcmp(identity->holder, id, CTR_ID_SIZE) == 0 ||
        (memcmp(identity->id, id, CTR_ID_SIZE) == 0 && identity->turn == CTR_TURN_NONE))
        return ctr_problem_set(problem, SQLITE_ERROR, "%s itself has this id", post->schema);
    ctr_run run = run_of(post, problem);
    ctr_known_lose(&run, id, identity);
    return ctr_replacement_note(post, problem);
}
