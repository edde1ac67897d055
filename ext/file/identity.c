/* file/identity.c - reads and writes the identity of a file. */
#include "file/file.h"

#include <string.h>

/* Columns of CTR_SQL_IDENTITY_READ. */
enum {
    READ_FORMAT,
    READ_ID,
    READ_NAME,
    READ_INODE,
    READ_BIRTH,
    READ_DEVICE,
    READ_INSTANCE,
    READ_NUMBER,
    READ_RANDOM,
    READ_RENEWED,
    READ_RENEWAL,
    READ_WITNESSED,
    READ_TRUST,
    READ_REFUSES,
    READ_TWIST,
    READ_FLOORS,
    READ_EPOCH,
    READ_TURN,
    READ_NAMES,
    READ_HOLDER
};

static int check(int64_t format, int id_size, ctr_problem *problem)
{
    if (format > CTR_FILE_FORMAT)
        return ctr_problem_set(problem, SQLITE_ERROR,
                               "the file was written by a newer version: format %lld, this library "
                               "knows %d; install a newer sqlite-counter",
                               (long long)format, CTR_FILE_FORMAT);
    if (format == 1 || format == 2)
        return ctr_problem_set(problem, SQLITE_ERROR,
                               "the file is of format %lld, which was never released: this library "
                               "knows format %d",
                               (long long)format, CTR_FILE_FORMAT);
    if (format < 1)
        return ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                               "counter_replica is damaged: format %lld", (long long)format);
    if (id_size != CTR_ID_SIZE)
        return ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                               "counter_replica is damaged: an id of %d bytes instead of %d",
                               id_size, CTR_ID_SIZE);
    return problem->rc;
}

void ctr_identity_offer_fork(sqlite3 *db, const char *schema, ctr_problem *problem)
{
    ctr_problem offer = {SQLITE_OK, NULL};
    bool mends = problem->rc == SQLITE_CORRUPT_VTAB &&
                 ctr_schema_is_table(db, schema, "counter_replica", &offer);
    if (mends)
        ctr_problem_set(&offer, SQLITE_CORRUPT_VTAB, "%s; SELECT counter_fork('%s') takes a new id",
                        ctr_problem_text(problem), schema);
    bool replaces = mends || ctr_problem_rolls_back(offer.rc);
    ctr_problem_close(replaces ? problem : &offer);
    if (replaces) *problem = offer;
}

int ctr_identity_missing(const char *schema, ctr_problem *problem)
{
    if (sqlite3_stricmp(schema, "main") == 0)
        return ctr_problem_set(problem, SQLITE_ERROR,
                               "main has no replica id: run SELECT counter_init() once");
    return ctr_problem_set(
        problem, SQLITE_ERROR,
        "%s has no replica id: CREATE a counter table in it, or open that file as "
        "main and run SELECT counter_init() once",
        schema);
}

static void take_text(char *to, int most, const char *what, sqlite3_stmt *row, int column,
                      ctr_problem *problem)
{
    const char *text = ctr_text_column(row, column, problem);
    int size = sqlite3_column_bytes(row, column);
    if (!text) return;
    if (size > most)
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                        "counter_replica is damaged: a %s of more than %d bytes", what, most);
    else
        memcpy(to, text, (size_t)size + 1);
}

static ctr_fingerprint fingerprint_of(sqlite3_stmt *row)
{
    ctr_fingerprint written = {.place = CTR_PLACE_UNKNOWN};
    const void *instance = sqlite3_column_blob(row, READ_INSTANCE);
    int size = instance ? sqlite3_column_bytes(row, READ_INSTANCE) : 0;
    if (sqlite3_column_type(row, READ_INODE) == SQLITE_NULL) {
        if (size != CTR_ID_SIZE) return written;
        written.place = CTR_PLACE_MEMORY;
        memcpy(written.instance, instance, CTR_ID_SIZE);
    } else {
        written.place = CTR_PLACE_FILE;
        written.inode = sqlite3_column_int64(row, READ_INODE);
        written.has_birth = sqlite3_column_type(row, READ_BIRTH) != SQLITE_NULL;
        written.birth = sqlite3_column_int64(row, READ_BIRTH);
        written.device = sqlite3_column_int64(row, READ_DEVICE);
        written.handle_size = size > 0 && size <= CTR_HANDLE_MAX ? size : 0;
        if (written.handle_size > 0) memcpy(written.handle, instance, (size_t)size);
    }
    return written;
}

