/* table/journal.c - reads journals, and the batches that follow them. */
#include "table/journal.h"

#include <string.h>

#include "table/batch.h"
#include "table/catalog.h"
#include "table/refuse.h"

enum { FIRST_LOOKS = 1 /* look-ups of one row before all amounts are kept */ };

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
                             .cache.n_counters = n_counters};
    if (journal->schema && journal->table) return journal;
    ctr_problem_nomem(problem);
    ctr_journal_free(journal);
    return NULL;
}

void ctr_journal_drop(ctr_journal *journal)
{
    ctr_cache_clear(&journal->cache);
    ctr_cache_clear_amounts(&journal->amounts);
    journal->known = journal->untriggered = journal->appended = false;
    journal->n_rows = journal->n_entries = journal->last = journal->open_number = 0;
}

ctr_journal *ctr_journal_to_read(sqlite3 *db, const char *schema, const char *table, int n_counters,
                                 ctr_problem *problem)
{
    return problem->rc == SQLITE_OK ? make_journal(NULL, db, schema, table, n_counters, problem)
                                    : NULL;
}

void ctr_journal_release(ctr_journal *journal)
{
    ctr_transaction_close_kept(&journal->since);
    ctr_transaction_close_kept(&journal->append);
    ctr_transaction_close_kept(&journal->extend);
}

void ctr_journal_free(ctr_journal *journal)
{
    if (!journal) return;
    ctr_journal_release(journal);
    ctr_cache_clear(&journal->cache);
    ctr_cache_clear_amounts(&journal->amounts);
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
    }
    if (journal->cache.n_counters != n_counters) {
        ctr_journal_drop(journal);
        journal->cache.n_counters = n_counters;
        journal->shapes++;
    }
    journal->doubtful = true;
    return journal;
}

void ctr_journal_forget(ctr_replica *replica, const char *table)
{
    ctr_journal *journal = find_journal(replica, table);
    if (journal && ctr_batch_pending(journal) == 0) ctr_journal_drop(journal);
}

