/* functions/lines.c - changes as lines of JSON, which any transport carries: docs/batches.md.
 *
 *     SELECT line FROM counter_lines(since [, own [, scope]])
 *     SELECT counter_take(lines [, scope])
 *
 * A line is a batch: {"format":2,"source":"...","since":0,"upto":9,"changes":[...]}. A change has
 * "table", "key_columns", the key as JSON for people and as hexadecimal digits, "packed", the
 * change as hexadecimal digits, and "seq". counter_take merges all lines or none, and answers with
 * {"changes":12,"skipped":0,"marks":{"...":9},"warnings":[...]}. */
#include "functions/functions.h"

#include <string.h>

/* Clients that write cells in place of changes have format 1. */
enum { LINES_FORMAT = 2 };

/* =================================================================================================
 * giving - counter_lines. */

enum { LINE_CHANGES_MOST = 1000, LINE_BYTES_MOST = 1 << 20 };

/* Columns of CTR_SQL_LINES_CHANGES. */
enum { OF_PLACE, OF_TABLE, OF_COLUMNS, OF_KEY, OF_CHANGE, OF_SEQ, OF_SOURCE, OF_UPTO };

typedef struct lines_cursor {
    sqlite3_vtab_cursor base;
    sqlite3_stmt
        *rows;  /* owned; stands on the first change of the next line; NULL: there is none */
    char *line; /* owned; NULL: the end */
    int64_t row, since, upto, n;
} lines_cursor;

static ctr_conn *conn_of_lines(const lines_cursor *cursor)
{
    return ((ctr_joined *)cursor->base.pVtab)->conn;
}

static int lines_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                         sqlite3_vtab **base, char **message)
{
    (void)argc;
    (void)argv;
    (void)message;
    int rc =
        sqlite3_declare_vtab(db, "CREATE TABLE x(line TEXT, since INTEGER, upto INTEGER, "
                                 "changes INTEGER, \"from\" HIDDEN, own HIDDEN, scope HIDDEN)");
    if (rc != SQLITE_OK) return rc;
    sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    ctr_joined *table = sqlite3_malloc64(sizeof *table);
    if (!table) return SQLITE_NOMEM;
    *table = (ctr_joined){.conn = aux};
    *base = &table->base;
    return SQLITE_OK;
}

static int lines_disconnect(sqlite3_vtab *base)
{
    sqlite3_free(base->zErrMsg);
    sqlite3_free(base);
    return SQLITE_OK;
}

enum { LINES_FROM = 4, LINES_ARGS = 3 };

static int lines_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    (void)base;
    int at[LINES_ARGS] = {-1, -1, -1}, n = 0;
    for (int i = 0; i < info->nConstraint; i++) {
        int arg = info->aConstraint[i].iColumn - LINES_FROM;
        if (arg < 0 || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
        if (!info->aConstraint[i].usable) return SQLITE_CONSTRAINT;
        at[arg] = i;
    }
    for (int i = 0; i < LINES_ARGS; i++) {
        if (at[i] < 0) continue;
        info->idxNum |= 1 << i;
        info->aConstraintUsage[at[i]].argvIndex = ++n;
        info->aConstraintUsage[at[i]].omit = 1;
    }
    info->estimatedCost = at[0] < 0 ? 1e99 : 1e6;
    return SQLITE_OK;
}

static int lines_open(sqlite3_vtab *base, sqlite3_vtab_cursor **cursor)
{
    (void)base;
    lines_cursor *made = sqlite3_malloc64(sizeof *made);
    if (!made) return SQLITE_NOMEM;
    memset(made, 0, sizeof *made);
    *cursor = &made->base;
    return SQLITE_OK;
}

static void end_lines(lines_cursor *cursor)
{
    sqlite3_finalize(cursor->rows);
    sqlite3_free(cursor->line);
    cursor->rows = NULL;
    cursor->line = NULL;
}

static int lines_close(sqlite3_vtab_cursor *base)
{
    end_lines((lines_cursor *)base);
    sqlite3_free(base);
    return SQLITE_OK;
}

