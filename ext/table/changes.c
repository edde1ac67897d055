/* table/changes.c - collects the changes of a journal, keeps their list short, and folds amounts
 * into cells. */
#include "table/table.h"

#include <stdlib.h>
#include <string.h>

int ctr_changes_damaged(ctr_conn *conn, int64_t number, const char *what)
{
    return ctr_problem_set(conn, SQLITE_CORRUPT_VTAB, "counter_journal is damaged: row %lld %s",
                           (long long)number, what);
}

int ctr_changes_segment_damaged(ctr_conn *conn, int64_t number, const char *what)
{
    return ctr_problem_set(conn, SQLITE_CORRUPT_VTAB, "counter_segments is damaged: row %lld %s",
                           (long long)number, what);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int append_change(ctr_conn *conn, ctr_changes *changes, const ctr_change_of_row *change)
{
    ctr_change_of_row *rows =
        ctr_array_room(conn, changes->rows, &changes->room, changes->n + 1, sizeof *changes->rows);
    if (!rows) return ctr_rc(conn);
    changes->rows = rows;
    rows[changes->n++] = *change;
    return ctr_rc(conn);
}

int ctr_changes_add(ctr_conn *conn, ctr_changes *changes, const ctr_change_of_row *change)
{
    enum { LONG = 1 << 16 };
    bool is_full = changes->n == changes->room && changes->n >= LONG;
    if (is_full && ctr_changes_latest(conn, changes)) return ctr_rc(conn);
    return append_change(conn, changes, change);
}

/* Returns the number of the first row of the list that is not lower than `row`. */
static size_t first_from(const ctr_changes *sorted, int64_t row)
{
    size_t from = 0, to = sorted->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (sorted->rows[middle].row < row)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Returns whether the row is asked for. If not, sets `next` to where one may be. */
static bool is_asked_for(const ctr_changes *changes, int64_t row, int64_t *next)
{
    const ctr_changes *only = changes->only;
    size_t at = only ? first_from(only, row) : 0;
    *next = only && at < only->n ? only->rows[at].row : INT64_MAX;
    return !only || (at < only->n && *next == row);
}

static const uint8_t *entries_at(sqlite3_stmt *stands, size_t *size)
{
    const uint8_t *bytes = sqlite3_column_blob(stands, CTR_JOURNAL_ENTRIES);
    *size = bytes ? (size_t)sqlite3_column_bytes(stands, CTR_JOURNAL_ENTRIES) : 0;
    return bytes;
}

void ctr_changes_open(ctr_entries *groups, sqlite3_stmt *stands)
{
    size_t size;
    const uint8_t *bytes = entries_at(stands, &size);
    ctr_entries_open(groups, bytes, size, sqlite3_column_int64(stands, CTR_JOURNAL_TABS));
}

static void take_asked(ctr_conn *conn, ctr_changes *changes, const ctr_change_of_row *change)
{
    int64_t next;
    if (is_asked_for(changes, change->row, &next)) ctr_changes_add(conn, changes, change);
}

/* Returns whether the source is not told of a change that it brought itself. */
static bool is_excepted(const ctr_changes *changes, const ctr_entry *entry)
{
    ctr_fed up_to_same;
    if (!changes->except || !entry->fed) return false;
    up_to_same = *changes->except;
    up_to_same.upto = entry->fed->upto;
    return ctr_fed_same(&up_to_same, entry->fed) && entry->fed->upto <= changes->except->upto;
}

/* Appends the changes in a group of the journal. */
static void take_entries_of(ctr_changes *changes, ctr_groups *groups)
{
    ctr_conn *conn = groups->tab->conn;
    ctr_entry entry;
    bool carried = false; /* carried amounts and stamps are no changes */
    while (ctr_rc(conn) == SQLITE_OK && ctr_entries_next(&groups->walk, &entry)) {
        const ctr_change_of_row change = {entry.row, groups->number, (int)entry.origin,
                                          changes->parts ? entry.part : CTR_PART_WHOLE};
        bool adds = entry.kind == CTR_ENTRY_ADDED || entry.kind == CTR_ENTRY_STAMPED;
        if (entry.kind == CTR_ENTRY_FOLDED)
            carried = true;
        else if ((!carried || !adds) && !is_excepted(changes, &entry))
            take_asked(conn, changes, &change);
    }
}

/* Appends the changes in a row of a segment. */
static void take_segment(ctr_conn *conn, ctr_changes *changes, sqlite3_stmt *stands)
{
    ctr_entries walk;
    ctr_change_of_row change;
    int64_t asked, number = sqlite3_column_int64(stands, CTR_JOURNAL_NUMBER);
    size_t size;
    const uint8_t *bytes = entries_at(stands, &size);
    ctr_entries_segment_open(&walk, bytes, size, number);
    while (ctr_rc(conn) == SQLITE_OK && ctr_entries_segment_next(&walk, &change)) {
        if (!changes->parts) change.part = CTR_PART_WHOLE;
        if (is_asked_for(changes, change.row, &asked))
            ctr_changes_add(conn, changes, &change);
        else
            ctr_entries_segment_pass(&walk, asked);
    }
    if (walk.status != CTR_OK)
        ctr_changes_segment_damaged(conn, number, ctr_entries_status_text(walk.status));
}

/* Appends the changes with `since` or a higher number. */
static void read_journal(ctr_changes *changes, ctr_tab *tab, int64_t since)
{
    if (!tab) return; /* there was no memory for it */
    ctr_run run = ctr_tab_run(tab);
    int64_t table = ctr_tab_number(tab);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SEGMENTS_SINCE);
    ctr_run_bind_int(&run, row, ":tab", table);
    ctr_run_bind_int(&run, row, ":number", since);
    while (ctr_run_row(&run, row)) take_segment(tab->conn, changes, row);
    sqlite3_finalize(row);
    ctr_groups groups;
    ctr_groups_open(&groups, tab, since, false);
    while (ctr_groups_next(&groups)) take_entries_of(changes, &groups);
    ctr_groups_close(&groups);
    size_t n = 0;
    for (size_t i = 0; i < changes->n; i++) /* a segment has older ones, too */
        if (changes->rows[i].number >= since) changes->rows[n++] = changes->rows[i];
    changes->n = n;
}

void ctr_changes_read(ctr_changes *changes, ctr_tab *tab, int64_t since)
{
    changes->n = 0;
    read_journal(changes, tab, since);
}

void ctr_changes_read_of(ctr_changes *changes, ctr_tab *tab, int64_t since, const ctr_changes *rows)
{
    changes->n = 0;
    changes->only = rows;
    for (size_t i = 0; since == 0 && i < rows->n && ctr_rc(tab->conn) == SQLITE_OK; i++)
        append_change(tab->conn, changes, &rows->rows[i]);
    if (rows->n > 0) read_journal(changes, tab, since);
    changes->only = NULL;
}

/* ---- sorting --------------------------------------------------------------------------------- */

typedef enum sort_by { BY_NUMBER, BY_PART, BY_ROW } sort_by;

static uint64_t sort_key_of(const ctr_change_of_row *change, sort_by by)
{
    switch (by) {
    case BY_NUMBER: return ~(uint64_t)change->number;
    case BY_PART: return (uint64_t)change->part;
    default: return (uint64_t)change->row ^ UINT64_C(1) << 63;
    }
}

/* A radix sort: one pass for each byte of the key, in which equal keys keep their order. Skips a
 * pass if all keys have the same byte. */
static int sort_changes(ctr_conn *conn, ctr_changes *changes, sort_by by)
{
    size_t n = changes->n, sorted = 1;
    while (sorted < n &&
           sort_key_of(&changes->rows[sorted - 1], by) <= sort_key_of(&changes->rows[sorted], by))
        sorted++;
    if (sorted >= n || ctr_rc(conn) != SQLITE_OK) return ctr_rc(conn);
    ctr_change_of_row *spare = sqlite3_malloc64(changes->room * sizeof *spare);
    if (!spare) return ctr_problem_nomem(conn);
    for (int shift = 0; shift < 64; shift += 8) {
        size_t counts[256] = {0}, at[256], sum = 0;
        for (size_t i = 0; i < n; i++) counts[sort_key_of(&changes->rows[i], by) >> shift & 0xff]++;
        if (counts[sort_key_of(&changes->rows[0], by) >> shift & 0xff] == n) continue;
        for (int i = 0; i < 256; i++) {
            at[i] = sum;
            sum += counts[i];
        }
        ctr_change_of_row *from = changes->rows, *to = spare;
        for (size_t i = 0; i < n; i++)
            to[at[sort_key_of(&from[i], by) >> shift & 0xff]++] = from[i];
        changes->rows = to;
        spare = from;
    }
    sqlite3_free(spare);
    return ctr_rc(conn);
}

int ctr_changes_latest(ctr_conn *conn, ctr_changes *changes)
{
    size_t n = 0;
    ctr_change_of_row *rows;
    sort_changes(conn, changes, BY_NUMBER);
    if (changes->parts) sort_changes(conn, changes, BY_PART);
    if (sort_changes(conn, changes, BY_ROW)) return ctr_rc(conn);
    rows = changes->rows;
    for (size_t i = 0; i < changes->n; i++)
        if (n > 0 && rows[i].row == rows[n - 1].row && rows[i].part == rows[n - 1].part)
            rows[n - 1].origins |= rows[i].origins;
        else
            rows[n++] = rows[i];
    changes->n = n;
    return ctr_rc(conn);
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Turns rows of the journal into segments.
 *
 * The numbers of two rows, of the journal or of segments, never overlap. So rows are read from the
 * highest number down, and the first change seen of a part of a row is its last one. Where all of a
 * row has changed, older changes of its parts say nothing.
 */

enum {
    PART_WRITERS_MOST = 255, /* parts of writers that are listed of a row; older ones: whole */
    SEGMENTS_OF_LEVEL = 8,   /* this many become one of the next level */
    TIMES_THE_LONGEST = 4,   /* the limit for all segments together */
    SEGMENT_CHANGES = 32768, /* in one row of a segment, or more if they have one number */
    LEVELS = 20              /* more than eight to the power of any number of rows */
};

/* ---- sets of rows ---------------------------------------------------------------------------- */

/* 64 neighbouring row ids. If no bit is set, the slot is not used. */
typedef struct row_bits {
    int64_t block;
    uint64_t bits;
} row_bits;

/* A set of row ids, by open addressing. */
typedef struct row_set {
    row_bits *slots;
    size_t n_slots, n; /* a power of two, or 0; slots in use: less than half */
} row_set;

static row_bits *bits_for(const row_set *set, int64_t block)
{
    size_t at = (size_t)((uint64_t)block * UINT64_C(0x9E3779B97F4A7C15) >> 32);
    for (at &= set->n_slots - 1; set->slots[at].bits && set->slots[at].block != block;)
        at = (at + 1) & (set->n_slots - 1);
    return &set->slots[at];
}

/* Adds a row. Returns whether it is new in the set; false without memory. */
static bool add_row(ctr_conn *conn, row_set *set, int64_t row)
{
    enum { LEAST = 64 };
    uint64_t bit = UINT64_C(1) << ((uint64_t)row & 63);
    if (2 * (set->n + 1) > set->n_slots) {
        size_t n = set->n_slots ? 2 * set->n_slots : LEAST;
        row_set made = {sqlite3_malloc64(n * sizeof *made.slots), n, set->n};
        if (!made.slots) ctr_problem_nomem(conn);
        if (!made.slots) return false;
        memset(made.slots, 0, n * sizeof *made.slots);
        for (size_t i = 0; i < set->n_slots; i++)
            if (set->slots[i].bits) *bits_for(&made, set->slots[i].block) = set->slots[i];
        sqlite3_free(set->slots);
        *set = made;
    }
    if (ctr_rc(conn) != SQLITE_OK) return false;
    row_bits *slot = bits_for(set, row >> 6);
    bool is_new = !(slot->bits & bit);
    if (!slot->bits) set->n++;
    *slot = (row_bits){row >> 6, slot->bits | bit};
    return is_new;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Returns a statement on the rows of the levels from `from` to `to`, with the continuation rows of
 * segments. */
static sqlite3_stmt *on_levels(ctr_tab *tab, ctr_sql which, int64_t from, int64_t to)
{
    ctr_run run = ctr_tab_run(tab);
    int64_t table = ctr_tab_number(tab);
    sqlite3_stmt *row = ctr_run_prepare(&run, which);
    ctr_run_bind_int(&run, row, ":tab", table);
    ctr_run_bind_int(&run, row, ":from", from);
    ctr_run_bind_int(&run, row, ":to", to);
    return row;
}

static bool has_row(const row_set *set, int64_t row)
{
    return set->n > 0 && (bits_for(set, row >> 6)->bits >> ((uint64_t)row & 63) & 1);
}

/* A part of a writer, with the origins of its changes; as CTR_PART_WHOLE, the number of those of
 * the row. If that is 0, the slot is not used. */
typedef struct part_slot {
    int64_t row;
    int part;
    int n;
} part_slot;

/* The parts that have changed, by origin of the change: those of writers by open addressing. Most
 * journals have none, and one origin. */
typedef struct seen_parts {
    row_set rows[CTR_PART_OWN + 1][3];
    part_slot *slots;
    size_t n_slots, n; /* as in a row_set */
} seen_parts;

static part_slot *slot_for_part(const seen_parts *seen, int64_t row, int part)
{
    uint64_t hash = ((uint64_t)row + (uint64_t)part * UINT64_C(0xC2B2AE3D27D4EB4F)) *
                    UINT64_C(0x9E3779B97F4A7C15);
    size_t at = (size_t)(hash >> 32) & (seen->n_slots - 1);
    while (seen->slots[at].n && (seen->slots[at].row != row || seen->slots[at].part != part))
        at = (at + 1) & (seen->n_slots - 1);
    return &seen->slots[at];
}

/* Makes room for two more parts. */
static bool expect_parts(ctr_conn *conn, seen_parts *seen)
{
    enum { LEAST = 64, MORE = 2 };
    if (2 * (seen->n + MORE) <= seen->n_slots) return ctr_rc(conn) == SQLITE_OK;
    seen_parts made = {.n_slots = seen->n_slots ? 2 * seen->n_slots : LEAST};
    made.slots = sqlite3_malloc64(made.n_slots * sizeof *made.slots);
    if (!made.slots) ctr_problem_nomem(conn);
    if (!made.slots) return false;
    memset(made.slots, 0, made.n_slots * sizeof *made.slots);
    for (size_t i = 0; i < seen->n_slots; i++)
        if (seen->slots[i].n)
            *slot_for_part(&made, seen->slots[i].row, seen->slots[i].part) = seen->slots[i];
    sqlite3_free(seen->slots);
    seen->slots = made.slots;
    seen->n_slots = made.n_slots;
    return ctr_rc(conn) == SQLITE_OK;
}

static int origins_of(const seen_parts *seen, const ctr_change_of_row *change)
{
    int origins = 0;
    if (change->part >= CTR_PART_WRITERS) return slot_for_part(seen, change->row, change->part)->n;
    for (int i = 0; i < 3; i++)
        if (has_row(&seen->rows[change->part][i], change->row)) origins |= 1 << i;
    return origins;
}

static bool is_seen(const row_set rows[3], int64_t row)
{
    return has_row(&rows[0], row) || has_row(&rows[1], row) || has_row(&rows[2], row);
}

/* Notes a change of a writer. Returns whether it is a new part; sets `many` if it would be one too
 * many of its row. */
static bool see_writer(ctr_conn *conn, seen_parts *seen, const ctr_change_of_row *change,
                       bool *many)
{
    if (!expect_parts(conn, seen)) return false;
    part_slot *slot = slot_for_part(seen, change->row, change->part);
    if (slot->n) {
        slot->n |= change->origins;
        return false;
    }
    part_slot *all = slot_for_part(seen, change->row, CTR_PART_WHOLE);
    *many = all->n == PART_WRITERS_MOST;
    if (*many) return false;
    seen->n += all->n == 0 ? 2 : 1;
    *all = (part_slot){change->row, CTR_PART_WHOLE, all->n + 1};
    *slot_for_part(seen, change->row, change->part) =
        (part_slot){change->row, change->part, change->origins};
    return true;
}

/* Notes a change, which becomes one of the whole row if that has changed later or if there are too
 * many parts. Returns whether it is new; false without memory. */
static bool see_change(ctr_conn *conn, seen_parts *seen, ctr_change_of_row *change)
{
    bool many = is_seen(seen->rows[CTR_PART_WHOLE], change->row);
    if (!many && change->part >= CTR_PART_WRITERS) {
        bool is_new = see_writer(conn, seen, change, &many);
        if (!many) return is_new;
    }
    if (many) change->part = CTR_PART_WHOLE;
    row_set *rows = seen->rows[change->part];
    bool is_new = !is_seen(rows, change->row), added = true;
    for (int i = 0; i < 3; i++)
        if (change->origins >> i & 1) added = add_row(conn, &rows[i], change->row) && added;
    return is_new && added;
}

static int in_order_of_segment(const void *a, const void *b)
{
    return ctr_entries_segment_order(a, b);
}

/* Puts the changes of each number in the order of a segment. */
static void order_changes(ctr_changes *changes)
{
    ctr_change_of_row *rows = changes->rows;
    for (size_t i = 0, end; i < changes->n; i = end) {
        bool ascend = true;
        for (end = i + 1; end < changes->n && rows[end].number == rows[i].number; end++)
            ascend = ascend && ctr_entries_segment_order(&rows[end - 1], &rows[end]) < 0;
        if (!ascend) qsort(&rows[i], end - i, sizeof *rows, in_order_of_segment);
    }
}

/* Takes the changes of a row of the journal or of a segment, which come after those of higher
 * numbers: the first of each part is its last one. */
static void see_changes(ctr_conn *conn, seen_parts *seen, ctr_changes *of_row, ctr_changes *changes)
{
    for (size_t i = 0; i < of_row->n && ctr_rc(conn) == SQLITE_OK; i++) {
        ctr_change_of_row *change = &of_row->rows[i];
        if (changes->n > 0 && change->number > changes->rows[changes->n - 1].number)
            ctr_changes_segment_damaged(conn, change->number, "has a number that does not rise");
        if (see_change(conn, seen, change)) append_change(conn, changes, change);
    }
    of_row->n = 0;
}

/* Reads the last change of each part of a row, with the origins of all, in the order that
 * ctr_entries_segment_write needs: from segments, or from the journal (0). */
static void read_levels(ctr_tab *tab, int64_t from, int64_t to, ctr_changes *changes)
{
    ctr_conn *conn = tab->conn;
    seen_parts seen = {.n = 0};
    ctr_changes of_row = {.parts = true};
    ctr_run run = ctr_tab_run(tab);
    ctr_groups groups;
    sqlite3_stmt *row = to > 0 ? on_levels(tab, CTR_SQL_SEGMENTS_LEVELS, from, to) : NULL;
    while (row && ctr_run_row(&run, row)) {
        take_segment(conn, &of_row, row);
        see_changes(conn, &seen, &of_row, changes);
    }
    sqlite3_finalize(row);
    if (to == 0) ctr_groups_open(&groups, tab, INT64_MIN, true);
    while (to == 0 && ctr_groups_next(&groups)) {
        take_entries_of(&of_row, &groups);
        ctr_changes_latest(conn, &of_row);
        see_changes(conn, &seen, &of_row, changes);
    }
    if (to == 0) ctr_groups_close(&groups);
    for (size_t i = 0; i < changes->n && ctr_rc(conn) == SQLITE_OK; i++)
        changes->rows[i].origins = origins_of(&seen, &changes->rows[i]);
    order_changes(changes);
    sqlite3_free(of_row.rows);
    sqlite3_free(seen.slots);
    for (int i = 0; i <= CTR_PART_OWN; i++)
        for (int k = 0; k < 3; k++) sqlite3_free(seen.rows[i][k].slots);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Returns the end of a row of a segment that begins at `from`. Changes with one number stay
 * together. */
static size_t end_of_row(const ctr_changes *changes, size_t from, size_t most)
{
    size_t end = from;
    while (end < changes->n) {
        size_t next = end;
        while (next < changes->n && changes->rows[next].number == changes->rows[end].number) next++;
        if (end > from && next - from > most) break;
        end = next;
    }
    return end;
}

static void write_segment(ctr_tab *tab, int64_t level, const ctr_changes *changes)
{
    ctr_packed out = {0};
    ctr_run run = ctr_tab_run(tab);
    size_t most = (size_t)sqlite3_limit(run.db, SQLITE_LIMIT_LENGTH, -1) / CTR_ENTRY_MAX / 2;
    if (most > SEGMENT_CHANGES) most = SEGMENT_CHANGES;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SEGMENTS_APPEND);
    for (size_t i = 0, end; i < changes->n && ctr_rc(run.conn) == SQLITE_OK; i = end) {
        end = end_of_row(changes, i, most);
        out.size = 0;
        uint8_t *bytes =
            ctr_pack_room(run.conn, &out, CTR_ENTRIES_HEADER + (end - i) * CTR_ENTRY_MAX);
        if (!bytes) break;
        out.size = ctr_entries_segment_write(&changes->rows[i], end - i, bytes);
        ctr_run_bind_int(&run, row, ":tab", tab->number);
        ctr_run_bind_int(&run, row, ":number", changes->rows[i].number);
        ctr_run_bind_int(&run, row, ":level", i == 0 ? level : -level);
        ctr_run_bind_blob(&run, row, ":entries", out.bytes, out.size);
        ctr_run_row(&run, row);
        sqlite3_reset(row);
    }
    sqlite3_finalize(row);
    sqlite3_free(out.bytes);
}

/* Turns all rows of the segments of these levels, or what the table has in the journal (0), into
 * one segment of level `as`. What stands in the journal is removed later. Sets `wrote` before it
 * writes. */
static void make_segment(ctr_tab *tab, int64_t from, int64_t to, int64_t as, bool *wrote)
{
    ctr_changes changes = {0};
    ctr_run run = ctr_tab_run(tab);
    read_levels(tab, from, to, &changes);
    *wrote = *wrote || ctr_rc(run.conn) == SQLITE_OK;
    if (to > 0) ctr_run_once(&run, on_levels(tab, CTR_SQL_SEGMENTS_REMOVE, from, to));
    if (ctr_rc(run.conn) == SQLITE_OK) write_segment(tab, as, &changes);
    sqlite3_free(changes.rows);
}

/* ---- compaction ------------------------------------------------------------------------------ */

/* Returns the highest level if all segments should become one, else 0: if the same rows change
 * again and again, each segment has all of them. The numbers of two segments never overlap, and the
 * first row of a segment has its highest number. */
static int64_t level_of_all(ctr_tab *tab)
{
    int64_t highest = 0, segment = 0, longest = 0, all = 0;
    ctr_run run = ctr_tab_run(tab);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SEGMENTS_SIZES);
    ctr_run_bind_int(&run, row, ":tab", ctr_tab_number(tab));
    ctr_run_bind_int(&run, row, ":highest", LEVELS);
    while (ctr_run_row(&run, row)) {
        int64_t level = sqlite3_column_int64(row, 0), bytes = sqlite3_column_int64(row, 1);
        all += bytes;
        segment += bytes;
        if (level < 0) continue;
        if (segment > longest) longest = segment;
        if (level > highest) highest = level;
        segment = 0;
    }
    sqlite3_finalize(row);
    return all / TIMES_THE_LONGEST > longest ? highest : 0;
}

/* Makes one segment of the segments of a level that has eight, or of all. Returns false if no level
 * has eight and all are short, or on error. */
static bool changes_compact(ctr_tab *tab, bool *wrote)
{
    ctr_run run = ctr_tab_run(tab);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SEGMENTS_FULL_LEVEL);
    ctr_run_bind_int(&run, row, ":tab", ctr_tab_number(tab));
    ctr_run_bind_int(&run, row, ":segments", SEGMENTS_OF_LEVEL);
    ctr_run_bind_int(&run, row, ":highest", LEVELS - 1);
    int64_t level = ctr_run_row(&run, row) ? sqlite3_column_int64(row, 0) : 0; /* the lowest such */
    sqlite3_finalize(row);
    int64_t highest = level > 0 ? 0 : level_of_all(tab);
    if (level > 0) make_segment(tab, level, level, level + 1, wrote);
    if (highest > 0) make_segment(tab, 1, highest, highest, wrote);
    return ctr_rc(tab->conn) == SQLITE_OK && (level > 0 || highest > 0);
}

/* =================================================================================================
 * fold - folds amounts and stamps of a journal into cells.
 */

enum { PARTS = 32 /* parts of the rows with amounts; a commit folds the densest */ };

/* The fold of one table. */
typedef struct folding {
    ctr_tab *tab;
    ctr_shape shape;
    ctr_run run;
    ctr_slot *find, *update, *set_row;
    sqlite3_blob **cells; /* by counter: the cell of a row, to be written in place; some are NULL */
    ctr_packed old, out;  /* a stored cell, and the new cells of a row */
    ctr_row_cell row;     /* of a replicated table */
    int room_row;         /* for columns of `row` */
    bool wrote;           /* any cell */
} folding;

/* ---- cells ----------------------------------------------------------------------------------- */

static void open_folding(folding *job)
{
    ctr_conn *conn = job->tab->conn;
    ctr_tab *tab = job->tab;
    job->run = ctr_tab_run(tab);
    if (ctr_tab_read_shape(tab->file, tab->table, &job->shape)) return;
    if (job->shape.n_counters != tab->cache.n_counters) {
        ctr_problem_set(conn, SQLITE_SCHEMA, "the stored table has changed");
        return;
    }
    if (ctr_shape_states(&job->shape) == 0) return;
    ctr_refuse_ignored_columns(tab, &job->shape);
    size_t size = ((size_t)job->shape.n_counters + 1) * sizeof *job->cells;
    job->cells = sqlite3_malloc64(size);
    if (!job->cells) ctr_problem_nomem(conn);
    if (job->cells) memset(job->cells, 0, size);
    job->find = ctr_tab_take(tab, CTR_TAB_FIND_ROWID);
    job->update = ctr_tab_take(tab, CTR_TAB_UPDATE);
}

static void close_folding(folding *job)
{
    ctr_tab_give_back(job->tab, job->find);
    ctr_tab_give_back(job->tab, job->update);
    ctr_tab_give_back(job->tab, job->set_row);
    for (int i = 0; job->cells && i < job->shape.n_counters; i++) sqlite3_blob_close(job->cells[i]);
    sqlite3_free(job->cells);
    sqlite3_free(job->row.columns);
    sqlite3_free(job->old.bytes);
    sqlite3_free(job->out.bytes);
    ctr_shape_close(&job->shape);
}

/* Opens the cell of a counter of a row to write it in place. Returns NULL if the cell is NULL or
 * has an index; any other failure is an error: after an interrupt, SQLite has rolled back. */
static sqlite3_blob *open_in_place(folding *job, int64_t id, int counter)
{
    ctr_conn *conn = job->run.conn;
    sqlite3_blob **cell = &job->cells[counter];
    int again = *cell ? sqlite3_blob_reopen(*cell, id) : SQLITE_ERROR;
    if (again == SQLITE_OK) return *cell;
    sqlite3_blob_close(*cell);
    *cell = NULL;
    if (again != SQLITE_ERROR && again != SQLITE_ABORT) /* its row was updated */
        ctr_problem_sqlite(conn, again);
    if (ctr_rc(conn) != SQLITE_OK) return NULL;
    const char *stored = ctr_text_print(conn, "%s_cells", job->tab->table);
    if (ctr_rc(conn) != SQLITE_OK) return NULL;
    int rc = sqlite3_blob_open(job->run.db, job->run.slots.schema, stored,
                               ctr_shape_counter_name(&job->shape, counter), id, 1, cell);
    if (rc != SQLITE_ERROR) ctr_problem_sqlite(conn, rc);
    return rc == SQLITE_OK ? *cell : NULL;
}

static void refuse_cell(folding *job, int64_t id, int counter, ctr_status status)
{
    ctr_problem_set(job->tab->conn, SQLITE_CORRUPT_VTAB, "column %s of row %lld: the cell %s",
                    ctr_shape_counter_name(&job->shape, counter), (long long)id,
                    ctr_status_text(status));
}

/* Copies the cell of a counter of a row from its BLOB. Returns false if it cannot be read there. */
static bool read_in_place(folding *job, sqlite3_blob *blob)
{
    size_t size = (size_t)sqlite3_blob_bytes(blob);
    uint8_t *old = ctr_pack_room(job->tab->conn, &job->old, size + 1);
    job->old.size = size;
    return old && sqlite3_blob_read(blob, old, (int)size, 0) == SQLITE_OK;
}

/* Copies it by a SELECT; the size of an untouched counter is 0. */
static void read_by_select(folding *job, int64_t id, int counter)
{
    ctr_conn *conn = job->tab->conn;
    sqlite3_stmt *find = job->find->kept.statement;
    int column = CTR_FIND_COLUMNS + job->shape.counters[counter];
    sqlite3_bind_int64(find, 1, id);
    bool found = ctr_run_row(&job->run, find);
    if (!found && ctr_rc(job->run.conn) == SQLITE_OK)
        ctr_problem_set(conn, SQLITE_CORRUPT_VTAB,
                        "counter_journal is damaged: it has amounts for row %lld, which does not "
                        "exist",
                        (long long)id);
    const void *bytes = found ? sqlite3_column_blob(find, column) : NULL;
    size_t size = found ? (size_t)sqlite3_column_bytes(find, column) : 0;
    if (found && !bytes && sqlite3_column_type(find, column) != SQLITE_NULL)
        refuse_cell(job, id, counter, CTR_NOT_A_CELL);
    uint8_t *old = bytes ? ctr_pack_room(conn, &job->old, size) : NULL;
    if (old) memcpy(old, bytes, size);
    if (old) job->old.size = size;
    sqlite3_reset(find);
}

/* Most cells keep their size when an amount is added. They are written in place, which costs a
 * third of an UPDATE. Others are bound to the UPDATE of the row. Returns whether this one is. */
static bool fold_cell(folding *job, int64_t id, int counter, const ctr_amount *amount)
{
    ctr_conn *conn = job->run.conn;
    ctr_status status;
    const ctr_column *column = &job->shape.columns[job->shape.counters[counter]];
    job->old.size = job->out.size = 0;
    sqlite3_blob *blob = open_in_place(job, id, counter);
    if (ctr_rc(conn) == SQLITE_OK && (!blob || !read_in_place(job, blob))) {
        job->old.size = 0;
        read_by_select(job, id, counter);
    }
    if (ctr_rc(conn) != SQLITE_OK) return false; /* the amount may be gone */
    const ctr_cell cell = ctr_row_advance(job->tab, column, amount, job->old.bytes, job->old.size,
                                          &job->out, &status);
    if (status != CTR_OK) refuse_cell(job, id, counter, status);
    if (ctr_rc(conn) != SQLITE_OK) return false;
    bool in_place = blob && cell.size == job->old.size;
    int rc = in_place
                 ? sqlite3_blob_write(blob, cell.bytes, (int)cell.size, 0)
                 : sqlite3_bind_blob64(job->update->kept.statement, CTR_UPDATE_COUNTERS + counter,
                                       cell.bytes, cell.size, SQLITE_TRANSIENT);
    ctr_problem_sqlite(conn, rc);
    job->wrote = job->wrote || in_place;
    return !in_place && ctr_rc(conn) == SQLITE_OK;
}

/* Writes the row cell with the stamps of the journal, if there are any. */
static void fold_stamps(folding *job, int64_t id)
{
    ctr_conn *conn = job->run.conn;
    ctr_tab *tab = job->tab;
    if (!ctr_cache_has_stamps(&tab->amounts, id)) return;
    bool read = ctr_regular_room(tab, &job->row, &job->room_row) &&
                ctr_regular_read(tab, id, &job->row) == SQLITE_OK;
    if (ctr_rc(conn) == SQLITE_OK && (!read || !ctr_row_cell_is_live(&job->row)))
        ctr_problem_set(
            job->tab->conn, SQLITE_CORRUPT_VTAB,
            "counter_journal is damaged: it has stamps for row %lld, which is not there",
            (long long)id);
    if (!job->set_row) job->set_row = ctr_tab_take(tab, CTR_TAB_SET_ROW);
    job->out.size = 0;
    uint8_t *out = ctr_pack_room(job->tab->conn, &job->out, ctr_row_cell_room(job->row.n));
    size_t size = out ? ctr_regular_write(tab, &job->row, out) : 0;
    if (ctr_rc(conn) != SQLITE_OK) return;
    sqlite3_stmt *set = job->set_row->kept.statement;
    sqlite3_bind_int64(set, 1, id);
    ctr_problem_sqlite(conn, sqlite3_bind_blob64(set, 2, out, size, SQLITE_STATIC));
    ctr_run_write(&job->run, set);
    sqlite3_reset(set);
    sqlite3_clear_bindings(set);
    job->wrote = true;
    ctr_cache_drop_stamps(&tab->amounts, id);
}

static void fold_row(folding *job, int64_t id)
{
    ctr_conn *conn = job->run.conn;
    bool updates = false;
    fold_stamps(job, id);
    for (int i = 0; i < job->shape.n_counters && ctr_rc(conn) == SQLITE_OK; i++) {
        const ctr_amount *amount = ctr_journal_amount(job->tab, id, i);
        if (amount) updates = fold_cell(job, id, i, amount) || updates;
    }
    if (updates && ctr_rc(conn) == SQLITE_OK) {
        sqlite3_stmt *update = job->update->kept.statement;
        sqlite3_bind_int64(update, CTR_UPDATE_ROWID, id);
        ctr_run_write(&job->run, update);
        sqlite3_reset(update);
        sqlite3_clear_bindings(update);
        job->wrote = true;
    }
    for (int i = 0; i < job->shape.n_counters && ctr_rc(conn) == SQLITE_OK; i++)
        ctr_cache_drop_amount(&job->tab->amounts, id, i);
}

/* Returns where part i of n rows in ascending order begins; the part before ends there. */
static size_t part_begins(size_t n, size_t i)
{
    return n * i / PARTS;
}

/* Folds parts of the list until at most `keep` rows are left. The densest parts come first, because
 * each page that is written then takes the amounts of many rows. Scattered rows stay in the
 * journal, where they become denser with time. */
static void fold_densest(folding *job, const ctr_changes *list, size_t keep)
{
    ctr_conn *conn = job->run.conn;
    bool folded[PARTS] = {false};
    for (size_t left = list->n; left > keep && ctr_rc(conn) == SQLITE_OK;) {
        uint64_t least = UINT64_MAX;
        size_t densest = PARTS;
        for (size_t i = 0; i < PARTS; i++) {
            size_t from = part_begins(list->n, i), to = part_begins(list->n, i + 1);
            if (folded[i] || from == to) continue;
            uint64_t span = (uint64_t)list->rows[to - 1].row - (uint64_t)list->rows[from].row;
            if (densest < PARTS && span >= least) continue;
            densest = i;
            least = span;
        }
        size_t from = part_begins(list->n, densest), to = part_begins(list->n, densest + 1);
        for (size_t i = from; i < to && ctr_rc(conn) == SQLITE_OK; i++)
            fold_row(job, list->rows[i].row);
        folded[densest] = true;
        left -= to - from;
    }
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Folds until at most `keep` amounts are left, makes a segment of what the table has in the
 * journal, and carries the other amounts over. */
static void fold_amounts(folding *job, size_t keep)
{
    ctr_tab *tab = job->tab;
    ctr_changes list = {0};
    size_t n = ctr_journal_count_amounts(tab);
    ctr_journal_list_amounts(tab, &list);
    if (n > keep) fold_densest(job, &list, list.n * keep / n);
    if (keep == 0) ctr_cache_clear_amounts(&tab->amounts);
    sqlite3_free(list.rows);
    if (ctr_rc(tab->conn) != SQLITE_OK) return;
    make_segment(tab, 0, 0, 1, &job->wrote);
    if (ctr_rc(tab->conn) == SQLITE_OK) ctr_batch_carry(tab);
}

typedef enum fold_extent {
    FOLD_NONE, /* touches no cell, and carries all amounts over */
    FOLD_SOME,
    FOLD_ALL,
    FOLD_AND_COMPACT /* compacts segments even if there is nothing to fold */
} fold_extent;

/* Returns whether there is nothing to fold, nor a second row to make a segment of. */
static bool is_folded(const ctr_tab *tab)
{
    return tab->n_rows < 2 && tab->amounts.n == 0;
}

/* A commit stays short: it either compacts segments or folds some amounts. After a fold, a quarter
 * of the journal's limit is free again. */
static void fold(folding *job, fold_extent extent)
{
    size_t fit = (size_t)sqlite3_limit(job->run.db, SQLITE_LIMIT_LENGTH, -1) / CTR_ENTRY_MAX / 2;
    size_t keep = CTR_JOURNAL_AMOUNTS / 4 * 3;
    if (extent >= FOLD_ALL) {
        if (!is_folded(job->tab)) fold_amounts(job, 0);
        while (ctr_rc(job->run.conn) == SQLITE_OK && changes_compact(job->tab, &job->wrote))
            continue;
    } else if (!changes_compact(job->tab, &job->wrote) && ctr_rc(job->run.conn) == SQLITE_OK) {
        fold_amounts(job, extent == FOLD_NONE ? SIZE_MAX : keep < fit ? keep : fit);
    }
}

static int fold_table(ctr_tab *tab, fold_extent extent)
{
    folding job = {.tab = tab, .run = ctr_tab_run(tab)};
    ctr_conn *conn = tab->file->conn;
    unsigned nth = conn->ended;
    sqlite3_int64 last_rowid = sqlite3_last_insert_rowid(conn->db);
    if (tab->folded) return ctr_rc(conn);
    if (!tab->file->checked) ctr_journal_read_again(tab);
    if (ctr_journal_refresh(tab)) return ctr_rc(conn);
    if (ctr_batch_pending(tab) > 0 && ctr_batch_flush_all(tab->file)) return ctr_rc(conn);
    if (is_folded(tab) && extent != FOLD_AND_COMPACT && extent != FOLD_NONE) return ctr_rc(conn);
    if (extent != FOLD_NONE) open_folding(&job);
    if (ctr_rc(conn) == SQLITE_OK) fold(&job, extent);
    close_folding(&job);
    if (ctr_rc(conn) != SQLITE_OK) {
        if (job.wrote) ctr_conn_spoil(conn, nth);
        ctr_batch_abandon(tab);
    }
    sqlite3_set_last_insert_rowid(conn->db, last_rowid);
    return ctr_rc(conn);
}

/* ---- the journal ----------------------------------------------------------------------------- */

/* Tables by number, ascending; a part of what they have in the journal. */
typedef struct table_part {
    int64_t number;
    int64_t before; /* what stands in rows before this one is to be removed */
} table_part;

typedef struct table_numbers {
    table_part *numbers;
    size_t n, room;
} table_numbers;

static int by_table_number(const void *a, const void *b)
{
    const table_part *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static bool add_table(ctr_conn *conn, table_numbers *tables, int64_t number, int64_t before)
{
    table_part *numbers = ctr_array_room(conn, tables->numbers, &tables->room, tables->n + 1,
                                         sizeof *tables->numbers);
    if (!numbers) return false;
    tables->numbers = numbers;
    numbers[tables->n++] = (table_part){number, before};
    return true;
}

/* Changes or removes a row of the journal. */
static void write_kept(ctr_run *run, sqlite3_stmt *change, sqlite3_stmt *remove, int64_t number,
                       int64_t tabs, const ctr_packed *kept)
{
    sqlite3_stmt *statement = tabs ? change : remove;
    ctr_run_bind_int(run, statement, ":number", number);
    if (tabs) ctr_run_bind_int(run, statement, ":tabs", tabs);
    if (tabs) ctr_run_bind_blob(run, statement, ":entries", kept->bytes, kept->size);
    if (ctr_rc(run->conn) == SQLITE_OK) ctr_run_write(run, statement);
    sqlite3_reset(statement);
}

/* Copies the groups of the row that stay into `kept`, and returns their mask: 0, if none stays. */
static int64_t keep_others(ctr_conn *conn, ctr_entries *groups, const table_numbers *tables,
                           int64_t number, ctr_packed *kept)
{
    int64_t table, tabs = 0;
    ctr_entries walk;
    const uint8_t *from = groups->at;
    kept->size = 0;
    uint8_t *out = ctr_pack_room(conn, kept, CTR_ENTRIES_HEADER);
    if (out) kept->size = (size_t)(ctr_entries_begin(out) - kept->bytes);
    for (; ctr_entries_group_next(groups, &table, &walk); from = groups->at) {
        const table_part key = {.number = table};
        const table_part *part =
            bsearch(&key, tables->numbers, tables->n, sizeof key, by_table_number);
        if (part && number < part->before) continue;
        size_t size = (size_t)(groups->at - from);
        out = ctr_pack_room(conn, kept, size);
        if (!out) break;
        memcpy(out, from, size);
        kept->size += size;
        tabs |= ctr_entries_bit(table);
    }
    return tabs;
}

/* Removes the rows before a number that have groups of these tables alone, if no other table has
 * one of their bits. Those are most rows, and removed by one statement. */
static void remove_whole_rows(ctr_run *run, size_t n, int64_t bits, int64_t before)
{
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_CATALOG_BITS);
    ctr_run_bind_int(run, row, ":bits", bits);
    bool alone = ctr_run_row(run, row) && sqlite3_column_int64(row, 0) == (int64_t)n;
    sqlite3_finalize(row);
    if (alone) ctr_run_with(run, CTR_SQL_JOURNAL_REMOVE_WHOLE, ":number i :bits i", before, bits);
}

/* Removes the groups of these tables from the rows before their numbers. A row that is damaged
 * stays as it is: none of these tables has been able to read it. */
static void remove_groups(ctr_file *file, table_numbers *tables)
{
    ctr_run run = ctr_file_run(file);
    ctr_packed kept = {0};
    int64_t bits = 0;
    bool checked = false;
    int64_t first = INT64_MAX, last = 0;
    if (tables->n > 0) qsort(tables->numbers, tables->n, sizeof *tables->numbers, by_table_number);
    for (size_t i = 0; i < tables->n; i++) {
        const table_part *part = &tables->numbers[i];
        bits |= ctr_entries_bit(part->number);
        if (part->before < first) first = part->before;
        if (part->before > last) last = part->before;
    }
    remove_whole_rows(&run, tables->n, bits, first);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_JOURNAL_BACKWARDS),
                 *change = ctr_run_prepare(&run, CTR_SQL_JOURNAL_CHANGE),
                 *remove = ctr_run_prepare(&run, CTR_SQL_JOURNAL_REMOVE);
    ctr_run_bind_int(&run, row, ":bit", bits);
    while (ctr_run_row(&run, row)) {
        ctr_entries groups;
        int64_t number = sqlite3_column_int64(row, CTR_JOURNAL_NUMBER);
        if (number >= last) continue;
        ctr_changes_open(&groups, row);
        size_t size = (size_t)sqlite3_column_bytes(row, CTR_JOURNAL_ENTRIES);
        int64_t tabs = keep_others(run.conn, &groups, tables, number, &kept);
        if (kept.size == size) continue; /* all of them stay */
        if (tabs != 0 && !checked) ctr_refuse_ignored_entries(file);
        checked = checked || tabs != 0;
        if (groups.status == CTR_OK && ctr_rc(run.conn) == SQLITE_OK)
            write_kept(&run, change, remove, number, tabs, &kept);
    }
    sqlite3_finalize(row);
    sqlite3_finalize(change);
    sqlite3_finalize(remove);
    sqlite3_free(kept.bytes);
    file->open_number = 0;
    file->writes++;
}

/* Appends what the folded tables carry over, and removes what they had before. */
int ctr_fold_finish(ctr_file *file)
{
    ctr_conn *conn = file->conn;
    table_numbers tables = {0};
    unsigned nth = conn->ended;
    bool any = false;
    for (ctr_tab *tab = file->touched; tab; tab = tab->next_touched) any = any || tab->folded;
    if (any) ctr_batch_flush_all(file);
    for (ctr_tab *tab = file->touched; tab && ctr_rc(conn) == SQLITE_OK; tab = tab->next_touched) {
        if (!tab->folded) continue;
        add_table(conn, &tables, ctr_tab_number(tab), tab->carried_at);
        tab->folded = false;
        ctr_batch_free(tab);
    }
    if (ctr_rc(conn) == SQLITE_OK && tables.n > 0) remove_groups(file, &tables);
    if (ctr_rc(conn) != SQLITE_OK && any) ctr_conn_spoil(conn, nth);
    sqlite3_free(tables.numbers);
    return ctr_rc(conn);
}

int ctr_fold_begin(ctr_tab *tab)
{
    return fold_table(tab, FOLD_ALL);
}

int ctr_fold_table(ctr_tab *tab)
{
    return fold_table(tab, FOLD_ALL) ? ctr_rc(tab->conn) : ctr_fold_finish(tab->file);
}

int ctr_fold_optimize(ctr_tab *tab)
{
    return fold_table(tab, FOLD_AND_COMPACT) ? ctr_rc(tab->conn) : ctr_fold_finish(tab->file);
}

void ctr_fold_drop(ctr_tab *tab)
{
    ctr_run run = ctr_tab_run(tab);
    table_numbers tables = {0};
    int64_t number = ctr_tab_number(tab);
    if (ctr_rc(tab->conn) == SQLITE_OK && add_table(tab->conn, &tables, number, INT64_MAX))
        remove_groups(tab->file, &tables);
    ctr_run_with(&run, CTR_SQL_SEGMENTS_DROP, ":tab i", number);
    sqlite3_free(tables.numbers);
}

/* ---- a journal that has grown ---------------------------------------------------------------- */

enum {
    OLDEST = 64, /* rows from which a commit carries over what other tables have */
    WORTH_A_FOLD = CTR_JOURNAL_ROWS / 64, /* less rows of a table are not worth a fold */
};

static int64_t count_journal(ctr_file *file)
{
    ctr_run run = ctr_file_run(file);
    sqlite3_stmt *row = ctr_file_take(file, CTR_FILE_COUNT);
    int64_t n = ctr_run_row(&run, row) ? sqlite3_column_int64(row, 0) : 0;
    ctr_file_give_back(file, CTR_FILE_COUNT, row);
    file->uncounted = n > 2 * CTR_JOURNAL_ROWS ? OLDEST : WORTH_A_FOLD;
    return n;
}

static bool carry_table(ctr_file *file, int64_t number)
{
    ctr_run run = ctr_file_run(file);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_CATALOG_NUMBERED);
    ctr_run_bind_int(&run, row, ":number", number);
    const char *name = ctr_run_row(&run, row) ? ctr_text_column(file->conn, row, 0) : NULL;
    ctr_tab *known = name ? ctr_tab_known(file, name) : NULL;
    bool is_carried = known && known->folded;
    ctr_tab *tab = name && !is_carried ? ctr_tab_read(file, name) : NULL;
    sqlite3_finalize(row);
    return tab && fold_table(tab, FOLD_NONE) == SQLITE_OK;
}

