/* surface/write.c - INSERT, UPDATE and DELETE of a counter table.
 *
 * Each looks at the row, checks and computes everything, and ends in one write of one stored row:
 * inside a transaction SQLite does not take back the first of two.
 *
 *     INSERT    adds the values given; SQLITE_CONSTRAINT on a deleted row or counter
 *     UPDATE    adds new value - value read, where the assignment has read its own counter (scan.c)
 *     DELETE    gives every counter of the row its tombstone
 *
 * SQLITE_CONSTRAINT is ours alone, for OR IGNORE turns it into silence.
 */
#include <string.h>

#include "store/describe.h"
#include "store/watch.h"
#include "surface/table.h"

/* ---- values ---------------------------------------------------------------------------------- */

static const char *column_name(const ctr_table *table, int column)
{
    return table->shape.columns[column].name;
}

static int counter_column(const ctr_table *table, int counter)
{
    return table->shape.counters[counter];
}

int ctr_write_integer(ctr_table *table, int counter, sqlite3_value *value, ctr_problem *problem)
{
    if (sqlite3_value_type(value) == SQLITE_INTEGER) return problem->rc;
    char *shown = ctr_describe_value(value);
    if (!shown) return ctr_problem_nomem(problem);
    ctr_problem_set(problem, SQLITE_MISMATCH, "column %s: a counter takes an INTEGER, not %s",
                    column_name(table, counter_column(table, counter)), shown);
    sqlite3_free(shown);
    return problem->rc;
}

int ctr_write_keys(ctr_table *table, sqlite3_value **columns, ctr_problem *problem)
{
    for (int i = 0; i < table->shape.n_keys; i++) {
        int column = table->shape.keys[i];
        table->keys[i] = columns[ctr_table_column(column)];
        if (!ctr_table_given(table->keys[i]))
            ctr_problem_set(problem, SQLITE_MISMATCH, "key column %s must not be NULL",
                            column_name(table, column));
    }
    return problem->rc;
}

int ctr_write_add(ctr_table *table, int counter, const ctr_cell *base, int64_t n,
                  ctr_problem *problem)
{
    ctr_rows *rows = table->rows;
    rows->writing = true; /* a trigger on counter_replica must not come back to this row */
    const uint8_t *id = ctr_watch_count(table->post, problem);
    rows->writing = false;
    if (!id) return problem->rc;
    size_t bound = base->size + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX, size;
    uint8_t *out = ctr_rows_room(rows, bound, problem);
    if (!out) return problem->rc;
    size_t at = 0;
    bool again = rows->entry && base == &rows->cells[counter];
    if (ctr_cell_increment_again(base, id, n, ctr_watch_least_clock(table->post),
                                 again ? &rows->entry->cells[counter].at : &at, out,
                                 &size) == CTR_OK) {
        ctr_stats_increment(ctr_guard_stats(table->joined.guard), base->size == 0);
        ctr_rows_set(rows, counter, size);
    } else {
        ctr_problem_set(problem, SQLITE_ERROR, "column %s: integer overflow: %lld cannot be added",
                        column_name(table, counter_column(table, counter)), (long long)n);
    }
    return problem->rc;
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef enum row_state { ROW_MISSING, ROW_LIVE, ROW_DELETED } row_state;

static row_state state_of(const ctr_table *table)
{
    row_state state = ROW_MISSING;
    for (int i = 0; i < table->shape.n_counters; i++) {
        if (ctr_cell_is_live(&table->rows->cells[i])) return ROW_LIVE;
        if (ctr_cell_is_deleted(&table->rows->cells[i])) state = ROW_DELETED;
    }
    return state;
}

/* Adding to a deleted row. */
static int refuse_deleted(ctr_table *table, ctr_problem *problem)
{
    char *key = ctr_access_key_text(table, problem);
    if (!key) return problem->rc;
    ctr_problem_set(problem, SQLITE_CONSTRAINT,
                    "the counter was deleted: %s; the command 'reset' starts its next life", key);
    sqlite3_free(key);
    return problem->rc;
}

/* Adding to a counter that was deleted alone: to reset the row would wipe the others. */
static int refuse_deleted_alone(ctr_table *table, int counter, ctr_problem *problem)
{
    const char *name = column_name(table, counter_column(table, counter));
    char *key = ctr_access_key_text(table, problem);
    if (!key) return problem->rc;
    ctr_problem_set(problem, SQLITE_CONSTRAINT,
                    "the counter was deleted: column %s of %s; the command 'reset %s' starts its "
                    "next life",
                    name, key, name);
    sqlite3_free(key);
    return problem->rc;
}

static int check_alive(ctr_table *table, int counter, ctr_problem *problem)
{
    bool deleted = ctr_cell_is_deleted(&table->rows->cells[counter]);
    return deleted ? refuse_deleted_alone(table, counter, problem) : problem->rc;
}

/* A row that is not there may have been removed for good. */
int ctr_write_check_floors(ctr_table *table, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK || ctr_access_found(table)) return problem->rc;
    if (!ctr_access_is_below(table, problem)) return problem->rc;
    char *key = ctr_describe_key(table->keys, table->shape.n_keys);
    if (!key) return ctr_problem_nomem(problem);
    ctr_problem_set(problem, SQLITE_CONSTRAINT,
                    "the key %s is below a floor of the table, where nothing is counted any more; "
                    "SELECT * FROM counter_floors('%s')",
                    key, table->cluster ? table->cluster->birth : table->name);
    sqlite3_free(key);
    return problem->rc;
}

