/* table/fold.c - folds amounts and stamps of a journal into cells. */
#include "table/table.h"

#include <string.h>

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

static void open_folding(folding *job, ctr_problem *problem)
{
    ctr_tab *tab = job->tab;
    job->run = ctr_tab_run(tab, problem);
    if (ctr_tab_read_shape(tab->file, tab->table, &job->shape, problem)) return;
    if (job->shape.n_counters != tab->cache.n_counters) {
        ctr_problem_set(problem, SQLITE_SCHEMA, "the stored table has changed");
        return;
    }
    if (job->shape.n_counters == 0 && !job->shape.replicated) return;
    ctr_refuse_ignored_columns(tab, &job->shape, problem);
    size_t size = ((size_t)job->shape.n_counters + 1) * sizeof *job->cells;
    job->cells = sqlite3_malloc64(size);
    if (!job->cells) ctr_problem_nomem(problem);
    if (job->cells) memset(job->cells, 0, size);
    job->find = ctr_tab_take(tab, CTR_TAB_FIND_ROWID, problem);
    job->update = ctr_tab_take(tab, CTR_TAB_UPDATE, problem);
    if (job->shape.replicated) job->set_row = ctr_tab_take(tab, CTR_TAB_SET_ROW, problem);
}

static void close_folding(folding *job)
{
    ctr_tab_give_back(job->tab, job->find, job->run.problem);
    ctr_tab_give_back(job->tab, job->update, job->run.problem);
    ctr_tab_give_back(job->tab, job->set_row, job->run.problem);
    for (int i = 0; job->cells && i < job->shape.n_counters; i++) sqlite3_blob_close(job->cells[i]);
    sqlite3_free(job->cells);
    sqlite3_free(job->row.columns);
    sqlite3_free(job->old.bytes);
    sqlite3_free(job->out.bytes);
    ctr_shape_close(&job->shape);
}

/* Opens the cell of a counter of a row to write it in place. Returns NULL if the cell is NULL or
 * has an index; any other failure is a problem: after an interrupt, SQLite has rolled back. */
static sqlite3_blob *open_in_place(folding *job, int64_t id, int counter)
{
    sqlite3_blob **cell = &job->cells[counter];
    int again = *cell ? sqlite3_blob_reopen(*cell, id) : SQLITE_ERROR;
    if (again == SQLITE_OK) return *cell;
    sqlite3_blob_close(*cell);
    *cell = NULL;
    if (again != SQLITE_ERROR && again != SQLITE_ABORT) /* its row was updated */
        ctr_problem_sqlite(job->run.problem, job->run.db, again);
    if (job->run.problem->rc != SQLITE_OK) return NULL;
    char *stored = sqlite3_mprintf("%s_cells", job->tab->table);
    int rc = stored ? sqlite3_blob_open(job->run.db, job->run.slots.schema, stored,
                                        ctr_shape_counter_name(&job->shape, counter), id, 1, cell)
                    : SQLITE_NOMEM;
    sqlite3_free(stored);
    if (rc != SQLITE_ERROR) ctr_problem_sqlite(job->run.problem, job->run.db, rc);
    return rc == SQLITE_OK ? *cell : NULL;
}

static void refuse_cell(folding *job, int64_t id, int counter, ctr_status status)
{
    ctr_problem_set(job->run.problem, SQLITE_CORRUPT_VTAB, "column %s of row %lld: the cell %s",
                    ctr_shape_counter_name(&job->shape, counter), (long long)id,
                    ctr_status_text(status));
}

/* Copies the cell of a counter of a row from its BLOB. Returns false if it cannot be read there. */
static bool read_in_place(folding *job, sqlite3_blob *blob)
{
    size_t size = (size_t)sqlite3_blob_bytes(blob);
    uint8_t *old = ctr_pack_room(&job->old, size + 1, job->run.problem);
    job->old.size = size;
    return old && sqlite3_blob_read(blob, old, (int)size, 0) == SQLITE_OK;
}

