/* functions/tracking.c - counter_track, counter_replicate and counter_untrack: the counting of
 * present values, the columns that become regular, the calls. */
#include "functions/functions.h"

#include <string.h>

/* Stands for a counter in counter_untracked: the keys of the table were spread. */
static const char SPREAD_BEFORE[] = "";

/* What becomes of rows that have counters, and that the table lacks unseen. */
typedef enum missing_rows { MISSING_REFUSED, MISSING_DELETED, MISSING_RESTORED } missing_rows;

/* One call of counter_track, counter_replicate or counter_untrack. */
typedef struct tracking_call {
    ctr_conn *conn;
    char *schema, *table; /* owned; the table as it is spelled in the schema */
    char *counters;       /* owned: its counter table, if there is one */
    ctr_file *file;       /* borrowed */
    ctr_shape shape;      /* of the counter table, present or future */
    ctr_tracked tracked;
    int n; /* the named columns */
    const char **names;
    char **births; /* owned: of the named columns that were travelling, their names between files */
    bool *ended;   /* owned: by regular column: this file ended its counter */
    size_t room_ended;
    int n_ended;
    bool rekeys;               /* another option: its key may have changed since */
    char *birth;               /* owned: then the name that it has between files */
    bool keys_assigned, again; /* options, as is the answer in `opening` */
    int spread;                /* another one: the bits of the numbers; 0: not asked for */
    int n_local;               /* options: the columns that stay in this file */
    const char **local;        /* owned; their names are borrowed */
    ctr_values_say values;     /* another option, of counter_replicate */
    missing_rows missing;      /* another option */
    bool replicates;           /* it is counter_replicate */
    bool stamps;               /* it has something to stamp: rows, or columns that are new to it */
    bool adds;                 /* it makes columns of a replicated table regular ones */
    int first_new;             /* the least number of those */
    bool relists;              /* it keeps more columns in this file */
    bool walks;                /* something else has changed that any row may show */
    bool rekinds;              /* what travels is of another kind than before */
    ctr_opening opening;
} tracking_call;

/* =================================================================================================
 * counting - counts the present values of a table. */

/* ---- rows that are missing ------------------------------------------------------------------- */

/* No statement that was counted has deleted them: the table may have been made anew. Deleted rows
 * are deleted in all files. */
static void refuse_missing_rows(const tracking_call *call)
{
    const long long n = call->conn->missing.n;
    if (call->rekeys)
        ctr_problem_set(call->conn, SQLITE_ERROR,
                        "%s: no row has the former key of %lld rows that have counters, such as "
                        "%s: a row that is to go is deleted before the table is made anew",
                        call->table, n, call->conn->missing.key);
    ctr_problem_set(call->conn, SQLITE_ERROR,
                    "%s: %lld of its rows %s%s, and no DELETE of them was seen: add "
                    "'missing=restored' to the call, which brings them back, or "
                    "'missing=deleted', which deletes them in all files",
                    call->table, n, n == 1 ? "is missing, " : "are missing, such as ",
                    call->conn->missing.key);
}

/* Compares every counter with the rows. Regular columns that come back have no value here: a new
 * token makes the next merges read all rows of other files. */
static void count_missing(tracking_call *call, ctr_run *run)
{
    ctr_conn *conn = call->conn;
    conn->missing.n = 0;
    run->slots.value = "";
    ctr_run_do(run, CTR_SQL_TRACK_COUNT_GONE, NULL);
    bool any = conn->missing.n > 0;
    if (any && call->missing == MISSING_REFUSED) refuse_missing_rows(call);
    sqlite3_free(conn->missing.key);
    conn->missing.key = NULL;
    if (!any || ctr_rc(call->conn) != SQLITE_OK) return;
    bool restored = call->missing == MISSING_RESTORED;
    run->slots.value = restored ? ", restored" : ", deleted";
    ctr_run_do(run, CTR_SQL_TRACK_COUNT_GONE, NULL);
    if (restored && call->shape.replicated)
        ctr_run_do(run, CTR_SQL_CATALOG_REDRAW_TABLE, call->counters);
}

/* ---- all rows -------------------------------------------------------------------------------- */

/* Returns whether rows and values that the table refused stay listed: a migration that rebuilds it
 * has switched foreign keys off, and checks them at its end. So nothing may show a child without
 * its parent. */
static bool leaves_refused(tracking_call *call)
{
    if (ctr_foreign_enforced(call->conn->db) || call->missing == MISSING_RESTORED) return false;
    const ctr_foreign_keys *foreign = ctr_foreign_keys_of(call->file);
    return foreign && ctr_foreign_is_child(foreign, call->table);
}

/* Shows the rows that were listed while the table was read. */
static void show_listed(tracking_call *call)
{
    ctr_merge merge;
    ctr_catalog_entry entry = {0};
    ctr_conflicts conflicts = {.file = call->file};
    if (ctr_apart_count(call->file, call->counters) == 0 || ctr_foreign_broken(call->conn->db))
        return;
    ctr_catalog_named(&entry, call->conn, call->schema, call->counters);
    if (ctr_rc(call->conn) == SQLITE_OK) {
        if (ctr_merge_open_table(&merge, call->file, &entry, &conflicts)) {
            merge.showing.leaves_refused = leaves_refused(call);
            ctr_later_show_apart(&merge.showing, &merge.row, false, false);
        }
        ctr_merge_close(&merge);
    }
    ctr_catalog_close_entry(&entry);
}

/* Returns "price" IS NOT 0 OR ..., for the new columns. A row that shows the DEFAULT in all of them
 * needs no stamp: tracked/reconcile.c. */
static const char *unlike_defaults(tracking_call *call)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < call->tracked.n_regular; i++) {
        const ctr_tracked_column *column = ctr_tracked_regular(&call->tracked, i);
        const ctr_described *described =
            column->number >= call->first_new && column->name
                ? ctr_ordinary_column(&call->tracked.ordinary, column->name)
                : NULL;
        if (!described) continue;
        const char *unlike = ctr_constraints_unlike_default(call->conn, described);
        sqlite3_str_appendf(out, "%s%s", ctr_text_separator(out, " OR "), unlike);
    }
    return ctr_text_built(call->conn, out);
}

/* Compares all rows and, if the triggers were whole and columns were added, those that show
 * something in these. Each new row of the counters may go to some page of an index, so SQLite needs
 * a larger cache. */
static int64_t count_rows(tracking_call *call)
{
    if (ctr_rc(call->conn) != SQLITE_OK) return 0;
    ctr_file *file = call->file;
    ctr_session_raise_cache(file);
    ctr_stats *stats = &call->conn->stats;
    int64_t before = stats->tracked;
    sqlite3_str *own = sqlite3_str_new(NULL), *theirs = sqlite3_str_new(NULL);
    ctr_list_own_names(&call->tracked, own, true);
    ctr_list_row(&call->tracked, theirs, "");
    ctr_run run = ctr_run_on(call->conn, call->schema, call->counters);
    run.slots.name = call->table;
    run.slots.columns = ctr_text_built(call->conn, own);
    run.slots.values = ctr_text_built(call->conn, theirs);
    run.slots.keys = ctr_shape_key_list(call->conn, &call->shape);
    run.slots.constraint = ctr_list_key_match(&call->tracked);
    bool looks = call->adds && !call->walks;
    if (looks) {
        run.slots.constraint = unlike_defaults(call);
    } else {
        ctr_tab *tab = ctr_tab_of(file, call->counters, &call->shape);
        if (tab) ctr_home_relink(tab);
        count_missing(call, &run);
    }
    run.slots.value = ctr_apart_count(file, call->counters) > 0 ? " or apart" : "";
    ctr_run_do(&run, looks ? CTR_SQL_TRACK_COUNT_UNLIKE : CTR_SQL_TRACK_COUNT_ROWS, NULL);
    ctr_session_lower_cache(file);
    return stats->tracked - before;
}

/* Compares every row with its counters, and every counter with the rows. Fails with SQLITE_ERROR
 * if rows are missing, unless the call says what becomes of them. Returns the number of rows that
 * were counted. */
static int64_t counting_rows(tracking_call *call)
{
    int64_t counted = count_rows(call);
    if (ctr_rc(call->conn) == SQLITE_OK) show_listed(call);
    return counted;
}

/* Records the answers about the opening: that of the name, and those of other files that stand in
 * the cells. */
static void answer_opening(tracking_call *call)
{
    ctr_opening *opening = &call->opening;
    ctr_catalog_entry entry = {0};
    uint8_t birth[CTR_ID_SIZE], *answers = sqlite3_malloc64((opening->n_met + 1) * CTR_ANSWER_SIZE);
    if (!answers) ctr_problem_nomem(call->conn);
    ctr_catalog_named(&entry, call->conn, call->schema, call->counters);
    if (ctr_rc(call->conn) == SQLITE_OK) ctr_openings_of_birth(call->conn, entry.birth, birth);
    if (ctr_rc(call->conn) == SQLITE_OK) {
        size_t n = 0;
        ctr_conflicts conflicts = {.file = call->file};
        ctr_merge merge;
        for (size_t i = 0; i < opening->n_met; i++)
            ctr_openings_write(answers + n++ * CTR_ANSWER_SIZE, opening->id,
                               opening->met + i * CTR_ID_SIZE, opening->answer);
        if (opening->answer == CTR_SAME)
            ctr_openings_write(answers + n++ * CTR_ANSWER_SIZE, opening->id, birth, CTR_SAME);
        ctr_merge_open(&merge, call->file, entry.birth, &conflicts);
        if (ctr_rc(call->conn) == SQLITE_OK) ctr_answers_take(&merge, answers, n);
        ctr_merge_close(&merge);
    }
    ctr_catalog_close_entry(&entry);
    sqlite3_free(answers);
}

