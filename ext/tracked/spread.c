/* tracked/spread.c - keys that SQLite gives out, each file from a place of its own.
 *
 *     CREATE TABLE orders(id INTEGER PRIMARY KEY AUTOINCREMENT, ...);
 *     SELECT counter_replicate('orders', 'keys=spread');
 *
 * SQLite gives a row the greatest of sqlite_sequence and of the keys that are there, plus one. So
 * each file has a place, far from those of others, to which its sequence jumps, and counts on from
 * there. It reads sqlite_sequence once in a statement, behind the xBegin of each virtual table that
 * the statement or its triggers may write, and behind xSavepoint if the table has joined already:
 * both set the sequence, and the very statement uses it. That order is documented nowhere; the
 * suite tries each version of SQLite, and a number from below the place fails the COMMIT.
 *
 * The place is left when its numbers may be those of others, too: the file has another id, as a
 * copy has, or a key at or above it came from elsewhere: by a merge, or from the application. Then
 * the first write jumps: to a random place above the greatest key, at most 1/2^20 of the way to the
 * limit, so that a million jumps climb less than half of the way. The first place lies
 * SPREAD_APART above the keys that were there when the table was replicated: rows that were there,
 * and keys of the application below that, are the same rows in all files.
 *
 * A row above has a birth (core/core.h), so that two files that were given one number all the same,
 * as by a copy that nobody noticed, have two rows.
 *
 * In counter_state (sql/spread.sql): the first number with a birth, and the bits of a number; the
 * place, for which id it holds, the jumps, and whether it is taken. */
#include "tracked/tracked.h"

#include <string.h>

/* A jump goes up to 1/2^20 of the way to the limit. Keys up to SPREAD_NEAR above the last number
 * are of this file. */
enum { SPREAD_STEP = 20, SPREAD_NEAR = 1 << 16 };
#define SPREAD_APART (INT64_C(1) << 32)

/* ---- numbers --------------------------------------------------------------------------------- */

/* Returns the highest number of so many bits. */
static int64_t most_of_bits(int bits)
{
    return bits < CTR_SPREAD_BITS_MOST ? (INT64_C(1) << bits) - 1 : INT64_MAX;
}

bool ctr_spread_has_room(int64_t greatest, int bits)
{
    return greatest <= most_of_bits(bits) - SPREAD_APART;
}

/* ---- what the file says ---------------------------------------------------------------------- */

static void take_state(ctr_spread *spread, sqlite3_stmt *row)
{
    enum { ROW, SEQ, BYTES, VALUE, ROWS };
    const uint8_t *id = sqlite3_column_blob(row, VALUE);
    bool has_id = id && sqlite3_column_bytes(row, VALUE) == CTR_ID_SIZE;
    if (sqlite3_column_int64(row, ROW) == 0) {
        int bits = sqlite3_column_int(row, BYTES);
        spread->is = true;
        spread->least = sqlite3_column_int64(row, SEQ);
        spread->most = bits >= CTR_SPREAD_BITS ? most_of_bits(bits) : INT64_MAX;
        return;
    }
    spread->place = sqlite3_column_int64(row, SEQ);
    spread->has_place = has_id && spread->place > 0; /* else it is damaged, as are other jumps */
    spread->taken = sqlite3_column_int(row, BYTES) != 0;
    spread->jumps = sqlite3_column_int(row, ROWS) & INT32_MAX;
    if (has_id) memcpy(spread->id, id, CTR_ID_SIZE);
}

void ctr_spread_read(ctr_spread *spread, ctr_tab *tab)
{
    *spread = (ctr_spread){.is = false};
    if (!tab || !tab->shape.replicated || !tab->shape.keyed || ctr_rc(tab->conn) != SQLITE_OK)
        return;
    ctr_run run = ctr_tab_run(tab);
    sqlite3_stmt *row = ctr_tab_take_of(tab, CTR_FILE_SPREAD);
    while (ctr_run_row(&run, row)) take_state(spread, row);
    ctr_file_give_back(tab->file, CTR_FILE_SPREAD, row);
}

/* Returns the first number of a statement; 0 if there is none. */
static int64_t first_number(ctr_run *run, sqlite3_stmt *row)
{
    bool is = ctr_run_row(run, row) && sqlite3_column_type(row, 0) == SQLITE_INTEGER;
    return is ? sqlite3_column_int64(row, 0) : 0;
}

static int64_t read_sequence(ctr_tab *tab, const char *table)
{
    ctr_run run = ctr_tab_run(tab);
    sqlite3_stmt *row = ctr_file_take(tab->file, CTR_FILE_SEQUENCE);
    ctr_run_bind_text(&run, row, ":name", table);
    int64_t sequence = first_number(&run, row);
    ctr_file_give_back(tab->file, CTR_FILE_SEQUENCE, row);
    return sequence;
}

