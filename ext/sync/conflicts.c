/* sync/conflicts.c - finds and records conflicts. */
#include "sync/conflicts.h"

#include <string.h>

#include "identity/names.h"
#include "identity/succession.h"

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

int64_t ctr_conflicts_record(ctr_conflicts *conflicts, const char *table, const char *key,
                             const char *column, const ctr_cell *mine, const ctr_cell *theirs,
                             ctr_problem *problem)
{
    ctr_run run = ctr_file_run(conflicts->file, problem);
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

        char id[CTR_ID_TEXT_SIZE];
        ctr_id_to_text(shard.id, id);
        ctr_run_do(&run, CTR_SQL_CONFLICTS_CREATE, NULL);
        sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_CONFLICTS_INSERT);
        ctr_run_bind_text(&run, row, ":table", table);
        ctr_run_bind_text(&run, row, ":key", key);
        ctr_run_bind_text(&run, row, ":column", column);
        ctr_run_bind_text(&run, row, ":id", id);
        bool same_life = mine->life == theirs->life;
        if (own && same_life) ctr_run_bind_int(&run, row, ":clock", own->clock);
        if (own && same_life) ctr_run_bind_int(&run, row, ":value", own->value);
        ctr_run_bind_int(&run, row, ":their_clock", shard.clock);
        ctr_run_bind_int(&run, row, ":their_value", shard.value);
        ctr_run_bind_text(&run, row, ":why", why);
        ctr_run_once(&run, row);
        if (problem->rc == SQLITE_OK && strcmp(why, "own") == 0) conflicts->own = true;
        n++;
    }
    return n;
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
