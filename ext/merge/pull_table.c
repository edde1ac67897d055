/* merge/pull_table.c - merges one table. */
#include <string.h>

#include "merge/merge.h"

/* One table on both sides while it is merged. */
typedef struct merge_job {
    ctr_pull *pull;
    const ctr_catalog_entry *theirs; /* at the source */
    ctr_newest newest;               /* of that table */
    int64_t mark;                    /* the first number to read; 0: the whole table is read */
    ctr_shape from;
    ctr_pull_merge *merge; /* owned, unless it is kept for later */
    ctr_merge *to;         /* its merge */
    ctr_pull_rows rows;
    struct ctr_report_row *report;
} merge_job;

/* ---- floors and answers ---------------------------------------------------------------------- */

/* Runs before the rows are merged because it removes ours below the floors. An earlier pull has
 * taken floors below the mark. */
static void merge_floors(merge_job *job, ctr_problem *problem)
{
    ctr_tab *from = job->rows.from.tab;
    if (job->newest.floors == 0 || job->newest.floors < job->mark) return;
    ctr_slot *floors = ctr_floors_read(from, problem);
    for (int i = 0; floors && i < job->from.n_keys; i++)
        job->rows.keys[i] = sqlite3_column_value(floors->kept.statement, i);
    if (floors) job->report->changed += ctr_merge_floors(job->to, job->rows.keys, problem);
    ctr_tab_give_back(from, floors, problem);
}

/* Takes answers about openings before the rows that they are about. */
static void merge_answers(merge_job *job, ctr_problem *problem)
{
    ctr_openings theirs;
    if (problem->rc != SQLITE_OK || job->newest.answers == 0 || job->newest.answers < job->mark)
        return;
    ctr_openings_list(&theirs, job->rows.from.tab, job->mark, problem);
    job->report->changed += ctr_answers_take(job->to, theirs.answers, theirs.n, problem);
    ctr_openings_close(&theirs);
}

static void refuse_unanswered(merge_job *job, ctr_problem *problem)
{
    const ctr_pull *pull = job->pull;
    bool gives = pull->side == CTR_MAIN_GIVES;
    char *in_taker = sqlite3_mprintf(gives ? "in %s" : "here", pull->called),
         *in_giver = sqlite3_mprintf(gives ? "here" : "in %s", pull->source->called);
    if (!in_taker || !in_giver) ctr_problem_nomem(problem);
    ctr_answers_refuse_missing(job->to, job->report->name, in_taker, in_giver, gives, problem);
    ctr_drift_refuse(job->to, job->report->name, in_taker, in_giver, gives, problem);
    sqlite3_free(in_taker);
    sqlite3_free(in_giver);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Only the application can create a table that the source tracks: only the key and the counters are
 * known here. */
static void refuse_tracked(const merge_job *job, ctr_problem *problem)
{
    const ctr_shape *shape = &job->from;
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
        ctr_tab *from = ctr_tab_of(job->pull->source->file, job->theirs->name, shape, problem);
        if (from) ctr_matching_list_declared(from, columns, problem);
    }
    char *column_text = ctr_text_finish(columns, problem),
         *key_text = ctr_text_finish(keys, problem),
         *counter_text = ctr_text_finish(counters, problem);
    const char *birth = job->theirs->birth;
    ctr_problem_set(
        problem, SQLITE_ERROR,
        "the giving file tracks it, and %s has no such table: CREATE TABLE %s(%sPRIMARY "
        "KEY (%s)) %s, then call %s('%s'%s)",
        job->pull->called, birth, column_text, key_text,
        shape->replicated ? "with its constraints" : "with the other columns that it has there",
        shape->replicated ? "counter_replicate" : "counter_track", birth, counter_text);
    sqlite3_free(column_text);
    sqlite3_free(key_text);
    sqlite3_free(counter_text);
}