static void set_sequence(ctr_tab *tab, const char *table, int64_t sequence)
{
    ctr_run run = ctr_tab_run(tab);
    ctr_run_with(&run, CTR_SQL_SPREAD_SET_SEQUENCE, ":seq i :name t", sequence, table);
    if (ctr_rc(tab->conn) == SQLITE_OK && sqlite3_changes(tab->conn->db) == 0)
        ctr_run_with(&run, CTR_SQL_SPREAD_ADD_SEQUENCE, ":name t :seq i", table, sequence);
}

/* Returns the greatest key of the cells, up to `most`; 0: there is none above. */
static int64_t highest_of_cells(ctr_tab *tab, int64_t most)
{
    ctr_run run = ctr_tab_run(tab);
    ctr_slot *slot = ctr_tab_take(tab, CTR_TAB_GREATEST);
    sqlite3_stmt *row = slot ? slot->kept.statement : NULL;
    if (row) sqlite3_bind_int64(row, 1, most);
    int64_t highest = first_number(&run, row);
    ctr_tab_give_back(tab, slot);
    return highest > 0 ? highest : 0;
}

int64_t ctr_spread_greatest(const ctr_tracked *tracked, ctr_tab *tab, int64_t most)
{
    ctr_run run = ctr_tab_run(tab);
    run.slots.name = tracked->table;
    run.slots.keys = ctr_text_print(tab->conn, "\"%w\"", ctr_tracked_key(tracked, 0)->name);
    int64_t highest = highest_of_cells(tab, most);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SPREAD_HIGHEST_SHOWN);
    ctr_run_bind_int(&run, row, ":most", most);
    int64_t shown = first_number(&run, row);
    sqlite3_finalize(row);
    return shown > highest ? shown : highest;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Returns whether SQLite never gives a number of the table twice. */
static bool has_sequence(ctr_file *file, const char *table)
{
    const ctr_objects *objects = ctr_file_objects(file);
    const ctr_named *named = objects ? ctr_schema_objects_find(objects, table) : NULL;
    return named && named->sql && ctr_word_follow(named->sql, "AUTOINCREMENT", NULL);
}

const char *ctr_spread_lost(ctr_tab *tab, const char *table)
{
    ctr_spread spread;
    ctr_spread_read(&spread, tab);
    if (!spread.is || has_sequence(tab->file, table) || ctr_rc(tab->conn) != SQLITE_OK) return NULL;
    return "its keys are spread, and its declaration has lost AUTOINCREMENT, so two files would "
           "give one number to different rows";
}

void ctr_spread_refuse(ctr_file *file, const char *table, const ctr_shape *shape)
{
    ctr_conn *conn = file->conn;
    if (ctr_rc(conn) != SQLITE_OK) return;
    if (!shape->keyed)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "%s: 'keys=spread' is for an INTEGER PRIMARY KEY, which SQLite gives out, "
                        "and the key is (%s)",
                        table, ctr_shape_key_text(conn, shape));
    else if (!has_sequence(file, table) && ctr_rc(conn) == SQLITE_OK)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "%s: without AUTOINCREMENT SQLite gives the number of a deleted row to "
                        "another one, so its keys cannot be spread: `sqlite-counter adopt` adds "
                        "the word, and rebuilds nothing",
                        table);
}

void ctr_spread_set(const ctr_tracked *tracked, ctr_tab *tab, int bits)
{
    ctr_spread spread;
    ctr_spread_read(&spread, tab);
    ctr_run run = ctr_tab_run(tab);
    int64_t most = most_of_bits(bits);
    int64_t highest = ctr_spread_greatest(tracked, tab, INT64_MAX);
    bool is_room = ctr_spread_has_room(highest, bits);
    int64_t least = spread.is ? spread.least : is_room ? highest + SPREAD_APART : most;
    if (!is_room && ctr_rc(tab->conn) == SQLITE_OK)
        ctr_problem_set(tab->conn, SQLITE_ERROR,
                        "%s: the greatest key is %lld, and spread ones end at %lld: too little is "
                        "left between them",
                        tracked->table, (long long)highest, (long long)most);
    ctr_run_with(&run, CTR_SQL_SPREAD_BEGIN, ":least i :bits i", least, (int64_t)bits);
    tab->conn->unsettled++; /* for the next statement of this transaction */
}

/* ---- the place ------------------------------------------------------------------------------- */

