/* store/guard.c - the posts of a connection, the statements they keep, the ends of transactions. */
#include "store/guard.h"

#include <string.h>

#include "store/fold.h"
#include "store/post.h"
#include "store/watch.h"

/* ---- posts, statements --------------------------------------------------------------------- */

ctr_guard *ctr_guard_open(sqlite3 *db, int (*renew_witness)(void *arg, int number), void *arg)
{
    ctr_guard *guard = sqlite3_malloc64(sizeof *guard);
    if (guard) *guard = (ctr_guard){.db = db, .renew_witness = renew_witness, .arg = arg};
    return guard;
}

static void release_post(ctr_post *post)
{
    sqlite3_finalize(post->read);
    sqlite3_finalize(post->renew);
    sqlite3_finalize(post->probe);
    post->read = post->renew = post->probe = NULL;
    ctr_journal_release(post);
}

static void free_post(ctr_post *post)
{
    release_post(post);
    ctr_medium_close(&post->medium);
    ctr_journal_close(post);
    sqlite3_free(post->schema);
    sqlite3_free(post);
}

static void release(ctr_guard *guard)
{
    for (ctr_post *post = guard->posts; post; post = post->next) release_post(post);
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
        free_post(post);
    }
    sqlite3_free(guard);
}

/* Who attaches thousands of files one after the other, each under a name of its own, keeps nothing
 * of them. */
static void free_detached(ctr_guard *guard)
{
    ctr_post **at = &guard->posts;
    while (*at) {
        ctr_post *post = *at;
        if (post->holders > 0 || ctr_run_has_schema(guard->db, post->schema)) {
            at = &post->next;
        } else {
            *at = post->next;
            free_post(post);
        }
    }
}

