/* numbers.c - numbers that SQLite has given out: new rows of THEIRS that OURS has, too, the others
 * under numbers that are free, and references that follow.
 *
 * A new row of THEIRS is decided when the rows to which it refers are: it is a new row of OURS that
 * has its UNIQUE values, or is equal to it; else it is new. Then, from the first new row on whose
 * number OURS has given to another row, all move behind the greatest number of the three files.
 */
#include <string.h>

#include "cli/merge/merge.h"

/* ---- numbers ------------------------------------------------------------------------------------- */

static void run_number(merge *m, merge_table *t, const char *statement, int64_t number)
{
    sqlite3_stmt *run = merge_prepare(m, t, -1, statement);
    sqlite3_bind_int64(run, 1, number);
    cli_step(&m->into, run);
    sqlite3_finalize(run);
}

/* What AUTOINCREMENT has given out in a file. */
static int64_t sequence_of(merge *m, const merge_table *t, const char *schema)
{
    if (!merge_has_table(m, schema, "sqlite_sequence")) return 0;
    sqlite3_stmt *row =
        merge_prepare_texts(m, merge_text(m, CLI_SQL_MERGE_SEQUENCE, schema), &t->name, 1);
    int64_t n = cli_step(&m->into, row) ? sqlite3_column_int64(row, 0) : 0;
    sqlite3_finalize(row);
    return n;
}

/* The greatest number of the three files and of rows that have moved, now or in a merge before. */
static int64_t greatest_number(merge *m, merge_table *t)
{
    static const char *const SCHEMAS[] = {"main", "base", "theirs"};
    int64_t most = merge_integer(m, t, -1, CLI_SQL_MERGE_GREATEST);
    for (int i = 0; i < 3 && t->is_autoincrement; i++) {
        int64_t n = sequence_of(m, t, SCHEMAS[i]);
        if (n > most) most = n;
    }
    if (merge_has_table(m, "main", "_merge_numbers")) {
        int64_t n = merge_integer(m, t, -1, CLI_SQL_MERGE_GREATEST_KNOWN);
        if (n > most) most = n;
    }
    return most;
}

/* ---- what was merged before ---------------------------------------------------------------------- */

/* THEIRS has given numbers to rows that OURS may know by their old ones. */
static void refuse_moved(merge *m, const char *lacks)
{
    const char *others =
        merge_has_table(m, "main", "_merge_numbers") ? CLI_SQL_MERGE_OURS_LACKS : "1";
    const char *moved = merge_text(m, CLI_SQL_MERGE_THEIRS_MOVED, lacks, others);
    const char *path = m->driven_path ? m->driven_path : m->theirs_path;
    const char *advice = m->driven_path
                             ? "merge this branch into the other one first"
                             : merge_text(m, "merge the other way: sqlite-counter merge BASE %s %s",
                                          m->theirs_path, m->ours_path);
    for (int i = 0; i < m->n && !m->c->failed; i++) {
        const char *name = m->table[i].name;
        sqlite3_stmt *row = merge_prepare(m, &m->table[i], -1, moved);
        if (cli_step(&m->into, row)) {
            int64_t was = sqlite3_column_int64(row, 0), is = sqlite3_column_int64(row, 1);
            if (was == is)
                cli_fail(m->c,
                         "merge: %s: %s has left out row %lld, or given it another parent, since "
                         "BASE: %s",
                         path, name, was, advice);
            else
                cli_fail(m->c,
                         "merge: %s: %s was renumbered since BASE (row %lld is %lld there now): %s",
                         path, name, was, is, advice);
        }
        sqlite3_finalize(row);
    }
}

/* Numbers of THEIRS that moved since BASE when OURS was merged with it before. */
static void read_known(merge *m)
{
    const char *lacks =
        merge_has_table(m, "base", "_merge_numbers") ? CLI_SQL_MERGE_BASE_LACKS : "1";
    bool in_main = merge_has_table(m, "main", "_merge_numbers"),
         in_theirs = merge_has_table(m, "theirs", "_merge_numbers");
    if (in_theirs) refuse_moved(m, lacks);
    for (int i = 0; i < m->n && in_main; i++) {
        merge_table *t = &m->table[i];
        if (!t->gives_numbers && !t->gives_rowids) continue;
        merge_run(m, t, -1, merge_text(m, CLI_SQL_MERGE_KNOWN_IN_BASE, lacks));
        merge_run(m, t, -1, merge_text(m, CLI_SQL_MERGE_KNOWN_IN_THEIRS, lacks));
        if (in_theirs) merge_run(m, t, -1, merge_text(m, CLI_SQL_MERGE_KNOWN_IN_BOTH, lacks));
        run_number(m, t, CLI_SQL_MERGE_KNOWN_GONE, greatest_number(m, t));
    }
}