/* Returns whether there was room. Else an INSERT fails: SQLite has no number, or it is too high. */
static bool jump(ctr_spread *spread, const ctr_tracked *tracked, ctr_tab *tab,
                 const uint8_t id[CTR_ID_SIZE])
{
    uint64_t chance;
    ctr_run run = ctr_tab_run(tab);
    int64_t from = ctr_spread_greatest(tracked, tab, spread->most);
    if (from < spread->least) from = spread->least;
    if (from >= spread->most) set_sequence(tab, tracked->table, from);
    if (from >= spread->most || ctr_rc(tab->conn) != SQLITE_OK) return false;
    int64_t step = (spread->most - from) >> SPREAD_STEP;
    sqlite3_randomness(sizeof chance, &chance);
    spread->place = from + 1 + (step > 0 ? (int64_t)(chance % (uint64_t)step) : 0);
    spread->has_place = true;
    spread->taken = false;
    spread->jumps++;
    memcpy(spread->id, id, CTR_ID_SIZE);
    ctr_run_with(&run, CTR_SQL_SPREAD_JUMP, ":id d :place i :jumps i", id, spread->place,
                 spread->jumps);
    set_sequence(tab, tracked->table, spread->place - 1);
    spread->before = spread->last;
    spread->last = spread->place - 1;
    tab->conn->unsettled++; /* for a merge that has read the place */
    return true;
}

/* Sets the sequence to the place, or sets it back to where the numbers of this file go on: a table
 * that was made anew, and `DELETE FROM sqlite_sequence`, have left it below. */
static void take_numbers(ctr_spread *spread, const ctr_tracked *tracked, ctr_tab *tab,
                         const uint8_t id[CTR_ID_SIZE])
{
    bool is_mine = spread->has_place && memcmp(spread->id, id, CTR_ID_SIZE) == 0;
    spread->last = read_sequence(tab, tracked->table);
    if (!is_mine || spread->taken) {
        spread->jumped = jump(spread, tracked, tab, id);
        return;
    }
    int64_t due = highest_of_cells(tab, spread->most);
    if (due < spread->place - 1) due = spread->place - 1;
    if (spread->last >= due || ctr_rc(tab->conn) != SQLITE_OK) return;
    set_sequence(tab, tracked->table, due);
    spread->last = due;
}

/* ---- statements ------------------------------------------------------------------------------ */

static ctr_spread *spread_of(ctr_table *table)
{
    return &table->reports->spread;
}

/* Fails if SQLite has given out numbers from below the place to which this transaction has jumped:
 * then the sequence lies between the two. */
static void refuse_overtaken(const ctr_spread *spread, const ctr_tracked *tracked, ctr_tab *tab)
{
    int64_t now = read_sequence(tab, tracked->table);
    if (now > spread->before && now < spread->place - 1 && ctr_rc(tab->conn) == SQLITE_OK)
        ctr_problem_set(tab->conn, SQLITE_ABORT,
                        "%s: SQLite has given out the number %lld, below %lld, from where this "
                        "file counts: the transaction is rolled back",
                        tracked->table, (long long)now, (long long)spread->place);
}

/* Returns whether what memory has of the place is of this transaction. */
static bool is_place_known(const ctr_table *table)
{
    const ctr_spread *spread = &table->reports->spread;
    return spread->in == table->joined.conn->ended + 1;
}

static ctr_tracked *hold_known(ctr_tab *tab)
{
    ctr_tracked *tracked = tab ? ctr_tracked_hold(tab) : NULL;
    if (tracked && ctr_tracked_is_known(tracked)) return tracked;
    ctr_tracked_release(tracked);
    return NULL;
}

/* A file that refuses to count says so when a row is written. */
static bool read_present_id(ctr_file *file, uint8_t id[CTR_ID_SIZE])
{
    ctr_problem refused;
    ctr_problem_try(file->conn, &refused);
    const ctr_identity *identity = ctr_file_identity(file);
    if (identity) memcpy(id, identity->id, CTR_ID_SIZE);
    bool is = identity && refused.rc == SQLITE_OK;
    ctr_problem_raise_if(file->conn, &refused,
                         file->conn->spoiled || ctr_problem_rolls_back(refused.rc));
    return is && ctr_rc(file->conn) == SQLITE_OK;
}