/* Fails if the column of a counter shows values, and counter_untrack has ended such a counter. */
static void refuse_values_again(tracking_call *call, int counter, const char *birth)
{
    const char *name = ctr_shape_counter_name(&call->shape, counter);
    const ctr_tracked_column *column = ctr_tracked_column_of(&call->tracked, counter);
    ctr_run run = ctr_run_on(call->conn, call->schema, call->counters);
    sqlite3_stmt *find = ctr_run_prepare(&run, CTR_SQL_UNTRACKED_FIND);
    ctr_run_bind_text(&run, find, ":table", birth);
    ctr_run_bind_text(&run, find, ":column", name);
    if (!ctr_run_once(&run, find) || !column) return;

    const char *value = ctr_text_print(call->conn, "\"%w\"", column->name);
    run.slots.name = call->table;
    run.slots.value = value;
    int64_t n = ctr_run_number(&run, CTR_SQL_TRACK_COUNT_VALUES);
    if (n > 0)
        ctr_problem_set(
            call->conn, SQLITE_ERROR,
            "%s: %s was tracked in this file before, and the values in %lld of its rows would be "
            "counted again: if another file has its counters, set %s to 0, track it, merge with "
            "that file, and count again what was changed here since; if none has, add "
            "'values=again'",
            call->table, column->name, (long long)n, column->name);
}

/* Refuses values that are about to be counted again, under an opening: `opens`, by counter. Notes
 * that the counters are tracked. */
static void take_untracked(tracking_call *call, const bool *opens)
{
    ctr_catalog_entry entry = {0};
    if (ctr_schema_object(call->conn, call->schema, "counter_untracked") != CTR_OBJECT_TABLE)
        return;
    ctr_catalog_named(&entry, call->conn, call->schema, call->counters);
    ctr_run run = ctr_run_on(call->conn, call->schema, call->counters);
    for (int i = 0; i < call->shape.n_counters && !call->again; i++)
        if (opens[i]) refuse_values_again(call, i, entry.birth);
    sqlite3_stmt *forget = ctr_run_prepare(&run, CTR_SQL_UNTRACKED_FORGET);
    for (int i = 0; i < call->shape.n_counters; i++) {
        ctr_run_bind_text(&run, forget, ":table", entry.birth);
        ctr_run_bind_text(&run, forget, ":column", ctr_shape_counter_name(&call->shape, i));
        if (opens[i]) ctr_run_row(&run, forget);
        sqlite3_reset(forget);
    }
    sqlite3_finalize(forget);
    ctr_catalog_close_entry(&entry);
}

/* Counts the present values; those of all counters, or of those that this call has given a column,
 * are counted under a new opening, with the answer of the call. */
static int64_t counting_opening(tracking_call *call, bool all)
{
    if (ctr_rc(call->conn) != SQLITE_OK) return 0;
    ctr_opening *opening = &call->opening;
    ctr_conn *conn = call->conn;
    bool *list = sqlite3_malloc64((size_t)call->shape.n_counters + 1);
    if (!list) {
        ctr_problem_nomem(call->conn);
        return 0;
    }
    for (int i = 0; i < call->shape.n_counters; i++)
        list[i] = all || call->tracked.columns[call->shape.n_keys + i].given;
    opening->schema = call->schema;
    opening->counters = call->counters;
    opening->opens = list;
    opening->stamps = call->stamps;
    opening->adds = call->adds;
    opening->values = call->values;
    opening->ended = call->ended;
    opening->n_ended = call->n_ended;
    ctr_openings_new(opening->id);
    conn->opening = opening;
    take_untracked(call, list);
    int64_t counted = count_rows(call);
    conn->opening = NULL;
    sqlite3_free(list);
    const ctr_identity *identity = NULL;
    if (ctr_rc(call->conn) == SQLITE_OK && opening->n > 0) identity = ctr_file_identity(call->file);
    ctr_run run = ctr_run_on(call->conn, call->schema, call->counters);
    if (identity) ctr_openings_record(&run, opening->id, identity->id);
    if (identity && opening->answer != CTR_UNANSWERED) answer_opening(call);
    if (identity && call->shape.bounded) ctr_answers_declare_in(call->file, call->counters);
    if (ctr_rc(call->conn) == SQLITE_OK) show_listed(call);
    return counted;
}

/* =================================================================================================
 * replicating - which columns of a table counter_replicate makes regular ones.
 *
 * The names by which files match their regular columns are those that the columns had when they
 * were replicated first; a later rename does not change them (table/table.h). So a column is
 * refused whose name still is that of another one. */

static bool is_to_be_counter(const tracking_call *call, const char *name)
{
    for (int i = 0; i < call->n; i++)
        if (sqlite3_stricmp(call->names[i], name) == 0) return true;
    return false;
}

/* Returns whether a column of the table is neither key nor counter, and can be written. */
static bool is_regular(const tracking_call *call, const ctr_described *column)
{
    return column->name && column->key < 0 && !column->generated && !column->local &&
           ctr_tracked_counter(&call->tracked, column->name) < 0 &&
           !is_to_be_counter(call, column->name);
}

/* ---- columns that stay in this file ---------------------------------------------------------- */

static bool is_unique_in(const ctr_ordinary *ordinary, const char *column)
{
    for (size_t i = 0; i < ordinary->n_terms; i++) {
        const char *name = ordinary->terms[i].name;
        if (!name || sqlite3_stricmp(name, column) == 0) return true; /* an expression may use it */
    }
    return false;
}

/* Rows of other files get its DEFAULT, which must be possible, also for several rows. */
static void refuse_local(tracking_call *call, const ctr_described *column, const char *name)
{
    ctr_conn *conn = call->conn;
    const ctr_tracked *tracked = &call->tracked;
    if (!column)
        ctr_problem_set(conn, SQLITE_ERROR, "%s: there is no column '%s'", call->table, name);
    else if (column->key >= 0)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "%s: column %s is part of the key, and cannot stay in this file",
                        call->table, name);
    else if (column->generated)
        ctr_problem_set(conn, SQLITE_ERROR, "%s: column %s is generated, and travels in no file",
                        call->table, name);
    else if (ctr_tracked_named(tracked, name) >= 0 || is_to_be_counter(call, name))
        ctr_problem_set(conn, SQLITE_ERROR,
                        "%s: column %s travels: counter_untrack('%s', '%s') ends that, and then it "
                        "can stay in this file; all files must do so",
                        call->table, name, call->table, name);
    else if (column->not_null && !column->value)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "%s: column %s is NOT NULL and has no DEFAULT, which rows of other files "
                        "would get",
                        call->table, name);
    else if (column->value && sqlite3_stricmp(column->value, "NULL") != 0 &&
             ctr_ordinary_read_terms(&call->tracked.ordinary, conn, call->schema, call->table) ==
                 SQLITE_OK &&
             is_unique_in(&call->tracked.ordinary, name))
        ctr_problem_set(conn, SQLITE_ERROR,
                        "%s: column %s is UNIQUE and has the DEFAULT %s, which two rows of other "
                        "files would get: it must be NULL",
                        call->table, name, column->value);
}

static bool is_local(const ctr_tracked *tracked, const char *name)
{
    const ctr_described *column = ctr_ordinary_column(&tracked->ordinary, name);
    return column && column->local;
}

/* A column that stays in this file and is missing was renamed or dropped. It was dropped if each
 * column that is there has its place; the call says so, too, if it names another one. */
static void check_lost_local(tracking_call *call, ctr_run *run, bool named)
{
    bool asks = false;
    const ctr_tracked *tracked = &call->tracked;
    const char *lost = tracked->lost_local;
    if (!lost || ctr_rc(call->conn) != SQLITE_OK) return;
    for (size_t i = 0; i < tracked->ordinary.n && !named; i++) {
        const ctr_described *column = &tracked->ordinary.columns[i];
        asks =
            asks || (is_regular(call, column) && !ctr_tracked_regular_named(tracked, column->name));
    }
    if (asks)
        ctr_problem_set(call->conn, SQLITE_ERROR,
                        "%s: column %s, which stays in this file, is missing: if it was renamed, "
                        "add 'local=<its name>' to the call; if it was dropped, call "
                        "counter_untrack('%s', '%s')",
                        call->table, lost, call->table, lost);
    ctr_run_with(run, CTR_SQL_COLUMNS_END_LOCAL, ":name t", lost);
}

/* Returns whether the column travelled before, under this name between files. */
static bool has_travelled(const tracking_call *call, const char *name)
{
    ctr_tab *tab = ctr_tab_of(call->file, call->counters, &call->shape);
    const ctr_registry *registry = tab ? ctr_regular_of(tab) : NULL;
    return registry && ctr_regular_was_named(registry, name, strlen(name), 0);
}

/* Notes the columns that are to stay in this file. Returns whether there are new ones: then the
 * triggers are made anew, so that other connections read their names. */
static bool replicating_keep_local(tracking_call *call)
{
    bool any = false;
    ctr_run run = ctr_run_on(call->conn, call->schema, call->counters);
    for (int i = 0; i < call->n_local && ctr_rc(call->conn) == SQLITE_OK; i++) {
        const char *name = call->local[i];
        if (is_local(&call->tracked, name)) continue;
        refuse_local(call, ctr_ordinary_column(&call->tracked.ordinary, name), name);
        if (has_travelled(call, name)) call->rekinds = true;
        if (ctr_rc(call->conn) == SQLITE_OK)
            ctr_run_with(&run, CTR_SQL_COLUMNS_ADD_LOCAL, ":name t", name);
        any = true;
    }
    check_lost_local(call, &run, any);
    return any && ctr_rc(call->conn) == SQLITE_OK;
}

/* Ends that a column stays in this file: the next counter_replicate makes it a regular one. Returns
 * false if it does not. */
