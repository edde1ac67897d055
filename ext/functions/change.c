/* functions/change.c - shows a change of counter_changes, and makes one.
 *
 *     counter_change(change)          its parts as rows
 *     counter_change_json(change)     the same as JSON
 *     counter_change_of(json)         the change that such JSON tells
 *
 *     {"tells":"row","row":{"life":1,"stamp":{"number":7,"id":"..."},"birth":{...}},"columns":[
 *       {"name":"stock","kind":"counter","generation":1,
 *        "cell":{"life":1,"value":5,"shards":[{"id":"...","clock":2,"value":5}]}},
 *       {"name":"title","kind":"regular","generation":0,"stamp":{...},"value":"jam"},
 *       {"name":"photo","kind":"regular","generation":0,"stamp":{...},"too_large":9000000}]}
 *     {"tells":"floors"}
 *     {"tells":"column","name":"stock","kind":"counter","generation":2}
 *     {"tells":"column","name":"free","kind":"counter","generation":1,"bounded":true}
 *     {"tells":"answer","answer":"01..."}                              hexadecimal
 *
 * "row" is missing if the table is not replicated, the stamp of a row if it is deleted, the birth
 * of one whose key the application gave. A regular column without a stamp has "stamp":null and no
 * value; one whose value is too large to be told has its size in bytes. Values are as in
 * counter_key_json. What JSON says beyond that is refused; the value of a cell, its sum, is not
 * read. */
#include "functions/functions.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading a change ------------------------------------------------------------------------ */

static const char *const TELLS[] = {[CTR_TELLS_ROW] = "row",
                                    [CTR_TELLS_FLOORS] = "floors",
                                    [CTR_TELLS_COLUMN] = "column",
                                    [CTR_TELLS_ANSWER] = "answer"};

/* The view borrows the bytes of the value. */
static void open_told(ctr_conn *conn, sqlite3_value *value, ctr_change_view *change)
{
    const uint8_t *bytes = NULL;
    if (sqlite3_value_type(value) != SQLITE_BLOB)
        ctr_problem_mismatch(conn, "the change", "a BLOB, from counter_changes", value);
    else
        bytes = sqlite3_value_blob(value);
    size_t size = (size_t)sqlite3_value_bytes(value);
    if (!bytes && size > 0) ctr_problem_nomem(conn);
    if (ctr_rc(conn) != SQLITE_OK) return;
    ctr_arg_change(conn, change, bytes, size);
}

/* ---- as rows --------------------------------------------------------------------------------- */

static void answer_null(ctr_answer *answer, int n)
{
    while (n-- > 0) ctr_answer_text(answer, NULL);
}

static void answer_told_stamp(ctr_answer *answer, const ctr_stamp *stamp)
{
    if (stamp) ctr_answer_integer(answer, ctr_stamp_time(stamp->number));
    if (stamp) ctr_answer_id(answer, stamp->id);
    if (!stamp) answer_null(answer, 2);
}

static void answer_told_value(ctr_answer *answer, const ctr_key_value *value)
{
    switch (value->type) {
    case CTR_KEY_NOTHING: answer_null(answer, 1); break;
    case CTR_KEY_INTEGER: ctr_answer_integer(answer, value->integer); break;
    case CTR_KEY_REAL: ctr_answer_real(answer, value->real); break;
    case CTR_KEY_TEXT:
        ctr_answer_span(answer, (ctr_span){(const char *)value->bytes, value->size});
        break;
    case CTR_KEY_BLOB: ctr_answer_bytes(answer, value->bytes, value->size); break;
    }
}

/* The value of a regular column, or nothing. */
static ctr_key_value told_value(const ctr_told_column *column)
{
    ctr_key_value value = {.type = CTR_KEY_NOTHING};
    if (column->size > 0) ctr_key_read(column->state, &value);
    return value;
}

/* The stamp of a regular column; NULL: it has none. */
static const ctr_stamp *told_stamp(const ctr_told_column *column, const ctr_told_row *row)
{
    if (column->stamp.kind == CTR_STAMP_NONE) return NULL;
    return column->stamp.kind == CTR_STAMP_OWN ? &column->stamp.own : &row->stamp;
}