/* Declares the source's shape in SQL of our own: no SQL of the source runs. */
static void create_table(merge_job *job, ctr_problem *problem)
{
    ctr_pull *pull = job->pull;
    const char *birth = job->theirs->birth;
    bool taken = ctr_schema_objects_find(pull->mine, birth) != NULL;
    for (int i = 0; i < pull->here.n && !taken; i++) /* a virtual table may be missing */
        taken = sqlite3_stricmp(pull->here.entries[i].name, birth) == 0;
    if (taken &&
        ctr_merge_refuse_name(pull->file, pull->called, birth, job->from.replicated, problem))
        return;
    bool creates = (pull->how & CTR_PULL_CREATES) != 0;
    if ((!creates || job->from.replicated) &&
        ctr_tracked_is_among(pull->source->objects, job->theirs->name))
        refuse_tracked(job, problem);

    ctr_refuse_triggers_among(pull->mine, NULL, true, problem);
    char *definition = ctr_shape_declaration(&job->from);
    if (!definition) ctr_problem_nomem(problem);
    ctr_run run = ctr_file_run(pull->file, problem);
    run.slots.table = birth;
    run.slots.definition = definition;
    ctr_run_do(&run, CTR_SQL_SYNC_CREATE_TABLE, NULL);
    sqlite3_free(definition);
    ctr_columns_list(pull->file, birth, &job->from, problem);
    if (problem->rc == SQLITE_OK) pull->mine = ctr_file_objects_read_on(pull->file, problem);
    ctr_catalog_list_born(&pull->here, pull->file, birth, problem);
    job->report->created = true;
    job->report->in_empty = pull->in_empty;
    job->report->created_by = pull->side;
}

void ctr_pull_table_look(ctr_pull *pull, ctr_problem *problem)
{
    if (problem->rc == SQLITE_OK) pull->mine = ctr_file_objects(pull->file, problem);
    if (problem->rc == SQLITE_OK) ctr_catalog_read(&pull->here, pull->file, problem);
}

void ctr_pull_table_join(ctr_pull *pull, const char *table, ctr_problem *problem)
{
    ctr_run run = ctr_file_run(pull->file, problem);
    run.slots.table = table;
    ctr_conn *conn = pull->file->conn;
    if (pull->checked && conn->told > 0) return;
    ctr_refuse_triggers_among(pull->mine, table, true, problem);
    bool is_main = strcmp(pull->file->schema, "main") == 0;
    if (!is_main || !ctr_conn_join(conn, problem)) ctr_run_do(&run, CTR_SQL_SYNC_JOIN, NULL);
    const ctr_identity *identity = ctr_file_identity(pull->file, problem);
    if (identity && !pull->checked && pull->giver)
        ctr_conflicts_open(&pull->conflicts, pull->file, pull->mine, identity, pull->giver,
                           problem);
    pull->checked = true;
}

static void open_table_here(merge_job *job, const ctr_catalog_entry *mine, ctr_problem *problem)
{
    ctr_pull *pull = job->pull;
    if (ctr_merge_open_table(job->to, pull->file, mine, &pull->conflicts, problem))
        job->to->rows.origin = CTR_PULLED;
}

/* Refuses to merge a replicated table with one that is not. */
static void check_replicated(const merge_job *job, ctr_problem *problem)
{
    const ctr_pull *pull = job->pull;
    bool theirs = job->from.replicated, mine = job->to->shape.replicated;
    if (theirs == mine) return;
    bool gives = pull->side == CTR_MAIN_GIVES;
    const char *giver = gives ? "main" : pull->source->called;
    ctr_problem_set(problem, SQLITE_ERROR,
                    "it is replicated in %s, but not in %s, and a replicated table merges with "
                    "replicated ones only: call counter_replicate('%s', ...) there",
                    theirs ? giver : pull->called, theirs ? pull->called : giver,
                    job->theirs->birth);
}

/* Finds for each of our regular columns the one of the same name at the source. */
static void match_regular(merge_job *job, ctr_problem *problem)
{
    check_replicated(job, problem);
    if (!job->to->shape.replicated || problem->rc != SQLITE_OK) return;
    ctr_tab *from = ctr_tab_of(job->pull->source->file, job->theirs->name, &job->from, problem);
    if (from) ctr_matching_open(&job->merge->later, job->to, from, job->pull->called, problem);
    job->rows.regular = job->merge->later.map;
    job->rows.theirs = &job->merge->later.values;
}

static void open_rows(merge_job *job, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK ||
        ctr_shape_check_keys(&job->from, "the giving file", &job->to->shape, "the taking file",
                             problem))
        return;
    match_regular(job, problem);
    job->rows.pull = job->pull;
    job->rows.to = job->to;
    job->rows.report = job->report;
    ctr_pull_rows_open(&job->rows, job->theirs->name, &job->from, problem);
}

