/* tracked/blockers.c - names the row that stands in the way of one that is apart.
 *
 *     UNIQUE constraint failed: p.code: the row ('jam') has code '4711'
 *     FOREIGN KEY constraint failed: customers has no row with id = 7
 *     FOREIGN KEY constraint failed: the row (3) of orders refers to it by customer (and 4 more)
 *
 * The row is looked up when counter_tracked is read, not when the table refuses: the application
 * may have changed rows since, and a merge that tries thousands of rows in vain looks up nothing.
 * The error that is stored says which constraint to look at, and stays alone if
 *
 *     no row stands in the way any more: the next merge tries again
 *     code of the file decides, which a read must not run: the condition of a partial index, an
 *         expression, a generated column
 *     the value is not known that the row would have, such as a DEFAULT
 *     this connection cannot look: it lacks the collation, or has an authorizer
 */
#include "tracked/tracked.h"

#include <string.h>

/* A row that is apart; all of it is borrowed. */
typedef struct blocked_row {
    ctr_conn *conn;
    ctr_tracked *tracked;
    ctr_showing *showing;
    ctr_row *row; /* NULL: its counts are not known */
    const ctr_apart_row *apart;
    sqlite3_value **keys;
    bool ended; /* it is to be deleted */
} blocked_row;

/* ---- the values that it is to have ----------------------------------------------------------- */

/* Returns the merged value of a regular column, number i of the table; NULL: the table shows it. */
static sqlite3_value *listed_value(const blocked_row *row, int i)
{
    return row->apart->shown[row->tracked->shape->n_counters + i].value;
}

/* Returns whether a merge writes this column. */
static bool is_merged(const blocked_row *row, const char *name)
{
    const ctr_shape *shape = row->tracked->shape;
    int i = ctr_tracked_named(row->tracked, name);
    if (row->apart->waits) return true;
    if (i < 0 || i < shape->n_keys) return false;
    return i < shape->n_columns || listed_value(row, i - shape->n_columns);
}

static bool append_count(const blocked_row *row, sqlite3_str *out, int counter)
{
    ctr_shown shown;
    if (!row->row) return false;
    ctr_summary state = ctr_row_state(row->row, counter);
    bool is = ctr_showing_value(row->showing, counter, &state, &shown);
    if (!is || row->apart->withheld) return false;
    if (shown.null)
        sqlite3_str_appendall(out, "NULL");
    else
        sqlite3_str_appendf(out, "(%lld)", (long long)shown.n);
    return true;
}

/* Appends the value that the row is to have in a column, as an expression without affinity: that of
 * the column it is compared with decides. Returns false if it is not known. */
static bool append_wanted(const blocked_row *row, sqlite3_str *out, const char *name)
{
    const ctr_tracked *tracked = row->tracked;
    const ctr_described *column = ctr_ordinary_column(&tracked->ordinary, name);
    if (!column || column->generated) return false;
    int i = ctr_tracked_named(tracked, name), n_keys = tracked->shape->n_keys;
    int regular = i - tracked->shape->n_columns;
    if (i >= n_keys && regular < 0) return append_count(row, out, i - n_keys);
    if (i >= 0 && i < n_keys) {
        sqlite3_str_appendf(out, "?%d", 1 + i);
    } else if (i >= 0 && listed_value(row, regular)) {
        sqlite3_str_appendf(out, "?%d", 1 + n_keys + regular);
    } else if (row->apart->waits) {
        return false;
    } else {
        sqlite3_str_appendf(out, "+(SELECT s.\"%w\" FROM \"%w\".\"%w\" AS s WHERE ", name,
                            tracked->schema, tracked->table);
        ctr_list_bound_key(tracked, out, "s.");
        sqlite3_str_appendall(out, ")");
    }
    return true;
}

/* ---- looking --------------------------------------------------------------------------------- */

/* The key, then the merged values of regular columns; the statement may have fewer parameters. */
static void bind_wanted(const blocked_row *row, sqlite3_stmt *statement)
{
    const ctr_shape *shape = row->tracked->shape;
    int rc = SQLITE_OK, n = sqlite3_bind_parameter_count(statement);
    for (int i = 0; i < shape->n_keys && i < n && rc == SQLITE_OK; i++)
        rc = ctr_pack_bind_stored(row->conn, statement, 1 + i, &shape->columns[shape->keys[i]],
                                  row->keys[i]);
    n -= shape->n_keys;
    for (int i = 0; i < row->tracked->n_regular && i < n && rc == SQLITE_OK; i++)
        if (listed_value(row, i))
            rc = ctr_text_bind_value(statement, 1 + shape->n_keys + i, listed_value(row, i));
    ctr_problem_sqlite(row->conn, rc);
}

