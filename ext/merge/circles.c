/* merge/circles.c - shows rows that the table takes only together. */
#include "merge/merge.h"

#include <stdlib.h>
#include <string.h>

/* A table with listed rows. */
typedef struct circle_table {
    ctr_merge merge;
    const char *name;      /* of the tracked table; borrowed */
    ctr_row_values values; /* owned: reads listed values */
    sqlite3_value **keys;  /* owned: room for the key of the row at hand */
    sqlite3_value **other; /* owned: room for the key of a row that is looked for */
    ctr_lets_go *lets_go;  /* owned: by regular column: what it may let go of for others */
    bool is_in_circle;     /* it refers to itself, perhaps through others */
} circle_table;

/* A row that waits, has ended, or shows other values than it should. */
typedef struct circle_row {
    int table;
    int64_t id; /* among its cells */
    bool ended, refused;
    bool is_blocked; /* by a row that has its value in a UNIQUE index, or, if it is refused, by one
                        that refers to it */
    bool done;       /* shown or deleted */

    /* Of the search for groups: */
    size_t nth;   /* visited as the nth row, from 1; 0: not yet */
    size_t least; /* the least of these that the row is known to need, and that needs it */
    bool is_open; /* its group is not known yet */
    bool needs;   /* it needs others, without which it was tried in vain */
    bool lacks;   /* it needs what is not to be had */
    bool is_left; /* others are to leave it, or to refer to another row */
} circle_row;

/* A row on the way of the search, and which of its needs comes next. */
typedef struct circle_step {
    size_t row, needs, next;
} circle_step;

/* What a row that lives is to have where a foreign key refers to other columns than the key. */
typedef struct circle_offer {
    int key;
    int64_t hash; /* of the values */
    size_t row;
} circle_offer;

typedef struct circles {
    ctr_pull *pull;
    ctr_foreign_keys *foreign; /* held */
    circle_table *tables;      /* owned; it does not move */
    int n_tables;
    circle_row *rows; /* owned; of each table in the order of ids */
    size_t n, room;
    sqlite3_stmt **referrers; /* owned: by foreign key, a statement on the keys of children */
    circle_step *way;         /* owned; room for all rows */
    size_t n_way, n_visited;
    size_t *needs; /* owned: numbers of rows: what each row on the way needs */
    size_t n_needs, room_needs;
    size_t *open; /* owned: numbers of rows that are open; room for all */
    size_t n_open;
    const size_t *group; /* among the open ones: rows that need each other */
    size_t n_group;
    bool moves;           /* one of the group is left by others */
    circle_offer *offers; /* owned; ascending */
    size_t n_offers, room_offers;
    ctr_packed packed; /* owned: a value */
} circles;

/* ---- the rows -------------------------------------------------------------------------------- */

/* Returns whether others may have to change before the table takes the row. */
static bool is_blocked(const ctr_apart_row *is)
{
    return is->why && (strncmp(is->why, CTR_UNIQUE_FAILED, sizeof CTR_UNIQUE_FAILED - 1) == 0 ||
                       (!is->waits && strcmp(is->why, CTR_FOREIGN_KEY_FAILED) == 0));
}

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
            rows[all->n++] = (circle_row){.table = table,
                                          .id = id,
                                          .ended = is.ended,
                                          .refused = !is.waits && !is.ended,
                                          .is_blocked = is_blocked(&is)};
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

/* Returns whether a new value in a column would act on rows that refer to it. */
static bool acts(const circles *all, const char *table, const char *column)
{
    for (int i = 0; i < all->foreign->n; i++) {
        const ctr_foreign_key *key = &all->foreign->keys[i];
        if (key->fixes || sqlite3_stricmp(key->parent, table) != 0) continue;
        for (int j = 0; j < key->n; j++)
            if (sqlite3_stricmp(key->pairs[j].to, column) == 0) return true;
    }
    return false;
}

/* Returns what a row may let go of: values of UNIQUE indexes, and references to tables that are
 * open. */
