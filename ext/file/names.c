/* file/names.c - reads and writes counter_sources. */
#include "file/file.h"

#include <string.h>

#include "file/uuid.h"

static bool is_id(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_BLOB &&
           sqlite3_column_bytes(row, column) == CTR_ID_SIZE;
}

/* ---- replicas -------------------------------------------------------------------------------- */

bool ctr_names_witness(ctr_file *file, const ctr_identity *source, ctr_pair *pair,
                       ctr_problem *problem)
{
    ctr_run run = ctr_file_run(file, problem);
    sqlite3_stmt *row = ctr_file_take(file, CTR_FILE_SOURCE, problem);
    ctr_run_bind_id(&run, row, ":holder", source->holder);
    ctr_run_bind_id(&run, row, ":id", source->id);
    bool known = ctr_run_row(&run, row);
    if (known)
        *pair = (ctr_pair){sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1)};
    else
        ctr_run_refuse_hidden(&run, row, 4, "counter_sources");
    ctr_file_give_back(file, CTR_FILE_SOURCE, row, problem);
    return known;
}

/* An authorizer may have ignored a column when the statement was prepared, which is noticed because
 * the witness is read again. */
void ctr_names_write(ctr_file *file, const ctr_identity *source, ctr_problem *problem)
{
    ctr_run run = ctr_file_run(file, problem);
    ctr_pair written = {0, 0}, wanted = source->lineage.pair;
    sqlite3_stmt *row = ctr_file_take(file, CTR_FILE_SET_SOURCE, problem);
    ctr_run_bind_id(&run, row, ":holder", source->holder);
    ctr_run_bind_id(&run, row, ":id", source->id);
    ctr_run_bind_int(&run, row, ":epoch", source->epoch);
    ctr_run_bind_text(&run, row, ":name", *source->name ? source->name : NULL);
    ctr_run_bind_int(&run, row, ":pending", source->turn != CTR_TURN_NONE);
    ctr_run_bind_int(&run, row, ":number", wanted.number);
    ctr_run_bind_int(&run, row, ":random", wanted.random);
    ctr_run_row(&run, row);
    bool known = ctr_names_witness(file, source, &written, problem);
    if (!known || written.number != wanted.number || written.random != wanted.random)
        ctr_problem_set(problem, SQLITE_AUTH,
                        "an authorizer of this connection ignores columns of counter_sources");
    ctr_file_give_back(file, CTR_FILE_SET_SOURCE, row, problem);
}

void ctr_names_pulled(ctr_run *run, const ctr_identity *source, const uint8_t *holds)
{
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_KNOWN_PULLED);
    ctr_run_bind_id(run, row, ":holder", source->holder);
    ctr_run_bind_int(run, row, ":final", strcmp(source->refuses, CTR_REFUSES_RETIRED) == 0);
    ctr_run_bind_id(run, row, ":holds", holds);
    ctr_run_once(run, row);
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
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_KNOWN_REPORT);
    ctr_run_bind_id(run, row, ":holder", what->holder);
    ctr_run_bind_id(run, row, ":id", what->id);
    ctr_run_bind_int(run, row, ":epoch", what->epoch);
    ctr_run_bind_text(run, row, ":name", what->name);
    ctr_run_bind_int(run, row, ":pending", what->pending);
    ctr_run_bind_int(run, row, ":lost", what->lost);
    ctr_run_once(run, row);
}

void ctr_names_report_holder(ctr_run *run, const uint8_t id[CTR_ID_SIZE], const char *name)
{
    write_report(run, &(reported_file){.holder = id, .id = id, .name = name});
}

static bool is_epoch(ctr_run *run, int64_t epoch)
{
    if (epoch >= 0 && epoch <= CTR_EPOCH_MAX) return true;
    ctr_problem_set(run->problem, SQLITE_CORRUPT_VTAB,
                    "counter_sources is damaged: epoch %lld, not 0 ... %d", (long long)epoch,
                    CTR_EPOCH_MAX);
    return false;
}

static void say_damaged(ctr_run *run)
{
    ctr_problem_set(run->problem, SQLITE_CORRUPT_VTAB, "counter_sources is damaged");
}

