/* sync/marks.h - a file's progress in reading others: the marks in its counter_peers.
 *
 * A mark is the sequence number in the identity row of the source in the snapshot that was read;
 * everything with a lower number is here. A mark holds for one id of the source, one token of its
 * table and one token of the table here. If one of them differs, a pull reads everything.
 *
 * The change feed has its own marks, one for all tables. They hold for a twist of the source
 * instead of a token.
 */
#ifndef CTR_SYNC_MARKS_H
#define CTR_SYNC_MARKS_H

#include "identity/file.h"
#include "table/catalog.h"

/* Returns the mark; 0 if there is none, or if the source has not reached it. */
int64_t ctr_marks_read(ctr_file *file, const ctr_identity *source, const ctr_catalog_entry *theirs,
                       const ctr_catalog_entry *mine, ctr_problem *problem);

/* Writes the mark after reading the source. The `first` mark between two tables creates the table
 * of marks, if need be, and removes the marks of tables that no longer exist. */
int ctr_marks_write(ctr_file *file, const ctr_identity *source, const ctr_catalog_entry *theirs,
                    const ctr_catalog_entry *mine, bool first, ctr_problem *problem);

/* The name of a source in the feed: its id as text, then, for a twist other than 0, a slash and 16
 * hexadecimal digits. */
enum { CTR_MARKS_SOURCE_SIZE = CTR_ID_TEXT_SIZE + 17 };
void ctr_marks_source_to_text(const uint8_t id[CTR_ID_SIZE], int64_t twist,
                              char text[CTR_MARKS_SOURCE_SIZE]);
bool ctr_marks_source_from_text(const char *text, size_t size, uint8_t id[CTR_ID_SIZE],
                                int64_t *twist);

/* Returns the mark of a feed in main, the least over all tables; 0 if there is none. */
int64_t ctr_marks_of_feed(sqlite3 *db, const uint8_t id[CTR_ID_SIZE], int64_t twist,
                          ctr_problem *problem);

/* Raises the mark of a feed to `upto`. */
int ctr_marks_raise_feed(sqlite3 *db, const uint8_t id[CTR_ID_SIZE], int64_t twist, int64_t upto,
                         ctr_problem *problem);

#endif