/* Finishes `sql`, and steps to the first row of SELECT `sql`, unless its values are not known.
 * Returns NULL if there is none, or if one of its first n columns is NULL: an authorizer hides it,
 * or no key tells the row from others. The caller finalizes the statement. */
static sqlite3_stmt *find_blocker(const blocked_row *row, sqlite3_str *sql, bool known, int n)
{
    ctr_run run = ctr_run_on(row->conn, row->tracked->schema, NULL);
    run.slots.value = ctr_text_built(row->conn, sql);
    sqlite3_stmt *found = known ? ctr_run_prepare(&run, CTR_SQL_TRACK_VALUE) : NULL;
    if (!found) return NULL;
    bind_wanted(row, found);
    bool is = ctr_run_row(&run, found);
    for (int i = 0; is && i < n; i++) is = sqlite3_column_type(found, i) != SQLITE_NULL;
    if (is) return found;
    sqlite3_finalize(found);
    return NULL;
}

/* Appends the first n columns of a row: ('jam', 12). */
static void append_key(const blocked_row *row, sqlite3_str *out, sqlite3_stmt *found, int n)
{
    for (int i = 0; i < n; i++) {
        sqlite3_str_appendall(out, i ? ", " : "(");
        if (!ctr_problem_append_value(out, sqlite3_column_value(found, i)))
            ctr_problem_nomem(row->conn);
    }
    sqlite3_str_appendall(out, ")");
}

/* Appends a column and its value, one of several: code '4711' and place 3. */
static void append_pair(const blocked_row *row, sqlite3_str *out, const char *name,
                        const char *between, sqlite3_value *value, bool first)
{
    sqlite3_str_appendf(out, "%s%s%s", first ? "" : " and ", name, between);
    if (!ctr_problem_append_value(out, value)) ctr_problem_nomem(row->conn);
}

/* ---- UNIQUE ---------------------------------------------------------------------------------- */

/* Returns the number of terms of the index that begins here. */
static size_t count_terms(const ctr_ordinary *ordinary, size_t first)
{
    size_t n = 1;
    while (first + n < ordinary->n_terms && ordinary->terms[first + n].number > 0) n++;
    return n;
}

/* Returns whether the error is about an index with these terms, which a read may compare. */
static bool is_refused_by(const blocked_row *row, const char *why, const ctr_term *terms, size_t n)
{
    sqlite3_str *columns = sqlite3_str_new(NULL);
    for (size_t i = 0; i < n; i++) {
        if (terms[i].is_partial || !terms[i].name) {
            sqlite3_str_reset(columns);
            break;
        }
        sqlite3_str_appendf(columns, "%s%s.%s", i ? ", " : "", row->tracked->table, terms[i].name);
    }
    const char *named = ctr_text_built(row->conn, columns);
    return *named && sqlite3_stricmp(named, why + sizeof CTR_UNIQUE_FAILED - 1) == 0;
}

/* SELECT o."k", o."code" FROM "main"."p" AS o WHERE NOT (o."k" = ?1) AND o."code" = ?2 COLLATE
 * "BINARY" */
static sqlite3_stmt *find_equal_row(const blocked_row *row, const ctr_term *terms, size_t n)
{
    bool known = true;
    const ctr_tracked *tracked = row->tracked;
    sqlite3_str *sql = sqlite3_str_new(NULL);
    ctr_list_keys(tracked, sql, "o.");
    for (size_t i = 0; i < n; i++) sqlite3_str_appendf(sql, ", o.\"%w\"", terms[i].name);
    sqlite3_str_appendf(sql, " FROM \"%w\".\"%w\" AS o WHERE NOT (", tracked->schema,
                        tracked->table);
    ctr_list_bound_key(tracked, sql, "o.");
    sqlite3_str_appendall(sql, ")");
    for (size_t i = 0; i < n; i++) {
        sqlite3_str_appendf(sql, " AND o.\"%w\" = ", terms[i].name);
        known = known && append_wanted(row, sql, terms[i].name);
        sqlite3_str_appendf(sql, " COLLATE \"%w\"",
                            terms[i].collation ? terms[i].collation : "BINARY");
    }
    return find_blocker(row, sql, known, tracked->shape->n_keys);
}

