/* functions/take.c - takes changes that came as lines of JSON: docs/batches.md.
 *
 *     SELECT counter_take(lines [, scope [, source]])
 *     SELECT counter_receive(digest, lines [, by [, mine]])
 *
 * All lines are merged, or none. The answer is
 * {"changes":12,"skipped":0,"marks":{"...":9},"warnings":[...]}. Lines of another `source` are
 * refused. A server receives: what may come with a token is that of functions/sender.c. Its answer
 * has the mark of the source `by`, too, whether lines of that came or not; and `left_out`, the same
 * mark if `mine` was the one before, else 0: counter_lines leaves out what `by` has brought up to
 * there. */
#include "functions/functions.h"

#include <string.h>

/* What one call may bring; the first two bound a body that came with a token. */
enum {
    TAKEN_LINES_MOST = 40000,
    TAKEN_CHANGES_MOST = 100000,
    TAKEN_SOURCES_MOST = 1000,
    DAY = 86400000 /* milliseconds */
};

/* ---- members --------------------------------------------------------------------------------- */

const char *ctr_member_text(ctr_conn *conn, const char *name, ctr_span value)
{
    if (ctr_rc(conn) != SQLITE_OK) return NULL;
    bool is = value.text && ctr_json_type_of(value) == CTR_JSON_TEXT;
    char *text = is ? sqlite3_malloc64(value.size) : NULL;
    if (is && !text) ctr_problem_nomem(conn);
    if (!is) ctr_member_refuse(conn, name, "a text", value);
    if (!text) return NULL;
    size_t size = ctr_json_text(value, text);
    text[size] = '\0';
    if (memchr(text, '\0', size))
        ctr_problem_set(conn, SQLITE_ERROR, "the member %s has a character U+0000", name);
    const char *kept = ctr_text_print(conn, "%s", text);
    sqlite3_free(text);
    return kept;
}

int64_t ctr_member_number(ctr_conn *conn, const char *name, ctr_span value, int64_t least)
{
    int64_t n = 0;
    if (ctr_rc(conn) != SQLITE_OK) return 0;
    if (value.text && ctr_json_type_of(value) == CTR_JSON_INTEGER && ctr_json_integer(value, &n) &&
        n >= least)
        return n;
    const char *wanted = ctr_text_print(conn, "a whole number, %lld or more", (long long)least);
    ctr_member_refuse(conn, name, wanted, value);
    return 0;
}

void ctr_members_find(ctr_conn *conn, ctr_span object, const char *const *names, ctr_span *values)
{
    size_t at = 0;
    ctr_span name, value;
    for (int i = 0; names[i]; i++) values[i] = (ctr_span){NULL, 0};
    while (ctr_json_next(object, &at, &name, &value))
        for (int i = 0; names[i]; i++) {
            if (!ctr_json_is(name, names[i])) continue;
            if (values[i].text)
                ctr_problem_set(conn, SQLITE_ERROR, "the member %s is there twice", names[i]);
            values[i] = value;
        }
}

/* Appends what the digits say. Returns how many bytes that is. */
static size_t member_bytes(ctr_taker *to, const char *name, ctr_span value)
{
    ctr_conn *conn = to->conn;
    size_t n = value.text && value.size >= 2 ? (value.size - 2) / 2 : 0;
    uint8_t *out = ctr_rc(conn) == SQLITE_OK ? ctr_pack_room(conn, &to->bytes, n + 1) : NULL;
    if (!out) return 0;
    if (!value.text || !ctr_json_hex(value, out))
        ctr_member_refuse(conn, name, "a text of hexadecimal digits", value);
    to->bytes.size += n;
    return n;
}

/* ---- changes --------------------------------------------------------------------------------- */

static void count_came(ctr_taker *to)
{
    if (++to->came > TAKEN_CHANGES_MOST && to->sender)
        ctr_problem_set(to->conn, SQLITE_TOOBIG,
                        "it is one of more than %d changes, the limit: send them in several parts",
                        TAKEN_CHANGES_MOST);
}

/* `fed` tells what brings it: without a number if the line does not begin at the mark of its
 * source, or if nobody says for the device of another token what has come of it. */
