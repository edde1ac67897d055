/* table/rights.c - bounded counters: who may take how much of one, and what that refuses.
 *
 * Nothing here writes: who changes a row asks before it stages. */
#include "table/table.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t NOBODY[CTR_ID_SIZE] = {0};

/* ---- who holds an opening -------------------------------------------------------------------- */

static int by_held(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(ctr_held));
}

void ctr_rights_forget(ctr_tab *tab)
{
    tab->holders.looked = false;
}

void ctr_rights_close(ctr_tab *tab)
{
    sqlite3_free(tab->holders.list);
    tab->holders = (ctr_holders){.list = NULL};
}

/* Returns who holds the openings of the table; NULL on error. */
static const ctr_holders *holders_of(ctr_tab *tab)
{
    ctr_holders *holders = &tab->holders;
    if (ctr_rc(tab->conn) != SQLITE_OK) return NULL;
    if (holders->looked && holders->version == tab->version &&
        holders->schemas == tab->file->schemas)
        return holders;
    ctr_openings all;
    ctr_openings_list(&all, tab, INT64_MIN);
    holders->n = 0;
    for (size_t i = 0; i < all.n && ctr_rc(tab->conn) == SQLITE_OK; i++) {
        ctr_held held;
        if (!ctr_openings_holder(all.answers + i * CTR_ANSWER_SIZE, held.opening, held.holder))
            continue;
        ctr_held *list =
            ctr_array_room(tab->conn, holders->list, &holders->room, holders->n + 1, sizeof *list);
        if (!list) break;
        holders->list = list;
        list[holders->n++] = held;
    }
    ctr_openings_close(&all);
    if (ctr_rc(tab->conn) != SQLITE_OK) return NULL;
    if (holders->n > 0) qsort(holders->list, holders->n, sizeof *holders->list, by_held);
    holders->looked = true;
    holders->version = tab->version;
    holders->schemas = tab->file->schemas;
    return holders;
}

/* Returns under whose id a shard counts. An opening counts for who made it; of two that say so, and
 * if its values were declared those of another one before, for nobody. If nobody is known to have
 * made it, its own id holds what it has. */
static const uint8_t *holder_of(const ctr_holders *holders, const uint8_t *id)
{
    const uint8_t *holder = id;
    for (size_t i = 0; ctr_id_is_opening(id) && i < holders->n; i++) {
        const ctr_held *held = &holders->list[i];
        if (memcmp(held->opening, id, CTR_ID_SIZE) != 0) continue;
        holder = holder == id ? held->holder : NOBODY;
    }
    return holder;
}

/* ---- rights ---------------------------------------------------------------------------------- */

static ctr_right *add_right(ctr_rights *rights, ctr_conn *conn, const uint8_t *id)
{
    ctr_right *list =
        ctr_array_room(conn, rights->list, &rights->room, rights->n + 1, sizeof *list);
    if (!list) return NULL;
    rights->list = list;
    list[rights->n] = (ctr_right){.n = {0, 0}};
    memcpy(list[rights->n].id, id, CTR_ID_SIZE);
    return &list[rights->n++];
}

static int by_id_of_right(const void *a, const void *b)
{
    return memcmp(((const ctr_right *)a)->id, ((const ctr_right *)b)->id, CTR_ID_SIZE);
}

static void gather_rights(ctr_rights *rights)
{
    size_t n = 0;
    if (rights->n > 0) qsort(rights->list, rights->n, sizeof *rights->list, by_id_of_right);
    for (size_t i = 0; i < rights->n; i++) {
        if (n > 0 && by_id_of_right(&rights->list[n - 1], &rights->list[i]) == 0)
            ctr_sum_add_sum(&rights->list[n - 1].n, &rights->list[i].n);
        else
            rights->list[n++] = rights->list[i];
    }
    rights->n = n;
}

int ctr_rights_read(ctr_rights *rights, ctr_tab *tab, const ctr_cell *cell)
{
    ctr_shard shard;
    ctr_grant grant;
    ctr_right *right;
    rights->n = 0;
    const ctr_holders *holders = holders_of(tab);
    for (size_t at = 0; holders && ctr_cell_next(cell, &at, &shard);) {
        right = add_right(rights, tab->conn, holder_of(holders, shard.id));
        if (!right) return ctr_rc(tab->conn);
        ctr_sum_add(&right->n, shard.value);
    }
    for (size_t at = 0; holders && ctr_cell_next_grant(cell, &at, &grant);) {
        right = add_right(rights, tab->conn, holder_of(holders, grant.from));
        if (right) ctr_sum_subtract(&right->n, grant.n);
        right = right ? add_right(rights, tab->conn, holder_of(holders, grant.to)) : NULL;
        if (!right) return ctr_rc(tab->conn);
        ctr_sum_add(&right->n, grant.n);
    }
    gather_rights(rights);
    return ctr_rc(tab->conn);
}

void ctr_rights_close_list(ctr_rights *rights)
{
    sqlite3_free(rights->list);
    *rights = (ctr_rights){.list = NULL};
}

ctr_sum ctr_rights_find(const ctr_rights *rights, const uint8_t id[CTR_ID_SIZE])
{
    for (size_t i = 0; i < rights->n; i++)
        if (memcmp(rights->list[i].id, id, CTR_ID_SIZE) == 0) return rights->list[i].n;
    return (ctr_sum){0, 0};
}

