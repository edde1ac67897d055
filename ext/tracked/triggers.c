/* tracked/triggers.c - writes and compares the triggers of a tracked table. */
#include "tracked/tracked.h"

#include <string.h>

/* ---- the triggers in the file ---------------------------------------------------------------- */

const char *ctr_triggers_table(const ctr_objects *objects, const char *counters,
                               ctr_problem *problem)
{
    const ctr_named *trigger = NULL;
    for (int i = 0; i < CTR_N_TRIGGERS && !trigger; i++)
        trigger =
            ctr_schema_objects_trigger(objects, counters, ctr_trigger_texts_suffix(i), problem);
    return trigger ? trigger->on : NULL;
}

static bool is_trigger_of(const char *trigger, const char *counters)
{
    size_t n = strlen(counters);
    if (sqlite3_strnicmp(trigger, counters, (int)n) != 0 || trigger[n] != '_') return false;
    for (int i = 0; i < CTR_N_TRIGGERS; i++)
        if (sqlite3_stricmp(trigger + n + 1, ctr_trigger_texts_suffix(i)) == 0) return true;
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

bool ctr_triggers_are_others(const ctr_tracked *tracked, ctr_file *file, ctr_problem *problem)
{
    bool ours;
    const ctr_objects *objects = ctr_file_objects(file, problem);
    for (size_t i = 0; objects && i < objects->n_triggers; i++)
        if (is_on(&objects->triggers[i], tracked, &ours) && !ours) return true;
    return false;
}

/* What the text of a trigger says. */
typedef struct trigger_says {
    bool is_before;
    ctr_span event; /* INSERT, UPDATE or DELETE */
    bool writes;    /* another table than its own */
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
        if (is_written(before, &words) && !ctr_word_names(words.word, trigger->on))
            says.writes = true;
        before = passed(before, &words);
    }
    return says;
}

