/* functions/sender.c - who has a token, and what may come with it: docs/batches.md.
 *
 * A token stands in the served file as the SHA-256 of its text. The first line that comes with it
 * binds it to the id at the beginning of its source. Shards of ids that are bound to other tokens
 * are left out of what comes; nobody is bound to the id of the served file, whose own shards
 * merge/merge.c leaves out. */
#include "functions/functions.h"

#include <string.h>

enum { SENDER_SOURCES_MOST = 10000 };

/* ---- ids ------------------------------------------------------------------------------------- */

bool ctr_sender_is_foreign(const ctr_sender *from, const uint8_t id[CTR_ID_SIZE])
{
    char text[CTR_ID_TEXT_SIZE];
    ctr_run run = ctr_run_on(from->conn, "main", NULL);
    if (ctr_rc(from->conn) != SQLITE_OK) return false;
    ctr_id_to_text(id, text);
    ctr_run_bind_text(&run, from->is_foreign, ":id", text);
    ctr_run_bind_text(&run, from->is_foreign, ":token", from->digest);
    bool foreign = ctr_run_row(&run, from->is_foreign);
    sqlite3_reset(from->is_foreign);
    return foreign;
}

/* ---- sources --------------------------------------------------------------------------------- */

/* Returns whether the served file counts under an id, or has. */
static bool is_of_served_file(const ctr_sender *from, const uint8_t id[CTR_ID_SIZE])
{
    bool is = false;
    ctr_run run = ctr_run_on(from->conn, "main", NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_IDENTITY_OWN);
    while (ctr_run_row(&run, row)) {
        const void *own = sqlite3_column_blob(row, 0);
        is = is || (own && sqlite3_column_bytes(row, 0) == CTR_ID_SIZE &&
                    memcmp(own, id, CTR_ID_SIZE) == 0);
    }
    sqlite3_finalize(row);
    return is;
}

/* Binds the token to the id of its first source. Former ids of the sender are not bound: they may
 * be those of the file that it was copied from. */
static void bind_id(ctr_sender *from, const uint8_t id[CTR_ID_SIZE])
{
    char text[CTR_ID_TEXT_SIZE];
    ctr_file *file = ctr_file_of(from->conn, "main");
    if (from->bound || ctr_sender_is_foreign(from, id) || ctr_rc(from->conn) != SQLITE_OK) return;
    const ctr_identity *mine = file ? ctr_file_identity(file) : NULL;
    if (!file) ctr_problem_nomem(from->conn);
    if (!mine || is_of_served_file(from, id) || ctr_rc(from->conn) != SQLITE_OK) return;
    ctr_run run = ctr_run_on(from->conn, "main", NULL);
    ctr_id_to_text(id, text);
    ctr_run_with(&run, CTR_SQL_TOKENS_BIND, ":id t :token t", text, from->digest);
    from->bound = true;
}

/* The file keeps marks of each source, so that a token has not any number of them. */
static void note_source(ctr_sender *from, const char *source)
{
    ctr_run run = ctr_run_on(from->conn, "main", NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TOKENS_IS_SOURCE);
    ctr_run_bind_text(&run, row, ":token", from->digest);
    ctr_run_bind_text(&run, row, ":source", source);
    if (ctr_run_once(&run, row) || ctr_rc(from->conn) != SQLITE_OK) return;
    if (from->sources < 0) {
        row = ctr_run_prepare(&run, CTR_SQL_TOKENS_COUNT_SOURCES);
        ctr_run_bind_text(&run, row, ":token", from->digest);
        if (ctr_run_row(&run, row)) from->sources = sqlite3_column_int64(row, 0);
        sqlite3_finalize(row);
    }
    if (from->sources >= SENDER_SOURCES_MOST)
        ctr_problem_set(from->conn, SQLITE_ERROR,
                        "the token has brought changes of %d sources, the limit, and %Q is one "
                        "more",
                        SENDER_SOURCES_MOST, source);
    if (ctr_rc(from->conn) != SQLITE_OK) return;
    ctr_run_with(&run, CTR_SQL_TOKENS_NOTE_SOURCE, ":token t :source t", from->digest, source);
    from->sources++;
}

void ctr_sender_names(ctr_sender *from, const char *source)
{
    ctr_marks_source named;
    if (ctr_rc(from->conn) != SQLITE_OK) return;
    ctr_marks_source_of(source, strlen(source), &named);
    bind_id(from, named.id);
    note_source(from, source);
}

bool ctr_sender_is_foreign_source(const ctr_sender *from, const char *source)
{
    ctr_marks_source named;
    return ctr_marks_source_of(source, strlen(source), &named) &&
           ctr_sender_is_foreign(from, named.id);
}

/* ---- changes --------------------------------------------------------------------------------- */

