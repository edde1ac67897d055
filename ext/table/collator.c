/* table/collator.c - compares column by column; equal bytes need no SQL. */
#include "table/collator.h"

#include <string.h>

#include "sqlite/run.h"
#include "sqlite/text.h"

int ctr_collator_open(ctr_collator *collator, sqlite3 *db, const ctr_shape *shape,
                      ctr_problem *problem)
{
    size_t size = (size_t)shape->n_keys * sizeof *collator->compares;
    *collator = (ctr_collator){.db = db, .shape = shape, .compares = sqlite3_malloc64(size)};
    if (!collator->compares) return ctr_problem_nomem(problem);
    memset(collator->compares, 0, size);
    return problem->rc;
}

void ctr_collator_close(ctr_collator *collator)
{
    for (int i = 0; collator->compares && i < collator->shape->n_keys; i++)
        sqlite3_finalize(collator->compares[i]);
    sqlite3_free(collator->compares);
    *collator = (ctr_collator){0};
}

static int ask(ctr_collator *collator, int key, sqlite3_value *a, sqlite3_value *b,
               ctr_problem *problem)
{
    const ctr_shape *shape = collator->shape;
    ctr_run run = ctr_run_on(collator->db, NULL, NULL, problem);
    run.slots.name = shape->columns[shape->keys[key]].collation;
    sqlite3_stmt **keep = &collator->compares[key];
    if (!*keep) *keep = ctr_run_prepare(&run, CTR_SQL_ROWS_COMPARE);
    sqlite3_stmt *statement = *keep;
    if (!statement) return 0;
    int rc = ctr_text_bind_value(statement, 1, a);
    if (rc == SQLITE_OK) rc = ctr_text_bind_value(statement, 2, b);
    if (rc == SQLITE_OK) rc = sqlite3_step(statement);
    int result = rc == SQLITE_ROW ? sqlite3_column_int(statement, 0) : 0;
    ctr_problem_sqlite(problem, collator->db, rc);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return result;
}

int ctr_collator_compare(ctr_collator *collator, sqlite3_value **a, sqlite3_value **b,
                         const char *order, ctr_problem *problem)
{
    for (; *order == '+' || *order == '-'; order += 2) {
        int key = order[1] - '0';
        if (ctr_text_alike(a[key], b[key])) continue;
        int result = ask(collator, key, a[key], b[key], problem);
        if (result != 0) return *order == '-' ? -result : result;
    }
    return 0;
}