ctr_post *ctr_guard_post(ctr_guard *guard, const char *schema)
{
    for (ctr_post *post = guard->posts; post; post = post->next)
        if (sqlite3_stricmp(post->schema, schema) == 0) return post;
    free_detached(guard);
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

ctr_post *ctr_guard_hold(ctr_guard *guard, const char *schema)
{
    ctr_post *post = ctr_guard_post(guard, schema);
    if (post) post->holders++;
    return post;
}

void ctr_guard_let_go(ctr_post *post)
{
    if (post) post->holders--;
}

ctr_guard *ctr_guard_of(ctr_post *post)
{
    return post->guard;
}

void ctr_guard_want(ctr_guard *guard, ctr_wanted *wanted)
{
    guard->wanted = wanted;
}

ctr_wanted *ctr_guard_wanted(const ctr_guard *guard)
{
    return guard->wanted;
}

ctr_stats *ctr_guard_stats(ctr_guard *guard)
{
    return &guard->stats;
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

/* To prepare a statement is enough, and locks nothing. */
static void call_keeper(ctr_guard *guard, ctr_run *run)
{
    if (!guard->has_keeper) sqlite3_finalize(ctr_run_prepare(run, CTR_SQL_GUARD_KEEP));
}

void ctr_guard_prepare(ctr_guard *guard, ctr_problem *problem)
{
    ctr_problem trouble = {SQLITE_OK, NULL};
    ctr_run run = ctr_run_on(guard->db, NULL, NULL, &trouble);
    call_keeper(guard, &run);
    if (ctr_problem_rolls_back(trouble.rc)) /* and the schema that is about to change */
        ctr_problem_set(problem, trouble.rc, "%s", ctr_problem_text(&trouble));
    ctr_problem_close(&trouble);
}

static sqlite3_stmt *keep(ctr_guard *guard, sqlite3_stmt **slot, const char *schema,
                          const char *table, ctr_sql which, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return NULL;
    if (*slot) return *slot;
    ctr_run run = ctr_run_on(guard->db, schema, table, problem);
    call_keeper(guard, &run);
    *slot = ctr_run_prepare(&run, which);
    return *slot;
}

static void keep_no_more(ctr_guard *guard)
{
    if (!guard->has_keeper) release(guard);
}

sqlite3_stmt *ctr_guard_keep(ctr_post *post, sqlite3_stmt **slot, const char *table, ctr_sql which,
                             ctr_problem *problem)
{
    return keep(post->guard, slot, post->schema, table, which, problem);
}

void ctr_guard_keep_no_more(ctr_post *post)
{
    keep_no_more(post->guard);
}

static bool is_memory_vfs(sqlite3 *db)
{
    sqlite3_vfs *vfs = NULL;
    ctr_run_ask_file(db, "main", SQLITE_FCNTL_VFS_POINTER, &vfs);
    return vfs && strcmp(vfs->zName, "memdb") == 0;
}

/* Why a new witness: sqlite3_deserialize() frees the schema of main, and SQLite does not tell
 * tables that were never created; to prepare a write of one again would crash. From then on main is
 * a file of the VFS "memdb", where each new schema may be that of another file.
 *
 * Why a new name: SQLite lets go of the table of a module that is replaced, and with it of all
 * prepared statements, that which is running among them. A module stays as long as the connection,
 * some 800 bytes for each schema of such a file. */
static void renew_witness(ctr_guard *guard, ctr_problem *problem)
{
    bool is_new = !guard->is_memory;
    guard->is_memory = is_memory_vfs(guard->db);
    if (!guard->is_memory || problem->rc != SQLITE_OK) return;
    bool had = guard->schema != NULL;
    sqlite3_stmt *schema = keep(guard, &guard->schema, "main", NULL, CTR_SQL_GUARD_SCHEMA, problem);
    if (!schema) return;
    ctr_problem_sqlite(problem, guard->db, sqlite3_step(schema));
    sqlite3_reset(schema);
    if (had && sqlite3_stmt_status(schema, SQLITE_STMTSTATUS_REPREPARE, 1) > 0) is_new = true;
    if (!guard->join || !is_new) return;
    sqlite3_finalize(guard->join);
    guard->join = NULL;
    ctr_problem_sqlite(problem, guard->db, guard->renew_witness(guard->arg, ++guard->witnesses));
}

static sqlite3_stmt *prepare_join(ctr_guard *guard, ctr_problem *problem)
{
    char name[CTR_WITNESS_NAME_SIZE];
    if (problem->rc != SQLITE_OK || guard->join) return guard->join;
    ctr_run run =
        ctr_run_on(guard->db, "main", ctr_guard_witness_name(guard->witnesses, name), problem);
    call_keeper(guard, &run);
    guard->join = ctr_run_prepare(&run, CTR_SQL_GUARD_JOIN);
    return guard->join;
}

const char *ctr_guard_witness_name(int number, char name[CTR_WITNESS_NAME_SIZE])
{
    if (number == 0)
        sqlite3_snprintf(CTR_WITNESS_NAME_SIZE, name, "counter_witness");
    else
        sqlite3_snprintf(CTR_WITNESS_NAME_SIZE, name, "counter_witness_%d", number);
    return name;
}

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

bool ctr_guard_enter(ctr_post *post, ctr_problem *problem)
{
    return enter(post->guard, problem);
}

int ctr_guard_leave(ctr_post *post, ctr_problem *problem)
{
    return leave(post->guard, problem);
}

static void join_transaction(ctr_guard *guard, ctr_problem *problem)
{
    renew_witness(guard, problem);
    sqlite3_stmt *join = prepare_join(guard, problem);
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

static void keep_marks_below(ctr_guard *guard, int level)
{
    if (guard->marked_least > level) guard->marked_least = level;
    if (guard->marked_most > level) guard->marked_most = level;
}

void ctr_guard_tell(ctr_guard *guard, int change)
{
    if (guard->told == 0) { /* nobody was, and has told of the end of a savepoint */
        for (ctr_post *post = guard->posts; post; post = post->next)
            ctr_journal_forget_savepoints(post);
        keep_marks_below(guard, 0);
    }
    guard->told += change;
    if (guard->told < 0) guard->told = 0; /* the first that is told of the end has cleared it */
}

bool ctr_guard_is_told(const ctr_guard *guard)
{
    return guard->told > 0;
}

/* ---- the end of a transaction ---------------------------------------------------------------- */

/* An identity that makes no sense has no pair. One that cannot be read ends the transaction: where
 * SQLite has taken everything back for that, a commit that went on would say OK to nothing. For an
 * interrupt of a read it takes nothing back. */
static void read_pair(ctr_post *post, ctr_problem *problem)
{
    ctr_problem trouble = {SQLITE_OK, NULL};
    if (problem->rc != SQLITE_OK) return;
    post->identity.present = false;
    if (ctr_run_has_schema(post->guard->db, post->schema)) ctr_watch_read(post, &trouble);
    int code = trouble.rc & 0xff;
    if (code != SQLITE_OK && code != SQLITE_CORRUPT && code != SQLITE_ERROR &&
        code != SQLITE_INTERRUPT)
        *problem = trouble;
    else
        ctr_problem_close(&trouble);
    if (code != SQLITE_OK) post->checked = post->identity.present = false; /* not the file's */
    post->pair = post->identity.lineage.pair;
    post->after = post->identity.present ? CTR_AFTER_WRITE : CTR_AFTER_NOTHING;
}

int ctr_guard_settle(ctr_guard *guard, ctr_problem *problem)
{
    for (ctr_post *post = guard->posts; post; post = post->next) {
        ctr_journal_flush_all(post, problem);
        ctr_fold_grown(post, problem);
        if (!ctr_guard_is_told(guard)) post->checked = post->renewed = false;
    }
    return problem->rc;
}

int ctr_guard_sync(ctr_guard *guard, ctr_problem *problem)
{
    if (!guard->spoiled) ctr_guard_settle(guard, problem); /* else a fold may find half of it */
    if (guard->spoiled)
        ctr_problem_set(problem, SQLITE_ABORT,
                        "a statement of this transaction failed half-way and could not be taken "
                        "back: the transaction is rolled back");
    for (ctr_post *post = guard->posts; post; post = post->next)
        if (post->after == CTR_AFTER_READ) read_pair(post, problem);
    return problem->rc;
}

unsigned ctr_guard_version(ctr_post *post)
{
    return post->checked ? post->version : ctr_run_data_version(post->guard->db, post->schema);
}

void ctr_guard_forget(ctr_post *post)
{
    post->checked = post->renewed = false;
    post->after = CTR_AFTER_NOTHING;
}

static void end_transaction(ctr_guard *guard)
{
    for (ctr_post *post = guard->posts; post; post = post->next) {
        ctr_guard_forget(post);
        post->counted = false;
        post->taken_from = NULL;
    }
    guard->spoiled = guard->noted = false;
    guard->told = 0;
    guard->depth = 0;
    keep_marks_below(guard, 0);
    guard->ended++;
}

void ctr_guard_commit(ctr_guard *guard)
{
    for (ctr_post *post = guard->posts; post; post = post->next) {
        if (post->checked) post->version = ctr_run_data_version(guard->db, post->schema);
        ctr_journal_committed(post);
        post->known = post->checked && post->identity.present; /* an interrupt may have hidden it */
        post->known_version = post->version;
        if (post->after != CTR_AFTER_WRITE) continue;
        ctr_medium_write(&post->medium, guard->db, post->schema, &post->seen, &post->pair);
    }
    end_transaction(guard);
}

void ctr_guard_rollback(ctr_guard *guard)
{
    for (ctr_post *post = guard->posts; post; post = post->next) {
        ctr_journal_rolled_back(post);
        post->known = false;
    }
    end_transaction(guard);
}

/* ---- savepoints ------------------------------------------------------------------------------ */

int ctr_guard_write_rows(ctr_guard *guard, ctr_problem *problem)
{
    for (ctr_post *post = guard->posts; post; post = post->next)
        ctr_journal_flush_all(post, problem);
    return problem->rc;
}

static bool is_any_pending(ctr_guard *guard)
{
    const ctr_post *post = guard->noted ? guard->posts : NULL;
    while (post && !ctr_journal_is_pending(post)) post = post->next;
    guard->noted = post != NULL;
    return guard->noted;
}

/* Is a statement at work that writes? Then a savepoint is that of a statement, for SQLite refuses a
 * SAVEPOINT. Where there are many statements it is not looked for long. */
static bool is_writing(const ctr_guard *guard)
{
    enum { LOOKS = 32 };
    sqlite3_stmt *statement = sqlite3_next_stmt(guard->db, NULL);
    for (int i = 0; i < LOOKS && statement; i++) {
        if (sqlite3_stmt_busy(statement) && !sqlite3_stmt_readonly(statement)) return true;
        statement = sqlite3_next_stmt(guard->db, statement);
    }
    return false;
}

/* The batch is written down before a SAVEPOINT, within which tables may come and go; that of a
 * statement costs too much for that, and a rollback to it cuts the batch. What cannot be written
 * down, or marked, would be dropped with the savepoint: the transaction is not to be committed. */
int ctr_guard_savepoint(ctr_guard *guard, int level, ctr_problem *problem)
{
    unsigned transaction = guard->ended;
    if (is_any_pending(guard) && !is_writing(guard)) ctr_guard_write_rows(guard, problem);
    if (level >= guard->marked_least)
        for (ctr_post *post = guard->posts; post; post = post->next)
            ctr_journal_begin_savepoint(post, level, problem);
    if (guard->marked_most < level + 1) guard->marked_most = level + 1;
    if (problem->rc == SQLITE_OK)
        guard->depth = guard->marked_least = level + 1;
    else
        ctr_guard_spoil(guard, transaction);
    return problem->rc;
}

void ctr_guard_release(ctr_guard *guard, int level)
{
    guard->depth = level;
    if (level < guard->marked_most)
        for (ctr_post *post = guard->posts; post; post = post->next)
            ctr_journal_end_savepoint(post, level);
    keep_marks_below(guard, level);
    if (guard->spoiled_depth > level) guard->spoiled_depth = level;
}

void ctr_guard_rollback_to(ctr_guard *guard, int level)
{
    for (ctr_post *post = guard->posts; post; post = post->next) {
        post->checked = post->renewed = post->known = false;
        ctr_journal_roll_back_to(post, level);
        if (post->after == CTR_AFTER_WRITE) post->after = CTR_AFTER_READ;
    }
    keep_marks_below(guard, level + 1);
    guard->noted = true; /* what was written down may be pending again */
    if (level < guard->spoiled_depth) guard->spoiled = false;
    guard->depth = level + 1;
}

unsigned ctr_guard_transaction(const ctr_guard *guard)
{
    return guard->ended;
}

void ctr_guard_spoil(ctr_guard *guard, unsigned transaction)
{
    if (guard->ended != transaction) return;
    if (!guard->spoiled) guard->spoiled_depth = guard->depth;
    guard->spoiled = true;
}
