/* functions/tracking.c - tracks columns of a table, or ends that. */
#include "functions/functions.h"

/* ---- the counter table ----------------------------------------------------------------------- */

/* Creates the counter table with the columns of call->shape, for a table that had the name `birth`
 * when tracking began. It uses stored tables that already exist. */
static void create_counter_table(ctr_tracking *call, const char *birth, ctr_problem *problem)
{
    char *definition = problem->rc == SQLITE_OK ? ctr_shape_declaration(&call->shape) : NULL;
    if (!call->counters || !definition) ctr_problem_nomem(problem);
    ctr_run run = ctr_run_on(call->db, call->schema, call->counters, problem);
    run.slots.name = birth;
    run.slots.definition = definition;
    ctr_run_do(&run, CTR_SQL_TRACK_CREATE, NULL);
    sqlite3_free(definition);
    ctr_shape_close(&call->shape);
}

/* `.clone` of the shell copies the stored tables of the counters without the virtual table. They
 * are used again if their triggers are on this table. Otherwise fails if another table was created
 * under this name. */
static void take_up_counters(ctr_tracking *call, ctr_problem *problem)
{
    ctr_catalog catalog = {0};
    const ctr_catalog_entry *born = NULL;
    ctr_catalog_read(&catalog, call->file, problem);
    const ctr_objects *objects = ctr_file_objects(call->file, problem);
    for (int i = 0; i < catalog.n && !call->counters && problem->rc == SQLITE_OK; i++) {
        const ctr_catalog_entry *entry = &catalog.entries[i];
        if (sqlite3_stricmp(entry->birth, call->table) == 0) born = entry;
        if (!ctr_triggers_stand_on(objects, entry->name, call->table, problem) ||
            ctr_schema_objects_find(objects, entry->name))
            continue;
        call->counters = sqlite3_mprintf("%s", entry->name);
        call->taken_up = true;
        ctr_stored_read(&call->shape, call->db, call->schema, entry->name, problem);
        create_counter_table(call, entry->birth, problem);
    }
    if (!call->counters && born)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s: the counter table %s was created with this name, by which files match "
                        "their tables",
                        call->table, born->name);
    ctr_catalog_close(&catalog);
}

void ctr_tracking_open_counters(ctr_tracking *call, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return;
    ctr_tracked_close(&call->tracked);
    ctr_shape_close(&call->shape);
    ctr_stored_read(&call->shape, call->db, call->schema, call->counters, problem);
    const ctr_objects *objects = ctr_file_objects(call->file, problem);
    if (objects)
        ctr_tracked_begin(&call->tracked, objects, call->counters, call->table, &call->shape,
                          problem);
}

/* Raises a counter to its next generation. */
static void raise_column(ctr_tracking *call, const char *name, ctr_problem *problem)
{
    const char *spelling;
    int64_t generation = ctr_shape_generation(&call->shape, name, &spelling) + 1;
    ctr_columns_check(&call->shape, call->db, call->counters, name, problem);
    ctr_columns_ask(call->db, call->schema, call->counters, name, generation, problem);
}

/* Fails unless the counters have the present key of the table, whatever the names of its
 * columns. */
static void check_tracked_key(ctr_tracking *call, const ctr_shape *wanted, ctr_problem *problem)
{
    bool same = wanted->n_keys == call->shape.n_keys;
    for (int i = 0; i < wanted->n_keys && same; i++) {
        int theirs = call->shape.keys[i];
        const ctr_column *a = &wanted->columns[wanted->keys[i]], *b = &call->shape.columns[theirs];
        const char *name = call->tracked.columns[theirs].name;
        same = name && sqlite3_stricmp(a->name, name) == 0 && a->affinity == b->affinity &&
               sqlite3_stricmp(a->collation, b->collation) == 0;
    }
    char *now = ctr_shape_key_text(wanted), *then = ctr_shape_key_text(&call->shape);
    if (!now || !then) ctr_problem_nomem(problem);
    if (!same)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s: the key is (%s), but that of its counters, %s, is (%s)", call->table,
                        now, call->counters, then);
    sqlite3_free(now);
    sqlite3_free(then);
}

