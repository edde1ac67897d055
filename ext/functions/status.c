/* functions/status.c - the state of a connection, a cluster and tracked columns, as rows.
 *
 *     counter_stats, counter_stats_reset()    figures of the work of this connection
 *     counter_cluster_status(cluster)         the replicas of a cluster
 *     counter_tracked([schema])               tracked columns, and values that are not shown
 *     counter_warnings([schema])              what the user of a file should hear of */
#include "functions/functions.h"

#include <string.h>

/* ---- counter_cluster_status ------------------------------------------------------------------ */

/* Shows the state of the replicas of a cluster.
 *
 *     SELECT * FROM counter_cluster_status('traffic');
 *
 *     schema          name of the attached database
 *     id, dc, rack    of the file; NULL if unknown, or if it has no name
 *     available       1 if a write would include it: it can be locked, and its file was not moved;
 *                     else 0
 *     reason          why not; or why it does not count, as in counter_identity
 *     rows            stored rows of the table, with deleted ones
 *     digest          as from counter_table_digest; NULL if a row is damaged
 *     different       rows that differ from those of the first replica (main, if it is one), or
 *                     that only one of both has
 *
 * To find out whether replicas can be locked, it locks them: briefly or, inside a transaction,
 * until its end.
 */

static int64_t count_all(const ctr_member *member)
{
    ctr_run run = ctr_run_on(member->conn, member->schema, member->merge.entry.name);
    return ctr_run_number(&run, CTR_SQL_CLUSTER_ROWS);
}

/* Returns whether the other table has the row, too, and sets *same. A damaged row differs. */
static bool compare_row(ctr_row *row, sqlite3_stmt *stands, ctr_row *other, sqlite3_value **keys,
                        bool *same)
{
    const ctr_shape *shape = row->shape;
    ctr_problem trouble;
    for (int i = 0; i < shape->n_keys; i++)
        keys[i] = sqlite3_column_value(stands, CTR_WALK_COLUMNS + shape->keys[i]);
    ctr_problem_try(row->conn, &trouble);
    ctr_row_find_key(other, keys);
    bool found = trouble.rc != SQLITE_OK || other->found;
    *same = found && trouble.rc == SQLITE_OK &&
            ctr_row_same_cells(row, stands, CTR_WALK_COLUMNS, other);
    ctr_problem_raise_if(row->conn, &trouble, trouble.rc != SQLITE_CORRUPT_VTAB);
    return found;
}

/* Returns the number of rows that differ, or that only one of the two has. A row that is damaged in
 * one of them counts as different. */
static int64_t count_different(ctr_member *one, ctr_member *two)
{
    ctr_walk walk;
    int64_t met = 0, different = 0; /* rows that both have; that differ, or that only one has */
    const ctr_shape *shape = &one->merge.shape;
    sqlite3_value **keys = sqlite3_malloc64((size_t)shape->n_keys * sizeof *keys);
    if (!keys) ctr_problem_nomem(one->conn);
    ctr_stream_walk_open(&walk, &one->merge.row, CTR_WALK_ALL, 0);
    while (ctr_stream_walk_next(&walk)) {
        bool same = false;
        met += compare_row(&one->merge.row, walk.row, &two->merge.row, keys, &same);
        different += !same;
    }
    ctr_stream_walk_close(&walk);
    sqlite3_free(keys);
    return different + count_all(two) - met;
}

/* A damaged row has no digest, which is no error. */
static void answer_rows(ctr_answer *answer, ctr_member *first, ctr_member *member)
{
    if (!member->open) {
        for (int i = 0; i < 3; i++) ctr_answer_text(answer, NULL);
        return;
    }
    uint8_t digest[CTR_ID_SIZE];
    ctr_problem damage;
    ctr_problem_try(answer->conn, &damage);
    int rc = ctr_digest_table(digest, &member->merge.row);
    ctr_problem_raise_if(answer->conn, &damage, ctr_member_ends_statement(rc));
    ctr_answer_integer(answer, count_all(member));
    ctr_answer_id(answer, rc == SQLITE_OK ? digest : NULL);
    if (first->open)
        ctr_answer_integer(answer, count_different(member, first));
    else
        ctr_answer_text(answer, NULL);
}

/* Shows who a replica is, and whether it is available. SQLite reads and locks a file that was moved
 * away, so this looks whether the file is still at its path. A write notices this when it checks
 * the identity; but the check may take a new id, which this function must not. */
static void answer_member(ctr_answer *answer, ctr_member *member)
{
    if (ctr_member_takes_part(member)) {
        ctr_fingerprint seen;
        ctr_attribute attribute;
        ctr_storage storage = {.kind = CTR_STORAGE_UNASKED};
        ctr_problem trouble;
        ctr_problem_try(member->conn, &trouble);
        ctr_storage_see(&storage, member->conn, member->schema, true, &seen, &attribute);
        ctr_storage_close(&storage);
        ctr_member_blame(member, &trouble);
    }
    const char *colon = strchr(member->name, ':');
    const ctr_span dc_span = {member->name, (size_t)(colon ? colon - member->name : 0)};
    char *dc = colon ? ctr_text_of(answer->conn, dc_span) : NULL;
    ctr_answer_text(answer, member->schema);
    ctr_answer_id(answer, member->met ? member->id : NULL);
    ctr_answer_text(answer, dc);
    ctr_answer_text(answer, colon ? colon + 1 : NULL);
    sqlite3_free(dc);

    const ctr_problem *reason = member->trouble.rc ? &member->trouble : &member->unlocked;
    const char *refuses = *member->refuses ? member->refuses : NULL;
    ctr_answer_integer(answer, reason->rc == SQLITE_OK);
    ctr_answer_text(answer, reason->rc ? ctr_problem_text(reason) : refuses);
}

