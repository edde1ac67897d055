/* table/batch.c - notes entries, appends batches, and cuts them when a savepoint is rolled back. */
#include "table/batch.h"

#include "identity/os.h"
#include "identity/spill.h"
#include "sqlite/array.h"
#include "table/refuse.h"

enum {
    NUMBERS_IN_MS = 4096,
    BATCH_ENTRIES = 8192, /* a longer batch is appended within the transaction */
    OPEN_BYTES = 2048     /* a row of the journal does not grow beyond this */
};

/* ---- noting ---------------------------------------------------------------------------------- */

/* Returns the length of the batch at the last savepoint, to which a rollback returns. */
static size_t length_at_savepoint(const ctr_journal *journal)
{
    return journal->n_marks > 0 ? journal->marks[journal->n_marks - 1].n : 0;
}

void ctr_batch_abandon(ctr_journal *journal)
{
    journal->n = journal->n_appended = length_at_savepoint(journal);
    ctr_journal_drop(journal);
}

int ctr_batch_refuse_triggers(ctr_journal *journal, ctr_problem *problem)
{
    if (journal->untriggered) return problem->rc;
    if (journal->objects)
        ctr_refuse_triggers_among(journal->objects, journal->table, false, problem);
    else
        ctr_refuse_triggers(journal->db, journal->schema, journal->table, false, problem);
    journal->untriggered = problem->rc == SQLITE_OK;
    return problem->rc;
}

/* Adds the journal to those of this transaction. */
static void touch(ctr_journal *journal)
{
    ctr_replica *replica = journal->replica;
    replica->transaction->noted = true;
    ctr_transaction_end_round(replica->transaction);
    if (journal->is_touched) return;
    journal->is_touched = true;
    journal->next_touched = replica->touched;
    replica->touched = journal;
}

int ctr_batch_expect(ctr_journal *journal, int n, ctr_problem *problem)
{
    if (journal->replica) touch(journal);
    size_t most = (size_t)sqlite3_limit(journal->db, SQLITE_LIMIT_LENGTH, -1) / CTR_ENTRY_MAX / 2;
    ctr_batch_refuse_triggers(journal, problem);
    size_t pending = ctr_batch_pending(journal);
    if (pending >= BATCH_ENTRIES || pending >= most) ctr_batch_flush(journal, problem);
    if (ctr_cache_expect_amounts(&journal->amounts, (size_t)n, problem)) return problem->rc;
    ctr_entry *batch = ctr_array_room(journal->batch, &journal->room, journal->n + (size_t)n,
                                      sizeof *batch, problem);
    if (batch) journal->batch = batch;
    return problem->rc;
}

/* Returns whether n can be added to this entry. Their sum may leave the range of 64 bits even
 * though the sum of all amounts does not. */
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

/* Adds an increment to the pending entry of the same counter, if there is one. `batch` may be left
 * from an earlier batch, so the entry is compared. Entries before a savepoint never change. If this
 * is the first tick, the counter had no amount: entries of it in the batch came before its cell was
 * written. */
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
                                               .origin = CTR_MADE_HERE,
                                               .counter = (int)amount->counter,
                                               .n = n,
                                               .ticks = 1};
}

void ctr_batch_add(ctr_journal *journal, int64_t row, int counter, int64_t n)
{
    ctr_amount *amount = ctr_cache_add_amount(&journal->amounts, row, counter);
    ctr_row *known = ctr_cache_row(&journal->cache, row);
    const ctr_amount tick = {.n = n, .ticks = 1};
    amount->n += n;
    amount->ticks++;
    note_amount(journal, amount, n);
    if (known && ctr_journal_advance(journal, &tick, &known->states[counter]) != CTR_OK)
        ctr_cache_forget(&journal->cache, row);
}

void ctr_batch_note(ctr_journal *journal, int64_t row, ctr_entry_kind kind, int counter,
                    ctr_origin origin)
{
    journal->batch[journal->n++] =
        (ctr_entry){.row = row, .kind = kind, .origin = origin, .counter = counter};
    if (kind != CTR_ENTRY_WRITTEN) return;
    ctr_cache_drop_amount(&journal->amounts, row, counter);
    ctr_cache_forget(&journal->cache, row);
}

/* ---- appending ------------------------------------------------------------------------------- */

/* The write lock is held, so no other connection draws numbers. */
static int64_t draw_number(ctr_journal *journal, ctr_problem *problem)
{
    ctr_replica *replica = journal->replica;
    unsigned version = ctr_replica_version(replica);
    if (!replica->numbered || replica->numbers_version != version) {
        replica->next_number = ctr_journal_next(journal->db, journal->schema, problem);
        replica->numbers_version = version;
        replica->numbered = problem->rc == SQLITE_OK;
    }
    /* a fold may have removed the row with the last number */
    if (replica->next_number <= journal->last)
        replica->next_number = journal->last < INT64_MAX ? journal->last + 1 : INT64_MAX;
    int64_t now = ctr_os_now() * NUMBERS_IN_MS;
    if (replica->next_number >= CTR_JOURNAL_NUMBERS)
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                        "%s_journal is damaged: it has the number %lld", journal->table,
                        (long long)replica->next_number - 1);
    return now > replica->next_number ? now : replica->next_number;
}

