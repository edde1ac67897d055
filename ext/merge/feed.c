/* merge/feed.c - gives the changes of main, all or those in a scope; gives and takes rows of
 * replicated tables. */
#include "merge/merge.h"

#include <stdlib.h>
#include <string.h>

/* =================================================================================================
 * scope - reads scopes, and tells which rows they have. */

/* Returns a statement that makes a row of n parameters. */
static sqlite3_stmt *prepare_values(ctr_conn *conn, int n)
{
    sqlite3_str *list = sqlite3_str_new(NULL);
    for (int i = 1; i <= n; i++) sqlite3_str_appendf(list, "%s?%d", i > 1 ? ", " : "", i);
    const char *values = ctr_text_built(conn, list);
    ctr_run run = ctr_run_on(conn, "main", NULL);
    run.slots.values = values;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_ROWS_OF_PARAMETERS);
    return row;
}

/* Steps to the row. Sets `lent` to its n values. */
static bool step_to_values(ctr_conn *conn, sqlite3_stmt *row, sqlite3_value **lent, int n)
{
    ctr_run run = ctr_run_on(conn, "main", NULL);
    bool found = ctr_run_row(&run, row);
    for (int i = 0; found && i < n; i++) lent[i] = sqlite3_column_value(row, i);
    return found;
}

/* Makes the values of a checked key. */
static void make_values(ctr_scope *scope, ctr_conn *conn, const ctr_packed *key)
{
    sqlite3_value *lent[CTR_STREAM_KEYS];
    sqlite3_stmt *row = prepare_values(conn, scope->n);
    if (row) ctr_problem_sqlite(conn, ctr_pack_bind(row, key->bytes, key->size));
    if (step_to_values(conn, row, lent, scope->n))
        scope->values = ctr_arg_copies(conn, lent, scope->n);
    sqlite3_finalize(row);
}

/* Reads the key that was given, in either way. Returns false if it is none, or on error. */
static bool read_given(ctr_scope *scope, ctr_conn *conn, sqlite3_value *given, ctr_packed *key)
{
    if (sqlite3_value_type(given) == SQLITE_BLOB) {
        const uint8_t *bytes = sqlite3_value_blob(given);
        size_t size = bytes ? (size_t)sqlite3_value_bytes(given) : 0;
        uint8_t *out = ctr_pack_room(conn, key, size + 1);
        if (!out || !bytes || ctr_key_check(bytes, size, false, &scope->n) != CTR_OK) return false;
        memcpy(out, bytes, size);
        key->size = size;
        return true;
    }
    const char *json = ctr_text_value(conn, given);
    return json && ctr_key_json_read(key, &scope->n, conn, json);
}

int ctr_scope_open(ctr_scope *scope, ctr_conn *conn, sqlite3_value *given)
{
    ctr_packed key = {NULL, 0, 0};
    *scope = (ctr_scope){0};
    if (ctr_rc(conn) != SQLITE_OK) return ctr_rc(conn);
    bool is_key = read_given(scope, conn, given, &key) && scope->n <= CTR_STREAM_KEYS;
    if (!is_key && ctr_rc(conn) == SQLITE_OK)
        ctr_problem_mismatch(conn, "scope",
                             "a JSON array of the first values of a key, such as '[\"store 7\"]'",
                             given);
    if (is_key) make_values(scope, conn, &key);
    if (is_key) scope->text = ctr_key_json_write(key.bytes, key.size);
    if (is_key && !scope->text) ctr_problem_nomem(conn);
    sqlite3_free(key.bytes);
    return ctr_rc(conn);
}

