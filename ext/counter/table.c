/* counter/table.c - the life of a counter table: its declaration, create, connect, rename, drop;
 * registration. */
#include "counter/counter.h"

#include <string.h>

/* =================================================================================================
 * declare - turns the clauses of USING counter(...) into a shape, or refuses them. */

/* Each has a %s for the culprit and, in some, a second one for the word. */
static const char *const SENTENCES[] = {
    [CTR_REFUSE_SYNTAX] = "cannot read the declaration '%s'",
    [CTR_REFUSE_OPTION] = "unknown option '%s': a counter table has no options and no TTL",
    [CTR_REFUSE_TTL] = "column %s: a counter table cannot have a TTL",
    [CTR_REFUSE_PLAIN_COLUMN] = "column %s is neither a COUNTER nor part of the PRIMARY KEY; a "
                                "counter table has no plain columns",
    [CTR_REFUSE_COUNTER_IN_KEY] = "column %s: a COUNTER cannot be part of the PRIMARY KEY",
    [CTR_REFUSE_COUNTER_TYPE] = "column %s: the type COUNTER takes no other words",
    [CTR_REFUSE_COUNTER_COLLATED] = "column %s: a COUNTER is an integer and has no COLLATE",
    [CTR_REFUSE_TYPE] = "column %s: its type must be plain words, such as TEXT or VARCHAR(20)",
    [CTR_REFUSE_CONSTRAINT] =
        "column %s: %s is not possible in a counter table, which has only counters and their key",
    [CTR_REFUSE_DEFAULT] = "column %s: a counter begins at 0, so its DEFAULT cannot be %s",
    [CTR_REFUSE_TABLE_CONSTRAINT] =
        "'%s' is not possible in a counter table, whose only constraint is its PRIMARY KEY",
    [CTR_REFUSE_NAME_RESERVED] =
        "column %s: the names rowid, oid, request_id and those that begin with _ are reserved",
    [CTR_REFUSE_NAME_OF_TABLE] =
        "column %s has the name of the table, which is reserved for the command column",
    [CTR_REFUSE_NAME_TWICE] = "column %s is named twice",
    [CTR_REFUSE_KEY_NOT_LAST] = "PRIMARY KEY (...) must be the last clause; '%s' follows it",
    [CTR_REFUSE_KEY_TWICE] =
        "a second PRIMARY KEY at '%s'; write PRIMARY KEY (...) for several columns",
    [CTR_REFUSE_KEY_UNKNOWN] = "the PRIMARY KEY names %s, which is not a column",
    [CTR_REFUSE_KEY_REPEATED] = "the PRIMARY KEY names %s twice",
    [CTR_REFUSE_NO_KEY] = "a PRIMARY KEY is needed%s",
    [CTR_REFUSE_NO_COUNTER] = "at least one column must be a COUNTER%s",
    [CTR_REFUSE_NOT_A_COUNTER] = "column %s: only a COUNTER can be added",
};

static void refuse_declaration(ctr_conn *conn, const ctr_declaration *declaration)
{
    char *culprit = ctr_text_of(conn, declaration->culprit),
         *word = ctr_text_of(conn, declaration->word);
    ctr_problem_set(conn, SQLITE_ERROR, SENTENCES[declaration->refusal], culprit, word);
    sqlite3_free(culprit);
    sqlite3_free(word);
}

