/* sqlite/objects.c - reads and finds the named objects of a schema. */
#include "sqlite/objects.h"

#include <stdlib.h>
#include <string.h>

#include "sqlite/array.h"
#include "sqlite/text.h"

enum { OBJECT_NAME, OBJECT_TYPE, OBJECT_ROOT, OBJECT_SQL, OBJECT_ON };

static int by_name(const void *a, const void *b)
{
    const ctr_named *x = a, *y = b;
    int order = sqlite3_stricmp(x->name, y->name);
    if (order) return order;
    return (x->object == CTR_OBJECT_TABLE) - (y->object == CTR_OBJECT_TABLE);
}

static bool is_in_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '$' || (c & 0x80);
}

/* Generated columns are declared with AS. A table may have the word without them, as the name of a
 * column. */
static bool may_generate(const char *sql)
{
    for (const char *at = sql; *at; at++)
        if (sqlite3_strnicmp(at, "AS", 2) == 0 && !is_in_word(at[2]) &&
            (at == sql || !is_in_word(at[-1])))
            return true;
    return false;
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

static void add_object(ctr_objects *objects, sqlite3_stmt *row, ctr_problem *problem)
{
    const char *name = ctr_text_column(row, OBJECT_NAME, problem),
               *type = ctr_text_column(row, OBJECT_TYPE, problem),
               *sql = ctr_text_column(row, OBJECT_SQL, problem),
               *on = ctr_text_column(row, OBJECT_ON, problem);
    bool trigger = type && strcmp(type, "trigger") == 0;
    ctr_named **list = trigger ? &objects->triggers : &objects->named;
    size_t *n = trigger ? &objects->n_triggers : &objects->n;
    if (type && strcmp(type, "table") == 0 && !sql)
        ctr_problem_set(problem, SQLITE_AUTH,
                        "an authorizer of this connection hides columns of the schema table");
    if (!name || problem->rc != SQLITE_OK) return;
    ctr_named *named = ctr_array_room(*list, trigger ? &objects->room_triggers : &objects->room,
                                      *n + 1, sizeof *named, problem);
    if (!named) return;
    *list = named;
    size_t sizes[] = {size_of(name), size_of(on), size_of(sql)};
    named[*n] =
        (ctr_named){.name = sqlite3_malloc64(sizes[0] + sizes[1] + sizes[2]),
                    .object = ctr_schema_object_of(type, sqlite3_column_int64(row, OBJECT_ROOT)),
                    .may_generate = sql && may_generate(sql)};
    if (!named[*n].name) {
        ctr_problem_nomem(problem);
        return;
    }
    memcpy(named[*n].name, name, sizes[0]);
    char *at = add_text(named[*n].name + sizes[0], &named[*n].on, on, sizes[1]);
    add_text(at, &named[*n].sql, sql, sizes[2]);
    ++*n;
}

int ctr_objects_read(ctr_objects *objects, sqlite3 *db, const char *schema, bool temp,
                     ctr_problem *problem)
{
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    ctr_sql which = temp ? CTR_SQL_SCHEMA_OBJECTS_AND_TEMP : CTR_SQL_SCHEMA_OBJECTS;
    sqlite3_stmt *row = ctr_run_prepare(&run, which);
    while (ctr_run_row(&run, row)) add_object(objects, row, problem);
    sqlite3_finalize(row);
    if (objects->n > 0) qsort(objects->named, objects->n, sizeof *objects->named, by_name);
    return problem->rc;
}

static void close_list(ctr_named *named, size_t n)
{
    for (size_t i = 0; i < n; i++) sqlite3_free(named[i].name);
    sqlite3_free(named);
}

void ctr_objects_close(ctr_objects *objects)
{
    close_list(objects->named, objects->n);
    close_list(objects->triggers, objects->n_triggers);
    *objects = (ctr_objects){0};
}

const ctr_named *ctr_objects_find(const ctr_objects *objects, const char *name)
{
    size_t from = 0, to = objects->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (sqlite3_stricmp(objects->named[middle].name, name) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    bool is = from < objects->n && sqlite3_stricmp(objects->named[from].name, name) == 0;
    return is ? &objects->named[from] : NULL;
}

const ctr_named *ctr_objects_stored(const ctr_objects *objects, const char *table,
                                    const char *suffix, ctr_problem *problem)
{
    char *name = sqlite3_mprintf("%s_%s", table, suffix);
    if (!name) ctr_problem_nomem(problem);
    const ctr_named *found = name ? ctr_objects_find(objects, name) : NULL;
    sqlite3_free(name);
    return found;
}

bool ctr_objects_is_table(const ctr_objects *objects, const char *name, ctr_problem *problem)
{
    const ctr_named *found = ctr_objects_find(objects, name);
    return ctr_schema_refuse_other(name, found ? found->object : CTR_OBJECT_NONE, problem);
}