static void append_text_json(ctr_conn *conn, sqlite3_str *out, sqlite3_stmt *row, int column)
{
    const char *text = ctr_text_column(conn, row, column);
    const ctr_key_value value = {.type = CTR_KEY_TEXT,
                                 .bytes = (const uint8_t *)(text ? text : ""),
                                 .size = text ? (size_t)sqlite3_column_bytes(row, column) : 0};
    ctr_key_json_append(out, &value);
}

static void append_hex_json(sqlite3_str *out, const char *name, sqlite3_stmt *row, int column)
{
    const void *bytes = sqlite3_column_blob(row, column);
    sqlite3_str_appendf(out, ",\"%s\":\"", name);
    ctr_text_append_hex(out, bytes, sqlite3_column_bytes(row, column));
    sqlite3_str_appendchar(out, 1, '"');
}

/* Appends the change on which the statement stands. */
static void append_change_json(ctr_conn *conn, sqlite3_str *out, sqlite3_stmt *row)
{
    const void *key = sqlite3_column_blob(row, OF_KEY);
    size_t size = (size_t)sqlite3_column_bytes(row, OF_KEY);
    char *shown = size > 0 && key ? ctr_key_json_write(key, size) : NULL;
    if (size > 0 && !shown) ctr_problem_nomem(conn);
    sqlite3_str_appendall(out, "{\"table\":");
    append_text_json(conn, out, row, OF_TABLE);
    sqlite3_str_appendall(out, ",\"key_columns\":");
    append_text_json(conn, out, row, OF_COLUMNS);
    sqlite3_str_appendf(out, ",\"key\":%s", shown ? shown : "null");
    append_hex_json(out, "packed", row, OF_KEY);
    append_hex_json(out, "change", row, OF_CHANGE);
    sqlite3_str_appendf(out, ",\"seq\":%lld}", (long long)sqlite3_column_int64(row, OF_SEQ));
    sqlite3_free(shown);
}

/* Puts the head before the changes, and makes both the line. */
static void finish_line(lines_cursor *cursor, ctr_conn *conn, const char *source, char *changes)
{
    sqlite3_str *out = sqlite3_str_new(conn->db);
    sqlite3_str_appendf(out, "{\"format\":%d,\"source\":", LINES_FORMAT);
    const ctr_key_value name = {
        .type = CTR_KEY_TEXT, .bytes = (const uint8_t *)source, .size = strlen(source)};
    ctr_key_json_append(out, &name);
    sqlite3_str_appendf(out, ",\"since\":%lld,\"upto\":%lld,\"changes\":[",
                        (long long)cursor->since, (long long)cursor->upto);
    sqlite3_str_appendall(out, changes);
    sqlite3_str_appendall(out, "]}");
    cursor->line = ctr_text_finish(conn, out);
}

/* Makes the next line, which ends at the number of the change behind it, or at the end of all. */
static void make_line(lines_cursor *cursor)
{
    ctr_conn *conn = conn_of_lines(cursor);
    ctr_run run = ctr_run_on(conn, "main", NULL);
    sqlite3_free(cursor->line);
    cursor->line = NULL;
    cursor->since = cursor->upto;
    cursor->n = 0;
    if (!cursor->rows || ctr_rc(conn) != SQLITE_OK) return;
    const char *source = ctr_text_print(conn, "%s", ctr_text_column(conn, cursor->rows, OF_SOURCE));
    sqlite3_str *changes = sqlite3_str_new(conn->db);
    bool more = true;
    int64_t end = sqlite3_column_int64(cursor->rows, OF_UPTO);
    while (more && cursor->n < LINE_CHANGES_MOST && ctr_rc(conn) == SQLITE_OK &&
           sqlite3_str_length(changes) < LINE_BYTES_MOST) {
        if (cursor->n++ > 0) sqlite3_str_appendchar(changes, 1, ',');
        append_change_json(conn, changes, cursor->rows);
        more = ctr_run_row(&run, cursor->rows);
    }
    if (more) end = sqlite3_column_int64(cursor->rows, OF_PLACE);
    if (end > cursor->upto) cursor->upto = end;
    char *text = ctr_text_finish(conn, changes);
    if (text && source && ctr_rc(conn) == SQLITE_OK) finish_line(cursor, conn, source, text);
    sqlite3_free(text);
    if (!more) sqlite3_finalize(cursor->rows);
    if (!more) cursor->rows = NULL;
}

