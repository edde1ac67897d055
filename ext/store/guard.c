/* store/guard.c - checks identities, renews witnesses, takes new ids. */
#include "store/guard.h"

#include <string.h>

#include "store/medium.h"
#include "store/place.h"
#include "store/uuid.h"

/* What must be done with the attribute once the transaction has committed. */
typedef enum after_commit { AFTER_NOTHING, AFTER_READ, AFTER_WRITE } after_commit;

struct ctr_post {
    ctr_guard *guard;
    char *schema;
    ctr_post *next;

    /* True for this transaction alone. */
    bool checked;
    uint8_t id[CTR_ID_SIZE];
    char refusal[CTR_REFUSAL_MAX + 1]; /* "" if it may count */
    char name[CTR_NAME_MAX + 1];
    ctr_fingerprint seen;
    after_commit after;
    ctr_pair pair; /* if after is AFTER_WRITE */

    ctr_medium medium;
    sqlite3_stmt *read, *renew;
};

struct ctr_guard {
    sqlite3 *db;
    ctr_post *posts;
    sqlite3_stmt *schema, *join;
    int (*renew_witness)(void *arg);
    void *arg;
    bool has_keeper, joined;
    bool busy; /* with an identity; a trigger on it must not come back here */
};

enum { DAY_LIMIT = 2 }; /* new ids in a day that the fingerprint alone may cost */

#define REFUSES_NUMBERS "inode numbers"

/* ---- posts, statements --------------------------------------------------------------------- */

ctr_guard *ctr_guard_open(sqlite3 *db, int (*renew_witness)(void *arg), void *arg)
{
    ctr_guard *guard = sqlite3_malloc64(sizeof *guard);
    if (guard) *guard = (ctr_guard){.db = db, .renew_witness = renew_witness, .arg = arg};
    return guard;
}

static void release(ctr_guard *guard)
{
    for (ctr_post *post = guard->posts; post; post = post->next) {
        sqlite3_finalize(post->read);
        sqlite3_finalize(post->renew);
        post->read = post->renew = NULL;
    }
    sqlite3_finalize(guard->schema);
    sqlite3_finalize(guard->join);
    guard->schema = guard->join = NULL;
}

void ctr_guard_close(ctr_guard *guard)
{
    if (!guard) return;
    release(guard);
    while (guard->posts) {
        ctr_post *post = guard->posts;
        guard->posts = post->next;
        ctr_medium_close(&post->medium);
        sqlite3_free(post->schema);
        sqlite3_free(post);
    }
    sqlite3_free(guard);
}

ctr_post *ctr_guard_post(ctr_guard *guard, const char *schema)
{
    for (ctr_post *post = guard->posts; post; post = post->next)
        if (sqlite3_stricmp(post->schema, schema) == 0) return post;
    ctr_post *post = sqlite3_malloc64(sizeof *post);
    char *name = sqlite3_mprintf("%s", schema);
    if (!post || !name) {
        sqlite3_free(post);
        sqlite3_free(name);
        return NULL;
    }
    memset(post, 0, sizeof *post);
    post->guard = guard;
    post->schema = name;
    post->next = guard->posts;
    guard->posts = post;
    return post;
}

void ctr_guard_set_keeper(ctr_guard *guard, bool there)
{
    guard->has_keeper = there;
    if (!there) release(guard);
}

void ctr_guard_set_joined(ctr_guard *guard, bool joined)
{
    guard->joined = joined;
}

/* Prepares what the keeper keeps; the first look at it calls it into being. */
static sqlite3_stmt *keep(ctr_guard *guard, sqlite3_stmt **slot, const char *schema, ctr_sql which,
                          ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return NULL;
    if (*slot) return *slot;
    ctr_run run = ctr_run_on(guard->db, schema, NULL, problem);
    if (!guard->has_keeper) ctr_run_do(&run, CTR_SQL_GUARD_KEEP, NULL);
    *slot = ctr_run_prepare(&run, which);
    return *slot;
}

/* Something else has the name of the keeper: nothing can be kept. */
static void keep_no_more(ctr_guard *guard)
{
    if (!guard->has_keeper) release(guard);
}