static void answer_told_column(ctr_answer *answer, const ctr_told_row *row,
                               const ctr_told_column *column)
{
    int64_t sum;
    ctr_cell cell;
    ctr_answer_span(answer, (ctr_span){(const char *)column->name, column->name_size});
    ctr_answer_text(answer, column->kind->called);
    ctr_answer_integer(answer, column->generation);
    if (!column->kind->stored) {
        const ctr_key_value value = told_value(column);
        answer_null(answer, 1);
        answer_told_value(answer, &value);
        answer_told_stamp(answer, told_stamp(column, row));
        answer_null(answer, 1);
        if (column->too_large > 0)
            ctr_answer_integer(answer, (int64_t)column->too_large);
        else
            answer_null(answer, 1);
        return;
    }
    ctr_cell_open(&cell, column->state, column->size);
    ctr_answer_integer(answer, cell.life);
    if (ctr_cell_is_live(&cell) && ctr_cell_value(&cell, &sum) == CTR_OK)
        ctr_answer_integer(answer, sum);
    else
        answer_null(answer, 1);
    answer_told_stamp(answer, NULL);
    ctr_answer_blob(answer, column->state, column->size);
    answer_null(answer, 1);
}

static void answer_told_row(ctr_answer *answer, ctr_change_view *change)
{
    ctr_told_column column;
    const ctr_told_row *row = &change->row;
    if (row->is) {
        answer_null(answer, 1);
        ctr_answer_text(answer, TELLS[CTR_TELLS_ROW]);
        answer_null(answer, 1);
        ctr_answer_integer(answer, row->life);
        answer_null(answer, 1);
        answer_told_stamp(answer, row->life % 2 == 1 ? &row->stamp : NULL);
        answer_null(answer, 2);
    }
    if (row->is && row->born) {
        answer_null(answer, 1);
        ctr_answer_text(answer, "birth");
        answer_null(answer, 3);
        answer_told_stamp(answer, &row->birth);
        answer_null(answer, 2);
    }
    while (ctr_change_next(change, &column)) answer_told_column(answer, row, &column);
}

static void show_change(ctr_answer *answer, sqlite3_value **args)
{
    ctr_change_view change = {0};
    if (sqlite3_value_type(args[0]) == SQLITE_NULL) return;
    open_told(answer->conn, args[0], &change);
    if (ctr_rc(answer->conn) != SQLITE_OK) return;
    const ctr_told_column *column = &change.column;
    if (change.what == CTR_TELLS_ROW) {
        answer_told_row(answer, &change);
    } else if (change.what == CTR_TELLS_COLUMN) {
        ctr_answer_span(answer, (ctr_span){(const char *)column->name, column->name_size});
        ctr_answer_text(answer, column->bounded ? "bounded counter" : column->kind->called);
        ctr_answer_integer(answer, column->generation);
        answer_null(answer, 6);
    } else {
        answer_null(answer, 1);
        ctr_answer_text(answer, TELLS[change.what]);
        answer_null(answer, 5);
        ctr_answer_blob(answer, column->state, column->size);
        answer_null(answer, 1);
    }
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static void append_name_json(sqlite3_str *out, const ctr_told_column *column)
{
    const ctr_key_value name = {
        .type = CTR_KEY_TEXT, .bytes = column->name, .size = column->name_size};
    sqlite3_str_appendall(out, "\"name\":");
    ctr_key_json_append(out, &name);
    sqlite3_str_appendf(out, ",\"kind\":\"%s\",\"generation\":%lld", column->kind->called,
                        (long long)column->generation);
}

static void append_stamp_json(sqlite3_str *out, const char *name, const ctr_stamp *stamp)
{
    char id[CTR_ID_TEXT_SIZE];
    sqlite3_str_appendf(out, ",\"%s\":", name);
    if (stamp) ctr_id_to_text(stamp->id, id);
    if (stamp)
        sqlite3_str_appendf(out, "{\"number\":%lld,\"id\":\"%s\"}",
                            (long long)ctr_stamp_time(stamp->number), id);
    else
        sqlite3_str_appendall(out, "null");
}

static void append_column_json(sqlite3_str *out, const ctr_told_row *row,
                               const ctr_told_column *column)
{
    sqlite3_str_appendchar(out, 1, '{');
    append_name_json(out, column);
    if (column->kind->stored) {
        ctr_cell cell;
        ctr_cell_open(&cell, column->state, column->size);
        sqlite3_str_appendall(out, ",\"cell\":");
        ctr_cell_append_json(out, &cell);
    } else {
        const ctr_key_value value = told_value(column);
        append_stamp_json(out, "stamp", told_stamp(column, row));
        if (column->size > 0) sqlite3_str_appendall(out, ",\"value\":");
        if (column->size > 0) ctr_key_json_append_exactly(out, &value);
        if (column->too_large > 0)
            sqlite3_str_appendf(out, ",\"too_large\":%llu", (unsigned long long)column->too_large);
    }
    sqlite3_str_appendchar(out, 1, '}');
}

static void append_row_json(sqlite3_str *out, ctr_change_view *change)
{
    ctr_told_column column;
    const ctr_told_row *row = &change->row;
    if (row->is) sqlite3_str_appendf(out, ",\"row\":{\"life\":%lld", (long long)row->life);
    if (row->is && row->life % 2 == 1) append_stamp_json(out, "stamp", &row->stamp);
    if (row->is && row->born) append_stamp_json(out, "birth", &row->birth);
    if (row->is) sqlite3_str_appendchar(out, 1, '}');
    sqlite3_str_appendall(out, ",\"columns\":[");
    for (const char *comma = ""; ctr_change_next(change, &column); comma = ",") {
        sqlite3_str_appendall(out, comma);
        append_column_json(out, row, &column);
    }
    sqlite3_str_appendchar(out, 1, ']');
}

void ctr_change_append_json(sqlite3_str *out, ctr_change_view *change)
{
    sqlite3_str_appendf(out, "{\"tells\":\"%s\"", TELLS[change->what]);
    if (change->what == CTR_TELLS_ROW) append_row_json(out, change);
    if (change->what == CTR_TELLS_COLUMN) sqlite3_str_appendchar(out, 1, ',');
    if (change->what == CTR_TELLS_COLUMN) append_name_json(out, &change->column);
    if (change->what == CTR_TELLS_COLUMN && change->column.bounded)
        sqlite3_str_appendall(out, ",\"bounded\":true");
    if (change->what == CTR_TELLS_ANSWER) {
        sqlite3_str_appendall(out, ",\"answer\":\"");
        ctr_text_append_hex(out, change->column.state, (int)change->column.size);
        sqlite3_str_appendchar(out, 1, '"');
    }
    sqlite3_str_appendchar(out, 1, '}');
}

static void fn_change_json(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    ctr_problem problem;
    ctr_change_view change = {0};
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL) return;
    ctr_problem_begin(sqlite3_user_data(ctx), &problem);
    open_told(sqlite3_user_data(ctx), argv[0], &change);
    if (!ctr_arg_problem(ctx, "counter_change_json", &problem)) return;
    sqlite3_str *out = sqlite3_str_new(sqlite3_context_db_handle(ctx));
    ctr_change_append_json(out, &change);
    ctr_arg_result_built(ctx, out);
}