static void take_one_change(ctr_taker *to, const ctr_fed *fed, ctr_span object)
{
    enum { TABLE, COLUMNS, PACKED, CHANGE, SEQ, N };
    static const char *const KNOWN[] = {"table", "key_columns", "packed", "change", "seq", NULL};
    ctr_span members[N];
    ctr_conn *conn = to->conn;
    ctr_change change = {.fed = *fed, .scope = to->scope};
    if (ctr_json_type_of(object) != CTR_JSON_OBJECT) {
        ctr_problem_set(conn, SQLITE_ERROR, "it must be an object");
        return;
    }
    ctr_members_find(conn, object, KNOWN, members);
    to->bytes.size = 0;
    change.table = ctr_member_text(conn, "table", members[TABLE]);
    if (members[COLUMNS].text && ctr_json_type_of(members[COLUMNS]) != CTR_JSON_NULL)
        change.key_text = ctr_member_text(conn, "key_columns", members[COLUMNS]);
    change.key_size = member_bytes(to, "packed", members[PACKED]);
    size_t size = member_bytes(to, "change", members[CHANGE]);
    const int64_t number = ctr_member_number(conn, "seq", members[SEQ], 0);
    count_came(to);
    ctr_file *file = to->came == CTR_SESSION_MANY ? ctr_file_of(conn, "main") : NULL;
    if (file) ctr_session_raise_cache(file);
    if (ctr_rc(conn) != SQLITE_OK) return;
    change.key = to->bytes.bytes ? to->bytes.bytes : (const uint8_t *)""; /* both may be empty */
    change.bytes = change.key + change.key_size;
    change.size = size;
    if (to->sender) change.device = to->sender->device;
    if (to->sender) change.bringing = &to->sender->bringing;
    const int64_t missing = to->sender ? to->sender->bringing.missing : 0;
    ctr_apply_change(&to->apply, &change);
    if (to->sender && !*to->foreign && (to->began > 0 ? to->began : number) < to->yesterday)
        to->overdue += to->sender->bringing.missing - missing;
    to->changes += ctr_rc(conn) == SQLITE_OK && !change.passed_over;
}

/* ---- how far sources have come --------------------------------------------------------------- */

/* Notes that a source came from `since` to `upto`; lines that follow each other are one way. */
static void note_way(ctr_taker *to, const struct ctr_taken *came)
{
    struct ctr_taken *found = NULL;
    bool held = came->held;
    for (size_t i = to->n; i-- > 0 && !found;)
        if (strcmp(to->sources[i].name, came->name) == 0) found = &to->sources[i];
    if (found) held = found->held = found->held || held; /* its later lines, too */
    if (found && found->since <= came->since && came->since <= found->upto) {
        if (came->upto > found->upto) found->upto = came->upto;
        found->follows = found->follows && came->follows;
        return;
    }
    if (!found && ++to->n_names > TAKEN_SOURCES_MOST)
        ctr_problem_set(to->conn, SQLITE_TOOBIG,
                        "there are more than %d sources, the limit: send them in several parts",
                        TAKEN_SOURCES_MOST);
    struct ctr_taken *sources =
        ctr_rc(to->conn) == SQLITE_OK
            ? ctr_array_room(to->conn, to->sources, &to->room, to->n + 1, sizeof *sources)
            : NULL;
    if (!sources) return;
    to->sources = sources;
    sources[to->n] = *came;
    sources[to->n].held = held;
    sources[to->n].name = ctr_text_copy(to->conn, came->name);
    if (sources[to->n].name) to->n++;
}

/* Returns whether the mark of a source stays, after `refused` and `missing` shards before its line:
 * what was refused comes again, and so does what a device that has another token is to bring.
 * Nobody says for such a device what has come of its own changes. */
static bool is_held(const ctr_taker *to, int64_t refused, int64_t missing)
{
    return to->sender &&
           (to->conn->stats.refused != refused || to->sender->bringing.missing != missing);
}

static int64_t mark_of_source(ctr_conn *conn, const char *name)
{
    ctr_marks_source named;
    if (ctr_rc(conn) != SQLITE_OK) return 0;
    if (ctr_marks_source_of(name, strlen(name), &named)) return ctr_marks_of_feed(conn, &named);
    ctr_problem_set(conn, SQLITE_ERROR, "by must be the name of a file, not %Q", name);
    return 0;
}

