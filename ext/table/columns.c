/* table/columns.c - counters that come and go; the regular columns of a replicated table. */
#include "table/table.h"

#include <string.h>

/* =================================================================================================
 * regular - reads and notes regular columns and writers. */

/* ---- the registry ---------------------------------------------------------------------------- */

void ctr_regular_forget(ctr_tab *tab)
{
    tab->apart.looked = tab->away.looked = tab->holds.is = false;
    ctr_rights_forget(tab);
    if (tab->registry) tab->registry->stale = true;
}

void ctr_regular_close(ctr_tab *tab)
{
    ctr_registry *registry = tab->registry;
    if (!registry) return;
    for (int i = 0; i < registry->n; i++) {
        sqlite3_free(registry->columns[i].name);
        sqlite3_free(registry->columns[i].noted);
    }
    sqlite3_free(registry->columns);
    sqlite3_free(registry->writers);
    sqlite3_free(registry);
    tab->registry = NULL;
}

static void take_regular(ctr_tab *tab, sqlite3_stmt *row)
{
    enum { MOST = 1 << 20 };
    ctr_registry *registry = tab->registry;
    int64_t number = sqlite3_column_int64(row, 0);
    const char *name = ctr_text_column(tab->conn, row, 1),
               *noted = ctr_text_column(tab->conn, row, 2);
    if (number == -1) return;
    if (!name || number < 0 || number > MOST) {
        ctr_stored_damaged(tab->conn, "it has a regular column without a name or a number", "");
        return;
    }
    ctr_regular *columns = ctr_array_room(tab->conn, registry->columns, &registry->room,
                                          (size_t)number + 1, sizeof *columns);
    if (!columns) return;
    registry->columns = columns;
    for (; registry->n <= number; registry->n++) columns[registry->n] = (ctr_regular){0};
    int64_t generation = sqlite3_column_int64(row, 3);
    if (generation < 0 || generation > CTR_GENERATION_MAX || generation % 2 == 1)
        ctr_stored_damaged(tab->conn, "it has a regular column without a generation", "");
    ctr_regular *column = &columns[number];
    sqlite3_free(column->name); /* only a damaged file has two of one number */
    column->generation = generation;
    column->name = ctr_text_copy(tab->conn, name);
    if (!noted) return;
    sqlite3_free(column->noted);
    column->noted = ctr_text_copy(tab->conn, noted);
}

static void take_writer(ctr_tab *tab, sqlite3_stmt *row)
{
    ctr_registry *registry = tab->registry;
    const void *id = sqlite3_column_blob(row, 0);
    bool next = sqlite3_column_int64(row, 1) == (int64_t)registry->n_writers + 1;
    if (!id || sqlite3_column_bytes(row, 0) != CTR_ID_SIZE || !next) {
        ctr_stored_damaged(tab->conn, "it has a writer that is not an id and the next number", "");
        return;
    }
    uint8_t(*writers)[CTR_ID_SIZE] =
        ctr_array_room(tab->conn, registry->writers, &registry->room_writers,
                       registry->n_writers + 1, sizeof *writers);
    if (!writers) return;
    registry->writers = writers;
    memcpy(writers[registry->n_writers++], id, CTR_ID_SIZE);
}

const ctr_registry *ctr_regular_of(ctr_tab *tab)
{
    if (ctr_rc(tab->conn) != SQLITE_OK) return NULL;
    ctr_registry *known = tab->registry;
    if (known && !known->stale && known->schemas == tab->file->schemas) return known;
    ctr_regular_close(tab);
    tab->registry = sqlite3_malloc64(sizeof *tab->registry);
    if (!tab->registry) {
        ctr_problem_nomem(tab->conn);
        return NULL;
    }
    *tab->registry = (ctr_registry){.schemas = tab->file->schemas};
    if (!tab->shape.replicated) return tab->registry;
    ctr_run run = ctr_tab_run(tab);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_COLUMNS_NOTED);
    while (ctr_run_row(&run, row)) take_regular(tab, row);
    sqlite3_finalize(row);
    row = ctr_run_prepare(&run, CTR_SQL_REGULAR_WRITERS);
    while (ctr_run_row(&run, row)) take_writer(tab, row);
    sqlite3_finalize(row);
    if (ctr_rc(tab->conn) == SQLITE_OK) return tab->registry;
    ctr_regular_forget(tab);
    return NULL;
}

