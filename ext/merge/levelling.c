/* merge/levelling.c - moves rights to bounded counters between two files that sync.
 *
 * For each row that one of them has read of the other: if one side may take less than a quarter of
 * what both may, or owes, the other grants it so much that both have half, and never more than it
 * has. Rows that wait in one of them are passed over. (At each sync, for all rows, it would fill
 * the cells with grants.)
 *
 * What the sync itself has brought as a grant stays where it is: whoever grants nearly all that it
 * has would get part of it back at once.
 *
 * A file learns of a grant only from a durable commit of the granter: functions/exchange.c. */
#include "merge/merge.h"

#include <stdlib.h>
#include <string.h>

void ctr_levelling_add(ctr_levelling *levels, ctr_conn *conn, const char *birth,
                       sqlite3_value **keys, int n)
{
    struct ctr_levelled *rows =
        ctr_array_room(conn, levels->rows, &levels->room, levels->n + 1, sizeof *rows);
    if (!rows) return;
    levels->rows = rows;
    struct ctr_levelled *row = &rows[levels->n];
    *row = (struct ctr_levelled){.birth = ctr_text_copy(conn, birth),
                                 .keys = sqlite3_malloc64((size_t)n * sizeof *row->keys)};
    row->n_keys = row->keys ? n : 0;
    if (!row->keys) ctr_problem_nomem(conn);
    for (int i = 0; i < row->n_keys; i++) {
        row->keys[i] = sqlite3_value_dup(keys[i]);
        if (!row->keys[i]) ctr_problem_nomem(conn);
    }
    levels->n++;
}

static int64_t granted_in(const ctr_cell *cell, const uint8_t *from, const uint8_t *to)
{
    ctr_grant grant;
    for (size_t at = 0; ctr_cell_next_grant(cell, &at, &grant);)
        if (memcmp(grant.from, from, CTR_ID_SIZE) == 0 && memcmp(grant.to, to, CTR_ID_SIZE) == 0)
            return grant.n;
    return 0;
}

void ctr_levelling_note(ctr_levelling *levels, ctr_side side, const ctr_levelling_cells *cells)
{
    const bool same = cells->mine->life == cells->theirs->life;
    const int64_t before = same ? granted_in(cells->mine, cells->from, cells->to) : 0;
    if (levels->n > 0 && granted_in(cells->theirs, cells->from, cells->to) > before)
        levels->rows[levels->n - 1].granted[side] = true;
}

static void free_levelled(struct ctr_levelled *row)
{
    for (int k = 0; k < row->n_keys; k++) sqlite3_value_free(row->keys[k]);
    sqlite3_free(row->keys);
    sqlite3_free(row->birth);
}

void ctr_levelling_close(ctr_levelling *levels)
{
    for (size_t i = 0; i < levels->n; i++) free_levelled(&levels->rows[i]);
    sqlite3_free(levels->rows);
    *levels = (ctr_levelling){.rows = NULL};
}

/* Returns how much `from` should grant to `to`, which may take a and b. */
static int64_t share(const ctr_sum *a, const ctr_sum *b)
{
    const int64_t most = INT64_C(1) << 60; /* so that no sum of these overflows */
    int64_t from = ctr_sum_clamp(a), to = ctr_sum_clamp(b);
    if (from > most) from = most;
    if (to > most) to = most;
    if (to < -most) to = -most;
    if (from <= 0 || 3 * to >= from) return 0;
    const int64_t both = from + to, half = both / 2 - (both % 2 < 0);
    const int64_t n = half - to;
    return n < from ? n : from;
}

/* One walk over the rows. */
typedef struct level_walk {
    ctr_file *file;
    ctr_conflicts conflicts;
    ctr_merge merge;
    bool open, found, writes; /* found: the file has the table */
    const char *birth;        /* of the table that is open, or was not found; borrowed */
} level_walk;

static void close_levelled(level_walk *job)
{
    if (job->open) ctr_merge_close(&job->merge);
    job->open = job->found = false;
}

/* Returns whether the row is there, in a table with a bounded counter. */
static bool find_bounded(level_walk *job, const struct ctr_levelled *row)
{
    ctr_conn *conn = job->file->conn;
    if (ctr_rc(conn) != SQLITE_OK) return false;
    if (!job->birth || strcmp(job->birth, row->birth) != 0) {
        close_levelled(job);
        job->birth = row->birth;
        job->conflicts = (ctr_conflicts){.file = job->file};
        job->open = true;
        job->found = ctr_merge_open(&job->merge, job->file, row->birth, &job->conflicts);
        job->merge.row.origin = CTR_MADE_HERE;
        ctr_run run = ctr_run_on(conn, job->file->schema, job->merge.entry.name);
        if (job->found && job->writes) ctr_run_do(&run, CTR_SQL_SYNC_JOIN, NULL); /* of its end */
    }
    return job->found && ctr_rc(conn) == SQLITE_OK && job->merge.shape.bounded &&
           job->merge.shape.n_keys == row->n_keys &&
           ctr_row_find_key(&job->merge.row, row->keys) == SQLITE_OK && job->merge.row.found;
}

