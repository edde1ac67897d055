/* base/schema.c - looks up names, one by one or all of a schema at once. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

const char *ctr_schema_object_text(ctr_object object)
{
    static const char *const TEXTS[] = {"nothing", "a table",  "a virtual table",
                                        "a view",  "an index", "a nameless object"};
    return TEXTS[object];
}

/* Returns the kind of object in a row of sqlite_master. */
static ctr_object kind_of_object(const char *type, int64_t rootpage)
{
    if (!type) return CTR_OBJECT_NAMELESS;
    if (strcmp(type, "table") == 0)
        return rootpage > 0 ? CTR_OBJECT_TABLE : CTR_OBJECT_VIRTUAL_TABLE;
    return strcmp(type, "view") == 0 ? CTR_OBJECT_VIEW : CTR_OBJECT_INDEX;
}

ctr_object ctr_schema_object(ctr_conn *conn, const char *schema, const char *name)
{
    ctr_object object = CTR_OBJECT_NONE;
    ctr_run run = ctr_run_on(conn, schema, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_OBJECT);
    ctr_run_bind_text(&run, row, ":name", name);
    if (ctr_run_row(&run, row))
        object = kind_of_object(ctr_text_column(conn, row, 0), sqlite3_column_int64(row, 1));
    else
        ctr_run_refuse_hidden(&run, row, 3, "sqlite_master");
    sqlite3_finalize(row);
    return ctr_rc(conn) == SQLITE_OK ? object : CTR_OBJECT_NONE;
}

/* Returns whether it is an ordinary table. Fails if it is another object. */
static bool is_ordinary(ctr_conn *conn, const char *name, ctr_object object)
{
    if (object == CTR_OBJECT_NONE || object == CTR_OBJECT_TABLE)
        return object == CTR_OBJECT_TABLE && ctr_rc(conn) == SQLITE_OK;
    ctr_problem_set(conn, SQLITE_CORRUPT_VTAB, "%s is damaged: it is not an ordinary table but %s",
                    name, ctr_schema_object_text(object));
    return false;
}

bool ctr_schema_is_table(ctr_conn *conn, const char *schema, const char *name)
{
    return is_ordinary(conn, name, ctr_schema_object(conn, schema, name));
}

bool ctr_schema_may_generate(const ctr_named *table)
{
    return table->sql && ctr_word_follow(table->sql, "as", NULL);
}

int ctr_schema_refuse_generated(ctr_conn *conn, const char *schema, const char *stored)
{
    ctr_run run = ctr_run_on(conn, schema, NULL);
    run.slots.name = stored;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_COLUMNS);
    while (ctr_run_row(&run, row))
        if (sqlite3_column_int(row, 6))
            ctr_problem_set(conn, SQLITE_CORRUPT_VTAB, "%s is damaged: generated column %s", stored,
                            ctr_text_column(conn, row, 1));
    sqlite3_finalize(row);
    return ctr_rc(conn);
}

static bool look_everywhere(ctr_conn *conn, const char *table, ctr_schema_look *look_there,
                            void *with)
{
    bool found = look_there(with, "temp", table);
    ctr_run run = ctr_run_on(conn, NULL, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_DATABASES);
    while (!found && ctr_run_row(&run, row)) {
        const char *schema = ctr_text_column(conn, row, 1);
        found = schema && look_there(with, schema, table);
    }
    sqlite3_finalize(row);
    return found;
}

bool ctr_schema_find(ctr_conn *conn, const char *name, ctr_schema_look *look_there, void *with)
{
    const char *dot = strchr(name, '.');
    bool found = look_everywhere(conn, name, look_there, with);
    if (found || !dot || ctr_rc(conn) != SQLITE_OK) return found && ctr_rc(conn) == SQLITE_OK;
    const char *schema = ctr_text_print(conn, "%.*s", (int)(dot - name), name);
    if (ctr_run_has_schema(conn->db, schema)) found = look_there(with, schema, dot + 1);
    return found && ctr_rc(conn) == SQLITE_OK;
}

/* ---- all objects of a schema ----------------------------------------------------------------- */

enum { OBJECT_NAME, OBJECT_TYPE, OBJECT_ROOT, OBJECT_SQL, OBJECT_ON, OBJECT_ROWID };

static int by_name(const void *a, const void *b)
{
    const ctr_named *x = a, *y = b;
    int order = sqlite3_stricmp(x->name, y->name);
    if (order) return order;
    if (x->temp != y->temp) return x->temp - y->temp;
    return (x->object == CTR_OBJECT_TABLE) - (y->object == CTR_OBJECT_TABLE);
}

static char *add_text(char *at, const char **keep, const char *text, size_t size)
{
    *keep = text ? at : NULL;
    if (text) memcpy(at, text, size);
    return at + size;
}

