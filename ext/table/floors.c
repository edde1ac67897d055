/* table/floors.c - reads and raises floors. */
#include "table/table.h"

/* ---- lists of SQL ---------------------------------------------------------------------------- */

static bool is_floor(sqlite3_value *value)
{
    return value && sqlite3_value_type(value) != SQLITE_NULL;
}

/* The condition for rows below `values`. It leaves out NULL values, so that SQLite can use an
 * index. */
static const char *rows_below(ctr_conn *conn, const ctr_shape *shape, sqlite3_value **values)
{
    const char *separator = "";
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_keys; i++) {
        if (!is_floor(values[i])) continue;
        sqlite3_str_appendf(out, "%s\"%w\" < ?%d", separator, shape->columns[shape->keys[i]].name,
                            i + 1);
        separator = " OR ";
    }
    if (!*separator) sqlite3_str_appendall(out, "0");
    return ctr_text_built(conn, out);
}

/* ---- statements ------------------------------------------------------------------------------ */

ctr_floors ctr_floors_on(ctr_tab *tab, const ctr_shape *shape)
{
    return (ctr_floors){.tab = tab, .shape = shape};
}

/* Fails if a value cannot be bound, because NULL is no floor. */
static void bind_values(ctr_conn *conn, sqlite3_stmt *row, const ctr_shape *shape,
                        sqlite3_value **values)
{
    int last = row ? sqlite3_bind_parameter_count(row) : 0; /* a condition may name fewer */
    for (int i = 0; i < shape->n_keys && i < last; i++)
        if (values[i])
            ctr_problem_sqlite(
                conn,
                ctr_pack_bind_stored(conn, row, i + 1, &shape->columns[shape->keys[i]], values[i]));
}

/* Prepares a statement with `list` as its columns, values or changes, and binds the values. */
static sqlite3_stmt *prepare_floors(ctr_floors *floors, ctr_sql which, const char *list,
                                    const char *constraint, sqlite3_value **values)
{
    ctr_conn *conn = floors->tab->conn;
    ctr_run run = ctr_tab_run(floors->tab);
    run.slots.keys = ctr_shape_key_list(conn, floors->shape);
    run.slots.columns = run.slots.values = run.slots.changes = list;
    run.slots.constraint = constraint;
    sqlite3_stmt *made = ctr_run_prepare(&run, which);
    bind_values(conn, made, floors->shape, values);
    return made;
}

