/* functions/cells.c - SQL functions of cells, whose results depend on their arguments alone, and
 * the conversion of counter contexts of Cassandra and ScyllaDB. docs/reference.md lists them.
 *
 * Several contexts are versions of one counter: of nodes or of SSTables. NULL contexts are skipped;
 * without any context the result is NULL, as it is for a NULL cell. A context has no life: a
 * deleted cell cannot be converted, and the life of a live one is lost. */
#include "functions/functions.h"

#include <stdlib.h>
#include <string.h>

#include "counter.h"
#include "file/uuid.h"

/* Makes `size` bytes of `out`, from sqlite3_malloc64, the result; 0 bytes are the untouched
 * counter, NULL. */
static void result_cell(sqlite3_context *ctx, uint8_t *out, size_t size)
{
    if (size > 0) {
        sqlite3_result_blob64(ctx, out, size, sqlite3_free);
        return;
    }
    sqlite3_free(out);
    sqlite3_result_null(ctx);
}

/* Allocates at least one byte, so that NULL always means that there is no memory. */
static uint8_t *buffer_new(sqlite3_context *ctx, size_t size)
{
    uint8_t *buffer = sqlite3_malloc64(size + 1);
    if (!buffer) sqlite3_result_error_nomem(ctx);
    return buffer;
}

bool ctr_arg_cell(sqlite3_context *ctx, const char *function, sqlite3_value *value, ctr_cell *cell)
{
    *cell = ctr_cell_untouched();
    if (sqlite3_value_type(value) == SQLITE_NULL) return true;
    if (sqlite3_value_type(value) != SQLITE_BLOB)
        return ctr_arg_refuse(ctx, function, "the cell", "a BLOB or NULL", value);
    const uint8_t *bytes = sqlite3_value_blob(value);
    size_t size = (size_t)sqlite3_value_bytes(value);
    if (!bytes && size > 0) {
        sqlite3_result_error_nomem(ctx);
        return false;
    }
    ctr_status status = ctr_cell_open(cell, bytes, size);
    if (status == CTR_OK) return true;

    ctr_problem problem;
    ctr_problem_begin(sqlite3_user_data(ctx), &problem);
    char *shown = ctr_problem_describe_value(value);
    if (!shown) ctr_problem_nomem(sqlite3_user_data(ctx));
    ctr_problem_set(sqlite3_user_data(ctx), SQLITE_ERROR, "the cell %s: %s",
                    ctr_status_text(status), shown);
    sqlite3_free(shown);
    return ctr_arg_problem(ctx, function, &problem);
}

static void fn_value(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    ctr_cell cell;
    int64_t value = 0;
    if (!ctr_arg_cell(ctx, "counter_value", argv[0], &cell)) return;
    if (!ctr_cell_is_live(&cell)) return;
    if (!ctr_arg_status(ctx, "counter_value", ctr_cell_value(&cell, &value))) return;
    sqlite3_result_int64(ctx, value);
}

static void fn_merge(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    if (argc < 2) {
        ctr_arg_error(
            ctx, "counter_merge: it takes two or more cells, or one column to aggregate, not %d",
            argc);
        return;
    }
    size_t bound = 0, size = 0;
    for (int i = 0; i < argc; i++) bound += (size_t)sqlite3_value_bytes(argv[i]);
    uint8_t *merged = buffer_new(ctx, bound);
    uint8_t *next = merged ? buffer_new(ctx, bound) : NULL;
    bool fine = next != NULL;
    ctr_cell cell, so_far = ctr_cell_untouched();
    for (int i = 0; i < argc && fine; i++) {
        fine = ctr_arg_cell(ctx, "counter_merge", argv[i], &cell);
        if (!fine || ctr_cell_is_untouched(&cell)) continue;
        size = ctr_cell_merge(&so_far, &cell, next);
        uint8_t *spare = merged;
        merged = next;
        next = spare;
        ctr_cell_open(&so_far, merged, size);
    }
    sqlite3_free(next);
    if (fine)
        result_cell(ctx, merged, size);
    else
        sqlite3_free(merged);
}

/* The cell of a deleted or reset counter is a header alone. */
static void new_life(sqlite3_context *ctx, const char *function, sqlite3_value *value,
                     ctr_status (*next)(const ctr_cell *, uint8_t *, size_t *))
{
    ctr_cell cell;
    uint8_t out[CTR_CELL_HEADER_MAX];
    size_t size = 0;
    if (!ctr_arg_cell(ctx, function, value, &cell)) return;
    if (!ctr_arg_status(ctx, function, next(&cell, out, &size))) return;
    sqlite3_result_blob64(ctx, out, size, SQLITE_TRANSIENT);
}