static void fill_status(ctr_answer *answer, sqlite3_value **args)
{
    const char *name = ctr_answer_arg(answer->conn, args[0], "the name of the cluster", NULL);
    const ctr_clusters *clusters = answer->conn->fronts;
    const ctr_cluster_entry *entry =
        name ? ctr_clusters_connected(clusters, answer->conn, name) : NULL;
    if (!entry) {
        ctr_problem_set(answer->conn, SQLITE_ERROR, "no cluster has the name '%s'",
                        name ? name : "");
        return;
    }
    ctr_session session = {0};
    ctr_run run = ctr_run_on(answer->conn, "temp", name);
    ctr_session_begin(&session, answer->conn, false);
    ctr_run_do(&run, CTR_SQL_SYNC_JOIN, NULL);
    ctr_cluster *cluster = entry->cluster; /* the cluster of the joined table */
    if (ctr_rc(answer->conn) == SQLITE_OK) ctr_cluster_lock(cluster);
    if (ctr_rc(answer->conn) == SQLITE_OK)
        ctr_cluster_look(cluster); /* a replica locked by another connection can be read */
    for (int i = 0; ctr_rc(answer->conn) == SQLITE_OK && i < cluster->n; i++) {
        answer_member(answer, &cluster->members[i]);
        answer_rows(answer, &cluster->members[0], &cluster->members[i]);
    }
    ctr_session_end(&session);
}

/* ---- counter_stats --------------------------------------------------------------------------- */

/* Figures of the work of this connection.
 *
 *     SELECT * FROM counter_stats;            figure, count
 *     SELECT counter_stats_reset();           resets them to 0; NULL
 *
 *     increments       of one counter by one row of a statement, or by counter_inc and counter_dec
 *     cells created    increments that found no cell
 *     shards written   one for each increment; changed shards in a merge
 *     merges           of a cell with one of a pull, a push, a feed or a replica
 *     cells changed    merges that changed the cell
 *     conflicts        rows written to counter_conflicts
 *     shards refused   of own ids, which came with a token (merge/merge.h)
 *     identity renewals, identity changes    new witnesses; new ids, and stops of counting
 *     write, read before write, read         rows of INSERT, UPDATE and DELETE; look-ups before
 *                      such a write; scans
 *
 * Work that was rolled back counts, too.
 */

static void show_figures(ctr_answer *answer, sqlite3_value **args)
{
    (void)args;
    const ctr_stats *stats = &answer->conn->stats;
    const struct {
        const char *name;
        int64_t count;
    } figures[] = {
        {"increments", stats->increments},         {"cells created", stats->cells_created},
        {"shards written", stats->shards_written}, {"merges", stats->merges},
        {"cells changed", stats->cells_changed},   {"conflicts", stats->conflicts},
        {"shards refused", stats->refused},        {"identity renewals", stats->renewals},
        {"identity changes", stats->changes},      {"write", stats->writes},
        {"read before write", stats->finds},       {"read", stats->reads},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        ctr_answer_text(answer, figures[i].name);
        ctr_answer_integer(answer, figures[i].count);
    }
}

static void fn_stats_reset(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    ctr_conn *conn = sqlite3_user_data(ctx);
    memset(&conn->stats, 0, sizeof(ctr_stats));
    sqlite3_result_null(ctx);
}

/* ---- counter_tracked ------------------------------------------------------------------------- */

/* Lists tracked columns, and values that a table does not show.
 *
 *     SELECT * FROM counter_tracked;               of main
 *     SELECT * FROM counter_tracked('phone');      of an attached database
 *
 * One row for each tracked column, and one for each value that the table refuses:
 *
 *     table_name   the present name of the table
 *     column_name  the name of its column
 *     state        'tracked'   its changes are counted
 *                  'regular'   of a replicated table: the last write wins
 *                  'local'     it stays in this file
 *                  'spread'    of its key: SQLite gives it out, each file from a place of its own
 *                  'replaced'  another row had the number of this one first (merge/renumber.c)
 *                  'refused'   the same, and the table refuses to take the row under a new number
 *                  'broken'    a trigger is missing or changed: call counter_track again
 *                  'waits'     the table refuses a row with this key; the counter waits for one
 *                  'differs'   the table refuses the value, by a constraint or a foreign key; or
 *                              lines did not carry it, because it is too large
 *     row_key      of a row that waits, differs, was replaced or refused, ('tea')
 *     shown        the value of the column, if it differs; the greatest key, of a spread one
 *     merged       the value of its counter, NULL: deleted, or its sum exceeds 64 bits; of a
 *                  regular column the merged value; the place from which this file counts on; a row
 *                  that was replaced or refused, as counter_change_json shows it
 *     why          the error by which the table refused the row, and the row that stands in its way
 *                  (tracked/blockers.c); of a counter that is not shown because two files began to
 *                  track it apart, the question and the calls that answer it; NULL: none, as if a
 *                  trigger has changed the value, or if a feed has brought the row and its batch
 *                  is not yet seen
 */

static void show_state(ctr_answer *answer, const char *table, const char *column, const char *state)
{
    ctr_answer_text(answer, table);
    ctr_answer_text(answer, column);
    ctr_answer_text(answer, state);
    for (int i = 0; i < 4; i++) ctr_answer_text(answer, NULL);
}

static void show_number(ctr_answer *answer, const ctr_shown *shown)
{
    if (shown->null)
        ctr_answer_text(answer, NULL);
    else
        ctr_answer_integer(answer, shown->n);
}

/* Returns the question about two openings of a counter that await an answer, NULL if there are
 * none. The caller frees it. */
