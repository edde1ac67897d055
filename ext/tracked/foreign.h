/* tracked/foreign.h - the foreign keys of a file, where a tracked table is child or parent.
 *
 * Showing merged rows lets no foreign key act on replicated rows: a merged deletion waits while a
 * row of a replicated table refers to the row, whatever the key's action, and whether SQLite
 * enforces foreign keys or not. Otherwise a cascade would delete, in every file, children that were
 * moved or inserted elsewhere, depending on which change came first. Children in tables that are
 * not replicated do as their key says.
 *
 * SQLite reports only that some foreign key of the connection is broken, or, for a deferred one,
 * nothing before the COMMIT. So this file looks for children before a row is deleted.
 */
#ifndef CTR_TRACKED_FOREIGN_H
#define CTR_TRACKED_FOREIGN_H

#include "tracked/tracked.h"

/* A foreign key. The tables may be any of the file. */
typedef struct ctr_foreign_key {
    char *child, *parent; /* owned: the tables */
    struct ctr_foreign_pair {
        char *from, *to; /* owned: columns of the child and of the parent */
    } * pairs;           /* owned; none if the parent lacks a column, which SQLite refuses */
    int n;
    size_t room;
    bool replicated; /* the child is; else its rows stay here */
    bool forbids;    /* ON DELETE NO ACTION or RESTRICT */
} ctr_foreign_key;

typedef struct ctr_foreign_keys {
    ctr_foreign_key *keys; /* owned */
    int n;
    size_t room;
    unsigned as_of; /* ctr_file.schemas when they were read */
} ctr_foreign_keys;

/* Returns the foreign keys that tables of the file declare, lent until the schema changes; NULL on
 * a problem. */
const ctr_foreign_keys *ctr_foreign_keys_of(ctr_file *file, ctr_problem *problem);

/* Return whether the table has a foreign key; is the parent of one; refers to itself, perhaps
 * through other tables. */
bool ctr_foreign_is_child(const ctr_foreign_keys *foreign, const char *table);
bool ctr_foreign_is_parent(const ctr_foreign_keys *foreign, const char *table);
bool ctr_foreign_is_in_circle(const ctr_foreign_keys *foreign, const char *table,
                              ctr_problem *problem);

/* Sets `order` to the numbers of n tables, parents before their children; tables that refer to each
 * other are in the given order. A table may be NULL. */
int ctr_foreign_sort(const ctr_foreign_keys *foreign, const char *const *tables, int n, int *order,
                     ctr_problem *problem);

/* Appends p."id" = c."parent" for each column of the key. */
void ctr_foreign_list_match(const ctr_foreign_key *key, sqlite3_str *out);

/* Returns whether a column of `child` belongs to a foreign key with that parent. */
bool ctr_foreign_refers(const ctr_foreign_keys *foreign, const char *child, const char *column,
                        const char *parent);

/* Looks for the children of rows of one tracked table. Begin with {.tracked = ..., .file = ...};
 * the caller closes it. */
typedef struct ctr_foreign {
    const ctr_tracked *tracked; /* borrowed, as is the next */
    ctr_file *file;
    sqlite3_stmt *children; /* owned */
    bool childless;         /* nothing can keep a row of the table */
} ctr_foreign;

void ctr_foreign_close(ctr_foreign *foreign);

/* Returns whether other rows refer to the row with this key, so that it must not be deleted. */
bool ctr_foreign_has_children(ctr_foreign *foreign, sqlite3_value **keys, ctr_problem *problem);

/* Return whether SQLite enforces foreign keys, and whether a deferred one is broken, which must be
 * repaired before the COMMIT. While one is broken, `refuse` sets the problem that `table` cannot be
 * written, because a second broken key could not be noticed. */
bool ctr_foreign_enforced(sqlite3 *db);
bool ctr_foreign_broken(sqlite3 *db);
void ctr_foreign_refuse_broken(sqlite3 *db, const char *table, ctr_problem *problem);

#endif
