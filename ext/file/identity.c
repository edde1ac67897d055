/* file/identity.c - reads and writes identities, creates and replaces them; the replicas and names
 * that a file knows. */
#include "file/file.h"

#include <string.h>

#include "file/uuid.h"

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

enum { DEVELOPMENT = 1000 /* before 3.0.0 files had the formats 1001, 1002, ... */ };

static int check(ctr_conn *conn, int64_t format, int id_size)
{
    const bool is_of_development = format > DEVELOPMENT && format < 2 * DEVELOPMENT;
    if (format > CTR_FILE_FORMAT && !is_of_development)
        return ctr_problem_set(conn, SQLITE_ERROR,
                               "the file was written by a newer version: format %lld, this library "
                               "knows %d; install a newer sqlite-counter",
                               (long long)format, CTR_FILE_FORMAT);
    if (is_of_development || (format >= 1 && format < CTR_FILE_FORMAT))
        return ctr_problem_set(conn, SQLITE_ERROR,
                               "the file is of format %lld, which was never released: this library "
                               "knows format %d",
                               (long long)format, CTR_FILE_FORMAT);
    if (format < 1)
        return ctr_problem_set(conn, SQLITE_CORRUPT_VTAB, "counter_replica is damaged: format %lld",
                               (long long)format);
    if (id_size != CTR_ID_SIZE)
        return ctr_problem_set(conn, SQLITE_CORRUPT_VTAB,
                               "counter_replica is damaged: an id of %d bytes instead of %d",
                               id_size, CTR_ID_SIZE);
    return ctr_rc(conn);
}

void ctr_identity_offer_fork(ctr_conn *conn, const char *schema)
{
    ctr_problem damage = {0}, offer;
    if (ctr_rc(conn) != SQLITE_CORRUPT_VTAB) return;
    damage = ctr_problem_take(conn);
    ctr_problem_try(conn, &offer);
    if (ctr_schema_is_table(conn, schema, "counter_replica"))
        ctr_problem_set(conn, SQLITE_CORRUPT_VTAB, "%s; SELECT counter_fork('%s') takes a new id",
                        ctr_problem_text(&damage), schema);
    bool replaces = offer.rc == SQLITE_CORRUPT_VTAB || ctr_problem_rolls_back(offer.rc);
    ctr_problem_raise_if(conn, &offer, replaces);
    ctr_problem_raise(conn, &damage); /* else */
}

int ctr_identity_missing(ctr_conn *conn, const char *schema)
{
    if (sqlite3_stricmp(schema, "main") == 0)
        return ctr_problem_set(conn, SQLITE_ERROR,
                               "main has no replica id: run SELECT counter_init() once");
    return ctr_problem_set(
        conn, SQLITE_ERROR,
        "%s has no replica id: CREATE a counter table in it, or open that file as "
        "main and run SELECT counter_init() once",
        schema);
}

void ctr_identity_say_refusal(ctr_conn *conn, const ctr_identity *identity, const char *schema)
{
    if (strcmp(identity->refuses, CTR_REFUSES_RETIRED) == 0) {
        ctr_problem_set(conn, SQLITE_ERROR,
                        "%s was retired and does not count any more: SELECT "
                        "counter_fork('%s') gives it a new random id",
                        schema, schema);
        return;
    }
    if (strcmp(identity->refuses, CTR_REFUSES_REPLACED) == 0) {
        ctr_problem_set(
            conn, SQLITE_ERROR,
            "%s is '%s' and does not count any more, because another file has taken over that "
            "name: SELECT counter_fork('%s') gives it a new random id",
            schema, identity->name, schema);
        return;
    }
    if (strcmp(identity->refuses, CTR_REFUSES_NUMBERS) == 0) {
        ctr_problem_set(
            conn, SQLITE_ERROR,
            "%s does not count: its file system changed the inode number of the file three times "
            "in a day, and each change costs a replica id; SELECT counter_trust_witness('%s') "
            "relies on the extended attribute alone, SELECT counter_fork('%s') takes a new id now",
            schema, schema, schema);
        return;
    }
    ctr_problem_set(
        conn, SQLITE_ERROR,
        "%s is '%s' and does not count, because another file may count under that name (%s): "
        "SELECT counter_fork('%s') gives it a new random id",
        schema, identity->name, identity->refuses, schema);
}

bool ctr_identity_is_of_original(const ctr_identity *identity)
{
    return strcmp(identity->refuses, ctr_lineage_why(CTR_WHY_COPY)) == 0;
}

