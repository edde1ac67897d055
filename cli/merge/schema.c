/* schema.c - declarations: object by object, the side that changed one wins.
 *
 * Tables come first, then rows, then indexes, triggers and views: a UNIQUE index that the merged rows
 * refuse is listed, and refuses none of them.
 */
#include <string.h>

#include "cli/merge/merge.h"

typedef struct object {
    const char *type, *name, *base, *ours, *theirs; /* declarations; NULL where it is not */
    bool is_virtual, is_shadow;
} object;

typedef struct objects {
    object *object;
    int n;
} objects;

static bool is_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static const char *text_at(merge *m, sqlite3_stmt *row, int i)
{
    const char *text = (const char *)sqlite3_column_text(row, i);
    return text ? merge_text(m, "%s", text) : NULL;
}

/* Read at once: what changes declarations cannot be done while they are read. */
static objects read_objects(merge *m)
{
    objects all = {0};
    all.object = merge_array(m, (size_t)merge_integer_of(m, CLI_SQL_MERGE_COUNT_OBJECTS) + 1,
                             sizeof *all.object);
    sqlite3_stmt *row = cli_prepare(&m->into, CLI_SQL_MERGE_OBJECTS);
    while (all.object && cli_step(&m->into, row))
        all.object[all.n++] =
            (object){text_at(m, row, 0),        text_at(m, row, 1), text_at(m, row, 2),
                     text_at(m, row, 3),        text_at(m, row, 4), sqlite3_column_int(row, 5),
                     sqlite3_column_int(row, 6)};
    sqlite3_finalize(row);
    return all;
}

/* What main has now. */
static const char *declared(merge *m, const object *o)
{
    sqlite3_stmt *row =
        merge_prepare_texts(m, CLI_SQL_MERGE_DECLARED, (const char *const[]){o->type, o->name}, 2);
    const char *text = cli_step(&m->into, row) ? text_at(m, row, 0) : NULL;
    sqlite3_finalize(row);
    return text;
}

static void drop_object(merge *m, const object *o)
{
    cli_run(&m->into, merge_text(m, "DROP %s IF EXISTS main.\"%w\"", o->type, o->name));
}

/* ---- whether rows were changed ------------------------------------------------------------------- */

const char *merge_row_bytes(merge *m, const char *schema, const char *table)
{
    sqlite3_stmt *row =
        merge_prepare_texts(m, CLI_SQL_MERGE_ROW_BYTES, (const char *const[]){table, schema}, 2);
    const char *bytes = cli_step(&m->into, row) ? text_at(m, row, 0) : NULL;
    sqlite3_finalize(row);
    return bytes ? bytes : "NULL";
}

bool merge_has_rows_of_base(merge *m, const char *schema, const char *table)
{
    const char *columns = merge_row_bytes(m, "base", table);
    return is_equal(columns, merge_row_bytes(m, schema, table)) &&
           merge_integer_of(m, merge_text(m, CLI_SQL_MERGE_SAME_ROWS, schema, table, table, columns,
                                          schema, table, columns, table, columns, table, columns,
                                          schema, table));
}

/* ---- columns ------------------------------------------------------------------------------------- */

/* A column that an index, a view or a trigger of OURS alone needs stays. */
static void drop_column(merge *m, const char *table, const merge_step *step)
{
    const char *sql = merge_text(m, "ALTER TABLE main.\"%w\" %s", table, step->sql);
    int rc = m->c->failed ? SQLITE_OK : sqlite3_exec(m->into.db, sql, NULL, NULL, NULL);
    if ((rc & 0xff) == SQLITE_ERROR)
        merge_conflict(m, "schema", table, step->name, "ours",
                       merge_text(m, "the column was dropped in theirs, and ours needs it: %s",
                                  sqlite3_errmsg(m->into.db)));
    else if (rc != SQLITE_OK)
        cli_fail_file(&m->into, "");
}

/* Runs steps on main. */
static void alter_table(merge *m, const char *table, const merge_steps *steps)
{
    for (int i = 0; i < steps->n && !m->c->failed; i++)
        if (steps->step[i].what == STEP_DROP)
            drop_column(m, table, &steps->step[i]);
        else
            cli_run(&m->into,
                    merge_text(m, "ALTER TABLE main.\"%w\" %s", table, steps->step[i].sql));
}