/* Copies it by a SELECT; the size of an untouched counter is 0. */
static void read_by_select(folding *job, int64_t id, int counter)
{
    ctr_problem *problem = job->run.problem;
    sqlite3_stmt *find = job->find->kept.statement;
    int column = CTR_FIND_COLUMNS + job->shape.counters[counter];
    sqlite3_bind_int64(find, 1, id);
    bool found = ctr_run_row(&job->run, find);
    if (!found && problem->rc == SQLITE_OK)
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                        "%s_journal is damaged: it has amounts for row %lld, which does not exist",
                        job->tab->table, (long long)id);
    const void *bytes = found ? sqlite3_column_blob(find, column) : NULL;
    size_t size = found ? (size_t)sqlite3_column_bytes(find, column) : 0;
    if (found && !bytes && sqlite3_column_type(find, column) != SQLITE_NULL)
        refuse_cell(job, id, counter, CTR_NOT_A_CELL);
    uint8_t *old = bytes ? ctr_pack_room(&job->old, size, problem) : NULL;
    if (old) memcpy(old, bytes, size);
    if (old) job->old.size = size;
    sqlite3_reset(find);
}

/* Most cells keep their size when an amount is added. They are written in place, which costs a
 * third of an UPDATE. Others are bound to the UPDATE of the row. Returns whether this one is. */
static bool fold_cell(folding *job, int64_t id, int counter, const ctr_amount *amount)
{
    ctr_problem *problem = job->run.problem;
    ctr_cell cell = ctr_cell_untouched();
    ctr_sum sum = {0, 0};
    size_t size;
    job->old.size = 0;
    sqlite3_blob *blob = open_in_place(job, id, counter);
    if (problem->rc == SQLITE_OK && (!blob || !read_in_place(job, blob))) {
        job->old.size = 0;
        read_by_select(job, id, counter);
    }
    uint8_t *out =
        ctr_pack_room(&job->out, job->old.size + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX, problem);
    if (!out) return false;
    ctr_sum_add(&sum, amount->n);
    ctr_status status =
        job->old.size > 0 ? ctr_cell_open(&cell, job->old.bytes, job->old.size) : CTR_OK;
    if (status == CTR_OK)
        status =
            ctr_cell_add(&cell, job->tab->id, &sum, amount->ticks, job->tab->least, out, &size);
    if (status != CTR_OK) {
        refuse_cell(job, id, counter, status);
        return false;
    }
    bool in_place = blob && size == job->old.size;
    int rc = in_place
                 ? sqlite3_blob_write(blob, out, (int)size, 0)
                 : sqlite3_bind_blob64(job->update->kept.statement, CTR_UPDATE_COUNTERS + counter,
                                       out, size, SQLITE_TRANSIENT);
    ctr_problem_sqlite(problem, job->run.db, rc);
    job->wrote = job->wrote || in_place;
    return !in_place && problem->rc == SQLITE_OK;
}

/* Writes the row cell with the stamps of the journal, if there are any. */
static void fold_stamps(folding *job, int64_t id)
{
    ctr_tab *tab = job->tab;
    ctr_problem *problem = job->run.problem;
    if (!ctr_cache_has_stamps(&tab->amounts, id)) return;
    bool read = job->set_row && ctr_regular_room(tab, &job->row, &job->room_row, problem) &&
                ctr_regular_read(tab, id, &job->row, problem) == SQLITE_OK;
    if (problem->rc == SQLITE_OK && (!read || !ctr_row_cell_is_live(&job->row)))
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                        "%s_journal is damaged: it has stamps for row %lld, which is not there",
                        tab->table, (long long)id);
    job->out.size = 0;
    uint8_t *out = ctr_pack_room(&job->out, ctr_row_cell_room(job->row.n), problem);
    size_t size = out ? ctr_regular_write(tab, &job->row, out, problem) : 0;
    if (problem->rc != SQLITE_OK) return;
    sqlite3_stmt *set = job->set_row->kept.statement;
    sqlite3_bind_int64(set, 1, id);
    ctr_problem_sqlite(problem, job->run.db, sqlite3_bind_blob64(set, 2, out, size, SQLITE_STATIC));
    ctr_run_write(&job->run, set);
    sqlite3_reset(set);
    sqlite3_clear_bindings(set);
    job->wrote = true;
    ctr_cache_drop_stamps(&tab->amounts, id);
}

