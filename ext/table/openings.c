/* table/openings.c - keeps answers about openings, and reduces cells by them. */
#include "table/table.h"

#include <stdlib.h>
#include <string.h>

#include "file/uuid.h"

enum { ANSWER_FORMAT = 0xB1, ANSWER_AT = 1, A_AT = 2, B_AT = A_AT + CTR_ID_SIZE };

/* An opening and its group: the number of the lowest opening in it. */
typedef struct opening_node {
    uint8_t id[CTR_ID_SIZE];
    size_t group;
} opening_node;

/* ---- ids ------------------------------------------------------------------------------------- */

void ctr_openings_new(uint8_t id[CTR_ID_SIZE])
{
    ctr_uuid_random(id);
    ctr_id_make_opening(id);
}

/* Computes an opening from a name and perhaps a key. */
static void compute_id(ctr_conn *conn, const char *name, const ctr_packed *key,
                       uint8_t id[CTR_ID_SIZE])
{
    ctr_packed bytes = {0};
    size_t size = strlen(name), key_size = key ? key->size : 0;
    uint8_t *out = ctr_pack_room(conn, &bytes, size + key_size);
    for (size_t i = 0; out && i < size; i++)
        out[i] = (uint8_t)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a' : name[i]);
    if (out && key_size) memcpy(out + size, key->bytes, key_size);
    if (out) ctr_uuid_of_bytes(out, size + key_size, id);
    if (out) ctr_id_make_opening(id);
    sqlite3_free(bytes.bytes);
}

void ctr_openings_of_birth(ctr_conn *conn, const char *birth, uint8_t id[CTR_ID_SIZE])
{
    compute_id(conn, ctr_text_print(conn, "opening of %s", birth), NULL, id);
}

void ctr_openings_of_life(ctr_conn *conn, const char *birth, const ctr_packed *key, uint32_t life,
                          uint8_t id[CTR_ID_SIZE])
{
    compute_id(conn, ctr_text_print(conn, "life %u in %s of ", (unsigned)life, birth), key, id);
}

/* ---- answers --------------------------------------------------------------------------------- */

void ctr_openings_write(uint8_t out[CTR_ANSWER_SIZE], const uint8_t *a, const uint8_t *b,
                        ctr_answer_to answer)
{
    bool in_order = memcmp(a, b, CTR_ID_SIZE) < 0;
    out[0] = ANSWER_FORMAT;
    out[ANSWER_AT] = (uint8_t)answer;
    memcpy(out + A_AT, in_order ? a : b, CTR_ID_SIZE);
    memcpy(out + B_AT, in_order ? b : a, CTR_ID_SIZE);
}

void ctr_openings_write_holder(uint8_t out[CTR_ANSWER_SIZE], const uint8_t *opening,
                               const uint8_t *holder)
{
    out[0] = ANSWER_FORMAT;
    out[ANSWER_AT] = CTR_HELD;
    memcpy(out + A_AT, opening, CTR_ID_SIZE);
    if (holder)
        memcpy(out + B_AT, holder, CTR_ID_SIZE);
    else
        memset(out + B_AT, 0, CTR_ID_SIZE);
}

bool ctr_openings_holder(const uint8_t answer[CTR_ANSWER_SIZE], uint8_t opening[CTR_ID_SIZE],
                         uint8_t holder[CTR_ID_SIZE])
{
    if (answer[ANSWER_AT] != CTR_HELD) return false;
    memcpy(opening, answer + A_AT, CTR_ID_SIZE);
    memcpy(holder, answer + B_AT, CTR_ID_SIZE);
    return true;
}

bool ctr_openings_is_same(const ctr_openings *openings, const uint8_t id[CTR_ID_SIZE])
{
    for (size_t i = 0; i < openings->n; i++) {
        const uint8_t *answer = openings->answers + i * CTR_ANSWER_SIZE;
        if (answer[ANSWER_AT] == CTR_SAME && (memcmp(answer + A_AT, id, CTR_ID_SIZE) == 0 ||
                                              memcmp(answer + B_AT, id, CTR_ID_SIZE) == 0))
            return true;
    }
    return false;
}