/* A column that was renamed while the triggers were missing looks like a dropped one. */
static void check_lost(const ctr_tracking *call, ctr_problem *problem)
{
    const char *function = ctr_tracked_function(&call->tracked);
    for (int i = 0; i < call->shape.n_columns; i++)
        if (call->tracked.columns[i].lost)
            ctr_problem_set(problem, SQLITE_ERROR,
                            "%s: the column of the counter %s is missing: if it was renamed, "
                            "rename it back, call %s, and rename it again; if it was dropped, name "
                            "the remaining ones: %s('%s', ...)",
                            call->table, call->shape.columns[i].name, function, function,
                            call->table);
}

/* The triggers list the regular columns in the order of their numbers, so none may be missing. */
static void check_lost_regular(const ctr_tracking *call, ctr_problem *problem)
{
    for (int i = 0; i < call->tracked.n_regular; i++)
        if (call->tracked.regular[i].lost)
            ctr_problem_set(problem, SQLITE_ERROR,
                            "%s: the replicated column %s is missing: if it was renamed, rename it "
                            "back, call counter_replicate('%s'), and rename it again; if it was "
                            "dropped, call counter_untrack('%s', '%s')",
                            call->table, call->tracked.regular[i].lost, call->table, call->table,
                            call->tracked.regular[i].lost);
}

/* Adds counters for columns that have none. A counter that exists already, from other files, adopts
 * its column: the values are added to its counts. Returns whether there was such a column. */
static bool add_columns(ctr_tracking *call, bool whole, ctr_problem *problem)
{
    bool added = false;
    ctr_shape wanted = {0};
    ctr_constraints_read_shape(&wanted, call->db, call->schema, call->table, call->names, call->n,
                               &call->tracked, problem);
    if (problem->rc == SQLITE_OK) check_tracked_key(call, &wanted, problem);
    for (int i = 0; i < wanted.n_counters && problem->rc == SQLITE_OK; i++) {
        const char *name = ctr_shape_counter_name(&wanted, i),
                   *born = ctr_replicating_birth(call, name);
        if (ctr_tracked_counter(&call->tracked, name) >= 0 ||
            ctr_shape_counter_like(&call->shape, born) >= 0)
            continue;
        if (!whole) check_lost(call, problem);
        ctr_replicating_refuse_birth(call, name, born, problem);
        if (problem->rc == SQLITE_OK) raise_column(call, born, problem);
        added = true;
    }
    if (added) ctr_tracking_open_counters(call, problem);
    for (int i = 0; i < wanted.n_counters && problem->rc == SQLITE_OK; i++) {
        const char *name = ctr_shape_counter_name(&wanted, i);
        if (ctr_tracked_counter(&call->tracked, name) >= 0) continue;
        const char *born = ctr_replicating_birth(call, name);
        ctr_tracked_adopt(&call->tracked, ctr_shape_counter_like(&call->shape, born), name,
                          problem);
        added = true;
    }
    ctr_shape_close(&wanted);
    return added;
}

/* ---- tracking -------------------------------------------------------------------------------- */

static bool opens_each(const ctr_tracking *call, int counter)
{
    (void)call;
    (void)counter;
    return true;
}

/* Returns whether this call has given the counter its column. */
static bool opens_given(const ctr_tracking *call, int counter)
{
    return call->tracked.columns[call->shape.counters[counter]].given;
}

/* Returns whether the triggers are those that counter_track makes. */
static bool are_triggers_whole(const ctr_tracking *call, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return false;
    ctr_problem broken = {SQLITE_OK, NULL};
    ctr_triggers_check(call->file, call->counters, &broken);
    if (broken.rc == SQLITE_OK) return true;
    if (broken.rc == SQLITE_ERROR)
        ctr_problem_close(&broken);
    else
        *problem = broken;
    return false;
}

static void refuse_nothing_to_do(const ctr_tracking *call, ctr_problem *problem)
{
    if (call->n > 0)
        ctr_problem_set(problem, SQLITE_ERROR, "%s: column %s is tracked already", call->table,
                        call->names[0]);
    else
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s is tracked already, and there is nothing to count", call->table);
}

