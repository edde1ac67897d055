/* functions/keys.c - packed keys, and the marks of the change feed.
 *
 *     counter_key(a, b, ...)               the values of a row's key, in key order, as one BLOB
 *     counter_key_json(key)                the key as JSON; a BLOB is {"hex":"00ff"}, a TEXT that
 *                                            is not valid UTF-8 {"text":"61ff"}, a missing floor
 *                                            null, the empty key NULL
 *     counter_mark(source)                 the number from which to read a source's feed; 0: all
 *     counter_seen(source, since, upto)    the changes were merged: tries rows that are apart
 *                                            again, raises the mark, returns it
 *     counter_differs(a, b, c, d, ...)     for triggers: which of up to 50 pairs differ in type or
 *                                            bytes, pair n as 2^n
 */
#include <math.h>
#include <string.h>

#include "functions/functions.h"
#include "sqlite/args.h"
#include "sqlite/text.h"
#include "sync/marks.h"
#include "sync/pull.h"
#include "sync/session.h"
#include "table/events.h"
#include "table/pack.h"

/* ---- keys ------------------------------------------------------------------------------------ */

static void fn_key(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    ctr_packed packed = {NULL, 0, 0};
    ctr_problem problem = {SQLITE_OK, NULL};
    if (argc == 0) ctr_problem_set(&problem, SQLITE_ERROR, "a key has at least one value");
    for (int i = 0; i < argc; i++)
        if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
            ctr_problem_set(&problem, SQLITE_MISMATCH, "value %d is NULL, and a key has no NULL",
                            i + 1);
    if (problem.rc == SQLITE_OK) ctr_pack_values(&packed, argv, argc, &problem);
    if (ctr_arg_problem(ctx, "counter_key", &problem))
        sqlite3_result_blob64(ctx, packed.bytes, packed.size, SQLITE_TRANSIENT);
    sqlite3_free(packed.bytes);
}

static void append_hex(sqlite3_str *out, const char *what, const uint8_t *bytes, size_t size)
{
    sqlite3_str_appendf(out, "{\"%s\":\"", what);
    ctr_text_append_hex(out, bytes, (int)size);
    sqlite3_str_appendall(out, "\"}");
}

static void append_text_key(sqlite3_str *out, const uint8_t *text, size_t size)
{
    if (!ctr_text_is_utf8(text, size)) {
        append_hex(out, "text", text, size);
        return;
    }
    sqlite3_str_appendchar(out, 1, '"');
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"' || text[i] == '\\')
            sqlite3_str_appendf(out, "\\%c", text[i]);
        else if (text[i] < 0x20)
            sqlite3_str_appendf(out, "\\u%04x", text[i]);
        else
            sqlite3_str_appendchar(out, 1, (char)text[i]);
    }
    sqlite3_str_appendchar(out, 1, '"');
}

char *ctr_keys_json(const uint8_t *key, size_t size)
{
    ctr_key_value value;
    size_t at = 0;
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendchar(out, 1, '[');
    for (int i = 0; ctr_key_next(key, size, &at, &value); i++) {
        if (i) sqlite3_str_appendchar(out, 1, ',');
        switch (value.type) {
        case CTR_KEY_NOTHING: sqlite3_str_appendall(out, "null"); break;
        case CTR_KEY_INTEGER: sqlite3_str_appendf(out, "%lld", (long long)value.integer); break;
        case CTR_KEY_REAL:
            if (isinf(value.real)) /* JSON has no infinity: 9e999 is read as one */
                sqlite3_str_appendall(out, value.real > 0 ? "9e999" : "-9e999");
            else
                sqlite3_str_appendf(out, "%!.17g", value.real);
            break;
        case CTR_KEY_TEXT: append_text_key(out, value.bytes, value.size); break;
        case CTR_KEY_BLOB: append_hex(out, "hex", value.bytes, value.size); break;
        }
    }
    sqlite3_str_appendchar(out, 1, ']');
    return sqlite3_str_finish(out);
}

static void fn_key_json(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    static const char NAME[] = "counter_key_json";
    (void)argc;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL) return;
    const uint8_t *key = NULL;
    if (sqlite3_value_type(argv[0]) == SQLITE_BLOB) key = sqlite3_value_blob(argv[0]);
    size_t size = (size_t)sqlite3_value_bytes(argv[0]);
    int n;
    if (sqlite3_value_type(argv[0]) == SQLITE_BLOB && size == 0) return;
    if (!key) size = 0;
    ctr_status status = ctr_key_check(key, size, true, &n);
    if (status != CTR_OK) {
        ctr_arg_refuse(ctx, NAME, "the key", "a packed key, from counter_key or counter_changes",
                       argv[0]);
        return;
    }
    char *text = ctr_keys_json(key, size);
    if (text)
        sqlite3_result_text(ctx, text, -1, sqlite3_free);
    else
        sqlite3_result_error_nomem(ctx);
}