bool ctr_triggers_run_later(const ctr_tracked *tracked, ctr_file *file, const char *event,
                            ctr_problem *problem)
{
    bool ours, on_update = false;
    int64_t oldest = INT64_MAX, newest_ours = 0;
    const ctr_objects *objects = ctr_file_objects(file, problem);
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

static int refuse_broken(const ctr_tracked *tracked, const char *trigger, ctr_problem *problem)
{
    return ctr_problem_set(
        problem, SQLITE_ERROR,
        "the trigger %s_%s of the tracked table %s is not as %s makes it, so changes "
        "may not have been counted: call %s('%s', "
        "...) again, which counts them",
        tracked->counters, trigger, tracked->table, ctr_tracked_function(tracked),
        ctr_tracked_function(tracked), tracked->table);
}

void ctr_triggers_drop(sqlite3 *db, const char *schema, const char *counters, ctr_problem *problem)
{
    for (int i = 0; i < CTR_N_TRIGGERS; i++) {
        char *name = sqlite3_mprintf("%s_%s", counters, ctr_trigger_texts_suffix(i));
        if (!name) ctr_problem_nomem(problem);
        ctr_run run = ctr_run_on(db, schema, counters, problem);
        run.slots.name = name;
        ctr_run_do(&run, CTR_SQL_TRACK_DROP_TRIGGER, NULL);
        sqlite3_free(name);
    }
}

/* Fails if a trigger of the application on another table has the name of one of ours. After a
 * rebuild of the tracked table, ours may still stand on the old one. */
static void refuse_taken_name(const ctr_tracked *tracked, const ctr_objects *objects,
                              ctr_problem *problem)
{
    char *writes = sqlite3_mprintf("\"%w\"(_event", tracked->counters);
    if (!writes) ctr_problem_nomem(problem);
    for (int i = 0; i < CTR_N_TRIGGERS && problem->rc == SQLITE_OK; i++) {
        const char *suffix = ctr_trigger_texts_suffix(i);
        const ctr_named *stored =
            ctr_schema_objects_trigger(objects, tracked->counters, suffix, problem);
        if (stored && stored->on && stored->sql &&
            sqlite3_stricmp(stored->on, tracked->table) != 0 && !strstr(stored->sql, writes))
            ctr_problem_set(problem, SQLITE_ERROR,
                            "%s: there is another trigger %s_%s, on %s; tracking makes one of this "
                            "name",
                            tracked->table, tracked->counters, suffix, stored->on);
    }
    sqlite3_free(writes);
}

static int read_terms(ctr_tracked *tracked, ctr_problem *problem)
{
    return ctr_ordinary_read_terms(&tracked->ordinary, tracked->db, tracked->schema, tracked->table,
                                   problem);
}

void ctr_triggers_create(ctr_tracked *tracked, ctr_file *file, ctr_problem *problem)
{
    refuse_taken_name(tracked, ctr_file_objects(file, problem), problem);
    read_terms(tracked, problem);
    if (problem->rc != SQLITE_OK) return;
    ctr_triggers_drop(tracked->db, tracked->schema, tracked->counters, problem);
    for (int i = 0; i < CTR_N_TRIGGERS && problem->rc == SQLITE_OK; i++) {
        char *text = ctr_trigger_texts_get(tracked, i, problem);
        if (text)
            ctr_problem_sqlite(problem, tracked->db,
                               sqlite3_exec(tracked->db, text, NULL, NULL, NULL));
        sqlite3_free(text);
    }
}

/* Looks for the table by its last noted name, or by its name when tracking began. */
static int refuse_lost(const ctr_tracked *tracked, const ctr_objects *objects, ctr_problem *problem)
{
    sqlite3 *db = objects->db;
    const char *schema = objects->schema, *counters = tracked->counters;
    const char *function = ctr_tracked_function(tracked);
    ctr_catalog_entry entry = {0};
    char *noted = ctr_stored_tracked(db, schema, counters, problem);
    bool known = ctr_catalog_named(&entry, db, schema, counters, problem);
    const char *last = noted ? noted : known ? entry.birth : counters, *table = last;
    if (known && !ctr_schema_objects_find(objects, last)) table = entry.birth;
    if (!ctr_schema_objects_find(objects, table))
        ctr_problem_set(problem, SQLITE_ERROR,
                        "the tracked table %s is missing, and its counters are in %s: if it has "
                        "another name now, rename it to %s, call %s('%s', ...), and "
                        "rename it back; if it was dropped by mistake, create it and call "
                        "%s('%s', 'missing=restored'), which brings its rows back; if it was "
                        "dropped for good, drop %s, too",
                        last, counters, last, function, last, function, last, counters);
    ctr_problem_set(problem, SQLITE_ERROR,
                    "the tracked table %s has lost its triggers, so changes may not have been "
                    "counted: call %s('%s', ...) again, which counts them",
                    table, function, table);
    ctr_catalog_close_entry(&entry);
    sqlite3_free(noted);
    return problem->rc;
}

/* Compares a trigger with the one in the file. SQLite stores a text without the schema. */
static void compare(const ctr_tracked *tracked, const ctr_objects *objects, int trigger,
                    const char *quoted, ctr_problem *problem)
{
    static const char CREATE[] = "CREATE TRIGGER ";
    const size_t n = sizeof CREATE - 1;
    const char *suffix = ctr_trigger_texts_suffix(trigger);
    char *wanted = ctr_trigger_texts_get(tracked, trigger, problem);
    const ctr_named *stored =
        ctr_schema_objects_trigger(objects, tracked->counters, suffix, problem);
    const char *text = stored ? stored->sql : NULL;
    bool is = !wanted && !text;
    if (wanted && text)
        is = strncmp(text, CREATE, n) == 0 && strcmp(text + n, wanted + n + strlen(quoted)) == 0;
    if (!is && problem->rc == SQLITE_OK) refuse_broken(tracked, suffix, problem);
    sqlite3_free(wanted);
}

/* Compares all triggers, unless that was done. */
static int check_triggers(ctr_tracked *tracked, const ctr_objects *objects, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK || tracked->whole) return problem->rc;
    if (!tracked->table) return refuse_lost(tracked, objects, problem);
    for (int i = 0; i < tracked->shape->n_keys && problem->rc == SQLITE_OK; i++)
        if (!ctr_tracked_key(tracked, i)->name) refuse_broken(tracked, "insert", problem);
    char *quoted = sqlite3_mprintf("\"%w\".", tracked->schema);
    if (!quoted) ctr_problem_nomem(problem);
    read_terms(tracked, problem);
    for (int i = 0; i < CTR_N_TRIGGERS && problem->rc == SQLITE_OK; i++)
        compare(tracked, objects, i, quoted, problem);
    sqlite3_free(quoted);
    tracked->whole = problem->rc == SQLITE_OK;
    if (!tracked->whole) tracked->as_of = 0;
    return problem->rc;
}

