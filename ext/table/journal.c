/* table/journal.c - reads what a table has in the journal into memory, and appends the batches of a
 * transaction.
 */
#include "table/table.h"

#include <stdlib.h>
#include <string.h>

/* =================================================================================================
 * cache - open addressing over amounts; two hash tables over rows.
 *
 * They are two mechanisms: an amount is small, is found by its place in an array that a fresh
 * connection fills at once, and never leaves it; a row has any size, two keys, and goes alone.
 */

/* ---- amounts --------------------------------------------------------------------------------- */

enum { LEAST_SLOTS = 64 };

/* Returns the slot of the amount, or an unused one for it. */
static ctr_amount *slot_for(const ctr_amounts *amounts, int64_t row, int counter)
{
    uint64_t hash = ((uint64_t)row + (uint64_t)counter * UINT64_C(0xC2B2AE3D27D4EB4F)) *
                    UINT64_C(0x9E3779B97F4A7C15);
    size_t at = (size_t)(hash >> 32) & (amounts->n_slots - 1);
    const ctr_amount *slots = amounts->slots;
    while (slots[at].counter != CTR_AMOUNT_UNUSED &&
           (slots[at].row != row || slots[at].counter != (uint32_t)counter))
        at = (at + 1) & (amounts->n_slots - 1);
    return &amounts->slots[at];
}

static bool adds(const ctr_amount *amount)
{
    return amount->counter != CTR_AMOUNT_UNUSED && amount->ticks > 0;
}

ctr_amount *ctr_cache_find_amount(const ctr_amounts *amounts, int64_t row, int counter)
{
    if (amounts->n == 0) return NULL;
    ctr_amount *found = slot_for(amounts, row, counter);
    return found->counter != CTR_AMOUNT_UNUSED ? found : NULL;
}

/* Dropped amounts are not copied to the new table. */
int ctr_cache_expect_amounts(ctr_conn *conn, ctr_amounts *amounts, size_t n)
{
    size_t slots = LEAST_SLOTS, live = 0;
    if (3 * amounts->n_slots >= 4 * (amounts->n + n) || ctr_rc(conn) != SQLITE_OK)
        return ctr_rc(conn);
    for (size_t i = 0; i < amounts->n_slots; i++) live += adds(&amounts->slots[i]);
    while (3 * slots < 4 * (live + n)) slots *= 2;
    if (slots == amounts->n_slots && live > amounts->n / 4 * 3) slots *= 2;
    ctr_amounts made = {.slots = sqlite3_malloc64(slots * sizeof *made.slots),
                        .n_slots = slots,
                        .n_columns = amounts->n_columns};
    if (!made.slots) return ctr_problem_nomem(conn);
    memset(made.slots, 0xff, slots * sizeof *made.slots);
    for (size_t i = 0; i < amounts->n_slots; i++) {
        const ctr_amount *amount = &amounts->slots[i];
        if (adds(amount)) *slot_for(&made, amount->row, (int)amount->counter) = *amount;
    }
    made.n = live;
    sqlite3_free(amounts->slots);
    *amounts = made;
    return ctr_rc(conn);
}

ctr_amount *ctr_cache_add_amount(ctr_amounts *amounts, int64_t row, int counter)
{
    ctr_amount *amount = slot_for(amounts, row, counter);
    if (amount->counter != CTR_AMOUNT_UNUSED) return amount;
    *amount = (ctr_amount){.row = row, .counter = (uint32_t)counter};
    amounts->n++;
    return amount;
}

void ctr_cache_drop_amount(ctr_amounts *amounts, int64_t row, int counter)
{
    ctr_amount *amount = ctr_cache_find_amount(amounts, row, counter);
    if (amount) amount->n = amount->ticks = 0;
}

ctr_amount *ctr_cache_set_stamp(ctr_amounts *amounts, int64_t row, int column, int64_t number)
{
    ctr_amount *amount = ctr_cache_add_amount(amounts, row, CTR_AMOUNT_COLUMNS + column);
    if (number > amount->n) amount->n = number;
    amount->ticks = 1;
    if (column >= amounts->n_columns) amounts->n_columns = column + 1;
    return amount;
}

bool ctr_cache_has_stamps(const ctr_amounts *amounts, int64_t row)
{
    bool any = false;
    for (int i = 0; i < amounts->n_columns && !any; i++) {
        const ctr_amount *amount = ctr_cache_find_amount(amounts, row, CTR_AMOUNT_COLUMNS + i);
        any = amount && amount->ticks > 0;
    }
    return any;
}

bool ctr_cache_drop_stamps(ctr_amounts *amounts, int64_t row)
{
    if (!ctr_cache_has_stamps(amounts, row)) return false;
    for (int i = 0; i < amounts->n_columns; i++)
        ctr_cache_drop_amount(amounts, row, CTR_AMOUNT_COLUMNS + i);
    return true;
}

void ctr_cache_clear_amounts(ctr_amounts *amounts)
{
    sqlite3_free(amounts->slots);
    *amounts = (ctr_amounts){0};
}

ctr_status ctr_cache_advance(ctr_summary *state, const ctr_amount *amount, int64_t least)
{
    ctr_sum value = {0, 0};
    ctr_sum_add(&value, state->value);
    ctr_sum_add(&value, amount->n);
    ctr_sum_add(&state->sum, amount->n);
    state->touched = state->has_shards = true;
    if (state->clock < least) state->clock = least - 1;
    if (state->life % 2 == 0 || state->clock > INT64_MAX - amount->ticks) return CTR_OUT_OF_RANGE;
    state->clock += amount->ticks;
    return ctr_sum_value(&value, &state->value) == CTR_OK ? CTR_OK : CTR_OUT_OF_RANGE;
}

enum { FIRST_SLOTS = 64 };

/* ---- slots ----------------------------------------------------------------------------------- */

