/* tracked/triggers.c - writes, creates and compares the triggers of a tracked table. */
#include "tracked/tracked.h"

#include <string.h>

/* =================================================================================================
 * trigger_texts - the texts of the triggers that pass the changes of a tracked table on. */

/* Lists what the trigger on UPDATE of counters passes on beside the new values, the old ones; and
 * the columns whose assignment fires it. */
static void list_update(const ctr_tracked *tracked, sqlite3_str *passed, sqlite3_str *fires)
{
    for (int i = 0; i < tracked->shape->n_counters; i++) {
        const ctr_tracked_column *column = ctr_tracked_column_of(tracked, i);
        sqlite3_str_appendf(passed, ", \"_was_%w\"", ctr_shape_counter_name(tracked->shape, i));
        if (column)
            sqlite3_str_appendf(fires, "%s\"%w\"", ctr_text_separator(fires, ", "), column->name);
    }
}

/* OLD."sku" IS NEW."sku" AND ..., or IS NOT ... OR ... */
static void compare_columns(const ctr_tracked *tracked, sqlite3_str *out, bool keys, bool same)
{
    const ctr_shape *shape = tracked->shape;
    for (int i = 0, any = 0; i < (keys ? shape->n_keys : shape->n_counters); i++) {
        const ctr_tracked_column *column =
            keys ? ctr_tracked_key(tracked, i) : ctr_tracked_column_of(tracked, i);
        if (!column) continue;
        const char *word = !any++ ? "" : same ? " AND " : " OR ";
        sqlite3_str_appendf(out, "%sOLD.\"%w\" %s NEW.\"%w\"", word, column->name,
                            same ? "IS" : "IS NOT", column->name);
    }
}

/* ---- regular columns ------------------------------------------------------------------------- */

/* Appends counter_differs(NEW."a", OLD."a", ...) for the columns of one part of the mask. It
 * compares bytes and types: under the column's own collation and for SQL, 'jam' and 'Jam', or 1 and
 * 1.0, may be the same. */
static void compare_regular(const ctr_tracked_column *columns, int n, sqlite3_str *out)
{
    sqlite3_str_appendall(out, "counter_differs(");
    for (int i = 0, bit = 0; i < n; i++) {
        for (; bit < columns[i].number % CTR_MASK_COLUMNS; bit++)
            sqlite3_str_appendall(out, "NULL, NULL, ");
        sqlite3_str_appendf(out, "NEW.\"%w\", OLD.\"%w\"%s", columns[i].name, columns[i].name,
                            i < n - 1 ? ", " : ")");
        bit++;
    }
}

/* Appends the masks of the changed columns, CTR_MASK_COLUMNS in each, with `word` between them. */
static void list_masks(const ctr_tracked_column *columns, int n, const char *word, sqlite3_str *out)
{
    int last = columns[n - 1].number / CTR_MASK_COLUMNS;
    for (int part = 0, i = 0; part <= last; part++) {
        int from = i;
        while (i < n && columns[i].number / CTR_MASK_COLUMNS == part) i++;
        if (part > 0) sqlite3_str_appendall(out, word);
        if (i == from) sqlite3_str_appendall(out, "0");
        if (i > from) compare_regular(columns + from, i - from, out);
    }
}

/* Lists what the trigger on UPDATE of regular columns fires for, when, and what it passes on. */
static void list_regular_columns(const ctr_tracked *tracked, sqlite3_str *fires, sqlite3_str *when,
                                 sqlite3_str *passed)
{
    int n = tracked->n_regular;
    const ctr_tracked_column *columns = ctr_tracked_regular(tracked, 0);
    for (int i = 0; i < n; i++)
        if (!columns[i].name) n = i; /* refused: see check_triggers */
    if (n == 0) return;
    for (int i = 0; i < n; i++)
        sqlite3_str_appendf(fires, "%s\"%w\"", i ? ", " : "", columns[i].name);
    compare_columns(tracked, when, true, true);
    sqlite3_str_appendall(when, " AND (");
    list_masks(columns, n, " OR ", when);
    sqlite3_str_appendall(when, ")");
    sqlite3_str_appendall(passed, ", ");
    list_masks(columns, n, "||','||", passed);
}

/* Appends the row id of the row, or without a prefix the column that takes it. */
static void list_at(const ctr_tracked *tracked, sqlite3_str *out, const char *prefix)
{
    if (!ctr_tracked_has_homes(tracked)) return;
    if (prefix)
        sqlite3_str_appendf(out, ", %s%s", prefix, tracked->rowid);
    else
        sqlite3_str_appendall(out, ", _at");
}

