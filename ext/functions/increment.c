/* functions/increment.c - SQL functions that count under a replica id, or return it.
 *
 *     counter_inc(cell [, n=1 [, replica]])   cell with n added to the shard of main, or `replica`
 *     counter_dec(cell [, n=1 [, replica]])   the same with -n
 *     counter_id([schema])                    the id as text; NULL if there is none
 *     counter_add(table, column, n, key...)   adds to a counter, and returns its new value
 *
 * `replica` may be the id of main or of an attached database: then the function counts for that
 * file, as it does for main without a third argument. For another id, it is not known whether a
 * name was replaced, so clocks just rise by one.
 */
#include <stdint.h>
#include <string.h>

#include "functions/functions.h"

/* In a transaction, or in a writing statement, the first call checks the identity of the file, once
 * for all calls. A SELECT alone gets its own transaction, because the check writes. */
static bool lead_file(ctr_conn *conn, const char *schema, ctr_leader *led)
{
    ctr_file *file = ctr_file_of(conn, schema);
    if (!file) return ctr_problem_nomem(conn) == SQLITE_OK;
    const ctr_leader *leader = NULL;
    if (ctr_file_known_id(file) || ctr_conn_join(conn)) leader = ctr_file_leader(file);
    ctr_session session;
    bool alone = !leader && ctr_rc(conn) == SQLITE_OK;
    if (alone) {
        ctr_session_begin(&session, conn, false);
        if (ctr_conn_require_join(conn)) leader = ctr_file_leader(file);
    }
    if (leader) *led = *leader;
    if (alone) ctr_session_end(&session);
    return leader && ctr_rc(conn) == SQLITE_OK;
}

/* Returns the database of the connection with this id; the caller frees it with sqlite3_free. NULL
 * if there is none, or on error. A damaged database has no id. */
static char *schema_with_id(ctr_conn *conn, const uint8_t id[CTR_ID_SIZE])
{
    char *found = NULL;
    ctr_run run = ctr_run_on(conn, NULL, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_DATABASES);
    while (!found && ctr_run_row(&run, row)) {
        ctr_identity identity;
        ctr_problem damage;
        const char *schema = ctr_text_column(conn, row, 1);
        if (!schema) continue;
        ctr_problem_try(conn, &damage);
        int rc = ctr_identity_read(&identity, conn, schema);
        bool has = rc == SQLITE_OK && identity.present && memcmp(identity.id, id, CTR_ID_SIZE) == 0;
        ctr_problem_raise_if(conn, &damage, ctr_problem_rolls_back(rc));
        if (!has) continue;
        found = ctr_text_copy(conn, schema);
    }
    sqlite3_finalize(row);
    return found;
}

/* Finds the id of the third argument, or that of main. To count for an attached file, its
 * transaction must be joined; otherwise its witness would not be renewed, and clocks could be
 * reused after a restore. */
static bool find_leader(sqlite3_context *ctx, const char *function, int argc, sqlite3_value **argv,
                        ctr_leader *found)
{
    ctr_conn *conn = sqlite3_user_data(ctx);
    ctr_problem problem;
    uint8_t given[CTR_ID_SIZE];
    char *schema = NULL;
    bool led = true;
    if (argc > 2 && !ctr_arg_id(ctx, function, "replica", argv[2], given)) return false;
    ctr_problem_begin(conn, &problem);
    if (argc > 2) schema = schema_with_id(conn, given);
    if (argc > 2) memcpy(found->id, given, CTR_ID_SIZE);
    found->least = 1;
    if (argc <= 2 || schema) led = lead_file(conn, schema ? schema : "main", found);
    if (schema && led && memcmp(found->id, given, CTR_ID_SIZE) != 0)
        ctr_problem_set(
            conn, SQLITE_ERROR,
            "replica is the former id of %s, which has just taken another one: counter_id('%s')",
            schema, schema);
    if (schema) ctr_problem_where(conn, "under the id of %s", schema);
    sqlite3_free(schema);
    return ctr_arg_problem(ctx, function, &problem) && led;
}

