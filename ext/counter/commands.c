/* counter/commands.c - the commands that a counter table takes through its hidden command column,
 * among them the check of its content.
 *
 *     INSERT INTO t(t) VALUES ('integrity-check')              cells, keys, journal, stored pages
 *     INSERT INTO t(t) VALUES ('optimize')                     folds the journal into the cells
 *     INSERT INTO t(t, k, n) VALUES ('reset', 'a', 5)          the next life of the row's counters
 *     INSERT INTO t(t, k, n) VALUES ('reset n', 'a', 5)        the next life of one counter
 *     INSERT INTO t(t, k) VALUES ('delete n', 'a')             the tombstone of one counter
 *     INSERT INTO t(t, k) VALUES ('purge below', 'b')          rows below are removed for good
 *     INSERT INTO t(t) VALUES ('add column errors')            another counter; see below
 *     INSERT INTO t(t) VALUES ('forget requests 1000')         keeps the newest 1000 request ids
 *     INSERT INTO t(t) VALUES ('forget requests older than 30 days')
 *
 * Reset starts at the values given, or at 0; it works on deleted and missing rows too. */
#include "counter/counter.h"

#include <string.h>

/* =================================================================================================
 * integrity - checks the stored content of a counter table.
 *
 *     INSERT INTO t(t) VALUES ('integrity-check')   an error with the first finding
 *     PRAGMA integrity_check, PRAGMA quick_check    the same as a row, since SQLite 3.44
 *
 * It checks the identity and the list of tables, each key and cell, the journal, and the pages of
 * the stored table. SQLite checks pages in a PRAGMA; quick_check skips the journal.
 *
 * In the journal, numbers are positive, and rise from those of the segments; the levels of these
 * fall towards the newest, and each has a first row. Each group is that of a table. Every stored
 * row is in the list of changes, and every row with amounts is stored. */

static void check_rows(ctr_table *table)
{
    ctr_walk walk;
    ctr_tab *tab = table->row->tab;
    ctr_row_cell row_cell = {0}; /* owned columns; read to be checked */
    int room = 0;
    ctr_stream_walk_open(&walk, table->row, CTR_WALK_ALL, 0);
    while (ctr_stream_walk_next(&walk)) {
        int64_t rowid = sqlite3_column_int64(walk.row, CTR_WALK_ID);
        if (ctr_regular_room(tab, &row_cell, &room)) ctr_regular_take(tab, walk.row, &row_cell);
        for (int i = 0; i < table->shape.n_columns; i++) {
            const ctr_column *column = &table->shape.columns[i];
            ctr_cell cell;
            if (column->counter >= 0)
                ctr_row_open_cell(table->row, walk.row, CTR_WALK_COLUMNS + i, column->counter,
                                  &cell);
            else if (sqlite3_column_type(walk.row, CTR_WALK_COLUMNS + i) == SQLITE_NULL)
                ctr_problem_set(table->joined.conn, SQLITE_CORRUPT_VTAB,
                                "key column %s is NULL in row %lld", column->name,
                                (long long)rowid);
        }
    }
    ctr_stream_walk_close(&walk);
    sqlite3_free(row_cell.columns);
}

/* ---- the journal ----------------------------------------------------------------------------- */

/* The rows of a segment stand before its first one, which has the highest number. Returns the last
 * number. */
static int64_t check_levels(ctr_tab *tab)
{
    ctr_conn *conn = tab->conn;
    ctr_run run = ctr_tab_run(tab);
    int64_t last = 0, height = INT64_MAX; /* of the row before */
    bool open = false;                    /* its segment has its first row still to come */
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SEGMENTS_SINCE);
    ctr_run_bind_int(&run, row, ":tab", ctr_tab_number(tab));
    ctr_run_bind_int(&run, row, ":number", INT64_MIN);
    while (ctr_run_row(&run, row)) {
        int64_t number = sqlite3_column_int64(row, CTR_JOURNAL_NUMBER);
        int64_t level = sqlite3_column_int64(row, CTR_SEGMENT_LEVEL);
        if (sqlite3_column_type(row, CTR_SEGMENT_LEVEL) != SQLITE_INTEGER || level == 0)
            ctr_changes_segment_damaged(conn, number, "has no level");
        int64_t now = level >= 0 ? level : level > -INT64_MAX ? -level : INT64_MAX;
        if (number <= last)
            ctr_changes_segment_damaged(conn, number, "has a number that does not rise");
        if (now > height || (open && now != height))
            ctr_changes_segment_damaged(conn, number, "has a level that is not in order");
        last = number;
        height = now;
        open = level < 0;
    }
    sqlite3_finalize(row);
    if (open) ctr_changes_segment_damaged(conn, last, "is part of a segment");
    return last;
}

