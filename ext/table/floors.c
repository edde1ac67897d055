/* table/floors.c - reads and raises floors. */
#include "table/table.h"

#include <string.h>

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

static int bind_as_text(sqlite3_stmt *row, int i, sqlite3_value *value)
{
    sqlite3_value *copy = sqlite3_value_dup(value);
    const char *text = copy ? (const char *)sqlite3_value_text(copy) : NULL;
    int rc = text ? sqlite3_bind_text(row, i, text, -1, SQLITE_TRANSIENT) : SQLITE_NOMEM;
    sqlite3_value_free(copy);
    return rc;
}

/* Binds a value as the column would store it: a comparison of parameters converts nothing. */
static int bind_converted(ctr_conn *conn, sqlite3_stmt *row, int i, const ctr_column *column,
                          sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    bool is_number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
    if (column->affinity == CTR_AFFINITY_TEXT && is_number) return bind_as_text(row, i, value);
    if (column->affinity == CTR_AFFINITY_TEXT || column->affinity == CTR_AFFINITY_BLOB)
        return ctr_text_bind_value(row, i, value);
    ctr_number number = ctr_arg_number(conn, value);
    ctr_key_value key = {.type = CTR_KEY_REAL, .real = number.real};
    if (number.type == SQLITE_INTEGER) key.real = (double)number.integer;
    if (number.type != SQLITE_INTEGER && number.type != SQLITE_FLOAT)
        return ctr_text_bind_value(row, i, value);
    if (column->affinity == CTR_AFFINITY_REAL) return sqlite3_bind_double(row, i, key.real);
    if (number.type == SQLITE_INTEGER) return sqlite3_bind_int64(row, i, number.integer);
    ctr_key_unify(&key);
    return key.type == CTR_KEY_INTEGER ? sqlite3_bind_int64(row, i, key.integer)
                                       : sqlite3_bind_double(row, i, key.real);
}

/* Binds values from the parameter `first` on. Fails if one cannot be bound, because NULL is no
 * floor. */
static void bind_values(ctr_conn *conn, sqlite3_stmt *row, int first, const ctr_shape *shape,
                        sqlite3_value **values)
{
    int last = row ? sqlite3_bind_parameter_count(row) : 0; /* a condition may name fewer */
    for (int i = 0; i < shape->n_keys && first + i <= last; i++) {
        const ctr_column *column = &shape->columns[shape->keys[i]];
        if (values[i])
            ctr_problem_sqlite(conn, bind_converted(conn, row, first + i, column, values[i]));
    }
}

/* Prepares a statement with `list` as its columns or values, and binds the values. */
static sqlite3_stmt *prepare_floors(ctr_floors *floors, ctr_sql which, const char *list,
                                    const char *constraint, int first, sqlite3_value **values)
{
    ctr_run run = ctr_tab_run(floors->tab);
    run.slots.columns = run.slots.values = list;
    run.slots.constraint = constraint;
    sqlite3_stmt *made = ctr_run_prepare(&run, which);
    bind_values(floors->tab->conn, made, first, floors->shape, values);
    return made;
}

static bool step_floors(ctr_floors *floors, sqlite3_stmt *row)
{
    ctr_run run = ctr_tab_run(floors->tab);
    return ctr_run_row(&run, row);
}

/* ---- reading --------------------------------------------------------------------------------- */

enum { FLOORS_PACKED, FLOORS_NUMBER, FLOORS_ROWS, FLOORS_BYTES };

static bool is_whole(sqlite3_stmt *row, int n_keys)
{
    int n = 0;
    bool is = sqlite3_column_type(row, FLOORS_PACKED) == SQLITE_BLOB &&
              ctr_key_check(sqlite3_column_blob(row, FLOORS_PACKED),
                            (size_t)sqlite3_column_bytes(row, FLOORS_PACKED), true, &n) == CTR_OK &&
              n == n_keys;
    for (int i = FLOORS_NUMBER; i <= FLOORS_BYTES; i++)
        is = is && sqlite3_column_type(row, i) == SQLITE_INTEGER;
    return is;
}

