/* merge/pull.c - merges a file: its identity, its tables, the values that tracked tables show. */
#include "merge/merge.h"

void ctr_pull_report_close(ctr_report *report)
{
    for (int i = 0; i < report->n; i++) {
        sqlite3_free(report->rows[i].birth);
        sqlite3_free(report->rows[i].name);
        for (int side = 0; side < 2; side++) sqlite3_free(report->rows[i].counters[side]);
    }
    sqlite3_free(report->rows);
    *report = (ctr_report){0};
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A file that takes over a name records the source of this pull, and copies the sources that this
 * source knows. A source that does not know our epoch yet has none of our shards. */
static void remember_source(const ctr_pull *pull, const ctr_identity *mine, ctr_problem *problem)
{
    const ctr_source *source = pull->source;
    ctr_run run = ctr_file_run(pull->file, problem);
    ctr_run from = ctr_file_run(source->file, problem);
    uint8_t digest[CTR_ID_SIZE];
    bool holds = mine->turn == CTR_TURN_COUNTS &&
                 ctr_names_named_epoch(&from, mine->name) >= mine->epoch &&
                 ctr_digest_shards(source, pull->file, mine->id, digest, problem);
    ctr_names_take_over(&run, &from);
    ctr_names_write(pull->file, pull->giver, problem);
    ctr_names_pulled(&run, pull->giver, holds ? digest : NULL);
    ctr_succession_note(pull->file, problem);
}

/* Exchanges what both files know of names. Most files have no names. Refuses counter_sources of the
 * source if it is not an ordinary table, or if it has too many rows, because every file passes them
 * on for ever. */
static void meet(ctr_pull *pull, const ctr_catalog_entry *theirs, ctr_problem *problem)
{
    enum { MOST = 10000 };
    const ctr_source *source = pull->source;
    const ctr_identity *giver = pull->giver, *mine = &pull->taker;
    bool names = giver->names != 0 && giver->names != mine->names;
    if (!names && mine->turn == CTR_TURN_NONE) return;
    ctr_run run = ctr_file_run(source->file, problem);
    if (!ctr_schema_is_table(source->db, source->schema, "counter_sources", problem))
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                        "counter_sources of the giving file is missing");
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_KNOWN_COUNT);
    ctr_run_bind_int(&run, row, ":most", MOST + 1);
    if (ctr_run_row(&run, row) && sqlite3_column_int(row, 0) > MOST)
        ctr_problem_set(problem, SQLITE_TOOBIG,
                        "counter_sources of the giving file has more than %d rows, the limit",
                        MOST);
    sqlite3_finalize(row);
    if (problem->rc != SQLITE_OK) return;
    const ctr_catalog_entry *here = ctr_catalog_find(&pull->here, theirs->birth);
    if (!pull->checked && here) ctr_pull_table_join(pull, here->name, problem);
    ctr_succession_meet(pull->file, source->db, source->schema, giver, problem);
    mine = ctr_file_identity(pull->file, problem);
    if (mine && mine->turn != CTR_TURN_NONE) remember_source(pull, mine, problem);
}

/* ---- tracked tables -------------------------------------------------------------------------- */

void ctr_pull_close_merge(ctr_pull_merge *merge)
{
    if (!merge) return;
    ctr_later_close(&merge->later);
    ctr_merge_close(&merge->to);
    sqlite3_free(merge);
}

/* Shows the merged rows of a table. Opens the merge again if the schema has changed since. */
static void show_table(ctr_pull *pull, ctr_pull_merge *merge, ctr_problem *problem)
{
    ctr_merge *to = &merge->to;
    if (!ctr_file_objects(pull->file, problem)) return;
    const ctr_catalog_entry *here = ctr_catalog_find(&pull->here, to->entry.birth);
    bool open = here != NULL;
    if (open && to->showing.tracked->as_of != pull->file->schemas) {
        ctr_merge_close(to);
        open = ctr_merge_open_table(to, pull->file, here, &pull->conflicts, problem);
    }
    if (open) ctr_later_show(&merge->later, &to->showing, &to->rows, pull->deletions, problem);
    if (here) ctr_problem_where(problem, "table %s", here->birth);
}

