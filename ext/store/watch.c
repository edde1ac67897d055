/* store/watch.c - looks whether an identity is still that of its file; renews it. */
#include "store/watch.h"

#include <string.h>

#include "store/place.h"
#include "store/post.h"
#include "store/replacement.h"

enum { DAY_LIMIT = 2 }; /* new ids in a day that the fingerprint alone may cost */

/* ---- what there is --------------------------------------------------------------------------- */

/* By the statement that is kept. False: there is none, or it wants a table that is not there,
 * perhaps because a savepoint took back what made it. */
static bool read_by_kept(ctr_post *post, ctr_problem *problem)
{
    ctr_problem trouble = {SQLITE_OK, NULL};
    if (!post->read) return false;
    ctr_identity_take(&post->identity, post->read, &trouble);
    bool gone = trouble.rc == SQLITE_ERROR;
    if (gone)
        ctr_problem_close(&trouble);
    else
        *problem = trouble;
    return !gone;
}

int ctr_watch_read(ctr_post *post, ctr_problem *problem)
{
    post->identity = (ctr_identity){0};
    if (problem->rc != SQLITE_OK || read_by_kept(post, problem)) return problem->rc;
    sqlite3 *db = post->guard->db;
    if (ctr_identity_read(&post->identity, db, post->schema, problem)) return problem->rc;
    if (!post->identity.present) return SQLITE_OK;
    sqlite3_stmt *rows = ctr_guard_keep(post, &post->read, NULL, CTR_SQL_IDENTITY_READ, problem);
    if (rows) ctr_identity_take(&post->identity, rows, problem);
    ctr_guard_keep_no_more(post);
    return problem->rc;
}

/* DETACH makes every statement expire, and the next file may stand where the last one stood in
 * memory: so a statement that was prepared again says that nothing is known of the file. */