/* Returns CTR_FILE_FLOORS at the row of the table, or NULL if there is none. A statement that finds
 * no row is not kept: it may hide columns, as an authorizer wanted that may be gone the next
 * time. */
static sqlite3_stmt *take_packed(ctr_tab *tab)
{
    ctr_run run = ctr_tab_run(tab);
    sqlite3_stmt *row = ctr_tab_take_of(tab, CTR_FILE_FLOORS);
    bool found = ctr_run_row(&run, row);
    if (found && is_whole(row, tab->shape.n_keys)) return row;
    for (int i = FLOORS_PACKED; found && i <= FLOORS_BYTES; i++)
        if (ctr_run_is_hidden(row, i)) ctr_refuse_hidden_state(tab->conn);
    if (found)
        ctr_stored_damaged(tab->conn, "it has floors that are not a packed key and numbers", "");
    if (row) tab->file->statements[CTR_FILE_FLOORS].expired = true;
    if (row) ctr_file_give_back(tab->file, CTR_FILE_FLOORS, row);
    return NULL;
}

/* Binds the floors to the first parameters. */
static void bind_packed(ctr_conn *conn, sqlite3_stmt *statement, sqlite3_stmt *packed)
{
    ctr_problem_sqlite(conn, ctr_pack_bind(statement, sqlite3_column_blob(packed, FLOORS_PACKED),
                                           (size_t)sqlite3_column_bytes(packed, FLOORS_PACKED)));
}

ctr_slot *ctr_floors_read(ctr_tab *tab)
{
    ctr_run run = ctr_tab_run(tab);
    sqlite3_stmt *packed = take_packed(tab);
    ctr_slot *slot = packed ? ctr_tab_take(tab, CTR_TAB_FLOORS) : NULL;
    if (slot) bind_packed(tab->conn, slot->kept.statement, packed);
    for (int i = FLOORS_NUMBER; slot && i <= FLOORS_BYTES; i++)
        sqlite3_bind_int64(slot->kept.statement, tab->shape.n_keys + i,
                           sqlite3_column_int64(packed, i));
    if (packed) ctr_file_give_back(tab->file, CTR_FILE_FLOORS, packed);
    if (!slot || ctr_run_row(&run, slot->kept.statement)) return slot;
    ctr_tab_give_back(tab, slot);
    return NULL;
}

static bool look_for_any(ctr_floors *floors)
{
    sqlite3_stmt *any = take_packed(floors->tab);
    if (any) ctr_file_give_back(floors->tab->file, CTR_FILE_FLOORS, any);
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
    sqlite3_stmt *packed = take_packed(floors->tab);
    ctr_slot *slot = packed ? ctr_tab_take(floors->tab, CTR_TAB_BELOW) : NULL;
    sqlite3_stmt *row = slot ? slot->kept.statement : NULL;
    if (row) bind_packed(conn, row, packed);
    bind_values(conn, row, floors->shape->n_keys + 1, floors->shape, keys);
    bool below = step_floors(floors, row) && sqlite3_column_int(row, 0) != 0;
    if (packed) ctr_file_give_back(floors->tab->file, CTR_FILE_FLOORS, packed);
    ctr_tab_give_back(floors->tab, slot);
    return below;
}

/* ---- raising --------------------------------------------------------------------------------- */

/* The higher of a floor, of the first parameters, and a value. */
static const char *higher_ones(ctr_conn *conn, const ctr_shape *shape)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_keys; i++) {
        int floor = i + 1, value = shape->n_keys + i + 1;
        sqlite3_str_appendf(
            out, "%sCASE WHEN ?%d >= ?%d COLLATE \"%w\" THEN ?%d ELSE coalesce(?%d, ?%d) END",
            i ? ", " : "", floor, value, shape->columns[shape->keys[i]].collation, floor, value,
            floor);
    }
    return ctr_text_built(conn, out);
}

