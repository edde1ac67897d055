/* functions/server.c - what a file says to a server by HTTP, and remembers: docs/batches.md.
 *
 *     SELECT upload, query, source, mine FROM counter_request(url [, scope])
 *         the parameters of a request, percent-encoded: `query` asks for changes, too, and is NULL
 *         if the file knows nothing of the server. It uploads own changes from `mine` on.
 *     SELECT source, mine, more, changes, skipped, warnings
 *       FROM counter_heard(url, answer [, sent [, scope]])
 *         takes the first line of an answer. `sent`: up to where own changes were sent, NULL if the
 *         file knew nothing of the server. `warnings`: an array of JSON.
 *
 * counter_servers has a row for each URL. What a server says of a file holds for the name of its
 * own changes alone: a copy or a fork begins at 0. What is sent as `mine`, and by which the server
 * may leave out what the file has brought, is what it said when it had told everything: `told`. A
 * copy with a name makes no request before it has an id of its own. */
#include "functions/functions.h"

#include <string.h>

typedef struct server {
    ctr_conn *conn;
    ctr_scope scope;    /* owned */
    const char *url;    /* without slashes at its end, which may be there or not */
    char *own;          /* owned: the name of the own changes of main */
    const char *source; /* what the server gives, without a scope; NULL: it was never heard */
    int64_t mine;       /* up to where it has the own changes */
    int64_t told;       /* the same when it had told everything; -1: it never had */
    bool is_kept;       /* that is in the file */
    bool is_another;    /* the answer names another source than the one that had told everything */
} server;

static void read_kept(server *at)
{
    ctr_conn *conn = at->conn;
    ctr_run run = ctr_run_on(conn, "main", NULL);
    if (ctr_rc(conn) != SQLITE_OK || !ctr_schema_is_table(conn, "main", "counter_servers")) return;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SERVERS_READ);
    ctr_run_bind_text(&run, row, ":url", at->url);
    if (ctr_run_row(&run, row)) {
        const char *source = ctr_text_column(conn, row, 0), *own = ctr_text_column(conn, row, 1);
        at->source = source ? ctr_text_print(conn, "%s", source) : NULL;
        at->is_kept = own && strcmp(own, at->own) == 0;
        if (at->is_kept) at->mine = sqlite3_column_int64(row, 2);
        if (at->is_kept && sqlite3_column_type(row, 3) == SQLITE_INTEGER)
            at->told = sqlite3_column_int64(row, 3);
    }
    sqlite3_finalize(row);
}

static void open_server(server *at, sqlite3_value *url, sqlite3_value *scope)
{
    ctr_conn *conn = at->conn;
    at->told = -1;
    const char *text = ctr_answer_arg(conn, url, "the URL", "");
    size_t size = text ? strlen(text) : 0;
    while (size > 0 && text[size - 1] == '/') size--;
    at->url = ctr_text_print(conn, "%.*s", (int)size, text ? text : "");
    if (scope && sqlite3_value_type(scope) != SQLITE_NULL) ctr_scope_open(&at->scope, conn, scope);
    at->own = ctr_rc(conn) == SQLITE_OK ? ctr_exchange_source(conn, true, NULL) : NULL;
    if (!at->own && ctr_rc(conn) == SQLITE_OK) ctr_identity_missing(conn, "main");
    read_kept(at);
}

static void close_server(server *at)
{
    ctr_scope_close(&at->scope);
    sqlite3_free(at->own);
}

/* The first line that comes with a token binds that to the id of its source: a copy that keeps the
 * id of its original would take it away. */
static void refuse_id_of_original(ctr_conn *conn)
{
    ctr_identity identity;
    if (ctr_identity_read(&identity, conn, "main")) return;
    if (ctr_identity_is_of_original(&identity)) ctr_identity_say_refusal(conn, &identity, "main");
}

/* ---- the request ----------------------------------------------------------------------------- */

