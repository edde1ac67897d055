/* merge/merge.c - merges cells into one table, row by row; what a merge has brought, and what stops
 * it: conflicts, rows that differ, openings without an answer. */
#include "merge/merge.h"

#include <string.h>

/* =================================================================================================
 * brought - adds up what merges have brought. */

/* Returns whether it has anything. */
static bool brought_any(const ctr_brought *brought)
{
    return brought->deleted > 0 || brought->replaced > 0 || brought->met > 0 ||
           brought->conflicts > 0 || brought->left_out > 0 || brought->ahead.number > 0;
}

/* Returns the number beyond which stamps are more than a day ahead of this machine now. */
static int64_t brought_tomorrow(void)
{
    return ctr_batch_stamp_number(0) + INT64_C(86400000) * CTR_STAMPS_IN_MS;
}

/* Notes a stamp if it is beyond that number. */
static void brought_stamp(ctr_brought *to, const ctr_stamp *stamp, int64_t tomorrow)
{
    ctr_stamp ahead = *stamp;
    ahead.number = ctr_stamp_time(stamp->number);
    if (ahead.number > tomorrow && ahead.number > to->ahead.number) to->ahead = ahead;
}

void ctr_brought_add(ctr_brought *to, const ctr_brought *more)
{
    to->deleted += more->deleted;
    to->replaced += more->replaced;
    to->met += more->met;
    to->conflicts += more->conflicts;
    if (more->left_out > to->left_out) to->left_out = more->left_out;
    if (more->ahead.number > to->ahead.number) to->ahead = more->ahead;
}

void ctr_brought_list_add(ctr_conn *conn, ctr_brought_list *list, const char *birth,
                          const ctr_brought *more)
{
    size_t i = 0;
    if (!brought_any(more)) return;
    while (i < list->n && sqlite3_stricmp(list->tables[i].birth, birth) != 0) i++;
    struct ctr_brought_table *tables =
        ctr_array_room(conn, list->tables, &list->room, i + 1, sizeof *tables);
    if (!tables) return;
    list->tables = tables;
    if (i == list->n) {
        tables[i] = (struct ctr_brought_table){.birth = ctr_text_copy(conn, birth)};
        if (!tables[i].birth) return;
        list->n++;
    }
    bool is_open = list == conn->brought && conn->told > 0;
    ctr_brought_add(is_open ? &tables[i].open : &tables[i].brought, more);
}

static void end_brought(void *of, bool committed)
{
    ctr_brought_list *list = of;
    for (size_t i = 0; i < list->n; i++) {
        if (committed) ctr_brought_add(&list->tables[i].brought, &list->tables[i].open);
        list->tables[i].open = (ctr_brought){0};
    }
}

static void forget_passed(ctr_passed *passed)
{
    sqlite3_free(passed->birth);
    sqlite3_free(passed->peer);
    sqlite3_free(passed->why);
}

void ctr_brought_list_pass(ctr_conn *conn, ctr_brought_list *list, const struct ctr_report_row *row,
                           const char *peer, ctr_side side)
{
    size_t i = 0;
    while (i < list->n_passed &&
           (list->passed[i].side != side || strcmp(list->passed[i].peer, peer) != 0 ||
            sqlite3_stricmp(list->passed[i].birth, row->birth) != 0))
        i++;
    if (i < list->n_passed) {
        forget_passed(&list->passed[i]);
        list->passed[i] = list->passed[--list->n_passed];
    }
    if (!row->passed[side]) return;
    ctr_passed *passed =
        ctr_array_room(conn, list->passed, &list->room_passed, list->n_passed + 1, sizeof *passed);
    if (!passed) return;
    list->passed = passed;
    ctr_passed copy = {.birth = ctr_text_copy(conn, row->birth),
                       .peer = ctr_text_copy(conn, peer),
                       .side = side,
                       .why = ctr_text_copy(conn, row->passed[side])};
    if (copy.birth && copy.peer && copy.why)
        passed[list->n_passed++] = copy;
    else
        forget_passed(&copy);
}

void ctr_brought_list_close(ctr_brought_list *list)
{
    for (size_t i = 0; i < list->n; i++) sqlite3_free(list->tables[i].birth);
    for (size_t i = 0; i < list->n_passed; i++) forget_passed(&list->passed[i]);
    sqlite3_free(list->tables);
    sqlite3_free(list->passed);
    *list = (ctr_brought_list){0};
}

static void close_brought(void *list)
{
    ctr_brought_list_close(list);
    sqlite3_free(list);
}

ctr_brought_list *ctr_brought_of(ctr_conn *conn)
{
    if (!conn->brought) {
        conn->brought = sqlite3_malloc64(sizeof(ctr_brought_list));
        if (conn->brought) *(ctr_brought_list *)conn->brought = (ctr_brought_list){0};
        conn->close_brought = close_brought;
        conn->end_brought = end_brought;
    }
    return conn->brought;
}