int ctr_watch_see(ctr_post *post, ctr_problem *problem)
{
    bool anew = post->read && sqlite3_stmt_status(post->read, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    return ctr_medium_see(&post->medium, post->guard->db, post->schema, anew, &post->seen,
                          &post->attribute, problem);
}

/* ---- the check ------------------------------------------------------------------------------- */

static bool is_last_straw(ctr_post *post, ctr_problem *problem)
{
    int64_t n = 0;
    ctr_run run = ctr_run_on(post->guard->db, post->schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_IDENTITY_ALONE);
    if (row) sqlite3_bind_int64(row, 1, ctr_place_now());
    if (ctr_run_row(&run, row)) n = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return n >= DAY_LIMIT;
}

static void judge(ctr_post *post, ctr_problem *problem)
{
    const ctr_lineage *lineage = &post->identity.lineage;
    ctr_verdict verdict = ctr_lineage_judge(lineage, &post->seen, &post->attribute);
    if (verdict.why != CTR_WHY_NONE && verdict.alone && is_last_straw(post, problem))
        ctr_succession_refuse(post, CTR_REFUSES_NUMBERS, problem);
    else if (verdict.why != CTR_WHY_NONE && problem->rc == SQLITE_OK)
        ctr_succession_follow(post, verdict, problem);
    else if (ctr_lineage_outdates(&lineage->pair, &post->attribute))
        post->after = CTR_AFTER_READ;
}

/* Is the identity in memory that of the file? Its data version may be that of another file, which
 * was attached under the same name: but then the statement is prepared again. So it is where this
 * transaction has changed the schema, which the first statement in autocommit has not. */
static bool is_known(ctr_post *post, ctr_problem *problem)
{
    if (!post->known || post->known_version != post->version) return false;
    if (sqlite3_get_autocommit(post->guard->db) && ctr_medium_stays(&post->medium, post->schema))
        return true;
    ctr_problem trouble = {SQLITE_OK, NULL};
    ctr_run run = ctr_run_on(post->guard->db, post->schema, NULL, &trouble);
    sqlite3_stmt *probe = ctr_guard_keep(post, &post->probe, NULL, CTR_SQL_IDENTITY_PROBE, problem);
    bool is_new = post->probe && sqlite3_stmt_status(probe, SQLITE_STMTSTATUS_RUN, 0) == 0;
    if (!probe) return false;
    ctr_run_row(&run, probe);
    sqlite3_reset(probe);
    bool anew = sqlite3_stmt_status(probe, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    bool known = trouble.rc == SQLITE_OK && !is_new && !anew;
    ctr_problem_close(&trouble);
    ctr_guard_keep_no_more(post);
    return known;
}

static void check_post(ctr_post *post, ctr_problem *problem)
{
    post->version = ctr_run_data_version(post->guard->db, post->schema);
    bool stays = ctr_medium_stays(&post->medium, post->schema), known = is_known(post, problem);
    post->known = false;
    if (!known && ctr_watch_read(post, problem)) {
        ctr_identity_offer_fork(post->guard->db, post->schema, problem);
        return;
    }
    if (!post->identity.present) {
        ctr_identity_missing(post->schema, problem);
        return;
    }
    if (ctr_watch_see(post, problem)) return;
    if (known && stays && !ctr_medium_stays(&post->medium, post->schema)) {
        check_post(post, problem); /* sqlite3_deserialize has replaced main: nothing is known */
        return;
    }
    judge(post, problem);
    post->checked = problem->rc == SQLITE_OK;
    post->renewed = false;
}

const ctr_identity *ctr_watch_merge(ctr_post *post, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return NULL;
    if (!post->checked && ctr_guard_enter(post, problem)) {
        check_post(post, problem);
        ctr_guard_leave(post, problem);
    }
    return problem->rc == SQLITE_OK ? &post->identity : NULL;
}

/* ---- renewal --------------------------------------------------------------------------------- */

/* Whatever stands in a file that somebody else may have written. */
static bool is_due(const ctr_identity *identity, int64_t now)
{
    uint64_t a = (uint64_t)now, b = (uint64_t)identity->renewed;
    uint64_t passed = now > identity->renewed ? a - b : b - a;
    bool passes = identity->renewal <= 0 || passed >= (uint64_t)identity->renewal;
    return passes && identity->lineage.pair.number < CTR_PAIR_MAX;
}

static void write_renewal(ctr_post *post, ctr_problem *problem)
{
    const ctr_identity *identity = &post->identity;
    sqlite3_stmt *row = ctr_guard_keep(post, &post->renew, NULL, CTR_SQL_IDENTITY_RENEW, problem);
    if (!row) return;
    sqlite3_bind_int64(row, 1, identity->lineage.pair.number);
    sqlite3_bind_int64(row, 2, identity->lineage.pair.random);
    sqlite3_bind_int64(row, 3, identity->renewed);
    sqlite3_bind_int(row, 4,
                     post->attribute.state == CTR_ATTRIBUTE_READ || identity->lineage.witnessed);
    ctr_problem_sqlite(problem, post->guard->db, sqlite3_step(row));
    sqlite3_reset(row);
    ctr_guard_keep_no_more(post);
}

static void renew(ctr_post *post, ctr_problem *problem)
{
    ctr_identity *identity = &post->identity;
    int64_t now = ctr_place_now();
    if (!is_due(identity, now)) return;
    identity->lineage.pair.number++;
    identity->lineage.pair.random = ctr_succession_random();
    identity->renewed = now;
    post->after = CTR_AFTER_READ;
    post->guard->stats.renewals++;
    write_renewal(post, problem);
}

static int renew_once(ctr_post *post, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK || post->renewed) return problem->rc;
    if (ctr_guard_enter(post, problem)) {
        renew(post, problem);
        ctr_guard_leave(post, problem);
    }
    post->renewed = problem->rc == SQLITE_OK;
    return problem->rc;
}

/* ---- counting -------------------------------------------------------------------------------- */

static int say_refusal(const ctr_post *post, ctr_problem *problem)
{
    if (strcmp(post->identity.refuses, CTR_REFUSES_RETIRED) == 0)
        return ctr_problem_set(problem, SQLITE_ERROR,
                               "%s was retired and does not count any more: SELECT "
                               "counter_fork('%s') gives it a new random id",
                               post->schema, post->schema);
    if (strcmp(post->identity.refuses, CTR_REFUSES_REPLACED) == 0)
        return ctr_problem_set(problem, SQLITE_ERROR,
                               "%s is '%s' and does not count any more, for another file has taken "
                               "over that name: SELECT counter_fork('%s') gives it a new random id",
                               post->schema, post->identity.name, post->schema);
    if (strcmp(post->identity.refuses, CTR_REFUSES_NUMBERS) == 0)
        return ctr_problem_set(
            problem, SQLITE_ERROR,
            "%s does not count: its file system has given the file other inode numbers three "
            "times in a day, and each time costs a replica id; SELECT counter_trust_witness('%s') "
            "relies on the extended attribute alone, SELECT counter_fork('%s') takes a new id now",
            post->schema, post->schema, post->schema);
    return ctr_problem_set(
        problem, SQLITE_ERROR,
        "%s is '%s' and does not count, for another file may count under that name (%s): "
        "SELECT counter_fork('%s') gives it a new random id",
        post->schema, post->identity.name, post->identity.refuses, post->schema);
}

bool ctr_watch_may_count(ctr_post *post, ctr_problem *problem)
{
    if (!ctr_watch_merge(post, problem)) return false;
    if (*post->identity.refuses) {
        say_refusal(post, problem);
        return false;
    }
    if (post->identity.turn == CTR_TURN_WAITS && ctr_guard_enter(post, problem)) {
        ctr_replacement_start(post, problem);
        ctr_guard_leave(post, problem);
    }
    return problem->rc == SQLITE_OK && renew_once(post, problem) == SQLITE_OK;
}

const uint8_t *ctr_watch_count(ctr_post *post, ctr_problem *problem)
{
    if (!ctr_watch_may_count(post, problem)) return NULL;
    post->counted = true;
    return post->identity.id;
}

int64_t ctr_watch_least_clock(const ctr_post *post)
{
    return ctr_identity_least_clock(&post->identity);
}

bool ctr_watch_has_counted(const ctr_post *post)
{
    return post->counted;
}

void ctr_watch_note_taken(ctr_post *post, const ctr_post *giver)
{
    const ctr_post *from = giver->counted ? giver : giver->taken_from;
    if (from && from != post) post->taken_from = from;
}

const char *ctr_watch_taken_from(const ctr_post *post)
{
    return post->taken_from ? post->taken_from->schema : NULL;
}

bool ctr_watch_is_pending(const ctr_post *post)
{
    return post->counted || post->taken_from;
}

const uint8_t *ctr_watch_checked(const ctr_post *post)
{
    bool counts = post->checked && post->renewed && !*post->identity.refuses &&
                  post->identity.turn != CTR_TURN_WAITS;
    return counts ? post->identity.id : NULL;
}

int ctr_watch_write(ctr_post *post, ctr_problem *problem)
{
    return ctr_watch_merge(post, problem) ? renew_once(post, problem) : problem->rc;
}