ctr_tracked *ctr_triggers_hold(ctr_tab *tab, ctr_problem *problem)
{
    ctr_tracked *tracked = ctr_tracked_hold(tab, problem);
    if (tracked) check_triggers(tracked, ctr_file_objects(tab->file, problem), problem);
    if (problem->rc == SQLITE_OK) return tracked;
    ctr_tracked_release(tracked);
    return NULL;
}

int ctr_triggers_follow(ctr_file *file, const char *counters, const ctr_shape *shape,
                        const char *const *raised, int n_raised, ctr_problem *problem)
{
    ctr_tracked tracked;
    const ctr_objects *objects = ctr_file_objects(file, problem);
    if (!objects || !ctr_tracked_is_among(objects, counters)) return problem->rc;
    ctr_tracked_open(&tracked, objects, counters, shape, problem);
    ctr_run run = ctr_run_on(file->conn->db, file->schema, counters, problem);
    for (int i = 0; i < n_raised && problem->rc == SQLITE_OK; i++) {
        int counter = ctr_shape_counter_like(shape, raised[i]);
        if (counter < 0) continue;
        ctr_tracked_column *column = &tracked.columns[shape->counters[counter]];
        sqlite3_free(column->name);
        column->name = NULL;
        ctr_run_do(&run, CTR_SQL_TRACK_NONE_APART, raised[i]);
    }
    if (problem->rc == SQLITE_OK && tracked.table) ctr_triggers_create(&tracked, file, problem);
    ctr_tracked_close(&tracked);
    return problem->rc;
}

/* What a table tracks stays whole until the schema changes. */
int ctr_triggers_check(ctr_file *file, const char *counters, ctr_problem *problem)
{
    ctr_shape shape = {0};
    const ctr_objects *objects = ctr_file_objects(file, problem);
    if (!objects || !ctr_tracked_is_among(objects, counters)) return problem->rc;
    ctr_tab *tab = ctr_tab_known(file, counters);
    const ctr_tracked *known = tab ? tab->tracked : NULL;
    if (known && known->whole && known->as_of == file->schemas) return problem->rc;
    if (ctr_tab_read_shape(file, counters, &shape, problem) == SQLITE_OK)
        tab = ctr_tab_of(file, counters, &shape, problem);
    if (problem->rc == SQLITE_OK) ctr_tracked_release(ctr_triggers_hold(tab, problem));
    ctr_shape_close(&shape);
    return problem->rc;
}

/* ---- from a table to its counters ------------------------------------------------------------ */

bool ctr_triggers_stand_on(const ctr_objects *objects, const char *counters, const char *table,
                           ctr_problem *problem)
{
    const char *on = ctr_triggers_table(objects, counters, problem);
    return on && sqlite3_stricmp(on, table) == 0;
}

/* Compares with the table's name when its triggers were last seen or, if no such table exists, when
 * tracking began. */
static bool is_noted_for(const ctr_objects *objects, const ctr_catalog_entry *entry,
                         const char *table, ctr_problem *problem)
{
    if (ctr_triggers_table(objects, entry->name, problem)) return false;
    char *noted = ctr_stored_tracked(objects->db, objects->schema, entry->name, problem);
    bool is_there = noted && ctr_schema_objects_find(objects, noted);
    bool is = (noted && sqlite3_stricmp(noted, table) == 0) ||
              (!is_there && sqlite3_stricmp(entry->birth, table) == 0);
    sqlite3_free(noted);
    return is;
}

char *ctr_triggers_counters(ctr_file *file, const char *table, ctr_problem *problem)
{
    char *counters = NULL;
    ctr_catalog catalog = {0};
    ctr_catalog_read(&catalog, file, problem);
    const ctr_objects *objects = ctr_file_objects(file, problem);
    for (int i = 0; i < 2 * catalog.n && !counters && problem->rc == SQLITE_OK; i++) {
        const ctr_catalog_entry *entry = &catalog.entries[i % catalog.n];
        if (!ctr_tracked_is_among(objects, entry->name)) continue;
        if (i < catalog.n ? !ctr_triggers_stand_on(objects, entry->name, table, problem)
                          : !is_noted_for(objects, entry, table, problem))
            continue;
        counters = sqlite3_mprintf("%s", entry->name);
        if (!counters) ctr_problem_nomem(problem);
    }
    ctr_catalog_close(&catalog);
    return counters;
}