ctr_sum ctr_rights_of_others(const ctr_rights *rights, const uint8_t mine[CTR_ID_SIZE])
{
    ctr_sum sum = {0, 0};
    for (size_t i = 0; i < rights->n; i++)
        if (memcmp(rights->list[i].id, mine, CTR_ID_SIZE) != 0 &&
            ctr_sum_is_positive(&rights->list[i].n))
            ctr_sum_add_sum(&sum, &rights->list[i].n);
    return sum;
}

/* Out of range it is less than it should be, so that nobody takes too much. */
int64_t ctr_rights_beside(ctr_tab *tab, const ctr_cell *cell)
{
    ctr_shard shard;
    ctr_grant grant;
    ctr_sum sum = {0, 0};
    const ctr_holders *holders = holders_of(tab);
    for (size_t at = 0; holders && ctr_openings_next(cell, &at, &shard);)
        if (memcmp(holder_of(holders, shard.id), tab->id, CTR_ID_SIZE) == 0)
            ctr_sum_add(&sum, shard.value);
    for (size_t at = 0; holders && ctr_cell_next_grant(cell, &at, &grant);) {
        if (memcmp(grant.from, tab->id, CTR_ID_SIZE) == 0) ctr_sum_subtract(&sum, grant.n);
        if (memcmp(grant.to, tab->id, CTR_ID_SIZE) == 0) ctr_sum_add(&sum, grant.n);
    }
    return ctr_sum_clamp(&sum);
}

bool ctr_rights_is_lost(const uint8_t id[CTR_ID_SIZE])
{
    return memcmp(id, NOBODY, CTR_ID_SIZE) == 0 || ctr_id_is_opening(id);
}

int ctr_rights_refuse_bound(ctr_file *file, const char *counter)
{
    const ctr_identity *identity = ctr_file_identity(file);
    if (!identity || (!*identity->name && identity->turn == CTR_TURN_NONE))
        return ctr_rc(file->conn);
    return ctr_problem_set(file->conn, SQLITE_ERROR,
                           "column %s: this file has the name %s, and a file with a name takes no "
                           "bound: its successor would take again what it has taken",
                           counter, identity->name);
}

/* ---- walks ----------------------------------------------------------------------------------- */

void ctr_rights_walk_open(ctr_rights_walk *walk, ctr_row *row)
{
    *walk = (ctr_rights_walk){.row = row, .counter = row->shape->n_counters};
    if (row->shape->bounded) ctr_stream_walk_open(&walk->rows, row, CTR_WALK_ALL, 0);
}

/* Goes on to the next bounded counter of the row. */
static bool next_bounded(ctr_rights_walk *walk)
{
    const ctr_shape *shape = walk->row->shape;
    while (++walk->counter < shape->n_counters)
        if (shape->columns[shape->counters[walk->counter]].bounded) return true;
    return false;
}

bool ctr_rights_walk_next(ctr_rights_walk *walk)
{
    ctr_cell cell;
    ctr_row *row = walk->row;
    if (!row->shape->bounded) return false;
    while (!next_bounded(walk)) {
        if (!ctr_stream_walk_next(&walk->rows)) return false;
        walk->counter = -1;
    }
    const int column = CTR_WALK_COLUMNS + row->shape->counters[walk->counter];
    return ctr_row_open_cell(row, walk->rows.row, column, walk->counter, &cell) == SQLITE_OK &&
           ctr_rights_read(&walk->rights, row->tab, &cell) == SQLITE_OK;
}

void ctr_rights_walk_close(ctr_rights_walk *walk)
{
    ctr_stream_walk_close(&walk->rows);
    ctr_rights_close_list(&walk->rights);
}

/* ---- dropping -------------------------------------------------------------------------------- */

static bool may_take_any(ctr_row *row)
{
    bool any = false;
    ctr_rights_walk walk;
    if (ctr_journal_refresh(row->tab)) return false;
    ctr_rights_walk_open(&walk, row);
    while (!any && ctr_rights_walk_next(&walk)) {
        const ctr_sum mine = ctr_rights_find(&walk.rights, row->tab->id);
        any = ctr_sum_is_positive(&mine);
    }
    ctr_rights_walk_close(&walk);
    return any;
}

/* Does the file hold rights to a table? */
static bool holds_rights(ctr_file *file, const char *table)
{
    ctr_row row;
    ctr_shape shape = {0};
    ctr_run run = ctr_run_on(file->conn, file->schema, table);
    if (!ctr_run_once(&run, ctr_run_prepare(&run, CTR_SQL_COLUMNS_ANY_BOUNDED))) return false;
    bool holds = false;
    if (ctr_stored_read(&shape, file->conn, file->schema, table) == SQLITE_OK) {
        holds = ctr_row_open(&row, file, table, &shape) == SQLITE_OK && may_take_any(&row);
        ctr_row_close(&row);
    }
    ctr_shape_close(&shape);
    return holds && ctr_rc(file->conn) == SQLITE_OK;
}

int ctr_rights_refuse_new_id(ctr_file *file)
{
    ctr_catalog catalog = {0};
    if (!ctr_file_identity(file)) return ctr_rc(file->conn);
    ctr_catalog_read(&catalog, file);
    for (int i = 0; i < catalog.n && ctr_rc(file->conn) == SQLITE_OK; i++)
        if (holds_rights(file, catalog.entries[i].name))
            ctr_problem_set(file->conn, SQLITE_PERM,
                            "the file would take another id, and what it may take of bounded "
                            "counters of %s would be lost for all: counter_rights('%s') shows it, "
                            "and 'grant <id>' gives it to another file",
                            catalog.entries[i].name, catalog.entries[i].name);
    ctr_catalog_close(&catalog);
    return ctr_rc(file->conn);
}
