/* tracked/reports.c - the counter table of a tracked table sees and shows that table. */
#include "tracked/tracked.h"

#include <string.h>

const char *ctr_reports_tracked_table(const ctr_table *table, ctr_problem *problem)
{
    const ctr_objects *objects = ctr_file_objects(table->file, problem);
    return objects ? ctr_triggers_table(objects, table->name, problem) : NULL;
}

static void close_look(ctr_table *table)
{
    if (table->reports->looks) ctr_showing_close(table->reports->looks);
    sqlite3_free(table->reports->looks);
    table->reports->looks = NULL;
    table->reports->looked = false;
}

void ctr_reports_open(ctr_table *table, ctr_problem *problem)
{
    table->reports = sqlite3_malloc64(sizeof *table->reports);
    if (table->reports)
        *table->reports = (ctr_reports){.noted = false};
    else
        ctr_problem_nomem(problem);
}

void ctr_reports_close(ctr_table *table)
{
    if (!table->reports) return;
    close_look(table);
    sqlite3_free(table->reports->may_go);
    sqlite3_free(table->reports);
    table->reports = NULL;
}

ctr_opening *ctr_reports_opening(const ctr_table *table)
{
    ctr_opening *opening = table->joined.conn->opening;
    bool is = opening && sqlite3_stricmp(opening->schema, table->schema) == 0 &&
              sqlite3_stricmp(opening->counters, table->name) == 0;
    return is ? opening : NULL;
}

/* The view is kept until the schema changes. SQLite does not always make a new object of this table
 * then: counter_replicate of a new column changes the triggers alone. A view that shows a row just
 * now is in use. */
ctr_showing *ctr_reports_look(ctr_table *table, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return NULL;
    if (table->reports->looked_in != table->file->schemas && !ctr_own_write_runs(table->file))
        close_look(table);
    if (table->reports->looked) return table->reports->looks;
    ctr_showing *looks = sqlite3_malloc64(sizeof *looks);
    if (!looks) {
        ctr_problem_nomem(problem);
        return NULL;
    }
    if (ctr_showing_look(looks, table->rows->tab, problem)) {
        table->reports->looks = looks;
    } else {
        ctr_showing_close(looks);
        sqlite3_free(looks);
    }
    table->reports->looked = problem->rc == SQLITE_OK;
    table->reports->looked_in = table->file->schemas;
    return table->reports->looks;
}

/* The write fires triggers, which may insert another key here, so the key is copied. */
void ctr_reports_show(ctr_table *table, bool is_trigger, const ctr_shown *from,
                      const ctr_summary *before, const ctr_summary *after, ctr_problem *problem)
{
    ctr_showing showing;
    int64_t rowid = table->rows->rowid;
    size_t size = (size_t)table->shape.n_keys * sizeof *table->keys;
    sqlite3_value **keys = sqlite3_malloc64(size);
    if (keys)
        memcpy(keys, table->keys, size);
    else
        ctr_problem_nomem(problem);
    ctr_tab *tab = table->rows->tab;
    bool open = is_trigger ? ctr_showing_look(&showing, tab, problem)
                           : ctr_showing_open(&showing, tab, problem) == SQLITE_OK;
    if (open) ctr_showing_row(&showing, rowid, keys, from, before, after, problem);
    ctr_showing_close(&showing);
    sqlite3_free(keys);
}

void ctr_reports_note_names(ctr_table *table, ctr_problem *problem)
{
    unsigned nth = table->joined.conn->ended + 1;
    if (table->reports->noted) return;
    if (ctr_tracked_note(table->file, table->name, &table->shape, problem))
        table->reports->noted_in = nth;
    table->reports->noted = problem->rc == SQLITE_OK && table->reports->noted_in != nth;
}