static int refuse_replace(ctr_table *table, ctr_problem *problem)
{
    char *key = ctr_access_key_text(table, problem);
    if (!key) return problem->rc;
    ctr_problem_set(
        problem, SQLITE_ERROR,
        "REPLACE would wipe the counters of %s: INSERT adds to them, the command 'reset' "
        "starts their next life",
        key);
    sqlite3_free(key);
    return problem->rc;
}

/* ---- INSERT ---------------------------------------------------------------------------------- */

/* Markers are ours, and row ids are SQLite's. */
static int check_hidden(ctr_table *table, sqlite3_value **argv, ctr_problem *problem)
{
    if (ctr_table_given(argv[1]))
        ctr_problem_set(problem, SQLITE_ERROR, "the row id cannot be given, the key names a row");
    for (int i = 0; i < table->shape.n_columns; i++)
        if (ctr_table_given(argv[2 + ctr_table_marker(i)]))
            ctr_problem_set(problem, SQLITE_ERROR, "column _%s cannot be written",
                            column_name(table, i));
    return problem->rc;
}

/* All values are looked at before anything else, so that what is wrong with them is always said. */
static int check_values(ctr_table *table, sqlite3_value **columns, ctr_problem *problem)
{
    bool any = false;
    for (int i = 0; i < table->shape.n_counters; i++) {
        sqlite3_value *value = columns[ctr_table_column(counter_column(table, i))];
        if (!ctr_table_given(value)) continue;
        any = true;
        ctr_write_integer(table, i, value, problem);
    }
    if (!any)
        ctr_problem_set(problem, SQLITE_ERROR, "a row needs a value for at least one counter");
    return problem->rc;
}

static void insert_row(ctr_table *table, sqlite3_value **columns, ctr_problem *problem)
{
    if (check_values(table, columns, problem) || ctr_write_keys(table, columns, problem)) return;
    if (ctr_access_find(table, problem)) return;
    row_state state = state_of(table);
    if (state != ROW_MISSING && sqlite3_vtab_on_conflict(table->db) == SQLITE_REPLACE) {
        refuse_replace(table, problem);
        return;
    }
    if (state == ROW_DELETED && refuse_deleted(table, problem)) return;
    if (ctr_write_check_floors(table, problem)) return;

    for (int i = 0; i < table->shape.n_counters; i++) {
        sqlite3_value *value = columns[ctr_table_column(counter_column(table, i))];
        if (!ctr_table_given(value)) continue;
        if (check_alive(table, i, problem)) return;
        int64_t n = sqlite3_value_int64(value);
        if (ctr_write_add(table, i, &table->rows->cells[i], n, problem)) return;
    }
    ctr_access_add(table, problem);
}

/* ---- UPDATE ---------------------------------------------------------------------------------- */

static int refuse_assignment(ctr_table *table, int counter, ctr_problem *problem)
{
    const char *name = column_name(table, counter_column(table, counter));
    return ctr_problem_set(problem, SQLITE_ERROR,
                           "column %s: counters can only be incremented and decremented: "
                           "SET %s = %s + 1; the command 'reset' sets a value",
                           name, name, name);
}