static bool is_numbered_table(ctr_run *run, int64_t number)
{
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_CATALOG_NUMBERED);
    ctr_run_bind_int(run, row, ":number", number);
    return ctr_run_once(run, row);
}

/* Those of the table stand behind its segments. Groups of a table that is not there are nobody's,
 * so each table reports them. */
static void check_groups(ctr_tab *tab, int64_t last)
{
    ctr_conn *conn = tab->conn;
    ctr_run run = ctr_tab_run(tab);
    ctr_entries groups, walk;
    int64_t table, known = ctr_tab_number(tab);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_JOURNAL_OLDEST);
    ctr_run_bind_int(&run, row, ":number", INT64_MIN);
    ctr_run_bind_int(&run, row, ":n", -1);
    while (ctr_run_row(&run, row)) {
        int64_t number = sqlite3_column_int64(row, CTR_JOURNAL_NUMBER);
        bool own = sqlite3_column_int64(row, CTR_JOURNAL_TABS) & ctr_entries_bit(tab->number);
        ctr_changes_open(&groups, row);
        while (ctr_rc(conn) == SQLITE_OK && ctr_entries_group_next(&groups, &table, &walk)) {
            own = own || table == tab->number;
            if (number <= 0 || (table == tab->number && number <= last))
                ctr_changes_damaged(conn, number, "has a number that does not rise");
            if (table != known && !is_numbered_table(&run, table))
                ctr_changes_damaged(conn, number, "has a group of a table that does not exist");
            known = table;
        }
        if (own && groups.status != CTR_OK)
            ctr_changes_damaged(conn, number, ctr_entries_status_text(groups.status));
    }
    sqlite3_finalize(row);
}

/* Is the row in the list? The caller asks in ascending order. */
static bool is_listed(const ctr_changes *list, size_t *at, int64_t row)
{
    while (*at < list->n && list->rows[*at].row < row) (*at)++;
    return *at < list->n && list->rows[*at].row == row;
}

static void check_changed_rows(ctr_run *run, const ctr_changes *changes, const ctr_changes *amounts)
{
    size_t change = 0, amount = 0, stored = 0;
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_JOURNAL_ROWS);
    while (ctr_run_row(run, row)) {
        int64_t id = sqlite3_column_int64(row, 0);
        if (!is_listed(changes, &change, id))
            ctr_problem_set(run->conn, SQLITE_CORRUPT_VTAB,
                            "counter_journal is damaged: row %lld is stored and not in it",
                            (long long)id);
        stored += is_listed(amounts, &amount, id);
    }
    sqlite3_finalize(row);
    if (stored < amounts->n)
        ctr_problem_set(run->conn, SQLITE_CORRUPT_VTAB,
                        "counter_journal is damaged: it has amounts for rows that are not stored");
}

/* Appends the batches first, because the journal must have the changes of this transaction, and
 * reads all of it anew. */
static void check_journal(ctr_table *table)
{
    ctr_conn *conn = table->joined.conn;
    ctr_tab *tab = table->row->tab;
    ctr_changes changes = {0}, amounts = {0};
    ctr_run run = ctr_run_on(conn, table->schema, table->name);
    if (table->row->writing)
        ctr_problem_set(
            conn, SQLITE_ERROR,
            "a trigger on a stored table cannot check it, because its row is not complete yet");
    ctr_batch_flush_all(table->file);
    if (ctr_rc(conn) != SQLITE_OK) return;
    check_groups(tab, check_levels(tab));
    ctr_changes_read(&changes, tab, 0);
    ctr_changes_latest(conn, &changes);
    ctr_journal_read_again(tab);
    if (ctr_journal_refresh(tab) == SQLITE_OK) ctr_journal_list_amounts(tab, &amounts);
    if (ctr_rc(conn) == SQLITE_OK) check_changed_rows(&run, &changes, &amounts);
    if (tab->last >= CTR_JOURNAL_NUMBERS)
        ctr_changes_damaged(conn, tab->last, "has a number that is out of range");
    sqlite3_free(changes.rows);
    sqlite3_free(amounts.rows);
}