void ctr_scope_close(ctr_scope *scope)
{
    if (scope->values) ctr_arg_free(scope->values, scope->n);
    sqlite3_free(scope->text);
    sqlite3_free(scope->key.bytes);
    sqlite3_free(scope->folded.bytes);
    *scope = (ctr_scope){0};
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Binds a value as the affinity of the column would make it. */
static void bind_as(ctr_conn *conn, sqlite3_stmt *row, int i, const ctr_column *column,
                    sqlite3_value *value)
{
    ctr_number number = {.type = SQLITE_NULL};
    if (column->affinity == CTR_AFFINITY_TEXT) {
        bool is_blob = sqlite3_value_type(value) == SQLITE_BLOB;
        const char *text = is_blob ? NULL : (const char *)sqlite3_value_text(value);
        if (!is_blob && !text) ctr_problem_nomem(conn);
        int size = sqlite3_value_bytes(value);
        ctr_problem_sqlite(conn, is_blob ? sqlite3_bind_value(row, i, value)
                                         : sqlite3_bind_text(row, i, text, size, SQLITE_TRANSIENT));
        return;
    }
    if (column->affinity != CTR_AFFINITY_BLOB) number = ctr_arg_number(conn, value);
    int rc = number.type == SQLITE_INTEGER ? sqlite3_bind_int64(row, i, number.integer)
             : number.type == SQLITE_FLOAT ? sqlite3_bind_double(row, i, number.real)
                                           : ctr_text_bind_value(row, i, value);
    ctr_problem_sqlite(conn, rc);
}

/* Packs the first n keys, folded. */
static void fold_leading(ctr_conn *conn, ctr_packed *folded, const ctr_shape *shape,
                         sqlite3_value **keys, int n)
{
    ctr_shape leading = *shape; /* borrowed */
    leading.n_keys = n;
    ctr_pack_folded(conn, folded, &leading, keys);
}

/* What a collation of the application calls equal only SQLite can tell. */
static void refuse_collation(ctr_conn *conn, const ctr_column *column)
{
    if (ctr_pack_folds(column->collation)) return;
    ctr_problem_set(
        conn, SQLITE_ERROR,
        "a scope needs the collations BINARY, NOCASE and RTRIM, and key column %s has %s",
        column->name, column->collation);
}

void ctr_scope_enter(ctr_scope *scope, ctr_conn *conn, const ctr_shape *shape)
{
    sqlite3_value *lent[CTR_STREAM_KEYS];
    for (int i = 0; i < scope->n && i < shape->n_keys; i++)
        refuse_collation(conn, &shape->columns[shape->keys[i]]);
    if (scope->n > shape->n_keys || ctr_rc(conn) != SQLITE_OK) return;
    sqlite3_stmt *row = prepare_values(conn, scope->n);
    for (int i = 0; row && i < scope->n; i++)
        bind_as(conn, row, i + 1, &shape->columns[shape->keys[i]], scope->values[i]);
    if (step_to_values(conn, row, lent, scope->n))
        fold_leading(conn, &scope->folded, shape, lent, scope->n);
    sqlite3_finalize(row);
}

bool ctr_scope_has(ctr_conn *conn, ctr_scope *scope, const ctr_shape *shape, sqlite3_value **keys)
{
    if (scope->n > shape->n_keys) return false;
    fold_leading(conn, &scope->key, shape, keys, scope->n);
    return ctr_rc(conn) == SQLITE_OK && scope->key.size == scope->folded.size &&
           memcmp(scope->key.bytes, scope->folded.bytes, scope->key.size) == 0;
}

/* =================================================================================================
 * row_feed - writes and takes rows of replicated tables. */

/* ---- giving ---------------------------------------------------------------------------------- */

/* Puts the numbers of the columns in the order of their names, byte by byte. */
static void sort_by_name(ctr_row_giver *giver, const ctr_registry *registry)
{
    for (int i = 0; i < registry->n; i++) {
        const ctr_regular *column = &registry->columns[i];
        int at = giver->n;
        if (!column->name || !column->noted) continue;
        for (; at > 0 && strcmp(registry->columns[giver->order[at - 1]].name, column->name) > 0;
             at--)
            giver->order[at] = giver->order[at - 1];
        giver->order[at] = i;
        giver->n++;
    }
}

void ctr_row_feed_open(ctr_row_giver *giver, ctr_tab *tab)
{
    *giver = (ctr_row_giver){.n = 0};
    if (!tab || !tab->shape.replicated || ctr_rc(tab->conn) != SQLITE_OK) return;
    ctr_row_values_open(&giver->values, tab);
    const ctr_registry *registry = ctr_regular_of(tab);
    if (!registry || ctr_rc(tab->conn) != SQLITE_OK) return;
    giver->order = sqlite3_malloc64(((size_t)registry->n + 1) * sizeof *giver->order);
    if (!giver->order) {
        ctr_problem_nomem(tab->conn);
        return;
    }
    sort_by_name(giver, registry);
}

void ctr_row_feed_close(ctr_row_giver *giver)
{
    ctr_row_values_close(&giver->values);
    sqlite3_free(giver->cell.columns);
    sqlite3_free(giver->order);
    sqlite3_free(giver->regular.bytes);
    sqlite3_free(giver->value.bytes);
    *giver = (ctr_row_giver){.n = 0};
}

/* Says what the row has in a regular column, whose value has been read. */
static void tell_regular(ctr_conn *conn, ctr_row_giver *giver, int number, ctr_told_column *told)
{
    const ctr_registry *registry = ctr_regular_of(giver->values.tab); /* it may be read again */
    const char *name = registry ? registry->columns[number].name : "";
    *told = (ctr_told_column){.name = (const uint8_t *)name, .name_size = strlen(name)};
    told->kind = ctr_kind_regular();
    told->stamp = giver->cell.columns[number];
    if (told->stamp.kind == CTR_STAMP_OWN)
        told->generation = ctr_stamp_generation(told->stamp.own.number);
    giver->value.size = 0;
    if (told->stamp.kind != CTR_STAMP_NONE)
        ctr_pack_append(conn, &giver->value, giver->values.given[number]);
    told->state = giver->value.bytes;
    told->size = giver->value.size;
}

static void append_told(ctr_conn *conn, ctr_packed *change, const ctr_told_column *told)
{
    size_t size = CTR_CHANGE_HEADER_MAX + told->name_size + told->size;
    uint8_t *out = ctr_rc(conn) == SQLITE_OK ? ctr_pack_room(conn, change, size) : NULL;
    if (out) change->size = (size_t)(ctr_change_put_column(out, told) - change->bytes);
}

/* Reads the row cell. Returns whether there is one. */
static bool read_row_cell(ctr_row_giver *giver, sqlite3_stmt *stands)
{
    ctr_tab *tab = giver->values.tab;
    return tab && ctr_regular_room(tab, &giver->cell, &giver->room) &&
           ctr_regular_take(tab, stands, &giver->cell) == SQLITE_OK && giver->cell.life > 0;
}

static ctr_told_row told_row_of(const ctr_row_giver *giver)
{
    const ctr_row_cell *cell = &giver->cell;
    return (ctr_told_row){.is = true,
                          .life = cell->life,
                          .stamp = cell->row,
                          .born = cell->born,
                          .birth = cell->birth};
}

bool ctr_row_feed_read(ctr_conn *conn, ctr_row_giver *giver, sqlite3_stmt *stands,
                       sqlite3_value **keys)
{
    if (!read_row_cell(giver, stands)) return false;
    const ctr_told_row row = told_row_of(giver);
    bool live = ctr_row_cell_is_live(&giver->cell);
    giver->regular.size = 0;
    uint8_t *out = ctr_pack_room(conn, &giver->regular, CTR_CHANGE_HEADER_MAX);
    if (!out) return false;
    out = ctr_change_begin_row(out, &row, live ? (uint64_t)giver->n : 0);
    giver->regular.size = (size_t)(out - giver->regular.bytes);
    if (live) ctr_row_values_read(&giver->values, sqlite3_column_int64(stands, CTR_WALK_ID), keys);
    for (int i = 0; live && i < giver->n && ctr_rc(conn) == SQLITE_OK; i++) {
        ctr_told_column told;
        tell_regular(conn, giver, giver->order[i], &told);
        append_told(conn, &giver->regular, &told);
    }
    ctr_row_values_reset(&giver->values);
    return ctr_rc(conn) == SQLITE_OK;
}

/* ---- taking ---------------------------------------------------------------------------------- */

void ctr_row_feed_end_taken(ctr_taken_row *row)
{
    sqlite3_reset(row->values);
}

static void free_room_of_taken(ctr_taken_row *row)
{
    sqlite3_free(row->map);
    sqlite3_free(row->places);
    sqlite3_free(row->given);
    sqlite3_free(row->too_large);
    sqlite3_free(row->shown);
}

void ctr_row_feed_close_taken(ctr_taken_row *row)
{
    free_room_of_taken(row);
    sqlite3_free(row->cell.columns);
    sqlite3_free(row->packed.bytes);
    sqlite3_finalize(row->values);
    *row = (ctr_taken_row){.room = 0};
}

/* As in merge/kinds.c. */
static void refuse_regular_before(const ctr_merge *merge, const char *name, int64_t generation,
                                  bool is_older)
{
    const ctr_tracked *tracked = merge->showing.tracked;
    const char *noun = ctr_kind_counter()->noun, *keeps = ctr_tracked_call(tracked, NULL),
               *follows = ctr_tracked_call_to_follow(tracked, generation);
    if (ctr_columns_has_ended(merge->row.tab, name))
        ctr_problem_set(merge->conn, SQLITE_ERROR,
                        "column %s was %s here and is replicated at the source: call %s, which "
                        "takes the values of the source, or %s, which keeps those of this file",
                        name, noun, follows, keeps);
    else if (is_older)
        ctr_problem_set(merge->conn, SQLITE_ERROR,
                        "column %s was %s here and is replicated at the source as before: note "
                        "what was written there, and call %s, by which the values of this file win",
                        name, noun, keeps);
    else
        ctr_problem_set(merge->conn, SQLITE_ERROR,
                        "column %s is replicated at the source and not yet here: call %s", name,
                        follows);
}

/* Refuses a column that the table has, and this file does not replicate yet. Passes over one that
 * it replicates no longer, one that the table lacks, and one that counts here: the row may have
 * been written before the source made it a counter, too. A source that has not yet refuses the
 * counter (merge/apply.c). */
static void refuse_column(const ctr_merge *merge, const ctr_registry *registry,
                          const ctr_told_column *column)
{
    const char *spelling;
    const ctr_tracked *tracked = merge->showing.tracked;
    const ctr_span given = {(const char *)column->name, column->name_size};
    char *name = ctr_text_of(merge->conn, given);
    const ctr_described *there = name ? ctr_ordinary_column(&tracked->ordinary, name) : NULL;
    if (there && there->local)
        ctr_problem_set(merge->conn, SQLITE_ERROR,
                        "column %s stays in this file and travels at the source: call "
                        "counter_untrack(%Q, %Q) there, and counter_replicate(%Q, 'local=%s')",
                        name, tracked->table, name, tracked->table, name);
    int64_t generation = name ? ctr_shape_generation(&merge->shape, name, &spelling) : 0;
    bool at_home = ctr_regular_was_named(registry, given.text, given.size, generation);
    bool refused = name && !at_home && generation % 2 == 0 && there;
    bool is_older = column->stamp.kind == CTR_STAMP_OWN &&
                    ctr_stamp_generation(column->stamp.own.number) < generation;
    if (refused) refuse_regular_before(merge, name, generation, is_older);
    sqlite3_free(name);
}

static void make_room_for_taken(const ctr_merge *merge, ctr_taken_row *row)
{
    const int mine = row->room; /* the others have as much */
    if (!ctr_regular_room(merge->row.tab, &row->cell, &row->room)) return;
    if (row->map && row->room == mine) return;
    free_room_of_taken(row);
    size_t n = (size_t)row->room + 1, m = (size_t)merge->showing.tracked->n_regular + 1;
    row->map = sqlite3_malloc64(n * sizeof *row->map);
    row->places = sqlite3_malloc64(n * sizeof *row->places);
    row->given = sqlite3_malloc64(n * sizeof *row->given);
    row->too_large = sqlite3_malloc64(n * sizeof *row->too_large);
    row->shown = sqlite3_malloc64(m * sizeof *row->shown);
    if (!row->map || !row->places || !row->given || !row->too_large || !row->shown)
        ctr_problem_nomem(merge->conn);
}

/* Refuses a row that both files had when each began to replicate the table, if its values
 * differ. */
static void refuse_drift(ctr_merge *merge, ctr_taken_row *row)
{
    for (int i = 0; i < row->cell.n; i++)
        row->given[i] =
            row->places[i] >= 0 ? sqlite3_column_value(row->values, row->places[i]) : NULL;
    ctr_drift_compare(merge, row->given, row->map);
    ctr_drift_refuse(merge, merge->showing.tracked->table, "here", "in the change", false);
}

/* Sets the values to be shown: those that the merge has taken. */
static void choose_values(const ctr_merge *merge, ctr_taken_row *row)
{
    const ctr_tracked *tracked = merge->showing.tracked;
    for (int i = 0; i < tracked->n_regular; i++) {
        int number = ctr_tracked_regular(tracked, i)->number;
        bool is = number < row->cell.n && merge->row.join.taken[number] &&
                  ctr_tracked_regular(tracked, i)->name && row->places[number] >= 0;
        row->shown[i] = is ? sqlite3_column_value(row->values, row->places[number]) : NULL;
    }
}

/* What the source has lost, nobody else may give it in a feed of own changes: the row counts as a
 * change of this file. */
static void give_back(ctr_merge *merge)
{
    ctr_row_set_stamps(&merge->row);
    merge->row.also_here = true;
}

static ctr_too_large too_large_of(const ctr_taken_row *row, int number)
{
    return (ctr_too_large){.life = row->cell.life,
                           .stamp = *ctr_row_cell_stamp(&row->cell, number),
                           .size = row->too_large[number]};
}

/* Forgets the values that were too large to be told, but for those that would have been taken and
 * are not listed yet. With one of them the row counts as changed: others are to hear of it. */
static void choose_too_large(ctr_merge *merge, ctr_taken_row *row)
{
    ctr_apart_row listed = {0};
    const ctr_tracked *tracked = merge->showing.tracked;
    if (merge->row.found && !merge->row.join.begins) /* what is listed then is of another row */
        ctr_apart_read(tracked, merge->row.tab, merge->row.rowid, &listed);
    const ctr_row_cell *mine = ctr_row_stamps(&merge->row);
    for (int i = 0; mine && i < row->cell.n; i++) {
        if (row->too_large[i] == 0) continue;
        const ctr_too_large value = too_large_of(row, i);
        bool is = ctr_too_large_is_missing(&value, mine, i) &&
                  ctr_too_large_is_news(tracked, &listed, i, &value);
        if (is) ctr_row_set_stamps(&merge->row);
        if (!is) row->too_large[i] = 0;
    }
    ctr_apart_close_row(&listed);
}

/* Lists them: only a pull brings them. */
static void list_too_large(const ctr_merge *merge, const ctr_taken_row *row)
{
    for (int i = 0; i < row->cell.n && ctr_rc(merge->conn) == SQLITE_OK; i++) {
        if (row->too_large[i] == 0) continue;
        const ctr_too_large value = too_large_of(row, i);
        ctr_apart_list_too_large(merge->row.tab, merge->row.rowid, i, &value);
    }
}

/* Joins the row cells. Returns whether the row, with its counters, is to be written. */
static bool join_taken(ctr_merge *merge, ctr_taken_row *row)
{
    const ctr_row_cell *mine = ctr_row_stamps(&merge->row);
    bool lost =
        ctr_rc(merge->conn) == SQLITE_OK && mine && ctr_row_cell_lacks(mine, &row->cell, row->map);
    if (ctr_rc(merge->conn) != SQLITE_OK ||
        ctr_merge_row(merge, &row->cell, row->map, 0) == CTR_ROW_STAYS)
        return false;
    if (merge->row.join.asks) refuse_drift(merge, row);
    if (lost) give_back(merge);
    if (row->any_too_large) choose_too_large(merge, row);
    return ctr_rc(merge->conn) == SQLITE_OK;
}

void ctr_row_feed_write_taken(ctr_merge *merge, ctr_taken_row *row)
{
    if (row->shown) choose_values(merge, row);
    ctr_merge_write_values(merge, row->shown);
    if (merge->shape.replicated && row->any_too_large) list_too_large(merge, row);
}

void ctr_row_feed_refuse_regular(const ctr_merge *merge, const ctr_told_column *told)
{
    const ctr_registry *registry = merge->shape.replicated ? ctr_regular_of(merge->row.tab) : NULL;
    if (registry && ctr_regular_named(registry, (const char *)told->name, told->name_size) < 0)
        refuse_column(merge, registry, told);
}

/* Sets the stamps of my columns, and makes a row of the values that were told. */
static void take_told_columns(ctr_merge *merge, ctr_change_view change, ctr_taken_row *row)
{
    int n = 0;
    ctr_told_column told;
    const ctr_registry *registry = ctr_regular_of(merge->row.tab);
    for (int i = 0; i < row->cell.n; i++) {
        row->map[i] = row->places[i] = -1;
        row->too_large[i] = 0;
        row->cell.columns[i].kind = CTR_STAMP_NONE;
    }
    row->any_too_large = false;
    row->packed.size = 0;
    ctr_pack_begin(merge->conn, &row->packed);
    while (registry && ctr_rc(merge->conn) == SQLITE_OK && ctr_change_next(&change, &told)) {
        if (told.kind->stored) continue;
        int number = ctr_regular_named(registry, (const char *)told.name, told.name_size);
        if (number < 0) {
            refuse_column(merge, registry, &told);
            continue;
        }
        row->cell.columns[number] = told.stamp;
        row->too_large[number] = (int64_t)told.too_large;
        row->any_too_large = row->any_too_large || told.too_large > 0;
        row->map[number] = told.too_large > 0 ? -1 : number; /* as if it were not told */
        if (told.size == 0) continue;
        uint8_t *out = ctr_pack_room(merge->conn, &row->packed, told.size);
        if (!out) return;
        memcpy(out, told.state, told.size);
        row->packed.size += told.size;
        row->places[number] = n++;
    }
    if (n == 0 || ctr_rc(merge->conn) != SQLITE_OK) return;
    ctr_run run = ctr_tab_run(merge->row.tab);
    if (n != row->n_values) sqlite3_finalize(row->values);
    if (n != row->n_values) row->values = prepare_values(merge->conn, n);
    row->n_values = row->values ? n : 0;
    if (row->values)
        ctr_problem_sqlite(run.conn,
                           ctr_pack_bind(row->values, row->packed.bytes, row->packed.size));
    ctr_run_row(&run, row->values);
}

bool ctr_row_feed_join_told(ctr_merge *merge, const ctr_change_view *change, ctr_taken_row *row)
{
    if (!merge->shape.replicated) return ctr_rc(merge->conn) == SQLITE_OK;
    make_room_for_taken(merge, row);
    if (ctr_rc(merge->conn) != SQLITE_OK) return false;
    row->cell.life = change->row.life;
    row->cell.row = change->row.stamp;
    row->cell.born = change->row.born;
    row->cell.birth = change->row.birth;
    take_told_columns(merge, *change, row);
    return join_taken(merge, row);
}

/* =================================================================================================
 * feed - gives counters that came or went, answers, floors and rows. */

/* ---- tables ---------------------------------------------------------------------------------- */

/* Notes for counter_warnings how many values were left out. Without memory there is no warning. */
static void note_left_out(ctr_feed *feed)
{
    ctr_problem none;
    const ctr_brought left = {.left_out = feed->left_out};
    if (feed->left_out == 0) return;
    ctr_problem_try(feed->asks, &none);
    ctr_brought_list *list = ctr_brought_of(feed->asks);
    if (list) ctr_brought_list_add(feed->asks, list, feed->table, &left);
    ctr_problem_close(&none);
    feed->left_out = 0;
}

static void leave_table(ctr_feed *feed)
{
    note_left_out(feed);
    ctr_stream_walk_close(&feed->walk);
    sqlite3_finalize(feed->came);
    sqlite3_finalize(feed->answers);
    feed->came = feed->answers = NULL;
    ctr_row_feed_close(&feed->row_giver);
    ctr_row_close(&feed->row);
    ctr_shape_close(&feed->shape);
    sqlite3_free(feed->keys);
    sqlite3_free(feed->key_text);
    sqlite3_free(feed->places);
    feed->places = NULL;
    feed->keys = NULL;
    feed->key_text = NULL;
}

static const char *present_name(const ctr_feed *feed)
{
    return feed->source.catalog.entries[feed->entry].name;
}

/* ---- whole rows ------------------------------------------------------------------------------ */

static int by_name_of_place(const void *a, const void *b)
{
    const struct ctr_told_place *one = a, *other = b;
    int order = strcmp(one->name, other->name);
    return order != 0 ? order : (one->counter < 0) - (other->counter < 0);
}

/* Returns the columns of the table in the order of ctr_change_order; the caller frees them. NULL on
 * error. */
static struct ctr_told_place *list_told_places(ctr_conn *conn, ctr_tab *tab, const ctr_shape *shape,
                                               const ctr_row_giver *giver, int *count)
{
    size_t n = (size_t)shape->n_counters + (size_t)giver->n;
    struct ctr_told_place *places = sqlite3_malloc64((n + 1) * sizeof *places);
    const ctr_registry *registry = giver->n > 0 ? ctr_regular_of(tab) : NULL;
    *count = 0;
    if (!places) ctr_problem_nomem(conn);
    if (!places || ctr_rc(conn) != SQLITE_OK) return places;
    for (int i = 0; i < shape->n_counters; i++)
        places[(*count)++] = (struct ctr_told_place){ctr_shape_counter_name(shape, i), i, -1};
    for (int i = 0; registry && i < giver->n; i++)
        places[(*count)++] =
            (struct ctr_told_place){registry->columns[giver->order[i]].name, -1, giver->order[i]};
    if (n > 0) qsort(places, (size_t)*count, sizeof *places, by_name_of_place);
    for (int i = 0; i < *count; i++) places[i].name = NULL; /* others are read later */
    return places;
}

/* Says which counter it is; its state is not said. */
static ctr_told_column told_counter(const ctr_shape *shape, int counter)
{
    const ctr_column *column = &shape->columns[shape->counters[counter]];
    return (ctr_told_column){.name = (const uint8_t *)column->name,
                             .name_size = strlen(column->name),
                             .generation = column->generation,
                             .kind = column->kind};
}

void ctr_row_feed_tell(ctr_tab *tab, const ctr_row *row, sqlite3_value **keys, ctr_packed *change)
{
    int n_places = 0;
    uint64_t n = 0;
    ctr_conn *conn = tab->conn;
    ctr_row_giver giver;
    ctr_packed columns = {0};
    ctr_row_feed_open(&giver, tab);
    struct ctr_told_place *places = list_told_places(conn, tab, row->shape, &giver, &n_places);
    if (ctr_rc(conn) == SQLITE_OK && ctr_regular_room(tab, &giver.cell, &giver.room) &&
        ctr_regular_read(tab, row->rowid, &giver.cell) == SQLITE_OK)
        ctr_row_values_read(&giver.values, row->rowid, keys);
    for (int i = 0; i < n_places && ctr_rc(conn) == SQLITE_OK; i++) {
        ctr_told_column told;
        const int counter = places[i].counter;
        if (counter >= 0 && ctr_cell_is_untouched(&row->cells[counter])) continue;
        if (counter < 0) {
            tell_regular(conn, &giver, places[i].regular, &told);
        } else {
            told = told_counter(row->shape, counter);
            told.state = row->cells[counter].bytes;
            told.size = row->cells[counter].size;
        }
        append_told(conn, &columns, &told);
        n++;
    }
    ctr_row_values_reset(&giver.values);
    const ctr_told_row told = told_row_of(&giver);
    uint8_t *out = ctr_rc(conn) == SQLITE_OK
                       ? ctr_pack_room(conn, change, CTR_CHANGE_HEADER_MAX + columns.size)
                       : NULL;
    if (out) out = ctr_change_begin_row(out, &told, n);
    if (out && columns.size > 0) memcpy(out, columns.bytes, columns.size);
    if (out) change->size = (size_t)(out - change->bytes) + columns.size;
    sqlite3_free(places);
    sqlite3_free(columns.bytes);
    ctr_row_feed_close(&giver);
}

/* ---- parts of a row -------------------------------------------------------------------------- */

/* Returns whether whoever asks wants what has these origins: others can have a change that came
 * with a feed from somebody else. */
static bool wants(const ctr_feed *feed, int origins)
{
    return !feed->query.own || origins != CTR_FED;
}

/* Returns whether a part of the row at hand has changed and is told. */
static bool is_part_told(const ctr_feed *feed, int part)
{
    size_t from = 0, to = feed->walk.n_told;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (feed->walk.told[middle].part < part)
            from = middle + 1;
        else
            to = middle;
    }
    const ctr_change_of_row *found = &feed->walk.told[from];
    return from < feed->walk.n_told && found->part == part && wants(feed, found->origins);
}

