/* merge/kinds.c - whether two files agree on the kinds of the columns of a table; refuses names and
 * lives that do not fit.
 *
 *     a table is replicated in both files, or in none
 *     a column is a counter in both, or a regular column in both
 *     a regular column of the giving file that the taking one has is replicated there, too
 *     a column stays in both files, or in none
 *     the keys are spread in both, or in none
 *
 * Columns belong together by the names that they had when they were tracked or replicated first
 * (table/table.h), whatever their present names; the calls in the sentences have the present ones.
 * A counter that another file has ended ends here, too. But if it is a regular column there, whose
 * values would replace what was counted here and not merged there, a call is needed. */
#include "merge/merge.h"

#include <string.h>

/* A table that is replicated in `a` alone. No call replicates a counter table. */
static const char *say_not_replicated(const ctr_kinds *a, const ctr_kinds *b)
{
    if (!b->tracked)
        return ctr_text_print(
            a->tab->conn,
            "it is replicated in %s and a counter table in %s, and a replicated table merges "
            "with replicated ones only: create one of the two under another name",
            a->called, b->called);
    return ctr_text_print(a->tab->conn,
                          "it is replicated in %s, but not in %s, and a replicated table merges "
                          "with replicated ones only: call %s there",
                          a->called, b->called, ctr_tracked_call(b->tracked, NULL));
}

/* The kind of a counter, in messages. */
static const char *noun_of(const ctr_kinds *kinds, const char *counter)
{
    const ctr_shape *shape = kinds->shape;
    return shape->columns[shape->counters[ctr_shape_counter(shape, counter)]].kind->noun;
}

/* A counter of `a` that `b` had, too, and has ended since to make it a regular column. A call that
 * untracks it by its present name hits no other column. */
static const char *say_was_counter(const ctr_kinds *a, const ctr_kinds *b, const char *name,
                                   const char *column)
{
    ctr_conn *conn = a->tab->conn;
    return ctr_text_print(conn,
                          "column %s was %s and is %s in %s: in %s, call "
                          "counter_untrack(%Q, %Q), then %s, which takes the values of %s, or "
                          "%s, which keeps its own",
                          name, noun_of(a, name), ctr_kind_regular()->noun, b->called, a->called,
                          a->tracked->table, column, ctr_tracked_call_to_follow(a->tracked, 2),
                          b->called, ctr_tracked_call(a->tracked, NULL));
}

/* Looks for a counter of `a` that is a regular column in `b`. The higher generation says which of
 * the two is the older kind: only that file can follow the other one. */
static const char *counts_in_one(const ctr_kinds *a, const ctr_kinds *b)
{
    const ctr_registry *regular = ctr_regular_of(b->tab);
    for (int i = 0; regular && i < a->shape->n_counters; i++) {
        const char *name = ctr_shape_counter_name(a->shape, i), *spelling;
        int number = ctr_regular_named(regular, name, strlen(name));
        if (number < 0) continue;
        const ctr_described *there = ctr_tracked_regular_column(b->tracked, number);
        const ctr_tracked_column *here = ctr_tracked_column_of(a->tracked, i);
        int64_t generation = a->shape->columns[a->shape->counters[i]].generation;
        if (generation > ctr_shape_generation(b->shape, name, &spelling))
            return ctr_text_print(
                a->tab->conn, "column %s is %s in %s and %s in %s: %s there makes it %s", name,
                noun_of(a, name), a->called, ctr_kind_regular()->noun, b->called,
                ctr_tracked_call(b->tracked, there ? there->name : name), noun_of(a, name));
        if (here) return say_was_counter(a, b, name, here->name);
    }
    return NULL;
}

/* Returns the name that another column of the table had when it was tracked or replicated first,
 * which has the name `column` now; NULL: none. */
static const char *name_before(const ctr_kinds *kinds, const char *column)
{
    int i = ctr_tracked_named(kinds->tracked, column);
    return i >= 0 && i >= kinds->shape->n_keys ? kinds->tracked->columns[i].birth : NULL;
}