/* ---- the texts of the triggers --------------------------------------------------------------- */

/* The triggers; the name of each is that of the counter table, _ and the suffix. */
static const struct tracked_trigger {
    const char *suffix;
    ctr_sql text;
    bool replaces; /* it exists for UNIQUE indexes */
    bool leaves;   /* it exists for places: table/home.c */
} TRIGGERS[] = {
    {"insert", CTR_SQL_TRACK_ON_INSERT, false, false},
    {"update", CTR_SQL_TRACK_ON_UPDATE, false, false},
    {"key", CTR_SQL_TRACK_ON_KEY, false, false},
    {"row", CTR_SQL_TRACK_ON_REGULAR, false, false},
    {"delete", CTR_SQL_TRACK_ON_DELETE, false, false},
    {"before_insert", CTR_SQL_TRACK_ON_REPLACE_BY_INSERT, true, false},
    {"before_update", CTR_SQL_TRACK_ON_REPLACE_BY_UPDATE, true, false},
    {"replaced", CTR_SQL_TRACK_ON_REPLACED, true, false},
    {"before_delete", CTR_SQL_TRACK_ON_LEAVE_BY_DELETE, false, true},
    {"before_key", CTR_SQL_TRACK_ON_LEAVE_BY_UPDATE, false, true},
    {"before_replace", CTR_SQL_TRACK_ON_LEAVE_BY_INSERT, false, true},
};
_Static_assert(sizeof TRIGGERS / sizeof *TRIGGERS == CTR_N_TRIGGERS, "each trigger has a text");

/* The lists of a trigger while they grow. */
typedef struct growing_lists {
    sqlite3_str *columns, *values, *changes, *order, *constraint, *keys;
    const char *what; /* of a row that may go; borrowed */
} growing_lists;

/* "k" IS NEW."k" AND ..., or the same with OLD. */
static void match_key(const ctr_tracked *tracked, bool old, sqlite3_str *out)
{
    for (int i = 0; i < tracked->shape->n_keys; i++) {
        const char *name = ctr_tracked_key(tracked, i)->name;
        sqlite3_str_appendf(out, "%s\"%w\" IS ", i ? " AND " : "", name);
        if (old)
            sqlite3_str_appendf(out, "OLD.\"%w\"", name);
        else
            ctr_constraints_append_new(out, tracked, name);
    }
}

/* NEW."k", ... */
static void list_new_keys(const ctr_tracked *tracked, sqlite3_str *out)
{
    for (int i = 0; i < tracked->shape->n_keys; i++) {
        sqlite3_str_appendall(out, ctr_text_separator(out, ", "));
        ctr_constraints_append_new(out, tracked, ctr_tracked_key(tracked, i)->name);
    }
}

/* Appends ") AND NOT (the row has the key of the new or the old row)". In a BEFORE INSERT, NEW has
 * -1 for a rowid that SQLite has yet to choose. */
static void exclude_keys(const ctr_tracked *tracked, bool updates, sqlite3_str *out)
{
    const ctr_column *key = &tracked->shape->columns[tracked->shape->keys[0]];
    sqlite3_str_appendall(out, ") AND NOT (");
    match_key(tracked, false, out);
    if (!updates && tracked->shape->n_keys == 1 && sqlite3_stricmp(key->type, "INTEGER") == 0)
        sqlite3_str_appendf(out, " AND NEW.\"%w\" IS NOT -1", ctr_tracked_key(tracked, 0)->name);
    if (updates) sqlite3_str_appendall(out, ") AND NOT (");
    if (updates) match_key(tracked, true, out);
    sqlite3_str_appendall(out, ")");
}

static const char *event_of_replaced(const ctr_tracked *tracked)
{
    return tracked->replaces ? "replaced anyway" : "replaced";
}

/* Returns the name of the row id if it alone is UNIQUE beside the key: then one trigger tells of
 * all rows that an INSERT OR REPLACE removes. Each trigger costs as much as a small INSERT. */
static const char *lone_rowid(const ctr_tracked *tracked)
{
    ctr_unique rows = {.match = sqlite3_str_new(NULL),
                       .between = "",
                       .names = sqlite3_str_new(NULL),
                       .stored = sqlite3_str_new(NULL)};
    if (ctr_tracked_has_homes(tracked)) ctr_constraints_list_unique(&rows, tracked);
    ctr_text_built(tracked->conn, rows.match); /* only whether there was memory for them */
    ctr_text_built(tracked->conn, rows.names);
    ctr_text_built(tracked->conn, rows.stored);
    return rows.rowid_alone;
}

