/* store/journal.c - reads, batches and appends. */
#include "store/journal.h"

#include <string.h>

#include "store/catalog.h"
#include "store/place.h"
#include "store/post.h"
#include "store/shape.h"
#include "store/watch.h"

enum {
    NUMBERS_IN_MS = 4096,
    BATCH_ENTRIES = 8192, /* a longer batch is appended within the transaction */
    OPEN_BYTES = 2048     /* a row of the journal does not grow beyond this */
};

/* Columns of CTR_SQL_JOURNAL_SINCE. */
enum { SINCE_NUMBER, SINCE_LEVEL, SINCE_ENTRIES };

/* ---- life ------------------------------------------------------------------------------------ */

static ctr_journal *make(ctr_post *post, sqlite3 *db, const char *schema, const char *table,
                         int n_counters, ctr_problem *problem)
{
    ctr_journal *journal = sqlite3_malloc64(sizeof *journal);
    if (!journal) {
        ctr_problem_nomem(problem);
        return NULL;
    }
    *journal = (ctr_journal){.post = post,
                             .db = db,
                             .schema = sqlite3_mprintf("%s", schema),
                             .table = sqlite3_mprintf("%s", table),
                             .rows.n_counters = n_counters};
    if (journal->schema && journal->table) return journal;
    ctr_problem_nomem(problem);
    ctr_journal_free(journal);
    return NULL;
}

void ctr_journal_drop(ctr_journal *journal)
{
    ctr_cache_clear(&journal->rows);
    journal->known = journal->untriggered = journal->appended = false;
    journal->n_rows = journal->n_amounts = journal->last = journal->open_number = 0;
}

ctr_journal *ctr_journal_to_read(sqlite3 *db, const char *schema, const char *table, int n_counters,
                                 ctr_problem *problem)
{
    return problem->rc == SQLITE_OK ? make(NULL, db, schema, table, n_counters, problem) : NULL;
}

static void release(ctr_journal *journal)
{
    sqlite3_finalize(journal->since);
    sqlite3_finalize(journal->append);
    sqlite3_finalize(journal->extend);
    journal->since = journal->append = journal->extend = NULL;
}

void ctr_journal_free(ctr_journal *journal)
{
    if (!journal) return;
    release(journal);
    ctr_cache_clear(&journal->rows);
    sqlite3_free(journal->batch);
    sqlite3_free(journal->open.bytes);
    sqlite3_free(journal->schema);
    sqlite3_free(journal->table);
    sqlite3_free(journal);
}

static ctr_journal *find(ctr_post *post, const char *table)
{
    ctr_journal *journal = post->journals;
    while (journal && sqlite3_stricmp(journal->table, table) != 0) journal = journal->next;
    return journal;
}

ctr_journal *ctr_journal_of(ctr_post *post, const char *table, int n_counters, ctr_problem *problem)
{
    ctr_journal *journal = find(post, table);
    if (problem->rc != SQLITE_OK) return NULL;
    if (!journal) {
        journal = make(post, post->guard->db, post->schema, table, n_counters, problem);
        if (!journal) return NULL;
        journal->next = post->journals;
        post->journals = journal;
    }
    if (journal->rows.n_counters != n_counters) {
        ctr_journal_drop(journal);
        journal->rows.n_counters = n_counters;
    }
    journal->doubtful = true;
    return journal;
}

void ctr_journal_forget(ctr_post *post, const char *table)
{
    ctr_journal *journal = find(post, table);
    if (journal && journal->n == 0) ctr_journal_drop(journal);
}

void ctr_journal_release(ctr_post *post)
{
    for (ctr_journal *journal = post->journals; journal; journal = journal->next) release(journal);
}