int ctr_regular_named(const ctr_registry *registry, const char *name, size_t size)
{
    for (int i = 0; i < registry->n; i++) {
        const ctr_regular *column = &registry->columns[i];
        if (column->noted && strlen(column->name) == size &&
            sqlite3_strnicmp(column->name, name, (int)size) == 0)
            return i;
    }
    return -1;
}

bool ctr_regular_was_named(const ctr_registry *registry, const char *name, size_t size,
                           int64_t generation)
{
    for (int i = 0; i < registry->n; i++) {
        const char *ever = registry->columns[i].name;
        if (ever && strlen(ever) == size && sqlite3_strnicmp(ever, name, (int)size) == 0 &&
            registry->columns[i].generation >= generation)
            return true;
    }
    return false;
}

void ctr_regular_note(ctr_tab *tab, int number, const char *birth, const char *name,
                      int64_t generation)
{
    ctr_run run = ctr_tab_run(tab);
    ctr_run_with(&run, CTR_SQL_COLUMNS_NOTE, ":number i :birth t :name t :generation i",
                 (int64_t)number, birth, name, generation);
    ctr_regular_forget(tab);
}

void ctr_regular_learn(ctr_tab *tab, int number, int64_t generation)
{
    const ctr_registry *registry = ctr_regular_of(tab);
    if (!registry || registry->columns[number].generation >= generation) return;
    const ctr_regular *column = &registry->columns[number];
    ctr_regular_note(tab, number, column->name, column->noted, generation);
}

/* ---- writers --------------------------------------------------------------------------------- */

static const uint8_t *id_of_writer(void *with, uint64_t number)
{
    ctr_tab *tab = with;
    const ctr_registry *registry = ctr_regular_of(tab);
    if (registry && number > registry->n_writers) { /* another table or connection numbered one */
        ctr_regular_forget(tab);
        registry = ctr_regular_of(tab);
    }
    bool is = registry && number >= 1 && number <= registry->n_writers;
    return is ? registry->writers[number - 1] : NULL;
}

static uint64_t known_number(const ctr_registry *registry, const uint8_t id[CTR_ID_SIZE])
{
    for (size_t i = 0; registry && i < registry->n_writers; i++)
        if (memcmp(registry->writers[i], id, CTR_ID_SIZE) == 0) return i + 1;
    return 0;
}

static uint64_t number_of_writer(void *with, const uint8_t id[CTR_ID_SIZE])
{
    ctr_tab *tab = with;
    uint64_t number = known_number(ctr_regular_of(tab), id);
    if (number == 0) { /* another table or connection may have numbered it */
        ctr_regular_forget(tab);
        number = known_number(ctr_regular_of(tab), id);
    }
    if (number > 0 || ctr_rc(tab->conn) != SQLITE_OK) return number;
    ctr_run run = ctr_tab_run(tab);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_REGULAR_NEW_WRITER);
    ctr_run_bind_id(&run, row, ":id", id);
    if (row && ctr_rc(tab->conn) == SQLITE_OK) ctr_run_row(&run, row);
    sqlite3_finalize(row);
    ctr_regular_forget(tab);
    number = known_number(ctr_regular_of(tab), id);
    if (number == 0) ctr_stored_damaged(tab->conn, "it did not take a writer", "");
    return number;
}

/* ---- row cells ------------------------------------------------------------------------------- */

bool ctr_regular_room(ctr_tab *tab, ctr_row_cell *cell, int *room)
{
    const ctr_registry *registry = tab->shape.replicated ? ctr_regular_of(tab) : NULL;
    if (!registry) return false;
    if (!cell->columns || registry->n > *room) {
        size_t size = ((size_t)registry->n + 1) * sizeof *cell->columns;
        ctr_column_stamp *columns = sqlite3_realloc64(cell->columns, size);
        if (!columns) {
            ctr_problem_nomem(tab->conn);
            return false;
        }
        cell->columns = columns;
        *room = registry->n;
    }
    cell->life = 0;
    cell->born = false;
    cell->row = cell->birth = (ctr_stamp){0};
    cell->n = registry->n;
    memset(cell->columns, 0, (size_t)cell->n * sizeof *cell->columns);
    return true;
}

static void take_journal_stamps(const ctr_tab *tab, int64_t rowid, ctr_row_cell *cell)
{
    for (int i = 0; i < cell->n && i < tab->amounts.n_columns; i++) {
        const ctr_amount *amount = ctr_journal_amount(tab, rowid, CTR_AMOUNT_COLUMNS + i);
        ctr_stamp stamp = {.number = amount ? amount->n : 0};
        memcpy(stamp.id, tab->id, CTR_ID_SIZE);
        if (amount) ctr_row_cell_set_column(cell, i, &stamp);
    }
}