/* Adds columns to a tracked table, or repairs its triggers and counters. */
static int64_t go_on_tracking(ctr_tracking *call, ctr_problem *problem)
{
    ctr_tracking_open_counters(call, problem);
    bool whole = are_triggers_whole(call, problem);
    check_lost_regular(call, problem);
    int n_before = call->shape.n_columns;
    bool was_replicated = call->shape.replicated;
    ctr_replicating_note_births(call, problem);
    bool added = call->replicates && problem->rc == SQLITE_OK && ctr_replicating_add(call, problem);
    added = add_columns(call, whole, problem) || added;
    bool any = call->shape.replicated;
    for (int i = 0; i < call->shape.n_counters && !any && problem->rc == SQLITE_OK; i++)
        any = ctr_tracked_column_of(&call->tracked, i) != NULL;
    if (!any && problem->rc == SQLITE_OK)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s: none of its counters has a column of its name here: if columns were "
                        "renamed, rename them back, call %s, and rename them again",
                        call->table, ctr_tracked_function(&call->tracked));
    if (problem->rc == SQLITE_OK && call->n == 0) check_lost(call, problem);
    if (problem->rc == SQLITE_OK && (added || !whole))
        ctr_triggers_create(&call->tracked, call->file, problem);
    if (problem->rc != SQLITE_OK) return 0;

    if (call->values == CTR_VALUES_NEWEST && !whole) call->values = CTR_VALUES_WRITTEN;
    call->stamps = call->replicates && (added || !was_replicated || call->values);
    bool renamed = ctr_tracked_note(call->file, call->counters, &call->shape, problem);
    /* Adopted columns: those that this call has given to counters that existed before. */
    for (int i = 0; i < n_before && problem->rc == SQLITE_OK; i++)
        call->tracked.columns[i].adopted = call->tracked.columns[i].given;
    int64_t counted = ctr_counting_opening(call, opens_given, problem);
    if (!whole || added || renamed || call->taken_up || call->values || counted > 0) return counted;
    refuse_nothing_to_do(call, problem);
    return 0;
}

/* Refuses to track `table` while some tracked table is missing. `table` may be that table, renamed
 * and then rebuilt; new counters for it would belong to those of no other file. */
static void refuse_orphans(ctr_file *file, const char *table, ctr_problem *problem)
{
    ctr_catalog catalog = {0};
    ctr_catalog_read(&catalog, file, problem);
    const ctr_objects *objects = ctr_file_objects(file, problem);
    for (int i = 0; i < catalog.n && problem->rc == SQLITE_OK; i++) {
        const ctr_catalog_entry *entry = &catalog.entries[i];
        if (!ctr_tracked_is_among(objects, entry->name) ||
            ctr_triggers_table(objects, entry->name, problem))
            continue;
        char *noted = ctr_stored_tracked(objects->db, objects->schema, entry->name, problem);
        const char *last = noted ? noted : entry->birth;
        if (!ctr_schema_objects_find(objects, last))
            ctr_problem_set(
                problem, SQLITE_ERROR,
                "%s: %s holds the counters of a tracked table %s, which is missing: if %s is "
                "that table, rename it to %s, call counter_track('%s', ...), and rename it "
                "back",
                table, entry->name, last, table, last, last);
        sqlite3_free(noted);
    }
    ctr_catalog_close(&catalog);
}

/* Creates the counter table of a table that is not tracked yet. */
static void begin_tracking(ctr_tracking *call, ctr_problem *problem)
{
    refuse_orphans(call->file, call->table, problem);
    if (problem->rc != SQLITE_OK) return;
    if (call->n == 0 && !call->replicates)
        ctr_problem_set(problem, SQLITE_ERROR, "%s: name the columns to be tracked", call->table);
    ctr_constraints_read_shape(&call->shape, call->db, call->schema, call->table, call->names,
                               call->n, &call->tracked, problem);
    if (call->replicates && problem->rc == SQLITE_OK)
        ctr_constraints_refuse_collations(&call->shape, call->table, problem);
    if (!call->keys_assigned)
        ctr_constraints_refuse_own_keys(&call->shape, call->db, call->schema, call->table, problem);
    call->counters = sqlite3_mprintf("%s_counters", call->table);
    call->conn->row_cells = call->replicates;
    create_counter_table(call, call->table, problem);
    call->conn->row_cells = false;
}

int64_t ctr_tracking_track(ctr_tracking *call, ctr_problem *problem)
{
    if (!call->counters) take_up_counters(call, problem);
    if (call->counters) return go_on_tracking(call, problem);
    begin_tracking(call, problem);
    ctr_tracking_open_counters(call, problem);
    if (call->replicates && problem->rc == SQLITE_OK) ctr_replicating_add(call, problem);
    call->stamps = call->replicates;
    if (problem->rc == SQLITE_OK) ctr_triggers_create(&call->tracked, call->file, problem);
    if (problem->rc == SQLITE_OK)
        ctr_tracked_note(call->file, call->counters, &call->shape, problem);
    return ctr_counting_opening(call, opens_each, problem);
}

