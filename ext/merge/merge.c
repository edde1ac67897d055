/* merge/merge.c - merges cells into one table, row by row. */
#include "merge/merge.h"

#include <string.h>

bool ctr_merge_open(ctr_merge *merge, ctr_file *file, const char *birth, ctr_conflicts *conflicts,
                    ctr_problem *problem)
{
    ctr_catalog_entry entry = {0};
    *merge = (ctr_merge){0};
    bool open = problem->rc == SQLITE_OK &&
                ctr_catalog_born(&entry, file->conn->db, file->schema, birth, problem) &&
                ctr_merge_open_table(merge, file, &entry, conflicts, problem);
    ctr_catalog_close_entry(&entry);
    return open;
}

static void make_room_for_row(ctr_merge *merge, ctr_problem *problem)
{
    const ctr_registry *registry = ctr_regular_of(merge->rows.tab, problem);
    if (!registry) return;
    merge->taken = sqlite3_malloc64((size_t)registry->n + 1);
    merge->apart = sqlite3_malloc64((size_t)registry->n + 1);
    if (!merge->taken || !merge->apart) ctr_problem_nomem(problem);
}

bool ctr_merge_open_table(ctr_merge *merge, ctr_file *file, const ctr_catalog_entry *entry,
                          ctr_conflicts *conflicts, ctr_problem *problem)
{
    *merge = (ctr_merge){.conflicts = conflicts, .tomorrow = ctr_brought_tomorrow()};
    if (problem->rc != SQLITE_OK || ctr_catalog_copy(&merge->entry, entry, problem)) return false;
    const char *name = merge->entry.name;
    const ctr_objects *objects = ctr_file_objects(file, problem);
    if (!objects || ctr_tab_read_shape(file, name, &merge->shape, problem) ||
        ctr_refuse_triggers_among(objects, name, true, problem))
        return false;
    ctr_rows_open(&merge->rows, file, name, &merge->shape, problem);
    merge->rows.whole = true;
    merge->floors = ctr_floors_on(merge->rows.tab, &merge->shape);
    if (problem->rc != SQLITE_OK || !ctr_tracked_is_among(objects, name))
        return problem->rc == SQLITE_OK;
    merge->tracked = true;
    size_t size = ((size_t)merge->shape.n_counters + 1) * sizeof *merge->before;
    merge->before = sqlite3_malloc64(size);
    merge->now = sqlite3_malloc64(size);
    if (!merge->before || !merge->now) ctr_problem_nomem(problem);
    if (merge->shape.replicated) make_room_for_row(merge, problem);
    if (problem->rc == SQLITE_OK) ctr_showing_open(&merge->showing, merge->rows.tab, problem);
    return problem->rc == SQLITE_OK;
}

void ctr_merge_close(ctr_merge *merge)
{
    if (merge->tracked) ctr_showing_close(&merge->showing);
    sqlite3_free(merge->before);
    sqlite3_free(merge->now);
    sqlite3_free(merge->taken);
    sqlite3_free(merge->apart);
    ctr_drift_close(merge);
    ctr_openings_close(&merge->openings);
    sqlite3_free(merge->reduced.bytes);
    sqlite3_free(merge->unanswered.key);
    ctr_rows_close(&merge->rows);
    ctr_shape_close(&merge->shape);
    ctr_catalog_close_entry(&merge->entry);
    *merge = (ctr_merge){0};
}

int ctr_merge_refuse_name(ctr_file *file, const char *called, const char *birth, bool replicated,
                          ctr_problem *problem)
{
    ctr_catalog_entry entry;
    ctr_object object = ctr_schema_object(file->conn->db, file->schema, birth, problem);
    if (ctr_catalog_named(&entry, file->conn->db, file->schema, birth, problem))
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s has a counter table %s that was created as '%s', and tables match by "
                        "the name they were created with: rename it there",
                        called, birth, entry.birth);
    else if (object == CTR_OBJECT_TABLE && replicated)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "in %s it is an ordinary table, which does not count: call "
                        "counter_replicate('%s', ...) there, and the merge asks about values that "
                        "both files had when they began; what the other file has written since "
                        "then wins, so note first what was changed in this one",
                        called, birth);
    else if (object == CTR_OBJECT_TABLE)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "in %s it is an ordinary table, which does not count: call "
                        "counter_track('%s', ...) there, and the merge asks about values that both "
                        "files hold already",
                        called, birth);
    else if (object != CTR_OBJECT_NONE)
        ctr_problem_set(problem, SQLITE_ERROR, "%s in %s has the name of the counter table",
                        ctr_schema_object_text(object), called);
    ctr_catalog_close_entry(&entry);
    return problem->rc;
}