static char *question_about(const ctr_tracked *tracked, ctr_row *row, int counter)
{
    ctr_shard pair[2];
    ctr_openings openings;
    ctr_openings_read(&openings, row->tab);
    bool asks = ctr_rc(row->conn) == SQLITE_OK &&
                ctr_openings_unanswered(row->conn, &openings, &row->cells[counter], pair);
    int own = asks && ctr_openings_is_own(&openings, pair[1].id);
    bool is_own = asks && ctr_openings_is_own(&openings, pair[own].id);
    const uint8_t *other = asks ? pair[!own].id : NULL, *second = is_own ? NULL : pair[own].id;
    char *same = asks ? ctr_openings_call(tracked->table, "same", other, second) : NULL,
         *add = asks ? ctr_openings_call(tracked->table, "add", other, second) : NULL,
         *why =
             same && add
                 ? sqlite3_mprintf("two files counted the values that they had when they began to "
                                   "track it: %lld %s, %lld in another: if they were copies of one "
                                   "file, %s, and only the greater value counts; if each had its "
                                   "own, %s, and they add up",
                                   (long long)pair[own].value, is_own ? "here" : "in one",
                                   (long long)pair[!own].value, same, add)
                 : NULL;
    if (asks && !why) ctr_problem_nomem(row->conn);
    sqlite3_free(same);
    sqlite3_free(add);
    ctr_openings_close(&openings);
    return why;
}

/* A row that is apart, while its columns are shown. */
typedef struct shown_row {
    ctr_answer *answer;
    ctr_showing *showing;
    ctr_row *row;          /* the row was found */
    ctr_row_values *table; /* its regular columns */
    ctr_apart_row apart;
    char *key;       /* owned */
    const char *why; /* lent; NULL: it is not known */
} shown_row;

/* Shows what a column of it shows and what was merged, the last one an integer or a value; NULL:
 * nothing. */
static void show_apart_column(const shown_row *row, const char *column, const ctr_shown *shown,
                              const ctr_shown *merged)
{
    ctr_answer *answer = row->answer;
    ctr_answer_text(answer, row->showing->tracked->table);
    ctr_answer_text(answer, column);
    ctr_answer_text(answer, row->apart.waits ? "waits" : "differs");
    ctr_answer_text(answer, row->key);
    for (int i = 0; i < 2; i++) {
        const ctr_shown *value = i == 0 ? shown : merged;
        if (value->value)
            ctr_answer_value(answer, value->value);
        else
            show_number(answer, value);
    }
}

static void show_apart_counter(const shown_row *row, int counter)
{
    ctr_shown merged, none = {.null = true};
    const ctr_apart_row *apart = &row->apart;
    ctr_summary state = ctr_row_state(row->row, counter);
    const ctr_tracked_column *column = ctr_tracked_column_of(row->showing->tracked, counter);
    if (!column) return;
    char *question =
        apart->withheld ? question_about(row->showing->tracked, row->row, counter) : NULL;
    if (!apart->waits && !apart->is_in[counter] && !question) return;
    bool counts = ctr_summary_counts(&state);
    bool is = ctr_showing_value(row->showing, counter, &state, &merged);
    const ctr_shown *sum = is && counts ? &merged : &none;
    bool differs = apart->is_in[counter];
    show_apart_column(row, column->name,
                      apart->waits ? &none
                      : differs    ? &apart->shown[counter]
                                   : sum,
                      sum);
    ctr_answer_text(row->answer, question ? question : row->why);
    sqlite3_free(question);
}

/* Shows the value of a column that lines did not carry. */
static void show_too_large(const shown_row *row, const char *column, const ctr_shown *shown,
                           int64_t size)
{
    const ctr_shown none = {.null = true};
    show_apart_column(row, column, shown, &none);
    ctr_answer_text(row->answer, ctr_text_print(row->row->conn,
                                                "another file has a value of %lld bytes, and lines "
                                                "carry %d of a row: a pull brings it",
                                                (long long)size, CTR_LINE_VALUES_MOST));
}

/* Shows the regular columns of a row that the table refuses, or that lines did not carry. */
static void show_regular(const shown_row *row, sqlite3_value **keys)
{
    const ctr_tracked *tracked = row->showing->tracked;
    if (!row->apart.refused && !row->apart.too_large) return;
    if (!row->table->tab) ctr_row_values_open(row->table, row->row->tab);
    ctr_row_values_show(row->table, row->row->rowid, keys);
    for (int i = 0; i < tracked->n_regular && ctr_rc(tracked->conn) == SQLITE_OK; i++) {
        const ctr_tracked_column *column = ctr_tracked_regular(tracked, i);
        const ctr_too_large *large = ctr_apart_too_large(&row->apart, tracked, column->number);
        const ctr_shown *merged = &row->apart.shown[tracked->shape->n_counters + i],
                        shown = {.null = true, .value = row->table->given[column->number]};
        bool is_refused = row->apart.refused && merged->value;
        if (!column->name) continue;
        if (is_refused) show_apart_column(row, column->name, &shown, merged);
        if (is_refused) ctr_answer_text(row->answer, row->why);
        if (large) show_too_large(row, column->name, &shown, large->size);
    }
    ctr_row_values_reset(row->table);
}

/* Shows a row that has no value to be listed: it waits, and all of its columns are its key, or it
 * has ended in a table that shows no counters. */
static void show_alone(const shown_row *row)
{
    const ctr_shown none = {.null = true};
    const ctr_tracked *tracked = row->showing->tracked;
    if (!row->apart.ended && !(row->apart.waits && tracked->n_regular == 0)) return;
    for (int i = 0; i < tracked->shape->n_counters; i++)
        if (ctr_tracked_column_of(tracked, i)) return;
    show_apart_column(row, NULL, &none, &none);
    ctr_answer_text(row->answer, row->why);
}

