/* tracked/tracked.c - which columns of which table a counter table counts: as its triggers say, or
 * as noted. */
#include "tracked/tracked.h"

#include <string.h>

/* =================================================================================================
 * ordinary - reads the columns and the indexes of an ordinary table. */

/* Copies a text of a row; NULL stays NULL. */
static char *copy_column(ctr_conn *conn, sqlite3_stmt *row, int column)
{
    const char *text = ctr_text_column(conn, row, column);
    return text ? ctr_text_copy(conn, text) : NULL;
}

void ctr_ordinary_read(ctr_ordinary *ordinary, ctr_conn *conn, const char *schema,
                       const char *table)
{
    ctr_run run = ctr_run_on(conn, schema, NULL);
    run.slots.name = table;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_COLUMNS);
    while (ctr_run_row(&run, row)) {
        ctr_described *columns = ctr_array_room(conn, ordinary->columns, &ordinary->room,
                                                ordinary->n + 1, sizeof *columns);
        if (!columns) break;
        ordinary->columns = columns;
        columns[ordinary->n++] = (ctr_described){.name = copy_column(conn, row, 1),
                                                 .type = copy_column(conn, row, 2),
                                                 .not_null = sqlite3_column_int(row, 3) != 0,
                                                 .value = copy_column(conn, row, 4),
                                                 .key = sqlite3_column_int(row, 5) - 1,
                                                 .generated = sqlite3_column_int(row, 6) != 0};
    }
    sqlite3_finalize(row);
}

/* `index` is a row of SCHEMA_INDEXES. */
static void read_index_terms(ctr_ordinary *ordinary, ctr_run *run, sqlite3_stmt *index)
{
    const char *name = ctr_text_column(run->conn, index, 1),
               *origin = ctr_text_column(run->conn, index, 3);
    if (!name || !origin || !sqlite3_column_int(index, 2)) return;
    run->slots.name = name;
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_SCHEMA_INDEX_COLUMNS);
    while (ctr_run_row(run, row)) {
        if (!sqlite3_column_int(row, 5)) continue; /* not a part of the key */
        ctr_term *terms = ctr_array_room(run->conn, ordinary->terms, &ordinary->room_terms,
                                         ordinary->n_terms + 1, sizeof *terms);
        if (!terms) break;
        ordinary->terms = terms;
        terms[ordinary->n_terms++] = (ctr_term){.index = copy_column(run->conn, index, 1),
                                                .name = copy_column(run->conn, row, 2),
                                                .collation = copy_column(run->conn, row, 4),
                                                .number = sqlite3_column_int(row, 0),
                                                .is_primary = strcmp(origin, "pk") == 0,
                                                .is_partial = sqlite3_column_int(index, 4) != 0};
    }
    sqlite3_finalize(row);
}

int ctr_ordinary_read_terms(ctr_ordinary *ordinary, ctr_conn *conn, const char *schema,
                            const char *table)
{
    if (ordinary->has_terms) return ctr_rc(conn);
    ctr_run run = ctr_run_on(conn, schema, NULL), of_index = run;
    run.slots.name = table;
    sqlite3_stmt *index = ctr_run_prepare(&run, CTR_SQL_SCHEMA_INDEXES);
    while (ctr_run_row(&run, index)) read_index_terms(ordinary, &of_index, index);
    sqlite3_finalize(index);
    ordinary->has_terms = ctr_rc(conn) == SQLITE_OK;
    return ctr_rc(conn);
}

void ctr_ordinary_close(ctr_ordinary *ordinary)
{
    for (size_t i = 0; i < ordinary->n; i++) {
        sqlite3_free(ordinary->columns[i].name);
        sqlite3_free(ordinary->columns[i].type);
        sqlite3_free(ordinary->columns[i].value);
    }
    for (size_t i = 0; i < ordinary->n_terms; i++) {
        sqlite3_free(ordinary->terms[i].index);
        sqlite3_free(ordinary->terms[i].name);
        sqlite3_free(ordinary->terms[i].collation);
    }
    sqlite3_free(ordinary->columns);
    sqlite3_free(ordinary->terms);
    *ordinary = (ctr_ordinary){0};
}