static void take_text(ctr_conn *conn, char *to, int most, const char *what, sqlite3_stmt *row,
                      int column)
{
    const char *text = ctr_text_column(conn, row, column);
    int size = sqlite3_column_bytes(row, column);
    if (!text) return;
    if (size > most)
        ctr_problem_set(conn, SQLITE_CORRUPT_VTAB,
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

static void take_identity(ctr_conn *conn, ctr_identity *identity, sqlite3_stmt *row)
{
    const void *id = sqlite3_column_blob(row, READ_ID);
    if (check(conn, sqlite3_column_int64(row, READ_FORMAT),
              id ? sqlite3_column_bytes(row, READ_ID) : 0))
        return;
    memcpy(identity->id, id, CTR_ID_SIZE);
    take_text(conn, identity->name, CTR_NAME_MAX, "name", row, READ_NAME);
    take_text(conn, identity->refuses, CTR_REFUSAL_MAX, "refusal", row, READ_REFUSES);
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
        ctr_problem_set(conn, SQLITE_CORRUPT_VTAB, "counter_replica is damaged: its holder");
    if ((int)identity->turn < CTR_TURN_NONE || identity->turn > CTR_TURN_COUNTS)
        ctr_problem_set(conn, SQLITE_CORRUPT_VTAB, "counter_replica is damaged: turn %d",
                        (int)identity->turn);
    if (identity->epoch < 0 || identity->epoch > CTR_EPOCH_MAX)
        ctr_problem_set(conn, SQLITE_CORRUPT_VTAB,
                        "counter_replica is damaged: epoch %lld, not 0 ... %d",
                        (long long)identity->epoch, CTR_EPOCH_MAX);
    int64_t number = identity->lineage.pair.number;
    if (number < 1 || number > CTR_PAIR_MAX)
        ctr_problem_set(conn, SQLITE_CORRUPT_VTAB,
                        "counter_replica is damaged: the witness has the number %lld",
                        (long long)number);
}

void ctr_identity_take(ctr_conn *conn, ctr_identity *identity, sqlite3_stmt *rows)
{
    *identity = (ctr_identity){0};
    if (ctr_rc(conn) != SQLITE_OK) return;
    int rc = sqlite3_step(rows);
    if (rc == SQLITE_ROW) {
        take_identity(conn, identity, rows);
        rc = sqlite3_step(rows);
        if (rc == SQLITE_ROW)
            ctr_problem_set(conn, SQLITE_CORRUPT_VTAB,
                            "counter_replica is damaged: it has more than one row");
    }
    ctr_problem_sqlite(conn, rc);
    sqlite3_reset(rows);
}

void ctr_identity_refuse_unreleased(ctr_conn *conn)
{
    if (ctr_rc(conn) != SQLITE_ERROR) return;
    ctr_problem said = ctr_problem_take(conn);
    bool lacks = strstr(ctr_problem_text(&said), "no such column") != NULL;
    if (lacks) ctr_problem_close(&said);
    if (lacks)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "counter_replica lacks a column: the file is damaged, or of a version that "
                        "was never released");
    else
        ctr_problem_raise(conn, &said);
}

int ctr_identity_read(ctr_identity *identity, ctr_conn *conn, const char *schema)
{
    *identity = (ctr_identity){0};
    if (!ctr_schema_is_table(conn, schema, "counter_replica")) return ctr_rc(conn);
    ctr_run run = ctr_run_on(conn, schema, NULL);
    sqlite3_stmt *rows = ctr_run_prepare(&run, CTR_SQL_IDENTITY_READ);
    if (rows)
        ctr_identity_take(conn, identity, rows);
    else
        ctr_identity_refuse_unreleased(conn);
    sqlite3_finalize(rows);
    return ctr_rc(conn);
}

int ctr_identity_check_name(ctr_conn *conn, const ctr_identity *identity, const char *schema,
                            const char *name)
{
    if (ctr_rc(conn) != SQLITE_OK || !name || strcmp(name, identity->name) == 0)
        return ctr_rc(conn);
    if (!*identity->name)
        return ctr_problem_set(
            conn, SQLITE_ERROR,
            "%s has a random replica id already, it cannot become '%s': a name is given "
            "before the first counter table is created",
            schema, name);
    return ctr_problem_set(conn, SQLITE_ERROR, "%s is '%s' already, it cannot become '%s'", schema,
                           identity->name, name);
}

/* Creates the tables for a first identity, and those of sync: users can always read conflicts, and
 * the first pull changes no schema. */
static void identity_create(ctr_run *run)
{
    ctr_run_do(run, CTR_SQL_IDENTITY_CREATE, NULL);
    ctr_run_do(run, CTR_SQL_CONFLICTS_CREATE, NULL);
    ctr_run_do(run, CTR_SQL_KNOWN_CREATE, NULL);
    ctr_run_do(run, CTR_SQL_MARKS_CREATE, NULL);
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

/* Writes or replaces the row: id, name, lineage. The id is valid since `now`. */
static void identity_write(ctr_run *run, const ctr_identity *identity, ctr_why why, bool alone,
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
}

/* Records that the file does not count: the reason, the lineage and the twist. */
static void identity_refuse(ctr_run *run, const ctr_identity *identity)
{
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_IDENTITY_REFUSE);
    bind_lineage(run, row, &identity->lineage);
    ctr_run_bind_text(run, row, ":refuses", identity->refuses);
    ctr_run_bind_int(run, row, ":twist", identity->twist);
    ctr_run_once(run, row);
}

/* Records the current id, if there is one, as a former id. */
static void identity_retire(ctr_run *run, int64_t now)
{
    ctr_run_do(run, CTR_SQL_IDENTITY_FORGET, NULL);
    ctr_run_with(run, CTR_SQL_IDENTITY_RETIRE, ":now i", now);
}

/* =================================================================================================
 * names - reads and writes counter_sources; the part succession acts on it.
 */

static bool is_id(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_BLOB &&
           sqlite3_column_bytes(row, column) == CTR_ID_SIZE;
}

/* ---- replicas -------------------------------------------------------------------------------- */

bool ctr_names_witness(ctr_file *file, const ctr_identity *source, ctr_pair *pair)
{
    ctr_run run = ctr_file_run(file);
    sqlite3_stmt *row = ctr_file_take(file, CTR_FILE_SOURCE);
    ctr_run_bind_id(&run, row, ":holder", source->holder);
    ctr_run_bind_id(&run, row, ":id", source->id);
    bool known = ctr_run_row(&run, row);
    if (known)
        *pair = (ctr_pair){sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1)};
    else
        ctr_run_refuse_hidden(&run, row, 4, "counter_sources");
    ctr_file_give_back(file, CTR_FILE_SOURCE, row);
    return known;
}

