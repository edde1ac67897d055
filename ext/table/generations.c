/* table/generations.c - reads <table>_columns and holds it against the stored cells. */
#include "table/generations.h"

#include <string.h>

#include "sqlite/text.h"

static void check_generations(ctr_run *run)
{
    char *stored = sqlite3_mprintf("%s_columns", run->slots.table);
    if (!stored) ctr_problem_nomem(run->problem);
    if (run->problem->rc == SQLITE_OK &&
        !ctr_schema_is_table(run->db, run->slots.schema, stored, run->problem))
        ctr_problem_set(run->problem, SQLITE_CORRUPT_VTAB, "the stored table %s is missing",
                        stored);
    if (run->problem->rc == SQLITE_OK)
        ctr_schema_refuse_generated(run->db, run->slots.schema, stored, run->problem);
    sqlite3_free(stored);
}

static int damaged_generation(ctr_run *run, const char *what, const char *name)
{
    return ctr_problem_set(run->problem, SQLITE_CORRUPT_VTAB,
                           "the stored table %s_columns is damaged: %s%s", run->slots.table, what,
                           name);
}

/* One row of <table>_columns: it must be true of the stored table. */
static void read_generation(ctr_run *run, sqlite3_stmt *row, ctr_shape *shape)
{
    bool plain =
        sqlite3_column_type(row, 0) == SQLITE_TEXT && sqlite3_column_type(row, 1) == SQLITE_INTEGER;
    const char *name = ctr_text_column(row, 0, run->problem), *spelling;
    int64_t generation = sqlite3_column_int64(row, 1);
    if (!plain || generation < 1 || generation > CTR_GENERATION_MAX) {
        damaged_generation(run, "it has a row that is no name and its generation", "");
        return;
    }
    if (!name) return;
    if (ctr_declaration_reserves(name)) damaged_generation(run, "it has the name ", name);
    for (int i = 0; i < shape->n_keys; i++)
        if (sqlite3_stricmp(shape->columns[shape->keys[i]].name, name) == 0)
            damaged_generation(run, "it has the key column ", name);
    int counter = ctr_shape_counter(shape, name);
    bool known = ctr_shape_generation(shape, name, &spelling) > 0;
    if (counter >= 0 && shape->columns[shape->counters[counter]].listed)
        damaged_generation(run, "it has twice the name ", name);
    if (known != (counter >= 0) || (generation % 2 == 1) != (counter >= 0))
        damaged_generation(run, "the stored cells say something else of column ", name);
    if (run->problem->rc != SQLITE_OK) return;
    if (counter < 0) ctr_shape_add_gone(shape, name, generation, run->problem);
    if (counter < 0) return;
    shape->columns[shape->counters[counter]].generation = generation;
    shape->columns[shape->counters[counter]].listed = true;
}

void ctr_generations_read(ctr_shape *shape, ctr_run *run)
{
    check_generations(run);
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_COLUMNS_ALL);
    while (ctr_run_row(run, row)) read_generation(run, row, shape);
    sqlite3_finalize(row);
}
