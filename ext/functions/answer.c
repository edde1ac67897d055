/* functions/answer.c - the virtual table of functions that make all rows at once; two empty tables
 * of the connection. */
#include "functions/functions.h"

#include <string.h>

/* One value of the answer. */
typedef struct answer_item {
    enum { ITEM_NULL, ITEM_INTEGER, ITEM_REAL, ITEM_TEXT, ITEM_BLOB, ITEM_VALUE } type;
    int64_t integer; /* of a TEXT and a BLOB its size */
    double real;
    char *text;           /* or the bytes of a BLOB; owned */
    sqlite3_value *value; /* owned */
} item;

typedef struct answer_table {
    ctr_joined joined;
    const ctr_answer_kind *kind;
    int n_columns, n_args, n_hidden;
} answer_table;

/* The user data of a module. */
typedef struct answer_module {
    const ctr_answer_kind *kind;
    ctr_conn *conn;
    sqlite3_module module;
} answer_module;

static answer_table *table_behind(const ctr_answer *answer)
{
    return (answer_table *)answer->base.pVtab;
}

/* Returns how many values a row has. */
static size_t width_of(const ctr_answer *answer)
{
    const answer_table *table = table_behind(answer);
    return (size_t)(table->n_columns + table->n_hidden);
}

/* ---- values ---------------------------------------------------------------------------------- */

static item *append(ctr_answer *answer)
{
    item *items =
        ctr_array_room(answer->conn, answer->items, &answer->room, answer->n + 1, sizeof *items);
    if (!items) return NULL;
    answer->items = items;
    item *made = &items[answer->n++];
    *made = (item){.type = ITEM_NULL};
    return made;
}

void ctr_answer_integer(ctr_answer *answer, int64_t n)
{
    item *made = append(answer);
    if (made) *made = (item){.type = ITEM_INTEGER, .integer = n};
}

void ctr_answer_real(ctr_answer *answer, double x)
{
    item *made = append(answer);
    if (made) *made = (item){.type = ITEM_REAL, .real = x};
}

void ctr_answer_text(ctr_answer *answer, const char *text)
{
    if (text)
        ctr_answer_span(answer, (ctr_span){text, strlen(text)});
    else
        append(answer);
}

/* Gives the item a copy of the bytes. */
static void take_copy(ctr_answer *answer, item *made, const void *bytes, size_t size)
{
    made->integer = (int64_t)size;
    made->text = sqlite3_malloc64(size + 1);
    if (!made->text)
        ctr_problem_nomem(answer->conn);
    else if (size > 0)
        memcpy(made->text, bytes, size);
}

void ctr_answer_span(ctr_answer *answer, ctr_span text)
{
    item *made = append(answer);
    if (!made) return;
    made->type = ITEM_TEXT;
    take_copy(answer, made, text.text, text.size);
}

void ctr_answer_add_to_text(ctr_answer *answer, int column, const char *text)
{
    if ((size_t)column >= answer->n || ctr_rc(answer->conn) != SQLITE_OK) return;
    item *made = &answer->items[column];
    char *longer =
        made->text ? sqlite3_mprintf("%s; %s", made->text, text) : sqlite3_mprintf("%s", text);
    if (!longer) {
        ctr_problem_nomem(answer->conn);
        return;
    }
    sqlite3_free(made->text);
    *made = (item){.type = ITEM_TEXT, .text = longer, .integer = (int64_t)strlen(longer)};
}

void ctr_answer_bytes(ctr_answer *answer, const uint8_t *bytes, size_t size)
{
    item *made = append(answer);
    if (!made) return;
    made->type = ITEM_BLOB;
    take_copy(answer, made, bytes, size);
}

void ctr_answer_blob(ctr_answer *answer, const uint8_t *bytes, size_t size)
{
    if (size > 0)
        ctr_answer_bytes(answer, bytes, size);
    else
        append(answer);
}

void ctr_answer_value(ctr_answer *answer, sqlite3_value *value)
{
    item *made = append(answer);
    if (!made) return;
    *made = (item){.type = ITEM_VALUE, .value = sqlite3_value_dup(value)};
    if (!made->value) ctr_problem_nomem(answer->conn);
}

void ctr_answer_id(ctr_answer *answer, const uint8_t *id)
{
    char text[CTR_ID_TEXT_SIZE];
    if (id) ctr_id_to_text(id, text);
    ctr_answer_text(answer, id ? text : NULL);
}