/* An authorizer may have ignored a column when the statement was prepared, which is noticed because
 * the witness is read again. */
void ctr_names_write(ctr_file *file, const ctr_identity *source)
{
    ctr_run run = ctr_file_run(file);
    ctr_pair written = {0, 0}, wanted = source->lineage.pair;
    sqlite3_stmt *row = ctr_file_take(file, CTR_FILE_SET_SOURCE);
    ctr_run_bind_id(&run, row, ":holder", source->holder);
    ctr_run_bind_id(&run, row, ":id", source->id);
    ctr_run_bind_int(&run, row, ":epoch", source->epoch);
    ctr_run_bind_text(&run, row, ":name", *source->name ? source->name : NULL);
    ctr_run_bind_int(&run, row, ":pending", source->turn != CTR_TURN_NONE);
    ctr_run_bind_int(&run, row, ":number", wanted.number);
    ctr_run_bind_int(&run, row, ":random", wanted.random);
    ctr_run_row(&run, row);
    bool known = ctr_names_witness(file, source, &written);
    if (!known || written.number != wanted.number || written.random != wanted.random)
        ctr_problem_set(file->conn, SQLITE_AUTH,
                        "an authorizer of this connection ignores columns of counter_sources");
    ctr_file_give_back(file, CTR_FILE_SET_SOURCE, row);
}

void ctr_names_pulled(ctr_run *run, const ctr_identity *source, const uint8_t *holds)
{
    ctr_run_with(run, CTR_SQL_KNOWN_PULLED, ":holder d :final i :holds d", source->holder,
                 (int64_t)(strcmp(source->refuses, CTR_REFUSES_RETIRED) == 0), holds);
}

/* A row of counter_sources about a file that another file or the user reports. */
typedef struct reported_file {
    const uint8_t *holder, *id;
    int64_t epoch;
    const char *name; /* or NULL */
    bool pending, lost;
} reported_file;

static void write_report(ctr_run *run, const reported_file *what)
{
    ctr_run_with(run, CTR_SQL_KNOWN_REPORT, ":holder d :id d :epoch i :name t :pending i :lost i",
                 what->holder, what->id, (int64_t)what->epoch, what->name, (int64_t)what->pending,
                 (int64_t)what->lost);
}

/* Records the holder of a name, which other files have reported. */
static void names_report_holder(ctr_run *run, const uint8_t id[CTR_ID_SIZE], const char *name)
{
    write_report(run, &(reported_file){.holder = id, .id = id, .name = name});
}

static bool is_epoch(ctr_run *run, int64_t epoch)
{
    if (epoch >= 0 && epoch <= CTR_EPOCH_MAX) return true;
    ctr_problem_set(run->conn, SQLITE_CORRUPT_VTAB,
                    "counter_sources is damaged: epoch %lld, not 0 ... %d", (long long)epoch,
                    CTR_EPOCH_MAX);
    return false;
}

static void say_damaged(ctr_run *run)
{
    ctr_problem_set(run->conn, SQLITE_CORRUPT_VTAB, "counter_sources is damaged");
}

void ctr_names_take_over(ctr_run *run, ctr_run *from)
{
    sqlite3_stmt *row = ctr_run_prepare(from, CTR_SQL_KNOWN_ALL);
    while (ctr_run_row(from, row)) {
        reported_file what = {.epoch = sqlite3_column_int64(row, 2),
                              .name = ctr_text_column(run->conn, row, 3),
                              .pending = sqlite3_column_int(row, 4) != 0,
                              .lost = sqlite3_column_int64(row, 5) != 0};
        what.holder = sqlite3_column_blob(row, 0);
        what.id = sqlite3_column_blob(row, 1);
        if (is_id(row, 0) && is_id(row, 1) && is_epoch(run, what.epoch))
            write_report(run, &what);
        else
            say_damaged(run);
    }
    sqlite3_finalize(row);
}