/* ---- numbers that were used again ---------------------------------------------------------------- */

/* Whether new references of a file lead to a number. */
static bool refers(merge *m, const merge_table *to, const char *question, int64_t number)
{
    bool does = false;
    for (int i = 0; i < m->n && !does; i++)
        for (int k = 0; k < m->table[i].n && !does; k++) {
            if (m->table[i].column[k].of != to->i) continue;
            sqlite3_stmt *row = merge_prepare(m, &m->table[i], k, question);
            sqlite3_bind_int64(row, 1, number);
            if (sqlite3_bind_parameter_count(row) > 1) sqlite3_bind_int(row, 2, to->i);
            does = cli_step(&m->into, row) && sqlite3_column_int(row, 0);
            sqlite3_finalize(row);
        }
    return does;
}

/* One row under a number that was used again becomes two. */
static void split_row(merge *m, merge_table *t, int64_t number, bool by_theirs)
{
    bool matters = by_theirs ? merge_integer_for(m, t, -1, CLI_SQL_MERGE_OURS_CHANGED, number) ||
                                   refers(m, t, CLI_SQL_MERGE_OURS_REFERS, number)
                             : merge_integer_for(m, t, -1, CLI_SQL_MERGE_THEIRS_CHANGED, number) ||
                                   refers(m, t, CLI_SQL_MERGE_THEIRS_REFERS, number);
    if (!matters) return;
    sqlite3_stmt *list = merge_prepare(m, t, -1, CLI_SQL_MERGE_LIST_AGAIN);
    sqlite3_bind_int64(list, 1, number);
    sqlite3_bind_text(list, 2, by_theirs ? "theirs" : "ours", -1, SQLITE_STATIC);
    cli_step(&m->into, list);
    sqlite3_finalize(list);
    if (by_theirs) run_number(m, t, CLI_SQL_MERGE_AGAIN_GONE, number);
    run_number(m, t, CLI_SQL_MERGE_AGAIN_NEW, number);
    if (!by_theirs) run_number(m, t, CLI_SQL_MERGE_AGAIN_OLD, number);
}

/* The run of last rows of BASE that are gone in a file or keep at most a quarter of their values. */
static void find_used_again(merge *m, merge_table *t, bool by_theirs)
{
    int values = t->n - 1;
    size_t n = 0;
    int64_t *again = NULL;
    sqlite3_stmt *row = merge_prepare(
        m, t, -1, by_theirs ? CLI_SQL_MERGE_LAST_ROWS_THEIRS : CLI_SQL_MERGE_LAST_ROWS_OURS);
    while (cli_step(&m->into, row)) {
        bool is_gone = sqlite3_column_int(row, 1);
        if (!is_gone && (values < 3 || 4 * sqlite3_column_int(row, 2) > values)) break;
        if (is_gone) continue;
        int64_t *more = sqlite3_realloc64(again, (n + 1) * sizeof *again);
        if (!more) {
            cli_fail(m->c, "out of memory");
            break;
        }
        again = more;
        again[n++] = sqlite3_column_int64(row, 0);
    }
    sqlite3_finalize(row);
    for (size_t i = 0; i < n; i++) split_row(m, t, again[i], by_theirs);
    sqlite3_free(again);
}

/* ---- decisions ----------------------------------------------------------------------------------- */

/* Joins rows of THEIRS with those of OURS that they are. Returns how many. */
static int64_t join_table(merge *m, merge_table *t)
{
    int64_t joined = 0;
    for (int i = 0; i < t->n_unique; i++) {
        t->unique_now = &t->unique[i];
        joined += merge_run(m, t, -1, CLI_SQL_MERGE_JOIN_UNIQUE);
    }
    return joined + merge_run(m, t, -1, CLI_SQL_MERGE_JOIN_EQUAL);
}

/* Rows that refer to a joined one may be joined, too; none that refers to a new one. */
static int64_t decide_table(merge *m, merge_table *t)
{
    if (merge_integer(m, t, -1, CLI_SQL_MERGE_COUNT_UNDECIDED) == 0) return 0;
    while (join_table(m, t) > 0 && !m->c->failed) continue;
    merge_run(m, t, -1, CLI_SQL_MERGE_DECIDE_NEW);
    return merge_integer(m, t, -1, CLI_SQL_MERGE_COUNT_UNDECIDED);
}

