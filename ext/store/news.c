/* store/news.c - appends what has changed, reads it, sweeps what is out of date. */
#include "store/news.h"

#include <stdlib.h>
#include <string.h>

#include "core/varint.h"
#include "store/pack.h"
#include "store/post.h"
#include "store/shape.h"

enum {
    NUMBER_SHIFT = 12,    /* a row of news is number << 12, or one of those behind it */
    CHUNK_IDS = 1000,     /* ids in one row, at most */
    MOST_BYTES = 1 << 20, /* that wait for the end of the transaction */
    BLOCK_IDS = 64,       /* asked for by one statement */
    SWEEP_IDS = 1000      /* looked at in one step of the sweep, or up to twice as many */
};

struct ctr_news {
    ctr_post *post;
    char *table;
    ctr_news *next;

    /* Ids that wait, as LEB128; and in chunks of one number each, where each ends. */
    uint8_t *bytes;
    size_t size, room;
    struct chunk {
        int64_t number;
        size_t end;
        int n;
    } * chunks;
    size_t n_chunks, chunks_room;

    int64_t first; /* the first number of this transaction */
    bool written;  /* some of it before its end */
    bool doubtful; /* whether the table is there: a savepoint was rolled back, a table dropped */
    bool lost;     /* ids of rows that may be there */
    sqlite3_stmt *append;
};

int64_t ctr_news_first(int64_t number)
{
    if (number > CTR_SEQUENCE_MAX) number = CTR_SEQUENCE_MAX + 1; /* beyond all that there are */
    return number * (1 << NUMBER_SHIFT);
}

/* ---- what waits ------------------------------------------------------------------------------ */

ctr_news *ctr_news_of(ctr_post *post, const char *table)
{
    for (ctr_news *news = post->news; news; news = news->next)
        if (sqlite3_stricmp(news->table, table) == 0) return news;
    ctr_news *news = sqlite3_malloc64(sizeof *news);
    char *name = sqlite3_mprintf("%s", table);
    if (!news || !name) {
        sqlite3_free(news);
        sqlite3_free(name);
        return NULL;
    }
    memset(news, 0, sizeof *news);
    news->post = post;
    news->table = name;
    news->next = post->news;
    post->news = news;
    return news;
}

static void forget_waiting(ctr_news *news)
{
    news->size = news->n_chunks = 0;
    news->first = 0;
    news->written = news->doubtful = news->lost = false;
}

void ctr_news_end(ctr_post *post)
{
    for (ctr_news *news = post->news; news; news = news->next) forget_waiting(news);
}

void ctr_news_rolled_back_to(ctr_post *post)
{
    for (ctr_news *news = post->news; news; news = news->next) {
        news->doubtful |= news->n_chunks > 0 || news->written;
        news->lost |= news->written;
    }
}

void ctr_news_release(ctr_post *post)
{
    for (ctr_news *news = post->news; news; news = news->next) {
        sqlite3_finalize(news->append);
        news->append = NULL;
    }
}

void ctr_news_close(ctr_post *post)
{
    ctr_news_release(post);
    while (post->news) {
        ctr_news *news = post->news;
        post->news = news->next;
        sqlite3_free(news->table);
        sqlite3_free(news->bytes);
        sqlite3_free(news->chunks);
        sqlite3_free(news);
    }
}

/* It may yet be taken back, by a savepoint or because it fails: then everything is looked for
 * again. */
void ctr_news_forget(ctr_post *post, const char *table)
{
    for (ctr_news *news = post->news; news; news = news->next) {
        if (sqlite3_stricmp(news->table, table) != 0) continue;
        news->size = news->n_chunks = 0;
        news->doubtful = news->lost = news->first != 0;
        sqlite3_finalize(news->append);
        news->append = NULL;
    }
}

static int make_room_for_one(ctr_news *news, ctr_problem *problem)
{
    if (news->size + CTR_VARINT_MAX > news->room) {
        size_t room = 2 * news->room + 64;
        uint8_t *bytes = sqlite3_realloc64(news->bytes, room);
        if (!bytes) return ctr_problem_nomem(problem);
        news->bytes = bytes;
        news->room = room;
    }
    if (news->n_chunks == news->chunks_room) {
        size_t room = 2 * news->chunks_room + 1;
        struct chunk *chunks = sqlite3_realloc64(news->chunks, room * sizeof *chunks);
        if (!chunks) return ctr_problem_nomem(problem);
        news->chunks = chunks;
        news->chunks_room = room;
    }
    return problem->rc;
}