/* ---- making a change of JSON ----------------------------------------------------------------- */

/* The change grows in `out`. */
typedef struct change_maker {
    ctr_conn *conn;
    ctr_packed out; /* owned */
    ctr_told_row row;
    struct made_column {
        ctr_told_column told;   /* its bytes are those of the next */
        ctr_packed name, state; /* owned */
    } * columns;                /* owned: n */
    size_t n, room;
} change_maker;

void ctr_member_refuse(ctr_conn *conn, const char *name, const char *wanted, ctr_span value)
{
    enum { SHOWN = 40 };
    const ctr_span shown = value.text ? value : (ctr_span){"missing", 7};
    ctr_problem_set(conn, SQLITE_ERROR, "the member %s must be %s, not %.*s", name, wanted,
                    ctr_utf8_cut(shown, SHOWN), shown.text);
}

/* Reads the members of an object; those that are missing have no text. Refuses others, and one that
 * is there twice. */
static bool take_json_members(change_maker *maker, ctr_span object, const char *what,
                              const char *const *names, ctr_span *values)
{
    size_t at = 0;
    ctr_span name, value;
    if (ctr_rc(maker->conn) != SQLITE_OK) return false;
    if (ctr_json_type_of(object) != CTR_JSON_OBJECT) {
        ctr_problem_set(maker->conn, SQLITE_ERROR, "%s must be an object, not %.*s", what,
                        ctr_utf8_cut(object, 40), object.text);
        return false;
    }
    for (int i = 0; names[i]; i++) values[i] = (ctr_span){NULL, 0};
    while (ctr_json_next(object, &at, &name, &value) && ctr_rc(maker->conn) == SQLITE_OK) {
        int i = 0;
        while (names[i] && !ctr_json_is(name, names[i])) i++;
        if (!names[i])
            ctr_problem_set(maker->conn, SQLITE_ERROR, "%s has no member %.*s", what,
                            ctr_utf8_cut(name, 60), name.text);
        else if (values[i].text)
            ctr_problem_set(maker->conn, SQLITE_ERROR, "%s has the member %s twice", what,
                            names[i]);
        else
            values[i] = value;
    }
    return ctr_rc(maker->conn) == SQLITE_OK;
}