static void fn_delete(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    new_life(ctx, "counter_delete", argv[0], ctr_cell_delete);
}

static void fn_reset(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    new_life(ctx, "counter_reset", argv[0], ctr_cell_reset);
}

static void fn_is_deleted(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    ctr_cell cell;
    if (!ctr_arg_cell(ctx, "counter_is_deleted", argv[0], &cell)) return;
    if (!ctr_cell_is_untouched(&cell)) sqlite3_result_int(ctx, ctr_cell_is_deleted(&cell));
}

static void fn_compare(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    static const char *const WORDS[] = {[CTR_EQUAL] = "equal",
                                        [CTR_GREATER] = "greater",
                                        [CTR_LESS] = "less",
                                        [CTR_DISJOINT] = "disjoint"};
    ctr_cell a, b;
    if (!ctr_arg_cell(ctx, "counter_compare", argv[0], &a)) return;
    if (!ctr_arg_cell(ctx, "counter_compare", argv[1], &b)) return;
    sqlite3_result_text(ctx, WORDS[ctr_cell_compare(&a, &b)], -1, SQLITE_STATIC);
}

static void fn_diff(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    ctr_cell cell, known;
    if (!ctr_arg_cell(ctx, "counter_diff", argv[0], &cell)) return;
    if (!ctr_arg_cell(ctx, "counter_diff", argv[1], &known)) return;
    uint8_t *out = buffer_new(ctx, cell.size);
    if (out) result_cell(ctx, out, ctr_cell_diff(&cell, &known, out));
}

static void fn_digest(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    ctr_cell cell;
    if (!ctr_arg_cell(ctx, "counter_digest", argv[0], &cell)) return;
    if (ctr_cell_is_untouched(&cell)) return;
    uint8_t digest[CTR_ID_SIZE];
    ctr_uuid_of_bytes(cell.bytes, cell.size, digest);
    ctr_arg_result_id(ctx, digest);
}

/* What the replica of a shard has granted, if anything. */
static void append_grants(sqlite3_str *out, const ctr_cell *cell, const uint8_t *from)
{
    ctr_grant grant;
    int n = 0;
    for (size_t at = 0; ctr_cell_next_grant(cell, &at, &grant);) {
        char id[CTR_ID_TEXT_SIZE];
        if (memcmp(grant.from, from, CTR_ID_SIZE) != 0) continue;
        ctr_id_to_text(grant.to, id);
        sqlite3_str_appendf(out, "%s\"%s\":%lld", n++ == 0 ? ",\"grants\":{" : ",", id,
                            (long long)grant.n);
    }
    if (n > 0) sqlite3_str_appendchar(out, 1, '}');
}

void ctr_cell_append_json(sqlite3_str *out, const ctr_cell *cell)
{
    int64_t value = 0;
    bool has_value = ctr_cell_value(cell, &value) == CTR_OK;
    sqlite3_str_appendf(out, "{\"life\":%lld", (long long)cell->life);
    if (ctr_cell_is_live(cell)) {
        if (has_value)
            sqlite3_str_appendf(out, ",\"value\":%lld,\"shards\":[", (long long)value);
        else
            sqlite3_str_appendall(out, ",\"value\":null,\"shards\":[");
        ctr_shard shard;
        const char *comma = "";
        for (size_t at = 0; ctr_cell_next(cell, &at, &shard); comma = ",") {
            char id[CTR_ID_TEXT_SIZE];
            ctr_id_to_text(shard.id, id);
            sqlite3_str_appendf(out, "%s{\"id\":\"%s\",\"clock\":%lld,\"value\":%lld", comma, id,
                                (long long)shard.clock, (long long)shard.value);
            append_grants(out, cell, shard.id);
            sqlite3_str_appendchar(out, 1, '}');
        }
        sqlite3_str_appendchar(out, 1, ']');
    }
    sqlite3_str_appendchar(out, 1, '}');
}

