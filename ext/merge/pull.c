/* merge/pull.c - merges a file: its identity, its tables, the values that tracked tables show. */
#include "merge/merge.h"

#include <string.h>

/* =================================================================================================
 * matching - matches the regular columns of a replicated table with those of a source.
 *
 * Columns belong together by the names that they had when they were replicated first
 * (table/table.h), whatever their numbers and present names. One that only we have is not merged,
 * nor is one that only the source has. Where the files disagree on the kind of a column, the table
 * was passed over (merge/kinds.c). */

/* Returns the number of my column at the source, or -1. */
static int match_column(const ctr_regular *mine, const ctr_registry *theirs)
{
    if (!mine->noted || !mine->name) return -1;
    return ctr_regular_named(theirs, mine->name, strlen(mine->name));
}

static void check_affinity(ctr_conn *conn, const ctr_described *mine, const ctr_described *theirs)
{
    if (!mine || !theirs || !mine->type || !theirs->type) return;
    ctr_affinity x = ctr_declaration_affinity(mine->type),
                 y = ctr_declaration_affinity(theirs->type);
    if (x != y)
        ctr_problem_set(
            conn, SQLITE_ERROR,
            "the tables differ in the affinity of column %s: the taking file has %s, the "
            "giving file has %s",
            mine->name, ctr_shape_affinity_name(x), ctr_shape_affinity_name(y));
}

/* Fails with SQLITE_ERROR if two columns of replicated tables differ in their affinity, because
 * values would be converted. */
static void matching_check(const ctr_kinds *mine, const ctr_kinds *theirs)
{
    const ctr_registry *here = ctr_regular_of(mine->tab), *there = ctr_regular_of(theirs->tab);
    for (int i = 0; here && there && i < here->n; i++) {
        int number = match_column(&here->columns[i], there);
        if (number >= 0)
            check_affinity(mine->tab->conn, ctr_tracked_regular_column(mine->tracked, i),
                           ctr_tracked_regular_column(theirs->tracked, number));
    }
}

/* Sets later->map, and opens later->values at the table that `from` counts, for the replicated
 * table that `to` merges into. ctr_later_close closes both. */
static void matching_open(ctr_later *later, const ctr_merge *to, ctr_tab *from)
{
    ctr_row_values_open(&later->values, from);
    const ctr_registry *mine = ctr_regular_of(to->row.tab), *theirs = ctr_regular_of(from);
    if (!mine || !theirs) return;
    later->map = sqlite3_malloc64(((size_t)mine->n + 1) * sizeof *later->map);
    if (!later->map) {
        ctr_problem_nomem(from->conn);
        return;
    }
    later->n_map = mine->n;
    for (int i = 0; i < mine->n; i++) later->map[i] = match_column(&mine->columns[i], theirs);
}

/* Appends the regular columns of the table that `from` counts, as it declares them: "name TEXT NOT
 * NULL, ", for a message. */
static void matching_list_declared(ctr_tab *from, sqlite3_str *out)
{
    ctr_tracked *tracked = ctr_tracked_hold(from);
    for (int i = 0; tracked && i < tracked->n_regular; i++) {
        const char *name = ctr_tracked_regular(tracked, i)->name;
        const ctr_described *column = name ? ctr_ordinary_column(&tracked->ordinary, name) : NULL;
        if (!column) continue;
        sqlite3_str_appendf(out, "%s%s%s%s, ", ctr_tracked_regular(tracked, i)->birth,
                            column->type && *column->type ? " " : "",
                            column->type ? column->type : "", column->not_null ? " NOT NULL" : "");
    }
    ctr_tracked_release(tracked);
}

/* =================================================================================================
 * pull_rows - merges the rows of one table. */

/* One table on both sides while it is merged. */
typedef struct merge_job {
    ctr_pull *pull;
    const ctr_catalog_entry *theirs; /* at the source */
    ctr_newest newest;               /* of that table */
    int64_t mark;                    /* the first number to read; 0: the whole table is read */
    ctr_progress progress;           /* then how far it was read before */
    bool may_stop;                   /* the rest may be left to the next part */
    ctr_shape shape;                 /* of that table */
    ctr_pull_merge *merge;           /* owned, unless it is kept for later */
    ctr_merge *to;                   /* the merge into our table */
    struct ctr_report_row *report;   /* of the table */
    struct ctr_report_done *done;    /* gets the numbers of rows */

    ctr_row from;         /* the rows of the source */
    int *counters;        /* owned: for each counter of `to`, that of `from` to be merged, or -1 */
    sqlite3_value **keys; /* owned: room for a key; that of the row, lent by its statement */
    ctr_walk walk;        /* stands at the source's row */
    bool more;            /* the walk stands at a row */
    ctr_row_cell row;     /* its row cell, of a replicated table; owned columns */
    int room_row;

    /* How the rows of `to` are found. */
    bool empty;   /* `to` had no rows before: the second of two rows with one key is refused */
    bool updates; /* the UPDATE that writes a row also finds it */
    bool finds;   /* any row: those of a tracked table are where they should be */
    bool matched; /* the UPDATE has merged a row */
    int64_t last; /* the id of the row that was merged last */
    int strays;   /* consecutive keys that were not behind the row merged last */
    int resting;  /* keys to pass before the next attempt in order */
    ctr_update update;
} merge_job;

/* Opens the rows of the source; the keys of both tables agree (ctr_shape_check_keys). The caller
 * closes them, even if this fails. */
static void pull_rows_open(merge_job *job)
{
    size_t n = (size_t)job->to->shape.n_counters + 1;
    job->counters = sqlite3_malloc64(n * sizeof *job->counters);
    job->keys = sqlite3_malloc64((size_t)job->to->shape.n_keys * sizeof *job->keys);
    if (!job->counters || !job->keys) {
        ctr_problem_nomem(job->pull->file->conn);
        return;
    }
    for (int i = 0; i < job->to->shape.n_counters; i++) {
        const ctr_column *column = &job->to->shape.columns[job->to->shape.counters[i]];
        job->counters[i] = ctr_shape_counter_of(&job->shape, column->name, column->generation);
    }
    ctr_row_open(&job->from, job->pull->source->file, job->theirs->name, &job->shape);
    job->from.whole = true;
}

static void pull_rows_close(merge_job *job)
{
    ctr_row_close(&job->from);
    sqlite3_free(job->counters);
    sqlite3_free(job->row.columns);
    sqlite3_free(job->keys);
}

static void next_row(merge_job *job)
{
    job->more = ctr_stream_walk_next(&job->walk);
    for (int i = 0; job->more && i < job->from.shape->n_keys; i++) {
        int column = job->from.shape->keys[i];
        job->keys[i] = sqlite3_column_value(job->walk.row, CTR_WALK_COLUMNS + column);
        if (sqlite3_value_type(job->keys[i]) == SQLITE_NULL)
            ctr_problem_set(job->pull->file->conn, SQLITE_CORRUPT_VTAB,
                            "key column %s of the giving file is NULL",
                            job->from.shape->columns[column].name);
    }
    job->more = job->more && ctr_merge_check_key(job->to, job->keys) == SQLITE_OK;
    if (job->more) job->done->read++;
    ctr_levelling *levels = job->pull->report->levels;
    if (job->more && levels && job->to->shape.bounded)
        ctr_levelling_add(levels, job->pull->file->conn, job->theirs->birth, job->keys,
                          job->to->shape.n_keys);
}