static sqlite3_stmt *prepare_loss(ctr_run *run, ctr_sql which, const uint8_t id[CTR_ID_SIZE],
                                  const ctr_identity *mine)
{
    sqlite3_stmt *row = ctr_run_prepare(run, which);
    ctr_run_bind_id(run, row, ":id", id);
    ctr_run_bind_id(run, row, ":mine", mine->holder);
    return row;
}

static int64_t take_epoch(ctr_run *run, sqlite3_stmt *row)
{
    int64_t epoch = ctr_run_row(run, row) ? sqlite3_column_int64(row, 0) : 0;
    sqlite3_finalize(row);
    return epoch;
}

/* Returns the highest known epoch of the other files of my name. */
static int64_t names_epoch(ctr_run *run, const ctr_identity *mine)
{
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_NAMES_EPOCH);
    ctr_run_bind_text(run, row, ":name", mine->name);
    ctr_run_bind_id(run, row, ":holder", mine->holder);
    return take_epoch(run, row);
}

/* Declares lost every other file that has written under an id; or one file, given its holder
 * (counter_sources.holder). Several files may have had my own id, one after the other; of those the
 * caller must name one, unless none is known. A lost file that was to take over the same name, and
 * that no file has met, used the next epoch. */
static void names_lose(ctr_run *run, const uint8_t id[CTR_ID_SIZE], const ctr_identity *mine)
{
    bool rival = mine->turn != CTR_TURN_NONE && memcmp(id, mine->id, CTR_ID_SIZE) == 0;
    sqlite3_stmt *row = prepare_loss(run, CTR_SQL_KNOWN_ANY_TO_LOSE, id, mine);
    bool known = ctr_run_row(run, row);
    bool told = known && sqlite3_column_int(row, 0);
    char holder[CTR_ID_TEXT_SIZE] = "";
    if (known && is_id(row, 1)) ctr_id_to_text(sqlite3_column_blob(row, 1), holder);
    sqlite3_finalize(row);
    if (known && rival && !told)
        ctr_problem_set(run->conn, SQLITE_ERROR,
                        "every file that is to take over '%s' has this id: pass the holder of the "
                        "lost one, from counter_sources, such as counter_lost('%s')",
                        mine->name, holder);

    uint8_t unknown[CTR_ID_SIZE];
    reported_file what = {.holder = unknown, .id = id, .lost = true};
    memcpy(unknown, id, CTR_ID_SIZE);
    if (rival) {
        ctr_uuid_random(unknown);
        what.name = mine->name;
        what.pending = true;
        what.epoch = names_epoch(run, mine) + 1;
    }
    if (known)
        ctr_run_once(run, prepare_loss(run, CTR_SQL_KNOWN_LOST, id, mine));
    else
        write_report(run, &what);
}

/* ---- names ----------------------------------------------------------------------------------- */

int64_t ctr_names_named_epoch(ctr_run *run, const char *name)
{
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_NAMES_READ);
    ctr_run_bind_text(run, row, ":name", name);
    return take_epoch(run, row);
}

/* Raises the epoch of a name. */
static void names_raise(ctr_run *run, const char *name, int64_t epoch)
{
    ctr_run_with(run, CTR_SQL_NAMES_RAISE, ":name t :epoch i", name, epoch);
}

/* Copies the epochs that `from`, an untrusted file, knows. */
static void names_take_names(ctr_run *run, ctr_run *from)
{
    sqlite3_stmt *row = ctr_run_prepare(from, CTR_SQL_NAMES_ALL);
    while (ctr_run_row(from, row)) {
        const char *name = ctr_text_column(run->conn, row, 0);
        int64_t epoch = sqlite3_column_int64(row, 1);
        if (name && is_epoch(run, epoch) &&
            ctr_id_is_name(name, (size_t)sqlite3_column_bytes(row, 0)))
            names_raise(run, name, epoch);
        else
            say_damaged(run);
    }
    sqlite3_finalize(row);
}

/* Returns a number that is equal in files that know the same epochs; 0 if there are none. */
static int64_t names_known(ctr_run *run)
{
    uint64_t sum = 0;
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_NAMES_ALL);
    while (ctr_run_row(run, row)) {
        uint8_t bytes[CTR_NAME_MAX + 24], hash[CTR_ID_SIZE];
        uint64_t part;
        char *text = (char *)sqlite3_snprintf(sizeof bytes, (char *)bytes, "%lld %s",
                                              (long long)sqlite3_column_int64(row, 1),
                                              ctr_text_column(run->conn, row, 0));
        ctr_uuid_of_bytes(bytes, strlen(text), hash);
        memcpy(&part, hash, sizeof part);
        sum += part;
    }
    sqlite3_finalize(row);
    return (int64_t)(sum >> 1);
}