void ctr_news_add(ctr_news *news, int64_t number, int64_t rowid)
{
    struct chunk *last = news->n_chunks ? &news->chunks[news->n_chunks - 1] : NULL;
    if (!last || last->number != number || last->n == CHUNK_IDS) {
        last = &news->chunks[news->n_chunks++];
        *last = (struct chunk){.number = number};
    }
    if (!news->first || number < news->first) news->first = number;
    uint8_t *end = ctr_varint_put(news->bytes + news->size, ctr_varint_zigzag(rowid));
    news->size = last->end = (size_t)(end - news->bytes);
    last->n++;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int add_id(ctr_ids *ids, int64_t id, ctr_problem *problem)
{
    if (ids->n == ids->room) {
        size_t room = 2 * ids->room + 64;
        int64_t *more = sqlite3_realloc64(ids->ids, room * sizeof *more);
        if (!more) return ctr_problem_nomem(problem);
        ids->ids = more;
        ids->room = room;
    }
    ids->ids[ids->n++] = id;
    return problem->rc;
}

/* Appends the ids in column 1 of a row of news. */
static void take_ids(ctr_ids *ids, sqlite3_stmt *row, const char *table, ctr_problem *problem)
{
    const uint8_t *at = sqlite3_column_blob(row, 1);
    const uint8_t *end = at ? at + sqlite3_column_bytes(row, 1) : NULL;
    if (sqlite3_column_type(row, 1) != SQLITE_BLOB)
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "%s_news is damaged: no BLOB", table);
    while (problem->rc == SQLITE_OK && at < end) {
        uint64_t id;
        ctr_status status = ctr_varint_take(&at, end, &id);
        if (status != CTR_OK)
            ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "%s_news is damaged: an id %s", table,
                            ctr_status_text(status));
        else
            add_id(ids, ctr_varint_unzigzag(id), problem);
    }
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void sort_ids(ctr_ids *ids)
{
    size_t n = 0;
    if (ids->n > 1) qsort(ids->ids, ids->n, sizeof *ids->ids, by_value);
    for (size_t i = 0; i < ids->n; i++)
        if (n == 0 || ids->ids[i] != ids->ids[n - 1]) ids->ids[n++] = ids->ids[i];
    ids->n = n;
}

int ctr_news_read(ctr_ids *ids, sqlite3 *db, const char *schema, const char *table, int64_t number,
                  ctr_problem *problem)
{
    *ids = (ctr_ids){0};
    ctr_run run = ctr_run_on(db, schema, table, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_NEWS_SINCE);
    if (row) sqlite3_bind_int64(row, 1, ctr_news_first(number));
    while (ctr_run_row(&run, row)) take_ids(ids, row, table, problem);
    sqlite3_finalize(row);
    sort_ids(ids);
    return problem->rc;
}

/* ---- the sweep ------------------------------------------------------------------------------- */

/* What one step of the sweep looks at: rows of news behind `from`, up to `last`. */
typedef struct sweep {
    ctr_run *run;
    const char *table;
    int64_t from, last;
    bool reached_end;
    size_t seen, kept;
    ctr_packed ids; /* those that are kept, as LEB128 */
} sweep;

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

/* NEWS_HOLDS for up to BLOCK_IDS rows; parameters: the number, then the ids. */
static sqlite3_stmt *prepare_holds(ctr_run *run)
{
    sqlite3_str *list = sqlite3_str_new(NULL);
    for (int i = 0; i < BLOCK_IDS; i++) sqlite3_str_appendf(list, i ? ", ?%d" : "?%d", i + 2);
    char *values = sqlite3_str_finish(list);
    if (!values) ctr_problem_nomem(run->problem);
    run->slots.values = values;
    sqlite3_stmt *holds = ctr_run_prepare(run, CTR_SQL_NEWS_HOLDS);
    run->slots.values = NULL;
    sqlite3_free(values);
    return holds;
}

static void keep_id(sweep *work, int64_t id, ctr_problem *problem)
{
    uint8_t *out = ctr_pack_room(&work->ids, CTR_VARINT_MAX, problem);
    if (!out) return;
    work->ids.size = (size_t)(ctr_varint_put(out, ctr_varint_zigzag(id)) - work->ids.bytes);
    work->kept++;
}

/* Keeps those ids of a row of news that still hold; asks for many at once. */
static void keep_ids(sweep *work, sqlite3_stmt *holds, const ctr_ids *ids, int64_t number,
                     ctr_problem *problem)
{
    for (size_t from = 0; from < ids->n && problem->rc == SQLITE_OK; from += BLOCK_IDS) {
        sqlite3_clear_bindings(holds);
        sqlite3_bind_int64(holds, 1, number);
        for (size_t i = 0; i < BLOCK_IDS && from + i < ids->n; i++)
            sqlite3_bind_int64(holds, (int)i + 2, ids->ids[from + i]);
        while (ctr_run_row(work->run, holds))
            keep_id(work, sqlite3_column_int64(holds, 0), problem);
        sqlite3_reset(holds);
    }
}