const ctr_described *ctr_ordinary_column(const ctr_ordinary *ordinary, const char *name)
{
    for (size_t i = 0; i < ordinary->n; i++)
        if (sqlite3_stricmp(ordinary->columns[i].name, name) == 0) return &ordinary->columns[i];
    return NULL;
}

const char *ctr_ordinary_key(const ctr_ordinary *ordinary, int position)
{
    for (size_t i = 0; i < ordinary->n; i++)
        if (ordinary->columns[i].key == position) return ordinary->columns[i].name;
    return NULL;
}

const char *ctr_ordinary_rowid(const ctr_ordinary *ordinary, ctr_conn *conn, const char *schema,
                               const char *table)
{
    static const char *const NAMES[] = {"_rowid_", "oid", "rowid"};
    const char *free = NULL;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES && !free; i++)
        if (!ctr_ordinary_column(ordinary, NAMES[i])) free = NAMES[i];
    if (!free || ctr_rc(conn) != SQLITE_OK) return NULL;
    int rc =
        sqlite3_table_column_metadata(conn->db, schema, table, free, NULL, NULL, NULL, NULL, NULL);
    if (rc != SQLITE_OK && rc != SQLITE_ERROR) ctr_problem_sqlite(conn, rc);
    return rc == SQLITE_OK ? free : NULL;
}

/* =================================================================================================
 * lists - lists of the columns of a tracked table, for statements. */

static char mark_of_column(const ctr_tracked *tracked, int counter)
{
    const ctr_tracked_column *column = ctr_tracked_column_of(tracked, counter);
    return !column ? '0' : column->adopted ? '2' : '1';
}

static bool lacks_column(const ctr_tracked *tracked)
{
    for (int i = 0; i < tracked->shape->n_counters; i++)
        if (mark_of_column(tracked, i) != '1') return true;
    return false;
}

void ctr_list_own_names(const ctr_tracked *tracked, sqlite3_str *out, bool counters)
{
    const ctr_shape *shape = tracked->shape;
    for (int i = 0; i < shape->n_keys; i++)
        sqlite3_str_appendf(out, "%s\"%w\"", ctr_text_separator(out, ", "),
                            shape->columns[shape->keys[i]].name);
    for (int i = 0; counters && i < shape->n_counters; i++)
        sqlite3_str_appendf(out, ", \"%w\"", ctr_shape_counter_name(shape, i));
    if (counters && lacks_column(tracked)) sqlite3_str_appendall(out, ", _marks");
}

void ctr_list_keys(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix)
{
    for (int i = 0; i < tracked->shape->n_keys; i++)
        sqlite3_str_appendf(out, "%s%s\"%w\"", ctr_text_separator(out, ", "), prefix,
                            ctr_tracked_key(tracked, i)->name);
}

void ctr_list_values(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix)
{
    for (int i = 0; i < tracked->shape->n_counters; i++) {
        const ctr_tracked_column *column = ctr_tracked_column_of(tracked, i);
        if (column)
            sqlite3_str_appendf(out, ", %s\"%w\"", prefix, column->name);
        else
            sqlite3_str_appendall(out, ", NULL");
    }
}

/* Appends '102' if the second counter has no column and the third was adopted; nothing if none is
 * like them. */
static void list_marks(const ctr_tracked *tracked, sqlite3_str *out)
{
    if (!lacks_column(tracked)) return;
    sqlite3_str_appendall(out, ", '");
    for (int i = 0; i < tracked->shape->n_counters; i++)
        sqlite3_str_appendchar(out, 1, mark_of_column(tracked, i));
    sqlite3_str_appendall(out, "'");
}

void ctr_list_row(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix)
{
    ctr_list_keys(tracked, out, prefix);
    ctr_list_values(tracked, out, prefix);
    list_marks(tracked, out);
}