/* Sorts our tables: parents before their children. */
static void sort_tables(ctr_pull *pull, ctr_problem *problem)
{
    size_t n = (size_t)pull->here.n + 1;
    const ctr_foreign_keys *foreign = ctr_foreign_keys_of(pull->file, problem);
    const char **tables = foreign ? sqlite3_malloc64(n * sizeof *tables) : NULL;
    sqlite3_free(pull->order);
    pull->order = tables ? sqlite3_malloc64(n * sizeof *pull->order) : NULL;
    if (!pull->order) ctr_problem_nomem(problem);
    for (int i = 0; i < pull->here.n && problem->rc == SQLITE_OK; i++) {
        const char *counters = pull->here.entries[i].name;
        bool sorts = foreign->n > 0 && ctr_tracked_is_among(pull->mine, counters);
        tables[i] = sorts ? ctr_triggers_table(pull->mine, counters, problem) : NULL;
    }
    if (problem->rc == SQLITE_OK)
        ctr_foreign_sort(foreign, tables, pull->here.n, pull->order, problem);
    sqlite3_free(tables);
}

static ctr_pull_merge *merge_of(const ctr_pull *pull, const ctr_catalog_entry *here)
{
    ctr_pull_merge *merge = pull->first;
    while (merge && sqlite3_stricmp(merge->to.entry.birth, here->birth) != 0) merge = merge->next;
    return merge;
}

/* Parents are shown before their children, and deleted after them. */
static void show_each_table(ctr_pull *pull, ctr_problem *problem)
{
    for (int i = 0, n = pull->here.n; i < n && problem->rc == SQLITE_OK; i++) {
        int table = pull->order[pull->deletions ? n - 1 - i : i];
        ctr_pull_merge *merge = merge_of(pull, &pull->here.entries[table]);
        if (merge) show_table(pull, merge, problem);
    }
}

/* Shows the rows of one tracked table that are listed as apart. Returns the number of values that
 * are listed now. */
static int64_t show_apart(ctr_pull *pull, const ctr_catalog_entry *here, bool backwards,
                          ctr_problem *problem)
{
    ctr_merge merge = {0};
    int64_t apart = 0;
    if (ctr_merge_open_table(&merge, pull->file, here, &pull->conflicts, problem))
        apart =
            ctr_later_show_apart(&merge.showing, &merge.rows, backwards, pull->deletions, problem);
    ctr_merge_close(&merge);
    ctr_problem_where(problem, "table %s", here->birth);
    return apart;
}

/* Shows the rows of all tables that are listed as apart, children before their parents if it goes
 * backwards. Returns the number of values that are listed now, and adds the number before to
 * *before. */
static int64_t show_each_apart_again(ctr_pull *pull, bool backwards, int64_t *before,
                                     ctr_problem *problem)
{
    int64_t apart = 0;
    const ctr_catalog *here = &pull->here;
    for (int i = 0; i < here->n && problem->rc == SQLITE_OK; i++) {
        const ctr_catalog_entry *entry =
            &here->entries[pull->order[backwards ? here->n - 1 - i : i]];
        if (!ctr_tracked_is_among(pull->mine, entry->name)) continue;
        int64_t n = ctr_apart_count(pull->file, entry->name, problem);
        if (n == 0) continue;
        *before += n;
        if (!pull->checked) ctr_pull_table_join(pull, entry->name, problem);
        if (problem->rc == SQLITE_OK) apart += show_apart(pull, entry, backwards, problem);
    }
    return apart;
}

static void report_apart(ctr_pull *pull, ctr_problem *problem)
{
    ctr_report *report = pull->report;
    for (int i = 0; i < report->n && problem->rc == SQLITE_OK; i++) {
        struct ctr_report_apart *apart = &report->rows[i].apart[pull->side];
        const ctr_catalog_entry *here = ctr_catalog_find(&pull->here, report->rows[i].birth);
        if (here && ctr_tracked_is_among(pull->mine, here->name))
            ctr_apart_count_rows(pull->file, here->name, &apart->wait, &apart->differ, problem);
    }
}