static void show_apart_row(shown_row *row, int64_t rowid)
{
    ctr_conn *conn = row->row->conn;
    ctr_text *mark = ctr_text_mark(conn);
    const ctr_tracked *tracked = row->showing->tracked;
    ctr_apart_read(tracked, row->showing->tab, rowid, &row->apart);
    sqlite3_value **keys = sqlite3_malloc64((size_t)tracked->shape->n_keys * sizeof *keys);
    if (!keys) ctr_problem_nomem(conn);
    if (ctr_rc(conn) == SQLITE_OK) ctr_row_find_rowid(row->row, rowid);
    if (row->row->found && keys && ctr_row_key_of(row->row, rowid, keys)) {
        row->key = ctr_problem_describe_key(keys, tracked->shape->n_keys);
        if (!row->key) ctr_problem_nomem(conn);
        row->why = ctr_blockers_explain(row->showing, row->row, keys, &row->apart);
        for (int i = 0; i < tracked->shape->n_counters && ctr_rc(conn) == SQLITE_OK; i++)
            show_apart_counter(row, i);
        show_regular(row, keys);
        if (ctr_rc(conn) == SQLITE_OK) show_alone(row);
    }
    for (int i = 0; row->row->found && keys && i < tracked->shape->n_keys; i++)
        sqlite3_value_free(keys[i]);
    sqlite3_free(keys);
    sqlite3_free(row->key);
    row->key = NULL;
    ctr_apart_close_row(&row->apart);
    ctr_text_release(conn, mark);
}

/* ---- keys that SQLite gives out -------------------------------------------------------------- */

static void show_spread(ctr_answer *answer, ctr_tab *tab, const ctr_tracked *tracked)
{
    ctr_spread spread;
    ctr_spread_read(&spread, tab);
    if (!spread.is || ctr_rc(tab->conn) != SQLITE_OK) return;
    ctr_text *mark = ctr_text_mark(tab->conn);
    int64_t greatest = ctr_spread_greatest(tracked, tab, spread.most);
    ctr_answer_text(answer, tracked->table);
    ctr_answer_text(answer, ctr_tracked_key(tracked, 0)->name);
    ctr_answer_text(answer, "spread");
    ctr_answer_text(answer, NULL);
    ctr_answer_integer(answer, greatest);
    if (spread.has_place)
        ctr_answer_integer(answer, spread.place);
    else
        ctr_answer_text(answer, NULL);
    ctr_answer_text(answer,
                    ctr_text_print(tab->conn, "jumps: %lld, numbers left: %lld",
                                   (long long)spread.jumps, (long long)(spread.most - greatest)));
    ctr_text_release(tab->conn, mark);
}

enum { REPLACED_ROW, REPLACED_CHANGE, REPLACED_IS_OWN, REPLACED_NOW };

/* What becomes of a row whose number another row had first. The file whose row it is inserts it
 * again in the merge that replaces it, unless the table refuses. */
typedef struct replaced_fate {
    bool is_refused;
    const char *text;
} replaced_fate;

static replaced_fate fate_of_replaced(ctr_tab *tab, const ctr_identity *mine, sqlite3_stmt *row,
                                      const ctr_told_row *told)
{
    ctr_conn *conn = tab->conn;
    char id[CTR_ID_TEXT_SIZE];
    if (sqlite3_column_type(row, REPLACED_NOW) == SQLITE_INTEGER)
        return (replaced_fate){
            .text = ctr_text_print(conn, "another row had the number first: inserted again as %lld",
                                   (long long)sqlite3_column_int64(row, REPLACED_NOW))};
    bool is_own = sqlite3_column_int(row, REPLACED_IS_OWN);
    ctr_birthplace born = ctr_renumber_birthplace(tab, mine->id, told->birth.id);
    if (is_own && born == CTR_BORN_HERE)
        return (replaced_fate){true, "another row had the number first: the table refuses to take "
                                     "it again; each merge tries"};
    ctr_id_to_text(told->birth.id, id);
    const char *former = "";
    if (born != CTR_BORN_ELSEWHERE)
        former = "; this file had that id before it was copied, moved or restored: if the row is "
                 "missing in all files, insert it here";
    else if (told->life > 1)
        former = "; the number was that of a row deleted there: if the row is missing in all "
                 "files, insert it here";
    return (replaced_fate){
        .text = ctr_text_print(conn, "another row had the number first: %s inserts it again%s", id,
                               former)};
}

/* Lists the rows whose number another row had first, each as a change in JSON. */
static void show_replaced(ctr_answer *answer, ctr_tab *tab, const ctr_tracked *tracked)
{
    ctr_conn *conn = tab->conn;
    ctr_identity mine;
    if (!tab->shape.keyed || ctr_file_peek(tab->file, &mine)) return;
    ctr_run run = ctr_tab_run(tab);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_REPLACED_ALL);
    while (ctr_run_row(&run, row)) {
        ctr_change_view change;
        const uint8_t *bytes = sqlite3_column_blob(row, REPLACED_CHANGE);
        ctr_text *mark = ctr_text_mark(conn);
        sqlite3_str *json = sqlite3_str_new(NULL);
        ctr_arg_change(conn, &change, bytes, (size_t)sqlite3_column_bytes(row, REPLACED_CHANGE));
        const ctr_told_row told = change.row;
        if (ctr_rc(conn) == SQLITE_OK) ctr_change_append_json(json, &change);
        const char *whole = ctr_text_built(conn, json);
        const replaced_fate fate = fate_of_replaced(tab, &mine, row, &told);
        if (ctr_rc(conn) == SQLITE_OK) {
            ctr_answer_text(answer, tracked->table);
            ctr_answer_text(answer, NULL);
            ctr_answer_text(answer, fate.is_refused ? "refused" : "replaced");
            ctr_answer_text(
                answer,
                ctr_text_print(conn, "(%lld)", (long long)sqlite3_column_int64(row, REPLACED_ROW)));
            ctr_answer_text(answer, NULL);
            ctr_answer_text(answer, whole);
            ctr_answer_text(answer, fate.text);
        }
        ctr_text_release(conn, mark);
    }
    sqlite3_finalize(row);
}