/* A tracked table that is replicated may have no counter. */
static void declare_shape(ctr_conn *conn, ctr_shape *shape, const char *table, bool tracked, int n,
                          const char *const *clauses)
{
    if (ctr_rc(conn) != SQLITE_OK) return;
    ctr_declaration declaration;
    ctr_declared *room = sqlite3_malloc64(((size_t)n + 1) * sizeof *room);
    if (!room) {
        ctr_problem_nomem(conn);
        return;
    }
    bool whole = ctr_declaration_parse(&declaration, room, table, clauses, n);
    if (tracked && !whole && declaration.refusal == CTR_REFUSE_NO_COUNTER) whole = true;
    if (whole)
        ctr_shape_open(conn, shape, declaration.n_columns);
    else
        refuse_declaration(conn, &declaration);
    for (int i = 0; whole && i < declaration.n_columns; i++) {
        const ctr_declared *column = &declaration.columns[i];
        char *name = ctr_text_unquoted(conn, column->name), *type = ctr_text_of(conn, column->type),
             *collation = ctr_text_unquoted(conn, column->collation);
        if (type) ctr_declaration_type(column->type, type);
        ctr_shape_add(conn, shape, name, type, collation, column->key);
        sqlite3_free(name);
        sqlite3_free(type);
        sqlite3_free(collation);
    }
    sqlite3_free(room);
}

/* If the last clause is TRACKED "products", as counter_track writes it, removes it from the count
 * and returns the name of the tracked table; the caller frees it with sqlite3_free. Returns NULL if
 * there is no such clause, or on error. */
static char *declare_tracked(ctr_conn *conn, int *n, const char *const *clauses)
{
    static const char TRACKED[] = "TRACKED \"";
    const char *last = *n > 0 ? clauses[*n - 1] : "";
    if (strncmp(last, TRACKED, sizeof TRACKED - 1) != 0) return NULL;
    last += sizeof TRACKED - 2;
    --*n;
    return ctr_text_unquoted(conn, (ctr_span){last, strlen(last)});
}

char *ctr_declare_counter(ctr_conn *conn, const char *table, const char *clause)
{
    ctr_declaration declaration;
    ctr_declared column;
    if (!ctr_declaration_counter(&declaration, &column, table, clause)) {
        refuse_declaration(conn, &declaration);
        return NULL;
    }
    return ctr_text_unquoted(conn, column.name);
}

/* Counters and hidden columns have a type, because some schema readers fail on a column without
 * one; a key has its declared type, or none. There is no PRIMARY KEY: SQLite would add an index to
 * a table that it does not store, and integrity_check of 3.40 to 3.53 fails on that. */
char *ctr_declare_vtab(const ctr_shape *shape, const char *table, bool tracked)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendf(out, "CREATE TABLE x(\"%w\" TEXT HIDDEN", table);
    for (int i = 0; i < shape->n_columns; i++) {
        const ctr_column *column = &shape->columns[i];
        if (column->key < 0)
            sqlite3_str_appendf(out, ", \"%w\" INTEGER", column->name);
        else
            sqlite3_str_appendf(out, ", \"%w\" %s COLLATE \"%w\" NOT NULL", column->name,
                                column->type, column->collation);
    }
    sqlite3_str_appendall(out, ", request_id BLOB HIDDEN");
    if (tracked)
        sqlite3_str_appendall(out, ", _event TEXT HIDDEN, _marks TEXT HIDDEN, _at INTEGER HIDDEN");
    for (int i = 0; tracked && i < shape->n_counters; i++)
        sqlite3_str_appendf(out, ", \"_was_%w\" INTEGER HIDDEN", ctr_shape_counter_name(shape, i));
    sqlite3_str_appendall(out, ")");
    return sqlite3_str_finish(out);
}

/* =================================================================================================
 * table - xCreate, xConnect, xRename, xDestroy; the columns as SQLite sees them. */

/* The arguments of xCreate and xConnect. */
enum { ARG_SCHEMA = 1, ARG_TABLE = 2, ARG_CLAUSES = 3 };

int ctr_table_fail(ctr_table *table, ctr_problem *problem)
{
    ctr_problem trouble;
    const char *tracked = NULL;
    ctr_problem_end(problem);
    if (problem->rc != SQLITE_OK && table->handed) {
        ctr_problem_begin(table->joined.conn, &trouble);
        tracked = table->tracker->tracked_table(table);
        ctr_problem_end(&trouble);
        if (trouble.rc != SQLITE_OK) {
            ctr_problem_close(problem);
            *problem = trouble;
        }
    }
    int rc = ctr_arg_table_problem(&table->joined.base, tracked ? tracked : table->name, problem);
    table->handed = false;
    return rc;
}

