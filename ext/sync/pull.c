/* sync/pull.c - merges the tables of one file into another. */
#include "sync/pull.h"

#include <string.h>

#include "identity/check.h"
#include "identity/names.h"
#include "identity/replacement.h"
#include "sqlite/array.h"
#include "sync/agree.h"
#include "sync/durable.h"
#include "sync/holds.h"
#include "sync/marks.h"
#include "sync/merge.h"
#include "table/catalog.h"
#include "table/columns.h"
#include "table/floors.h"
#include "table/journal.h"
#include "table/rows.h"
#include "table/stored.h"
#include "table/walk.h"

static const char *const KNOWN_TABLES[] = {"counter_sources", "counter_names", NULL};

/* Rows of a tracked table that are shown when all tables are merged. */
typedef struct table_later {
    char *birth; /* owned */
    ctr_later rows;
} table_later;

/* What all tables of one pull share. */
typedef struct file_pull {
    const ctr_source *source;
    ctr_objects mine; /* owned: what the target had by name at first */
    const ctr_identity *giver;
    sqlite3 *db;
    const char *target;   /* schema */
    const char *called;   /* what messages call the target */
    ctr_replica *replica; /* that of the target */
    ctr_conflicts conflicts;
    ctr_identity taker; /* as it was at first */
    bool checked;       /* the target's identity, in this transaction */
    bool durable;       /* the source has been synced */
    bool whole;         /* whatever the marks */
    bool in_empty;      /* the target had nothing in it at first */
    ctr_side side;
    ctr_report *report;
    table_later *later; /* owned: tracked tables in which rows are to be shown */
    int n_later;
    size_t room_later;
} file_pull;

/* One table on both sides while it is merged. */
typedef struct merge_job {
    file_pull *pull;
    const ctr_catalog_entry *theirs; /* at the source */
    int64_t mark;                    /* from where it is read; 0: whole */
    const char **raised;             /* owned: counters that begin anew, by names of `from` */
    int n_raised;
    size_t room_raised;
    ctr_shape from;
    ctr_rows from_rows;
    ctr_merge to;
    int *counters;        /* for each counter of `to`, the one of `from` to be merged, or -1 */
    sqlite3_value **keys; /* of the source's row, lent by its statement */
    struct ctr_report_row *report;
} merge_job;

/* ---- report ---------------------------------------------------------------------------------- */

void ctr_pull_report_close(ctr_report *report)
{
    for (int i = 0; i < report->n; i++) {
        sqlite3_free(report->rows[i].birth);
        sqlite3_free(report->rows[i].name);
    }
    sqlite3_free(report->rows);
    *report = (ctr_report){0};
}

static struct ctr_report_row *report_row(ctr_report *report, const char *birth, const char *name,
                                         ctr_problem *problem)
{
    for (int i = 0; i < report->n; i++)
        if (sqlite3_stricmp(report->rows[i].birth, birth) == 0) return &report->rows[i];
    struct ctr_report_row *rows =
        ctr_array_room(report->rows, &report->room, (size_t)report->n + 1, sizeof *rows, problem);
    if (!rows) return NULL;
    report->rows = rows;
    struct ctr_report_row *row = &rows[report->n++];
    *row = (struct ctr_report_row){.birth = sqlite3_mprintf("%s", birth),
                                   .name = sqlite3_mprintf("%s", name)};
    if (!row->birth || !row->name) ctr_problem_nomem(problem);
    return problem->rc == SQLITE_OK ? row : NULL;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int take_keys(merge_job *job, sqlite3_stmt *row, ctr_problem *problem)
{
    for (int i = 0; i < job->from.n_keys; i++) {
        int column = job->from.keys[i];
        job->keys[i] = sqlite3_column_value(row, CTR_WALK_COLUMNS + column);
        if (sqlite3_column_type(row, CTR_WALK_COLUMNS + column) == SQLITE_NULL)
            ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                            "key column %s of the giving file is NULL",
                            job->from.columns[column].name);
    }
    return problem->rc;
}