/* Lists what that trigger says. */
static void list_by_rowid(const ctr_tracked *tracked, const char *rowid, const growing_lists *to)
{
    ctr_list_keys(tracked, to->values, "");
    list_new_keys(tracked, to->keys);
    sqlite3_str_appendf(to->constraint, "NEW.\"%w\" IS NOT -1 AND \"%w\" = NEW.\"%w\" AND NOT (",
                        rowid, rowid, rowid);
    match_key(tracked, false, to->constraint);
    sqlite3_str_appendall(to->constraint, ")");
    sqlite3_str_appendf(to->order,
                        "WHEN NEW.\"%w\" IS NOT -1 OR EXISTS (SELECT 1 FROM \"%w\" WHERE ", rowid,
                        tracked->table);
    match_key(tracked, false, to->order);
    sqlite3_str_appendall(to->order, ")");
    sqlite3_str_appendall(to->changes, event_of_replaced(tracked));
}

/* Lists the rows with another key that OR REPLACE removes: one INSERT for each UNIQUE index. SQLite
 * 3.40 to 3.49 finds not all rows of "u" = 'x' COLLATE a OR "u" = 'x' COLLATE b. The other triggers
 * report rows with the same key. */
static void list_replaced(const ctr_tracked *tracked, ctr_sql trigger, const growing_lists *to)
{
    const char *columns = sqlite3_str_value(to->columns), *values = sqlite3_str_value(to->values);
    bool updates = trigger == CTR_SQL_TRACK_ON_REPLACE_BY_UPDATE;
    bool inserts = trigger == CTR_SQL_TRACK_ON_REPLACE_BY_INSERT;
    sqlite3_str *out = sqlite3_str_new(NULL);
    exclude_keys(tracked, updates, out);
    const char *own_keys = ctr_text_built(tracked->conn, out);
    const char *between = ctr_text_print(
        tracked->conn, "%s; INSERT INTO \"%w\"(_event, %s) SELECT '%s', %s FROM \"%w\" WHERE (",
        own_keys, tracked->counters, columns, to->what, values, tracked->table);
    ctr_unique rows = {.match = sqlite3_str_new(NULL),
                       .between = between,
                       .names = sqlite3_str_new(NULL),
                       .stored = sqlite3_str_new(NULL)};
    ctr_constraints_list_unique(&rows, tracked);
    const char *match = ctr_text_built(tracked->conn, rows.match),
               *names = ctr_text_built(tracked->conn, rows.names),
               *stored = ctr_text_built(tracked->conn, rows.stored);
    if (!inserts && !rows.any_column) sqlite3_str_appendf(to->order, "OF %s", names);
    if (inserts && rows.rowid_alone) /* most statements give no row id: NEW has -1 */
        sqlite3_str_appendf(to->order, "WHEN NEW.\"%w\" IS NOT -1", rows.rowid_alone);
    if (*match) {
        /* In a trigger that reads a table named NEW, NEW."sku" is a column of that table. */
        const char *table = tracked->table;
        if (sqlite3_stricmp(table, "NEW") == 0 || sqlite3_stricmp(table, "OLD") == 0)
            ctr_problem_set(tracked->conn, SQLITE_ERROR,
                            "%s: a tracked table with a UNIQUE index must not be named NEW or OLD, "
                            "which mean rows in its triggers: rename the table",
                            table);
        sqlite3_str_appendf(to->constraint, "(%s%s", match, own_keys);
        /* SQLite computes a generated NEW column of an UPDATE from those that the trigger names. */
        if (updates && rows.any_generated)
            sqlite3_str_appendf(to->constraint, " AND (%s1)", stored);
    }
}

/* Lists what a trigger needs that says that a row leaves. The key of an INSERT is that which the
 * row will have. */
static void list_leaving(const ctr_tracked *tracked, ctr_sql trigger, const growing_lists *to)
{
    if (trigger == CTR_SQL_TRACK_ON_LEAVE_BY_INSERT) {
        list_new_keys(tracked, to->values);
        match_key(tracked, false, to->keys);
        return;
    }
    list_at(tracked, to->columns, NULL);
    ctr_list_keys(tracked, to->changes, "OLD.");
    list_at(tracked, to->changes, "OLD.");
    ctr_list_keys(tracked, to->values, "");
    list_at(tracked, to->values, "");
    match_key(tracked, false, to->keys);
    if (trigger != CTR_SQL_TRACK_ON_LEAVE_BY_UPDATE) return;
    ctr_list_keys(tracked, to->order, "");
    sqlite3_str_appendall(to->order, ", rowid, oid, _rowid_");
    compare_columns(tracked, to->constraint, true, false);
    sqlite3_str_appendf(to->constraint, " OR OLD.%s IS NOT NEW.%s", tracked->rowid, tracked->rowid);
}