static int table_disconnect(sqlite3_vtab *base)
{
    ctr_table *table = (ctr_table *)base;
    if (table->file) ctr_tab_forget(table->file, table->name);
    ctr_scan_release(table);
    if (table->tracker) table->tracker->close(table);
    ctr_stream_release(&table->streams);
    ctr_row_close(&table->own_rows);
    ctr_shape_close(&table->shape);
    ctr_file_release(table->held);
    sqlite3_free(table->keys);
    sqlite3_free(table->given);
    sqlite3_free(table->schema);
    sqlite3_free(table->name);
    sqlite3_free(base->zErrMsg); /* after a DROP that failed SQLite leaves it */
    sqlite3_free(table);
    return SQLITE_OK;
}

static void open_table(ctr_table *table)
{
    if (ctr_rc(table->joined.conn) != SQLITE_OK) return;
    table->held = table->file = ctr_file_hold(table->joined.conn, table->schema);
    size_t n_keys = (size_t)table->shape.n_keys, n_counters = (size_t)table->shape.n_counters;
    table->keys = sqlite3_malloc64(n_keys * sizeof *table->keys);
    table->given = sqlite3_malloc64((n_counters + 1) * sizeof *table->given);
    if (!table->file || !table->keys || !table->given) {
        ctr_problem_nomem(table->joined.conn);
        return;
    }
    ctr_row_open(&table->own_rows, table->file, table->name, &table->shape);
    ctr_tab_forget(table->file, table->name); /* it may be another table */
    table->streams = (ctr_streams){.conn = table->joined.conn,
                                   .schema = table->schema,
                                   .table = table->name,
                                   .shape = &table->shape};
    table->floors = ctr_floors_on(table->own_rows.tab, &table->shape);
}

/* The identity is read first, unless it was checked, because the columns may have another meaning
 * in a newer format. */
void ctr_table_read(ctr_table *table)
{
    ctr_conn *conn = table->joined.conn;
    if (ctr_rc(conn) != SQLITE_OK || table->read || table->front) return;
    ctr_identity identity;
    ctr_shape shape = {0};
    if (!table->file->checked && ctr_identity_read(&identity, conn, table->schema))
        ctr_identity_offer_fork(conn, table->schema);
    ctr_tab_read_shape(table->file, table->name, &shape);
    if (ctr_rc(conn) == SQLITE_OK && !ctr_shape_same_columns(&shape, &table->shape))
        ctr_problem_set(conn, SQLITE_CORRUPT_VTAB,
                        "the stored table %s_cells is damaged: it has other columns than declared",
                        table->name);
    if (ctr_rc(conn) == SQLITE_OK) {
        ctr_shape_close(&table->shape);
        table->shape = shape;
        table->read = true;
    } else {
        ctr_shape_close(&shape);
    }
}

void ctr_table_declare(ctr_table *table)
{
    if (ctr_rc(table->joined.conn) != SQLITE_OK) return;
    char *declaration = ctr_declare_vtab(&table->shape, table->name, table->tracker != NULL);
    if (!declaration) {
        ctr_problem_nomem(table->joined.conn);
        return;
    }
    ctr_problem_sqlite(table->joined.conn,
                       sqlite3_declare_vtab(table->joined.conn->db, declaration));
    sqlite3_free(declaration);
    /* With it, a statement OR IGNORE or OR FAIL on a tracked table would keep the row whose trigger
     * was refused. */
    if (!table->tracker)
        sqlite3_vtab_config(table->joined.conn->db, SQLITE_VTAB_CONSTRAINT_SUPPORT, 1);
    if (!table->front) sqlite3_vtab_config(table->joined.conn->db, SQLITE_VTAB_INNOCUOUS);
}