bool ctr_openings_is_held(const ctr_openings *openings, const uint8_t id[CTR_ID_SIZE])
{
    for (size_t i = 0; i < openings->n; i++) {
        const uint8_t *answer = openings->answers + i * CTR_ANSWER_SIZE;
        if (answer[ANSWER_AT] == CTR_HELD && memcmp(answer + A_AT, id, CTR_ID_SIZE) == 0)
            return true;
    }
    return false;
}

int ctr_openings_check(ctr_conn *conn, const void *bytes, size_t size)
{
    const uint8_t *answer = bytes;
    bool whole = answer && size == CTR_ANSWER_SIZE && answer[0] == ANSWER_FORMAT &&
                 ctr_id_is_opening(answer + A_AT);
    bool is = whole && (answer[ANSWER_AT] == CTR_SAME || answer[ANSWER_AT] == CTR_ADD) &&
              memcmp(answer + A_AT, answer + B_AT, CTR_ID_SIZE) < 0 &&
              ctr_id_is_opening(answer + B_AT);
    is = is || (whole && answer[ANSWER_AT] == CTR_HELD && !ctr_id_is_opening(answer + B_AT));
    if (!is) ctr_problem_set(conn, SQLITE_CORRUPT_VTAB, "an answer about two openings is damaged");
    return ctr_rc(conn);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static int by_opening(const void *a, const void *b)
{
    return memcmp(((const opening_node *)a)->id, ((const opening_node *)b)->id, CTR_ID_SIZE);
}

static opening_node *find_node(const ctr_openings *openings, const uint8_t *id)
{
    opening_node wanted;
    if (openings->n_nodes == 0) return NULL;
    memcpy(wanted.id, id, CTR_ID_SIZE);
    return bsearch(&wanted, openings->nodes, openings->n_nodes, sizeof wanted, by_opening);
}

/* Shortens the way for the next search. */
static size_t root_of(ctr_openings *openings, size_t node)
{
    opening_node *nodes = openings->nodes;
    while (nodes[node].group != node) node = nodes[node].group = nodes[nodes[node].group].group;
    return node;
}

static const uint8_t *answer_at(const ctr_openings *openings, size_t i)
{
    return openings->answers + i * CTR_ANSWER_SIZE;
}

/* Joins the groups of two openings; the lowest number stays. */
static void join_groups(ctr_openings *openings, const uint8_t *answer)
{
    size_t a = root_of(openings, (size_t)(find_node(openings, answer + A_AT) - openings->nodes)),
           b = root_of(openings, (size_t)(find_node(openings, answer + B_AT) - openings->nodes));
    openings->nodes[a > b ? a : b].group = a < b ? a : b;
}

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, CTR_ANSWER_SIZE);
}

/* Makes the nodes of all answers, unless that is done. */
static int group_openings(ctr_conn *conn, ctr_openings *openings)
{
    if (ctr_rc(conn) != SQLITE_OK || openings->n_grouped == openings->n) return ctr_rc(conn);
    qsort(openings->answers, openings->n, CTR_ANSWER_SIZE, by_bytes);
    opening_node *nodes = sqlite3_malloc64((2 * openings->n + 1) * sizeof *nodes);
    if (!nodes) return ctr_problem_nomem(conn);
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < openings->n; i++) {
        if (answer_at(openings, i)[ANSWER_AT] == CTR_HELD) continue;
        memcpy(nodes[n++].id, answer_at(openings, i) + A_AT, CTR_ID_SIZE);
        memcpy(nodes[n++].id, answer_at(openings, i) + B_AT, CTR_ID_SIZE);
    }
    qsort(nodes, n, sizeof *nodes, by_opening);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || by_opening(&nodes[kept - 1], &nodes[i]) != 0) nodes[kept++] = nodes[i];
    for (size_t i = 0; i < kept; i++) nodes[i].group = i;
    sqlite3_free(openings->nodes);
    openings->nodes = nodes;
    openings->n_nodes = kept;
    openings->decided.size = 0;
    for (size_t i = 0; i < openings->n; i++)
        if (answer_at(openings, i)[ANSWER_AT] == CTR_SAME)
            join_groups(openings, answer_at(openings, i));
    for (size_t i = 0; i < kept; i++) nodes[i].group = root_of(openings, i);
    openings->n_grouped = openings->n;
    return ctr_rc(conn);
}