/* Packs the floors as they will be. Returns whether one would rise. */
static bool rises(ctr_floors *floors, sqlite3_value **values, ctr_packed *raised)
{
    ctr_conn *conn = floors->tab->conn;
    const ctr_shape *shape = floors->shape;
    bool any = false;
    sqlite3_stmt *row = prepare_floors(floors, CTR_SQL_ROWS_OF_PARAMETERS, higher_ones(conn, shape),
                                       "", shape->n_keys + 1, values);
    sqlite3_stmt *packed = take_packed(floors->tab);
    if (packed && row) bind_packed(conn, row, packed);
    ctr_pack_begin(conn, raised);
    bool has_row = step_floors(floors, row);
    for (int i = 0; has_row && i < shape->n_keys; i++) {
        ctr_pack_append(conn, raised, sqlite3_column_value(row, i));
        any = any || is_floor(values[i]);
    }
    if (packed && ctr_rc(conn) == SQLITE_OK)
        any = (size_t)sqlite3_column_bytes(packed, FLOORS_PACKED) != raised->size ||
              memcmp(sqlite3_column_blob(packed, FLOORS_PACKED), raised->bytes, raised->size) != 0;
    if (packed) ctr_file_give_back(floors->tab->file, CTR_FILE_FLOORS, packed);
    sqlite3_finalize(row);
    return any;
}

static void count_below(ctr_floors *floors, sqlite3_value **values, int64_t size[2])
{
    const char *bytes = ctr_shape_list(floors->tab->conn, floors->shape, CTR_AS_DECLARED,
                                       "coalesce(length(CAST(@ AS BLOB)), 0)", " + ", 1);
    sqlite3_stmt *row =
        prepare_floors(floors, CTR_SQL_FLOORS_COUNT, bytes,
                       rows_below(floors->tab->conn, floors->shape, values), 1, values);
    if (step_floors(floors, row)) {
        size[0] = sqlite3_column_int64(row, 0);
        size[1] = sqlite3_column_int64(row, 1);
    }
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
    ctr_tab *tab = floors->tab;
    ctr_conn *conn = tab->conn;
    ctr_packed raised = {0};
    int64_t size[2] = {0, 0};
    if (ctr_pack_refuse_large(conn, values, floors->shape->n_keys) ||
        check_floors(floors, values, true))
        return 0;
    if (!rises(floors, values, &raised) || ctr_rc(conn) != SQLITE_OK ||
        check_floors(floors, values, false) || ctr_file_before_write(tab->file)) {
        sqlite3_free(raised.bytes);
        return 0;
    }
    unsigned nth = tab->file->conn->ended;
    ctr_fold_table(tab); /* a removed row must have no amounts */
    count_below(floors, values, size);
    ctr_succession_floors_rose(tab->file);
    int64_t number = ctr_batch_mark_change(tab);
    ctr_run run = ctr_tab_run(tab);
    ctr_run_with(&run, CTR_SQL_FLOORS_WRITE, ":floors b :number i :rows i :bytes i", raised.bytes,
                 raised.size, number, size[0], size[1]);
    sqlite3_free(raised.bytes);
    sqlite3_stmt *remove = prepare_floors(floors, CTR_SQL_FLOORS_REMOVE, "",
                                          rows_below(conn, floors->shape, values), 1, values);
    step_floors(floors, remove);
    sqlite3_reset(remove); /* sets the number of changes */
    if (ctr_rc(conn) == SQLITE_OK && sqlite3_changes(conn->db) != size[0]) /* a trigger */
        ctr_problem_set(conn, SQLITE_CORRUPT_VTAB, "the stored table kept rows below the floor");
    sqlite3_finalize(remove);
    if (ctr_rc(conn) != SQLITE_OK) ctr_conn_spoil(tab->file->conn, nth);
    return size[0];
}