const char *ctr_answer_arg(ctr_conn *conn, sqlite3_value *value, const char *what,
                           const char *missing)
{
    if (!value) return missing;
    const char *text = ctr_text_value(conn, value);
    if (text || ctr_rc(conn) != SQLITE_OK) return text;
    ctr_problem_mismatch(conn, what, "TEXT", value);
    return NULL;
}

const char *ctr_answer_schema(const ctr_answer *answer, sqlite3_value *value)
{
    const char *schema = ctr_answer_arg(answer->conn, value, "the name of a database", "main");
    if (!schema || ctr_run_has_schema(answer->conn->db, schema)) return schema;
    ctr_problem_set(answer->conn, SQLITE_ERROR, "no attached database has the name '%s'", schema);
    return NULL;
}

static int count_items(const char *list)
{
    int n = *list != '\0';
    for (; *list; list++) n += *list == ',';
    return n;
}

/* ---- the virtual table ----------------------------------------------------------------------- */

/* The methods of the module that `extend` may replace. The table is a ctr_joined. */
static int answer_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                          sqlite3_vtab **base, char **message)
{
    (void)argc;
    (void)argv;
    (void)message;
    const answer_module *module = aux;
    const char *hidden = module->kind->hidden ? module->kind->hidden : "";
    char *declaration = sqlite3_mprintf("CREATE TABLE x(%s%s%s%s%s)", module->kind->columns,
                                        *module->kind->args ? ", " : "", module->kind->args,
                                        *hidden ? ", " : "", hidden);
    if (!declaration) return SQLITE_NOMEM;
    int rc = sqlite3_declare_vtab(db, declaration);
    sqlite3_free(declaration);
    if (rc != SQLITE_OK) return rc;
    if (module->kind->works) sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    if (module->kind->pure) sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    answer_table *table = sqlite3_malloc64(sizeof *table);
    if (!table) return SQLITE_NOMEM;
    *table = (answer_table){.joined.conn = module->conn,
                            .kind = module->kind,
                            .n_columns = count_items(module->kind->columns),
                            .n_args = count_items(module->kind->args),
                            .n_hidden = count_items(hidden)};
    *base = &table->joined.base;
    return SQLITE_OK;
}

static int answer_disconnect(sqlite3_vtab *base)
{
    sqlite3_free(base->zErrMsg);
    sqlite3_free(base);
    return SQLITE_OK;
}

static int fail_answer(sqlite3_vtab *base, ctr_problem *problem)
{
    return ctr_arg_table_problem(base, ((answer_table *)base)->kind->name, problem);
}

/* Returns whether all arguments are there that must be. For a condition with OR, SQLite also asks
 * what it would cost to read the table without them; it does not do so at such a price. */
static bool has_needed(const ctr_answer_kind *kind, int given)
{
    int needed = (1 << kind->n_needed) - 1;
    return (given & needed) == needed;
}

/* The number of the plan has a bit for each given argument. Work has such a high cost that the
 * planner puts it into an inner loop only if an argument comes from an outer one. */
static int answer_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const answer_table *table = (answer_table *)base;
    const ctr_answer_kind *kind = table->kind;
    int at[CTR_ANSWER_ARGS], given = 0, n = 0;
    for (int i = 0; i < CTR_ANSWER_ARGS; i++) at[i] = -1;
    for (int i = 0; i < info->nConstraint; i++) {
        int arg = info->aConstraint[i].iColumn - table->n_columns;
        if (arg < 0 || arg >= table->n_args ||
            info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
            continue;
        if (!info->aConstraint[i].usable) return SQLITE_CONSTRAINT;
        at[arg] = i;
    }
    for (int i = 0; i < table->n_args; i++) {
        if (at[i] < 0) continue;
        given |= 1 << i;
        info->aConstraintUsage[at[i]].argvIndex = ++n;
        info->aConstraintUsage[at[i]].omit = 1;
    }
    info->idxNum = given;
    info->estimatedCost = kind->works ? 1e12 : kind->pure ? 10 : 100;
    info->estimatedRows = 10;
    if (!has_needed(kind, given)) info->estimatedCost = 1e99;
    return SQLITE_OK;
}

static int answer_open(sqlite3_vtab *base, sqlite3_vtab_cursor **cursor)
{
    ctr_answer *made = sqlite3_malloc64(sizeof *made);
    if (!made) return SQLITE_NOMEM;
    *made = (ctr_answer){.conn = ((ctr_joined *)base)->conn, .kind = ((answer_table *)base)->kind};
    *cursor = &made->base;
    return SQLITE_OK;
}

