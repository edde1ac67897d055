/* table/shape.c - keeps the columns of a table, and lists them as SQL; packs keys, as bytes and as
 * JSON. */
#include "table/table.h"

#include <math.h>
#include <string.h>

/* ---- the struct ------------------------------------------------------------------------------ */

int ctr_shape_open(ctr_conn *conn, ctr_shape *shape, int n)
{
    size_t room = (size_t)(n > 0 ? n : 1);
    *shape = (ctr_shape){.columns = sqlite3_malloc64(room * sizeof *shape->columns),
                         .keys = sqlite3_malloc64(room * sizeof *shape->keys),
                         .counters = sqlite3_malloc64(room * sizeof *shape->counters),
                         .room = n};
    bool made = shape->columns && shape->keys && shape->counters;
    return made ? ctr_rc(conn) : ctr_problem_nomem(conn);
}

/* The counters of a tracked table come without a type. */
static const ctr_kind *kind_of_declared(const char *type)
{
    const ctr_kind *kind = ctr_kind_of_stored(type);
    if (!kind) kind = ctr_kind_of_word((ctr_span){type, strlen(type)});
    return kind ? kind : ctr_kind_counter();
}

int ctr_shape_add(ctr_conn *conn, ctr_shape *shape, const char *name, const char *type,
                  const char *collation, int key)
{
    if (ctr_rc(conn) != SQLITE_OK) return ctr_rc(conn);
    if (shape->n_columns == shape->room)
        return ctr_problem_set(conn, SQLITE_SCHEMA, "the stored table has changed");
    int i = shape->n_columns++;
    ctr_column *column = &shape->columns[i];
    *column = (ctr_column){.name = sqlite3_mprintf("%s", name),
                           .type = sqlite3_mprintf("%s", type),
                           .collation = sqlite3_mprintf("%s", *collation ? collation : "BINARY"),
                           .affinity = ctr_declaration_affinity(type),
                           .key = key,
                           .counter = key < 0 ? shape->n_counters : -1,
                           .kind = key < 0 ? kind_of_declared(type) : NULL,
                           .generation = key < 0 ? 1 : 0};
    if (key < 0) shape->counters[shape->n_counters++] = i;
    if (key >= 0) {
        shape->keys[key] = i;
        shape->n_keys++;
    }
    bool made = column->name && column->type && column->collation;
    return made ? SQLITE_OK : ctr_problem_nomem(conn);
}