uint64_t ctr_cache_hash(const uint8_t *key, size_t size)
{
    uint64_t hash = size;
    for (; size >= 8; size -= 8, key += 8) {
        uint64_t word;
        memcpy(&word, key, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    for (; size > 0; size--) hash = (hash ^ *key++) * UINT64_C(0x100000001B3);
    return hash ^ hash >> 29;
}

static size_t slot_of_id(const ctr_cache *cache, int64_t id)
{
    return (size_t)(((uint64_t)id * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (cache->slots - 1);
}

ctr_known_row *ctr_cache_row(const ctr_cache *cache, int64_t id)
{
    if (cache->n == 0) return NULL;
    if (cache->last && cache->last->id == id) return cache->last;
    ctr_known_row *row = cache->by_id[slot_of_id(cache, id)];
    while (row && row->id != id) row = row->next[0];
    return row;
}

ctr_known_row *ctr_cache_key(ctr_cache *cache, uint64_t hash, const uint8_t *key, size_t size)
{
    if (cache->n == 0) return NULL;
    ctr_known_row *row = cache->by_key[hash & (cache->slots - 1)];
    while (row && (row->hash != hash || row->key_size != size || memcmp(row->key, key, size) != 0))
        row = row->next[1];
    if (row) row->used = true;
    if (row) cache->last = row;
    return row;
}

/* Returns the list of a row by id, or by key. */
static ctr_known_row **row_list(const ctr_cache *cache, const ctr_known_row *row, bool by_key)
{
    return by_key ? &cache->by_key[row->hash & (cache->slots - 1)]
                  : &cache->by_id[slot_of_id(cache, row->id)];
}

static void link_row(ctr_cache *cache, ctr_known_row *row)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        ctr_known_row **list = row_list(cache, row, by_key);
        row->next[by_key] = *list;
        *list = row;
    }
}

static bool grow_slots(ctr_cache *cache)
{
    if (2 * cache->n < cache->slots) return true;
    size_t slots = cache->slots ? 2 * cache->slots : FIRST_SLOTS;
    ctr_known_row **made = sqlite3_malloc64(2 * slots * sizeof *made), **old = cache->by_id;
    if (!made) return false;
    memset(made, 0, 2 * slots * sizeof *made);
    size_t before = cache->slots;
    cache->by_id = made;
    cache->by_key = made + slots;
    cache->slots = slots;
    for (size_t i = 0; i < before; i++) {
        for (ctr_known_row *row = old[i], *next; row; row = next) {
            next = row->next[0];
            link_row(cache, row);
        }
    }
    sqlite3_free(old);
    return true;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static size_t size_of_row(const ctr_cache *cache)
{
    return sizeof(ctr_known_row) + (size_t)cache->n_counters * sizeof(ctr_summary);
}

static void free_row(ctr_cache *cache, ctr_known_row *row)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        ctr_known_row **at = row_list(cache, row, by_key);
        while (*at != row) at = &(*at)->next[by_key];
        *at = row->next[by_key];
    }
    if (cache->last == row) cache->last = NULL;
    cache->bytes -= size_of_row(cache) + row->key_size;
    cache->n--;
    sqlite3_free(row);
}

void ctr_cache_forget(ctr_cache *cache, int64_t id)
{
    ctr_known_row *row = ctr_cache_row(cache, id);
    if (row) free_row(cache, row);
}

/* The clock algorithm: drops rows that were not used since the hand last passed, until there is
 * room. Two rounds are enough: the first one clears every `used`. */
static bool make_room(ctr_cache *cache, size_t size)
{
    if (size > CTR_CACHE_BYTES) return false;
    while (cache->bytes + size > CTR_CACHE_BYTES) {
        cache->hand = (cache->hand + 1) & (cache->slots - 1);
        for (ctr_known_row *row = cache->by_id[cache->hand], *next; row; row = next) {
            next = row->next[0];
            if (row->used)
                row->used = false;
            else
                free_row(cache, row);
        }
    }
    return true;
}

ctr_known_row *ctr_cache_add(ctr_cache *cache, int64_t id, uint64_t hash, const uint8_t *key,
                             size_t size, const ctr_summary *states)
{
    if (!make_room(cache, size_of_row(cache) + size) || !grow_slots(cache)) return NULL;
    ctr_known_row *row = sqlite3_malloc64(size_of_row(cache) + size);
    if (!row) return NULL;
    *row = (ctr_known_row){.id = id, .key_size = size, .hash = hash, .used = true};
    row->key = (uint8_t *)row + size_of_row(cache);
    memcpy(row->key, key, size);
    memcpy(row->states, states, (size_t)cache->n_counters * sizeof *states);
    link_row(cache, row);
    cache->bytes += size_of_row(cache) + size;
    cache->last = row;
    cache->n++;
    return row;
}

void ctr_cache_clear(ctr_cache *cache)
{
    for (size_t i = 0; i < cache->slots && cache->n > 0; i++) {
        for (ctr_known_row *row = cache->by_id[i], *next; row; row = next) {
            next = row->next[0];
            sqlite3_free(row);
        }
    }
    sqlite3_free(cache->by_id);
    *cache = (ctr_cache){.n_counters = cache->n_counters};
}

/* =================================================================================================
 * journal
 */

/* =================================================================================================
 * batch - notes entries, appends batches, and cuts them when a savepoint is rolled back. */

enum {
    BATCH_ENTRIES = 8192, /* a longer batch is appended within the transaction */
    ROW_BYTES = 1 << 16,  /* a row takes no more groups beyond this */
    OPEN_BYTES = 2048     /* a row of the journal does not grow beyond this */
};

/* ---- noting ---------------------------------------------------------------------------------- */

/* Returns the length of the batch at the last savepoint, to which a rollback returns. */
static size_t length_at_savepoint(const ctr_tab *tab)
{
    return tab->n_marks > 0 ? tab->marks[tab->n_marks - 1].n : 0;
}

void ctr_batch_abandon(ctr_tab *tab)
{
    tab->n = tab->n_appended = length_at_savepoint(tab);
    tab->folded = false;
    if (tab->is_touched) tab->file->open_number = 0;
    ctr_journal_drop(tab);
}

int ctr_batch_refuse_triggers(ctr_tab *tab)
{
    if (tab->untriggered) return ctr_rc(tab->conn);
    const ctr_objects *objects = ctr_file_objects(tab->file);
    if (objects) ctr_refuse_triggers_among(objects, tab->table, false);
    tab->untriggered = ctr_rc(tab->conn) == SQLITE_OK;
    return ctr_rc(tab->conn);
}

int ctr_batch_refuse_triggers_anew(ctr_tab *tab)
{
    tab->untriggered = false;
    tab->ready_at = 0;
    return ctr_batch_refuse_triggers(tab);
}

/* Adds the journal to those of this transaction. */
static void touch(ctr_tab *tab)
{
    ctr_file *file = tab->file;
    tab->writes++;
    file->conn->noted = true;
    ctr_conn_end_round(file->conn);
    if (tab->is_touched) return;
    tab->is_touched = true;
    tab->next_touched = file->touched;
    file->touched = tab;
}

/* Returns whether a stamp was written that is higher than the number of the pending ones. */
static bool is_overtaken(const ctr_file *file)
{
    return file->drawn != 0 && file->drawn < file->learned;
}

static size_t most_entries(const ctr_file *file)
{
    return (size_t)sqlite3_limit(file->conn->db, SQLITE_LIMIT_LENGTH, -1) / CTR_ENTRY_MAX / 2;
}

int ctr_batch_expect(ctr_tab *tab, int n)
{
    touch(tab);
    ctr_batch_refuse_triggers(tab);
    size_t pending = ctr_batch_pending(tab);
    if (pending >= BATCH_ENTRIES || pending >= most_entries(tab->file) || is_overtaken(tab->file))
        ctr_batch_flush_all(tab->file);
    if (ctr_cache_expect_amounts(tab->conn, &tab->amounts, (size_t)n)) return ctr_rc(tab->conn);
    ctr_entry *batch =
        ctr_array_room(tab->conn, tab->batch, &tab->room, tab->n + (size_t)n, sizeof *batch);
    if (batch) tab->batch = batch;
    return ctr_rc(tab->conn);
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
static void note_amount(ctr_tab *tab, ctr_amount *amount, int64_t n)
{
    bool pending = amount->ticks > 1 && amount->batch < tab->n &&
                   amount->batch >= tab->n_appended && amount->batch >= length_at_savepoint(tab);
    ctr_entry *last = pending ? &tab->batch[amount->batch] : NULL;
    if (last && adds_to(last, amount->row, (int)amount->counter, n)) {
        last->n += n;
        last->ticks++;
        return;
    }
    amount->batch = (uint32_t)tab->n;
    tab->batch[tab->n++] = (ctr_entry){.row = amount->row,
                                       .kind = CTR_ENTRY_ADDED,
                                       .origin = CTR_MADE_HERE,
                                       .counter = (int)amount->counter,
                                       .n = n,
                                       .ticks = 1};
}

void ctr_batch_add(ctr_tab *tab, int64_t row, int counter, int64_t n)
{
    ctr_amount *amount = ctr_cache_add_amount(&tab->amounts, row, counter);
    ctr_known_row *known = ctr_cache_row(&tab->cache, row);
    const ctr_amount tick = {.n = n, .ticks = 1};
    amount->n += n;
    amount->ticks++;
    note_amount(tab, amount, n);
    if (known && ctr_cache_advance(&known->states[counter], &tick, tab->least) != CTR_OK)
        ctr_cache_forget(&tab->cache, row);
}

/* Adds a column to the pending entry that has its stamp, or to the last entry: an earlier one may
 * have come before the row cell was written. */
static void note_stamp(ctr_tab *tab, int64_t row, int column)
{
    const ctr_amount *known = ctr_journal_amount(tab, row, CTR_AMOUNT_COLUMNS + column);
    ctr_amount *amount = ctr_cache_set_stamp(&tab->amounts, row, column, tab->file->drawn);
    size_t places[] = {known ? amount->batch : tab->n, tab->n - 1};
    for (int i = 0; i < 2; i++) {
        size_t at = places[i];
        if (at >= tab->n || at < tab->n_appended || at < length_at_savepoint(tab)) continue;
        ctr_entry *entry = &tab->batch[at];
        if (entry->kind != CTR_ENTRY_STAMPED || entry->row != row || entry->number != 0 ||
            entry->word != column / CTR_ENTRY_MASK)
            continue;
        entry->mask |= UINT64_C(1) << column % CTR_ENTRY_MASK;
        amount->batch = (uint32_t)at;
        return;
    }
    amount->batch = (uint32_t)tab->n;
    tab->batch[tab->n++] = (ctr_entry){.row = row,
                                       .kind = CTR_ENTRY_STAMPED,
                                       .origin = CTR_MADE_HERE,
                                       .word = column / CTR_ENTRY_MASK,
                                       .mask = UINT64_C(1) << column % CTR_ENTRY_MASK};
}

void ctr_batch_stamp(ctr_tab *tab, int64_t row, const bool *mask, int n)
{
    for (int i = 0; i < n; i++)
        if (mask[i]) note_stamp(tab, row, i);
}

void ctr_batch_note(ctr_tab *tab, const ctr_entry *entry)
{
    if (entry->kind == CTR_ENTRY_ROW_WRITTEN && !ctr_cache_drop_stamps(&tab->amounts, entry->row))
        return;
    tab->batch[tab->n++] = *entry;
    if (entry->kind != CTR_ENTRY_WRITTEN) return;
    ctr_cache_drop_amount(&tab->amounts, entry->row, entry->counter);
    ctr_cache_forget(&tab->cache, entry->row);
}

/* ---- appending ------------------------------------------------------------------------------- */

/* The write lock is held, so no other connection draws numbers. */
static int64_t draw_number(ctr_file *file)
{
    unsigned version = ctr_file_data_version(file);
    if (!file->numbered || file->numbers_version != version) {
        ctr_run run = ctr_file_run(file);
        int64_t last = ctr_run_number(&run, CTR_SQL_JOURNAL_LAST);
        file->next_number = last < 1 ? 1 : last < INT64_MAX ? last + 1 : last;
        file->numbers_version = version;
        file->numbered = ctr_rc(file->conn) == SQLITE_OK;
    }
    if (file->next_number <= file->learned) file->next_number = file->learned + 1;
    if (file->next_number >= CTR_JOURNAL_NUMBERS)
        ctr_problem_set(file->conn, SQLITE_CORRUPT_VTAB,
                        "counter_journal is damaged: it has the number %lld",
                        (long long)file->next_number - 1);
    return ctr_batch_stamp_number(file->next_number - 1);
}

int64_t ctr_batch_stamp_number(int64_t above)
{
    int64_t now = ctr_os_now(), last = CTR_STAMP_LAST / CTR_STAMPS_IN_MS;
    if (now < 1) now = 1; /* above CTR_STAMP_BEGAN_MAX */
    int64_t number = (now < last ? now : last) * CTR_STAMPS_IN_MS;
    return number > above ? number : above + 1;
}

/* What fails after this may note nothing: the table is touched, so that the number is dropped when
 * the transaction ends. */
int64_t ctr_batch_number(ctr_tab *tab)
{
    ctr_file *file = tab->file;
    touch(tab);
    if (is_overtaken(file)) {
        ctr_batch_flush_all(file);
        file->drawn = 0;
    }
    if (ctr_rc(file->conn) == SQLITE_OK && file->drawn == 0) {
        file->drawn = draw_number(file);
        file->next_number = file->drawn + 1;
    }
    return ctr_rc(file->conn) == SQLITE_OK ? file->drawn : 0;
}

static ctr_tab *first_pending(ctr_tab *tab)
{
    while (tab && ctr_batch_pending(tab) == 0) tab = tab->next_touched;
    return tab;
}

/* The tables that a row gets: pending ones from `first` up to `end`. */
typedef struct new_row {
    ctr_file *file;
    ctr_tab *first, *end;
    int64_t number, tabs;
    bool extends; /* it is the open one, with more groups */
} new_row;

static ctr_tab *next_of_row(const new_row *row, const ctr_tab *tab)
{
    ctr_tab *next = first_pending(tab->next_touched);
    return next == row->end ? NULL : next;
}

/* For a statement that was just prepared, or prepared again. */
static void check_append(const new_row *row)
{
    for (ctr_tab *tab = row->first; tab; tab = next_of_row(row, tab)) {
        ctr_batch_refuse_triggers_anew(tab);
        ctr_problem_where(row->file->conn, "%s", tab->table);
    }
    if (row->extends) ctr_refuse_ignored_entries(row->file);
}

/* If SQLite prepared the statement again, the schema changed, and there may be new triggers. */
static void step_append(const new_row *row, sqlite3_stmt *statement)
{
    ctr_conn *conn = row->file->conn;
    unsigned nth = conn->ended;
    ctr_run run = ctr_file_run(row->file);
    ctr_spill_check(row->file);
    row->file->writes++;
    ctr_run_write(&run, statement);
    bool written = ctr_rc(conn) == SQLITE_OK;
    if (sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_REPREPARE, 1) > 0) check_append(row);
    if (written && ctr_rc(conn) != SQLITE_OK) ctr_conn_spoil(conn, nth);
}

static void write_open_row(const new_row *row)
{
    ctr_file *file = row->file;
    if (ctr_rc(file->conn) != SQLITE_OK) return;
    ctr_file_sql which = row->extends ? CTR_FILE_CHANGE : CTR_FILE_APPEND;
    sqlite3_stmt *statement = ctr_file_take(file, which);
    if (!statement) return;
    if (sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_RUN, 0) == 0) check_append(row);
    ctr_run run = ctr_file_run(file);
    ctr_run_bind_int(&run, statement, ":number", row->number);
    ctr_run_bind_int(&run, statement, ":tabs", row->tabs);
    ctr_run_bind_blob(&run, statement, ":entries", file->open.bytes, file->open.size);
    if (ctr_rc(file->conn) == SQLITE_OK) step_append(row, statement);
    ctr_file_give_back(file, which, statement);
    if (file->next_number <= row->number) file->next_number = row->number + 1;
}