/* ---- what it shares with the other tables of the file ---------------------------------------- */

/* Rows of a table that is not there are nobody's, so each table reports them. */
static void check_shared(const ctr_table *table)
{
    enum { TAB, KIND, IS_THERE };
    ctr_conn *conn = table->joined.conn;
    ctr_run run = ctr_run_on(conn, table->schema, table->name);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_STATE_CHECK);
    if (ctr_run_row(&run, row)) {
        const char *kind = ctr_text_column(conn, row, KIND);
        if (!sqlite3_column_int(row, IS_THERE))
            ctr_stored_damaged(conn, "it has rows of a table that does not exist", "");
        ctr_stored_damaged(conn, "it has a row of the kind ", kind ? kind : "NULL");
    }
    sqlite3_finalize(row);
    row = ctr_run_prepare(&run, CTR_SQL_REQUESTS_CHECK);
    if (ctr_run_once(&run, row))
        ctr_problem_set(conn, SQLITE_CORRUPT_VTAB,
                        "the stored table counter_requests is damaged: it has rows of a table that "
                        "does not exist");
}

/* Reads what else stands in counter_state of the table. */
static void check_state(ctr_table *table)
{
    ctr_tab *tab = table->row->tab;
    ctr_openings openings;
    check_shared(table);
    ctr_tab_give_back(tab, ctr_floors_read(tab));
    ctr_openings_read(&openings, tab);
    ctr_openings_close(&openings);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void check_pages(ctr_table *table)
{
    ctr_conn *conn = table->joined.conn;
    enum { CHECKS_ONE_TABLE = 3033000 };
    if (sqlite3_libversion_number() < CHECKS_ONE_TABLE) return;
    ctr_run run = ctr_run_on(conn, table->schema, table->name);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_INTEGRITY);
    while (ctr_run_row(&run, row)) {
        const char *finding = ctr_text_column(conn, row, 0);
        if (!finding || strcmp(finding, "ok") != 0)
            ctr_problem_set(conn, SQLITE_CORRUPT_VTAB, "%s", finding ? finding : "no finding");
    }
    sqlite3_finalize(row);
}

void ctr_integrity_check(ctr_table *table, ctr_integrity_extent extent)
{
    ctr_conn *conn = table->joined.conn;
    ctr_identity identity;
    ctr_catalog_entry entry;
    ctr_table_read(table);
    ctr_identity_read(&identity, conn, table->schema);
    if (ctr_rc(conn) == SQLITE_OK && !identity.present) ctr_identity_missing(conn, table->schema);
    if (!ctr_catalog_named(&entry, conn, table->schema, table->name))
        ctr_problem_set(conn, SQLITE_CORRUPT_VTAB, "the table is missing in counter_tables");
    ctr_catalog_close_entry(&entry);
    check_state(table);
    check_rows(table);
    ctr_home_check(table->row);
    if (extent != CTR_INTEGRITY_QUICK) check_journal(table);
    if (extent == CTR_INTEGRITY_ALONE) check_pages(table);
}

/* =================================================================================================
 * commands - runs each of them. */

/* ---- adding and dropping a counter ----------------------------------------------------------- */

/*     INSERT INTO t(t) VALUES ('add column errors')       also: 'add column "5xx errors" COUNTER'
 *     INSERT INTO t(t) VALUES ('drop column errors')
 *
 * A pull and counter_track also add and drop counters here, by ctr_columns_ask().
 *
 * SQLite notices that the stored table changed and connects to the table again, in every
 * connection. Each command reads the columns itself, because one statement may give several
 * commands.
 *
 * A file that drops a counter forgets its own shards. Within the table, the generation separates
 * them from all later ones; but their cells may have been copied into other tables, so the file
 * takes a new id. A file with a name keeps its id, because the name was chosen to stay.
 */