/* Returns a table over the stored one, or NULL on error. Takes over the names; `clauses` are the n
 * clauses of the declaration. The columns are those of the stored table, and their order in the key
 * is that of the declaration. */
static ctr_table *connect(ctr_conn *conn, char *schema, char *name, int n,
                          const char *const *clauses)
{
    ctr_table *table = sqlite3_malloc64(sizeof *table);
    if (!table) {
        sqlite3_free(schema);
        sqlite3_free(name);
        ctr_problem_nomem(conn);
        return NULL;
    }
    memset(table, 0, sizeof *table);
    table->joined.conn = conn;
    table->row = &table->own_rows;
    table->schema = schema;
    table->name = name;
    char *tracked = declare_tracked(conn, &n, clauses);
    table->tracker = tracked ? conn->above.tracker : NULL;
    sqlite3_free(tracked);
    if (table->tracker) table->tracker->open(table);
    if (!table->schema || !table->name) ctr_problem_nomem(conn);
    ctr_shape declared = {0};
    declare_shape(conn, &declared, table->name, table->tracker != NULL, n, clauses);
    if (ctr_rc(conn) == SQLITE_OK)
        ctr_stored_describe(&table->shape, table->joined.conn, table->schema, table->name,
                            &declared);
    ctr_shape_close(&declared);
    open_table(table);
    ctr_table_declare(table);
    if (ctr_rc(conn) == SQLITE_OK) return table;
    ctr_problem_where(conn, "%s", name);
    table_disconnect(&table->joined.base);
    return NULL;
}

/* SQLITE_SCHEMA is passed on unchanged: SQLite reads the schema again and repeats the call, once.
 * If the schema has changed again, the host sees SQLite's own message. */
int ctr_table_report(ctr_problem *problem, char **message)
{
    int rc = problem->rc;
    if (rc != SQLITE_OK && rc != SQLITE_NOMEM) {
        *message = sqlite3_mprintf("%s", rc == SQLITE_SCHEMA ? sqlite3_errstr(rc)
                                                             : ctr_problem_text(problem));
        if (!*message) rc = SQLITE_NOMEM;
    }
    ctr_problem_close(problem);
    return rc;
}

/* The names are copied first: an inner statement that is interrupted rolls everything back, and
 * SQLite then frees the table that owns the arguments. */
static int table_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                         sqlite3_vtab **base, char **message)
{
    ctr_problem problem;
    ctr_problem_begin(aux, &problem);
    (void)db;
    ctr_table *table =
        connect(aux, sqlite3_mprintf("%s", argv[ARG_SCHEMA]),
                sqlite3_mprintf("%s", argv[ARG_TABLE]), argc - ARG_CLAUSES, argv + ARG_CLAUSES);
    if (table) *base = &table->joined.base;
    return ctr_table_report(&problem, message);
}

void ctr_table_check_name(ctr_conn *conn, const ctr_shape *shape, const char *name)
{
    if (ctr_rc(conn) != SQLITE_OK) return;
    if (ctr_declaration_reserves_table(name))
        ctr_problem_set(conn, SQLITE_ERROR,
                        "names that begin with counter_ are reserved, such as %s", name);
    if (sqlite3_stricmp(name, "request_id") == 0)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "the table cannot have the name %s: it has a hidden column of that name",
                        name);
    for (int i = 0; i < shape->n_columns; i++) {
        const char *column = shape->columns[i].name;
        if (sqlite3_stricmp(name, column) == 0)
            ctr_problem_set(conn, SQLITE_ERROR,
                            "the table cannot have the name %s: it has the column %s", name,
                            column);
    }
}

/* Returns the clauses of a declaration. */
static const char *declaration_of(ctr_conn *conn, const ctr_shape *shape, const char *tracked)
{
    const char *columns = ctr_shape_declaration(conn, shape);
    return tracked ? ctr_text_print(conn, "%s, TRACKED \"%w\"", columns, tracked) : columns;
}

static bool are_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : !a && !b;
}

