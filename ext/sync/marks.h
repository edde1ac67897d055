/* sync/marks.h - how far a file has read others: the marks in its counter_peers.
 *
 * A mark is the sequence number of the source, as its identity row had it in the snapshot that was
 * read; everything with a lower number is here. It holds for one id of the source, one token of its
 * table, one token of the table here: where one of them is another, everything is read.
 *
 * What comes through the change feed has marks of its own, one for all tables: instead of a token
 * they go by the twist of the source.
 */
#ifndef CTR_SYNC_MARKS_H
#define CTR_SYNC_MARKS_H

#include "identity/identity.h"
#include "table/catalog.h"

/* 0 if there is none, or if it is beyond where the source is now. Of a table that has one, whose
 * stored tables are ordinary ones, *plain tells that it has no generations of counters. */
int64_t ctr_marks_read(sqlite3 *db, const char *schema, const ctr_identity *source,
                       const ctr_catalog_entry *theirs, const ctr_catalog_entry *mine, bool *plain,
                       ctr_problem *problem);

/* Leaves the mark for what has been read from the source as it is. The `first` one between two
 * tables makes the table of marks, if need be, and forgets those of tables that are no more. */
int ctr_marks_write(sqlite3 *db, const char *schema, const ctr_identity *source,
                    const ctr_catalog_entry *theirs, const ctr_catalog_entry *mine, bool first,
                    ctr_problem *problem);

/* The name of a source in the feed: its id as text, and a twist other than 0 behind a slash, as 16
 * hexadecimal digits. */
enum { CTR_MARKS_SOURCE_SIZE = CTR_ID_TEXT_SIZE + 17 };
void ctr_marks_source_to_text(const uint8_t id[CTR_ID_SIZE], int64_t twist,
                              char text[CTR_MARKS_SOURCE_SIZE]);
bool ctr_marks_source_from_text(const char *text, size_t size, uint8_t id[CTR_ID_SIZE],
                                int64_t *twist);

/* The mark of a feed in main: the least over all tables; 0 if there is none. */
int64_t ctr_marks_of_feed(sqlite3 *db, const uint8_t id[CTR_ID_SIZE], int64_t twist,
                          ctr_problem *problem);

/* Raises it to `upto`. */
int ctr_marks_raise_feed(sqlite3 *db, const uint8_t id[CTR_ID_SIZE], int64_t twist, int64_t upto,
                         ctr_problem *problem);

#endif