static void note_grant(const merge_job *job, int counter, const ctr_cell *theirs)
{
    const ctr_pull *pull = job->pull;
    const ctr_levelling_cells cells = {.mine = &job->to->row.cells[counter],
                                       .theirs = theirs,
                                       .from = pull->giver->id,
                                       .to = job->to->conflicts->mine};
    if (pull->report->levels && job->to->shape.bounded)
        ctr_levelling_note(pull->report->levels, pull->side, &cells);
}

static void merge_all_cells(merge_job *job)
{
    for (int i = 0; i < job->to->shape.n_counters; i++) {
        int theirs = job->counters[i];
        ctr_cell cell;
        if (theirs < 0) continue;
        if (ctr_row_open_cell(&job->from, job->walk.row,
                              CTR_WALK_COLUMNS + job->from.shape->counters[theirs], theirs, &cell))
            return;
        note_grant(job, i, &cell);
        if (ctr_merge_cell(job->to, i, &cell)) return;
    }
}

static bool has_key(const merge_job *job, sqlite3_value **keys)
{
    for (int i = 0; i < job->from.shape->n_keys; i++) {
        bool real = sqlite3_value_type(keys[i]) == SQLITE_FLOAT &&
                    sqlite3_value_type(job->keys[i]) == SQLITE_FLOAT;
        if (real ? sqlite3_value_double(keys[i]) != sqlite3_value_double(job->keys[i])
                 : !ctr_text_alike(keys[i], job->keys[i]))
            return false;
    }
    return true;
}

/* Merges the source's row into the row that an UPDATE has found. In the order of storage both must
 * have the same key; then the walk goes on to the next row. */
static bool merge_found(void *with, sqlite3_value **keys)
{
    merge_job *job = with;
    if (keys && (!job->more || !has_key(job, keys))) return false;
    ctr_merge_begin(job->to);
    merge_all_cells(job);
    if (!ctr_merge_end(job->to)) return false;
    job->last = job->to->row.rowid;
    job->matched = true;
    if (keys && ctr_rc(job->to->conn) == SQLITE_OK) next_row(job);
    return ctr_rc(job->to->conn) == SQLITE_OK;
}

/* The row was there when both files began to replicate the table. */
static void compare_values(merge_job *job, int64_t rowid)
{
    ctr_row_values *theirs = &job->to->later->values; /* of the source */
    ctr_row_values_read(theirs, rowid, job->keys);
    ctr_drift_compare(job->to, theirs->given, job->to->later->map);
    ctr_row_values_reset(theirs);
}

/* Joins the row cells of a replicated table. Returns whether the cells are to be merged. */
static bool join_row_cell(merge_job *job)
{
    if (!job->to->shape.replicated) return true;
    ctr_tab *from = job->from.tab;
    int64_t rowid = sqlite3_column_int64(job->walk.row, CTR_WALK_ID);
    if (!ctr_regular_room(from, &job->row, &job->room_row) ||
        ctr_regular_take(from, job->walk.row, &job->row))
        return false;
    bool merges = ctr_merge_row(job->to, &job->row, job->to->later->map, rowid) != CTR_ROW_STAYS;
    if (merges && job->to->row.join.asks) compare_values(job, rowid);
    return merges;
}

static void write_merged(merge_job *job)
{
    if (!join_row_cell(job)) return;
    merge_all_cells(job);
    if (ctr_merge_write(job->to)) job->done->changed++;
}

static void merge_row(merge_job *job)
{
    ctr_row *row = &job->to->row;
    if (job->empty) {
        if (ctr_row_find_none(row) == SQLITE_OK && ctr_merge_is_wanted(job->to, job->keys))
            write_merged(job);
        return;
    }
    job->matched = false;
    if (job->updates && ctr_update_key(&job->update, job->keys)) job->done->changed++;
    if (ctr_rc(job->pull->file->conn) != SQLITE_OK || job->matched) return;
    bool is_new = job->finds && !row->found && job->update.called;
    if (is_new ? ctr_merge_is_wanted(job->to, job->keys) : ctr_merge_find(job->to, job->keys))
        write_merged(job);
}

/* Merges rows by one statement, as long as both tables have the same order of storage. After STRAYS
 * keys that are in another order it leaves REST keys to merge_row. */
static void merge_in_order(merge_job *job)
{
    enum { STRAYS = 8, REST = 1000 };
    if (job->resting > 0) {
        job->resting--;
        return;
    }
    do {
        job->matched = false;
        job->done->changed += ctr_update_behind(&job->update, job->last);
        if (job->matched) job->strays = 0;
    } while (job->matched && job->more && ctr_rc(job->pull->file->conn) == SQLITE_OK);
    if (++job->strays < STRAYS) return;
    job->strays = 0;
    job->resting = REST;
}

/* Returns whether the rest of the rows may be left to the next part. A table that refers to itself
 * is read at once: then its rows are shown after their parents. */
static bool is_read_in_parts(const merge_job *job)
{
    if (!(job->pull->how & CTR_PULL_PART) || job->mark > 0 ||
        (job->progress.end == 0 && !(job->report->created && job->pull->in_parts)))
        return false;
    const ctr_tracked *tracked = job->to->tracked ? job->to->showing.tracked : NULL;
    const ctr_foreign_keys *keys = tracked ? ctr_foreign_keys_of(job->pull->file) : NULL;
    for (int i = 0; keys && i < keys->n; i++)
        if (sqlite3_stricmp(keys->keys[i].child, tracked->table) == 0 &&
            sqlite3_stricmp(keys->keys[i].parent, tracked->table) == 0)
            return false;
    return true;
}

/* Ends the part, and returns true, if its time is over. */
static bool end_part(merge_job *job)
{
    enum { AT_ONCE = 16 };
    if (!job->may_stop || job->done->read % AT_ONCE != 0) return false;
    job->pull->report->more = ctr_os_now() - job->pull->began >= CTR_PULL_MILLISECONDS;
    return job->pull->report->more;
}

static void open_walk(merge_job *job)
{
    bool goes_on = job->may_stop && job->progress.end > 0;
    if (goes_on)
        ctr_stream_walk_open(&job->walk, &job->from, CTR_WALK_FROM, job->progress.from);
    else
        ctr_stream_walk_open(&job->walk, &job->from, job->mark > 0 ? CTR_WALK_SINCE : CTR_WALK_ALL,
                             job->mark);
}

/* Merges the rows that have changed since the mark, or all if that is 0; of these perhaps one
 * part. */
