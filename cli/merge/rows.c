/* rows.c - rows of THEIRS that differ from BASE: found, joined with those of OURS, written.
 *
 * All rows of a table that change are taken away, then put back, so that UNIQUE values can be
 * exchanged. What a constraint refuses, and a foreign key that a deletion would break, are findings:
 * a round is taken back, its findings are noted at their rows, and the next round begins, until there
 * are none. Each finding takes one change back, so rounds end.
 */
#include <string.h>

#include "cli/merge/merge.h"

/* ---- finding ----------------------------------------------------------------------------------- */

/* Rows that are counted: those without a key. */
static bool counts_rows(const merge_table *t)
{
    return t->key == KEY_NONE || t->has_null_keys;
}

static void find_rows(merge *m, merge_table *t)
{
    merge_run(m, t, -1, CLI_SQL_MERGE_MAKE_ROWS);
    if (!t->in_theirs) return;
    if (t->key == KEY_NONE && !t->rowid) {
        if (!t->in_base || !merge_has_rows_of_base(m, "theirs", t->name))
            cli_fail(m->c, "merge: %s: the table has no key, and no name is left for its rowid",
                     t->name);
        return;
    }
    if (t->key != KEY_NONE) merge_run(m, t, -1, CLI_SQL_MERGE_FIND_CHANGED);
    if (t->key != KEY_NONE && t->in_base &&
        (t->has_null_keys || merge_integer(m, t, -1, CLI_SQL_MERGE_COUNT_GONE) != 0))
        merge_run(m, t, -1, CLI_SQL_MERGE_FIND_GONE);
    if (counts_rows(t)) merge_run(m, t, -1, CLI_SQL_MERGE_FIND_MORE);
    if (counts_rows(t) && t->in_base) merge_run(m, t, -1, CLI_SQL_MERGE_FIND_FEWER);
}

/* How many rows of a table lack a parent; -1 if that cannot be checked: its declaration is not whole. */
static int64_t count_broken(merge *m, const merge_table *t, const char *schema)
{
    if (m->c->failed) return -1;
    const char *sql = merge_text(m, CLI_SQL_MERGE_COUNT_BROKEN, t->name, schema);
    sqlite3_stmt *row = NULL;
    int rc = sqlite3_prepare_v2(m->into.db, sql, -1, &row, NULL);
    int64_t n =
        rc == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW ? sqlite3_column_int64(row, 0) : -1;
    rc = rc == SQLITE_OK ? sqlite3_finalize(row) : rc;
    if (rc != SQLITE_OK && (rc & 0xff) != SQLITE_ERROR) cli_fail_file(&m->into, "");
    return n;
}

void merge_rows_find(merge *m)
{
    for (int i = 0; i < m->n && !m->c->failed; i++) {
        m->table[i].broken = count_broken(m, &m->table[i], "main");
        find_rows(m, &m->table[i]);
    }
}

/* The rows of OURS that those are. */
static void link_rows(merge *m, merge_table *t)
{
    if (t->key != KEY_NONE) merge_run(m, t, -1, CLI_SQL_MERGE_LINK);
    if (counts_rows(t)) merge_run(m, t, -1, CLI_SQL_MERGE_SET_VALUES);
    if (counts_rows(t)) merge_run(m, t, -1, CLI_SQL_MERGE_LINK_COPIES);
}

static void place_rows(merge *m, merge_table *t)
{
    if (!t->rowid || t->number >= 0) return;
    merge_run(m, t, -1, CLI_SQL_MERGE_KEEP_ROWIDS);
    merge_run(m, t, -1, CLI_SQL_MERGE_MOVE_ROWIDS);
}

void merge_rows_place(merge *m, merge_table *t)
{
    if (!merge_integer(m, t, -1, CLI_SQL_MERGE_HAS_NEW)) return;
    link_rows(m, t);
    place_rows(m, t);
    merge_run(m, t, -1, CLI_SQL_MERGE_ROWIDS_MOVED);
    merge_run(m, t, -1, CLI_SQL_MERGE_UNLINK); /* each round links rows by what has followed */
}