static bool step_floors(ctr_floors *floors, sqlite3_stmt *row)
{
    ctr_run run = ctr_tab_run(floors->tab);
    return ctr_run_row(&run, row);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A statement that finds no row is not kept: it may hide columns, as an authorizer wanted that may
 * be gone the next time. */
ctr_slot *ctr_floors_read(ctr_tab *tab)
{
    ctr_run run = ctr_tab_run(tab);
    ctr_slot *slot = ctr_tab_take(tab, CTR_TAB_FLOORS);
    if (!slot || ctr_run_row(&run, slot->kept.statement)) return slot;
    ctr_tab_drop(slot);
    return NULL;
}

static bool look_for_any(ctr_floors *floors)
{
    ctr_slot *any = ctr_floors_read(floors->tab);
    ctr_tab_give_back(floors->tab, any);
    return any != NULL;
}

/* A file that has never had floors says so in its identity. */
bool ctr_floors_is_below(ctr_floors *floors, sqlite3_value **keys)
{
    ctr_conn *conn = floors->tab->conn;
    if (ctr_rc(conn) != SQLITE_OK) return false;
    ctr_file *file = floors->only_reads ? NULL : floors->tab->file;
    const ctr_identity *identity = file ? ctr_file_identity(file) : NULL;
    if (!file) {
        if (!floors->looked) floors->any = look_for_any(floors);
        floors->looked = ctr_rc(conn) == SQLITE_OK;
    } else if (identity && floors->as_of != identity->floors) {
        floors->any = identity->floors != 0 && look_for_any(floors);
        floors->as_of = ctr_rc(conn) == SQLITE_OK ? identity->floors : 0;
    }
    if (ctr_rc(conn) != SQLITE_OK || !floors->any) return false;
    ctr_slot *slot = ctr_tab_take(floors->tab, CTR_TAB_BELOW);
    if (!slot) return false;
    bind_values(conn, slot->kept.statement, floors->shape, keys);
    bool below = step_floors(floors, slot->kept.statement);
    ctr_tab_give_back(floors->tab, slot);
    return below;
}

/* ---- raising --------------------------------------------------------------------------------- */

/* Returns whether a floor would rise. Sets *has_row if the table has floors already. */
static bool rises(ctr_floors *floors, sqlite3_value **values, bool *has_row)
{
    bool any = false, rises = false;
    sqlite3_stmt *row =
        prepare_floors(floors, CTR_SQL_FLOORS_LOWER, "",
                       ctr_shape_list(floors->tab->conn, floors->shape, CTR_KEYS,
                                      "(@ < # OR (@ IS NULL AND # IS NOT NULL))", " OR ", 1),
                       values);
    if (step_floors(floors, row)) {
        rises = sqlite3_column_int(row, 0) != 0;
        *has_row = sqlite3_column_int(row, 1) != 0;
    }
    sqlite3_finalize(row);
    for (int i = 0; i < floors->shape->n_keys; i++) any = any || is_floor(values[i]);
    return *has_row ? rises : any;
}

static void count_below(ctr_floors *floors, sqlite3_value **values, int64_t size[2])
{
    const char *bytes = ctr_shape_list(floors->tab->conn, floors->shape, CTR_AS_DECLARED,
                                       "coalesce(length(CAST(@ AS BLOB)), 0)", " + ", 1);
    sqlite3_stmt *row =
        prepare_floors(floors, CTR_SQL_FLOORS_COUNT, bytes,
                       rows_below(floors->tab->conn, floors->shape, values), values);
    if (step_floors(floors, row)) {
        size[0] = sqlite3_column_int64(row, 0);
        size[1] = sqlite3_column_int64(row, 1);
    }
    sqlite3_finalize(row);
}

static void write_floors(ctr_floors *floors, sqlite3_value **values, bool has_row, int64_t number,
                         const int64_t size[2])
{
    int n = floors->shape->n_keys;
    const char *item = has_row ? "@ = CASE WHEN @ >= # THEN @ ELSE coalesce(#, @) END" : "#";
    ctr_sql which = has_row ? CTR_SQL_FLOORS_RAISE : CTR_SQL_FLOORS_INSERT;
    const char *list = ctr_shape_list(floors->tab->conn, floors->shape, CTR_KEYS, item, ", ", 1);
    sqlite3_stmt *row = prepare_floors(floors, which, list, "", values);
    if (row) sqlite3_bind_int64(row, n + 1, number);
    if (row) sqlite3_bind_int64(row, n + 2, size[0]);
    if (row) sqlite3_bind_int64(row, n + 3, size[1]);
    step_floors(floors, row);
    sqlite3_finalize(row);
}

/* Returns whether a floor would be of another kind than its column has. */
static bool is_of_other_kind(ctr_conn *conn, const ctr_column *column, sqlite3_value *value)
{
    if (!is_floor(value)) return false;
    int type = ctr_arg_number(conn, value).type;
    switch (column->affinity) {
    case CTR_AFFINITY_BLOB: return false;
    case CTR_AFFINITY_TEXT: return type == SQLITE_BLOB;
    default: return type != SQLITE_INTEGER && type != SQLITE_FLOAT;
    }
}

/* BINARY compares bytes, and puts texts in UTF-16 into another order than the same texts in UTF-8:
 * another file would remove other rows. NOCASE and RTRIM make UTF-8 of both. */
static bool has_other_order(ctr_conn *conn, const ctr_column *column, sqlite3_value *value)
{
    if (!is_floor(value) || sqlite3_stricmp(column->collation, "BINARY") != 0) return false;
    bool is_text =
        column->affinity == CTR_AFFINITY_TEXT ||
        (column->affinity == CTR_AFFINITY_BLOB && sqlite3_value_type(value) == SQLITE_TEXT);
    return is_text && ctr_run_is_utf16(conn);
}

/* Refuses values of another kind than their column has, or else those in another order. */
static int check_floors(const ctr_floors *floors, sqlite3_value **values, bool kinds)
{
    ctr_conn *conn = floors->tab->conn;
    const ctr_shape *shape = floors->shape;
    for (int i = 0; i < shape->n_keys && ctr_rc(conn) == SQLITE_OK; i++) {
        const ctr_column *column = &shape->columns[shape->keys[i]];
        if (kinds ? !is_of_other_kind(conn, column, values[i])
                  : !has_other_order(conn, column, values[i]))
            continue;
        char *shown = ctr_problem_describe_key(&values[i], 1);
        if (!shown) ctr_problem_nomem(conn);
        if (kinds)
            ctr_problem_set(conn, SQLITE_MISMATCH,
                            "a floor of column %s %s must be a value of that kind, not %s",
                            column->name, column->type, shown);
        else
            ctr_problem_set(conn, SQLITE_ERROR,
                            "a floor of column %s must not be a text, as %s, in a file in UTF-16: "
                            "files in UTF-8 have texts in another order",
                            column->name, shown);
        sqlite3_free(shown);
    }
    return ctr_rc(conn);
}

int64_t ctr_floors_raise(ctr_floors *floors, sqlite3_value **values)
{
    bool has_row = false;
    int64_t size[2] = {0, 0};
    if (check_floors(floors, values, true)) return 0;
    if (!rises(floors, values, &has_row) || ctr_rc(floors->tab->conn) != SQLITE_OK) return 0;
    if (check_floors(floors, values, false)) return 0;
    if (ctr_file_before_write(floors->tab->file)) return 0;
    unsigned nth = floors->tab->file->conn->ended;
    ctr_tab *tab = floors->tab;
    ctr_fold_table(tab); /* a removed row must have no amounts */
    count_below(floors, values, size);
    ctr_succession_floors_rose(floors->tab->file);
    int64_t number = ctr_batch_mark_change(tab);
    write_floors(floors, values, has_row, number, size);
    sqlite3_stmt *remove =
        prepare_floors(floors, CTR_SQL_FLOORS_REMOVE, "",
                       rows_below(floors->tab->conn, floors->shape, values), values);
    step_floors(floors, remove);
    sqlite3_reset(remove); /* sets the number of changes */
    if (ctr_rc(floors->tab->conn) == SQLITE_OK &&
        sqlite3_changes(floors->tab->conn->db) != size[0]) /* a trigger */
        ctr_problem_set(floors->tab->conn, SQLITE_CORRUPT_VTAB,
                        "the stored table kept rows below the floor");
    sqlite3_finalize(remove);
    if (ctr_rc(floors->tab->conn) != SQLITE_OK) ctr_conn_spoil(floors->tab->file->conn, nth);
    return size[0];
}