static int lines_filter(sqlite3_vtab_cursor *base, int plan, const char *plan_text, int argc,
                        sqlite3_value **argv)
{
    (void)plan_text;
    (void)argc;
    lines_cursor *cursor = (lines_cursor *)base;
    ctr_conn *conn = conn_of_lines(cursor);
    ctr_problem problem;
    ctr_problem_begin(conn, &problem);
    int64_t since = 0, own = 0;
    end_lines(cursor);
    cursor->row = 0;
    if (!(plan & 1))
        ctr_problem_set(conn, SQLITE_ERROR,
                        "one argument is needed, the number to begin at: 0, or that of "
                        "counter_mark()");
    else
        since = ctr_arg_between(conn, "since", "an INTEGER, 0 or more", argv[0], 0, INT64_MAX);
    if (plan & 2) own = ctr_arg_between(conn, "own", "0 or 1", argv[1], 0, 1);
    sqlite3_value *scope = plan & 4 ? argv[(plan & 2) ? 2 : 1] : NULL;
    if (scope && sqlite3_value_type(scope) == SQLITE_NULL) scope = NULL;
    cursor->upto = since;
    if (since > 0 && ctr_rc(conn) == SQLITE_OK && since > ctr_feed_end(conn))
        cursor->upto = 0; /* a mark of what was there once: everything is new */
    ctr_run run = ctr_run_on(conn, "main", NULL);
    cursor->rows =
        ctr_run_prepare(&run, scope ? CTR_SQL_LINES_CHANGES_IN_SCOPE : CTR_SQL_LINES_CHANGES);
    ctr_run_bind_int(&run, cursor->rows, ":since", cursor->upto);
    ctr_run_bind_int(&run, cursor->rows, ":own", own);
    if (scope) ctr_run_bind_value(&run, cursor->rows, ":scope", scope);
    if (!ctr_run_row(&run, cursor->rows)) {
        sqlite3_finalize(cursor->rows);
        cursor->rows = NULL;
    }
    make_line(cursor);
    return ctr_arg_table_problem(base->pVtab, "counter_lines", &problem);
}

static int lines_next(sqlite3_vtab_cursor *base)
{
    lines_cursor *cursor = (lines_cursor *)base;
    ctr_problem problem;
    ctr_problem_begin(conn_of_lines(cursor), &problem);
    make_line(cursor);
    cursor->row++;
    return ctr_arg_table_problem(base->pVtab, "counter_lines", &problem);
}

static int lines_eof(sqlite3_vtab_cursor *base)
{
    return ((lines_cursor *)base)->line == NULL;
}

static int lines_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
    const lines_cursor *cursor = (const lines_cursor *)base;
    switch (column) {
    case 0: sqlite3_result_text(ctx, cursor->line, -1, SQLITE_TRANSIENT); break;
    case 1: sqlite3_result_int64(ctx, cursor->since); break;
    case 2: sqlite3_result_int64(ctx, cursor->upto); break;
    case 3: sqlite3_result_int64(ctx, cursor->n); break;
    default: break;
    }
    return SQLITE_OK;
}

static int lines_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    *rowid = ((lines_cursor *)base)->row;
    return SQLITE_OK;
}

/* =================================================================================================
 * taking - counter_take. */

enum { TAKEN_SOURCES_MOST = 1000 };

/* How far a source has come. */
typedef struct taken_source {
    char *name; /* owned */
    int64_t since, upto, mark;
} taken_source;