static void merge_row(merge_job *job, sqlite3_stmt *row, ctr_problem *problem)
{
    if (take_keys(job, row, problem)) return;
    job->report->read++;
    if (!ctr_merge_find(&job->to, job->keys, problem)) return;
    for (int i = 0; i < job->to.shape.n_counters; i++) {
        int theirs = job->counters[i];
        ctr_cell cell;
        if (theirs < 0) continue;
        if (ctr_rows_open_cell(&job->from_rows, row, CTR_WALK_COLUMNS + job->from.counters[theirs],
                               theirs, &cell, problem) ||
            ctr_merge_cell(&job->to, i, &cell, problem))
            return;
    }
    if (ctr_merge_write(&job->to, problem)) job->report->changed++;
}

static void merge_rows(merge_job *job, ctr_problem *problem)
{
    ctr_walk walk;
    const ctr_source *source = job->pull->source;
    ctr_walk_open(&walk, source->db, source->schema, job->theirs->name, &job->from,
                  job->mark > 0 ? CTR_WALK_SINCE : CTR_WALK_ALL, job->mark, problem);
    if (job->mark == 0) ctr_merge_begin_many(&job->to, problem);
    while (ctr_walk_next(&walk, problem)) merge_row(job, walk.row, problem);
    if (job->mark == 0) ctr_merge_end_many(&job->to, problem);
    ctr_walk_close(&walk);
}

/* Before the rows, for those below need not be read. */
static void merge_floors(merge_job *job, ctr_problem *problem)
{
    const ctr_source *source = job->pull->source;
    sqlite3_stmt *row =
        ctr_floors_read(source->db, source->schema, job->theirs->name, &job->from, problem);
    ctr_run run = ctr_run_on(source->db, source->schema, job->theirs->name, problem);
    if (ctr_run_row(&run, row)) {
        for (int i = 0; i < job->from.n_keys; i++) job->keys[i] = sqlite3_column_value(row, i);
        job->report->changed += ctr_merge_floors(&job->to, job->keys, problem);
    }
    sqlite3_finalize(row);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* The name may be taken, perhaps by a counter table that was created under another one, or by what
 * is stored of such a table. */
static void refuse_taken_name(const file_pull *pull, const char *birth, ctr_problem *problem)
{
    ctr_catalog_entry entry;
    ctr_object object = ctr_schema_object(pull->db, pull->target, birth, problem);
    if (ctr_catalog_named(&entry, pull->db, pull->target, birth, problem))
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s has a counter table %s that was created as '%s', and tables match by "
                        "the name they were created with: rename it there",
                        pull->called, birth, entry.birth);
    else if (object == CTR_OBJECT_TABLE)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "a table in %s has the name of the counter table that would be created: if "
                        "it is to take these counters, call counter_track('%s', ...)",
                        pull->called, birth);
    else if (object != CTR_OBJECT_NONE)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s in %s has the name of the counter table that would be created",
                        ctr_schema_object_text(object), pull->called);
    ctr_catalog_close_entry(&entry);
}

/* The source's shape in the words of our own declaration: nothing of its SQL is run. */
static void create_table(merge_job *job, ctr_problem *problem)
{
    const file_pull *pull = job->pull;
    const char *birth = job->theirs->birth;
    refuse_taken_name(pull, birth, problem);
    ctr_stored_refuse_triggers(pull->db, pull->target, NULL, true, problem);
    char *definition = ctr_shape_declaration(&job->from);
    if (!definition) ctr_problem_nomem(problem);
    ctr_run run = ctr_run_on(pull->db, pull->target, birth, problem);
    run.slots.definition = definition;
    ctr_run_do(&run, CTR_SQL_SYNC_CREATE_TABLE, NULL);
    sqlite3_free(definition);
    ctr_columns_list(pull->db, pull->target, birth, &job->from, problem);
    job->report->created = true;
    job->report->in_empty = pull->in_empty;
    job->report->created_by = pull->side;
}