void ctr_arg_result_built(sqlite3_context *ctx, sqlite3_str *out)
{
    int rc = sqlite3_str_errcode(out);
    char *text = sqlite3_str_finish(out);
    if (rc == SQLITE_OK)
        sqlite3_result_text(ctx, text, -1, sqlite3_free);
    else if (rc == SQLITE_TOOBIG)
        sqlite3_result_error_toobig(ctx);
    else
        sqlite3_result_error_nomem(ctx);
}

static void fn_json(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    ctr_cell cell;
    if (!ctr_arg_cell(ctx, "counter_json", argv[0], &cell)) return;
    if (ctr_cell_is_untouched(&cell)) return;
    sqlite3_str *out = sqlite3_str_new(sqlite3_context_db_handle(ctx));
    ctr_cell_append_json(out, &cell);
    ctr_arg_result_built(ctx, out);
}

static void fn_version(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3_result_text(ctx, COUNTER_VERSION, -1, SQLITE_STATIC);
}

/* ---- contexts of Cassandra and ScyllaDB ------------------------------------------------------ */

static const char FROM[] = "counter_from_cassandra", TO[] = "counter_to_cassandra";

/* Shards that were merged so far, and room for the next step. */
typedef struct merging {
    ctr_context_shard *shards, *spare;
    size_t n, room;
} merging;

/* Merges one argument into `all`. */
static bool take_context(sqlite3_context *ctx, merging *all, sqlite3_value *value, int i)
{
    if (sqlite3_value_type(value) == SQLITE_NULL) return true;
    if (sqlite3_value_type(value) != SQLITE_BLOB)
        return ctr_arg_refuse(ctx, FROM, "a context", "a BLOB", value);
    const uint8_t *bytes = sqlite3_value_blob(value);
    size_t size = (size_t)sqlite3_value_bytes(value), found = 0;
    size_t more = ctr_context_room(size) + 1, room = all->n + more;
    if (room > all->room) {
        ctr_context_shard *shards = sqlite3_realloc64(all->shards, 2 * room * sizeof *shards);
        if (shards) all->shards = shards;
        ctr_context_shard *spare = sqlite3_realloc64(all->spare, 2 * room * sizeof *spare);
        if (spare) all->spare = spare;
        if (shards && spare) all->room = 2 * room;
    }
    ctr_context_shard *read = room <= all->room ? sqlite3_malloc64(more * sizeof *read) : NULL;
    if (!read || (!bytes && size > 0)) { /* no memory, perhaps for a zeroblob */
        sqlite3_free(read);
        sqlite3_result_error_nomem(ctx);
        return false;
    }
    ctr_context_status status = ctr_context_open(bytes, size, read, &found);
    all->n = ctr_context_merge(all->shards, all->n, read, found, all->spare);
    sqlite3_free(read);
    ctr_context_shard *merged = all->spare;
    all->spare = all->shards;
    all->shards = merged;
    if (status != CTR_CONTEXT_OK)
        ctr_arg_error(ctx, "%s: context %d %s", FROM, i + 1, ctr_context_text(status));
    return status == CTR_CONTEXT_OK;
}

static void result_shards(sqlite3_context *ctx, const merging *all)
{
    if (all->n == 0) return;
    ctr_shard *shards = sqlite3_malloc64(all->n * sizeof *shards);
    uint8_t *out = sqlite3_malloc64(CTR_CELL_HEADER_MAX + all->n * CTR_SHARD_MAX);
    size_t fits = 0; /* the number of shards without an overflow */
    while (shards && out && fits < all->n &&
           ctr_context_shard_of(&all->shards[fits], &shards[fits]))
        fits++;
    if (!shards || !out) {
        sqlite3_result_error_nomem(ctx);
    } else if (fits < all->n) {
        char id[CTR_ID_TEXT_SIZE];
        ctr_id_to_text(shards[fits].id, id);
        ctr_arg_error(ctx, "%s: the local shards of %s add up to an integer overflow", FROM, id);
    } else {
        sqlite3_result_blob64(ctx, out, ctr_cell_write(1, shards, all->n, out), sqlite3_free);
        out = NULL;
    }
    sqlite3_free(out);
    sqlite3_free(shards);
}

static void fn_from(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    merging all = {NULL, NULL, 0, 0};
    bool taken = true;
    if (argc == 0) {
        ctr_arg_error(ctx, "%s: at least one context is needed", FROM);
        return;
    }
    for (int i = 0; i < argc && taken; i++) taken = take_context(ctx, &all, argv[i], i);
    if (taken) result_shards(ctx, &all);
    sqlite3_free(all.shards);
    sqlite3_free(all.spare);
}