/* Takes the row cell in a column of a statement that stands on the row. */
static void take_row_cell(ctr_tab *tab, sqlite3_stmt *stands, int column, int64_t rowid,
                          ctr_row_cell *cell)
{
    const ctr_writer_map map = {number_of_writer, id_of_writer, tab};
    if (sqlite3_column_type(stands, column) == SQLITE_NULL) return;
    const uint8_t *bytes = sqlite3_column_blob(stands, column);
    ctr_status status =
        ctr_row_cell_read(cell, &map, bytes, (size_t)sqlite3_column_bytes(stands, column));
    if (status != CTR_OK)
        ctr_problem_set(tab->conn, SQLITE_CORRUPT_VTAB,
                        "the stored table %s_cells is damaged: the row cell of row %lld %s",
                        tab->table, (long long)rowid, ctr_row_cell_status_text(status));
    if (ctr_row_cell_is_live(cell)) take_journal_stamps(tab, rowid, cell);
}

int ctr_regular_take(ctr_tab *tab, sqlite3_stmt *stands, ctr_row_cell *cell)
{
    if (ctr_journal_refresh(tab)) return ctr_rc(tab->conn);
    take_row_cell(tab, stands, CTR_FIND_COLUMNS + tab->shape.n_columns,
                  sqlite3_column_int64(stands, CTR_FIND_ROWID), cell);
    return ctr_rc(tab->conn);
}

int ctr_regular_read(ctr_tab *tab, int64_t rowid, ctr_row_cell *cell)
{
    if (ctr_journal_refresh(tab)) return ctr_rc(tab->conn);
    ctr_slot *slot = ctr_tab_take(tab, CTR_TAB_ROW);
    if (!slot) return ctr_rc(tab->conn);
    sqlite3_stmt *row = slot->kept.statement;
    sqlite3_bind_int64(row, 1, rowid);
    ctr_run run = ctr_tab_run(tab);
    if (ctr_run_row(&run, row)) take_row_cell(tab, row, 0, rowid, cell);
    ctr_tab_give_back(tab, slot);
    return ctr_rc(tab->conn);
}

void ctr_regular_raise(ctr_tab *tab, ctr_row_cell *cell, const bool *mask)
{
    const ctr_registry *registry = ctr_regular_of(tab);
    for (int i = 0; registry && i < cell->n && i < registry->n; i++)
        if (!mask || mask[i]) ctr_row_cell_raise(cell, i, registry->columns[i].generation);
}

size_t ctr_regular_write(ctr_tab *tab, const ctr_row_cell *cell, uint8_t *out)
{
    const ctr_writer_map map = {number_of_writer, id_of_writer, tab};
    return ctr_row_cell_write(cell, &map, out);
}

/* =================================================================================================
 * columns - adds, drops and empties counters. */

/* ---- checking -------------------------------------------------------------------------------- */

/* SQLite sees two columns more than ours. The INSERT of a new row has one parameter more; SQLite
 * before 3.32 allows 999 parameters. */
int ctr_columns_most(ctr_conn *conn)
{
    int most = sqlite3_limit(conn->db, SQLITE_LIMIT_COLUMN, -1) - 2;
    int parameters = sqlite3_limit(conn->db, SQLITE_LIMIT_VARIABLE_NUMBER, -1);
    if (most > parameters - 1) most = parameters - 1;
    return most;
}

int ctr_columns_check(const ctr_shape *shape, ctr_conn *conn, const char *table, const char *name)
{
    const char *spelling;
    int most = ctr_columns_most(conn);
    for (int i = 0; i < shape->n_keys; i++)
        if (sqlite3_stricmp(shape->columns[shape->keys[i]].name, name) == 0)
            ctr_problem_set(conn, SQLITE_ERROR, "column %s is part of the key", name);
    if (ctr_shape_generation(shape, name, &spelling) > 0 && strcmp(spelling, name) != 0)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "the counter %s is named %s here: the same name in other letters", name,
                        spelling);
    if (sqlite3_stricmp(table, name) == 0)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "column %s cannot be added to a table of the same name: rename the table",
                        name);
    if (ctr_shape_counter(shape, name) < 0 && shape->n_columns >= most)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "column %s cannot be added: the table has %d columns, and more than %d are "
                        "too many for SQLite",
                        name, shape->n_columns, most);
    return ctr_rc(conn);
}

/* ---- raising --------------------------------------------------------------------------------- */