const char *ctr_list_key_match(const ctr_tracked *tracked)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    const ctr_shape *shape = tracked->shape;
    for (int i = 0; i < shape->n_keys; i++)
        sqlite3_str_appendf(out, "%sc.\"%w\" = t.\"%w\"", i ? " AND " : "",
                            shape->columns[shape->keys[i]].name, ctr_tracked_key(tracked, i)->name);
    return ctr_text_built(tracked->conn, out);
}

const char *ctr_list_cells_match(const ctr_tracked *tracked)
{
    const ctr_shape *shape = tracked->shape;
    const char *same = ctr_list_key_match(tracked);
    if (!ctr_tracked_has_homes(tracked)) return same;
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendf(out,
                        "c._rowid_ = coalesce((SELECT _rowid_ FROM \"%w\".\"%w_cells\" AS a WHERE "
                        "a._away",
                        tracked->schema, tracked->counters);
    for (int i = 0; i < shape->n_keys; i++)
        sqlite3_str_appendf(out, " AND a.\"%w\" = t.\"%w\"", shape->columns[shape->keys[i]].name,
                            ctr_tracked_key(tracked, i)->name);
    sqlite3_str_appendf(out, "), t.%s) AND %s", tracked->rowid, same);
    return ctr_text_built(tracked->conn, out);
}

void ctr_list_bound_key(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix)
{
    for (int i = 0; i < tracked->shape->n_keys; i++)
        sqlite3_str_appendf(out, "%s%s\"%w\" = ?%d", i ? " AND " : "", prefix,
                            ctr_tracked_key(tracked, i)->name, 1 + i);
}

/* =================================================================================================
 * noted - the names of a tracked table and of its columns, as <counters>_state notes them.
 *
 * The triggers have the present names. If they are missing, as after a rebuild of the table, the
 * notes tell which table and which columns were counted. */

enum { NOTED_NUMBER, NOTED_BIRTH, NOTED_NAME };

/* Returns the column with this number, -1 for the key and the counters, or NULL. */
static ctr_tracked_column *column_born(const ctr_tracked *tracked, int number, const char *birth)
{
    const int n = tracked->shape->n_columns;
    for (int i = number < 0 ? 0 : n; i < (number < 0 ? n : n + tracked->n_regular); i++) {
        ctr_tracked_column *column = &tracked->columns[i];
        if (number < 0 ? sqlite3_stricmp(column->birth, birth) == 0 : column->number == number)
            return column;
    }
    return NULL;
}

static void add_noted(ctr_tracked *tracked, int number, const char *birth, const char *name)
{
    const size_t n = (size_t)(tracked->shape->n_columns + tracked->n_regular);
    ctr_tracked_column *columns =
        ctr_array_room(tracked->conn, tracked->columns, &tracked->room, n + 1, sizeof *columns);
    if (!columns) return;
    tracked->columns = columns;
    columns[n] = (ctr_tracked_column){.number = number,
                                      .birth = ctr_text_copy(tracked->conn, birth),
                                      .name = ctr_text_copy(tracked->conn, name)};
    tracked->n_regular++;
}

/* Takes the regular columns and, if `all`, the noted names of the key and the counters. */
static void noted_read(ctr_tracked *tracked, bool all)
{
    ctr_run run = ctr_run_on(tracked->conn, tracked->schema, tracked->counters);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_COLUMNS_NOTED);
    while (ctr_run_row(&run, row)) {
        int number = sqlite3_column_int(row, NOTED_NUMBER);
        const char *birth = ctr_text_column(tracked->conn, row, NOTED_BIRTH),
                   *name = ctr_text_column(tracked->conn, row, NOTED_NAME);
        if (!birth || !*birth || !name) continue;
        ctr_tracked_column *own = number < 0 && all ? column_born(tracked, -1, birth) : NULL;
        if (number >= 0 && tracked->shape->replicated)
            add_noted(tracked, number, birth, name);
        else if (own && !own->name)
            own->name = ctr_text_copy(tracked->conn, name);
    }
    sqlite3_finalize(row);
}

/* Returns whether each name that is known is noted, and of the key, the counters and the table
 * nothing else. */