/* ---- findings of a round ------------------------------------------------------------------------- */

typedef struct merge_finding {
    enum { FINDING_REFUSED, FINDING_STAYS, FINDING_STANDIN, FINDING_ORPHAN } what;
    int table, foreign; /* FINDING_ORPHAN: the foreign key whose parent is to come back */
    int64_t row;        /* n of _merge_d<table>; FINDING_STANDIN: the number that was refused */
    int64_t standin;
    const char *why;
} merge_finding;

static void add_finding(merge *m, const merge_finding *finding)
{
    if (m->n_findings % 64 == 0) {
        void *more = sqlite3_realloc64(m->finding, (m->n_findings + 64) * sizeof *m->finding);
        if (!more) {
            cli_fail(m->c, "out of memory");
            return;
        }
        m->finding = more;
    }
    m->finding[m->n_findings++] = *finding;
}

static void refuse(merge *m, const merge_table *t, int64_t row, const char *why)
{
    add_finding(m, &(merge_finding){FINDING_REFUSED, t->i, -1, row, 0, why});
}

/* ---- writing ------------------------------------------------------------------------------------- */

enum { PUT_TURNS = 3 }; /* of MERGE_PUT */

static bool is_refusal(int rc)
{
    return (rc & 0xff) == SQLITE_CONSTRAINT || (rc & 0xff) == SQLITE_MISMATCH;
}

/* Tells which rows are refused, and writes the others. */
static void put_one_by_one(merge *m, merge_table *t, int turn)
{
    sqlite3_stmt *row = merge_prepare(m, t, -1, CLI_SQL_MERGE_PUT_ORDER),
                 *put = merge_prepare(m, t, -1, CLI_SQL_MERGE_PUT_ONE);
    sqlite3_bind_int(row, 1, turn);
    while (cli_step(&m->into, row)) {
        int64_t n = sqlite3_column_int64(row, 0);
        sqlite3_bind_int64(put, 1, n);
        int rc = sqlite3_step(put);
        if (is_refusal(rc))
            refuse(m, t, n, merge_text(m, "%s", sqlite3_errmsg(m->into.db)));
        else if (rc != SQLITE_DONE)
            cli_fail_file(&m->into, "");
        sqlite3_reset(put);
    }
    sqlite3_finalize(row);
    sqlite3_finalize(put);
}

static void write_rows(merge *m, merge_table *t)
{
    merge_run(m, t, -1, !t->rowid ? CLI_SQL_MERGE_TAKE_BY_KEY : CLI_SQL_MERGE_TAKE);
    for (int turn = 0; turn < PUT_TURNS && !m->c->failed; turn++) {
        sqlite3_stmt *put = merge_prepare(m, t, -1, CLI_SQL_MERGE_PUT);
        sqlite3_bind_int(put, 1, turn);
        int rc = put ? sqlite3_step(put) : SQLITE_ERROR;
        if (put && rc != SQLITE_DONE && !is_refusal(rc)) cli_fail_file(&m->into, "");
        sqlite3_finalize(put);
        if (is_refusal(rc)) put_one_by_one(m, t, turn);
    }
}

/* ---- foreign keys -------------------------------------------------------------------------------- */

/* A row that was written lacks its parent: the parent comes back, or the row goes. */
static void find_parent(merge *m, merge_table *t, int foreign, int64_t row)
{
    const merge_table *parent = &m->table[t->foreign[foreign].parent];
    bool is_mixed = merge_integer_for(m, t, -1, CLI_SQL_MERGE_ORPHAN_OF_BOTH, row) > 0;
    int64_t gone = is_mixed ? 0 : merge_integer_for(m, t, -1, CLI_SQL_MERGE_ORPHAN_OF_GONE, row);
    if (is_mixed)
        refuse(m, t, row,
               merge_text(m, "parent: no row of %s has the values of both sides", parent->name));
    else if (gone > 0)
        add_finding(m,
                    &(merge_finding){
                        FINDING_STAYS, parent->i, -1, gone, 0,
                        merge_text(m, "deleted in theirs, but a row of %s refers to it", t->name)});
    else if (merge_integer_for(m, t, -1, CLI_SQL_MERGE_ORPHAN_OF_REFUSED, row) > 0)
        refuse(m, t, row, merge_text(m, "parent: its row of %s was refused", parent->name));
    else
        add_finding(m, &(merge_finding){FINDING_ORPHAN, t->i, foreign, row, 0, NULL});
}