static void keep_for_later(merge_job *job, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK || !job->to->tracked) return;
    job->to->later = &job->merge->later;
    *job->pull->last = job->merge;
    job->pull->last = &job->merge->next;
    job->merge = NULL;
}

/* The look at the table has told whether it has generations of counters. */
static int read_theirs(const merge_job *job, ctr_shape *theirs, ctr_problem *problem)
{
    const ctr_source *source = job->pull->source;
    const char *name = job->theirs->name;
    bool is_read =
        !job->newest.has_columns && ctr_stored_read_text(theirs, source->objects, name, problem);
    return is_read ? problem->rc : ctr_tab_read_shape(source->file, name, theirs, problem);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Merges the changes of the source. Creates our table if it is missing. */
static void merge_changes(merge_job *job, bool is_there, ctr_problem *problem)
{
    ctr_pull *pull = job->pull;
    const ctr_source *source = pull->source;
    const char *theirs = job->theirs->name;
    if (!pull->durable) ctr_durable_source(source, problem);
    pull->durable = true;
    if (read_theirs(job, &job->from, problem) ||
        ctr_refuse_triggers_among(source->objects, theirs, false, problem))
        return;
    if (!is_there) create_table(job, problem);
    const ctr_catalog_entry *mine = ctr_catalog_find(&pull->here, job->theirs->birth);
    if (problem->rc != SQLITE_OK || !mine) return;
    job->merge = sqlite3_malloc64(sizeof *job->merge);
    if (!job->merge) {
        ctr_problem_nomem(problem);
        return;
    }
    *job->merge = (ctr_pull_merge){.next = NULL};
    job->to = &job->merge->to;
    ctr_pull_table_join(pull, mine->name, problem);
    open_table_here(job, mine, problem);
    if (problem->rc == SQLITE_OK)
        ctr_matching_refuse_counters(job->to, &job->from, pull->called, problem);
    if (problem->rc == SQLITE_OK && ctr_shape_is_behind(&job->to->shape, &job->from)) {
        ctr_merge_close(job->to);
        job->report->changed += ctr_merge_generations(pull->file, mine->name, &job->from, problem);
        ctr_pull_table_look(pull, problem);
        mine = ctr_catalog_find(&pull->here, job->theirs->birth);
        if (mine) open_table_here(job, mine, problem);
    }
    open_rows(job, problem);
    keep_for_later(job, problem);
    merge_answers(job, problem);
    merge_floors(job, problem);
    ctr_pull_rows_merge(&job->rows, job->mark, problem);
    if (job->to->shape.replicated) ctr_row_feed_take_pending(job->to, problem);
    refuse_unanswered(job, problem);
    job->report->conflicts += job->to->brought.conflicts;
    ctr_brought_add(&job->report->brought[pull->side], &job->to->brought);
    ctr_marks_write(pull->file, pull->giver, job->theirs, &job->to->entry,
                    job->mark == 0 && !pull->marked, problem);
    pull->marked = pull->marked || job->mark == 0;
}

/* `name` is the name of our table. Reads the numbers again if the source is read through the host's
 * connection, because its batches may be appended after the source was opened. */
static bool has_changes(merge_job *job, const char *name, ctr_problem *problem)
{
    const ctr_source *source = job->pull->source;
    if (problem->rc != SQLITE_OK) return false;
    if (source->own)
        job->newest = source->newest[job->theirs - source->catalog.entries];
    else
        ctr_source_look(source, job->theirs->name, &job->newest, problem);
    if (problem->rc != SQLITE_OK) return false;
    if (job->newest.last >= job->mark || job->newest.floors >= job->mark ||
        job->newest.answers >= job->mark)
        return true;
    if (!job->newest.has_columns) return false;
    ctr_shape theirs = {0}, mine = {0}; /* the shapes that both files store */
    const ctr_pull *pull = job->pull;
    read_theirs(job, &theirs, problem);
    ctr_tab_read_shape(pull->file, name, &mine, problem);
    bool any = problem->rc == SQLITE_OK && ctr_shape_is_behind(&mine, &theirs);
    ctr_shape_close(&theirs);
    ctr_shape_close(&mine);
    return any;
}

/* Refuses a source with a stored table that is missing or not an ordinary table, before it is
 * read. */
static int check_stored(const merge_job *job, ctr_problem *problem)
{
    const char *table = job->theirs->name;
    for (const char *const *suffix = ctr_stored_suffixes(); *suffix; suffix++) {
        const ctr_named *stored =
            ctr_schema_objects_stored(job->pull->source->objects, table, *suffix, problem);
        if (!stored)
            ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "the stored table %s_%s is missing",
                            table, *suffix);
        else if (stored->object != CTR_OBJECT_TABLE)
            ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                            "%s_%s is damaged: it is not an ordinary table but %s", table, *suffix,
                            ctr_schema_object_text(stored->object));
    }
    return problem->rc;
}