static bool are_names_noted(const ctr_tracked *tracked)
{
    bool same = true;
    int names = tracked->table != NULL;
    ctr_run run = ctr_run_on(tracked->conn, tracked->schema, tracked->counters);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_COLUMNS_NOTED);
    for (int i = 0; i < tracked->shape->n_columns; i++) names += tracked->columns[i].name != NULL;
    while (ctr_run_row(&run, row)) {
        int number = sqlite3_column_int(row, NOTED_NUMBER);
        const char *birth = ctr_text_column(tracked->conn, row, NOTED_BIRTH),
                   *noted = ctr_text_column(tracked->conn, row, NOTED_NAME);
        const ctr_tracked_column *column = birth ? column_born(tracked, number, birth) : NULL;
        const char *name = column ? column->name : NULL;
        if (birth && !*birth) name = tracked->table;
        if (number >= 0 && !name) continue; /* it stays as it was noted last */
        same = same && name && noted && strcmp(name, noted) == 0;
        names -= number < 0;
    }
    sqlite3_finalize(row);
    return same && names == 0;
}

/* Notes the names that are known, if the notes differ. Returns whether it wrote. */
static bool noted_write(const ctr_tracked *tracked, ctr_file *file)
{
    if (are_names_noted(tracked) || ctr_rc(tracked->conn) != SQLITE_OK) return false;
    ctr_run run = ctr_run_on(tracked->conn, tracked->schema, tracked->counters);
    ctr_run_do(&run, CTR_SQL_COLUMNS_KEEP_FORMER, NULL);
    ctr_run_do(&run, CTR_SQL_COLUMNS_NOT_NOTED, NULL);
    static const char NOTE[] = ":number i :birth t :name t :generation i";
    ctr_run_with(&run, CTR_SQL_COLUMNS_NOTE, NOTE, INT64_C(-1), "", tracked->table, INT64_C(0));
    for (int i = 0; i < tracked->shape->n_columns + tracked->n_regular; i++) {
        const ctr_tracked_column *column = &tracked->columns[i];
        int64_t number = i < tracked->shape->n_columns ? -1 : column->number;
        if (column->name && ctr_rc(tracked->conn) == SQLITE_OK)
            ctr_run_with(&run, CTR_SQL_COLUMNS_NOTE, NOTE, number, column->birth, column->name,
                         INT64_C(0));
    }
    ctr_run_do(&run, CTR_SQL_COLUMNS_FORGET_FORMER, NULL);
    ctr_tab *tab = ctr_tab_known(file, tracked->counters);
    if (tab) ctr_regular_forget(tab);
    return true;
}

/* =================================================================================================
 * tracked - reads the names from the triggers, and keeps them. */

/* ---- columns --------------------------------------------------------------------------------- */

const ctr_tracked_column *ctr_tracked_column_of(const ctr_tracked *tracked, int counter)
{
    const ctr_tracked_column *column = ctr_tracked_travelling(tracked, counter);
    return column->name ? column : NULL;
}

int ctr_tracked_named(const ctr_tracked *tracked, const char *name)
{
    int n = tracked->shape ? tracked->shape->n_columns + tracked->n_regular : 0;
    for (int i = 0; i < n; i++) {
        const char *own = tracked->columns[i].name;
        if (own && sqlite3_stricmp(own, name) == 0) return i;
    }
    return -1;
}

int ctr_tracked_numbered(const ctr_tracked *tracked, int64_t number)
{
    for (int i = 0; i < tracked->n_regular; i++)
        if (ctr_tracked_regular(tracked, i)->number == number)
            return tracked->shape->n_counters + i;
    return -1;
}

int ctr_tracked_counter(const ctr_tracked *tracked, const char *name)
{
    int i = ctr_tracked_named(tracked, name);
    bool is = i >= 0 && i >= tracked->shape->n_keys && i < tracked->shape->n_columns;
    return is ? tracked->columns[i].number : -1;
}