static bool replicating_end_local(tracking_call *call, const char *name)
{
    const char *lost = call->tracked.lost_local;
    if (!is_local(&call->tracked, name) && (!lost || sqlite3_stricmp(lost, name) != 0))
        return false;
    ctr_run run = ctr_run_on(call->conn, call->schema, call->counters);
    ctr_run_with(&run, CTR_SQL_COLUMNS_END_LOCAL, ":name t", name);
    return true;
}

/* ---- regular columns ------------------------------------------------------------------------- */

/* Ends the replication of regular columns that become counters. Returns whether there are any. */
static bool end_regular(tracking_call *call, ctr_tab *tab)
{
    bool any = false;
    for (int i = 0; tab && i < call->tracked.n_regular && ctr_rc(tab->conn) == SQLITE_OK; i++) {
        const ctr_tracked_column *regular = ctr_tracked_regular(&call->tracked, i);
        if (!regular->name || !is_to_be_counter(call, regular->name)) continue;
        ctr_regular_note(tab, regular->number, regular->birth, NULL, 0);
        call->rekinds = any = true;
    }
    return any;
}

/* Returns the name between files of a column that was a counter: others know it as that, though it
 * was renamed here. Returns NULL if it was none, or has kept its name. Fails if another column has
 * that name. The arena has what is returned. */
static const char *former_birth(const tracking_call *call, const char *column)
{
    const char *found = NULL, *spelling;
    ctr_run run = ctr_run_on(call->conn, call->schema, call->counters);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_COLUMNS_FORMER);
    ctr_run_bind_text(&run, row, ":name", column);
    while (ctr_run_row(&run, row)) {
        const char *birth = ctr_text_column(call->conn, row, 0),
                   *then = ctr_text_column(call->conn, row, 1);
        const int counter = birth ? ctr_shape_counter_like(&call->shape, birth) : -1;
        const bool ended = counter < 0
                               ? birth && ctr_shape_generation(&call->shape, birth, &spelling) > 0
                               : !ctr_tracked_column_of(&call->tracked, counter);
        if (!ended || !then || sqlite3_stricmp(birth, then) == 0) continue;
        const bool is = sqlite3_stricmp(then, column) == 0;
        const char *other = is ? birth : then;
        if (ctr_ordinary_column(&call->tracked.ordinary, other) &&
            ctr_tracked_named(&call->tracked, other) < 0)
            ctr_problem_set(call->conn, SQLITE_ERROR,
                            "%s: column %s was the counter %s, as which other files know it, and "
                            "there is another column %s: give that one another name",
                            call->table, then, birth, birth);
        else if (is)
            found = ctr_text_print(call->conn, "%s", birth);
    }
    sqlite3_finalize(row);
    return found;
}

/* Notes the names between files of the named columns that were regular, or counters that have
 * ended, before replicating_add. Fails if counter_track names a regular column. */
static void replicating_note_births(tracking_call *call)
{
    size_t size = ((size_t)call->n + 1) * sizeof *call->births;
    call->births = ctr_rc(call->conn) == SQLITE_OK ? sqlite3_malloc64(size) : NULL;
    if (!call->births) ctr_problem_nomem(call->conn);
    if (ctr_rc(call->conn) != SQLITE_OK) return;
    memset(call->births, 0, size);
    for (int i = 0; i < call->n; i++) {
        const ctr_tracked_column *regular =
            ctr_tracked_regular_named(&call->tracked, call->names[i]);
        const char *birth = regular ? regular->birth : former_birth(call, call->names[i]);
        if (birth) call->births[i] = ctr_text_copy(call->conn, birth);
        if (regular && !call->replicates)
            ctr_problem_set(call->conn, SQLITE_ERROR,
                            "%s: column %s is a regular column: counter_replicate('%s', '%s') "
                            "makes it a counter",
                            call->table, call->names[i], call->table, call->names[i]);
    }
}

/* Returns the name of a counter to be, by that of its column: a column that has one between files
 * keeps it, as replicating_note_births has noted. */
static const char *replicating_birth(const tracking_call *call, const char *column)
{
    for (int i = 0; i < call->n && call->births; i++)
        if (call->births[i] && sqlite3_stricmp(call->names[i], column) == 0) return call->births[i];
    return column;
}

static void refuse_birth(const tracking_call *call, const char *column)
{
    ctr_problem_set(call->conn, SQLITE_ERROR,
                    "%s: another column was called %s when it was replicated, and other files "
                    "still know it by that name: rename this one",
                    call->table, column);
}

/* Fails if the name of a counter to be is that of another regular column. */
static void replicating_refuse_birth(const tracking_call *call, const char *column,
                                     const char *birth)
{
    for (int i = 0; i < call->tracked.n_regular; i++)
        if (sqlite3_stricmp(ctr_tracked_regular(&call->tracked, i)->birth, birth) == 0)
            refuse_birth(call, column);
}

/* Notes whether this file has ended the counter that the column was, and not only learned of it. */
static void note_ended(tracking_call *call, int number, const char *name)
{
    ctr_run run = ctr_run_on(call->conn, call->schema, call->counters);
    ctr_run_with(&run, CTR_SQL_COLUMNS_TAKE_ENDED, ":name t", name);
    bool *ended = ctr_array_room(call->conn, call->ended, &call->room_ended, (size_t)number + 1, 1);
    if (!ended) return;
    call->ended = ended;
    for (; call->n_ended <= number; call->n_ended++) ended[call->n_ended] = false;
    ended[number] = sqlite3_changes(run.db) > 0;
}

/* Fails if a counter has lost the column that it had here, and the table has one of the name that
 * the counter had first: its counts stand in that one, and would be counted again. */
static void refuse_renamed_back(const tracking_call *call, int counter)
{
    const ctr_tracked_column *column = &call->tracked.columns[call->shape.n_keys + counter];
    if (column->lost)
        ctr_problem_set(call->conn, SQLITE_ERROR,
                        "%s: the counter %s was column %s here, which is missing: if that was "
                        "renamed to %s, rename it back, call %s('%s'), and rename it again; if it "
                        "was dropped, counter_untrack('%s', '%s') ends the counter in all files, "
                        "with what they have counted",
                        call->table, column->birth, column->lost, column->birth,
                        ctr_tracked_function(&call->tracked), call->table, call->table,
                        column->birth);
}

static void add_regular(tracking_call *call, ctr_tab *tab, const char *name)
{
    const char *spelling, *former = former_birth(call, name);
    const char *birth = former ? former : name;
    const ctr_registry *registry = ctr_regular_of(tab);
    if (!registry) return;
    if (!*name)
        ctr_problem_set(tab->conn, SQLITE_ERROR, "%s: a column without a name cannot be replicated",
                        call->table);
    int counter = ctr_shape_counter_like(&call->shape, birth);
    if (counter >= 0) refuse_renamed_back(call, counter);
    if (counter >= 0 && !ctr_tracked_column_of(&call->tracked, counter))
        ctr_problem_set(tab->conn, SQLITE_ERROR,
                        "%s: column %s is a counter in other files: %s makes it one here",
                        call->table, name, ctr_tracked_call(&call->tracked, name));
    if (counter >= 0 || ctr_regular_named(registry, birth, strlen(birth)) >= 0)
        refuse_birth(call, birth);
    int number = registry->n;
    int64_t generation = ctr_shape_generation(&call->shape, birth, &spelling);
    if (ctr_rc(tab->conn) != SQLITE_OK) return;
    if (generation > 0) note_ended(call, number, birth);
    if (generation > 0) call->walks = true;
    ctr_regular_note(tab, number, birth, name, generation);
}

/* Reads call->shape and call->tracked, again if they were read before. */
static void tracking_open_counters(tracking_call *call)
{
    if (ctr_rc(call->conn) != SQLITE_OK) return;
    ctr_tracked_close(&call->tracked);
    ctr_shape_close(&call->shape);
    ctr_stored_read(&call->shape, call->conn, call->schema, call->counters);
    const ctr_objects *objects = ctr_file_objects(call->file);
    if (objects)
        ctr_tracked_begin(&call->tracked, objects, call->counters, call->table, &call->shape);
}

/* Makes the table a replicated one, if it is not. Then all of its columns that are neither key nor
 * counter, and can be written, become regular columns; those that the call makes counters are
 * regular no longer. Returns whether a column came or went. Fails with SQLITE_ERROR if a column has
 * no name, or one that files know as another column's. */
static bool replicating_add(tracking_call *call)
{
    ctr_run run = ctr_run_on(call->conn, call->schema, call->counters);
    if (!call->shape.replicated) {
        ctr_run_do(&run, CTR_SQL_REGULAR_BEGIN, NULL); /* its row cells are empty */
        tracking_open_counters(call);
    }
    call->relists = replicating_keep_local(call);
    if (call->relists) tracking_open_counters(call);
    if (ctr_rc(call->conn) != SQLITE_OK) return false;
    ctr_tab *tab = ctr_tab_of(call->file, call->counters, &call->shape);
    bool changed = end_regular(call, tab);
    const ctr_registry *registry = tab ? ctr_regular_of(tab) : NULL;
    call->walks = changed;
    call->first_new = registry ? registry->n : 0;
    for (size_t i = 0; tab && i < call->tracked.ordinary.n && ctr_rc(call->conn) == SQLITE_OK;
         i++) {
        const ctr_described *column = &call->tracked.ordinary.columns[i];
        if (!is_regular(call, column) || ctr_tracked_regular_named(&call->tracked, column->name))
            continue;
        add_regular(call, tab, column->name);
        call->adds = changed = true;
    }
    bool yields = call->values == CTR_VALUES_OLDEST;
    if ((!changed && !yields) || ctr_rc(call->conn) != SQLITE_OK) return changed;
    /* Other files hold values of the new columns, or values that win now: with a new token all rows
     * are read again. */
    ctr_run_do(&run, CTR_SQL_CATALOG_REDRAW_TABLE, call->counters);
    tracking_open_counters(call);
    return changed;
}