static void pull_rows_merge(merge_job *job)
{
    ctr_conn *conn = job->pull->file->conn;
    ctr_pull *pull = job->pull;
    if (ctr_rc(conn) != SQLITE_OK) return; /* the rows may not be open */
    job->empty = job->mark == 0 && ctr_row_is_none_stored(&job->to->row);
    job->may_stop = is_read_in_parts(job);
    open_walk(job);
    job->updates = !job->empty && !job->to->shape.replicated &&
                   ctr_update_open(&job->update, &job->to->row, merge_found, job);
    job->finds = job->updates && ctr_home_holds(job->to->row.tab, true);
    job->last = INT64_MIN;
    next_row(job);
    while (job->more && ctr_rc(conn) == SQLITE_OK) {
        if (job->done->changed >= CTR_SESSION_MANY && !pull->asked)
            ctr_session_raise_cache(pull->file);
        pull->asked = pull->asked || job->done->changed >= CTR_SESSION_MANY;
        if (job->updates && job->mark == 0 && !job->may_stop) merge_in_order(job);
        if (!job->more || ctr_rc(conn) != SQLITE_OK) break;
        merge_row(job);
        next_row(job);
        if (job->more && end_part(job)) break;
    }
    if (pull->report->more) {
        job->done->read--; /* the row at hand, which is not merged */
        job->progress =
            (ctr_progress){.end = job->progress.end > 0 ? job->progress.end : pull->giver->next,
                           .from = sqlite3_column_int64(job->walk.row, CTR_WALK_ID)};
    }
    ctr_update_close(&job->update);
    ctr_stream_walk_close(&job->walk);
}

/* =================================================================================================
 * pull_table - merges one table. */

/* ---- floors and answers ---------------------------------------------------------------------- */

/* Runs before the rows are merged because it removes ours below the floors. An earlier pull has
 * taken floors below the mark. */
static void merge_floors(merge_job *job)
{
    ctr_tab *from = job->from.tab;
    if (job->newest.floors == 0 || job->newest.floors < job->mark) return;
    ctr_slot *floors = ctr_floors_read(from);
    for (int i = 0; floors && i < job->shape.n_keys; i++)
        job->keys[i] = sqlite3_column_value(floors->kept.statement, i);
    if (floors) job->done->changed += ctr_merge_floors(job->to, job->keys);
    ctr_tab_give_back(from, floors);
}

/* Takes answers about openings before the rows that they are about. */
static void merge_answers(merge_job *job)
{
    ctr_openings theirs;
    if (ctr_rc(job->pull->file->conn) != SQLITE_OK || job->newest.answers == 0 ||
        job->newest.answers < job->mark)
        return;
    ctr_openings_list(&theirs, job->from.tab, job->mark);
    job->done->changed += ctr_answers_take(job->to, theirs.answers, theirs.n);
    ctr_openings_close(&theirs);
}

/* The user is told the opening that is not in main, and both if main has not made the first. The
 * value of main comes first; `mine` are the openings of main. */
static void refuse_missing(const merge_job *job, const ctr_openings *mine, const char *here,
                           const char *there)
{
    const ctr_unanswered *noted = &job->to->unanswered;
    const char *table = job->report->name;
    bool gives = job->pull->side == CTR_MAIN_GIVES;
    int other = noted->is_here[0] != gives ? 1 : 0;
    bool apart = noted->is_here[0] != noted->is_here[1];
    bool is_own = apart && ctr_openings_is_own(mine, noted->ids[!other]);
    const uint8_t *second = is_own ? NULL : noted->ids[!other];
    char rows[48] = "", *same = ctr_openings_call(table, "same", noted->ids[other], second),
         *add = ctr_openings_call(table, "add", noted->ids[other], second);
    if (noted->rows > 1)
        sqlite3_snprintf(sizeof rows, rows, " (%lld such rows)", (long long)noted->rows);
    if (!same || !add) ctr_problem_nomem(job->to->conn);
    ctr_problem_set(
        job->to->conn, SQLITE_ERROR,
        "two files counted the values that they had when they began to track it: %s: %lld %s, %lld "
        "%s%s: if they were copies of one file, %s, and only the greater value counts; if each had "
        "its own, "
        "%s, and they add up",
        noted->key, (long long)noted->values[!other], noted->is_here[!other] ? here : there,
        (long long)noted->values[other], noted->is_here[other] ? here : there, rows, same, add);
    sqlite3_free(same);
    sqlite3_free(add);
}

/* Fails if rows would show the sum of unanswered openings. `here` and `there` name the two files,
 * and openings that are here are those of main, or, if main gives, of the other file. */
static void answers_refuse_missing(const merge_job *job, const char *here, const char *there)
{
    ctr_conn *conn = job->to->conn;
    ctr_unanswered *noted = &job->to->unanswered;
    bool gives = job->pull->side == CTR_MAIN_GIVES;
    ctr_openings theirs = {0};
    if (noted->rows > 0 && ctr_rc(conn) == SQLITE_OK) {
        if (gives) ctr_openings_read(&theirs, job->from.tab);
        refuse_missing(job, gives ? &theirs : &job->to->openings, here, there);
    }
    ctr_openings_close(&theirs);
    sqlite3_free(noted->key);
    *noted = (ctr_unanswered){0};
}

static void refuse_unanswered(merge_job *job)
{
    const ctr_pull *pull = job->pull;
    bool gives = pull->side == CTR_MAIN_GIVES;
    const char *in_taker =
                   ctr_text_print(job->pull->file->conn, gives ? "in %s" : "here", pull->called),
               *in_giver = ctr_text_print(job->pull->file->conn, gives ? "here" : "in %s",
                                          pull->source->called);
    answers_refuse_missing(job, in_taker, in_giver);
    ctr_drift_refuse(job->to, job->report->name, in_taker, in_giver, gives);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Only the application can create a table that the source tracks: only the key and the counters are
 * known here. */
static void refuse_tracked(const merge_job *job)
{
    ctr_conn *conn = job->pull->file->conn;
    const ctr_shape *shape = &job->shape;
    sqlite3_str *columns = sqlite3_str_new(NULL), *keys = sqlite3_str_new(NULL),
                *counters = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_keys; i++) {
        const ctr_column *column = &shape->columns[shape->keys[i]];
        bool plain = sqlite3_stricmp(column->collation, "BINARY") == 0;
        sqlite3_str_appendf(columns, "%s%s%s%s%s, ", column->name, *column->type ? " " : "",
                            column->type, plain ? "" : " COLLATE ", plain ? "" : column->collation);
        sqlite3_str_appendf(keys, "%s%s", i ? ", " : "", column->name);
    }
    for (int i = 0; i < shape->n_counters; i++) {
        sqlite3_str_appendf(columns, "%s INTEGER, ", ctr_shape_counter_name(shape, i));
        sqlite3_str_appendf(counters, ", '%s'", ctr_shape_counter_name(shape, i));
    }
    if (shape->replicated) {
        ctr_spread spread;
        ctr_tab *from = ctr_tab_of(job->pull->source->file, job->theirs->name, shape);
        if (from) matching_list_declared(from, columns);
        ctr_spread_read(&spread, from);
        if (spread.is) sqlite3_str_appendall(keys, " AUTOINCREMENT");
        if (spread.is) sqlite3_str_appendall(counters, ", 'keys=spread'");
    }
    const char *column_text = ctr_text_built(conn, columns), *key_text = ctr_text_built(conn, keys),
               *counter_text = ctr_text_built(conn, counters);
    const char *birth = job->theirs->birth;
    ctr_problem_set(
        conn, SQLITE_ERROR,
        "the giving file tracks it, and %s has no such table: CREATE TABLE %s(%sPRIMARY "
        "KEY (%s)) %s, then call %s('%s'%s)",
        job->pull->called, birth, column_text, key_text,
        shape->replicated ? "with its constraints" : "with the other columns that it has there",
        shape->replicated ? "counter_replicate" : "counter_track", birth, counter_text);
}

