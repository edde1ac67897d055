/* table/changes.c - collects changes from a journal and sorts them. */
#include "table/changes.h"

#include <string.h>

#include "sqlite/array.h"

int ctr_changes_damaged(const char *table, int64_t number, const char *what, ctr_problem *problem)
{
    return ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "%s_journal is damaged: row %lld %s",
                           table, (long long)number, what);
}

/* ---- reading --------------------------------------------------------------------------------- */

int ctr_changes_append(ctr_changes *changes, int64_t row, int64_t number, ctr_problem *problem)
{
    ctr_change_of_row *rows = ctr_array_room(changes->rows, &changes->room, changes->n + 1,
                                             sizeof *changes->rows, problem);
    if (!rows) return problem->rc;
    changes->rows = rows;
    rows[changes->n++] = (ctr_change_of_row){row, number};
    return problem->rc;
}

int ctr_changes_add(ctr_changes *changes, int64_t row, int64_t number, ctr_problem *problem)
{
    enum { LONG = 1 << 16 };
    bool is_full = changes->n == changes->room && changes->n >= LONG;
    if (is_full && ctr_changes_latest(changes, problem)) return problem->rc;
    return ctr_changes_append(changes, row, number, problem);
}

void ctr_changes_take(ctr_changes *changes, int64_t number, int64_t level, const uint8_t *bytes,
                      size_t size, const char *table, ctr_problem *problem)
{
    ctr_entries walk;
    ctr_entry entry;
    ctr_change_of_row change;
    if (level == 0)
        ctr_entries_open(&walk, bytes, size);
    else
        ctr_entries_segment_open(&walk, bytes, size, number);
    bool carried = false; /* carried amounts are no changes */
    while (problem->rc == SQLITE_OK && level == 0 && ctr_entries_next(&walk, &entry)) {
        if (entry.kind == CTR_ENTRY_FOLDED)
            carried = true;
        else if (!carried || entry.kind != CTR_ENTRY_ADDED)
            ctr_changes_add(changes, entry.row, number, problem);
    }
    while (problem->rc == SQLITE_OK && level != 0 && ctr_entries_segment_next(&walk, &change))
        ctr_changes_add(changes, change.row, change.number, problem);
    if (walk.status != CTR_OK)
        ctr_changes_damaged(table, number, ctr_entries_status_text(walk.status), problem);
}

int ctr_changes_read(ctr_changes *changes, sqlite3 *db, const char *schema, const char *table,
                     int64_t since, ctr_problem *problem)
{
    *changes = (ctr_changes){0};
    ctr_run run = ctr_run_on(db, schema, table, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_JOURNAL_SINCE);
    if (row) sqlite3_bind_int64(row, 1, since);
    while (ctr_run_row(&run, row)) {
        const uint8_t *bytes = sqlite3_column_blob(row, CTR_JOURNAL_ENTRIES);
        ctr_changes_take(changes, sqlite3_column_int64(row, CTR_JOURNAL_NUMBER),
                         sqlite3_column_int64(row, CTR_JOURNAL_LEVEL), bytes,
                         bytes ? (size_t)sqlite3_column_bytes(row, CTR_JOURNAL_ENTRIES) : 0, table,
                         problem);
    }
    sqlite3_finalize(row);
    size_t n = 0;
    for (size_t i = 0; i < changes->n; i++) /* a segment has older ones, too */
        if (changes->rows[i].number >= since) changes->rows[n++] = changes->rows[i];
    changes->n = n;
    return problem->rc;
}

/* ---- sorting --------------------------------------------------------------------------------- */

static uint64_t sort_key_of(const ctr_change_of_row *change, bool by_number)
{
    return by_number ? ~(uint64_t)change->number : (uint64_t)change->row ^ UINT64_C(1) << 63;
}

static bool is_sorted(const ctr_changes *changes, bool by_number)
{
    size_t i = 1;
    while (i < changes->n && sort_key_of(&changes->rows[i - 1], by_number) <=
                                 sort_key_of(&changes->rows[i], by_number))
        i++;
    return i >= changes->n;
}

/* One pass of a radix sort, by one byte of the key. Equal keys keep their order. */
static void sort_pass(const ctr_change_of_row *from, ctr_change_of_row *to, size_t n, int shift,
                      bool by_number, const size_t counts[256])
{
    size_t at[256], sum = 0;
    for (int i = 0; i < 256; i++) {
        at[i] = sum;
        sum += counts[i];
    }
    for (size_t i = 0; i < n; i++)
        to[at[sort_key_of(&from[i], by_number) >> shift & 0xff]++] = from[i];
}

/* Skips a pass if all keys have the same byte. */
static int sort_changes(ctr_changes *changes, bool by_number, ctr_problem *problem)
{
    size_t n = changes->n;
    if (is_sorted(changes, by_number) || problem->rc != SQLITE_OK) return problem->rc;
    ctr_change_of_row *spare = sqlite3_malloc64(changes->room * sizeof *spare);
    if (!spare) return ctr_problem_nomem(problem);
    for (int shift = 0; shift < 64; shift += 8) {
        size_t counts[256] = {0};
        for (size_t i = 0; i < n; i++)
            counts[sort_key_of(&changes->rows[i], by_number) >> shift & 0xff]++;
        if (counts[sort_key_of(&changes->rows[0], by_number) >> shift & 0xff] == n) continue;
        sort_pass(changes->rows, spare, n, shift, by_number, counts);
        ctr_change_of_row *sorted = spare;
        spare = changes->rows;
        changes->rows = sorted;
    }
    sqlite3_free(spare);
    return problem->rc;
}

int ctr_changes_latest(ctr_changes *changes, ctr_problem *problem)
{
    size_t n = 0;
    ctr_change_of_row *rows;
    if (sort_changes(changes, true, problem) || sort_changes(changes, false, problem))
        return problem->rc;
    rows = changes->rows;
    for (size_t i = 0; i < changes->n; i++)
        if (n == 0 || rows[i].row != rows[n - 1].row) rows[n++] = rows[i];
    changes->n = n;
    return problem->rc;
}