/* ---- what is missing ------------------------------------------------------------------------- */

/* Lists the rows for a message. The third column of a row selects the words before it. */
static char *list_missing(ctr_run *run, sqlite3_stmt *row, const char *const *words)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    while (ctr_run_row(run, row)) {
        sqlite3_str_appendf(out, "%s%s", sqlite3_str_length(out) ? "; " : "",
                            words[sqlite3_column_int(row, 2)]);
        if (sqlite3_column_type(row, 0) == SQLITE_NULL) continue;
        char id[CTR_ID_TEXT_SIZE] = "a damaged id";
        if (is_id(row, 0)) ctr_id_to_text(sqlite3_column_blob(row, 0), id);
        sqlite3_str_appendf(out, " %s", id);
        const char *name = ctr_text_column(run->conn, row, 1);
        if (name) sqlite3_str_appendf(out, " (%s)", name);
    }
    sqlite3_finalize(row);
    bool whole = sqlite3_str_errcode(out) == SQLITE_OK && ctr_rc(run->conn) == SQLITE_OK;
    char *text = sqlite3_str_finish(out); /* NULL, too, if nothing was appended */
    if (whole && !text) text = sqlite3_mprintf("");
    if (!text) ctr_problem_nomem(run->conn);
    return text;
}

/* Returns the steps that a pending file still lacks, as a list for a message, "pull from ...; ...";
 * "" if there are none; NULL on error. The caller frees it with sqlite3_free. */
static char *names_missing_to_count(ctr_run *run, const ctr_identity *mine)
{
    static const char *const WORDS[] = {"pull from",
                                        "retire the one that was pending before, and pull from",
                                        "pull from one replica at least"};
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_KNOWN_MISSING_TO_COUNT);
    ctr_run_bind_id(run, row, ":id", mine->id);
    ctr_run_bind_id(run, row, ":holder", mine->holder);
    return list_missing(run, row, WORDS);
}

static char *names_missing_to_promote(ctr_run *run, const ctr_identity *mine,
                                      const uint8_t holder[CTR_ID_SIZE],
                                      const uint8_t holds[CTR_ID_SIZE])
{
    static const char *const WORDS[] = {"", "retire the holder, and pull from",
                                        "pull, since the holder was lost, from",
                                        "let it pull from here, then pull from it:"};
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_KNOWN_MISSING_TO_PROMOTE);
    ctr_run_bind_id(run, row, ":id", mine->id);
    ctr_run_bind_id(run, row, ":holder", mine->holder);
    ctr_run_bind_id(run, row, ":name_id", holder);
    ctr_run_bind_id(run, row, ":shards", holds);
    return list_missing(run, row, WORDS);
}

/* =================================================================================================
 * succession - creates and replaces identities: new ids, pending files, promotions.
 */

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
static void arm(ctr_file *file)
{
    if (file->attribute.state != CTR_ATTRIBUTE_MISSING || ctr_rc(file->conn) != SQLITE_OK) return;
    const ctr_pair oldest = {0, ctr_succession_random()};
    ctr_storage_write(&file->storage, file->conn, file->schema, &file->seen, &oldest);
    ctr_file_look(file);
}