/* A regular column of `theirs` that `mine` has, and does not replicate yet. If it has counted there
 * since, its values are of a higher generation, unless the file that ended the counter takes those
 * of others. */
static const char *say_not_regular(const ctr_kinds *mine, const ctr_kinds *theirs, const char *name,
                                   int64_t generation, bool is_older)
{
    ctr_conn *conn = mine->tab->conn;
    const char *noun = ctr_kind_counter()->noun, *keeps = ctr_tracked_call(mine->tracked, NULL),
               *follows = ctr_tracked_call_to_follow(mine->tracked, generation);
    if (ctr_columns_has_ended(mine->tab, name))
        return ctr_text_print(conn,
                              "column %s was %s in %s and is replicated in %s: in %s, call %s, "
                              "which takes the values of %s, or %s, which keeps its own",
                              name, noun, mine->called, theirs->called, mine->called, follows,
                              theirs->called, keeps);
    if (is_older)
        return ctr_text_print(conn,
                              "column %s was %s in %s and is replicated in %s as before: note what "
                              "was written in %s, and call %s in %s, whose values then win",
                              name, noun, mine->called, theirs->called, theirs->called, keeps,
                              mine->called);
    return ctr_text_print(conn, "column %s is replicated in %s and not yet in %s: call %s there",
                          name, theirs->called, mine->called, follows);
}

/* Looks for a regular column of `theirs` that `mine` has, and does not replicate yet. One that it
 * replicates no longer stays at home. */
static const char *is_not_regular_yet(const ctr_kinds *mine, const ctr_kinds *theirs)
{
    const char *spelling;
    const ctr_registry *here = ctr_regular_of(mine->tab), *there = ctr_regular_of(theirs->tab);
    for (int i = 0; here && there && i < there->n; i++) {
        const char *name = there->columns[i].name;
        int64_t generation = ctr_shape_generation(mine->shape, name, &spelling);
        if (!there->columns[i].noted || ctr_regular_named(here, name, strlen(name)) >= 0 ||
            ctr_regular_was_named(here, name, strlen(name), generation) ||
            !ctr_ordinary_column(&mine->tracked->ordinary, name))
            continue;
        const char *before = name_before(mine, name);
        if (before)
            return ctr_text_print(mine->tab->conn,
                                  "column %s is another one in %s: in %s it was %s before it was "
                                  "renamed: rename it there",
                                  name, theirs->called, mine->called, before);
        return say_not_regular(mine, theirs, name, generation,
                               there->columns[i].generation < generation);
    }
    return NULL;
}

/* Looks for a file whose SQLite gives out numbers that may be those of the other one. */
static const char *is_spread_in_one(const ctr_kinds *a, const ctr_kinds *b)
{
    ctr_spread here, there;
    ctr_spread_read(&here, a->tab);
    ctr_spread_read(&there, b->tab);
    const ctr_kinds *spread = here.is ? a : b, *other = here.is ? b : a;
    if (here.is == there.is) return NULL;
    return ctr_text_print(a->tab->conn,
                          "its keys are spread in %s, but not in %s: call counter_replicate(%Q, "
                          "'keys=spread') there",
                          spread->called, other->called, other->tracked->table);
}

/* Looks for a column that stays in `a` and travels in `b`. */
static const char *stays_in_one(const ctr_kinds *a, const ctr_kinds *b)
{
    const ctr_ordinary *ordinary = &a->tracked->ordinary;
    const ctr_registry *regular = a->tracked->n_local > 0 ? ctr_regular_of(b->tab) : NULL;
    for (size_t i = 0; regular && i < ordinary->n; i++) {
        const char *name = ordinary->columns[i].name;
        bool travels = ctr_shape_counter_like(b->shape, name) >= 0 ||
                       ctr_regular_named(regular, name, strlen(name)) >= 0;
        if (ordinary->columns[i].local && travels)
            return ctr_text_print(
                a->tab->conn,
                "column %s stays in %s and travels in %s: call counter_untrack(%Q, %Q) in %s, "
                "whose copy of it then stays there with counter_replicate(%Q, 'local=%s')",
                name, a->called, b->called, b->tracked->table, name, b->called, b->tracked->table,
                name);
    }
    return NULL;
}