/* The same, if it does not wait. */
static bool find_levelled(level_walk *job, const struct ctr_levelled *row)
{
    if (!find_bounded(job, row)) return false;
    ctr_tab *tab = job->merge.row.tab;
    if (!job->merge.tracked || !ctr_apart_any(tab)) return true;
    ctr_apart_row apart = {0};
    ctr_apart_read(job->merge.showing.tracked, tab, job->merge.row.rowid, &apart);
    const bool waits = apart.waits || apart.ended;
    ctr_apart_close_row(&apart);
    return !waits && ctr_rc(tab->conn) == SQLITE_OK;
}

/* Returns the number of counters of the row found last for which `from` should grant to `to`;
 * stages it with a leader, unless that is NULL. */
static int64_t level_row(level_walk *job, const uint8_t *from, const uint8_t *to,
                         const ctr_leader *leader)
{
    int64_t n = 0;
    ctr_row *row = &job->merge.row;
    ctr_rights rights = {.list = NULL};
    for (int i = 0; i < row->shape->n_counters && ctr_rc(row->conn) == SQLITE_OK; i++) {
        if (!row->shape->columns[row->shape->counters[i]].bounded ||
            ctr_rights_read(&rights, row->tab, &row->cells[i]))
            continue;
        const ctr_sum a = ctr_rights_find(&rights, from), b = ctr_rights_find(&rights, to);
        const int64_t part = share(&a, &b);
        if (part > 0 && leader && ctr_row_grant(row, i, to, part, leader) != CTR_OK) continue;
        n += part > 0;
    }
    ctr_rights_close_list(&rights);
    return n;
}

static int by_place(const void *a, const void *b)
{
    const struct ctr_levelled *x = a, *y = b;
    const int order = strcmp(x->birth, y->birth);
    return order != 0 ? order : (x->rowid > y->rowid) - (x->rowid < y->rowid);
}

/* Both files may have read the row of each other. What is not due, such as a row that is not there
 * and has no place, is left out. */
static void make_one_of_each(ctr_levelling *levels)
{
    size_t n = 0;
    if (levels->n > 0) qsort(levels->rows, levels->n, sizeof *levels->rows, by_place);
    for (size_t i = 0; i < levels->n; i++) {
        struct ctr_levelled *row = &levels->rows[i];
        struct ctr_levelled *last = n > 0 ? &levels->rows[n - 1] : NULL;
        bool is_due = row->due[CTR_MAIN_TAKES] || row->due[CTR_MAIN_GIVES];
        if (is_due && (!last || by_place(last, row) != 0)) {
            levels->rows[n++] = *row;
            continue;
        }
        for (int side = 0; is_due && side < 2; side++)
            last->granted[side] = last->granted[side] || row->granted[side];
        free_levelled(row);
    }
    levels->n = n;
}

bool ctr_levelling_look(ctr_levelling *levels, ctr_file *file, const uint8_t mine[CTR_ID_SIZE],
                        const uint8_t theirs[CTR_ID_SIZE])
{
    bool any = false;
    level_walk job = {.file = file};
    for (size_t i = 0; i < levels->n && ctr_rc(file->conn) == SQLITE_OK; i++) {
        struct ctr_levelled *row = &levels->rows[i];
        if (!find_levelled(&job, row)) continue;
        row->rowid = job.merge.row.rowid;
        row->due[CTR_MAIN_TAKES] = level_row(&job, mine, theirs, NULL) > 0;
        row->due[CTR_MAIN_GIVES] = level_row(&job, theirs, mine, NULL) > 0;
    }
    close_levelled(&job);
    if (ctr_rc(file->conn) != SQLITE_OK) return false;
    make_one_of_each(levels);
    for (size_t i = 0; i < levels->n; i++)
        for (int side = 0; side < 2; side++) {
            struct ctr_levelled *row = &levels->rows[i];
            row->due[side] = row->due[side] && !row->granted[side];
            any = any || row->due[side];
        }
    return any;
}

int64_t ctr_levelling_grant(ctr_levelling *levels, ctr_file *file, ctr_side side,
                            const uint8_t to[CTR_ID_SIZE])
{
    int64_t n = 0;
    level_walk job = {.file = file, .writes = true};
    const ctr_leader *leader = ctr_file_identity(file) ? ctr_file_leader(file) : NULL;
    for (size_t i = 0; leader && i < levels->n && ctr_rc(file->conn) == SQLITE_OK; i++) {
        struct ctr_levelled *row = &levels->rows[i];
        if (!row->due[CTR_MAIN_TAKES] && !row->due[CTR_MAIN_GIVES]) continue;
        if (!find_levelled(&job, row)) {
            row->due[CTR_MAIN_TAKES] = row->due[CTR_MAIN_GIVES] = false;
            continue;
        }
        if (row->granted[side]) continue;
        int64_t granted = level_row(&job, leader->id, to, leader);
        if (granted > 0 && ctr_rc(file->conn) == SQLITE_OK) ctr_row_write(&job.merge.row, NULL);
        n += granted;
    }
    close_levelled(&job);
    return ctr_rc(file->conn) == SQLITE_OK ? n : 0;
}
