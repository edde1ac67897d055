/* store/catalog.h - the counter tables of a file, by the names they have and were born with.
 *
 *     counter_tables(name, birth)
 *
 * ALTER TABLE RENAME is local to a file, so tables of two files belong together if their birth
 * names are the same. Matching by the present name loses counts.
 */
#ifndef CTR_STORE_CATALOG_H
#define CTR_STORE_CATALOG_H

#include <stdbool.h>

#include "store/problem.h"

/* Enters a new table under its present name. Refused while another table has it as birth name. */
void ctr_catalog_add(sqlite3 *db, const char *schema, const char *table, ctr_problem *problem);

void ctr_catalog_remove(sqlite3 *db, const char *schema, const char *table, ctr_problem *problem);
void ctr_catalog_rename(sqlite3 *db, const char *schema, const char *table, const char *to,
                        ctr_problem *problem);

/* Is the table entered? */
bool ctr_catalog_has(sqlite3 *db, const char *schema, const char *table, ctr_problem *problem);

/* The present name of the table born as `birth`, to be freed with sqlite3_free; NULL if there is
 * none. */
char *ctr_catalog_born(sqlite3 *db, const char *schema, const char *birth, ctr_problem *problem);

/* All tables, in order of birth name. */
typedef struct ctr_catalog {
    struct ctr_catalog_entry {
        char *name, *birth;
    } * entries;
    int n;
} ctr_catalog;

/* A file without a catalog has no tables. To be closed whatever is returned. */
int ctr_catalog_read(ctr_catalog *catalog, sqlite3 *db, const char *schema, ctr_problem *problem);
void ctr_catalog_close(ctr_catalog *catalog);

#endif