/* Is there a column _dropped_<name>? */
static bool is_retired(ctr_run *run, const char *name)
{
    bool found = false;
    ctr_run columns = *run;
    const char *stored = ctr_text_print(run->conn, "%s_cells", run->slots.table);
    const char *retired = ctr_text_print(run->conn, "_dropped_%s", name);
    columns.slots.name = stored;
    sqlite3_stmt *row = ctr_run_prepare(&columns, CTR_SQL_SCHEMA_COLUMNS);
    while (ctr_run_row(&columns, row)) {
        const char *column = ctr_text_column(run->conn, row, 1);
        found = found || (column && sqlite3_stricmp(column, retired) == 0);
    }
    sqlite3_finalize(row);
    return found;
}

/* Returns the number of the columns that come or go in this transaction: all have one. A copy takes
 * its own id first: under that of its original the number would stand for what that has counted. */
static int64_t number_of_columns(ctr_tab *tab)
{
    ctr_file *file = tab->file;
    const unsigned nth = tab->conn->ended + 1;
    if (file->came_in != nth && ctr_file_before_write(file) == SQLITE_OK)
        file->came = ctr_batch_mark_change(tab);
    if (ctr_rc(tab->conn) == SQLITE_OK) file->came_in = nth;
    return file->came;
}

/* Folds the journal, which has the numbers of counters; with the mark all memory is dropped,
 * everywhere. */
static int64_t begin_change(ctr_tab *tab)
{
    ctr_fold_table(tab);
    const int64_t number = number_of_columns(tab);
    ctr_journal_drop(tab);
    return number;
}

/* `number` is that of the change. */
static void write_state(ctr_run *run, const char *name, int64_t generation, bool bounded,
                        int64_t number)
{
    ctr_run_with(run, CTR_SQL_COLUMNS_TAKE_ENDED, ":name t", name);
    ctr_run_with(run, CTR_SQL_COLUMNS_WRITE, ":name t :generation i :number i :bounded i", name,
                 generation, number, (int64_t)bounded);
}

static void write_generation(ctr_run *run, const char *name, int64_t generation, int64_t number)
{
    write_state(run, name, generation, false, number);
}

bool ctr_columns_has_ended(ctr_tab *tab, const char *name)
{
    ctr_run run = ctr_tab_run(tab);
    sqlite3_stmt *note = ctr_run_prepare(&run, CTR_SQL_COLUMNS_HAS_ENDED);
    ctr_run_bind_text(&run, note, ":name", name);
    return ctr_run_once(&run, note);
}

void ctr_columns_list(ctr_file *file, const char *table, const ctr_shape *from)
{
    int64_t number = 0;
    ctr_run run = ctr_run_on(file->conn, file->schema, table);
    for (int i = 0; i < from->n_counters && ctr_rc(file->conn) == SQLITE_OK; i++) {
        const ctr_column *counter = &from->columns[from->counters[i]];
        ctr_tab *tab = counter->listed && number == 0 ? ctr_tab_of(file, table, from) : NULL;
        if (tab) number = number_of_columns(tab);
        if (counter->listed)
            write_state(&run, counter->name, counter->generation, counter->bounded, number);
    }
}

/* A counter that has ended elsewhere may be a regular column here. */
static void raise_regular(ctr_tab *tab, const char *name, int64_t generation)
{
    const ctr_registry *registry = ctr_regular_of(tab);
    int number = registry ? ctr_regular_named(registry, name, strlen(name)) : -1;
    if (number >= 0) ctr_regular_learn(tab, number, generation);
}

/* Writes a generation before it renames the column: ALTER TABLE checks all views before and after,
 * and a view on the counter table connects to it, which compares the two. So the table must be
 * connected before, by a statement that is only prepared.
 *
 * A counter that stays begins anew: its column gets the name of a dropped one and its own name
 * again, so that the schema changes for every connection. */
