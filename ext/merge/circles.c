/* merge/circles.c - shows rows that only the table can take together. */
#include "merge/merge.h"

#include <string.h>

/* A table with listed rows. */
typedef struct circle_table {
    ctr_merge merge;
    const char *name;      /* of the tracked table; borrowed */
    ctr_row_values values; /* owned: reads listed values */
    sqlite3_value **keys;  /* owned: room for the key of the row at hand */
    sqlite3_value **other; /* owned: room for the key of a row that is looked for */
    bool *refers;          /* owned: by regular column: of a key to a table with listed rows */
    bool is_in_circle;     /* it refers to itself, perhaps through others */
} circle_table;

/* A row that waits, has ended, or shows other values than it should. */
typedef struct circle_row {
    int table;
    int64_t id; /* among its cells */
    bool ended, refused;
    bool done;  /* shown or deleted */
    bool taken; /* into the group at hand */
} circle_row;

typedef struct circles {
    ctr_pull *pull;
    ctr_foreign_keys *foreign; /* held */
    circle_table *tables;      /* owned; it does not move */
    int n_tables;
    circle_row *rows; /* owned; of each table in the order of ids */
    size_t n, room;
    sqlite3_stmt **referrers; /* owned: by foreign key, a statement on the keys of children */
    size_t *group;            /* owned: numbers of rows; room for all */
    size_t n_group;
    bool moves; /* the group has rows that leave one which has ended */
} circles;

/* ---- the rows -------------------------------------------------------------------------------- */

static void list_rows(circles *all, int table)
{
    const ctr_showing *showing = &all->tables[table].merge.showing;
    ctr_run run = ctr_tab_run(showing->tab);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_APART_ROWS);
    while (ctr_run_row(&run, row)) {
        ctr_apart_row is;
        int64_t id = sqlite3_column_int64(row, 0);
        bool read = ctr_apart_read(showing->tracked, showing->tab, id, &is) == SQLITE_OK;
        circle_row *rows = NULL;
        if (read && (is.waits || is.ended || is.refused))
            rows = ctr_array_room(all->pull->file->conn, all->rows, &all->room, all->n + 1,
                                  sizeof *rows);
        if (rows) {
            all->rows = rows;
            rows[all->n++] = (circle_row){
                .table = table, .id = id, .ended = is.ended, .refused = !is.waits && !is.ended};
        }
        ctr_apart_close_row(&is);
    }
    sqlite3_finalize(row);
}

static void open_circle_table(circles *all, const ctr_catalog_entry *here)
{
    circle_table *table = &all->tables[all->n_tables];
    *table = (circle_table){.name = NULL};
    if (!ctr_merge_open_table(&table->merge, all->pull->file, here, &all->pull->conflicts)) {
        ctr_merge_close(&table->merge);
        return;
    }
    all->n_tables++;
    const ctr_tracked *tracked = table->merge.showing.tracked;
    table->name = tracked->table;
    size_t size = ((size_t)tracked->shape->n_keys + 1) * sizeof *table->keys;
    table->keys = sqlite3_malloc64(size);
    table->other = sqlite3_malloc64(size);
    if (!table->keys || !table->other) ctr_problem_nomem(all->pull->file->conn);
    if (tracked->n_regular > 0) ctr_row_values_open(&table->values, table->merge.row.tab);
    list_rows(all, all->n_tables - 1);
}

/* Notes which columns refer to the tables that are open. */
static void note_references(circles *all)
{
    ctr_conn *conn = all->pull->file->conn;
    for (int i = 0; i < all->n_tables && ctr_rc(conn) == SQLITE_OK; i++) {
        circle_table *table = &all->tables[i];
        const ctr_tracked *tracked = table->merge.showing.tracked;
        table->refers = sqlite3_malloc64((size_t)tracked->n_regular + 1);
        if (!table->refers) ctr_problem_nomem(conn);
        for (int j = 0; table->refers && j < tracked->n_regular; j++) {
            const char *column = ctr_tracked_regular(tracked, j)->name;
            table->refers[j] = false;
            for (int k = 0; column && k < all->n_tables; k++)
                if (ctr_foreign_refers(all->foreign, table->name, column, all->tables[k].name))
                    table->refers[j] = true;
        }
    }
}