/* Until nothing more can be decided. */
static void decide_ready(merge *m)
{
    int64_t before = -1, left = 0;
    do {
        before = before < 0 ? INT64_MAX : left;
        left = 0;
        for (int i = 0; i < m->n; i++)
            if (m->table[i].gives_numbers) left += decide_table(m, &m->table[i]);
    } while (left > 0 && left < before && !m->c->failed);
}

/* Runs a statement on all tables with numbers. Returns the rows that it changed. */
static int64_t run_all(merge *m, const char *statement)
{
    int64_t changed = 0;
    for (int i = 0; i < m->n; i++)
        if (m->table[i].gives_numbers && merge_integer(m, &m->table[i], -1, CLI_SQL_MERGE_HAS_NEW))
            changed += merge_run(m, &m->table[i], -1, statement);
    return changed;
}

/* Rows that refer to each other in a circle are equal to those of OURS together, or new. */
static void decide_all(merge *m)
{
    decide_ready(m);
    if (run_all(m, CLI_SQL_MERGE_ASSUME) > 0) {
        while (run_all(m, CLI_SQL_MERGE_ASSUME_LESS) > 0 && !m->c->failed) continue;
        run_all(m, CLI_SQL_MERGE_ASSUMED);
        decide_ready(m);
    }
    run_all(m, CLI_SQL_MERGE_DECIDE_REST);
}

/* ---- numbers that are free ----------------------------------------------------------------------- */

/* The lesser of the first number that a statement finds and `first`. */
static int64_t first_of(merge *m, sqlite3_stmt *row, int64_t first)
{
    bool is_found = cli_step(&m->into, row) && sqlite3_column_type(row, 0) != SQLITE_NULL;
    int64_t found = is_found ? sqlite3_column_int64(row, 0) : first;
    sqlite3_finalize(row);
    return found < first ? found : first;
}

/* The first new number that OURS has given to a row, or has in a reference whose row is gone. */
static int64_t first_taken(merge *m, merge_table *t)
{
    int64_t first = first_of(m, merge_prepare(m, t, -1, CLI_SQL_MERGE_FIRST_TAKEN), INT64_MAX);
    if (t->is_autoincrement) {
        sqlite3_stmt *given = merge_prepare(m, t, -1, CLI_SQL_MERGE_FIRST_GIVEN);
        sqlite3_bind_int64(given, 1, sequence_of(m, t, "base"));
        sqlite3_bind_int64(given, 2, sequence_of(m, t, "main"));
        first = first_of(m, given, first);
    }
    const char *left = merge_text(m, CLI_SQL_MERGE_FIRST_LEFT, t->number, t->i, t->number);
    for (int i = 0; i < m->n; i++)
        for (int k = 0; k < m->table[i].n; k++)
            if (m->table[i].column[k].of == t->i &&
                (m->table[i].column[k].is_said || m->table[i].broken != 0))
                first = first_of(m, merge_prepare(m, &m->table[i], k, left), first);
    return first;
}

static void move_rows(merge *m, merge_table *t)
{
    int64_t first = first_taken(m, t);
    if (first < INT64_MAX) {
        int64_t most = greatest_number(m, t), n = merge_integer(m, t, -1, CLI_SQL_MERGE_COUNT_NEW);
        if (most > INT64_MAX - n)
            cli_fail(m->c, "merge: %s: no number above %lld is free for new rows", t->name, most);
        sqlite3_stmt *move = merge_prepare(m, t, -1, CLI_SQL_MERGE_MOVE);
        sqlite3_bind_int64(move, 1, first);
        sqlite3_bind_int64(move, 2, most);
        cli_step(&m->into, move);
        sqlite3_finalize(move);
    }
    merge_run(m, t, -1, CLI_SQL_MERGE_MOVE_JOINED);
    merge_run(m, t, -1, CLI_SQL_MERGE_SET_MOVED);
}

/* ---- questions ----------------------------------------------------------------------------------- */

/* How much of the name of a table stands in that of a column: `post_id` has 4 letters of posts, and
 * of blog_posts, too. 0: nothing of it. */
