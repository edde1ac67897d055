/* functions/admin.c - SQL functions that create, change, show or remove the identity of a file.
 *
 *     counter_init([name [, 'pending']])    creates the identity of main; pending: to take over a
 *                                           name
 *     counter_fork([schema])                takes a new random id now
 *     counter_settle([schema])              a copy takes the id that it will count under now, as
 *                                           its first count would
 *     counter_trust_witness([schema])       ignores the fingerprint from now on
 *     counter_promote([schema])             a pending file takes over the name
 *     counter_retire([schema])              the file stops counting
 *     counter_lost(id [, schema])           a replica is lost for good: no file waits for it
 *     counter_remove([schema])              drops the stored tables of a file that has no counter
 *                                           tables left
 *     counter_identity([schema])            its present and former ids, as rows
 *
 * counter_remove returns the number of tables, the others the id of the file, as text. For
 * 'pending' see file/file.h.
 */
#include <string.h>

#include "functions/functions.h"

/* ---- counter_init ---------------------------------------------------------------------------- */

/* Returns a name as text, or sets an error that shows it. */
static const char *replica_name(sqlite3_context *ctx, sqlite3_value *value)
{
    ctr_problem problem;
    ctr_problem_begin(sqlite3_user_data(ctx), &problem);
    const char *name = ctr_text_value(sqlite3_user_data(ctx), value);
    int size = sqlite3_value_bytes(value);
    if (!ctr_arg_problem(ctx, "counter_init", &problem)) return NULL;
    if (name && size <= CTR_NAME_MAX && ctr_id_is_name(name, (size_t)size)) return name;
    char *shown = ctr_problem_describe_value(value);
    if (shown)
        ctr_arg_error(
            ctx,
            "counter_init: the name must be dc:rack, both non-empty and %d bytes at most, "
            "not %s",
            CTR_NAME_MAX, shown);
    else
        sqlite3_result_error_nomem(ctx);
    sqlite3_free(shown);
    return NULL;
}

/* The general sentence asks for a name before the first table, and such a file takes no bound. */
static void refuse_bounded(ctr_conn *conn, const char *name)
{
    ctr_run run = ctr_run_on(conn, "main", NULL);
    if (ctr_schema_object(conn, "main", "counter_state") == CTR_OBJECT_TABLE &&
        ctr_run_once(&run, ctr_run_prepare(&run, CTR_SQL_COLUMNS_ANY_BOUNDED_OF_FILE)))
        ctr_problem_set(conn, SQLITE_ERROR,
                        "main has a bounded counter, and cannot become '%s': a file with a name "
                        "takes no bound, for its successor would take again what it has taken",
                        name);
}