/* Returns the most bytes of the pending entries of a table. */
static size_t room_for_pending(const ctr_tab *tab)
{
    size_t room = ctr_batch_pending(tab) * CTR_ENTRY_MAX;
    const ctr_fed *fed = NULL;
    for (size_t i = tab->n_appended; i < tab->n; i++) {
        if (tab->batch[i].origin != CTR_FED || tab->batch[i].fed == fed) continue;
        fed = tab->batch[i].fed;
        room += CTR_FED_MAX;
    }
    return room;
}

/* Encodes the pending entries of a table as a group behind the others. */
static void encode_group(ctr_tab *tab, new_row *row)
{
    ctr_packed *open = &tab->file->open;
    size_t room = CTR_GROUP_HEADER_MAX + room_for_pending(tab);
    int64_t table = ctr_tab_number(tab);
    ctr_entry last = {.row = 0};
    uint8_t *out = table > 0 ? ctr_pack_room(tab->conn, open, room) : NULL;
    if (!out) return;
    uint8_t *entries = out + CTR_GROUP_HEADER_MAX, *end = entries;
    for (size_t i = tab->n_appended; i < tab->n; i++)
        end = ctr_entries_put(end, &last, &tab->batch[i]);
    out = ctr_entries_group_put(out, table, (size_t)(end - entries));
    open->size = (size_t)(out - open->bytes);
    row->tabs |= ctr_entries_bit(table);
}