/* Returns whether anything was carried over. Tables that cannot be read stay as they are. */
static bool carry_tables(ctr_file *file, const table_numbers *tables)
{
    bool any = false;
    for (size_t i = 0; i < tables->n && ctr_rc(file->conn) == SQLITE_OK; i++) {
        ctr_problem trouble;
        if (i > 0 && tables->numbers[i].number == tables->numbers[i - 1].number) continue;
        ctr_problem_try(file->conn, &trouble);
        any = carry_table(file, tables->numbers[i].number) || any;
        ctr_problem_raise_if(file->conn, &trouble,
                             file->conn->spoiled || ctr_problem_rolls_back(trouble.rc));
    }
    return any;
}

static void carry_oldest(ctr_file *file)
{
    table_numbers tables = {0};
    ctr_run run = ctr_file_run(file);
    int64_t last = file->passed, table;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_JOURNAL_OLDEST);
    ctr_run_bind_int(&run, row, ":number", file->passed);
    ctr_run_bind_int(&run, row, ":n", OLDEST);
    while (ctr_run_row(&run, row)) {
        ctr_entries groups, walk;
        ctr_changes_open(&groups, row);
        while (ctr_entries_group_next(&groups, &table, &walk))
            if (!add_table(file->conn, &tables, table, 0)) break;
        last = sqlite3_column_int64(row, CTR_JOURNAL_NUMBER);
    }
    sqlite3_finalize(row);
    if (tables.n > 0) qsort(tables.numbers, tables.n, sizeof *tables.numbers, by_table_number);
    if (!carry_tables(file, &tables)) file->passed = last;
    sqlite3_free(tables.numbers);
}

void ctr_fold_grown(ctr_file *file)
{
    ctr_conn *conn = file->conn;
    const ctr_tab *any = file->touched;
    while (any && !any->appended) any = any->next_touched;
    if (!any || ctr_rc(conn) != SQLITE_OK) return;
    int64_t rows = file->uncounted-- > 0 ? 0 : count_journal(file);
    for (ctr_tab *tab = file->touched; tab && ctr_rc(conn) == SQLITE_OK; tab = tab->next_touched) {
        bool has_grown = tab->n_entries > CTR_JOURNAL_AMOUNTS || tab->n_rows > CTR_JOURNAL_ROWS ||
                         (rows > CTR_JOURNAL_ROWS && tab->n_rows > WORTH_A_FOLD);
        if (tab->appended && has_grown) fold_table(tab, FOLD_SOME);
        ctr_problem_where(conn, "%s", tab->table);
    }
    if (rows > 2 * CTR_JOURNAL_ROWS && ctr_rc(conn) == SQLITE_OK) carry_oldest(file);
    ctr_fold_finish(file);
}
