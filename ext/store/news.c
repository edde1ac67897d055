/* store/news.c - appends what has changed, and reads it. */
#include "store/news.h"

#include <stdlib.h>
#include <string.h>

#include "core/varint.h"
#include "store/post.h"
#include "store/shape.h"
#include "store/sweep.h"

enum {
    NUMBER_SHIFT = 12,   /* a row of news is number << 12, or one of those behind it */
    CHUNK_IDS = 1000,    /* ids in one row, at most */
    MOST_BYTES = 1 << 20 /* that wait for the end of the transaction */
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

bool ctr_news_has_changes(const ctr_post *post, const char *table)
{
    for (const ctr_news *news = post->news; news; news = news->next)
        if (news->first != 0 && sqlite3_stricmp(news->table, table) == 0) return true;
    return false;
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

int ctr_news_take_dated(ctr_dated_ids *to, sqlite3_stmt *row, const char *table,
                        ctr_problem *problem)
{
    ctr_ids ids = {0};
    int64_t number = sqlite3_column_int64(row, 0) >> NUMBER_SHIFT;
    take_ids(&ids, row, table, problem);
    if (to->n + ids.n > to->room) {
        size_t room = 2 * to->room + ids.n;
        ctr_dated_id *more = sqlite3_realloc64(to->ids, room * sizeof *more);
        if (!more) ctr_problem_nomem(problem);
        if (more) to->ids = more;
        if (more) to->room = room;
    }
    for (size_t i = 0; i < ids.n && problem->rc == SQLITE_OK; i++)
        to->ids[to->n++] = (ctr_dated_id){ids.ids[i], number};
    sqlite3_free(ids.ids);
    return problem->rc;
}

static int by_id(const void *a, const void *b)
{
    const ctr_dated_id *x = a, *y = b;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

void ctr_news_sort_dated(ctr_dated_ids *dated)
{
    size_t n = 0;
    ctr_dated_id *ids = dated->ids;
    if (dated->n > 1) qsort(ids, dated->n, sizeof *ids, by_id);
    for (size_t i = 0; i < dated->n; i++) {
        if (n > 0 && ids[n - 1].id == ids[i].id) n--;
        ids[n++] = ids[i];
    }
    dated->n = n;
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
    ctr_run run = ctr_run_on(db, news->post->schema, news->table, problem);
    ctr_sweep_news(&run, n, newest);
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

static void read_dated(ctr_run *run, ctr_dated_ids *all, ctr_problem *problem)
{
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_NEWS_SINCE);
    if (row) sqlite3_bind_int64(row, 1, 1);
    while (ctr_run_row(run, row)) ctr_news_take_dated(all, row, run->slots.table, problem);
    sqlite3_finalize(row);
    ctr_news_sort_dated(all);
}

int ctr_news_check(sqlite3 *db, const char *schema, const char *table, ctr_problem *problem)
{
    size_t at = 0;
    ctr_dated_ids all = {0};
    ctr_run run = ctr_run_on(db, schema, table, problem);
    read_dated(&run, &all, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_NEWS_NUMBERS);
    while (ctr_run_row(&run, row)) {
        int64_t id = sqlite3_column_int64(row, 0), number = sqlite3_column_int64(row, 1);
        while (at < all.n && all.ids[at].id < id) at++;
        if (at == all.n || all.ids[at].id != id || all.ids[at].number < number)
            ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                            "row %lld changed with number %lld and is not in %s_news",
                            (long long)id, (long long)number, table);
    }
    sqlite3_finalize(row);
    sqlite3_free(all.ids);
    return problem->rc;
}