static void take_identity(ctr_identity *identity, sqlite3_stmt *row, ctr_problem *problem)
{
    const void *id = sqlite3_column_blob(row, READ_ID);
    if (check(sqlite3_column_int64(row, READ_FORMAT), id ? sqlite3_column_bytes(row, READ_ID) : 0,
              problem))
        return;
    memcpy(identity->id, id, CTR_ID_SIZE);
    take_text(identity->name, CTR_NAME_MAX, "name", row, READ_NAME, problem);
    take_text(identity->refuses, CTR_REFUSAL_MAX, "refusal", row, READ_REFUSES, problem);
    identity->lineage.fingerprint = fingerprint_of(row);
    identity->lineage.pair =
        (ctr_pair){sqlite3_column_int64(row, READ_NUMBER), sqlite3_column_int64(row, READ_RANDOM)};
    identity->lineage.witnessed = sqlite3_column_int(row, READ_WITNESSED) != 0;
    identity->lineage.trusts_witness = sqlite3_column_int(row, READ_TRUST) != 0;
    identity->renewed = sqlite3_column_int64(row, READ_RENEWED);
    identity->renewal = sqlite3_column_int64(row, READ_RENEWAL);
    identity->twist = sqlite3_column_int64(row, READ_TWIST);
    identity->floors = sqlite3_column_int64(row, READ_FLOORS);
    identity->epoch = sqlite3_column_int64(row, READ_EPOCH);
    identity->turn = (ctr_turn)sqlite3_column_int(row, READ_TURN);
    identity->names = sqlite3_column_int64(row, READ_NAMES);
    identity->present = true;

    const void *holder = sqlite3_column_blob(row, READ_HOLDER);
    if (holder && sqlite3_column_bytes(row, READ_HOLDER) == CTR_ID_SIZE)
        memcpy(identity->holder, holder, CTR_ID_SIZE);
    else
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "counter_replica is damaged: its holder");
    if ((int)identity->turn < CTR_TURN_NONE || identity->turn > CTR_TURN_COUNTS)
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "counter_replica is damaged: turn %d",
                        (int)identity->turn);
    if (identity->epoch < 0 || identity->epoch > CTR_EPOCH_MAX)
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                        "counter_replica is damaged: epoch %lld, not 0 ... %d",
                        (long long)identity->epoch, CTR_EPOCH_MAX);
    int64_t number = identity->lineage.pair.number;
    if (number < 1 || number > CTR_PAIR_MAX)
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                        "counter_replica is damaged: the witness has the number %lld",
                        (long long)number);
}

int ctr_identity_take(ctr_identity *identity, sqlite3_stmt *rows, ctr_problem *problem)
{
    *identity = (ctr_identity){0};
    if (problem->rc != SQLITE_OK) return problem->rc;
    int rc = sqlite3_step(rows);
    if (rc == SQLITE_ROW) {
        take_identity(identity, rows, problem);
        rc = sqlite3_step(rows);
        if (rc == SQLITE_ROW)
            ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                            "counter_replica is damaged: it has more than one row");
    }
    ctr_problem_sqlite(problem, sqlite3_db_handle(rows), rc);
    sqlite3_reset(rows);
    return problem->rc;
}

int ctr_identity_read(ctr_identity *identity, sqlite3 *db, const char *schema, ctr_problem *problem)
{
    *identity = (ctr_identity){0};
    if (!ctr_schema_is_table(db, schema, "counter_replica", problem)) return problem->rc;
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    sqlite3_stmt *rows = ctr_run_prepare(&run, CTR_SQL_IDENTITY_READ);
    if (rows) ctr_identity_take(identity, rows, problem);
    sqlite3_finalize(rows);
    return problem->rc;
}