static void increment(sqlite3_context *ctx, const char *function, int argc, sqlite3_value **argv,
                      int sign)
{
    ctr_cell cell;
    int64_t n = 1;
    ctr_leader found;
    if (!ctr_arg_cell(ctx, function, argv[0], &cell)) return;
    int64_t least = sign < 0 ? -INT64_MAX : INT64_MIN; /* -2^63 cannot be negated */
    if (argc > 1 && !ctr_arg_integer(ctx, function, "n", argv[1], least, INT64_MAX, &n)) return;
    if (!find_leader(ctx, function, argc, argv, &found)) return;

    uint8_t *out = sqlite3_malloc64(cell.size + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX);
    size_t size;
    if (!out) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    ctr_status status = ctr_cell_increment(&cell, found.id, sign * n, found.least, out, &size);
    if (ctr_arg_status(ctx, function, status)) {
        ctr_conn *conn = sqlite3_user_data(ctx);
        ctr_conn_count(conn, cell.size == 0);
        sqlite3_result_blob64(ctx, out, size, sqlite3_free);
    } else {
        sqlite3_free(out);
    }
}

static void fn_inc(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    increment(ctx, "counter_inc", argc, argv, 1);
}

static void fn_dec(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    increment(ctx, "counter_dec", argc, argv, -1);
}

/* An application may use the id by hand, in an ordinary table of the file. So if this transaction
 * writes that file, its identity is checked. */
static void check_if_writing(ctr_conn *conn, const char *schema)
{
#if SQLITE_VERSION_NUMBER >= 3034000
    if (sqlite3_libversion_number() < 3034000) return;
    if (sqlite3_txn_state(conn->db, schema) != SQLITE_TXN_WRITE) return;
    ctr_file *file = ctr_file_of(conn, schema);
    if (!file) ctr_problem_nomem(conn);
    if (ctr_rc(conn) != SQLITE_OK || ctr_file_known_id(file)) return;
    if (ctr_conn_join(conn)) ctr_file_leader(file);
#else
    (void)conn, (void)schema;
#endif
}

static void fn_id(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    ctr_identity identity;
    ctr_conn *conn = sqlite3_user_data(ctx);
    const char *schema = ctr_arg_schema(ctx, "counter_id", argc > 0 ? argv[0] : NULL);
    if (!schema) return;
    ctr_problem problem;
    ctr_problem_begin(conn, &problem);
    ctr_identity_read(&identity, conn, schema);
    if (identity.present) check_if_writing(conn, schema);
    if (problem.rc == SQLITE_OK) ctr_identity_read(&identity, conn, schema);
    if (ctr_arg_problem(ctx, "counter_id", &problem) && identity.present)
        ctr_arg_result_id(ctx, identity.id);
}

/* ---- counter_add ----------------------------------------------------------------------------- */

/* Runs an INSERT of the row and a SELECT of the counter, with their errors, in the caller's
 * transaction or its own. The table is a counter table, `schema.table` one in an attached database,
 * or a cluster. The values of the key are in key order.
 *
 * If a statement makes the same call in two places, the second one fails: SQLite duplicates a
 * subquery whose column is used twice.
 */

static const char COUNTER_ADD[] = "counter_add";

enum { ADD_TABLE, ADD_COLUMN, ADD_N, ADD_KEYS };

/* The table that the argument names, and its columns. */
typedef struct target {
    ctr_conn *conn;
    char *schema, *table; /* owned */
    ctr_shape shape;
} target;

static bool look_in(void *with, const char *schema, const char *table)
{
    target *to = with;
    ctr_identity identity;
    ctr_catalog_entry entry;
    bool found = ctr_catalog_named(&entry, to->conn, schema, table);
    if (found) {
        to->schema = ctr_text_copy(to->conn, schema);
        to->table = ctr_text_copy(to->conn, entry.name);
        if (ctr_rc(to->conn) == SQLITE_OK && ctr_identity_read(&identity, to->conn, schema)) {
            ctr_identity_offer_fork(to->conn, schema);
            ctr_problem_where(to->conn, "%s", entry.name);
        }
        if (ctr_rc(to->conn) == SQLITE_OK) ctr_stored_read(&to->shape, to->conn, schema, table);
    }
    ctr_catalog_close_entry(&entry);
    return found;
}