/* Looks at what is told of the row at hand. Who asks for own changes may not have the columns of a
 * row that came with a feed. */
static void choose_parts(ctr_feed *feed)
{
    const ctr_walk *walk = &feed->walk;
    int origins = walk->origins;
    feed->whole = feed->columns = true;
    feed->parts = feed->query.partial && feed->query.since > 0;
    if (feed->parts) {
        feed->whole = is_part_told(feed, CTR_PART_WHOLE);
        feed->columns = feed->whole || feed->query.own || is_part_told(feed, CTR_PART_COLUMNS);
        origins = walk->told[0].origins; /* of the whole, if that is told */
    }
    feed->own = feed->query.own && !(origins & CTR_PULLED);
}

static bool is_of_own_id(const ctr_feed *feed, const uint8_t *id)
{
    for (size_t i = 0; i < feed->n_ids; i++)
        if (memcmp(feed->ids + i * CTR_ID_SIZE, id, CTR_ID_SIZE) == 0) return true;
    return false;
}

/* Returns whether a shard of the row at hand is told. */
static bool is_shard_told(const void *with, const ctr_shard *shard)
{
    const ctr_feed *feed = with;
    const uint8_t *id = shard->id;
    bool mine = is_of_own_id(feed, id);
    if (feed->whole && (mine || ctr_id_is_opening(id))) return true;
    if (feed->parts && is_part_told(feed, ctr_entries_part_of(id))) return true;
    return feed->parts && mine && is_part_told(feed, CTR_PART_OWN);
}