/* Returns whether a line begins where its source had come to. What comes from below the mark,
 * and is news, is of a twin or of a file that was restored: then it is noted as that of nobody,
 * so that everybody is told it. */
static bool follows_mark(const ctr_taker *to, const char *source, int64_t since)
{
    for (size_t i = to->n; i-- > 0;)
        if (strcmp(to->sources[i].name, source) == 0)
            return to->sources[i].follows && since == to->sources[i].upto;
    return since == mark_of_source(to->conn, source);
}

/* A line, before its changes are taken. */
typedef struct line_head {
    const char *source;     /* in the arena */
    ctr_marks_source named; /* what that says */
    int64_t since, upto;
    ctr_span changes;
} line_head;

/* Returns false, after an error, if the line is none. */
static bool read_head(const ctr_taker *to, ctr_span line, line_head *head)
{
    enum { FORMAT, SOURCE, SINCE, UPTO, CHANGES, N };
    static const char *const KNOWN[] = {"format", "source", "since", "upto", "changes", NULL};
    ctr_conn *conn = to->conn;
    ctr_span whole, members[N];
    const char *wrong = ctr_json_check(line.text, line.size, &whole);
    if (wrong || ctr_json_type_of(whole) != CTR_JSON_OBJECT) {
        ctr_problem_set(conn, SQLITE_ERROR, "it %s", wrong ? wrong : "must be an object of JSON");
        return false;
    }
    ctr_members_find(conn, whole, KNOWN, members);
    int64_t format = ctr_member_number(conn, "format", members[FORMAT], 1);
    if (format > CTR_LINES_FORMAT)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "it has the format %lld, and this version reads %d: install a newer "
                        "sqlite-counter",
                        (long long)format, CTR_LINES_FORMAT);
    const char *source = head->source = ctr_member_text(conn, "source", members[SOURCE]);
    head->since = ctr_member_number(conn, "since", members[SINCE], 0);
    head->upto = ctr_member_number(conn, "upto", members[UPTO], head->since);
    const ctr_span changes = head->changes = members[CHANGES];
    if (ctr_rc(conn) == SQLITE_OK && (!changes.text || ctr_json_type_of(changes) != CTR_JSON_ARRAY))
        ctr_problem_set(conn, SQLITE_ERROR, "the member changes must be an array");
    if (ctr_rc(conn) == SQLITE_OK && !ctr_marks_source_of(source, strlen(source), &head->named))
        ctr_problem_set(conn, SQLITE_ERROR, "the source %Q is not the name of a file", source);
    if (ctr_rc(conn) == SQLITE_OK && to->only && strcmp(to->only, source) != 0)
        ctr_problem_set(conn, SQLITE_ERROR, "it has changes of %Q, not of %Q", source, to->only);
    return ctr_rc(conn) == SQLITE_OK;
}

static void take_line(ctr_taker *to, ctr_span line)
{
    size_t at = 0;
    int64_t n = 0;
    line_head head;
    ctr_conn *conn = to->conn;
    ctr_span none, change;
    if (!read_head(to, line, &head)) return;
    const char *source = head.source;
    if (to->sender) ctr_sender_names(to->sender, source);
    const int64_t refused = conn->stats.refused;
    const int64_t missing = to->sender ? to->sender->bringing.missing : 0;
    bool foreign =
        ctr_rc(conn) == SQLITE_OK && to->sender && ctr_sender_is_foreign_source(to->sender, source);
    if (foreign) ctr_id_to_text(head.named.id, to->foreign);
    if (to->n == 0) to->began = head.since;
    bool follows = ctr_rc(conn) == SQLITE_OK && follows_mark(to, source, head.since);
    const ctr_fed fed = ctr_marks_fed(&head.named, foreign || !follows ? 0 : head.upto);
    while (ctr_rc(conn) == SQLITE_OK && ctr_json_next(head.changes, &at, &none, &change)) {
        ctr_text *mark = ctr_text_mark(conn);
        n++;
        take_one_change(to, &fed, change);
        if (ctr_rc(conn) != SQLITE_OK) ctr_problem_where(conn, "change %lld", (long long)n);
        ctr_text_release(conn, mark);
    }
    const bool held = foreign || is_held(to, refused, missing);
    if (ctr_rc(conn) != SQLITE_OK) return;
    const struct ctr_taken came = {.name = (char *)source,
                                   .since = head.since,
                                   .upto = head.upto,
                                   .held = held,
                                   .follows = follows};
    note_way(to, &came);
}

