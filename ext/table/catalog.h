/* table/catalog.h - the counter tables of a file, by the names they have and were born with.
 *
 *     counter_tables(name, birth, token)
 *
 * ALTER TABLE RENAME is local to a file, so tables of two files belong together if their birth
 * names are the same. Matching by the present name loses counts.
 */
#ifndef CTR_TABLE_CATALOG_H
#define CTR_TABLE_CATALOG_H

#include <stdbool.h>

#include "core/id.h"
#include "sqlite/objects.h"

typedef struct ctr_catalog_entry {
    char *name, *birth; /* owned */
    uint8_t token[CTR_ID_SIZE];
} ctr_catalog_entry;

/* Enters a new table under its birth name, which is its own or that of a tracked table. Refused
 * while another table has it as birth name. */
void ctr_catalog_add(sqlite3 *db, const char *schema, const char *table, const char *birth,
                     ctr_problem *problem);

void ctr_catalog_remove(sqlite3 *db, const char *schema, const char *table, ctr_problem *problem);
void ctr_catalog_rename(sqlite3 *db, const char *schema, const char *table, const char *to,
                        ctr_problem *problem);

/* Look for the table born as `birth`, or for the one that has the name `table` now. Return false if
 * there is none, or on a problem. The caller closes the entry, also after a failure. */
bool ctr_catalog_born(ctr_catalog_entry *entry, sqlite3 *db, const char *schema, const char *birth,
                      ctr_problem *problem);
bool ctr_catalog_named(ctr_catalog_entry *entry, sqlite3 *db, const char *schema, const char *table,
                       ctr_problem *problem);

/* Fails unless the file is of a format that we know and has a counter table of that name. */
int ctr_catalog_require(sqlite3 *db, const char *schema, const char *table, ctr_problem *problem);

int ctr_catalog_copy(ctr_catalog_entry *entry, const ctr_catalog_entry *of, ctr_problem *problem);
void ctr_catalog_close_entry(ctr_catalog_entry *entry);

/* Draws new tokens, which void the marks of other files for these tables. */
void ctr_catalog_redraw(sqlite3 *db, const char *schema, ctr_problem *problem);

/* All tables, in order of birth name. */
typedef struct ctr_catalog {
    ctr_catalog_entry *entries;
    int n;
    size_t room;
} ctr_catalog;

/* Reads the catalog. A file without one has no tables. The caller closes it, also after a
 * failure. */
int ctr_catalog_read(ctr_catalog *catalog, sqlite3 *db, const char *schema, ctr_problem *problem);
void ctr_catalog_close(ctr_catalog *catalog);

/* The same in place of what the catalog was, where it is known what the schema has. */
int ctr_catalog_list(ctr_catalog *catalog, sqlite3 *db, const char *schema,
                     const ctr_objects *objects, ctr_problem *problem);

/* The table born as `birth`, or NULL. */
const ctr_catalog_entry *ctr_catalog_find(const ctr_catalog *catalog, const char *birth);

#endif