const ctr_tracked_column *ctr_tracked_regular_named(const ctr_tracked *tracked, const char *name)
{
    int i = ctr_tracked_named(tracked, name);
    return i >= 0 && i >= tracked->shape->n_columns ? &tracked->columns[i] : NULL;
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
        if (ctr_tracked_regular(tracked, i)->number == number &&
            ctr_tracked_regular(tracked, i)->name)
            return ctr_ordinary_column(&tracked->ordinary, ctr_tracked_regular(tracked, i)->name);
    return NULL;
}

static const char *call_with(const ctr_tracked *tracked, const char *column, const char *option)
{
    sqlite3_str *call = sqlite3_str_new(NULL);
    sqlite3_str_appendf(call, "counter_replicate(%Q", tracked->table);
    if (column) sqlite3_str_appendf(call, ", %Q", column);
    for (int i = 0; i < tracked->shape->n_counters; i++) {
        const ctr_tracked_column *counter = ctr_tracked_travelling(tracked, i);
        if (!counter->name && ctr_ordinary_column(&tracked->ordinary, counter->birth) &&
            ctr_tracked_named(tracked, counter->birth) < 0 &&
            !(column && sqlite3_stricmp(counter->birth, column) == 0))
            sqlite3_str_appendf(call, ", %Q", counter->birth);
    }
    sqlite3_str_appendf(call, "%s)", option);
    return ctr_text_built(tracked->conn, call);
}

const char *ctr_tracked_call(const ctr_tracked *tracked, const char *column)
{
    return call_with(tracked, column, "");
}

const char *ctr_tracked_call_to_follow(const ctr_tracked *tracked, int64_t generation)
{
    return call_with(tracked, NULL, generation > 0 ? ", 'values=oldest'" : "");
}