static void fn_to(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    ctr_cell cell;
    (void)argc;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL) return;
    if (!ctr_arg_cell(ctx, TO, argv[0], &cell)) return;
    size_t n = ctr_cell_count(&cell);
    if (ctr_cell_is_deleted(&cell)) {
        ctr_arg_error(
            ctx, "%s: a deleted cell has no context: Cassandra stores tombstones separately", TO);
        return;
    }
    if (n > CTR_CONTEXT_MOST) {
        ctr_arg_error(ctx, "%s: the cell has %lld shards, a context can have %d", TO, (long long)n,
                      CTR_CONTEXT_MOST);
        return;
    }
    uint8_t *out = sqlite3_malloc64(ctr_context_size(n));
    if (out)
        sqlite3_result_blob64(ctx, out, ctr_context_write(&cell, out), sqlite3_free);
    else
        sqlite3_result_error_nomem(ctx);
}

/* ---- counter_shards -------------------------------------------------------------------------- */

static void show_shards(ctr_answer *answer, sqlite3_value **args)
{
    ctr_cell cell;
    ctr_shard shard;
    int type = sqlite3_value_type(args[0]);
    if (type == SQLITE_NULL) return;
    const uint8_t *bytes = sqlite3_value_blob(args[0]);
    size_t size = (size_t)sqlite3_value_bytes(args[0]);
    ctr_status status = CTR_OK;
    if (type != SQLITE_BLOB)
        ctr_problem_mismatch(answer->conn, "the cell", "a BLOB or NULL", args[0]);
    else if (!bytes && size > 0)
        ctr_problem_nomem(answer->conn);
    else if ((status = ctr_cell_open(&cell, bytes, size)) != CTR_OK)
        ctr_problem_set(answer->conn, SQLITE_ERROR, "the cell %s", ctr_status_text(status));
    for (size_t at = 0; ctr_rc(answer->conn) == SQLITE_OK && ctr_cell_next(&cell, &at, &shard);) {
        ctr_answer_id(answer, shard.id);
        ctr_answer_integer(answer, shard.clock);
        ctr_answer_integer(answer, shard.value);
    }
}

int ctr_cells_register(sqlite3 *db, ctr_conn *conn)
{
    static const ctr_answer_kind SHARDS = {.name = "counter_shards",
                                           .columns = "id TEXT, clock INTEGER, value INTEGER",
                                           .args = "cell HIDDEN",
                                           .n_needed = 1,
                                           .usage = "one argument is needed, a cell",
                                           .pure = true,
                                           .fill = show_shards};
    static const ctr_function FUNCTIONS[] = {
        {"counter_value", 1, 1, CTR_PURE, fn_value},
        {"counter_merge", -1, -1, CTR_PURE, fn_merge},
        {"counter_delete", 1, 1, CTR_PURE, fn_delete},
        {"counter_reset", 1, 1, CTR_PURE, fn_reset},
        {"counter_is_deleted", 1, 1, CTR_PURE, fn_is_deleted},
        {"counter_compare", 2, 2, CTR_PURE, fn_compare},
        {"counter_diff", 2, 2, CTR_PURE, fn_diff},
        {"counter_digest", 1, 1, CTR_PURE, fn_digest},
        {"counter_json", 1, 1, CTR_PURE, fn_json},
        {"counter_version", 0, 0, CTR_PURE, fn_version},
        {FROM, -1, -1, CTR_PURE, fn_from},
        {TO, 1, 1, CTR_PURE, fn_to},
    };
    int rc = ctr_answer_register(db, conn, &SHARDS, 1);
    if (rc != SQLITE_OK) return rc;
    return ctr_shared_functions(db, conn, FUNCTIONS, sizeof FUNCTIONS / sizeof *FUNCTIONS);
}

/* =================================================================================================
 * aggregates - aggregate functions of cells and shards.
 *
 *     counter_merge(cell)                          the merge of all; NULL for no cells
 *     counter_sum(cell)                            exact sum of live cells; a window function too
 *     counter_collect(id, clock, value [, life])   a cell from rows such as those of counter_shards
 */

/* ---- counter_merge --------------------------------------------------------------------------- */

typedef struct merged_cell {
    uint8_t *bytes; /* owned; NULL: there is none */
    size_t size;
} merged_cell;