/* What a column was called before steps; NULL if they have added it. */
static const char *name_before(const merge_steps *steps, const char *name)
{
    for (int i = steps->n - 1; i >= 0 && name; i--) {
        const merge_step *step = &steps->step[i];
        if (step->what == STEP_RENAME && sqlite3_stricmp(step->to, name) == 0)
            name = step->name;
        else if (step->what == STEP_ADD && sqlite3_stricmp(step->name, name) == 0)
            name = NULL;
    }
    return name;
}

static void note_name(merge *m, const char *table, const char *column, const char *base,
                      const char *theirs, bool in_ours)
{
    const char *const texts[] = {table, column, base, theirs, in_ours ? column : NULL};
    merge_run_texts(m, CLI_SQL_MERGE_ADD_NAME, texts, 5);
}

/* The column, or NULL if a file lacks it. */
static const char *if_there(merge *m, const char *schema, const char *table, const char *column)
{
    return merge_has_column(m, schema, table, column) ? column : NULL;
}

/* Whether OURS had a column of the result before THEIRS' steps. */
static bool had_column(merge *m, const object *o, const merge_steps *ours,
                       const merge_steps *theirs, const char *name)
{
    if (is_equal(o->ours, o->theirs)) return true;
    if (!theirs->is_known) return if_there(m, "base", o->name, name);
    return !ours->is_known || name_before(theirs, name) || !name_before(ours, name);
}

/* What each column of the result is called in BASE and THEIRS. */
static void map_columns(merge *m, const object *o, const merge_steps *ours,
                        const merge_steps *theirs)
{
    sqlite3_stmt *row = merge_prepare_texts(m, CLI_SQL_MERGE_NAMES_IN_MAIN, &o->name, 1);
    bool by_name = !ours->is_known || !theirs->is_known, is_same = is_equal(o->ours, o->theirs);
    while (cli_step(&m->into, row)) {
        const char *name = text_at(m, row, 0), *before = name, *other = name;
        if (!by_name) {
            const char *old = is_same ? name : name_before(theirs, name);
            before = old ? name_before(ours, old) : NULL;
            if (!is_same && old) other = name_before(ours, name);
        }
        if (before && o->base) before = if_there(m, "base", o->name, before);
        if (other) other = if_there(m, "theirs", o->name, other);
        note_name(m, o->name, name, before, other, had_column(m, o, ours, theirs, name));
    }
    sqlite3_finalize(row);
}

/* Columns that OURS dropped in which THEIRS changed values. */
static void list_dropped(merge *m, const object *o, const merge_steps *ours)
{
    for (int i = 0; i < ours->n; i++) {
        const char *name = ours->step[i].name;
        if (ours->step[i].what != STEP_DROP || !if_there(m, "theirs", o->name, name)) continue;
        if (merge_integer_of(m, merge_text(m, CLI_SQL_MERGE_COUNT_OTHER_VALUES, name, o->name, name,
                                           "theirs", o->name)) > 0)
            merge_conflict(m, "schema", o->name, name, "ours",
                           "the column was dropped in ours, and its values were changed in theirs");
    }
}

/* Takes a column away that THEIRS dropped, unless OURS has changed its values. */
static void keep_changed(merge *m, const object *o, merge_steps *theirs)
{
    int n = 0;
    for (int i = 0; i < theirs->n; i++) {
        const char *name = theirs->step[i].name;
        bool is_changed = theirs->step[i].what == STEP_DROP && if_there(m, "main", o->name, name) &&
                          merge_integer_of(m, merge_text(m, CLI_SQL_MERGE_COUNT_OTHER_VALUES, name,
                                                         o->name, name, "main", o->name)) > 0;
        if (is_changed)
            merge_conflict(m, "schema", o->name, name, "ours",
                           "the column was dropped in theirs, and its values were changed in ours");
        else
            theirs->step[n++] = theirs->step[i];
    }
    theirs->n = n;
}