void ctr_journal_close(ctr_post *post)
{
    while (post->journals) {
        ctr_journal *journal = post->journals;
        post->journals = journal->next;
        ctr_journal_free(journal);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static unsigned data_version(const ctr_journal *journal)
{
    unsigned version = 0;
    sqlite3_file_control(journal->db, journal->schema, SQLITE_FCNTL_DATA_VERSION, &version);
    return version;
}

static sqlite3_stmt *keep(ctr_journal *journal, sqlite3_stmt **slot, ctr_sql which,
                          ctr_problem *problem)
{
    if (journal->post) return ctr_guard_keep(journal->post, slot, journal->table, which, problem);
    ctr_run run = ctr_run_on(journal->db, journal->schema, journal->table, problem);
    if (!*slot) *slot = ctr_run_prepare(&run, which);
    return problem->rc == SQLITE_OK ? *slot : NULL;
}

static void keep_no_more(ctr_journal *journal)
{
    if (journal->post) ctr_guard_keep_no_more(journal->post);
}

/* The id to which the amounts belong. */
static void read_id(ctr_journal *journal, ctr_problem *problem)
{
    ctr_identity read, *identity = &read;
    bool checked = journal->post && journal->post->checked;
    if (checked)
        identity = &journal->post->identity;
    else
        ctr_identity_read(&read, journal->db, journal->schema, problem);
    if (problem->rc != SQLITE_OK) return;
    memcpy(journal->id, identity->id, CTR_ID_SIZE);
    journal->least = ctr_identity_least_clock(identity);
}

static void add_amount(ctr_journal *journal, const ctr_entry *entry, int64_t number,
                       ctr_problem *problem)
{
    if (entry->counter >= journal->rows.n_counters) {
        ctr_changes_damaged(journal->table, number, "names a counter that there is not", problem);
        return;
    }
    ctr_row *row = ctr_cache_add(&journal->rows, entry->row, problem);
    if (!row) return;
    ctr_held *held = &row->counters[entry->counter];
    ctr_sum sum = {0, 0};
    int64_t n;
    ctr_sum_add(&sum, held->n);
    ctr_sum_add(&sum, entry->n);
    if (ctr_sum_value(&sum, &n) != CTR_OK || held->ticks > INT64_MAX - entry->ticks) {
        ctr_changes_damaged(journal->table, number, "has amounts out of range", problem);
        return;
    }
    held->n = n;
    held->ticks += entry->ticks;
    journal->n_amounts++;
}

/* The cells of a row are not what they were. */
static void forget_row(ctr_journal *journal, const ctr_entry *entry)
{
    ctr_row *row = ctr_cache_row(&journal->rows, entry->row);
    if (!row) return;
    bool written = entry->kind == CTR_ENTRY_WRITTEN && entry->counter < journal->rows.n_counters;
    if (written) row->counters[entry->counter].n = row->counters[entry->counter].ticks = 0;
    ctr_cache_forget(&journal->rows, row);
}

static void take_entries(ctr_journal *journal, sqlite3_stmt *stands, ctr_problem *problem)
{
    ctr_entries walk;
    ctr_entry entry;
    int64_t number = sqlite3_column_int64(stands, SINCE_NUMBER);
    const uint8_t *bytes = sqlite3_column_blob(stands, SINCE_ENTRIES);
    ctr_entries_open(&walk, bytes, bytes ? (size_t)sqlite3_column_bytes(stands, SINCE_ENTRIES) : 0);
    journal->n_rows++;
    while (problem->rc == SQLITE_OK && ctr_entries_next(&walk, &entry)) {
        if (entry.kind == CTR_ENTRY_FOLDED) {
            ctr_cache_clear(&journal->rows);
            journal->n_amounts = 0;
        } else if (entry.kind == CTR_ENTRY_ADDED) {
            add_amount(journal, &entry, number, problem);
        } else {
            forget_row(journal, &entry);
        }
    }
    if (walk.status != CTR_OK)
        ctr_changes_damaged(journal->table, number, ctr_entries_status_text(walk.status), problem);
}

/* Reads from the row of the last number on. False: that row is no more, or there are segments
 * behind it: what is known cannot be brought up to date. */
static bool read_on(ctr_journal *journal, ctr_problem *problem)
{
    bool fits = journal->last == 0, first = true;
    ctr_run run = ctr_run_on(journal->db, journal->schema, journal->table, problem);
    sqlite3_stmt *row = keep(journal, &journal->since, CTR_SQL_JOURNAL_SINCE, problem);
    if (!row) return true;
    sqlite3_bind_int64(row, 1, journal->last);
    while (ctr_run_row(&run, row)) {
        int64_t number = sqlite3_column_int64(row, SINCE_NUMBER);
        bool segment = sqlite3_column_int64(row, SINCE_LEVEL) != CTR_LEVEL_TRANSACTIONS;
        if (first && number == journal->last && number != 0) {
            fits = true;
        } else {
            if (segment && journal->known) fits = false;
            if (!fits) break;
            if (!segment) take_entries(journal, row, problem);
            journal->last = number;
        }
        first = false;
    }
    sqlite3_reset(row);
    if (sqlite3_stmt_status(row, SQLITE_STMTSTATUS_REPREPARE, 1) > 0 && journal->known) fits = false;
    keep_no_more(journal);
    return fits || problem->rc != SQLITE_OK;
}

static void read_anew(ctr_journal *journal, ctr_problem *problem)
{
    ctr_journal_drop(journal);
    read_id(journal, problem);
    read_on(journal, problem);
    journal->known = problem->rc == SQLITE_OK;
    if (!journal->known) ctr_journal_drop(journal);
}

/* Who has written to the journal in this transaction holds the lock: nobody else has. */
static bool is_ahead(const ctr_journal *journal)
{
    return journal->n > 0 || journal->appended;
}

int ctr_journal_refresh(ctr_journal *journal, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return problem->rc;
    if (journal->known && (is_ahead(journal) || !journal->post)) return SQLITE_OK;
    unsigned version = data_version(journal);
    if (journal->known && version == journal->version && !journal->doubtful) return SQLITE_OK;
    if (!journal->known || !read_on(journal, problem)) read_anew(journal, problem);
    if (problem->rc != SQLITE_OK) ctr_journal_drop(journal);
    journal->version = version;
    journal->doubtful = false;
    return problem->rc;
}

int ctr_journal_list_amounts(const ctr_journal *journal, ctr_changes *list, ctr_problem *problem)
{
    const ctr_cache *rows = &journal->rows;
    for (size_t i = 0; i < rows->slots && rows->n > 0; i++)
        for (const ctr_row *row = rows->by_id[i]; row; row = row->next_by_id)
            if (ctr_cache_has_amounts(rows, row)) ctr_changes_add(list, row->id, 0, problem);
    return ctr_changes_latest(list, problem);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static int64_t last_of_table(ctr_run *run)
{
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_JOURNAL_LAST);
    int64_t last = ctr_run_row(run, row) ? sqlite3_column_int64(row, 0) : 0;
    sqlite3_finalize(row);
    return last;
}

int64_t ctr_journal_next(sqlite3 *db, const char *schema, ctr_problem *problem)
{
    int64_t next = 1;
    ctr_catalog catalog = {0};
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    if (problem->rc == SQLITE_OK) ctr_catalog_read(&catalog, db, schema, problem);
    for (int i = 0; i < catalog.n && problem->rc == SQLITE_OK; i++) {
        run.slots.table = catalog.entries[i].name;
        int64_t last = last_of_table(&run);
        if (last >= next && last < INT64_MAX) next = last + 1;
    }
    ctr_catalog_close(&catalog);
    return next;
}

/* The lock is held: no number is given but here. */
static int64_t draw_number(ctr_journal *journal, ctr_problem *problem)
{
    ctr_post *post = journal->post;
    unsigned version = data_version(journal);
    if (!post->numbered || post->numbers_version != version) {
        post->next_number = ctr_journal_next(journal->db, journal->schema, problem);
        post->numbers_version = version;
        post->numbered = problem->rc == SQLITE_OK;
    }
    /* A fold has removed rows of which memory still knows. */
    if (post->next_number <= journal->last) post->next_number = journal->last + 1;
    int64_t now = ctr_place_now() * NUMBERS_IN_MS;
    if (post->next_number >= INT64_MAX / 2)
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "%s_journal is damaged: it has the number %lld",
                        journal->table, (long long)post->next_number - 1);
    return now > post->next_number ? now : post->next_number;
}

/* ---- the batch ------------------------------------------------------------------------------- */

/* Triggers on the stored tables would run with what we write, and see half of it. */
static void refuse_triggers(ctr_journal *journal, ctr_problem *problem)
{
    static const char *const SUFFIXES[] = {"journal", "cells"};
    for (size_t i = 0; i < sizeof SUFFIXES / sizeof *SUFFIXES && problem->rc == SQLITE_OK; i++) {
        char *stored = sqlite3_mprintf("%s_%s", journal->table, SUFFIXES[i]);
        if (!stored) ctr_problem_nomem(problem);
        if (problem->rc == SQLITE_OK)
            ctr_shape_refuse_triggers(journal->db, journal->schema, stored, problem);
        sqlite3_free(stored);
    }
    journal->untriggered = problem->rc == SQLITE_OK;
}

int ctr_journal_expect(ctr_journal *journal, int n, ctr_problem *problem)
{
    size_t most = (size_t)sqlite3_limit(journal->db, SQLITE_LIMIT_LENGTH, -1) / CTR_ENTRY_MAX / 2;
    if (!journal->untriggered) refuse_triggers(journal, problem);
    if (journal->n >= BATCH_ENTRIES || journal->n >= most) ctr_journal_flush(journal, problem);
    if (problem->rc != SQLITE_OK || journal->n + (size_t)n <= journal->room) return problem->rc;
    size_t room = 2 * journal->room + (size_t)n + 16;
    ctr_entry *more = sqlite3_realloc64(journal->batch, room * sizeof *more);
    if (!more) return ctr_problem_nomem(problem);
    journal->batch = more;
    journal->room = room;
    return problem->rc;
}

/* Their sum may leave the range where what the journal has besides does not. */
static bool adds_to(const ctr_entry *entry, int64_t row, int counter, int64_t n)
{
    ctr_sum sum = {0, 0};
    int64_t value;
    if (entry->kind != CTR_ENTRY_ADDED || entry->row != row || entry->counter != counter)
        return false;
    ctr_sum_add(&sum, entry->n);
    ctr_sum_add(&sum, n);
    return ctr_sum_value(&sum, &value) == CTR_OK;
}

/* Increments of one counter are added up, where the batch has it already: `batch` may be left from
 * an earlier one, so the entry is looked at. */
void ctr_journal_add(ctr_journal *journal, ctr_row *row, int counter, int64_t n)
{
    ctr_held *held = &row->counters[counter];
    ctr_entry *last = held->batch < journal->n ? &journal->batch[held->batch] : NULL;
    held->n += n;
    held->ticks++;
    if (last && adds_to(last, row->id, counter, n)) {
        last->n += n;
        last->ticks++;
        return;
    }
    held->batch = journal->n;
    journal->batch[journal->n++] = (ctr_entry){
        .row = row->id, .kind = CTR_ENTRY_ADDED, .counter = counter, .n = n, .ticks = 1};
}

void ctr_journal_note(ctr_journal *journal, int64_t row, ctr_entry_kind kind, int counter)
{
    journal->batch[journal->n++] = (ctr_entry){.row = row, .kind = kind, .counter = counter};
}

/* ---- appending ------------------------------------------------------------------------------- */

/* A statement that SQLite had to prepare again tells that the schema has changed. */
static void step_write(ctr_journal *journal, sqlite3_stmt **slot, ctr_problem *problem)
{
    sqlite3_stmt *row = *slot;
    ctr_guard *guard = journal->post->guard;
    unsigned transaction = guard->ended;
    ctr_run run = ctr_run_on(journal->db, journal->schema, journal->table, problem);
    ctr_run_write(&run, row);
    bool written = problem->rc == SQLITE_OK;
    sqlite3_reset(row);
    sqlite3_clear_bindings(row);
    if (sqlite3_stmt_status(row, SQLITE_STMTSTATUS_REPREPARE, 1) > 0) refuse_triggers(journal, problem);
    if (problem->rc != SQLITE_OK) release(journal);
    keep_no_more(journal);
    if (written && problem->rc != SQLITE_OK) ctr_guard_spoil(guard, transaction);
}

static void append_row(ctr_journal *journal, ctr_problem *problem)
{
    int64_t number = draw_number(journal, problem);
    sqlite3_stmt *row = keep(journal, &journal->append, CTR_SQL_JOURNAL_APPEND, problem);
    if (!row) return;
    sqlite3_bind_int64(row, 1, number);
    sqlite3_bind_int64(row, 2, CTR_LEVEL_TRANSACTIONS);
    sqlite3_bind_blob64(row, 3, journal->open.bytes, journal->open.size, SQLITE_STATIC);
    step_write(journal, &journal->append, problem);
    if (problem->rc != SQLITE_OK) return;
    journal->post->next_number = number + 1;
    journal->last = number;
    journal->n_rows++;
}

static void extend_row(ctr_journal *journal, ctr_problem *problem)
{
    sqlite3_stmt *row = keep(journal, &journal->extend, CTR_SQL_JOURNAL_EXTEND, problem);
    if (!row) return;
    sqlite3_bind_int64(row, 1, journal->open_number);
    sqlite3_bind_blob64(row, 2, journal->open.bytes, journal->open.size, SQLITE_STATIC);
    step_write(journal, &journal->extend, problem);
}

/* Encodes the batch behind what the open row has; returns how many amounts it has. */
static int64_t encode(ctr_journal *journal, bool extends, ctr_problem *problem)
{
    int64_t amounts = 0;
    if (!extends) journal->open.size = 0;
    size_t room = CTR_ENTRIES_HEADER + journal->n * CTR_ENTRY_MAX;
    uint8_t *out = ctr_pack_room(&journal->open, room, problem);
    if (!out) return 0;
    if (!extends) journal->open_row = 0;
    if (!extends) out = ctr_entries_begin(out);
    for (size_t i = 0; i < journal->n; i++) {
        out = ctr_entries_put(out, &journal->open_row, &journal->batch[i]);
        amounts += journal->batch[i].kind == CTR_ENTRY_ADDED;
    }
    journal->open.size = (size_t)(out - journal->open.bytes);
    return amounts;
}

/* A transaction has one row that savepoints make grow, up to a size. The host's last row id stays
 * what it was. */
int ctr_journal_flush(ctr_journal *journal, ctr_problem *problem)
{
    if (journal->n == 0 || problem->rc != SQLITE_OK) return problem->rc;
    size_t before = journal->open.size;
    int64_t last_row = journal->open_row;
    bool extends = journal->open_number != 0 && before + journal->n * 8 <= OPEN_BYTES;
    int64_t amounts = encode(journal, extends, problem);
    sqlite3_int64 last_rowid = sqlite3_last_insert_rowid(journal->db);
    if (problem->rc == SQLITE_OK && extends)
        extend_row(journal, problem);
    else if (problem->rc == SQLITE_OK)
        append_row(journal, problem);
    sqlite3_set_last_insert_rowid(journal->db, last_rowid);
    if (problem->rc != SQLITE_OK) {
        journal->post->numbered = false;
        journal->open_number = extends ? journal->open_number : 0;
        journal->open.size = before;
        journal->open_row = last_row;
        return problem->rc;
    }
    if (!extends) journal->open_number = journal->last;
    journal->n_amounts += amounts;
    journal->appended = true;
    journal->n = 0;
    return problem->rc;
}

int64_t ctr_journal_mark_change(ctr_journal *journal, ctr_problem *problem)
{
    ctr_journal_flush(journal, problem);
    if (ctr_journal_expect(journal, 1, problem)) return 0;
    ctr_journal_drop(journal); /* a row of its own, so that its number is that of the change */
    ctr_journal_note(journal, 0, CTR_ENTRY_FOLDED, 0);
    ctr_journal_flush(journal, problem);
    int64_t number = journal->last;
    journal->n = 0;
    ctr_journal_drop(journal);
    return problem->rc == SQLITE_OK ? number : 0;
}

/* ---- transactions ---------------------------------------------------------------------------- */

int ctr_journal_flush_all(ctr_post *post, ctr_problem *problem)
{
    for (ctr_journal *journal = post->journals; journal && problem->rc == SQLITE_OK;
         journal = journal->next) {
        ctr_journal_flush(journal, problem);
        ctr_problem_where(problem, "%s", journal->table);
    }
    return problem->rc;
}

/* The connection's own commit changes the version, too. */
void ctr_journal_committed(ctr_post *post)
{
    for (ctr_journal *journal = post->journals; journal; journal = journal->next) {
        if (is_ahead(journal)) {
            unsigned version = data_version(journal);
            journal->version = version;
            post->numbers_version = version;
        }
        journal->appended = false;
        journal->open_number = 0;
    }
}

void ctr_journal_rolled_back(ctr_post *post)
{
    for (ctr_journal *journal = post->journals; journal; journal = journal->next) {
        if (!journal->known && !is_ahead(journal)) continue;
        journal->n = 0;
        ctr_journal_drop(journal);
    }
    post->numbered = false;
}