/* sqlite3_deserialize() frees the schema of main, and SQLite does not tell tables that were never
 * created: to prepare a write of one again would crash. So it is made anew whenever the schema may be
 * another one. */
static void renew_witness(ctr_guard *guard, ctr_problem *problem)
{
    bool had = guard->schema != NULL;
    sqlite3_stmt *schema = keep(guard, &guard->schema, "main", CTR_SQL_GUARD_SCHEMA, problem);
    if (!schema) return;
    ctr_problem_sqlite(problem, guard->db, sqlite3_step(schema));
    sqlite3_reset(schema);
    if (!had || sqlite3_stmt_status(schema, SQLITE_STMTSTATUS_REPREPARE, 1) == 0) return;
    sqlite3_finalize(guard->join);
    guard->join = NULL;
    ctr_problem_sqlite(problem, guard->db, guard->renew_witness(guard->arg));
}

/* Takes the guard for one piece of work, or sets a problem. */
static bool enter(ctr_guard *guard, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return false;
    if (guard->busy)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "a trigger on counter_replica or counter_former counts by itself");
    else
        guard->busy = true;
    return problem->rc == SQLITE_OK;
}

static int leave(ctr_guard *guard, ctr_problem *problem)
{
    guard->busy = false;
    return problem->rc;
}

static void join_transaction(ctr_guard *guard, ctr_problem *problem)
{
    renew_witness(guard, problem);
    sqlite3_stmt *join = keep(guard, &guard->join, "main", CTR_SQL_GUARD_JOIN, problem);
    if (join) {
        ctr_problem_sqlite(problem, guard->db, sqlite3_step(join));
        sqlite3_reset(join);
    }
    keep_no_more(guard);
}

bool ctr_guard_join(ctr_guard *guard, ctr_problem *problem)
{
    if (!enter(guard, problem)) return false;
    join_transaction(guard, problem);
    return leave(guard, problem) == SQLITE_OK && guard->joined;
}

/* ---- what is seen of the file ---------------------------------------------------------------- */

/* DETACH makes every statement expire, and the next file may stand where the last one stood in
 * memory: so a statement that was prepared again says that nothing is known of the file. */
static int see(ctr_post *post, ctr_fingerprint *seen, ctr_attribute *attribute,
               ctr_problem *problem)
{
    bool anew = post->read && sqlite3_stmt_status(post->read, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
    return ctr_medium_see(&post->medium, post->guard->db, post->schema, anew, seen, attribute,
                          problem);
}

/* ---- the row --------------------------------------------------------------------------------- */

static int64_t random_number(void)
{
    uint8_t bytes[CTR_ID_SIZE];
    int64_t number;
    ctr_uuid_random(bytes);
    memcpy(&number, bytes, sizeof number);
    return number;
}

/* A statement that cannot be prepared may want a table that is not there. */
static int read_row(ctr_post *post, ctr_identity *identity, ctr_problem *problem)
{
    *identity = (ctr_identity){0};
    if (problem->rc != SQLITE_OK) return problem->rc;
    ctr_guard *guard = post->guard;
    if (!post->read) {
        if (ctr_identity_read(identity, guard->db, post->schema, problem)) return problem->rc;
        if (!identity->present) return SQLITE_OK;
    }
    sqlite3_stmt *rows = keep(guard, &post->read, post->schema, CTR_SQL_IDENTITY_READ, problem);
    if (rows) ctr_identity_take(identity, rows, problem);
    keep_no_more(guard);
    return problem->rc;
}

static int refuse(ctr_post *post, ctr_problem *problem)
{
    if (strcmp(post->refusal, REFUSES_NUMBERS) == 0)
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
        post->schema, post->name, post->refusal, post->schema);
}

static void store_refusal(ctr_post *post, const char *why, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return;
    if (strcmp(post->refusal, why) != 0) {
        ctr_run run = ctr_run_on(post->guard->db, post->schema, NULL, problem);
        ctr_run_do(&run, CTR_SQL_IDENTITY_REFUSE, why);
    }
    sqlite3_snprintf(sizeof post->refusal, post->refusal, "%s", why);
}