static ctr_lets_go lets_go_of(const circles *all, const circle_table *table, const char *column)
{
    const ctr_ordinary *ordinary = &table->merge.showing.tracked->ordinary;
    for (size_t i = 0; i < ordinary->n_terms; i++)
        if (ordinary->terms[i].name && sqlite3_stricmp(ordinary->terms[i].name, column) == 0)
            return acts(all, table->name, column) ? CTR_KEEPS : CTR_HAS_NUMBER;
    for (int i = 0; i < all->n_tables; i++)
        if (ctr_foreign_refers(all->foreign, table->name, column, all->tables[i].name))
            return CTR_HAS_NULL;
    return CTR_KEEPS;
}

static void note_columns(circles *all)
{
    ctr_conn *conn = all->pull->file->conn;
    for (int i = 0; i < all->n_tables && ctr_rc(conn) == SQLITE_OK; i++) {
        circle_table *table = &all->tables[i];
        ctr_tracked *tracked = table->merge.showing.tracked;
        ctr_ordinary_read_terms(&tracked->ordinary, conn, tracked->schema, tracked->table);
        table->lets_go =
            sqlite3_malloc64(((size_t)tracked->n_regular + 1) * sizeof *table->lets_go);
        if (!table->lets_go) ctr_problem_nomem(conn);
        for (int j = 0; table->lets_go && j < tracked->n_regular; j++) {
            const char *column = ctr_tracked_regular(tracked, j)->name;
            table->lets_go[j] = column ? lets_go_of(all, table, column) : CTR_KEEPS;
        }
    }
}

/* Opens the tables that list anything. */
static void open_circles(circles *all)
{
    ctr_conn *conn = all->pull->file->conn;
    ctr_pull *pull = all->pull;
    all->foreign = ctr_foreign_hold(pull->file);
    if (!all->foreign) return;
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
        if (table && ctr_apart_count(pull->file, here->name) > 0) open_circle_table(all, here);
        if (all->n_tables > before)
            all->tables[before].is_in_circle = ctr_foreign_is_in_circle(conn, all->foreign, table);
    }
    note_columns(all);
    all->way = sqlite3_malloc64((all->n + 1) * sizeof *all->way);
    all->open = sqlite3_malloc64((all->n + 1) * sizeof *all->open);
    if (!all->way || !all->open) ctr_problem_nomem(conn);
}

static void close_circles(circles *all)
{
    for (int i = 0; i < all->n_tables; i++) {
        ctr_row_values_close(&all->tables[i].values);
        sqlite3_free(all->tables[i].keys);
        sqlite3_free(all->tables[i].other);
        sqlite3_free(all->tables[i].lets_go);
        ctr_merge_close(&all->tables[i].merge);
    }
    for (int i = 0; all->referrers && i < all->foreign->n; i++) sqlite3_finalize(all->referrers[i]);
    ctr_foreign_release(all->foreign);
    sqlite3_free(all->packed.bytes);
    sqlite3_free(all->offers);
    sqlite3_free(all->referrers);
    sqlite3_free(all->tables);
    sqlite3_free(all->rows);
    sqlite3_free(all->way);
    sqlite3_free(all->needs);
    sqlite3_free(all->open);
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
    return is ? (int64_t)from : -1;
}

/* Notes that the row at the end of the way needs another one, which may be shown already. */
static void need_row(circles *all, size_t row)
{
    size_t *needs = ctr_array_room(all->pull->file->conn, all->needs, &all->room_needs,
                                   all->n_needs + 1, sizeof *needs);
    if (!needs) return;
    all->needs = needs;
    needs[all->n_needs++] = row;
}

/* Returns the number of the listed row with the key in table->other, or -1. */
static int64_t listed_row_with(circles *all, int table)
{
    circle_table *of = &all->tables[table];
    if (ctr_row_find_key(&of->merge.row, of->other) || !of->merge.row.found) return -1;
    return listed_row_of(all, table, of->merge.row.rowid);
}

/* ---- the values of rows ---------------------------------------------------------------------- */

static void free_keys_of(circle_table *table)
{
    for (int i = 0; i < table->merge.shape.n_keys; i++) sqlite3_value_free(table->keys[i]);
}

/* Reads the key of a row, and what it is to show; the caller frees the key, even if this fails. */
static bool read_values(circles *all, size_t number)
{
    const circle_row *row = &all->rows[number];
    circle_table *table = &all->tables[row->table];
    if (!ctr_row_key_of(&table->merge.row, row->id, table->keys)) return false;
    if (!row->ended && table->values.tab) ctr_row_values_read(&table->values, row->id, table->keys);
    return ctr_rc(all->pull->file->conn) == SQLITE_OK;
}

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