static bool may_bring(const void *with, const ctr_shard *shard)
{
    return !ctr_sender_is_foreign(with, shard->id);
}

/* Appends a column without shards of others, and counts these. Returns false if nothing of it is
 * left. */
static bool put_rest(ctr_sender *from, ctr_told_column *told)
{
    ctr_cell cell;
    const ctr_own_filter bringing = {may_bring, from};
    if (told->kind->stored && ctr_cell_open(&cell, told->state, told->size) == CTR_OK) {
        from->cell.size = 0;
        uint8_t *out = ctr_pack_room(from->conn, &from->cell, cell.size + CTR_CELL_HEADER_MAX);
        if (!out) return false;
        ctr_cell rest = ctr_cell_written(out, ctr_cell_own(&cell, &bringing, out));
        int64_t foreign = (int64_t)ctr_cell_count(&cell) - (int64_t)ctr_cell_count(&rest);
        from->skipped += foreign;
        if (foreign > 0 && ctr_cell_is_untouched(&rest)) return false;
        if (foreign > 0) told->state = rest.bytes;
        if (foreign > 0) told->size = rest.size;
    }
    size_t size = CTR_CHANGE_HEADER_MAX + told->name_size + told->size;
    uint8_t *out = ctr_pack_room(from->conn, &from->columns, size);
    if (!out) return false;
    from->columns.size = (size_t)(ctr_change_put_column(out, told) - from->columns.bytes);
    return true;
}

bool ctr_sender_leave_out(ctr_sender *from, ctr_span *change)
{
    uint64_t n = 0;
    int64_t skipped = from->skipped;
    ctr_change_view view;
    ctr_told_column told;
    const uint8_t *bytes = (const uint8_t *)change->text;
    if (ctr_rc(from->conn) != SQLITE_OK || ctr_change_open(&view, bytes, change->size) != CTR_OK ||
        view.what != CTR_TELLS_ROW)
        return true; /* what is wrong with it, the merge says */
    from->columns.size = from->change.size = 0;
    while (ctr_change_next(&view, &told)) n += put_rest(from, &told);
    if (from->skipped == skipped) return ctr_rc(from->conn) == SQLITE_OK;
    uint8_t *out =
        ctr_pack_room(from->conn, &from->change, CTR_CHANGE_HEADER_MAX + from->columns.size);
    if (!out || ctr_rc(from->conn) != SQLITE_OK || (n == 0 && !view.row.is)) return false;
    uint8_t *end = ctr_change_begin_row(out, &view.row, n);
    if (n > 0) memcpy(end, from->columns.bytes, from->columns.size);
    *change = (ctr_span){(const char *)out, (size_t)(end - out) + from->columns.size};
    return true;
}

/* ---- the token ------------------------------------------------------------------------------- */

int ctr_sender_find(ctr_sender *from, ctr_conn *conn, const char *digest)
{
    *from = (ctr_sender){.conn = conn, .digest = digest, .sources = -1};
    ctr_run run = ctr_run_on(conn, "main", NULL);
    if (ctr_rc(conn) != SQLITE_OK) return ctr_rc(conn);
    if (ctr_schema_is_table(conn, "main", "counter_http_tokens") &&
        ctr_schema_is_table(conn, "main", "counter_http_ids")) {
        sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TOKENS_DEVICE);
        ctr_run_bind_text(&run, row, ":token", from->digest);
        const char *name = ctr_run_row(&run, row) ? ctr_text_column(conn, row, 0) : NULL;
        if (name) from->device = ctr_text_copy(conn, name);
        sqlite3_finalize(row);
    }
    if (!from->device)
        ctr_problem_set(conn, SQLITE_ERROR, "no device has a token with this digest");
    return ctr_rc(conn);
}

int ctr_sender_open(ctr_sender *from, ctr_conn *conn, const char *digest)
{
    ctr_run run = ctr_run_on(conn, "main", NULL);
    if (ctr_sender_find(from, conn, digest)) return ctr_rc(conn);
    if (!ctr_schema_is_table(conn, "main", "counter_http_sources")) {
        ctr_run_do(&run, CTR_SQL_TOKENS_CREATE_SOURCES, NULL);
        ctr_session_renew(conn);
    }
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TOKENS_HAS_ID);
    ctr_run_bind_text(&run, row, ":token", digest);
    from->bound = ctr_run_once(&run, row);
    from->is_foreign = ctr_run_prepare(&run, CTR_SQL_TOKENS_IS_FOREIGN);
    return ctr_rc(conn);
}

void ctr_sender_close(ctr_sender *from)
{
    sqlite3_finalize(from->is_foreign);
    sqlite3_free(from->device);
    sqlite3_free(from->cell.bytes);
    sqlite3_free(from->columns.bytes);
    sqlite3_free(from->change.bytes);
    *from = (ctr_sender){.conn = from->conn};
}