typedef struct lines_taker {
    ctr_conn *conn;
    sqlite3_value *scope;  /* borrowed; NULL: everything is taken */
    sqlite3_stmt *take;    /* owned */
    ctr_packed bytes;      /* owned: room for what hexadecimal digits say */
    taken_source *sources; /* owned: n */
    size_t n, room;
    int64_t changes;
} lines_taker;

/* Returns the text that a member says, in the arena; NULL, with an error, if it is none. */
static const char *member_text(ctr_conn *conn, const char *name, ctr_span value)
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

static int64_t member_number(ctr_conn *conn, const char *name, ctr_span value, int64_t least)
{
    int64_t n = 0;
    if (ctr_rc(conn) != SQLITE_OK) return 0;
    if (value.text && ctr_json_type_of(value) == CTR_JSON_INTEGER && ctr_json_integer(value, &n) &&
        n >= least)
        return n;
    const char *wanted = ctr_text_print(conn, "a whole number, %lld or more", (long long)least);
    if (wanted) ctr_member_refuse(conn, name, wanted, value);
    return 0;
}

/* Finds the members by their names, and passes over others; one that is there twice is refused. */
static void find_members(ctr_conn *conn, ctr_span object, const char *const *names,
                         ctr_span *values)
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
static size_t member_bytes(lines_taker *to, const char *name, ctr_span value)
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

static void take_one_change(lines_taker *to, const char *source, ctr_span object)
{
    enum { TABLE, COLUMNS, PACKED, CHANGE, SEQ, N };
    static const char *const KNOWN[] = {"table", "key_columns", "packed", "change", "seq", NULL};
    ctr_span members[N];
    ctr_conn *conn = to->conn;
    if (ctr_json_type_of(object) != CTR_JSON_OBJECT) {
        ctr_problem_set(conn, SQLITE_ERROR, "it must be an object");
        return;
    }
    find_members(conn, object, KNOWN, members);
    to->bytes.size = 0;
    const char *table = member_text(conn, "table", members[TABLE]);
    bool has_columns = members[COLUMNS].text && ctr_json_type_of(members[COLUMNS]) != CTR_JSON_NULL;
    const char *columns = has_columns ? member_text(conn, "key_columns", members[COLUMNS]) : NULL;
    size_t key = member_bytes(to, "packed", members[PACKED]);
    size_t change = member_bytes(to, "change", members[CHANGE]);
    int64_t seq = member_number(conn, "seq", members[SEQ], 0);
    if (ctr_rc(conn) != SQLITE_OK) return;
    ctr_run run = ctr_run_on(conn, "main", NULL);
    ctr_run_bind_text(&run, to->take, ":table", table);
    ctr_run_bind_text(&run, to->take, ":source", source);
    ctr_run_bind_text(&run, to->take, ":columns", columns);
    ctr_run_bind_int(&run, to->take, ":seq", seq);
    ctr_run_bind_blob(&run, to->take, ":key", to->bytes.bytes, key);
    ctr_run_bind_blob(&run, to->take, ":change", to->bytes.bytes + key, change);
    if (to->scope) ctr_run_bind_value(&run, to->take, ":scope", to->scope);
    if (ctr_rc(conn) == SQLITE_OK) ctr_run_row(&run, to->take);
    sqlite3_reset(to->take);
    to->changes += ctr_rc(conn) == SQLITE_OK;
}

/* ---- how far sources have come --------------------------------------------------------------- */

/* Notes that a source came from `since` to `upto`; lines that follow each other are one way. */
static void note_way(lines_taker *to, const char *source, int64_t since, int64_t upto)
{
    taken_source *found = NULL;
    for (size_t i = to->n; i-- > 0 && !found;)
        if (strcmp(to->sources[i].name, source) == 0) found = &to->sources[i];
    if (found && found->since <= since && since <= found->upto) {
        if (upto > found->upto) found->upto = upto;
        return;
    }
    if (to->n >= TAKEN_SOURCES_MOST)
        ctr_problem_set(to->conn, SQLITE_ERROR, "there are more than %d sources, the limit",
                        TAKEN_SOURCES_MOST);
    taken_source *sources =
        ctr_rc(to->conn) == SQLITE_OK
            ? ctr_array_room(to->conn, to->sources, &to->room, to->n + 1, sizeof *sources)
            : NULL;
    if (!sources) return;
    to->sources = sources;
    sources[to->n] =
        (taken_source){.name = ctr_text_copy(to->conn, source), .since = since, .upto = upto};
    if (sources[to->n].name) to->n++;
}

