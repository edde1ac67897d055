/* tracked/noted.c - the noted names of a tracked table and of its columns. */
#include "tracked/tracked.h"

#include <string.h>

enum { NOTED_COUNTER, NOTED_NAME };

void ctr_noted_read(ctr_tracked *tracked, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_NOTED);
    while (ctr_run_row(&run, row)) {
        const char *counter = ctr_text_column(row, NOTED_COUNTER, problem),
                   *name = ctr_text_column(row, NOTED_NAME, problem);
        int i = counter && *counter && name ? ctr_shape_column_like(tracked->shape, counter) : -1;
        if (i < 0 || tracked->columns[i].name) continue;
        tracked->columns[i].name = ctr_text_copy(name, problem);
    }
    sqlite3_finalize(row);
}

void ctr_noted_read_regular(ctr_tracked *tracked, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_REGULAR_COLUMNS);
    while (ctr_run_row(&run, row)) {
        const char *name = ctr_text_column(row, 1, problem),
                   *column = ctr_text_column(row, 2, problem);
        if (!name || !column) continue;
        ctr_tracked_regular *regular =
            ctr_array_room(tracked->regular, &tracked->room_regular, (size_t)tracked->n_regular + 1,
                           sizeof *regular, problem);
        if (!regular) break;
        tracked->regular = regular;
        regular[tracked->n_regular++] =
            (ctr_tracked_regular){.number = sqlite3_column_int(row, 0),
                                  .name = ctr_text_copy(name, problem),
                                  .column = ctr_text_copy(column, problem)};
    }
    sqlite3_finalize(row);
}

/* Returns the counter or key column `i`, "" for -1, and sets the name to note for it; -1: that of
 * the table. */
static const char *name_to_note(const ctr_tracked *tracked, int i, const char **name)
{
    *name = i < 0 ? tracked->table : tracked->columns[i].name;
    return i < 0 ? "" : tracked->shape->columns[i].name;
}

/* Returns whether each name is noted, and nothing else. */
static bool are_names_noted(const ctr_tracked *tracked, ctr_problem *problem)
{
    int notes = 0, names = 0;
    const char *name;
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_NOTED);
    while (ctr_run_row(&run, row)) {
        const char *counter = ctr_text_column(row, NOTED_COUNTER, problem),
                   *noted = ctr_text_column(row, NOTED_NAME, problem);
        if (!counter || !noted) continue;
        int i = *counter ? ctr_shape_column_like(tracked->shape, counter) : -1;
        if (!*counter || i >= 0) name_to_note(tracked, i, &name);
        bool same = (!*counter || i >= 0) && name && strcmp(name, noted) == 0;
        notes += same ? 1 : tracked->shape->n_columns + 2;
    }
    sqlite3_finalize(row);
    for (int i = -1; i < tracked->shape->n_columns; i++) {
        name_to_note(tracked, i, &name);
        names += name != NULL;
    }
    return notes == names;
}

static void write_notes(const ctr_tracked *tracked, ctr_problem *problem)
{
    ctr_run run = ctr_run_on(tracked->db, tracked->schema, tracked->counters, problem);
    sqlite3_stmt *gone = ctr_run_prepare(&run, CTR_SQL_TRACK_NOT_NOTED),
                 *note = ctr_run_prepare(&run, CTR_SQL_TRACK_NOTE);
    ctr_run_row(&run, gone);
    for (int i = -1; i < tracked->shape->n_columns && problem->rc == SQLITE_OK; i++) {
        const char *name, *counter = name_to_note(tracked, i, &name);
        if (!name) continue;
        ctr_run_bind_text(&run, note, ":name", name);
        ctr_run_bind_text(&run, note, ":counter", counter);
        ctr_run_row(&run, note);
        sqlite3_reset(note);
    }
    sqlite3_finalize(gone);
    sqlite3_finalize(note);
}

/* Notes the present names of regular columns. Returns whether some was noted by another name. */
static bool note_regular(const ctr_tracked *tracked, ctr_file *file, ctr_problem *problem)
{
    bool any = false;
    ctr_tab *tab = ctr_tab_of(file, tracked->counters, tracked->shape, problem);
    for (int i = 0; tab && i < tracked->n_regular; i++) {
        const ctr_tracked_regular *regular = &tracked->regular[i];
        const ctr_registry *registry = ctr_regular_of(tab, problem);
        if (!registry) break;
        const char *noted = registry->columns[regular->number].noted;
        if (!regular->column || (noted && strcmp(noted, regular->column) == 0)) continue;
        ctr_regular_note(tab, regular->number, regular->name, regular->column, problem);
        any = true;
    }
    return any;
}

bool ctr_noted_write(const ctr_tracked *tracked, ctr_file *file, ctr_problem *problem)
{
    bool writes = !are_names_noted(tracked, problem) && problem->rc == SQLITE_OK;
    if (writes) write_notes(tracked, problem);
    if (tracked->shape->replicated) writes = note_regular(tracked, file, problem) || writes;
    return writes;
}