/* `.clone` of the shell copies the stored tables without the counter table. Returns whether there
 * are stored tables of this name: the new table uses them as they are. Fails if they have other
 * columns, or belong to another tracked table. */
static bool take_up(ctr_conn *conn, const char *schema, const char *name, const char *tracked,
                    const ctr_shape *shape)
{
    ctr_catalog_entry entry;
    ctr_shape stored = {0};
    ctr_identity identity;
    if (ctr_rc(conn) == SQLITE_OK) ctr_identity_read(&identity, conn, schema);
    bool has_stored = ctr_catalog_named(&entry, conn, schema, name) &&
                      ctr_stored_read(&stored, conn, schema, name) == SQLITE_OK;
    if (has_stored) {
        stored.keyed = shape->keyed; /* which the declaration does not tell */
        stored.linked = shape->linked;
        char *was_tracked = ctr_stored_tracked(conn, schema, name);
        const char *birth = was_tracked ? entry.birth : NULL;
        const char *is = declaration_of(conn, &stored, birth),
                   *wanted = declaration_of(conn, shape, tracked);
        bool same = ctr_rc(conn) == SQLITE_OK && /* the texts alone count if no counter is left */
                    (strcmp(is, wanted) == 0 ||
                     (are_same(birth, tracked) && ctr_shape_same_columns(&stored, shape)));
        if (ctr_rc(conn) == SQLITE_OK && !same)
            ctr_problem_set(conn, SQLITE_ERROR,
                            "its stored tables exist already: CREATE VIRTUAL TABLE \"%w\" USING "
                            "counter(%s) uses them",
                            name, is);
        sqlite3_free(was_tracked);
    }
    ctr_shape_close(&stored);
    ctr_catalog_close_entry(&entry);
    return has_stored;
}

/* Makes the stored tables, and those of the file. */
static void make_stored(ctr_conn *conn, const char *schema, const char *name, const char *tracked,
                        const ctr_shape *shape)
{
    if (ctr_rc(conn) != SQLITE_OK) return;
    ctr_file *file = ctr_file_of(conn, schema);
    if (file)
        ctr_succession_create(file, NULL);
    else
        ctr_problem_nomem(conn);
    ctr_catalog_add(conn, schema, name, tracked ? tracked : name);
    ctr_stored_create(shape, conn, schema, name);
    if (shape->linked) ctr_session_renew(conn); /* CREATE INDEX has expired its statements */
    ctr_run run = ctr_run_on(conn, schema, name);
    if (tracked)
        ctr_run_with(&run, CTR_SQL_COLUMNS_NOTE, ":number i :birth t :name t :generation i",
                     INT64_C(-1), "", tracked, INT64_C(0));
}

/* After a failure, SQLite rolls back all writes of the CREATE statement. If a statement of ours
 * fails on the disk, SQLite drops the schema, and `argv` with it: so `argv` is read first. */
static int table_create(sqlite3 *db, void *aux, int argc, const char *const *argv,
                        sqlite3_vtab **base, char **message)
{
    ctr_conn *conn = aux;
    ctr_problem problem;
    ctr_problem_begin(conn, &problem);
    (void)db;
    ctr_shape shape = {0};
    ctr_table *table = NULL;
    char *schema = sqlite3_mprintf("%s", argv[ARG_SCHEMA]);
    char *name = sqlite3_mprintf("%s", argv[ARG_TABLE]);
    if (!schema || !name) ctr_problem_nomem(conn);
    int n = argc - ARG_CLAUSES;
    char *tracked = declare_tracked(conn, &n, argv + ARG_CLAUSES);
    declare_shape(conn, &shape, name, tracked != NULL, n, argv + ARG_CLAUSES);
    shape.replicated = tracked && conn->row_cells;
    shape.keyed = tracked && conn->keyed;
    shape.linked = tracked && conn->linked;
    ctr_session_renew(conn);
    ctr_table_check_name(conn, &shape, name);
    if (!take_up(conn, schema, name, tracked, &shape))
        make_stored(conn, schema, name, tracked, &shape);
    sqlite3_free(tracked);
    ctr_shape_close(&shape);
    if (problem.rc == SQLITE_OK) {
        table = connect(conn, schema, name, argc - ARG_CLAUSES, argv + ARG_CLAUSES);
    } else {
        ctr_problem_where(conn, "%s", name);
        sqlite3_free(schema);
        sqlite3_free(name);
    }
    if (table) *base = &table->joined.base;
    return ctr_table_report(&problem, message);
}