/* Puts groups into the row until it is long. */
static void encode_row(new_row *row)
{
    ctr_packed *open = &row->file->open;
    size_t most = most_entries(row->file) * CTR_ENTRY_MAX;
    if (most > ROW_BYTES) most = ROW_BYTES;
    if (!row->extends) {
        open->size = 0;
        uint8_t *out = ctr_pack_room(row->file->conn, open, CTR_ENTRIES_HEADER);
        if (out) open->size = (size_t)(ctr_entries_begin(out) - open->bytes);
    }
    for (ctr_tab *tab = row->first; tab && ctr_rc(row->file->conn) == SQLITE_OK;
         tab = first_pending(tab->next_touched)) {
        if (tab != row->first && open->size + room_for_pending(tab) > most) {
            row->end = tab;
            return;
        }
        encode_group(tab, row);
        ctr_problem_where(row->file->conn, "%s", tab->table);
    }
}

static void note_appended(const new_row *row, int64_t tabs_before)
{
    ctr_tab *next;
    for (ctr_tab *tab = row->first; tab; tab = next) {
        next = next_of_row(row, tab);
        tab->writes++;
        tab->last = row->number;
        if (tab->folded && tab->carried_at == 0) tab->carried_at = row->number;
        tab->n_rows += !(tabs_before & ctr_entries_bit(tab->number));
        tab->n_entries += (int64_t)ctr_batch_pending(tab);
        tab->appended = true;
        tab->n = tab->n_appended = length_at_savepoint(tab);
    }
}

/* Appends the batches from `first` on, as many as one row takes. Returns the next one, or NULL. */
static ctr_tab *append_row(ctr_file *file, ctr_tab *first)
{
    size_t before = file->open.size, n = 0;
    for (const ctr_tab *tab = first; tab; tab = tab->next_touched) n += ctr_batch_pending(tab);
    int64_t tabs = file->open_number ? file->open_tabs : 0;
    new_row row = {.file = file, .first = first};
    row.extends =
        file->open_number > file->learned && file->drawn == 0 && before + n * 8 <= OPEN_BYTES;
    if (!row.extends) tabs = 0;
    row.tabs = tabs;
    row.number = row.extends ? file->open_number : file->drawn ? file->drawn : draw_number(file);
    encode_row(&row);
    write_open_row(&row);
    if (ctr_rc(file->conn) != SQLITE_OK) {
        ctr_problem_where(file->conn, "%s", first->table);
        file->numbered = false;
        file->open_number = row.extends ? file->open_number : 0;
        file->open.size = before;
        return NULL;
    }
    note_appended(&row, tabs);
    file->open_number = row.number;
    file->open_tabs = row.tabs;
    return row.end;
}

/* A number that was drawn stands in the first row, and with each stamp in the others. */
static void pin_stamps(ctr_file *file, ctr_tab *first)
{
    for (ctr_tab *tab = first; tab; tab = first_pending(tab->next_touched))
        for (size_t i = tab->n_appended; i < tab->n; i++)
            if (tab->batch[i].kind == CTR_ENTRY_STAMPED && tab->batch[i].number == 0)
                tab->batch[i].number = file->drawn;
}

/* A transaction has one row that may grow, up to OPEN_BYTES, unless a stamp has to be higher than
 * its number. */
int ctr_batch_flush_all(ctr_file *file)
{
    ctr_tab *tab = first_pending(file->touched);
    if (!tab || ctr_rc(file->conn) != SQLITE_OK) return ctr_rc(file->conn);
    sqlite3_int64 last_rowid = sqlite3_last_insert_rowid(file->conn->db);
    while (tab) {
        tab = append_row(file, tab);
        if (ctr_rc(file->conn) != SQLITE_OK) break;
        pin_stamps(file, tab);
        file->drawn = 0;
    }
    sqlite3_set_last_insert_rowid(file->conn->db, last_rowid);
    return ctr_rc(file->conn);
}