/* Returns the position of the name among the dropped counters, or where it would be inserted. */
static int place_of_gone(const ctr_shape *shape, const char *name)
{
    int from = 0, to = shape->n_gone;
    while (from < to) {
        int middle = from + (to - from) / 2;
        if (sqlite3_stricmp(shape->gone[middle].name, name) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

void ctr_shape_add_gone(ctr_conn *conn, ctr_shape *shape, const char *name, int64_t generation)
{
    if (ctr_rc(conn) != SQLITE_OK) return;
    bool is_full = (shape->n_gone & (shape->n_gone - 1)) == 0; /* capacity doubles */
    size_t room = shape->n_gone > 0 ? 2 * (size_t)shape->n_gone : 1;
    ctr_gone *gone = is_full ? sqlite3_realloc64(shape->gone, room * sizeof *gone) : shape->gone;
    char *copy = sqlite3_mprintf("%s", name);
    if (gone) shape->gone = gone;
    if (gone && copy) {
        int at = place_of_gone(shape, name);
        memmove(gone + at + 1, gone + at, (size_t)(shape->n_gone - at) * sizeof *gone);
        gone[at] = (ctr_gone){copy, generation};
        shape->n_gone++;
        return;
    }
    sqlite3_free(copy);
    ctr_problem_nomem(conn);
}

int ctr_shape_copy_columns(ctr_conn *conn, ctr_shape *shape, const ctr_shape *of)
{
    ctr_shape_open(conn, shape, of->n_columns);
    shape->replicated = of->replicated;
    shape->keyed = of->keyed;
    shape->linked = of->linked;
    for (int i = 0; i < of->n_columns; i++) {
        const ctr_column *column = &of->columns[i];
        ctr_shape_add(conn, shape, column->name, column->type, column->collation, column->key);
    }
    return ctr_rc(conn);
}

int ctr_shape_copy(ctr_conn *conn, ctr_shape *shape, const ctr_shape *of)
{
    if (ctr_shape_copy_columns(conn, shape, of)) return ctr_rc(conn);
    for (int i = 0; i < of->n_columns; i++) {
        shape->columns[i].generation = of->columns[i].generation;
        shape->columns[i].listed = of->columns[i].listed;
        shape->columns[i].bounded = of->columns[i].bounded;
    }
    shape->bounded = of->bounded;
    for (int i = 0; i < of->n_gone; i++)
        ctr_shape_add_gone(conn, shape, of->gone[i].name, of->gone[i].generation);
    return ctr_rc(conn);
}

bool ctr_shape_same_columns(const ctr_shape *a, const ctr_shape *b)
{
    bool same = a->n_columns == b->n_columns && a->replicated == b->replicated &&
                a->keyed == b->keyed && a->linked == b->linked;
    for (int i = 0; i < a->n_columns && same; i++) {
        const ctr_column *x = &a->columns[i], *y = &b->columns[i];
        same = x->key == y->key && strcmp(x->name, y->name) == 0 &&
               (x->key < 0 || (sqlite3_stricmp(x->type, y->type) == 0 &&
                               sqlite3_stricmp(x->collation, y->collation) == 0));
    }
    return same;
}

int ctr_shape_counter(const ctr_shape *shape, const char *name)
{
    for (int i = 0; i < shape->n_counters; i++)
        if (strcmp(ctr_shape_counter_name(shape, i), name) == 0) return i;
    return -1;
}

const char *ctr_shape_counter_name(const ctr_shape *shape, int counter)
{
    return shape->columns[shape->counters[counter]].name;
}

int ctr_shape_counter_like(const ctr_shape *shape, const char *name)
{
    for (int i = 0; i < shape->n_counters; i++)
        if (sqlite3_stricmp(ctr_shape_counter_name(shape, i), name) == 0) return i;
    return -1;
}

const char *ctr_shape_ever(const ctr_shape *shape, int i, int64_t *generation)
{
    if (i < shape->n_counters) {
        const ctr_column *counter = &shape->columns[shape->counters[i]];
        *generation = counter->generation;
        return counter->name;
    }
    i -= shape->n_counters;
    if (i >= shape->n_gone) return NULL;
    *generation = shape->gone[i].generation;
    return shape->gone[i].name;
}

int64_t ctr_shape_generation(const ctr_shape *shape, const char *name, const char **spelling)
{
    int counter = ctr_shape_counter_like(shape, name), at = place_of_gone(shape, name);
    bool is_gone = at < shape->n_gone && sqlite3_stricmp(shape->gone[at].name, name) == 0;
    *spelling = NULL;
    if (counter >= 0) *spelling = ctr_shape_counter_name(shape, counter);
    if (counter >= 0) return shape->columns[shape->counters[counter]].generation;
    if (is_gone) *spelling = shape->gone[at].name;
    return is_gone ? shape->gone[at].generation : 0;
}

void ctr_shape_close(ctr_shape *shape)
{
    for (int i = 0; i < shape->n_columns; i++) {
        sqlite3_free(shape->columns[i].name);
        sqlite3_free(shape->columns[i].type);
        sqlite3_free(shape->columns[i].collation);
    }
    for (int i = 0; i < shape->n_gone; i++) sqlite3_free(shape->gone[i].name);
    sqlite3_free(shape->gone);
    sqlite3_free(shape->columns);
    sqlite3_free(shape->keys);
    sqlite3_free(shape->counters);
    *shape = (ctr_shape){0};
}

/* ---- lists of SQL ---------------------------------------------------------------------------- */

const char *ctr_shape_list(ctr_conn *conn, const ctr_shape *shape, ctr_part part, const char *item,
                           const char *separator, int first)
{
    int n = shape->n_keys, from = part == CTR_COUNTERS ? n : 0;
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = from; i < (part == CTR_KEYS ? n : shape->n_columns); i++) {
        int column = i < n ? shape->keys[i] : shape->counters[i - n];
        if (part == CTR_AS_DECLARED) column = i;
        if (i > from) sqlite3_str_appendall(out, separator);
        for (const char *c = item; *c; c++) {
            if (*c == '@')
                sqlite3_str_appendf(out, "\"%w\"", shape->columns[column].name);
            else if (*c == '#')
                sqlite3_str_appendf(out, "?%d", first + i - from);
            else
                sqlite3_str_appendchar(out, 1, *c);
        }
    }
    return ctr_text_built(conn, out);
}

const char *ctr_shape_key_list(ctr_conn *conn, const ctr_shape *shape)
{
    return ctr_shape_list(conn, shape, CTR_KEYS, "@", ", ", 1);
}

const char *ctr_shape_column_list(ctr_conn *conn, const ctr_shape *shape)
{
    return ctr_shape_list(conn, shape, CTR_AS_DECLARED, "@", ", ", 1);
}

const char *ctr_shape_counter_list(ctr_conn *conn, const ctr_shape *shape)
{
    if (shape->n_counters == 0) return "NULL";
    return ctr_shape_list(conn, shape, CTR_COUNTERS, "@", ", ", 1);
}

const char *ctr_shape_key_match(ctr_conn *conn, const ctr_shape *shape)
{
    return ctr_shape_list(conn, shape, CTR_KEYS, "@ = #", " AND ", 1);
}

const char *ctr_shape_with_row_cell(ctr_conn *conn, const ctr_shape *shape, const char *list,
                                    int parameter)
{
    if (!shape->replicated) return list;
    return parameter > 0 ? ctr_text_print(conn, "%s, ?%d", list, parameter)
                         : ctr_text_print(conn, "%s, \"_row\"", list);
}

/* A NULL leaves a cell as it is; an empty blob empties it, which a new life of a row does. */
const char *ctr_shape_update_changes(ctr_conn *conn, const ctr_shape *shape)
{
    const char *item = shape->replicated ? "@ = nullif(coalesce(#, @), x'')" : "@ = coalesce(#, @)";
    const char *cells = ctr_shape_list(conn, shape, CTR_COUNTERS, item, ", ", CTR_UPDATE_COUNTERS);
    if (!shape->replicated) return cells;
    return ctr_text_print(conn, "%s%s\"_row\" = coalesce(?%d, \"_row\")", cells, *cells ? ", " : "",
                          CTR_UPDATE_COUNTERS + shape->n_counters);
}

const char *ctr_shape_affinity_name(ctr_affinity affinity)
{
    static const char *const NAMES[] = {"BLOB", "TEXT", "NUMERIC", "INTEGER", "REAL"};
    return NAMES[affinity];
}

/* Names of collations are written in capitals, because SQLite ignores their case. */
const char *ctr_shape_key_text(ctr_conn *conn, const ctr_shape *shape)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_keys; i++) {
        const ctr_column *column = &shape->columns[shape->keys[i]];
        sqlite3_str_appendf(out, "%s%s %s ", i ? ", " : "", column->name,
                            ctr_shape_affinity_name(column->affinity));
        for (const char *c = column->collation; *c; c++)
            sqlite3_str_appendchar(out, 1, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
    }
    return ctr_text_built(conn, out);
}

const char *ctr_shape_declaration(ctr_conn *conn, const ctr_shape *shape)
{
    const char *keys = ctr_shape_key_list(conn, shape);
    sqlite3_str *out = sqlite3_str_new(NULL);
    for (int i = 0; i < shape->n_columns; i++) {
        const ctr_column *column = &shape->columns[i];
        if (column->key < 0)
            sqlite3_str_appendf(out, "\"%w\" %s, ", column->name, column->kind->word);
        else
            sqlite3_str_appendf(out, "\"%w\" %s COLLATE \"%w\", ", column->name, column->type,
                                column->collation);
    }
    if (shape->n_counters == 0 && shape->n_gone > 0)
        sqlite3_str_appendf(out, "\"%w\" COUNTER, ", shape->gone[0].name);
    sqlite3_str_appendf(out, "PRIMARY KEY (%s)", keys);
    return ctr_text_built(conn, out);
}

/* ---- two shapes ------------------------------------------------------------------------------ */

/* A table, and the name of its file in messages. */
typedef struct named_shape {
    const ctr_shape *shape;
    const char *file;
} named_shape;

int ctr_shape_counter_of(const ctr_shape *shape, const char *name, int64_t generation)
{
    int found = ctr_shape_counter(shape, name);
    if (found < 0) return -1;
    return shape->columns[shape->counters[found]].generation == generation ? found : -1;
}

static int say_difference(ctr_conn *conn, const named_shape *one, const named_shape *two,
                          const char *what, const char *a, const char *b)
{
    return ctr_problem_set(conn, SQLITE_ERROR, "the tables differ in %s: %s has %s, %s has %s",
                           what, one->file, a, two->file, b);
}

static const ctr_column *column_of_key(const named_shape *table, int key)
{
    return &table->shape->columns[table->shape->keys[key]];
}

static const char *name_of_key(const named_shape *table, int key)
{
    return key < table->shape->n_keys ? column_of_key(table, key)->name : "none";
}

static int compare_keys(ctr_conn *conn, const named_shape *one, const named_shape *two)
{
    int n = one->shape->n_keys, m = two->shape->n_keys, least = n < m ? n : m;
    for (int i = 0; i < least; i++) {
        const ctr_column *a = column_of_key(one, i), *b = column_of_key(two, i);
        if (strcmp(a->name, b->name) != 0)
            say_difference(conn, one, two, "a key column", a->name, b->name);
        if (a->affinity != b->affinity)
            say_difference(conn, one, two, "the affinity of a key column",
                           ctr_shape_affinity_name(a->affinity),
                           ctr_shape_affinity_name(b->affinity));
        if (sqlite3_stricmp(a->collation, b->collation) != 0)
            say_difference(conn, one, two, "the collation of a key column", a->collation,
                           b->collation);
    }
    if (n != m)
        say_difference(conn, one, two, "a key column", name_of_key(one, least),
                       name_of_key(two, least));
    return ctr_rc(conn);
}

static void compare_counters(ctr_conn *conn, const named_shape *one, const named_shape *two)
{
    for (int i = 0; i < one->shape->n_counters; i++) {
        const ctr_column *counter = &one->shape->columns[one->shape->counters[i]];
        if (ctr_shape_counter_of(two->shape, counter->name, counter->generation) >= 0) continue;
        bool is_there = ctr_shape_counter(two->shape, counter->name) >= 0;
        ctr_problem_set(conn, SQLITE_ERROR, "the tables differ: %s has no counter %s%s", two->file,
                        counter->name, is_there ? " of this generation" : "");
    }
}

int ctr_shape_check_keys(ctr_conn *conn, const ctr_shape *one, const char *a, const ctr_shape *two,
                         const char *b)
{
    named_shape here = {one, a}, there = {two, b};
    if (ctr_rc(conn) != SQLITE_OK || compare_keys(conn, &here, &there)) return ctr_rc(conn);
    int64_t generation;
    const char *name, *other;
    for (int i = 0; (name = ctr_shape_ever(one, i, &generation)); i++)
        if (ctr_shape_generation(two, name, &other) > 0 && strcmp(name, other) != 0)
            say_difference(conn, &here, &there, "the spelling of a counter", name, other);
    return ctr_rc(conn);
}

int ctr_shape_check_same(ctr_conn *conn, const ctr_shape *one, const char *a, const ctr_shape *two,
                         const char *b)
{
    named_shape here = {one, a}, there = {two, b};
    if (ctr_shape_check_keys(conn, one, a, two, b)) return ctr_rc(conn);
    compare_counters(conn, &there, &here);
    compare_counters(conn, &here, &there);
    return ctr_rc(conn);
}

bool ctr_shape_lacks_bound(const ctr_shape *shape, const char *name, int64_t generation)
{
    int counter = ctr_shape_counter_of(shape, name, generation);
    return counter >= 0 && !shape->columns[shape->counters[counter]].bounded;
}

bool ctr_shape_is_behind(const ctr_shape *shape, const ctr_shape *from)
{
    int64_t generation;
    const char *name, *spelling;
    for (int i = 0; (name = ctr_shape_ever(from, i, &generation)); i++)
        if (ctr_shape_generation(shape, name, &spelling) < generation) return true;
    for (int i = 0; from->bounded && i < from->n_counters; i++) {
        const ctr_column *column = &from->columns[from->counters[i]];
        if (column->bounded && ctr_shape_lacks_bound(shape, column->name, column->generation))
            return true;
    }
    return false;
}

/* =================================================================================================
 * key_json - writes packed keys as JSON, and reads them. */

/* ---- writing --------------------------------------------------------------------------------- */

static void append_hex(sqlite3_str *out, const char *what, const uint8_t *bytes, size_t size)
{
    sqlite3_str_appendf(out, "{\"%s\":\"", what);
    ctr_text_append_hex(out, bytes, (int)size);
    sqlite3_str_appendall(out, "\"}");
}

static void append_text_key(sqlite3_str *out, const uint8_t *text, size_t size)
{
    if (!ctr_utf8_is(text, size)) {
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

void ctr_key_json_append(sqlite3_str *out, const ctr_key_value *value)
{
    switch (value->type) {
    case CTR_KEY_NOTHING: sqlite3_str_appendall(out, "null"); break;
    case CTR_KEY_INTEGER: sqlite3_str_appendf(out, "%lld", (long long)value->integer); break;
    case CTR_KEY_REAL:
        if (isinf(value->real)) /* JSON has no infinity: 9e999 is read as one */
            sqlite3_str_appendall(out, value->real > 0 ? "9e999" : "-9e999");
        else if (value->real == 0.0)
            sqlite3_str_appendall(out, signbit(value->real) ? "-0.0" : "0.0");
        else
            sqlite3_str_appendf(out, "%!.17g", value->real);
        break;
    case CTR_KEY_TEXT: append_text_key(out, value->bytes, value->size); break;
    case CTR_KEY_BLOB: append_hex(out, "hex", value->bytes, value->size); break;
    }
}

/* Beyond these bounds no text is read as the same number by every SQLite. */
void ctr_key_json_append_exactly(sqlite3_str *out, const ctr_key_value *value)
{
    uint64_t bits;
    uint8_t bytes[sizeof bits];
    const double size = value->type == CTR_KEY_REAL ? fabs(value->real) : 0;
    if (size == 0 || isinf(size) || (size <= 1e100 && size >= 1e-100)) {
        ctr_key_json_append(out, value);
        return;
    }
    memcpy(&bits, &value->real, sizeof bits);
    ctr_bytes_put(bytes, bits);
    append_hex(out, "real", bytes, sizeof bytes);
}

char *ctr_key_json_write(const uint8_t *key, size_t size)
{
    ctr_key_value value;
    size_t at = 0;
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendchar(out, 1, '[');
    for (int i = 0; ctr_key_next(key, size, &at, &value); i++) {
        if (i) sqlite3_str_appendchar(out, 1, ',');
        ctr_key_json_append(out, &value);
    }
    sqlite3_str_appendchar(out, 1, ']');
    return sqlite3_str_finish(out);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Appends what hexadecimal digits in quotes say. Returns false if they are none. */
static bool take_hex(ctr_conn *conn, ctr_packed *key, ctr_key_type type, ctr_span digits)
{
    const size_t size = (digits.size - 2) / 2;
    uint8_t *bytes = sqlite3_malloc64(size + 1);
    if (!bytes) ctr_problem_nomem(conn);
    bool is = bytes && ctr_json_hex(digits, bytes);
    uint8_t *out = is ? ctr_pack_room(conn, key, CTR_KEY_VALUE_MAX + size) : NULL;
    const ctr_key_value value = {.type = type, .bytes = bytes, .size = size};
    if (out) key->size = (size_t)(ctr_key_put(out, &value) - key->bytes);
    sqlite3_free(bytes);
    return out != NULL;
}

static bool take_json_text(ctr_conn *conn, ctr_packed *key, ctr_span text)
{
    char *bytes = sqlite3_malloc64(text.size);
    uint8_t *out = bytes ? ctr_pack_room(conn, key, CTR_KEY_VALUE_MAX + text.size) : NULL;
    if (!bytes) ctr_problem_nomem(conn);
    if (out) {
        const ctr_key_value value = {.type = CTR_KEY_TEXT,
                                     .bytes = (const uint8_t *)bytes,
                                     .size = ctr_json_text(text, bytes)};
        key->size = (size_t)(ctr_key_put(out, &value) - key->bytes);
    }
    sqlite3_free(bytes);
    return out != NULL;
}

/* SQLite reads a real, whatever the locale of the process. */
static bool take_json_number(ctr_conn *conn, ctr_packed *key, ctr_span number)
{
    ctr_key_value value = {.type = CTR_KEY_INTEGER};
    if (ctr_json_type_of(number) == CTR_JSON_REAL || !ctr_json_integer(number, &value.integer)) {
        ctr_run run = ctr_run_on(conn, "main", NULL);
        sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_KEY_REAL);
        if (row)
            ctr_problem_sqlite(conn, sqlite3_bind_text64(row, 1, number.text, number.size,
                                                         SQLITE_STATIC, SQLITE_UTF8));
        value.type = CTR_KEY_REAL;
        if (ctr_run_row(&run, row)) value.real = sqlite3_column_double(row, 0);
        sqlite3_finalize(row);
    }
    uint8_t *out = ctr_rc(conn) == SQLITE_OK ? ctr_pack_room(conn, key, CTR_KEY_VALUE_MAX) : NULL;
    if (out) key->size = (size_t)(ctr_key_put(out, &value) - key->bytes);
    return out != NULL;
}

/* Appends the REAL that 16 digits say. Returns false if they are none. */
static bool take_real_bytes(ctr_conn *conn, ctr_packed *key, ctr_span digits)
{
    uint64_t bits;
    uint8_t bytes[sizeof bits];
    ctr_key_value value = {.type = CTR_KEY_REAL};
    if (digits.size != 2 * sizeof bytes + 2 || !ctr_json_hex(digits, bytes)) return false;
    bits = ctr_bytes_get(bytes);
    memcpy(&value.real, &bits, sizeof bits);
    if (isnan(value.real)) return false;
    uint8_t *out = ctr_pack_room(conn, key, CTR_KEY_VALUE_MAX);
    if (out) key->size = (size_t)(ctr_key_put(out, &value) - key->bytes);
    return out != NULL;
}

/* Appends {"hex":"00ff"}, a BLOB, {"text":"61ff"}, a TEXT, or {"real":"7fe...."}, a REAL. */
static bool take_json_bytes(ctr_conn *conn, ctr_packed *key, ctr_span object)
{
    size_t at = 0;
    ctr_span name, digits, none;
    if (!ctr_json_next(object, &at, &name, &digits) || ctr_json_type_of(digits) != CTR_JSON_TEXT)
        return false;
    bool is_blob = ctr_json_is(name, "hex");
    if (ctr_json_is(name, "real"))
        return !ctr_json_next(object, &at, &name, &none) && take_real_bytes(conn, key, digits);
    if ((!is_blob && !ctr_json_is(name, "text")) || ctr_json_next(object, &at, &name, &none))
        return false;
    return take_hex(conn, key, is_blob ? CTR_KEY_BLOB : CTR_KEY_TEXT, digits);
}

bool ctr_key_json_take(ctr_packed *key, ctr_conn *conn, ctr_span value)
{
    switch (ctr_json_type_of(value)) {
    case CTR_JSON_INTEGER:
    case CTR_JSON_REAL: return take_json_number(conn, key, value);
    case CTR_JSON_TEXT: return take_json_text(conn, key, value);
    case CTR_JSON_OBJECT: return take_json_bytes(conn, key, value);
    default: return false;
    }
}

bool ctr_key_json_read(ctr_packed *key, int *n, ctr_conn *conn, const char *json)
{
    size_t at = 0;
    ctr_span whole, name, value;
    *n = 0;
    key->size = 0;
    if (ctr_json_check(json, strlen(json), &whole)) return false;
    if (ctr_json_type_of(whole) != CTR_JSON_ARRAY) return false;
    ctr_pack_begin(conn, key);
    while (ctr_json_next(whole, &at, &name, &value)) {
        if (!ctr_key_json_take(key, conn, value)) return false;
        ++*n;
    }
    return *n > 0 && ctr_rc(conn) == SQLITE_OK;
}

/* =================================================================================================
 * pack - packs values. */

uint8_t *ctr_pack_room(ctr_conn *conn, ctr_packed *packed, size_t size)
{
    size_t needed = packed->size + size;
    uint8_t *bytes = ctr_array_room(conn, packed->bytes, &packed->room, needed, 1);
    if (!bytes) return NULL;
    packed->bytes = bytes;
    return bytes + packed->size;
}

/* The result borrows the bytes of the value. sqlite3_value_bytes converts a text to UTF-8, and
 * sqlite3_value_blob then returns its bytes; sqlite3_value_text would copy most texts, to add a
 * NUL. A size of 0 may mean that there was no memory for the conversion. */
static ctr_key_value to_key_value(ctr_conn *conn, sqlite3_value *value)
{
    ctr_key_value made = {.type = CTR_KEY_NOTHING};
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        made.type = CTR_KEY_INTEGER;
        made.integer = sqlite3_value_int64(value);
        break;
    case SQLITE_FLOAT:
        made.type = CTR_KEY_REAL;
        made.real = sqlite3_value_double(value);
        break;
    case SQLITE_TEXT:
        made.type = CTR_KEY_TEXT;
        made.size = (size_t)sqlite3_value_bytes(value);
        made.bytes = made.size > 0 ? sqlite3_value_blob(value) : sqlite3_value_text(value);
        if (made.size == 0) made.size = (size_t)sqlite3_value_bytes(value);
        break;
    case SQLITE_BLOB:
        made.type = CTR_KEY_BLOB;
        made.bytes = sqlite3_value_blob(value);
        made.size = (size_t)sqlite3_value_bytes(value);
        break;
    default: break;
    }
    bool lost = !made.bytes && (made.size > 0 || made.type == CTR_KEY_TEXT);
    if (lost) ctr_problem_nomem(conn);
    return made;
}

void ctr_pack_begin(ctr_conn *conn, ctr_packed *packed)
{
    uint8_t *out = ctr_pack_room(conn, packed, CTR_KEY_HEADER);
    if (out) packed->size = (size_t)(ctr_key_begin(out) - packed->bytes);
}

/* Returns the bytes of the value in the packed key, or NULL without memory. */
static uint8_t *put_value(ctr_conn *conn, ctr_packed *packed, const ctr_key_value *value)
{
    uint8_t *out = ctr_pack_room(conn, packed, CTR_KEY_VALUE_MAX + value->size);
    if (!out) return NULL;
    uint8_t *end = ctr_key_put(out, value);
    packed->size = (size_t)(end - packed->bytes);
    return end - value->size;
}

void ctr_pack_append(ctr_conn *conn, ctr_packed *packed, sqlite3_value *value)
{
    ctr_key_value made = {.type = CTR_KEY_NOTHING};
    if (value) made = to_key_value(conn, value);
    if (ctr_rc(conn) == SQLITE_OK) put_value(conn, packed, &made);
}

int ctr_pack_refuse_large(ctr_conn *conn, sqlite3_value **values, int n)
{
    int64_t size = 0;
    for (int i = 0; i < n; i++) {
        int type = values[i] ? sqlite3_value_type(values[i]) : SQLITE_NULL;
        if (type == SQLITE_TEXT || type == SQLITE_BLOB) size += sqlite3_value_bytes(values[i]);
    }
    if (size <= CTR_KEY_BYTES_MOST) return ctr_rc(conn);
    char *key = ctr_problem_describe_key(values, n);
    if (!key) ctr_problem_nomem(conn);
    ctr_problem_set(conn, SQLITE_TOOBIG, "row %s: the key has %lld bytes, and %d are the limit",
                    key ? key : "", (long long)size, CTR_KEY_BYTES_MOST);
    sqlite3_free(key);
    return ctr_rc(conn);
}

int ctr_pack_values(ctr_conn *conn, ctr_packed *packed, sqlite3_value **values, int n)
{
    packed->size = 0;
    ctr_pack_begin(conn, packed);
    for (int i = 0; i < n && ctr_rc(conn) == SQLITE_OK; i++)
        ctr_pack_append(conn, packed, values[i]);
    return ctr_rc(conn);
}

bool ctr_pack_has(ctr_conn *conn, const uint8_t *bytes, size_t size, sqlite3_value **keys, int n)
{
    size_t at = 0;
    ctr_key_value stored;
    for (int i = 0; i < n && ctr_key_next(bytes, size, &at, &stored); i++) {
        if (!keys[i]) continue;
        ctr_key_value value = to_key_value(conn, keys[i]);
        bool number = value.type == CTR_KEY_INTEGER || value.type == CTR_KEY_REAL;
        if (value.type != stored.type) return false;
        if (value.type == CTR_KEY_INTEGER && value.integer != stored.integer) return false;
        if (value.type == CTR_KEY_REAL && memcmp(&value.real, &stored.real, sizeof value.real) != 0)
            return false; /* 0.0 and -0.0 */
        if (!number && (value.size != stored.size ||
                        (value.size > 0 && memcmp(value.bytes, stored.bytes, value.size) != 0)))
            return false;
    }
    return ctr_rc(conn) == SQLITE_OK;
}

/* ---- folding --------------------------------------------------------------------------------- */

/* Folds as NOCASE compares: of the bytes after a NUL, only the length counts. */
static void fold_case(uint8_t *text, size_t size)
{
    const uint8_t *nul = memchr(text, 0, size);
    size_t compared = nul ? (size_t)(nul - text) : size;
    memset(text + compared, 0, size - compared);
    for (size_t i = 0; i < compared; i++)
        if (text[i] >= 'A' && text[i] <= 'Z') text[i] = (uint8_t)(text[i] + ('a' - 'A'));
}

bool ctr_pack_folds(const char *collation)
{
    static const char *const BUILT_IN[] = {"BINARY", "NOCASE", "RTRIM"};
    for (size_t i = 0; i < sizeof BUILT_IN / sizeof *BUILT_IN; i++)
        if (sqlite3_stricmp(collation, BUILT_IN[i]) == 0) return true;
    return false;
}

int ctr_pack_folded(ctr_conn *conn, ctr_packed *packed, const ctr_shape *shape,
                    sqlite3_value **keys)
{
    packed->size = 0;
    ctr_pack_begin(conn, packed);
    for (int i = 0; i < shape->n_keys && ctr_rc(conn) == SQLITE_OK; i++) {
        const char *collation = shape->columns[shape->keys[i]].collation;
        ctr_key_value value = to_key_value(conn, keys[i]);
        bool is_text = value.type == CTR_KEY_TEXT;
        if (ctr_rc(conn) != SQLITE_OK) return ctr_rc(conn);
        ctr_key_unify(&value);
        if (is_text && sqlite3_stricmp(collation, "RTRIM") == 0) /* before the size is written */
            while (value.size > 0 && value.bytes[value.size - 1] == ' ') value.size--;
        uint8_t *text = put_value(conn, packed, &value);
        if (text && is_text && sqlite3_stricmp(collation, "NOCASE") == 0)
            fold_case(text, value.size);
    }
    return ctr_rc(conn);
}

/* ---- binding --------------------------------------------------------------------------------- */

int ctr_pack_lend_stored(ctr_conn *conn, sqlite3_stmt *statement, int i, const ctr_column *column,
                         sqlite3_value *value)
{
    bool is_text = sqlite3_value_type(value) == SQLITE_TEXT;
    bool lends = is_text && column->affinity != CTR_AFFINITY_REAL;
    int size = lends ? sqlite3_value_bytes(value) : 0; /* converts it to UTF-8 */
    const char *text = size > 0 ? sqlite3_value_blob(value) : NULL;
    if (!text) return ctr_pack_bind_stored(conn, statement, i, column, value);
    return sqlite3_bind_text64(statement, i, text, (sqlite3_uint64)size, SQLITE_STATIC,
                               SQLITE_UTF8);
}

int ctr_pack_bind_stored(ctr_conn *conn, sqlite3_stmt *statement, int i, const ctr_column *column,
                         sqlite3_value *value)
{
    if (column->affinity == CTR_AFFINITY_REAL) {
        ctr_problem problem;
        ctr_problem_try(conn, &problem);
        ctr_number number = ctr_arg_number(conn, value);
        int rc = problem.rc;
        ctr_problem_close(&problem);
        if (rc != SQLITE_OK) return rc;
        if (number.type == SQLITE_INTEGER)
            return sqlite3_bind_double(statement, i, (double)number.integer);
    }
    return ctr_text_bind_value(statement, i, value);
}

int ctr_pack_bind_keys(ctr_conn *conn, sqlite3_stmt *statement, int first, const ctr_shape *shape,
                       sqlite3_value **keys)
{
    int rc = SQLITE_OK;
    for (int i = 0; i < shape->n_keys && rc == SQLITE_OK; i++)
        rc = ctr_pack_bind_stored(conn, statement, first + i, &shape->columns[shape->keys[i]],
                                  keys[i]);
    return rc;
}

int ctr_pack_bind_value(sqlite3_stmt *statement, int i, const ctr_key_value *value)
{
    const void *content = value->bytes ? value->bytes : (const uint8_t *)"";
    switch (value->type) {
    case CTR_KEY_NOTHING: break;
    case CTR_KEY_INTEGER: return sqlite3_bind_int64(statement, i, value->integer);
    case CTR_KEY_REAL: return sqlite3_bind_double(statement, i, value->real);
    case CTR_KEY_TEXT:
        return sqlite3_bind_text64(statement, i, content, value->size, SQLITE_TRANSIENT,
                                   SQLITE_UTF8);
    case CTR_KEY_BLOB:
        return sqlite3_bind_blob64(statement, i, content, value->size, SQLITE_TRANSIENT);
    }
    return sqlite3_bind_null(statement, i);
}

int ctr_pack_bind(sqlite3_stmt *statement, const uint8_t *bytes, size_t size)
{
    ctr_key_value value;
    size_t at = 0;
    int rc = SQLITE_OK;
    for (int i = 1; rc == SQLITE_OK && ctr_key_next(bytes, size, &at, &value); i++)
        rc = ctr_pack_bind_value(statement, i, &value);
    return rc;
}