static void show_whole(ctr_answer *answer, ctr_tab *tab, ctr_showing *showing)
{
    ctr_row row = {0};
    ctr_row_values values = {0};
    const ctr_tracked *tracked = showing->tracked;
    const ctr_shape *shape = tracked->shape;
    for (int i = 0; i < shape->n_counters; i++)
        if (ctr_tracked_column_of(tracked, i))
            show_state(answer, tracked->table, ctr_tracked_column_of(tracked, i)->name, "tracked");
    for (int i = 0; i < tracked->n_regular; i++)
        show_state(answer, tracked->table, ctr_tracked_regular(tracked, i)->name, "regular");
    if (shape->replicated && ctr_tracked_travel(tracked) == 0)
        show_state(answer, tracked->table, NULL, "regular");
    for (size_t i = 0; i < tracked->ordinary.n; i++)
        if (tracked->ordinary.columns[i].local)
            show_state(answer, tracked->table, tracked->ordinary.columns[i].name, "local");
    show_spread(answer, tab, tracked);
    show_replaced(answer, tab, tracked);
    if (ctr_rc(tab->conn) == SQLITE_OK) ctr_row_open(&row, tab->file, tracked->counters, shape);
    row.whole = true;
    shown_row shown = {.answer = answer, .showing = showing, .row = &row, .table = &values};
    ctr_run run = ctr_tab_run(tab);
    sqlite3_stmt *listed = ctr_run_prepare(&run, CTR_SQL_APART_ROWS);
    while (ctr_run_row(&run, listed)) show_apart_row(&shown, sqlite3_column_int64(listed, 0));
    sqlite3_finalize(listed);
    ctr_row_values_close(&values);
    ctr_row_close(&row);
}

/* Lists the columns of a table whose triggers are not intact; NULL for one that has none. */
static void show_broken(ctr_answer *answer, ctr_tab *tab, const char *table)
{
    int n = tab->shape.n_counters;
    const ctr_registry *registry = tab->shape.replicated ? ctr_regular_of(tab) : NULL;
    for (int i = 0; i < tab->shape.n_counters; i++)
        show_state(answer, table, ctr_shape_counter_name(&tab->shape, i), "broken");
    for (int i = 0; registry && i < registry->n; i++) {
        if (!registry->columns[i].noted) continue;
        show_state(answer, table, registry->columns[i].noted, "broken");
        n++;
    }
    if (n == 0) show_state(answer, table, NULL, "broken");
}

static void show_tracked(ctr_answer *answer, ctr_file *file, const ctr_catalog_entry *entry)
{
    ctr_showing showing = {0};
    ctr_conn *conn = file->conn;
    ctr_problem broken = {0};
    const ctr_objects *objects = ctr_file_objects(file);
    if (!objects || !ctr_tracked_is_among(objects, entry->name)) return;
    ctr_tab *tab = ctr_tab_read(file, entry->name);
    if (tab) {
        ctr_problem_try(conn, &broken);
        ctr_showing_open(&showing, tab);
        ctr_problem_end(&broken);
    }
    const char *table = ctr_triggers_table(objects, entry->name);
    if (ctr_rc(conn) == SQLITE_OK && broken.rc == SQLITE_OK)
        show_whole(answer, tab, &showing);
    else if (ctr_rc(conn) == SQLITE_OK && broken.rc == SQLITE_ERROR)
        show_broken(answer, tab, table ? table : entry->birth);
    ctr_problem_raise_if(conn, &broken, broken.rc != SQLITE_ERROR);
    ctr_showing_close(&showing);
}

/* Answers for each counter table of the schema that the argument names. */
static void answer_each_table(ctr_answer *answer, sqlite3_value *named,
                              void (*each)(ctr_answer *, ctr_file *, const ctr_catalog_entry *))
{
    ctr_catalog catalog = {0};
    const char *schema = ctr_answer_schema(answer, named);
    ctr_run run = ctr_run_on(answer->conn, schema, NULL);
    sqlite3_stmt *snapshot = schema ? ctr_run_hold(&run) : NULL;
    ctr_file *file = schema ? ctr_file_of(answer->conn, schema) : NULL;
    if (!file) ctr_problem_nomem(answer->conn);
    if (ctr_rc(answer->conn) == SQLITE_OK) ctr_catalog_read(&catalog, file);
    for (int i = 0; i < catalog.n && ctr_rc(answer->conn) == SQLITE_OK; i++)
        each(answer, file, &catalog.entries[i]);
    ctr_catalog_close(&catalog);
    sqlite3_finalize(snapshot);
}

static void show_all_tracked(ctr_answer *answer, sqlite3_value **args)
{
    answer_each_table(answer, args[0], show_tracked);
}

int ctr_status_register(sqlite3 *db, ctr_conn *conn)
{
    static const ctr_answer_kind ANSWERS[] = {
        {.name = "counter_cluster_status",
         .n_needed = 1,
         .works = true,
         .columns = "schema TEXT, id TEXT, dc TEXT, rack TEXT, available INTEGER, reason TEXT, "
                    "rows INTEGER, digest TEXT, different INTEGER",
         .args = "cluster HIDDEN",
         .usage = "one argument is needed, the name of a cluster",
         .fill = fill_status},
        {.name = "counter_stats",
         .columns = "figure TEXT, count INTEGER",
         .args = "",
         .fill = show_figures},
        {.name = "counter_tracked",
         .columns = "table_name TEXT, column_name TEXT, state TEXT, row_key TEXT, shown INTEGER, "
                    "merged INTEGER, why TEXT",
         .args = "schema HIDDEN",
         .fill = show_all_tracked}};
    static const ctr_function RESET = {"counter_stats_reset", 0, 0, CTR_ADMIN, fn_stats_reset};
    int rc = ctr_shared_functions(db, conn, &RESET, 1);
    if (rc != SQLITE_OK) return rc;
    return ctr_answer_register(db, conn, ANSWERS, sizeof ANSWERS / sizeof *ANSWERS);
}