static void check_foreign(merge *m, merge_table *t, int foreign)
{
    t->foreign_now = &t->foreign[foreign];
    merge_table *parent = &m->table[t->foreign_now->parent];
    sqlite3_stmt *row = merge_prepare(m, t, -1, CLI_SQL_MERGE_ORPHANS);
    while (cli_step(&m->into, row)) find_parent(m, t, foreign, sqlite3_column_int64(row, 0));
    sqlite3_finalize(row);
    row = merge_prepare(m, t, -1, CLI_SQL_MERGE_PARENTS_MISSED);
    while (cli_step(&m->into, row)) {
        bool is_taken = strcmp((const char *)sqlite3_column_text(row, 1), "take") == 0;
        const char *why =
            is_taken ? merge_text(m, "deleted in theirs, but a row of %s refers to it", t->name)
                     : merge_text(m, "parent: a row of %s refers to the value that was changed",
                                  t->name);
        add_finding(m, &(merge_finding){is_taken ? FINDING_STAYS : FINDING_REFUSED, parent->i, -1,
                                        sqlite3_column_int64(row, 0), 0, why});
    }
    sqlite3_finalize(row);
}

/* Children of a row that was refused go to the row that has its UNIQUE values. */
static void find_standins(merge *m, size_t n)
{
    for (size_t i = 0; i < n && !m->c->failed; i++) {
        merge_finding of = m->finding[i];
        merge_table *t = &m->table[of.table];
        if (of.what != FINDING_REFUSED || !t->gives_numbers) continue;
        sqlite3_stmt *row = merge_prepare(m, t, -1, CLI_SQL_MERGE_NUMBER_OF_NEW);
        sqlite3_bind_int64(row, 1, of.row);
        bool is_new = cli_step(&m->into, row);
        int64_t number = is_new ? sqlite3_column_int64(row, 0) : 0, standin = 0;
        sqlite3_finalize(row);
        for (int k = 0; is_new && k < t->n_unique && standin == 0; k++) {
            t->unique_now = &t->unique[k];
            standin = merge_integer_for(m, t, -1, CLI_SQL_MERGE_STANDIN, of.row);
        }
        if (standin != 0)
            add_finding(m, &(merge_finding){FINDING_STANDIN, of.table, -1, number, standin, NULL});
    }
}

/* ---- rounds -------------------------------------------------------------------------------------- */

static void note_row(merge *m, merge_table *t, const char *statement, int64_t row, const char *why)
{
    sqlite3_stmt *run = merge_prepare(m, t, -1, statement);
    if (run) {
        sqlite3_bind_int64(run, 1, row);
        sqlite3_bind_text(run, 2, why, -1, SQLITE_TRANSIENT);
    }
    cli_step(&m->into, run);
    sqlite3_finalize(run);
}

static void follow_standin(merge *m, const merge_finding *finding)
{
    for (int i = 0; i < m->n; i++)
        for (int k = 0; k < m->table[i].n; k++) {
            if (m->table[i].column[k].of != finding->table) continue;
            sqlite3_stmt *run = merge_prepare(m, &m->table[i], k, CLI_SQL_MERGE_FOLLOW_STANDIN);
            sqlite3_bind_int64(run, 1, finding->row);
            sqlite3_bind_int64(run, 2, finding->standin);
            cli_step(&m->into, run);
            sqlite3_finalize(run);
        }
}

