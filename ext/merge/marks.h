/* merge/marks.h - a file's progress in reading others: the marks in its counter_peers.
 *
 * A mark is the sequence number in the identity row of the source in the snapshot that was read;
 * everything with a lower number is here. A mark holds for one id of the source, one token of its
 * table and one token of the table here. If one of them differs, a pull reads everything.
 *
 * The change feed has its own marks, one for all tables. Instead of a token they hold for the twist
 * of the source; of its own changes or of a scope, for what follows the id in its name, as TEXT.
 */
#ifndef CTR_MERGE_MARKS_H
#define CTR_MERGE_MARKS_H

#include "file/file.h"
#include "table/catalog.h"

/* Returns the mark; 0 if there is none, or if the source has not reached it. */
int64_t ctr_marks_read(ctr_file *file, const ctr_identity *source, const ctr_catalog_entry *theirs,
                       const ctr_catalog_entry *mine, ctr_problem *problem);

/* Writes the mark after reading the source. The `first` mark between two tables creates the table
 * of marks, if need be, and removes the marks of tables that no longer exist. */
int ctr_marks_write(ctr_file *file, const ctr_identity *source, const ctr_catalog_entry *theirs,
                    const ctr_catalog_entry *mine, bool first, ctr_problem *problem);

/* ---- the feed -------------------------------------------------------------------------------- */

/* A source of a feed has a name:
 *
 *     7529cd67-394b-3247-8020-f2a7272fc8d9                 the id of the file
 *     7529cd67-.../00000000000000f3                        and its twist, unless that is 0
 *     7529cd67-... own                                     its own changes alone
 *     7529cd67-... ["store 7"], 7529cd67-... own [1,2]     a scope (merge/scope.h)
 *
 * Each of them has its own mark, so that a mark never covers what was not read.
 */
typedef struct ctr_marks_source {
    uint8_t id[CTR_ID_SIZE];
    int64_t twist;
    bool own;
    const char *scope; /* borrowed, as ctr_scope has it; NULL: everything */
} ctr_marks_source;

/* Returns the name. The caller frees it with sqlite3_free; NULL without memory. */
char *ctr_marks_name(const ctr_marks_source *source);

/* Reads a name; source->scope is the part of the text that spells the scope. */
bool ctr_marks_source_of(const char *name, size_t size, ctr_marks_source *source);

/* Returns the mark of a feed in main, the least over all tables; 0 if there is none. A mark of
 * everything holds for own changes and for each scope, too. */
int64_t ctr_marks_of_feed(sqlite3 *db, const ctr_marks_source *source, ctr_problem *problem);

/* Raises the mark of a feed to `upto`. */
int ctr_marks_raise_feed(sqlite3 *db, const ctr_marks_source *source, int64_t upto,
                         ctr_problem *problem);

#endif
