/* tracked/tracked.c - which columns of which table a counter table counts. */
#include "tracked/tracked.h"

#include <string.h>

/* ---- columns --------------------------------------------------------------------------------- */

const ctr_tracked_column *ctr_tracked_key(const ctr_tracked *tracked, int key)
{
    return &tracked->columns[tracked->shape->keys[key]];
}

const ctr_tracked_column *ctr_tracked_column_of(const ctr_tracked *tracked, int counter)
{
    const ctr_tracked_column *column = &tracked->columns[tracked->shape->counters[counter]];
    return column->name ? column : NULL;
}

int ctr_tracked_counter(const ctr_tracked *tracked, const char *column)
{
    for (int i = 0; tracked->db && i < tracked->shape->n_counters; i++) {
        const ctr_tracked_column *own = ctr_tracked_column_of(tracked, i);
        if (own && sqlite3_stricmp(own->name, column) == 0) return i;
    }
    return -1;
}

bool ctr_tracked_is_known(const ctr_tracked *tracked)
{
    for (int i = 0; i < tracked->shape->n_keys; i++)
        if (!ctr_tracked_key(tracked, i)->name) return false;
    return tracked->table != NULL;
}

const ctr_described *ctr_tracked_regular_column(const ctr_tracked *tracked, int number)
{
    for (int i = 0; i < tracked->n_regular; i++)
        if (tracked->regular[i].number == number && tracked->regular[i].column)
            return ctr_ordinary_column(&tracked->ordinary, tracked->regular[i].column);
    return NULL;
}

int ctr_tracked_bind_key(const ctr_tracked *tracked, sqlite3_stmt *statement, sqlite3_value **keys,
                         ctr_problem *problem)
{
    int rc = ctr_pack_bind_keys(statement, 1, tracked->shape, keys);
    return ctr_problem_sqlite(problem, tracked->db, rc);
}

bool ctr_tracked_has_rowids(const ctr_tracked *tracked)
{
    int is_key = 0;
    const ctr_shape *shape = tracked->shape;
    if (shape->n_keys == 1 && shape->columns[shape->keys[0]].affinity == CTR_AFFINITY_INTEGER)
        return false;
    for (int i = 0; i < shape->n_keys; i++)
        if (sqlite3_stricmp(ctr_tracked_key(tracked, i)->name, "rowid") == 0) return false;
    int rc = sqlite3_table_column_metadata(tracked->db, tracked->schema, tracked->table, "rowid",
                                           NULL, NULL, NULL, &is_key, NULL);
    return rc == SQLITE_OK && is_key;
}

bool ctr_tracked_same_shown(const ctr_shown *a, const ctr_shown *b)
{
    return a->null == b->null && (a->null || a->n == b->n);
}

bool ctr_tracked_same_row(const ctr_tracked *tracked, const ctr_shown *a, const ctr_shown *b)
{
    for (int i = 0; i < tracked->shape->n_counters; i++)
        if (ctr_tracked_column_of(tracked, i) && !ctr_tracked_same_shown(&a[i], &b[i]))
            return false;
    return true;
}

/* ---- names in the triggers ------------------------------------------------------------------- */

/* Takes one column: the name of its counter or key column, and its name in the table. Skips a
 * dropped counter, and the marks. Returns false after the last. */
static bool take_pair(ctr_tracked *tracked, ctr_words *own, ctr_words *theirs, ctr_problem *problem)
{
    if (!ctr_word_at_mark(own, ',') || !ctr_word_at_mark(theirs, ',')) return false;
    ctr_word_next(own);
    ctr_word_next(theirs);
    bool is_new = ctr_word_at(theirs, "NEW");
    if (!is_new && !ctr_word_at(theirs, "NULL") && !ctr_word_at(own, "_marks")) return false;
    if (is_new) ctr_word_next(theirs); /* the full stop */
    if (is_new) ctr_word_next(theirs);
    char *name = ctr_text_unquoted(own->word, problem);
    int i = is_new ? ctr_shape_column_like(tracked->shape, name) : -1;
    sqlite3_free(name);
    if (i >= 0 && !tracked->columns[i].name)
        tracked->columns[i].name = ctr_text_unquoted(theirs->word, problem);
    ctr_word_next(own);
    ctr_word_next(theirs);
    return true;
}