/* Ends the replication of a regular column in this file; returns false if it is none. */
static bool replicating_drop(tracking_call *call, const char *name)
{
    for (int i = 0; i < call->tracked.n_regular && ctr_rc(call->conn) == SQLITE_OK; i++) {
        const ctr_tracked_column *regular = ctr_tracked_regular(&call->tracked, i);
        const char *column = regular->name   ? regular->name
                             : regular->lost ? regular->lost
                                             : regular->birth;
        if (sqlite3_stricmp(column, name) != 0) continue;
        ctr_tab *tab = ctr_tab_of(call->file, call->counters, &call->shape);
        ctr_tracked_note(call->file, call->counters, &call->shape);
        if (tab) ctr_regular_note(tab, regular->number, regular->birth, NULL, 0);
        tracking_open_counters(call);
        return true;
    }
    return false;
}

/* =================================================================================================
 * tracking - one call: makes the counter table, adds and drops columns. */

/* ---- the counter table ----------------------------------------------------------------------- */

/* Creates the counter table with the columns of call->shape, for a table that had the name `birth`
 * when tracking began. It uses stored tables that already exist. */
static void create_counter_table(tracking_call *call, const char *birth)
{
    const char *definition =
        ctr_rc(call->conn) == SQLITE_OK ? ctr_shape_declaration(call->conn, &call->shape) : NULL;
    if (!call->counters) ctr_problem_nomem(call->conn);
    ctr_run run = ctr_run_on(call->conn, call->schema, call->counters);
    run.slots.name = birth;
    run.slots.definition = definition;
    ctr_run_do(&run, CTR_SQL_TRACK_CREATE, NULL);
    ctr_shape_close(&call->shape);
}

/* `.clone` of the shell copies the stored tables of the counters without the virtual table. They
 * are used again if their triggers are on this table. Otherwise fails if another table was created
 * under this name. */
static void take_up_counters(tracking_call *call)
{
    ctr_catalog catalog = {0};
    const ctr_catalog_entry *born = NULL;
    ctr_catalog_read(&catalog, call->file);
    const ctr_objects *objects = ctr_file_objects(call->file);
    for (int i = 0; i < catalog.n && !call->counters && ctr_rc(call->conn) == SQLITE_OK; i++) {
        const ctr_catalog_entry *entry = &catalog.entries[i];
        if (sqlite3_stricmp(entry->birth, call->table) == 0) born = entry;
        if (!ctr_triggers_stand_on(objects, entry->name, call->table) ||
            ctr_schema_objects_find(objects, entry->name))
            continue;
        call->counters = sqlite3_mprintf("%s", entry->name);
        ctr_stored_read(&call->shape, call->conn, call->schema, entry->name);
        create_counter_table(call, entry->birth);
    }
    if (!call->counters && born)
        ctr_problem_set(call->conn, SQLITE_ERROR,
                        "%s: the counter table %s was created with this name, by which files match "
                        "their tables",
                        call->table, born->name);
    ctr_catalog_close(&catalog);
}

/* Raises a counter to its next generation. */
static void raise_column(tracking_call *call, const char *name)
{
    const char *spelling;
    int64_t generation = ctr_shape_generation(&call->shape, name, &spelling) + 1;
    ctr_columns_check(&call->shape, call->conn, call->counters, name);
    ctr_columns_ask(call->conn, call->schema, call->counters, name, generation);
}

/* Returns whether the counters have the present key of the table, whatever the names of its
 * columns. */
static bool has_tracked_key(tracking_call *call, const ctr_shape *wanted)
{
    bool same = wanted->n_keys == call->shape.n_keys;
    for (int i = 0; i < wanted->n_keys && same; i++) {
        const ctr_column *a = &wanted->columns[wanted->keys[i]],
                         *b = &call->shape.columns[call->shape.keys[i]];
        const char *name = ctr_tracked_key(&call->tracked, i)->name;
        same = name && sqlite3_stricmp(a->name, name) == 0 && a->affinity == b->affinity &&
               sqlite3_stricmp(a->collation, b->collation) == 0;
    }
    return same;
}

/* Returns whether the key of the table is still that of its counters. */
static bool is_key_same(tracking_call *call)
{
    ctr_shape wanted = {0};
    const ctr_tracked none = {.conn = call->conn};
    ctr_constraints_read_shape(&wanted, call->conn, call->schema, call->table, NULL, 0, &none);
    bool same = has_tracked_key(call, &wanted);
    ctr_shape_close(&wanted);
    return same;
}

static void check_tracked_key(tracking_call *call, const ctr_shape *wanted)
{
    const char *now = ctr_shape_key_text(call->conn, wanted),
               *then = ctr_shape_key_text(call->conn, &call->shape);
    if (!has_tracked_key(call, wanted))
        ctr_problem_set(call->conn, SQLITE_ERROR,
                        "%s: the key is (%s), but that of its counters, %s, is (%s): if a "
                        "migration has changed it, add 'keys=changed' to the call",
                        call->table, now, call->counters, then);
}

/* A column that was renamed while the triggers were missing looks like a dropped one. */
static void check_lost(const tracking_call *call)
{
    const char *function = ctr_tracked_function(&call->tracked);
    for (int i = 0; i < call->shape.n_columns; i++)
        if (call->tracked.columns[i].lost)
            ctr_problem_set(call->conn, SQLITE_ERROR,
                            "%s: the column of the counter %s is missing: if it was renamed, "
                            "rename it back, call %s, and rename it again; if it was dropped, name "
                            "the remaining ones: %s('%s', ...)",
                            call->table, call->tracked.columns[i].birth, function, function,
                            call->table);
}

/* The triggers list the regular columns in the order of their numbers, so none may be missing. */
static void check_lost_regular(const tracking_call *call)
{
    for (int i = 0; i < call->tracked.n_regular; i++) {
        const char *lost = ctr_tracked_regular(&call->tracked, i)->lost;
        if (lost)
            ctr_problem_set(call->conn, SQLITE_ERROR,
                            "%s: the replicated column %s is missing: if it was renamed, rename it "
                            "back, call counter_replicate('%s'), and rename it again; if it was "
                            "dropped, call counter_untrack('%s', '%s')",
                            call->table, lost, call->table, call->table, lost);
    }
}

/* Adds counters for columns that have none. A counter that exists already, from other files, adopts
 * its column: the values are added to its counts. Returns whether there was such a column. */
static bool add_columns(tracking_call *call, bool whole)
{
    bool added = false;
    ctr_shape wanted = {0};
    ctr_constraints_read_shape(&wanted, call->conn, call->schema, call->table, call->names, call->n,
                               &call->tracked);
    if (ctr_rc(call->conn) == SQLITE_OK) check_tracked_key(call, &wanted);
    for (int i = 0; i < wanted.n_counters && ctr_rc(call->conn) == SQLITE_OK; i++) {
        const char *name = ctr_shape_counter_name(&wanted, i),
                   *born = replicating_birth(call, name);
        if (ctr_tracked_counter(&call->tracked, name) >= 0 ||
            ctr_shape_counter_like(&call->shape, born) >= 0)
            continue;
        if (!whole) check_lost(call);
        replicating_refuse_birth(call, name, born);
        if (ctr_rc(call->conn) == SQLITE_OK) raise_column(call, born);
        added = true;
    }
    if (added) tracking_open_counters(call);
    for (int i = 0; i < wanted.n_counters && ctr_rc(call->conn) == SQLITE_OK; i++) {
        const char *name = ctr_shape_counter_name(&wanted, i);
        if (ctr_tracked_counter(&call->tracked, name) >= 0) continue;
        const int counter = ctr_shape_counter_like(&call->shape, replicating_birth(call, name));
        refuse_renamed_back(call, counter);
        ctr_tracked_adopt(&call->tracked, counter, name);
        added = true;
    }
    ctr_shape_close(&wanted);
    return added;
}

/* ---- tracking -------------------------------------------------------------------------------- */

/* Returns whether each named column is a counter and, for counter_replicate, no column of the table
 * is missing among those that travel. */
static bool are_columns_there(const tracking_call *call)
{
    const ctr_tracked *tracked = &call->tracked;
    for (int i = 0; i < call->n; i++)
        if (ctr_tracked_counter(tracked, call->names[i]) < 0) return false;
    if (!call->replicates) return true;
    for (size_t i = 0; i < tracked->ordinary.n; i++) {
        const ctr_described *column = &tracked->ordinary.columns[i];
        if (is_regular(call, column) && !ctr_tracked_regular_named(tracked, column->name))
            return false;
    }
    for (int i = 0; i < call->n_local; i++)
        if (!is_local(tracked, call->local[i])) return false;
    if (tracked->lost_local) return false;
    return call->shape.replicated;
}

static bool is_any_lost(const ctr_tracked *tracked)
{
    for (int i = 0; i < tracked->shape->n_columns + tracked->n_regular; i++)
        if (tracked->columns[i].lost) return true;
    return false;
}

/* Returns whether the numbers of the table are given out as the call asks. */
static bool is_spread_so(const tracking_call *call, const ctr_spread *spread)
{
    bool same = spread->is && (call->spread == CTR_SPREAD_BITS) == (spread->most < INT64_MAX);
    return call->spread == 0 || same;
}

/* Spreads the keys, if the call asks for it and they are not. Rows that were found may have numbers
 * of other files. */
static void set_spread(tracking_call *call)
{
    ctr_spread spread;
    ctr_tab *tab = ctr_tab_of(call->file, call->counters, &call->shape);
    ctr_spread_read(&spread, tab);
    if (ctr_rc(call->conn) != SQLITE_OK) return;
    if (spread.has_place && !spread.taken) ctr_spread_take(tab);
    if (is_spread_so(call, &spread)) return;
    ctr_spread_refuse(call->file, call->table, &call->shape);
    ctr_spread_set(&call->tracked, tab, call->spread);
}