/* ---- tables -------------------------------------------------------------------------------------- */

/* A name of the rowid of a table as it was and as it is now, with a comma; "" if there is none. */
static const char *rowid_of_both(merge *m, const char *table)
{
    for (int i = 0; i < MERGE_ROWID_NAMES; i++) {
        const char *name = MERGE_ROWID_NAME[i];
        if (merge_has_column(m, "main", "_merge_old", name) ||
            merge_has_column(m, "main", table, name))
            continue;
        char *sql = sqlite3_mprintf("SELECT a.%s, b.%s FROM main._merge_old AS a, main.\"%w\" AS b",
                                    name, name, table);
        sqlite3_stmt *statement = NULL;
        bool has = sql && sqlite3_prepare_v2(m->into.db, sql, -1, &statement, NULL) == SQLITE_OK;
        sqlite3_finalize(statement);
        sqlite3_free(sql);
        if (has) return merge_text(m, "%s, ", name);
    }
    return "";
}

/* Columns that THEIRS' declaration lacks go with what OURS has written into them. */
static void list_lost(merge *m, const object *o)
{
    sqlite3_stmt *row = merge_prepare_texts(m, CLI_SQL_MERGE_NAMES_IN_MAIN, &o->name, 1);
    while (cli_step(&m->into, row)) {
        const char *name = text_at(m, row, 0);
        bool is_lost = !if_there(m, "theirs", o->name, name) &&
                       if_there(m, "base", o->name, name) &&
                       merge_integer_of(m, merge_text(m, CLI_SQL_MERGE_HAS_NEW_VALUES, name,
                                                      o->name, name, o->name));
        if (is_lost)
            merge_conflict(m, "schema", o->name, name, "theirs",
                           "the table was made anew without the column in theirs, and its values "
                           "were changed in ours");
    }
    sqlite3_finalize(row);
}

/* The rows of OURS, by the names of their columns, in THEIRS' declaration. */
static void rebuild_table(merge *m, const object *o)
{
    const char *t = o->name;
    cli_run(&m->into, merge_text(m, CLI_SQL_MERGE_RENAME_OLD, t));
    cli_run(&m->into, o->theirs);
    sqlite3_stmt *row = merge_prepare_texts(m, CLI_SQL_MERGE_COMMON_COLUMNS, &t, 1);
    const char *columns = cli_step(&m->into, row) ? text_at(m, row, 0) : NULL;
    sqlite3_finalize(row);
    const char *rowid = rowid_of_both(m, t);
    if (columns)
        cli_run(&m->into, merge_text(m, CLI_SQL_MERGE_COPY_OLD, t, rowid, columns, rowid, columns));
    if (merge_has_table(m, "main", "sqlite_sequence"))
        merge_run_texts(m, CLI_SQL_MERGE_KEEP_SEQUENCE, &t, 1);
    cli_run(&m->into, CLI_SQL_MERGE_DROP_OLD);
}

static void fail_both(merge *m, const object *o)
{
    cli_fail(
        m->c,
        "merge: %s: its declaration was changed in both files in ways that do not go together: "
        "give one of them the declaration of the other first",
        o->name);
}

/* The name that a step gives to a column, or NULL. */
static const char *name_made(const merge_step *step)
{
    if (step->what == STEP_RENAME) return step->to;
    return step->what == STEP_ADD ? step->name : NULL;
}

/* Whether two sides have added columns of one name with other words, or changed the same column. */
static bool collide(const merge_steps *a, const merge_steps *b)
{
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < b->n; k++) {
            bool is_same = is_equal(a->step[i].sql, b->step[k].sql);
            if (!is_same && sqlite3_stricmp(a->step[i].name, b->step[k].name) == 0) return true;
            const char *made = name_made(&a->step[i]), *other = name_made(&b->step[k]);
            if (!is_same && made && other && sqlite3_stricmp(made, other) == 0) return true;
        }
    return false;
}

/* Without those that the other side has done, too. */
static void leave_out(merge_steps *steps, const merge_steps *done)
{
    int n = 0;
    for (int i = 0; i < steps->n; i++) {
        bool is_done = false;
        for (int k = 0; k < done->n; k++)
            is_done |= is_equal(steps->step[i].sql, done->step[k].sql);
        if (!is_done) steps->step[n++] = steps->step[i];
    }
    steps->n = n;
}