/* Does the file have the trigger, and does it say so? */
static bool says_so(const ctr_tracked *tracked, const ctr_objects *objects, const char *suffix,
                    const char *text)
{
    const ctr_named *trigger = ctr_schema_objects_trigger(objects, tracked->counters, suffix);
    return trigger && trigger->sql && strstr(trigger->sql, text);
}

bool ctr_triggers_tell_leaving(const ctr_tracked *tracked, const ctr_objects *objects)
{
    char moves[64];
    sqlite3_snprintf(sizeof moves, moves, " OR OLD.%s IS NOT NEW.%s BEGIN", tracked->rowid,
                     tracked->rowid);
    return says_so(tracked, objects, "before_delete", " VALUES ('leaves', ") &&
           says_so(tracked, objects, "before_key", moves) &&
           (says_so(tracked, objects, "before_replace", " VALUES ('replaced") ||
            says_so(tracked, objects, "before_insert", " VALUES ('replaced"));
}

static void fill_lists(const ctr_tracked *tracked, const struct tracked_trigger *trigger,
                       const char *lone, const growing_lists *to)
{
    bool keys_only =
        trigger->replaces || trigger->leaves || trigger->text == CTR_SQL_TRACK_ON_REGULAR;
    ctr_list_own_names(tracked, to->columns, !keys_only);
    if (trigger->leaves) {
        list_leaving(tracked, trigger->text, to);
        return;
    }
    if (trigger->text == CTR_SQL_TRACK_ON_REPLACE_BY_INSERT && lone) {
        list_by_rowid(tracked, lone, to);
        return;
    }
    if (trigger->replaces) {
        ctr_list_keys(tracked, to->values, "");
        list_replaced(tracked, trigger->text, to);
        return;
    }
    if (trigger->text == CTR_SQL_TRACK_ON_REGULAR) {
        ctr_list_keys(tracked, to->values, "NEW.");
        list_at(tracked, to->columns, NULL);
        list_at(tracked, to->values, "NEW.");
        list_regular_columns(tracked, to->order, to->constraint, to->values);
        return;
    }
    ctr_list_row(tracked, to->values, "NEW.");
    ctr_list_row(tracked, to->changes, "OLD.");
    list_at(tracked, to->columns, NULL);
    list_at(tracked, to->values, "NEW.");
    list_at(tracked, to->changes, "OLD.");
    if (trigger->text == CTR_SQL_TRACK_ON_UPDATE) {
        list_update(tracked, to->columns, to->order);
        ctr_list_values(tracked, to->values, "OLD.");
        compare_columns(tracked, to->constraint, true, true);
        sqlite3_str_appendall(to->constraint, " AND (");
        compare_columns(tracked, to->constraint, false, false);
        sqlite3_str_appendall(to->constraint, ")");
    } else if (trigger->text == CTR_SQL_TRACK_ON_KEY) {
        ctr_list_keys(tracked, to->order, "");
        sqlite3_str_appendall(to->order, ", rowid, oid, _rowid_"); /* an INTEGER PRIMARY KEY */
        compare_columns(tracked, to->constraint, true, false);
    }
}

/* Returns the text of a trigger; the caller frees it with sqlite3_free. NULL if the table does not
 * need it, or on error. */