/* Fails if a migration has built a table with spread keys anew without AUTOINCREMENT: its next rows
 * would get the greatest key plus one, as those of other files. */
static void refuse_lost_spread(tracking_call *call)
{
    ctr_tab *tab = ctr_tab_of(call->file, call->counters, &call->shape);
    const char *lost = ctr_spread_lost(tab, call->table);
    if (lost && is_key_same(call))
        ctr_problem_set(call->conn, SQLITE_ERROR,
                        "%s: %s: let the migration declare INTEGER PRIMARY KEY AUTOINCREMENT "
                        "again, or call `sqlite-counter adopt`, which writes the word into the "
                        "declaration, and rebuilds nothing",
                        call->table, lost);
}

/* Returns whether the table is already as the call asks, as at each start of an application that
 * sets up its tables. It only reads: another connection may be writing, and this one need not be
 * able to. The triggers are whole, so no row has changed unseen, but where triggers were switched
 * off: counter_track without a column compares all rows. */
static bool is_so(tracking_call *call)
{
    bool compares = call->n == 0 && !call->replicates;
    if (!call->counters || compares || call->values || call->missing != MISSING_REFUSED ||
        ctr_stored_lacks_index(call->file, call->counters))
        return false;
    ctr_spread spread;
    tracking_open_counters(call);
    ctr_tab *tab = ctr_tab_of(call->file, call->counters, &call->shape);
    ctr_spread_read(&spread, tab);
    return is_spread_so(call, &spread) && !ctr_spread_lost(tab, call->table) &&
           ctr_triggers_are_whole(call->file, call->counters) && are_columns_there(call) &&
           !is_any_lost(&call->tracked) &&
           ctr_tracked_is_noted(call->file, call->counters, &call->shape);
}

/* Marks the columns that this call has given to counters that existed before. */
static void mark_adopted(tracking_call *call, const ctr_shape *before)
{
    for (int i = 0; i < call->shape.n_columns; i++) {
        ctr_tracked_column *column = &call->tracked.columns[i];
        column->adopted = column->given && ctr_shape_counter(before, column->birth) >= 0;
    }
}

/* Adds columns to a tracked table, or repairs its triggers and counters. */
static int64_t go_on_tracking(tracking_call *call, ctr_shape *before)
{
    ctr_shape_copy(call->conn, before, &call->shape);
    bool whole = ctr_triggers_are_whole(call->file, call->counters);
    check_lost_regular(call);
    refuse_lost_spread(call);
    bool was_replicated = call->shape.replicated;
    replicating_note_births(call);
    bool added = call->replicates && ctr_rc(call->conn) == SQLITE_OK && replicating_add(call);
    if (add_columns(call, whole)) added = call->walks = true;
    bool any = call->shape.replicated;
    for (int i = 0; i < call->shape.n_counters && !any && ctr_rc(call->conn) == SQLITE_OK; i++)
        any = ctr_tracked_column_of(&call->tracked, i) != NULL;
    if (!any && ctr_rc(call->conn) == SQLITE_OK)
        ctr_problem_set(call->conn, SQLITE_ERROR,
                        "%s: none of its counters has a column of its name here: if columns were "
                        "renamed, rename them back, call %s, and rename them again",
                        call->table, ctr_tracked_function(&call->tracked));
    if (ctr_rc(call->conn) == SQLITE_OK && call->n == 0) check_lost(call);
    if (ctr_rc(call->conn) == SQLITE_OK && (added || call->relists || !whole))
        ctr_triggers_create(&call->tracked, call->file);
    if (ctr_rc(call->conn) != SQLITE_OK) return 0;

    if (call->values == CTR_VALUES_NEWEST && !whole) call->values = CTR_VALUES_WRITTEN;
    call->stamps = call->replicates && (added || !was_replicated || call->values);
    call->rekinds = call->rekinds || call->shape.replicated != was_replicated;
    call->adds = call->adds && was_replicated;
    call->walks = call->walks || !whole || call->missing != MISSING_REFUSED;
    ctr_tracked_note(call->file, call->counters, &call->shape);
    if (call->rekinds && ctr_rc(call->conn) == SQLITE_OK)
        ctr_columns_ask_kinds(call->conn, call->schema, call->counters);
    if (ctr_rc(call->conn) == SQLITE_OK) mark_adopted(call, before);
    int64_t counted = counting_opening(call, false);
    set_spread(call);
    return counted;
}

/* Refuses to track `table` while some tracked table is missing. `table` may be that table, renamed
 * and then rebuilt; new counters for it would belong to those of no other file. */
static void refuse_orphans(ctr_file *file, const char *table)
{
    ctr_catalog catalog = {0};
    ctr_catalog_read(&catalog, file);
    const ctr_objects *objects = ctr_file_objects(file);
    for (int i = 0; i < catalog.n && ctr_rc(file->conn) == SQLITE_OK; i++) {
        const ctr_catalog_entry *entry = &catalog.entries[i];
        if (!ctr_tracked_is_among(objects, entry->name) || ctr_triggers_table(objects, entry->name))
            continue;
        char *noted = ctr_stored_tracked(objects->conn, objects->schema, entry->name);
        const char *last = noted ? noted : entry->birth;
        if (!ctr_schema_objects_find(objects, last))
            ctr_problem_set(
                file->conn, SQLITE_ERROR,
                "%s: %s holds the counters of a tracked table %s, which is missing: if %s is "
                "that table, rename it to %s, call counter_track('%s', ...), and rename it "
                "back",
                table, entry->name, last, table, last, last);
        sqlite3_free(noted);
    }
    ctr_catalog_close(&catalog);
}

/* Rows that were there have no birth, and would take their numbers from those of the other files,
 * which have: each of these would be inserted again. */
static void refuse_spread_again(const tracking_call *call)
{
    if (call->again || ctr_rc(call->conn) != SQLITE_OK ||
        ctr_schema_object(call->conn, call->schema, "counter_untracked") != CTR_OBJECT_TABLE)
        return;
    ctr_run run = ctr_run_on(call->conn, call->schema, NULL);
    sqlite3_stmt *find = ctr_run_prepare(&run, CTR_SQL_UNTRACKED_FIND);
    ctr_run_bind_text(&run, find, ":table", call->birth ? call->birth : call->table);
    ctr_run_bind_text(&run, find, ":column", SPREAD_BEFORE);
    if (ctr_run_once(&run, find))
        ctr_problem_set(
            call->conn, SQLITE_ERROR,
            "%s: its keys were spread in this file before, and each row that another file has, "
            "too, would be there twice: take a copy of that file; if no other file has its rows, "
            "add 'values=again'",
            call->table);
}

/* Creates the counter table of a table that is not tracked yet. */
static void begin_tracking(tracking_call *call)
{
    if (!call->birth) refuse_orphans(call->file, call->table);
    if (ctr_rc(call->conn) != SQLITE_OK) return;
    if (call->n == 0 && !call->replicates)
        ctr_problem_set(call->conn, SQLITE_ERROR, "%s: name the columns to be tracked",
                        call->table);
    ctr_constraints_read_shape(&call->shape, call->conn, call->schema, call->table, call->names,
                               call->n, &call->tracked);
    if (call->replicates && ctr_rc(call->conn) == SQLITE_OK)
        ctr_constraints_refuse_collations(call->conn, &call->shape, call->table);
    if (call->spread > 0) {
        refuse_spread_again(call);
        ctr_spread_refuse(call->file, call->table, &call->shape);
    } else if (!call->keys_assigned) {
        ctr_constraints_refuse_own_keys(&call->shape, call->conn, call->schema, call->table);
    }
    if (!call->counters) call->counters = sqlite3_mprintf("%s_counters", call->table);
    call->conn->row_cells = call->replicates;
    call->conn->keyed = call->shape.keyed;
    call->conn->linked = call->shape.linked;
    create_counter_table(call, call->birth ? call->birth : call->table);
    call->conn->row_cells = call->conn->keyed = call->conn->linked = false;
}

/* ---- a changed key --------------------------------------------------------------------------- */

/* A migration may give a table another key. With 'keys=changed' its counters are made anew under
 * that key, and each row keeps its cells, as if it had always had it: they join with those of other
 * files that make the same call. The rows are known by the columns of the former key, which the
 * table must still have. The stamps of regular columns begin anew. */

/* Fails if something that the counters have has no place under the new key. */
static void refuse_unlike(tracking_call *call)
{
    ctr_conn *conn = call->conn;
    const ctr_tracked *tracked = &call->tracked;
    for (int i = 0; i < call->shape.n_keys; i++)
        if (!ctr_tracked_key(tracked, i)->name)
            ctr_problem_set(conn, SQLITE_ERROR,
                            "%s: its rows are known by the former key, which has a column %s: keep "
                            "that column in the table until this call",
                            call->table, ctr_tracked_key(tracked, i)->birth);
    for (int i = call->shape.n_keys; i < call->shape.n_columns + tracked->n_regular; i++) {
        const ctr_tracked_column *column = &tracked->columns[i];
        if (!column->name || sqlite3_stricmp(column->name, column->birth) != 0)
            ctr_problem_set(conn, SQLITE_ERROR,
                            "%s: column %s is %s here, and other files know it by its first name, "
                            "which must be its name when the key changes",
                            call->table, column->birth, column->name ? column->name : "missing");
    }
    for (int i = 0; i < call->shape.n_columns; i++)
        if (call->shape.columns[i].generation > 1)
            ctr_problem_set(conn, SQLITE_ERROR,
                            "%s: the counter %s was dropped and added again, and other files may "
                            "have its former counts: its key cannot change by this call",
                            call->table, call->shape.columns[i].name);
    int64_t listed = ctr_rc(conn) == SQLITE_OK ? ctr_apart_count(call->file, call->counters) : 0;
    if (listed > 0)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "%s: rows that wait or differ have no new key: counter_tracked lists them, "
                        "and its key can change when none is left",
                        call->table);
    if (call->shape.bounded)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "%s: it has a bounded counter, and whose rights would be under the new key "
                        "nobody knows: roll the migration back, merge with all files, and in one "
                        "of them copy the rows to another table, which has that key, and is given "
                        "a bound anew",
                        call->table);
    if (call->missing != MISSING_REFUSED)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "%s: while its key changes no option says what becomes of missing rows, "
                        "whose new key nobody knows",
                        call->table);
}