static bool name_equal_row(const blocked_row *row, const ctr_term *terms, size_t n,
                           sqlite3_str *out)
{
    int n_keys = row->tracked->shape->n_keys;
    sqlite3_stmt *found = find_equal_row(row, terms, n);
    if (!found) return false;
    sqlite3_str_appendall(out, "the row ");
    append_key(row, out, found, n_keys);
    sqlite3_str_appendall(out, " has ");
    for (size_t i = 0; i < n; i++)
        append_pair(row, out, terms[i].name, " ", sqlite3_column_value(found, n_keys + (int)i),
                    i == 0);
    sqlite3_finalize(found);
    return true;
}

static void name_equal(const blocked_row *row, const char *why, sqlite3_str *out)
{
    ctr_ordinary *ordinary = &row->tracked->ordinary;
    ctr_ordinary_read_terms(ordinary, row->conn, row->tracked->schema, row->tracked->table);
    bool named = false;
    for (size_t i = 0, n; i < ordinary->n_terms && !named; i += n) {
        n = count_terms(ordinary, i);
        const ctr_term *terms = &ordinary->terms[i];
        named = is_refused_by(row, why, terms, n) && name_equal_row(row, terms, n, out);
    }
}

/* ---- foreign keys ---------------------------------------------------------------------------- */

/* Returns whether a key reads no generated column of the child, or of the parent. */
static bool is_readable(const ctr_foreign_key *key, const ctr_ordinary *table, bool parent)
{
    for (int i = 0; i < key->n; i++) {
        const ctr_described *column =
            ctr_ordinary_column(table, parent ? key->pairs[i].to : key->pairs[i].from);
        if (!column || column->generated) return false;
    }
    return true;
}

/* Returns whether the parents of a row may be missing: the merge writes a column of this key. */
static bool writes_child(const blocked_row *row, const ctr_foreign_key *key)
{
    if (sqlite3_stricmp(key->child, row->tracked->table) != 0) return false;
    for (int i = 0; i < key->n; i++)
        if (is_merged(row, key->pairs[i].from)) return true;
    return false;
}

/* SELECT p."id", ?2 FROM (SELECT 1) LEFT JOIN "main"."customers" AS p ON p."id" = ?2
 * WHERE p."id" IS NULL AND ?2 IS NOT NULL
 *
 * A row that refers to itself needs no other one; keys that are equal only as texts are left alone.
 * Returns false if the values are not known. */
static bool list_missing_parent(const blocked_row *row, const ctr_foreign_key *key,
                                sqlite3_str *sql)
{
    bool known = true;
    bool itself = sqlite3_stricmp(key->parent, row->tracked->table) == 0;
    for (int i = 0; i < key->n; i++)
        sqlite3_str_appendf(sql, "p.\"%w\" AS \"%w\", ", key->pairs[i].to, key->pairs[i].to);
    for (int i = 0; i < key->n; i++) {
        sqlite3_str_appendall(sql, i ? ", " : "");
        known = known && append_wanted(row, sql, key->pairs[i].from);
    }
    sqlite3_str_appendf(sql, " FROM (SELECT 1) LEFT JOIN \"%w\".\"%w\" AS p ON ",
                        row->tracked->schema, key->parent);
    for (int i = 0; i < key->n && known; i++) {
        sqlite3_str_appendf(sql, "%sp.\"%w\" = ", i ? " AND " : "", key->pairs[i].to);
        append_wanted(row, sql, key->pairs[i].from);
    }
    sqlite3_str_appendf(sql, " WHERE p.\"%w\" IS NULL", key->pairs[0].to);
    for (int i = 0; i < key->n && known; i++) {
        sqlite3_str_appendall(sql, " AND ");
        append_wanted(row, sql, key->pairs[i].from);
        sqlite3_str_appendall(sql, " IS NOT NULL");
    }
    for (int i = 0; i < key->n && known && itself; i++) {
        sqlite3_str_appendall(sql, i ? " AND CAST(" : " AND NOT (CAST(");
        known = append_wanted(row, sql, key->pairs[i].to);
        sqlite3_str_appendall(sql, " AS TEXT) COLLATE NOCASE IS CAST(");
        append_wanted(row, sql, key->pairs[i].from);
        sqlite3_str_appendall(sql, i + 1 < key->n ? " AS TEXT)" : " AS TEXT))");
    }
    return known;
}