static void refuse_ignored(ctr_journal *journal, ctr_problem *problem)
{
    ctr_refuse_ignored_entries(journal->db, journal->schema, journal->table, problem);
}

/* If SQLite prepared the statement again, the schema changed, and there may be new triggers. */
static void step_write(ctr_journal *journal, sqlite3_stmt *row, bool extends, ctr_problem *problem)
{
    ctr_transaction *transaction = journal->replica->transaction;
    unsigned nth = transaction->ended;
    ctr_run run = ctr_run_on(journal->db, journal->schema, journal->table, problem);
    ctr_spill_check(journal->replica);
    ctr_run_write(&run, row);
    bool written = problem->rc == SQLITE_OK;
    sqlite3_reset(row);
    sqlite3_clear_bindings(row);
    if (sqlite3_stmt_status(row, SQLITE_STMTSTATUS_REPREPARE, 1) > 0) {
        journal->untriggered = false;
        ctr_batch_refuse_triggers(journal, problem);
        if (extends) refuse_ignored(journal, problem);
    }
    if (problem->rc != SQLITE_OK) ctr_journal_release(journal);
    ctr_transaction_keep_no_more(transaction);
    if (written && problem->rc != SQLITE_OK) ctr_transaction_spoil(transaction, nth);
}

/* Writes a new row, or the open one with more entries. */
static void write_open_row(ctr_journal *journal, bool extends, ctr_problem *problem)
{
    ctr_replica *replica = journal->replica;
    int64_t number = extends ? journal->open_number : draw_number(journal, problem);
    if (extends && !journal->extend.statement) refuse_ignored(journal, problem);
    sqlite3_stmt *row = ctr_transaction_keep(
        replica->transaction, extends ? &journal->extend : &journal->append, journal->schema,
        journal->table, extends ? CTR_SQL_JOURNAL_EXTEND : CTR_SQL_JOURNAL_NOTE, problem);
    if (!row) return;
    ctr_run run = ctr_run_on(journal->db, journal->schema, journal->table, problem);
    ctr_run_bind_int(&run, row, ":number", number);
    ctr_run_bind_blob(&run, row, ":entries", journal->open.bytes, journal->open.size);
    step_write(journal, row, extends, problem);
    if (problem->rc != SQLITE_OK || extends) return;
    replica->next_number = number + 1;
    journal->last = number;
    journal->n_rows++;
}

/* Encodes the pending entries after those of the open row. */
static void encode_batch(ctr_journal *journal, bool extends, ctr_problem *problem)
{
    if (!extends) journal->open.size = 0;
    size_t room = CTR_ENTRIES_HEADER + ctr_batch_pending(journal) * CTR_ENTRY_MAX;
    uint8_t *out = ctr_pack_room(&journal->open, room, problem);
    if (!out) return;
    if (!extends) journal->open_row = 0;
    if (!extends) out = ctr_entries_begin(out);
    for (size_t i = journal->n_appended; i < journal->n; i++)
        out = ctr_entries_put(out, &journal->open_row, &journal->batch[i]);
    journal->open.size = (size_t)(out - journal->open.bytes);
}

/* A transaction has one row that may grow, up to OPEN_BYTES. The host's last_insert_rowid() is
 * restored. */
int ctr_batch_flush(ctr_journal *journal, ctr_problem *problem)
{
    if (ctr_batch_pending(journal) == 0 || problem->rc != SQLITE_OK) return problem->rc;
    size_t before = journal->open.size;
    int64_t last_row = journal->open_row;
    bool extends =
        journal->open_number != 0 && before + ctr_batch_pending(journal) * 8 <= OPEN_BYTES;
    encode_batch(journal, extends, problem);
    sqlite3_int64 last_rowid = sqlite3_last_insert_rowid(journal->db);
    if (problem->rc == SQLITE_OK) write_open_row(journal, extends, problem);
    sqlite3_set_last_insert_rowid(journal->db, last_rowid);
    if (problem->rc != SQLITE_OK) {
        journal->replica->numbered = false;
        journal->open_number = extends ? journal->open_number : 0;
        journal->open.size = before;
        journal->open_row = last_row;
        return problem->rc;
    }
    if (!extends) journal->open_number = journal->last;
    journal->n_entries += (int64_t)ctr_batch_pending(journal);
    journal->appended = true;
    journal->n = journal->n_appended = length_at_savepoint(journal);
    return problem->rc;
}

