/* counter/plan.c - xBestIndex: equalities on a prefix of the key, a range after it, the order.
 *
 * A plan is a text; see table/table.h. It serves the first CTR_STREAM_KEYS columns of a key. SQLite
 * checks all constraints again: `omit` is never set, because SQLite's comparison may differ from
 * ours by affinity. A constraint is used only if it has the collation of the key.
 *
 * On columns of TEXT affinity or none, SQLite's comparison may differ, and the search may be unable
 * to use the argument (scan.c). So such an equality fixes no column for ORDER BY, and a whole key
 * does not promise a single row, except in an UPDATE, which runs in one pass only with that
 * promise. On these columns one IN for each plan is passed all at once (scan.c); on a column of
 * numbers SQLite turns an IN into equalities.
 */
#include "counter/counter.h"

enum { COST_UNIQUE = 5, ROWS_ALL = 1000000, ELEMENTS = 25 };

/* SQLite keeps flags of constraints and arguments in BITS bits. */
enum { ALL_AT_ONCE = 3038000, BITS = 32 };

/* Returns whether constraint i may be an IN whose elements come all at once; before SQLite 3.38
 * none is. SQLite answers only for the first 32 constraints, so any later one may be. */
static bool may_be_in(sqlite3_index_info *info, int i)
{
#if SQLITE_VERSION_NUMBER >= 3038000
    if (sqlite3_libversion_number() >= ALL_AT_ONCE)
        return i >= BITS || sqlite3_vtab_in(info, i, -1);
#endif
    (void)info, (void)i;
    return false;
}

/* Requests all elements at once as argument number `argument`, counted from 1. Returns false if
 * SQLite cannot pass them. */
static bool ask_elements(sqlite3_index_info *info, int i, int argument)
{
#if SQLITE_VERSION_NUMBER >= 3038000
    return argument <= BITS && sqlite3_vtab_in(info, i, 1);
#else
    (void)info, (void)i, (void)argument;
    return false;
#endif
}

/* The constraints that serve a key column: indexes into aConstraint, or -1. */
typedef struct served {
    int equal, in, lower, upper;
} served;

static bool is_lower(unsigned char op)
{
    return op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE;
}

static bool is_upper(unsigned char op)
{
    return op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
}

/* A key is never NULL, so IS means =. */
static bool is_equal(unsigned char op)
{
    return op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_IS;
}

/* Returns whether an equality fixes the key column: a column of numbers converts both sides to
 * numbers. */
static bool is_numeric(const ctr_table *table, int key)
{
    ctr_affinity affinity = table->shape.columns[table->shape.keys[key]].affinity;
    return affinity != CTR_AFFINITY_TEXT && affinity != CTR_AFFINITY_BLOB;
}

static served find_served(const ctr_table *table, sqlite3_index_info *info, int key)
{
    served found = {-1, -1, -1, -1};
    int column = table->shape.keys[key];
    for (int i = 0; i < info->nConstraint; i++) {
        unsigned char op = info->aConstraint[i].op;
        if (!info->aConstraint[i].usable) continue;
        if (info->aConstraint[i].iColumn != ctr_table_column(column)) continue;
        if (!is_equal(op) && !is_lower(op) && !is_upper(op)) continue;
        const char *collation = sqlite3_vtab_collation(info, i);
        if (!collation || sqlite3_stricmp(collation, table->shape.columns[column].collation) != 0)
            continue;
        bool in = is_equal(op) && !is_numeric(table, key) && may_be_in(info, i);
        if (in && found.in < 0) found.in = i;
        if (is_equal(op) && !in && found.equal < 0) found.equal = i;
        if (is_lower(op) && found.lower < 0) found.lower = i;
        if (is_upper(op) && found.upper < 0) found.upper = i;
    }
    return found;
}

/* Makes the constraint the next argument, and appends its pair to the plan. */
static void use(sqlite3_index_info *info, sqlite3_str *plan, int *arguments, int constraint,
                char letter, int key)
{
    info->aConstraintUsage[constraint].argvIndex = ++*arguments;
    char pair[3] = {letter, (char)('0' + key), '\0'};
    sqlite3_str_appendall(plan, pair);
}

/* Uses an end of a range, if there is one. */
static void use_end(sqlite3_index_info *info, sqlite3_str *plan, int *arguments, int constraint,
                    int key)
{
    if (constraint < 0) return;
    switch (info->aConstraint[constraint].op) {
    case SQLITE_INDEX_CONSTRAINT_GT: use(info, plan, arguments, constraint, '>', key); break;
    case SQLITE_INDEX_CONSTRAINT_GE: use(info, plan, arguments, constraint, 'G', key); break;
    case SQLITE_INDEX_CONSTRAINT_LT: use(info, plan, arguments, constraint, '<', key); break;
    case SQLITE_INDEX_CONSTRAINT_LE: use(info, plan, arguments, constraint, 'L', key); break;
    default: break;
    }
}

/* Plans the ORDER BY if the index over the key can serve it: fixed columns may stand anywhere; the
 * others must be in the order of the key, all in one direction. Terms after the whole key are
 * ignored. `fixed` is the number of columns with an equality; `order` receives the text. */