/* A source's stored tables are ordinary ones, or nothing of them is read. */
static int check_stored(const merge_job *job, ctr_problem *problem)
{
    const char *table = job->theirs->name;
    for (const char *const *suffix = ctr_stored_suffixes; *suffix; suffix++) {
        const ctr_named *stored =
            ctr_objects_stored(&job->pull->source->objects, table, *suffix, problem);
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

/* Has some counter of the source a higher generation than in `here`? */
static bool brings_counters(const ctr_shape *from, const ctr_shape *here)
{
    int64_t generation;
    const char *name, *spelling;
    for (int i = 0; (name = ctr_shape_ever(from, i, &generation)); i++)
        if (ctr_shape_generation(here, name, &spelling) < generation) return true;
    return false;
}

/* The same, read from the two files. `name` is the table's here. */
static bool columns_are_new(const merge_job *job, const char *name, ctr_problem *problem)
{
    ctr_shape theirs = {0}, mine = {0};
    const ctr_source *source = job->pull->source;
    ctr_stored_read(&theirs, source->db, source->schema, job->theirs->name, problem);
    if (problem->rc == SQLITE_OK)
        ctr_stored_read(&mine, job->pull->db, job->pull->target, name, problem);
    bool any = problem->rc == SQLITE_OK && brings_counters(&theirs, &mine);
    ctr_shape_close(&theirs);
    ctr_shape_close(&mine);
    return any;
}

static bool has_changes(const merge_job *job, const char *name, ctr_problem *problem)
{
    enum { ROWS = 1, GENERATIONS };
    const ctr_source *source = job->pull->source;
    if (job->mark == 0 || problem->rc != SQLITE_OK) return problem->rc == SQLITE_OK;
    ctr_run run = ctr_run_on(source->db, source->schema, job->theirs->name, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_ROWS_ANY_SINCE);
    if (row) sqlite3_bind_int64(row, 1, job->mark);
    int what = ctr_run_row(&run, row) ? sqlite3_column_int(row, 0) : 0;
    sqlite3_finalize(row);
    return what == ROWS || (what == GENERATIONS && columns_are_new(job, name, problem));
}

/* The target's identity is checked within the transaction that the table has joined. Only the first
 * table does the work. */
static void check_target(file_pull *pull, const char *table, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(pull->db, pull->target, table, problem);
    ctr_stored_refuse_triggers(pull->db, pull->target, table, true, problem);
    ctr_run_do(&run, CTR_SQL_SYNC_JOIN, NULL);
    const ctr_identity *identity = ctr_check_identity(pull->replica, problem);
    if (identity && !pull->checked)
        ctr_conflicts_open(&pull->conflicts, pull->db, pull->target, identity, pull->giver,
                           problem);
    pull->checked = true;
}

/* Once, and only where something is taken. */
static int make_durable(file_pull *pull, ctr_problem *problem)
{
    if (!pull->durable) ctr_durable_source(pull->source, problem);
    pull->durable = true;
    return problem->rc;
}

/* The counter of the source that belongs to one of the target, or -1. */
static int counterpart(const merge_job *job, int counter)
{
    const ctr_column *column = &job->to.shape.columns[job->to.shape.counters[counter]];
    return ctr_agree_counter(&job->from, column->name, column->generation);
}

static void open_sides(merge_job *job, ctr_problem *problem)
{
    const file_pull *pull = job->pull;
    const ctr_source *source = pull->source;
    const char *name = job->theirs->name;
    size_t n = (size_t)job->to.shape.n_counters + 1;
    job->counters = sqlite3_malloc64(n * sizeof *job->counters);
    job->keys = sqlite3_malloc64((size_t)job->to.shape.n_keys * sizeof *job->keys);
    if (!job->counters || !job->keys) ctr_problem_nomem(problem);
    if (problem->rc != SQLITE_OK ||
        ctr_agree_keys(&job->from, "the giving file", &job->to.shape, "the taking file", problem))
        return;
    for (int i = 0; i < job->to.shape.n_counters; i++) job->counters[i] = counterpart(job, i);
    ctr_rows_open(&job->from_rows, source->db, source->schema, name, &job->from, NULL, problem);
}

/* One counter of the source, as it is there. `here` is read anew after a change of the columns. */
static void take_counter(merge_job *job, const ctr_catalog_entry *mine, ctr_shape *here,
                         const char *name, int64_t generation, ctr_problem *problem)
{
    const char *spelling;
    const file_pull *pull = job->pull;
    if (ctr_shape_generation(here, name, &spelling) >= generation) return;
    if (ctr_columns_check(here, pull->db, mine->name, name, problem)) return;
    if (generation % 2 == 0 && ctr_shape_counter(here, name) < 0) {
        ctr_columns_raise(pull->replica, pull->db, pull->target, mine->name, here, name, generation,
                          problem);
        return;
    }
    const char **raised = ctr_array_room(job->raised, &job->room_raised, (size_t)job->n_raised + 1,
                                         sizeof *raised, problem);
    if (!raised) return;
    job->raised = raised;
    raised[job->n_raised++] = name;
    job->report->changed +=
        ctr_columns_ask(pull->db, pull->target, mine->name, name, generation, problem);
    ctr_shape_close(here);
    if (problem->rc == SQLITE_OK)
        ctr_stored_read(here, pull->db, pull->target, mine->name, problem);
}

/* Generations first: whatever the marks say, rows are merged by them. */
static void take_counters(merge_job *job, const ctr_catalog_entry *mine, ctr_problem *problem)
{
    int64_t generation;
    const char *name;
    ctr_shape here = {0};
    const ctr_shape *from = &job->from;
    if (problem->rc == SQLITE_OK)
        ctr_stored_read(&here, job->pull->db, job->pull->target, mine->name, problem);
    if (problem->rc == SQLITE_OK)
        ctr_agree_keys(from, "the giving file", &here, "the taking file", problem);
    for (int i = 0; problem->rc == SQLITE_OK && (name = ctr_shape_ever(from, i, &generation)); i++)
        take_counter(job, mine, &here, name, generation, problem);
    ctr_shape_close(&here);
}

/* The triggers of a tracked table name its counters. */
static void follow_counters(const merge_job *job, const char *mine, ctr_problem *problem)
{
    ctr_shape here = {0};
    const file_pull *pull = job->pull;
    if (problem->rc == SQLITE_OK) ctr_stored_read(&here, pull->db, pull->target, mine, problem);
    if (problem->rc == SQLITE_OK)
        ctr_triggers_follow(pull->db, pull->target, mine, &here, job->raised, job->n_raised,
                            problem);
    ctr_shape_close(&here);
}

static void open_table_here(merge_job *job, ctr_problem *problem)
{
    file_pull *pull = job->pull;
    ctr_merge_open(&job->to, pull->db, pull->target, job->theirs->birth, pull->replica,
                   &pull->conflicts, problem);
}

static void note_rows_for_later(merge_job *job, ctr_problem *problem)
{
    file_pull *pull = job->pull;
    if (!job->to.tracked) return;
    table_later *later = ctr_array_room(pull->later, &pull->room_later, (size_t)pull->n_later + 1,
                                        sizeof *later, problem);
    if (!later) return;
    pull->later = later;
    char *birth = sqlite3_mprintf("%s", job->theirs->birth);
    if (!birth) {
        ctr_problem_nomem(problem);
        return;
    }
    later[pull->n_later] = (table_later){.birth = birth};
    job->to.later = &later[pull->n_later++].rows;
}

/* What is new at the source; the table is created here if need be. */
static void merge_changes(merge_job *job, bool is_there, ctr_problem *problem)
{
    file_pull *pull = job->pull;
    const ctr_source *source = pull->source;
    const char *theirs = job->theirs->name;
    if (make_durable(pull, problem)) return;
    if (ctr_stored_read(&job->from, source->db, source->schema, theirs, problem)) return;
    if (ctr_stored_refuse_triggers(source->db, source->schema, theirs, false, problem)) return;
    if (!is_there) create_table(job, problem);
    if (problem->rc != SQLITE_OK) return;
    ctr_catalog_entry mine;
    ctr_catalog_born(&mine, pull->db, pull->target, job->theirs->birth, problem);
    if (problem->rc == SQLITE_OK) check_target(pull, mine.name, problem);
    open_table_here(job, problem);
    if (problem->rc == SQLITE_OK && brings_counters(&job->from, &job->to.shape)) {
        ctr_merge_close(&job->to);
        take_counters(job, &mine, problem);
        follow_counters(job, mine.name, problem);
        open_table_here(job, problem);
    }
    ctr_catalog_close_entry(&mine);
    if (problem->rc == SQLITE_OK) open_sides(job, problem);
    if (problem->rc == SQLITE_OK) note_rows_for_later(job, problem);
    if (problem->rc == SQLITE_OK) merge_floors(job, problem);
    if (problem->rc == SQLITE_OK) merge_rows(job, problem);
    if (problem->rc == SQLITE_OK) job->report->conflicts += job->to.n_conflicts;
    if (problem->rc == SQLITE_OK)
        ctr_marks_write(pull->db, pull->target, pull->giver, job->theirs, &job->to.entry, problem);
}

static void close_job(merge_job *job)
{
    ctr_rows_close(&job->from_rows);
    ctr_shape_close(&job->from);
    ctr_merge_close(&job->to);
    sqlite3_free(job->counters);
    sqlite3_free(job->keys);
    sqlite3_free(job->raised);
}

static bool is_tracked(const ctr_objects *objects, const char *name)
{
    const ctr_named *table = ctr_objects_find(objects, name);
    return table && table->tracked;
}

/* Whether anything is new or not: what was changed without triggers is not known to be new. */
static void check_tracked(sqlite3 *db, const char *schema, const char *name, const char *file,
                          ctr_problem *problem)
{
    ctr_shape shape = {0};
    if (problem->rc != SQLITE_OK) return;
    if (ctr_stored_read(&shape, db, schema, name, problem) == SQLITE_OK)
        ctr_triggers_check(db, schema, name, &shape, problem);
    ctr_problem_where(problem, "%s", file);
    ctr_shape_close(&shape);
}

/* As it is called in main: a tracked table by its own name, not by that of its counter table. */
static void name_in_report(merge_job *job, const char *taker, ctr_problem *problem)
{
    const file_pull *pull = job->pull;
    bool takes = pull->side == CTR_MAIN_TAKES;
    const char *name = takes ? taker : job->theirs->name,
               *schema = takes ? pull->target : pull->source->schema;
    const ctr_objects *objects = takes ? &pull->mine : &pull->source->objects;
    char *tracked = NULL;
    if (is_tracked(objects, name))
        tracked = ctr_triggers_table(takes ? pull->db : pull->source->db, schema, name, problem);
    if (problem->rc == SQLITE_OK)
        job->report =
            report_row(pull->report, job->theirs->birth, tracked ? tracked : name, problem);
    sqlite3_free(tracked);
}

static void merge_table(file_pull *pull, const ctr_catalog_entry *theirs, ctr_problem *problem)
{
    merge_job job = {.pull = pull, .theirs = theirs};
    ctr_catalog_entry mine;
    bool is_there = ctr_catalog_born(&mine, pull->db, pull->target, theirs->birth, problem);
    if (is_there && !pull->whole)
        job.mark = ctr_marks_read(pull->db, pull->target, pull->giver, theirs, &mine, problem);
    const char *taker = is_there ? mine.name : theirs->birth;
    if (problem->rc == SQLITE_OK) name_in_report(&job, taker, problem);
    check_stored(&job, problem);
    const ctr_source *source = pull->source;
    if (is_tracked(&source->objects, theirs->name))
        check_tracked(source->db, source->schema, theirs->name, "the giving file", problem);
    if (is_there && is_tracked(&pull->mine, taker))
        check_tracked(pull->db, pull->target, taker, "the taking file", problem);
    if (has_changes(&job, taker, problem)) merge_changes(&job, is_there, problem);
    ctr_problem_where(problem, "table %s", theirs->birth);
    ctr_catalog_close_entry(&mine);
    close_job(&job);
}

/* ---- files ----------------------------------------------------------------------------------- */

int ctr_pull_open(ctr_source *source, ctr_identity *giver, ctr_problem *problem)
{
    *giver = (ctr_identity){0};
    ctr_source_check(source, problem);
    if (problem->rc == SQLITE_OK && ctr_identity_read(giver, source->db, source->schema, problem))
        ctr_problem_where(problem, "the giving file");
    if (problem->rc == SQLITE_OK)
        giver->next = ctr_journal_next(source->db, source->schema, problem);
    return problem->rc;
}

static bool is_empty(file_pull *pull, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(pull->db, pull->target, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SYNC_TOUCH);
    bool is = ctr_run_row(&run, row) && sqlite3_column_int64(row, 0) == 0;
    sqlite3_finalize(row);
    return is;
}

/* A newer format at either end may mean something else by the same columns. */
static int read_taker(file_pull *pull, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return problem->rc;
    if (ctr_identity_read(&pull->taker, pull->db, pull->target, problem)) {
        ctr_identity_offer_fork(pull->db, pull->target, problem);
        ctr_problem_where(problem, "the taking file");
    }
    return problem->rc;
}

/* A file that is to take over a name remembers whom it has pulled from, and learns whom else there
 * is to pull from. Who does not know its epoch yet holds nothing of it. */
static void remember_source(const file_pull *pull, const ctr_identity *mine, ctr_problem *problem)
{
    const ctr_source *source = pull->source;
    ctr_run run = ctr_run_on(pull->db, pull->target, NULL, problem);
    ctr_run from = ctr_run_on(source->db, source->schema, NULL, problem);
    uint8_t digest[CTR_ID_SIZE];
    bool holds = mine->turn == CTR_TURN_COUNTS &&
                 ctr_names_named_epoch(&from, mine->name) >= mine->epoch &&
                 ctr_holds_all(source, pull->db, pull->target, mine->id, digest, problem);
    ctr_names_take_over(&run, &from);
    ctr_names_write(&run, pull->giver);
    ctr_names_pulled(&run, pull->giver, holds ? digest : NULL);
    ctr_replacement_note(pull->replica, problem);
}

/* It is passed on from file to file, for ever. */
static void check_known_size(const ctr_source *source, const char *table, ctr_problem *problem)
{
    enum { MOST = 10000 };
    ctr_run run = ctr_run_on(source->db, source->schema, NULL, problem);
    run.slots.name = table;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_KNOWN_COUNT);
    if (row) sqlite3_bind_int(row, 1, MOST + 1);
    if (ctr_run_row(&run, row) && sqlite3_column_int(row, 0) > MOST)
        ctr_problem_set(problem, SQLITE_TOOBIG,
                        "%s of the giving file has more than %d rows, which nobody takes over",
                        table, MOST);
    sqlite3_finalize(row);
}

/* What a source knows of others is in ordinary tables, or is not read. */
static int check_known(const ctr_source *source, ctr_problem *problem)
{
    for (const char *const *table = KNOWN_TABLES; *table && problem->rc == SQLITE_OK; table++) {
        if (!ctr_schema_is_table(source->db, source->schema, *table, problem))
            ctr_problem_set(problem, SQLITE_CORRUPT_VTAB, "%s of the giving file is missing",
                            *table);
        check_known_size(source, *table, problem);
    }
    return problem->rc;
}

/* Two files that meet tell each other nothing but what concerns names; mostly there is none. */
static void meet(file_pull *pull, const ctr_catalog_entry *theirs, ctr_problem *problem)
{
    const ctr_identity *giver = pull->giver, *mine = &pull->taker;
    bool names = giver->names != 0 && giver->names != mine->names;
    if ((!names && mine->turn == CTR_TURN_NONE) || check_known(pull->source, problem)) return;
    ctr_catalog_entry entry;
    ctr_catalog_born(&entry, pull->db, pull->target, theirs->birth, problem);
    if (!pull->checked && problem->rc == SQLITE_OK) check_target(pull, entry.name, problem);
    ctr_catalog_close_entry(&entry);
    ctr_replacement_meet(pull->replica, pull->source->db, pull->source->schema, giver, problem);
    mine = ctr_check_identity(pull->replica, problem);
    if (mine && mine->turn != CTR_TURN_NONE) remember_source(pull, mine, problem);
}

/* ---- tracked tables -------------------------------------------------------------------------- */

/* Shows the rows of one tracked table that were merged. */
static void show_table(file_pull *pull, const char *birth, ctr_later *rows, ctr_problem *problem)
{
    ctr_merge merge;
    if (ctr_merge_open(&merge, pull->db, pull->target, birth, pull->replica, &pull->conflicts,
                       problem) &&
        merge.tracked)
        ctr_later_show(rows, &merge.showing, &merge.rows, problem);
    ctr_merge_close(&merge);
    ctr_problem_where(problem, "table %s", birth);
}

/* Shows those that are listed as apart; true if fewer are listed now. */
static bool show_listed(file_pull *pull, const char *birth, bool backwards, ctr_problem *problem)
{
    ctr_merge merge;
    bool fewer = ctr_merge_open(&merge, pull->db, pull->target, birth, pull->replica,
                                &pull->conflicts, problem) &&
                 merge.tracked &&
                 ctr_later_show_apart(&merge.showing, &merge.rows, backwards, problem);
    ctr_merge_close(&merge);
    ctr_problem_where(problem, "table %s", birth);
    return fewer;
}

/* What a table refuses may depend on rows that this one or another shows later: until two turns,
 * there and back, have changed nothing. */
static void show_apart_again(file_pull *pull, ctr_problem *problem)
{
    ctr_catalog catalog = {0};
    ctr_catalog_read(&catalog, pull->db, pull->target, problem);
    for (int turn = 0, idle = 0; idle < 2 && problem->rc == SQLITE_OK; turn++, idle++) {
        for (int i = 0; i < catalog.n && problem->rc == SQLITE_OK; i++) {
            const ctr_catalog_entry *entry = &catalog.entries[i];
            if (!is_tracked(&pull->mine, entry->name) ||
                ctr_apart_count(pull->db, pull->target, entry->name, problem) == 0)
                continue;
            if (!pull->checked) check_target(pull, entry->name, problem);
            if (problem->rc == SQLITE_OK && show_listed(pull, entry->birth, turn % 2 == 1, problem))
                idle = -1;
        }
    }
    ctr_catalog_close(&catalog);
}

/* A row is shown when everything is merged: its triggers may look at others. */
static void show_merged(file_pull *pull, ctr_problem *problem)
{
    for (int i = 0; i < pull->n_later && problem->rc == SQLITE_OK; i++)
        show_table(pull, pull->later[i].birth, &pull->later[i].rows, problem);
    if (problem->rc == SQLITE_OK) show_apart_again(pull, problem);
    for (int i = 0; i < pull->n_later; i++) {
        sqlite3_free(pull->later[i].birth);
        ctr_later_close(&pull->later[i].rows);
    }
    sqlite3_free(pull->later);
}

int ctr_pull_all(const ctr_source *source, const ctr_identity *giver, sqlite3 *db,
                 ctr_transaction *transaction, const char *target, const char *called,
                 ctr_side side, bool whole, ctr_report *report, ctr_problem *problem)
{
    ctr_catalog catalog = {0};
    file_pull pull = {.source = source,
                      .giver = giver,
                      .db = db,
                      .target = target,
                      .called = called,
                      .replica = ctr_replica_of(transaction, target),
                      .whole = whole,
                      .side = side,
                      .report = report};
    if (!pull.replica) ctr_problem_nomem(problem);
    ctr_objects_read(&pull.mine, db, target, problem);
    if (problem->rc == SQLITE_OK) ctr_catalog_read(&catalog, source->db, source->schema, problem);
    if (problem->rc == SQLITE_OK && catalog.n > 0 && !giver->present)
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                        "the giving file has counter tables but no replica id: it is damaged");
    read_taker(&pull, problem);
    pull.in_empty = is_empty(&pull, problem);
    for (int i = 0; i < catalog.n && problem->rc == SQLITE_OK; i++)
        merge_table(&pull, &catalog.entries[i], problem);
    show_merged(&pull, problem);
    if (problem->rc == SQLITE_OK && catalog.n > 0) meet(&pull, &catalog.entries[0], problem);
    ctr_conflicts_heed(&pull.conflicts, pull.replica, problem);
    ctr_catalog_close(&catalog);
    ctr_objects_close(&pull.mine);
    return problem->rc;
}