static void take_line(lines_taker *to, ctr_span line)
{
    enum { FORMAT, SOURCE, SINCE, UPTO, CHANGES, N };
    static const char *const KNOWN[] = {"format", "source", "since", "upto", "changes", NULL};
    size_t at = 0;
    int64_t n = 0;
    ctr_conn *conn = to->conn;
    ctr_span whole, members[N], none, change;
    const char *wrong = ctr_json_check(line.text, line.size, &whole);
    if (wrong || ctr_json_type_of(whole) != CTR_JSON_OBJECT) {
        ctr_problem_set(conn, SQLITE_ERROR, "it %s", wrong ? wrong : "must be an object of JSON");
        return;
    }
    find_members(conn, whole, KNOWN, members);
    int64_t format = member_number(conn, "format", members[FORMAT], 1);
    if (format > LINES_FORMAT)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "it has the format %lld, and this version reads %d: install a newer "
                        "sqlite-counter",
                        (long long)format, LINES_FORMAT);
    if (format < LINES_FORMAT)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "it has the format %lld, that of the command line and the packages: they "
                        "read it",
                        (long long)format);
    const char *source = member_text(conn, "source", members[SOURCE]);
    int64_t since = member_number(conn, "since", members[SINCE], 0);
    int64_t upto = member_number(conn, "upto", members[UPTO], since);
    const ctr_span changes = members[CHANGES];
    if (ctr_rc(conn) == SQLITE_OK && (!changes.text || ctr_json_type_of(changes) != CTR_JSON_ARRAY))
        ctr_problem_set(conn, SQLITE_ERROR, "the member changes must be an array");
    while (ctr_rc(conn) == SQLITE_OK && ctr_json_next(changes, &at, &none, &change)) {
        ctr_text *mark = ctr_text_mark(conn);
        n++;
        take_one_change(to, source, change);
        if (ctr_rc(conn) != SQLITE_OK) ctr_problem_where(conn, "change %lld", (long long)n);
        ctr_text_release(conn, mark);
    }
    if (ctr_rc(conn) == SQLITE_OK) note_way(to, source, since, upto);
}

static void take_lines(lines_taker *to, const char *text, size_t size)
{
    ctr_conn *conn = to->conn;
    const char *end = text + size;
    ctr_run run = ctr_run_on(conn, "main", NULL);
    to->take = ctr_run_prepare(&run, CTR_SQL_LINES_TAKE);
    for (int64_t n = 1; text < end && ctr_rc(conn) == SQLITE_OK; n++) {
        const char *next = memchr(text, '\n', (size_t)(end - text));
        const char *behind = next ? next : end;
        bool is_empty = text == behind || (behind == text + 1 && *text == '\r');
        ctr_text *mark = ctr_text_mark(conn);
        if (!is_empty) take_line(to, (ctr_span){text, (size_t)(behind - text)});
        if (ctr_rc(conn) != SQLITE_OK) ctr_problem_where(conn, "line %lld", (long long)n);
        ctr_text_release(conn, mark);
        text = next ? next + 1 : end;
    }
    sqlite3_finalize(to->take);
    sqlite3_free(to->bytes.bytes);
}

