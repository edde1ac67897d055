/* functions/keys.c - packed keys, and the marks of the change feed.
 *
 *     counter_key(a, b, ...)               the values of a row's key, in key order, as one BLOB
 *     counter_key_json(key)                the key as JSON; a BLOB is {"hex":"00ff"}, a TEXT that
 *                                            is not valid UTF-8 {"text":"61ff"}, a missing floor
 *                                            null, the empty key NULL
 *     counter_source([own [, scope]])      the name of main as a source of the feed; NULL if it has
 *                                            no id
 *     counter_mark(source [, scope])       the number from which to read a source's feed; 0: all
 *     counter_seen(source, since, upto [, scope])
 *                                            the changes were merged: tries rows that are apart
 *                                            again, raises the mark, returns it
 *     counter_differs(a, b, c, d, ...)     for triggers: which of up to 50 pairs differ in type or
 *                                            bytes, pair n as 2^n
 */
#include <string.h>

#include "functions/functions.h"

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
    char *text = ctr_key_json_write(key, size);
    if (text)
        sqlite3_result_text(ctx, text, -1, sqlite3_free);
    else
        sqlite3_result_error_nomem(ctx);
}

/* ---- marks ----------------------------------------------------------------------------------- */

/* A source that was named, with its scope. */
typedef struct named_source {
    ctr_marks_source source;
    ctr_scope scope;
} named_source;

/* The scope may stand in the name of the source, and be given: then it must be the same. The caller
 * closes it if this returns true. */
static bool take_source(sqlite3_context *ctx, const char *function, int argc, sqlite3_value **argv,
                        int scope, named_source *named)
{
    ctr_problem problem = {SQLITE_OK, NULL};
    *named = (named_source){.scope.n = 0};
    const char *text = ctr_text_value(argv[0], &problem);
    if (!ctr_arg_problem(ctx, function, &problem)) return false;
    if (!text || !ctr_marks_source_of(text, (size_t)sqlite3_value_bytes(argv[0]), &named->source))
        return ctr_arg_refuse(ctx, function, "source",
                              "TEXT from counter_changes, the UUID of a file", argv[0]);
    if (argc <= scope || sqlite3_value_type(argv[scope]) == SQLITE_NULL) return true;
    ctr_scope_open(&named->scope, sqlite3_context_db_handle(ctx), argv[scope], &problem);
    if (problem.rc == SQLITE_OK && named->source.scope &&
        strcmp(named->source.scope, named->scope.text) != 0)
        ctr_problem_set(&problem, SQLITE_ERROR,
                        "the source has the scope %s in its name, and %s was given as its scope",
                        named->source.scope, named->scope.text);
    named->source.scope = named->scope.text;
    bool taken = ctr_arg_problem(ctx, function, &problem);
    if (!taken) ctr_scope_close(&named->scope);
    return taken;
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
    static const char NAME[] = "counter_mark";
    named_source named;
    if (!take_source(ctx, NAME, argc, argv, 1, &named)) return;
    ctr_problem problem = {SQLITE_OK, NULL};
    int64_t mark = 0;
    if (check_tables(sqlite3_user_data(ctx), &problem))
        mark = ctr_marks_of_feed(sqlite3_context_db_handle(ctx), &named.source, &problem);
    if (ctr_arg_problem(ctx, NAME, &problem)) sqlite3_result_int64(ctx, mark);
    ctr_scope_close(&named.scope);
}

/* Of everything that main has to give or, by arguments, of its own changes, of a scope. */
static void fn_source(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    static const char NAME[] = "counter_source";
    sqlite3 *db = sqlite3_context_db_handle(ctx);
    int64_t own = 0;
    if (argc > 0 && !ctr_arg_integer(ctx, NAME, "own", argv[0], 0, 1, &own)) return;
    ctr_scope scope = {0};
    ctr_identity identity = {0};
    ctr_problem problem = {SQLITE_OK, NULL};
    if (argc > 1 && sqlite3_value_type(argv[1]) != SQLITE_NULL)
        ctr_scope_open(&scope, db, argv[1], &problem);
    ctr_identity_read(&identity, db, "main", &problem);
    ctr_marks_source source = {.twist = identity.twist, .own = own, .scope = scope.text};
    memcpy(source.id, identity.id, CTR_ID_SIZE);
    char *name = identity.present ? ctr_marks_name(&source) : NULL;
    if (identity.present && !name) ctr_problem_nomem(&problem);
    if (ctr_arg_problem(ctx, NAME, &problem) && name)
        sqlite3_result_text(ctx, name, -1, SQLITE_TRANSIENT);
    sqlite3_free(name);
    ctr_scope_close(&scope);
}

/* Shows rows that are apart, and raises the mark from `since` to `upto`. Returns the mark. */
static int64_t see(ctr_conn *conn, const ctr_marks_source *source, int64_t since, int64_t upto,
                   ctr_problem *problem)
{
    int64_t mark = 0;
    ctr_session session = {0};
    if (check_tables(conn, problem) &&
        ctr_session_begin(&session, conn->db, NULL, problem) == SQLITE_OK) {
        ctr_session_lock(&session, "main", problem);
        if (problem->rc == SQLITE_OK) ctr_events_append(conn, problem);
        if (problem->rc == SQLITE_OK) ctr_pull_show_apart(ctr_file_of(conn, "main"), problem);
        ctr_events_write_ahead(conn, problem);
        mark = ctr_marks_of_feed(conn->db, source, problem);
        if (mark >= since && mark < upto) {
            ctr_marks_raise_feed(conn->db, source, upto, problem);
            mark = upto;
        }
    }
    ctr_session_end(&session, problem);
    return mark;
}

static void fn_seen(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    static const char NAME[] = "counter_seen";
    named_source named;
    int64_t since, upto;
    if (!take_source(ctx, NAME, argc, argv, 3, &named)) return;
    if (ctr_arg_integer(ctx, NAME, "since", argv[1], 0, INT64_MAX, &since) &&
        ctr_arg_integer(ctx, NAME, "upto", argv[2], since, INT64_MAX, &upto)) {
        ctr_problem problem = {SQLITE_OK, NULL};
        int64_t mark = see(sqlite3_user_data(ctx), &named.source, since, upto, &problem);
        if (ctr_arg_problem(ctx, NAME, &problem)) sqlite3_result_int64(ctx, mark);
    }
    ctr_scope_close(&named.scope);
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
        {"counter_source", 0, 2, CTR_READS, fn_source},
        {"counter_mark", 1, 2, CTR_READS, fn_mark},
        {"counter_seen", 3, 4, CTR_ADMIN, fn_seen},
    };
    return ctr_shared_functions(db, conn, FUNCTIONS, sizeof FUNCTIONS / sizeof *FUNCTIONS);
}