static void merge_table_of_both(merge *m, const object *o)
{
    merge_steps ours = merge_explain(m, o->name, o->base, o->ours, "main"),
                theirs = merge_explain(m, o->name, o->base, o->theirs, "theirs");
    bool is_same = is_equal(o->ours, o->theirs), ours_changed = !is_equal(o->base, o->ours),
         theirs_changed = !is_equal(o->base, o->theirs);
    if (!is_same && theirs_changed && ours_changed &&
        (!ours.is_known || !theirs.is_known || collide(&ours, &theirs))) {
        fail_both(m, o);
        return;
    }
    list_dropped(m, o, &ours);
    if (!is_same && theirs_changed && theirs.is_known) {
        keep_changed(m, o, &theirs);
        merge_steps todo = {merge_array(m, (size_t)theirs.n + 1, sizeof *todo.step), theirs.n,
                            true};
        if (theirs.n > 0) memcpy(todo.step, theirs.step, (size_t)theirs.n * sizeof *todo.step);
        leave_out(&todo, &ours);
        alter_table(m, o->name, &todo);
    } else if (!is_same && theirs_changed) {
        list_lost(m, o);
        rebuild_table(m, o);
    }
    if (ours_changed || theirs_changed) map_columns(m, o, &ours, &theirs);
}

/* Both have made a table of this name: one may have more columns. */
static void merge_new_of_both(merge *m, const object *o)
{
    merge_steps none = {NULL, 0, true};
    if (is_equal(o->ours, o->theirs)) return;
    merge_steps more = merge_explain(m, o->name, o->ours, o->theirs, NULL);
    bool only_adds = more.is_known;
    for (int i = 0; i < more.n; i++) only_adds &= more.step[i].what == STEP_ADD;
    merge_steps less = only_adds ? none : merge_explain(m, o->name, o->theirs, o->ours, NULL);
    bool has_more = !only_adds && less.is_known;
    for (int i = 0; i < less.n; i++) has_more &= less.step[i].what == STEP_ADD;
    if (!only_adds && !has_more) {
        fail_both(m, o);
        return;
    }
    if (only_adds) alter_table(m, o->name, &more);
    sqlite3_stmt *row = merge_prepare_texts(m, CLI_SQL_MERGE_NAMES_IN_MAIN, &o->name, 1);
    while (cli_step(&m->into, row)) {
        const char *name = text_at(m, row, 0);
        note_name(m, o->name, name, NULL, if_there(m, "theirs", o->name, name),
                  !only_adds || name_before(&more, name));
    }
    sqlite3_finalize(row);
}

/* A table that one side has dropped goes if the other has changed no row of it. */
static void merge_dropped(merge *m, const object *o)
{
    bool by_theirs = !o->theirs;
    if (merge_has_rows_of_base(m, by_theirs ? "main" : "theirs", o->name)) {
        if (by_theirs) drop_object(m, o);
        return;
    }
    if (!by_theirs) {
        cli_run(&m->into, o->theirs);
        merge_run_texts(m, CLI_SQL_MERGE_IS_NEW, &o->name, 1);
    }
    merge_conflict(m, "schema", o->name, NULL, by_theirs ? "ours" : "theirs",
                   by_theirs ? "the table was dropped in theirs, and changed in ours"
                             : "the table was dropped in ours, and changed in theirs");
}

static void merge_virtual_declaration(merge *m, const object *o)
{
    if (o->ours && o->theirs && !is_equal(o->ours, o->theirs) && !is_equal(o->theirs, o->base))
        merge_conflict(m, "schema", o->name, NULL, "ours",
                       "the virtual table was declared anew in theirs");
    else if (!o->ours && o->theirs && !o->base)
        cli_run(&m->into, o->theirs);
    else if (o->ours && !o->theirs && o->base && !merge_virtual_changed(m, o->name, "main"))
        drop_object(m, o);
    else if (o->ours && !o->theirs && o->base)
        merge_conflict(m, "virtual", o->name, NULL, "ours",
                       "the virtual table was dropped in theirs, and changed in ours");
}