/* A file that forgets its own shards would write them again with clocks that other files have seen.
 * A table that never had a row has no shards. Floors prove that there were rows; in damaged stored
 * tables there may have been some. */
static bool has_shards(ctr_table *table)
{
    ctr_conn *conn = table->joined.conn;
    ctr_problem damage;
    if (ctr_rc(conn) != SQLITE_OK) return false;
    ctr_problem_try(conn, &damage);
    ctr_run run = ctr_run_on(conn, table->schema, table->name);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_ROWS_ANY);
    bool any = ctr_run_once(&run, row);
    ctr_slot *floors = ctr_floors_read(table->own_rows.tab);
    any = any || floors || damage.rc != SQLITE_OK;
    ctr_tab_give_back(table->own_rows.tab, floors);
    ctr_problem_raise_if(conn, &damage, ctr_problem_rolls_back(damage.rc));
    return any;
}

/* SQLite will not call this table when the transaction ends, so counter_witness joins instead. That
 * locks main; for a table of another file it is done only if that file has counted, because its
 * witness must be written after the commit. */
static void tell_another(ctr_table *table)
{
    if (sqlite3_stricmp(table->schema, "main") == 0) ctr_conn_join(table->joined.conn);
    if (ctr_file_has_counted(table->file)) ctr_events_pass_on(&table->joined);
}

/* A damaged table can be dropped, but not one of a newer format. When a DROP fails, SQLite shows
 * the text of the code instead of the table's message. */
static void refuse_newer(ctr_table *table)
{
    ctr_identity identity;
    ctr_conn *conn = table->joined.conn;
    ctr_problem trouble;
    ctr_problem_try(conn, &trouble);
    ctr_identity_read(&identity, conn, table->schema);
    if (trouble.rc == SQLITE_ERROR) trouble.rc = SQLITE_READONLY;
    ctr_problem_raise_if(conn, &trouble, trouble.rc != SQLITE_CORRUPT_VTAB);
}

/* A damaged table can be dropped. */
static void refuse_rights(ctr_table *table)
{
    ctr_conn *conn = table->joined.conn;
    ctr_problem damage;
    if (ctr_rc(conn) != SQLITE_OK) return;
    ctr_problem_try(conn, &damage);
    ctr_rights_refuse_new_id(table->file);
    ctr_problem_raise_if(conn, &damage,
                         damage.rc == SQLITE_PERM || ctr_problem_rolls_back(damage.rc));
}

/* Removes what the table has in the stored tables of the file. If these are damaged, or the table
 * has no number, it stays: no other table gets the number. */
static void forget_by(ctr_table *table, void (*removes)(ctr_tab *))
{
    ctr_conn *conn = table->joined.conn;
    ctr_problem damage;
    if (ctr_rc(conn) != SQLITE_OK) return;
    ctr_problem_try(conn, &damage);
    removes(table->own_rows.tab);
    int code = damage.rc & 0xff;
    ctr_problem_raise_if(conn, &damage, code != SQLITE_CORRUPT && code != SQLITE_ERROR);
}

/* No statement that was prepared here stays: each DROP of a stored table raises the version of the
 * schema by one, and afterwards SQLite sets it back to one more than before the whole. So after two
 * more changes the statement would count as valid, while auto_vacuum may have moved its table. */
