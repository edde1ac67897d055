/* amounts.c - what adds up must add up once: has OURS the changes of THEIRS already?
 *
 * A merge leaves a digest of the numbers of --add that THEIRS had changed since BASE in a table of OURS,
 * _merge_amounts. If they come again, or THEIRS has the digest of those of OURS, they would count twice.
 * Where BASE has the digest, too, equal amounts were added anew. Rows that both sides have changed alike
 * are the other sign; it needs no table.
 */
#include "cli/merge/merge.h"

/* ---- what was merged before ---------------------------------------------------------------------- */

/* A digest of what a statement finds in all columns that add up; 0: nothing was added. */
static int64_t digest_of(merge *m, const char *statement)
{
    uint64_t digest = 0;
    for (int i = 0; i < m->n; i++)
        for (int k = 0; k < m->table[i].n; k++) {
            merge_table *t = &m->table[i];
            if (!t->column[k].adds || t->key == KEY_NONE || !t->in_base) continue;
            sqlite3_stmt *row = merge_prepare(m, t, k, statement);
            while (cli_step(&m->into, row)) digest += (uint64_t)sqlite3_column_int64(row, 0);
            sqlite3_finalize(row);
        }
    return (int64_t)digest;
}

static bool has_amounts(merge *m, const char *schema, int64_t digest)
{
    return digest != 0 && merge_has_table(m, schema, "_merge_amounts") &&
           merge_integer_of(m, merge_text(m, CLI_SQL_MERGE_HAS_AMOUNTS, schema, digest)) != 0;
}

/* Fails if a file has the amounts of another one from a merge that BASE does not know. */
static void refuse_twice(merge *m, const char *schema, const char *path, const char *from,
                         int64_t digest)
{
    if (has_amounts(m, schema, digest) && !has_amounts(m, "base", digest))
        cli_fail(m->c,
                 "merge: %s has what was added in %s already, from a merge before, and it would "
                 "count twice: as BASE give %s as it was at that merge",
                 merge_name_of(m, path), merge_name_of(m, from), merge_name_of(m, from));
}

void merge_amounts_read(merge *m)
{
    if (m->mode != MERGE_THREE_WAY || m->c->failed) return;
    m->amounts = digest_of(m, CLI_SQL_MERGE_AMOUNTS_OF_THEIRS);
    if (m->base_is_fork) return;
    refuse_twice(m, "main", m->ours_path, m->theirs_path, m->amounts);
    if (merge_has_table(m, "theirs", "_merge_amounts"))
        refuse_twice(m, "theirs", m->theirs_path, m->ours_path,
                     digest_of(m, CLI_SQL_MERGE_AMOUNTS_OF_OURS));
}

/* OURS holds what THEIRS does, also from others. */
void merge_amounts_remember(merge *m)
{
    bool in_theirs = merge_has_table(m, "theirs", "_merge_amounts");
    if (m->amounts == 0 && !in_theirs) return;
    cli_run(&m->into, CLI_SQL_MERGE_AMOUNTS_MAKE);
    if (in_theirs) cli_run(&m->into, CLI_SQL_MERGE_AMOUNTS_TAKE);
    if (m->amounts != 0) cli_run(&m->into, merge_text(m, CLI_SQL_MERGE_AMOUNTS_ADD, m->amounts));
}

/* ---- what both did alike ------------------------------------------------------------------------- */

/* Rows that THEIRS has changed. alike: OURS, too, in the same way; sums: the same, as far as what adds
 * up can tell; lacking: OURS has not. */
typedef struct merge_alike {
    int64_t alike, sums, lacking, all;
} merge_alike;

static bool adds_up(merge *m)
{
    bool adds = false;
    for (int i = 0; i < m->n && !adds; i++) {
        merge_table *t = &m->table[i];
        for (int k = 0; k < t->n && !adds; k++)
            adds = t->column[k].adds && merge_integer(m, t, k, CLI_SQL_MERGE_ADDED_UP);
        adds |= t->key == KEY_NONE && merge_integer(m, t, -1, CLI_SQL_MERGE_TOUCHED);
    }
    return adds;
}

static merge_alike count_alike(merge *m)
{
    merge_alike count = {0};
    for (int i = 0; i < m->n && !m->c->failed; i++) {
        merge_table *t = &m->table[i];
        if (!merge_integer(m, t, -1, CLI_SQL_MERGE_HAS_CHANGES)) continue;
        sqlite3_stmt *row = merge_prepare(m, t, -1,
                                          t->key == KEY_NONE ? CLI_SQL_MERGE_COUNT_ALIKE_COPIES
                                                             : CLI_SQL_MERGE_COUNT_ALIKE);
        if (cli_step(&m->into, row)) {
            count.alike += sqlite3_column_int64(row, 0);
            count.sums += sqlite3_column_int64(row, 1);
            count.lacking += sqlite3_column_int64(row, 2);
            count.all += sqlite3_column_int64(row, 3);
        }
        sqlite3_finalize(row);
    }
    return count;
}

/* What both sides did alike may be older than the fork, or merged before; then it would count twice.
 * Equal sums are less of a sign: two tills may have sold as many. */
void merge_amounts_check(merge *m)
{
    if (m->mode != MERGE_THREE_WAY || m->base_is_fork || !adds_up(m)) return;
    merge_alike is = count_alike(m);
    if (is.alike + is.sums == 0) return;
    if (is.lacking == 0 || is.alike * 4 >= is.all || (is.alike + is.sums) * 4 >= is.all * 3)
        cli_fail(
            m->c,
            "merge: %lld of %lld changes of %s are in %s, too: BASE is older than the fork, or "
            "this was merged before, and what adds up would count twice: give a newer BASE, or "
            "OURS as it was before, or --base-is-fork if it is chance",
            (long long)(is.alike + is.sums), (long long)is.all, merge_name_of(m, m->theirs_path),
            merge_name_of(m, m->ours_path));
    merge_note(m,
               "%lld of %lld changes were made on both sides alike: if BASE is older than the "
               "fork, numbers were added up twice",
               (long long)(is.alike + is.sums), (long long)is.all);
}