static void fold_row(folding *job, int64_t id)
{
    ctr_problem *problem = job->run.problem;
    bool updates = false;
    fold_stamps(job, id);
    for (int i = 0; i < job->shape.n_counters && problem->rc == SQLITE_OK; i++) {
        const ctr_amount *amount = ctr_journal_amount(job->tab, id, i);
        if (amount) updates = fold_cell(job, id, i, amount) || updates;
    }
    if (updates && problem->rc == SQLITE_OK) {
        sqlite3_stmt *update = job->update->kept.statement;
        sqlite3_bind_int64(update, CTR_UPDATE_ROWID, id);
        ctr_run_write(&job->run, update);
        sqlite3_reset(update);
        sqlite3_clear_bindings(update);
        job->wrote = true;
    }
    for (int i = 0; i < job->shape.n_counters && problem->rc == SQLITE_OK; i++)
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
    bool folded[PARTS] = {false};
    for (size_t left = list->n; left > keep && job->run.problem->rc == SQLITE_OK;) {
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
        for (size_t i = from; i < to && job->run.problem->rc == SQLITE_OK; i++)
            fold_row(job, list->rows[i].row);
        folded[densest] = true;
        left -= to - from;
    }
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Folds until at most `keep` amounts are left, makes a segment of the rows of transactions, and
 * carries the other amounts over. */
static void fold_amounts(folding *job, size_t keep)
{
    ctr_changes list = {0};
    ctr_problem *problem = job->run.problem;
    size_t n = ctr_journal_count_amounts(job->tab);
    ctr_journal_list_amounts(job->tab, &list, problem);
    if (n > 0) fold_densest(job, &list, keep >= n ? list.n : list.n * keep / n);
    if (keep == 0) ctr_cache_clear_amounts(&job->tab->amounts);
    sqlite3_free(list.rows);
    if (problem->rc != SQLITE_OK) return;
    job->wrote = true;
    ctr_changes_make_segment(&job->run);
    ctr_batch_carry(job->tab, problem);
}

typedef enum fold_extent {
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
    if (extent != FOLD_SOME) {
        if (!is_folded(job->tab)) fold_amounts(job, 0);
        while (job->run.problem->rc == SQLITE_OK && ctr_changes_compact(&job->run))
            job->wrote = true;
    } else if (ctr_changes_compact(&job->run)) {
        job->wrote = true;
    } else {
        fold_amounts(job, keep < fit ? keep : fit);
    }
}

static int fold_table(ctr_tab *tab, fold_extent extent, ctr_problem *problem)
{
    folding job = {.tab = tab};
    ctr_conn *conn = tab->file->conn;
    unsigned nth = conn->ended;
    sqlite3_int64 last_rowid = sqlite3_last_insert_rowid(tab->db);
    if (!tab->file->checked) ctr_journal_read_again(tab, problem);
    if (ctr_journal_refresh(tab, problem) || ctr_batch_flush(tab, problem)) return problem->rc;
    if (is_folded(tab) && extent != FOLD_AND_COMPACT) return problem->rc;
    open_folding(&job, problem);
    if (problem->rc == SQLITE_OK) fold(&job, extent);
    close_folding(&job);
    if (problem->rc != SQLITE_OK) {
        if (job.wrote) ctr_conn_spoil(conn, nth);
        ctr_batch_abandon(tab);
    }
    sqlite3_set_last_insert_rowid(tab->db, last_rowid);
    return problem->rc;
}

int ctr_fold_table(ctr_tab *tab, ctr_problem *problem)
{
    return fold_table(tab, FOLD_ALL, problem);
}

int ctr_fold_optimize(ctr_tab *tab, ctr_problem *problem)
{
    return fold_table(tab, FOLD_AND_COMPACT, problem);
}

int ctr_fold_grown(ctr_file *file, ctr_problem *problem)
{
    for (ctr_tab *tab = file->touched; tab && problem->rc == SQLITE_OK; tab = tab->next_touched) {
        bool has_grown = tab->n_entries > CTR_JOURNAL_AMOUNTS || tab->n_rows > CTR_JOURNAL_ROWS;
        if (tab->appended && has_grown) fold_table(tab, FOLD_SOME, problem);
        ctr_problem_where(problem, "%s", tab->table);
    }
    return problem->rc;
}

int ctr_fold_file(ctr_file *file, ctr_problem *problem)
{
    ctr_catalog catalog = {0};
    sqlite3 *db = file->conn->db;
    ctr_catalog_read(&catalog, file, problem);
    for (int i = 0; i < catalog.n && problem->rc == SQLITE_OK; i++) {
        ctr_shape shape = {0};
        const char *name = catalog.entries[i].name;
        ctr_stored_read(&shape, db, file->schema, name, problem);
        ctr_tab *tab = ctr_tab_of(file, name, &shape, problem);
        if (tab) ctr_fold_table(tab, problem);
        if (tab) ctr_journal_drop(tab);
        ctr_problem_where(problem, "%s", name);
        ctr_shape_close(&shape);
    }
    ctr_catalog_close(&catalog);
    return problem->rc;
}