/* Copies the cells of all rows, with their new keys, into a table of their own. */
static void keep_former(tracking_call *call, const ctr_shape *wanted)
{
    ctr_tab *tab = ctr_tab_of(call->file, call->counters, &call->shape);
    if (tab) ctr_fold_table(tab);
    sqlite3_str *values = sqlite3_str_new(NULL), *keys = sqlite3_str_new(NULL);
    for (int i = 0; i < wanted->n_keys; i++) {
        const char *name = wanted->columns[wanted->keys[i]].name;
        sqlite3_str_appendf(values, "%st.\"%w\" AS k%d", ctr_text_separator(values, ", "), name, i);
        sqlite3_str_appendf(keys, "%sk%d", ctr_text_separator(keys, ", "), i);
    }
    for (int i = 0; i < call->shape.n_counters; i++)
        sqlite3_str_appendf(values, ", c.\"%w\" AS n%d", ctr_shape_counter_name(&call->shape, i),
                            i);
    ctr_run run = ctr_run_on(call->conn, call->schema, call->counters);
    run.slots.name = call->table;
    run.slots.values = ctr_text_built(call->conn, values);
    run.slots.keys = ctr_text_built(call->conn, keys);
    run.slots.constraint = ctr_list_key_match(&call->tracked);
    ctr_run_do(&run, CTR_SQL_TRACK_FORMER, NULL);
    int64_t twice = ctr_run_number(&run, CTR_SQL_TRACK_FORMER_TWICE);
    if (twice > 0)
        ctr_problem_set(call->conn, SQLITE_ERROR,
                        "%s: %lld of its rows %s the former key of another one, whose counts "
                        "would be in both",
                        call->table, (long long)twice, twice == 1 ? "has" : "have");
}

/* Merges the cells of one row into those that it has under its new key. `row` stands on it. */
static void give_former(ctr_row *to, sqlite3_stmt *row, sqlite3_value **keys)
{
    const int n_keys = to->shape->n_keys;
    for (int i = 0; i < n_keys; i++) keys[i] = sqlite3_column_value(row, i);
    if (ctr_row_find_key(to, keys)) return;
    for (int i = 0; i < to->shape->n_counters && ctr_rc(to->conn) == SQLITE_OK; i++) {
        ctr_cell cell;
        const uint8_t *bytes = sqlite3_column_blob(row, n_keys + i);
        if (!bytes) continue;
        if (ctr_cell_open(&cell, bytes, (size_t)sqlite3_column_bytes(row, n_keys + i)) != CTR_OK) {
            ctr_problem_set(to->conn, SQLITE_CORRUPT_VTAB, "a stored cell of column %s is damaged",
                            ctr_shape_counter_name(to->shape, i));
            return;
        }
        const ctr_cell joined = ctr_row_join_cell(to, i, &cell);
        if (ctr_rc(to->conn) == SQLITE_OK) ctr_row_set_joined(to, i, &joined);
    }
    if (ctr_rc(to->conn) == SQLITE_OK && ctr_row_is_staged(to)) ctr_row_write(to, keys);
}

/* Gives the rows the cells that keep_former has kept; `values` lists them in the order of the
 * counters that the table has now. */
static void carry_former(tracking_call *call, const char *values)
{
    ctr_row to;
    ctr_run run = ctr_run_on(call->conn, call->schema, call->counters);
    run.slots.values = values;
    ctr_run_do(&run, CTR_SQL_OPENINGS_GIVE_BACK, NULL);
    sqlite3_value **keys = sqlite3_malloc64((size_t)call->shape.n_keys * sizeof *keys);
    if (!keys) ctr_problem_nomem(call->conn);
    if (ctr_rc(call->conn) == SQLITE_OK)
        ctr_row_open(&to, call->file, call->counters, &call->shape);
    else
        to = (ctr_row){.conn = call->conn};
    to.whole = true;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_FORMER_ROWS);
    while (ctr_run_row(&run, row)) give_former(&to, row, keys);
    sqlite3_finalize(row);
    ctr_row_close(&to);
    sqlite3_free(keys);
    ctr_run_do(&run, CTR_SQL_TRACK_FORMER_DROP, NULL);
}

/* Names all counters of the table in the call, behind those that it names itself. */
static void name_counters(tracking_call *call)
{
    size_t n = (size_t)(call->n + call->shape.n_counters) + 1;
    const char **names = sqlite3_realloc64((void *)call->names, n * sizeof *names);
    if (!names) ctr_problem_nomem(call->conn);
    if (!names) return;
    call->names = names;
    for (int i = 0; i < call->shape.n_counters; i++) {
        const char *name = ctr_shape_counter_name(&call->shape, i);
        if (!is_to_be_counter(call, name))
            names[call->n++] = ctr_text_print(call->conn, "%s", name);
    }
}

/* Names all columns that stay in this file in the call. */
static void name_local(tracking_call *call)
{
    const ctr_ordinary *ordinary = &call->tracked.ordinary;
    size_t n = (size_t)(call->n_local + call->tracked.n_local) + 1;
    const char **local = sqlite3_realloc64((void *)call->local, n * sizeof *local);
    if (!local) ctr_problem_nomem(call->conn);
    if (!local) return;
    call->local = local;
    for (size_t i = 0; i < ordinary->n; i++)
        if (ordinary->columns[i].local)
            local[call->n_local++] = ctr_text_print(call->conn, "%s", ordinary->columns[i].name);
}

/* Drops the counters of a table whose key has changed, and keeps what its rows have. */
static void drop_former(tracking_call *call)
{
    ctr_shape wanted = {0};
    ctr_catalog_entry entry = {0};
    const ctr_tracked none = {.conn = call->conn};
    ctr_run run = ctr_run_on(call->conn, call->schema, call->counters);
    if (ctr_rc(call->conn) != SQLITE_OK) return;
    call->replicates = call->replicates || call->shape.replicated;
    refuse_unlike(call);
    name_local(call);
    if (ctr_rc(call->conn) != SQLITE_OK) return;
    run.slots.name = call->table;
    run.slots.keys = ctr_shape_key_list(call->conn, &call->shape);
    run.slots.constraint = ctr_list_key_match(&call->tracked);
    count_missing(call, &run);
    ctr_constraints_read_shape(&wanted, call->conn, call->schema, call->table, NULL, 0, &none);
    if (ctr_rc(call->conn) == SQLITE_OK) keep_former(call, &wanted);
    ctr_shape_close(&wanted);
    name_counters(call);
    if (ctr_catalog_named(&entry, call->conn, call->schema, call->counters))
        call->birth = ctr_text_copy(call->conn, entry.birth);
    ctr_catalog_close_entry(&entry);
    ctr_run_do(&run, CTR_SQL_OPENINGS_KEEP, NULL);
    ctr_triggers_drop(call->file, call->counters);
    ctr_run_do(&run, CTR_SQL_TRACK_DROP, NULL);
    ctr_tracked_close(&call->tracked);
    ctr_shape_close(&call->shape);
}

/* Lists the kept cells of the counters of a shape in the order of another one. */
static const char *list_former(ctr_conn *conn, const ctr_shape *now, const ctr_shape *former)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < now->n_keys; i++)
        sqlite3_str_appendf(out, "%sk%d", ctr_text_separator(out, ", "), i);
    for (int i = 0; i < now->n_counters; i++) {
        int n = ctr_shape_counter_like(former, ctr_shape_counter_name(now, i));
        if (n >= 0)
            sqlite3_str_appendf(out, ", n%d", n);
        else
            sqlite3_str_appendall(out, ", NULL");
    }
    return ctr_text_built(conn, out);
}

/* Does what counter_track or counter_replicate asks for. Returns the number of rows that were
 * counted. */
static int64_t tracking_track(tracking_call *call)
{
    if (is_so(call) || ctr_rc(call->conn) != SQLITE_OK) return 0;
    if (!call->counters) take_up_counters(call);
    ctr_shape before = {0};
    if (call->counters) {
        ctr_stored_mend_index(call->file, call->counters);
        tracking_open_counters(call);
    }
    bool rekeys =
        call->counters && call->rekeys && ctr_rc(call->conn) == SQLITE_OK && !is_key_same(call);
    if (call->counters && !rekeys) {
        int64_t counted = go_on_tracking(call, &before);
        ctr_shape_close(&before);
        return counted;
    }
    if (rekeys) {
        ctr_shape_copy(call->conn, &before, &call->shape);
        drop_former(call);
    }
    begin_tracking(call);
    tracking_open_counters(call);
    if (call->replicates && ctr_rc(call->conn) == SQLITE_OK) replicating_add(call);
    call->adds = false;
    call->stamps = call->replicates;
    if (ctr_rc(call->conn) == SQLITE_OK) ctr_triggers_create(&call->tracked, call->file);
    if (ctr_rc(call->conn) == SQLITE_OK) ctr_tracked_note(call->file, call->counters, &call->shape);
    if (rekeys && ctr_rc(call->conn) == SQLITE_OK) {
        carry_former(call, list_former(call->conn, &call->shape, &before));
        call->opening.carries = call->again = true;
        if (call->opening.answer == CTR_UNANSWERED) call->opening.answer = CTR_SAME;
    }
    ctr_shape_close(&before);
    int64_t counted = counting_opening(call, true);
    set_spread(call);
    return counted;
}

/* ---- untracking ------------------------------------------------------------------------------ */