void ctr_spread_begin(ctr_table *table)
{
    uint8_t id[CTR_ID_SIZE];
    ctr_conn *conn = table->joined.conn;
    ctr_tab *tab = table->row->tab;
    ctr_spread *spread = spread_of(table);
    const ctr_spread was = *spread;
    bool jumped = is_place_known(table) && was.jumped;
    ctr_spread_read(spread, tab);
    spread->in = conn->ended + 1;
    spread->unsettled = conn->unsettled;
    if (!spread->is) return;
    int64_t inserted = sqlite3_last_insert_rowid(conn->db);
    spread->jumped = jumped && spread->place == was.place; /* else it was rolled back */
    spread->before = was.before;
    ctr_tracked *tracked = hold_known(tab);
    if (tracked && spread->jumped) refuse_overtaken(spread, tracked, tab);
    if (tracked && read_present_id(table->file, id)) take_numbers(spread, tracked, tab, id);
    ctr_tracked_release(tracked);
    sqlite3_set_last_insert_rowid(conn->db, inserted);
}

void ctr_spread_end(ctr_table *table)
{
    ctr_spread now;
    ctr_tab *tab = table->row->tab;
    const ctr_spread *spread = spread_of(table);
    if (!is_place_known(table) || !spread->is || !spread->jumped) return;
    ctr_spread_read(&now, tab);
    bool stays = now.place == spread->place; /* a merge may have jumped again */
    ctr_tracked *tracked = stays ? hold_known(tab) : NULL;
    if (tracked) refuse_overtaken(spread, tracked, tab);
    ctr_tracked_release(tracked);
}

bool ctr_spread_is_unsettled(const ctr_table *table)
{
    const ctr_conn *conn = table->joined.conn;
    bool is = !is_place_known(table) || table->reports->spread.unsettled != conn->unsettled;
    return is && !conn->session && table->shape.replicated;
}

void ctr_spread_settle(const ctr_tracked *tracked, ctr_tab *tab)
{
    ctr_spread spread;
    uint8_t id[CTR_ID_SIZE];
    ctr_spread_read(&spread, tab);
    if (spread.is && read_present_id(tab->file, id)) take_numbers(&spread, tracked, tab, id);
    tab->conn->unsettled++;
}

int64_t ctr_spread_next(const ctr_tracked *tracked, ctr_tab *tab)
{
    return read_sequence(tab, tracked->table) + 1;
}

void ctr_spread_take(ctr_tab *tab)
{
    ctr_run run = ctr_tab_run(tab);
    ctr_run_do(&run, CTR_SQL_SPREAD_TAKEN, NULL);
    tab->conn->unsettled++;
}

void ctr_spread_keep(ctr_tab *tab, int64_t number)
{
    ctr_run run = ctr_tab_run(tab);
    if (tab->shape.keyed) ctr_run_with(&run, CTR_SQL_REPLACED_KEEP, ":row i", number);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Reads the place if no xBegin has: another statement of this transaction may have made the table a
 * spread one. */
static ctr_spread *spread_now(ctr_table *table)
{
    ctr_spread *spread = spread_of(table);
    if (is_place_known(table)) return spread;
    ctr_spread_read(spread, table->row->tab);
    spread->in = table->joined.conn->ended + 1;
    spread->unsettled = table->joined.conn->unsettled;
    return spread;
}

bool ctr_spread_bears(ctr_table *table)
{
    if (!table->shape.keyed || !table->shape.replicated) return false;
    const ctr_spread *spread = spread_now(table);
    return spread->is && sqlite3_value_int64(table->keys[0]) >= spread->least;
}

/* Returns whether SQLite may have given out a key above the last number, or nobody else has: places
 * lie farther apart. It passes over the numbers of rows that OR IGNORE leaves out, and a trigger
 * may insert a row before ours tells of the one that fired it. */
static bool is_near(const ctr_spread *spread, int64_t key)
{
    return (uint64_t)key - (uint64_t)spread->last <= SPREAD_NEAR;
}

void ctr_spread_check_key(ctr_table *table)
{
    if (!table->shape.keyed || !table->shape.replicated) return;
    ctr_conn *conn = table->joined.conn;
    ctr_spread *spread = spread_now(table);
    if (!spread->is || ctr_rc(conn) != SQLITE_OK) return;
    int64_t key = sqlite3_value_int64(table->keys[0]);
    if (key > spread->most)
        ctr_problem_set(conn, SQLITE_CONSTRAINT,
                        "the key %lld lies above %lld, the highest of the table: JavaScript reads "
                        "greater ones wrongly, and 'keys=spread 63' allows them",
                        (long long)key, (long long)spread->most);
    if (ctr_rc(conn) != SQLITE_OK || table->file->writing) return;
    if (!spread->has_place || key < spread->place || key <= spread->last) return;
    bool is = is_near(spread, key);
    spread->last = key;
    if (!is && !spread->taken) ctr_spread_take(table->row->tab);
    spread->taken = spread->taken || !is;
}