/* Level n has the merge of 2^n cells, or nothing. As in a merge sort, each cell is written only log
 * n times. */
enum { MERGE_LEVELS = 64 };

typedef struct merge_levels {
    merged_cell levels[MERGE_LEVELS];
} merge_levels;

/* Puts the merge of both in place of the second, and frees the first. */
static bool merge_pair(merged_cell *one, merged_cell *other)
{
    ctr_cell left = ctr_cell_untouched(), right = ctr_cell_untouched();
    uint8_t *out = sqlite3_malloc64(one->size + other->size);
    if (!out) return false;
    ctr_cell_open(&left, one->bytes, one->size);
    ctr_cell_open(&right, other->bytes, other->size);
    size_t size = ctr_cell_merge(&left, &right, out);
    sqlite3_free(one->bytes);
    sqlite3_free(other->bytes);
    *one = (merged_cell){NULL, 0};
    *other = (merged_cell){out, size};
    return true;
}

static void merge_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    ctr_cell cell;
    merge_levels *state = sqlite3_aggregate_context(ctx, sizeof *state);
    if (!state) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    if (!ctr_arg_cell(ctx, "counter_merge", argv[0], &cell) || ctr_cell_is_untouched(&cell)) return;
    merged_cell merged = {sqlite3_malloc64(cell.size), cell.size};
    bool whole = merged.bytes != NULL;
    if (whole) memcpy(merged.bytes, cell.bytes, cell.size);
    int level = 0;
    while (whole && level < MERGE_LEVELS - 1 && state->levels[level].bytes)
        whole = merge_pair(&state->levels[level++], &merged);
    if (whole) {
        state->levels[level] = merged;
        return;
    }
    sqlite3_free(merged.bytes);
    sqlite3_result_error_nomem(ctx);
}

static void merge_final(sqlite3_context *ctx)
{
    merged_cell all = {NULL, 0};
    bool whole = true;
    merge_levels *state = sqlite3_aggregate_context(ctx, 0);
    for (int i = 0; state && i < MERGE_LEVELS; i++) {
        if (all.bytes && state->levels[i].bytes)
            whole = whole && merge_pair(&state->levels[i], &all);
        else if (state->levels[i].bytes)
            all = state->levels[i];
        else
            continue;
        if (all.bytes != state->levels[i].bytes) sqlite3_free(state->levels[i].bytes);
        state->levels[i] = (merged_cell){NULL, 0};
    }
    if (whole && all.bytes)
        sqlite3_result_blob64(ctx, all.bytes, all.size, sqlite3_free);
    else
        sqlite3_free(all.bytes);
    if (!whole) sqlite3_result_error_nomem(ctx);
}

/* ---- counter_sum ----------------------------------------------------------------------------- */

typedef struct total {
    ctr_sum sum;
    int64_t cells; /* live ones in the window */
} total;

static void change_total(sqlite3_context *ctx, sqlite3_value *value, bool adds)
{
    ctr_cell cell;
    total *state = sqlite3_aggregate_context(ctx, sizeof *state);
    if (!state) sqlite3_result_error_nomem(ctx);
    if (!state || !ctr_arg_cell(ctx, "counter_sum", value, &cell)) return;
    if (!ctr_cell_is_live(&cell)) return;
    (adds ? ctr_sum_add_cell : ctr_sum_subtract_cell)(&state->sum, &cell);
    state->cells += adds ? 1 : -1;
}

static void sum_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    change_total(ctx, argv[0], true);
}

/* Subtracts a row that leaves the window. */
static void sum_inverse(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    change_total(ctx, argv[0], false);
}

static void sum_value(sqlite3_context *ctx)
{
    int64_t value;
    total *state = sqlite3_aggregate_context(ctx, 0);
    if (!state || state->cells == 0) return;
    if (ctr_arg_status(ctx, "counter_sum", ctr_sum_value(&state->sum, &value)))
        sqlite3_result_int64(ctx, value);
}

/* ---- counter_collect ------------------------------------------------------------------------- */

typedef struct collection {
    ctr_collected_shard *shards; /* owned, in the order of rows */
    size_t n, capacity;
    int64_t life; /* 0: no row yet */
} collection;