static char *trigger_texts_get(const ctr_tracked *tracked, int nth)
{
    ctr_conn *conn = tracked->conn;
    ctr_text *mark = ctr_text_mark(conn);
    const struct tracked_trigger *trigger = &TRIGGERS[nth];
    const growing_lists to = {.columns = sqlite3_str_new(NULL),
                              .values = sqlite3_str_new(NULL),
                              .changes = sqlite3_str_new(NULL),
                              .order = sqlite3_str_new(NULL),
                              .constraint = sqlite3_str_new(NULL),
                              .keys = sqlite3_str_new(NULL),
                              .what = trigger->leaves     ? event_of_replaced(tracked)
                                      : tracked->replaces ? "may go anyway"
                                                          : "may go"};
    bool asks = trigger->text == CTR_SQL_TRACK_ON_REPLACE_BY_INSERT ||
                trigger->text == CTR_SQL_TRACK_ON_LEAVE_BY_INSERT;
    const char *lone = asks ? lone_rowid(tracked) : NULL;
    fill_lists(tracked, trigger, lone, &to);
    const ctr_slots slots = {.schema = tracked->schema,
                             .table = tracked->counters,
                             .name = tracked->table,
                             .columns = ctr_text_built(conn, to.columns),
                             .values = ctr_text_built(conn, to.values),
                             .changes = ctr_text_built(conn, to.changes),
                             .order = ctr_text_built(conn, to.order),
                             .constraint = ctr_text_built(conn, to.constraint),
                             .keys = ctr_text_built(conn, to.keys),
                             .value = to.what};
    bool updates =
        trigger->text == CTR_SQL_TRACK_ON_UPDATE || trigger->text == CTR_SQL_TRACK_ON_REGULAR;
    bool needs =
        trigger->replaces ? *slots.constraint : !trigger->leaves || ctr_tracked_has_homes(tracked);
    if (updates && !*slots.order) needs = false; /* there is no such column */
    if (lone && trigger->text == CTR_SQL_TRACK_ON_LEAVE_BY_INSERT) needs = false;
    ctr_sql sql = lone && trigger->text == CTR_SQL_TRACK_ON_REPLACE_BY_INSERT
                      ? CTR_SQL_TRACK_ON_REPLACE_BY_ROWID
                      : trigger->text;
    char *text = needs && ctr_rc(conn) == SQLITE_OK ? ctr_run_sql(sql, &slots) : NULL;
    if (needs && !text) ctr_problem_nomem(conn);
    ctr_text_release(conn, mark);
    return text;
}

/* =================================================================================================
 * triggers - creates, finds, compares and drops them. */

/* ---- the triggers in the file ---------------------------------------------------------------- */

/* Our triggers insert events into the counter table, and no one else does. */
static bool is_trigger_ours(const ctr_named *trigger, ctr_conn *conn, const char *counters)
{
    const char *writes = ctr_text_print(conn, "\"%w\"(_event", counters);
    return trigger->sql && strstr(trigger->sql, writes);
}

const char *ctr_triggers_table(const ctr_objects *objects, const char *counters)
{
    for (int i = 0; i < CTR_N_TRIGGERS && ctr_rc(objects->conn) == SQLITE_OK; i++) {
        const ctr_named *trigger =
            ctr_schema_objects_trigger(objects, counters, TRIGGERS[i].suffix);
        if (trigger && is_trigger_ours(trigger, objects->conn, counters)) return trigger->on;
    }
    return NULL;
}

static bool is_trigger_of(const char *trigger, const char *counters)
{
    size_t n = strlen(counters);
    if (sqlite3_strnicmp(trigger, counters, (int)n) != 0 || trigger[n] != '_') return false;
    for (int i = 0; i < CTR_N_TRIGGERS; i++)
        if (sqlite3_stricmp(trigger + n + 1, TRIGGERS[i].suffix) == 0) return true;
    return false;
}

/* Returns whether the trigger stands on the tracked table; sets whether it is ours. */
static bool is_on(const ctr_named *trigger, const ctr_tracked *tracked, bool *ours)
{
    const char *on = trigger->on, *name = trigger->name;
    if (!on || !name || sqlite3_stricmp(on, tracked->table) != 0) return false;
    *ours = is_trigger_of(name, tracked->counters);
    return true;
}

bool ctr_triggers_are_others(const ctr_tracked *tracked, ctr_file *file)
{
    bool ours;
    const ctr_objects *objects = ctr_file_objects(file);
    for (size_t i = 0; objects && i < objects->n_triggers; i++)
        if (is_on(&objects->triggers[i], tracked, &ours) && !ours) return true;
    return false;
}

/* What the text of a trigger says. */
typedef struct trigger_says {
    bool is_before;
    ctr_span event;  /* INSERT, UPDATE or DELETE */
    bool writes;     /* another table than its own */
    bool writes_any; /* some table */
} trigger_says;

/* Returns whether the words stand behind what begins a write, so at the name of its table. DO
 * UPDATE SET belongs to an INSERT. */
static bool is_written(const char *before, const ctr_words *words)
{
    if (!ctr_word_at_name(words) || ctr_word_at(words, "set") || ctr_word_at(words, "or"))
        return false;
    return strcmp(before, "into") == 0 || strcmp(before, "update") == 0 ||
           strcmp(before, "delete from") == 0;
}

/* Returns what the word says of the one behind it: UPDATE OR IGNORE t is a write as UPDATE t is. */
static const char *passed(const char *before, const ctr_words *words)
{
    if (ctr_word_at(words, "into")) return "into";
    if (ctr_word_at(words, "update")) return "update";
    if (ctr_word_at(words, "delete")) return "delete";
    if (ctr_word_at(words, "from") && strcmp(before, "delete") == 0) return "delete from";
    if (ctr_word_at(words, "or") && strcmp(before, "update") == 0) return "update or";
    return strcmp(before, "update or") == 0 ? "update" : "";
}