static bool name_missing_parent(const blocked_row *row, const ctr_foreign_key *key,
                                sqlite3_str *out)
{
    if (key->n == 0 || row->ended || !writes_child(row, key)) return false;
    ctr_ordinary parent = {0};
    ctr_ordinary_read(&parent, row->conn, row->tracked->schema, key->parent);
    sqlite3_str *sql = sqlite3_str_new(NULL);
    bool known = is_readable(key, &parent, true) && list_missing_parent(row, key, sql);
    ctr_ordinary_close(&parent);
    sqlite3_stmt *found = find_blocker(row, sql, known, 0);
    if (!found) return false;
    ctr_run run = ctr_run_on(row->conn, row->tracked->schema, NULL);
    ctr_run_refuse_hidden(&run, found, key->n, key->parent);
    sqlite3_str_appendf(out, "%s has no row with ", key->parent);
    for (int i = 0; i < key->n; i++)
        append_pair(row, out, key->pairs[i].to, " = ", sqlite3_column_value(found, key->n + i),
                    i == 0);
    sqlite3_finalize(found);
    return true;
}

/* Returns whether children by this key keep the row as it is: they forbid that it is deleted, or
 * that a merge writes a column to which they refer. */
static bool has_to_stay(const blocked_row *row, const ctr_foreign_key *key)
{
    if (row->ended) return ctr_foreign_keeps(key, row->tracked);
    if (!key->fixes || row->apart->waits || sqlite3_stricmp(key->parent, row->tracked->table) != 0)
        return false;
    for (int i = 0; i < key->n; i++)
        if (is_merged(row, key->pairs[i].to)) return true;
    return false;
}

/* SELECT c."k" FROM parent AS p, child AS c WHERE ... ORDER BY 1
 *
 * Of a row that lives on, children of a value that changes. Sets *n_keys; 0: the child has no
 * PRIMARY KEY. Returns false if the values are not known. */
static bool list_keepers(const blocked_row *row, const ctr_foreign_key *key,
                         const ctr_ordinary *child, int *n_keys, sqlite3_str *sql)
{
    bool known = true;
    const char *name;
    for (*n_keys = 0; (name = ctr_ordinary_key(child, *n_keys)); ++*n_keys)
        sqlite3_str_appendf(sql, "%sc.\"%w\"", *n_keys ? ", " : "", name);
    if (*n_keys == 0) sqlite3_str_appendall(sql, "1");
    ctr_foreign_list_children(key, row->tracked, sql);
    for (int i = 0; i < key->n && !row->ended; i++) {
        sqlite3_str_appendf(sql, "%sp.\"%w\" IS NOT ", i ? " OR " : " AND (", key->pairs[i].to);
        known = known && append_wanted(row, sql, key->pairs[i].to);
    }
    if (!row->ended) sqlite3_str_appendall(sql, ")");
    for (int i = 0; i < *n_keys; i++)
        sqlite3_str_appendf(sql, "%s%d", i ? ", " : " ORDER BY ", 1 + i);
    return known;
}

/* Appends how many more rows there are, as far as it is worth counting. */
static void append_more(const blocked_row *row, sqlite3_stmt *found, sqlite3_str *out)
{
    enum { MOST = 1000 };
    int more = 0;
    ctr_run run = ctr_run_on(row->conn, row->tracked->schema, NULL);
    while (more <= MOST && ctr_run_row(&run, found)) more++;
    if (more > MOST)
        sqlite3_str_appendf(out, " (and over %d more)", MOST);
    else if (more > 0)
        sqlite3_str_appendf(out, " (and %d more)", more);
}