/* If the column exists neither before nor after, SQLite sees no change. */
static int64_t raise_counter_of(ctr_table *table, const ctr_shape *shape, const char *name,
                                int64_t generation)
{
    int64_t emptied = ctr_columns_raise(table->file, table->name, shape, name, generation);
    bool changes = ctr_shape_counter(shape, name) >= 0 || generation % 2 == 1;
    if (changes && ctr_rc(table->joined.conn) == SQLITE_OK) table->altered = true;
    return emptied;
}

static void raise_here(ctr_table *table, const ctr_shape *shape, const char *name)
{
    ctr_conn *conn = table->joined.conn;
    const char *spelling;
    int64_t generation = ctr_shape_generation(shape, name, &spelling) + 1;
    if (generation > CTR_GENERATION_MAX)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "column %s was added and dropped %lld times, which is the limit", name,
                        (long long)CTR_GENERATION_MAX);
    if (ctr_rc(conn) == SQLITE_OK) raise_counter_of(table, shape, name, generation);
}

static void add_counter(ctr_table *table, const ctr_shape *shape, const char *clause)
{
    ctr_conn *conn = table->joined.conn;
    char *name = ctr_declare_counter(conn, table->name, clause);
    if (!name) return;
    if (ctr_shape_counter(shape, name) >= 0)
        ctr_problem_set(conn, SQLITE_ERROR, "the counter %s exists already", name);
    ctr_columns_check(shape, conn, table->name, name);
    raise_here(table, shape, name);
    sqlite3_free(name);
}

static int find_counter(ctr_conn *conn, const ctr_shape *shape, const char *name)
{
    int found = ctr_shape_counter_like(shape, name);
    if (found < 0)
        ctr_problem_set(conn, SQLITE_ERROR, "the command names '%s', which is not a counter", name);
    return found;
}

/* The id is changed first: a new id does no harm if the drop fails. */
static void drop_counter(ctr_table *table, const ctr_shape *shape, const char *name)
{
    ctr_conn *conn = table->joined.conn;
    int found = find_counter(conn, shape, name);
    if (found < 0) return;
    const char *counter = ctr_shape_counter_name(shape, found);
    if (shape->n_counters == 1) {
        ctr_problem_set(conn, SQLITE_ERROR,
                        "column %s is the last counter: a counter table needs at least one",
                        counter);
        return;
    }
    const ctr_identity *identity = ctr_file_identity(table->file);
    ctr_rights_refuse_new_id(table->file);
    if (ctr_rc(conn) != SQLITE_OK) return;
    if (identity && !*identity->name) ctr_succession_lineage_changed(table->file, CTR_WHY_DROPPED);
    raise_here(table, shape, counter);
}

/* Refuses triggers on the stored tables, which could see them change. */
static void read_shape(ctr_table *table, ctr_shape *shape)
{
    ctr_conn *conn = table->joined.conn;
    ctr_refuse_triggers(conn, table->schema, table->name);
    if (ctr_rc(conn) == SQLITE_OK) ctr_stored_read(shape, conn, table->schema, table->name);
}

/* SQLite rolls a transaction back if a write returns SQLITE_INTERRUPT, but an interrupted inner
 * statement may return another code. The statements by which a pull is rolled back are renewed,
 * because the schema has changed. */
static void prefer_interrupt(ctr_table *table)
{
    ctr_conn *conn = table->joined.conn;
    if (ctr_rc(conn) == SQLITE_OK) ctr_session_renew(conn);
    if (ctr_rc(conn) == SQLITE_OK || ctr_rc(conn) == SQLITE_INTERRUPT) return;
    ctr_problem now;
    ctr_problem_try(conn, &now);
    ctr_run_busy_timeout(conn);
    ctr_problem_end(&now);
    bool is = now.rc == SQLITE_INTERRUPT;
    if (is) ctr_problem_clear(conn);
    ctr_problem_raise_if(conn, &now, is);
}

void ctr_commands_take(ctr_table *table, ctr_wanted *wanted)
{
    ctr_shape shape = {0};
    if (ctr_rc(table->joined.conn) == SQLITE_OK) read_shape(table, &shape);
    if (ctr_rc(table->joined.conn) == SQLITE_OK && !wanted->name) {
        ctr_columns_change_kinds(table->file, table->name, &shape);
    } else if (ctr_rc(table->joined.conn) == SQLITE_OK && wanted->bounded) {
        ctr_columns_bind(table->file, table->name, &shape, wanted->name);
        table->altered = ctr_rc(table->joined.conn) == SQLITE_OK;
    } else if (ctr_rc(table->joined.conn) == SQLITE_OK) {
        wanted->emptied = raise_counter_of(table, &shape, wanted->name, wanted->generation);
    }
    prefer_interrupt(table);
    ctr_shape_close(&shape);
}