static void take_new_id(ctr_post *post, ctr_identity *identity, ctr_why why, bool alone,
                        const ctr_fingerprint *seen, const ctr_attribute *attribute,
                        ctr_problem *problem)
{
    ctr_run run = ctr_run_on(post->guard->db, post->schema, NULL, problem);
    int64_t now = ctr_place_now();
    int64_t number = ctr_lineage_leap(identity->lineage.pair.number, attribute);
    if (number > CTR_PAIR_MAX / 2)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "the witness of %s is at its end, somebody must have forged it: remove the "
                        "attribute " CTR_PLACE_ATTRIBUTE " of the file, then "
                        "SELECT counter_fork('%s')",
                        post->schema, post->schema);
    if (attribute->state != CTR_ATTRIBUTE_READ) identity->lineage.trusts_witness = false;
    ctr_identity_retire(&run, now);
    ctr_uuid_random(identity->id);
    identity->name[0] = post->refusal[0] = '\0';
    identity->lineage.fingerprint = *seen;
    identity->lineage.pair = (ctr_pair){number, random_number()};
    ctr_identity_write(&run, identity, why, alone, now);
}

/* The one place where a lineage changes. */
static void change_lineage(ctr_post *post, ctr_identity *identity, ctr_verdict verdict,
                           const ctr_fingerprint *seen, const ctr_attribute *attribute,
                           ctr_problem *problem)
{
    if (*identity->name)
        store_refusal(post, ctr_lineage_why(verdict.why), problem);
    else
        take_new_id(post, identity, verdict.why, verdict.alone, seen, attribute, problem);
    post->checked = false;
    post->after = AFTER_READ;
}

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

static void renew(ctr_post *post, const ctr_identity *identity, const ctr_attribute *attribute,
                  ctr_problem *problem)
{
    int64_t now = ctr_place_now(), passed = now - identity->renewed;
    if (passed < identity->renewal && -passed < identity->renewal) return;
    if (identity->lineage.pair.number >= CTR_PAIR_MAX) return;
    sqlite3_stmt *row =
        keep(post->guard, &post->renew, post->schema, CTR_SQL_IDENTITY_RENEW, problem);
    if (!row) return;
    sqlite3_bind_int64(row, 1, identity->lineage.pair.number + 1);
    sqlite3_bind_int64(row, 2, random_number());
    sqlite3_bind_int64(row, 3, now);
    sqlite3_bind_int(row, 4, attribute->state == CTR_ATTRIBUTE_READ || identity->lineage.witnessed);
    ctr_problem_sqlite(problem, post->guard->db, sqlite3_step(row));
    sqlite3_reset(row);
    keep_no_more(post->guard);
    post->after = AFTER_READ;
}

/* ---- the check ------------------------------------------------------------------------------- */

static void take_over(ctr_post *post, const ctr_identity *identity, const ctr_fingerprint *seen)
{
    memcpy(post->id, identity->id, CTR_ID_SIZE);
    memcpy(post->name, identity->name, sizeof post->name);
    post->seen = *seen;
}

static void judge(ctr_post *post, ctr_identity *identity, const ctr_fingerprint *seen,
                  const ctr_attribute *attribute, ctr_problem *problem)
{
    ctr_verdict verdict = ctr_lineage_judge(&identity->lineage, seen, attribute);
    if (verdict.why != CTR_WHY_NONE && verdict.alone && is_last_straw(post, problem))
        store_refusal(post, REFUSES_NUMBERS, problem);
    else if (verdict.why != CTR_WHY_NONE && problem->rc == SQLITE_OK)
        change_lineage(post, identity, verdict, seen, attribute, problem);
    else if (!*post->refusal && problem->rc == SQLITE_OK)
        renew(post, identity, attribute, problem);
    if (ctr_lineage_outdates(&identity->lineage.pair, attribute) && !*post->refusal)
        post->after = AFTER_READ;
}

static void check_post(ctr_post *post, ctr_problem *problem)
{
    ctr_identity identity;
    ctr_fingerprint seen;
    ctr_attribute attribute;
    if (read_row(post, &identity, problem)) {
        ctr_identity_offer_fork(post->guard->db, post->schema, problem);
        return;
    }
    if (!identity.present) {
        ctr_identity_missing(post->schema, problem);
        return;
    }
    if (see(post, &seen, &attribute, problem)) return;
    take_over(post, &identity, &seen);
    memcpy(post->refusal, identity.refuses, sizeof post->refusal);
    judge(post, &identity, &seen, &attribute, problem);
    take_over(post, &identity, &seen);
    post->checked = problem->rc == SQLITE_OK;
}