/* What was read of a counter, if it was. False: not read, or the marker is not ours, a problem. */
static bool read_marker(const ctr_table *table, int counter, sqlite3_value *value,
                        ctr_marker *marker, ctr_problem *problem)
{
    if (sqlite3_value_nochange(value) || !ctr_table_given(value)) return false;
    const void *bytes = sqlite3_value_blob(value);
    bool whole = sqlite3_value_type(value) == SQLITE_BLOB &&
                 sqlite3_value_bytes(value) == (int)sizeof *marker;
    if (whole && !bytes) {
        ctr_problem_nomem(problem);
        return false;
    }
    if (whole) memcpy(marker, bytes, sizeof *marker);
    if (whole && memcmp(marker->secret, table->secret, sizeof marker->secret) == 0) return true;
    ctr_problem_set(problem, SQLITE_ERROR, "column _%s cannot be written",
                    column_name(table, counter_column(table, counter)));
    return false;
}

/* What an assignment adds to one counter. False: nothing, or a problem. `value` is the new value,
 * `marked` what was read of the counter. */
static bool delta_of(ctr_table *table, int counter, sqlite3_value *value, sqlite3_value *marked,
                     int64_t *n, ctr_problem *problem)
{
    if (sqlite3_value_nochange(value)) return false;
    ctr_marker marker;
    if (!read_marker(table, counter, marked, &marker, problem)) {
        refuse_assignment(table, counter, problem);
        return false;
    }
    if (marker.is_null && !ctr_table_given(value)) return false;
    if (ctr_write_integer(table, counter, value, problem)) return false;
    if (marker.is_null) {
        refuse_deleted_alone(table, counter, problem);
        return false;
    }
    ctr_sum difference = {0, 0};
    ctr_sum_add(&difference, sqlite3_value_int64(value));
    ctr_sum_subtract(&difference, marker.value);
    if (ctr_sum_value(&difference, n) != CTR_OK)
        ctr_problem_set(problem, SQLITE_ERROR, "column %s: integer overflow",
                        column_name(table, counter_column(table, counter)));
    return problem->rc == SQLITE_OK && *n != 0;
}

/* A key may be assigned the value that it has. SQLite before 3.41 passes every column of an UPDATE
 * ... FROM in this way. */
static int check_key(ctr_table *table, int64_t rowid, sqlite3_value **columns, ctr_problem *problem)
{
    bool assigned = false;
    for (int i = 0; i < table->shape.n_keys; i++) {
        sqlite3_value *value = columns[ctr_table_column(table->shape.keys[i])];
        bool same = sqlite3_value_nochange(value);
        table->keys[i] = same ? NULL : value;
        assigned = assigned || !same;
        if (!same && !ctr_table_given(value))
            return ctr_problem_set(problem, SQLITE_MISMATCH, "key column %s must not be NULL",
                                   column_name(table, table->shape.keys[i]));
    }
    if (assigned && !ctr_access_key_is(table, rowid, problem))
        ctr_problem_set(problem, SQLITE_ERROR, "the key of a row cannot be changed");
    return problem->rc;
}

/* A marker comes as it left the cursor, unless somebody has assigned to it. */
static int check_assigned(ctr_table *table, sqlite3_value **columns, ctr_problem *problem)
{
    sqlite3_value *command = columns[CTR_COLUMN_COMMAND];
    if (!sqlite3_value_nochange(command) && ctr_table_given(command))
        ctr_problem_set(problem, SQLITE_ERROR, "commands are given by INSERT");
    for (int i = 0; i < table->shape.n_columns; i++) {
        bool given = ctr_table_given(columns[ctr_table_marker(i)]);
        bool key = table->shape.columns[i].key >= 0;
        if (given && (key || sqlite3_value_nochange(columns[ctr_table_column(i)])))
            ctr_problem_set(problem, SQLITE_ERROR, "column _%s cannot be written",
                            column_name(table, i));
    }
    return problem->rc;
}

static void update_row(ctr_table *table, sqlite3_value **argv, ctr_problem *problem)
{
    sqlite3_value **columns = argv + 2;
    int64_t rowid = sqlite3_value_int64(argv[0]);
    if (!sqlite3_value_nochange(argv[1]) && sqlite3_value_int64(argv[1]) != rowid) {
        ctr_problem_set(problem, SQLITE_ERROR, "the row id cannot be changed");
        return;
    }
    if (check_assigned(table, columns, problem) || check_key(table, rowid, columns, problem))
        return;
    if (ctr_access_find_rowid(table, rowid, problem) || !ctr_access_found(table)) return;

    for (int i = 0; i < table->shape.n_counters; i++) {
        int column = counter_column(table, i);
        int64_t n = 0;
        if (delta_of(table, i, columns[ctr_table_column(column)], columns[ctr_table_marker(column)],
                     &n, problem)) {
            if (check_alive(table, i, problem)) return;
            ctr_write_add(table, i, &table->rows->cells[i], n, problem);
        }
        if (problem->rc != SQLITE_OK) return;
    }
    if (ctr_rows_changed(table->rows)) ctr_access_add(table, problem);
}