int ctr_merge_refuse_key(sqlite3 *db, ctr_problem *problem)
{
    if (ctr_run_is_utf16(db, problem))
        ctr_problem_set(problem, SQLITE_ERROR,
                        "a key has U+FFFE or U+FFFF, which SQLite stores as U+FFFD in a UTF-16 "
                        "file: two rows would become one");
    return problem->rc;
}

int ctr_merge_check_key(ctr_merge *merge, sqlite3_value **keys, ctr_problem *problem)
{
    merge->keys = keys;
    merge->row_unanswered = merge->ends = false;
    merge->newest.number = 0;
    for (int i = 0; i < merge->shape.n_keys && problem->rc == SQLITE_OK; i++) {
        if (sqlite3_value_type(keys[i]) != SQLITE_TEXT) continue;
        const unsigned char *text = sqlite3_value_text(keys[i]);
        if (text && ctr_text_has_noncharacter(text, (size_t)sqlite3_value_bytes(keys[i])))
            ctr_merge_refuse_key(merge->rows.tab->db, problem);
    }
    return problem->rc;
}

bool ctr_merge_is_wanted(ctr_merge *merge, sqlite3_value **keys, ctr_problem *problem)
{
    return !ctr_floors_is_below(&merge->floors, keys, problem) && problem->rc == SQLITE_OK;
}

bool ctr_merge_find(ctr_merge *merge, sqlite3_value **keys, ctr_problem *problem)
{
    if (ctr_merge_check_key(merge, keys, problem) || ctr_rows_find_key(&merge->rows, keys, problem))
        return false;
    return merge->rows.found || ctr_merge_is_wanted(merge, keys, problem);
}

/* ---- openings -------------------------------------------------------------------------------- */

ctr_openings *ctr_merge_openings(ctr_merge *merge, ctr_problem *problem)
{
    const ctr_rows *rows = &merge->rows;
    unsigned now = rows->tab->file->conn->answered + 1;
    if (problem->rc == SQLITE_OK && merge->openings_read_at != now) {
        ctr_openings_close(&merge->openings);
        ctr_openings_read(&merge->openings, rows->tab, problem);
        merge->openings_read_at = problem->rc == SQLITE_OK ? now : 0;
    }
    return problem->rc == SQLITE_OK ? &merge->openings : NULL;
}

static void note_unanswered(ctr_merge *merge, const ctr_cell *mine, const ctr_shard pair[2],
                            ctr_problem *problem)
{
    ctr_unanswered *noted = &merge->unanswered;
    ctr_shard own;
    if (!merge->row_unanswered) noted->rows++;
    merge->row_unanswered = true;
    if (noted->key) return;
    for (int i = 0; i < 2; i++) {
        memcpy(noted->ids[i], pair[i].id, CTR_ID_SIZE);
        noted->values[i] = pair[i].value;
        noted->is_here[i] = ctr_cell_shard(mine, pair[i].id, &own);
    }
    noted->key = ctr_problem_describe_key(merge->keys, merge->shape.n_keys);
    if (!noted->key) ctr_problem_nomem(problem);
}

/* Reduces the openings of a merged cell of `size` bytes, and notes those without an answer. Returns
 * the size; the reduced cell is not longer. */
static size_t reduce_openings(ctr_merge *merge, const ctr_cell *mine, uint8_t *bytes, size_t size,
                              ctr_problem *problem)
{
    ctr_shard pair[2];
    ctr_cell cell = ctr_cell_written(bytes, size);
    if (ctr_openings_count(&cell) < 2) return size;
    ctr_openings *openings = ctr_merge_openings(merge, problem);
    merge->reduced.size = 0;
    uint8_t *out = ctr_pack_room(&merge->reduced, size, problem);
    if (!openings || !out) return size;
    if (ctr_openings_reduce(openings, &cell, out, &size, problem)) {
        memcpy(bytes, out, size);
        cell = ctr_cell_written(bytes, size);
        merge->rows.also_here = true;
    }
    if (merge->later && ctr_openings_unanswered(openings, &cell, pair, problem))
        note_unanswered(merge, mine, pair, problem);
    return size;
}

/* ---- cells ----------------------------------------------------------------------------------- */