void ctr_names_take_over(ctr_run *run, ctr_run *from)
{
    sqlite3_stmt *row = ctr_run_prepare(from, CTR_SQL_KNOWN_ALL);
    while (ctr_run_row(from, row)) {
        reported_file what = {.epoch = sqlite3_column_int64(row, 2),
                              .name = ctr_text_column(row, 3, from->problem),
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

void ctr_names_lose(ctr_run *run, const uint8_t id[CTR_ID_SIZE], const ctr_identity *mine)
{
    bool rival = mine->turn != CTR_TURN_NONE && memcmp(id, mine->id, CTR_ID_SIZE) == 0;
    sqlite3_stmt *row = prepare_loss(run, CTR_SQL_KNOWN_ANY_TO_LOSE, id, mine);
    bool known = ctr_run_row(run, row);
    bool told = known && sqlite3_column_int(row, 0);
    char holder[CTR_ID_TEXT_SIZE] = "";
    if (known && is_id(row, 1)) ctr_id_to_text(sqlite3_column_blob(row, 1), holder);
    sqlite3_finalize(row);
    if (known && rival && !told)
        ctr_problem_set(run->problem, SQLITE_ERROR,
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
        what.epoch = ctr_names_epoch(run, mine) + 1;
    }
    if (known)
        ctr_run_once(run, prepare_loss(run, CTR_SQL_KNOWN_LOST, id, mine));
    else
        write_report(run, &what);
}

/* ---- names ----------------------------------------------------------------------------------- */

static int64_t take_epoch(ctr_run *run, sqlite3_stmt *row)
{
    int64_t epoch = ctr_run_row(run, row) ? sqlite3_column_int64(row, 0) : 0;
    sqlite3_finalize(row);
    return epoch;
}

int64_t ctr_names_epoch(ctr_run *run, const ctr_identity *mine)
{
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_NAMES_EPOCH);
    ctr_run_bind_text(run, row, ":name", mine->name);
    ctr_run_bind_id(run, row, ":holder", mine->holder);
    return take_epoch(run, row);
}

int64_t ctr_names_named_epoch(ctr_run *run, const char *name)
{
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_NAMES_READ);
    ctr_run_bind_text(run, row, ":name", name);
    return take_epoch(run, row);
}

void ctr_names_raise(ctr_run *run, const char *name, int64_t epoch)
{
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_NAMES_RAISE);
    ctr_run_bind_text(run, row, ":name", name);
    ctr_run_bind_int(run, row, ":epoch", epoch);
    ctr_run_once(run, row);
}

void ctr_names_take_names(ctr_run *run, ctr_run *from)
{
    sqlite3_stmt *row = ctr_run_prepare(from, CTR_SQL_NAMES_ALL);
    while (ctr_run_row(from, row)) {
        const char *name = ctr_text_column(row, 0, from->problem);
        int64_t epoch = sqlite3_column_int64(row, 1);
        if (name && is_epoch(run, epoch) &&
            ctr_id_is_name(name, (size_t)sqlite3_column_bytes(row, 0)))
            ctr_names_raise(run, name, epoch);
        else
            say_damaged(run);
    }
    sqlite3_finalize(row);
}

int64_t ctr_names_known(ctr_run *run)
{
    uint64_t sum = 0;
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_NAMES_ALL);
    while (ctr_run_row(run, row)) {
        uint8_t bytes[CTR_NAME_MAX + 24], hash[CTR_ID_SIZE];
        uint64_t part;
        char *text = (char *)sqlite3_snprintf(sizeof bytes, (char *)bytes, "%lld %s",
                                              (long long)sqlite3_column_int64(row, 1),
                                              ctr_text_column(row, 0, run->problem));
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
        const char *name = ctr_text_column(row, 1, run->problem);
        if (name) sqlite3_str_appendf(out, " (%s)", name);
    }
    sqlite3_finalize(row);
    bool whole = sqlite3_str_errcode(out) == SQLITE_OK && run->problem->rc == SQLITE_OK;
    char *text = sqlite3_str_finish(out); /* NULL, too, if nothing was appended */
    if (whole && !text) text = sqlite3_mprintf("");
    if (!text) ctr_problem_nomem(run->problem);
    return text;
}

char *ctr_names_missing_to_count(ctr_run *run, const ctr_identity *mine)
{
    static const char *const WORDS[] = {"pull from",
                                        "retire the one that was pending before, and pull from",
                                        "pull from one replica at least"};
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_KNOWN_MISSING_TO_COUNT);
    ctr_run_bind_id(run, row, ":id", mine->id);
    ctr_run_bind_id(run, row, ":holder", mine->holder);
    return list_missing(run, row, WORDS);
}

char *ctr_names_missing_to_promote(ctr_run *run, const ctr_identity *mine,
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