/* Opens the tables that list anything and refer to others, or others to them. */
static void open_circles(circles *all)
{
    ctr_conn *conn = all->pull->file->conn;
    ctr_pull *pull = all->pull;
    all->foreign = ctr_foreign_hold(pull->file);
    if (!all->foreign || all->foreign->n == 0) return;
    all->tables = sqlite3_malloc64(((size_t)pull->here.n + 1) * sizeof *all->tables);
    size_t size = ((size_t)all->foreign->n + 1) * sizeof(sqlite3_stmt *);
    all->referrers = sqlite3_malloc64(size);
    if (all->referrers) memset(all->referrers, 0, size);
    if (!all->tables || !all->referrers) ctr_problem_nomem(conn);
    for (int i = 0; i < pull->here.n && ctr_rc(conn) == SQLITE_OK; i++) {
        const ctr_catalog_entry *here = &pull->here.entries[i];
        if (!ctr_tracked_is_among(pull->mine, here->name)) continue;
        const char *table = ctr_triggers_table(pull->mine, here->name);
        const int before = all->n_tables;
        const bool refers = table && (ctr_foreign_is_child(all->foreign, table) ||
                                      ctr_foreign_is_parent(all->foreign, table));
        if (refers && ctr_apart_count(pull->file, here->name) > 0) open_circle_table(all, here);
        if (all->n_tables > before)
            all->tables[before].is_in_circle = ctr_foreign_is_in_circle(conn, all->foreign, table);
    }
    note_references(all);
    all->group = sqlite3_malloc64((all->n + 1) * sizeof *all->group);
    if (!all->group) ctr_problem_nomem(conn);
}

static void close_circles(circles *all)
{
    for (int i = 0; i < all->n_tables; i++) {
        ctr_row_values_close(&all->tables[i].values);
        sqlite3_free(all->tables[i].keys);
        sqlite3_free(all->tables[i].other);
        sqlite3_free(all->tables[i].refers);
        ctr_merge_close(&all->tables[i].merge);
    }
    for (int i = 0; all->referrers && i < all->foreign->n; i++) sqlite3_finalize(all->referrers[i]);
    ctr_foreign_release(all->foreign);
    sqlite3_free(all->referrers);
    sqlite3_free(all->tables);
    sqlite3_free(all->rows);
    sqlite3_free(all->group);
}

static int table_named(const circles *all, const char *name)
{
    for (int i = 0; i < all->n_tables; i++)
        if (sqlite3_stricmp(all->tables[i].name, name) == 0) return i;
    return -1;
}

/* Returns the number of a listed row, or -1. */
static int64_t listed_row_of(const circles *all, int table, int64_t id)
{
    size_t from = 0, to = all->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const circle_row *row = &all->rows[middle];
        bool before = row->table != table ? row->table < table : row->id < id;
        if (before)
            from = middle + 1;
        else
            to = middle;
    }
    bool is = from < all->n && all->rows[from].table == table && all->rows[from].id == id;
    return is && !all->rows[from].done ? (int64_t)from : -1;
}

static void take_into_group(circles *all, size_t row)
{
    if (all->rows[row].taken) return;
    all->rows[row].taken = true;
    all->group[all->n_group++] = row;
}

/* ---- rows that have ended -------------------------------------------------------------------- */

/* SELECT the keys of the other rows that refer to the row with the key ?1, ?2, ...; of a table that
 * stays here, or that lists nothing, 1. */
static sqlite3_stmt *prepare_referrers(circles *all, int key, int parent, int child)
{
    ctr_conn *conn = all->pull->file->conn;
    const ctr_foreign_key *foreign = &all->foreign->keys[key];
    if (all->referrers[key] || ctr_rc(conn) != SQLITE_OK) return all->referrers[key];
    const ctr_tracked *tracked = all->tables[parent].merge.showing.tracked;
    sqlite3_str *out = sqlite3_str_new(NULL);
    if (child >= 0)
        ctr_list_keys(all->tables[child].merge.showing.tracked, out, "c.");
    else
        sqlite3_str_appendall(out, "1");
    ctr_foreign_list_children(foreign, tracked, out);
    ctr_run run = ctr_run_on(tracked->conn, tracked->schema, NULL);
    run.slots.value = ctr_text_built(conn, out);
    return all->referrers[key] = ctr_run_prepare(&run, CTR_SQL_TRACK_VALUE);
}

/* Takes the children of a row into the group. Returns false if one of them keeps the row. */
static bool take_referrers(circles *all, const circle_row *row, int key)
{
    circle_table *parent = &all->tables[row->table];
    const ctr_foreign_key *foreign = &all->foreign->keys[key];
    const ctr_tracked *tracked = parent->merge.showing.tracked;
    if (!ctr_foreign_keeps(foreign, tracked)) return true;
    int child = foreign->travels ? table_named(all, foreign->child) : -1;
    sqlite3_stmt *referrer = prepare_referrers(all, key, row->table, child);
    if (!referrer || ctr_tracked_bind_key(tracked, referrer, parent->keys)) return false;
    ctr_run run = ctr_run_on(tracked->conn, tracked->schema, NULL);
    bool goes = true;
    while (goes && ctr_run_row(&run, referrer)) {
        int64_t other = -1;
        goes = false;
        if (child < 0) break;
        circle_table *of = &all->tables[child];
        for (int i = 0; i < of->merge.shape.n_keys; i++)
            of->other[i] = sqlite3_column_value(referrer, i);
        if (ctr_row_find_key(&of->merge.row, of->other) == SQLITE_OK && of->merge.row.found)
            other = listed_row_of(all, child, of->merge.row.rowid);
        goes = other >= 0 && (all->rows[other].ended || all->rows[other].refused);
        if (goes) take_into_group(all, (size_t)other);
        if (goes && all->rows[other].refused) all->moves = true;
    }
    sqlite3_reset(referrer);
    return goes && ctr_rc(all->pull->file->conn) == SQLITE_OK;
}