/* Takes the shards that are not told out of the current cell. Its life stays. Returns whether the
 * cell tells anything: a life that rose is told with the whole row. */
static bool keep_told_shards(ctr_feed *feed)
{
    if (feed->whole && !feed->own) return true;
    const ctr_own_filter told = {is_shard_told, feed};
    ctr_shard shard;
    size_t at = 0;
    feed->few.size = 0;
    uint8_t *out =
        ctr_pack_room(feed->source.conn, &feed->few, feed->cell.size + CTR_CELL_HEADER_MAX);
    if (!out) return false;
    feed->cell = ctr_cell_written(out, ctr_cell_own(&feed->cell, &told, out));
    return feed->whole || ctr_cell_next(&feed->cell, &at, &shard);
}

/* Says what the row has in a counter. Returns false if that is nothing. */
static bool tell_counter(ctr_feed *feed, int counter, ctr_told_column *told)
{
    feed->cell = feed->row.cells[counter];
    if (ctr_cell_is_untouched(&feed->cell) || !keep_told_shards(feed)) return false;
    if (ctr_cell_is_untouched(&feed->cell)) return false;
    *told = told_counter(&feed->shape, counter);
    told->state = feed->cell.bytes;
    told->size = feed->cell.size;
    return true;
}

/* Tells of a value that this file has only heard of, in place of its own. */
static void tell_too_large(const ctr_row_giver *giver, int number, ctr_told_column *told)
{
    const ctr_too_large *value = ctr_row_values_too_large(&giver->values, number);
    if (!value || !ctr_too_large_is_missing(value, &giver->cell, number)) return;
    told->stamp = (ctr_column_stamp){.kind = CTR_STAMP_OWN, .own = value->stamp};
    told->generation = ctr_stamp_generation(value->stamp.number);
    told->too_large = (uint64_t)value->size;
    told->size = 0;
}