const uint8_t *ctr_guard_checked(const ctr_post *post)
{
    return post->checked && !*post->refusal ? post->id : NULL;
}

const uint8_t *ctr_guard_merge(ctr_post *post, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return NULL;
    if (!post->checked && enter(post->guard, problem)) {
        check_post(post, problem);
        leave(post->guard, problem);
    }
    return problem->rc == SQLITE_OK ? post->id : NULL;
}

const uint8_t *ctr_guard_count(ctr_post *post, ctr_problem *problem)
{
    if (!ctr_guard_merge(post, problem)) return NULL;
    if (!*post->refusal) return post->id;
    refuse(post, problem);
    return NULL;
}

/* ---- changes of the identity ----------------------------------------------------------------- */

static int create_identity(ctr_post *post, const char *name, ctr_problem *problem)
{
    ctr_identity identity;
    ctr_attribute attribute;
    sqlite3 *db = post->guard->db;
    if (ctr_identity_read(&identity, db, post->schema, problem)) return problem->rc;
    if (identity.present) return ctr_identity_check_name(&identity, post->schema, name, problem);
    if (see(post, &identity.lineage.fingerprint, &attribute, problem)) return problem->rc;
    bool used = attribute.state == CTR_ATTRIBUTE_READ;
    if (used && name)
        return ctr_problem_set(problem, SQLITE_ERROR,
                               "this file has counted under an identity that it has lost, perhaps "
                               "'%s': SELECT counter_init() without a name gives it a random id",
                               name);

    if (name) {
        ctr_uuid_of_name(name, identity.id);
        sqlite3_snprintf(sizeof identity.name, identity.name, "%s", name);
    } else {
        ctr_uuid_random(identity.id);
    }
    identity.lineage.pair = (ctr_pair){used ? ctr_lineage_leap(0, &attribute) : 1, random_number()};
    identity.renewal = CTR_RENEWAL;
    ctr_run run = ctr_run_on(db, post->schema, NULL, problem);
    ctr_identity_create(&run);
    ctr_identity_write(&run, &identity, CTR_WHY_CREATED, false, ctr_place_now());
    post->checked = false;
    post->seen = identity.lineage.fingerprint;
    post->after = AFTER_READ;
    return problem->rc;
}

int ctr_guard_create(ctr_post *post, const char *name, ctr_problem *problem)
{
    if (!enter(post->guard, problem)) return problem->rc;
    create_identity(post, name, problem);
    return leave(post->guard, problem);
}

static int replace_lineage(ctr_post *post, ctr_why why, ctr_problem *problem)
{
    ctr_identity identity;
    ctr_fingerprint seen;
    ctr_attribute attribute;
    if (read_row(post, &identity, problem) || !identity.present) return problem->rc;
    if (see(post, &seen, &attribute, problem)) return problem->rc;
    take_over(post, &identity, &seen);
    memcpy(post->refusal, identity.refuses, sizeof post->refusal);
    change_lineage(post, &identity, (ctr_verdict){why, false}, &seen, &attribute, problem);
    return problem->rc;
}

int ctr_guard_lineage_changed(ctr_post *post, ctr_why why, ctr_problem *problem)
{
    if (!enter(post->guard, problem)) return problem->rc;
    replace_lineage(post, why, problem);
    return leave(post->guard, problem);
}

/* Only damage is mended: a newer format is not ours to overwrite. */
static void read_for_fork(ctr_post *post, ctr_identity *identity, ctr_problem *problem)
{
    ctr_problem damage = {SQLITE_OK, NULL};
    read_row(post, identity, &damage);
    if (damage.rc != SQLITE_CORRUPT_VTAB) {
        *problem = damage;
        if (problem->rc == SQLITE_OK && !identity->present)
            ctr_identity_missing(post->schema, problem);
        return;
    }
    ctr_problem_close(&damage);
    *identity = (ctr_identity){.lineage.pair.number = 1};
    ctr_run run = ctr_run_on(post->guard->db, post->schema, NULL, problem);
    ctr_run_do(&run, CTR_SQL_IDENTITY_CLEAR, NULL);
}