int ctr_merge_check_clocks(const ctr_cell *theirs, ctr_problem *problem)
{
    ctr_shard shard;
    size_t at = 0;
    while (problem->rc == SQLITE_OK && ctr_cell_next(theirs, &at, &shard)) {
        if (shard.clock <= CTR_CLOCK_MAX) continue;
        char id[CTR_ID_TEXT_SIZE];
        ctr_id_to_text(shard.id, id);
        ctr_problem_set(problem, SQLITE_ERROR,
                        "the shard of %s has the clock %lld, and the highest is %lld", id,
                        (long long)shard.clock, (long long)CTR_CLOCK_MAX);
    }
    return problem->rc;
}

static int refuse_clock(const ctr_merge *merge, int counter, ctr_problem *problem)
{
    char *key = ctr_problem_describe_key(merge->keys, merge->shape.n_keys);
    if (!key) {
        ctr_problem_close(problem);
        return ctr_problem_nomem(problem);
    }
    ctr_problem_where(problem, "row %s: column %s", key,
                      ctr_shape_counter_name(&merge->shape, counter));
    sqlite3_free(key);
    return problem->rc;
}

int ctr_merge_cell(ctr_merge *merge, int counter, const ctr_cell *theirs, ctr_problem *problem)
{
    ctr_rows *rows = &merge->rows;
    const ctr_cell *mine = &rows->cells[counter];
    ctr_stats *stats = &rows->tab->file->conn->stats;
    stats->merges++;
    if (problem->rc != SQLITE_OK || ctr_cell_same(mine, theirs)) return problem->rc;
    if (ctr_merge_check_clocks(theirs, problem)) return refuse_clock(merge, counter, problem);
    if (!ctr_conflicts_none(merge->conflicts, mine, theirs)) {
        merge->deferred = merge->within;
        if (merge->within) return problem->rc;
        const char *column = merge->shape.columns[merge->shape.counters[counter]].name;
        char *key = ctr_problem_describe_key(merge->keys, merge->shape.n_keys);
        if (!key) ctr_problem_nomem(problem);
        int64_t n = ctr_conflicts_record(merge->conflicts, merge->entry.birth, key, column, mine,
                                         theirs, problem);
        merge->brought.conflicts += n;
        stats->conflicts += n;
        sqlite3_free(key);
    }

    uint8_t *out = ctr_stage_room(rows, mine->size + theirs->size, problem);
    if (!out) return problem->rc;
    size_t size = ctr_cell_merge(mine, theirs, out);
    size = reduce_openings(merge, mine, out, size, problem);
    bool same = size == mine->size && (size == 0 || memcmp(out, mine->bytes, size) == 0);
    if (same) return problem->rc;
    ctr_cell merged = ctr_cell_written(out, size);
    stats->cells_changed++;
    stats->shards_written += (int64_t)ctr_cell_changed_shards(&merged, mine);
    if (!merge->tracked && ctr_cell_is_live(mine) && ctr_cell_is_deleted(&merged))
        merge->ends = true;
    ctr_stage_set(rows, counter, size);
    return problem->rc;
}

/* Notes the counters of the row at hand before the merge, to be compared with what its table
 * shows. */
static void note_states(ctr_merge *merge)
{
    for (int i = 0; i < merge->shape.n_counters; i++)
        merge->before[i] = ctr_rows_state(&merge->rows, i);
}

/* ---- rows of replicated tables --------------------------------------------------------------- */

static void refuse_stamp(const ctr_merge *merge, int64_t number, ctr_problem *problem)
{
    char *key = ctr_problem_describe_key(merge->keys, merge->shape.n_keys);
    if (!key) ctr_problem_nomem(problem);
    ctr_problem_set(problem, SQLITE_ERROR,
                    "row %s has a stamp with the number %lld, which lies beyond the year 2200; the "
                    "highest is %lld",
                    key, (long long)number, (long long)CTR_STAMP_MAX);
    sqlite3_free(key);
}

/* The row of the other file replaces mine whole, with its counters. */
static void drop_counters(ctr_merge *merge)
{
    ctr_rows *rows = &merge->rows;
    ctr_stage_empty(rows);
    for (int i = 0; i < merge->shape.n_counters; i++) rows->cells[i] = ctr_cell_untouched();
}

