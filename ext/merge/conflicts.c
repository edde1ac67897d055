/* merge/conflicts.c - finds and records conflicts. */
#include "merge/merge.h"

#include <string.h>

/* Returns whether their shard is ahead of mine. `own` is my shard of the same id, or NULL. In a
 * later life, any shard of this id is ahead: its owner has counted in that life, and I have not. */
static bool is_ahead(const ctr_cell *mine, const ctr_cell *theirs, const ctr_shard *own,
                     const ctr_shard *shard)
{
    if (theirs->life != mine->life) return theirs->life > mine->life;
    return !own || ctr_shard_beats(shard, own);
}

static bool is_under_mine(const ctr_conflicts *conflicts, const ctr_shard *shard)
{
    return shard->clock >= conflicts->least && memcmp(shard->id, conflicts->mine, CTR_ID_SIZE) == 0;
}

static const char *fault(const ctr_conflicts *conflicts, const ctr_cell *mine,
                         const ctr_cell *theirs, const ctr_shard *own, const ctr_shard *shard)
{
    bool is_mine = is_under_mine(conflicts, shard) && shard->clock < conflicts->beyond;
    bool same_life = mine->life == theirs->life;
    /* Files may have revived one row with different values: table/openings.h. */
    if (same_life && own && own->clock == shard->clock && ctr_id_is_opening(shard->id)) return NULL;
    if (same_life && own && own->clock == shard->clock)
        return own->value == shard->value ? NULL : is_mine ? "own" : "values";
    if (!is_ahead(mine, theirs, own, shard)) return NULL;
    if (is_mine) return "own";
    bool is_source = memcmp(shard->id, conflicts->theirs, CTR_ID_SIZE) == 0;
    return conflicts->went_back && is_source ? "source" : NULL;
}

/* Returns whether their shard of this id is ahead of mine. */
static bool is_shard_ahead(const ctr_cell *mine, const ctr_cell *theirs, const ctr_shard *shard)
{
    ctr_shard own;
    return is_ahead(mine, theirs, ctr_cell_shard(mine, shard->id, &own) ? &own : NULL, shard);
}

bool ctr_conflicts_none(const ctr_conflicts *conflicts, const ctr_cell *mine,
                        const ctr_cell *theirs)
{
    ctr_shard shard;
    if (ctr_cell_conflicts(mine, theirs) > 0) return false;
    if (ctr_cell_shard(theirs, conflicts->mine, &shard) && is_under_mine(conflicts, &shard) &&
        is_shard_ahead(mine, theirs, &shard))
        return false;
    if (!conflicts->went_back || !ctr_cell_shard(theirs, conflicts->theirs, &shard)) return true;
    return !is_shard_ahead(mine, theirs, &shard);
}

/* A row of counter_conflicts. */
typedef struct conflict {
    const char *table, *key, *column, *why;
    const ctr_shard *mine, *theirs; /* mine: NULL if there is none in this life */
} conflict;

static void record(const ctr_conflicts *conflicts, const conflict *found, ctr_problem *problem)
{
    ctr_run run = ctr_file_run(conflicts->file, problem);
    char id[CTR_ID_TEXT_SIZE];
    ctr_id_to_text(found->theirs->id, id);
    ctr_run_do(&run, CTR_SQL_CONFLICTS_CREATE, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_CONFLICTS_INSERT);
    ctr_run_bind_text(&run, row, ":table", found->table);
    ctr_run_bind_text(&run, row, ":key", found->key);
    ctr_run_bind_text(&run, row, ":column", found->column);
    ctr_run_bind_text(&run, row, ":id", id);
    if (found->mine) ctr_run_bind_int(&run, row, ":clock", found->mine->clock);
    if (found->mine) ctr_run_bind_int(&run, row, ":value", found->mine->value);
    ctr_run_bind_int(&run, row, ":their_clock", found->theirs->clock);
    ctr_run_bind_int(&run, row, ":their_value", found->theirs->value);
    ctr_run_bind_text(&run, row, ":why", found->why);
    ctr_run_once(&run, row);
}