int ctr_identity_check_name(const ctr_identity *identity, const char *schema, const char *name,
                            ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK || !name || strcmp(name, identity->name) == 0) return problem->rc;
    if (!*identity->name)
        return ctr_problem_set(
            problem, SQLITE_ERROR,
            "%s has a random replica id already, it cannot become '%s': a name is given "
            "before the first counter table is created",
            schema, name);
    return ctr_problem_set(problem, SQLITE_ERROR, "%s is '%s' already, it cannot become '%s'",
                           schema, identity->name, name);
}

int ctr_identity_create(ctr_run *run)
{
    ctr_run_do(run, CTR_SQL_IDENTITY_CREATE, NULL);
    ctr_run_do(run, CTR_SQL_CONFLICTS_CREATE, NULL);
    ctr_run_do(run, CTR_SQL_KNOWN_CREATE, NULL);
    ctr_run_do(run, CTR_SQL_MARKS_CREATE, NULL);
    return run->problem->rc;
}

/* A part that the lineage lacks stays NULL. */
static void bind_lineage(ctr_run *run, sqlite3_stmt *row, const ctr_lineage *lineage)
{
    const ctr_fingerprint *written = &lineage->fingerprint;
    bool is_file = written->place == CTR_PLACE_FILE;
    if (is_file) ctr_run_bind_int(run, row, ":inode", written->inode);
    if (is_file && written->has_birth) ctr_run_bind_int(run, row, ":birth", written->birth);
    if (is_file && !written->has_birth) ctr_run_bind_int(run, row, ":device", written->device);
    if (is_file && written->handle_size > 0)
        ctr_run_bind_blob(run, row, ":instance", written->handle, (size_t)written->handle_size);
    if (written->place == CTR_PLACE_MEMORY)
        ctr_run_bind_id(run, row, ":instance", written->instance);
    ctr_run_bind_int(run, row, ":number", lineage->pair.number);
    ctr_run_bind_int(run, row, ":random", lineage->pair.random);
}

int ctr_identity_write(ctr_run *run, const ctr_identity *identity, ctr_why why, bool alone,
                       int64_t now)
{
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_IDENTITY_WRITE);
    bind_lineage(run, row, &identity->lineage);
    ctr_run_bind_int(run, row, ":format", CTR_FILE_FORMAT);
    ctr_run_bind_id(run, row, ":id", identity->id);
    ctr_run_bind_text(run, row, ":name", *identity->name ? identity->name : NULL);
    ctr_run_bind_int(run, row, ":now", now);
    ctr_run_bind_text(run, row, ":why", ctr_lineage_why(why));
    ctr_run_bind_int(run, row, ":renewal", identity->renewal);
    ctr_run_bind_int(run, row, ":alone", alone);
    ctr_run_bind_int(run, row, ":witnessed", identity->lineage.witnessed);
    ctr_run_bind_int(run, row, ":trust", identity->lineage.trusts_witness);
    ctr_run_bind_int(run, row, ":floors", identity->floors);
    ctr_run_bind_int(run, row, ":epoch", identity->epoch);
    ctr_run_bind_int(run, row, ":turn", identity->turn);
    ctr_run_bind_int(run, row, ":names", identity->names);
    ctr_run_bind_id(run, row, ":holder", identity->holder);
    ctr_run_bind_int(run, row, ":twist", identity->twist);
    ctr_run_once(run, row);
    return run->problem->rc;
}

int ctr_identity_refuse(ctr_run *run, const ctr_identity *identity)
{
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_IDENTITY_REFUSE);
    bind_lineage(run, row, &identity->lineage);
    ctr_run_bind_text(run, row, ":refuses", identity->refuses);
    ctr_run_bind_int(run, row, ":twist", identity->twist);
    ctr_run_once(run, row);
    return run->problem->rc;
}

int ctr_identity_retire(ctr_run *run, int64_t now)
{
    ctr_run_do(run, CTR_SQL_IDENTITY_FORGET, NULL);
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_IDENTITY_RETIRE);
    ctr_run_bind_int(run, row, ":now", now);
    ctr_run_once(run, row);
    return run->problem->rc;
}