/* Records the present fingerprint, and a witness number beyond all earlier ones. */
static void adopt_fingerprint(ctr_file *file)
{
    ctr_lineage *lineage = &file->identity.lineage;
    int64_t number = ctr_lineage_leap(lineage->pair.number, &file->attribute);
    if (number > CTR_PAIR_MAX / 2)
        ctr_problem_set(file->conn, SQLITE_ERROR,
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
void ctr_succession_refuse(ctr_file *file, const char *why)
{
    ctr_identity *identity = &file->identity;
    adopt_fingerprint(file);
    identity->twist = ctr_succession_random();
    sqlite3_snprintf(sizeof identity->refuses, identity->refuses, "%s", why);
    ctr_run run = ctr_file_run(file);
    identity_refuse(&run, identity);
    file->conn->above.tables->void_marks(file);
}

void ctr_succession_follow(ctr_file *file, ctr_verdict verdict)
{
    file->conn->stats.changes++;
    if (*file->identity.name) {
        ctr_succession_refuse(file, ctr_lineage_why(verdict.why));
        return;
    }
    ctr_identity *identity = &file->identity;
    ctr_run run = ctr_file_run(file);
    int64_t now = ctr_os_now();
    file->conn->above.tables->fold(file);
    if (verdict.why == CTR_WHY_COPY) arm(file);
    adopt_fingerprint(file);
    identity_retire(&run, now);
    ctr_uuid_random(identity->id);
    file->follows = true;
    if (verdict.why == CTR_WHY_COPY) ctr_uuid_random(identity->holder);
    identity->name[0] = identity->refuses[0] = '\0';
    identity->turn = CTR_TURN_NONE;
    identity->epoch = identity->twist = 0;
    identity_write(&run, identity, verdict.why, verdict.alone, now);
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

static int create_identity(ctr_file *file, const char *name, bool pending)
{
    ctr_identity *identity = &file->identity;
    if (ctr_identity_read(identity, file->conn, file->schema)) return ctr_rc(file->conn);
    if (identity->present) return ctr_identity_check_name(file->conn, identity, file->schema, name);
    if (ctr_file_look(file)) return ctr_rc(file->conn);
    bool used = file->attribute.state == CTR_ATTRIBUTE_READ && file->attribute.pair.number > 0;
    if (used && name)
        return ctr_problem_set(file->conn, SQLITE_ERROR,
                               "this file has counted under an identity that it has lost, perhaps "
                               "'%s': SELECT counter_init() without a name gives it a random id",
                               name);

    if (name)
        name_identity(identity, name, pending);
    else
        ctr_uuid_random(identity->id);
    int64_t now = ctr_os_now();
    ctr_uuid_random(identity->holder);
    arm(file);
    identity->lineage.witnessed = file->attribute.state == CTR_ATTRIBUTE_READ;
    identity->lineage.fingerprint = file->seen;
    identity->lineage.pair =
        (ctr_pair){used ? ctr_lineage_leap(0, &file->attribute) : 1, ctr_succession_random()};
    identity->renewal = CTR_RENEWAL;
    ctr_run run = ctr_run_on(file->conn, file->schema, NULL);
    identity_create(&run);
    identity_write(&run, identity, CTR_WHY_CREATED, false, now);
    ctr_file_uncheck(file);
    file->after = CTR_AFTER_READ;
    return ctr_rc(file->conn);
}

int ctr_succession_create(ctr_file *file, const char *name)
{
    if (!ctr_conn_enter(file->conn)) return ctr_rc(file->conn);
    create_identity(file, name, false);
    return ctr_conn_leave(file->conn);
}

/* ---- changes on request ---------------------------------------------------------------------- */

/* If it returns SQLITE_OK and the identity is absent, there is nothing to change. */
static int look(ctr_file *file)
{
    if (ctr_file_read(file) || !file->identity.present) return ctr_rc(file->conn);
    return ctr_file_look(file);
}

int ctr_succession_lineage_changed(ctr_file *file, ctr_why why)
{
    if (!ctr_conn_enter(file->conn)) return ctr_rc(file->conn);
    if (look(file) == SQLITE_OK && file->identity.present)
        ctr_succession_follow(file, (ctr_verdict){why, false});
    return ctr_conn_leave(file->conn);
}

/* Writes a new identity in place of a damaged one. The amounts of the journals belong to the
 * damaged id, if it can still be read; otherwise they go to a new shard. */
static void repair_identity(ctr_file *file)
{
    const ctr_identity damaged = file->identity;
    ctr_identity mended = {.lineage.pair.number = 1, .floors = ctr_succession_random()};
    mended.renewal = CTR_RENEWAL;
    ctr_uuid_random(mended.holder);
    ctr_uuid_random(mended.id);
    if (damaged.present) memcpy(mended.id, damaged.id, CTR_ID_SIZE);
    file->identity = mended;
    ctr_run run = ctr_file_run(file);
    ctr_run_do(&run, CTR_SQL_IDENTITY_CLEAR, NULL);
    identity_write(&run, &mended, CTR_WHY_FORK, false, ctr_os_now());
}

/* A file that can tell that it is a copy becomes one first, so that the former id stays that of its
 * original. What keeps it from telling, a fork ends. */
static void notice_copy(ctr_file *file)
{
    ctr_problem unsure;
    ctr_problem_try(file->conn, &unsure);
    ctr_file_identity(file);
    ctr_problem_raise_if(file->conn, &unsure,
                         file->conn->spoiled || ctr_problem_rolls_back(unsure.rc));
}

/* Repairs only damage: an identity of a newer format must not be overwritten. */
int ctr_succession_fork(ctr_file *file)
{
    if (ctr_rc(file->conn) == SQLITE_OK) notice_copy(file);
    if (ctr_rc(file->conn) != SQLITE_OK || !ctr_conn_enter(file->conn)) return ctr_rc(file->conn);
    ctr_problem damage;
    ctr_problem_try(file->conn, &damage);
    ctr_file_read(file);
    bool is_damaged = damage.rc == SQLITE_CORRUPT_VTAB;
    ctr_problem_raise_if(file->conn, &damage, !is_damaged);
    if (is_damaged) {
        repair_identity(file);
    } else {
        if (ctr_rc(file->conn) == SQLITE_OK && !file->identity.present)
            ctr_identity_missing(file->conn, file->schema);
    }
    if (ctr_file_look(file) == SQLITE_OK) {
        file->identity.name[0] = '\0';
        file->identity.lineage.trusts_witness = false;
        ctr_succession_follow(file, (ctr_verdict){CTR_WHY_FORK, false});
    }
    return ctr_conn_leave(file->conn);
}

/* It lifts a refusal to count only if inode numbers were the reason. */
static int trust_witness(ctr_file *file)
{
    ctr_identity *identity = &file->identity;
    if (look(file)) return ctr_rc(file->conn);
    if (!identity->present) return ctr_identity_missing(file->conn, file->schema);
    if (*identity->refuses && strcmp(identity->refuses, CTR_REFUSES_NUMBERS) != 0)
        return ctr_problem_set(
            file->conn, SQLITE_ERROR,
            "%s does not count for another reason (%s), which trusting the witness does not solve: "
            "SELECT counter_fork('%s') gives it a new random id",
            file->schema, identity->refuses, file->schema);
    if (*identity->name && !ctr_lineage_same_place(&identity->lineage.fingerprint, &file->seen))
        return ctr_problem_set(
            file->conn, SQLITE_ERROR,
            "%s is '%s' and looks like a copy of the file that counts under that "
            "name: SELECT counter_fork('%s') gives it a new random id",
            file->schema, identity->name, file->schema);
    identity->lineage.trusts_witness = true;
    if (file->storage.kind != CTR_STORAGE_FILE || file->attribute.state != CTR_ATTRIBUTE_READ)
        return ctr_problem_set(
            file->conn, SQLITE_ERROR,
            "there is no witness to trust: the file has no extended attribute " CTR_OS_ATTRIBUTE
            " of this library; it gets one when it counts, if the file system supports them");
    if (ctr_lineage_judge(&identity->lineage, &file->seen, &file->attribute).why != CTR_WHY_NONE)
        return ctr_problem_set(file->conn, SQLITE_ERROR,
                               "the witness shows that this is older content: SELECT "
                               "counter_fork('%s') takes a new id",
                               file->schema);
    ctr_run run = ctr_file_run(file);
    ctr_run_do(&run, CTR_SQL_IDENTITY_TRUST, NULL);
    ctr_file_uncheck(file);
    return ctr_rc(file->conn);
}

int ctr_succession_trust_witness(ctr_file *file)
{
    if (!ctr_conn_enter(file->conn)) return ctr_rc(file->conn);
    trust_witness(file);
    return ctr_conn_leave(file->conn);
}

/* ---- floors ---------------------------------------------------------------------------------- */

void ctr_succession_floors_rose(ctr_file *file)
{
    if (!ctr_file_identity(file)) return;
    int64_t floors = ctr_succession_random();
    ctr_run run = ctr_file_run(file);
    ctr_run_with(&run, CTR_SQL_IDENTITY_FLOORS, ":floors i", floors);
    file->identity.floors = floors;
}

/* ---- epochs ---------------------------------------------------------------------------------- */

static void write_names(ctr_file *file, ctr_run *run)
{
    file->identity.names = names_known(run);
    ctr_run_with(run, CTR_SQL_IDENTITY_NAMES, ":names i", (int64_t)file->identity.names);
}

int ctr_succession_meet(ctr_file *file, ctr_conn *other_conn, const char *schema,
                        const ctr_identity *other)
{
    const ctr_identity *identity = ctr_file_identity(file);
    if (!identity || identity->names == other->names || other->names == 0)
        return ctr_rc(file->conn);
    ctr_run run = ctr_file_run(file), from = ctr_run_on(other_conn, schema, NULL);
    if (!ctr_conn_enter(file->conn)) return ctr_rc(file->conn);
    ctr_schema_refuse_generated(other_conn, schema, "counter_sources");
    names_take_names(&run, &from);
    write_names(file, &run);
    /* Another file has taken over its name, or is about to. A file that waits to take it over will
     * count under the next epoch. */
    bool counts = *identity->name && identity->turn != CTR_TURN_WAITS && !*identity->refuses;
    if (counts && ctr_names_named_epoch(&run, identity->name) > identity->epoch)
        ctr_succession_refuse(file, CTR_REFUSES_REPLACED);
    return ctr_conn_leave(file->conn);
}

/* ---- pending --------------------------------------------------------------------------------- */

/* Sets the epoch after all known epochs of other files. */
static void draw_epoch(ctr_file *file, ctr_run *run, ctr_turn turn)
{
    ctr_identity *identity = &file->identity;
    int64_t epoch = names_epoch(run, identity) + 1;
    if (epoch < identity->epoch) epoch = identity->epoch;
    if (epoch > CTR_EPOCH_MAX)
        ctr_problem_set(file->conn, SQLITE_ERROR,
                        "'%s' has no epoch left: it was replaced %d times", identity->name,
                        CTR_EPOCH_MAX);
    ctr_run_with(run, CTR_SQL_IDENTITY_EPOCH, ":epoch i :turn i", epoch, (int64_t)turn);
    if (ctr_rc(run->conn) != SQLITE_OK) return;
    identity->epoch = epoch;
    identity->turn = turn;
    file->version++;
}

static void begin_to_count(ctr_file *file, ctr_run *run)
{
    draw_epoch(file, run, CTR_TURN_COUNTS);
    names_raise(run, file->identity.name, file->identity.epoch);
    write_names(file, run);
}

void ctr_succession_start(ctr_file *file)
{
    ctr_run run = ctr_file_run(file);
    char *missing = names_missing_to_count(&run, &file->identity);
    if (missing && *missing)
        ctr_problem_set(file->conn, SQLITE_ERROR,
                        "%s is to take over '%s' and does not count yet: %s; or, if a replica is "
                        "lost for good, SELECT counter_lost(id)",
                        file->schema, file->identity.name, missing);
    sqlite3_free(missing);
    if (ctr_rc(file->conn) == SQLITE_OK) begin_to_count(file, &run);
}

int ctr_succession_note(ctr_file *file)
{
    ctr_run run = ctr_file_run(file);
    if (file->identity.turn != CTR_TURN_WAITS) return ctr_rc(file->conn);
    char *missing = names_missing_to_count(&run, &file->identity);
    if (missing && !*missing)
        begin_to_count(file, &run);
    else if (file->identity.epoch == 0)
        draw_epoch(file, &run, CTR_TURN_WAITS);
    sqlite3_free(missing);
    return ctr_rc(file->conn);
}

void ctr_succession_create_pending(ctr_file *file, const char *name)
{
    uint8_t id[CTR_ID_SIZE];
    ctr_uuid_of_name(name, id);
    ctr_run run = ctr_file_run(file);
    if (!ctr_conn_enter(file->conn)) return;
    create_identity(file, name, true);
    ctr_conn_leave(file->conn);
    names_report_holder(&run, id, name);
}

/* ---- promotion ------------------------------------------------------------------------------- */

int ctr_succession_promote(ctr_file *file, const uint8_t holds[CTR_ID_SIZE])
{
    if (!ctr_file_identity(file)) return ctr_rc(file->conn);
    ctr_identity *identity = &file->identity;
    if (identity->turn == CTR_TURN_NONE)
        return ctr_problem_set(
            file->conn, SQLITE_ERROR,
            "%s is not a pending file: SELECT counter_init('dc:rack', 'pending') makes "
            "a new file one",
            file->schema);
    if (!ctr_file_leader(file) || !ctr_conn_enter(file->conn)) return ctr_rc(file->conn);

    uint8_t holder[CTR_ID_SIZE];
    ctr_uuid_of_name(identity->name, holder);
    ctr_run run = ctr_file_run(file);
    char *missing = names_missing_to_promote(&run, identity, holder, holds);
    if (missing && *missing)
        ctr_problem_set(file->conn, SQLITE_ERROR, "%s cannot take over '%s' yet: %s", file->schema,
                        identity->name, missing);
    sqlite3_free(missing);

    int64_t now = ctr_os_now();
    if (file->conn->above.tables->fold(file) == SQLITE_OK) {
        identity_retire(&run, now);
        memcpy(identity->id, holder, CTR_ID_SIZE);
        identity->turn = CTR_TURN_NONE;
        identity->twist = ctr_succession_random(); /* voids marks of the feed for the holder */
        identity_write(&run, identity, CTR_WHY_PROMOTED, false, now);
        ctr_file_uncheck(file);
        file->after = CTR_AFTER_READ;
    }
    return ctr_conn_leave(file->conn);
}

/* ---- stopping -------------------------------------------------------------------------------- */

int ctr_succession_yield(ctr_file *file)
{
    const ctr_identity *identity = ctr_file_identity(file);
    if (!identity || *identity->refuses || !ctr_conn_enter(file->conn)) return ctr_rc(file->conn);
    ctr_succession_refuse(file, CTR_REFUSES_REPLACED);
    return ctr_conn_leave(file->conn);
}

int ctr_succession_retire(ctr_file *file)
{
    if (!ctr_conn_enter(file->conn)) return ctr_rc(file->conn);
    if (ctr_file_read(file) == SQLITE_OK && !file->identity.present)
        ctr_identity_missing(file->conn, file->schema);
    if (ctr_rc(file->conn) == SQLITE_OK && ctr_file_look(file) == SQLITE_OK)
        ctr_succession_refuse(file, CTR_REFUSES_RETIRED);
    return ctr_conn_leave(file->conn);
}

int ctr_succession_lose(ctr_file *file, const uint8_t id[CTR_ID_SIZE])
{
    const ctr_identity *identity = ctr_file_identity(file);
    if (!identity) return ctr_rc(file->conn);
    if (memcmp(identity->holder, id, CTR_ID_SIZE) == 0 ||
        (memcmp(identity->id, id, CTR_ID_SIZE) == 0 && identity->turn == CTR_TURN_NONE))
        return ctr_problem_set(file->conn, SQLITE_ERROR, "%s itself has this id", file->schema);
    ctr_run run = ctr_file_run(file);
    names_lose(&run, id, identity);
    return ctr_succession_note(file);
}