/* Reads the names from the trigger on INSERT,
 *
 *     CREATE TRIGGER "products_counters_insert" AFTER INSERT ON "products" BEGIN
 *     INSERT INTO "products_counters"(_event, "sku", "stock")
 *     VALUES ('inserted', NEW."sku", NEW."stock")
 *
 * A name that it lacks stays NULL; the comparison of the texts then fails. */
static void read_names(ctr_tracked *tracked, const char *text, ctr_problem *problem)
{
    static const char VALUES[] = ") VALUES ('inserted'";
    ctr_words own = {.at = text};
    do {
        ctr_word_next(&own);
    } while (own.kind != CTR_WORD_END && !ctr_word_at_mark(&own, '('));
    ctr_words theirs = own;
    while (theirs.kind != CTR_WORD_END && !ctr_word_at_mark(&theirs, ')')) ctr_word_next(&theirs);
    if (strncmp(theirs.word.text, VALUES, sizeof VALUES - 1) != 0) return;
    theirs.at = theirs.word.text + sizeof VALUES - 1;
    ctr_word_next(&theirs);
    for (int i = 0; i < 2; i++) ctr_word_next(&own); /* behind the column of events */
    while (take_pair(tracked, &own, &theirs, problem)) continue;
}

/* Gives a regular column its present name. One that is replicated no longer is not among them. */
static void name_regular(ctr_tracked *tracked, int number, ctr_span name, ctr_problem *problem)
{
    for (int i = 0; i < tracked->n_regular; i++) {
        ctr_tracked_regular *regular = &tracked->regular[i];
        if (regular->number != number) continue;
        sqlite3_free(regular->column);
        regular->column = ctr_text_unquoted(name, problem);
    }
}

/* Reads (NEW."a", OLD."a", NULL, NULL, NEW."b", ...): the columns number `first` and first + 2. */
static void read_compared(ctr_tracked *tracked, ctr_words *words, int first, ctr_problem *problem)
{
    for (int i = 0; words->kind != CTR_WORD_END && !ctr_word_at_mark(words, ')'); i++) {
        ctr_word_next(words);
        bool is_new = ctr_word_at(words, "NEW");
        while (words->kind != CTR_WORD_END && !ctr_word_at_mark(words, ',') &&
               !ctr_word_at_mark(words, ')')) {
            if (is_new && words->kind == CTR_WORD_QUOTED)
                name_regular(tracked, first + i / 2, words->word, problem);
            ctr_word_next(words);
        }
    }
}

/* Takes the present names of the regular columns from the trigger
 *
 *     CREATE TRIGGER "products_counters_row" AFTER UPDATE OF ... WHEN OLD."sku" IS NEW."sku" AND
 *     (counter_differs(NEW."name", OLD."name", NEW."price", OLD."price")) BEGIN ...
 *
 * in which SQLite renames columns. The place of a column is its number: the notes may have others
 * by now, whose trigger is about to be made. Behind CTR_MASK_COLUMNS columns there is another
 * call, or 0 in its place (tracked/trigger_texts.c). */
