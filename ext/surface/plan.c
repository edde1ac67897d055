/* surface/plan.c - xBestIndex: equality on a prefix of the key, a range behind it, its order.
 *
 * A plan is a text: for each argument an operator and the key position, then the order: + - or none
 * (.).
 *
 *     "=0=1."      path = ? AND hour = ?                  the whole key
 *     "=0G1L1+"    path = ? AND hour >= ? AND hour <= ?   ORDER BY path, hour
 *     "-"          everything                             ORDER BY path DESC, hour DESC
 *
 * Operators are = > G(>=) < L(<=). Key positions are written as the character '0' + position, so a
 * plan serves the first CTR_PLAN_KEYS columns of a key; further ones are checked by SQLite. It
 * checks all of them again anyway: `omit` is never set, for the comparison that SQLite makes may
 * differ from ours by affinity (scan.c). A constraint is used only if its collation is the key's.
 *
 * The whole key is a unique scan, which lets an UPDATE go in one pass. Where a number may equal
 * several texts it is called unique for an UPDATE alone: of one row SQLite would not sort the rest.
 */
#include "surface/table.h"

enum { CTR_PLAN_KEYS = 64, COST_UNIQUE = 5, ROWS_ALL = 1000000 };

/* Which constraint serves a key column: indexes into aConstraint, or -1. */
typedef struct served {
    int equal, lower, upper;
} served;

static bool is_lower(unsigned char op)
{
    return op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE;
}

static bool is_upper(unsigned char op)
{
    return op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
}

/* A key is never NULL, so IS is no other than =. */
static bool is_equal(unsigned char op)
{
    return op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_IS;
}

static served find_served(const ctr_table *table, sqlite3_index_info *info, int key)
{
    served found = {-1, -1, -1};
    int column = table->shape.keys[key];
    for (int i = 0; i < info->nConstraint; i++) {
        unsigned char op = info->aConstraint[i].op;
        if (!info->aConstraint[i].usable) continue;
        if (info->aConstraint[i].iColumn != ctr_table_column(column)) continue;
        if (!is_equal(op) && !is_lower(op) && !is_upper(op)) continue;
        const char *collation = sqlite3_vtab_collation(info, i);
        if (!collation || sqlite3_stricmp(collation, table->shape.columns[column].collation) != 0)
            continue;
        if (is_equal(op) && found.equal < 0) found.equal = i;
        if (is_lower(op) && found.lower < 0) found.lower = i;
        if (is_upper(op) && found.upper < 0) found.upper = i;
    }
    return found;
}

static char operator_letter(unsigned char op)
{
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_GT: return '>';
    case SQLITE_INDEX_CONSTRAINT_GE: return 'G';
    case SQLITE_INDEX_CONSTRAINT_LT: return '<';
    case SQLITE_INDEX_CONSTRAINT_LE: return 'L';
    default: return '=';
    }
}

static void use(sqlite3_index_info *info, sqlite3_str *plan, int *arguments, int constraint,
                int key)
{
    if (constraint < 0) return;
    info->aConstraintUsage[constraint].argvIndex = ++*arguments;
    char pair[3] = {operator_letter(info->aConstraint[constraint].op), (char)('0' + key), '\0'};
    sqlite3_str_appendall(plan, pair);
}

/* Does the key give this order? Returns '+', '-', or '.' if not. Columns fixed by equality may
 * stand anywhere or not at all; behind the last key column nothing is left to be ordered. */
static char plan_order(const ctr_table *table, const sqlite3_index_info *info, int equal)
{
    char direction = 0;
    int key = equal;
    for (int i = 0; i < info->nOrderBy && key < table->shape.n_keys; i++) {
        bool fixed = false;
        for (int k = 0; k < equal; k++)
            fixed = fixed || info->aOrderBy[i].iColumn == ctr_table_column(table->shape.keys[k]);
        if (fixed) continue;
        if (info->aOrderBy[i].iColumn != ctr_table_column(table->shape.keys[key])) return '.';
        char wanted = info->aOrderBy[i].desc ? '-' : '+';
        if (direction != 0 && direction != wanted) return '.';
        direction = wanted;
        key++;
    }
    return direction ? direction : '+';
}

/* SQLite reads all columns in an UPDATE, hidden ones too, and hardly ever else. */
static bool is_update(const sqlite3_index_info *info)
{
    return info->colUsed == ~(sqlite3_uint64)0;
}

static bool all_numeric(const ctr_table *table)
{
    for (int i = 0; i < table->shape.n_keys; i++) {
        ctr_affinity affinity = table->shape.columns[table->shape.keys[i]].affinity;
        if (affinity == CTR_AFFINITY_TEXT || affinity == CTR_AFFINITY_BLOB) return false;
    }
    return true;
}

int ctr_plan_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const ctr_table *table = (ctr_table *)base;
    int keys = table->shape.n_keys < CTR_PLAN_KEYS ? table->shape.n_keys : CTR_PLAN_KEYS;
    sqlite3_str *plan = sqlite3_str_new(NULL);
    int arguments = 0, equal = 0, ends = 0;
    for (; equal < keys; equal++) {
        served key = find_served(table, info, equal);
        if (key.equal >= 0) {
            use(info, plan, &arguments, key.equal, equal);
            continue;
        }
        use(info, plan, &arguments, key.lower, equal);
        use(info, plan, &arguments, key.upper, equal);
        ends = (key.lower >= 0) + (key.upper >= 0);
        break;
    }

    bool whole = equal == table->shape.n_keys;
    bool unique = whole && (is_update(info) || all_numeric(table));
    double rows = ROWS_ALL;
    for (int i = 0; i < equal; i++) rows /= 100;
    for (int i = 0; i < ends; i++) rows /= 4;
    if (rows < 2) rows = 2;
    info->estimatedRows = whole ? 1 : (sqlite3_int64)rows;
    info->estimatedCost = whole ? COST_UNIQUE : rows * (arguments ? 2 : 1) + COST_UNIQUE;
    if (unique) info->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
    info->idxNum = unique ? CTR_PLAN_UNIQUE : 0;

    char order = info->nOrderBy > 0 ? plan_order(table, info, equal) : '.';
    info->orderByConsumed = order != '.';
    sqlite3_str_appendchar(plan, 1, order);
    info->idxStr = sqlite3_str_finish(plan);
    info->needToFreeIdxStr = 1;
    return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}