/* Leaves out a value that would make the line of the row too large for what carries it; the others
 * have `values` bytes. */
static void leave_out_large(ctr_feed *feed, ctr_told_column *told, size_t *values)
{
    ctr_key_value value = {.size = 0};
    if (told->size > 0) ctr_key_read(told->state, &value);
    if (feed->query.partial && value.size > CTR_LINE_VALUES_MOST - *values) {
        told->too_large = value.size;
        told->size = value.size = 0;
        feed->left_out++;
    }
    *values += value.size;
}

static void tell_regular_column(ctr_feed *feed, int number, ctr_told_column *told, size_t *values)
{
    tell_regular(feed->source.conn, &feed->row_giver, number, told);
    tell_too_large(&feed->row_giver, number, told);
    leave_out_large(feed, told, values);
}

/* Appends the columns of a row; returns how many. */
static uint64_t tell_columns(ctr_feed *feed)
{
    uint64_t n = 0;
    size_t values = 0; /* bytes of them */
    ctr_conn *conn = feed->source.conn;
    feed->told.size = 0;
    for (int i = 0; i < feed->n_places && ctr_rc(conn) == SQLITE_OK; i++) {
        const struct ctr_told_place *place = &feed->places[i];
        ctr_told_column told;
        if (place->counter < 0 && !feed->columns) continue;
        if (place->counter < 0)
            tell_regular_column(feed, place->regular, &told, &values);
        else if (!tell_counter(feed, place->counter, &told))
            continue;
        append_told(conn, &feed->told, &told);
        n++;
    }
    return n;
}