/* Finds the table, and checks that it has this counter and so many key columns. */
static void find_table(target *to, ctr_conn *conn, const char *name, const char *column, int n_keys)
{
    ctr_cluster_entry *entry = ctr_clusters_connected(conn->fronts, to->conn, name);
    if (entry) {
        to->schema = ctr_text_copy(conn, "temp");
        to->table = ctr_text_copy(conn, entry->name);
        ctr_shape_copy(conn, &to->shape, &entry->cluster->shape);
    } else if (ctr_rc(conn) == SQLITE_OK && !ctr_schema_find(to->conn, name, look_in, to)) {
        ctr_problem_set(conn, SQLITE_ERROR, "there is no counter table '%s'", name);
    }
    if (ctr_rc(conn) != SQLITE_OK) return;
    if (ctr_shape_counter_like(&to->shape, column) < 0)
        ctr_problem_set(conn, SQLITE_ERROR, "%s has no counter '%s'", to->table, column);
    if (n_keys == to->shape.n_keys) return;
    const char *keys = ctr_shape_key_list(conn, &to->shape);
    ctr_problem_set(conn, SQLITE_ERROR, "the key of %s is (%s): %d value%s needed, not %d",
                    to->table, keys, to->shape.n_keys, to->shape.n_keys == 1 ? " is" : "s are",
                    n_keys);
}

/* ---- the two statements ---------------------------------------------------------------------- */

/* Binds the key as it is stored, because a REAL column does not find an integer that it rounds. */
static bool run_with(const target *to, sqlite3_stmt *statement, sqlite3_value **keys,
                     sqlite3_value *n)
{
    for (int i = 0; statement && i < to->shape.n_keys; i++) {
        const ctr_column *column = &to->shape.columns[to->shape.keys[i]];
        int rc = ctr_pack_bind_stored(to->conn, statement, i + 1, column, keys[i]);
        ctr_problem_sqlite(to->conn, rc);
    }
    if (statement && n) sqlite3_bind_value(statement, to->shape.n_keys + 1, n);
    ctr_run run = ctr_run_on(to->conn, to->schema, to->table);
    return ctr_run_row(&run, statement);
}

/* Runs both statements or none, also if the sum cannot be read. It is refused inside writing
 * statements, whose failure could not undo it: they allow no savepoint, and SQLite may keep the
 * first writes of a statement that fails. */
static void add(sqlite3_context *ctx, const target *to, const char *column, sqlite3_value **argv)
{
    ctr_session session;
    if (ctr_session_begin(&session, to->conn, false) == SQLITE_OK) {
        const char *keys = ctr_shape_key_list(to->conn, &to->shape);
        sqlite3_str *list = sqlite3_str_new(NULL); /* the parameters 1 ...: the key, then n */
        for (int i = 0; i <= to->shape.n_keys; i++)
            sqlite3_str_appendf(list, "%s?%d", i ? ", " : "", i + 1);
        const char *values = ctr_text_built(to->conn, list);
        const char *columns = ctr_text_print(to->conn, "%s, \"%w\"", keys, column);
        ctr_run run = ctr_run_on(to->conn, to->schema, to->table);
        run.slots.columns = columns;
        run.slots.values = values;
        sqlite3_stmt *insert = ctr_run_prepare(&run, CTR_SQL_ADD_INSERT);
        run_with(to, insert, argv + ADD_KEYS, argv[ADD_N]);
        sqlite3_finalize(insert);

        const char *constraint = ctr_shape_key_match(to->conn, &to->shape);
        run.slots.name = column;
        run.slots.constraint = constraint;
        sqlite3_stmt *select = ctr_run_prepare(&run, CTR_SQL_ADD_SELECT);
        if (run_with(to, select, argv + ADD_KEYS, NULL))
            sqlite3_result_value(ctx, sqlite3_column_value(select, 0));
        sqlite3_finalize(select);
    }
    ctr_session_end(&session);
}

/* ---- the same call in two places ------------------------------------------------------------- */

/* The last call from one place in the statement: its context, and what it adds where, in bytes. */
typedef struct add_call {
    const sqlite3_context *place;
    int size;
    char bytes[];
} add_call;

/* SQLite keeps auxiliary data with a negative number for the whole statement, until its reset. The
 * calls have this number and those below it. */
enum { CALLS_OF_STATEMENT = -0x637472 };

