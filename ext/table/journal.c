/* table/journal.c - reads, batches and appends. */
#include "table/journal.h"

#include <string.h>

#include "identity/check.h"
#include "identity/os.h"
#include "identity/replica.h"
#include "sqlite/array.h"
#include "table/catalog.h"
#include "table/shape.h"

enum {
    NUMBERS_IN_MS = 4096,
    BATCH_ENTRIES = 8192, /* a longer batch is appended within the transaction */
    OPEN_BYTES = 2048,    /* a row of the journal does not grow beyond this */
    FIRST_LOOKS = 3       /* for one row, before all amounts are read */
};

/* ---- life ------------------------------------------------------------------------------------ */

static ctr_journal *make_journal(ctr_replica *replica, sqlite3 *db, const char *schema,
                                 const char *table, int n_counters, ctr_problem *problem)
{
    ctr_journal *journal = sqlite3_malloc64(sizeof *journal);
    if (!journal) {
        ctr_problem_nomem(problem);
        return NULL;
    }
    *journal = (ctr_journal){.replica = replica,
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
    ctr_amounts_clear(&journal->amounts);
    journal->known = journal->untriggered = journal->appended = false;
    journal->n_rows = journal->n_amounts = journal->last = journal->open_number = 0;
}

static bool has_pending(const ctr_journal *journal)
{
    return journal->n > journal->n_appended;
}

/* How much of the batch the savepoint at hand has found, and may want back. */
static size_t length_at_savepoint(const ctr_journal *journal)
{
    return journal->n_marks > 0 ? journal->marks[journal->n_marks - 1].n : 0;
}

void ctr_journal_abandon(ctr_journal *journal)
{
    journal->n = journal->n_appended = length_at_savepoint(journal);
    ctr_journal_drop(journal);
}

ctr_journal *ctr_journal_to_read(sqlite3 *db, const char *schema, const char *table, int n_counters,
                                 ctr_problem *problem)
{
    return problem->rc == SQLITE_OK ? make_journal(NULL, db, schema, table, n_counters, problem)
                                    : NULL;
}

static void release_journal(ctr_journal *journal)
{
    ctr_transaction_close_kept(&journal->since);
    ctr_transaction_close_kept(&journal->append);
    ctr_transaction_close_kept(&journal->extend);
}

void ctr_journal_free(ctr_journal *journal)
{
    if (!journal) return;
    release_journal(journal);
    ctr_cache_clear(&journal->rows);
    ctr_amounts_clear(&journal->amounts);
    sqlite3_free(journal->batch);
    sqlite3_free(journal->marks);
    sqlite3_free(journal->open.bytes);
    sqlite3_free(journal->schema);
    sqlite3_free(journal->table);
    sqlite3_free(journal);
}

static ctr_journal *find_journal(ctr_replica *replica, const char *table)
{
    ctr_journal *journal = replica->journals;
    while (journal && sqlite3_stricmp(journal->table, table) != 0) journal = journal->next;
    return journal;
}

ctr_journal *ctr_journal_of(ctr_replica *replica, const char *table, int n_counters,
                            ctr_problem *problem)
{
    ctr_journal *journal = find_journal(replica, table);
    if (problem->rc != SQLITE_OK) return NULL;
    if (!journal) {
        journal = make_journal(replica, replica->transaction->db, replica->schema, table,
                               n_counters, problem);
        if (!journal) return NULL;
        journal->next = replica->journals;
        replica->journals = journal;
        replica->transaction->marked_least = 0;
    }
    if (journal->rows.n_counters != n_counters) {
        ctr_journal_drop(journal);
        journal->rows.n_counters = n_counters;
    }
    journal->doubtful = true;
    replica->numbered = false; /* the file may be another one under the same name */
    return journal;
}

void ctr_journal_forget(ctr_replica *replica, const char *table)
{
    ctr_journal *journal = find_journal(replica, table);
    if (journal && !has_pending(journal)) ctr_journal_drop(journal);
}

void ctr_journal_close(ctr_replica *replica)
{
    while (replica->journals) {
        ctr_journal *journal = replica->journals;
        replica->journals = journal->next;
        ctr_journal_free(journal);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static sqlite3_stmt *keep_journal(ctr_journal *journal, ctr_kept *kept, ctr_sql which,
                                  ctr_problem *problem)
{
    if (journal->replica)
        return ctr_transaction_keep(journal->replica->transaction, kept, journal->schema,
                                    journal->table, which, problem);
    ctr_run run = ctr_run_on(journal->db, journal->schema, journal->table, problem);
    if (!kept->statement) kept->statement = ctr_run_prepare(&run, which);
    return problem->rc == SQLITE_OK ? kept->statement : NULL;
}

static void keep_journal_no_more(ctr_journal *journal)
{
    if (journal->replica) ctr_transaction_keep_no_more(journal->replica->transaction);
}

/* The id to which the amounts belong. */
static void read_id(ctr_journal *journal, ctr_problem *problem)
{
    ctr_identity read, *identity = &read;
    bool checked = journal->replica && journal->replica->checked;
    if (checked)
        identity = &journal->replica->identity;
    else
        ctr_identity_read(&read, journal->db, journal->schema, problem);
    if (problem->rc != SQLITE_OK) return;
    memcpy(journal->id, identity->id, CTR_ID_SIZE);
    journal->least = ctr_identity_least_clock(identity);
}

static void forget_row(ctr_journal *journal, int64_t id)
{
    ctr_row *row = ctr_cache_row(&journal->rows, id);
    if (row) ctr_cache_forget(&journal->rows, row);
}

static void take_amount(ctr_journal *journal, const ctr_entry *entry, int64_t number,
                        ctr_problem *problem)
{
    if (entry->counter >= journal->rows.n_counters) {
        ctr_changes_damaged(journal->table, number, "names a counter that there is not", problem);
        return;
    }
    if (ctr_amounts_expect(&journal->amounts, 1, problem)) return;
    ctr_amount *amount = ctr_amounts_add(&journal->amounts, entry->row, entry->counter);
    ctr_sum sum = {0, 0};
    int64_t n;
    ctr_sum_add(&sum, amount->n);
    ctr_sum_add(&sum, entry->n);
    if (ctr_sum_value(&sum, &n) != CTR_OK || amount->ticks > INT64_MAX - entry->ticks) {
        ctr_changes_damaged(journal->table, number, "has amounts out of range", problem);
        return;
    }
    amount->n = n;
    amount->ticks += entry->ticks;
    journal->n_amounts++;
}

/* What the journal has added to a cell before it was written is in the cell. */
static void drop_amount(ctr_journal *journal, int64_t row, int counter)
{
    ctr_amount *amount = ctr_amounts_find(&journal->amounts, row, counter);
    if (amount) amount->n = amount->ticks = 0;
}

static void take_entries(ctr_journal *journal, sqlite3_stmt *stands, ctr_problem *problem)
{
    enum { BYTES_OF_AMOUNT = 5 }; /* or more */
    ctr_entries walk;
    ctr_entry entry;
    int64_t number = sqlite3_column_int64(stands, CTR_JOURNAL_NUMBER);
    const uint8_t *bytes = sqlite3_column_blob(stands, CTR_JOURNAL_ENTRIES);
    ctr_entries_open(&walk, bytes,
                     bytes ? (size_t)sqlite3_column_bytes(stands, CTR_JOURNAL_ENTRIES) : 0);
    journal->n_rows++;
    size_t most = (size_t)(walk.end - walk.at) / BYTES_OF_AMOUNT; /* a forged row has few in many */
    if (!journal->only)
        ctr_amounts_expect(&journal->amounts, most <= CTR_JOURNAL_AMOUNTS ? most : 0, problem);
    while (problem->rc == SQLITE_OK && ctr_entries_next(&walk, &entry)) {
        if (journal->only && entry.row != *journal->only && entry.kind != CTR_ENTRY_FOLDED)
            continue;
        if (entry.kind == CTR_ENTRY_FOLDED) {
            ctr_cache_clear(&journal->rows);
            ctr_amounts_clear(&journal->amounts);
            journal->n_amounts = 0;
            continue;
        }
        if (entry.kind == CTR_ENTRY_ADDED) take_amount(journal, &entry, number, problem);
        if (entry.kind == CTR_ENTRY_WRITTEN) drop_amount(journal, entry.row, entry.counter);
        forget_row(journal, entry.row);
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
    sqlite3_stmt *row = keep_journal(journal, &journal->since, CTR_SQL_JOURNAL_SINCE, problem);
    if (!row) return true;
    sqlite3_bind_int64(row, 1, journal->last);
    while (ctr_run_row(&run, row)) {
        int64_t number = sqlite3_column_int64(row, CTR_JOURNAL_NUMBER);
        bool segment = sqlite3_column_int64(row, CTR_JOURNAL_LEVEL) != CTR_LEVEL_TRANSACTIONS;
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
    if (sqlite3_stmt_status(row, SQLITE_STMTSTATUS_REPREPARE, 1) > 0 && journal->known)
        fits = false;
    keep_journal_no_more(journal);
    return fits || problem->rc != SQLITE_OK;
}

/* Adds what is in no row of the journal yet. */
static void take_batch(ctr_journal *journal, ctr_problem *problem)
{
    int64_t n_amounts = journal->n_amounts;
    for (size_t i = journal->n_appended; i < journal->n && problem->rc == SQLITE_OK; i++) {
        const ctr_entry *entry = &journal->batch[i];
        if (journal->only && entry->row != *journal->only) continue;
        if (entry->kind == CTR_ENTRY_WRITTEN) drop_amount(journal, entry->row, entry->counter);
        if (entry->kind != CTR_ENTRY_ADDED) continue;
        take_amount(journal, entry, journal->last, problem);
        ctr_amount *amount = ctr_amounts_find(&journal->amounts, entry->row, entry->counter);
        if (amount) amount->batch = (uint32_t)i;
    }
    journal->n_amounts = n_amounts;
}

static void read_anew(ctr_journal *journal, ctr_problem *problem)
{
    ctr_journal_drop(journal);
    read_id(journal, problem);
    read_on(journal, problem);
    take_batch(journal, problem);
    journal->known = problem->rc == SQLITE_OK;
    if (!journal->known) ctr_journal_drop(journal);
    if (journal->known && !journal->only) journal->looks = 0;
}

/* Who has written to the journal in this transaction holds the lock: nobody else has. */
static bool is_ahead_of_file(const ctr_journal *journal)
{
    return has_pending(journal) || journal->appended;
}

/* The id of the file, or its lowest clock, is another one since the journal was read: somebody else
 * has changed it, or a file that waited for a name has begun to count. */
static bool is_of_another_id(const ctr_journal *journal)
{
    if (!journal->known || !journal->replica || !journal->replica->checked) return false;
    const ctr_identity *identity = &journal->replica->identity;
    return memcmp(journal->id, identity->id, CTR_ID_SIZE) != 0 ||
           journal->least != ctr_identity_least_clock(identity);
}

void ctr_journal_read_again(ctr_journal *journal, ctr_problem *problem)
{
    if (ctr_journal_flush(journal, problem)) return;
    bool appended = journal->appended;
    ctr_journal_drop(journal);
    journal->appended = appended;
}

int ctr_journal_refresh(ctr_journal *journal, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return problem->rc;
    if (is_of_another_id(journal)) ctr_journal_read_again(journal, problem);
    if (problem->rc != SQLITE_OK) return problem->rc;
    if (journal->known && (is_ahead_of_file(journal) || !journal->replica)) return SQLITE_OK;
    unsigned version = journal->replica ? ctr_replica_version(journal->replica)
                                        : ctr_run_data_version(journal->db, journal->schema);
    if (journal->known && version == journal->version && !journal->doubtful) return SQLITE_OK;
    if (!journal->known || !read_on(journal, problem)) read_anew(journal, problem);
    if (problem->rc != SQLITE_OK) ctr_journal_drop(journal);
    journal->version = version;
    journal->doubtful = false;
    return problem->rc;
}

int ctr_journal_refresh_row(ctr_journal *journal, int64_t row, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return problem->rc;
    if (journal->known || ++journal->looks > FIRST_LOOKS)
        return ctr_journal_refresh(journal, problem);
    journal->only = &row;
    read_anew(journal, problem);
    journal->only = NULL;
    journal->known = false;
    return problem->rc;
}

int ctr_journal_list_amounts(const ctr_journal *journal, ctr_changes *list, ctr_problem *problem)
{
    const ctr_amounts *amounts = &journal->amounts;
    for (size_t i = 0; i < amounts->n_slots; i++)
        if (amounts->slots[i].counter != CTR_AMOUNT_UNUSED && amounts->slots[i].ticks > 0)
            ctr_changes_add(list, amounts->slots[i].row, 0, problem);
    return ctr_changes_latest(list, problem);
}

ctr_status ctr_journal_advance(const ctr_journal *journal, const ctr_amount *amount,
                               ctr_summary *state)
{
    ctr_sum value = {0, 0};
    ctr_sum_add(&value, state->value);
    ctr_sum_add(&value, amount->n);
    ctr_sum_add(&state->sum, amount->n);
    state->touched = state->has_shards = true;
    if (state->clock < journal->least) state->clock = journal->least - 1;
    if (state->life % 2 == 0 || state->clock > INT64_MAX - amount->ticks) return CTR_OUT_OF_RANGE;
    state->clock += amount->ticks;
    return ctr_sum_value(&value, &state->value) == CTR_OK ? CTR_OK : CTR_OUT_OF_RANGE;
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
    ctr_replica *replica = journal->replica;
    unsigned version = ctr_replica_version(replica);
    if (!replica->numbered || replica->numbers_version != version) {
        replica->next_number = ctr_journal_next(journal->db, journal->schema, problem);
        replica->numbers_version = version;
        replica->numbered = problem->rc == SQLITE_OK;
    }
    /* A fold has removed rows of which memory still knows. */
    if (replica->next_number <= journal->last)
        replica->next_number = journal->last < INT64_MAX ? journal->last + 1 : INT64_MAX;
    int64_t now = ctr_os_now() * NUMBERS_IN_MS;
    if (replica->next_number >= CTR_JOURNAL_NUMBERS)
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                        "%s_journal is damaged: it has the number %lld", journal->table,
                        (long long)replica->next_number - 1);
    return now > replica->next_number ? now : replica->next_number;
}

/* ---- the batch ------------------------------------------------------------------------------- */

int ctr_journal_refuse_triggers(ctr_journal *journal, ctr_problem *problem)
{
    if (journal->untriggered) return problem->rc;
    ctr_shape_refuse_triggers(journal->db, journal->schema, journal->table, false, problem);
    journal->untriggered = problem->rc == SQLITE_OK;
    return problem->rc;
}

int ctr_journal_expect(ctr_journal *journal, int n, ctr_problem *problem)
{
    if (journal->replica) journal->replica->transaction->noted = true;
    size_t most = (size_t)sqlite3_limit(journal->db, SQLITE_LIMIT_LENGTH, -1) / CTR_ENTRY_MAX / 2;
    ctr_journal_refuse_triggers(journal, problem);
    size_t pending = journal->n - journal->n_appended;
    if (pending >= BATCH_ENTRIES || pending >= most) ctr_journal_flush(journal, problem);
    if (ctr_amounts_expect(&journal->amounts, (size_t)n, problem)) return problem->rc;
    ctr_entry *batch = ctr_array_room(journal->batch, &journal->room, journal->n + (size_t)n,
                                      sizeof *batch, problem);
    if (batch) journal->batch = batch;
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
 * an earlier one, so the entry is looked at. What a savepoint may want back stays as it is. With
 * the first tick the counter had nothing pending: what the batch has of it stands before its cell
 * was written. */
static void note_amount(ctr_journal *journal, ctr_amount *amount, int64_t n)
{
    bool pending = amount->ticks > 1 && amount->batch < journal->n &&
                   amount->batch >= journal->n_appended &&
                   amount->batch >= length_at_savepoint(journal);
    ctr_entry *last = pending ? &journal->batch[amount->batch] : NULL;
    if (last && adds_to(last, amount->row, (int)amount->counter, n)) {
        last->n += n;
        last->ticks++;
        return;
    }
    amount->batch = (uint32_t)journal->n;
    journal->batch[journal->n++] = (ctr_entry){.row = amount->row,
                                               .kind = CTR_ENTRY_ADDED,
                                               .counter = (int)amount->counter,
                                               .n = n,
                                               .ticks = 1};
}

void ctr_journal_add(ctr_journal *journal, int64_t row, int counter, int64_t n)
{
    ctr_amount *amount = ctr_amounts_add(&journal->amounts, row, counter);
    ctr_row *known = ctr_cache_row(&journal->rows, row);
    const ctr_amount tick = {.n = n, .ticks = 1};
    amount->n += n;
    amount->ticks++;
    note_amount(journal, amount, n);
    if (known && ctr_journal_advance(journal, &tick, &known->states[counter]) != CTR_OK)
        ctr_cache_forget(&journal->rows, known);
}

void ctr_journal_note(ctr_journal *journal, int64_t row, ctr_entry_kind kind, int counter)
{
    journal->batch[journal->n++] = (ctr_entry){.row = row, .kind = kind, .counter = counter};
    if (kind == CTR_ENTRY_WRITTEN) drop_amount(journal, row, counter);
    if (kind == CTR_ENTRY_WRITTEN) forget_row(journal, row);
}

/* ---- appending ------------------------------------------------------------------------------- */

/* A statement that SQLite had to prepare again tells that the schema has changed. */
static void step_write(ctr_journal *journal, sqlite3_stmt *row, ctr_problem *problem)
{
    ctr_transaction *transaction = journal->replica->transaction;
    unsigned nth = transaction->ended;
    ctr_run run = ctr_run_on(journal->db, journal->schema, journal->table, problem);
    ctr_run_write(&run, row);
    bool written = problem->rc == SQLITE_OK;
    sqlite3_reset(row);
    sqlite3_clear_bindings(row);
    if (sqlite3_stmt_status(row, SQLITE_STMTSTATUS_REPREPARE, 1) > 0) {
        journal->untriggered = false;
        ctr_journal_refuse_triggers(journal, problem);
    }
    if (problem->rc != SQLITE_OK) release_journal(journal);
    keep_journal_no_more(journal);
    if (written && problem->rc != SQLITE_OK) ctr_transaction_spoil(transaction, nth);
}

static void append_row(ctr_journal *journal, ctr_problem *problem)
{
    int64_t number = draw_number(journal, problem);
    sqlite3_stmt *row = keep_journal(journal, &journal->append, CTR_SQL_JOURNAL_NOTE, problem);
    if (!row) return;
    sqlite3_bind_int64(row, 1, number);
    sqlite3_bind_blob64(row, 2, journal->open.bytes, journal->open.size, SQLITE_STATIC);
    step_write(journal, row, problem);
    if (problem->rc != SQLITE_OK) return;
    journal->replica->next_number = number + 1;
    journal->last = number;
    journal->n_rows++;
}

static void extend_row(ctr_journal *journal, ctr_problem *problem)
{
    sqlite3_stmt *row = keep_journal(journal, &journal->extend, CTR_SQL_JOURNAL_EXTEND, problem);
    if (!row) return;
    sqlite3_bind_int64(row, 1, journal->open_number);
    sqlite3_bind_blob64(row, 2, journal->open.bytes, journal->open.size, SQLITE_STATIC);
    step_write(journal, row, problem);
}

/* Encodes what is pending behind what the open row has; returns how many amounts it has. */
static int64_t encode_batch(ctr_journal *journal, bool extends, ctr_problem *problem)
{
    int64_t amounts = 0;
    if (!extends) journal->open.size = 0;
    size_t room = CTR_ENTRIES_HEADER + (journal->n - journal->n_appended) * CTR_ENTRY_MAX;
    uint8_t *out = ctr_pack_room(&journal->open, room, problem);
    if (!out) return 0;
    if (!extends) journal->open_row = 0;
    if (!extends) out = ctr_entries_begin(out);
    for (size_t i = journal->n_appended; i < journal->n; i++) {
        out = ctr_entries_put(out, &journal->open_row, &journal->batch[i]);
        amounts += journal->batch[i].kind == CTR_ENTRY_ADDED;
    }
    journal->open.size = (size_t)(out - journal->open.bytes);
    return amounts;
}

/* A transaction has one row that may grow, up to a size. The host's last row id stays
 * what it was. */
int ctr_journal_flush(ctr_journal *journal, ctr_problem *problem)
{
    if (!has_pending(journal) || problem->rc != SQLITE_OK) return problem->rc;
    size_t before = journal->open.size;
    int64_t last_row = journal->open_row;
    bool extends =
        journal->open_number != 0 && before + (journal->n - journal->n_appended) * 8 <= OPEN_BYTES;
    int64_t amounts = encode_batch(journal, extends, problem);
    sqlite3_int64 last_rowid = sqlite3_last_insert_rowid(journal->db);
    if (problem->rc == SQLITE_OK && extends)
        extend_row(journal, problem);
    else if (problem->rc == SQLITE_OK)
        append_row(journal, problem);
    sqlite3_set_last_insert_rowid(journal->db, last_rowid);
    if (problem->rc != SQLITE_OK) {
        journal->replica->numbered = false;
        journal->open_number = extends ? journal->open_number : 0;
        journal->open.size = before;
        journal->open_row = last_row;
        return problem->rc;
    }
    if (!extends) journal->open_number = journal->last;
    journal->n_amounts += amounts;
    journal->appended = true;
    journal->n = journal->n_appended = length_at_savepoint(journal);
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
    ctr_journal_abandon(journal);
    return problem->rc == SQLITE_OK ? number : 0;
}

/* ---- transactions ---------------------------------------------------------------------------- */

int ctr_journal_flush_all(ctr_replica *replica, ctr_problem *problem)
{
    for (ctr_journal *journal = replica->journals; journal && problem->rc == SQLITE_OK;
         journal = journal->next) {
        ctr_journal_flush(journal, problem);
        ctr_problem_where(problem, "%s", journal->table);
    }
    return problem->rc;
}

bool ctr_journal_is_pending(const ctr_replica *replica)
{
    const ctr_journal *journal = replica->journals;
    while (journal && !has_pending(journal)) journal = journal->next;
    return journal != NULL;
}

static void empty_batch(ctr_journal *journal)
{
    journal->n = journal->n_appended = journal->n_marks = 0;
}

/* The connection's own commit changes the version, too. */
void ctr_journal_committed(ctr_replica *replica)
{
    for (ctr_journal *journal = replica->journals; journal; journal = journal->next) {
        if (is_ahead_of_file(journal)) {
            journal->version = ctr_replica_version(replica);
            replica->numbers_version = journal->version;
        }
        journal->appended = false;
        journal->open_number = 0;
        empty_batch(journal);
    }
}

void ctr_journal_rolled_back(ctr_replica *replica)
{
    for (ctr_journal *journal = replica->journals; journal; journal = journal->next) {
        empty_batch(journal);
        ctr_journal_drop(journal);
    }
    replica->numbered = false;
}

/* ---- savepoints ------------------------------------------------------------------------------ */

/* Of a level that nobody has told nothing is to be restored: then nobody had counted. */
static void mark_batch(ctr_journal *journal, size_t level, ctr_problem *problem)
{
    if (level < journal->n_marks || problem->rc != SQLITE_OK) return;
    ctr_journal_mark *marks =
        ctr_array_room(journal->marks, &journal->room_for_marks, level + 1, sizeof *marks, problem);
    if (!marks) return;
    journal->marks = marks;
    while (journal->n_marks < level) marks[journal->n_marks++] = (ctr_journal_mark){0, 0};
    marks[journal->n_marks++] = (ctr_journal_mark){journal->n, journal->n_appended};
}

int ctr_journal_begin_savepoint(ctr_replica *replica, int level, ctr_problem *problem)
{
    for (ctr_journal *journal = replica->journals; journal; journal = journal->next)
        mark_batch(journal, (size_t)level, problem);
    return problem->rc;
}

void ctr_journal_end_savepoint(ctr_replica *replica, int level)
{
    for (ctr_journal *journal = replica->journals; journal; journal = journal->next)
        if (journal->n_marks > (size_t)level) journal->n_marks = (size_t)level;
}

/* The savepoint itself stays. A journal that was not there when it began has no mark, and neither
 * has the SAVEPOINT that began the transaction, the level of which is -1. */
void ctr_journal_roll_back_to(ctr_replica *replica, int level)
{
    for (ctr_journal *journal = replica->journals; journal; journal = journal->next) {
        size_t n_marks = (size_t)(level + 1);
        bool marked = n_marks > 0 && n_marks <= journal->n_marks;
        if (n_marks < journal->n_marks) journal->n_marks = n_marks;
        ctr_journal_abandon(journal);
        if (marked) journal->n_appended = journal->marks[level].appended;
    }
    replica->numbered = false;
}

void ctr_journal_forget_savepoints(ctr_replica *replica)
{
    for (ctr_journal *journal = replica->journals; journal; journal = journal->next)
        journal->n_marks = 0;
}
