/* content.c - reads a file by plain SQL, and what its table shows. */
#include "content.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) == SQLITE_OK)
        return statement;
    fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
    abort();
}

void content_open(content_reader *reader, sqlite3 *db)
{
    reader->db = db;
    reader->identity =
        prepare(db, "SELECT id, holder, inode, birth, number, random, witnessed, floors <> 0"
                    " FROM counter_replica WHERE one = 1");
    reader->token = prepare(db, "SELECT token FROM counter_tables");
    reader->floor = prepare(db, "SELECT seq FROM counter_state");
    reader->cells = prepare(db, "SELECT k, _id, cell FROM t_cells LEFT JOIN counter_cells('t')"
                                " ON key = json_array(k)");
    reader->shown = prepare(db, "SELECT k, n FROM t");
    reader->journal = prepare(db, "SELECT number, level, entries, NULL FROM counter_segments"
                                  " UNION ALL SELECT _seq, 0, entries, tabs FROM counter_journal"
                                  " ORDER BY 1");
    reader->marks = prepare(db, "SELECT id, theirs, mark FROM counter_peers"
                                " WHERE mine = (SELECT token FROM counter_tables)");
    reader->known = prepare(db, "SELECT holder, id, number, random FROM counter_sources"
                                " WHERE number IS NOT NULL");
    reader->check = prepare(db, "INSERT INTO t(t) VALUES ('integrity-check')");
}

void content_close(content_reader *reader)
{
    sqlite3_stmt *all[] = {reader->identity, reader->token, reader->floor,
                           reader->cells,    reader->shown, reader->journal,
                           reader->marks,    reader->known, reader->check};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sqlite3_finalize(all[i]);
}

static id id_at(sqlite3_stmt *row, int column)
{
    id to = {0};
    if (sqlite3_column_bytes(row, column) == CTR_ID_SIZE)
        memcpy(to.bytes, sqlite3_column_blob(row, column), CTR_ID_SIZE);
    return to;
}

static void read_identity(sqlite3_stmt *row, content *to)
{
    if (sqlite3_step(row) == SQLITE_ROW) {
        to->who = id_at(row, 0);
        to->holder = id_at(row, 1);
        to->inode = sqlite3_column_int64(row, 2);
        to->birth = sqlite3_column_int64(row, 3) / 1000000;
        to->witness = (pair){sqlite3_column_int64(row, 4), sqlite3_column_int64(row, 5)};
        to->witnessed = sqlite3_column_int(row, 6) != 0;
        to->knows_floors = sqlite3_column_int(row, 7) != 0;
    }
    sqlite3_reset(row);
}

static bool read_cell(sqlite3_stmt *row, struct content_row *to)
{
    ctr_cell cell = ctr_cell_untouched();
    ctr_shard shard;
    size_t at = 0;
    if (sqlite3_column_type(row, 2) != SQLITE_NULL &&
        ctr_cell_open(&cell, sqlite3_column_blob(row, 2), (size_t)sqlite3_column_bytes(row, 2)))
        return false;
    to->present = true;
    to->id = sqlite3_column_int64(row, 1);
    to->life = cell.life;
    while (ctr_cell_next(&cell, &at, &shard)) {
        if (to->n == MOST_SHARDS) return false;
        struct content_shard *into = &to->shards[to->n++];
        memcpy(into->who.bytes, shard.id, CTR_ID_SIZE);
        into->clock = shard.clock;
        into->value = shard.value;
    }
    return true;
}

static bool read_rows(content_reader *reader, int keys, content *to)
{
    bool good = true;
    while (sqlite3_step(reader->cells) == SQLITE_ROW) {
        int key = sqlite3_column_int(reader->cells, 0);
        good = good && key >= 1 && key <= keys && read_cell(reader->cells, &to->rows[key - 1]);
    }
    while (sqlite3_step(reader->shown) == SQLITE_ROW) {
        int key = sqlite3_column_int(reader->shown, 0);
        if (key < 1 || key > keys) return false;
        to->rows[key - 1].shown = true;
        to->rows[key - 1].value = sqlite3_column_int64(reader->shown, 1);
    }
    sqlite3_reset(reader->cells);
    return sqlite3_reset(reader->shown) == SQLITE_OK && good;
}