/* ---- marks ----------------------------------------------------------------------------------- */

/* A source of a feed. */
typedef struct feed_source {
    uint8_t id[CTR_ID_SIZE];
    int64_t twist;
} feed_source;

static bool take_source(sqlite3_context *ctx, const char *function, sqlite3_value *value,
                        feed_source *source)
{
    ctr_problem problem = {SQLITE_OK, NULL};
    const char *text = ctr_text_value(value, &problem);
    if (!ctr_arg_problem(ctx, function, &problem)) return false;
    if (text && ctr_marks_source_from_text(text, (size_t)sqlite3_value_bytes(value), source->id,
                                           &source->twist))
        return true;
    return ctr_arg_refuse(ctx, function, "source", "TEXT from counter_changes, the UUID of a file",
                          value);
}

static bool check_tables(ctr_conn *conn, ctr_problem *problem)
{
    ctr_catalog catalog = {0};
    ctr_file *file = ctr_file_of(conn, "main");
    if (!file) ctr_problem_nomem(problem);
    if (file) ctr_catalog_read(&catalog, file, problem);
    if (problem->rc == SQLITE_OK && catalog.n == 0)
        ctr_problem_set(problem, SQLITE_ERROR, "main has no counter tables");
    ctr_catalog_close(&catalog);
    return problem->rc == SQLITE_OK;
}

static void fn_mark(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    feed_source source;
    if (!take_source(ctx, "counter_mark", argv[0], &source)) return;
    sqlite3 *db = sqlite3_context_db_handle(ctx);
    ctr_problem problem = {SQLITE_OK, NULL};
    int64_t mark = 0;
    if (check_tables(sqlite3_user_data(ctx), &problem))
        mark = ctr_marks_of_feed(db, source.id, source.twist, &problem);
    if (ctr_arg_problem(ctx, "counter_mark", &problem)) sqlite3_result_int64(ctx, mark);
}

static void fn_seen(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    static const char NAME[] = "counter_seen";
    (void)argc;
    feed_source source;
    int64_t since, upto, mark = 0;
    if (!take_source(ctx, NAME, argv[0], &source)) return;
    if (!ctr_arg_integer(ctx, NAME, "since", argv[1], 0, INT64_MAX, &since)) return;
    if (!ctr_arg_integer(ctx, NAME, "upto", argv[2], since, INT64_MAX, &upto)) return;
    ctr_problem problem = {SQLITE_OK, NULL};
    ctr_session session = {0};
    ctr_conn *conn = sqlite3_user_data(ctx);
    sqlite3 *db = sqlite3_context_db_handle(ctx);
    if (check_tables(conn, &problem) &&
        ctr_session_begin(&session, db, NULL, &problem) == SQLITE_OK) {
        ctr_session_lock(&session, "main", &problem);
        if (problem.rc == SQLITE_OK) ctr_events_append(conn, &problem);
        if (problem.rc == SQLITE_OK) ctr_pull_show_apart(ctr_file_of(conn, "main"), &problem);
        ctr_events_write_ahead(conn, &problem);
        mark = ctr_marks_of_feed(db, source.id, source.twist, &problem);
        if (mark >= since && mark < upto) {
            ctr_marks_raise_feed(db, source.id, source.twist, upto, &problem);
            mark = upto;
        }
    }
    ctr_session_end(&session, &problem);
    if (ctr_arg_problem(ctx, NAME, &problem)) sqlite3_result_int64(ctx, mark);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void fn_differs(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    enum { MOST = 100 };
    int64_t mask = 0;
    ctr_problem problem = {SQLITE_OK, NULL};
    if (argc % 2 != 0 || argc > MOST)
        ctr_problem_set(&problem, SQLITE_ERROR,
                        "it compares pairs of values, at most %d: %d values were given", MOST / 2,
                        argc);
    for (int i = 0; i + 1 < argc && problem.rc == SQLITE_OK; i += 2)
        mask |= (int64_t)!ctr_text_same(argv[i], argv[i + 1]) << i / 2;
    if (ctr_arg_problem(ctx, "counter_differs", &problem)) sqlite3_result_int64(ctx, mask);
}

int ctr_keys_register(sqlite3 *db, ctr_conn *conn)
{
    static const ctr_function FUNCTIONS[] = {
        {"counter_key", -1, -1, CTR_PURE, fn_key},
        {"counter_key_json", 1, 1, CTR_PURE, fn_key_json},
        {"counter_differs", -1, -1, CTR_PURE, fn_differs},
        {"counter_mark", 1, 1, CTR_READS, fn_mark},
        {"counter_seen", 3, 3, CTR_ADMIN, fn_seen},
    };
    return ctr_shared_functions(db, conn, FUNCTIONS, sizeof FUNCTIONS / sizeof *FUNCTIONS);
}