/* Declares the source's shape in SQL of our own: no SQL of the source runs. */
static void create_table(merge_job *job)
{
    ctr_conn *conn = job->pull->file->conn;
    ctr_pull *pull = job->pull;
    const char *birth = job->theirs->birth;
    bool taken = ctr_schema_objects_find(pull->mine, birth) != NULL;
    for (int i = 0; i < pull->here.n && !taken; i++) /* a virtual table may be missing */
        taken = sqlite3_stricmp(pull->here.entries[i].name, birth) == 0;
    if (taken && ctr_kinds_refuse_name(pull->file, pull->called, birth, job->shape.replicated))
        return;
    bool creates = (pull->how & CTR_PULL_CREATES) != 0;
    if ((!creates || job->shape.replicated) &&
        ctr_tracked_is_among(pull->source->objects, job->theirs->name))
        refuse_tracked(job);

    ctr_refuse_triggers_among(pull->mine, NULL, true);
    const char *definition = ctr_shape_declaration(conn, &job->shape);
    ctr_run run = ctr_file_run(pull->file);
    run.slots.table = birth;
    run.slots.definition = definition;
    ctr_run_do(&run, CTR_SQL_SYNC_CREATE_TABLE, NULL);
    ctr_columns_list(pull->file, birth, &job->shape);
    if (ctr_rc(conn) == SQLITE_OK) pull->mine = ctr_file_objects_read_on(pull->file);
    ctr_catalog_list_born(&pull->here, pull->file, birth);
    job->report->created = true;
    job->report->in_empty = pull->in_empty;
    job->report->created_by = pull->side;
}

/* Reads the objects of the target. The pull calls this when it begins, and after it has added or
 * dropped columns. */
static void pull_table_look(ctr_pull *pull)
{
    ctr_conn *conn = pull->file->conn;
    if (ctr_rc(conn) == SQLITE_OK) pull->mine = ctr_file_objects(pull->file);
    if (ctr_rc(conn) == SQLITE_OK) ctr_catalog_read(&pull->here, pull->file);
}

/* Makes a table of the target join the transaction, which checks the identity of the target. Only
 * the first call does anything. */
static void pull_table_join(ctr_pull *pull, const char *table)
{
    ctr_run run = ctr_file_run(pull->file);
    run.slots.table = table;
    ctr_conn *conn = pull->file->conn;
    if (pull->checked && conn->told > 0) return;
    ctr_refuse_triggers_among(pull->mine, table, true);
    bool is_main = strcmp(pull->file->schema, "main") == 0;
    if (!is_main || !ctr_conn_join(conn)) ctr_run_do(&run, CTR_SQL_SYNC_JOIN, NULL);
    const ctr_identity *identity = ctr_file_identity(pull->file);
    if (identity && !pull->checked && pull->giver)
        ctr_conflicts_open(&pull->conflicts, pull->file, pull->mine, identity, pull->giver);
    pull->checked = true;
}

static void open_table_here(merge_job *job, const ctr_catalog_entry *mine)
{
    ctr_pull *pull = job->pull;
    if (ctr_merge_open_table(job->to, pull->file, mine, &pull->conflicts))
        job->to->row.origin = CTR_PULLED;
}

/* Finds for each of our regular columns the one of the same name at the source. */
static void match_regular(merge_job *job)
{
    if (!job->to->shape.replicated || ctr_rc(job->pull->file->conn) != SQLITE_OK) return;
    ctr_tab *from = ctr_tab_of(job->pull->source->file, job->theirs->name, &job->shape);
    if (from) matching_open(&job->merge->later, job->to, from);
}

static int check_keys(const merge_job *job)
{
    return ctr_shape_check_keys(job->pull->file->conn, &job->shape, "the giving file",
                                &job->to->shape, "the taking file");
}

/* Returns whether the table is passed over, because the files disagree on the kind of a column; the
 * report says why. Fails if the keys or two regular columns differ in another way, which nothing
 * that is passed over mends. */
static bool passes_over(merge_job *job)
{
    ctr_pull *pull = job->pull;
    ctr_conn *conn = pull->file->conn;
    const char *name = job->theirs->name;
    if (ctr_rc(conn) != SQLITE_OK || !(job->shape.replicated || job->to->shape.replicated))
        return false;
    ctr_tab *from = ctr_tab_of(pull->source->file, name, &job->shape);
    bool tracks = job->shape.replicated || ctr_tracked_is_among(pull->source->objects, name);
    ctr_tracked *tracked = from && tracks ? ctr_tracked_hold(from) : NULL;
    const ctr_kinds mine = {.called = pull->called,
                            .shape = &job->to->shape,
                            .tab = job->to->row.tab,
                            .tracked = job->to->showing.tracked},
                    theirs = {.called = pull->source->called,
                              .shape = &job->shape,
                              .tab = from,
                              .tracked = tracked};
    bool gives = pull->side == CTR_MAIN_GIVES;
    const char *why = ctr_rc(conn) == SQLITE_OK ? ctr_kinds_differ(&mine, &theirs, gives) : NULL;
    if (ctr_rc(conn) == SQLITE_OK && check_keys(job) == SQLITE_OK && job->shape.replicated &&
        job->to->shape.replicated)
        matching_check(&mine, &theirs);
    if (why && ctr_rc(conn) == SQLITE_OK)
        job->report->passed[pull->side] = ctr_text_copy(conn, why);
    pull->passed = pull->passed || why;
    ctr_tracked_release(tracked);
    return why || ctr_rc(conn) != SQLITE_OK;
}

static void open_rows(merge_job *job)
{
    if (ctr_rc(job->pull->file->conn) != SQLITE_OK || check_keys(job)) return;
    match_regular(job);
    pull_rows_open(job);
}

static void keep_for_later(merge_job *job)
{
    if (ctr_rc(job->pull->file->conn) != SQLITE_OK || !job->to->tracked) return;
    job->to->later = &job->merge->later;
    ctr_home_take_strays(job->to->row.tab); /* show_merged ends them */
    *job->pull->last = job->merge;
    job->pull->last = &job->merge->next;
    job->merge = NULL;
}