static int table_destroy(sqlite3_vtab *base)
{
    ctr_table *table = (ctr_table *)base;
    ctr_problem problem;
    ctr_problem_begin(table->joined.conn, &problem);
    refuse_newer(table);
    const char *tracked = table->tracker ? table->tracker->tracked_table(table) : NULL;
    if (tracked) /* its triggers name this table */
        ctr_problem_set(table->joined.conn, SQLITE_PERM,
                        "it holds the counters of the tracked table %s and cannot be dropped: "
                        "counter_untrack('%s') stops tracking",
                        tracked, tracked);
    ctr_batch_flush_all(table->file);
    bool forgets = has_shards(table);
    if (forgets) refuse_rights(table);
    ctr_stream_release(&table->streams);
    ctr_tab_release(table->own_rows.tab);
    tell_another(table);
    forget_by(table, ctr_stored_forget);
    forget_by(table, ctr_fold_drop);
    ctr_tab_forget(table->file, table->name);
    ctr_stored_drop(table->joined.conn, table->schema, table->name);
    ctr_catalog_remove(table->joined.conn, table->schema, table->name);
    if (forgets && problem.rc == SQLITE_OK)
        ctr_succession_lineage_changed(table->file, CTR_WHY_DROPPED);
    ctr_conn_release_kept(table->joined.conn);
    if (problem.rc != SQLITE_OK) return ctr_table_fail(table, &problem);
    ctr_problem_end(&problem);
    ctr_events_leave(&table->joined);
    if (table->joined.conn->told == 0) ctr_file_forget(table->file);
    return table_disconnect(base);
}

static int table_rename(sqlite3_vtab *base, const char *to)
{
    ctr_table *table = (ctr_table *)base;
    ctr_problem problem;
    ctr_problem_begin(table->joined.conn, &problem);
    ctr_table_read(table);
    if (table->tracker)
        ctr_problem_set(table->joined.conn, SQLITE_ERROR,
                        "it holds the counters of a tracked table and cannot be renamed");
    ctr_table_check_name(table->joined.conn, &table->shape, to);
    if (ctr_batch_flush_all(table->file) == SQLITE_OK) {
        ctr_tab_forget(table->file, table->name);
        ctr_tab_forget(table->file, to);
    }
    ctr_stored_rename(table->joined.conn, table->schema, table->name, to);
    ctr_catalog_rename(table->joined.conn, table->schema, table->name, to);
    return ctr_table_fail(table, &problem);
}

static int table_shadow_name(const char *suffix)
{
    const char *const *known = ctr_stored_suffixes();
    while (*known && sqlite3_stricmp(suffix, *known) != 0) known++;
    return *known != NULL;
}

/* ---- transactions ---------------------------------------------------------------------------- */

/* SQLite goes on telling a table whose CREATE was rolled back to a savepoint: then there is nothing
 * that its tracker could read. */
static void pass_over_rolled_back(const ctr_table *table, const ctr_problem *problem)
{
    ctr_problem unsure;
    ctr_conn *conn = table->joined.conn;
    if ((problem->rc & 0xff) != SQLITE_CORRUPT) return;
    ctr_problem_try(conn, &unsure);
    const char *cells = ctr_text_print(conn, "%s_cells", table->name);
    bool is_there = ctr_rc(conn) == SQLITE_OK && ctr_schema_is_table(conn, table->schema, cells);
    ctr_problem_end(&unsure);
    if (!is_there) ctr_problem_clear(conn);
    ctr_problem_raise_if(conn, &unsure, !is_there);
}

/* SQLite does not tell a table whose xBegin has failed of the end. */
static int table_begin(sqlite3_vtab *base)
{
    ctr_table *table = (ctr_table *)base;
    ctr_problem problem;
    int rc = ctr_events_begin(base);
    if (rc != SQLITE_OK || !table->tracker || !table->shape.replicated) return rc;
    ctr_problem_begin(table->joined.conn, &problem);
    ctr_table_read(table);
    if (problem.rc == SQLITE_OK) table->tracker->begin(table);
    pass_over_rolled_back(table, &problem);
    if (problem.rc != SQLITE_OK) ctr_events_leave(&table->joined);
    return ctr_table_fail(table, &problem);
}

