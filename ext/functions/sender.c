/* functions/sender.c - who has a token, and what may come with it: docs/batches.md.
 *
 * A token stands in the served file as the SHA-256 of its text. The first line that comes with it
 * binds it to the id at the beginning of its source. merge/apply.c leaves shards of ids that are
 * bound to other tokens out of what comes; nobody is bound to the id of the served file, whose own
 * shards it leaves out, too. */
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

/* ---- the token ------------------------------------------------------------------------------- */

int ctr_sender_find(ctr_sender *from, ctr_conn *conn, const char *digest)
{
    *from = (ctr_sender){
        .conn = conn, .digest = digest, .sources = -1, .bringing.may = {may_bring, from}};
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
    else if (!ctr_schema_is_table(conn, "main", "counter_tables"))
        ctr_problem_set(conn, SQLITE_ERROR,
                        "the served file has no counter tables: whoever runs the server creates "
                        "those of the devices in it, or calls counter_replicate() or "
                        "counter_track() for its tables");
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
    *from = (ctr_sender){.conn = from->conn};
}
