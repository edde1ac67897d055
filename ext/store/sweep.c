/* store/sweep.c - looks through the news of a table in steps. */
#include "store/sweep.h"

#include "core/varint.h"
#include "store/news.h"
#include "store/pack.h"

enum {
    LEAST_IDS = 2000,       /* that a step may look at */
    MOST_IDS = 1 << 15,     /* the same of a large table: some 50 ms in one commit */
    LONGEST_LIST = 1 << 20, /* more bytes than so many ids take */
    NEAR = 8                /* rows so near to each other are read at one go */
};

/* What one step looks at: rows of news behind `from`, up to `last`. */
typedef struct sweep_step {
    ctr_run *run;
    size_t most; /* ids */
    int64_t from, last;
    bool reached_end;
    size_t seen, kept;
    ctr_dated_ids ids;
    ctr_packed packed; /* those that are kept, as LEB128 */
} sweep_step;

static int64_t read_cursor(ctr_run *run)
{
    int64_t from = 0;
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_NEWS_CURSOR);
    if (ctr_run_row(run, row)) {
        const uint8_t *at = sqlite3_column_blob(row, 0);
        uint64_t n = 0;
        if (at && ctr_varint_take(&at, at + sqlite3_column_bytes(row, 0), &n) == CTR_OK)
            from = ctr_varint_unzigzag(n);
    }
    sqlite3_finalize(row);
    return from > 0 && from < ctr_news_first(CTR_SEQUENCE_MAX) ? from : 0;
}

/* ---- looking --------------------------------------------------------------------------------- */

/* A row of news that is too much for the step is left for the next one, unless it is the first. */
static bool take_news(sweep_step *step, sqlite3_stmt *row)
{
    size_t before = step->ids.n;
    ctr_news_take_dated(&step->ids, row, step->run->slots.table, step->run->problem);
    if (before > 0 && step->ids.n > step->most) {
        step->ids.n = before;
        return false;
    }
    step->last = sqlite3_column_int64(row, 0);
    return true;
}

/* The newest number is left alone, for its rows are yet to come. */
static void look_at_news(sweep_step *step, int64_t newest)
{
    sqlite3_stmt *row = ctr_run_prepare(step->run, CTR_SQL_NEWS_SINCE);
    if (row) sqlite3_bind_int64(row, 1, step->from + 1);
    step->reached_end = true;
    while (step->reached_end && ctr_run_row(step->run, row)) {
        if (sqlite3_column_int64(row, 0) >= ctr_news_first(newest)) break;
        step->reached_end = take_news(step, row);
    }
    sqlite3_finalize(row);
    step->seen = step->ids.n;
    ctr_news_sort_dated(&step->ids);
}

static void keep_id(sweep_step *step, int64_t id)
{
    uint8_t *out = ctr_pack_room(&step->packed, CTR_VARINT_MAX, step->run->problem);
    if (!out) return;
    step->packed.size = (size_t)(ctr_varint_put(out, ctr_varint_zigzag(id)) - step->packed.bytes);
    step->kept++;
}

/* Keeps those of some ids that stand near to each other whose rows have not changed since. */
static void keep_those(sweep_step *step, sqlite3_stmt *rows, const ctr_dated_id *first,
                       const ctr_dated_id *last)
{
    sqlite3_bind_int64(rows, 1, first->id);
    sqlite3_bind_int64(rows, 2, last->id);
    while (ctr_run_row(step->run, rows)) {
        int64_t id = sqlite3_column_int64(rows, 0);
        while (first < last && first->id < id) first++;
        if (first->id == id && sqlite3_column_int64(rows, 1) <= first->number) keep_id(step, id);
    }
    sqlite3_reset(rows);
}