/* In the order of rows, entries take the fewest bytes. The memory of such a long batch is freed. */
void ctr_batch_carry(ctr_journal *journal, ctr_problem *problem)
{
    ctr_changes list = {0};
    journal->open_number = 0;
    journal->n_rows = journal->n_entries = 0;
    ctr_journal_list_amounts(journal, &list, problem);
    ctr_entry *batch = ctr_array_room(journal->batch, &journal->room,
                                      journal->n + 1 + journal->amounts.n, sizeof *batch, problem);
    if (batch) {
        journal->batch = batch;
        touch(journal);
        ctr_batch_note(journal, 0, CTR_ENTRY_FOLDED, 0, CTR_MADE_HERE);
        for (size_t i = 0; i < list.n; i++)
            for (int c = 0; c < journal->cache.n_counters; c++) {
                const ctr_amount *amount = ctr_journal_amount(journal, list.rows[i].row, c);
                if (amount)
                    journal->batch[journal->n++] = (ctr_entry){.row = amount->row,
                                                               .kind = CTR_ENTRY_ADDED,
                                                               .origin = CTR_MADE_HERE,
                                                               .counter = c,
                                                               .n = amount->n,
                                                               .ticks = amount->ticks};
            }
        ctr_batch_flush(journal, problem);
    }
    sqlite3_free(list.rows);
    journal->open_number = 0;
    if (journal->n > 0) return;
    sqlite3_free(journal->batch);
    sqlite3_free(journal->open.bytes);
    journal->batch = NULL;
    journal->room = 0;
    journal->open = (ctr_packed){0};
}

int64_t ctr_batch_mark_change(ctr_journal *journal, ctr_problem *problem)
{
    ctr_batch_flush(journal, problem);
    if (ctr_batch_expect(journal, 1, problem)) return 0;
    ctr_journal_drop(journal); /* a new row, so that its number is that of the change */
    ctr_batch_note(journal, 0, CTR_ENTRY_FOLDED, 0, CTR_MADE_HERE);
    ctr_batch_flush(journal, problem);
    int64_t number = journal->last;
    ctr_batch_abandon(journal);
    return problem->rc == SQLITE_OK ? number : 0;
}

/* ---- all tables of a file -------------------------------------------------------------------- */

int ctr_batch_flush_all(ctr_replica *replica, ctr_problem *problem)
{
    for (ctr_journal *journal = replica->touched; journal && problem->rc == SQLITE_OK;
         journal = journal->next_touched) {
        ctr_batch_flush(journal, problem);
        ctr_problem_where(problem, "%s", journal->table);
    }
    return problem->rc;
}

bool ctr_batch_any_pending(const ctr_replica *replica)
{
    const ctr_journal *journal = replica->touched;
    while (journal && ctr_batch_pending(journal) == 0) journal = journal->next_touched;
    return journal != NULL;
}

/* Empties all batches. */
static void untouch(ctr_replica *replica)
{
    while (replica->touched) {
        ctr_journal *journal = replica->touched;
        replica->touched = journal->next_touched;
        journal->is_touched = false;
        journal->n = journal->n_appended = journal->n_marks = 0;
    }
}

/* The connection's own commit changes the data version, too. */
void ctr_batch_committed(ctr_replica *replica)
{
    for (ctr_journal *journal = replica->touched; journal; journal = journal->next_touched) {
        if (ctr_batch_is_ahead(journal)) {
            journal->version = ctr_replica_version(replica);
            replica->numbers_version = journal->version;
        }
        journal->appended = false;
        journal->open_number = 0;
    }
    untouch(replica);
}

void ctr_batch_rolled_back(ctr_replica *replica)
{
    untouch(replica);
    for (ctr_journal *journal = replica->journals; journal; journal = journal->next)
        ctr_journal_drop(journal);
    replica->numbered = false;
}

/* ---- savepoints ------------------------------------------------------------------------------ */

/* A level that SQLite did not report needs no mark, nor does any for a journal that was touched
 * later: nothing had been counted then. */
int ctr_batch_begin_savepoint(ctr_replica *replica, int level, ctr_problem *problem)
{
    const size_t n = (size_t)level;
    for (ctr_journal *journal = replica->touched; journal; journal = journal->next_touched) {
        if (journal->n_marks > n) journal->n_marks = n; /* their savepoints were never begun */
        ctr_journal_mark *marks =
            ctr_array_room(journal->marks, &journal->room_for_marks, n + 1, sizeof *marks, problem);
        if (!marks) continue;
        journal->marks = marks;
        if (journal->n_marks > n) journal->n_marks = n;
        while (journal->n_marks < n) marks[journal->n_marks++] = (ctr_journal_mark){0, 0};
        marks[journal->n_marks++] = (ctr_journal_mark){journal->n, journal->n_appended};
    }
    return problem->rc;
}

void ctr_batch_end_savepoint(ctr_replica *replica, int level)
{
    for (ctr_journal *journal = replica->touched; journal; journal = journal->next_touched)
        if (journal->n_marks > (size_t)level) journal->n_marks = (size_t)level;
}

/* The savepoint itself stays. A journal created after it has no mark; nor has the SAVEPOINT that
 * began the transaction, whose level is -1. */
void ctr_batch_roll_back_to(ctr_replica *replica, int level)
{
    for (ctr_journal *journal = replica->journals; journal; journal = journal->next) {
        size_t n_marks = (size_t)(level + 1);
        bool marked = n_marks > 0 && n_marks <= journal->n_marks;
        if (n_marks < journal->n_marks) journal->n_marks = n_marks;
        ctr_batch_abandon(journal);
        if (marked) journal->n_appended = journal->marks[level].appended;
    }
    replica->numbered = false;
}