/* What one row of the journal says; room for more must be left. */
static bool read_entries(sqlite3_stmt *row, content *to)
{
    ctr_entries groups = {0}, walk = {0};
    ctr_entry entry;
    ctr_change_of_row change;
    int64_t table;
    int64_t at = sqlite3_column_int64(row, 0), level = sqlite3_column_int64(row, 1);
    const uint8_t *bytes = sqlite3_column_blob(row, 2);
    size_t size = (size_t)sqlite3_column_bytes(row, 2);
    if (level == 0)
        ctr_entries_open(&groups, bytes, size, sqlite3_column_int64(row, 3));
    else
        ctr_entries_segment_open(&walk, bytes, size, at);
    while (level == 0 && ctr_entries_group_next(&groups, &table, &walk)) {
        while (to->n_entries < MOST_ENTRIES && ctr_entries_next(&walk, &entry)) {
            bool adds = entry.kind == CTR_ENTRY_ADDED;
            to->entries[to->n_entries++] = (struct content_entry){at,
                                                                  at,
                                                                  entry.row,
                                                                  adds ? entry.n : 0,
                                                                  adds ? (int)entry.ticks : 0,
                                                                  0,
                                                                  (int8_t)entry.kind};
        }
        groups.status = walk.status;
    }
    if (level == 0) walk.status = groups.status;
    while (level != 0 && to->n_entries < MOST_ENTRIES && ctr_entries_segment_next(&walk, &change))
        to->entries[to->n_entries++] =
            (struct content_entry){at, change.number, change.row, 0, 0, (int8_t)level, 0};
    return walk.status == CTR_OK && to->n_entries < MOST_ENTRIES;
}

static bool read_lists(content_reader *reader, content *to)
{
    bool good = true;
    sqlite3_stmt *row = reader->journal;
    while (sqlite3_step(row) == SQLITE_ROW) good = good && read_entries(row, to);
    sqlite3_reset(row);
    row = reader->marks;
    for (; sqlite3_step(row) == SQLITE_ROW && to->n_marks < MOST_MARKS; to->n_marks++)
        to->marks[to->n_marks] =
            (struct content_mark){id_at(row, 0), id_at(row, 1), sqlite3_column_int64(row, 2)};
    sqlite3_reset(row);
    row = reader->known;
    for (; sqlite3_step(row) == SQLITE_ROW && to->n_known < MOST_KNOWN; to->n_known++)
        to->known[to->n_known] =
            (struct content_known){id_at(row, 0),
                                   id_at(row, 1),
                                   {sqlite3_column_int64(row, 2), sqlite3_column_int64(row, 3)}};
    sqlite3_reset(row);
    return good && to->n_marks < MOST_MARKS && to->n_known < MOST_KNOWN;
}

const char *content_read(content_reader *reader, int keys, content *to)
{
    memset(to, 0, sizeof *to);
    read_identity(reader->identity, to);
    if (sqlite3_step(reader->token) == SQLITE_ROW) to->token = id_at(reader->token, 0);
    sqlite3_reset(reader->token);
    to->floor = sqlite3_step(reader->floor) == SQLITE_ROW;
    if (to->floor) to->floor_sequence = sqlite3_column_int64(reader->floor, 0);
    sqlite3_reset(reader->floor);
    if (!read_rows(reader, keys, to)) return "a row that cannot be, or cannot be read";
    if (!read_lists(reader, to)) return "more rows than there is room for here";
    int rc = sqlite3_step(reader->check);
    sqlite3_reset(reader->check);
    return rc == SQLITE_DONE ? NULL : sqlite3_errmsg(reader->db);
}
