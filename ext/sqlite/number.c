/* sqlite/number.c - takes integers from values of any type. */
#include "sqlite/number.h"

#include "sqlite/problem.h"
#include "sqlite/run.h"
#include "sqlite/text.h"

enum { PLAIN_DIGITS = 18 }; /* fewer than the greatest integer has */

static bool integer_of_real(double real, bool is_exact, int64_t *n)
{
    const double most = (double)CTR_NUMBER_REAL_MAX;
    bool fits = is_exact ? real >= -most && real <= most : real > -most && real < most;
    if (!fits) return false;
    *n = (int64_t)real;
    return (double)*n == real;
}

static ctr_number number_of(sqlite3_value *value, int type)
{
    ctr_number number = {.type = type};
    if (type == SQLITE_INTEGER) number.integer = sqlite3_value_int64(value);
    if (type == SQLITE_FLOAT) number.real = sqlite3_value_double(value);
    return number;
}

/* SQLite converts a value in place, and it may be a constant of the statement. A duplicate would
 * belong to no connection, and newer versions convert no such value. So a statement makes the
 * copy. */
ctr_number ctr_number_of(sqlite3 *db, sqlite3_value *value, ctr_problem *problem)
{
    ctr_number number = number_of(value, sqlite3_value_type(value));
    if (number.type != SQLITE_TEXT || problem->rc != SQLITE_OK) return number;
    ctr_run run = ctr_run_on(db, "main", NULL, problem);
    run.slots.values = "?1";
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_ROWS_OF_PARAMETERS);
    if (row) ctr_problem_sqlite(problem, db, ctr_text_bind_value(row, 1, value));
    if (ctr_run_row(&run, row)) {
        sqlite3_value *copy = sqlite3_column_value(row, 0);
        number = number_of(copy, sqlite3_value_numeric_type(copy));
    }
    sqlite3_finalize(row);
    return number;
}

/* Most texts are digits and perhaps a sign. */
static bool is_plain(const char *text, size_t size, int64_t *n)
{
    size_t sign = size > 0 && (*text == '-' || *text == '+');
    int64_t sum = 0;
    if (size <= sign || size - sign > PLAIN_DIGITS) return false;
    for (size_t i = sign; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        sum = 10 * sum + (text[i] - '0');
    }
    *n = *text == '-' ? -sum : sum;
    return true;
}

static bool integer_of_text(sqlite3 *db, sqlite3_value *value, int64_t *n, ctr_problem *problem)
{
    const char *text = ctr_text_value(value, problem);
    if (!text) return false;
    if (is_plain(text, (size_t)sqlite3_value_bytes(value), n)) return true;
    ctr_number number = ctr_number_of(db, value, problem);
    *n = number.integer;
    return number.type == SQLITE_INTEGER ||
           (number.type == SQLITE_FLOAT && integer_of_real(number.real, false, n));
}

bool ctr_number_take(sqlite3 *db, sqlite3_value *value, int64_t *n, ctr_problem *problem)
{
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER: *n = sqlite3_value_int64(value); return true;
    case SQLITE_FLOAT: return integer_of_real(sqlite3_value_double(value), true, n);
    case SQLITE_TEXT: return integer_of_text(db, value, n, problem);
    default: return false;
    }
}

char *ctr_number_refusal(sqlite3_value *value)
{
    char *shown = ctr_problem_describe_value(value);
    if (!shown) return NULL;
    const double most = (double)CTR_NUMBER_REAL_MAX;
    double real = sqlite3_value_type(value) == SQLITE_FLOAT ? sqlite3_value_double(value) : 0;
    const double beyond = 9223372036854775808.0; /* SQLite's result for a sum that is too large */
    const char *why = "";
    if (real < -most || real > most) why = ": a REAL is exact only up to 9007199254740992";
    if (real <= -beyond || real >= beyond) why = ": integer overflow";
    char *text = sqlite3_mprintf("an INTEGER, not %s%s", shown, why);
    sqlite3_free(shown);
    return text;
}