/* Makes the change of the row on which the walk stands. Returns false if it tells nothing. */
static bool tell_row(ctr_feed *feed)
{
    ctr_conn *conn = feed->source.conn;
    ctr_row_giver *giver = &feed->row_giver;
    ctr_told_row row = {.is = false};
    if (feed->shape.replicated && !read_row_cell(giver, feed->walk.row)) return false;
    if (feed->shape.replicated) row = told_row_of(giver);
    bool has_columns = !row.is || row.life % 2 == 1;
    uint64_t n = 0;
    feed->told.size = 0;
    choose_parts(feed);
    if (row.is && has_columns && feed->columns)
        ctr_row_values_read(&giver->values, sqlite3_column_int64(feed->walk.row, CTR_WALK_ID),
                            feed->keys);
    if (has_columns) n = tell_columns(feed);
    ctr_row_values_reset(&giver->values);
    if (ctr_rc(conn) != SQLITE_OK || (!row.is && n == 0)) return false;
    feed->change.size = 0;
    uint8_t *out = ctr_pack_room(conn, &feed->change, CTR_CHANGE_HEADER_MAX + feed->told.size);
    if (!out) return false;
    out = ctr_change_begin_row(out, &row, n);
    if (n > 0) memcpy(out, feed->told.bytes, feed->told.size);
    feed->change.size = (size_t)(out - feed->change.bytes) + feed->told.size;
    return true;
}

/* Begins a change that is no row, of `size` bytes at most, with an empty key. Returns where it is
 * written; NULL without memory. */