static trigger_says read_trigger(const ctr_named *trigger)
{
    trigger_says says = {.is_before = false};
    const char *before = "";
    ctr_words words = {.at = trigger->sql ? trigger->sql : ""};
    for (ctr_word_next(&words); words.kind != CTR_WORD_END; ctr_word_next(&words)) {
        bool is_event = ctr_word_at(&words, "insert") || ctr_word_at(&words, "update") ||
                        ctr_word_at(&words, "delete");
        if (!says.event.text) {
            says.is_before = says.is_before || ctr_word_at(&words, "before");
            if (is_event) says.event = words.word;
            continue;
        }
        bool written = is_written(before, &words);
        says.writes_any = says.writes_any || written;
        says.writes = says.writes || (written && !ctr_word_names(words.word, trigger->on));
        before = passed(before, &words);
    }
    return says;
}

bool ctr_triggers_run_later(const ctr_tracked *tracked, ctr_file *file, const char *event)
{
    bool ours, on_update = false;
    int64_t oldest = INT64_MAX, newest_ours = 0;
    const ctr_objects *objects = ctr_file_objects(file);
    for (size_t i = 0; objects && i < objects->n_triggers; i++) {
        const ctr_named *trigger = &objects->triggers[i];
        if (!is_on(trigger, tracked, &ours)) continue;
        if (ours && trigger->rowid > newest_ours) newest_ours = trigger->rowid;
        if (ours) continue;
        trigger_says says = read_trigger(trigger);
        on_update = on_update || ctr_word_is(says.event, "update");
        bool counts = ctr_word_is(says.event, event) && says.writes && !says.is_before;
        if (counts && !trigger->temp && trigger->rowid < oldest) oldest = trigger->rowid;
    }
    return on_update && oldest < newest_ours;
}

bool ctr_triggers_hide_replaced(const ctr_tracked *tracked, const ctr_objects *objects)
{
    bool ours;
    for (int i = 0; i < tracked->shape->n_keys; i++)
        if (ctr_constraints_computes(tracked, ctr_tracked_key(tracked, i)->name)) return true;
    for (size_t i = 0; i < objects->n_triggers; i++) {
        if (!is_on(&objects->triggers[i], tracked, &ours) || ours) continue;
        trigger_says says = read_trigger(&objects->triggers[i]);
        if (says.is_before && says.writes_any) return true;
    }
    return false;
}

static void refuse_broken(const ctr_tracked *tracked, const char *trigger)
{
    ctr_problem_set(tracked->conn, SQLITE_ERROR,
                    "the trigger %s_%s of the tracked table %s is not as %s makes it, so changes "
                    "may not have been counted: call %s('%s', "
                    "...) again, which counts them",
                    tracked->counters, trigger, tracked->table, ctr_tracked_function(tracked),
                    ctr_tracked_function(tracked), tracked->table);
}

const ctr_named *ctr_triggers_taken(const ctr_objects *objects, const char *counters)
{
    for (int i = 0; i < CTR_N_TRIGGERS && ctr_rc(objects->conn) == SQLITE_OK; i++) {
        const ctr_named *stored = ctr_schema_objects_trigger(objects, counters, TRIGGERS[i].suffix);
        if (stored && !is_trigger_ours(stored, objects->conn, counters)) return stored;
    }
    return NULL;
}

void ctr_triggers_drop(ctr_file *file, const char *counters)
{
    bool ours[CTR_N_TRIGGERS] = {false};
    const ctr_objects *objects = ctr_file_objects(file);
    for (int i = 0; i < CTR_N_TRIGGERS && objects; i++) {
        const ctr_named *stored = ctr_schema_objects_trigger(objects, counters, TRIGGERS[i].suffix);
        ours[i] = stored && is_trigger_ours(stored, file->conn, counters);
    }
    for (int i = 0; i < CTR_N_TRIGGERS; i++) {
        if (!ours[i]) continue;
        const char *name = ctr_text_print(file->conn, "%s_%s", counters, TRIGGERS[i].suffix);
        ctr_run run = ctr_run_on(file->conn, file->schema, counters);
        run.slots.name = name;
        ctr_run_do(&run, CTR_SQL_TRACK_DROP_TRIGGER, NULL);
    }
}

/* Fails if a trigger of the application has the name of one of ours. After a rebuild of the tracked
 * table, ours may still stand on the old one. */