/* ---- rows that wait -------------------------------------------------------------------------- */

/* Returns the value that a row which waits is to show in a column; NULL: it is not known, or
 * NULL. */
static sqlite3_value *value_of(const circle_table *table, const char *column)
{
    const ctr_tracked *tracked = table->merge.showing.tracked;
    int i = ctr_tracked_named(tracked, column);
    if (i >= 0 && i < tracked->shape->n_keys) return table->keys[i];
    const ctr_tracked_column *regular = ctr_tracked_regular_named(tracked, column);
    if (!regular || regular->number >= table->values.n) return NULL;
    sqlite3_value *value = table->values.given[regular->number];
    return value && sqlite3_value_type(value) != SQLITE_NULL ? value : NULL;
}

/* Takes the parent of a row into the group, if it waits. Returns false if there is no such row.
 * A foreign key that does not refer to the key of its parent is left to SQLite. */
static bool take_parent(circles *all, const circle_row *row, int key)
{
    circle_table *child = &all->tables[row->table];
    const ctr_foreign_key *foreign = &all->foreign->keys[key];
    if (sqlite3_stricmp(foreign->child, child->name) != 0) return true;
    int parent = table_named(all, foreign->parent);
    if (parent < 0) return true;
    circle_table *of = &all->tables[parent];
    const ctr_tracked *tracked = of->merge.showing.tracked;
    int n = of->merge.shape.n_keys;
    for (int i = 0; i < n; i++) {
        of->other[i] = NULL;
        for (int j = 0; j < foreign->n; j++)
            if (sqlite3_stricmp(foreign->pairs[j].to, ctr_tracked_key(tracked, i)->name) == 0)
                of->other[i] = value_of(child, foreign->pairs[j].from);
        if (!of->other[i]) return true;
    }
    if (foreign->n != n) return true;
    if (ctr_row_find_key(&of->merge.row, of->other) || !of->merge.row.found) return false;
    int64_t other = listed_row_of(all, parent, of->merge.row.rowid);
    if (other >= 0 && !all->rows[other].ended) take_into_group(all, (size_t)other);
    return true;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Takes what the row needs beside it. Returns false if that is not to be had. */
static bool complete_group(circles *all, size_t number)
{
    ctr_conn *conn = all->pull->file->conn;
    const circle_row *row = &all->rows[number];
    circle_table *table = &all->tables[row->table];
    bool complete = ctr_row_key_of(&table->merge.row, row->id, table->keys);
    if (complete && !row->ended && table->values.tab)
        ctr_row_values_read(&table->values, row->id, table->keys);
    for (int i = 0; i < all->foreign->n && complete && ctr_rc(conn) == SQLITE_OK; i++)
        complete = row->ended ? take_referrers(all, row, i) : take_parent(all, row, i);
    for (int i = 0; i < table->merge.shape.n_keys; i++) sqlite3_value_free(table->keys[i]);
    return complete && ctr_rc(conn) == SQLITE_OK;
}

/* Begins a group with a row. Returns false if nothing refers to it that could go with it, or leave
 * it. */
static bool make_group(circles *all, size_t row)
{
    bool complete = true;
    for (size_t i = 0; i < all->n_group; i++) all->rows[all->group[i]].taken = false;
    all->n_group = 0;
    all->moves = false;
    take_into_group(all, row);
    for (size_t i = 0; i < all->n_group && complete; i++)
        complete = complete_group(all, all->group[i]);
    return complete && all->n_group > 1;
}

static bool is_shown(circles *all, const circle_row *row)
{
    ctr_apart_row is;
    const ctr_showing *showing = &all->tables[row->table].merge.showing;
    ctr_apart_read(showing->tracked, showing->tab, row->id, &is);
    bool shown =
        ctr_rc(all->pull->file->conn) == SQLITE_OK && !is.waits && !is.ended && !is.refused;
    ctr_apart_close_row(&is);
    return shown;
}

/* A row that others are to leave is deleted after they have left it: its deletion could delete
 * them. */
static bool is_kept(circles *all, const circle_row *row)
{
    circle_table *table = &all->tables[row->table];
    ctr_showing *showing = &table->merge.showing;
    if (!all->moves || !row->ended) return false;
    bool is = !ctr_row_key_of(&table->merge.row, row->id, table->keys) ||
              ctr_foreign_has_children(&showing->writing.foreign, table->keys);
    for (int i = 0; i < table->merge.shape.n_keys; i++) sqlite3_value_free(table->keys[i]);
    return is;
}

/* A row that has ended refers to nothing any more. */
static void clear_circle_row(circles *all, const circle_row *row)
{
    circle_table *table = &all->tables[row->table];
    ctr_showing *showing = &table->merge.showing;
    showing->writing.together = true;
    ctr_later_clear(showing, &table->merge.row, row->id, table->refers);
    showing->writing.together = false;
}

/* Tries a row of the group. */
static void write_circle_row(circles *all, const circle_row *row, bool clears)
{
    circle_table *table = &all->tables[row->table];
    ctr_showing *showing = &table->merge.showing;
    if (clears && row->ended) clear_circle_row(all, row);
    showing->writing.together = true;
    ctr_later_show_listed(showing, &table->merge.row, row->id);
    showing->writing.together = false;
}

/* Writes the rows of the group in turns, for RESTRICT and UNIQUE demand an order. Where that leads
 * no further, rows are cleared. Returns whether the table took all of them. */
static bool write_group(circles *all)
{
    ctr_conn *conn = all->pull->file->conn;
    size_t left = all->n_group;
    for (int idle = 0; left > 0 && idle < 3 && ctr_rc(conn) == SQLITE_OK; idle++) {
        const bool clears = idle == 1;
        for (size_t i = 0; i < all->n_group && ctr_rc(conn) == SQLITE_OK; i++) {
            circle_row *row = &all->rows[all->group[i]];
            if (row->done) continue;
            if (is_kept(all, row)) {
                if (clears) clear_circle_row(all, row); /* others may wait for its UNIQUE value */
                continue;
            }
            write_circle_row(all, row, clears);
            row->done = is_shown(all, row);
            left -= row->done;
            if (row->done) idle = -1;
        }
    }
    return left == 0 && !ctr_foreign_broken(conn->db);
}

/* Lets the transaction defer all foreign keys, if it does not yet. Returns whether it does since
 * now: an authorizer may forbid it. */
static bool defer_keys(ctr_conn *conn)
{
    ctr_problem forbidden;
    ctr_run run = ctr_run_on(conn, "main", NULL);
    run.slots.value = "ON";
    ctr_problem_try(conn, &forbidden);
    bool begins = ctr_run_number(&run, CTR_SQL_TRACK_DEFERS) == 0 && ctr_rc(conn) == SQLITE_OK;
    if (begins) ctr_run_do(&run, CTR_SQL_TRACK_DEFER, NULL);
    begins = begins && forbidden.rc == SQLITE_OK;
    ctr_problem_raise_if(conn, &forbidden, (forbidden.rc & 0xff) != SQLITE_AUTH);
    return begins;
}

/* Also behind an error, whose transaction may go on. */
static void defer_no_more(ctr_conn *conn)
{
    ctr_problem failed;
    ctr_run run = ctr_run_on(conn, "main", NULL);
    run.slots.value = "OFF";
    ctr_problem_try(conn, &failed);
    ctr_run_do(&run, CTR_SQL_TRACK_DEFER, NULL);
    ctr_problem_raise(conn, &failed);
}

/* Shows or deletes the group, or nothing. Within a statement that writes, SQLite opens no
 * savepoint; then the rows stay listed. */
static bool show_group(circles *all)
{
    ctr_conn *conn = all->pull->file->conn;
    ctr_run run = ctr_file_run(all->pull->file);
    if (!ctr_writing_savepoint(conn)) return false;
    const bool defers = defer_keys(conn);
    bool shown = write_group(all);
    if (!shown && ctr_rc(conn) == SQLITE_OK) ctr_run_do(&run, CTR_SQL_TRACK_ROLL_BACK, NULL);
    if (defers) defer_no_more(conn);
    if (ctr_rc(conn) != SQLITE_OK) return false; /* the whole merge is undone */
    ctr_run_do(&run, CTR_SQL_TRACK_RELEASE, NULL);
    for (size_t i = 0; i < all->n_group; i++) all->rows[all->group[i]].done = shown;
    return shown;
}

bool ctr_circles_show(ctr_pull *pull)
{
    ctr_conn *conn = pull->file->conn;
    bool any = false;
    circles all = {.pull = pull};
    open_circles(&all);
    bool broken = ctr_foreign_broken(conn->db);
    for (size_t i = 0; i < all.n && !broken && ctr_rc(conn) == SQLITE_OK; i++) {
        const circle_row *row = &all.rows[i];
        bool begins = row->ended || (!row->refused && all.tables[row->table].is_in_circle);
        if (begins && !row->done && make_group(&all, i)) any |= show_group(&all);
    }
    close_circles(&all);
    return any;
}