static uint8_t *begin_of_table(ctr_feed *feed, size_t size)
{
    feed->key.size = feed->change.size = 0;
    return ctr_pack_room(feed->source.conn, &feed->change, CTR_CHANGE_HEADER_MAX + size);
}

/* Returns false on an error. */
static bool end_of_table(ctr_feed *feed, const uint8_t *end)
{
    if (end) feed->change.size = (size_t)(end - feed->change.bytes);
    return end && ctr_rc(feed->source.conn) == SQLITE_OK;
}

/* Makes the floors of the table the current row, if they changed. Returns whether it did. */
static bool take_floors(ctr_feed *feed)
{
    ctr_conn *conn = feed->source.conn;
    int n = feed->shape.n_keys;
    ctr_slot *floors = ctr_floors_read(feed->row.tab);
    sqlite3_stmt *row = floors ? floors->kept.statement : NULL;
    bool found = row && sqlite3_column_int64(row, n) >= feed->query.since;
    uint8_t *out = found ? begin_of_table(feed, 0) : NULL;
    if (out) {
        for (int i = 0; i < n; i++) feed->keys[i] = sqlite3_column_value(row, i);
        ctr_pack_values(conn, &feed->key, feed->keys, n);
        feed->number = sqlite3_column_int64(row, n);
        out = ctr_change_put_floors(out);
    }
    ctr_tab_give_back(feed->row.tab, floors);
    return end_of_table(feed, out);
}

/* Steps to the next row of a statement. Returns false after the last. */
static bool step_or_end(ctr_feed *feed, sqlite3_stmt **rows)
{
    ctr_run run = ctr_run_on(feed->source.conn, feed->source.schema, present_name(feed));
    if (*rows && ctr_run_row(&run, *rows)) return true;
    sqlite3_finalize(*rows); /* a further step would begin anew */
    *rows = NULL;
    return false;
}

/* Returns whether the counter has been dropped to become a regular column: then a file that counts
 * it still asks what to do. */
static bool is_regular_again(const ctr_feed *feed, const char *name)
{
    const ctr_registry *registry = feed->shape.replicated ? ctr_regular_of(feed->row.tab) : NULL;
    return registry && ctr_regular_named(registry, name, strlen(name)) >= 0;
}

/* Steps to the next counter that came or went. Returns false after the last. */
static bool step_column(ctr_feed *feed)
{
    if (!step_or_end(feed, &feed->came)) return false;
    const char *name = ctr_text_column(feed->source.conn, feed->came, 0);
    uint8_t *out = name ? begin_of_table(feed, strlen(name)) : NULL;
    if (!out) return false;
    const ctr_told_column told = {.name = (const uint8_t *)name,
                                  .name_size = strlen(name),
                                  .generation = sqlite3_column_int64(feed->came, 1),
                                  .kind = is_regular_again(feed, name) ? ctr_kind_regular()
                                                                       : ctr_kind_counter(),
                                  .bounded = sqlite3_column_int(feed->came, 3) == 1};
    feed->number = sqlite3_column_int64(feed->came, 2);
    return end_of_table(feed, ctr_change_put_generation(out, &told));
}

/* Steps to the next answer about openings. Returns false after the last. */
static bool step_answer(ctr_feed *feed)
{
    ctr_conn *conn = feed->source.conn;
    if (!step_or_end(feed, &feed->answers)) return false;
    const void *answer = sqlite3_column_blob(feed->answers, 0);
    size_t size = (size_t)sqlite3_column_bytes(feed->answers, 0);
    if (ctr_openings_check(conn, answer, size)) return false;
    uint8_t *out = begin_of_table(feed, size);
    feed->number = sqlite3_column_int64(feed->answers, 1);
    return end_of_table(feed, out ? ctr_change_put_answer(out, answer, size) : NULL);
}