/* Adds a value to the hash of several. Returns false if it is NULL: then they refer to nothing. */
static bool add_to_hash(circles *all, sqlite3_value *value, int64_t *hash)
{
    if (!value || sqlite3_value_type(value) == SQLITE_NULL ||
        ctr_pack_values(all->pull->file->conn, &all->packed, &value, 1) != SQLITE_OK)
        return false;
    uint64_t of_value = ctr_cache_hash(all->packed.bytes, all->packed.size);
    *hash = (int64_t)((uint64_t)*hash * 31 + of_value);
    return true;
}

/* Hashes what a row is to have in the columns of a foreign key. Returns false if one is NULL. */
static bool hash_key(circles *all, const circle_table *table, const ctr_foreign_key *key,
                     bool as_parent, int64_t *hash)
{
    bool is = key->n > 0;
    *hash = 0;
    for (int i = 0; i < key->n && is; i++)
        is = add_to_hash(all, value_of(table, as_parent ? key->pairs[i].to : key->pairs[i].from),
                         hash);
    return is;
}

static int by_offer(const void *a, const void *b)
{
    const circle_offer *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static void note_offer(circles *all, int key, size_t row)
{
    circle_offer offer = {.key = key, .row = row};
    circle_table *table = &all->tables[all->rows[row].table];
    bool is =
        read_values(all, row) && hash_key(all, table, &all->foreign->keys[key], true, &offer.hash);
    free_keys_of(table);
    if (!is) return;
    circle_offer *offers = ctr_array_room(all->pull->file->conn, all->offers, &all->room_offers,
                                          all->n_offers + 1, sizeof *offers);
    if (!offers) return;
    all->offers = offers;
    offers[all->n_offers++] = offer;
}

/* Notes which rows may become parents by foreign keys that refer to other columns than the key. */
static void note_offers(circles *all)
{
    ctr_conn *conn = all->pull->file->conn;
    for (int i = 0; i < all->foreign->n && ctr_rc(conn) == SQLITE_OK; i++) {
        const ctr_foreign_key *key = &all->foreign->keys[i];
        int parent = table_named(all, key->parent);
        if (parent < 0 || ctr_foreign_is_to_key(key, all->tables[parent].merge.showing.tracked))
            continue;
        for (size_t row = 0; row < all->n && ctr_rc(conn) == SQLITE_OK; row++)
            if (all->rows[row].table == parent && !all->rows[row].ended) note_offer(all, i, row);
    }
    if (all->n_offers > 0) qsort(all->offers, all->n_offers, sizeof *all->offers, by_offer);
}

/* Notes the rows that are to have the values with this hash. Returns whether there are any. */
static bool need_offers(circles *all, int key, int64_t hash)
{
    const circle_offer wanted = {.key = key, .hash = hash};
    bool any = false;
    size_t from = 0, to = all->n_offers;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (by_offer(&all->offers[middle], &wanted) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    for (; from < all->n_offers; from++) {
        const circle_offer *offer = &all->offers[from];
        if (offer->key != key || offer->hash != hash) break;
        need_row(all, offer->row);
        any = true;
    }
    return any;
}

/* ---- rows that have ended, or let go of what others refer to --------------------------------- */

/* SELECT the values of the foreign key, and the keys, of the other rows that refer to the row with
 * the key ?1, ?2, ...; no keys of a table that stays here, or that lists nothing. */
static sqlite3_stmt *prepare_referrers(circles *all, int key, int parent, int child)
{
    ctr_conn *conn = all->pull->file->conn;
    const ctr_foreign_key *foreign = &all->foreign->keys[key];
    if (all->referrers[key] || ctr_rc(conn) != SQLITE_OK) return all->referrers[key];
    const ctr_tracked *tracked = all->tables[parent].merge.showing.tracked;
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < foreign->n; i++)
        sqlite3_str_appendf(out, "%sp.\"%w\"", i ? ", " : "", foreign->pairs[i].to);
    if (child >= 0) ctr_list_keys(all->tables[child].merge.showing.tracked, out, "c.");
    ctr_foreign_list_children(foreign, tracked, out);
    ctr_run run = ctr_run_on(tracked->conn, tracked->schema, NULL);
    run.slots.value = ctr_text_built(conn, out);
    return all->referrers[key] = ctr_run_prepare(&run, CTR_SQL_TRACK_VALUE);
}

/* Returns whether children by a foreign key may have to change with the row. */
static bool concerns_children(const circles *all, const circle_row *row, const ctr_apart_row *is,
                              const ctr_foreign_key *key)
{
    const ctr_tracked *tracked = all->tables[row->table].merge.showing.tracked;
    if (row->ended) return ctr_foreign_keeps(key, tracked);
    if (sqlite3_stricmp(key->parent, tracked->table) != 0) return false;
    for (int i = 0; i < key->n; i++) {
        int column = ctr_tracked_named(tracked, key->pairs[i].to) - tracked->shape->n_columns;
        if (column >= 0 && is->is_in[tracked->shape->n_counters + column]) return true;
    }
    return false;
}

/* Notes the rows that are to have the values to which the referrer refers. Returns whether SQLite
 * looks after it, and there are any. */
static bool need_takers(circles *all, int key, bool is_to_key, sqlite3_stmt *referrer)
{
    int64_t hash = 0;
    const ctr_foreign_key *foreign = &all->foreign->keys[key];
    bool is = !is_to_key && foreign->fixes && ctr_foreign_enforced(all->pull->file->conn->db);
    for (int i = 0; i < foreign->n && is; i++)
        is = add_to_hash(all, sqlite3_column_value(referrer, i), &hash);
    return is && need_offers(all, key, hash);
}

/* Notes the children of a row. Returns false if one of them keeps the row: it stays, and refers to
 * the key, or no row is to have the values to which it refers. */
static bool need_referrers(circles *all, circle_row *row, const ctr_apart_row *is, int key)
{
    circle_table *parent = &all->tables[row->table];
    const ctr_foreign_key *foreign = &all->foreign->keys[key];
    const ctr_tracked *tracked = parent->merge.showing.tracked;
    if (!concerns_children(all, row, is, foreign)) return true;
    int child = foreign->travels ? table_named(all, foreign->child) : -1;
    bool is_to_key = ctr_foreign_is_to_key(foreign, tracked), goes = true;
    sqlite3_stmt *referrer = prepare_referrers(all, key, row->table, child);
    if (!referrer || ctr_tracked_bind_key(tracked, referrer, parent->keys)) return false;
    ctr_run run = ctr_run_on(tracked->conn, tracked->schema, NULL);
    while (goes && ctr_run_row(&run, referrer)) {
        int64_t other = -1;
        for (int i = 0; child >= 0 && i < all->tables[child].merge.shape.n_keys; i++)
            all->tables[child].other[i] = sqlite3_column_value(referrer, foreign->n + i);
        if (child >= 0) other = listed_row_with(all, child);
        bool is_listed = other >= 0 && !all->rows[other].done &&
                         (all->rows[other].ended || all->rows[other].refused);
        if (is_listed) need_row(all, (size_t)other);
        if (!is_listed || all->rows[other].refused) row->is_left = true;
        goes = is_listed || need_takers(all, key, is_to_key, referrer);
    }
    sqlite3_reset(referrer);
    return goes && ctr_rc(all->pull->file->conn) == SQLITE_OK;
}

/* ---- rows that wait, or are refused ---------------------------------------------------------- */

/* Notes the parent of a row, if it is listed. Returns false if there is no such row. */
static bool need_parent(circles *all, const circle_row *row, int key)
{
    int64_t hash;
    circle_table *child = &all->tables[row->table];
    const ctr_foreign_key *foreign = &all->foreign->keys[key];
    if (sqlite3_stricmp(foreign->child, child->name) != 0) return true;
    int parent = table_named(all, foreign->parent);
    if (parent < 0) return true;
    circle_table *of = &all->tables[parent];
    const ctr_tracked *tracked = of->merge.showing.tracked;
    if (!ctr_foreign_is_to_key(foreign, tracked)) {
        if (hash_key(all, child, foreign, false, &hash)) need_offers(all, key, hash);
        return true;
    }
    for (int i = 0; i < foreign->n; i++) {
        of->other[i] = NULL;
        for (int j = 0; j < foreign->n; j++)
            if (sqlite3_stricmp(foreign->pairs[j].to, ctr_tracked_key(tracked, i)->name) == 0)
                of->other[i] = value_of(child, foreign->pairs[j].from);
        if (!of->other[i]) return true;
    }
    if (ctr_row_find_key(&of->merge.row, of->other) || !of->merge.row.found) return false;
    int64_t other = listed_row_of(all, parent, of->merge.row.rowid);
    if (other >= 0 && !all->rows[other].ended) need_row(all, (size_t)other);
    return true;
}

typedef struct needing {
    circles *all;
    int table;
} needing;

/* Notes a row that has a value for which the row waits, if it is to let it go. */
static void need_holder(void *of, sqlite3_stmt *key)
{
    const needing *to = of;
    circle_table *table = &to->all->tables[to->table];
    for (int i = 0; i < table->merge.shape.n_keys; i++)
        table->other[i] = sqlite3_column_value(key, i);
    int64_t other = listed_row_with(to->all, to->table);
    if (other >= 0) need_row(to->all, (size_t)other);
}

/* Notes what the row needs. Returns false if that is not to be had. */
static bool find_needs(circles *all, size_t number)
{
    ctr_apart_row is;
    ctr_conn *conn = all->pull->file->conn;
    circle_row *row = &all->rows[number];
    circle_table *table = &all->tables[row->table];
    ctr_showing *showing = &table->merge.showing;
    bool has = read_values(all, number);
    has = ctr_apart_read(showing->tracked, showing->tab, row->id, &is) == SQLITE_OK && has;
    for (int i = 0; i < all->foreign->n && has && ctr_rc(conn) == SQLITE_OK; i++) {
        if (row->ended || row->refused) has = need_referrers(all, row, &is, i);
        if (!row->ended) has = has && need_parent(all, row, i);
    }
    needing to = {all, row->table};
    if (has && !row->ended) ctr_blockers_holders(showing, table->keys, &is, need_holder, &to);
    free_keys_of(table);
    ctr_apart_close_row(&is);
    return has && ctr_rc(conn) == SQLITE_OK;
}

/* ---- a group: rows that need each other ------------------------------------------------------ */

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
    free_keys_of(table);
    return is;
}