/* The newest number is left alone, for its rows are yet to come. */
static void look_at_news(sweep *work, int64_t newest, ctr_problem *problem)
{
    sqlite3_stmt *row = ctr_run_prepare(work->run, CTR_SQL_NEWS_SINCE);
    sqlite3_stmt *holds = prepare_holds(work->run);
    if (row) sqlite3_bind_int64(row, 1, work->from + 1);
    work->reached_end = true;
    while (ctr_run_row(work->run, row)) {
        ctr_ids ids = {0};
        int64_t key = sqlite3_column_int64(row, 0);
        if (key >= ctr_news_first(newest)) break;
        take_ids(&ids, row, work->table, problem);
        if (work->seen > 0 && work->seen + ids.n > 2 * SWEEP_IDS) {
            work->reached_end = false;
            sqlite3_free(ids.ids);
            break;
        }
        if (problem->rc == SQLITE_OK) keep_ids(work, holds, &ids, key >> NUMBER_SHIFT, problem);
        work->seen += ids.n;
        work->last = key;
        sqlite3_free(ids.ids);
    }
    sqlite3_finalize(holds);
    sqlite3_finalize(row);
}

static void put_news(ctr_run *run, int64_t key, const uint8_t *bytes, size_t size)
{
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_NEWS_PUT);
    if (row) sqlite3_bind_int64(row, 1, key);
    if (row) sqlite3_bind_blob64(row, 2, bytes, size, SQLITE_STATIC);
    ctr_run_row(run, row);
    sqlite3_finalize(row);
}

/* What is kept moves to the last of the rows, so it has a higher number than its own. */
static void write_sweep(sweep *work)
{
    uint8_t cursor[CTR_VARINT_MAX];
    if (work->seen > 0) {
        sqlite3_stmt *row = ctr_run_prepare(work->run, CTR_SQL_NEWS_REMOVE);
        if (row) sqlite3_bind_int64(row, 1, work->from + 1);
        if (row) sqlite3_bind_int64(row, 2, work->last);
        ctr_run_row(work->run, row);
        sqlite3_finalize(row);
    }
    if (work->kept > 0) put_news(work->run, work->last, work->ids.bytes, work->ids.size);
    int64_t next = work->reached_end ? 0 : work->last;
    uint8_t *end = ctr_varint_put(cursor, ctr_varint_zigzag(next));
    put_news(work->run, 0, cursor, (size_t)(end - cursor));
}

/* Returns whether it was worth it: a quarter of what it saw was out of date. */
static bool sweep_once(ctr_run *run, const char *table, int64_t newest, ctr_problem *problem)
{
    sweep work = {.run = run, .table = table, .from = read_cursor(run)};
    look_at_news(&work, newest, problem);
    if (problem->rc == SQLITE_OK) write_sweep(&work);
    sqlite3_free(work.ids.bytes);
    return problem->rc == SQLITE_OK && 4 * (work.seen - work.kept) >= work.seen && work.seen > 0;
}

/* Three ids are looked at for two that are appended; where few are, by chance. */
static void sweep_for(ctr_news *news, size_t appended, int64_t newest, ctr_problem *problem)
{
    uint32_t chance;
    ctr_run run = ctr_run_on(news->post->guard->db, news->post->schema, news->table, problem);
    sqlite3_randomness(sizeof chance, &chance);
    size_t steps = (3 * appended + chance % (2 * SWEEP_IDS)) / (2 * SWEEP_IDS);
    while (steps-- > 0 && sweep_once(&run, news->table, newest, problem)) continue;
}

/* ---- writing down ---------------------------------------------------------------------------- */

static int append_chunk(ctr_news *news, const struct chunk *chunk, size_t begin,
                        ctr_problem *problem)
{
    ctr_post *post = news->post;
    sqlite3_stmt *row =
        ctr_guard_keep(post, &news->append, news->table, CTR_SQL_NEWS_APPEND, problem);
    if (!row) return problem->rc;
    sqlite3_bind_int64(row, 1, ctr_news_first(chunk->number));
    sqlite3_bind_blob64(row, 2, news->bytes + begin, chunk->end - begin, SQLITE_STATIC);
    ctr_problem_sqlite(problem, post->guard->db, sqlite3_step(row));
    sqlite3_reset(row);
    sqlite3_clear_bindings(row);
    ctr_guard_keep_no_more(post);
    return problem->rc;
}

/* The host's last row id stays what it was. */
static int write_down(ctr_news *news, ctr_problem *problem)
{
    size_t begin = 0, n = 0;
    int64_t newest = 0;
    sqlite3 *db = news->post->guard->db;
    sqlite3_int64 last_rowid = sqlite3_last_insert_rowid(db);
    for (size_t i = 0; i < news->n_chunks; i++) {
        const struct chunk *chunk = &news->chunks[i];
        if (append_chunk(news, chunk, begin, problem)) return problem->rc;
        begin = chunk->end;
        newest = chunk->number;
        n += (size_t)chunk->n;
    }
    news->size = news->n_chunks = 0;
    news->written = true;
    sweep_for(news, n, newest, problem);
    sqlite3_set_last_insert_rowid(db, last_rowid);
    return problem->rc;
}