/* Notes the counters of a table that is about to be dropped: tracked again, its values would add up
 * with the counts that other files have. */
static void note_untracked(const tracking_call *call)
{
    ctr_catalog_entry entry = {0};
    ctr_run run = ctr_run_on(call->conn, call->schema, call->counters);
    ctr_run_do(&run, CTR_SQL_UNTRACKED_CREATE, NULL);
    ctr_catalog_named(&entry, call->conn, call->schema, call->counters);
    sqlite3_stmt *note = ctr_run_prepare(&run, CTR_SQL_UNTRACKED_NOTE);
    ctr_spread spread;
    ctr_spread_read(&spread, ctr_tab_of(call->file, call->counters, &call->shape));
    for (int i = spread.is ? -1 : 0; i < call->shape.n_counters && ctr_rc(call->conn) == SQLITE_OK;
         i++) {
        ctr_run_bind_text(&run, note, ":table", entry.birth);
        ctr_run_bind_text(&run, note, ":column",
                          i < 0 ? SPREAD_BEFORE : ctr_shape_counter_name(&call->shape, i));
        ctr_run_row(&run, note);
        sqlite3_reset(note);
    }
    sqlite3_finalize(note);
    ctr_catalog_close_entry(&entry);
}

/* Returns whether a counter of this name was dropped before, also by a file that was merged. */
static bool is_dropped(const tracking_call *call, const char *name)
{
    const char *spelling;
    ctr_shape_generation(&call->shape, name, &spelling);
    return spelling && ctr_shape_counter_like(&call->shape, name) < 0;
}

/* Returns the number of columns that were tracked until now. */
static int drop_tracked_column(tracking_call *call, const char *name)
{
    int counter = ctr_tracked_counter(&call->tracked, name);
    if (counter < 0 && (replicating_drop(call, name) || replicating_end_local(call, name)))
        return 1;
    if (counter < 0 && is_dropped(call, name)) return 0;
    int like = counter < 0 ? ctr_shape_counter_like(&call->shape, name) : -1;
    bool lost = like >= 0 && call->tracked.columns[call->shape.n_keys + like].lost;
    if (lost) counter = like; /* its column was dropped from the table unnoticed */
    if (counter < 0)
        ctr_problem_set(call->conn, SQLITE_ERROR, "%s: column '%s' is not tracked", call->table,
                        name);
    else if (call->shape.n_counters == 1 && !call->shape.replicated)
        ctr_problem_set(call->conn, SQLITE_ERROR,
                        "%s: %s is its last tracked column: counter_untrack('%s') untracks the "
                        "table",
                        call->table, name, call->table);
    if (ctr_rc(call->conn) != SQLITE_OK) return 0;
    char *own = ctr_text_copy(call->conn, ctr_shape_counter_name(&call->shape, counter));
    const ctr_identity *identity = ctr_file_identity(call->file);
    if (identity) ctr_rights_refuse_new_id(call->file);
    if (ctr_rc(call->conn) == SQLITE_OK && identity && !*identity->name)
        ctr_succession_lineage_changed(call->file, CTR_WHY_DROPPED);
    if (ctr_rc(call->conn) == SQLITE_OK) raise_column(call, own);
    ctr_run run = ctr_run_on(call->conn, call->schema, call->counters);
    if (call->shape.replicated) ctr_run_with(&run, CTR_SQL_COLUMNS_ENDED, ":name t", own);
    sqlite3_free(own);
    tracking_open_counters(call);
    return 1;
}

/* Does what counter_untrack asks for. Returns the number of columns that are no longer tracked. A
 * counter that a merge has dropped is none of them: a migration may be the same in each file. */
static int64_t tracking_untrack(tracking_call *call)
{
    int64_t n = 0;
    if (!call->counters)
        ctr_problem_set(call->conn, SQLITE_ERROR, "%s is not a tracked table", call->table);
    tracking_open_counters(call);
    ctr_identity identity;
    if (ctr_identity_read(&identity, call->conn, call->schema)) return 0;
    ctr_run run = ctr_run_on(call->conn, call->schema, call->counters);
    if (call->n == 0) {
        n = call->shape.n_counters;
        ctr_rights_refuse_new_id(call->file);
        note_untracked(call);
        ctr_triggers_drop(call->file, call->counters);
        ctr_run_do(&run, CTR_SQL_TRACK_DROP, NULL);
        return n;
    }
    bool whole = ctr_triggers_are_whole(call->file, call->counters);
    if (!whole) refuse_lost_spread(call);
    /* The triggers may have newer names than the notes, and a counter that ends leaves both. */
    if (ctr_rc(call->conn) == SQLITE_OK) ctr_tracked_note(call->file, call->counters, &call->shape);
    /* SQLite changes no table while a trigger names a missing column. */
    if (!whole && ctr_rc(call->conn) == SQLITE_OK) ctr_triggers_drop(call->file, call->counters);
    ctr_run_do(&run, CTR_SQL_SYNC_JOIN, NULL);
    for (int i = 0; i < call->n && ctr_rc(call->conn) == SQLITE_OK; i++)
        n += drop_tracked_column(call, call->names[i]);
    if (ctr_rc(call->conn) == SQLITE_OK) check_lost(call);
    check_lost_regular(call);
    if (ctr_rc(call->conn) == SQLITE_OK) ctr_triggers_create(&call->tracked, call->file);
    if (!whole) counting_rows(call);
    return n;
}

/* =================================================================================================
 * track - the SQL functions: columns of ordinary tables that count, and tables whose rows travel
 * whole.
 *
 *     SELECT counter_track('products', 'stock');             tracks stock: rows counted
 *     SELECT counter_track('products', 'sold');              tracks sold, too
 *     SELECT counter_track('orders', 'n', 'keys=assigned');  tracks a table with an option
 *     SELECT counter_replicate('products', 'stock');         stock counts, the rest is regular
 *     SELECT counter_untrack('products', 'sold');            stops, in all files: columns
 *     SELECT counter_untrack('products');                    untracks the table: columns
 *
 * counter_replicate tracks the named columns, of which there may be none, and replicates all others
 * that can be written (the part replicating). A tracked table becomes a replicated one by it.
 *
 * `table` is a table of temp, main or an attached database, searched in this order, or
 * 'schema.table'. The present values are counted under an opening (table/table.h). A call that asks
 * for what is already so only looks, and returns 0. If triggers are missing, another call counts
 * the differences between the rows and their counters, and creates the triggers again, as does
 * counter_untrack of a column; if they have not run, counter_track without a column does. After a
 * rename a call notes the names, so that a table that is rebuilt later is recognized.
 *
 * An argument of the first two with an '=' is an option, not a column:
 *
 *     keys=assigned   SQLite may give out the key: rows are made in one file, or the application
 *                     assigns keys. A table that is tracked already need not repeat it.
 *     keys=spread     of counter_replicate: each file gives out numbers from a place of its own
 *                     (tracked/spread.c), up to 2^53 - 1; 'keys=spread 63' up to 2^63 - 1
 *     keys=changed    a migration has given the table another key: its rows keep their counts
 *     opening=same    the present values are those of a copy: as counter_opening(table, 'same'),
 *                     also with openings of other files that stand in its counters already
 *     opening=add     they add up with such openings
 *     local=notes     of counter_replicate, once for each: a column that stays in this file. Rows
 *                     that a merge brings get its DEFAULT
 *     values=again    the present values count although counter_untrack ended the counter in this
 *                     file, and files that have merged it may hold them as counts already
 *     values=newest   of counter_replicate: the values that the rows had when this file began to
 *                     replicate them win over those that they had then in other files; in a table
 *                     that was rebuilt all values are the newest, as if each row was inserted now
 *     values=oldest   of counter_replicate: they yield to those of other files
 *     missing=restored, missing=deleted
 *                     rows that have counters, and that the table lacks though no DELETE was seen,
 *                     as in a table that was made anew: they come back, or are deleted in all files
 *
 * counter_untrack takes the last two alone.
 *
 * Errors: SQLITE_ERROR names a column that cannot be tracked, and of counter_replicate a row with
 * NULL in a new counter that has another DEFAULT; SQLITE_MISMATCH shows a value that is no integer,
 * with its row. They change nothing. */

static const char COUNTER_TRACK[] = "counter_track", COUNTER_REPLICATE[] = "counter_replicate",
                  COUNTER_UNTRACK[] = "counter_untrack";

/* ---- finding the table ----------------------------------------------------------------------- */

static bool look_for_table(void *with, const char *schema, const char *table)
{
    tracking_call *call = with;
    ctr_run run = ctr_run_on(call->conn, schema, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_TABLE);
    ctr_run_bind_text(&run, row, ":name", table);
    const char *name = ctr_run_row(&run, row) ? ctr_text_column(call->conn, row, 0) : NULL;
    if (name) {
        call->schema = ctr_text_copy(call->conn, schema);
        call->table = ctr_text_copy(call->conn, name);
    }
    sqlite3_finalize(row);
    return name != NULL;
}

/* ---- the functions --------------------------------------------------------------------------- */

/* Sets the schema and the name of the table. */
static void find_ordinary(tracking_call *call, const char *table)
{
    ctr_object object = CTR_OBJECT_NONE;
    if (!ctr_schema_find(call->conn, table, look_for_table, call))
        ctr_problem_set(call->conn, SQLITE_ERROR, "there is no table '%s'", table);
    if (ctr_rc(call->conn) == SQLITE_OK)
        object = ctr_schema_object(call->conn, call->schema, call->table);
    if (object != CTR_OBJECT_TABLE)
        ctr_problem_set(call->conn, SQLITE_ERROR,
                        "%s is %s: only an ordinary table has columns that can be tracked",
                        call->table, ctr_schema_object_text(object));
}