void ctr_journal_close(ctr_replica *replica)
{
    replica->touched = NULL;
    while (replica->journals) {
        ctr_journal *journal = replica->journals;
        replica->journals = journal->next;
        ctr_journal_free(journal);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads the id to which the amounts belong. */
static void read_id(ctr_journal *journal, ctr_problem *problem)
{
    ctr_identity read, *identity = &read;
    bool checked = journal->replica && journal->replica->checked;
    if (checked)
        identity = &journal->replica->identity;
    else if (journal->giver)
        read = *journal->giver;
    else
        ctr_identity_read(&read, journal->db, journal->schema, problem);
    if (problem->rc != SQLITE_OK) return;
    memcpy(journal->id, identity->id, CTR_ID_SIZE);
    journal->least = ctr_identity_least_clock(identity);
}

static void take_amount(ctr_journal *journal, const ctr_entry *entry, int64_t number,
                        ctr_problem *problem)
{
    if (entry->counter >= journal->cache.n_counters) {
        ctr_changes_damaged(journal->table, number, "names a counter that does not exist", problem);
        return;
    }
    if (ctr_cache_expect_amounts(&journal->amounts, 1, problem)) return;
    ctr_amount *amount = ctr_cache_add_amount(&journal->amounts, entry->row, entry->counter);
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
}

static void take_entries(ctr_journal *journal, sqlite3_stmt *stands, ctr_problem *problem)
{
    enum { BYTES_OF_AMOUNT = 4 }; /* or more */
    ctr_entries walk;
    ctr_entry entry;
    int64_t number = sqlite3_column_int64(stands, CTR_JOURNAL_NUMBER);
    const uint8_t *bytes = sqlite3_column_blob(stands, CTR_JOURNAL_ENTRIES);
    ctr_entries_open(&walk, bytes,
                     bytes ? (size_t)sqlite3_column_bytes(stands, CTR_JOURNAL_ENTRIES) : 0);
    journal->n_rows++;
    size_t most = (size_t)(walk.end - walk.at) / BYTES_OF_AMOUNT; /* too many: a forged row */
    if (!journal->only)
        ctr_cache_expect_amounts(&journal->amounts, most <= CTR_JOURNAL_AMOUNTS ? most : 0,
                                 problem);
    while (problem->rc == SQLITE_OK && ctr_entries_next(&walk, &entry)) {
        journal->n_entries++;
        if (journal->only && entry.row != *journal->only && entry.kind != CTR_ENTRY_FOLDED)
            continue;
        if (entry.kind == CTR_ENTRY_FOLDED) {
            ctr_cache_clear(&journal->cache);
            ctr_cache_clear_amounts(&journal->amounts);
            journal->n_entries = 1;
            continue;
        }
        if (entry.kind == CTR_ENTRY_ADDED) take_amount(journal, &entry, number, problem);
        if (entry.kind == CTR_ENTRY_WRITTEN)
            ctr_cache_drop_amount(&journal->amounts, entry.row, entry.counter);
        ctr_cache_forget(&journal->cache, entry.row);
    }
    if (walk.status != CTR_OK)
        ctr_changes_damaged(journal->table, number, ctr_entries_status_text(walk.status), problem);
}

/* Reads the rows after the last number. Returns false if memory cannot be brought up to date: the
 * row with that number is gone, or segments follow it. */
static bool read_on(ctr_journal *journal, ctr_problem *problem)
{
    bool fits = journal->last == 0, first = true;
    ctr_run run = ctr_run_on(journal->db, journal->schema, journal->table, problem);
    if (journal->replica)
        ctr_transaction_keep(journal->replica->transaction, &journal->since, journal->schema,
                             journal->table, CTR_SQL_JOURNAL_AMOUNTS, problem);
    else if (!journal->since.statement)
        journal->since.statement = ctr_run_prepare(&run, CTR_SQL_JOURNAL_AMOUNTS);
    sqlite3_stmt *row = journal->since.statement;
    if (!row || problem->rc != SQLITE_OK) return true;
    ctr_run_bind_int(&run, row, ":number", journal->last);
    bool rows = ctr_run_row(&run, row);
    if (ctr_run_is_hidden(row, CTR_JOURNAL_NUMBER) || ctr_run_is_hidden(row, CTR_JOURNAL_LEVEL))
        ctr_refuse_hidden(journal->table, problem);
    for (; rows && problem->rc == SQLITE_OK; rows = ctr_run_row(&run, row)) {
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
    if (journal->replica) ctr_transaction_keep_no_more(journal->replica->transaction);
    if (problem->rc != SQLITE_OK)
        ctr_transaction_close_kept(&journal->since); /* may hide columns */
    return fits || problem->rc != SQLITE_OK;
}

/* Adds the entries of the batch that are in no row of the journal yet. */
static void take_batch(ctr_journal *journal, ctr_problem *problem)
{
    for (size_t i = journal->n_appended; i < journal->n && problem->rc == SQLITE_OK; i++) {
        const ctr_entry *entry = &journal->batch[i];
        if (journal->only && entry->row != *journal->only) continue;
        if (entry->kind == CTR_ENTRY_WRITTEN)
            ctr_cache_drop_amount(&journal->amounts, entry->row, entry->counter);
        if (entry->kind != CTR_ENTRY_ADDED) continue;
        take_amount(journal, entry, journal->last, problem);
        ctr_amount *amount = ctr_cache_find_amount(&journal->amounts, entry->row, entry->counter);
        if (amount) amount->batch = (uint32_t)i;
    }
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

/* Returns whether the id of the file, or its lowest clock, changed after the journal was read:
 * another connection changed it, or a file that waited for a name began to count. */
static bool is_of_another_id(const ctr_journal *journal)
{
    if (!journal->known || !journal->replica || !journal->replica->checked) return false;
    const ctr_identity *identity = &journal->replica->identity;
    return memcmp(journal->id, identity->id, CTR_ID_SIZE) != 0 ||
           journal->least != ctr_identity_least_clock(identity);
}

void ctr_journal_read_again(ctr_journal *journal, ctr_problem *problem)
{
    if (ctr_batch_flush(journal, problem)) return;
    bool appended = journal->appended;
    ctr_journal_drop(journal);
    journal->appended = appended;
}

int ctr_journal_refresh(ctr_journal *journal, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return problem->rc;
    if (is_of_another_id(journal)) ctr_journal_read_again(journal, problem);
    if (problem->rc != SQLITE_OK) return problem->rc;
    if (journal->known && (ctr_batch_is_ahead(journal) || !journal->replica)) return SQLITE_OK;
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
            ctr_changes_add(list, &(ctr_change_of_row){amounts->slots[i].row, 0, 0}, problem);
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

int64_t ctr_journal_next(sqlite3 *db, const char *schema, ctr_problem *problem)
{
    int64_t next = 1;
    ctr_catalog catalog = {0};
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    if (problem->rc == SQLITE_OK) ctr_catalog_read(&catalog, db, schema, problem);
    for (int i = 0; i < catalog.n && problem->rc == SQLITE_OK; i++) {
        run.slots.table = catalog.entries[i].name;
        int64_t last = ctr_run_number(&run, CTR_SQL_JOURNAL_LAST);
        if (last >= next && last < INT64_MAX) next = last + 1;
    }
    ctr_catalog_close(&catalog);
    return next;
}