static void look_at_rows(sweep_step *step)
{
    size_t n = step->ids.n, end;
    const ctr_dated_id *ids = step->ids.ids;
    sqlite3_stmt *rows = ctr_run_prepare(step->run, CTR_SQL_NEWS_ROWS);
    for (size_t i = 0; i < n && step->run->problem->rc == SQLITE_OK; i = end) {
        end = i + 1;
        while (end < n && (uint64_t)ids[end].id - (uint64_t)ids[end - 1].id <= NEAR) end++;
        keep_those(step, rows, &ids[i], &ids[end - 1]);
    }
    sqlite3_finalize(rows);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_news(ctr_run *run, int64_t key, const uint8_t *bytes, size_t size)
{
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_NEWS_PUT);
    if (row) sqlite3_bind_int64(row, 1, key);
    if (row)
        ctr_problem_sqlite(run->problem, run->db,
                           sqlite3_bind_blob64(row, 2, bytes, size, SQLITE_STATIC));
    ctr_run_row(run, row);
    sqlite3_finalize(row);
}

static void remove_news(ctr_run *run, int64_t first, int64_t last)
{
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_NEWS_REMOVE);
    if (row) sqlite3_bind_int64(row, 1, first);
    if (row) sqlite3_bind_int64(row, 2, last);
    ctr_run_row(run, row);
    sqlite3_finalize(row);
}

/* What is kept moves to the last of the rows, so it has a higher number than its own. It is written
 * before the others are removed, for an interrupt may come in between, and be no end of the
 * transaction. */
static void write_news(sweep_step *step)
{
    uint8_t cursor[CTR_VARINT_MAX];
    bool keeps = step->kept > 0;
    if (keeps) put_news(step->run, step->last, step->packed.bytes, step->packed.size);
    if (step->seen > 0) remove_news(step->run, step->from + 1, step->last - keeps);
    int64_t next = step->reached_end ? 0 : step->last;
    uint8_t *end = ctr_varint_put(cursor, ctr_varint_zigzag(next));
    put_news(step->run, 0, cursor, (size_t)(end - cursor));
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Returns whether it was worth it: a quarter of what it saw was out of date. */
static bool sweep_once(ctr_run *run, size_t most, int64_t newest)
{
    sweep_step step = {.run = run, .most = most, .from = read_cursor(run)};
    look_at_news(&step, newest);
    look_at_rows(&step);
    if (run->problem->rc == SQLITE_OK) write_news(&step);
    sqlite3_free(step.ids.ids);
    sqlite3_free(step.packed.bytes);
    bool worth = 4 * (step.seen - step.kept) >= step.seen && step.seen > 0;
    return worth && run->problem->rc == SQLITE_OK;
}

/* Half the highest row id, which is the number of rows or more, for SQLite counts them from 1; the
 * bounds do where they were set by hand. A connection that takes only short BLOBs writes short
 * ones. */
static size_t most_of_step(ctr_run *run)
{
    int64_t half = 0;
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_NEWS_LAST_ROW);
    if (ctr_run_row(run, row)) half = sqlite3_column_int64(row, 0) / 2;
    sqlite3_finalize(row);
    bool takes_long = sqlite3_limit(run->db, SQLITE_LIMIT_LENGTH, -1) >= LONGEST_LIST;
    if (half < LEAST_IDS || !takes_long) return LEAST_IDS;
    return half > MOST_IDS ? MOST_IDS : (size_t)half;
}

/* Steps are due in proportion to what was appended, the rest of a division by chance. How large one
 * is costs a query, so chance first tells whether one of the smallest would be due. */
void ctr_sweep_news(ctr_run *run, size_t appended, int64_t newest)
{
    uint32_t chance[2];
    size_t looks = 3 * appended;
    sqlite3_randomness(sizeof chance, chance);
    if (looks + chance[0] % LEAST_IDS < LEAST_IDS) return;
    size_t most = most_of_step(run);
    if (looks < LEAST_IDS) looks = LEAST_IDS;
    size_t steps = (looks + chance[1] % most) / most;
    while (steps-- > 0 && sweep_once(run, most, newest)) continue;
}