static void carry_row(ctr_tab *tab, int64_t row)
{
    for (int i = 0; i < tab->cache.n_counters; i++) {
        const ctr_amount *amount = ctr_journal_amount(tab, row, i);
        if (amount)
            tab->batch[tab->n++] = (ctr_entry){.row = row,
                                               .kind = CTR_ENTRY_ADDED,
                                               .origin = CTR_MADE_HERE,
                                               .counter = i,
                                               .n = amount->n,
                                               .ticks = amount->ticks};
    }
    size_t first = tab->n;
    for (int i = 0; i < tab->amounts.n_columns; i++) {
        const ctr_amount *amount = ctr_journal_amount(tab, row, CTR_AMOUNT_COLUMNS + i);
        size_t at = first;
        const int word = i / CTR_ENTRY_MASK;
        if (!amount) continue;
        while (at < tab->n && (tab->batch[at].number != amount->n || tab->batch[at].word != word))
            at++;
        if (at == tab->n)
            tab->batch[tab->n++] = (ctr_entry){.row = row,
                                               .kind = CTR_ENTRY_STAMPED,
                                               .origin = CTR_MADE_HERE,
                                               .word = word,
                                               .number = amount->n};
        tab->batch[at].mask |= UINT64_C(1) << i % CTR_ENTRY_MASK;
    }
}

/* In the order of rows, entries take the fewest bytes. */
void ctr_batch_carry(ctr_tab *tab)
{
    ctr_changes list = {0};
    tab->file->open_number = 0;
    tab->n_rows = tab->n_entries = 0;
    ctr_journal_list_amounts(tab, &list);
    ctr_entry *batch = ctr_array_room(tab->conn, tab->batch, &tab->room,
                                      tab->n + 1 + tab->amounts.n, sizeof *batch);
    if (batch) {
        tab->batch = batch;
        touch(tab);
        tab->folded = true;
        tab->carried_at = 0;
        ctr_batch_note(tab, &(ctr_entry){.kind = CTR_ENTRY_FOLDED, .origin = CTR_MADE_HERE});
        for (size_t i = 0; i < list.n; i++) carry_row(tab, list.rows[i].row);
    }
    sqlite3_free(list.rows);
}

void ctr_batch_free(ctr_tab *tab)
{
    ctr_file *file = tab->file;
    file->open_number = 0;
    sqlite3_free(file->open.bytes);
    file->open = (ctr_packed){0};
    if (tab->n > 0) return;
    sqlite3_free(tab->batch);
    tab->batch = NULL;
    tab->room = 0;
}

int64_t ctr_batch_mark_change(ctr_tab *tab)
{
    ctr_batch_flush_all(tab->file);
    if (ctr_batch_expect(tab, 1)) return 0;
    ctr_journal_drop(tab);
    tab->file->open_number = 0; /* a new row, so that its number is that of the change */
    ctr_batch_note(tab, &(ctr_entry){.kind = CTR_ENTRY_FOLDED, .origin = CTR_MADE_HERE});
    ctr_batch_flush_all(tab->file);
    int64_t number = tab->last;
    ctr_batch_abandon(tab);
    return ctr_rc(tab->conn) == SQLITE_OK ? number : 0;
}

const ctr_fed *ctr_batch_fed(ctr_file *file, const ctr_fed *fed)
{
    if (file->fed && ctr_fed_same(&file->fed->fed, fed)) return &file->fed->fed;
    struct ctr_fed_list *made = sqlite3_malloc64(sizeof *made);
    if (!made) ctr_problem_nomem(file->conn);
    if (!made) return NULL;
    *made = (struct ctr_fed_list){*fed, file->fed};
    file->fed = made;
    return &made->fed;
}

void ctr_batch_forget_fed(ctr_file *file)
{
    for (struct ctr_fed_list *next; file->fed; file->fed = next) {
        next = file->fed->next;
        sqlite3_free(file->fed);
    }
}

/* ---- all tables of a file -------------------------------------------------------------------- */

bool ctr_batch_any_pending(const ctr_file *file)
{
    return first_pending(file->touched) != NULL;
}

/* Empties all batches. */
static void untouch(ctr_file *file)
{
    while (file->touched) {
        ctr_tab *tab = file->touched;
        file->touched = tab->next_touched;
        tab->is_touched = false;
        tab->n = tab->n_appended = tab->n_marks = 0;
        tab->folded = false;
    }
    file->learned = file->drawn = file->open_number = 0;
    ctr_batch_forget_fed(file);
}

/* The connection's own commit changes the data version, too. */
void ctr_batch_committed(ctr_file *file)
{
    bool wrote = false;
    for (ctr_tab *tab = file->touched; tab; tab = tab->next_touched) {
        if (ctr_batch_is_ahead(tab)) {
            tab->version = ctr_file_data_version(file);
            file->numbers_version = tab->version;
            if (tab->last > file->last_number) file->last_number = tab->last;
            wrote = true;
        }
        tab->appended = false;
    }
    unsigned now = file->data_version;
    if (wrote && file->checked && file->own_version != now - 1) file->own_since = now - 1;
    if (wrote && file->checked) file->own_version = now;
    untouch(file);
}

void ctr_batch_rolled_back(ctr_file *file)
{
    untouch(file);
    for (ctr_tab *tab = file->tabs; tab; tab = tab->next) ctr_journal_drop(tab);
    file->numbered = false;
    file->writes++;
}

/* ---- savepoints ------------------------------------------------------------------------------ */

/* A level that SQLite did not report needs no mark, nor does any for a journal that was touched
 * later: nothing had been counted then. */
void ctr_batch_begin_savepoint(ctr_file *file, int level)
{
    const size_t n = (size_t)level;
    for (ctr_tab *tab = file->touched; tab; tab = tab->next_touched) {
        if (tab->n_marks > n) tab->n_marks = n; /* their savepoints were never begun */
        ctr_journal_mark *marks =
            ctr_array_room(file->conn, tab->marks, &tab->room_for_marks, n + 1, sizeof *marks);
        if (!marks) continue;
        tab->marks = marks;
        if (tab->n_marks > n) tab->n_marks = n;
        while (tab->n_marks < n) marks[tab->n_marks++] = (ctr_journal_mark){0, 0, 0};
        marks[tab->n_marks++] = (ctr_journal_mark){tab->n, tab->n_appended, tab->writes};
    }
}

void ctr_batch_end_savepoint(ctr_file *file, int level)
{
    for (ctr_tab *tab = file->touched; tab; tab = tab->next_touched)
        if (tab->n_marks > (size_t)level) tab->n_marks = (size_t)level;
}