/* ---- DELETE ---------------------------------------------------------------------------------- */

static void delete_row(ctr_table *table, int64_t rowid, ctr_problem *problem)
{
    if (ctr_access_find_rowid(table, rowid, problem) || state_of(table) != ROW_LIVE) return;
    ctr_rows *rows = table->rows;
    for (int i = 0; i < table->shape.n_counters; i++) {
        size_t size;
        uint8_t *out = ctr_rows_room(rows, CTR_CELL_HEADER_MAX, problem);
        if (!out) return;
        ctr_status status = ctr_cell_delete(&rows->cells[i], out, &size);
        if (status != CTR_OK) {
            ctr_problem_set(problem, SQLITE_ERROR, "the counter %s", ctr_status_text(status));
            ctr_access_problem_at(table, i, problem);
            return;
        }
        ctr_rows_set(rows, i, size);
    }
    ctr_access_write(table, problem);
}

/* ---- xUpdate --------------------------------------------------------------------------------- */

int ctr_write_check_altered(const ctr_table *table, ctr_problem *problem)
{
    if (!table->altered) return problem->rc;
    return ctr_problem_set(problem, SQLITE_ERROR,
                           "a column was added or dropped by this statement, which can count "
                           "nothing after that");
}

/* SQLITE_CONSTRAINT with OR IGNORE: SQLite passes over the row and does not count it. */
static bool is_ignored(const ctr_table *table, const ctr_problem *problem)
{
    return problem->rc == SQLITE_CONSTRAINT && sqlite3_vtab_on_conflict(table->db) == SQLITE_IGNORE;
}

static void add_or_command(ctr_table *table, sqlite3_value **columns, ctr_problem *problem)
{
    if (ctr_table_given(columns[CTR_COLUMN_COMMAND]))
        ctr_commands_run(table, columns, problem);
    else if (ctr_write_check_altered(table, problem) == SQLITE_OK)
        insert_row(table, columns, problem);
}

/* A row that is skipped is done with, too. */
static void insert_once(ctr_table *table, sqlite3_value **columns, ctr_problem *problem)
{
    if (table->cluster) {
        ctr_request_refuse(table, problem);
    } else if (ctr_request_begin(table, columns, problem)) {
        if (sqlite3_vtab_on_conflict(table->db) == SQLITE_IGNORE)
            ctr_problem_set(problem, SQLITE_CONSTRAINT, "the request was taken before");
    } else if (problem->rc == SQLITE_OK) {
        add_or_command(table, columns, problem);
        ctr_problem remembered = {SQLITE_OK, NULL};
        if (is_ignored(table, problem) && ctr_request_remember(table, &remembered)) {
            ctr_problem_close(problem);
            *problem = remembered;
        }
    }
    ctr_request_end(table);
}

static void insert(ctr_table *table, sqlite3_value **argv, ctr_problem *problem)
{
    sqlite3_value **columns = argv + 2;
    if (check_hidden(table, argv, problem)) return;
    if (ctr_request_is_given(table, columns))
        insert_once(table, columns, problem);
    else
        add_or_command(table, columns, problem);
}

static void change_row(ctr_table *table, int argc, sqlite3_value **argv, bool inserts,
                       ctr_problem *problem)
{
    if (argc == 1)
        delete_row(table, sqlite3_value_int64(argv[0]), problem);
    else if (inserts)
        insert(table, argv, problem);
    else if (ctr_request_is_given(table, argv + 2))
        ctr_request_refuse(table, problem);
    else
        update_row(table, argv, problem);
}

int ctr_write_update(sqlite3_vtab *base, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    ctr_table *table = (ctr_table *)base;
    ctr_problem problem = {SQLITE_OK, NULL};
    bool inserts = argc > 1 && !ctr_table_given(argv[0]);
    ctr_timing *timing = &ctr_guard_stats(table->joined.guard)->write;
    int64_t begun = ctr_stats_begin(timing);
    if (ctr_joined_be_told(&table->joined, &problem) == SQLITE_OK)
        change_row(table, argc, argv, inserts, &problem);
    if (inserts) *rowid = ctr_access_rowid(table);
    ctr_access_end(table);
    ctr_stats_end(timing, begun);

    bool skip = is_ignored(table, &problem);
    int rc = ctr_table_fail(table, &problem);
    if (skip) { /* SQLite takes a message for an error even where it is told to ignore */
        sqlite3_free(base->zErrMsg);
        base->zErrMsg = NULL;
    }
    return rc;
}