void ctr_taker_line(ctr_taker *to, ctr_span line)
{
    ctr_text *mark = ctr_text_mark(to->conn);
    if (ctr_rc(to->conn) == SQLITE_OK) take_line(to, line);
    ctr_text_release(to->conn, mark);
}

/* Returns the number of lines; a line break at the end begins none. */
static int64_t count_lines(const char *text, size_t size)
{
    int64_t n = 1;
    const char *end = text + size, *at = text;
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at))) && ++at < end) n++;
    return n;
}

static bool has_nothing(const char *text, const char *end)
{
    while (text < end && (*text == ' ' || *text == '\t' || *text == '\r')) text++;
    return text == end;
}

static void take_lines(ctr_taker *to, const char *text, size_t size)
{
    ctr_conn *conn = to->conn;
    const char *end = text + size;
    int64_t lines = count_lines(text, size);
    if (lines > TAKEN_LINES_MOST && to->sender)
        ctr_problem_set(conn, SQLITE_TOOBIG,
                        "there are %lld lines, and %d are the limit: send them in several parts",
                        (long long)lines, TAKEN_LINES_MOST);
    for (int64_t n = 1; text < end && ctr_rc(conn) == SQLITE_OK; n++) {
        const char *next = memchr(text, '\n', (size_t)(end - text));
        const char *behind = next ? next : end;
        if (!has_nothing(text, behind))
            ctr_taker_line(to, (ctr_span){text, (size_t)(behind - text)});
        if (ctr_rc(conn) != SQLITE_OK && lines > 1)
            ctr_problem_where(conn, "line %lld", (long long)n);
        text = next ? next + 1 : end;
    }
}

static void raise_marks(ctr_taker *to)
{
    for (size_t i = 0; i < to->n && ctr_rc(to->conn) == SQLITE_OK; i++) {
        struct ctr_taken *source = &to->sources[i];
        source->mark = ctr_exchange_raise(to->conn, source->name, to->scope, source->since,
                                          source->held ? source->since : source->upto);
    }
}

/* Adds `by`, whose mark stands last in the answer. Sets `left_out` if the client knew its mark. */
static void note_mark_of_by(ctr_taker *to)
{
    const char *name = to->by;
    if (!name || ctr_rc(to->conn) != SQLITE_OK) return;
    struct ctr_taken *sources =
        ctr_array_room(to->conn, to->sources, &to->room, to->n + 1, sizeof *sources);
    if (!sources) return;
    to->sources = sources;
    sources[to->n] = (struct ctr_taken){.name = ctr_text_copy(to->conn, name)};
    sources[to->n].mark = mark_of_source(to->conn, name);
    if (to->is_known) to->left_out = sources[to->n].mark;
    if (sources[to->n].name) to->n++;
}

static void note_known(ctr_taker *to)
{
    to->is_known = to->by && mark_of_source(to->conn, to->by) == to->mine;
}

void ctr_taker_begin(ctr_taker *to, const char *digest)
{
    ctr_conn *conn = to->conn;
    to->apply = (ctr_apply){.conn = conn, .at_once = true};
    to->refused_before = conn->stats.refused;
    to->yesterday = (ctr_os_now() - DAY) * CTR_STAMPS_IN_MS;
    to->inserted = sqlite3_last_insert_rowid(conn->db);
    if (ctr_session_begin(&to->session, conn, true) != SQLITE_OK) return;
    ctr_session_lock(&to->session, "main");
    if (digest) ctr_sender_open(to->sender, conn, digest);
    note_known(to);
    ctr_conn_require_join(conn);
}