/* Opens the table number `entry`. Returns whether the current row has its floors. */
static bool enter_table(ctr_feed *feed)
{
    ctr_conn *conn = feed->source.conn;
    const ctr_source *source = &feed->source;
    const char *name = present_name(feed);
    feed->table = feed->source.catalog.entries[feed->entry].birth;
    const ctr_objects *objects = ctr_file_objects(source->file);
    if (!objects || ctr_tab_read_shape(source->file, name, &feed->shape) ||
        ctr_refuse_triggers_among(objects, name, false) || ctr_triggers_check(source->file, name))
        return false;
    feed->keys = sqlite3_malloc64((size_t)feed->shape.n_keys * sizeof *feed->keys);
    feed->key_text = ctr_text_copy(conn, ctr_shape_key_text(conn, &feed->shape));
    if (!feed->keys) ctr_problem_nomem(conn);
    ctr_row_open(&feed->row, source->file, name, &feed->shape);
    feed->row.whole = true;
    ctr_row_feed_open(&feed->row_giver, feed->row.tab);
    feed->places =
        list_told_places(conn, feed->row.tab, &feed->shape, &feed->row_giver, &feed->n_places);
    const ctr_asked asked = {.since = feed->query.since,
                             .parts = feed->query.partial,
                             .except = feed->except.upto > 0 ? &feed->except : NULL,
                             .scope = feed->scope.values,
                             .n_scope = feed->scope.n};
    ctr_stream_walk_open_asked(&feed->walk, &feed->row, &asked);
    if (feed->scope.n > 0)
        ctr_problem_where(conn, "table %s", feed->table); /* a collation may be missing */
    if (feed->query.own) feed->walk.skips = CTR_FED;
    ctr_run run = ctr_run_on(source->conn, source->schema, name);
    feed->answers = ctr_run_prepare(&run, CTR_SQL_OPENINGS_ANSWERS);
    ctr_run_bind_int(&run, feed->answers, ":number", feed->query.since);
    feed->came = ctr_run_prepare(&run, CTR_SQL_COLUMNS_SINCE);
    ctr_run_bind_int(&run, feed->came, ":number", feed->query.since);
    return ctr_rc(conn) == SQLITE_OK && take_floors(feed);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Steps to the next row in the bucket: packs its key and copies its cells. Copies are needed
 * because the host may count while the feed reads through its connection. */
static bool step_row(ctr_feed *feed)
{
    ctr_conn *conn = feed->source.conn;
    sqlite3_stmt *row = feed->walk.row;
    while (ctr_stream_walk_next(&feed->walk)) {
        for (int i = 0; i < feed->shape.n_keys; i++)
            feed->keys[i] = sqlite3_column_value(row, CTR_WALK_COLUMNS + feed->shape.keys[i]);
        bool in_bucket = feed->query.bucket.of == 0;
        if (!in_bucket && ctr_pack_folded(conn, &feed->key, &feed->shape, feed->keys) == SQLITE_OK)
            in_bucket = ctr_digest_bucket_has(&feed->query.bucket, &feed->key);
        if (!in_bucket) continue;
        feed->number = feed->query.partial ? feed->walk.oldest : feed->walk.number;
        ctr_source_append(&feed->source);
        if (ctr_row_take(&feed->row, row)) return false;
        return ctr_pack_values(conn, &feed->key, feed->keys, feed->shape.n_keys) == SQLITE_OK;
    }
    return false;
}

static void read_own_ids(ctr_feed *feed)
{
    ctr_conn *conn = feed->source.conn;
    ctr_run run = ctr_run_on(conn, feed->source.schema, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_IDENTITY_IDS);
    while (ctr_run_row(&run, row)) {
        const void *id = sqlite3_column_blob(row, 0);
        if (!id || sqlite3_column_bytes(row, 0) != CTR_ID_SIZE) continue;
        uint8_t *ids =
            ctr_array_room(conn, feed->ids, &feed->room_ids, feed->n_ids + 1, CTR_ID_SIZE);
        if (!ids) break;
        feed->ids = ids;
        memcpy(ids + feed->n_ids++ * CTR_ID_SIZE, id, CTR_ID_SIZE);
    }
    sqlite3_finalize(row);
}

/* Steps to the next change of the table: to each counter that came or went, to each answer, then to
 * each row that tells something. */
static bool step_in_table(ctr_feed *feed)
{
    if (step_column(feed) || step_answer(feed)) return true;
    while (step_row(feed))
        if (tell_row(feed)) return true;
    return false;
}

void ctr_feed_next(ctr_feed *feed)
{
    ctr_conn *conn = feed->source.conn;
    while (ctr_rc(conn) == SQLITE_OK && !step_in_table(feed)) {
        ctr_problem_where(conn, "table %s", feed->table);
        if (ctr_rc(conn) != SQLITE_OK) return;
        leave_table(feed);
        feed->eof = ++feed->entry >= feed->source.catalog.n;
        if (feed->eof || enter_table(feed)) return;
        ctr_problem_where(conn, "table %s", feed->table);
    }
}

/* ---- the feed -------------------------------------------------------------------------------- */

/* Names the source as its marks do. */
static void name_source(ctr_feed *feed)
{
    ctr_marks_source source = {
        .twist = feed->giver.twist, .own = feed->query.own, .scope = feed->scope.text};
    memcpy(source.id, feed->giver.id, CTR_ID_SIZE);
    feed->name = ctr_marks_name(&source);
    if (!feed->name) ctr_problem_nomem(feed->source.conn);
}

/* Opens main as a source whose changes others may hear of. */
static int open_main(ctr_source *source, ctr_conn *conn, ctr_identity *giver)
{
    if (ctr_source_open(source, conn, "main") || ctr_source_hold(source) ||
        ctr_source_read(source, giver))
        return ctr_rc(conn);
    ctr_durable_source(source);
    ctr_source_append(source);
    return ctr_rc(conn);
}

int64_t ctr_feed_end(ctr_conn *conn)
{
    ctr_source source = {0};
    ctr_identity giver = {0};
    open_main(&source, conn, &giver);
    ctr_source_close(&source);
    return giver.present ? giver.next : 0;
}

/* Leaves out what the source that asks has brought, if it knows which mark main has of it. */
static void except_asking(ctr_feed *feed, const ctr_feed_query *query)
{
    ctr_marks_source source;
    ctr_conn *conn = feed->source.conn;
    if (!query->of || query->since == 0 || query->mine == 0) return;
    if (!ctr_marks_source_of(query->of, strlen(query->of), &source) || source.scope) return;
    if (ctr_marks_of_feed(conn, &source) != query->mine) return;
    feed->except = (ctr_fed){.twist = source.twist, .own = source.own, .upto = query->mine};
    memcpy(feed->except.id, source.id, CTR_ID_SIZE);
}

int ctr_feed_open(ctr_feed *feed, ctr_conn *conn, const ctr_feed_query *query)
{
    *feed = (ctr_feed){.asks = conn, .query = *query, .eof = true};
    sqlite3_value *scope = query->scope;
    feed->query.scope = NULL;
    feed->query.of = NULL;
    if (scope && ctr_scope_open(&feed->scope, conn, scope)) return ctr_rc(conn);
    if (open_main(&feed->source, conn, &feed->giver) || feed->source.catalog.n == 0)
        return ctr_rc(conn);
    if (!feed->giver.present) return ctr_identity_missing(conn, "main");
    if (query->own || query->partial) read_own_ids(feed);
    name_source(feed);
    except_asking(feed, query);
    feed->eof = false;
    if (!enter_table(feed) && ctr_rc(conn) == SQLITE_OK) ctr_feed_next(feed);
    return ctr_rc(conn);
}

void ctr_feed_close(ctr_feed *feed)
{
    leave_table(feed);
    ctr_source_close(&feed->source);
    ctr_scope_close(&feed->scope);
    sqlite3_free(feed->name);
    sqlite3_free(feed->key.bytes);
    sqlite3_free(feed->ids);
    sqlite3_free(feed->few.bytes);
    sqlite3_free(feed->change.bytes);
    sqlite3_free(feed->told.bytes);
    *feed = (ctr_feed){.eof = true};
}