static size_t size_of(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static void refuse_hidden(ctr_conn *conn)
{
    ctr_problem_set(conn, SQLITE_AUTH, "an authorizer of this connection hides columns of %s",
                    "sqlite_master");
}

static sqlite3_stmt *prepare_objects(ctr_run *run, ctr_sql which)
{
    sqlite3_stmt *row = ctr_run_prepare(run, which);
    for (int i = OBJECT_NAME; row && i <= OBJECT_ROWID; i++)
        if (ctr_run_is_hidden(row, i)) refuse_hidden(run->conn);
    return row;
}

static void note_trigger(ctr_objects *objects, const char *sql)
{
    objects->any_fail = objects->any_fail || ctr_word_is_in("FAIL", sql);
    objects->any_or_fail = objects->any_or_fail || ctr_word_follow(sql, "or", "FAIL") ||
                           ctr_word_follow(sql, "or", "ROLLBACK");
}

static void add_object(ctr_objects *objects, sqlite3_stmt *row)
{
    const char *name = ctr_text_column(objects->conn, row, OBJECT_NAME),
               *type = ctr_text_column(objects->conn, row, OBJECT_TYPE),
               *sql = ctr_text_column(objects->conn, row, OBJECT_SQL),
               *on = ctr_text_column(objects->conn, row, OBJECT_ON);
    int64_t rowid = sqlite3_column_int64(row, OBJECT_ROWID);
    if (rowid > objects->last) objects->last = rowid;
    bool trigger = type && strcmp(type, "trigger") == 0;
    ctr_named **list = trigger ? &objects->triggers : &objects->named;
    size_t *n = trigger ? &objects->n_triggers : &objects->n;
    if (type && strcmp(type, "table") == 0 && !sql) refuse_hidden(objects->conn);
    if (!name || ctr_rc(objects->conn) != SQLITE_OK) return;
    ctr_named *named =
        ctr_array_room(objects->conn, *list, trigger ? &objects->room_triggers : &objects->room,
                       *n + 1, sizeof *named);
    if (!named) return;
    *list = named;
    size_t sizes[] = {size_of(name), size_of(on), size_of(sql)};
    named[*n] = (ctr_named){.name = sqlite3_malloc64(sizes[0] + sizes[1] + sizes[2]),
                            .object = kind_of_object(type, sqlite3_column_int64(row, OBJECT_ROOT)),
                            .temp = sqlite3_column_type(row, OBJECT_ROWID) == SQLITE_NULL,
                            .rowid = rowid};
    if (!named[*n].name) {
        ctr_problem_nomem(objects->conn);
        return;
    }
    memcpy(named[*n].name, name, sizes[0]);
    char *at = add_text(named[*n].name + sizes[0], &named[*n].on, on, sizes[1]);
    add_text(at, &named[*n].sql, sql, sizes[2]);
    if (trigger && sql) note_trigger(objects, sql);
    ++*n;
}

void ctr_schema_objects_read(ctr_objects *objects, ctr_conn *conn, const char *schema)
{
    ctr_run run = ctr_run_on(conn, schema, NULL);
    sqlite3_stmt *row = prepare_objects(&run, CTR_SQL_SCHEMA_OBJECTS);
    objects->conn = conn;
    objects->schema = schema;
    while (ctr_run_row(&run, row)) add_object(objects, row);
    sqlite3_finalize(row);
    ctr_named *triggers = objects->triggers;
    if (objects->n > 0) qsort(objects->named, objects->n, sizeof *objects->named, by_name);
    if (triggers) qsort(triggers, objects->n_triggers, sizeof *triggers, by_name);
}

/* Returns the first object of a list with this name, or NULL. */
static const ctr_named *find_first(const ctr_named *list, size_t n, const char *name)
{
    size_t from = 0, to = n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (sqlite3_stricmp(list[middle].name, name) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from < n && sqlite3_stricmp(list[from].name, name) == 0 ? &list[from] : NULL;
}

/* Moves the last object of a list, whose others are in order, to its place. */
static void place_last(ctr_named *list, size_t n)
{
    const ctr_named last = list[n - 1];
    size_t at = n - 1;
    for (size_t from = 0; from < at;) {
        size_t middle = from + (at - from) / 2;
        if (by_name(&list[middle], &last) < 0)
            from = middle + 1;
        else
            at = middle;
    }
    memmove(&list[at + 1], &list[at], (n - 1 - at) * sizeof last);
    list[at] = last;
}

/* SQLite gives each new row of sqlite_master the number after the last one. */
int ctr_schema_objects_read_on(ctr_objects *objects)
{
    ctr_run run = ctr_run_on(objects->conn, objects->schema, NULL);
    sqlite3_stmt *row = prepare_objects(&run, CTR_SQL_SCHEMA_OBJECTS_SINCE);
    ctr_run_bind_int(&run, row, ":last", objects->last);
    while (ctr_run_row(&run, row)) {
        size_t n = objects->n, n_triggers = objects->n_triggers;
        add_object(objects, row);
        if (objects->n > n) place_last(objects->named, n + 1);
        if (objects->n_triggers > n_triggers) place_last(objects->triggers, n_triggers + 1);
    }
    sqlite3_finalize(row);
    return ctr_rc(objects->conn);
}

static void close_list(ctr_named *named, size_t n)
{
    for (size_t i = 0; i < n; i++) sqlite3_free(named[i].name);
    sqlite3_free(named);
}

void ctr_schema_objects_close(ctr_objects *objects)
{
    close_list(objects->named, objects->n);
    close_list(objects->triggers, objects->n_triggers);
    *objects = (ctr_objects){0};
}

const ctr_named *ctr_schema_objects_find(const ctr_objects *objects, const char *name)
{
    return find_first(objects->named, objects->n, name);
}

const ctr_named *ctr_schema_objects_stored(const ctr_objects *objects, const char *table,
                                           const char *suffix)
{
    return ctr_schema_objects_find(objects, ctr_text_print(objects->conn, "%s_%s", table, suffix));
}

const ctr_named *ctr_schema_objects_trigger(const ctr_objects *objects, const char *table,
                                            const char *suffix)
{
    const char *name = ctr_text_print(objects->conn, "%s_%s", table, suffix);
    const ctr_named *found = find_first(objects->triggers, objects->n_triggers, name);
    return found && !found->temp ? found : NULL;
}

bool ctr_schema_objects_is_table(const ctr_objects *objects, const char *name)
{
    const ctr_named *found = ctr_schema_objects_find(objects, name);
    return is_ordinary(objects->conn, name, found ? found->object : CTR_OBJECT_NONE);
}