static bool are_one_group(const ctr_openings *openings, const uint8_t *a, const uint8_t *b)
{
    const opening_node *x = find_node(openings, a), *y = find_node(openings, b);
    return x && y && x->group == y->group;
}

/* Returns whether an answer says that these openings, or two of their groups, add up. */
static bool add_up(const ctr_openings *openings, const uint8_t *a, const uint8_t *b)
{
    const opening_node *x = find_node(openings, a), *y = find_node(openings, b);
    if (!x || !y) return false;
    for (size_t i = 0; i < openings->n; i++) {
        const uint8_t *answer = answer_at(openings, i);
        if (answer[ANSWER_AT] != CTR_ADD) continue;
        size_t one = find_node(openings, answer + A_AT)->group,
               two = find_node(openings, answer + B_AT)->group;
        if ((one == x->group && two == y->group) || (one == y->group && two == x->group))
            return true;
    }
    return false;
}

/* ---- life ------------------------------------------------------------------------------------ */

static bool append_bytes_to(ctr_conn *conn, uint8_t **list, size_t *n, size_t *room,
                            const uint8_t *bytes, size_t size)
{
    uint8_t *longer = ctr_array_room(conn, *list, room, *n + 1, size);
    if (!longer) return false;
    *list = longer;
    memcpy(longer + (*n)++ * size, bytes, size);
    return true;
}

void ctr_openings_list(ctr_openings *openings, const ctr_tab *tab, int64_t since)
{
    *openings = (ctr_openings){0};
    ctr_run run = ctr_tab_run(tab);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_OPENINGS_ANSWERS);
    ctr_run_bind_int(&run, row, ":number", since);
    while (ctr_run_row(&run, row)) {
        const void *answer = sqlite3_column_blob(row, 0);
        if (ctr_openings_check(tab->conn, answer, (size_t)sqlite3_column_bytes(row, 0)) ==
            SQLITE_OK)
            append_bytes_to(tab->conn, &openings->answers, &openings->n, &openings->room, answer,
                            CTR_ANSWER_SIZE);
    }
    sqlite3_finalize(row);
}

void ctr_openings_read(ctr_openings *openings, const ctr_tab *tab)
{
    ctr_run run = ctr_tab_run(tab);
    ctr_openings_list(openings, tab, INT64_MIN);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_OPENINGS_OWN);
    while (ctr_run_row(&run, row)) {
        const void *id = sqlite3_column_blob(row, 0);
        if (!id || sqlite3_column_bytes(row, 0) != CTR_ID_SIZE) continue;
        append_bytes_to(tab->conn, &openings->own, &openings->n_own, &openings->room_own, id,
                        CTR_ID_SIZE);
        const void *maker = sqlite3_column_blob(row, 1);
        if (!maker || sqlite3_column_bytes(row, 1) != CTR_ID_SIZE) maker = id;
        append_bytes_to(tab->conn, &openings->makers, &openings->n_makers, &openings->room_makers,
                        maker, CTR_ID_SIZE);
    }
    sqlite3_finalize(row);
}

void ctr_openings_close(ctr_openings *openings)
{
    sqlite3_free(openings->answers);
    sqlite3_free(openings->own);
    sqlite3_free(openings->makers);
    sqlite3_free(openings->nodes);
    sqlite3_free(openings->live);
    sqlite3_free(openings->decided.bytes);
    *openings = (ctr_openings){0};
}