static int fork_identity(ctr_post *post, ctr_problem *problem)
{
    ctr_identity identity;
    ctr_fingerprint seen;
    ctr_attribute attribute;
    if (problem->rc != SQLITE_OK) return problem->rc;
    read_for_fork(post, &identity, problem);
    if (see(post, &seen, &attribute, problem)) return problem->rc;
    identity.name[0] = '\0';
    identity.lineage.trusts_witness = false;
    identity.renewal = identity.renewal > 0 ? identity.renewal : CTR_RENEWAL;
    post->refusal[0] = '\0';
    change_lineage(post, &identity, (ctr_verdict){CTR_WHY_FORK, false}, &seen, &attribute, problem);
    take_over(post, &identity, &seen);
    return problem->rc;
}

int ctr_guard_fork(ctr_post *post, ctr_problem *problem)
{
    if (!enter(post->guard, problem)) return problem->rc;
    fork_identity(post, problem);
    return leave(post->guard, problem);
}

static int trust_witness(ctr_post *post, ctr_problem *problem)
{
    ctr_identity identity;
    ctr_fingerprint seen;
    ctr_attribute attribute;
    if (read_row(post, &identity, problem)) return problem->rc;
    if (!identity.present) return ctr_identity_missing(post->schema, problem);
    if (see(post, &seen, &attribute, problem)) return problem->rc;
    identity.lineage.trusts_witness = true;
    if (post->medium.kind != CTR_MEDIUM_FILE || attribute.state != CTR_ATTRIBUTE_READ)
        return ctr_problem_set(
            problem, SQLITE_ERROR,
            "there is no witness to trust: the file has no extended attribute " CTR_PLACE_ATTRIBUTE
            " of ours");
    if (ctr_lineage_judge(&identity.lineage, &seen, &attribute).why != CTR_WHY_NONE)
        return ctr_problem_set(problem, SQLITE_ERROR,
                               "the witness says that this is older content: SELECT "
                               "counter_fork('%s') takes a new id",
                               post->schema);
    ctr_run run = ctr_run_on(post->guard->db, post->schema, NULL, problem);
    ctr_run_do(&run, CTR_SQL_IDENTITY_TRUST, NULL);
    post->checked = false;
    return problem->rc;
}

int ctr_guard_trust_witness(ctr_post *post, ctr_problem *problem)
{
    if (!enter(post->guard, problem)) return problem->rc;
    trust_witness(post, problem);
    return leave(post->guard, problem);
}

/* ---- the end of a transaction ---------------------------------------------------------------- */

void ctr_guard_sync(ctr_guard *guard)
{
    for (ctr_post *post = guard->posts; post; post = post->next) {
        if (post->after != AFTER_READ) continue;
        ctr_identity identity = {0};
        ctr_problem problem = {SQLITE_OK, NULL};
        if (ctr_run_has_schema(guard->db, post->schema)) read_row(post, &identity, &problem);
        ctr_problem_close(&problem);
        post->pair = identity.lineage.pair;
        post->after = identity.present ? AFTER_WRITE : AFTER_NOTHING;
    }
}

void ctr_guard_commit(ctr_guard *guard)
{
    for (ctr_post *post = guard->posts; post; post = post->next) {
        if (post->after != AFTER_WRITE) continue;
        ctr_medium_write(&post->medium, guard->db, post->schema, &post->seen, &post->pair);
    }
    ctr_guard_rollback(guard);
}

void ctr_guard_forget(ctr_post *post)
{
    post->checked = false;
    post->after = AFTER_NOTHING;
}

void ctr_guard_rollback(ctr_guard *guard)
{
    for (ctr_post *post = guard->posts; post; post = post->next) ctr_guard_forget(post);
}

void ctr_guard_rollback_to(ctr_guard *guard)
{
    for (ctr_post *post = guard->posts; post; post = post->next) {
        post->checked = false;
        if (post->after == AFTER_WRITE) post->after = AFTER_READ;
    }
}