/* The parent that OURS deleted; a row whose parent nobody has is refused. */
static void restore_parent(merge *m, const merge_finding *finding)
{
    merge_table *t = &m->table[finding->table];
    t->foreign_now = &t->foreign[finding->foreign];
    merge_table *parent = &m->table[t->foreign_now->parent];
    sqlite3_stmt *run = merge_prepare(m, t, -1, CLI_SQL_MERGE_RESTORE);
    sqlite3_bind_int64(run, 1, finding->row);
    cli_step(&m->into, run);
    sqlite3_finalize(run);
    bool is_there = m->c->failed || sqlite3_changes(m->into.db) > 0 ||
                    merge_integer_for(m, t, -1, CLI_SQL_MERGE_RESTORED, finding->row) > 0;
    if (!is_there)
        note_row(m, t, CLI_SQL_MERGE_REFUSE, finding->row,
                 merge_text(m, "parent: its row of %s is gone", parent->name));
}

static void apply_findings(merge *m)
{
    for (size_t i = 0; i < m->n_findings && !m->c->failed; i++) {
        const merge_finding *finding = &m->finding[i];
        merge_table *t = &m->table[finding->table];
        if (finding->what == FINDING_REFUSED)
            note_row(m, t, CLI_SQL_MERGE_REFUSE, finding->row, finding->why);
        if (finding->what == FINDING_STAYS)
            note_row(m, t, CLI_SQL_MERGE_STAY, finding->row, finding->why);
        if (finding->what == FINDING_STANDIN) follow_standin(m, finding);
        if (finding->what == FINDING_ORPHAN) restore_parent(m, finding);
    }
    m->n_findings = 0;
}

static void play_round(merge *m)
{
    for (int i = 0; i < m->n && !m->c->failed; i++) {
        merge_table *t = &m->table[i];
        if (!merge_integer(m, t, -1, CLI_SQL_MERGE_HAS_CHANGES)) continue;
        link_rows(m, t);
        place_rows(m, t);
        write_rows(m, t);
    }
    find_standins(m, m->n_findings);
    bool is_refused = m->n_findings > 0;
    for (int i = 0; i < m->n && !is_refused; i++)
        for (int k = 0; k < m->table[i].n_foreign && !m->c->failed; k++)
            check_foreign(m, &m->table[i], k);
}

static void list_rows(merge *m)
{
    for (int i = 0; i < m->n && !m->c->failed; i++) {
        merge_table *t = &m->table[i];
        if (!merge_integer(m, t, -1, CLI_SQL_MERGE_HAS_CHANGES)) continue;
        if (counts_rows(t)) merge_run(m, t, -1, CLI_SQL_MERGE_JOIN_REFUSED);
        for (int k = 0; k < t->n; k++)
            if (k != t->number) merge_run(m, t, k, CLI_SQL_MERGE_LIST_COLUMN);
        merge_run(m, t, -1, CLI_SQL_MERGE_LIST_ROWS);
    }
}

/* A row may lack its parent if it did in OURS or THEIRS. */
static void check_broken(merge *m)
{
    for (int i = 0; i < m->n && !m->c->failed; i++) {
        merge_table *t = &m->table[i];
        int64_t more = count_broken(m, t, "main") - t->broken;
        if (t->broken < 0 || more <= 0 || more <= count_broken(m, t, "theirs")) continue;
        cli_fail(
            m->c,
            "merge: %lld rows of %s would refer to rows that are not there: nothing was changed",
            (long long)more, t->name);
    }
}

void merge_rows_join(merge *m)
{
    bool is_done = false;
    while (!is_done && !m->c->failed) {
        cli_run(&m->into, "SAVEPOINT round");
        play_round(m);
        is_done = m->n_findings == 0;
        if (!is_done) cli_run(&m->into, "ROLLBACK TO round");
        if (!is_done) apply_findings(m);
        cli_run(&m->into, "RELEASE round");
    }
    sqlite3_free(m->finding);
    m->finding = NULL;
    list_rows(m);
    check_broken(m);
}