/* The look at the table has told whether it has generations of counters. */
static int read_theirs(const merge_job *job, ctr_shape *theirs)
{
    const ctr_source *source = job->pull->source;
    const char *name = job->theirs->name;
    bool read = !job->newest.has_columns && ctr_tab_read_columns(source->file, name, theirs);
    if (read || ctr_rc(source->conn) != SQLITE_OK) return ctr_rc(source->conn);
    return ctr_tab_read_shape(source->file, name, theirs);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Bounds each counter of `table` that is bounded in `from`, in the same generation. */
static void merge_bounds(ctr_file *file, const char *table, const ctr_shape *from)
{
    ctr_shape here = {0};
    ctr_stored_read(&here, file->conn, file->schema, table);
    for (int i = 0; from->bounded && i < from->n_counters && ctr_rc(file->conn) == SQLITE_OK; i++) {
        const ctr_column *column = &from->columns[from->counters[i]];
        if (!column->bounded || !ctr_shape_lacks_bound(&here, column->name, column->generation) ||
            ctr_rights_refuse_bound(file, column->name) != SQLITE_OK)
            continue;
        ctr_columns_ask_bound(file->conn, file->schema, table, column->name);
    }
    ctr_shape_close(&here);
}

/* Raises each counter of `table` to its generation in `from`, the shape at the source. A pull takes
 * all generations before the rows, whatever the marks say, because rows are merged by generation.
 * Returns the number of emptied cells.
 *
 * Reads the shape again after each change of a column. The triggers of a tracked table name its
 * counters, so they are made anew. */
static int64_t merge_generations(ctr_file *file, const char *table, const ctr_shape *from)
{
    const char *schema = file->schema;
    int64_t generation, changed = 0;
    const char *name, *spelling, **raised = NULL; /* counters that begin anew */
    size_t n_raised = 0, room = 0;
    ctr_shape here = {0};
    ctr_stored_read(&here, file->conn, schema, table);
    ctr_shape_check_keys(file->conn, from, "the giving file", &here, "the taking file");
    for (int i = 0;
         ctr_rc(file->conn) == SQLITE_OK && (name = ctr_shape_ever(from, i, &generation)); i++) {
        if (ctr_shape_generation(&here, name, &spelling) >= generation) continue;
        if (ctr_columns_check(&here, file->conn, table, name)) break;
        if (generation % 2 == 0 && ctr_shape_counter(&here, name) < 0) {
            ctr_columns_raise(file, table, &here, name, generation);
            continue;
        }
        const char **more = ctr_array_room(file->conn, raised, &room, n_raised + 1, sizeof *raised);
        if (!more) break;
        raised = more;
        raised[n_raised++] = name;
        ctr_tracked_note(file, table, &here); /* also of one that has ended and begins anew */
        changed += ctr_columns_ask(file->conn, schema, table, name, generation);
        ctr_shape_close(&here);
        ctr_stored_read(&here, file->conn, schema, table);
    }
    ctr_shape_close(&here);
    merge_bounds(file, table, from);
    ctr_stored_read(&here, file->conn, schema, table);
    ctr_triggers_follow(file, table, &here, raised, (int)n_raised);
    ctr_shape_close(&here);
    sqlite3_free(raised);
    return changed;
}

static void write_mark(merge_job *job)
{
    ctr_pull *pull = job->pull;
    const ctr_table_pair pair = {pull->giver, job->theirs, &job->to->entry};
    if (job->mark == 0 && !pull->marked) ctr_marks_begin(pull->file, pull->giver);
    pull->marked = pull->marked || job->mark == 0;
    if (pull->report->more)
        ctr_marks_write_part(pull->file, &pair, &job->progress);
    else
        ctr_marks_write(pull->file, &pair, &job->progress);
}

/* Merges the changes of the source. Creates our table if it is missing. */
static void merge_changes(merge_job *job, bool is_there)
{
    ctr_conn *conn = job->pull->file->conn;
    ctr_pull *pull = job->pull;
    const ctr_source *source = pull->source;
    const char *theirs = job->theirs->name;
    if (read_theirs(job, &job->shape) || ctr_refuse_triggers_among(source->objects, theirs, false))
        return;
    if (!is_there) create_table(job);
    const ctr_catalog_entry *mine = ctr_catalog_find(&pull->here, job->theirs->birth);
    if (ctr_rc(conn) != SQLITE_OK || !mine) return;
    job->merge = sqlite3_malloc64(sizeof *job->merge);
    if (!job->merge) {
        ctr_problem_nomem(conn);
        return;
    }
    *job->merge = (ctr_pull_merge){.next = NULL};
    job->to = &job->merge->to;
    pull_table_join(pull, mine->name);
    open_table_here(job, mine);
    if (passes_over(job)) return;
    if (!pull->durable) ctr_durable_source(source);
    pull->durable = true;
    if (ctr_rc(conn) == SQLITE_OK && ctr_shape_is_behind(&job->to->shape, &job->shape)) {
        ctr_merge_close(job->to);
        job->done->changed += merge_generations(pull->file, mine->name, &job->shape);
        pull_table_look(pull);
        mine = ctr_catalog_find(&pull->here, job->theirs->birth);
        if (mine) open_table_here(job, mine);
        if (mine && ctr_rc(conn) == SQLITE_OK && job->to->shape.bounded)
            ctr_answers_declare_holders(job->to);
    }
    open_rows(job);
    keep_for_later(job);
    merge_floors(job); /* before an answer lists rows to be shown, which a floor would remove */
    merge_answers(job);
    pull_rows_merge(job);
    refuse_unanswered(job);
    job->done->conflicts += job->to->brought.conflicts;
    ctr_brought_add(&job->report->brought[pull->side], &job->to->brought);
    write_mark(job);
}

/* `name` is the name of our table. Reads the numbers again if the source is read through the host's
 * connection, because its batches may be appended after the source was opened. */
static bool has_changes(merge_job *job, const char *name)
{
    ctr_conn *conn = job->pull->file->conn;
    const ctr_source *source = job->pull->source;
    if (ctr_rc(conn) != SQLITE_OK) return false;
    if (source->own)
        job->newest = source->newest[job->theirs - source->catalog.entries];
    else
        ctr_source_look(source, job->theirs->name, &job->newest);
    if (ctr_rc(conn) != SQLITE_OK) return false;
    if (job->newest.last >= job->mark || job->newest.floors >= job->mark ||
        job->newest.answers >= job->mark)
        return true;
    if (!job->newest.has_columns) return false;
    ctr_shape theirs = {0}, mine = {0}; /* the shapes that both files store */
    const ctr_pull *pull = job->pull;
    read_theirs(job, &theirs);
    ctr_tab_read_shape(pull->file, name, &mine);
    bool any = ctr_rc(conn) == SQLITE_OK && ctr_shape_is_behind(&mine, &theirs);
    ctr_shape_close(&theirs);
    ctr_shape_close(&mine);
    return any;
}

static void check_object(ctr_conn *conn, const ctr_named *stored, const char *name)
{
    if (!stored)
        ctr_problem_set(conn, SQLITE_CORRUPT_VTAB, "the stored table %s is missing", name);
    else if (stored->object != CTR_OBJECT_TABLE)
        ctr_problem_set(conn, SQLITE_CORRUPT_VTAB,
                        "%s is damaged: it is not an ordinary table but %s", name,
                        ctr_schema_object_text(stored->object));
}

/* Refuses a source with a stored table that is missing or not an ordinary table, before it is
 * read. */
static void check_stored(const merge_job *job)
{
    ctr_conn *conn = job->pull->file->conn;
    const ctr_objects *objects = job->pull->source->objects;
    const char *table = job->theirs->name;
    for (const char *const *suffix = ctr_stored_suffixes(); *suffix; suffix++) {
        const char *name = ctr_text_print(conn, "%s_%s", table, *suffix);
        check_object(conn, ctr_schema_objects_stored(objects, table, *suffix), name);
    }
    for (const char *const *name = ctr_stored_shared(); *name; name++)
        check_object(conn, ctr_schema_objects_find(objects, *name), *name);
}

/* Checks the triggers also if the journal has no changes, because changes without triggers are not
 * in the journal. */
static void check_tracked(ctr_file *file, const char *name, const char *called)
{
    if (ctr_rc(file->conn) != SQLITE_OK) return;
    if (ctr_triggers_check(file, name)) ctr_problem_where(file->conn, "%s", called);
}

static void note_counters(ctr_conn *conn, struct ctr_report_row *row, ctr_side side,
                          const char *name)
{
    if (!row->counters[side]) row->counters[side] = ctr_text_copy(conn, name);
}

/* The report names a table as main does: a tracked table by its own name, not by the name of its
 * counter table. */
static void name_in_report(merge_job *job, const char *taker)
{
    ctr_conn *conn = job->pull->file->conn;
    const ctr_pull *pull = job->pull;
    bool takes = pull->side == CTR_MAIN_TAKES;
    const char *name = takes ? taker : job->theirs->name, *tracked = NULL;
    const ctr_objects *objects = takes ? pull->mine : pull->source->objects;
    if (ctr_tracked_is_among(objects, name)) tracked = ctr_triggers_table(objects, name);
    ctr_report *report = pull->report;
    const char *birth = job->theirs->birth;
    int i = 0;
    while (i < report->n && sqlite3_stricmp(report->rows[i].birth, birth) != 0) i++;
    struct ctr_report_row *rows =
        ctr_array_room(conn, report->rows, &report->room, (size_t)i + 1, sizeof *rows);
    if (rows && i == report->n)
        rows[report->n++] =
            (struct ctr_report_row){.birth = ctr_text_copy(conn, birth),
                                    .name = ctr_text_copy(conn, tracked ? tracked : name)};
    if (rows) {
        report->rows = rows;
        note_counters(conn, &rows[i], pull->side, taker);
        note_counters(conn, &rows[i], takes ? CTR_MAIN_GIVES : CTR_MAIN_TAKES, job->theirs->name);
    }
    if (!rows || ctr_rc(conn) != SQLITE_OK) return;
    job->report = &rows[i];
    job->done = &rows[i].done[pull->side];
}

/* NULL is harmless. */
static void pull_close_merge(ctr_pull_merge *merge)
{
    if (!merge) return;
    ctr_later_close(&merge->later);
    ctr_merge_close(&merge->to);
    sqlite3_free(merge);
}

/* Merges the changes of a table of the source, or all of it, and adds to the report. If the target
 * lacks the table, creates it, or refuses one that the source tracks. */
static void pull_table_merge(ctr_pull *pull, const ctr_catalog_entry *theirs)
{
    merge_job job = {.pull = pull, .theirs = theirs};
    const ctr_catalog_entry *mine = ctr_catalog_find(&pull->here, theirs->birth);
    bool is_there = mine != NULL;
    bool is_plain = is_there && ctr_stored_shares(pull->mine);
    if (is_plain) /* else ctr_stored_read refuses it later */
        job.mark =
            ctr_marks_read(pull->file, &(ctr_table_pair){pull->giver, theirs, mine}, &job.progress);
    if (pull->how & CTR_PULL_WHOLE) job.mark = job.progress.end = 0;
    pull->were_parts = pull->were_parts || job.progress.was_begun;
    const char *taker = is_there ? mine->name : theirs->birth;
    name_in_report(&job, taker);
    check_stored(&job);
    check_tracked(pull->source->file, theirs->name, "the giving file");
    if (is_there) check_tracked(pull->file, taker, "the taking file");
    if (has_changes(&job, taker)) merge_changes(&job, is_there);
    ctr_problem_where(pull->file->conn, "table %s", theirs->birth);
    pull_rows_close(&job);
    ctr_shape_close(&job.shape);
    pull_close_merge(job.merge);
}

/* =================================================================================================
 * pull - all tables of a file, then the rows that tracked tables have to show. */

void ctr_pull_report_close(ctr_report *report)
{
    for (int i = 0; i < report->n; i++) {
        sqlite3_free(report->rows[i].birth);
        sqlite3_free(report->rows[i].name);
        for (int side = 0; side < 2; side++) {
            sqlite3_free(report->rows[i].counters[side]);
            sqlite3_free(report->rows[i].passed[side]);
        }
    }
    sqlite3_free(report->rows);
    *report = (ctr_report){0};
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A file that takes over a name records the source of this pull, and copies the sources that this
 * source knows. A source that does not know our epoch yet has none of our shards. A pull that has
 * passed over a table is not complete: shards under our name may wait there. */
static void remember_source(const ctr_pull *pull, const ctr_identity *mine)
{
    const ctr_source *source = pull->source;
    ctr_run run = ctr_file_run(pull->file);
    ctr_run from = ctr_file_run(source->file);
    uint8_t digest[CTR_ID_SIZE];
    bool holds = mine->turn == CTR_TURN_COUNTS &&
                 ctr_names_named_epoch(&from, mine->name) >= mine->epoch &&
                 ctr_digest_shards(source, pull->file, mine->id, digest);
    ctr_names_take_over(&run, &from);
    ctr_names_write(pull->file, pull->giver);
    if (!pull->passed) ctr_names_pulled(&run, pull->giver, holds ? digest : NULL);
    ctr_succession_note(pull->file);
}

/* Exchanges what both files know of names. Most files have no names. Refuses counter_sources of the
 * source if it is not an ordinary table, or if it has too many rows, because every file passes them
 * on for ever. */
static void meet(ctr_pull *pull, const ctr_catalog_entry *theirs)
{
    ctr_conn *conn = pull->file->conn;
    enum { MOST = 10000 };
    const ctr_source *source = pull->source;
    const ctr_identity *giver = pull->giver, *mine = &pull->taker;
    bool names = giver->names != 0 && giver->names != mine->names;
    if (!names && mine->turn == CTR_TURN_NONE) return;
    ctr_run run = ctr_file_run(source->file);
    if (!ctr_schema_is_table(source->conn, source->schema, "counter_sources"))
        ctr_problem_set(conn, SQLITE_CORRUPT_VTAB, "counter_sources of the giving file is missing");
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_KNOWN_COUNT);
    ctr_run_bind_int(&run, row, ":most", MOST + 1);
    if (ctr_run_row(&run, row) && sqlite3_column_int(row, 0) > MOST)
        ctr_problem_set(conn, SQLITE_TOOBIG,
                        "counter_sources of the giving file has more than %d rows, the limit",
                        MOST);
    sqlite3_finalize(row);
    if (ctr_rc(conn) != SQLITE_OK) return;
    const ctr_catalog_entry *here = ctr_catalog_find(&pull->here, theirs->birth);
    if (!pull->checked && here) pull_table_join(pull, here->name);
    ctr_succession_meet(pull->file, source->conn, source->schema, giver);
    mine = ctr_file_identity(pull->file);
    if (mine && mine->turn != CTR_TURN_NONE) remember_source(pull, mine);
}

/* ---- tracked tables -------------------------------------------------------------------------- */

/* Shows the merged rows of a table. Opens the merge again if the schema has changed since. */
static void show_table(ctr_pull *pull, ctr_pull_merge *merge)
{
    ctr_merge *to = &merge->to;
    if (!ctr_file_objects(pull->file)) return;
    const ctr_catalog_entry *here = ctr_catalog_find(&pull->here, to->entry.birth);
    bool open = here != NULL;
    if (open && to->showing.tracked->as_of != pull->file->schemas) {
        ctr_merge_close(to);
        open = ctr_merge_open_table(to, pull->file, here, &pull->conflicts);
    }
    ctr_later_what what = !pull->deletions     ? CTR_LATER_ROWS
                          : pull->report->more ? CTR_LATER_LIST_DELETIONS
                                               : CTR_LATER_DELETIONS;
    if (open) ctr_later_show(&merge->later, &to->showing, &to->row, what);
    if (here) ctr_problem_where(pull->file->conn, "table %s", here->birth);
}

/* Sorts our tables: parents before their children. */
static void sort_tables(ctr_pull *pull)
{
    ctr_conn *conn = pull->file->conn;
    size_t n = (size_t)pull->here.n + 1;
    const ctr_foreign_keys *foreign = ctr_foreign_keys_of(pull->file);
    const char **tables = foreign ? sqlite3_malloc64(n * sizeof *tables) : NULL;
    sqlite3_free(pull->order);
    pull->order = tables ? sqlite3_malloc64(n * sizeof *pull->order) : NULL;
    if (!pull->order) ctr_problem_nomem(conn);
    for (int i = 0; i < pull->here.n && ctr_rc(conn) == SQLITE_OK; i++) {
        const char *counters = pull->here.entries[i].name;
        bool sorts = foreign->n > 0 && ctr_tracked_is_among(pull->mine, counters);
        tables[i] = sorts ? ctr_triggers_table(pull->mine, counters) : NULL;
    }
    if (ctr_rc(conn) == SQLITE_OK)
        ctr_foreign_sort(conn, foreign, tables, pull->here.n, pull->order);
    sqlite3_free(tables);
}

static ctr_pull_merge *merge_of(const ctr_pull *pull, const ctr_catalog_entry *here)
{
    ctr_pull_merge *merge = pull->first;
    while (merge && sqlite3_stricmp(merge->to.entry.birth, here->birth) != 0) merge = merge->next;
    return merge;
}

/* Parents are shown before their children, and deleted after them. */
static void show_each_table(ctr_pull *pull)
{
    for (int i = 0, n = pull->here.n; i < n && ctr_rc(pull->file->conn) == SQLITE_OK; i++) {
        int table = pull->order[pull->deletions ? n - 1 - i : i];
        ctr_pull_merge *merge = merge_of(pull, &pull->here.entries[table]);
        if (merge) show_table(pull, merge);
    }
}

/* Shows the rows of one tracked table that are listed as apart. Returns the number of values that
 * are listed now. */
static int64_t show_apart(ctr_pull *pull, const ctr_catalog_entry *here, bool backwards)
{
    ctr_merge merge = {0};
    int64_t apart = 0;
    if (ctr_merge_open_table(&merge, pull->file, here, &pull->conflicts))
        apart = ctr_later_show_apart(&merge.showing, &merge.row, backwards, pull->deletions);
    ctr_merge_close(&merge);
    ctr_problem_where(pull->file->conn, "table %s", here->birth);
    return apart;
}

/* Shows the rows of all tables that are listed as apart, children before their parents if it goes
 * backwards. Returns the number of values that are listed now, and adds the number before to
 * *before. */
static int64_t show_each_apart_again(ctr_pull *pull, bool backwards, int64_t *before)
{
    ctr_conn *conn = pull->file->conn;
    int64_t apart = 0;
    const ctr_catalog *here = &pull->here;
    for (int i = 0; i < here->n && ctr_rc(conn) == SQLITE_OK; i++) {
        const ctr_catalog_entry *entry =
            &here->entries[pull->order[backwards ? here->n - 1 - i : i]];
        if (!ctr_tracked_is_among(pull->mine, entry->name)) continue;
        int64_t n = ctr_apart_count(pull->file, entry->name);
        if (n == 0) continue;
        *before += n;
        if (!pull->checked) pull_table_join(pull, entry->name);
        if (ctr_rc(conn) == SQLITE_OK) apart += show_apart(pull, entry, backwards);
    }
    return apart;
}

static void report_apart(ctr_pull *pull)
{
    ctr_report *report = pull->report;
    for (int i = 0; i < report->n && ctr_rc(pull->file->conn) == SQLITE_OK; i++) {
        struct ctr_report_apart *apart = &report->rows[i].apart[pull->side];
        const ctr_catalog_entry *here = ctr_catalog_find(&pull->here, report->rows[i].birth);
        if (here && ctr_tracked_is_among(pull->mine, here->name))
            ctr_apart_count_rows(pull->file, here->name, &apart->wait, &apart->differ);
    }
}

/* Shows the rows that are apart again, because a table may refuse a row until another row is shown.
 * That ends after two turns, one in each direction, that leave no fewer values listed than ever
 * before: triggers of the user that change rows in turn may list them again for ever. Returns
 * whether there were any. */
static bool show_all_apart(ctr_pull *pull)
{
    int64_t least = 0;
    bool any = false;
    for (int turn = 0, idle = 0; idle < 2 && ctr_rc(pull->file->conn) == SQLITE_OK;
         turn++, idle++) {
        int64_t before = 0, apart = show_each_apart_again(pull, turn % 2 == 1, &before);
        if (before == 0) break;
        if (turn == 0) least = before;
        any = true;
        if (apart < least) {
            idle = -1;
            least = apart;
        }
    }
    return any;
}

/* The last turns, with deletions. Returns whether anything was listed. */
static bool show_listed_rows(ctr_pull *pull)
{
    bool any = show_all_apart(pull);
    if (any && ctr_circles_show(pull)) show_all_apart(pull);
    return any;
}

static bool any_replicated(const ctr_pull *pull)
{
    for (const ctr_pull_merge *merge = pull->first; merge; merge = merge->next)
        if (merge->to.shape.replicated) return true;
    return false;
}

/* Inserts again the rows that gave up their numbers: before deletions, for such a row may refer to
 * one that another file has deleted, which waits then. Not while this file is to take another id,
 * under which it counts them. */
static void insert_renumbered(ctr_pull *pull)
{
    if (!pull->conflicts.own && ctr_renumber_insert(pull->file, pull->deletions))
        pull->renumbered = true;
}

/* Runs after all tables are merged, because triggers of the user may read other rows. Rows of
 * replicated tables are deleted when all others are shown: children may have another parent by
 * then. */
static void show_merged(ctr_pull *pull)
{
    bool replicated = any_replicated(pull), more = pull->report->more;
    sort_tables(pull);
    show_each_table(pull);
    if (replicated && !more) show_all_apart(pull);
    if (replicated) insert_renumbered(pull);
    pull->deletions = true;
    if (replicated) show_each_table(pull);
    while (pull->first) {
        ctr_pull_merge *merge = pull->first;
        pull->first = merge->next;
        if (merge->to.tracked) ctr_home_end_strays(merge->to.row.tab);
        pull_close_merge(merge);
    }
    if (!more && show_listed_rows(pull)) report_apart(pull);
}

void ctr_pull_show_apart(ctr_file *file)
{
    ctr_report none = {0};
    ctr_pull pull = {.file = file, .report = &none, .conflicts = {.file = file}};
    pull_table_look(&pull);
    sort_tables(&pull);
    bool any = show_all_apart(&pull);
    insert_renumbered(&pull);
    pull.deletions = true;
    if (any) show_listed_rows(&pull);
    insert_renumbered(&pull);
    if (pull.renumbered) show_listed_rows(&pull);
    sqlite3_free(pull.order);
    ctr_catalog_close(&pull.here);
}

/* Looks for the table of the source, which may be missing. */
static ctr_table_pair between(const ctr_pull *pull, const ctr_catalog_entry *mine)
{
    const ctr_catalog *catalog = &pull->source->catalog;
    return (ctr_table_pair){pull->giver, ctr_catalog_find(catalog, mine->birth), mine};
}

static bool has_rows(ctr_file *file, const char *table)
{
    ctr_run run = ctr_run_on(file->conn, file->schema, table);
    return ctr_run_once(&run, ctr_run_prepare(&run, CTR_SQL_ROWS_ANY));
}

/* A file that has no rows yet, and knows nothing of the source, takes all tables in parts, to their
 * end. Where there are rows, others would see a sale without its lines. */
static void begin_parts(ctr_pull *pull)
{
    ctr_progress parts;
    ctr_file *file = pull->file;
    const ctr_catalog *here = &pull->here;
    bool is_empty = true;
    for (int i = 0; i < here->n && ctr_rc(file->conn) == SQLITE_OK; i++) {
        const ctr_table_pair pair = between(pull, &here->entries[i]);
        bool known = pair.theirs && ctr_marks_read(file, &pair, &parts) > 0;
        pull->in_parts = pull->in_parts || (pair.theirs && parts.end > 0);
        is_empty = is_empty && !known && !has_rows(file, pair.mine->name);
    }
    if (pull->in_parts || !is_empty) return;
    pull->in_parts = true;
    parts = (ctr_progress){.end = pull->giver->next, .from = INT64_MIN};
    for (int i = 0; i < here->n && ctr_rc(file->conn) == SQLITE_OK; i++) {
        const ctr_table_pair pair = between(pull, &here->entries[i]);
        if (!pair.theirs) continue;
        pull_table_join(pull, pair.mine->name); /* which checks the identity before we write */
        if (!pull->marked) ctr_marks_begin(file, pull->giver);
        pull->marked = true;
        ctr_marks_write_part(file, &pair, &parts);
    }
}

/* First the tables that are not here yet; then the others, parents before their children, because
 * each part shows its rows before the next one is read. */
static void merge_tables_in_parts(ctr_pull *pull)
{
    const ctr_catalog *catalog = &pull->source->catalog;
    begin_parts(pull);
    for (int i = 0; i < catalog->n && ctr_rc(pull->file->conn) == SQLITE_OK; i++)
        if (!pull->report->more && !ctr_catalog_find(&pull->here, catalog->entries[i].birth))
            pull_table_merge(pull, &catalog->entries[i]);
    sort_tables(pull);
    for (int i = 0; i < pull->here.n && ctr_rc(pull->file->conn) == SQLITE_OK; i++) {
        const char *birth = pull->here.entries[pull->order[i]].birth;
        const ctr_catalog_entry *theirs = ctr_catalog_find(catalog, birth);
        if (theirs && !pull->report->more) pull_table_merge(pull, theirs);
    }
}

/* A sync that levels (merge/levelling.c) has to read all rows of these tables itself. */
static bool has_rights_to_level(const ctr_pull *pull)
{
    bool bounded = false;
    const ctr_source *source = pull->source;
    const ctr_catalog *catalog = &source->catalog;
    for (int i = 0; pull->report->levels && i < catalog->n && !bounded; i++) {
        if (ctr_rc(source->conn) != SQLITE_OK) break;
        ctr_shape shape;
        ctr_tab_read_shape(source->file, catalog->entries[i].name, &shape);
        bounded = shape.bounded;
        ctr_shape_close(&shape);
    }
    return bounded;
}

static void merge_tables(ctr_pull *pull)
{
    const ctr_catalog *catalog = &pull->source->catalog;
    for (int i = 0; i < catalog->n && ctr_rc(pull->file->conn) == SQLITE_OK; i++)
        pull_table_merge(pull, &catalog->entries[i]);
}

void ctr_pull_all(ctr_pull *pull)
{
    ctr_conn *conn = pull->file->conn;
    const ctr_catalog *catalog = &pull->source->catalog;
    ctr_file *file = pull->file;
    pull->last = &pull->first;
    pull_table_look(pull);
    if (ctr_rc(conn) == SQLITE_OK && catalog->n > 0 && !pull->giver->present)
        ctr_problem_set(conn, SQLITE_CORRUPT_VTAB,
                        "the giving file has counter tables but no replica id: it is damaged");
    /* In a newer format the same columns may mean something else. */
    if (ctr_rc(conn) == SQLITE_OK && ctr_file_peek(file, &pull->taker)) {
        ctr_identity_offer_fork(file->conn, file->schema);
        ctr_problem_where(conn, "the taking file");
    }
    pull->in_empty = pull->mine && pull->mine->n == 0;
    pull->began = ctr_os_now();
    if (pull->how & CTR_PULL_PART && has_rights_to_level(pull)) pull->how &= ~CTR_PULL_PART;
    if (pull->how & CTR_PULL_PART)
        merge_tables_in_parts(pull);
    else
        merge_tables(pull);
    show_merged(pull);
    if (ctr_rc(conn) == SQLITE_OK && catalog->n > 0 && !pull->report->more)
        meet(pull, &catalog->entries[0]);
    if ((pull->were_parts || pull->marked) && !pull->report->more)
        ctr_marks_end_parts(file, pull->source->file);
    ctr_conflicts_change_identity(&pull->conflicts, file);
    insert_renumbered(pull);
    if (pull->renumbered && !pull->report->more && show_listed_rows(pull)) report_apart(pull);
    ctr_session_lower_cache(file);
    sqlite3_free(pull->order);
    ctr_catalog_close(&pull->here);
}