static void refuse_taken_name(const ctr_tracked *tracked, const ctr_objects *objects)
{
    const ctr_named *taken = objects ? ctr_triggers_taken(objects, tracked->counters) : NULL;
    if (taken)
        ctr_problem_set(tracked->conn, SQLITE_ERROR,
                        "%s: there is another trigger %s, on %s; tracking makes one of this name: "
                        "create it under another name",
                        tracked->table, taken->name, taken->on);
}

static int read_terms(ctr_tracked *tracked)
{
    return ctr_ordinary_read_terms(&tracked->ordinary, tracked->conn, tracked->schema,
                                   tracked->table);
}

void ctr_triggers_create(ctr_tracked *tracked, ctr_file *file)
{
    refuse_taken_name(tracked, ctr_file_objects(file));
    read_terms(tracked);
    if (ctr_rc(file->conn) != SQLITE_OK) return;
    ctr_triggers_drop(file, tracked->counters);
    for (int i = 0; i < CTR_N_TRIGGERS && ctr_rc(file->conn) == SQLITE_OK; i++) {
        char *text = trigger_texts_get(tracked, i);
        if (text)
            ctr_problem_sqlite(tracked->conn,
                               sqlite3_exec(tracked->conn->db, text, NULL, NULL, NULL));
        sqlite3_free(text);
    }
}

/* Looks for the table by its last noted name, or by its name when tracking began. */
static int refuse_lost(const ctr_tracked *tracked, const ctr_objects *objects)
{
    const char *schema = objects->schema, *counters = tracked->counters;
    const char *function = ctr_tracked_function(tracked);
    ctr_catalog_entry entry = {0};
    char *noted = ctr_stored_tracked(tracked->conn, schema, counters);
    bool known = ctr_catalog_named(&entry, tracked->conn, schema, counters);
    const char *last = noted ? noted : known ? entry.birth : counters, *table = last;
    if (known && !ctr_schema_objects_find(objects, last)) table = entry.birth;
    if (!ctr_schema_objects_find(objects, table))
        ctr_problem_set(tracked->conn, SQLITE_ERROR,
                        "the tracked table %s is missing, and its counters are in %s: if it has "
                        "another name now, rename it to %s, call %s('%s', ...), and "
                        "rename it back; if it was dropped by mistake, create it and call "
                        "%s('%s', 'missing=restored'), which brings its rows back; if it was "
                        "dropped for good, drop %s, too",
                        last, counters, last, function, last, function, last, counters);
    ctr_problem_set(tracked->conn, SQLITE_ERROR,
                    "the tracked table %s has lost its triggers, so changes may not have been "
                    "counted: call %s('%s', ...) again, which counts them",
                    table, function, table);
    ctr_catalog_close_entry(&entry);
    sqlite3_free(noted);
    return ctr_rc(tracked->conn);
}

/* Compares a trigger with the one in the file. SQLite stores a text without the schema. */
static void compare(const ctr_tracked *tracked, const ctr_objects *objects, int trigger,
                    const char *quoted)
{
    static const char CREATE[] = "CREATE TRIGGER ";
    const size_t n = sizeof CREATE - 1;
    const char *suffix = TRIGGERS[trigger].suffix;
    char *wanted = trigger_texts_get(tracked, trigger);
    const ctr_named *stored = ctr_schema_objects_trigger(objects, tracked->counters, suffix);
    const char *text = stored ? stored->sql : NULL;
    bool is = !wanted && !text;
    if (wanted && text)
        is = strncmp(text, CREATE, n) == 0 && strcmp(text + n, wanted + n + strlen(quoted)) == 0;
    if (!is && ctr_rc(tracked->conn) == SQLITE_OK) refuse_broken(tracked, suffix);
    sqlite3_free(wanted);
}

/* Compares all triggers, unless that was done. */
static int check_triggers(ctr_tracked *tracked, const ctr_objects *objects)
{
    if (ctr_rc(tracked->conn) != SQLITE_OK || tracked->whole) return ctr_rc(tracked->conn);
    if (!tracked->table) return refuse_lost(tracked, objects);
    for (int i = 0; i < tracked->shape->n_keys && ctr_rc(tracked->conn) == SQLITE_OK; i++)
        if (!ctr_tracked_key(tracked, i)->name) refuse_broken(tracked, "insert");
    const char *quoted = ctr_text_print(tracked->conn, "\"%w\".", tracked->schema);
    read_terms(tracked);
    for (int i = 0; i < CTR_N_TRIGGERS && ctr_rc(tracked->conn) == SQLITE_OK; i++)
        compare(tracked, objects, i, quoted);
    tracked->whole = ctr_rc(tracked->conn) == SQLITE_OK;
    if (!tracked->whole) tracked->as_of = 0;
    return ctr_rc(tracked->conn);
}