static size_t names_table(const char *column, const merge_table *of)
{
    for (const char *name = of->name; name;
         name = strchr(name, '_') ? strchr(name, '_') + 1 : NULL) {
        size_t n = strlen(name);
        bool is_plural = n > 3 && (name[n - 1] == 's' || name[n - 1] == 'S');
        char *like = sqlite3_mprintf("%%%.*s%%", (int)(n - is_plural), name);
        bool is_in = n - is_plural > 2 && like && sqlite3_strlike(like, column, 0) == 0;
        sqlite3_free(like);
        if (is_in) return n - is_plural;
    }
    return 0;
}

/* Whether the name of a column has more of another table. */
static bool names_another(const merge *m, const char *column, const merge_table *of)
{
    size_t n = names_table(column, of);
    for (int i = 0; i < m->n; i++)
        if ((m->table[i].number >= 0 || m->table[i].gives_rowids) &&
            names_table(column, &m->table[i]) > n)
            return true;
    return false;
}

static bool is_like_reference(const char *column, const merge_table *of)
{
    static const char *const NAMES[] = {"%id",    "%fk",    "%fk_%",  "%ref%",  "%parent%",
                                        "%from%", "%\\_to", "%link%", "%owner%"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (sqlite3_strlike(NAMES[i], column, '\\') == 0) return true;
    return names_table(column, of) > 0;
}

/* Whether all values that THEIRS wrote into a column are numbers of a table. */
static bool holds_numbers(merge *m, merge_table *t, int column, merge_table *of)
{
    bool are = true;
    sqlite3_stmt *row = merge_prepare(m, t, column, CLI_SQL_MERGE_HOLDS_OTHERS),
                 *has = merge_prepare(m, of, -1, CLI_SQL_MERGE_HAS_NUMBER);
    while (are && cli_step(&m->into, row)) {
        sqlite3_bind_value(has, 1, sqlite3_column_value(row, 0));
        are = cli_step(&m->into, has) && sqlite3_column_int(has, 0);
        sqlite3_reset(has);
    }
    sqlite3_finalize(row);
    sqlite3_finalize(has);
    return are;
}

static void ask_of_column(merge *m, merge_table *t, int i, merge_table *of)
{
    const merge_column *column = &t->column[i];
    if (!merge_integer_for(m, t, i, CLI_SQL_MERGE_HOLDS_MOVED, of->i) ||
        (of->number >= 0 && !holds_numbers(m, t, i, of)))
        return;
    if (is_like_reference(column->name, of)) {
        m->asks = true;
        merge_question(m, "--ref %s.%s=%s or --no-ref %s.%s", t->name, column->name, of->name,
                       t->name, column->name);
    } else {
        merge_note(
            m,
            "%s.%s of new rows holds numbers of %s that have moved: if it refers to %s: --ref "
            "%s.%s=%s",
            t->name, column->name, of->name, of->name, t->name, column->name, of->name);
    }
}

/* Columns that look like references, and are not declared as such. */
static void ask(merge *m)
{
    for (int p = 0; p < m->n; p++) {
        merge_table *of = &m->table[p];
        if (!of->gives_numbers ||
            merge_integer(m, of, -1, CLI_SQL_MERGE_COUNT_CHANGED_NUMBERS) == 0)
            continue;
        for (int i = 0; i < m->n; i++)
            for (int k = 0; k < m->table[i].n; k++) {
                merge_table *t = &m->table[i];
                const merge_column *column = &t->column[k];
                bool is_own = k == t->number && (t == of || names_table(column->name, of) == 0) &&
                              !t->is_virtual;
                if (column->of < 0 && !column->is_no_reference && !column->adds && !is_own &&
                    !names_another(m, column->name, of))
                    ask_of_column(m, t, k, of);
            }
    }
}

/* References that led nowhere in THEIRS, and lead to a row of OURS by chance. */
static void tell_of_caught(merge *m, merge_table *t, int column)
{
    if (t->column[column].of < 0) return;
    const merge_table *of = &m->table[t->column[column].of];
    if (of->number < 0) return;
    const merge_foreign to = {of->i, 1, &column, &of->number};
    t->foreign_now = &to;
    int64_t n = merge_integer(m, t, column, CLI_SQL_MERGE_COUNT_CAUGHT);
    t->foreign_now = NULL;
    if (n > 0)
        merge_note(
            m,
            "%lld value%s of %s.%s led to no row of %s in theirs, and %s the number of a new "
            "row of ours",
            n, n == 1 ? "" : "s", t->name, t->column[column].name, of->name,
            n == 1 ? "has" : "have");
}

/* ---- references follow --------------------------------------------------------------------------- */

static void follow(merge *m, merge_table *t, int column, const char *statement, int of)
{
    sqlite3_stmt *run = merge_prepare(m, t, column, statement);
    sqlite3_bind_int(run, 1, of);
    cli_step(&m->into, run);
    sqlite3_finalize(run);
}

static void follow_all(merge *m)
{
    for (int i = 0; i < m->n; i++)
        for (int k = 0; k < m->table[i].n; k++) {
            merge_table *t = &m->table[i];
            int of = k == t->number && t->gives_numbers ? t->i : t->column[k].of;
            if (of < 0 || m->table[of].gives_rowids) continue;
            follow(m, t, k, CLI_SQL_MERGE_FOLLOW, of);
            follow(m, t, k, CLI_SQL_MERGE_FOLLOW_BASE, of);
        }
}

/* Rowids that no column shows. */
static void follow_rowids(merge *m, merge_table *of)
{
    merge_rows_place(m, of);
    bool has_moved = merge_integer(m, of, -1, CLI_SQL_MERGE_COUNT_CHANGED_NUMBERS) > 0;
    for (int i = 0; i < m->n; i++)
        for (int k = 0; k < m->table[i].n; k++) {
            merge_table *t = &m->table[i];
            if (t->column[k].of == of->i) {
                follow(m, t, k, CLI_SQL_MERGE_FOLLOW, of->i);
                follow(m, t, k, CLI_SQL_MERGE_FOLLOW_BASE, of->i);
            } else if (has_moved && merge_is_rowid_column(&t->column[k]) &&
                       !names_another(m, t->column[k].name, of)) {
                ask_of_column(m, t, k, of);
            }
        }
}

void merge_numbers(merge *m)
{
    for (int i = 0; i < m->n; i++)
        if (m->table[i].gives_numbers) {
            merge_run(m, &m->table[i], -1, CLI_SQL_MERGE_INDEX_NUMBERS);
            merge_run(m, &m->table[i], -1, CLI_SQL_MERGE_INDEX_BECOMES);
        }
    read_known(m);
    for (int i = 0; i < m->n; i++) {
        merge_table *t = &m->table[i];
        if (!t->gives_numbers) continue;
        if (t->in_base && !t->is_autoincrement) {
            find_used_again(m, t, true);
            find_used_again(m, t, false);
        }
        merge_run(m, t, -1, CLI_SQL_MERGE_KNOWN_JOINED);
    }
    decide_all(m);
    for (int i = 0; i < m->n; i++)
        if (m->table[i].gives_numbers) move_rows(m, &m->table[i]);
    ask(m);
    for (int i = 0; i < m->n; i++)
        for (int k = 0; k < m->table[i].n; k++) tell_of_caught(m, &m->table[i], k);
    if (m->asks) return;
    follow_all(m);
    for (int i = 0; i < m->n; i++)
        if (m->table[i].gives_rowids) follow_rowids(m, &m->table[i]);
}

/* AUTOINCREMENT gives no number out again that THEIRS has given out, also to a row that is gone. */
static void raise_sequence(merge *m, const merge_table *t)
{
    int64_t n = sequence_of(m, t, "theirs");
    if (n <= sequence_of(m, t, "main") || n == sequence_of(m, t, "base")) return;
    const char *const texts[] = {t->name, merge_text(m, "%lld", (long long)n)};
    merge_run_texts(m, CLI_SQL_MERGE_RAISE_SEQUENCE, texts, 2);
    merge_run_texts(m, CLI_SQL_MERGE_BEGIN_SEQUENCE, texts, 2);
}

void merge_numbers_remember(merge *m)
{
    for (int i = 0; i < m->n; i++) {
        merge_table *t = &m->table[i];
        if (t->is_autoincrement) raise_sequence(m, t);
        bool gives = t->gives_numbers || t->gives_rowids;
        if (!gives || !merge_integer(m, t, -1, CLI_SQL_MERGE_HAS_NUMBERS)) continue;
        cli_run(&m->into, CLI_SQL_MERGE_NUMBERS_MAKE);
        if (t->in_base) merge_run(m, t, -1, CLI_SQL_MERGE_NUMBERS_AGAIN);
        merge_run(m, t, -1, CLI_SQL_MERGE_NUMBERS_GONE);
        merge_run(m, t, -1, CLI_SQL_MERGE_NUMBERS_ADD);
        merge_run(m, t, -1, CLI_SQL_MERGE_NUMBERS_ADD_OTHERS);
    }
}
