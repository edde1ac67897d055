/* table/catalog.h - the counter tables of a file: present names and birth names.
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
#include "file/file.h"

typedef struct ctr_catalog_entry {
    char *name, *birth; /* owned */
    uint8_t token[CTR_ID_SIZE];
} ctr_catalog_entry;

/* Adds a new table with its birth name: its own name or that of its tracked table. Fails while
 * another table has this birth name. */
void ctr_catalog_add(sqlite3 *db, const char *schema, const char *table, const char *birth,
                     ctr_problem *problem);

void ctr_catalog_remove(sqlite3 *db, const char *schema, const char *table, ctr_problem *problem);
void ctr_catalog_rename(sqlite3 *db, const char *schema, const char *table, const char *to,
                        ctr_problem *problem);

/* Look for the table with the birth name `birth`, or the present name `table`. Return false if
 * there is none, or on a problem. The caller closes the entry, also after a failure. */
bool ctr_catalog_born(ctr_catalog_entry *entry, sqlite3 *db, const char *schema, const char *birth,
                      ctr_problem *problem);
bool ctr_catalog_named(ctr_catalog_entry *entry, sqlite3 *db, const char *schema, const char *table,
                       ctr_problem *problem);

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

/* Reads the catalog in place of the present content. A file without one has no tables. The caller
 * zeroes it first, and closes it, also after a failure. */
int ctr_catalog_read(ctr_catalog *catalog, ctr_file *file, ctr_problem *problem);
void ctr_catalog_close(ctr_catalog *catalog);

/* Adds the table with this birth name, which was created since. */
int ctr_catalog_list_born(ctr_catalog *catalog, ctr_file *file, const char *birth,
                          ctr_problem *problem);

/* Returns the table with this birth name, or NULL. */
const ctr_catalog_entry *ctr_catalog_find(const ctr_catalog *catalog, const char *birth);

#endif