static void append_encoded(sqlite3_str *out, const char *text)
{
    static const char PLAIN[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (; *text; text++)
        if (strchr(PLAIN, *text))
            sqlite3_str_appendchar(out, 1, *text);
        else
            sqlite3_str_appendf(out, "%%%02X", (unsigned char)*text);
}

/* Returns the name of what the server gives of the scope, in the arena. */
static const char *scoped_source(const server *at)
{
    if (!at->scope.text) return at->source;
    return ctr_text_print(at->conn, "%s %s", at->source, at->scope.text);
}

static void answer_request(ctr_answer *answer, const server *at)
{
    ctr_conn *conn = at->conn;
    ctr_marks_source named;
    const char *source = at->source ? scoped_source(at) : NULL;
    int64_t since = 0;
    sqlite3_str *out = sqlite3_str_new(conn->db);
    sqlite3_str_appendall(out, "by=");
    append_encoded(out, at->own);
    if (source && at->told >= 0 && !at->scope.text)
        sqlite3_str_appendf(out, "&mine=%lld", (long long)at->told);
    if (at->scope.text) sqlite3_str_appendall(out, "&scope=");
    if (at->scope.text) append_encoded(out, at->scope.text);
    int size = sqlite3_str_length(out);
    if (source && ctr_marks_source_of(source, strlen(source), &named))
        since = ctr_marks_of_feed(conn, &named);
    sqlite3_str_appendf(out, "&since=%lld&of=", (long long)since);
    append_encoded(out, source ? source : "");
    char *query = ctr_text_finish(conn, out);
    if (query) ctr_answer_span(answer, (ctr_span){query, (size_t)size});
    ctr_answer_text(answer, source ? query : NULL);
    ctr_answer_text(answer, source);
    ctr_answer_integer(answer, at->mine);
    sqlite3_free(query);
}

static void fill_request(ctr_answer *answer, sqlite3_value **args)
{
    server at = {.conn = answer->conn};
    open_server(&at, args[0], args[1]);
    refuse_id_of_original(at.conn);
    if (ctr_rc(at.conn) == SQLITE_OK) answer_request(answer, &at);
    close_server(&at);
}

/* ---- the answer ------------------------------------------------------------------------------ */

enum {
    HEARD_FORMAT,
    HEARD_SOURCE,
    HEARD_MORE,
    HEARD_CHANGES,
    HEARD_SKIPPED,
    HEARD_MARKS,
    HEARD_WARNINGS,
    N_HEARD
};

static void read_members(ctr_conn *conn, sqlite3_value *answer, ctr_span *members)
{
    static const char *const KNOWN[] = {"format",  "source", "more",     "changes",
                                        "skipped", "marks",  "warnings", NULL};
    ctr_span whole;
    const char *text = ctr_answer_arg(conn, answer, "the answer", "");
    size_t size = text ? (size_t)sqlite3_value_bytes(answer) : 0;
    const char *wrong = ctr_rc(conn) == SQLITE_OK ? ctr_json_check(text, size, &whole) : NULL;
    if (ctr_rc(conn) == SQLITE_OK && (wrong || ctr_json_type_of(whole) != CTR_JSON_OBJECT))
        ctr_problem_set(conn, SQLITE_ERROR, "the answer %s",
                        wrong ? wrong : "must be an object of JSON");
    if (ctr_rc(conn) != SQLITE_OK) return;
    ctr_members_find(conn, whole, KNOWN, members);
    int64_t format = ctr_member_number(conn, "format", members[HEARD_FORMAT], 1);
    if (format > CTR_LINES_FORMAT)
        ctr_problem_set(
            conn, SQLITE_ERROR,
            "the answer has the format %lld, and this version reads %d: install a newer "
            "sqlite-counter",
            (long long)format, CTR_LINES_FORMAT);
}

/* Reads the source of the server, which must be of the scope that was asked for. */
static void hear_source(server *at, ctr_span member)
{
    ctr_conn *conn = at->conn;
    ctr_marks_source named;
    const char *source = ctr_member_text(conn, "source", member), *scope = at->scope.text;
    if (!source) return;
    bool is = ctr_marks_source_of(source, strlen(source), &named) && !named.own &&
              (scope ? named.scope && strcmp(scope, named.scope) == 0 : !named.scope);
    if (!is)
        ctr_problem_set(conn, SQLITE_ERROR, "the source %Q is not the name of a file%s%s", source,
                        scope ? ", with the scope " : "", scope ? scope : "");
    size_t size = strlen(source) - (is && scope ? strlen(scope) + 1 : 0);
    const char *whole = ctr_text_print(conn, "%.*s", (int)size, source);
    bool is_same = at->source && strcmp(at->source, whole) == 0;
    at->is_another = at->source && !is_same && at->told >= 0;
    at->is_kept = at->is_kept && is_same;
    if (!at->is_kept) at->told = -1;
    at->source = whole;
}

/* Reads up to where the server has what was sent; nothing if what it has given has made the file
 * take another id, under whose name it has sent nothing yet. A file that was restored has fewer
 * changes than the server has heard of, so that nothing above the end of what it has sent is
 * believed. One that knew nothing of the server believes what can be true. */
static void hear_mark(server *at, ctr_span marks, sqlite3_value *sent)
{
    ctr_conn *conn = at->conn;
    const char *const names[] = {at->own, NULL};
    ctr_span member = {NULL, 0};
    int64_t mark = 0;
    if (!marks.text || ctr_json_type_of(marks) != CTR_JSON_OBJECT)
        ctr_member_refuse(conn, "marks", "an object", marks);
    else
        ctr_members_find(conn, marks, names, &member);
    if (member.text) mark = ctr_member_number(conn, "marks", member, 0);
    if (ctr_rc(conn) != SQLITE_OK) return;
    if (sent && sqlite3_value_type(sent) != SQLITE_NULL) {
        int64_t most = ctr_arg_between(conn, "sent", "an INTEGER, 0 or more", sent, 0, INT64_MAX);
        if (mark > most) mark = most;
    } else if (mark > ctr_feed_end(conn)) {
        mark = 0;
    }
    at->is_kept = at->is_kept && at->mine == mark;
    at->mine = mark;
}

/* Notes that the server has told everything that it has, so that it may leave out from now on what
 * it has from the file up to there. Before that, and of a scope, this would hide from a file that
 * was restored what it has lost. */
static void hear_all(server *at)
{
    at->is_kept = at->is_kept && at->told == at->mine;
    at->told = at->mine;
}

static void keep(const server *at)
{
    ctr_conn *conn = at->conn;
    ctr_session session = {0};
    if (ctr_rc(conn) != SQLITE_OK || at->is_kept) return;
    if (ctr_session_begin(&session, conn, true) == SQLITE_OK) {
        ctr_session_lock(&session, "main");
        ctr_run run = ctr_run_on(conn, "main", NULL);
        if (!ctr_schema_is_table(conn, "main", "counter_servers")) {
            ctr_run_do(&run, CTR_SQL_SERVERS_CREATE, NULL);
            ctr_session_renew(conn);
        }
        ctr_run_with(&run, CTR_SQL_SERVERS_WRITE, ":url t :source t :own t :mark i :told i",
                     at->url, at->source, at->own, at->mine, at->told);
    }
    ctr_session_end(&session);
}

/* Answers with what the server warns of, and with what it does not know of itself. */
static void answer_heard_warnings(ctr_answer *answer, const server *at, ctr_span said)
{
    static const char ANOTHER[] =
        "the server has another id than before. If it was restored, or is another file, what it "
        "had changed itself or had from others may be missing there, for devices give what they "
        "have changed themselves: sqlite-counter export FILE | sqlite-counter import SERVED brings "
        "it back";
    ctr_span none;
    size_t first = 0;
    if (!at->is_another) {
        ctr_answer_span(answer, said);
        return;
    }
    bool any = ctr_json_next(said, &first, &none, &none);
    sqlite3_str *out = sqlite3_str_new(answer->conn->db);
    sqlite3_str_append(out, said.text, (int)said.size - 1);
    if (any) sqlite3_str_appendchar(out, 1, ',');
    ctr_lines_append_text(out, ANOTHER);
    sqlite3_str_appendchar(out, 1, ']');
    char *text = ctr_text_finish(answer->conn, out);
    ctr_answer_text(answer, text);
    sqlite3_free(text);
}

static void fill_heard(ctr_answer *answer, sqlite3_value **args)
{
    ctr_conn *conn = answer->conn;
    server at = {.conn = conn};
    ctr_span members[N_HEARD] = {{NULL, 0}};
    open_server(&at, args[0], args[3]);
    read_members(conn, args[1], members);
    if (ctr_rc(conn) == SQLITE_OK) hear_source(&at, members[HEARD_SOURCE]);
    if (ctr_rc(conn) == SQLITE_OK) hear_mark(&at, members[HEARD_MARKS], args[2]);
    const ctr_span more = members[HEARD_MORE], said = members[HEARD_WARNINGS];
    if (ctr_rc(conn) == SQLITE_OK && (!more.text || (ctr_json_type_of(more) != CTR_JSON_FALSE &&
                                                     ctr_json_type_of(more) != CTR_JSON_TRUE)))
        ctr_member_refuse(conn, "more", "true or false", more);
    if (ctr_rc(conn) == SQLITE_OK && (!said.text || ctr_json_type_of(said) != CTR_JSON_ARRAY))
        ctr_member_refuse(conn, "warnings", "an array", said);
    bool has_more = more.text && ctr_json_type_of(more) == CTR_JSON_TRUE;
    if (!has_more && !at.scope.text) hear_all(&at);
    int64_t changes = ctr_member_number(conn, "changes", members[HEARD_CHANGES], 0);
    int64_t skipped = ctr_member_number(conn, "skipped", members[HEARD_SKIPPED], 0);
    keep(&at);
    if (ctr_rc(conn) == SQLITE_OK) {
        ctr_answer_text(answer, scoped_source(&at));
        ctr_answer_integer(answer, at.mine);
        ctr_answer_integer(answer, has_more);
        ctr_answer_integer(answer, changes);
        ctr_answer_integer(answer, skipped);
        answer_heard_warnings(answer, &at, said);
    }
    close_server(&at);
}

int ctr_server_register(sqlite3 *db, ctr_conn *conn)
{
    static const ctr_answer_kind ANSWERS[] = {
        {.name = "counter_request",
         .columns = "upload TEXT, query TEXT, source TEXT, mine INTEGER",
         .args = "url HIDDEN, scope HIDDEN",
         .n_needed = 1,
         .usage = "one argument is needed, the URL of a server",
         .fill = fill_request},
        {.name = "counter_heard",
         .columns = "source TEXT, mine INTEGER, more INTEGER, changes INTEGER, skipped INTEGER, "
                    "warnings TEXT",
         .args = "url HIDDEN, answer HIDDEN, sent HIDDEN, scope HIDDEN",
         .n_needed = 2,
         .usage = "two arguments are needed, the URL of a server and the first line of its answer",
         .works = true,
         .fill = fill_heard},
    };
    return ctr_answer_register(db, conn, ANSWERS, sizeof ANSWERS / sizeof *ANSWERS);
}