static void forget_answer(ctr_answer *answer)
{
    for (size_t i = 0; i < answer->n; i++) {
        sqlite3_free(answer->items[i].text);
        sqlite3_value_free(answer->items[i].value);
    }
    for (int i = 0; i < CTR_ANSWER_ARGS; i++) {
        sqlite3_value_free(answer->args[i]);
        answer->args[i] = NULL;
    }
    answer->n = answer->row = 0;
    answer->filled = false;
}

static int answer_close(sqlite3_vtab_cursor *base)
{
    ctr_answer *answer = (ctr_answer *)base;
    forget_answer(answer);
    sqlite3_free(answer->items);
    sqlite3_free(answer);
    return SQLITE_OK;
}

static int answer_filter(sqlite3_vtab_cursor *base, int given, const char *plan_text, int argc,
                         sqlite3_value **argv)
{
    (void)plan_text;
    (void)argc;
    ctr_answer *answer = (ctr_answer *)base;
    const ctr_answer_kind *kind = answer->kind;
    sqlite3_value *args[CTR_ANSWER_ARGS] = {NULL};
    for (int i = 0; i < table_behind(answer)->n_args; i++)
        if (given & 1 << i) args[i] = *argv++;
    answer->row = 0;
    bool answered = kind->works && answer->filled;
    for (int i = 0; i < CTR_ANSWER_ARGS && answered; i++)
        answered = answer->args[i] && args[i] ? ctr_text_alike(answer->args[i], args[i])
                                              : !answer->args[i] && !args[i];
    if (answered) return SQLITE_OK;

    ctr_problem problem;
    ctr_problem_begin(answer->conn, &problem);
    forget_answer(answer);
    if (!has_needed(kind, given)) ctr_problem_set(answer->conn, SQLITE_ERROR, "%s", kind->usage);
    for (int i = 0; i < CTR_ANSWER_ARGS; i++) {
        if (!args[i]) continue;
        answer->args[i] = sqlite3_value_dup(args[i]);
        if (!answer->args[i]) ctr_problem_nomem(answer->conn);
    }
    if (!kind->pure && kind->fill && problem.rc == SQLITE_OK) {
        ctr_shared_check_name(answer->conn, kind->name);
        ctr_events_append(answer->conn);
    }
    if (kind->fill && problem.rc == SQLITE_OK) kind->fill(answer, answer->args);
    if (problem.rc == SQLITE_OK && answer->n % width_of(answer) != 0)
        ctr_problem_set(answer->conn, SQLITE_INTERNAL, "a row has too few values");
    answer->filled = problem.rc == SQLITE_OK;
    if (!answer->filled) forget_answer(answer);
    return fail_answer(base->pVtab, &problem);
}

static int answer_next(sqlite3_vtab_cursor *base)
{
    ((ctr_answer *)base)->row++;
    return SQLITE_OK;
}

static int answer_eof(sqlite3_vtab_cursor *base)
{
    const ctr_answer *answer = (ctr_answer *)base;
    return answer->row * width_of(answer) >= answer->n;
}

static int answer_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
    const ctr_answer *answer = (ctr_answer *)base;
    const answer_table *table = table_behind(answer);
    int n = table->n_columns;
    if (column >= n && column < n + table->n_args) {
        if (answer->args[column - n]) sqlite3_result_value(ctx, answer->args[column - n]);
        return SQLITE_OK;
    }
    if (column >= n) column -= table->n_args;
    const item *shown = &answer->items[answer->row * width_of(answer) + (size_t)column];
    switch (shown->type) {
    case ITEM_NULL: sqlite3_result_null(ctx); break;
    case ITEM_INTEGER: sqlite3_result_int64(ctx, shown->integer); break;
    case ITEM_REAL: sqlite3_result_double(ctx, shown->real); break;
    case ITEM_TEXT:
        sqlite3_result_text64(ctx, shown->text, (sqlite3_uint64)shown->integer, SQLITE_TRANSIENT,
                              SQLITE_UTF8);
        break;
    case ITEM_BLOB:
        sqlite3_result_blob64(ctx, shown->text, (sqlite3_uint64)shown->integer, SQLITE_TRANSIENT);
        break;
    case ITEM_VALUE: sqlite3_result_value(ctx, shown->value); break;
    }
    return SQLITE_OK;
}

static int answer_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    const ctr_answer *answer = (ctr_answer *)base;
    *rowid = (sqlite3_int64)answer->row + answer->kind->pure;
    return SQLITE_OK;
}

