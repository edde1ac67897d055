/* table/journal.c - reads journals, and the batches that follow them. */
#include "table/table.h"

#include <string.h>

enum { FIRST_LOOKS = 1 /* look-ups of one row before all amounts are kept */ };

void ctr_journal_drop(ctr_tab *tab)
{
    ctr_cache_clear(&tab->cache);
    ctr_cache_clear_amounts(&tab->amounts);
    ctr_regular_forget(tab);
    tab->writes++;
    tab->known = tab->untriggered = tab->appended = false;
    tab->ready_at = 0;
    tab->n_rows = tab->n_entries = tab->last = tab->open_number = 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Returns the identity as it stands in the file; `space` is for one that was not checked. */
static const ctr_identity *identity_of(ctr_tab *tab, ctr_identity *space, ctr_problem *problem)
{
    if (tab->file->checked) return &tab->file->identity;
    ctr_file_peek(tab->file, space, problem);
    return space;
}

/* Reads the id to which the amounts belong. */
static void read_id(ctr_tab *tab, ctr_problem *problem)
{
    ctr_identity space;
    const ctr_identity *identity = identity_of(tab, &space, problem);
    if (problem->rc != SQLITE_OK) return;
    memcpy(tab->id, identity->id, CTR_ID_SIZE);
    tab->least = ctr_identity_least_clock(identity);
}

static void take_amount(ctr_tab *tab, const ctr_entry *entry, int64_t number, ctr_problem *problem)
{
    if (entry->counter >= tab->cache.n_counters) {
        ctr_changes_damaged(tab->table, number, "names a counter that does not exist", problem);
        return;
    }
    if (ctr_cache_expect_amounts(&tab->amounts, 1, problem)) return;
    ctr_amount *amount = ctr_cache_add_amount(&tab->amounts, entry->row, entry->counter);
    ctr_sum sum = {0, 0};
    int64_t n;
    ctr_sum_add(&sum, amount->n);
    ctr_sum_add(&sum, entry->n);
    if (ctr_sum_value(&sum, &n) != CTR_OK || amount->ticks > INT64_MAX - entry->ticks) {
        ctr_changes_damaged(tab->table, number, "has amounts out of range", problem);
        return;
    }
    amount->n = n;
    amount->ticks += entry->ticks;
}

/* A later row of the journal has a higher number. */
static void apply_stamps(ctr_tab *tab, const ctr_entry *entry, int64_t number, ctr_problem *problem)
{
    if (number > CTR_STAMP_MAX) {
        ctr_changes_damaged(tab->table, number, "has a stamp out of range", problem);
        return;
    }
    if (ctr_cache_expect_amounts(&tab->amounts, CTR_ENTRY_MASK, problem)) return;
    for (int i = 0; i < CTR_ENTRY_MASK; i++)
        if (entry->mask >> i & 1)
            ctr_cache_set_stamp(&tab->amounts, entry->row, entry->word * CTR_ENTRY_MASK + i,
                                number);
}

/* Takes an entry that is not CTR_ENTRY_FOLDED, in a row with this number. */
static void apply_entry(ctr_tab *tab, const ctr_entry *entry, int64_t number, ctr_problem *problem)
{
    switch (entry->kind) {
    case CTR_ENTRY_ADDED: take_amount(tab, entry, number, problem); break;
    case CTR_ENTRY_WRITTEN: ctr_cache_drop_amount(&tab->amounts, entry->row, entry->counter); break;
    case CTR_ENTRY_STAMPED:
        apply_stamps(tab, entry, entry->number ? entry->number : number, problem);
        break;
    case CTR_ENTRY_ROW_WRITTEN: ctr_cache_drop_stamps(&tab->amounts, entry->row); break;
    default: break;
    }
}

static void take_entries(ctr_tab *tab, sqlite3_stmt *stands, ctr_problem *problem)
{
    enum { BYTES_OF_AMOUNT = 4 }; /* or more */
    ctr_entries walk;
    ctr_entry entry;
    int64_t number = sqlite3_column_int64(stands, CTR_JOURNAL_NUMBER);
    const uint8_t *bytes = sqlite3_column_blob(stands, CTR_JOURNAL_ENTRIES);
    ctr_entries_open(&walk, bytes,
                     bytes ? (size_t)sqlite3_column_bytes(stands, CTR_JOURNAL_ENTRIES) : 0);
    tab->n_rows++;
    size_t most = (size_t)(walk.end - walk.at) / BYTES_OF_AMOUNT; /* too many: a forged row */
    if (!tab->only)
        ctr_cache_expect_amounts(&tab->amounts, most <= CTR_JOURNAL_AMOUNTS ? most : 0, problem);
    while (problem->rc == SQLITE_OK && ctr_entries_next(&walk, &entry)) {
        tab->n_entries++;
        if (tab->only && entry.row != *tab->only && entry.kind != CTR_ENTRY_FOLDED) continue;
        if (entry.kind == CTR_ENTRY_FOLDED) {
            ctr_cache_clear(&tab->cache);
            ctr_cache_clear_amounts(&tab->amounts);
            tab->n_entries = 1;
            continue;
        }
        apply_entry(tab, &entry, number, problem);
        ctr_cache_forget(&tab->cache, entry.row);
    }
    if (walk.status != CTR_OK)
        ctr_changes_damaged(tab->table, number, ctr_entries_status_text(walk.status), problem);
}

/* Reads the rows after the last number. Returns false if memory cannot be brought up to date: the
 * row with that number is gone, or segments follow it. A kept statement that has not read any may
 * hide the entries, as an authorizer wanted that is gone since: it is prepared `again`. */
static bool read_on(ctr_tab *tab, bool again, ctr_problem *problem)
{
    bool fits = tab->last == 0, first = true;
    ctr_run run = ctr_tab_run(tab, problem);
    ctr_slot *slot = ctr_tab_take(tab, CTR_TAB_AMOUNTS, problem);
    if (!slot) return true;
    sqlite3_stmt *row = slot->kept.statement;
    ctr_run_bind_int(&run, row, ":number", tab->last);
    bool rows = ctr_run_row(&run, row);
    if (ctr_run_is_hidden(row, CTR_JOURNAL_NUMBER) || ctr_run_is_hidden(row, CTR_JOURNAL_LEVEL))
        ctr_refuse_hidden(tab->table, problem);
    for (; rows && problem->rc == SQLITE_OK; rows = ctr_run_row(&run, row)) {
        int64_t number = sqlite3_column_int64(row, CTR_JOURNAL_NUMBER);
        bool segment = sqlite3_column_int64(row, CTR_JOURNAL_LEVEL) != CTR_LEVEL_TRANSACTIONS;
        if (first && number == tab->last && number != 0) {
            fits = true;
        } else {
            if (segment && tab->known) fits = false;
            if (!fits) break;
            bool none = sqlite3_column_type(row, CTR_JOURNAL_ENTRIES) == SQLITE_NULL;
            if (!segment && none && !slot->checked && !again) {
                ctr_tab_drop(slot);
                return read_on(tab, true, problem);
            }
            if (!segment) take_entries(tab, row, problem);
            slot->checked = slot->checked || !segment;
            tab->last = number;
        }
        first = false;
    }
    if (sqlite3_stmt_status(row, SQLITE_STMTSTATUS_REPREPARE, 1) > 0 && tab->known) fits = false;
    ctr_tab_give_back(tab, slot, problem);
    return fits || problem->rc != SQLITE_OK;
}

/* Adds the entries of the batch that are in no row of the journal yet. */
static void take_batch(ctr_tab *tab, ctr_problem *problem)
{
    for (size_t i = tab->n_appended; i < tab->n && problem->rc == SQLITE_OK; i++) {
        const ctr_entry *entry = &tab->batch[i];
        if (tab->only && entry->row != *tab->only) continue;
        bool stamped = entry->kind == CTR_ENTRY_STAMPED;
        apply_entry(tab, entry, stamped ? ctr_batch_number(tab, problem) : tab->last, problem);
        ctr_amount *amount = entry->kind == CTR_ENTRY_ADDED
                                 ? ctr_cache_find_amount(&tab->amounts, entry->row, entry->counter)
                                 : NULL;
        if (amount) amount->batch = (uint32_t)i;
    }
}

static void read_anew(ctr_tab *tab, ctr_problem *problem)
{
    ctr_journal_drop(tab);
    read_id(tab, problem);
    read_on(tab, false, problem);
    take_batch(tab, problem);
    tab->known = problem->rc == SQLITE_OK;
    if (!tab->known) ctr_journal_drop(tab);
    if (tab->known && !tab->only) tab->looks = 0;
}

/* Returns whether the id of the file, or its lowest clock, changed after the journal was read:
 * another connection changed it, or a file that waited for a name began to count. */
static bool is_of_another_id(ctr_tab *tab, ctr_problem *problem)
{
    ctr_identity space;
    const ctr_identity *identity = identity_of(tab, &space, problem);
    return problem->rc == SQLITE_OK && (memcmp(tab->id, identity->id, CTR_ID_SIZE) != 0 ||
                                        tab->least != ctr_identity_least_clock(identity));
}

void ctr_journal_read_again(ctr_tab *tab, ctr_problem *problem)
{
    if (ctr_batch_flush(tab, problem)) return;
    bool appended = tab->appended;
    ctr_journal_drop(tab);
    tab->appended = appended;
}

int ctr_journal_refresh(ctr_tab *tab, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK || ctr_tab_is_ready(tab)) return problem->rc;
    unsigned version = ctr_file_data_version(tab->file);
    bool stale = version != tab->version || tab->doubtful;
    if (tab->known && (stale || tab->file->checked) && is_of_another_id(tab, problem))
        ctr_journal_read_again(tab, problem);
    if (problem->rc != SQLITE_OK) return problem->rc;
    if (tab->known && (ctr_batch_is_ahead(tab) || !stale)) return SQLITE_OK;
    if (!tab->known || !read_on(tab, false, problem)) read_anew(tab, problem);
    if (problem->rc != SQLITE_OK) ctr_journal_drop(tab);
    tab->version = version;
    tab->doubtful = false;
    return problem->rc;
}

int ctr_journal_refresh_row(ctr_tab *tab, int64_t row, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return problem->rc;
    if (tab->known || ++tab->looks > FIRST_LOOKS) return ctr_journal_refresh(tab, problem);
    tab->only = &row;
    read_anew(tab, problem);
    tab->only = NULL;
    tab->known = false;
    return problem->rc;
}

int ctr_journal_list_amounts(const ctr_tab *tab, ctr_changes *list, ctr_problem *problem)
{
    const ctr_amounts *amounts = &tab->amounts;
    for (size_t i = 0; i < amounts->n_slots; i++)
        if (amounts->slots[i].counter != CTR_AMOUNT_UNUSED && amounts->slots[i].ticks > 0)
            ctr_changes_add(list, &(ctr_change_of_row){amounts->slots[i].row, 0, 0}, problem);
    return ctr_changes_latest(list, problem);
}

size_t ctr_journal_count_amounts(const ctr_tab *tab)
{
    const ctr_amounts *amounts = &tab->amounts;
    size_t n = 0;
    for (size_t i = 0; i < amounts->n_slots; i++)
        n += amounts->slots[i].counter != CTR_AMOUNT_UNUSED && amounts->slots[i].ticks > 0;
    return n;
}