const char *ctr_kinds_differ(const ctr_kinds *mine, const ctr_kinds *theirs, bool gives)
{
    const ctr_kinds *one = gives ? theirs : mine, *other = gives ? mine : theirs;
    if (!mine->shape->replicated && !theirs->shape->replicated) return NULL;
    if (!mine->shape->replicated) return say_not_replicated(theirs, mine);
    if (!theirs->shape->replicated) return say_not_replicated(mine, theirs);
    if (!mine->tracked || !theirs->tracked) return NULL; /* without memory */
    const char *why = counts_in_one(one, other);
    if (!why) why = counts_in_one(other, one);
    if (!why) why = stays_in_one(one, other);
    if (!why) why = stays_in_one(other, one);
    if (!why) why = is_spread_in_one(one, other);
    return why ? why : is_not_regular_yet(mine, theirs);
}

/* ---- tables that cannot merge ---------------------------------------------------------------- */

/* Looks for a counter table of this name, or for the counters of a tracked one. The caller closes
 * the entry. */
static bool find_named(ctr_catalog_entry *entry, ctr_file *file, const char *name)
{
    if (ctr_catalog_named(entry, file->conn, file->schema, name)) return true;
    char *counters = ctr_triggers_counters(file, name);
    bool is = counters && ctr_catalog_named(entry, file->conn, file->schema, counters);
    sqlite3_free(counters);
    return is;
}

int ctr_kinds_refuse_name(ctr_file *file, const char *called, const char *birth, bool has_life)
{
    ctr_catalog_entry entry = {0};
    ctr_object object = ctr_schema_object(file->conn, file->schema, birth);
    if (find_named(&entry, file, birth))
        ctr_problem_set(file->conn, SQLITE_ERROR,
                        "%s has a counter table %s that was created as '%s', and tables match by "
                        "the name they were created with: rename it there",
                        called, birth, entry.birth);
    else if (object == CTR_OBJECT_TABLE && has_life)
        ctr_problem_set(file->conn, SQLITE_ERROR,
                        "in %s it is an ordinary table, which does not count: if that file has "
                        "nothing of its own, put a copy of the other one in its place; else, "
                        "unless one key stands for two different rows, of which one would be lost, "
                        "call counter_replicate('%s', ...) there: the merge asks about values that "
                        "both files had when they began, and what the other file has written since "
                        "then wins, so note first what was changed in this one",
                        called, birth);
    else if (object == CTR_OBJECT_TABLE)
        ctr_problem_set(file->conn, SQLITE_ERROR,
                        "in %s it is an ordinary table, which does not count: call "
                        "counter_track('%s', ...) there, and the merge asks about values that both "
                        "files had when they began to, and adds all others up",
                        called, birth);
    else if (object != CTR_OBJECT_NONE)
        ctr_problem_set(file->conn, SQLITE_ERROR, "%s in %s has the name of the counter table",
                        ctr_schema_object_text(object), called);
    ctr_catalog_close_entry(&entry);
    return ctr_rc(file->conn);
}

void ctr_kinds_check_life(ctr_conn *conn, const ctr_shape *shape, const char *birth, bool has_life)
{
    if (shape->replicated == has_life || ctr_rc(conn) != SQLITE_OK) return;
    ctr_problem_set(conn, SQLITE_ERROR,
                    "it is replicated %s, and a replicated table merges with replicated ones only: "
                    "call counter_replicate('%s', ...) %s",
                    has_life ? "at the source, but not here" : "here, but not at the source", birth,
                    has_life ? "here" : "there");
}