/* The savepoint itself stays. A journal created after it has no mark; nor has the SAVEPOINT that
 * began the transaction, whose level is -1. */
void ctr_batch_roll_back_to(ctr_file *file, int level)
{
    for (ctr_tab *tab = file->tabs; tab; tab = tab->next) {
        size_t n_marks = (size_t)(level + 1);
        bool marked = n_marks > 0 && n_marks <= tab->n_marks;
        if (n_marks < tab->n_marks) tab->n_marks = n_marks;
        ctr_regular_forget(tab);
        if (marked && tab->known && tab->writes == tab->marks[level].writes) continue;
        ctr_batch_abandon(tab);
        if (marked) tab->n_appended = tab->marks[level].appended;
    }
    if (!ctr_batch_any_pending(file)) file->drawn = 0;
    file->writes++;
    file->numbered = false;
}

/* =================================================================================================
 * journal - brings memory up to date, and drops it. */

enum { FIRST_LOOKS = 1 /* look-ups of one row before all amounts are kept */ };

void ctr_journal_drop(ctr_tab *tab)
{
    ctr_cache_clear(&tab->cache);
    ctr_cache_clear_amounts(&tab->amounts);
    ctr_regular_forget(tab);
    tab->writes++;
    tab->known = tab->untriggered = tab->appended = false;
    tab->ready_at = 0;
    tab->n_rows = tab->n_entries = tab->last = tab->number = 0;
}

/* ---- the index ------------------------------------------------------------------------------- */

/* All groups of the journal, by table. If many tables are read one after the other, each would look
 * through all rows. */
typedef struct index_group {
    int64_t table, number;
    size_t offset, size;
} index_group;

struct ctr_index {
    unsigned version, writes, schemas; /* the data version of the file, and its members, for which
                                        * it is true */
    int asked;                         /* how often it was asked for then */
    bool built;
    int64_t last;    /* the highest number */
    int64_t damaged; /* the bits of tables that may have groups in a damaged row */
    index_group *groups;
    size_t n, room;
    ctr_packed bytes;
};

void ctr_index_free(ctr_file *file)
{
    if (!file->index) return;
    sqlite3_free(file->index->groups);
    sqlite3_free(file->index->bytes.bytes);
    sqlite3_free(file->index);
    file->index = NULL;
}

static int by_table_and_offset(const void *a, const void *b)
{
    const index_group *x = a, *y = b;
    if (x->table != y->table) return x->table < y->table ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static void index_row(ctr_conn *conn, struct ctr_index *index, sqlite3_stmt *stands)
{
    ctr_entries groups, walk;
    int64_t table, tabs = sqlite3_column_int64(stands, CTR_JOURNAL_TABS);
    index->last = sqlite3_column_int64(stands, CTR_JOURNAL_NUMBER);
    ctr_changes_open(&groups, stands);
    while (ctr_entries_group_next(&groups, &table, &walk)) {
        size_t size = (size_t)(walk.end - walk.at);
        index_group *all =
            ctr_array_room(conn, index->groups, &index->room, index->n + 1, sizeof *all);
        uint8_t *out = ctr_pack_room(conn, &index->bytes, size);
        if (all) index->groups = all;
        if (!all || !out) return;
        memcpy(out, walk.at, size);
        all[index->n++] = (index_group){table, index->last, index->bytes.size, size};
        index->bytes.size += size;
    }
    if (groups.status != CTR_OK) index->damaged |= tabs;
}

/* Returns the index if it is worth having one, else NULL. A table with a damaged row is read from
 * the file, and fails there. */
static const struct ctr_index *index_for(ctr_tab *tab)
{
    enum { WORTH_AN_INDEX = 4, MOST_BYTES = 64 << 20 };
    ctr_file *file = tab->file;
    ctr_conn *conn = file->conn;
    unsigned version = ctr_file_data_version(file);
    if (ctr_rc(conn) != SQLITE_OK) return NULL;
    struct ctr_index now = {.version = version, .writes = file->writes, .schemas = file->schemas};
    const struct ctr_index *was = file->index;
    if (was &&
        (was->version != now.version || was->writes != now.writes || was->schemas != now.schemas))
        ctr_index_free(file);
    if (!file->index) {
        file->index = sqlite3_malloc64(sizeof *file->index);
        if (!file->index) ctr_problem_nomem(conn);
        if (file->index) *file->index = now;
    }
    struct ctr_index *index = file->index;
    if (!index || ++index->asked <= WORTH_AN_INDEX) return NULL;
    if (!index->built) {
        ctr_run run = ctr_file_run(file);
        sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_JOURNAL_ALL);
        while (index->bytes.size < MOST_BYTES && ctr_run_row(&run, row))
            index_row(conn, index, row);
        sqlite3_finalize(row);
        if (index->bytes.size >= MOST_BYTES) index->damaged = INT64_MAX;
        if (index->n > 0)
            qsort(index->groups, index->n, sizeof *index->groups, by_table_and_offset);
        index->built = true;
    }
    if (ctr_rc(conn) != SQLITE_OK) ctr_index_free(file);
    bool is_damaged = index && ctr_rc(conn) == SQLITE_OK &&
                      (index->damaged & ctr_entries_bit(ctr_tab_number(tab))) != 0;
    return ctr_rc(conn) == SQLITE_OK && !is_damaged ? index : NULL;
}