ctr_tracked *ctr_triggers_hold(ctr_tab *tab)
{
    ctr_tracked *tracked = ctr_tracked_hold(tab);
    if (tracked) check_triggers(tracked, ctr_file_objects(tab->file));
    if (ctr_rc(tab->conn) == SQLITE_OK) return tracked;
    ctr_tracked_release(tracked);
    return NULL;
}

void ctr_triggers_follow(ctr_file *file, const char *counters, const ctr_shape *shape,
                         const char *const *raised, int n_raised)
{
    ctr_tracked tracked;
    const ctr_objects *objects = ctr_file_objects(file);
    if (!objects || !ctr_tracked_is_among(objects, counters)) return;
    ctr_tracked_open(&tracked, objects, counters, shape);
    ctr_run run = ctr_run_on(file->conn, file->schema, counters);
    for (int i = 0; i < n_raised && ctr_rc(file->conn) == SQLITE_OK; i++) {
        int counter = ctr_shape_counter_like(shape, raised[i]);
        if (counter < 0) continue;
        ctr_tracked_column *column = &tracked.columns[shape->n_keys + counter];
        sqlite3_free(column->name);
        column->name = NULL;
        ctr_run_with(&run, CTR_SQL_APART_FORGET_COLUMN, ":column t", raised[i]);
    }
    if (ctr_rc(file->conn) == SQLITE_OK && tracked.table) ctr_triggers_create(&tracked, file);
    ctr_tracked_close(&tracked);
}

/* What a table tracks stays whole until the schema changes. */
int ctr_triggers_check(ctr_file *file, const char *counters)
{
    const ctr_objects *objects = ctr_file_objects(file);
    if (!objects || !ctr_tracked_is_among(objects, counters)) return ctr_rc(file->conn);
    ctr_tab *tab = ctr_tab_known(file, counters);
    const ctr_tracked *known = tab ? tab->tracked : NULL;
    if (known && known->whole && known->as_of == file->schemas) return ctr_rc(file->conn);
    tab = ctr_tab_read(file, counters);
    if (tab) ctr_tracked_release(ctr_triggers_hold(tab));
    return ctr_rc(file->conn);
}

bool ctr_triggers_are_whole(ctr_file *file, const char *counters)
{
    if (ctr_rc(file->conn) != SQLITE_OK) return false;
    ctr_problem broken;
    ctr_problem_try(file->conn, &broken);
    ctr_triggers_check(file, counters);
    bool is_whole = broken.rc == SQLITE_OK;
    ctr_problem_raise_if(file->conn, &broken, broken.rc != SQLITE_ERROR);
    return is_whole;
}

/* ---- from a table to its counters ------------------------------------------------------------ */

bool ctr_triggers_stand_on(const ctr_objects *objects, const char *counters, const char *table)
{
    const char *on = ctr_triggers_table(objects, counters);
    return on && sqlite3_stricmp(on, table) == 0;
}

/* Compares with the table's name when its triggers were last seen or, if no such table exists, when
 * tracking began. */
static bool is_noted_for(const ctr_objects *objects, const ctr_catalog_entry *entry,
                         const char *table)
{
    if (ctr_triggers_table(objects, entry->name)) return false;
    char *noted = ctr_stored_tracked(objects->conn, objects->schema, entry->name);
    bool is_there = noted && ctr_schema_objects_find(objects, noted);
    bool is = (noted && sqlite3_stricmp(noted, table) == 0) ||
              (!is_there && sqlite3_stricmp(entry->birth, table) == 0);
    sqlite3_free(noted);
    return is;
}

char *ctr_triggers_counters(ctr_file *file, const char *table)
{
    char *counters = NULL;
    ctr_catalog catalog = {0};
    ctr_catalog_read(&catalog, file);
    const ctr_objects *objects = ctr_file_objects(file);
    for (int i = 0; i < 2 * catalog.n && !counters && ctr_rc(file->conn) == SQLITE_OK; i++) {
        const ctr_catalog_entry *entry = &catalog.entries[i % catalog.n];
        if (!ctr_tracked_is_among(objects, entry->name)) continue;
        if (i < catalog.n ? !ctr_triggers_stand_on(objects, entry->name, table)
                          : !is_noted_for(objects, entry, table))
            continue;
        counters = ctr_text_copy(file->conn, entry->name);
    }
    ctr_catalog_close(&catalog);
    return counters;
}
