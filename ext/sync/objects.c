/* sync/objects.c - all that a schema has by name. */
#include "sync/objects.h"

#include <stdlib.h>
#include <string.h>

#include "sqlite/array.h"
#include "sqlite/run.h"
#include "sqlite/text.h"
#include "track/tracked.h"

enum { OBJECT_NAME, OBJECT_TYPE, OBJECT_ROOT, OBJECT_SQL };

static int by_name(const void *a, const void *b)
{
    const ctr_named *x = a, *y = b;
    int order = sqlite3_stricmp(x->name, y->name);
    if (order) return order;
    return (x->object == CTR_OBJECT_TABLE) - (y->object == CTR_OBJECT_TABLE);
}

/* ... AS (expression): a column that is called class makes more of a table than it is. */
static bool may_generate(const char *sql)
{
    return sql && ctr_text_contains(sql, "AS") && strchr(sql, '(');
}

static void add_object(ctr_objects *objects, sqlite3_stmt *row, ctr_problem *problem)
{
    const char *name = ctr_text_column(row, OBJECT_NAME, problem),
               *type = ctr_text_column(row, OBJECT_TYPE, problem);
    if (!name) return;
    ctr_named *named =
        ctr_array_room(objects->named, &objects->room, objects->n + 1, sizeof *named, problem);
    if (!named) return;
    objects->named = named;
    char *copy = sqlite3_mprintf("%s", name);
    if (!copy) {
        ctr_problem_nomem(problem);
        return;
    }
    const char *sql = ctr_text_column(row, OBJECT_SQL, problem);
    ctr_object object = ctr_schema_object_of(type, sqlite3_column_int64(row, OBJECT_ROOT));
    named[objects->n++] =
        (ctr_named){.name = copy,
                    .object = object,
                    .may_generate = may_generate(sql),
                    .tracked = object == CTR_OBJECT_VIRTUAL_TABLE && ctr_tracked_declares(sql)};
}

int ctr_objects_read(ctr_objects *objects, sqlite3 *db, const char *schema, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_OBJECTS);
    while (ctr_run_row(&run, row)) add_object(objects, row, problem);
    sqlite3_finalize(row);
    if (objects->n > 0) qsort(objects->named, objects->n, sizeof *objects->named, by_name);
    return problem->rc;
}

void ctr_objects_close(ctr_objects *objects)
{
    for (size_t i = 0; i < objects->n; i++) sqlite3_free(objects->named[i].name);
    sqlite3_free(objects->named);
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

bool ctr_objects_is_tracked(const ctr_objects *objects, const char *name)
{
    const ctr_named *table = ctr_objects_find(objects, name);
    return table && table->tracked;
}