/* =================================================================================================
 * conflicts - finds and records conflicts. */

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
    /* Files may have revived one row with different values: table/table.h. */
    if (same_life && own && own->clock == shard->clock && ctr_id_is_opening(shard->id)) return NULL;
    bool same = own && own->value == shard->value && ctr_cell_grants_alike(mine, theirs, shard->id);
    if (same_life && own && own->clock == shard->clock)
        return same ? NULL : is_mine ? "own" : "values";
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

/* Returns whether this pair of cells has no conflict. */
static bool conflicts_none(const ctr_conflicts *conflicts, const ctr_cell *mine,
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

static void record(const ctr_conflicts *conflicts, const conflict *found)
{
    ctr_run run = ctr_file_run(conflicts->file);
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

/* Records the conflicts of this pair; `key` as a message shows it. Returns the number of rows. */
static int64_t conflicts_record(ctr_conn *conn, ctr_conflicts *conflicts, const char *table,
                                const char *key, const char *column, const ctr_cell *mine,
                                const ctr_cell *theirs)
{
    ctr_shard shard, left;
    size_t at = 0, mine_at = 0;
    int64_t n = 0;
    bool more = ctr_cell_next(mine, &mine_at, &left);
    while (ctr_rc(conn) == SQLITE_OK && ctr_cell_next(theirs, &at, &shard)) {
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
        record(conflicts, &found);
        if (ctr_rc(conn) == SQLITE_OK && strcmp(why, "own") == 0) conflicts->own = true;
        n++;
    }
    return n;
}

/* ---- cells with a token ---------------------------------------------------------------------- */

int ctr_conflicts_read_own(ctr_own_ids *own, ctr_file *file)
{
    if (own->read_at == file->version) return ctr_rc(file->conn);
    ctr_run run = ctr_file_run(file);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_IDENTITY_OWN);
    own->n = 0;
    while (ctr_run_row(&run, row)) {
        const void *id = sqlite3_column_blob(row, 0);
        if (!id || sqlite3_column_bytes(row, 0) != CTR_ID_SIZE) continue;
        uint8_t *ids = ctr_array_room(file->conn, own->ids, &own->room, own->n + 1, CTR_ID_SIZE);
        if (!ids) break;
        own->ids = ids;
        memcpy(ids + own->n++ * CTR_ID_SIZE, id, CTR_ID_SIZE);
    }
    sqlite3_finalize(row);
    own->read_at = ctr_rc(file->conn) == SQLITE_OK ? file->version : 0;
    return ctr_rc(file->conn);
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
static void record_left_out(ctr_conn *conn, ctr_conflicts *conflicts, const ctr_sent_cell *sent,
                            const ctr_shard *shard)
{
    ctr_shard mine;
    bool same_life = sent->mine->life == sent->theirs->life;
    bool is_here = same_life && ctr_cell_shard(sent->mine, shard->id, &mine);
    bool differs = is_here && mine.clock == shard->clock && mine.value != shard->value;
    if (!differs && !is_ahead(sent->mine, sent->theirs, is_here ? &mine : NULL, shard)) return;

    char *key = sent->row->found ? ctr_row_key_text(sent->row, sent->row->rowid)
                                 : ctr_problem_describe_key(sent->keys, sent->n_keys);
    char *why = sqlite3_mprintf("device %s", sent->device);
    if (!key || !why) ctr_problem_nomem(conn);
    const conflict found = {.table = sent->table,
                            .key = key,
                            .column = sent->column,
                            .why = why,
                            .mine = is_here ? &mine : NULL,
                            .theirs = shard};
    if (ctr_rc(conn) == SQLITE_OK) record(conflicts, &found);
    sqlite3_free(key);
    sqlite3_free(why);
    conflicts->file->conn->stats.refused++;
    if (memcmp(shard->id, conflicts->mine, CTR_ID_SIZE) == 0) conflicts->own = true;
}

/* Returns whether a cell has an opening that counts and is greater, by value and then by id. */
static bool has_greater(const ctr_cell *cell, const ctr_shard *opening)
{
    ctr_shard shard;
    for (size_t at = 0; ctr_openings_next(cell, &at, &shard);) {
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

/* What a cell that came with a token is compared with. */
typedef struct leaving_out {
    const ctr_conflicts *conflicts;
    const ctr_own_ids *own;
    const ctr_sent_cell *sent;
} leaving_out;

static bool is_left_in(const void *with, const ctr_shard *shard)
{
    const leaving_out *what = with;
    return !is_of_mine(what->conflicts, what->own, shard) && !is_changed_opening(what->sent, shard);
}

size_t ctr_conflicts_leave_out(ctr_conn *conn, ctr_conflicts *conflicts, const ctr_own_ids *own,
                               const ctr_sent_cell *sent, uint8_t *out)
{
    ctr_shard shard;
    const leaving_out what = {conflicts, own, sent};
    const ctr_own_filter left_in = {is_left_in, &what};
    for (size_t at = 0; ctr_cell_next(sent->theirs, &at, &shard);)
        if (!is_left_in(&what, &shard)) record_left_out(conn, conflicts, sent, &shard);
    return ctr_cell_own(sent->theirs, &left_in, out);
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

void ctr_conflicts_change_identity(ctr_conflicts *conflicts, ctr_file *file)
{
    bool own = conflicts->own, replaced = conflicts->replaced;
    if (ctr_rc(file->conn) != SQLITE_OK) return;
    conflicts->own = conflicts->replaced = false;
    if (own) ctr_succession_lineage_changed(file, CTR_WHY_CONFLICT);
    if (own) ctr_renumber_leave(file);
    if (replaced && !own) ctr_succession_yield(file);
}

void ctr_conflicts_open(ctr_conflicts *conflicts, ctr_file *file, const ctr_objects *objects,
                        const ctr_identity *mine, const ctr_identity *source)
{
    *conflicts = (ctr_conflicts){.file = file};
    ctr_conflicts_set_mine(conflicts, mine);
    memcpy(conflicts->theirs, source->id, CTR_ID_SIZE);
    ctr_run run = ctr_file_run(file);
    ctr_pair last = {0, 0}, now = source->lineage.pair;
    if (!ctr_schema_objects_find(objects, "counter_sources"))
        ctr_run_do(&run, CTR_SQL_KNOWN_CREATE, NULL);
    if (*source->refuses) return; /* it writes nothing under its id */
    bool known = ctr_names_witness(file, source, &last);
    conflicts->went_back = known && (now.number < last.number ||
                                     (now.number == last.number && now.random != last.random));
    if (!known || now.number > last.number) ctr_names_write(file, source);
}

/* =================================================================================================
 * drift - compares rows that two files began to replicate apart. */

static bool is_number(sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

/* 1 and 1.0 are one value: the columns may be declared differently. */
static bool is_one_value(sqlite3_value *a, sqlite3_value *b)
{
    if (ctr_text_same(a, b)) return true;
    return is_number(a) && is_number(b) && sqlite3_value_double(a) == sqlite3_value_double(b);
}

static void note_row(ctr_merge *merge, int column, sqlite3_value *mine, sqlite3_value *theirs)
{
    ctr_drift *drift = &merge->drift;
    const ctr_registry *registry = ctr_regular_of(merge->row.tab);
    if (drift->rows++ > 0 || !registry) return;
    drift->key = ctr_problem_describe_key(merge->keys, merge->shape.n_keys);
    drift->column = ctr_text_copy(merge->conn, registry->columns[column].noted);
    drift->values[0] = ctr_problem_describe_value(mine);
    drift->values[1] = ctr_problem_describe_value(theirs);
    if (!drift->key || !drift->values[0] || !drift->values[1]) ctr_problem_nomem(merge->conn);
}

void ctr_drift_compare(ctr_merge *merge, sqlite3_value *const *theirs, const int *map)
{
    ctr_row_values *mine = &merge->mine;
    if (ctr_rc(merge->conn) != SQLITE_OK) return;
    if (!mine->tab) ctr_row_values_open(mine, merge->row.tab);
    ctr_row_values_read(mine, merge->row.rowid, merge->keys);
    for (int i = 0; ctr_rc(merge->conn) == SQLITE_OK && i < mine->n; i++) {
        sqlite3_value *value = map[i] >= 0 ? theirs[map[i]] : NULL;
        if (!merge->row.join.apart[i] || !mine->given[i] || !value ||
            is_one_value(mine->given[i], value))
            continue;
        note_row(merge, i, mine->given[i], value);
        break;
    }
    ctr_row_values_reset(mine);
}

static void forget_drift(ctr_drift *drift)
{
    sqlite3_free(drift->key);
    sqlite3_free(drift->column);
    sqlite3_free(drift->values[0]);
    sqlite3_free(drift->values[1]);
    *drift = (ctr_drift){0};
}

/* Frees what was noted. ctr_merge_close does this. */
static void drift_close(ctr_merge *merge)
{
    forget_drift(&merge->drift);
    ctr_row_values_close(&merge->mine);
}

void ctr_drift_refuse(ctr_merge *merge, const char *table, const char *here, const char *there,
                      bool gives)
{
    ctr_drift *drift = &merge->drift;
    const char *two = merge->shape.keyed
                          ? "; if they are two rows that got one number, make neither call, which "
                            "would delete one of them: merge such files before they are "
                            "replicated, as docs/merge.md describes"
                          : "";
    if (drift->rows > 0 && ctr_rc(merge->conn) == SQLITE_OK)
        ctr_problem_set(
            merge->conn, SQLITE_ERROR,
            "two files began to replicate it apart, and %lld row%s that both had: row "
            "%s, column %s: %s %s, %s %s: call counter_replicate(%Q, 'values=newest') in the file "
            "whose values win, or counter_replicate(%Q, 'values=oldest') in the other; what was "
            "written since then stays newer%s",
            (long long)drift->rows, drift->rows == 1 ? " differs" : "s differ", drift->key,
            drift->column, drift->values[gives], gives ? there : here, drift->values[!gives],
            gives ? here : there, table, table, two);
    forget_drift(drift);
}

/* =================================================================================================
 * answers - takes answers about openings, and refuses rows that await one. */

static void stage_reduced(ctr_merge *merge, int counter)
{
    ctr_row *row = &merge->row;
    const ctr_cell *cell = &row->cells[counter];
    size_t size;
    uint8_t *out = ctr_row_room(row, cell->size + 1);
    if (out && ctr_openings_reduce(merge->conn, &merge->openings, cell, out, &size))
        ctr_row_set(row, counter, size);
}

/* Lists the rows that the answers change. */
static void list_rows_to_reduce(ctr_merge *merge, ctr_changes *due)
{
    ctr_walk walk;
    ctr_row *row = &merge->row;
    size_t size;
    ctr_stream_walk_open(&walk, row, CTR_WALK_ALL, 0);
    while (ctr_stream_walk_next(&walk)) {
        bool reduces = false;
        for (int i = 0; i < row->shape->n_counters && !reduces && ctr_rc(merge->conn) == SQLITE_OK;
             i++) {
            ctr_cell cell;
            if (ctr_row_open_cell(row, walk.row, CTR_WALK_COLUMNS + row->shape->counters[i], i,
                                  &cell))
                break;
            merge->reduced.size = 0;
            uint8_t *out = ctr_pack_room(merge->conn, &merge->reduced, cell.size + 1);
            reduces = out && ctr_openings_reduce(merge->conn, &merge->openings, &cell, out, &size);
        }
        int64_t id = sqlite3_column_int64(walk.row, CTR_WALK_ID);
        if (reduces) ctr_changes_add(merge->conn, due, &(ctr_change_of_row){.row = id});
    }
    ctr_stream_walk_close(&walk);
}

/* Reduces each row of the table after an answer. Rows are listed first, for a row that is written
 * may move in the walk. Returns the number of rows that changed. */
static int64_t reduce_rows(ctr_merge *merge)
{
    ctr_row *row = &merge->row;
    ctr_changes due = {0};
    int64_t changed = 0;
    list_rows_to_reduce(merge, &due);
    size_t n_keys = (size_t)row->shape->n_keys;
    sqlite3_value **keys = sqlite3_malloc64(n_keys * sizeof *keys);
    if (!keys) ctr_problem_nomem(merge->conn);
    for (size_t i = 0; keys && i < due.n && ctr_rc(merge->conn) == SQLITE_OK; i++) {
        bool there = ctr_row_key_of(row, due.rows[i].row, keys) &&
                     ctr_row_find_rowid(row, due.rows[i].row) == SQLITE_OK;
        merge->keys = keys;
        if (there) ctr_merge_counters(merge);
        for (int c = 0; there && c < row->shape->n_counters; c++) stage_reduced(merge, c);
        row->also_here = true;
        changed += there && ctr_merge_write(merge);
        for (size_t k = 0; k < n_keys; k++) sqlite3_value_free(keys[k]);
    }
    sqlite3_free(keys);
    sqlite3_free(due.rows);
    return changed;
}

int64_t ctr_answers_take(ctr_merge *merge, const uint8_t *answers, size_t n)
{
    size_t added = 0;
    ctr_openings *openings = n > 0 ? ctr_merge_openings(merge) : NULL;
    ctr_run run = ctr_tab_run(merge->row.tab);
    for (size_t i = 0; openings && i < n && ctr_rc(merge->conn) == SQLITE_OK; i++) {
        const uint8_t *answer = answers + i * CTR_ANSWER_SIZE;
        if (!ctr_openings_add(merge->conn, openings, answer)) continue;
        if (added++ == 0 && ctr_file_before_write(merge->row.tab->file) == SQLITE_OK) {
            ctr_fold_table(merge->row.tab); /* the change says that all is folded */
            merge->number = ctr_batch_mark_change(merge->row.tab);
        }
        ctr_openings_record_answer(&run, answer, merge->number);
        ctr_rights_forget(merge->row.tab);
        merge->openings_read_at = ++merge->row.tab->file->conn->answered + 1;
    }
    return added > 0 && ctr_rc(merge->conn) == SQLITE_OK ? reduce_rows(merge) : 0;
}

void ctr_answers_declare_holders(ctr_merge *merge)
{
    const ctr_openings *openings = ctr_merge_openings(merge);
    const size_t n_own = openings ? openings->n_own : 0;
    size_t n = 0;
    uint8_t *answers = n_own > 0 ? sqlite3_malloc64(n_own * CTR_ANSWER_SIZE) : NULL;
    if (n_own > 0 && !answers) ctr_problem_nomem(merge->conn);
    for (size_t i = 0; answers && i < n_own; i++) {
        const uint8_t *own = openings->own + i * CTR_ID_SIZE;
        if (ctr_openings_is_held(openings, own)) continue; /* what is said later is a debt */
        ctr_openings_write_holder(
            answers + n++ * CTR_ANSWER_SIZE, own,
            ctr_openings_is_same(openings, own) ? NULL : openings->makers + i * CTR_ID_SIZE);
    }
    if (answers && ctr_rc(merge->conn) == SQLITE_OK) ctr_answers_take(merge, answers, n);
    sqlite3_free(answers);
}

void ctr_answers_declare_in(ctr_file *file, const char *table)
{
    ctr_merge merge;
    ctr_catalog_entry entry = {0};
    ctr_conflicts conflicts = {.file = file};
    ctr_catalog_named(&entry, file->conn, file->schema, table);
    if (ctr_rc(file->conn) == SQLITE_OK) {
        if (ctr_merge_open_table(&merge, file, &entry, &conflicts))
            ctr_answers_declare_holders(&merge);
        ctr_merge_close(&merge);
    }
    ctr_catalog_close_entry(&entry);
}

/* =================================================================================================
 * merge - opens a table, finds its rows, merges cells and writes them. */

bool ctr_merge_open(ctr_merge *merge, ctr_file *file, const char *birth, ctr_conflicts *conflicts)
{
    ctr_catalog_entry entry = {0};
    *merge = (ctr_merge){.conn = file->conn};
    bool open = ctr_rc(file->conn) == SQLITE_OK &&
                ctr_catalog_born(&entry, file->conn, file->schema, birth) &&
                ctr_merge_open_table(merge, file, &entry, conflicts);
    ctr_catalog_close_entry(&entry);
    return open;
}

bool ctr_merge_open_table(ctr_merge *merge, ctr_file *file, const ctr_catalog_entry *entry,
                          ctr_conflicts *conflicts)
{
    *merge =
        (ctr_merge){.conn = file->conn, .conflicts = conflicts, .tomorrow = brought_tomorrow()};
    if (ctr_rc(file->conn) != SQLITE_OK || ctr_catalog_copy(file->conn, &merge->entry, entry))
        return false;
    const char *name = merge->entry.name;
    const ctr_objects *objects = ctr_file_objects(file);
    if (!objects || ctr_tab_read_shape(file, name, &merge->shape) ||
        ctr_refuse_triggers_among(objects, name, true))
        return false;
    ctr_row_open(&merge->row, file, name, &merge->shape);
    merge->row.whole = true;
    merge->floors = ctr_floors_on(merge->row.tab, &merge->shape);
    if (ctr_rc(file->conn) != SQLITE_OK || !ctr_tracked_is_among(objects, name))
        return ctr_rc(file->conn) == SQLITE_OK;
    merge->tracked = merge->row.arrives = true;
    ctr_row_open_joins(&merge->row);
    if (ctr_rc(file->conn) == SQLITE_OK) ctr_showing_open(&merge->showing, merge->row.tab);
    ctr_spread_read(&merge->spread, merge->row.tab);
    return ctr_rc(file->conn) == SQLITE_OK;
}

void ctr_merge_close(ctr_merge *merge)
{
    if (merge->tracked) ctr_showing_close(&merge->showing);
    drift_close(merge);
    ctr_openings_close(&merge->openings);
    sqlite3_free(merge->reduced.bytes);
    sqlite3_free(merge->unanswered.key);
    ctr_row_close(&merge->row);
    ctr_shape_close(&merge->shape);
    ctr_catalog_close_entry(&merge->entry);
    *merge = (ctr_merge){.conn = merge->conn};
}

int ctr_merge_refuse_key(ctr_conn *conn)
{
    if (ctr_run_is_utf16(conn))
        ctr_problem_set(conn, SQLITE_ERROR,
                        "a key has U+FFFE or U+FFFF, which SQLite stores as U+FFFD in a UTF-16 "
                        "file: two rows would become one");
    return ctr_rc(conn);
}

int ctr_merge_check_key(ctr_merge *merge, sqlite3_value **keys)
{
    merge->keys = keys;
    merge->row_unanswered = merge->ends = false;
    merge->newest.number = 0;
    for (int i = 0; i < merge->shape.n_keys && ctr_rc(merge->conn) == SQLITE_OK; i++) {
        if (sqlite3_value_type(keys[i]) != SQLITE_TEXT) continue;
        const unsigned char *text = sqlite3_value_text(keys[i]);
        if (text && ctr_text_has_noncharacter(text, (size_t)sqlite3_value_bytes(keys[i])))
            ctr_merge_refuse_key(merge->conn);
    }
    return ctr_rc(merge->conn);
}

bool ctr_merge_is_wanted(ctr_merge *merge, sqlite3_value **keys)
{
    return !ctr_floors_is_below(&merge->floors, keys) && ctr_rc(merge->conn) == SQLITE_OK;
}

bool ctr_merge_find(ctr_merge *merge, sqlite3_value **keys)
{
    if (ctr_merge_check_key(merge, keys) || ctr_row_find_key(&merge->row, keys)) return false;
    return merge->row.found || ctr_merge_is_wanted(merge, keys);
}

/* ---- openings -------------------------------------------------------------------------------- */

ctr_openings *ctr_merge_openings(ctr_merge *merge)
{
    const ctr_row *row = &merge->row;
    unsigned now = row->tab->file->conn->answered + 1;
    if (ctr_rc(merge->conn) == SQLITE_OK && merge->openings_read_at != now) {
        ctr_openings_close(&merge->openings);
        ctr_openings_read(&merge->openings, row->tab);
        merge->openings_read_at = ctr_rc(merge->conn) == SQLITE_OK ? now : 0;
    }
    return ctr_rc(merge->conn) == SQLITE_OK ? &merge->openings : NULL;
}

static void note_unanswered(ctr_merge *merge, const ctr_cell *mine, const ctr_shard pair[2])
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
    if (!noted->key) ctr_problem_nomem(merge->conn);
}

/* Reduces the openings of a joined cell, which is not longer then, and notes those without an
 * answer. */
static void reduce_openings(ctr_merge *merge, const ctr_cell *mine, ctr_cell *cell)
{
    ctr_shard pair[2];
    size_t size;
    if (ctr_openings_count(cell) < 2) return;
    ctr_openings *openings = ctr_merge_openings(merge);
    merge->reduced.size = 0;
    uint8_t *out = ctr_pack_room(merge->conn, &merge->reduced, cell->size);
    if (!openings || !out) return;
    if (ctr_openings_reduce(merge->conn, openings, cell, out, &size)) {
        uint8_t *joined = ctr_row_room(&merge->row, size);
        if (joined) memcpy(joined, out, size);
        if (joined) *cell = ctr_cell_written(joined, size);
        merge->row.also_here = true;
    }
    if (merge->later && ctr_openings_unanswered(merge->conn, openings, cell, pair))
        note_unanswered(merge, mine, pair);
}

/* ---- cells ----------------------------------------------------------------------------------- */

int ctr_merge_check_clocks(ctr_conn *conn, const ctr_cell *theirs)
{
    ctr_shard shard;
    size_t at = 0;
    while (ctr_rc(conn) == SQLITE_OK && ctr_cell_next(theirs, &at, &shard)) {
        if (shard.clock <= CTR_CLOCK_MAX) continue;
        char id[CTR_ID_TEXT_SIZE];
        ctr_id_to_text(shard.id, id);
        ctr_problem_set(conn, SQLITE_ERROR,
                        "the shard of %s has the clock %lld, and the highest is %lld", id,
                        (long long)shard.clock, (long long)CTR_CLOCK_MAX);
    }
    return ctr_rc(conn);
}

static int refuse_clock(const ctr_merge *merge, int counter)
{
    char *key = ctr_problem_describe_key(merge->keys, merge->shape.n_keys);
    if (!key) {
        ctr_problem_clear(merge->conn);
        return ctr_problem_nomem(merge->conn);
    }
    ctr_problem_where(merge->conn, "row %s: column %s", key,
                      ctr_shape_counter_name(&merge->shape, counter));
    sqlite3_free(key);
    return ctr_rc(merge->conn);
}

int ctr_merge_cell(ctr_merge *merge, int counter, const ctr_cell *theirs)
{
    ctr_row *row = &merge->row;
    const ctr_cell *mine = &row->cells[counter];
    ctr_stats *stats = &row->tab->file->conn->stats;
    stats->merges++;
    if (ctr_rc(merge->conn) != SQLITE_OK || ctr_cell_same(mine, theirs)) return ctr_rc(merge->conn);
    const ctr_trimmed trimmed = ctr_cell_trim(mine, theirs);
    if (ctr_merge_check_clocks(merge->conn, &trimmed.b)) return refuse_clock(merge, counter);
    if (!conflicts_none(merge->conflicts, &trimmed.a, &trimmed.b)) {
        merge->deferred = merge->within;
        if (merge->within) return ctr_rc(merge->conn);
        const char *column = merge->shape.columns[merge->shape.counters[counter]].name;
        char *key = ctr_problem_describe_key(merge->keys, merge->shape.n_keys);
        if (!key) ctr_problem_nomem(merge->conn);
        int64_t n = conflicts_record(merge->conn, merge->conflicts, merge->entry.birth, key, column,
                                     &trimmed.a, &trimmed.b);
        merge->brought.conflicts += n;
        stats->conflicts += n;
        sqlite3_free(key);
    }

    ctr_cell joined = ctr_row_join_cell(row, counter, theirs);
    reduce_openings(merge, mine, &joined);
    if (ctr_rc(merge->conn) == SQLITE_OK && ctr_row_set_joined(row, counter, &joined) &&
        !merge->tracked && ctr_cell_is_live(mine) && ctr_cell_is_deleted(&joined))
        merge->ends = true;
    return ctr_rc(merge->conn);
}

/* ---- rows of replicated tables --------------------------------------------------------------- */

void ctr_merge_check_stamp(const ctr_merge *merge, int64_t number)
{
    if (number <= CTR_STAMP_MAX) return;
    char *key = ctr_problem_describe_key(merge->keys, merge->shape.n_keys);
    if (!key) ctr_problem_nomem(merge->conn);
    ctr_problem_set(merge->conn, SQLITE_ERROR,
                    "row %s has a stamp with the number %lld, which lies beyond the year 2200; the "
                    "highest is %lld",
                    key, (long long)number, (long long)CTR_STAMP_MAX);
    sqlite3_free(key);
}

/* Returns whether SQLite has given one number to two rows, which become one: this file has inserted
 * the one, another file the other, and neither has seen the INSERT of the other. A REPLACE is seen
 * as an INSERT. */
static bool is_met(const ctr_merge *merge, const ctr_row_cell *mine, const ctr_row_cell *theirs)
{
    const uint8_t *own = merge->conflicts->mine, *other = theirs->row.id;
    return merge->shape.keyed && !mine->born && !theirs->born && mine->life == theirs->life &&
           ctr_row_cell_is_live(mine) && mine->row.number > CTR_STAMP_BEGAN_MAX &&
           theirs->row.number > CTR_STAMP_BEGAN_MAX &&
           memcmp(mine->row.id, own, CTR_ID_SIZE) == 0 && memcmp(other, own, CTR_ID_SIZE) != 0;
}

ctr_row_outcome ctr_merge_row(ctr_merge *merge, const ctr_row_cell *theirs, const int *map,
                              int64_t giver)
{
    ctr_row *row = &merge->row;
    int64_t highest = ctr_row_cell_highest(theirs);
    bool is_live = ctr_row_cell_is_live(theirs); /* a row has no generation, only its columns */
    if (is_live && theirs->row.number > highest) highest = theirs->row.number;
    if (theirs->born && theirs->birth.number > highest) highest = theirs->birth.number;
    ctr_merge_check_stamp(merge, highest);
    const ctr_row_cell *mine = ctr_row_stamps(row);
    if (mine && ctr_row_cell_is_live(mine) && ctr_row_cell_age(mine, theirs) > 0)
        ctr_renumber_list(merge);
    merge->brought.met += mine && is_met(merge, mine, theirs);
    ctr_row_outcome outcome = ctr_row_join(row, theirs, map);
    mine = ctr_row_stamps(row);
    if (!mine) return CTR_ROW_STAYS;
    merge->giver = giver;
    if (ctr_row_sets_stamps(row) && ctr_row_cell_is_live(mine))
        merge->newest = *ctr_row_cell_newest(theirs);
    merge->ends = row->join.was_live && !ctr_row_cell_is_live(mine);
    return outcome;
}

void ctr_merge_counters(ctr_merge *merge)
{
    merge->giver = 0;
    ctr_row_join_counters(&merge->row);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Returns what the staged row brings. One of a replicated table ends with its row cell, one of a
 * counter table with its last counter; in any other tracked table rows do not end. */
static ctr_brought brought_by_row(const ctr_merge *merge)
{
    ctr_brought brought = {0};
    bool ends = merge->ends;
    for (int i = 0; ends && !merge->tracked && i < merge->shape.n_counters; i++) {
        ctr_summary state = ctr_row_staged_state(&merge->row, i);
        ends = !ctr_summary_counts(&state);
    }
    brought.deleted = ends;
    brought_stamp(&brought, &merge->newest, merge->tomorrow);
    return brought;
}

void ctr_merge_begin(ctr_merge *merge)
{
    merge->within = true;
    merge->deferred = false;
    merge->stats = merge->row.tab->file->conn->stats;
}

bool ctr_merge_end(ctr_merge *merge)
{
    merge->within = false;
    if (merge->deferred) merge->row.tab->file->conn->stats = merge->stats;
    if (merge->deferred || !ctr_row_is_staged(&merge->row)) return !merge->deferred;
    const ctr_brought brought = brought_by_row(merge);
    ctr_brought_add(&merge->brought, &brought);
    if (!merge->tracked) return true;
    ctr_row_before(&merge->row);
    ctr_later_add(merge->later, &merge->showing, &merge->row, 0);
    return true;
}

/* Returns whether some counter of the row, also one that this merge leaves alone, has openings
 * without an answer. A pull refuses them. */
static bool is_withheld(ctr_merge *merge)
{
    bool withheld = false;
    for (int i = 0; i < merge->shape.n_counters && !withheld; i++) {
        ctr_shard pair[2];
        ctr_cell cell = merge->row.cells[i];
        ctr_row_staged_cell(&merge->row, i, &cell);
        if (ctr_openings_count(&cell) < 2) continue;
        ctr_openings *openings = ctr_merge_openings(merge);
        withheld = openings && ctr_openings_unanswered(merge->conn, openings, &cell, pair);
    }
    return withheld;
}

/* A row of a feed may be shown at once, and fails while a deferred foreign key is broken. So it
 * fails before anything is written. A pull, which shows its rows later, undoes what it has
 * written. */
static void refuse_broken_keys(const ctr_merge *merge)
{
    const ctr_tracked *tracked = merge->showing.tracked;
    if (merge->tracked && !merge->later) ctr_foreign_refuse_broken(tracked->conn, tracked->table);
}

/* Shows the row that was written, now or later. */
static void show_row(ctr_merge *merge, sqlite3_value **values)
{
    ctr_row *row = &merge->row;
    if (merge->later) {
        ctr_later_add(merge->later, &merge->showing, row, merge->giver);
        return;
    }
    const ctr_row_cell *cell = ctr_row_stamps(row);
    const ctr_merged_row merged = {.was_live = row->join.was_live,
                                   .is_live = cell && ctr_row_cell_is_live(cell),
                                   .begins = row->join.begins,
                                   .cell = cell,
                                   .values = values};
    ctr_showing *showing = &merge->showing;
    showing->merged = cell ? &merged : NULL;
    const ctr_summary *before = row->join.before, *now = row->join.after;
    if (showing->withheld || ctr_showing_touches(showing, now))
        ctr_showing_list(showing, row->rowid, merge->keys, before, now);
    else
        ctr_showing_row(showing, row->rowid, merge->keys, NULL, before, now);
    showing->merged = NULL;
    showing->withheld = false;
}

void ctr_merge_note_number(ctr_merge *merge)
{
    ctr_spread *spread = &merge->spread;
    if (spread->is && spread->unsettled != merge->conn->unsettled) { /* a trigger's xBegin jumped */
        ctr_spread_read(spread, merge->row.tab);
        spread->unsettled = merge->conn->unsettled;
    }
    if (!spread->is || !spread->has_place || spread->taken) return;
    int64_t key = sqlite3_value_int64(merge->keys[0]);
    if (key < spread->place || key > spread->most) return;
    ctr_spread_take(merge->row.tab);
    spread->taken = true;
}

bool ctr_merge_write_values(ctr_merge *merge, sqlite3_value **values)
{
    if (ctr_rc(merge->conn) != SQLITE_OK || !ctr_row_is_staged(&merge->row)) return false;
    if (merge->tracked) ctr_row_before(&merge->row);
    if (merge->tracked) ctr_row_after(&merge->row);
    ctr_conn *conn = merge->row.tab->file->conn;
    unsigned nth = conn->ended;
    refuse_broken_keys(merge);
    if (merge->tracked && !merge->later) merge->showing.withheld = is_withheld(merge);
    if (ctr_rc(merge->conn) != SQLITE_OK) return false;
    const ctr_brought brought = brought_by_row(merge);
    bool is_new = !merge->row.found;
    if (ctr_row_write(&merge->row, merge->keys)) return false;
    if (is_new) ctr_merge_note_number(merge);
    ctr_brought_add(&merge->brought, &brought);
    if (merge->tracked) show_row(merge, values);
    if (ctr_rc(merge->conn) != SQLITE_OK && merge->tracked && !merge->later)
        ctr_conn_spoil(conn, nth);
    return ctr_rc(merge->conn) == SQLITE_OK;
}

bool ctr_merge_write(ctr_merge *merge)
{
    return ctr_merge_write_values(merge, NULL);
}

int64_t ctr_merge_floors(ctr_merge *merge, sqlite3_value **values)
{
    ctr_conn *conn = merge->row.tab->file->conn;
    unsigned nth = conn->ended;
    refuse_broken_keys(merge);
    int64_t gone = ctr_floors_raise(&merge->floors, values);
    if (ctr_rc(merge->conn) == SQLITE_OK && merge->tracked &&
        ctr_later_show_purged(&merge->showing, &merge->floors))
        ctr_conn_spoil(conn, nth);
    return gone;
}