static int tell_tracker(sqlite3_vtab *base, int rc, void (*of)(ctr_table *))
{
    ctr_table *table = (ctr_table *)base;
    ctr_problem problem;
    if (rc != SQLITE_OK) return rc;
    ctr_problem_begin(table->joined.conn, &problem);
    of(table);
    pass_over_rolled_back(table, &problem);
    return ctr_table_fail(table, &problem);
}

/* Within a statement of ours that of the application is running. */
static int table_savepoint(sqlite3_vtab *base, int level)
{
    const ctr_table *table = (ctr_table *)base;
    const ctr_tracker *tracker = table->tracker;
    bool is_ours = ctr_conn_is_entered(table->joined.conn);
    int rc = ctr_events_savepoint(base, level);
    return tracker && !is_ours ? tell_tracker(base, rc, tracker->savepoint) : rc;
}

static int table_sync(sqlite3_vtab *base)
{
    const ctr_tracker *tracker = ((ctr_table *)base)->tracker;
    int rc = ctr_events_sync(base);
    return tracker ? tell_tracker(base, rc, tracker->sync) : rc;
}

/* ---- registration ---------------------------------------------------------------------------- */

/* xIntegrity, which SQLite calls since 3.44; earlier versions ignore it. Their headers lack it, so
 * there is a type of our own.
 *
 * Reports a damage in the result of the PRAGMA, not as an error. */
static int integrity_method(sqlite3_vtab *base, const char *schema, const char *name, int flags,
                            char **message)
{
    enum { IS_QUICK_CHECK = 1 };
    ctr_table *table = (ctr_table *)base;
    ctr_problem problem;
    ctr_problem_begin(table->joined.conn, &problem);
    ctr_batch_flush_all(table->file);
    ctr_integrity_check(table, flags & IS_QUICK_CHECK ? CTR_INTEGRITY_QUICK : CTR_INTEGRITY_PRAGMA);
    int rc = problem.rc, code = rc & 0xff;
    if (code == SQLITE_CORRUPT || code == SQLITE_ERROR) {
        *message =
            sqlite3_mprintf("counter table %s.%s: %s", schema, name, ctr_problem_text(&problem));
        rc = *message ? SQLITE_OK : SQLITE_NOMEM;
    }
    ctr_problem_close(&problem);
    return rc;
}

int ctr_table_register(sqlite3 *db, ctr_conn *conn)
{
    static const ctr_integrity_module MODULE = {.module.iVersion = CTR_INTEGRITY_VERSION,
                                                .module.xCreate = table_create,
                                                .module.xConnect = table_connect,
                                                .module.xBestIndex = ctr_plan_best_index,
                                                .module.xDisconnect = table_disconnect,
                                                .module.xDestroy = table_destroy,
                                                .module.xOpen = ctr_scan_open,
                                                .module.xClose = ctr_scan_close,
                                                .module.xFilter = ctr_scan_filter,
                                                .module.xNext = ctr_scan_next,
                                                .module.xEof = ctr_scan_eof,
                                                .module.xColumn = ctr_scan_column,
                                                .module.xRowid = ctr_scan_rowid,
                                                .module.xUpdate = ctr_write_update,
                                                .module.xRename = table_rename,
                                                .module.xBegin = table_begin,
                                                .module.xSync = table_sync,
                                                .module.xCommit = ctr_events_commit,
                                                .module.xRollback = ctr_events_rollback,
                                                .module.xSavepoint = table_savepoint,
                                                .module.xRelease = ctr_events_release,
                                                .module.xRollbackTo = ctr_events_rollback_to,
                                                .module.xShadowName = table_shadow_name,
                                                .CTR_X_INTEGRITY = integrity_method};
    return sqlite3_create_module_v2(db, "counter", &MODULE.module, ctr_conn_hold(conn),
                                    ctr_conn_drop);
}