/* ---- untracking ------------------------------------------------------------------------------ */

/* Notes the counters of a table that is about to be dropped: tracked again, its values would add up
 * with the counts that other files have. */
static void note_untracked(const ctr_tracking *call, ctr_problem *problem)
{
    ctr_catalog_entry entry = {0};
    ctr_run run = ctr_run_on(call->db, call->schema, call->counters, problem);
    ctr_run_do(&run, CTR_SQL_UNTRACKED_CREATE, NULL);
    ctr_catalog_named(&entry, call->db, call->schema, call->counters, problem);
    sqlite3_stmt *note = ctr_run_prepare(&run, CTR_SQL_UNTRACKED_NOTE);
    for (int i = 0; i < call->shape.n_counters && problem->rc == SQLITE_OK; i++) {
        ctr_run_bind_text(&run, note, ":table", entry.birth);
        ctr_run_bind_text(&run, note, ":column", ctr_shape_counter_name(&call->shape, i));
        ctr_run_row(&run, note);
        sqlite3_reset(note);
    }
    sqlite3_finalize(note);
    ctr_catalog_close_entry(&entry);
}

static void drop_tracked_column(ctr_tracking *call, const char *name, ctr_problem *problem)
{
    int counter = ctr_tracked_counter(&call->tracked, name);
    if (counter < 0 && ctr_replicating_drop(call, name, problem)) return;
    int like = counter < 0 ? ctr_shape_counter_like(&call->shape, name) : -1;
    bool lost = like >= 0 && call->tracked.columns[call->shape.counters[like]].lost;
    if (lost) counter = like; /* its column was dropped from the table unnoticed */
    if (counter < 0)
        ctr_problem_set(problem, SQLITE_ERROR, "%s: column '%s' is not tracked", call->table, name);
    else if (call->shape.n_counters == 1 && !call->shape.replicated)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s: %s is its last tracked column: counter_untrack('%s') untracks the "
                        "table",
                        call->table, name, call->table);
    if (problem->rc != SQLITE_OK) return;
    char *own = ctr_text_copy(ctr_shape_counter_name(&call->shape, counter), problem);
    const ctr_identity *identity = ctr_file_identity(call->file, problem);
    if (identity && !*identity->name)
        ctr_succession_lineage_changed(call->file, CTR_WHY_DROPPED, problem);
    if (problem->rc == SQLITE_OK) raise_column(call, own, problem);
    sqlite3_free(own);
    ctr_tracking_open_counters(call, problem);
}

int64_t ctr_tracking_untrack(ctr_tracking *call, ctr_problem *problem)
{
    int64_t n = call->n;
    if (!call->counters)
        ctr_problem_set(problem, SQLITE_ERROR, "%s is not a tracked table", call->table);
    ctr_tracking_open_counters(call, problem);
    ctr_identity identity;
    if (ctr_identity_read(&identity, call->db, call->schema, problem)) return 0;
    ctr_run run = ctr_run_on(call->db, call->schema, call->counters, problem);
    if (call->n == 0) {
        n = call->shape.n_counters;
        note_untracked(call, problem);
        ctr_triggers_drop(call->db, call->schema, call->counters, problem);
        ctr_run_do(&run, CTR_SQL_TRACK_DROP, NULL);
        return n;
    }
    bool whole = are_triggers_whole(call, problem);
    if (!whole && problem->rc == SQLITE_OK) {
        /* SQLite changes no table while a trigger names a missing column. The names in the triggers
         * are noted, for they may be newer than the notes. */
        ctr_tracked_note(call->file, call->counters, &call->shape, problem);
        ctr_triggers_drop(call->db, call->schema, call->counters, problem);
    }
    ctr_run_do(&run, CTR_SQL_SYNC_JOIN, NULL);
    for (int i = 0; i < call->n && problem->rc == SQLITE_OK; i++)
        drop_tracked_column(call, call->names[i], problem);
    if (problem->rc == SQLITE_OK) check_lost(call, problem);
    check_lost_regular(call, problem);
    if (problem->rc == SQLITE_OK) ctr_triggers_create(&call->tracked, call->file, problem);
    if (!whole) ctr_counting_rows(call, problem);
    return n;
}