int64_t ctr_conflicts_record(ctr_conflicts *conflicts, const char *table, const char *key,
                             const char *column, const ctr_cell *mine, const ctr_cell *theirs,
                             ctr_problem *problem)
{
    ctr_shard shard, left;
    size_t at = 0, mine_at = 0;
    int64_t n = 0;
    bool more = ctr_cell_next(mine, &mine_at, &left);
    while (problem->rc == SQLITE_OK && ctr_cell_next(theirs, &at, &shard)) {
        while (more && memcmp(left.id, shard.id, CTR_ID_SIZE) < 0)
            more = ctr_cell_next(mine, &mine_at, &left);
        bool is_here = more && memcmp(left.id, shard.id, CTR_ID_SIZE) == 0;
        const ctr_shard *own = is_here ? &left : NULL;
        const char *why = fault(conflicts, mine, theirs, own, &shard);
        if (is_under_mine(conflicts, &shard) && shard.clock >= conflicts->beyond &&
            is_ahead(mine, theirs, own, &shard))
            conflicts->replaced = true;
        if (!why) continue;

        const conflict found = {.table = table,
                                .key = key,
                                .column = column,
                                .why = why,
                                .mine = mine->life == theirs->life ? own : NULL,
                                .theirs = &shard};
        record(conflicts, &found, problem);
        if (problem->rc == SQLITE_OK && strcmp(why, "own") == 0) conflicts->own = true;
        n++;
    }
    return n;
}

/* ---- cells with a token ---------------------------------------------------------------------- */

int ctr_conflicts_read_own(ctr_own_ids *own, ctr_file *file, ctr_problem *problem)
{
    if (own->read_at == file->version) return problem->rc;
    ctr_run run = ctr_file_run(file, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_IDENTITY_OWN);
    own->n = 0;
    while (ctr_run_row(&run, row)) {
        const void *id = sqlite3_column_blob(row, 0);
        if (!id || sqlite3_column_bytes(row, 0) != CTR_ID_SIZE) continue;
        uint8_t *ids = ctr_array_room(own->ids, &own->room, own->n + 1, CTR_ID_SIZE, problem);
        if (!ids) break;
        own->ids = ids;
        memcpy(ids + own->n++ * CTR_ID_SIZE, id, CTR_ID_SIZE);
    }
    sqlite3_finalize(row);
    own->read_at = problem->rc == SQLITE_OK ? file->version : 0;
    return problem->rc;
}

void ctr_conflicts_close_own(ctr_own_ids *own)
{
    sqlite3_free(own->ids);
    *own = (ctr_own_ids){0};
}

/* Returns whether I have counted under the id of this shard. Lower clocks under a name that I took
 * over are those of the file that had it before. */
static bool is_of_mine(const ctr_conflicts *conflicts, const ctr_own_ids *own,
                       const ctr_shard *shard)
{
    if (memcmp(shard->id, conflicts->mine, CTR_ID_SIZE) == 0)
        return is_under_mine(conflicts, shard);
    for (size_t i = 0; i < own->n; i++)
        if (memcmp(shard->id, own->ids + i * CTR_ID_SIZE, CTR_ID_SIZE) == 0) return true;
    return false;
}

/* Records a shard that is left out, if it is ahead of mine, or has another value at its clock. */
static void record_left_out(ctr_conflicts *conflicts, const ctr_sent_cell *sent,
                            const ctr_shard *shard, ctr_problem *problem)
{
    ctr_shard mine;
    bool same_life = sent->mine->life == sent->theirs->life;
    bool is_here = same_life && ctr_cell_shard(sent->mine, shard->id, &mine);
    bool differs = is_here && mine.clock == shard->clock && mine.value != shard->value;
    if (!differs && !is_ahead(sent->mine, sent->theirs, is_here ? &mine : NULL, shard)) return;

    char *key = ctr_problem_describe_key(sent->keys, sent->n_keys);
    char *why = sqlite3_mprintf("device %s", sent->device);
    if (!key || !why) ctr_problem_nomem(problem);
    const conflict found = {.table = sent->table,
                            .key = key,
                            .column = sent->column,
                            .why = why,
                            .mine = is_here ? &mine : NULL,
                            .theirs = shard};
    if (problem->rc == SQLITE_OK) record(conflicts, &found, problem);
    sqlite3_free(key);
    sqlite3_free(why);
    conflicts->file->conn->stats.refused++;
    if (memcmp(shard->id, conflicts->mine, CTR_ID_SIZE) == 0) conflicts->own = true;
}