static void merge_one_table(merge *m, const object *o)
{
    if (o->is_shadow) return;
    if (o->is_virtual)
        merge_virtual_declaration(m, o);
    else if (o->base && o->ours && o->theirs)
        merge_table_of_both(m, o);
    else if (o->base && (o->ours || o->theirs))
        merge_dropped(m, o);
    else if (o->ours && o->theirs)
        merge_new_of_both(m, o);
    else if (o->theirs)
        cli_run(&m->into, o->theirs);
}

/* ---- the rest ------------------------------------------------------------------------------------ */

static bool is_table(const object *o)
{
    return strcmp(o->type, "table") == 0;
}

static bool theirs_wins(const object *o)
{
    return is_equal(o->base, o->ours) && !is_equal(o->base, o->theirs);
}

/* Returns whether main has taken it. */
static bool create_object(merge *m, const char *declaration)
{
    return m->c->failed || sqlite3_exec(m->into.db, declaration, NULL, NULL, NULL) == SQLITE_OK;
}

static void create_again(merge *m, const objects *all)
{
    for (int i = 0; i < all->n && !m->c->failed; i++) {
        const object *o = &all->object[i];
        if (is_table(o) || !o->ours || theirs_wins(o) || declared(m, o)) continue;
        create_object(m, o->ours); /* of a table made anew; merge_schema_end looks again */
    }
}

void merge_schema_begin(merge *m)
{
    cli_run(&m->into, CLI_SQL_MERGE_MAKE_OBJECT);
    cli_run(&m->into, CLI_SQL_MERGE_FIND_SHADOWS);
    objects all = read_objects(m);
    for (int i = 0; i < all.n && !m->c->failed; i++)
        if (!is_table(&all.object[i]) && all.object[i].ours && theirs_wins(&all.object[i]))
            drop_object(m, &all.object[i]);
    for (int i = 0; i < all.n && !m->c->failed; i++)
        if (is_table(&all.object[i])) merge_one_table(m, &all.object[i]);
    create_again(m, &all);
}

static void finish_object(merge *m, const object *o)
{
    const char *now = declared(m, o);
    const char *wanted = theirs_wins(o) ? o->theirs : o->ours ? o->ours : NULL;
    if (!now && wanted && !create_object(m, wanted)) {
        merge_conflict(
            m, "schema", o->name, NULL, "none",
            merge_text(m, "the %s is left out: %s", o->type, sqlite3_errmsg(m->into.db)));
        return;
    }
    bool differs = !is_equal(o->base, o->ours) && !is_equal(o->base, o->theirs) &&
                   !is_equal(o->ours, o->theirs) && !is_equal(now, o->theirs);
    if (differs)
        merge_conflict(m, "schema", o->name, NULL, "ours",
                       merge_text(m, "the %s was changed in both files", o->type));
}

/* user_version and application_id. */
static void merge_pragma(merge *m, const char *name)
{
    int64_t base = merge_integer_of(m, merge_text(m, "PRAGMA base.%s", name)),
            ours = merge_integer_of(m, merge_text(m, "PRAGMA main.%s", name)),
            theirs = merge_integer_of(m, merge_text(m, "PRAGMA theirs.%s", name));
    if (theirs == base || theirs == ours) return;
    if (ours == base)
        cli_run(&m->into, merge_text(m, "PRAGMA main.%s = %lld", name, (long long)theirs));
    else
        merge_conflict(m, "schema", name, NULL, "ours",
                       merge_text(m, "base %lld, ours %lld, theirs %lld", (long long)base,
                                  (long long)ours, (long long)theirs));
}

void merge_schema_end(merge *m)
{
    objects all = read_objects(m);
    static const char *const ORDER[] = {"index", "view", "trigger"};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < all.n && !m->c->failed; i++)
            if (strcmp(all.object[i].type, ORDER[k]) == 0) finish_object(m, &all.object[i]);
    merge_pragma(m, "user_version");
    merge_pragma(m, "application_id");
}