/* Shows the rows that are apart again, because a table may refuse a row until another row is shown.
 * That ends after two turns, one in each direction, that leave no fewer values listed than ever
 * before: triggers of the user that change rows in turn may list them again for ever. Returns
 * whether there were any. */
static bool show_all_apart(ctr_pull *pull, ctr_problem *problem)
{
    int64_t least = 0;
    bool any = false;
    for (int turn = 0, idle = 0; idle < 2 && problem->rc == SQLITE_OK; turn++, idle++) {
        int64_t before = 0, apart = show_each_apart_again(pull, turn % 2 == 1, &before, problem);
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
static bool show_listed_rows(ctr_pull *pull, ctr_problem *problem)
{
    bool any = show_all_apart(pull, problem);
    if (any && ctr_circles_show(pull, problem)) show_all_apart(pull, problem);
    return any;
}

static bool any_replicated(const ctr_pull *pull)
{
    for (const ctr_pull_merge *merge = pull->first; merge; merge = merge->next)
        if (merge->to.shape.replicated) return true;
    return false;
}

/* Runs after all tables are merged, because triggers of the user may read other rows. Rows of
 * replicated tables are deleted when all others are shown: children may have another parent by
 * then. */
static void show_merged(ctr_pull *pull, ctr_problem *problem)
{
    bool replicated = any_replicated(pull);
    sort_tables(pull, problem);
    show_each_table(pull, problem);
    if (replicated) show_all_apart(pull, problem);
    pull->deletions = true;
    if (replicated) show_each_table(pull, problem);
    while (pull->first) {
        ctr_pull_merge *merge = pull->first;
        pull->first = merge->next;
        ctr_pull_close_merge(merge);
    }
    if (show_listed_rows(pull, problem)) report_apart(pull, problem);
}

int ctr_pull_show_apart(ctr_file *file, ctr_problem *problem)
{
    ctr_report none = {0};
    ctr_pull pull = {.file = file, .report = &none, .conflicts = {.file = file}};
    ctr_pull_table_look(&pull, problem);
    sort_tables(&pull, problem);
    if (show_all_apart(&pull, problem)) {
        pull.deletions = true;
        show_listed_rows(&pull, problem);
    }
    sqlite3_free(pull.order);
    ctr_catalog_close(&pull.here);
    return problem->rc;
}

int ctr_pull_all(ctr_pull *pull, ctr_problem *problem)
{
    const ctr_catalog *catalog = &pull->source->catalog;
    ctr_file *file = pull->file;
    pull->last = &pull->first;
    ctr_pull_table_look(pull, problem);
    if (problem->rc == SQLITE_OK && catalog->n > 0 && !pull->giver->present)
        ctr_problem_set(problem, SQLITE_CORRUPT_VTAB,
                        "the giving file has counter tables but no replica id: it is damaged");
    /* In a newer format the same columns may mean something else. */
    if (problem->rc == SQLITE_OK && ctr_file_peek(file, &pull->taker, problem)) {
        ctr_identity_offer_fork(file->conn->db, file->schema, problem);
        ctr_problem_where(problem, "the taking file");
    }
    pull->raised = file->raised;
    pull->in_empty = pull->mine && pull->mine->n == 0;
    for (int i = 0; i < catalog->n && problem->rc == SQLITE_OK; i++)
        ctr_pull_table_merge(pull, &catalog->entries[i], problem);
    show_merged(pull, problem);
    if (problem->rc == SQLITE_OK && catalog->n > 0) meet(pull, &catalog->entries[0], problem);
    ctr_conflicts_change_identity(&pull->conflicts, file, problem);
    if (pull->raised) file->raised = !ctr_session_lower_cache(file);
    sqlite3_free(pull->order);
    ctr_catalog_close(&pull->here);
    return problem->rc;
}