/* Returns a number that no row has, by chance. */
static int64_t draw_unlike(bool above)
{
    uint64_t chance;
    sqlite3_randomness(sizeof chance, &chance);
    int64_t number = (int64_t)(chance >> 2);
    return above ? number : -1 - number;
}

/* Lets a row let go of what others wait for: one that has ended of all, another one of what it is
 * to have no more. */
static void clear_circle_row(circles *all, const circle_row *row, bool above)
{
    ctr_apart_row is;
    circle_table *table = &all->tables[row->table];
    ctr_showing *showing = &table->merge.showing;
    const ctr_tracked *tracked = showing->tracked;
    const ctr_shown *regular;
    ctr_lets_go *columns = sqlite3_malloc64(((size_t)tracked->n_regular + 1) * sizeof *columns);
    if (!columns) ctr_problem_nomem(showing->conn);
    bool read = ctr_apart_read(tracked, showing->tab, row->id, &is) == SQLITE_OK && columns;
    regular = read ? &is.shown[tracked->shape->n_counters] : NULL;
    for (int i = 0; read && i < tracked->n_regular; i++)
        columns[i] = row->ended || regular[i].value ? table->lets_go[i] : CTR_KEEPS;
    ctr_apart_close_row(&is);
    showing->writing.together = true;
    if (read) ctr_later_clear(showing, &table->merge.row, row->id, columns, draw_unlike(above));
    showing->writing.together = false;
    sqlite3_free(columns);
}

