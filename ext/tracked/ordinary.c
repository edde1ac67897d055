/* tracked/ordinary.c - reads the columns and the indexes of an ordinary table. */
#include "tracked/tracked.h"

#include <string.h>

/* Copies a text of a row; NULL stays NULL. */
static char *copy_column(sqlite3_stmt *row, int column, ctr_problem *problem)
{
    const char *text = ctr_text_column(row, column, problem);
    char *copy = text ? sqlite3_mprintf("%s", text) : NULL;
    if (text && !copy) ctr_problem_nomem(problem);
    return copy;
}

int ctr_ordinary_read(ctr_ordinary *ordinary, sqlite3 *db, const char *schema, const char *table,
                      ctr_problem *problem)
{
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    run.slots.name = table;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_SCHEMA_COLUMNS);
    while (ctr_run_row(&run, row)) {
        ctr_described *columns = ctr_array_room(ordinary->columns, &ordinary->room, ordinary->n + 1,
                                                sizeof *columns, problem);
        if (!columns) break;
        ordinary->columns = columns;
        columns[ordinary->n++] = (ctr_described){.name = copy_column(row, 1, problem),
                                                 .type = copy_column(row, 2, problem),
                                                 .not_null = sqlite3_column_int(row, 3) != 0,
                                                 .value = copy_column(row, 4, problem),
                                                 .key = sqlite3_column_int(row, 5) - 1,
                                                 .generated = sqlite3_column_int(row, 6) != 0};
    }
    sqlite3_finalize(row);
    return problem->rc;
}

/* `index` is a row of SCHEMA_INDEXES. */
static void read_index_terms(ctr_ordinary *ordinary, ctr_run *run, sqlite3_stmt *index)
{
    ctr_problem *problem = run->problem;
    const char *name = ctr_text_column(index, 1, problem),
               *origin = ctr_text_column(index, 3, problem);
    if (!name || !origin || !sqlite3_column_int(index, 2)) return;
    run->slots.name = name;
    sqlite3_stmt *row = ctr_run_prepare(run, CTR_SQL_SCHEMA_INDEX_COLUMNS);
    while (ctr_run_row(run, row)) {
        if (!sqlite3_column_int(row, 5)) continue; /* not a part of the key */
        ctr_term *terms = ctr_array_room(ordinary->terms, &ordinary->room_terms,
                                         ordinary->n_terms + 1, sizeof *terms, problem);
        if (!terms) break;
        ordinary->terms = terms;
        terms[ordinary->n_terms++] = (ctr_term){.index = copy_column(index, 1, problem),
                                                .name = copy_column(row, 2, problem),
                                                .collation = copy_column(row, 4, problem),
                                                .number = sqlite3_column_int(row, 0),
                                                .is_primary = strcmp(origin, "pk") == 0,
                                                .is_partial = sqlite3_column_int(index, 4) != 0};
    }
    sqlite3_finalize(row);
}

int ctr_ordinary_read_terms(ctr_ordinary *ordinary, sqlite3 *db, const char *schema,
                            const char *table, ctr_problem *problem)
{
    if (ordinary->has_terms) return problem->rc;
    ctr_run run = ctr_run_on(db, schema, NULL, problem), of_index = run;
    run.slots.name = table;
    sqlite3_stmt *index = ctr_run_prepare(&run, CTR_SQL_SCHEMA_INDEXES);
    while (ctr_run_row(&run, index)) read_index_terms(ordinary, &of_index, index);
    sqlite3_finalize(index);
    ordinary->has_terms = problem->rc == SQLITE_OK;
    return problem->rc;
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