/* Returns how many groups are of lower tables, or of this one with lower numbers. */
static size_t count_groups_before(const struct ctr_index *index, int64_t table, int64_t number)
{
    size_t from = 0, to = index->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const index_group *group = &index->groups[middle];
        if (group->table < table || (group->table == table && group->number < number))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

void ctr_groups_open(ctr_groups *groups, ctr_tab *tab, int64_t since, bool backwards)
{
    int64_t table = ctr_tab_number(tab);
    *groups = (ctr_groups){.tab = tab, .backwards = backwards, .index = index_for(tab)};
    if (groups->index) {
        groups->at = count_groups_before(groups->index, table, since);
        groups->end = count_groups_before(groups->index, table + 1, INT64_MIN);
        return;
    }
    ctr_run run = ctr_file_run(tab->file);
    groups->row =
        ctr_run_prepare(&run, backwards ? CTR_SQL_JOURNAL_BACKWARDS : CTR_SQL_JOURNAL_SINCE);
    ctr_run_bind_int(&run, groups->row, ":bit", ctr_entries_bit(table));
    if (!backwards) ctr_run_bind_int(&run, groups->row, ":number", since);
    groups->of_row = (ctr_entries){.tabs = 0};
}

static bool next_indexed(ctr_groups *groups)
{
    if (groups->at == groups->end) return false;
    size_t at = groups->backwards ? --groups->end : groups->at++;
    const index_group *group = &groups->index->groups[at];
    const uint8_t *bytes = groups->index->bytes.bytes + group->offset;
    groups->number = group->number;
    groups->walk = (ctr_entries){.at = bytes, .end = bytes + group->size};
    return true;
}

bool ctr_groups_next(ctr_groups *groups)
{
    ctr_conn *conn = groups->tab->conn;
    if (groups->walk.status != CTR_OK) groups->of_row.status = groups->walk.status;
    for (; ctr_rc(conn) == SQLITE_OK;) {
        if (groups->of_row.status != CTR_OK) break;
        if (groups->index) return next_indexed(groups);
        if (ctr_entries_group_of(&groups->of_row, groups->tab->number, &groups->walk)) return true;
        if (groups->of_row.status != CTR_OK) continue;
        ctr_run run = ctr_file_run(groups->tab->file);
        if (!ctr_run_row(&run, groups->row)) return false;
        groups->number = sqlite3_column_int64(groups->row, CTR_JOURNAL_NUMBER);
        ctr_changes_open(&groups->of_row, groups->row);
    }
    if (ctr_rc(conn) == SQLITE_OK)
        ctr_changes_damaged(conn, groups->number, ctr_entries_status_text(groups->of_row.status));
    return false;
}

void ctr_groups_close(ctr_groups *groups)
{
    sqlite3_finalize(groups->row);
    groups->row = NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Returns the identity as it stands in the file; `space` is for one that was not checked. */
static const ctr_identity *identity_of(ctr_tab *tab, ctr_identity *space)
{
    if (tab->file->checked) return &tab->file->identity;
    ctr_file_peek(tab->file, space);
    return space;
}

/* Reads the id to which the amounts belong. */
static void read_id(ctr_tab *tab)
{
    ctr_identity space;
    const ctr_identity *identity = identity_of(tab, &space);
    if (ctr_rc(tab->conn) != SQLITE_OK) return;
    memcpy(tab->id, identity->id, CTR_ID_SIZE);
    tab->least = ctr_identity_least_clock(identity);
}

static void take_amount(ctr_tab *tab, const ctr_entry *entry, int64_t number)
{
    if (entry->counter >= tab->cache.n_counters) {
        ctr_changes_damaged(tab->conn, number, "names a counter that does not exist");
        return;
    }
    if (ctr_cache_expect_amounts(tab->conn, &tab->amounts, 1)) return;
    ctr_amount *amount = ctr_cache_add_amount(&tab->amounts, entry->row, entry->counter);
    ctr_sum sum = {0, 0};
    int64_t n;
    ctr_sum_add(&sum, amount->n);
    ctr_sum_add(&sum, entry->n);
    if (ctr_sum_value(&sum, &n) != CTR_OK || amount->ticks > INT64_MAX - entry->ticks) {
        ctr_changes_damaged(tab->conn, number, "has amounts out of range");
        return;
    }
    amount->n = n;
    amount->ticks += entry->ticks;
}

/* A later row of the journal has a higher number. */
static void apply_stamps(ctr_tab *tab, const ctr_entry *entry, int64_t number)
{
    if (number > CTR_STAMP_MAX) {
        ctr_changes_damaged(tab->conn, number, "has a stamp out of range");
        return;
    }
    if (ctr_cache_expect_amounts(tab->conn, &tab->amounts, CTR_ENTRY_MASK)) return;
    for (int i = 0; i < CTR_ENTRY_MASK; i++)
        if (entry->mask >> i & 1)
            ctr_cache_set_stamp(&tab->amounts, entry->row, entry->word * CTR_ENTRY_MASK + i,
                                number);
}

/* Takes an entry that is not CTR_ENTRY_FOLDED, in a row with this number. */
static void apply_entry(ctr_tab *tab, const ctr_entry *entry, int64_t number)
{
    switch (entry->kind) {
    case CTR_ENTRY_ADDED: take_amount(tab, entry, number); break;
    case CTR_ENTRY_WRITTEN: ctr_cache_drop_amount(&tab->amounts, entry->row, entry->counter); break;
    case CTR_ENTRY_STAMPED: apply_stamps(tab, entry, entry->number ? entry->number : number); break;
    case CTR_ENTRY_ROW_WRITTEN: ctr_cache_drop_stamps(&tab->amounts, entry->row); break;
    default: break;
    }
}

static void take_group(ctr_tab *tab, ctr_entries *walk, int64_t number)
{
    enum { BYTES_OF_AMOUNT = 4 }; /* or more */
    ctr_entry entry;
    size_t most = (size_t)(walk->end - walk->at) / BYTES_OF_AMOUNT; /* too many: a forged row */
    if (!tab->only)
        ctr_cache_expect_amounts(tab->conn, &tab->amounts, most <= CTR_JOURNAL_AMOUNTS ? most : 0);
    while (ctr_rc(tab->conn) == SQLITE_OK && ctr_entries_next(walk, &entry)) {
        tab->n_entries++;
        if (tab->only && entry.row != *tab->only && entry.kind != CTR_ENTRY_FOLDED) continue;
        if (entry.kind == CTR_ENTRY_FOLDED) {
            ctr_cache_clear(&tab->cache);
            ctr_cache_clear_amounts(&tab->amounts);
            tab->n_entries = tab->n_rows = 1;
            continue;
        }
        apply_entry(tab, &entry, number);
        ctr_cache_forget(&tab->cache, entry.row);
    }
}

static void take_entries(ctr_tab *tab, sqlite3_stmt *stands)
{
    ctr_entries groups, walk;
    int64_t number = sqlite3_column_int64(stands, CTR_JOURNAL_NUMBER);
    bool any = false;
    ctr_changes_open(&groups, stands);
    while (ctr_rc(tab->conn) == SQLITE_OK && ctr_entries_group_of(&groups, tab->number, &walk)) {
        tab->n_rows += !any;
        any = true;
        take_group(tab, &walk, number);
        groups.status = walk.status;
    }
    if (groups.status != CTR_OK)
        ctr_changes_damaged(tab->conn, number, ctr_entries_status_text(groups.status));
}

/* Reads the rows after the last number. Returns false if memory cannot be brought up to date: the
 * row with that number is gone. A kept statement that has not read any may hide the entries, as an
 * authorizer wanted that is gone since: it is prepared `again`. */
static bool read_on(ctr_tab *tab, bool again)
{
    ctr_file *file = tab->file;
    bool fits = tab->last == 0, first = true;
    int64_t table = ctr_tab_number(tab);
    ctr_run run = ctr_file_run(file);
    sqlite3_stmt *row = ctr_file_take(file, CTR_FILE_JOURNAL);
    if (!row) return true;
    if (sqlite3_stmt_status(row, SQLITE_STMTSTATUS_RUN, 0) == 0) file->reads_entries = false;
    ctr_run_bind_int(&run, row, ":number", tab->last);
    ctr_run_bind_int(&run, row, ":bit", ctr_entries_bit(table));
    bool rows = ctr_run_row(&run, row);
    if (ctr_run_is_hidden(row, CTR_JOURNAL_NUMBER) || ctr_run_is_hidden(row, CTR_JOURNAL_TABS))
        ctr_refuse_hidden(tab->conn, tab->table);
    for (; rows && ctr_rc(tab->conn) == SQLITE_OK; rows = ctr_run_row(&run, row)) {
        int64_t number = sqlite3_column_int64(row, CTR_JOURNAL_NUMBER);
        if (first && number == tab->last && number != 0) {
            fits = true;
        } else {
            if (!fits) break;
            bool own = sqlite3_column_int64(row, CTR_JOURNAL_TABS) & ctr_entries_bit(table);
            bool none = sqlite3_column_type(row, CTR_JOURNAL_ENTRIES) == SQLITE_NULL;
            if (own && none && !file->reads_entries && !again) {
                file->statements[CTR_FILE_JOURNAL].expired = true;
                ctr_file_give_back(file, CTR_FILE_JOURNAL, row);
                return read_on(tab, true);
            }
            if (own) take_entries(tab, row);
            file->reads_entries = file->reads_entries || own;
            tab->last = number;
        }
        first = false;
    }
    if (sqlite3_stmt_status(row, SQLITE_STMTSTATUS_REPREPARE, 1) > 0 && tab->known) fits = false;
    ctr_file_give_back(file, CTR_FILE_JOURNAL, row);
    return fits || ctr_rc(tab->conn) != SQLITE_OK;
}

/* Adds the entries of the batch that are in no row of the journal yet. */
static void take_batch(ctr_tab *tab)
{
    for (size_t i = tab->n_appended; i < tab->n && ctr_rc(tab->conn) == SQLITE_OK; i++) {
        const ctr_entry *entry = &tab->batch[i];
        if (tab->only && entry->row != *tab->only) continue;
        bool draws = entry->kind == CTR_ENTRY_STAMPED && entry->number == 0;
        apply_entry(tab, entry, draws ? ctr_batch_number(tab) : tab->last);
        ctr_amount *amount = entry->kind == CTR_ENTRY_ADDED
                                 ? ctr_cache_find_amount(&tab->amounts, entry->row, entry->counter)
                                 : NULL;
        if (amount) amount->batch = (uint32_t)i;
    }
}

/* Reads all from the index, if there is one; returns whether it did. */
static bool read_indexed(ctr_tab *tab)
{
    int64_t last = 0;
    const struct ctr_index *index = tab->only ? NULL : index_for(tab);
    if (!index) return false;
    ctr_groups groups;
    ctr_groups_open(&groups, tab, INT64_MIN, false);
    while (ctr_groups_next(&groups)) {
        if (groups.number != last) tab->n_rows++;
        last = groups.number;
        take_group(tab, &groups.walk, last);
    }
    ctr_groups_close(&groups);
    tab->last = index->last;
    return true;
}

static void read_anew(ctr_tab *tab)
{
    ctr_journal_drop(tab);
    read_id(tab);
    if (!read_indexed(tab)) read_on(tab, false);
    take_batch(tab);
    tab->known = ctr_rc(tab->conn) == SQLITE_OK;
    if (!tab->known) ctr_journal_drop(tab);
    if (tab->known && !tab->only) tab->looks = 0;
}

/* Returns whether the id of the file, or its lowest clock, changed after the journal was read:
 * another connection changed it, or a file that waited for a name began to count. */
static bool is_of_another_id(ctr_tab *tab)
{
    ctr_identity space;
    const ctr_identity *identity = identity_of(tab, &space);
    return ctr_rc(tab->conn) == SQLITE_OK && (memcmp(tab->id, identity->id, CTR_ID_SIZE) != 0 ||
                                              tab->least != ctr_identity_least_clock(identity));
}

void ctr_journal_read_again(ctr_tab *tab)
{
    if (ctr_batch_flush_all(tab->file)) return;
    bool appended = tab->appended;
    ctr_journal_drop(tab);
    tab->appended = appended;
}

/* Only this connection committed since: what it noted for the table is in memory. */
static void follow_own_commits(ctr_tab *tab, unsigned version)
{
    const ctr_file *file = tab->file;
    bool is_own =
        version == file->own_version && tab->version - file->own_since < version - file->own_since;
    if (!is_own) return;
    tab->version = version;
    if (file->last_number > tab->last) tab->last = file->last_number;
}

int ctr_journal_refresh(ctr_tab *tab)
{
    if (ctr_rc(tab->conn) != SQLITE_OK || ctr_tab_is_ready(tab)) return ctr_rc(tab->conn);
    unsigned version = ctr_file_data_version(tab->file);
    if (tab->known) follow_own_commits(tab, version);
    bool stale = version != tab->version || tab->doubtful;
    if (tab->known && (stale || tab->file->checked) && is_of_another_id(tab))
        ctr_journal_read_again(tab);
    if (ctr_rc(tab->conn) != SQLITE_OK) return ctr_rc(tab->conn);
    if (tab->known && (ctr_batch_is_ahead(tab) || !stale)) return SQLITE_OK;
    if (!tab->known || !read_on(tab, false)) read_anew(tab);
    if (ctr_rc(tab->conn) != SQLITE_OK) ctr_journal_drop(tab);
    tab->version = version;
    tab->doubtful = false;
    return ctr_rc(tab->conn);
}

int ctr_journal_refresh_row(ctr_tab *tab, int64_t row)
{
    if (ctr_rc(tab->conn) != SQLITE_OK) return ctr_rc(tab->conn);
    if (tab->known || ++tab->looks > FIRST_LOOKS) return ctr_journal_refresh(tab);
    tab->only = &row;
    read_anew(tab);
    tab->only = NULL;
    tab->known = false;
    return ctr_rc(tab->conn);
}

int ctr_journal_list_amounts(const ctr_tab *tab, ctr_changes *list)
{
    const ctr_amounts *amounts = &tab->amounts;
    for (size_t i = 0; i < amounts->n_slots; i++)
        if (amounts->slots[i].counter != CTR_AMOUNT_UNUSED && amounts->slots[i].ticks > 0)
            ctr_changes_add(tab->conn, list, &(ctr_change_of_row){.row = amounts->slots[i].row});
    return ctr_changes_latest(tab->conn, list);
}

size_t ctr_journal_count_amounts(const ctr_tab *tab)
{
    const ctr_amounts *amounts = &tab->amounts;
    size_t n = 0;
    for (size_t i = 0; i < amounts->n_slots; i++)
        n += amounts->slots[i].counter != CTR_AMOUNT_UNUSED && amounts->slots[i].ticks > 0;
    return n;
}