/* Tries a row of the group. */
static void write_circle_row(circles *all, const circle_row *row)
{
    circle_table *table = &all->tables[row->table];
    ctr_showing *showing = &table->merge.showing;
    showing->writing.together = true;
    ctr_later_show_listed(showing, &table->merge.row, row->id);
    showing->writing.together = false;
}

/* What rows let go of where turns lead no further. */
enum { NOTHING_GOES, ENDED_LET_GO, ALL_LET_GO, ALL_LET_GO_ABOVE, TURNS };

static void clear_group(circles *all, int turn)
{
    for (size_t i = 0; i < all->n_group && ctr_rc(all->pull->file->conn) == SQLITE_OK; i++) {
        const circle_row *row = &all->rows[all->group[i]];
        if (!row->done && (row->ended || (row->refused && turn >= ALL_LET_GO)))
            clear_circle_row(all, row, turn == ALL_LET_GO_ABOVE);
    }
}

/* Writes the rows of the group in turns, for RESTRICT and UNIQUE demand an order. Where that leads
 * no further, rows let go of what others wait for. Returns whether the table took all of them. */
static bool write_group(circles *all)
{
    ctr_conn *conn = all->pull->file->conn;
    size_t left = all->n_group;
    for (int turn = 0; left > 0 && turn < TURNS && ctr_rc(conn) == SQLITE_OK; turn++) {
        if (turn > NOTHING_GOES) clear_group(all, turn);
        for (size_t i = 0; i < all->n_group && ctr_rc(conn) == SQLITE_OK; i++) {
            circle_row *row = &all->rows[all->group[i]];
            if (row->done || is_kept(all, row)) continue;
            write_circle_row(all, row);
            row->done = is_shown(all, row);
            left -= row->done;
            if (row->done) turn = -1;
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

/* ---- the search for groups ------------------------------------------------------------------- */

static void visit_row(circles *all, size_t number)
{
    circle_row *row = &all->rows[number];
    const size_t needs = all->n_needs;
    row->nth = row->least = ++all->n_visited;
    row->is_open = true;
    all->open[all->n_open++] = number;
    row->lacks = !find_needs(all, number);
    if (row->lacks) all->n_needs = needs;
    row->needs = all->n_needs > needs;
    all->way[all->n_way++] = (circle_step){.row = number, .needs = needs, .next = needs};
}

/* Takes into account what has become of another row that the row needs. */
static void note_need(circle_row *row, const circle_row *other)
{
    if (other->is_open && other->least < row->least) row->least = other->least;
    if (!other->is_open && !other->done) row->lacks = true;
}

/* The row and those that are open since need each other; what else they need has been tried.
 * Returns whether they were shown. */
static bool close_group(circles *all, size_t number)
{
    size_t from = all->n_open;
    bool lacks = false;
    all->moves = false;
    do {
        circle_row *row = &all->rows[all->open[--from]];
        row->is_open = false;
        lacks = lacks || row->lacks;
        all->moves = all->moves || row->is_left;
    } while (all->open[from] != number);
    all->group = &all->open[from];
    all->n_group = all->n_open - from;
    all->n_open = from;
    if (all->n_group == 1 && !all->rows[number].needs) return false;
    return !lacks && ctr_rc(all->pull->file->conn) == SQLITE_OK && show_group(all);
}

/* Finds the rows that a row needs, and those that they need, and shows them in groups: a row comes
 * with those that need it, or else after those that it needs (Tarjan, "Depth-First Search and
 * Linear Graph Algorithms", 1972). Returns whether any was shown. */
static bool search_from(circles *all, size_t number)
{
    bool any = false;
    visit_row(all, number);
    while (all->n_way > 0 && ctr_rc(all->pull->file->conn) == SQLITE_OK) {
        circle_step *step = &all->way[all->n_way - 1];
        circle_row *row = &all->rows[step->row];
        if (step->next < all->n_needs) {
            size_t other = all->needs[step->next++];
            if (all->rows[other].nth == 0 && !all->rows[other].done)
                visit_row(all, other);
            else
                note_need(row, &all->rows[other]);
            continue;
        }
        all->n_needs = step->needs;
        all->n_way--;
        if (row->least == row->nth) any |= close_group(all, step->row);
        if (all->n_way > 0) note_need(&all->rows[all->way[all->n_way - 1].row], row);
    }
    return any;
}

bool ctr_circles_show(ctr_pull *pull)
{
    ctr_conn *conn = pull->file->conn;
    bool any = false;
    circles all = {.pull = pull};
    open_circles(&all);
    if (ctr_rc(conn) == SQLITE_OK && all.foreign) note_offers(&all);
    bool broken = ctr_foreign_broken(conn->db);
    for (size_t i = 0; i < all.n && !broken && ctr_rc(conn) == SQLITE_OK; i++) {
        const circle_row *row = &all.rows[i];
        bool begins =
            row->ended || row->is_blocked || (!row->refused && all.tables[row->table].is_in_circle);
        if (begins && row->nth == 0) any |= search_from(&all, i);
    }
    close_circles(&all);
    return any;
}