/* All rows of one cell must have the same life. */
static void collect_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    static const char SELF[] = "counter_collect";
    collection *state = sqlite3_aggregate_context(ctx, sizeof *state);
    int64_t life = 1;
    ctr_collected_shard row;
    if (!state) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    if (argc > 3 && !ctr_arg_integer(ctx, SELF, "life", argv[3], 1, CTR_LIFE_MAX, &life)) return;
    if (state->life != 0 && state->life != life) {
        ctr_arg_error(ctx,
                      "counter_collect: rows of one cell must have one life, not %lld and %lld",
                      (long long)state->life, (long long)life);
        return;
    }
    state->life = life;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL) return;

    if (life % 2 == 0) {
        ctr_arg_error(ctx, "counter_collect: life %lld is deleted and has no shards",
                      (long long)life);
        return;
    }
    if (!ctr_arg_id(ctx, SELF, "id", argv[0], row.id)) return;
    if (!ctr_arg_integer(ctx, SELF, "clock", argv[1], 1, INT64_MAX, &row.clock)) return;
    if (!ctr_arg_integer(ctx, SELF, "value", argv[2], INT64_MIN, INT64_MAX, &row.value)) return;
    if (state->n == state->capacity) {
        size_t capacity = state->capacity ? state->capacity * 2 : 8;
        ctr_collected_shard *shards = sqlite3_realloc64(state->shards, capacity * sizeof *shards);
        if (!shards) {
            sqlite3_result_error_nomem(ctx);
            return;
        }
        state->shards = shards;
        state->capacity = capacity;
    }
    state->shards[state->n++] = row;
}

/* Ascending by id; for one id, the shard that a merge would keep comes first. */
static int collected_order(const void *left, const void *right)
{
    const ctr_collected_shard *a = left, *b = right;
    int order = memcmp(a->id, b->id, CTR_ID_SIZE);
    if (order != 0) return order;
    ctr_shard x = {a->id, a->clock, a->value}, y = {b->id, b->clock, b->value};
    return ctr_shard_beats(&x, &y) ? -1 : ctr_shard_beats(&y, &x);
}

uint8_t *ctr_cell_collect(uint32_t life, ctr_collected_shard *collected, size_t n, size_t *size)
{
    if (n > 0) qsort(collected, n, sizeof *collected, collected_order);
    ctr_shard *shards = sqlite3_malloc64((n + 1) * sizeof *shards);
    uint8_t *out = sqlite3_malloc64(CTR_CELL_HEADER_MAX + n * CTR_SHARD_MAX);
    size_t kept = 0;
    for (size_t i = 0; shards && i < n; i++) {
        const ctr_collected_shard *shard = &collected[i];
        if (i > 0 && memcmp(shard->id, shard[-1].id, CTR_ID_SIZE) == 0) continue;
        shards[kept++] = (ctr_shard){shard->id, shard->clock, shard->value};
    }
    if (shards && out)
        *size = ctr_cell_write(life, shards, kept, out);
    else
        sqlite3_free(out);
    bool whole = shards && out;
    sqlite3_free(shards);
    return whole ? out : NULL;
}

static void collect_final(sqlite3_context *ctx)
{
    size_t size = 0;
    collection *state = sqlite3_aggregate_context(ctx, 0);
    if (!state || state->life == 0) return;
    uint8_t *out = ctr_cell_collect((uint32_t)state->life, state->shards, state->n, &size);
    if (out)
        result_cell(ctx, out, size);
    else
        sqlite3_result_error_nomem(ctx);
    sqlite3_free(state->shards);
}

int ctr_aggregates_register(sqlite3 *db, ctr_conn *conn)
{
    static const struct {
        const char *name;
        int argc;
        void (*step)(sqlite3_context *, int, sqlite3_value **);
        void (*final)(sqlite3_context *);
        void (*value)(sqlite3_context *);
        void (*inverse)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {
        {"counter_merge", 1, merge_step, merge_final, NULL, NULL},
        {"counter_sum", 1, sum_step, sum_value, sum_value, sum_inverse},
        {"counter_collect", 3, collect_step, collect_final, NULL, NULL},
        {"counter_collect", 4, collect_step, collect_final, NULL, NULL},
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; i < sizeof functions / sizeof *functions && rc == SQLITE_OK; i++)
        rc = sqlite3_create_window_function(db, functions[i].name, functions[i].argc, CTR_PURE,
                                            ctr_conn_hold(conn), functions[i].step,
                                            functions[i].final, functions[i].value,
                                            functions[i].inverse, ctr_conn_drop);
    return rc;
}