/* Returns false if it is another command. */
static bool alter_table(ctr_table *table, sqlite3_value **columns, const char *command)
{
    ctr_conn *conn = table->joined.conn;
    const char *to_add = ctr_commands_name(command, "add column"),
               *to_drop = ctr_commands_name(command, "drop column");
    ctr_shape shape = {0};
    if (!to_add && !to_drop) return false;
    if (table->tracker)
        ctr_problem_set(
            conn, SQLITE_ERROR,
            "'%s' is not a command for the counters of a tracked table: counter_track and "
            "counter_untrack add and drop its columns",
            command);
    ctr_commands_refuse_values(table, columns, command);
    if (ctr_rc(conn) == SQLITE_OK) read_shape(table, &shape);
    if (ctr_rc(conn) == SQLITE_OK && to_add) add_counter(table, &shape, to_add);
    if (ctr_rc(conn) == SQLITE_OK && to_drop) drop_counter(table, &shape, to_drop);
    prefer_interrupt(table);
    ctr_shape_close(&shape);
    return true;
}

/* ---- reset and delete ------------------------------------------------------------------------ */

/* Fails if a counter that the command does not name has a value, or if a value is no integer.
 * `named` -1: the command names all. */
static int check_named(ctr_table *table, sqlite3_value **columns, bool takes_values, int named)
{
    for (int i = 0; i < table->shape.n_counters; i++) {
        int column = table->shape.counters[i];
        if (!ctr_table_given(columns[ctr_table_column(column)])) continue;
        if (!takes_values || (named >= 0 && i != named))
            ctr_problem_set(table->joined.conn, SQLITE_ERROR,
                            "the command takes no value for column %s",
                            table->shape.columns[column].name);
    }
    return ctr_write_collect_amounts(table, columns);
}

static void write_of_command(ctr_table *table)
{
    if (table->tracker)
        table->tracker->write(table);
    else
        ctr_table_write(table);
}

static void reset(ctr_table *table, sqlite3_value **columns, int named)
{
    if (table->shape.n_counters == 0) ctr_write_refuse_no_counter(table->joined.conn);
    if (check_named(table, columns, true, named)) return;
    if (ctr_write_collect_key(table, columns)) return;
    if (ctr_table_find(table)) return;
    if (ctr_write_check_floors(table)) return;
    for (int i = 0; i < table->shape.n_counters; i++) {
        if (named >= 0 && i != named) continue;
        if (table->tracker) table->given[i].is = true; /* without counts it would read NULL */
        if (ctr_write_next_life(table, i, &table->given[i])) return;
    }
    write_of_command(table);
}

static void delete_one(ctr_table *table, sqlite3_value **columns, int named)
{
    if (check_named(table, columns, false, named)) return;
    if (ctr_write_collect_key(table, columns)) return;
    if (ctr_table_find(table) || !ctr_table_found(table)) return;
    if (ctr_write_tombstone(table, named) == SQLITE_OK) write_of_command(table);
}

int ctr_commands_refuse_values(const ctr_table *table, sqlite3_value **columns, const char *command)
{
    ctr_conn *conn = table->joined.conn;
    for (int i = 0; i < table->shape.n_columns; i++)
        if (ctr_table_given(columns[ctr_table_column(i)]))
            ctr_problem_set(conn, SQLITE_ERROR, "%s takes no value for column %s", command,
                            table->shape.columns[i].name);
    return ctr_rc(conn);
}

/* ---- grant ----------------------------------------------------------------------------------- */

/* Takes the id of 'grant <id>'. */
static void take_grantee(ctr_table *table, const char *text, uint8_t to[CTR_ID_SIZE])
{
    ctr_conn *conn = table->joined.conn;
    if (!ctr_id_from_text(text, strlen(text), to) || ctr_id_is_opening(to))
        ctr_problem_set(conn, SQLITE_ERROR,
                        "'grant' names the id of a file, as counter_identity() shows it there, not "
                        "'%s'",
                        text);
    else if (memcmp(to, table->row->tab->id, CTR_ID_SIZE) == 0)
        ctr_problem_set(conn, SQLITE_ERROR, "'grant' names this file, which has what it would get");
}