int ctr_tracked_bind_key(const ctr_tracked *tracked, sqlite3_stmt *statement, sqlite3_value **keys)
{
    int rc = ctr_pack_bind_keys(tracked->conn, statement, 1, tracked->shape, keys);
    return ctr_problem_sqlite(tracked->conn, rc);
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
static bool take_pair(ctr_tracked *tracked, ctr_words *own, ctr_words *theirs)
{
    if (!ctr_word_at_mark(own, ',') || !ctr_word_at_mark(theirs, ',')) return false;
    ctr_word_next(own);
    ctr_word_next(theirs);
    bool is_new = ctr_word_at(theirs, "NEW");
    if (!is_new && !ctr_word_at(theirs, "NULL") && !ctr_word_at(own, "_marks")) return false;
    if (is_new) ctr_word_next(theirs); /* the full stop */
    if (is_new) ctr_word_next(theirs);
    char *name = ctr_text_unquoted(tracked->conn, own->word);
    ctr_tracked_column *column = is_new && name ? column_born(tracked, -1, name) : NULL;
    sqlite3_free(name);
    if (column && !column->name) column->name = ctr_text_unquoted(tracked->conn, theirs->word);
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
static void read_names(ctr_tracked *tracked, const char *text)
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
    while (take_pair(tracked, &own, &theirs)) continue;
}

/* Gives a regular column its present name. One that is replicated no longer is not among them. */
static void name_regular(ctr_tracked *tracked, int number, ctr_span name)
{
    ctr_tracked_column *column = column_born(tracked, number, "");
    if (!column) return;
    sqlite3_free(column->name);
    column->name = ctr_text_unquoted(tracked->conn, name);
}

/* Reads (NEW."a", OLD."a", NULL, NULL, NEW."b", ...): the columns number `first` and first + 2. */
static void read_compared(ctr_tracked *tracked, ctr_words *words, int first)
{
    for (int i = 0; words->kind != CTR_WORD_END && !ctr_word_at_mark(words, ')'); i++) {
        ctr_word_next(words);
        bool is_new = ctr_word_at(words, "NEW");
        while (words->kind != CTR_WORD_END && !ctr_word_at_mark(words, ',') &&
               !ctr_word_at_mark(words, ')')) {
            if (is_new && words->kind == CTR_WORD_QUOTED)
                name_regular(tracked, first + i / 2, words->word);
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
 * by now, whose trigger is about to be made. Behind CTR_MASK_COLUMNS columns there is another call,
 * or 0 in its place (tracked/tracked.h). */
static void read_regular_names(ctr_tracked *tracked, const char *text)
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
        if (compares) read_compared(tracked, &words, first - CTR_MASK_COLUMNS);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Looks up each column in the table. A name that the table lacks is lost. */
static void look_up_columns(ctr_tracked *tracked)
{
    for (int i = 0; i < tracked->shape->n_columns + tracked->n_regular; i++) {
        ctr_tracked_column *column = &tracked->columns[i];
        const ctr_described *there =
            column->name ? ctr_ordinary_column(&tracked->ordinary, column->name) : NULL;
        bool zero =
            tracked->shape->replicated && there && there->value && !strcmp(there->value, "0");
        if (there) column->not_null = there->not_null;
        if (there) column->blank = (ctr_shown){.null = !there->not_null && !zero};
        if (there || !column->name) continue;
        sqlite3_free(column->lost);
        column->lost = column->name;
        column->name = NULL;
    }
}

/* Marks the columns that stay in this file. */
static void look_up_local(ctr_tracked *tracked)
{
    ctr_ordinary *ordinary = &tracked->ordinary;
    ctr_run run = ctr_run_on(tracked->conn, tracked->schema, tracked->counters);
    sqlite3_stmt *row =
        tracked->shape->replicated ? ctr_run_prepare(&run, CTR_SQL_COLUMNS_LOCAL) : NULL;
    while (row && ctr_run_row(&run, row)) {
        const char *name = ctr_text_column(tracked->conn, row, 0);
        size_t i = 0;
        while (name && i < ordinary->n && sqlite3_stricmp(ordinary->columns[i].name, name) != 0)
            i++;
        if (!name) break;
        if (i < ordinary->n) ordinary->columns[i].local = true;
        tracked->n_local += i < ordinary->n;
        if (i == ordinary->n && !tracked->lost_local)
            tracked->lost_local = ctr_text_copy(tracked->conn, name);
    }
    sqlite3_finalize(row);
}

static void look_at_table(ctr_tracked *tracked, const ctr_objects *objects)
{
    if (!tracked->table || ctr_rc(tracked->conn) != SQLITE_OK) return;
    const ctr_named *named = ctr_schema_objects_find(objects, tracked->table);
    const char *text = named && named->sql ? named->sql : "";
    tracked->replaces = ctr_word_follow(text, "conflict", "REPLACE");
    tracked->fails = objects->any_fail; /* on any table, for one trigger may fire another */
    /* Counters alone need no OR ABORT against FAIL and IGNORE: a row that is refused is noticed. */
    tracked->resolves =
        tracked->replaces || objects->any_or_fail ||
        ctr_word_follow(text, "conflict", "ROLLBACK") ||
        (tracked->shape->replicated && (ctr_word_follow(text, "conflict", "FAIL") ||
                                        ctr_word_follow(text, "conflict", "IGNORE")));
    ctr_ordinary_read(&tracked->ordinary, tracked->conn, tracked->schema, tracked->table);
    tracked->rowid =
        ctr_ordinary_rowid(&tracked->ordinary, tracked->conn, tracked->schema, tracked->table);
    if (ctr_rc(tracked->conn) == SQLITE_OK) look_up_columns(tracked);
    look_up_local(tracked);
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

static void open_tracked_columns(ctr_tracked *tracked)
{
    const ctr_shape *shape = tracked->shape;
    for (int i = 0; i < shape->n_columns; i++) {
        const ctr_column *column = &shape->columns[i];
        bool is_key = column->key >= 0;
        tracked->columns[is_key ? column->key : shape->n_keys + column->counter] =
            (ctr_tracked_column){.number = is_key ? column->key : column->counter,
                                 .birth = ctr_text_copy(tracked->conn, column->name)};
    }
}

static int open_tracked(ctr_conn *conn, ctr_tracked *tracked, const char *schema,
                        const char *counters, const ctr_shape *shape)
{
    size_t n = (size_t)shape->n_columns + 1;
    *tracked = (ctr_tracked){.conn = conn,
                             .schema = sqlite3_mprintf("%s", schema),
                             .counters = sqlite3_mprintf("%s", counters),
                             .shape = sqlite3_malloc64(sizeof *tracked->shape),
                             .columns = sqlite3_malloc64(n * sizeof *tracked->columns),
                             .room = n};
    if (tracked->columns) memset(tracked->columns, 0, n * sizeof *tracked->columns);
    if (tracked->shape) *tracked->shape = (ctr_shape){0};
    if (!tracked->schema || !tracked->counters || !tracked->shape || !tracked->columns)
        return ctr_problem_nomem(tracked->conn);
    if (ctr_rc(conn) == SQLITE_OK && ctr_shape_copy(conn, tracked->shape, shape) == SQLITE_OK)
        open_tracked_columns(tracked);
    return ctr_rc(conn);
}

/* If `table` is NULL, it is the table with the triggers. */
static int take_names(ctr_tracked *tracked, const ctr_objects *objects, const char *table)
{
    const ctr_named *trigger = ctr_schema_objects_trigger(objects, tracked->counters, "insert");
    bool named = trigger && trigger->sql;
    if (named) read_names(tracked, trigger->sql);
    const ctr_named *row = ctr_schema_objects_trigger(objects, tracked->counters, "row");
    if ((!named && ctr_tracked_is_among(objects, tracked->counters)) || tracked->shape->replicated)
        noted_read(tracked, !named);
    if (row && row->sql) read_regular_names(tracked, row->sql);
    if (!table && trigger) table = trigger->on;
    if (table) tracked->table = ctr_text_copy(tracked->conn, table);
    return ctr_rc(tracked->conn);
}

void ctr_tracked_open(ctr_tracked *tracked, const ctr_objects *objects, const char *counters,
                      const ctr_shape *shape)
{
    if (open_tracked(objects->conn, tracked, objects->schema, counters, shape) ||
        take_names(tracked, objects, NULL))
        return;
    look_at_table(tracked, objects);
}

void ctr_tracked_begin(ctr_tracked *tracked, const ctr_objects *objects, const char *counters,
                       const char *table, const ctr_shape *shape)
{
    bool any = false;
    if (open_tracked(objects->conn, tracked, objects->schema, counters, shape) ||
        take_names(tracked, objects, table))
        return;
    for (int i = 0; i < shape->n_columns; i++) any = any || tracked->columns[i].name;
    for (int i = 0; i < shape->n_columns && !any; i++)
        tracked->columns[i].name = ctr_text_copy(tracked->conn, tracked->columns[i].birth);
    look_at_table(tracked, objects);
}

/* Opens what the triggers tell. Returns whether they tell of a table. */
static bool open_present(ctr_tracked *tracked, ctr_file *file, const char *counters,
                         const ctr_shape *shape)
{
    const ctr_objects *objects = ctr_file_objects(file);
    if (open_tracked(file->conn, tracked, file->schema, counters, shape) == SQLITE_OK)
        take_names(tracked, objects, NULL);
    return ctr_rc(file->conn) == SQLITE_OK && tracked->table;
}

bool ctr_tracked_note(ctr_file *file, const char *counters, const ctr_shape *shape)
{
    ctr_tracked tracked;
    bool writes = open_present(&tracked, file, counters, shape) && noted_write(&tracked, file);
    ctr_tracked_close(&tracked);
    return writes;
}

bool ctr_tracked_is_noted(ctr_file *file, const char *counters, const ctr_shape *shape)
{
    ctr_tracked tracked;
    bool is = open_present(&tracked, file, counters, shape) && are_names_noted(&tracked);
    ctr_tracked_close(&tracked);
    return is && ctr_rc(file->conn) == SQLITE_OK;
}

void ctr_tracked_adopt(ctr_tracked *tracked, int counter, const char *column)
{
    ctr_tracked_column *to = &tracked->columns[tracked->shape->n_keys + counter];
    if (ctr_rc(tracked->conn) != SQLITE_OK) return;
    if (to->name) {
        ctr_problem_set(tracked->conn, SQLITE_ERROR, "%s: the counter %s belongs to the column %s",
                        tracked->table, column, to->name);
        return;
    }
    to->name = ctr_text_copy(tracked->conn, column);
    to->given = to->name != NULL;
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
    int n = tracked->columns && tracked->shape ? tracked->shape->n_columns + tracked->n_regular : 0;
    for (int i = 0; i < n; i++) {
        sqlite3_free(tracked->columns[i].birth);
        sqlite3_free(tracked->columns[i].name);
        sqlite3_free(tracked->columns[i].lost);
    }
    if (tracked->shape) ctr_shape_close(tracked->shape);
    ctr_ordinary_close(&tracked->ordinary);
    sqlite3_free(tracked->shape);
    sqlite3_free(tracked->columns);
    sqlite3_free(tracked->schema);
    sqlite3_free(tracked->counters);
    sqlite3_free(tracked->table);
    sqlite3_free(tracked->lost_local);
    ctr_tracked_free_lists(&tracked->lists);
    *tracked = (ctr_tracked){.conn = tracked->conn};
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
static bool may_stay(const ctr_tracked *tracked, const ctr_objects *objects)
{
    for (int i = 0; i < tracked->shape->n_columns + tracked->n_regular; i++)
        if (tracked->columns[i].lost) return false;
    return ctr_schema_objects_trigger(objects, tracked->counters, "insert") != NULL;
}

ctr_tracked *ctr_tracked_hold(ctr_tab *tab)
{
    const ctr_objects *objects = ctr_file_objects(tab->file);
    ctr_tracked *tracked = tab->tracked;
    if (!objects) return NULL;
    if (!tracked || tracked->as_of != tab->file->schemas) {
        tracked = sqlite3_malloc64(sizeof *tracked);
        if (!tracked) ctr_problem_nomem(tab->conn);
        if (!tracked) return NULL;
        ctr_tracked_open(tracked, objects, tab->table, &tab->shape);
        if (ctr_rc(tab->conn) != SQLITE_OK) {
            ctr_tracked_close(tracked);
            sqlite3_free(tracked);
            return NULL;
        }
        if (may_stay(tracked, objects)) tracked->as_of = tab->file->schemas;
        tracked->holders = 1;
        ctr_tab_track(tab, tracked, ctr_tracked_release);
    }
    tracked->holders++;
    return tracked;
}

/* ---- places ---------------------------------------------------------------------------------- */

static void fill_home(const ctr_tracked *tracked, const ctr_objects *objects, ctr_home *home)
{
    ctr_conn *conn = tracked->conn;
    sqlite3_str *from = sqlite3_str_new(NULL), *bound = sqlite3_str_new(NULL),
                *keys = sqlite3_str_new(NULL);
    sqlite3_str_appendf(from, "\"%w\".\"%w\" AS t", tracked->schema, tracked->table);
    ctr_list_bound_key(tracked, bound, "t.");
    ctr_list_keys(tracked, keys, "t.");
    home->table = ctr_text_copy(conn, tracked->table);
    home->from = ctr_text_finish(conn, from);
    home->bound = ctr_text_finish(conn, bound);
    home->keys = ctr_text_finish(conn, keys);
    home->same = ctr_text_copy(conn, ctr_list_key_match(tracked));
    home->rowid = tracked->rowid;
    home->hides = ctr_triggers_hide_replaced(tracked, objects);
}

void ctr_tracked_find_home(ctr_tab *tab, ctr_home *home)
{
    ctr_tracked *tracked = ctr_tracked_hold(tab);
    const ctr_objects *objects = tracked ? ctr_file_objects(tab->file) : NULL;
    if (objects && ctr_tracked_is_known(tracked) && ctr_tracked_has_homes(tracked) &&
        ctr_triggers_tell_leaving(tracked, objects))
        fill_home(tracked, objects, home);
    ctr_tracked_release(tracked);
}