/* =================================================================================================
 * warnings - what the user of a file should hear of.
 *
 *     SELECT * FROM counter_warnings;            of main
 *     SELECT * FROM counter_warnings('phone');   of an attached database
 *     SELECT counter_warnings_reset();           forgets what merges have brought; NULL
 *
 * One row for each warning, with the same sentence that the note of a pull has:
 *
 *     table_name   the present name of the table
 *     kind         'column'        a column of a replicated table does not travel
 *                  'foreign key'   one of a replicated table refers to a table whose rows do not
 *                                  travel, or to keys that SQLite gives out
 *                  'counter'       a regular column looks like a counter
 *                  'keys'          keys are to be spread, and a migration has built the table anew
 *                                  without AUTOINCREMENT
 *                  'passed over'   the last merge with some file has passed over the table, because
 *                                  the files disagree on the kind of a column
 *                  'deleted'       merges deleted a tenth of the table, and at least ten rows
 *                  'number'        they brought rows whose number another row here had, and which
 *                                  was given it first (merge/renumber.c); or, where keys are not
 *                                  spread, which are one row with it now
 *                  'conflicts'     they recorded conflicts
 *                  'clock'         they brought a stamp more than a day ahead of this machine
 *     warning      the sentence
 *
 * The last five are of main alone: of all merges of this connection, by a pull or a feed, that
 * were committed since it was opened or counter_warnings_reset() was called; tables are passed over
 * by a push, too. */

/* ---- the list -------------------------------------------------------------------------------- */

static void add_warning(ctr_conn *conn, ctr_warnings *list, const char *kind, char *owned)
{
    if (!owned) ctr_problem_nomem(conn);
    struct ctr_warning *items =
        ctr_array_room(conn, list->items, &list->room, (size_t)list->n + 1, sizeof *items);
    if (items) {
        list->items = items;
        items[list->n++] = (struct ctr_warning){kind, owned};
    } else {
        sqlite3_free(owned);
    }
}

void ctr_warnings_close(ctr_warnings *list)
{
    for (int i = 0; i < list->n; i++) sqlite3_free(list->items[i].sentence);
    sqlite3_free(list->items);
    *list = (ctr_warnings){0};
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Returns whether a column could travel, and neither counts nor is a regular one. */
static bool stays_at_home(const ctr_tracked *tracked, const ctr_described *column)
{
    return column->name && column->key < 0 && !column->generated && !column->local &&
           ctr_tracked_named(tracked, column->name) < 0;
}

/* Returns whether counter_untrack has ended the regular column with this name. */
static bool was_ended(const ctr_registry *registry, const char *name)
{
    for (int i = 0; i < registry->n; i++) {
        const ctr_regular *column = &registry->columns[i];
        if (column->name && !column->noted && sqlite3_stricmp(column->name, name) == 0) return true;
    }
    return false;
}

/* A column that was a counter or a regular column stays at home, unless it counts in other files:
 * then a merge has brought a counter without a column here, and one call makes all such columns
 * counters and the others regular ones. */
const char *ctr_warnings_of_columns(const ctr_tracked *tracked, ctr_tab *tab)
{
    int n = 0, n_counters = 0;
    const char *spelling;
    ctr_shape shape = {0}; /* has the counters that were dropped; read if a column asks for them */
    const ctr_registry *registry = ctr_regular_of(tab);
    sqlite3_str *names = sqlite3_str_new(NULL), *counters = sqlite3_str_new(NULL);
    for (size_t i = 0; registry && i < tracked->ordinary.n; i++) {
        const ctr_described *column = &tracked->ordinary.columns[i];
        if (!stays_at_home(tracked, column)) continue;
        if (!shape.columns) ctr_tab_read_shape(tab->file, tab->table, &shape);
        if (ctr_rc(tab->conn) != SQLITE_OK) break;
        int64_t generation = ctr_shape_generation(&shape, column->name, &spelling);
        if (generation % 2 == 1)
            sqlite3_str_appendf(counters, "%s%s", n_counters++ > 0 ? ", " : "", column->name);
        else if (generation == 0 && !was_ended(registry, column->name))
            sqlite3_str_appendf(names, "%s%s", n++ > 0 ? ", " : "", column->name);
    }
    const char *counter_names = ctr_text_built(tab->conn, counters),
               *regular_names = ctr_text_built(tab->conn, names);
    ctr_shape_close(&shape);
    if (ctr_rc(tab->conn) != SQLITE_OK || n_counters + n == 0) return NULL;
    if (n_counters == 0)
        return ctr_text_print(tab->conn, "column%s %s do%s not travel yet", n == 1 ? "" : "s",
                              regular_names, n == 1 ? "es" : "");
    return ctr_text_print(tab->conn, "column%s %s %s in other files", n_counters == 1 ? "" : "s",
                          counter_names, n_counters == 1 ? "is a counter" : "are counters");
}

static void warn_of_columns(ctr_warnings *list, const ctr_tracked *tracked, ctr_tab *tab)
{
    const char *columns = ctr_warnings_of_columns(tracked, tab);
    if (columns)
        add_warning(tab->conn, list, "column",
                    sqlite3_mprintf("%s: call %s", columns, ctr_tracked_call(tracked, NULL)));
}

/* ---- keys that SQLite gives out -------------------------------------------------------------- */

static void warn_of_lost_spread(ctr_warnings *list, const ctr_tracked *tracked, ctr_tab *tab)
{
    const char *lost = ctr_spread_lost(tab, tracked->table);
    if (lost)
        add_warning(tab->conn, list, "keys",
                    sqlite3_mprintf("%s: `sqlite-counter adopt` writes the word again", lost));
}

/* ---- columns that look like counters --------------------------------------------------------- */

static void warn_of_forgotten(ctr_warnings *list, const ctr_tracked *tracked)
{
    for (int i = 0; i < tracked->n_regular; i++) {
        const char *name = ctr_tracked_regular(tracked, i)->name;
        const ctr_described *column = name ? ctr_ordinary_column(&tracked->ordinary, name) : NULL;
        if (!column || !ctr_adoption_sounds_counted(column)) continue;
        add_warning(tracked->conn, list, "counter",
                    sqlite3_mprintf("column %s looks like a counter, and the last write wins: "
                                    "counter_replicate('%q', '%q') lets changes made apart add up",
                                    name, tracked->table, name));
    }
}

/* ---- foreign keys ---------------------------------------------------------------------------- */

/* Returns the table of the counters of a replicated table; NULL: it is none. */
static ctr_tab *find_replicated(ctr_file *file, const char *table)
{
    char *counters = ctr_triggers_counters(file, table);
    ctr_tab *tab = counters ? ctr_tab_read(file, counters) : NULL;
    sqlite3_free(counters);
    return tab && tab->shape.replicated ? tab : NULL;
}

/* Returns whether the column of the table, NULL: its key, is numbered by SQLite, and two files may
 * give one number. */
static bool is_numbered(const ctr_tracked *child, ctr_tab *of_parent, const char *table,
                        const char *column)
{
    ctr_spread spread;
    ctr_ordinary parent = {0};
    ctr_spread_read(&spread, of_parent);
    if (spread.is) return false;
    ctr_ordinary_read(&parent, child->conn, child->schema, table);
    ctr_ordinary_read_terms(&parent, child->conn, child->schema, table);
    bool is = ctr_constraints_numbers_keys(&parent);
    const ctr_described *named = column ? ctr_ordinary_column(&parent, column) : NULL;
    if (column) is = is && named && named->key >= 0;
    ctr_ordinary_close(&parent);
    return is && ctr_rc(child->conn) == SQLITE_OK;
}

static void warn_of_foreign_key(ctr_warnings *list, const ctr_tracked *child, ctr_file *file,
                                sqlite3_stmt *row)
{
    const char *parent = ctr_text_column(file->conn, row, 2),
               *from = ctr_text_column(file->conn, row, 3),
               *to = ctr_text_column(file->conn, row, 4);
    if (!parent || !from || sqlite3_stricmp(parent, child->table) == 0) return;
    ctr_tab *tab = find_replicated(file, parent);
    if (!tab)
        add_warning(file->conn, list, "foreign key",
                    sqlite3_mprintf("column %s refers to %s, which is not replicated: rows of "
                                    "other files may have no parent here: replicate it, too",
                                    from, parent));
    else if (is_numbered(child, tab, parent, to))
        add_warning(file->conn, list, "foreign key",
                    sqlite3_mprintf("column %s refers to %s, whose keys SQLite gives out: where "
                                    "two files gave one number, its rows have another parent",
                                    from, parent));
}

/* Of a foreign key with several columns the first one is named. */
static void warn_of_foreign_keys(ctr_warnings *list, const ctr_tracked *tracked, ctr_file *file)
{
    ctr_run run = ctr_run_on(tracked->conn, tracked->schema, NULL);
    run.slots.name = tracked->table;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_FOREIGN_KEYS);
    while (ctr_run_row(&run, row))
        if (sqlite3_column_int(row, 1) == 0) warn_of_foreign_key(list, tracked, file, row);
    sqlite3_finalize(row);
}