int ctr_news_expect(ctr_news *news, ctr_problem *problem)
{
    if (problem->rc == SQLITE_OK && news->size > MOST_BYTES) write_down(news, problem);
    return problem->rc == SQLITE_OK ? make_room_for_one(news, problem) : problem->rc;
}

/* Ids that were written down and rolled back are found by the numbers of their rows. */
static void find_lost(ctr_news *news, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(news->post->guard->db, news->post->schema, news->table, problem);
    int64_t number = news->post->identity.sequence.number;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_NEWS_RESCAN);
    if (row) sqlite3_bind_int64(row, 1, news->first);
    while (ctr_run_row(&run, row))
        if (make_room_for_one(news, problem) == SQLITE_OK)
            ctr_news_add(news, number, sqlite3_column_int64(row, 0));
    sqlite3_finalize(row);
    news->lost = problem->rc != SQLITE_OK;
}

/* A table that was created within what has been rolled back has no news. */
static void settle_doubt(ctr_news *news, ctr_problem *problem)
{
    const ctr_post *post = news->post;
    char *stored = sqlite3_mprintf("%s_news", news->table);
    if (!stored) ctr_problem_nomem(problem);
    bool there = problem->rc == SQLITE_OK &&
                 ctr_shape_is_table(post->guard->db, post->schema, stored, problem);
    if (problem->rc == SQLITE_OK && !there) forget_waiting(news);
    if (problem->rc == SQLITE_OK) news->doubtful = false;
    sqlite3_free(stored);
}

/* Nobody is told of the end of a transaction whose one table, in an attached file, was dropped. */
static bool is_written(sqlite3 *db, const char *schema)
{
    if (!ctr_run_has_schema(db, schema)) return false;
#if SQLITE_VERSION_NUMBER >= 3034000
    if (sqlite3_libversion_number() >= 3034000)
        return sqlite3_txn_state(db, schema) == SQLITE_TXN_WRITE;
#endif
    return true;
}

int ctr_news_flush(ctr_post *post, ctr_problem *problem)
{
    if (post->news && !is_written(post->guard->db, post->schema)) ctr_news_end(post);
    for (ctr_news *news = post->news; news && problem->rc == SQLITE_OK; news = news->next) {
        if (news->doubtful) settle_doubt(news, problem);
        if (news->lost && ctr_watch_merge(post, problem)) find_lost(news, problem);
        if (problem->rc == SQLITE_OK && news->n_chunks > 0) write_down(news, problem);
    }
    return problem->rc;
}

/* ---- checking -------------------------------------------------------------------------------- */

/* A row id and the highest number under which it is in the news. */
typedef struct known_number {
    int64_t id, number;
} known_number;

static int by_id(const void *a, const void *b)
{
    const known_number *x = a, *y = b;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static known_number *read_known(ctr_run *run, const char *table, size_t *n, ctr_problem *problem)
{
    known_number *all = NULL;
    *n = 0;
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_NEWS_SINCE);
    if (row) sqlite3_bind_int64(row, 1, 1);
    while (ctr_run_row(run, row)) {
        ctr_ids ids = {0};
        take_ids(&ids, row, table, problem);
        known_number *more = sqlite3_realloc64(all, (*n + ids.n + 1) * sizeof *more);
        if (!more) ctr_problem_nomem(problem);
        if (more) all = more;
        for (size_t i = 0; more && i < ids.n; i++)
            all[(*n)++] = (known_number){ids.ids[i], sqlite3_column_int64(row, 0) >> NUMBER_SHIFT};
        sqlite3_free(ids.ids);
    }
    sqlite3_finalize(row);
    if (*n > 1) qsort(all, *n, sizeof *all, by_id);
    return all;
}

int ctr_news_check(sqlite3 *db, const char *schema, const char *table, ctr_problem *problem)
{
    size_t n, at = 0;
    ctr_run run = ctr_run_on(db, schema, table, problem);
    known_number *all = read_known(&run, table, &n, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_NEWS_NUMBERS);
    while (ctr_run_row(&run, row)) {
        int64_t id = sqlite3_column_int64(row, 0), number = sqlite3_column_int64(row, 1);
        while (at < n && (all[at].id < id || (all[at].id == id && all[at].number < number))) at++;
        if (at == n || all[at].id != id)
            ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                            "row %lld changed with number %lld and is not in %s_news",
                            (long long)id, (long long)number, table);
    }
    sqlite3_finalize(row);
    sqlite3_free(all);
    return problem->rc;
}