/* Checks the triggers also if the journal has no changes, because changes without triggers are not
 * in the journal. */
static void check_tracked(ctr_file *file, const char *name, const char *called,
                          ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return;
    if (ctr_triggers_check(file, name, problem)) ctr_problem_where(problem, "%s", called);
}

static void note_counters(struct ctr_report_row *row, ctr_side side, const char *name,
                          ctr_problem *problem)
{
    if (row->counters[side]) return;
    row->counters[side] = sqlite3_mprintf("%s", name);
    if (!row->counters[side]) ctr_problem_nomem(problem);
}

/* The report names a table as main does: a tracked table by its own name, not by the name of its
 * counter table. */
static void name_in_report(merge_job *job, const char *taker, ctr_problem *problem)
{
    const ctr_pull *pull = job->pull;
    bool takes = pull->side == CTR_MAIN_TAKES;
    const char *name = takes ? taker : job->theirs->name, *tracked = NULL;
    const ctr_objects *objects = takes ? pull->mine : pull->source->objects;
    if (ctr_tracked_is_among(objects, name)) tracked = ctr_triggers_table(objects, name, problem);
    ctr_report *report = pull->report;
    const char *birth = job->theirs->birth;
    int i = 0;
    while (i < report->n && sqlite3_stricmp(report->rows[i].birth, birth) != 0) i++;
    struct ctr_report_row *rows =
        ctr_array_room(report->rows, &report->room, (size_t)i + 1, sizeof *rows, problem);
    if (rows && i == report->n)
        rows[report->n++] =
            (struct ctr_report_row){.birth = sqlite3_mprintf("%s", birth),
                                    .name = sqlite3_mprintf("%s", tracked ? tracked : name)};
    if (rows) {
        report->rows = rows;
        note_counters(&rows[i], pull->side, taker, problem);
        note_counters(&rows[i], takes ? CTR_MAIN_GIVES : CTR_MAIN_TAKES, job->theirs->name,
                      problem);
        if (!rows[i].birth || !rows[i].name) ctr_problem_nomem(problem);
    }
    if (rows && problem->rc == SQLITE_OK) job->report = &rows[i];
}

void ctr_pull_table_merge(ctr_pull *pull, const ctr_catalog_entry *theirs, ctr_problem *problem)
{
    merge_job job = {.pull = pull, .theirs = theirs};
    const ctr_catalog_entry *mine = ctr_catalog_find(&pull->here, theirs->birth);
    bool is_there = mine != NULL;
    const ctr_named *state =
        is_there ? ctr_schema_objects_stored(pull->mine, mine->name, "state", problem) : NULL;
    bool is_plain = state && state->object == CTR_OBJECT_TABLE && !state->may_generate;
    if (is_plain && !(pull->how & CTR_PULL_WHOLE)) /* else ctr_stored_read refuses it later */
        job.mark = ctr_marks_read(pull->file, pull->giver, theirs, mine, problem);
    const char *taker = is_there ? mine->name : theirs->birth;
    name_in_report(&job, taker, problem);
    check_stored(&job, problem);
    check_tracked(pull->source->file, theirs->name, "the giving file", problem);
    if (is_there) check_tracked(pull->file, taker, "the taking file", problem);
    if (has_changes(&job, taker, problem)) merge_changes(&job, is_there, problem);
    ctr_problem_where(problem, "table %s", theirs->birth);
    ctr_pull_rows_close(&job.rows);
    ctr_shape_close(&job.from);
    ctr_pull_close_merge(job.merge);
}