/* ---- values that lines did not carry --------------------------------------------------------- */

static void warn_of_too_large(ctr_warnings *list, ctr_tab *tab)
{
    ctr_run run = ctr_tab_run(tab);
    int64_t n = ctr_run_number(&run, CTR_SQL_APART_COUNT_TOO_LARGE);
    if (n <= 0 || ctr_rc(tab->conn) != SQLITE_OK) return;
    add_warning(tab->conn, list, "too large",
                sqlite3_mprintf("%lld value%s larger than lines carry, and did not come: pull from "
                                "a file that has %s; counter_tracked lists %s",
                                (long long)n, n == 1 ? " is" : "s are", n == 1 ? "it" : "them",
                                n == 1 ? "it" : "them"));
}

void ctr_warnings_of_table(ctr_warnings *list, ctr_file *file, const char *counters,
                           bool foreign_keys)
{
    const ctr_objects *objects = ctr_file_objects(file);
    if (!objects || !ctr_tracked_is_among(objects, counters)) return;
    ctr_tab *tab = ctr_tab_known(file, counters);
    if (!tab) tab = ctr_tab_read(file, counters);
    ctr_tracked *tracked = tab && tab->shape.replicated ? ctr_tracked_hold(tab) : NULL;
    if (tracked && ctr_tracked_is_known(tracked)) {
        warn_of_columns(list, tracked, tab);
        warn_of_lost_spread(list, tracked, tab);
        warn_of_too_large(list, tab);
        if (foreign_keys) warn_of_foreign_keys(list, tracked, file);
        if (foreign_keys) warn_of_forgotten(list, tracked);
    }
    ctr_tracked_release(tracked);
}

/* ---- merges ---------------------------------------------------------------------------------- */

/* Reads no more rows than it takes to see that they are few. */
static void warn_of_deletions(ctr_warnings *list, ctr_file *file, const char *table,
                              int64_t deleted)
{
    enum { LEAST = 10, SHARE = 10 };
    if (deleted < LEAST) return;
    ctr_run run = ctr_run_on(file->conn, file->schema, NULL);
    run.slots.name = table;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_COUNT_UP_TO);
    ctr_run_bind_int(&run, row, ":most", (SHARE - 1) * deleted + 1);
    int64_t left = ctr_run_row(&run, row) ? sqlite3_column_int64(row, 0) : 0;
    sqlite3_finalize(row);
    if (left > (SHARE - 1) * deleted || ctr_rc(file->conn) != SQLITE_OK) return;
    add_warning(file->conn, list, "deleted",
                sqlite3_mprintf("this merge deleted %lld of %lld rows", (long long)deleted,
                                (long long)(deleted + left)));
}