ctr_row_outcome ctr_merge_row(ctr_merge *merge, const ctr_row_cell *theirs, const int *map,
                              int64_t giver, ctr_problem *problem)
{
    ctr_row_cell *mine = ctr_rows_row(&merge->rows, problem);
    if (!mine) return CTR_ROW_STAYS;
    int64_t highest = ctr_row_cell_highest(theirs);
    if (highest > CTR_STAMP_MAX) refuse_stamp(merge, highest, problem);
    if (problem->rc != SQLITE_OK) return CTR_ROW_STAYS;
    const ctr_stamp before = mine->row;
    const uint32_t life = mine->life;
    merge->giver = giver;
    merge->was_live = ctr_row_cell_is_live(mine);
    note_states(merge);
    merge->asks = ctr_row_cell_began_apart(mine, theirs, map, merge->apart);
    ctr_row_outcome outcome = ctr_row_cell_join(mine, theirs, map, merge->taken);
    merge->begins = outcome == CTR_ROW_REPLACED && life > 0 && ctr_row_cell_is_live(mine);
    if (outcome == CTR_ROW_REPLACED) drop_counters(merge);
    bool changed = outcome == CTR_ROW_REPLACED || ctr_row_cell_beats(&mine->row, &before);
    for (int i = 0; i < mine->n; i++) changed = changed || merge->taken[i];
    if (changed) ctr_stage_row(&merge->rows, problem);
    if (changed && ctr_row_cell_is_live(mine)) merge->newest = *ctr_row_cell_newest(theirs);
    merge->ends = merge->was_live && !ctr_row_cell_is_live(mine);
    return outcome;
}

void ctr_merge_counters(ctr_merge *merge, ctr_problem *problem)
{
    const ctr_row_cell *mine = ctr_rows_row(&merge->rows, problem);
    if (!mine) return;
    merge->giver = 0;
    merge->was_live = ctr_row_cell_is_live(mine);
    merge->begins = false;
    memset(merge->taken, 0, (size_t)mine->n * sizeof *merge->taken);
    note_states(merge);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Returns what the staged row brings. One of a replicated table ends with its row cell, one of a
 * counter table with its last counter; in any other tracked table rows do not end. */
static ctr_brought brought_by_row(const ctr_merge *merge)
{
    ctr_brought brought = {0};
    bool ends = merge->ends;
    for (int i = 0; ends && !merge->tracked && i < merge->shape.n_counters; i++) {
        ctr_summary state = ctr_stage_state(&merge->rows, i);
        ends = !ctr_summary_counts(&state);
    }
    brought.deleted = ends;
    ctr_brought_stamp(&brought, &merge->newest, merge->tomorrow);
    return brought;
}

void ctr_merge_begin(ctr_merge *merge)
{
    merge->within = true;
    merge->deferred = false;
    merge->stats = merge->rows.tab->file->conn->stats;
}

bool ctr_merge_end(ctr_merge *merge, ctr_problem *problem)
{
    merge->within = false;
    if (merge->deferred) merge->rows.tab->file->conn->stats = merge->stats;
    if (merge->deferred || !ctr_stage_any(&merge->rows)) return !merge->deferred;
    const ctr_brought brought = brought_by_row(merge);
    ctr_brought_add(&merge->brought, &brought);
    if (!merge->tracked) return true;
    note_states(merge);
    const ctr_later_row row = {.rowid = merge->rows.rowid, .before = merge->before};
    ctr_later_add(merge->later, &merge->showing, &row, problem);
    return true;
}

/* Returns whether some counter of the row, also one that this merge leaves alone, has openings
 * without an answer. A pull refuses them. */
static bool is_withheld(ctr_merge *merge, ctr_problem *problem)
{
    bool withheld = false;
    for (int i = 0; i < merge->shape.n_counters && !withheld; i++) {
        ctr_shard pair[2];
        ctr_cell cell = merge->rows.cells[i];
        ctr_stage_cell(&merge->rows, i, &cell);
        if (ctr_openings_count(&cell) < 2) continue;
        ctr_openings *openings = ctr_merge_openings(merge, problem);
        withheld = openings && ctr_openings_unanswered(openings, &cell, pair, problem);
    }
    return withheld;
}

/* A row of a feed may be shown at once, and fails while a deferred foreign key is broken. So it
 * fails before anything is written. A pull, which shows its rows later, undoes what it has
 * written. */
static void refuse_broken_keys(const ctr_merge *merge, ctr_problem *problem)
{
    const ctr_tracked *tracked = merge->showing.tracked;
    if (merge->tracked && !merge->later)
        ctr_foreign_refuse_broken(tracked->db, tracked->table, problem);
}

/* Shows the row that was written, now or later. */
static void show_row(ctr_merge *merge, sqlite3_value **values, ctr_problem *problem)
{
    ctr_rows *rows = &merge->rows;
    bool replicated = merge->shape.replicated;
    if (merge->later) {
        const ctr_later_row row = {.rowid = rows->rowid,
                                   .before = merge->before,
                                   .giver = merge->giver,
                                   .was_live = merge->was_live,
                                   .begins = replicated && merge->begins,
                                   .taken = replicated ? merge->taken : NULL};
        ctr_later_add(merge->later, &merge->showing, &row, problem);
        return;
    }
    const ctr_row_cell *cell = replicated ? ctr_rows_row(rows, problem) : NULL;
    const ctr_merged_row merged = {.was_live = merge->was_live,
                                   .is_live = cell && ctr_row_cell_is_live(cell),
                                   .begins = merge->begins,
                                   .values = values};
    ctr_showing *showing = &merge->showing;
    showing->merged = cell ? &merged : NULL;
    if (showing->withheld || ctr_showing_touches(showing, merge->now, problem))
        ctr_showing_list(showing, rows->rowid, merge->keys, merge->before, merge->now, problem);
    else
        ctr_showing_row(showing, rows->rowid, merge->keys, NULL, merge->before, merge->now,
                        problem);
    showing->merged = NULL;
    showing->withheld = false;
}

bool ctr_merge_write_values(ctr_merge *merge, sqlite3_value **values, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK || !ctr_stage_any(&merge->rows)) return false;
    if (merge->tracked && !merge->shape.replicated) note_states(merge);
    for (int i = 0; merge->tracked && i < merge->shape.n_counters; i++)
        merge->now[i] = ctr_stage_state(&merge->rows, i);
    ctr_conn *conn = merge->rows.tab->file->conn;
    unsigned nth = conn->ended;
    refuse_broken_keys(merge, problem);
    if (merge->tracked && !merge->later) merge->showing.withheld = is_withheld(merge, problem);
    if (problem->rc != SQLITE_OK) return false;
    const ctr_brought brought = brought_by_row(merge);
    if (ctr_stage_write(&merge->rows, merge->keys, problem)) return false;
    ctr_brought_add(&merge->brought, &brought);
    if (merge->tracked) show_row(merge, values, problem);
    if (problem->rc != SQLITE_OK && merge->tracked && !merge->later) ctr_conn_spoil(conn, nth);
    return problem->rc == SQLITE_OK;
}