bool ctr_openings_add(ctr_conn *conn, ctr_openings *openings, const uint8_t answer[CTR_ANSWER_SIZE])
{
    if (openings->n_grouped > 0 &&
        bsearch(answer, openings->answers, openings->n_grouped, CTR_ANSWER_SIZE, by_bytes))
        return false;
    for (size_t i = openings->n_grouped; i < openings->n; i++)
        if (by_bytes(answer_at(openings, i), answer) == 0) return false;
    return append_bytes_to(conn, &openings->answers, &openings->n, &openings->room, answer,
                           CTR_ANSWER_SIZE);
}

bool ctr_openings_is_own(const ctr_openings *openings, const uint8_t id[CTR_ID_SIZE])
{
    for (size_t i = 0; i < openings->n_own; i++)
        if (memcmp(openings->own + i * CTR_ID_SIZE, id, CTR_ID_SIZE) == 0) return true;
    return false;
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* An opening has the clock 1; in clock 2 it has given way to a greater one. */
static bool is_live_opening(const ctr_shard *shard)
{
    return shard->clock == 1 && ctr_id_is_opening(shard->id);
}

bool ctr_openings_next(const ctr_cell *cell, size_t *at, ctr_shard *shard)
{
    while (ctr_cell_next(cell, at, shard))
        if (is_live_opening(shard)) return true;
    return false;
}

size_t ctr_openings_count(const ctr_cell *cell)
{
    ctr_shard shard;
    size_t n = 0;
    for (size_t at = 0; ctr_openings_next(cell, &at, &shard);) n++;
    return n;
}

static int take_live(ctr_conn *conn, ctr_openings *openings, const ctr_cell *cell)
{
    ctr_shard shard, *live;
    size_t at = 0;
    openings->n_live = 0;
    while (ctr_openings_next(cell, &at, &shard)) {
        live = ctr_array_room(conn, openings->live, &openings->room_live, openings->n_live + 1,
                              sizeof *live);
        if (!live) return ctr_rc(conn);
        openings->live = live;
        live[openings->n_live++] = shard;
    }
    return ctr_rc(conn);
}

/* Returns whether another opening of its group in the cell is greater. */
static bool gives_way(const ctr_openings *openings, const ctr_shard *shard)
{
    for (size_t i = 0; i < openings->n_live; i++) {
        const ctr_shard *other = &openings->live[i];
        int order = memcmp(other->id, shard->id, CTR_ID_SIZE);
        bool greater = other->value > shard->value || (other->value == shard->value && order > 0);
        if (order != 0 && greater && are_one_group(openings, other->id, shard->id)) return true;
    }
    return false;
}

/* Writes these shards, with the grants of a cell that has those of the same ids. */
static size_t write_with_grants(ctr_conn *conn, const ctr_cell *cell, const ctr_shard *shards,
                                size_t n, uint8_t *out)
{
    ctr_grant grant;
    size_t size = ctr_cell_write(cell->life, shards, n, out), n_grants = 0;
    for (size_t at = 0; ctr_cell_next_grant(cell, &at, &grant);) n_grants++;
    if (n_grants == 0) return size;
    ctr_grant *grants = sqlite3_malloc64(n_grants * sizeof *grants);
    uint8_t *plain = sqlite3_malloc64(size);
    if (grants && plain) {
        memcpy(plain, out, size);
        const ctr_cell without = ctr_cell_written(plain, size);
        for (size_t at = 0, i = 0; i < n_grants; i++) ctr_cell_next_grant(cell, &at, &grants[i]);
        size = ctr_cell_with_grants(&without, grants, n_grants, out);
    } else {
        ctr_problem_nomem(conn);
    }
    sqlite3_free(grants);
    sqlite3_free(plain);
    return size;
}

bool ctr_openings_reduce(ctr_conn *conn, ctr_openings *openings, const ctr_cell *cell, uint8_t *out,
                         size_t *size)
{
    if (openings->n == 0 || group_openings(conn, openings) || take_live(conn, openings, cell) ||
        openings->n_live < 2)
        return false;
    bool changes = false;
    for (size_t i = 0; i < openings->n_live && !changes; i++)
        changes = gives_way(openings, &openings->live[i]);
    if (!changes) return false;
    size_t at = 0, n = 0;
    ctr_shard shard, *shards = sqlite3_malloc64((cell->size / CTR_ID_SIZE + 1) * sizeof *shards);
    if (!shards) {
        ctr_problem_nomem(conn);
        return false;
    }
    while (ctr_cell_next(cell, &at, &shard)) {
        if (is_live_opening(&shard) && gives_way(openings, &shard))
            shard = (ctr_shard){.id = shard.id, .clock = 2, .value = 0};
        shards[n++] = shard;
    }
    *size = write_with_grants(conn, cell, shards, n, out);
    sqlite3_free(shards);
    return ctr_rc(conn) == SQLITE_OK;
}

/* Cells of one table mostly have the same openings, so those that were found answered last are
 * kept. */
static bool is_decided(const ctr_openings *openings)
{
    const ctr_packed *decided = &openings->decided;
    if (decided->size != openings->n_live * CTR_ID_SIZE) return false;
    for (size_t i = 0; i < openings->n_live; i++)
        if (memcmp(decided->bytes + i * CTR_ID_SIZE, openings->live[i].id, CTR_ID_SIZE) != 0)
            return false;
    return true;
}

bool ctr_openings_unanswered(ctr_conn *conn, ctr_openings *openings, const ctr_cell *cell,
                             ctr_shard pair[2])
{
    if (group_openings(conn, openings) || take_live(conn, openings, cell) || openings->n_live < 2 ||
        is_decided(openings))
        return false;
    for (size_t i = 0; i < openings->n_live; i++)
        for (size_t j = i + 1; j < openings->n_live; j++) {
            const ctr_shard *a = &openings->live[i], *b = &openings->live[j];
            if (are_one_group(openings, a->id, b->id) || add_up(openings, a->id, b->id)) continue;
            pair[0] = *a;
            pair[1] = *b;
            return true;
        }
    openings->decided.size = 0;
    uint8_t *ids = ctr_pack_room(conn, &openings->decided, openings->n_live * CTR_ID_SIZE);
    if (!ids) return false;
    for (size_t i = 0; i < openings->n_live; i++)
        memcpy(ids + i * CTR_ID_SIZE, openings->live[i].id, CTR_ID_SIZE);
    openings->decided.size = openings->n_live * CTR_ID_SIZE;
    return false;
}

char *ctr_openings_call(const char *table, const char *answer, const uint8_t *other,
                        const uint8_t *second)
{
    char id[CTR_ID_TEXT_SIZE], own[CTR_ID_TEXT_SIZE] = "";
    ctr_id_to_text(other, id);
    if (second) ctr_id_to_text(second, own);
    return sqlite3_mprintf("SELECT counter_opening(%Q, '%s', '%s'%s%s%s)", table, answer, id,
                           second ? ", '" : "", own, second ? "'" : "");
}

/* ---- recording ------------------------------------------------------------------------------- */

void ctr_openings_record(ctr_run *run, const uint8_t id[CTR_ID_SIZE],
                         const uint8_t file[CTR_ID_SIZE])
{
    ctr_run_with(run, CTR_SQL_OPENINGS_MADE, ":opening d :file d", id, file);
}

void ctr_openings_record_answer(ctr_run *run, const uint8_t answer[CTR_ANSWER_SIZE], int64_t number)
{
    ctr_run_with(run, CTR_SQL_OPENINGS_ANSWER, ":answer b :number i", answer,
                 (size_t)CTR_ANSWER_SIZE, number);
}

void ctr_openings_meet(ctr_conn *conn, ctr_opening *opening, const uint8_t id[CTR_ID_SIZE])
{
    for (size_t i = 0; i < opening->n_met; i++)
        if (memcmp(opening->met + i * CTR_ID_SIZE, id, CTR_ID_SIZE) == 0) return;
    append_bytes_to(conn, &opening->met, &opening->n_met, &opening->room_met, id, CTR_ID_SIZE);
}