int64_t ctr_columns_raise(ctr_file *file, const char *table, const ctr_shape *shape,
                          const char *name, int64_t generation)
{
    if (ctr_rc(file->conn) != SQLITE_OK) return 0;
    int64_t emptied = 0;
    ctr_run run = ctr_run_on(file->conn, file->schema, table);
    run.slots.name = name;
    bool is_there = ctr_shape_counter(shape, name) >= 0, stays = generation % 2 == 1;
    bool retired = stays && is_retired(&run, name);
    unsigned nth = file->conn->ended;
    ctr_tab *tab = ctr_tab_of(file, table, shape);
    if (!tab) return 0;

    const int64_t number = begin_change(tab);
    bool changes = is_there || stays;
    if (changes) tab->shapes++;

    if (!stays) raise_regular(tab, name, generation);
    if (changes) sqlite3_finalize(ctr_run_prepare(&run, CTR_SQL_SYNC_JOIN));
    if (is_there) {
        write_generation(&run, name, stays ? generation - 1 : generation, number);
        ctr_run_do(&run, CTR_SQL_COLUMNS_RETIRE, NULL);
        ctr_run_do(&run, CTR_SQL_COLUMNS_EMPTY, NULL);
        if (ctr_rc(file->conn) == SQLITE_OK) emptied = sqlite3_changes(run.db);
    }
    if (is_there && stays) sqlite3_finalize(ctr_run_prepare(&run, CTR_SQL_SYNC_JOIN));
    if (stays || !is_there) write_generation(&run, name, generation, number);
    if (stays)
        ctr_run_do(&run, retired || is_there ? CTR_SQL_COLUMNS_RESTORE : CTR_SQL_COLUMNS_ADD, NULL);
    if (ctr_rc(file->conn) != SQLITE_OK) {
        if (changes) tab->shapes--; /* the counters have not changed */
        ctr_conn_spoil(file->conn, nth);
    }
    return emptied;
}

/* For a moment the counter looks dropped; its cells stay as they are. */
void ctr_columns_bind(ctr_file *file, const char *table, const ctr_shape *shape, const char *name)
{
    ctr_run run = ctr_run_on(file->conn, file->schema, table);
    run.slots.name = name;
    int counter = ctr_shape_counter(shape, name);
    unsigned nth = file->conn->ended;
    ctr_tab *tab = counter >= 0 ? ctr_tab_of(file, table, shape) : NULL;
    if (!tab || ctr_rc(file->conn) != SQLITE_OK) return;
    const int64_t generation = shape->columns[shape->counters[counter]].generation;
    const int64_t number = begin_change(tab);
    tab->shapes++;
    sqlite3_finalize(ctr_run_prepare(&run, CTR_SQL_SYNC_JOIN));
    write_generation(&run, name, generation + 1, number);
    ctr_run_do(&run, CTR_SQL_COLUMNS_RETIRE, NULL);
    sqlite3_finalize(ctr_run_prepare(&run, CTR_SQL_SYNC_JOIN));
    write_state(&run, name, generation, true, number);
    ctr_run_do(&run, CTR_SQL_COLUMNS_RESTORE, NULL);
    if (ctr_rc(file->conn) == SQLITE_OK) return;
    tab->shapes--;
    ctr_conn_spoil(file->conn, nth);
}

/* ---- kinds ----------------------------------------------------------------------------------- */

void ctr_columns_change_kinds(ctr_file *file, const char *table, const ctr_shape *shape)
{
    unsigned nth = file->conn->ended;
    ctr_tab *tab = ctr_tab_of(file, table, shape);
    if (!tab) return;
    ctr_run run = ctr_tab_run(tab);
    const int64_t number = begin_change(tab);
    ctr_run_with(&run, CTR_SQL_COLUMNS_CHANGE_KINDS, ":number i", number);
    if (ctr_rc(file->conn) != SQLITE_OK) ctr_conn_spoil(file->conn, nth);
}

/* ---- as a command ---------------------------------------------------------------------------- */

static void ask_for(ctr_conn *conn, const char *schema, const char *table, ctr_wanted *wanted)
{
    ctr_run run = ctr_run_on(conn, schema, table);
    sqlite3_stmt *command = ctr_run_prepare(&run, CTR_SQL_COLUMNS_ASK);
    if (command) sqlite3_bind_pointer(command, 1, wanted, CTR_WANTED, NULL);
    ctr_run_once(&run, command);
}

int64_t ctr_columns_ask(ctr_conn *conn, const char *schema, const char *table, const char *name,
                        int64_t generation)
{
    ctr_wanted wanted = {.name = name, .generation = generation};
    ask_for(conn, schema, table, &wanted);
    return wanted.emptied;
}

void ctr_columns_ask_bound(ctr_conn *conn, const char *schema, const char *table, const char *name)
{
    ctr_wanted wanted = {.name = name, .bounded = true};
    ask_for(conn, schema, table, &wanted);
}

void ctr_columns_ask_kinds(ctr_conn *conn, const char *schema, const char *table)
{
    ctr_wanted wanted = {.name = NULL};
    ask_for(conn, schema, table, &wanted);
}