/* Returns whether a cell has an opening that counts and is greater, by value and then by id. */
static bool has_greater(const ctr_cell *cell, const ctr_shard *opening)
{
    ctr_shard shard;
    for (size_t at = 0; ctr_cell_next(cell, &at, &shard);) {
        if (shard.clock != 1 || !ctr_id_is_opening(shard.id)) continue;
        if (shard.value > opening->value ||
            (shard.value == opening->value && memcmp(shard.id, opening->id, CTR_ID_SIZE) > 0))
            return true;
    }
    return false;
}

/* Returns whether this is an opening which I know with another value. An answer that I have not
 * heard of may have taken its value away, but only for a greater one of the same cell. */
static bool is_changed_opening(const ctr_sent_cell *sent, const ctr_shard *shard)
{
    ctr_shard mine;
    if (!ctr_id_is_opening(shard->id) || sent->mine->life != sent->theirs->life ||
        !ctr_cell_shard(sent->mine, shard->id, &mine) || !ctr_shard_beats(shard, &mine))
        return false;
    bool makes_way = shard->clock == 2 && shard->value == 0;
    return !makes_way || !(has_greater(sent->mine, &mine) || has_greater(sent->theirs, &mine));
}

size_t ctr_conflicts_leave_out(ctr_conflicts *conflicts, const ctr_own_ids *own,
                               const ctr_sent_cell *sent, uint8_t *out, ctr_problem *problem)
{
    const ctr_cell *theirs = sent->theirs;
    ctr_shard shard;
    size_t at = 0, from = theirs->header, size = 0, n = 0;
    if (theirs->size == 0) return 0;
    memcpy(out, theirs->bytes, theirs->header);
    size = theirs->header;
    for (; ctr_cell_next(theirs, &at, &shard); from = at) {
        if (is_of_mine(conflicts, own, &shard) || is_changed_opening(sent, &shard)) {
            record_left_out(conflicts, sent, &shard, problem);
            continue;
        }
        memcpy(out + size, theirs->bytes + from, at - from);
        size += at - from;
        n++;
    }
    return n == 0 && theirs->life == 1 ? 0 : size; /* a cell in life 1 without shards is none */
}

/* ---- opening --------------------------------------------------------------------------------- */

/* A file that has not counted yet cannot have a twin. */
void ctr_conflicts_set_mine(ctr_conflicts *conflicts, const ctr_identity *mine)
{
    bool waits = mine->turn == CTR_TURN_WAITS;
    memcpy(conflicts->mine, mine->id, CTR_ID_SIZE);
    conflicts->least = waits ? INT64_MAX : ctr_identity_least_clock(mine);
    conflicts->beyond = ctr_identity_beyond(mine);
}

int ctr_conflicts_change_identity(ctr_conflicts *conflicts, ctr_file *file, ctr_problem *problem)
{
    bool own = conflicts->own, replaced = conflicts->replaced;
    if (problem->rc != SQLITE_OK) return problem->rc;
    conflicts->own = conflicts->replaced = false;
    if (own) ctr_succession_lineage_changed(file, CTR_WHY_CONFLICT, problem);
    if (replaced && !own) ctr_succession_yield(file, problem);
    return problem->rc;
}

int ctr_conflicts_open(ctr_conflicts *conflicts, ctr_file *file, const ctr_objects *objects,
                       const ctr_identity *mine, const ctr_identity *source, ctr_problem *problem)
{
    *conflicts = (ctr_conflicts){.file = file};
    ctr_conflicts_set_mine(conflicts, mine);
    memcpy(conflicts->theirs, source->id, CTR_ID_SIZE);
    ctr_run run = ctr_file_run(file, problem);
    ctr_pair last = {0, 0}, now = source->lineage.pair;
    if (!ctr_schema_objects_find(objects, "counter_sources"))
        ctr_run_do(&run, CTR_SQL_KNOWN_CREATE, NULL);
    if (*source->refuses) return problem->rc; /* it writes nothing under its id */
    bool known = ctr_names_witness(file, source, &last, problem);
    conflicts->went_back = known && (now.number < last.number ||
                                     (now.number == last.number && now.random != last.random));
    if (!known || now.number > last.number) ctr_names_write(file, source, problem);
    return problem->rc;
}