/* Checks the amounts of a grant. */
static void check_granted_amounts(const ctr_table *table)
{
    bool any = false;
    ctr_conn *conn = table->joined.conn;
    for (int i = 0; i < table->shape.n_counters && ctr_rc(conn) == SQLITE_OK; i++) {
        const char *name = ctr_shape_counter_name(&table->shape, i);
        if (!table->given[i].is) continue;
        any = true;
        if (!table->shape.columns[table->shape.counters[i]].bounded)
            ctr_problem_set(conn, SQLITE_ERROR,
                            "column %s has no bound, so everybody may take of it: "
                            "counter_bound gives it one",
                            name);
        else if (table->given[i].n < 1)
            ctr_problem_set(conn, SQLITE_ERROR, "column %s: a grant is at least 1, not %lld", name,
                            (long long)table->given[i].n);
    }
    if (!any)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "'grant' needs a value for a bounded counter: how much is granted");
}

static void grant(ctr_table *table, sqlite3_value **columns, const char *text)
{
    uint8_t to[CTR_ID_SIZE];
    ctr_conn *conn = table->joined.conn;
    if (ctr_write_collect_amounts(table, columns) || ctr_write_collect_key(table, columns)) return;
    check_granted_amounts(table);
    if (ctr_rc(conn) != SQLITE_OK || ctr_table_find(table)) return;
    take_grantee(table, text, to);
    if (ctr_rc(conn) == SQLITE_OK && !ctr_table_found(table)) {
        char *key = ctr_table_key_text(table);
        ctr_problem_set(conn, SQLITE_ERROR, "there is no row %s", key);
        sqlite3_free(key);
    }
    for (int i = 0; i < table->shape.n_counters && ctr_rc(conn) == SQLITE_OK; i++)
        if (table->given[i].is) ctr_write_grant(table, i, to, table->given[i].n);
    if (ctr_rc(conn) == SQLITE_OK) write_of_command(table);
}

/* ---- integrity-check ------------------------------------------------------------------------- */

static void integrity_check(ctr_table *table, sqlite3_value **columns)
{
    if (ctr_commands_refuse_values(table, columns, "integrity-check")) return;
    ctr_integrity_check(table, CTR_INTEGRITY_ALONE);
    ctr_problem_where(table->joined.conn, "integrity-check");
}

/* ---- optimize -------------------------------------------------------------------------------- */

static void optimize(ctr_table *table, sqlite3_value **columns)
{
    if (ctr_commands_refuse_values(table, columns, "optimize")) return;
    table->row->writing = true;
    if (ctr_file_before_write(table->file) == SQLITE_OK) ctr_fold_optimize(table->row->tab);
    if (ctr_rc(table->joined.conn) == SQLITE_OK)
        ctr_journal_drop(table->row->tab); /* it is read again */
    table->row->writing = false;
}

/* ---- purge below ----------------------------------------------------------------------------- */