/* A file that already has its identity is only read. */
static void fn_init(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    const char *name = argc > 0 ? replica_name(ctx, argv[0]) : NULL;
    if (argc > 0 && !name) return;
    ctr_conn *conn = sqlite3_user_data(ctx);
    ctr_problem problem;
    ctr_problem_begin(conn, &problem);
    const char *how = argc > 1 ? ctr_text_value(conn, argv[1]) : NULL;
    bool pending = how && sqlite3_stricmp(how, "pending") == 0;
    if (!ctr_arg_problem(ctx, "counter_init", &problem)) return;
    if (argc > 1 && !pending) {
        ctr_arg_refuse(ctx, "counter_init", "the second argument", "'pending'", argv[1]);
        return;
    }

    ctr_identity identity;
    ctr_problem_begin(conn, &problem);
    ctr_identity_read(&identity, conn, "main");
    if (identity.present) {
        if (name && !*identity.name) refuse_bounded(conn, name);
        ctr_identity_check_name(conn, &identity, "main", name);
        if (pending && identity.turn == CTR_TURN_NONE)
            ctr_problem_set(conn, SQLITE_ERROR,
                            "main has an identity already; only a new file can take over a name");
    } else {
        /* The tables of the file and their row, in one savepoint. */
        ctr_session session = {0};
        ctr_file *file = ctr_file_of(conn, "main");
        if (!file) ctr_problem_nomem(conn);
        if (problem.rc == SQLITE_OK && ctr_session_begin(&session, conn, false) == SQLITE_OK) {
            ctr_conn_join(conn);
            if (pending)
                ctr_succession_create_pending(file, name);
            else
                ctr_succession_create(file, name);
            ctr_identity_read(&identity, conn, "main");
        }
        ctr_session_end(&session);
    }
    if (ctr_arg_problem(ctx, "counter_init", &problem)) ctr_arg_result_id(ctx, identity.id);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* Changes the identity of a schema in a transaction, which counter_witness joins for main; with
 * `lost`, declares that replica lost. The result is set before the end: if there is no memory for
 * it, the change is rolled back. */
static void change(sqlite3_context *ctx, const char *function, sqlite3_value *schema_value,
                   int (*how)(ctr_file *), const uint8_t *lost)
{
    ctr_conn *conn = sqlite3_user_data(ctx);
    const char *schema = ctr_arg_schema(ctx, function, schema_value);
    if (!schema) return;
    ctr_identity identity = {0};
    ctr_problem problem;
    ctr_problem_begin(conn, &problem);
    ctr_session session;
    ctr_file *file = ctr_file_of(conn, schema);
    if (!file) ctr_problem_nomem(conn);
    if (file && ctr_session_begin(&session, conn, false) == SQLITE_OK) {
        ctr_session_lock(&session, schema);
        if (sqlite3_stricmp(schema, "main") == 0) ctr_conn_join(conn);
        if (problem.rc == SQLITE_OK && lost) ctr_succession_lose(file, lost);
        if (problem.rc == SQLITE_OK && how) how(file);
        if (sqlite3_stricmp(schema, "main") != 0) ctr_file_forget(file);
        ctr_identity_read(&identity, conn, schema);
        if (problem.rc == SQLITE_OK) ctr_arg_result_id(ctx, identity.id);
    }
    if (file) ctr_session_end(&session);
    ctr_arg_problem(ctx, function, &problem);
}

static void fn_fork(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    change(ctx, "counter_fork", argc > 0 ? argv[0] : NULL, ctr_succession_fork, NULL);
}

static int settle(ctr_file *file)
{
    ctr_file_identity(file);
    return ctr_rc(file->conn);
}

static void fn_settle(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    change(ctx, "counter_settle", argc > 0 ? argv[0] : NULL, settle, NULL);
}

static void fn_trust_witness(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    change(ctx, "counter_trust_witness", argc > 0 ? argv[0] : NULL, ctr_succession_trust_witness,
           NULL);
}

static void fn_retire(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    change(ctx, "counter_retire", argc > 0 ? argv[0] : NULL, ctr_succession_retire, NULL);
}

static int promote(ctr_file *file)
{
    ctr_identity identity;
    uint8_t digest[CTR_ID_SIZE];
    ctr_identity_read(&identity, file->conn, file->schema);
    ctr_digest_shards(NULL, file, identity.id, digest);
    if (ctr_rc(file->conn) == SQLITE_OK) ctr_succession_promote(file, digest);
    return ctr_rc(file->conn);
}

static void fn_promote(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    change(ctx, "counter_promote", argc > 0 ? argv[0] : NULL, promote, NULL);
}

static void fn_lost(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    uint8_t id[CTR_ID_SIZE];
    if (ctr_arg_id(ctx, "counter_lost", "id", argv[0], id))
        change(ctx, "counter_lost", argc > 1 ? argv[1] : NULL, NULL, id);
}

/* ---- counter_remove -------------------------------------------------------------------------- */

/* Returns whether an object is a counter table with all of its stored tables. */
static bool is_counter_table(const ctr_objects *objects, const ctr_named *named)
{
    if (named->object != CTR_OBJECT_VIRTUAL_TABLE) return false;
    for (const char *const *suffix = ctr_stored_suffixes(); *suffix; suffix++)
        if (!ctr_schema_objects_stored(objects, named->name, *suffix)) return false;
    return true;
}

/* Fails if the file has counter tables, and names them. A clone of the shell has only their stored
 * tables, which the catalog lists; a damaged catalog may list none. */
static void refuse_counter_tables(ctr_file *file, const ctr_objects *objects)
{
    ctr_catalog catalog = {0};
    sqlite3_str *names = sqlite3_str_new(NULL);
    ctr_catalog_read(&catalog, file);
    for (int i = 0; i < catalog.n; i++)
        sqlite3_str_appendf(names, "%s%s", ctr_text_separator(names, ", "),
                            catalog.entries[i].name);
    for (size_t i = 0; i < objects->n && catalog.n == 0; i++)
        if (is_counter_table(objects, &objects->named[i]))
            sqlite3_str_appendf(names, "%s%s", ctr_text_separator(names, ", "),
                                objects->named[i].name);
    ctr_catalog_close(&catalog);
    char *list = sqlite3_str_length(names) ? sqlite3_str_value(names) : NULL;
    if (sqlite3_str_errcode(names)) ctr_problem_nomem(file->conn);
    if (list)
        ctr_problem_set(file->conn, SQLITE_ERROR, "%s still has counter tables: %s", file->schema,
                        list);
    sqlite3_free(sqlite3_str_finish(names));
}

/* Drops the stored tables of a file that has an identity; returns their number. */
static int64_t remove_stored(ctr_file *file)
{
    int64_t n = 0;
    const ctr_objects *objects = ctr_file_objects(file);
    if (objects) refuse_counter_tables(file, objects);
    ctr_run run = ctr_file_run(file);
    for (const char *const *of = ctr_stored_of_file(); *of && ctr_rc(file->conn) == SQLITE_OK;
         of++) {
        const ctr_named *named = ctr_schema_objects_find(objects, *of);
        if (!named || named->object != CTR_OBJECT_TABLE) continue;
        run.slots.name = *of;
        ctr_run_do(&run, CTR_SQL_SCHEMA_DROP, NULL);
        if (ctr_schema_object(run.conn, file->schema, *of) != CTR_OBJECT_NONE)
            ctr_problem_set(file->conn, SQLITE_AUTH,
                            "an authorizer of this connection ignores DROP TABLE");
        n++;
    }
    return n;
}

/* The attribute of the file stays: it tells the next identity that the file has counted under one
 * that it lost. */
static void fn_remove(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    static const char COUNTER_REMOVE[] = "counter_remove";
    ctr_conn *conn = sqlite3_user_data(ctx);
    const char *schema = ctr_arg_schema(ctx, COUNTER_REMOVE, argc > 0 ? argv[0] : NULL);
    if (!schema) return;
    int64_t n = 0;
    ctr_identity identity = {0};
    ctr_problem problem;
    ctr_problem_begin(conn, &problem);
    ctr_session session;
    ctr_file *file = ctr_file_of(conn, schema);
    if (!file) ctr_problem_nomem(conn);
    if (file && ctr_session_begin(&session, conn, false) == SQLITE_OK) {
        ctr_session_lock(&session, schema);
        if (problem.rc == SQLITE_OK && ctr_identity_read(&identity, conn, schema))
            ctr_identity_offer_fork(conn, schema);
        if (identity.present && problem.rc == SQLITE_OK) n = remove_stored(file);
        if (n > 0) ctr_file_removed(file);
    }
    if (file) ctr_session_end(&session);
    if (ctr_arg_problem(ctx, COUNTER_REMOVE, &problem)) sqlite3_result_int64(ctx, n);
}

/* ---- counter_identity ------------------------------------------------------------------------ */

/* Shows the present and former ids of a file, the newest first:
 *
 *     SELECT id, name, state, since, why, fingerprint, witness, refuses FROM counter_identity();
 *
 *     state          current or former
 *     since, why     UTC; created, copy, restore, conflict, dropped table or fork
 *     fingerprint    of the current id: 'armed', 'weak' (a restore may go unnoticed), or why not
 *     witness        the same
 *     refuses        why the file does not count; NULL if it does
 *
 * It changes nothing; the next count acts on a copy or a restore.
 */

static const char UNKNOWN_VFS[] = "not armed: the VFS is not a unix one";

/* A random id is replaced by a new one; a file with a name stops counting. */
static const char *what_follows(const ctr_identity *identity)
{
    return *identity->name ? "the file refuses to count" : "the next count takes a new id";
}

static char *fingerprint_state(const ctr_storage *storage, const ctr_identity *identity,
                               const ctr_fingerprint *seen)
{
    const ctr_lineage *lineage = &identity->lineage;
    const char *state = "armed";
    if (lineage->trusts_witness)
        state = "not armed: the witness alone is trusted";
    else if (storage->kind == CTR_STORAGE_OTHER)
        state = UNKNOWN_VFS;
    else if (!ctr_lineage_same_place(seen, &lineage->fingerprint))
        return sqlite3_mprintf("this is a copy: %s", what_follows(identity));
    else if (ctr_lineage_is_weak(seen))
        state = "weak: the file system gives only the inode, which another file may get";
    return sqlite3_mprintf("%s", state);
}

static char *witness_state(const ctr_storage *storage, const ctr_identity *identity,
                           const ctr_fingerprint *seen, const ctr_attribute *attribute)
{
    if (storage->kind == CTR_STORAGE_MEMORY) return sqlite3_mprintf("armed");
    if (storage->kind == CTR_STORAGE_OTHER) return sqlite3_mprintf("%s", UNKNOWN_VFS);
    switch (attribute->state) {
    case CTR_ATTRIBUTE_UNARMED:
        return sqlite3_mprintf("not armed: extended attributes: %s", strerror(storage->error));
    case CTR_ATTRIBUTE_MISSING:
        return sqlite3_mprintf("not armed: the attribute " CTR_OS_ATTRIBUTE " is not there");
    case CTR_ATTRIBUTE_FOREIGN:
        return sqlite3_mprintf(
            "not armed: another program has written the attribute " CTR_OS_ATTRIBUTE);
    case CTR_ATTRIBUTE_READ: break;
    }
    if (ctr_lineage_judge(&identity->lineage, seen, attribute).why == CTR_WHY_NONE)
        return sqlite3_mprintf("armed");
    return sqlite3_mprintf("this is older content, or a copy: %s", what_follows(identity));
}

/* Columns of CTR_SQL_IDENTITY_HISTORY. */
enum { HISTORY_ID, HISTORY_NAME, HISTORY_STATE, HISTORY_SINCE, HISTORY_WHY, HISTORY_REFUSES };

/* A file without an identity has no rows. */
static void show_history(ctr_answer *answer, sqlite3_value **args)
{
    ctr_identity identity;
    const char *schema = ctr_answer_schema(answer, args[0]);
    if (!schema || ctr_identity_read(&identity, answer->conn, schema) || !identity.present) return;

    ctr_storage storage = {.kind = CTR_STORAGE_UNASKED};
    ctr_fingerprint seen;
    ctr_attribute attribute;
    char *fingerprint = NULL, *witness = NULL; /* what is said of the current id */
    if (ctr_storage_see(&storage, answer->conn, schema, true, &seen, &attribute) == SQLITE_OK) {
        fingerprint = fingerprint_state(&storage, &identity, &seen);
        witness = witness_state(&storage, &identity, &seen, &attribute);
        if (!fingerprint || !witness) ctr_problem_nomem(answer->conn);
    }
    ctr_storage_close(&storage);

    ctr_run run = ctr_run_on(answer->conn, schema, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_IDENTITY_HISTORY);
    while (ctr_run_row(&run, row)) {
        const void *id = sqlite3_column_blob(row, HISTORY_ID);
        bool whole = id && sqlite3_column_bytes(row, HISTORY_ID) == CTR_ID_SIZE;
        const char *state = ctr_text_column(answer->conn, row, HISTORY_STATE);
        bool current = state && strcmp(state, "former") != 0;

        ctr_answer_id(answer, whole ? id : NULL);
        for (int i = HISTORY_NAME; i <= HISTORY_WHY; i++)
            ctr_answer_value(answer, sqlite3_column_value(row, i));
        ctr_answer_text(answer, current ? fingerprint : NULL);
        ctr_answer_text(answer, current ? witness : NULL);
        ctr_answer_value(answer, sqlite3_column_value(row, HISTORY_REFUSES));
    }
    sqlite3_finalize(row);
    sqlite3_free(fingerprint);
    sqlite3_free(witness);
}

int ctr_admin_register(sqlite3 *db, ctr_conn *conn)
{
    static const ctr_answer_kind KIND = {
        .name = "counter_identity",
        .columns = "id TEXT, name TEXT, state TEXT, since TEXT, why TEXT, fingerprint TEXT, "
                   "witness TEXT, refuses TEXT",
        .args = "schema HIDDEN",
        .fill = show_history};
    static const ctr_function FUNCTIONS[] = {
        {"counter_init", 0, 2, CTR_ADMIN, fn_init},
        {"counter_fork", 0, 1, CTR_ADMIN, fn_fork},
        {"counter_settle", 0, 1, CTR_ADMIN, fn_settle},
        {"counter_trust_witness", 0, 1, CTR_ADMIN, fn_trust_witness},
        {"counter_promote", 0, 1, CTR_ADMIN, fn_promote},
        {"counter_retire", 0, 1, CTR_ADMIN, fn_retire},
        {"counter_lost", 1, 2, CTR_ADMIN, fn_lost},
        {"counter_remove", 0, 1, CTR_ADMIN, fn_remove},
    };
    int rc = ctr_answer_register(db, conn, &KIND, 1);
    if (rc != SQLITE_OK) return rc;
    return ctr_shared_functions(db, conn, FUNCTIONS, sizeof FUNCTIONS / sizeof *FUNCTIONS);
}