static void drop_module(void *aux)
{
    answer_module *module = aux;
    ctr_conn_drop(module->conn);
    sqlite3_free(module);
}

/* Registers one of them under another name. */
static int answer_register_as(ctr_conn *conn, const ctr_answer_kind *kind, const char *name)
{
    answer_module *module = sqlite3_malloc64(sizeof *module);
    if (!module) return SQLITE_NOMEM;
    /* No xCreate: the tables exist by themselves and cannot be created. */
    *module = (answer_module){.kind = kind,
                              .conn = ctr_conn_hold(conn),
                              .module = {.xConnect = answer_connect,
                                         .xBestIndex = answer_best_index,
                                         .xDisconnect = answer_disconnect,
                                         .xOpen = answer_open,
                                         .xClose = answer_close,
                                         .xFilter = answer_filter,
                                         .xNext = answer_next,
                                         .xEof = answer_eof,
                                         .xColumn = answer_column,
                                         .xRowid = answer_rowid}};
    if (kind->extend) kind->extend(&module->module);
    return sqlite3_create_module_v2(conn->db, name, &module->module, module, drop_module);
}

int ctr_answer_register(sqlite3 *db, ctr_conn *conn, const ctr_answer_kind *kinds, size_t n)
{
    (void)db;
    int rc = SQLITE_OK;
    for (size_t i = 0; i < n && rc == SQLITE_OK; i++)
        rc = answer_register_as(conn, &kinds[i], kinds[i].name);
    return rc;
}

/* =================================================================================================
 * internal - two empty tables of the connection.
 *
 *     counter_witness       joins transactions and passes on SQLite's calls. Counter tables join by
 *                           themselves; counter_inc on ordinary tables needs this one, as does a
 *                           table that is created or dropped within the transaction
 *     counter_statements    keeps prepared statements until the connection closes. No kept
 *                           statement may name it, or it would never be freed; so there are two */

static ctr_conn *conn_of(sqlite3_vtab *base)
{
    return ((ctr_joined *)base)->conn;
}

static int witness_update(sqlite3_vtab *base, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    (void)argc;
    (void)argv;
    (void)rowid;
    sqlite3_free(base->zErrMsg);
    base->zErrMsg = sqlite3_mprintf("counter_witness: it has no rows");
    return base->zErrMsg ? SQLITE_READONLY : SQLITE_NOMEM;
}

static int witness_begin(sqlite3_vtab *base)
{
    conn_of(base)->joined = true;
    return ctr_events_begin(base);
}

static int witness_commit(sqlite3_vtab *base)
{
    conn_of(base)->joined = false;
    return ctr_events_commit(base);
}

static int witness_rollback(sqlite3_vtab *base)
{
    conn_of(base)->joined = false;
    return ctr_events_rollback(base);
}

static void extend_witness(sqlite3_module *module)
{
    module->iVersion = 2;
    module->xUpdate = witness_update;
    module->xBegin = witness_begin;
    module->xSync = ctr_events_sync;
    module->xCommit = witness_commit;
    module->xRollback = witness_rollback;
    module->xSavepoint = ctr_events_savepoint;
    module->xRelease = ctr_events_release;
    module->xRollbackTo = ctr_events_rollback_to;
}

static int statements_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                              sqlite3_vtab **base, char **message)
{
    int rc = answer_connect(db, aux, argc, argv, base, message);
    if (rc == SQLITE_OK) conn_of(*base)->has_statements = true;
    return rc;
}

static int statements_disconnect(sqlite3_vtab *base)
{
    conn_of(base)->has_statements = false;
    ctr_conn_release_kept(conn_of(base));
    return answer_disconnect(base);
}

static void extend_statements(sqlite3_module *module)
{
    module->xConnect = statements_connect;
    module->xDisconnect = statements_disconnect;
}

static const ctr_answer_kind INTERNAL[] = {
    {.name = "counter_statements",
     .columns = "empty",
     .args = "",
     .works = true,
     .extend = extend_statements},
    {.name = "counter_witness",
     .columns = "empty",
     .args = "",
     .works = true,
     .extend = extend_witness},
};

int ctr_internal_renew_witness(ctr_conn *conn, const char *name)
{
    return answer_register_as(conn, &INTERNAL[1], name);
}

int ctr_internal_register(sqlite3 *db, ctr_conn *conn)
{
    return ctr_answer_register(db, conn, INTERNAL, sizeof INTERNAL / sizeof *INTERNAL);
}