void ctr_taker_end(ctr_taker *to)
{
    ctr_conn *conn = to->conn;
    ctr_apply_release(&to->apply);
    if (ctr_rc(conn) == SQLITE_OK) ctr_exchange_show_apart(conn);
    raise_marks(to);
    note_mark_of_by(to);
    ctr_file *file = ctr_file_of(conn, "main");
    if (file) ctr_session_lower_cache(file);
    ctr_session_end(&to->session);
    if (ctr_rc(conn) == SQLITE_OK)
        ctr_apply_keep(&to->apply);
    else
        ctr_apply_forget(&to->apply);
    to->refused = conn->stats.refused - to->refused_before;
    sqlite3_set_last_insert_rowid(conn->db, to->inserted);
}

void ctr_taker_close(ctr_taker *to)
{
    for (size_t i = 0; i < to->n; i++) sqlite3_free(to->sources[i].name);
    sqlite3_free(to->sources);
    sqlite3_free(to->bytes.bytes);
    to->sources = NULL;
    to->bytes.bytes = NULL;
    to->n = 0;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void append_marks(const ctr_taker *to, sqlite3_str *out)
{
    const char *comma = "";
    for (size_t i = 0; i < to->n; i++) {
        bool is_last = true; /* of several ways of one source */
        for (size_t k = i + 1; k < to->n; k++)
            is_last = is_last && strcmp(to->sources[k].name, to->sources[i].name) != 0;
        if (!is_last) continue;
        sqlite3_str_appendall(out, comma);
        ctr_lines_append_text(out, to->sources[i].name);
        sqlite3_str_appendf(out, ":%lld", (long long)to->sources[i].mark);
        comma = ",";
    }
}

static void append_warnings_json(ctr_conn *conn, sqlite3_str *out)
{
    const char *comma = "";
    ctr_run run = ctr_run_on(conn, "main", NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_LINES_WARNINGS);
    for (; ctr_run_row(&run, row); comma = ",") {
        const char *text = ctr_text_column(conn, row, 0);
        sqlite3_str_appendall(out, comma);
        if (text) ctr_lines_append_text(out, text);
    }
    sqlite3_finalize(row);
}

/* What a client is told that has a token; the warnings of this file are not for it. */
static void append_for_sender(const ctr_taker *to, sqlite3_str *out)
{
    int n = 0;
    ctr_conn *conn = to->conn;
    char missing[CTR_ID_TEXT_SIZE];
    const char *said[3], *who = to->sender->device;
    ctr_id_to_text(to->sender->bringing.first, missing);
    if (to->refused > 0)
        said[n++] = ctr_text_print(
            conn,
            "the device %s sent %lld count%s under an id of the served file itself, or of its "
            "first "
            "values, that this file does not have: not taken, but listed in its counter_conflicts. "
            "If it was restored from a backup, whoever runs the server can import there what the "
            "device exports; if the file of the device is a copy of it, do not import that, but "
            "call counter_fork() in the copy",
            who, (long long)to->refused, to->refused == 1 ? "" : "s");
    if (*to->foreign)
        said[n++] = ctr_text_print(
            conn,
            "it skips what this file has counted, for the id of the file is bound to another "
            "token: "
            "whoever runs the server moves it to that of %s by remove_token('%s', to=...); then "
            "everything is uploaded once more",
            who, to->foreign);
    if (to->overdue > 0)
        said[n++] = ctr_text_print(
            conn,
            "%lld count%s of devices that have tokens of their own did not come from these for a "
            "day: not taken, and to be sent again until they do. If such a device is gone, whoever "
            "runs the server gives its ids to the token of %s by remove_token('%s', to=...); if it "
            "was restored, let it sync once by path with the file that sends its counts",
            (long long)to->overdue, to->overdue == 1 ? "" : "s", who, missing);
    for (int i = 0; i < n; i++) {
        if (i > 0) sqlite3_str_appendchar(out, 1, ',');
        ctr_lines_append_text(out, said[i]);
    }
}

static void append_answer(const ctr_taker *to, sqlite3_str *out)
{
    sqlite3_str_appendchar(out, 1, '{'); /* left_out comes first: the npm package reads it there */
    if (to->sender && to->mine >= 0)
        sqlite3_str_appendf(out, "\"left_out\":%lld,", (long long)to->left_out);
    sqlite3_str_appendf(out, "\"changes\":%lld,\"skipped\":%lld,\"marks\":{",
                        (long long)to->changes,
                        to->sender ? (long long)to->sender->bringing.skipped : 0LL);
    append_marks(to, out);
    sqlite3_str_appendall(out, "},\"warnings\":[");
    if (to->sender)
        append_for_sender(to, out);
    else
        append_warnings_json(to->conn, out);
    sqlite3_str_appendall(out, "]}");
}

/* `digest` is that of the token with which the lines came, or NULL. Without lines nothing is
 * written. */
static void take_body(ctr_taker *to, const char *digest, const char *text, size_t size)
{
    if (digest && has_nothing(text, text + size)) {
        ctr_sender_find(to->sender, to->conn, digest);
        note_known(to);
        note_mark_of_by(to);
        return;
    }
    ctr_taker_begin(to, digest);
    take_lines(to, text, size);
    ctr_taker_end(to);
}

static void take_value(sqlite3_context *ctx, const char *function, ctr_taker *to,
                       const char *digest, sqlite3_value *lines)
{
    ctr_problem problem;
    int type = sqlite3_value_type(lines);
    if (type != SQLITE_TEXT && type != SQLITE_BLOB) {
        ctr_arg_refuse(ctx, function, "the lines", "TEXT or a BLOB, lines of JSON", lines);
        return;
    }
    const char *text =
        type == SQLITE_TEXT ? (const char *)sqlite3_value_text(lines) : sqlite3_value_blob(lines);
    size_t size = (size_t)sqlite3_value_bytes(lines);
    if (!text && size > 0) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    ctr_problem_begin(to->conn, &problem);
    take_body(to, digest, text, size);
    sqlite3_str *out = sqlite3_str_new(sqlite3_context_db_handle(ctx));
    if (ctr_rc(to->conn) == SQLITE_OK) append_answer(to, out);
    if (ctr_arg_problem(ctx, function, &problem))
        ctr_arg_result_built(ctx, out);
    else
        sqlite3_free(sqlite3_str_finish(out));
    ctr_taker_close(to);
}

static void fn_take(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    static const char TAKE[] = "counter_take";
    ctr_taker to = {.conn = sqlite3_user_data(ctx)};
    if (argc > 1 && sqlite3_value_type(argv[1]) != SQLITE_NULL) to.scope = argv[1];
    if (argc > 2 && sqlite3_value_type(argv[2]) != SQLITE_NULL) {
        to.only = ctr_arg_text(ctx, TAKE, "the source", argv[2]);
        if (!to.only) return;
    }
    take_value(ctx, TAKE, &to, NULL, argv[0]);
}

static void fn_receive(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    static const char RECEIVE[] = "counter_receive";
    ctr_sender sender = {.conn = sqlite3_user_data(ctx)};
    ctr_taker to = {.conn = sender.conn, .sender = &sender, .mine = -1};
    const char *digest = ctr_arg_text(ctx, RECEIVE, "the digest of the token", argv[0]);
    bool has_by = argc > 2 && sqlite3_value_type(argv[2]) != SQLITE_NULL;
    if (digest && has_by) to.by = ctr_arg_text(ctx, RECEIVE, "by", argv[2]);
    bool is_right = digest && (to.by || !has_by);
    if (is_right && argc > 3 && sqlite3_value_type(argv[3]) != SQLITE_NULL)
        is_right = ctr_arg_integer(ctx, RECEIVE, "mine", argv[3], 0, INT64_MAX, &to.mine);
    if (is_right) take_value(ctx, RECEIVE, &to, digest, argv[1]);
    ctr_sender_close(&sender);
}

int ctr_take_register(sqlite3 *db, ctr_conn *conn)
{
    static const ctr_function FUNCTIONS[] = {
        {"counter_take", 1, 3, CTR_ADMIN, fn_take},
        {"counter_receive", 2, 4, CTR_ADMIN, fn_receive},
    };
    return ctr_shared_functions(db, conn, FUNCTIONS, sizeof FUNCTIONS / sizeof *FUNCTIONS);
}