static void read_regular_names(ctr_tracked *tracked, const char *text, ctr_problem *problem)
{
    int first = 0;
    ctr_words words = {.at = text};
    do {
        ctr_word_next(&words);
    } while (words.kind != CTR_WORD_END && !ctr_word_at(&words, "WHEN"));
    while (words.kind != CTR_WORD_END && !ctr_word_at(&words, "BEGIN")) {
        bool compares = ctr_word_at(&words, "counter_differs");
        if (compares || words.kind == CTR_WORD_NUMBER) first += CTR_MASK_COLUMNS;
        ctr_word_next(&words);
        if (compares) read_compared(tracked, &words, first - CTR_MASK_COLUMNS, problem);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Looks up each column in the table. A name that the table lacks is lost. */
static void look_up_columns(ctr_tracked *tracked)
{
    for (int i = 0; i < tracked->shape->n_columns; i++) {
        ctr_tracked_column *column = &tracked->columns[i];
        const ctr_described *there =
            column->name ? ctr_ordinary_column(&tracked->ordinary, column->name) : NULL;
        if (there) {
            column->blank = (ctr_shown){.null = !there->not_null};
            continue;
        }
        column->lost = column->name != NULL;
        sqlite3_free(column->name);
        column->name = NULL;
    }
    for (int i = 0; i < tracked->n_regular; i++) {
        ctr_tracked_regular *regular = &tracked->regular[i];
        if (!regular->column || ctr_ordinary_column(&tracked->ordinary, regular->column)) continue;
        sqlite3_free(regular->lost);
        regular->lost = regular->column;
        regular->column = NULL;
    }
}

static void look_at_table(ctr_tracked *tracked, const ctr_objects *objects, ctr_problem *problem)
{
    if (!tracked->table || problem->rc != SQLITE_OK) return;
    const ctr_named *named = ctr_schema_objects_find(objects, tracked->table);
    const char *text = named && named->sql ? named->sql : "";
    tracked->replaces = ctr_word_follow(text, "conflict", "REPLACE");
    tracked->rolls_back = ctr_word_follow(text, "conflict", "ROLLBACK");
    ctr_ordinary_read(&tracked->ordinary, tracked->db, tracked->schema, tracked->table, problem);
    if (problem->rc == SQLITE_OK) look_up_columns(tracked);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Returns whether the declaration, which may be NULL, is that of the counter table of a tracked
 * table: counter_track writes the word as the last clause. */
static bool declares_tracked(const char *sql)
{
    return sql && ctr_word_is_in(", TRACKED \"", sql);
}

bool ctr_tracked_is_among(const ctr_objects *objects, const char *counters)
{
    const ctr_named *table = ctr_schema_objects_find(objects, counters);
    return table && table->object == CTR_OBJECT_VIRTUAL_TABLE && declares_tracked(table->sql);
}

static int open_tracked(ctr_tracked *tracked, sqlite3 *db, const char *schema, const char *counters,
                        const ctr_shape *shape, ctr_problem *problem)
{
    size_t size = ((size_t)shape->n_columns + 1) * sizeof *tracked->columns;
    *tracked = (ctr_tracked){.db = db,
                             .schema = sqlite3_mprintf("%s", schema),
                             .counters = sqlite3_mprintf("%s", counters),
                             .shape = sqlite3_malloc64(sizeof *tracked->shape),
                             .columns = sqlite3_malloc64(size)};
    if (tracked->columns) memset(tracked->columns, 0, size);
    if (tracked->shape) *tracked->shape = (ctr_shape){0};
    if (!tracked->schema || !tracked->counters || !tracked->shape || !tracked->columns)
        return ctr_problem_nomem(problem);
    return problem->rc == SQLITE_OK ? ctr_shape_copy(tracked->shape, shape, problem) : problem->rc;
}

/* If `table` is NULL, it is the table with the triggers. */
static int take_names(ctr_tracked *tracked, const ctr_objects *objects, const char *table,
                      ctr_problem *problem)
{
    const ctr_named *trigger =
        ctr_schema_objects_trigger(objects, tracked->counters, "insert", problem);
    if (trigger && trigger->sql)
        read_names(tracked, trigger->sql, problem);
    else if (ctr_tracked_is_among(objects, tracked->counters))
        ctr_noted_read(tracked, problem);
    const ctr_named *row = ctr_schema_objects_trigger(objects, tracked->counters, "row", problem);
    if (tracked->shape->replicated) ctr_noted_read_regular(tracked, problem);
    if (row && row->sql) read_regular_names(tracked, row->sql, problem);
    if (!table && trigger) table = trigger->on;
    if (!table) return problem->rc;
    tracked->table = sqlite3_mprintf("%s", table);
    return tracked->table ? problem->rc : ctr_problem_nomem(problem);
}

int ctr_tracked_open(ctr_tracked *tracked, const ctr_objects *objects, const char *counters,
                     const ctr_shape *shape, ctr_problem *problem)
{
    if (open_tracked(tracked, objects->db, objects->schema, counters, shape, problem) ||
        take_names(tracked, objects, NULL, problem))
        return problem->rc;
    look_at_table(tracked, objects, problem);
    return problem->rc;
}

int ctr_tracked_begin(ctr_tracked *tracked, const ctr_objects *objects, const char *counters,
                      const char *table, const ctr_shape *shape, ctr_problem *problem)
{
    bool any = false;
    if (open_tracked(tracked, objects->db, objects->schema, counters, shape, problem) ||
        take_names(tracked, objects, table, problem))
        return problem->rc;
    for (int i = 0; i < shape->n_columns; i++) any = any || tracked->columns[i].name;
    for (int i = 0; i < shape->n_columns && !any; i++) {
        tracked->columns[i].name = sqlite3_mprintf("%s", shape->columns[i].name);
        if (!tracked->columns[i].name) return ctr_problem_nomem(problem);
    }
    look_at_table(tracked, objects, problem);
    return problem->rc;
}

bool ctr_tracked_note(ctr_file *file, const char *counters, const ctr_shape *shape,
                      ctr_problem *problem)
{
    ctr_tracked tracked;
    const ctr_objects *objects = ctr_file_objects(file, problem);
    if (open_tracked(&tracked, file->conn->db, file->schema, counters, shape, problem) == SQLITE_OK)
        take_names(&tracked, objects, NULL, problem);
    bool known = problem->rc == SQLITE_OK && tracked.table;
    bool writes = known && ctr_noted_write(&tracked, file, problem);
    ctr_tracked_close(&tracked);
    return writes;
}

void ctr_tracked_adopt(ctr_tracked *tracked, int counter, const char *column, ctr_problem *problem)
{
    ctr_tracked_column *to = &tracked->columns[tracked->shape->counters[counter]];
    if (problem->rc != SQLITE_OK) return;
    if (to->name) {
        ctr_problem_set(problem, SQLITE_ERROR, "%s: the counter %s belongs to the column %s",
                        tracked->table, column, to->name);
        return;
    }
    to->name = sqlite3_mprintf("%s", column);
    to->given = to->name != NULL;
    if (!to->name) ctr_problem_nomem(problem);
    look_up_columns(tracked);
}

void ctr_tracked_free_lists(ctr_slots *lists)
{
    sqlite3_free((char *)lists->columns);
    sqlite3_free((char *)lists->values);
    sqlite3_free((char *)lists->changes);
    sqlite3_free((char *)lists->constraint);
    sqlite3_free((char *)lists->value);
    *lists = (ctr_slots){0};
}

void ctr_tracked_close(ctr_tracked *tracked)
{
    for (int i = 0; tracked->columns && tracked->shape && i < tracked->shape->n_columns; i++)
        sqlite3_free(tracked->columns[i].name);
    if (tracked->shape) ctr_shape_close(tracked->shape);
    for (int i = 0; i < tracked->n_regular; i++) {
        sqlite3_free(tracked->regular[i].name);
        sqlite3_free(tracked->regular[i].column);
        sqlite3_free(tracked->regular[i].lost);
    }
    sqlite3_free(tracked->regular);
    ctr_ordinary_close(&tracked->ordinary);
    sqlite3_free(tracked->shape);
    sqlite3_free(tracked->columns);
    sqlite3_free(tracked->schema);
    sqlite3_free(tracked->counters);
    sqlite3_free(tracked->table);
    ctr_tracked_free_lists(&tracked->lists);
    *tracked = (ctr_tracked){0};
}

/* ---- kept by the counter table --------------------------------------------------------------- */

void ctr_tracked_release(ctr_tracked *tracked)
{
    if (!tracked || --tracked->holders > 0) return;
    ctr_tracked_close(tracked);
    sqlite3_free(tracked);
}

/* Returns whether it may be kept: noted names are read from the file each time, and a lost column
 * may have been hidden by an authorizer. */
static bool may_stay(const ctr_tracked *tracked, const ctr_objects *objects, ctr_problem *problem)
{
    for (int i = 0; i < tracked->shape->n_columns; i++)
        if (tracked->columns[i].lost) return false;
    for (int i = 0; i < tracked->n_regular; i++)
        if (tracked->regular[i].lost) return false;
    return ctr_schema_objects_trigger(objects, tracked->counters, "insert", problem) != NULL;
}

ctr_tracked *ctr_tracked_hold(ctr_tab *tab, ctr_problem *problem)
{
    const ctr_objects *objects = ctr_file_objects(tab->file, problem);
    ctr_tracked *tracked = tab->tracked;
    if (!objects) return NULL;
    if (!tracked || tracked->as_of != tab->file->schemas) {
        tracked = sqlite3_malloc64(sizeof *tracked);
        if (!tracked) ctr_problem_nomem(problem);
        if (!tracked) return NULL;
        ctr_tracked_open(tracked, objects, tab->table, &tab->shape, problem);
        if (problem->rc != SQLITE_OK) {
            ctr_tracked_close(tracked);
            sqlite3_free(tracked);
            return NULL;
        }
        if (may_stay(tracked, objects, problem)) tracked->as_of = tab->file->schemas;
        tracked->holders = 1;
        ctr_tab_track(tab, tracked, ctr_tracked_release);
    }
    tracked->holders++;
    return tracked;
}