static void take_in_session(lines_taker *to, const char *text, size_t size)
{
    ctr_conn *conn = to->conn;
    ctr_session session = {0};
    sqlite3_int64 inserted = sqlite3_last_insert_rowid(conn->db);
    if (ctr_session_begin(&session, conn, true) == SQLITE_OK) {
        ctr_session_lock(&session, "main");
        take_lines(to, text, size);
        ctr_exchange_show_apart(conn);
        for (size_t i = 0; i < to->n && ctr_rc(conn) == SQLITE_OK; i++) {
            taken_source *source = &to->sources[i];
            source->mark =
                ctr_exchange_raise(conn, source->name, to->scope, source->since, source->upto);
        }
    }
    ctr_session_end(&session);
    sqlite3_set_last_insert_rowid(conn->db, inserted);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void append_marks(const lines_taker *to, sqlite3_str *out)
{
    const char *comma = "";
    for (size_t i = 0; i < to->n; i++) {
        bool is_last = true; /* of several ways of one source */
        for (size_t k = i + 1; k < to->n; k++)
            is_last = is_last && strcmp(to->sources[k].name, to->sources[i].name) != 0;
        if (!is_last) continue;
        const ctr_key_value name = {.type = CTR_KEY_TEXT,
                                    .bytes = (const uint8_t *)to->sources[i].name,
                                    .size = strlen(to->sources[i].name)};
        sqlite3_str_appendall(out, comma);
        ctr_key_json_append(out, &name);
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
        sqlite3_str_appendall(out, comma);
        append_text_json(conn, out, row, 0);
    }
    sqlite3_finalize(row);
}

static void fn_take(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    static const char NAME[] = "counter_take";
    ctr_problem problem;
    ctr_conn *conn = sqlite3_user_data(ctx);
    int type = sqlite3_value_type(argv[0]);
    if (type != SQLITE_TEXT && type != SQLITE_BLOB) {
        ctr_arg_refuse(ctx, NAME, "the lines", "TEXT or a BLOB, lines of JSON", argv[0]);
        return;
    }
    const char *text = type == SQLITE_TEXT ? (const char *)sqlite3_value_text(argv[0])
                                           : sqlite3_value_blob(argv[0]);
    size_t size = (size_t)sqlite3_value_bytes(argv[0]);
    if (!text && size > 0) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    bool scoped = argc > 1 && sqlite3_value_type(argv[1]) != SQLITE_NULL;
    lines_taker to = {.conn = conn, .scope = scoped ? argv[1] : NULL};
    ctr_problem_begin(conn, &problem);
    take_in_session(&to, text, size);
    sqlite3_str *out = sqlite3_str_new(sqlite3_context_db_handle(ctx));
    sqlite3_str_appendf(out, "{\"changes\":%lld,\"skipped\":0,\"marks\":{", (long long)to.changes);
    append_marks(&to, out);
    sqlite3_str_appendall(out, "},\"warnings\":[");
    if (ctr_rc(conn) == SQLITE_OK) append_warnings_json(conn, out);
    sqlite3_str_appendall(out, "]}");
    if (ctr_arg_problem(ctx, NAME, &problem))
        ctr_arg_result_built(ctx, out);
    else
        sqlite3_free(sqlite3_str_finish(out));
    for (size_t i = 0; i < to.n; i++) sqlite3_free(to.sources[i].name);
    sqlite3_free(to.sources);
}

int ctr_lines_register(sqlite3 *db, ctr_conn *conn)
{
    static const sqlite3_module MODULE = {.iVersion = 1,
                                          .xConnect = lines_connect,
                                          .xBestIndex = lines_best_index,
                                          .xDisconnect = lines_disconnect,
                                          .xOpen = lines_open,
                                          .xClose = lines_close,
                                          .xFilter = lines_filter,
                                          .xNext = lines_next,
                                          .xEof = lines_eof,
                                          .xColumn = lines_column,
                                          .xRowid = lines_rowid};
    static const ctr_function FUNCTIONS[] = {{"counter_take", 1, 2, CTR_ADMIN, fn_take}};
    int rc =
        sqlite3_create_module_v2(db, "counter_lines", &MODULE, ctr_conn_hold(conn), ctr_conn_drop);
    if (rc != SQLITE_OK) return rc;
    return ctr_shared_functions(db, conn, FUNCTIONS, sizeof FUNCTIONS / sizeof *FUNCTIONS);
}