/* Notes a call. Fails if the last call from another place is the same. */
static void note_call(sqlite3_context *ctx, const target *to, const char *bytes, int size)
{
    const add_call *call;
    int i = 0, own = -1;
    for (; (call = sqlite3_get_auxdata(ctx, CALLS_OF_STATEMENT - i)); i++) {
        if (call->place == ctx)
            own = i;
        else if (call->size == size && memcmp(call->bytes, bytes, (size_t)size) == 0)
            ctr_problem_set(to->conn, SQLITE_ERROR,
                            "%s: the statement makes this call in two places, as SQLite does if "
                            "the column of a subquery is used twice; the first has counted, this "
                            "one has not: write WITH x AS MATERIALIZED (SELECT counter_add(...))",
                            to->table);
    }
    add_call *made = sqlite3_malloc64(sizeof *made + (size_t)size);
    if (own < 0) own = i;
    if (made) {
        made->place = ctx;
        made->size = size;
        memcpy(made->bytes, bytes, (size_t)size);
        sqlite3_set_auxdata(ctx, CALLS_OF_STATEMENT - own, made, sqlite3_free);
    } /* NULL without memory: it is freed */
    if (!made || !sqlite3_get_auxdata(ctx, CALLS_OF_STATEMENT - own)) ctr_problem_nomem(to->conn);
}

static void refuse_second_place(sqlite3_context *ctx, const target *to, const char *column,
                                int64_t n, sqlite3_value **keys)
{
    ctr_packed packed = {0};
    sqlite3_str *call = sqlite3_str_new(NULL);
    sqlite3_str_appendf(call, "%s %s %d %lld ", to->schema, to->table,
                        ctr_shape_counter_like(&to->shape, column), (long long)n);
    if (ctr_pack_values(to->conn, &packed, keys, to->shape.n_keys) == SQLITE_OK)
        sqlite3_str_append(call, (const char *)packed.bytes, (int)packed.size);
    if (sqlite3_str_errcode(call) != SQLITE_OK) ctr_problem_nomem(to->conn);
    if (ctr_rc(to->conn) == SQLITE_OK)
        note_call(ctx, to, sqlite3_str_value(call), sqlite3_str_length(call));
    sqlite3_free(sqlite3_str_finish(call));
    sqlite3_free(packed.bytes);
}

/* ---- the function ---------------------------------------------------------------------------- */

static void fn_add(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    int64_t n;
    if (argc < ADD_KEYS) {
        ctr_arg_error(
            ctx, "%s: the arguments are the table, the counter, the number to add, and the key",
            COUNTER_ADD);
        return;
    }
    const char *table = ctr_arg_text(ctx, COUNTER_ADD, "the table", argv[ADD_TABLE]);
    if (!table) return;
    const char *column = ctr_arg_text(ctx, COUNTER_ADD, "the counter", argv[ADD_COLUMN]);
    if (!column) return;
    if (!ctr_arg_integer(ctx, COUNTER_ADD, "n", argv[ADD_N], INT64_MIN, INT64_MAX, &n)) return;
    ctr_problem problem;
    ctr_problem_begin(sqlite3_user_data(ctx), &problem);
    target to = {.conn = sqlite3_user_data(ctx)};
    find_table(&to, sqlite3_user_data(ctx), table, column, argc - ADD_KEYS);
    if (problem.rc == SQLITE_OK) refuse_second_place(ctx, &to, column, n, argv + ADD_KEYS);
    if (problem.rc == SQLITE_OK) add(ctx, &to, column, argv);
    sqlite3_free(to.schema);
    sqlite3_free(to.table);
    ctr_shape_close(&to.shape);
    ctr_arg_problem(ctx, COUNTER_ADD, &problem);
}

int ctr_increment_register(sqlite3 *db, ctr_conn *conn)
{
    /* With three arguments, an increment depends on its arguments alone. */
    static const ctr_function FUNCTIONS[] = {
        {"counter_inc", 1, 2, CTR_READS, fn_inc}, {"counter_inc", 3, 3, CTR_PURE, fn_inc},
        {"counter_dec", 1, 2, CTR_READS, fn_dec}, {"counter_dec", 3, 3, CTR_PURE, fn_dec},
        {"counter_id", 0, 1, CTR_READS, fn_id},   {COUNTER_ADD, -1, -1, CTR_ADMIN, fn_add},
    };
    return ctr_shared_functions(db, conn, FUNCTIONS, sizeof FUNCTIONS / sizeof *FUNCTIONS);
}
