/* store/number.c - takes integers from values of any type. */
#include "store/number.h"

#include "store/describe.h"

static bool integer_of_real(double real, bool is_exact, int64_t *n)
{
    const double most = (double)CTR_NUMBER_REAL_MAX;
    bool fits = is_exact ? real >= -most && real <= most : real > -most && real < most;
    if (!fits) return false;
    *n = (int64_t)real;
    return (double)*n == real;
}

/* Of a copy, for the conversion changes the value, which may be a constant of the statement. */
static bool integer_of_text(sqlite3_value *value, int64_t *n, ctr_problem *problem)
{
    sqlite3_value *copy = sqlite3_value_dup(value);
    if (!copy) {
        ctr_problem_nomem(problem);
        return false;
    }
    int type = sqlite3_value_numeric_type(copy);
    bool is_integer = type == SQLITE_INTEGER;
    if (is_integer) *n = sqlite3_value_int64(copy);
    if (type == SQLITE_FLOAT) is_integer = integer_of_real(sqlite3_value_double(copy), false, n);
    sqlite3_value_free(copy);
    return is_integer;
}

bool ctr_number_take(sqlite3_value *value, int64_t *n, ctr_problem *problem)
{
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER: *n = sqlite3_value_int64(value); return true;
    case SQLITE_FLOAT: return integer_of_real(sqlite3_value_double(value), true, n);
    case SQLITE_TEXT: return integer_of_text(value, n, problem);
    default: return false;
    }
}

char *ctr_number_refusal(sqlite3_value *value)
{
    char *shown = ctr_describe_value(value);
    if (!shown) return NULL;
    const double most = (double)CTR_NUMBER_REAL_MAX;
    double real = sqlite3_value_type(value) == SQLITE_FLOAT ? sqlite3_value_double(value) : 0;
    bool is_large = real < -most || real > most;
    char *text = sqlite3_mprintf("an INTEGER, not %s%s", shown,
                                 is_large ? ", for a REAL is exact up to 9007199254740992" : "");
    sqlite3_free(shown);
    return text;
}