static void warn_of_clock(ctr_conn *conn, ctr_warnings *list, const ctr_stamp *ahead)
{
    char id[CTR_ID_TEXT_SIZE];
    const int64_t day = INT64_C(86400000) * CTR_STAMPS_IN_MS;
    int64_t days = (ahead->number - ctr_batch_stamp_number(0)) / day;
    if (ahead->number == 0) return;
    ctr_id_to_text(ahead->id, id);
    add_warning(
        conn, list, "clock",
        sqlite3_mprintf("a value of %s has a stamp %lld day%s ahead of this machine's clock, "
                        "and wins over what others write until then: set the clock that is "
                        "wrong",
                        id, (long long)days, days == 1 ? "" : "s"));
}

void ctr_warnings_of_passed(ctr_conn *conn, ctr_warnings *list, const char *why)
{
    static const char KIND[] = "passed over";
    char *sentence = sqlite3_mprintf("%s: %s", KIND, why);
    bool known = false;
    for (int i = 0; sentence && i < list->n && !known; i++)
        known = strcmp(list->items[i].sentence, sentence) == 0;
    if (known)
        sqlite3_free(sentence);
    else
        add_warning(conn, list, KIND, sentence);
}

void ctr_warnings_of_merge(ctr_warnings *list, ctr_file *file, const char *table,
                           const ctr_brought *brought)
{
    if (ctr_rc(file->conn) != SQLITE_OK) return;
    warn_of_deletions(list, file, table, brought->deleted);
    if (brought->replaced > 0)
        add_warning(file->conn, list, "number",
                    sqlite3_mprintf("%lld row%s a number that another row had first: "
                                    "counter_tracked lists %s, and what became of %s",
                                    (long long)brought->replaced,
                                    brought->replaced == 1 ? " has" : "s have",
                                    brought->replaced == 1 ? "it" : "them",
                                    brought->replaced == 1 ? "it" : "them"));
    if (brought->met > 0)
        add_warning(
            file->conn, list, "number",
            sqlite3_mprintf("%lld row%s inserted in two files under one number, and %s one "
                            "row now: if they were two, 'keys=spread' of the table that gives "
                            "the numbers, with AUTOINCREMENT, keeps the next apart",
                            (long long)brought->met, brought->met == 1 ? " was" : "s were",
                            brought->met == 1 ? "is" : "each is"));
    if (brought->conflicts > 0)
        add_warning(file->conn, list, "conflicts",
                    sqlite3_mprintf("%lld conflict%s: a file was restored, or two count under one "
                                    "id: see counter_conflicts",
                                    (long long)brought->conflicts,
                                    brought->conflicts == 1 ? "" : "s"));
    if (brought->left_out > 0)
        add_warning(file->conn, list, "left out",
                    sqlite3_mprintf("%lld value%s larger than lines carry, %d bytes of a row, and "
                                    "%s not sent: others list %s until they pull from this file",
                                    (long long)brought->left_out,
                                    brought->left_out == 1 ? " is" : "s are", CTR_LINE_VALUES_MOST,
                                    brought->left_out == 1 ? "was" : "were",
                                    brought->left_out == 1 ? "it" : "them"));
    warn_of_clock(file->conn, list, &brought->ahead);
}

/* ---- counter_warnings ------------------------------------------------------------------------ */

static void answer_warnings(ctr_answer *answer, ctr_file *file, const ctr_catalog_entry *entry)
{
    ctr_warnings list = {0};
    const ctr_brought_list *brought =
        sqlite3_stricmp(file->schema, "main") == 0 ? answer->conn->brought : NULL;
    const ctr_objects *objects = ctr_file_objects(file);
    if (!objects) return;
    bool tracked = ctr_tracked_is_among(objects, entry->name);
    const char *table = tracked ? ctr_triggers_table(objects, entry->name) : entry->name;
    if (!table) return; /* it has lost its triggers, which all merges refuse */
    ctr_warnings_of_table(&list, file, entry->name, true);
    for (size_t i = 0; brought && i < brought->n_passed; i++)
        if (sqlite3_stricmp(brought->passed[i].birth, entry->birth) == 0)
            ctr_warnings_of_passed(file->conn, &list, brought->passed[i].why);
    for (size_t i = 0; brought && i < brought->n; i++) {
        ctr_brought all = brought->tables[i].brought;
        if (sqlite3_stricmp(brought->tables[i].birth, entry->birth) != 0) continue;
        ctr_brought_add(&all, &brought->tables[i].open);
        ctr_warnings_of_merge(&list, file, table, &all);
    }
    for (int i = 0; i < list.n && ctr_rc(file->conn) == SQLITE_OK; i++) {
        ctr_answer_text(answer, table);
        ctr_answer_text(answer, list.items[i].kind);
        ctr_answer_text(answer, list.items[i].sentence);
    }
    ctr_warnings_close(&list);
}

static void show_warnings(ctr_answer *answer, sqlite3_value **args)
{
    answer_each_table(answer, args[0], answer_warnings);
}

static void fn_warnings_reset(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    ctr_conn *conn = sqlite3_user_data(ctx);
    if (conn->brought) ctr_brought_list_close(conn->brought);
    sqlite3_result_null(ctx);
}

int ctr_warnings_register(sqlite3 *db, ctr_conn *conn)
{
    static const ctr_answer_kind KIND = {.name = "counter_warnings",
                                         .columns = "table_name TEXT, kind TEXT, warning TEXT",
                                         .args = "schema HIDDEN",
                                         .fill = show_warnings};
    static const ctr_function RESET = {"counter_warnings_reset", 0, 0, CTR_ADMIN,
                                       fn_warnings_reset};
    int rc = ctr_shared_functions(db, conn, &RESET, 1);
    if (rc != SQLITE_OK) return rc;
    return ctr_answer_register(db, conn, &KIND, 1);
}