static bool name_child(const blocked_row *row, const ctr_foreign_key *key, sqlite3_str *out)
{
    int n_keys = 0;
    if (!has_to_stay(row, key)) return false;
    ctr_ordinary child = {0};
    ctr_ordinary_read(&child, row->conn, row->tracked->schema, key->child);
    sqlite3_str *sql = sqlite3_str_new(NULL);
    bool known = is_readable(key, &child, false) &&
                 is_readable(key, &row->tracked->ordinary, true) &&
                 list_keepers(row, key, &child, &n_keys, sql);
    ctr_ordinary_close(&child);
    sqlite3_stmt *found = find_blocker(row, sql, known, n_keys);
    if (!found) return false;
    sqlite3_str_appendall(out, n_keys ? "the row " : "a row");
    if (n_keys) append_key(row, out, found, n_keys);
    sqlite3_str_appendf(out, " of %s refers to it by ", key->child);
    for (int i = 0; i < key->n; i++)
        sqlite3_str_appendf(out, "%s%s", i ? " and " : "", key->pairs[i].from);
    append_more(row, found, out);
    sqlite3_finalize(found);
    return true;
}

static void name_relative(const blocked_row *row, sqlite3_str *out)
{
    bool named = false;
    const ctr_foreign_keys *foreign = ctr_foreign_keys_of(row->row->tab->file);
    for (int i = 0; foreign && i < foreign->n && !named && ctr_rc(row->conn) == SQLITE_OK; i++)
        named = name_missing_parent(row, &foreign->keys[i], out) ||
                name_child(row, &foreign->keys[i], out);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Returns the text that names the row, "" if there is none. */
static const char *name_blocker(const blocked_row *row)
{
    const char *why = row->apart->why;
    sqlite3_str *out = sqlite3_str_new(NULL);
    if (!row->ended && strncmp(why, CTR_UNIQUE_FAILED, sizeof CTR_UNIQUE_FAILED - 1) == 0)
        name_equal(row, why, out);
    if (strcmp(why, CTR_FOREIGN_KEY_FAILED) == 0) name_relative(row, out);
    return ctr_text_built(row->conn, out);
}

/* A look-up that fails names no row, unless the whole statement is to fail. */
static bool is_fatal(int rc)
{
    return rc != SQLITE_OK && rc != SQLITE_ERROR && rc != SQLITE_AUTH;
}

const char *ctr_blockers_explain(ctr_showing *showing, ctr_row *row, sqlite3_value **keys,
                                 const ctr_apart_row *apart)
{
    ctr_conn *conn = showing->conn;
    if (!apart->why || ctr_rc(conn) != SQLITE_OK) return apart->why;
    const blocked_row blocked = {.conn = conn,
                                 .tracked = showing->tracked,
                                 .showing = showing,
                                 .row = row,
                                 .apart = apart,
                                 .keys = keys,
                                 .ended = apart->ended || (!apart->waits && !ctr_row_is_live(row))};
    ctr_problem failed;
    ctr_problem_try(conn, &failed);
    const char *name = name_blocker(&blocked);
    ctr_problem_end(&failed);
    bool named = failed.rc == SQLITE_OK && *name;
    ctr_problem_raise_if(conn, &failed, is_fatal(failed.rc));
    return named ? ctr_text_print(conn, "%s: %s", apart->why, name) : apart->why;
}

void ctr_blockers_holders(ctr_showing *showing, sqlite3_value **keys, const ctr_apart_row *apart,
                          void (*give)(void *to, sqlite3_stmt *key), void *to)
{
    ctr_conn *conn = showing->conn;
    ctr_tracked *tracked = showing->tracked;
    ctr_ordinary *ordinary = &tracked->ordinary;
    const blocked_row row = {
        .conn = conn, .tracked = tracked, .showing = showing, .apart = apart, .keys = keys};
    ctr_ordinary_read_terms(ordinary, conn, tracked->schema, tracked->table);
    for (size_t i = 0, n; i < ordinary->n_terms && ctr_rc(conn) == SQLITE_OK; i += n) {
        bool is_of_columns = !ordinary->terms[i].is_primary;
        n = count_terms(ordinary, i);
        for (size_t j = 0; j < n; j++) is_of_columns = is_of_columns && ordinary->terms[i + j].name;
        ctr_problem failed;
        ctr_problem_try(conn, &failed);
        sqlite3_stmt *found = is_of_columns ? find_equal_row(&row, &ordinary->terms[i], n) : NULL;
        ctr_problem_end(&failed);
        if (found) give(to, found);
        sqlite3_finalize(found);
        ctr_problem_raise_if(conn, &failed, is_fatal(failed.rc));
    }
}