static void purge(ctr_table *table, sqlite3_value **columns)
{
    int given = 0;
    if (check_named(table, columns, false, -1)) return;
    for (int i = 0; i < table->shape.n_keys; i++) {
        table->keys[i] = columns[ctr_table_column(table->shape.keys[i])];
        given += ctr_table_given(table->keys[i]);
    }
    if (given != 1) {
        ctr_problem_set(table->joined.conn, SQLITE_ERROR,
                        "'purge below' takes the value of one key column, not of %d", given);
        return;
    }
    if (table->tracker)
        table->tracker->purge(table);
    else
        ctr_table_raise(table);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Returns the number of a command between two texts; -1: the command is another one. */
static int64_t number_between(const char *command, const char *before, const char *behind)
{
    const size_t size = strlen(before);
    if (sqlite3_strnicmp(command, before, (int)size) != 0) return -1;
    const char *c = command + size;
    int64_t n = 0;
    if (*c < '0' || *c > '9') return -1;
    for (; *c >= '0' && *c <= '9'; c++) {
        if (n > INT64_MAX / 10 - 1) return -1;
        n = 10 * n + (*c - '0');
    }
    return sqlite3_stricmp(c, behind) == 0 ? n : -1;
}

/* A request of the future, which another clock has noted, is kept until it is old. Returns false if
 * it is another command. */
static bool forget_requests(ctr_table *table, sqlite3_value **columns, const char *command)
{
    enum { DAY = 86400000 /* milliseconds */ };
    const int64_t kept = number_between(command, "forget requests ", ""),
                  days = number_between(command, "forget requests older than ", " days"),
                  now = ctr_os_now();
    if (kept < 0 && days < 0) return false;
    if (ctr_commands_refuse_values(table, columns, command)) return true;
    ctr_run run = ctr_run_on(table->joined.conn, table->schema, table->name);
    sqlite3_stmt *row =
        ctr_run_prepare(&run, days < 0 ? CTR_SQL_REQUESTS_KEEP : CTR_SQL_REQUESTS_FORGET_OLD);
    if (days < 0)
        ctr_run_bind_int(&run, row, ":kept", kept);
    else
        ctr_run_bind_int(&run, row, ":until", days > now / DAY ? INT64_MIN : now - days * DAY);
    ctr_run_once(&run, row);
    return true;
}

/* ---- reading the command --------------------------------------------------------------------- */

const char *ctr_commands_name(const char *command, const char *verb)
{
    size_t n = strlen(verb);
    return sqlite3_strnicmp(command, verb, (int)n) == 0 && command[n] == ' ' ? command + n + 1
                                                                             : NULL;
}

static void refuse_command(ctr_conn *conn, sqlite3_value *value, const ctr_front *front)
{
    char *shown = ctr_problem_describe_value(value);
    if (!shown) ctr_problem_nomem(conn);
    ctr_problem_set(conn, SQLITE_ERROR,
                    "unknown command %s; the commands are %s; these delete counts: "
                    "'purge below', %s'reset', 'reset <counter>', 'delete <counter>'",
                    shown ? shown : "",
                    front ? front->commands
                          : "'integrity-check', 'optimize', 'add column <counter>', 'grant <id>', "
                            "'forget requests <n>', "
                            "'forget requests older than <n> days'",
                    front ? "" : "'drop column <counter>', ");
    sqlite3_free(shown);
}

/* Others than the check may fold the journal, and with it the room for what is being written. */
static int refuse_while_writing(const ctr_table *table, const char *command)
{
    ctr_conn *conn = table->joined.conn;
    if (table->front || !table->row->tab->writing) return ctr_rc(conn);
    return sqlite3_stricmp(command, "integrity-check") == 0 ? ctr_rc(conn)
                                                            : ctr_row_refuse_writing(conn);
}

void ctr_commands_run(ctr_table *table, sqlite3_value **columns)
{
    ctr_conn *conn = table->joined.conn;
    sqlite3_value *value = columns[CTR_COLUMN_COMMAND];
    const char *text = ctr_text_value(conn, value), *command = text ? text : "";
    if (ctr_rc(conn) != SQLITE_OK || refuse_while_writing(table, command)) return;
    const char *to_reset = ctr_commands_name(command, "reset"),
               *to_delete = ctr_commands_name(command, "delete"),
               *to_grant = ctr_commands_name(command, "grant");
    int named = -1;
    if (table->front && table->front->command(table, columns, command)) return;
    if (alter_table(table, columns, command)) return;
    if (ctr_write_check_altered(table)) return;
    if (to_reset || to_delete)
        named = find_counter(conn, &table->shape, to_reset ? to_reset : to_delete);
    if (ctr_rc(conn) != SQLITE_OK) return;

    if (sqlite3_stricmp(command, "integrity-check") == 0)
        integrity_check(table, columns);
    else if (sqlite3_stricmp(command, "optimize") == 0)
        optimize(table, columns);
    else if (forget_requests(table, columns, command))
        return;
    else if (sqlite3_stricmp(command, "purge below") == 0)
        purge(table, columns);
    else if (sqlite3_stricmp(command, "reset") == 0 || to_reset)
        reset(table, columns, named);
    else if (to_delete)
        delete_one(table, columns, named);
    else if (to_grant && !table->front)
        grant(table, columns, to_grant);
    else
        refuse_command(conn, value, table->front);
}
