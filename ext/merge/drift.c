/* merge/drift.c - compares rows that two files began to replicate apart. */
#include "merge/merge.h"

static bool is_number(sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

/* 1 and 1.0 are one value: the columns may be declared differently. */
static bool is_one_value(sqlite3_value *a, sqlite3_value *b)
{
    if (ctr_text_same(a, b)) return true;
    return is_number(a) && is_number(b) && sqlite3_value_double(a) == sqlite3_value_double(b);
}

static void note_row(ctr_merge *merge, int column, sqlite3_value *mine, sqlite3_value *theirs,
                     ctr_problem *problem)
{
    ctr_drift *drift = &merge->drift;
    const ctr_registry *registry = ctr_regular_of(merge->rows.tab, problem);
    if (drift->rows++ > 0 || !registry) return;
    drift->key = ctr_problem_describe_key(merge->keys, merge->shape.n_keys);
    drift->column = ctr_text_copy(registry->columns[column].noted, problem);
    drift->values[0] = ctr_problem_describe_value(mine);
    drift->values[1] = ctr_problem_describe_value(theirs);
    if (!drift->key || !drift->values[0] || !drift->values[1]) ctr_problem_nomem(problem);
}

void ctr_drift_compare(ctr_merge *merge, sqlite3_value *const *theirs, const int *map,
                       ctr_problem *problem)
{
    ctr_row_values *mine = &merge->mine;
    if (!mine->tab && problem->rc == SQLITE_OK) ctr_row_values_open(mine, merge->rows.tab, problem);
    ctr_row_values_read(mine, merge->rows.rowid, merge->keys, false, problem);
    for (int i = 0; problem->rc == SQLITE_OK && i < mine->n; i++) {
        sqlite3_value *value = map[i] >= 0 ? theirs[map[i]] : NULL;
        if (!merge->apart[i] || !mine->given[i] || !value || is_one_value(mine->given[i], value))
            continue;
        note_row(merge, i, mine->given[i], value, problem);
        break;
    }
    ctr_row_values_reset(mine);
}

static void forget_drift(ctr_drift *drift)
{
    sqlite3_free(drift->key);
    sqlite3_free(drift->column);
    sqlite3_free(drift->values[0]);
    sqlite3_free(drift->values[1]);
    *drift = (ctr_drift){0};
}

void ctr_drift_close(ctr_merge *merge)
{
    forget_drift(&merge->drift);
    ctr_row_values_close(&merge->mine);
}

int ctr_drift_refuse(ctr_merge *merge, const char *table, const char *here, const char *there,
                     bool gives, ctr_problem *problem)
{
    ctr_drift *drift = &merge->drift;
    if (drift->rows > 0 && problem->rc == SQLITE_OK)
        ctr_problem_set(
            problem, SQLITE_ERROR,
            "two files began to replicate it apart, and %lld row%s that both had: row "
            "%s, column %s: %s %s, %s %s: call counter_replicate(%Q, 'values=newest') in the file "
            "whose values win, or counter_replicate(%Q, 'values=oldest') in the other; what was "
            "written since then stays newer",
            (long long)drift->rows, drift->rows == 1 ? " differs" : "s differ", drift->key,
            drift->column, drift->values[gives], gives ? there : here, drift->values[!gives],
            gives ? here : there, table, table);
    forget_drift(drift);
    return problem->rc;
}