bool ctr_merge_write(ctr_merge *merge, ctr_problem *problem)
{
    return ctr_merge_write_values(merge, NULL, problem);
}

int64_t ctr_merge_floors(ctr_merge *merge, sqlite3_value **values, ctr_problem *problem)
{
    ctr_conn *conn = merge->rows.tab->file->conn;
    unsigned nth = conn->ended;
    refuse_broken_keys(merge, problem);
    int64_t gone = ctr_floors_raise(&merge->floors, values, problem);
    if (problem->rc == SQLITE_OK && merge->tracked &&
        ctr_later_show_purged(&merge->showing, &merge->floors, problem))
        ctr_conn_spoil(conn, nth);
    return gone;
}

/* ---- counters that come and go --------------------------------------------------------------- */

/* Reads the shape again after each change of a column. The triggers of a tracked table name its
 * counters, so they are made anew. */
int64_t ctr_merge_generations(ctr_file *file, const char *table, const ctr_shape *from,
                              ctr_problem *problem)
{
    sqlite3 *db = file->conn->db;
    const char *schema = file->schema;
    int64_t generation, changed = 0;
    const char *name, *spelling, **raised = NULL; /* counters that begin anew */
    size_t n_raised = 0, room = 0;
    ctr_shape here = {0};
    ctr_stored_read(&here, db, schema, table, problem);
    ctr_shape_check_keys(from, "the giving file", &here, "the taking file", problem);
    for (int i = 0; problem->rc == SQLITE_OK && (name = ctr_shape_ever(from, i, &generation));
         i++) {
        if (ctr_shape_generation(&here, name, &spelling) >= generation) continue;
        if (ctr_columns_check(&here, db, table, name, problem)) break;
        if (generation % 2 == 0 && ctr_shape_counter(&here, name) < 0) {
            ctr_columns_raise(file, table, &here, name, generation, problem);
            continue;
        }
        const char **more = ctr_array_room(raised, &room, n_raised + 1, sizeof *raised, problem);
        if (!more) break;
        raised = more;
        raised[n_raised++] = name;
        changed += ctr_columns_ask(db, schema, table, name, generation, problem);
        ctr_shape_close(&here);
        ctr_stored_read(&here, db, schema, table, problem);
    }
    ctr_shape_close(&here);
    ctr_stored_read(&here, db, schema, table, problem);
    ctr_triggers_follow(file, table, &here, raised, (int)n_raised, problem);
    ctr_shape_close(&here);
    sqlite3_free(raised);
    return changed;
}