/* Does the work on the table of the call, within a session. */
static int64_t on_ordinary(tracking_call *call, int64_t (*work)(tracking_call *))
{
    int64_t result = 0;
    if (ctr_rc(call->conn) == SQLITE_OK) ctr_events_append(call->conn);
    call->file = ctr_rc(call->conn) == SQLITE_OK ? ctr_file_of(call->conn, call->schema) : NULL;
    if (!call->file) ctr_problem_nomem(call->conn);
    if (call->file) call->counters = ctr_triggers_counters(call->file, call->table);
    if (ctr_rc(call->conn) == SQLITE_OK) result = work(call);
    ctr_events_write_ahead(call->conn);
    return result;
}

static int64_t in_session(tracking_call *call, const char *table, int64_t (*work)(tracking_call *))
{
    int64_t result = 0, inserted = sqlite3_last_insert_rowid(call->conn->db);
    ctr_session session;
    if (ctr_session_begin(&session, call->conn, true) == SQLITE_OK) {
        find_ordinary(call, table);
        result = on_ordinary(call, work);
    }
    ctr_session_end(&session);
    sqlite3_set_last_insert_rowid(call->conn->db, inserted);
    return result;
}

static void close_tracking(tracking_call *call)
{
    ctr_tracked_close(&call->tracked);
    ctr_shape_close(&call->shape);
    sqlite3_free(call->schema);
    sqlite3_free(call->table);
    sqlite3_free(call->counters);
    for (int i = 0; i < call->n && call->births; i++) sqlite3_free(call->births[i]);
    sqlite3_free(call->births);
    sqlite3_free((void *)call->local);
    sqlite3_free(call->birth);
    sqlite3_free(call->ended);
    sqlite3_free(call->names);
    sqlite3_free(call->opening.met);
}

/* Returns false, and sets the error, if an answer was given `before` that is not this one. */
static bool agrees(sqlite3_context *ctx, const char *function, const char *option, int before,
                   int answer)
{
    if (before == 0 || before == answer) return true;
    ctr_arg_error(ctx, "%s: '%s' contradicts the option before it", function, option);
    return false;
}

/* Takes the option for missing rows that `deleted` tells; false, with the error, if the other one
 * was taken before. */
static bool take_missing(sqlite3_context *ctx, tracking_call *call, const char *function,
                         bool deleted)
{
    missing_rows before = call->missing;
    call->missing = deleted ? MISSING_DELETED : MISSING_RESTORED;
    return agrees(ctx, function, deleted ? "missing=deleted" : "missing=restored", (int)before,
                  (int)call->missing);
}

/* Takes an argument of counter_track with an '='. Returns false, and sets the error, if there is no
 * such option, or one that contradicts it was taken before. */
static bool take_option(sqlite3_context *ctx, tracking_call *call, const char *function,
                        const char *option)
{
    static const char LOCAL[] = "local=";
    if (call->replicates && sqlite3_strnicmp(option, LOCAL, sizeof LOCAL - 1) == 0) {
        call->local[call->n_local++] = option + sizeof LOCAL - 1;
        return true;
    }
    bool assigned = sqlite3_stricmp(option, "keys=assigned") == 0,
         rekeys = sqlite3_stricmp(option, "keys=changed") == 0,
         same = sqlite3_stricmp(option, "opening=same") == 0,
         add = sqlite3_stricmp(option, "opening=add") == 0,
         again = sqlite3_stricmp(option, "values=again") == 0,
         spread = call->replicates && sqlite3_stricmp(option, "keys=spread") == 0,
         wide = call->replicates && sqlite3_stricmp(option, "keys=spread 63") == 0,
         newest = call->replicates && sqlite3_stricmp(option, "values=newest") == 0,
         oldest = call->replicates && sqlite3_stricmp(option, "values=oldest") == 0;
    int answer = (int)call->opening.answer, values = (int)call->values;
    bool keys = call->keys_assigned, spreads = call->spread > 0;
    if (assigned) call->keys_assigned = true;
    if (spread || wide) call->spread = wide ? CTR_SPREAD_BITS_MOST : CTR_SPREAD_BITS;
    if (assigned || spread || wide)
        return agrees(ctx, function, option, keys ? 1 : spreads ? 2 : 0, assigned ? 1 : 2);
    if (same || add) call->opening.answer = same ? CTR_SAME : CTR_ADD;
    if (again) call->again = true;
    if (rekeys) call->rekeys = true;
    if (newest || oldest) call->values = newest ? CTR_VALUES_NEWEST : CTR_VALUES_OLDEST;
    if (again || rekeys) return true;
    if (same || add) return agrees(ctx, function, option, answer, (int)call->opening.answer);
    if (newest || oldest) return agrees(ctx, function, option, values, (int)call->values);
    ctr_arg_error(ctx,
                  "%s: unknown option '%s'; the options are: 'keys=assigned', 'keys=changed', "
                  "'opening=same', 'opening=add', 'values=again', 'missing=restored', "
                  "'missing=deleted'%s",
                  function, option,
                  call->replicates ? ", 'keys=spread', 'keys=spread 63', 'local=<column>', "
                                     "'values=newest', 'values=oldest'"
                                   : "");
    return false;
}

static bool take_argument(sqlite3_context *ctx, tracking_call *call, const char *function,
                          sqlite3_value *value)
{
    const char *text = ctr_arg_text(ctx, function, "the name of a column", value);
    bool deleted = text && sqlite3_stricmp(text, "missing=deleted") == 0;
    if (deleted || (text && sqlite3_stricmp(text, "missing=restored") == 0))
        return take_missing(ctx, call, function, deleted);
    if (text && strcmp(function, COUNTER_UNTRACK) != 0 && strchr(text, '='))
        return take_option(ctx, call, function, text);
    if (text) call->names[call->n++] = text;
    return text != NULL;
}

static void run_tracking(sqlite3_context *ctx, const char *function, int argc, sqlite3_value **argv,
                         int64_t (*work)(tracking_call *))
{
    if (argc < 1) {
        ctr_arg_error(ctx, "%s: the arguments are a table and its columns", function);
        return;
    }
    ctr_conn *conn = sqlite3_user_data(ctx);
    tracking_call call = {
        .conn = conn, .tracked.conn = conn, .replicates = strcmp(function, COUNTER_REPLICATE) == 0};
    ctr_problem problem;
    const char *table = ctr_arg_text(ctx, function, "the table", argv[0]);
    call.names = table ? sqlite3_malloc64(((size_t)argc + 1) * sizeof *call.names) : NULL;
    call.local = table ? sqlite3_malloc64(((size_t)argc + 1) * sizeof *call.local) : NULL;
    bool named = call.names && call.local;
    if (table && !named) sqlite3_result_error_nomem(ctx);
    for (int i = 1; i < argc && named; i++) named = take_argument(ctx, &call, function, argv[i]);
    if (named) {
        ctr_problem_begin(call.conn, &problem);
        int64_t n = in_session(&call, table, work);
        if (ctr_arg_problem(ctx, function, &problem)) sqlite3_result_int64(ctx, n);
    }
    close_tracking(&call);
}

static void fn_track(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    run_tracking(ctx, COUNTER_TRACK, argc, argv, tracking_track);
}

static void fn_replicate(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    run_tracking(ctx, COUNTER_REPLICATE, argc, argv, tracking_track);
}

void ctr_track_replicate(ctr_conn *conn, const char *schema, const char *table,
                         const char *const *counters, int n, const char *option,
                         const char *missing)
{
    tracking_call call = {.conn = conn,
                          .tracked.conn = conn,
                          .replicates = true,
                          .keys_assigned = option && strcmp(option, "keys=assigned") == 0,
                          .spread =
                              option && strcmp(option, "keys=spread") == 0 ? CTR_SPREAD_BITS : 0,
                          .missing = !missing                                   ? MISSING_REFUSED
                                     : sqlite3_stricmp(missing, "deleted") == 0 ? MISSING_DELETED
                                                                                : MISSING_RESTORED,
                          .schema = ctr_text_copy(conn, schema),
                          .table = ctr_text_copy(conn, table),
                          .names = sqlite3_malloc64(((size_t)n + 1) * sizeof *call.names)};
    if (!call.names) ctr_problem_nomem(conn);
    for (int i = 0; i < n && call.names; i++) call.names[call.n++] = counters[i];
    on_ordinary(&call, tracking_track);
    close_tracking(&call);
}

static void fn_untrack(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    run_tracking(ctx, COUNTER_UNTRACK, argc, argv, tracking_untrack);
}

/* =================================================================================================
 * merging - counter_merging(): whether a merge is writing a row of a tracked table.
 *
 *     CREATE TRIGGER audit AFTER UPDATE ON products WHEN NOT counter_merging() BEGIN ...
 *
 * Triggers of the application ask it. 1 while a row is written that was merged, in cascades and
 * triggers, too: by a pull, a push, a sync, the end of lines, a change of a feed; when a row that
 * was listed is tried again, or inserted again under another number; when counter_track or
 * counter_replicate shows counts of other files, or brings back rows that were missing. 0 in all
 * statements of the application, and while a command of the counter table writes: other files merge
 * what it does. It tells of the connection: SQLite says to no function in which file its trigger
 * stands. */

static void fn_merging(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc, (void)argv;
    const ctr_conn *conn = sqlite3_user_data(ctx);
    sqlite3_result_int(ctx, conn->merging > 0);
}

int ctr_track_register(sqlite3 *db, ctr_conn *conn)
{
    static const ctr_function FUNCTIONS[] = {
        {"counter_merging", 0, 0, CTR_STATE, fn_merging},
        {COUNTER_TRACK, -1, -1, CTR_ADMIN, fn_track},
        {COUNTER_REPLICATE, -1, -1, CTR_ADMIN, fn_replicate},
        {COUNTER_UNTRACK, -1, -1, CTR_ADMIN, fn_untrack},
    };
    return ctr_shared_functions(db, conn, FUNCTIONS, sizeof FUNCTIONS / sizeof *FUNCTIONS);
}