/* Reads a whole number; a missing one is refused. */
static int64_t take_member_integer(change_maker *maker, const char *name, ctr_span value,
                                   int64_t least, int64_t most)
{
    int64_t n = 0;
    if (ctr_rc(maker->conn) != SQLITE_OK) return 0;
    bool is = value.text && ctr_json_type_of(value) == CTR_JSON_INTEGER &&
              ctr_json_integer(value, &n) && n >= least && n <= most;
    if (is) return n;
    char *wanted = sqlite3_mprintf("%lld ... %lld", (long long)least, (long long)most);
    if (!wanted) ctr_problem_nomem(maker->conn);
    ctr_member_refuse(maker->conn, name, wanted ? wanted : "", value);
    sqlite3_free(wanted);
    return 0;
}

static void take_member_id(change_maker *maker, ctr_span value, uint8_t id[CTR_ID_SIZE])
{
    char text[64];
    bool is = value.text && ctr_json_type_of(value) == CTR_JSON_TEXT && value.size <= sizeof text;
    is = is && ctr_id_from_text(text, ctr_json_text(value, text), id);
    if (!is && ctr_rc(maker->conn) == SQLITE_OK)
        ctr_member_refuse(maker->conn, "id", "a UUID", value);
}

static void take_stamp_of(change_maker *maker, ctr_span value, ctr_stamp *stamp)
{
    enum { STAMP_NUMBER, STAMP_ID, N };
    ctr_span members[N];
    static const char *const KNOWN[] = {"number", "id", NULL};
    if (!take_json_members(maker, value, "a stamp", KNOWN, members)) return;
    stamp->number = take_member_integer(maker, "number", members[STAMP_NUMBER], 0, CTR_STAMP_MAX);
    take_member_id(maker, members[STAMP_ID], stamp->id);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* What a shard has granted: ids and how much. Copies of the ids stand in the list. */
typedef struct made_grant {
    uint8_t from[CTR_ID_SIZE], to[CTR_ID_SIZE];
    int64_t n;
} made_grant;

typedef struct made_grants {
    made_grant *grant; /* owned: n */
    size_t n, room;
} made_grants;

static int grant_order(const void *left, const void *right)
{
    const made_grant *a = left, *b = right;
    int order = memcmp(a->from, b->from, CTR_ID_SIZE);
    return order != 0 ? order : memcmp(a->to, b->to, CTR_ID_SIZE);
}

static void take_grants(change_maker *maker, ctr_span object, const uint8_t *from,
                        made_grants *into)
{
    size_t at = 0;
    ctr_span name, value;
    char text[64];
    size_t before = into->n;
    if (!object.text || ctr_rc(maker->conn) != SQLITE_OK) return;
    bool is_object = ctr_json_type_of(object) == CTR_JSON_OBJECT;
    while (is_object && ctr_rc(maker->conn) == SQLITE_OK &&
           ctr_json_next(object, &at, &name, &value)) {
        made_grant *more =
            ctr_array_room(maker->conn, into->grant, &into->room, into->n + 1, sizeof *more);
        if (!more) return;
        into->grant = more;
        more = &more[into->n++];
        memcpy(more->from, from, CTR_ID_SIZE);
        bool is = name.size <= sizeof text &&
                  ctr_id_from_text(text, ctr_json_text(name, text), more->to) &&
                  memcmp(more->to, from, CTR_ID_SIZE) != 0;
        if (!is) ctr_member_refuse(maker->conn, "grants", "to other UUIDs", name);
        more->n = take_member_integer(maker, "grants", value, 1, INT64_MAX);
    }
    if (into->n == before) ctr_member_refuse(maker->conn, "grants", "an object of ids", object);
}

/* Writes the grants of n shards into their cell, which is freed. Returns the new one, or NULL. */
static uint8_t *put_made_grants(change_maker *maker, uint8_t *cell, size_t *size, size_t n,
                                made_grants *grants)
{
    if (!cell || grants->n == 0) return cell;
    const ctr_cell plain = ctr_cell_written(cell, *size);
    if (ctr_cell_count(&plain) != n)
        ctr_problem_set(maker->conn, SQLITE_ERROR, "shards with grants have an id twice");
    qsort(grants->grant, grants->n, sizeof *grants->grant, grant_order);
    ctr_grant *views = sqlite3_malloc64(grants->n * sizeof *views);
    uint8_t *out = sqlite3_malloc64(*size + grants->n * CTR_GRANT_MAX);
    for (size_t i = 0; views && i < grants->n; i++) {
        const made_grant *grant = &grants->grant[i];
        if (i > 0 && grant_order(grant, grant - 1) == 0)
            ctr_problem_set(maker->conn, SQLITE_ERROR, "a shard grants to one id twice");
        views[i] = (ctr_grant){grant->from, grant->to, grant->n};
    }
    if (!views || !out) {
        ctr_problem_nomem(maker->conn);
    } else {
        *size = ctr_cell_with_grants(&plain, views, grants->n, out);
    }
    sqlite3_free(views);
    sqlite3_free(cell);
    if (ctr_rc(maker->conn) == SQLITE_OK) return out;
    sqlite3_free(out);
    return NULL;
}

static void make_shards(change_maker *maker, ctr_span list, uint32_t life, ctr_packed *state)
{
    enum { SHARD_ID, SHARD_CLOCK, SHARD_VALUE, SHARD_GRANTS, N };
    size_t at = 0, n = 0, room = 0, size = 0;
    ctr_span none, element, members[N];
    ctr_collected_shard *shards = NULL;
    made_grants grants = {0};
    static const char *const KNOWN[] = {"id", "clock", "value", "grants", NULL};
    bool is_list = !list.text || ctr_json_type_of(list) == CTR_JSON_ARRAY;
    if (!is_list) ctr_member_refuse(maker->conn, "shards", "an array", list);
    while (is_list && list.text && ctr_json_next(list, &at, &none, &element)) {
        if (!take_json_members(maker, element, "a shard", KNOWN, members)) break;
        ctr_collected_shard *more = ctr_array_room(maker->conn, shards, &room, n + 1, sizeof *more);
        if (!more) break;
        shards = more;
        take_member_id(maker, members[SHARD_ID], more[n].id);
        more[n].clock = take_member_integer(maker, "clock", members[SHARD_CLOCK], 1, INT64_MAX);
        more[n].value =
            take_member_integer(maker, "value", members[SHARD_VALUE], INT64_MIN, INT64_MAX);
        take_grants(maker, members[SHARD_GRANTS], more[n++].id, &grants);
    }
    if (n > 0 && life % 2 == 0)
        ctr_problem_set(maker->conn, SQLITE_ERROR, "life %lld is deleted and has no shards",
                        (long long)life);
    uint8_t *cell =
        ctr_rc(maker->conn) == SQLITE_OK ? ctr_cell_collect(life, shards, n, &size) : NULL;
    if (!cell && ctr_rc(maker->conn) == SQLITE_OK) ctr_problem_nomem(maker->conn);
    cell = put_made_grants(maker, cell, &size, n, &grants);
    sqlite3_free(grants.grant);
    if (cell && size == 0)
        ctr_problem_set(
            maker->conn, SQLITE_ERROR,
            "an untouched counter, of life 1 without shards, is not told: leave it out");
    uint8_t *out = cell ? ctr_pack_room(maker->conn, state, size + 1) : NULL;
    if (out && size > 0) memcpy(out, cell, size);
    if (out) state->size = size;
    sqlite3_free(cell);
    sqlite3_free(shards);
}

static void make_told_cell(change_maker *maker, ctr_span value, ctr_packed *state)
{
    enum { LIFE, SUM, SHARDS, N };
    ctr_span members[N];
    static const char *const KNOWN[] = {"life", "value", "shards", NULL};
    if (!take_json_members(maker, value, "a cell", KNOWN, members)) return;
    int64_t life = take_member_integer(maker, "life", members[LIFE], 1, CTR_LIFE_MAX);
    if (ctr_rc(maker->conn) == SQLITE_OK)
        make_shards(maker, members[SHARDS], (uint32_t)life, state);
}

/* Takes the stamp of a regular column, and its value or the size of one that is too large. */
static void make_told_regular(change_maker *maker, struct made_column *column, ctr_span stamp,
                              ctr_span value, ctr_span size)
{
    ctr_told_column *told = &column->told;
    bool has_stamp = ctr_json_type_of(stamp) != CTR_JSON_NULL;
    told->stamp.kind = has_stamp ? CTR_STAMP_OWN : CTR_STAMP_NONE;
    if (has_stamp) take_stamp_of(maker, stamp, &told->stamp.own);
    if (ctr_rc(maker->conn) != SQLITE_OK) return;
    if (has_stamp != (value.text || size.text) || (value.text && size.text)) {
        ctr_problem_set(maker->conn, SQLITE_ERROR,
                        has_stamp
                            ? "a regular column with a stamp has a value, or is too large for one"
                            : "a value needs a stamp");
        return;
    }
    if (!has_stamp) return;
    told->stamp.own.number = ctr_stamp_number(told->generation, told->stamp.own.number);
    if (told->generation == 0 && told->stamp.own.number == maker->row.stamp.number &&
        memcmp(told->stamp.own.id, maker->row.stamp.id, CTR_ID_SIZE) == 0)
        told->stamp = (ctr_column_stamp){.kind = CTR_STAMP_OF_ROW};
    if (size.text) {
        told->too_large = (uint64_t)take_member_integer(maker, "too_large", size, 1, INT64_MAX);
    } else if (ctr_json_type_of(value) == CTR_JSON_NULL) {
        uint8_t *out = ctr_pack_room(maker->conn, &column->state, 1);
        if (out) *out = CTR_KEY_NOTHING, column->state.size = 1;
    } else if (!ctr_key_json_take(&column->state, maker->conn, value)) {
        ctr_member_refuse(maker->conn, "value",
                          "a number, a text, null, {\"hex\":...}, {\"text\":...} or {\"real\":...}",
                          value);
    }
}

enum {
    MEMBER_NAME,
    MEMBER_KIND,
    MEMBER_GENERATION,
    MEMBER_CELL,
    MEMBER_STAMP,
    MEMBER_VALUE,
    MEMBER_TOO_LARGE,
    MEMBERS,
    MEMBER_BOUNDED = MEMBER_CELL /* of a change of a column alone */
};

/* Takes what each column has, and a change that tells of a column alone. */
static void take_member_name(change_maker *maker, const ctr_span *members,
                             struct made_column *column)
{
    ctr_told_column *told = &column->told;
    const ctr_span name = members[MEMBER_NAME], kind = members[MEMBER_KIND];
    bool named = name.text && ctr_key_json_take(&column->name, maker->conn, name);
    ctr_key_value value = {.type = CTR_KEY_NOTHING};
    if (named) ctr_key_read(column->name.bytes, &value);
    if (value.type != CTR_KEY_TEXT || value.size == 0) {
        ctr_member_refuse(maker->conn, "name", "the name of a column", name);
        return;
    }
    told->name = value.bytes;
    told->name_size = value.size;
    const ctr_kind *kinds[] = {ctr_kind_counter(), ctr_kind_regular()};
    for (int i = 0; i < 2; i++)
        if (kind.text && ctr_json_is(kind, kinds[i]->called)) told->kind = kinds[i];
    if (!told->kind)
        ctr_member_refuse(maker->conn, "kind", "\"counter\" or \"regular\"", kind);
    else
        told->generation = take_member_integer(maker, "generation", members[MEMBER_GENERATION], 0,
                                               CTR_GENERATION_MAX);
}

static void make_told_column(change_maker *maker, ctr_span object)
{
    ctr_span members[MEMBERS];
    static const char *const KNOWN[] = {"name",  "kind",  "generation", "cell",
                                        "stamp", "value", "too_large",  NULL};
    if (!take_json_members(maker, object, "a column", KNOWN, members)) return;
    struct made_column *columns =
        ctr_array_room(maker->conn, maker->columns, &maker->room, maker->n + 1, sizeof *columns);
    if (!columns) return;
    maker->columns = columns;
    struct made_column *column = &columns[maker->n++];
    *column = (struct made_column){.told.name = NULL};
    take_member_name(maker, members, column);
    if (ctr_rc(maker->conn) != SQLITE_OK) return;
    bool counts = column->told.kind->stored != NULL;
    const ctr_span cell = members[MEMBER_CELL], stamp = members[MEMBER_STAMP],
                   value = members[MEMBER_VALUE], size = members[MEMBER_TOO_LARGE];
    if (counts ? !cell.text || stamp.text || value.text || size.text : cell.text || !stamp.text)
        ctr_problem_set(maker->conn, SQLITE_ERROR,
                        counts ? "a counter has a cell, and no stamp, no value and no size"
                               : "a regular column has a stamp, perhaps null, and no cell");
    else if (counts)
        make_told_cell(maker, cell, &column->state);
    else
        make_told_regular(maker, column, stamp, value, size);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int by_told_name(const void *a, const void *b)
{
    const struct made_column *one = a, *other = b;
    return ctr_change_order(&one->told, &other->told);
}

static void take_row_member(change_maker *maker, ctr_span value)
{
    enum { LIFE, STAMP, BIRTH, N };
    ctr_span members[N];
    static const char *const KNOWN[] = {"life", "stamp", "birth", NULL};
    if (!take_json_members(maker, value, "the member row", KNOWN, members)) return;
    maker->row.is = true;
    maker->row.life =
        (uint32_t)take_member_integer(maker, "life", members[LIFE], 1, CTR_ROW_LIFE_MAX);
    bool live = maker->row.life % 2 == 1;
    if (ctr_rc(maker->conn) == SQLITE_OK && live != (members[STAMP].text != NULL))
        ctr_problem_set(maker->conn, SQLITE_ERROR,
                        live ? "a row with an odd life has a stamp"
                             : "a row with an even life is deleted, and has no stamp");
    if (live && members[STAMP].text) take_stamp_of(maker, members[STAMP], &maker->row.stamp);
    maker->row.born = members[BIRTH].text != NULL;
    if (maker->row.born) take_stamp_of(maker, members[BIRTH], &maker->row.birth);
}

static void write_row_change(change_maker *maker)
{
    size_t room = CTR_CHANGE_HEADER_MAX;
    for (size_t i = 0; i < maker->n; i++) {
        struct made_column *column = &maker->columns[i];
        column->told.state = column->state.bytes;
        column->told.size = column->state.size;
        room += CTR_CHANGE_HEADER_MAX + column->told.name_size + column->told.size;
    }
    if (maker->n > 0) qsort(maker->columns, maker->n, sizeof *maker->columns, by_told_name);
    for (size_t i = 1; i < maker->n; i++) {
        const ctr_told_column *column = &maker->columns[i].told;
        if (by_told_name(&maker->columns[i - 1], &maker->columns[i]) == 0)
            ctr_problem_set(maker->conn, SQLITE_ERROR, "two columns of one kind have the name %.*s",
                            (int)column->name_size, column->name);
    }
    uint8_t *out =
        ctr_rc(maker->conn) == SQLITE_OK ? ctr_pack_room(maker->conn, &maker->out, room) : NULL;
    if (!out) return;
    out = ctr_change_begin_row(out, &maker->row, maker->n);
    for (size_t i = 0; i < maker->n; i++) out = ctr_change_put_column(out, &maker->columns[i].told);
    maker->out.size = (size_t)(out - maker->out.bytes);
}

static void make_row_change(change_maker *maker, ctr_span whole)
{
    enum { WHAT, ROW, COLUMNS, N };
    size_t at = 0;
    ctr_span members[N], none, element;
    static const char *const KNOWN[] = {"tells", "row", "columns", NULL};
    if (!take_json_members(maker, whole, "a row", KNOWN, members)) return;
    if (members[ROW].text) take_row_member(maker, members[ROW]);
    const ctr_span columns = members[COLUMNS];
    if (!columns.text || ctr_json_type_of(columns) != CTR_JSON_ARRAY)
        ctr_member_refuse(maker->conn, "columns", "an array", columns);
    while (ctr_rc(maker->conn) == SQLITE_OK && ctr_json_next(columns, &at, &none, &element))
        make_told_column(maker, element);
    if (ctr_rc(maker->conn) == SQLITE_OK) write_row_change(maker);
}

static void make_column_change(change_maker *maker, ctr_span whole)
{
    struct made_column column = {.told.name = NULL};
    ctr_span members[MEMBERS];
    static const char *const KNOWN[] = {"name", "kind", "generation", "bounded", "tells", NULL};
    if (!take_json_members(maker, whole, "a column", KNOWN, members)) return;
    take_member_name(maker, members, &column);
    const ctr_span bounded = members[MEMBER_BOUNDED];
    column.told.bounded = bounded.text && ctr_json_type_of(bounded) == CTR_JSON_TRUE;
    if (bounded.text && !column.told.bounded)
        ctr_member_refuse(maker->conn, "bounded", "true, or missing", bounded);
    uint8_t *out =
        ctr_rc(maker->conn) == SQLITE_OK
            ? ctr_pack_room(maker->conn, &maker->out, CTR_CHANGE_HEADER_MAX + column.told.name_size)
            : NULL;
    if (out)
        maker->out.size = (size_t)(ctr_change_put_generation(out, &column.told) - maker->out.bytes);
    sqlite3_free(column.name.bytes);
}

static void make_answer_change(change_maker *maker, ctr_span whole)
{
    enum { WHAT, ANSWER, N };
    ctr_span members[N];
    static const char *const KNOWN[] = {"tells", "answer", NULL};
    if (!take_json_members(maker, whole, "an answer", KNOWN, members)) return;
    const ctr_span digits = members[ANSWER];
    uint8_t *out = ctr_pack_room(maker->conn, &maker->out, 1 + CTR_ANSWER_SIZE);
    uint8_t answer[CTR_ANSWER_SIZE];
    bool is = digits.text && digits.size == 2 + 2 * CTR_ANSWER_SIZE && ctr_json_hex(digits, answer);
    if (!is && out)
        ctr_member_refuse(maker->conn, "answer", "34 bytes in hexadecimal digits", digits);
    if (is && out)
        maker->out.size =
            (size_t)(ctr_change_put_answer(out, answer, sizeof answer) - maker->out.bytes);
}

static void make_change(change_maker *maker, const char *json, size_t size)
{
    size_t at = 0;
    ctr_span whole, name, value, tells = {NULL, 0};
    const char *wrong = ctr_json_check(json, size, &whole);
    if (wrong) {
        ctr_problem_set(maker->conn, SQLITE_ERROR, "the JSON %s", wrong);
        return;
    }
    if (ctr_json_type_of(whole) != CTR_JSON_OBJECT) {
        ctr_problem_set(maker->conn, SQLITE_ERROR, "the JSON must be an object");
        return;
    }
    while (ctr_json_next(whole, &at, &name, &value))
        if (ctr_json_is(name, "tells")) tells = value;
    if (tells.text && ctr_json_is(tells, TELLS[CTR_TELLS_ROW])) {
        make_row_change(maker, whole);
    } else if (tells.text && ctr_json_is(tells, TELLS[CTR_TELLS_COLUMN])) {
        make_column_change(maker, whole);
    } else if (tells.text && ctr_json_is(tells, TELLS[CTR_TELLS_ANSWER])) {
        make_answer_change(maker, whole);
    } else if (tells.text && ctr_json_is(tells, TELLS[CTR_TELLS_FLOORS])) {
        static const char *const KNOWN[] = {"tells", NULL};
        uint8_t *out = ctr_pack_room(maker->conn, &maker->out, 1);
        take_json_members(maker, whole, "a change of floors", KNOWN, &value);
        if (out) maker->out.size = (size_t)(ctr_change_put_floors(out) - maker->out.bytes);
    } else {
        ctr_member_refuse(maker->conn, "tells", "\"row\", \"floors\", \"column\" or \"answer\"",
                          tells);
    }
}

static void close_maker(change_maker *maker)
{
    for (size_t i = 0; i < maker->n; i++) {
        sqlite3_free(maker->columns[i].name.bytes);
        sqlite3_free(maker->columns[i].state.bytes);
    }
    sqlite3_free(maker->columns);
    sqlite3_free(maker->out.bytes);
}

/* Refuses clocks that merges refuse. */
static void refuse_made_clocks(ctr_conn *conn, ctr_change_view change)
{
    ctr_cell cell;
    ctr_told_column told;
    while (ctr_rc(conn) == SQLITE_OK && ctr_change_next(&change, &told)) {
        if (!told.kind->stored || ctr_cell_open(&cell, told.state, told.size) != CTR_OK) continue;
        if (ctr_merge_check_clocks(conn, &cell))
            ctr_problem_where(conn, "column %.*s", (int)told.name_size, (const char *)told.name);
    }
}

/* What is made is opened: JSON may say what no file tells. */
static void fn_change_of(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    static const char NAME[] = "counter_change_of";
    (void)argc;
    ctr_problem problem;
    ctr_conn *conn = sqlite3_user_data(ctx);
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL) return;
    const char *json = ctr_arg_text(ctx, NAME, "the JSON", argv[0]);
    if (!json) return;
    change_maker maker = {.conn = conn};
    ctr_problem_begin(conn, &problem);
    make_change(&maker, json, (size_t)sqlite3_value_bytes(argv[0]));
    ctr_change_view change;
    if (ctr_rc(conn) == SQLITE_OK) ctr_arg_change(conn, &change, maker.out.bytes, maker.out.size);
    if (ctr_rc(conn) == SQLITE_OK) refuse_made_clocks(conn, change);
    if (ctr_arg_problem(ctx, NAME, &problem))
        sqlite3_result_blob64(ctx, maker.out.bytes, maker.out.size, SQLITE_TRANSIENT);
    close_maker(&maker);
}

int ctr_change_register(sqlite3 *db, ctr_conn *conn)
{
    static const ctr_answer_kind CHANGE = {
        .name = "counter_change",
        .columns = "column_name TEXT, kind TEXT, generation INTEGER, life INTEGER, value, "
                   "stamp INTEGER, writer TEXT, cell BLOB, too_large INTEGER",
        .args = "change HIDDEN",
        .n_needed = 1,
        .usage = "one argument is needed, a change, from counter_changes",
        .pure = true,
        .fill = show_change};
    static const ctr_function FUNCTIONS[] = {
        {"counter_change_json", 1, 1, CTR_PURE, fn_change_json},
        {"counter_change_of", 1, 1, CTR_PURE, fn_change_of},
    };
    int rc = ctr_answer_register(db, conn, &CHANGE, 1);
    if (rc != SQLITE_OK) return rc;
    return ctr_shared_functions(db, conn, FUNCTIONS, sizeof FUNCTIONS / sizeof *FUNCTIONS);
}