static bool plan_order(const ctr_table *table, const sqlite3_index_info *info, int fixed,
                       sqlite3_str *order)
{
    bool planned[CTR_STREAM_KEYS] = {false};
    int unplanned = table->shape.n_keys, next = fixed, direction = -1;
    for (int i = 0; i < fixed; i++) unplanned -= planned[i] = is_numeric(table, i);
    for (int i = 0; i < info->nOrderBy && unplanned > 0; i++) {
        int key = 0, n = table->shape.n_keys, desc = info->aOrderBy[i].desc;
        while (key < n && ctr_table_column(table->shape.keys[key]) != info->aOrderBy[i].iColumn)
            key++;
        if (key == n || key > next || key >= CTR_STREAM_KEYS) return false;
        if (key == next) {
            if (direction >= 0 && direction != desc) return false;
            direction = desc;
            next++;
        }
        unplanned -= !planned[key];
        planned[key] = true;
        char pair[3] = {desc ? '-' : '+', (char)('0' + key), '\0'};
        sqlite3_str_appendall(order, pair);
    }
    return true;
}

/* The contents of a plan: equalities, one of which may be an IN, then the ends of one range. */
typedef struct used {
    int equal, ends;
    bool in;
} used;

static used use_constraints(const ctr_table *table, sqlite3_index_info *info, sqlite3_str *plan)
{
    int keys = table->shape.n_keys < CTR_STREAM_KEYS ? table->shape.n_keys : CTR_STREAM_KEYS;
    int arguments = 0;
    used all = {0, 0, false};
    for (; all.equal < keys; all.equal++) {
        served key = find_served(table, info, all.equal);
        if (key.equal >= 0) {
            use(info, plan, &arguments, key.equal, '=', all.equal);
        } else if (key.in >= 0 && !all.in && ask_elements(info, key.in, arguments + 1)) {
            use(info, plan, &arguments, key.in, 'I', all.equal);
            all.in = true;
        } else {
            use_end(info, plan, &arguments, key.lower, all.equal);
            use_end(info, plan, &arguments, key.upper, all.equal);
            all.ends = (key.lower >= 0) + (key.upper >= 0);
            break;
        }
    }
    return all;
}

/* Guesses: an equality keeps one row in a hundred, an end of a range one in four. */
static void estimate(sqlite3_index_info *info, used all, bool whole)
{
    double rows = ROWS_ALL, searches = all.in ? ELEMENTS : 1;
    for (int i = 0; i < all.equal; i++) rows /= 100;
    for (int i = 0; i < all.ends; i++) rows /= 4;
    if (rows < 2) rows = 2;
    bool narrowed = all.equal + all.ends > 0;
    info->estimatedRows = (sqlite3_int64)(searches * (whole ? 1 : rows));
    info->estimatedCost =
        searches * (whole ? COST_UNIQUE : rows * (narrowed ? 2 : 1) + COST_UNIQUE);
}

/* Returns whether the statement reads a key column. */
static bool uses_keys(const ctr_table *table, const sqlite3_index_info *info)
{
    enum { LAST_BIT = 63 }; /* for this column and all later ones */
    sqlite3_uint64 keys = 0;
    for (int i = 0; i < table->shape.n_keys; i++) {
        int column = ctr_table_column(table->shape.keys[i]);
        keys |= (sqlite3_uint64)1 << (column < LAST_BIT ? column : LAST_BIT);
    }
    return (info->colUsed & keys) != 0;
}

int ctr_plan_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const ctr_table *table = (ctr_table *)base;
    sqlite3_str *plan = sqlite3_str_new(NULL), *order = sqlite3_str_new(NULL);
    used all = use_constraints(table, info, plan);
    bool whole = all.equal == table->shape.n_keys;
    /* An UPDATE reads all columns, including hidden ones; other statements rarely do. */
    bool unique = whole && !all.in, updates = info->colUsed == ~(sqlite3_uint64)0;
    for (int i = 0; i < table->shape.n_keys && !updates; i++)
        unique = unique && is_numeric(table, i);
    estimate(info, all, whole);
    if (unique) info->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
    info->idxNum = unique ? CTR_PLAN_UNIQUE : 0;

    info->orderByConsumed =
        info->nOrderBy > 0 && !all.in && plan_order(table, info, all.equal, order);
    bool lost = sqlite3_str_errcode(order) != SQLITE_OK;
    char *columns = sqlite3_str_finish(order);
    bool keyless = !table->front && all.equal + all.ends == 0 && !all.in && !uses_keys(table, info);
    sqlite3_str_appendf(plan, ".%s%s", info->orderByConsumed && columns ? columns : "",
                        keyless ? CTR_STREAM_KEYLESS : "");
    sqlite3_free(columns);
    info->idxStr = sqlite3_str_finish(plan);
    info->needToFreeIdxStr = 1;
    return info->idxStr && !lost ? SQLITE_OK : SQLITE_NOMEM;
}
